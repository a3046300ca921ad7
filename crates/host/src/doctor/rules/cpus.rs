// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What shares the judged CPUs with real-time work, and whether others are left for it.

use punctual_model::{CpuSet, Evidence, Ordered as _, Severity};

use super::super::case::{
    Answer, Boot, Case, Entry, Fix, NotKnown, Seen, evidence, fine, found, found_if, named,
    not_applicable, unread,
};
use super::super::groups::Groups;
use super::super::parse::{cpu_list, status};
use super::NOT_APART;
use super::scheduling::release;
use crate::machine::{CPU, Unread};

pub(super) const RULES: &[Entry] = &[
    Entry {
        id: "cpus-allowed",
        severity: Severity::High,
        title: "what is started from here cannot run on all judged CPUs",
        why: "The cpuset of this process does not have them, and a program cannot leave it by taskset or \
              sched_setaffinity.",
        fix: "start it from a cgroup or service that has these CPUs (AllowedCPUs=)",
        by: &[Fix::Setup],
        source: "cpuset(7); Linux Documentation/admin-guide/cgroup-v2.rst (cpuset)",
        check: cpus_allowed,
    },
    Entry {
        id: "housekeeping",
        severity: Severity::Info,
        title: "no CPU is set apart for real-time work",
        why: "Interrupts, kernel threads and ordinary programs share every CPU with real-time work; a \
              real-time thread that does not sleep can starve what its own CPU needs.",
        fix: "keep some CPUs for real-time work and the others for the rest (isolcpus=, or a cpuset \
              partition), and name the former with --cpus",
        by: &[Fix::Boot],
        source: "Linux Documentation/core-api/real-time/hardware.rst; timers/no_hz.rst",
        check: housekeeping,
    },
    Entry {
        id: "isolation",
        severity: Severity::Medium,
        title: "the scheduler puts other work on the judged CPUs",
        why: "Load balancing moves ordinary threads there; each costs a switch, cold caches and, with \
              them, the kernel work that they cause.",
        fix: "a cpuset partition of type isolated (cgroup v2) does it while the system runs, for what is put into its \
              group and nothing else; isolcpus=domain,managed_irq,LIST at boot",
        by: &[Fix::Tune("cgroup.partition=isolated"), Fix::Boot],
        source: "Linux Documentation/admin-guide/kernel-parameters.txt (isolcpus=); cgroup-v2.rst \
                 (cpuset.cpus.partition)",
        check: isolation,
    },
    Entry {
        id: "nohz-full",
        severity: Severity::Low,
        title: "the scheduler tick interrupts computing threads on the judged CPUs",
        why: "A thread that computes without sleeping is interrupted HZ times a second.",
        fix: "boot with nohz_full= for these CPUs; not for threads with short sleep-wake cycles, \
              since it makes every kernel entry and exit more expensive",
        by: &[Fix::Boot],
        source: "Linux Documentation/timers/no_hz.rst; core-api/real-time/kernel-configuration.rst",
        check: nohz_full,
    },
    Entry {
        id: "rcu-nocbs",
        severity: Severity::Low,
        title: "RCU callbacks run on the judged CPUs",
        why: "Memory that other work queued for freeing is freed there in softirq context, in batches.",
        fix: "boot with rcu_nocbs= for these CPUs (nohz_full= does it too)",
        by: &[Fix::Boot],
        source: "Linux Documentation/admin-guide/kernel-per-CPU-kthreads.rst",
        check: rcu_nocbs,
    },
    Entry {
        id: "kernel-threads",
        severity: Severity::Medium,
        title: "new kernel threads may run on the judged CPUs",
        why: "The kernel starts unbound threads whenever it needs one, and they may run on every CPU that nothing \
              keeps them from. Only Linux 6.14 to 6.19 start them on the CPUs of kthreadd.",
        fix: "boot with nohz_full= (Linux 5.9 and newer) and isolcpus= (7.0 and newer). The setting of tune moves \
              kthreadd and the unbound threads that are there; except on 6.14 to 6.19, apply it again for those that \
              come later",
        by: &[Fix::Tune("kthreads.affinity=housekeeping"), Fix::Boot],
        source: "Linux Documentation/admin-guide/kernel-per-CPU-kthreads.rst; kernel/kthread.c, \
                 kernel/sched/isolation.c",
        check: kernel_threads,
    },
    Entry {
        id: "services",
        severity: Severity::Medium,
        title: "services may run on the judged CPUs",
        why: "Everything that the first process starts inherits its CPUs, unless told otherwise.",
        fix: "CPUAffinity= in systemd's system.conf, or AllowedCPUs= of system.slice and user.slice; \
              isolcpus= does it at boot",
        by: &[
            Fix::Tune("threads.affinity=housekeeping"),
            Fix::Tune("cgroup.cpus=housekeeping"),
            Fix::Setup,
            Fix::Boot,
        ],
        source: "systemd-system.conf(5), systemd.resource-control(5)",
        check: services,
    },
    Entry {
        id: "cpu0",
        severity: Severity::Low,
        title: "CPU 0 is meant for real-time work",
        why: "The kernel keeps time, boots devices and serves unmoved interrupts there, and it cannot be \
              made free of the tick.",
        fix: "use other CPUs",
        by: &[Fix::Setup],
        source: "Linux Documentation/timers/no_hz.rst",
        check: cpu0,
    },
    Entry {
        id: "smt",
        severity: Severity::Medium,
        title: "judged CPUs share their core with another CPU",
        why: "Two hardware threads compete for the same execution units and L1 caches: each runs \
              slower, by an amount that depends on what the other does.",
        fix: "take the siblings offline, boot with nosmt, or switch SMT off in the firmware",
        by: &[
            Fix::Tune("cpu.online@siblings=off"),
            Fix::Tune("smt=off"),
            Fix::Boot,
            Fix::Firmware,
        ],
        source: "Linux Documentation/ABI/testing/sysfs-devices-system-cpu (smt)",
        check: smt,
    },
    Entry {
        id: "shared-cache",
        severity: Severity::Info,
        title: "the last-level cache is shared with other CPUs",
        why: "Work on those CPUs evicts data from it, and the next access goes to memory.",
        fix: "partition the cache with resctrl where the processor supports it; otherwise keep the \
              working set within L2",
        by: &[Fix::Setup],
        source: "Linux Documentation/core-api/real-time/hardware.rst; filesystems/resctrl.rst",
        check: shared_cache,
    },
    Entry {
        id: "numa-span",
        severity: Severity::Low,
        title: "the judged CPUs are on several NUMA nodes",
        why: "Memory on another node is slower to access, and so are locks shared between nodes.",
        fix: "choose CPUs of one node, preferably the node of the device in question",
        by: &[Fix::Setup],
        source: "Linux Documentation/admin-guide/mm/numaperf.rst",
        check: numa_span,
    },
    Entry {
        id: "unequal-cpus",
        severity: Severity::Low,
        title: "the judged CPUs differ in speed",
        why: "The same thread takes longer on one than on another, so a time measured on one says little \
              about the other.",
        fix: "choose CPUs of one kind, and pin threads to them",
        by: &[Fix::Setup],
        source: "Linux Documentation/scheduler/sched-capacity.rst",
        check: unequal_cpus,
    },
];

fn cpus_allowed(case: &Case<'_>) -> Answer {
    let groups = case.text("/proc/self/cgroup")?;
    for path in Groups::usual(groups.value, "cpuset").cpuset_files() {
        let Some(allowed) = case.value_if::<CpuSet>(&path)? else {
            continue;
        };
        let missing = case.cpus.without(&allowed.value);
        if missing.is_empty() {
            return fine("the cpuset of this shell has the judged CPUs", &allowed);
        }
        let left = case.cpus.common(&allowed.value);
        let reach = match left.is_empty() {
            true => "none is within reach".to_owned(),
            false => format!("within reach: {}", named(&left)),
        };
        return found(
            format!("out of reach: {}; {reach}", named(&missing)),
            &allowed,
        );
    }
    not_applicable("no cpuset limits this process")
}

fn housekeeping(case: &Case<'_>) -> Answer {
    let online = case.text(&format!("{CPU}/online"))?.evidence();
    if case.online.len() < 2 {
        return not_applicable("there is only one CPU");
    }
    if case.apart() {
        let left = case.online.without(&case.cpus);
        return fine(format!("left: {}", named(&left)), vec![online]);
    }
    found(format!("all CPUs, {}, are judged", case.cpus), vec![online])
}

fn isolation(case: &Case<'_>) -> Answer {
    if !case.apart() {
        return not_applicable(NOT_APART);
    }
    let Isolated {
        cpus,
        looked_at,
        has_partitions,
    } = Isolated::read(case)?;
    let open = case.cpus.without(&cpus);
    if open.is_empty() {
        return fine("the scheduler leaves the judged CPUs alone", looked_at);
    }
    // Where nothing says what a partition has isolated, it would be found all the same.
    let useless: &[&str] = match has_partitions {
        true => &[],
        false => &["cgroup.partition"],
    };
    Ok(found(format!("not isolated: {}", named(&open)), looked_at)?.useless(useless))
}

/// The CPUs that the scheduler leaves alone, by boot or by partitions.
struct Isolated {
    cpus: CpuSet,
    looked_at: Vec<Evidence>,
    /// Whether the kernel says which CPUs are in isolated partitions.
    has_partitions: bool,
}

impl Isolated {
    fn read(case: &Case<'_>) -> Result<Self, NotKnown> {
        let (mut cpus, mut looked_at) = match case.value_if::<CpuSet>(&format!("{CPU}/isolated"))? {
            Some(seen) => (seen.value.clone(), vec![seen.evidence()]),
            // Before 4.2 there is no such file.
            None => {
                let boot = case.boot()?;
                let given = boot.find("isolcpus").map_or("", |(_, value)| value);
                let cpus = given
                    .split(',')
                    .filter(|part| part.starts_with(|c: char| c.is_ascii_digit()));
                let list = cpus.collect::<Vec<_>>().join(",");
                let basis = match given {
                    "" => vec![Boot::without("isolcpus=")],
                    _ => boot.evidence(&["isolcpus"]),
                };
                (list.parse().unwrap_or_default(), basis)
            }
        };
        let listed = case.value_if::<CpuSet>("/sys/fs/cgroup/cpuset.cpus.isolated")?;
        let partitions = match &listed {
            Some(seen) => vec![(seen.value.clone(), seen.evidence())],
            None => isolated_groups(case)?,
        };
        for (isolated, basis) in partitions {
            looked_at.push(basis);
            cpus = cpus.iter().chain(isolated.iter()).collect();
        }
        Ok(Self {
            cpus,
            looked_at,
            has_partitions: listed.is_some() || says_each_group(case),
        })
    }
}

/// What a group of version 2 says of its own partition. The root has no such file.
const PARTITION: &str = "/cpuset.cpus.partition";

/// Returns the CPUs of the isolated partitions that are not within others, as Linux 6.1 to 6.7 say it of each group: there is no
/// list of all.
fn isolated_groups(case: &Case<'_>) -> Result<Vec<(CpuSet, Evidence)>, NotKnown> {
    let mut groups = Vec::new();
    for kind in case.files("/sys/fs/cgroup/", PARTITION)? {
        // `isolated invalid (...)` is none.
        if kind.value.trim() == "isolated" {
            let group = kind.path.trim_end_matches(PARTITION);
            let cpus = case.value::<CpuSet>(&format!("{group}/cpuset.cpus.effective"))?;
            groups.push((cpus.value.clone(), kind.evidence()));
        }
    }
    Ok(groups)
}

/// Whether the kernel has isolated partitions without a list of them, and the root of all groups is what is seen.
fn says_each_group(case: &Case<'_>) -> bool {
    let there = |file: &str| case.machine.read(&format!("/sys/fs/cgroup{file}")).is_ok();
    let release = case.machine.version();
    release.is_some_and(|release| ((6, 1)..(6, 8)).contains(&release))
        && there("/cpuset.cpus.effective")
        && !there(PARTITION)
}

fn nohz_full(case: &Case<'_>) -> Answer {
    if !case.apart() {
        return not_applicable(NOT_APART);
    }
    // Without the option the file is not there, and another rule says so.
    let Some(full) = full(case)? else {
        return not_applicable("the kernel cannot, see nohz-full-built");
    };
    let open = case.cpus.without(&full.value);
    if open.is_empty() {
        return fine(
            "no tick on the judged CPUs while a single thread computes",
            &full,
        );
    }
    found(format!("not in nohz_full: {}", named(&open)), &full)
}

/// Returns the CPUs without a tick as the kernel has taken them; nothing where it cannot.
fn full(case: &Case<'_>) -> Result<Option<Seen<CpuSet>>, NotKnown> {
    let Some(seen) = case.text_if(&format!("{CPU}/nohz_full"))? else {
        return Ok(None);
    };
    // Kernels print "(null)" where no CPU was named.
    let full = case.parsed(&seen, |text| match text.trim() {
        "(null)" => Some(CpuSet::default()),
        list => list.parse::<CpuSet>().ok(),
    })?;
    Ok(Some(full))
}

fn rcu_nocbs(case: &Case<'_>) -> Answer {
    if !case.apart() {
        return not_applicable(NOT_APART);
    }
    let boot = case.boot()?;
    let config = case.config()?;
    if !config.has("RCU_NOCB_CPU") {
        return not_applicable("the kernel cannot, see rcu-nocb-built");
    }
    let full = full(case)?;
    let mut relieved = full
        .as_ref()
        .map_or_else(CpuSet::default, |seen| seen.value.clone());
    let given = boot.find("rcu_nocbs");
    if config.has("RCU_NOCB_CPU_DEFAULT_ALL") && given.is_none() && relieved.is_empty() {
        return fine(
            "callbacks are offloaded from all CPUs",
            vec![config.evidence("RCU_NOCB_CPU_DEFAULT_ALL")],
        );
    }
    let mut looked_at = match given {
        Some(_) => boot.evidence(&["rcu_nocbs"]),
        None => vec![Boot::without("rcu_nocbs=")],
    };
    if let Some((word, list)) = given {
        let possible = case.value_if::<CpuSet>(&format!("{CPU}/possible"))?;
        let last = possible.and_then(|possible| possible.value.iter().last());
        let Some(nocbs) = cpu_list(list, last) else {
            let odd = Unread::Odd(word.chars().take(40).collect());
            return Err(NotKnown(vec![unread("/proc/cmdline", &odd)]));
        };
        relieved = relieved.iter().chain(nocbs.iter()).collect();
    }
    looked_at.extend(full.map(|seen| seen.evidence()));
    let open = case.cpus.without(&relieved);
    if open.is_empty() {
        return fine("RCU callbacks run on other CPUs", looked_at);
    }
    found(format!("not offloaded: {}", named(&open)), looked_at)
}

/// Kernels that start unbound threads where kthreadd may run. Older ones set the affinity of each anew
/// (kernel/kthread.c), and so do newer ones.
const INHERITING: std::ops::Range<(u32, u32)> = (6, 14)..(7, 0);

fn kernel_threads(case: &Case<'_>) -> Answer {
    if !case.apart() {
        return not_applicable(NOT_APART);
    }
    if case.text("/proc/2/comm")?.value != "kthreadd" {
        return not_applicable("process 2 is not kthreadd: this is a container");
    }
    let (allowed, may_run) = allowed(case, "/proc/2/status")?;
    let release = release(case)?;
    // Before 5.9 an unbound thread may run everywhere; 7.0 goes by the isolated domains alone.
    let (kept, mut looked_at) = match release {
        (7.., _) => {
            let isolated = Isolated::read(case)?;
            (isolated.cpus, isolated.looked_at)
        }
        release if release >= (5, 9) => full(case)?.map_or_else(Default::default, |full| {
            (full.value.clone(), vec![full.evidence()])
        }),
        _ => Default::default(),
    };
    looked_at.push(may_run);
    let open = case.cpus.without(&kept);
    if open.is_empty() {
        return fine("the kernel keeps its unbound threads off", looked_at);
    }
    let shared = open.common(&allowed);
    if !shared.is_empty() {
        return found(
            format!(
                "kthreadd, and what it starts, may run on {}",
                named(&shared)
            ),
            looked_at,
        );
    }
    if INHERITING.contains(&release) {
        return fine("kthreadd may not run there", looked_at);
    }
    let (major, minor) = release;
    let says = format!(
        "threads of kernel {major}.{minor} do not inherit the CPUs of kthreadd: new ones may run on {}",
        named(&open)
    );
    Ok(found(says, looked_at)?.useless(&["kthreads.affinity"]))
}

fn services(case: &Case<'_>) -> Answer {
    if !case.apart() {
        return not_applicable(NOT_APART);
    }
    let (allowed, looked_at) = allowed(case, "/proc/1/status")?;
    let shared = case.cpus.common(&allowed);
    if shared.is_empty() {
        return fine("the first process may not run there", vec![looked_at]);
    }
    let says = format!(
        "the first process, and what it starts, may run on {}",
        named(&shared)
    );
    found(says, vec![looked_at])
}

/// Returns the CPUs that a process may use.
fn allowed(case: &Case<'_>, path: &str) -> Result<(CpuSet, Evidence), NotKnown> {
    let seen = case.text(path)?;
    let list = case.parsed(&seen, |text| {
        let allowed = status(text, "Cpus_allowed_list")?;
        Some((allowed, allowed.parse::<CpuSet>().ok()?))
    })?;
    let (text, allowed) = list.value;
    Ok((
        allowed,
        evidence(path, format!("Cpus_allowed_list: {text}")),
    ))
}

fn cpu0(case: &Case<'_>) -> Answer {
    if !case.apart() {
        return not_applicable(NOT_APART);
    }
    if case.cpus.contains(0) {
        let online = evidence(format!("{CPU}/online"), case.online.to_string());
        return found(format!("it is among {}", case.cpus), vec![online]);
    }
    fine("CPU 0 is not judged", Vec::new())
}

fn smt(case: &Case<'_>) -> Answer {
    let files = case.each_cpu("topology/thread_siblings_list")?;
    if files.is_empty() {
        return not_applicable("the kernel does not report the core topology");
    }
    let mut sharing = Vec::new();
    let mut looked_at = Vec::new();
    let mut cpus = Vec::new();
    for (cpu, seen) in files {
        let siblings = case.parsed(&seen, |text| text.parse::<CpuSet>().ok())?;
        looked_at.push(siblings.evidence());
        if siblings.value.common(&case.online).len() > 1 {
            cpus.push(cpu);
            sharing.push(siblings.evidence());
        }
    }
    let list: CpuSet = cpus.into_iter().collect();
    found_if(
        sharing,
        named(&list),
        "each judged CPU has a core to itself",
        looked_at,
    )
}

fn shared_cache(case: &Case<'_>) -> Answer {
    if !case.apart() {
        return not_applicable(NOT_APART);
    }
    let files = case.each_cpu("cache/index3/shared_cpu_list")?;
    if files.is_empty() {
        return not_applicable("there is no L3 cache, or the kernel does not report it");
    }
    let mut sharing = Vec::new();
    let mut others = Vec::new();
    for (_, seen) in files {
        let users = case.parsed(&seen, |text| text.parse::<CpuSet>().ok())?;
        let foreign = users.value.common(&case.online).without(&case.cpus);
        if !foreign.is_empty() {
            others.extend(foreign.iter());
            sharing.push(users.evidence());
        }
    }
    if let Ok(Some(schemata)) = case.text_if("/sys/fs/resctrl/schemata") {
        sharing.push(schemata.evidence());
    }
    let others: CpuSet = others.into_iter().collect();
    if others.is_empty() {
        return fine("no other CPU shares the last-level cache", sharing);
    }
    found(format!("with {}", named(&others)), sharing)
}

fn numa_span(case: &Case<'_>) -> Answer {
    let mut used = Vec::new();
    for seen in case.files("/sys/devices/system/node/", "/cpulist")? {
        let cpus = case.parsed(&seen, |text| text.parse::<CpuSet>().ok())?;
        // Of emulated nodes (numa=fake) each has the same CPUs.
        if !case.cpus.is_empty() && case.cpus.without(&cpus.value).is_empty() {
            return fine("the judged CPUs are on one NUMA node", &cpus);
        }
        if !cpus.value.common(&case.cpus).is_empty() {
            used.push(cpus.evidence());
        }
    }
    match used.len() {
        0 => not_applicable("the kernel reports no NUMA nodes"),
        1 => fine("the judged CPUs are on one NUMA node", used),
        n => found(format!("they span {n} nodes"), used),
    }
}

fn unequal_cpus(case: &Case<'_>) -> Answer {
    let kinds = [("cpu_core", "performance"), ("cpu_atom", "efficiency")];
    let mut used = Vec::new();
    for (name, kind) in kinds {
        let path = format!("/sys/devices/{name}/cpus");
        if let Some(cpus) = case.value_if::<CpuSet>(&path)?
            && !cpus.value.common(&case.cpus).is_empty()
        {
            used.push((kind, cpus.evidence()));
        }
    }
    if used.len() > 1 {
        let evidence: Vec<_> = used.into_iter().map(|(_, evidence)| evidence).collect();
        return found("some are performance and some efficiency cores", evidence);
    }
    let capacities: Vec<_> = capacities(case)?;
    let (least, most) = (
        capacities.iter().map(|c| c.0).min(),
        capacities.iter().map(|c| c.0).max(),
    );
    let (Some(least), Some(most)) = (least, most) else {
        return match used.pop() {
            Some((kind, evidence)) => fine(format!("all are {kind} cores"), vec![evidence]),
            None => not_applicable("the kernel reports no CPU types"),
        };
    };
    if least == most {
        return fine(format!("each has the capacity {most}"), Vec::new());
    }
    // One of each kind says it.
    let mut kinds = capacities;
    kinds.order_by_key(|(capacity, _)| *capacity);
    kinds.dedup_by_key(|(capacity, _)| *capacity);
    let evidence: Vec<_> = kinds.into_iter().map(|(_, evidence)| evidence).collect();
    found(
        format!("capacities are from {least} to {most} of 1024"),
        evidence,
    )
}

fn capacities(case: &Case<'_>) -> Result<Vec<(i64, Evidence)>, NotKnown> {
    let files = case.each_cpu("cpu_capacity")?;
    files
        .iter()
        .map(|(_, seen)| {
            let capacity = case.parsed(seen, |text| text.parse::<i64>().ok())?;
            Ok((capacity.value, capacity.evidence()))
        })
        .collect()
}
