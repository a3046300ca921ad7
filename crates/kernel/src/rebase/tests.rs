// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A vendor with three commits, a real-time branch that touches the same line.

use std::fs;
use std::path::PathBuf;

use punctual_model::RebaseState;
use tempfile::TempDir;

use super::*;
use crate::git::Git;

struct Vendor {
    dir: TempDir,
}

impl Vendor {
    /// `base` - `vendor` (three commits); `base` - `rt` (two commits, the second in conflict with the second).
    fn new() -> Self {
        let vendor = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(vendor.tree()).unwrap();
        let git = vendor.git();
        git.say(&["init", "--quiet", "--initial-branch=vendor"])
            .unwrap();
        git.say(&["config", "user.name", "Vendor"]).unwrap();
        git.say(&["config", "user.email", "v@example.org"]).unwrap();
        vendor.commit("sched.c", "1\n2\n3\n4\n5\n6\n7\n8\n", "release");
        git.say(&["branch", "rt"]).unwrap();
        vendor.commit("board.c", "board\n", "board: support");
        vendor.commit(
            "sched.c",
            "1\nvendor\n3\n4\n5\n6\n7\n8\n",
            "sched: what the vendor does",
        );
        vendor.commit("board.c", "board 2\n", "board: more");
        git.say(&["checkout", "--quiet", "rt"]).unwrap();
        vendor.commit("rt.c", "rt\n", "rt: new file");
        vendor.commit(
            "sched.c",
            "1\nrt\n3\n4\n5\n6\n7\n8\n",
            "sched: what rt does",
        );
        git.say(&["checkout", "--quiet", "vendor"]).unwrap();
        // What the vendor has not committed must stay too.
        fs::write(vendor.tree().join("board.c"), "edited\n").unwrap();
        vendor
    }

    fn tree(&self) -> PathBuf {
        self.dir.path().join("vendor")
    }

    fn worktree(&self) -> PathBuf {
        self.dir.path().join("scratch")
    }

    fn git(&self) -> Git {
        Git::at(&self.tree())
    }

    fn commit(&self, file: &str, text: &str, message: &str) {
        fs::write(self.tree().join(file), text).unwrap();
        self.git().say(&["add", file]).unwrap();
        self.git()
            .say(&["commit", "--quiet", "-m", message])
            .unwrap();
    }

    /// The vendor's branches, checkout and uncommitted work.
    fn state(&self) -> [String; 4] {
        let git = self.git();
        [
            git.say(&["for-each-ref", "refs/heads/vendor", "refs/heads/rt"])
                .unwrap(),
            git.say(&["symbolic-ref", "HEAD"]).unwrap(),
            git.say(&["status", "--porcelain"]).unwrap(),
            git.say(&["diff"]).unwrap(),
        ]
    }

    fn order(&self) -> Order {
        Order {
            vendor: "vendor".into(),
            onto: "rt".into(),
            base: None,
            branch: "vendor-rt".into(),
            worktree: self.worktree(),
        }
    }

    fn set(&self, settings: &[(&str, &str)]) {
        for (name, value) in settings {
            self.git().say(&["config", name, value]).unwrap();
        }
    }

    fn resolve(&self) {
        let text = "1\nvendor on rt\n3\n4\n5\n6\n7\n8\n";
        fs::write(self.worktree().join("sched.c"), text).unwrap();
    }
}

#[test]
fn commits_that_are_not_on_the_new_branch_are_named() {
    let vendor = Vendor::new();
    let git = vendor.git();
    // The real-time branch has one of them already, and its side of the conflict is taken.
    git.say(&["stash", "--quiet"]).unwrap();
    vendor.commit("late.c", "late\n", "late: the same fix");
    let fix = git.commit("vendor").unwrap().unwrap();
    git.say(&["checkout", "--quiet", "rt"]).unwrap();
    git.say(&["cherry-pick", &fix]).unwrap();
    git.say(&["checkout", "--quiet", "vendor"]).unwrap();
    vendor.commit("late.c", "late\nmore\n", "late: on top of it");
    let stopped = start(&vendor.tree(), &vendor.order()).unwrap();
    assert_eq!(stopped.left_out, []);
    let text = "1\nrt\n3\n4\n5\n6\n7\n8\n";
    fs::write(vendor.worktree().join("sched.c"), text).unwrap();
    let done = resume(&vendor.tree()).unwrap();
    assert_eq!(
        (done.state, done.commits, done.done),
        (RebaseState::Complete, 5, 5)
    );
    let subjects = done.left_out.iter().map(|commit| commit.subject.as_str());
    assert_eq!(
        subjects.collect::<Vec<_>>(),
        ["sched: what the vendor does", "late: the same fix"]
    );
    let count = git.say(&["rev-list", "--count", "rt..vendor-rt"]).unwrap();
    assert_eq!(count, "3");
}

#[test]
fn it_stops_lists_the_conflict_and_goes_on_when_that_is_resolved() {
    let vendor = Vendor::new();
    let before = vendor.state();
    let stopped = start(&vendor.tree(), &vendor.order()).unwrap();
    assert_eq!(
        (stopped.state, stopped.commits, stopped.done),
        (RebaseState::Stopped, 3, 1)
    );
    assert_eq!(
        stopped.stopped_at.as_ref().unwrap().subject,
        "sched: what the vendor does"
    );
    let conflict = &stopped.conflicts[0];
    assert_eq!(
        (conflict.file.as_str(), conflict.kind.as_str()),
        ("sched.c", "both modified")
    );
    assert_eq!(conflict.theirs.len(), 1);
    assert_eq!(conflict.theirs[0].subject, "sched: what rt does");
    // Nothing is resolved: it says the same again, and does not go on.
    let still = resume(&vendor.tree()).unwrap();
    assert_eq!(still.conflicts, stopped.conflicts);
    assert_eq!(status(&vendor.tree()).unwrap(), still);
    let err = start(&vendor.tree(), &vendor.order()).unwrap_err();
    assert!(matches!(err, RebaseError::UnderWay { .. }), "{err:?}");
    vendor.resolve();
    let done = resume(&vendor.tree()).unwrap();
    assert_eq!((done.state, done.done), (RebaseState::Complete, 3));
    let git = vendor.git();
    let log = git.say(&["log", "--format=%s", "vendor-rt"]).unwrap();
    let expected = [
        "board: more",
        "sched: what the vendor does",
        "board: support",
        "sched: what rt does",
        "rt: new file",
        "release",
    ];
    assert_eq!(log.lines().collect::<Vec<_>>(), expected);
    let sched = git.say(&["show", "vendor-rt:sched.c"]).unwrap();
    assert!(sched.contains("vendor on rt"), "{sched}");
    assert_eq!(vendor.state(), before);
    assert!(matches!(
        status(&vendor.tree()).unwrap_err(),
        RebaseError::None(_)
    ));
}

#[test]
fn what_was_resolved_once_is_resolved_again() {
    let vendor = Vendor::new();
    let before = vendor.state();
    start(&vendor.tree(), &vendor.order()).unwrap();
    vendor.resolve();
    resume(&vendor.tree()).unwrap();
    let again = Order {
        branch: "second".into(),
        worktree: vendor.dir.path().join("second"),
        ..vendor.order()
    };
    let report = start(&vendor.tree(), &again).unwrap();
    assert_eq!(report.state, RebaseState::Complete, "{report:?}");
    assert_eq!(report.resolved_before, ["sched.c"]);
    let [one, two] = ["vendor-rt^{tree}", "second^{tree}"]
        .map(|tree| vendor.git().say(&["rev-parse", tree]).unwrap());
    assert_eq!(one, two);
    assert_eq!(vendor.state(), before);
}

#[test]
fn settings_of_the_user_move_no_branch_of_the_vendor() {
    let vendor = Vendor::new();
    vendor.set(&[
        ("rebase.updateRefs", "true"),
        ("rebase.rebaseMerges", "true"),
        ("rebase.autoStash", "true"),
        ("log.showSignature", "true"),
    ]);
    // git moves no branch that is checked out.
    let git = vendor.git();
    git.say(&["checkout", "--quiet", "--detach"]).unwrap();
    let before = git.commit("refs/heads/vendor").unwrap();
    start(&vendor.tree(), &vendor.order()).unwrap();
    vendor.resolve();
    let done = resume(&vendor.tree()).unwrap();
    assert_eq!(done.state, RebaseState::Complete);
    assert_eq!(git.commit("refs/heads/vendor").unwrap(), before);
}

#[test]
fn a_signed_commit_is_described_by_its_id() {
    let vendor = Vendor::new();
    let git = vendor.git();
    let text = git.say(&["cat-file", "commit", "HEAD"]).unwrap();
    let signed = text.replacen(
        "\n\n",
        "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n",
        1,
    );
    let file = vendor.dir.path().join("signed");
    fs::write(&file, signed + "\n").unwrap();
    let file = file.to_string_lossy().into_owned();
    let id = git.say(&["hash-object", "-t", "commit", "-w", &file]);
    let id = id.unwrap();
    git.say(&["update-ref", "refs/heads/vendor", &id]).unwrap();
    vendor.set(&[("log.showSignature", "true")]);
    let found = git.described("HEAD").unwrap();
    assert_eq!((found.id, found.subject), (id, "board: more".to_owned()));
    fs::write(
        vendor.tree().join("Makefile"),
        "VERSION = 6\nPATCHLEVEL = 1\n",
    )
    .unwrap();
    fs::write(vendor.tree().join("Kconfig"), "").unwrap();
    let committed = git.of_commit("HEAD", "%ct").unwrap();
    let tree = crate::source::Tree::open(&vendor.tree()).unwrap();
    assert_eq!(tree.seconds().to_string(), committed);
}

#[test]
fn giving_up_leaves_nothing_behind() {
    let vendor = Vendor::new();
    let before = vendor.state();
    start(&vendor.tree(), &vendor.order()).unwrap();
    let report = abort(&vendor.tree()).unwrap();
    assert_eq!(report.state, RebaseState::Aborted);
    assert_eq!(vendor.state(), before);
    assert!(!vendor.worktree().exists());
    assert_eq!(vendor.git().commit("vendor-rt").unwrap(), None);
    assert_eq!(
        vendor
            .git()
            .say(&["worktree", "list"])
            .unwrap()
            .lines()
            .count(),
        1
    );
    assert!(matches!(
        abort(&vendor.tree()).unwrap_err(),
        RebaseError::None(_)
    ));
    // And it can be begun again.
    start(&vendor.tree(), &vendor.order()).unwrap();
}

#[test]
fn what_was_given_up_behind_our_back_is_not_complete() {
    for how in ["--abort", "--quit"] {
        let vendor = Vendor::new();
        let before = vendor.state();
        start(&vendor.tree(), &vendor.order()).unwrap();
        let worktree = Git::at(&vendor.worktree());
        worktree.say(&["rebase", how]).unwrap();
        for result in [status(&vendor.tree()), resume(&vendor.tree())] {
            let err = result.unwrap_err();
            assert!(matches!(err, RebaseError::GivenUp { .. }), "{how}: {err:?}");
        }
        abort(&vendor.tree()).unwrap();
        assert_eq!(vendor.state(), before);
    }
}

#[test]
fn a_finished_rebase_is_complete_whatever_became_of_its_worktree() {
    for how in ["removed", "switched", "begun again"] {
        let vendor = Vendor::new();
        start(&vendor.tree(), &vendor.order()).unwrap();
        vendor.resolve();
        let worktree = Git::at(&vendor.worktree());
        worktree.say(&["add", "sched.c"]).unwrap();
        let go_on = ["-c", "core.editor=true", "rebase", "--continue"];
        worktree.say(&go_on).unwrap();
        let git = vendor.git();
        let branch = git.commit("vendor-rt").unwrap();
        let path = vendor.worktree().to_string_lossy().into_owned();
        let report = match how {
            "removed" => {
                git.say(&["worktree", "remove", "--force", &path]).unwrap();
                status(&vendor.tree())
            }
            "switched" => {
                worktree.say(&["checkout", "--quiet", "rt"]).unwrap();
                resume(&vendor.tree())
            }
            _ => start(
                &vendor.tree(),
                &Order {
                    branch: "second".into(),
                    worktree: vendor.dir.path().join("second"),
                    ..vendor.order()
                },
            ),
        };
        assert_eq!(report.unwrap().state, RebaseState::Complete, "{how}");
        assert_eq!(git.commit("vendor-rt").unwrap(), branch, "{how}");
        let err = abort(&vendor.tree()).unwrap_err();
        assert!(matches!(err, RebaseError::None(_)), "{how}: {err:?}");
    }
}

#[test]
fn what_is_on_top_already_is_complete() {
    let vendor = Vendor::new();
    for (base, branch) in [(None, "one"), (Some("vendor~2".to_owned()), "two")] {
        let order = Order {
            onto: "vendor~1".into(),
            base,
            branch: branch.into(),
            worktree: vendor.dir.path().join(branch),
            ..vendor.order()
        };
        let report = start(&vendor.tree(), &order).unwrap();
        assert_eq!(report.state, RebaseState::Complete, "{branch}");
        let git = vendor.git();
        assert!(git.commit(branch).unwrap().is_some(), "{branch}");
    }
}

#[test]
fn the_worktree_may_be_an_empty_directory_that_git_does_not_list() {
    let vendor = Vendor::new();
    let git = vendor.git();
    fs::create_dir(vendor.worktree()).unwrap();
    let report = start(&vendor.tree(), &vendor.order()).unwrap();
    assert_eq!(report.state, RebaseState::Stopped);
    abort(&vendor.tree()).unwrap();
    let path = vendor.worktree().to_string_lossy().into_owned();
    git.say(&["worktree", "add", "--quiet", "--detach", &path])
        .unwrap();
    let err = start(&vendor.tree(), &vendor.order()).unwrap_err();
    assert!(matches!(err, RebaseError::WorktreeThere(_)), "{err:?}");
    fs::remove_dir_all(vendor.worktree()).unwrap();
    let err = start(&vendor.tree(), &vendor.order()).unwrap_err();
    assert!(matches!(err, RebaseError::WorktreeListed(_)), "{err:?}");
    git.say(&["worktree", "prune"]).unwrap();
    fs::write(vendor.worktree(), "file").unwrap();
    let err = start(&vendor.tree(), &vendor.order()).unwrap_err();
    assert!(matches!(err, RebaseError::WorktreeThere(_)), "{err:?}");
}

#[test]
fn what_is_gone_already_does_not_keep_it_from_being_given_up() {
    let vendor = Vendor::new();
    start(&vendor.tree(), &vendor.order()).unwrap();
    fs::remove_dir_all(vendor.worktree()).unwrap();
    let err = status(&vendor.tree()).unwrap_err();
    assert!(matches!(err, RebaseError::GivenUp { .. }), "{err:?}");
    let git = vendor.git();
    git.say(&["worktree", "prune"]).unwrap();
    git.say(&["branch", "-D", "vendor-rt"]).unwrap();
    // Somebody else's, of the same name.
    fs::create_dir(vendor.worktree()).unwrap();
    abort(&vendor.tree()).unwrap();
    assert!(vendor.worktree().exists());
    fs::remove_dir(vendor.worktree()).unwrap();
    start(&vendor.tree(), &vendor.order()).unwrap();
}

#[test]
fn what_git_refuses_to_begin_leaves_nothing_behind() {
    let vendor = Vendor::new();
    let git = vendor.git();
    // What git cannot put its files into.
    let order = Order {
        worktree: vendor.tree().join("sched.c/below"),
        ..vendor.order()
    };
    start(&vendor.tree(), &order).unwrap_err();
    assert_eq!(git.commit("vendor-rt").unwrap(), None);
    let err = status(&vendor.tree()).unwrap_err();
    assert!(matches!(err, RebaseError::None(_)), "{err:?}");
    let err = start(
        &vendor.tree(),
        &Order {
            worktree: vendor.tree(),
            ..vendor.order()
        },
    );
    let err = err.unwrap_err();
    assert!(matches!(err, RebaseError::WorktreeThere(_)), "{err:?}");
}

#[test]
fn names_that_are_not_there_are_named() {
    let vendor = Vendor::new();
    for (order, what) in [
        (
            Order {
                vendor: "no".into(),
                ..vendor.order()
            },
            "vendor's branch `no`",
        ),
        (
            Order {
                onto: "--help".into(),
                ..vendor.order()
            },
            "branch `--help`",
        ),
        (
            Order {
                base: Some("x y".into()),
                ..vendor.order()
            },
            "base `x y`",
        ),
    ] {
        let err = start(&vendor.tree(), &order).unwrap_err().to_string();
        assert!(err.starts_with(what), "{err}");
    }
    let err = start(
        &vendor.tree(),
        &Order {
            branch: "rt".into(),
            ..vendor.order()
        },
    )
    .unwrap_err();
    assert!(matches!(err, RebaseError::BranchThere(_)), "{err:?}");
    let nowhere = tempfile::tempdir().unwrap();
    start(nowhere.path(), &vendor.order()).unwrap_err();
}
