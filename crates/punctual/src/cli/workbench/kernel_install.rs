// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options of `kernel install`, `kernel installed` and `kernel uninstall`.

use std::path::PathBuf;

use clap::Args;

use super::path;

/// Where installed kernels are kept, and on which machine
#[derive(Args, Debug)]
pub struct StayPlace {
    /// Directory of the undo record, owned by root [default: /var/lib/punctual/tune]
    #[arg(long, value_name = "DIR", env = crate::tuning::STATE_VARIABLE, value_parser = path())]
    pub state: Option<PathBuf>,

    /// Work on the root file system of another machine, mounted in DIR with its /proc, /sys and /dev; its programs are run
    /// in it (chroot)
    #[arg(long, value_name = "DIR", value_parser = path())]
    pub root: Option<PathBuf>,
}

const INSTALL: &str = "\
Image, modules, configuration and System.map are copied; a package is unpacked,
and none of its scripts runs. The machine's own programs make the initial RAM
file system (update-initramfs, dracut) and the boot entry (grub-mkconfig,
kernel-install); what they made is read back. The default entry stays what it
is. Nothing is written without --yes or a confirmation at the terminal, and
nothing is restarted. `punctual kernel uninstall` removes it all, also after
this command was killed.
Exit status 5: this machine does not support it, with the reasons.";

/// Options of `kernel install`
#[derive(Args, Debug)]
#[command(after_help = INSTALL)]
pub struct KernelInstallArgs {
    /// A build of the store (with modules: built with --package), a .deb, or a kernel image
    #[arg(value_name = "KERNEL", value_parser = path())]
    pub kernel: PathBuf,

    /// Directory of its modules, as modules_install makes it [default: those of the package]
    #[arg(long, value_name = "DIR", value_parser = path())]
    pub modules: Option<PathBuf>,

    /// Its configuration [default: that of the package or build, or config-RELEASE next to the image]
    #[arg(long, value_name = "FILE", value_parser = path())]
    pub config: Option<PathBuf>,

    /// Its System.map [default: that of the package or build, or System.map-RELEASE next to the image]
    #[arg(long, value_name = "FILE", value_parser = path())]
    pub system_map: Option<PathBuf>,

    /// Its initial RAM file system [default: update-initramfs or dracut makes it]
    #[arg(long, value_name = "FILE", conflicts_with = "no_initrd", value_parser = path())]
    pub initrd: Option<PathBuf>,

    /// Install it without an initial RAM file system
    #[arg(long)]
    pub no_initrd: bool,

    /// Make it the kernel that the machine boots by default
    #[arg(long)]
    pub default: bool,

    /// Only show what would be written
    #[arg(long)]
    pub dry_run: bool,

    /// Do not ask
    #[arg(long)]
    pub yes: bool,

    /// Print the plan as JSON; nothing is written then
    #[arg(long)]
    pub json: bool,

    /// The machine
    #[command(flatten)]
    pub place: StayPlace,
}

/// Options of `kernel installed`
#[derive(Args, Debug)]
pub struct KernelInstalledArgs {
    /// Print as JSON
    #[arg(long)]
    pub json: bool,

    /// The machine
    #[command(flatten)]
    pub place: StayPlace,
}

/// Options of `kernel uninstall`
#[derive(Args, Debug)]
pub struct KernelUninstallArgs {
    /// Release of the kernel (`uname -r`), or the name that it was installed by
    #[arg(value_name = "NAME")]
    pub name: String,

    /// Do not ask
    #[arg(long)]
    pub yes: bool,

    /// The machine
    #[command(flatten)]
    pub place: StayPlace,
}
