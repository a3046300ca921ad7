// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Finds and reads profiles.

use std::env;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use punctual_host::private_dir::open_trusted;
use punctual_host::profile::{BUILT_IN, Profile, ProfileError, builtin};
use punctual_report::document::Document;

use super::Wish;
use crate::error::CliError;
use crate::output::written;

/// A profile larger than this is none.
const MOST_BYTES: u64 = 1 << 20;
/// Profiles that stand on each other.
const MOST_BASES: usize = 8;
/// Where a site keeps its profiles.
const SITE: &str = "/etc/punctual/profiles";

/// Returns the profile that the options ask for.
pub(crate) fn wanted(wish: &Wish) -> Result<Profile, CliError> {
    let mut profile = match &wish.profile {
        Some(name) => load(name, 0)?,
        None if wish.isolate.is_some() => load("isolate", 0)?,
        None if !wish.set.is_empty() => Profile::empty("set"),
        None => load("latency", 0)?,
    };
    profile.narrow(&wish.only, &wish.skip)?;
    for setting in &wish.set {
        profile.set(setting)?;
    }
    Ok(profile)
}

impl From<ProfileError> for CliError {
    fn from(err: ProfileError) -> Self {
        Self::usage(err.to_string()).hint("`punctual tune knobs` lists all knobs")
    }
}

fn load(name: &str, depth: usize) -> Result<Profile, CliError> {
    if depth > MOST_BASES {
        return Err(CliError::usage(format!(
            "profile {name}: more than {MOST_BASES} nested base profiles"
        ))
        .hint("check for a profile that is its own base"));
    }
    let (text, origin) = match builtin(name) {
        Some(text) => (text.to_owned(), format!("profile {name}")),
        None => {
            let path = find(name)?;
            (read(&path)?, path.display().to_string())
        }
    };
    let profile = Profile::parse(&text, &origin)?;
    match profile.base.clone() {
        Some(base) => Ok(profile.over(load(&base, depth + 1)?)),
        None => Ok(profile),
    }
}

/// Finds the file of a profile that is not built in.
fn find(name: &str) -> Result<PathBuf, CliError> {
    if name.contains('/') || name.ends_with(".toml") {
        return Ok(PathBuf::from(name));
    }
    let file = format!("{name}.toml");
    let own = env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".config")))
        .filter(|path| path.is_absolute())
        .map(|path| path.join("punctual/profiles"));
    let places: Vec<PathBuf> = own.into_iter().chain([PathBuf::from(SITE)]).collect();
    let found = places.iter().map(|place| place.join(&file));
    found.into_iter().find(|path| path.exists()).ok_or_else(|| {
        let known: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        let places: Vec<String> = places.iter().map(|p| p.display().to_string()).collect();
        CliError::usage(format!("there is no profile {name}")).hint(format!(
            "built in: {}; others are looked up in {}, or name a file that ends in .toml",
            known.join(", "),
            places.join(" and ")
        ))
    })
}

/// Reads a profile's file, which nobody else may be able to change if root is to obey it.
fn read(path: &Path) -> Result<String, CliError> {
    let fail = |err: io::Error| {
        CliError::failed_to(format!("read profile {}", path.display())).because(err)
    };
    // A FIFO would make open(2) wait for a writer.
    let regular = std::fs::metadata(path).map_err(fail)?.is_file();
    if !regular {
        return Err(CliError::failed_to(format!(
            "read profile {}: not a regular file",
            path.display()
        )));
    }
    let file = if punctual_sys::thread::is_root() {
        open_trusted(path, &owners()).map_err(|err| {
            CliError::failed_to(format!("use profile {} as root", path.display()))
                .because(err)
                .hint(
                    "the file and every directory above it must belong to root or to you and be \
                 writable by nobody else: chown, chmod go-w",
                )
        })?
    } else {
        File::open(path).map_err(fail)?
    };
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    // A part of it would be another profile.
    if bytes.len() as u64 > MOST_BYTES {
        let reason = format!("it is larger than {} MiB", MOST_BYTES >> 20);
        return Err(fail(io::Error::new(io::ErrorKind::FileTooLarge, reason)));
    }
    String::from_utf8(bytes).map_err(|err| fail(io::Error::new(io::ErrorKind::InvalidData, err)))
}

/// Whose profiles root obeys: its own, and those of whoever called it by sudo or pkexec.
pub(crate) fn owners() -> Vec<u32> {
    let caller = ["SUDO_UID", "PKEXEC_UID"].map(|name| env::var(name).ok()?.parse().ok());
    [0].into_iter()
        .chain(caller.into_iter().flatten())
        .collect()
}

/// Lists the built-in profiles, or returns the text of one.
pub(crate) fn listed(name: Option<&str>) -> Result<String, CliError> {
    let Some(name) = name else {
        let rows = BUILT_IN.iter().map(|(name, text)| {
            let summary = Profile::parse(text, name).map(|profile| profile.summary);
            Ok(((*name).to_owned(), summary?))
        });
        let rows: Result<_, ProfileError> = rows.collect();
        let list = ("", ["<Profile", "<About"], rows?);
        return Ok(written(&Document::of_names("Profiles", [list])));
    };
    match builtin(name) {
        Some(text) => Ok(text.to_owned()),
        None => read(&find(name)?),
    }
}
