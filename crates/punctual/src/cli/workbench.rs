// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The verbs of the whole program, and the options that only they have.

mod compare;
mod experiment;
mod fleet;
mod history;
mod kernel;
mod kernel_install;
mod kernel_once;
mod kernel_source;
mod report;
mod study;
mod tasks;
mod tune;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

pub use self::compare::{
    By as CompareBy, CompareArgs, Direction as CompareDirection, FailOn,
    Interval as CompareInterval, Metrics, Percent,
};
pub use self::experiment::{
    ExperimentAction, ExperimentPlanArgs, ExperimentResultsArgs, ExperimentResumeArgs,
    ExperimentRmArgs, ExperimentRunArgs, ExperimentStatusArgs, ExperimentSweepArgs,
};
pub use self::fleet::{FleetAction, FleetArgs};
pub use self::history::{HistoryArgs, HistoryFailOn};
pub use self::kernel::{
    GuestOptions, InitramfsArgs, JobsArgs, KernelAction, KernelBootArgs, KernelRtArgs,
    LatencyFailOn, LatencyTestArgs, MachineArg,
};
pub use self::kernel_install::{
    KernelInstallArgs, KernelInstalledArgs, KernelUninstallArgs, StayPlace,
};
pub use self::kernel_once::{InstallOnceArgs, KernelStatusArgs, LoaderArg, OncePlace, WatchdogArg};
pub use self::kernel_source::{
    BuildTest, KernelBisectArgs, KernelBuildArgs, KernelConfigAction, KernelConfigArgs,
    KernelConfigWish, KernelFetchArgs, KernelPatchArgs, KernelRebaseArgs, KernelSourceAction,
};
pub use self::report::{ReportArgs, ReportFormat};
pub use self::study::{StudyAction, StudyReportArgs, StudyRunArgs};
pub use self::tasks::{TasksAction, TasksCheckArgs, TasksNewArgs};
pub use self::tune::{
    BootAction, BootWish, CareArgs, KeepArgs, MeasureTuning, TrialArgs, TuneAction, TuneArgs,
    WishArgs,
};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use punctual_measure::loads::LoadList;
use punctual_model::{CpuSet, Nanos, Severity};
use punctual_peers::{Format, Unit};
use punctual_stats::requirement::Requirement;

use super::{LoadArgs, LoadOptions, LoadReach, MetricsArgs, Tag, label, one_of, path};
use crate::cyclictest::usage;
use crate::instruments::{Instrument, WatchArgs};

const EXIT_STATUS: &str = "\
Exit status:
  0  fine
  1  failed, or the run is invalid: a validity check did not pass
  2  wrong command line, or no such run, experiment or study
  3  what was asked for was not met: a deadline given as a time, a threshold, a
     requirement, a gate (--fail-on), deadlines and bounds of a task set, a
     bounded wait of `measure pi`, config= of a kernel (1 if the run is invalid)
  4  some settings of the machine could not be restored
  5  not supported by this kernel, privilege or hardware
  6  --fail-on could not be judged: no valid run, too few runs, or something
     unreadable

Durations need a unit: 100us, 1.5ms, 10s, 5m, 8h. CPU lists are written as the
kernel writes them: 0-3,5.";

/// Options of `explain`
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// The run: an id (or at least 4 characters of its beginning or end), a name, or `last`
    #[arg(default_value = "last")]
    pub run: String,

    /// Print what was seen as JSON: the key `watched` of the run's record
    #[arg(long)]
    pub json: bool,
}

const DOCTOR_EXIT: &str = "\
Exit status: 0 whatever is found, unless --fail-on turns findings into a failure
(3). Unreadable files are listed, not counted as findings; --fail-on exits 6 if
a rule of that severity could not be judged.";

/// A workbench for real-time Linux: measures how late a machine wakes its threads, and which claims the data support
#[derive(Debug, Parser)]
#[command(name = "punctual", version, propagate_version = true, after_help = EXIT_STATUS)]
pub struct Cli {
    /// Directory of the store [default: PUNCTUAL_HOME if set, else
    /// ~/.local/share/punctual, for root /var/lib/punctual]
    #[arg(long, global = true, value_name = "DIR", value_parser = path())]
    pub home: Option<PathBuf>,

    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// The verbs
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Assess this machine in about a minute: wake-up latency idle and under load, and a verdict
    Assess(AssessArgs),
    /// Find what hurts determinism on this machine, with evidence, reason and fix
    Doctor(DoctorArgs),
    /// Measure with one instrument, record the run, print its summary
    Measure {
        /// Tuning for the time of the measurement
        #[command(flatten)]
        tuning: MeasureTuning,

        /// The instrument
        #[command(subcommand)]
        instrument: Instrument,
    },
    /// Watch a program, unchanged: why are its cycles late, and who made them late?
    Watch {
        /// Tuning for the time of the measurement
        #[command(flatten)]
        tuning: MeasureTuning,

        /// Whom to watch, and how
        #[command(flatten)]
        args: Box<WatchArgs>,
    },
    /// Name what made the late cycles of a run late: a run of `watch`, or one measured with --explain
    Explain(ExplainArgs),
    /// Measure as cyclictest does: same options, output and exit statuses
    Cyclictest(CyclictestArgs),
    /// Run only the loads, until Ctrl-C or for a set time
    Load(LoadArgs),
    /// Compare groups of runs: better, worse, the same, not distinguishable, or too few runs to tell
    Compare(Box<CompareArgs>),
    /// Find where figures changed over many runs: by run, commit, kernel or day
    History(Box<HistoryArgs>),
    /// Plan, run and resume experiments: cells in random order, in blocks
    Experiment {
        /// What to do with them
        #[command(subcommand)]
        action: ExperimentAction,
    },
    /// Repeat published experiments here, and compare with the published results
    Study {
        /// What to do with them
        #[command(subcommand)]
        action: StudyAction,
    },
    /// Measure, assess, tune or experiment on many machines, by Ansible
    Fleet {
        /// What to do on the hosts
        #[command(subcommand)]
        action: FleetAction,
    },
    /// Task sets: whether all deadlines are met, by analysis
    Tasks {
        /// What to do with them
        #[command(subcommand)]
        action: TasksAction,
    },
    /// Fetch, build, boot and compare kernels
    Kernel {
        /// What to do with them
        #[command(subcommand)]
        action: KernelAction,
    },
    /// Change settings of this machine so that every change can be undone
    Tune(TuneArgs),
    /// Make a report of runs, comparisons and experiments: one page, pictures, or Markdown
    Report(ReportArgs),
    /// Show the store in a browser: list, overlay and compare runs; nothing is written
    Serve(ServeArgs),
    /// List, show, import, export and remove recorded runs
    Runs {
        /// What to do with them
        #[command(subcommand)]
        action: RunsAction,
    },
}

/// Options of `assess`
#[derive(Args, Debug)]
pub struct AssessArgs {
    /// Judge this deadline, and exit 3 if it was missed [default: a table from 50us to 10ms] (can be repeated)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub deadline: Vec<Nanos>,

    /// Check this requirement, such as 'p99.99 <= 50us' or 'no sample > 100us at 95%', and exit 3
    /// unless it is shown to hold (can be repeated)
    #[arg(long, value_name = "REQUIREMENT")]
    pub require: Vec<Requirement>,

    /// Longest burst of misses to assume if no miss was seen; claims count bursts,
    /// not samples
    #[arg(long, value_name = "TIME", default_value = "100ms")]
    pub burst: Nanos,

    /// Measure under these loads, see `punctual load --help`; each use is a separate condition
    /// [default: the presets kernel and bridgers] (comma-separated, can be repeated)
    #[arg(long, value_name = "LOAD", help_heading = "Loads")]
    pub load: Vec<LoadList>,

    /// What the loads may touch
    #[command(flatten)]
    pub reach: LoadReach,

    /// CPUs to measure [default: all online and allowed]
    #[arg(long, short = 'c', value_name = "LIST")]
    pub cpus: Option<CpuSet>,

    /// Total time, divided equally between the conditions; the first is an idle machine
    #[arg(
        long,
        short = 'D',
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "60s"
    )]
    pub duration: Nanos,

    /// Record the kernel's events too, and name the causes of the latest samples of the worst condition;
    /// costs some µs a wake-up, needs root
    #[arg(long)]
    pub explain: bool,

    /// Print the assessment as JSON
    #[arg(long)]
    pub json: bool,

    /// Metrics for Prometheus during the runs
    #[command(flatten)]
    pub metrics: MetricsArgs,

    /// Show no progress, only the result
    #[arg(long, short = 'q')]
    pub quiet: bool,
}

/// Options of `doctor`
#[derive(Args, Debug)]
#[command(after_long_help = DOCTOR_EXIT)]
pub struct DoctorArgs {
    /// CPUs for real-time work [default: the isolated CPUs, or else all online]
    #[arg(long, short = 'c', value_name = "LIST")]
    pub cpus: Option<CpuSet>,

    /// Judge how this process is set up for real-time work, instead of the machine
    #[arg(long, value_name = "PID", conflicts_with_all = ["comm", "cpus"])]
    pub pid: Option<u32>,

    /// The same for all processes of this name
    #[arg(long, value_name = "NAME", conflicts_with = "cpus")]
    pub comm: Option<String>,

    /// Also show what is fine, what is not applicable, and every file that could not be read
    #[arg(long)]
    pub all: bool,

    /// Explain one rule: why it matters, how to fix it, its source, and its result here
    #[arg(long, value_name = "RULE")]
    pub explain: Option<String>,

    /// Exit 3 if something of this severity or worse is found, 6 if a rule cannot be judged
    #[arg(long, value_name = "SEVERITY", value_parser = one_of(Severity::ALL, Severity::name))]
    pub fail_on: Option<Severity>,

    /// Judge a captured machine, whose /proc, /sys, /boot and /dev are in DIR
    #[arg(long, value_name = "DIR", value_parser = path())]
    pub root: Option<PathBuf>,

    /// Print the diagnosis as JSON, with all rules
    #[arg(long, conflicts_with_all = ["all", "explain"])]
    pub json: bool,
}

/// Options of `serve`
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// Address and port; one reachable from other machines needs a token, and gets a new one if none
    /// is given
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9465")]
    pub listen: SocketAddr,

    /// Require the token in this file [default: the one in PUNCTUAL_TOKEN, if set]
    #[arg(long, value_name = "FILE", value_parser = path())]
    pub token_file: Option<PathBuf>,

    /// A name by which clients reach this machine, besides its addresses and localhost (can be repeated)
    #[arg(long, value_name = "NAME")]
    pub host: Vec<String>,
}

/// Options of `cyclictest`
#[derive(Args, Debug)]
#[command(disable_help_flag = true, disable_version_flag = true,
          after_help = format!("Options of cyclictest:\n{}", usage::OPTIONS))]
pub struct CyclictestArgs {
    // Like every option of this verb it is in the help of cyclictest alone.
    /// Directory of the store
    #[arg(long, hide = true, value_name = "DIR", value_parser = path())]
    pub home: Option<PathBuf>,

    /// Options of cyclictest, see `punctual cyclictest --help`
    #[arg(
        value_name = "OPTION",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub options: Vec<OsString>,
}

/// What to do with runs
#[derive(Debug, Subcommand)]
pub enum RunsAction {
    /// List the runs, newest first
    List {
        /// Only runs of this name
        #[arg(long, value_name = "TEXT")]
        name: Option<String>,

        /// Only runs with this tag
        #[arg(long, value_name = "KEY=VALUE")]
        tag: Option<Tag>,

        /// Only valid runs
        #[arg(long, conflicts_with = "invalid")]
        valid: bool,

        /// Only invalid runs
        #[arg(long)]
        invalid: bool,

        /// Only the newest N
        #[arg(long, value_name = "N")]
        limit: Option<u32>,

        /// Print only the names, ids and `last` that `runs show` accepts, one per line
        #[arg(long, conflicts_with = "json")]
        names: bool,

        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one run with all its figures and checks
    Show {
        /// The run: an id (or at least 4 characters of its beginning or end), a name, or `last`
        #[arg(default_value = "last")]
        run: String,

        /// Print the run record as JSON
        #[arg(long)]
        json: bool,

        /// Replay the run from its stored progress before its figures
        #[arg(long, conflicts_with = "json")]
        live: bool,

        /// Speed of the replay, as a multiple of real time
        #[arg(long, value_name = "FACTOR", default_value = "1", requires = "live",
              value_parser = clap::value_parser!(u32).range(1..=100_000))]
        speed: u32,
    },
    /// Write a run's samples, histograms or record in another format
    Export {
        /// The run: an id (or at least 4 characters of its beginning or end), a name, or `last`
        run: String,

        /// Format of the output
        #[arg(long, short = 'f', value_name = "FORMAT", value_enum)]
        format: ExportFormat,

        /// What to export [default: the samples if they were stored, else the summary, results or histogram]
        #[arg(long, value_name = "DATA", value_enum)]
        data: Option<ExportData>,

        /// Width of the bins of --data distribution [default: the histogram's own, a thousandth of the value]
        #[arg(long, value_name = "TIME")]
        bin: Option<Nanos>,

        /// File to write, which must not exist; `-` is standard output
        #[arg(long, short = 'o', value_name = "FILE", default_value = "-")]
        output: PathBuf,

        /// Overwrite the file
        #[arg(long)]
        force: bool,
    },
    /// Estimate what may lie beyond the largest sample of a run: advice only, refused if the data do not support it
    Extrapolate(ExtrapolateArgs),
    /// Import what other tools wrote (cyclictest, rtla, oslat, jitterdebugger, rteval, latmus, Xenomai
    /// latency), or whole runs
    Import(ImportArgs),
    /// Write whole runs into one archive, which `runs import` takes into another store
    Pack(PackArgs),
    /// Remove runs
    Rm {
        /// The runs: ids (or at least 4 characters of their beginning or end), names, or `last`
        #[arg(required = true)]
        runs: Vec<String>,
    },
}

const EXTRAPOLATE_HELP: &str = "\
The latency that is exceeded once on average within the horizon, by two methods:
the generalised extreme value distribution of the largest samples of blocks, and
the generalised Pareto distribution of the peaks over a high threshold. Each is
refused, with the reason, if the run is not steady (trend, halves that differ,
extremes in clusters), if extremes depend on earlier ones, if the distribution
does not fit, if the tail is too heavy, or if there are too few samples. The
horizon is at most 100 times the run, so 24h needs a run of 15 minutes or more.

Use it to plan longer runs. It is not a bound and cannot support a requirement:
it knows nothing of events that did not happen during the run, such as a daily
job.

Exit status: 0 even if both methods refuse; 1 if the run has no stored samples
(`measure wakeup --raw`).";

/// Options of `runs extrapolate`
#[derive(Args, Debug)]
#[command(after_long_help = EXTRAPOLATE_HELP)]
pub struct ExtrapolateArgs {
    /// The run: an id (or at least 4 characters of its beginning or end), a name, or `last`
    #[arg(default_value = "last")]
    pub run: String,

    /// How far ahead to look
    #[arg(long, value_name = "TIME", default_value = "24h")]
    pub horizon: Nanos,

    /// Confidence of the intervals
    #[arg(long, value_name = "PERCENT", default_value = "95%")]
    pub confidence: Percent,

    /// Seed of the resamples
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,

    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `runs pack`
#[derive(Args, Debug)]
pub struct PackArgs {
    /// The runs: ids (or at least 4 characters of their beginning or end), names, or `last` [default: all]
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,

    /// File to write, which must not exist; `-` is standard output
    #[arg(long, short = 'o', value_name = "FILE", value_parser = path())]
    pub output: PathBuf,

    /// Overwrite the file
    #[arg(long)]
    pub force: bool,
}

/// Options of `runs import`
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// Files to import, each as a separate run, archives of `runs pack`, whole runs, or stores; of another directory all of these in it
    /// and below; `-` is standard input
    #[arg(required = true, value_name = "FILE", value_parser = path())]
    pub files: Vec<PathBuf>,

    /// Format of the files [default: detected]
    #[arg(long, short = 'f', value_name = "FORMAT", value_parser = one_of(Format::ALL, Format::name))]
    pub format: Option<Format>,

    /// Unit of the values, where the file does not state it [default: us]
    #[arg(long, value_name = "UNIT", value_parser = unit)]
    pub unit: Option<Unit>,

    /// Name of the runs, for `punctual runs`
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub name: Option<String>,

    /// Remark kept with the runs
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub note: Option<String>,

    /// Tag of the runs, for grouping in `compare` (can be repeated; of one key the last value counts)
    #[arg(long, value_name = "KEY=VALUE")]
    pub tag: Vec<Tag>,

    /// Where to take the start of a run from if the file does not state it in full: the first of these that
    /// has a date (comma-separated)
    #[arg(long, value_name = "SOURCE", value_enum, value_delimiter = ',')]
    pub date_from: Vec<DateSource>,

    /// Print the result for each file as JSON
    #[arg(long)]
    pub json: bool,
}

/// Where the start of an imported run is taken from
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum DateSource {
    /// A date that the file states without a time zone, as rteval does; taken as UTC
    Content,
    /// A date in the name of the file, or of a directory that it is in: 2024-05-17, 20240517T0310
    Name,
    /// The modification time of the file
    Mtime,
}

/// Reads `us` or `ns`.
fn unit(text: &str) -> Result<Unit, String> {
    match text {
        "us" => Ok(Unit::Microseconds),
        "ns" => Ok(Unit::Nanoseconds),
        _ => Err("must be `us` or `ns`".to_owned()),
    }
}

/// Formats of `runs export`
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum ExportFormat {
    /// Comma-separated values with a heading
    Csv,
    /// JSON
    Json,
    /// `HdrHistogram` interval log, one tagged histogram per thread
    Hdr,
    /// Parquet, samples only
    Parquet,
    /// The histogram text of cyclictest, one row per microsecond
    CyclictestHist,
    /// The JSON of cyclictest
    CyclictestJson,
    /// The `results.json` of jitterdebugger
    Jitterdebugger,
    /// A `summary.xml` in rteval's format
    Rteval,
    /// Trace Event JSON for ui.perfetto.dev: the longest cycles that `watch` saw, and who had the CPUs
    Perfetto,
}

/// What `runs export` writes
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum ExportData {
    /// Every sample: thread, cpu, `t_ns`, `latency_ns`
    Samples,
    /// The figures of each thread and of all together
    Summary,
    /// Results other than latencies: one row per figure, with its interval and spread
    Results,
    /// The histogram's buckets
    Histogram,
    /// Density and cumulative distribution of each thread, kind of latency, and all together
    Distribution,
    /// The events of the run
    Events,
    /// Latencies that an imported file lists with their times: thread, `t_ns`, `latency_ns`
    Spikes,
    /// The longest cycles of a watched program
    Cycles,
}

/// Returns the command, for manual pages and completions.
pub fn command() -> clap::Command {
    Cli::command()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_sound() {
        command().debug_assert();
    }
}
