// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! One run from its options to its results.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread;

use jiff::Timestamp;
use punctual_measure::MeasureError;
use punctual_measure::{frame, wakeup};
use punctual_model::{Nanos, Policy, RunSpec};
use punctual_peers::command::{Affinity, Class, IdleStates, Options};
use punctual_store::Store;
use punctual_sys::msr::smi_count;
use punctual_sys::{HeldDmaLatency, SysRoot, clock, sched};

use super::idle::{IdleError, LimitedIdle};
use super::json;
use super::live::{Live, Setup, Show};
use super::plan;
use super::status_requests::{Pipe, StatusRequests};
use super::tally::Spikes;
use super::text::{self, HistogramForm, Thread};
use super::trace::Trace;
use crate::cpus::Cpus;
use crate::error::CliError;
use crate::home;
use crate::output::{print, remark};
use crate::recording::{Beside, Job, record_beside};
use crate::signals::StopRequest;

/// What the original exits with when something failed.
const FAILED: u8 = 1;

/// What rtla exits with when a threshold was passed.
const STRICT_HIT: u8 = 2;

/// What a run starts from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start<'a> {
    pub(super) sys: &'a SysRoot,
    pub(super) cpus: &'a Cpus,
    pub(super) home: Option<&'a Path>,
    pub(super) args: &'a [String],
}

/// A run that could not be made.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) status: u8,
    pub(super) said: String,
}

impl Failed {
    fn new(said: impl Into<String>) -> Self {
        Self {
            status: FAILED,
            said: said.into(),
        }
    }
}

impl From<CliError> for Failed {
    fn from(err: CliError) -> Self {
        err.print();
        Self::new("FATAL: could not set up the run")
    }
}

/// Measures and prints; returns the exit status.
pub(super) fn run(start: &Start<'_>, options: &Options) -> Result<u8, Failed> {
    let spec = match plan::spec(options, start.cpus) {
        Ok(spec) => spec,
        Err(said) => {
            options.remarks.iter().for_each(|text| remark(text));
            super::usage();
            return Err(Failed::new(said));
        }
    };
    check_smi(start.sys, options)?;
    options.remarks.iter().for_each(|text| remark(text));
    check_privilege()?;
    // A register that cannot be read is reported where the original does, and without remarks of ours before it.
    let register = check_register(start.sys, options, &spec);
    if register.is_ok() {
        warn(options);
    }
    if let Some(Err(said)) = plan::main_affinity(options, start.cpus) {
        remark(&format!("{said}; --mainaffinity is ignored"));
    }
    let mut histfile = options
        .histfile
        .as_deref()
        .map(open_histogram)
        .transpose()?;
    if options.verbose {
        say(&format!(
            "Max CPUs = {}\nOnline CPUs = {}\n",
            start.cpus.online.len(),
            start.cpus.allowed.len()
        ));
    }
    if options.resolution {
        say_resolution(&spec);
    }
    if options.debug {
        remark(&asked_for(options, &spec));
    }
    let _held = hold(start.sys, options);
    register?;
    let limited = limit(start.sys, options, &spec)?;
    if options.verbose {
        let line = |i| {
            format!(
                "Thread {i} Interval: {}\n",
                spec.interval_of(i + 1).get() / 1_000
            )
        };
        say(&(0..spec.threads).map(line).collect::<String>());
    }
    let json = options.json.as_deref().map(open_json).transpose()?;
    let stop = StopRequest::on_signals()?;
    let mut beside = Beside {
        sink: listener(start.sys, options, &spec, stop.flag()),
        pacing: plan::pacing(options),
    };
    beside.sink.asked = StatusRequests::listen().ok();
    let pipe = options
        .fifo
        .as_deref()
        .and_then(|path| serve(path, &mut beside.sink));
    let started = Timestamp::now();
    measure(start, options, spec.clone(), &stop, &mut beside)?;
    let restored = limited.is_none_or(LimitedIdle::lift);
    let mut live = beside.sink;
    live.finish();
    drop(pipe);
    let status = match live.hit {
        // Said already, by the process that should have done it.
        _ if !restored => FAILED,
        Some(_) if options.strict_exit => STRICT_HIT,
        _ => 0,
    };
    results(options, &live, histfile.as_mut())?;
    if let Some(mut file) = json {
        let head = json::Head {
            command: command(start.args),
            started,
            ended: Timestamp::now(),
            return_code: status,
            resolution: live.setup.resolution,
            histogram: options.histogram.is_some(),
        };
        let bound: Vec<_> = (0..spec.threads).map(|i| spec.cpu_of(i)).collect();
        let document = json::document(start.sys, &head, &live.tallies, &bound);
        replace(&mut file, &document)
            .map_err(|err| Failed::new(format!("FATAL: --json: {err}")))?;
    }
    Ok(status)
}

/// Returns the command line, as one that a shell would take.
fn command(args: &[String]) -> String {
    let quoted = args.iter().map(|arg| {
        if arg.is_empty() || arg.contains(char::is_whitespace) {
            format!("'{arg}'")
        } else {
            arg.clone()
        }
    });
    std::iter::once("cyclictest".to_owned())
        .chain(quoted)
        .collect::<Vec<_>>()
        .join(" ")
}

fn measure(
    start: &Start<'_>,
    options: &Options,
    spec: RunSpec,
    stop: &StopRequest,
    beside: &mut Beside<Live>,
) -> Result<(), Failed> {
    let job = Job {
        note: Some(command(start.args)).filter(|note| note.len() <= 200),
        insist_on_mlock: true,
        ..Job::wakeup(spec.clone())
    };
    if options.record {
        let store = Store::open(home::find(options.home.as_deref().or(start.home))?)
            .map_err(CliError::from)?;
        let recorded = record_beside(start.sys, &store, &job, stop, beside)?;
        let path = recorded.kept()?;
        remark(&format!(
            "INFO: recorded as {} in {}",
            recorded.record.id,
            path.display()
        ));
        return Ok(());
    }
    let control = job.control(String::new(), stop, Nanos::MAX);
    let (pacing, sink) = (beside.pacing, &mut beside.sink);
    let run = frame::run(start.sys, &job.setup, &control, None, sink, |frame| {
        wakeup::run(&spec, pacing, frame)
    });
    match run {
        Ok(_) => Ok(()),
        Err(MeasureError::Policy { .. }) => Err(Failed::new(DENIED)),
        Err(err) => Err(CliError::from(err).into()),
    }
}

/// The driver's error for a register that the processor does not have.
const EIO: i32 = 5;

const NO_REGISTER: &str = "FATAL: SMI counter is not supported on this processor";

const DENIED: &str = "Unable to change scheduling policy!\nProbably missing capabilities, either \
                      run as root or increase RLIMIT_RTPRIO limits.";

/// Fails without the privilege to be real-time, also where no priority is asked for: the original
/// does, and scripts rely on it to find out.
fn check_privilege() -> Result<(), Failed> {
    let probe = thread::spawn(|| sched::set_policy(Policy::Fifo { priority: 1 }));
    match probe.join() {
        Ok(Ok(())) => Ok(()),
        _ => Err(Failed::new(DENIED)),
    }
}

/// System management interrupts are counted, by CPU, by a register that only Intel processors have.
/// The original knows their models up to those of 2021 and refuses newer ones; here, whether the
/// register can be read is tried ([`check_register`]).
fn check_smi(sys: &SysRoot, options: &Options) -> Result<(), Failed> {
    if !options.smi {
        return Ok(());
    }
    let processor = sys.read("/proc/cpuinfo").unwrap_or_default();
    if !processor.contains("GenuineIntel") {
        return Err(Failed::new(NO_REGISTER));
    }
    if options.affinity == Affinity::Unbound {
        return Err(Failed::new("FATAL: SMI counter relies on thread affinity"));
    }
    Ok(())
}

fn check_register(sys: &SysRoot, options: &Options, spec: &RunSpec) -> Result<(), Failed> {
    if !options.smi {
        return Ok(());
    }
    let cpu = spec.cpu_of(0).unwrap_or(0);
    let Err(err) = smi_count(sys, cpu) else {
        return Ok(());
    };
    match err.errno() {
        Some(errno) if errno != EIO => Err(Failed::new(format!(
            "WARN: /dev/cpu/{cpu}/msr open failed, try chown or chmod +r /dev/cpu/*/msr, or run as root\n\
             FATAL: Could not open MSR interface, errno: {errno}"
        ))),
        // The driver is there, and the processor refused.
        _ => Err(Failed::new(NO_REGISTER)),
    }
}

/// Says what the original lets pass.
fn warn(options: &Options) {
    if options.class == Class::Other && options.priority == 0 {
        remark(
            "WARN: no priority given: the threads run with SCHED_OTHER, which is not a real-time \
             measurement (add -p 80)",
        );
    }
    if options.affinity == Affinity::Unbound && options.threads > 1 {
        remark("WARN: the threads are not bound to CPUs (add -a or -S)");
    }
    if options.posix_timers && options.system {
        remark("WARN: -x -s: interval timers are gone, POSIX timers are used");
    }
    if options.tracemark && options.break_above <= 0 {
        remark("WARN: --tracemark does nothing without -b");
    }
}

/// Holds the bound on idle states, and says so as the original does.
fn hold(sys: &SysRoot, options: &Options) -> Option<HeldDmaLatency> {
    let us = match options.idle {
        IdleStates::Bound(us) => us,
        IdleStates::Laptop => {
            remark("WARN: not setting cpu_dma_latency to save battery power");
            return None;
        }
        IdleStates::Untouched => {
            remark("WARN: not setting cpu_dma_latency from cyclictest");
            return None;
        }
        IdleStates::Deepest(_) => return None,
    };
    match HeldDmaLatency::hold(sys, Nanos::from_micros(us.into())) {
        Ok(held) => {
            say(&format!("# /dev/cpu_dma_latency set to {us}us\n"));
            Some(held)
        }
        Err(err) => {
            remark(&format!(
                "WARN: {err} failed: idle-state latency is not limited"
            ));
            None
        }
    }
}

/// Switches deeper idle states of the CPUs in use off, where that was asked for.
fn limit(sys: &SysRoot, options: &Options, spec: &RunSpec) -> Result<Option<LimitedIdle>, Failed> {
    let IdleStates::Deepest(deepest) = options.idle else {
        return Ok(None);
    };
    match LimitedIdle::set(sys, &spec.cpus, deepest) {
        Ok(limited) => Ok(Some(limited)),
        Err(IdleError::None(cpus)) => {
            remark(&format!(
                "WARN: --deepest-idle-state: CPUs {cpus} have no idle states"
            ));
            Ok(None)
        }
        Err(err) => Err(Failed::new(format!(
            "FATAL: could not set the deepest idle state: {err}"
        ))),
    }
}

fn say_resolution(spec: &RunSpec) {
    let stated = clock::resolution(spec.clock).get();
    remark(&format!("WARN: reported clock resolution: {stated} nsec"));
    if let Some(step) = clock::observed_step(spec.clock, 1_000_000) {
        remark(&format!(
            "WARN: measured clock resolution approximately: {} nsec",
            step.get()
        ));
    }
}

fn listener(sys: &SysRoot, options: &Options, spec: &RunSpec, stop: Arc<AtomicBool>) -> Live {
    let priority = |index| match spec.policy_of(index) {
        Policy::Fifo { priority } | Policy::RoundRobin { priority } => priority,
        _ => 0,
    };
    let threads = (0..spec.threads).map(|index| Thread {
        tid: 0,
        priority: priority(index),
        interval_us: spec.interval_of(index).get() / 1_000,
        smis: options.smi.then_some(0),
    });
    let mut live = Live::new(Setup {
        sys: sys.clone(),
        show: show(options),
        resolution: plan::resolution(options),
        policy: options.class.shown(),
        break_above: u64::try_from(options.break_above).ok().filter(|n| *n > 0),
        threads: threads.collect(),
        rows: options.histogram.unwrap_or(0),
        spikes: Spikes {
            trigger: options.spike,
            room: options.spike_nodes,
            ..Spikes::default()
        },
        stagger: Nanos::from_micros(options.aligned_us.unwrap_or(0)),
        stop,
    });
    if options.smi {
        live.count_smis_of((0..spec.threads).map(|index| spec.cpu_of(index)));
    }
    if options.tracemark {
        live.trace = Trace::find(sys);
        if live.trace.is_none() {
            remark("WARN: --tracemark: tracefs is unavailable");
        }
    }
    live
}

const fn show(options: &Options) -> Show {
    if options.verbose {
        Show::Values { of: options.oscope }
    } else if options.quiet {
        Show::Nothing
    } else if options.refresh_on_max {
        Show::NewMaxima
    } else {
        Show::Lines
    }
}

fn serve(path: &Path, live: &mut Live) -> Option<Pipe> {
    let said = Arc::new(Mutex::new(String::new()));
    match Pipe::serve(path, Arc::clone(&said)) {
        Ok(pipe) => {
            live.piped = Some(said);
            Some(pipe)
        }
        Err(err) => {
            remark(&format!(
                "Error creating fifo {}: {}",
                path.display(),
                plain(&err)
            ));
            None
        }
    }
}

/// Prints what is known at the end.
fn results(options: &Options, live: &Live, histfile: Option<&mut File>) -> Result<(), Failed> {
    if options.quiet && !options.verbose && options.histogram.is_none() {
        say(&live.lines());
    }
    if live.setup.spikes.count > 0 {
        say(&text::spikes(&live.setup.spikes));
    }
    if options.histogram.is_some() {
        let form = HistogramForm {
            // With one thread it would say the same twice.
            sum: options.hist_sum && options.threads > 1,
            compact: options.hist_compact,
        };
        let smis: Option<Vec<u64>> = live.setup.threads.iter().map(|t| t.smis).collect();
        let histogram = text::histogram(&live.tallies, form, smis.as_deref());
        match histfile {
            Some(file) => write_histogram(file, &histogram)?,
            None => say(&histogram),
        }
        let overflows: u64 = live.tallies.iter().map(|t| t.overflows).sum();
        if overflows > 0 {
            remark(&format!(
                "WARN: {overflows} latencies exceeded the histogram and are in no row"
            ));
        }
    }
    if options.break_above != 0 {
        let tids: Vec<i32> = live.setup.threads.iter().map(|t| t.tid).collect();
        let hit = live
            .hit
            .and_then(|(index, value)| Some((*tids.get(index)?, value)));
        say(&text::breaking(&tids, hit));
    }
    Ok(())
}

/// Returns what the system calls an error, as C programs say it.
fn plain(err: &io::Error) -> String {
    let text = err.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    text[..end].to_owned()
}

/// Opens a file of results before the run: results of hours that cannot be written are lost. What is in
/// it stays until then.
fn open(path: &Path) -> io::Result<File> {
    File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}

/// Writes all of a file that was opened before the run.
fn replace(file: &mut File, content: &[u8]) -> io::Result<()> {
    // A pipe or a device has no length.
    drop(file.set_len(0));
    file.write_all(content)
}

/// Opens the file of `--histfile`.
fn open_histogram(path: &Path) -> Result<File, Failed> {
    open(path).map_err(|err| {
        Failed::new(format!(
            "opening histogram file: {}: {}",
            path.display(),
            plain(&err)
        ))
    })
}

fn write_histogram(file: &mut File, histogram: &str) -> Result<(), Failed> {
    replace(file, histogram.as_bytes())
        .map_err(|err| Failed::new(format!("writing histogram file: {}", plain(&err))))
}

/// Says what the options came to.
fn asked_for(options: &Options, spec: &RunSpec) -> String {
    let cpus = match options.affinity {
        Affinity::Unbound => "not bound to CPUs".to_owned(),
        _ => format!("bound to CPUs {}", spec.cpus),
    };
    let duration = spec
        .duration_ns
        .map(|_| Nanos::from_secs(options.duration_s));
    let end = match (spec.samples, duration) {
        (None, None) => "until stopped".to_owned(),
        (Some(n), None) => format!("{n} loops"),
        (None, Some(ns)) => format!("for {ns}"),
        (Some(n), Some(ns)) => format!("{n} loops, for {ns} at most"),
    };
    format!(
        "DEBUG: threads {}, {cpus}; policy {}, priority {}; interval {} us, distance {} us; {end}; \
         everything else on CPUs {}",
        spec.threads,
        options.class.shown(),
        options.priority,
        options.interval_us,
        options.distance_us,
        spec.housekeeping,
    )
}

/// Opens the file of `--json`. Its failure is the exit status, as in the original.
fn open_json(path: &Path) -> Result<File, Failed> {
    open(path).map_err(|err| Failed {
        status: u8::try_from(err.raw_os_error().unwrap_or(1)).unwrap_or(1),
        said: format!("Failed to open '{}': {}", path.display(), plain(&err)),
    })
}

/// Prints to standard output; it is not a failure if its reader is gone.
fn say(text: &str) {
    if let Err(err) = print(text) {
        super::not_printed(&err);
    }
}
