// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Journals that a crash has left.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;
use crate::testing::header;

fn place() -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("tune");
    (dir, path)
}

fn private(path: &Path) -> PrivateDir {
    PrivateDir::create(path).unwrap()
}

fn plan() -> Plan {
    let step = |knob: &str| PlanStep {
        knob: knob.to_owned(),
        instance: Some("0".to_owned()),
        target: Target::file(format!("/{knob}")),
        codec: Codec::Mask,
        old: "0-1".to_owned(),
        new: "0".to_owned(),
    };
    Plan {
        steps: vec![step("a"), step("b")],
        ..Plan::default()
    }
}

fn session(path: &Path) -> Journal {
    match Journal::find(private(path)).unwrap() {
        Found::Session(journal) => *journal,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_session_is_found_as_it_was_left() {
    let (_dir, path) = place();
    let mut journal = Journal::begin(vec![private(&path)], header(5), &plan()).unwrap();
    journal.note(Record::Begin { seq: 0 }).unwrap();
    let outcome = StepOutcome::Applied;
    journal.note(Record::Done { seq: 0, outcome }).unwrap();
    journal
        .note(Record::Keeper(SessionKeeper {
            pid: 7,
            started_ticks: 8,
        }))
        .unwrap();
    journal.note(Record::Begin { seq: 1 }).unwrap();
    let found = session(&path);
    assert_eq!(found.header(), journal.header());
    assert_eq!(found.header().settings, Some(2));
    assert_eq!(found.entries(), journal.entries());
    assert_eq!(found.keeper().unwrap().pid, 7);
    assert!(!found.is_complete() && !found.is_torn());
    assert_eq!(found.entries()[1].1.outcome, None);
    assert!(found.entries()[1].1.begun);
    found.close().unwrap();
    assert!(matches!(
        Journal::find(private(&path)).unwrap(),
        Found::Nothing
    ));
}

#[test]
fn a_torn_last_line_is_as_if_it_had_not_been_written() {
    let (_dir, path) = place();
    let mut journal = Journal::begin(vec![private(&path)], header(5), &plan()).unwrap();
    journal.note(Record::Begin { seq: 0 }).unwrap();
    let whole = fs::read(path.join(ACTIVE)).unwrap();
    journal.note(Record::Begin { seq: 1 }).unwrap();
    let longer = fs::read(path.join(ACTIVE)).unwrap();
    for cut in whole.len()..longer.len() - 1 {
        fs::write(path.join(ACTIVE), &longer[..cut]).unwrap();
        let mut found = session(&path);
        assert_eq!(found.is_torn(), cut > whole.len());
        assert!(found.entries()[0].1.begun && !found.entries()[1].1.begun);
        // What is appended then is a line of its own.
        found.note(Record::Complete).unwrap();
        let again = session(&path);
        assert!(again.is_complete() && !again.is_damaged());
    }
}

#[test]
fn an_empty_journal_is_no_session() {
    let (_dir, path) = place();
    let dir = private(&path);
    for empty in ["", "\n", "\0\0\0\0"] {
        fs::write(path.join(ACTIVE), empty).unwrap();
        assert!(matches!(
            Journal::find(private(&path)).unwrap(),
            Found::Empty(_)
        ));
    }
    discard_empty(&dir).unwrap();
    assert!(!path.join(ACTIVE).exists());
}

#[test]
fn damage_in_the_middle_is_counted_and_the_rest_is_read() {
    let (_dir, path) = place();
    drop(Journal::begin(vec![private(&path)], header(5), &plan()).unwrap());
    let text = String::from_utf8(fs::read(path.join(ACTIVE)).unwrap()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let damaged = format!("{}\n{{\"rec\n{}\n", lines[0], lines[2]);
    fs::write(path.join(ACTIVE), damaged).unwrap();
    let found = session(&path);
    assert_eq!(found.damage().len(), 1, "{:?}", found.damage());
    assert!(found.damage()[0].starts_with("line 2 "));
    assert_eq!(found.entries().len(), 2);
    assert_eq!(found.report().len(), 1);
    assert_eq!(found.entries()[1].0.knob, "b");
}

#[test]
fn settings_whose_lines_are_cut_off_are_damage_and_the_others_are_taken_back() {
    let (_dir, path) = place();
    let mut journal = Journal::begin(vec![private(&path)], header(5), &plan()).unwrap();
    let settings = fs::read(path.join(ACTIVE)).unwrap();
    journal.note(Record::Begin { seq: 0 }).unwrap();
    let first: usize = settings
        .split_inclusive(|b| *b == b'\n')
        .take(2)
        .map(<[u8]>::len)
        .sum();
    for cut in [first, first + 9, settings.len() - 1] {
        fs::write(path.join(ACTIVE), &settings[..cut]).unwrap();
        let found = session(&path);
        assert!(found.is_damaged() && !found.is_torn(), "{cut}");
        assert!(
            found.damage()[0].contains("1 of its 2 settings"),
            "{:?}",
            found.damage()
        );
        assert!(found.entries()[0].1.begun, "it may have been written");
    }
    fs::write(path.join(ACTIVE), &settings).unwrap();
    assert!(!session(&path).is_damaged());
    // A journal of an older program does not say how many there are.
    let old = String::from_utf8(settings)
        .unwrap()
        .replace(",\"settings\":2", "");
    fs::write(path.join(ACTIVE), old).unwrap();
    let found = session(&path);
    assert_eq!(found.header().settings, None);
    assert!(!found.is_damaged());
}

#[test]
fn a_first_line_that_cannot_be_read_is_an_error() {
    let (_dir, path) = place();
    private(&path);
    for (text, part) in [
        (
            "{\"record\":\"session\",\"format\":\"punctual.journal/9\"}\n",
            "cannot read",
        ),
        ("garbage\n", "is not JSON"),
        ("{\"record\":\"session\"", "was cut off"),
        (
            "{\"record\":\"complete\",\"format\":\"punctual.journal/1\"}\n",
            "does not describe a session",
        ),
    ] {
        fs::write(path.join(ACTIVE), text).unwrap();
        let err = Journal::find(private(&path)).unwrap_err().to_string();
        assert!(err.contains(part), "{err}");
    }
}

#[test]
fn an_absurd_number_takes_no_memory() {
    let (_dir, path) = place();
    drop(Journal::begin(vec![private(&path)], header(5), &plan()).unwrap());
    let text = String::from_utf8(fs::read(path.join(ACTIVE)).unwrap()).unwrap();
    let absurd = text.replace("\"seq\":1,", "\"seq\":99999999999,");
    assert_ne!(absurd, text);
    fs::write(path.join(ACTIVE), absurd).unwrap();
    assert!(session(&path).entries().len() <= MOST_SETTINGS + 1);
}

#[test]
fn either_copy_undoes_the_session_and_the_one_that_knows_more_counts() {
    let (_dir, path) = place();
    let (_other, second) = place();
    let dirs = || vec![private(&path), private(&second)];
    let mut journal = Journal::begin(dirs(), header(5), &plan()).unwrap();
    journal.note(Record::Begin { seq: 0 }).unwrap();
    assert_eq!(
        fs::read(path.join(ACTIVE)).unwrap(),
        fs::read(second.join(ACTIVE)).unwrap()
    );
    // Killed between the two.
    let whole = fs::read(path.join(ACTIVE)).unwrap();
    journal.note(Record::Begin { seq: 1 }).unwrap();
    for behind in [&path, &second] {
        let ahead = fs::read(behind.join(ACTIVE)).unwrap();
        for cut in [whole.len(), whole.len() + 3] {
            fs::write(behind.join(ACTIVE), &ahead[..cut]).unwrap();
            let joined = Box::new(session(&path)).joined(session(&second));
            assert!(joined.entries()[1].1.begun, "{cut}");
            drop(joined);
        }
        fs::write(behind.join(ACTIVE), &ahead).unwrap();
    }
    // Damage in one of them is no loss; what is noted goes to both, and both end together.
    let text = String::from_utf8(fs::read(path.join(ACTIVE)).unwrap()).unwrap();
    fs::write(path.join(ACTIVE), text.replacen("\"seq\":0", "\"se", 1)).unwrap();
    let mut joined = Box::new(session(&path)).joined(session(&second));
    assert!(!joined.is_damaged());
    joined.note(Record::Complete).unwrap();
    for place in [&path, &second] {
        assert!(session(place).is_complete());
    }
    joined.close().unwrap();
    assert!(!path.join(ACTIVE).exists() && !second.join(ACTIVE).exists());
}

#[test]
fn where_one_copy_cannot_be_written_there_is_none() {
    let (_dir, path) = place();
    let (_other, second) = place();
    private(&path);
    private(&second);
    // A directory in the place of the file.
    fs::create_dir_all(second.join(ACTIVE).join("in the way")).unwrap();
    let dirs = vec![private(&path), private(&second)];
    Journal::begin(dirs, header(5), &plan()).unwrap_err();
    assert!(!path.join(ACTIVE).exists());
}
