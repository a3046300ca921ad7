// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Files that the documents name are there: a promise whose test was moved has a test no more.

use std::fs;
use std::path::Path;

const DOCUMENTS: [&str; 5] = [
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "SPECIFICATION.md",
];

/// Returns the paths between backticks; not patterns, and not what a build makes.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter(|path| {
        let below = [
            "crates/",
            "docs/",
            "scripts/",
            "xtask/",
            "adapters/",
            "packaging/",
        ];
        below.iter().any(|top| path.starts_with(top)) && !path.contains(['*', ' ', '<', '{'])
    })
}

#[test]
fn every_file_that_a_document_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut named = 0;
    for document in DOCUMENTS {
        let text = fs::read(root.join(document)).unwrap();
        let text = String::from_utf8(text).unwrap();
        for path in paths(&text) {
            named += 1;
            assert!(root.join(path).exists(), "{document} names {path}");
        }
    }
    assert!(named > 50, "{named}");
}
