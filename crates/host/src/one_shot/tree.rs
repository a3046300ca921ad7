// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Directories of modules: copied, and known again.

use std::fs::{self, DirBuilder, File, FileTimes, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::files::name;
use super::install::OneShotError;
use crate::boot::{BootError, failed, make as make_file, sync_above};

/// File in a directory of modules that says that it is ours.
pub(super) const OURS: &str = ".punctual-once";
/// Directories lie no deeper among modules.
const DEEPEST: u32 = 64;

/// Something in a directory that was copied.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Entry {
    /// Path below the directory.
    path: String,
    /// Size and time of the last change of a file, in seconds and nanoseconds. None: it is something else.
    file: Option<(u64, i64, i64)>,
}

impl Entry {
    /// Whether `found` is what this was copied to. Some file systems keep whole seconds.
    fn is(&self, found: &Self) -> bool {
        let whole = |of: &Self| of.file.map(|(size, seconds, _)| (size, seconds, 0));
        let rounded = found.file.is_some_and(|(.., nanoseconds)| nanoseconds == 0);
        self == found || rounded && self.path == found.path && whole(self) == found.file
    }
}

/// Lists what is in a directory, with the times that a copy has.
pub(super) fn list(from: &Path) -> Result<Vec<Entry>, OneShotError> {
    let mut all = Vec::new();
    walk(from, "", DEEPEST, &mut all)?;
    Ok(all)
}

fn walk(full: &Path, below: &str, depth: u32, all: &mut Vec<Entry>) -> Result<(), BootError> {
    let entries = fs::read_dir(full).map_err(|err| failed("list", full, err))?;
    for entry in entries {
        let entry = entry.map_err(|err| failed("list", full, err))?;
        let path = format!("{below}{}", entry.file_name().to_string_lossy());
        let meta = entry
            .metadata()
            .map_err(|err| failed("examine", &entry.path(), err))?;
        let file = meta
            .is_file()
            .then(|| (meta.size(), meta.mtime(), meta.mtime_nsec()));
        if meta.is_dir() {
            let Some(depth) = depth.checked_sub(1) else {
                let deep = io::Error::other("its directories lie too deep");
                return Err(failed("list", full, deep));
            };
            walk(&entry.path(), &format!("{path}/"), depth, all)?;
        }
        all.push(Entry { path, file });
    }
    Ok(())
}

/// Returns what is in `full` and was not put there, or was changed since. The lists that `depmod` makes are its own.
pub(super) fn foreign(full: &Path, known: &[Entry]) -> Result<Option<String>, OneShotError> {
    let known: std::collections::HashMap<&str, &Entry> = known
        .iter()
        .map(|entry| (entry.path.as_str(), entry))
        .collect();
    let depmods = |path: &str| path.starts_with("modules.") && !path.contains('/');
    let found = list(full)?.into_iter().find(|entry| {
        let is_known = known
            .get(entry.path.as_str())
            .is_some_and(|of| of.is(entry));
        entry.path != OURS && !depmods(&entry.path) && !is_known
    });
    Ok(found.map(|entry| entry.path))
}

/// Copies a directory, with a file [`OURS`] in it that says `id`; it is there whole or not at all.
pub(super) fn copy_marked(
    from: &Path,
    to: &Path,
    temporary: &Path,
    id: &str,
) -> Result<(), BootError> {
    make_directory(temporary).map_err(|err| failed("make directory", temporary, err))?;
    let mark = temporary.join(OURS);
    fs::write(&mark, id).map_err(|err| failed("write", &mark, err))?;
    copy_tree(from, temporary)?;
    name(temporary, to).map_err(|err| failed("make directory", to, err))?;
    sync_above(to)
}

/// Makes a directory that everybody may read, whatever the umask is: modules are loaded from it.
fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o755).create(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o755))
}

/// Copies directories, files and links; what else there is has no place among modules. Of modes only whether a file
/// can be executed is taken: `scripts` of a build can.
fn copy_tree(from: &Path, to: &Path) -> Result<(), BootError> {
    let entries = fs::read_dir(from).map_err(|err| failed("list", from, err))?;
    for entry in entries {
        let entry = entry.map_err(|err| failed("list", from, err))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry
            .file_type()
            .map_err(|err| failed("examine", &source, err))?;
        let done = if kind.is_dir() {
            make_directory(&target).map_err(|err| failed("make directory", &target, err))?;
            copy_tree(&source, &target)?;
            Ok(())
        } else if kind.is_symlink() {
            // `build` and `source` lead to the tree that it was built in.
            fs::read_link(&source).and_then(|link| std::os::unix::fs::symlink(link, &target))
        } else if kind.is_file() {
            copy_file(&source, &target)
        } else {
            Err(io::Error::other("it is neither file, directory nor link"))
        };
        done.map_err(|err| failed("copy", &source, err))?;
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = File::open(from)?;
    let executable = source.metadata()?.permissions().mode() & 0o111 != 0;
    let mut copy = make_file(to)?;
    io::copy(&mut source, &mut copy)?;
    copy.set_permissions(Permissions::from_mode(if executable {
        0o755
    } else {
        0o644
    }))?;
    // By it a file is known that somebody changed since.
    copy.set_times(FileTimes::new().set_modified(source.metadata()?.modified()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_whose_time_was_rounded_is_the_same_and_a_changed_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("module.ko");
        fs::write(&path, "module").unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        let at = |seconds: u64, nanoseconds: u32| {
            let since = std::time::Duration::new(seconds, nanoseconds);
            let time = std::time::SystemTime::UNIX_EPOCH + since;
            file.set_times(FileTimes::new().set_modified(time)).unwrap();
        };
        at(1_000, 7);
        let known = list(dir.path()).unwrap();
        let found = || foreign(dir.path(), &known).unwrap();
        assert_eq!(found(), None);
        // As ext4 with inodes of 128 bytes keeps it.
        at(1_000, 0);
        assert_eq!(found(), None);
        for (seconds, nanoseconds) in [(1_000, 8), (1_001, 0)] {
            at(seconds, nanoseconds);
            assert_eq!(found().as_deref(), Some("module.ko"));
        }
        fs::write(&path, "another module").unwrap();
        at(1_000, 0);
        assert_eq!(found().as_deref(), Some("module.ko"));
    }
}
