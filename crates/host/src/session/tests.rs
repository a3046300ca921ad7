// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Sessions on a machine of files.

mod damaged;

use std::fs;

use punctual_model::{Hold, Nanos, Undone};
use tempfile::TempDir;

use super::*;
use crate::plan;
use crate::testing::machine;

struct Bench {
    dir: TempDir,
    tuner: Tuner,
    sessions: std::cell::Cell<usize>,
}

impl Bench {
    fn new() -> Self {
        let (dir, sys) = machine(&[
            ("/proc/sys/kernel/random/boot_id", "boot-1"),
            ("/proc/uptime", "12.34 20.00"),
            ("/sys/devices/system/cpu/online", "0-1"),
            ("/proc/sys/vm/swappiness", "60"),
            ("/proc/sys/vm/stat_interval", "1"),
            ("/run/keep", ""),
        ]);
        let tuner = Tuner::new(&sys, &dir.path().join("state")).unwrap();
        let sessions = std::cell::Cell::default();
        Self {
            dir,
            tuner,
            sessions,
        }
    }

    fn plan(&self) -> Plan {
        let mut profile = Profile::empty("t");
        profile.set("vm.swappiness=10").unwrap();
        profile.set("vm.stat_interval=120").unwrap();
        let survey = Survey::read(&self.tuner.sys, Scope::Settings, true);
        plan::plan(&profile, &survey, &PlanOptions::default()).unwrap()
    }

    fn begin(&self) -> Result<Session, SessionError> {
        self.begin_with(self.plan())
    }

    fn begin_with(&self, plan: Plan) -> Result<Session, SessionError> {
        // An id is never given again.
        let earlier = self.sessions.replace(self.sessions.get() + 1);
        let purpose = Purpose {
            id: format!("id-1{}", ".again".repeat(earlier)),
            name: "apply".to_owned(),
            started: "2026-01-01T00:00:00Z".to_owned(),
            until: None,
            program: "test".to_owned(),
        };
        self.tuner.begin(plan, purpose)
    }

    fn apply(&self) -> Session {
        let mut session = self.begin().unwrap();
        let applied = session.apply(OnFailure::GoOn, &|| false).unwrap();
        assert_eq!(applied, Applied::Complete);
        session
    }

    fn value(&self, name: &str) -> String {
        let path = format!("/proc/sys/vm/{name}");
        self.tuner.sys.read(&path).unwrap()
    }

    fn boot(&mut self) {
        let path = self.dir.path().join("proc/sys/kernel/random/boot_id");
        fs::write(path, "boot-2\n").unwrap();
        self.tuner = Tuner::new(&self.tuner.sys, &self.tuner.dir).unwrap();
    }
}

#[test]
fn changes_stay_until_they_are_reverted() {
    let bench = Bench::new();
    let session = bench.apply();
    assert!(session.report().complete);
    session.keep();
    assert_eq!(bench.value("swappiness"), "10");
    let err = bench.begin().unwrap_err();
    assert!(matches!(err, SessionError::Unreverted { .. }), "{err}");
    assert!(err.to_string().ends_with("are not reverted"), "{err}");
    // What is in the way of another start is named.
    let setting = bench.dir.path().join("proc/sys/vm/swappiness");
    fs::write(&setting, "33\n").unwrap();
    let err = bench.begin().unwrap_err().to_string();
    assert!(err.ends_with("; not as wanted now: vm.swappiness"), "{err}");
    fs::write(&setting, "10\n").unwrap();
    assert!(matches!(bench.tuner.left().unwrap(), Left::Changes(_)));
    let report = bench.tuner.revert(None, Duration::ZERO).unwrap().unwrap();
    assert!(report.complete && report.steps.len() == 2);
    assert_eq!(bench.value("swappiness"), "60");
    assert_eq!(bench.value("stat_interval"), "1");
    assert!(bench.tuner.revert(None, Duration::ZERO).unwrap().is_none());
    assert!(matches!(bench.tuner.left().unwrap(), Left::Nothing));
}

#[test]
fn another_session_is_left_alone() {
    let bench = Bench::new();
    bench.apply().keep();
    let other = bench.tuner.revert(Some("id-2"), Duration::ZERO).unwrap();
    assert!(other.is_none());
    assert_eq!(bench.value("swappiness"), "10");
}

#[test]
fn a_journal_of_another_boot_is_history() {
    let mut bench = Bench::new();
    bench.apply().keep();
    bench.boot();
    assert!(matches!(bench.tuner.left().unwrap(), Left::OtherBoot(_)));
    // A boot would have brought the old value; whatever is there now is not ours.
    let report = bench.tuner.revert(None, Duration::ZERO).unwrap().unwrap();
    assert!(report.remarks[0].contains("before the last reboot"));
    assert!(report.steps.iter().all(|step| step.undone.is_none()));
    assert_eq!(bench.value("swappiness"), "10");
    bench.begin().unwrap();
}

#[test]
fn a_limit_ended_with_the_boot_in_which_it_was_held() {
    let mut bench = Bench::new();
    let mut plan = bench.plan();
    plan.held.push(Hold {
        knob: "dma_latency".to_owned(),
        path: "/dev/cpu_dma_latency".to_owned(),
        latency_ns: Nanos::ZERO,
    });
    bench.begin_with(plan).unwrap().keep();
    bench.boot();
    let report = bench.tuner.revert(None, Duration::ZERO).unwrap().unwrap();
    assert!(report.held.is_empty());
}

#[test]
fn a_conflict_ends_the_session_and_is_told() {
    let bench = Bench::new();
    bench.apply().keep();
    bench
        .tuner
        .sys
        .write("/proc/sys/vm/swappiness", "33")
        .unwrap();
    let report = bench.tuner.revert(None, Duration::ZERO).unwrap().unwrap();
    assert!(!report.complete);
    let found = report.steps.iter().find_map(|step| match &step.undone {
        Some(Undone::Conflict { value }) => Some(value.as_str()),
        _ => None,
    });
    assert_eq!(found, Some("33"));
    assert_eq!(bench.value("stat_interval"), "1");
    assert!(matches!(bench.tuner.left().unwrap(), Left::Nothing));
}

#[test]
fn one_tuner_works_at_a_time_whatever_its_directory() {
    let bench = Bench::new();
    let session = bench.begin().unwrap();
    let elsewhere = Tuner::new(&bench.tuner.sys, &bench.dir.path().join("other")).unwrap();
    let purpose = Purpose {
        id: "id-2".to_owned(),
        name: "run".to_owned(),
        started: String::new(),
        until: None,
        program: String::new(),
    };
    let err = elsewhere.begin(bench.plan(), purpose).unwrap_err();
    assert!(
        err.to_string().contains("another process is tuning"),
        "{err}"
    );
    let own = std::process::id();
    let at_work = bench.tuner.at_work().unwrap().unwrap();
    assert_eq!(at_work, format!("process {own} (apply)"));
    assert!(session.revert().unwrap().complete);
}

#[test]
fn time_since_boot_is_counted_in_ticks() {
    let bench = Bench::new();
    assert_eq!(ticks_now(&bench.tuner.sys), 1_234);
    assert!(ticks_now(&SysRoot::live()) > 0);
}

#[test]
fn a_session_that_was_killed_before_it_did_anything_is_no_hindrance() {
    let bench = Bench::new();
    let session = bench.begin().unwrap();
    assert!(matches!(bench.tuner.left().unwrap(), Left::Changes(_)));
    drop(session);
    assert!(matches!(bench.tuner.left().unwrap(), Left::Nothing));
    // With a keeper somebody is still at it.
    let mut session = bench.begin().unwrap();
    let keeper = SessionKeeper {
        pid: 1,
        started_ticks: 1,
    };
    session.kept_by(keeper).unwrap();
    drop(session);
    assert!(matches!(bench.tuner.left().unwrap(), Left::Changes(_)));
    assert!(matches!(
        bench.begin(),
        Err(SessionError::Unreverted { .. })
    ));
}

const RECORD: &str = "run/punctual";

impl Bench {
    fn record(&self) -> PathBuf {
        self.dir.path().join(RECORD)
    }

    fn journal(&self) -> PathBuf {
        self.dir.path().join("state/journal")
    }

    /// A tuner of the same machine with another directory.
    fn other(&self) -> Tuner {
        Tuner::new(&self.tuner.sys, &self.dir.path().join("other")).unwrap()
    }

    fn begin_in(&self, tuner: &Tuner) -> Result<Session, SessionError> {
        let purpose = Purpose {
            id: "id-2".to_owned(),
            name: "apply".to_owned(),
            started: String::new(),
            until: None,
            program: String::new(),
        };
        tuner.begin(self.plan(), purpose)
    }

    fn is_back(&self) -> bool {
        self.value("swappiness") == "60" && self.value("stat_interval") == "1"
    }
}

fn changes(tuner: &Tuner) -> Box<Journal> {
    match tuner.left().unwrap() {
        Left::Changes(journal) => journal,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_second_directory_knows_what_is_applied_and_takes_it_back() {
    let bench = Bench::new();
    bench.apply().keep();
    let other = bench.other();
    let err = bench.begin_in(&other).unwrap_err();
    let place = bench.dir.path().join("state");
    assert!(
        err.to_string()
            .contains(&format!("their journal is in {}", place.display())),
        "{err}"
    );
    assert_eq!(changes(&other).session().id, "id-1");
    let report = other.revert(None, Duration::ZERO).unwrap().unwrap();
    assert!(report.complete && bench.is_back(), "{report:#?}");
    // The journal in the first directory has ended as well.
    assert!(!bench.journal().exists());
    assert!(matches!(bench.tuner.left().unwrap(), Left::Nothing));
    bench.begin_in(&other).unwrap();
}

#[test]
fn a_deleted_journal_is_no_reason_to_say_that_nothing_is_changed() {
    for whole in [false, true] {
        let bench = Bench::new();
        bench.apply().keep();
        if whole {
            fs::remove_dir_all(bench.dir.path().join("state")).unwrap();
        } else {
            fs::remove_file(bench.journal()).unwrap();
        }
        let journal = changes(&bench.tuner);
        assert!(journal.is_complete());
        assert!(
            journal.remarks()[0].contains("has no journal of this"),
            "{:?}",
            journal.remarks()
        );
        assert!(matches!(
            bench.begin(),
            Err(SessionError::Unreverted { .. })
        ));
        let report = bench.tuner.revert(None, Duration::ZERO).unwrap().unwrap();
        assert!(report.complete && bench.is_back(), "{report:#?}");
        assert!(matches!(bench.tuner.left().unwrap(), Left::Nothing));
    }
}

#[test]
fn a_deleted_record_is_none_either() {
    let bench = Bench::new();
    bench.apply().keep();
    fs::remove_dir_all(bench.record()).unwrap();
    changes(&bench.tuner);
    assert!(matches!(
        bench.begin(),
        Err(SessionError::Unreverted { .. })
    ));
    assert!(
        bench
            .tuner
            .revert(None, Duration::ZERO)
            .unwrap()
            .unwrap()
            .complete
    );
    assert!(bench.is_back());
    // A second directory did not know: what began later is taken back first.
    bench.apply().keep();
    fs::remove_dir_all(bench.record()).unwrap();
    bench
        .tuner
        .sys
        .write("/proc/uptime", "99.00 20.00")
        .unwrap();
    let mut profile = Profile::empty("t");
    profile.set("vm.swappiness=5").unwrap();
    let survey = Survey::read(&bench.tuner.sys, Scope::Settings, true);
    let plan = plan::plan(&profile, &survey, &PlanOptions::default()).unwrap();
    let purpose = Purpose {
        id: "id-3".to_owned(),
        name: "apply".to_owned(),
        started: String::new(),
        until: None,
        program: String::new(),
    };
    let mut second = bench.other().begin(plan, purpose).unwrap();
    second.apply(OnFailure::GoOn, &|| false).unwrap();
    second.keep();
    assert_eq!(bench.value("swappiness"), "5");
    let revert = || bench.tuner.revert(None, Duration::ZERO).unwrap().unwrap();
    assert!(revert().complete);
    assert_eq!(bench.value("swappiness"), "10");
    assert!(revert().complete);
    assert!(bench.is_back());
}
