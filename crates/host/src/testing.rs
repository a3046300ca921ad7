// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Machines of files, for tests.

use std::fs;

use punctual_sys::SysRoot;
use tempfile::TempDir;

/// Makes a tree of files, by their paths and texts.
pub(crate) fn machine(files: &[(&str, &str)]) -> (TempDir, SysRoot) {
    let dir = TempDir::new().unwrap();
    for (path, text) in files {
        let full = dir.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, format!("{text}\n")).unwrap();
    }
    let sys = SysRoot::at(dir.path());
    (dir, sys)
}
