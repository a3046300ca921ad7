// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Threads whose CPUs are offline when they are to get them back.

use punctual_model::ThreadId;

use super::*;

const ONLINE: &str = "/sys/devices/system/cpu/online";
const CPU1: &str = "/sys/devices/system/cpu/cpu1/online";

fn thread() -> Target {
    Target::ThreadCpus(ThreadId {
        tid: 7,
        started_ticks: 1,
        name: "shell".to_owned(),
    })
}

/// A machine on which CPUs 0 and 1 are online, and a thread with these CPUs.
fn machine(cpus: &str, manner: Manner) -> Bench {
    let name = thread().to_string();
    let bench = Bench::new(&[
        (&name, cpus, manner),
        (ONLINE, "0-1", Manner::Takes),
        (CPU1, "1", Manner::Takes),
    ]);
    bench.fake.moves([CPU1, "1"], [ONLINE, "0-1"]);
    bench.fake.moves([CPU1, "0"], [ONLINE, "0"]);
    bench
}

/// Moves the thread to CPU 0, and then takes further steps.
fn moved(bench: &Bench, cpus: &str, further: &[(&str, &str, &str)]) -> Journal {
    let mut plan = plan(&[("threads.kernel", cpus, "0")]);
    plan.steps[0].target = thread();
    plan.steps[0].codec = Codec::List;
    plan.steps.extend(super::plan(further).steps);
    let header = Header {
        online: Some(bench.online.clone()),
        ..header(0)
    };
    let mut journal = Journal::begin(vec![bench.place()], header, &plan).unwrap();
    apply(&mut journal, &bench.hand(&bench.fake, OnFailure::GoOn)).unwrap();
    assert_eq!(bench.fake.dump()[&thread().to_string()], "0");
    journal
}

/// Reverts while these CPUs are online.
fn revert_with(bench: &Bench, journal: &mut Journal, online: &str) -> Reverted {
    let sys = SysRoot::at(bench.dir.path());
    revert(journal, &bench.fake, &sys, &online.parse().unwrap())
}

fn now(bench: &Bench) -> String {
    bench.fake.dump()[&thread().to_string()].clone()
}

#[test]
fn a_thread_is_not_restored_before_its_cpu_is_online_again() {
    let bench = machine("0-1", Manner::CutsTo(ONLINE));
    let mut journal = moved(&bench, "0-1", &[]);
    bench.fake.set(ONLINE, "0");
    let reverted = revert_with(&bench, &mut journal, "0");
    let value = "0".to_owned();
    assert_eq!(undone(&reverted), [Undone::NotRestored { value }]);
    assert!(!reverted.complete && reverted.again, "{reverted:#?}");
    assert_eq!(reverted.missing.to_string(), "1");
    drop(journal);
    bench.fake.set(ONLINE, "0-1");
    let reverted = revert_with(&bench, &mut bench.found(), "0-1");
    assert!(reverted.complete && !reverted.again, "{reverted:#?}");
    assert!(reverted.missing.is_empty());
    assert_eq!(now(&bench), "0-1");
}

#[test]
fn a_kernel_that_takes_masks_with_offline_cpus_restores_them_at_once() {
    let bench = machine("0-1", Manner::Takes);
    let reverted = revert_with(&bench, &mut moved(&bench, "0-1", &[]), "0");
    assert!(reverted.complete && !reverted.again, "{reverted:#?}");
    assert_eq!(now(&bench), "0-1");
}

#[test]
fn a_cpu_that_the_session_took_offline_is_back_before_its_threads() {
    for manner in [Manner::CutsTo(ONLINE), Manner::Takes] {
        let bench = machine("0-1", manner);
        let mut journal = moved(&bench, "0-1", &[(CPU1, "1", "0")]);
        assert_eq!(bench.fake.dump()[ONLINE], "0");
        let reverted = revert_with(&bench, &mut journal, "0");
        assert!(reverted.complete && !reverted.again, "{reverted:#?}");
        assert_eq!((&*now(&bench), &*bench.fake.dump()[CPU1]), ("0-1", "1"));
    }
}

#[test]
fn cpus_that_were_offline_before_or_are_gone_for_good_are_no_loss() {
    // CPUs 2 to 7 never were online.
    let bench = machine("0-7", Manner::CutsTo(ONLINE));
    let reverted = revert_with(&bench, &mut moved(&bench, "0-7", &[]), "0-1");
    assert!(reverted.complete && !reverted.again, "{reverted:#?}");
    assert_eq!(now(&bench), "0-1");
    // CPU 1 is no longer part of the machine.
    let bench = machine("0-1", Manner::CutsTo(ONLINE));
    let mut journal = moved(&bench, "0-1", &[]);
    bench.fake.set(ONLINE, "0");
    let cpu = bench.dir.path().join("sys/devices/system/cpu");
    std::fs::create_dir_all(&cpu).unwrap();
    std::fs::write(cpu.join("present"), "0\n").unwrap();
    let reverted = revert_with(&bench, &mut journal, "0");
    assert!(reverted.complete && !reverted.again, "{reverted:#?}");
}

#[test]
fn what_older_kernels_make_of_threads_with_their_group_is_taken_back() {
    const GROUP: &str = "/sys/fs/cgroup/system.slice/cpuset.cpus";
    const CPU3: &str = "/sys/devices/system/cpu/cpu3/online";
    let thread = |tid: i32| {
        Target::ThreadCpus(ThreadId {
            tid,
            started_ticks: 1,
            name: "daemon".to_owned(),
        })
    };
    let (logger, database) = (thread(7), thread(8));
    let [logs, stores] = [&logger, &database].map(ToString::to_string);
    let mut bench = Bench::new(&[
        (GROUP, "0-3", Manner::Takes),
        (CPU3, "1", Manner::Takes),
        (&logs, "0", Manner::CutsTo(GROUP)),
        (&stores, "0,2", Manner::CutsTo(GROUP)),
    ]);
    bench.online = "0-3".parse().unwrap();
    for name in [&logs, &stores] {
        for cpus in ["0-1,3", "0-3"] {
            bench.fake.moves([GROUP, cpus], [name, cpus]);
        }
        bench.fake.moves([CPU3, "0"], [name, "0-1"]);
        bench.fake.moves([CPU3, "1"], [name, "0-1,3"]);
    }
    let before = bench.fake.dump();
    let step = |knob: &str, target: Target, [old, new]: [&str; 2]| PlanStep {
        knob: knob.to_owned(),
        instance: None,
        target,
        codec: Codec::List,
        old: old.to_owned(),
        new: new.to_owned(),
    };
    let guard = |target: &Target, old: &str| KnobGuard {
        knob: "threads.affinity".to_owned(),
        instance: None,
        target: target.clone(),
        codec: Codec::List,
        old: old.to_owned(),
    };
    let mut plan = Plan {
        steps: vec![
            step("cgroup.cpus", Target::file(GROUP), ["0-3", "0-1,3"]),
            step("threads.affinity", database.clone(), ["0,2", "0"]),
        ],
        guards: vec![guard(&logger, "0"), guard(&database, "0,2")],
        ..Plan::default()
    };
    let (mut journal, _) = bench.apply(&plan);
    let now = bench.fake.dump();
    assert_eq!((&*now[&logs], &*now[&stores]), ("0-1,3", "0"));
    let reverted = bench.revert(&mut journal);
    assert!(reverted.complete, "{reverted:#?}");
    assert_eq!(bench.fake.dump(), before);
    // A CPU that goes offline afterwards is one more reason for the kernel.
    plan.steps
        .push(step("cpu.online", Target::file(CPU3), ["1", "0"]));
    let (mut journal, _) = bench.apply(&plan);
    assert_eq!(bench.fake.dump()[&stores], "0-1");
    let reverted = bench.revert(&mut journal);
    assert!(reverted.complete, "{reverted:#?}");
    assert_eq!(bench.fake.dump(), before);
    // What its owner has done since stays.
    let (mut journal, _) = bench.apply(&plan);
    bench.fake.set(&stores, "1");
    let reverted = bench.revert(&mut journal);
    let theirs = |undone: &Undone| matches!(undone, Undone::Conflict { .. });
    assert!(undone(&reverted).iter().any(theirs), "{reverted:#?}");
    assert_eq!(bench.fake.dump()[&logs], "0");
}
