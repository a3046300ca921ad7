// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From runs to verdicts on deadlines.
//!
//! The classes are those of V. Bridgers, "Real Time Linux Scheduling Comparison" (2015). A class is
//! given for what was seen under the worst condition. The 95 % class is a claim about the share of
//! misses and so takes the upper end of an interval (Clopper-Pearson, *Biometrika* 26, 1934), not
//! the share seen, and counts misses that come in bursts as the fewer independent ones that they are
//! worth. The 100 % class says only that no wake-up contradicts it; `share_at_most` says
//! how little that may be.

use punctual_model::{
    ASSESSMENT_FORMAT, Assessment, Check, Condition, DeadlineVerdict, MissRate, Nanos,
    RealTimeClass,
};
use punctual_stats::exceedance_upper_bound;

/// Confidence of the miss rates.
pub const CONFIDENCE: f64 = 0.95;

/// The share of misses that the 95 % class allows.
const NINETY_FIVE: f64 = 0.05;

/// Judges `deadlines` by the runs under `conditions`.
///
/// `obstacle` says why the threads had no real-time policy, where they had none.
pub fn assess(
    conditions: Vec<Condition>,
    deadlines: &[Nanos],
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
        valid: conditions
            .iter()
            .all(|c| c.run.valid && c.run.checks.iter().all(Check::passed)),
        deadlines: deadlines
            .into_iter()
            .map(|deadline| verdict(deadline, &conditions))
            .collect(),
        conditions,
    }
}

fn verdict(deadline_ns: Nanos, conditions: &[Condition]) -> DeadlineVerdict {
    let misses: Vec<MissRate> = conditions
        .iter()
        .filter_map(|condition| rate(deadline_ns, condition))
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

fn rate(deadline: Nanos, condition: &Condition) -> Option<MissRate> {
    let total = &condition.run.total;
    let counted = total.misses.iter().find(|m| m.deadline_ns == deadline)?;
    let wakeups = total.count + total.overruns.unwrap_or(0);
    Some(MissRate {
        condition: condition.name.clone(),
        missed: counted.all(),
        wakeups,
        share_at_most: share_at_most(counted.all(), wakeups, counted.effective),
    })
}

/// Returns the upper end of the interval of the share of misses. Misses come in bursts: they are
/// worth `effective` independent wake-ups, of which the same share missed.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts, and parts of counts"
)]
fn share_at_most(missed: u64, wakeups: u64, effective: Option<f64>) -> Option<f64> {
    if wakeups == 0 {
        return None;
    }
    let effective = effective
        .unwrap_or(wakeups as f64)
        .clamp(1.0, wakeups as f64);
    let missed = missed as f64 / wakeups as f64 * effective;
    // Rounded so that the bound is not too low.
    exceedance_upper_bound(missed.ceil() as u64, effective.floor() as u64, CONFIDENCE)
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
