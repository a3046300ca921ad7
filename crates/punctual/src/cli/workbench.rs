// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The verbs of the whole program, and the options that only they have.

mod compare;
mod experiment;
mod kernel;
mod kernel_once;
mod kernel_source;
mod report;
mod study;
mod tune;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

pub use self::compare::{
    CompareArgs, Direction as CompareDirection, FailOn, Interval as CompareInterval, Metrics,
    Percent,
};
pub use self::experiment::{
    ExperimentAction, ExperimentPlanArgs, ExperimentResultsArgs, ExperimentResumeArgs,
    ExperimentRmArgs, ExperimentRunArgs, ExperimentStatusArgs, ExperimentSweepArgs,
};
pub use self::kernel::{
    GuestOptions, InitramfsArgs, KernelAction, KernelBootArgs, LatencyFailOn, LatencyTestArgs,
    MachineArg,
};
pub use self::kernel_once::{InstallOnceArgs, KernelStatusArgs, LoaderArg, OncePlace, WatchdogArg};
pub use self::kernel_source::{
    BuildTest, KernelBisectArgs, KernelBuildArgs, KernelConfigAction, KernelConfigArgs,
    KernelConfigWish, KernelFetchArgs, KernelPatchArgs, KernelRebaseArgs, KernelSourceAction,
};
pub use self::report::{ReportArgs, ReportFormat};
pub use self::study::{StudyAction, StudyReportArgs, StudyRunArgs};
pub use self::tune::{
    BootAction, BootWish, CareArgs, KeepArgs, MeasureTuning, TrialArgs, TuneAction, TuneArgs,
    WishArgs,
};
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use punctual_measure::loads::LoadList;
use punctual_model::{CpuSet, Nanos, Severity};
use punctual_peers::{Format, Unit};
use punctual_stats::requirement::Requirement;

use super::{LoadArgs, LoadOptions, LoadReach, MetricsArgs, Tag, label, one_of};
use crate::instruments::Instrument;

const EXIT_STATUS: &str = "\
Exit status:
  0  fine
  1  failed, or the run is invalid: a validity check did not pass
  2  wrong command line, or no such run, experiment or study
  3  a deadline that was given as a time was missed, a threshold was passed, or a requirement or
     comparison was not met; of an invalid run nothing is claimed: 1
  4  the machine could not be put back completely
  5  this kernel, privilege or hardware cannot do it
  6  what --fail-on asks could not be judged: no valid run, too few of them, something unread

Durations need a unit: 100us, 1.5ms, 10s, 5m, 8h. CPU lists are the kernel's: 0-3,5.";

const DOCTOR_EXIT: &str = "\
Exit status: 0 whatever is found, unless --fail-on makes findings a verdict (3). What could not be
read is no finding; it is listed, and --fail-on exits 6 if a rule of that severity could not be judged.";

/// A workbench for real-time Linux: measures how late a machine wakes up, and says so honestly
#[derive(Debug, Parser)]
#[command(name = "punctual", version, propagate_version = true, after_help = EXIT_STATUS)]
pub struct Cli {
    /// Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else
    /// ~/.local/share/punctual, for root /var/lib/punctual]
    #[arg(long, global = true, value_name = "DIR",
          value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub home: Option<PathBuf>,

    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// The verbs
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Assess this machine in about a minute: wake-up latency idle and under load, and what it allows
    Assess(AssessArgs),
    /// Find what on this machine hurts determinism, with evidence, reason and fix
    Doctor(DoctorArgs),
    /// Measure with one instrument, record the run, print its summary
    Measure {
        /// A tuned machine for as long as it lasts
        #[command(flatten)]
        tuning: MeasureTuning,

        /// The instrument
        #[command(subcommand)]
        instrument: Instrument,
    },
    /// Measure as cyclictest does: its options, its output, its exit statuses
    Cyclictest(CyclictestArgs),
    /// Run only the loads, until Ctrl-C or for a time
    Load(LoadArgs),
    /// Compare groups of runs: better, worse, the same, not distinguishable, or too few runs to say
    Compare(Box<CompareArgs>),
    /// Plan, carry out and resume experiments: cells in random order, in blocks
    Experiment {
        /// What to do with them
        #[command(subcommand)]
        action: ExperimentAction,
    },
    /// Carry out published experiments here, and compare with what was published
    Study {
        /// What to do with them
        #[command(subcommand)]
        action: StudyAction,
    },
    /// Boot other kernels in a virtual machine
    Kernel {
        /// What to do with them
        #[command(subcommand)]
        action: KernelAction,
    },
    /// Change the settings of this machine so that every change can be taken back
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

    /// Say whether this is met, such as 'p99.99 <= 50us' or 'no sample > 100us at 95%', and exit 3
    /// unless it is shown (can be repeated)
    #[arg(long, value_name = "REQUIREMENT")]
    pub require: Vec<Requirement>,

    /// How long a burst of misses may last, which no run can tell that saw none: claims count time by it,
    /// not samples
    #[arg(long, value_name = "TIME", default_value = "100ms")]
    pub burst: Nanos,

    /// Measure beside these loads, see `punctual load --help`; each use is a condition of its own
    /// [default: the presets kernel and bridgers] (comma-separated, can be repeated)
    #[arg(long, value_name = "LOAD", help_heading = "Loads")]
    pub load: Vec<LoadList>,

    /// What the loads may touch
    #[command(flatten)]
    pub reach: LoadReach,

    /// CPUs to measure [default: all that are online and allowed]
    #[arg(long, short = 'c', value_name = "LIST")]
    pub cpus: Option<CpuSet>,

    /// Time to measure, an equal part of it under each condition; the first is an idle machine
    #[arg(
        long,
        short = 'D',
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "60s"
    )]
    pub duration: Nanos,

    /// Print the assessment as JSON
    #[arg(long)]
    pub json: bool,

    /// The runs for Prometheus while they go on
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
    /// CPUs meant for real-time work [default: those that the kernel isolates, or else all online]
    #[arg(long, short = 'c', value_name = "LIST")]
    pub cpus: Option<CpuSet>,

    /// Also show what is fine, what has no meaning here, and every file that could not be read
    #[arg(long)]
    pub all: bool,

    /// Explain one rule: why it matters, how to fix it, where that is from, what it says here
    #[arg(long, value_name = "RULE")]
    pub explain: Option<String>,

    /// Exit 3 if something of this severity or worse is found, 6 if that cannot be judged
    #[arg(long, value_name = "SEVERITY", value_parser = one_of(Severity::ALL, Severity::name))]
    pub fail_on: Option<Severity>,

    /// Judge a machine captured in DIR, whose /proc, /sys, /boot and /dev are below it
    #[arg(long, value_name = "DIR", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub root: Option<PathBuf>,

    /// Print the diagnosis as JSON, with all rules
    #[arg(long, conflicts_with_all = ["all", "explain"])]
    pub json: bool,
}

/// Options of `serve`
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// Address and port; one that other machines reach needs a token, and gets a new one where none
    /// is given
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9465")]
    pub listen: SocketAddr,

    /// Answer only who has the token in this file [default: that in PUNCTUAL_TOKEN, if it is set]
    #[arg(long, value_name = "FILE", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub token_file: Option<PathBuf>,

    /// A name that this machine is asked by, beside its addresses and localhost (can be repeated)
    #[arg(long, value_name = "NAME")]
    pub host: Vec<String>,
}

/// Options of `cyclictest`
#[derive(Args, Debug)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub struct CyclictestArgs {
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

        /// Print only what `runs show` takes: names, ids and `last`, one a line
        #[arg(long, conflicts_with = "json")]
        names: bool,

        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one run with all its figures and checks
    Show {
        /// The run: an id, its first or last 4 or more characters, a name, or `last`
        #[arg(default_value = "last")]
        run: String,

        /// Print the run record as JSON
        #[arg(long)]
        json: bool,

        /// Show the run as it went on, from the progress that was stored, before its figures
        #[arg(long, conflicts_with = "json")]
        live: bool,

        /// How much faster than it went on
        #[arg(long, value_name = "FACTOR", default_value = "1", requires = "live",
              value_parser = clap::value_parser!(u32).range(1..=100_000))]
        speed: u32,
    },
    /// Write a run's samples, histograms or record in another format
    Export {
        /// The run: an id, its first or last 4 or more characters, a name, or `last`
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
    /// Say what may lie beyond the largest sample of a run: advice, refused where it has no ground
    Extrapolate(ExtrapolateArgs),
    /// Import what other tools wrote: cyclictest, rtla, oslat, jitterdebugger, rteval
    Import(ImportArgs),
    /// Remove runs
    Rm {
        /// The runs: ids, their first or last 4 or more characters, names, or `last`
        #[arg(required = true)]
        runs: Vec<String>,
    },
}

const EXTRAPOLATE_HELP: &str = "\
The time that is passed once on average within the horizon, by two methods: the generalised extreme
value distribution of the largest samples of blocks, and the generalised Pareto distribution of the
peaks over a high threshold. Each says nothing, and why, where the run is not steady (trend, halves
that differ, extremes that come in waves), where extremes depend on those before, where the distribution does not fit, where the
tail is too heavy, or where the samples are too few: a horizon of 100 times the run at most, so that
24h takes a run of 15 minutes or more.

It is advice for planning longer runs, never a bound, and no requirement can rest on it: what did not
happen during the run, such as a job once a day, is not in it.

Exit status: 0 also where both methods refuse; 1 if the run has no samples stored (`measure --raw`).";

/// Options of `runs extrapolate`
#[derive(Args, Debug)]
#[command(after_long_help = EXTRAPOLATE_HELP)]
pub struct ExtrapolateArgs {
    /// The run: an id, its first or last 4 or more characters, a name, or `last`
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

/// Options of `runs import`
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// Files to import, each into a run of its own; `-` is standard input
    #[arg(required = true, value_name = "FILE",
          value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub files: Vec<PathBuf>,

    /// Format of the files [default: told from how they begin]
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

    /// Tag of the runs, by which `compare` groups (can be repeated)
    #[arg(long, value_name = "KEY=VALUE")]
    pub tag: Vec<Tag>,

    /// Print what became of each file as JSON
    #[arg(long)]
    pub json: bool,
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
    /// `HdrHistogram` interval log, a tagged histogram a thread
    Hdr,
    /// Parquet, samples only
    Parquet,
    /// The histogram text of cyclictest, a row a microsecond
    CyclictestHist,
    /// The JSON of cyclictest
    CyclictestJson,
    /// The `results.json` of jitterdebugger
    Jitterdebugger,
    /// A `summary.xml` like rteval's
    Rteval,
}

/// What `runs export` writes
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum ExportData {
    /// Every sample: thread, cpu, `t_ns`, `latency_ns`
    Samples,
    /// The figures of each thread and of all together
    Summary,
    /// The results that are no latencies: a row a figure, with its interval and spread
    Results,
    /// The histogram's buckets
    Histogram,
    /// Density and cumulative distribution of each thread, kind of latency, and all together
    Distribution,
    /// What the run said while it went on
    Events,
    /// The latencies that an imported file lists with their times: thread, `t_ns`, `latency_ns`
    Spikes,
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
