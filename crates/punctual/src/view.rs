// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How a run looks while it goes on: a table that is redrawn on a terminal, lines elsewhere.
//!
//! All of it goes to standard error, so that standard output holds results alone. Nothing here
//! fails: that a view cannot be drawn is no reason to stop a measurement.

mod frame;
mod lines;

use std::io::{self, IsTerminal as _, Write as _};

use punctual_model::{Event, Nanos};
use punctual_sys::terminal;

use self::lines::Lines;

/// A view of a run.
#[derive(Debug)]
pub(crate) enum View {
    /// Nothing is shown.
    Quiet,
    /// A line now and then.
    Lines(Lines),
    /// A table, redrawn.
    Live {
        /// Rows that the last frame took.
        rows: usize,
        /// A heading, such as the phase of an assessment.
        title: Option<String>,
    },
}

impl View {
    /// Picks the view that suits standard error.
    pub(crate) fn pick(quiet: bool) -> Self {
        if quiet {
            Self::Quiet
        } else if io::stderr().is_terminal() {
            Self::Live {
                rows: 0,
                title: None,
            }
        } else {
            Self::Lines(Lines::default())
        }
    }

    /// Returns the view with a heading.
    pub(crate) fn titled(self, text: &str) -> Self {
        match self {
            Self::Live { rows, .. } => Self::Live {
                rows,
                title: Some(text.to_owned()),
            },
            Self::Lines(lines) => Self::Lines(lines.titled(text)),
            Self::Quiet => Self::Quiet,
        }
    }

    /// Returns how often the view wants progress.
    pub(crate) const fn every(&self) -> Nanos {
        match self {
            Self::Live { .. } => Nanos::from_millis(250),
            Self::Quiet | Self::Lines(_) => Nanos::from_secs(1),
        }
    }

    /// Shows an event.
    pub(crate) fn event(&mut self, event: &Event) {
        match self {
            Self::Quiet => {}
            Self::Lines(lines) => {
                if let Some(line) = lines.line(event) {
                    write(&format!("{line}\n"));
                }
            }
            Self::Live { rows, title } => {
                if let Event::Progress(progress) = event {
                    let (width, height) = terminal::size().unwrap_or((80, 24));
                    let mut frame = frame::draw(progress, width, height);
                    if let Some(title) = title {
                        frame.insert(0, title.clone());
                    }
                    write(&(erase(*rows) + &frame.join("\n") + "\n"));
                    *rows = frame.len();
                }
            }
        }
    }

    /// Takes the table off the terminal.
    pub(crate) fn clear(&mut self) {
        if let Self::Live { rows, .. } = self {
            write(&erase(*rows));
            *rows = 0;
        }
    }
}

/// Moves up over `rows` rows and clears from there to the end of the screen (ECMA-48 CPL, ED).
fn erase(rows: usize) -> String {
    match rows {
        0 => String::new(),
        rows => format!("\x1b[{rows}F\x1b[J"),
    }
}

fn write(text: &str) {
    drop(io::stderr().write_all(text.as_bytes()));
}
