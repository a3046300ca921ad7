// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where the control groups of a process have their files, in both versions (cgroups(7)), and what these files say.

use punctual_sys::SysRoot;

use super::case::{Answer, NotKnown, evidence, fine, found, not_applicable, odd, unread};
use crate::boot;
use crate::machine::{Config, Unread};
use crate::mounts::{Mount, is_below};

/// Where groups are mounted.
const PLACE: &str = "/sys/fs/cgroup";

/// Without a limit of the system the kernel heeds no group's budget (`rt_bandwidth_enabled`).
pub(crate) const UNLIMITED: &str =
    "the system has no limit, so the budgets of cgroups are not heeded";

/// What is said of files that are not the root's although they are where the root's would be.
pub(crate) const NOT_THE_ROOT: &str = "the cgroup mounted here is not the root";

/// What is said of a group of version 2 in a kernel whose groups have budgets.
pub(crate) const NO_BUDGET: &str =
    "its real-time budget is 0, and cgroups of version 2 have no file to change it";

const NOT_MOUNTED: &str = "cgroups are not mounted";

/// The most groups that are looked at.
const DEEPEST: usize = 32;

/// A process's group of a controller and those above it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Groups {
    /// Their directories, the process's own first. None where it is in no such group.
    pub(crate) dirs: Vec<String>,
    /// Whether the controller is one of version 1.
    is_old: bool,
}

/// The files of a group cannot be found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Hidden {
    /// Where groups are mounted, or would be.
    place: String,
    pub(crate) why: &'static str,
}

impl From<Hidden> for NotKnown {
    fn from(hidden: Hidden) -> Self {
        Self(vec![unread(&hidden.place, &Unread::LeftAlone(hidden.why))])
    }
}

impl Groups {
    /// Finds the groups of a process whose `/proc/PID/cgroup` is `text`.
    pub(crate) fn find(sys: &SysRoot, text: &str, controller: &str) -> Result<Self, Hidden> {
        let Some((is_old, path)) = path_of(text, controller) else {
            return Ok(Self::none());
        };
        let path = path.trim_end_matches('/');
        let made = |mount: &str, path: &str| Self {
            dirs: upwards(path).map(|path| format!("{mount}{path}")).collect(),
            is_old,
        };
        let mounts = mounts_of(sys, is_old, controller);
        for mount in &mounts {
            let root = mount.root.trim_end_matches('/');
            let Some(path) = path.strip_prefix(root).filter(|_| is_below(path, root)) else {
                continue;
            };
            if stays(path) && sys.exists(&format!("{}{path}", mount.at)) {
                return Ok(made(&mount.at, path));
            }
        }
        let place = usual_place(is_old, controller);
        let hidden = |place: &str, why| {
            let place = place.to_owned();
            Err(Hidden { place, why })
        };
        if let Some(mount) = mounts.first() {
            let foreign = stays(path) && !stays(&mount.root);
            return hidden(
                &mount.at,
                match foreign {
                    true => "cgroups are mounted for another name space",
                    false => ANOTHER,
                },
            );
        }
        // Nothing says what is mounted, as in a captured machine.
        let has_files = |dir: &String| has_files(sys, dir);
        let is_own = sys.read("/proc/self/cgroup").is_ok_and(|own| {
            path_of(&own, controller).is_some_and(|(_, own)| own.trim_end_matches('/') == path)
        });
        let groups = made(&place, path);
        let own = groups.dirs.first().filter(|_| stays(path));
        // The own group of a container may be the root of what is mounted.
        let is_seen = own.is_some_and(|own| match is_own || path.is_empty() {
            true => groups.dirs.iter().any(has_files),
            false => sys.exists(own),
        });
        match is_seen {
            true => Ok(groups),
            false if has_files(&place) => hidden(&place, ANOTHER),
            false => hidden(&place, NOT_MOUNTED),
        }
    }

    /// Returns the groups of this process, whose `/proc/self/cgroup` is `text`, where they usually are. Of a container the root of
    /// the mount is among them.
    pub(crate) fn usual(text: &str, controller: &str) -> Self {
        let Some((is_old, path)) = path_of(text, controller) else {
            return Self::none();
        };
        // The file names no directory outside; a tree that nobody vouches for might.
        let path = if stays(path) { path } else { "" };
        let place = usual_place(is_old, controller);
        Self {
            dirs: upwards(path).map(|path| format!("{place}{path}")).collect(),
            is_old,
        }
    }

    const fn none() -> Self {
        Self {
            dirs: Vec::new(),
            is_old: false,
        }
    }

    /// Says why files where these groups usually are say nothing of them, if that is so.
    pub(crate) fn unseen(sys: &SysRoot, text: &str, controller: &str) -> Option<&'static str> {
        match Self::find(sys, text, controller) {
            Err(hidden) => Some(hidden.why),
            Ok(there) => {
                let usual = Self::usual(text, controller);
                let elsewhere =
                    !there.dirs.is_empty() && !usual.dirs.iter().any(|dir| sys.exists(dir));
                elsewhere.then_some(NOT_MOUNTED)
            }
        }
    }

    /// Returns the files with the real-time budget (version 1), of which the first that there is decides.
    pub(crate) fn budget_files(&self) -> Vec<String> {
        let old = self.dirs.iter().filter(|_| self.is_old);
        old.map(|dir| format!("{dir}/cpu.rt_runtime_us")).collect()
    }

    /// Returns the files of version 2 that each group of the cpu controller has but the root: the kernel gives such a group a
    /// real-time budget of 0 where it has budgets (`sched_create_group`), and no file to change it.
    pub(crate) fn controlled_files(&self) -> Vec<String> {
        let new = self.dirs.iter().filter(|_| !self.is_old);
        new.flat_map(|dir| [format!("{dir}/cpu.weight"), format!("{dir}/cpu.max")])
            .collect()
    }

    /// Returns the files with the CPUs that a process may use, of which the first that there is
    /// decides: that of its own cpuset, or the nearest above it where the controller is on.
    pub(crate) fn cpuset_files(&self) -> Vec<String> {
        let names: &[&str] = match self.is_old {
            true => &["effective_cpus", "cpus"],
            false => &["cpus.effective"],
        };
        let files = |dir| names.iter().map(move |name| format!("{dir}/cpuset.{name}"));
        self.dirs.iter().flat_map(files).collect()
    }

    /// Returns the files with a quota of CPU time, and of version 1 the file with its period.
    pub(crate) fn quota_files(&self) -> Vec<(String, Option<String>)> {
        let files = |dir: &String| match self.is_old {
            true => (
                format!("{dir}/cpu.cfs_quota_us"),
                Some(format!("{dir}/cpu.cfs_period_us")),
            ),
            false => (format!("{dir}/cpu.max"), None),
        };
        self.dirs.iter().map(files).collect()
    }

    /// Says whether a quota of CPU time stops what runs in these groups.
    pub(crate) fn quota(&self, read: impl Fn(&str) -> Result<Option<String>, NotKnown>) -> Answer {
        let mut limits = Vec::new();
        let mut looked_at = Vec::new();
        let mut says = String::new();
        for (path, period) in self.quota_files() {
            let Some(text) = read(&path)? else {
                continue;
            };
            // `max 100000`, or `50000 100000`; of version 1 the period is a file of its own.
            let mut words = text.split_whitespace();
            let quota = words.next().unwrap_or_default();
            if matches!(quota, "max" | "-1") {
                looked_at.push(evidence(path, text));
                continue;
            }
            let quota: u64 = quota.parse().map_err(|_| odd(&path, &text))?;
            let period = match (words.next(), period) {
                (Some(period), _) => Some(period.to_owned()),
                (None, Some(file)) => read(&file)?,
                (None, None) => None,
            };
            let period: u64 = match period {
                Some(text) => text.trim().parse().map_err(|_| odd(&path, &text))?,
                None => 100_000,
            };
            says = format!("{quota} µs of CPU time each {period} µs");
            limits.push(evidence(path, text));
        }
        match (limits.is_empty(), looked_at.is_empty()) {
            (true, true) => not_applicable("this cgroup has no quota of CPU time"),
            (true, false) => fine("no quota is set", looked_at),
            (false, _) => found(says, limits),
        }
    }
}

const ANOTHER: &str = "it does not show the group of this process";

/// Whether what is mounted in `dir` is the root of a hierarchy of version 1, by the files that `is_there`: only the root has
/// `cgroup.sane_behavior`, and each group has the other file. A captured machine may have neither.
pub(crate) fn is_root(dir: &str, is_there: impl Fn(&str) -> bool) -> bool {
    is_there(&format!("{dir}/cgroup.sane_behavior"))
        || !is_there(&format!("{dir}/notify_on_release"))
}

/// Whether the groups of a process have real-time budgets that the kernel may heed: those of version 1, unless the system has
/// no limit.
pub(crate) fn have_budgets(sys: &SysRoot, text: &str) -> bool {
    let system = sys.fact::<i64>("/proc/sys/kernel/sched_rt_runtime_us");
    path_of(text, "cpu").is_some_and(|(is_old, _)| is_old) && system.is_none_or(|us| us >= 0)
}

/// Whether a kernel gives its groups real-time budgets, of which those of version 2 stay 0.
pub(crate) fn are_budgeted(config: &Config, cmdline: &str, release: (u32, u32)) -> bool {
    // Before 6.16 the kernel knows no such argument.
    let words = boot::words(cmdline).into_iter().rev();
    let mut given = words.filter(|word| release >= (6, 16) && boot::name(word) == "rt_group_sched");
    config.has("RT_GROUP_SCHED")
        && match given.next().and_then(|word| word.split_once('=')) {
            Some((_, "0")) => false,
            Some((_, "1")) => true,
            _ => !config.has("RT_GROUP_SCHED_DEFAULT_DISABLED"),
        }
}

/// Returns the group of a controller in `/proc/PID/cgroup`, and whether it is one of version 1.
fn path_of<'a>(text: &'a str, controller: &str) -> Option<(bool, &'a str)> {
    let of = |name: &str| {
        text.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            let has = controllers.split(',').any(|c| c == name);
            (has && path.starts_with('/')).then_some(path)
        })
    };
    let old = of(controller).map(|path| (true, path));
    old.or_else(|| of("").map(|path| (false, path)))
}

/// Returns where the groups of a controller are mounted. A later mount hides an earlier one of the same place.
fn mounts_of(sys: &SysRoot, is_old: bool, controller: &str) -> Vec<Mount> {
    let mut seen: Vec<Mount> = Vec::new();
    for mount in Mount::all(sys).into_iter().rev() {
        if !seen.iter().any(|later| later.at == mount.at) {
            seen.push(mount);
        }
    }
    seen.retain(|mount| {
        let is_it = match is_old {
            true => mount.kind == "cgroup" && mount.options.split(',').any(|o| o == controller),
            false => mount.kind == "cgroup2",
        };
        is_it && has_files(sys, &mount.at)
    });
    seen
}

/// Whether groups are mounted in `dir`: each of their files has a dot in its name. Where they only should be mounted, it is empty
/// or has directories.
fn has_files(sys: &SysRoot, dir: &str) -> bool {
    let names = sys.names(dir).unwrap_or_default();
    names.iter().any(|name| name.contains('.'))
}

/// Returns the group right below the root that a process is in, whose `/proc/PID/cgroup` is `text`. None where it is in the root.
pub(crate) fn top_group(text: &str, controller: &str) -> Option<String> {
    let (_, path) = path_of(text, controller)?;
    let top = path.split('/').find(|part| !part.is_empty())?;
    Some(top.to_owned())
}

fn usual_place(is_old: bool, controller: &str) -> String {
    match is_old {
        true => format!("{PLACE}/{controller}"),
        false => PLACE.to_owned(),
    }
}

/// Whether a path stays below where it starts. That of a group outside of a name space does not.
fn stays(path: &str) -> bool {
    !path.split('/').any(|part| part == "..")
}

/// Returns a group and those above it, without final slashes.
fn upwards(path: &str) -> impl Iterator<Item = &str> {
    let own = Some(path.trim_end_matches('/'));
    let all = std::iter::successors(own, |path| Some(path.rsplit_once('/')?.0));
    all.take(DEEPEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_cpuset_decides() {
        let files = |text: &str| Groups::usual(text, "cpuset").cpuset_files();
        assert_eq!(
            files("0::/user.slice/a.scope\n"),
            [
                "/sys/fs/cgroup/user.slice/a.scope/cpuset.cpus.effective",
                "/sys/fs/cgroup/user.slice/cpuset.cpus.effective",
                "/sys/fs/cgroup/cpuset.cpus.effective",
            ]
        );
        let v1 = files("3:cpuset:/\n0::/a\n");
        assert_eq!(v1[0], "/sys/fs/cgroup/cpuset/cpuset.effective_cpus");
        let container = files("3:cpuset:/docker/a\n");
        assert_eq!(
            container[0],
            "/sys/fs/cgroup/cpuset/docker/a/cpuset.effective_cpus"
        );
        assert_eq!(container[4..], v1);
        assert_eq!(files("3:cpuset:/../../etc\nnonsense\n0::relative"), v1);
        assert!(files("nonsense\n0::relative").is_empty());
        assert_eq!(files(&format!("0::{}", "/a".repeat(9_999))).len(), DEEPEST);
    }
}
