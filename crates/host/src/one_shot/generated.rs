// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A file that a program of the machine generates of what it finds: GRUB's configuration. The program writes next to it,
//! what it wrote is looked at, and only then gets the file's name.

use std::fs::{File, FileTimes};
use std::path::Path;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::install::OneShotError;
use super::piece::At;
use super::stay::menu::Menu;
use crate::boot::{clear, failed, inside, read_text};

/// The word of a program's arguments that stands for the file that it is to write.
pub(super) const OUTPUT: &str = "{}";

/// What must hold of it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Expects {
    /// File name of the kernel that it must have an entry for.
    pub(super) kernel: String,
    /// What the default must start. None: this kernel.
    pub(super) default: Option<String>,
    /// What GRUB's environment has as its default.
    pub(super) saved: Option<String>,
}

impl Expects {
    /// Whether the kernel is in it.
    pub(super) fn mentions(&self, text: &str) -> bool {
        Menu::parse(text).has(&self.kernel)
    }

    /// Requires that the kernel is in it, and that the default is what it must be.
    pub(super) fn check(&self, path: &str, text: &str) -> Result<(), OneShotError> {
        let menu = Menu::parse(text);
        let wrong = |how: String| OneShotError::Generated {
            path: path.to_owned(),
            how,
        };
        if !menu.has(&self.kernel) {
            return Err(wrong(format!("it has no entry for {}", self.kernel)));
        }
        let Some(found) = menu.chosen(self.saved.as_deref()) else {
            return Err(wrong("it has no default".to_owned()));
        };
        let (fits, wanted) = match &self.default {
            Some(starts) => (found.starts == *starts, starts),
            None => (found.is(&self.kernel), &self.kernel),
        };
        match fits {
            true => Ok(()),
            false => Err(wrong(format!(
                "its default would start `{}`, not `{wanted}`",
                found.starts
            ))),
        }
    }
}

/// Returns where the program puts it together before it writes `temporary`.
pub(super) fn draft(temporary: &str) -> String {
    format!("{temporary}.new")
}

/// Has the program write it next to where it belongs, and returns it. Nothing is left there.
pub(super) fn generate(
    by: &[String],
    temporary: &str,
    at: &At<'_>,
) -> Result<String, OneShotError> {
    let words: Vec<String> = by
        .iter()
        .map(|word| match word == OUTPUT {
            true => temporary.to_owned(),
            false => word.clone(),
        })
        .collect();
    let full = inside(at.sys, temporary)?;
    let ran = at.tools().run(&words, None);
    let made = ran.and_then(|()| Ok(read_text(&full)?));
    for left in [temporary, &draft(temporary)] {
        let left = inside(at.sys, left)?;
        clear(&left).map_err(|err| failed("remove", &left, err))?;
    }
    made?
        .filter(|text| !text.is_empty())
        .ok_or_else(|| OneShotError::Program {
            program: words.first().cloned().unwrap_or_default(),
            how: format!("wrote no {temporary}"),
        })
}

/// Gives a file the time that it had.
pub(super) fn date(full: &Path, modified: Option<SystemTime>) -> Result<(), OneShotError> {
    let Some(modified) = modified else {
        return Ok(());
    };
    let dated = File::open(full).and_then(|file| match file.metadata()?.modified()? == modified {
        true => Ok(()),
        false => file.set_times(FileTimes::new().set_modified(modified)),
    });
    Ok(dated.map_err(|err| failed("date", full, err))?)
}
