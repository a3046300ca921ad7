// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A program's own threads: who made their late cycles late, where the time of a cycle goes, and the longest cycles.

mod pictures;

use std::borrow::Cow;
use std::cmp::Reverse;

use std::collections::BTreeSet;

use punctual_model::watch::{CyclePiece, KernelAccount, Watched, WatchedThread, WorstCycle};
use punctual_model::{Nanos, Ordered as _, RunRecord};

use super::answer;
use super::habits;
use super::named::{capital, counted, micros};
use super::parts::{Answer, Block, Ids, KeyFigure, RunItem, Table, Tone};
use super::places;
use super::runs::Named;
use super::series::micros_of;
use crate::chart::Drawing;
use crate::clock_or_count::Times;

/// Threads with tables of their own; of the others there is a line each.
const THREADS: usize = 4;

/// Longest cycles that are listed of a thread, the first of them where all is said.
const WORST: usize = 5;

/// Stretches of a cycle in a table; the shortest of more are one.
const PIECES: usize = 10;

/// Whether it has a period or a deadline to be late for, and not only a slowest hundredth.
fn has_limit(thread: &WatchedThread) -> bool {
    thread.late.rule != "p99"
}

/// What was seen, where several threads share a name with the number of each behind it.
fn named_apart(watched: &Watched) -> Cow<'_, Watched> {
    let shared = |name: &str| {
        let of_name = watched.threads.iter().filter(|t| t.name == name);
        of_name.count() > 1
    };
    if !watched.threads.iter().any(|t| shared(&t.name)) {
        return Cow::Borrowed(watched);
    }
    let mut apart = watched.clone();
    for thread in &mut apart.threads {
        if shared(&thread.name) {
            thread.name = format!("{} (thread {})", thread.name, thread.thread);
        }
    }
    Cow::Owned(apart)
}

/// The threads, those first that a reader wants to know of.
fn ranked(watched: &Watched) -> Vec<&WatchedThread> {
    let mut threads: Vec<&WatchedThread> = watched.threads.iter().collect();
    let late = |t: &WatchedThread| if has_limit(t) { t.late.count } else { 0 };
    // A thread that was given a real-time policy is the one that must not be late.
    let is_real_time = |t: &WatchedThread| t.policy.starts_with(['f', 'r', 'd']);
    threads.order_by_key(|t| {
        let urgent = is_real_time(t) && late(t) + t.missed_releases > 0;
        Reverse((
            t.open_ns.is_some(),
            urgent,
            late(t),
            t.missed_releases,
            t.period_ns.is_some(),
            is_real_time(t),
            t.cycles,
        ))
    });
    threads
}

/// What a cycle may take, in words: `its period of 4 ms`.
fn limit(thread: &WatchedThread, times: Times) -> String {
    match thread.late.rule.as_str() {
        "deadline" => format!(
            "the deadline of {}",
            times.span(Nanos::new(thread.late.limit_ns))
        ),
        _ => format!(
            "their period of {}",
            thread
                .period_ns
                .map_or_else(String::new, |period| span_of_period(period, times))
        ),
    }
}

/// A period is measured: of its nanoseconds nobody wants to know.
fn span_of_period(period: Nanos, times: Times) -> String {
    let us = period.get().saturating_add(500) / 1_000;
    times.span(Nanos::from_micros(us))
}

/// What was seen of a run's threads, and nothing else of it; nothing where none were watched.
pub(crate) fn explained(run: &RunRecord, name: &str) -> Option<(Answer, Vec<Block>)> {
    let item = RunItem::from(run.clone());
    let named = Named {
        name,
        item: &item,
        look: None,
        group: None,
    };
    run.watched.as_ref()?;
    let mut said = answer::run(run, name);
    let why = why(run);
    if let Some(why) = why.filter(|_| run.instrument != WATCH) {
        said.sentence = why;
    }
    Some((said, blocks(&mut Ids::default(), &[named])))
}

/// The instrument whose runs are of somebody's program. Those of others are of our own threads.
const WATCH: &str = "watch";

/// Says who made the latest samples of our own threads late.
pub(super) fn why(run: &RunRecord) -> Option<String> {
    let watched = named_apart(run.watched.as_ref()?);
    let worst = watched
        .threads
        .iter()
        .max_by_key(|t| t.worst.first().map(|w| w.response_ns))?;
    let which = match worst.late.rule.as_str() {
        "p99" => format!("The latest hundredth of {}", worst.name),
        _ => format!("The late cycles of {}", worst.name),
    };
    let named: Vec<String> = worst
        .culprits
        .iter()
        .take(3)
        .map(|c| format!("{} ({} of {})", c.what, c.cycles, worst.late.examined))
        .collect();
    Some(match named.is_empty() {
        true => format!("{which}: nobody took notably more of them than of the others."),
        false => format!("{which}: {}.", named.join("; ")),
    })
}

/// Says in a sentence what was seen of somebody's program, with the figures that carry it.
pub(super) fn answer(run: &RunRecord) -> Option<(Tone, String, String, Vec<KeyFigure>)> {
    let watched = run.watched.as_ref().filter(|_| run.instrument == WATCH)?;
    let watched = named_apart(watched);
    let threads = ranked(&watched);
    let thread = *threads.first()?;
    let times = Times::of_run(run);
    let unit = times.micros();
    let name = &thread.name;
    let all = counted(thread.cycles, "cycle");
    let longest = thread.worst.first().map_or(0, |worst| worst.response_ns);
    let (tone, word, mut sentence) = if has_limit(thread) && thread.late.count > 0 {
        let mut sentence = match thread.open_ns {
            Some(open) => format!(
                "{name} did not end its last cycle, which had taken {} when the thread or the run ended. ",
                times.span(Nanos::from_millis(open.get() / 1_000_000))
            ),
            None => String::new(),
        };
        let late = format!(
            "{} of {all} of {name} took longer than {}",
            thread.late.count,
            limit(thread, times)
        );
        sentence.push_str(&late);
        let blamed = match thread.culprits.first() {
            Some(first) => {
                let saved = match first.saved {
                    0 => "none alone".to_owned(),
                    n if n == thread.late.count => "all".to_owned(),
                    n => n.to_string(),
                };
                let what = &first.what;
                format!(". Most to blame: {what}; {saved} would have been in time without it.")
            }
            None => ". Nobody took more of late cycles than of those in time.".to_owned(),
        };
        sentence.push_str(&blamed);
        (Tone::Bad, "late", sentence)
    } else if has_limit(thread) || thread.period_ns.is_some() {
        let sentence = format!(
            "All {all} of {name} ended within {}; the longest took {} {unit}.",
            limit(thread, times),
            micros(longest as f64)
        );
        match thread.missed_releases {
            0 => (Tone::Good, "in time", sentence),
            _ => (Tone::Bad, "late", sentence),
        }
    } else {
        let sentence = format!(
            "{name} has no period: {} from being woken to waiting again, the longest {} {unit}.",
            counted(thread.cycles, "round"),
            micros(longest as f64)
        );
        (Tone::Plain, "no period", sentence)
    };
    if thread.missed_releases > 0 {
        let unserved = format!(
            " {} passed while it was busy, and it never served them.",
            counted(thread.missed_releases, "release")
        );
        sentence.push_str(&unserved);
    }
    // One thread may have had several cycles.
    let others: BTreeSet<i32> = threads
        .iter()
        .filter(|t| has_limit(t) && t.late.count + t.missed_releases > 0)
        .map(|t| t.tid)
        .filter(|tid| *tid != thread.tid)
        .collect();
    let others = others.len();
    if others > 0 {
        let too = format!(" {others} of its other threads had late cycles too.");
        sentence.push_str(&too);
    }
    let told = ["cycle-changed", "program-end"];
    let told = told
        .iter()
        .flat_map(|id| run.findings.iter().filter(|f| f.id == *id));
    for finding in told {
        let said = format!(" {}.", capital(&finding.detail));
        sentence.push_str(&said);
    }
    let mut figures = vec![KeyFigure {
        name: "late cycles".to_owned(),
        value: format!("{} of {}", thread.late.count, thread.cycles),
        detail: format!("longer than {}", limit(thread, times)),
    }];
    if !has_limit(thread) {
        figures.clear();
    }
    figures.push(KeyFigure {
        name: "longest cycle".to_owned(),
        value: format!("{} {unit}", micros(longest as f64)),
        detail: format!("of {all}, no bound"),
    });
    Some((tone, word.to_owned(), sentence, figures))
}

/// The tables of a run that watched a program.
pub(super) fn blocks(ids: &mut Ids, runs: &[Named<'_>]) -> Vec<Block> {
    let mut blocks = Vec::new();
    let unit = micros_of(runs);
    for run in runs {
        let Some(watched) = run.record().watched.as_deref() else {
            continue;
        };
        let of = match runs.len() {
            1 => String::new(),
            _ => format!(" ({})", run.name),
        };
        if run.record().instrument != WATCH {
            blocks.extend(why(run.record()).map(Block::Text));
        }
        let watched = &*named_apart(watched);
        let threads = ranked(watched);
        let times = Times::of_run(run.record());
        let shown = threads.iter().take(THREADS);
        let worth_a_table = |t: &&&WatchedThread| t.period_ns.is_some() || !t.culprits.is_empty();
        for (place, thread) in shown.filter(worth_a_table).enumerate() {
            let picture = pictures::Of {
                thread,
                run: &of,
                unit,
                validity: run.validity(),
            };
            blocks.extend(culprits(thread, &of, times).map(|table| {
                let chart = Box::new(Drawing::Chart(picture.culprits(ids)));
                Block::Drawing(chart, Some(table))
            }));
            blocks.extend(places::of_culprits(thread, &of).map(Block::Table));
            blocks.push(Block::Table(phases(thread, &of, times)));
            let tail = picture.by_response(ids);
            blocks.extend(tail.map(|chart| Block::Drawing(Box::new(Drawing::Chart(chart)), None)));
            blocks.extend(worst(ids, &picture, place == 0, times));
        }
        blocks.extend(habits::blocks(watched, &of, times));
        blocks.extend(places::of_habits(watched, &of));
        if threads.len() > 1 {
            blocks.push(Block::Table(overview(&threads, watched, &of, times)));
        }
    }
    blocks
}

fn culprits(thread: &WatchedThread, of: &str, times: Times) -> Option<Table> {
    if thread.culprits.is_empty() {
        return None;
    }
    let what = match has_limit(thread) {
        true => format!("the {} late cycles of {}", thread.late.count, thread.name),
        false => format!("the slowest hundredth of the cycles of {}", thread.name),
    };
    let mut table = Table::of(
        format!(
            "Who took the time of {what}{of}, times in {}",
            times.micros()
        ),
        "<Who|In cycles|In time without|?Mean|??Mean of others|Longest",
    );
    for culprit in &thread.culprits {
        let who = match culprit.tid {
            Some(tid) => format!("{}, thread {tid}", culprit.what),
            None => culprit.what.clone(),
        };
        table.rows.push(vec![
            match culprit.name.as_deref() {
                // A name is written as it is.
                Some(name) if who.starts_with(name) => who,
                _ => capital(&who),
            },
            culprit.cycles.to_string(),
            culprit.saved.to_string(),
            micros(culprit.mean_ns),
            micros(culprit.in_time_mean_ns),
            micros(culprit.worst_ns as f64),
        ]);
    }
    table.notes.push(
        "In cycles: those that it took more of than usual. In time without: those that would not have been late had it \
         taken no more than of the others."
            .to_owned(),
    );
    if thread.late.examined < thread.late.count {
        table.notes.push(format!(
            "Of {} late cycles the {} longest were looked into.",
            thread.late.count, thread.late.examined
        ));
    }
    Some(table)
}

fn phases(thread: &WatchedThread, of: &str, times: Times) -> Table {
    let mut table = Table::new(
        format!(
            "Where the time of {} of {} goes{of}, in {}",
            counted(thread.cycles, "cycle"),
            thread.name,
            times.micros()
        ),
        &["<Phase", "Mean", "Mean if late", "Longest"],
    );
    for phase in &thread.phases {
        table.rows.push(vec![
            capital(phase_words(&phase.phase)),
            micros(phase.mean_ns),
            phase.late_mean_ns.map_or_else(|| "-".to_owned(), micros),
            micros(phase.max_ns as f64),
        ]);
    }
    let release = match (thread.timed_releases, thread.cycle_at.as_deref()) {
        (0, _) => "A cycle begins when something wakes the thread.".to_owned(),
        (_, Some(wait)) => format!(
            "A cycle begins at the time that the thread asked its timer for, and ends where it calls {wait} again."
        ),
        (_, None) => "Every wait ends a cycle.".to_owned(),
    };
    table.notes.push(release);
    table
}

/// Says a phase.
fn phase_words(phase: &str) -> &str {
    match phase {
        "timer" => "timer late",
        "wake-up" => "runnable after its wait",
        "preempted" => "runnable after another took the CPU",
        "interrupted" => "interrupts on its time",
        "blocked" => "waiting within the cycle",
        "unaccounted" => "not accounted for",
        phase => phase,
    }
}

/// The longest cycles, drawn and as tables; of the first thread the longest is not folded away.
fn worst(ids: &mut Ids, picture: &pictures::Of<'_>, is_first: bool, times: Times) -> Vec<Block> {
    let (thread, of) = (picture.thread, picture.run);
    let mut blocks = Vec::new();
    let mut folded = Vec::new();
    for (place, cycle) in thread.worst.iter().take(WORST).enumerate() {
        let chart = Box::new(Drawing::Chart(picture.cycle(ids, cycle)));
        let block = Block::Drawing(chart, Some(one_cycle(thread, cycle, of, times)));
        let account = cycle.kernel.as_ref();
        let account =
            account.map(|account| Block::Table(by_timerlat(thread, cycle, account, (of, times))));
        let both = std::iter::once(block).chain(account);
        if is_first && place == 0 {
            blocks.extend(both);
        } else {
            folded.extend(both);
        }
    }
    if !folded.is_empty() {
        let title = format!("Other long cycles of {}{of}", thread.name);
        blocks.push(Block::Fold(title, folded));
    }
    blocks
}

fn one_cycle(thread: &WatchedThread, cycle: &WorstCycle, of: &str, times: Times) -> Table {
    let unit = times.micros();
    let mut table = Table::new(
        format!(
            "Cycle {} of {}{of}: {} {unit} from its release at {} {}, in {unit}",
            cycle.number,
            thread.name,
            micros(cycle.response_ns as f64),
            format_args!("{:.3}", cycle.release_ns as f64 / 1e9),
            times.of_figure("s")
        ),
        &["From", "Took", "?CPU", "<Phase", "<Who had the time"],
    );
    for piece in merged(&cycle.pieces) {
        table.rows.push(vec![
            micros(piece.from_ns as f64),
            micros((piece.to_ns - piece.from_ns) as f64),
            piece.cpu.to_string(),
            piece.phase,
            piece.cause,
        ]);
    }
    table
}

/// What the kernel's tracer says of a cycle, and what follows from the other events.
fn by_timerlat(
    thread: &WatchedThread,
    cycle: &WorstCycle,
    account: &KernelAccount,
    (of, times): (&str, Times),
) -> Table {
    let mut table = Table::new(
        format!(
            "Cycle {} of {}{of} by the kernel's timerlat tracer, and by the other events, in {}",
            cycle.number,
            thread.name,
            times.micros()
        ),
        &["<Time", "Timerlat", "Events", "Difference", "?<Of whom"],
    );
    for part in &account.parts {
        #[expect(clippy::cast_precision_loss, reason = "times within days")]
        let differs = part.kernel_ns as f64 - part.ours_ns as f64;
        table.rows.push(vec![
            part_words(&part.part).to_owned(),
            micros(part.kernel_ns as f64),
            micros(part.ours_ns as f64),
            micros(differs),
            part.names.join(", "),
        ]);
    }
    table.notes.push(
        "Interrupts, soft interrupts and threads: from the beginning of the timer's interrupt until the thread ran. The tracer's \
         thread reads its clock after the switch to it, at which the events end."
            .to_owned(),
    );
    table
}

/// Says a part of the tracer's account.
fn part_words(part: &str) -> &str {
    match part {
        "irq-latency" => "Timer's interrupt late",
        "interrupts" => "Interrupts",
        "soft-interrupts" => "Soft interrupts",
        "threads" => "Other threads",
        "idle" => "Idle thread",
        "thread-latency" => "Thread late, in all",
        part => part,
    }
}

/// Joins the shortest stretches to what is before them, until a table holds them.
fn merged(pieces: &[CyclePiece]) -> Vec<CyclePiece> {
    let mut pieces = pieces.to_vec();
    while pieces.len() > PIECES {
        let lengths = pieces
            .iter()
            .map(|piece| piece.to_ns - piece.from_ns)
            .enumerate();
        let shortest = lengths
            .min_by_key(|(_, length)| *length)
            .map_or(0, |(place, _)| place);
        let gone = pieces.remove(shortest);
        let into = shortest.saturating_sub(1);
        if let Some(into) = pieces.get_mut(into) {
            into.from_ns = into.from_ns.min(gone.from_ns);
            into.to_ns = into.to_ns.max(gone.to_ns);
            if !into.cause.ends_with(SHORT) {
                into.cause.push_str(SHORT);
            }
        }
        join_alike(&mut pieces);
    }
    pieces
}

const SHORT: &str = ", and shorter ones";

/// Makes neighbours of the same cause one.
fn join_alike(pieces: &mut Vec<CyclePiece>) {
    let bare = |cause: &str| cause.trim_end_matches(SHORT).to_owned();
    let mut joined: Vec<CyclePiece> = Vec::with_capacity(pieces.len());
    for piece in pieces.drain(..) {
        match joined.last_mut() {
            Some(last)
                if (bare(&last.cause), last.cpu, &last.phase)
                    == (bare(&piece.cause), piece.cpu, &piece.phase) =>
            {
                last.to_ns = piece.to_ns;
                if piece.cause.ends_with(SHORT) && !last.cause.ends_with(SHORT) {
                    last.cause.push_str(SHORT);
                }
            }
            _ => joined.push(piece),
        }
    }
    *pieces = joined;
}

fn overview(threads: &[&WatchedThread], watched: &Watched, of: &str, times: Times) -> Table {
    let mut table = Table::of(
        format!("Threads{of}, times in {}", times.micros()),
        "<Thread|?TID|<Policy|?Period|Cycles|Late|Longest|??Page faults",
    );
    for thread in threads {
        table.rows.push(vec![
            thread.name.clone(),
            thread.tid.to_string(),
            thread.policy.clone(),
            thread
                .period_ns
                .map_or_else(|| "-".to_owned(), |p| micros(p.get() as f64)),
            thread.cycles.to_string(),
            match has_limit(thread) {
                true => thread.late.count.to_string(),
                false => "-".to_owned(),
            },
            micros(thread.worst.first().map_or(0, |worst| worst.response_ns) as f64),
            thread.page_faults.to_string(),
        ]);
    }
    table
        .notes
        .push("Late, -: no cycle was longer than its period, or it has none.".to_owned());
    if watched.idle_threads > 0 {
        table.notes.push(format!(
            "{} waited less than three times and have no figures.",
            counted(watched.idle_threads, "thread")
        ));
    }
    if watched.unwatched_threads > 0 {
        table.notes.push(format!(
            "{} were too many to be watched.",
            counted(watched.unwatched_threads, "thread")
        ));
    }
    table
}
