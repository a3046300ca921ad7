// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A report as a value: the answer, then sections of text, tables and charts.
//!
//! It is made once from runs, comparisons and experiments, and written as HTML, Markdown, or a directory of charts: what
//! one of them says, all say. Text in it is as users and hosts gave it; each writer makes that harmless for its format.

mod answer;
mod assessment;
mod comparison;
mod deadline;
mod diagnosis;
mod events;
mod experiment;
mod extrapolation;
mod facts;
mod fleet;
mod guest;
mod habits;
mod history;
mod inversion;
mod kernel;
mod latency_test;
mod list;
mod machine;
mod machines;
mod maxima;
pub(crate) mod named;
mod one_shot;
mod parts;
mod places;
mod requirement;
mod results;
mod runs;
mod series;
mod several_kinds;
mod study;
mod study_tables;
mod task_runs;
mod tasks;
mod too_short;
mod tuning;
mod verdicts;
mod watched;

use punctual_model::RunRecord;

pub(crate) use self::diagnosis::meaning;
pub use self::maxima::MOMENTS;
pub(crate) use self::parts::Ids;
pub use self::parts::{
    Answer, Block, Column, Document, Item, KeyFigure, Material, Maxima, More, Printed, Reason,
    RunItem, Section, Stretch, Table, Tone,
};

impl Document {
    /// Makes a report. The answers are those of comparisons and experiments first, which were asked a question.
    pub fn new(material: &Material) -> Self {
        let mut document = Self {
            title: String::new(),
            made: format!("Made by {} at {}", material.program, material.made),
            caveats: Vec::new(),
            answers: Vec::new(),
            sections: Vec::new(),
        };
        let mut ids = Ids::default();
        for assessment in &material.assessments {
            assessment::add(&mut document, &mut ids, assessment);
        }
        for (number, comparison) in material.comparisons.iter().enumerate() {
            let several = (material.comparisons.len() > 1).then_some(number + 1);
            comparison::add(&mut document, &mut ids, comparison, several);
        }
        for fleet in &material.fleets {
            document.append(&mut ids, "fleet", Self::of_fleet(fleet));
        }
        for printed in &material.printed {
            document.append(&mut ids, "result", printed.document());
        }
        for fleet in &material.machines {
            machines::add(&mut document, &mut ids, fleet);
        }
        for history in &material.histories {
            history::add(&mut document, &mut ids, history);
        }
        for results in &material.experiments {
            experiment::add(&mut document, &mut ids, results);
        }
        for result in &material.studies {
            study::add(&mut document, &mut ids, result);
        }
        document
            .caveats
            .extend(runs::unreadable(&material.unreadable));
        let asked = !document.answers.is_empty();
        runs::add(&mut document, &mut ids, &material.runs, asked);
        machine::add(&mut document, &mut ids, material);
        let heading = guest::HEADING.to_owned();
        if material.is_virtual() && !document.caveats.contains(&heading) {
            document.caveats.insert(0, heading);
        }
        document.title = title(material);
        document
    }

    /// Makes one of what was seen of a run's threads; nothing where none were watched.
    pub fn explaining(run: &RunRecord) -> Option<Self> {
        let name = named::own(run);
        let (answer, blocks) = watched::explained(run, &name)?;
        Some(Self {
            answers: vec![answer],
            ..Self::of(&format!("Run {name}"), blocks)
        })
    }
}

impl Printed {
    fn document(&self) -> Document {
        match self {
            Self::TasksCheck(check) => Document::of_tasks_check(check),
            Self::LatencyTest(test) => Document::of_latency_test(test),
            Self::Trial(trial) => Document::of_trial(trial),
            Self::Processes(diagnosis) => Document::of_processes(diagnosis),
            Self::Extrapolation(of) => Document::of_extrapolation(of),
        }
    }
}

fn title(material: &Material) -> String {
    if let Some(title) = &material.title {
        return title.clone();
    }
    let mut parts: Vec<String> = Vec::new();
    parts.extend(
        material
            .experiments
            .iter()
            .map(|e| format!("Experiment {}", e.name)),
    );
    for comparison in &material.comparisons {
        let names: Vec<&str> = comparison.groups.iter().map(|g| g.name.as_str()).collect();
        parts.push(format!("Comparison of {}", names.join(", ")));
    }
    parts.extend(material.machines.iter().map(machines::title));
    parts.extend(material.histories.iter().map(history::title));
    parts.extend(material.printed.iter().map(|of| of.document().title));
    match material.studies.as_slice() {
        [] => {}
        [one] => parts.push(format!("Study {}", one.study.name)),
        studies => parts.push(format!("{} published studies", studies.len())),
    }
    let hosts = material
        .assessments
        .iter()
        .flat_map(|a| a.conditions.first())
        .filter_map(|c| c.run.host.hostname.as_deref());
    parts.extend(hosts.map(|host| format!("Assessment of {host}")));
    match material.runs.as_slice() {
        [] => {}
        [run] => parts.push(format!(
            "{} run {}",
            run.record.instrument,
            named::own(&run.record)
        )),
        runs => parts.push(format!("{} runs", runs.len())),
    }
    if parts.is_empty() {
        parts.push("Report".to_owned());
    }
    parts.join("; ")
}
