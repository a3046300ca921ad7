// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The longest cycles of a watched program as a trace that ui.perfetto.dev and chrome://tracing open.
//!
//! The format is that of Trace Event JSON: `X` for a stretch of time, `M` for the name of a track. Times are µs since the start of the
//! run with decimals down to the nanosecond. Each watched thread is a process of two tracks, its cycles and their phases;
//! one more process has a track for each CPU. Tracks are numbered here: two threads of the trace never share a number.

use std::collections::BTreeMap;
use std::io::{self, Write};

use punctual_model::watch::{LaneStretch, Watched, WatchedThread, WorstCycle};
use punctual_model::{Ordered as _, RunRecord};
use serde_json::{Value, json};

use crate::chart::scale::counted;

/// Writes the longest cycles of every thread. Nothing is there before the start of the run.
///
/// # Errors
/// What the output says.
pub fn perfetto(run: &RunRecord, watched: &Watched, out: &mut dyn Write) -> io::Result<()> {
    let mut trace = Trace::default();
    for thread in &watched.threads {
        trace.thread(thread);
    }
    trace.cpus(watched);
    let events: Vec<String> = trace.events.iter().map(Value::to_string).collect();
    let mut about = json!({
        "run": run.id,
        "name": run.name,
        "valid": run.is_valid(),
        "kernel": run.host.kernel_release,
        "program": "punctual",
    });
    if run.is_virtual() {
        about["time"] = json!("virtual");
    }
    // A line an event: such a file is also read by people.
    writeln!(
        out,
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":[\n{}\n]}}",
        events.join(",\n")
    )?;
    out.flush()
}

/// A track.
#[derive(Clone, Copy, Debug)]
struct Track {
    process: u32,
    thread: u32,
}

#[derive(Debug, Default)]
struct Trace {
    events: Vec<Value>,
    processes: u32,
    tracks: u32,
}

impl Trace {
    fn process(&mut self, name: &str) -> u32 {
        self.processes += 1;
        let pid = self.processes;
        self.events
            .push(json!({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}));
        self.events.push(
            json!({"ph": "M", "name": "process_sort_index", "pid": pid, "args": {"sort_index": pid}}),
        );
        pid
    }

    fn track(&mut self, process: u32, name: &str) -> Track {
        self.tracks += 1;
        let track = Track {
            process,
            thread: self.tracks,
        };
        for (of, args) in [
            ("thread_name", json!({"name": name})),
            ("thread_sort_index", json!({"sort_index": self.tracks})),
        ] {
            self.events.push(
                json!({"ph": "M", "name": of, "pid": process, "tid": track.thread, "args": args}),
            );
        }
        track
    }

    /// Adds a stretch, without what is before the start of the run.
    fn stretch(&mut self, on: Track, (from, to): (i64, i64), kind: &str, name: &str, args: Value) {
        let from = from.max(0);
        if to <= from {
            return;
        }
        let us = |ns: i64| ns as f64 / 1e3;
        self.events.push(json!({
            "ph": "X", "pid": on.process, "tid": on.thread, "ts": us(from), "dur": us(to - from),
            "cat": kind, "name": name, "args": args,
        }));
    }

    fn thread(&mut self, thread: &WatchedThread) {
        let name = format!("{}, thread {}", thread.name, thread.tid);
        let process = self.process(&name);
        let mut cycles: Vec<&WorstCycle> = thread.worst.iter().collect();
        cycles.order_by_key(|cycle| cycle.release_ns);
        // A cycle whose release passed while the one before went on begins before that ends: it has tracks of its own.
        let mut rows: Vec<(u64, Track, Track)> = Vec::new();
        for cycle in cycles {
            let free = rows.iter().position(|(end, ..)| *end <= cycle.release_ns);
            let row = free.unwrap_or_else(|| {
                let more = match rows.len() {
                    0 => String::new(),
                    n => format!(" {}", n + 1),
                };
                let whole = self.track(process, &format!("cycles{more}"));
                rows.push((0, whole, self.track(process, &format!("phases{more}"))));
                rows.len() - 1
            });
            if let Some((end, whole, phases)) = rows.get_mut(row) {
                *end = cycle.release_ns + cycle.response_ns;
                self.cycle(thread, cycle, (*whole, *phases));
            }
        }
    }

    fn cycle(&mut self, thread: &WatchedThread, cycle: &WorstCycle, on: (Track, Track)) {
        let release = cycle.release_ns.cast_signed();
        let end = release + cycle.response_ns.cast_signed();
        let about = json!({
            "response_ns": cycle.response_ns, "limit_ns": thread.late.limit_ns, "limit": thread.late.rule,
            "phases_left_out": cycle.left_out, "phases_left_out_ns": cycle.left_out_ns,
        });
        let name = format!("cycle {}", cycle.number);
        self.stretch(on.0, (release, end), "cycle", &name, about);
        for piece in &cycle.pieces {
            let ends = (
                release + piece.from_ns.cast_signed(),
                release + piece.to_ns.cast_signed(),
            );
            let name = format!("{}: {}", piece.phase, piece.cause);
            let about = json!({"cpu": piece.cpu, "cause": piece.cause, "cycle": cycle.number});
            self.stretch(on.1, ends, &piece.phase, &name, about);
        }
    }

    /// Adds the CPUs. Cycles that are near each other or of several threads show the same time of a CPU: it is there once.
    fn cpus(&mut self, watched: &Watched) {
        let mut cpus: BTreeMap<u32, Vec<LaneStretch>> = BTreeMap::new();
        let cycles = watched.threads.iter().flat_map(|thread| &thread.worst);
        for cycle in cycles {
            let release = cycle.release_ns.cast_signed();
            let (begin, end) = shown(cycle);
            for lane in &cycle.cpus {
                // Of too many stretches the first are kept: without more, the CPU would seem to have done nothing after them.
                let rest = (lane.left_out > 0).then(|| LaneStretch {
                    from_ns: lane.stretches.last().map_or(begin, |last| last.to_ns),
                    to_ns: end,
                    kind: "unknown".to_owned(),
                    who: format!("{} left out", counted(lane.left_out, "part")),
                });
                let stretches = lane
                    .stretches
                    .iter()
                    .chain(&rest)
                    .map(|stretch| LaneStretch {
                        from_ns: release + stretch.from_ns,
                        to_ns: release + stretch.to_ns,
                        ..stretch.clone()
                    });
                cpus.entry(lane.cpu).or_default().extend(stretches);
            }
        }
        if cpus.is_empty() {
            return;
        }
        let process = self.process("CPUs");
        for (cpu, stretches) in cpus {
            let track = self.track(process, &format!("CPU {cpu}"));
            for stretch in joined(stretches) {
                let ends = (stretch.from_ns, stretch.to_ns);
                self.stretch(track, ends, &stretch.kind, &stretch.who, json!({}));
            }
        }
    }
}

/// Returns from when to when, since its release, a cycle shows the CPUs: longer than it lasted, as far as a lane goes.
fn shown(cycle: &WorstCycle) -> (i64, i64) {
    let all = cycle.cpus.iter().flat_map(|lane| &lane.stretches);
    let around = (0, cycle.response_ns.cast_signed());
    all.fold(around, |(begin, end), stretch| {
        (begin.min(stretch.from_ns), end.max(stretch.to_ns))
    })
}

/// Joins what several cycles show of the same time. What one of them does not know another may know.
fn joined(stretches: Vec<LaneStretch>) -> Vec<LaneStretch> {
    let is_unknown = |stretch: &LaneStretch| stretch.kind == "unknown";
    let (unknown, known): (Vec<_>, Vec<_>) = stretches.into_iter().partition(is_unknown);
    let mut track = laid(known);
    let mut gaps = Vec::new();
    for stretch in laid(unknown) {
        let mut from = stretch.from_ns;
        let after = (stretch.to_ns, stretch.to_ns);
        for (begin, end) in track.iter().map(|s| (s.from_ns, s.to_ns)).chain([after]) {
            let to = begin.min(stretch.to_ns);
            if to > from {
                gaps.push(LaneStretch {
                    from_ns: from,
                    to_ns: to,
                    ..stretch.clone()
                });
            }
            from = from.max(end);
        }
    }
    track.append(&mut gaps);
    track.order_by_key(|stretch| stretch.from_ns);
    track
}

/// Lays stretches after each other. Of those that overlap the same one had the CPU: they are one stretch, cut differently.
fn laid(mut stretches: Vec<LaneStretch>) -> Vec<LaneStretch> {
    stretches.order_by_key(|stretch| (stretch.from_ns, stretch.to_ns));
    let mut track: Vec<LaneStretch> = Vec::with_capacity(stretches.len());
    for mut stretch in stretches {
        match track.last_mut() {
            Some(last) if last.to_ns > stretch.from_ns && last.who == stretch.who => {
                last.to_ns = last.to_ns.max(stretch.to_ns);
                if stretch.kind == "watched" {
                    last.kind = stretch.kind;
                }
                continue;
            }
            Some(last) => stretch.from_ns = stretch.from_ns.max(last.to_ns),
            None => {}
        }
        if stretch.from_ns < stretch.to_ns {
            track.push(stretch);
        }
    }
    track
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::watch::CpuLane;

    fn stretch(from_ns: i64, to_ns: i64, kind: &str, who: &str) -> LaneStretch {
        LaneStretch {
            from_ns,
            to_ns,
            kind: kind.to_owned(),
            who: who.to_owned(),
        }
    }

    #[test]
    fn what_was_left_out_is_said() {
        let lane = |cpu, stretches, left_out| CpuLane {
            cpu,
            stretches,
            left_out,
        };
        let cycle = WorstCycle {
            response_ns: 100,
            left_out: 7,
            left_out_ns: 30,
            cpus: vec![
                lane(0, vec![stretch(-5, 110, "idle", "idle")], 0),
                lane(1, vec![stretch(-5, 9, "task", "a")], 20),
                lane(2, Vec::new(), 1),
            ],
            ..WorstCycle::default()
        };
        let thread = WatchedThread {
            worst: vec![cycle],
            ..WatchedThread::default()
        };
        let watched = Watched {
            threads: vec![thread.clone()],
            ..Watched::default()
        };
        let mut trace = Trace::default();
        trace.thread(&thread);
        trace.cpus(&watched);
        let of = |kind: &str| -> Vec<&Value> {
            let all = trace.events.iter();
            all.filter(|event| event["cat"] == kind).collect()
        };
        let about = &of("cycle")[0]["args"];
        assert_eq!(about["phases_left_out"], 7);
        assert_eq!(about["phases_left_out_ns"], 30);
        let unknown: Vec<_> = of("unknown")
            .iter()
            .map(|event| json!([event["name"], event["ts"], event["dur"]]))
            .collect();
        assert_eq!(
            json!(unknown),
            json!([
                ["20 parts left out", 0.009, 0.101],
                ["1 part left out", 0.0, 0.11]
            ])
        );
    }

    #[test]
    fn what_two_cycles_show_of_a_cpu_is_there_once() {
        // The same twice, cut at 3 and 12 by one cycle and at 7 and 30 by the other; a and another a follow each other.
        let track = joined(vec![
            stretch(3, 10, "task", "a"),
            stretch(10, 12, "task", "a"),
            stretch(0, 9, "unknown", "unknown"),
            stretch(9, 10, "task", "a"),
            stretch(10, 20, "watched", "a"),
            stretch(20, 30, "idle", "idle"),
        ]);
        let expected = [
            stretch(0, 3, "unknown", "unknown"),
            stretch(3, 10, "task", "a"),
            stretch(10, 20, "watched", "a"),
            stretch(20, 30, "idle", "idle"),
        ];
        assert_eq!(track, expected);
    }
}
