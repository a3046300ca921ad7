// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Which files are read, and how.
//!
//! A pattern is a path. In it, `{cpu}` stands for each CPU that matters, `#` for any number and
//! `*` for any name. Nothing is read twice, and nothing without a limit: the tree may be one that
//! nobody vouches for.

use std::collections::BTreeMap;

use punctual_model::CpuSet;
use punctual_sys::{SysRoot, msr};

use super::config::{self, PLACES};
use super::{CPU, Machine, Reading, Unread};
use crate::{debugfs, dma_latency, doctor};

/// Which CPUs matter.
#[derive(Clone, Debug)]
pub enum Scope {
    /// Those that are judged: these, or else those that the kernel isolates, or else all online.
    Judged(Option<CpuSet>),
    /// All that are available, and what tuning looks at besides: for a capture.
    Everything,
}

/// Most files are a line. A configuration, compressed, has some 60 KB.
const LIMIT: usize = 512 << 10;

/// `/proc/interrupts` and `/proc/stat` grow with CPUs times interrupts.
const LONG_LIMIT: usize = 8 << 20;

/// Files that may be so long.
const LONG: &[&str] = &["/proc/interrupts", "/proc/stat"];

/// The beginning of `/proc/cpuinfo` that is enough: the other CPUs say the same, and each costs
/// the kernel time.
const CPUINFO_HEAD: usize = 8 << 10;

/// The most files that one pattern may stand for: 1024 CPUs with 16 idle states each.
const MOST: usize = 16_384;

/// Always read.
const FILES: &[&str] = &[
    "/.dockerenv",
    "/etc/nvpmodel.conf",
    "/proc/1/status",
    "/proc/2/comm",
    "/proc/2/status",
    "/proc/#/stat",
    "/proc/cmdline",
    "/proc/consoles",
    "/proc/cpuinfo",
    "/proc/interrupts",
    "/proc/irq/#/effective_affinity_list",
    "/proc/irq/#/smp_affinity_list",
    "/proc/irq/default_smp_affinity",
    "/proc/misc",
    "/proc/self/cgroup",
    "/proc/self/limits",
    "/proc/self/status",
    "/proc/self/uid_map",
    "/proc/stat",
    "/proc/swaps",
    "/proc/sys/kernel/arch",
    "/proc/sys/kernel/bpf_stats_enabled",
    "/proc/sys/kernel/latencytop",
    "/proc/sys/kernel/nmi_watchdog",
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/printk",
    "/proc/sys/kernel/sched_rt_period_us",
    "/proc/sys/kernel/sched_rt_runtime_us",
    "/proc/sys/kernel/sched_schedstats",
    "/proc/sys/kernel/soft_watchdog",
    "/proc/sys/kernel/split_lock_mitigate",
    "/proc/sys/kernel/stack_tracer_enabled",
    "/proc/sys/kernel/tainted",
    "/proc/sys/kernel/timer_migration",
    "/proc/sys/kernel/version",
    "/proc/sys/kernel/watchdog",
    "/proc/sys/kernel/watchdog_cpumask",
    "/proc/sys/vm/compaction_proactiveness",
    "/proc/sys/vm/stat_interval",
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/zone_reclaim_mode",
    "/run/.containerenv",
    "/run/systemd/container",
    "/sys/bus/pci/devices/*/class",
    "/sys/bus/pci/devices/*/current_link_speed",
    "/sys/bus/workqueue/devices/writeback/cpumask",
    "/sys/class/dmi/id/product_name",
    "/sys/class/dmi/id/sys_vendor",
    "/sys/class/net/*/queues/*/rps_cpus",
    "/sys/class/power_supply/*/online",
    "/sys/class/power_supply/*/scope",
    "/sys/class/power_supply/*/type",
    "/sys/class/thermal/*/cur_state",
    "/sys/class/thermal/*/type",
    "/sys/devices/cpu_atom/cpus",
    "/sys/devices/cpu_core/cpus",
    "/sys/devices/platform/soc/soc:firmware/get_throttled",
    "/sys/devices/platform/soc@107c000000/soc@107c000000:firmware/get_throttled",
    "/sys/devices/system/clockevents/clockevent{cpu}/current_device",
    "/sys/devices/system/clocksource/clocksource0/available_clocksource",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/devices/system/cpu/cpu{cpu}/cache/index3/shared_cpu_list",
    "/sys/devices/system/cpu/cpu{cpu}/cpu_capacity",
    "/sys/devices/system/cpu/cpu{cpu}/cpufreq/energy_performance_preference",
    "/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor",
    "/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_max_freq",
    "/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_min_freq",
    "/sys/devices/system/cpu/cpu{cpu}/cpuidle/*/disable",
    "/sys/devices/system/cpu/cpu{cpu}/cpuidle/*/latency",
    "/sys/devices/system/cpu/cpu{cpu}/cpuidle/*/name",
    "/sys/devices/system/cpu/cpu{cpu}/power/energy_perf_bias",
    "/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us",
    "/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count",
    "/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list",
    "/sys/devices/system/cpu/cpufreq/boost",
    "/sys/devices/system/cpu/cpuidle/current_driver",
    "/sys/devices/system/cpu/cpuidle/current_governor",
    "/sys/devices/system/cpu/cpuidle/current_governor_ro",
    "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "/sys/devices/system/cpu/intel_uncore_frequency/*/max_freq_khz",
    "/sys/devices/system/cpu/intel_uncore_frequency/*/min_freq_khz",
    "/sys/devices/system/cpu/isolated",
    "/sys/devices/system/cpu/nohz_full",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/possible",
    "/sys/devices/system/cpu/smt/active",
    "/sys/devices/system/cpu/smt/control",
    "/sys/devices/system/cpu/vulnerabilities/*",
    "/sys/devices/system/machinecheck/machinecheck0/check_interval",
    "/sys/devices/system/node/node#/cpulist",
    "/sys/devices/system/node/online",
    "/sys/devices/virtual/workqueue/cpumask",
    "/sys/firmware/devicetree/base/compatible",
    "/sys/firmware/devicetree/base/hypervisor/compatible",
    "/sys/firmware/devicetree/base/model",
    "/sys/firmware/efi/fw_platform_size",
    "/sys/fs/cgroup/cpuset.cpus.effective",
    "/sys/fs/cgroup/cpuset.cpus.isolated",
    "/sys/fs/cgroup/cpuset.cpus.partition",
    "/sys/fs/cgroup/*/cpuset.cpus.effective",
    "/sys/fs/cgroup/*/cpuset.cpus.partition",
    "/sys/fs/cgroup/cpuset/cpuset.cpus",
    "/sys/fs/cgroup/cpuset/cpuset.effective_cpus",
    "/sys/fs/cgroup/cpu/cgroup.sane_behavior",
    "/sys/fs/cgroup/cpu/cpu.rt_runtime_us",
    "/sys/fs/cgroup/cpu/notify_on_release",
    "/sys/fs/resctrl/schemata",
    "/sys/hypervisor/type",
    "/sys/kernel/hardlockup_count",
    "/sys/kernel/mm/ksm/run",
    "/sys/kernel/mm/transparent_hugepage/defrag",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/oops_count",
    "/sys/kernel/rcu_expedited",
    "/sys/kernel/rcu_normal",
    "/sys/kernel/rcu_stall_count",
    "/sys/kernel/realtime",
    "/sys/kernel/security/lockdown",
    "/sys/kernel/softlockup_count",
    "/sys/kernel/tracing/current_tracer",
    "/sys/kernel/tracing/events/enable",
    "/sys/kernel/tracing/tracing_on",
    "/sys/kernel/warn_count",
    "/sys/module/kfence/parameters/sample_interval",
    "/sys/module/pcie_aspm/parameters/policy",
    "/var/lib/nvpmodel/status",
];

/// Read where lockdown does not forbid it: the kernel would put each refusal in its log.
const DEBUG_FILES: &[&str] = &[
    "/sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime",
    "/sys/kernel/debug/sched/preempt",
];

/// What a capture has besides: the settings that tuning changes.
const TUNED: &[&str] = &[
    "/proc/#/task/#/stat",
    "/proc/#/task/#/status",
    "/proc/irq/#/smp_affinity",
    "/proc/meminfo",
    "/proc/sys/kernel/sched_deadline_period_max_us",
    "/proc/sys/kernel/sched_energy_aware",
    "/proc/sys/kernel/task_delayacct",
    "/sys/devices/system/cpu/intel_uncore_frequency/*/initial_max_freq_khz",
    "/sys/devices/system/cpu/intel_uncore_frequency/*/initial_min_freq_khz",
    "/proc/sys/kernel/hung_task_timeout_secs",
    "/proc/sys/kernel/perf_cpu_time_max_percent",
    "/proc/sys/kernel/perf_event_paranoid",
    "/proc/sys/kernel/randomize_va_space",
    "/proc/sys/kernel/sched_autogroup_enabled",
    "/proc/sys/kernel/sched_cfs_bandwidth_slice_us",
    "/proc/sys/kernel/sched_deadline_period_min_us",
    "/proc/sys/kernel/sched_rr_timeslice_ms",
    "/proc/sys/kernel/watchdog_thresh",
    "/proc/sys/net/core/busy_poll",
    "/proc/sys/net/core/busy_read",
    "/proc/sys/vm/compact_unevictable_allowed",
    "/proc/sys/vm/dirty_background_ratio",
    "/proc/sys/vm/dirty_expire_centisecs",
    "/proc/sys/vm/dirty_ratio",
    "/proc/sys/vm/dirty_writeback_centisecs",
    "/proc/sys/vm/min_free_kbytes",
    "/proc/sys/vm/nr_hugepages",
    "/proc/sys/vm/watermark_boost_factor",
    "/sys/block/*/queue/add_random",
    "/sys/block/*/queue/nomerges",
    "/sys/block/*/queue/nr_requests",
    "/sys/block/*/queue/read_ahead_kb",
    "/sys/block/*/queue/rq_affinity",
    "/sys/block/*/queue/scheduler",
    "/sys/block/*/queue/wbt_lat_usec",
    "/sys/class/net/*/gro_flush_timeout",
    "/sys/class/net/*/napi_defer_hard_irqs",
    "/sys/class/net/*/queues/*/xps_cpus",
    "/sys/class/net/*/threaded",
    "/sys/devices/system/cpu/cpufreq/*/affected_cpus",
    "/sys/devices/system/cpu/cpufreq/*/cpuinfo_max_freq",
    "/sys/devices/system/cpu/cpufreq/*/cpuinfo_min_freq",
    "/sys/devices/system/cpu/cpufreq/*/energy_performance_available_preferences",
    "/sys/devices/system/cpu/cpufreq/*/energy_performance_preference",
    "/sys/devices/system/cpu/cpufreq/*/scaling_available_governors",
    "/sys/devices/system/cpu/cpufreq/*/scaling_driver",
    "/sys/devices/system/cpu/cpufreq/*/scaling_governor",
    "/sys/devices/system/cpu/cpufreq/*/scaling_max_freq",
    "/sys/devices/system/cpu/cpufreq/*/scaling_min_freq",
    "/sys/devices/system/cpu/cpuidle/available_governors",
    "/sys/devices/system/cpu/cpu{cpu}/online",
    "/sys/devices/system/cpu/cpu{cpu}/topology/core_id",
    "/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id",
    "/sys/devices/system/cpu/intel_pstate/status",
    "/sys/devices/system/cpu/offline",
    "/sys/devices/system/cpu/present",
    "/sys/devices/virtual/workqueue/*/cpumask",
    "/sys/fs/cgroup/*/cpuset.cpus",
    "/sys/fs/cgroup/cgroup.controllers",
    "/sys/fs/cgroup/cgroup.subtree_control",
    "/sys/fs/cgroup/cpu/cpu.rt_period_us",
    "/sys/fs/cgroup/cpuset/*/cpuset.cpus",
    "/sys/fs/cgroup/cpuset/cpuset.mems",
    "/sys/fs/cgroup/cpuset/cpuset.sched_load_balance",
    "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
    "/sys/module/haltpoll/parameters/guest_halt_poll_grow_start",
    "/sys/module/haltpoll/parameters/guest_halt_poll_ns",
    "/sys/module/rcupdate/parameters/rcu_cpu_stall_suppress",
    "/sys/module/rcupdate/parameters/rcu_cpu_stall_timeout",
    "/sys/module/rcutree/parameters/kthread_prio",
    "/sys/module/workqueue/parameters/cpu_intensive_thresh_us",
    "/sys/module/workqueue/parameters/power_efficient",
];

impl Machine {
    /// Reads the machine behind `sys`. Never fails: what could not be read says why.
    pub fn take(sys: &SysRoot, scope: &Scope) -> Self {
        let mut taker = Taker {
            sys,
            files: BTreeMap::new(),
            names: BTreeMap::new(),
            cpus: Vec::new(),
        };
        for list in ["online", "isolated", "nohz_full", "present"] {
            taker.read(&format!("{CPU}/{list}"));
        }
        let first = Self::from_files(taker.files.clone());
        let cpus = match scope {
            Scope::Judged(Some(cpus)) => cpus.clone(),
            Scope::Judged(None) => first.set_apart().unwrap_or_else(|| first.cpus("online")),
            Scope::Everything => first.cpus("present"),
        };
        taker.cpus = cpus.iter().map(|cpu| cpu.to_string()).collect();
        taker.patterns(FILES);
        if matches!(scope, Scope::Everything) {
            taker.patterns(TUNED);
        }
        taker.debug_files();
        taker.config();
        taker.own_groups();
        taker.registers();
        Self::from_files(taker.files)
    }

    /// Returns the CPUs that the kernel isolates, if they are some and not all.
    pub(crate) fn set_apart(&self) -> Option<CpuSet> {
        let (isolated, online) = (
            self.isolated().common(&self.cpus("online")),
            self.cpus("online"),
        );
        (!isolated.is_empty() && isolated != online).then_some(isolated)
    }
}

/// Whether a pattern names a file itself: what is read otherwise bears names of the machine.
pub(super) fn is_named(path: &str) -> bool {
    [FILES, TUNED]
        .iter()
        .any(|patterns| patterns.contains(&path))
}

/// Reads files once each.
struct Taker<'a> {
    sys: &'a SysRoot,
    files: BTreeMap<String, Reading>,
    /// Directories that were listed.
    names: BTreeMap<String, Vec<String>>,
    /// The CPUs that `{cpu}` stands for.
    cpus: Vec<String>,
}

impl Taker<'_> {
    fn patterns(&mut self, patterns: &[&str]) {
        for pattern in patterns {
            for path in self.expand(pattern) {
                self.read(&path);
            }
        }
    }

    /// Returns the paths that a pattern stands for.
    fn expand(&mut self, pattern: &str) -> Vec<String> {
        let mut paths = vec![String::new()];
        for part in pattern.split('/').skip(1) {
            let mut longer = Vec::new();
            for path in paths {
                if part == "*" || part == "#" {
                    let number = |name: &&String| name.bytes().all(|b| b.is_ascii_digit());
                    let names = self.names(&path);
                    let names = names.iter().filter(|name| part == "*" || number(name));
                    longer.extend(names.map(|name| format!("{path}/{name}")));
                } else if part.contains("{cpu}") {
                    let cpus = self.cpus.iter();
                    longer.extend(cpus.map(|cpu| format!("{path}/{}", part.replace("{cpu}", cpu))));
                } else if let Some(stem) = part.strip_suffix('#') {
                    let fits = |name: &&String| {
                        let number = name.strip_prefix(stem);
                        number
                            .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
                    };
                    let names = self.names(&path);
                    longer.extend(
                        names
                            .iter()
                            .filter(fits)
                            .map(|name| format!("{path}/{name}")),
                    );
                } else {
                    longer.push(format!("{path}/{part}"));
                }
            }
            paths = longer;
            if paths.len() > MOST {
                paths.truncate(MOST);
                self.files
                    .insert(pattern.to_owned(), Err(Unread::TooMany { limit: MOST }));
            }
        }
        paths
    }

    fn names(&mut self, directory: &str) -> Vec<String> {
        if let Some(names) = self.names.get(directory) {
            return names.clone();
        }
        let names = match self.sys.names(directory) {
            Ok(names) => names,
            Err(err) => {
                // A directory that nobody may list is a fact about each file in it.
                self.files
                    .insert(directory.to_owned(), Err(Unread::from(&err)));
                Vec::new()
            }
        };
        self.names.insert(directory.to_owned(), names.clone());
        names
    }

    fn read(&mut self, path: &str) {
        if self.files.contains_key(path) {
            return;
        }
        let limit = if LONG.contains(&path) {
            LONG_LIMIT
        } else {
            LIMIT
        };
        let reading = match path {
            "/proc/cpuinfo" => self.bytes(path, CPUINFO_HEAD, true),
            _ => self.bytes(path, limit, false),
        };
        let reading = reading.and_then(|bytes| match path {
            "/proc/config.gz" => config::gunzip(&bytes),
            _ => Ok(text(&bytes)),
        });
        // What is not there need not be kept: that is what nobody looked for, too.
        if reading != Err(Unread::Missing) {
            self.files.insert(path.to_owned(), reading);
        }
    }

    fn bytes(&self, path: &str, limit: usize, head: bool) -> Result<Vec<u8>, Unread> {
        match self.sys.read_up_to(path, limit) {
            Ok((_, true)) if !head => Err(Unread::TooLong { limit }),
            Ok((bytes, _)) => Ok(bytes),
            Err(err) => Err(Unread::from(&err)),
        }
    }

    fn debug_files(&mut self) {
        let locked = matches!(
            self.files.get("/sys/kernel/security/lockdown"),
            Some(Ok(text)) if !text.contains("[none]")
        );
        let why = match locked {
            true => "lockdown closes debugfs",
            false if debugfs::unseen(self.sys) == Some(debugfs::NOT_MOUNTED) => {
                debugfs::NOT_MOUNTED
            }
            false => {
                self.patterns(DEBUG_FILES);
                return;
            }
        };
        for pattern in DEBUG_FILES {
            for path in self.expand(pattern) {
                self.files.insert(path, Err(Unread::LeftAlone(why)));
            }
        }
    }

    fn config(&mut self) {
        let release = match self.files.get("/proc/sys/kernel/osrelease") {
            Some(Ok(release)) if !release.contains('/') => release.clone(),
            _ => String::new(),
        };
        for place in PLACES {
            let path = place.replace("{release}", &release);
            self.read(&path);
            if matches!(self.files.get(&path), Some(Ok(_))) {
                return;
            }
        }
    }

    /// Reads what the cgroups of this process allow it: real-time budget, CPUs and a quota of their time.
    fn own_groups(&mut self) {
        let Some(Ok(text)) = self.files.get("/proc/self/cgroup") else {
            return;
        };
        let text = text.clone();
        for controller in ["cpu", "cpuset"] {
            let groups = doctor::Groups::usual(&text, controller);
            let paths = match controller {
                "cpu" => {
                    let quotas = groups.quota_files().into_iter();
                    let quotas = quotas.flat_map(|(quota, period)| [Some(quota), period]);
                    groups
                        .budget_files()
                        .into_iter()
                        .chain(groups.controlled_files())
                        .chain(quotas.flatten())
                        .collect()
                }
                _ => groups.cpuset_files(),
            };
            // Then no silence of them says that there is no limit.
            let unseen = doctor::Groups::unseen(self.sys, &text, controller);
            for path in paths {
                match unseen {
                    Some(why) => drop(self.files.insert(path, Err(Unread::LeftAlone(why)))),
                    None => self.read(&path),
                }
            }
        }
    }

    /// Reads what is no text: the idle bound in force, and how often firmware took the CPU away.
    fn registers(&mut self) {
        let path = dma_latency::PLACE;
        let bound = self.bytes(path, 64, true).map(|bytes| match bytes[..] {
            [a, b, c, d] => i32::from_ne_bytes([a, b, c, d]).to_string(),
            // A capture has it as text.
            _ => text(&bytes),
        });
        self.files.insert(path.to_owned(), bound);
        let Some(cpu) = self.cpus.first().and_then(|cpu| cpu.parse().ok()) else {
            return;
        };
        let path = format!("/dev/cpu/{cpu}/msr");
        let cpuinfo = self.files.get("/proc/cpuinfo");
        let cpuinfo = cpuinfo.and_then(|r| r.as_ref().ok());
        let virt = cpuinfo.is_some_and(|text| text.split_whitespace().any(|w| w == "hypervisor"));
        let count = if virt {
            Err(Unread::LeftAlone("the machine is virtual"))
        } else {
            let count = msr::smi_count(self.sys, cpu);
            count
                .map(|n| n.to_string())
                .map_err(|err| Unread::from(&err))
        };
        self.files.insert(path, count);
    }
}

/// Returns bytes as text without final newlines. What is no text stays visible as such.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .trim_end_matches('\n')
        .to_owned()
}
