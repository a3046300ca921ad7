// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From the samples of a run to what may lie beyond the largest of them.

use punctual_model::{
    EXTRAPOLATION_FORMAT, Extrapolation, Interval, Nanos, RunRecord, TailEstimate, TailLevel,
    TailMethod,
};
use punctual_stats::float;
use punctual_stats::tail::{self, GATE, TailFit, TailRefusal, extrapolate};

/// Extrapolates from `samples` in ns, in the order in which they were measured, over `horizon`.
///
/// `None` where the record says neither how long the run was nor the interval of its threads, or there are no samples.
pub fn extrapolation(
    run: &RunRecord,
    samples: &[u64],
    horizon: Nanos,
    confidence: f64,
    seed: u64,
) -> Option<Extrapolation> {
    let recorded = run.duration_ns.filter(|duration| *duration > Nanos::ZERO);
    let duration = recorded.or_else(|| by_interval(run))?;
    let max = run.not_below(samples.iter().copied().max()?);
    let unit = match run.cut_by() {
        0 => 0.0,
        most => float(most) + 1.0,
    };
    let values: Vec<f64> = samples.iter().copied().map(float).collect();
    let further = float(samples.len() as u64) * float(horizon.get()) / float(duration.get());
    let [maxima, peaks] = extrapolate(&values, unit, further, confidence, seed);
    Some(Extrapolation {
        format: EXTRAPOLATION_FORMAT.to_owned(),
        run: run.id.clone(),
        valid: run.is_valid(),
        imported_from: run.origin.as_ref().map(|origin| origin.tool.clone()),
        virtual_time: run.is_virtual(),
        advisory: true,
        samples: samples.len() as u64,
        duration_ns: duration,
        by_interval: recorded.is_none(),
        max_ns: Some(max),
        horizon_ns: horizon,
        horizon_samples: further,
        gate: GATE,
        seed,
        methods: vec![
            estimate(TailMethod::BlockMaxima, maxima, confidence),
            estimate(TailMethod::PeaksOverThreshold, peaks, confidence),
        ],
    })
}

/// How long the thread that took the longest was at it, if it missed no deadline.
fn by_interval(run: &RunRecord) -> Option<Nanos> {
    let each = run.series.iter().map(|of| {
        let interval = of.interval_ns?;
        Some(interval.times(of.count)).filter(|taken| *taken > Nanos::ZERO)
    });
    each.collect::<Option<Vec<_>>>()?.into_iter().max()
}

fn estimate(
    method: TailMethod,
    fit: Result<TailFit, TailRefusal>,
    confidence: f64,
) -> TailEstimate {
    let (estimate, refused) = match fit {
        Ok(fit) => (Some(level(&fit, confidence)), None),
        Err(refusal) => (None, Some(refusal.to_string())),
    };
    TailEstimate {
        method,
        refused,
        estimate,
    }
}

fn level(fit: &TailFit, confidence: f64) -> TailLevel {
    TailLevel {
        level_ns: fit.level,
        interval_ns: Interval {
            low: fit.low,
            high: fit.high,
            confidence,
        },
        extremes: fit.extremes as u64,
        block_samples: match fit.method {
            tail::TailMethod::BlockMaxima { block } => Some(block as u64),
            tail::TailMethod::PeaksOverThreshold => None,
        },
        shape: fit.shape,
        scale_ns: fit.scale,
        location_ns: fit.location,
        trend_p: fit.checks.steady.trend,
        halves_p: fit.checks.steady.halves,
        independence_p: fit.checks.steady.independence,
        rate_p: fit.checks.steady.rate,
        fit_p: fit.checks.fit,
    }
}
