// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Carries a plan out, keeps what undoes it, and undoes it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use punctual_model::{OneShotBoot, OneShotInstalled};
use punctual_sys::{SysRoot, kexec};
use serde::{Deserialize, Serialize};

use super::env_block::EnvBlock;
use super::files::{copy, copy_marked, make, overwrite, read_text, set_variable};
use super::grub::CHOICE;
use super::pieces::Step;
use super::{ENTRY, Prepared};
use crate::boot::{BootError, clear, failed, inside, put, sync_above, temporary};
use crate::private_dir::{PrivateDir, PrivateDirError};

/// Value of `format` in the file that keeps it.
const FORMAT: &str = "punctual.one-shot/1";
/// The file of the candidate that is installed.
pub(super) const ACTIVE: &str = "one-shot.json";
/// The file of the last one.
const LAST: &str = "one-shot.last.json";
/// File in a directory of modules that says that it is ours.
const OURS: &str = ".punctual-once";

/// A candidate could not be installed or taken back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OneShotError {
    /// The directory that keeps it.
    #[error(transparent)]
    State(#[from] PrivateDirError),
    /// A file.
    #[error(transparent)]
    File(#[from] BootError),
    /// The plan says why not.
    #[error("{reasons}")]
    Refused {
        /// The reasons.
        reasons: String,
    },
    /// There is one already.
    #[error("{release} ({at}) is already installed")]
    InPlace {
        /// Its release.
        release: String,
        /// When it was installed.
        at: String,
    },
    /// What keeps it cannot be understood.
    #[error("its record is damaged: {reason}")]
    Damaged {
        /// How.
        reason: String,
    },
    /// The program that makes the initial RAM file system.
    #[error("{program} {how}")]
    Program {
        /// The program.
        program: String,
        /// How it failed.
        how: String,
    },
    /// A piece could not be written, and not all of those that were could be taken back.
    #[error("some of the files already written could not be removed or restored: {paths}")]
    Left {
        /// The pieces that are left.
        paths: String,
        /// Why it was not installed.
        source: Box<Self>,
    },
    /// This boot is not the candidate's, or none is installed.
    #[error("{why}")]
    NotTheCandidate {
        /// Why not.
        why: String,
    },
}

/// What became of a piece.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OneShotUndone {
    /// It is as it was, to the byte.
    Restored,
    /// It was as it was.
    AlreadyBack,
    /// Ours is out; what others changed meanwhile stays.
    OthersKept,
    /// Someone changed it since: left alone.
    Conflict,
}

/// What became of a candidate that was taken back.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OneShotReverted {
    /// The candidate.
    pub installed: OneShotInstalled,
    /// Each piece, in the order in which they were dealt with.
    pub pieces: Vec<(String, OneShotUndone)>,
}

impl OneShotReverted {
    /// Whether nothing of Punctual is left.
    pub fn is_complete(&self) -> bool {
        conflicts(&self.pieces).is_empty()
    }
}

/// Lists the pieces that were left alone.
fn conflicts(pieces: &[(String, OneShotUndone)]) -> Vec<&str> {
    let left = pieces
        .iter()
        .filter(|(_, undone)| *undone == OneShotUndone::Conflict);
    left.map(|(path, _)| path.as_str()).collect()
}

/// What is kept of a candidate.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Kept {
    format: String,
    pub(super) installed: OneShotInstalled,
    /// Seconds since 1970, to which times of files are compared.
    pub(super) since_s: u64,
    pieces: Vec<Piece>,
    pub(super) confirmed: Option<OneShotBoot>,
}

/// What undoes a step. Where a piece is put together is kept with it, before there is such a file: what a program that
/// was killed leaves there is ours. Earlier versions kept none.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Piece {
    Directory {
        path: String,
    },
    File {
        path: String,
        bytes: Option<u64>,
        #[serde(default)]
        temporary: Option<String>,
    },
    Tree {
        path: String,
        #[serde(default)]
        temporary: Option<String>,
    },
    Text {
        path: String,
        old: Option<String>,
        new: String,
        #[serde(default)]
        temporary: Option<String>,
    },
    Environment {
        path: String,
        old: Option<String>,
        new: String,
        #[serde(default)]
        temporary: Option<String>,
    },
    Variable {
        path: String,
        old: Option<Vec<u8>>,
        new: Vec<u8>,
    },
    Kexec,
}

impl Piece {
    fn of(step: &Step, id: &str) -> Self {
        let beside = |path: &str| Some(temporary(path, id));
        match step.clone() {
            Step::Directory { path } => Self::Directory { path },
            Step::Copy { to, bytes, .. } => Self::File {
                temporary: beside(&to),
                path: to,
                bytes: Some(bytes),
            },
            Step::Tree { to, .. } => Self::Tree {
                temporary: beside(&to),
                path: to,
            },
            Step::Made { to, .. } => Self::File {
                temporary: beside(&to),
                path: to,
                bytes: None,
            },
            Step::Text { path, old, new, .. } => Self::Text {
                temporary: beside(&path),
                path,
                old,
                new,
            },
            Step::Environment { path, old, new } => Self::Environment {
                temporary: beside(&path),
                path,
                old,
                new,
            },
            Step::Variable { path, old, new } => Self::Variable { path, old, new },
            Step::Kexec { .. } => Self::Kexec,
        }
    }

    fn path(&self) -> &str {
        match self {
            Self::Directory { path }
            | Self::File { path, .. }
            | Self::Tree { path, .. }
            | Self::Text { path, .. }
            | Self::Environment { path, .. }
            | Self::Variable { path, .. } => path,
            Self::Kexec => "the running kernel's memory",
        }
    }

    /// Returns where it is put together.
    fn temporary(&self) -> Option<&str> {
        match self {
            Self::File { temporary, .. }
            | Self::Tree { temporary, .. }
            | Self::Text { temporary, .. }
            | Self::Environment { temporary, .. } => temporary.as_deref(),
            Self::Directory { .. } | Self::Variable { .. } | Self::Kexec => None,
        }
    }
}

/// Returns the candidate that is installed, if there is one.
///
/// # Errors
///
/// Fails where the directory is not safe, or the file not understood.
pub fn installed(state: &Path) -> Result<Option<OneShotInstalled>, OneShotError> {
    let Some(dir) = PrivateDir::open(state)? else {
        return Ok(None);
    };
    Ok(read(&dir)?.map(|kept| kept.installed))
}

pub(super) fn read(dir: &PrivateDir) -> Result<Option<Kept>, OneShotError> {
    let Some(bytes) = dir.read(ACTIVE)? else {
        return Ok(None);
    };
    let damaged = |reason: String| OneShotError::Damaged { reason };
    let kept: Kept = serde_json::from_slice(&bytes).map_err(|err| damaged(err.to_string()))?;
    if kept.format != FORMAT {
        return Err(damaged(format!("format `{}` is not known", kept.format)));
    }
    Ok(Some(kept))
}

pub(super) fn keep(dir: &PrivateDir, kept: &Kept) -> Result<(), OneShotError> {
    let bytes = serde_json::to_vec_pretty(kept).map_err(|err| OneShotError::Damaged {
        reason: err.to_string(),
    })?;
    dir.write(ACTIVE, &bytes, 0)?;
    Ok(())
}

/// Does what was prepared, after what undoes it is on disk in `state`. `at` is the time, RFC 3339 in UTC.
///
/// # Errors
///
/// Fails when the plan has refusals or a candidate is installed already, and where a piece cannot be written: then
/// those that were written are taken back.
pub fn install(
    prepared: &Prepared,
    sys: &SysRoot,
    state: &Path,
    at: &str,
) -> Result<(), OneShotError> {
    let refusals = &prepared.plan.refusals;
    let (Some(loader), true) = (prepared.plan.loader, refusals.is_empty()) else {
        let reasons: Vec<&str> = refusals
            .iter()
            .map(|refusal| refusal.reason.as_str())
            .collect();
        return Err(OneShotError::Refused {
            reasons: reasons.join("; "),
        });
    };
    let dir = PrivateDir::create(state)?;
    let _lock = dir.lock("kernel install-once", Duration::ZERO)?;
    if let Some(kept) = read(&dir)? {
        return Err(OneShotError::InPlace {
            release: kept.installed.candidate.release,
            at: kept.installed.at,
        });
    }
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let kept = Kept {
        format: FORMAT.to_owned(),
        installed: OneShotInstalled {
            id: prepared.plan.id.clone(),
            at: at.to_owned(),
            boot_id: super::boot_id(sys),
            candidate: prepared.plan.candidate.clone(),
            loader,
            resume: prepared.resume.clone(),
        },
        since_s: since.unwrap_or_default().as_secs(),
        pieces: prepared
            .steps
            .iter()
            .map(|step| Piece::of(step, &prepared.plan.id))
            .collect(),
        confirmed: None,
    };
    keep(&dir, &kept)?;
    for (step, number) in prepared.steps.iter().zip(1..) {
        if let Err(err) = step.carry_out(sys, &prepared.plan.id) {
            // What was not begun is as it was, and whatever of it is there is not ours. What is not back stays in what is
            // kept, for `revert`.
            let left = match undo(&kept, sys, number) {
                Ok(undone) => conflicts(&undone).join(", "),
                Err(err) => err.to_string(),
            };
            if left.is_empty() {
                dir.remove(ACTIVE)?;
                return Err(err);
            }
            return Err(OneShotError::Left {
                paths: left,
                source: Box::new(err),
            });
        }
    }
    // What lies in a journal only, GRUB does not see. That this cannot be done is no failure.
    for place in ["/boot", "/lib/modules"] {
        if let Ok(root) = File::open(sys.full(place)) {
            rustix::fs::syncfs(&root).ok();
        }
    }
    Ok(())
}

/// Takes back the candidate that is installed. None if there is none.
///
/// # Errors
///
/// Fails where a piece cannot be written. What is kept stays then, and where a piece was left alone, so that it can be
/// taken back once more.
pub fn revert(sys: &SysRoot, state: &Path) -> Result<Option<OneShotReverted>, OneShotError> {
    let Some(dir) = PrivateDir::open(state)? else {
        return Ok(None);
    };
    let _lock = dir.lock("kernel install-once --revert", Duration::ZERO)?;
    let Some(kept) = read(&dir)? else {
        return Ok(None);
    };
    let pieces = undo(&kept, sys, kept.pieces.len())?;
    if conflicts(&pieces).is_empty() {
        dir.rename(ACTIVE, LAST)?;
    }
    Ok(Some(OneShotReverted {
        installed: kept.installed,
        pieces,
    }))
}

impl Step {
    pub(super) fn carry_out(&self, sys: &SysRoot, id: &str) -> Result<(), OneShotError> {
        let beside = |path: &str| sys.full(&temporary(path, id));
        match self {
            Self::Directory { path } => {
                let full = inside(sys, path)?;
                fs::create_dir(&full).map_err(|err| failed("make directory", &full, err))?;
                sync_above(&full)?;
            }
            Self::Copy {
                from, to, bytes, ..
            } => copy(from, &inside(sys, to)?, &beside(to), *bytes)?,
            Self::Tree { from, to, .. } => {
                copy_marked(from, &inside(sys, to)?, &beside(to), (OURS, id))?;
            }
            Self::Made { by, release, to } => make(by, release, &inside(sys, to)?, &beside(to))?,
            Self::Text { path, old, new, .. } => {
                as_planned(&inside(sys, path)?, old.as_deref())?;
                put(sys, path, Some(new), &temporary(path, id), None)?;
            }
            Self::Environment { path, old, new } => {
                let full = inside(sys, path)?;
                as_planned(&full, old.as_deref())?;
                match old {
                    Some(_) => overwrite(&full, new.as_bytes())?,
                    None => put(sys, path, Some(new), &temporary(path, id), None)?,
                }
            }
            Self::Variable { path, new, .. } => set_variable(&inside(sys, path)?, Some(new))?,
            Self::Kexec {
                image,
                initrd,
                arguments,
            } => {
                let open =
                    |path: &PathBuf| File::open(path).map_err(|err| failed("open", path, err));
                let kernel = open(image)?;
                let initrd = initrd.as_ref().map(open).transpose()?;
                kexec::load(&kernel, initrd.as_ref(), arguments)
                    .map_err(|err| failed("load into the running kernel", image, err))?;
            }
        }
        Ok(())
    }
}

/// Requires that a file is what it was when the plan was made: what somebody wrote since would be lost.
fn as_planned(full: &Path, old: Option<&str>) -> Result<(), OneShotError> {
    if read_text(full)?.as_deref() == old {
        return Ok(());
    }
    let changed = io::Error::other("it has changed since this was planned");
    Err(failed("write", full, changed).into())
}

/// Undoes the first `count` pieces, the last of them first.
fn undo(
    kept: &Kept,
    sys: &SysRoot,
    count: usize,
) -> Result<Vec<(String, OneShotUndone)>, OneShotError> {
    let mut undone = Vec::new();
    for piece in kept.pieces.iter().take(count).rev() {
        let what = piece.undo(sys, &kept.installed)?;
        undone.push((piece.path().to_owned(), what));
    }
    Ok(undone)
}

impl Piece {
    fn undo(
        &self,
        sys: &SysRoot,
        installed: &OneShotInstalled,
    ) -> Result<OneShotUndone, OneShotError> {
        use OneShotUndone::{AlreadyBack, Conflict, OthersKept, Restored};
        if *self == Self::Kexec {
            // Any restart takes it away, and another boot's is somebody else's.
            if super::boot_id(sys) != installed.boot_id || !super::kexec_is_loaded(sys) {
                return Ok(AlreadyBack);
            }
            kexec::unload()
                .map_err(|err| failed("unload", "the kernel for kexec".as_ref(), err))?;
            return Ok(Restored);
        }
        let full = inside(sys, self.path())?;
        if let Some(temporary) = self.temporary() {
            let left = sys.full(temporary);
            clear(&left).map_err(|err| failed("remove", &left, err))?;
        }
        match self {
            Self::Kexec => Ok(AlreadyBack),
            Self::Directory { .. } => match fs::remove_dir(&full) {
                Ok(()) => Ok(Restored),
                Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(AlreadyBack),
                Err(err) if err.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(Conflict),
                Err(err) => Err(failed("remove", &full, err).into()),
            },
            Self::File { bytes, .. } => {
                let meta = match fs::symlink_metadata(&full) {
                    Ok(meta) => meta,
                    Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(AlreadyBack),
                    Err(err) => return Err(failed("examine", &full, err).into()),
                };
                if !meta.is_file() || bytes.is_some_and(|bytes| bytes != meta.size()) {
                    return Ok(Conflict);
                }
                fs::remove_file(&full).map_err(|err| failed("remove", &full, err))?;
                Ok(Restored)
            }
            Self::Tree { .. } => {
                if !full.exists() {
                    return Ok(AlreadyBack);
                }
                // Without our mark, a package has made its own of it.
                let mark = fs::read(full.join(OURS)).unwrap_or_default();
                if mark != installed.id.as_bytes() {
                    return Ok(Conflict);
                }
                let mut going = full.clone();
                if let Some(temporary) = self.temporary() {
                    // From now on it is ours by its name, even if this ends in the middle.
                    going = sys.full(temporary);
                    fs::rename(&full, &going).map_err(|err| failed("remove", &full, err))?;
                    sync_above(&full)?;
                }
                fs::remove_dir_all(&going).map_err(|err| failed("remove", &full, err))?;
                Ok(Restored)
            }
            Self::Text { path, old, new, .. } => {
                let now = read_text(&full)?;
                let beside = temporary(path, &installed.id);
                if now == *old {
                    return Ok(AlreadyBack);
                }
                if now.as_ref() == Some(new) {
                    put(sys, path, old.as_deref(), &beside, None)?;
                    return Ok(Restored);
                }
                let added = new.get(old.as_ref().map_or(0, String::len)..);
                match (now, added) {
                    (Some(now), Some(added)) if now.contains(added) => {
                        put(sys, path, Some(&now.replace(added, "")), &beside, None)?;
                        Ok(OthersKept)
                    }
                    // Somebody has taken ours out.
                    (Some(now), _) if !now.contains(ENTRY) => Ok(OthersKept),
                    (None, _) => Ok(OthersKept),
                    _ => Ok(Conflict),
                }
            }
            Self::Environment { old, new, .. } => undo_environment(&full, old.as_deref(), new),
            Self::Variable { old, new, .. } => {
                let now = match fs::read(&full) {
                    Ok(bytes) => Some(bytes),
                    Err(err) if err.kind() == io::ErrorKind::NotFound => None,
                    Err(err) => return Err(failed("read", &full, err).into()),
                };
                // The boot loader takes it away when it heeds it; then an older choice must not come back.
                if now == *old || now.is_none() {
                    Ok(AlreadyBack)
                } else if now.as_ref() == Some(new) {
                    set_variable(&full, old.as_ref())?;
                    Ok(Restored)
                } else {
                    Ok(Conflict)
                }
            }
        }
    }
}

/// Takes our choice out of GRUB's environment, whatever else has become of it.
fn undo_environment(
    full: &Path,
    old: Option<&str>,
    new: &str,
) -> Result<OneShotUndone, OneShotError> {
    use OneShotUndone::{AlreadyBack, Conflict, OthersKept, Restored};
    let now = read_text(full)?;
    if now.as_deref() == old {
        return Ok(AlreadyBack);
    }
    let Some(now) = now else {
        return Ok(Conflict);
    };
    let parse = |text: &str| EnvBlock::parse(text.as_bytes()).ok();
    let before = match old {
        Some(text) => parse(text),
        None => Some(EnvBlock::empty()),
    };
    let (Some(mut block), Some(mut before)) = (parse(&now), before) else {
        return Ok(Conflict);
    };
    let choice = block.value(CHOICE).unwrap_or_default();
    let earlier = before.value(CHOICE).filter(|value| !value.is_empty());
    let spent = choice.is_empty() && earlier.is_some();
    block.set(CHOICE, None);
    before.set(CHOICE, None);
    let same = block.bytes() == before.bytes();
    if choice != ENTRY && !choice.is_empty() {
        // Somebody has chosen another entry since.
        return Ok(OthersKept);
    }
    // GRUB has taken ours, and with it an older choice, which must not come back.
    if same && !spent {
        match old {
            Some(old) => overwrite(full, old.as_bytes())?,
            None => fs::remove_file(full).map_err(|err| failed("remove", full, err))?,
        }
        return Ok(Restored);
    }
    if now == new || choice == ENTRY {
        block.set(CHOICE, earlier.as_deref());
        let bytes = block.bytes().ok_or_else(|| OneShotError::Damaged {
            reason: "GRUB's environment is full".to_owned(),
        })?;
        overwrite(full, &bytes)?;
    }
    Ok(OthersKept)
}
