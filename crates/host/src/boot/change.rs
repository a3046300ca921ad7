// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Writes files of the boot loader, and takes that back.

use std::error::Error as _;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use punctual_model::{BootFile, BootPlan, json};
use punctual_sys::{PathError, SysRoot, if_there};
use serde::{Deserialize, Serialize};

use super::place::{clear, new_id, replace, temporary};
use super::words;
use crate::private_dir::{PrivateDir, PrivateDirError};

/// Value of `format` in the file that keeps a change.
const FORMAT: &str = "punctual.boot-change/1";
/// The file of a change that is in place.
const ACTIVE: &str = "boot.json";
/// The file of the last one.
const LAST: &str = "boot.last.json";

/// A change of the boot loader's files, as it is kept.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct BootChange {
    /// `punctual.boot-change/1`.
    pub format: String,
    /// Name of the profile.
    pub profile: String,
    /// When it was made, RFC 3339 in UTC.
    pub at: String,
    /// The files, in the order in which they were written.
    pub files: Vec<BootFile>,
    /// What was to be done then.
    pub next: Vec<String>,
    /// What the names end in under which files are put together; empty in what earlier versions have written.
    #[serde(default)]
    pub temporary: String,
}

/// A change could not be made or taken back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BootError {
    /// The directory that keeps the change.
    #[error(transparent)]
    State(#[from] PrivateDirError),
    /// A file of the boot loader.
    #[error(transparent)]
    File(#[from] PathError),
    /// An earlier change is in place.
    #[error("the arguments of profile {profile} ({at}) are already in place")]
    InPlace {
        /// Its profile.
        profile: String,
        /// When it was made.
        at: String,
    },
    /// A file that is to be made is there, and nobody knows whose it is.
    #[error("{path} exists, but Punctual has no record of a change of its own")]
    Foreign {
        /// The file.
        path: String,
    },
    /// What keeps the change cannot be understood.
    #[error("the kept change is damaged: {reason}")]
    Damaged {
        /// How.
        reason: String,
    },
}

/// What became of a file, or of another piece of what was installed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FileUndone {
    /// It is as it was.
    Restored,
    /// It was as it was.
    AlreadyBack,
    /// Ours is out; what others changed meanwhile stays.
    OthersKept,
    /// Someone changed it since: left alone.
    Conflict,
}

/// What became of files that were taken back.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FilesUndone {
    /// Each file, in the order in which they were dealt with.
    pub files: Vec<(String, FileUndone)>,
}

impl FilesUndone {
    /// Whether every file is as it was.
    pub fn is_complete(&self) -> bool {
        conflicts(&self.files).is_empty()
    }
}

/// Returns the change that is in place, if there is one.
///
/// # Errors
///
/// Fails where the directory is not safe, or the file not understood.
pub fn applied(state: &Path) -> Result<Option<BootChange>, BootError> {
    let Some(dir) = PrivateDir::open(state)? else {
        return Ok(None);
    };
    read(&dir)
}

fn read(dir: &PrivateDir) -> Result<Option<BootChange>, BootError> {
    let Some(bytes) = dir.read(ACTIVE)? else {
        return Ok(None);
    };
    let damaged = |reason: String| BootError::Damaged { reason };
    let change: BootChange =
        serde_json::from_slice(&bytes).map_err(|err| damaged(err.to_string()))?;
    if change.format != FORMAT {
        return Err(damaged(format!("format `{}` is not known", change.format)));
    }
    Ok(Some(change))
}

/// Writes the files of a plan, after what undoes that is on disk in `state`.
///
/// # Errors
///
/// Fails when an earlier change is in place, and where a file cannot be written: then those that were
/// written are taken back.
pub fn apply(plan: &BootPlan, sys: &SysRoot, state: &Path, at: &str) -> Result<(), BootError> {
    let dir = PrivateDir::create(state)?;
    let _lock = dir.lock("tune boot apply", std::time::Duration::ZERO)?;
    if let Some(change) = read(&dir)? {
        return Err(BootError::InPlace {
            profile: change.profile,
            at: change.at,
        });
    }
    // Only the command line of a Raspberry Pi is edited; all else is made.
    let foreign = plan
        .files
        .iter()
        .find(|file| file.old.is_some() && !file.path.ends_with("/cmdline.txt"));
    if let Some(file) = foreign {
        return Err(BootError::Foreign {
            path: file.path.clone(),
        });
    }
    let change = BootChange {
        format: FORMAT.to_owned(),
        profile: plan.profile.clone(),
        at: at.to_owned(),
        files: plan.files.clone(),
        next: plan.next.clone(),
        temporary: new_id().map_err(|err| failed("make a name in", state, err))?,
    };
    let bytes = json::indented(&change).map_err(|err| BootError::Damaged {
        reason: err.to_string(),
    })?;
    dir.write(ACTIVE, &bytes, 0)?;
    for file in &change.files {
        if let Err(err) = change.write(file, sys) {
            // What is not back is kept, for `revert`.
            let undone = undo(&change, sys);
            if undone.is_ok_and(|undone| conflicts(&undone).is_empty()) {
                dir.remove(ACTIVE)?;
            }
            return Err(err);
        }
    }
    Ok(())
}

impl BootChange {
    fn write(&self, file: &BootFile, sys: &SysRoot) -> Result<(), BootError> {
        let full = inside(sys, &file.path)?;
        if read_text(&full)? != file.old {
            let changed = io::Error::other("it has changed since this was planned");
            return Err(failed("write", &full, changed));
        }
        // A copy is as secret as what it is made of.
        let of = file.path.strip_suffix(super::loader::COPY);
        let of = of.map(|of| inside(sys, of)).transpose()?;
        let temporary = temporary(&file.path, &self.temporary);
        put(sys, &file.path, Some(&file.new), &temporary, of.as_deref())
    }
}

/// Takes back the change that is in place. None if there is none.
///
/// # Errors
///
/// Fails where a file cannot be written. The change is kept then, and where a file was left alone, so that it can be
/// taken back once more.
pub fn revert(sys: &SysRoot, state: &Path) -> Result<Option<FilesUndone>, BootError> {
    let Some(dir) = PrivateDir::open(state)? else {
        return Ok(None);
    };
    let _lock = dir.lock("tune boot revert", std::time::Duration::ZERO)?;
    let Some(change) = read(&dir)? else {
        return Ok(None);
    };
    let files = undo(&change, sys)?;
    if conflicts(&files).is_empty() {
        dir.rename(ACTIVE, LAST)?;
    }
    Ok(Some(FilesUndone { files }))
}

/// Lists what was left alone.
pub(crate) fn conflicts(files: &[(String, FileUndone)]) -> Vec<&str> {
    let left = files
        .iter()
        .filter(|(_, undone)| *undone == FileUndone::Conflict);
    left.map(|(path, _)| path.as_str()).collect()
}

fn undo(change: &BootChange, sys: &SysRoot) -> Result<Vec<(String, FileUndone)>, BootError> {
    let mut undone = Vec::new();
    for file in change.files.iter().rev() {
        let full = inside(sys, &file.path)?;
        let temporary = temporary(&file.path, &change.temporary);
        if !change.temporary.is_empty() {
            let left = sys.full(&temporary);
            clear(&left).map_err(|err| failed("remove", &left, err))?;
        }
        let now = read_text(&full)?;
        let back = |content: Option<&str>| put(sys, &file.path, content, &temporary, None);
        let what = if now == file.old {
            FileUndone::AlreadyBack
        } else if now.as_ref() == Some(&file.new) {
            back(file.old.as_deref())?;
            FileUndone::Restored
        } else if let (Some(now), Some(old)) = (&now, &file.old) {
            let without = without_ours(now, old, &file.new);
            if without != *now {
                back(Some(&without))?;
            }
            FileUndone::OthersKept
        } else {
            FileUndone::Conflict
        };
        undone.push((file.path.clone(), what));
    }
    Ok(undone)
}

/// Takes the words that we added out of a command line that someone changed since, and puts those back that they
/// replaced.
fn without_ours(now: &str, old: &str, new: &str) -> String {
    let (old, new) = (words(old), words(new));
    let ours = |word: &&str| new.contains(word) && !old.contains(word);
    if !words(now).iter().any(ours) {
        return now.to_owned();
    }
    let mut line: Vec<&str> = words(now).into_iter().filter(|word| !ours(word)).collect();
    let gone = old.iter().filter(|word| !new.contains(word));
    for word in gone {
        if !line.contains(word) {
            line.push(word);
        }
    }
    // What is init's stays behind all that is the kernel's.
    let init = now.split_once(" -- ").map(|(_, init)| init.trim());
    line.extend(init.map(|_| "--"));
    line.extend(init);
    line.join(" ") + "\n"
}

/// Reads a text file; none where there is none.
pub(crate) fn read_text(full: &Path) -> Result<Option<String>, BootError> {
    let bytes = if_there(fs::read(full)).map_err(|err| failed("read", full, err))?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// Gives a file its content, or removes it. It is there whole, old or new, whatever happens, and it is put together
/// as `temporary`, in the same directory. A new one is like `like`.
pub(crate) fn put(
    sys: &SysRoot,
    path: &str,
    content: Option<&str>,
    temporary: &str,
    like: Option<&Path>,
) -> Result<(), BootError> {
    let full = inside(sys, path)?;
    match content {
        None => fs::remove_file(&full).map_err(|err| failed("remove", &full, err))?,
        Some(content) => replace(&full, &sys.full(temporary), content.as_bytes(), like)
            .map_err(|err| failed("write", &full, err))?,
    }
    sync_above(&full)
}

/// Returns where a file is, unless a symbolic link of a captured tree leads out of that.
pub(crate) fn inside(sys: &SysRoot, path: &str) -> Result<PathBuf, BootError> {
    sys.within(path).map_err(|err| {
        let why = err.source().map(ToString::to_string);
        let why = io::Error::other(why.unwrap_or_default());
        failed("find", &sys.full(path), why)
    })
}

pub(crate) fn sync_above(full: &Path) -> Result<(), BootError> {
    let Some(above) = full.parent() else {
        return Ok(());
    };
    File::open(above)
        .and_then(|dir| dir.sync_all())
        .map_err(|err| failed("sync", above, err))
}

pub(crate) fn failed(action: &'static str, path: &Path, source: io::Error) -> BootError {
    PathError::new(action, path, source).into()
}
