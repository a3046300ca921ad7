// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Recorded facts in which runs differ: each may be what made the effect. Which one was meant to
//! differ nobody here knows, so all are said, those that change latency first.

use std::collections::{BTreeMap, BTreeSet};

use punctual_model::{Finding, Gathered as _, RunRecord};

use super::super::GroupInput;
use crate::number::span;
use crate::words::tuned;

/// Facts that get a line each.
const LINES: usize = 12;

/// Characters of a value that are shown.
const LONGEST: usize = 48;

type Fact = (&'static str, fn(&RunRecord) -> Option<String>);

/// Facts that change latency, the strongest first.
const LATENCY: [Fact; 36] = [
    ("machine", |run| run.host.hostname.clone()),
    ("CPU model", |run| run.host.cpu_model.clone()),
    ("board", |run| run.host.board.clone()),
    ("capacity of the measured CPUs", |run| {
        let spec = run.spec.as_ref().map(|spec| &spec.cpus);
        let cpus = spec.or_else(|| run.setup.as_ref().map(|setup| &setup.cpus))?;
        let kinds = run.host.cpu_capacities.iter();
        let used = kinds.filter(|kind| !kind.cpus.common(cpus).is_empty());
        let used: Vec<String> = used.map(|kind| kind.capacity.to_string()).collect();
        (!used.is_empty()).then(|| used.join(", "))
    }),
    ("hypervisor", |run| {
        let known = run.host.cpu_model.is_some();
        known.then(|| run.host.hypervisor.clone().unwrap_or_default())
    }),
    ("guest", |run| {
        let guest = run.guest.as_ref()?;
        let nodes = guest.nodes.map(|nodes| format!(" in {nodes} nodes"));
        let nodes = nodes.unwrap_or_default();
        Some(format!(
            "{} CPUs, {} bytes{nodes}",
            guest.cpus, guest.memory_bytes
        ))
    }),
    ("kernel", |run| run.host.kernel_release.clone()),
    ("kernel build", |run| run.host.kernel_version.clone()),
    ("PREEMPT_RT", |run| yes_no(run.host.preempt_rt)),
    ("preemption", |run| run.host.preemption.clone()),
    ("clock source", |run| run.host.clocksource.clone()),
    ("governor", |run| {
        let known = run.host.cpu_model.is_some();
        known.then(|| run.host.cpufreq_governors.join(", "))
    }),
    ("idle driver", |run| run.host.cpuidle.clone()),
    ("SMT", |run| yes_no(run.host.smt_active)),
    ("CPUs online", |run| {
        cpus(run, run.host.cpus_online.to_string())
    }),
    ("isolated CPUs", |run| {
        cpus(run, run.host.cpus_isolated.to_string())
    }),
    ("nohz_full CPUs", |run| {
        cpus(run, run.host.cpus_nohz_full.to_string())
    }),
    ("command line", |run| {
        let guest = run.guest.as_ref().map(|guest| guest.command_line.clone());
        guest.or_else(|| run.host.cmdline.clone())
    }),
    ("real-time share in µs", |run| {
        let (runtime, period) = (run.host.sched_rt_runtime_us?, run.host.sched_rt_period_us?);
        Some(format!("{runtime} of {period}"))
    }),
    ("tuning", |run| {
        let host = &run.host;
        let known = host.kernel_release.is_some() && host.tuning_unknown.is_none();
        known.then(|| run.host.tuning.as_ref().map(tuned).unwrap_or_default())
    }),
    ("dma_latency", |run| {
        let spec = run.spec.as_ref().map(|spec| spec.dma_latency_ns);
        let held = spec.or_else(|| run.setup.as_ref().map(|setup| setup.dma_latency_ns));
        held.map(|held| held.map_or_else(|| "off".to_owned(), span))
    }),
    ("policy", |run| {
        let spec = run.spec.as_ref().map(|spec| spec.priority);
        let setup = run.setup.as_ref().map(|setup| setup.priority);
        spec.or(setup).map(|policy| policy.to_string())
    }),
    ("priority spread", |run| {
        yes_no(run.spec.as_ref().map(|spec| spec.priority_spread))
    }),
    ("CPUs", |run| {
        let spec = run.spec.as_ref().map(|spec| spec.cpus.to_string());
        spec.or_else(|| run.setup.as_ref().map(|setup| setup.cpus.to_string()))
    }),
    ("pinning", |run| {
        run.spec.as_ref().map(|spec| spec.pin.name().to_owned())
    }),
    ("threads", |run| {
        run.spec.as_ref().map(|spec| spec.threads.to_string())
    }),
    ("interval", |run| {
        run.spec.as_ref().map(|spec| span(spec.interval_ns))
    }),
    ("distance", |run| {
        run.spec.as_ref().map(|spec| span(spec.distance_ns))
    }),
    ("timer", |run| {
        run.spec.as_ref().map(|spec| spec.timer.name().to_owned())
    }),
    ("clock", |run| {
        run.spec.as_ref().map(|spec| spec.clock.name().to_owned())
    }),
    ("loads", |run| {
        let spec = run.spec.as_ref().map(|spec| spec.loads.join(" "));
        spec.or_else(|| run.setup.as_ref().map(|setup| setup.loads.join(" ")))
    }),
    ("mlock", |run| {
        let spec = run.spec.as_ref().map(|spec| spec.mlock);
        yes_no(spec.or_else(|| run.setup.as_ref().map(|setup| setup.mlock)))
    }),
    ("warm-up", |run| {
        run.spec.as_ref().map(|spec| span(spec.warm_up_ns))
    }),
    ("kernel image", |run| {
        let sha256 = run.guest.as_ref()?.kernel_sha256.as_deref();
        // Enough digits to tell two builds apart.
        let digits = sha256.map(|sha256| sha256.get(..12).unwrap_or(sha256));
        Some(digits.unwrap_or("not recorded").to_owned())
    }),
    ("guest's agent", |run| {
        let guest = run.guest.as_ref()?;
        let agent = guest.agent.as_ref().map(ToString::to_string);
        Some(agent.unwrap_or_else(|| "not recorded".to_owned()))
    }),
    ("unpacking of the guest's kernel", |run| {
        let unpacked = run.guest.as_ref()?.unpacked;
        let how = if unpacked {
            "before the guest began"
        } else {
            "by the guest"
        };
        Some(how.to_owned())
    }),
];

/// Facts that say how it was measured, and of the machine what latency hardly follows.
const OTHER: [Fact; 12] = [
    ("program version", |run| Some(run.program.clone())),
    ("tool", |run| {
        let origin = run.origin.as_ref()?;
        let version = origin.version.as_deref().unwrap_or("of unknown version");
        Some(format!("{} {version}", origin.tool))
    }),
    ("tool's command line", |run| {
        run.origin.as_ref()?.command_line.clone()
    }),
    ("file format", |run| {
        Some(run.origin.as_ref()?.format.clone())
    }),
    ("instrument", |run| Some(run.instrument.clone())),
    ("duration", |run| {
        let asked = run.spec.as_ref().map(|spec| spec.duration_ns);
        let asked = asked.or_else(|| run.setup.as_ref().map(|setup| setup.duration_ns));
        asked.map(|asked| asked.map_or_else(|| "no limit".to_owned(), span))
    }),
    ("samples asked for", |run| {
        let asked = run.spec.as_ref().map(|spec| spec.samples)?;
        Some(asked.map_or_else(|| "no limit".to_owned(), |n| n.to_string()))
    }),
    ("housekeeping CPUs", |run| {
        let spec = run.spec.as_ref().map(|spec| spec.housekeeping.to_string());
        spec.or_else(|| {
            run.setup
                .as_ref()
                .map(|setup| setup.housekeeping.to_string())
        })
    }),
    ("raw samples", |run| {
        yes_no(run.spec.as_ref().map(|spec| spec.raw))
    }),
    ("memory", |run| {
        run.host.memory_bytes.map(|bytes| format!("{bytes} bytes"))
    }),
    ("NUMA nodes", |run| {
        run.host.numa_nodes.map(|nodes| nodes.to_string())
    }),
    ("architecture", |run| run.host.architecture.clone()),
];

/// Facts in which the runs of one series agree: the machine, and how it was measured. What else is
/// recorded may change from run to run, and is what a change may have come from.
const OF_ONE_SERIES: [&str; 24] = [
    "machine",
    "CPU model",
    "hypervisor",
    "architecture",
    "NUMA nodes",
    "guest",
    "instrument",
    "dma_latency",
    "policy",
    "priority spread",
    "CPUs",
    "pinning",
    "threads",
    "interval",
    "distance",
    "timer",
    "clock",
    "loads",
    "mlock",
    "warm-up",
    "duration",
    "samples asked for",
    "file format",
    COMMAND_LINE,
];

const COMMAND_LINE: &str = "tool's command line";

/// Options of other tools that name files and change no latency.
const OF_FILES: [&str; 5] = ["--json", "--histfile", "--output", "--fifo", "--logfile"];

/// The facts that keep a run apart from those of other series, by their names.
pub(crate) fn of_one_series(run: &RunRecord) -> Vec<(String, String)> {
    let known = LATENCY.iter().chain(&OTHER);
    let known = known.filter(|(name, _)| OF_ONE_SERIES.contains(name));
    let mut facts: Vec<(String, String)> = Vec::new();
    for (name, fact) in known {
        let value = fact(run).unwrap_or_default();
        let value = match *name {
            COMMAND_LINE => without_files(&value),
            _ => value,
        };
        facts.push(((*name).to_owned(), value));
    }
    if let Some(setup) = &run.setup {
        let options = setup.options.iter();
        facts.extend(options.map(|(key, value)| (format!("option {key}"), value.clone())));
    }
    facts
}

/// All recorded facts of a run, by their names. What is not recorded is left out.
pub(crate) fn each(run: &RunRecord) -> Vec<(String, String)> {
    let known = LATENCY.iter().chain(&OTHER);
    let known = known.filter_map(|(name, fact)| Some(((*name).to_owned(), fact(run)?)));
    let options = run.setup.iter().flat_map(|setup| &setup.options);
    let options = options.map(|(key, value)| (format!("option {key}"), value.clone()));
    known.chain(options).collect()
}

/// A value cut to the room that there is for it.
pub(crate) fn shortened(value: &str) -> String {
    short(value, &BTreeSet::new())
}

/// The names of these facts.
pub fn names_of_one_series() -> impl Iterator<Item = &'static str> {
    OF_ONE_SERIES.into_iter()
}

fn without_files(command: &str) -> String {
    let names_file = |word: &&str| {
        let option = word.split('=').next().unwrap_or(word);
        !OF_FILES.contains(&option)
    };
    let words = command.split_whitespace().filter(names_file);
    words.collect::<Vec<_>>().join(" ")
}

fn yes_no(fact: Option<bool>) -> Option<String> {
    fact.map(|yes| if yes { "yes" } else { "no" }.to_owned())
}

/// Of a machine of which nothing is known, that no CPU is isolated is not known either.
fn cpus(run: &RunRecord, list: String) -> Option<String> {
    (!run.host.cpus_online.is_empty()).then_some(list)
}

/// Records by the name of their group.
pub(crate) type Sides<'a> = [(&'a str, Vec<&'a RunRecord>)];

/// A line for each fact that differs and changes latency; the others are named in one.
pub(super) fn differences(groups: &[GroupInput]) -> Vec<Finding> {
    let mut sides: Vec<(&str, Vec<&RunRecord>)> = Vec::new();
    for group in groups {
        let records = group.runs.iter().map(|run| &run.record);
        sides.push((&group.name, records.collect()));
    }
    of_records(&sides)
}

/// The same of records.
pub(crate) fn of_records(groups: &Sides<'_>) -> Vec<Finding> {
    let mut lines: Vec<(String, String)> = Vec::new();
    let mut rest: Vec<String> = Vec::new();
    for (name, fact) in LATENCY {
        lines.extend(sides(groups, fact).map(|sides| (name.to_owned(), sides)));
    }
    for key in options(groups) {
        let fact = |run: &RunRecord| {
            let setup = run.setup.as_ref()?;
            Some(setup.options.get(&key).cloned().unwrap_or_default())
        };
        lines.extend(sides(groups, fact).map(|sides| (format!("option {key}"), sides)));
    }
    for (name, fact) in OTHER {
        let differs = sides(groups, fact);
        match (differs, name) {
            (Some(sides), "program version") => lines.push((name.to_owned(), sides)),
            (Some(_), _) => rest.push(name.to_owned()),
            (None, _) => {}
        }
    }
    rest.splice(0..0, lines.iter().skip(LINES).map(|(name, _)| name.clone()));
    let mut findings: Vec<Finding> = lines
        .into_iter()
        .take(LINES)
        .map(|(name, sides)| Finding::observed("differs", format!("{name}: {sides}")))
        .collect();
    if !rest.is_empty() {
        let n = rest.len();
        let detail = match n {
            1 => format!("1 more recorded fact differs: {}", rest.join(", ")),
            _ => format!("{n} more recorded facts differ: {}", rest.join(", ")),
        };
        findings.push(Finding::observed("differs", detail));
    }
    findings
}

fn options(groups: &Sides<'_>) -> BTreeSet<String> {
    let runs = groups.iter().flat_map(|(_, runs)| runs);
    let setups = runs.filter_map(|run| run.setup.as_ref());
    setups
        .flat_map(|setup| setup.options.keys().cloned())
        .into_set()
}

/// What a fact is in each group, where it is not the same in all runs that have it.
fn sides(groups: &Sides<'_>, fact: impl Fn(&RunRecord) -> Option<String>) -> Option<String> {
    let all: Vec<(&str, BTreeMap<String, usize>)> = groups
        .iter()
        .map(|(name, runs)| {
            let mut values: BTreeMap<String, usize> = BTreeMap::new();
            for value in runs.iter().filter_map(|run| fact(run)) {
                *values.entry(value).or_default() += 1;
            }
            (*name, values)
        })
        .collect();
    let mut together: BTreeSet<&String> = BTreeSet::new();
    all.iter()
        .for_each(|(_, values)| together.extend(values.keys()));
    if together.len() < 2 {
        return None;
    }
    let common = common_words(&together);
    let known = all.iter().filter(|(_, values)| !values.is_empty());
    let sides: Vec<String> = known
        .map(|(name, values)| {
            let shown: Vec<String> = values.keys().map(|value| short(value, &common)).collect();
            let first = shown
                .iter()
                .take(3)
                .cloned()
                .collect::<Vec<_>>()
                .join(" and ");
            match shown.len().saturating_sub(3) {
                0 => format!("{name} {first}"),
                more => format!("{name} {first} and {more} more"),
            }
        })
        .collect();
    Some(sides.join("; "))
}

/// The words that all long values have: of two command lines only what differs is of interest.
fn common_words<'a>(values: &BTreeSet<&'a String>) -> BTreeSet<&'a str> {
    if values.iter().all(|value| value.chars().count() <= LONGEST) {
        return BTreeSet::new();
    }
    let mut each = values
        .iter()
        .map(|value| value.split_whitespace().collect());
    let first: BTreeSet<&str> = each.next().unwrap_or_default();
    each.fold(first, |common, words: BTreeSet<&str>| {
        common.intersection(&words).copied().collect()
    })
}

fn short(value: &str, common: &BTreeSet<&str>) -> String {
    let words = value
        .split_whitespace()
        .filter(|word| !common.contains(word));
    let text = words.collect::<Vec<_>>().join(" ");
    match text.chars().count() {
        0 => "none".to_owned(),
        n if n > LONGEST => text.chars().take(LONGEST - 1).chain(['…']).collect(),
        _ => text,
    }
}
