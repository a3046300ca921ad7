// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Threads whose cycle becomes another one, and those that never had the one that was named.

use punctual_model::CheckStatus;

use super::waits::number;
use super::*;

const MS: u64 = 1_000 * US;

/// The loop sleeps in `call` until `release`, is back in time and works for `work`. Returns when it has done that.
fn sleeps(
    trace: &mut Trace,
    at: u64,
    (call, args): (i64, [u64; 3]),
    (release, work): (u64, u64),
) -> u64 {
    trace.at(at, What::Enter { call, args });
    let (timer, function) = (0xf00, 7);
    let (soft, hard) = (release, release);
    let start = What::TimerStart {
        timer,
        function,
        soft,
        hard,
    };
    trace.at(at + 10, start);
    if release > at {
        trace.switch(at + 20, SLEEPS, IDLE, NICE_0, "swapper/0");
    }
    let at = release.max(at + 30);
    trace.expire(at + US);
    match release == at {
        true => trace.run(at + 3 * US, READY),
        false => trace.at(at + 3 * US, What::Exit { anew: false }),
    }
    at + 3 * US + work
}

/// Asks a device each 10 ms, by a sleep for that time.
fn polls(trace: &mut Trace, mut at: u64, times: u64) -> u64 {
    let call = (number("nanosleep"), [0; 3]);
    for _ in 0..times {
        at = sleeps(trace, at, call, (at + 10 * MS, 60 * US));
    }
    at
}

/// Waits for different descriptors, at irregular times.
fn reads(trace: &mut Trace, mut at: u64, times: u64) -> u64 {
    let call = number("read");
    for n in 0..times {
        let args = [n % 3, 0, 0];
        trace.at(at, What::Enter { call, args });
        trace.switch(at + 10, SLEEPS, IDLE, NICE_0, "swapper/0");
        at += 7 * MS + n * n * 7_919 * US % (5 * MS);
        trace.wake(at, LOOP, FIFO_80, "loop");
        trace.run(at + 3 * US, READY);
        at += 10 * US;
    }
    at
}

/// A loop that sleeps until times, `period` apart; cycle `late` takes 1.3 periods more. Where it calls a function, it does so at the end of
/// each cycle.
fn works(
    trace: &mut Trace,
    at: u64,
    (period, work): (u64, u64),
    cycles: u64,
    late: Option<u64>,
    function: bool,
) -> u64 {
    let call = (SLEEP, [1, 1, 0]);
    let (mut at, mut release) = (at, at + period);
    for cycle in 1..=cycles {
        if function {
            trace.at(at - US, What::Probe);
        }
        let more = if late == Some(cycle) {
            period * 13 / 10
        } else {
            0
        };
        at = sleeps(trace, at, call, (release, work + more));
        release += period;
    }
    at
}

fn begun() -> Trace {
    let mut trace = Trace::new();
    trace.switch(1, SLEEPS, LOOP, FIFO_80, "loop");
    trace
}

/// What was seen of each cycle that the loop had, and the check of where cycles end.
fn seen(
    trace: Trace,
    cycle_at: Option<&str>,
) -> (Vec<WatchedThread>, Option<(CheckStatus, String)>) {
    let watcher = trace.watcher_at(cycle_at, &["loop"], Matters::OfThePeriod);
    let shown = watcher.shown();
    let threads = shown.map(|(n, thread, tally)| watcher.watched_thread(n, thread, tally));
    let check = watcher.ended_where_found();
    (
        threads.collect(),
        check.map(|check| (check.status, check.detail)),
    )
}

fn periods(threads: &[WatchedThread]) -> Vec<Option<u64>> {
    let periods = threads.iter().map(|of| of.period_ns.map(|ns| ns.get()));
    periods.collect()
}

#[test]
fn a_loop_that_begins_after_a_regular_set_up_is_judged_and_makes_no_endless_cycle() {
    let mut trace = begun();
    let at = polls(&mut trace, MS, 150);
    works(&mut trace, at, (MS, 100 * US), 7_000, Some(4_000), false);
    let watcher = trace.watcher(&["loop"], Matters::OfThePeriod);
    assert!(watcher.ended_where_found().is_none());
    let said = watcher.changes();
    assert_eq!(said.len(), 1);
    assert!(
        said[0].detail.contains("nanosleep each 10"),
        "{}",
        said[0].detail
    );
    let shown = watcher.shown();
    let threads: Vec<_> = shown
        .map(|(n, thread, tally)| watcher.watched_thread(n, thread, tally))
        .collect();
    let [set_up, of_loop] = &threads[..] else {
        panic!("{}", threads.len())
    };
    assert!(set_up.cycles >= 145 && set_up.late.rule == "p99");
    assert_eq!(of_loop.period_ns.unwrap().get(), PERIOD);
    assert!(of_loop.cycles > 6_700, "{}", of_loop.cycles);
    // The cycle after it begins late, and is in time.
    assert_eq!(
        (of_loop.late.rule.as_str(), of_loop.late.count),
        ("period", 1)
    );
    assert!(
        threads
            .iter()
            .all(|of| of.open_ns.is_none() && of.missed_releases == 0)
    );
    let from = of_loop.from_ns.unwrap().get();
    assert!((1_500 * MS..1_800 * MS).contains(&from), "{from}");
    assert!(set_up.to_ns.unwrap().get() < from);
    assert_eq!(of_loop.tid, set_up.tid);
}

#[test]
fn a_loop_that_begins_after_an_irregular_set_up_is_judged() {
    for waits in [7, 130] {
        let mut trace = begun();
        let mut at = reads(&mut trace, MS, waits);
        if waits == 7 {
            at += 4_000 * MS;
        }
        works(&mut trace, at, (MS, 100 * US), 12_000, Some(9_000), false);
        let (threads, check) = seen(trace, None);
        assert_eq!(check, None);
        let of_loop = threads.last().unwrap();
        assert_eq!(of_loop.period_ns.unwrap().get(), PERIOD, "{waits}");
        assert!(of_loop.cycles > 7_500, "{}", of_loop.cycles);
        assert_eq!(
            (of_loop.late.rule.as_str(), of_loop.late.count),
            ("period", 1)
        );
    }
}

#[test]
fn a_loop_that_a_thread_leaves_for_other_waits_is_neither_in_time_nor_endless() {
    let (retries, irregular) = (polls as fn(&mut Trace, u64, u64) -> u64, reads as _);
    for then in [retries, irregular] {
        let mut trace = begun();
        let at = works(&mut trace, MS, (MS, 100 * US), 3_000, None, false);
        then(&mut trace, at, 200);
        let (threads, check) = seen(trace, None);
        assert!(threads.iter().all(|of| of.open_ns.is_none()));
        let (status, detail) = check.unwrap();
        assert_eq!(status, CheckStatus::Fail);
        assert!(
            detail.contains("loop left clock_nanosleep (absolute) at 3.0 s"),
            "{detail}"
        );
    }
    // One that comes back, too; it goes on with its figures.
    let mut trace = begun();
    let at = works(&mut trace, MS, (MS, 100 * US), 500, None, false);
    let at = polls(&mut trace, at, 200);
    works(&mut trace, at, (MS, 100 * US), 9_000, None, false);
    let (threads, check) = seen(trace, None);
    assert_eq!(periods(&threads).len(), 2);
    assert!(threads[0].cycles > 9_000 && threads[0].missed_releases == 0);
    assert!(check.unwrap().1.contains("for a while"));
}

#[test]
fn waits_before_the_first_that_was_named_are_in_no_cycle() {
    for set_up in [polls as fn(&mut Trace, u64, u64) -> u64, reads as _] {
        let mut trace = begun();
        let at = set_up(&mut trace, MS, 200);
        works(&mut trace, at, (MS, 100 * US), 3_000, Some(1_000), true);
        let (threads, check) = seen(trace, Some("uprobe:step"));
        assert_eq!(check.unwrap().0, CheckStatus::Pass);
        let [of_loop] = &threads[..] else {
            panic!("{}", threads.len())
        };
        assert_eq!(of_loop.cycle_at.as_deref(), Some("uprobe:step"));
        assert_eq!(of_loop.period_ns.unwrap().get(), PERIOD);
        assert!(
            (2_998..3_000).contains(&of_loop.cycles),
            "{}",
            of_loop.cycles
        );
        assert_eq!(
            (of_loop.late.rule.as_str(), of_loop.late.count),
            ("period", 1)
        );
    }
}

#[test]
fn what_was_named_and_never_or_hardly_comes_fails_a_check() {
    let fails = |trace: Trace, named: &str, says: &str| {
        let (threads, check) = seen(trace, Some(named));
        let (status, detail) = check.unwrap();
        assert_eq!(status, CheckStatus::Fail);
        assert!(detail.contains(says), "{detail}");
        threads
    };
    // The compiler has built it into the loop; the library makes another call.
    for named in ["uprobe:step", "epoll_wait"] {
        let mut trace = begun();
        works(&mut trace, MS, (MS, 100 * US), 3_000, None, false);
        assert!(fails(trace, named, "no watched thread").is_empty());
    }
    // It is called as the thread sets up.
    for times in [3, 40] {
        let mut trace = begun();
        let at = works(&mut trace, MS, (MS, 100 * US), times, None, true);
        works(&mut trace, at, (MS, 100 * US), 3_000, None, false);
        let threads = fails(trace, "uprobe:step", "loop left uprobe:step at 0.0 s");
        assert!(threads[0].open_ns.is_none());
    }
    // Another thread has it.
    let mut trace = begun();
    trace.replay.watch(OTHER, LOOP, b"other");
    let at = works(&mut trace, MS, (MS, 100 * US), 500, None, false);
    trace.on_cpu(1, at, OTHER, What::WorkEnd);
    for n in 1..20 {
        let (time, args) = (at + n * MS, [1, 1, 0]);
        let call = number("pause");
        trace.on_cpu(1, time, OTHER, What::Enter { call, args });
        let next_name = trace.replay.names.keep(b"swapper/1");
        let away = What::Switch {
            prev_prio: NICE_0,
            prev_state: SLEEPS,
            next: IDLE,
            next_prio: NICE_0,
            next_name,
        };
        trace.on_cpu(1, time + US, OTHER, away);
        let name = trace.replay.names.keep(b"other");
        let (tid, prio, cpu) = (OTHER, NICE_0, 1);
        let waking = What::Waking {
            tid,
            prio,
            name,
            cpu,
        };
        trace.on_cpu(1, time + 500 * US, IDLE, waking);
        trace.on_cpu(1, time + 510 * US, OTHER, What::Exit { anew: false });
    }
    let watcher = trace.watcher_at(Some("pause"), &[], Matters::OfThePeriod);
    assert_eq!(watcher.shown().count(), 1);
    let detail = watcher.ended_where_found().unwrap().detail;
    assert!(
        detail.contains("loop (real-time 80) waited only elsewhere"),
        "{detail}"
    );
}

#[test]
fn a_loop_that_sleeps_for_a_time_and_is_idle_for_a_while_keeps_its_period() {
    let idle = |trace: &mut Trace, mut at: u64, rounds: u64, work: u64| {
        let call = (number("nanosleep"), [0; 3]);
        for _ in 0..rounds {
            at = sleeps(trace, at, call, (at + MS, work));
        }
        at
    };
    let mut trace = begun();
    let at = idle(&mut trace, MS, 2_000, 1_500 * US);
    let at = idle(&mut trace, at, 300, 5 * US);
    idle(&mut trace, at, 2_000, 1_500 * US);
    let (threads, check) = seen(trace, None);
    assert_eq!((check, threads.len()), (None, 1));
    assert_eq!(threads[0].late.count, 0, "{:?}", threads[0].late);
}

#[test]
fn what_comes_regularly_for_a_while_is_no_period_of_a_thread_that_has_none() {
    // Others wake it at any time, and for some seconds each 5 ms.
    let mut trace = begun();
    let (call, args) = (number("read"), [1, 0, 0]);
    let (mut at, mut chance) = (MS, 1_u64);
    for n in 0..2_400 {
        trace.at(at, What::Enter { call, args });
        trace.switch(at + 10, SLEEPS, IDLE, NICE_0, "swapper/0");
        chance = chance
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let next = match n {
            1_000..1_400 => at / (5 * MS) * 5 * MS + 5 * MS,
            _ => at + MS + (chance >> 33) % (24 * MS),
        };
        trace.wake(next, LOOP, FIFO_80, "loop");
        trace.run(next + 3 * US, READY);
        at = next + 100 * US;
    }
    let (threads, check) = seen(trace, None);
    assert_eq!((check, periods(&threads)), (None, vec![None]));
}

#[test]
fn a_thread_that_polls_for_a_while_as_it_begins_is_judged_by_what_it_does_then() {
    // Others wake it at any time, after a device was asked for a third of a second, or for two.
    for polls_of in [330, 2_000] {
        let mut trace = begun();
        let mut at = reads(&mut trace, MS, 15);
        let call = (number("nanosleep"), [0; 3]);
        for _ in 0..polls_of {
            at = sleeps(&mut trace, at, call, (at + MS, 60 * US));
        }
        let begun = at;
        let (call, args, mut chance) = (number("epoll_wait"), [4, 0, 0], 1_u64);
        while at < begun + 12_000 * MS {
            trace.at(at, What::Enter { call, args });
            trace.switch(at + 10, SLEEPS, IDLE, NICE_0, "swapper/0");
            chance = chance
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            at += MS + (chance >> 33) % (20 * MS);
            trace.wake(at, LOOP, FIFO_80, "loop");
            trace.run(at + 3 * US, READY);
            at += 100 * US;
        }
        let (threads, check) = seen(trace, None);
        let last = threads.last().unwrap();
        assert_eq!((check, last.period_ns), (None, None), "{polls_of}");
        assert!(last.cycles > 800, "{}", last.cycles);
    }
}

#[test]
fn a_call_that_was_named_and_waits_for_several_things_is_one() {
    let mut trace = begun();
    let at = reads(&mut trace, MS, 1_500);
    reads(&mut trace, at, 1_500);
    let (threads, check) = seen(trace, Some("read"));
    assert_eq!(check.unwrap().0, CheckStatus::Pass);
    assert_eq!(threads.len(), 1);
}

#[test]
fn a_loop_that_is_overrun_has_its_period_still() {
    // It leaves out the releases that have passed.
    let mut trace = begun();
    let mut at = works(&mut trace, MS, (MS, 100 * US), 500, None, false);
    let mut release = at;
    for _ in 0..500 {
        release += (at - release) / MS * MS + MS;
        at = sleeps(&mut trace, at, (SLEEP, [1, 1, 0]), (release, 1_500 * US));
    }
    let (threads, check) = seen(trace, None);
    assert_eq!((check, periods(&threads)), (None, vec![Some(MS)]));
    assert!(threads[0].late.count > 490, "{:?}", threads[0].late);
    assert!(threads[0].missed_releases > 490);
}
