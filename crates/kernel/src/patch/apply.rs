// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Tries a series on copies of the files, then applies it.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use punctual_model::{KERNEL_PATCH_FORMAT, PatchOutcome, PatchReport, PatchResult, PatchedTree};

use punctual_sys::PathError;

use super::PatchError;
use super::diff::Patch;
use super::said::{complaint, elsewhere, failed_hunks};
use super::series::Series;
use super::swap::{above, swap};
use crate::beneath::Beneath;
use crate::tool::{Answer, ask, command};

/// How much a series may miss.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Lines of context that may be ignored at either end of a hunk.
    pub fuzz: u8,
    /// Go on past patches that do not apply, and leave them out.
    pub leave_out: bool,
    /// Only try.
    pub trial: bool,
}

/// Tries `series` on the tree in `tree`, and puts it in if it applies.
///
/// # Errors
///
/// Fails where a file cannot be read or written, or patch(1) is missing; the tree is as it was then. That a patch does
/// not apply is not an error here: it is in the report.
pub fn apply(tree: &Path, series: &Series, limits: Limits) -> Result<PatchReport, PatchError> {
    let scratch = tempfile::Builder::new()
        .prefix("punctual-patch-")
        .permissions(fs::Permissions::from_mode(0o700))
        .tempdir();
    let scratch = scratch.map_err(PathError::at("make a directory in", &std::env::temp_dir()))?;
    let copy = scratch.path().join("tree");
    fs::create_dir(&copy).map_err(PathError::at("make directory", &copy))?;
    let files = series.files();
    let mut beneath = Beneath::open(tree).map_err(PathError::at("open", tree))?;
    take((tree, &mut beneath), &copy, &files)?;
    let mut patches = Vec::new();
    let mut failed = false;
    for patch in &series.patches {
        if failed && !limits.leave_out {
            patches.push(result(patch, PatchOutcome::NotTried));
            continue;
        }
        let tried = Attempt {
            copy: &copy,
            scratch: scratch.path(),
            patch,
            fuzz: limits.fuzz,
        }
        .carry_out()?;
        failed |= tried.outcome == PatchOutcome::Fails;
        patches.push(tried);
    }
    let (tree_is, changed) = if limits.trial {
        (PatchedTree::Trial, 0)
    } else if failed && !limits.leave_out {
        (PatchedTree::Unchanged, 0)
    } else {
        let changed = swap(
            (tree, &mut beneath),
            &copy,
            &scratch.path().join("old"),
            files,
        )?;
        let what = if failed {
            PatchedTree::PatchedInPart
        } else {
            PatchedTree::Patched
        };
        (what, changed)
    };
    Ok(PatchReport {
        format: KERNEL_PATCH_FORMAT.to_owned(),
        tree: tree.display().to_string(),
        series: series.from.display().to_string(),
        result: tree_is,
        patches,
        files: changed,
    })
}

/// Copies those of the files that are there.
fn take(
    (from, beneath): (&Path, &mut Beneath),
    to: &Path,
    files: &BTreeSet<String>,
) -> Result<(), PatchError> {
    for file in files {
        let (from, to) = (from.join(file), to.join(file));
        let there = beneath.read(Path::new(file));
        if let Some(mut there) = there.map_err(PathError::at("patch", &from))? {
            above(&to)?;
            copied(&mut there, &to).map_err(PathError::at("copy", &from))?;
        }
    }
    Ok(())
}

fn copied(from: &mut File, to: &Path) -> io::Result<()> {
    let mode = from.metadata()?.permissions().mode() & 0o777;
    let mut options = File::options();
    let mut copy = options.write(true).create_new(true).mode(mode).open(to)?;
    // Whatever the umask says.
    copy.set_permissions(fs::Permissions::from_mode(mode))?;
    io::copy(from, &mut copy).map(drop)
}

/// Requires that patch(1) has touched nothing but what was read in the series: the rest would be lost silently.
fn only(copy: &Path, directory: &Path, files: &BTreeSet<String>) -> Result<(), PatchError> {
    let entries = fs::read_dir(directory).map_err(PathError::at("list", directory))?;
    for entry in entries {
        let entry = entry.map_err(PathError::at("list", directory))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(PathError::at("examine", &path))?;
        let name = path.strip_prefix(copy).unwrap_or(&path);
        if kind.is_dir() {
            only(copy, &path, files)?;
        } else if name.to_str().is_none_or(|name| !files.contains(name)) {
            return Err(PatchError::Unnamed {
                file: name.display().to_string(),
            });
        }
    }
    Ok(())
}

fn result(patch: &Patch, outcome: PatchOutcome) -> PatchResult {
    PatchResult {
        name: patch.name.clone(),
        outcome,
        files: u64::try_from(patch.files().len()).unwrap_or(u64::MAX),
        offset_hunks: 0,
        fuzzy_hunks: 0,
        failed: Vec::new(),
        said: None,
    }
}

/// A patch that is tried.
struct Attempt<'a> {
    /// The files of the series, with the patches before it.
    copy: &'a Path,
    scratch: &'a Path,
    patch: &'a Patch,
    fuzz: u8,
}

impl Attempt<'_> {
    /// Puts the patch into the copy if all of it applies. It is tried in a copy of that, not with `--dry-run`, which
    /// does not see what one part of a patch does to the next.
    fn carry_out(&self) -> Result<PatchResult, PatchError> {
        let input = self.scratch.join("patch");
        fs::write(&input, self.patch.diffs()).map_err(PathError::at("write", &input))?;
        let trial = self.scratch.join("trial");
        let answer = self.run(&trial, &input, self.fuzz, &["--forward"])?;
        let text = answer.text();
        if !answer.status.success() {
            // Without context that is ignored: a removed line, put back, would fit anywhere.
            let backwards = self.run(&trial, &input, 0, &["--reverse", "--force"])?;
            let there = backwards.status.success();
            let elsewhere = elsewhere(&backwards.text()).filter(|_| there);
            if there && elsewhere.is_none() {
                return Ok(result(self.patch, PatchOutcome::AlreadyThere));
            }
            let mut failed = result(self.patch, PatchOutcome::Fails);
            failed.failed = failed_hunks(&text, self.patch);
            failed.said = match failed.failed.is_empty() {
                true => elsewhere.or_else(|| complaint(&text, &answer.stderr)),
                false => elsewhere,
            };
            return Ok(failed);
        }
        self.keep(&trial)?;
        let mut applied = result(self.patch, PatchOutcome::Applies);
        let hunks = |word: &str| {
            let lines = text
                .lines()
                .filter(|line| line.starts_with("Hunk #") && line.contains(word));
            u64::try_from(lines.count()).unwrap_or(u64::MAX)
        };
        applied.fuzzy_hunks = hunks("with fuzz");
        applied.offset_hunks = hunks("(offset");
        Ok(applied)
    }

    /// Runs patch(1) on a fresh copy of the patch's files.
    fn run(
        &self,
        trial: &Path,
        input: &Path,
        fuzz: u8,
        more: &[&str],
    ) -> Result<Answer, PatchError> {
        if trial.exists() {
            fs::remove_dir_all(trial).map_err(PathError::at("remove", trial))?;
        }
        fs::create_dir(trial).map_err(PathError::at("make directory", trial))?;
        let mut from = Beneath::open(self.copy).map_err(PathError::at("open", self.copy))?;
        take((self.copy, &mut from), trial, &self.patch.files())?;
        let mut patch = command("patch");
        patch
            .arg("-d")
            .arg(trial)
            .arg(format!("-p{}", self.patch.strip))
            .arg(format!("--fuzz={fuzz}"))
            .args([
                "--batch",
                // Nothing is fetched from a version control that a tree pretends to have.
                "--get=0",
                "--no-backup-if-mismatch",
                "--quoting-style=literal",
                "--reject-file=-",
                "--input",
            ])
            .arg(input)
            .args(more);
        Ok(ask(&mut patch)?)
    }

    /// Brings the patch's files of the copy to what they are in `trial`.
    fn keep(&self, trial: &Path) -> Result<(), PatchError> {
        let files = self.patch.files();
        only(trial, trial, &files)?;
        // All first: a file may become a directory of others, or the reverse.
        for file in &files {
            let to = self.copy.join(file);
            if is_file(&to) {
                fs::remove_file(&to).map_err(PathError::at("replace", &to))?;
                remove_empty_above(&to, self.copy);
            }
        }
        for file in &files {
            let (from, to) = (trial.join(file), self.copy.join(file));
            if is_file(&from) {
                above(&to)?;
                fs::rename(&from, &to).map_err(PathError::at("move", &from))?;
            }
        }
        Ok(())
    }
}

/// Whether something is there that is no directory.
fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| !found.is_dir())
}

/// Removes the directories below `root` that a removed file leaves empty.
fn remove_empty_above(file: &Path, root: &Path) {
    let mut above = file.ancestors().skip(1).take_while(|above| *above != root);
    // The first that is not empty ends it.
    while above
        .next()
        .is_some_and(|above| fs::remove_dir(above).is_ok())
    {}
}
