// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What each knob of a profile buys.

use punctual_model::{TrialEffect, TrialFigure, TrialQuantity, TrialReport, TrialVerdict};

use super::super::parts::{Block, Document, Table, Tone};
use super::REVERT;
use crate::document::named::counted;

const QUANTITIES: [(TrialQuantity, &str); 3] = [
    (TrialQuantity::P50Ns, "Median latency"),
    (TrialQuantity::P99Ns, "99th percentile"),
    (TrialQuantity::WorkBytesPerSecond, "Work done"),
];

impl Document {
    /// Says what each knob does to the latency and to work, with intervals, and what follows.
    pub fn of_trial(report: &TrialReport) -> Self {
        let mut blocks: Vec<Block> = QUANTITIES
            .map(|(of, title)| Block::Table(effects(report, of, title)))
            .into();
        blocks.push(Block::Text(format!(
            "Interval: {:.0} %, of the ratio inside blocks. Verdicts at {:.0} %, corrected for all {} comparisons \
             (Holm). None measurable: a change of {:.0} % would have been found in 80 of 100 such trials, a \
             smaller one perhaps not. Found from: the smallest change that would have been found. Too few: that \
             many further blocks would find {:.0} %, or what all blocks agree on where that is more.",
            report.confidence * 100.0,
            (1.0 - report.confidence) * 100.0,
            report.treatments.len() * 3,
            report.effect * 100.0,
            report.effect * 100.0,
        )));
        let gains = with(report, TrialVerdict::Gain);
        blocks.push(Block::facts(setting(report, gains.is_empty())));
        let losses = with(report, TrialVerdict::Loss);
        let (tone, word) = match (gains.is_empty(), losses.is_empty()) {
            (false, true) => (Tone::Good, "Gain"),
            (false, false) => (Tone::Doubtful, "Gain"),
            (true, false) => (Tone::Bad, "LOSS"),
            (true, true) => (Tone::Doubtful, "No gain shown"),
        };
        let loss = losses.join("; ");
        let loss = (!gains.is_empty() && !loss.is_empty()).then(|| format!("LOSS: {loss}"));
        let first = if gains.is_empty() { losses } else { gains };
        let mut parts: Vec<String> = first.into_iter().chain(loss).collect();
        let effects = report.treatments.iter().flat_map(|t| &t.effects);
        let open = |test: fn(TrialVerdict) -> bool| {
            let open = effects.clone().filter(|of| test(of.verdict)).count();
            counted(open as u64, "comparison")
        };
        parts.push(format!(
            "none measurable in {}, too few blocks for {}",
            open(|of| of == TrialVerdict::NoMeasurableGain),
            open(|of| matches!(of, TrialVerdict::TooFewBlocks { .. })),
        ));
        let sentence = parts.join("; ");
        let without = report.without_valid_run();
        let fault = match report.complete {
            false => Some(
                "CUT SHORT: the end was asked for, these are the whole blocks so far".to_owned(),
            ),
            true if without.is_empty() => None,
            true => Some(format!("NO VALID RUN: {}", without.join(", "))),
        };
        Self::of("What each knob gains", blocks)
            .answering(tone, word, sentence)
            .faulted(fault)
    }
}

/// What was tried on what, what was not, and what to do next.
fn setting(report: &TrialReport, no_gain: bool) -> Vec<(&'static str, String)> {
    let machine = [&report.hostname, &report.kernel_release];
    let names: Vec<String> = machine.into_iter().flatten().cloned().collect();
    let tried = format!(
        "the knobs of profile {}, each alone and all together, against none, on CPUs {}: {} in random order (seed \
         {}), {} a run, {} invalid and left out",
        report.profile,
        report.cpus,
        counted(report.blocks, "block"),
        report.seed,
        report.cell_ns,
        counted(report.invalid_runs, "run"),
    );
    let without: Vec<String> = report.baseline.iter().map(figure).collect();
    let mut facts = vec![
        ("Without", without.join("; ")),
        ("Tried", tried),
        ("Machine", names.join(", ")),
    ];
    let left_out = report.left_out.iter();
    facts.extend(left_out.map(|of| ("Not tried", format!("{}: {}", of.knob, of.reason))));
    facts.push(match no_gain {
        true => (
            "Next",
            "more `--blocks` or a longer `--duration` find smaller changes".to_owned(),
        ),
        false => (
            "Next",
            format!("`punctual tune apply` with the same profile and `--only KNOB` applies what gains; {REVERT}"),
        ),
    });
    facts
}

/// The knobs with a verdict, a quantity after the other: `median latency with dma_latency (x0.543)`.
fn with(report: &TrialReport, verdict: TrialVerdict) -> Vec<String> {
    let of = |(quantity, title): (TrialQuantity, &str)| {
        let named = report.treatments.iter().filter_map(|treatment| {
            let mut effects = treatment.effects.iter();
            let found = effects.find(|of| of.quantity == quantity && of.verdict == verdict)?;
            Some(format!("{} (x{:.3})", treatment.name, found.ratio?))
        });
        let named: Vec<String> = named.collect();
        let title = title.to_lowercase();
        (!named.is_empty()).then(|| format!("{title} with {}", named.join(", ")))
    };
    QUANTITIES.into_iter().filter_map(of).collect()
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
        "{name} {}{interval} {}, {}",
        value(figure.quantity, estimate),
        unit(figure.quantity),
        counted(figure.runs, "run")
    )
}

fn effects(report: &TrialReport, quantity: TrialQuantity, title: &str) -> Table {
    let caption = format!("{title} in {}", unit(quantity));
    let columns = "<Knob|?Blocks|With|Ratio|Interval|??Found from|<Verdict";
    let row = |treatment: &punctual_model::Treatment| {
        let of = |effect: &&TrialEffect| effect.quantity == quantity;
        let effect = treatment.effects.iter().find(of)?;
        let failed = match treatment.failed {
            0 => String::new(),
            n => format!(" ({n} not had)"),
        };
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let interval = effect.low.zip(effect.high);
        let found = effect.smallest_detectable;
        let found = found.filter(|_| effect.verdict == TrialVerdict::NoMeasurableGain);
        Some([
            treatment.name.clone() + &failed,
            or_none(effect.pairs.map(|pairs| pairs.to_string())),
            or_none(effect.estimate.map(|x| value(quantity, x))),
            or_none(effect.ratio.map(|ratio| format!("{ratio:.3}"))),
            or_none(interval.map(|(low, high)| format!("{low:.3} .. {high:.3}"))),
            found.map_or_else(String::new, |share| format!("{:.0} %", share * 100.0)),
            verdict(effect),
        ])
    };
    Table::of(caption, columns).with(report.treatments.iter().filter_map(row))
}

fn verdict(effect: &TrialEffect) -> String {
    match effect.verdict {
        TrialVerdict::Gain => "gain".to_owned(),
        TrialVerdict::Loss => "LOSS".to_owned(),
        TrialVerdict::NoMeasurableGain => "none measurable".to_owned(),
        // One block says nothing of how blocks vary.
        TrialVerdict::TooFewBlocks { more: Some(more) } if effect.p.is_none() => {
            format!("too few: {more} at least")
        }
        TrialVerdict::TooFewBlocks { more: Some(more) } => format!("too few: {more} more"),
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
    use crate::text::{self, Detail};
    use punctual_model::{CpuSet, LeftOut, Nanos, TRIAL_FORMAT, Treatment};

    #[test]
    fn a_gain_and_no_gain_are_told_with_their_figures() {
        let effect = |quantity, ratio, verdict| TrialEffect {
            quantity,
            pairs: Some(11),
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
        let text = text::page(&Document::of_trial(&report), 120, Detail::Summary);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "Gain: median latency with dma_latency (x0.500); none measurable in 1 comparison, too few \
             blocks for 1 comparison CUT SHORT",
            "12 blocks in random order (seed 9), 1 s a run, 1 run invalid",
            "p50 40.00 (39.00 .. 41.00) µs, 12 runs",
            "0.500 0.450 .. 0.550 gain",
            "0.950 .. 1.050 7 % none measurable",
            "too few: 30 more",
            "Not tried smt: none here",
        ] {
            assert!(words.contains(part), "{part}: {text}");
        }
        let mut whole = TrialReport {
            complete: true,
            ..report
        };
        let words = |report: &TrialReport| {
            let text = text::page(&Document::of_trial(report), 120, Detail::Summary);
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert!(!words(&whole).contains("NO VALID RUN"));
        whole.baseline[0].runs = 0;
        whole.treatments[0].runs = 0;
        let none = "NO VALID RUN: without any knob, dma_latency";
        assert!(words(&whole).contains(none), "{}", words(&whole));
    }
}
