// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How precise a mean is, and how long it takes to know it better.

use punctual_model::{Better, Interval, Nanos, StudyAnswer, StudyRow};
use punctual_stats::float;

use super::Cells;
use crate::number::{digits, lasting};

/// Says of each cell how far the mean of its longest run lies from the true one, and how long a run takes that knows it
/// to half of `step_ns` either way.
pub fn precision(cells: &Cells, step_ns: f64) -> StudyAnswer {
    let mut rows = Vec::new();
    let mut said = Vec::new();
    for group in &cells.groups {
        let records = group.runs.iter().map(|run| &run.record);
        let longest = records
            .filter(|record| record.total.mean_interval_ns.is_some())
            .max_by_key(|record| record.total.count);
        let Some(record) = longest else { continue };
        let total = &record.total;
        let (Some(mean), Some(ends), Some(duration)) =
            (total.mean_ns, total.mean_interval_ns, record.duration_ns)
        else {
            continue;
        };
        let half = longer_half(mean, ends);
        rows.push(StudyRow {
            cell: group.name.clone(),
            figure: "mean".to_owned(),
            unit: "ns".to_owned(),
            better: Better::Lower,
            runs: 1,
            estimate: Some(mean),
            interval: Some(ends),
            ..StudyRow::default()
        });
        said.push(format!(
            "{}: mean {} ±{} µs after {} samples; {}",
            super::said::level(&group.name),
            digits(mean / 1e3),
            digits(half / 1e3),
            total.count,
            needed(half, step_ns, total.count, duration)
        ));
    }
    StudyAnswer {
        rows,
        conclusion: match said.is_empty() {
            true => "No run has an interval of its mean.".to_owned(),
            false => said.join(". ") + ".",
        },
        ..StudyAnswer::default()
    }
}

/// What it takes, where the half-width falls with the root of the number of samples.
fn needed(half: f64, step_ns: f64, count: u64, duration: Nanos) -> String {
    let wanted = step_ns / 2.0;
    let shown = wanted / 1e3;
    if half <= wanted {
        return format!("that is within ±{shown} µs, as the paper states its figures");
    }
    let times = (half / wanted) * (half / wanted);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturating, of an estimate with two digits"
    )]
    let time = Nanos::new((float(duration.get()) * times) as u64);
    format!(
        "±{shown} µs takes about {} samples, {}, if the run goes on as it was",
        many(float(count) * times),
        lasting(time)
    )
}

/// Half of the interval of a mean; where 0 cuts it, its longer part, which is what the mean is known by.
fn longer_half(mean: f64, ends: Interval) -> f64 {
    (ends.high - mean).max(mean - ends.low)
}

/// A large number with three digits.
fn many(n: f64) -> String {
    match n {
        n if n >= 1e9 => format!("{:.3} billion", n / 1e9),
        n if n >= 1e6 => format!("{:.1} million", n / 1e6),
        n => format!("{n:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_ends_at_0_does_not_look_more_precise() {
        let ends = |low, high| Interval {
            low,
            high,
            confidence: 0.95,
        };
        assert_eq!(longer_half(8.0, ends(0.0, 19.0)), 11.0);
        assert_eq!(longer_half(8.0, ends(5.0, 11.0)), 3.0);
    }

    #[test]
    fn half_the_width_takes_four_times_the_samples() {
        let said = needed(10.0, 10.0, 2_500, Nanos::from_secs(5));
        assert!(
            said.contains("±0.005 µs takes about 10000 samples, 20 s"),
            "{said}"
        );
        let said = needed(5.0, 10.0, 2_500, Nanos::from_secs(5));
        assert!(said.starts_with("that is within"), "{said}");
    }
}
