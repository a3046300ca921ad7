// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The machines of the tests: text files in `tests/machines`, unpacked into a directory.
#![expect(clippy::unwrap_used, reason = "test helpers")]

use std::path::{Path, PathBuf};

use punctual_host::Archive;
use punctual_sys::SysRoot;
use tempfile::TempDir;

/// Every machine.
pub(crate) const MACHINES: [&str; 9] = [
    "arm-board-rk3399",
    "desktop-i7-4770k",
    "jetson-agx-orin",
    "kvm-guest",
    "laptop-all-wrong",
    "numa-server",
    "raspberry-pi-4",
    "raspberry-pi-5",
    "telco-node-rt",
];

/// Reads a machine.
pub(crate) fn archive(name: &str) -> Archive {
    let text = String::from_utf8(std::fs::read(file(&format!("{name}.txt"))).unwrap()).unwrap();
    text.parse().unwrap_or_else(|err| panic!("{name}: {err}"))
}

/// Unpacks a machine into a directory that is gone when it is dropped.
pub(crate) fn unpacked(archive: &Archive) -> (SysRoot, TempDir) {
    // Thousands of small files: in memory, where there is a place in memory.
    let dir = TempDir::new_in("/dev/shm")
        .or_else(|_| TempDir::new())
        .unwrap();
    archive.unpack(dir.path()).unwrap();
    (SysRoot::at(dir.path()), dir)
}

/// Returns a file beside the machines.
pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/machines")
        .join(name)
}
