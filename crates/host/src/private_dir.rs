// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The directory that keeps what undoes a change, and the lock that lets one tuner work at a time.
//!
//! What lies there is later written to the kernel with all privileges. So nobody else may have a hand
//! in it: the directory belongs to this user alone, every directory above it to this user or root, and
//! no name in it is followed if it is a symbolic link.

mod trusted;

use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use punctual_sys::dir::Dir;
use punctual_sys::{PathError, if_there};
use rustix::fs::{FlockOperation, OFlags};

use self::trusted::check_above;
pub use self::trusted::{check_trusted_dir, open_trusted};

/// A journal larger than this is none of ours.
const MOST_BYTES: u64 = 256 << 20;

/// The lock's file, in the directory.
const LOCK: &str = "lock";

/// The directory could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrivateDirError {
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] PathError),
    /// Someone else could change what is in it.
    #[error("{} is not safe: {reason}", path.display())]
    Unsafe {
        /// The directory.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Another tuner is at work.
    #[error("another process is tuning: {holder}")]
    Busy {
        /// Who.
        holder: String,
    },
}

impl PrivateDirError {
    /// Whether the disk is full.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Io(err) if err.is_full())
    }

    /// Whether the file system is read-only.
    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self, Self::Io(err) if err.is_read_only())
    }

    /// Whether the privilege is missing.
    pub fn is_denied(&self) -> bool {
        matches!(self, Self::Io(err) if err.is_permission())
    }
}

/// A directory that is this user's alone.
#[derive(Debug)]
pub struct PrivateDir(Dir);

impl PrivateDir {
    /// Opens the directory, or returns none where there is none.
    ///
    /// # Errors
    ///
    /// Fails where the directory is not safe, or may not be opened.
    pub fn open(path: &Path) -> Result<Option<Self>, PrivateDirError> {
        let opened = Dir::around(path).and_then(|(above, name)| above.dir(name));
        let Some(opened) = if_there(opened).map_err(|err| failed("open", path, err))? else {
            return Ok(None);
        };
        let found = Self(opened);
        found.check()?;
        Ok(Some(found))
    }

    /// Opens the directory, and makes it where there is none.
    ///
    /// # Errors
    ///
    /// Fails where the directory is not safe, or may not be made.
    pub fn create(path: &Path) -> Result<Self, PrivateDirError> {
        if let Some(found) = Self::open(path)? {
            return Ok(found);
        }
        if let Some(above) = path.parent() {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(above);
            made.map_err(|err| failed("make", above, err))?;
        }
        match DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => {}
            Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {}
            Err(err) => return Err(failed("make", path, err)),
        }
        Self::open(path)?.ok_or_else(|| failed("open", path, io::ErrorKind::NotFound.into()))
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    fn check(&self) -> Result<(), PrivateDirError> {
        let path = self.path();
        let examine = |err| failed("examine", path, err);
        let stat = self.0.own_stat().map_err(examine)?;
        let own = rustix::process::geteuid().as_raw();
        if stat.st_uid != own {
            return Err(not_safe(path, "it belongs to another user"));
        }
        if stat.st_mode & 0o077 != 0 {
            let reason = "others may enter it; its mode must be 700";
            return Err(not_safe(path, reason));
        }
        check_above(&self.0.real_path().map_err(examine)?, &[0, own])
    }

    fn full(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Reads a file, or returns none where there is none.
    ///
    /// # Errors
    ///
    /// Fails as `open(2)` and `read(2)` do, and on what is no regular file of a sensible size.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, PrivateDirError> {
        if_there(self.0.read(name, MOST_BYTES)).map_err(|err| failed("read", &self.full(name), err))
    }

    /// Writes a whole file, waits until it is on disk, and gives it its name then: it is there whole
    /// or not at all. `reserve` further bytes are set aside for what is appended later.
    ///
    /// # Errors
    ///
    /// Fails as `write(2)` and `fsync(2)` do; then there is no such file.
    pub fn write(&self, name: &str, bytes: &[u8], reserve: u64) -> Result<File, PrivateDirError> {
        let temporary = format!("{name}.new");
        self.remove(&temporary)?;
        let written = self
            .0
            .new_file_of_mode(&temporary, 0o600)
            .and_then(|mut file| {
                rustix::fs::fcntl_setfl(&file, OFlags::APPEND)?;
                file.set_permissions(Permissions::from_mode(0o600))?;
                set_aside(&file, bytes.len() as u64 + reserve)?;
                file.write_all(bytes)?;
                file.sync_all()?;
                Ok(file)
            });
        let file = written.map_err(|err| {
            // What is left is no journal, and the next one removes it too.
            drop(self.remove(&temporary));
            failed("write", &self.full(&temporary), err)
        })?;
        self.rename(&temporary, name)?;
        Ok(file)
    }

    /// Opens a file to append to it.
    ///
    /// # Errors
    ///
    /// Fails as `open(2)` does.
    pub fn append(&self, name: &str) -> Result<File, PrivateDirError> {
        let opened = self.0.file_to_write(name).and_then(|file| {
            rustix::fs::fcntl_setfl(&file, OFlags::APPEND)?;
            Ok(file)
        });
        opened.map_err(|err| failed("open", &self.full(name), err))
    }

    /// Gives a file another name, and waits until that is on disk.
    ///
    /// # Errors
    ///
    /// Fails as `rename(2)` and `fsync(2)` do.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), PrivateDirError> {
        let renamed = self
            .0
            .rename(from, &self.0, to)
            .and_then(|()| self.0.sync());
        renamed.map_err(|err| failed("rename", &self.full(from), err))
    }

    /// Removes a file, if there is one.
    ///
    /// # Errors
    ///
    /// Fails as `unlink(2)` does.
    pub fn remove(&self, name: &str) -> Result<(), PrivateDirError> {
        match self.0.remove_file(name) {
            Err(err) if err.kind() != io::ErrorKind::NotFound => {
                Err(failed("remove", &self.full(name), err))
            }
            _ => Ok(()),
        }
    }

    /// Takes the lock, waiting up to `patience` for another tuner. `who` is what that one would be
    /// told.
    ///
    /// # Errors
    ///
    /// Fails with [`PrivateDirError::Busy`] when another tuner holds it all that time.
    pub fn lock(&self, who: &str, patience: Duration) -> Result<Lock, PrivateDirError> {
        let path = self.full(LOCK);
        let file = self.or_to_read(self.0.file_or_new(LOCK));
        let file = file.map_err(|err| failed("open", &path, err))?;
        take(file, &path, who, patience)
    }

    /// Says who holds the lock, or none if nobody does.
    ///
    /// # Errors
    ///
    /// Fails as `open(2)` does.
    pub fn holder(&self) -> Result<Option<String>, PrivateDirError> {
        let file = match self.or_to_read(self.0.file_to_write(LOCK)) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(|err| failed("open", &self.full(LOCK), err))?,
        };
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(None),
            Err(_) => Ok(Some(holder_of(&file))),
        }
    }

    /// The lock's file, which can be locked without being written to: a file system that became read-only must not be in the
    /// way of a revert.
    fn or_to_read(&self, opened: io::Result<File>) -> io::Result<File> {
        match opened {
            Err(err) if err.kind() == io::ErrorKind::ReadOnlyFilesystem => self.0.file(LOCK),
            opened => opened,
        }
    }
}

fn not_safe(path: &Path, reason: &str) -> PrivateDirError {
    PrivateDirError::Unsafe {
        path: path.to_owned(),
        reason: reason.to_owned(),
    }
}

/// The right to change the machine, until this is dropped or the process ends.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Returns it for a program that is started next, which inherits it: should this process be killed, it is taken until
    /// that one has ended.
    ///
    /// # Errors
    ///
    /// Fails as `dup(2)` does.
    pub(crate) fn inherited(&self) -> io::Result<std::os::fd::OwnedFd> {
        Ok(rustix::io::dup(&self.file)?)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Nobody is to be told of a holder that is none any more.
        drop(self.file.set_len(0));
        // A process that is just being started has the descriptor too, until it runs its program.
        let _unlocked = rustix::fs::flock(&self.file, FlockOperation::Unlock);
    }
}

fn take(
    mut file: File,
    path: &Path,
    who: &str,
    patience: Duration,
) -> Result<Lock, PrivateDirError> {
    let end = Instant::now() + patience;
    loop {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(PrivateDirError::Busy {
                    holder: holder_of(&file),
                });
            }
            Err(err) => return Err(failed("lock", path, err.into())),
        }
    }
    // Who holds it is a courtesy to others: a full disk must not be in the way of a revert.
    drop(
        file.set_len(0)
            .and_then(|()| file.write_all(who.as_bytes())),
    );
    Ok(Lock { file })
}

/// How long a tuner may take from having a lock to having said its name.
const NAMING: Duration = Duration::from_millis(500);

/// Reads who holds a lock: waits for a tuner that has just taken it, and takes none for it that is
/// dead.
fn holder_of(file: &File) -> String {
    let end = Instant::now() + NAMING;
    loop {
        let name = name_in(file);
        if !name.is_empty() && is_alive(&name) {
            return name;
        }
        if Instant::now() >= end {
            return "an unnamed process".to_owned();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether the process of `process 7 (apply)` is there.
fn is_alive(name: &str) -> bool {
    let number = name.split_whitespace().nth(1).and_then(|n| n.parse().ok());
    number.is_none_or(punctual_sys::process::exists)
}

fn name_in(file: &File) -> String {
    use std::os::unix::fs::FileExt as _;
    let mut bytes = [0; 200];
    let n = file.read_at(&mut bytes, 0).unwrap_or_default();
    let name = String::from_utf8_lossy(bytes.get(..n).unwrap_or_default());
    // One line of plain text: it is shown to others.
    name.chars()
        .filter(|c| !c.is_control())
        .collect::<String>()
        .trim()
        .to_owned()
}

/// Sets room aside, so that a disk that fills up later does not matter. File systems that cannot do
/// that are no worse than before.
fn set_aside(file: &File, bytes: u64) -> io::Result<()> {
    use rustix::fs::FallocateFlags;
    match rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, 0, bytes) {
        Err(err @ rustix::io::Errno::NOSPC) => Err(err.into()),
        _ => Ok(()),
    }
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> PrivateDirError {
    PathError::new(action, path, source).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn private() -> (tempfile::TempDir, PrivateDir) {
        let dir = tempfile::tempdir().unwrap();
        let private = PrivateDir::create(&dir.path().join("a/b/tune")).unwrap();
        (dir, private)
    }

    #[test]
    fn it_and_those_above_it_that_were_missing_are_made_for_their_owner_alone() {
        let (dir, private) = private();
        for made in ["a", "a/b", "a/b/tune"].map(|name| dir.path().join(name)) {
            let mode = fs::metadata(&made).unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o700, "{}", made.display());
        }
        assert_eq!(private.path(), dir.path().join("a/b/tune"));
    }

    #[test]
    fn a_file_is_there_whole_or_not_at_all() {
        let (_dir, private) = private();
        assert!(private.read("journal").unwrap().is_none());
        private.write("journal", b"one\n", 100).unwrap();
        assert_eq!(private.read("journal").unwrap().unwrap(), b"one\n");
        private
            .append("journal")
            .unwrap()
            .write_all(b"two\n")
            .unwrap();
        assert_eq!(private.read("journal").unwrap().unwrap(), b"one\ntwo\n");
        private.rename("journal", "last").unwrap();
        private.remove("journal").unwrap();
        assert!(private.read("last").unwrap().is_some());
    }

    #[test]
    fn a_directory_that_others_may_enter_is_refused() {
        let (_dir, private) = private();
        let mode =
            |path: &Path, bits| fs::set_permissions(path, Permissions::from_mode(bits)).unwrap();
        mode(private.path(), 0o755);
        let err = PrivateDir::open(private.path()).unwrap_err().to_string();
        assert!(err.contains("must be 700"), "{err}");
        mode(private.path(), 0o700);
        mode(private.path().parent().unwrap(), 0o777);
        let err = PrivateDir::open(private.path()).unwrap_err().to_string();
        assert!(err.contains("others may rename"), "{err}");
    }

    #[test]
    fn no_symbolic_link_is_followed() {
        let (dir, private) = private();
        let elsewhere = dir.path().join("elsewhere");
        fs::write(&elsewhere, "theirs").unwrap();
        for name in ["journal", "journal.new", LOCK] {
            symlink(&elsewhere, private.full(name)).unwrap();
        }
        private.read("journal").unwrap_err();
        private.append("journal").unwrap_err();
        private.lock("x", Duration::ZERO).unwrap_err();
        // The link is replaced, not written through.
        private.write("journal", b"ours", 0).unwrap();
        assert_eq!(fs::read(&elsewhere).unwrap(), b"theirs");
        let link = dir.path().join("link");
        symlink(private.path(), &link).unwrap();
        PrivateDir::open(&link).unwrap_err();
    }

    #[test]
    fn one_tuner_at_a_time_and_the_other_is_named() {
        let (_dir, private) = private();
        assert_eq!(private.holder().unwrap(), None);
        let own = format!("process {} (run)", std::process::id());
        let lock = private.lock(&own, Duration::ZERO).unwrap();
        let err = private
            .lock("another", Duration::from_millis(30))
            .unwrap_err();
        assert_eq!(err.to_string(), format!("another process is tuning: {own}"));
        assert_eq!(private.holder().unwrap(), Some(own));
        drop(lock);
        drop(private.lock("another", Duration::ZERO).unwrap());
        assert_eq!(private.holder().unwrap(), None);
    }

    #[test]
    fn who_has_just_taken_the_lock_is_named_and_not_who_had_it_before() {
        let (_dir, private) = private();
        // A tuner that was killed has left its name; 4194304 is above the kernel's last number.
        fs::write(private.full(LOCK), "process 4194304 (apply)").unwrap();
        let file = private.0.file_to_write(LOCK).unwrap();
        rustix::fs::flock(&file, FlockOperation::LockExclusive).unwrap();
        let own = format!("process {} (run)", std::process::id());
        let writer = std::thread::spawn({
            let (path, own) = (private.full(LOCK), own.clone());
            move || {
                // What a scheduler may put between flock(2) and write(2).
                std::thread::sleep(Duration::from_millis(60));
                fs::write(path, own).unwrap();
            }
        });
        let err = private.lock("another", Duration::ZERO).unwrap_err();
        assert_eq!(err.to_string(), format!("another process is tuning: {own}"));
        writer.join().unwrap();
    }
}
