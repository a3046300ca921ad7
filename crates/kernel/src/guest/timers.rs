// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether a kernel's timers are of high resolution, CPU by CPU.
//!
//! Without, every sleep ends with a tick: a kernel that gave them up (`highres=off`, an APIC timer
//! that failed its test) shows latencies of milliseconds that are not the preemption model's.

use serde::{Deserialize, Serialize};

/// How many CPUs have timers of high resolution.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct HighResolution {
    /// CPUs whose timers are.
    pub active: u32,
    /// CPUs that the kernel lists.
    pub listed: u32,
}

impl HighResolution {
    /// Whether all of `cpus` CPUs have them.
    pub const fn on_all(self, cpus: u32) -> bool {
        self.active == cpus && self.listed == cpus && cpus > 0
    }
}

/// Reads `/proc/timer_list`: a section begins with `cpu: N`, and says `.hres_active : 1` (or 0;
/// kernel/time/timer_list.c). A kernel built without them has no such line.
pub fn high_resolution(timer_list: &str) -> HighResolution {
    let mut found = HighResolution {
        active: 0,
        listed: 0,
    };
    for line in timer_list.lines() {
        let line = line.trim_start();
        if line.starts_with("cpu:") {
            found.listed += 1;
        } else if let Some((key, value)) = line.split_once(':')
            && key.trim() == ".hres_active"
            && value.trim() == "1"
        {
            found.active += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "\
Timer List Version: v0.9
HRTIMER_MAX_CLOCK_BASES: 8
now at 1000 nsecs

cpu: 0
 clock 0:
  .base:       0000
  .expires_next   : 5 nsecs
  .hres_active    : 1
  .nr_events      : 7
cpu: 1
 clock 0:
  .hres_active    : 0

Tick Device: mode:     1
";

    #[test]
    fn cpus_without_are_counted_apart() {
        let found = high_resolution(LIST);
        assert_eq!((found.active, found.listed), (1, 2));
        assert!(!found.on_all(2));
        let both = high_resolution(&LIST.replace(": 0\n\nTick", ": 1\n\nTick"));
        assert!(both.on_all(2) && !both.on_all(4) && !both.on_all(1));
    }

    #[test]
    fn nothing_known_is_not_active() {
        for text in ["", "cpu: 0\n", ".hres_active : 1"] {
            assert!(!high_resolution(text).on_all(1), "{text}");
        }
        assert!(!high_resolution("").on_all(0));
    }
}
