// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A directory that nothing leads out of: paths below it are walked part by part by descriptor, and no part may be a
//! symbolic link or `..`. That is what `openat2(2)` calls `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS`, on every kernel.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use punctual_sys::dir::Dir;
use rustix::fs::{FileType, Gid, Stat, Uid};

/// Mode of a directory that is made on the way.
const MODE: u32 = 0o755;

/// A directory and what is below it.
#[derive(Debug)]
pub(crate) struct Beneath {
    root: Dir,
    /// The directory that was walked to last: files come by directory.
    last: Option<(PathBuf, Dir)>,
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
        Ok(Self {
            root: Dir::open(path)?,
            last: None,
        })
    }

    /// Returns what is at `path`, which is not followed if it is a link; none where there is nothing.
    pub(crate) fn look(&mut self, path: &Path) -> io::Result<Option<Stat>> {
        let found = self
            .walk(path, Missing::Refuse)
            .and_then(|(above, name)| above.stat(name));
        match found {
            Ok(stat) => Ok(Some(stat)),
            Err(err) if is_nothing(&err) => Ok(None),
            Err(err) => Err(err),
        }
    }

    /// Opens a regular file; none where there is nothing.
    pub(crate) fn read(&mut self, path: &Path) -> io::Result<Option<File>> {
        let found = self
            .walk(path, Missing::Refuse)
            .and_then(|(above, name)| above.file(name));
        match found {
            Ok(file) => Ok(Some(file)),
            Err(err) if is_nothing(&err) => Ok(None),
            Err(err) => Err(err),
        }
    }

    /// Makes a file that is not there yet, and the directories above it.
    pub(crate) fn create(&mut self, path: &Path, mode: u32) -> io::Result<File> {
        let (above, name) = self.walk(path, Missing::Make)?;
        above.new_file_of_mode(name, mode)
    }

    /// Makes a directory and those above it; that it is there is fine.
    pub(crate) fn make_directory(&mut self, path: &Path) -> io::Result<()> {
        // The name is no part of what is made.
        self.walk(&path.join("x"), Missing::Make).map(drop)
    }

    /// Makes a symbolic link, and the directories above it.
    pub(crate) fn link_to(&mut self, target: &OsStr, path: &Path) -> io::Result<()> {
        let (above, name) = self.walk(path, Missing::Make)?;
        above.make_link(target, name)
    }

    /// Makes a second name of a regular file that is there.
    pub(crate) fn same_file(&mut self, there: &Path, path: &Path) -> io::Result<()> {
        let regular = self.look(there)?;
        if !regular.is_some_and(|stat| is(&stat, FileType::RegularFile)) {
            return Err(io::Error::other(
                "it is a hard link to something other than a regular file",
            ));
        }
        let (old, from) = self.walk(there, Missing::Refuse)?;
        let old = old.try_clone()?;
        let (new, to) = self.walk(path, Missing::Make)?;
        old.hard_link(from, new, to)
    }

    /// Gives a file another name in its directory, in place of what has that name.
    pub(crate) fn rename(&mut self, from: &Path, to: &OsStr) -> io::Result<()> {
        let (above, name) = self.walk(from, Missing::Refuse)?;
        above.rename(name, above, to)
    }

    /// Removes what is no directory.
    pub(crate) fn remove(&mut self, path: &Path) -> io::Result<()> {
        let (above, name) = self.walk(path, Missing::Refuse)?;
        above.remove_file(name)
    }

    /// Removes a directory with all that is in it.
    pub(crate) fn remove_tree(&mut self, path: &Path) -> io::Result<()> {
        let (above, name) = self.walk(path, Missing::Refuse)?;
        let removed = above.remove_tree(name);
        // It may be what was removed.
        self.last = None;
        removed
    }

    /// Walks to the directory of `path`, and returns it with the last part.
    fn walk(&mut self, path: &Path, missing: Missing) -> io::Result<(&Dir, OsString)> {
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
            return Ok((&self.root, name));
        }
        if self.last.as_ref().is_none_or(|(at, _)| *at != above) {
            let found = descend(&self.root, &names, missing)?;
            self.last = Some((above, found));
        }
        match &self.last {
            Some((_, dir)) => Ok((dir, name)),
            None => Err(outside()),
        }
    }
}

fn descend(root: &Dir, names: &[&OsStr], missing: Missing) -> io::Result<Dir> {
    let mut at = root.try_clone()?;
    for name in names {
        let next = match missing {
            Missing::Make => at.make_dir(name, MODE),
            Missing::Refuse => at.dir(name),
        };
        at = match next {
            Ok(next) => next,
            Err(err) => {
                let what = match at.stat(name) {
                    Ok(stat) if is(&stat, FileType::Symlink) => {
                        "is a symbolic link, which may lead outside"
                    }
                    Ok(stat) if !is(&stat, FileType::Directory) => {
                        let what = format!("{} is not a directory", name.display());
                        return Err(io::Error::new(io::ErrorKind::NotADirectory, what));
                    }
                    _ => return Err(err),
                };
                return Err(io::Error::other(format!("{} {what}", name.display())));
            }
        };
    }
    Ok(at)
}

/// Whether there is nothing at a path: below a file there is nothing either.
fn is_nothing(err: &io::Error) -> bool {
    matches!(
        err.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
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
