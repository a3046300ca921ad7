// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Puts changed files into a tree, all or none.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::PatchError;

/// A file that is replaced, made or removed.
#[derive(Debug)]
struct Moved {
    path: PathBuf,
    /// Where its old content is, if it was there.
    old: Option<PathBuf>,
}

/// Brings the named files of `tree` to what they are in `changed`, and returns how many differ. Old content is kept
/// in `kept` meanwhile.
///
/// # Errors
///
/// Fails where a file cannot be read or written; then the tree is as it was.
pub(crate) fn swap(
    tree: &Path,
    changed: &Path,
    kept: &Path,
    files: impl IntoIterator<Item = String>,
) -> Result<u64, PatchError> {
    let mut done: Vec<Moved> = Vec::new();
    for file in files {
        let (from, to, copy) = (changed.join(&file), tree.join(&file), kept.join(&file));
        match one(&from, &to, &copy) {
            Ok(moved) => done.extend(moved),
            Err(err) => {
                back(done)?;
                return Err(err);
            }
        }
    }
    Ok(u64::try_from(done.len()).unwrap_or(u64::MAX))
}

fn one(from: &Path, to: &Path, copy: &Path) -> Result<Option<Moved>, PatchError> {
    let new = content(from)?;
    let old = content(to)?;
    if new == old {
        return Ok(None);
    }
    let moved = Moved {
        path: to.to_owned(),
        old: old.is_some().then(|| copy.to_owned()),
    };
    if old.is_some() {
        above(copy)?;
        fs::copy(to, copy).map_err(fault("copy", to))?;
    }
    if new.is_some() {
        above(to)?;
        place(from, to)?;
    } else {
        fs::remove_file(to).map_err(fault("remove", to))?;
    }
    Ok(Some(moved))
}

/// Replaces `to` by a copy of `from`: it is there whole, old or new.
fn place(from: &Path, to: &Path) -> Result<(), PatchError> {
    let mut name = to.file_name().unwrap_or_default().to_owned();
    name.push(".punctual-new");
    let temporary = to.with_file_name(name);
    fs::copy(from, &temporary)
        .and_then(|_| fs::rename(&temporary, to))
        .map_err(|source| {
            drop(fs::remove_file(&temporary));
            fault("write", to)(source)
        })
}

fn back(done: Vec<Moved>) -> Result<(), PatchError> {
    for moved in done.into_iter().rev() {
        let result = match &moved.old {
            Some(copy) => place(copy, &moved.path),
            None => fs::remove_file(&moved.path).map_err(fault("remove", &moved.path)),
        };
        if let Err(PatchError::File { source, .. }) = result {
            return Err(PatchError::NotRestored {
                copy: moved.old.unwrap_or_default(),
                path: moved.path,
                source,
            });
        }
    }
    Ok(())
}

/// Reads a regular file with its permissions; nothing where there is none. A symbolic link is not followed: it could
/// lead out of the tree.
fn content(path: &Path) -> Result<Option<(Vec<u8>, u32)>, PatchError> {
    use std::os::unix::fs::PermissionsExt as _;
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_file() => {
            let bytes = fs::read(path).map_err(fault("read", path))?;
            Ok(Some((bytes, meta.permissions().mode())))
        }
        Ok(_) => Err(fault("replace", path)(io::Error::other(
            "it is no regular file",
        ))),
        Err(err)
            if matches!(
                err.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(err) => Err(fault("read", path)(err)),
    }
}

pub(crate) fn above(path: &Path) -> Result<(), PatchError> {
    match path.parent() {
        Some(above) => fs::create_dir_all(above).map_err(fault("make directory", above)),
        None => Ok(()),
    }
}

pub(crate) fn fault(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> PatchError {
    let path = path.to_owned();
    move |source| PatchError::File {
        action,
        path,
        source,
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
            ("new/a", "new"),
            ("new/made", "new"),
            ("new/z", "new"),
        ] {
            above(&at(name)).unwrap();
            fs::write(at(name), text).unwrap();
        }
        // What is to be replaced is a directory: that fails for root too.
        fs::create_dir_all(at("tree/z")).unwrap();
        let files = ["a", "gone", "made", "z"].map(str::to_owned);
        let err = swap(&at("tree"), &at("new"), &at("kept"), files.clone()).unwrap_err();
        assert!(
            matches!(
                err,
                PatchError::File {
                    action: "replace",
                    ..
                }
            ),
            "{err:?}"
        );
        assert_eq!(fs::read(at("tree/a")).unwrap(), b"old");
        assert_eq!(fs::read(at("tree/gone")).unwrap(), b"was");
        assert!(!at("tree/made").exists());
        fs::remove_dir(at("tree/z")).unwrap();
        assert_eq!(
            swap(&at("tree"), &at("new"), &at("kept"), files).unwrap(),
            4
        );
        assert!(!at("tree/gone").exists());
        assert_eq!(fs::read(at("tree/z")).unwrap(), b"new");
    }
}
