// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What must be installed before much is compiled: packages of Debian, and the program or file by which each is known.

use std::path::Path;

use crate::tool::has;

/// A package, and the program or file by which it is known to be installed.
pub(super) type Package = (&'static str, &'static str);

/// What any configuration with everything on is compiled with.
const ANY: [Package; 5] = [
    ("gcc", "gcc"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("libelf-dev", "/usr/include/gelf.h"),
];

/// What all of it takes in addition: certificates, headers as an archive, code that scripts write.
const WHOLE: [Package; 4] = [
    ("libssl-dev", "/usr/include/openssl/ssl.h"),
    ("cpio", "cpio"),
    ("perl", "perl"),
    ("python3", "python3"),
];

/// Returns what a build test lacks.
pub(super) fn of_test(whole: bool) -> Vec<&'static str> {
    let more = WHOLE.iter().filter(|_| whole);
    missing(ANY.iter().chain(more))
}

/// Returns the packages that are not installed.
pub(super) fn missing<'a>(packages: impl Iterator<Item = &'a Package>) -> Vec<&'static str> {
    packages
        .filter(|(_, evidence)| !is_there(evidence))
        .map(|(package, _)| *package)
        .collect()
}

fn is_there(evidence: &str) -> bool {
    match evidence.starts_with('/') {
        true => Path::new(evidence).exists(),
        false => has(evidence),
    }
}
