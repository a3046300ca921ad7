// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Which program goes to which host: what the head of an ELF file says (elf(5)).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::error::CliError;
use crate::output::remark;

/// Architectures by their number in an ELF file, as `uname -m` calls them.
const MACHINES: &[(u16, &str)] = &[
    (3, "i386"),
    (21, "ppc64le"),
    (22, "s390x"),
    (40, "arm"),
    (62, "x86_64"),
    (183, "aarch64"),
    (243, "riscv64"),
    (258, "loongarch64"),
];

/// The type of a program header that names an interpreter: the program needs libraries of its host.
const PT_INTERP: u32 = 3;

/// Returns the program for each architecture, with its absolute path.
pub(super) fn by_machine(given: &[PathBuf]) -> Result<BTreeMap<String, PathBuf>, CliError> {
    let own = [PathBuf::from("/proc/self/exe")];
    let files = if given.is_empty() { &own[..] } else { given };
    let mut programs = BTreeMap::new();
    for path in files {
        let failed = |err: io::Error| {
            CliError::failed_to(format!("read program {}", path.display())).because(err)
        };
        let real = path.canonicalize().map_err(failed)?;
        let (machine, is_static) = head(&real).map_err(failed)?;
        if !is_static {
            remark(&format!(
                "Note: {} is not a static program; it starts only on hosts with the same libraries.",
                real.display()
            ));
        }
        if programs.insert(machine.to_owned(), real).is_some() {
            return Err(CliError::usage(format!(
                "--program: two programs for {machine}"
            )));
        }
    }
    Ok(programs)
}

/// Packs programs once for all hosts: a slow network or many hosts take a third of the time.
pub(super) fn packed(
    programs: &BTreeMap<String, PathBuf>,
    into: &Path,
) -> Result<BTreeMap<String, PathBuf>, CliError> {
    let pack = |(machine, program): (&String, &PathBuf)| {
        let path = into.join(format!("{machine}.gz"));
        let mut packer = GzEncoder::new(File::create(&path)?, Compression::fast());
        io::copy(&mut File::open(program)?, &mut packer)?;
        packer.finish()?;
        Ok((machine.clone(), path))
    };
    let all: io::Result<BTreeMap<String, PathBuf>> = programs.iter().map(pack).collect();
    all.map_err(|err| CliError::failed_to("pack the program for the hosts").because(err))
}

/// Returns the architecture of a program and whether it is static. Only little-endian programs are known, and s390x.
fn head(path: &Path) -> io::Result<(&'static str, bool)> {
    let other = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let mut file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(other("it is not a regular file"));
    }
    let mut head = [0_u8; 64];
    file.read_exact(&mut head)
        .map_err(|_| other("it is not an ELF program"))?;
    if &head[..4] != b"\x7fELF" {
        return Err(other("it is not an ELF program"));
    }
    let (wide, big) = (head[4] == 2, head[5] == 2);
    let short = |at: usize| {
        let bytes = [head[at], head[at + 1]];
        match big {
            true => u16::from_be_bytes(bytes),
            false => u16::from_le_bytes(bytes),
        }
    };
    let number = short(18);
    let machine = MACHINES.iter().find(|(known, _)| *known == number);
    let (_, machine) = machine.ok_or_else(|| other("its architecture is unknown"))?;
    let long = |at: usize, bytes: usize| -> u64 {
        let part = &head[at..at + bytes];
        let shift = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        match big {
            true => part.iter().fold(0, shift),
            false => part.iter().rev().fold(0, shift),
        }
    };
    let (offset, size, count) = match wide {
        true => (long(32, 8), short(54), short(56)),
        false => (long(28, 4), short(42), short(44)),
    };
    let mut is_static = true;
    for number in 0..u64::from(count.min(256)) {
        file.seek(SeekFrom::Start(
            offset.saturating_add(number * u64::from(size)),
        ))?;
        let mut kind = [0_u8; 4];
        file.read_exact(&mut kind)?;
        let kind = match big {
            true => u32::from_be_bytes(kind),
            false => u32::from_le_bytes(kind),
        };
        is_static &= kind != PT_INTERP;
    }
    Ok((machine, is_static))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_architecture_is_read_from_the_program_itself() {
        let own = std::env::current_exe().unwrap();
        let (machine, _) = head(&own).unwrap();
        assert_eq!(machine, std::env::consts::ARCH);
        let programs = by_machine(&[]).unwrap();
        assert!(programs.contains_key(std::env::consts::ARCH));
        assert!(by_machine(&[own.clone(), own]).is_err());
    }

    #[test]
    fn what_is_no_program_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        for content in [&b""[..], b"#!/bin/sh\n", b"\x7fELF", &[0; 100]] {
            std::fs::write(&path, content).unwrap();
            assert!(head(&path).is_err());
        }
        // A head of an unknown machine, and one whose table is beyond the end.
        let mut bytes = [0_u8; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        std::fs::write(&path, bytes).unwrap();
        assert!(head(&path).is_err());
        bytes[18] = 62;
        bytes[32..40].fill(0xff);
        bytes[56] = 9;
        std::fs::write(&path, bytes).unwrap();
        assert!(head(&path).is_err());
    }
}
