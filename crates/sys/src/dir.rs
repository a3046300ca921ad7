// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Directories that are held by descriptor, and the files right in them.
//!
//! A name is looked up in the directory that is held, never along a path, and a symbolic link is not
//! followed: whoever may write to the directory, or to one above it, cannot lead the program elsewhere.
//! [`Dir::trusted`] opens a directory only where nobody but root and the caller can change it or any
//! directory on the way to it.

mod trust;

pub use trust::{Missing, TrustError};

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::{Errno, retry_on_intr};

/// Directories within each other that are removed at most.
const DEEPEST: u32 = 64;

/// A directory held open.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    path: PathBuf,
}

impl Dir {
    /// Opens the directory that a user names: symbolic links on the way are followed.
    ///
    /// # Errors
    ///
    /// `ENOENT`, `ENOTDIR`, `EACCES` as the kernel says.
    pub fn open(path: &Path) -> io::Result<Self> {
        let fd = retry_on_intr(|| rustix::fs::open(path, opening(), Mode::empty()))?;
        Ok(Self {
            fd,
            path: path.to_owned(),
        })
    }

    /// Opens the directory that something lies in, and returns the name of that in it.
    ///
    /// # Errors
    ///
    /// As [`Dir::open`]; `InvalidInput` where a path ends in no name.
    pub fn around(path: &Path) -> io::Result<(Self, &OsStr)> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let parent = path.parent().filter(|path| !path.as_os_str().is_empty());
        Ok((Self::open(parent.unwrap_or_else(|| Path::new(".")))?, name))
    }

    /// Opens a directory that nobody but root and the caller can change or replace: it, every directory
    /// above it and every link on the way belong to one of them, and nobody else may write there unless
    /// the directory is sticky, as /tmp is.
    ///
    /// # Errors
    ///
    /// [`TrustError::Unsafe`] where that is not so; `EACCES`, `ENOTDIR`, `ELOOP` as [`TrustError::Path`].
    pub fn trusted(path: &Path, missing: Missing) -> Result<Option<Self>, TrustError> {
        let whole = std::path::absolute(path).map_err(|err| trust::failed("find", path, err))?;
        trust::walk(&whole, missing)
    }

    /// Whether nobody but root and the caller may write to it, wherever it is.
    ///
    /// # Errors
    ///
    /// [`TrustError::Unsafe`] where somebody else may.
    pub fn check(&self) -> Result<(), TrustError> {
        trust::check(&self.fd, &self.path)
    }

    /// Returns the path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns where it is now, without symbolic links.
    ///
    /// # Errors
    ///
    /// `ENOENT` where /proc is not mounted.
    pub fn real_path(&self) -> io::Result<PathBuf> {
        std::fs::read_link(format!("/proc/self/fd/{}", self.fd.as_raw_fd()))
    }

    /// Holds the directory a second time.
    ///
    /// # Errors
    ///
    /// `EMFILE` where too many files are open.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            fd: self.fd.try_clone()?,
            path: self.path.clone(),
        })
    }

    /// Opens a directory in this one.
    ///
    /// # Errors
    ///
    /// `ENOENT`; `ENOTDIR` for anything else than a directory, a symbolic link included.
    pub fn dir(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = single(name.as_ref())?;
        let flags = opening() | OFlags::NOFOLLOW;
        let fd = match retry_on_intr(|| rustix::fs::openat(&self.fd, name, flags, Mode::empty())) {
            Err(Errno::NOTDIR | Errno::LOOP) if self.is_link(name) => {
                return Err(link("directory"));
            }
            fd => fd?,
        };
        Ok(Self {
            fd,
            path: self.path.join(name),
        })
    }

    /// Makes a directory in this one; one that is there is fine.
    ///
    /// # Errors
    ///
    /// `ENOTDIR` where something else is in the way; `EACCES`, `EROFS`, `ENOSPC`.
    pub fn make_dir(&self, name: impl AsRef<OsStr>, mode: u32) -> io::Result<Self> {
        let name = name.as_ref();
        match self.make_new_dir(name, mode) {
            Err(err) if err.kind() != io::ErrorKind::AlreadyExists => Err(err),
            _ => self.dir(name),
        }
    }

    /// Makes a directory that is not there.
    ///
    /// # Errors
    ///
    /// `EEXIST`, `EACCES`, `EROFS`, `ENOSPC`.
    pub fn make_new_dir(&self, name: impl AsRef<OsStr>, mode: u32) -> io::Result<()> {
        let name = single(name.as_ref())?;
        Ok(rustix::fs::mkdirat(
            &self.fd,
            name,
            Mode::from_raw_mode(mode),
        )?)
    }

    /// Opens a regular file to read it.
    ///
    /// # Errors
    ///
    /// `ENOENT`, `EACCES`; `InvalidInput` for anything else than a regular file, such as a symbolic
    /// link, which would lead out, or a FIFO, which would wait for a writer.
    pub fn file(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.open_regular(name.as_ref(), OFlags::RDONLY, Mode::empty())
    }

    /// Opens a regular file to read and write it, and makes an empty one where there is none.
    ///
    /// # Errors
    ///
    /// As [`Dir::file`].
    pub fn file_or_new(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let mode = Mode::from_raw_mode(0o644);
        self.open_regular(name.as_ref(), OFlags::RDWR | OFlags::CREATE, mode)
    }

    /// Opens a regular file that is there, to read and write it.
    ///
    /// # Errors
    ///
    /// As [`Dir::file`].
    pub fn file_to_write(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.open_regular(name.as_ref(), OFlags::RDWR, Mode::empty())
    }

    /// Makes a file that is not there, to write it.
    ///
    /// # Errors
    ///
    /// `EEXIST` where anything of this name is, a symbolic link included.
    pub fn new_file(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.new_file_of_mode(name, 0o644)
    }

    /// Makes a file that is not there, to write it, with a mode of its own (less the umask).
    ///
    /// # Errors
    ///
    /// As [`Dir::new_file`].
    pub fn new_file_of_mode(&self, name: impl AsRef<OsStr>, mode: u32) -> io::Result<File> {
        let name = single(name.as_ref())?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode);
        let fd = retry_on_intr(|| rustix::fs::openat(&self.fd, name, flags, mode))?;
        Ok(File::from(fd))
    }

    /// Makes a symbolic link, which no method of this type follows.
    ///
    /// # Errors
    ///
    /// `EEXIST`, `EACCES`, `EROFS`, `ENOSPC`.
    pub fn make_link(&self, target: &OsStr, name: impl AsRef<OsStr>) -> io::Result<()> {
        let name = single(name.as_ref())?;
        Ok(rustix::fs::symlinkat(target, &self.fd, name)?)
    }

    /// Gives a file of this directory a second name, in `other`. A symbolic link is linked itself.
    ///
    /// # Errors
    ///
    /// `ENOENT`, `EEXIST`, `EXDEV`, `EMLINK`; `EPERM` for a directory.
    pub fn hard_link(
        &self,
        from: impl AsRef<OsStr>,
        other: &Self,
        to: impl AsRef<OsStr>,
    ) -> io::Result<()> {
        let (from, to) = (single(from.as_ref())?, single(to.as_ref())?);
        let flags = AtFlags::empty();
        Ok(rustix::fs::linkat(&self.fd, from, &other.fd, to, flags)?)
    }

    /// Reads a regular file of at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// As [`Dir::file`]; `FileTooLarge` for a larger one, of which no more is read.
    pub fn read(&self, name: impl AsRef<OsStr>, limit: u64) -> io::Result<Vec<u8>> {
        read_limited(self.file(name)?, limit)
    }

    /// Returns what it is itself.
    ///
    /// # Errors
    ///
    /// `EIO`.
    pub fn own_stat(&self) -> io::Result<Stat> {
        Ok(rustix::fs::fstat(&self.fd)?)
    }

    /// Returns what a name is, a symbolic link as itself.
    ///
    /// # Errors
    ///
    /// `ENOENT`, `EACCES`.
    pub fn stat(&self, name: impl AsRef<OsStr>) -> io::Result<Stat> {
        let name = single(name.as_ref())?;
        Ok(rustix::fs::statat(
            &self.fd,
            name,
            AtFlags::SYMLINK_NOFOLLOW,
        )?)
    }

    /// Whether a name is a regular file.
    pub fn has_file(&self, name: impl AsRef<OsStr>) -> bool {
        self.stat(name).is_ok_and(|stat| kind(&stat).is_file())
    }

    /// Whether a name is a directory, and no link to one.
    pub fn has_dir(&self, name: impl AsRef<OsStr>) -> bool {
        self.stat(name).is_ok_and(|stat| kind(&stat).is_dir())
    }

    /// Returns the names in it, in no order.
    ///
    /// # Errors
    ///
    /// `EACCES`, `EIO`.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// Gives what is named `from` in it the name `to` in `other`.
    ///
    /// # Errors
    ///
    /// `EEXIST`, `ENOTEMPTY`, `ENOTDIR` where a directory is in the way of one; `EACCES`, `EROFS`.
    pub fn rename(
        &self,
        from: impl AsRef<OsStr>,
        other: &Self,
        to: impl AsRef<OsStr>,
    ) -> io::Result<()> {
        let (from, to) = (single(from.as_ref())?, single(to.as_ref())?);
        Ok(rustix::fs::renameat(&self.fd, from, &other.fd, to)?)
    }

    /// Removes a file or a link.
    ///
    /// # Errors
    ///
    /// `ENOENT`, `EISDIR`, `EACCES`, `EROFS`.
    pub fn remove_file(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        let name = single(name.as_ref())?;
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    /// Removes a file, a link, or a directory with all that is in it. What is gone already, or goes
    /// meanwhile, is fine.
    ///
    /// # Errors
    ///
    /// `EACCES`, `EROFS`, `EBUSY`; `ELOOP` for directories deeper than anything that we make.
    pub fn remove_tree(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        self.remove_below(name.as_ref(), DEEPEST)
    }

    /// Waits until the names in it are on disk.
    ///
    /// # Errors
    ///
    /// `EIO`.
    pub fn sync(&self) -> io::Result<()> {
        Ok(retry_on_intr(|| rustix::fs::fsync(&self.fd))?)
    }

    fn remove_below(&self, name: &OsStr, depth: u32) -> io::Result<()> {
        let gone = |result: io::Result<()>| match result {
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        };
        let dir = match self.stat(name) {
            Ok(stat) if kind(&stat).is_dir() => self.dir(name),
            Ok(_) => return gone(self.remove_file(name)),
            Err(err) => Err(err),
        };
        let dir = match dir {
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(()),
            dir => dir?,
        };
        let deeper = depth
            .checked_sub(1)
            .ok_or_else(|| io::Error::from(Errno::LOOP))?;
        for inside in dir.names()? {
            dir.remove_below(&inside, deeper)?;
        }
        gone(rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR).map_err(Into::into))
    }

    fn open_regular(&self, name: &OsStr, how: OFlags, mode: Mode) -> io::Result<File> {
        let name = single(name)?;
        let other = || io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
        let flags = how | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = match retry_on_intr(|| rustix::fs::openat(&self.fd, name, flags, mode)) {
            Err(Errno::LOOP) if self.is_link(name) => return Err(link("regular file")),
            // open(2) of a socket, and of a directory to write.
            Err(Errno::NXIO | Errno::ISDIR) => return Err(other()),
            file => File::from(file?),
        };
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(other()),
        }
    }

    fn is_link(&self, name: &OsStr) -> bool {
        self.stat(name).is_ok_and(|stat| kind(&stat).is_symlink())
    }
}

/// Reads a regular file of at most `limit` bytes by its path; the last part of it is no link.
///
/// # Errors
///
/// As [`Dir::read`].
pub fn read_regular(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let (parent, name) = Dir::around(path)?;
    parent.read(name, limit)
}

fn read_limited(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("larger than {}, the limit", size(limit)),
        ));
    }
    Ok(bytes)
}

/// Writes a size of whole KiB.
fn size(bytes: u64) -> String {
    match bytes >> 10 {
        kib if kib % 1_024 == 0 => format!("{} MiB", kib >> 10),
        kib => format!("{kib} KiB"),
    }
}

fn opening() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn link(wanted: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("a symbolic link, not a {wanted}"),
    )
}

/// A name, and no way to somewhere else.
fn single(name: &OsStr) -> io::Result<&OsStr> {
    match Path::new(name).components().next() {
        Some(Component::Normal(only)) if only == name => Ok(name),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

#[cfg(test)]
mod tests;
