// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! SIGKILL at any moment: what is left undoes what was done.
//!
//! `PUNCTUAL_TEST_KILLS=200` kills more often than the suite does.

use std::fs;
use std::time::{Duration, Instant};

use crate::common::{Running, machine, wait_until};
use crate::live::{Live, assert_same};

/// Kills of each kind.
const KILLS: u64 = 8;

/// Settings that disturb nobody, enough of them that a kill falls between two.
const SETTINGS: [&str; 17] = [
    "vm.swappiness=11",
    "vm.stat_interval=2",
    "vm.dirty_writeback_centisecs=600",
    "vm.dirty_expire_centisecs=2900",
    "vm.compaction_proactiveness=10",
    "vm.watermark_boost_factor=14000",
    "kernel.timer_migration=0",
    "kernel.watchdog=0",
    "kernel.sched_rr_timeslice_ms=40",
    "kernel.hung_task_timeout_secs=110",
    "kernel.sched_rt_runtime_us=900000",
    "rcu.normal=1",
    "thp.defrag=never",
    "workqueue.cpumask=0",
    "irq.default_affinity=0",
    "irq.affinity=0",
    "block.read_ahead_kb=256",
];

/// The moments of the kills: xorshift64, so that a failure can be had again.
struct Moments(u64);

impl Moments {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

fn kills() -> u64 {
    let asked = std::env::var("PUNCTUAL_TEST_KILLS").ok();
    asked.map_or(KILLS, |n| n.parse().unwrap())
}

fn options() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().flat_map(|setting| ["--set", setting])
}

#[test]
fn after_a_kill_at_any_moment_revert_brings_everything_back() {
    let Some(live) = Live::new() else { return };
    let before = live.dump();
    let apply = || live.command(["apply"].into_iter().chain(options()));
    // As long as it takes unhindered, and a little longer.
    let start = Instant::now();
    Running::start(apply()).wait().fine();
    let whole = u64::try_from(start.elapsed().as_micros()).unwrap() * 11 / 10;
    live.tune("revert").fine();
    assert_same(&live.dump(), &before, "reverted");
    let mut moments = Moments(0x7e11_0000_0000_0001);
    let (mut with_journal, mut half) = (0, 0);
    for kill in 0..kills() {
        let mut running = Running::start(apply());
        let moment = moments.below(whole);
        std::thread::sleep(Duration::from_micros(moment));
        if running.is_alive() {
            running.signal("KILL");
        }
        drop(running);
        let journal = machine::read(&live.state().join("journal")).unwrap_or_default();
        with_journal += u64::from(!journal.is_empty());
        let begun = journal.contains("\"begin\"") && !journal.contains("\"complete\"");
        half += u64::from(begun);
        // Every other revert is killed too, and done again.
        if kill % 2 == 1 {
            let mut reverting = Running::start(live.command(["revert"]));
            std::thread::sleep(Duration::from_micros(moments.below(whole)));
            if reverting.is_alive() {
                reverting.signal("KILL");
            }
            drop(reverting);
        }
        // Either copy of the journal undoes the session.
        match kill % 4 {
            2 => drop(fs::remove_file(live.state().join("journal"))),
            3 => drop(fs::remove_file("/run/punctual/journal")),
            _ => {}
        }
        live.tune("revert").fine();
        assert_same(
            &live.dump(),
            &before,
            &format!("kill {kill} after {moment} us"),
        );
    }
    eprintln!(
        "{} kills: {with_journal} left a journal, {half} a machine half changed",
        kills()
    );
}

#[test]
fn after_a_kill_of_a_run_its_keeper_brings_everything_back() {
    let Some(live) = Live::new() else { return };
    let before = live.dump();
    let run = || {
        live.command(
            ["run"]
                .into_iter()
                .chain(options())
                .chain(["--", "sleep", "0.2"]),
        )
    };
    let start = Instant::now();
    Running::start(run()).wait().fine();
    let whole = u64::try_from(start.elapsed().as_micros()).unwrap();
    let mut moments = Moments(0x7e11_0000_0000_0002);
    for kill in 0..kills() {
        let mut running = Running::start(run());
        let moment = moments.below(whole);
        std::thread::sleep(Duration::from_micros(moment));
        if running.is_alive() {
            running.signal("KILL");
        }
        drop(running);
        let journal = live.state().join("journal");
        let done = || !journal.exists() || !begun(&journal);
        assert!(wait_until(done), "kill {kill} after {moment} us");
        live.tune("revert").fine();
        assert_same(
            &live.dump(),
            &before,
            &format!("kill {kill} after {moment} us"),
        );
    }
}

/// Whether a journal has a keeper, and so somebody to wait for.
fn begun(journal: &std::path::Path) -> bool {
    machine::read(journal).is_some_and(|text| text.contains("\"keeper\""))
}
