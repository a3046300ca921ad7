// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Finds the commit that made something worse.
//!
//! git chooses the commits (git-bisect(1)), in a worktree beside the repository; an oracle judges each of them. Both
//! ends are judged first: where the good one is not good or the bad one not bad, the answer would be a random commit.

use std::path::{Path, PathBuf};
use std::time::Instant;

use punctual_model::{
    BisectReport, BisectStep, BisectVerdict, ConflictingCommit, KERNEL_BISECT_FORMAT,
};

use crate::git::Git;
use crate::tool::{Long, ToolError};

/// Exit status of an oracle that cannot judge a commit, as for `git bisect run`.
pub const SKIP: i32 = 125;
/// Exit statuses above mean that the oracle itself failed, as for `git bisect run`.
const LAST_BAD: i32 = 127;

/// What is to be found where.
#[derive(Clone, Debug)]
pub struct Order {
    /// The repository.
    pub tree: PathBuf,
    /// A commit without the fault.
    pub good: String,
    /// A commit with it.
    pub bad: String,
    /// What judges, as it is recorded.
    pub oracle: String,
    /// Judge the two ends first.
    pub judge_ends: bool,
    /// Directory that the worktree is made in: a kernel's takes 2 GB, more than many a /tmp has.
    pub scratch: PathBuf,
}

/// A bisection could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BisectError {
    /// git failed.
    #[error(transparent)]
    Git(#[from] ToolError),
    /// There is no such commit.
    #[error("{what} `{name}`: there is no such branch, tag or commit")]
    Unknown {
        /// `--good` or `--bad`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The good one is no ancestor of the bad one.
    #[error("{good} is no ancestor of {bad}, so nothing between them can be bisected")]
    NoAncestor {
        /// The good one.
        good: String,
        /// The bad one.
        bad: String,
    },
    /// A temporary directory.
    #[error("make a temporary directory")]
    Scratch(#[source] std::io::Error),
    /// The oracle cannot be run.
    #[error("run the oracle")]
    Oracle(#[source] ToolError),
}

/// Judges the commit that is checked out in a directory, and returns an exit status: 0 good, 125 cannot be judged, 1 to
/// 127 bad, others end the bisection.
pub type Oracle<'a> = dyn FnMut(&Path, &ConflictingCommit) -> Result<i32, ToolError> + 'a;

/// Makes an oracle of a shell command, which runs in the worktree; `PUNCTUAL` is the program `own` and
/// `PUNCTUAL_BISECT_COMMIT` the commit. What it says is added to `log`.
pub fn command_oracle<'a>(
    script: &'a str,
    own: &'a Path,
    log: &'a Path,
    stop: &'a dyn Fn() -> bool,
) -> impl FnMut(&Path, &ConflictingCommit) -> Result<i32, ToolError> + 'a {
    move |worktree, commit| {
        let mut shell = Long::new("sh");
        shell
            .command
            .args(["-c", script])
            .current_dir(worktree)
            .env("PUNCTUAL", own)
            .env("PUNCTUAL_BISECT_COMMIT", &commit.id);
        shell.log = Some(log);
        match shell.run(stop, |_| {}) {
            Ok(()) => Ok(0),
            // A signal is none of the statuses that judge.
            Err(ToolError::Failed { status, .. }) => Ok(status.unwrap_or(LAST_BAD + 1)),
            Err(err) => Err(err),
        }
    }
}

/// Bisects. `heard` gets each judgement.
///
/// # Errors
///
/// Fails on commits that are not there, and when git or the oracle cannot be run. That there is no answer is in the
/// report.
pub fn bisect(
    order: &Order,
    oracle: &mut Oracle<'_>,
    heard: &mut dyn FnMut(&BisectStep),
) -> Result<BisectReport, BisectError> {
    let git = Git::at(&order.tree);
    let find = |what, name: &str| {
        git.commit(name)?.ok_or_else(|| BisectError::Unknown {
            what,
            name: name.to_owned(),
        })
    };
    let (good, bad) = (find("--good", &order.good)?, find("--bad", &order.bad)?);
    let ancestor = git.try_it(&["merge-base", "--is-ancestor", &good, &bad])?;
    if !ancestor.status.success() || good == bad {
        return Err(BisectError::NoAncestor {
            good: order.good.clone(),
            bad: order.bad.clone(),
        });
    }
    let count = git.say(&["rev-list", "--count", &format!("{good}..{bad}")])?;
    let scratch = tempfile::Builder::new()
        .prefix("bisect-")
        .tempdir_in(&order.scratch);
    let scratch = scratch.map_err(BisectError::Scratch)?;
    let worktree = Worktree::add(&git, &scratch.path().join("tree"), &bad)?;
    let mut report = BisectReport {
        format: KERNEL_BISECT_FORMAT.to_owned(),
        tree: order.tree.display().to_string(),
        good: good.clone(),
        bad: bad.clone(),
        oracle: order.oracle.clone(),
        commits: count.parse().unwrap_or(0),
        steps: Vec::new(),
        first_bad: None,
        candidates: Vec::new(),
        stopped: None,
    };
    let mut judge = Judge {
        git: &worktree.git,
        oracle,
        heard,
    };
    if order.judge_ends {
        for (commit, wanted, word) in [
            (&good, BisectVerdict::Good, "good"),
            (&bad, BisectVerdict::Bad, "bad"),
        ] {
            worktree
                .git
                .say(&["checkout", "--quiet", "--detach", commit])?;
            match judge.here(&mut report)? {
                Some(verdict) if verdict == wanted => {}
                Some(verdict) => {
                    let found = word_of(verdict);
                    report.stopped = Some(format!(
                        "the commit that was said to be {word} is judged {found}"
                    ));
                    return Ok(report);
                }
                None => return Ok(report),
            }
        }
    }
    search(&mut judge, &mut report)?;
    worktree.git.try_it(&["bisect", "reset"])?;
    Ok(report)
}

/// Returns the word for a verdict.
pub const fn word_of(verdict: BisectVerdict) -> &'static str {
    match verdict {
        BisectVerdict::Good => "good",
        BisectVerdict::Bad => "bad",
        BisectVerdict::Skip => "impossible to judge",
    }
}

fn search(judge: &mut Judge<'_, '_>, report: &mut BisectReport) -> Result<(), BisectError> {
    let git = judge.git;
    let mut said = git.try_it(&["bisect", "start", &report.bad, &report.good])?;
    loop {
        let text = said.text();
        let first = text
            .lines()
            .find_map(|line| line.strip_suffix(" is the first bad commit"));
        if let Some(id) = first {
            report.first_bad = Some(git.described(id)?);
            return Ok(());
        }
        if text.contains("only 'skip'ped commits left") {
            let ids = text
                .lines()
                .filter(|line| line.len() >= 40 && line.bytes().all(|b| b.is_ascii_hexdigit()));
            for id in ids {
                report.candidates.push(git.described(id)?);
            }
            report.stopped = Some("commits that could not be judged are in the way".to_owned());
            return Ok(());
        }
        if !said.status.success() {
            report.stopped = Some(format!("git bisect: {}", said.stderr.trim()));
            return Ok(());
        }
        let Some(verdict) = judge.here(report)? else {
            return Ok(());
        };
        said = git.try_it(&[
            "bisect",
            match verdict {
                BisectVerdict::Good => "good",
                BisectVerdict::Bad => "bad",
                BisectVerdict::Skip => "skip",
            },
        ])?;
    }
}

struct Judge<'a, 'b> {
    git: &'a Git,
    oracle: &'a mut Oracle<'b>,
    heard: &'a mut dyn FnMut(&BisectStep),
}

impl Judge<'_, '_> {
    /// Judges what is checked out; nothing where the oracle failed, which the report then says.
    fn here(&mut self, report: &mut BisectReport) -> Result<Option<BisectVerdict>, BisectError> {
        let commit = self.git.described("HEAD")?;
        let begun = Instant::now();
        let status = match (self.oracle)(&self.git.path, &commit) {
            Ok(status) => status,
            Err(ToolError::Stopped { .. }) => {
                report.stopped = Some("it was stopped".to_owned());
                return Ok(None);
            }
            Err(err) => return Err(BisectError::Oracle(err)),
        };
        let verdict = match status {
            0 => BisectVerdict::Good,
            SKIP => BisectVerdict::Skip,
            1..=LAST_BAD => BisectVerdict::Bad,
            other => {
                report.stopped = Some(format!(
                    "the oracle itself failed on {} with status {other}",
                    commit.id
                ));
                return Ok(None);
            }
        };
        let step = BisectStep {
            commit,
            verdict,
            status,
            took_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        (self.heard)(&step);
        report.steps.push(step);
        Ok(Some(verdict))
    }
}

/// A worktree that goes when it is dropped.
struct Worktree {
    git: Git,
    of: Git,
}

impl Worktree {
    fn add(of: &Git, path: &Path, commit: &str) -> Result<Self, ToolError> {
        of.say(&[
            "worktree",
            "add",
            "--quiet",
            "--detach",
            &path.to_string_lossy(),
            commit,
        ])?;
        Ok(Self {
            git: Git::at(path),
            of: of.clone(),
        })
    }
}

impl Drop for Worktree {
    fn drop(&mut self) {
        // What cannot be removed is git's to prune.
        drop(self.of.try_it(&[
            "worktree",
            "remove",
            "--force",
            &self.git.path.to_string_lossy(),
        ]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::TempDir;

    /// Twenty commits, of which number 13 makes the tick slow.
    fn history() -> (TempDir, Vec<String>) {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        git.say(&["init", "--quiet"]).unwrap();
        git.say(&["config", "user.name", "N"]).unwrap();
        git.say(&["config", "user.email", "n@example.org"]).unwrap();
        let mut ids = Vec::new();
        for number in 0..=20 {
            let delay = if number >= 13 { 900 } else { 5 };
            fs::write(dir.path().join("tick.c"), format!("delay {delay}\n")).unwrap();
            fs::write(dir.path().join("other.c"), format!("{number}\n")).unwrap();
            git.say(&["add", "."]).unwrap();
            git.say(&["commit", "--quiet", "-m", &format!("change {number}")])
                .unwrap();
            ids.push(git.commit("HEAD").unwrap().unwrap());
        }
        (dir, ids)
    }

    fn find(dir: &TempDir, good: &str, bad: &str, script: &str) -> BisectReport {
        let order = Order {
            tree: dir.path().to_owned(),
            good: good.to_owned(),
            bad: bad.to_owned(),
            oracle: script.to_owned(),
            judge_ends: true,
            scratch: dir.path().join(".git"),
        };
        let log = dir.path().join(".git/oracle.log");
        bisect(
            &order,
            &mut command_oracle(script, Path::new("/bin/true"), &log, &|| false),
            &mut |_| {},
        )
        .unwrap()
    }

    const ORACLE: &str =
        "read word delay < tick.c; echo \"$PUNCTUAL_BISECT_COMMIT\"; test $delay -lt 100";

    #[test]
    fn the_planted_commit_is_found_and_the_repository_left_alone() {
        let (dir, ids) = history();
        fs::write(dir.path().join("other.c"), "edited\n").unwrap();
        let git = Git::at(dir.path());
        let before = (
            git.commit("HEAD").unwrap(),
            git.say(&["status", "--porcelain"]).unwrap(),
        );
        let report = find(&dir, &ids[0], "HEAD", ORACLE);
        let found = report.first_bad.unwrap();
        assert_eq!(
            (found.id.as_str(), found.subject.as_str()),
            (ids[13].as_str(), "change 13")
        );
        assert_eq!(report.commits, 20);
        // Both ends, and a logarithm of the rest.
        assert!((6..=7).contains(&report.steps.len()), "{:?}", report.steps);
        assert_eq!(report.stopped, None);
        let after = (
            git.commit("HEAD").unwrap(),
            git.say(&["status", "--porcelain"]).unwrap(),
        );
        assert_eq!(before, after);
        assert_eq!(git.say(&["worktree", "list"]).unwrap().lines().count(), 1);
        assert_eq!(git.say(&["for-each-ref", "refs/bisect"]).unwrap(), "");
        let log = fs::read(dir.path().join(".git/oracle.log")).unwrap();
        assert_eq!(
            String::from_utf8(log).unwrap().lines().count(),
            report.steps.len()
        );
    }

    #[test]
    fn ends_that_are_not_what_was_said_are_no_bisection() {
        let (dir, ids) = history();
        let report = find(&dir, &ids[15], "HEAD", ORACLE);
        assert_eq!(
            report.stopped.as_deref(),
            Some("the commit that was said to be good is judged bad")
        );
        assert_eq!(report.first_bad, None);
        let report = find(&dir, &ids[0], &ids[5], ORACLE);
        assert_eq!(
            report.stopped.as_deref(),
            Some("the commit that was said to be bad is judged good")
        );
    }

    #[test]
    fn commits_that_cannot_be_judged_are_candidates() {
        let (dir, ids) = history();
        let script = format!("read n < other.c; case $n in 12|13|14) exit 125;; esac; {ORACLE}");
        let report = find(&dir, &ids[0], "HEAD", &script);
        assert_eq!(report.first_bad, None);
        let mut found: Vec<_> = report
            .candidates
            .iter()
            .map(|c| c.subject.as_str())
            .collect();
        found.sort_unstable();
        assert_eq!(found, ["change 12", "change 13", "change 14", "change 15"]);
    }

    #[test]
    fn an_oracle_that_fails_itself_ends_it() {
        let (dir, ids) = history();
        let report = find(&dir, &ids[0], "HEAD", "exit 200");
        assert!(report.stopped.unwrap().ends_with("with status 200"));
        let report = find(&dir, &ids[0], "HEAD", "kill -9 $$");
        assert!(report.stopped.unwrap().ends_with("with status 137"));
    }

    #[test]
    fn commits_that_do_not_follow_each_other_are_refused() {
        let (dir, ids) = history();
        let mut order = Order {
            tree: dir.path().to_owned(),
            good: ids[5].clone(),
            bad: ids[2].clone(),
            oracle: String::new(),
            judge_ends: true,
            scratch: dir.path().join(".git"),
        };
        let mut never = |_: &Path, _: &ConflictingCommit| unreachable!();
        let err = bisect(&order, &mut never, &mut |_| {}).unwrap_err();
        assert!(matches!(err, BisectError::NoAncestor { .. }), "{err:?}");
        order.good = "no-such".to_owned();
        let err = bisect(&order, &mut never, &mut |_| {}).unwrap_err();
        assert!(
            matches!(err, BisectError::Unknown { what: "--good", .. }),
            "{err:?}"
        );
    }
}
