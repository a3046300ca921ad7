// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a record has besides its figures, as figures: shape, P-square, the kinds of a run with several, the
//! work of loads.

use std::collections::{BTreeMap, BTreeSet};

use punctual_model::{Better, Figure, Interval, RunRecord, Series};

/// Returns as figures what a record has elsewhere:
///
/// - `skewness`, `excess_kurtosis` of all samples;
/// - `psquare[q=p95]`: the estimates of P-square, in ns;
/// - `handler_p90`: the quantiles of each kind of sample, where a run has several, with their intervals; `irq_p99[cpu=1]` where the record has
///   those of each thread only;
/// - `copy_both_ways`: twice the rate of copying memory;
/// - `copy_both_ways_largest`, `random_update_rate_smallest` and the other two: the extremes over pairs of nodes;
/// - `load_work[load=cpu:1]`: the work of a load each second, in its unit.
pub fn derived(record: &RunRecord) -> Vec<Figure> {
    let total = &record.total;
    let mut figures = Vec::new();
    let shape = [
        ("skewness", total.skewness),
        ("excess_kurtosis", total.excess_kurtosis),
    ];
    for (name, value) in shape {
        if let Some(value) = value {
            figures.push(Figure {
                count: total.count,
                ..Figure::single(name, "", Better::Lower, value)
            });
        }
    }
    for (name, value) in &total.psquare_ns {
        if let Some(value) = value {
            let figure = Figure::single("psquare", "ns", Better::Lower, *value).at("q", name);
            figures.push(Figure {
                count: total.count,
                ..figure
            });
        }
    }
    figures.extend(kinds(record));
    for load in &record.loads {
        if let Some(rate) = load.per_second {
            let unit = format!("{}/s", load.unit);
            figures.push(
                Figure::single("load_work", &unit, Better::Higher, rate).at("load", &load.load),
            );
        }
    }
    let both: Vec<Figure> = record.figures.iter().filter_map(both_ways).collect();
    let random = record
        .figures
        .iter()
        .filter(|f| f.name == "random_update_rate");
    for of in [both.iter().collect(), random.collect::<Vec<&Figure>>()] {
        figures.extend(extremes(&of));
    }
    figures.extend(both);
    figures
}

/// The largest and the smallest average over pairs of nodes.
fn extremes(of: &[&Figure]) -> Vec<Figure> {
    let value = |figure: &&Figure| figure.value.filter(|value| value.is_finite());
    let known = || of.iter().copied().filter(|figure| value(figure).is_some());
    let order = |a: &&Figure, b: &&Figure| {
        let (a, b) = (a.value.unwrap_or(0.0), b.value.unwrap_or(0.0));
        a.total_cmp(&b)
    };
    let named = |figure: &Figure, what: &str| Figure {
        name: format!("{}_{what}", figure.name),
        labels: BTreeMap::new(),
        ..figure.clone()
    };
    let largest = known().max_by(order).map(|figure| named(figure, "largest"));
    let smallest = known()
        .min_by(order)
        .map(|figure| named(figure, "smallest"));
    largest.into_iter().chain(smallest).collect()
}

/// `copy` counts each byte once, numademo's `memcpy` what is read and what is written.
fn both_ways(figure: &Figure) -> Option<Figure> {
    let twice = |value: Option<f64>| value.map(|value| 2.0 * value);
    (figure.name == "copy").then(|| Figure {
        name: "copy_both_ways".to_owned(),
        value: twice(figure.value),
        stddev: twice(figure.stddev),
        min: twice(figure.min),
        max: twice(figure.max),
        interval: figure.interval.map(|interval| Interval {
            low: 2.0 * interval.low,
            high: 2.0 * interval.high,
            ..interval
        }),
        ..figure.clone()
    })
}

/// The quantiles of each kind of sample: of all threads together where the record has them, else of each thread.
fn kinds(record: &RunRecord) -> Vec<Figure> {
    let mut kinds: BTreeMap<&str, Vec<&Series>> = BTreeMap::new();
    for series in &record.series {
        if let Some(kind) = &series.context {
            kinds.entry(kind).or_default().push(series);
        }
    }
    let mut figures = Vec::new();
    for (kind, all) in kinds {
        let together = all.iter().find(|series| series.thread.is_none());
        match (together, all.as_slice()) {
            (Some(one), _) | (None, [one]) => figures.extend(quantiles(kind, one)),
            (None, several) => figures.extend(of_each(kind, several)),
        }
    }
    figures
}

/// By CPU, where each thread has one of its own, else by thread.
fn of_each<'a>(kind: &'a str, threads: &'a [&'a Series]) -> impl Iterator<Item = Figure> + 'a {
    let cpus: BTreeSet<u32> = threads.iter().filter_map(|series| series.cpu).collect();
    let by_cpu = cpus.len() == threads.len();
    threads.iter().flat_map(move |series| {
        let (label, number) = match by_cpu {
            true => ("cpu", series.cpu),
            false => ("thread", series.thread),
        };
        let number = number.map_or_else(String::new, |n| n.to_string());
        quantiles(kind, series)
            .into_iter()
            .map(move |figure| figure.at(label, &number))
    })
}

fn quantiles(kind: &str, series: &Series) -> Vec<Figure> {
    let of = |(name, value): (&String, &Option<u64>)| {
        #[expect(clippy::cast_precision_loss, reason = "a figure")]
        let value = (*value)? as f64;
        Some(Figure {
            count: series.count,
            interval: series.quantile_intervals_ns.get(name).copied().flatten(),
            ..Figure::single(&format!("{kind}_{name}"), "ns", Better::Lower, value)
        })
    };
    series.quantiles_ns.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_counted_as_numademo_counts_it() {
        let figure = Figure {
            interval: Some(Interval {
                low: 250.0,
                high: 260.0,
                confidence: 0.95,
            }),
            min: Some(251.0),
            ..Figure::single("copy", "MB/s", Better::Higher, 255.0)
        };
        let both = both_ways(&figure.at("cpu_node", "0")).unwrap();
        assert_eq!((both.value, both.min), (Some(510.0), Some(502.0)));
        assert_eq!(both.interval.map(|i| (i.low, i.high)), Some((500.0, 520.0)));
        assert_eq!(both.labels["cpu_node"], "0");
        let pair = |node: u32, value: f64| {
            let figure = Figure::single("random_update_rate", "MB/s", Better::Higher, value);
            figure.at("cpu_node", 0).at("memory_node", node)
        };
        let (near, far) = (pair(0, 180.0), pair(1, 120.0));
        let summary = extremes(&[&near, &far]);
        let named: Vec<(&str, Option<f64>)> =
            summary.iter().map(|f| (f.name.as_str(), f.value)).collect();
        assert_eq!(
            named,
            [
                ("random_update_rate_largest", Some(180.0)),
                ("random_update_rate_smallest", Some(120.0))
            ]
        );
        assert!(summary.iter().all(|f| f.labels.is_empty()));
        assert!(extremes(&[]).is_empty());
        assert!(both_ways(&both).is_none());
    }
}
