// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From the runs of many machines to those that are not like the others.
//!
//! Machines are compared with those of the same hardware and kernel that were measured in the same way. Whatever else is
//! recorded of them may be why one is an outlier, and appears next to it.

use std::collections::BTreeMap;

use punctual_model::{
    Better, ComparedMachine, ComparisonScale, Finding, MACHINES_FORMAT, Machines,
    MachinesDeviation, MachinesFigure, MachinesGroup, MachinesMethod, MachinesOutlier,
    MachinesOutlierFigure, MachinesValue, Ordered as _, RefusedRun, RunRecord,
};
use punctual_stats::fleet::{self, LEAST_MACHINES};
use punctual_stats::runs::Scale;

use crate::comparison::remarks::{facts, virtual_time};
use crate::comparison::{
    CompareError, GroupInput, Metric, RunInput, expanded, interval, meaning, missing, unit_of,
};
use crate::history::{differing, direction, lengths};
use crate::number::percent;
use crate::words::{counted, plural};

/// A fact of a machine is reported if at most this share of the others has it too,
const RARE: f64 = 0.1;
/// and at least this share of them has another one in common.
const USUAL: f64 = 0.5;

/// Machines whose p-value is below this are not taken to be normal.
const NORMAL: f64 = 0.05;

/// What was asked.
#[derive(Clone, Debug)]
pub struct MachinesRequest {
    /// The figures; the usual ones where there are none.
    pub metrics: Vec<Metric>,
    /// Level of all outliers together.
    pub level: f64,
}

type RunsByName = BTreeMap<String, Vec<RunInput>>;
type Facts = Vec<(String, String)>;

/// Compares the machines of all runs.
///
/// # Errors
///
/// [`CompareError`] where no run has any of the figures, or where one is stated in several units.
pub fn machines(runs: GroupInput, asked: &MachinesRequest) -> Result<Machines, CompareError> {
    let (group, metrics) = meaning::of_one(runs, &asked.metrics)?;
    let (runs, mut refused) = (group.runs, group.refused);
    let groups = divided(runs, &mut refused);
    let mut columns: Vec<Vec<Column>> = Vec::new();
    for machines in groups.values() {
        columns.push(of_group(machines, &metrics)?);
    }
    if columns.iter().all(Vec::is_empty) && !groups.is_empty() {
        return Err(CompareError::NoFigure {
            asked: asked.metrics.iter().map(ToString::to_string).collect(),
        });
    }
    let judged = columns.iter().flatten().filter(|column| column.is_judged());
    let tests = judged.count().max(1);
    let level = asked.level / tests as f64;
    // Of one machine alone there is nothing to compare, and no figure.
    let shared = columns.iter().flatten();
    let shared = shared.filter(|column| column.machines.len() > 1);
    let missing = missing(&asked.metrics, shared.map(|column| &column.metric));
    let names = differing(&groups, "kernel");
    let imported = groups.values().flat_map(BTreeMap::values).flatten();
    let imported = imported.filter(|run| run.record.origin.is_some()).count();
    let each = groups.values().zip(names).zip(columns);
    let found = each.map(|((machines, name), columns)| {
        let figures: Vec<MachinesFigure> = columns
            .into_iter()
            .filter_map(|column| figure(column, level, 1.0 - asked.level))
            .collect();
        MachinesGroup {
            name,
            virtual_time: machines
                .values()
                .flatten()
                .any(|run| run.record.is_virtual()),
            outliers: outliers(machines, &figures),
            machines: machines
                .iter()
                .map(|(name, runs)| ComparedMachine {
                    name: name.clone(),
                    runs: runs.len() as u64,
                })
                .collect(),
            figures,
        }
    });
    let found: Vec<MachinesGroup> = found.collect();
    let mut remarks = remarks(&found, imported, &refused);
    if !missing.is_empty() {
        let detail = format!("no two machines of a group have {}", missing.join(", "));
        remarks.push(Finding::observed("missing", detail));
    }
    Ok(Machines {
        format: MACHINES_FORMAT.to_owned(),
        method: MachinesMethod {
            level: asked.level,
            tests: tests as u64,
            confidence: 1.0 - asked.level,
            least_machines: LEAST_MACHINES as u64,
        },
        remarks,
        groups: found,
        missing,
        refused,
    })
}

/// Runs by hardware, kernel and way of measuring, then by machine.
fn divided(runs: Vec<RunInput>, refused: &mut Vec<RefusedRun>) -> BTreeMap<Facts, RunsByName> {
    let mut groups: BTreeMap<Facts, RunsByName> = BTreeMap::new();
    for run in runs {
        let Some(name) = run.record.host.hostname.clone() else {
            refused.push(RefusedRun {
                id: run.record.id,
                reason: "its machine has no name".to_owned(),
                started: run.record.started,
                unreadable: false,
            });
            continue;
        };
        let mut facts = facts::of_one_series(&run.record);
        facts.retain(|(fact, _)| fact != "machine");
        let kernel = run.record.host.kernel_release.clone();
        facts.push(("kernel".to_owned(), kernel.unwrap_or_default()));
        let machines = groups.entry(facts).or_default();
        machines.entry(name).or_default().push(run);
    }
    for runs in groups.values_mut().flat_map(BTreeMap::values_mut) {
        runs.order_by(|a, b| {
            (&a.record.started, &a.record.id).cmp(&(&b.record.started, &b.record.id))
        });
    }
    groups
}

/// One figure of a group: the values of each machine that has it.
struct Column {
    metric: Metric,
    unit: String,
    better: Better,
    withheld: Option<punctual_model::Withheld>,
    machines: Vec<(usize, Vec<f64>)>,
}

impl Column {
    fn is_judged(&self) -> bool {
        self.withheld.is_none() && self.machines.len() >= LEAST_MACHINES
    }
}

fn of_group(machines: &RunsByName, metrics: &[Metric]) -> Result<Vec<Column>, CompareError> {
    let runs = || machines.values().flatten();
    let records = || runs().map(|run| &run.record);
    let mut columns = Vec::new();
    for metric in expanded(metrics, records()) {
        let value = |run: &RunInput| {
            let value = metric.value(&run.record, run.histogram.as_ref());
            value.filter(|value| value.is_finite())
        };
        let values = machines.values().enumerate().filter_map(|(at, runs)| {
            let values: Vec<f64> = runs.iter().filter_map(value).collect();
            (!values.is_empty()).then_some((at, values))
        });
        let values: Vec<(usize, Vec<f64>)> = values.collect();
        if values.is_empty() {
            continue;
        }
        meaning::units(&metric, records())?;
        let (unit, better) = unit_of(&metric, records());
        let with = runs().filter(|run| value(run).is_some());
        columns.push(Column {
            withheld: lengths(&metric, with),
            metric,
            unit,
            better,
            machines: values,
        });
    }
    Ok(columns)
}

fn figure(column: Column, level: f64, confidence: f64) -> Option<MachinesFigure> {
    let judged = column.is_judged();
    let (numbers, values): (Vec<usize>, Vec<Vec<f64>>) = column.machines.into_iter().unzip();
    let found = fleet::fleet(&values, level, confidence)?;
    let outliers = found.outliers.unwrap_or_default();
    let deviation = |component: fleet::Component| MachinesDeviation {
        estimate: component.deviation,
        interval: component.interval.map(interval),
    };
    let machines = found.machines.iter().enumerate();
    let machines = machines.map(|(at, machine)| MachinesValue {
        machine: numbers.get(at).copied().unwrap_or(0) as u64,
        runs: machine.runs as u64,
        estimate: machine.estimate,
        interval: machine.interval.map(interval),
        distance: machine.distance,
        outlier: judged && outliers.contains(&at),
    });
    Some(MachinesFigure {
        figure: column.metric.to_string(),
        unit: column.unit,
        better: column.better,
        scale: match found.scale {
            Scale::Log => ComparisonScale::Log,
            Scale::Linear => ComparisonScale::Linear,
        },
        judged,
        withheld: column.withheld,
        mean: found.mean,
        interval: found.interval.map(interval),
        between_machines: found.between.map(deviation),
        between_runs: found.within.map(deviation),
        normal_p: found.normal_p,
        machines: machines.collect(),
    })
}

fn outliers(machines: &RunsByName, figures: &[MachinesFigure]) -> Vec<MachinesOutlier> {
    let mut found: BTreeMap<u64, Vec<MachinesOutlierFigure>> = BTreeMap::new();
    for figure in figures {
        for value in figure.machines.iter().filter(|value| value.outlier) {
            let up = value.estimate > figure.mean;
            found
                .entry(value.machine)
                .or_default()
                .push(MachinesOutlierFigure {
                    figure: figure.figure.clone(),
                    ratio: match figure.scale {
                        ComparisonScale::Log => Some(value.estimate / figure.mean),
                        ComparisonScale::Linear => None,
                    },
                    difference: value.estimate - figure.mean,
                    direction: direction(figure.better, up),
                });
        }
    }
    if found.is_empty() {
        return Vec::new();
    }
    let is_outlier = |at: &usize| found.contains_key(&(*at as u64));
    let usual = machines.values().enumerate();
    let usual: Vec<&Vec<RunInput>> = usual
        .filter(|(at, _)| !is_outlier(at))
        .map(|(_, runs)| runs)
        .collect();
    let known = Usual::of(&usual);
    let each = machines.iter().enumerate();
    let each = each.filter_map(|(at, (name, runs))| {
        Some(MachinesOutlier {
            machine: name.clone(),
            figures: found.get(&(at as u64))?.clone(),
            differs: known.differs(runs),
        })
    });
    each.collect()
}

/// What is recorded of the machines that are no outliers.
struct Usual {
    machines: usize,
    /// How many machines have each value of a fact, in their newest run.
    facts: BTreeMap<String, BTreeMap<String, usize>>,
    runs: usize,
    /// How many runs have a finding.
    findings: BTreeMap<String, usize>,
}

impl Usual {
    fn of(machines: &[&Vec<RunInput>]) -> Self {
        let mut facts: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
        let mut findings: BTreeMap<String, usize> = BTreeMap::new();
        for run in machines.iter().filter_map(|runs| runs.last()) {
            for (name, value) in facts::each(&run.record) {
                *facts.entry(name).or_default().entry(value).or_default() += 1;
            }
        }
        for run in machines.iter().copied().flatten() {
            for id in finding_ids(&run.record) {
                *findings.entry(id).or_default() += 1;
            }
        }
        Self {
            machines: machines.len(),
            facts,
            runs: machines.iter().map(|runs| runs.len()).sum(),
            findings,
        }
    }

    /// What a machine has that few of these have.
    fn differs(&self, runs: &[RunInput]) -> Vec<Finding> {
        let mut differs = Vec::new();
        let Some(newest) = runs.last() else {
            return differs;
        };
        let of = |count: usize, all: usize| count as f64 / all.max(1) as f64;
        for (name, own) in facts::each(&newest.record) {
            let Some(values) = self.facts.get(&name).filter(|_| name != "machine") else {
                continue;
            };
            let same = values.get(&own).copied().unwrap_or(0);
            let most = values.iter().max_by_key(|(_, count)| **count);
            let Some((usual, count)) = most else { continue };
            if of(same, self.machines) <= RARE && of(*count, self.machines) >= USUAL {
                let shown = |text: &str| match text.is_empty() {
                    true => "none".to_owned(),
                    false => facts::shortened(text),
                };
                let share = percent((of(*count, self.machines) * 100.0).round() / 100.0);
                let detail = format!(
                    "{name}: {}; {} on {share} of the others",
                    shown(&own),
                    shown(usual)
                );
                differs.push(Finding::observed("differs", detail));
            }
        }
        let mut ids: BTreeMap<String, usize> = BTreeMap::new();
        for id in runs.iter().flat_map(|run| finding_ids(&run.record)) {
            *ids.entry(id).or_default() += 1;
        }
        for (id, count) in ids {
            let others = self.findings.get(&id).copied().unwrap_or(0);
            if 2 * count >= runs.len() && of(others, self.runs) <= RARE {
                let detail = format!(
                    "finding {id}: in {count} of {} runs; in {others} of {} runs of the others",
                    runs.len(),
                    self.runs
                );
                differs.push(Finding::observed("finding", detail));
            }
        }
        differs
    }
}

fn finding_ids(run: &RunRecord) -> Vec<String> {
    let mut ids: Vec<String> = run
        .findings
        .iter()
        .map(|finding| finding.id.clone())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn remarks(groups: &[MachinesGroup], imported: usize, refused: &[RefusedRun]) -> Vec<Finding> {
    let virtually = groups.iter().filter(|group| group.virtual_time).count();
    let mut remarks: Vec<Finding> = virtual_time(virtually, groups.len(), "groups")
        .into_iter()
        .collect();
    if imported > 0 {
        let (were, they) = match imported {
            1 => ("was", "it was"),
            _ => ("were", "they were"),
        };
        let detail = format!(
            "{} {were} imported: nobody checked how {they} measured",
            counted(imported as u64, "run")
        );
        remarks.push(Finding::observed("imported", detail));
    }
    let small = groups
        .iter()
        .filter(|group| group.machines.len() < LEAST_MACHINES)
        .count();
    if small > 0 {
        let detail = format!(
            "{small} of {} group{} with fewer than {LEAST_MACHINES} machines: too few to say which of them is \
             not like the others",
            groups.len(),
            plural(groups.len())
        );
        remarks.push(Finding::observed("small-group", detail));
    }
    let single = groups.iter().flat_map(|group| &group.figures);
    if single.clone().any(|figure| figure.between_runs.is_none()) {
        let detail =
            "no machine has two runs: what machines and what runs differ by cannot be told apart";
        remarks.push(Finding::observed("single-runs", detail.to_owned()));
    }
    remarks.extend(single.clone().filter_map(long_tail));
    let mut said: Vec<&str> = Vec::new();
    for withheld in single.filter_map(|figure| figure.withheld.as_ref()) {
        if !said.contains(&withheld.detail.as_str()) {
            said.push(&withheld.detail);
        }
    }
    remarks.extend(
        said.iter()
            .map(|detail| Finding::observed("lengths", (*detail).to_owned())),
    );
    if let Some(first) = refused.first() {
        let detail = format!(
            "{} left out; the first because {}",
            counted(refused.len() as u64, "run"),
            first.reason
        );
        remarks.push(Finding::observed("left-out", detail));
    }
    remarks
}

/// That machines which are not normal have more outliers than the level says.
fn long_tail(figure: &MachinesFigure) -> Option<Finding> {
    let outliers = figure.machines.iter().filter(|one| one.outlier).count();
    let p = figure.normal_p.filter(|p| outliers > 0 && *p < NORMAL)?;
    let p = match p < 0.001 {
        true => "below 0.001".to_owned(),
        false => format!("{p:.3}"),
    };
    Some(Finding::observed(
        "long-tail",
        format!(
            "{}: the other machines are not normally distributed either (p {p}), so its {outliers} outlier{} may be the end of a \
             long tail; the probability of a wrong one is not bounded",
            figure.figure,
            plural(outliers),
        ),
    ))
}
