// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Journals and records that are damaged, cut off or led elsewhere.

use super::*;

#[test]
fn a_record_that_is_torn_damaged_or_of_another_boot_is_no_obstacle() {
    type Damage = fn(&[u8]) -> Vec<u8>;
    let damage: [Damage; 5] = [
        |whole| whole[..whole.len() - 7].to_vec(),
        |_| Vec::new(),
        |_| b"garbage\n".to_vec(),
        |_| vec![0; 4_096],
        |whole| {
            String::from_utf8_lossy(whole)
                .replace("boot-1", "boot-0")
                .into_bytes()
        },
    ];
    for (number, damage) in damage.iter().enumerate() {
        let bench = Bench::new();
        bench.apply().keep();
        let path = bench.record().join("journal");
        fs::write(&path, damage(&fs::read(&path).unwrap())).unwrap();
        assert!(
            matches!(bench.begin(), Err(SessionError::Unreverted { .. })),
            "{number}"
        );
        changes(&bench.tuner);
        let report = bench.tuner.revert(None, Duration::ZERO).unwrap().unwrap();
        assert!(report.complete && bench.is_back(), "{number}: {report:#?}");
        // Nor is it afterwards.
        assert!(
            matches!(bench.tuner.left().unwrap(), Left::Nothing),
            "{number}"
        );
        bench.apply().keep();
    }
}

#[test]
fn a_damaged_journal_is_no_loss_where_the_record_is_whole() {
    let bench = Bench::new();
    bench.apply().keep();
    fs::write(bench.journal(), "garbage\n").unwrap();
    let journal = changes(&bench.tuner);
    assert!(
        journal.remarks()[0].contains("is damaged"),
        "{:?}",
        journal.remarks()
    );
    let report = bench.tuner.revert(None, Duration::ZERO).unwrap().unwrap();
    assert!(report.complete && bench.is_back(), "{report:#?}");
    assert!(matches!(bench.tuner.left().unwrap(), Left::Nothing));
}

#[test]
fn what_is_no_file_in_the_place_of_the_journal_is_no_loss_where_the_record_is_whole() {
    type Spoil = fn(&Path);
    let spoils: [Spoil; 2] = [
        |journal| std::os::unix::fs::symlink("/etc/passwd", journal).unwrap(),
        |journal| fs::create_dir(journal).unwrap(),
    ];
    for spoil in spoils {
        let bench = Bench::new();
        bench.apply().keep();
        // One of an earlier session is there already.
        fs::write(bench.journal().with_extension("last"), "").unwrap();
        fs::remove_file(bench.journal()).unwrap();
        spoil(&bench.journal());
        let journal = changes(&bench.tuner);
        assert!(
            journal.remarks()[0].contains("record is used instead"),
            "{:?}",
            journal.remarks()
        );
        let report = bench.tuner.revert(None, Duration::ZERO).unwrap().unwrap();
        assert!(report.complete && bench.is_back(), "{report:#?}");
        assert!(fs::symlink_metadata(bench.journal().with_extension("damaged")).is_ok());
        assert!(matches!(bench.tuner.left().unwrap(), Left::Nothing));
        bench.begin().unwrap();
    }
}

#[test]
fn a_journal_that_is_cut_off_among_its_settings_hides_nothing() {
    for both in [false, true] {
        let bench = Bench::new();
        bench.apply().keep();
        let text = String::from_utf8(fs::read(bench.journal()).unwrap()).unwrap();
        let second = text
            .match_indices("{\"record\":\"setting\"")
            .nth(1)
            .unwrap();
        let cut = &text[..second.0 + 30];
        fs::write(bench.journal(), cut).unwrap();
        if both {
            fs::write(bench.record().join("journal"), cut).unwrap();
        } else {
            fs::remove_dir_all(bench.record()).unwrap();
        }
        assert!(changes(&bench.tuner).is_damaged());
        bench.begin().unwrap_err();
        let report = bench.tuner.revert(None, Duration::ZERO).unwrap().unwrap();
        assert!(!report.complete, "{report:#?}");
        assert!(
            report.remarks.iter().any(|r| r.contains("is missing")),
            "{report:#?}"
        );
        let back = [bench.value("swappiness"), bench.value("stat_interval")];
        assert!(
            back == ["60", "120"] || back == ["10", "1"],
            "the one that is known: {back:?}"
        );
        assert!(matches!(bench.tuner.left().unwrap(), Left::Nothing));
    }
}

#[test]
fn what_a_revert_took_back_before_it_was_killed_is_no_other_programs_doing() {
    let bench = Bench::new();
    bench.apply().keep();
    let mut journal = changes(&bench.tuner);
    let theirs = Vec::new();
    journal.note(Record::Revert { theirs }).unwrap();
    let undone = Undone::Restored;
    journal.note(Record::Undone { seq: 1, undone }).unwrap();
    let set = |name: &str, value: &str| {
        let path = format!("/proc/sys/vm/{name}");
        bench.tuner.sys.write(&path, value).unwrap();
    };
    set("stat_interval", "1");
    // Its line was not written any more.
    set("swappiness", "60");
    assert!(compared(&bench, &journal).complete);
    set("swappiness", "33");
    let report = compared(&bench, &journal);
    assert!(!report.complete && report.remarks.len() == 1, "{report:#?}");
    let value = "33".to_owned();
    let theirs = Some(StepOutcome::ChangedMeanwhile { value });
    let steps = report.steps.iter().filter(|step| step.outcome == theirs);
    let knobs: Vec<&str> = steps.map(|step| step.knob.as_str()).collect();
    assert_eq!(knobs, ["vm.swappiness"]);
}

/// What a status says of a session.
fn compared(bench: &Bench, journal: &Journal) -> TuningReport {
    let mut report = report(journal, TuningAction::Status);
    bench.tuner.compare(journal, &mut report);
    report
}

#[test]
fn a_record_alone_that_cannot_be_read_says_so_and_is_moved_aside() {
    let bench = Bench::new();
    bench.apply().keep();
    fs::remove_file(bench.journal()).unwrap();
    let path = bench.record().join("journal");
    fs::write(&path, "garbage\n").unwrap();
    assert!(matches!(bench.tuner.left(), Err(SessionError::Record(_))));
    assert!(matches!(bench.begin(), Err(SessionError::Record(_))));
    let report = bench.tuner.revert(None, Duration::ZERO).unwrap().unwrap();
    assert!(
        !report.complete && report.remarks[0].contains("unknown"),
        "{report:#?}"
    );
    assert_eq!(bench.value("swappiness"), "10", "nothing is guessed");
    assert_eq!(
        fs::read(bench.record().join("journal.damaged")).unwrap(),
        b"garbage\n"
    );
    assert!(matches!(bench.tuner.left().unwrap(), Left::Nothing));
    bench.begin().unwrap();
}

#[test]
fn a_journal_alone_that_cannot_be_read_says_so_and_is_moved_aside() {
    for reboot in [true, false] {
        let mut bench = Bench::new();
        bench.apply().keep();
        fs::write(bench.journal(), "garbage\n").unwrap();
        if reboot {
            bench.boot();
        } else {
            fs::remove_dir_all(bench.record()).unwrap();
        }
        let damaged =
            |err: &SessionError| matches!(err, SessionError::Journal(JournalError::Damaged { .. }));
        assert!(damaged(&bench.tuner.left().unwrap_err()));
        assert!(damaged(&bench.begin().unwrap_err()));
        // A keeper reverts its own session alone.
        let of_a_keeper = bench.tuner.revert(Some("id-1"), Duration::ZERO);
        assert!(damaged(&of_a_keeper.unwrap_err()));
        let report = bench.tuner.revert(None, Duration::ZERO).unwrap().unwrap();
        assert!(
            !report.complete && report.remarks[0].contains("unknown"),
            "{report:#?}"
        );
        assert_eq!(bench.value("swappiness"), "10", "nothing is guessed");
        let aside = bench.dir.path().join("state/journal.damaged");
        assert_eq!(fs::read(aside).unwrap(), b"garbage\n");
        assert!(matches!(bench.tuner.left().unwrap(), Left::Nothing));
        bench.begin().unwrap();
    }
}

#[test]
fn a_damaged_journal_does_not_hide_the_session_of_another_directory() {
    let bench = Bench::new();
    bench.apply().keep();
    let other = bench.other();
    let theirs = bench.dir.path().join("other");
    bench.begin_in(&other).unwrap_err();
    fs::write(theirs.join("journal"), "garbage\n").unwrap();
    let report = other.revert(None, Duration::ZERO).unwrap().unwrap();
    assert!(!report.complete && bench.is_back(), "{report:#?}");
    assert_eq!(report.session.unwrap().id, "id-1");
    let said = report.remarks.join("\n");
    assert!(said.contains("its changes are unknown"), "{said}");
    assert!(!said.contains("nothing was written"), "{said}");
    let aside = fs::read(theirs.join("journal.damaged")).unwrap();
    assert_eq!(aside, b"garbage\n");
    for tuner in [&bench.tuner, &other] {
        assert!(matches!(tuner.left().unwrap(), Left::Nothing));
    }
}

#[test]
fn a_record_is_not_led_by_links_and_not_trusted_where_others_may_write() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    type Spoil = fn(&Bench, &Path);
    let spoils: [Spoil; 4] = [
        // The directory is a link to one within the machine, or out of it.
        |bench, elsewhere| {
            fs::rename(bench.record(), elsewhere.join("punctual")).unwrap();
            symlink(elsewhere.join("punctual"), bench.record()).unwrap();
        },
        |bench, _| {
            fs::rename(bench.record(), bench.dir.path().join("moved")).unwrap();
            symlink("../moved", bench.record()).unwrap();
        },
        |bench, _| {
            fs::set_permissions(bench.record(), fs::Permissions::from_mode(0o777)).unwrap();
        },
        |bench, elsewhere| {
            let path = bench.record().join("journal");
            fs::rename(&path, elsewhere.join("journal")).unwrap();
            symlink(elsewhere.join("journal"), &path).unwrap();
        },
    ];
    for (number, spoil) in spoils.iter().enumerate() {
        let bench = Bench::new();
        let elsewhere = TempDir::new().unwrap();
        // Nothing is begun where the record cannot be written ...
        drop(bench.begin().unwrap());
        let file = |name: &str| fs::read(elsewhere.path().join(name)).ok();
        bench.apply().keep();
        spoil(&bench, elsewhere.path());
        let theirs = [
            file("journal"),
            file("punctual/journal"),
            file("punctual/lock"),
        ];
        // ... and what is applied is taken back by the journal, without a look at where the link leads.
        let report = bench.tuner.revert(None, Duration::ZERO).unwrap().unwrap();
        assert!(report.complete && bench.is_back(), "{number}: {report:#?}");
        assert!(
            report
                .remarks
                .iter()
                .any(|r| r.contains("machine-wide record cannot be used")),
            "{number}: {report:#?}"
        );
        let after = [
            file("journal"),
            file("punctual/journal"),
            file("punctual/lock"),
        ];
        assert_eq!(theirs, after, "{number}");
        bench.begin().unwrap_err();
        assert!(bench.is_back(), "{number}");
    }
}
