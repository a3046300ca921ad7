// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What was judged, as the cases of a test: what CI systems and the people of kselftest read.
//!
//! A case passes, fails, cannot be judged (an error), or was not judged because there was nothing to judge (skipped). What
//! cannot be judged never passes. There are no times of the host in it: the same result gives the same bytes.

use std::collections::{BTreeMap, BTreeSet};

use punctual_model::tasks::{TaskVerdict, TasksCheck};
use punctual_model::{
    Assessment, BandVerdict, Better, Check, CheckStatus, ComparedFigure, Comparison,
    ComparisonVerdict, Diagnosis, FleetReport, FleetState, History, HistoryChange,
    HistoryDirection, HistoryLine, HistorySeries, HistoryVerdict, LatencyCell, LatencyTest,
    Machines, MachinesFigure, MachinesGroup, MachinesOutlier, RealTimeClass, RefusedRun,
    RequirementResult, RequirementRuling, RuleOutcome, RunRecord,
};
use punctual_verdict::{gate, words};

use punctual_verdict::claims::incomplete;

use crate::chart::scale::counted;
use crate::document::{Material, Printed, RunItem, named};

/// One thing that was judged.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Case {
    /// What it belongs to: a run, a group, a host.
    pub suite: String,
    /// What was judged.
    pub name: String,
    /// What came out.
    pub outcome: Outcome,
    /// Why.
    pub detail: String,
}

/// What came out of a case.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// It is as it should be.
    Passed,
    /// It is not.
    Failed,
    /// It could not be judged.
    Error,
    /// There was nothing to judge.
    Skipped,
}

/// Why a measurement of an experiment has no case of a figure.
const NO_FIGURE: &str = "no run has a figure that the experiment compares by";

/// Returns the cases of all that a report is made of.
pub fn cases(material: &Material) -> Vec<Case> {
    let mut cases = Vec::new();
    for assessment in &material.assessments {
        assessed(assessment, &mut cases);
    }
    for comparison in &material.comparisons {
        compared("compare", comparison, &mut cases);
    }
    for results in &material.experiments {
        for measurement in &results.measurements {
            let suite = format!("experiment {} {}", results.name, measurement.measurement);
            compared(&suite, &measurement.comparison, &mut cases);
            if measurement.comparison.results.is_empty() {
                let figures = ["figures".to_owned()];
                cases.extend(missing(&suite, &figures, NO_FIGURE));
            }
        }
        let suite = format!("experiment {}", results.name);
        cases.extend(missing(&suite, &results.missing, "no run has it"));
    }
    for diagnosis in &material.diagnoses {
        diagnosed(diagnosis, &mut cases);
    }
    for fleet in &material.fleets {
        of_fleet(fleet, &mut cases);
    }
    for of in &material.machines {
        of_machines(of, &mut cases);
    }
    for of in &material.histories {
        of_history(of, &mut cases);
    }
    for printed in &material.printed {
        match printed {
            Printed::TasksCheck(check) => of_tasks(check, &mut cases),
            Printed::LatencyTest(test) => cases.extend(of_latency_test(test)),
            // They inform: what to do about it is for people.
            Printed::Trial(_) | Printed::Processes(_) | Printed::Extrapolation(_) => {}
        }
    }
    for (item, suite) in material.runs.iter().zip(suites(&material.runs)) {
        let first = cases.len();
        of_run(&suite, &item.record, &mut cases);
        if item.record.name.is_none() {
            // Whoever looks at one that did not pass wants to find the run.
            let open = cases.iter_mut().skip(first);
            for case in open.filter(|case| case.outcome != Outcome::Passed) {
                case.detail = format!("{} (run {})", case.detail, item.record.id);
            }
        }
    }
    cases.extend(left_out("report", &material.unreadable));
    tell_apart(&mut cases);
    cases
}

/// Names the runs. A case is followed from one result to the next by its name, so a run without one has that of its
/// instrument, and not its id.
fn suites(runs: &[RunItem]) -> Vec<String> {
    // Runs of one name, as those of each night are, are told apart by the end of their ids.
    let names = named::all(runs.iter().map(|item| &item.record));
    let own = runs.iter().zip(names);
    let own: Vec<_> = own
        .map(|(item, name)| item.record.name.is_some().then_some(name))
        .collect();
    let mut taken: BTreeSet<String> = own.iter().flatten().cloned().collect();
    let mut unnamed = |instrument: &str| {
        let numbered = (2_u64..).map(|n| format!("{instrument} {n}"));
        let mut free = std::iter::once(instrument.to_owned()).chain(numbered);
        free.find(|name| taken.insert(name.clone()))
    };
    let suite = |(item, own): (&RunItem, Option<String>)| {
        let name = own.or_else(|| unnamed(&item.record.instrument));
        format!("run {}", name.unwrap_or_default())
    };
    runs.iter().zip(own).map(suite).collect()
}

/// Numbers the suites of cases that would have the suite and the name of another: readers take two such cases for one.
fn tell_apart(cases: &mut [Case]) {
    let mut seen: BTreeMap<(String, String), u64> = BTreeMap::new();
    for case in cases {
        let count = seen.entry((case.suite.clone(), case.name.clone()));
        let count = count.and_modify(|count| *count += 1).or_insert(1);
        if *count > 1 {
            case.suite = format!("{} ({count})", case.suite);
        }
    }
}

/// The checks of a run, and what was asked of it.
fn of_run(suite: &str, run: &RunRecord, cases: &mut Vec<Case>) {
    cases.extend(run.checks.iter().map(|check| of_check(suite, check)));
    let invalid = run.is_invalid();
    for asked in &run.requirements {
        cases.push(requirement(suite, asked, invalid));
    }
    for asked in gate::asked(run) {
        let outcome = match (asked.met, invalid) {
            (false, _) => Outcome::Failed,
            (true, true) => Outcome::Error,
            (true, false) => Outcome::Passed,
        };
        cases.push(Case {
            suite: suite.to_owned(),
            name: asked.name,
            outcome,
            detail: asked.detail,
        });
    }
}

fn of_check(suite: &str, check: &Check) -> Case {
    Case {
        suite: suite.to_owned(),
        name: format!("check {}", check.id),
        outcome: match check.status {
            CheckStatus::Pass => Outcome::Passed,
            CheckStatus::Fail => Outcome::Failed,
            CheckStatus::Unknown => Outcome::Error,
        },
        detail: check.detail.clone(),
    }
}

fn requirement(suite: &str, asked: &RequirementResult, invalid: bool) -> Case {
    let counts = format!("{} of {} wake-ups later", asked.above, asked.samples);
    let (outcome, detail) = match asked.ruling {
        RequirementRuling::Fail => (Outcome::Failed, counts),
        RequirementRuling::Pass if !invalid => (Outcome::Passed, counts),
        RequirementRuling::Pass => (Outcome::Error, "the run is invalid".to_owned()),
        _ => {
            let why = asked.obstacle.clone();
            let why = why.unwrap_or_else(|| "too few wake-ups to claim it".to_owned());
            (Outcome::Error, format!("{why}; {counts}"))
        }
    };
    Case {
        suite: suite.to_owned(),
        name: asked.requirement.clone(),
        outcome,
        detail,
    }
}

/// The conditions of an assessment, and each deadline under all of them.
fn assessed(assessment: &Assessment, cases: &mut Vec<Case>) {
    for condition in &assessment.conditions {
        let suite = format!("assess {}", condition.name);
        let checks = condition.run.checks.iter();
        cases.extend(checks.map(|check| of_check(&suite, check)));
        let invalid = condition.run.is_invalid();
        let asked = condition.run.requirements.iter();
        cases.extend(asked.map(|asked| requirement(&suite, asked, invalid)));
    }
    let whole = incomplete(assessment).is_none();
    for deadline in &assessment.deadlines {
        let missed: u64 = deadline.misses.iter().map(|of| of.missed).sum();
        let wakeups: u64 = deadline.misses.iter().map(|of| of.wakeups).sum();
        let outcome = match deadline.class {
            _ if missed > 0 => Outcome::Failed,
            Some(RealTimeClass::HundredPercent) if assessment.valid && whole => Outcome::Passed,
            _ => Outcome::Error,
        };
        cases.push(Case {
            suite: "assess".to_owned(),
            name: format!("deadline {}", deadline.deadline_ns),
            outcome,
            detail: format!("{missed} of {wakeups} wake-ups later"),
        });
    }
}

/// Each figure of each group. "Too few runs" is not a pass.
fn compared(suite: &str, comparison: &Comparison, cases: &mut Vec<Case>) {
    for result in &comparison.results {
        let outcome = match result.verdict {
            ComparisonVerdict::Worse => Outcome::Failed,
            ComparisonVerdict::TooFewRuns => Outcome::Error,
            ComparisonVerdict::Different if result.better == Better::Neither => Outcome::Skipped,
            _ => Outcome::Passed,
        };
        let ratio = result.ratio.map_or_else(String::new, |ratio| {
            let interval = ratio.interval.map_or_else(String::new, |of| {
                format!(
                    ", {:.0} % interval {:.4} to {:.4}",
                    of.confidence * 100.0,
                    of.low,
                    of.high
                )
            });
            format!("ratio {:.4}{interval}, ", ratio.estimate)
        });
        let why = result.withheld.as_ref();
        let why = why.map_or_else(String::new, |of| format!("; {}", of.detail));
        cases.push(Case {
            suite: format!("{suite} {}", result.candidate.group),
            name: result.figure.clone(),
            outcome,
            detail: format!(
                "{}: {ratio}{} and {}{why}",
                said(result),
                result.baseline.runs,
                counted(result.candidate.runs, "run")
            ),
        });
    }
    for of in &comparison.requirements {
        cases.push(requirement(
            &format!("{suite} {}", of.group),
            &of.result,
            false,
        ));
    }
    for group in &comparison.groups {
        cases.extend(left_out(&format!("{suite} {}", group.name), &group.refused));
    }
}

/// Each run that was left out: what it would have shown is not known.
fn left_out(suite: &str, refused: &[RefusedRun]) -> impl Iterator<Item = Case> {
    refused.iter().map(move |run| Case {
        suite: suite.to_owned(),
        name: format!("run {}", run.id),
        outcome: Outcome::Error,
        detail: run.reason.clone(),
    })
}

/// Each figure that was asked for and is missing.
fn missing(suite: &str, figures: &[String], why: &str) -> impl Iterator<Item = Case> {
    figures.iter().map(move |figure| Case {
        suite: suite.to_owned(),
        name: figure.clone(),
        outcome: Outcome::Error,
        detail: why.to_owned(),
    })
}

/// `worse than base`, `the same as base`.
fn said(result: &ComparedFigure) -> String {
    let between = match result.verdict {
        ComparisonVerdict::Better | ComparisonVerdict::Worse | ComparisonVerdict::NotWorse => {
            "than"
        }
        ComparisonVerdict::Equivalent => "as",
        ComparisonVerdict::Different | ComparisonVerdict::NotDistinguishable => "from",
        ComparisonVerdict::TooFewRuns => "to tell from",
    };
    let base = &result.baseline.group;
    match result.withheld {
        Some(_) => format!("no verdict against {base}"),
        None => format!("{} {between} {base}", words::verdict(result.verdict)),
    }
}

/// Each rule. What only informs does not fail.
fn diagnosed(diagnosis: &Diagnosis, cases: &mut Vec<Case>) {
    let host = diagnosis.host.hostname.as_deref().unwrap_or("this machine");
    for verdict in &diagnosis.verdicts {
        let severity = verdict.rule.severity;
        let outcome = match verdict.outcome {
            RuleOutcome::Found if severity != punctual_model::Severity::Info => Outcome::Failed,
            RuleOutcome::Found | RuleOutcome::Fine => Outcome::Passed,
            RuleOutcome::Unknown => Outcome::Error,
            RuleOutcome::NotApplicable => Outcome::Skipped,
        };
        cases.push(Case {
            suite: format!("doctor {host} {}", severity.name()),
            name: verdict.rule.id.clone(),
            outcome,
            detail: verdict.says.clone(),
        });
    }
}

/// Each host. One that was not reached is an error, and never left out.
fn of_fleet(fleet: &FleetReport, cases: &mut Vec<Case>) {
    for host in &fleet.hosts {
        let outcome = match host.state {
            FleetState::Done | FleetState::Checked if host.left.is_empty() => Outcome::Passed,
            FleetState::Verdict | FleetState::NotRestored => Outcome::Failed,
            _ => Outcome::Error,
        };
        let detail = host.detail.clone().unwrap_or_default();
        cases.push(Case {
            suite: format!("fleet {}", fleet.verb),
            name: host.host.clone(),
            outcome,
            detail: match detail.is_empty() {
                true => host.state.words().to_owned(),
                false => format!("{}: {detail}", host.state.words()),
            },
        });
    }
}

/// Each machine. One that is not like the others fails; what was not judged does not pass.
fn of_machines(fleet: &Machines, cases: &mut Vec<Case>) {
    for group in &fleet.groups {
        for (at, machine) in (0..).zip(&group.machines) {
            let (outcome, detail) = of_machine(group, at, &machine.name);
            cases.push(Case {
                suite: format!("machines {}", group.name),
                name: machine.name.clone(),
                outcome,
                detail: format!("{detail}, {}", counted(machine.runs, "run")),
            });
        }
    }
    let alone = "no two machines of a group have it";
    cases.extend(missing("machines", &fleet.missing, alone));
    cases.extend(left_out("machines", &fleet.refused));
}

/// Machine number `at` of a group, and why.
fn of_machine(group: &MachinesGroup, at: u64, name: &str) -> (Outcome, String) {
    let own = |outlier: &&MachinesOutlier| outlier.machine == name;
    if let Some(outlier) = group.outliers.iter().find(own) {
        let figures = outlier.figures.iter().map(|of| of.figure.as_str());
        let figures = figures.collect::<Vec<_>>().join(", ");
        return (Outcome::Failed, format!("not like the others in {figures}"));
    }
    let lacks = |figure: &&MachinesFigure| !figure.machines.iter().any(|of| of.machine == at);
    let (judged, others): (Vec<_>, Vec<_>) = group.figures.iter().partition(|of| of.judged);
    let lacking: Vec<_> = judged.iter().copied().filter(lacks).collect();
    let names = |figures: &[&MachinesFigure]| {
        let names: Vec<&str> = figures.iter().map(|of| of.figure.as_str()).collect();
        names.join(", ")
    };
    let problem = if judged.is_empty() {
        "no figure was judged: too few machines, or unequal runs".to_owned()
    } else if !lacking.is_empty() {
        format!("no value of {}", names(&lacking))
    } else if let Some(withheld) = others.first().map(|figure| figure.withheld.as_ref()) {
        let why = withheld.map_or("too few machines", |of| words::obstacle(of.reason));
        format!("no verdict on {}: {why}", names(&others))
    } else {
        let detail = format!("like the others in {} figures", judged.len());
        return (Outcome::Passed, detail);
    };
    (Outcome::Error, problem)
}

/// Each figure of each line. What fails is what `history --fail-on new-worse` fails on.
fn of_history(history: &History, cases: &mut Vec<Case>) {
    for line in &history.lines {
        if line.series.is_empty() {
            cases.push(Case {
                suite: format!("history {}", line.name),
                name: "figures".to_owned(),
                outcome: Outcome::Error,
                detail: "none of its runs has a figure that was asked for".to_owned(),
            });
        }
        for series in &line.series {
            let (outcome, what) = of_series(line, series);
            let runs = series.values.iter().flatten().count();
            cases.push(Case {
                suite: format!("history {}", line.name),
                name: series.figure.clone(),
                outcome,
                detail: format!("{what} ({} in all)", counted(runs as u64, "run")),
            });
        }
    }
    cases.extend(missing("history", &history.missing, "no run has it"));
    cases.extend(left_out("history", &history.refused));
}

fn of_series(line: &HistoryLine, series: &HistorySeries) -> (Outcome, String) {
    if series.verdict == HistoryVerdict::TooFewRuns {
        return (Outcome::Error, "too few runs".to_owned());
    }
    let is_bad = |change: &&HistoryChange| change.direction != HistoryDirection::Better;
    let mut new = series.changes.iter().rev().filter(|change| change.new);
    // What came before a partial improvement is still there.
    let new = new.clone().find(is_bad).or_else(|| new.next());
    let is_bad = new.as_ref().is_some_and(is_bad);
    let known = series.values.last().is_some_and(Option::is_some);
    let outcome = match (is_bad, known) {
        (true, _) => Outcome::Failed,
        (false, true) => Outcome::Passed,
        (false, false) => return (Outcome::Error, "no value in the newest run".to_owned()),
    };
    let Some(change) = new else {
        return match series.too_few_for_gate {
            Some(few) => (
                Outcome::Error,
                format!(
                    "no change of {} runs passes the level; it takes {}",
                    few.runs, few.needed
                ),
            ),
            None => (outcome, "no new change".to_owned()),
        };
    };
    let at = usize::try_from(change.run).ok();
    let run = at.and_then(|at| line.runs.get(at));
    let run = run.map_or_else(String::new, |run| {
        format!(" since {}", run.label.as_ref().unwrap_or(&run.id))
    });
    let ratio = change.ratio.map_or_else(String::new, |ratio| {
        format!(", ratio {:.4}", ratio.estimate)
    });
    (outcome, format!("new change{run}{ratio}"))
}

/// Each task of a set: what analysis does not show does not pass.
fn of_tasks(check: &TasksCheck, cases: &mut Vec<Case>) {
    cases.extend(check.tasks.iter().map(|task| {
        let bound = task.response_ns.map_or_else(
            || "no bound".to_owned(),
            |bound| format!("response at most {} ns", bound.get()),
        );
        let why = task.why.as_ref();
        Case {
            suite: format!("tasks {}", check.set.name),
            name: task.name.clone(),
            outcome: match task.verdict {
                TaskVerdict::Met => Outcome::Passed,
                TaskVerdict::Missed => Outcome::Failed,
                TaskVerdict::NotShown => Outcome::Error,
            },
            detail: match why {
                Some(why) => format!("{bound}; {why}"),
                None => bound,
            },
        }
    }));
}

/// The cases of `test`: a suite a kernel and model, a case a load and figure. A figure that is worse fails, one that
/// supports no claim is an error.
pub(super) fn of_latency_test(test: &LatencyTest) -> Vec<Case> {
    let cells = test.cells.iter();
    cells.flat_map(|cell| of_cell(test, cell)).collect()
}

fn of_cell(test: &LatencyTest, cell: &LatencyCell) -> Vec<Case> {
    let suite = format!("{} {}", cell.kernel, cell.model);
    let of_cell = test
        .comparisons
        .iter()
        .filter(|of| of.kernel == cell.kernel && of.model == cell.model && of.load == cell.load);
    let few = ", but too few seeds to tell";
    let mut cases: Vec<Case> = of_cell
        .map(|of| Case {
            suite: suite.clone(),
            name: format!("{} {}", cell.load, of.figure),
            outcome: match of.verdict {
                BandVerdict::Invalid => Outcome::Error,
                _ if !test.is_judged() => Outcome::Error,
                BandVerdict::Worse => Outcome::Failed,
                BandVerdict::Better | BandVerdict::NoDifference => Outcome::Passed,
            },
            detail: format!(
                "{} than {} {} in virtual time (instruction counts){}",
                of.verdict,
                of.baseline,
                of.baseline_model,
                if test.is_judged() { "" } else { few }
            )
            .replace("no difference than", "no difference to")
            .replace("invalid than", "no claim against"),
        })
        .collect();
    if cases.is_empty() {
        let valid = cell.faults.is_empty();
        cases.push(Case {
            suite,
            name: cell.load.clone(),
            outcome: match valid {
                true => Outcome::Passed,
                false => Outcome::Error,
            },
            detail: match valid {
                true => "measured in virtual time (instruction counts)".to_owned(),
                false => cell.faults.join("; "),
            },
        });
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_cases_have_the_same_suite_and_name() {
        let case = |suite: &str, name: &str| Case {
            suite: suite.to_owned(),
            name: name.to_owned(),
            outcome: Outcome::Failed,
            detail: String::new(),
        };
        let mut cases = vec![
            case("assess idle", "check lost"),
            case("assess idle", "check samples"),
            case("assess idle", "check lost"),
            case("assess idle", "check samples"),
            case("assess fork", "check lost"),
        ];
        tell_apart(&mut cases);
        let suites: Vec<&str> = cases.iter().map(|case| &*case.suite).collect();
        let second = "assess idle (2)";
        assert_eq!(
            suites,
            ["assess idle", "assess idle", second, second, "assess fork"]
        );
    }
}
