// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A program of the user's that is to be watched in a guest: what of this machine goes there with it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use punctual_kernel::GuestTarget;
use punctual_kernel::boot::{Architecture, Initramfs, Program, ProgramError};
use punctual_model::Bytes;

use crate::error::CliError;

/// Where it lies in the guest: no file system is mounted over it there.
const PLACE: &str = "/watched";
/// Where its libraries lie.
pub(super) const LIBRARIES: &str = "/watched/lib";

/// A command, with the files that it needs.
#[derive(Debug)]
pub(super) struct Carried {
    program: Program,
    path: String,
    /// The command as it is given in the guest.
    pub(super) words: Vec<String>,
    /// Files that its arguments name: where they are in the guest, and what is in them.
    files: Vec<(String, Vec<u8>)>,
}

impl Carried {
    /// Takes `command` along to a guest of `target`. `whole`: with the program's symbols.
    pub(super) fn of(
        command: &[OsString],
        target: &GuestTarget,
        architecture: Architecture,
        whole: bool,
    ) -> Result<Self, CliError> {
        let [name, arguments @ ..] = command else {
            return Err(CliError::usage("watch: no program is named"));
        };
        let file = in_path(name).ok_or_else(|| {
            CliError::usage(format!("{}: there is no such program", name.display()))
        })?;
        let search = env::var("LD_LIBRARY_PATH").ok();
        let program = Program::of_user(&file, architecture, (search.as_deref(), LIBRARIES), whole);
        let program = program.map_err(|err| refused(&err))?;
        let path = format!("{PLACE}/{}", base(&file));
        let mut words = vec![path.clone()];
        let mut named = Vec::new();
        let mut bytes = program.size();
        for (n, argument) in arguments.iter().enumerate() {
            let text = argument.to_str().ok_or_else(|| {
                CliError::usage(format!("{}: not valid UTF-8", argument.display()))
            })?;
            let file = Path::new(argument);
            let Some(meta) = file.metadata().ok().filter(fs::Metadata::is_file) else {
                words.push(text.to_owned());
                continue;
            };
            let place = format!("{PLACE}/{}/{}", n + 1, base(file));
            bytes = bytes.saturating_add(meta.len());
            words.push(place.clone());
            named.push((place, file, meta.len()));
        }
        fits(&words, bytes, target)?;
        let read = |(place, file, length): (String, &Path, u64)| {
            let mut content = Vec::new();
            let done = File::open(file).and_then(|of| of.take(length).read_to_end(&mut content));
            let failed = |err| CliError::failed_to(format!("read {}", file.display())).because(err);
            done.map_err(failed)?;
            Ok((place, content))
        };
        let files: Result<_, CliError> = named.into_iter().map(read).collect();
        Ok(Self {
            program,
            path,
            words,
            files: files?,
        })
    }

    /// Adds it to an initial RAM file system.
    pub(super) fn add_to(&self, initramfs: Initramfs) -> Initramfs {
        let begun = initramfs.program(&self.path, &self.program);
        let files = self.files.iter();
        files.fold(begun, |all, (path, content)| all.file(path, content))
    }
}

/// Requires that what goes there leaves half of the guest's memory.
fn fits(words: &[String], bytes: u64, target: &GuestTarget) -> Result<(), CliError> {
    if bytes <= target.memory.get() / 2 {
        return Ok(());
    }
    let error = CliError::usage(format!(
        "{}: with its libraries and files it takes {}, and the guest has {} of memory",
        words.join(" "),
        Bytes::new(bytes),
        target.memory,
    ));
    Err(error.hint("give the guest more: --target guest:KERNEL,memory=..."))
}

fn base(path: &Path) -> String {
    let name = path.file_name().unwrap_or_else(|| OsStr::new("program"));
    name.to_string_lossy().into_owned()
}

fn refused(err: &ProgramError) -> CliError {
    let hint = match err {
        ProgramError::NoLibrary { .. } => Some("name its directory in LD_LIBRARY_PATH"),
        ProgramError::NotAProgram { .. } => Some(
            "a guest has no shell and no interpreters: name the program itself, built for the guest's processors",
        ),
        _ => None,
    };
    CliError::usage(err.to_string()).hints(hint)
}

/// Finds a program as a shell does.
fn in_path(name: &OsString) -> Option<PathBuf> {
    let path = Path::new(name);
    let is_program = |file: &PathBuf| {
        let executable = |of: fs::Metadata| of.is_file() && of.permissions().mode() & 0o111 != 0;
        fs::metadata(file).is_ok_and(executable)
    };
    if path.components().count() > 1 {
        return Some(path.to_owned()).filter(is_program);
    }
    let all = env::var_os("PATH")?;
    env::split_paths(&all)
        .map(|dir| dir.join(path))
        .find(is_program)
}
