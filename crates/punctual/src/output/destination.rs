// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Files that are there whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::CliError;

/// Where what was made goes: standard output, or a file that is there whole or not at all.
pub(crate) struct Destination {
    pub(crate) out: Box<dyn Write + Send>,
    part: Option<(PathBuf, PathBuf)>,
}

impl Destination {
    /// Makes ready to write; a file that exists only with `force`.
    pub(crate) fn open(output: &Path, force: bool) -> Result<Self, CliError> {
        if output == Path::new("-") {
            return Ok(Self {
                out: Box::new(io::BufWriter::new(io::stdout())),
                part: None,
            });
        }
        let failed = |err: io::Error| {
            CliError::failed_to(format!("write {}", output.display())).because(err)
        };
        if output.exists() && !force {
            return Err(failed(exists()).hint("name another file, or overwrite it with --force"));
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
            part: Some((part, output.to_owned())),
        })
    }

    /// Whether nothing is a file here.
    pub(crate) fn is_standard_output(&self) -> bool {
        self.part.is_none()
    }

    /// Writes all of what goes to `path`, and puts it in its place. A reader that closes its end early is not a failure.
    pub(crate) fn put(mut self, path: &Path, bytes: &[u8]) -> Result<(), CliError> {
        match self.out.write_all(bytes).and_then(|()| self.out.flush()) {
            Err(err) if self.is_standard_output() && err.kind() == io::ErrorKind::BrokenPipe => {
                Ok(())
            }
            Err(err) => Err(CliError::failed_to(format!("write {}", path.display())).because(err)),
            Ok(()) => self.finish(),
        }
    }

    /// Puts a file that was written whole in its place.
    pub(crate) fn finish(mut self) -> Result<(), CliError> {
        let Some((part, output)) = self.part.take() else {
            return Ok(());
        };
        fs::rename(&part, &output).map_err(|err| {
            // Already failing: a left part file is said by the error's path.
            drop(fs::remove_file(&part));
            CliError::failed_to(format!("write {}", output.display())).because(err)
        })
    }
}

/// What is wrong with a file that is there: the kernel's words for it are "File exists", the library's "entity
/// already exists".
pub(crate) fn exists() -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, "the file already exists")
}

impl Drop for Destination {
    fn drop(&mut self) {
        if let Some((part, _)) = &self.part {
            // Half a file is none; if it cannot be removed, its name says what it is.
            drop(fs::remove_file(part));
        }
    }
}
