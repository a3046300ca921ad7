// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Replacing a file of the boot loader: it is there whole, old or new, and it is whose it was, with the mode and the
//! extended attributes that it had. A file with the hash of a password stays one that root alone reads.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use punctual_sys::dir::Dir;
use punctual_sys::{SysRoot, if_there, random};
use rustix::fs::{Gid, Uid, XattrFlags};
use rustix::io::Errno;

/// No list of attributes and no value of one is longer (linux/limits.h, `XATTR_LIST_MAX`, `XATTR_SIZE_MAX`).
const LONGEST: usize = 64 << 10;
/// Attributes that vouch for the content, and are the kernel's to make again.
const HASHES: [&str; 2] = ["security.ima", "security.evm"];
/// Mode of a file that is made.
const MODE: u32 = 0o644;

/// Reads a file as it is, or none where there is none.
pub(super) fn content(sys: &SysRoot, path: &str) -> Option<String> {
    let (bytes, _) = sys.read_up_to(path, 1 << 20).ok()?;
    String::from_utf8(bytes).ok()
}

/// Returns the name under which a file is put together, in the same directory. `id` makes it one that nobody else has; it is kept
/// on disk before there is such a file.
pub(crate) fn temporary(path: &str, id: &str) -> String {
    format!("{path}.punctual-{id}")
}

/// Returns a name that nobody has had.
///
/// # Errors
///
/// Fails as `getrandom(2)` does.
pub(crate) fn new_id() -> io::Result<String> {
    let bytes = random::bytes::<8>()?;
    Ok(format!("{:016x}", u64::from_be_bytes(bytes)))
}

/// Gives `to` the content, by way of `temporary`, which must not be there. Owner, mode and attributes are those of `to`,
/// else of `like`, else they are a new file's.
pub(crate) fn replace(
    to: &Path,
    temporary: &Path,
    content: &[u8],
    like: Option<&Path>,
) -> io::Result<()> {
    let pattern = match regular(to)? {
        Some(file) => Some(file),
        None => like.map(regular).transpose()?.flatten(),
    };
    let mut file = make(temporary)?;
    let written = file
        .write_all(content)
        .and_then(|()| match &pattern {
            Some(pattern) => be_like(&file, pattern),
            None => file.set_permissions(Permissions::from_mode(MODE)),
        })
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(temporary, to));
    if written.is_err() {
        // It is nobody's.
        drop(fs::remove_file(temporary));
    }
    written
}

/// Makes a file that must not be there, for root alone.
pub(crate) fn make(path: &Path) -> io::Result<File> {
    let (above, name) = Dir::around(path)?;
    above.new_file_of_mode(name, 0o600)
}

/// Removes what a program that was killed has left under a name that is its own.
pub(crate) fn clear(path: &Path) -> io::Result<()> {
    match Dir::around(path).and_then(|(above, name)| above.remove_tree(name)) {
        Err(err) if err.kind() != io::ErrorKind::NotFound => Err(err),
        _ => Ok(()),
    }
}

/// Opens a regular file; none where there is nothing. In the place of a symbolic link there would be a file.
fn regular(path: &Path) -> io::Result<Option<File>> {
    if_there(Dir::around(path).and_then(|(above, name)| above.file(name)))
}

fn be_like(file: &File, pattern: &File) -> io::Result<()> {
    let (now, wanted) = (file.metadata()?, pattern.metadata()?);
    if (now.uid(), now.gid()) != (wanted.uid(), wanted.gid()) {
        let (uid, gid) = (Uid::from_raw(wanted.uid()), Gid::from_raw(wanted.gid()));
        rustix::fs::fchown(file, Some(uid), Some(gid))?;
    }
    let (had, have) = (attributes(pattern)?, attributes(file)?);
    for (name, value) in &had {
        if !have.contains(&(name.clone(), value.clone())) {
            rustix::fs::fsetxattr(file, name.as_str(), value, XattrFlags::empty())?;
        }
    }
    // What the directory gives a new file, such as an access list.
    for (name, _) in &have {
        if !had.iter().any(|(other, _)| other == name) {
            rustix::fs::fremovexattr(file, name.as_str())?;
        }
    }
    // Last: a change of owner takes bits away. A file system without modes, such as that of EFI, has the right one.
    let mode = wanted.mode() & 0o7777;
    if file.metadata()?.mode() & 0o7777 != mode {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    Ok(())
}

fn attributes(file: &File) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut names = vec![0; LONGEST];
    let length = match rustix::fs::flistxattr(file, names.as_mut_slice()) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => 0,
        length => length?,
    };
    names.truncate(length);
    let names = names.split(|byte| *byte == 0);
    let mut all = Vec::new();
    for name in names.filter_map(|name| std::str::from_utf8(name).ok()) {
        if name.is_empty() || HASHES.contains(&name) {
            continue;
        }
        let mut value = vec![0; LONGEST];
        let length = match rustix::fs::fgetxattr(file, name, value.as_mut_slice()) {
            // One that is only listed, or gone since.
            Err(Errno::NODATA | Errno::OPNOTSUPP) => continue,
            length => length?,
        };
        value.truncate(length);
        all.push((name.to_owned(), value));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a file an attribute; says so where its file system has none, which is a failure where they are required.
    fn gives_attribute(path: &Path, name: &str) -> bool {
        let file = File::open(path).unwrap();
        let given = rustix::fs::fsetxattr(&file, name, b"value", XattrFlags::empty());
        let required = std::env::var("PUNCTUAL_TEST_REQUIRE").unwrap_or_default();
        assert!(
            given.is_ok() || !required.split(',').any(|what| what == "user-attributes"),
            "{}: {given:?}, and PUNCTUAL_TEST_REQUIRE names user-attributes",
            path.display()
        );
        if let Err(err) = given {
            eprintln!("skipped: attributes of {}: {err}", path.display());
        }
        given.is_ok()
    }

    #[test]
    fn a_file_that_is_replaced_keeps_owner_mode_and_attributes() {
        let dir = tempfile::tempdir().unwrap();
        let (path, temporary) = (dir.path().join("custom.cfg"), dir.path().join("t"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let root = punctual_sys::thread::is_root();
        if root {
            std::os::unix::fs::chown(&path, Some(12), Some(34)).unwrap();
        }
        let attribute = "user.punctual-test";
        let kept = gives_attribute(&path, attribute);
        replace(&path, &temporary, b"new", None).unwrap();
        let meta = fs::metadata(&path).unwrap();
        assert_eq!(meta.mode() & 0o7777, 0o640);
        if root {
            assert_eq!((meta.uid(), meta.gid()), (12, 34));
        }
        if kept {
            let has = attributes(&File::open(&path).unwrap()).unwrap();
            assert!(
                has.contains(&(attribute.to_owned(), b"value".to_vec())),
                "{has:?}"
            );
        }
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert!(!temporary.exists());
        // A copy is as secret as what it is made of.
        let copy = dir.path().join("copy");
        replace(&copy, &temporary, b"new", Some(&path)).unwrap();
        assert_eq!(fs::metadata(&copy).unwrap().mode() & 0o7777, 0o640);
    }

    #[test]
    fn a_link_and_a_name_that_is_taken_are_not_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let (theirs, link) = (dir.path().join("theirs"), dir.path().join("link"));
        fs::write(&theirs, "theirs").unwrap();
        std::os::unix::fs::symlink(&theirs, &link).unwrap();
        replace(&link, &dir.path().join("t"), b"ours", None).unwrap_err();
        replace(&dir.path().join("new"), &theirs, b"ours", None).unwrap_err();
        replace(&dir.path().join("new"), &link, b"ours", None).unwrap_err();
        assert!(!dir.path().join("new").exists());
        assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
        assert!(link.is_symlink());
    }
}
