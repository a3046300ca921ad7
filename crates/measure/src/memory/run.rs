// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The instrument: rounds of all pairs of nodes and all kernels, figures and checks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use punctual_model::{Better, Bytes, Check, CpuSet, Figure, Finding, Nanos, Progress};
use punctual_sys::pages::{HugePages, NodeId, Pages};
use punctual_sys::{SysRoot, clock};

use super::nodes::{Nodes, largest_cache};
use crate::crew::Post;
use crate::error::MeasureError;
use crate::frame::{Found, Frame};
use crate::pool::Pool;
use crate::{free_memory, repeats};
use punctual_loops::memory::{Blocks, Kernel};

/// An observation takes at least this long: as many passes as that needs.
const LEAST: Nanos = Nanos::from_millis(100);

/// Pages of each block whose node is looked at.
const LOOKED_AT: usize = 64;

/// What to measure.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Memory {
    /// Size of a block; each thread has up to four of them on every memory node.
    pub block: Bytes,
    /// Loops to measure.
    pub kernels: Vec<Kernel>,
    /// Threads of a CPU node that work at once, each on blocks of its own.
    pub threads: u32,
    /// Observations of each loop and pair of nodes.
    pub repeats: u32,
    /// Whether the blocks are to lie in huge pages.
    pub huge_pages: HugePages,
}

/// A loop on a pair of nodes: CPU node, memory node.
type Place = (Kernel, NodeId, NodeId);

/// What was observed: MB/s of all threads together, and nanoseconds an access.
#[derive(Clone, Debug, Default)]
struct Observed {
    megabytes: Vec<f64>,
    nanos: Vec<f64>,
}

/// The blocks of all threads on one memory node.
type Bank = Arc<Vec<Mutex<Blocks>>>;

/// What one thread did.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    count: u64,
    took: Nanos,
}

/// Measures every pair of a CPU node and a memory node, as far as the frame's CPUs reach.
///
/// # Errors
///
/// Fails when memory or threads are unavailable, or memory cannot be bound to its node.
pub fn run(what: &Memory, frame: &mut Frame<'_>) -> Result<Found, MeasureError> {
    let setup = frame.setup().clone();
    let nodes = Nodes::read(frame.sys(), &setup.cpus);
    let mut posts = Vec::new();
    for (node, cpus) in &nodes.cpus {
        if cpus.len() < what.threads as usize {
            return Err(MeasureError::Spec {
                option: format!("--threads {}", what.threads),
                reason: format!("node {node} has {} of the CPUs to measure", cpus.len()),
            });
        }
        for cpu in cpus.iter().take(what.threads as usize) {
            posts.push(Post::on(format!("memory/{cpu}"), setup.priority, cpu));
        }
    }
    check_room(what, frame.sys(), &nodes)?;
    let pool = Pool::assemble(posts)?;
    let banks = take_memory(what, frame, &nodes)?;
    frame.prepared();
    let observed = rounds(what, frame, &pool, &nodes, &banks)?;
    let mut found = Found {
        ended: frame.ended(),
        figures: figures(what, &observed),
        findings: findings(what, frame.sys(), &setup.cpus),
        checks: vec![node_check(&nodes, &banks), observed_check(&observed)],
        ..Found::default()
    };
    let huge = huge_pages(frame.sys(), &banks);
    found.options.insert("huge_pages_got".to_owned(), huge);
    drop(banks);
    found.threads = pool.finish()?;
    Ok(found)
}

impl Memory {
    /// Returns how many blocks a thread needs that no chase goes through.
    fn plain_blocks(&self) -> usize {
        let kernels = self.kernels.iter().filter(|k| **k != Kernel::Chase);
        kernels.map(|kernel| kernel.blocks()).max().unwrap_or(0)
    }

    fn has_chase(&self) -> bool {
        self.kernels.contains(&Kernel::Chase)
    }

    /// Returns the bytes that are taken on each memory node.
    fn bytes_a_node(&self) -> Bytes {
        let blocks = self.plain_blocks() as u64 + u64::from(self.has_chase());
        self.block.times(blocks).times(self.threads.into())
    }
}

fn check_room(what: &Memory, sys: &SysRoot, nodes: &Nodes) -> Result<(), MeasureError> {
    let option = format!("--size {}", what.block);
    let wanted = what.bytes_a_node();
    let all = wanted.times(nodes.memory.len() as u64);
    free_memory::check(sys, &option, all)?;
    if nodes.memory.len() > 1 {
        for node in &nodes.memory {
            free_memory::check_node(sys, &option, *node, wanted)?;
        }
    }
    Ok(())
}

/// Takes the blocks, binds them to their nodes, and makes them present.
fn take_memory(
    what: &Memory,
    frame: &mut Frame<'_>,
    nodes: &Nodes,
) -> Result<BTreeMap<NodeId, Bank>, MeasureError> {
    let len = usize::try_from(what.block.get()).unwrap_or(usize::MAX);
    // With a single node there is nothing to bind to, and a container may forbid it.
    let bind = nodes.known && nodes.memory.len() > 1;
    let take = |node: NodeId| -> std::io::Result<Pages<u8>> {
        let mut pages = Pages::map(len, what.huge_pages)?;
        if bind {
            pages.bind_to(node)?;
        }
        pages.make_present()?;
        Ok(pages)
    };
    let mut banks = BTreeMap::new();
    for node in &nodes.memory {
        let mut bank = Vec::new();
        for _ in 0..what.threads {
            let mut take = || {
                let taken = take(*node).map_err(MeasureError::Memory);
                frame.look_before(|| Progress::of("taking memory".to_owned(), 0.0));
                taken
            };
            let mut plain = Vec::new();
            for _ in 0..what.plain_blocks() {
                plain.push(take()?);
            }
            let ring = what.has_chase().then(take).transpose()?;
            bank.push(Mutex::new(Blocks::new(plain, ring)));
        }
        banks.insert(*node, Arc::new(bank));
    }
    Ok(banks)
}

fn rounds(
    what: &Memory,
    frame: &mut Frame<'_>,
    pool: &Pool,
    nodes: &Nodes,
    banks: &BTreeMap<NodeId, Bank>,
) -> Result<BTreeMap<Place, Observed>, MeasureError> {
    let mut places = Vec::new();
    for (at, (cpu_node, _)) in nodes.cpus.iter().enumerate() {
        for (memory_node, bank) in banks {
            for kernel in &what.kernels {
                places.push((at, (*kernel, *cpu_node, *memory_node), bank));
            }
        }
    }
    // Those that the run does not come to are there too.
    let mut observed: BTreeMap<Place, Observed> = places
        .iter()
        .map(|(_, place, _)| (*place, Observed::default()))
        .collect();
    #[expect(clippy::cast_precision_loss, reason = "for display")]
    let all = places.len() as f64 * (f64::from(what.repeats) + 1.0);
    let mut done = 0.0;
    // The first observation was slower than all that follow, by a tenth for reads at random places. By inference: page
    // tables, those of a hypervisor too, are in no cache yet. So the first round is in no figure.
    for round in 0..=what.repeats {
        for (at, place, bank) in &places {
            let (kernel, cpu_node, memory_node) = *place;
            let round_is = match round {
                0 => "warming up".to_owned(),
                _ => format!("round {round} of {}", what.repeats),
            };
            let doing = format!(
                "{kernel} from node {cpu_node} in memory of node {memory_node}, {round_is}"
            );
            if frame.is_stopped() {
                return Ok(observed);
            }
            let progress = || Progress::of(doing.clone(), done / all);
            let works = measure(what, frame, pool, (*at, kernel), bank, progress)?;
            if frame.is_stopped() {
                return Ok(observed);
            }
            if round > 0 {
                observed.entry(*place).or_default().note(kernel, &works);
            }
            done += 1.0;
        }
        // In turn, so that what disturbs the machine for a while does not always meet the same ones.
        places.reverse();
    }
    Ok(observed)
}

/// Has the threads of the CPU node that is at place `at` do `kernel` on `bank`.
fn measure(
    what: &Memory,
    frame: &mut Frame<'_>,
    pool: &Pool,
    (at, kernel): (usize, Kernel),
    bank: &Bank,
    mut progress: impl FnMut() -> Progress,
) -> Result<Vec<Work>, MeasureError> {
    let threads = what.threads as usize;
    // Which of the blocks a thread works on, if it is one of that node.
    let mine = move |number: usize| (number / threads == at).then_some(number % threads);
    let prepared = Arc::clone(bank);
    pool.run(frame, &mut progress, move |number| {
        if let Some(blocks) = mine(number).and_then(|mine| prepared.get(mine)) {
            let mut blocks = blocks.lock().unwrap_or_else(PoisonError::into_inner);
            blocks.prepare(kernel);
        }
    })?;
    let works = Arc::<Mutex<Vec<Work>>>::default();
    let (bank, all, stop) = (Arc::clone(bank), Arc::clone(&works), frame.stop_flag());
    pool.run(frame, &mut progress, move |number| {
        let Some(blocks) = mine(number).and_then(|mine| bank.get(mine)) else {
            return;
        };
        let mut blocks = blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let mut work = Work::default();
        let begun = clock::monotonic();
        while work.took < LEAST && !stop.load(std::sync::atomic::Ordering::Relaxed) {
            work.count += blocks.pass(kernel);
            work.took = clock::monotonic() - begun;
        }
        all.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(work);
    })?;
    let works = works.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(works)
}

#[expect(clippy::cast_precision_loss, reason = "counts and times of a second")]
impl Observed {
    /// Adds what the threads of one observation did.
    fn note(&mut self, kernel: Kernel, works: &[Work]) {
        let rate =
            |work: &Work| (work.count * kernel.bytes_each()) as f64 / work.took.as_secs_f64() / 1e6;
        let each = |work: &Work| work.took.get() as f64 / work.count as f64;
        self.megabytes.push(works.iter().map(rate).sum());
        let nanos: f64 = works.iter().map(each).sum();
        self.nanos.push(nanos / works.len() as f64);
    }
}

fn figures(what: &Memory, observed: &BTreeMap<Place, Observed>) -> Vec<Figure> {
    let mut figures = Vec::new();
    let some = observed.iter().filter(|(_, o)| !o.megabytes.is_empty());
    for ((kernel, cpu_node, memory_node), observed) in some {
        let name = kernel.name().replace('-', "_");
        let mut add = |name: &str, unit: &str, better, values: &[f64]| {
            let figure = repeats::figure(name, unit, better, values);
            let figure = figure
                .at("cpu_node", cpu_node)
                .at("memory_node", memory_node);
            figures.push(figure.at("threads", what.threads));
        };
        if kernel.is_random() {
            add(&name, "ns", Better::Lower, &observed.nanos);
        }
        if *kernel != Kernel::Chase {
            let rate = if kernel.is_random() {
                format!("{name}_rate")
            } else {
                name
            };
            add(&rate, "MB/s", Better::Higher, &observed.megabytes);
        }
    }
    figures
}

fn findings(what: &Memory, sys: &SysRoot, cpus: &CpuSet) -> Vec<Finding> {
    /// STREAM's rule: arrays of at least four times the caches.
    const TIMES: u64 = 4;
    let caches = cpus.iter().filter_map(|cpu| largest_cache(sys, cpu));
    let Some(cache) = caches.max() else {
        return Vec::new();
    };
    let wanted = cache.saturating_mul(TIMES);
    if what.block.get() >= wanted {
        return Vec::new();
    }
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    vec![Finding::observed(
        "block-in-cache",
        format!(
            "blocks of {} MiB are less than {TIMES} times the largest cache of {} MiB: the \
             measurement may include the cache; --size {}M is enough",
            mib(what.block.get()),
            mib(cache),
            mib(wanted)
        ),
    )]
}

/// Looks where the pages are.
fn node_check(nodes: &Nodes, banks: &BTreeMap<NodeId, Bank>) -> Check {
    const ID: &str = "memory-node";
    if !nodes.known {
        return Check::pass(
            ID,
            "this kernel reports no memory nodes: all memory is one node",
        );
    }
    if let [node] = nodes.memory.as_slice() {
        return Check::pass(ID, format!("all memory is on node {node}"));
    }
    let (mut looked, mut elsewhere) = (0, 0);
    for (node, bank) in banks {
        for blocks in bank.iter() {
            let blocks = blocks.lock().unwrap_or_else(PoisonError::into_inner);
            for pages in blocks.pages() {
                match pages.nodes(LOOKED_AT) {
                    Ok(seen) => {
                        looked += seen.len();
                        elsewhere += seen.iter().filter(|at| **at != Some(*node)).count();
                    }
                    Err(err) => {
                        return Check::unknown(ID, format!("unknown: {err}"));
                    }
                }
            }
        }
    }
    Check::of(
        ID,
        elsewhere == 0,
        format!("{elsewhere} of {looked} pages checked are not on the requested node"),
    )
}

fn observed_check(observed: &BTreeMap<Place, Observed>) -> Check {
    const ID: &str = "observations";
    let counts = observed.values().map(|o| o.megabytes.len());
    let (least, most) = (counts.clone().min(), counts.clone().max());
    match (least.unwrap_or(0), most.unwrap_or(0)) {
        (_, 0) => Check::fail(ID, "the run ended before the first one"),
        (0, _) => {
            let (all, without) = (counts.len(), counts.filter(|count| *count == 0).count());
            Check::fail(
                ID,
                format!(
                    "the run ended before the first one of {without} of {all} loops and pairs of nodes"
                ),
            )
        }
        (least, most) => Check::pass(
            ID,
            format!("{least} to {most} of each loop and pair of nodes, each of {LEAST} at least"),
        ),
    }
}

/// Says how much of the blocks lies in huge pages.
fn huge_pages(sys: &SysRoot, banks: &BTreeMap<NodeId, Bank>) -> String {
    let mut ranges = Vec::new();
    for blocks in banks.values().flat_map(|bank| bank.iter()) {
        let blocks = blocks.lock().unwrap_or_else(PoisonError::into_inner);
        ranges.extend(blocks.pages().map(Pages::addresses));
    }
    let all: usize = ranges.iter().map(|(first, end)| end - first).sum();
    match sys.read("/proc/self/smaps") {
        Ok(smaps) => {
            let huge = huge_bytes(&smaps, &ranges) >> 20;
            format!("{huge} of {} MiB", all >> 20)
        }
        Err(_) => "unknown".to_owned(),
    }
}

/// Adds up `AnonHugePages` of the mappings that overlap `ranges` (proc(5), `/proc/PID/smaps`).
fn huge_bytes(smaps: &str, ranges: &[(usize, usize)]) -> u64 {
    let address = |text: &str| usize::from_str_radix(text, 16).ok();
    let mut inside = false;
    let mut kib = 0;
    for line in smaps.lines() {
        let first = line.split_whitespace().next().unwrap_or_default();
        if let Some((from, to)) = first.split_once('-')
            && let (Some(from), Some(to)) = (address(from), address(to))
        {
            inside = ranges.iter().any(|(first, end)| *first < to && from < *end);
        } else if inside && let Some(rest) = line.strip_prefix("AnonHugePages:") {
            let number = rest.split_whitespace().next();
            kib += number.and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    kib * 1_024
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::testing;
    use std::sync::atomic::Ordering;

    fn memory(kernels: &[Kernel]) -> Memory {
        Memory {
            block: Bytes::new(1 << 20),
            kernels: kernels.to_vec(),
            threads: 1,
            repeats: 2,
            huge_pages: HugePages::Leave,
        }
    }

    #[test]
    fn every_kernel_has_its_figures_for_every_pair() {
        let what = memory(Kernel::ALL);
        let outcome = testing::run(|frame| run(&what, frame)).unwrap();
        let found = outcome.found;
        let nodes = Nodes::read(&SysRoot::live(), &testing::setup().cpus);
        let pairs = nodes.cpus.len() * nodes.memory.len();
        // Five rates, three random ones in both units, and the chase.
        assert_eq!(found.figures.len(), pairs * (5 + 2 * 3 + 1));
        for figure in &found.figures {
            assert_eq!(figure.count, 2, "{figure:?}");
            assert!(figure.value.unwrap() > 0.0 && figure.interval.is_some());
        }
        for id in ["memory-node", "observations"] {
            let check = found.checks.iter().find(|c| c.id == id).unwrap();
            assert!(check.passed(), "{check:?}");
        }
        let seen = &outcome.setup.options["huge_pages_got"];
        assert!(seen.ends_with(" of 4 MiB"), "{seen}");
    }

    #[test]
    fn what_a_load_did_before_the_memory_was_there_is_no_part_of_the_run() {
        let what = memory(&[Kernel::Copy]);
        let work = testing::load_work(|frame| run(&what, frame));
        assert!(work < 1e6, "{work}");
    }

    #[test]
    fn loops_that_an_interrupted_run_did_not_come_to_have_no_figures_and_fail_the_check() {
        let what = memory(&[Kernel::Copy, Kernel::Chase]);
        testing::run(|frame| {
            let setup = frame.setup().clone();
            let nodes = Nodes::read(frame.sys(), &setup.cpus);
            let banks = take_memory(&what, frame, &nodes)?;
            let cpu = setup.cpus.iter().next().unwrap();
            let pool = Pool::assemble(vec![Post::on("memory".to_owned(), setup.priority, cpu)])?;
            frame.stop_flag().store(true, Ordering::Relaxed);
            let mut observed = rounds(&what, frame, &pool, &nodes, &banks)?;
            assert!(!observed_check(&observed).passed());
            let work = Work {
                count: 1,
                took: LEAST,
            };
            let first = observed.values_mut().next().unwrap();
            first.note(Kernel::Copy, &[work]);
            let check = observed_check(&observed);
            let missing = format!("{} of {}", observed.len() - 1, observed.len());
            assert!(
                !check.passed() && check.detail.contains(&missing),
                "{check:?}"
            );
            assert_eq!(figures(&what, &observed).len(), 1);
            observed
                .values_mut()
                .for_each(|o| o.note(Kernel::Copy, &[work]));
            assert!(observed_check(&observed).passed());
            Ok(Found::default())
        })
        .unwrap();
    }

    #[test]
    fn a_block_that_fits_in_a_cache_is_told() {
        let sys = SysRoot::live();
        let cpus = testing::setup().cpus;
        let Some(cache) = cpus.iter().filter_map(|cpu| largest_cache(&sys, cpu)).max() else {
            return;
        };
        let mut what = memory(&[Kernel::Copy]);
        what.block = Bytes::new(cache);
        assert_eq!(findings(&what, &sys, &cpus).len(), 1);
        what.block = Bytes::new(cache * 4);
        assert!(findings(&what, &sys, &cpus).is_empty());
    }

    #[test]
    fn more_threads_than_cpus_and_too_much_memory_are_refused() {
        let mut what = memory(&[Kernel::Copy]);
        what.threads = 5_000;
        let err = testing::run(|frame| run(&what, frame)).unwrap_err();
        assert!(
            err.to_string().starts_with("--threads 5000: node "),
            "{err}"
        );
        let mut what = memory(&[Kernel::Copy]);
        what.block = Bytes::new(1 << 50);
        let err = testing::run(|frame| run(&what, frame)).unwrap_err();
        assert!(
            err.is_usage() && err.to_string().starts_with("--size "),
            "{err}"
        );
    }

    #[test]
    fn huge_pages_of_other_mappings_are_not_ours() {
        let smaps = "\
7f00-7f10 rw-p 00000000 00:00 0
AnonHugePages:      2048 kB
7f10-7f20 rw-p 00000000 00:00 0
Size:               4096 kB
AnonHugePages:      4096 kB
7f20-7f30 rw-p 00000000 00:00 0
AnonHugePages:      8192 kB
";
        assert_eq!(huge_bytes(smaps, &[(0x7f12, 0x7f14)]), 4096 << 10);
        assert_eq!(
            huge_bytes(smaps, &[(0x7f12, 0x7f14), (0x7f08, 0x7f09)]),
            6144 << 10
        );
        assert_eq!(huge_bytes(smaps, &[]), 0);
    }
}
