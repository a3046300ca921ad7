// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From a question of a study to its answer, by the runs of an experiment.

use std::collections::BTreeMap;

use punctual_lab::plan::Plan;
use punctual_lab::state::Snapshot;
use punctual_lab::study::{AnswerKind, Need, Question, Study};
use punctual_model::{Gathered as _, Nanos, Ordered as _, StudyAnswer};
use punctual_store::Store;
use punctual_verdict::comparison::{GroupInput, Metric};
use punctual_verdict::select::{self, Chosen};
use punctual_verdict::study::{self as statistics, Across, Cells, Published};
use toml::Table;

use super::moving;
use super::note::PartNote;
use crate::error::CliError;
use crate::experiments::results::gather;

/// A hundredth of a microsecond.
const STEP_NS: f64 = 10.0;

/// Answers a question by the experiment of its part.
pub(super) fn of(
    store: &Store,
    question: &Question,
    part: &PartNote,
    snapshot: Option<&Snapshot>,
) -> Result<StudyAnswer, CliError> {
    let Some(snapshot) = snapshot else {
        let why = part.skipped.clone();
        return Ok(skipped(
            question,
            why.unwrap_or_else(|| super::NOT_BEGUN.to_owned()),
        ));
    };
    let plan = &snapshot.plan;
    let measurement = match &question.measurement {
        None => 0,
        Some(name) => match plan.measurements.iter().position(|known| known == name) {
            Some(at) => at,
            None => {
                let left_out = format!("measure {name}");
                let why = plan.skipped.iter().find(|skipped| skipped.what == left_out);
                let why = why.map(|skipped| skipped.reason.clone());
                return Ok(skipped(question, why.unwrap_or(left_out)));
            }
        },
    };
    let metrics = metrics(question)?;
    let chosen = Chosen {
        metrics: &metrics,
        ..Chosen::default()
    };
    let mut measured = gather(store, plan, &snapshot.attempts, &chosen)?;
    let groups = measured.swap_remove(measurement).groups;
    let base = levels(question, &part.parameters);
    let cells = match cells(question, &base, plan, groups) {
        Ok(cells) => cells,
        Err(why) => return Ok(skipped(question, why)),
    };
    if question.kind == AnswerKind::Moving {
        let curves = moving::curves(store, &cells.groups, &question.figures);
        if curves.is_empty() {
            return Ok(skipped(
                question,
                "the runs are too short: a moving figure is noted once a second, and three are the least that show a course"
                    .to_owned(),
            ));
        }
        return Ok(StudyAnswer {
            question: question.text.clone(),
            paper: question.paper.clone(),
            conclusion: moving::said(&curves),
            curves,
            ..StudyAnswer::default()
        });
    }
    answer(question, cells, &metrics)
}

fn skipped(question: &Question, why: String) -> StudyAnswer {
    StudyAnswer {
        question: question.text.clone(),
        paper: question.paper.clone(),
        skipped: Some(why),
        ..StudyAnswer::default()
    }
}

fn metrics(question: &Question) -> Result<Vec<Metric>, CliError> {
    if matches!(
        question.kind,
        AnswerKind::Findings | AnswerKind::Classes | AnswerKind::Moving
    ) {
        return Ok(Vec::new());
    }
    let parse = |name: &String| {
        name.parse::<Metric>()
            .map_err(|err| CliError::failed_to("read a study of the program").because(err))
    };
    question.figures.iter().map(parse).collect()
}

/// The levels of the base, parameters filled in.
fn levels(question: &Question, parameters: &Table) -> BTreeMap<String, String> {
    let value = |text: &String| {
        let name = text.strip_prefix('$');
        let found = name.and_then(|name| parameters.get(name)?.as_str());
        found.map_or_else(|| text.clone(), ToOwned::to_owned)
    };
    let base = question.base.iter();
    base.map(|(factor, level)| (factor.clone(), value(level)))
        .into_map()
}

/// Returns the cells that a question is about, the base first, or why there is none to ask.
fn cells(
    question: &Question,
    base: &BTreeMap<String, String>,
    plan: &Plan,
    groups: Vec<GroupInput>,
) -> Result<Cells, String> {
    let place = |factor: &String| plan.factors.iter().position(|known| known == factor);
    let has = |cell: &[String], factor: &String, level: &String| {
        place(factor).and_then(|at| cell.get(at)) == Some(level)
    };
    let vary = question.vary.as_ref();
    let wanted = |cell: &[String]| {
        let mut base = base.iter();
        let mut among = question.among.iter();
        base.all(|(factor, level)| vary == Some(factor) || has(cell, factor, level))
            && among.all(|(factor, levels)| levels.iter().any(|level| has(cell, factor, level)))
    };
    let mut chosen: Vec<(bool, String, GroupInput)> = Vec::new();
    for (cell, mut group) in plan.cells.iter().zip(groups) {
        if !wanted(cell) {
            continue;
        }
        let level = vary.and_then(|factor| cell.get(place(factor)?)).cloned();
        let is_base = vary.is_none_or(|factor| base.get(factor) == level.as_ref());
        // What all of its cells have is in the question.
        let names = plan.factors.iter().zip(cell);
        let names: Vec<String> = names
            .filter(|(factor, _)| vary == Some(*factor) || !base.contains_key(*factor))
            .map(|(factor, level)| format!("{factor}={level}"))
            .collect();
        group.name = match names.is_empty() {
            true => "all runs".to_owned(),
            false => names.join(" "),
        };
        chosen.push((is_base, level.unwrap_or_default(), group));
    }
    if vary.is_some() && !chosen.iter().any(|(is_base, ..)| *is_base) {
        return Err("its base was left out, or is not part of this scale".to_owned());
    }
    if vary.is_some() && chosen.len() < 2 {
        return Err("everything to compare with its base was left out".to_owned());
    }
    chosen.order_by_key(|(is_base, ..)| !is_base);
    let (levels, groups) = chosen
        .into_iter()
        .map(|(_, level, group)| (level, group))
        .unzip();
    Ok(Cells { groups, levels })
}

fn answer(question: &Question, cells: Cells, metrics: &[Metric]) -> Result<StudyAnswer, CliError> {
    let runs = cells.groups.iter().flat_map(|group| &group.runs);
    let virtual_time = runs.into_iter().any(|run| run.record.is_virtual());
    let answered = match question.kind {
        AnswerKind::Compare => {
            statistics::compared(cells, metrics, &published(question), question.matters)
        }
        AnswerKind::Table => statistics::table(
            cells,
            metrics,
            &question.published_machines,
            question.published_unit.as_deref(),
        ),
        AnswerKind::Agree => Ok(statistics::agreement(&cells, metrics)),
        AnswerKind::Findings => Ok(statistics::findings(&cells, &question.figures)),
        AnswerKind::Classes => {
            let deadlines = question.figures.iter().map(|time| time.parse::<Nanos>());
            let deadlines: Vec<Nanos> = deadlines.filter_map(Result::ok).collect();
            Ok(statistics::classes(&cells, &deadlines))
        }
        AnswerKind::Precision => {
            let step = question.matters.unwrap_or(STEP_NS);
            Ok(statistics::precision(&cells, step))
        }
        // It needs the events of the runs.
        AnswerKind::Moving => Ok(StudyAnswer::default()),
    };
    let mut answered = match answered {
        Ok(answered) => answered,
        Err(err) if err.is_for_want_of_figures() => return Ok(skipped(question, err.to_string())),
        Err(err) => return Err(CliError::failed_to("answer a question").because(err)),
    };
    if let Some(name) = &question.curve {
        let across = Across {
            name: name.clone(),
            axis: question.axis.clone().unwrap_or_else(|| name.clone()),
            published: question.published_curves.clone(),
        };
        answered.curves = statistics::against(&answered.rows, &across);
    }
    if !question.distribution {
        answered.pictures.clear();
    }
    Ok(StudyAnswer {
        question: question.text.clone(),
        paper: question.paper.clone(),
        across: question.axis.clone(),
        virtual_time,
        ..answered
    })
}

fn published(question: &Question) -> Published {
    Published {
        values: question.published.clone(),
        ratios: question.published_ratio.clone(),
        unit: question.published_unit.clone(),
        errors: question.published_errors.clone(),
        same: question.same.clone(),
        claim: question.claim,
    }
}

/// Answers the questions about two kernels by runs that were recorded: those of the stock kernel, then those
/// of the RT kernel.
pub(super) fn of_recorded(
    store: &Store,
    study: &Study,
    recorded: &[String],
) -> Result<Vec<StudyAnswer>, CliError> {
    let mut answers = Vec::new();
    for question in &study.questions {
        let part = study.part(&question.part);
        let two = part.is_some_and(|part| part.needs.contains(&Need::TwoKernels));
        let (true, Some(vary)) = (two, &question.vary) else {
            continue;
        };
        let metrics = metrics(question)?;
        let chosen = Chosen {
            metrics: &metrics,
            ..Chosen::default()
        };
        let mut groups = select::read(store, &select::groups(recorded, &[])?, &chosen)?;
        let mut lacking = None;
        for group in &mut groups {
            let before = group.runs.len();
            group.runs.retain(|run| {
                let mut base = question.base.iter();
                base.all(|(factor, level)| factor == vary || is_at(&run.record, factor, level))
            });
            if group.runs.is_empty() {
                let levels = question.base.iter().filter(|(factor, _)| *factor != vary);
                let levels: Vec<String> = levels.map(|(f, l)| format!("{f}={l}")).collect();
                lacking = Some(format!(
                    "compare `{}`: none of its {before} valid runs has {}",
                    group.name,
                    levels.join(" ")
                ));
                break;
            }
        }
        if let Some(why) = lacking {
            answers.push(skipped(question, why));
            continue;
        }
        let mut levels = vec!["stock".to_owned(), "rt".to_owned()];
        if question.base.get(vary) == levels.last() {
            groups.reverse();
            levels.reverse();
        }
        answers.push(answer(question, Cells { groups, levels }, &metrics)?);
    }
    let reasons: Option<Vec<&String>> = answers.iter().map(|a| a.skipped.as_ref()).collect();
    if let Some(why) = reasons.as_ref().and_then(|reasons| reasons.first()) {
        return Err(CliError::failed_to(why.as_str())
            .hint("`punctual study show` lists the runs that the study needs"));
    }
    Ok(answers)
}

/// Whether a run is at a level, by its tags, its number of threads, or its loads.
fn is_at(record: &punctual_model::RunRecord, factor: &str, level: &str) -> bool {
    if factor == "load" {
        let mut loads = record.loads.iter();
        return match level {
            "idle" => record.loads.is_empty(),
            _ => loads.any(|load| load.load == level),
        };
    }
    let tagged = record.tags.get(factor).is_some_and(|known| known == level);
    tagged || (factor == "threads" && record.series.len().to_string() == level)
}
