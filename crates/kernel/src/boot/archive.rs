// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A cpio archive in the format `newc`, as the kernel unpacks it.
//!
//! An entry is a header of 110 characters (`070701`, then 13 numbers of 8 hexadecimal digits), the
//! name with its zero byte, and the content, both padded to 4 bytes. The entry `TRAILER!!!` ends it
//! (Documentation/driver-api/early-userspace/buffer-format.rst).

use std::collections::BTreeSet;

const MAGIC: &str = "070701";
const TRAILER: &str = "TRAILER!!!";

const DIRECTORY: u32 = 0o040_755;
const REGULAR: u32 = 0o100_000;
const CHARACTER_DEVICE: u32 = 0o020_600;

/// What an entry is, apart from its name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Node<'a> {
    /// A file with these permissions and this content.
    File(u32, &'a [u8]),
    /// A character device with this major and minor number.
    CharacterDevice(u32, u32),
}

/// An archive that grows. The same entries give the same bytes: every time stamp is zero.
#[derive(Clone, Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    directories: BTreeSet<String>,
    /// Everything else.
    files: BTreeSet<String>,
    entries: u32,
}

impl Archive {
    /// Adds `node` under `path`, and the directories above it that are not there yet.
    ///
    /// The file of an entry has at most 4 GiB, the most that the format can say; a longer one is cut.
    pub fn add(&mut self, path: &str, node: Node<'_>) {
        let path = path.trim_start_matches('/');
        for (end, _) in path.match_indices('/') {
            self.directory(&path[..end]);
        }
        self.files.insert(path.to_owned());
        match node {
            Node::File(permissions, content) => {
                self.entry(path, REGULAR | (permissions & 0o7777), (0, 0), content);
            }
            Node::CharacterDevice(major, minor) => {
                self.entry(path, CHARACTER_DEVICE, (major, minor), &[]);
            }
        }
    }

    /// Returns why nothing can be added under `path`, if so.
    pub fn refuses(&self, path: &str) -> Option<&'static str> {
        let path = path.trim_start_matches('/');
        if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Some("its path must consist of names");
        }
        if self.files.contains(path) || self.directories.contains(path) {
            return Some("it already exists");
        }
        let mut above = path.match_indices('/').map(|(end, _)| &path[..end]);
        above
            .any(|above| self.files.contains(above))
            .then_some("what it would be in is a file")
    }

    /// Adds the directory `path`, and those above it.
    pub fn directory(&mut self, path: &str) {
        let path = path.trim_matches('/');
        if path.is_empty() || self.directories.contains(path) {
            return;
        }
        if let Some((above, _)) = path.rsplit_once('/') {
            self.directory(above);
        }
        self.directories.insert(path.to_owned());
        self.entry(path, DIRECTORY, (0, 0), &[]);
    }

    /// Ends the archive.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.entry(TRAILER, 0, (0, 0), &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, (major, minor): (u32, u32), content: &[u8]) {
        let size = u32::try_from(content.len()).unwrap_or(u32::MAX);
        let content = content.get(..size as usize).unwrap_or(content);
        self.entries += 1;
        let links = if mode == DIRECTORY { 2 } else { 1 };
        let name_size = u32::try_from(name.len() + 1).unwrap_or(u32::MAX);
        // ino, mode, uid, gid, nlink, mtime, filesize, the device of the file system, that of the
        // node, namesize, check.
        let numbers = [
            self.entries,
            mode,
            0,
            0,
            links,
            0,
            size,
            0,
            0,
            major,
            minor,
            name_size,
            0,
        ];
        self.bytes.extend_from_slice(MAGIC.as_bytes());
        for number in numbers {
            self.bytes
                .extend_from_slice(format!("{number:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        let padded = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(padded, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    #[test]
    fn directories_come_before_what_is_in_them_and_once() {
        let mut archive = Archive::default();
        archive.add("/a/b/one", Node::File(0o644, b"1"));
        archive.add("a/b/two", Node::File(0o644, b"2"));
        let bytes = archive.finish();
        let text = String::from_utf8_lossy(&bytes);
        let place = |name: &str| text.find(&format!("{name}\0")).unwrap();
        assert!(place("a") < place("a/b"));
        assert!(place("a/b") < place("a/b/one"));
        assert_eq!(text.matches("a/b\0").count(), 1);
        assert_eq!(bytes.len() % 4, 0);
        assert!(text.contains(TRAILER));
    }

    #[test]
    fn cpio_reads_what_was_written() {
        let mut archive = Archive::default();
        archive.add("init", Node::File(0o755, b"odd"));
        archive.add("dev/console", Node::CharacterDevice(5, 1));
        let bytes = archive.finish();
        // Wherever the tool is: it is not needed for anything else.
        let Ok(mut cpio) = Command::new("cpio")
            .args(["-t", "-v", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
        else {
            eprintln!("skipped: no cpio");
            return;
        };
        cpio.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = cpio.wait_with_output().unwrap();
        let listed = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{listed}");
        let line = |end: &str| listed.lines().find(|line| line.ends_with(end)).unwrap();
        assert!(line(" init").starts_with("-rwxr-xr-x"), "{listed}");
        assert!(line(" init").contains(" 3 "), "{listed}");
        assert!(line("dev/console").starts_with("crw-------"), "{listed}");
        assert!(line("dev/console").contains("5,   1"), "{listed}");
    }
}
