// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A record, as run.json, and all that is printed of it.
#![no_main]

#[path = "common/run.rs"]
mod run;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| run::record_(bytes));
