// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Finds the commit that made something worse.
//!
//! git chooses the commits (git-bisect(1)), in a separate worktree; an oracle judges each of them. Both
//! ends are judged first: where the good one is not good or the bad one not bad, the answer would be a random commit.

mod worktree;

use std::path::{Path, PathBuf};
use std::time::Instant;

use punctual_model::{
    BisectReport, BisectStep, BisectVerdict, ConflictingCommit, KERNEL_BISECT_FORMAT,
};

use self::worktree::Worktree;
use crate::git::Git;
use crate::tool::{Long, ToolError};

/// Exit status of an oracle that cannot judge a commit, as for `git bisect run`.
pub const SKIP: i32 = 125;
/// Exit statuses above mean that the oracle itself failed: first those of a shell that cannot execute (126) or find
/// (127) a program.
const LAST_BAD: i32 = 125;
/// As which a signal counts, which is none of the statuses that judge.
const SIGNAL: i32 = 128;

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
    #[error("{what} `{name}`: no such branch, tag or commit")]
    Unknown {
        /// `--good` or `--bad`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The good one is not an ancestor of the bad one.
    #[error("{good} is not an ancestor of {bad}, so there is nothing to bisect between them")]
    NoAncestor {
        /// The good one.
        good: String,
        /// The bad one.
        bad: String,
    },
    /// The directory that it works in.
    #[error("make a directory to work in")]
    Scratch(#[source] std::io::Error),
    /// The oracle cannot be run.
    #[error("run the oracle")]
    Oracle(#[source] ToolError),
}

impl BisectError {
    const fn is_stopped(&self) -> bool {
        match self {
            Self::Git(err) | Self::Oracle(err) => err.is_stopped(),
            _ => false,
        }
    }
}

/// Judges the commit that is checked out in a directory, and returns an exit status: 0 good, 125 cannot be judged, 1 to
/// 124 bad, others end the bisection.
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
            Err(ToolError::Failed { status, .. }) => Ok(status.unwrap_or(SIGNAL)),
            Err(err) => Err(err),
        }
    }
}

/// Bisects, until `stop` says so. `heard` gets each judgement.
///
/// # Errors
///
/// Fails on commits that are not there, and when git or the oracle cannot be run. That there is no answer, because it
/// was stopped or for another reason, is in the report.
pub fn bisect(
    order: &Order,
    oracle: &mut Oracle<'_>,
    stop: &dyn Fn() -> bool,
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
    let mut report = BisectReport {
        format: KERNEL_BISECT_FORMAT.to_owned(),
        tree: order.tree.display().to_string(),
        good,
        bad,
        oracle: order.oracle.clone(),
        commits: count.parse().unwrap_or(0),
        steps: Vec::new(),
        first_bad: None,
        candidates: Vec::new(),
        stopped: None,
    };
    worktree::sweep(&order.scratch);
    let search = Search {
        order,
        oracle,
        stop,
        heard,
    };
    match search.carry_out(&git, &mut report) {
        Err(err) if err.is_stopped() => report.stopped = Some("it was stopped".to_owned()),
        ended => ended?,
    }
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

struct Search<'a, 'b> {
    order: &'a Order,
    oracle: &'a mut Oracle<'b>,
    stop: &'a dyn Fn() -> bool,
    heard: &'a mut dyn FnMut(&BisectStep),
}

impl Search<'_, '_> {
    /// Judges the ends and what git chooses between them; the answer, or why there is none, comes into the report.
    fn carry_out(mut self, of: &Git, report: &mut BisectReport) -> Result<(), BisectError> {
        let (good, bad) = (report.good.clone(), report.bad.clone());
        let worktree = Worktree::add(of, &self.order.scratch, &bad, self.stop)?;
        let ends = [
            (&good, BisectVerdict::Good, "good"),
            (&bad, BisectVerdict::Bad, "bad"),
        ];
        for (commit, wanted, word) in ends.into_iter().filter(|_| self.order.judge_ends) {
            worktree.check_out(commit, self.stop)?;
            let Some(verdict) = self.judge(&worktree.git, report)? else {
                return Ok(());
            };
            if verdict != wanted {
                let found = word_of(verdict);
                report.stopped = Some(format!("the commit given as {word} is judged {found}"));
                return Ok(());
            }
        }
        self.between(&worktree.git, report, ["bisect", "start", &bad, &good])
    }

    fn between(
        &mut self,
        git: &Git,
        report: &mut BisectReport,
        begin: [&str; 4],
    ) -> Result<(), BisectError> {
        let (mut fine, mut said) = git.try_long(&begin, self.stop)?;
        loop {
            let first = said
                .lines()
                .find_map(|line| line.strip_suffix(" is the first bad commit"));
            if let Some(id) = first {
                report.first_bad = Some(git.described(id)?);
                return Ok(());
            }
            if said.contains("only 'skip'ped commits left") {
                let ids = said
                    .lines()
                    .filter(|line| line.len() >= 40 && line.bytes().all(|b| b.is_ascii_hexdigit()));
                for id in ids {
                    report.candidates.push(git.described(id)?);
                }
                report.stopped = Some("only commits that could not be judged are left".to_owned());
                return Ok(());
            }
            if !fine {
                report.stopped = Some(format!("git bisect: {}", said.trim()));
                return Ok(());
            }
            let Some(verdict) = self.judge(git, report)? else {
                return Ok(());
            };
            let word = match verdict {
                BisectVerdict::Good => "good",
                BisectVerdict::Bad => "bad",
                BisectVerdict::Skip => "skip",
            };
            (fine, said) = git.try_long(&["bisect", word], self.stop)?;
        }
    }

    /// Judges what is checked out; nothing where the oracle failed, which the report then says.
    fn judge(
        &mut self,
        git: &Git,
        report: &mut BisectReport,
    ) -> Result<Option<BisectVerdict>, BisectError> {
        let commit = git.described("HEAD")?;
        let begun = Instant::now();
        let status = (self.oracle)(&git.path, &commit).map_err(BisectError::Oracle)?;
        let verdict = match status {
            0 => BisectVerdict::Good,
            SKIP => BisectVerdict::Skip,
            1..=LAST_BAD => BisectVerdict::Bad,
            other => {
                let (id, oracle) = (&commit.id, &self.order.oracle);
                report.stopped = Some(match other {
                    126 | 127 => format!(
                        "the oracle `{oracle}` cannot be run on {id}: the shell cannot find or execute it, or a program in it \
                         (status {other})"
                    ),
                    _ => format!("the oracle itself failed on {id} with status {other}"),
                });
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

    fn order(dir: &TempDir, good: &str, bad: &str, script: &str) -> Order {
        Order {
            tree: dir.path().to_owned(),
            good: good.to_owned(),
            bad: bad.to_owned(),
            oracle: script.to_owned(),
            judge_ends: true,
            scratch: dir.path().join(".git"),
        }
    }

    fn find(dir: &TempDir, good: &str, bad: &str, script: &str) -> BisectReport {
        let order = order(dir, good, bad, script);
        let log = dir.path().join(".git/oracle.log");
        bisect(
            &order,
            &mut command_oracle(script, Path::new("/bin/true"), &log, &|| false),
            &|| false,
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

    /// What lies below the directory for worktrees, and how many worktrees git knows.
    fn left(dir: &TempDir) -> (Vec<String>, usize) {
        let entries = fs::read_dir(dir.path().join(".git")).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let list = Git::at(dir.path()).say(&["worktree", "list"]).unwrap();
        let ours = names.filter(|name| name.starts_with("bisect-"));
        (ours.collect(), list.lines().count())
    }

    #[test]
    fn it_is_stopped_at_once_whatever_the_oracle_waits_for_and_leaves_nothing() {
        let (dir, ids) = history();
        let lock = dir.path().join(".git/oracle-lock");
        let held = fs::File::create(&lock).unwrap();
        rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
        let waits = dir.path().join(".git/oracle-waits");
        // timeout(1) leaves the process group, and would wait on.
        let script = format!(
            "timeout 3600 sh -c 'touch {}; flock {} true'; true",
            waits.display(),
            lock.display()
        );
        let log = dir.path().join(".git/oracle.log");
        let order = order(&dir, &ids[0], "HEAD", &script);
        let stop = || waits.exists();
        let begun = Instant::now();
        let mut oracle = command_oracle(&script, Path::new("/bin/true"), &log, &stop);
        let report = bisect(&order, &mut oracle, &|| false, &mut |_| {}).unwrap();
        assert!(begun.elapsed().as_secs() < 1_800, "{:?}", begun.elapsed());
        assert_eq!(report.stopped.as_deref(), Some("it was stopped"));
        assert!(report.steps.is_empty() && waits.exists());
        assert_eq!(left(&dir), (Vec::new(), 1));
        // While git writes the worktree, too.
        let mut never = |_: &Path, _: &ConflictingCommit| Ok(0);
        let report = bisect(&order, &mut never, &|| true, &mut |_| {}).unwrap();
        assert_eq!(report.stopped.as_deref(), Some("it was stopped"));
        assert_eq!(left(&dir), (Vec::new(), 1));
    }

    #[test]
    fn what_a_killed_bisection_left_goes_with_the_next_one_and_what_one_works_in_stays() {
        let (dir, ids) = history();
        let git = Git::at(dir.path());
        let mut held = Vec::new();
        for name in ["bisect-left", "bisect-held"] {
            let scratch = dir.path().join(".git").join(name);
            fs::create_dir(&scratch).unwrap();
            let lock = fs::File::create(scratch.join("lock")).unwrap();
            if name == "bisect-held" {
                rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
                held.push(lock);
            }
            let path = scratch.join("tree").display().to_string();
            git.say(&["worktree", "add", "--quiet", "--detach", &path, "HEAD"])
                .unwrap();
        }
        assert_eq!(left(&dir).1, 3);
        let report = find(&dir, &ids[0], "HEAD", ORACLE);
        assert_eq!(report.first_bad.unwrap().id, ids[13]);
        assert_eq!(left(&dir), (vec!["bisect-held".to_owned()], 2));
    }

    #[test]
    fn ends_that_are_not_what_was_said_are_no_bisection() {
        let (dir, ids) = history();
        let report = find(&dir, &ids[15], "HEAD", ORACLE);
        assert_eq!(
            report.stopped.as_deref(),
            Some("the commit given as good is judged bad")
        );
        assert_eq!(report.first_bad, None);
        let report = find(&dir, &ids[0], &ids[5], ORACLE);
        assert_eq!(
            report.stopped.as_deref(),
            Some("the commit given as bad is judged good")
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
        for script in [
            "no-such-oracle --x",
            "echo more; no-such-oracle --x",
            "exit 126",
        ] {
            let report = find(&dir, &ids[0], "HEAD", script);
            let stopped = report.stopped.unwrap();
            let named = format!("the oracle `{script}` cannot be run on ");
            assert!(stopped.starts_with(&named), "{stopped}");
            assert!(report.steps.is_empty());
        }
        let report = find(&dir, &ids[0], "HEAD", "kill -9 $$");
        assert!(report.stopped.unwrap().ends_with("with status 137"));
    }

    #[test]
    fn commits_that_do_not_follow_each_other_are_refused() {
        let (dir, ids) = history();
        let mut order = order(&dir, &ids[5], &ids[2], "");
        let mut never = |_: &Path, _: &ConflictingCommit| unreachable!();
        let err = bisect(&order, &mut never, &|| false, &mut |_| {}).unwrap_err();
        assert!(matches!(err, BisectError::NoAncestor { .. }), "{err:?}");
        order.good = "no-such".to_owned();
        let err = bisect(&order, &mut never, &|| false, &mut |_| {}).unwrap_err();
        assert!(
            matches!(err, BisectError::Unknown { what: "--good", .. }),
            "{err:?}"
        );
    }
}
