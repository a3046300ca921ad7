// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

use super::*;

const SET: &str = r#"
format = "punctual.tasks/1"
name = "arm"
order = "deadline-monotonic"
cpus = "1"

[overheads]
wake-up = "40us"
switch = "2us"
interrupts = [{ takes = "5us", every = "4ms" }, { takes = "20us", every = "100ms" }]

[[resource]]
name = "bus"
protocol = "ceiling"

[[resource]]
name = "log"

[[task]]
name = "servo"
period = "1ms"
deadline = "800us"
execution = "200us"
priority = 90
sections = [{ resource = "bus", length = "50us", sections = [{ resource = "log", length = "10us" }] }]

[[task]]
name = "plan"
period = "10ms"
execution = "2ms"
jitter = "100us"
cpus = "0-1"
"#;

fn reason(text: &str) -> String {
    parse("arm.toml", text).unwrap_err().to_string()
}

fn with(from: &str, to: &str) -> String {
    assert!(SET.contains(from), "{from}");
    reason(&SET.replacen(from, to, 1))
}

#[test]
fn a_set_is_read_written_and_read_again() {
    let assumes = "order = \"deadline-monotonic\"\nassumes = [\"Nobody starts \\\"updates\\\".\", \"The fan works\"]";
    let text = SET.replace("order = \"deadline-monotonic\"", assumes);
    let draft = parse("arm.toml", &text).unwrap();
    assert_eq!(draft.unordered, [1]);
    let resolved = draft.resolve(|run| {
        Err(TaskSetError::Observed {
            task: String::new(),
            reason: run.to_owned(),
        })
    });
    let (set, _) = resolved.unwrap();
    assert_eq!(set.tasks[0].deadline_ns, Nanos::from_micros(800));
    assert_eq!(set.tasks[0].cpus.to_string(), "1");
    assert_eq!(set.assumes, ["Nobody starts \"updates\"", "The fan works"]);
    assert_eq!(set.tasks[0].sections[0].sections[0].resource, "log");
    assert!(set.tasks[1].policy.priority().unwrap() < 90);
    let again = parse("again.toml", &write(&set, &["A remark".to_owned()])).unwrap();
    assert_eq!(again.set, set);
}

#[test]
fn every_fault_names_its_line_and_key() {
    assert!(with("deadline = \"800us\"", "deadline = \"0\"").contains("deadline is 0"));
    assert!(with("period = \"1ms\"", "period = \"0s\"").contains("period is 0"));
    let no_sentence = with("cpus = \"1\"", "assumes = [\" \"]");
    assert!(
        no_sentence.contains("line 5: assumes: expected sentences"),
        "{no_sentence}"
    );
    assert!(with("execution = \"200us\"", "execution = \"0\"").contains("execution is 0"));
    assert!(
        with("resource = \"bus\"", "resource = \"bos\"")
            .contains("\"bos\" is unknown; known: bus, log")
    );
    assert!(with("name = \"plan\"", "name = \"servo\"").contains("task \"servo\" appears twice"));
    assert!(with("priority = 90", "priority = 100").contains("1 to 99"));
    assert!(with("priority = 90", "prio = 90").contains("unknown field `prio`"));
    assert!(with("period = \"10ms\"", "period = \"10\"").contains("no unit"));
    assert!(with("period = \"10ms\"", "period = \"2d\"").contains("longer than a day"));
    assert!(
        with("length = \"50us\"", "length = \"250us\"").contains("critical sections take 250 µs")
    );
    assert!(with("length = \"10us\"", "length = \"60us\"").contains("longer than it is"));
    assert!(with("tasks/1", "tasks/2").contains("this program reads \"punctual.tasks/1\""));
    assert!(with("cpus = \"0-1\"", "cpus = \"1-0\"").contains("cpus"));
    assert!(
        with("resource = \"log\", length", "resource = \"bus\", length")
            .contains("wait for itself")
    );
    assert!(reason("").contains("at least one [[task]]"));
    assert!(reason("[[task]").contains("line 1"));
}

#[test]
fn a_fault_of_a_table_has_the_line_of_its_key() {
    let of = |from: &str, to: &str, line: usize| {
        let said = with(from, to);
        assert!(said.contains(&format!("line {line}: ")), "{said}");
    };
    of("period = \"1ms\"", "period = \"0s\"", 21);
    of("period = \"10ms\"", "period = \"10\"", 29);
    of("priority = 90", "priority = 100", 24);
    of("wake-up = \"40us\"", "wake-up = \"40\"", 8);
    of("cpus = \"0-1\"", "cpus = \"1-0\"", 32);
    of("length = \"50us\"", "length = \"250us\"", 19);
}

#[test]
fn sections_nested_in_a_circle_are_refused_with_the_circle() {
    let other = "cpus = \"0-1\"\nsections = [{ resource = \"log\", length = \"9us\", sections = \
                 [{ resource = \"bus\", length = \"5us\" }] }]";
    let reason = with("cpus = \"0-1\"", other);
    assert!(
        reason.contains("servo takes log while it holds bus"),
        "{reason}"
    );
    assert!(
        reason.contains("plan takes bus while it holds log"),
        "{reason}"
    );
}

#[test]
fn times_observed_in_a_run_are_looked_up_by_name() {
    let text = SET.replace("execution = \"2ms\"", "execution = \"observed in last\"");
    let draft = parse("arm.toml", &text).unwrap();
    assert_eq!(draft.wanted, [(1, "last".to_owned())]);
    let run = |name: &str| {
        let observed = Observed::from([(
            name.to_owned(),
            ObservedThread {
                execution_ns: Nanos::from_micros(1_900),
                waits_ns: Some(Nanos::from_micros(300)),
                assumes: vec![format!("{name} did not hang")],
            },
        )]);
        move |_: &str| Ok::<_, TaskSetError>(("0193".to_owned(), observed.clone()))
    };
    let (set, _) = draft.clone().resolve(run("plan")).unwrap();
    assert_eq!(set.tasks[1].execution_ns, Nanos::from_micros(1_900));
    assert_eq!(set.tasks[1].waits_ns, Some(Nanos::from_micros(300)));
    assert_eq!(set.tasks[1].observed_in.as_deref(), Some("0193"));
    assert_eq!(set.assumes, ["plan did not hang"]);
    let failed = draft.resolve(run("other")).unwrap_err().to_string();
    assert!(
        failed.contains("no thread of this name; it has other"),
        "{failed}"
    );
}

const EXT: &str = "
scheduler = 'rate-monotonic'

[[task]]
name = 'slow'
period = '10ms'
execution = '2ms'

[[task]]
name = 'fast'
period = '1ms'
execution = '200us'
";

#[test]
fn a_scheduler_has_all_tasks_of_its_set() {
    let set = |text: &str| {
        let draft = parse("ext.toml", text).unwrap();
        let none = |_: &str| Err(fail_none());
        draft.resolve::<TaskSetError>(none).unwrap().0
    };
    let rate = set(EXT);
    let policies = rate.tasks.iter().map(|task| task.policy);
    let scheduler = ExtScheduler::RateMonotonic;
    let expected = [79, 80].map(|priority| TaskPolicy::Ext {
        scheduler,
        priority: Some(priority),
    });
    assert!(policies.eq(expected), "{rate:?}");
    assert_eq!(set(&write(&rate, &[])).tasks, rate.tasks);
    let earliest = set(&EXT.replace("rate-monotonic", "earliest-deadline-first"));
    let policy = earliest.tasks[0].policy;
    assert!(policy.is_earliest_first() && policy.priority().is_none());
    assert_eq!(set(&write(&earliest, &[])).tasks, earliest.tasks);
}

fn fail_none() -> TaskSetError {
    TaskSetError::Observed {
        task: String::new(),
        reason: "no run is named".to_owned(),
    }
}

#[test]
fn what_a_scheduler_knows_nothing_of_is_refused_with_its_line() {
    let faults = [
        (
            "name = 'slow'",
            "name = 'slow'\npolicy = 'fifo'",
            "remove `policy`",
        ),
        (
            "name = 'slow'",
            "name = 'slow'\npriority = 5",
            "the policies fifo and rr",
        ),
        (
            "name = 'slow'",
            "name = 'slow'\nruntime = '3ms'",
            "the policy deadline",
        ),
        (
            "scheduler =",
            "order = 'optimal'\nscheduler =",
            "remove `order`",
        ),
        (
            "[[task]]",
            "[[resource]]\nname = 'bus'\n\n[[task]]",
            "remove the resources",
        ),
        ("'rate-monotonic'", "'round-robin'", "unknown variant"),
    ];
    for (from, to, said) in faults {
        let reason = reason(&EXT.replacen(from, to, 1));
        assert!(reason.contains(said), "{to}: {reason}");
    }
}
