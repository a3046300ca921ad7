// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The kernel's tracing files: instances of our own, their events, and the binary ring buffers.
//!
//! Where tracefs is not mounted it is opened without being mounted anywhere (`fsopen(2)`,
//! `fsmount(2)`), so that nothing of that is left behind. An [`Instance`] is: the kernel keeps it until
//! somebody removes it. It is removed when it is dropped, and [`Tracefs::sweep`] removes those of
//! programs that were killed.

mod format;
mod guard;
mod instance;
mod ring;
mod uprobe;

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use punctual_model::CpuSet;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

pub use self::format::{EventFormat, Field, FormatError};
pub use self::guard::Guard;
pub use self::instance::{Instance, Losses, RawBuffer};
pub use self::ring::{Missed, PageLayout, Record, Records};
pub use self::uprobe::Uprobe;
use crate::{At as _, PathError, SysRoot, namespace};

/// Where tracefs is mounted, if it is (Documentation/trace/ftrace.rst).
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// A file that every tracefs has.
const LANDMARK: &str = "available_tracers";

/// The kernel's tracing directory.
#[derive(Debug)]
pub struct Tracefs {
    root: SysRoot,
    /// What is open in place of a mount point; the directory is there as long as this lives.
    detached: Option<OwnedFd>,
}

impl Tracefs {
    /// Opens it as [`Tracefs::open`] does, for whoever looks for threads in it by their numbers. Records have those of the first process
    /// namespace.
    ///
    /// # Errors
    ///
    /// Fails as [`Tracefs::open`] does, and with [`TracefsError::Numbers`] in another namespace.
    pub fn open_for_threads(sys: &SysRoot) -> Result<Self, TracefsError> {
        let own = namespace::of(&SysRoot::live(), "self");
        if own.is_ok_and(|own| own != namespace::INITIAL) {
            return Err(TracefsError::Numbers);
        }
        Self::open(sys)
    }

    /// Opens tracefs where it is mounted, or without mounting it anywhere.
    ///
    /// # Errors
    ///
    /// [`TracefsError::Missing`] on a kernel without tracing, [`TracefsError::Denied`] without the
    /// privilege, [`TracefsError::Locked`] where lockdown forbids it, [`TracefsError::NoProc`] without `/proc`,
    /// [`TracefsError::Empty`] and [`TracefsError::Open`] with what the kernel said otherwise.
    pub fn open(sys: &SysRoot) -> Result<Self, TracefsError> {
        for place in PLACES {
            if sys.exists(&format!("{place}/{LANDMARK}")) {
                return Ok(Self {
                    root: SysRoot::at(sys.full(place)),
                    detached: None,
                });
            }
        }
        if !sys.is_live() {
            return Err(TracefsError::Missing);
        }
        let detached = detached().map_err(|errno| match errno {
            rustix::io::Errno::NODEV => TracefsError::Missing,
            rustix::io::Errno::PERM | rustix::io::Errno::ACCESS => TracefsError::Denied,
            other => TracefsError::Open(other.into()),
        })?;
        let path = format!("/proc/self/fd/{}", detached.as_raw_fd());
        let root = SysRoot::of_kernel(path);
        if !root.exists(LANDMARK) {
            return Err(why_empty(sys));
        }
        Ok(Self {
            root,
            detached: Some(detached),
        })
    }

    /// Returns the directory.
    pub const fn root(&self) -> &SysRoot {
        &self.root
    }

    /// Whether the kernel has the tracer `name`.
    ///
    /// # Errors
    ///
    /// Fails when the list of tracers cannot be read.
    pub fn has_tracer(&self, name: &str) -> Result<bool, PathError> {
        let tracers = self.root.read(LANDMARK)?;
        Ok(tracers.split_whitespace().any(|tracer| tracer == name))
    }

    /// Whether the kernel has `event`, such as `sched/sched_waking`.
    pub fn has_event(&self, event: &str) -> bool {
        self.root.exists(&format!("events/{event}/format"))
    }

    /// Reads how the records of `event` are laid out.
    ///
    /// # Errors
    ///
    /// Fails when the event is missing or its description is not understood.
    pub fn format(&self, event: &str) -> Result<EventFormat, TracefsError> {
        let text = self
            .root
            .read(&format!("events/{event}/format"))
            .map_err(TracefsError::Use)?;
        text.parse().map_err(|source| TracefsError::Format {
            event: event.to_owned(),
            source,
        })
    }

    /// Reads how the pages of the ring buffers are laid out.
    ///
    /// # Errors
    ///
    /// Fails when the description is missing or not understood.
    pub fn page_layout(&self) -> Result<PageLayout, TracefsError> {
        let text = self
            .root
            .read("events/header_page")
            .map_err(TracefsError::Use)?;
        text.parse().map_err(|source| TracefsError::Format {
            event: "header_page".to_owned(),
            source,
        })
    }

    /// Makes an instance, which has its own buffers and switches and shares nothing with what else
    /// traces on the machine.
    ///
    /// # Errors
    ///
    /// Fails as `mkdir(2)` does.
    pub fn instance(&self, name: &str) -> Result<Instance, PathError> {
        Instance::make(&self.root, name)
    }

    /// Makes an event at `offset` of a program's file, in the group `group`. A [`Guard`] that was made before removes it, too.
    ///
    /// # Errors
    ///
    /// Fails where the kernel has no such events (CONFIG_UPROBE_EVENTS), or with `EINVAL` where no code can be there.
    pub fn uprobe(&self, group: &str, file: &Path, offset: u64) -> Result<Uprobe, PathError> {
        Uprobe::make(&self.root, group, file, offset)
    }

    /// Has the instances of these names, and the event of `group`, removed when this program ends, by whatever.
    ///
    /// # Errors
    ///
    /// Fails as `fork(2)` does.
    pub fn guard(&self, names: &[&str], group: Option<&str>) -> io::Result<Guard> {
        let paths: Vec<_> = names
            .iter()
            .map(|name| self.root.full(&format!("instances/{name}")))
            .collect();
        let detached = self.detached.as_ref().map(|fd| fd.as_raw_fd());
        let event = group.map(|group| (uprobe::file(&self.root), uprobe::removal(group)));
        Guard::over(&paths, event, detached)
    }

    /// Removes instances whose name begins with `prefix` and for which `is_left` says that whoever
    /// made it is gone. Returns the names of those that it removed; those that somebody has open
    /// the kernel keeps.
    ///
    /// # Errors
    ///
    /// Fails when the instances cannot be listed.
    pub fn sweep(
        &self,
        prefix: &str,
        is_left: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>, PathError> {
        let mut names = self.root.names("instances")?;
        names.retain(|name| {
            name.starts_with(prefix)
                && is_left(name)
                && self.root.remove_dir(&format!("instances/{name}")).is_ok()
        });
        Ok(names)
    }

    /// Removes the events at functions of programs whose group begins with `prefix` and for which `is_left` says that
    /// its maker is gone.
    pub fn sweep_uprobes(&self, prefix: &str, is_left: impl Fn(&str) -> bool) {
        uprobe::sweep(&self.root, prefix, is_left);
    }
}

/// Says why there is nothing in a tracefs that could be opened.
fn why_empty(sys: &SysRoot) -> TracefsError {
    if !sys.exists("/proc/self/fd") {
        return TracefsError::NoProc;
    }
    // The level that closes tracefs (LOCKDOWN_TRACEFS in security/security.c). Where securityfs is not mounted, the
    // command line may say so.
    let says = |path, word| sys.read(path).is_ok_and(|text| text.contains(word));
    match says("/sys/kernel/security/lockdown", "[confidentiality]")
        || says("/proc/cmdline", "lockdown=confidentiality")
    {
        true => TracefsError::Locked,
        false => TracefsError::Empty,
    }
}

/// Opens tracefs without a place in any directory.
fn detached() -> rustix::io::Result<OwnedFd> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    fsmount(
        &context,
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::empty(),
    )
}

/// Opens `path` for reading without ever waiting for data.
fn open_nonblocking(root: &SysRoot, path: &str) -> Result<std::fs::File, PathError> {
    let full = root.full(path);
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(&full)
        .at("open", &full)
}

/// Writes CPUs as the kernel's masks have them: hexadecimal, groups of 32 bits, highest first.
fn mask(cpus: &CpuSet) -> String {
    let words = cpus.iter().max().map_or(1, |last| last / 32 + 1);
    let word = |n: u32| {
        (0..32)
            .filter(|bit| cpus.contains(n * 32 + bit))
            .fold(0_u32, |w, bit| w | 1 << bit)
    };
    let words: Vec<String> = (0..words)
        .rev()
        .map(|n| format!("{:08x}", word(n)))
        .collect();
    words.join(",")
}

/// Tracing is unavailable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TracefsError {
    /// The kernel has none.
    #[error("this kernel has no tracefs (CONFIG_TRACING)")]
    Missing,
    /// The privilege is missing.
    #[error("tracefs needs root (CAP_SYS_ADMIN)")]
    Denied,
    /// Lockdown: the file system is there, and empty.
    #[error(
        "the kernel is locked down and its tracefs empty: boot with lockdown=none, where policy and secure boot allow it"
    )]
    Locked,
    /// There is no way to what was opened.
    #[error("tracefs is not mounted, and cannot be reached without it: /proc is not mounted here")]
    NoProc,
    /// Threads have other numbers here than in its records.
    #[error(
        "threads have other numbers in the kernel's trace: this is a process namespace of its own, as containers have"
    )]
    Numbers,
    /// The file system is there, and empty, and nothing says why.
    #[error("tracefs is empty here, and the kernel does not say that it is locked down")]
    Empty,
    /// The kernel refused.
    #[error("open tracefs, which is not mounted")]
    Open(#[source] io::Error),
    /// A file of it cannot be used.
    #[error(transparent)]
    Use(#[from] PathError),
    /// The kernel describes its records in a way that this program does not know.
    #[error("read the layout of trace event {event}")]
    Format {
        /// The event.
        event: String,
        /// What is not understood.
        source: FormatError,
    },
}

impl TracefsError {
    /// Whether the privilege is missing.
    pub fn is_denied(&self) -> bool {
        match self {
            Self::Denied => true,
            Self::Use(err) => err.is_permission(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_the_kernels() {
        assert_eq!(mask(&"0".parse().unwrap()), "00000001");
        assert_eq!(mask(&"0-1,33".parse().unwrap()), "00000002,00000003");
        assert_eq!(mask(&"63".parse().unwrap()), "80000000,00000000");
    }

    #[test]
    fn a_tree_without_tracefs_is_told_so() {
        let dir = tempfile::tempdir().unwrap();
        let err = Tracefs::open(&SysRoot::at(dir.path())).unwrap_err();
        assert!(matches!(err, TracefsError::Missing), "{err}");
    }

    #[test]
    fn lockdown_is_claimed_only_where_the_kernel_says_so() {
        let seen = |files: &[(&str, &str)]| {
            let dir = tempfile::tempdir().unwrap();
            for (path, text) in files {
                let path = dir.path().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            why_empty(&SysRoot::at(dir.path()))
        };
        let file = "sys/kernel/security/lockdown";
        let locked = (file, "none integrity [confidentiality]\n");
        let proc = ("proc/self/fd/0", "");
        assert!(matches!(seen(&[]), TracefsError::NoProc));
        assert!(matches!(seen(&[proc]), TracefsError::Empty));
        assert!(matches!(seen(&[proc, locked]), TracefsError::Locked));
        let integrity = (file, "none [integrity] confidentiality\n");
        assert!(matches!(seen(&[proc, integrity]), TracefsError::Empty));
        let line = ("proc/cmdline", "quiet lockdown=confidentiality\n");
        assert!(matches!(seen(&[proc, line]), TracefsError::Locked));
    }

    #[test]
    fn leftovers_are_swept_and_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().join("sys/kernel/tracing");
        for name in ["punctual-1", "punctual-2", "other-1"] {
            std::fs::create_dir_all(base.join("instances").join(name)).unwrap();
        }
        std::fs::write(base.join("available_tracers"), "timerlat nop\n").unwrap();
        let tracefs = Tracefs::open(&SysRoot::at(dir.path())).unwrap();
        assert!(tracefs.has_tracer("timerlat").unwrap());
        assert!(!tracefs.has_tracer("timer").unwrap());
        let swept = tracefs
            .sweep("punctual-", |name| name != "punctual-2")
            .unwrap();
        assert_eq!(swept, ["punctual-1"]);
        assert_eq!(
            tracefs.root().names("instances").unwrap(),
            ["other-1", "punctual-2"]
        );
    }

    #[test]
    fn an_instance_of_the_live_kernel_is_gone_when_it_is_dropped() {
        let Ok(tracefs) = Tracefs::open(&SysRoot::live()) else {
            return;
        };
        let name = format!("punctual-test-{}", std::process::id());
        let path = format!("instances/{name}");
        let mut instance = tracefs.instance(&name).unwrap();
        assert!(tracefs.root().exists(&path));
        instance.open_buffers(&"0".parse().unwrap(), 64).unwrap();
        // The kernel keeps what is in use.
        assert!(tracefs.sweep(&name, |_| true).unwrap().is_empty());
        drop(instance);
        assert!(!tracefs.root().exists(&path));
        // What somebody else removed, when no file of it was open, is removed.
        let instance = tracefs.instance(&name).unwrap();
        assert_eq!(tracefs.sweep(&name, |_| true).unwrap(), [name]);
        instance.remove().unwrap();
    }
}
