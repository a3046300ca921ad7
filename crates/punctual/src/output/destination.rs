// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Files that are there whole or not at all; devices and pipes are written to as they are.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use punctual_sys::scratch::Nameless;

use crate::error::CliError;

/// Where what was made goes: standard output, or a file that is there whole or not at all.
pub(crate) struct Destination {
    pub(crate) out: Box<dyn Write + Send>,
    path: PathBuf,
    /// What is written first, and gets the name of the file when it is whole.
    part: Option<Part>,
    is_standard: bool,
}

/// A file that is not whole yet.
enum Part {
    /// It has no name, so nothing is left of it when the program ends before, by whatever.
    Nameless(Nameless, PathBuf),
    /// It has one of its own, where the file system cannot do otherwise.
    Named(PathBuf),
}

impl Part {
    /// Makes one next to `path`, and a writer to it.
    fn beside(path: &Path, name: &OsStr) -> io::Result<(Self, File)> {
        let mut own = name.to_owned();
        own.push(format!(".part-{}", std::process::id()));
        let own = path.with_file_name(own);
        let directory = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        if let Some(nameless) = Nameless::create(directory.unwrap_or_else(|| Path::new(".")))? {
            let file = nameless.writer()?;
            return Ok((Self::Nameless(nameless, own), file));
        }
        let file = OpenOptions::new().write(true).create_new(true).open(&own)?;
        Ok((Self::Named(own), file))
    }

    /// Gives it the name `path`, in place of what has it.
    fn become_whole(&self, path: &Path) -> io::Result<()> {
        match self {
            Self::Named(own) => fs::rename(own, path),
            Self::Nameless(file, own) => match file.name(path) {
                Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {
                    // Only a name can take the place of a name.
                    file.name(own)?;
                    fs::rename(own, path).inspect_err(|_| drop(fs::remove_file(own)))
                }
                named => named,
            },
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if let Self::Named(own) = self {
            // Half a file is none; if it cannot be removed, its name says what it is. Nothing has the name of a whole one.
            drop(fs::remove_file(own));
        }
    }
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
        let (part, file) = Part::beside(output, file_name).map_err(failed)?;
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
        match self.part.take() {
            Some(part) => part
                .become_whole(&self.path)
                .map_err(|err| self.failed(err)),
            None => Ok(()),
        }
    }

    /// Makes an error of why it cannot be written.
    pub(crate) fn failed(&self, err: io::Error) -> CliError {
        let what = match self.is_standard {
            true => "write to standard output".to_owned(),
            false => format!("write {}", self.path.display()),
        };
        CliError::failed_to(what).because(err)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let all = fs::read_dir(dir).unwrap();
        all.map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn half_a_file_has_no_name_that_a_killed_program_could_leave() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("page");
        if Nameless::create(dir.path()).unwrap().is_none() {
            return;
        }
        let mut target = Destination::open(&path, false).unwrap();
        target.out.write_all(b"half").unwrap();
        target.out.flush().unwrap();
        assert!(names(dir.path()).is_empty());
        target.put(b" and whole").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"half and whole");
        Destination::open(&path, true).unwrap().put(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(dir.path()), ["page"]);
    }

    #[test]
    fn where_it_must_have_a_name_it_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let (own, path) = (dir.path().join("own"), dir.path().join("page"));
        fs::write(&own, "half").unwrap();
        drop(Part::Named(own.clone()));
        assert!(names(dir.path()).is_empty());
        fs::write(&own, "whole").unwrap();
        let part = Part::Named(own);
        part.become_whole(&path).unwrap();
        drop(part);
        assert_eq!(names(dir.path()), ["page"]);
    }
}
