// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The figures by which runs are compared: one number a run.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use punctual_model::{Better, Figure, Nanos, Ordered as _, RunRecord};
use punctual_stats::text::{percent, quantile};
use punctual_stats::{LatencyHistogram, float};

use crate::bursts::{above, beyond_rows};
use crate::number::compact;

/// A figure of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Metric {
    /// The quantile of all samples of this share, 0 to 1.
    Quantile(f64),
    /// Their mean.
    Mean,
    /// Their standard deviation.
    Stddev,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The share of samples above a time.
    Above(Nanos),
    /// Wake-ups a second that missed a deadline of the run, overruns included.
    Misses(Nanos),
    /// A result that is no latency.
    Figure {
        /// Its name.
        name: String,
        /// Its labels; all that the runs have where none are given.
        labels: Option<BTreeMap<String, String>>,
    },
}

/// The text names no figure.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseMetricError {
    /// A quantile that is none.
    #[error("`{part}` is no percentile: those lie above p0 and below p100, such as `p99.9`")]
    Quantile {
        /// The rejected part.
        part: String,
    },
    /// A time that is none.
    #[error("`{part}`: the time after the colon needs a unit, such as `above:100us`")]
    Time {
        /// The rejected part.
        part: String,
    },
    /// Labels that are none.
    #[error("`{part}`: labels are written as `gflops[n=4000]` or `memcpy[cpu=0,node=1]`")]
    Labels {
        /// The rejected part.
        part: String,
    },
    /// Nothing at all.
    #[error(
        "a figure is empty; use `p99`, `mean`, `stddev`, `min`, `max`, `above:100us`, `misses:100us`, or as the run \
         does"
    )]
    Empty,
}

impl Metric {
    /// The unit of its values.
    pub fn unit(&self) -> Option<&'static str> {
        match self {
            Self::Quantile(_) | Self::Mean | Self::Stddev | Self::Min | Self::Max => Some("ns"),
            Self::Above(_) => Some("1"),
            Self::Misses(_) => Some("1/s"),
            Self::Figure { .. } => None,
        }
    }

    /// Whether a run's histogram has to be read for it, which the record alone does not answer.
    pub fn needs_histogram(&self, run: &RunRecord) -> bool {
        match self {
            Self::Quantile(_) => self.recorded(run).is_none() && run.total.count > 0,
            Self::Above(limit) => run.total.misses.iter().all(|m| m.deadline_ns != *limit),
            _ => false,
        }
    }

    /// Its value. `None` where the run does not have it.
    pub fn value(&self, run: &RunRecord, histogram: Option<&LatencyHistogram>) -> Option<f64> {
        if let Some(value) = self.recorded(run) {
            return Some(value);
        }
        let histogram = histogram.filter(|histogram| histogram.count() > 0)?;
        let samples = float(histogram.count());
        match self {
            // As in a record: fewer than one sample beyond it is no quantile, and what a file does not say of the samples
            // above its rows neither.
            Self::Quantile(q) if samples * (1.0 - q) >= 1.0_f64.max(float(beyond_rows(run))) => {
                // The end of a bucket, which may lie above all samples.
                let most = run.total.max_ns.unwrap_or(u64::MAX);
                histogram.quantile(*q).map(|value| float(value.min(most)))
            }
            Self::Above(limit) => Some(float(above(run, histogram, *limit)?) / samples),
            _ => None,
        }
    }

    fn recorded(&self, run: &RunRecord) -> Option<f64> {
        let total = &run.total;
        match self {
            Self::Quantile(_) => {
                let name = self.to_string();
                total.quantiles_ns.get(&name).copied().flatten().map(float)
            }
            Self::Mean => total.mean_ns,
            Self::Stddev => total.stddev_ns,
            Self::Min => total.min_ns.map(float),
            Self::Max => total.max_ns.map(float),
            Self::Above(limit) => {
                let counted = total.misses.iter().find(|m| m.deadline_ns == *limit)?;
                (total.count > 0).then(|| float(counted.count) / float(total.count))
            }
            Self::Misses(limit) => {
                let counted = total.misses.iter().find(|m| m.deadline_ns == *limit)?;
                let seconds = float(run.duration_ns?.get()) / 1e9;
                (seconds > 0.0).then(|| float(counted.all()) / seconds)
            }
            Self::Figure { .. } => self.figure(run)?.value.filter(|value| value.is_finite()),
        }
    }

    /// Whether it is the result of this name.
    pub fn is_figure(&self, name: &str) -> bool {
        matches!(self, Self::Figure { name: own, .. } if own == name)
    }

    /// The result of a run that it names, labels included.
    pub(crate) fn figure<'a>(&self, run: &'a RunRecord) -> Option<&'a Figure> {
        let Self::Figure { name, labels } = self else {
            return None;
        };
        let labels = labels.as_ref()?;
        let mut figures = run.figures.iter();
        figures.find(|figure| figure.name == *name && figure.labels == *labels)
    }

    /// The standard error of the logarithm of its value that the run's own samples make, squared.
    /// `None` where the record has no interval of it.
    pub(super) fn variance_inside(&self, run: &RunRecord) -> Option<f64> {
        let interval = match self {
            Self::Quantile(_) => {
                let intervals = &run.total.quantile_intervals_ns;
                (*intervals.get(&self.to_string())?)?
            }
            Self::Mean => run.total.mean_interval_ns?,
            Self::Figure { .. } => self.figure(run)?.interval?,
            _ => return None,
        };
        // 95 % of a normal distribution lie within ±1.96 deviations.
        let known = (interval.confidence - 0.95).abs() < 1e-9 && interval.low > 0.0;
        let width = known.then(|| (interval.high / interval.low).ln() / (2.0 * 1.959_963_985))?;
        Some(width * width)
    }
}

/// The figures to compare when none are named: what every kind of run is judged by, as far as any of
/// `runs` has it, and the results that have a good direction and are of no single moment.
pub fn default_metrics<'a>(runs: impl Iterator<Item = &'a RunRecord> + Clone) -> Vec<Metric> {
    let latencies = [
        Metric::Quantile(0.5),
        Metric::Quantile(0.99),
        Metric::Quantile(0.999),
        Metric::Max,
    ];
    let mut metrics: Vec<Metric> = latencies
        .into_iter()
        .filter(|metric| runs.clone().any(|run| metric.value(run, None).is_some()))
        .collect();
    let mut names: Vec<&str> = Vec::new();
    for figure in runs.flat_map(|run| &run.figures) {
        // What has a moment as a label is of one run alone: no other has it at that moment.
        let is_shared = !figure.labels.contains_key("at");
        let is_judged = figure.better != Better::Neither && is_shared;
        if is_judged && !names.contains(&figure.name.as_str()) {
            names.push(&figure.name);
        }
    }
    metrics.extend(names.into_iter().map(|name| Metric::Figure {
        name: name.to_owned(),
        labels: None,
    }));
    metrics
}

/// Puts every set of labels that `runs` have in the place of a result named without.
pub(crate) fn expand<'a>(
    metrics: &[Metric],
    runs: impl Iterator<Item = &'a RunRecord> + Clone,
) -> Vec<Metric> {
    let mut all: Vec<Metric> = Vec::new();
    for metric in metrics {
        let found = match metric {
            Metric::Figure { name, labels: None } => {
                let figures = runs.clone().flat_map(|run| &run.figures);
                let mut sets: Vec<_> = figures
                    .filter(|figure| figure.name == *name)
                    .map(|figure| figure.labels.clone())
                    .collect();
                sets.order_by_key(by_number);
                sets.dedup();
                let named = |labels| Metric::Figure {
                    name: name.clone(),
                    labels: Some(labels),
                };
                match sets.is_empty() {
                    true => vec![named(BTreeMap::new())],
                    false => sets.into_iter().map(named).collect(),
                }
            }
            other => vec![other.clone()],
        };
        for metric in found {
            if !all.contains(&metric) {
                all.push(metric);
            }
        }
    }
    all
}

/// The figures of those asked for that none of `found` is.
pub(crate) fn missing<'a>(
    asked: &[Metric],
    found: impl Iterator<Item = &'a Metric> + Clone,
) -> Vec<String> {
    let is_of = |asked: &Metric, found: &Metric| match asked {
        Metric::Figure { name, labels: None } => found.is_figure(name),
        _ => asked == found,
    };
    let nowhere = asked
        .iter()
        .filter(|asked| !found.clone().any(|found| is_of(asked, found)));
    nowhere.map(ToString::to_string).collect()
}

/// Sorts `n=500` before `n=4000`.
fn by_number(labels: &BTreeMap<String, String>) -> Vec<(String, Option<u64>, String)> {
    labels
        .iter()
        .map(|(key, value)| (key.clone(), value.parse().ok(), value.clone()))
        .collect()
}

impl FromStr for Metric {
    type Err = ParseMetricError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        match text {
            "" => return Err(ParseMetricError::Empty),
            "mean" => return Ok(Self::Mean),
            "stddev" => return Ok(Self::Stddev),
            "min" => return Ok(Self::Min),
            "max" => return Ok(Self::Max),
            _ => {}
        }
        let part = || text.to_owned();
        if let Some(digits) = text.strip_prefix('p')
            && digits.starts_with(|c: char| c.is_ascii_digit())
        {
            return quantile(text)
                .map(Self::Quantile)
                .ok_or_else(|| ParseMetricError::Quantile { part: part() });
        }
        let time = |time: &str| {
            time.parse::<Nanos>()
                .map_err(|_| ParseMetricError::Time { part: part() })
        };
        if let Some(limit) = text.strip_prefix("above:") {
            return Ok(Self::Above(time(limit)?));
        }
        if let Some(limit) = text.strip_prefix("misses:") {
            return Ok(Self::Misses(time(limit)?));
        }
        let Some((name, rest)) = text.split_once('[') else {
            return Ok(Self::Figure {
                name: part(),
                labels: None,
            });
        };
        let wrong = || ParseMetricError::Labels { part: part() };
        let labels = rest.strip_suffix(']').ok_or_else(wrong)?;
        let pairs = labels.split(',').map(|pair| {
            let (key, value) = pair.split_once('=').ok_or_else(wrong)?;
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        });
        Ok(Self::Figure {
            name: name.to_owned(),
            labels: Some(pairs.collect::<Result<_, _>>()?),
        })
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quantile(q) => write!(f, "p{}", percent(*q)),
            Self::Mean => f.write_str("mean"),
            Self::Stddev => f.write_str("stddev"),
            Self::Min => f.write_str("min"),
            Self::Max => f.write_str("max"),
            Self::Above(limit) => write!(f, "above:{}", compact(*limit)),
            Self::Misses(limit) => write!(f, "misses:{}", compact(*limit)),
            Self::Figure { name, labels } => {
                f.write_str(name)?;
                let labels = labels.iter().flatten();
                let pairs: Vec<String> = labels.map(|(k, v)| format!("{k}={v}")).collect();
                if pairs.is_empty() {
                    return Ok(());
                }
                write!(f, "[{}]", pairs.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_round_trip_through_text() {
        for text in [
            "p50",
            "p99.9",
            "p99.999",
            "mean",
            "stddev",
            "min",
            "max",
            "above:100us",
            "misses:1.5ms",
            "gflops",
            "gflops[n=4000]",
            "memcpy[cpu=0,node=1]",
            "peak_bytes",
        ] {
            assert_eq!(text.parse::<Metric>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_bad_figure_is_named() {
        for (text, part) in [
            ("p100", "`p100`"),
            ("p0", "`p0`"),
            ("p9e1", "`p9e1`"),
            ("above:100", "`above:100`"),
            ("misses:", "`misses:`"),
            ("gflops[n]", "`gflops[n]`"),
            ("gflops[n=4", "`gflops[n=4`"),
            (" ", "empty"),
        ] {
            let message = text.parse::<Metric>().unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
