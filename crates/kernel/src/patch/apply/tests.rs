// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Series that apply, fail, and try to reach beyond the tree.

use super::*;
use punctual_model::FailedHunk;
use std::path::PathBuf;
use tempfile::TempDir;

const BASE: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

struct Place {
    dir: TempDir,
}

impl Place {
    fn new(patches: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let place = Self { dir };
        fs::create_dir(place.tree()).unwrap();
        fs::create_dir(place.series()).unwrap();
        fs::write(place.tree().join("f"), BASE).unwrap();
        fs::write(place.tree().join("g"), "g\n").unwrap();
        for (name, text) in patches {
            fs::write(place.series().join(name), text).unwrap();
        }
        place
    }

    fn tree(&self) -> PathBuf {
        self.dir.path().join("tree")
    }

    fn series(&self) -> PathBuf {
        self.dir.path().join("series.d")
    }

    fn apply(&self, limits: Limits) -> PatchReport {
        let series = Series::read(&self.series(), self.dir.path(), &|| false).unwrap();
        apply(&self.tree(), &series, limits).unwrap()
    }

    /// Every file with its content.
    fn content(&self) -> Vec<(String, String)> {
        let mut all: Vec<_> = fs::read_dir(self.tree())
            .unwrap()
            .map(|entry| {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                (name, String::from_utf8(fs::read(path).unwrap()).unwrap())
            })
            .collect();
        all.sort();
        all
    }
}

const FIRST: &str = "--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n 1\n-2\n+two\n 3\n 4\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+new\n";
/// On top of the first one only.
const SECOND: &str = "--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n 1\n-two\n+zwei\n 3\n 4\n--- a/g\n+++ /dev/null\n@@ -1 +0,0 @@\n-g\n";
/// Its first hunk applies, its second does not.
const HALF: &str = "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n-1\n+one\n zwei\n 3\n@@ -6,4 +6,4 @@\n 6\n 7\n-no such line\n+x\n 9\n";

#[test]
fn a_series_is_applied_in_order() {
    let place = Place::new(&[("1.patch", FIRST), ("2.patch", SECOND)]);
    let report = place.apply(Limits::default());
    assert_eq!(report.result, PatchedTree::Patched);
    assert!(
        report
            .patches
            .iter()
            .all(|p| p.outcome == PatchOutcome::Applies),
        "{report:?}"
    );
    assert_eq!(report.files, 3);
    let expected = [("f", BASE.replace('2', "zwei")), ("new", "new\n".into())];
    assert_eq!(place.content(), expected.map(|(n, t)| (n.to_owned(), t)));
    // Once more: a later one hides the first from view, the last is seen to be there.
    let again = place.apply(Limits {
        leave_out: true,
        trial: true,
        fuzz: 0,
    });
    assert_eq!(again.patches[1].outcome, PatchOutcome::AlreadyThere);
}

#[test]
fn a_conflict_leaves_the_tree_unchanged_and_names_the_hunk() {
    let place = Place::new(&[
        ("1.patch", FIRST),
        ("2.patch", SECOND),
        ("3.patch", HALF),
        ("4.patch", FIRST),
    ]);
    let before = place.content();
    let report = place.apply(Limits::default());
    assert_eq!(place.content(), before);
    assert_eq!(report.result, PatchedTree::Unchanged);
    let outcomes: Vec<_> = report.patches.iter().map(|p| p.outcome).collect();
    use PatchOutcome::{Applies, Fails, NotTried};
    assert_eq!(outcomes, [Applies, Applies, Fails, NotTried]);
    let hunk = FailedHunk {
        file: "f".into(),
        hunk: Some(2),
        line: Some(6),
    };
    assert_eq!(report.patches[2].failed, [hunk]);
}

#[test]
fn what_applies_goes_in_without_the_rest_where_that_is_asked() {
    let place = Place::new(&[("1.patch", FIRST), ("2.patch", HALF), ("3.patch", SECOND)]);
    let report = place.apply(Limits {
        leave_out: true,
        ..Limits::default()
    });
    assert_eq!(report.result, PatchedTree::PatchedInPart);
    assert_eq!(report.patches[1].outcome, PatchOutcome::Fails);
    // Nothing of the second: not its hunk that applies, no reject, no copy.
    let expected = [("f", BASE.replace('2', "zwei")), ("new", "new\n".into())];
    assert_eq!(place.content(), expected.map(|(n, t)| (n.to_owned(), t)));
}

#[test]
fn a_patch_whose_parts_contradict_each_other_leaves_nothing_of_itself() {
    let twice = "--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n 1\n-2\n+two\n 3\n 4\n\
                     --- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n 1\n-2\n+zwei\n 3\n 4\n";
    let place = Place::new(&[("1.patch", twice)]);
    let before = place.content();
    let report = place.apply(Limits {
        leave_out: true,
        ..Limits::default()
    });
    assert_eq!(report.patches[0].outcome, PatchOutcome::Fails);
    assert_eq!(report.files, 0);
    assert_eq!(place.content(), before);
}

#[test]
fn a_patch_whose_second_part_changes_lines_of_its_first_applies() {
    let mailbox = format!("From 1\n\n---\n{FIRST}-- \n2.39\n\nFrom 2\n\n---\n{SECOND}");
    let place = Place::new(&[("1.patch", &mailbox)]);
    let report = place.apply(Limits::default());
    assert_eq!(report.result, PatchedTree::Patched, "{report:?}");
    let expected = [("f", BASE.replace('2', "zwei")), ("new", "new\n".into())];
    assert_eq!(place.content(), expected.map(|(n, t)| (n.to_owned(), t)));
}

#[test]
fn a_file_may_become_a_directory_and_a_file_again() {
    let all = [
        ("1.patch", "--- a/g\n+++ /dev/null\n@@ -1 +0,0 @@\n-g\n"),
        ("2.patch", "--- /dev/null\n+++ b/g/a/b\n@@ -0,0 +1 @@\n+b\n"),
        ("3.patch", "--- a/g/a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n"),
        ("4.patch", "--- /dev/null\n+++ b/g\n@@ -0,0 +1 @@\n+again\n"),
    ];
    for (patches, file, text) in [(&all[..2], "g/a/b", "b\n"), (&all[..], "g", "again\n")] {
        let place = Place::new(patches);
        let report = place.apply(Limits::default());
        assert_eq!(report.result, PatchedTree::Patched, "{report:?}");
        let found = fs::read(place.tree().join(file)).unwrap();
        assert_eq!(found, text.as_bytes());
    }
}

#[test]
fn files_keep_their_modes_whatever_the_umask() {
    let place = Place::new(&[("1.patch", FIRST), ("2.patch", SECOND)]);
    let f = place.tree().join("f");
    let mode = |file: &Path| fs::metadata(file).unwrap().permissions().mode() & 0o777;
    // No usual umask leaves that.
    fs::set_permissions(&f, fs::Permissions::from_mode(0o666)).unwrap();
    place.apply(Limits::default());
    assert_eq!(mode(&f), 0o666);
    let there = PatchOutcome::AlreadyThere;
    fs::remove_file(place.series().join("1.patch")).unwrap();
    let again = place.apply(Limits::default());
    assert_eq!((again.patches[0].outcome, again.files), (there, 0));
    assert_eq!(mode(&f), 0o666);
}

#[test]
fn a_change_that_is_only_found_elsewhere_is_not_taken_for_the_one_that_is_meant() {
    let body = |call: &str| format!("{{\n{call}\nx();\n}}\n");
    let filler = "\n".repeat(30);
    let text = format!(
        "f\n{}{filler}g\n{}more\n",
        body("raw_lock();"),
        body("lock();")
    );
    // Of the second function, whose last line of context is another one here.
    let at = 2 + text
        .find("g\n")
        .map(|at| text[..at].lines().count())
        .unwrap();
    let change = format!(
        "--- a/f\n+++ b/f\n@@ -{at},4 +{at},4 @@\n {{\n-lock();\n+raw_lock();\n x();\n }}\n"
    );
    let place = Place::new(&[("1.patch", &change)]);
    fs::write(
        place.tree().join("f"),
        text.replace("g\n{\nlock();\nx();", "g\n{\nlock();\ny();"),
    )
    .unwrap();
    let before = place.content();
    let report = place.apply(Limits::default());
    assert_eq!(report.result, PatchedTree::Unchanged, "{report:?}");
    let patch = &report.patches[0];
    assert_eq!(patch.outcome, PatchOutcome::Fails);
    let said = patch.said.as_deref().unwrap();
    assert!(
        said.starts_with("f has the same change at line 2 (offset -"),
        "{said}"
    );
    assert_eq!(place.content(), before);
    // At its own place it is there.
    let there = text.replace("g\n{\nlock", "g\n{\nraw_lock");
    fs::write(place.tree().join("f"), there).unwrap();
    let report = place.apply(Limits::default());
    assert_eq!(report.patches[0].outcome, PatchOutcome::AlreadyThere);
}

#[test]
fn names_with_blanks_and_other_letters_are_files_like_any_other() {
    let new = "diff --git a/d/new name b/d/new name\n--- /dev/null\n+++ b/d/new name\t\n@@ -0,0 +1 @@\n+new\n\
                   diff --git \"a/d/\\303\\266 \\\"\" \"b/d/\\303\\266 \\\"\"\n--- /dev/null\n+++ \"b/d/\\303\\266 \\\"\"\n\
                   @@ -0,0 +1 @@\n+new\n";
    let change = "--- a/d/new name\t\n+++ b/d/new name\t\n@@ -1 +1 @@\n-new\n+newer\n";
    let place = Place::new(&[("1.patch", new), ("2.patch", change)]);
    let report = place.apply(Limits::default());
    assert_eq!(report.result, PatchedTree::Patched, "{report:?}");
    let read = |name: &str| fs::read(place.tree().join(name)).unwrap();
    assert_eq!(read("d/new name"), b"newer\n");
    assert_eq!(read("d/ö \""), b"new\n");
    // What fails is named whole.
    let place = Place::new(&[
        ("1.patch", new),
        ("2.patch", &change.replace("-new\n", "-old\n")),
    ]);
    let report = place.apply(Limits::default());
    assert_eq!(report.patches[1].failed[0].file, "d/new name", "{report:?}");
}

#[test]
fn a_change_of_mode_of_a_name_with_blanks_is_put_in_and_named_where_it_fails() {
    let text = format!("{FIRST}diff --git a/m x.sh b/m x.sh\nold mode 100644\nnew mode 100755\n");
    let place = Place::new(&[("1.patch", &text)]);
    let report = place.apply(Limits::default());
    assert_eq!(report.patches[0].outcome, PatchOutcome::Fails, "{report:?}");
    assert_eq!(report.patches[0].failed[0].file, "m x.sh", "{report:?}");
    let script = place.tree().join("m x.sh");
    fs::write(&script, "x\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).unwrap();
    let report = place.apply(Limits::default());
    assert_eq!(report.result, PatchedTree::Patched, "{report:?}");
    let mode = fs::metadata(&script).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}

#[test]
fn what_patch_complains_of_is_said() {
    let said = |text: &str| {
        let place = Place::new(&[("1.patch", text)]);
        let report = place.apply(Limits::default());
        assert_eq!(report.patches[0].outcome, PatchOutcome::Fails, "{report:?}");
        report.patches[0].said.clone().unwrap()
    };
    let twice = said(&format!("{FIRST}{FIRST}"));
    assert!(
        twice.starts_with("Reversed (or previously applied) patch detected!"),
        "{twice}"
    );
    let exists = said("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+new\n");
    assert!(
        exists.contains("would create the file f, which already exists!"),
        "{exists}"
    );
    let cut =
        said("--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n 1\n-2\n+two\n@@ -8,2 +8,2 @@\n-8\n+e\n 9\n");
    assert!(
        cut.contains("malformed patch at line") && !cut.contains("patching"),
        "{cut}"
    );
}

#[test]
fn a_trial_changes_nothing_and_a_missing_file_is_named() {
    let missing = "--- a/no/such\n+++ b/no/such\n@@ -1 +1 @@\n-a\n+b\n";
    let place = Place::new(&[("1.patch", FIRST), ("2.patch", missing)]);
    let before = place.content();
    let report = place.apply(Limits {
        trial: true,
        ..Limits::default()
    });
    assert_eq!(report.result, PatchedTree::Trial);
    assert_eq!(
        report.patches[1].failed,
        [FailedHunk {
            file: "no/such".into(),
            hunk: None,
            line: None
        }]
    );
    assert_eq!(place.content(), before);
}

#[test]
fn a_tree_whose_directories_lead_elsewhere_is_left_alone() {
    use std::os::unix::fs::symlink;
    let place = Place::new(&[(
        "1.patch",
        "--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n 1\n-2\n+two\n 3\n 4\n\
             --- a/out/theirs\n+++ b/out/theirs\n@@ -1 +1 @@\n-theirs\n+ours\n\
             --- /dev/null\n+++ b/out/made\n@@ -0,0 +1 @@\n+made\n",
    )]);
    let outside = place.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("theirs"), "theirs\n").unwrap();
    symlink(&outside, place.tree().join("out")).unwrap();
    let series = Series::read(&place.series(), place.dir.path(), &|| false).unwrap();
    let err = apply(&place.tree(), &series, Limits::default()).unwrap_err();
    assert!(
        matches!(
            err,
            PatchError::File(PathError {
                action: "patch",
                ..
            })
        ),
        "{err:?}"
    );
    assert_eq!(fs::read(outside.join("theirs")).unwrap(), b"theirs\n");
    assert!(!outside.join("made").exists());
    assert_eq!(fs::read(place.tree().join("f")).unwrap(), BASE.as_bytes());
}

#[test]
fn a_patch_makes_no_link_no_privileged_file_and_runs_no_script() {
    use std::os::unix::fs::MetadataExt as _;
    let link = "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n\
                    +/etc/passwd\n\\ No newline at end of file\n";
    let place = Place::new(&[("1.patch", link)]);
    let series = Series::read(&place.series(), place.dir.path(), &|| false).unwrap();
    let err = apply(&place.tree(), &series, Limits::default()).unwrap_err();
    assert!(
        matches!(
            err,
            PatchError::File(PathError {
                action: "put in",
                ..
            })
        ),
        "{err:?}"
    );
    assert!(fs::symlink_metadata(place.tree().join("l")).is_err());
    let suid = "1d\n.\nw\ndiff --git a/s b/s\nnew file mode 106777\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+x\n\
                    1d\n.\nw\n";
    let place = Place::new(&[("1.patch", suid)]);
    place.apply(Limits::default());
    let mode = fs::metadata(place.tree().join("s")).unwrap().mode();
    assert_eq!(mode & 0o7022, 0, "{mode:o}");
    assert_eq!(fs::read(place.tree().join("f")).unwrap(), BASE.as_bytes());
}

#[test]
fn context_that_differs_is_counted_and_only_taken_where_it_is_allowed() {
    // The last line of context is another one in the tree.
    let fuzzy = "--- a/f\n+++ b/f\n@@ -3,7 +3,7 @@\n 3\n 4\n 5\n-6\n+six\n 7\n 8\n nine\n";
    let place = Place::new(&[("1.patch", fuzzy)]);
    let strict = place.apply(Limits::default());
    assert_eq!(strict.patches[0].outcome, PatchOutcome::Fails);
    let loose = place.apply(Limits {
        fuzz: 2,
        ..Limits::default()
    });
    assert_eq!(loose.patches[0].fuzzy_hunks, 1, "{loose:?}");
}

#[test]
fn a_line_that_is_still_there_in_another_form_is_not_taken_for_removed() {
    let removed = "--- a/f\n+++ b/f\n@@ -2,7 +2,6 @@\n 2\n 3\n 4\n-five\n 6\n 7\n 8\n";
    let place = Place::new(&[("1.patch", removed)]);
    for fuzz in 0..=3 {
        let limits = Limits {
            fuzz,
            ..Limits::default()
        };
        let report = place.apply(limits);
        assert_eq!(report.patches[0].outcome, PatchOutcome::Fails, "{report:?}");
        assert_eq!(report.result, PatchedTree::Unchanged);
    }
    // Without the line it is.
    fs::write(place.tree().join("f"), BASE.replace("5\n", "")).unwrap();
    let report = place.apply(Limits::default());
    assert_eq!(report.patches[0].outcome, PatchOutcome::AlreadyThere);
}
