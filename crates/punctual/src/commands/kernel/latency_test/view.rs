// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How far the boots are: on a screen with what they gave up to now, or a line a boot.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use punctual_kernel::latency_test::{Row, Test};
use punctual_model::{Better, Event, Figure, LatencyRun, Nanos, Progress};
use punctual_stats::float;

use crate::error::CliError;
use crate::output::remark;
use crate::signals::StopRequest;
use crate::view::{Feed, View};

/// Time between two frames.
const SHOWN_EVERY: Duration = Duration::from_millis(250);

/// The screen, if there is one. Given back when this is dropped.
pub(super) struct Shown {
    view: View,
    teller: Arc<Teller>,
}

/// Tells how it goes, from any thread.
pub(super) struct Teller {
    screen: Option<Feed>,
    quiet: bool,
    boots: usize,
    loads: Vec<String>,
    begun: Instant,
    now: Mutex<Now>,
}

#[derive(Default)]
struct Now {
    running: Vec<String>,
    done: usize,
    /// The largest latency beside each load up to now, by kernel, model and load, and of how many boots.
    largest: BTreeMap<[String; 3], (u64, u64)>,
    failures: Vec<CliError>,
    last: Option<Instant>,
}

impl Shown {
    /// Shows that many boots of `test`. The key of the screen to quit asks `stop`.
    pub(super) fn new(quiet: bool, stop: &StopRequest, boots: usize, test: &Test) -> Self {
        let mut view = View::pick(quiet, stop);
        view.title("latency test");
        let screen = view.feed();
        let teller = Teller {
            screen,
            quiet,
            boots,
            loads: test.loads.iter().map(|load| load.name.clone()).collect(),
            begun: Instant::now(),
            now: Mutex::default(),
        };
        Self {
            view,
            teller: Arc::new(teller),
        }
    }

    /// Returns who tells it how it goes.
    pub(super) fn teller(&self) -> Arc<Teller> {
        Arc::clone(&self.teller)
    }

    /// Gives the screen back, and prints what did not fit on it.
    pub(super) fn end(&mut self) {
        self.view.clear();
        for failure in self.teller.now().failures.drain(..) {
            failure.print();
        }
    }
}

impl Teller {
    fn now(&self) -> MutexGuard<'_, Now> {
        // Each change is whole, also after a panic.
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A guest boots.
    pub(super) fn begin(&self, name: &str) {
        self.now().running.push(name.to_owned());
    }

    /// A guest is gone: `told` in a few words, what it gave beside each load, and why it failed, if it did.
    pub(super) fn end(
        &self,
        name: &str,
        told: &str,
        (row, cells): (&Row, &[Result<LatencyRun, String>]),
        failure: Option<CliError>,
    ) {
        let mut now = self.now();
        now.running.retain(|running| running != name);
        now.done += 1;
        for (load, run) in self.loads.iter().zip(cells) {
            if let Ok(run) = run {
                now.add((&row.kernel, row.model_name(), load), run.max_ns);
            }
        }
        let line = format!("{} of {}: {name}: {told}", now.done, self.boots);
        match &self.screen {
            Some(screen) => {
                screen.note(line);
                now.failures.extend(failure);
            }
            None => {
                if let Some(failure) = failure {
                    failure.print();
                }
                if !self.quiet {
                    remark(&line);
                }
            }
        }
    }

    /// Shows where it is, if it is time to.
    pub(super) fn tick(&self) {
        let Some(screen) = &self.screen else { return };
        let mut now = self.now();
        if now.last.is_some_and(|last| last.elapsed() < SHOWN_EVERY) {
            return;
        }
        now.last = Some(Instant::now());
        screen.event(Event::Progress(
            now.progress(self.boots, self.begun.elapsed()),
        ));
    }
}

impl Now {
    /// Takes in the largest latency of a boot beside a load.
    fn add(&mut self, (kernel, model, load): (&str, &str, &str), max_ns: u64) {
        let of = [kernel, model, load].map(ToOwned::to_owned);
        let (largest, boots) = self.largest.entry(of).or_default();
        *largest = max_ns.max(*largest);
        *boots += 1;
    }

    fn progress(&self, boots: usize, took: Duration) -> Progress {
        #[expect(clippy::cast_precision_loss, reason = "a share to show")]
        let share = self.done as f64 / boots.max(1) as f64;
        let left = (self.done > 0).then(|| took.mul_f64((1.0 - share) / share));
        let nanos = |span: Duration| Nanos::new(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX));
        Progress {
            t_ns: nanos(took),
            done: Some(share),
            left_ns: left.map(nanos),
            doing: Some(format!(
                "{} of {boots} boots done, now {}",
                self.done,
                match self.running.is_empty() {
                    true => "none".to_owned(),
                    false => self.running.join("; "),
                }
            )),
            figures: self.figures(),
            ..Progress::default()
        }
    }

    /// The largest latency of each cell up to now.
    fn figures(&self) -> Vec<Figure> {
        let figure = |(of, reached): (&[String; 3], &(u64, u64))| {
            let [kernel, model, load] = of;
            let (max_ns, boots) = *reached;
            let labels = [("kernel", kernel), ("model", model), ("load", load)];
            let labels = labels.map(|(key, value)| (key.to_owned(), value.clone()));
            Figure {
                name: "largest latency".to_owned(),
                labels: labels.into_iter().collect(),
                unit: "µs of virtual time".to_owned(),
                better: Better::Lower,
                value: Some(float(max_ns) / 1e3),
                count: boots,
                ..Figure::default()
            }
        };
        self.largest.iter().map(figure).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_boots_gave_up_to_now_is_told_by_kernel_model_and_load() {
        let mut now = Now {
            done: 2,
            running: vec!["a as built, seed 3".to_owned()],
            ..Now::default()
        };
        for max_ns in [41_000, 90_000] {
            now.add(("a", "as built", "fork"), max_ns);
        }
        let progress = now.progress(8, Duration::from_secs(10));
        assert_eq!(progress.done, Some(0.25));
        assert_eq!(progress.left_ns, Some(Nanos::from_secs(30)));
        assert_eq!(
            progress.doing.as_deref(),
            Some("2 of 8 boots done, now a as built, seed 3")
        );
        let [figure] = progress.figures.as_slice() else {
            panic!("{:?}", progress.figures);
        };
        assert_eq!((figure.value, figure.count), (Some(90.0), 2));
        assert_eq!(figure.labels["load"], "fork");
    }
}
