// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How long a guest takes to its first sample, compared with the bare kernel.
//!
//! Ours is `punctual measure` with one sample in a guest in virtual time, from exec to exit: the first sample is there
//! earlier, so this is an upper bound. Theirs is QEMU with the same arguments and without an initial RAM file system,
//! until the kernel's panic that there is nothing to mount ends it. The arguments are those that the first run gave to
//! QEMU, written down by a script that stands in for it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use super::budget::Outcome;
use super::context::Context;
use super::program;
use crate::files;

const QEMU: &str = "qemu-system-x86_64";

pub(crate) fn to_first_sample(context: &Context) -> anyhow::Result<Outcome> {
    let kernel = context.kernel();
    let (script, written) = stand_in(&context.output)?;
    let ours = || measure(context, &kernel, None);
    measure(context, &kernel, Some(&script))?;
    let text = files::read(&written).context("failed to read the arguments of QEMU")?;
    let arguments = bare(&text, &kernel);
    let theirs = || {
        let mut command = Command::new(QEMU);
        command.args(&arguments).current_dir(&context.output);
        let finished = program::finish(context, &mut command)?;
        let log = fs::read(context.output.join("bare.log")).unwrap_or_default();
        if !String::from_utf8_lossy(&log).contains("Kernel panic - not syncing: VFS") {
            bail!("the bare kernel did not end where it finds no root file system");
        }
        Ok(finished.wall.as_secs_f64() * 1e9)
    };
    let count = if context.quick { 2 } else { 6 };
    let pairs = context.pairs(count, ours, theirs)?;
    context.note("exec to exit with one sample, so an upper bound; both in virtual time");
    Ok(Outcome::Measured {
        pairs,
        faults: vec![],
    })
}

/// Takes one sample in a guest, and returns how long it took, in ns.
fn measure(context: &Context, kernel: &Path, qemu: Option<&Path>) -> anyhow::Result<f64> {
    let mut command = Command::new(&context.punctual);
    command
        .env("PUNCTUAL_HOME", context.output.join("home"))
        .args(["measure", "wakeup", "--json", "--quiet"])
        .args(["--samples=1", "--interval=1ms", "--target"])
        .arg(format!("guest:{},virtual-time", kernel.display()));
    if let Some(qemu) = qemu {
        command.env("PUNCTUAL_QEMU", qemu);
    }
    let (run, finished) = program::punctual_json(context, command)?;
    if program::sum(&run, "count")? != 1 {
        bail!("the guest took another number of samples than one");
    }
    Ok(finished.wall.as_secs_f64() * 1e9)
}

/// Writes a script that notes its arguments, one a line, and becomes QEMU.
fn stand_in(output: &Path) -> anyhow::Result<(PathBuf, PathBuf)> {
    let (script, written) = (output.join("qemu.sh"), output.join("qemu.arguments"));
    let text = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" >'{}'\nexec {QEMU} \"$@\"\n",
        written.display()
    );
    fs::write(&script, text)
        .and_then(|()| fs::set_permissions(&script, fs::Permissions::from_mode(0o755)))
        .with_context(|| format!("failed to write {}", script.display()))?;
    Ok((script, written))
}

/// Returns the arguments without the initial RAM file system, with the kernel as its file has it, and its log in `bare.log`.
fn bare(written: &str, kernel: &Path) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut lines = written.lines();
    while let Some(word) = lines.next() {
        match word {
            "-initrd" => {
                lines.next();
            }
            // Ours is in memory, and unpacked.
            "-kernel" => {
                lines.next();
                arguments.extend([word.to_owned(), kernel.display().to_string()]);
            }
            "-serial" => {
                lines.next();
                let file = if arguments.iter().any(|word| word == "-serial") {
                    "null".to_owned()
                } else {
                    "file:bare.log".to_owned()
                };
                arguments.extend(["-serial".to_owned(), file]);
            }
            _ => arguments.push(word.to_owned()),
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bare_kernel_gets_the_same_arguments_but_no_file_system() {
        let written = "-smp\n1\n-serial\nfile:/proc/self/fd/4\n-serial\nfile:/proc/self/fd/5\n-kernel\n/proc/self/fd/6\n\
                       -initrd\n/proc/self/fd/3\n-append\nquiet panic=-1\n";
        let expected = "-smp|1|-serial|file:bare.log|-serial|null|-kernel|K|-append|quiet panic=-1";
        assert_eq!(bare(written, Path::new("K")).join("|"), expected);
    }
}
