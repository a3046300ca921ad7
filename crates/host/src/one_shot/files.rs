// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How the pieces of a one-shot boot reach the disk, and the firmware.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use punctual_sys::child::{Bounds, TiedChild};
use rustix::fs::{CWD, IFlags, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::OneShotError;
use crate::boot::{BootError, failed, make as make_file, sync_above};

/// Lines of a program's last words: the cause often stands before what only says that it failed.
const LAST_WORDS: usize = 5;
/// Bytes of what a program says that are looked at.
const SAID: u64 = 64 << 10;

/// Copies a file of `bytes`, which gets `mode`; it is there whole or not at all.
pub(super) fn copy(
    from: &Path,
    to: &Path,
    temporary: &Path,
    (bytes, mode): (u64, u32),
) -> Result<(), BootError> {
    let mut source = File::open(from).map_err(|err| failed("open", from, err))?;
    let mut file = make_file(temporary).map_err(|err| failed("make", temporary, err))?;
    let copied = io::copy(&mut source, &mut file)
        .and_then(|copied| match copied == bytes {
            true => file
                .set_permissions(Permissions::from_mode(mode))
                .and_then(|()| file.sync_all()),
            false => Err(io::Error::other("its source was changed meanwhile")),
        })
        .and_then(|()| name(temporary, to));
    if let Err(err) = copied {
        // It is nobody's.
        drop(fs::remove_file(temporary));
        return Err(failed("write", to, err));
    }
    sync_above(to)
}

/// Gives what was put together its name, which nothing has.
pub(super) fn name(temporary: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, temporary, CWD, to, RenameFlags::NOREPLACE) {
        // A file system that does not know the flag.
        Err(Errno::INVAL | Errno::NOSYS) if fs::symlink_metadata(to).is_err() => {
            fs::rename(temporary, to)
        }
        named => Ok(named?),
    }
}

/// Has a program make the initial RAM file system. It ends with this one, whatever ends that.
pub(super) fn make(
    program: &Path,
    release: &str,
    to: &Path,
    temporary: &Path,
) -> Result<(), OneShotError> {
    let error = |how: String| OneShotError::Program {
        program: program.display().to_string(),
        how,
    };
    let started = |err: io::Error| error(format!("cannot be started: {err}"));
    let mut command = Command::new(program);
    command
        .arg("-o")
        .arg(temporary)
        .arg(release)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = TiedChild::start(&mut command, &Bounds::default()).map_err(started)?;
    let (status, said) = wait(&mut child).map_err(started)?;
    if !status.success() {
        let how = format!("ended with {status}: {}", last_words(&said));
        return Err(error(how));
    }
    if !temporary.is_file() {
        return Err(error(format!("made no {}", temporary.display())));
    }
    File::open(temporary)
        .and_then(|file| file.sync_all())
        .and_then(|()| name(temporary, to))
        .map_err(|err| failed("write", to, err))?;
    Ok(sync_above(to)?)
}

/// Waits until a program has ended; returns how it did, and what it said on standard error.
pub(super) fn wait(child: &mut TiedChild) -> io::Result<(ExitStatus, String)> {
    let mut said = Vec::new();
    if let Some(mut errors) = child.process().stderr.take() {
        // What cannot be read is not said; what is too long is read and dropped: a closed pipe would end the program.
        drop((&mut errors).take(SAID).read_to_end(&mut said));
        drop(io::copy(&mut errors, &mut io::sink()));
    }
    let said = String::from_utf8_lossy(&said).into_owned();
    Ok((child.process().wait()?, said))
}

/// Returns the last of what a program said, in one line.
pub(super) fn last_words(said: &str) -> String {
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines.collect();
    let first = lines.len().saturating_sub(LAST_WORDS);
    lines.get(first..).unwrap_or_default().join(" | ")
}

/// Writes into the blocks that a file has, which GRUB knows.
pub(super) fn overwrite(full: &Path, bytes: &[u8]) -> Result<(), BootError> {
    OpenOptions::new()
        .write(true)
        .open(full)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.set_len(bytes.len() as u64)?;
            file.sync_all()
        })
        .map_err(|err| failed("write", full, err))
}

/// Sets a variable of the firmware, or removes it. The kernel guards those that it does not know against removal.
pub(super) fn set_variable(full: &Path, value: Option<&Vec<u8>>) -> Result<(), BootError> {
    let mut guarded = None;
    if let Ok(file) = File::open(full)
        && let Ok(flags) = rustix::fs::ioctl_getflags(&file)
        && flags.contains(IFlags::IMMUTABLE)
    {
        rustix::fs::ioctl_setflags(&file, flags - IFlags::IMMUTABLE)
            .map_err(|err| failed("unlock", full, err.into()))?;
        guarded = Some((file, flags));
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
        .map_err(|err| failed("write", full, err))?;
    if let Some((file, flags)) = guarded {
        rustix::fs::ioctl_setflags(&file, flags).map_err(|err| failed("lock", full, err.into()))?;
    }
    Ok(())
}
