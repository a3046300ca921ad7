// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The BPF scheduler of a set that names one: loaded for the run, and looked at whether it was there to the end.

use punctual_model::Check;
use punctual_model::tasks::TaskSet;
use punctual_sys::SysRoot;
use punctual_sys::sched_ext::{End, Loaded, SchedExtError, Seat, Status};

use crate::bpf_scheduler::SCHED_EXT;
use crate::error::MeasureError;

/// A scheduler that is loaded.
#[derive(Debug)]
pub(super) struct Ext {
    loaded: Loaded,
    status: Option<Status>,
}

impl Ext {
    /// Loads the scheduler that `set` names; nothing where it names none.
    pub(super) fn load(sys: &SysRoot, set: &TaskSet) -> Result<Option<Self>, MeasureError> {
        let Some(scheduler) = set.tasks.iter().find_map(|task| task.policy.ext()) else {
            return Ok(None);
        };
        let seats = u32::try_from(set.tasks.len()).unwrap_or(u32::MAX);
        let loaded = Loaded::load(sys, scheduler, seats).map_err(|err| {
            let doing = format!("run set {} under scheduler {}", set.name, scheduler.name());
            refused(&doing, &err)
        })?;
        Ok(Some(Self {
            loaded,
            status: Status::read(sys),
        }))
    }

    pub(super) fn seat(&self, place: u32) -> Seat {
        self.loaded.seat(place)
    }

    /// Whether all threads were the scheduler's from start to end: `jobs` has the tasks' names, and how many of their jobs ended.
    pub(super) fn check(&self, sys: &SysRoot, jobs: &[(String, u64)]) -> Check {
        let name = self.loaded.name();
        let fail = |why: String| Check::fail(SCHED_EXT, format!("BPF scheduler {name}: {why}"));
        match self.loaded.end() {
            Ok(None) => {}
            Ok(Some(end)) => return fail(format!("the kernel took it away: {}", words(&end))),
            Err(err) => {
                let why = format!("BPF scheduler {name}: how it ended cannot be read: {err}");
                return Check::unknown(SCHED_EXT, why);
            }
        }
        for (when, status) in [("start", &self.status), ("end", &Status::read(sys))] {
            let Some(status) = status else {
                return Check::unknown(SCHED_EXT, "the state of sched_ext cannot be read");
            };
            if status.state != "enabled" || status.ops != name {
                let (state, ops) = (&status.state, &status.ops);
                return fail(format!("at the {when}, sched_ext was {state} with `{ops}`"));
            }
            if Some(status.count) != self.status.as_ref().map(|of| of.count) {
                return fail("it was loaded anew meanwhile".to_owned());
            }
        }
        let runs = (0..).zip(jobs).map(|(place, (task, jobs))| {
            let runs = self.seat(place).runs();
            (task, *jobs, runs)
        });
        let runs: Vec<_> = runs.collect();
        if let Some((task, jobs, _)) = runs.iter().find(|(_, jobs, runs)| *jobs > 0 && *runs == 0) {
            return fail(format!(
                "it never gave a CPU to {task}, which did {jobs} jobs"
            ));
        }
        let each: Vec<String> = runs
            .iter()
            .map(|(task, jobs, runs)| format!("{task} {runs} times for {jobs} jobs"))
            .collect();
        Check::pass(
            SCHED_EXT,
            format!(
                "BPF scheduler {name} enabled from start to end; it gave a CPU to {}",
                each.join(", ")
            ),
        )
    }
}

/// Says why there is no scheduler, and what to do.
fn refused(doing: &str, err: &SchedExtError) -> MeasureError {
    let hint = match err {
        SchedExtError::Busy { .. } => {
            return MeasureError::Busy {
                what: format!("{doing}: {err}"),
            };
        }
        SchedExtError::Absent | SchedExtError::Lacks { .. } => Some(
            "sched_ext is in Linux 6.12 and newer, built with CONFIG_SCHED_CLASS_EXT: `punctual kernel build SOURCE \
             --with sched-ext` makes such a kernel, and --target guest:IMAGE runs the set on it",
        ),
        err if err.is_denied() => {
            Some("a BPF scheduler needs root, or CAP_BPF with CAP_PERFMON and CAP_SYS_ADMIN")
        }
        _ => None,
    };
    let mut what = format!("{doing}: {err}");
    if let Some(source) = std::error::Error::source(err) {
        what = format!("{what}: {source}");
    }
    MeasureError::Unsupported {
        what,
        hint: hint.map(str::to_owned),
    }
}

/// `enum scx_exit_kind` of kernel/sched/ext.c, as a sentence.
fn words(end: &End) -> String {
    let why = match end.kind {
        64 => "it was unloaded",
        65 => "it ended itself",
        66 => "the kernel unloaded it",
        67 => "somebody asked for it with SysRq-S",
        1_024 => "it made a mistake",
        1_025 => "it reported a mistake",
        1_026 => "it left a thread waiting for too long",
        _ => "for a reason that is not known here",
    };
    format!(
        "{why} (exit kind {}, code {}); the kernel's log says more",
        end.kind, end.code
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheduler_that_was_taken_away_is_told_with_the_kernels_reason() {
        let end = End {
            kind: 1_026,
            code: 0,
        };
        let said = words(&end);
        assert!(said.contains("waiting for too long"), "{said}");
        assert!(said.contains("exit kind 1026"), "{said}");
    }

    #[test]
    fn a_kernel_without_sched_ext_is_unsupported_and_another_scheduler_is_busy() {
        let absent = refused("run set a", &SchedExtError::Absent);
        assert!(absent.is_unsupported() && !absent.is_usage());
        let ops = "other".to_owned();
        let busy = refused("run set a", &SchedExtError::Busy { ops });
        assert!(busy.to_string().ends_with("is loaded: other"), "{busy}");
    }
}
