// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Access to `/proc`, `/sys` and `/dev` below a root directory.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::{At as _, PathError};

/// What most kernel files fit in.
const PAGE: usize = 4_096;

/// What no text of the kernel is longer than.
const LONGEST: usize = 64 << 20;

/// A view of the kernel's file interfaces.
///
/// [`SysRoot::live`] is the running system. [`SysRoot::at`] is a captured tree, so the same code
/// is tested against machines that we do not have.
#[derive(Clone, Debug)]
pub struct SysRoot {
    root: PathBuf,
    /// Whether its symbolic links are the kernel's own.
    own: bool,
}

impl SysRoot {
    /// Opens the running system.
    pub fn live() -> Self {
        Self::of_kernel("/")
    }

    /// Opens what the kernel shows of itself at `root`, such as a file system that is mounted for this
    /// process alone: its links are its own, and its place may have no name to look it up by.
    pub fn of_kernel(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            own: true,
        }
    }

    /// Opens the captured tree in `root`.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            own: false,
        }
    }

    /// Whether this is the running system and not a captured tree.
    pub fn is_live(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Reads `path`, without its final newlines.
    ///
    /// # Errors
    ///
    /// Fails as `open(2)` and `read(2)` do, on text that is not UTF-8, and on files longer than
    /// 64 MiB, which no file of the kernel that is text is.
    pub fn read(&self, path: &str) -> Result<String, PathError> {
        let bytes = self.whole(path)?;
        let text = String::from_utf8(bytes).map_err(|_| {
            let why = io::Error::new(io::ErrorKind::InvalidData, "not valid UTF-8");
            PathError::new("read", &self.full(path), why)
        })?;
        Ok(without_newlines(text))
    }

    /// Reads `path` as [`SysRoot::read`] does, with U+FFFD for what is not UTF-8: the name of a thread is
    /// whatever its program makes it, and is cut in the middle of a letter.
    ///
    /// # Errors
    ///
    /// Fails as [`SysRoot::read`] does, but not on text that is not UTF-8.
    pub fn read_lossy(&self, path: &str) -> Result<String, PathError> {
        let bytes = self.whole(path)?;
        Ok(without_newlines(
            String::from_utf8_lossy(&bytes).into_owned(),
        ))
    }

    fn whole(&self, path: &str) -> Result<Vec<u8>, PathError> {
        let (bytes, more) = self.read_up_to(path, LONGEST)?;
        if more {
            let why = io::Error::new(io::ErrorKind::FileTooLarge, "longer than 64 MiB");
            return Err(PathError::new("read", &self.full(path), why));
        }
        Ok(bytes)
    }

    /// Reads `path`, or `None` where the kernel lacks the file.
    ///
    /// # Errors
    ///
    /// Fails as [`SysRoot::read`] does, but not on a missing file.
    pub fn read_if_present(&self, path: &str) -> Result<Option<String>, PathError> {
        match self.read(path) {
            Ok(text) => Ok(Some(text)),
            Err(err) if err.is_missing() => Ok(None),
            Err(err) => Err(err),
        }
    }

    /// Reads the first `limit` bytes of `path`, and says whether there were more.
    ///
    /// For trees that nobody vouches for: it neither waits for the writer of a pipe nor reads a
    /// file without end.
    ///
    /// # Errors
    ///
    /// Fails as `open(2)` and `read(2)` do; `EISDIR` on a directory.
    pub fn read_up_to(&self, path: &str, limit: usize) -> Result<(Vec<u8>, bool), PathError> {
        let full = self.within(path)?;
        let past = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        let mut bytes = Vec::with_capacity(limit.min(PAGE));
        OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(&full)
            // Kernel files state no size, or a false one: the limit also keeps the library from
            // asking for it, and from reading a few bytes at a time.
            .and_then(|file| file.take(past).read_to_end(&mut bytes))
            .at("read", &full)?;
        let more = bytes.len() > limit;
        bytes.truncate(limit);
        Ok((bytes, more))
    }

    /// Reads `path` and parses it, or `None` where that cannot be done for any reason.
    ///
    /// For facts whose absence is an answer; use [`SysRoot::read`] where the reason matters.
    pub fn fact<T: FromStr>(&self, path: &str) -> Option<T> {
        self.read(path).ok()?.trim().parse().ok()
    }

    /// Writes `value` to `path` in one `write(2)`; never creates the file.
    ///
    /// # Errors
    ///
    /// Fails as `open(2)` and `write(2)` do.
    pub fn write(&self, path: &str, value: &str) -> Result<(), PathError> {
        let full = self.within(path)?;
        OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(&full)
            .and_then(|mut file| file.write_all(value.as_bytes()))
            .at("write", &full)
    }

    /// Opens `path` for writing and closes it again, which changes nothing: whether the kernel takes
    /// the value is known only when one is written.
    ///
    /// # Errors
    ///
    /// Fails as `open(2)` does; with `EACCES` also where no permission bit allows writing, which root
    /// may override on an ordinary file but not on what the kernel serves.
    pub fn probe_write(&self, path: &str) -> Result<(), PathError> {
        let full = self.within(path)?;
        std::fs::metadata(&full)
            .and_then(|meta| {
                if meta.is_file() && meta.permissions().readonly() {
                    return Err(io::ErrorKind::PermissionDenied.into());
                }
                // A FIFO would make open(2) wait for its reader.
                OpenOptions::new()
                    .write(true)
                    .custom_flags(libc::O_NONBLOCK)
                    .open(&full)
                    .map(drop)
            })
            .at("open for writing", &full)
    }

    /// Makes the directory `path`.
    ///
    /// # Errors
    ///
    /// Fails as `mkdir(2)` does.
    pub fn make_dir(&self, path: &str) -> Result<(), PathError> {
        let full = self.within(path)?;
        std::fs::create_dir(&full).at("make directory", &full)
    }

    /// Removes the directory `path`. The kernel's own directories go though they list files.
    ///
    /// # Errors
    ///
    /// Fails as `rmdir(2)` does.
    pub fn remove_dir(&self, path: &str) -> Result<(), PathError> {
        let full = self.within(path)?;
        std::fs::remove_dir(&full).at("remove directory", &full)
    }

    /// Opens `path` for reading.
    ///
    /// # Errors
    ///
    /// Fails as `open(2)` does.
    pub fn open(&self, path: &str) -> Result<File, PathError> {
        let full = self.within(path)?;
        File::open(&full).at("open", &full)
    }

    /// Opens `path` for reading and writing, for files whose effect lasts while they are open.
    ///
    /// # Errors
    ///
    /// Fails as `open(2)` does.
    pub fn open_held(&self, path: &str) -> Result<File, PathError> {
        let full = self.within(path)?;
        OpenOptions::new()
            .read(true)
            .write(true)
            .open(&full)
            .at("open", &full)
    }

    /// Lists the names in directory `path`, sorted; none where the directory is missing.
    ///
    /// # Errors
    ///
    /// Fails as `opendir(3)` and `readdir(3)` do, but not on a missing directory.
    pub fn names(&self, path: &str) -> Result<Vec<String>, PathError> {
        let full = self.full(path);
        let entries = match std::fs::read_dir(&full) {
            Ok(entries) => entries,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(PathError::new("list", &full, source)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.at("list", &full)?;
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    /// Whether `path` exists.
    pub fn exists(&self, path: &str) -> bool {
        self.full(path).exists()
    }

    /// Returns where `path` lies in the file system of this process, if that is in the tree: what
    /// somebody else captured may have symbolic links to anywhere, and devices, which to open is to use one of this machine.
    ///
    /// The running system's links and devices are its own.
    ///
    /// # Errors
    ///
    /// Fails where a symbolic link leads out of the captured tree, and on devices in it.
    pub fn within(&self, path: &str) -> Result<PathBuf, PathError> {
        let full = self.full(path);
        if self.own || self.is_live() {
            return Ok(full);
        }
        // What is not there is judged by the directory that it would be in.
        let there = full.ancestors().find(|at| at.symlink_metadata().is_ok());
        let resolved = self
            .root
            .canonicalize()
            .and_then(|root| Ok((root, there.unwrap_or(&full).canonicalize()?)));
        match resolved {
            Ok((root, real)) if real.starts_with(&root) => match is_device(&real) {
                false => Ok(full),
                true => Err(PathError::new(
                    "find",
                    &full,
                    io::Error::new(
                        io::ErrorKind::Unsupported,
                        "a device in the captured tree is one of this machine",
                    ),
                )),
            },
            // A tree that is not there, and a link to nothing, which nothing may be made of.
            Err(source) => Err(PathError::new("find", &full, source)),
            Ok(_) => Err(PathError::new(
                "find",
                &full,
                io::Error::new(
                    io::ErrorKind::PermissionDenied,
                    "a symbolic link leads out of the captured tree",
                ),
            )),
        }
    }

    /// Returns where `path` lies in the file system of this process.
    pub fn full(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }
}

fn is_device(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    path.metadata().is_ok_and(|data| {
        let kind = data.file_type();
        kind.is_char_device() || kind.is_block_device()
    })
}

fn without_newlines(mut text: String) -> String {
    text.truncate(text.trim_end_matches('\n').len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_told_from_a_refused_one() {
        let dir = tempfile::tempdir().unwrap();
        let sys = SysRoot::at(dir.path());
        assert!(sys.read("/sys/none").unwrap_err().is_missing());
        assert_eq!(sys.read_if_present("/sys/none").unwrap(), None);
        assert_eq!(sys.fact::<i64>("/sys/none"), None);
        assert!(sys.names("/sys/none").unwrap().is_empty());
    }

    #[test]
    fn a_device_in_a_captured_tree_is_opened_by_nothing() {
        use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
        let dir = tempfile::tempdir().unwrap();
        let null = dir.path().join("null");
        // Without privilege there is no making of devices, and no use of them.
        let made = mknodat(
            CWD,
            &null,
            FileType::CharacterDevice,
            Mode::RUSR | Mode::WUSR,
            makedev(1, 3),
        );
        if made.is_err() {
            return;
        }
        let sys = SysRoot::at(dir.path());
        let unsupported = |err: PathError| err.source.kind() == io::ErrorKind::Unsupported;
        assert!(unsupported(sys.read("/null").unwrap_err()));
        assert!(unsupported(sys.write("/null", "1").unwrap_err()));
        assert!(unsupported(sys.probe_write("/null").unwrap_err()));
        assert!(unsupported(sys.open("/null").unwrap_err()));
        assert!(unsupported(sys.open_held("/null").unwrap_err()));
    }

    #[test]
    fn a_link_out_of_a_captured_tree_is_followed_by_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        std::fs::create_dir_all(tree.join("sys/dir")).unwrap();
        std::fs::write(dir.path().join("victim"), "1").unwrap();
        std::fs::write(tree.join("sys/file"), "2").unwrap();
        let link = |to: &str, from: &str| std::os::unix::fs::symlink(to, tree.join(from)).unwrap();
        link("../../victim", "sys/out");
        link("../..", "sys/above");
        link("../sys/file", "sys/in");
        link("nowhere", "sys/nothing");
        let sys = SysRoot::at(&tree);
        for path in ["/sys/out", "/sys/above/victim"] {
            assert!(sys.read(path).unwrap_err().is_permission(), "{path}");
            assert!(sys.write(path, "9").unwrap_err().is_permission(), "{path}");
            assert!(sys.probe_write(path).unwrap_err().is_permission(), "{path}");
            assert!(sys.open_held(path).unwrap_err().is_permission(), "{path}");
        }
        assert!(sys.make_dir("/sys/above/new").unwrap_err().is_permission());
        assert_eq!(std::fs::read(dir.path().join("victim")).unwrap(), b"1");
        assert_eq!(sys.read("/sys/in").unwrap(), "2");
        assert!(sys.read("/sys/nothing").unwrap_err().is_missing());
        sys.make_dir("/sys/dir/new").unwrap();
        sys.remove_dir("/sys/dir/new").unwrap();
        assert!(sys.within("/sys/none/at/all").is_ok());
    }

    #[test]
    fn no_more_is_read_than_asked_for_and_a_pipe_does_not_block() {
        let dir = tempfile::tempdir().unwrap();
        let sys = SysRoot::at(dir.path());
        std::fs::write(dir.path().join("five"), "12345").unwrap();
        let read = |limit| sys.read_up_to("/five", limit).unwrap();
        assert_eq!(read(4), (b"1234".to_vec(), true));
        assert_eq!(read(5), (b"12345".to_vec(), false));
        crate::make_fifo(&dir.path().join("pipe")).unwrap();
        assert_eq!(sys.read_up_to("/pipe", 9).unwrap(), (Vec::new(), false));
        std::fs::create_dir(dir.path().join("directory")).unwrap();
        sys.read_up_to("/directory", 9).unwrap_err();
    }

    #[test]
    fn a_probe_for_writing_changes_nothing_and_does_not_wait() {
        let dir = tempfile::tempdir().unwrap();
        let sys = SysRoot::at(dir.path());
        std::fs::write(dir.path().join("knob"), "7\n").unwrap();
        sys.probe_write("/knob").unwrap();
        assert_eq!(sys.read("/knob").unwrap(), "7");
        assert!(sys.probe_write("/none").unwrap_err().is_missing());
        crate::make_fifo(&dir.path().join("pipe")).unwrap();
        let err = sys.probe_write("/pipe").unwrap_err();
        assert_eq!(err.errno(), Some(libc::ENXIO));
        let mut bits = std::fs::metadata(dir.path().join("knob"))
            .unwrap()
            .permissions();
        bits.set_readonly(true);
        std::fs::set_permissions(dir.path().join("knob"), bits).unwrap();
        assert!(sys.probe_write("/knob").unwrap_err().is_permission());
    }

    #[test]
    fn write_never_creates_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let sys = SysRoot::at(dir.path());
        sys.write("/knob", "1").unwrap_err();
        assert!(!sys.exists("/knob"));
    }
}
