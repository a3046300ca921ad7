// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Pages in Debian's Chromium: scripts/browser.py has what is looked at. Pages and pictures stay in target/report.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{finish, machine};

/// What opens pages.
pub(crate) struct Browser {
    python: PathBuf,
    pages: PathBuf,
}

impl Browser {
    /// `None` without Chromium, or without a Python that drives it.
    pub(crate) fn new() -> Option<Self> {
        let python = machine::has_tool("chromium").then(machine::python)??;
        let pages = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../report");
        fs::create_dir_all(&pages).unwrap();
        Some(Self { python, pages })
    }

    /// Where a page of this name belongs.
    pub(crate) fn page(&self, name: &str) -> PathBuf {
        self.pages.join(name)
    }

    /// Requires that nothing is wrong with what the arguments of the script name.
    pub(crate) fn opens<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) {
        let mut command = Command::new(&self.python);
        command
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/browser.py"))
            .arg(&self.pages)
            .args(args);
        println!("{}", finish(command).fine().stdout);
    }

    /// Requires that nothing is wrong with the looks of pages.
    pub(crate) fn looks_at(&self, pages: &[PathBuf]) {
        self.opens(
            [Path::new("--look")]
                .into_iter()
                .chain(pages.iter().map(PathBuf::as_path)),
        );
    }
}
