// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Files that are generated from the code and kept in the repository.
//!
//! The directory belongs to the generator: a file in it that is not generated any more is stale, apart from a README.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};

/// What to do about a file that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Write,
    Check,
}

/// A file by its name within the directory.
#[derive(Debug)]
pub(crate) struct Generated {
    pub(crate) name: String,
    pub(crate) content: Vec<u8>,
}

/// Makes `directory` hold exactly `files`, or fails with the names that are not up to date.
pub(crate) fn apply(directory: &Path, files: &[Generated], mode: Mode) -> anyhow::Result<()> {
    let stale = differing(directory, files)?;
    if mode == Mode::Check {
        if stale.is_empty() {
            return Ok(());
        }
        let names: Vec<_> = stale
            .iter()
            .map(|name| directory.join(name).display().to_string())
            .collect();
        bail!("not up to date, run `make generate`: {}", names.join(", "));
    }
    for name in &stale {
        let path = directory.join(name);
        let done = match files.iter().find(|file| file.name == *name) {
            Some(file) => {
                fs::create_dir_all(directory).and_then(|()| fs::write(&path, &file.content))
            }
            None => fs::remove_file(&path),
        };
        done.with_context(|| format!("failed to update {}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}

/// Makes a file hold `content`, or fails if it does not. Its directory has other files.
pub(crate) fn apply_one(path: &Path, content: &str, mode: Mode) -> anyhow::Result<()> {
    if fs::read(path).is_ok_and(|old| old == content.as_bytes()) {
        return Ok(());
    }
    let name = path.display();
    if mode == Mode::Check {
        bail!("not up to date, run `make generate`: {name}");
    }
    fs::write(path, content).with_context(|| format!("failed to update {name}"))?;
    println!("{name}");
    Ok(())
}

/// Returns the names that are missing, different, or not generated any more.
fn differing(directory: &Path, files: &[Generated]) -> anyhow::Result<BTreeSet<String>> {
    let mut stale = BTreeSet::new();
    for file in files {
        if fs::read(directory.join(&file.name)).ok().as_ref() != Some(&file.content) {
            stale.insert(file.name.clone());
        }
    }
    if directory.is_dir() {
        let entries = fs::read_dir(directory)
            .with_context(|| format!("failed to list {}", directory.display()))?;
        for entry in entries {
            let name = entry
                .with_context(|| format!("failed to list {}", directory.display()))?
                .file_name();
            let name = name.to_string_lossy().into_owned();
            if name != "README.md" && !files.iter().any(|file| file.name == name) {
                stale.insert(name);
            }
        }
    }
    Ok(stale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, content: &str) -> Generated {
        Generated {
            name: name.into(),
            content: content.into(),
        }
    }

    #[test]
    fn check_names_what_is_missing_changed_or_left_over() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("changed"), "old").unwrap();
        fs::write(directory.path().join("left-over"), "").unwrap();
        fs::write(directory.path().join("README.md"), "by hand").unwrap();
        let files = [file("changed", "new"), file("missing", "")];

        let error = apply(directory.path(), &files, Mode::Check)
            .unwrap_err()
            .to_string();
        for name in ["changed", "left-over", "missing"] {
            assert!(error.contains(name), "{error}");
        }
        assert!(!error.contains("README"), "{error}");
        assert_eq!(
            fs::read(directory.path().join("changed")).unwrap(),
            b"old",
            "a check writes nothing"
        );

        apply(directory.path(), &files, Mode::Write).unwrap();
        apply(directory.path(), &files, Mode::Check).unwrap();
        assert!(!directory.path().join("left-over").exists());
        assert!(directory.path().join("README.md").exists());
    }

    #[test]
    fn one_file_is_checked_and_written_beside_others() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("rules.md");
        apply_one(&path, "new", Mode::Check).unwrap_err();
        assert!(!path.exists(), "a check writes nothing");
        apply_one(&path, "new", Mode::Write).unwrap();
        apply_one(&path, "new", Mode::Check).unwrap();
        apply_one(&path, "newer", Mode::Check).unwrap_err();
    }

    #[test]
    fn no_directory_and_no_files_is_up_to_date() {
        let directory = tempfile::tempdir().unwrap();
        apply(&directory.path().join("none"), &[], Mode::Check).unwrap();
    }
}
