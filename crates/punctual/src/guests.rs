// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Guests as the commands have them: designed from options, given a job, and answered by.

mod agent;
mod record;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use punctual_kernel::GuestTarget;
use punctual_kernel::boot::{
    Architecture, Boot, BootError, Booted, Compression, Design, Image, Initramfs, Machine, tail,
};
use punctual_kernel::guest::{Answer, JOB_FILE, Job, Stage};
use punctual_measure::loads::LoadSpec;
use punctual_model::{GuestAgent, Nanos, json};

pub(crate) use self::agent::Agent;
pub(crate) use self::record::{keep, record};
use crate::error::CliError;
use crate::exit::Exit;

/// Environment variable with the path of QEMU's program, in place of the one for the kernel's processors.
const QEMU_VARIABLE: &str = "PUNCTUAL_QEMU";

/// What all guests of a command have in common.
#[derive(Debug)]
pub(crate) struct Host {
    architecture: Architecture,
    qemu: PathBuf,
    agent: GuestAgent,
    /// The initial RAM file system but for the job.
    packed: Vec<u8>,
    /// Whether guests are a `--target`, which has the options of commands that boot kernels in itself.
    is_target: bool,
}

/// What a guest left.
#[derive(Debug)]
pub(crate) struct Visit {
    pub(crate) booted: Booted,
    pub(crate) answer: Answer,
}

/// Says that a guest does not have a program of this machine.
pub(crate) fn without_programs(what: &str) -> CliError {
    CliError::usage(format!(
        "{what}: needs what is installed on this machine, and a guest has only Punctual itself"
    ))
}

/// Refuses loads that are programs of this machine.
pub(crate) fn check_loads(loads: &[LoadSpec]) -> Result<(), CliError> {
    match loads.iter().find(|load| load.is_foreign_program()) {
        Some(load) => Err(without_programs(&format!("--load {load}"))),
        None => Ok(()),
    }
}

/// Returns QEMU's program for `architecture`.
fn qemu(architecture: Architecture) -> PathBuf {
    let named = std::env::var_os(QEMU_VARIABLE).filter(|path| !path.is_empty());
    named.map_or_else(|| PathBuf::from(architecture.facts().qemu), PathBuf::from)
}

/// Returns what guests for `architecture` lack here: QEMU, or what measures in them.
pub(crate) fn lack(architecture: Architecture) -> Option<String> {
    lack_of_qemu(architecture).or_else(|| agent::lack(architecture))
}

fn lack_of_qemu(architecture: Architecture) -> Option<String> {
    let qemu = qemu(architecture);
    let directories = std::env::var_os("PATH").unwrap_or_default();
    let found = match qemu.components().count() {
        1 => std::env::split_paths(&directories).any(|dir| dir.join(&qemu).is_file()),
        _ => qemu.is_file(),
    };
    (!found).then(|| {
        format!(
            "{} is not installed (Debian: apt-get install {})",
            qemu.display(),
            architecture.facts().qemu_package
        )
    })
}

impl Host {
    /// Finds QEMU for `architecture`, and packs what guests run.
    pub(crate) fn of(architecture: Architecture) -> Result<Self, CliError> {
        let agent = Agent::of(architecture)?;
        let packed = agent.initramfs().pack(Compression::None);
        Ok(Self {
            architecture,
            qemu: qemu(architecture),
            agent: agent.described(),
            is_target: false,
            packed: packed
                .map_err(|err| CliError::failed_to("make the guest's file system").because(err))?,
        })
    }

    /// The same where the guest is a `--target`.
    pub(crate) fn for_target(self) -> Self {
        Self {
            is_target: true,
            ..self
        }
    }

    /// Has guests find `files` too.
    pub(crate) fn carry(&mut self, files: Initramfs) {
        self.packed = files.behind(&self.packed);
    }

    /// Returns the design of `target` on `machine`, unless its kernel takes no such arguments.
    pub(crate) fn design(
        &self,
        target: &GuestTarget,
        machine: Machine,
    ) -> Result<Design, CliError> {
        fits(target)?;
        Ok(target.design(self.architecture, machine))
    }

    /// Returns what guests run.
    pub(crate) fn agent(&self) -> GuestAgent {
        self.agent.clone()
    }

    /// Returns what QEMU says of its version, which decides what a guest counts.
    pub(crate) fn version(&self) -> Result<String, CliError> {
        let output = Command::new(&self.qemu).arg("--version").output();
        let output = output.map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => no_qemu(
                self.architecture,
                CliError::failed_to(format!("start {}: not installed", self.qemu.display())),
            ),
            _ => CliError::failed_to(format!("start {}", self.qemu.display())).because(source),
        })?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().next().unwrap_or_default().to_owned())
    }

    /// Returns the initial RAM file system for `job`.
    pub(crate) fn initramfs(&self, job: &Job) -> Result<Vec<u8>, CliError> {
        let job = json::line(job)
            .map_err(|err| CliError::failed_to("make the guest's file system").because(err))?;
        Ok(Initramfs::empty().file(JOB_FILE, &job).behind(&self.packed))
    }

    /// Boots `kernel` with an initial RAM file system, and waits for its end; `watch` learns how far it is.
    pub(crate) fn boot(
        &self,
        kernel: &Path,
        design: &Design,
        initramfs: &[u8],
        limit: Duration,
        stop: &AtomicBool,
        watch: &mut dyn FnMut(Stage, Duration),
    ) -> Result<Booted, BootError> {
        let boot = Boot {
            qemu: &self.qemu,
            kernel,
            initramfs,
            design,
            limit,
        };
        boot.run_watched(stop, watch)
    }

    /// Boots the kernel of `target` as `design` says, has it do `job`, and reads what it sent.
    pub(crate) fn visit(
        &self,
        target: &GuestTarget,
        design: &Design,
        job: &Job,
        stop: &AtomicBool,
    ) -> Result<Visit, CliError> {
        self.visit_watched(target, design, job, stop, &mut |_, _| {})
    }

    /// Does the same, and tells `watch` how far it is.
    pub(crate) fn visit_watched(
        &self,
        target: &GuestTarget,
        design: &Design,
        job: &Job,
        stop: &AtomicBool,
        watch: &mut dyn FnMut(Stage, Duration),
    ) -> Result<Visit, CliError> {
        let initramfs = self.initramfs(job)?;
        let limit = target.time_limit.into();
        let booted = self.boot(&target.kernel, design, &initramfs, limit, stop, watch);
        self.answered(target, job, booted)
    }

    /// Reads what a guest sent that was to do `job`, or says why it did not come to its end.
    pub(crate) fn answered(
        &self,
        target: &GuestTarget,
        job: &Job,
        booted: Result<Booted, BootError>,
    ) -> Result<Visit, CliError> {
        let kernel = &target.kernel;
        let booted =
            booted.map_err(|err| failed(self.architecture, kernel, self.is_target, err))?;
        let answer = Answer::read(&booted.results, job.runs.len()).map_err(|err| {
            CliError::failed_to(format!("get an answer from the guest {}", kernel.display()))
                .because(err)
                .log(tail(&booted.console))
        })?;
        Ok(Visit { booted, answer })
    }
}

/// Says why a guest did not come to its end.
fn failed(architecture: Architecture, kernel: &Path, is_target: bool, err: BootError) -> CliError {
    let unsupported = err.is_unsupported();
    let more = |option: &str| match is_target {
        true => format!("`,{option}=` in --target"),
        false => format!("--{option}"),
    };
    let hint = match &err {
        BootError::Kernel { .. } => {
            Some("name a kernel image: /boot/vmlinuz-..., arch/x86/boot/bzImage or arch/arm64/boot/Image of a build, or one of \
                 `punctual kernel list`".to_owned())
        }
        err if err.is_of_memory() => Some(format!("give it more memory with {}", more("memory"))),
        BootError::TimeLimit { .. } => {
            Some(format!("give it more time with {}; with loglevel=7 appended its log says how far it came", more("time-limit")))
        }
        _ => None,
    };
    let lines = err.last_lines();
    let error = CliError::failed_to(format!("run the guest {}", kernel.display()))
        .because(err)
        .log(lines);
    if unsupported {
        return no_qemu(architecture, error);
    }
    error.hints(hint)
}

fn no_qemu(architecture: Architecture, error: CliError) -> CliError {
    error.exiting(Exit::Unsupported).hint(format!(
        "install it (Debian: apt-get install {}), or name it in {QEMU_VARIABLE}",
        architecture.facts().qemu_package
    ))
}

/// Returns the processors that `kernel` is for, before anything is made for it.
pub(crate) fn architecture(kernel: &Path) -> Result<Architecture, CliError> {
    Ok(image(kernel)?.architecture)
}

/// Refuses arguments that the kernel of `target` would cut off or not boot with: it would say nothing of why.
pub(crate) fn fits(target: &GuestTarget) -> Result<(), CliError> {
    target
        .fits(&image(&target.kernel)?)
        .map_err(|err| CliError::usage(err.to_string()))
}

fn image(kernel: &Path) -> Result<Image, CliError> {
    Image::read(kernel).map_err(|source| {
        let path = kernel.to_owned();
        failed(
            Architecture::default(),
            kernel,
            false,
            BootError::Kernel { path, source },
        )
    })
}

/// Returns the machine that runs `target`: as asked for, else KVM; or why KVM does not
/// run it here.
pub(crate) fn machine(
    host: &Host,
    target: &GuestTarget,
    stop: &AtomicBool,
) -> Result<Machine, String> {
    match target.machine {
        Some(machine) => Ok(machine),
        // Of a trial that was stopped nothing is known. What is begun next sees that it is to stop.
        None => match kvm_works(host, &target.kernel, stop) {
            Err(why) if !stop.load(Ordering::Relaxed) => Err(why),
            _ => Ok(Machine::Kvm),
        },
    }
}

/// Whether KVM runs `kernel` here: that there is a /dev/kvm does not say so.
fn kvm_works(host: &Host, kernel: &Path, stop: &AtomicBool) -> Result<(), String> {
    const PATIENCE: Nanos = Nanos::from_secs(20);
    if Architecture::here() != Some(host.architecture) {
        return Err(format!(
            "the kernel is for {}, this machine's processors are {}",
            host.architecture,
            std::env::consts::ARCH
        ));
    }
    let open = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/kvm");
    open.map_err(|err| format!("/dev/kvm: {err}"))?;
    let job = Job::of(Vec::new());
    let trial = GuestTarget {
        time_limit: PATIENCE,
        ..GuestTarget::of(kernel)
    };
    let visit = host
        .design(&trial, Machine::Kvm)
        .and_then(|design| host.visit(&trial, &design, &job, stop));
    match visit {
        Ok(_) => Ok(()),
        Err(err) => {
            let cause = err.cause().map(ToString::to_string).unwrap_or_default();
            let cause = cause.lines().next().unwrap_or_default().to_owned();
            Err(format!("a trial boot with KVM failed to {cause}"))
        }
    }
}
