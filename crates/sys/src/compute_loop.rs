// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A compute loop whose speed does not depend on where the compiler happened to put it.
//!
//! A loop of three instructions that lies across two cache lines runs at half the speed of the same
//! loop within one, and an optimising compiler removes a sum that nobody needs, or computes it in
//! one step. So the loop is written in the instructions of the machine, at the start of a line.

/// The inner loop of Raju and Govindarajulu (2015): this number of additions, nine times, a hundred times.
pub const INNER_LOOP: u64 = 1_000_000;

/// Does `additions` additions, one after the other, and returns the sum of `1..=additions`.
///
/// Hot: it takes from the machine nothing but the time of a CPU.
#[inline(never)]
pub fn add(additions: u64) -> u64 {
    if additions == 0 {
        return 0;
    }
    loop_of(additions)
}

#[cfg(target_arch = "x86_64")]
fn loop_of(additions: u64) -> u64 {
    let mut sum = 0_u64;
    // SAFETY: changes the two registers that it names and the flags, and touches no memory. The
    // count is not zero, so the loop ends when it has become that.
    unsafe {
        std::arch::asm!(
            ".p2align 6",
            "2:",
            "add {sum}, {left}",
            "dec {left}",
            "jnz 2b",
            sum = inout(reg) sum,
            left = inout(reg) additions => _,
            options(nomem, nostack),
        );
    }
    sum
}

#[cfg(target_arch = "aarch64")]
fn loop_of(additions: u64) -> u64 {
    let mut sum = 0_u64;
    // SAFETY: changes the two registers that it names and the flags, and touches no memory. The
    // count is not zero, so the loop ends when it has become that.
    unsafe {
        std::arch::asm!(
            ".p2align 6",
            "2:",
            "add {sum}, {sum}, {left}",
            "subs {left}, {left}, #1",
            "b.ne 2b",
            sum = inout(reg) sum,
            left = inout(reg) additions => _,
            options(nomem, nostack),
        );
    }
    sum
}

/// Elsewhere the compiler keeps each addition, but puts the loop where it likes.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn loop_of(additions: u64) -> u64 {
    let mut sum = 0_u64;
    for left in 1..=additions {
        sum = std::hint::black_box(sum.wrapping_add(left));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_addition_is_done() {
        for additions in [0, 1, 2, 3, 1_000, INNER_LOOP] {
            assert_eq!(add(additions), additions * (additions + 1) / 2);
        }
    }

    #[test]
    fn ten_times_the_additions_take_about_ten_times_the_cpu_time() {
        let time = |additions| {
            // The shortest of some: the others were interrupted.
            let tries = (0..20).map(|_| {
                let before = crate::thread::Tid::current().cpu_time().unwrap();
                std::hint::black_box(add(std::hint::black_box(additions)));
                crate::thread::Tid::current().cpu_time().unwrap() - before
            });
            tries.min().unwrap().as_secs_f64()
        };
        let ratio = time(10 * INNER_LOOP) / time(INNER_LOOP);
        assert!((5.0..20.0).contains(&ratio), "{ratio}");
    }
}
