// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the loads do, and how much of it they have done.

use std::hint::black_box;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, RwLock};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use punctual_sys::{SysRoot, adding};

use super::{LoadSpec, REPORT_EVERY};

/// Memory accesses between two looks at the stop flag.
const CHUNK: u64 = 1 << 16;

/// Loads that are running in this process.
#[derive(Debug)]
struct LoadRun {
    stop: Arc<AtomicBool>,
    threads: Vec<LoadThread>,
    loads: Vec<Progress>,
    refusals: Receiver<String>,
    /// No thread works while this is taken for writing.
    gate: Arc<RwLock<()>>,
}

/// A thread of the load that has the number `load`.
#[derive(Debug)]
struct LoadThread {
    load: usize,
    number: u32,
    done: Arc<AtomicU64>,
    handle: JoinHandle<()>,
}

/// How far a load has come.
#[derive(Debug)]
struct Progress {
    load: LoadSpec,
    /// How often every one of its threads has worked since the last such round.
    rounds: u64,
    /// Each thread's work at the last round.
    at_round: Vec<u64>,
}

impl Progress {
    /// Returns the sum of `done`, the work of each thread, and counts a round if all have worked.
    fn advance(&mut self, done: Vec<u64>) -> u64 {
        let sum = done.iter().sum();
        if self
            .at_round
            .iter()
            .zip(&done)
            .all(|(then, now)| now > then)
        {
            self.rounds += 1;
            self.at_round = done;
        }
        sum
    }
}

impl LoadRun {
    /// Starts `loads`, one thread a CPU of `cpus` each unless its size says otherwise.
    ///
    /// # Errors
    ///
    /// Fails when a thread cannot be started, or with `OutOfMemory` when the memory load would take
    /// more than half of what is available.
    fn start(sys: &SysRoot, loads: &[LoadSpec], cpus: u32) -> io::Result<Self> {
        check_memory(sys, loads, cpus)?;
        let (refuse, refusals) = channel();
        let mut run = Self {
            stop: Arc::default(),
            threads: Vec::new(),
            loads: Vec::new(),
            refusals,
            gate: Arc::default(),
        };
        // Hundreds of threads at work would leave no time to start the others.
        let gate = Arc::clone(&run.gate);
        let closed = gate.write();
        for (place, load) in loads.iter().enumerate() {
            let threads = match load {
                LoadSpec::Cpu { threads } => threads.unwrap_or(cpus),
                LoadSpec::Memory { .. } => cpus,
            };
            for number in 0..threads {
                let thread = run.spawn(place, number, *load, refuse.clone());
                let thread = thread.map_err(|err| {
                    let what = format!("{load}: thread {number} cannot be started: {err}");
                    io::Error::new(err.kind(), what)
                })?;
                run.threads.push(thread);
            }
            run.loads.push(Progress {
                load: *load,
                rounds: 0,
                at_round: vec![0; threads as usize],
            });
        }
        drop(closed);
        Ok(run)
    }

    fn spawn(
        &self,
        place: usize,
        number: u32,
        load: LoadSpec,
        refuse: Sender<String>,
    ) -> io::Result<LoadThread> {
        let done = Arc::<AtomicU64>::default();
        let (stop, count) = (Arc::clone(&self.stop), Arc::clone(&done));
        let gate = Arc::clone(&self.gate);
        let handle = Builder::new()
            .name(format!("load/{}", load.name()))
            .spawn(move || {
                drop(gate.read());
                match load {
                    LoadSpec::Cpu { .. } => add(&stop, &count),
                    LoadSpec::Memory { block } => match reserve(block) {
                        Some(memory) => wander(&stop, &count, memory),
                        // It fails only when nobody waits for the threads any more.
                        None => drop(refuse.send(refusal(load, number, block))),
                    },
                }
            })?;
        Ok(LoadThread {
            load: place,
            number,
            done,
            handle,
        })
    }

    /// Waits until every thread has worked: its memory is there and it runs.
    fn wait_for_all(&self, stop: &AtomicBool) -> io::Result<()> {
        let idle = |thread: &&LoadThread| thread.done.load(Ordering::Relaxed) == 0;
        while let Some(thread) = self.threads.iter().find(idle)
            && !stop.load(Ordering::Relaxed)
        {
            let ended = thread.handle.is_finished();
            if let Ok(refusal) = self.refusals.try_recv() {
                return Err(io::Error::new(io::ErrorKind::OutOfMemory, refusal));
            }
            // What it had to say it has said before its end.
            if ended {
                let load = self.loads.get(thread.load).map(|progress| progress.load);
                let name = load.map(|load| load.to_string()).unwrap_or_default();
                let what = format!("{name}: thread {} ended before it worked", thread.number);
                return Err(io::Error::other(what));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Returns a line for each load: its place, its work since its start, and its rounds.
    fn report(&mut self) -> String {
        let threads = &self.threads;
        let line = |(place, progress): (usize, &mut Progress)| {
            let done = threads
                .iter()
                .filter(|thread| thread.load == place)
                .map(|thread| thread.done.load(Ordering::Relaxed))
                .collect();
            let sum = progress.advance(done);
            format!("work {place} {sum} {}\n", progress.rounds)
        };
        self.loads.iter_mut().enumerate().map(line).collect()
    }
}

impl Drop for LoadRun {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A load that panicked has nothing more to stop.
            drop(thread.handle.join());
        }
    }
}

fn refusal(load: LoadSpec, number: u32, block: u64) -> String {
    // Rounded up: a block of less than 1 MB is no block of 0 MB.
    let megabytes = block.div_ceil(1 << 20);
    let name = load.to_string();
    let name = match name.strip_suffix(&block.to_string()) {
        Some(name) if block.is_multiple_of(1 << 20) => format!("{name}{megabytes}M"),
        _ => name,
    };
    format!("{name}: thread {number} was refused {megabytes} MB")
}

/// Runs `loads` and writes reports to `out` until `stop` is set or `out` is closed.
///
/// # Errors
///
/// Fails when a thread cannot be started or is refused its memory. A closed `out` is the end, not
/// an error.
pub fn run(
    sys: &SysRoot,
    loads: &[LoadSpec],
    cpus: u32,
    stop: &AtomicBool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut loads = LoadRun::start(sys, loads, cpus)?;
    loads.wait_for_all(stop)?;
    let mut say = |text: String| out.write_all(text.as_bytes()).and_then(|()| out.flush());
    // The first report is what those after it are compared with.
    if say(format!("ready\n{}", loads.report())).is_err() {
        return Ok(());
    }
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(REPORT_EVERY);
        if say(loads.report()).is_err() {
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
    while !stop.load(Ordering::Relaxed) {
        black_box(adding::add(adding::INNER_LOOP));
        done.fetch_add(adding::INNER_LOOP, Ordering::Relaxed);
    }
}

/// Returns memory for `block` bytes, unless it is refused. None of it is touched yet.
fn reserve(block: u64) -> Option<Vec<u64>> {
    let words = usize::try_from(block / 8).ok()?.max(1);
    let mut memory = Vec::new();
    memory.try_reserve_exact(words).ok()?;
    Some(memory)
}

/// Reads and writes at random places of all of `memory` for ever.
fn wander(stop: &AtomicBool, done: &AtomicU64, mut memory: Vec<u64>) {
    let words = memory.capacity();
    // The end need not wait until all of a large block was touched.
    while memory.len() < words && !stop.load(Ordering::Relaxed) {
        memory.resize(words.min(memory.len() + (1 << 20)), 1);
    }
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
        assert!(text.starts_with("ready\nwork 0 "), "{text}");
        assert_eq!(text.lines().count(), 5, "{text}");
        for line in text.lines().skip(1) {
            let words: Vec<u64> = line
                .split(' ')
                .skip(1)
                .map(|word| word.parse().unwrap())
                .collect();
            assert!(words[1] >= CHUNK && words[2] >= 1, "{line}");
        }
    }

    #[test]
    fn a_load_larger_than_the_memory_is_refused_before_it_starts() {
        let block = 1 << 40;
        let err = LoadRun::start(&SysRoot::live(), &[LoadSpec::Memory { block }], 8).unwrap_err();
        assert_eq!(err.kind(), io::ErrorKind::OutOfMemory);
    }

    #[test]
    fn one_thread_that_stands_still_makes_its_load_stand_still() {
        let mut progress = Progress {
            load: LoadSpec::Cpu { threads: Some(2) },
            rounds: 0,
            at_round: vec![0, 0],
        };
        assert_eq!(progress.advance(vec![900, 5]), 905);
        assert_eq!(progress.rounds, 1);
        // The first stands still far ahead of the second.
        assert_eq!(progress.advance(vec![900, 10]), 910);
        assert_eq!(progress.advance(vec![900, 20]), 920);
        assert_eq!(progress.rounds, 1);
        progress.advance(vec![901, 20]);
        assert_eq!(progress.rounds, 2);
    }

    #[test]
    fn one_refused_thread_fails_all_at_once() {
        let stop = AtomicBool::new(false);
        let loads = [LoadSpec::Cpu { threads: Some(2) }];
        let mut run = LoadRun::start(&SysRoot::live(), &loads, 1).unwrap();
        run.wait_for_all(&stop).unwrap();
        let load = LoadSpec::Memory { block: 1 << 62 };
        let (refuse, refusals) = channel();
        run.refusals = refusals;
        let thread = run.spawn(0, 1, load, refuse).unwrap();
        run.threads.push(thread);
        let err = run.wait_for_all(&stop).unwrap_err().to_string();
        assert!(err.contains("thread 1 was refused "), "{err}");
    }

    #[test]
    fn a_refusal_names_the_load_as_it_was_given() {
        for (load, told) in [
            ("memory:200M", "memory:200M: thread 1 was refused 200 MB"),
            ("memory", "memory: thread 1 was refused 32 MB"),
            ("memory:5000", "memory:5000: thread 1 was refused 1 MB"),
        ] {
            let load: LoadSpec = load.parse().unwrap();
            let LoadSpec::Memory { block } = load else {
                panic!("{load}");
            };
            assert_eq!(refusal(load, 1, block), told);
        }
    }

    #[test]
    fn a_thread_that_ends_without_work_is_told() {
        let mut run = LoadRun::start(&SysRoot::live(), &[], 1).unwrap();
        run.threads.push(LoadThread {
            load: 0,
            number: 3,
            done: Arc::default(),
            handle: std::thread::spawn(|| ()),
        });
        let err = run.wait_for_all(&AtomicBool::new(false)).unwrap_err();
        assert!(err.to_string().contains("thread 3 ended"), "{err}");
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
