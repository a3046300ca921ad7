// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What each built-in profile means on each machine, whole: settings, what cannot be had, what is
//! refused, kernel arguments.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use punctual_host::boot;
use punctual_host::knob::{Scope, Survey};
use punctual_host::plan::{PlanOptions, plan};
use punctual_host::profile::{Profile, builtin};
use punctual_model::{ArgumentState, BootLoader, BootPlan, CpuSet, Plan, PlanStep};
use punctual_sys::SysRoot;

use super::common::{archive, unpacked};
use super::differs;

/// Each machine with the CPUs that one would give to real-time work there.
const CASES: [(&str, &str); 6] = [
    ("arm-board-rk3399", "5"),
    ("desktop-i7-4770k", "3,7"),
    ("kvm-guest", "1"),
    ("laptop-all-wrong", "3,7"),
    ("numa-server", "8-15,40-47"),
    ("telco-node-rt", "2-31,34-63"),
];

/// Each profile as it is, and then the CPUs named, as `--isolate` does.
const PROFILES: [(&str, bool); 5] = [
    ("latency", false),
    ("isolate", false),
    ("isolate", true),
    ("raju", false),
    ("throughput", false),
];

fn profile(name: &str) -> Profile {
    let own = Profile::parse(builtin(name).unwrap(), name).unwrap();
    match own.base.clone() {
        Some(base) => own.over(profile(&base)),
        None => own,
    }
}

/// Opens a machine as root would: what a capture without privilege lacks is there.
fn survey(name: &str) -> (SysRoot, Survey, tempfile::TempDir) {
    let mut machine = archive(name);
    machine.overlay("/dev/cpu_dma_latency: 2000000000".parse().unwrap());
    if name == "numa-server" {
        // A capture leaves out what group a process is in.
        let group = "/proc/1700/cgroup: 0::/system.slice/nic-poller.service";
        machine.overlay(group.parse().unwrap());
    }
    let (sys, dir) = unpacked(&machine);
    let survey = Survey::read(&sys, Scope::WithThreads, true);
    (sys, survey, dir)
}

#[test]
fn every_machine_gets_the_plans_that_it_got() {
    let mut wrong = Vec::new();
    for (name, rt) in CASES {
        let (sys, survey, _dir) = survey(name);
        let mut text = String::new();
        for (profile_name, named) in PROFILES {
            let cpus: Option<CpuSet> = named.then(|| rt.parse().unwrap());
            let option = cpus.as_ref().map(|cpus| format!(" --isolate {cpus}"));
            let option = option.unwrap_or_default();
            writeln!(text, "== {profile_name}{option}").unwrap();
            let profile = profile(profile_name);
            let options = PlanOptions {
                cpus,
                ..PlanOptions::default()
            };
            match plan(&profile, &survey, &options) {
                Ok(plan) => text.push_str(&written(&plan)),
                Err(err) => writeln!(text, "no plan: {err}").unwrap(),
            }
            match boot::plan(&profile, &survey, &sys, &options) {
                Ok(plan) => text.push_str(&arguments(&plan)),
                Err(err) => writeln!(text, "no arguments: {err}").unwrap(),
            }
            text.push('\n');
        }
        wrong.extend(differs(&format!("{name}.plans"), &text));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn isolated_cpus_that_are_offline_are_left_out_unless_they_are_named() {
    let mut machine = archive("telco-node-rt");
    machine.overlay("/sys/devices/system/cpu/online: 0-31".parse().unwrap());
    let (sys, _dir) = unpacked(&machine);
    let survey = Survey::read(&sys, Scope::WithThreads, true);
    for name in ["latency", "isolate"] {
        let plan = plan(&profile(name), &survey, &PlanOptions::default()).unwrap();
        assert_eq!(plan.cpus_rt.to_string(), "2-31", "{name}");
        let named = PlanOptions {
            cpus: Some("34".parse().unwrap()),
            ..PlanOptions::default()
        };
        let err = punctual_host::plan::plan(&profile(name), &survey, &named).unwrap_err();
        assert!(err.to_string().contains("CPUs 34 are not online"), "{err}");
    }
}

#[test]
fn a_raspberry_pi_4_is_named_and_its_cmdline_txt_gets_what_its_kernel_heeds() {
    let (sys, survey, _dir) = survey("raspberry-pi-4");
    let facts = punctual_host::inspect(&sys);
    let board = facts.board.as_deref();
    assert_eq!(board, Some("Raspberry Pi 4 Model B Rev 1.4"));
    assert_eq!(facts.cpu_model.as_deref(), Some("Cortex-A72"));
    assert_eq!(facts.unequal(&facts.cpus_online), None);
    let line = "console=serial0,115200 console=tty1 root=PARTUUID=00000000-02 rootwait\n";
    let path = "/boot/firmware/cmdline.txt";
    std::fs::create_dir_all(sys.full("/boot/firmware")).unwrap();
    std::fs::write(sys.full(path), line).unwrap();
    let options = PlanOptions {
        cpus: Some("3".parse().unwrap()),
        ..PlanOptions::default()
    };
    let plan = boot::plan(&profile("isolate"), &survey, &sys, &options).unwrap();
    assert_eq!(plan.loader, Some(BootLoader::CommandLineFile));
    let file = plan.files.iter().find(|file| file.path == path).unwrap();
    assert_eq!(file.old.as_deref(), Some(line));
    let added = " isolcpus=managed_irq,domain,3 ";
    assert!(
        file.new.starts_with(line.trim()) && file.new.contains(added),
        "{}",
        file.new
    );
    // The vendor's kernel is built without.
    let unheeded = plan.arguments.iter().filter_map(|argument| {
        let why = argument.unheeded.as_deref()?;
        Some((argument.word.split('=').next()?, why))
    });
    let unheeded: BTreeMap<&str, &str> = unheeded.collect();
    assert!(unheeded["nohz_full"].contains("CONFIG_NO_HZ_FULL"));
    assert!(!unheeded.contains_key("isolcpus"));
}

/// Knobs that others follow.
const LEADERS: [&str; 4] = [
    "cpufreq.governor",
    "cpufreq.turbo",
    "block.scheduler",
    "thp.enabled",
];

#[test]
fn no_plan_touches_what_it_should_leave() {
    for (name, rt) in CASES {
        let (_sys, survey, _dir) = survey(name);
        let cpus: CpuSet = rt.parse().unwrap();
        for (profile_name, _) in PROFILES {
            let options = PlanOptions {
                cpus: Some(cpus.clone()),
                ..PlanOptions::default()
            };
            let plan = plan(&profile(profile_name), &survey, &options).unwrap();
            for step in &plan.steps {
                assert_ne!(step.old, step.new, "{name} {}", step.full_name());
                let twice = plan.steps.iter().filter(|s| s.target == step.target);
                assert_eq!(twice.count(), 1, "{name} {}", step.full_name());
                // What moves with another step is kept as well: its own step may not bring it back.
                let led = plan.steps.iter().any(|leader| {
                    LEADERS.contains(&leader.knob.as_str()) && leader.knob != step.knob
                });
                let guarded = plan.guards.iter().any(|g| g.target == step.target);
                assert!(!guarded || led, "{name} {}", step.full_name());
            }
            // No built-in profile needs --yes on any machine.
            assert_eq!(plan.refusals, [], "{name} {profile_name}");
            let masks = plan.steps.iter().filter(|step| {
                profile_name == "isolate" && is_mask(step) && !step.knob.starts_with("cpu")
            });
            for step in masks {
                let left: CpuSet = step.new.parse().unwrap();
                assert!(
                    left.common(&cpus).is_empty(),
                    "{name} {} {}",
                    step.full_name(),
                    step.new
                );
            }
        }
    }
}

fn is_mask(step: &PlanStep) -> bool {
    step.knob.contains("affinity") || step.knob.contains("cpumask") || step.knob == "cgroup.cpus"
}

/// Writes a plan so that a change to it can be read: steps of one knob and value on one line.
fn written(plan: &Plan) -> String {
    let mut text = format!(
        "real-time {}; housekeeping {}; so already {}\n",
        plan.cpus_rt, plan.cpus_housekeeping, plan.satisfied
    );
    for held in &plan.held {
        writeln!(text, "hold {} at {}", held.path, held.latency_ns).unwrap();
    }
    let mut steps = plan.steps.iter().peekable();
    while let Some(step) = steps.next() {
        let mut instances: Vec<_> = step.instance.iter().collect();
        let alike = |next: &&PlanStep| {
            (&next.knob, &next.old, &next.new) == (&step.knob, &step.old, &step.new)
                && next.instance.is_some()
        };
        while let Some(next) = steps.next_if(alike) {
            instances.extend(&next.instance);
        }
        let place = match instances[..] {
            [] => step.target.to_string(),
            _ => short(&instances),
        };
        writeln!(
            text,
            "{} [{place}]: {:?} -> {:?}",
            step.knob, step.old, step.new
        )
        .unwrap();
    }
    let mut guards: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
    for guard in &plan.guards {
        let instances = guards.entry(&guard.knob).or_default();
        instances.extend(&guard.instance);
    }
    for (knob, instances) in guards {
        writeln!(text, "guard {knob} [{}]", short(&instances)).unwrap();
    }
    for skipped in &plan.skipped {
        let instances: Vec<_> = skipped.instances.iter().collect();
        let (knob, reason, detail) = (&skipped.knob, skipped.reason, &skipped.detail);
        writeln!(
            text,
            "skip {knob} [{}] {reason:?}: {detail}",
            short(&instances)
        )
        .unwrap();
    }
    for refusal in &plan.refusals {
        writeln!(text, "refuse {}: {}", refusal.knob, refusal.reason).unwrap();
    }
    for warning in &plan.warnings {
        writeln!(text, "warn: {warning}").unwrap();
    }
    text
}

/// Writes names that differ in a number as a list of the numbers.
fn short(names: &[&String]) -> String {
    let split = |name: &str| {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (stem, number) = name.split_at(name.len() - digits);
        Some((stem.to_owned(), number.parse::<u32>().ok()?))
    };
    let mut stems: Vec<(String, Vec<u32>)> = Vec::new();
    for name in names {
        match split(name) {
            Some((stem, number)) if number < 1_024 => match stems.last_mut() {
                Some((last, numbers)) if *last == stem => numbers.push(number),
                _ => stems.push((stem, vec![number])),
            },
            _ => stems.push(((*name).clone(), Vec::new())),
        }
    }
    let list = |numbers: &[u32]| numbers.iter().copied().collect::<CpuSet>().to_string();
    let words = stems
        .iter()
        .map(|(stem, numbers)| format!("{stem}{}", list(numbers)));
    words.collect::<Vec<_>>().join(" ")
}

/// Writes the kernel arguments of a plan.
fn arguments(plan: &BootPlan) -> String {
    let mut text = String::new();
    for argument in &plan.arguments {
        let state = match &argument.now {
            ArgumentState::Given => "given".to_owned(),
            ArgumentState::Missing => "missing".to_owned(),
            ArgumentState::Other { word } => format!("instead {word}"),
            other => format!("{other:?}"),
        };
        let unheeded = argument.unheeded.as_ref().map(|why| format!("; {why}"));
        let unheeded = unheeded.unwrap_or_default();
        writeln!(text, "boot {}: {state}{unheeded}", argument.word).unwrap();
    }
    for warning in &plan.warnings {
        writeln!(text, "boot warn: {warning}").unwrap();
    }
    text
}
