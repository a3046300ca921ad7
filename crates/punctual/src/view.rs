// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How work looks while it goes on: a screen on a terminal, lines elsewhere.
//!
//! Whatever takes long tells a [`View`] its [`Event`]s, the same that the store gets; what is no
//! measurement says what it does by [`Progress::doing`](punctual_model::Progress::doing). A process
//! that is started for a part of the work tells them on its standard error, see [`TELL`], and
//! [`told`] reads them there.
//!
//! All of it goes to standard error, so that standard output holds results alone. Nothing here
//! fails: that a view cannot be drawn is no reason to stop a measurement.

mod lines;
mod live;

use std::io::{self, IsTerminal as _, Write as _};

use punctual_model::{Event, Nanos, json};
use punctual_sys::terminal;

use self::lines::Lines;
use self::live::Live;
pub(crate) use self::live::{Feed, Overall, clock, give_back, told};
use crate::signals::StopRequest;

/// Environment variable of a process whose progress is shown by the one that started it: set to
/// `events`, its events go to standard error, a line of JSON each, also with `--quiet`.
pub(crate) const TELL: &str = "PUNCTUAL_VIEW";

/// A view of work.
#[derive(Debug)]
pub(crate) enum View {
    /// Nothing is shown.
    Quiet,
    /// A line now and then.
    Lines(Lines),
    /// Every event as JSON, for the process that started this one.
    Tell,
    /// A screen.
    Live(Live),
}

impl View {
    /// Picks the view that suits standard error. A screen asks `stop` for the end when its key is
    /// pressed.
    pub(crate) fn pick(quiet: bool, stop: &StopRequest) -> Self {
        if std::env::var_os(TELL).is_some_and(|how| how == "events") {
            Self::Tell
        } else if quiet {
            Self::Quiet
        } else if has_screen() {
            Self::Live(Live::new(stop.clone()))
        } else {
            Self::Lines(Lines::default())
        }
    }

    /// Sets the heading, such as the condition of an assessment.
    pub(crate) fn title(&mut self, text: &str) {
        match self {
            Self::Live(live) => live.title(text),
            Self::Lines(lines) => lines.title(text),
            Self::Quiet | Self::Tell => {}
        }
    }

    /// Says that the run is over and shown once more.
    pub(crate) const fn replay(&mut self) {
        if let Self::Live(live) = self {
            live.replay();
        }
    }

    /// Keeps the screen over several runs, until [`View::clear`] is called with it.
    pub(crate) const fn keep(&mut self) {
        if let Self::Live(live) = self {
            live.keep();
        }
    }

    /// Returns how often the view wants progress.
    pub(crate) const fn every(&self) -> Nanos {
        match self {
            Self::Live { .. } | Self::Tell => live::REDRAW_EVERY,
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
            Self::Tell => {
                if let Ok(line) = json::line(event) {
                    write(&format!("{}\n", String::from_utf8_lossy(&line)));
                }
            }
            Self::Live(live) => live.event(event),
        }
    }

    /// Opens the screen at once, and returns the way to it for other threads; nothing where there is
    /// no screen.
    pub(crate) fn feed(&mut self) -> Option<Feed> {
        match self {
            Self::Live(live) => live.feed(),
            _ => None,
        }
    }

    /// A run is over: gives the screen back, unless it is kept for the next run.
    pub(crate) fn pause(&mut self) {
        if let Self::Live(live) = self
            && !live.is_kept()
        {
            live.close();
        }
    }

    /// Gives the screen back.
    pub(crate) fn clear(&mut self) {
        if let Self::Live(live) = self {
            live.close();
        }
    }
}

/// Whether standard error is a terminal that can show a screen, and that this process may use.
fn has_screen() -> bool {
    let capable = std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
    capable && io::stderr().is_terminal() && terminal::is_ours()
}

fn write(text: &str) {
    drop(io::stderr().write_all(text.as_bytes()));
}
