// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Files and directories that root is to obey: nobody else may have a hand in them.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::{PrivateDirError, failed, not_safe};

/// What may write to others: group and all.
const OTHERS_WRITE: u32 = 0o022;
/// Set on directories in which everybody may make files, but only owners remove them.
const STICKY: u32 = 0o1000;

/// Checks that nobody but `owners` can put something else in the place of `whole`, a path without
/// links.
pub(super) fn check_above(whole: &Path, owners: &[u32]) -> Result<(), PrivateDirError> {
    for above in whole.ancestors().skip(1) {
        let meta = fs::metadata(above).map_err(|err| failed("examine", above, err))?;
        if !owners.contains(&meta.uid()) {
            return Err(not_safe(above, "it belongs to another user"));
        }
        let mode = meta.permissions().mode();
        if mode & OTHERS_WRITE != 0 && mode & STICKY == 0 {
            return Err(not_safe(above, "others may rename what is in it"));
        }
    }
    Ok(())
}

/// Opens a file that root is to obey: a regular one that belongs to one of `owners`, that nobody else
/// may write to, and that nobody else can put another file in the place of. Symbolic links in `path` are followed,
/// and both the place of each and what it leads to are held to that.
///
/// # Errors
///
/// Fails where that is not so, and as `open(2)` does.
pub fn open_trusted(path: &Path, owners: &[u32]) -> Result<File, PrivateDirError> {
    let path = std::path::absolute(path).map_err(|err| failed("find", path, err))?;
    let real = fs::canonicalize(&path).map_err(|err| failed("find", &path, err))?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::fs::open(&real, flags, Mode::empty())
        .map_err(|err| failed("open", &real, err.into()))?;
    let file = File::from(file);
    let meta = file
        .metadata()
        .map_err(|err| failed("examine", &real, err))?;
    if !meta.is_file() {
        return Err(not_safe(&real, "it is not a regular file"));
    }
    check_own(&real, &meta, owners)?;
    check_both_ends(&path, &real, owners)?;
    Ok(file)
}

/// Checks a directory whose files root is to obey: it belongs to one of `owners`, and nobody else may put a file into it, also
/// where it is sticky, or another directory in its place. A symbolic link is followed as by [`open_trusted`].
///
/// # Errors
///
/// Fails where that is not so, and where the directory cannot be examined.
pub fn check_trusted_dir(path: &Path, owners: &[u32]) -> Result<(), PrivateDirError> {
    let path = std::path::absolute(path).map_err(|err| failed("find", path, err))?;
    let real = fs::canonicalize(&path).map_err(|err| failed("find", &path, err))?;
    let meta = fs::metadata(&real).map_err(|err| failed("examine", &real, err))?;
    if !meta.is_dir() {
        return Err(not_safe(&real, "it is not a directory"));
    }
    check_own(&real, &meta, owners)?;
    check_both_ends(&path, &real, owners)
}

/// Checks that nobody but `owners` can change what lies at `real`.
fn check_own(real: &Path, meta: &fs::Metadata, owners: &[u32]) -> Result<(), PrivateDirError> {
    if !owners.contains(&meta.uid()) {
        return Err(not_safe(real, "it belongs to another user"));
    }
    if meta.permissions().mode() & OTHERS_WRITE != 0 {
        return Err(not_safe(real, "others may write to it"));
    }
    Ok(())
}

/// Checks the place of what `path` leads to, and that of every symbolic link in `path`.
fn check_both_ends(path: &Path, real: &Path, owners: &[u32]) -> Result<(), PrivateDirError> {
    check_above(real, owners)?;
    for link in path.ancestors().filter(|above| above.is_symlink()) {
        let (Some(place), Some(name)) = (link.parent(), link.file_name()) else {
            continue;
        };
        let place = fs::canonicalize(place).map_err(|err| failed("find", place, err))?;
        check_above(&place.join(name), owners)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_that_somebody_else_could_change_is_not_obeyed() {
        let dir = tempfile::tempdir().unwrap();
        let own = rustix::process::geteuid().as_raw();
        let inner = dir.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        let file = inner.join("profile.toml");
        fs::write(&file, "x").unwrap();
        let mode =
            |path: &Path, bits| fs::set_permissions(path, Permissions::from_mode(bits)).unwrap();
        let opened = |path: &Path| open_trusted(path, &[0, own]).map_err(|err| err.to_string());
        mode(&file, 0o644);
        opened(&file).unwrap();
        for bits in [0o664, 0o646] {
            mode(&file, bits);
            assert!(
                opened(&file).unwrap_err().contains("others may write"),
                "{bits:o}"
            );
        }
        mode(&file, 0o644);
        // Any directory above it will do, and so will the group.
        for bits in [0o775, 0o757] {
            mode(&dir.path().join("a"), bits);
            assert!(
                opened(&file).unwrap_err().contains("others may rename"),
                "{bits:o}"
            );
        }
        mode(&dir.path().join("a"), 0o1777);
        opened(&file).unwrap();
        // A link in such a directory is as good as a file in it.
        let open = dir.path().join("open");
        fs::create_dir(&open).unwrap();
        symlink(&file, open.join("link.toml")).unwrap();
        opened(&open.join("link.toml")).unwrap();
        mode(&open, 0o777);
        assert!(
            opened(&open.join("link.toml"))
                .unwrap_err()
                .contains("others may rename")
        );
        assert!(
            open_trusted(&file, &[own + 1])
                .unwrap_err()
                .to_string()
                .contains("another user")
        );
        assert!(opened(&inner).unwrap_err().contains("not a regular file"));
        // So is a link on the way.
        symlink(&inner, open.join("way")).unwrap();
        let way = open.join("way/profile.toml");
        assert!(opened(&way).unwrap_err().contains("others may rename"));
        mode(&open, 0o755);
        opened(&way).unwrap();
    }

    #[test]
    fn a_directory_that_somebody_else_could_fill_is_not_obeyed() {
        let dir = tempfile::tempdir().unwrap();
        let own = rustix::process::geteuid().as_raw();
        let inner = dir.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        let mode =
            |path: &Path, bits| fs::set_permissions(path, Permissions::from_mode(bits)).unwrap();
        let check = |path: &Path| check_trusted_dir(path, &[0, own]).map_err(|err| err.to_string());
        mode(&inner, 0o755);
        check(&inner).unwrap();
        // A sticky one keeps nobody from making files.
        for bits in [0o777, 0o775, 0o1777] {
            mode(&inner, bits);
            assert!(
                check(&inner).unwrap_err().contains("others may write"),
                "{bits:o}"
            );
        }
        mode(&inner, 0o755);
        mode(&dir.path().join("a"), 0o777);
        assert!(check(&inner).unwrap_err().contains("others may rename"));
        mode(&dir.path().join("a"), 0o755);
        let file = inner.join("file");
        fs::write(&file, "x").unwrap();
        assert!(check(&file).unwrap_err().contains("not a directory"));
        assert!(
            check_trusted_dir(&inner, &[own + 1])
                .unwrap_err()
                .to_string()
                .contains("another user")
        );
    }
}
