// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A Debian package of a kernel, unpacked and not installed: none of its scripts runs, and of what is in it only
//! image and modules are taken, as ordinary files.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use punctual_sys::PathError;
use tempfile::TempDir;

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

/// A temporary directory that is gone when this program has ended, whatever ends it: what is unpacked of a package takes
/// hundreds of megabytes.
#[derive(Debug)]
pub struct Scratch {
    directory: TempDir,
    /// Waits at a pipe that closes with this program, and removes the directory then.
    keeper: Option<Child>,
}

impl Scratch {
    /// Makes one.
    ///
    /// # Errors
    ///
    /// Fails as `mkdir(2)` does.
    pub fn new() -> Result<Self, PathError> {
        let place = std::env::temp_dir();
        let directory =
            tempfile::tempdir().map_err(PathError::at("make a directory in", &place))?;
        let mut keeper = command("/bin/sh");
        keeper
            .args(["-c", "read _; rm -rf -- \"$1\"", "sh"])
            .arg(directory.path())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // What a terminal sends to end this program does not end it.
            .process_group(0);
        Ok(Self {
            directory,
            // Without one the directory is removed all the same where this program ends by itself.
            keeper: keeper.spawn().ok(),
        })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(keeper) = &mut self.keeper {
            // Closes its input; what it cannot remove is tried once more here.
            drop(keeper.wait());
        }
    }
}

impl KernelPackage {
    /// Has `depmod` list the modules for `modprobe`, which Debian's packages leave to the machine that they are installed on.
    ///
    /// # Errors
    ///
    /// Fails where `depmod` is missing, or finds fault with the modules.
    pub fn list_modules(&self) -> Result<(), ToolError> {
        if let Some(modules) = &self.modules
            && !modules.join("modules.dep").exists()
            && let Some(release) = modules.file_name()
            // Else it could be an option.
            && !release.as_encoded_bytes().starts_with(b"-")
            // They are in lib/modules below it.
            && let Some(below) = modules.ancestors().nth(3)
        {
            run(depmod().arg("-b").arg(below).arg(release))?;
        }
        Ok(())
    }
}

/// Unpacks the package `deb` in `directory`.
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
    Ok(KernelPackage {
        image: called("vmlinu"),
        modules,
        config: called("config-"),
        system_map: called("System.map-"),
    })
}

/// `depmod`, which on Debian only root's PATH has.
fn depmod() -> Command {
    let mut places = ["/usr/sbin/depmod", "/sbin/depmod"].into_iter();
    let place = places.find(|place| Path::new(place).is_file());
    command(place.unwrap_or("depmod"))
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

    fn package(root: &Path, files: &[(&str, &str)]) -> PathBuf {
        let control =
            "Package: linux-x\nVersion: 1\nArchitecture: all\nMaintainer: x\nDescription: x\n";
        for (path, text) in [&[("DEBIAN/control", control)], files].concat() {
            let full = root.join(path);
            fs::create_dir_all(full.parent().unwrap()).unwrap();
            fs::write(full, text).unwrap();
        }
        let deb = root.with_extension("deb");
        run(command("dpkg-deb").arg("-b").arg(root).arg(&deb)).unwrap();
        deb
    }

    #[test]
    fn modules_are_listed_or_the_missing_program_is_named() {
        let scratch = Scratch::new().unwrap();
        let module = ("lib/modules/6.12-x/kernel/x.ko", "module");
        let deb = package(&scratch.path().join("root"), &[module]);
        let to = scratch.path().join("to");
        fs::create_dir(&to).unwrap();
        // What is in the package is seen without it: the kernel may be none for this machine.
        let found = unpack(&deb, &to).unwrap();
        match found.list_modules() {
            Ok(()) => assert!(found.modules.unwrap().join("modules.dep").is_file()),
            Err(missing @ ToolError::Missing { .. }) => {
                assert_eq!(missing.missing(), Some("depmod"));
                assert_eq!(missing.package(), Some("kmod"));
            }
            // It may find fault with what is no module.
            Err(err) => assert!(err.to_string().contains("depmod"), "{err}"),
        }
    }

    #[test]
    fn what_was_unpacked_goes_with_the_program_however_that_ends() {
        let mut scratch = Scratch::new().unwrap();
        let path = scratch.path().to_owned();
        fs::create_dir_all(path.join("lib/modules")).unwrap();
        // As the kernel closes it when the program is killed.
        let keeper = scratch.keeper.as_mut().unwrap();
        drop(keeper.stdin.take());
        assert!(keeper.wait().unwrap().success());
        assert!(!path.exists());
        drop(scratch);
        let scratch = Scratch::new().unwrap();
        let path = scratch.path().to_owned();
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn image_and_modules_are_found_in_a_package() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        let files = [
            ("boot/vmlinuz-6.12-x", "image"),
            ("boot/config-6.12-x", "CONFIG_X=y"),
            ("lib/modules/6.12-x/modules.dep", ""),
        ];
        let deb = package(&root, &files);
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
