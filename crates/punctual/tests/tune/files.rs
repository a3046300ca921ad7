// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Plans, changes and reverts on a machine of files.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::finish;
use crate::tree::Tree;

fn schema(name: &str) -> jsonschema::Validator {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/schemas")
        .join(name);
    let schema: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

pub(crate) fn assert_valid(name: &str, document: &Value) {
    let schema = schema(name);
    let errors: Vec<String> = schema
        .iter_errors(document)
        .map(|e| e.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn a_plan_changes_nothing_and_says_what_it_would() {
    let tree = Tree::new();
    let before = tree.dump();
    let text = tree.tune("plan --isolate 3").fine().stdout.clone();
    assert!(
        text.contains("3 for real-time work, 0-2 for everything else"),
        "{text}"
    );
    assert!(text.contains("irq.affinity"), "{text}");
    assert!(
        text.contains("CPUs 1 share cores with those for real-time work (3)"),
        "{text}"
    );
    let explained = tree
        .tune("plan --isolate 3 --explain")
        .fine()
        .stdout
        .clone();
    assert!(explained.len() > text.len());
    for args in ["plan --json", "apply --dry-run --json", "plan raju --json"] {
        let plan = tree.tune(args).fine().json();
        assert_valid("plan.schema.json", &plan);
        assert!(!plan["steps"].as_array().unwrap().is_empty());
    }
    assert_valid(
        "knobs.schema.json",
        &tree.tune("knobs --json").fine().json(),
    );
    assert_eq!(tree.dump(), before);
    assert!(!tree.state().exists());
}

#[test]
fn changes_are_applied_shown_and_taken_back() {
    let tree = Tree::new();
    let before = tree.dump();
    let report = tree.tune("apply --set vm.swappiness=10 --set irq.affinity=0-2 --json");
    let report = report.fine().json();
    assert_valid("tuning.schema.json", &report);
    assert_eq!(report["steps"].as_array().unwrap().len(), 3);
    assert_eq!(tree.read("proc/sys/vm/swappiness"), "10");
    assert_eq!(tree.read("proc/irq/24/smp_affinity"), "7");
    let status = tree.tune("status --json").fine().json();
    assert_valid("tuning.schema.json", &status);
    assert_eq!(status["session"]["profile"], "set");
    // A second one would not know what was before the first.
    tree.tune("apply latency")
        .error(1, &["are not reverted"])
        .hinted();
    let reverted = tree.tune("revert --json").fine().json();
    assert_valid("tuning.schema.json", &reverted);
    assert_eq!(reverted["complete"], true);
    // A mask without leading zeros is the same mask.
    assert_eq!(tree.dump(), before);
    assert!(
        tree.tune("revert")
            .fine()
            .stdout
            .contains("Nothing to revert")
    );
    assert!(
        tree.tune("status")
            .fine()
            .stdout
            .contains("nothing is changed")
    );
}

#[test]
fn the_next_start_says_that_changes_are_still_there() {
    let tree = Tree::new();
    tree.tune("apply --set vm.swappiness=10").fine();
    let plan = tree.tune("plan");
    assert!(
        plan.fine()
            .stderr
            .contains("`punctual tune revert` undoes it"),
        "{plan:?}"
    );
}

#[test]
fn a_value_that_someone_else_set_is_left_alone_and_told() {
    let tree = Tree::new();
    tree.tune("apply --set vm.swappiness=10 --set vm.stat_interval=7")
        .fine();
    tree.write("proc/sys/vm/swappiness", "33");
    let status = tree.tune("status").fine().stdout.clone();
    assert!(
        status.contains("vm.swappiness reads 33 now, not 10")
            && status.starts_with("Tuned in part"),
        "{status}"
    );
    let answer = tree.tune("revert");
    assert_eq!(answer.code(), 4, "{answer:?}");
    assert!(
        answer
            .stdout
            .contains("33: another program set it, left alone"),
        "{answer:?}"
    );
    assert_eq!(tree.read("proc/sys/vm/swappiness"), "33");
    assert_eq!(tree.read("proc/sys/vm/stat_interval"), "1");
    let status = tree.tune("status").fine().stdout.clone();
    assert!(status.contains("left vm.swappiness at 33"), "{status}");
    tree.tune("apply --set vm.stat_interval=7").fine();
}

#[test]
fn a_journal_of_another_boot_is_history() {
    let tree = Tree::new();
    tree.tune("apply --set vm.swappiness=10").fine();
    tree.write("proc/sys/kernel/random/boot_id", "boot-2");
    tree.write("proc/sys/vm/swappiness", "60");
    let status = tree.tune("status").fine().stdout.clone();
    assert!(status.contains("was rebooted since"), "{status}");
    let reverted = tree.tune("revert").fine().stdout.clone();
    assert!(reverted.contains("before the last reboot"), "{reverted}");
    tree.tune("apply --set vm.swappiness=10").fine();
}

#[test]
fn a_journal_that_a_crash_cut_off_undoes_what_it_has() {
    let tree = Tree::new();
    let before = tree.dump();
    let journal = tree.state().join("journal");
    tree.tune("apply --set vm.swappiness=10 --set vm.stat_interval=7")
        .fine();
    let whole = fs::read(&journal).unwrap();
    // The lines of the session and of the two settings were there before anything was changed.
    for cut in [1, 20] {
        fs::write(&journal, &whole[..whole.len() - cut]).unwrap();
        // The machine-wide record alone would do.
        tree.lose_record();
        let reverted = tree.tune("revert").fine().stdout.clone();
        assert!(reverted.contains("was cut off"), "{reverted}");
        assert_eq!(tree.dump(), before);
        tree.write("proc/sys/vm/swappiness", "10");
        tree.write("proc/sys/vm/stat_interval", "7");
    }
    fs::write(&journal, "").unwrap();
    assert!(
        tree.tune("revert")
            .fine()
            .stdout
            .contains("Nothing to revert")
    );
    fs::write(&journal, "{\"rec").unwrap();
    tree.tune("apply --set vm.swappiness=11")
        .error(1, &["was cut off"])
        .hinted();
    // Nobody knows what it undid: it is kept aside, and is in nobody's way.
    let reverted = tree.tune("revert");
    assert_eq!(reverted.code(), 4, "{reverted:#?}");
    for part in ["was cut off", "journal.damaged"] {
        let said = reverted.stdout.split_whitespace().collect::<String>();
        assert!(said.contains(&part.replace(' ', "")), "{reverted:#?}");
    }
    tree.tune("apply --set vm.swappiness=11").fine();
}

#[test]
fn a_journal_that_is_cut_off_among_its_settings_is_said_to_be_damaged() {
    let tree = Tree::new();
    tree.tune("apply --set vm.swappiness=10 --set vm.stat_interval=7")
        .fine();
    tree.lose_record();
    let journal = tree.state().join("journal");
    let text = String::from_utf8(fs::read(&journal).unwrap()).unwrap();
    let second = text
        .match_indices("{\"record\":\"setting\"")
        .nth(1)
        .unwrap()
        .0;
    fs::write(&journal, &text[..second + 20]).unwrap();
    let status = tree.tune("status");
    assert_eq!(status.code(), 4, "{status:?}");
    assert!(
        status.stdout.contains("the journal is damaged"),
        "{status:?}"
    );
    let reverted = tree.tune("revert");
    assert_eq!(reverted.code(), 4, "{reverted:?}");
    assert!(reverted.stdout.starts_with("NOT RESTORED"), "{reverted:?}");
    assert!(reverted.stdout.contains("1 of its 2"), "{reverted:?}");
}

#[test]
fn a_plan_of_which_nothing_can_be_had_is_no_success() {
    let tree = Tree::new();
    for verb in ["plan", "apply"] {
        let answer = tree.tune(&format!("{verb} --set cpu.online@99=off"));
        assert_eq!(answer.code(), 5, "{answer:?}");
        assert!(
            answer.stdout.starts_with("NOTHING CAN BE CHANGED"),
            "{answer:?}"
        );
    }
    let json = tree.tune("apply --set cpu.online@99=off --json").json();
    assert_eq!(json["complete"], false);
}

#[test]
fn damage_in_a_journal_is_told_and_the_rest_is_taken_back() {
    let tree = Tree::new();
    tree.tune("apply --set vm.swappiness=10 --set vm.stat_interval=7")
        .fine();
    tree.lose_record();
    let journal = tree.state().join("journal");
    let text = String::from_utf8(fs::read(&journal).unwrap()).unwrap();
    let damaged = text.replacen("{\"record\":\"setting\",\"seq\":0", "{\"record\":\"sett", 1);
    assert_ne!(damaged, text);
    fs::write(&journal, damaged).unwrap();
    let answer = tree.tune("revert");
    assert_eq!(answer.code(), 4, "{answer:?}");
    assert!(
        answer.stdout.contains("line 2 of the journal is damaged"),
        "{answer:?}"
    );
    assert_eq!(tree.read("proc/sys/vm/stat_interval"), "1");
    assert_eq!(tree.read("proc/sys/vm/swappiness"), "10");
}

#[test]
fn what_would_lock_the_user_out_is_refused() {
    let tree = Tree::new();
    let before = tree.dump();
    tree.write("sys/devices/system/cpu/cpu0/online", "1");
    for (args, part) in [
        ("apply --set cpu.online=off --yes", "all online CPUs"),
        ("apply --set cpu.online@0=off", "may not come back"),
        (
            "apply --set kernel.sched_rt_runtime_us=0",
            "no real-time thread runs",
        ),
    ] {
        tree.tune(args)
            .error(1, &["refused for safety", part])
            .hinted();
    }
    assert_eq!(tree.dump(), before);
    assert!(!tree.state().exists(), "nothing was begun");
    tree.tune("apply --set kernel.sched_rt_runtime_us=0 --yes")
        .fine();
    assert_eq!(tree.read("proc/sys/kernel/sched_rt_runtime_us"), "0");
}

#[test]
fn what_cannot_be_read_is_left_out_and_the_rest_is_done() {
    let tree = Tree::new();
    let before = tree.dump();
    tree.write("proc/sys/vm/nr_hugepages", "many");
    let answer = tree.tune("apply --set vm.swappiness=10 --set vm.nr_hugepages=2");
    assert_eq!(answer.code(), 1, "{answer:?}");
    let why = "vm.nr_hugepages could not be set: `many`";
    assert!(answer.stdout.contains(why), "{answer:?}");
    // Nor is it set because the other one is.
    let again = tree.tune("apply --json --set vm.swappiness=10 --set vm.nr_hugepages=2");
    assert_eq!(again.code(), 1, "{again:?}");
    let report = again.json();
    assert_eq!(report["complete"], false, "{report:#}");
    assert!(
        report["remarks"][0].as_str().unwrap().contains(why),
        "{report:#}"
    );
    assert_eq!(tree.read("proc/sys/vm/swappiness"), "10");
    let plan = tree.tune("plan --set vm.nr_hugepages=2");
    assert_eq!(plan.code(), 5, "{plan:?}");
    let plan = &plan.stdout;
    assert!(plan.contains("`many` is not a whole number"), "{plan}");
    tree.tune("revert").fine();
    assert_eq!(tree.dump(), before);
}

#[test]
fn a_bandwidth_goes_in_the_order_that_the_kernel_takes() {
    let tree = Tree::new();
    tree.write("sys/fs/cgroup/cpu/cpu.rt_runtime_us", "950000");
    tree.write("sys/fs/cgroup/cpu/cpu.rt_period_us", "1000000");
    let names = |args: &str| -> Vec<String> {
        let plan = tree.tune(args).fine().json();
        let steps = plan["steps"].as_array().unwrap().clone();
        steps
            .iter()
            .map(|s| s["knob"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        names("plan --json --set kernel.sched_rt_runtime_us=900000"),
        ["cgroup.rt_runtime_us", "kernel.sched_rt_runtime_us"]
    );
    assert_eq!(
        names("plan --json --set kernel.sched_rt_runtime_us=1000000"),
        ["kernel.sched_rt_runtime_us", "cgroup.rt_runtime_us"]
    );
}

#[test]
fn a_tuner_that_comes_first_makes_a_home_for_its_owner_alone() {
    let tree = Tree::new();
    let home = tree.root().join("home");
    let state = home.join("deep/tune");
    let apply = tree.command("apply --set vm.swappiness=20");
    let mut command = Command::new("sh");
    command
        .args(["-c", "umask 0; exec \"$0\" \"$@\""])
        .arg(apply.get_program())
        .args(apply.get_args())
        .arg("--state")
        .arg(&state)
        .stdin(Stdio::null());
    finish(command).fine();
    for made in [&home, &home.join("deep"), &state] {
        let mode = fs::metadata(made).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{}", made.display());
    }
    tree.tune(&format!("revert --state {}", Tree::shown(&state)))
        .fine();
}

#[test]
fn a_profile_of_ones_own_stands_on_another() {
    let tree = Tree::new();
    let path = tree.profile("base = \"latency\"\n[knobs]\nvm.swappiness = 5\n");
    let plan = tree.tune(&format!("plan {} --only vm --json", Tree::shown(&path)));
    let plan = plan.fine().json();
    let steps = plan["steps"].as_array().unwrap();
    let of = |knob: &str| steps.iter().find(|s| s["knob"] == knob).unwrap()["new"].clone();
    assert_eq!(of("vm.swappiness"), "5");
    assert_eq!(of("vm.stat_interval"), "120");
    assert!(
        steps
            .iter()
            .all(|s| s["knob"].as_str().unwrap().starts_with("vm."))
    );
    let printed = tree.tune("profiles isolate").fine().stdout.clone();
    assert!(
        printed.contains("irq.affinity = \"housekeeping\""),
        "{printed}"
    );
    assert!(tree.tune("profiles").fine().stdout.contains("throughput"));
}
