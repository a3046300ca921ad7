// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How the pieces of a one-shot boot reach the disk, and the firmware.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::IFlags;

use super::OneShotError;
use crate::boot::{BootError, failed, sync_above};

/// Reads a text file; none where there is none.
pub(super) fn read_text(full: &Path) -> Result<Option<String>, OneShotError> {
    match fs::read(full) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(err) => Err(failed("read", full, err).into()),
    }
}

/// Copies a file; it is there whole or not at all.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), BootError> {
    let temporary = to.with_extension("punctual-new");
    let copied = File::open(from).and_then(|mut source| {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)?;
        io::copy(&mut source, &mut file)?;
        file.sync_all()?;
        fs::rename(&temporary, to)
    });
    if let Err(err) = copied {
        // It is nobody's.
        drop(fs::remove_file(&temporary));
        return Err(failed("write", to, err));
    }
    sync_above(to)
}

/// Copies directories, files and links; what else there is has no place among modules.
pub(super) fn copy_tree(from: &Path, to: &Path) -> Result<(), BootError> {
    let entries = fs::read_dir(from).map_err(|err| failed("list", from, err))?;
    for entry in entries {
        let entry = entry.map_err(|err| failed("list", from, err))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry
            .file_type()
            .map_err(|err| failed("examine", &source, err))?;
        let done = if kind.is_dir() {
            fs::create_dir(&target).map_err(|err| failed("make directory", &target, err))?;
            copy_tree(&source, &target)?;
            Ok(())
        } else if kind.is_symlink() {
            // `build` and `source` lead to the tree that it was built in.
            fs::read_link(&source).and_then(|link| std::os::unix::fs::symlink(link, &target))
        } else {
            fs::copy(&source, &target).map(drop)
        };
        done.map_err(|err| failed("copy", &source, err))?;
    }
    Ok(())
}

/// Has a program make the initial RAM file system.
pub(super) fn make(program: &Path, release: &str, to: &Path) -> Result<(), OneShotError> {
    let error = |how: String| OneShotError::Program {
        program: program.display().to_string(),
        how,
    };
    let output = Command::new(program)
        .arg("-o")
        .arg(to)
        .arg(release)
        .stdin(Stdio::null())
        .output()
        .map_err(|err| error(format!("cannot be started: {err}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().last().unwrap_or_default();
        return Err(error(format!("ended with {}: {last}", output.status)));
    }
    if !to.is_file() {
        return Err(error(format!("made no {}", to.display())));
    }
    File::open(to)
        .and_then(|file| file.sync_all())
        .map_err(|err| failed("sync", to, err).into())
}

/// Writes into the blocks that a file has, which GRUB knows; makes it where there is none.
pub(super) fn overwrite(full: &Path, bytes: &[u8]) -> Result<(), BootError> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(full)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.set_len(bytes.len() as u64)?;
            file.sync_all()
        })
        .map_err(|err| failed("write", full, err))?;
    sync_above(full)
}

/// Sets a variable of the firmware, or removes it. The kernel guards those that it does not know against removal.
pub(super) fn set_variable(full: &Path, value: Option<&Vec<u8>>) -> Result<(), BootError> {
    if let Ok(file) = File::open(full)
        && let Ok(flags) = rustix::fs::ioctl_getflags(&file)
        && flags.contains(IFlags::IMMUTABLE)
    {
        rustix::fs::ioctl_setflags(&file, flags - IFlags::IMMUTABLE)
            .map_err(|err| failed("unlock", full, err.into()))?;
    }
    let Some(value) = value else {
        return fs::remove_file(full).map_err(|err| failed("remove", full, err));
    };
    // The firmware takes it in one piece: one write(2).
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o644)
        .open(full)
        .and_then(|mut file| match file.write(value) {
            Ok(written) if written == value.len() => Ok(()),
            Ok(_) => Err(io::ErrorKind::WriteZero.into()),
            Err(err) => Err(err),
        })
        .map_err(|err| failed("write", full, err))
}
