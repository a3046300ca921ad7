// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a configuration says by itself, before its kernel runs anywhere.
//!
//! `doctor` has rules that rest on options alone; those here answer from options what it reads from the files of a
//! running kernel.

use punctual_model::{Evidence, Fixer, Rule, RuleOutcome, Severity, Verdict};

use super::values::{OFF, Values};

/// A rule: what is looked at, and what is said of it.
struct Entry {
    id: &'static str,
    severity: Severity,
    title: &'static str,
    why: &'static str,
    fix: &'static str,
    source: &'static str,
    /// Options that are cited.
    options: &'static [&'static str],
    /// What is wrong; nothing where all is well.
    fault: fn(&Values) -> Option<String>,
    fine: &'static str,
}

const RULES: &[Entry] = &[
    Entry {
        id: "config-high-res-timers",
        severity: Severity::High,
        title: "there are no high-resolution timers",
        why: "Every sleep and every timer then ends at a tick, milliseconds late.",
        fix: "build with CONFIG_HIGH_RES_TIMERS=y",
        source: "Linux kernel/time/Kconfig (HIGH_RES_TIMERS)",
        options: &["HIGH_RES_TIMERS"],
        fault: |values| {
            (!values.is_on("HIGH_RES_TIMERS")).then(|| "CONFIG_HIGH_RES_TIMERS is off".to_owned())
        },
        fine: "high-resolution timers are built in",
    },
    Entry {
        id: "config-timer-reference",
        severity: Severity::Medium,
        title: "only the PIT can calibrate the local APIC timer",
        why: "At boot the kernel checks the local APIC timer. Without the ACPI timer it counts \
              ticks, which a busy host delays. If the check fails, the kernel gives up that timer \
              and high-resolution timers with it.",
        fix: "build with CONFIG_X86_PM_TIMER=y (needs ACPI); not needed in virtual time",
        source: "Linux arch/x86/kernel/apic/apic.c (calibrate_APIC_clock)",
        options: &["X86_64", "X86_PM_TIMER", "X86_LOCAL_APIC"],
        fault: |values| {
            let apic = values.is_on("X86_64") || values.is_on("X86_LOCAL_APIC");
            (apic && !values.is_on("X86_PM_TIMER")).then(|| "X86_PM_TIMER is off".to_owned())
        },
        fine: "the ACPI timer is available, or this is not x86",
    },
    Entry {
        id: "config-preemption",
        severity: Severity::Medium,
        title: "kernel code cannot be preempted",
        why: "An urgent thread waits until the system call of another thread has ended.",
        fix: "build with --model full, rt, or dynamic and boot with preempt=full",
        source: "Linux kernel/Kconfig.preempt",
        options: &[
            "PREEMPT_NONE",
            "PREEMPT_VOLUNTARY",
            "PREEMPT",
            "PREEMPT_LAZY",
            "PREEMPT_RT",
            "PREEMPT_DYNAMIC",
        ],
        fault: |values| {
            let some = ["PREEMPT", "PREEMPT_RT", "PREEMPT_LAZY", "PREEMPT_DYNAMIC"];
            (!some.iter().any(|option| values.is_on(option)))
                .then(|| "the model is none or voluntary".to_owned())
        },
        fine: "it can be preempted, or preempt= can enable that",
    },
    Entry {
        id: "config-isolation",
        severity: Severity::Info,
        title: "CPUs cannot be fully isolated",
        why: "isolcpus=, nohz_full= and rcu_nocbs= do nothing in a kernel without these options.",
        fix: "build with --with isolation",
        source: "Linux Documentation/admin-guide/kernel-per-CPU-kthreads.rst",
        options: &["CPU_ISOLATION", "NO_HZ_FULL", "RCU_NOCB_CPU"],
        fault: |values| missing(values, &["CPU_ISOLATION", "NO_HZ_FULL", "RCU_NOCB_CPU"]),
        fine: "they can",
    },
    Entry {
        id: "config-power-management",
        severity: Severity::Info,
        title: "frequencies and idle states change",
        why: "A CPU in a deep idle state or at a low frequency wakes up late. Both can also be limited at run time.",
        fix: "build with --without power-management, or leave it to `punctual tune`",
        source: "Linux Documentation/admin-guide/pm/cpuidle.rst",
        options: &["CPU_FREQ", "CPU_IDLE"],
        fault: |values| {
            let on: Vec<&str> = ["CPU_FREQ", "CPU_IDLE"]
                .into_iter()
                .filter(|option| values.is_on(option))
                .collect();
            (!on.is_empty()).then(|| format!("built in: {}", on.join(", ")))
        },
        fine: "neither cpufreq nor cpuidle is built in",
    },
    Entry {
        id: "config-stack-overflow",
        severity: Severity::Info,
        title: "kernel stack overflows are not detected",
        why: "With VMAP_STACK a guard page stops an overflow at once, at no run-time cost; without it, other memory \
              is overwritten.",
        fix: "build with CONFIG_VMAP_STACK=y",
        source: "Linux Documentation/mm/vmalloced-kernel-stacks.rst",
        options: &["VMAP_STACK", "SCHED_STACK_END_CHECK"],
        fault: |values| {
            let some = ["VMAP_STACK", "SCHED_STACK_END_CHECK", "DEBUG_STACKOVERFLOW"];
            (!some.iter().any(|option| values.is_on(option)))
                .then(|| "neither guard pages nor a check are built in".to_owned())
        },
        fine: "guard pages or a check detect it",
    },
    Entry {
        id: "config-timerlat",
        severity: Severity::Info,
        title: "the timerlat tracer is not built in",
        why: "`punctual measure irq` uses the timerlat tracer, or else trace events, to separate the interrupt from \
              the thread.",
        fix: "build with --with timerlat",
        source: "Linux Documentation/trace/timerlat-tracer.rst",
        options: &["TIMERLAT_TRACER"],
        fault: |values| missing(values, &["TIMERLAT_TRACER"]),
        fine: "the timerlat tracer is built in",
    },
];

fn missing(values: &Values, options: &[&str]) -> Option<String> {
    let off: Vec<&str> = options
        .iter()
        .copied()
        .filter(|option| !values.is_on(option))
        .collect();
    (!off.is_empty()).then(|| format!("off: {}", off.join(", ")))
}

/// Returns an option that every whole configuration names, and `values` does not: then it is a part of one, a fragment or
/// the result of `savedefconfig`, and options that it does not name may be on.
pub fn part(values: &Values) -> Option<&'static str> {
    let mut everywhere = vec!["INIT_ENV_ARG_LIMIT", "DEBUG_KERNEL"];
    // Behind nearly all others, since 4.16; Kconfig notes the compiler since 4.18.
    if values.mentions("CC_VERSION_TEXT") {
        everywhere.push("RUNTIME_TESTING_MENU");
    }
    everywhere.into_iter().find(|name| !values.mentions(name))
}

/// Says what of the tick's rate make would not have written: a value with which no kernel compiles, or another one than
/// that of the chosen option. A file that somebody edited can say so; its kernel has another rate.
pub fn odd_tick(values: &Values) -> Option<String> {
    let rate = values.value("HZ");
    if rate == OFF {
        return None;
    }
    let number = rate.parse::<u32>().ok();
    if !number.is_some_and(|hz| TICKS.contains(&hz)) {
        return Some(format!("CONFIG_HZ={rate} is not a rate"));
    }
    let chosen = values.iter().find(|(name, value)| {
        let of = name
            .strip_prefix("HZ_")
            .and_then(|of| of.parse::<u32>().ok());
        *value == "y" && of.is_some_and(|of| Some(of) != number)
    });
    chosen.map(|(name, _)| format!("CONFIG_{name}=y, but CONFIG_HZ={rate}"))
}

/// Rates with which a kernel compiles, whatever the architecture (include/linux/jiffies.h, `SHIFT_HZ`).
const TICKS: std::ops::Range<u32> = 12..12_288;

/// Judges a configuration that lies at `path`.
pub fn check(values: &Values, path: &str) -> Vec<Verdict> {
    RULES
        .iter()
        .map(|entry| verdict(entry, values, path))
        .collect()
}

/// Returns every rule.
pub fn rules() -> Vec<Rule> {
    RULES.iter().map(Entry::rule).collect()
}

impl Entry {
    fn rule(&self) -> Rule {
        Rule {
            id: self.id.to_owned(),
            severity: self.severity,
            title: self.title.to_owned(),
            why: self.why.to_owned(),
            fix: self.fix.to_owned(),
            fixed_by: vec![Fixer::Rebuild],
            knobs: Vec::new(),
            source: self.source.to_owned(),
        }
    }
}

fn verdict(entry: &Entry, values: &Values, path: &str) -> Verdict {
    let fault = (entry.fault)(values);
    let evidence = entry
        .options
        .iter()
        .filter(|option| values.mentions(option));
    let evidence: Vec<String> = evidence
        .map(|option| format!("{option}={}", values.value(option)))
        .collect();
    let cited = match evidence.is_empty() {
        true => format!("none of {}", entry.options.join(", ")),
        false => evidence.join(" "),
    };
    Verdict {
        rule: entry.rule(),
        outcome: match fault {
            Some(_) => RuleOutcome::Found,
            None => RuleOutcome::Fine,
        },
        says: fault.unwrap_or_else(|| entry.fine.to_owned()),
        evidence: vec![Evidence {
            path: path.to_owned(),
            value: Some(cited),
            problem: None,
        }],
        tune: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(config: &str) -> Vec<String> {
        let verdicts = check(&Values::parse(config).unwrap(), "x");
        let found = verdicts
            .into_iter()
            .filter(|v| v.outcome == RuleOutcome::Found);
        found.map(|v| v.rule.id).collect()
    }

    #[test]
    fn a_fragment_and_a_file_that_is_cut_off_are_parts() {
        let whole = "CONFIG_CC_VERSION_TEXT=\"gcc\"\nCONFIG_INIT_ENV_ARG_LIMIT=32\nCONFIG_HZ=250\n\
                     # CONFIG_DEBUG_KERNEL is not set\nCONFIG_RUNTIME_TESTING_MENU=y\n";
        let part_of = |text: &str| part(&Values::parse(text).unwrap());
        assert_eq!(part_of(whole), None);
        // As before 4.16.
        assert_eq!(
            part_of("CONFIG_INIT_ENV_ARG_LIMIT=32\nCONFIG_DEBUG_KERNEL=y\n"),
            None
        );
        assert_eq!(part_of("CONFIG_HZ=1000\n"), Some("INIT_ENV_ARG_LIMIT"));
        let cut = |lines: usize| {
            whole
                .lines()
                .take(lines)
                .map(|line| format!("{line}\n"))
                .collect::<String>()
        };
        assert_eq!(part_of(&cut(3)), Some("DEBUG_KERNEL"));
        assert_eq!(part_of(&cut(4)), Some("RUNTIME_TESTING_MENU"));
    }

    #[test]
    fn a_rate_of_the_tick_that_make_did_not_write_is_named() {
        let odd = |text: &str| odd_tick(&Values::parse(text).unwrap());
        for fine in [
            "CONFIG_HZ=250\nCONFIG_HZ_250=y\n# CONFIG_HZ_1000 is not set\n",
            // As of arm without a choice, alpha, MIPS, and sources with options of their own.
            "CONFIG_HZ=128\nCONFIG_HZ_FIXED=128\n",
            "CONFIG_HZ=1200\n",
            "CONFIG_HZ=24\nCONFIG_HZ_24=y\n",
            "CONFIG_HZ=2000\nCONFIG_HZ_2000=y\nCONFIG_HZ_PERIODIC=y\n",
            "CONFIG_X86=y\n",
        ] {
            assert_eq!(odd(fine), None, "{fine}");
        }
        for rate in ["0", "11", "12288", "100000", "-1000", "abc", "y"] {
            let said = odd(&format!("CONFIG_HZ={rate}\n"));
            assert_eq!(said.unwrap(), format!("CONFIG_HZ={rate} is not a rate"));
        }
        assert_eq!(
            odd("CONFIG_HZ=250\nCONFIG_HZ_1000=y\n").unwrap(),
            "CONFIG_HZ_1000=y, but CONFIG_HZ=250"
        );
    }

    #[test]
    fn each_rule_finds_what_it_is_for_and_is_content_otherwise() {
        let good = "CONFIG_X86_64=y\nCONFIG_X86_PM_TIMER=y\nCONFIG_HIGH_RES_TIMERS=y\nCONFIG_PREEMPT_RT=y\n\
                    CONFIG_CPU_ISOLATION=y\nCONFIG_NO_HZ_FULL=y\nCONFIG_RCU_NOCB_CPU=y\nCONFIG_VMAP_STACK=y\n\
                    CONFIG_TIMERLAT_TRACER=y\n";
        assert!(found(good).is_empty(), "{:?}", found(good));
        for (option, id) in [
            ("X86_PM_TIMER", "config-timer-reference"),
            ("HIGH_RES_TIMERS", "config-high-res-timers"),
            ("PREEMPT_RT", "config-preemption"),
            ("NO_HZ_FULL", "config-isolation"),
            ("VMAP_STACK", "config-stack-overflow"),
            ("TIMERLAT_TRACER", "config-timerlat"),
        ] {
            let bad = good.replace(
                &format!("CONFIG_{option}=y"),
                &format!("# CONFIG_{option} is not set"),
            );
            assert_eq!(found(&bad), [id]);
        }
        assert_eq!(
            found(&format!("{good}CONFIG_CPU_IDLE=y\n")),
            ["config-power-management"]
        );
    }
}
