// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Kernels compared in virtual time.

use punctual_model::{Band, BandVerdict, LatencyCell, LatencyTest};
use std::fmt::Write as _;

use super::guest::HEADING;
use super::named::counted;
use super::parts::{Block, Document, Table, Tone};

impl Document {
    /// A row a kernel, model and load: bands over the seeds, and how they lie to the baseline's.
    pub fn of_latency_test(test: &LatencyTest) -> Self {
        let own = of_their_own(test).into_iter();
        let mut facts: Vec<(&str, String)> = own.map(|own| ("Kernel", own)).collect();
        facts.push(("Bands", bands(test)));
        let agent = test.agent.as_ref();
        let agent = agent.map_or_else(String::new, |agent| format!(", agent {agent}"));
        facts.push(("By", format!("{}, {}{agent}", test.program, test.qemu)));
        let next = match (test.comparisons.is_empty(), test.is_judged()) {
            (true, _) => Some("`--baseline KERNEL` compares the others with one"),
            (_, false) => Some("more `--seeds`: with these, chance makes too many differences"),
            _ => None,
        };
        facts.extend(next.map(|next| ("Next", next.to_owned())));
        let (tone, word, sentence) = answer(test);
        let blocks = vec![Block::Table(cells(test)), Block::facts(facts)];
        let faulty = test.cells.iter().filter(|cell| !cell.faults.is_empty());
        let faults = faulty.map(|cell| format!("{}: {}", named(cell), cell.faults.join("; ")));
        let document = Self::of("Kernels in virtual time", blocks);
        let mut document = document.answering(tone, word, sentence).faulted(faults);
        document.caveats.push(HEADING.to_owned());
        document
    }
}

fn named(cell: &LatencyCell) -> String {
    format!("{} {} {}", cell.kernel, cell.model, cell.load)
}

/// The verdicts, counted; without a baseline where the largest maximum is.
fn answer(test: &LatencyTest) -> (Tone, &'static str, String) {
    let all = test.comparisons.iter();
    let count = |verdict| all.clone().filter(|of| of.verdict == verdict).count();
    if !test.valid {
        return (Tone::Bad, "INVALID", "a cell supports no claim.".to_owned());
    }
    let Some(baseline) = baseline(test) else {
        let highs = test.cells.iter();
        let highs = highs.filter_map(|cell| Some((cell, cell.max_ns?.high)));
        let most = highs.max_by(|a, b| a.1.total_cmp(&b.1));
        let most = most.map_or_else(String::new, |(cell, ns)| {
            let most = format!("{:.1} virtual µs, of {}", ns / 1e3, named(cell));
            format!("; the largest latency is {most}")
        });
        let cells = counted(test.cells.len() as u64, "cell");
        let sentence = format!("{cells} measured, nothing to compare with{most}.");
        return (Tone::Plain, "measured", sentence);
    };
    let all = counted(test.comparisons.len() as u64, "comparison");
    let (worse, better) = (count(BandVerdict::Worse), count(BandVerdict::Better));
    let same = count(BandVerdict::NoDifference);
    let worst = format!("in {worse} of {all}, better in {better}, ");
    let (tone, word, found) = match (worse, better) {
        _ if !test.is_judged() => {
            let found = format!("worse {worst}");
            (Tone::Doubtful, "Too few seeds to tell", found)
        }
        (0, 0) => (Tone::Good, "Same", String::new()),
        (0, _) => (Tone::Good, "Better", format!("in {better} of {all}, ")),
        _ => (Tone::Bad, "WORSE", worst),
    };
    let sentence = format!("{found}no difference in {same}, compared with {baseline}.");
    (tone, word, sentence)
}

fn cells(test: &LatencyTest) -> Table {
    let mut columns = vec!["<Kernel", "<Model", "<Load", "Mean", "Max"];
    let compared = !test.comparisons.is_empty();
    if compared {
        columns.extend(["<Mean is", "<Max is"]);
    }
    let caption = format!(
        "Wake-up latency in virtual µs: instruction counts at {} each",
        test.instruction_ns
    );
    let row = |cell: &LatencyCell| {
        let mut row: Vec<String> = [&cell.kernel, &cell.model, &cell.load]
            .map(String::clone)
            .into();
        row.extend([cell.mean_ns, cell.max_ns].map(band));
        let of = test.comparisons.iter().filter(|of| {
            of.kernel == cell.kernel && of.model == cell.model && of.load == cell.load
        });
        let verdict = |figure: &str| {
            let mut found = of.clone().filter(|of| of.figure == figure);
            found.next().map_or("-", |of| word(of.verdict)).to_owned()
        };
        if compared {
            row.extend(["mean_ns", "max_ns"].map(verdict));
        }
        row
    };
    Table::new(caption, &columns).with(test.cells.iter().map(row))
}

/// Says what each kernel has of its own, where it has something.
fn of_their_own(test: &LatencyTest) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for cell in &test.cells {
        let mut parts = Vec::new();
        if !cell.append.is_empty() {
            parts.push(format!("arguments {}", cell.append.join(" ")));
        }
        if !cell.config.is_empty() {
            parts.push(format!("configuration has {}", cell.config.join(", ")));
        }
        let line = format!("{}: {}", cell.kernel, parts.join("; "));
        if !parts.is_empty() && !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// Says what cells are compared with.
fn baseline(test: &LatencyTest) -> Option<String> {
    let first = test.comparisons.first()?;
    let one = test
        .comparisons
        .iter()
        .all(|of| of.baseline_model == first.baseline_model);
    Some(match one {
        true => format!("{} {}", first.baseline, first.baseline_model),
        false => format!("{}, each model with the same one", first.baseline),
    })
}

const fn word(verdict: BandVerdict) -> &'static str {
    match verdict {
        BandVerdict::Worse => "WORSE",
        BandVerdict::NoDifference => "same",
        other => other.name(),
    }
}

fn band(band: Option<Band>) -> String {
    band.map_or_else(
        || "-".to_owned(),
        |band| format!("{:.1} .. {:.1}", band.low / 1e3, band.high / 1e3),
    )
}

fn bands(test: &LatencyTest) -> String {
    let mut text = format!(
        "from the smallest to the largest value of {} seeds, a boot each, {} samples a boot and load",
        test.seeds, test.samples
    );
    if let Some(baseline) = baseline(test) {
        _ = write!(
            text,
            "; better or worse than {}: the bands lie apart, by more than {:.1} % of the baseline. The bands of \
             two equal kernels do so by chance in {:.2} % of comparisons; here are {}",
            baseline,
            test.tolerance * 100.0,
            test.chance * 100.0,
            test.comparisons.len()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::{BandComparison, Nanos};

    #[test]
    fn with_too_few_seeds_the_answer_is_no_verdict() {
        let of = |seeds, chance| {
            let comparison = BandComparison {
                kernel: "new".to_owned(),
                model: "full".to_owned(),
                load: "fork".to_owned(),
                figure: "mean_ns".to_owned(),
                baseline: "old".to_owned(),
                baseline_model: "full".to_owned(),
                verdict: BandVerdict::Worse,
            };
            let test = LatencyTest {
                format: String::new(),
                time: String::new(),
                instruction_ns: Nanos::new(8),
                program: String::new(),
                qemu: String::new(),
                agent: None,
                seeds,
                samples: 100,
                interval_ns: Nanos::from_millis(1),
                tolerance: 0.0,
                chance,
                valid: true,
                cells: Vec::new(),
                comparisons: vec![comparison],
            };
            let (_, word, sentence) = answer(&test);
            format!("{word}: {sentence}")
        };
        assert_eq!(
            of(2, 1.0 / 3.0),
            "Too few seeds to tell: worse in 1 of 1 comparison, better in 0, no difference in 0, compared with old full."
        );
        assert!(of(4, 1.0 / 35.0).starts_with("WORSE: in 1 of 1 comparison"));
    }
}
