// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A vendor's branch on top of a real-time branch.
//!
//! Embedded boards come with a kernel of their vendor's: a stable release and some hundred commits. To have PREEMPT_RT
//! below them, their commits are put one after the other on a real-time branch of the same release, as V. Bridgers
//! describes it (*Real Time Linux Scheduling Comparison*, 2015). That happens in a worktree next to the vendor's tree,
//! on a new branch: neither the files nor the branches of the vendor change. What was resolved by hand once, git
//! remembers (rerere) and does again.

mod left_out;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use punctual_model::{KERNEL_REBASE_FORMAT, RebaseConflict, RebaseReport, RebaseState, json};
use serde::{Deserialize, Serialize};

use punctual_sys::{At as _, PathError, if_there};

use crate::git::{Git, described};
use crate::tool::ToolError;

/// The file in git's directory that keeps what was asked.
const KEPT: &str = "punctual-rebase.json";
/// Commits of the other side that are named for each file.
const NAMED: &str = "-5";

/// What is to be put where.
#[derive(Clone, Debug)]
pub struct Order {
    /// The vendor's branch.
    pub vendor: String,
    /// The branch that it is put on.
    pub onto: String,
    /// Where the vendor's work starts; else where the two branches part.
    pub base: Option<String>,
    /// The new branch.
    pub branch: String,
    /// Directory of the worktree, which must be empty if it is there.
    pub worktree: PathBuf,
}

/// A rebase could not be made or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RebaseError {
    /// git failed.
    #[error(transparent)]
    Git(#[from] ToolError),
    /// There is no such commit.
    #[error("{what} `{name}`: no such branch, tag or commit")]
    Unknown {
        /// What it was to be.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The branches have nothing in common.
    #[error("{vendor} and {onto} have no commit in common")]
    Apart {
        /// One.
        vendor: String,
        /// The other.
        onto: String,
    },
    /// One is under way.
    #[error("a rebase of {vendor} is in progress in {}", worktree.display())]
    UnderWay {
        /// The vendor's branch.
        vendor: String,
        /// Where.
        worktree: PathBuf,
    },
    /// The new branch is there.
    #[error("a branch {0} already exists")]
    BranchThere(String),
    /// Something is where the worktree is to be.
    #[error("a worktree or file {} already exists", .0.display())]
    WorktreeThere(PathBuf),
    /// git has a worktree there whose files are gone.
    #[error("git still lists a worktree {}, whose files are gone", .0.display())]
    WorktreeListed(PathBuf),
    /// None is under way.
    #[error("no rebase is in progress in {}", .0.display())]
    None(PathBuf),
    /// It ended without a result.
    #[error("the rebase of {vendor} in {} never began, or was given up", worktree.display())]
    GivenUp {
        /// The vendor's branch.
        vendor: String,
        /// Where it was.
        worktree: PathBuf,
    },
    /// A file.
    #[error(transparent)]
    File(#[from] PathError),
    /// What was kept is damaged.
    #[error("{} is damaged", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// How.
        source: serde_json::Error,
    },
}

/// What is kept of a rebase that is under way.
#[derive(Debug, Deserialize, Serialize)]
struct Kept {
    vendor: String,
    onto: String,
    base: String,
    onto_id: String,
    branch: String,
    worktree: PathBuf,
    commits: u64,
    /// Where the vendor's branch was. Programs before did not keep it.
    #[serde(default)]
    vendor_id: Option<String>,
}

/// Begins a rebase in the repository of `tree`.
///
/// # Errors
///
/// Fails where one is under way, a name is not known or the new branch or the worktree is there, and when git fails.
pub fn start(tree: &Path, order: &Order) -> Result<RebaseReport, RebaseError> {
    let git = Git::at(tree);
    if let Some(kept) = read(&git)?
        && (in_progress(&git, &kept)?.is_some() || !is_complete(&git, &kept)?)
    {
        return Err(RebaseError::UnderWay {
            vendor: kept.vendor,
            worktree: kept.worktree,
        });
    }
    let find = |what, name: &str| {
        git.commit(name)?.ok_or_else(|| RebaseError::Unknown {
            what,
            name: name.to_owned(),
        })
    };
    let vendor_id = find("vendor's branch", &order.vendor)?;
    let onto_id = find("branch", &order.onto)?;
    let base = match &order.base {
        Some(base) => find("base", base)?,
        None => {
            let common = git.try_it(&["merge-base", &vendor_id, &onto_id])?;
            if !common.status.success() {
                return Err(RebaseError::Apart {
                    vendor: order.vendor.clone(),
                    onto: order.onto.clone(),
                });
            }
            common.text()
        }
    };
    if git
        .commit(&format!("refs/heads/{}", order.branch))?
        .is_some()
    {
        return Err(RebaseError::BranchThere(order.branch.clone()));
    }
    let count = git.say(&[
        "rev-list",
        "--count",
        "--no-merges",
        &format!("{base}..{vendor_id}"),
    ])?;
    let kept = Kept {
        vendor: order.vendor.clone(),
        onto: order.onto.clone(),
        base,
        onto_id,
        branch: order.branch.clone(),
        worktree: std::path::absolute(&order.worktree)
            .map_err(PathError::at("find", &order.worktree))?,
        commits: count.parse().unwrap_or(0),
        vendor_id: Some(vendor_id.clone()),
    };
    if is_taken(&kept.worktree) {
        return Err(RebaseError::WorktreeThere(kept.worktree));
    }
    if is_listed(&git, &kept.worktree)? {
        return Err(RebaseError::WorktreeListed(kept.worktree));
    }
    // Before there is anything: whatever ends this program, `abort` finds what there is.
    write(&git, &kept)?;
    let begun = begin(&git, &kept, &vendor_id);
    if begun.is_err() && in_progress(&git, &kept).is_ok_and(|worktree| worktree.is_none()) {
        // Why it did not begin is what is said; what cannot be removed now, `abort` removes.
        drop(remove(&git, &kept));
    }
    begun
}

fn begin(git: &Git, kept: &Kept, vendor_id: &str) -> Result<RebaseReport, RebaseError> {
    let path = kept.worktree.to_string_lossy().into_owned();
    let add = ["worktree", "add", "--quiet", "-b", &kept.branch, &path];
    git.say(&[&add[..], &[vendor_id]].concat())?;
    let onto = [
        "rebase",
        "--empty=drop",
        "--onto",
        &kept.onto_id,
        &kept.base,
    ];
    go(git, kept, &onto)
}

/// Goes on with a rebase whose conflicts were resolved. Files without conflict markers count as resolved.
///
/// # Errors
///
/// Fails where none is under way or it was given up, and when git fails. That conflicts are left is in the report.
pub fn resume(tree: &Path) -> Result<RebaseReport, RebaseError> {
    let git = Git::at(tree);
    let kept = read(&git)?.ok_or_else(|| RebaseError::None(tree.to_owned()))?;
    let Some(worktree) = in_progress(&git, &kept)? else {
        return report(&git, &kept, Vec::new());
    };
    for file in unmerged(&worktree)? {
        let path = kept.worktree.join(&file);
        if !has_markers(&path) {
            worktree.say(&["add", "--all", "--", &file])?;
        }
    }
    if !unmerged(&worktree)?.is_empty() {
        return report(&git, &kept, Vec::new());
    }
    go(&git, &kept, &["rebase", "--continue"])
}

/// Gives a rebase up: the worktree and the new branch go, what git remembers of resolutions stays.
///
/// # Errors
///
/// Fails where none is under way, and when git fails.
pub fn abort(tree: &Path) -> Result<RebaseReport, RebaseError> {
    let git = Git::at(tree);
    let kept = read(&git)?.ok_or_else(|| RebaseError::None(tree.to_owned()))?;
    let mut last = empty(&git, &kept);
    last.state = RebaseState::Aborted;
    remove(&git, &kept)?;
    Ok(last)
}

/// Removes the worktree, the branch and the note, and passes over what is gone already.
fn remove(git: &Git, kept: &Kept) -> Result<(), RebaseError> {
    if is_listed(git, &kept.worktree)? {
        let path = kept.worktree.to_string_lossy().into_owned();
        // Twice, since git locks a worktree while it makes it.
        git.say(&["worktree", "remove", "--force", "--force", &path])?;
    }
    git.say(&["worktree", "prune"])?;
    let branch = format!("refs/heads/{}", kept.branch);
    if git.commit(&branch)?.is_some() {
        git.say(&["branch", "--quiet", "-D", &kept.branch])?;
    }
    forget(git)
}

/// Says how far a rebase is.
///
/// # Errors
///
/// As [`resume`].
pub fn status(tree: &Path) -> Result<RebaseReport, RebaseError> {
    let git = Git::at(tree);
    let kept = read(&git)?.ok_or_else(|| RebaseError::None(tree.to_owned()))?;
    report(&git, &kept, Vec::new())
}

/// Lets git work until it stops at something that nobody has resolved before, or is done.
fn go(git: &Git, kept: &Kept, first: &[&str]) -> Result<RebaseReport, RebaseError> {
    let worktree = Git::at(&kept.worktree);
    let mut args = first.to_vec();
    let mut resolved = Vec::new();
    loop {
        let before = position(&worktree)?;
        let mut command = worktree.command(&args);
        for (variable, setting, value) in [
            ("GIT_COMMITTER_NAME", "user.name", "punctual"),
            ("GIT_COMMITTER_EMAIL", "user.email", "punctual@localhost"),
        ] {
            // Only where nobody has said who commits here.
            if !worktree.try_it(&["config", setting])?.status.success() {
                command.env(variable, value);
            }
        }
        let answer = crate::tool::ask(&mut command)?;
        let said = format!("{}\n{}", answer.text(), answer.stderr);
        let used = said
            .lines()
            .filter(|line| line.ends_with("using previous resolution."));
        let files = used.filter_map(|line| line.split('\'').nth(1));
        resolved.extend(files.map(str::to_owned));
        if !under_way(&worktree)? {
            if !answer.status.success() {
                // Nothing was begun, and nothing is to be gone on with.
                return Err(crate::tool::failed_with(&command, &answer).into());
            }
            let mut report = complete(git, kept)?;
            report.resolved_before = resolved;
            return Ok(report);
        }
        let stuck = position(&worktree)? == before && args == ["rebase", "--continue"];
        if !unmerged(&worktree)?.is_empty() || stuck {
            break;
        }
        args = vec!["rebase", "--continue"];
    }
    report(git, kept, resolved)
}

fn report(
    git: &Git,
    kept: &Kept,
    resolved_before: Vec<String>,
) -> Result<RebaseReport, RebaseError> {
    let Some(worktree) = in_progress(git, kept)? else {
        if !is_complete(git, kept)? {
            return Err(RebaseError::GivenUp {
                vendor: kept.vendor.clone(),
                worktree: kept.worktree.clone(),
            });
        }
        return complete(git, kept);
    };
    let mut report = empty(git, kept);
    report.resolved_before = resolved_before;
    report.state = RebaseState::Stopped;
    // The one that stopped it is not dealt with.
    report.done = position(&worktree)?.saturating_sub(1);
    if let Some(id) = worktree.commit("REBASE_HEAD")? {
        report.stopped_at = Some(worktree.described(&id)?);
    }
    let range = format!("{}..{}", kept.base, kept.onto_id);
    for (kind, file) in conflicts(&worktree)? {
        let log = git.say(&["log", NAMED, "--format=%H%x09%s", &range, "--", &file])?;
        report.conflicts.push(RebaseConflict {
            file,
            kind,
            theirs: log.lines().map(described).collect(),
        });
    }
    Ok(report)
}

fn complete(git: &Git, kept: &Kept) -> Result<RebaseReport, RebaseError> {
    let mut report = empty(git, kept);
    report.done = kept.commits;
    if let Some(vendor) = &kept.vendor_id {
        let vendor = format!("{}..{vendor}", kept.base);
        let branch = format!("{}..refs/heads/{}", kept.onto_id, kept.branch);
        report.left_out = left_out::commits(git, &vendor, &branch)?;
    }
    forget(git)?;
    Ok(report)
}

fn empty(git: &Git, kept: &Kept) -> RebaseReport {
    RebaseReport {
        format: KERNEL_REBASE_FORMAT.to_owned(),
        tree: git.path.display().to_string(),
        vendor: kept.vendor.clone(),
        onto: kept.onto.clone(),
        base: kept.base.clone(),
        branch: kept.branch.clone(),
        worktree: kept.worktree.display().to_string(),
        state: RebaseState::Complete,
        commits: kept.commits,
        done: 0,
        stopped_at: None,
        conflicts: Vec::new(),
        resolved_before: Vec::new(),
        left_out: Vec::new(),
    }
}

/// Returns the worktree, unless somebody removed it.
fn worktree(git: &Git, kept: &Kept) -> Result<Option<Git>, RebaseError> {
    let there = kept.worktree.is_dir() && is_listed(git, &kept.worktree)?;
    Ok(there.then(|| Git::at(&kept.worktree)))
}

/// Returns the worktree if git has a rebase in progress there.
fn in_progress(git: &Git, kept: &Kept) -> Result<Option<Git>, RebaseError> {
    match worktree(git, kept)? {
        Some(worktree) if under_way(&worktree)? => Ok(Some(worktree)),
        _ => Ok(None),
    }
}

/// Whether the new branch of a rebase that is not in progress has its result: git moves the branch at the end. What has
/// become of the worktree since does not matter.
fn is_complete(git: &Git, kept: &Kept) -> Result<bool, RebaseError> {
    let branch = format!("refs/heads/{}", kept.branch);
    let Some(tip) = git.commit(&branch)? else {
        return Ok(false);
    };
    let on_top = git.try_it(&["merge-base", "--is-ancestor", &kept.onto_id, &tip])?;
    // The vendor's work may be on top of the other branch already, and nothing was to be done.
    let moved = kept.base == kept.onto_id || git.commit(&kept.vendor)?.as_ref() != Some(&tip);
    Ok(on_top.status.success() && moved)
}

/// Whether something is there that git makes no worktree in: it takes an empty directory.
fn is_taken(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => path.exists(),
    }
}

/// Whether git knows a worktree there, even if its directory is gone.
fn is_listed(git: &Git, path: &Path) -> Result<bool, RebaseError> {
    let name = path.file_name().unwrap_or_default();
    // As git writes it: without links above it.
    let above = path.parent().map(fs::canonicalize).and_then(Result::ok);
    let real = match fs::canonicalize(path) {
        Ok(real) => real,
        Err(_) => above.map_or_else(|| path.to_owned(), |above| above.join(name)),
    };
    let line = format!("worktree {}", real.display());
    let listed = git.say(&["worktree", "list", "--porcelain"])?;
    Ok(listed.lines().any(|found| found == line))
}

fn under_way(worktree: &Git) -> Result<bool, RebaseError> {
    Ok(worktree.own("rebase-merge")?.exists())
}

/// Returns which commit git is at, from 1.
fn position(worktree: &Git) -> Result<u64, RebaseError> {
    let path = worktree.own("rebase-merge/msgnum")?;
    let text = fs::read(path).unwrap_or_default();
    Ok(String::from_utf8_lossy(&text).trim().parse().unwrap_or(0))
}

fn unmerged(worktree: &Git) -> Result<Vec<String>, RebaseError> {
    Ok(conflicts(worktree)?
        .into_iter()
        .map(|(_, file)| file)
        .collect())
}

/// Lists files in conflict with what git says of them (git-status(1), "Short Format").
fn conflicts(worktree: &Git) -> Result<Vec<(String, String)>, RebaseError> {
    let text = worktree.say(&[
        "status",
        "--porcelain=v1",
        "-z",
        "--untracked-files=no",
        "--no-renames",
    ])?;
    let conflicts = text.split('\0').filter_map(|entry| {
        let kind = match entry.get(..2)? {
            "DD" => "both deleted",
            "AU" => "added by us",
            "UD" => "deleted by them",
            "UA" => "added by them",
            "DU" => "deleted by us",
            "AA" => "both added",
            "UU" => "both modified",
            _ => return None,
        };
        Some((kind.to_owned(), entry.get(3..)?.to_owned()))
    });
    Ok(conflicts.collect())
}

/// Whether a file still has what git marks conflicts with.
fn has_markers(path: &Path) -> bool {
    let bytes = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.lines()
        .any(|line| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> "))
}

fn kept_path(git: &Git) -> Result<PathBuf, RebaseError> {
    let common = git.say(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
    Ok(PathBuf::from(common).join(KEPT))
}

fn read(git: &Git) -> Result<Option<Kept>, RebaseError> {
    let path = kept_path(git)?;
    let Some(bytes) = if_there(fs::read(&path)).at("read", &path)? else {
        return Ok(None);
    };
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|source| RebaseError::Damaged { path, source })
}

fn write(git: &Git, kept: &Kept) -> Result<(), RebaseError> {
    let path = kept_path(git)?;
    let bytes = json::indented(kept).map_err(|source| RebaseError::Damaged {
        path: path.clone(),
        source,
    })?;
    Ok(fs::write(&path, bytes).map_err(PathError::at("write", &path))?)
}

fn forget(git: &Git) -> Result<(), RebaseError> {
    let path = kept_path(git)?;
    match fs::remove_file(&path) {
        Err(err) if err.kind() != io::ErrorKind::NotFound => {
            Err(PathError::new("remove", &path, err).into())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
