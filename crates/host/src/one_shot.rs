// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A kernel that boots once on this machine, which falls back to its own kernel by itself.
//!
//! The contract: the machine's default is never touched; the boot loader forgets the choice before it starts the
//! candidate; the candidate restarts the machine when it panics, and a watchdog does when it hangs. So whatever
//! resets the machine brings its own kernel back. The candidate is known by a word of its command line,
//! `punctual.once=ID`, and by release and version.
//!
//! [`prepare`] looks and changes nothing. [`install`] keeps on disk what undoes it before it writes anything, and
//! [`revert`] takes it back: files that someone changed since are left alone, and of GRUB's environment only our
//! choice is taken out then.

mod env_block;
mod files;
mod generated;
pub(crate) mod grub;
mod install;
mod piece;
mod pieces;
mod script;
mod status;
pub mod stay;
mod step;
pub(crate) mod systemd_boot;
mod tools;
mod tree;
mod words;

use std::path::PathBuf;

use punctual_model::{
    ONE_SHOT_PLAN_FORMAT, OneShotFallback, OneShotKernel, OneShotLoader, OneShotPlan,
    OneShotRefusal,
};
use punctual_sys::SysRoot;

use self::grub::Grub;
use self::pieces::Step;
use self::systemd_boot::SystemdBoot;
use crate::mounts::Mount;

pub use install::{OneShotError, install, installed, revert};
pub use status::{confirm, status};

/// Name of the candidate's entry.
const ENTRY: &str = "punctual-once";
/// Word of the candidate's command line that says which boot it is.
pub const MARK: &str = "punctual.once";
/// Directory of the candidate's files, on the file system that the boot loader reads.
const DIRECTORY: &str = "punctual";
/// What takes a kernel away again that is installed to stay; text files of ours have it.
const UNINSTALL: &str = "punctual kernel uninstall";

/// What watches over the candidate.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Watchdog {
    /// A hardware watchdog with this time, where the machine has one.
    IfThere(u32),
    /// A hardware watchdog with this time in seconds.
    Seconds(u32),
    /// None.
    Off,
}

/// Where the candidate's initial RAM file system comes from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Initrd {
    /// Nowhere: it boots without one.
    None,
    /// A file.
    File(PathBuf),
    /// This program makes it, with `-o FILE RELEASE` as `mkinitramfs` takes it, once the modules are in place.
    MadeBy(PathBuf),
}

/// The kernel that is to boot once, and how.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Name of this boot.
    pub id: String,
    /// Its image.
    pub image: PathBuf,
    /// Release, as `uname -r` will say it.
    pub release: String,
    /// Version, as `uname -v` will say it.
    pub version: String,
    /// Its initial RAM file system.
    pub initrd: Initrd,
    /// Directory of its modules, whose content goes to `/lib/modules/RELEASE`.
    pub modules: Option<PathBuf>,
    /// Further arguments; they come behind those of the running kernel.
    pub append: Vec<String>,
    /// Time after which it restarts the machine when it has panicked, in seconds.
    pub panic_s: u32,
    /// What watches over it.
    pub watchdog: Watchdog,
    /// Whether it panics when it finds itself locked up.
    pub panic_when_stuck: bool,
    /// What starts it. None: what starts the machine.
    pub loader: Option<OneShotLoader>,
    /// The experiment that goes on when it is confirmed.
    pub resume: Option<String>,
}

/// A plan, and what carries it out.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The plan.
    pub plan: OneShotPlan,
    steps: Vec<Step>,
    resume: Option<String>,
}

/// What starts the machine.
#[derive(Debug)]
enum Loader {
    Grub(Grub),
    SystemdBoot(SystemdBoot),
    Kexec,
}

/// Looks at the machine, and says what `wish` takes; it changes nothing.
pub fn prepare(sys: &SysRoot, wish: &Wish) -> Prepared {
    let mut plan = OneShotPlan {
        format: ONE_SHOT_PLAN_FORMAT.to_owned(),
        id: wish.id.clone(),
        candidate: OneShotKernel {
            image: wish.image.display().to_string(),
            release: wish.release.clone(),
            version: wish.version.clone(),
            initrd: match &wish.initrd {
                Initrd::None => None,
                Initrd::File(path) => Some(path.display().to_string()),
                Initrd::MadeBy(program) => Some(format!("made by {}", program.display())),
            },
            modules: wish.modules.as_ref().map(|path| path.display().to_string()),
        },
        loader: None,
        arguments: String::new(),
        writes: Vec::new(),
        falls_back: Vec::new(),
        refusals: Vec::new(),
        warnings: Vec::new(),
        next: Vec::new(),
    };
    let arguments = words::arguments(sys, wish, &mut plan);
    let mut steps = Vec::new();
    let otherwise = "boot the kernel by the means of this machine, or with --loader kexec where the kernel has it";
    match find(sys, wish.loader, otherwise) {
        Ok(loader) => {
            plan.loader = Some(loader.kind());
            plan.refusals.extend(loader.refusals(sys));
            if plan.refusals.is_empty() {
                steps = pieces::steps(sys, wish, &loader, &arguments, &mut plan);
            }
            plan.falls_back = loader.fallbacks();
        }
        Err(refusal) => plan.refusals.push(refusal),
    }
    words::fallbacks(sys, wish, &mut plan);
    plan.arguments = arguments.join(" ");
    plan.writes = steps.iter().map(Step::shown).collect();
    plan.next = match plan.loader {
        None => Vec::new(),
        Some(OneShotLoader::Kexec) => vec!["systemctl kexec".to_owned()],
        Some(_) => vec!["reboot".to_owned()],
    };
    if !plan.next.is_empty() {
        plan.next
            .push("punctual kernel status --confirm, on the candidate".to_owned());
    }
    Prepared {
        plan,
        steps,
        resume: wish.resume.clone(),
    }
}

/// Returns what starts the machine. `without` says what else there is where nothing that is known does.
fn find(
    sys: &SysRoot,
    wanted: Option<OneShotLoader>,
    without: &str,
) -> Result<Loader, OneShotRefusal> {
    let systemd_boot = || SystemdBoot::find(sys).map(Loader::SystemdBoot);
    let grub = || Grub::find(sys).map(Loader::Grub);
    let found = match wanted {
        Some(OneShotLoader::Kexec) => Some(Loader::Kexec),
        Some(OneShotLoader::Grub) => grub(),
        Some(OneShotLoader::SystemdBoot) => systemd_boot(),
        None => systemd_boot().or_else(grub),
    };
    found.ok_or_else(|| match wanted {
        Some(loader) => refusal(
            format!("{} does not start this machine", loader.name()),
            "leave --loader out",
        ),
        None if SystemdBoot::files_are_there(sys) => refusal(
            "there are loader entries, but the firmware's variables do not say that systemd-boot started this machine"
                .to_owned(),
            "mount efivarfs at /sys/firmware/efi/efivars, if this machine has UEFI",
        ),
        None => refusal(
            "neither GRUB nor systemd-boot starts this machine: /boot/grub/grub.cfg is not there, and the firmware's \
             variables name no loader"
                .to_owned(),
            without,
        ),
    })
}

impl Loader {
    const fn kind(&self) -> OneShotLoader {
        match self {
            Self::Grub(_) => OneShotLoader::Grub,
            Self::SystemdBoot(_) => OneShotLoader::SystemdBoot,
            Self::Kexec => OneShotLoader::Kexec,
        }
    }

    /// Returns where the candidate's directory goes.
    fn place(&self) -> Option<&'static str> {
        match self {
            Self::Grub(_) => Some("/boot"),
            Self::SystemdBoot(found) => found.place,
            Self::Kexec => None,
        }
    }

    fn refusals(&self, sys: &SysRoot) -> Vec<OneShotRefusal> {
        let mut all = match self {
            Self::Grub(grub) => grub.refusals(sys, running(sys).as_deref()),
            Self::SystemdBoot(found) => found.refusals(),
            Self::Kexec => kexec_refusals(sys),
        };
        if let Some(place) = self.place() {
            if Mount::of(sys, place).is_some_and(|mount| mount.read_only) {
                let hint = "mount -o remount,rw it, or run the program on the machine itself";
                all.push(refusal(format!("{place} is mounted read-only"), hint));
            }
            if secure_boot(sys) {
                all.push(refusal(
                    "Secure Boot is on, and whether the firmware trusts this kernel's signature is not known".to_owned(),
                    "sign the kernel and choose it by hand, or turn Secure Boot off",
                ));
            }
        }
        all
    }

    fn fallbacks(&self) -> Vec<OneShotFallback> {
        match self {
            Self::Grub(grub) => grub.fallbacks(),
            Self::SystemdBoot(_) => vec![fallback(
                "the image or the initial RAM file system cannot be loaded",
                None,
            )],
            Self::Kexec => Vec::new(),
        }
    }
}

fn kexec_refusals(sys: &SysRoot) -> Vec<OneShotRefusal> {
    let mut all = Vec::new();
    if !sys.is_live() {
        let hint = "leave --root out";
        all.push(refusal(
            "a captured machine runs no kernel".to_owned(),
            hint,
        ));
    } else if !sys.exists("/sys/kernel/kexec_loaded") {
        let hint = "boot it by the boot loader";
        all.push(refusal(
            "the running kernel is built without kexec".to_owned(),
            hint,
        ));
    } else if kexec_is_loaded(sys) {
        let hint = "kexec --unload, or restart, if it is not wanted";
        all.push(refusal(
            "a kernel is loaded for kexec already, and could not be put back".to_owned(),
            hint,
        ));
    } else if sys.fact::<u8>("/proc/sys/kernel/kexec_load_disabled") == Some(1) {
        let hint = "it can be turned on only by a restart";
        all.push(refusal("kernel.kexec_load_disabled is 1".to_owned(), hint));
    }
    all
}

/// Whether a kernel is in memory that the running one can jump to.
fn kexec_is_loaded(sys: &SysRoot) -> bool {
    sys.fact::<u8>("/sys/kernel/kexec_loaded") == Some(1)
}

/// Whether the firmware starts only what is signed (UEFI specification, the global variable `SecureBoot`).
fn secure_boot(sys: &SysRoot) -> bool {
    let path = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
    let value = sys.read_up_to(path, 8).ok();
    value.is_some_and(|(bytes, _)| bytes.get(4) == Some(&1))
}

/// Returns the release of the running kernel.
fn running(sys: &SysRoot) -> Option<String> {
    let release = sys.read("/proc/sys/kernel/osrelease").ok()?;
    Some(release.trim().to_owned())
}

/// Reads a file as it is, or none where there is none that is text.
fn content(sys: &SysRoot, path: &str) -> Option<String> {
    let (bytes, _) = sys.read_up_to(path, 4 << 20).ok()?;
    String::from_utf8(bytes).ok()
}

fn refusal(reason: String, hint: &str) -> OneShotRefusal {
    OneShotRefusal {
        reason,
        hint: hint.to_owned(),
    }
}

fn fallback(failure: &str, way_back: Option<String>) -> OneShotFallback {
    OneShotFallback {
        failure: failure.to_owned(),
        way_back,
    }
}

/// Returns the kernel's name of this boot; empty where it has none.
fn boot_id(sys: &SysRoot) -> String {
    word(sys, "/proc/sys/kernel/random/boot_id")
}

fn word(sys: &SysRoot, path: &str) -> String {
    sys.read(path).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests;
