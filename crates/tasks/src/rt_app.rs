// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Task sets of rt-app (`*.json`, with comments). Times are in µs. What the analysis does not use is named.
//!
//! A task is periodic where its one phase has one `timer`. Its execution time is the sum of its `run` and `runtime` events, and
//! what lies between `lock` and `unlock` is a critical section.

mod events;
mod json;

use std::collections::BTreeSet;

use punctual_model::tasks::{
    Overheads, PriorityOrder, Protocol, Resource, Task, TaskPolicy, TaskSet,
};
use punctual_model::{CpuSet, Nanos};

use self::events::Events;
use self::json::Json;
use crate::error::TaskSetError;
use crate::file::{Draft, stem};
use crate::work::{LONGEST, MOST_TASKS};

/// Reads the text of `file`.
///
/// # Errors
///
/// [`TaskSetError::RtApp`] where it is not JSON, or a task is not periodic.
pub fn parse(file: &str, text: &str) -> Result<Draft, TaskSetError> {
    let fail = |place: &str, reason: String| TaskSetError::RtApp {
        file: file.to_owned(),
        place: place.to_owned(),
        reason,
    };
    let json = Json::parse(text).map_err(|err| fail("JSON", err.to_string()))?;
    let mut reader = Reader {
        file,
        not_understood: Vec::new(),
        resources: Vec::new(),
        protocol: Protocol::None,
        default: "SCHED_OTHER".to_owned(),
    };
    if let Some(global) = json.get("global") {
        reader.global(global);
    }
    for (key, _) in json.pairs() {
        if !["tasks", "global", "resources"].contains(&key.as_str()) {
            reader.not_understood.push(key.clone());
        }
    }
    let tasks = json.get("tasks").map_or(&[][..], Json::pairs);
    if tasks.is_empty() {
        return Err(fail(
            "tasks",
            "expected an object of at least one task".to_owned(),
        ));
    }
    let mut all = Vec::new();
    for (name, task) in tasks {
        for one in reader.task(name, task)? {
            if all.len() >= MOST_TASKS {
                return Err(fail("tasks", format!("more than {MOST_TASKS} tasks")));
            }
            all.push(one);
        }
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = all.iter().find(|task| !names.insert(task.name.as_str())) {
        return Err(fail(
            "tasks",
            format!("task \"{}\" appears twice", twice.name),
        ));
    }
    let unordered = all
        .iter()
        .enumerate()
        .filter(|(_, task)| task.policy.is_fixed() && task.policy.priority().is_none());
    Ok(Draft {
        unordered: unordered.map(|(number, _)| number).collect(),
        set: TaskSet {
            name: stem(file),
            order: PriorityOrder::default(),
            tasks: all,
            resources: reader.resources,
            overheads: Overheads::default(),
        },
        not_understood: reader.not_understood,
        wanted: Vec::new(),
    })
}

/// Keys with their values, in order.
type Keys<'a> = Vec<(&'a str, &'a Json)>;

struct Reader<'a> {
    file: &'a str,
    not_understood: Vec<String>,
    resources: Vec<Resource>,
    protocol: Protocol,
    default: String,
}

impl Reader<'_> {
    fn fail(&self, place: &str, reason: impl Into<String>) -> TaskSetError {
        TaskSetError::RtApp {
            file: self.file.to_owned(),
            place: place.to_owned(),
            reason: reason.into(),
        }
    }

    fn global(&mut self, global: &Json) {
        // What only says how rt-app itself works.
        const KNOWN: [&str; 12] = [
            "duration",
            "calibration",
            "logdir",
            "log_basename",
            "logstats",
            "log_size",
            "ftrace",
            "gnuplot",
            "lock_pages",
            "frag",
            "io_device",
            "mem_buffer_size",
        ];
        for (key, value) in global.pairs() {
            match key.as_str() {
                "default_policy" => {
                    if let Some(policy) = value.text() {
                        policy.clone_into(&mut self.default);
                    }
                }
                "pi_enabled" => {
                    if matches!(value, Json::Bool(true)) {
                        self.protocol = Protocol::Inheritance;
                    }
                }
                key if KNOWN.contains(&key) => {}
                key => self.not_understood.push(format!("global.{key}")),
            }
        }
    }

    fn task(&mut self, name: &str, json: &Json) -> Result<Vec<Task>, TaskSetError> {
        let place = format!("tasks.{name}");
        if name.is_empty() || name.chars().count() > 60 || name.chars().any(char::is_control) {
            return Err(self.fail(
                "tasks",
                "expected names of 1 to 60 characters without control characters",
            ));
        }
        let (body, inside) = self.body(&place, json)?;
        let mut events = Events::new(self, &place);
        for (key, value) in body {
            events.event(key, value)?;
        }
        let Events {
            period,
            run,
            sections,
            held,
            ..
        } = events;
        if let Some((resource, ..)) = held.first() {
            return Err(self.fail(&place, format!("holds \"{resource}\" at its end")));
        }
        let number = |key: &str| match json.get(key) {
            None => Ok(None),
            Some(value) => match value.number() {
                Some(us) if us > 0 => Ok(Some(us)),
                _ => Err(self.fail(&format!("{place}.{key}"), "expected a whole number above 0")),
            },
        };
        let us = |us: u64| match us.checked_mul(1_000) {
            Some(ns) if ns <= LONGEST => Ok(Nanos::new(ns)),
            _ => Err(self.fail(&place, "a time is longer than a day")),
        };
        let Some(period) = period.or(number("dl-period")?) else {
            return Err(self.fail(
                &place,
                "has no timer, so no period: only periodic tasks can be analysed",
            ));
        };
        if run == 0 {
            return Err(self.fail(&place, "has no run or runtime, so no execution time"));
        }
        let (period, run) = (us(period)?, us(run)?);
        let deadline = match number("dl-deadline")? {
            Some(deadline) => us(deadline)?,
            None => period,
        };
        let policy = json
            .get("policy")
            .and_then(Json::text)
            .unwrap_or(&self.default);
        let priority = json
            .get("priority")
            .and_then(Json::number)
            .and_then(|p| u8::try_from(p).ok());
        let priority = priority.filter(|p| (1..=99).contains(p));
        let fixed = ["SCHED_FIFO", "SCHED_RR"].contains(&policy);
        if fixed && priority.is_none() && json.get("priority").is_some() {
            return Err(self.fail(
                &format!("{place}.priority"),
                "expected a number from 1 to 99",
            ));
        }
        let policy = match policy {
            "SCHED_FIFO" => TaskPolicy::Fifo { priority },
            "SCHED_RR" => TaskPolicy::Rr { priority },
            "SCHED_DEADLINE" => TaskPolicy::Deadline {
                runtime_ns: match number("dl-runtime")? {
                    Some(runtime) => us(runtime)?,
                    None => run,
                },
            },
            "SCHED_OTHER" => TaskPolicy::Other,
            other => {
                return Err(self.fail(
                    &place,
                    format!("policy {other:?} is not one that can be analysed"),
                ));
            }
        };
        let cpus = json
            .get("cpus")
            .or_else(|| inside.and_then(|phase| phase.get("cpus")));
        let task = Task {
            name: name.to_owned(),
            period_ns: period,
            deadline_ns: deadline,
            execution_ns: run,
            observed_in: None,
            offset_ns: match json.get("delay").and_then(Json::number) {
                Some(delay) => us(delay)?,
                None => Nanos::ZERO,
            },
            jitter_ns: Nanos::ZERO,
            policy,
            cpus: self.cpus(&place, cpus)?,
            sections,
        };
        let copies = number("instance")?.unwrap_or(1);
        if copies > MOST_TASKS as u64 {
            return Err(self.fail(&place, format!("more than {MOST_TASKS} instances")));
        }
        Ok(match copies {
            1 => vec![task],
            copies => (0..copies)
                .map(|copy| Task {
                    name: format!("{name}-{copy}"),
                    ..task.clone()
                })
                .collect(),
        })
    }

    /// The events of a task: its own, or those of its one phase.
    fn body<'b>(
        &mut self,
        place: &str,
        json: &'b Json,
    ) -> Result<(Keys<'b>, Option<&'b Json>), TaskSetError> {
        const SETTINGS: [&str; 13] = [
            "policy",
            "priority",
            "cpus",
            "instance",
            "loop",
            "delay",
            "dl-runtime",
            "dl-period",
            "dl-deadline",
            "phases",
            "nodes_membind",
            "util_min",
            "util_max",
        ];
        let pairs = |of: &'b Json| -> Keys<'b> {
            let each = of.pairs().iter().map(|(key, value)| (key.as_str(), value));
            each.filter(|(key, _)| !SETTINGS.contains(key)).collect()
        };
        for key in ["nodes_membind", "util_min", "util_max"] {
            if json.get(key).is_some() {
                self.not_understood.push(format!("{place}.{key}"));
            }
        }
        let Some(phases) = json.get("phases") else {
            return Ok((pairs(json), None));
        };
        match phases.pairs() {
            [(_, phase)] => Ok((pairs(phase), Some(phase))),
            _ => Err(self.fail(
                &format!("{place}.phases"),
                format!(
                    "{} phases: a task that changes has no one period",
                    phases.pairs().len()
                ),
            )),
        }
    }

    fn cpus(&self, place: &str, json: Option<&Json>) -> Result<CpuSet, TaskSetError> {
        let numbers = match json {
            None => return Ok(CpuSet::default()),
            Some(Json::Array(numbers)) => {
                numbers.iter().map(Json::number).collect::<Option<Vec<_>>>()
            }
            Some(_) => None,
        };
        let limit = u64::from(punctual_model::CPU_LIMIT);
        match numbers {
            Some(all) if !all.is_empty() && all.iter().all(|cpu| *cpu < limit) => Ok(all
                .into_iter()
                .filter_map(|cpu| u32::try_from(cpu).ok())
                .collect()),
            _ => Err(self.fail(
                &format!("{place}.cpus"),
                "expected a list of CPUs such as [0, 1]",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
    {   /* two tasks */
        "tasks": {
            "servo": {
                "instance": 2, "policy": "SCHED_FIFO", "priority": 30, "cpus": [0], "loop": -1,
                "run": 100, "lock": "bus", "run1": 50, "unlock": "bus", "run2": 10,
                "timer": { "ref": "unique", "period": 1000 }
            },
            "video": {
                "policy": "SCHED_DEADLINE", "dl-runtime": 6000, "dl-deadline": 16000, "dl-period": 16667,
                "phases": { "p1": { "loop": -1, "runtime": 5000, "mem": 4, "timer": { "ref": "u", "period": 16667 } } }
            }
        },
        "resources": { "bus": { "type": "mutex" } },
        "global": { "duration": 2, "pi_enabled": true, "cumulative_slack": false } // end
    }"#;

    #[test]
    fn an_rt_app_file_becomes_a_set_and_the_rest_is_named() {
        let draft = parse("/tmp/demo.json", FILE).unwrap();
        let names: Vec<&str> = draft.set.tasks.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["servo-0", "servo-1", "video"]);
        assert_eq!(draft.set.name, "demo");
        let servo = &draft.set.tasks[0];
        assert_eq!(servo.execution_ns, Nanos::from_micros(160));
        assert_eq!(servo.sections[0].length_ns, Nanos::from_micros(50));
        assert_eq!(servo.policy, TaskPolicy::Fifo { priority: Some(30) });
        assert_eq!(draft.set.resources[0].protocol, Protocol::Inheritance);
        let video = &draft.set.tasks[2];
        assert_eq!(video.deadline_ns, Nanos::from_millis(16));
        assert_eq!(
            draft.not_understood,
            ["global.cumulative_slack", "tasks.video.mem"]
        );
    }

    #[test]
    fn copies_priorities_and_names_that_rt_app_would_not_take_are_refused() {
        let reason = |from: &str, to: &str| {
            assert!(FILE.contains(from), "{from}");
            parse("a.json", &FILE.replacen(from, to, 1))
                .unwrap_err()
                .to_string()
        };
        for wrong in ["0", "-1", "\"2\""] {
            let said = reason("\"instance\": 2", &format!("\"instance\": {wrong}"));
            assert!(said.contains("tasks.servo.instance"), "{said}");
        }
        let said = reason("\"priority\": 30", "\"priority\": 120");
        assert!(said.contains("tasks.servo.priority"), "{said}");
        let said = reason("\"video\"", "\"servo-1\"");
        assert!(said.contains("\"servo-1\" appears twice"), "{said}");
    }

    #[test]
    fn what_is_not_periodic_is_refused_with_its_place() {
        let reason = |from: &str, to: &str| {
            assert!(FILE.contains(from), "{from}");
            parse("a.json", &FILE.replacen(from, to, 1))
                .unwrap_err()
                .to_string()
        };
        assert!(
            reason(
                "\"timer\": { \"ref\": \"unique\", \"period\": 1000 }",
                "\"sleep\": 9"
            )
            .contains("tasks.servo: has no timer")
        );
        assert!(
            reason("\"run1\": 50, \"unlock\": \"bus\"", "\"run1\": 50").contains("holds \"bus\"")
        );
        assert!(reason("\"period\": 1000", "\"period\": 0").contains("tasks.servo.timer"));
        assert!(reason("\"cpus\": [0]", "\"cpus\": [-1]").contains("tasks.servo.cpus"));
        assert!(reason("\"p1\"", "\"p0\": {}, \"p1\"").contains("2 phases"));
        assert!(
            parse("a.json", "{")
                .unwrap_err()
                .to_string()
                .contains("JSON")
        );
        assert!(
            parse("a.json", "{}")
                .unwrap_err()
                .to_string()
                .contains("at least one task")
        );
    }
}
