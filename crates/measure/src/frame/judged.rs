// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The checks of a run: the frame's, and the instrument's own.

use punctual_model::{Check, Nanos, Policy, Setup};

use super::{Found, RunOutcome, Throttling};
use crate::bpf_scheduler::{self, SCHED_EXT};
use crate::checks::{self, Evidence};
use crate::crew::ThreadEvidence;
use crate::quota::{self, Concerned};
use crate::throttling;

/// The checks of [`sample_checks`](crate::stream::sample_checks).
const OF_SAMPLES: [&str; 3] = ["samples", "lost-samples", "clamped-samples"];

/// Adds the frame's checks to the instrument's own.
pub(super) fn judged(
    mut setup: Setup,
    mut found: Found,
    duration: Nanos,
    evidence: &Evidence<'_>,
) -> RunOutcome {
    let own = std::mem::take(&mut found.checks);
    // What there is of samples comes first.
    let (mut checks, own): (Vec<Check>, Vec<Check>) = own
        .into_iter()
        .partition(|check| OF_SAMPLES.contains(&check.id.as_str()));
    if !evidence.threads.is_empty() {
        checks.extend(checks::threads(evidence));
    }
    // An instrument that loads a scheduler knows more of it.
    let ext = |thread: &ThreadEvidence| thread.asked_policy == Policy::Ext;
    if evidence.threads.iter().any(ext) && !own.iter().any(|check| check.id == SCHED_EXT) {
        let (before, after) = (&evidence.before.sched_ext, &evidence.after.sched_ext);
        checks.push(bpf_scheduler::check(before.as_ref(), after.as_ref()));
    }
    if found.faults_spoil {
        checks.push(checks::memory(evidence));
    }
    checks.extend(checks::surroundings(evidence));
    if found.throttling == Throttling::Disturbs {
        checks.push(throttling::check(evidence.rt_load));
    }
    let (before, after) = (&evidence.before.quotas, &evidence.after.quotas);
    let concerned = Concerned {
        threads: !evidence.asked.priority.is_real_time(),
        loads: evidence.asked.loads > 0,
        throttling: found.throttling,
    };
    checks.extend(quota::check(before.as_deref(), after.as_deref(), concerned));
    checks.push(checks::loads(evidence));
    checks.extend(own);
    found.checks = checks;
    setup.options.append(&mut found.options);
    RunOutcome {
        setup,
        found,
        duration,
        loads: evidence.loads.to_vec(),
    }
}
