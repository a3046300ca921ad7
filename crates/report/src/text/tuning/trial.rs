// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What each knob of a profile buys.

use punctual_model::{TrialEffect, TrialFigure, TrialQuantity, TrialReport, TrialVerdict};

use crate::text::layout::{Column, clean, paragraph, table};

/// Says what each knob does to the latency and to work, with intervals, and what follows.
pub fn trial(report: &TrialReport) -> String {
    let machine = [&report.hostname, &report.kernel_release];
    let names: Vec<_> = machine.into_iter().flatten().map(|n| clean(n)).collect();
    let mut text = String::new();
    if !report.complete {
        text += &paragraph(
            "CUT SHORT",
            "the end was asked for: these are the whole blocks so far",
        );
    }
    text += &paragraph("Machine", &names.join(", "));
    text += &paragraph(
        "Tried",
        &format!(
            "the knobs of profile {}, each alone and all together, against none, on CPUs {}: {} \
             blocks in random order (seed {}), {} a run, {} run{} invalid and left out",
            clean(&report.profile),
            report.cpus,
            report.blocks,
            report.seed,
            report.cell_ns,
            report.invalid_runs,
            if report.invalid_runs == 1 { "" } else { "s" }
        ),
    );
    let without: Vec<String> = report.baseline.iter().map(figure).collect();
    text += &paragraph("Without", &without.join("; "));
    for (quantity, title) in [
        (TrialQuantity::P50Ns, "Median latency"),
        (TrialQuantity::P99Ns, "99th percentile"),
        (TrialQuantity::WorkBytesPerSecond, "Work done"),
    ] {
        text.push('\n');
        text += &effects(report, quantity, title);
    }
    let said = format!(
        " Interval: {:.0} %, of the ratio inside blocks. Verdicts at {:.0} %, corrected for all {} \
         comparisons (Holm).\n No measurable gain: a change of {:.0} % would have been found in 80 of 100 \
         such trials, a smaller one perhaps not.\n",
        report.confidence * 100.0,
        (1.0 - report.confidence) * 100.0,
        report.treatments.len() * 3,
        report.effect * 100.0,
    );
    text += &said;
    for left in &report.left_out {
        let said = format!("{}: {}", clean(&left.knob), clean(&left.reason));
        text += &paragraph("Not tried", &said);
    }
    text
}

fn figure(figure: &TrialFigure) -> String {
    let (Some(estimate), name) = (figure.estimate, short(figure.quantity)) else {
        return format!("{} not measured", short(figure.quantity));
    };
    let interval = match (figure.low, figure.high) {
        (Some(low), Some(high)) => format!(
            " ({} .. {})",
            value(figure.quantity, low),
            value(figure.quantity, high)
        ),
        _ => String::new(),
    };
    format!(
        "{name} {}{interval} {}, {} runs",
        value(figure.quantity, estimate),
        unit(figure.quantity),
        figure.runs
    )
}

fn effects(report: &TrialReport, quantity: TrialQuantity, title: &str) -> String {
    let rows = report.treatments.iter().filter_map(|treatment| {
        let of = |effect: &&TrialEffect| effect.quantity == quantity;
        let effect = treatment.effects.iter().find(of)?;
        let failed = if treatment.failed > 0 {
            format!(" ({} not had)", treatment.failed)
        } else {
            String::new()
        };
        Some(vec![
            clean(&treatment.name).into_owned() + &failed,
            treatment.runs.to_string(),
            effect
                .estimate
                .map_or_else(|| "-".to_owned(), |x| value(quantity, x)),
            effect
                .ratio
                .map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}")),
            match (effect.low, effect.high) {
                (Some(low), Some(high)) => format!("{low:.3} .. {high:.3}"),
                _ => "-".to_owned(),
            },
            verdict(effect),
        ])
    });
    let with = format!("{title}, {}", unit(quantity));
    let header = [
        ("Knob", Column::Left),
        ("Runs", Column::Right),
        (with.as_str(), Column::Right),
        ("Ratio", Column::Right),
        ("Interval", Column::Right),
        ("Verdict", Column::Text),
    ];
    table(&header, rows.collect())
}

fn verdict(effect: &TrialEffect) -> String {
    let found = effect.smallest_detectable.map(|share| {
        let percent = share * 100.0;
        format!(" ({percent:.0} % would have been found)")
    });
    match effect.verdict {
        TrialVerdict::Gain => "gain".to_owned(),
        TrialVerdict::Loss => "LOSS".to_owned(),
        TrialVerdict::NoMeasurableGain => {
            format!("no measurable gain{}", found.unwrap_or_default())
        }
        TrialVerdict::TooFewBlocks { more: Some(more) } => format!("too few blocks: {more} more"),
        TrialVerdict::TooFewBlocks { more: None } => "too few blocks".to_owned(),
    }
}

const fn short(quantity: TrialQuantity) -> &'static str {
    match quantity {
        TrialQuantity::P50Ns => "p50",
        TrialQuantity::P99Ns => "p99",
        TrialQuantity::WorkBytesPerSecond => "work",
    }
}

const fn unit(quantity: TrialQuantity) -> &'static str {
    match quantity {
        TrialQuantity::P50Ns | TrialQuantity::P99Ns => "µs",
        TrialQuantity::WorkBytesPerSecond => "MB/s",
    }
}

fn value(quantity: TrialQuantity, value: f64) -> String {
    match quantity {
        TrialQuantity::P50Ns | TrialQuantity::P99Ns => format!("{:.2}", value / 1e3),
        TrialQuantity::WorkBytesPerSecond => format!("{:.0}", value / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::{CpuSet, LeftOut, Nanos, TRIAL_FORMAT, Treatment};

    #[test]
    fn a_gain_and_no_gain_are_told_with_their_figures() {
        let effect = |quantity, ratio, verdict| TrialEffect {
            quantity,
            estimate: Some(20_000.0),
            ratio: Some(ratio),
            low: Some(ratio - 0.05),
            high: Some(ratio + 0.05),
            p: Some(0.001),
            adjusted_p: Some(0.01),
            smallest_detectable: Some(0.07),
            verdict,
        };
        let report = TrialReport {
            format: TRIAL_FORMAT.to_owned(),
            profile: "latency".to_owned(),
            hostname: Some("box".to_owned()),
            kernel_release: None,
            cpus: "0-1".parse::<CpuSet>().unwrap(),
            blocks: 12,
            cell_ns: Nanos::from_secs(1),
            seed: 9,
            confidence: 0.95,
            effect: 0.1,
            invalid_runs: 1,
            baseline: vec![TrialFigure {
                quantity: TrialQuantity::P50Ns,
                runs: 12,
                estimate: Some(40_000.0),
                low: Some(39_000.0),
                high: Some(41_000.0),
            }],
            treatments: vec![Treatment {
                name: "dma_latency".to_owned(),
                settings: 1,
                failed: 0,
                runs: 12,
                effects: vec![
                    effect(TrialQuantity::P50Ns, 0.5, TrialVerdict::Gain),
                    effect(TrialQuantity::P99Ns, 1.0, TrialVerdict::NoMeasurableGain),
                    effect(
                        TrialQuantity::WorkBytesPerSecond,
                        1.0,
                        TrialVerdict::TooFewBlocks { more: Some(30) },
                    ),
                ],
            }],
            left_out: vec![LeftOut {
                knob: "smt".to_owned(),
                reason: "none here".to_owned(),
            }],
            complete: false,
        };
        // Long lines are folded: where they are is not what this is about.
        let text = trial(&report);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "CUT SHORT",
            "12 blocks in random order (seed 9), 1 s a run, 1 run invalid",
            "p50 40.00 (39.00 .. 41.00) µs, 12 runs",
            "0.500 0.450 .. 0.550 gain",
            "no measurable gain (7 % would have been found)",
            "too few blocks: 30 more",
            "Not tried smt: none here",
        ] {
            assert!(words.contains(part), "{part}: {text}");
        }
    }
}
