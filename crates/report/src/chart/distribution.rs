// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Distributions of latencies: the same bins as a histogram, cumulative, complementary, as a density.
//!
//! A histogram of a run has up to some 20 000 buckets, of a thousandth of their value each. For a picture they are put
//! together into bins of equal width on a logarithmic axis. Counts stay exact: a bin holds whole buckets, told apart
//! by where they begin, so that a bin's border is off by at most a bucket. Tables have the figures of the run itself.

use punctual_stats::{Bucket, LatencyHistogram};

use super::{Axis, Chart, Look, Mark, Point, Series, Shape, Validity, spark};

/// A bin: the samples from its begin to the begin of the next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Bin {
    /// The lowest value that belongs to it, in ns.
    pub from_ns: u64,
    /// The first value that does not, in ns.
    pub to_ns: u64,
    /// Samples.
    pub count: u64,
}

/// One distribution among others.
#[derive(Clone, Debug, PartialEq)]
pub struct DistributionSeries {
    /// Name of the run.
    pub run: String,
    /// Name of the kernel, by which series are switched on and off. Empty where it is not known.
    pub kernel: String,
    /// What of the run: `all threads`, `thread 0 on CPU 1`.
    pub part: String,
    /// Whether it is all threads of the run together.
    pub whole: bool,
    /// The bins that hold samples, in ascending order.
    pub bins: Vec<Bin>,
    /// The same in characters, in rows of whole buckets.
    pub rows: Vec<spark::Row>,
    /// Samples.
    pub count: u64,
    /// Samples above the range of the histogram, which are in its last bin or, of an import, at the maximum of their thread.
    pub clamped: u64,
    /// Largest sample, exact, in ns.
    pub max_ns: Option<u64>,
    /// Whether it may be believed.
    pub validity: Validity,
    /// Whether it is drawn before anybody chose.
    pub shown: bool,
    /// The group of the run, by which series are switched on and off. Empty where runs have none.
    pub group: String,
    /// How it looks.
    pub look: Look,
}

/// Distributions that are drawn together.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// A name for files and links.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// What is drawn, of how many, in a sentence.
    pub note: String,
    /// What a value is: `Latency`.
    pub quantity: String,
    /// What it is shown in: µs, or those of virtual time.
    pub unit: &'static str,
    /// What is drawn.
    pub series: Vec<DistributionSeries>,
    /// Deadlines and thresholds, in ns.
    pub marks: Vec<(String, u64)>,
}

/// What is drawn of a distribution.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum View {
    /// Samples in each bin, both axes logarithmic.
    Histogram,
    /// Share of the samples in each microsecond, even axes, up to where the tail begins.
    Head,
    /// Samples in each bin, from where the tail begins.
    Tail,
    /// Share at or below each value.
    Cumulative,
    /// Share above each value, both axes logarithmic.
    Complementary,
    /// Share of the samples in each microsecond, both axes logarithmic.
    Density,
}

impl View {
    /// All of them, in the order of the page.
    pub const ALL: [Self; 6] = [
        Self::Histogram,
        Self::Head,
        Self::Tail,
        Self::Cumulative,
        Self::Complementary,
        Self::Density,
    ];

    /// Returns its name for files and for the page's script.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Histogram => "histogram",
            Self::Head => "head",
            Self::Tail => "tail",
            Self::Cumulative => "cdf",
            Self::Complementary => "ccdf",
            Self::Density => "pdf",
        }
    }

    /// Returns its name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Histogram => "histogram",
            Self::Head => "head",
            Self::Tail => "tail",
            Self::Cumulative => "cumulative distribution",
            Self::Complementary => "complementary cumulative distribution",
            Self::Density => "density",
        }
    }

    /// Returns the label of its vertical axis, of a distribution in `unit`.
    pub fn label(self, unit: &str) -> String {
        match self {
            Self::Histogram | Self::Tail => "Samples in the bin".to_owned(),
            Self::Head | Self::Density => format!("Share of the samples per {unit}"),
            Self::Cumulative => "Share at or below".to_owned(),
            Self::Complementary => "Share above".to_owned(),
        }
    }
}

/// Begin of the bin that `ns` belongs to, and of the next, where values are multiples of `width_ns`.
fn bin_of(ns: u64, bins_a_decade: u32, width_ns: u64) -> (u64, u64) {
    let a_decade = f64::from(bins_a_decade);
    let edge = |number: f64| -> u64 {
        let value = 10_f64.powf(number / a_decade).ceil();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a power of ten, cut at the largest integer"
        )]
        let whole = value as u64;
        whole
    };
    let multiple = |ns: u64| ns.checked_next_multiple_of(width_ns).unwrap_or(ns);
    if ns == 0 {
        return (0, multiple(1));
    }
    let mut number = ((ns as f64).log10() * a_decade).floor();
    // The logarithm rounds: the bin may be a neighbour's.
    while edge(number) > ns && number > 0.0 {
        number -= 1.0;
    }
    while edge(number + 1.0) <= ns {
        number += 1.0;
    }
    (multiple(edge(number)), multiple(edge(number + 1.0)))
}

/// Puts the buckets of a histogram together into bins of equal logarithmic width. Of an import the samples are known to lie in
/// buckets of `width_ns`, at whose upper ends the histogram has them: its bins are whole buckets, one at least.
pub fn bins(histogram: &LatencyHistogram, bins_a_decade: u32, width_ns: u64) -> Vec<Bin> {
    let mut bins: Vec<Bin> = Vec::new();
    for bucket in histogram.buckets() {
        let from = begin(&bucket, width_ns);
        match bins.last_mut() {
            Some(last) if from < last.to_ns => last.count += bucket.count,
            _ => {
                let (from_ns, to_ns) = bin_of(from, bins_a_decade, width_ns);
                bins.push(Bin {
                    from_ns,
                    // A bucket may be wider than a bin of the smallest values.
                    to_ns: to_ns.max(from.saturating_add(1)),
                    count: bucket.count,
                });
            }
        }
    }
    bins
}

/// Where the samples of a bucket begin: those of an import in the bucket of its source, which ends at a multiple of its width
/// or just before.
fn begin(bucket: &Bucket, width_ns: u64) -> u64 {
    if width_ns < 2 {
        return bucket.from_ns;
    }
    let whole = bucket.to_ns.saturating_add(1) / width_ns * width_ns;
    match whole >= bucket.from_ns {
        true => whole.saturating_sub(width_ns),
        // The largest sample, where the source has it exactly.
        false => whole,
    }
}

/// Whether a bin has samples of 0 ns alone.
const fn is_zero(bin: &Bin) -> bool {
    bin.to_ns <= 1
}

/// Says how many samples have no place on a logarithmic axis, as a sentence behind others.
pub(crate) fn zeros<'a>(series: impl Iterator<Item = &'a DistributionSeries>) -> String {
    let bins = series.filter(|s| s.whole).flat_map(|s| &s.bins);
    match bins.filter(|bin| is_zero(bin)).map(|bin| bin.count).sum() {
        0 => String::new(),
        n => format!(
            " {} of 0 ns {} no place on a logarithmic axis.",
            super::scale::counted(n, "sample"),
            if n == 1 { "has" } else { "have" }
        ),
    }
}

fn micros(ns: u64) -> f64 {
    ns as f64 / 1e3
}

impl DistributionSeries {
    /// Returns its name in a legend.
    pub fn name(&self) -> String {
        match (self.run.is_empty(), self.part.is_empty()) {
            (true, _) => self.part.clone(),
            (_, true) => self.run.clone(),
            _ => format!("{}, {}", self.run, self.part),
        }
    }

    /// Returns the steps of a view.
    fn points(&self, view: View, split_ns: u64) -> Vec<Point> {
        let all = self.count as f64;
        let mut points = Vec::new();
        let mut level = |ns: u64, y: f64| points.push(Point::at(micros(ns), y));
        let mut end: Option<u64> = None;
        // A logarithmic axis has no 0: samples of 0 ns count from the first above it on.
        let (zeros, bins) = match self.bins.as_slice() {
            [zero, bins @ ..] if is_zero(zero) && !bins.is_empty() && view != View::Head => {
                (zero.count, bins)
            }
            bins => (0, bins),
        };
        // What goes down to 0 is drawn over a factor of 10.
        let drawn_from = |bin: &Bin| match view {
            View::Head => bin.from_ns,
            _ => bin.from_ns.max(bin.to_ns / 10),
        };
        let mut below = zeros;
        if let Some(first) = bins.first() {
            let from = drawn_from(first).max(1);
            let above = self.count.saturating_sub(zeros);
            match view {
                View::Complementary => level(from, above as f64 / all),
                View::Cumulative if zeros > 0 => level(from, zeros as f64 / all),
                _ => {}
            }
        }
        for bin in bins {
            let apart = end.is_some_and(|end| end < bin.from_ns);
            match view {
                View::Histogram | View::Head | View::Tail | View::Density => {
                    let outside = match view {
                        View::Head => bin.from_ns >= split_ns,
                        View::Tail => bin.to_ns <= split_ns,
                        _ => false,
                    };
                    if outside {
                        continue;
                    }
                    if apart && let Some(end) = end {
                        level(end, 0.0);
                    }
                    let width = micros(bin.to_ns - bin.from_ns);
                    let y = match view {
                        View::Histogram | View::Tail => bin.count as f64,
                        _ => bin.count as f64 / all / width,
                    };
                    level(drawn_from(bin), y);
                }
                View::Cumulative => {
                    below += bin.count;
                    level(bin.to_ns, below as f64 / all);
                }
                View::Complementary => {
                    below += bin.count;
                    let above = self.count.saturating_sub(below);
                    // The last bin ends at the largest sample: above it there is none.
                    if above > 0 {
                        level(bin.to_ns, above as f64 / all);
                    } else {
                        let last = self.max_ns.unwrap_or(bin.to_ns).max(bin.from_ns);
                        level(last, 0.0);
                    }
                }
            }
            end = Some(bin.to_ns);
        }
        if matches!(
            view,
            View::Histogram | View::Head | View::Tail | View::Density
        ) && let Some(end) = end
        {
            level(end, 0.0);
        }
        points
    }
}

impl Distribution {
    /// Where the head ends and the tail begins, in ns: 99 % of the samples of every series that is shown lie below.
    pub fn split_ns(&self) -> u64 {
        let quantile = |series: &DistributionSeries| {
            let mut below = 0_u64;
            let found = series.bins.iter().find(|bin| {
                below += bin.count;
                below.saturating_mul(100) >= series.count.saturating_mul(99)
            });
            found.map(|bin| bin.to_ns)
        };
        let shown = self.series.iter().filter(|series| series.shown);
        shown.filter_map(quantile).max().unwrap_or(1_000)
    }

    /// Returns one view of it as a chart.
    pub fn chart(&self, view: View) -> Chart {
        let split_ns = self.split_ns();
        let label = format!("{} in {}", self.quantity, self.unit);
        let x = match view {
            View::Head => Axis::linear(label),
            _ => Axis::log(label),
        };
        let y = match view {
            View::Histogram | View::Tail | View::Complementary | View::Density => {
                Axis::log(view.label(self.unit))
            }
            View::Head | View::Cumulative => Axis::linear(view.label(self.unit)),
        };
        let series = self.series.iter().map(|series| Series {
            name: series.name(),
            run: Some(series.run.clone()),
            counted: super::scale::counted(series.count, "sample"),
            shape: Shape::Step,
            points: series.points(view, split_ns),
            validity: series.validity,
            shown: series.shown,
            look: Some(series.look),
        });
        let mark = |(name, ns): &(String, u64)| Mark {
            name: name.clone(),
            at: micros(*ns),
            upright: true,
        };
        let wanted = |mark: &Mark| match view {
            View::Head => mark.at <= micros(split_ns),
            View::Tail => mark.at >= micros(split_ns),
            _ => true,
        };
        Chart {
            id: format!("{}-{}", self.id, view.word()),
            title: format!("{}: {}", self.title, view.title()),
            note: self.note.clone(),
            x,
            y,
            series: series.collect(),
            marks: self.marks.iter().map(mark).filter(wanted).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(values: &[u64]) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::default();
        histogram.record_slice(values);
        histogram
    }

    #[test]
    fn bins_hold_every_sample_once_and_touch_their_borders() {
        for a_decade in [10, 40, 100] {
            let values: Vec<u64> = (0..40_u32).map(|n| 3_u64.pow(n / 2)).collect();
            let found = bins(&histogram(&values), a_decade, 1);
            assert_eq!(found.iter().map(|b| b.count).sum::<u64>(), 40);
            for pair in found.windows(2) {
                assert!(pair[0].to_ns <= pair[1].from_ns, "{pair:?}");
            }
            for value in values {
                let (from, to) = bin_of(value, a_decade, 1);
                assert!(from <= value && value < to, "{value} in {from}..{to}");
            }
        }
    }

    fn series(values: &[u64]) -> DistributionSeries {
        of_width(values, 1)
    }

    fn of_width(values: &[u64], width_ns: u64) -> DistributionSeries {
        let histogram = histogram(values);
        DistributionSeries {
            run: "a".to_owned(),
            kernel: String::new(),
            part: String::new(),
            whole: true,
            bins: bins(&histogram, 20, width_ns),
            rows: spark::rows(&histogram),
            count: histogram.count(),
            clamped: 0,
            max_ns: histogram.max(),
            validity: Validity::Valid,
            shown: true,
            group: String::new(),
            look: Look::default(),
        }
    }

    #[test]
    fn buckets_of_an_import_are_drawn_as_wide_as_they_are() {
        // Samples of every whole microsecond, at the upper ends of buckets as sources have them: below the end, or at it.
        for end in [999, 1_000] {
            for a_decade in [40, 100] {
                let values: Vec<u64> = (0..400).map(|us| us * 1_000 + end).collect();
                let found = bins(&histogram(&values), a_decade, 1_000);
                assert_eq!((found[0].from_ns, found[0].to_ns), (0, 1_000));
                let (_, whole) = found.split_last().unwrap();
                for bin in whole {
                    assert_eq!(bin.count * 1_000, bin.to_ns - bin.from_ns, "{bin:?}");
                }
                assert!(found.array_windows().all(|[a, b]| a.to_ns == b.from_ns));
            }
        }
        // The largest sample is in its bucket, also where it is known exactly.
        let found = bins(&histogram(&[7_999, 8_200]), 100, 1_000);
        let found: Vec<_> = found
            .iter()
            .map(|b| (b.from_ns, b.to_ns, b.count))
            .collect();
        assert_eq!(found, [(7_000, 8_000, 1), (8_000, 9_000, 1)]);
        // A width that is none is no reason to fail.
        for width in [0, u64::MAX] {
            let found = bins(&histogram(&[7_999, 8_200]), 100, width);
            assert_eq!(found.iter().map(|b| b.count).sum::<u64>(), 2);
        }
        let one = of_width(&[5_999; 20], 1_000).points(View::Head, 100_000);
        assert_eq!((one[0].x, one[1].x), (5.0, 6.0));
        assert!((one[0].y - 1.0).abs() < 1e-9, "all of it in 1 µs: {one:?}");
        // The first bucket does not stretch a logarithmic axis.
        let first = of_width(&[999, 1_999], 1_000);
        for view in View::ALL.into_iter().filter(|v| *v != View::Head) {
            let points = first.points(view, 0);
            assert!(points.iter().all(|p| p.x >= 0.1), "{view:?}: {points:?}");
        }
        let density = first.points(View::Density, 0);
        assert!((density[0].y - 0.5).abs() < 1e-9, "{density:?}");
        assert_eq!(zeros([&first].into_iter()), "");
    }

    #[test]
    fn the_head_ends_where_99_of_100_samples_that_are_shown_lie_below() {
        let mut hidden = series(&[10_000, 2_000_000]);
        hidden.shown = false;
        let mut distribution = Distribution {
            id: String::new(),
            title: String::new(),
            note: String::new(),
            quantity: "Latency".to_owned(),
            unit: "µs",
            series: vec![series(&[10_000; 200]), hidden],
            marks: Vec::new(),
        };
        assert!(distribution.split_ns() < 20_000);
        distribution.series[1].shown = true;
        assert!(distribution.split_ns() > 1_900_000);
    }

    #[test]
    fn the_share_above_ends_at_the_largest_sample() {
        let points = series(&[1_000, 2_000, 3_000, 50_000]).points(View::Complementary, 0);
        let last = points.last().unwrap();
        assert!((last.x - 50.0).abs() < 0.1 && last.y == 0.0, "{last:?}");
        let before = points.iter().rev().nth(1).unwrap();
        assert!((before.y - 0.25).abs() < 1e-12);
    }

    #[test]
    fn the_density_adds_up_to_all_samples() {
        let points = series(&[1_000, 1_010, 2_000, 3_000, 50_000]).points(View::Density, 0);
        let area: f64 = points
            .windows(2)
            .map(|pair| (pair[1].x - pair[0].x) * pair[0].y)
            .sum();
        assert!((area - 1.0).abs() < 1e-9, "{area}");
    }

    #[test]
    fn samples_of_0_ns_do_not_stretch_a_logarithmic_axis_and_are_counted() {
        let with = series(&[0, 2_000, 3_000, 50_000]);
        for view in View::ALL.into_iter().filter(|v| *v != View::Head) {
            let points = with.points(view, 0);
            assert!(points.iter().all(|p| p.x > 1.0), "{view:?}: {points:?}");
            let first = points.first().unwrap();
            match view {
                View::Cumulative => assert!((first.y - 0.25).abs() < 1e-12),
                View::Complementary => assert!((first.y - 0.75).abs() < 1e-12),
                _ => {}
            }
        }
        let head = with.points(View::Head, 100_000);
        assert_eq!(head.first().unwrap().x, 0.0);
        assert_eq!(
            zeros([&with].into_iter()),
            " 1 sample of 0 ns has no place on a logarithmic axis."
        );
        assert_eq!(zeros([&series(&[5])].into_iter()), "");
        // Where there is nothing else, it is what is drawn.
        assert!(!series(&[0, 0]).points(View::Histogram, 0).is_empty());
    }

    #[test]
    fn head_and_tail_share_the_samples() {
        let series = series(&[1_000, 1_000, 2_000, 80_000, 90_000]);
        let count = |view| -> f64 { series.points(view, 10_000).iter().map(|p| p.y).sum() };
        assert!((count(View::Tail) - 2.0).abs() < 1e-9);
        assert!(series.points(View::Head, 10_000).iter().all(|p| p.x < 10.0));
    }
}
