// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From runs to verdicts on deadlines.
//!
//! The classes are those of V. Bridgers, "Real Time Linux Scheduling Comparison" (2015). A class is
//! given for what was seen under the worst condition. The 95 % class is a claim about the share of
//! misses and so takes the upper end of an interval (Clopper-Pearson, *Biometrika* 26, 1934), not
//! the share seen. The interval counts bursts, as requirements do. The 100 % class says only that no
//! wake-up contradicts it; `share_at_most` says how little that may be.

use punctual_model::{
    ASSESSMENT_FORMAT, Assessment, Condition, DeadlineVerdict, MissRate, Nanos, RealTimeClass,
};

use crate::bursts::{self, seen};
use crate::claims::CONFIDENCE;

/// The share of misses that the 95 % class allows.
const NINETY_FIVE: f64 = 0.05;

/// Judges `deadlines` by the runs under `conditions`, if no burst of misses lasts longer than `burst`.
///
/// `obstacle` says why the threads had no real-time policy, where they had none.
pub fn assess(
    conditions: Vec<Condition>,
    deadlines: &[Nanos],
    burst: Nanos,
    obstacle: Option<String>,
) -> Assessment {
    let mut deadlines = deadlines.to_vec();
    deadlines.sort_unstable();
    deadlines.dedup();
    Assessment {
        format: ASSESSMENT_FORMAT.to_owned(),
        real_time: obstacle.is_none()
            && conditions
                .iter()
                .filter_map(|c| c.run.spec.as_ref())
                .all(|spec| spec.priority.is_real_time()),
        obstacle,
        valid: conditions.iter().all(|c| c.run.is_valid()),
        burst_ns: Some(burst),
        deadlines: deadlines
            .into_iter()
            .map(|deadline| verdict(deadline, &conditions, burst))
            .collect(),
        planned: Some(conditions.len() as u64),
        left_out: None,
        conditions,
    }
}

fn verdict(deadline_ns: Nanos, conditions: &[Condition], burst: Nanos) -> DeadlineVerdict {
    let misses: Vec<MissRate> = conditions
        .iter()
        .filter_map(|condition| rate(deadline_ns, condition, burst))
        .collect();
    // The worst condition decides; a condition that counted nothing leaves no verdict.
    let class = (misses.len() == conditions.len())
        .then(|| misses.iter().filter_map(class).min())
        .flatten();
    DeadlineVerdict {
        deadline_ns,
        class,
        misses,
    }
}

fn rate(deadline: Nanos, condition: &Condition, burst: Nanos) -> Option<MissRate> {
    let total = &condition.run.total;
    let counted = total.misses.iter().find(|m| m.deadline_ns == deadline)?;
    let wakeups = bursts::wakeups(total);
    let of = seen(&condition.run, Some(deadline), counted.all(), wakeups);
    let evidence = of.seen.evidence(burst.get());
    Some(MissRate {
        condition: condition.name.clone(),
        missed: counted.all(),
        wakeups,
        trials: (wakeups > 0).then(|| evidence.trials()),
        share_at_most: (wakeups > 0).then(|| evidence.share_at_most(CONFIDENCE)),
    })
}

fn class(rate: &MissRate) -> Option<RealTimeClass> {
    let at_most = rate.share_at_most?;
    Some(if rate.missed == 0 {
        RealTimeClass::HundredPercent
    } else if at_most <= NINETY_FIVE {
        RealTimeClass::NinetyFivePercent
    } else {
        RealTimeClass::Soft
    })
}
