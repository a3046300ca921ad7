// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How far the kernel lets itself be preempted.
//!
//! A kernel built with `PREEMPT_DYNAMIC` picks its model at boot. It tells the choice in debugfs
//! (often closed) and takes it from `preempt=` on the command line, else from its configuration.

use punctual_sys::SysRoot;

use crate::machine::Config;

/// The first version with `PREEMPT_LAZY`, of which the version line says `PREEMPT` as of the full model.
const LAZY: (u32, u32) = (6, 13);

/// A preemption model and whether it is `PREEMPT_RT`.
#[derive(Debug, Default, Eq, PartialEq)]
pub(crate) struct Preemption {
    /// The model with its source.
    pub(crate) model: Option<String>,
    /// Whether the kernel is built with `PREEMPT_RT`.
    pub(crate) rt: Option<bool>,
}

/// Reads the model from the kernel's version line, its command line and debugfs.
pub(crate) fn read(
    sys: &SysRoot,
    release: Option<&str>,
    version: Option<&str>,
    cmdline: Option<&str>,
) -> Preemption {
    let says = |word: &str| version.is_some_and(|v| v.split_whitespace().any(|w| w == word));
    // The file exists in RT kernels from the patch set's time; the version line says it everywhere.
    let rt_file = sys.fact::<u8>("/sys/kernel/realtime") == Some(1);
    if rt_file || says("PREEMPT_RT") || says("PREEMPT-RT") {
        return Preemption {
            model: Some("PREEMPT_RT".to_owned()),
            rt: Some(true),
        };
    }
    if version.is_none() {
        return Preemption::default();
    }
    let model = if says("PREEMPT_DYNAMIC") || version.is_some_and(|v| v.contains("PREEMPT_DYNAMIC"))
    {
        dynamic(sys, cmdline)
    } else if says("PREEMPT")
        && let Some(release) = release.filter(|release| may_be_lazy(release))
    {
        full_or_lazy(sys, release).to_owned()
    } else if says("PREEMPT") {
        "full (PREEMPT in the version line)".to_owned()
    } else {
        "none or voluntary (no PREEMPT in the version line)".to_owned()
    };
    Preemption {
        model: Some(model),
        rt: Some(false),
    }
}

fn may_be_lazy(release: &str) -> bool {
    let mut numbers = release.split(['.', '-', '+']);
    let mut number = || numbers.next()?.parse::<u32>().ok();
    matches!((number(), number()), (Some(major), Some(minor)) if (major, minor) >= LAZY)
}

/// Says which of the two the kernel was built with, where its configuration can be read.
fn full_or_lazy(sys: &SysRoot, release: &str) -> &'static str {
    match Config::of_running(sys, release) {
        Some(config) if config.has("PREEMPT_LAZY") => "lazy (its configuration)",
        Some(config) if config.has("PREEMPT") => "full (its configuration)",
        _ => "full or lazy (PREEMPT in the version line)",
    }
}

fn dynamic(sys: &SysRoot, cmdline: Option<&str>) -> String {
    // Under lockdown the kernel refuses debugfs and complains in its log, once for each reading.
    let locked = sys
        .read("/sys/kernel/security/lockdown")
        .is_ok_and(|text| !text.contains("[none]"));
    // debugfs lists all models and puts the active one in parentheses: "none voluntary (full)".
    let active = (!locked)
        .then(|| sys.read("/sys/kernel/debug/sched/preempt").ok())
        .flatten()
        .and_then(|text| {
            let (_, rest) = text.split_once('(')?;
            Some(rest.split_once(')')?.0.to_owned())
        });
    if let Some(active) = active {
        return format!("{active} (dynamic, from debugfs)");
    }
    let asked = cmdline.and_then(|line| {
        line.split_whitespace()
            .filter_map(|word| word.strip_prefix("preempt="))
            .next_back()
    });
    asked.map_or_else(
        || "dynamic (the active model cannot be read here)".to_owned(),
        |model| format!("{model} (dynamic, from the command line)"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(version: &str, cmdline: &str) -> Preemption {
        let dir = tempfile::tempdir().unwrap();
        let sys = SysRoot::at(dir.path());
        read(&sys, Some("6.12.9"), Some(version), Some(cmdline))
    }

    #[test]
    fn preempt_alone_is_full_or_lazy_since_there_is_lazy() {
        let dir = tempfile::tempdir().unwrap();
        let sys = SysRoot::at(dir.path());
        let model = |release| {
            read(&sys, release, Some("#1 SMP PREEMPT Mon"), None)
                .model
                .unwrap()
        };
        for release in [None, Some("5.10.0-9-amd64"), Some("6.12.9-punctual-full")] {
            assert_eq!(model(release), "full (PREEMPT in the version line)");
        }
        for release in ["6.13.0-rc1", "6.13.2-punctual-lazy", "7.0"] {
            let open = "full or lazy (PREEMPT in the version line)";
            assert_eq!(model(Some(release)), open);
        }
        std::fs::create_dir(dir.path().join("boot")).unwrap();
        let config = dir.path().join("boot/config-6.13.0");
        for (text, says) in [
            ("CONFIG_PREEMPT_LAZY=y", "lazy (its configuration)"),
            ("CONFIG_PREEMPT=y", "full (its configuration)"),
            ("", "full or lazy (PREEMPT in the version line)"),
        ] {
            std::fs::write(&config, text).unwrap();
            assert_eq!(model(Some("6.13.0")), says);
        }
    }

    #[test]
    fn models_are_told_apart() {
        assert_eq!(model("#1 SMP PREEMPT_RT Mon", "").rt, Some(true));
        let full = model("#1 SMP PREEMPT_DYNAMIC Mon", "quiet preempt=full");
        assert_eq!(full.model.unwrap(), "full (dynamic, from the command line)");
        assert_eq!(full.rt, Some(false));
        let unknown = model("#1 SMP PREEMPT_DYNAMIC Mon", "").model.unwrap();
        assert!(unknown.contains("cannot be read"), "{unknown}");
        assert!(model("#1 SMP Mon", "").model.unwrap().starts_with("none"));
    }

    #[test]
    fn debugfs_wins_over_the_command_line() {
        let dir = tempfile::tempdir().unwrap();
        let sched = dir.path().join("sys/kernel/debug/sched");
        std::fs::create_dir_all(&sched).unwrap();
        std::fs::write(sched.join("preempt"), "none (voluntary) full lazy\n").unwrap();
        let sys = SysRoot::at(dir.path());
        let got = read(&sys, None, Some("#1 PREEMPT_DYNAMIC"), Some("preempt=full"));
        assert_eq!(got.model.unwrap(), "voluntary (dynamic, from debugfs)");
    }
}
