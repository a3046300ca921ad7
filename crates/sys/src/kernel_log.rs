// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The kernel's log, `/dev/kmsg`: writing a line, and finding it there again.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

use crate::{At as _, PathError, SysRoot};

const PATH: &str = "/dev/kmsg";

/// The longest record (linux/printk.h, `PRINTK_MESSAGE_MAX`); a shorter buffer is refused.
const RECORD: usize = 2_048;

/// Writes `line` to the log with severity `level`, from 0 (emergency) to 7 (debugging).
///
/// The file is opened for each line, as a shell does: the kernel's rate limit is one a descriptor.
///
/// # Errors
///
/// Fails as `open(2)` and `write(2)` do; with `EPERM` where `kernel.printk_devkmsg` is `off`.
pub fn write_line(sys: &SysRoot, level: u8, line: &str) -> Result<(), PathError> {
    let full = sys.full(PATH);
    OpenOptions::new()
        .write(true)
        .open(&full)
        .and_then(|mut file| file.write_all(format!("<{level}>{line}\n").as_bytes()))
        .at("write", &full)
}

/// Returns the first record of the log, as far as the log still has it, that contains `mark`; `None`
/// also where the log may not be read.
pub fn find(sys: &SysRoot, mark: &str) -> Option<String> {
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(sys.full(PATH))
        .ok()?;
    let mut record = [0; RECORD];
    loop {
        match file.read(&mut record) {
            Ok(0) => return None,
            Ok(length) => {
                let text = String::from_utf8_lossy(record.get(..length)?);
                if text.contains(mark) {
                    return Some(text.into_owned());
                }
            }
            // The oldest records are gone; the next read goes on behind the gap.
            Err(err) if err.kind() == io::ErrorKind::BrokenPipe => {}
            Err(_) => return None,
        }
    }
}

/// Reads what is added to the log.
#[derive(Debug)]
pub struct KernelLog(File);

impl KernelLog {
    /// Begins behind the last line that is there.
    ///
    /// # Errors
    ///
    /// Fails as `open(2)` does; with `EPERM` under `kernel.dmesg_restrict` without `CAP_SYSLOG`.
    pub fn follow(sys: &SysRoot) -> Result<Self, PathError> {
        let full = sys.full(PATH);
        let open = || {
            let mut file = OpenOptions::new()
                .read(true)
                .custom_flags(libc::O_NONBLOCK)
                .open(&full)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        open().map(Self).map_err(PathError::at("open", &full))
    }

    /// Counts the new lines that contain `mark`.
    ///
    /// # Errors
    ///
    /// Fails as `read(2)` does. What was overwritten before it could be read is not counted.
    pub fn count_new(&mut self, mark: &str) -> io::Result<u64> {
        let mut count = 0;
        let mut record = [0; RECORD];
        loop {
            match self.0.read(&mut record) {
                Ok(0) => return Ok(count),
                Ok(length) => {
                    let text = String::from_utf8_lossy(record.get(..length).unwrap_or_default());
                    count += u64::from(text.contains(mark));
                }
                Err(err) if err.kind() == io::ErrorKind::WouldBlock => return Ok(count),
                // EPIPE: the oldest records are gone; the next read goes on behind the gap.
                Err(err) if err.kind() == io::ErrorKind::BrokenPipe => {}
                Err(err) => return Err(err),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_log_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let sys = SysRoot::at(dir.path());
        assert!(write_line(&sys, 7, "").unwrap_err().is_missing());
        let err = KernelLog::follow(&sys).unwrap_err();
        assert!(err.to_string().ends_with("/dev/kmsg"), "{err}");
    }

    #[test]
    fn a_line_is_found_wherever_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let sys = SysRoot::at(dir.path());
        assert_eq!(find(&sys, "two"), None);
        std::fs::create_dir(dir.path().join("dev")).unwrap();
        std::fs::write(dir.path().join("dev/kmsg"), "6,1,5,-;one two\n").unwrap();
        assert_eq!(find(&sys, "two").unwrap(), "6,1,5,-;one two\n");
        assert_eq!(find(&sys, "three"), None);
    }

    #[test]
    fn lines_with_the_mark_are_counted_from_where_we_began() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("dev");
        std::fs::create_dir(&path).unwrap();
        let kmsg = path.join("kmsg");
        std::fs::write(&kmsg, "6,1,5,-;mark 0\n").unwrap();
        let sys = SysRoot::at(dir.path());
        let mut log = KernelLog::follow(&sys).unwrap();
        assert_eq!(log.count_new("mark").unwrap(), 0);
        let add = |line: &str| {
            let mut file = OpenOptions::new().append(true).open(&kmsg).unwrap();
            file.write_all(line.as_bytes()).unwrap();
        };
        add("3,2,6,-;mark 1\n");
        assert_eq!(log.count_new("mark").unwrap(), 1);
        add("3,3,7,-;other\n");
        assert_eq!(log.count_new("mark").unwrap(), 0);
    }
}
