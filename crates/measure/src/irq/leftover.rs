// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Names of our tracing instances, by which those of programs that were killed are known, and what
//! they changed.
//!
//! `punctual-PROCESS-START`, `-NAMESPACE` where the number of the process is not that of the whole
//! machine, and `+KEY=OLD:NEW` for each setting of the whole machine that was changed: the instance
//! is there before the setting is written and goes after it was put back.

use std::io;

use punctual_sys::namespace::{self, INITIAL};
use punctual_sys::proc::stat_number;
use punctual_sys::process;
use punctual_sys::tracefs::Tracefs;
use punctual_sys::{At as _, PathError, SysRoot};

const PREFIX: &str = "punctual-";

/// The settings that may be changed, by their keys in names.
const SETTINGS: [(&str, &str); 4] = [
    ("period", PERIOD),
    ("cpus", CPUS),
    ("stop", STOP),
    ("stop-total", STOP_TOTAL),
];

/// The period of the timerlat tracer's threads, in µs.
pub(super) const PERIOD: &str = "osnoise/timerlat_period_us";
/// The CPUs of the timerlat tracer's threads.
pub(super) const CPUS: &str = "osnoise/cpus";
/// The latency of an interrupt, in µs, at which the tracer stops recording in every instance; 0 is none.
pub(super) const STOP: &str = "osnoise/stop_tracing_us";
/// The same of a thread's latency.
pub(super) const STOP_TOTAL: &str = "osnoise/stop_tracing_total_us";

/// A setting with the value that it had and the one that it gets.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Setting {
    file: &'static str,
    old: String,
    new: String,
}

impl Setting {
    /// Returns those of `wanted` that are not as wanted yet.
    pub(super) fn differing(
        root: &SysRoot,
        wanted: &[(&'static str, String)],
    ) -> Result<Vec<Self>, PathError> {
        let mut settings = Vec::new();
        for (file, new) in wanted {
            let old = root.read(file)?.trim().to_owned();
            if old != *new {
                let new = new.clone();
                settings.push(Self { file, old, new });
            }
        }
        Ok(settings)
    }

    /// Sets the new value. Where the kernel makes another one of it, the old one is set again.
    fn make(&self, root: &SysRoot) -> Result<(), PathError> {
        write_line(root, self.file, &self.new)?;
        let has = root.read(self.file)?;
        if has.trim() == self.new {
            return Ok(());
        }
        write_line(root, self.file, &self.old)?;
        let both = format!("{:?} was written and {:?} is set", self.new, has.trim());
        Err(io::Error::other(both)).at("set", &root.full(self.file))
    }

    /// Puts the old value back, unless somebody set another one since.
    fn restore(&self, root: &SysRoot) -> Result<(), PathError> {
        if root.read(self.file)?.trim() == self.new {
            write_line(root, self.file, &self.old)?;
        }
        Ok(())
    }
}

/// Writes a value with the end of its line. Kernels before 6.17 read on behind a list of CPUs that has none, in memory where anything
/// may be (`osnoise_cpus_write` in kernel/trace/trace_osnoise.c).
fn write_line(root: &SysRoot, file: &str, value: &str) -> Result<(), PathError> {
    root.write(file, &format!("{value}\n"))
}

/// Writes settings for a name.
pub(super) fn encode(settings: &[Setting]) -> String {
    let key = |file: &str| {
        SETTINGS
            .iter()
            .find(|(_, own)| *own == file)
            .map_or("", |(k, _)| k)
    };
    settings
        .iter()
        .map(|s| format!("+{}={}:{}", key(s.file), s.old, s.new))
        .collect()
}

fn decode(name: &str) -> Vec<Setting> {
    let setting = |part: &str| {
        let (key, values) = part.split_once('=')?;
        let (_, file) = SETTINGS.iter().find(|(own, _)| *own == key)?;
        let (old, new) = values.split_once(':')?;
        Some(Setting {
            file,
            old: old.to_owned(),
            new: new.to_owned(),
        })
    };
    name.split('+').skip(1).filter_map(setting).collect()
}

/// Settings that are changed as long as this lives.
#[derive(Debug)]
pub(super) struct Changed {
    root: SysRoot,
    settings: Vec<Setting>,
}

impl Changed {
    /// Changes them.
    pub(super) fn make(root: &SysRoot, settings: Vec<Setting>) -> Result<Self, PathError> {
        let changed = Self {
            root: root.clone(),
            settings,
        };
        for setting in &changed.settings {
            setting.make(root)?;
        }
        Ok(changed)
    }

    /// Puts them back.
    pub(super) fn restore(mut self) -> Result<(), PathError> {
        std::mem::take(&mut self.settings)
            .iter()
            .try_for_each(|setting| setting.restore(&self.root))
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        for setting in &self.settings {
            // It ended by an error that was reported already.
            drop(setting.restore(&self.root));
        }
    }
}

/// Returns a name for an instance of this process: its number, the time when it was started, and the namespace in which it has
/// that number.
pub(crate) fn name(sys: &SysRoot) -> String {
    let process = std::process::id();
    Maker {
        process,
        started: started(sys, process).unwrap_or(NOT_KNOWN),
        namespace: namespace::of(sys, "self").unwrap_or(INITIAL),
    }
    .name()
}

/// Returns the name of the group of events for an instance of this name: a group has no hyphens.
pub(crate) fn group(name: &str) -> String {
    name.replace('-', "_")
}

/// Removes the tracing instances that killed runs of this program left behind, puts back what they
/// had changed, and returns their names. Nothing is said where tracing is unavailable: then
/// nothing was left either.
pub fn sweep(sys: &SysRoot) -> Vec<String> {
    let Ok(tracefs) = Tracefs::open(sys) else {
        return Vec::new();
    };
    let left = |name: &str| is_left(sys, name);
    let is_left_group = |group: &str| is_left(sys, &group.replace('_', "-"));
    let swept = tracefs.sweep(PREFIX, left).unwrap_or_default();
    // After the instances that record them: until then they are in use.
    tracefs.sweep_uprobes(&group(PREFIX), is_left_group);
    for setting in swept.iter().flat_map(|name| decode(name)) {
        // What cannot be put back now could not be put back by hand either.
        drop(setting.restore(tracefs.root()));
    }
    swept
}

/// Whether nobody is there any more who made the instance `name`. What cannot be seen is there.
fn is_left(sys: &SysRoot, name: &str) -> bool {
    // A name that is not one of ours is somebody's.
    let Some(maker) = Maker::of(name) else {
        return false;
    };
    let Ok(ours) = namespace::of(sys, "self") else {
        return false;
    };
    if maker.namespace == ours {
        return match started(sys, maker.process) {
            Some(start) => maker.started != NOT_KNOWN && start != maker.started,
            None => !process::exists(maker.process),
        };
    }
    namespace::is_empty(sys, maker.namespace)
}

/// In place of a start that could not be read.
const NOT_KNOWN: u64 = 0;

/// Who made an instance.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Maker {
    /// Its number in the namespace.
    process: u32,
    /// In clock ticks since boot.
    started: u64,
    namespace: u64,
}

impl Maker {
    /// Reads what [`Self::name`] wrote, whatever settings follow.
    fn of(name: &str) -> Option<Self> {
        let own = name.strip_prefix(PREFIX)?.split('+').next()?;
        let mut parts = own.split('-');
        let maker = Self {
            process: parts.next()?.parse().ok()?,
            started: parts.next()?.parse().ok()?,
            namespace: parts.next().map_or(Ok(INITIAL), str::parse).ok()?,
        };
        parts.next().is_none().then_some(maker)
    }

    fn name(self) -> String {
        let name = format!("{PREFIX}{}-{}", self.process, self.started);
        match self.namespace {
            INITIAL => name,
            other => format!("{name}-{other}"),
        }
    }
}

/// Reads when a process was started, in clock ticks since boot: field 22 of its `stat` (proc(5)).
/// It tells the process from a later one with the same number.
fn started(sys: &SysRoot, process: u32) -> Option<u64> {
    stat_number(sys, process, 22)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_left_when_its_process_is_gone_or_another() {
        let sys = SysRoot::live();
        let own = name(&sys);
        let maker = Maker::of(&own).unwrap();
        assert!(!is_left(&sys, &own), "{own}");
        assert!(!is_left(&sys, &(own.clone() + "+period=1000:250")));
        assert!(!is_left(&sys, &(own.clone() + "+watched")));
        let started = |started| Maker { started, ..maker }.name();
        assert!(is_left(&sys, &started(1)));
        assert!(!is_left(&sys, &started(NOT_KNOWN)));
        let gone = Maker {
            process: GONE,
            ..maker
        };
        assert!(is_left(&sys, &gone.name()));
        for other in ["punctual-mine", "punctual-1-2-3-4", "other-4194305-7"] {
            assert!(!is_left(&sys, other), "{other}");
        }
    }

    #[test]
    fn a_process_of_another_namespace_is_not_looked_for_in_this_one() {
        let sys = SysRoot::live();
        let ours = namespace::of(&sys, "self").unwrap();
        let maker = |namespace| Maker {
            process: GONE,
            started: 7,
            namespace,
        };
        assert_eq!(maker(INITIAL).name(), format!("punctual-{GONE}-7"));
        for namespace in [INITIAL, ours, 5] {
            let maker = maker(namespace);
            assert_eq!(Maker::of(&maker.name()), Some(maker));
            assert_eq!(Maker::of(&(maker.name() + "+cpus=0:1")), Some(maker));
        }
        // Nothing is in it: that is seen in the first namespace alone.
        let empty = namespace::is_empty(&sys, 5);
        assert_eq!(is_left(&sys, &maker(5).name()), empty);
    }

    #[test]
    fn nothing_is_left_where_nobody_can_be_seen() {
        let dir = tempfile::tempdir().unwrap();
        let sys = SysRoot::at(dir.path());
        assert!(!is_left(&sys, &format!("punctual-{GONE}-7")));
    }

    /// A process that cannot be: numbers end at `PID_MAX_LIMIT`, 2^22.
    const GONE: u32 = 4_194_305;

    /// A machine with one leftover instance, which had changed two settings.
    fn machine(period: &str, cpus: &str) -> (tempfile::TempDir, SysRoot) {
        let dir = tempfile::tempdir().unwrap();
        let tracing = dir.path().join("sys/kernel/tracing");
        let ns = dir.path().join("proc/self/ns");
        std::fs::create_dir_all(&ns).unwrap();
        std::os::unix::fs::symlink("/proc/self/ns/pid", ns.join("pid")).unwrap();
        let maker = Maker {
            process: GONE,
            started: 8,
            namespace: namespace::of(&SysRoot::live(), "self").unwrap(),
        };
        let name = maker.name() + "+period=1000:250+cpus=0-3,6:1-2";
        std::fs::create_dir_all(tracing.join("instances").join(name)).unwrap();
        std::fs::create_dir_all(tracing.join("osnoise")).unwrap();
        std::fs::write(tracing.join("available_tracers"), "timerlat nop\n").unwrap();
        std::fs::write(tracing.join(PERIOD), format!("{period}\n")).unwrap();
        std::fs::write(tracing.join(CPUS), format!("{cpus}\n")).unwrap();
        let sys = SysRoot::at(dir.path());
        (dir, sys)
    }

    /// What is in a file, with the end of its line.
    fn bytes(root: &SysRoot, file: &str) -> String {
        String::from_utf8(std::fs::read(root.full(file)).unwrap()).unwrap()
    }

    #[test]
    fn what_a_killed_run_changed_is_put_back_but_not_what_others_set() {
        let (_dir, sys) = machine("250", "1");
        assert_eq!(sweep(&sys).len(), 1);
        let read = |file: &str| bytes(&sys, &format!("/sys/kernel/tracing/{file}"));
        assert_eq!(read(PERIOD), "1000\n");
        assert_eq!(read(CPUS), "1\n", "somebody set that since");
        assert_eq!(sweep(&sys), Vec::<String>::new());
    }

    #[test]
    fn settings_are_changed_while_they_are_needed_and_named_before() {
        let (_dir, sys) = machine("1000", "0-3");
        let root = SysRoot::at(sys.full("/sys/kernel/tracing"));
        let wanted = [(PERIOD, "100".to_owned()), (CPUS, "0-3".to_owned())];
        let settings = Setting::differing(&root, &wanted).unwrap();
        assert_eq!(encode(&settings), "+period=1000:100");
        assert_eq!(
            decode(&format!("punctual-1-2{}", encode(&settings))),
            settings
        );
        // Each value with the end of its line: that is where the kernel stops reading a list of CPUs.
        let changed = Changed::make(&root, settings.clone()).unwrap();
        assert_eq!(bytes(&root, PERIOD), "100\n");
        changed.restore().unwrap();
        assert_eq!(bytes(&root, PERIOD), "1000\n");
        drop(Changed::make(&root, settings).unwrap());
        assert_eq!(bytes(&root, PERIOD), "1000\n");
    }

    #[test]
    fn a_kernel_that_makes_something_else_of_a_value_is_not_measured_with() {
        let (dir, _sys) = machine("1000", "0-3");
        let tracing = dir.path().join("sys/kernel/tracing");
        let root = SysRoot::of_kernel(&tracing);
        let settings = Setting::differing(&root, &[(CPUS, "0-1".to_owned())]).unwrap();
        // A file that takes everything and has nothing of it.
        std::fs::remove_file(tracing.join(CPUS)).unwrap();
        std::os::unix::fs::symlink("/dev/null", tracing.join(CPUS)).unwrap();
        let err = Changed::make(&root, settings).unwrap_err();
        let why = std::error::Error::source(&err).unwrap().to_string();
        assert_eq!(why, r#""0-1" was written and "" is set"#);
    }
}
