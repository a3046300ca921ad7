// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A published study as it was carried out here: a section each, with the published figures next to the measured ones.

mod pictures;

use std::fmt::Write as _;

use punctual_model::{
    ComparisonVerdict, GuestTime, HostFacts, Nanos, RtStep, StudyAnswer, StudyFacts, StudyFinding,
    StudyJoint, StudyKernel, StudyPaperRow, StudyPart, StudyPlace, StudyResult, StudyRow,
    StudySolver, figure_words,
};
use punctual_verdict::{number, words};

use super::named::{self, counted};
use super::parts::{Answer, Block, Document, Ids, Reason, Section, Table, Tone};
use super::study_tables as tables;
use super::verdicts::p_value;
use super::{facts, guest};

/// Adds a study as a story: what was asked and found, what this machine says to each question, what could not be told, and
/// how it was done.
pub(super) fn add(document: &mut Document, ids: &mut Ids, result: &StudyResult) {
    document.answers.push(together(result));
    let facts = &result.study;
    let id = ids.make(&facts.name);
    let mut blocks = vec![story(result)];
    for (at, answer) in result.answers.iter().enumerate() {
        blocks.extend(answered(ids, answer, &format!("{id}-{}", at + 1)));
    }
    blocks.extend(untold(result));
    if !facts.published.is_empty() {
        blocks.push(Block::Fold(
            "What the paper published, as printed".to_owned(),
            published(facts).map(Block::Table).collect(),
        ));
    }
    blocks.extend(paper_rows(facts).map(|table| {
        Block::Fold(
            "Each result of the paper, and where it is".to_owned(),
            vec![Block::Table(table)],
        )
    }));
    blocks.extend(built(&result.built));
    blocks.push(Block::Fold(
        "What was measured, and how".to_owned(),
        how(result),
    ));
    document.sections.push(Section {
        id,
        title: format!("{}: {}", facts.name, facts.title),
        blocks,
    });
}

/// What all answers of a study say, in numbers: each is in its section.
fn together(result: &StudyResult) -> Answer {
    let answers = result.answers.iter();
    let answered = answers.filter(|answer| is_answered(answer)).count();
    let rows = || result.answers.iter().flat_map(|answer| &answer.rows);
    let with = |verdict| rows().filter(|row| row.verdict == Some(verdict)).count();
    let decided = [
        ComparisonVerdict::Better,
        ComparisonVerdict::Worse,
        ComparisonVerdict::Different,
        ComparisonVerdict::Equivalent,
        ComparisonVerdict::NotWorse,
        ComparisonVerdict::NotDistinguishable,
    ];
    let decided: Vec<String> = decided
        .into_iter()
        .map(|verdict| (with(verdict), verdict))
        .filter(|(count, _)| *count > 0)
        .map(|(count, verdict)| format!("{count} {}", words::verdict(verdict)))
        .collect();
    let few = with(ComparisonVerdict::TooFewRuns);
    let all = rows().filter(|row| row.verdict.is_some()).count();
    let compared = match (all, decided.is_empty()) {
        (0, _) => "Nothing is compared.".to_owned(),
        (_, true) => format!(
            "Too few runs to decide any of {}.",
            counted(all as u64, "comparison")
        ),
        (_, false) => {
            let open = match few {
                0 => String::new(),
                few => format!(", {few} with too few runs"),
            };
            format!(
                "Of {}: {}{open}.",
                counted(all as u64, "comparison"),
                decided.join(", ")
            )
        }
    };
    let runs: u64 = result.parts.iter().map(|part| part.valid).sum();
    let validity: Vec<Reason> = (runs > 0)
        .then(|| counted(runs, "valid run").into())
        .into_iter()
        .collect();
    Answer {
        tone: Tone::Plain,
        word: result.study.name.clone(),
        sentence: format!(
            "{} of {} answered. {compared}",
            answered,
            counted(result.answers.len() as u64, "question"),
        ),
        figures: Vec::new(),
        validity,
    }
}

/// Whether a question has an answer. Comparisons that cannot be decided are none.
fn is_answered(answer: &StudyAnswer) -> bool {
    let decided = |row: &StudyRow| {
        row.withheld.is_none() && row.verdict != Some(ComparisonVerdict::TooFewRuns)
    };
    let mut compared = answer
        .rows
        .iter()
        .filter(|row| row.verdict.is_some())
        .peekable();
    let open = compared.peek().is_some() && !compared.any(decided);
    answer.skipped.is_none() && (!open || answer.joint.iter().any(|joint| joint.differ))
}

/// What was asked, by whom, and what they found.
fn story(result: &StudyResult) -> Block {
    let facts = &result.study;
    let mut lines = vec![("The paper", facts.citation.clone())];
    if !facts.asked.is_empty() {
        lines.push(("Asked", facts.asked.clone()));
        lines.push(("Found", facts.found.clone()));
    }
    lines.push(("On", facts.machine.clone()));
    if let Some(host) = machine(result) {
        lines.push(("Here", super::facts::in_short(&host)));
    }
    Block::facts(lines)
}

/// The machine, by its first run, without what real-time threads may use: studies set that, so it is that run's alone.
fn machine(result: &StudyResult) -> Option<HostFacts> {
    result.host.clone().map(|host| HostFacts {
        sched_rt_runtime_us: None,
        ..host
    })
}

/// The machine in full, and what was measured on it.
fn measured(result: &StudyResult) -> Block {
    let number = result.number.map(|n| format!(", run {n} of the study"));
    let scale = format!("{}{}", result.scale, number.unwrap_or_default());
    let host = machine(result);
    let mut out: Vec<(String, String)> = host
        .iter()
        .flat_map(|host| facts::host_facts(host, false))
        .collect();
    out.push(("Scale".to_owned(), scale));
    let parts = result.parts.iter().flat_map(facts_of);
    out.extend(parts.map(|(label, line)| (label.to_owned(), line)));
    Block::Facts(out)
}

/// A question with its answer: the sentence, the picture, and behind it the tables.
fn answered(ids: &mut Ids, answer: &StudyAnswer, id: &str) -> Option<Block> {
    // What could not be told has a place of its own.
    if answer.skipped.is_some() {
        return None;
    }
    let mut items = Vec::new();
    if answer.virtual_time {
        items.push(("virtual time".to_owned(), guest::HEADING.to_owned()));
    }
    items.push(("published".to_owned(), answer.paper.clone()));
    items.push(("here".to_owned(), answer.conclusion.clone()));
    let mut blocks = vec![Block::items(items)];
    let mut behind = Vec::new();
    let mut drawn = pictures::of_answer(ids, answer, id).into_iter();
    // A density and its cumulative curve are looked at together; more pictures are a wall.
    let shown = answer.curves.len().clamp(1, 2);
    blocks.extend(drawn.by_ref().take(shown));
    let mut further = Vec::new();
    for joint in &answer.joint {
        further.push(("all at once".to_owned(), all_alike(joint)));
    }
    for found in &answer.findings {
        further.push(("found".to_owned(), finding(found)));
    }
    if !further.is_empty() {
        behind.push(Block::items(further));
    }
    behind.extend(tables::of_answer(answer).into_iter().map(Block::Table));
    behind.extend(drawn);
    if !behind.is_empty() {
        blocks.push(Block::Fold("Figures behind it".to_owned(), behind));
    }
    Some(Block::Part(answer.question.clone(), blocks))
}

/// More blocks than anybody runs.
const MANY: u64 = 1_000;

/// What could not be told, and why: questions without an answer, comparisons with too few runs, what was left out.
fn untold(result: &StudyResult) -> Option<Block> {
    let mut items: Vec<(String, String)> = Vec::new();
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for answer in &result.answers {
        let Some(reason) = &answer.skipped else {
            continue;
        };
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, questions)) => questions.push(&answer.question),
            None => reasons.push((reason, vec![&answer.question])),
        }
    }
    // Several questions may lack the same.
    items.extend(reasons.iter().map(|(reason, questions)| {
        (
            "not answered".to_owned(),
            format!("{} {}.", questions.join(" "), named::capital(reason)),
        )
    }));
    for answer in &result.answers {
        let compared = answer.rows.iter().filter(|row| row.verdict.is_some());
        let few = |row: &&StudyRow| row.verdict == Some(ComparisonVerdict::TooFewRuns);
        let open: Vec<&StudyRow> = compared.clone().filter(few).collect();
        if !open.is_empty() {
            items.push((
                "too few runs".to_owned(),
                format!(
                    "{} Open in {} of {}.{}",
                    answer.question,
                    open.len(),
                    counted(compared.count() as u64, "comparison"),
                    more_runs(&open, &result.scale)
                ),
            ));
        }
    }
    items.extend(result.parts.iter().filter_map(invalid));
    let left_out = result.parts.iter().flat_map(|part| &part.skipped);
    let left_out = left_out.filter(|left| !reasons.iter().any(|(known, _)| *known == left.reason));
    items.extend(left_out.map(|left| {
        (
            "left out".to_owned(),
            format!("{}: {}", left.what.replace('=', " "), left.reason),
        )
    }));
    (!items.is_empty()).then(|| {
        Block::Part(
            "What could not be told, and why".to_owned(),
            vec![Block::items(items)],
        )
    })
}

/// Says how many more runs would decide, and of how many comparisons that is not known or is too much to ask.
fn more_runs(open: &[&StudyRow], scale: &str) -> String {
    let (one, each) = match scale {
        "recorded" => ("more run", " of each kernel"),
        _ => ("more block", ""),
    };
    let needed = open.iter().filter_map(|row| row.more_runs);
    let (within, beyond): (Vec<u64>, Vec<u64>) = needed.partition(|more| *more <= MANY);
    let mut said = String::new();
    if let Some(most) = within.iter().max() {
        let of = match within.len() == open.len() {
            true => String::new(),
            false => format!(" {} of them", within.len()),
        };
        _ = write!(
            said,
            " Up to {}{each} would decide{of}.",
            counted(*most, one)
        );
    }
    if !beyond.is_empty() {
        let of = match beyond.len() == open.len() {
            true => String::new(),
            false => format!(" for {} of them", beyond.len()),
        };
        _ = write!(
            said,
            " More than {MANY} {one}s{each} would be needed{of} at this noise."
        );
    }
    said
}

/// Says that a part is over and has fewer valid runs than were planned, and why.
fn invalid(part: &StudyPart) -> Option<(String, String)> {
    part.finished
        .as_ref()
        .filter(|_| part.valid < part.planned)?;
    let why = part.why_invalid.as_ref()?;
    let said = format!(
        "{}: {} of {} are valid; of the first that is not, {why}.",
        named::capital(&part.title),
        part.valid,
        counted(part.planned, "run")
    );
    Some(("invalid".to_owned(), said))
}

/// Each result of the work, and where it is measured.
fn paper_rows(facts: &StudyFacts) -> Option<Table> {
    let mut table = Table::new("", &["<Result of the paper", "<Where", "<How, or why not"]);
    table.rows = facts.rows.iter().map(paper_row).collect();
    (!table.rows.is_empty()).then_some(table)
}

fn paper_row(row: &StudyPaperRow) -> Vec<String> {
    let place = match row.place {
        StudyPlace::Done => "done",
        StudyPlace::Here => "here",
        StudyPlace::Guests => "in guests",
        StudyPlace::NotHere => "not on this machine",
    };
    vec![row.text.clone(), place.to_owned(), row.how.clone()]
}

/// How the kernels were made: a part of the report, for the authors made theirs too.
fn built(steps: &[RtStep]) -> Option<Block> {
    let mut table = Table::new("", &["<Step", "<Done", "Time"]);
    let row = |step: &RtStep| {
        let seconds = Nanos::from_millis(step.took_ms);
        vec![
            step.step.to_string(),
            step.did.clone(),
            number::lasting(seconds),
        ]
    };
    table.rows = steps.iter().map(row).collect();
    (!steps.is_empty()).then(|| {
        Block::Part(
            "How the kernels were made".to_owned(),
            vec![Block::Table(table)],
        )
    })
}

/// The machine, what was measured, the statistics, the steps and what is done differently: once, for all questions.
fn how(result: &StudyResult) -> Vec<Block> {
    let mut blocks = vec![measured(result)];
    let mut methods: Vec<(&str, Vec<String>)> = Vec::new();
    for (number, answer) in (1..).zip(&result.answers) {
        let Some(method) = &answer.method else {
            continue;
        };
        let question = format!("{number}");
        match methods.iter_mut().find(|(known, _)| known == method) {
            Some((_, questions)) => questions.push(question),
            None => methods.push((method, vec![question])),
        }
    }
    let several = methods.len() > 1;
    let method = |(method, questions): (&str, Vec<String>)| {
        let of = match several {
            true => format!("questions {}: ", questions.join(", ")),
            false => String::new(),
        };
        ("method".to_owned(), format!("{of}{method}"))
    };
    if !methods.is_empty() {
        let mut items: Vec<(String, String)> = methods.into_iter().map(method).collect();
        items.push(("tables".to_owned(), tables::MARKS.to_owned()));
        blocks.push(Block::items(items));
    }
    blocks.extend(steps(&result.study));
    blocks
}

fn steps(facts: &StudyFacts) -> Vec<Block> {
    let mut steps = Table::new("Steps of the authors", &["<Step", "<Here"]);
    let rows = facts.steps.iter();
    steps.rows = rows
        .map(|step| vec![step.text.clone(), step.here.clone()])
        .collect();
    let differences = facts.differences.iter();
    let differences = differences.map(|line| ("differs".to_owned(), line.clone()));
    let mut blocks = vec![Block::Facts(vec![(
        "Method".to_owned(),
        facts.method.clone(),
    )])];
    if !steps.rows.is_empty() {
        blocks.push(Block::Table(steps));
    }
    blocks.push(Block::items(differences));
    blocks
}

fn published(facts: &StudyFacts) -> impl Iterator<Item = Table> {
    let tables = facts.published.iter().map(tables::published);
    tables.map(|table| Table {
        caption: format!("Published: {}", table.caption),
        ..table
    })
}

impl Document {
    /// Says what studies there are.
    pub fn of_studies(studies: &[StudyFacts]) -> Self {
        let rows = studies.iter();
        let rows = rows.map(|study| (study.name.clone(), study.title.clone()));
        Self::of_names("Studies", [("", ["<Study", "<Title"], rows.collect())])
    }

    /// Says what a study is: the work, what it reports, what is done differently here.
    pub fn of_study(study: &StudyFacts) -> Self {
        let facts = [
            ("Study", &study.title),
            ("Work", &study.citation),
            ("Machine", &study.machine),
            ("Asked", &study.asked),
            ("Found", &study.found),
        ];
        let facts = facts.map(|(name, said)| (name.to_owned(), said.clone()));
        let mut blocks = vec![Block::Facts(facts.into())];
        blocks.extend(paper_rows(study).map(Block::Table));
        blocks.extend(published(study).map(Block::Table));
        blocks.extend(steps(study));
        Self::of(&study.name, blocks)
    }
}

/// What is to be said of a part of a study, each with its label.
fn facts_of(part: &StudyPart) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Some(name) = &part.experiment {
        let bad = part.invalid + part.failed;
        let also = match bad {
            0 => String::new(),
            _ => format!(
                ", {} invalid and {} failed tries are in no figure",
                part.invalid, part.failed
            ),
        };
        let state = match &part.finished {
            Some(reason) => format!("finished: {reason}"),
            None => "in progress: these are the results so far".to_owned(),
        };
        let line = format!(
            "{name}: {}; {} of {} runs valid{also}; {state}",
            part.title, part.valid, part.planned
        );
        facts.push(("Measured", line));
    }
    if !part.kernels.is_empty() {
        let kernels: Vec<String> = part.kernels.iter().map(kernel).collect();
        facts.push(("Kernels", kernels.join("; ")));
    }
    if !part.solvers.is_empty() {
        let solvers: Vec<String> = part.solvers.iter().map(solver).collect();
        facts.push(("Solvers", solvers.join("; ")));
    }
    facts
}

fn kernel(kernel: &StudyKernel) -> String {
    let known = [kernel.release.as_deref(), kernel.preemption.as_deref()];
    let known: Vec<&str> = known.into_iter().flatten().collect();
    let time = match kernel.guest.as_ref().map(|guest| guest.time) {
        None => "",
        Some(GuestTime::Real) => ", a guest by KVM",
        Some(GuestTime::Emulated) => ", an emulated guest",
        Some(GuestTime::Virtual) => ", a guest in virtual time, a seed a block",
    };
    let nodes = kernel.guest.as_ref().and_then(|guest| guest.nodes);
    let nodes = nodes.map(|nodes| format!(" of {nodes} nodes, topology only"));
    let nodes = nodes.unwrap_or_default();
    format!("{}: {}{time}{nodes}", kernel.level, known.join(" "))
}

/// A solver with its version, as the library itself says it.
fn solver(solver: &StudySolver) -> String {
    let Some(library) = &solver.library else {
        return format!("{}: this program's", solver.level);
    };
    let version = solver.version.as_deref().unwrap_or("version not told");
    let core = solver
        .core
        .as_ref()
        .map(|core| format!(", code for {core}"));
    format!(
        "{}: {version}{}, {library}",
        solver.level,
        core.unwrap_or_default()
    )
}

/// What the runs of a cell show, and how many of them.
fn finding(found: &StudyFinding) -> String {
    format!(
        "{}, {} of {} runs of {}: {}",
        found.id.replace('-', " "),
        found.runs,
        found.of,
        found.cell.replace('=', " "),
        found.detail
    )
}

/// What the question whether all cells are alike found.
fn all_alike(joint: &StudyJoint) -> String {
    let says = match joint.differ {
        true => "they differ",
        false => "not distinguishable",
    };
    format!(
        "{}: p {} that all {} are alike, dealt anew inside blocks: {says}",
        figure_words(&joint.figure),
        p_value(joint.p),
        joint.cells
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(verdict: ComparisonVerdict, more_runs: Option<u64>) -> StudyRow {
        StudyRow {
            verdict: Some(verdict),
            more_runs,
            ..StudyRow::default()
        }
    }

    #[test]
    fn a_question_whose_comparisons_are_all_open_has_no_answer() {
        let of = |rows: &[StudyRow]| StudyAnswer {
            rows: rows.to_vec(),
            ..StudyAnswer::default()
        };
        let open = row(ComparisonVerdict::TooFewRuns, Some(3));
        let decided = row(ComparisonVerdict::Worse, None);
        let base = StudyRow::default();
        assert!(!is_answered(&of(&[base.clone(), open.clone()])));
        assert!(is_answered(&of(&[base.clone(), open, decided])));
        assert!(is_answered(&of(&[base])));
    }

    #[test]
    fn one_noisy_figure_does_not_make_the_others_hopeless() {
        let few = ComparisonVerdict::TooFewRuns;
        let rows = [row(few, Some(3)), row(few, Some(4_595)), row(few, None)];
        let all: Vec<&StudyRow> = rows.iter().collect();
        assert_eq!(
            more_runs(&all, "recorded"),
            " Up to 3 more runs of each kernel would decide 1 of them. More than 1000 more runs of each kernel would be needed \
             for 1 of them at this noise."
        );
        assert_eq!(
            more_runs(&all[..1], "default"),
            " Up to 3 more blocks would decide."
        );
        assert_eq!(more_runs(&all[2..], "default"), "");
    }

    #[test]
    fn a_part_without_valid_runs_says_why() {
        let part = |valid| StudyPart {
            title: "how long interrupts are handled".to_owned(),
            planned: 3,
            valid,
            invalid: 6,
            why_invalid: Some("lost-events: a buffer was full".to_owned()),
            finished: Some("all blocks are done".to_owned()),
            ..StudyPart::default()
        };
        let (_, said) = invalid(&part(0)).unwrap();
        assert_eq!(
            said,
            "How long interrupts are handled: 0 of 3 runs are valid; of the first that is not, lost-events: a buffer was full."
        );
        // What was made again and is valid now is no gap.
        assert_eq!(invalid(&part(3)), None);
        let goes_on = StudyPart {
            finished: None,
            ..part(0)
        };
        assert_eq!(invalid(&goes_on), None);
    }
}
