// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options of `compare`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use punctual_model::Nanos;
use punctual_stats::requirement::Requirement;
use punctual_stats::text::share;
use punctual_verdict::comparison::Metric;

use super::path;

const HELP: &str = "\
Groups: a group is one or more runs, given by
  an id (or at least 4 characters of its beginning or end), or `last`
  a name, with * and ? for any characters: before-*
  tag:KEY=VALUE, for all runs with that tag
  host:NAME, for all runs of that machine
  the directory of a run, a directory of such directories, or the JSON of
    `measure --json`
or several of these, separated by commas. The others are compared with the first
group.

Figures: p50, p99.99, mean, stddev, min, max, above:TIME (share of samples above
it), misses:TIME (missed wake-ups a second, of a deadline that the runs
counted), or a result by its name in the runs, such as gflops or gflops[n=4000].

Verdicts: better, worse (or different, if neither direction is good), the same
within a margin (with --equivalence), not worse by a margin (with --not-worse),
not distinguishable, too few runs.

Requirements: 'p99.99 <= 50us', 'no sample > 100us', 'no sample > 100us in
100000 at 99%'.

No verdict: runs of unequal length, few runs that vary far more than the others,
values in steps that hide what matters, a group with only zeros. In JSON this is
too_few_runs with the reason.

Machines: --by host names the outliers, says how much machines and runs of one
machine vary, and lists the recorded facts that only an outlier has. --fail-on
different exits 3 for any outlier, --fail-on worse for one that is worse than
the others.

Exit status: 3 if --fail-on or --require fails; 6 if --fail-on is given and a
figure has no verdict or too few runs; 1 if nothing can be compared; else 0,
whatever the verdicts.";

/// Options of `compare`
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub struct CompareArgs {
    /// Groups of runs; with --table, names of its lines
    #[arg(value_name = "GROUP")]
    pub groups: Vec<String>,

    /// A named group (can be repeated); `tag=KEY=VALUE` is short for
    /// `KEY=VALUE=tag:KEY=VALUE`
    #[arg(
        long = "group",
        short = 'g',
        value_name = "NAME=RUNS",
        help_heading = "Groups"
    )]
    pub named: Vec<String>,

    /// Compare machines with each other: the runs given, grouped by machine
    #[arg(long, value_name = "WHAT", value_enum, help_heading = "Groups",
          conflicts_with_all = ["named", "table", "equivalence", "not_worse", "difference", "require", "unpaired", "interval", "effect", "power", "earlier"])]
    pub by: Option<By>,

    /// Also compare runs that failed a check
    #[arg(long, help_heading = "Groups")]
    pub allow_invalid: bool,

    /// Earlier runs of the same machine, measured in the same way, which say how much runs vary: for groups
    /// of one or two runs (can be repeated)
    #[arg(long, value_name = "RUNS", help_heading = "Groups",
          conflicts_with_all = ["by", "table", "equivalence", "not_worse", "interval", "unpaired"])]
    pub earlier: Vec<String>,

    /// Treat runs as independent even if their tags name blocks
    #[arg(long, help_heading = "Groups")]
    pub unpaired: bool,

    /// Figures to compare, separated by commas [default: p50, p99, p99.9, max, and results that have
    /// a good direction]
    #[arg(long, short = 'm', value_name = "FIGURE", help_heading = "Question")]
    pub metric: Vec<Metrics>,

    /// Test whether groups are the same within this change
    #[arg(long, value_name = "PERCENT", help_heading = "Question")]
    pub equivalence: Option<Percent>,

    /// Test whether groups are not worse by this change, in figures that have a bad direction
    #[arg(
        long,
        value_name = "PERCENT",
        conflicts_with = "equivalence",
        help_heading = "Question"
    )]
    pub not_worse: Option<Percent>,

    /// The smallest change that matters
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "10%",
        help_heading = "Question"
    )]
    pub effect: Percent,

    /// The smallest difference that matters for a figure that is 0 in some run, in its unit: 0.1 of
    /// misses a second
    #[arg(long, value_name = "NUMBER", help_heading = "Question", value_parser = positive)]
    pub difference: Option<f64>,

    /// Require this of each group, and exit 3 unless it is shown to hold (can be repeated)
    #[arg(long, value_name = "REQUIREMENT", help_heading = "Question")]
    pub require: Vec<Requirement>,

    /// Longest burst of misses to assume if no miss was seen; requirements count
    /// bursts, not samples [default: 100ms]
    #[arg(
        long,
        value_name = "TIME",
        requires = "require",
        help_heading = "Question"
    )]
    pub burst: Option<Nanos>,

    /// Exit 3 on this verdict, 6 if a figure cannot be judged (also comma-separated)
    #[arg(
        long,
        value_name = "VERDICT",
        value_enum,
        value_delimiter = ',',
        help_heading = "Question"
    )]
    pub fail_on: Vec<FailOn>,

    /// Significance level of all tests together; the confidence of intervals is 100% minus it
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "5%",
        help_heading = "Method"
    )]
    pub level: Percent,

    /// Power: probability of finding a change that matters
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "80%",
        help_heading = "Method"
    )]
    pub power: Percent,

    /// How intervals are made
    #[arg(
        long,
        value_name = "METHOD",
        value_enum,
        default_value = "permutation",
        help_heading = "Method"
    )]
    pub interval: Interval,

    /// Seed of the random arrangements
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Method")]
    pub seed: u64,

    /// Compare published means instead of runs: a CSV file with name, mean, standard_error, and n
    /// or deviation or deviation_percent
    #[arg(long, value_name = "FILE", help_heading = "Table",
          value_parser = path(),
          conflicts_with_all = ["named", "metric", "equivalence", "not_worse", "difference", "require", "allow_invalid", "unpaired", "interval"])]
    pub table: Option<PathBuf>,

    /// Unit of the published means
    #[arg(
        long,
        value_name = "TEXT",
        requires = "table",
        help_heading = "Table",
        value_parser = super::label
    )]
    pub unit: Option<String>,

    /// Which direction of the published means is good
    #[arg(
        long,
        value_name = "DIRECTION",
        value_enum,
        requires = "table",
        help_heading = "Table"
    )]
    pub better: Option<Direction>,

    /// With --by, also write a page with charts
    #[arg(long, short = 'o', value_name = "FILE", requires = "by", value_parser = path())]
    pub output: Option<PathBuf>,

    /// Overwrite the page
    #[arg(long, requires = "output")]
    pub force: bool,

    /// Print the comparison as JSON
    #[arg(long)]
    pub json: bool,
}

/// What is compared in place of groups
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum By {
    /// The machines, by their hostnames, inside groups of one hardware and kernel
    Host,
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    let number = number.filter(|number| *number > 0.0 && number.is_finite());
    number.ok_or_else(|| format!("`{text}` is not a number above 0"))
}

/// Verdicts that fail
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum FailOn {
    /// A figure is worse
    Worse,
    /// A figure is better, worse or different
    Different,
    /// A figure is not shown to be the same within --equivalence
    NotEquivalent,
    /// A figure is neither better nor shown to be not worse by --not-worse
    MayBeWorse,
    /// There are too few runs to say
    TooFewRuns,
}

/// How intervals are made
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Interval {
    /// All effects that the test does not reject
    Permutation,
    /// Bootstrap over runs, then within each run over blocks of its samples (`measure wakeup --raw`)
    /// or over its recorded interval of the figure; the answer says which
    Hierarchical,
}

/// A direction that is good
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Direction {
    /// Less is better
    Lower,
    /// More is better
    Higher,
}

/// A share as people write it: `5%`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percent(pub f64);

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if !text.ends_with('%') {
            return Err("needs a percent sign, such as 5%".to_owned());
        }
        share(text)
            .map(Self)
            .ok_or_else(|| "must be between 0% and 100%, without either".to_owned())
    }
}

/// Figures separated by commas; those inside of brackets belong to a figure
#[derive(Clone, Debug, PartialEq)]
pub struct Metrics(pub Vec<Metric>);

impl FromStr for Metrics {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = vec![String::new()];
        let mut inside = false;
        for c in text.chars() {
            inside = (inside || c == '[') && c != ']';
            match parts.last_mut() {
                Some(part) if c != ',' || inside => part.push(c),
                _ => parts.push(String::new()),
            }
        }
        let metrics = parts.iter().map(|part| part.parse::<Metric>());
        let metrics = metrics.collect::<Result<_, _>>();
        metrics.map(Self).map_err(|err| err.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_divided_by_commas_outside_of_brackets() {
        let metrics: Metrics = "p99,memcpy[cpu=0,node=1],max".parse().unwrap();
        let names: Vec<String> = metrics.0.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["p99", "memcpy[cpu=0,node=1]", "max"]);
        assert!("p99,".parse::<Metrics>().is_err());
    }

    #[test]
    fn a_percentage_has_its_sign_and_lies_between() {
        assert_eq!("5%".parse(), Ok(Percent(0.05)));
        for text in ["5", "0%", "100%", "-1%", "nan%", "1e1%", "%"] {
            assert!(text.parse::<Percent>().is_err(), "{text}");
        }
    }
}
