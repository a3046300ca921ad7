// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whole runs in one tar archive, to be carried to another machine.
//!
//! An archive comes from elsewhere. Its members are `<id>/<file>`, regular files with the names that files of a run have; anything
//! else, and a name that occurs twice, makes it damaged. Nothing in it decides where a file is written: each is made anew, by
//! descriptor, in the directory that the caller gives.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use punctual_sys::dir::Dir;
use punctual_sys::{At as _, PathError};
use tar::{Archive, Builder, EntryType, Header};
use uuid::Uuid;

use crate::disk::without_holes;
use crate::place::{
    ARTIFACT_LIMIT, EVENTS_FILE, RECORD_LIMIT, RUN_FILE, SAMPLES_FILE, id_of_name, is_artifact_name,
};
use crate::stored::StoredRun;

/// More files than any run has.
const FILES_OF_A_RUN: usize = 64;

/// More runs than anybody carries at once.
const RUNS: usize = 100_000;

/// The reason that an archive of runs could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The operating system refused something.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The archive itself cannot be written, or ends too early.
    #[error("the archive")]
    Stream(#[source] io::Error),
    /// A member that no archive of runs has.
    #[error("member {number}, `{name}`: {why}")]
    Member {
        /// Its number, from 1.
        number: usize,
        /// Its name, as far as it is text.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// There is no run in it.
    #[error("there is no run in it")]
    Empty,
}

/// Writes whole runs as a tar archive.
///
/// # Errors
/// [`ArchiveError::Path`] if a run cannot be read, [`ArchiveError::Stream`] if the archive cannot be written.
pub fn pack<'a>(
    runs: impl IntoIterator<Item = &'a StoredRun>,
    out: impl Write,
) -> Result<(), ArchiveError> {
    let mut archive = Builder::new(out);
    for run in runs {
        let dir = run.dir()?;
        let mut names = dir.names().at("examine", run.path())?;
        names.sort_unstable();
        let names = names.iter().filter_map(|name| name.to_str());
        for name in names.filter(|name| is_run_file(name)) {
            let path = run.path().join(name);
            let file = dir.file(name).at("read", &path)?;
            without_holes(&file).at("read", &path)?;
            let size = file.metadata().at("read", &path)?.len();
            let mut header = Header::new_ustar();
            header.set_size(size);
            header.set_mode(0o644);
            header.set_entry_type(EntryType::Regular);
            let member = format!("{}/{name}", run.record().id);
            archive
                .append_data(&mut header, member, file.take(size))
                .map_err(ArchiveError::Stream)?;
        }
    }
    archive
        .into_inner()
        .and_then(|mut out| out.flush())
        .map_err(ArchiveError::Stream)
}

/// Unpacks an archive of runs into `into`, which is empty and the caller's alone. Returns the directories of the runs.
///
/// # Errors
/// [`ArchiveError::Member`] for what no archive of runs has; [`ArchiveError::Stream`] if it is cut short;
/// [`ArchiveError::Path`] with `ENOSPC` if there is no room.
pub fn unpack(archive: impl Read, into: &Dir) -> Result<Vec<PathBuf>, ArchiveError> {
    let mut archive = Archive::new(Source {
        from: archive,
        at_end: false,
    });
    // Raw: names longer than a header, sparse files and the like are members that we do not know.
    let entries = archive.entries().map_err(ArchiveError::Stream)?.raw(true);
    let mut files: BTreeMap<Uuid, usize> = BTreeMap::new();
    for (number, entry) in (1..).zip(entries) {
        let mut entry = entry.map_err(ArchiveError::Stream)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let wrong = |why| ArchiveError::Member {
            number,
            name: name.clone(),
            why,
        };
        if entry.header().entry_type() != EntryType::Regular {
            return Err(wrong("it is not a regular file"));
        }
        let (id, file) = name
            .split_once('/')
            .ok_or_else(|| wrong("it is in no run's directory"))?;
        let id = id_of_name(id).ok_or_else(|| wrong("its directory is not the id of a run"))?;
        if !is_run_file(file) {
            return Err(wrong("no file of a run has this name"));
        }
        if entry.size() > limit(file) {
            return Err(wrong("it is larger than such a file can be"));
        }
        if files.len() >= RUNS && !files.contains_key(&id) {
            return Err(wrong("there are too many runs before it"));
        }
        let known = files.entry(id).or_default();
        *known += 1;
        if *known > FILES_OF_A_RUN {
            return Err(wrong("its run has too many files"));
        }
        let path = into.path().join(&name);
        let run = into.make_dir(id.to_string(), 0o700).at("create", &path)?;
        let mut written = match run.new_file_of_mode(file, 0o600) {
            Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {
                return Err(wrong("there are two of this name"));
            }
            written => written.at("create", &path)?,
        };
        let size = entry.size();
        copy(&mut entry, &mut written, size, &path)?;
    }
    if files.is_empty() {
        return Err(ArchiveError::Empty);
    }
    // Empty blocks are the end of an archive; one that is cut off behind a member has none, and may lack runs.
    if archive.into_inner().at_end {
        return Err(ArchiveError::Stream(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(files
        .keys()
        .map(|id| into.path().join(id.to_string()))
        .collect())
}

/// Bytes of an archive, and whether somebody has asked for more than there are.
struct Source<R> {
    from: R,
    at_end: bool,
}

impl<R: Read> Read for Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.at_end |= read == 0 && !buffer.is_empty();
        Ok(read)
    }
}

/// Whether bytes begin as a tar archive does: with a header that says `ustar`.
pub fn is_archive(head: &[u8]) -> bool {
    head.get(257..262) == Some(b"ustar")
}

/// Copies all of a member. What ends too early is an error of the archive, not a short file.
fn copy(
    from: &mut impl Read,
    to: &mut impl Write,
    size: u64,
    path: &Path,
) -> Result<(), ArchiveError> {
    let mut left = size;
    let mut buffer = vec![0; 64 << 10];
    while left > 0 {
        let read = from.read(&mut buffer).map_err(ArchiveError::Stream)?;
        if read == 0 {
            return Err(ArchiveError::Stream(io::ErrorKind::UnexpectedEof.into()));
        }
        let part = buffer.get(..read).unwrap_or_default();
        to.write_all(part).at("write", path)?;
        left = left.saturating_sub(read as u64);
    }
    Ok(())
}

/// Whether a file of a run may have this name. The lock of a run that is being written is none.
pub(crate) fn is_run_file(name: &str) -> bool {
    [RUN_FILE, EVENTS_FILE, SAMPLES_FILE].contains(&name) || is_artifact_name(name)
}

/// The most bytes that such a file has. Samples and events are read as a stream, and only the archive itself limits them.
fn limit(name: &str) -> u64 {
    match name {
        RUN_FILE => RECORD_LIMIT,
        EVENTS_FILE | SAMPLES_FILE => u64::MAX,
        _ => ARTIFACT_LIMIT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01a1f919-d20f-77a5-8ab9-0c8543f9a1b0";

    /// Builds an archive of one member, its name written into the header as it is.
    fn archive(name: &[u8], kind: EntryType, size: u64, content: &[u8]) -> Vec<u8> {
        let mut header = Header::new_ustar();
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        header.set_size(size);
        header.set_mode(0o4777);
        header.set_entry_type(kind);
        if kind == EntryType::Symlink {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes.extend_from_slice(&[0; 1024]);
        bytes
    }

    fn unpacked(bytes: &[u8]) -> Result<Vec<PathBuf>, String> {
        let dir = tempfile::tempdir().unwrap();
        let into = Dir::open(dir.path()).unwrap();
        let result = unpack(bytes, &into).map_err(|err| err.to_string());
        // Whatever it says: nothing is outside of the directory, and nothing in it is special.
        for run in dir.path().read_dir().unwrap() {
            for file in run.unwrap().path().read_dir().unwrap() {
                let meta = file.unwrap().path().symlink_metadata().unwrap();
                assert!(meta.is_file());
                let mode = std::os::unix::fs::PermissionsExt::mode(&meta.permissions());
                assert_eq!(mode & 0o7777, 0o600);
            }
        }
        result
    }

    #[test]
    fn only_files_of_runs_come_out_of_an_archive() {
        let good = format!("{ID}/run.json");
        let plain = archive(good.as_bytes(), EntryType::Regular, 2, b"{}");
        assert!(is_archive(&plain));
        assert_eq!(unpacked(&plain).unwrap().len(), 1);
        let names = [
            "run.json".to_owned(),
            format!("/{ID}/run.json"),
            format!("{ID}/../run.json"),
            format!("../{ID}/run.json"),
            format!("{ID}/a/run.json"),
            format!("{ID}/.hidden"),
            format!("{ID}/lock"),
            format!("{ID}/"),
            format!("{}/run.json", ID.to_uppercase()),
            format!("./{ID}/run.json"),
        ];
        for name in names {
            let bytes = archive(name.as_bytes(), EntryType::Regular, 2, b"{}");
            assert!(unpacked(&bytes).unwrap_err().contains("member 1"), "{name}");
        }
        for kind in [
            EntryType::Symlink,
            EntryType::Link,
            EntryType::Directory,
            EntryType::Fifo,
            EntryType::Block,
            EntryType::Char,
            EntryType::GNUSparse,
            EntryType::GNULongName,
            EntryType::XHeader,
        ] {
            let bytes = archive(good.as_bytes(), kind, 0, b"");
            let err = unpacked(&bytes).unwrap_err();
            assert!(err.contains("not a regular file"), "{kind:?}: {err}");
        }
    }

    #[test]
    fn an_archive_that_lies_about_its_size_is_refused() {
        let name = format!("{ID}/run.json");
        let cut = archive(name.as_bytes(), EntryType::Regular, 9_000, b"{}");
        assert_eq!(unpacked(&cut).unwrap_err(), "the archive");
        let whole = archive(name.as_bytes(), EntryType::Regular, 2, b"{}");
        // One of the two empty blocks is enough for any reader.
        for end in (0..1_536).step_by(256) {
            unpacked(&whole[..end]).unwrap_err();
        }
        unpacked(&whole).unwrap();
        let vast = archive(name.as_bytes(), EntryType::Regular, RECORD_LIMIT + 1, b"");
        assert!(unpacked(&vast).unwrap_err().contains("larger"));
        let twice = archive(name.as_bytes(), EntryType::Regular, 2, b"{}");
        let twice = [&twice[..1024], &twice[..]].concat();
        assert!(unpacked(&twice).unwrap_err().contains("two of this name"));
        assert_eq!(unpacked(&[0; 1024]).unwrap_err(), "there is no run in it");
    }

    #[test]
    fn bytes_of_no_archive_are_an_error_and_not_a_panic() {
        for seed in 0_u32..200 {
            let noise = (0..4096_u32).map(|at| {
                let mixed = (at ^ seed.wrapping_mul(0x9e37_79b9)).wrapping_mul(0x85eb_ca6b);
                mixed.to_le_bytes()[3]
            });
            unpacked(&noise.collect::<Vec<u8>>()).unwrap_err();
        }
    }
}
