// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the loads do, and how much of it they have done.

use std::hint::black_box;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle};

use punctual_sys::SysRoot;

use super::{LoadSpec, REPORT_EVERY};

/// Additions, or memory accesses, between two looks at the stop flag.
const CHUNK: u64 = 1 << 16;

/// Loads that are running in this process.
#[derive(Debug)]
pub struct LoadRun {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    work: Vec<(LoadSpec, Arc<AtomicU64>)>,
}

impl LoadRun {
    /// Returns each load's work since its start: additions, or memory accesses.
    pub fn work(&self) -> impl Iterator<Item = (LoadSpec, u64)> + '_ {
        self.work
            .iter()
            .map(|(load, done)| (*load, done.load(Ordering::Relaxed)))
    }
}

impl Drop for LoadRun {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A load that panicked has nothing more to stop.
            drop(thread.join());
        }
    }
}

/// Starts `loads`, one thread a CPU of `cpus` each unless its size says otherwise.
///
/// Returns when every load's memory is there.
///
/// # Errors
///
/// Fails when a thread cannot be started, or with `OutOfMemory` when the memory load would take
/// more than half of what is available.
fn start(sys: &SysRoot, loads: &[LoadSpec], cpus: u32) -> io::Result<LoadRun> {
    check_memory(sys, loads, cpus)?;
    let mut run = LoadRun {
        stop: Arc::default(),
        threads: Vec::new(),
        work: Vec::new(),
    };
    for load in loads {
        let done = Arc::new(AtomicU64::new(0));
        run.work.push((*load, Arc::clone(&done)));
        let threads = match load {
            LoadSpec::Cpu { threads } => threads.unwrap_or(cpus),
            LoadSpec::Memory { .. } => cpus,
        };
        for _ in 0..threads {
            let (stop, done, load) = (Arc::clone(&run.stop), Arc::clone(&done), *load);
            let thread = Builder::new()
                .name(format!("load/{}", load.name()))
                .spawn(move || match load {
                    LoadSpec::Cpu { .. } => add(&stop, &done),
                    LoadSpec::Memory { block } => wander(&stop, &done, block),
                })?;
            run.threads.push(thread);
        }
    }
    Ok(run)
}

/// Runs `loads` and writes reports to `out` until `stop` is set or `out` is closed.
///
/// # Errors
///
/// Fails as the start of the loads does. A closed `out` is the end, not an error.
pub fn run(
    sys: &SysRoot,
    loads: &[LoadSpec],
    cpus: u32,
    stop: &AtomicBool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let loads = start(sys, loads, cpus)?;
    let mut say = |text: String| out.write_all(text.as_bytes()).and_then(|()| out.flush());
    // A load is ready when it has done something: its memory is there and its thread runs.
    while !stop.load(Ordering::Relaxed) && loads.work().any(|(_, done)| done == 0) {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    if say("ready\n".to_owned()).is_err() {
        return Ok(());
    }
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(REPORT_EVERY);
        let lines: String = loads
            .work()
            .map(|(load, done)| format!("work {load} {done}\n"))
            .collect();
        if say(lines).is_err() {
            break;
        }
    }
    Ok(())
}

fn check_memory(sys: &SysRoot, loads: &[LoadSpec], cpus: u32) -> io::Result<()> {
    let wanted: u64 = loads
        .iter()
        .map(|load| match load {
            LoadSpec::Cpu { .. } => 0,
            LoadSpec::Memory { block } => block.saturating_mul(cpus.into()),
        })
        .fold(0, u64::saturating_add);
    let available = available_bytes(sys);
    match available {
        Some(available) if wanted > available / 2 => Err(io::Error::new(
            io::ErrorKind::OutOfMemory,
            format!("the loads want {wanted} bytes, more than half of the {available} available"),
        )),
        _ => Ok(()),
    }
}

fn available_bytes(sys: &SysRoot) -> Option<u64> {
    let text = sys.read("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1_024)
}

/// Adds for ever.
fn add(stop: &AtomicBool, done: &AtomicU64) {
    let mut sum = 0_u64;
    while !stop.load(Ordering::Relaxed) {
        for n in 0..CHUNK {
            sum = black_box(sum.wrapping_add(n));
        }
        done.fetch_add(CHUNK, Ordering::Relaxed);
    }
    black_box(sum);
}

/// Reads and writes at random places of `block` bytes for ever.
fn wander(stop: &AtomicBool, done: &AtomicU64, block: u64) {
    let words = usize::try_from(block / 8).unwrap_or(usize::MAX).max(1);
    let mut memory = vec![0_u64; 0];
    // Refused memory leaves the load without work, which its reader sees.
    if memory.try_reserve_exact(words).is_err() {
        return;
    }
    memory.resize(words, 1);
    let mut place = 0x9e37_79b9_7f4a_7c15_u64;
    while !stop.load(Ordering::Relaxed) {
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
        done.fetch_add(CHUNK, Ordering::Relaxed);
    }
    black_box(&memory);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_loads_report_work_and_end() {
        let loads = [
            LoadSpec::Cpu { threads: Some(1) },
            LoadSpec::Memory { block: 1 << 16 },
        ];
        let stop = AtomicBool::new(false);
        let mut reports = Closing {
            lines: Vec::new(),
            left: 2,
        };
        run(&SysRoot::live(), &loads, 1, &stop, &mut reports).unwrap();
        let text = String::from_utf8(reports.lines).unwrap();
        assert!(text.starts_with("ready\nwork cpu:1 "), "{text}");
        for line in text.lines().skip(1) {
            let work: u64 = line.rsplit(' ').next().unwrap().parse().unwrap();
            assert!(work > 0, "{line}");
        }
    }

    #[test]
    fn a_load_larger_than_the_memory_is_refused_before_it_starts() {
        let block = 1 << 40;
        let err = start(&SysRoot::live(), &[LoadSpec::Memory { block }], 8).unwrap_err();
        assert_eq!(err.kind(), io::ErrorKind::OutOfMemory);
    }

    /// Takes some writes, then is closed like a pipe without a reader.
    struct Closing {
        lines: Vec<u8>,
        left: u32,
    }

    impl Write for Closing {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.left == 0 {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            self.left -= 1;
            self.lines.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}
