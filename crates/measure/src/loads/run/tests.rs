// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How loads start, report and end.

use punctual_model::{CpuSet, Policy};

use super::*;
use crate::loads::program::look_for;

fn loads(texts: &[&str]) -> Vec<LoadSpec> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn start(texts: &[&str], cpus: u32) -> io::Result<LoadRun> {
    LoadRun::start(
        &SysRoot::live(),
        &loads(texts),
        cpus,
        &AtomicBool::new(false),
        &|_, _| true,
    )
}

/// Runs loads until each has reported twice, and returns what they said.
fn two_reports(texts: &[&str]) -> Vec<Report> {
    let loads = loads(texts);
    let stop = AtomicBool::new(false);
    let mut said = Vec::new();
    let enough = 1 + 2 * loads.len();
    run(&SysRoot::live(), &loads, 1, &stop, &mut |report| {
        said.push(report.clone());
        match said.len() < enough {
            true => Ok(()),
            false => Err(io::ErrorKind::BrokenPipe.into()),
        }
    })
    .unwrap();
    said
}

#[test]
fn loads_report_work_and_end() {
    let said = two_reports(&[
        "cpu:1",
        "memory:64K",
        "tmpfs:64K",
        "sched:1@nice=3@intensity=30%",
    ]);
    assert_eq!(said[0], Report::Ready);
    assert_eq!(said.len(), 9, "{said:?}");
    for (place, report) in [0, 1, 2, 3].into_iter().cycle().zip(&said[1..]) {
        let Report::Work {
            place: at,
            done,
            rounds,
        } = report
        else {
            panic!("{report}");
        };
        assert_eq!(*at, place);
        assert!(*done > 0 && *rounds >= 1, "{report}");
    }
}

#[test]
fn what_takes_long_before_loads_begin_is_told_and_ends_when_nobody_wants_it() {
    let stop = AtomicBool::new(false);
    let mut said = Vec::new();
    let mut say = |report: &Report| {
        said.push(report.to_string());
        match said.len() {
            1 => Ok(()),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    };
    let say = RefCell::new(&mut say as &mut Say<'_>);
    let io: LoadSpec = "io@size=10G".parse().unwrap();
    assert!(telling(&say, &stop, Duration::MAX)(&io, "writing its file"));
    let now = telling(&say, &stop, Duration::ZERO);
    assert!(now(&io, "writing its file"));
    assert!(!now(&io, "writing its file"), "nobody listens");
    stop.store(true, Ordering::Relaxed);
    assert!(!now(&io, "writing its file"));
    drop(now);
    assert_eq!(said, ["preparing io@size=10G: writing its file"; 2]);
}

#[test]
fn loads_that_are_not_wanted_any_more_before_they_begin_are_no_error() {
    if look_for("fio").is_err() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let loads = loads(&[&format!("io@dir={}", dir.path().display())]);
    let stop = AtomicBool::new(true);
    run(&SysRoot::live(), &loads, 1, &stop, &mut |report| {
        panic!("{report}")
    })
    .unwrap();
}

#[test]
fn a_privilege_of_our_file_is_not_lent_to_programs_that_somebody_names() {
    let no_real_time = |policy: Policy| !policy.is_real_time();
    for lent in [
        "cmd:true@policy=f:1",
        "stress-ng:--cpu 1@policy=r:1",
        "io@policy=f:1",
    ] {
        let err = check_right(&loads(&["cpu", lent]), no_real_time).unwrap_err();
        assert_eq!(err.kind(), io::ErrorKind::Unsupported);
        for part in ["file", "sudo", "ulimit -r"] {
            assert!(err.to_string().contains(part), "{err}");
        }
    }
    let own = [
        "cpu@policy=f:1",
        "fork@policy=f:1",
        "cmd:true",
        "cmd:true@nice=5",
    ];
    check_right(&loads(&own), no_real_time).unwrap();
    check_right(&loads(&["cmd:true@policy=f:1"]), |_| true).unwrap();
}

#[test]
fn a_load_larger_than_the_memory_is_refused_before_it_starts() {
    let err = start(&["memory:1T"], 8).unwrap_err();
    assert_eq!(err.kind(), io::ErrorKind::OutOfMemory);
}

#[test]
fn cpus_that_are_not_to_be_had_are_a_wrong_command() {
    let err = start(&["memory:64K", "cpu@cpus=1023"], 1).unwrap_err();
    assert_eq!(err.kind(), io::ErrorKind::InvalidInput);
    let told = err.to_string();
    assert!(
        told.starts_with("cpu@cpus=1023: CPUs 1023 are not"),
        "{told}"
    );
}

#[test]
fn real_time_loads_leave_a_cpu_or_some_time_where_nothing_throttles_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("proc/sys/kernel");
    std::fs::create_dir_all(&path).unwrap();
    let sys = SysRoot::at(dir.path());
    let allowed: CpuSet = "0-1".parse().unwrap();
    let check = |texts: &[&str]| check_real_time(&sys, &loads(texts), &allowed);
    let write = |runtime: &str| {
        std::fs::write(path.join("sched_rt_runtime_us"), runtime).unwrap();
        std::fs::write(path.join("sched_rt_period_us"), "1000000\n").unwrap();
    };
    write("950000\n");
    check(&["cpu@policy=f:1"]).unwrap();
    for off in ["-1\n", "1000000\n"] {
        write(off);
        let err = check(&["cpu@policy=f:1"]).unwrap_err();
        assert_eq!(err.kind(), io::ErrorKind::InvalidInput);
        check(&["cpu@policy=f:1@cpus=0", "cpu@policy=r:1@cpus=1"]).unwrap_err();
        check(&["cpu@policy=f:1@cpus=0", "cpu@cpus=1", "memory"]).unwrap();
        check(&["cpu@policy=f:1@intensity=95%"]).unwrap();
        check(&["cpu", "memory"]).unwrap();
    }
}

#[test]
fn one_thread_that_stands_still_makes_its_load_stand_still() {
    let mut progress = Progress {
        load: "cpu:2".parse().unwrap(),
        rounds: 0,
        at_round: vec![0, 0],
        dead: false,
        unit_said: false,
    };
    progress.advance(vec![900, 5]);
    assert_eq!(progress.rounds, 1);
    // The first stands still far ahead of the second.
    progress.advance(vec![900, 10]);
    progress.advance(vec![900, 20]);
    assert_eq!(progress.rounds, 1);
    progress.advance(vec![901, 20]);
    assert_eq!(progress.rounds, 2);
}

#[test]
fn one_refused_thread_fails_all_at_once() {
    let stop = AtomicBool::new(false);
    let mut run = start(&["cpu:2"], 1).unwrap();
    run.wait_for_all(&stop).unwrap();
    let task = crate::loads::compute::memory(1 << 62, 1);
    let spec = run.loads[0].load.clone();
    let thread = run.spawn(0, &spec, task, Instant::now()).unwrap();
    run.threads.push(thread);
    let err = run.wait_for_all(&stop).unwrap_err();
    let told = err.to_string();
    assert!(told.contains("thread 1 could not get "), "{told}");
    assert_eq!(err.kind(), io::ErrorKind::OutOfMemory);
}

#[test]
fn a_thread_that_ends_without_work_is_told() {
    let mut run = start(&["cpu:1"], 1).unwrap();
    let spec = run.loads[0].load.clone();
    let thread = run
        .spawn(0, &spec, Box::new(|_| Ok(())), Instant::now())
        .unwrap();
    run.threads.push(thread);
    let err = run.wait_for_all(&AtomicBool::new(false)).unwrap_err();
    assert_eq!(err.to_string(), "cpu:1: a thread ended unexpectedly");
}

#[test]
fn a_load_that_dies_is_told_once_and_the_others_go_on() {
    let mut run = start(&["cpu:1", "cpu:1"], 1).unwrap();
    let spec = run.loads[1].load.clone();
    for _ in 0..2 {
        let task: Task = Box::new(|shift| {
            shift.did(1);
            Err(io::Error::other("the disk is full"))
        });
        let thread = run.spawn(1, &spec, task, Instant::now()).unwrap();
        run.threads.push(thread);
    }
    let (mut deaths, mut work) = (Vec::new(), 0);
    let mut looks = 0;
    // Wait for both, then a little longer: a death must be reported only once.
    while looks < 20 || work == 0 || deaths.is_empty() {
        for report in run.reports() {
            match report {
                Report::Died { place, reason } => deaths.push((place, reason)),
                Report::Work { place: 0, done, .. } => work = done,
                _ => {}
            }
        }
        std::thread::sleep(Duration::from_millis(10));
        looks += 1;
    }
    assert_eq!(deaths, [(1, "the disk is full".to_owned())]);
    assert!(work > 0);
}
