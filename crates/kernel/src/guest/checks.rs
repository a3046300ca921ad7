// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether what was measured in a guest may be believed. Every check fails closed.

use punctual_model::Check;

use super::answer::{Answer, RunAnswer};
use super::model::Model;
use super::quiet::{Activity, Quiet};
use super::timers::HighResolution;
use crate::boot::{Design, Machine};

/// Clock sources that a kernel uses until it has a better one.
const MAKESHIFT: [&str; 3] = ["jiffies", "refined-jiffies", "tsc-early"];

/// Whether the kernel uses the clock source named only until it has a better one.
pub fn is_makeshift(clocksource: &str) -> bool {
    MAKESHIFT.contains(&clocksource)
}

/// Judges a guest of `design` by what its agent sent; `asked` is the model that it should run.
pub fn checks(answer: &Answer, design: &Design, asked: Option<Model>) -> Vec<Check> {
    vec![
        machine(design.machine),
        timers(answer, design.cpus),
        model(answer, asked),
        clock(answer),
        quiet(&answer.hello.quiet),
    ]
}

/// Judges one measurement of a guest: the guest as [`checks`] does, and what else ran before and after `run`.
pub fn run_checks(
    answer: &Answer,
    run: &RunAnswer,
    design: &Design,
    asked: Option<Model>,
) -> Vec<Check> {
    let mut checks = checks(answer, design, asked);
    checks.retain(|check| check.id != QUIET);
    checks.push(quiet_around(&run.end.quiet));
    checks
}

fn machine(machine: Machine) -> Check {
    const ID: &str = "guest-machine";
    match machine {
        Machine::Kvm => Check::pass(ID, "KVM: the processor runs the guest's instructions"),
        Machine::Virtual => Check::pass(
            ID,
            "the guest's clock counts instructions: no latency of any hardware",
        ),
        Machine::Tcg => Check::fail(
            ID,
            "an emulator runs the guest on the host's clock, so its latencies are those of the \
             emulator; measure in virtual time, or with KVM",
        ),
    }
}

fn timers(answer: &Answer, cpus: u32) -> Check {
    const ID: &str = "guest-timers";
    let say = |timers: HighResolution| format!("{} of {cpus} CPUs", timers.active);
    let (first, last) = (answer.hello.timers, answer.goodbye.timers);
    let switched_off = || {
        let line = answer.hello.host.cmdline.as_deref()?;
        let off = line.split_whitespace().any(|word| word == "highres=off");
        off.then_some(": highres=off is on the kernel command line")
    };
    if !first.on_all(cpus) {
        let why = switched_off().unwrap_or(
            ": the kernel has not switched over; its log says why (APIC timer, clock source)",
        );
        return Check::fail(
            ID,
            format!(
                "high-resolution timers on {} before the measurement{why}; without them every \
                 sleep ends at a tick",
                say(first)
            ),
        );
    }
    Check::of(
        ID,
        last.on_all(cpus),
        format!(
            "high-resolution timers on {} before the measurement, on {} after it",
            say(first),
            say(last)
        ),
    )
}

fn model(answer: &Answer, asked: Option<Model>) -> Check {
    const ID: &str = "guest-model";
    let log = answer.hello.dynamic_preempt.as_deref();
    match (Model::running(&answer.hello.host, log), asked) {
        (Ok((runs, source)), None) => Check::pass(
            ID,
            format!("preemption model {runs} by {source}; no preemption model was asked for"),
        ),
        (Ok((runs, source)), Some(asked)) => Check::of(
            ID,
            runs == asked,
            format!("preemption model {runs} by {source}; model {asked} was asked for"),
        ),
        (Err(found), None) => Check::pass(
            ID,
            format!("preemption model: {found}; no preemption model was asked for"),
        ),
        (Err(found), Some(asked)) => Check::unknown(
            ID,
            format!(
                "preemption model: {found}; model {asked} was asked for, but nothing shows that it is active"
            ),
        ),
    }
}

fn clock(answer: &Answer) -> Check {
    const ID: &str = "guest-clock";
    let first = answer.hello.host.clocksource.as_deref();
    let last = answer.goodbye.clocksource.as_deref();
    let (Some(first), Some(last)) = (first, last) else {
        return Check::unknown(ID, "the guest does not report its clock source");
    };
    Check::of(
        ID,
        first == last && !is_makeshift(first),
        format!("clock source {first} before the measurement, {last} after it"),
    )
}

const QUIET: &str = "guest-quiet";

fn quiet(look: &Activity) -> Check {
    judge(look, "when it was ready", || {
        format!(
            "the kernel was quiet for {} when it was ready: {}",
            look.window_ns,
            look.named()
        )
    })
}

fn quiet_around(quiet: &Quiet) -> Check {
    let before = judge(&quiet.before, "when the measurement began", String::new);
    if !before.passed() {
        return before;
    }
    judge(&quiet.after, "after the measurement", || {
        format!(
            "nothing else ran for {} before the measurement and {} after it; during it the kernel's threads used {:.1} % \
             of the time: {}",
            quiet.before.window_ns,
            quiet.after.window_ns,
            100.0 * quiet.during.share(),
            quiet.during.named()
        )
    })
}

fn judge(look: &Activity, when: &str, passed: impl FnOnce() -> String) -> Check {
    if !look.is_known() {
        return Check::unknown(QUIET, format!("other activity {when} is unknown"));
    }
    if look.is_quiet() {
        return Check::pass(QUIET, passed());
    }
    Check::fail(
        QUIET,
        format!(
            "the kernel was still busy {when}: {} within {}",
            look.named(),
            look.window_ns
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::Architecture;
    use crate::guest::{Goodbye, Hello, Ran, RunEnd};
    use punctual_model::{CheckStatus, HostFacts, Nanos};

    const GOOD: HighResolution = HighResolution {
        active: 1,
        listed: 1,
    };

    fn still() -> Activity {
        Activity {
            window_ns: Nanos::from_millis(250),
            threads: 40,
            ..Activity::default()
        }
    }

    fn busy() -> Activity {
        let ran = Ran {
            name: "cryptomgr_test".to_owned(),
            cpu_ns: Nanos::from_millis(170),
        };
        Activity {
            cpu_ns: ran.cpu_ns,
            ran: vec![ran],
            ..still()
        }
    }

    fn answer() -> Answer {
        Answer {
            hello: Hello {
                host: HostFacts {
                    clocksource: Some("tsc".to_owned()),
                    preempt_rt: Some(false),
                    preemption: Some("none (dynamic, from debugfs)".to_owned()),
                    cmdline: Some("quiet highres=off".to_owned()),
                    ..HostFacts::default()
                },
                timers: GOOD,
                dynamic_preempt: None,
                quiet: still(),
                uptime_ns: 0,
                not_mounted: Vec::new(),
            },
            runs: Vec::new(),
            goodbye: Goodbye {
                timers: GOOD,
                clocksource: Some("tsc".to_owned()),
                uptime_ns: 0,
            },
        }
    }

    fn judged(answer: &Answer, asked: Option<Model>) -> Vec<Check> {
        checks(
            answer,
            &Design::of(Architecture::X86_64, Machine::Virtual, 1),
            asked,
        )
    }

    fn status(checks: &[Check], id: &str) -> (CheckStatus, String) {
        let check = checks.iter().find(|check| check.id == id).unwrap();
        (check.status, check.detail.clone())
    }

    #[test]
    fn a_good_guest_passes() {
        let checks = judged(&answer(), Some(Model::None));
        assert!(checks.iter().all(Check::passed), "{checks:?}");
    }

    #[test]
    fn a_kernel_that_is_still_busy_is_no_pass_and_what_ran_is_named() {
        let mut guest = answer();
        guest.hello.quiet = busy();
        let (found, detail) = status(&judged(&guest, None), "guest-quiet");
        assert_eq!(found, CheckStatus::Fail);
        assert!(detail.contains("cryptomgr_test 68.0 %"), "{detail}");
        guest.hello.quiet = Activity::default();
        let (found, _) = status(&judged(&guest, None), "guest-quiet");
        assert_eq!(found, CheckStatus::Unknown);
    }

    #[test]
    fn each_measurement_is_judged_by_what_ran_before_and_after_it() {
        use CheckStatus::{Fail, Pass, Unknown};
        let looks = [
            (still(), still(), Pass),
            (busy(), still(), Fail),
            (still(), busy(), Fail),
            (still(), Activity::default(), Unknown),
        ];
        for (before, after, expected) in looks {
            let quiet = Quiet {
                before,
                during: still(),
                after,
            };
            let end = RunEnd {
                status: Some(0),
                said: String::new(),
                quiet,
            };
            let run = RunAnswer {
                end,
                files: std::collections::BTreeMap::new(),
            };
            let design = Design::of(Architecture::X86_64, Machine::Virtual, 1);
            let checks = run_checks(&answer(), &run, &design, None);
            assert_eq!(checks.len(), 5);
            assert_eq!(status(&checks, "guest-quiet").0, expected);
        }
    }

    #[test]
    fn a_guest_without_high_resolution_is_told_why() {
        let mut bad = answer();
        bad.hello.timers.active = 0;
        let (found, detail) = status(&judged(&bad, None), "guest-timers");
        assert_eq!(found, CheckStatus::Fail);
        assert!(detail.contains("highres=off"), "{detail}");
        let mut later = answer();
        later.goodbye.timers.active = 0;
        assert_eq!(
            status(&judged(&later, None), "guest-timers").0,
            CheckStatus::Fail
        );
    }

    #[test]
    fn another_model_or_none_that_can_be_seen_is_no_pass() {
        let (found, detail) = status(&judged(&answer(), Some(Model::Full)), "guest-model");
        assert_eq!(found, CheckStatus::Fail);
        assert!(
            detail.contains("none by debugfs; model full was asked for"),
            "{detail}"
        );
        // A model is called `none`, too.
        let (_, detail) = status(&judged(&answer(), Some(Model::None)), "guest-model");
        assert!(detail.ends_with("; model none was asked for"), "{detail}");
        let (_, detail) = status(&judged(&answer(), None), "guest-model");
        assert!(
            detail.ends_with("; no preemption model was asked for"),
            "{detail}"
        );
        let mut dark = answer();
        dark.hello.host.preemption = None;
        let (found, _) = status(&judged(&dark, Some(Model::Full)), "guest-model");
        assert_eq!(found, CheckStatus::Unknown);
    }

    #[test]
    fn a_clock_that_changes_or_is_makeshift_is_no_pass() {
        let mut changed = answer();
        changed.goodbye.clocksource = Some("hpet".to_owned());
        assert_eq!(
            status(&judged(&changed, None), "guest-clock").0,
            CheckStatus::Fail
        );
        changed.hello.host.clocksource = None;
        assert_eq!(
            status(&judged(&changed, None), "guest-clock").0,
            CheckStatus::Unknown
        );
        let tcg = checks(
            &answer(),
            &Design::of(Architecture::X86_64, Machine::Tcg, 1),
            None,
        );
        assert_eq!(status(&tcg, "guest-machine").0, CheckStatus::Fail);
    }
}
