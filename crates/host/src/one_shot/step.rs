// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Steps that are taken.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use punctual_sys::kexec;

use super::files::{copy, make, overwrite, set_variable};
use super::generated;
use super::install::OneShotError;
use super::piece::At;
use super::pieces::Step;
use super::tree;
use crate::boot::{failed, inside, put, read_text, sync_above, temporary};

impl Step {
    /// Returns what is known only when the step is due, and is to be kept before it is taken.
    pub(super) fn foresee(&self, at: &At<'_>) -> Result<Option<String>, OneShotError> {
        let Self::Generated {
            path, by, expects, ..
        } = self
        else {
            return Ok(None);
        };
        let text = generated::generate(by, &temporary(path, at.id), at)?;
        expects.check(path, &text)?;
        Ok(Some(text))
    }

    pub(super) fn carry_out(
        &self,
        at: &At<'_>,
        foreseen: Option<&str>,
    ) -> Result<(), OneShotError> {
        let (sys, id) = (at.sys, at.id);
        let beside = |path: &str| sys.full(&temporary(path, id));
        match self {
            Self::Directory { path } => {
                let full = vacant(inside(sys, path)?)?;
                fs::create_dir(&full).map_err(|err| failed("make directory", &full, err))?;
                sync_above(&full)?;
            }
            Self::Copy {
                from,
                to,
                bytes,
                mode,
                ..
            } => copy(
                from,
                &vacant(inside(sys, to)?)?,
                &beside(to),
                (*bytes, *mode),
            )?,
            Self::Tree { from, to, .. } => {
                tree::copy_marked(from, &vacant(inside(sys, to)?)?, &beside(to), id)?;
            }
            Self::Made { by, release, to } => make(by, release, &inside(sys, to)?, &beside(to))?,
            Self::Text { path, old, new, .. } => {
                as_planned(&inside(sys, path)?, old.as_deref())?;
                put(sys, path, Some(new), &temporary(path, id), None)?;
            }
            Self::Environment { path, old, new } => {
                let full = inside(sys, path)?;
                as_planned(&full, old.as_deref())?;
                match old {
                    Some(_) => overwrite(&full, new.as_bytes())?,
                    None => put(sys, path, Some(new), &temporary(path, id), None)?,
                }
            }
            Self::Variable { path, new, .. } => set_variable(&inside(sys, path)?, Some(new))?,
            Self::Tool {
                make,
                owns,
                scratch,
                ..
            } => at.tools().make(make, owns, scratch)?,
            Self::Generated { path, old, .. } => {
                as_planned(&inside(sys, path)?, Some(old))?;
                put(sys, path, foreseen, &temporary(path, id), None)?;
            }
            Self::Kexec {
                image,
                initrd,
                arguments,
            } => {
                let open =
                    |path: &PathBuf| File::open(path).map_err(|err| failed("open", path, err));
                let kernel = open(image)?;
                let initrd = initrd.as_ref().map(open).transpose()?;
                kexec::load(&kernel, initrd.as_ref(), arguments)
                    .map_err(|err| failed("load into the running kernel", image, err))?;
            }
        }
        Ok(())
    }
}

/// Requires that nothing lies there.
fn vacant(full: PathBuf) -> Result<PathBuf, OneShotError> {
    match fs::symlink_metadata(&full) {
        Ok(_) => Err(OneShotError::Foreign {
            path: full.display().to_string(),
        }),
        Err(_) => Ok(full),
    }
}

/// Requires that a file is what it was when the plan was made: what somebody wrote since would be lost.
fn as_planned(full: &Path, old: Option<&str>) -> Result<(), OneShotError> {
    if read_text(full)?.as_deref() == old {
        return Ok(());
    }
    let changed = io::Error::other("it has changed since this was planned");
    Err(failed("write", full, changed).into())
}
