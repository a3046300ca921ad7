// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a source says of one thread, and the figures that follow from it.

use std::collections::BTreeMap;

use punctual_model::{Nanos, Series};
use punctual_stats::{Bucket, LatencyHistogram, float};

use crate::error::ImportError;

/// The quantiles of a record.
const QUANTILES: [(&str, f64); 7] = [
    ("p5", 0.05),
    ("p50", 0.5),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
    ("p99.999", 0.99999),
];

/// The most buckets of all threads of a file: a bound on memory.
pub(crate) const MOST_BUCKETS: usize = 2_000_000;

/// The most threads of a file.
pub(crate) const MOST_THREADS: usize = 4096;

/// What a source says of one thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceSeries {
    /// Number of the thread, from 0.
    pub thread: u32,
    /// CPU that it was pinned to.
    pub cpu: Option<u32>,
    /// What was measured, where the source has several kinds.
    pub context: Option<&'static str>,
    /// Scheduling policy, as a record has it.
    pub policy: Option<String>,
    /// Time between deadlines.
    pub interval: Option<Nanos>,
    /// Number of samples.
    pub count: u64,
    /// Lower end of the smallest.
    pub min_ns: Option<u64>,
    /// Upper end of the largest.
    pub max_ns: Option<u64>,
    /// The mean that is stated, if it cannot be computed.
    pub mean_ns: Option<f64>,
    /// Periods that passed while the thread was still late for an earlier one, where the source counts them.
    pub overruns: Option<u64>,
    /// Samples that the source counts and does not have, and that are in no figure.
    pub lost: Option<u64>,
    /// The distribution.
    pub buckets: Option<Buckets>,
}

/// How a source makes one number of what lies in a bucket.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Rounded {
    /// It cuts to the lower end: its numbers are those of cyclictest.
    #[default]
    Down,
    /// It rounds up to the upper end, as oslat up to 2.4 does.
    Up,
    /// It does not: a bucket is wider than the unit of its figures.
    Wide,
    /// Versions differ, and which one it is cannot be told: a mean of the buckets would be one of theirs by chance.
    Unknown,
}

/// A distribution in the source's own buckets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Buckets {
    /// Those that hold samples, ascending and apart.
    pub entries: Vec<Bucket>,
    /// Samples above all of them. `None`: the source does not say.
    pub beyond: Option<u64>,
    /// Which number stands for the samples of a bucket.
    pub rounded: Rounded,
}

impl Buckets {
    /// Makes those of counts by value, each `width_ns` wide, `ns` being the time of a value.
    pub(crate) fn of<'a>(
        counts: impl IntoIterator<Item = &'a (u64, u64)>,
        width_ns: u64,
        ns: impl Fn(u64) -> Result<u64, ImportError>,
    ) -> Result<Self, ImportError> {
        let entries = counts.into_iter().map(|(value, count)| {
            let from_ns = ns(*value)?;
            Ok(Bucket {
                from_ns,
                to_ns: from_ns + width_ns - 1,
                count: *count,
            })
        });
        Ok(Self {
            entries: entries.collect::<Result<_, ImportError>>()?,
            ..Self::default()
        })
    }

    /// Returns the number of samples in the entries.
    pub(crate) fn counted(&self) -> Option<u64> {
        self.entries
            .iter()
            .try_fold(0_u64, |sum, bucket| sum.checked_add(bucket.count))
    }

    /// Takes what `count` has more than the entries for samples above them. Returns whether it has as many.
    pub(crate) fn close(&mut self, count: u64) -> bool {
        self.beyond = self.counted().and_then(|n| count.checked_sub(n));
        self.beyond.is_some()
    }

    /// Returns whether these extremes, cut to lower ends, can be those of the samples.
    pub(crate) fn reach(&self, min: u64, max: u64) -> bool {
        self.entries.first().is_none_or(|b| b.from_ns == min)
            && self.entries.last().is_none_or(|b| match self.beyond {
                Some(0) => b.from_ns == max,
                _ => b.from_ns < max,
            })
    }

    /// Returns whether the entries hold every sample.
    pub(crate) fn complete(&self) -> bool {
        self.beyond == Some(0)
    }

    /// Returns the number that stands for the samples of `bucket`.
    fn number(&self, bucket: &Bucket) -> f64 {
        match self.rounded {
            Rounded::Down => float(bucket.from_ns),
            Rounded::Up => float(bucket.to_ns),
            Rounded::Wide | Rounded::Unknown => {
                f64::midpoint(float(bucket.from_ns), float(bucket.to_ns))
            }
        }
    }

    /// Returns the mean of the source's own numbers, or of the mid-points where buckets are wide,
    /// if every sample is in the entries.
    pub(crate) fn mean(&self) -> Option<f64> {
        let n = self.counted().filter(|n| *n > 0 && self.complete())?;
        Some(self.sum(|bucket| self.number(bucket)) / float(n))
    }

    /// Returns what the mean can be at least and at most where the largest of the samples above all entries ends at `max_ns`, if it
    /// is known how many those are.
    pub(crate) fn mean_bounds(&self, max_ns: u64) -> Option<(f64, f64)> {
        let beyond = float(self.beyond?);
        let n = float(self.counted()?) + beyond;
        let end = self.entries.last().map_or(0.0, |last| float(last.from_ns));
        let least = self.sum(|bucket| float(bucket.from_ns)) + beyond * end;
        let most = self.sum(|bucket| float(bucket.to_ns)) + beyond * float(max_ns);
        (n > 0.0).then(|| (least / n, most / n))
    }

    /// Returns the deviation of these numbers, unless it is smaller than `resolution`: then it
    /// says more about the buckets than about the samples.
    fn deviation(&self, resolution: u64) -> Option<f64> {
        let mean = self.mean()?;
        let n = self.counted().filter(|n| *n > 1)?;
        let squares = self.sum(|bucket| (self.number(bucket) - mean).powi(2));
        let deviation = (squares / (float(n) - 1.0)).sqrt();
        (deviation >= float(resolution)).then_some(deviation)
    }

    fn sum(&self, of: impl Fn(&Bucket) -> f64) -> f64 {
        let weighed = |bucket: &Bucket| of(bucket) * float(bucket.count);
        self.entries.iter().map(weighed).sum()
    }

    /// Returns the bucket that holds the 1-based `rank`.
    fn at_rank(&self, rank: u64) -> Option<&Bucket> {
        let mut below = 0_u64;
        self.entries.iter().find(|bucket| {
            below = below.saturating_add(bucket.count);
            below >= rank
        })
    }
}

impl SourceSeries {
    /// Makes one of how often each value came, in units of `unit_ns`.
    pub(crate) fn of_values(thread: u32, counts: &BTreeMap<u64, u64>, unit_ns: u64) -> Self {
        let bucket = |(value, count): (&u64, &u64)| Bucket {
            from_ns: value * unit_ns,
            to_ns: value * unit_ns + unit_ns - 1,
            count: *count,
        };
        let entries: Vec<Bucket> = counts.iter().map(bucket).collect();
        Self {
            thread,
            count: counts.values().sum(),
            min_ns: entries.first().map(|bucket| bucket.from_ns),
            max_ns: entries.last().map(|bucket| bucket.to_ns),
            buckets: Some(Buckets {
                entries,
                beyond: Some(0),
                ..Buckets::default()
            }),
            ..Self::default()
        }
    }

    /// Returns the mean: of the source's own numbers where the buckets have them all, else the one
    /// that is stated, else that of the mid-points. It never lies outside of the extremes.
    fn mean(&self) -> Option<f64> {
        let buckets = self.buckets.as_ref();
        let exact = buckets
            .filter(|b| matches!(b.rounded, Rounded::Down | Rounded::Up))
            .and_then(Buckets::mean);
        let wide = buckets.filter(|b| b.rounded == Rounded::Wide);
        let guessed = || wide.and_then(Buckets::mean);
        let mean = exact.or(self.mean_ns).or_else(guessed)?;
        let low = self.min_ns.map_or(mean, |min| mean.max(float(min)));
        Some(self.max_ns.map_or(low, |max| low.min(float(max))))
    }

    /// Returns the name of its histogram in a log: its number and, of several kinds, its context.
    pub fn tag(&self) -> String {
        match self.context {
            Some(context) => format!("{}/{context}", self.thread),
            None => self.thread.to_string(),
        }
    }

    /// Computes the figures that this supports.
    pub(crate) fn figures(&self, resolution: Option<u64>) -> Series {
        let buckets = self.buckets.as_ref();
        let mut worst = Some(0.0_f64);
        let quantiles = QUANTILES.map(|(name, p)| {
            let found = buckets.and_then(|b| self.quantile(b, p));
            if let Some((from, to)) = found {
                // The upper end of a bucket that begins at 0 has no finite relative error. One that is
                // rounded up begins behind the end of the one before.
                let up = buckets.is_some_and(|b| b.rounded == Rounded::Up);
                let from = from - u64::from(up && from > 0);
                let error = (from > 0).then(|| float(to - from) / float(from));
                worst = worst.zip(error).map(|(a, b)| a.max(b));
            }
            (name.to_owned(), found.map(|(_, to)| to))
        });
        let any = quantiles.iter().any(|(_, value)| value.is_some());
        Series {
            thread: Some(self.thread),
            context: self.context.map(ToOwned::to_owned),
            cpu: self.cpu,
            policy: self.policy.clone(),
            interval_ns: self.interval,
            count: self.count,
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            mean_ns: self.mean(),
            stddev_ns: buckets
                .zip(resolution)
                .and_then(|(b, resolution)| b.deviation(resolution)),
            quantiles_ns: match buckets {
                Some(_) => quantiles.into(),
                None => BTreeMap::new(),
            },
            quantile_relative_error: worst.filter(|_| any),
            overruns: self.overruns,
            lost: self.lost,
            clamped: buckets.and_then(|b| b.beyond),
            ..Series::default()
        }
    }

    /// Returns the bucket of the quantile, cut at the maximum.
    fn quantile(&self, buckets: &Buckets, p: f64) -> Option<(u64, u64)> {
        let n = match buckets.beyond {
            Some(beyond) => buckets.counted()?.checked_add(beyond)?,
            // Of those that the source counts.
            None => buckets.counted()?,
        };
        if float(n) * p.min(1.0 - p) < 1.0 - 1e-9 {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a count"
        )]
        let rank = ((p * float(n) - 1e-9).ceil() as u64).max(1);
        let bucket = buckets.at_rank(rank)?;
        let to = bucket.to_ns.min(self.max_ns.unwrap_or(u64::MAX));
        Some((bucket.from_ns.min(to), to))
    }

    /// Returns the histogram with every sample at the upper end of its bucket; those above all
    /// buckets at the maximum.
    pub(crate) fn histogram(&self) -> LatencyHistogram {
        let entries = self.buckets.as_ref().map_or(&[][..], |b| &b.entries);
        let most = self.max_ns.unwrap_or(0);
        let top = entries.last().map_or(0, |bucket| bucket.to_ns).max(most);
        let mut histogram =
            LatencyHistogram::new(top.clamp(2048, LatencyHistogram::DEFAULT_HIGHEST));
        for bucket in entries {
            histogram.record_n(
                bucket.to_ns.min(self.max_ns.unwrap_or(u64::MAX)),
                bucket.count,
            );
        }
        let beyond = self.buckets.as_ref().and_then(|b| b.beyond);
        if let (Some(beyond), Some(max)) = (beyond, self.max_ns) {
            histogram.record_n(max, beyond);
        }
        histogram
    }
}

/// Puts threads together. Those of the context `thread`, if there are such, else all.
pub(crate) fn total(series: &[SourceSeries]) -> Result<SourceSeries, ImportError> {
    let too_many = || ImportError::file("all threads together have more than 2^64 - 1 samples");
    let named = series.iter().any(|s| s.context == Some("thread"));
    let parts: Vec<&SourceSeries> = series
        .iter()
        .filter(|s| !named || s.context == Some("thread"))
        .collect();
    let add = |sum: u64, n: u64| sum.checked_add(n).ok_or_else(too_many);
    let mut total = SourceSeries {
        context: named.then_some("thread"),
        min_ns: parts.iter().filter_map(|s| s.min_ns).min(),
        max_ns: parts.iter().filter_map(|s| s.max_ns).max(),
        overruns: parts.iter().map(|s| s.overruns).sum(),
        lost: parts
            .iter()
            .try_fold(0_u64, |sum, s| Some(sum.saturating_add(s.lost?))),
        ..SourceSeries::default()
    };
    for part in &parts {
        total.count = add(total.count, part.count)?;
    }
    let sum = |s: &&SourceSeries| match s.count {
        0 => Some(0.0),
        n => s.mean().map(|mean| mean * float(n)),
    };
    let sum: Option<f64> = parts.iter().map(sum).sum();
    total.mean_ns = sum
        .filter(|_| total.count > 0)
        .map(|sum| sum / float(total.count));
    // Without the buckets of each, those of all are not known.
    let all: Option<Vec<&Buckets>> = parts.iter().map(|s| s.buckets.as_ref()).collect();
    if let Some(all) = all.filter(|all| !all.is_empty()) {
        let mut merged = BTreeMap::<(u64, u64), u64>::new();
        for bucket in all.iter().flat_map(|b| &b.entries) {
            let sum = merged.entry((bucket.from_ns, bucket.to_ns)).or_default();
            *sum = add(*sum, bucket.count)?;
        }
        let mut beyond = Some(0_u64);
        for part in all {
            beyond = beyond.zip(part.beyond).and_then(|(a, b)| a.checked_add(b));
        }
        let rounded = parts.first().and_then(|s| s.buckets.as_ref());
        total.buckets = Some(Buckets {
            rounded: rounded.map_or(Rounded::Wide, |b| b.rounded),
            entries: merged
                .into_iter()
                .map(|((from_ns, to_ns), count)| Bucket {
                    from_ns,
                    to_ns,
                    count,
                })
                .collect(),
            beyond,
        });
    }
    Ok(total)
}
