// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The kernel's timerlat tracer, in an instance of our own.
//!
//! The tracer runs a thread of the kernel on each CPU of `osnoise/cpus`. It sets a timer, and says in
//! the trace how late the interrupt was and how late the thread (Documentation/trace/timerlat-tracer.rst):
//!
//! ```text
//!   <idle>-0     [000] d.h1.  54.029328: #1     context    irq timer_latency       932 ns
//!    <...>-867   [000] .....  54.029339: #1     context thread timer_latency     11700 ns
//! ```
//!
//! Period, CPUs and the latencies at which it stops recording are settings of the whole machine. They
//! are changed only where they are not as wanted, after the old values were written into the name of
//! our instance: whoever finds that after a kill puts them back ([`super::leftover`]).

mod trace;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use punctual_model::{Check, CpuId, CpuSet, Gathered as _, Nanos, Policy};
use punctual_sys::tracefs::{Tracefs, TracefsError};
use punctual_sys::{SysRoot, sched};

use self::trace::Trace;
use super::leftover::{self, CPUS, PERIOD, STOP, STOP_TOTAL, Setting};
use crate::error::MeasureError;
use crate::frame::{Found, Frame};
use crate::watch::Beside;

/// Time within which the tracer's threads begin, at the latest.
const BEGUN_WITHIN: Duration = Duration::from_secs(1);

/// Time in which what was recorded before the run is read and left out.
const EARLIER: Duration = Duration::from_millis(100);

/// Time after the end in which a thread that is late then runs, at the latest: throttling holds it back for a second.
const LATE_AT_MOST: Duration = Duration::from_secs(5);

/// What tells its instance from others of this process.
const OWN: &str = "+timerlat";

/// The periods that the tracer takes (`timerlat_min_period` and `timerlat_max_period` in kernel/trace/trace_osnoise.c).
const PERIODS: RangeInclusive<Nanos> = Nanos::from_micros(100)..=Nanos::from_secs(1);

/// The longest name of a directory, in bytes.
const NAME_MAX: usize = 255;

/// What the tracer is to be set to.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    interval: Nanos,
    /// The name of the instance, which says how the settings were.
    name: String,
    settings: Vec<Setting>,
}

/// Looks how the tracer has to be set.
///
/// # Errors
///
/// [`MeasureError::Lacks`] without the tracer, and [`MeasureError::Spec`] for what it cannot be set to.
pub(super) fn plan(
    interval: Nanos,
    cpus: &CpuSet,
    tracefs: &Tracefs,
    sys: &SysRoot,
) -> Result<Plan, MeasureError> {
    if !tracefs.has_tracer("timerlat").map_err(TracefsError::Use)? {
        return Err(MeasureError::Lacks {
            what: "the timerlat tracer (CONFIG_TIMERLAT_TRACER)",
        });
    }
    let refused = |option: String, reason: &str| MeasureError::Spec {
        option,
        reason: reason.to_owned(),
    };
    let is_whole = interval.get().is_multiple_of(1_000);
    if !is_whole || !PERIODS.contains(&interval) {
        let asked = match is_whole {
            true => interval.to_string(),
            false => format!("{}ns", interval.get()),
        };
        let reason = "the timerlat tracer takes whole microseconds from 100 µs to 1 s";
        return Err(refused(format!("--interval {asked}"), reason));
    }
    let wanted = wanted(interval, cpus);
    let settings = Setting::differing(tracefs.root(), &wanted).map_err(TracefsError::Use)?;
    let name = leftover::name(sys) + OWN + &leftover::encode(&settings);
    if name.len() > NAME_MAX {
        let reason = "too long a list for the timerlat tracer, together with that in osnoise/cpus";
        return Err(refused(format!("--cpus {cpus}"), reason));
    }
    Ok(Plan {
        interval,
        name,
        settings,
    })
}

pub(super) fn run(
    plan: Plan,
    explain: bool,
    tracefs: &Tracefs,
    frame: &mut Frame<'_>,
) -> Result<Found, MeasureError> {
    let interval = plan.interval;
    let setup = frame.setup().clone();
    let cpus = setup.cpus.clone();
    refuse_others(tracefs)?;
    let instance = tracefs.instance(&plan.name).map_err(TracefsError::Use)?;
    let changed =
        leftover::Changed::make(tracefs.root(), plan.settings).map_err(TracefsError::Use)?;
    instance
        .write("current_tracer", "timerlat")
        .map_err(TracefsError::Use)?;
    // While it is open, the tracer cannot be changed any more.
    let mut pipe = instance.open("trace_pipe").map_err(TracefsError::Use)?;
    let before = prioritise(frame.sys(), &cpus, setup.priority)?;
    let explainer = match explain {
        true => {
            let tids = threads(frame.sys(), &cpus).into_values().collect();
            Some(Beside::start_timerlat(frame.sys(), tids)?)
        }
        false => None,
    };
    if frame.sys().is_live() {
        // The run begins when everything is there that takes part in it, and the tracer's threads have left the priority that they
        // began with.
        let until = Instant::now() + EARLIER;
        Trace::new(&cpus, interval, frame.keep()).read(&mut pipe, || Instant::now() < until)?;
        frame.begin_now();
    }
    let mut trace = Trace::new(&cpus, interval, frame.keep());
    if let Some(explainer) = &explainer {
        explainer.begin(frame.origin());
    }
    while !frame.is_over() {
        trace.look(frame, &mut pipe, &before)?;
    }
    let ended = frame.ended();
    let last = trace.last(&mut pipe, LATE_AT_MOST)?;
    let after = read_back(frame.sys(), &cpus);
    let recording = instance.read("tracing_on");
    let written = instance
        .write("tracing_on", "0")
        .and_then(|()| instance.read("tracing_on"));
    let mut explained = Found::default();
    if let Some(explainer) = explainer {
        explainer.finish(frame.origin(), &mut explained)?;
    }
    // Nothing comes any more: it ends.
    trace.read(&mut pipe, || true)?;
    frame.last(trace.progress(&before));
    drop(pipe);
    // The name of the instance says what to put back, so that goes last.
    written
        .and_then(|_| instance.write("current_tracer", "nop"))
        .and_then(|()| changed.restore())
        .and_then(|()| instance.remove())
        .map_err(TracefsError::Use)?;
    let mut found = trace.conclude(&before);
    let recording = recording.map_err(TracefsError::Use)?;
    found.checks.push(recorded(&recording));
    found.checks.push(last);
    found
        .checks
        .push(scheduling(setup.priority, &before, &after));
    found.checks.extend(explained.checks);
    found.findings.extend(explained.findings);
    found.watched = explained.watched;
    found.options = [("source".to_owned(), "timerlat".to_owned())].into();
    found.ended = ended;
    Ok(found)
}

/// What the tracer is to be set to: nothing ends the trace before the run.
fn wanted(interval: Nanos, cpus: &CpuSet) -> [(&'static str, String); 4] {
    [
        (PERIOD, (interval.get() / 1_000).to_string()),
        (CPUS, cpus.to_string()),
        (STOP, "0".to_owned()),
        (STOP_TOTAL, "0".to_owned()),
    ]
}

/// Judges what `tracing_on` was at the end: whoever switched it off took the wake-ups after that.
fn recorded(tracing_on: &str) -> Check {
    let on = tracing_on.trim() == "1";
    let detail = match on {
        true => "the tracer recorded until the end of the run",
        false => {
            "recording was switched off during the run, so later wake-ups are missing: by another \
             program, or by osnoise/stop_tracing_us or stop_tracing_total_us"
        }
    };
    Check::of("tracing-on", on, detail)
}

/// Refuses where somebody uses the tracer already: its settings are those of the whole machine.
fn refuse_others(tracefs: &Tracefs) -> Result<(), MeasureError> {
    let root = tracefs.root();
    let names = root.names("instances").map_err(TracefsError::Use)?;
    let files = names
        .iter()
        .map(|name| format!("instances/{name}/current_tracer"));
    for file in files.chain(["current_tracer".to_owned()]) {
        let tracer = root.read_if_present(&file).map_err(TracefsError::Use)?;
        if let Some(tracer) = tracer.filter(|t| matches!(t.trim(), "timerlat" | "osnoise")) {
            return Err(MeasureError::Spec {
                option: "--source timerlat".to_owned(),
                reason: format!("the {} tracer is already in use ({file})", tracer.trim()),
            });
        }
    }
    Ok(())
}

type Policies = BTreeMap<CpuId, Policy>;

/// Gives the tracer's threads our policy, and reads it back. A captured tree has none.
fn prioritise(sys: &SysRoot, cpus: &CpuSet, policy: Policy) -> Result<Policies, MeasureError> {
    if sys.is_live() {
        let tids = threads(sys, cpus);
        wait_until_begun(tids.values().copied());
        for tid in tids.values() {
            sched::set_policy_of(*tid, policy)
                .map_err(|source| MeasureError::Policy { policy, source })?;
        }
    }
    Ok(read_back(sys, cpus))
}

/// Each of the tracer's threads begins by giving itself a real-time priority, which would take the place of one that it had before.
/// What becomes of one that does not begin in time is seen when it is read back.
fn wait_until_begun(tids: impl Iterator<Item = i32>) {
    let until = Instant::now() + BEGUN_WITHIN;
    for tid in tids {
        let is_ordinary = || sched::policy_of(tid).is_ok_and(|policy| !policy.is_real_time());
        while is_ordinary() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn read_back(sys: &SysRoot, cpus: &CpuSet) -> Policies {
    if !sys.is_live() {
        return Policies::new();
    }
    threads(sys, cpus)
        .into_iter()
        .filter_map(|(cpu, tid)| Some((cpu, sched::policy_of(tid).ok()?)))
        .into_map()
}

/// Finds the tracer's threads: `timerlat/N` on CPU N.
fn threads(sys: &SysRoot, cpus: &CpuSet) -> BTreeMap<CpuId, i32> {
    let names = sys.names("/proc").unwrap_or_default();
    let thread = |name: &String| {
        let tid: i32 = name.parse().ok()?;
        let comm = sys.read(&format!("/proc/{name}/comm")).ok()?;
        let cpu = comm.strip_prefix("timerlat/")?.parse().ok()?;
        cpus.contains(cpu).then_some((cpu, tid))
    };
    names.iter().filter_map(thread).into_map()
}

fn scheduling(asked: Policy, before: &Policies, after: &Policies) -> Check {
    let id = "scheduling";
    if before.is_empty() {
        return Check::unknown(id, "the tracer's threads were not found");
    }
    let wrong = before.iter().chain(after).find(|(_, got)| **got != asked);
    match wrong {
        Some((cpu, got)) => Check::fail(
            id,
            format!(
                "the tracer's thread on CPU {cpu} was asked to run with {asked} and ran with {got}"
            ),
        ),
        None => Check::of(
            id,
            before.len() == after.len(),
            format!(
                "{asked} was read back from {} of the tracer's threads at the start and {} at the \
                 end",
                before.len(),
                after.len()
            ),
        ),
    }
}

#[cfg(test)]
mod tests;
