// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The options of cyclictest: which there are, what they mean, and which mistakes are let pass.

mod values;

use std::path::PathBuf;

pub use self::values::{Affinity, Class, IdleStates, Options};
use super::getopt::{self, Given, Known, Value};
use super::number;

/// The largest histogram: a larger one is cut, as in the original.
const HISTOGRAM_LIMIT: u64 = 1_000_000;

/// The most threads.
const THREAD_LIMIT: u32 = 4_096;

macro_rules! known {
    ($($key:ident $short:expr, $long:literal, $value:ident;)+) => {
        /// Options that are known, in the order in which ambiguities are listed.
        const KNOWN: &[Known<Key>] = &[$(Known {
            key: Key::$key,
            short: $short,
            long: $long,
            value: Value::$value,
        }),+];
    };
}

/// What an option asks for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Key {
    Affinity,
    Aligned,
    Breaktrace,
    Clock,
    Debug,
    DeepestIdle,
    DefaultSystem,
    Distance,
    Duration,
    Fifo,
    Help,
    Histfile,
    Histogram,
    Histofall,
    HistCompact,
    Home,
    Interval,
    Json,
    Laptop,
    Latency,
    Loops,
    MainAffinity,
    Mlockall,
    Nothing,
    Nsecs,
    Oscope,
    Policy,
    PosixTimers,
    Priority,
    Priospread,
    Quiet,
    Record,
    RefreshOnMax,
    Relative,
    Resolution,
    Secaligned,
    Smi,
    Smp,
    Spike,
    SpikeNodes,
    StrictExit,
    System,
    Threads,
    Tracemark,
    Verbose,
}

known! {
    Affinity Some('a'), "affinity", Glued;
    Aligned Some('A'), "aligned", Glued;
    Breaktrace Some('b'), "breaktrace", Needed;
    Clock Some('c'), "clock", Needed;
    DefaultSystem None, "default-system", No;
    DeepestIdle None, "deepest-idle-state", Needed;
    Distance Some('d'), "distance", Needed;
    Duration Some('D'), "duration", Needed;
    Latency Some('e'), "latency", Needed;
    Fifo Some('F'), "fifo", Needed;
    Histogram Some('h'), "histogram", Needed;
    Histofall Some('H'), "histofall", Needed;
    Histfile None, "histfile", Needed;
    HistCompact None, "hist-compact", No;
    Home None, "home", Needed;
    Interval Some('i'), "interval", Needed;
    Json None, "json", Needed;
    Laptop None, "laptop", No;
    Loops Some('l'), "loops", Needed;
    MainAffinity None, "mainaffinity", Needed;
    Mlockall Some('m'), "mlockall", No;
    RefreshOnMax Some('M'), "refresh_on_max", No;
    Nothing Some('n'), "nanosleep", No;
    Nothing None, "notrace", No;
    Nsecs Some('N'), "nsecs", No;
    Oscope Some('o'), "oscope", Needed;
    Priority Some('p'), "priority", Needed;
    Priority None, "prio", Needed;
    Priospread None, "priospread", No;
    Quiet Some('q'), "quiet", No;
    Record None, "record", No;
    Relative Some('r'), "relative", No;
    Resolution Some('R'), "resolution", No;
    Secaligned None, "secaligned", Glued;
    System Some('s'), "system", No;
    Smi None, "smi", No;
    Smp Some('S'), "smp", No;
    Smp Some('U'), "numa", No;
    Spike None, "spike", Needed;
    SpikeNodes None, "spike-nodes", Needed;
    StrictExit None, "strict-exit", No;
    Threads Some('t'), "threads", Glued;
    Tracemark None, "tracemark", No;
    Nothing Some('u'), "unbuffered", No;
    Verbose Some('v'), "verbose", No;
    Debug None, "dbg_cyclictest", No;
    Policy Some('y'), "policy", Needed;
    Help None, "help", No;
    PosixTimers Some('x'), "posix_timers", No;
}

/// A command line that is not carried out.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Refused {
    /// Help was asked for.
    Help,
    /// There is no such option, or its value is missing: remark, strictness.
    Unknown(String, bool),
    /// A value cannot be: remarks.
    Bad(Vec<String>),
}

/// What is put together while options are gone through.
#[derive(Default)]
struct Draft {
    options: Options,
    priority: i64,
    faults: Vec<String>,
    /// What the original does not read on after.
    at_once: Option<String>,
    odd_priority: Option<String>,
    /// Whether the time that was asked for is below 0.
    over: bool,
    /// Whether there is a thread for each CPU that is used.
    a_thread_each: bool,
}

/// Returns the number of an option that may have it glued, apart, or not at all.
fn apart_or(given: &Given<Key>, glued: i64) -> i64 {
    match given.value {
        Some(_) => glued,
        None => given.next.as_deref().map_or(0, number::leading),
    }
}

/// Understands a command line, without the program's name, on a machine where `cpus` says how many CPUs a list has, or
/// else may be used.
///
/// # Errors
///
/// [`Refused`]: help is wanted, an option is unknown, or a value cannot be.
pub fn parse(args: &[String], cpus: impl Fn(Option<&str>) -> u32) -> Result<Options, Refused> {
    let strict = args.iter().any(|arg| arg == "--strict-exit");
    let (given, whole) = getopt::scan(KNOWN, args);
    let mut draft = Draft::default();
    for option in &given {
        if option.key == Key::Help {
            return Err(Refused::Help);
        }
        draft.take(option, || cpus(None));
        if let Some(fault) = draft.at_once.take() {
            return Err(Refused::Bad(vec![fault]));
        }
    }
    whole.map_err(|err| Refused::Unknown(err.to_string(), strict))?;
    if let (true, Affinity::Listed(list)) = (draft.a_thread_each, &draft.options.affinity) {
        draft.options.threads = cpus(Some(list));
    }
    draft.finish()
}

impl Draft {
    fn take(&mut self, given: &Given<Key>, cpus: impl Fn() -> u32) {
        let text = given.value.as_deref().unwrap_or_default();
        let number = number::leading(text);
        let o = &mut self.options;
        match given.key {
            Key::Affinity => self.affinity(given),
            Key::Aligned => o.aligned_us = Some(apart_or(given, number).unsigned_abs()),
            Key::Breaktrace => o.break_above = number,
            Key::Clock => match number {
                0 => o.realtime_clock = false,
                1 => o.realtime_clock = true,
                _ => self.fault(format!("-c {text}: the clock is 0 or 1")),
            },
            Key::Debug => o.debug = true,
            Key::DeepestIdle => {
                o.idle = IdleStates::Deepest(i32::try_from(number).unwrap_or(i32::MAX).max(-1));
            }
            Key::DefaultSystem => o.idle = IdleStates::Untouched,
            Key::Distance => match u64::try_from(number) {
                Ok(us) => o.distance_us = us,
                Err(_) => self.fault(format!("-d {text}: the distance is negative")),
            },
            Key::Duration if number < 0 => {
                // It is over before it begins: a sample is taken, and that was it.
                o.duration_s = 0;
                self.over = true;
            }
            Key::Duration => {
                o.duration_s = number::seconds(text);
                self.over = false;
            }
            Key::Fifo => o.fifo = Some(PathBuf::from(text)),
            Key::Help | Key::Nothing => {}
            Key::Histfile => o.histfile = Some(PathBuf::from(text)),
            Key::Histogram | Key::Histofall => {
                o.hist_sum = given.key == Key::Histofall;
                match u64::try_from(number) {
                    Ok(us @ 1..) => {
                        o.histogram = usize::try_from(us.min(HISTOGRAM_LIMIT)).ok();
                    }
                    _ => self.fault(format!("-h {text}: the histogram has at least 1 row")),
                }
            }
            Key::HistCompact => o.hist_compact = true,
            Key::Home => o.home = Some(PathBuf::from(text)),
            Key::Interval => match u64::try_from(number) {
                Ok(us @ 1..) => o.interval_us = us,
                _ => self.fault(format!("-i {text}: the interval is at least 1 us")),
            },
            Key::Json => o.json = Some(PathBuf::from(text)),
            Key::Laptop => o.idle = IdleStates::Laptop,
            Key::Latency => {
                o.idle = IdleStates::Bound(u32::try_from(number.max(0)).unwrap_or(u32::MAX >> 1));
            }
            Key::Loops => o.loops = u64::try_from(number).unwrap_or(0),
            Key::MainAffinity => o.main_affinity = Some(text.trim().to_owned()),
            Key::Mlockall => o.mlock = true,
            Key::Nsecs => o.nsecs = true,
            Key::Oscope => match u64::try_from(number) {
                Ok(n @ 1..) => o.oscope = n,
                _ => self.fault(format!("-o {text}: the reduction is at least 1")),
            },
            Key::Policy => o.class = Class::named(text.trim()),
            Key::PosixTimers => o.posix_timers = true,
            Key::Priority => {
                self.priority = number;
                if !text.bytes().any(|c| c.is_ascii_digit()) {
                    self.odd_priority = Some(text.to_owned());
                }
                if !o.class.is_real_time() {
                    o.class = Class::Fifo;
                }
            }
            Key::Priospread => o.priospread = true,
            Key::Quiet => o.quiet = true,
            Key::Record => o.record = true,
            Key::RefreshOnMax => o.refresh_on_max = true,
            Key::Relative => o.relative = true,
            Key::Resolution => o.resolution = true,
            Key::Secaligned => {
                o.secaligned_us = Some(apart_or(given, number).unsigned_abs());
            }
            Key::Smi => o.smi = true,
            Key::Smp => {
                o.smp = true;
                o.threads = cpus();
                if std::mem::replace(&mut o.affinity, Affinity::Every) != Affinity::Unbound {
                    self.remark("-a ignored due to smp mode");
                }
            }
            Key::Spike => o.spike = u64::try_from(number).unwrap_or(0),
            Key::SpikeNodes => o.spike_nodes = usize::try_from(number).unwrap_or(0).min(1 << 24),
            Key::StrictExit => o.strict_exit = true,
            Key::System => o.system = true,
            Key::Threads => self.threads(given, cpus),
            Key::Tracemark => o.tracemark = true,
            Key::Verbose => o.verbose = true,
        }
    }

    fn affinity(&mut self, given: &Given<Key>) {
        if self.options.smp {
            self.remark("-a ignored due to smp mode");
            return;
        }
        // A list that stands apart is known by how it begins. A number below 0 is taken for one.
        let apart = given.next.as_deref().map(str::trim).filter(|next| {
            *next == "all"
                || next.starts_with(|c: char| c.is_ascii_digit() || "!+".contains(c))
                || number::leading(next) < 0
        });
        if let Some(next) = apart.filter(|next| next.starts_with('-')) {
            self.at_once = Some(format!("WARN: CPU {next} is out of range"));
        }
        self.options.affinity = match given.value.as_deref().map(str::trim).or(apart) {
            Some(list) => Affinity::Listed(list.to_owned()),
            None => Affinity::Every,
        };
    }

    fn threads(&mut self, given: &Given<Key>, cpus: impl Fn() -> u32) {
        if self.options.smp {
            self.remark("-t ignored due to smp mode");
            return;
        }
        let wanted = match &given.value {
            Some(text) => match number::leading(text) {
                n @ 1.. => n,
                _ => return self.fault(format!("-t {text}: at least 1 thread")),
            },
            None => given.next.as_deref().map_or(0, number::leading).max(0),
        };
        self.a_thread_each = wanted == 0;
        let wanted = if wanted == 0 { cpus().into() } else { wanted };
        match u32::try_from(wanted) {
            Ok(n) if n <= THREAD_LIMIT => self.options.threads = n,
            _ => self.fault(format!("-t {wanted}: at most {THREAD_LIMIT} threads")),
        }
    }

    fn finish(mut self) -> Result<Options, Refused> {
        if let Some(value) = self.odd_priority.take() {
            self.remark(&format!(
                "-p took '{value}' as its value, which is not a number: the priority is not the one \
                 you meant (\"-smp -p 80\" is -s -m -p with value \"-p\"; write -S -m -p 80)"
            ));
        }
        self.check();
        if !self.faults.is_empty() {
            let mut said = self.options.remarks;
            said.extend(self.faults);
            return Err(Refused::Bad(said));
        }
        let mut options = self.options;
        set_priority(&mut options);
        if self.over {
            options.loops = 1;
        }
        if options.histogram.is_some() {
            options.distance_us = 0;
        }
        Ok(options)
    }

    /// Looks at options that do not go together.
    fn check(&mut self) {
        if self.options.oscope > 1 && !self.options.verbose {
            self.fault("-o option only meaningful, if verbose".to_owned());
        }
        if self.options.aligned_us.is_some() && self.options.secaligned_us.is_some() {
            self.fault("-A and --secaligned exclude each other".to_owned());
        }
        match u8::try_from(self.priority) {
            Ok(priority @ 0..=99) => self.options.priority = priority,
            _ => self.fault(format!("-p {}: the priority is 0 to 99", self.priority)),
        }
    }

    fn fault(&mut self, what: String) {
        self.faults.push(format!("WARN: {what}"));
    }

    fn remark(&mut self, what: &str) {
        self.options.remarks.push(format!("WARN: {what}"));
    }
}

/// Makes policy and priority go together, as the original does and says.
fn set_priority(options: &mut Options) {
    let lowest = u8::try_from(options.threads + 1).unwrap_or(99).min(99);
    let defaulted = format!("defaulting realtime priority to {lowest}");
    if options.priospread && options.priority == 0 {
        options.priority = lowest;
        options.remarks.push(defaulted.clone());
    }
    if options.priority > 0 && !options.class.is_real_time() {
        let said = "policy and priority don't match: setting policy to SCHED_FIFO";
        options.remarks.push(said.to_owned());
        options.class = Class::Fifo;
    }
    if options.class.is_real_time() && options.priority == 0 {
        options.priority = lowest;
        options.remarks.push(defaulted);
    }
}

#[cfg(test)]
mod tests;
