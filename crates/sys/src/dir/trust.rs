// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Which directories can be trusted: those that nobody but root and the caller can change or replace.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::{Dir, kind, opening};
use crate::proc::is_in_user_namespace;
use crate::{PathError, SysRoot};

/// As many links as the kernel follows in a path.
const MOST_LINKS: u32 = 40;

/// What is done where there is no directory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Missing {
    /// It is made, with those above it that are missing, for the caller alone (mode 0700).
    Make,
    /// There is none.
    Leave,
}

/// Why a directory was not opened as one that can be trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// Somebody else could change what is in it, or replace it.
    #[error("{}: {reason}", path.display())]
    Unsafe {
        /// The directory or link that is to blame.
        path: PathBuf,
        /// Who can, and why.
        reason: String,
    },
    /// The operating system refused something.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// Goes from the root directory to the end of an absolute path, and looks at each step.
pub(super) fn walk(whole: &Path, missing: Missing) -> Result<Option<Dir>, TrustError> {
    let step = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let root = || {
        rustix::fs::open("/", step | OFlags::DIRECTORY, Mode::empty())
            .map_err(|err| failed("open", Path::new("/"), err))
    };
    let mut at = root()?;
    let mut path = PathBuf::from("/");
    check(&at, &path)?;
    let mut left: VecDeque<OsString> = parts(whole);
    let mut links = 0;
    while let Some(name) = left.pop_front() {
        let below = path.join(&name);
        let next = match rustix::fs::openat(&at, &name, step, Mode::empty()) {
            Err(Errno::NOENT) if missing == Missing::Make => {
                match rustix::fs::mkdirat(&at, &name, Mode::RWXU) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(err) => return Err(failed("create", whole, err)),
                }
                rustix::fs::openat(&at, &name, step, Mode::empty())
            }
            Err(Errno::NOENT) => return Ok(None),
            next => next,
        };
        let next = next.map_err(|err| failed("open", &below, err))?;
        let stat = rustix::fs::fstat(&next).map_err(|err| failed("examine", &below, err))?;
        match kind(&stat) {
            FileType::Directory => {
                check(&next, &below)?;
                at = next;
                path = match name == ".." {
                    true => path.parent().unwrap_or(&path).to_owned(),
                    false => below,
                };
            }
            FileType::Symlink => {
                if !is_trusted(stat.st_uid) {
                    return Err(not_safe(&below, format!("a link of {}", user(stat.st_uid))));
                }
                links += 1;
                if links > MOST_LINKS {
                    return Err(failed("open", &below, Errno::LOOP));
                }
                let target = rustix::fs::readlinkat(&next, "", Vec::new())
                    .map_err(|err| failed("read", &below, err))?;
                let target = PathBuf::from(OsStr::from_bytes(target.to_bytes()));
                if target.is_absolute() {
                    (at, path) = (root()?, PathBuf::from("/"));
                }
                for part in parts(&target).into_iter().rev() {
                    left.push_front(part);
                }
            }
            _ => {
                let why = "Not a directory: a file is in the way";
                let err = io::Error::new(io::ErrorKind::NotADirectory, why);
                return Err(failed("create", &below, err));
            }
        }
    }
    let fd = rustix::fs::openat(&at, ".", opening(), Mode::empty())
        .map_err(|err| failed("open", whole, err))?;
    Ok(Some(Dir {
        fd,
        path: whole.to_owned(),
    }))
}

/// The names on the way, and the steps up.
fn parts(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
        .map(|part| part.as_os_str().to_owned())
        .collect()
}

pub(super) fn check(fd: &OwnedFd, path: &Path) -> Result<(), TrustError> {
    let stat = rustix::fs::fstat(fd).map_err(|err| failed("examine", path, err))?;
    match distrust(stat.st_uid, stat.st_gid, stat.st_mode) {
        Some(reason) => Err(not_safe(path, reason)),
        None => Ok(()),
    }
}

fn not_safe(path: &Path, reason: String) -> TrustError {
    TrustError::Unsafe {
        path: path.to_owned(),
        reason,
    }
}

/// Says who else could change what is in a directory.
fn distrust(owner: u32, group: u32, mode: u32) -> Option<String> {
    if !is_trusted(owner) {
        return Some(format!("belongs to {}", user(owner)));
    }
    let mode = Mode::from_raw_mode(mode);
    if mode.contains(Mode::SVTX) {
        return None;
    }
    if mode.contains(Mode::WOTH) {
        return Some("every user can write there".to_owned());
    }
    (mode.contains(Mode::WGRP) && !is_private(group))
        .then(|| format!("the group {group} can write there"))
}

fn is_trusted(owner: u32) -> bool {
    owner == 0 || owner == rustix::process::geteuid().as_raw()
}

/// Whether a group is the caller's alone, by the convention that such a group has its user's number.
/// Root has none: what its group may write, an access list may have let others write.
fn is_private(group: u32) -> bool {
    let (user, own) = (
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw(),
    );
    user != 0 && group == own && own == user
}

fn user(number: u32) -> String {
    match number {
        0 => "root".to_owned(),
        number if number == NOBODY && is_in_user_namespace(&SysRoot::live()) => {
            format!("a user who is not in this user namespace (shown as uid {number})")
        }
        number => format!("another user (uid {number})"),
    }
}

/// As whom a user namespace shows users that it has no number for (`/proc/sys/kernel/overflowuid`).
const NOBODY: u32 = 65_534;

pub(super) fn failed(action: &'static str, path: &Path, err: impl Into<io::Error>) -> TrustError {
    PathError::new(action, path, err.into()).into()
}

#[cfg(test)]
mod tests;
