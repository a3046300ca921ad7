// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is kept of kernels that are installed: a file a kernel, in the directory that keeps all that is to be undone.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use punctual_model::{InstalledKernel, OneShotKernel, OneShotLoader, Ordered as _, json};
use punctual_sys::SysRoot;
use serde::{Deserialize, Serialize};

use super::super::install::OneShotError;
use super::super::piece::{At, Piece, carry_out, pieces, undo};
use super::super::{boot_id, running};
use super::{StayPrepared, grub, packaged};
use crate::boot::{FilesUndone, failed};
use crate::private_dir::PrivateDir;

/// Value of `format` in a file that keeps one.
const FORMAT: &str = "punctual.kernel-installed/1";
/// The file of the last one that was taken away.
const LAST: &str = "kernel.last.json";
/// How long programs that a killed installation had started are waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is kept of a kernel.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Kept {
    format: String,
    id: String,
    name: String,
    at: String,
    boot_id: String,
    kernel: OneShotKernel,
    loader: OneShotLoader,
    /// The default as it was named for it.
    default_named: Option<String>,
    pieces: Vec<Piece>,
    /// Whether all of it was put in place.
    complete: bool,
}

fn file_of(release: &str) -> String {
    format!("kernel-{release}.json")
}

fn read(dir: &PrivateDir, file: &str) -> Result<Option<Kept>, OneShotError> {
    let Some(bytes) = dir.read(file)? else {
        return Ok(None);
    };
    let damaged = |reason: String| OneShotError::Damaged {
        reason: format!("{file}: {reason}"),
    };
    let kept: Kept = serde_json::from_slice(&bytes).map_err(|err| damaged(err.to_string()))?;
    if kept.format != FORMAT {
        return Err(damaged(format!("format `{}` is not known", kept.format)));
    }
    Ok(Some(kept))
}

fn keep(dir: &PrivateDir, kept: &Kept) -> Result<(), OneShotError> {
    let bytes = json::indented(kept).map_err(|err| OneShotError::Damaged {
        reason: err.to_string(),
    })?;
    dir.write(&file_of(&kept.kernel.release), &bytes, 0)?;
    Ok(())
}

/// Reads all that are kept, the oldest first.
fn all(dir: &PrivateDir) -> Result<Vec<Kept>, OneShotError> {
    let list = |err: io::Error| failed("list", dir.path(), err);
    let mut found = Vec::new();
    for entry in fs::read_dir(dir.path()).map_err(list)? {
        let name = entry.map_err(list)?.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("kernel-") && name.ends_with(".json") {
            found.extend(read(dir, &name)?);
        }
    }
    found.order_by(|a, b| a.id.cmp(&b.id));
    Ok(found)
}

/// Installs what was prepared, after what undoes it is on disk in `state`. `at` is the time, RFC 3339 in UTC.
///
/// # Errors
///
/// Fails when the plan has refusals or this release is installed already, and where a piece cannot be written: then
/// those that were written are taken back.
pub fn install(
    prepared: &StayPrepared,
    sys: &SysRoot,
    state: &Path,
    at: &str,
) -> Result<(), OneShotError> {
    let plan = &prepared.plan;
    let (Some(loader), true) = (plan.loader, plan.refusals.is_empty()) else {
        let reasons = plan.refusals.iter().map(|refusal| refusal.reason.as_str());
        return Err(OneShotError::Refused {
            reasons: reasons.collect::<Vec<_>>().join("; "),
        });
    };
    let dir = PrivateDir::create(state)?;
    let lock = dir.lock("kernel install", PATIENCE)?;
    let file = file_of(&plan.kernel.release);
    if let Some(kept) = read(&dir, &file)? {
        return Err(OneShotError::InPlace {
            release: kept.kernel.release,
            at: kept.at,
        });
    }
    let mut kept = Kept {
        format: FORMAT.to_owned(),
        id: plan.id.clone(),
        name: plan.name.clone(),
        at: at.to_owned(),
        boot_id: boot_id(sys),
        kernel: plan.kernel.clone(),
        loader,
        default_named: plan.default_named.clone(),
        pieces: pieces(&prepared.steps, &plan.id)?,
        complete: false,
    };
    keep(&dir, &kept)?;
    let boot = kept.boot_id.clone();
    let at = At {
        sys,
        id: &plan.id,
        boot_id: &boot,
        lock: Some(&lock),
    };
    let mut all = kept.pieces.clone();
    let done = carry_out(&prepared.steps, &mut all, &at, &mut |pieces| {
        kept.pieces = pieces.to_vec();
        keep(&dir, &kept)
    });
    match done {
        Ok(()) => {
            kept.complete = true;
            keep(&dir, &kept)
        }
        Err(err @ OneShotError::Left { .. }) => Err(err),
        Err(err) => {
            dir.remove(&file)?;
            Err(err)
        }
    }
}

/// Lists the kernels that are installed, the oldest first.
///
/// # Errors
///
/// Fails where the directory is not safe, or a file in it not understood.
pub fn list(sys: &SysRoot, state: &Path) -> Result<Vec<InstalledKernel>, OneShotError> {
    let Some(dir) = PrivateDir::open(state)? else {
        return Ok(Vec::new());
    };
    let own = running(sys);
    let found = all(&dir)?.into_iter().map(|kept| {
        let changed = kept.pieces.iter().filter(|piece| !piece.stands(sys));
        InstalledKernel {
            changed: changed.map(Piece::path).collect(),
            is_default: is_default(sys, &kept),
            is_running: own.as_ref() == Some(&kept.kernel.release),
            complete: kept.complete,
            id: kept.id,
            name: kept.name,
            at: kept.at,
            kernel: kept.kernel,
            loader: kept.loader,
        }
    });
    Ok(found.collect())
}

fn is_default(sys: &SysRoot, kept: &Kept) -> bool {
    let release = &kept.kernel.release;
    match kept.loader {
        OneShotLoader::Grub => grub::menu(sys).is_some_and(|(menu, saved)| {
            let default = menu.chosen(saved.as_deref());
            default.is_some_and(|found| found.is(&format!("vmlinuz-{release}")))
        }),
        OneShotLoader::SystemdBoot | OneShotLoader::Kexec => false,
    }
}

/// Takes a kernel away, by its release or by the name that it was installed by. Returns the release, and what became of
/// each piece.
///
/// # Errors
///
/// Fails where there is none, where it runs or something rests on it, and where a piece cannot be written. What is kept
/// stays then, and where a piece was left alone, so that it can be taken away once more.
pub fn uninstall(
    sys: &SysRoot,
    state: &Path,
    name: &str,
) -> Result<(String, FilesUndone), OneShotError> {
    let unknown = || OneShotError::NotInstalled {
        name: name.to_owned(),
    };
    let dir = PrivateDir::open(state)?.ok_or_else(unknown)?;
    let lock = dir.lock("kernel uninstall", PATIENCE)?;
    let known = all(&dir)?;
    let called = |kept: &&Kept| kept.kernel.release == name;
    let named: Vec<&Kept> = known.iter().filter(|kept| kept.name == name).collect();
    let kept = match (known.iter().find(called), named.as_slice()) {
        (Some(kept), _) => kept,
        (None, [kept]) => *kept,
        (None, []) => return Err(unknown()),
        (None, several) => {
            let releases = several.iter().map(|kept| kept.kernel.release.as_str());
            let releases: Vec<&str> = releases.collect();
            return Err(OneShotError::Refused {
                reasons: format!(
                    "{name} is the name of several: say the release, one of {}",
                    releases.join(", ")
                ),
            });
        }
    };
    if let Some(reasons) = in_use(sys, kept, &known) {
        return Err(OneShotError::Refused { reasons });
    }
    let at = At {
        sys,
        id: &kept.id,
        boot_id: &kept.boot_id,
        lock: Some(&lock),
    };
    let files = undo(&kept.pieces, kept.pieces.len(), &at)?;
    let undone = FilesUndone { files };
    if undone.is_complete() {
        dir.rename(&file_of(&kept.kernel.release), LAST)?;
    }
    Ok((kept.kernel.release.clone(), undone))
}

/// Says why a kernel cannot be taken away now.
fn in_use(sys: &SysRoot, kept: &Kept, known: &[Kept]) -> Option<String> {
    let release = &kept.kernel.release;
    if running(sys).as_ref() == Some(release) {
        return Some(format!("{release} is running: boot another kernel first"));
    }
    if let Some(package) = packaged(sys, release) {
        return Some(format!(
            "package {package} has installed {release} since: remove that package first"
        ));
    }
    let menu = grub::menu(sys);
    let kernel = format!("vmlinuz-{release}");
    let rests = known
        .iter()
        .filter(|other| other.id != kept.id)
        .find(|other| {
            let named = other.default_named.as_deref();
            let found = named.and_then(|named| menu.as_ref()?.0.resolve(named));
            found.is_some_and(|found| found.is(&kernel))
        })?;
    Some(format!(
        "{release} is the default that {} keeps: uninstall that first",
        rests.kernel.release
    ))
}
