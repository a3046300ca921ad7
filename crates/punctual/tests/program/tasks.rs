// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual tasks`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Answer, Home, machine, stored};
use crate::gates::{cases, outcome};
use crate::schema::{assert_valid, schema};

const SET: &str = "
[[resource]]
name = 'bus'

[[task]]
name = 'servo'
period = '1ms'
execution = '200us'
sections = [{ resource = 'bus', length = '40us' }]

[[task]]
name = 'plan'
period = '10ms'
execution = '2ms'
sections = [{ resource = 'bus', length = '90us' }]
";

fn check(home: &Home, name: &str, set: &str, more: &[&str]) -> Answer {
    let file = home.dir().join(name);
    fs::write(&file, set).unwrap();
    let file = file.display().to_string();
    home.run(["tasks", "check", &file, "--cpus", "0"].iter().chain(more))
}

/// What standard output says, of an answer with this status.
fn failed(answer: &Answer, status: i32) -> &str {
    assert_eq!(answer.code(), status, "{answer:#?}");
    &answer.stdout
}

/// The one error of an answer with this status.
fn refused(answer: &Answer, status: i32) -> &str {
    &answer.error(status, &[]).stderr
}

#[test]
fn no_bound_is_written_as_less_than_it_is() {
    let home = Home::aside();
    let set = "cpus = '0'
[[task]]
name = 'first'
period = '10ms'
execution = '1234400ns'
[[task]]
name = 'second'
period = '40ms'
execution = '3ms'
deadline = '4234200ns'
";
    let answer = check(&home, "set.toml", set, &[]);
    let text = failed(&answer, 3);
    let row = |name: &str| -> Vec<&str> {
        let rows = text.lines().map(|line| line.split_whitespace().collect());
        let mut rows = rows.filter(|row: &Vec<&str>| row.first() == Some(&name) && row.len() > 5);
        rows.next().unwrap_or_else(|| panic!("{name}: {text}"))
    };
    // 1234.4 µs, and 4234.4 µs with a deadline at 4234.2 µs.
    assert!(row("first").contains(&"1235"), "{text}");
    let second = row("second");
    assert!(
        second.contains(&"4235") && second.contains(&"4234"),
        "{text}"
    );
    // 8765.6 µs are left to the first.
    assert!(row("first").contains(&"8765"), "{text}");
}

#[test]
fn a_set_that_meets_its_deadlines_says_so_first_and_how_much_room_is_left() {
    // Who runs alone changes throttling.
    let home = Home::new();
    let answer = check(&home, "arm.toml", SET, &[]);
    let text = &answer.fine().stdout;
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap();
    assert!(
        first.contains("All 2 tasks meet their deadlines in the worst case"),
        "{text}"
    );
    // 200 µs and 90 µs of blocking; 2 ms and three jobs of the servo.
    assert!(text.contains("290") && text.contains("2600"), "{text}");
    // 40 % of the CPU are asked for, and real-time threads have 95 %, unless this machine is set up otherwise.
    let [runtime, period] = ["runtime", "period"].map(|of| {
        let path = format!("/proc/sys/kernel/sched_rt_{of}_us");
        let text = machine::read(Path::new(&path)).unwrap();
        text.trim().parse::<f64>().unwrap()
    });
    if 0.0 < runtime && runtime < period {
        let times = format!("{:.3} times", runtime / period / 0.4);
        assert!(text.contains(&times), "{times}: {text}");
        assert!(text.contains("real-time throttling starts"), "{text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

#[test]
fn a_check_is_reported_and_each_task_is_a_case_of_a_gate() {
    let home = Home::aside();
    // Whoever holds what a higher one takes may be done sooner than its bound: without that, the bound is what happens.
    let (_, section) = SET.rsplit_once("sections").unwrap();
    let late = SET.replace(&format!("sections{section}"), "deadline = '2ms'\n");
    for (set, status, plan, word) in [
        (SET, 0, "passed", "shown by analysis"),
        (&late, 3, "failure", "not met"),
    ] {
        let answer = check(&home, "arm.toml", set, &["--json"]);
        assert_eq!(answer.code(), status, "{answer:#?}");
        let Some(found) = cases(&home, &answer.stdout) else {
            return;
        };
        assert_eq!(outcome(&found, "servo"), ["passed"]);
        assert_eq!(outcome(&found, "plan"), [plan]);
        let json = home.dir().join("result.json");
        let page = home.run(["report", json.to_str().unwrap(), "--format=md"]);
        let page = &page.fine().stdout.to_lowercase();
        assert!(page.contains(word) && page.contains("task set"), "{page}");
    }
}

#[test]
fn an_example_needs_no_file_and_a_wrong_name_says_which_there_are() {
    let home = Home::aside();
    let check = |set: &str| home.run(["tasks", "check", set, "--cpus=0"]);
    let text = check("example:rate-monotonic");
    assert!(failed(&text, 3).contains("slow"), "{text:#?}");
    check("example:none").error(2, &["example:none", "arm", "rate-monotonic"]);
}

#[test]
fn a_set_on_several_cpus_says_whether_an_assignment_to_one_each_passes() {
    let home = Home::aside();
    let set = |third: &str| {
        let task = |(name, execution): (&str, &str)| {
            format!(
                "[[task]]\nname = '{name}'\nperiod = '10ms'\nexecution = '{execution}'\ncpus = '0-1'\n"
            )
        };
        [("a", "6ms"), ("b", "6ms"), ("c", third)]
            .map(task)
            .concat()
    };
    for (third, says) in [
        (
            "3ms",
            "each task assigned to one CPU, as in the table, the set passes",
        ),
        ("6ms", "neither assignment of each task to one CPU passes"),
    ] {
        let file = home.dir().join("several.toml");
        fs::write(&file, set(third)).unwrap();
        let answer = home.run(["tasks", "check", file.to_str().unwrap(), "--cpus=0-1"]);
        let text = failed(&answer, 3).split_whitespace();
        let text = text.collect::<Vec<_>>().join(" ");
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn the_json_of_a_check_fits_its_schema_and_has_the_figures() {
    let home = Home::aside();
    let json = check(&home, "arm.toml", SET, &["--json"]).fine().json();
    assert_valid(&schema("tasks-check.schema.json"), &json);
    assert_eq!(json["verdict"], "shown");
    assert_eq!(json["tasks"][0]["response_ns"], 290_000);
    assert_eq!(json["tasks"][1]["response_ns"], 2_600_000);
    assert_eq!(json["tasks"][0]["blocking_ns"], 90_000);
    let servo = &json["tasks"][1]["interference"][0];
    assert_eq!((&servo["by"], &servo["jobs"]), (&json!("servo"), &json!(3)));
}

#[test]
fn a_set_that_asks_for_more_than_the_cpu_fails_the_verdict() {
    let home = Home::aside();
    let set = SET.replace("'2ms'", "'8500us'");
    let answer = check(&home, "arm.toml", &set, &[]);
    let text = failed(&answer, 3);
    assert!(
        text.contains("by analysis") && text.contains("105.0 %"),
        "{text}"
    );
    let json = check(&home, "arm.toml", &set, &["--json"]).json();
    assert_valid(&schema("tasks-check.schema.json"), &json);
    assert_eq!(json["verdict"], "missed");
    assert_eq!(json["growth"], json!(null));
}

#[test]
fn a_wrong_set_is_one_error_with_its_line_and_status_2() {
    let home = Home::aside();
    let wrong = |from: &str, to: &str, said: &str| {
        assert!(SET.contains(from), "{from}");
        let answer = check(&home, "arm.toml", &SET.replacen(from, to, 1), &[]);
        let text = refused(&answer, 2);
        assert!(
            text.contains(said) && text.contains("arm.toml, line"),
            "{text}"
        );
    };
    wrong(
        "period = '1ms'",
        "period = '1ms'\ndeadline = '0'",
        "deadline is 0",
    );
    wrong(
        "resource = 'bus'",
        "resource = 'can'",
        "\"can\" is unknown; known: bus",
    );
    wrong("period = '1ms'", "perod = '1ms'", "unknown field `perod`");
    wrong(
        "length = '40us'",
        "length = '400us'",
        "more than its execution time",
    );
    let circle = |outer: &str, inner: &str| {
        format!(
            "sections = [{{ resource = '{outer}', length = '40us', sections = [{{ resource = '{inner}', length = '9us' }}] }}]"
        )
    };
    let nested = SET
        .replace("name = 'bus'", "name = 'bus'\n[[resource]]\nname = 'log'")
        .replace(
            "sections = [{ resource = 'bus', length = '40us' }]",
            &circle("bus", "log"),
        )
        .replace(
            "sections = [{ resource = 'bus', length = '90us' }]",
            &circle("log", "bus"),
        );
    let answer = check(&home, "arm.toml", &nested, &[]);
    let text = refused(&answer, 2);
    assert!(text.contains("nested in a circle"), "{text}");
    let missing = home.run(["tasks", "check", "/nowhere/set.toml"]);
    assert!(refused(&missing, 1).contains("read /nowhere/set.toml"));
}

#[test]
fn an_rt_app_file_is_read_and_what_is_not_used_is_named() {
    let home = Home::aside();
    let file = r#"{ "tasks": { "a": { "policy": "SCHED_FIFO", "priority": 9, "run": 100, "mem": 3,
        "timer": { "ref": "unique", "period": 1000 } } }, "global": { "duration": 1 } }"#;
    let answer = check(&home, "demo.json", file, &[]);
    let text = &answer.fine().stdout;
    assert!(
        text.contains("The task meets its deadlines in the worst case"),
        "{text}"
    );
    assert!(text.contains("tasks.a.mem"), "{text}");
    let aperiodic = file.replace("\"timer\"", "\"sleep\"");
    let answer = check(&home, "demo.json", &aperiodic, &[]);
    assert!(refused(&answer, 2).contains("tasks.a: has no timer"));
}

/// Puts a run of `watch` into the store that saw two threads, after `edit` of what it saw.
fn watched(home: &Home, edit: impl FnOnce(&mut Value)) -> String {
    let mut record = stored::record();
    let id = "01900000-0000-7000-8000-000000000002";
    record["id"] = json!(id);
    record["instrument"] = json!("watch");
    let phase = |name: &str, max_ns: u64| json!({ "phase": name, "mean_ns": 1.0, "late_mean_ns": null, "max_ns": max_ns });
    let thread = |number: u32, name: &str, period: u64, running: u64| {
        json!({
            "thread": number, "tid": 100 + number, "name": name, "policy": format!("f:{}", 80 - number), "cycle_at": null,
            "period_ns": period, "timed_releases": 100, "cycles": 100, "missed_releases": 0,
            "phases": [phase("timer", 4_000), phase("wake-up", 6_000), phase("running", running), phase("interrupted", 1_000)],
            "by_response": [], "late": { "limit_ns": period, "rule": "period", "count": 0, "examined": 0 },
            "culprits": [], "worst": [], "calls": [], "page_faults": 0, "migrations": 3
        })
    };
    record["watched"] = json!({
        "threads": [thread(0, "servo", 1_000_000, 150_000), thread(1, "plan", 10_000_000, 2_000_000)],
        "idle_threads": 0, "unwatched_threads": 0, "records": 1, "inferred_switches": 0, "unknown": [],
        "habits": [], "habits_judged": 2
    });
    edit(&mut record);
    let record: punctual_model::RunRecord = serde_json::from_value(record).unwrap();
    let store = punctual_store::Store::open(home.store()).unwrap();
    let writer = store
        .begin(id.parse().unwrap(), punctual_store::Raw::Drop)
        .unwrap();
    writer.finish(&record).unwrap();
    id.to_owned()
}

#[test]
fn a_set_made_of_a_watched_program_marks_its_times_as_observed() {
    let home = Home::aside();
    let id = watched(&home, |_| {});
    let file = home.dir().join("seen.toml").display().to_string();
    home.run(["tasks", "new", "--from", "last", "--output", &file])
        .fine();
    let text = String::from_utf8(fs::read(&file).unwrap()).unwrap();
    assert!(text.contains(&format!("observed-in = \"{id}\"")), "{text}");
    assert!(
        text.contains("no worst cases") && !text.to_lowercase().contains("wcet"),
        "{text}"
    );
    assert!(text.contains("execution = \"151us\""), "{text}");
    let answer = home.run(["tasks", "check", &file, "--cpus=0", "--json"]);
    let json = answer.fine().json();
    assert_eq!(json["set"]["overheads"]["wake_up_ns"], 10_000);
    let assumed = json["assumptions"].to_string();
    assert!(
        assumed.contains("2 of 2 execution times are maxima observed in run"),
        "{assumed}"
    );
    // The file is not overwritten, and a set may also name the run.
    let again = home.run(["tasks", "new", "--from", "last", "--output", &file]);
    again.error(1, &["exists"]);
    let named = "[[task]]\nname = 'servo'\nperiod = '1ms'\nexecution = 'observed in last'";
    let json = check(&home, "named.toml", named, &["--json"]).fine().json();
    assert_eq!(json["set"]["tasks"][0]["execution_ns"], 151_000);
    let unknown = named.replace("'servo'", "'serva'");
    let answer = check(&home, "named.toml", &unknown, &[]);
    assert!(refused(&answer, 2).contains("it has plan, servo"));
    let json = home
        .run(["tasks", "new", "--from", "last", "--json"])
        .fine()
        .json();
    assert_valid(&schema("tasks.schema.json"), &json);
}

/// The set that is made of a run of which `edit` changes what was seen, and what a check of it in JSON says.
fn seen(options: &[&str], edit: impl FnOnce(&mut Value)) -> (String, Value) {
    let home = Home::aside();
    watched(&home, edit);
    let file = home.dir().join("seen.toml").display().to_string();
    home.run(["tasks", "new", "--from", "last", "--output", &file])
        .fine();
    let check = [&["tasks", "check", &file, "--json"], options].concat();
    let json = home.run(check).json();
    (String::from_utf8(fs::read(&file).unwrap()).unwrap(), json)
}

#[test]
fn a_deadline_thread_has_the_reservation_that_the_kernel_gave_it() {
    let (text, json) = seen(&["--cpus=0"], |record| {
        let threads = record["watched"]["threads"].as_array_mut().unwrap();
        threads.truncate(1);
        let edf = &mut threads[0];
        edf["policy"] = json!("d:2000000ns:4000000ns");
        edf["period_ns"] = json!(4_000_000);
        edf["phases"][2]["max_ns"] = json!(3_050_000);
        edf["late"] =
            json!({ "limit_ns": 3_500_000, "rule": "deadline", "count": 9, "examined": 9 });
    });
    assert!(text.contains("runtime = \"2ms\""), "{text}");
    // The kernel does not know the deadline that `watch` was given.
    assert!(!text.contains("\ndeadline = "), "{text}");
    assert!(text.contains("and not the 3.5 ms that"), "{text}");
    // Half of the CPU, in units of 2^-20.
    assert_eq!(json["admission"]["asked"], 1 << 19, "{json:#}");
    assert_eq!(json["verdict"], "not_shown");
    let why = json["tasks"][0]["why"].as_str().unwrap();
    assert!(
        why.contains("runtime is shorter than its execution time"),
        "{why}"
    );
}

#[test]
fn cycles_that_share_a_period_of_their_reservation_are_one_job() {
    let (text, _) = seen(&[], |record| {
        record["watched"]["threads"][0]["policy"] = json!("d:500000ns:4000000ns");
        record["watched"]["threads"][1]["policy"] = json!("deadline");
    });
    assert!(text.contains("period = \"4ms\""), "{text}");
    assert!(text.contains("execution = \"604us\""), "{text}");
    assert!(text.contains("come every 1 ms, and 4 of them"), "{text}");
    assert!(text.contains("deadline and period of plan that"), "{text}");
}

#[test]
fn a_thread_that_may_move_is_not_said_to_be_bound_to_the_cpu_that_it_was_on() {
    let stayed = |record: &mut Value| {
        let threads = record["watched"]["threads"].as_array_mut().unwrap();
        for (cpu, thread) in threads.iter_mut().enumerate() {
            thread["migrations"] = json!(0);
            thread["worst"] = json!([{
                "number": 7, "release_ns": 0, "response_ns": 9, "cpus": [],
                "pieces": [
                    { "from_ns": 0, "to_ns": 4, "cpu": 1 - cpu, "phase": "timer", "cause": "idle" },
                    { "from_ns": 4, "to_ns": 9, "cpu": cpu, "phase": "running", "cause": "itself" }
                ]
            }]);
        }
    };
    let habit = |id: &str, threads: &[u32]| {
        json!({
            "rule": { "id": id, "severity": "medium", "title": "t", "why": "w", "fix": "f", "fixed_by": ["setup"], "knobs": [], "source": "s" },
            "threads": threads, "says": "s", "evidence": [], "count": null, "cycles": null,
            "total_ns": null, "max_ns": null
        })
    };
    let bound = |text: &str| text.matches("\ncpus = ").count();

    let (text, _) = seen(&["--cpus=0-1"], stayed);
    assert_eq!(bound(&text), 2, "{text}");

    let (text, json) = seen(&["--cpus=0-1"], |record| {
        stayed(record);
        record["watched"]["habits"] = json!([habit("not-pinned", &[0, 1])]);
    });
    assert_eq!(bound(&text), 0, "{text}");
    let assumed = json["assumptions"].to_string();
    assert!(
        assumed.contains("May use all CPUs: servo, plan; in run"),
        "{assumed}"
    );

    // One thread was not looked at, and only of servo it is known that it is another.
    let (text, _) = seen(&["--cpus=0-1"], |record| {
        stayed(record);
        record["watched"]["set_up_unjudged"] = json!(1);
        record["watched"]["habits"] = json!([habit("memory-not-locked", &[0])]);
    });
    assert_eq!(bound(&text), 1, "{text}");
    assert!(text.contains("May use all CPUs: plan; run"), "{text}");

    let (text, _) = seen(&["--cpus=0-1"], |record| {
        stayed(record);
        record["watched"]["habits_judged"] = json!(null);
    });
    assert_eq!(bound(&text), 0, "{text}");
}

#[test]
fn what_the_run_saw_go_wrong_or_did_not_see_is_assumed_not_to_matter() {
    let (text, json) = seen(&["--cpus=0-1"], |record| {
        record["duration_ns"] = json!(6_000_000_000_u64);
        let watched = &mut record["watched"];
        watched["idle_threads"] = json!(2);
        let mut other = watched["threads"][1].clone();
        (other["name"], other["period_ns"]) = (json!("other"), json!(null));
        watched["threads"].as_array_mut().unwrap().push(other);
        let servo = &mut watched["threads"][0];
        servo["late"]["count"] = json!(12);
        servo["missed_releases"] = json!(5);
        servo["open_ns"] = json!(5_900_000_000_u64);
    });
    assert!(
        text.contains(
            "# servo: 100 cycles, 12 of them longer than the period of 1 ms; 5 more releases passed"
        ),
        "{text}"
    );
    assert!(text.contains("# plan: 100 cycles.\n"), "{text}");
    assert_eq!(json["verdict"], "shown", "{json:#}");
    let assumed = json["assumptions"].to_string();
    for what in [
        "What made cycles of servo late",
        "What let 5 releases of servo pass",
        "What kept servo from ending its last cycle",
        "plan always does what it did in its 100 cycles; they cover 1 s of the 6 s",
        "read them once",
        "other (f:79), 2 that waited too seldom",
    ] {
        assert!(assumed.contains(what), "{what}: {assumed}");
    }
    assert!(!assumed.contains("servo always does"), "{assumed}");

    // A set that names the run rests on the same.
    let home = Home::aside();
    watched(&home, |record| {
        record["watched"]["threads"][0]["open_ns"] = json!(5_900_000_000_u64);
    });
    let named = "[[task]]\nname = 'servo'\nperiod = '1ms'\nexecution = 'observed in last'";
    let json = check(&home, "named.toml", named, &["--json"]).fine().json();
    let assumed = json["assumptions"].to_string();
    assert!(assumed.contains("What kept servo from ending"), "{assumed}");
}

#[test]
fn overheads_of_a_run_say_what_they_rest_on() {
    let home = Home::aside();
    let id = watched(&home, |record| {
        record["valid"] = json!(false);
        record["checks"] = json!([{ "id": "lost-samples", "status": "fail", "detail": "9 lost" }]);
    });
    let rests = format!("What run {id} saw is right, although the run is not valid (lost-samples)");
    let wake_up = format!("No wake-up takes longer than the longest observed in run {id}");
    let others = "No switch or interrupt takes longer than [overheads] says";
    let none = "Switches and interrupts take no time: [overheads] has none";
    let task = "[[task]]\nname = 'servo'\nperiod = '1ms'\nexecution = '100us'\n";
    for (overheads, expected, not) in [
        ("", none, others),
        (
            "[overheads]\nwake-up = '1us'\nswitch = '2us'\n",
            others,
            none,
        ),
    ] {
        let set = format!("{overheads}{task}");
        let answer = check(&home, "own.toml", &set, &["--overheads", "last", "--json"]);
        let assumed = &answer.fine().json()["assumptions"];
        let has = |text: &str| assumed.as_array().unwrap().contains(&json!(text));
        assert!(
            has(&rests) && has(&wake_up) && has(expected) && !has(not),
            "{assumed:#}"
        );
    }
}

#[test]
fn waits_within_cycles_that_the_run_saw_leave_nothing_shown() {
    let waits = |record: &mut Value| {
        let phases = record["watched"]["threads"][0]["phases"].as_array_mut();
        phases.unwrap().push(
            json!({"phase": "blocked", "mean_ns": 9.0, "late_mean_ns": null, "max_ns": 300_000}),
        );
    };
    let (text, json) = seen(&["--cpus=0"], waits);
    assert!(text.contains("waits = \"300us\"\n"), "{text}");
    assert_eq!(json["verdict"], "not_shown", "{json:#}");
    let why = json["tasks"][1]["why"].to_string();
    assert!(why.contains("jobs of servo wait for up to 300 µs"), "{why}");
    let home = Home::aside();
    watched(&home, waits);
    let named = "[[task]]\nname = 'servo'\nperiod = '1ms'\nexecution = 'observed in last'";
    let json = check(&home, "named.toml", named, &["--json"]).json();
    assert_eq!(json["verdict"], "not_shown", "{json:#}");
}

#[test]
fn a_run_that_watched_nothing_makes_no_set() {
    let home = Home::aside();
    home.quick(&[]);
    let answer = home.run(["tasks", "new", "--from", "last"]);
    assert!(refused(&answer, 1).contains("only `watch` sees"));
}
