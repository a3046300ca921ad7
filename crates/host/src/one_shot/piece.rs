// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What undoes a step: kept on disk before the first step is taken, and all that is needed to take it back.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::SystemTime;

use punctual_sys::{SysRoot, if_there, kexec};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::env_block::EnvBlock;
use super::files::{overwrite, set_variable};
use super::generated::{self, Expects};
use super::grub::CHOICE;
use super::install::OneShotError;
use super::pieces::Step;
use super::tools::{Tools, owned};
use super::tree::{self, Entry};
use super::{ENTRY, UNINSTALL};
use crate::boot::{
    FileUndone, clear, conflicts, failed, inside, put, read_text, sync_above, temporary,
};
use crate::private_dir::Lock;

/// What undoes a step. Where a piece is put together is kept with it, before there is such a file: what a program that
/// was killed leaves there is ours. Earlier versions kept none.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Piece {
    Directory {
        path: String,
    },
    File {
        path: String,
        bytes: Option<u64>,
        /// Of its content. None: an earlier version kept none, or a program makes it.
        #[serde(default)]
        sha256: Option<String>,
        #[serde(default)]
        temporary: Option<String>,
    },
    Tree {
        path: String,
        #[serde(default)]
        temporary: Option<String>,
        /// What we put there. None: an earlier version kept no list.
        #[serde(default)]
        entries: Option<Vec<Entry>>,
    },
    Text {
        path: String,
        old: Option<String>,
        new: String,
        #[serde(default)]
        temporary: Option<String>,
    },
    Environment {
        path: String,
        old: Option<String>,
        new: String,
        #[serde(default)]
        temporary: Option<String>,
    },
    Variable {
        path: String,
        old: Option<Vec<u8>>,
        new: Vec<u8>,
    },
    /// What a program of the machine made, and takes away.
    Tool {
        /// Arguments of the program that takes it away; none where there is no such program.
        unmake: Vec<String>,
        /// Patterns of what it makes, which was not there before.
        owns: Vec<String>,
        /// Directory of its temporary files.
        scratch: String,
    },
    /// A file that a program of the machine generates anew as a whole.
    Generated {
        path: String,
        by: Vec<String>,
        old: String,
        /// When that was written.
        modified: Option<SystemTime>,
        /// What it was given; none before that.
        new: Option<String>,
        expects: Expects,
        temporary: String,
    },
    Kexec,
}

/// Whose pieces they are, and what runs programs for them.
#[derive(Clone, Copy, Debug)]
pub(super) struct At<'a> {
    pub(super) sys: &'a SysRoot,
    /// Name of what they belong to.
    pub(super) id: &'a str,
    /// The boot in which they were put in place.
    pub(super) boot_id: &'a str,
    /// The lock of the directory that they are kept in.
    pub(super) lock: Option<&'a Lock>,
}

impl<'a> At<'a> {
    /// Returns the programs of the machine.
    pub(super) const fn tools(&self) -> Tools<'a> {
        Tools {
            sys: self.sys,
            lock: self.lock,
        }
    }
}

/// Returns what undoes each step.
///
/// # Errors
///
/// Fails where a file that is to be copied cannot be read.
pub(super) fn pieces(steps: &[Step], id: &str) -> Result<Vec<Piece>, OneShotError> {
    steps.iter().map(|step| Piece::of(step, id)).collect()
}

/// Takes the steps one after the other, after what undoes them is kept. What becomes known only then is kept too, by
/// `keep`.
///
/// # Errors
///
/// Fails with the first step that cannot be taken, after the steps before it are taken back. Where something is left,
/// it is [`OneShotError::Left`], and what is kept must stay.
pub(super) fn carry_out(
    steps: &[Step],
    pieces: &mut [Piece],
    at: &At<'_>,
    keep: &mut dyn FnMut(&[Piece]) -> Result<(), OneShotError>,
) -> Result<(), OneShotError> {
    for (step, number) in steps.iter().zip(0..) {
        let foreseen = step.foresee(at);
        let done = foreseen.and_then(|foreseen| {
            if let (Some(foreseen), Some(Piece::Generated { new, .. })) =
                (&foreseen, pieces.get_mut(number))
            {
                *new = Some(foreseen.clone());
                keep(pieces)?;
            }
            step.carry_out(at, foreseen.as_deref())
        });
        if let Err(err) = done {
            // What was not begun is as it was, and whatever of it is there is not ours. What is not back stays in what is
            // kept, to be taken back later.
            let begun = match err {
                OneShotError::Foreign { .. } => number,
                _ => number + 1,
            };
            let left = match undo(pieces, begun, at) {
                Ok(undone) => conflicts(&undone).join(", "),
                Err(err) => err.to_string(),
            };
            if left.is_empty() {
                return Err(err);
            }
            return Err(OneShotError::Left {
                paths: left,
                source: Box::new(err),
            });
        }
    }
    // What lies in a journal only, GRUB does not see. That this cannot be done is no failure.
    for place in ["/boot", "/lib/modules"] {
        if let Ok(root) = File::open(at.sys.full(place)) {
            rustix::fs::syncfs(&root).ok();
        }
    }
    Ok(())
}

/// Undoes the first `count` pieces, the last of them first. What is generated of what lies there comes last.
///
/// # Errors
///
/// Fails where a piece cannot be written.
pub(super) fn undo(
    pieces: &[Piece],
    count: usize,
    at: &At<'_>,
) -> Result<Vec<(String, FileUndone)>, OneShotError> {
    let mut undone = Vec::new();
    let mut later = Vec::new();
    for piece in pieces.iter().take(count).rev() {
        match piece.undo(at)? {
            Some((path, what)) => undone.push((path, what)),
            None => later.push(piece),
        }
    }
    for piece in later {
        undone.push((piece.path(), piece.generate_again(at)?));
    }
    Ok(undone)
}

impl Piece {
    fn of(step: &Step, id: &str) -> Result<Self, OneShotError> {
        let beside = |path: &str| Some(temporary(path, id));
        Ok(match step.clone() {
            Step::Directory { path } => Self::Directory { path },
            Step::Copy {
                from, to, bytes, ..
            } => Self::File {
                temporary: beside(&to),
                sha256: Some(sum(&from).map_err(|err| failed("read", &from, err))?),
                path: to,
                bytes: Some(bytes),
            },
            Step::Tree { from, to, .. } => Self::Tree {
                temporary: beside(&to),
                entries: Some(tree::list(&from)?),
                path: to,
            },
            Step::Made { to, .. } => Self::File {
                temporary: beside(&to),
                path: to,
                sha256: None,
                bytes: None,
            },
            Step::Text { path, old, new, .. } => Self::Text {
                temporary: beside(&path),
                path,
                old,
                new,
            },
            Step::Environment { path, old, new } => Self::Environment {
                temporary: beside(&path),
                path,
                old,
                new,
            },
            Step::Variable { path, old, new } => Self::Variable { path, old, new },
            Step::Tool {
                unmake,
                owns,
                scratch,
                ..
            } => Self::Tool {
                unmake,
                owns,
                scratch,
            },
            Step::Generated {
                path,
                by,
                old,
                modified,
                expects,
            } => Self::Generated {
                temporary: temporary(&path, id),
                path,
                by,
                old,
                modified,
                new: None,
                expects,
            },
            Step::Kexec { .. } => Self::Kexec,
        })
    }

    pub(super) fn path(&self) -> String {
        match self {
            Self::Directory { path }
            | Self::File { path, .. }
            | Self::Tree { path, .. }
            | Self::Text { path, .. }
            | Self::Environment { path, .. }
            | Self::Generated { path, .. }
            | Self::Variable { path, .. } => path.clone(),
            Self::Tool { owns, .. } => owns.first().cloned().unwrap_or_default(),
            Self::Kexec => "the running kernel's memory".to_owned(),
        }
    }

    /// Returns where it is put together.
    fn temporary(&self) -> Option<&str> {
        match self {
            Self::File { temporary, .. }
            | Self::Tree { temporary, .. }
            | Self::Text { temporary, .. }
            | Self::Environment { temporary, .. } => temporary.as_deref(),
            Self::Generated { temporary, .. } => Some(temporary),
            Self::Tool { scratch, .. } => Some(scratch),
            Self::Directory { .. } | Self::Variable { .. } | Self::Kexec => None,
        }
    }

    /// Whether it is there as it was put in place, as far as that is ours to say.
    pub(super) fn stands(&self, sys: &SysRoot) -> bool {
        let text = |path: &str| read_text(&sys.full(path)).ok().flatten();
        match self {
            Self::Directory { path } => sys.full(path).is_dir(),
            Self::File {
                path,
                bytes,
                sha256,
                ..
            } => is_ours(&sys.full(path), *bytes, sha256.as_deref()).unwrap_or(false),
            Self::Tree { path, entries, .. } => {
                let full = sys.full(path);
                let foreign = entries.as_ref().map(|all| tree::foreign(&full, all));
                full.is_dir() && !matches!(foreign, Some(Ok(Some(_)) | Err(_)))
            }
            Self::Text { path, old, new, .. } => {
                let added = new.get(old.as_ref().map_or(0, String::len)..);
                text(path).is_some_and(|now| added.is_some_and(|added| now.contains(added)))
            }
            Self::Tool { owns, .. } => owns.first().is_none_or(|path| !owned(sys, path).is_empty()),
            Self::Generated { path, expects, .. } => {
                text(path).is_some_and(|now| expects.mentions(&now))
            }
            Self::Environment { .. } | Self::Variable { .. } | Self::Kexec => true,
        }
    }

    /// Undoes it, and returns what was looked at. None: it can only be generated again, when all else is back.
    fn undo(&self, at: &At<'_>) -> Result<Option<(String, FileUndone)>, OneShotError> {
        use FileUndone::{AlreadyBack, Conflict, Restored};
        let sys = at.sys;
        let mut path = self.path();
        if *self == Self::Kexec {
            // Any restart takes it away, and another boot's is somebody else's.
            if super::boot_id(sys) != at.boot_id || !super::kexec_is_loaded(sys) {
                return Ok(Some((path, AlreadyBack)));
            }
            kexec::unload()
                .map_err(|err| failed("unload", "the kernel for kexec".as_ref(), err))?;
            return Ok(Some((path, Restored)));
        }
        let full = inside(sys, &path)?;
        if let Some(temporary) = self.temporary() {
            clear_of(sys, temporary)?;
        }
        let undone = match self {
            Self::Kexec => AlreadyBack,
            Self::Directory { .. } => match fs::remove_dir(&full) {
                Ok(()) => Restored,
                Err(err) if err.kind() == io::ErrorKind::NotFound => AlreadyBack,
                Err(err) if err.kind() == io::ErrorKind::DirectoryNotEmpty => Conflict,
                Err(err) => return Err(failed("remove", &full, err).into()),
            },
            Self::File { bytes, sha256, .. } => match is_ours(&full, *bytes, sha256.as_deref()) {
                Ok(true) => {
                    fs::remove_file(&full).map_err(|err| failed("remove", &full, err))?;
                    Restored
                }
                Ok(false) => Conflict,
                Err(err) if err.kind() == io::ErrorKind::NotFound => AlreadyBack,
                Err(err) => return Err(failed("examine", &full, err).into()),
            },
            Self::Tree { entries, .. } => {
                let (what, foreign) = undo_tree(&full, self.temporary(), entries.as_deref(), at)?;
                if let Some(foreign) = foreign {
                    path = format!("{path}/{foreign}");
                }
                what
            }
            Self::Text { path, old, new, .. } => undo_text(path, &full, old.as_ref(), new, at)?,
            Self::Environment { old, new, .. } => undo_environment(&full, old.as_deref(), new)?,
            Self::Variable { old, new, .. } => {
                let now = if_there(fs::read(&full)).map_err(|err| failed("read", &full, err))?;
                // The boot loader takes it away when it heeds it; then an older choice must not come back.
                if now == *old || now.is_none() {
                    AlreadyBack
                } else if now.as_ref() == Some(new) {
                    set_variable(&full, old.as_ref())?;
                    Restored
                } else {
                    Conflict
                }
            }
            Self::Tool { unmake, owns, .. } => at.tools().unmake(unmake, owns)?,
            Self::Generated {
                path,
                old,
                modified,
                new,
                temporary,
                ..
            } => {
                clear_of(sys, &generated::draft(temporary))?;
                let now = read_text(&full)?;
                if now.as_ref() == Some(old) {
                    // Whoever put it back may have been killed before it dated it.
                    generated::date(&full, *modified)?;
                    AlreadyBack
                } else if new.is_some() && now == *new {
                    put(sys, path, Some(old), temporary, None)?;
                    generated::date(&full, *modified)?;
                    Restored
                } else {
                    return Ok(None);
                }
            }
        };
        Ok(Some((path, undone)))
    }

    /// Has a file generated again that somebody has generated since.
    fn generate_again(&self, at: &At<'_>) -> Result<FileUndone, OneShotError> {
        let Self::Generated {
            path,
            by,
            old,
            modified,
            expects,
            temporary,
            ..
        } = self
        else {
            return Ok(FileUndone::AlreadyBack);
        };
        let full = inside(at.sys, path)?;
        let text = generated::generate(by, temporary, at)?;
        // What still lies there is named by itself.
        put(at.sys, path, Some(&text), temporary, None)?;
        if text == *old {
            generated::date(&full, *modified)?;
            return Ok(FileUndone::Restored);
        }
        Ok(match expects.mentions(&text) {
            true => FileUndone::Conflict,
            false => FileUndone::OthersKept,
        })
    }
}

fn clear_of(sys: &SysRoot, path: &str) -> Result<(), OneShotError> {
    let left = inside(sys, path)?;
    Ok(clear(&left).map_err(|err| failed("remove", &left, err))?)
}

/// Whether a file is the one that was put there.
fn is_ours(full: &Path, bytes: Option<u64>, sha256: Option<&str>) -> io::Result<bool> {
    let meta = fs::symlink_metadata(full)?;
    if !meta.is_file() || bytes.is_some_and(|bytes| bytes != meta.size()) {
        return Ok(false);
    }
    match sha256 {
        None => Ok(true),
        Some(wanted) => Ok(sum(full)? == wanted),
    }
}

fn sum(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(format!("{:x}", hash.finalize()))
}

fn undo_tree(
    full: &Path,
    temporary: Option<&str>,
    entries: Option<&[Entry]>,
    at: &At<'_>,
) -> Result<(FileUndone, Option<String>), OneShotError> {
    if !full.exists() {
        return Ok((FileUndone::AlreadyBack, None));
    }
    // Without our mark, a package has made its own of it.
    let mark = fs::read(full.join(tree::OURS)).unwrap_or_default();
    if mark != at.id.as_bytes() {
        return Ok((FileUndone::Conflict, None));
    }
    if let Some(entries) = entries
        && let Some(foreign) = tree::foreign(full, entries)?
    {
        return Ok((FileUndone::Conflict, Some(foreign)));
    }
    let mut going = full.to_owned();
    if let Some(temporary) = temporary {
        // From now on it is ours by its name, even if this ends in the middle.
        going = at.sys.full(temporary);
        fs::rename(full, &going).map_err(|err| failed("remove", full, err))?;
        sync_above(full)?;
    }
    fs::remove_dir_all(&going).map_err(|err| failed("remove", full, err))?;
    Ok((FileUndone::Restored, None))
}

fn undo_text(
    path: &str,
    full: &Path,
    old: Option<&String>,
    new: &String,
    at: &At<'_>,
) -> Result<FileUndone, OneShotError> {
    use FileUndone::{AlreadyBack, Conflict, OthersKept, Restored};
    let now = read_text(full)?;
    let beside = temporary(path, at.id);
    if now.as_ref() == old {
        return Ok(AlreadyBack);
    }
    if now.as_ref() == Some(new) {
        put(at.sys, path, old.map(String::as_str), &beside, None)?;
        return Ok(Restored);
    }
    let added = new.get(old.map_or(0, String::len)..);
    match (now, added) {
        (Some(now), Some(added)) if now.contains(added) => {
            // What ends a line that had no end stays where another line follows.
            let between = match added.starts_with('\n') && !now.ends_with(added) {
                true => "\n",
                false => "",
            };
            let rest = now.replace(added, between);
            put(at.sys, path, Some(&rest), &beside, None)?;
            Ok(OthersKept)
        }
        // Somebody has taken ours out.
        (Some(now), _) if ![ENTRY, UNINSTALL].iter().any(|ours| now.contains(ours)) => {
            Ok(OthersKept)
        }
        (None, _) => Ok(OthersKept),
        _ => Ok(Conflict),
    }
}

/// Takes our choice out of GRUB's environment, whatever else has become of it.
fn undo_environment(full: &Path, old: Option<&str>, new: &str) -> Result<FileUndone, OneShotError> {
    use FileUndone::{AlreadyBack, Conflict, OthersKept, Restored};
    let now = read_text(full)?;
    if now.as_deref() == old {
        return Ok(AlreadyBack);
    }
    let Some(now) = now else {
        return Ok(Conflict);
    };
    let parse = |text: &str| EnvBlock::parse(text.as_bytes()).ok();
    let before = match old {
        Some(text) => parse(text),
        None => Some(EnvBlock::empty()),
    };
    let (Some(mut block), Some(mut before)) = (parse(&now), before) else {
        return Ok(Conflict);
    };
    let choice = block.value(CHOICE).unwrap_or_default();
    let earlier = before.value(CHOICE).filter(|value| !value.is_empty());
    let spent = choice.is_empty() && earlier.is_some();
    block.set(CHOICE, None);
    before.set(CHOICE, None);
    let same = block.bytes() == before.bytes();
    if choice != ENTRY && !choice.is_empty() {
        // Somebody has chosen another entry since.
        return Ok(OthersKept);
    }
    // GRUB has taken ours, and with it an older choice, which must not come back.
    if same && !spent {
        match old {
            Some(old) => overwrite(full, old.as_bytes())?,
            None => fs::remove_file(full).map_err(|err| failed("remove", full, err))?,
        }
        return Ok(Restored);
    }
    if now == new || choice == ENTRY {
        block.set(CHOICE, earlier.as_deref());
        let bytes = block.bytes().ok_or_else(|| OneShotError::Damaged {
            reason: "GRUB's environment is full".to_owned(),
        })?;
        overwrite(full, &bytes)?;
    }
    Ok(OthersKept)
}
