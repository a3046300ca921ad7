// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What tests of several modules need.

use punctual_sys::SysRoot;

/// Makes a machine of `files`, each a path from its root and what it holds.
pub(crate) fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, SysRoot) {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let sys = SysRoot::at(dir.path());
    (dir, sys)
}
