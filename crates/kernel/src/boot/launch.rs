// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Running a guest to its end.
//!
//! Kernel log and results go to files without a name, and so does the initial RAM file system:
//! whatever ends this program, nothing is left on the disk, and the kernel ends QEMU with the thread
//! that started it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use punctual_sys::child::{Bounds, TiedChild};
use punctual_sys::memory::SharedMemory;
use thiserror::Error;

use super::architecture::Architecture;
use super::identity;
use super::image::Image;
use super::log::{self, Log};
use super::machine::{Design, Files, Machine};
use super::unpacked;
use crate::guest::Stage;

/// Time between two looks at a guest.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// No kernel logs more: one that boots says 60 KB, and one that never stops is not waited for.
const MOST_LOGGED: u64 = 32 << 20;

/// No guest sends more. A serial port takes 200 KB a second of its time.
const MOST_SENT: u64 = 256 << 20;

/// Nor does QEMU say more.
const MOST_SAID: u64 = 4 << 20;

/// Time that a kernel has after a panic to say more, and to restart.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A kernel that is to run.
#[derive(Clone, Debug)]
pub struct Boot<'a> {
    /// QEMU's program: a path, or a name that is looked for in `PATH`.
    pub qemu: &'a Path,
    /// The kernel's image.
    pub kernel: &'a Path,
    /// The initial RAM file system, as [`super::Initramfs::pack`] makes it.
    pub initramfs: &'a [u8],
    /// The machine.
    pub design: &'a Design,
    /// How long it may take, by the host's clock.
    pub limit: Duration,
}

/// A guest that has ended by itself.
#[derive(Clone, Debug)]
pub struct Booted {
    /// SHA-256 of the kernel's image, in hexadecimal digits.
    pub kernel_sha256: String,
    /// Whether the kernel was unpacked before the guest began, and not by it.
    pub unpacked: bool,
    /// What the kernel logged.
    pub console: Vec<u8>,
    /// What came on the second serial port.
    pub results: Vec<u8>,
    /// How long it took, by the host's clock.
    pub took: Duration,
    /// When the first of the results came.
    pub first_result: Option<Duration>,
}

/// Why a guest did not end as it should.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BootError {
    /// The kernel's image cannot be read.
    #[error("read kernel image {}", path.display())]
    Kernel {
        /// The image.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// There is no QEMU.
    #[error("start {}: not installed", qemu.display())]
    NoQemu {
        /// Its name.
        qemu: PathBuf,
    },
    /// QEMU, or a file for it, is unavailable.
    #[error("{what}")]
    Io {
        /// What was being done.
        what: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// QEMU refused, or died.
    #[error("run QEMU: {status}")]
    Qemu {
        /// How it ended.
        status: ExitStatus,
        /// What it said, line by line.
        said: Vec<String>,
        /// The kernel's log up to there.
        console: Vec<u8>,
    },
    /// The kernel panicked.
    #[error("boot: {line}")]
    Panic {
        /// The line that says so.
        line: String,
        /// All of its log.
        console: Vec<u8>,
    },
    /// It did not end in time.
    #[error("finish within {} s", limit.as_secs())]
    TimeLimit {
        /// The limit.
        limit: Duration,
        /// All of its log.
        console: Vec<u8>,
    },
    /// It writes without end.
    #[error("keep {what} below {} MiB", limit >> 20)]
    TooMuch {
        /// What grows.
        what: &'static str,
        /// The limit, in bytes.
        limit: u64,
        /// The log up to there.
        console: Vec<u8>,
    },
    /// The end was asked for.
    #[error("go on: interrupted")]
    Stopped {
        /// The kernel's log up to there.
        console: Vec<u8>,
    },
}

impl BootError {
    /// Whether this machine lacks what is needed.
    pub const fn is_unsupported(&self) -> bool {
        matches!(self, Self::NoQemu { .. })
    }

    /// Whether the guest had too little memory, as far as its kernel says.
    pub fn is_of_memory(&self) -> bool {
        matches!(self, Self::Panic { line, .. } if log::is_of_memory(line))
    }

    /// Returns the last lines that there are about it: of the kernel's log, or of what QEMU said.
    pub fn last_lines(&self) -> Vec<String> {
        match self {
            Self::Qemu { said, .. } => said.clone(),
            // Whoever ends it knows why.
            Self::Stopped { .. } => Vec::new(),
            _ => self.console().map(log::tail).unwrap_or_default(),
        }
    }

    /// Returns what the kernel logged, where it came that far.
    pub fn console(&self) -> Option<&[u8]> {
        match self {
            Self::Panic { console, .. }
            | Self::Qemu { console, .. }
            | Self::Stopped { console }
            | Self::TimeLimit { console, .. }
            | Self::TooMuch { console, .. } => Some(console),
            _ => None,
        }
    }
}

impl Boot<'_> {
    /// Runs the guest until it ends, until the limit has passed, or until `stop` is set.
    ///
    /// # Errors
    ///
    /// Fails when it does not end by itself, when its kernel panics, and when QEMU cannot run it.
    /// There is no QEMU any more then.
    pub fn run(&self, stop: &AtomicBool) -> Result<Booted, BootError> {
        self.run_watched(stop, &mut |_, _| {})
    }

    /// Does the same, and tells `watch` some fifty times a second how far the guest is and how long it has run. The guest
    /// does not notice.
    ///
    /// # Errors
    ///
    /// As [`Boot::run`].
    pub fn run_watched(
        &self,
        stop: &AtomicBool,
        watch: &mut dyn FnMut(Stage, Duration),
    ) -> Result<Booted, BootError> {
        let io = |what| move |source| BootError::Io { what, source };
        // QEMU's own words for what is no kernel are about its firmware.
        Image::read(self.kernel).map_err(|source| BootError::Kernel {
            path: self.kernel.to_owned(),
            source,
        })?;
        let kernel_sha256 = identity::sha256(self.kernel).map_err(io("read the kernel's image"))?;
        let unpacked = self.unpacked(stop)?;
        let packed = || self.kernel.to_string_lossy().into_owned();
        let memory = || io("take memory for the guest's files");
        let initramfs = SharedMemory::filled("initramfs", self.initramfs).map_err(memory())?;
        let console = SharedMemory::filled("console", &[]).map_err(memory())?;
        let results = SharedMemory::filled("results", &[]).map_err(memory())?;
        let said = SharedMemory::filled("qemu", &[]).map_err(memory())?;
        let files = Files {
            kernel: &unpacked
                .as_ref()
                .map_or_else(packed, |kernel| kernel.path()),
            initramfs: &initramfs.path(),
            console: &console.path(),
            results: &results.path(),
        };
        let mut command = Command::new(self.qemu);
        command
            .args(self.design.arguments(&files))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said.file().try_clone().map_err(memory())?);
        let begun = Instant::now();
        let mut child = TiedChild::start(&mut command, &Bounds::default()).map_err(|source| {
            match source.kind() {
                io::ErrorKind::NotFound => BootError::NoQemu {
                    qemu: self.qemu.to_owned(),
                },
                _ => io("start QEMU")(source),
            }
        })?;
        let mut first_result = None;
        let mut panicked: Option<Instant> = None;
        let mut log = Log::default();
        let mut heard = 0;
        let mut stage = Stage::default();
        let ended = loop {
            if let Some(status) = child.wait(LOOK_EVERY).map_err(io("wait for QEMU"))? {
                break Some(status);
            }
            if first_result.is_none() && length(&results) > 0 {
                first_result = Some(begun.elapsed());
            }
            let sent = length(&results);
            if sent != heard {
                heard = sent;
                stage = Stage::heard(
                    &results
                        .content(MOST_SENT)
                        .map_err(io("read the guest's results"))?,
                );
            }
            if let Some((what, limit)) = [
                (&console, "the kernel log", MOST_LOGGED),
                (&results, "the guest's results", MOST_SENT),
                (&said, "QEMU's messages", MOST_SAID),
            ]
            .into_iter()
            .find_map(|(file, what, limit)| (length(file) > limit).then_some((what, limit)))
            {
                drop(child);
                return Err(BootError::TooMuch {
                    what,
                    limit,
                    console: console
                        .content(MOST_LOGGED)
                        .map_err(io("read the guest's log"))?,
                });
            }
            watch(stage, begun.elapsed());
            if stop.load(Ordering::Relaxed) {
                drop(child);
                return Err(BootError::Stopped {
                    console: console
                        .content(MOST_LOGGED)
                        .map_err(io("read the guest's log"))?,
                });
            }
            if log.grown_to(length(&console)) && panicked.is_none() {
                let text = console
                    .content(MOST_LOGGED)
                    .map_err(io("read the guest's log"))?;
                panicked = log::panic_line(&text).map(|_| Instant::now());
            }
            if begun.elapsed() > self.limit || panicked.is_some_and(|at| at.elapsed() > LAST_WORDS)
            {
                break None;
            }
        };
        drop(child);
        let took = begun.elapsed();
        let console = console
            .content(MOST_LOGGED)
            .map_err(io("read the guest's log"))?;
        if let Some(line) = log::panic_line(&console) {
            return Err(BootError::Panic { line, console });
        }
        let Some(status) = ended else {
            return Err(BootError::TimeLimit {
                limit: self.limit,
                console,
            });
        };
        if !status.success() {
            let said = said
                .content(MOST_SAID)
                .map_err(io("read QEMU's messages"))?;
            return Err(BootError::Qemu {
                status,
                said: log::said(&said),
                console,
            });
        }
        let results = results
            .content(MOST_SENT)
            .map_err(io("read the guest's results"))?;
        Ok(Booted {
            first_result: first_result.or_else(|| (!results.is_empty()).then_some(took)),
            kernel_sha256,
            unpacked: unpacked.is_some(),
            console,
            results,
            took,
        })
    }

    /// The kernel without what unpacks it, where that would be emulated.
    fn unpacked(&self, stop: &AtomicBool) -> Result<Option<Arc<SharedMemory>>, BootError> {
        let is_emulated = self.design.machine != Machine::Kvm;
        let is_x86 = self.design.architecture == Architecture::X86_64;
        if !is_emulated || !is_x86 {
            return Ok(None);
        }
        unpacked::kernel(self.kernel, stop).map_err(|source| BootError::Kernel {
            path: self.kernel.to_path_buf(),
            source,
        })
    }
}

fn length(file: &SharedMemory) -> u64 {
    file.file().metadata().map_or(0, |metadata| metadata.len())
}
