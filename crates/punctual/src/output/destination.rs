// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Files that are there whole or not at all; devices and pipes are written to as they are.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::CliError;

/// Where what was made goes: standard output, or a file that is there whole or not at all.
pub(crate) struct Destination {
    pub(crate) out: Box<dyn Write + Send>,
    path: PathBuf,
    /// What is written first, and gets the name of the file when it is whole.
    part: Option<PathBuf>,
    is_standard: bool,
}

impl Destination {
    /// Makes ready to write; a file that exists only with `force`.
    pub(crate) fn open(output: &Path, force: bool) -> Result<Self, CliError> {
        if output == Path::new("-") {
            return Ok(Self {
                out: Box::new(io::BufWriter::new(io::stdout())),
                path: output.to_owned(),
                part: None,
                is_standard: true,
            });
        }
        let failed = |err: io::Error| {
            CliError::failed_to(format!("write {}", output.display())).because(err)
        };
        if output.exists() && !force {
            return Err(failed(exists()).hint("name another file, or overwrite it with --force"));
        }
        if output.is_dir() {
            return Err(failed(io::ErrorKind::IsADirectory.into()));
        }
        if is_stream(output) {
            let stream = OpenOptions::new().append(true).open(output);
            return Ok(Self {
                out: Box::new(io::BufWriter::new(stream.map_err(failed)?)),
                path: output.to_owned(),
                part: None,
                is_standard: false,
            });
        }
        let Some(file_name) = output.file_name() else {
            return Err(failed(io::ErrorKind::IsADirectory.into()));
        };
        let mut part = file_name.to_owned();
        part.push(format!(".part-{}", std::process::id()));
        let part = output.with_file_name(part);
        let file: File = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&part)
            .map_err(failed)?;
        Ok(Self {
            out: Box::new(io::BufWriter::new(file)),
            path: output.to_owned(),
            part: Some(part),
            is_standard: false,
        })
    }

    /// The same, where one is named.
    pub(crate) fn open_if(output: Option<&PathBuf>, force: bool) -> Result<Option<Self>, CliError> {
        output.map(|path| Self::open(path, force)).transpose()
    }

    /// Returns what it was opened by.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it goes to standard output.
    pub(crate) fn is_standard_output(&self) -> bool {
        self.is_standard
    }

    /// Writes all, and puts it in its place. A reader that closes its end early is not a failure.
    pub(crate) fn put(mut self, bytes: &[u8]) -> Result<(), CliError> {
        match self.out.write_all(bytes).and_then(|()| self.out.flush()) {
            Err(err) if self.is_standard_output() && err.kind() == io::ErrorKind::BrokenPipe => {
                Ok(())
            }
            Err(err) => Err(self.failed(err)),
            Ok(()) => self.finish(),
        }
    }

    /// Puts a file that was written whole in its place.
    pub(crate) fn finish(mut self) -> Result<(), CliError> {
        let Some(part) = self.part.take() else {
            return Ok(());
        };
        fs::rename(&part, &self.path).map_err(|err| {
            // Already failing: a left part file is said by the error's path.
            drop(fs::remove_file(&part));
            self.failed(err)
        })
    }

    /// Makes an error of why it cannot be written.
    pub(crate) fn failed(&self, err: io::Error) -> CliError {
        CliError::failed_to(format!("write {}", self.path.display())).because(err)
    }
}

/// Whether a name stands for something to write to, in whose place no file may be put: a device, a pipe, or a descriptor such
/// as `/dev/stdout`.
fn is_stream(output: &Path) -> bool {
    let leads = fs::read_link(output).unwrap_or_default();
    let is_descriptor = |path: &Path| path.starts_with("/proc") || path.starts_with("/dev/fd");
    let is_other = |meta: fs::Metadata| !meta.is_file() && !meta.is_dir();
    is_descriptor(output) || is_descriptor(&leads) || fs::metadata(output).is_ok_and(is_other)
}

/// What is wrong with a file that is there: the kernel's words for it are "File exists", the library's "entity
/// already exists".
pub(crate) fn exists() -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, "the file already exists")
}

impl Drop for Destination {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            // Half a file is none; if it cannot be removed, its name says what it is.
            drop(fs::remove_file(part));
        }
    }
}
