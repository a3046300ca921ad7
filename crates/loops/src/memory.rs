// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The loops over memory.
//!
//! Each touches all of its blocks, or enough places of one that the caches are of no help. What they work on was
//! prepared before, so that a loop can be repeated as it is.

use std::hint::black_box;

use punctual_model::choices;

use pulp::{Arch, Simd, WithSimd};
use punctual_sys::pages::{Pages, at_share, at_share_mut};

/// Bytes of a cache line, as the chase goes from one to another. Where lines are longer, two steps may share one.
const LINE: usize = 64;

/// Words of a cache line.
const LINE_WORDS: usize = LINE / 8;

/// Random accesses of one pass, at most.
const ACCESSES: usize = 1 << 22;

/// Steps of the chase in one pass, at most.
const STEPS: usize = 1 << 19;

/// A loop over memory.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Kernel {
    /// One block to another, by the C library's `memcpy`.
    Copy,
    /// STREAM's copy: `c = a`.
    StreamCopy,
    /// STREAM's scale: `b = s c`.
    StreamScale,
    /// STREAM's add: `c = a + b`.
    StreamAdd,
    /// STREAM's triad: `a = b + s c`.
    StreamTriad,
    /// Words of 8 bytes at random places, read; the places do not depend on what is read.
    RandomRead,
    /// Words of 8 bytes at random places, written.
    RandomWrite,
    /// Counters of 4 bytes at random places, increased, as numademo's `random2`.
    RandomUpdate,
    /// From one cache line to the next in an order without a pattern; each place is read from the one before.
    Chase,
}

// The name is that on the command line, and, with underscores, that of the figure.
choices!(Kernel {
    Copy => "copy",
    StreamCopy => "stream-copy",
    StreamScale => "stream-scale",
    StreamAdd => "stream-add",
    StreamTriad => "stream-triad",
    RandomRead => "random-read",
    RandomWrite => "random-write",
    RandomUpdate => "random-update",
    Chase => "chase",
});

impl Kernel {
    /// Returns how many bytes count for one element or access: STREAM counts what is read and what is written,
    /// a copy counts once.
    pub const fn bytes_each(self) -> u64 {
        match self {
            Self::StreamCopy | Self::StreamScale => 16,
            Self::StreamAdd | Self::StreamTriad => 24,
            Self::RandomUpdate => 4,
            Self::Copy | Self::RandomRead | Self::RandomWrite | Self::Chase => 8,
        }
    }

    /// Whether it goes to one place after another, so that the time of each is what matters.
    pub const fn is_random(self) -> bool {
        matches!(
            self,
            Self::RandomRead | Self::RandomWrite | Self::RandomUpdate | Self::Chase
        )
    }

    /// Returns how many blocks it works on.
    pub const fn blocks(self) -> usize {
        match self {
            Self::StreamAdd | Self::StreamTriad => 3,
            Self::Copy | Self::StreamCopy | Self::StreamScale => 2,
            Self::RandomRead | Self::RandomWrite | Self::RandomUpdate | Self::Chase => 1,
        }
    }
}

/// The blocks of one thread: three, and one for the chase that keeps its order.
#[derive(Debug)]
pub struct Blocks {
    plain: Vec<Pages<u8>>,
    ring: Option<Pages<u8>>,
    /// Where the chase goes on, and where the random places do.
    at: u64,
    seed: u64,
}

impl Blocks {
    /// Makes them of pages that are present.
    pub fn new(plain: Vec<Pages<u8>>, ring: Option<Pages<u8>>) -> Self {
        let mut blocks = Self {
            plain,
            ring,
            at: 0,
            seed: 0x9e37_79b9_7f4a_7c15,
        };
        if let Some(ring) = &mut blocks.ring {
            link(ring.numbers_mut());
        }
        blocks
    }

    /// Returns all of their pages.
    pub fn pages(&self) -> impl Iterator<Item = &Pages<u8>> {
        self.plain.iter().chain(&self.ring)
    }

    /// Writes what `kernel` expects to find. Not measured.
    pub fn prepare(&mut self, kernel: Kernel) {
        if kernel.is_random() {
            return;
        }
        // What random writes left could be numbers that are slow to calculate with.
        for (block, value) in self.plain.iter_mut().zip([1.0, 2.0, 0.5]) {
            block.numbers_mut::<f64>().fill(value);
        }
    }

    /// Does one pass; returns how many elements or accesses it was.
    pub fn pass(&mut self, kernel: Kernel) -> u64 {
        let count = match (kernel, self.plain.as_mut_slice()) {
            (Kernel::Chase, _) => self.ring.as_ref().map_or(0, |ring| {
                let (at, steps) = chase(ring.numbers(), self.at);
                self.at = at;
                steps
            }),
            (Kernel::RandomRead, [block, ..]) => read_at_random(block.numbers(), &mut self.seed),
            (Kernel::RandomWrite, [block, ..]) => {
                write_at_random(block.numbers_mut(), &mut self.seed)
            }
            (Kernel::RandomUpdate, [block, ..]) => {
                update_at_random(block.numbers_mut(), &mut self.seed)
            }
            (Kernel::Copy, [from, to, ..]) => {
                to.copy_from_slice(from);
                black_box(&mut **to);
                to.len() / 8
            }
            (_, [a, b, rest @ ..]) => {
                let c = rest.first_mut().map(|c| c.numbers_mut());
                stream(kernel, a.numbers_mut(), b.numbers_mut(), c)
            }
            _ => 0,
        };
        count as u64
    }
}

/// STREAM's loops. Those of two operands have the block they write to second.
fn stream(kernel: Kernel, a: &mut [f64], b: &mut [f64], c: Option<&mut [f64]>) -> usize {
    struct Stream<'a>(Kernel, &'a mut [f64], &'a mut [f64], &'a mut [f64], f64);

    impl WithSimd for Stream<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            let Self(kernel, a, b, c, s) = self;
            match kernel {
                Kernel::StreamScale => {
                    for (b, a) in b.iter_mut().zip(a) {
                        *b = s * *a;
                    }
                }
                Kernel::StreamAdd => {
                    for ((c, a), b) in c.iter_mut().zip(a).zip(b) {
                        *c = *a + *b;
                    }
                }
                Kernel::StreamTriad => {
                    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                        *a = *b + s * *c;
                    }
                }
                _ => {
                    for (b, a) in b.iter_mut().zip(a) {
                        *b = *a;
                    }
                }
            }
        }
    }

    let count = a.len();
    let c = c.unwrap_or_default();
    // Unknown to the compiler, and of a size that many passes keep within bounds.
    let s = black_box(0.4);
    Arch::new().dispatch(Stream(kernel, &mut *a, &mut *b, &mut *c, s));
    black_box((a, b, c));
    count
}

/// The next of a sequence of numbers: a linear congruential generator modulo 2^64 with Knuth's factor (The Art of
/// Computer Programming, volume 2, section 3.3.4). Its high bits are as good as random, and it costs next to nothing.
#[inline]
const fn next(seed: u64) -> u64 {
    seed.wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407)
}

fn read_at_random(words: &[u64], seed: &mut u64) -> usize {
    let accesses = words.len().min(ACCESSES);
    let mut at = *seed;
    let mut sum = 0_u64;
    for _ in 0..accesses {
        at = next(at);
        if let Some(word) = at_share(words, at) {
            sum = sum.wrapping_add(*word);
        }
    }
    *seed = at;
    black_box(sum);
    accesses
}

fn write_at_random(words: &mut [u64], seed: &mut u64) -> usize {
    let accesses = words.len().min(ACCESSES);
    let mut at = *seed;
    for _ in 0..accesses {
        at = next(at);
        if let Some(word) = at_share_mut(words, at) {
            *word = at;
        }
    }
    *seed = at;
    black_box(words);
    accesses
}

fn update_at_random(counters: &mut [u32], seed: &mut u64) -> usize {
    let accesses = counters.len().min(ACCESSES);
    let mut at = *seed;
    for _ in 0..accesses {
        at = next(at);
        if let Some(counter) = at_share_mut(counters, at) {
            *counter = counter.wrapping_add(1);
        }
    }
    *seed = at;
    black_box(counters);
    accesses
}

/// Makes the first word of each line the index of the next line's, in one ring through all of them: Sattolo's
/// shuffle (S. Sattolo, "An algorithm to generate a random cyclic permutation", 1986).
#[expect(clippy::cast_possible_truncation, reason = "below a number of lines")]
fn link(words: &mut [u64]) {
    let lines = words.len() / LINE_WORDS;
    for line in 0..lines {
        words[line * LINE_WORDS] = (line * LINE_WORDS) as u64;
    }
    let mut seed = 1;
    for line in (1..lines).rev() {
        seed = next(seed);
        // A line before this one: its place among them.
        let other = (u128::from(seed) * line as u128) >> 64;
        words.swap(line * LINE_WORDS, other as usize * LINE_WORDS);
    }
}

#[expect(clippy::cast_possible_truncation, reason = "indexes that were a usize")]
fn chase(ring: &[u64], from: u64) -> (u64, usize) {
    let steps = (ring.len() / LINE_WORDS).min(STEPS);
    let mut at = from;
    for _ in 0..steps {
        at = ring[at as usize];
    }
    (black_box(at), steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_sys::pages::HugePages;

    const BYTES: usize = 64 * 1_024;

    fn blocks() -> Blocks {
        let map = || Pages::map(BYTES, HugePages::Leave).unwrap();
        Blocks::new(vec![map(), map(), map()], Some(map()))
    }

    fn numbers(block: &Pages<u8>) -> Vec<f64> {
        block.numbers::<f64>().to_vec()
    }

    #[test]
    fn names_round_trip_and_bad_ones_say_which_there_are() {
        for kernel in Kernel::ALL {
            assert_eq!(kernel.name().parse::<Kernel>().unwrap(), *kernel);
        }
        let err = "memset".parse::<Kernel>().unwrap_err().to_string();
        assert!(err.starts_with("`memset` is not one of: copy, "), "{err}");
    }

    #[test]
    fn streams_calculate_what_stream_says() {
        for (kernel, block, value) in [
            (Kernel::Copy, 1, 1.0),
            (Kernel::StreamCopy, 1, 1.0),
            (Kernel::StreamScale, 1, 0.4),
            (Kernel::StreamAdd, 2, 3.0),
            (Kernel::StreamTriad, 0, 2.2),
        ] {
            let mut blocks = blocks();
            blocks.prepare(kernel);
            assert_eq!(blocks.pass(kernel), (BYTES / 8) as u64);
            let got = numbers(&blocks.plain[block]);
            assert!(got.iter().all(|x| (x - value).abs() < 1e-15), "{kernel}");
        }
    }

    #[test]
    fn the_chase_visits_every_line_once_before_it_is_back() {
        let blocks = blocks();
        let ring = blocks.ring.as_ref().unwrap().numbers::<u64>();
        let lines = BYTES / LINE;
        let mut at = 0;
        let mut seen = vec![false; lines];
        for _ in 0..lines {
            let line = usize::try_from(at).unwrap() / LINE_WORDS;
            assert!(
                !std::mem::replace(&mut seen[line], true),
                "line {line} twice"
            );
            at = ring[usize::try_from(at).unwrap()];
        }
        assert_eq!(at, 0, "the ring is not closed");
        assert_eq!(chase(ring, 0), (0, lines));
    }

    #[test]
    fn random_places_are_spread_over_all_of_the_block() {
        let mut blocks = blocks();
        // As many increments as counters: a share of 1 - 1/e of them is hit at least once.
        let count = blocks.pass(Kernel::RandomUpdate);
        let counters = blocks.plain[0].numbers::<u32>();
        assert_eq!(count, counters.len() as u64);
        let sum: u64 = counters.iter().copied().map(u64::from).sum();
        assert_eq!(sum, count);
        for part in counters.chunks(counters.len() / 8) {
            let hit = part.iter().filter(|c| **c > 0).count() as f64 / part.len() as f64;
            assert!((hit - 0.632).abs() < 0.05, "{hit}");
        }
        assert_eq!(blocks.pass(Kernel::RandomWrite), (BYTES / 8) as u64);
        assert_eq!(blocks.pass(Kernel::RandomRead), (BYTES / 8) as u64);
    }
}
