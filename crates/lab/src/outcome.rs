// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What came of the runs of a plan, each of which may have taken several tries.

use std::collections::BTreeMap;

use crate::plan::{Plan, Slot};
use crate::state::{Attempt, RunEnd};

/// How many runs of a plan came to what, repeats apart.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Outcomes {
    /// Runs with a valid try.
    pub valid: u64,
    /// Runs that were recorded, each time invalid.
    pub invalid: u64,
    /// Runs of which every try failed.
    pub failed: u64,
}

/// Counts the runs by the best of their tries.
pub fn outcomes(attempts: &[Attempt]) -> Outcomes {
    let mut best: BTreeMap<Slot, RunEnd> = BTreeMap::new();
    for attempt in attempts {
        let Some(end) = attempt.end.filter(|end| *end != RunEnd::Interrupted) else {
            continue;
        };
        let known = best.entry(attempt.slot).or_insert(end);
        if rank(end) < rank(*known) {
            *known = end;
        }
    }
    let of = |end| best.values().filter(|known| **known == end).count() as u64;
    Outcomes {
        valid: of(RunEnd::Valid),
        invalid: of(RunEnd::Invalid),
        failed: of(RunEnd::Failed),
    }
}

const fn rank(end: RunEnd) -> u8 {
    match end {
        RunEnd::Valid => 0,
        RunEnd::Invalid => 1,
        RunEnd::Failed => 2,
        RunEnd::Interrupted => 3,
    }
}

/// A measurement of a cell that was tried and has no valid run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unmeasured<'a> {
    /// The cell, an index into the plan.
    pub cell: u32,
    /// The measurement, an index into the plan.
    pub measurement: u32,
    /// Its last try.
    pub last: &'a Attempt,
}

/// Finds the measurements of cells that were tried and have no valid run, those of the warm-up apart.
pub fn unmeasured<'a>(plan: &Plan, attempts: &'a [Attempt]) -> Vec<Unmeasured<'a>> {
    let mut last: BTreeMap<(u32, u32), Option<&Attempt>> = BTreeMap::new();
    for attempt in attempts {
        let is_over = attempt.end.is_some_and(|end| end != RunEnd::Interrupted);
        if !is_over || plan.is_warm_up(attempt.slot.block) {
            continue;
        }
        let of = last.entry((attempt.slot.cell, attempt.slot.measurement));
        let of = of.or_insert(Some(attempt));
        match attempt.end {
            Some(RunEnd::Valid) => *of = None,
            _ if of.is_some() => *of = Some(attempt),
            _ => {}
        }
    }
    let found = |((cell, measurement), last): ((u32, u32), Option<&'a Attempt>)| {
        Some(Unmeasured {
            cell,
            measurement,
            last: last?,
        })
    };
    last.into_iter().filter_map(found).collect()
}
