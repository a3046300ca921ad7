// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Ordinary threads that wait for the CPU of a real-time thread.
//!
//! The kernel's fair server gives them a part of the time, but only while one of them waits there:
//! because it may run nowhere else, or because the other CPUs have enough to do. So whether one
//! waited is evidence for the fair server, or against it. Some times a second all threads of the machine are looked at: those
//! that want to run and were last on such a CPU wait there.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use punctual_model::CpuSet;
use punctual_sys::SysRoot;
use punctual_sys::thread::Tid;

use crate::tasks;
use punctual_model::Ordered as _;

/// Time between two looks, unless looking takes long.
const EVERY: Duration = Duration::from_millis(400);

/// A look may take this part of the time, on the CPUs that are not measured.
const COST: u32 = 20;

/// Names that are kept. The others are counted as waiting all the same.
const NAMES: usize = 64;

/// Threads that waited for the CPU of one measuring thread.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Waiting {
    /// Looks that were taken.
    looks: u64,
    /// Looks in which at least one ordinary thread waited.
    seen: u64,
    /// Looks by name of the waiting thread.
    names: BTreeMap<String, Waiter>,
}

#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Waiter {
    seen: u64,
    /// The look that saw it last: threads of one name count once in each.
    last: u64,
    /// Whether it may run on no other CPU than those that the measuring threads have.
    stuck: bool,
}

impl Waiting {
    /// Whether ordinary threads waited in at least half of the looks.
    pub(crate) const fn was_usual(&self) -> bool {
        self.looks > 0 && self.seen * 2 >= self.looks
    }

    /// Says who waited, the most frequent first.
    pub(crate) fn describe(&self) -> String {
        let mut names: Vec<_> = self.names.iter().collect();
        names.order_by_key(|(_, waiter)| std::cmp::Reverse((waiter.stuck, waiter.seen)));
        let list: Vec<String> = names
            .iter()
            .take(3)
            .map(|(name, waiter)| match waiter.stuck {
                true => format!("{name}, bound to this CPU, in {}", waiter.seen),
                false => format!("{name} in {}", waiter.seen),
            })
            .collect();
        let who = if list.is_empty() {
            String::new()
        } else {
            format!(": {}", list.join("; "))
        };
        format!(
            "ordinary threads waited for the CPU in {} of {} samples{who}",
            self.seen, self.looks
        )
    }

    #[cfg(test)]
    pub(crate) fn of(looks: u64, seen: u64, name: &str) -> Self {
        let stuck = true;
        let last = looks;
        let waiter = Waiter { seen, last, stuck };
        Self {
            looks,
            seen,
            names: [(name.to_owned(), waiter)].into(),
        }
    }
}

/// Looks at the machine now and then.
#[derive(Debug)]
pub(crate) struct Lookout {
    /// The CPUs of each measuring thread.
    posts: Vec<CpuSet>,
    found: Vec<Waiting>,
    next: Instant,
}

impl Lookout {
    /// Makes one for measuring threads on these CPUs.
    pub(crate) fn new(posts: Vec<CpuSet>) -> Self {
        Self {
            found: vec![Waiting::default(); posts.len()],
            posts,
            next: Instant::now() + EVERY,
        }
    }

    /// Looks, if it is time to. `last_seen` is where each measuring thread was seen last.
    pub(crate) fn look(&mut self, sys: &SysRoot, last_seen: &[Option<u32>]) {
        let begin = Instant::now();
        if begin < self.next {
            return;
        }
        let own = Tid::current().get().cast_unsigned();
        let measured = self.measured(last_seen);
        let mut seen = vec![false; self.posts.len()];
        let (posts, found) = (&self.posts, &mut self.found);
        tasks::each(sys, |task| {
            // The one who looks runs, and does not wait.
            if !task.is_runnable() || !task.is_ordinary() || task.id == own {
                return;
            }
            for (place, (cpus, waiting)) in posts.iter().zip(&mut *found).enumerate() {
                let at = last_seen.get(place).copied().flatten();
                if at.map_or_else(|| !cpus.contains(task.cpu), |cpu| cpu != task.cpu) {
                    continue;
                }
                let allowed = task.allowed(sys);
                let is_stuck = allowed.is_some_and(|a| a.without(&measured).is_empty());
                if let Some(seen) = seen.get_mut(place) {
                    *seen = true;
                }
                if waiting.names.len() < NAMES || waiting.names.contains_key(&task.name) {
                    let waiter = waiting.names.entry(task.name.clone()).or_default();
                    let look = waiting.looks + 1;
                    waiter.seen += u64::from(waiter.last != look);
                    waiter.last = look;
                    waiter.stuck |= is_stuck;
                }
            }
        });
        for (waiting, seen) in self.found.iter_mut().zip(seen) {
            waiting.looks += 1;
            waiting.seen += u64::from(seen);
        }
        self.next = begin + EVERY.max(begin.elapsed() * COST);
    }

    /// Returns the CPUs on which measuring threads are.
    fn measured(&self, last_seen: &[Option<u32>]) -> CpuSet {
        let mut measured = Vec::new();
        for (place, cpus) in self.posts.iter().enumerate() {
            match last_seen.get(place).copied().flatten() {
                Some(cpu) => measured.push(cpu),
                // It may be on any; what is confined to one CPU is then not called stuck.
                None if cpus.len() > 1 => {}
                None => measured.extend(cpus.iter()),
            }
        }
        measured.into_iter().collect()
    }

    /// Returns what was seen for each measuring thread.
    pub(crate) fn found(self) -> Vec<Waiting> {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Barrier};

    #[test]
    fn a_thread_that_wants_to_run_is_seen_by_its_name() {
        let stop = Arc::new(AtomicBool::new(false));
        let there = Arc::new(Barrier::new(3));
        let cpu = punctual_sys::sched::affinity()
            .unwrap()
            .iter()
            .next()
            .unwrap();
        let spin = |own: Arc<AtomicBool>| {
            let there = Arc::clone(&there);
            let thread = std::thread::Builder::new().name("waits-here".to_owned());
            let busy = thread.spawn(move || {
                punctual_sys::sched::set_affinity(&std::iter::once(cpu).collect()).unwrap();
                there.wait();
                while !own.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            busy.unwrap()
        };
        let busy = [spin(Arc::clone(&stop)), spin(Arc::clone(&stop))];
        let mut lookout = Lookout::new(vec![std::iter::once(cpu).collect()]);
        let sys = SysRoot::live();
        there.wait();
        // Woken from the barrier, both want to run until they have to stop.
        std::thread::sleep(Duration::from_millis(20));
        for _ in 0..3 {
            lookout.next = Instant::now();
            lookout.look(&sys, &[Some(cpu)]);
        }
        stop.store(true, Ordering::Relaxed);
        for thread in busy {
            thread.join().unwrap();
        }
        let found = lookout.found().remove(0);
        assert_eq!(found.looks, 3);
        assert!(found.was_usual(), "{found:?}");
        let waiter = &found.names["waits-here"];
        // Two of this name, and a look is still one look.
        assert!(waiter.stuck && waiter.seen <= found.seen, "{found:?}");
        assert!(found.describe().contains("waits-here"), "{found:?}");
    }
}
