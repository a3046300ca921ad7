// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Writes the entries of an archive below a directory.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use punctual_sys::PathError;

use super::packed::Packed;
use super::tar::{Archive, Entry, EntryKind};
use super::{UnpackError, shown};
use crate::beneath::Beneath;
use punctual_model::Gathered as _;

/// No source has more files: 6.12 has some 87,000.
const MOST_ENTRIES: usize = 500_000;
/// No path has more parts.
const DEEPEST: usize = 64;

/// What becomes of a symbolic link that leads out of the directory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Links {
    /// It is an error.
    Refuse,
    /// It is left out: of a package, whose links are meant for the machine that it is installed on.
    LeaveOut,
}

/// Unpacks the archive `packed` below `to`. `place` says where the file of a name goes; none: it is passed over.
///
/// # Errors
///
/// Fails on the first thing that is refused, and where a file cannot be written; what was written by then stays.
pub(crate) fn unpack(
    packed: Packed<'_>,
    to: &Path,
    links: Links,
    place: &dyn Fn(&Path) -> Option<PathBuf>,
) -> Result<(), UnpackError> {
    let mut writer = Writer {
        to,
        beneath: Beneath::open(to).map_err(PathError::at("open", to))?,
        links: Vec::new(),
    };
    let mut archive = Archive::of(packed);
    let mut entries = 0;
    while let Some(entry) = archive.next()? {
        entries += 1;
        if entries > MOST_ENTRIES {
            return Err(UnpackError::Damaged(
                "it has more files than any kernel source",
            ));
        }
        let name = plain(&entry.name, &entry.name)?;
        if let Some(path) = place(&name).filter(|path| path.components().next().is_some()) {
            writer.write(&mut archive, &entry, &path, place)?;
        }
    }
    writer.finish(links)
}

/// Returns a name as a path below a directory.
fn plain(name: &[u8], of: &[u8]) -> Result<PathBuf, UnpackError> {
    let refused = |reason| UnpackError::Refused {
        name: shown(of),
        reason,
    };
    if name.iter().any(|byte| byte.is_ascii_control()) {
        return Err(refused("its name has control characters in it"));
    }
    let mut path = PathBuf::new();
    for part in Path::new(OsStr::from_bytes(name)).components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            _ => return Err(refused("its name leads out of the directory")),
        }
    }
    match path.components().count() {
        0 if name.is_empty() => Err(refused("has no name")),
        parts if parts > DEEPEST => {
            Err(refused("is nested deeper than anything in a kernel source"))
        }
        _ => Ok(path),
    }
}

struct Writer<'a> {
    to: &'a Path,
    beneath: Beneath,
    /// They are made when all else is there: nothing is ever written through one.
    links: Vec<(PathBuf, OsString)>,
}

impl Writer<'_> {
    fn write(
        &mut self,
        archive: &mut Archive<'_>,
        entry: &Entry,
        path: &Path,
        place: &dyn Fn(&Path) -> Option<PathBuf>,
    ) -> Result<(), UnpackError> {
        let full = self.to.join(path);
        match entry.kind {
            EntryKind::Directory => self
                .beneath
                .make_directory(path)
                .map_err(|err| PathError::new("make directory", &full, err).into()),
            EntryKind::File => {
                let mode = if entry.executable { 0o755 } else { 0o644 };
                let file = self.beneath.create(path, mode);
                let mut file = file.map_err(PathError::at("make", &full))?;
                copy(archive, &mut file, &full)?;
                // As make sees it; a file system that keeps no such time is no worse than before.
                drop(file.set_modified(
                    SystemTime::UNIX_EPOCH
                        + Duration::from_secs(entry.modified.min(u32::MAX.into())),
                ));
                Ok(())
            }
            EntryKind::Hard => {
                let target = plain(&entry.link, &entry.name)?;
                let Some(target) = place(&target) else {
                    return Err(UnpackError::Refused {
                        name: shown(&entry.name),
                        reason: "is a hard link to a file that is left out",
                    });
                };
                self.beneath
                    .same_file(&target, path)
                    .map_err(|err| PathError::new("make", &full, err).into())
            }
            EntryKind::Symbolic => {
                let target = OsString::from_vec(entry.link.clone());
                self.links.push((path.to_owned(), target));
                Ok(())
            }
        }
    }

    fn finish(mut self, out: Links) -> Result<(), UnpackError> {
        for (path, target) in &self.links {
            let made = self.beneath.link_to(target, path);
            made.map_err(PathError::at("make", &self.to.join(path)))?;
        }
        // Links lead through each other: only with all of them there can it be told where one ends. One that is taken
        // out may have been what let another one stay inside, so it is looked again until all that is left stays.
        let mut left: BTreeSet<&PathBuf> = self.links.iter().map(|(path, _)| path).into_set();
        loop {
            let mut outside = Vec::new();
            for path in &left {
                if leads_out(self.to, path).map_err(PathError::at("follow", &self.to.join(path)))? {
                    outside.push(*path);
                }
            }
            if outside.is_empty() {
                return Ok(());
            }
            for path in outside {
                if out == Links::Refuse {
                    return Err(UnpackError::Refused {
                        name: shown(path.as_os_str().as_bytes()),
                        reason: "is a symbolic link that leads out of the directory",
                    });
                }
                let gone = self.beneath.remove(path);
                gone.map_err(PathError::at("remove", &self.to.join(path)))?;
                left.remove(path);
            }
        }
    }
}

fn copy(archive: &mut Archive<'_>, file: &mut File, full: &Path) -> Result<(), UnpackError> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = archive.content(&mut buffer)?;
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else {
            return Ok(());
        };
        file.write_all(bytes)
            .map_err(PathError::at("write", full))?;
    }
}

/// Whether following a link leaves the directory, whether or not there is something at its end.
fn leads_out(root: &Path, path: &Path) -> io::Result<bool> {
    let directory = rustix::fs::open(root, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let found = rustix::fs::openat2(
        &directory,
        path,
        flags,
        Mode::empty(),
        ResolveFlags::BENEATH,
    );
    match found {
        Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
        Err(Errno::XDEV | Errno::LOOP) => Ok(true),
        // A kernel before 5.6, or a filter of system calls: what leads to nothing counts as outside.
        Err(Errno::NOSYS | Errno::PERM) => {
            let real = root.join(path).canonicalize();
            Ok(
                !real
                    .is_ok_and(|real| root.canonicalize().is_ok_and(|root| real.starts_with(root))),
            )
        }
        Err(err) => Err(err.into()),
    }
}
