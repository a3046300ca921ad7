// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Files that somebody else made, read without being led: a device, a FIFO or an endless file is an error.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// Returns the last part of a path, or nothing where there is none.
pub(crate) fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Opens a regular file; a FIFO or a device is not waited for.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

/// Reads a regular file of at most `most` bytes.
pub(crate) fn read_whole(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let bytes = read_head(path, most.saturating_add(1))?;
    if bytes.len() as u64 > most {
        return Err(too_long(most));
    }
    Ok(bytes)
}

/// Reads the first bytes of a regular file, `most` at most.
pub(crate) fn read_head(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(crate) fn too_long(most: u64) -> io::Error {
    io::Error::other(format!("it is longer than {}", size(most)))
}

/// Writes a limit: `64 KiB`, `256 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        _ if bytes >= 10 << 20 => format!("{} MiB", bytes >> 20),
        _ if bytes >= 10 << 10 => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_fifos_directories_and_endless_files_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        for path in [Path::new("/dev/zero"), &fifo, dir.path()] {
            read_head(path, 10).unwrap_err();
        }
        let file = dir.path().join("file");
        std::fs::write(&file, "12345").unwrap();
        assert_eq!(read_whole(&file, 5).unwrap(), b"12345");
        let err = read_whole(&file, 4).unwrap_err().to_string();
        assert_eq!(err, "it is longer than 4 bytes");
        assert_eq!(read_head(&file, 2).unwrap(), b"12");
    }
}
