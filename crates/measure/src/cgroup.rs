// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where the cgroup of this process has the settings of a controller, in both versions (cgroups(7)).

use punctual_sys::SysRoot;

/// Returns the directories of this process's group of the `cpu` controller of version 1 and of those above it. None where
/// it has such a group, and the controller is mounted nowhere, or for a name space in which the group has another path.
pub(crate) fn of_version_1(sys: &SysRoot) -> Option<Vec<String>> {
    let groups = text(sys, "cgroup");
    let Some(group) = group_of(&groups, "cpu") else {
        return Some(Vec::new());
    };
    let mounts = text(sys, "mounts");
    let mount = mount_of(&mounts, "cpu")?;
    (!is_foreign(sys, mount)).then(|| upwards(mount, group))
}

/// Returns the directories in which this process's group and those above it have their settings of `controller`, of the
/// version that has it. None where that is not known; none in the list on a kernel without cgroups.
pub(crate) fn directories(sys: &SysRoot, controller: &str) -> Option<Vec<String>> {
    let Ok(groups) = sys.read("/proc/self/cgroup") else {
        return sys.exists("/proc/self/status").then(Vec::new);
    };
    let mounts = text(sys, "mounts");
    let (group, mount) = match (group_of(&groups, controller), unified_group(&groups)) {
        (Some(group), _) => (group, mount_of(&mounts, controller)),
        (None, Some(group)) => (group, mount(&mounts, |kind, _| kind == "cgroup2")),
        (None, None) => return Some(Vec::new()),
    };
    let Some(mount) = mount else {
        // The root has no limits.
        return (group == "/").then(Vec::new);
    };
    if is_foreign(sys, mount) {
        return None;
    }
    // In a container the group's own path may not be below the mount, which then is the group itself.
    let mut all = upwards(mount, group);
    all.retain(|dir| sys.exists(dir));
    (!all.is_empty()).then_some(all)
}

/// Returns the nearest group of version 2 with the `cpu` controller, which the root of the machine has without its files, where
/// the system limits real-time threads.
pub(crate) fn of_version_2(sys: &SysRoot) -> Option<String> {
    let limit: i64 = sys.fact("/proc/sys/kernel/sched_rt_runtime_us")?;
    if limit < 0 || group_of(&text(sys, "cgroup"), "cpu").is_some() {
        return None;
    }
    let has = |dir: &String, name: &str| sys.exists(&format!("{dir}/{name}"));
    let mut dirs = directories(sys, "cpu")?.into_iter();
    dirs.find(|dir| has(dir, "cpu.weight") || has(dir, "cpu.max"))
}

/// Whether what is mounted there is for a name space of groups that this process is not in.
fn is_foreign(sys: &SysRoot, mount: &str) -> bool {
    text(sys, "mountinfo").lines().any(|line| {
        let mut words = line.split(' ').skip(3);
        words.next().is_some_and(|root| root.starts_with("/..")) && words.next() == Some(mount)
    })
}

fn text(sys: &SysRoot, name: &str) -> String {
    sys.read(&format!("/proc/self/{name}")).unwrap_or_default()
}

fn upwards(mount: &str, group: &str) -> Vec<String> {
    let own = group.trim_end_matches('/');
    std::iter::successors(Some(own), |rest| Some(rest.rsplit_once('/')?.0))
        .map(|rest| format!("{mount}{rest}"))
        .collect()
}

/// Returns the group of a controller of version 1 from `/proc/self/cgroup`.
fn group_of<'a>(text: &'a str, controller: &str) -> Option<&'a str> {
    group(text, |controllers| {
        controllers.split(',').any(|c| c == controller)
    })
}

/// Returns the group of version 2.
fn unified_group(text: &str) -> Option<&str> {
    group(text, str::is_empty)
}

fn group(text: &str, has: impl Fn(&str) -> bool) -> Option<&str> {
    text.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let controllers = parts.nth(1)?;
        let group = parts.next()?;
        has(controllers).then_some(group)
    })
}

fn mount_of<'a>(text: &'a str, controller: &str) -> Option<&'a str> {
    mount(text, |kind, options| {
        kind == "cgroup" && options.split(',').any(|o| o == controller)
    })
}

/// Returns where the first file system is mounted that `is` one, from `/proc/self/mounts`.
fn mount(text: &str, is: impl Fn(&str, &str) -> bool) -> Option<&str> {
    text.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        let [_, place, kind, options, ..] = fields.as_slice() else {
            return None;
        };
        is(kind, options).then_some(*place)
    })
}
