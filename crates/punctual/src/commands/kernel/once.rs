// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual kernel install-once` and `punctual kernel status`.

use std::path::{Path, PathBuf};

use punctual_host::one_shot::{
    self, Initrd, MARK, OneShotError, Watchdog, Wish, confirm as confirm_boot,
};
use punctual_kernel::boot::{Architecture, Image, check_initramfs};
use punctual_kernel::modules::{BuiltFor, built_for};
use punctual_kernel::package::{self, KernelPackage, Scratch};
use punctual_model::{OneShotKernel, OneShotPlan, OneShotStatus};
use punctual_report::document::Document;

use crate::cli::{InstallOnceArgs, KernelStatusArgs, OncePlace, WatchdogArg};
use crate::error::CliError;
use crate::exit::Exit;
use crate::experiments::{Manner, status};
use crate::kernels::kernel_store::{self, failed, now, show};
use crate::output::{self, confirm, print, remark};
use crate::recording::new_id;
use crate::tuning::{Place, undone};
use crate::{experiments, home};

/// Time of a hardware watchdog unless another one is asked for, in seconds.
const WATCHDOG: u32 = 60;
/// What makes an initial RAM file system on Debian and Ubuntu.
const MAKER: &str = "mkinitramfs";
/// What ends a plan that is not carried out.
pub(super) const TRIAL: &str = "\nUnchanged: this was a trial\n";

/// Installs the candidate, or takes it back.
pub(super) fn install(home: Option<&Path>, args: &InstallOnceArgs) -> Result<Exit, CliError> {
    let place = place(&args.place);
    if args.revert {
        require_machine(&place, args.place.state.as_deref())?;
        return revert(&place, args.yes);
    }
    let Some(kernel) = &args.kernel else {
        return Err(CliError::usage("KERNEL is missing"));
    };
    if let Some(name) = &args.resume {
        status::must_exist(&home::find(home)?, name)?;
    }
    if let Some(there) = one_shot::installed(&place.state).ok().flatten() {
        return Err(OneShotError::InPlace {
            release: there.candidate.release,
            at: there.at,
        }
        .into());
    }
    let found = Found::of(home, kernel)?;
    let wish = wish(args, &place, &found)?;
    let remarks = fits(
        &wish.release,
        wish.modules.as_deref(),
        args.initrd.as_deref(),
    )?;
    let mut prepared = one_shot::prepare(&place.sys, &wish);
    prepared.plan.warnings.extend(remarks);
    if let Some(unpacked) = &found.unpacked {
        unpacked.name_origins(&mut prepared.plan.candidate);
    }
    let plan = &prepared.plan;
    let possible = plan.refusals.is_empty();
    if args.json || args.dry_run || !possible {
        show(plan, args.json, Document::of_one_shot_plan)?;
        if possible && !args.json {
            print(TRIAL)?;
        }
        return Ok(match possible {
            true => Exit::Fine,
            false => Exit::Unsupported,
        });
    }
    place.require_privilege(None)?;
    print(&output::written(&Document::of_one_shot_plan(plan)))?;
    confirm(args.yes, "Write this?")?;
    one_shot::install(&prepared, &place.sys, &place.state, &now())?;
    print(&after(plan))?;
    Ok(Exit::Fine)
}

fn after(plan: &OneShotPlan) -> String {
    format!(
        "\nInstalled. The machine was not restarted; do that yourself ({}). `punctual kernel install-once --revert` \
         undoes it, before or after.\n",
        plan.next.first().map_or("reboot", String::as_str)
    )
}

fn place(place: &OncePlace) -> Place {
    Place::new(place.root.as_deref(), place.state.as_deref())
}

/// The candidate's files.
#[derive(Debug)]
struct Found {
    image: PathBuf,
    modules: Option<PathBuf>,
    unpacked: Option<Unpacked>,
}

impl Found {
    fn of(home: Option<&Path>, kernel: &Path) -> Result<Self, CliError> {
        if kernel.extension().is_some_and(|end| end == "deb") {
            return Self::in_package(kernel);
        }
        let mut image = kernel.to_owned();
        if !kernel.exists()
            && let Some(name) = kernel.to_str()
            && !name.contains('/')
        {
            let stock = kernel_store::open(home)?;
            (image, _) = kernel_store::bootable(&stock, name)?;
        }
        Ok(Self {
            image,
            modules: None,
            unpacked: None,
        })
    }

    fn in_package(deb: &Path) -> Result<Self, CliError> {
        let unpacked = Unpacked::of(deb)?;
        Ok(Self {
            image: unpacked.image.clone(),
            modules: unpacked.package.modules.clone(),
            unpacked: Some(unpacked),
        })
    }
}

/// A package that is unpacked until this is dropped.
#[derive(Debug)]
pub(super) struct Unpacked {
    deb: PathBuf,
    pub(super) package: KernelPackage,
    pub(super) image: PathBuf,
    scratch: Scratch,
}

impl Unpacked {
    pub(super) fn of(deb: &Path) -> Result<Self, CliError> {
        let what = format!("unpack {}", deb.display());
        let scratch = Scratch::new().map_err(|err| CliError::failed_to(&what).because(err))?;
        let package = package::unpack(deb, scratch.path()).map_err(|err| failed(&what, err))?;
        let Some(image) = package.image.clone() else {
            return Err(
                CliError::usage(format!("{}: contains no kernel", deb.display())).hint(
                    "with Debian's names it is linux-image-..., not a package that only depends on it",
                ),
            );
        };
        // One that does not run here needs nothing that its modules are listed with.
        named(&image)?;
        package.list_modules().map_err(|err| failed(&what, err))?;
        Ok(Self {
            deb: deb.to_owned(),
            package,
            image,
            scratch,
        })
    }

    /// Names the places in the package that the kernel's files are from: those that they were unpacked to are soon gone.
    pub(super) fn name_origins(&self, kernel: &mut OneShotKernel) {
        let name = |path: &mut String| {
            if let Ok(inner) = Path::new(path).strip_prefix(self.scratch.path()) {
                *path = format!("{}: {}", self.deb.display(), inner.display());
            }
        };
        name(&mut kernel.image);
        kernel.modules.iter_mut().for_each(name);
    }
}

/// Fails where the modules are another kernel's, or the initial RAM file system is none: the kernel would come up without
/// its disk. Returns what could not be told of them.
pub(super) fn fits(
    release: &str,
    modules: Option<&Path>,
    initrd: Option<&Path>,
) -> Result<Option<String>, CliError> {
    if let Some(initrd) = initrd {
        check_initramfs(initrd)
            .map_err(|err| CliError::usage(format!("--initrd {}: {err}", initrd.display())))?;
    }
    let Some(modules) = modules else {
        return Ok(None);
    };
    match built_for(modules) {
        BuiltFor::Release(of) if of != release => Err(CliError::usage(format!(
            "{}: modules for {of}, and the kernel is {release}",
            modules.display()
        ))
        .hint(
            "name the directory that modules_install made for this kernel: .../lib/modules/RELEASE",
        )),
        BuiltFor::Unknown => Ok(Some(format!(
            "whether the modules were built for {release} is not known: those looked at do not say, or cannot be unpacked"
        ))),
        BuiltFor::None => Ok(Some(
            "the directory of modules has no module: what the kernel does not have built in is missing".to_owned(),
        )),
        BuiltFor::Release(_) => Ok(None),
    }
}

/// Fails where the files of the machine are not there: nothing is found in them, and that would read as nothing installed.
pub(super) fn require_machine(place: &Place, state: Option<&Path>) -> Result<(), CliError> {
    exist(&[("--root", &place.root)])?;
    if let Some(root) = &place.root {
        let shown = root.display();
        let mut files = std::fs::read_dir(root)
            .map_err(|err| CliError::usage(format!("--root {shown}: {err}")))?;
        if files.next().is_none() {
            return Err(CliError::usage(format!("--root {shown}: empty"))
                .hint("mount the machine's root file system there"));
        }
    }
    // Nothing may have been installed yet.
    if let Some(state) = state.filter(|state| !state.exists()) {
        remark(&format!(
            "Note: {}, the directory of --state, does not exist",
            state.display()
        ));
    }
    Ok(())
}

fn wish(args: &InstallOnceArgs, place: &Place, found: &Found) -> Result<Wish, CliError> {
    let Named { release, version } = named(&found.image)?;
    exist(&[("--initrd", &args.initrd), ("--modules", &args.modules)])?;
    // What is in place already serves the candidate of a package too.
    let theirs = found.modules.clone();
    let theirs = theirs.filter(|_| !place.sys.exists(&format!("/lib/modules/{release}")));
    Ok(Wish {
        id: new_id()?.simple().to_string(),
        image: found.image.clone(),
        version,
        initrd: match (&args.initrd, args.make_initrd) {
            (Some(path), _) => Initrd::File(path.clone()),
            (None, true) => Initrd::MadeBy(maker()?),
            (None, false) => Initrd::None,
        },
        modules: args.modules.clone().or(theirs),
        append: args.append.clone(),
        panic_s: args.panic_timeout,
        watchdog: match args.watchdog {
            WatchdogArg::Auto => Watchdog::IfThere(WATCHDOG),
            WatchdogArg::Off => Watchdog::Off,
            WatchdogArg::Seconds(seconds) => Watchdog::Seconds(seconds),
        },
        panic_when_stuck: args.panic_when_stuck,
        loader: args.loader.wanted(),
        resume: args.resume.clone(),
        release,
    })
}

/// What an image says of itself.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) release: String,
    pub(super) version: String,
}

/// Reads what the image of a kernel for this machine says of itself.
pub(super) fn named(image_path: &Path) -> Result<Named, CliError> {
    let image = Image::read(image_path).map_err(|err| {
        CliError::failed_to(format!("read kernel image {}", image_path.display()))
            .because(err)
            .hint("name arch/x86/boot/bzImage of the build, or /boot/vmlinuz-...")
    })?;
    if Architecture::here() != Some(image.architecture) {
        return Err(CliError::usage(format!(
            "{}: a kernel for {}, which does not run on this machine",
            image_path.display(),
            image.architecture
        )));
    }
    let no_image = || {
        CliError::usage(format!(
            "{}: not a bzImage, so its version is unknown",
            image_path.display()
        ))
        .hint("name arch/x86/boot/bzImage of the build, or /boot/vmlinuz-...")
    };
    let release = image.release.ok_or_else(no_image)?;
    let text = image.version.unwrap_or_default();
    let version = text.find(" #").and_then(|at| text.get(at + 1..));
    let version = version.ok_or_else(no_image)?.to_owned();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '~' | '-');
    if !release.starts_with(|c: char| c.is_ascii_alphanumeric()) || !release.chars().all(plain) {
        return Err(CliError::usage(format!(
            "the release {release} cannot be used in file names"
        )));
    }
    Ok(Named { release, version })
}

/// Fails where a file of an option is not there.
pub(super) fn exist(files: &[(&str, &Option<PathBuf>)]) -> Result<(), CliError> {
    for (option, path) in files {
        if let Some(path) = path.as_ref().filter(|path| !path.exists()) {
            return Err(CliError::usage(format!(
                "{option} {}: not found",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Finds the program that makes initial RAM file systems. Root runs none that depends on the current directory.
fn maker() -> Result<PathBuf, CliError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path)
        .filter(|place| place.is_absolute())
        .collect();
    places.push("/usr/sbin".into());
    let found = places
        .iter()
        .map(|place| place.join(MAKER))
        .find(|program| program.is_file());
    found.ok_or_else(|| {
        CliError::failed_to(format!("make an initial RAM file system: {MAKER} is not installed"))
            .exiting(Exit::Unsupported)
            .hint("on Debian and Ubuntu: sudo apt-get install initramfs-tools; or make one in another way, and name \
                   it with --initrd")
    })
}

fn revert(place: &Place, yes: bool) -> Result<Exit, CliError> {
    place.require_privilege(None)?;
    let Some(there) = one_shot::installed(&place.state)? else {
        print("Nothing to undo: no candidate is installed\n")?;
        return Ok(Exit::Fine);
    };
    print(&format!(
        "The candidate {} ({}) is installed\n",
        there.candidate.release, there.at
    ))?;
    confirm(yes, "Take it back?")?;
    let Some(reverted) = one_shot::revert(&place.sys, &place.state)? else {
        return Ok(Exit::Fine);
    };
    print(&undone::words(&reverted))?;
    Ok(undone::exit(&reverted))
}

/// Says what has become of the candidate; keeps that it runs, and goes on with the experiment, if that is asked for.
pub(super) fn status(home: Option<&Path>, args: &KernelStatusArgs) -> Result<Exit, CliError> {
    if args.unit {
        print(&unit(home)?)?;
        return Ok(Exit::Fine);
    }
    let place = place(&args.place);
    require_machine(&place, args.place.state.as_deref())?;
    let status = match args.confirm {
        true => {
            place.require_privilege(None)?;
            confirm_boot(&place.sys, &place.state, &now())?
        }
        false => one_shot::status(&place.sys, &place.state, &now())?,
    };
    show(&status, args.json, Document::of_one_shot_status)?;
    match resumed(&status).filter(|_| args.confirm) {
        Some(name) => {
            let manner = Manner {
                quiet: true,
                ..Manner::default()
            };
            experiments::resume(home, name, manner)
        }
        None if status.state.is_fine() => Ok(Exit::Fine),
        None => Ok(Exit::Failed),
    }
}

fn resumed(status: &OneShotStatus) -> Option<&str> {
    status.installed.as_ref()?.resume.as_deref()
}

/// Returns a unit that starts on the candidate's boot alone.
fn unit(home: Option<&Path>) -> Result<String, CliError> {
    let program = std::env::current_exe()
        .map_err(|err| CliError::failed_to("find this program's file").because(err))?;
    let home = match home {
        Some(_) => format!(" --home {}", home::find(home)?.display()),
        None => String::new(),
    };
    Ok(format!(
        "# /etc/systemd/system/punctual-once.service; then: systemctl enable punctual-once.service\n\
         [Unit]\n\
         Description=Confirm that the candidate kernel has booted, and continue its experiment\n\
         ConditionKernelCommandLine={MARK}\n\
         After=multi-user.target\n\
         \n\
         [Service]\n\
         Type=exec\n\
         ExecStart={}{home} kernel status --confirm\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n",
        program.display()
    ))
}

impl From<OneShotError> for CliError {
    fn from(err: OneShotError) -> Self {
        let denied = matches!(&err, OneShotError::State(state) if state.is_denied());
        let hint = match &err {
            _ if denied => "run it with sudo",
            OneShotError::InPlace { .. } => {
                "`punctual kernel status` shows its state; `punctual kernel install-once --revert` removes it"
            }
            OneShotError::NotTheCandidate { .. } => "`punctual kernel status` says more",
            OneShotError::Damaged { .. } => "inspect one-shot.json in the directory of --state",
            OneShotError::Left { .. } => {
                "inspect it; `punctual kernel install-once --revert` undoes the rest"
            }
            _ => "nothing else was changed",
        };
        let what = match &err {
            OneShotError::NotTheCandidate { .. } => "confirm the candidate",
            OneShotError::Damaged { .. } | OneShotError::State(_) => {
                "read the record of the candidate"
            }
            _ => "install the candidate",
        };
        let exit = match &err {
            _ if denied => Exit::Unsupported,
            OneShotError::Left { .. } => Exit::NotRestored,
            _ => Exit::Failed,
        };
        Self::failed_to(what).because(err).exiting(exit).hint(hint)
    }
}
