// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A directory that nothing leads out of: paths below it are walked part by part by descriptor, and no part may be a
//! symbolic link or `..`. That is what `openat2(2)` calls `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS`, on every kernel.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;

/// A directory and what is below it.
#[derive(Debug)]
pub(crate) struct Beneath {
    root: OwnedFd,
    /// The directory that was walked to last: files come by directory.
    last: Option<(PathBuf, OwnedFd)>,
}

/// Whether directories on the way are made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Missing {
    Make,
    Refuse,
}

impl Beneath {
    /// Opens the directory, which may be reached by a link: it is the caller's word.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self {
            root: rustix::fs::open(path, flags, Mode::empty())?,
            last: None,
        })
    }

    /// Returns what is at `path`, which is not followed if it is a link; none where there is nothing.
    pub(crate) fn look(&mut self, path: &Path) -> io::Result<Option<Stat>> {
        let (above, name) = match self.walk(path, Missing::Refuse) {
            Ok(found) => found,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(err) => return Err(err),
        };
        match rustix::fs::statat(above, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(err) => Err(err.into()),
        }
    }

    /// Opens a regular file; none where there is nothing.
    pub(crate) fn read(&mut self, path: &Path) -> io::Result<Option<File>> {
        let Some(stat) = self.look(path)? else {
            return Ok(None);
        };
        if !is(&stat, FileType::RegularFile) {
            return Err(io::Error::other("it is not a regular file"));
        }
        let (above, name) = self.walk(path, Missing::Refuse)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(Some(
            rustix::fs::openat(above, &name, flags, Mode::empty())?.into(),
        ))
    }

    /// Makes a file that is not there yet, and the directories above it.
    pub(crate) fn create(&mut self, path: &Path, mode: u32) -> io::Result<File> {
        let (above, name) = self.walk(path, Missing::Make)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(above, &name, flags, Mode::from_raw_mode(mode))?.into())
    }

    /// Makes a directory and those above it; that it is there is fine.
    pub(crate) fn make_directory(&mut self, path: &Path) -> io::Result<()> {
        // The name is no part of what is made.
        self.walk(&path.join("x"), Missing::Make).map(drop)
    }

    /// Makes a symbolic link, and the directories above it.
    pub(crate) fn link_to(&mut self, target: &OsStr, path: &Path) -> io::Result<()> {
        let (above, name) = self.walk(path, Missing::Make)?;
        Ok(rustix::fs::symlinkat(target, above, &name)?)
    }

    /// Makes a second name of a regular file that is there.
    pub(crate) fn same_file(&mut self, there: &Path, path: &Path) -> io::Result<()> {
        let regular = self.look(there)?;
        if !regular.is_some_and(|stat| is(&stat, FileType::RegularFile)) {
            return Err(io::Error::other("it is another name of no regular file"));
        }
        let (old, from) = self.walk(there, Missing::Refuse)?;
        let old = old.try_clone_to_owned()?;
        let (new, to) = self.walk(path, Missing::Make)?;
        Ok(rustix::fs::linkat(old, &from, new, &to, AtFlags::empty())?)
    }

    /// Gives a file another name in its directory, in place of what has that name.
    pub(crate) fn rename(&mut self, from: &Path, to: &OsStr) -> io::Result<()> {
        let (above, name) = self.walk(from, Missing::Refuse)?;
        Ok(rustix::fs::renameat(above, &name, above, to)?)
    }

    /// Removes what is no directory.
    pub(crate) fn remove(&mut self, path: &Path) -> io::Result<()> {
        let (above, name) = self.walk(path, Missing::Refuse)?;
        Ok(rustix::fs::unlinkat(above, &name, AtFlags::empty())?)
    }

    /// Walks to the directory of `path`, and returns it with the last part.
    fn walk(
        &mut self,
        path: &Path,
        missing: Missing,
    ) -> io::Result<(std::os::fd::BorrowedFd<'_>, OsString)> {
        let outside = || io::Error::other("its path leads out of the tree");
        let mut names = Vec::new();
        for part in path.components() {
            match part {
                Component::Normal(name) => names.push(name),
                Component::CurDir => {}
                _ => return Err(outside()),
            }
        }
        let name = names.pop().ok_or_else(outside)?.to_owned();
        let above: PathBuf = names.iter().collect();
        if names.is_empty() {
            return Ok((self.root.as_fd(), name));
        }
        if self.last.as_ref().is_none_or(|(at, _)| *at != above) {
            let found = descend(&self.root, &names, missing)?;
            self.last = Some((above, found));
        }
        match &self.last {
            Some((_, fd)) => Ok((fd.as_fd(), name)),
            None => Err(outside()),
        }
    }
}

fn descend(root: &OwnedFd, names: &[&OsStr], missing: Missing) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = root.try_clone()?;
    for name in names {
        let open = || rustix::fs::openat(&at, *name, flags, Mode::empty());
        let next = match open() {
            Err(Errno::NOENT) if missing == Missing::Make => {
                rustix::fs::mkdirat(&at, *name, Mode::from_raw_mode(0o755))?;
                open()
            }
            other => other,
        };
        at = match next {
            Ok(next) => next,
            Err(Errno::NOTDIR | Errno::LOOP) => {
                let stat = rustix::fs::statat(&at, *name, AtFlags::SYMLINK_NOFOLLOW)?;
                let what = match is(&stat, FileType::Symlink) {
                    true => "is a symbolic link, and what is behind it may be outside",
                    false => "is not a directory",
                };
                return Err(io::Error::other(format!("{} {what}", name.display())));
            }
            Err(err) => return Err(err.into()),
        };
    }
    Ok(at)
}

/// Whether it is of this kind.
pub(crate) fn is(stat: &Stat, kind: FileType) -> bool {
    FileType::from_raw_mode(stat.st_mode) == kind
}

/// Gives a file the owner that another one has, where it is not its already.
pub(crate) fn own_as(file: &File, other: &Stat) -> io::Result<()> {
    let now = rustix::fs::fstat(file)?;
    if (now.st_uid, now.st_gid) == (other.st_uid, other.st_gid) {
        return Ok(());
    }
    let (uid, gid) = (Uid::from_raw(other.st_uid), Gid::from_raw(other.st_gid));
    Ok(rustix::fs::fchown(file, Some(uid), Some(gid))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::fs::symlink;

    #[test]
    fn nothing_leads_out_of_a_directory() {
        let dir = tempfile::tempdir().unwrap();
        let (tree, outside) = (dir.path().join("tree"), dir.path().join("outside"));
        fs::create_dir_all(tree.join("real")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("theirs"), "theirs").unwrap();
        symlink(&outside, tree.join("out")).unwrap();
        symlink("real", tree.join("in")).unwrap();
        symlink(outside.join("theirs"), tree.join("file")).unwrap();
        let mut beneath = Beneath::open(&tree).unwrap();
        for path in [
            "out/theirs",
            "in/x",
            "../outside/theirs",
            "/etc/passwd",
            "real/../x",
            "",
        ] {
            let path = Path::new(path);
            beneath.read(path).unwrap_err();
            beneath.create(path, 0o644).unwrap_err();
            beneath.remove(path).unwrap_err();
        }
        beneath.read(Path::new("file")).unwrap_err();
        beneath.create(Path::new("file"), 0o644).unwrap_err();
        beneath
            .same_file(Path::new("file"), Path::new("second"))
            .unwrap_err();
        let err = beneath.create(Path::new("out/new"), 0o644).unwrap_err();
        assert!(
            err.to_string().starts_with("out is a symbolic link"),
            "{err}"
        );
        let mut file = beneath.create(Path::new("a/b/c"), 0o644).unwrap();
        file.write_all(b"ours").unwrap();
        beneath
            .same_file(Path::new("a/b/c"), Path::new("d/e"))
            .unwrap();
        assert_eq!(fs::read(tree.join("d/e")).unwrap(), b"ours");
        assert!(beneath.look(Path::new("no/such")).unwrap().is_none());
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        assert_eq!(fs::read(outside.join("theirs")).unwrap(), b"theirs");
    }
}
