// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where the program may do less than elsewhere: cgroups, capabilities, limits, a tree without `/proc`. It says what is in the way.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Answer, Home, QUICK, finish, machine, program};

/// Runs the program by a line of the shell, in which it is `"$0" "$@"`.
fn by(home: &Home, line: &str, args: &[&str]) -> Answer {
    let mut command = Command::new("sh");
    command.args(["-c", line]).arg(program()).args(args);
    command.env("PUNCTUAL_HOME", home.store());
    finish(command)
}

/// A control group of version 1 or 2. Gone when this is dropped.
struct Group(PathBuf);

impl Group {
    /// Makes one of the controller `cpu` with these settings: files and values of version 1, or of version 2.
    fn with(name: &str, old: &[(&str, &str)], new: &[(&str, &str)]) -> Option<Self> {
        if !machine::root() {
            return None;
        }
        let name = format!("punctual-test-{name}-{}", std::process::id());
        let (v1, v2) = (Path::new("/sys/fs/cgroup/cpu"), Path::new("/sys/fs/cgroup"));
        let (root, settings) = match v1.join("cgroup.procs").exists() {
            true => (v1, old),
            false => (v2, new),
        };
        if settings.is_empty() || fs::create_dir(root.join(&name)).is_err() {
            return None;
        }
        let group = Self(root.join(name));
        let set = |(file, value): &(&str, &str)| fs::write(group.0.join(file), value).is_ok();
        settings.iter().all(set).then_some(group)
    }

    fn run(&self, home: &Home, args: &[&str]) -> Answer {
        let enter = format!(
            "echo $$ >{}/cgroup.procs; exec \"$0\" \"$@\"",
            self.0.display()
        );
        by(home, &enter, args)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            // Whoever was in it is going still.
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

#[test]
fn a_group_without_real_time_budget_is_named_and_no_privilege_is() {
    let Some(group) = Group::with("budget", &[("cpu.rt_runtime_us", "0")], &[]) else {
        return machine::skip("rt budget", "no group with a real-time budget can be made");
    };
    let home = Home::new();
    let reason = format!("{} has no real-time budget", group.0.display());
    for instrument in ["wakeup", "pi"] {
        let answer = group.run(&home, &["measure", instrument, "--duration=1s", "--quiet"]);
        answer.error(5, &[&reason, "cpu.rt_runtime_us"]).hinted();
        assert!(!answer.stderr.contains("sudo"), "{answer:#?}");
    }
    let answer = group.run(&home, &["assess", "--duration=2s", "--quiet"]);
    let words: Vec<&str> = answer.stdout.split_whitespace().collect();
    let text = words.join(" ");
    assert!(text.contains(&reason), "{text}");
    assert!(!text.contains("CAP_SYS_NICE"), "{text}");
}

#[test]
fn root_without_the_capability_is_told_what_gives_it() {
    if !machine::root() {
        return;
    }
    let home = Home::new();
    let without = "exec setpriv --bounding-set=-sys_nice --inh-caps=-sys_nice \"$0\" \"$@\"";
    let answer = by(&home, without, &["measure", "wakeup", "--samples=20"]);
    answer.error(5, &["root has no CAP_SYS_NICE", "--cap-add=SYS_NICE"]);
    assert!(!answer.stderr.contains("sudo"), "{answer:#?}");
}

#[test]
fn a_quota_that_held_threads_back_is_in_the_checks() {
    let old = [("cpu.cfs_quota_us", "20000")];
    let Some(group) = Group::with("quota", &old, &[("cpu.max", "20000 100000")]) else {
        return machine::skip("cpu quota", "no group with a CPU quota can be made");
    };
    let home = Home::new();
    let args = "measure wakeup --quiet --json --priority o --dma-latency off --mlock off \
                --samples 200 --load cpu:2";
    let args: Vec<&str> = args.split_whitespace().collect();
    let record = group.run(&home, &args).record();
    let checks = record["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["id"] == "cpu-quota");
    let check = check.unwrap_or_else(|| panic!("{checks:#?}"));
    let detail = check["detail"].as_str().unwrap();
    let quota = format!("{}, 20000 of each 100000 µs", group.0.display());
    assert!(detail.contains(&quota), "{detail}");
    // Where others leave it less than its quota, nothing was held back.
    let held_back = !detail.contains("used up in 0 of");
    assert_eq!(check["status"] == "fail", held_back, "{check:#}");
}

#[test]
fn where_no_descriptor_is_left_it_says_so() {
    let home = Home::new();
    // In a static program the id of a run was made from /dev/random, and that it could not be opened was a panic.
    for limit in 4..=9 {
        let line = format!("ulimit -n {limit}; exec \"$0\" \"$@\"");
        let answer = by(&home, &line, &QUICK);
        assert!([0, 1].contains(&answer.code()), "{limit}: {answer:#?}");
        let said = answer.stderr.contains("Too many open files");
        assert!(said || limit > 6, "{limit}: {answer:#?}");
    }
}

#[test]
fn a_file_that_may_not_become_so_large_is_an_error_and_nothing_is_left() {
    let home = Home::new();
    home.quick(&[]);
    let place = home.dir().join("pages");
    fs::create_dir(&place).unwrap();
    let page = place.join("page.html");
    let page = page.to_str().unwrap();
    let limited = "ulimit -f 32; exec \"$0\" \"$@\"";
    by(&home, limited, &["report", "last", "--output", page]).error(1, &[page, "File too large"]);
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
}

#[test]
fn without_proc_it_says_so_and_claims_no_lockdown() {
    if !machine::root() {
        return;
    }
    let home = Home::new();
    let without = "exec unshare --mount sh -c 'mount -t tmpfs none /sys/kernel && umount -l /proc && exec \
                   \"$0\" \"$@\"' \"$0\" \"$@\"";
    if !Command::new("unshare")
        .args(["--mount", "true"])
        .status()
        .is_ok_and(|s| s.success())
    {
        return machine::skip("unshare", "no namespace of mounts can be made");
    }
    let answer = by(&home, without, &["measure", "irq", "--duration=200ms"]);
    answer.error(5, &["trace the kernel", "/proc is not mounted"]);
    assert!(!answer.stderr.contains("locked down"), "{answer:#?}");
    let boot = "read /proc/sys/kernel/random/boot_id\n  caused by: ";
    by(&home, without, &["tune", "status"]).error(1, &[boot]);
    by(&home, without, &["load", "fork:1", "--duration=1s"]).error(1, &["/proc/self/exe"]);
}

/// A tree of `/proc/sys` that nobody can write to, as containers have it.
const READ_ONLY: &str = "mount --bind /proc/sys /proc/sys && mount -o remount,ro,bind /proc/sys";

/// Runs the program by `then` of the shell, in new namespaces after `set_up`.
fn apart(home: &Home, namespaces: &str, set_up: &str, then: &str, args: &[&str]) -> Answer {
    let line = format!(
        "exec unshare {namespaces} sh -c '{set_up} && exec {then} \"$0\" \"$@\"' \"$0\" \"$@\""
    );
    by(home, &line, args)
}

#[test]
fn a_command_is_not_run_in_a_machine_that_is_not_tuned_as_was_asked() {
    if !machine::root() {
        return;
    }
    let home = Home::alone();
    let state = home.dir().join("tune").display().to_string();
    let tune = |words: &[&str]| {
        let all: Vec<&str> = ["tune", words[0], "--state", &state]
            .into_iter()
            .chain(words[1..].iter().copied())
            .collect();
        apart(&home, "-m", READ_ONLY, "", &all)
    };
    let now = fs::read("/proc/sys/vm/swappiness").unwrap();
    let other = match now.as_slice() {
        b"61\n" => "vm.swappiness=62",
        _ => "vm.swappiness=61",
    };
    let why = ["set vm.swappiness", "Read-only file system"];
    let answer = tune(&["run", "--set", other, "--", "echo", "ran"]);
    assert_eq!(answer.error(5, &why).hinted().stdout, "");
    // The limit on idle states could be had.
    let some = ["run", "latency", "--set", other, "--", "echo", "ran"];
    assert_eq!(tune(&some).error(5, &why).stdout, "");
    let all_or_none = [
        "apply",
        "latency",
        "--only",
        "dma_latency",
        "--set",
        other,
        "--atomic",
    ];
    tune(&all_or_none).error(1, &why);
    tune(&["status"]).fine();
    assert!(tune(&["status"]).stdout.contains("nothing is changed"));
    let as_far_as_it_goes = ["apply", "latency", "--only", "dma_latency", "--set", other];
    let answer = tune(&as_far_as_it_goes);
    assert_eq!(answer.code(), 1, "{answer:#?}");
    assert!(
        answer.stdout.contains("vm.swappiness could not be set"),
        "{answer:#?}"
    );
    tune(&["revert"]).fine();
    assert_eq!(fs::read("/proc/sys/vm/swappiness").unwrap(), now);
}

#[test]
fn a_command_has_the_policy_and_the_niceness_that_it_was_started_with() {
    if !machine::root() {
        return;
    }
    let home = Home::alone();
    let state = home.dir().join("tune").display().to_string();
    let show = [
        "tune",
        "run",
        "--state",
        &state,
        "--set",
        "vm.swappiness=59",
        "--",
        "sh",
        "-c",
        "chrt -p $$; nice",
    ];
    let answer = by(&home, "exec chrt -r 3 nice -n 5 \"$0\" \"$@\"", &show);
    let said = &answer.fine().stdout;
    assert!(
        said.contains("SCHED_RR") && said.ends_with("priority: 3\n5\n"),
        "{answer:#?}"
    );
    assert!(!answer.stderr.contains("--priority"), "{answer:#?}");
    // A program that is watched has what it sets itself, whatever niceness a real-time policy came with.
    let watch = ["watch", "-q", "--", "sh", "-c", "chrt -p $$ >&2; sleep 0.1"];
    let answer = by(&home, "exec chrt -r 3 nice -n 5 \"$0\" \"$@\"", &watch);
    assert!(answer.stderr.contains("SCHED_OTHER"), "{answer:#?}");
    assert!(!answer.stderr.contains("Error: --priority"), "{answer:#?}");
}

#[test]
fn threads_are_not_looked_for_by_the_numbers_of_another_namespace() {
    if !machine::root() {
        return;
    }
    let home = Home::new();
    for args in [
        &["watch", "-q", "-D", "1s", "--", "sleep", "9"][..],
        &["measure", "irq", "-q", "-D", "1s"],
        &["measure", "wakeup", "--explain", "-q", "-D", "1s"],
    ] {
        let answer = apart(&home, "-pf --mount-proc", ":", "", args);
        answer.error(5, &["threads have other numbers", "--pid=host"]);
    }
}

#[test]
fn a_cpuset_narrower_than_that_of_others_is_no_setting_that_was_not_restored() {
    let root = Path::new("/sys/fs/cgroup/cpuset");
    let online = machine::read(Path::new("/sys/devices/system/cpu/online"));
    if !machine::root() || !root.join("tasks").exists() || online.as_deref() != Some("0-1\n") {
        return machine::skip("cpuset", "no cpuset of version 1 on a machine of two CPUs");
    }
    let home = Home::alone();
    let group = Group(root.join(format!("punctual-test-narrow-{}", std::process::id())));
    fs::create_dir(&group.0).unwrap();
    for (file, value) in [("cpuset.cpus", "1"), ("cpuset.mems", "0")] {
        fs::write(group.0.join(file), value).unwrap();
    }
    let state = home.dir().join("tune").display().to_string();
    let args = "isolate --yes --cpus 0 --only threads.affinity -- true";
    let all = ["tune", "run", "--state", &state]
        .into_iter()
        .chain(args.split(' '));
    let answer = group.run(&home, &all.collect::<Vec<_>>());
    assert!(!answer.stderr.contains("NOT RESTORED"), "{answer:#?}");
    answer.fine();
}

#[test]
fn of_a_container_only_its_own_group_is_seen() {
    let set = [("cpu.cfs_quota_us", "30000"), ("cpu.rt_runtime_us", "0")];
    let Some(group) = Group::with("seen", &set, &[]) else {
        return machine::skip("cgroup", "no group of version 1 with a quota and a budget");
    };
    let home = Home::aside();
    // As an engine does that gives a container no namespace of groups, and as one that does.
    let bound = format!("mount --bind {} /sys/fs/cgroup/cpu", group.0.display());
    let own = "mount -t tmpfs none /sys/fs/cgroup && mkdir /sys/fs/cgroup/cpu && \
               mount -t cgroup -o cpu none /sys/fs/cgroup/cpu";
    let enter = format!("echo $$ >{}/cgroup.procs", group.0.display());
    for (namespaces, mount) in [("--mount", &*bound), ("--mount --cgroup", own)] {
        let judged = |pid: &str| {
            let line = format!(
                "{enter}; exec unshare {namespaces} sh -c '{mount} && exec \"$0\" \"$@\" --pid={pid} --json' \"$0\" \"$@\""
            );
            let diagnosis = by(&home, &line, &["doctor"]).fine().json();
            let verdicts = diagnosis["processes"][0]["verdicts"].as_array().unwrap();
            ["cpu-quota", "real-time-refused"].map(|id| {
                let verdict = verdicts.iter().find(|v| v["rule"]["id"] == id).unwrap();
                verdict["outcome"].as_str().unwrap().to_owned()
            })
        };
        assert_eq!(judged("$$"), ["found", "found"], "{mount}");
        let outside = std::process::id().to_string();
        assert_eq!(judged(&outside), ["unknown", "unknown"], "{mount}");
        let line = format!(
            "{enter}; exec unshare {namespaces} sh -c '{mount} && exec \"$0\" \"$@\"' \"$0\" \"$@\""
        );
        let machine = by(&home, &line, &["doctor", "--json"]).fine().json();
        let verdicts = machine["verdicts"].as_array().unwrap();
        let budget = verdicts
            .iter()
            .find(|v| v["rule"]["id"] == "rt-group-budget");
        assert_eq!(budget.unwrap()["outcome"], "unknown", "{mount}");
        let system = "kernel.sched_rt_runtime_us=900000";
        let plan = by(&home, &line, &["tune", "plan", "--json", "--set", system]);
        let plan = plan.fine().json();
        assert_eq!(plan["steps"].as_array().unwrap().len(), 1, "{plan:#}");
    }
}

#[test]
fn without_sys_nothing_is_said_of_hardware_or_of_cpus() {
    if !machine::root() {
        return;
    }
    let home = Home::aside();
    let without = |args: &[&str]| apart(&home, "-m", "umount -l /sys", "", args);
    let answer = without(&["tune", "plan", "--set", "cpufreq.governor=performance"]);
    assert_eq!(answer.code(), 5, "{answer:#?}");
    for part in ["/sys is not mounted here", "CPUs unknown"] {
        assert!(answer.stdout.contains(part), "{part}: {answer:#?}");
    }
    let state = home.dir().join("tune").display().to_string();
    let off = [
        "tune",
        "run",
        "--state",
        &state,
        "--set",
        "kernel.sched_rt_runtime_us=-1",
        "--",
        "true",
    ];
    without(&off).error(1, &["which CPUs are online cannot be read"]);
}
