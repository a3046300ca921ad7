// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What every measurement needs to know of this machine and this call.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, bail};
use cargo_metadata::MetadataCommand;

use super::Options;
use super::budget::{Need, Pair};

#[derive(Debug)]
pub(crate) struct Context {
    /// The repository.
    pub(crate) root: PathBuf,
    /// For bench.json and passing files.
    pub(crate) output: PathBuf,
    /// Of cargo.
    pub(crate) target: PathBuf,
    /// The binary to be measured.
    pub(crate) punctual: PathBuf,
    /// The CPU to which both programs are pinned.
    pub(crate) cpu: usize,
    pub(crate) quick: bool,
    /// Of the benchmarks of libraries.
    pub(crate) profile: String,
    interrupted: Arc<AtomicBool>,
    notes: RefCell<BTreeMap<String, usize>>,
}

impl Context {
    pub(crate) fn new(root: &Path, options: &Options) -> anyhow::Result<Self> {
        let metadata = MetadataCommand::new()
            .manifest_path(root.join("Cargo.toml"))
            .no_deps()
            .exec()
            .context("failed to read cargo metadata")?;
        let target = metadata.target_directory.into_std_path_buf();
        let output = options
            .output
            .clone()
            .unwrap_or_else(|| target.join("bench"));
        std::fs::create_dir_all(&output)
            .with_context(|| format!("failed to create {}", output.display()))?;
        let punctual = match &options.punctual {
            // A name without a slash would be looked for in $PATH.
            Some(path) => {
                std::path::absolute(path).context("failed to find the current directory")?
            }
            None => target.join(host_triple(root)?).join("release/punctual"),
        };
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            // The signal ends the program that is being measured; we stay, to take back what we set up.
            signal_hook::flag::register(signal, Arc::clone(&interrupted))
                .context("failed to catch signals")?;
        }
        Ok(Self {
            root: root.to_path_buf(),
            target,
            output,
            punctual,
            cpu: last_cpu()?,
            quick: options.quick,
            profile: options.profile.clone(),
            interrupted,
            notes: RefCell::default(),
        })
    }

    /// Returns the kernel that guests boot.
    pub(crate) fn kernel(&self) -> PathBuf {
        self.target.join("kernels/vmlinuz-rt")
    }

    /// Returns why `need` is not met, in words for the user.
    pub(crate) fn lack(&self, need: Need) -> Option<String> {
        match need {
            Need::Root if !rustix::process::geteuid().is_root() => Some(
                "SCHED_FIFO, locked memory and namespaces need root: sudo -E env \"PATH=$PATH\" make bench"
                    .into(),
            ),
            Need::Punctual if !self.punctual.is_file() => {
                Some(format!("no {}: run make build", self.punctual.display()))
            }
            Need::Cyclictest => {
                let started = Command::new("cyclictest")
                    .arg("--help")
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .status();
                started
                    .is_err()
                    .then(|| "no cyclictest: sudo apt-get install rt-tests".into())
            }
            Need::Guests if !self.kernel().is_file() => Some(format!(
                "no {}: run scripts/kernel-images.sh",
                self.kernel().display()
            )),
            Need::Guests => {
                let started = Command::new("qemu-system-x86_64")
                    .arg("--version")
                    .stdout(Stdio::null())
                    .status();
                started
                    .is_err()
                    .then(|| "no QEMU: sudo apt-get install qemu-system-x86".into())
            }
            Need::Ansible if !super::fleet::can_start(self) => {
                Some("no Ansible or no sshd: sudo apt-get install ansible-core openssh-server".into())
            }
            Need::Root | Need::Punctual | Need::Ansible => None,
        }
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Keeps a remark for the table; the same remark again is counted.
    pub(crate) fn note(&self, text: &str) {
        *self.notes.borrow_mut().entry(text.to_owned()).or_default() += 1;
    }

    pub(crate) fn take_notes(&self) -> Vec<String> {
        let notes = self.notes.take().into_iter();
        notes
            .map(|(text, times)| {
                if times > 1 {
                    format!("{text} ({times} times)")
                } else {
                    text
                }
            })
            .collect()
    }

    /// Takes `count` pairs, the order alternating: what drifts, and what one program leaves behind for the next, cancels.
    pub(crate) fn pairs(
        &self,
        count: usize,
        mut ours: impl FnMut() -> anyhow::Result<f64>,
        mut theirs: impl FnMut() -> anyhow::Result<f64>,
    ) -> anyhow::Result<Vec<Pair>> {
        let mut pairs = Vec::with_capacity(count);
        for index in 0..count {
            if self.is_interrupted() {
                bail!("interrupted");
            }
            let pair = if index % 2 == 0 {
                let ours = ours()?;
                Pair {
                    ours,
                    theirs: Some(theirs()?),
                }
            } else {
                let theirs = theirs()?;
                Pair {
                    ours: ours()?,
                    theirs: Some(theirs),
                }
            };
            pairs.push(pair);
        }
        Ok(pairs)
    }
}

/// The last CPU that we may use: interrupts and the rest of the machine gather on the first.
fn last_cpu() -> anyhow::Result<usize> {
    let allowed =
        rustix::thread::sched_getaffinity(None).context("failed to read the CPU affinity")?;
    (0..rustix::thread::CpuSet::MAX_CPU)
        .rev()
        .find(|cpu| allowed.is_set(*cpu))
        .context("no CPU is allowed")
}

fn host_triple(root: &Path) -> anyhow::Result<String> {
    let script = root.join("scripts/host-triple.sh");
    let output = Command::new(&script)
        .output()
        .with_context(|| format!("failed to run {}", script.display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
