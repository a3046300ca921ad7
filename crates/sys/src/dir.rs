// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Directories that are held by descriptor, and the files right in them.
//!
//! A name is looked up in the directory that is held, never along a path, and a symbolic link is not
//! followed: whoever may write to the directory, or to one above it, cannot lead the program elsewhere.
//! [`Dir::trusted`] opens a directory only where nobody but root and the caller can change it or any
//! directory on the way to it.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::{Errno, retry_on_intr};

/// As many links as the kernel follows in a path.
const MOST_LINKS: u32 = 40;

/// Directories within each other that are removed at most.
const DEEPEST: u32 = 64;

/// A directory held open.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    path: PathBuf,
}

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
    #[error("{action} {}", path.display())]
    Io {
        /// What was tried, one verb.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The refusal.
        source: io::Error,
    },
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

    /// Opens a directory that nobody but root and the caller can change or replace: it, every directory
    /// above it and every link on the way belong to one of them, and nobody else may write there unless
    /// the directory is sticky, as /tmp is.
    ///
    /// # Errors
    ///
    /// [`TrustError::Unsafe`] where that is not so; `EACCES`, `ENOTDIR`, `ELOOP` as [`TrustError::Io`].
    pub fn trusted(path: &Path, missing: Missing) -> Result<Option<Self>, TrustError> {
        let whole = std::path::absolute(path).map_err(|err| failed("find", path, err))?;
        walk(&whole, missing)
    }

    /// Whether nobody but root and the caller may write to it, wherever it is.
    ///
    /// # Errors
    ///
    /// [`TrustError::Unsafe`] where somebody else may.
    pub fn check(&self) -> Result<(), TrustError> {
        check(&self.fd, &self.path)
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
        let name = single(name.as_ref())?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o644);
        let fd = retry_on_intr(|| rustix::fs::openat(&self.fd, name, flags, mode))?;
        Ok(File::from(fd))
    }

    /// Reads a regular file of at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// As [`Dir::file`]; `FileTooLarge` for a larger one, of which no more is read.
    pub fn read(&self, name: impl AsRef<OsStr>, limit: u64) -> io::Result<Vec<u8>> {
        read_limited(self.file(name)?, limit)
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
    let (parent, name) = match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if !parent.as_os_str().is_empty() => (parent, name),
        (_, Some(name)) => (Path::new("."), name),
        _ => return Err(io::ErrorKind::InvalidInput.into()),
    };
    Dir::open(parent)?.read(name, limit)
}

fn read_limited(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("larger than {}, the most that is read", size(limit)),
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

fn failed(action: &'static str, path: &Path, err: impl Into<io::Error>) -> TrustError {
    TrustError::Io {
        action,
        path: path.to_owned(),
        source: err.into(),
    }
}

/// Goes from the root directory to the end of an absolute path, and looks at each step.
fn walk(whole: &Path, missing: Missing) -> Result<Option<Dir>, TrustError> {
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

fn check(fd: &OwnedFd, path: &Path) -> Result<(), TrustError> {
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
        return Some("every user may write there".to_owned());
    }
    (mode.contains(Mode::WGRP) && !is_private(group))
        .then(|| format!("the group {group} may write there"))
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
        number => format!("another user (uid {number})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_directory_that_others_may_write_is_not_trusted_nor_one_below_it() {
        let dir = tempfile::tempdir().unwrap();
        let open = dir.path().join("open");
        let home = open.join("a/home");
        fs::create_dir(&open).unwrap();
        let trusted = || Dir::trusted(&home, Missing::Make).map(|dir| dir.is_some());
        for bad in [0o777, 0o757, 0o703] {
            mode(&open, bad);
            let err = trusted().unwrap_err().to_string();
            assert!(err.contains("open: every user may write"), "{err}");
            assert!(!home.exists());
        }
        mode(&open, 0o1777);
        assert!(trusted().unwrap());
        for made in [&home, home.parent().unwrap()] {
            let made = fs::metadata(made).unwrap().permissions().mode();
            assert_eq!(made & 0o7777, 0o700);
        }
    }

    #[test]
    fn nothing_is_made_where_nothing_is_to_be_made() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("a/b");
        assert!(Dir::trusted(&home, Missing::Leave).unwrap().is_none());
        assert!(!dir.path().join("a").exists());
        fs::write(dir.path().join("a"), "").unwrap();
        let err = Dir::trusted(&home, Missing::Make).unwrap_err();
        assert!(matches!(err, TrustError::Io { source, .. }
            if source.kind() == io::ErrorKind::NotADirectory));
    }

    #[test]
    fn links_of_ones_own_are_followed_and_their_way_is_looked_at_too() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("place");
        fs::create_dir_all(place.join("home")).unwrap();
        symlink("place/../place/home", dir.path().join("relative")).unwrap();
        symlink(place.join("home"), dir.path().join("whole")).unwrap();
        symlink("loop", dir.path().join("loop")).unwrap();
        let real = fs::canonicalize(place.join("home")).unwrap();
        for name in ["relative", "whole"] {
            let found = Dir::trusted(&dir.path().join(name), Missing::Leave).unwrap();
            assert_eq!(found.unwrap().real_path().unwrap(), real, "{name}");
        }
        let around = Dir::trusted(&dir.path().join("loop"), Missing::Leave);
        assert!(matches!(around, Err(TrustError::Io { .. })));
        mode(&place, 0o777);
        assert!(matches!(
            Dir::trusted(&dir.path().join("whole"), Missing::Leave),
            Err(TrustError::Unsafe { path, .. }) if path.ends_with("place")
        ));
    }

    #[test]
    fn who_else_could_write_is_said() {
        let own = rustix::process::geteuid().as_raw();
        assert_eq!(distrust(own, 12_345, 0o700), None);
        assert_eq!(distrust(0, 0, 0o1777), None);
        assert_eq!(distrust(0, 0, 0o755), None);
        let group = distrust(own, 12_345, 0o770).unwrap();
        assert_eq!(group, "the group 12345 may write there");
        let other = distrust(own + 7, 0, 0o700).unwrap();
        assert!(other.starts_with("belongs to another user"), "{other}");
        // Sticky or not: the owner can do as he likes.
        assert!(distrust(own + 7, 0, 0o1777).is_some());
    }

    #[test]
    fn no_name_leads_out_of_a_directory() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("in/below")).unwrap();
        fs::write(dir.path().join("outside"), "kept").unwrap();
        let inside = Dir::open(&dir.path().join("in")).unwrap();
        for name in [
            "../outside",
            "..",
            ".",
            "",
            "/etc/passwd",
            "below/x",
            "below/",
        ] {
            let refused = |err: io::Error| assert_eq!(err.kind(), io::ErrorKind::InvalidInput);
            refused(inside.file(name).unwrap_err());
            refused(inside.new_file(name).unwrap_err());
            refused(inside.file_or_new(name).unwrap_err());
            refused(inside.dir(name).unwrap_err());
            refused(inside.remove_tree(name).unwrap_err());
        }
    }

    #[test]
    fn links_are_neither_followed_nor_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("in")).unwrap();
        fs::create_dir_all(at("elsewhere/deep")).unwrap();
        fs::write(at("elsewhere/deep/file"), "kept").unwrap();
        symlink(at("elsewhere/deep/file"), at("in/file")).unwrap();
        symlink(at("missing"), at("in/dangling")).unwrap();
        symlink(at("elsewhere"), at("in/dir")).unwrap();
        let inside = Dir::open(&at("in")).unwrap();
        let said = inside.file("file").unwrap_err().to_string();
        assert_eq!(said, "a symbolic link, not a regular file");
        assert!(inside.file_or_new("dangling").is_err());
        assert!(inside.new_file("file").is_err() && inside.new_file("dangling").is_err());
        let said = inside.dir("dir").unwrap_err().to_string();
        assert_eq!(said, "a symbolic link, not a directory");
        assert!(!inside.has_file("file") && !inside.has_dir("dir"));
        inside.remove_tree("dir").unwrap();
        inside.remove_tree("file").unwrap();
        inside.remove_tree("never there").unwrap();
        assert_eq!(fs::read(at("elsewhere/deep/file")).unwrap(), b"kept");
        let deep = Dir::open(dir.path()).unwrap();
        deep.remove_tree("elsewhere").unwrap();
        assert!(!at("elsewhere").exists() && !at("missing").exists());
    }

    #[test]
    fn only_so_much_is_read() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), vec![b'x'; 2_048]).unwrap();
        let inside = Dir::open(dir.path()).unwrap();
        assert_eq!(inside.read("file", 2_048).unwrap().len(), 2_048);
        let err = inside.read("file", 1_024).unwrap_err();
        assert_eq!(err.to_string(), "larger than 1 KiB, the most that is read");
        assert_eq!(
            read_regular(&dir.path().join("file"), 4_096).unwrap().len(),
            2_048
        );
    }
}
