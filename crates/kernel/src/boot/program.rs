// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A program as the kernel loads it: an ELF file without what only debuggers read, and the shared
//! libraries that it was linked to.
//!
//! The loader looks at the program headers alone (elf(5)). Sections, symbols and debug information
//! lie behind the last loaded segment, and a guest would unpack them for nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use punctual_sys::{PathError, SysRoot};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::architecture::Architecture;
use super::libraries;

const MAGIC: &[u8] = b"\x7fELF";
const CLASS_64: u8 = 2;
const LITTLE_ENDIAN: u8 = 1;
const LOAD: u32 = 1;
const INTERPRETER: u32 = 3;

/// Why a program cannot run in a guest.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// The file cannot be read.
    #[error("read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file is no program for this kind of machine.
    #[error("{}: {reason}", path.display())]
    NotAProgram {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A library that the program names is missing.
    #[error("{}: its library {library} is not found", path.display())]
    NoLibrary {
        /// The program.
        path: PathBuf,
        /// The name of the library.
        library: String,
    },
    /// The libraries of the running program cannot be told.
    #[error("find the libraries of this program")]
    Libraries(#[source] PathError),
}

/// A shared library, or the program that loads them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Library {
    /// Where the guest looks for it.
    pub path: String,
    /// Its content.
    pub content: Vec<u8>,
}

/// A program and all that it needs to run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Program {
    /// The loaded part of its file.
    pub content: Vec<u8>,
    /// Nothing, where it is linked statically.
    pub libraries: Vec<Library>,
}

impl Program {
    /// Reads the running program, with the libraries that it has loaded.
    ///
    /// # Errors
    ///
    /// Fails when its files cannot be read, and when it is no ELF program of 64 bits.
    pub fn own(sys: &SysRoot) -> Result<Self, ProgramError> {
        let path = Path::new("/proc/self/exe");
        let (content, interpreter) = read(path)?;
        let Some(interpreter) = interpreter else {
            return Ok(Self {
                content,
                libraries: Vec::new(),
            });
        };
        let maps = sys
            .read("/proc/self/maps")
            .map_err(ProgramError::Libraries)?;
        let mut libraries = vec![Library {
            content: read(Path::new(&interpreter))?.0,
            path: interpreter,
        }];
        for path in loaded(&maps) {
            libraries.push(Library {
                content: read(Path::new(path))?.0,
                path: path.to_owned(),
            });
        }
        Ok(Self { content, libraries })
    }

    /// Takes a program for `architecture` that is linked statically, and that errors call `name`.
    ///
    /// # Errors
    ///
    /// Fails when it is no ELF program for that, and when it needs shared libraries.
    pub fn linked_statically(
        name: &str,
        content: Vec<u8>,
        architecture: Architecture,
    ) -> Result<Self, ProgramError> {
        let not = |reason| ProgramError::NotAProgram {
            path: PathBuf::from(name),
            reason,
        };
        let of = number(&content, 0x12, 2);
        match trimmed(content).map_err(not)? {
            _ if of != Some(usize::from(architecture.facts().elf)) => {
                Err(not("a program for another processor"))
            }
            (content, None) => Ok(Self {
                content,
                libraries: Vec::new(),
            }),
            (_, Some(_)) => Err(not(
                "needs shared libraries, which a guest does not have: link it statically",
            )),
        }
    }

    /// Reads a program of the user's for a guest of `architecture`, and the libraries that it names, which the guest finds in the
    /// directory `into`. `search` is the value of `LD_LIBRARY_PATH`, where it is set. `whole`: with its symbols.
    ///
    /// # Errors
    ///
    /// Fails when its file cannot be read, is no ELF program for that, or a library of it is not found.
    pub fn of_user(
        path: &Path,
        architecture: Architecture,
        (search, into): (Option<&str>, &str),
        whole: bool,
    ) -> Result<Self, ProgramError> {
        let not = |reason| ProgramError::NotAProgram {
            path: path.to_owned(),
            reason,
        };
        let content = fs::read(path).map_err(|source| ProgramError::Read {
            path: path.to_owned(),
            source,
        })?;
        let is_for = |content: &[u8]| {
            number(content, 0x12, 2) == Some(usize::from(architecture.facts().elf))
        };
        let (loaded, interpreter) = trimmed(content.clone()).map_err(not)?;
        if !is_for(&content) {
            return Err(not("a program for another processor"));
        }
        let mut libraries = Vec::new();
        if let Some(interpreter) = interpreter {
            let usual = libraries::usual(search, architecture.facts().machine);
            let found = libraries::find(path, &content, &usual, |place| {
                let content = fs::read(place).ok().filter(|content| is_for(content))?;
                let loaded = trimmed(content.clone()).ok()?.0;
                Some((content, loaded))
            });
            let found = found.map_err(|library| ProgramError::NoLibrary {
                path: path.to_owned(),
                library,
            })?;
            libraries.push(Library {
                content: read(Path::new(&interpreter))?.0,
                path: interpreter,
            });
            libraries.extend(found.into_iter().map(|(name, content)| Library {
                path: format!("{into}/{}", name.rsplit('/').next().unwrap_or(&name)),
                content,
            }));
        }
        let content = if whole { content } else { loaded };
        Ok(Self { content, libraries })
    }

    /// Returns the bytes that a guest loads: the program and its libraries.
    pub fn size(&self) -> u64 {
        self.parts().map(|part| part.len() as u64).sum()
    }

    /// Returns the SHA-256 of the same bytes, in hexadecimal digits.
    pub fn sha256(&self) -> String {
        let mut hash = Sha256::new();
        self.parts().for_each(|part| hash.update(part));
        format!("{:x}", hash.finalize())
    }

    fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let libraries = self.libraries.iter();
        std::iter::once(self.content.as_slice())
            .chain(libraries.map(|library| library.content.as_slice()))
    }
}

/// Reads the loaded part of a program, and the name of its interpreter.
fn read(path: &Path) -> Result<(Vec<u8>, Option<String>), ProgramError> {
    let content = fs::read(path).map_err(|source| ProgramError::Read {
        path: path.to_owned(),
        source,
    })?;
    trimmed(content).map_err(|reason| ProgramError::NotAProgram {
        path: path.to_owned(),
        reason,
    })
}

/// Returns the shared libraries that are mapped as code: the files of `maps` (proc(5)) that are
/// named so.
fn loaded(maps: &str) -> Vec<&str> {
    let mut paths: Vec<&str> = maps
        .lines()
        .filter(|line| line.split_whitespace().nth(1) == Some("r-xp"))
        .filter_map(|line| line.find('/').map(|at| &line[at..]))
        .filter(|path| path.ends_with(".so") || path.contains(".so."))
        .collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// Cuts `content` behind its last loaded segment, and says that it has no sections.
fn trimmed(mut content: Vec<u8>) -> Result<(Vec<u8>, Option<String>), &'static str> {
    const CUT: &str = "the file ends in the middle of a segment";
    if !content.starts_with(MAGIC) {
        return Err("not an ELF file");
    }
    if content.get(4..6) != Some(&[CLASS_64, LITTLE_ENDIAN]) {
        return Err("not an ELF file of 64 bits, little endian");
    }
    let (mut end, _, _) = table(&content).ok_or(CUT)?;
    let mut interpreter = None;
    for Segment {
        kind, offset, size, ..
    } in segments(&content).ok_or(CUT)?
    {
        let behind = offset.checked_add(size).ok_or(CUT)?;
        let segment = content.get(offset..behind).ok_or(CUT)?;
        if kind == LOAD {
            end = end.max(behind);
        } else if kind == INTERPRETER {
            let text = segment.strip_suffix(b"\0").unwrap_or(segment);
            let text = std::str::from_utf8(text).map_err(|_| CUT)?;
            interpreter = Some(text.to_owned());
        }
    }
    content.truncate(end);
    // e_shoff, then e_shnum and e_shstrndx.
    for place in [0x28..0x30, 0x3c..0x40] {
        content.get_mut(place).ok_or(CUT)?.fill(0);
    }
    Ok((content, interpreter))
}

/// A part of an ELF file that its program headers name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) kind: u32,
    pub(super) offset: usize,
    pub(super) address: usize,
    /// Its bytes in the file.
    pub(super) size: usize,
}

/// Returns where the program headers end, where they begin, and the bytes of each.
fn table(content: &[u8]) -> Option<(usize, usize, usize)> {
    let table = number(content, 0x20, 8)?;
    let entry = number(content, 0x36, 2)?;
    let entries = number(content, 0x38, 2)?;
    Some((table + entry * entries, table, entry))
}

/// Returns the segments of an ELF file of 64 bits; nothing where the file ends before their headers do.
pub(super) fn segments(content: &[u8]) -> Option<Vec<Segment>> {
    let (end, table, entry) = table(content)?;
    let headers = (table..end).step_by(entry.max(1));
    let segment = |header| {
        Some(Segment {
            kind: u32::try_from(number(content, header, 4)?).ok()?,
            offset: number(content, header + 0x08, 8)?,
            address: number(content, header + 0x10, 8)?,
            size: number(content, header + 0x20, 8)?,
        })
    };
    headers.map(segment).collect()
}

/// Reads a little-endian number of `size` bytes.
pub(super) fn number(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    let mut wide = [0; 8];
    wide.get_mut(..size)?
        .copy_from_slice(bytes.get(at..at.checked_add(size)?)?);
    // Larger than any file: the caller finds nothing there.
    usize::try_from(u64::from_le_bytes(wide))
        .ok()
        .filter(|number| *number < usize::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_trimmed_program_still_runs_and_is_smaller() {
        let dir = tempfile::tempdir().unwrap();
        let own = Program::own(&SysRoot::live()).unwrap();
        let whole = fs::metadata("/proc/self/exe").unwrap().len();
        assert!((own.content.len() as u64) < whole);
        let (content, path) = (dir.path().join("content"), dir.path().join("program"));
        fs::write(&content, &own.content).unwrap();
        // By another process: a test that starts something at this moment would inherit a
        // descriptor that writes to the file, and until its exec(2) nobody could run it (ETXTBSY).
        let mut install = Command::new("install");
        install.arg("--mode=755").args([&content, &path]);
        assert!(install.status().unwrap().success());
        let output = Command::new(&path).arg("--list").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let listed = String::from_utf8(output.stdout).unwrap();
        assert!(listed.contains("a_trimmed_program_still_runs"), "{listed}");
    }

    #[test]
    fn libraries_are_those_that_are_mapped_as_code() {
        let maps = "\
55-56 r-xp 00000000 fe:00 1 /usr/bin/program.so.like/program
7f-80 r--p 00000000 fe:00 2 /usr/lib/libonly.so.1
7f-80 r-xp 00001000 fe:00 3 /usr/lib/libc.so.6
7f-80 r-xp 00002000 fe:00 3 /usr/lib/libc.so.6
7f-80 r-xp 00000000 00:00 0 [vdso]
7f-80 r-xp 00001000 fe:00 4 /opt/with space/libm.so";
        let found = loaded(maps);
        assert!(
            found.contains(&"/usr/lib/libc.so.6") && found.contains(&"/opt/with space/libm.so")
        );
        assert!(!found.iter().any(|path| path.contains("libonly")));
    }

    #[test]
    fn what_is_no_program_is_refused_by_name() {
        let mut arm64 = fs::read("/proc/self/exe").unwrap();
        let other = if arm64[0x12] == 183 { 62 } else { 183 };
        arm64[0x12..0x14].copy_from_slice(&u16::to_le_bytes(other));
        for (content, part) in [
            (b"hello".to_vec(), "not an ELF file"),
            (b"\x7fELF\x01\x01".to_vec(), "64 bits"),
            (b"\x7fELF\x02\x01\x01".to_vec(), "ends in the middle"),
            (arm64, "a program for another processor"),
        ] {
            let err = Program::linked_statically("text", content, Architecture::X86_64);
            let err = err.unwrap_err();
            let err = err.to_string();
            assert!(err.contains(part) && err.contains("text"), "{err}");
        }
    }

    #[test]
    fn no_cut_of_a_program_is_read_past_its_end() {
        let whole = fs::read("/proc/self/exe").unwrap();
        let loaded = trimmed(whole.clone()).unwrap().0.len();
        for length in (0..400).chain([4_096, loaded / 2, loaded - 1]) {
            let cut = whole.get(..length).unwrap().to_vec();
            assert!(trimmed(cut).is_err(), "{length}");
        }
    }
}
