// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! POSIX message queues, `mq_overview(7)`.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Errno, Path};
use crate::errno::last;

/// A queue of one message of one byte. Its name is gone as soon as it is open, so that it goes with
/// the process.
#[derive(Debug)]
pub struct Queue {
    fd: OwnedFd,
}

/// Makes the names differ within the process.
static NEXT: AtomicU32 = AtomicU32::new(0);

impl Path for Queue {
    fn new() -> io::Result<Self> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = CString::new(format!("/punctual-{}-{number}", std::process::id()))?;
        // SAFETY: plain integers, for which all-zero is valid.
        let mut attributes: libc::mq_attr = unsafe { std::mem::zeroed() };
        attributes.mq_maxmsg = 1;
        attributes.mq_msgsize = 1;
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
        let mode: libc::mode_t = 0o600;
        // SAFETY: the name ends in a zero, mode and attributes are there as O_CREAT requires.
        let queue = unsafe { libc::mq_open(name.as_ptr(), flags, mode, &raw mut attributes) };
        if queue < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the name ends in a zero.
        unsafe { libc::mq_unlink(name.as_ptr()) };
        // SAFETY: on Linux a queue is a descriptor; nobody else has this one.
        let fd = unsafe { OwnedFd::from_raw_fd(queue) };
        Ok(Self { fd })
    }

    #[inline]
    fn wake(&self) -> Result<(), Errno> {
        let message: libc::c_char = 1;
        // SAFETY: the descriptor is open, the message one byte long.
        let rc = unsafe { libc::mq_send(self.fd.as_raw_fd(), &raw const message, 1, 0) };
        if rc == 0 { Ok(()) } else { Err(last()) }
    }

    #[inline]
    fn wait(&self) -> Result<(), Errno> {
        let mut message: libc::c_char = 0;
        // SAFETY: the descriptor is open, the buffer as long as a message; a null priority is
        // allowed.
        let rc = unsafe {
            libc::mq_receive(
                self.fd.as_raw_fd(),
                &raw mut message,
                1,
                std::ptr::null_mut(),
            )
        };
        if rc < 0 { Err(last()) } else { Ok(()) }
    }
}
