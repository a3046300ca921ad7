// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How far a build is: on a screen, or a line now and then.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use punctual_kernel::build::{Meter, Step};
use punctual_model::{Event, Nanos, Progress};

use crate::experiments::plan::clock;
use crate::output::remark;
use crate::signals::StopRequest;
use crate::view::{Feed, Overall, View};

/// Time between two frames, and between two lines in a log.
const SHOWN_EVERY: Duration = Duration::from_millis(250);
const LOGGED_EVERY: Duration = Duration::from_secs(30);

/// Below this share nobody can say how long the rest takes.
const TELLS: f64 = 0.02;

/// Shows how far builds are. The screen is given back when this is dropped.
pub(super) struct Shown {
    view: View,
    screen: Option<Feed>,
    quiet: bool,
    builds: u64,
    begun: Instant,
    number: u64,
    last: Cell<Option<Instant>>,
    doing: RefCell<String>,
    done: Cell<Option<f64>>,
}

impl Shown {
    /// Shows that many builds. The key of the screen to quit asks `stop`.
    pub(super) fn new(quiet: bool, stop: &StopRequest, builds: usize) -> Self {
        let mut view = View::pick(quiet, stop);
        let screen = view.feed();
        Self {
            view,
            screen,
            quiet,
            builds: builds as u64,
            begun: Instant::now(),
            number: 0,
            last: Cell::new(None),
            doing: RefCell::default(),
            done: Cell::new(None),
        }
    }

    /// Begins the next build.
    pub(super) fn begin(&mut self, name: &str, version: &str) {
        self.begun = Instant::now();
        self.number += 1;
        self.last.set(None);
        self.done.set(None);
        *self.doing.borrow_mut() = "configuring".to_owned();
        let text = format!("Building {name} from Linux {version}");
        let Some(screen) = &self.screen else {
            if !self.quiet {
                remark(&text);
            }
            return;
        };
        self.view.title("kernel build");
        screen.note(text);
        if self.builds > 1 {
            screen.overall(Overall {
                done: self.number - 1,
                all: self.builds,
                of: "builds",
                left: None,
                now: name.to_owned(),
            });
        }
    }

    /// Says something about the build that begins.
    pub(super) fn say(&self, text: &str) {
        match &self.screen {
            Some(screen) => screen.note(text.to_owned()),
            None if self.quiet => {}
            None => remark(text),
        }
    }

    /// Takes a step in.
    pub(super) fn step(&self, meter: &Meter, step: Step<'_>) {
        let warnings = match meter.warnings {
            0 => String::new(),
            1 => ", 1 warning".to_owned(),
            n => format!(", {n} warnings"),
        };
        let doing = format!("{}{warnings}: {} {}", meter.said(), step.verb, step.file);
        *self.doing.borrow_mut() = doing;
        self.done.set(meter.share());
        self.tick();
    }

    /// Shows where it is, if it is time to: a long step says nothing.
    pub(super) fn tick(&self) {
        let every = match &self.screen {
            Some(_) => SHOWN_EVERY,
            None => LOGGED_EVERY,
        };
        if self.quiet || self.last.get().is_some_and(|last| last.elapsed() < every) {
            return;
        }
        self.last.set(Some(Instant::now()));
        let took = self.begun.elapsed();
        match &self.screen {
            Some(screen) => screen.event(Event::Progress(self.progress(took))),
            None => {
                let left = self.progress(took).left_ns;
                let left = left.map(|left| format!("about {} left, ", clock(left.as_secs_f64())));
                remark(&format!(
                    "{} s, {}{}",
                    took.as_secs(),
                    left.unwrap_or_default(),
                    self.doing.borrow()
                ));
            }
        }
    }

    fn progress(&self, took: Duration) -> Progress {
        let done = self.done.get();
        let left = done.filter(|done| *done >= TELLS);
        let left = left.map(|done| took.mul_f64((1.0 - done) / done));
        let nanos = |span: Duration| Nanos::new(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX));
        Progress {
            t_ns: nanos(took),
            done,
            left_ns: left.map(nanos),
            doing: Some(self.doing.borrow().clone()),
            ..Progress::default()
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.view.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_tells_its_share_and_the_time_left() {
        let shown = Shown {
            view: View::Quiet,
            screen: None,
            quiet: true,
            builds: 1,
            begun: Instant::now(),
            number: 1,
            last: Cell::new(None),
            doing: RefCell::default(),
            done: Cell::new(None),
        };
        let mut meter = Meter::default();
        let step = meter.hear("  CC      kernel/fork.o").unwrap();
        shown.step(&meter, step);
        let progress = shown.progress(Duration::from_secs(10));
        assert_eq!((progress.done, progress.left_ns), (None, None));
        meter.expected = Some(4);
        shown.step(&meter, step);
        let progress = shown.progress(Duration::from_secs(10));
        assert_eq!(progress.done, Some(0.25));
        assert_eq!(progress.left_ns, Some(Nanos::from_secs(30)));
        assert_eq!(
            progress.doing.as_deref(),
            Some("1 of about 4 steps: CC kernel/fork.o")
        );
    }
}
