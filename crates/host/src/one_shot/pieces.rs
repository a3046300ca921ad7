// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is written, piece by piece, in the order in which it is written: the choice is the last, so that whatever
//! ends the program before that leaves a machine that boots as before.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use punctual_model::{OneShotPlan, OneShotRefusal, OneShotWrite};
use punctual_sys::SysRoot;

use super::env_block::{EnvBlock, MOST};
use super::generated::{Expects, OUTPUT};
use super::grub::{CHOICE, Entry};
use super::{DIRECTORY, ENTRY, Initrd, Loader, Wish, content, refusal, running, systemd_boot};

/// Room that is left on the boot partition, in bytes.
const ROOM: u64 = 1 << 20;
/// What an initial RAM file system that is still to be made may take, in bytes.
pub(super) const INITRD: u64 = 256 << 20;

/// A thing to do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Step {
    /// A directory for our files.
    Directory { path: String },
    /// A copy of a file.
    Copy {
        from: PathBuf,
        to: String,
        bytes: u64,
        mode: u32,
        what: &'static str,
    },
    /// A copy of a directory.
    Tree {
        from: PathBuf,
        to: String,
        bytes: u64,
    },
    /// A file that a program makes.
    Made {
        by: PathBuf,
        release: String,
        to: String,
    },
    /// A text file.
    Text {
        path: String,
        old: Option<String>,
        new: String,
        what: &'static str,
    },
    /// What a program of the machine makes, and takes away.
    Tool {
        make: Vec<String>,
        unmake: Vec<String>,
        owns: Vec<String>,
        scratch: String,
        what: &'static str,
    },
    /// A file that a program of the machine generates anew as a whole.
    Generated {
        path: String,
        by: Vec<String>,
        old: String,
        modified: Option<SystemTime>,
        expects: Expects,
    },
    /// GRUB's environment.
    Environment {
        path: String,
        old: Option<String>,
        new: String,
    },
    /// A variable of the firmware.
    Variable {
        path: String,
        old: Option<Vec<u8>>,
        new: Vec<u8>,
    },
    /// The kernel in memory.
    Kexec {
        image: PathBuf,
        initrd: Option<PathBuf>,
        arguments: String,
    },
}

impl Step {
    /// Returns its description for people.
    pub(super) fn shown(&self) -> OneShotWrite {
        let write = |path: &str, what: &str, bytes: u64| OneShotWrite {
            path: path.to_owned(),
            what: what.to_owned(),
            bytes,
            changes: false,
            text: None,
        };
        match self {
            Self::Directory { path } => write(path, "directory", 0),
            Self::Copy {
                to, bytes, what, ..
            } => write(to, what, *bytes),
            Self::Tree { to, bytes, .. } => write(to, "its modules", *bytes),
            Self::Tool {
                make, owns, what, ..
            } => {
                let path = owns.first().map_or("", String::as_str);
                write(path, &format!("{what}, made by `{}`", make.join(" ")), 0)
            }
            Self::Generated { path, by, .. } => OneShotWrite {
                changes: true,
                ..write(
                    path,
                    &format!(
                        "GRUB's entries, made by `{}`",
                        by.join(" ").replace(OUTPUT, path)
                    ),
                    0,
                )
            },
            Self::Made { by, to, .. } => {
                let what = format!("the initial RAM file system that {} makes", by.display());
                write(to, &what, 0)
            }
            Self::Text {
                path,
                old,
                new,
                what,
            } => OneShotWrite {
                changes: old.is_some(),
                // Of a file of somebody else's only what is added.
                text: Some(new[old.as_ref().map_or(0, String::len)..].to_owned()),
                ..write(path, what, new.len() as u64)
            },
            Self::Environment { path, old, new } => OneShotWrite {
                changes: old.is_some(),
                text: Some(format!("{CHOICE}={ENTRY}\n")),
                ..write(path, "GRUB's environment: the choice", new.len() as u64)
            },
            Self::Variable { path, old, new } => OneShotWrite {
                changes: old.is_some(),
                text: Some(format!("{ENTRY}.conf\n")),
                ..write(
                    path,
                    "the firmware's variable: the choice",
                    new.len() as u64,
                )
            },
            Self::Kexec { image, .. } => OneShotWrite {
                path: "the running kernel's memory".to_owned(),
                what: format!("{} with its initial RAM file system", image.display()),
                bytes: size(image),
                changes: false,
                text: None,
            },
        }
    }
}

/// Lists what is to be done; what stands in the way goes into `plan`.
pub(super) fn steps(
    sys: &SysRoot,
    wish: &Wish,
    loader: &Loader,
    arguments: &[String],
    plan: &mut OneShotPlan,
) -> Vec<Step> {
    let mut steps = Vec::new();
    if let Some(from) = &wish.modules {
        let to = format!("/lib/modules/{}", wish.release);
        if sys.exists(&to) {
            plan.refusals.push(refusal(
                format!("{to} already exists"),
                "leave --modules out if these are the candidate's, or build it with another LOCALVERSION",
            ));
        }
        steps.push(Step::Tree {
            from: from.clone(),
            to,
            bytes: tree_size(from),
        });
    }
    let Some(place) = loader.place() else {
        let initrd = match &wish.initrd {
            Initrd::None => None,
            Initrd::File(path) => Some(path.clone()),
            Initrd::MadeBy(_) => {
                let hint = "make it first, and name it with --initrd";
                let reason = "for kexec the initial RAM file system must exist".to_owned();
                plan.refusals.push(refusal(reason, hint));
                None
            }
        };
        steps.push(Step::Kexec {
            image: wish.image.clone(),
            initrd,
            arguments: arguments.join(" "),
        });
        return steps;
    };
    let directory = format!("{place}/{DIRECTORY}");
    if sys.exists(&directory) {
        plan.refusals.push(refusal(
            format!(
                "{directory} already exists, but Punctual has no record of an installed candidate"
            ),
            "inspect it, and move it away if it is not needed",
        ));
    }
    let kernel = format!("{directory}/vmlinuz");
    let initrd = format!("{directory}/initrd.img");
    steps.push(Step::Directory { path: directory });
    steps.push(Step::Copy {
        from: wish.image.clone(),
        to: kernel,
        bytes: size(&wish.image),
        mode: 0o600,
        what: "the candidate",
    });
    let has_initrd = match &wish.initrd {
        Initrd::None => false,
        Initrd::File(from) => {
            steps.push(Step::Copy {
                from: from.clone(),
                to: initrd,
                bytes: size(from),
                mode: 0o600,
                what: "its initial RAM file system",
            });
            true
        }
        Initrd::MadeBy(program) => {
            if !sys.is_live() {
                let hint = "give it one with --initrd FILE";
                let reason = "no program is run for a captured machine".to_owned();
                plan.refusals.push(refusal(reason, hint));
            }
            steps.push(Step::Made {
                by: program.clone(),
                release: wish.release.clone(),
                to: initrd,
            });
            true
        }
    };
    let image = |step: &Step| match step {
        Step::Copy { bytes, .. } => *bytes,
        Step::Made { .. } => INITRD,
        _ => 0,
    };
    let needed = steps.iter().map(image).sum();
    plan.refusals.extend(room(sys, place, needed));
    let initrd = format!("/{DIRECTORY}/initrd.img");
    let own = running(sys);
    let entry = Entry {
        release: &wish.release,
        running: own.as_deref(),
        kernel: &format!("/{DIRECTORY}/vmlinuz"),
        initrd: has_initrd.then_some(initrd.as_str()),
        arguments,
    };
    match loader {
        Loader::Grub(grub) => {
            let path = grub.custom();
            let old = content(sys, &path);
            let added = grub.entry(sys, &entry).unwrap_or_default();
            if old.as_ref().is_some_and(|old| old.contains(ENTRY))
                || (old.is_none() && sys.exists(&path))
            {
                plan.refusals.push(refusal(
                    format!("{path} already has an entry {ENTRY}, or is not a text file"),
                    "remove it",
                ));
            }
            steps.push(Step::Text {
                new: appended(old.as_deref(), &added),
                old,
                path,
                what: "GRUB's file for custom entries: the candidate's",
            });
            steps.extend(environment(sys, grub.environment(), plan));
        }
        Loader::SystemdBoot(_) => {
            steps.push(Step::Text {
                path: format!("{place}/loader/entries/{ENTRY}.conf"),
                old: None,
                new: loader_entry(&entry),
                what: "systemd-boot's entry: the candidate's",
            });
            let path = systemd_boot::choice();
            let old = sys.read_up_to(&path, MOST).ok().map(|(bytes, _)| bytes);
            if old.is_some() {
                plan.warnings.push(
                    "another one-shot boot is already chosen; --revert restores it".to_owned(),
                );
            }
            steps.push(Step::Variable {
                path,
                old,
                new: systemd_boot::encoded(&format!("{ENTRY}.conf")),
            });
        }
        Loader::Kexec => {}
    }
    steps
}

/// Adds lines to a text, whose last line may have no end: behind another word, `#` begins no comment.
pub(super) fn appended(old: Option<&str>, added: &str) -> String {
    let old = old.unwrap_or_default();
    let newline = match old.is_empty() || old.ends_with('\n') {
        true => "",
        false => "\n",
    };
    format!("{old}{newline}{added}")
}

/// GRUB's environment with the candidate chosen.
fn environment(sys: &SysRoot, path: String, plan: &mut OneShotPlan) -> Option<Step> {
    let old = content(sys, &path);
    let mut env = match &old {
        None => EnvBlock::empty(),
        // Whether it is one was asked before.
        Some(text) => EnvBlock::parse(text.as_bytes()).ok()?,
    };
    if let Some(other) = env.value(CHOICE).filter(|other| !other.is_empty()) {
        plan.warnings.push(format!(
            "GRUB's {CHOICE} is already {other}; --revert restores it"
        ));
    }
    env.set(CHOICE, Some(ENTRY));
    let Some(new) = env.bytes() else {
        let hint = "remove variables with grub-editenv - unset NAME";
        plan.refusals.push(refusal(format!("{path} is full"), hint));
        return None;
    };
    let new = String::from_utf8(new).ok()?;
    Some(Step::Environment { path, old, new })
}

/// The Boot Loader Specification, type 1.
fn loader_entry(entry: &Entry<'_>) -> String {
    let mut lines = vec![
        "# Written by `punctual kernel install-once`; `punctual kernel install-once --revert` removes it.".to_owned(),
        format!("title punctual, one boot: {}", entry.release),
        format!("version {}", entry.release),
        format!("linux {}", entry.kernel),
    ];
    lines.extend(entry.initrd.map(|initrd| format!("initrd {initrd}")));
    lines.push(format!("options {}", entry.arguments.join(" ")));
    lines.join("\n") + "\n"
}

/// Says how much room is missing where the directory `place` is.
pub(super) fn room(sys: &SysRoot, place: &str, needed: u64) -> Option<OneShotRefusal> {
    let free = rustix::fs::statvfs(sys.full(place)).ok()?;
    let free = free.f_bavail.saturating_mul(free.f_frsize);
    let needed = needed.saturating_add(ROOM);
    (free < needed).then(|| {
        refusal(
            format!(
                "{place} has {} MB free; {} MB are needed",
                free >> 20,
                needed >> 20
            ),
            "make room, or give a smaller initial RAM file system with --initrd",
        )
    })
}

pub(super) fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |meta| meta.len())
}

/// Adds up what is in a directory; links are not followed.
pub(super) fn tree_size(path: &Path) -> u64 {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => tree_size(&entry.path()),
        Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |meta| meta.len()),
        _ => 0,
    });
    sizes.sum()
}
