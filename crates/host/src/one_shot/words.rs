// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The candidate's command line, and what it does when the candidate fails.

use punctual_model::OneShotPlan;
use punctual_sys::SysRoot;

use super::{Initrd, MARK, Watchdog, Wish, fallback, refusal};

/// Where the kernel lists its watchdogs.
const WATCHDOGS: &str = "/sys/class/watchdog";
/// The kernel panics when a CPU does not schedule, does not take interrupts, or a thread waits for ever
/// (Documentation/admin-guide/kernel-parameters.txt).
const STUCK: [&str; 3] = [
    "softlockup_panic=1",
    "nmi_watchdog=panic,1",
    "hung_task_panic=1",
];

/// Returns the command line, and says in `plan` what is wrong with it.
pub(super) fn arguments(sys: &SysRoot, wish: &Wish, plan: &mut OneShotPlan) -> Vec<String> {
    let line = sys.read("/proc/cmdline").unwrap_or_default();
    if line.trim().is_empty() {
        let hint = "the candidate gets what the running kernel has";
        plan.refusals
            .push(refusal("/proc/cmdline cannot be read".to_owned(), hint));
    }
    // What the loader or this program adds, it adds again.
    let ours = |word: &&str| {
        let name = word.split('=').next().unwrap_or_default();
        !["BOOT_IMAGE", "initrd", "panic", MARK].contains(&name)
    };
    let (kernel, mut init) = parts(&line);
    let mut words: Vec<String> = kernel.into_iter().filter(ours).map(str::to_owned).collect();
    let append = wish.append.join(" ");
    let (kernel, more) = parts(&append);
    words.extend(kernel.into_iter().map(str::to_owned));
    init.extend(more);
    words.push(format!("panic={}", wish.panic_s));
    if wish.panic_when_stuck {
        words.extend(STUCK.map(str::to_owned));
    }
    if is_dracut(sys) {
        // Its emergency shell would wait for somebody.
        words.extend(["rd.shell=0", "rd.emergency=reboot"].map(str::to_owned));
    }
    words.extend(watchdog_words(sys, wish, plan));
    words.push(format!("{MARK}={}", wish.id));
    needs_initrd(&words, wish, plan);
    if !init.is_empty() {
        words.push("--".to_owned());
        words.extend(init.into_iter().map(str::to_owned));
    }
    let odd = words
        .iter()
        .find(|word| word.contains(['"', '\'', '\\']) || word.contains(char::is_control));
    if let Some(odd) = odd {
        plan.refusals.push(refusal(
            format!("the argument {odd} has quotes or a backslash, which boot loaders do not pass on unchanged"),
            "boot the machine without it, or leave it out of --append",
        ));
    }
    words
}

/// Splits a command line into the words for the kernel and those behind the first `--`, which it passes on to init.
fn parts(line: &str) -> (Vec<&str>, Vec<&str>) {
    let mut words = line.split_whitespace();
    let kernel = words.by_ref().take_while(|word| *word != "--").collect();
    (kernel, words.collect())
}

/// Only what runs in an initial RAM file system finds a file system by its name.
fn needs_initrd(words: &[String], wish: &Wish, plan: &mut OneShotPlan) {
    let root = words
        .iter()
        .rev()
        .find_map(|word| word.strip_prefix("root="));
    let named = root.filter(|root| {
        ["UUID=", "LABEL=", "/dev/mapper/", "/dev/disk/", "ZFS="]
            .iter()
            .any(|kind| root.starts_with(kind))
    });
    match (&wish.initrd, named) {
        (Initrd::None, Some(root)) => plan.refusals.push(refusal(
            format!("without an initial RAM file system the kernel cannot find root={root}"),
            "give it one with --initrd FILE or --make-initrd, or name the partition, as in --append root=PARTUUID=...",
        )),
        (Initrd::None, None) => plan.warnings.push(
            "without an initial RAM file system the kernel needs the drivers of its disk and of \
             its root file system built in"
                .to_owned(),
        ),
        _ => {}
    }
    let installed = wish.modules.is_some();
    if matches!(wish.initrd, Initrd::MadeBy(_)) && !installed {
        plan.warnings.push(format!(
            "no --modules: the initial RAM file system gets what is in /lib/modules/{}",
            wish.release
        ));
    }
}

fn is_dracut(sys: &SysRoot) -> bool {
    ["/usr/bin/dracut", "/usr/lib/dracut"]
        .iter()
        .any(|path| sys.exists(path))
}

/// Whether systemd is the first process, which takes the watchdog's arguments.
fn is_systemd(sys: &SysRoot) -> bool {
    sys.exists("/run/systemd/system")
}

/// Returns the watchdogs that the running kernel knows.
fn watchdogs(sys: &SysRoot) -> Vec<String> {
    let names = sys.names(WATCHDOGS).unwrap_or_default();
    let all = names.into_iter().map(|name| {
        let identity = sys.read(&format!("{WATCHDOGS}/{name}/identity"));
        identity.map_or(name, |identity| identity.trim().to_owned())
    });
    all.collect()
}

fn seconds(sys: &SysRoot, watchdog: Watchdog) -> Option<u32> {
    match watchdog {
        Watchdog::Seconds(seconds) => Some(seconds),
        Watchdog::IfThere(seconds) => {
            (is_systemd(sys) && !watchdogs(sys).is_empty()).then_some(seconds)
        }
        Watchdog::Off => None,
    }
}

fn watchdog_words(sys: &SysRoot, wish: &Wish, plan: &mut OneShotPlan) -> Option<String> {
    let seconds = seconds(sys, wish.watchdog)?;
    if !is_systemd(sys) {
        plan.warnings.push(
            "the watchdog is started by systemd, which does not run here: have your init open \
             /dev/watchdog"
                .to_owned(),
        );
    }
    if watchdogs(sys).is_empty() {
        plan.warnings.push(format!(
            "the running kernel has no watchdog in {WATCHDOGS}; the candidate may or may not find one"
        ));
    }
    Some(format!("systemd.watchdog_sec={seconds}"))
}

/// Says what brings the machine back from a kernel that fails.
pub(super) fn fallbacks(sys: &SysRoot, wish: &Wish, plan: &mut OneShotPlan) {
    let panic = match wish.panic_s {
        0 => None,
        seconds => Some(format!(
            "panic={seconds}: the kernel restarts the machine after {seconds} s"
        )),
    };
    plan.falls_back.push(fallback(
        "the kernel panics, for example because it finds no root or no init",
        panic,
    ));
    let armed = seconds(sys, wish.watchdog);
    let stuck = wish.panic_when_stuck;
    let watched = armed.map(|seconds| {
        let names = watchdogs(sys).join(", ");
        let names = if names.is_empty() {
            "a watchdog, if there is one"
        } else {
            &names
        };
        format!("{names}: restarts it after {seconds} s, once systemd has opened it")
    });
    plan.falls_back.push(fallback(
        "the kernel hangs before the first program runs",
        None,
    ));
    let way =
        watched.or_else(|| stuck.then(|| "its own lockup detectors, if they still run".to_owned()));
    if way.is_none() {
        plan.warnings.push(
            "nothing restarts the machine when the candidate hangs: no hardware watchdog is known \
             (or --watchdog off was given); --panic-when-stuck detects some hangs"
                .to_owned(),
        );
    }
    plan.falls_back
        .push(fallback("the kernel hangs later", way));
    plan.falls_back.push(fallback(
        "the kernel runs, but the system does not reach network or login",
        None,
    ));
}
