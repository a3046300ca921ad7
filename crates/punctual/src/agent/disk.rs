// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A machine with a disk that restarts: a one-shot boot is tried on it as people do it, by commands of this program.
//!
//! The disk becomes the root directory, so that the commands find it as on any machine. Which boot this is, is kept on it.
//! All that is said goes to the second serial port as text.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, mem, thread};

use punctual_kernel::boot::Program;
use punctual_kernel::guest::{DiskJob, DiskStep};
use punctual_model::Policy;
use punctual_sys::guest::{
    SerialLine, close_disk, jump, load_module, mount_disk, mount_virtual, restart_machine, turn_off,
};
use punctual_sys::{SysRoot, process, sched};

use super::{Failure, LOOK_EVERY};

/// Where the disk is mounted before it is the root directory.
const DISK: &str = "/disk";
/// This program, on the disk.
const PROGRAM: &str = "/punctual";
/// Time that the disk has to be found.
const DISK_WITHIN: Duration = Duration::from_secs(20);
/// Time that a command has to come to where it is cut off.
const CUT_WITHIN: Duration = Duration::from_secs(120);
/// How many boots there were, on the disk.
const BOOTS: &str = "/boots";

/// Does what this boot's list says, and ends it.
pub(super) fn work(line: &mut SerialLine, job: &DiskJob) -> Result<(), Failure> {
    let sys = SysRoot::live();
    let release = sys.read("/proc/sys/kernel/osrelease")?;
    load(job, &release);
    let program = Program::own(&sys)?;
    let device = Path::new(&job.device);
    let begun = Instant::now();
    while !device.exists() && begun.elapsed() < DISK_WITHIN {
        thread::sleep(LOOK_EVERY);
    }
    mount_disk(&job.kind, device, Path::new(DISK))
        .map_err(|err| format!("mount {}: {err}", job.device))?;
    for (kind, target) in [
        ("proc", "proc"),
        ("sysfs", "sys"),
        ("devtmpfs", "dev"),
        ("tmpfs", "run"),
        ("tmpfs", "tmp"),
    ] {
        mount_virtual(kind, &Path::new(DISK).join(target))?;
    }
    std::os::unix::fs::chroot(DISK)?;
    env::set_current_dir("/")?;
    put(&program)?;
    let before: usize = sys.fact(BOOTS).unwrap_or(0);
    // A boot that hangs must not be taken for one that never was.
    let mut counter = File::create(BOOTS)?;
    counter.write_all((before + 1).to_string().as_bytes())?;
    counter.sync_all()?;
    drop(counter);
    say(line, &format!("== boot {}, {release}\n", before + 1))?;
    for command in job.boots.get(before).into_iter().flatten() {
        match DiskStep::of(command) {
            None => run(line, command, |_| Ok(()))?,
            Some(DiskStep::Cut {
                lines,
                file,
                command,
            }) => run(line, command, |child| cut(&sys, child, file, lines))?,
            Some(DiskStep::Watch) => {
                let watchdog = OpenOptions::new().write(true).open("/dev/watchdog")?;
                // Closing it might stop it.
                mem::forget(watchdog);
                say(line, "== the watchdog is started\n")?;
            }
            Some(DiskStep::Hang) => hang(line, &sys)?,
            Some(DiskStep::Kexec) => {
                say(line, "== jump\n")?;
                close_disk(Path::new("/"))?;
                jump()?;
            }
        }
    }
    let last = before + 1 >= job.boots.len();
    say(line, if last { "== off\n" } else { "== restart\n" })?;
    close_disk(Path::new("/"))?;
    match last {
        true => turn_off()?,
        false => restart_machine()?,
    }
    Ok(())
}

/// Loads the modules of this kernel, which are those in the directory of its release.
fn load(job: &DiskJob, release: &str) {
    for module in &job.modules {
        let (path, parameters) = module.split_once(' ').unwrap_or((module, ""));
        let path = path.replace("{release}", release);
        // Whatever needs what is missing then reports it.
        drop(load_module(Path::new(&path), parameters));
    }
}

/// Puts this program and its libraries on the disk.
fn put(program: &Program) -> Result<(), Failure> {
    if Path::new(PROGRAM).exists() {
        return Ok(());
    }
    let write = |path: &Path, content: &[u8]| {
        if let Some(above) = path.parent() {
            fs::create_dir_all(above)?;
        }
        fs::write(path, content)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))
    };
    write(Path::new(PROGRAM), &program.content)?;
    for library in &program.libraries {
        write(Path::new(&library.path), &library.content)?;
    }
    Ok(())
}

/// Runs a command of this program, and does something meanwhile.
fn run(
    line: &mut SerialLine,
    command: &str,
    meanwhile: impl FnOnce(&mut Child) -> Result<(), Failure>,
) -> Result<(), Failure> {
    say(line, &format!("$ punctual {command}\n"))?;
    let mut child = Command::new(PROGRAM)
        .args(command.split_whitespace())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    meanwhile(&mut child)?;
    let output = child.wait_with_output()?;
    line.send(&output.stdout)?;
    line.send(&output.stderr)?;
    let end = output
        .status
        .code()
        .map_or_else(|| "killed".to_owned(), |code| format!("exit {code}"));
    say(line, &format!("== {end}\n"))
}

/// Asks a process to end once `file` has that many lines, or after a while in any case.
fn cut(sys: &SysRoot, child: &mut Child, file: &str, lines: usize) -> Result<(), Failure> {
    let begun = Instant::now();
    let has = || {
        sys.read(file)
            .is_ok_and(|text| text.lines().count() >= lines)
    };
    while !has() && begun.elapsed() < CUT_WITHIN {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        thread::sleep(LOOK_EVERY);
    }
    Ok(process::ask_to_end(child.id())?)
}

/// Takes the CPU from everybody, for ever.
fn hang(line: &mut SerialLine, sys: &SysRoot) -> Result<(), Failure> {
    say(line, "== hang\n")?;
    sys.write("/proc/sys/kernel/sched_rt_runtime_us", "-1")?;
    sched::set_policy(Policy::Fifo { priority: 99 })?;
    loop {
        std::hint::spin_loop();
    }
}

fn say(line: &mut SerialLine, text: &str) -> Result<(), Failure> {
    Ok(line.send(text.as_bytes())?)
}
