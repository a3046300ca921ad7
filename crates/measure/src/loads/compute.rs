// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Loads that only compute: `cpu` and `memory`.

use std::hint::black_box;
use std::io;

use punctual_sys::adding;

use super::shift::{Shift, Task};

/// Memory accesses between two looks at the stop flag.
const CHUNK: u64 = 1 << 16;

/// Words of a block that are touched between two looks.
const TOUCHED: usize = 1 << 20;

/// Returns a task that adds.
pub(super) fn cpu() -> Task {
    Box::new(|shift| {
        while !shift.is_over() {
            black_box(adding::add(adding::INNER_LOOP));
            shift.did(adding::INNER_LOOP);
        }
        Ok(())
    })
}

/// Returns a task that reads and writes at random places of a block of its own.
pub(super) fn memory(block: u64, number: u32) -> Task {
    Box::new(move |shift| {
        let refused = || {
            // Rounded up: a block of less than 1 MB is no block of 0 MB.
            let megabytes = block.div_ceil(1 << 20);
            let what = format!("thread {number} could not get {megabytes} MB");
            io::Error::new(io::ErrorKind::OutOfMemory, what)
        };
        wander(shift, reserve(block).ok_or_else(refused)?);
        Ok(())
    })
}

/// Returns memory for `block` bytes, unless it is refused. None of it is touched yet.
fn reserve(block: u64) -> Option<Vec<u64>> {
    let words = usize::try_from(block / 8).ok()?.max(1);
    let mut memory = Vec::new();
    memory.try_reserve_exact(words).ok()?;
    Some(memory)
}

/// Reads and writes at random places of all of `memory` for ever.
fn wander(shift: &mut Shift<'_>, mut memory: Vec<u64>) {
    let words = memory.capacity();
    // The end need not wait until all of a large block was touched.
    while memory.len() < words && !shift.is_over() {
        memory.resize(words.min(memory.len() + TOUCHED), 1);
    }
    let mut place = 0x9e37_79b9_7f4a_7c15_u64;
    while !shift.is_over() {
        for _ in 0..CHUNK {
            // Marsaglia's xorshift64 (2003): cheap, and never twice the same line in a row.
            place ^= place << 13;
            place ^= place >> 7;
            place ^= place << 17;
            #[expect(clippy::cast_possible_truncation, reason = "any place will do")]
            let at = place as usize % words;
            if let Some(word) = memory.get_mut(at) {
                *word = word.wrapping_add(place);
            }
        }
        shift.did(CHUNK);
    }
    black_box(&memory);
}
