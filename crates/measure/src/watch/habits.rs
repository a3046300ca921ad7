// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What real-time code should avoid and the trace of a watched thread shows: in its cycles it takes page faults, asks for
//! memory, uses files, yields, or waits for threads of a lower priority.
//!
//! How a thread is set up, its policy or its limits, the trace does not show: whoever starts the watching judges that.

mod files;
mod rules;

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use punctual_model::watch::{Habit, Stack};
use punctual_model::{Evidence, Ordered as _, Rule, Verdict};
use punctual_sys::{SysRoot, calls};

use self::files::Files;
use self::rules::{Entry, Kind, RULES};
use super::cycle::{Cause, Cycle, Piece};
use super::stacks::{At, Site};
use super::target::lives;
use super::thread::{State, Thread, Waited};
use super::wait::Wait;
use super::who::{Names, Tid, Who};
use super::words;

/// Says what is wrong with how a living thread is set up.
pub type Judge = fn(&SysRoot, i32) -> Vec<Verdict>;

/// The first cycles of a thread touch memory that is touched for the first time; faults in them are no habit.
const FIRST: u64 = 10;

/// Different files, locks or calls that are kept of one rule.
const KEPT: usize = 64;

/// Those of them that are cited.
const CITED: usize = 5;

/// Returns the rules about what a thread does in its cycles.
pub fn rules() -> Vec<Rule> {
    RULES.iter().map(Entry::rule).collect()
}

/// Changes of the address space.
const MEMORY: [&str; 6] = ["mmap", "munmap", "brk", "mremap", "madvise", "mprotect"];

/// Waiting for storage.
const SYNC: [&str; 6] = [
    "fsync",
    "fdatasync",
    "sync",
    "syncfs",
    "sync_file_range",
    "msync",
];

/// Calls that take a path, or change a file.
const FILES: [&str; 29] = [
    "open",
    "openat",
    "openat2",
    "creat",
    "stat",
    "lstat",
    "newfstatat",
    "statx",
    "access",
    "faccessat",
    "faccessat2",
    "readlink",
    "readlinkat",
    "getdents64",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "link",
    "linkat",
    "mkdir",
    "mkdirat",
    "rmdir",
    "truncate",
    "ftruncate",
    "fallocate",
    "sendfile",
    "copy_file_range",
];

/// Returns the numbers of the calls that real-time code should avoid, whatever they are made for.
pub(super) fn calls() -> Vec<i64> {
    let of_one = |name: &str| matches!(name, "sched_yield" | "write" | "writev" | "pwrite64");
    let all = (0..1_024_i64).filter(|call| {
        let name = calls::name(*call).unwrap_or_default();
        let lists = [&MEMORY[..], &SYNC, &FILES];
        of_one(name) || lists.iter().any(|list| list.contains(&name))
    });
    all.collect()
}

/// What happened of one kind.
#[derive(Clone, Debug, Default)]
struct Seen {
    count: u64,
    cycles: u64,
    last_cycle: Option<u64>,
    total: u64,
    max: u64,
    by: BTreeMap<(String, String), u64>,
    /// Where it happened.
    sites: BTreeMap<Site, u64>,
}

impl Seen {
    fn note_site(&mut self, site: Option<Site>, count: u64) {
        if let Some(site) = site
            && (self.sites.len() < KEPT || self.sites.contains_key(&site))
        {
            *self.sites.entry(site).or_default() += count;
        }
    }

    fn add(&mut self, cycle: u64, count: u64, ns: u64, what: (String, String)) {
        self.count += count;
        self.total += ns;
        self.max = self.max.max(ns);
        self.cycles += u64::from(self.last_cycle != Some(cycle));
        self.last_cycle = Some(cycle);
        if self.by.len() < KEPT || self.by.contains_key(&what) {
            *self.by.entry(what).or_default() += count;
        }
    }

    /// The files, locks and calls, those first that come most often.
    fn evidence(&self, of: &Entry) -> Vec<Evidence> {
        let mut by: Vec<_> = self.by.iter().collect();
        by.order_by_key(|(_, count)| Reverse(**count));
        let cited = by.into_iter().take(CITED);
        let cited = cited.map(|((path, what), count)| Evidence {
            path: path.clone(),
            value: Some(match what.is_empty() {
                true => counted(*count, of.counts),
                false => format!("{what}, {}", counted(*count, of.counts)),
            }),
            problem: None,
        });
        cited.collect()
    }
}

/// What is known of one thread.
#[derive(Debug, Default)]
struct Of {
    seen: BTreeMap<Kind, Seen>,
    files: Files,
    /// What is wrong with how it is set up; nothing where it has ended before that could be judged.
    verdicts: Option<Vec<Verdict>>,
}

impl Of {
    fn add(
        &mut self,
        kind: Kind,
        cycle: u64,
        count: u64,
        ns: u64,
        what: (String, String),
    ) -> &mut Seen {
        let seen = self.seen.entry(kind).or_default();
        seen.add(cycle, count, ns, what);
        seen
    }

    /// Returns which habit a system call is, if it is one, and what is cited of it: a file and the call, or the call.
    fn kind_of(&self, call: Wait) -> Option<(Kind, (String, String))> {
        let name = calls::name(call.call)?;
        let alone = |kind| Some((kind, (name.to_owned(), String::new())));
        let descriptor = call.first();
        let with_file = |kind| {
            let file = self.files.path(descriptor).unwrap_or("?").to_owned();
            Some((kind, (file, name.to_owned())))
        };
        match name {
            "sched_yield" => alone(Kind::Yield),
            // They name no descriptor.
            "sync" | "msync" => alone(Kind::Sync),
            _ if MEMORY.contains(&name) => alone(Kind::Memory),
            _ if SYNC.contains(&name) => with_file(Kind::Sync),
            _ if FILES.contains(&name) => alone(Kind::Files),
            _ if name.contains("write") && self.files.is_output(descriptor) => {
                with_file(Kind::Output)
            }
            _ if name.contains("read") && self.files.is_file(descriptor) => with_file(Kind::Files),
            _ => None,
        }
    }

    /// Page faults, and inversions that happened.
    fn delays(
        &mut self,
        thread: &Thread,
        cycle: &Cycle,
        begin: &Waited,
        end: &Waited,
        names: &Names,
    ) {
        // What delays a cycle before it could begin belongs to the cycle before.
        let own = |cause: Cause| {
            let pieces = cycle.pieces.iter();
            let pieces = pieces.filter(|p| p.cause == cause && p.from >= begin.left);
            pieces.map(Piece::length).sum::<u64>()
        };
        let faults = thread.faults_within(begin.left, end.entered);
        if cycle.number >= FIRST && faults > 0 {
            let what = ("events/exceptions".to_owned(), String::new());
            let ns = own(Cause::Fault);
            let seen = self.add(Kind::Faults, cycle.number, faults, ns, what);
            for (cause, site, count) in &cycle.sites {
                if *cause == Cause::Fault {
                    seen.note_site(Some(*site), u64::from(*count));
                }
            }
        }
        for (_, cause, _) in cycle.parts() {
            if let Cause::KeptHolder { who, holder } = cause
                && is_below(thread, who)
                && own(cause) > 0
            {
                let what = format!("kept {} from running", names.text(holder));
                let what = (words::who(who, names), what);
                self.add(Kind::Inversion, cycle.number, 1, own(cause), what);
            }
        }
    }

    /// Waits that the wrong threads ended.
    fn waits(&mut self, thread: &Thread, cycle: u64, begin: &Waited, end: &Waited, names: &Names) {
        for (span, from, to) in thread.spans(begin.entered, end.entered) {
            let State::Blocked {
                call, by: Some(by), ..
            } = span.state
            else {
                continue;
            };
            let who = || words::who(by, names);
            if let Some((wait, _)) = call
                && span.from >= begin.left
                && wait.is_plain_lock()
                && is_below(thread, by)
            {
                let what = (who(), format!("released futex {:#x}", wait.first()));
                let seen = self.add(Kind::PlainLock, cycle, 1, to - from, what);
                seen.note_site(thread.site(At::Wait, span.from), 1);
            } else if is_interrupt_thread(by, names) && thread.prio < 100 && !is_above(thread, by) {
                // The wait for a device is what it is there for, and takes no time from a cycle.
                let what = (who(), "ended the wait".to_owned());
                self.add(Kind::AboveInterrupt, cycle, 1, 0, what);
            }
        }
    }
}

/// What the watched threads do, and how they are set up.
#[derive(Debug)]
pub(super) struct Habits {
    sys: SysRoot,
    judge: Judge,
    /// Threads whose set-up is to be judged.
    waiting: VecDeque<Tid>,
    threads: BTreeMap<Tid, Of>,
}

impl Habits {
    pub(super) fn new(sys: SysRoot, judge: Judge) -> Self {
        Self {
            sys,
            judge,
            waiting: VecDeque::new(),
            threads: BTreeMap::new(),
        }
    }

    /// A thread is known to have cycles.
    pub(super) fn meet(&mut self, tid: Tid) {
        self.waiting.push_back(tid);
    }

    /// Judges how one thread is set up: some files are read, so not of all at once. Returns whether there was one.
    pub(super) fn judge_next(&mut self) -> bool {
        let Some(tid) = self.waiting.pop_front() else {
            return false;
        };
        let verdicts = (self.judge)(&self.sys, tid);
        // Of a thread that has ended there is nothing to read, and so nothing to find.
        let lives = lives(&self.sys, tid);
        self.threads.entry(tid).or_default().verdicts = lives.then_some(verdicts);
        true
    }

    /// Looks up what the descriptors of a thread are, before cycles of it since `from` are taken in.
    pub(super) fn look(&mut self, thread: &Thread, from: u64) {
        let of = self.threads.entry(thread.tid).or_default();
        of.files.look(&self.sys, thread, from);
    }

    /// Takes in a cycle of `thread`, from the wait `begin` to the wait `end`. `every_wait`: no wait is its own, so a call
    /// that waits ended it.
    pub(super) fn add(
        &mut self,
        thread: &Thread,
        cycle: &Cycle,
        (begin, end): (&Waited, &Waited),
        every_wait: bool,
        names: &Names,
    ) {
        let of = self.threads.entry(thread.tid).or_default();
        let ending = every_wait.then_some((end.entered, end.left, end.wait));
        let all = thread.calls_within(begin.left, end.entered);
        for (from, to, call) in all.chain(ending) {
            if let Some((kind, what)) = of.kind_of(call) {
                let seen = of.add(kind, cycle.number, 1, to - from, what);
                seen.note_site(thread.site_of_call(call.call, from, to), 1);
            }
        }
        of.delays(thread, cycle, begin, end, names);
        of.waits(thread, cycle.number, begin, end, names);
    }

    /// Returns how many of these threads ended before it could be judged how they are set up.
    pub(super) fn unjudged(&self, threads: impl Iterator<Item = Tid>) -> u64 {
        let judged = |tid: &Tid| {
            self.threads
                .get(tid)
                .is_some_and(|of| of.verdicts.is_some())
        };
        threads.filter(|tid| !judged(tid)).count() as u64
    }

    /// Returns what was found of these threads, each with the number of its series; the most severe first.
    pub(super) fn found(
        &self,
        threads: impl Iterator<Item = (u32, Tid)>,
        say: &mut dyn FnMut(&BTreeMap<Site, u64>) -> Vec<Stack>,
    ) -> Vec<Habit> {
        let mut all: Vec<Habit> = Vec::new();
        for (n, tid) in threads {
            let Some(of) = self.threads.get(&tid) else {
                continue;
            };
            let done = RULES.iter().filter_map(|rule| {
                let seen = of.seen.get(&rule.kind)?;
                habit(n, rule, seen, || say(&seen.sites))
            });
            all.extend(done);
            for verdict in of.verdicts.iter().flatten() {
                // What is true of the process is true of each of its threads, and is said once.
                let known = all.iter_mut().find(|habit| {
                    (&habit.rule.id, &habit.says) == (&verdict.rule.id, &verdict.says)
                });
                match known {
                    Some(known) => known.threads.push(n),
                    None => all.push(Habit {
                        rule: verdict.rule.clone(),
                        threads: vec![n],
                        says: verdict.says.clone(),
                        evidence: verdict.evidence.clone(),
                        count: None,
                        cycles: None,
                        total_ns: None,
                        max_ns: None,
                        stacks: Vec::new(),
                    }),
                }
            }
        }
        all.order_by_key(|habit| Reverse((habit.rule.severity, habit.total_ns)));
        all
    }
}

fn habit(n: u32, rule: &Entry, seen: &Seen, stacks: impl FnOnce() -> Vec<Stack>) -> Option<Habit> {
    (seen.count > 0).then(|| Habit {
        rule: rule.rule(),
        threads: vec![n],
        says: format!(
            "{} in {}",
            counted(seen.count, rule.counts),
            counted(seen.cycles, ["cycle", "cycles"])
        ),
        evidence: seen.evidence(rule),
        count: Some(seen.count),
        cycles: Some(seen.cycles),
        total_ns: (seen.total > 0).then_some(seen.total),
        max_ns: (seen.total > 0).then_some(seen.max),
        stacks: stacks(),
    })
}

fn counted(n: u64, [one, several]: [&str; 2]) -> String {
    format!("{n} {}", if n == 1 { one } else { several })
}

/// Whether `who` is a thread of a lower priority; the scheduler counts downwards.
fn is_below(thread: &Thread, who: Who) -> bool {
    matches!(who, Who::Task { prio, .. } if prio > thread.prio)
}

fn is_above(thread: &Thread, who: Who) -> bool {
    matches!(who, Who::Task { prio, .. } if prio < thread.prio)
}

/// Whether `who` handles interrupts in a thread, as the kernel names these.
fn is_interrupt_thread(who: Who, names: &Names) -> bool {
    matches!(who, Who::Task { name, .. } if names.text(name).starts_with("irq/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FUTEX_WAIT_PRIVATE: u64 = 128;
    const FUTEX_LOCK_PI_PRIVATE: u64 = 6 | 128;

    fn number(name: &str) -> i64 {
        (0..1_000).find(|n| calls::name(*n) == Some(name)).unwrap()
    }

    /// A thread of priority 80 that sleeps, and in its cycle waits in the futex call `op` until `waker` wakes it.
    fn found(op: u64, waker: &[u8], prio: i16) -> Vec<(String, u64, Option<u64>)> {
        let mut names = Names::default();
        let name = names.keep(b"loop");
        let waker = Who::Task {
            tid: 9,
            name: names.keep(waker),
            prio,
        };
        let mut thread = Thread::new(7, 7, name, 19);
        let sleep = Wait::of(number("clock_nanosleep"), [1, 1, 0]);
        let futex = Wait::of(number("futex"), [0x1000, op, 0]);
        let mut at = 0;
        let mut wait = |thread: &mut Thread, wait, by| {
            thread.enters(at + 10, wait);
            thread.stops(at + 20, 0, (19, 1), true, None);
            thread.wakes(at + 50, 0, by);
            thread.runs(at + 60, 0);
            thread.leaves(at + 70);
            at += 100;
        };
        thread.runs(0, 0);
        wait(&mut thread, sleep, None);
        wait(&mut thread, futex, Some(waker));
        wait(&mut thread, sleep, None);
        let waits: Vec<Waited> = thread.over(true).collect();
        let cycle = Cycle {
            tid: 7,
            number: 20,
            release: 50,
            begun: 50,
            asked: false,
            end: 210,
            missed: 0,
            pieces: Vec::new(),
            events: 0,
            sites: Vec::new(),
        };
        let mut habits = Habits::new(SysRoot::at("/nowhere"), |_, _| Vec::new());
        habits.add(&thread, &cycle, (&waits[0], &waits[2]), false, &names);
        let found = habits.found([(0, 7)].into_iter(), &mut |_| Vec::new());
        let found = found.into_iter();
        found
            .map(|habit| (habit.rule.id, habit.count.unwrap(), habit.total_ns))
            .collect()
    }

    #[test]
    fn a_wait_behind_a_lower_priority_is_a_habit_unless_the_lock_inherits() {
        let waited = |id: &str, ns| vec![(id.to_owned(), 1, ns)];
        // The scheduler counts downwards: 89 is real-time 10, and 9 is real-time 90.
        let plain = found(FUTEX_WAIT_PRIVATE, b"holder", 89);
        assert_eq!(plain, waited("lock-no-inheritance", Some(30)));
        assert_eq!(found(FUTEX_WAIT_PRIVATE, b"holder", 9), []);
        assert_eq!(found(FUTEX_LOCK_PI_PRIVATE, b"holder", 89), []);
        // An interrupt thread of the same priority is delayed by whoever it wakes.
        let irq = found(FUTEX_LOCK_PI_PRIVATE, b"irq/30-nic", 19);
        assert_eq!(irq, waited("above-its-interrupt", None));
        assert_eq!(found(FUTEX_LOCK_PI_PRIVATE, b"irq/30-nic", 9), []);
    }

    #[test]
    fn calls_are_told_apart() {
        let of = Of::default();
        let kind = |name: &str| {
            of.kind_of(Wait::of(number(name), [7, 0, 0]))
                .map(|(k, _)| k)
        };
        assert_eq!(kind("mmap"), Some(Kind::Memory));
        assert_eq!(kind("fdatasync"), Some(Kind::Sync));
        assert_eq!(kind("openat"), Some(Kind::Files));
        assert_eq!(kind("sched_yield"), Some(Kind::Yield));
        for name in ["clock_nanosleep", "ioctl", "futex", "read", "write"] {
            assert_eq!(
                kind(name),
                None,
                "{name}: what descriptor 7 is nobody knows"
            );
        }
    }
}
