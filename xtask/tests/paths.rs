// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the documents promise of themselves: files that they name are there (a promise whose test was moved has a test no more), and
//! the README begins with what fits a screen.

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

#[test]
fn the_first_capture_of_the_readme_fits_a_screen_and_begins_with_the_verdict() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = String::from_utf8(fs::read(readme).unwrap()).unwrap();
    let capture = readme.split("```console\n").nth(1).unwrap();
    let capture = capture.split("```").next().unwrap();
    let lines: Vec<&str> = capture.lines().collect();
    assert!(lines.len() <= 25, "{} lines", lines.len());
    assert!(lines.iter().all(|line| line.chars().count() <= 80));
    assert_eq!(lines[0], "$ sudo punctual assess");
    assert!(lines[1].starts_with("No wake-up missed"), "{}", lines[1]);
}
