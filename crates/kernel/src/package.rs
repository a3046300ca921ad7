// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A Debian package of a kernel, unpacked and not installed: none of its scripts runs, and of what is in it only
//! image and modules are taken, as ordinary files.

use std::fs;
use std::path::{Path, PathBuf};

use punctual_sys::PathError;

use crate::tool::{ToolError, command, run};
use crate::unpack::{Links, Packed, UnpackError, unpack as write};

/// The directories of a package that are taken.
const TAKEN: [&str; 3] = ["boot", "lib/modules", "usr/lib/modules"];

/// What a package has of a kernel.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct KernelPackage {
    /// Its image.
    pub image: Option<PathBuf>,
    /// Its modules: a directory whose name is the release.
    pub modules: Option<PathBuf>,
    /// Its configuration.
    pub config: Option<PathBuf>,
    /// Its symbols.
    pub system_map: Option<PathBuf>,
}

/// Unpacks the package `deb` in `directory`, and lists the modules for `modprobe`, where `depmod` is there.
///
/// # Errors
///
/// Fails where `dpkg-deb` is missing, or finds no package, and where something in it is refused.
pub fn unpack(deb: &Path, directory: &Path) -> Result<KernelPackage, UnpackError> {
    let packed = fs::metadata(deb).map_err(PathError::at("read", deb))?.len();
    let mut files = command("dpkg-deb");
    files.arg("--fsys-tarfile").arg(deb);
    let place = |name: &Path| {
        let taken = TAKEN.iter().any(|taken| name.starts_with(taken));
        taken.then(|| name.to_owned())
    };
    let packed = Packed::of(files, packed, &|| false)?;
    write(packed, directory, Links::LeaveOut, &place)?;
    let boot = entries(&directory.join("boot"));
    let called = |start: &str| {
        let found = boot.iter().find(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(start)
        });
        found.cloned()
    };
    let places = ["lib/modules", "usr/lib/modules"].map(|place| directory.join(place));
    let modules = places
        .iter()
        .find_map(|place| entries(place).into_iter().find(|path| path.is_dir()));
    if let Some(modules) = &modules
        && !modules.join("modules.dep").exists()
        && let Some(release) = modules.file_name()
        // Else it could be an option.
        && !release.as_encoded_bytes().starts_with(b"-")
    {
        let below = match modules.starts_with(directory.join("usr")) {
            true => directory.join("usr"),
            false => directory.to_owned(),
        };
        match run(command("depmod").arg("-b").arg(below).arg(release)) {
            // Without that list, whatever loads the modules reports what is missing.
            Ok(_) | Err(ToolError::Missing { .. }) => {}
            Err(err) => return Err(err.into()),
        }
    }
    Ok(KernelPackage {
        image: called("vmlinu"),
        modules,
        config: called("config-"),
        system_map: called("System.map-"),
    })
}

pub(crate) fn entries(directory: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = found.map(|entry| entry.path()).collect();
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_and_modules_are_found_in_a_package() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        let write = |path: &str, text: &str| {
            let full = root.join(path);
            fs::create_dir_all(full.parent().unwrap()).unwrap();
            fs::write(full, text).unwrap();
        };
        write(
            "DEBIAN/control",
            "Package: linux-x\nVersion: 1\nArchitecture: all\nMaintainer: x\nDescription: x\n",
        );
        write("boot/vmlinuz-6.12-x", "image");
        write("boot/config-6.12-x", "CONFIG_X=y");
        write("lib/modules/6.12-x/modules.dep", "");
        let deb = dir.path().join("x.deb");
        run(command("dpkg-deb").arg("-b").arg(&root).arg(&deb)).unwrap();
        let to = dir.path().join("to");
        fs::create_dir(&to).unwrap();
        let found = unpack(&deb, &to).unwrap();
        assert_eq!(found.image.unwrap(), to.join("boot/vmlinuz-6.12-x"));
        assert_eq!(found.modules.unwrap(), to.join("lib/modules/6.12-x"));
        assert_eq!(found.config.unwrap(), to.join("boot/config-6.12-x"));
        assert_eq!(found.system_map, None);
        fs::write(&deb, "no package").unwrap();
        unpack(&deb, &to).unwrap_err();
    }
}
