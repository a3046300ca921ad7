// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Loads that studies have used, under one name each.
//!
//! - `bridgers`: several ping floods at once and a thread a CPU that reads and writes at random (V. Bridgers,
//!   "Real Time Linux Scheduling Comparison", 2015).
//! - `raju:N`: N ordinary threads that add (P. B. S. Raju and P. Govindarajulu, "Optimizing Linux Kernel for
//!   Real-time Performance On Multi-Core Architecture", 2015).
//! - `vasyukov`: LINPACK on every core (A. Vasyukov and A. Ermakov, "Using Real Time Linux Kernel with
//!   Computationally Intensive Workloads", 2018).
//! - `kernel`: processes, files in memory and messages: threads that are in the kernel most of the time. Files and messages
//!   rest for a part of it: at full intensity, on a kernel without preemption, no process ends for ten seconds under them.

use super::parse::ParseLoadError;
use super::settings::Settings;
use super::words;

/// Returns the loads that `text` stands for, with its settings; `None` where it names no preset.
pub(super) fn expand(text: &str) -> Result<Option<Vec<String>>, ParseLoadError> {
    let fail = |reason: String| ParseLoadError {
        load: text.to_owned(),
        reason,
    };
    let Ok(words) = words::split(text) else {
        return Ok(None);
    };
    let loads = match (words.name, words.size) {
        ("bridgers", None) => vec!["ping:4".to_owned(), "memory".to_owned()],
        ("kernel", None) => {
            let own = words.given.iter().any(|(key, _)| *key == "intensity");
            let (tmpfs, sched) = if own {
                ("tmpfs", "sched")
            } else {
                ("tmpfs@intensity=50%", "sched@intensity=10%")
            };
            ["fork", tmpfs, sched].map(str::to_owned).to_vec()
        }
        ("vasyukov", None) => vec!["linpack".to_owned()],
        ("raju", Some(threads)) => vec![format!("cpu:{threads}")],
        ("raju", None) => return Err(fail("how many threads? use raju:N".to_owned())),
        ("bridgers" | "kernel" | "vasyukov", Some(_)) => {
            return Err(fail(format!("`{}` has no size", words.name)));
        }
        _ => return Ok(None),
    };
    let mut settings = String::new();
    for (key, value) in &words.given {
        if !Settings::KEYS.contains(key) {
            let keys = Settings::KEYS.join(", ");
            let what = format!("`{}` has no setting `{key}`; it has {keys}", words.name);
            return Err(fail(what));
        }
        settings.extend(["@", key, "=", value]);
    }
    Ok(Some(
        loads
            .iter()
            .map(|load| format!("{load}{settings}"))
            .collect(),
    ))
}

#[cfg(test)]
mod tests {
    use crate::loads::LoadList;

    fn said(list: &str) -> Vec<String> {
        let list: LoadList = list.parse().unwrap();
        list.0.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn presets_stand_for_loads_and_pass_their_settings_on() {
        assert_eq!(said("bridgers"), ["ping:4", "memory"]);
        let kernel = ["fork", "tmpfs@intensity=50%", "sched@intensity=10%", "cpu"];
        assert_eq!(said("kernel,cpu"), kernel);
        assert_eq!(said("cpu:1,raju:7"), ["cpu:1", "cpu:7"]);
        assert_eq!(
            said("vasyukov@cpus=0,1@nice=5,tmpfs"),
            ["linpack@cpus=0-1@policy=o:5", "tmpfs"]
        );
        assert_eq!(
            said("kernel@intensity=30%"),
            ["fork", "tmpfs", "sched"].map(|name| format!("{name}@intensity=30%"))
        );
    }

    #[test]
    fn what_is_wrong_with_a_preset_is_told() {
        for (text, part) in [
            ("raju", "`raju`: how many threads?"),
            ("raju:0", "`cpu:0`: the number of threads"),
            ("kernel:3", "`kernel` has no size"),
            ("bridgers@rate=3", "no setting `rate`; it has cpus"),
            ("vasyukov@fast", "`@fast` is not a setting"),
            ("presets", "or one of the presets bridgers, kernel"),
        ] {
            let err = text.parse::<LoadList>().unwrap_err().to_string();
            assert!(err.contains(part), "{err}");
        }
    }
}
