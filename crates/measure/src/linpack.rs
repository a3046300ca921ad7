// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! LINPACK: how fast dense systems of linear equations are solved.

mod bench;
mod command;
mod engine;
mod library;
mod run;
mod theory;

pub use engine::{Engine, Library, ParseEngineError};
pub use library::lack_of;
pub use run::{Linpack, run};

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use punctual_loops::linpack::{Factorisation, Meter, System};
use punctual_model::Bytes;
use punctual_sys::dense;
use punctual_sys::pages::{HugePages, Pages};

/// Returns the memory that solving a system of `order` equations takes.
pub fn memory_of(order: usize) -> Bytes {
    let numbers = System { order, seed: 0 }.numbers();
    Bytes::new(numbers.map_or(u64::MAX, |n| n as u64)).times(8)
}

/// Solves systems of `order` equations on the calling thread, one after another, until `stop` is set; adds the
/// floating-point operations to `operations` after each step.
///
/// # Errors
///
/// Fails with `ENOMEM` where memory is short, and with `Unsupported` where the processor lacks what
/// comes with its vector instructions everywhere else.
pub fn grind(order: usize, stop: &AtomicBool, operations: &AtomicU64) -> io::Result<()> {
    if !dense::product_is_supported() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let out_of_memory = || io::Error::from(io::ErrorKind::OutOfMemory);
    let mut system = System { order, seed: 1 };
    let numbers = system.numbers().ok_or_else(out_of_memory)?;
    let mut memory = Pages::map(numbers, HugePages::Ask)?;
    let meter = Meter { stop, operations };
    while !stop.load(Ordering::Relaxed) {
        let factorisation = Factorisation::new(memory, system, 1).ok_or_else(out_of_memory)?;
        factorisation.fill(meter);
        factorisation.work(meter);
        // A system without a solution is work all the same, and so rare that it is never met.
        drop(factorisation.solve(meter));
        memory = factorisation.into_memory().ok_or_else(out_of_memory)?;
        system.seed = system.seed.wrapping_add(1);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn the_load_works_until_it_is_stopped() {
        let (stop, operations) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            let load = scope.spawn(|| grind(100, &stop, &operations));
            let deadline = Instant::now() + Duration::from_secs(1_800);
            // Several systems of some 2/3 million operations.
            while operations.load(Ordering::Relaxed) < 5_000_000 && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
            stop.store(true, Ordering::Relaxed);
            load.join().unwrap().unwrap();
        });
        assert!(operations.load(Ordering::Relaxed) >= 5_000_000);
    }

    #[test]
    fn memory_that_cannot_be_said_is_all_there_is() {
        assert_eq!(memory_of(4_000).get(), 4_000 * 4_001 * 8);
        assert_eq!(memory_of(usize::MAX / 2).get(), u64::MAX);
    }
}
