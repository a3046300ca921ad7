// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Two kernels for a study: those that are named, or a stock kernel and an RT kernel of one version that
//! are found on this machine.
//!
//! What is found is booted in virtual time: nothing but the kernel differs there, no machine has to be
//! booted again, and it works where there is no KVM.

use std::fs;
use std::path::{Path, PathBuf};

use punctual_kernel::boot::{Architecture, Image};
use punctual_kernel::guest::Model;
use punctual_kernel::source::KernelStore;

use crate::cli::StudyRunArgs;
use crate::error::CliError;
use crate::guests;

/// Where `scripts/kernel-images.sh` puts Debian's.
const OF_THE_SOURCES: &str = "target/kernels";

/// Where a distribution installs its own.
const INSTALLED: &str = "/boot";

/// A stock kernel and an RT kernel, as `measure --target` takes them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Pair {
    pub(super) stock: String,
    pub(super) rt: String,
}

/// An image that says what it is.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Found {
    path: PathBuf,
    architecture: Architecture,
    release: String,
    rt: bool,
}

/// Returns the two kernels of a study, or why there are none.
///
/// # Errors
///
/// Fails if `--kernels` names no directory that can be read.
pub(super) fn of(args: &StudyRunArgs, home: &Path) -> Result<Result<Pair, String>, CliError> {
    if let [stock, rt] = args.target.as_slice() {
        return Ok(Ok(Pair {
            stock: stock.clone(),
            rt: rt.clone(),
        }));
    }
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
    Ok(match pair(&images) {
        None => {
            let no_qemu = guests::lack_of_qemu(Architecture::here().unwrap_or_default());
            Err(no_qemu.unwrap_or_else(|| lack(&images, &places)))
        }
        Some((architecture, pair)) => guests::lack_of_qemu(architecture).map_or(Ok(pair), Err),
    })
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

/// The newest version that there are both kernels of, for the same processors.
fn pair(images: &[Found]) -> Option<(Architecture, Pair)> {
    let numbers = |image: &Found| -> Vec<u64> {
        let parts = image.release.split(|c: char| !c.is_ascii_digit());
        parts.filter_map(|part| part.parse().ok()).collect()
    };
    let target = |image: &Found| format!("guest:{},virtual-time", image.path.display());
    let mut rt: Vec<&Found> = images.iter().filter(|image| image.rt).collect();
    rt.sort_by_key(|image| numbers(image));
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
        let (architecture, pair) = pair(&images).unwrap();
        assert_eq!(architecture, Architecture::X86_64);
        assert_eq!(pair.stock, "guest:/k/6.1.0-56-amd64,virtual-time");
        assert_eq!(pair.rt, "guest:/k/6.1.0-56-rt-amd64,virtual-time");
    }

    #[test]
    fn kernels_of_two_versions_are_no_pair_and_the_reason_names_them() {
        let images = [found("6.12.1-amd64", false), found("6.1.0-rt", true)];
        assert_eq!(pair(&images), None);
        let why = lack(&images, &[PathBuf::from("/boot")]);
        assert!(
            why.contains("/boot") && why.contains("only 6.12.1-amd64, 6.1.0-rt"),
            "{why}"
        );
        assert!(lack(&[], &[]).contains("no kernel image"));
    }
}
