// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A process that removes instances when this program is gone, by whatever.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::path::PathBuf;

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::time::Timespec;

/// How often, and how long apart, an instance is tried to be removed: the kernel keeps it while files of a program that is
/// going are still open.
const TRIES: u32 = 300;
const PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 10_000_000,
};

/// A process that waits for the end of this one, and then removes directories of tracefs.
///
/// Dropped, it is done with its work before this returns.
#[derive(Debug)]
pub struct Guard {
    process: libc::pid_t,
    /// The kernel closes it when this program ends; that is what the other end waits for.
    alive: Option<OwnedFd>,
}

impl Guard {
    /// Starts it over `paths`, and over an event that goes when a text is written to a file. `detached` holds the file
    /// system where it is mounted nowhere.
    pub(super) fn over(
        paths: &[PathBuf],
        event: Option<(PathBuf, String)>,
        detached: Option<RawFd>,
    ) -> io::Result<Self> {
        let named = |path: &PathBuf| CString::new(path.as_os_str().as_encoded_bytes());
        let paths: Vec<CString> = paths.iter().map(named).collect::<Result<_, _>>()?;
        let event = match event {
            Some((path, text)) => Some((named(&path)?, text)),
            None => None,
        };
        let (ended, alive) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        // SAFETY: the child has one thread, calls nothing but the kernel, and ends without running any of our code.
        let process = unsafe { libc::fork() };
        match process {
            -1 => Err(io::Error::last_os_error()),
            0 => watch_over(&paths, event.as_ref(), &ended, detached),
            _ => Ok(Self {
                process,
                alive: Some(alive),
            }),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.alive.take());
        // SAFETY: our own child, whose number is nobody else's before it was waited for.
        while unsafe { libc::waitpid(self.process, std::ptr::null_mut(), 0) } == -1
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
    }
}

/// What the child does. It allocates nothing: another thread may have held the heap's lock when it was made.
fn watch_over(
    paths: &[CString],
    event: Option<&(CString, String)>,
    ended: &OwnedFd,
    detached: Option<RawFd>,
) -> ! {
    // Neither a terminal's Ctrl-C nor the end of its session is for it.
    let _ = rustix::process::setsid();
    // Files of the instances, the other end of the pipe: as long as any of them is open here too, nothing ends.
    let kept = ended.as_raw_fd();
    let (low, high) = match detached {
        Some(fd) => (kept.min(fd), kept.max(fd)),
        None => (kept, kept),
    };
    close(3, low - 1);
    close(low + 1, high - 1);
    close(high + 1, RawFd::MAX);
    while rustix::io::read(ended, &mut [0_u8; 1]) == Err(rustix::io::Errno::INTR) {}
    for path in paths {
        for _ in 0..TRIES {
            let removed = rustix::fs::unlinkat(CWD, path.as_c_str(), AtFlags::REMOVEDIR);
            if removed != Err(rustix::io::Errno::BUSY) {
                break;
            }
            let _ = rustix::thread::nanosleep(&PAUSE);
        }
    }
    if let Some((path, text)) = event {
        // The last: as long as an instance records it, it is in use.
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC;
        if let Ok(file) = rustix::fs::openat(CWD, path.as_c_str(), flags, Mode::empty()) {
            let _ = rustix::io::write(&file, text.as_bytes());
        }
    }
    // SAFETY: ends the process, and runs nothing of what this program has to be run at its end.
    unsafe { libc::_exit(0) }
}

/// Closes the descriptors from `first` to `last`.
fn close(first: RawFd, last: RawFd) {
    if let (Ok(first), Ok(last)) = (u32::try_from(first), u32::try_from(last))
        && first <= last
    {
        // SAFETY: plain numbers; nothing in this process uses these descriptors any more.
        unsafe { libc::close_range(first, last, 0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_guards_is_gone_after_it_and_not_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("instance");
        std::fs::create_dir(&path).unwrap();
        let guard = Guard::over(std::slice::from_ref(&path), None, None).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert!(path.exists());
        drop(guard);
        assert!(!path.exists());
        // Nothing is left to wait for.
        let file = dir.path().join("events");
        std::fs::write(&file, "p:x\n").unwrap();
        drop(Guard::over(&[path], Some((file.clone(), "-:x".to_owned())), None).unwrap());
        assert_eq!(std::fs::read(file).unwrap(), b"p:x\n-:x");
    }
}
