// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Constructed records, and texts that are kept.
#![expect(clippy::unwrap_used, reason = "test helpers")]
#![allow(
    dead_code,
    unused_imports,
    clippy::allow_attributes,
    reason = "each test file uses a part"
)]

#[path = "../../../verdict/tests/common/mod.rs"]
mod records;

use std::path::Path;

pub(crate) use records::*;

/// Compares a text with the one that is kept; `PUNCTUAL_TEST_BLESS=1` keeps it.
pub(crate) fn compare(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.txt"));
    if std::env::var_os("PUNCTUAL_TEST_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let golden = String::from_utf8(std::fs::read(&path).unwrap()).unwrap();
    assert!(golden == text, "{name}\n--- is\n{text}\n--- was\n{golden}");
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "too wide: {line}");
        assert_eq!(line, line.trim_end());
        assert!(!line.contains(char::is_control), "{line}");
    }
}
