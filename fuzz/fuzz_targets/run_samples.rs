// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `samples.zst`, packed or to be packed.
#![no_main]

#[path = "common/run.rs"]
mod run;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| run::samples(bytes));
