// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Writes files of the boot loader, and takes that back.

use std::error::Error as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use punctual_model::{BootFile, BootPlan};
use punctual_sys::SysRoot;
use serde::{Deserialize, Serialize};

use crate::state::{PrivateDir, StateError};

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
}

/// A change could not be made or taken back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BootError {
    /// The directory that keeps the change.
    #[error(transparent)]
    State(#[from] StateError),
    /// A file of the boot loader.
    #[error("{action} {}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The operating system's words.
        source: io::Error,
    },
    /// An earlier change is in place.
    #[error("the arguments of profile {profile} ({at}) are in place already")]
    InPlace {
        /// Its profile.
        profile: String,
        /// When it was made.
        at: String,
    },
    /// A file that is to be made is there, and nobody knows whose it is.
    #[error("{path} is there already, and no change of ours is known")]
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

/// What became of one file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FileUndone {
    /// It is as it was.
    Restored,
    /// It was as it was.
    AlreadyBack,
    /// Someone changed it since: left alone.
    Conflict,
}

/// What became of a change that was taken back.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BootReverted {
    /// The change.
    pub change: BootChange,
    /// Each file, in the order in which they were dealt with.
    pub files: Vec<(String, FileUndone)>,
}

impl BootReverted {
    /// Whether every file is as it was.
    pub fn is_complete(&self) -> bool {
        self.files
            .iter()
            .all(|(_, undone)| *undone != FileUndone::Conflict)
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
    };
    let bytes = serde_json::to_vec_pretty(&change).map_err(|err| BootError::Damaged {
        reason: err.to_string(),
    })?;
    dir.write(ACTIVE, &bytes, 0)?;
    for file in &plan.files {
        if let Err(err) = put(sys, &file.path, Some(&file.new)) {
            drop(undo(&change, sys));
            dir.remove(ACTIVE)?;
            return Err(err);
        }
    }
    Ok(())
}

/// Takes back the change that is in place. None if there is none.
///
/// # Errors
///
/// Fails where a file cannot be written; the change is kept then.
pub fn revert(sys: &SysRoot, state: &Path) -> Result<Option<BootReverted>, BootError> {
    let Some(dir) = PrivateDir::open(state)? else {
        return Ok(None);
    };
    let _lock = dir.lock("tune boot revert", std::time::Duration::ZERO)?;
    let Some(change) = read(&dir)? else {
        return Ok(None);
    };
    let files = undo(&change, sys)?;
    dir.rename(ACTIVE, LAST)?;
    Ok(Some(BootReverted { change, files }))
}

fn undo(change: &BootChange, sys: &SysRoot) -> Result<Vec<(String, FileUndone)>, BootError> {
    let mut undone = Vec::new();
    for file in change.files.iter().rev() {
        let full = inside(sys, &file.path)?;
        let now = match fs::read(&full) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(err) if err.kind() == io::ErrorKind::NotFound => None,
            Err(err) => return Err(failed("read", &full, err)),
        };
        let what = if now == file.old {
            FileUndone::AlreadyBack
        } else if now.as_ref() == Some(&file.new) {
            put(sys, &file.path, file.old.as_deref())?;
            FileUndone::Restored
        } else {
            FileUndone::Conflict
        };
        undone.push((file.path.clone(), what));
    }
    Ok(undone)
}

/// Gives a file its content, or removes it. It is there whole, old or new, whatever happens.
pub(crate) fn put(sys: &SysRoot, path: &str, content: Option<&str>) -> Result<(), BootError> {
    let full = inside(sys, path)?;
    let Some(content) = content else {
        fs::remove_file(&full).map_err(|err| failed("remove", &full, err))?;
        return sync_above(&full);
    };
    let temporary = sys.full(&format!("{path}.punctual-new"));
    // What a crash left goes. What is there all the same is no file of ours to write into.
    drop(fs::remove_file(&temporary));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o644)
        .open(&temporary)
        .and_then(|mut file| {
            file.write_all(content.as_bytes())?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&temporary, &full));
    if let Err(err) = written {
        // It is nobody's.
        drop(fs::remove_file(&temporary));
        return Err(failed("write", &full, err));
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
    BootError::File {
        action,
        path: path.to_owned(),
        source,
    }
}
