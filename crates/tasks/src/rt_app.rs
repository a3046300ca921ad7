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
pub(crate) use self::events::kind;
use self::json::Json;
use crate::error::TaskSetError;
use crate::file::{Draft, cycle, stem};
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
    let set = TaskSet {
        name: stem(file),
        order: PriorityOrder::default(),
        tasks: all,
        resources: reader.resources,
        overheads: Overheads::default(),
        assumes: Vec::new(),
    };
    if let Some(reason) = cycle(&set) {
        return Err(fail("tasks", reason));
    }
    Ok(Draft {
        unordered: Vec::new(),
        set,
        not_understood: reader.not_understood,
        wanted: Vec::new(),
    })
}

/// The priority of a task of fixed priority that names none: `DEFAULT_THREAD_PRIORITY`.
const PRIORITY: u8 = 10;

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
        // What a phase says goes before what its task says.
        let said = |key: &str| {
            inside
                .and_then(|phase| phase.get(key))
                .or_else(|| json.get(key))
        };
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
        let number = |key: &str| match said(key) {
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
        let Some(period) = period else {
            return Err(self.fail(
                &place,
                "has no timer, so it never waits for a release: only periodic tasks can be analysed",
            ));
        };
        if run == 0 {
            return Err(self.fail(&place, "has no run or runtime, so no execution time"));
        }
        let (period, run) = (us(period)?, us(run)?);
        let policy = said("policy").and_then(Json::text).unwrap_or(&self.default);
        let priority = match said("priority") {
            None => PRIORITY,
            Some(value) => match value.number().and_then(|p| u8::try_from(p).ok()) {
                Some(priority @ 1..=99) => priority,
                _ if !["SCHED_FIFO", "SCHED_RR"].contains(&policy) => PRIORITY,
                _ => {
                    return Err(self.fail(
                        &format!("{place}.priority"),
                        "expected a number from 1 to 99",
                    ));
                }
            },
        };
        let priority = Some(priority);
        let deadline = match number("dl-deadline")? {
            Some(deadline) => us(deadline)?,
            None => period,
        };
        let policy = match policy {
            "SCHED_FIFO" => TaskPolicy::Fifo { priority },
            "SCHED_RR" => TaskPolicy::Rr { priority },
            "SCHED_DEADLINE" => {
                let Some(runtime) = number("dl-runtime")? else {
                    return Err(self.fail(&place, "SCHED_DEADLINE without dl-runtime"));
                };
                let reserved = number("dl-period")?.unwrap_or(runtime);
                let (reserved, runtime_ns) = (us(reserved)?, us(runtime)?);
                if reserved != period {
                    return Err(self.fail(
                        &format!("{place}.dl-period"),
                        format!(
                            "{} µs, and the timer has {} µs: only tasks that have their runtime once a release can be \
                             analysed (without dl-period rt-app takes dl-runtime)",
                            reserved.get() / 1_000,
                            period.get() / 1_000
                        ),
                    ));
                }
                TaskPolicy::Deadline { runtime_ns }
            }
            "SCHED_OTHER" => TaskPolicy::Other,
            other => {
                return Err(self.fail(
                    &place,
                    format!("policy {other:?} is not one that can be analysed"),
                ));
            }
        };
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
            waits_ns: None,
            policy,
            cpus: self.cpus(&place, said("cpus"))?,
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
        let phase = match json.get("phases").map(Json::pairs) {
            Some([(_, phase)]) => Some(phase),
            _ => None,
        };
        for key in ["nodes_membind", "util_min", "util_max"] {
            if [Some(json), phase]
                .into_iter()
                .flatten()
                .any(|of| of.get(key).is_some())
            {
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

    fn one(task: &str) -> Result<Draft, TaskSetError> {
        parse("a.json", &format!("{{\"tasks\": {{\"t\": {{{task}}}}}}}"))
    }

    #[test]
    fn tasks_that_name_no_priority_have_that_of_rt_app() {
        for policy in ["SCHED_FIFO", "SCHED_RR"] {
            let task = |period: u32| {
                format!(
                    "{{\"policy\": \"{policy}\", \"run\": 10, \"timer\": {{\"period\": {period}}}}}"
                )
            };
            let text = format!(
                "{{\"tasks\": {{\"a\": {}, \"b\": {}}}}}",
                task(100),
                task(200)
            );
            let draft = parse("a.json", &text).unwrap();
            let (set, _) = draft
                .resolve::<TaskSetError>(|_| unreachable!("no run is named"))
                .unwrap();
            let given: Vec<_> = set
                .tasks
                .iter()
                .map(|task| task.policy.priority())
                .collect();
            assert_eq!(given, [Some(10), Some(10)], "{policy}");
        }
    }

    #[test]
    fn a_phase_goes_before_its_task() {
        let draft = one(r#""policy": "SCHED_FIFO", "priority": 30, "cpus": [0], "phases": {"p": {
            "policy": "SCHED_RR", "priority": 20, "cpus": [1], "run": 10, "timer": {"period": 100}}}"#)
        .unwrap();
        let task = &draft.set.tasks[0];
        assert_eq!(task.policy, TaskPolicy::Rr { priority: Some(20) });
        assert_eq!(task.cpus.to_string(), "1");
        let draft = one(
            r#""phases": {"p": {"policy": "SCHED_DEADLINE", "dl-runtime": 20,
            "dl-period": 100, "dl-deadline": 50, "run": 10, "timer": {"period": 100}}}"#,
        )
        .unwrap();
        let task = &draft.set.tasks[0];
        let runtime_ns = Nanos::from_micros(20);
        assert_eq!(task.policy, TaskPolicy::Deadline { runtime_ns });
        assert_eq!(task.deadline_ns, Nanos::from_micros(50));
    }

    #[test]
    fn events_are_told_by_how_their_names_begin() {
        let draft = one(
            r#""run_filter": 10, "lock_a": "r", "runB": 20, "unlock_a": "r", "runtime2b": 5, "timer_1": {"period": 100}"#,
        )
        .unwrap();
        let task = &draft.set.tasks[0];
        assert_eq!(task.execution_ns, Nanos::from_micros(35));
        assert_eq!(task.sections[0].length_ns, Nanos::from_micros(20));
        assert_eq!(draft.not_understood, [""; 0]);
    }

    #[test]
    fn locks_that_are_taken_in_a_circle_are_refused() {
        let of = |inside: &str, orders: [[&str; 2]; 2]| {
            let task = |name: &str, [outer, inner]: [&str; 2]| {
                format!(
                    r#""{name}": {{"policy": "SCHED_FIFO", "priority": 10, "run": 100, "lock": "{outer}", "run1": 50,
                    "lock1": "{inner}", {inside} "unlock1": "{inner}", "unlock": "{outer}", "timer": {{"period": 9000}}}}"#
                )
            };
            let [a, b] = orders;
            let tasks = [task("a", a), task("b", b)].join(", ");
            parse("a.json", &format!("{{\"tasks\": {{{tasks}}}}}"))
        };
        for inside in [r#""run2": 50,"#, ""] {
            let said = of(inside, [["A", "B"], ["B", "A"]]).unwrap_err();
            let said = said.to_string();
            assert!(
                said.contains("tasks: critical sections are nested in a circle"),
                "{said}"
            );
            assert!(said.contains("b takes A while it holds B"), "{said}");
            of(inside, [["A", "B"], ["A", "B"]]).unwrap();
        }
    }

    #[test]
    fn who_takes_a_lock_without_executing_in_it_waits_for_it_too() {
        let task = |name: &str, priority: u8, events: &str| {
            format!(
                r#""{name}": {{"policy": "SCHED_FIFO", "priority": {priority}, {events}, "timer": {{"period": 5000}}}}"#
            )
        };
        let high = task("high", 20, r#""lock": "r", "unlock": "r", "run": 100"#);
        let low = task("low", 10, r#""lock": "r", "run": 700, "unlock": "r""#);
        let text =
            format!("{{\"tasks\": {{{high}, {low}}}, \"global\": {{\"pi_enabled\": true}}}}");
        let (set, unused) = parse("a.json", &text)
            .unwrap()
            .resolve::<TaskSetError>(|_| unreachable!("no run is named"))
            .unwrap();
        let cpu = [0].into_iter().collect();
        let found = crate::check(&set, unused, &cpu, &crate::Limits::usual(1));
        assert_eq!(found.tasks[0].blocking_ns, Nanos::from_micros(700));
    }

    #[test]
    fn deadline_tasks_have_their_runtime_once_a_release() {
        let task = |settings: &str| {
            one(&format!(
                "\"policy\": \"SCHED_DEADLINE\", \"run\": 10, {settings}"
            ))
        };
        let reason = |settings: &str| task(settings).unwrap_err().to_string();
        let timer = r#""timer": {"period": 20000}"#;
        // Three of these on a CPU are 225 % to the kernel.
        let said = reason(&format!(
            "\"dl-runtime\": 3000, \"dl-period\": 4000, {timer}"
        ));
        assert!(
            said.contains("tasks.t.dl-period: 4000 µs, and the timer has 20000 µs"),
            "{said}"
        );
        // Without dl-period it is the runtime.
        assert!(reason(&format!("\"dl-runtime\": 3000, {timer}")).contains("3000 µs"));
        assert!(reason(timer).contains("without dl-runtime"));
        let said = reason("\"dl-runtime\": 3000, \"dl-period\": 4000");
        assert!(said.contains("has no timer, so it never waits"), "{said}");
        task(&format!(
            "\"dl-runtime\": 3000, \"dl-period\": 20000, {timer}"
        ))
        .unwrap();
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
