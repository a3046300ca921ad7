// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A kernel in memory that the running one can jump to.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

use crate::errno::done;

/// linux/kexec.h.
const UNLOAD: libc::c_ulong = 1;
const NO_INITRAMFS: libc::c_ulong = 4;

/// Loads a kernel, which `reboot(RB_KEXEC)` starts. One that was loaded before is replaced.
///
/// # Errors
///
/// Fails with `ENOSYS` where the kernel lacks it, with `EPERM` without privilege or in lockdown, with `ENOEXEC` on what
/// is not a kernel, and with `EINVAL` on a command line that holds a zero byte or is too long.
pub fn load(image: &File, initrd: Option<&File>, command_line: &str) -> io::Result<()> {
    let line = CString::new(command_line)?;
    let length = line.as_bytes_with_nul().len();
    let (initrd, flags) = match initrd {
        Some(file) => (file.as_raw_fd(), 0),
        None => (-1, NO_INITRAMFS),
    };
    // SAFETY: both descriptors are open for the whole call, or -1 beside the flag that says that there is none; `line` is
    // alive for it and has `length` bytes with its final zero.
    let rc = unsafe {
        libc::syscall(
            libc::SYS_kexec_file_load,
            image.as_raw_fd(),
            initrd,
            length,
            line.as_ptr(),
            flags,
        )
    };
    done(rc)
}

/// Takes the loaded kernel out of memory again.
///
/// # Errors
///
/// Fails with `ENOSYS` where the kernel lacks it, and with `EPERM` without privilege or in lockdown.
pub fn unload() -> io::Result<()> {
    // SAFETY: with this flag the kernel looks at no other argument.
    let rc = unsafe {
        libc::syscall(
            libc::SYS_kexec_file_load,
            -1,
            -1,
            0,
            std::ptr::null::<libc::c_char>(),
            UNLOAD,
        )
    };
    done(rc)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_kernel_is_refused() {
        let file = tempfile::tempfile().unwrap();
        let err = load(&file, None, "quiet").unwrap_err();
        let known = [
            libc::ENOSYS,
            libc::EPERM,
            libc::ENOEXEC,
            libc::EINVAL,
            libc::EFBIG,
        ];
        assert!(known.contains(&err.raw_os_error().unwrap()), "{err}");
        load(&file, None, "a\0b").unwrap_err();
    }
}
