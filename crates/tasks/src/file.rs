// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The file of a task set: TOML, every key known, every error with its line. docs/formats/tasks.md describes it.

mod draft;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use punctual_model::tasks::{
    CriticalSection, ExtScheduler, InterruptLoad, Overheads, PriorityOrder, Protocol, Resource,
    TASKS_FORMAT, Task, TaskPolicy, TaskSet,
};
use punctual_model::{CpuSet, Nanos};
use serde::Deserialize;
use toml::Spanned;

pub use self::draft::{Draft, Observed, ObservedThread};
pub use self::write::write;
use crate::error::TaskSetError;
use crate::work::{LONGEST, MOST_TASKS};

/// The largest file that is read, in bytes.
pub const FILE_LIMIT: u64 = 1 << 20;

/// The deepest nesting of critical sections.
const DEEPEST: usize = 8;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FileText {
    format: Option<Spanned<String>>,
    name: Option<String>,
    order: Option<PriorityOrder>,
    cpus: Option<Spanned<String>>,
    policy: Option<PolicyText>,
    scheduler: Option<Spanned<ExtScheduler>>,
    #[serde(default)]
    task: Vec<Spanned<TaskText>>,
    #[serde(default)]
    resource: Vec<Spanned<ResourceText>>,
    overheads: Option<Spanned<OverheadsText>>,
    #[serde(default)]
    assumes: Vec<Spanned<String>>,
}

#[derive(Clone, Copy, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum PolicyText {
    Fifo,
    Rr,
    Deadline,
    Other,
    /// Of a set that names a scheduler.
    #[serde(skip)]
    Ext(ExtScheduler),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct TaskText {
    name: String,
    period: String,
    deadline: Option<String>,
    execution: String,
    observed_in: Option<String>,
    offset: Option<String>,
    jitter: Option<String>,
    waits: Option<String>,
    policy: Option<PolicyText>,
    priority: Option<u8>,
    runtime: Option<String>,
    cpus: Option<String>,
    #[serde(default)]
    sections: Vec<SectionText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SectionText {
    resource: String,
    length: String,
    #[serde(default)]
    sections: Vec<Self>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResourceText {
    name: String,
    #[serde(default)]
    protocol: Protocol,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct OverheadsText {
    wake_up: Option<String>,
    switch: Option<String>,
    #[serde(default)]
    interrupts: Vec<InterruptText>,
    observed_in: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InterruptText {
    takes: String,
    every: String,
}

/// Reads the text of `file`.
///
/// # Errors
///
/// [`TaskSetError::File`] with the line, the key and what was expected.
pub fn parse(file: &str, text: &str) -> Result<Draft, TaskSetError> {
    let reader = Reader { file, text };
    let parsed: FileText = toml::from_str(text).map_err(|err| {
        let at = err.span().map_or(0, |span| span.start);
        reader.fail(at, err.message().trim())
    })?;
    reader.draft(parsed)
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
}

impl Reader<'_> {
    fn fail(&self, offset: usize, reason: impl Into<String>) -> TaskSetError {
        let before = self.text.as_bytes().iter().take(offset);
        TaskSetError::File {
            file: self.file.to_owned(),
            line: before.filter(|b| **b == b'\n').count() + 1,
            reason: reason.into(),
        }
    }

    /// The same for the table that begins at `offset`: at the key that the reason begins with, where the table has it on a line of
    /// its own.
    fn fail_in(&self, offset: usize, what: &str, reason: &str) -> TaskSetError {
        let key = reason.split([' ', ':']).next().unwrap_or_default();
        let mut at = offset;
        let table = self.text.get(offset..).unwrap_or_default();
        let lines = table.split_inclusive('\n').enumerate();
        let mut own = lines.take_while(|(number, line)| *number == 0 || !line.starts_with('['));
        let key_at = own.find_map(|(_, line)| {
            let begins = at;
            at += line.len();
            let value = line.trim_start().strip_prefix(key)?;
            value.trim_start().starts_with('=').then_some(begins)
        });
        self.fail(key_at.unwrap_or(offset), format!("{what}{reason}"))
    }

    /// Refuses what a BPF scheduler knows nothing of.
    fn scheduler(&self, parsed: &FileText) -> Result<(), TaskSetError> {
        let Some(scheduler) = &parsed.scheduler else {
            return Ok(());
        };
        let named =
            parsed.policy.is_some() || parsed.task.iter().any(|t| t.get_ref().policy.is_some());
        let reason = if named {
            "it has all tasks of the set; remove `policy`"
        } else if parsed
            .order
            .is_some_and(|order| order != PriorityOrder::RateMonotonic)
        {
            "it has an order of its own; remove `order`"
        } else if !parsed.resource.is_empty() {
            "sched_ext has no protocol against priority inversion; remove the resources"
        } else {
            return Ok(());
        };
        let name = scheduler.get_ref().name();
        Err(self.fail(
            scheduler.span().start,
            format!("scheduler = \"{name}\": {reason}"),
        ))
    }

    fn draft(&self, parsed: FileText) -> Result<Draft, TaskSetError> {
        if let Some(format) = &parsed.format
            && format.get_ref() != TASKS_FORMAT
        {
            let reason = format!(
                "format = \"{}\": this program reads \"{TASKS_FORMAT}\"",
                format.get_ref()
            );
            return Err(self.fail(format.span().start, reason));
        }
        self.scheduler(&parsed)?;
        let scheduler = parsed.scheduler.as_ref().map(|of| *of.get_ref());
        let resources = self.resources(&parsed.resource)?;
        let all_cpus = match &parsed.cpus {
            Some(text) => self.cpus(text.get_ref(), text.span().start)?,
            None => CpuSet::default(),
        };
        if parsed.task.is_empty() {
            return Err(self.fail(0, "task: expected at least one [[task]]"));
        }
        if parsed.task.len() > MOST_TASKS {
            let reason = format!(
                "{} tasks; at most {MOST_TASKS} are analysed",
                parsed.task.len()
            );
            return Err(self.fail(0, reason));
        }
        let mut draft = Draft {
            set: TaskSet {
                name: parsed.name.unwrap_or_else(|| stem(self.file)),
                order: parsed.order.unwrap_or_default(),
                tasks: Vec::new(),
                resources,
                overheads: self.overheads(parsed.overheads.as_ref())?,
                assumes: self.assumes(&parsed.assumes)?,
            },
            not_understood: Vec::new(),
            wanted: Vec::new(),
            unordered: Vec::new(),
        };
        let mut names = BTreeSet::new();
        for (number, text) in parsed.task.iter().enumerate() {
            let at = text.span().start;
            let task = text.get_ref();
            if !names.insert(task.name.clone()) {
                return Err(self.fail(at, format!("task \"{}\" appears twice", task.name)));
            }
            let policy = match scheduler {
                Some(scheduler) => PolicyText::Ext(scheduler),
                None => task.policy.or(parsed.policy).unwrap_or(PolicyText::Fifo),
            };
            self.task(&mut draft, number, task, policy, &all_cpus, at)?;
        }
        if let Some(reason) = cycle(&draft.set) {
            return Err(self.fail(0, reason));
        }
        Ok(draft)
    }

    fn task(
        &self,
        draft: &mut Draft,
        number: usize,
        text: &TaskText,
        policy: PolicyText,
        all_cpus: &CpuSet,
        at: usize,
    ) -> Result<(), TaskSetError> {
        let name = &text.name;
        if name.is_empty() || name.chars().count() > 64 || name.chars().any(char::is_control) {
            return Err(self.fail(
                at,
                "name: expected 1 to 64 characters, no control characters",
            ));
        }
        let fail = |reason: String| self.fail_in(at, &format!("task \"{name}\": "), &reason);
        let time = |key: &str, text: &str| time(key, text).map_err(fail);
        let above_zero = |key: &str, text: &str| match time(key, text)? {
            Nanos::ZERO => Err(fail(format!("{key} is 0; it must be longer"))),
            span => Ok(span),
        };
        let optional = |key: &str, text: &Option<String>| match text {
            Some(text) => time(key, text),
            None => Ok(Nanos::ZERO),
        };
        let period = above_zero("period", &text.period)?;
        let deadline = match &text.deadline {
            Some(text) => above_zero("deadline", text)?,
            None => period,
        };
        let asked = text.execution.strip_prefix("observed in ");
        let execution = match asked {
            Some(run) => {
                draft.wanted.push((number, run.trim().to_owned()));
                Nanos::ZERO
            }
            None => above_zero("execution", &text.execution)?,
        };
        let policy = match policy {
            PolicyText::Deadline => TaskPolicy::Deadline {
                runtime_ns: match &text.runtime {
                    Some(text) => above_zero("runtime", text)?,
                    None => execution,
                },
            },
            PolicyText::Fifo => TaskPolicy::Fifo {
                priority: text.priority,
            },
            PolicyText::Rr => TaskPolicy::Rr {
                priority: text.priority,
            },
            PolicyText::Other => TaskPolicy::Other,
            PolicyText::Ext(scheduler) => TaskPolicy::Ext {
                scheduler,
                priority: None,
            },
        };
        if text.priority.is_some_and(|p| !(1..=99).contains(&p)) {
            return Err(fail("priority: expected a number from 1 to 99".to_owned()));
        }
        if text.priority.is_some() && !policy.is_throttled() {
            return Err(fail(
                "priority belongs to the policies fifo and rr".to_owned(),
            ));
        }
        if text.runtime.is_some() && !matches!(policy, TaskPolicy::Deadline { .. }) {
            return Err(fail("runtime belongs to the policy deadline".to_owned()));
        }
        if policy.is_fixed() && text.priority.is_none() {
            draft.unordered.push(number);
        }
        let mut held = Vec::new();
        let sections = sections(&text.sections, &draft.set.resources, &mut held).map_err(fail)?;
        let inside: u64 = sections.iter().map(|s| s.length_ns.get()).sum();
        if asked.is_none() && inside > execution.get() {
            return Err(fail(format!(
                "its critical sections take {}, more than its execution time of {execution}",
                Nanos::new(inside)
            )));
        }
        draft.set.tasks.push(Task {
            name: name.clone(),
            period_ns: period,
            deadline_ns: deadline,
            execution_ns: execution,
            observed_in: text.observed_in.clone(),
            offset_ns: optional("offset", &text.offset)?,
            jitter_ns: optional("jitter", &text.jitter)?,
            waits_ns: match &text.waits {
                Some(text) => Some(above_zero("waits", text)?),
                None => None,
            },
            policy,
            cpus: match &text.cpus {
                Some(text) => self.cpus(text, at)?,
                None => all_cpus.clone(),
            },
            sections,
        });
        Ok(())
    }

    fn cpus(&self, text: &str, at: usize) -> Result<CpuSet, TaskSetError> {
        let cpus: CpuSet = text
            .parse()
            .map_err(|err| self.fail_in(at, "", &format!("cpus: {err}")))?;
        match cpus.is_empty() {
            true => Err(self.fail_in(at, "", "cpus: expected at least one CPU")),
            false => Ok(cpus),
        }
    }

    fn resources(&self, texts: &[Spanned<ResourceText>]) -> Result<Vec<Resource>, TaskSetError> {
        let mut names = BTreeSet::new();
        let mut all = Vec::new();
        for text in texts {
            let name = &text.get_ref().name;
            if !names.insert(name) {
                let reason = format!("resource \"{name}\" appears twice");
                return Err(self.fail(text.span().start, reason));
            }
            all.push(Resource {
                name: name.clone(),
                protocol: text.get_ref().protocol,
            });
        }
        Ok(all)
    }

    fn assumes(&self, texts: &[Spanned<String>]) -> Result<Vec<String>, TaskSetError> {
        let each = texts.iter().map(|text| {
            let sentence = text.get_ref().trim().trim_end_matches('.');
            match sentence.is_empty() || sentence.chars().any(char::is_control) {
                true => Err(self.fail(
                    text.span().start,
                    "assumes: expected sentences without control characters",
                )),
                false => Ok(sentence.to_owned()),
            }
        });
        each.collect()
    }

    fn overheads(&self, text: Option<&Spanned<OverheadsText>>) -> Result<Overheads, TaskSetError> {
        let Some(text) = text else {
            return Ok(Overheads::default());
        };
        let at = text.span().start;
        let text = text.get_ref();
        let fail = |reason: String| self.fail_in(at, "overheads: ", &reason);
        let read = |key: &str, text: &Option<String>| match text {
            Some(text) => time(key, text).map_err(fail),
            None => Ok(Nanos::ZERO),
        };
        let mut interrupts = Vec::new();
        for load in &text.interrupts {
            let takes_ns = time("takes", &load.takes).map_err(fail)?;
            let every_ns = time("every", &load.every).map_err(fail)?;
            if every_ns.is_zero() || takes_ns > every_ns {
                return Err(fail(
                    "interrupts: expected `takes` at most as long as `every`".to_owned(),
                ));
            }
            interrupts.push(InterruptLoad { takes_ns, every_ns });
        }
        Ok(Overheads {
            wake_up_ns: read("wake-up", &text.wake_up)?,
            switch_ns: read("switch", &text.switch)?,
            interrupts,
            observed_in: text.observed_in.clone(),
        })
    }
}

/// Reads a time of at most a day.
fn time(key: &str, text: &str) -> Result<Nanos, String> {
    let span: Nanos = text.parse().map_err(|err| format!("{key}: {err}"))?;
    match span.get() <= LONGEST {
        true => Ok(span),
        false => Err(format!("{key}: `{text}` is longer than a day")),
    }
}

fn sections(
    texts: &[SectionText],
    resources: &[Resource],
    held: &mut Vec<String>,
) -> Result<Vec<CriticalSection>, String> {
    let mut all = Vec::new();
    for text in texts {
        let name = &text.resource;
        if !resources.iter().any(|resource| resource.name == *name) {
            let known: Vec<&str> = resources.iter().map(|r| r.name.as_str()).collect();
            return Err(match known.is_empty() {
                true => format!("resource \"{name}\" is unknown: the file has no [[resource]]"),
                false => format!(
                    "resource \"{name}\" is unknown; known: {}",
                    known.join(", ")
                ),
            });
        }
        if held.contains(name) {
            return Err(format!(
                "takes \"{name}\" while it holds it, and would wait for itself"
            ));
        }
        if held.len() >= DEEPEST {
            return Err(format!("sections are nested deeper than {DEEPEST}"));
        }
        let length = time("length", &text.length)?;
        if length.is_zero() {
            return Err(format!("the section on \"{name}\" has length 0"));
        }
        held.push(name.clone());
        let inner = sections(&text.sections, resources, held)?;
        held.pop();
        let inside: u64 = inner.iter().map(|s| s.length_ns.get()).sum();
        if inside > length.get() {
            return Err(format!(
                "the sections inside \"{name}\" are longer than it is"
            ));
        }
        all.push(CriticalSection {
            resource: name.clone(),
            length_ns: length,
            sections: inner,
        });
    }
    Ok(all)
}

/// Why a set is refused whose tasks take resources inside each other in a circle.
pub(crate) fn cycle(set: &TaskSet) -> Option<String> {
    // Which task takes the second while it holds the first.
    let mut edges: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for task in &set.tasks {
        fn nested<'a>(
            task: &'a str,
            sections: &'a [CriticalSection],
            edges: &mut BTreeMap<(&'a str, &'a str), &'a str>,
        ) {
            for outer in sections {
                for inner in &outer.sections {
                    edges.insert((&outer.resource, &inner.resource), task);
                }
                nested(task, &outer.sections, edges);
            }
        }
        nested(&task.name, &task.sections, &mut edges);
    }
    for resource in &set.resources {
        let mut path = vec![resource.name.as_str()];
        if follow(&edges, &mut path, &mut BTreeSet::new()) {
            let steps = path.windows(2).map(|pair| {
                let task = edges.get(&(pair[0], pair[1])).copied().unwrap_or_default();
                format!("{task} takes {} while it holds {}", pair[1], pair[0])
            });
            return Some(format!(
                "critical sections are nested in a circle: {}. Tasks that take resources in different orders can \
                 deadlock; use one order in all tasks",
                steps.collect::<Vec<_>>().join(", ")
            ));
        }
    }
    None
}

/// Whether the start of `path` can be reached again.
fn follow<'a>(
    edges: &BTreeMap<(&'a str, &'a str), &'a str>,
    path: &mut Vec<&'a str>,
    seen: &mut BTreeSet<&'a str>,
) -> bool {
    let Some(last) = path.last().copied() else {
        return false;
    };
    for (from, to) in edges.keys().filter(|(from, _)| *from == last) {
        let _ = from;
        if path.first() == Some(to) {
            path.push(to);
            return true;
        }
        if seen.insert(to) {
            path.push(to);
            if follow(edges, path, seen) {
                return true;
            }
            path.pop();
        }
    }
    false
}

/// The name of a file without its directory and ending.
pub(crate) fn stem(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    let name = name.split('.').next().unwrap_or(name);
    let plain = name.chars().filter(|c| !c.is_control()).take(64);
    let plain: String = plain.collect();
    match plain.is_empty() {
        true => "tasks".to_owned(),
        false => plain,
    }
}

#[cfg(test)]
mod tests;
