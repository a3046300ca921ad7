// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the first process of a machine does: mounting, a serial line, the end.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use rustix::mount::{MountFlags, mount, mount_remount};
use rustix::system::{RebootCommand, finit_module, reboot};
use rustix::termios::{OptionalActions, tcdrain, tcgetattr, tcsetattr};

/// Mounts a file system that has no device at `target`, which is made where it is missing. That
/// something is mounted there already is fine.
///
/// # Errors
///
/// Fails with `ENODEV` where the kernel lacks the file system, and with `EPERM` without privilege.
pub fn mount_virtual(kind: &str, target: &Path) -> io::Result<()> {
    // debugfs and tracefs bring their mount point with them; none can be made in sysfs.
    if !target.is_dir() {
        std::fs::create_dir_all(target)?;
    }
    match mount(kind, target, kind, MountFlags::empty(), None) {
        Err(rustix::io::Errno::BUSY) | Ok(()) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// A serial line that passes every byte on as it is.
#[derive(Debug)]
pub struct SerialLine(File);

impl SerialLine {
    /// Opens the line `path`.
    ///
    /// # Errors
    ///
    /// Fails with `ENOENT` where there is none, with `ENOTTY` on what is no terminal, and with
    /// `EIO` where a driver has no hardware behind it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let mut settings = tcgetattr(&file)?;
        settings.make_raw();
        tcsetattr(&file, OptionalActions::Now, &settings)?;
        Ok(Self(file))
    }

    /// Sends `bytes`, and waits until they have left.
    ///
    /// # Errors
    ///
    /// Fails as `write(2)` and `tcdrain(3)` do.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)?;
        Ok(tcdrain(&self.0)?)
    }
}

/// Restarts the machine at once: nothing is synced, and no other process is asked.
///
/// # Errors
///
/// Fails with `EPERM` without privilege. It does not return otherwise.
pub fn restart_machine() -> io::Result<()> {
    Ok(reboot(RebootCommand::Restart)?)
}

/// Turns the machine off at once; one that cannot do that halts.
///
/// # Errors
///
/// Fails with `EPERM` without privilege. It does not return otherwise.
pub fn turn_off() -> io::Result<()> {
    Ok(reboot(RebootCommand::PowerOff)?)
}

/// Jumps to the kernel that was loaded for that.
///
/// # Errors
///
/// Fails with `EINVAL` where none was loaded, and with `EPERM` without privilege. It does not return otherwise.
pub fn jump() -> io::Result<()> {
    Ok(reboot(RebootCommand::Kexec)?)
}

/// Loads the module in the file `path` with `parameters`. That it is loaded already is fine.
///
/// # Errors
///
/// Fails as `finit_module(2)` does, with `ENOEXEC` on the module of another kernel.
pub fn load_module(path: &Path, parameters: &str) -> io::Result<()> {
    let file = File::open(path)?;
    match finit_module(&file, &CString::new(parameters)?, 0) {
        Err(rustix::io::Errno::EXIST) | Ok(()) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Mounts the file system `kind` on `device` at `target`, which is made where it is missing.
///
/// # Errors
///
/// Fails as `mount(2)` does.
pub fn mount_disk(kind: &str, device: &Path, target: &Path) -> io::Result<()> {
    std::fs::create_dir_all(target)?;
    Ok(mount(device, target, kind, MountFlags::empty(), None)?)
}

/// Writes everything to the disk that is mounted at `target`, after which nothing can be written to it.
///
/// # Errors
///
/// Fails with `EBUSY` while a file is open for writing.
pub fn close_disk(target: &Path) -> io::Result<()> {
    rustix::fs::sync();
    Ok(mount_remount(target, MountFlags::RDONLY, "")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_serial_line_is_refused() {
        let err = SerialLine::open(Path::new("/dev/null")).unwrap_err();
        assert_eq!(err.raw_os_error(), Some(libc::ENOTTY));
        let err = SerialLine::open(Path::new("/no/such/line")).unwrap_err();
        assert_eq!(err.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_file_system_that_the_kernel_lacks_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let err = mount_virtual("no-such-fs", dir.path()).unwrap_err();
        // Without privilege the kernel does not even look.
        assert!([Some(libc::ENODEV), Some(libc::EPERM)].contains(&err.raw_os_error()));
    }
}
