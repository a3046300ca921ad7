// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The inputs of the fuzz targets for run directories, with the targets' own checks.
#![expect(clippy::unwrap_used, reason = "test helpers")]

use std::fs;
use std::path::PathBuf;

#[expect(clippy::expect_used, reason = "a failed check is what it is for")]
#[path = "../../../fuzz/fuzz_targets/common/run.rs"]
mod run;

/// A target: its name and what it does with an input.
type Target = (&'static str, fn(&[u8]));

const TARGETS: [Target; 4] = [
    ("run_hlog", run::hlog),
    ("run_samples", run::samples),
    ("run_events", run::events),
    ("run_record", run::record_),
];

fn inputs(target: &str) -> Vec<Vec<u8>> {
    let corpus = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let inputs = fs::read_dir(corpus.join(target)).unwrap();
    inputs
        .map(|input| fs::read(input.unwrap().path()).unwrap())
        .collect()
}

#[test]
fn what_fuzzing_kept_of_run_directories_is_read_or_refused() {
    for (target, check) in TARGETS {
        let inputs = inputs(target);
        assert!(!inputs.is_empty(), "{target}");
        inputs.iter().for_each(|input| check(input));
    }
}

/// Gives up what is next to what fuzzing kept: a few bytes changed, cut, doubled, or a number made extreme.
/// `PUNCTUAL_TEST_MUTATIONS` says how many for each target.
#[test]
fn what_is_near_to_it_is_read_or_refused_too() {
    let many = std::env::var("PUNCTUAL_TEST_MUTATIONS").ok();
    let many: u64 = many.map_or(300, |n| n.parse().unwrap());
    for (target, check) in TARGETS {
        let inputs: Vec<Vec<u8>> = inputs(target)
            .into_iter()
            .filter(|input| input.len() < 32 << 10)
            .collect();
        let mut random = Random(7);
        for _ in 0..many {
            let at = random.below(inputs.len());
            let mut input = inputs[at].clone();
            for _ in 0..=random.below(4) {
                change(&mut input, &mut random);
            }
            check(&input);
        }
    }
}

/// Numbers by a linear congruence (Knuth, MMIX): the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        let (a, c) = (6_364_136_223_846_793_005, 1_442_695_040_888_963_407);
        self.0 = self.0.wrapping_mul(a).wrapping_add(c);
        usize::try_from(self.0 >> 33).unwrap() % end.max(1)
    }
}

fn change(input: &mut Vec<u8>, random: &mut Random) {
    const EXTREMES: [&str; 8] = [
        "0",
        "-1",
        "1e308",
        "18446744073709551615",
        "9223372036854775807",
        "4294967295",
        "null",
        "1e-320",
    ];
    if input.is_empty() {
        return;
    }
    let at = random.below(input.len());
    match random.below(6) {
        0 => input[at] ^= 1 << random.below(8),
        1 => input[at] = u8::try_from(random.below(256)).unwrap(),
        2 => input.truncate(at),
        3 => {
            let end = (at + 1 + random.below(64)).min(input.len());
            let part = input[at..end].to_vec();
            input.splice(at..at, part);
        }
        4 => {
            let end = (at + 1 + random.below(16)).min(input.len());
            drop(input.drain(at..end));
        }
        _ => {
            // The number that follows.
            let digit = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
            let Some(from) = input.iter().skip(at).position(digit) else {
                return;
            };
            let from = at + from;
            let length = input
                .iter()
                .skip(from)
                .take_while(|byte| digit(byte))
                .count();
            let extreme = EXTREMES[random.below(EXTREMES.len())];
            input.splice(from..from + length, extreme.bytes());
        }
    }
}
