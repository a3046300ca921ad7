// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Two kernels for a study: those that are named, or a stock kernel and an RT kernel of one version that
//! are found on this machine.
//!
//! What is found is booted in virtual time: nothing but the kernel differs there, no machine has to be
//! booted again, and it works where there is no KVM.

use std::fs;
use std::path::{Path, PathBuf};

use punctual_kernel::GuestTarget;
use punctual_kernel::boot::{Architecture, Image};
use punctual_kernel::guest::Model;
use punctual_kernel::source::KernelStore;
use punctual_lab::study::Need;

use crate::cli::StudyRunArgs;
use crate::error::CliError;
use crate::guests;
use punctual_model::Ordered as _;

/// Where `scripts/kernel-images.sh` puts Debian's.
const OF_THE_SOURCES: &str = "target/kernels";

/// Where it puts those for arm64.
const OF_THE_SOURCES_ARM64: &str = "target/kernels/arm64";

/// Where a distribution installs its own.
const INSTALLED: &str = "/boot";

/// A stock kernel and an RT kernel, as `measure --target` takes them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Pair {
    pub(super) stock: String,
    pub(super) rt: String,
}

/// The kernels that a study may compare, or why there are none.
#[derive(Clone, Debug)]
pub(super) struct Kernels {
    /// Those that are named, or found.
    pub(super) pair: Result<Pair, String>,
    /// Those for arm64, where the pair is not for that.
    pub(super) arm64: Result<Pair, String>,
}

impl Kernels {
    /// Returns why a need for kernels is not met.
    pub(super) fn lack(&self, need: Need) -> Option<String> {
        match need {
            Need::Root => None,
            Need::TwoKernels => self.pair.as_ref().err().cloned(),
            Need::TwoArm64Kernels => self.arm64.as_ref().err().cloned(),
        }
    }
}

/// An image that says what it is.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Found {
    path: PathBuf,
    architecture: Architecture,
    release: String,
    rt: bool,
}

/// Returns the kernels of a study: those that were `built` for it, if there are any.
///
/// # Errors
///
/// Fails if `--kernels` names no directory that can be read.
pub(super) fn of(
    args: &StudyRunArgs,
    built: Option<&Pair>,
    home: &Path,
) -> Result<Kernels, CliError> {
    let (places, images) = found(args, home)?;
    let here = Architecture::here().unwrap_or_default();
    let named = match args.target.as_slice() {
        [stock, rt] => Some(Pair {
            stock: stock.clone(),
            rt: rt.clone(),
        }),
        _ => built.cloned(),
    };
    let (mut of_arm64, pair) = match (named, pair(&images, here)) {
        (Some(named), _) => (named.is_arm64(), Ok(named)),
        (None, None) => {
            let lacks = guests::lack(here);
            (false, Err(lacks.unwrap_or_else(|| lack(&images, &places))))
        }
        (None, Some((architecture, pair))) => (
            architecture == Architecture::Arm64,
            guests::lack(architecture).map_or(Ok(pair), Err),
        ),
    };
    of_arm64 &= pair.is_ok();
    Ok(Kernels {
        arm64: match of_arm64 {
            true => Err("the kernels of the other parts are for arm64 already".to_owned()),
            false => arm64(args, home),
        },
        pair,
    })
}

/// A pair for arm64: of the directory that is named, else of the sources and the store.
fn arm64(args: &StudyRunArgs, home: &Path) -> Result<Pair, String> {
    let mut images = in_directory(Path::new(OF_THE_SOURCES_ARM64));
    images.extend(args.kernels.iter().flat_map(|named| in_directory(named)));
    images.extend(in_stock(home));
    images.retain(|image| image.architecture == Architecture::Arm64);
    match pair(&images, Architecture::Arm64) {
        Some((architecture, pair)) => guests::lack(architecture).map_or(Ok(pair), Err),
        None => Err(format!(
            "it needs a stock kernel and a PREEMPT_RT kernel of the same version for arm64, but \
             {OF_THE_SOURCES_ARM64} and the store have none; on Debian `scripts/kernel-images.sh arm64` gets both \
             without installing them, --kernels names a directory with images"
        )),
    }
}

/// The images where kernels are looked for, and where that is.
fn found(args: &StudyRunArgs, home: &Path) -> Result<(Vec<PathBuf>, Vec<Found>), CliError> {
    let places: Vec<PathBuf> = match &args.kernels {
        Some(named) => {
            fs::read_dir(named).map_err(|err| {
                CliError::usage(format!("--kernels {}: {err}", named.display()))
                    .hint("name a directory with kernel images (vmlinuz or bzImage)")
            })?;
            vec![named.clone()]
        }
        None => vec![PathBuf::from(OF_THE_SOURCES), PathBuf::from(INSTALLED)],
    };
    let mut images: Vec<Found> = places
        .iter()
        .flat_map(|place| in_directory(place))
        .collect();
    if args.kernels.is_none() {
        images.extend(in_stock(home));
    }
    Ok((places, images))
}

impl Pair {
    /// Whether the stock kernel is for arm64.
    fn is_arm64(&self) -> bool {
        let kernel = self.kernel().and_then(|kernel| Image::read(&kernel).ok());
        kernel.is_some_and(|image| image.architecture == Architecture::Arm64)
    }

    /// The stock kernel with the model that it has where none is asked for.
    pub(super) fn any_model(&self) -> String {
        let Ok(target) = self.stock.parse::<GuestTarget>() else {
            return self.stock.clone();
        };
        let mut append = target.append.clone();
        append.retain(|argument| !argument.starts_with("preempt="));
        let target = GuestTarget {
            append,
            model: None,
            ..target
        };
        target.words()
    }

    /// Returns the image of the stock kernel.
    pub(super) fn kernel(&self) -> Option<PathBuf> {
        Some(self.stock.parse::<GuestTarget>().ok()?.kernel)
    }
}

fn lack(images: &[Found], places: &[PathBuf]) -> String {
    let places: Vec<String> = places.iter().map(|p| p.display().to_string()).collect();
    let found = match images.len() {
        0 => "no kernel image".to_owned(),
        _ => {
            let names: Vec<&str> = images.iter().map(|image| image.release.as_str()).collect();
            format!("only {}", names.join(", "))
        }
    };
    format!(
        "it needs a stock kernel and a PREEMPT_RT kernel of the same version, but {} and the store \
         have {found}; on Debian `scripts/kernel-images.sh` gets both without installing them; \
         --kernels names a directory with images, --target each kernel",
        places.join(", ")
    )
}

/// The images of a directory, by name.
fn in_directory(place: &Path) -> Vec<Found> {
    let entries = fs::read_dir(place).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    paths.iter().filter_map(|path| read(path)).collect()
}

/// The images that `punctual kernel` has fetched or built.
fn in_stock(home: &Path) -> Vec<Found> {
    let stock = KernelStore::at(home.join("kernels"));
    let Ok(list) = stock.list() else {
        return Vec::new();
    };
    let builds = list.builds.iter().map(|build| &build.name);
    let images = list.images.iter().map(|image| &image.name);
    let bootable = |name: &String| stock.bootable(name).ok();
    let bootable = builds.chain(images).filter_map(bootable);
    bootable.filter_map(|(path, _)| read(&path)).collect()
}

fn read(path: &Path) -> Option<Found> {
    let path = fs::canonicalize(path).ok().filter(|path| path.is_file())?;
    let image = Image::read(&path).ok()?;
    Some(Found {
        release: image.release.clone()?,
        rt: image.models() == [Model::Rt],
        architecture: image.architecture,
        path,
    })
}

/// The version without what a distribution or a patch adds: `6.1.0` of `6.1.0-56-rt-amd64`.
fn version(release: &str) -> &str {
    release.split(['-', '+']).next().unwrap_or(release)
}

/// The newest version that there are both kernels of, for the same processors: those of `first`, where there are any.
fn pair(images: &[Found], first: Architecture) -> Option<(Architecture, Pair)> {
    let numbers = |image: &Found| -> Vec<u64> {
        let parts = image.release.split(|c: char| !c.is_ascii_digit());
        parts.filter_map(|part| part.parse().ok()).collect()
    };
    let target = |image: &Found| format!("guest:{},virtual-time", image.path.display());
    let mut rt: Vec<&Found> = images.iter().filter(|image| image.rt).collect();
    rt.order_by_key(|image| (image.architecture == first, numbers(image)));
    rt.iter().rev().find_map(|rt| {
        let same = |image: &&Found| {
            !image.rt
                && image.architecture == rt.architecture
                && version(&image.release) == version(&rt.release)
        };
        let stock = images
            .iter()
            .filter(same)
            .max_by_key(|image| numbers(image))?;
        let pair = Pair {
            stock: target(stock),
            rt: target(rt),
        };
        Some((rt.architecture, pair))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(release: &str, rt: bool) -> Found {
        Found {
            path: PathBuf::from(format!("/k/{release}")),
            architecture: match release.ends_with("-arm64") {
                true => Architecture::Arm64,
                false => Architecture::X86_64,
            },
            release: release.to_owned(),
            rt,
        }
    }

    #[test]
    fn the_newest_version_of_which_there_are_both_is_taken() {
        let images = [
            found("6.1.0-9-amd64", false),
            found("6.1.0-56-amd64", false),
            found("6.1.0-56-rt-amd64", true),
            found("5.10.0-3-rt-amd64", true),
            found("6.12.1-amd64", false),
            found("6.1.0-57-arm64", false),
        ];
        let (architecture, pair) = pair(&images, Architecture::X86_64).unwrap();
        assert_eq!(architecture, Architecture::X86_64);
        assert_eq!(pair.stock, "guest:/k/6.1.0-56-amd64,virtual-time");
        assert_eq!(pair.rt, "guest:/k/6.1.0-56-rt-amd64,virtual-time");
    }

    #[test]
    fn kernels_for_these_processors_come_before_newer_ones_for_others() {
        let images = [
            found("6.1.0-56-amd64", false),
            found("6.1.0-56-rt-amd64", true),
            found("6.12.1-arm64", false),
            found("6.12.1-rt-arm64", true),
        ];
        for (here, version) in [
            (Architecture::X86_64, "6.1.0-56"),
            (Architecture::Arm64, "6.12.1"),
        ] {
            let (architecture, pair) = pair(&images, here).unwrap();
            assert_eq!(architecture, here);
            assert!(pair.rt.contains(version), "{pair:?}");
        }
    }

    #[test]
    fn a_stock_kernel_with_a_model_can_be_booted_with_any() {
        let of = |stock: &str| Pair {
            stock: stock.to_owned(),
            rt: String::new(),
        };
        for stock in [
            "guest:/k/stock,virtual-time",
            "guest:/k/stock,virtual-time,append=preempt=voluntary,model=voluntary",
        ] {
            let any = of(stock).any_model();
            assert!(any.starts_with("guest:/k/stock,virtual-time"), "{any}");
            assert!(
                !any.contains("preempt=") && !any.contains("model="),
                "{any}"
            );
        }
        assert_eq!(of("ssh:host").any_model(), "ssh:host");
    }

    #[test]
    fn kernels_of_two_versions_are_no_pair_and_the_reason_names_them() {
        let images = [found("6.12.1-amd64", false), found("6.1.0-rt", true)];
        assert_eq!(pair(&images, Architecture::X86_64), None);
        let why = lack(&images, &[PathBuf::from("/boot")]);
        assert!(
            why.contains("/boot") && why.contains("only 6.12.1-amd64, 6.1.0-rt"),
            "{why}"
        );
        assert!(lack(&[], &[]).contains("no kernel image"));
    }
}
