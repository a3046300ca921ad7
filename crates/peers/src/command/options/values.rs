// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a command line of cyclictest comes to, and what is without any option.

use std::path::PathBuf;

/// The policies that can be named.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Class {
    /// `SCHED_OTHER`.
    #[default]
    Other,
    /// `SCHED_BATCH`.
    Batch,
    /// `SCHED_IDLE`.
    Idle,
    /// `SCHED_FIFO`.
    Fifo,
    /// `SCHED_RR`.
    RoundRobin,
}

impl Class {
    /// Whether it has priorities.
    pub const fn is_real_time(self) -> bool {
        matches!(self, Self::Fifo | Self::RoundRobin)
    }

    pub(super) fn named(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "batch" => Self::Batch,
            "idle" => Self::Idle,
            "fifo" => Self::Fifo,
            "rr" => Self::RoundRobin,
            _ => Self::Other,
        }
    }

    /// Returns the name in the status line.
    pub const fn shown(self) -> &'static str {
        match self {
            Self::Other => "other/other",
            Self::Batch => "batch/other",
            Self::Idle => "idle/other",
            Self::Fifo => "fifo",
            Self::RoundRobin => "rr",
        }
    }
}

/// Which CPUs the threads are bound to.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Affinity {
    /// To none.
    #[default]
    Unbound,
    /// To all that may be used, one each.
    Every,
    /// To these, one each.
    Listed(String),
}

/// What is done about idle states.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum IdleStates {
    /// `/dev/cpu_dma_latency` is held at this many µs.
    Bound(u32),
    /// Nothing: `--laptop`.
    Laptop,
    /// Nothing: `--default-system`.
    Untouched,
    /// States of the CPUs in use deeper than this are switched off; -1: all.
    Deepest(i32),
}

/// A command line that was understood.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "as many switches as cyclictest has"
)]
pub struct Options {
    /// CPUs that the threads are bound to: `-a`, `-S`.
    pub affinity: Affinity,
    /// µs from the start of a thread to that of the next: `-A`.
    pub aligned_us: Option<u64>,
    /// µs from a full second to the start: `--secaligned`.
    pub secaligned_us: Option<u64>,
    /// A latency above this ends the run, in µs or ns as `nsecs` says; 0: none does. `-b`.
    pub break_above: i64,
    /// `CLOCK_REALTIME` instead of `CLOCK_MONOTONIC`: `-c`.
    pub realtime_clock: bool,
    /// `--dbg_cyclictest`.
    pub debug: bool,
    /// µs by which a thread's interval is longer than that of the one before: `-d`.
    pub distance_us: u64,
    /// Seconds to measure; 0: no limit. `-D`.
    pub duration_s: u64,
    /// Where the named pipe is made: `-F`.
    pub fifo: Option<PathBuf>,
    /// Where the histogram is written: `--histfile`.
    pub histfile: Option<PathBuf>,
    /// Rows of the histogram: `-h`, `-H`.
    pub histogram: Option<usize>,
    /// Whether it has a column for all threads together: `-H`.
    pub hist_sum: bool,
    /// Whether rows without samples are left out: `--hist-compact`, which is ours.
    pub hist_compact: bool,
    /// Directory of the store: `--home`, which is ours.
    pub home: Option<PathBuf>,
    /// `--laptop`, `--default-system`, `--latency`, `--deepest-idle-state`.
    pub idle: IdleStates,
    /// The first thread's interval in µs: `-i`.
    pub interval_us: u64,
    /// Where the results are written as JSON: `--json`.
    pub json: Option<PathBuf>,
    /// Samples of a thread that end the run; 0: no number does. `-l`.
    pub loops: u64,
    /// CPUs of all but the measuring threads: `--mainaffinity`.
    pub main_affinity: Option<String>,
    /// Whether memory is locked: `-m`.
    pub mlock: bool,
    /// Whether latencies are in ns: `-N`.
    pub nsecs: bool,
    /// Samples of which one is printed: `-o`.
    pub oscope: u64,
    /// `--policy`, or what a priority makes of it.
    pub class: Class,
    /// `-x`.
    pub posix_timers: bool,
    /// The first thread's priority: `-p`.
    pub priority: u8,
    /// Whether each thread has a priority one below that of the one before: `--priospread`.
    pub priospread: bool,
    /// `-q`.
    pub quiet: bool,
    /// Whether the run is kept in the store: `--record`, which is ours.
    pub record: bool,
    /// `-M`.
    pub refresh_on_max: bool,
    /// `-r`.
    pub relative: bool,
    /// `-R`.
    pub resolution: bool,
    /// `--smi`.
    pub smi: bool,
    /// `-S`.
    pub smp: bool,
    /// Latencies above this are listed; 0: none is. `--spike`.
    pub spike: u64,
    /// Most of these that are listed: `--spike-nodes`.
    pub spike_nodes: usize,
    /// `--strict-exit`, which is ours.
    pub strict_exit: bool,
    /// `-s`.
    pub system: bool,
    /// Number of threads: `-t`, `-S`.
    pub threads: u32,
    /// `--tracemark`.
    pub tracemark: bool,
    /// `-v`.
    pub verbose: bool,
    /// Remarks for standard error.
    pub remarks: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            affinity: Affinity::Unbound,
            aligned_us: None,
            secaligned_us: None,
            break_above: 0,
            realtime_clock: false,
            debug: false,
            distance_us: 500,
            duration_s: 0,
            fifo: None,
            histfile: None,
            histogram: None,
            hist_sum: false,
            hist_compact: false,
            home: None,
            idle: IdleStates::Bound(0),
            interval_us: 1_000,
            json: None,
            loops: 0,
            main_affinity: None,
            mlock: false,
            nsecs: false,
            oscope: 1,
            class: Class::Other,
            posix_timers: false,
            priority: 0,
            priospread: false,
            quiet: false,
            record: false,
            refresh_on_max: false,
            relative: false,
            resolution: false,
            smi: false,
            smp: false,
            spike: 0,
            spike_nodes: 1_024,
            strict_exit: false,
            system: false,
            threads: 1,
            tracemark: false,
            verbose: false,
            remarks: Vec::new(),
        }
    }
}
