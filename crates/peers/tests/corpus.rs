// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The inputs of the fuzz targets, with the targets' own checks.

use std::fs;
use std::path::PathBuf;

#[expect(clippy::expect_used, reason = "a failed check is what it is for")]
#[path = "../../../fuzz/fuzz_targets/common/mod.rs"]
mod common;

/// The files that the tools wrote.
#[test]
fn what_the_tools_wrote_contradicts_itself_nowhere() {
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files = 0;
    for file in fs::read_dir(golden).unwrap() {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        let format = punctual_peers::detect(&bytes).unwrap();
        common::read(&bytes, format.name());
        files += 1;
    }
    assert!(files > 50, "{files}");
}

#[test]
fn what_fuzzing_kept_contradicts_itself_nowhere() {
    let corpus = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let (mut targets, mut inputs) = (0, 0);
    for target in fs::read_dir(corpus).unwrap() {
        let target = target.unwrap();
        let name = target.file_name().into_string().unwrap();
        // Those of run directories, which are another crate's.
        if name.starts_with("run_") {
            continue;
        }
        let format = name.replace('_', "-");
        targets += 1;
        for input in fs::read_dir(target.path()).unwrap() {
            let bytes = fs::read(input.unwrap().path()).unwrap();
            inputs += 1;
            if name != "detect" {
                common::read(&bytes, &format);
            } else if let Some(format) = punctual_peers::detect(&bytes) {
                common::read(&bytes, format.name());
            }
        }
    }
    assert!(targets == punctual_peers::Format::ALL.len() + 1 && inputs >= targets);
}
