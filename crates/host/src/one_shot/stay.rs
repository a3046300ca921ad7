// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A kernel that is installed to stay, and taken away again whole.
//!
//! Image, modules, configuration and System.map are copied. The initial RAM file system and the boot loader's entry are
//! the machine's programs' to make: `update-initramfs` or `dracut`, and `grub-mkconfig`; what they made is
//! read back. The machine's default stays what it was: where it is only the first of a list, it is named before the list
//! grows. Steps, and what undoes them, are those of one-shot boots.

mod grub;
pub(super) mod menu;
mod record;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use punctual_model::{
    KERNEL_INSTALL_PLAN_FORMAT, KernelInstallPlan, OneShotKernel, OneShotRefusal,
};
use punctual_sys::SysRoot;
use rustix::fs::StatVfsMountFlags;

use super::pieces::{INITRD, Step, room, size, tree_size};
use super::tools;
use super::{Loader, refusal, secure_boot};
use crate::mounts::Mount;

pub use record::{install, list, uninstall};

/// Where the initial RAM file system comes from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum StayInitrd {
    /// A program of the machine makes it.
    Made,
    /// A file.
    File(PathBuf),
    /// There is none.
    None,
}

/// A kernel that is to be installed.
#[derive(Clone, Debug)]
pub struct StayWish {
    /// Name of this installation, which sorts behind those before it.
    pub id: String,
    /// What the user calls the kernel.
    pub name: String,
    /// Its image.
    pub image: PathBuf,
    /// Release, as `uname -r` will say it.
    pub release: String,
    /// Version, as `uname -v` will say it.
    pub version: String,
    /// Directory of its modules.
    pub modules: Option<PathBuf>,
    /// Its configuration.
    pub config: Option<PathBuf>,
    /// Its symbols.
    pub system_map: Option<PathBuf>,
    /// Its initial RAM file system.
    pub initrd: StayInitrd,
    /// Whether it becomes the machine's default.
    pub default: bool,
}

/// A plan, and what carries it out.
#[derive(Clone, Debug)]
pub struct StayPrepared {
    /// The plan.
    pub plan: KernelInstallPlan,
    steps: Vec<Step>,
}

/// Looks at the machine, and says what `wish` takes; it changes nothing.
pub fn prepare(sys: &SysRoot, wish: &StayWish) -> StayPrepared {
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let mut plan = KernelInstallPlan {
        format: KERNEL_INSTALL_PLAN_FORMAT.to_owned(),
        id: wish.id.clone(),
        name: wish.name.clone(),
        kernel: OneShotKernel {
            image: wish.image.display().to_string(),
            release: wish.release.clone(),
            version: wish.version.clone(),
            initrd: match &wish.initrd {
                StayInitrd::Made => Some("made by a program of the machine".to_owned()),
                StayInitrd::File(path) => Some(path.display().to_string()),
                StayInitrd::None => None,
            },
            modules: path(&wish.modules),
        },
        loader: None,
        becomes_default: wish.default,
        default_named: None,
        writes: Vec::new(),
        refusals: Vec::new(),
        warnings: Vec::new(),
    };
    if !sys.full("/").is_dir() {
        plan.refusals.push(refusal(
            format!("{} is not a directory", sys.full("/").display()),
            "name the directory that the machine's / is mounted on",
        ));
        return StayPrepared {
            plan,
            steps: Vec::new(),
        };
    }
    let mut steps = files(sys, wish, &mut plan);
    if let Some(package) = packaged(sys, &wish.release) {
        plan.refusals.push(refusal(
            format!("package {package} has installed {}", wish.release),
            "remove that package first, or build the kernel with another LOCALVERSION",
        ));
    }
    match super::find(sys, None, "boot the kernel by the means of this machine") {
        Ok(Loader::Grub(_)) => {
            plan.loader = Some(punctual_model::OneShotLoader::Grub);
            grub::add(sys, wish, &mut steps, &mut plan);
        }
        // The newest entry is its default, whatever was chosen for this boot, and hooks of a distribution make entries of their own.
        Ok(Loader::SystemdBoot(_)) => plan.refusals.push(refusal(
            "systemd-boot starts the machine, and its default could change with the new entry".to_owned(),
            "boot the kernel with `punctual kernel install-once`, or install it with kernel-install(8)",
        )),
        Ok(Loader::Kexec) => {}
        Err(why) => plan.refusals.push(why),
    }
    may_write(sys, wish, &steps, &mut plan);
    plan.writes = steps.iter().map(Step::shown).collect();
    StayPrepared { plan, steps }
}

/// Image, modules, configuration, symbols and the initial RAM file system.
fn files(sys: &SysRoot, wish: &StayWish, plan: &mut KernelInstallPlan) -> Vec<Step> {
    let release = &wish.release;
    let mut steps = Vec::new();
    if wish.modules.is_none() && wish.config.is_none() {
        plan.warnings.push(
            "neither modules nor a configuration that says that it has none are given: a kernel whose modules are missing \
             may not find its root file system"
                .to_owned(),
        );
    }
    if let Some(from) = &wish.modules {
        if !from.join("modules.dep").is_file() {
            plan.refusals.push(refusal(
                format!(
                    "{} has no modules.dep, so no module would be found",
                    from.display()
                ),
                "make modules_install makes it, and so does depmod -b DIR RELEASE",
            ));
        }
        if !sys.exists("/lib/modules") {
            steps.push(Step::Directory {
                path: "/lib/modules".to_owned(),
            });
        }
        steps.push(Step::Tree {
            from: from.clone(),
            to: format!("/lib/modules/{release}"),
            bytes: tree_size(from),
        });
    }
    let mut copy = |from: &Path, name: &str, mode: u32, what: &'static str| {
        steps.push(Step::Copy {
            from: from.to_owned(),
            to: format!("/boot/{name}-{release}"),
            bytes: size(from),
            mode,
            what,
        });
    };
    copy(&wish.image, "vmlinuz", 0o644, "the kernel");
    if let Some(from) = &wish.config {
        copy(from, "config", 0o644, "its configuration");
    }
    if let Some(from) = &wish.system_map {
        copy(from, "System.map", 0o600, "its symbols");
    }
    match &wish.initrd {
        StayInitrd::None => plan.warnings.push(
            "without an initial RAM file system the kernel needs the drivers of its disk and of its \
             root file system built in"
                .to_owned(),
        ),
        StayInitrd::File(from) => copy(from, "initrd.img", 0o600, "its initial RAM file system"),
        StayInitrd::Made => match initrd_step(sys, wish) {
            Some(step) => {
                let debians = tools::find(sys, "update-initramfs").is_some();
                if debians && wish.config.is_none() {
                    plan.warnings.push(format!(
                        "no configuration is given: since Debian 12 update-initramfs fails without \
                         /boot/config-{release}"
                    ));
                }
                steps.push(step);
            }
            None => plan.refusals.push(refusal(
                "the machine has neither update-initramfs nor dracut".to_owned(),
                "install initramfs-tools or dracut, give a file with --initrd, or say --no-initrd",
            )),
        },
    }
    let taken = steps.iter().filter_map(|step| match step {
        Step::Tree { to, .. } | Step::Copy { to, .. } => sys.exists(to).then(|| to.clone()),
        Step::Tool { owns, .. } => owns.iter().find_map(|path| tools::owned(sys, path).pop()),
        _ => None,
    });
    let hint =
        "is this release installed already? Build it with another LOCALVERSION, or move that away";
    let taken: Vec<OneShotRefusal> = taken
        .map(|path| refusal(format!("{path} already exists"), hint))
        .collect();
    plan.refusals.extend(taken);
    steps
}

fn initrd_step(sys: &SysRoot, wish: &StayWish) -> Option<Step> {
    let release = &wish.release;
    let words =
        |words: &[&str]| -> Vec<String> { words.iter().map(|&word| word.to_owned()).collect() };
    let scratch = format!("/var/tmp/punctual-{}", wish.id);
    let what = "its initial RAM file system";
    let debian = format!("/boot/initrd.img-{release}");
    if let Some(program) = tools::find(sys, "update-initramfs") {
        return Some(Step::Tool {
            make: words(&[&program, "-c", "-k", release]),
            unmake: words(&[&program, "-d", "-k", release]),
            owns: vec![
                debian.clone(),
                format!("{debian}.new"),
                format!("{debian}.bak"),
                // Earlier versions of it note there what they made.
                format!("/var/lib/initramfs-tools/{release}"),
            ],
            scratch,
            what,
        });
    }
    let program = tools::find(sys, "dracut")?;
    let names = sys.names("/boot").unwrap_or_default();
    let image = match names.iter().any(|name| name.starts_with("initramfs-")) {
        true => format!("/boot/initramfs-{release}.img"),
        false => debian,
    };
    Some(Step::Tool {
        make: words(&[&program, "--kver", release, &image]),
        unmake: Vec::new(),
        owns: vec![image],
        scratch,
        what,
    })
}

/// Returns the package of Debian that a kernel is from, if it is from one.
fn packaged(sys: &SysRoot, release: &str) -> Option<String> {
    const LISTS: &str = "/var/lib/dpkg/info";
    let image = format!("/boot/vmlinuz-{release}");
    let names = sys.names(LISTS).unwrap_or_default();
    let mut lists = names
        .iter()
        .filter_map(|name| name.strip_suffix(".list"))
        .filter(|name| name.starts_with("linux-image"));
    let has = |name: &&str| {
        let list = sys.read(&format!("{LISTS}/{name}.list"));
        list.is_ok_and(|list| list.lines().any(|line| line == image))
    };
    lists.find(has).map(str::to_owned)
}

/// Whether what is to be written can be, as far as that is known before.
fn may_write(sys: &SysRoot, wish: &StayWish, steps: &[Step], plan: &mut KernelInstallPlan) {
    let below = |path: &str, place: &str| {
        path.strip_prefix(place)
            .is_some_and(|rest| rest.starts_with('/'))
    };
    for place in ["/boot", "/lib/modules", "/etc"] {
        let written = plan_paths(steps).any(|path| below(&path, place));
        // A machine that is mounted elsewhere has the mounts of this one.
        let mounted = rustix::fs::statvfs(sys.full(place));
        let locked = mounted.is_ok_and(|of| of.f_flag.contains(StatVfsMountFlags::RDONLY));
        if written && (locked || Mount::of(sys, place).is_some_and(|mount| mount.read_only)) {
            let hint = "mount -o remount,rw it, or run the program on the machine itself";
            plan.refusals
                .push(refusal(format!("{place} is mounted read-only"), hint));
        }
    }
    for path in plan_paths(steps) {
        if sys.within(&path).is_err() {
            plan.refusals.push(refusal(
                format!("{path}: a symbolic link leads out of the machine's files"),
                "look at where it leads",
            ));
        }
    }
    let needed = |place: &str| {
        let bytes = steps.iter().map(|step| match step {
            Step::Tree { to, bytes, .. } | Step::Copy { to, bytes, .. } if below(to, place) => {
                *bytes
            }
            Step::Tool { owns, .. } if owns.iter().any(|path| below(path, place)) => {
                initrd_size(sys)
            }
            _ => 0,
        });
        bytes.sum::<u64>()
    };
    for (place, among) in [
        ("/boot", "/boot"),
        ("/lib/modules", "/lib/modules"),
        ("/lib", "/lib/modules"),
    ] {
        if sys.exists(place) && (place == among || !sys.exists(among)) {
            plan.refusals.extend(room(sys, place, needed(among)));
        }
    }
    if secure_boot(sys) {
        plan.refusals.push(refusal(
            "Secure Boot is on, and whether the firmware trusts this kernel's signature is not known".to_owned(),
            "sign the kernel and install it by hand, or turn Secure Boot off",
        ));
    }
    if !sys.is_live() && !rustix::process::geteuid().is_root() {
        plan.refusals.push(refusal(
            "programs of a machine whose files are elsewhere are run by chroot, which only root may".to_owned(),
            "run it with sudo",
        ));
    }
    if !wish.default && plan.default_named.is_some() {
        plan.warnings.push(
            "the default is named, because it was only the first entry of the list: kernels that the distribution \
             installs do not become the default until `punctual kernel uninstall`"
                .to_owned(),
        );
    }
}

fn plan_paths(steps: &[Step]) -> impl Iterator<Item = String> + '_ {
    steps.iter().map(|step| step.shown().path)
}

/// What an initial RAM file system may take: twice the largest one that there is.
fn initrd_size(sys: &SysRoot) -> u64 {
    let names = sys.names("/boot").unwrap_or_default();
    let sizes = names
        .iter()
        .filter(|name| name.starts_with("init"))
        .map(|name| size(&sys.full(&format!("/boot/{name}"))));
    sizes
        .max()
        .filter(|&bytes| bytes > 0)
        .map_or(INITRD, |bytes| bytes.saturating_mul(2))
}
