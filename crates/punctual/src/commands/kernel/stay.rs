// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual kernel install`, `punctual kernel installed` and `punctual kernel uninstall`.

use std::path::{Path, PathBuf};

use punctual_host::one_shot::OneShotError;
use punctual_host::stay::{self, StayInitrd, StayWish};
use punctual_kernel::config;
use punctual_model::{
    INSTALLED_KERNELS_FORMAT, InstalledKernel, InstalledKernels, KernelInstallPlan,
};
use punctual_report::document::Document;

use super::once::{Named, TRIAL, Unpacked, exist, fits, named, require_machine};
use crate::cli::{KernelInstallArgs, KernelInstalledArgs, KernelUninstallArgs, StayPlace};
use crate::error::CliError;
use crate::exit::Exit;
use crate::kernels::kernel_store::{self, failed, now, show};
use crate::output::{self, confirm, print};
use crate::recording::new_id;
use crate::tuning::{Place, undone};

/// Installs a kernel to stay.
pub(super) fn install(home: Option<&Path>, args: &KernelInstallArgs) -> Result<Exit, CliError> {
    let place = place(&args.place);
    let found = Found::of(home, args)?;
    let wish = found.wish(args)?;
    let remarks = fits(
        &wish.release,
        wish.modules.as_deref(),
        args.initrd.as_deref(),
    )?;
    let mut prepared = stay::prepare(&place.sys, &wish);
    prepared.plan.warnings.extend(remarks);
    if let Some(unpacked) = &found.unpacked {
        unpacked.name_origins(&mut prepared.plan.kernel);
    }
    let plan = &prepared.plan;
    let there = stay::list(&place.sys, &place.state).ok();
    let there = there.and_then(|all| {
        all.into_iter()
            .find(|one| one.kernel.release == plan.kernel.release)
    });
    if let Some(there) = there {
        let there = OneShotError::InPlace {
            release: there.kernel.release,
            at: there.at,
        };
        return Err(error(there, "install the kernel"));
    }
    let possible = plan.refusals.is_empty();
    if args.json || args.dry_run || !possible {
        show(plan, args.json, Document::of_kernel_install_plan)?;
        if possible && !args.json {
            print(TRIAL)?;
        }
        return Ok(match possible {
            true => Exit::Fine,
            false => Exit::Unsupported,
        });
    }
    place.require_privilege(None)?;
    print(&output::written(&Document::of_kernel_install_plan(plan)))?;
    confirm(args.yes, "Write this?")?;
    stay::install(&prepared, &place.sys, &place.state, &now())
        .map_err(|err| error(err, "install the kernel"))?;
    print(&after(plan))?;
    Ok(Exit::Fine)
}

fn after(plan: &KernelInstallPlan) -> String {
    let release = &plan.kernel.release;
    let default = match plan.becomes_default {
        true => "it is the machine's default now",
        false => "the machine's default is what it was",
    };
    format!(
        "\nInstalled {release}: {default}. The machine was not restarted. `punctual kernel uninstall {release}` removes \
         it.\n"
    )
}

fn place(place: &StayPlace) -> Place {
    Place::new(place.root.as_deref(), place.state.as_deref())
}

/// The kernel's files.
#[derive(Debug)]
struct Found {
    name: String,
    image: PathBuf,
    modules: Option<PathBuf>,
    config: Option<PathBuf>,
    system_map: Option<PathBuf>,
    unpacked: Option<Unpacked>,
}

impl Found {
    fn of(home: Option<&Path>, args: &KernelInstallArgs) -> Result<Self, CliError> {
        exist(&[
            ("--modules", &args.modules),
            ("--config", &args.config),
            ("--system-map", &args.system_map),
            ("--initrd", &args.initrd),
        ])?;
        let kernel = &args.kernel;
        let name = kernel.file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        if kernel.extension().is_some_and(|end| end == "deb") {
            return Self::in_package(name, kernel);
        }
        let word = kernel.to_str().filter(|word| !word.contains('/'));
        let Some(word) = word.filter(|_| !kernel.exists()) else {
            return Ok(Self {
                name,
                image: kernel.clone(),
                modules: None,
                config: None,
                system_map: None,
                unpacked: None,
            });
        };
        let stock = kernel_store::open(home)?;
        let build = stock.build(word).ok().flatten();
        let packages = build.as_ref().map_or(&[][..], |build| &build.packages);
        let package = packages.iter().map(Path::new).find(|path| {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            file.starts_with("linux-image") && !file.contains("-dbg")
        });
        if let Some(package) = package {
            return Self::in_package(name, package);
        }
        let (image, config) = kernel_store::bootable(&stock, word)?;
        // Next to make's own directory is what was taken out of it.
        let map = image.with_file_name("obj").join("System.map");
        Ok(Self {
            name,
            image,
            modules: None,
            config,
            system_map: map.is_file().then_some(map),
            unpacked: None,
        })
    }

    fn in_package(name: String, deb: &Path) -> Result<Self, CliError> {
        let unpacked = Unpacked::of(deb)?;
        let found = unpacked.package.clone();
        Ok(Self {
            name,
            image: unpacked.image.clone(),
            modules: found.modules,
            config: found.config,
            system_map: found.system_map,
            unpacked: Some(unpacked),
        })
    }

    fn wish(&self, args: &KernelInstallArgs) -> Result<StayWish, CliError> {
        let Named { release, version } = named(&self.image)?;
        let either =
            |given: &Option<PathBuf>, own: &Option<PathBuf>| given.clone().or_else(|| own.clone());
        // As distributions name what belongs to an image.
        let beside = |name: &str| {
            let path = self.image.with_file_name(format!("{name}-{release}"));
            path.is_file().then_some(path)
        };
        let modules = either(&args.modules, &self.modules);
        let config = either(&args.config, &self.config).or_else(|| beside("config"));
        let system_map =
            either(&args.system_map, &self.system_map).or_else(|| beside("System.map"));
        if let (None, Some(config)) = (&modules, &config) {
            let what = format!("read the configuration {}", config.display());
            let values = config::read_file(config).map_err(|err| failed(&what, err))?;
            if values.is_on("MODULES") {
                return Err(CliError::usage(format!(
                    "{}: has modules, which are not with it",
                    self.name
                ))
                .hint(
                    "build it with `punctual kernel build --package`, name the package (.deb), or give the directory \
                     with --modules",
                ));
            }
        }
        Ok(StayWish {
            id: new_id()?.simple().to_string(),
            name: self.name.clone(),
            image: self.image.clone(),
            release,
            version,
            modules,
            config,
            system_map,
            initrd: match (&args.initrd, args.no_initrd) {
                (Some(path), _) => StayInitrd::File(path.clone()),
                (None, true) => StayInitrd::None,
                (None, false) => StayInitrd::Made,
            },
            default: args.default,
        })
    }
}

/// Lists what is installed.
pub(super) fn list(args: &KernelInstalledArgs) -> Result<Exit, CliError> {
    let place = place(&args.place);
    require_machine(&place, args.place.state.as_deref())?;
    let kernels = stay::list(&place.sys, &place.state)
        .map_err(|err| error(err, "list the installed kernels"))?;
    let whole = kernels
        .iter()
        .all(|kernel| kernel.complete && kernel.changed.is_empty());
    let list = InstalledKernels {
        format: INSTALLED_KERNELS_FORMAT.to_owned(),
        kernels,
    };
    show(&list, args.json, Document::of_installed_kernels)?;
    Ok(match whole {
        true => Exit::Fine,
        false => Exit::Failed,
    })
}

/// Removes an installed kernel.
pub(super) fn uninstall(args: &KernelUninstallArgs) -> Result<Exit, CliError> {
    let place = place(&args.place);
    require_machine(&place, args.place.state.as_deref())?;
    place.require_privilege(None)?;
    let failed = |err| error(err, &format!("uninstall {}", args.name));
    // What is not there is no question.
    let known = stay::list(&place.sys, &place.state).map_err(failed)?;
    let is_it =
        |kernel: &InstalledKernel| kernel.kernel.release == args.name || kernel.name == args.name;
    if !known.iter().any(is_it) {
        let name = args.name.clone();
        return Err(failed(OneShotError::NotInstalled { name }));
    }
    confirm(args.yes, &format!("Remove kernel {}?", args.name))?;
    let (release, removed) =
        stay::uninstall(&place.sys, &place.state, &args.name).map_err(failed)?;
    print(&format!("Kernel {release}\n"))?;
    print(&undone::words(&removed))?;
    Ok(undone::exit(&removed))
}

fn error(err: OneShotError, what: &str) -> CliError {
    let denied = matches!(&err, OneShotError::State(state) if state.is_denied());
    let (exit, hint) = match &err {
        _ if denied => (Exit::Unsupported, "run it with sudo"),
        OneShotError::InPlace { .. } => (
            Exit::Failed,
            "`punctual kernel installed` shows its state; `punctual kernel uninstall` removes it",
        ),
        OneShotError::NotInstalled { .. } => {
            (Exit::Usage, "`punctual kernel installed` lists them all")
        }
        OneShotError::Left { .. } => (
            Exit::NotRestored,
            "inspect it; `punctual kernel uninstall` removes the rest",
        ),
        OneShotError::Damaged { .. } => (Exit::Failed, "inspect it in the directory of --state"),
        OneShotError::Refused { .. } => (Exit::Failed, "nothing was changed"),
        _ if what.starts_with("uninstall") => (
            Exit::NotRestored,
            "the record is kept: remove the cause, and run this command again",
        ),
        _ => (
            Exit::Failed,
            "what was already written was taken back; remove the cause, and run this command again",
        ),
    };
    CliError::failed_to(what)
        .because(err)
        .exiting(exit)
        .hint(hint)
}
