// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is known in the end, as a run keeps it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use punctual_model::watch::{PhaseTime, ResponseStep, Stack, Watched, WatchedThread};
use punctual_model::{
    Better, Check, CpuSet, Figure, Finding, Gathered as _, Nanos, Ordered as _, Policy, Series,
};

use super::account::Apart;
use super::basis::Basis;
use super::cycle::{Cause, Phase};
use super::source::Source;
use super::stacks::{self, Site, Taken};
use super::tally::{self, Tally};
use super::thread;
use super::who::Tid;
use super::{Watcher, culprits, words};
use crate::figures;
use crate::frame::{Found, Throttling};
use crate::trace::Lost;

/// Names of threads that are listed where none is the one that was asked for.
const NAMES: usize = 10;

/// Cycles without which a thread has no figures.
const FEW: u64 = 2;

/// Places that are shown of one thing that happened.
const PLACES: usize = 3;

/// Long cycles of all threads together that are kept with what went on around them, but for one a thread.
const WORST_IN_ALL: usize = 100;

/// Pieces of these cycles, and stretches of the CPUs around them, that are kept together: some 8 MB of a record.
const PIECES_IN_ALL: usize = 30_000;

/// What is not known where the kernel hides where its functions are: `kernel.kptr_restrict` is 2, or `CAP_SYSLOG` is missing.
const FUNCTIONS: &str = "names of its functions (kernel.kptr_restrict, or CAP_SYSLOG is missing)";

impl Watcher {
    /// The threads that have figures, with what is kept of them.
    pub(super) fn shown(&self) -> impl Iterator<Item = (u32, &thread::Thread, &Tally)> {
        let shown = self.order.iter().filter_map(|(tid, past)| {
            let tally = past.as_deref().or_else(|| self.tallies.get(tid));
            let tally = tally.filter(|tally| tally.cycles >= FEW)?;
            Some((self.replay.threads.get(tid)?, tally))
        });
        (0..)
            .zip(shown)
            .map(|(n, (thread, tally))| (n, thread, tally))
    }

    pub(super) fn watched(&self, source: &Source) -> Watched {
        let mut threads: Vec<WatchedThread> = self
            .shown()
            .map(|(n, thread, tally)| self.watched_thread(n, thread, tally))
            .collect();
        // A record with all cycles of hundreds of threads would be too large for the store.
        let each = WORST_IN_ALL / threads.len().max(1);
        if each < tally::SHOWN {
            let kept = each.max(1);
            threads.iter_mut().for_each(|t| t.worst.truncate(kept));
        }
        let kept: usize = threads.iter().map(|t| t.worst.len()).sum();
        for cycle in threads.iter_mut().flat_map(|t| &mut t.worst) {
            tally::shorten(cycle, PIECES_IN_ALL / kept);
        }
        let unknown = source.decoder.unknown().into_iter();
        let mut unknown: Vec<String> = unknown.map(str::to_owned).collect();
        if self.watch.stacks != Taken::None && !source.takes_stacks() {
            unknown.push(stacks::WITHOUT.to_owned());
        }
        if self
            .naming
            .as_ref()
            .is_some_and(|naming| naming.kernel.is_hidden())
        {
            unknown.push(FUNCTIONS.to_owned());
        }
        unknown.extend(self.of_32_bits());
        // A thread's habits are reported once, even if it had several cycles.
        let mut judged: BTreeMap<Tid, (u64, u32)> = BTreeMap::new();
        for (n, thread, tally) in self.shown() {
            if is_judged(thread, tally) {
                let most = judged.entry(thread.tid).or_default();
                *most = (*most).max((tally.cycles, n));
            }
        }
        // A thread that had several cycles counts once.
        let with_figures: BTreeSet<Tid> = self.shown().map(|(_, thread, _)| thread.tid).collect();
        let with_figures = with_figures.len();
        let judged = judged.into_iter().map(|(tid, (_, n))| (n, tid));
        let mut judged: Vec<(u32, Tid)> = judged.collect();
        judged.sort_unstable();
        let habits = self.habits.as_ref();
        Watched {
            habits_judged: habits.map(|_| judged.len() as u64),
            set_up_unjudged: habits.map_or(0, |habits| {
                habits.unjudged(judged.iter().map(|(_, tid)| *tid))
            }),
            habits: habits.map_or_else(Vec::new, |habits| {
                habits.found(judged.into_iter(), &mut |sites| self.say_sites(sites))
            }),
            idle_threads: (self.replay.threads.len() - with_figures) as u64 + self.replay.forgotten,
            unwatched_threads: self.replay.unwatched,
            records: source.records(),
            inferred_switches: self.replay.inferred,
            threads,
            unknown,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "times within days")]
    pub(super) fn watched_thread(
        &self,
        n: u32,
        thread: &thread::Thread,
        tally: &Tally,
    ) -> WatchedThread {
        let names = &self.replay.names;
        let late = culprits::late(tally);
        let longs = tally.longer_than(late.limit_ns);
        let cycles = tally.cycles.max(1) as f64;
        let phases = (0..).zip(Phase::ALL).map(|(place, phase): (usize, Phase)| {
            let of_late: u64 = longs.iter().map(|long| long.phases[place]).sum();
            PhaseTime {
                phase: phase.name().to_owned(),
                mean_ns: tally.phase_sums[place] as f64 / cycles,
                late_mean_ns: (!longs.is_empty()).then(|| of_late as f64 / longs.len() as f64),
                max_ns: tally.phase_max[place],
            }
        });
        let by_response = tally.steps.iter().map(|(step, of)| ResponseStep {
            to_ns: tally::step_end(*step),
            count: of.count,
            phases_ns: of
                .phases
                .map(|ns| ns as f64 / of.count.max(1) as f64)
                .to_vec(),
        });
        let basis = tally.basis.unwrap_or(Basis::EVERY_WAIT);
        let span = tally.span().filter(|_| self.is_apart(thread.tid));
        let since_start = |time: u64| Nanos::new(time.saturating_sub(self.origin));
        let mut calls: Vec<(String, u64)> = thread
            .calls
            .iter()
            .map(|(call, count)| (words::call_name(*call), *count))
            .collect();
        calls.order_by(|(a_name, a), (b_name, b)| b.cmp(a).then_with(|| a_name.cmp(b_name)));
        WatchedThread {
            thread: n,
            tid: thread.tid,
            name: names.text(thread.name).to_owned(),
            policy: policy(thread, tally),
            cycle_at: basis.at.map(|wait| self.says_wait(wait)),
            from_ns: span.map(|(first, _)| since_start(first)),
            to_ns: span.map(|(_, last)| since_start(last)),
            period_ns: tally.period().map(Nanos::new),
            timed_releases: tally.timed,
            cycles: tally.cycles,
            open_ns: tally.open.map(Nanos::new),
            missed_releases: tally.missed,
            phases: phases.collect(),
            by_response: by_response.collect(),
            culprits: culprits::culprits(tally, &late, self.watch.matters, names, &mut |sites| {
                self.say_sites(sites)
            }),
            late,
            worst: tally.worst(),
            calls,
            page_faults: thread.faults,
            migrations: thread.migrations,
        }
    }

    /// Says where something happened most often.
    fn say_sites(&self, sites: &BTreeMap<Site, u64>) -> Vec<Stack> {
        let Some(naming) = &self.naming else {
            return Vec::new();
        };
        let sites = sites.iter().map(|(site, count)| (*site, *count));
        let mut symbols = naming.symbols.borrow_mut();
        self.stacks
            .say_most(sites, PLACES, (&naming.kernel, &mut symbols))
    }

    pub(super) fn found(&self, watched: &Watched, source: &Source, lost: Lost) -> Found {
        let mut found = Found {
            throttling: Throttling::IsAResult,
            ..Found::default()
        };
        // The number of cycles in records that the kernel lost is unknown.
        let none_lost = (lost.records == 0).then_some(0);
        let mut tallies = Vec::new();
        for (n, thread, tally) in self.shown() {
            let series = figures::series(&tally.responses);
            found.series.push(Series {
                thread: Some(n),
                policy: Some(policy(thread, tally)),
                interval_ns: tally.period().map(Nanos::new),
                overruns: Some(tally.missed),
                lost: none_lost,
                clamped: Some(tally.responses.histogram().clamped()),
                warm_up_samples: Some(0),
                misses: figures::misses(&tally.responses),
                ..series
            });
            found.store(n.to_string(), &tally.responses);
            tallies.push(&tally.responses);
        }
        found.total = figures::total(&tallies);
        found.total.overruns = found.series.iter().map(|s| s.overruns).sum();
        found.total.clamped = found.series.iter().map(|s| s.clamped).sum();
        (found.total.lost, found.total.warm_up_samples) = (none_lost, Some(0));
        found.figures = self.phase_figures();
        found.figures.extend(source.cost.clone());
        found.figures.extend(self.analysis(source));
        found.findings.extend(self.evidence(watched, source));
        if source.limits_stacks() {
            let detail = "stacks were recorded only part of the time, because there were too many";
            found
                .findings
                .push(Finding::observed("stacks-limited", detail));
        }
        found.checks = self.checks(watched, source, lost);
        found
    }

    /// What tracing cost those who are watched, what is known of time that no event tells, and which events there are not.
    pub(super) fn evidence(&self, watched: &Watched, source: &Source) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self.cost(source).into_iter().collect();
        findings.extend(self.changes());
        findings.extend(watched.unknown.iter().map(|unknown| {
            let detail = format!("this kernel does not tell {unknown}");
            Finding::observed("no-event", detail)
        }));
        let mut apart = Apart::default();
        self.shown()
            .for_each(|(.., tally)| apart.merge(&tally.apart));
        findings.extend(
            apart
                .says()
                .map(|says| Finding::observed("timerlat-account", says)),
        );
        let is_outside = |(cause, spent): (&Cause, &tally::Spent)| {
            matches!(cause, Cause::Outside | Cause::Unknown).then_some(spent.total)
        };
        let spent = self.shown().flat_map(|(.., tally)| &tally.spent);
        let ns: u64 = spent.filter_map(is_outside).sum();
        if let Some(outside) = self.outside.as_ref().filter(|_| ns > 0) {
            let detail = format!(
                "over all cycles, {:.1} µs were spent outside this kernel or cannot be explained; meanwhile {}",
                Nanos::new(ns).as_secs_f64() * 1e6,
                outside.says()
            );
            findings.push(Finding::observed("outside-evidence", detail));
        }
        findings
    }

    /// Time that a record took to be read and analysed.
    #[expect(clippy::cast_precision_loss, reason = "counts and times within days")]
    fn analysis(&self, source: &Source) -> Option<Figure> {
        let records = source.records();
        let ns = (records > 0).then(|| self.busy.get() as f64 / records as f64)?;
        Some(Figure {
            count: records,
            ..Figure::single("analysis_per_record", "ns", Better::Lower, ns)
        })
    }

    /// Says what tracing cost a cycle of the thread that it cost most.
    #[expect(clippy::cast_precision_loss, reason = "counts and times within days")]
    fn cost(&self, source: &Source) -> Option<Finding> {
        let ns = source.cost.as_ref()?.value?;
        let a_cycle = |tally: &Tally| tally.events as f64 / tally.cycles.max(1) as f64;
        let (most, thread) = self
            .shown()
            .map(|(_, thread, tally)| (a_cycle(tally), thread))
            .max_by(|(a, _), (b, _)| a.total_cmp(b))?;
        Some(Finding::observed(
            "tracing-cost",
            format!(
                "an event costs {ns:.0} ns here, and a cycle of {} has some {most:.0}: being watched made it about \
                 {:.1} µs longer",
                self.replay.names.text(thread.name),
                most * ns / 1e3
            ),
        ))
    }

    /// The mean time of each phase, for comparisons of two runs.
    #[expect(clippy::cast_precision_loss, reason = "times within days")]
    fn phase_figures(&self) -> Vec<Figure> {
        let mut all = Vec::new();
        for (n, _, tally) in self.shown() {
            for (place, phase) in (0_usize..).zip(Phase::ALL) {
                let mean = tally.phase_sums[place] as f64 / tally.cycles as f64;
                let figure = Figure::single("time_in_phase", "ns", Better::Lower, mean);
                all.push(Figure {
                    count: tally.cycles,
                    max: Some(tally.phase_max[place] as f64),
                    ..figure.at("thread", n).at("phase", phase.name())
                });
            }
        }
        all
    }

    pub(super) fn checks(&self, watched: &Watched, source: &Source, lost: Lost) -> Vec<Check> {
        let cycles: u64 = watched.threads.iter().map(|thread| thread.cycles).sum();
        let unclear: u64 = self.shown().map(|(_, _, tally)| tally.unclear).sum();
        let period = self.watch.period.map(|asked| {
            let found = watched.threads.iter().filter_map(|thread| thread.period_ns);
            let found: BTreeSet<Nanos> = found.into_set();
            let listed: Vec<String> = found.iter().map(ToString::to_string).collect();
            let others = match listed.is_empty() {
                true => "none is periodic".to_owned(),
                false => format!("periods are {}", listed.join(", ")),
            };
            let is_there = found.contains(&asked);
            Check::of(
                "period",
                is_there,
                match is_there {
                    true => format!("threads wait for a period of {asked}"),
                    false => format!("no watched thread waits for a period of {asked}: {others}"),
                },
            )
        });
        let always = [
            Check::of(
                "samples",
                cycles > 0,
                match cycles {
                    0 => self.no_cycle(),
                    _ => format!("{cycles} whole cycles"),
                },
            ),
            Check::of(
                "lost-events",
                lost.records == 0,
                lost.says(source.records()),
            ),
            Check::of(
                "accounted",
                cycles > 0 && unclear * 100 <= cycles,
                self.accounted(cycles, unclear),
            ),
        ];
        let own = self.own_share(watched);
        let where_it_ran = self.ran_where_judged(source.cpus());
        let unjudged = self.computes_on().into_iter().chain(self.all_watched());
        let more = period.into_iter().chain(self.ended_where_found());
        let more = more.chain(own).chain(where_it_ran);
        let more = more.chain(unjudged);
        always.into_iter().chain(more).collect()
    }

    /// Checks that cycles ended on the CPUs whose use, stolen time and throttling are judged. Nothing where these are all of `machine`.
    pub(super) fn ran_where_judged(&self, machine: &CpuSet) -> Option<Check> {
        const ID: &str = "judged-cpus";
        let judged = self.judged.as_ref()?;
        if machine.without(judged).is_empty() {
            return None;
        }
        let elsewhere = self.shown().find_map(|(_, thread, tally)| {
            let cpu = tally.cpus.iter().find(|cpu| !judged.contains(**cpu))?;
            Some((self.replay.names.text(thread.name), cpu))
        });
        let detail = match elsewhere {
            Some((name, cpu)) => format!(
                "cycles of {name} ended on CPU {cpu}, but only CPUs {judged} were judged: name those of the program with --cpus"
            ),
            None => format!("every cycle ended on CPUs {judged}"),
        };
        Some(Check::of(ID, elsewhere.is_none(), detail))
    }
}

impl Watcher {
    /// Says of how many cycles every phase is known, and of which threads the others are.
    fn accounted(&self, cycles: u64, unclear: u64) -> String {
        let all = format!(
            "the phases of {} of {cycles} cycles add up to their response time within 2 µs",
            cycles - unclear
        );
        let mut others: Vec<(u64, String)> = self
            .shown()
            .filter(|(.., tally)| tally.unclear > 0)
            .map(|(n, thread, tally)| {
                let name = self.replay.names.text(thread.name);
                let of = format!("{} of thread {n}, {name}", tally.unclear);
                (tally.unclear, of)
            })
            .collect();
        others.order_by_key(|(unclear, _)| Reverse(*unclear));
        let shown: Vec<String> = others.into_iter().map(|(_, of)| of).take(PLACES).collect();
        match shown.is_empty() {
            true => all,
            false => format!("{all}; of the others are {}", shown.join(", ")),
        }
    }

    /// Says why there is no cycle: no thread is called as was asked, or none waited.
    pub(super) fn no_cycle(&self) -> String {
        let threads = self.replay.threads.iter();
        let named = threads.map(|(tid, thread)| (*tid, self.replay.names.text(thread.name)));
        let names: BTreeSet<&str> = named.clone().map(|(_, name)| name).into_set();
        if names.is_empty() || named.clone().any(|(tid, name)| self.watch.wants(tid, name)) {
            let none = "no watched thread had a whole cycle: it waited less than twice";
            return match &self.end {
                Some(end) => format!("{none}; {end}"),
                None => none.to_owned(),
            };
        }
        let shown: Vec<&str> = names.iter().copied().take(NAMES).collect();
        let more = match names.len().saturating_sub(NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!(
            "--threads {}: no thread has this in its name; there were {}{more}",
            self.watch.threads.join(","),
            shown.join(", ")
        )
    }
}

/// Whether a thread is to be in time: what real-time code should avoid is no matter to others.
pub(super) fn is_judged(thread: &thread::Thread, tally: &Tally) -> bool {
    tally.period().is_some() || is_real_time(thread, tally)
}

/// Whether a thread has a real-time policy.
pub(super) fn is_real_time(thread: &thread::Thread, tally: &Tally) -> bool {
    thread.prio < 100 || tally.policy.is_some_and(Policy::is_real_time)
}

/// Returns a thread's policy as the kernel said it while it lived, else what its priority tells.
fn policy(thread: &thread::Thread, tally: &Tally) -> String {
    match tally.policy {
        Some(policy) => policy.to_string(),
        None => words::policy(thread.prio),
    }
}
