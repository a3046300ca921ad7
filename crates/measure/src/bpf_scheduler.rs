// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether threads that are to be a BPF scheduler's were that. Without one, the kernel runs them as ordinary ones.

use punctual_model::Check;
use punctual_sys::sched_ext::Status;

/// The check, of whichever scheduler.
pub(crate) const SCHED_EXT: &str = "sched-ext";

/// Whether the same scheduler was loaded at the start and at the end.
pub(crate) fn check(before: Option<&Status>, after: Option<&Status>) -> Check {
    let enabled = |of: Option<&Status>| of.is_some_and(|status| status.state == "enabled");
    for (when, status) in [("start", before), ("end", after)] {
        if !enabled(status) {
            let why =
                format!("no BPF scheduler was loaded at the {when}, so SCHED_EXT was SCHED_OTHER");
            return Check::fail(SCHED_EXT, why);
        }
    }
    let name = |of: Option<&Status>| of.map_or_else(String::new, |status| status.ops.clone());
    let detail = match before == after {
        true => format!("BPF scheduler {} at start and end", name(before)),
        false => format!(
            "BPF scheduler {} at the start, {} at the end, or loaded anew",
            name(before),
            name(after)
        ),
    };
    Check::of(SCHED_EXT, before == after, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(state: &str, ops: &str, count: u64) -> Status {
        Status {
            state: state.to_owned(),
            ops: ops.to_owned(),
            count: Some(count),
        }
    }

    #[test]
    fn only_the_same_scheduler_from_start_to_end_is_one() {
        let lavd = status("enabled", "lavd", 1);
        assert!(check(Some(&lavd), Some(&lavd.clone())).passed());
        for other in [
            status("enabled", "rusty", 2),
            status("enabled", "lavd", 3),
            status("disabled", "", 1),
            status("disabling", "lavd", 1),
        ] {
            assert!(!check(Some(&lavd), Some(&other)).passed(), "{other:?}");
            assert!(!check(Some(&other), Some(&lavd)).passed(), "{other:?}");
        }
        // A kernel without sched_ext has none.
        assert!(!check(None, None).passed());
    }
}
