// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Any bytes: whatever they are taken for is read.
#![no_main]

mod common;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some(format) = punctual_peers::detect(bytes) {
        common::read(bytes, format.name());
    }
});
