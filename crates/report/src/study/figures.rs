// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a record has beside its figures, as figures: shape, P-square, the kinds of a run with several, the
//! work of loads.

use punctual_model::{Better, Figure, RunRecord, Series};

/// Adds to the figures of a record what it has elsewhere:
///
/// - `skewness`, `excess_kurtosis` of all samples;
/// - `psquare[q=p95]`: the estimates of P-square, in ns;
/// - `handler_p90`: the quantiles of each kind of sample, where a run has several, with their intervals;
/// - `load_work[load=cpu:1]`: the work of a load each second, in its unit.
pub fn with_derived(record: &mut RunRecord) {
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
    record.figures.extend(figures);
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
