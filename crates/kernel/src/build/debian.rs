// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What `make bindeb-pkg` needs in addition to what a kernel is built with.

use std::fs;

use super::prerequisites::{self, Package};
use crate::source::Tree;

/// What writes the packages' descriptions in the source, and says there what they are built with.
const MAKER: &str = "scripts/package/mkdebian";

/// Without these dpkg-buildpackage makes no package at all; the second one is known by what it depends on.
const ALWAYS: [Package; 2] = [
    ("dpkg-dev", "dpkg-buildpackage"),
    ("build-essential", "g++"),
];

/// Packages of Debian, and the program or file by which one is known to be installed.
const PACKAGES: [Package; 5] = [
    ("debhelper", "/usr/bin/dh"),
    ("cpio", "cpio"),
    ("kmod", "/sbin/depmod"),
    ("libssl-dev", "/usr/include/openssl/ssl.h"),
    ("rsync", "rsync"),
];

/// Returns what is not installed of what this source makes packages with: dpkg-buildpackage itself looks only when all
/// is compiled.
pub(super) fn missing(tree: &Tree) -> Vec<&'static str> {
    let maker = fs::read(tree.path.join(MAKER)).unwrap_or_default();
    let maker = String::from_utf8_lossy(&maker);
    let wanted = PACKAGES
        .iter()
        .filter(|(package, _)| maker.contains(package));
    prerequisites::missing(ALWAYS.iter().chain(wanted))
}
