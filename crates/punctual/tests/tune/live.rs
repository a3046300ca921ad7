// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! This machine, as root: what is changed is read from outside, and afterwards everything reads as
//! before.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::common::machine::{self, Tmpfs};
use crate::common::{Answer, Home, QUICK, Running, finish, wait_until};

/// This machine, for one test at a time.
pub(crate) struct Live {
    home: Home,
}

impl Live {
    /// Returns this machine, if the tests run as root.
    pub(crate) fn new() -> Option<Self> {
        machine::root().then(|| Self {
            home: Home::alone(),
        })
    }

    /// Lets the next test have the machine: what is left only computes.
    pub(crate) fn gives_way(&mut self) {
        self.home.gives_way();
    }

    /// Returns a directory of the test's own.
    pub(crate) fn dir(&self) -> &Path {
        self.home.dir()
    }

    /// Returns the store of runs.
    pub(crate) fn store(&self) -> PathBuf {
        self.home.store()
    }

    /// Returns the directory of the journal.
    pub(crate) fn state(&self) -> PathBuf {
        self.home.dir().join("state")
    }

    /// Returns a command of the program.
    pub(crate) fn command<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = self.home.command(["tune"]);
        command.env("PUNCTUAL_TUNE_STATE", self.state()).args(args);
        command
    }

    /// Returns a command of the program that does not tune, but may find that someone did.
    pub(crate) fn program<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = self.home.command(args);
        command.env("PUNCTUAL_TUNE_STATE", self.state());
        command
    }

    /// Runs the program.
    pub(crate) fn tune(&self, args: &str) -> Answer {
        finish(self.command(args.split_whitespace()))
    }

    /// Lists the settings as the program knows them.
    pub(crate) fn knobs(&self) -> Vec<Value> {
        let list = self.tune("knobs --json").fine().json();
        list["knobs"].as_array().unwrap().clone()
    }

    /// Reads everything that tuning could have changed, without the program's help but for the list
    /// of files, and the CPUs of the kernel's threads.
    pub(crate) fn dump(&self) -> BTreeMap<String, String> {
        let mut found: BTreeMap<String, String> = self
            .knobs()
            .iter()
            .filter_map(|knob| {
                let path = knob["target"]["path"].as_str()?;
                Some((path.to_owned(), machine::read(Path::new(path))?))
            })
            // What all holders together ask for is a test of its own.
            .filter(|(path, _)| path != "/dev/cpu_dma_latency")
            .collect();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap_or_default();
            let comm = machine::read(&entry.path().join("comm")).unwrap_or_default();
            let status = |key| machine::status(entry.path().join("status"), key);
            // Kernel threads are children of kthreadd, which is 2. Workers come and go.
            if name.parse::<u32>().is_ok() && status("PPid") == "2" && !comm.starts_with("kworker/")
            {
                let cpus = status("Cpus_allowed_list");
                // This one ends and comes back as another, as huge pages are switched.
                let name = if comm.trim() == "khugepaged" {
                    "-"
                } else {
                    &name
                };
                found.insert(format!("{name} {}", comm.trim()), cpus);
            }
        }
        found
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // A test that failed must not leave this machine changed.
        // What a container applied that is just ending can be reverted in a moment.
        wait_until(|| self.tune("revert").code() != 5);
    }
}

/// Requires that nothing differs, but for threads of the kernel that are there at one of the two moments only: others have file
/// systems and guests, which come and go with such.
pub(crate) fn assert_same(
    now: &BTreeMap<String, String>,
    before: &BTreeMap<String, String>,
    when: &str,
) {
    let keys = now.keys().chain(before.keys());
    let is_setting = |key: &str| key.starts_with('/');
    let is_at_both = |key: &str| now.contains_key(key) && before.contains_key(key);
    let differ = keys
        .filter(|key| now.get(*key) != before.get(*key))
        .filter(|key| is_setting(key) || is_at_both(key));
    let differ: Vec<_> = differ
        .map(|key| (key, before.get(key), now.get(key)))
        .collect();
    assert!(
        differ.is_empty(),
        "{when}: (setting, before, now) {differ:#?}"
    );
}

fn read(path: &str) -> String {
    let text = machine::read(Path::new(path)).unwrap_or_default();
    text.trim().to_owned()
}

/// Returns a value to try, other than the present one: small steps, nothing that disturbs.
pub(crate) fn other_value(knob: &Value) -> Option<String> {
    let now = knob["value"].as_str()?;
    let words = |list: &[&str]| {
        list.iter()
            .find(|word| **word != now)
            .map(ToString::to_string)
    };
    let by_name = match knob["knob"].as_str()? {
        "cpu.online" | "clocksource" | "smt" | "cgroup.cpus" => return None,
        "kernel.sched_rt_runtime_us"
        | "kernel.sched_rt_period_us"
        | "cgroup.rt_runtime_us"
        | "cgroup.rt_period_us" => return None,
        "cpu.resume_latency_us" => words(&["100", "200"]),
        "kernel.printk" => words(&["3 4 1 7", "2 4 1 7"]),
        "kernel.sched_rr_timeslice_ms" => words(&["40", "80"]),
        "kernel.perf_cpu_time_max_percent" => words(&["30", "20"]),
        "kernel.randomize_va_space" => words(&["1", "2"]),
        "vm.min_free_kbytes" => words(&["70000", "65536"]),
        "vm.nr_hugepages" => words(&["2", "1"]),
        "vm.dirty_ratio" => words(&["25", "30"]),
        "ksm.run" | "kernel.numa_balancing" | "vm.zone_reclaim_mode" | "net.threaded" => {
            return None;
        }
        "block.rq_affinity" | "block.nomerges" => words(&["2", "1"]),
        "block.nr_requests" => words(&["128", "64"]),
        "block.read_ahead_kb" => words(&["256", "128"]),
        "net.rps_cpus" | "net.xps_cpus" => words(&["0", ""]),
        _ => None,
    };
    by_name.or_else(|| {
        if let Some(offered) = knob["choices"].as_array() {
            let mut offered = offered.iter().filter_map(Value::as_str);
            return offered.find(|word| *word != now).map(str::to_owned);
        }
        match now.parse::<i64>() {
            Ok(flag @ 0..=1) => Some((1 - flag).to_string()),
            Ok(number) => Some((number + 1).to_string()),
            // Masks and lists of CPUs; a machine with one CPU has no other.
            Err(_) => (now.contains('-') || now.contains(',')).then(|| "0".to_owned()),
        }
    })
}

#[test]
fn every_setting_that_can_be_written_is_and_comes_back() {
    let Some(live) = Live::new() else { return };
    let mut settings = Vec::new();
    for knob in live.knobs() {
        let name = knob["knob"].as_str().unwrap();
        let writable = knob["writable"]["answer"] == "yes";
        let Some(value) = other_value(&knob).filter(|_| writable) else {
            continue;
        };
        let full = match knob["instance"].as_str() {
            Some(instance) => format!("{name}@{instance}"),
            None => name.to_owned(),
        };
        settings.push(format!("{full}={value}"));
    }
    let before = live.dump();
    let options = settings.iter().flat_map(|setting| ["--set", setting]);
    let command = live.command(["apply", "--json"].into_iter().chain(options));
    let report = finish(command).json();
    let after = live.dump();
    let reverted = live.tune("revert --json").json();
    let back = live.dump();

    let steps = report["steps"].as_array().unwrap();
    let is = |step: &Value, what: &str| step["outcome"]["is"] == what;
    let mut applied = 0;
    for step in steps {
        // Settings that are only kept, and interrupts that cannot be moved, are fine.
        let moved = step["knob"] == "irq.affinity" && is(step, "refused");
        if step["new"].is_null() || moved {
            continue;
        }
        let taken = ["applied", "normalised", "already_so"]
            .iter()
            .any(|w| is(step, w));
        assert!(taken, "{step:#}");
        let path = step["target"]["path"].as_str().unwrap();
        if is(step, "applied") {
            assert_ne!(after[path], before[path], "{step:#}");
            applied += 1;
        }
    }
    assert!(applied >= 30, "{applied} of {}", settings.len());
    assert_eq!(reverted["complete"], true, "{reverted:#}");
    assert_same(&back, &before, "reverted");
}

#[test]
fn a_cpu_goes_offline_and_comes_back_with_what_was_bound_to_it() {
    let Some(live) = Live::new() else { return };
    let online = "/sys/devices/system/cpu/cpu1/online";
    if !Path::new(online).exists() {
        machine::skip("cpu1", "CPU 1 cannot be taken offline");
        return;
    }
    // One that sleeps all the time is not moved before it wakes up.
    let waking = "while :; do sleep 0.02; done";
    let mut bound = sleeper("taskset", &["-c", "1", "sh", "-c", waking]);
    let status = format!("/proc/{}/status", bound.id());
    let cpus = || machine::status(&status, "Cpus_allowed_list");
    assert!(wait_until(|| cpus() == "1"));
    let before = live.dump();
    let report = live
        .tune("apply --set cpu.online@1=off --json")
        .fine()
        .json();
    let now = read(online);
    let moved = wait_until(|| cpus() != "1");
    live.tune("revert").fine();
    assert_eq!((now.as_str(), read(online).as_str()), ("0", "1"));
    assert!(moved, "the kernel moved it");
    assert_eq!(cpus(), "1");
    assert_same(&live.dump(), &before, "reverted");
    let kept = report["steps"].as_array().unwrap().iter();
    assert!(
        kept.filter(|step| step["new"].is_null()).count() >= 1,
        "{report:#}"
    );
    end(&mut bound);
}

#[test]
fn interrupts_that_can_be_moved_are_and_the_others_are_facts() {
    let Some(live) = Live::new() else { return };
    let masks = || -> BTreeMap<String, String> {
        let irqs = fs::read_dir("/proc/irq").unwrap().flatten();
        irqs.map(|irq| irq.path().join("smp_affinity").display().to_string())
            .map(|path| (path.clone(), read(&path)))
            .filter(|(_, mask)| !mask.is_empty())
            .collect()
    };
    let before = masks();
    live.tune("apply --set irq.affinity=0 --set irq.default_affinity=0")
        .fine();
    let during = masks();
    live.tune("revert").fine();
    let moved = during.iter().filter(|(path, mask)| before[*path] != **mask);
    let moved: Vec<_> = moved.collect();
    let only_first = |mask: &str| mask.trim_start_matches(['0', ',']) == "1";
    assert!(moved.iter().all(|(_, mask)| only_first(mask)), "{moved:?}");
    assert!(!moved.is_empty(), "{before:?}");
    assert_eq!(masks(), before);
}

#[test]
fn the_budget_of_real_time_threads_is_set_with_its_control_group() {
    let Some(live) = Live::new() else { return };
    let group = "/sys/fs/cgroup/cpu/cpu.rt_runtime_us";
    let sysctl = "/proc/sys/kernel/sched_rt_runtime_us";
    let before = live.dump();
    if read(sysctl) != "950000" {
        machine::skip("rt", "the budget is not the kernel's default");
        return;
    }
    let has_group = Path::new(group).exists();
    let set = "kernel.sched_rt_runtime_us";
    for runtime in ["900000", "1000000", "100000"] {
        live.tune(&format!("apply --set {set}={runtime}")).fine();
        assert_eq!(read(sysctl), runtime);
        if has_group {
            assert_eq!(read(group), runtime);
        }
        live.tune("revert").fine();
        assert_eq!(read(sysctl), "950000");
    }
    let period = format!("{set}=475000 --set kernel.sched_rt_period_us=500000");
    live.tune(&format!("apply --set {period}")).fine();
    assert_eq!(read("/proc/sys/kernel/sched_rt_period_us"), "500000");
    live.tune("revert").fine();
    assert_same(&live.dump(), &before, "reverted");
    // A group above the machine's share is what the kernel refuses: then nothing stays.
    if has_group {
        let set = "--set vm.swappiness=11 --set cgroup.rt_runtime_us=960000";
        let answer = live.tune(&format!("apply --atomic {set}"));
        assert_eq!(answer.code(), 1, "{answer:?}");
        assert!(
            answer
                .stdout
                .contains("cgroup.rt_runtime_us could not be set"),
            "{answer:?}"
        );
        assert_same(&live.dump(), &before, "reverted");
        let answer = live.tune(&format!("apply {set}"));
        assert_eq!(answer.code(), 1, "{answer:?}");
        assert_eq!(read("/proc/sys/vm/swappiness"), "11");
        live.tune("revert").fine();
        assert_same(&live.dump(), &before, "reverted");
    }
}

/// Starts a process that sleeps.
fn sleeper(program: &str, args: &[&str]) -> Child {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).spawn().unwrap()
}

fn end(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn threads_move_and_what_they_start_meanwhile_moves_back_with_them() {
    let Some(live) = Live::new() else { return };
    if read("/sys/devices/system/cpu/online") == "0" {
        machine::skip("cpu1", "there is one CPU");
        return;
    }
    let started = live.home.dir().join("started");
    let script = format!(
        "while [ ! -e {0}.go ]; do sleep 0.05; done; sleep 10800 & echo $! >{0}; wait",
        started.display()
    );
    let mut parent = sleeper("sh", &["-c", &script]);
    let cpus = |pid: &str| machine::status(format!("/proc/{pid}/status"), "Cpus_allowed_list");
    let pid = parent.id().to_string();
    let all = cpus(&pid);
    live.tune(&format!("apply --set threads.affinity@{pid}=0"))
        .fine();
    assert_eq!(cpus(&pid), "0");
    fs::write(format!("{}.go", started.display()), "").unwrap();
    let child = || read(started.to_str().unwrap());
    assert!(wait_until(|| !child().is_empty()));
    let child = child();
    assert_eq!(cpus(&child), "0", "inherited");
    let report = live.tune("revert --json").fine().json();
    assert_eq!(cpus(&pid), all);
    assert_eq!(cpus(&child), all, "{report:#}");
    machine::signal("KILL", &child);
    end(&mut parent);
}

#[test]
fn a_bound_on_idle_latency_is_held_until_the_revert() {
    let Some(live) = Live::new() else { return };
    let Some(before) = machine::dma_latency() else {
        machine::skip("dma_latency", "there is no /dev/cpu_dma_latency");
        return;
    };
    live.tune("apply --set dma_latency=0us").fine();
    assert_eq!(machine::dma_latency(), Some(0));
    live.tune("revert").fine();
    assert!(machine::dma_latency_is_back(Some(before)));
    let answer = finish(live.command(["run", "--set", "dma_latency=0us", "--", "true"]));
    answer.fine();
    assert!(machine::dma_latency_is_back(Some(before)));
}

#[test]
fn a_full_disk_is_no_place_for_a_journal_and_nothing_is_changed() {
    let Some(live) = Live::new() else { return };
    let before = live.dump();
    let tmpfs = Tmpfs::mount(&live.state(), "64k");
    let fill = tmpfs.fill();
    for verb in [
        "apply --set vm.swappiness=11",
        "run --set vm.swappiness=11 -- true",
    ] {
        let answer = live.tune(verb);
        answer.error(1, &["No space left", "nothing was changed"]);
        assert_same(&live.dump(), &before, "reverted");
    }
    fs::remove_file(fill).unwrap();
    live.tune("apply --set vm.swappiness=11").fine();
    // A disk that fills up later is no matter: room for the rest was set aside.
    tmpfs.fill();
    live.tune("revert").fine();
    assert_same(&live.dump(), &before, "reverted");
}

#[test]
fn a_file_system_that_became_read_only_is_not_in_the_way_of_a_revert() {
    let Some(live) = Live::new() else { return };
    let before = live.dump();
    let tmpfs = Tmpfs::mount(&live.state(), "64k");
    live.tune("apply --set vm.swappiness=11").fine();
    tmpfs.make_read_only();
    let status = live.tune("status");
    assert!(status.stdout.contains("vm.swappiness"), "{status:#?}");
    let reverted = live.tune("revert");
    assert!(
        reverted.fine().stdout.contains("its journal stays"),
        "{reverted:#?}"
    );
    assert_same(&live.dump(), &before, "reverted");
}

#[test]
fn an_unprivileged_user_can_plan_and_nothing_else() {
    let Some(live) = Live::new() else { return };
    let copy = live.home.dir().join("punctual");
    let copied = Command::new("cp")
        .arg(crate::common::program())
        .arg(&copy)
        .status();
    assert!(copied.unwrap().success());
    let tune = |args: &[&str]| {
        use std::os::unix::process::CommandExt as _;
        let mut command = Command::new(&copy);
        command
            .arg("tune")
            .args(args)
            .env_clear()
            .stdin(Stdio::null());
        command.uid(65_534).gid(65_534);
        finish(command)
    };
    let plan = tune(&["plan", "--set", "vm.swappiness=11"]);
    assert!(plan.fine().stdout.contains("vm.swappiness"), "{plan:?}");
    let knobs = tune(&["knobs", "vm.swappiness"]);
    assert!(knobs.fine().stdout.contains("by root"), "{knobs:?}");
    // A knob that is more than a value is no unknown one.
    let knobs = tune(&["knobs", "irq.thread_policy"]);
    assert!(knobs.fine().stdout.contains("of each thread"), "{knobs:?}");
    tune(&["apply", "--set", "vm.swappiness=11"])
        .error(5, &["needs root"])
        .hinted();
    tune(&["revert"]).error(5, &["needs root"]);
    tune(&["run", "--", "true"]).error(5, &["needs root"]);
    tune(&["trial"]).error(5, &["needs root"]);
    tune(&["boot", "apply", "--cpus", "1", "--yes"]).error(5, &["needs root"]);
    tune(&["boot", "plan", "--cpus", "1"]).fine();
    // What is in effect only root can see, and the user's record does not say that it was nothing.
    live.tune("apply --set vm.swappiness=11").fine();
    let store = live.home.dir().join("users");
    std::fs::create_dir(&store).unwrap();
    std::os::unix::fs::chown(&store, Some(65_534), Some(65_534)).unwrap();
    let users = |args: &[&str]| {
        use std::os::unix::process::CommandExt as _;
        let mut command = Command::new(&copy);
        command.args(args).env_clear().env("PUNCTUAL_HOME", &store);
        command.stdin(Stdio::null()).uid(65_534).gid(65_534);
        finish(command)
    };
    let record = users(&QUICK).record();
    live.tune("revert").fine();
    assert!(record["host"].get("tuning").is_none(), "{record}");
    assert_eq!(record["host"]["tuning_unknown"], "only root can see it");
    let shown = users(&["runs", "show"]);
    assert!(
        shown
            .fine()
            .stdout
            .contains("Tuned     unknown: only root can see it"),
        "{shown:?}"
    );
}

#[test]
fn a_journal_in_another_directory_is_no_second_tuner() {
    let Some(live) = Live::new() else { return };
    let running =
        Running::start(live.command(["run", "--set", "vm.swappiness=11", "--", "sleep", "10800"]));
    let is = || read("/proc/sys/vm/swappiness") == "11";
    assert!(wait_until(is));
    let elsewhere = live.home.dir().join("elsewhere");
    let mut command = live.command(["apply", "--set", "vm.stat_interval=2"]);
    command.env("PUNCTUAL_TUNE_STATE", elsewhere);
    finish(command).error(1, &["another process is tuning"]);
    running.signal("TERM");
    running.wait();
}
