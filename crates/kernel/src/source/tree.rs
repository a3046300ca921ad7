// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A directory with the source of a kernel.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::boot::Architecture;
use crate::file::{open_regular, read_head};
use crate::git::Git;
use crate::patch::NOTE;
use crate::tool::{ToolError, has};

/// Where in a Makefile its version is: that of 6.12 has it in its first 200 bytes.
const HEAD: u64 = 64 << 10;

/// No architecture's Kconfig is longer.
const KCONFIG: u64 = 1 << 20;

/// A source tree of Linux.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tree {
    /// Its directory, absolute.
    pub path: PathBuf,
    /// `6.12.117`, with what `EXTRAVERSION` adds.
    pub version: String,
    machine: String,
    /// What it is built for, where this machine is of another architecture.
    cross: Option<Architecture>,
}

/// A directory is no source tree.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// A file that every source has cannot be read.
    #[error("{} is not a Linux source tree: read its {file}", path.display())]
    Read {
        /// The directory.
        path: PathBuf,
        /// The file.
        file: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// Its Makefile names no version.
    #[error("{} is not a Linux source tree: its Makefile names no VERSION and PATCHLEVEL", path.display())]
    NoVersion {
        /// The directory.
        path: PathBuf,
    },
    /// A series was being put into it.
    #[error("{} is half patched: `punctual kernel patch` was interrupted there, or still runs", path.display())]
    HalfPatched {
        /// The directory.
        path: PathBuf,
    },
}

impl Tree {
    /// Opens the tree in `path`.
    ///
    /// # Errors
    ///
    /// Fails where it has no Makefile with a version, or no Kconfig, and where it is half patched.
    pub fn open(path: &Path) -> Result<Self, TreeError> {
        let fault = |file, source| TreeError::Read {
            path: path.to_owned(),
            file,
            source,
        };
        let makefile =
            read_head(&path.join("Makefile"), HEAD).map_err(|err| fault("Makefile", err))?;
        open_regular(&path.join("Kconfig")).map_err(|err| fault("Kconfig", err))?;
        let version =
            version(&String::from_utf8_lossy(&makefile)).ok_or_else(|| TreeError::NoVersion {
                path: path.to_owned(),
            })?;
        if fs::symlink_metadata(path.join(NOTE)).is_ok() {
            return Err(TreeError::HalfPatched {
                path: path.to_owned(),
            });
        }
        Ok(Self {
            path: fs::canonicalize(path).map_err(|err| fault("directory", err))?,
            version,
            machine: std::env::consts::ARCH.to_owned(),
            cross: None,
        })
    }

    /// Makes it one that is built for `architecture`, whatever this machine is.
    #[must_use]
    pub fn built_for(mut self, architecture: Architecture) -> Self {
        architecture.facts().machine.clone_into(&mut self.machine);
        self.cross = architecture.is_foreign().then_some(architecture);
        self
    }

    /// Returns what it is built for, as `uname -m` calls it.
    pub fn machine(&self) -> &str {
        &self.machine
    }

    /// Whether it is built for another architecture than this machine's.
    pub const fn is_foreign(&self) -> bool {
        self.cross.is_some()
    }

    /// Returns its compiler.
    pub(crate) fn compiler(&self) -> String {
        let prefix = self.cross.map_or("", |of| of.facts().cross_compile);
        format!("{prefix}gcc")
    }

    /// Returns the arguments with which make builds for another architecture than this machine's.
    pub(crate) fn cross(&self) -> Vec<String> {
        let told = self.cross.map(|architecture| {
            let prefix = architecture.facts().cross_compile;
            let arch = format!("ARCH={}", self.srcarch());
            vec![arch, format!("CROSS_COMPILE={prefix}")]
        });
        told.unwrap_or_default()
    }

    /// Refuses another architecture without its compiler: Kconfig would say so in its own words.
    pub(crate) fn needs_compiler(&self) -> Result<(), ToolError> {
        let program = self.compiler();
        match self.cross {
            Some(_) if !has(&program) => Err(ToolError::Missing { program }),
            _ => Ok(()),
        }
    }

    /// The first version that has `PREEMPT_RT` for x86-64 and arm64 without a patch.
    pub const REALTIME: (u32, u32) = (6, 12);

    /// The first version that has `PREEMPT_LAZY`.
    pub const LAZY: (u32, u32) = (6, 13);

    /// The first version in which architectures that have `PREEMPT_LAZY`, as x86-64 and arm64, have neither none nor voluntary.
    pub const ONLY_LAZY: (u32, u32) = (7, 0);

    /// Returns the first two numbers of a version or release.
    pub fn number(version: &str) -> Option<(u32, u32)> {
        let mut numbers = version.split(['.', '-', '+']).map(str::parse);
        numbers.next()?.ok().zip(numbers.next()?.ok())
    }

    /// Whether it has `PREEMPT_RT` for what it is built for: by its version, or by a patch that somebody applied.
    pub fn has_realtime(&self) -> bool {
        if Self::number(&self.version).is_some_and(|number| number >= Self::REALTIME) {
            return true;
        }
        let kconfig = self.path.join("arch").join(self.srcarch()).join("Kconfig");
        let text = read_head(&kconfig, KCONFIG).unwrap_or_default();
        String::from_utf8_lossy(&text).contains("select ARCH_SUPPORTS_RT")
    }

    /// Returns the directory below `arch` for what it is built for.
    pub fn srcarch(&self) -> &str {
        match self.machine.as_str() {
            "x86_64" | "x86" => "x86",
            "aarch64" => "arm64",
            "riscv64" => "riscv",
            "powerpc64" => "powerpc",
            other => other,
        }
    }

    /// Returns what make calls the image that boots.
    pub fn image(&self) -> (&'static str, PathBuf) {
        match self.srcarch() {
            "x86" => ("bzImage", PathBuf::from("arch/x86/boot/bzImage")),
            "arm64" | "riscv" => (
                "Image",
                Path::new("arch").join(self.srcarch()).join("boot/Image"),
            ),
            _ => ("vmlinux", PathBuf::from("vmlinux")),
        }
    }

    /// Returns what tells it from another tree that was in this place before. A repository is its directories: git gives
    /// files that it changes the time of the change. Elsewhere it is the files that every archive replaces too, so a
    /// Makefile that was edited counts as another tree, and any other file does not.
    ///
    /// # Errors
    ///
    /// Fails as `stat(2)` does.
    pub fn identity(&self) -> io::Result<String> {
        let own = self.path.join(".git");
        let files = match own.exists() {
            true => vec![self.path.clone(), own],
            false => ["Makefile", "Kconfig"]
                .map(|file| self.path.join(file))
                .into(),
        };
        let each = files.iter().map(|path| {
            let meta = fs::metadata(path)?;
            // A directory changes with each file in it. Where there is no time of its making, its number must do.
            let at = match meta.is_dir() {
                true => meta
                    .created()
                    .ok()
                    .and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok()),
                false => Some(Duration::new(
                    meta.ctime().try_into().unwrap_or(0),
                    meta.ctime_nsec().try_into().unwrap_or(0),
                )),
            };
            let name = path.file_name().unwrap_or_default().display();
            Ok(format!(
                "{name} {} of {}",
                meta.ino(),
                at.unwrap_or_default().as_nanos()
            ))
        });
        Ok(each.collect::<io::Result<Vec<_>>>()?.join(", "))
    }

    /// Returns the time that builds bear in place of the clock, in seconds since 1970: that of the commit, else of
    /// the Makefile, whose time a tarball and a package bring along.
    pub fn seconds(&self) -> u64 {
        let own = self.path.join(".git").exists();
        let committed = || Git::at(&self.path).of_commit("HEAD", "%ct").ok();
        if own && let Some(seconds) = committed().and_then(|text| text.parse().ok()) {
            return seconds;
        }
        let modified = fs::metadata(self.path.join("Makefile")).and_then(|meta| meta.modified());
        let since = modified
            .ok()
            .and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
        since.map_or(0, |since| since.as_secs())
    }
}

/// Reads `VERSION`, `PATCHLEVEL`, `SUBLEVEL` and `EXTRAVERSION` as the Makefile sets them first.
fn version(makefile: &str) -> Option<String> {
    let value = |name: &str| {
        makefile.lines().take(200).find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    let (version, patchlevel) = (value("VERSION")?, value("PATCHLEVEL")?);
    version.parse::<u32>().ok()?;
    patchlevel.parse::<u32>().ok()?;
    let mut text = format!("{version}.{patchlevel}");
    if let Some(sublevel) = value("SUBLEVEL").filter(|value| !value.is_empty()) {
        text = format!("{text}.{sublevel}");
    }
    text.push_str(&value("EXTRAVERSION").unwrap_or_default());
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_the_makefile() {
        let text =
            "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\nEXTRAVERSION = -rc1\nNAME = x\n";
        assert_eq!(version(text).as_deref(), Some("6.12.117-rc1"));
        assert_eq!(
            version("VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL =\n").as_deref(),
            Some("6.1")
        );
        assert_eq!(version("all:\n\ttrue\n"), None);
        assert_eq!(version("VERSION = x\nPATCHLEVEL = 1\n"), None);
    }

    #[test]
    fn a_tree_that_takes_the_place_of_another_has_another_identity_and_an_edited_one_has_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("linux");
        for own in [None, Some(".git")] {
            let make = || {
                fs::create_dir_all(path.join(own.unwrap_or("kernel"))).unwrap();
                fs::write(path.join("Makefile"), "VERSION = 6\nPATCHLEVEL = 1\n").unwrap();
                fs::write(path.join("Kconfig"), "").unwrap();
                Tree::open(&path).unwrap().identity().unwrap()
            };
            let first = make();
            fs::write(path.join("sched.c"), "edited").unwrap();
            let tree = Tree::open(&path).unwrap();
            assert_eq!(tree.identity().unwrap(), first);
            fs::remove_dir_all(&path).unwrap();
            // The clock of a file system has ticks.
            std::thread::sleep(Duration::from_millis(20));
            assert_ne!(make(), first);
            fs::remove_dir_all(&path).unwrap();
        }
    }

    #[test]
    fn a_directory_that_is_no_source_says_what_it_lacks() {
        let dir = tempfile::tempdir().unwrap();
        let err = Tree::open(dir.path()).unwrap_err().to_string();
        assert!(err.ends_with("read its Makefile"), "{err}");
        fs::write(dir.path().join("Makefile"), "all:\n").unwrap();
        let err = Tree::open(dir.path()).unwrap_err().to_string();
        assert!(err.ends_with("read its Kconfig"), "{err}");
        fs::write(dir.path().join("Kconfig"), "").unwrap();
        let err = Tree::open(dir.path()).unwrap_err().to_string();
        assert!(err.ends_with("names no VERSION and PATCHLEVEL"), "{err}");
    }
}
