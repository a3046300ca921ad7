// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Files of the repository.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context as _;

/// Returns the root of the repository that this program was built from.
pub(crate) fn workspace_root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_path_buf()
}

/// Reads a text file as it is.
#[expect(
    clippy::disallowed_methods,
    reason = "xtask runs on the developer's own machine, never on a captured tree"
)]
pub(crate) fn read(path: &Path) -> io::Result<String> {
    fs::read_to_string(path)
}

/// Lists the Rust files below `root`, sorted, without build output and hidden directories.
pub(crate) fn rust_files(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    files(root, &["rs"])
}

/// Lists the files below `root` with one of these extensions, sorted, without build output and hidden directories.
pub(crate) fn files(root: &Path, extensions: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut pending = vec![root.to_path_buf()];
    while let Some(directory) = pending.pop() {
        let entries = fs::read_dir(&directory)
            .with_context(|| format!("failed to list {}", directory.display()))?;
        for entry in entries {
            let entry = entry.with_context(|| format!("failed to list {}", directory.display()))?;
            let (path, name) = (entry.path(), entry.file_name());
            let kind = entry
                .file_type()
                .with_context(|| format!("failed to examine {}", path.display()))?;
            if kind.is_dir() {
                if name != "target" && !name.as_encoded_bytes().starts_with(b".") {
                    pending.push(path);
                }
            } else if path
                .extension()
                .is_some_and(|found| extensions.iter().any(|wanted| found == *wanted))
            {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
