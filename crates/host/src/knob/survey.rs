// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Reads all settings of a machine, and what else a plan needs to know.

use std::collections::BTreeMap;
use std::error::Error as _;

use punctual_model::{Codec, CpuId, CpuSet, Gathered as _, KnobReading, Target, Writable};
use punctual_sys::SysRoot;
use punctual_sys::proc::{self, Stat, release_numbers};

use super::place::{Found, Place};
use super::registry::{self, Knob, KnobKind, Part};
use super::threads::{self, Thread};
use crate::doctor::{NOT_THE_ROOT, is_root, top_group};
use crate::{debugfs, dma_latency};

const CPU: &str = "/sys/devices/system/cpu";

/// What a setting may take to read.
const MOST_BYTES: usize = 65_536;

/// What is said of a file that is there and has nothing to read.
const NO_VALUE: &str = "it has no value here";

/// Programs that change settings by themselves, so that what is set here does not last.
const TUNERS: [&str; 7] = [
    "irqbalance",
    "tuned",
    "power-profiles-daemon",
    "auto-cpufreq",
    "tlp",
    "thermald",
    "ksmtuned",
];

/// Why a knob has no value here although all trees can be seen.
pub(crate) const ABSENT: &str = "this kernel or hardware does not have it";

/// What a survey covers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scope {
    /// The settings alone.
    Settings,
    /// The threads as well: two files each.
    WithThreads,
}

/// A machine's settings at one moment.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// Name of the machine.
    pub hostname: Option<String>,
    /// Kernel release.
    pub kernel_release: Option<String>,
    /// Whether the machine is x86, where CPU 0 is more than the first of many.
    pub x86: bool,
    /// Kernel command line.
    pub cmdline: Option<String>,
    /// Online CPUs.
    pub online: CpuSet,
    /// CPUs that the kernel keeps free of ordinary threads (`isolcpus`).
    pub isolated: CpuSet,
    /// CPUs of the same core, by CPU.
    pub siblings: BTreeMap<CpuId, CpuSet>,
    /// Memory in KiB.
    pub memory_kib: Option<u64>,
    /// Size of a huge page in KiB.
    pub hugepage_kib: Option<u64>,
    /// The settings.
    pub readings: Vec<Reading>,
    /// Settings that are no knobs, but move with one.
    pub kept: Vec<Reading>,
    /// The threads, if they were asked for.
    pub threads: Vec<Thread>,
    /// The control group right below the root that the threads of a program are in, by process.
    pub groups: BTreeMap<i32, String>,
    /// That of this program.
    pub own_group: Option<String>,
    /// Programs that tune the machine too.
    pub tuners: Vec<String>,
    /// Where partitions of CPUs would be made.
    pub partition: Option<PartitionRoot>,
    /// Whether the surveyor was privileged.
    pub privileged: bool,
    /// The trees in which nothing can be seen, such as `/sys/kernel/debug`, and why.
    pub unseen: Vec<(&'static str, &'static str)>,
}

/// One setting.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The knob.
    pub knob: &'static Knob,
    /// The form of its values.
    pub codec: Codec,
    /// The CPUs that it concerns; none where it concerns all.
    pub cpus: Option<CpuSet>,
    /// The least and the greatest number, or twice the latency of an idle state.
    pub bounds: Option<(u64, u64)>,
    /// What was read.
    pub shown: KnobReading,
}

/// The control groups in which a partition would be made.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PartitionRoot {
    /// Version 1, at this path: sets of CPUs that are balanced apart.
    V1 {
        /// The mount.
        path: String,
        /// Memory nodes of the root.
        mems: String,
        /// Whether the root's CPUs are balanced.
        balanced: bool,
        /// The sets that are balanced even if the root is not.
        others: Vec<BalancedSet>,
    },
    /// Version 2, at this path, with the controllers that its groups have.
    V2 {
        /// The mount.
        path: String,
        /// Whether `cpuset` is handed down.
        enabled: bool,
        /// Whether a partition may be `isolated`, as far as is known.
        isolates: bool,
    },
}

/// A set of CPUs (version 1) that the scheduler balances over.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BalancedSet {
    /// Its name below the root.
    pub group: String,
    /// Its CPUs.
    pub cpus: CpuSet,
    /// Those of the sets in it, which it cannot lose before they do.
    pub inner: CpuSet,
}

impl Survey {
    /// Reads a machine. `privileged` is whether what cannot be opened now can not be opened at all.
    pub fn read(sys: &SysRoot, scope: Scope, privileged: bool) -> Self {
        let text = |path: &str| sys.read(path).ok().filter(|t| !t.trim().is_empty());
        let online: CpuSet = sys.fact(&format!("{CPU}/online")).unwrap_or_default();
        let surveyor = Surveyor {
            sys,
            privileged,
            locked: locked_down(sys),
        };
        let threads = match scope {
            Scope::Settings => Vec::new(),
            Scope::WithThreads => threads::list(sys),
        };
        let group = |process: &str| {
            let text = sys.read(&format!("/proc/{process}/cgroup")).ok()?;
            top_group(&text, "cpuset")
        };
        let first = threads
            .iter()
            .filter(|thread| !thread.kernel && thread.id.tid == thread.process);
        Self {
            hostname: text("/proc/sys/kernel/hostname"),
            kernel_release: text("/proc/sys/kernel/osrelease"),
            x86: text("/proc/cpuinfo").is_some_and(|info| info.contains("vendor_id")),
            cmdline: text("/proc/cmdline"),
            isolated: sys.fact(&format!("{CPU}/isolated")).unwrap_or_default(),
            siblings: siblings(sys, &online),
            memory_kib: meminfo(sys, "MemTotal:"),
            hugepage_kib: meminfo(sys, "Hugepagesize:"),
            readings: registry::all()
                .flat_map(|knob| surveyor.knob(knob))
                .collect(),
            kept: registry::KEPT
                .iter()
                .flat_map(|knob| surveyor.kept(knob))
                .collect(),
            groups: first
                .filter_map(|thread| Some((thread.process, group(&thread.process.to_string())?)))
                .into_map(),
            own_group: group("self"),
            threads,
            tuners: tuners(sys),
            partition: partition_root(sys),
            online,
            privileged,
            unseen: unseen(sys),
        }
    }

    /// Says why it is not known whether the machine has a knob of which no setting was found.
    pub fn unseen(&self, knob: &Knob) -> Option<&'static str> {
        let is_in = |tree: &str| match knob.kind {
            KnobKind::Files(places) => places.iter().any(|place| place.path.starts_with(tree)),
            KnobKind::Held(path) => path == tree,
            _ => false,
        };
        let mut trees = self.unseen.iter();
        trees.find(|(tree, _)| is_in(tree)).map(|(_, why)| *why)
    }

    /// Says why no setting of a knob was found.
    pub fn unlisted(&self, knob: &Knob) -> &'static str {
        match knob.kind {
            KnobKind::ThreadCpus(_) | KnobKind::IrqThreadPolicy => {
                "of each thread: `punctual tune plan --set` with it lists them"
            }
            KnobKind::Partition => "made where it is applied",
            KnobKind::Files(_) | KnobKind::Held(_) => self.unseen(knob).unwrap_or(ABSENT),
        }
    }

    /// Lists the settings of a knob.
    pub fn of<'a, 'k>(&'a self, knob: &'k str) -> impl Iterator<Item = &'a Reading> + use<'a, 'k> {
        let all = self.readings.iter().chain(&self.kept);
        all.filter(move |r| r.knob.name == knob)
    }

    /// Returns the value of a knob that there is one of.
    pub fn value(&self, knob: &str) -> Option<&str> {
        self.of(knob).next()?.shown.value.as_deref()
    }
}

/// Where the root control group has its settings of the controller `cpu`. In a container another group may be there.
const CPU_GROUPS: [&str; 2] = ["/sys/fs/cgroup/cpu/", "/sys/fs/cgroup/cpu,cpuacct/"];

fn is_of_another_group(sys: &SysRoot, path: &str) -> bool {
    let mut dirs = CPU_GROUPS.iter().filter(|dir| path.starts_with(**dir));
    dirs.any(|dir| !is_root(dir.trim_end_matches('/'), |file| sys.exists(file)))
}

/// The trees in which nothing can be seen, and why.
fn unseen(sys: &SysRoot) -> Vec<(&'static str, &'static str)> {
    let mut trees = Vec::new();
    for (tree, landmark, why) in [
        ("/proc", "/proc/sys", "/proc is not mounted here"),
        ("/sys", "/sys/devices", "/sys is not mounted here"),
    ] {
        if !sys.exists(landmark) {
            trees.push((tree, why));
        }
    }
    trees.extend(debugfs::unseen(sys).map(|why| (debugfs::PLACE, why)));
    let others = CPU_GROUPS
        .into_iter()
        .filter(|dir| is_of_another_group(sys, dir));
    trees.extend(others.map(|dir| (dir, NOT_THE_ROOT)));
    if !sys.exists(dma_latency::PLACE) {
        let list = sys.read(dma_latency::LIST).unwrap_or_default();
        trees.extend(dma_latency::hidden(&list).map(|why| (dma_latency::PLACE, why)));
    }
    trees
}

struct Surveyor<'a> {
    sys: &'a SysRoot,
    privileged: bool,
    locked: bool,
}

impl Surveyor<'_> {
    fn knob(&self, knob: &'static Knob) -> Vec<Reading> {
        let places = match knob.kind {
            KnobKind::Files(places) => places,
            KnobKind::Held(path) => return self.held(knob, path).into_iter().collect(),
            // Threads are no settings of the machine, and a partition is made.
            KnobKind::ThreadCpus(_) | KnobKind::IrqThreadPolicy | KnobKind::Partition => {
                return Vec::new();
            }
        };
        for place in places
            .iter()
            .filter(|place| !is_of_another_group(self.sys, place.path))
        {
            let files = place.files(self.sys);
            if !files.is_empty() {
                return files
                    .into_iter()
                    .map(|found| self.file(knob, place, found))
                    .collect();
            }
        }
        Vec::new()
    }

    /// Reads a setting at every place that there is.
    fn kept(&self, knob: &'static Knob) -> Vec<Reading> {
        let KnobKind::Files(places) = knob.kind else {
            return Vec::new();
        };
        let all = places.iter().flat_map(|place| {
            let files = place.files(self.sys).into_iter();
            files.map(|found| self.file(knob, place, found))
        });
        all.collect()
    }

    fn file(&self, knob: &'static Knob, place: &Place, found: Found) -> Reading {
        // Under lockdown the kernel refuses debugfs and complains in its log, once for each try.
        let barred = self.locked && found.path.starts_with("/sys/kernel/debug/");
        let raw = if barred {
            Err("the kernel is locked down".to_owned())
        } else {
            // Neither a pipe in a captured tree nor a file without an end may stop the survey.
            let read = self.sys.read_up_to(&found.path, MOST_BYTES);
            read.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned())
                .map_err(|err| {
                    // The file is there: the kernel says so of what has no value.
                    if err.is_missing() {
                        return NO_VALUE.to_owned();
                    }
                    let source = err.source().map(ToString::to_string);
                    source.unwrap_or_else(|| err.to_string())
                })
        };
        let value = raw.as_ref().map_err(String::clone).and_then(|raw| {
            let value = place.codec.canonical(raw);
            // An empty file says the same, as that of energy-aware scheduling on hardware without it.
            value.map_err(|err| match raw.trim().is_empty() {
                true => NO_VALUE.to_owned(),
                false => err.to_string(),
            })
        });
        let beside = |name: &str| {
            let (directory, _) = found.path.rsplit_once('/')?;
            self.sys.read(&format!("{directory}/{name}")).ok()
        };
        let listed = place.choices.and_then(beside).map(|text| {
            let words = text.split_whitespace();
            words.map(str::to_owned).collect()
        });
        let number = |name| beside(name).and_then(|text| text.trim().parse().ok());
        let no = |reason: &str| Writable::No {
            reason: reason.to_owned(),
        };
        Reading {
            knob,
            codec: place.codec,
            bounds: place
                .bounds
                .and_then(|(least, greatest)| Some((number(least)?, number(greatest)?))),
            shown: KnobReading {
                knob: knob.name.to_owned(),
                instance: found.instance(),
                choices: listed.or_else(|| place.codec.choices(raw.as_deref().ok()?)),
                fault: value.as_ref().err().cloned(),
                writable: match &value {
                    _ if barred => no("the kernel is locked down"),
                    Err(fault) if fault == NO_VALUE => no(NO_VALUE),
                    Ok(word)
                        if knob.part == Part::Siblings
                            && ["notsupported", "notimplemented", "forceoff"]
                                .contains(&word.as_str()) =>
                    {
                        no("the kernel cannot change it")
                    }
                    _ => self.writable(&found.path),
                },
                value: value.ok(),
                target: Target::file(found.path),
            },
            cpus: found.cpus,
        }
    }

    fn held(&self, knob: &'static Knob, path: &str) -> Option<Reading> {
        self.sys.exists(path).then(|| Reading {
            knob,
            codec: knob.codec(),
            cpus: None,
            bounds: None,
            shown: KnobReading {
                knob: knob.name.to_owned(),
                instance: None,
                target: Target::file(path),
                // What all holders together ask for is nobody's setting.
                value: None,
                choices: None,
                fault: None,
                writable: self.writable(path),
            },
        })
    }

    fn writable(&self, path: &str) -> Writable {
        match self.sys.probe_write(path) {
            Ok(()) => Writable::Yes,
            Err(err) if !self.privileged && err.is_permission() => Writable::NeedsRoot,
            Err(err) => Writable::No {
                reason: err.source().map(ToString::to_string).unwrap_or_default(),
            },
        }
    }
}

fn locked_down(sys: &SysRoot) -> bool {
    sys.read("/sys/kernel/security/lockdown")
        .is_ok_and(|text| !text.contains("[none]"))
}

fn siblings(sys: &SysRoot, online: &CpuSet) -> BTreeMap<CpuId, CpuSet> {
    let of = |cpu: CpuId| -> Option<CpuSet> {
        sys.fact(&format!("{CPU}/cpu{cpu}/topology/thread_siblings_list"))
    };
    online
        .iter()
        .filter_map(|cpu| Some((cpu, of(cpu)?)))
        .into_map()
}

fn meminfo(sys: &SysRoot, key: &str) -> Option<u64> {
    let text = sys.read("/proc/meminfo").ok()?;
    proc::kib(&text, key)
}

fn tuners(sys: &SysRoot) -> Vec<String> {
    let names = sys.names("/proc").unwrap_or_default();
    let processes = names.iter().filter(|n| n.parse::<u32>().is_ok());
    let mut found: Vec<String> = processes
        .filter_map(|process| {
            let stat = sys.read_lossy(&format!("/proc/{process}/stat")).ok()?;
            Some(Stat::parse(&stat)?.name.to_owned())
        })
        // The kernel keeps 15 characters.
        .filter(|name| {
            TUNERS
                .iter()
                .any(|tuner| tuner.get(..15).unwrap_or(tuner) == name)
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn partition_root(sys: &SysRoot) -> Option<PartitionRoot> {
    let controllers = |file: &str| {
        let text = sys.read(&format!("/sys/fs/cgroup/{file}")).ok()?;
        Some(text.split_whitespace().any(|word| word == "cpuset"))
    };
    if controllers("cgroup.controllers") == Some(true) {
        // Since 6.1; distributions have it in older ones, and the list of what is isolated with it.
        let release = sys.read("/proc/sys/kernel/osrelease").ok();
        let release = release.as_deref().and_then(release_numbers);
        return Some(PartitionRoot::V2 {
            path: "/sys/fs/cgroup".to_owned(),
            enabled: controllers("cgroup.subtree_control") == Some(true),
            isolates: release.is_none_or(|release| release >= (6, 1))
                || sys.exists("/sys/fs/cgroup/cpuset.cpus.isolated"),
        });
    }
    let path = "/sys/fs/cgroup/cpuset";
    Some(PartitionRoot::V1 {
        mems: sys.read(&format!("{path}/cpuset.mems")).ok()?,
        balanced: sys.fact::<u8>(&format!("{path}/cpuset.sched_load_balance"))? == 1,
        others: balanced_sets(sys, path, "", DEEPEST_SET),
        path: path.to_owned(),
    })
}

/// The sets in sets that are looked at.
const DEEPEST_SET: usize = 2;

/// Lists the sets of CPUs that the scheduler balances over by themselves. What is within one that it balances over changes
/// nothing (`generate_sched_domains` in `kernel/cgroup/cpuset.c`).
fn balanced_sets(sys: &SysRoot, root: &str, above: &str, deepest: usize) -> Vec<BalancedSet> {
    let within = |group: &str| -> Vec<(String, CpuSet)> {
        let names = sys.names(&format!("{root}{group}")).unwrap_or_default();
        let inner = names.into_iter().map(|name| format!("{group}/{name}"));
        inner
            .filter_map(|group| {
                let cpus = sys.fact(&format!("{root}{group}/cpuset.cpus"))?;
                Some((group, cpus))
            })
            .collect()
    };
    let sets = within(above).into_iter().flat_map(|(group, cpus)| {
        let flag: Option<u8> = sys.fact(&format!("{root}{group}/cpuset.sched_load_balance"));
        if flag == Some(0) {
            return match deepest {
                0 => Vec::new(),
                _ => balanced_sets(sys, root, &group, deepest - 1),
            };
        }
        let inner = within(&group);
        vec![BalancedSet {
            inner: inner.iter().flat_map(|(_, cpus)| cpus.iter()).collect(),
            group: group.trim_start_matches('/').to_owned(),
            cpus,
        }]
    });
    sets.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;
    use std::fs;

    #[test]
    fn settings_are_read_with_what_they_offer() {
        let policy = "sys/devices/system/cpu/cpufreq/policy0";
        let (_dir, sys) = machine(&[
            ("sys/devices/system/cpu/online", "0-3"),
            (&format!("{policy}/affected_cpus"), "0 1"),
            (&format!("{policy}/scaling_governor"), "powersave"),
            (
                &format!("{policy}/scaling_available_governors"),
                "performance powersave",
            ),
            (&format!("{policy}/scaling_min_freq"), "800000"),
            (&format!("{policy}/cpuinfo_min_freq"), "400000"),
            (&format!("{policy}/cpuinfo_max_freq"), "3600000"),
            (
                "sys/kernel/mm/transparent_hugepage/enabled",
                "always [madvise] never",
            ),
            ("sys/devices/system/cpu/intel_pstate/no_turbo", "0"),
        ]);
        let survey = Survey::read(&sys, Scope::Settings, true);
        let governor = survey.of("cpufreq.governor").next().unwrap();
        assert_eq!(governor.shown.instance.as_deref(), Some("policy0"));
        assert_eq!(governor.shown.value.as_deref(), Some("powersave"));
        assert_eq!(
            governor.shown.choices.as_deref().unwrap(),
            ["performance", "powersave"]
        );
        assert_eq!(governor.cpus, Some([0, 1].into_iter().collect()));
        let least = survey.of("cpufreq.min_freq").next().unwrap();
        assert_eq!(least.bounds, Some((400_000, 3_600_000)));
        assert_eq!(survey.value("thp.enabled"), Some("madvise"));
        assert_eq!(survey.value("cpufreq.turbo"), Some("1"));
        assert_eq!(survey.value("vm.swappiness"), None);
    }

    #[test]
    fn what_cannot_be_read_or_written_says_why() {
        let (dir, sys) = machine(&[
            ("sys/kernel/security/lockdown", "none [integrity]"),
            ("sys/kernel/debug/sched/preempt", "(none) full"),
            ("proc/sys/vm/swappiness", "sixty"),
            ("proc/sys/kernel/nmi_watchdog", "0"),
            ("proc/sys/kernel/sched_energy_aware", ""),
        ]);
        let bits = std::os::unix::fs::PermissionsExt::from_mode(0o444);
        fs::set_permissions(dir.path().join("proc/sys/kernel/nmi_watchdog"), bits).unwrap();
        let survey = Survey::read(&sys, Scope::Settings, true);
        let fault = |knob| survey.of(knob).next().unwrap().shown.fault.clone();
        assert!(fault("sched.preempt").unwrap().contains("locked down"));
        assert!(fault("vm.swappiness").unwrap().contains("whole number"));
        assert_eq!(fault("kernel.sched_energy_aware").unwrap(), NO_VALUE);
        for knob in ["kernel.nmi_watchdog", "kernel.sched_energy_aware"] {
            let reading = survey.of(knob).next().unwrap();
            assert!(matches!(reading.shown.writable, Writable::No { .. }));
        }
    }

    #[test]
    fn what_the_kernel_does_not_change_is_not_writable() {
        let control = "sys/devices/system/cpu/smt/control";
        for (word, writable) in [("notsupported", false), ("on", true)] {
            let (_dir, sys) = machine(&[(control, word)]);
            let survey = Survey::read(&sys, Scope::Settings, true);
            let smt = survey.of("smt").next().unwrap();
            assert_eq!(smt.shown.writable == Writable::Yes, writable, "{word}");
        }
    }

    #[test]
    fn a_setting_is_found_where_an_older_kernel_has_it() {
        let (_dir, sys) = machine(&[
            ("proc/sys/kernel/sched_migration_cost_ns", "500000"),
            ("sys/kernel/debug/sched/min_granularity_ns", "3000000"),
            ("proc/sys/kernel/sched_min_granularity_ns", "1"),
        ]);
        let survey = Survey::read(&sys, Scope::Settings, true);
        assert_eq!(survey.value("sched.migration_cost_ns"), Some("500000"));
        assert_eq!(survey.value("sched.base_slice_ns"), Some("3000000"));
    }

    #[test]
    fn an_empty_tree_has_no_settings() {
        let (_dir, sys) = machine(&[]);
        let survey = Survey::read(&sys, Scope::WithThreads, false);
        assert!(survey.readings.is_empty() && survey.threads.is_empty());
        assert_eq!(survey.partition, None);
    }
}
