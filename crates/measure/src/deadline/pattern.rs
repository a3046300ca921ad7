// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What stalls of a real-time thread show about who caused them. Pure.
//!
//! Two mechanisms of the kernel take time from real-time threads, by default each 50 ms of each
//! second, and neither counts what it takes:
//!
//! - *Throttling*: real-time threads that used their budget are stopped for the rest of the period.
//!   Since Linux 6.12 only the budgets of cgroups do that (`CONFIG_RT_GROUP_SCHED`); before, the
//!   system's did as well. A throttled CPU idles if nobody else wants it.
//! - The *fair server* (since Linux 6.12): a deadline server that runs ordinary threads which waited
//!   too long. It takes no more time than they use, and none if none waits. It leaves no CPU idle.
//!
//! One is named only if the times off the CPU have its length and come once in its period, if it is possible
//! with the limits as they were read, and if where the CPU's time went does not contradict it.

use punctual_model::{Finding, Nanos, Policy};

use super::neighbours::Waiting;
use super::stalls::{Stall, stall_from};
use super::status::CpuTime;
use crate::budget::{Budget, Budgets, FairServer};

/// Name of the finding that real-time throttling stopped the thread.
const THROTTLING: &str = "rt-throttling";

/// Name of the finding that the fair server ran others.
const FAIR_SERVER: &str = "fair-server";

/// Name of the finding that it was one of both.
const EITHER: &str = "rt-throttling-or-fair-server";

/// Name of the finding that iterations took much longer than undisturbed.
const STALLS: &str = "stalls";

/// Fewest stalls that can show a period.
const LEAST: usize = 3;

/// Throttling is decided at clock ticks, of which the slowest kernels have 100 a second.
const TICK: Nanos = Nanos::from_millis(10);

/// What is known of one thread's run.
#[derive(Clone, Debug)]
pub(crate) struct Evidence<'a> {
    pub(crate) thread: u32,
    pub(crate) policy: Policy,
    /// In the order of their ends.
    pub(crate) stalls: &'a [Stall],
    /// Stalls that were not kept.
    pub(crate) dropped: u64,
    /// What an undisturbed iteration takes.
    pub(crate) undisturbed: Nanos,
    /// Time of the loop.
    pub(crate) span: Nanos,
    /// CPU time of the thread in it.
    pub(crate) ran: Nanos,
    /// Where the rest of the CPU's time went, if the thread was pinned.
    pub(crate) cpu: Option<CpuTime>,
    pub(crate) budgets: &'a Budgets,
    pub(crate) fair_server: FairServer,
    pub(crate) waiting: &'a Waiting,
}

/// Says what the stalls show.
pub(crate) fn findings(e: &Evidence<'_>) -> Vec<Finding> {
    if e.stalls.is_empty() {
        return Vec::new();
    }
    let mut text = summary(e);
    let named = named(e).filter(|_| e.policy.is_real_time());
    if named.is_none() && e.policy.is_real_time() {
        // What else to judge it by.
        text = format!("{text}; no known cause matches ({})", e.budgets.describe());
    }
    std::iter::once(Finding::observed(STALLS, text))
        .chain(named)
        .collect()
}

/// Says what is certain: how many, how long, and where the CPU's time went.
fn summary(e: &Evidence<'_>) -> String {
    let lost = e.stalls.iter().fold(Nanos::ZERO, |sum, s| sum + s.lost);
    let off_cpu = total(e.stalls.iter());
    let longest = e.stalls.iter().max_by_key(|s| s.lost);
    let longest = longest.map_or_else(String::new, |s| {
        format!(", the longest {} at {:.3} s", s.lost, s.at.as_secs_f64())
    });
    let mut text = format!(
        "thread {}: {} iteration{} took at least {} longer than undisturbed, {lost} in all{longest}; in them \
         the thread was off the CPU for {off_cpu}",
        e.thread,
        e.stalls.len() as u64 + e.dropped,
        if e.stalls.len() == 1 { "" } else { "s" },
        stall_from(e.undisturbed),
    );
    if let Some(cpu) = e.cpu {
        let rest = format!(
            "; during the loop's {}, the CPU was idle for {}, ran other threads for {}, and the \
             hypervisor stole {} (in steps of 10 ms)",
            e.span, cpu.idle, cpu.others, cpu.stolen
        );
        text += &rest;
    }
    text
}

fn named(e: &Evidence<'_>) -> Option<Finding> {
    // The kernel's own words where a group has a budget of its own: only such kernels have any.
    let throttles = !e.budgets.groups.is_empty()
        || !matches!(e.fair_server, FairServer::Known(_) | FairServer::Assumed);
    let throttling = e
        .budgets
        .throttling()
        .filter(|budget| throttles && !budget.is_open())
        .and_then(|budget| Pattern::find(e, budget));
    let fair = e
        .fair_server
        .budget()
        .and_then(|budget| Pattern::find(e, budget));
    let pattern = throttling.or(fair)?;
    let half =
        |time: fn(&CpuTime) -> Nanos| e.cpu.is_some_and(|cpu| time(&cpu).times(2) >= pattern.lost);
    if half(|cpu| cpu.stolen) {
        // The hypervisor alone explains it.
        return None;
    }
    let (idle, waited) = (half(|cpu| cpu.idle), e.waiting.was_usual());
    Some(match (throttling, fair) {
        (Some(pattern), _) if idle => throttled(
            e,
            pattern,
            &format!(
                "the CPU was idle during the stalls ({}), and the fair server never leaves a CPU idle",
                e.cpu.map_or(Nanos::ZERO, |cpu| cpu.idle)
            ),
        ),
        (Some(pattern), None) => throttled(e, pattern, "this kernel has no other known cause"),
        (Some(pattern), Some(_)) if !waited => throttled(
            e,
            pattern,
            &format!("the fair server is not the cause: {}", e.waiting.describe()),
        ),
        (Some(pattern), Some(_)) => Finding::inferred(
            EITHER,
            format!(
                "{}: this matches both real-time throttling ({}) and the fair server, which runs \
                 waiting ordinary threads ({}). Switch throttling off, or move those threads away, \
                 to see which",
                pattern.describe(e),
                e.budgets.describe(),
                e.waiting.describe(),
            ),
        ),
        (None, Some(pattern)) if waited && !idle => served(e, pattern),
        (None, _) => return None,
    })
}

fn throttled(e: &Evidence<'_>, pattern: Pattern, why: &str) -> Finding {
    Finding::inferred(
        THROTTLING,
        format!(
            "{}: this matches real-time throttling ({}); {why}",
            pattern.describe(e),
            e.budgets.describe(),
        ),
    )
}

fn served(e: &Evidence<'_>, pattern: Pattern) -> Finding {
    let server = match e.fair_server {
        FairServer::Known(_) => "as read from debugfs",
        _ => "its default; it cannot be read here",
    };
    let open = match e.budgets.throttling() {
        Some(budget) if budget.is_open() => "real-time throttling is off",
        Some(_) => "the stalls do not match real-time throttling",
        None => "the real-time budget cannot be read",
    };
    Finding::inferred(
        FAIR_SERVER,
        format!(
            "{}: this matches the fair server, which runs ordinary threads for {} of each {} and ends at a clock \
             tick ({server}); {}; {open} ({})",
            pattern.describe(e),
            pattern.budget.rest(),
            pattern.budget.period(),
            e.waiting.describe(),
            e.budgets.describe(),
        ),
    )
}

/// Stalls of one length that come once in a period.
#[derive(Clone, Copy, Debug)]
struct Pattern {
    budget: Budget,
    count: usize,
    shortest: Nanos,
    longest: Nanos,
    /// All of them together.
    lost: Nanos,
    /// Median time from one to the next.
    apart: Nanos,
}

impl Pattern {
    /// Finds the stalls of about the rest of each period of `budget`, once a period.
    #[expect(clippy::cast_precision_loss, reason = "counts of stalls")]
    fn find(e: &Evidence<'_>, budget: Budget) -> Option<Self> {
        let (rest, period) = (budget.rest(), budget.period());
        // Longer iterations hold several of them, or parts.
        if rest.is_zero() || e.undisturbed.times(2) > period {
            return None;
        }
        let off = Nanos::new(rest.get() / 2).min(Nanos::new(rest.get() / 4) + TICK);
        let near: Vec<Stall> = joined(e.stalls, budget)
            .into_iter()
            .filter(|s| s.off_cpu >= rest - off && s.off_cpu <= rest + off)
            .collect();
        let mut apart: Vec<Nanos> = near.windows(2).map(|w| w[1].at - w[0].at).collect();
        if near.len() < LEAST {
            return None;
        }
        let regular = apart.iter().filter(|d| is_multiple(**d, period)).count();
        let periods = e.span.get() as f64 / period.get() as f64;
        let count = near.len() as f64;
        let once = count >= 0.6 * periods.floor() && count <= 1.25 * periods + 1.0;
        if regular * 3 < apart.len() * 2 || !once {
            return None;
        }
        apart.sort_unstable();
        Some(Self {
            budget,
            count: near.len(),
            shortest: near.iter().map(|s| s.off_cpu).min()?,
            longest: near.iter().map(|s| s.off_cpu).max()?,
            lost: total(near.iter()),
            apart: *apart.get(apart.len() / 2)?,
        })
    }

    fn describe(&self, e: &Evidence<'_>) -> String {
        format!(
            "thread {} was off the CPU for {} to {} in {} stalls, {} apart, and had {:.1} % of the time",
            e.thread,
            self.shortest,
            self.longest,
            self.count,
            self.apart,
            100.0 * e.ran.as_secs_f64() / e.span.as_secs_f64().max(1e-9),
        )
    }
}

/// Joins stalls that follow each other at once: ordinary threads that come and go use their time in
/// pieces, and the real-time thread runs between them.
fn joined(stalls: &[Stall], budget: Budget) -> Vec<Stall> {
    let tenth = |span: Nanos| Nanos::new(span.get() / 10);
    let mut joined: Vec<Stall> = Vec::new();
    for stall in stalls.iter().filter(|s| s.off_cpu >= tenth(budget.rest())) {
        match joined.last_mut() {
            Some(last) if stall.at - stall.off_cpu <= last.at + tenth(budget.period()) => {
                last.at = stall.at;
                last.lost = last.lost + stall.lost;
                last.off_cpu = last.off_cpu + stall.off_cpu;
            }
            _ => joined.push(*stall),
        }
    }
    joined
}

/// Whether `span` is one or more periods, to a tenth of one.
const fn is_multiple(span: Nanos, period: Nanos) -> bool {
    let (span, period) = (span.get(), period.get());
    let tenth = period / 10;
    let beyond = span % period;
    span + tenth >= period && (beyond <= tenth || beyond + tenth >= period)
}

/// Returns how long the thread was off the CPU.
fn total<'a>(stalls: impl Iterator<Item = &'a Stall>) -> Nanos {
    stalls.fold(Nanos::ZERO, |sum, stall| sum + stall.off_cpu)
}

#[cfg(test)]
mod tests;
