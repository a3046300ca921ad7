// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the timerlat tracer of Linux 6.12 wrote in a guest in virtual time, in which a thread of priority 97 kept the tracer's from
//! running twice. The text has whole microseconds; the tracer's own figures are in ns.

use super::*;
use crate::watch::account::{Noise, Note};

const TEXT: &str = include_str!("timerlat-6.12.txt");

const TIMERLAT: Tid = 35;

/// Returns the value of `key=` in a line.
fn field<'a>(line: &'a str, key: &str) -> &'a str {
    let (_, rest) = line.split_once(&format!(" {key}=")).unwrap();
    rest.split([' ', ']']).next().unwrap()
}

/// The time of a record in ns.
fn time(text: &str) -> u64 {
    let (s, us) = text.split_once('.').unwrap();
    s.parse::<u64>().unwrap() * 1_000_000_000 + us.parse::<u64>().unwrap() * US
}

fn read(line: &str, replay: &mut Replay) -> Option<Event> {
    let (head, rest) = line.split_once(": ")?;
    let (who, place) = head.split_once('[')?;
    let (_, pid) = who.trim().rsplit_once('-')?;
    let (_, at) = place.rsplit_once(' ')?;
    let number = |key: &str| field(rest, key).parse::<u64>().unwrap();
    let mut keep = |name: &str| replay.names.keep(name.as_bytes());
    let function = |name: &str| u64::from(name == "timerlat_irq");
    let timer = || u64::from_str_radix(field(rest, "hrtimer"), 16).unwrap();
    let event = rest.split([' ', ':']).next()?;
    let what = match event {
        "sched_switch" => What::Switch {
            prev_prio: i16::try_from(number("prev_prio")).ok()?,
            prev_state: match field(rest, "prev_state").starts_with('R') {
                true => READY,
                false => SLEEPS,
            },
            next: i32::try_from(number("next_pid")).ok()?,
            next_prio: i16::try_from(number("next_prio")).ok()?,
            next_name: keep(field(rest, "next_comm")),
        },
        "sched_waking" => What::Waking {
            tid: field(rest, "pid").parse().ok()?,
            prio: field(rest, "prio").parse().ok()?,
            name: keep(rest.split_once("comm=")?.1.split(' ').next()?),
            cpu: 0,
        },
        "local_timer_entry" => What::VectorEntry {
            name: keep("timer interrupt"),
        },
        "local_timer_exit" => What::VectorExit,
        "softirq_entry" => What::SoftirqEntry { vec: 9 },
        "softirq_exit" => What::SoftirqExit,
        "hrtimer_start" => What::TimerStart {
            timer: timer(),
            function: function(field(rest, "function")),
            soft: number("softexpires"),
            hard: number("expires"),
        },
        "hrtimer_expire_entry" => What::TimerEntry {
            timer: timer(),
            function: function(field(rest, "function")),
            now: number("now"),
        },
        "hrtimer_expire_exit" => What::TimerExit,
        _ => What::Note(note(rest, &mut keep)?),
    };
    Some(Event {
        time: time(at.trim()),
        cpu: 0,
        pid: pid.parse().ok()?,
        what,
    })
}

fn note(rest: &str, keep: &mut impl FnMut(&str) -> crate::watch::who::Name) -> Option<Note> {
    let ns = rest
        .trim_end_matches(" ns")
        .rsplit(' ')
        .next()?
        .parse()
        .ok()?;
    if rest.contains(" timer_latency ") {
        return Some(match rest.contains(" irq ") {
            true => Note::IrqLatency(ns),
            false => Note::ThreadLatency(ns),
        });
    }
    let (kind, of) = rest.split_once(": ")?;
    let (name, number) = of.trim().split(' ').next()?.rsplit_once(':')?;
    let noise = match kind {
        "irq_noise" => Noise::Irq(keep(name)),
        "softirq_noise" => Noise::Softirq(number.parse().ok()?),
        "thread_noise" => Noise::Thread(number.parse().ok()?, keep(name)),
        _ => return None,
    };
    Some(Note::Noise(noise, ns))
}

fn seen(keep: impl Fn(&str) -> bool) -> WatchedThread {
    let symbols: Symbols = Arc::new(|address| (address == 1).then(|| "timerlat_irq".to_owned()));
    let mut replay = Replay::new(1, true, 10, Some(symbols));
    replay.watch_in_kernel(TIMERLAT, b"timerlat/0");
    let lines = TEXT.lines().filter(|line| keep(line));
    let events: Vec<Event> = lines
        .map(|line| read(line, &mut replay).unwrap_or_else(|| panic!("{line}")))
        .collect();
    let mut trace = Trace::new();
    (trace.replay, trace.events) = (replay, events);
    let watcher = trace.watcher(&[], Matters::OfTheMedian);
    let (n, thread, tally) = watcher.shown().next().unwrap();
    let (apart, of) = (tally.apart.says(), tally.timed);
    assert!(
        apart.is_none_or(|says| says.starts_with(&format!("of {of} wake-ups"))),
        "{of}"
    );
    watcher.watched_thread(n, thread, tally)
}

#[test]
fn the_tracers_account_of_a_wake_up_agrees_with_the_other_events() {
    let thread = seen(|_| true);
    assert_eq!((thread.cycles, thread.timed_releases), (5, 5));
    // In the longest the thread was preempted after it had run; in this one the interrupt, too, had begun before its release.
    let cycle = thread.worst.iter().find(|cycle| cycle.number == 4).unwrap();
    let account = cycle.kernel.as_ref().unwrap();
    let parts: Vec<_> = account
        .parts
        .iter()
        .map(|p| (p.part.as_str(), p.kernel_ns, p.names.join(" ")))
        .collect();
    let expected = [
        ("irq-latency", 19_160, String::new()),
        ("interrupts", 98_768, "local_timer".to_owned()),
        ("threads", 518_164, "hog exe".to_owned()),
        ("thread-latency", 593_156, String::new()),
    ];
    assert_eq!(parts, expected);
    // Ours by the times in the text, in ms: 3803.171, .218 - .114, .741 - .218, .741; the release was at 3803.154766.
    let ours: Vec<u64> = account.parts.iter().map(|part| part.ours_ns).collect();
    assert_eq!(ours, [16_234, 104_000, 523_000, 586_234]);
    // The soft interrupt that the timer's interrupt came into counts from that on, and by the tracer as time of the thread below it.
    let cycle = thread.worst.iter().find(|cycle| cycle.number == 1).unwrap();
    let parts = &cycle.kernel.as_ref().unwrap().parts;
    let soft = parts
        .iter()
        .find(|part| part.part == "soft-interrupts")
        .unwrap();
    // From .222 to .236.
    assert_eq!((soft.kernel_ns, soft.ours_ns), (14_735, 14_000));
}

#[test]
fn without_the_tracers_events_there_is_no_account() {
    let is_of_tracer = |line: &str| line.contains("_noise: ") || line.contains("timer_latency");
    let thread = seen(|line| !is_of_tracer(line));
    assert_eq!(thread.cycles, 5);
    assert!(thread.worst.iter().all(|cycle| cycle.kernel.is_none()));
    // Of a sample whose interrupt was not seen nothing can be said.
    let thread = seen(|line| !line.contains(" irq timer_latency"));
    assert!(thread.worst.iter().all(|cycle| cycle.kernel.is_none()));
}
