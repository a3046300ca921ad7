// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Programs of the machine that own some of its files: they are run, and asked to take away what they made.
//!
//! On a machine whose root is elsewhere they are run in that (chroot). They and all that they start end with this program,
//! whatever ends that, and hold its lock until then: nobody takes back what is still being made.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::process::{Command, Stdio};

use punctual_sys::SysRoot;
use punctual_sys::child::{Bounds, TiedChild};

use super::files::{last_words, wait};
use super::install::OneShotError;
use crate::boot::{FileUndone, clear, failed, inside};
use crate::private_dir::{Lock, open_trusted};

/// What they find other programs by.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Programs of a machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tools<'a> {
    pub(super) sys: &'a SysRoot,
    pub(super) lock: Option<&'a Lock>,
}

/// Returns the place of a program of the machine.
pub(super) fn find(sys: &SysRoot, name: &str) -> Option<String> {
    let places = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    let paths = places.iter().map(|place| format!("{place}/{name}"));
    paths.into_iter().find(|path| sys.full(path).is_file())
}

/// Lists what there is of the pattern `path`, in which a `*` stands for anything within a name.
pub(super) fn owned(sys: &SysRoot, path: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for part in path.split('/').filter(|part| !part.is_empty()) {
        let mut next = Vec::new();
        for above in found {
            match part.contains('*') {
                false => next.push(format!("{above}/{part}")),
                true => {
                    let names = sys.names(&format!("{above}/")).unwrap_or_default();
                    let fits = names.into_iter().filter(|name| fits(name, part));
                    next.extend(fits.map(|name| format!("{above}/{name}")));
                }
            }
        }
        found = next;
    }
    found.retain(|path| fs::symlink_metadata(sys.full(path)).is_ok());
    found
}

fn fits(name: &str, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return name == pattern;
    };
    let Some(name) = name.strip_prefix(first) else {
        return false;
    };
    (0..=name.len())
        .filter_map(|at| name.get(at..))
        .any(|left| fits(left, rest))
}

impl Tools<'_> {
    /// Has a program make what it `owns`, of which nothing is there; the first of it must be there then.
    pub(super) fn make(
        self,
        make: &[String],
        owns: &[String],
        scratch: &str,
    ) -> Result<(), OneShotError> {
        if let Some(there) = owns.iter().find_map(|path| owned(self.sys, path).pop()) {
            return Err(OneShotError::Foreign { path: there });
        }
        let full = inside(self.sys, scratch)?;
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&full)
            .map_err(|err| failed("make directory", &full, err))?;
        let made = self.run(make, Some(scratch));
        clear(&full).map_err(|err| failed("remove", &full, err))?;
        made?;
        match owns.first() {
            Some(first) if owned(self.sys, first).is_empty() => {
                Err(error(make, format!("made no {first}")))
            }
            _ => Ok(()),
        }
    }

    /// Has what a program made taken away, and takes away what is left of it.
    pub(super) fn unmake(
        self,
        unmake: &[String],
        owns: &[String],
    ) -> Result<FileUndone, OneShotError> {
        let there = || owns.iter().flat_map(|path| owned(self.sys, path));
        if there().next().is_none() {
            return Ok(FileUndone::AlreadyBack);
        }
        let is_there = |program: &String| self.sys.full(program).is_file();
        if unmake.first().is_some_and(is_there) {
            // Whether it could is seen by what is left.
            drop(self.run(unmake, None));
        }
        // What it had only begun to make it does not know.
        for path in there() {
            let full = inside(self.sys, &path)?;
            clear(&full).map_err(|err| failed("remove", &full, err))?;
        }
        Ok(FileUndone::Restored)
    }

    /// Runs a program of the machine, and returns when it has ended well.
    pub(super) fn run(self, words: &[String], scratch: Option<&str>) -> Result<(), OneShotError> {
        let Some(program) = words.first() else {
            return Ok(());
        };
        let started = |err: io::Error| error(words, format!("cannot be started: {err}"));
        let full = inside(self.sys, program)?;
        let own = rustix::process::geteuid();
        open_trusted(&full, &[0, own.as_raw()])?;
        let mut all: Vec<String> = Vec::new();
        if own.is_root() {
            // What it starts is gone when it is.
            all.extend(["unshare", "--fork", "--pid", "--kill-child", "--"].map(str::to_owned));
        }
        if !self.sys.is_live() {
            all.push("chroot".to_owned());
            all.push(self.sys.full("/").display().to_string());
        }
        all.extend_from_slice(words);
        let Some((first, rest)) = all.split_first() else {
            return Ok(());
        };
        let mut command = Command::new(first);
        command
            .args(rest)
            .env_clear()
            .env("PATH", PATH)
            .env("LC_ALL", "C")
            .env("HOME", "/root")
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        if let Some(scratch) = scratch {
            command.env("TMPDIR", scratch);
        }
        // Inherited: the lock is free when the last of them has ended.
        let held = self
            .lock
            .map(Lock::inherited)
            .transpose()
            .map_err(started)?;
        let child = TiedChild::start(&mut command, &Bounds::default());
        drop(held);
        let mut child = child.map_err(started)?;
        let (status, said) = wait(&mut child).map_err(started)?;
        if status.success() {
            return Ok(());
        }
        let how = format!("ended with {status}: {}", last_words(&said));
        Err(error(words, how))
    }
}

fn error(words: &[String], how: String) -> OneShotError {
    OneShotError::Program {
        program: words.first().cloned().unwrap_or_default(),
        how,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    #[test]
    fn the_cause_is_among_the_last_words_of_a_program() {
        let said =
            "W: 1\nW: 2\ngrep: /boot/config: No such file\nE: gzip not supported\n\nfailed\n";
        assert_eq!(
            last_words(said),
            "W: 1 | W: 2 | grep: /boot/config: No such file | E: gzip not supported | failed"
        );
        assert!(last_words(&format!("first\n{said}")).starts_with("W: 1"));
        assert_eq!(last_words("\n"), "");
    }

    #[test]
    fn a_pattern_finds_the_files_of_one_release_alone() {
        let (_dir, sys) = machine(&[
            ("/boot/loader/entries/abc-6.12.1.conf", ""),
            ("/boot/loader/entries/abc-6.12.1+3.conf", ""),
            ("/boot/loader/entries/abc-6.12.1-rt.conf", ""),
        ]);
        let of = |path: &str| owned(&sys, path);
        assert_eq!(
            of("/boot/loader/entries/*-6.12.1.conf"),
            ["/boot/loader/entries/abc-6.12.1.conf"]
        );
        assert_eq!(
            of("/boot/loader/entries/*-6.12.1+*.conf"),
            ["/boot/loader/entries/abc-6.12.1+3.conf"]
        );
        assert_eq!(of("/boot/*/entries/abc-6.12.1-rt.conf").len(), 1);
        assert_eq!(of("/boot/none/*").len() + of("/boot/initrd.img").len(), 0);
    }
}
