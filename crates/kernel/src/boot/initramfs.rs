// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The initial RAM file system of a guest: a program that is its `/init`, and what it reads.

use std::io::{self, Write as _};
use std::path::Path;

use flate2::write::GzEncoder;

use super::archive::{Archive, Node};
use super::image::kind;
use super::program::Program;
use crate::file::read_head;
use crate::tool::ToolError;
use crate::unpack::{Packed, UnpackError};

/// The console: major and minor number of its device (Documentation/admin-guide/devices.txt).
const CONSOLE: Node<'static> = Node::CharacterDevice(5, 1);

/// How an initial RAM file system is packed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Compression {
    /// Not at all: the guest has nothing to unpack.
    None,
    /// As gzip does, which every kernel with an initial RAM file system can read.
    Gzip,
}

/// An initial RAM file system in the making.
#[derive(Clone, Debug)]
pub struct Initramfs {
    archive: Archive,
}

impl Initramfs {
    /// Begins with `program` as `/init`, and with the mount points that it needs.
    #[must_use]
    pub fn with_init(program: &Program) -> Self {
        let mut archive = Archive::default();
        for directory in ["dev", "proc", "sys", "run", "tmp"] {
            archive.directory(directory);
        }
        archive.add("dev/console", CONSOLE);
        Self { archive }.program("init", program)
    }

    /// Begins without anything, for what comes behind another one.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            archive: Archive::default(),
        }
    }

    /// Adds a file that only root may read.
    #[must_use]
    pub fn file(mut self, path: &str, content: &[u8]) -> Self {
        self.archive.add(path, Node::File(0o600, content));
        self
    }

    /// Adds a file that root may execute, too.
    #[must_use]
    pub fn executable(mut self, path: &str, content: &[u8]) -> Self {
        self.archive.add(path, Node::File(0o700, content));
        self
    }

    /// Returns why no file can be added at `path`, if so.
    pub fn refuses(&self, path: &str) -> Option<&'static str> {
        self.archive.refuses(path)
    }

    /// Adds a program at `path`, and its libraries.
    #[must_use]
    pub fn program(mut self, path: &str, program: &Program) -> Self {
        self.archive.add(path, Node::File(0o755, &program.content));
        for library in &program.libraries {
            self.archive
                .add(&library.path, Node::File(0o755, &library.content));
        }
        self
    }

    /// Returns the bytes that a kernel takes. The same content gives the same bytes.
    ///
    /// # Errors
    ///
    /// Fails as the compression does, for no reason that is known.
    pub fn pack(self, compression: Compression) -> io::Result<Vec<u8>> {
        let bytes = self.archive.finish();
        match compression {
            Compression::None => Ok(bytes),
            Compression::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::best());
                encoder.write_all(&bytes)?;
                encoder.finish()
            }
        }
    }

    /// Appends this one, not compressed, to one that is packed: the kernel unpacks them one after the other
    /// (Documentation/driver-api/early-userspace/buffer-format.rst). So what all guests share is packed once.
    #[must_use]
    pub fn behind(self, packed: &[u8]) -> Vec<u8> {
        let mut bytes = packed.to_vec();
        // Where an archive may begin.
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend(self.archive.finish());
        bytes
    }
}

/// How an archive of cpio begins that a kernel takes (Documentation/driver-api/early-userspace/buffer-format.rst).
const ARCHIVES: [&[u8]; 2] = [b"070701", b"070702"];
/// How a packed one begins of which a kernel unpacks more than programs do here: lz4, LZO, LZMA (lib/decompress.c).
const PACKED: [&[u8]; 3] = [
    &[0x02, 0x21, 0x4c, 0x18],
    &[0x89, b'L', b'Z', b'O'],
    &[0x5d, 0, 0],
];

/// Requires that a kernel would take the file at `path` for an initial RAM file system, as far as its beginning says.
///
/// # Errors
///
/// Fails as `open(2)` and `read(2)` do, and where it is something else: it says what.
pub fn check_initramfs(path: &Path) -> io::Result<()> {
    let head = read_head(path, 4 << 10)?;
    let mut known = ARCHIVES.iter().chain(&PACKED);
    if known.any(|begin| head.starts_with(begin)) {
        return Ok(());
    }
    let other = |what: String| {
        io::Error::other(format!(
            "it is {what}, not an initial RAM file system (a cpio archive, packed or not)"
        ))
    };
    let mut inner = vec![0; 1 << 12];
    let unpacked = Packed::open(path, &|| false).and_then(|mut packed| packed.read(&mut inner));
    match unpacked {
        Ok(_) if ARCHIVES.iter().any(|begin| inner.starts_with(begin)) => Ok(()),
        // What is in it is not known without the program.
        Err(UnpackError::Tool(ToolError::Missing { .. })) => Ok(()),
        Ok(_) => Err(other(kind(&head))),
        Err(err) => Err(io::Error::other(err)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::Library;
    use std::io::Read as _;

    #[test]
    fn a_path_that_is_taken_or_leads_elsewhere_is_refused() {
        let program = Program {
            content: Vec::new(),
            libraries: Vec::new(),
        };
        let image = Initramfs::with_init(&program).executable("/usr/bin/x", b"#!/bin/sh");
        for path in [
            "init",
            "/init",
            "init/x",
            "dev",
            "dev/console",
            "usr/bin",
            "usr/bin/x",
            "",
            "/",
            "a/../b",
            "../a",
            "./a",
            "a//b",
            "a/",
        ] {
            assert!(image.refuses(path).is_some(), "{path:?}");
        }
        for path in ["usr/bin/y", "/dev/null", "a..b", "initrd"] {
            assert_eq!(image.refuses(path), None, "{path:?}");
        }
        let bytes = image.pack(Compression::None).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let name = text.find("usr/bin/x\0").unwrap();
        // The mode is the second number of the entry's head.
        assert_eq!(&text[name - 110 + 14..name - 110 + 22], "000081c0");
    }

    #[test]
    fn a_file_that_no_kernel_unpacks_is_no_initial_ram_file_system() {
        let dir = tempfile::tempdir().unwrap();
        let check = |bytes: &[u8]| {
            let path = dir.path().join("initrd");
            std::fs::write(&path, bytes).unwrap();
            check_initramfs(&path).map_err(|err| err.to_string())
        };
        for compression in [Compression::None, Compression::Gzip] {
            check(&Initramfs::empty().file("x", b"").pack(compression).unwrap()).unwrap();
        }
        check(&[0x02, 0x21, 0x4c, 0x18, 1, 2, 3]).unwrap();
        let mut text = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        text.write_all(b"CONFIG_X=y\n").unwrap();
        for (bytes, what) in [
            (&b"vm\n"[..], "it is a text file,"),
            (b"", "it is empty,"),
            (&text.finish().unwrap(), "it is compressed with gzip,"),
            (b"!<arch>\ndebian-binary", "it is a Debian package,"),
        ] {
            let said = check(bytes).unwrap_err();
            let starts = format!("{what} not an initial RAM file system");
            assert!(said.starts_with(&starts), "{said}");
        }
        check(&[0x1f, 0x8b, 0, 0]).unwrap_err();
        check_initramfs(dir.path()).unwrap_err();
    }

    #[test]
    fn compression_keeps_the_archive_and_is_the_same_each_time() {
        let program = Program {
            content: b"program".repeat(100),
            libraries: vec![Library {
                path: "/lib64/ld.so".to_owned(),
                content: b"loader".to_vec(),
            }],
        };
        let image = Initramfs::with_init(&program).file("/punctual/job.json", b"{}");
        let plain = image.clone().pack(Compression::None).unwrap();
        let packed = image.clone().pack(Compression::Gzip).unwrap();
        assert_eq!(packed, image.pack(Compression::Gzip).unwrap());
        assert!(packed.len() < plain.len());
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(packed.as_slice())
            .read_to_end(&mut unpacked)
            .unwrap();
        assert_eq!(unpacked, plain);
        let text = String::from_utf8_lossy(&plain);
        for name in ["init\0", "lib64\0", "lib64/ld.so\0", "punctual/job.json\0"] {
            assert!(text.contains(name), "{name:?}");
        }
        let job = Initramfs::empty().file("/job", b"{}");
        let behind = job.clone().behind(&packed);
        let at = packed.len().next_multiple_of(4);
        assert!(behind.starts_with(&packed) && behind[packed.len()..at].iter().all(|b| *b == 0));
        assert_eq!(behind[at..], job.pack(Compression::None).unwrap());
    }
}
