// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Puts changed files into a tree, all or none.
//!
//! Whatever ends this program in the middle, or the machine, leaves a note in the tree, which says so to the next command.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Stat};

use punctual_sys::PathError;

use super::PatchError;
use crate::beneath::{Beneath, is, own_as};

/// The note in the top directory of a tree that is being changed.
pub(crate) const NOTE: &str = ".punctual-patching";
const NOTE_TEXT: &str = "`punctual kernel patch` was changing files of this source. If it no longer runs, some of them are \
    patched and others are not.\nRestore them, by unpacking the source or checking it out again, and remove what is called \
    *.punctual-new. Then remove this file.\n";

/// A file that is replaced, made or removed.
#[derive(Debug)]
struct Moved {
    file: PathBuf,
    /// What it was, if it was there.
    old: Option<Stat>,
}

/// The directories between which files are moved.
struct Places<'a> {
    tree: &'a Path,
    beneath: &'a mut Beneath,
    kept: &'a Path,
    keep: Beneath,
    /// Whether the note is there.
    noted: bool,
}

/// Brings the named files of `tree` to what they are in `changed`, and returns how many differ. Old content is kept
/// in `kept` meanwhile.
///
/// # Errors
///
/// Fails where a file cannot be read or written; then the tree is as it was.
pub(crate) fn swap(
    (tree, beneath): (&Path, &mut Beneath),
    changed: &Path,
    kept: &Path,
    files: impl IntoIterator<Item = String>,
) -> Result<u64, PatchError> {
    fs::create_dir_all(kept).map_err(PathError::at("make directory", kept))?;
    let mut places = Places {
        tree,
        beneath,
        kept,
        keep: Beneath::open(kept).map_err(PathError::at("open", kept))?,
        noted: false,
    };
    let mut from = Beneath::open(changed).map_err(PathError::at("open", changed))?;
    let mut done: Vec<Moved> = Vec::new();
    // What goes, goes first: a file may become a directory of others.
    let (stays, goes): (Vec<String>, Vec<String>) = files.into_iter().partition(|file| {
        let found = from.look(Path::new(file));
        !matches!(found, Ok(None)) && !is_directory(&found)
    });
    for file in goes.iter().chain(&stays) {
        match places.one(&mut from, Path::new(file)) {
            Ok(moved) => done.extend(moved),
            Err(err) => {
                places.back(done)?;
                places.is_whole()?;
                return Err(err);
            }
        }
    }
    places.is_whole()?;
    Ok(u64::try_from(done.len()).unwrap_or(u64::MAX))
}

impl Places<'_> {
    fn one(&mut self, changed: &mut Beneath, file: &Path) -> Result<Option<Moved>, PatchError> {
        let full = self.tree.join(file);
        let new = match is_directory(&changed.look(file)) {
            true => None,
            false => content(changed, file).map_err(PathError::at("put in", &full))?,
        };
        let old = content(self.beneath, file).map_err(PathError::at("replace", &full))?;
        let same = match (&new, &old) {
            (None, None) => true,
            (Some((new, mode)), Some((old, stat))) => {
                new == old && mode.st_mode & 0o777 == stat.st_mode & 0o777
            }
            _ => false,
        };
        if same {
            return Ok(None);
        }
        self.note()?;
        if let Some((bytes, stat)) = &old {
            place(&mut self.keep, file, bytes, stat.st_mode, None)
                .map_err(PathError::at("keep a copy of", &full))?;
        }
        let old = old.map(|(_, stat)| stat);
        match new {
            Some((bytes, stat)) => {
                // Of a file that a patch makes, it says only whether it can be executed.
                let mode = match &old {
                    Some(_) => stat.st_mode & 0o777,
                    None => stat.st_mode & 0o755,
                };
                place(self.beneath, file, &bytes, mode, old.as_ref())
                    .map_err(PathError::at("write", &full))?;
            }
            None => self
                .beneath
                .remove(file)
                .map_err(PathError::at("remove", &full))?,
        }
        Ok(Some(Moved {
            file: file.to_owned(),
            old,
        }))
    }

    /// Leaves the note, before the first file changes.
    fn note(&mut self) -> Result<(), PatchError> {
        use std::io::Write as _;
        if self.noted {
            return Ok(());
        }
        let full = self.tree.join(NOTE);
        let mut file = self
            .beneath
            .create(Path::new(NOTE), 0o644)
            .map_err(PathError::at("make", &full))?;
        self.noted = true;
        let written = file.write_all(NOTE_TEXT.as_bytes());
        let written = written.and_then(|()| file.sync_all());
        Ok(written.map_err(PathError::at("write", &full))?)
    }

    /// Takes the note away, when what it speaks of is on disk.
    fn is_whole(&mut self) -> Result<(), PatchError> {
        if !std::mem::take(&mut self.noted) {
            return Ok(());
        }
        // That this cannot be done is no failure.
        if let Ok(root) = File::open(self.tree) {
            rustix::fs::syncfs(&root).ok();
        }
        let full = self.tree.join(NOTE);
        let removed = self.beneath.remove(Path::new(NOTE));
        Ok(removed.map_err(PathError::at("remove", &full))?)
    }

    fn back(&mut self, done: Vec<Moved>) -> Result<(), PatchError> {
        for Moved { file, old } in done.into_iter().rev() {
            if old.is_some() && is_directory(&self.beneath.look(&file)) {
                // It was a file, so the directory was made here. What hinders this, hinders the file too.
                drop(self.beneath.remove_tree(&file));
            }
            let result = match &old {
                None => self.beneath.remove(&file),
                Some(stat) => match content(&mut self.keep, &file) {
                    Ok(Some((bytes, _))) => {
                        place(self.beneath, &file, &bytes, stat.st_mode, Some(stat))
                    }
                    Ok(None) => Err(io::ErrorKind::NotFound.into()),
                    Err(err) => Err(err),
                },
            };
            if let Err(source) = result {
                return Err(PatchError::NotRestored {
                    copy: self.kept.join(&file),
                    path: self.tree.join(&file),
                    source,
                });
            }
        }
        Ok(())
    }
}

fn is_directory(found: &io::Result<Option<Stat>>) -> bool {
    matches!(found, Ok(Some(stat)) if is(stat, FileType::Directory))
}

/// Replaces a file atomically. The new file gets the owner and mode of `like`.
fn place(
    beneath: &mut Beneath,
    file: &Path,
    bytes: &[u8],
    mode: u32,
    like: Option<&Stat>,
) -> io::Result<()> {
    use std::io::Write as _;
    let name = file.file_name().unwrap_or_default();
    let mut temporary = name.to_owned();
    temporary.push(".punctual-new");
    let temporary = file.with_file_name(temporary);
    // What a crash left goes; a link is not followed.
    drop(beneath.remove(&temporary));
    let mut made: File = beneath.create(&temporary, 0o600)?;
    let written = made
        .write_all(bytes)
        .and_then(|()| like.map_or(Ok(()), |stat| own_as(&made, stat)))
        .and_then(|()| made.set_permissions(Permissions::from_mode(mode & 0o777)))
        .and_then(|()| beneath.rename(&temporary, name));
    if written.is_err() {
        drop(beneath.remove(&temporary));
    }
    written
}

/// Reads a regular file and what it is; nothing where there is none. A symbolic link, or one on the way to it, is
/// an error: it could lead out of the tree.
fn content(beneath: &mut Beneath, file: &Path) -> io::Result<Option<(Vec<u8>, Stat)>> {
    use std::io::Read as _;
    let Some(mut there) = beneath.read(file)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    there.read_to_end(&mut bytes)?;
    Ok(Some((bytes, rustix::fs::fstat(&there)?)))
}

pub(crate) fn above(path: &Path) -> Result<(), PatchError> {
    match path.parent() {
        Some(above) => {
            Ok(fs::create_dir_all(above).map_err(PathError::at("make directory", above))?)
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_in_the_middle_leaves_the_tree_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for (name, text) in [
            ("tree/a", "old"),
            ("tree/gone", "was"),
            ("tree/into", "file"),
            ("new/a", "new"),
            ("new/into/b/c", "new"),
            ("new/made", "new"),
            ("new/z", "new"),
        ] {
            above(&at(name)).unwrap();
            fs::write(at(name), text).unwrap();
        }
        // What is to be replaced is a directory: that fails for root too.
        fs::create_dir_all(at("tree/z")).unwrap();
        let files = ["a", "gone", "into", "into/b/c", "made", "z"].map(str::to_owned);
        let put_in = |files: [String; 6]| {
            let tree = at("tree");
            let mut beneath = Beneath::open(&tree).unwrap();
            swap((&tree, &mut beneath), &at("new"), &at("kept"), files)
        };
        let err = put_in(files.clone()).unwrap_err();
        assert!(
            matches!(
                err,
                PatchError::File(PathError {
                    action: "replace",
                    ..
                })
            ),
            "{err:?}"
        );
        assert_eq!(fs::read(at("tree/a")).unwrap(), b"old");
        assert_eq!(fs::read(at("tree/gone")).unwrap(), b"was");
        assert_eq!(fs::read(at("tree/into")).unwrap(), b"file");
        assert!(!at("tree/made").exists());
        assert!(!at("tree").join(NOTE).exists());
        fs::remove_dir(at("tree/z")).unwrap();
        assert_eq!(put_in(files).unwrap(), 6);
        assert!(!at("tree").join(NOTE).exists());
        assert_eq!(fs::read(at("tree/into/b/c")).unwrap(), b"new");
        assert!(!at("tree/gone").exists());
        assert_eq!(fs::read(at("tree/z")).unwrap(), b"new");
    }

    #[test]
    fn a_tree_of_which_not_all_files_are_changed_says_so() {
        use crate::source::{Tree, TreeError};
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for (name, text) in [
            ("tree/Makefile", "VERSION = 6\nPATCHLEVEL = 1\n"),
            ("tree/Kconfig", ""),
            ("new/Kconfig", "config A\n"),
        ] {
            above(&at(name)).unwrap();
            fs::write(at(name), text).unwrap();
        }
        fs::create_dir(at("kept")).unwrap();
        let (tree, kept) = (at("tree"), at("kept"));
        let mut places = Places {
            tree: &tree,
            beneath: &mut Beneath::open(&tree).unwrap(),
            kept: &kept,
            keep: Beneath::open(&kept).unwrap(),
            noted: false,
        };
        let mut new = Beneath::open(&at("new")).unwrap();
        // What is the same leaves no note.
        assert!(places.one(&mut new, Path::new("none")).unwrap().is_none());
        Tree::open(&tree).unwrap();
        places.one(&mut new, Path::new("Kconfig")).unwrap().unwrap();
        let err = Tree::open(&tree).unwrap_err();
        assert!(matches!(err, TreeError::HalfPatched { .. }), "{err:?}");
        // Nor does a second one begin meanwhile.
        places.noted = false;
        places.note().unwrap_err();
        places.noted = true;
        places.is_whole().unwrap();
        Tree::open(&tree).unwrap();
    }
}
