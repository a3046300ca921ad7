// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The partition that a plan makes: of version 2 of control groups nothing outside it can use its CPUs.

use punctual_model::{CpuSet, Plan, Target};

use crate::error::CliError;
use crate::exit::Exit;

/// Returns the control group of the partition (version 2) that a plan makes. Of version 1 everybody may use its CPUs.
pub(crate) fn partition_of(plan: &Plan) -> Option<&str> {
    plan.steps.iter().find_map(|step| match &step.target {
        Target::File { path } => path.strip_suffix("/cpuset.cpus.partition"),
        _ => None,
    })
}

/// Fails where a plan takes CPUs that are to be measured from this program; `measured` is none where that is not decided yet.
pub(crate) fn require_within_reach(plan: &Plan, measured: Option<&CpuSet>) -> Result<(), CliError> {
    let taken = plan.cpus_rt.clone();
    let reached = measured.is_none_or(|cpus| !cpus.common(&taken).is_empty());
    if partition_of(plan).is_none() || !reached {
        return Ok(());
    }
    let what = format!(
        "measure on CPUs {taken}: with cgroup.partition nothing outside the partition can use them, nor can this program"
    );
    Err(CliError::failed_to(what)
        .exiting(Exit::Unsupported)
        .hint(format!(
            "measure within it: `punctual tune run --cpus {taken} --set cgroup.partition=isolated -- punctual measure ...`"
        )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::{Codec, PlanStep};

    #[test]
    fn what_a_partition_takes_is_not_measured_from_outside() {
        let cpus = |list: &str| -> CpuSet { list.parse().unwrap() };
        let of = |path: &str| Plan {
            cpus_rt: cpus("2"),
            steps: vec![PlanStep {
                knob: "cgroup.partition".to_owned(),
                instance: None,
                target: Target::file(path),
                codec: Codec::Word,
                old: "member".to_owned(),
                new: "isolated".to_owned(),
            }],
            ..Plan::default()
        };
        let v2 = of("/sys/fs/cgroup/punctual/cpuset.cpus.partition");
        assert_eq!(partition_of(&v2), Some("/sys/fs/cgroup/punctual"));
        assert!(require_within_reach(&v2, Some(&cpus("0-1"))).is_ok());
        for measured in [None, Some(&cpus("1-2"))] {
            let err = require_within_reach(&v2, measured).unwrap_err();
            assert!(err.what().contains("CPUs 2"), "{err:?}");
        }
        let v1 = of("/sys/fs/cgroup/cpuset/cpuset.sched_load_balance");
        assert_eq!(partition_of(&v1), None);
        assert!(require_within_reach(&v1, None).is_ok());
    }
}
