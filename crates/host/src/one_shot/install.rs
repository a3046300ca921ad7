// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Carries a plan out, keeps what undoes it, and undoes it.

use std::path::Path;
use std::time::{Duration, SystemTime};

use punctual_model::{OneShotBoot, OneShotInstalled, json};
use punctual_sys::SysRoot;
use serde::{Deserialize, Serialize};

use super::Prepared;
use super::piece::{At, Piece, carry_out, pieces, undo};
use crate::boot::{BootError, FilesUndone};
use crate::private_dir::{PrivateDir, PrivateDirError};

/// Value of `format` in the file that keeps it.
const FORMAT: &str = "punctual.one-shot/1";
/// The file of the candidate that is installed.
pub(super) const ACTIVE: &str = "one-shot.json";
/// The file of the last one.
const LAST: &str = "one-shot.last.json";

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
    /// Something already exists, which is not ours.
    #[error("{path} already exists")]
    Foreign {
        /// Where.
        path: String,
    },
    /// What a program of the machine generated is not what it must be.
    #[error("{path} as the machine's program generates it: {how}")]
    Generated {
        /// The file.
        path: String,
        /// What is wrong with it.
        how: String,
    },
    /// No kernel of this name is installed.
    #[error("no kernel {name} was installed by Punctual")]
    NotInstalled {
        /// The name.
        name: String,
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
    let bytes = json::indented(kept).map_err(|err| OneShotError::Damaged {
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
    let lock = dir.lock("kernel install-once", Duration::ZERO)?;
    if let Some(kept) = read(&dir)? {
        return Err(OneShotError::InPlace {
            release: kept.installed.candidate.release,
            at: kept.installed.at,
        });
    }
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let id = &prepared.plan.id;
    let mut kept = Kept {
        format: FORMAT.to_owned(),
        installed: OneShotInstalled {
            id: id.clone(),
            at: at.to_owned(),
            boot_id: super::boot_id(sys),
            candidate: prepared.plan.candidate.clone(),
            loader,
            resume: prepared.resume.clone(),
        },
        since_s: since.unwrap_or_default().as_secs(),
        pieces: pieces(&prepared.steps, id)?,
        confirmed: None,
    };
    keep(&dir, &kept)?;
    let at = At {
        sys,
        id,
        boot_id: &super::boot_id(sys),
        lock: Some(&lock),
    };
    let mut all = kept.pieces.clone();
    let done = carry_out(&prepared.steps, &mut all, &at, &mut |pieces| {
        kept.pieces = pieces.to_vec();
        keep(&dir, &kept)
    });
    if let Err(err) = done {
        if !matches!(err, OneShotError::Left { .. }) {
            dir.remove(ACTIVE)?;
        }
        return Err(err);
    }
    Ok(())
}

/// Takes back the candidate that is installed. None if there is none.
///
/// # Errors
///
/// Fails where a piece cannot be written. What is kept stays then, and where a piece was left alone, so that it can be
/// taken back once more.
pub fn revert(sys: &SysRoot, state: &Path) -> Result<Option<FilesUndone>, OneShotError> {
    let Some(dir) = PrivateDir::open(state)? else {
        return Ok(None);
    };
    let lock = dir.lock("kernel install-once --revert", Duration::ZERO)?;
    let Some(kept) = read(&dir)? else {
        return Ok(None);
    };
    let at = At {
        sys,
        id: &kept.installed.id,
        boot_id: &kept.installed.boot_id,
        lock: Some(&lock),
    };
    let files = undo(&kept.pieces, kept.pieces.len(), &at)?;
    let undone = FilesUndone { files };
    if undone.is_complete() {
        dir.rename(ACTIVE, LAST)?;
    }
    Ok(Some(undone))
}
