// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Loads for their own sake: what they do is said while they go on, and judged at the end.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use punctual_measure::loads::{Ledger, LoadSpec, Report};
use punctual_model::{LOAD_REPORT_FORMAT, LoadReport, Nanos};
use punctual_report::document::Document;
use punctual_report::text;

use super::stop_after;
use crate::cli::LoadArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, print, remark};

/// Time between the lines that say how much the loads do.
const SAY_EVERY: Duration = Duration::from_secs(1);

/// Loads without a measurement.
pub(super) struct Alone<'a> {
    loads: &'a [LoadSpec],
    stop: &'a Arc<AtomicBool>,
    duration: Option<Duration>,
    says_rates: bool,
    /// Whether it was said what takes long before they work.
    told: bool,
    /// From when all loads work.
    begun: Option<Begun>,
}

struct Begun {
    at: Instant,
    /// The last report: programs take their time to end after it.
    last: Instant,
    ledger: Ledger,
    /// What each load had done when it was last said, and when that was.
    said: Vec<Option<(u64, Instant)>>,
    /// Lines of the loads that have reported since.
    lines: Vec<String>,
    next: Instant,
}

impl<'a> Alone<'a> {
    pub(super) fn new(args: &LoadArgs, loads: &'a [LoadSpec], stop: &'a Arc<AtomicBool>) -> Self {
        Self {
            loads,
            stop,
            duration: args.duration.map(Duration::from),
            says_rates: !args.json && !args.quiet,
            told: false,
            begun: None,
        }
    }

    /// Takes what the loads say. Fails, which ends them, when nobody reads the rates any more.
    pub(super) fn take(&mut self, report: &Report) -> io::Result<()> {
        let now = Instant::now();
        if let Report::Preparing { what } = report {
            if !std::mem::replace(&mut self.told, true) {
                remark(&format!("{what}; Ctrl-C stops."));
            }
            return Ok(());
        }
        let Some(begun) = &mut self.begun else {
            self.begun = Some(Begun {
                at: now,
                last: now,
                ledger: Ledger::open(self.loads.to_vec(), now),
                said: vec![None; self.loads.len()],
                lines: Vec::new(),
                next: now,
            });
            return stop_after(self.duration, self.stop);
        };
        // The end is not known yet: until then every silence counts.
        begun.last = now;
        begun.ledger.note(report, now, now);
        match report {
            // Whoever loads this way relies on all of them.
            Report::Unit { place, .. } => {
                if let Some(said) = begun.said.get_mut(*place) {
                    *said = None;
                }
            }
            Report::Died { .. } => self.stop.store(true, Ordering::Relaxed),
            Report::Work { place, done, .. } if self.says_rates => {
                let name = self.loads.get(*place);
                return begun.say(*place, *done, now, name);
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn finish(self, json: bool) -> Result<Exit, CliError> {
        let Some(begun) = self.begun else {
            // Interrupted before all of them worked.
            return Ok(Exit::Fine);
        };
        let loads = begun.ledger.judge(begun.last, begun.last);
        let faults: Vec<String> = loads
            .iter()
            .filter_map(|load| Some(format!("{}: {}", load.load, load.fault.as_ref()?)))
            .collect();
        let report = LoadReport {
            format: LOAD_REPORT_FORMAT.to_owned(),
            valid: faults.is_empty(),
            duration_ns: Nanos::new(
                u64::try_from((begun.last - begun.at).as_nanos()).unwrap_or(u64::MAX),
            ),
            loads,
        };
        if json {
            output::json(&report)?;
        } else {
            print(&format!(
                "\n{}",
                output::written(&Document::of_loads(&report))
            ))?;
        }
        match faults.is_empty() {
            true => Ok(Exit::Fine),
            false => Err(CliError::failed_to("keep the loads at work").because(faults.join("; "))),
        }
    }
}

impl Begun {
    /// Says once a second how much each load has done since the last time.
    fn say(
        &mut self,
        place: usize,
        done: u64,
        now: Instant,
        load: Option<&LoadSpec>,
    ) -> io::Result<()> {
        let last = place + 1 == self.said.len();
        let Some(said) = self.said.get_mut(place) else {
            return Ok(());
        };
        if now >= self.next {
            let before = said.replace((done, now));
            if let (Some((then, at)), Some(load)) = (before, load) {
                let time = now.saturating_duration_since(at).as_secs_f64();
                let rate = text::scaled(whole(done.saturating_sub(then)) / time);
                let seconds = now.saturating_duration_since(self.at).as_secs_f64();
                let unit = self.ledger.unit(place);
                self.lines
                    .push(format!("{seconds:>7.1} s  {rate:>7} {unit}/s  {load}\n"));
            }
        }
        if last && now >= self.next {
            self.next = now + SAY_EVERY;
            let mut out = io::stdout().lock();
            out.write_all(self.lines.concat().as_bytes())?;
            self.lines.clear();
            return out.flush();
        }
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "display only")]
fn whole(n: u64) -> f64 {
    n as f64
}
