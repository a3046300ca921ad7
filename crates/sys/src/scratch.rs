// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Files to work on that have no name, and so are gone with the last process that has them open, whatever ends it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use punctual_model::Bytes;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat};
use rustix::io::{Errno, FdFlags, fcntl_setfd};

use crate::root::SysRoot;

/// A file without a name.
#[derive(Debug)]
pub struct ScratchFile {
    file: File,
}

impl ScratchFile {
    /// Makes an empty one in `directory`.
    ///
    /// # Errors
    ///
    /// Fails as `open(2)` does: `ENOENT`, `EACCES`, `EROFS`, `ENOSPC`.
    pub fn create(directory: &Path) -> io::Result<Self> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match openat(CWD, directory, flags, Mode::RUSR | Mode::WUSR) {
            Ok(fd) => Ok(Self { file: fd.into() }),
            // A file system that has no such files, or a kernel that takes the flag for O_DIRECTORY alone.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
                Self::create_and_unlink(directory)
            }
            Err(errno) => Err(errno.into()),
        }
    }

    fn create_and_unlink(directory: &Path) -> io::Result<Self> {
        let path = directory.join(format!(".punctual-scratch-{}", std::process::id()));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let file = options.open(&path)?;
        std::fs::remove_file(&path)?;
        Ok(Self { file })
    }

    /// Returns the file, to read and write.
    pub const fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Lets programs that are started from now on have it, and returns the path under which they open it.
    ///
    /// # Errors
    ///
    /// Fails as `fcntl(2)` does, for no reason that is known.
    pub fn share(&self) -> io::Result<String> {
        fcntl_setfd(&self.file, FdFlags::empty())?;
        Ok(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }
}

/// A file that gets its name when it is whole: until then it has none, and is gone with this process, whatever ends it.
#[derive(Debug)]
pub struct Nameless {
    file: File,
}

impl Nameless {
    /// Makes an empty one in `directory`, or nothing where the file system has no such files.
    ///
    /// # Errors
    ///
    /// Fails as `open(2)` does: `ENOENT`, `EACCES`, `EROFS`, `ENOSPC`.
    pub fn create(directory: &Path) -> io::Result<Option<Self>> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        let file: File = match openat(CWD, directory, flags, mode) {
            Ok(fd) => fd.into(),
            // As in `ScratchFile::create`.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        // The way to its name (open(2), O_TMPFILE) leads over /proc.
        let nameless = Self { file };
        Ok(nameless.descriptor().exists().then_some(nameless))
    }

    /// Returns another handle of the file, to write to.
    ///
    /// # Errors
    ///
    /// `EMFILE` where no descriptor is left.
    pub fn writer(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Gives it the name `path`, in the directory that it was made in.
    ///
    /// # Errors
    ///
    /// `EEXIST` where something has the name.
    pub fn name(&self, path: &Path) -> io::Result<()> {
        let flags = AtFlags::SYMLINK_FOLLOW;
        Ok(linkat(CWD, self.descriptor(), CWD, path, flags)?)
    }

    fn descriptor(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }
}

/// Returns how much an ordinary user may still write to the file system of `directory`.
///
/// # Errors
///
/// Fails as `statvfs(3)` does: `ENOENT`, `EACCES`.
pub fn free_space(directory: &Path) -> io::Result<Bytes> {
    let stat = rustix::fs::statvfs(directory)?;
    Ok(Bytes::new(stat.f_bavail).times(stat.f_frsize))
}

/// Returns type and source of the file system of `directory`, such as `ext4 /dev/vda1`, if the list of mounts has it.
///
/// A file system of many devices, as btrfs, may not be found.
pub fn file_system(sys: &SysRoot, directory: &Path) -> Option<String> {
    let device = std::fs::metadata(directory).ok()?.dev();
    let number = format!(
        "{}:{}",
        rustix::fs::major(device),
        rustix::fs::minor(device)
    );
    mounted(&sys.read("/proc/self/mountinfo").ok()?, &number)
}

/// Finds the device `number` in `/proc/self/mountinfo` (proc(5)): ID, parent, device, root, mount point, options,
/// optional fields, `-`, type, source, options.
fn mounted(mountinfo: &str, number: &str) -> Option<String> {
    let line = mountinfo
        .lines()
        .find(|line| line.split(' ').nth(2) == Some(number))?;
    let (_, rest) = line.split_once(" - ")?;
    let mut words = rest.split(' ');
    Some(format!("{} {}", words.next()?, words.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::process::Command;

    #[test]
    fn a_scratch_file_has_no_name_and_a_program_can_read_it() {
        let dir = tempfile::tempdir().unwrap();
        for make in [ScratchFile::create, ScratchFile::create_and_unlink] {
            let mut scratch = make(dir.path()).unwrap();
            scratch.file().write_all(b"here").unwrap();
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
            let path = scratch.share().unwrap();
            let output = Command::new("cat").arg(path).output().unwrap();
            assert_eq!(output.stdout, b"here");
        }
    }

    #[test]
    fn a_directory_that_is_not_there_is_told() {
        let nowhere = Path::new("/no/such/directory");
        let err = ScratchFile::create(nowhere).unwrap_err();
        assert_eq!(err.kind(), io::ErrorKind::NotFound);
        assert!(free_space(nowhere).is_err());
        assert_eq!(file_system(&SysRoot::live(), nowhere), None);
    }

    #[test]
    fn space_and_kind_of_a_file_system_are_known() {
        let dir = tempfile::tempdir().unwrap();
        assert!(free_space(dir.path()).is_ok());
        let info = "\
22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
24 22 0:21 / /proc rw - proc proc rw
31 22 0:40 / /tmp rw - tmpfs none rw
";
        assert_eq!(mounted(info, "254:1").as_deref(), Some("ext4 /dev/vda1"));
        assert_eq!(mounted(info, "0:40").as_deref(), Some("tmpfs none"));
        assert_eq!(mounted(info, "8:1"), None);
    }
}
