// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a record has besides its figures, as figures: shape, P-square, the kinds of a run with several, the
//! work of loads.

use punctual_model::{Better, Figure, Interval, RunRecord, Series};

/// Returns as figures what a record has elsewhere:
///
/// - `skewness`, `excess_kurtosis` of all samples;
/// - `psquare[q=p95]`: the estimates of P-square, in ns;
/// - `handler_p90`: the quantiles of each kind of sample, where a run has several, with their intervals;
/// - `copy_both_ways`: twice the rate of copying memory;
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
    for series in &record.series {
        figures.extend(kind(series));
    }
    for load in &record.loads {
        if let Some(rate) = load.per_second {
            let unit = format!("{}/s", load.unit);
            figures.push(
                Figure::single("load_work", &unit, Better::Higher, rate).at("load", &load.load),
            );
        }
    }
    figures.extend(record.figures.iter().filter_map(both_ways));
    figures
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

fn kind(series: &Series) -> Vec<Figure> {
    let Some(kind) = &series.context else {
        return Vec::new();
    };
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
        assert!(both_ways(&both).is_none());
    }
}
