// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A stream of what a packed file holds, by the program for it, and no more than is allowed.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;
use std::process::{Command, Stdio};

use punctual_sys::PathError;
use punctual_sys::child::{Bounds, TiedChild};

use super::{UnpackError, allowance};
use crate::file::open_regular;
use crate::tool::{self, ToolError, command};

/// How files that are packed begin, and with what they are unpacked.
const PROGRAMS: &[(&[u8], &str, &[&str])] = &[
    // A dictionary may take 4 GB otherwise.
    (
        &[0xfd, b'7', b'z', b'X', b'Z', 0],
        "xz",
        &["-dc", "--memlimit-decompress=1GiB"],
    ),
    (&[0x1f, 0x8b], "gzip", &["-dc"]),
    (
        &[0x28, 0xb5, 0x2f, 0xfd],
        "zstd",
        &["-dcq", "--memory=256MB"],
    ),
    (b"BZh", "bzip2", &["-dc"]),
];

/// Others, that are named.
const OTHERS: &[(&[u8], &str)] = &[
    (b"LZIP", "lzip"),
    (&[0x1f, 0x9d], "compress"),
    (&[0x04, 0x22, 0x4d, 0x18], "lz4"),
    (b"PK\x03\x04", "zip"),
    (&[b'7', b'z', 0xbc, 0xaf], "7z"),
];

/// Bytes of what a program says that are looked at.
const SAID: u64 = 4096;

/// What a packed file holds, or one that is not packed.
pub(crate) struct Packed<'a> {
    source: Source,
    packed: u64,
    most: u64,
    read: u64,
    stop: &'a dyn Fn() -> bool,
}

#[derive(Debug)]
enum Source {
    Plain(File),
    Program {
        command: Box<Command>,
        child: TiedChild,
    },
}

impl<'a> Packed<'a> {
    /// Opens the file at `path`, packed or not.
    pub(crate) fn open(path: &Path, stop: &'a dyn Fn() -> bool) -> Result<Self, UnpackError> {
        let mut file = open_regular(path).map_err(PathError::at("read", path))?;
        let mut head = Vec::new();
        file.by_ref()
            .take(8)
            .read_to_end(&mut head)
            .and_then(|_| file.rewind())
            .map_err(PathError::at("read", path))?;
        let packed = file.metadata().map_err(PathError::at("read", path))?.len();
        if let Some((_, name)) = OTHERS.iter().find(|(magic, _)| head.starts_with(magic)) {
            return Err(UnpackError::Method(name));
        }
        let program = PROGRAMS.iter().find(|(magic, ..)| head.starts_with(magic));
        let Some((_, program, args)) = program else {
            return Ok(Self {
                source: Source::Plain(file),
                packed,
                most: allowance(packed),
                read: 0,
                stop,
            });
        };
        let mut unpack = command(program);
        unpack.args(*args).stdin(file);
        Self::of(unpack, packed, stop)
    }

    /// Takes what `command` writes, for something of `packed` bytes.
    pub(crate) fn of(
        mut command: Command,
        packed: u64,
        stop: &'a dyn Fn() -> bool,
    ) -> Result<Self, UnpackError> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = TiedChild::start(&mut command, &Bounds::default());
        let child = child.map_err(|source| tool::not_started(&command, source))?;
        // With our end of its input open it would never end.
        command.stdin(Stdio::null());
        Ok(Self {
            source: Source::Program {
                command: Box::new(command),
                child,
            },
            packed,
            most: allowance(packed),
            read: 0,
            stop,
        })
    }

    /// Allows less than usual.
    pub(crate) fn at_most(mut self, bytes: u64) -> Self {
        self.most = self.most.min(bytes);
        self
    }

    /// Reads some bytes; none at the end, where the program has said that all was well.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, UnpackError> {
        loop {
            if (self.stop)() {
                return Err(self.stopped());
            }
            let got = match &mut self.source {
                Source::Plain(file) => file.read(buffer),
                Source::Program { child, .. } => match &mut child.process().stdout {
                    Some(out) => out.read(buffer),
                    None => Ok(0),
                },
            };
            match got {
                Ok(0) => return self.end().map(|()| 0),
                Ok(count) => {
                    self.read += count as u64;
                    if self.read > self.most {
                        return Err(UnpackError::TooLarge {
                            most: self.most,
                            packed: self.packed,
                        });
                    }
                    return Ok(count);
                }
                Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(self.failed(source)),
            }
        }
    }

    /// Reads all that is left.
    pub(crate) fn read_to_end(mut self) -> Result<Vec<u8>, UnpackError> {
        let mut all = Vec::new();
        let mut buffer = vec![0; 1 << 16];
        loop {
            match self.read(&mut buffer)? {
                0 => return Ok(all),
                count => all.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            }
        }
    }

    fn end(&mut self) -> Result<(), UnpackError> {
        let Source::Program { command, child } = &mut self.source else {
            return Ok(());
        };
        let mut said = Vec::new();
        if let Some(errors) = child.process().stderr.take() {
            // What cannot be read is not said.
            drop(errors.take(SAID).read_to_end(&mut said));
        }
        let status = child.process().wait();
        let status = status.map_err(|source| tool::not_started(command, source))?;
        if status.success() {
            return Ok(());
        }
        Err(tool::failed(
            command,
            status,
            tool::last_words(&String::from_utf8_lossy(&said)),
        )
        .into())
    }

    fn stopped(&self) -> UnpackError {
        ToolError::Stopped {
            program: self.program(),
        }
        .into()
    }

    fn failed(&self, source: io::Error) -> UnpackError {
        ToolError::Run {
            program: self.program(),
            source,
        }
        .into()
    }

    fn program(&self) -> String {
        match &self.source {
            Source::Plain(_) => "unpacking".to_owned(),
            Source::Program { command, .. } => tool::name(command),
        }
    }
}
