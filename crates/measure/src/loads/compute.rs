// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Loads that only compute: `cpu` and `memory`.

use std::fmt;
use std::hint::black_box;
use std::io;
use std::sync::Arc;

use punctual_sys::compute_loop;

use super::kind::{Load, LoadKind, Site};
use super::parse::{Size, THREADS, bytes, count};
use super::shift::{Shift, Task};

pub(super) const CPU: LoadKind = LoadKind {
    name: "cpu",
    usage: "cpu[:N]",
    help: &["N threads that add; work in additions"],
    unit: "additions",
    parse: |size, _| {
        let threads = size.map(|n| count(n, THREADS, "threads")).transpose()?;
        Ok(Arc::new(Cpu { threads }))
    },
    ..LoadKind::THREADS
};

pub(super) const MEMORY: LoadKind = LoadKind {
    name: "memory",
    usage: "memory[:SIZE]",
    help: &["threads that read and write at random places of SIZE each [default: 32M]"],
    unit: "accesses",
    parse: |size, _| {
        let block = size.map_or(Ok(DEFAULT_MEMORY), bytes)?;
        Ok(Arc::new(Memory { block }))
    },
    ..LoadKind::THREADS
};

/// Memory that each thread of the memory load works on by default: past any cache of its core.
const DEFAULT_MEMORY: u64 = 32 << 20;

/// Memory accesses between two looks at the stop flag.
const CHUNK: u64 = 1 << 16;

/// Words of a block that are touched between two looks.
const TOUCHED: usize = 1 << 20;

/// Threads that add; one a CPU unless a number is given.
#[derive(Debug)]
struct Cpu {
    threads: Option<u32>,
}

impl Load for Cpu {
    fn threads(&self, cpus: u32) -> u32 {
        self.threads.unwrap_or(cpus)
    }

    fn prepare(&self, _site: &Site<'_>, threads: u32) -> io::Result<Vec<Task>> {
        Ok((0..threads).map(|_| add()).collect())
    }
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.threads.map_or(Ok(()), |n| write!(f, ":{n}"))
    }
}

/// A thread a CPU that reads and writes at random places of a block.
#[derive(Debug)]
struct Memory {
    /// Size of each thread's block, in bytes.
    block: u64,
}

impl Load for Memory {
    fn threads(&self, cpus: u32) -> u32 {
        cpus
    }

    fn memory(&self, threads: u32) -> u64 {
        self.block.saturating_mul(threads.into())
    }

    fn prepare(&self, _site: &Site<'_>, threads: u32) -> io::Result<Vec<Task>> {
        Ok((0..threads)
            .map(|number| memory(self.block, number))
            .collect())
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.block {
            DEFAULT_MEMORY => Ok(()),
            block => write!(f, ":{}", Size(block)),
        }
    }
}

/// Returns a task that adds.
fn add() -> Task {
    Box::new(|shift| {
        while !shift.is_over() {
            black_box(compute_loop::add(compute_loop::INNER_LOOP));
            shift.did(compute_loop::INNER_LOOP);
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
