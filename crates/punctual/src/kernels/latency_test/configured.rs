// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether a kernel was built as its fragment says, before it boots.
//!
//! The configuration of an image lies next to it: `config-RELEASE`, as distributions have it, or `config` in the directory
//! of a build. Without one nothing is known, and that is no yes.

use std::path::{Path, PathBuf};

use punctual_kernel::boot::Image;
use punctual_kernel::config::{self, Builtin, Fragment, MODELS, WITH, WITHOUT};

use crate::error::CliError;
use crate::exit::Exit;

/// Options that an error names at most.
const NAMED: usize = 6;

/// Fails unless the configuration of `image` has the options of `fragment`, by name or file.
pub(super) fn require(image: &Path, fragment: &str) -> Result<(), CliError> {
    let wanted = read(fragment)?;
    let what = || CliError::failed_to(format!("find config={fragment} in {}", image.display()));
    let Some(path) = beside(image) else {
        return Err(what()
            .because("its configuration is not next to it")
            .hint("put it there as config-RELEASE, or as `config` in the image's directory"));
    };
    let values = config::read_file(&path).map_err(|err| what().because(err))?;
    let differs = wanted.wanted.iter().filter(|(name, value)| {
        let optional = wanted.if_there.iter().any(|known| known == name);
        values.value(name) != *value && (!optional || values.mentions(name))
    });
    let differs: Vec<String> = differs
        .map(|(name, value)| format!("{name} is {}, not {value}", values.value(name)))
        .collect();
    if differs.is_empty() {
        return Ok(());
    }
    let more = differs.len().saturating_sub(NAMED);
    let mut said: Vec<String> = differs.into_iter().take(NAMED).collect();
    if more > 0 {
        said.push(format!("and {more} more"));
    }
    let said = said.join("; ");
    Err(what()
        .because(format!("{}: {said}", path.display()))
        .exiting(Exit::Verdict))
}

fn read(word: &str) -> Result<Fragment, CliError> {
    let lists = [WITH, WITHOUT, MODELS];
    let builtin = |list: &'static [Builtin]| list.iter().find(|known| known.name == word);
    if Path::new(word).is_file() {
        let found = config::read_fragment(Path::new(word));
        return found
            .map_err(|err| CliError::usage(format!("config={word}: no fragment")).because(err));
    }
    // `power-management` is in both lists: with it, unless `without-` says otherwise.
    let without = word.strip_prefix("without-");
    let found = match without {
        Some(name) => WITHOUT.iter().find(|known| known.name == name),
        None => lists.into_iter().find_map(builtin),
    };
    found.map(Builtin::fragment).ok_or_else(|| {
        CliError::usage(format!("config={word}: neither a file nor a fragment"))
            .hint("`punctual kernel config --list` names them; those that switch something off are written without-NAME")
    })
}

fn beside(image: &Path) -> Option<PathBuf> {
    let directory = image.parent()?;
    let release = Image::read(image).ok()?.release;
    let named = release.map(|release| directory.join(format!("config-{release}")));
    let plain = ["config", ".config"].map(|name| directory.join(name));
    named.into_iter().chain(plain).find(|path| path.is_file())
}
