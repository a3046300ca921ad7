// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `runs import` of whole runs: between other files, next to damaged ones, and next to what a crash left of some.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::json;

use crate::common::{Answer, Home, machine, stored, wait_until};

fn id(number: usize) -> String {
    format!("01900000-0000-7000-8000-{number:012x}")
}

/// Writes run `number` into a directory of this name in `dir`.
fn write_as(dir: &Path, name: &str, number: usize) -> PathBuf {
    let mut record = stored::record();
    record["id"] = json!(id(number));
    let place = dir.join(name);
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("run.json"), record.to_string()).unwrap();
    place
}

fn write(dir: &Path, number: usize) -> PathBuf {
    write_as(dir, &id(number), number)
}

/// A directory of runs 0 to 4, of which run 2 is torn; or a store of them.
fn with_a_torn_run(dir: &Path, is_store: bool) {
    let runs = match is_store {
        true => dir.join("runs"),
        false => dir.to_owned(),
    };
    for number in 0..5 {
        write(&runs, number);
    }
    if is_store {
        fs::write(dir.join("store.json"), r#"{"format":"punctual.store/1"}"#).unwrap();
    }
    let torn = runs.join(id(2)).join("run.json");
    let text = fs::read(&torn).unwrap();
    fs::write(torn, &text[..text.len() / 2]).unwrap();
}

fn import(home: &Home, path: &Path) -> Answer {
    home.run(["runs".as_ref(), "import".as_ref(), path.as_os_str()])
}

fn text_of_cyclictest(path: &Path) {
    let golden = "../peers/tests/golden/cyclictest-2.4-quiet.out";
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(golden), path).unwrap();
}

#[test]
fn a_directory_of_runs_and_of_files_of_other_tools_is_imported_whole() {
    let home = Home::aside();
    let mixed = home.dir().join("mixed");
    write(&mixed, 1);
    write(&mixed.join("sub").join("deep"), 2);
    write_as(&mixed, "renamed", 3);
    text_of_cyclictest(&mixed.join("ct.txt"));
    text_of_cyclictest(&mixed.join("sub").join("ct2.txt"));
    let half = write_as(&mixed, &format!(".trash-{}", id(4)), 4);
    let answer = import(&home, &mixed);
    assert_eq!(answer.fine().stdout.lines().count(), 5, "{answer:#?}");
    for taken in [&id(1), &id(2), &id(3), "ct.txt", "ct2.txt"] {
        assert!(answer.stdout.contains(taken), "{taken}: {answer:#?}");
    }
    let skipped = format!("Skipped {}: half of a run", half.display());
    assert!(answer.stderr.contains(&skipped), "{answer:#?}");
    assert_eq!(home.list().len(), 5);
}

#[test]
fn a_run_that_cannot_be_read_stops_none_of_the_others() {
    for is_store in [false, true] {
        let home = Home::aside();
        let from = home.dir().join("from");
        with_a_torn_run(&from, is_store);
        let answer = import(&home, &from);
        answer.error(1, &[&id(2), "EOF while parsing"]);
        assert_eq!(answer.stdout.lines().count(), 4, "{answer:#?}");
        let listed = home.list();
        assert_eq!(listed.len(), 4);
        assert!(listed.iter().all(|run| run["unreadable"].is_null()));
    }
}

#[test]
fn what_is_left_of_a_run_is_not_taken_for_a_whole_one() {
    let home = Home::aside();
    let from = home.dir().join("from");
    let runs = from.join("runs");
    write(&runs, 1);
    fs::write(from.join("store.json"), r#"{"format":"punctual.store/1"}"#).unwrap();
    let left = [(".trash-", 2), (".tmp-", 3)]
        .map(|(prefix, number)| write_as(&runs, &format!("{prefix}{}", id(number)), number));
    let answer = import(&home, &from);
    assert_eq!(answer.fine().stdout.lines().count(), 1, "{answer:#?}");
    assert_eq!(home.list().len(), 1);
    for path in &left {
        import(&home, path).error(1, &["need not be whole"]);
        assert!(path.exists());
    }
    assert_eq!(home.list().len(), 1);
    let runs = runs.display().to_string();
    let page = home.run(["report", &runs, "--format=junit"]);
    assert!(page.fine().stdout.contains("\"run "), "{page:#?}");
    assert!(!page.stdout.contains(" 2\""), "{page:#?}");
}

#[test]
fn an_import_of_an_archive_that_is_interrupted_leaves_nothing_for_long() {
    let (from, to) = (Home::aside(), Home::aside());
    write(&from.runs_dir(), 1);
    let archive = from.dir().join("runs.tar");
    from.run(["runs", "pack", "-o", archive.to_str().unwrap()])
        .fine();
    let bytes = fs::read(&archive).unwrap();
    let mut command = to.command(["runs", "import", "-"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    // Without its end: it waits for the rest.
    pipe.write_all(&bytes[..bytes.len() - 1024]).unwrap();
    let entries = |dir: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let unpacked = || {
        let mut places = entries(&to.runs_dir()).into_iter();
        places.any(|place| place.join(id(1)).join("run.json").exists())
    };
    assert!(wait_until(unpacked), "{:?}", entries(&to.store()));
    // Whoever works in it keeps it.
    assert_eq!(to.list().len(), 0);
    assert!(unpacked());
    // Who runs the tests in the background may have Ctrl-C ignored.
    machine::signal("TERM", &child.id().to_string());
    assert!(!child.wait().unwrap().success());
    to.run(["runs", "list"]).fine();
    assert!(entries(&to.runs_dir()).is_empty());
    let of_store = |path: &PathBuf| {
        let name = path.file_name().unwrap();
        ["index.sqlite", "lock", "runs", "store.json"]
            .iter()
            .any(|known| *known == name)
    };
    let left = entries(&to.store());
    assert!(left.iter().all(of_store), "{left:?}");
}
