// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Other programs that work for us: bound as our own threads are, and gone when we are.

mod below;
mod strays;

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use punctual_model::{CpuSet, Policy};
use rustix::process::{Pid, Signal, kill_process_group};

pub use self::below::Below;
use self::strays::Strays;
use crate::{SysRoot, sched, thread};

/// Time between two looks whether a program has ended.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Time between two looks whether a [`Group`] is to end.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// How long the programs of a [`Group`] have to leave things in order once they are asked to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// Writes a word so that a shell reads it as one.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._=@-,:/".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Where and how a program runs; what is missing it has from the thread that starts it.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    /// CPUs that it is bound to.
    pub cpus: Option<CpuSet>,
    /// Scheduling policy of its first thread, which others that it starts inherit.
    pub policy: Option<Policy>,
}

/// Starts a program that is asked to end (SIGTERM) when the thread that starts it ends, by whatever. It stays in
/// our process group: a terminal's Ctrl-C is for both.
///
/// The kernel forgets the wish where the program gets privileges that we do not have, as sudo does.
///
/// The program gets `policy`, or the one of the thread that starts it.
///
/// # Errors
///
/// Fails as `execve(2)` does, and where the kernel refuses the policy.
pub fn start_asked_to_end(command: &mut Command, policy: Option<Policy>) -> io::Result<Child> {
    let parent = std::process::id();
    let prepare = move || {
        policy.map_or(Ok(()), sched::set_policy)?;
        thread::hear_of_parents_end(parent, Signal::TERM)
    };
    // SAFETY: as in `TiedChild::start`: system calls on plain values, and nothing is allocated while anybody waits.
    unsafe { command.pre_exec(prepare) };
    command.spawn()
}

/// Lets a command enter a control group before anything of it runs, and so before it can ask for CPUs or start another process;
/// `processes` is the group's `cgroup.procs`. Where the kernel refuses that, it runs outside.
pub fn enter_group(command: &mut Command, processes: File) {
    let prepare = move || {
        // Who writes 0 is meant (cgroups(7)).
        let _ = rustix::io::write(&processes, b"0");
        Ok(())
    };
    // SAFETY: as in `TiedChild::start`: one system call on a descriptor that was opened before.
    unsafe { command.pre_exec(prepare) };
}

/// Starts a program that outlives us. Of our descriptors it has standard input, output and error alone: others that we have from
/// our caller, such as the pipe or the lock that a shell gave us, would stay open for as long as it runs.
///
/// Before Linux 5.11 it keeps them.
///
/// # Errors
///
/// Fails as `execve(2)` does.
pub fn start_to_stay(command: &mut Command) -> io::Result<Child> {
    let prepare = || {
        let flags = libc::CLOSE_RANGE_CLOEXEC.cast_signed();
        // SAFETY: plain numbers. Nothing is closed before execve(2), so what the library reports its failure by is still open.
        // A kernel that cannot do this says so, and changes nothing.
        unsafe { libc::close_range(3, libc::c_uint::MAX, flags) };
        Ok(())
    };
    // SAFETY: as in `TiedChild::start`: one system call on plain values.
    unsafe { command.pre_exec(prepare) };
    command.spawn()
}

/// A program that is the first of a process group. Dropping it kills the whole group.
#[derive(Debug)]
struct Leader {
    child: Child,
    group: Pid,
    /// Whether it was waited for: its number may belong to another one since.
    reaped: bool,
}

impl Leader {
    fn new(child: Child) -> io::Result<Self> {
        let group = i32::try_from(child.id())
            .ok()
            .and_then(Pid::from_raw)
            .ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self {
            child,
            group,
            reaped: false,
        })
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        // The number is still ours: nobody else can have it before it was waited for.
        let _ = kill_process_group(self.group, Signal::KILL);
        drop(self.child.wait());
    }
}

/// A program in a process group of its own.
///
/// Dropping it kills the whole group. When the thread that started it ends, by whatever, the kernel kills the
/// program itself; what it has started by then is its own affair.
#[derive(Debug)]
pub struct TiedChild(Leader);

impl TiedChild {
    /// Starts `command`.
    ///
    /// # Errors
    ///
    /// Fails with `ENOENT` when there is no such program, with `EINVAL` when none of the CPUs can be used, and
    /// with `EPERM` when the policy is refused.
    pub fn start(command: &mut Command, bounds: &Bounds) -> io::Result<Self> {
        let parent = std::process::id();
        let Bounds { cpus, policy } = bounds.clone();
        let prepare = move || {
            thread::die_with_parent(parent)?;
            if let Some(cpus) = &cpus {
                sched::set_affinity(cpus)?;
            }
            policy.map_or(Ok(()), sched::set_policy)
        };
        command.process_group(0);
        // SAFETY: the closure runs between fork and exec, where another thread may have held any lock: it makes
        // system calls on plain values that were prepared before, and allocates nothing. Only where the parent
        // is gone does it make an error that allocates, and then nobody waits for the answer.
        unsafe { command.pre_exec(prepare) };
        Leader::new(command.spawn()?).map(Self)
    }

    /// Returns the program, for its input and output.
    pub const fn process(&mut self) -> &mut Child {
        &mut self.0.child
    }

    /// Returns how the program ended, if it has.
    ///
    /// # Errors
    ///
    /// Fails as `waitpid(2)` does, for no reason that is known.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = self.0.child.try_wait()?;
        self.0.reaped |= status.is_some();
        Ok(status)
    }

    /// Waits until the program ends, for `patience` at most.
    ///
    /// # Errors
    ///
    /// As [`TiedChild::ended`].
    pub fn wait(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        let end = Instant::now() + patience;
        loop {
            let status = self.ended()?;
            if status.is_some() || Instant::now() >= end {
                return Ok(status);
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// What stands before a program of a [`Group`]: it waits for the program, and asks all of the group to end when it is
/// asked itself, which the kernel does when the thread that started it is gone.
const ASKED: &str = "trap 'trap - TERM; kill -TERM 0' TERM; \"$@\" & wait \"$!\"";

/// A program and all that it starts, in a process group of their own that is asked to end as a whole (SIGTERM): for
/// programs that leave things in order when they are asked, as make does.
///
/// What has left the group by then, as timeout(1) does, is asked when nobody is left whose it is to ask. When the thread
/// that started it ends, by whatever, the group alone is asked. Dropping it kills the group.
#[derive(Debug)]
pub struct Group {
    leader: Leader,
    strays: Strays,
}

impl Group {
    /// Makes the command that [`Group::start`] takes; arguments, directory and the rest are added to it.
    pub fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", ASKED, "sh"]).arg(program);
        command
    }

    /// Starts a command of [`Group::command`].
    ///
    /// # Errors
    ///
    /// Fails as `fork(2)` and `execve(2)` do. That the program itself is not there is the shell's to say: status 127.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let child = start_asked_to_end(command.process_group(0), None)?;
        Ok(Self {
            leader: Leader::new(child)?,
            strays: Strays::default(),
        })
    }

    /// Returns the program, for its input and output.
    pub const fn process(&mut self) -> &mut Child {
        &mut self.leader.child
    }

    /// Hands on what comes over `lines` until nobody sends any more. Once `stop` says so, the whole group is asked to end;
    /// 20 s later it is killed. Returns whether it was asked.
    ///
    /// # Errors
    ///
    /// Fails as `heard` does.
    pub fn follow<T>(
        &mut self,
        sys: &SysRoot,
        lines: &Receiver<T>,
        stop: &dyn Fn() -> bool,
        mut heard: impl FnMut(T) -> io::Result<()>,
    ) -> io::Result<bool> {
        let mut asked: Option<Instant> = None;
        loop {
            match lines.recv_timeout(ASK_EVERY) {
                Ok(line) => heard(line)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(asked.is_some()),
            }
            match asked {
                None if stop() => {
                    self.ask_to_end(sys);
                    asked = Some(Instant::now());
                }
                Some(since) if since.elapsed() > PATIENCE => self.kill(sys),
                Some(_) => self.strays.ask_orphans(sys),
                None => {}
            }
        }
    }

    fn ask_to_end(&mut self, sys: &SysRoot) {
        if !self.leader.reaped {
            // Afterwards nobody could tell whose they are.
            self.strays.find(sys, self.leader.group);
            // That nobody is left is what was asked for.
            let _ = kill_process_group(self.leader.group, Signal::TERM);
        }
    }

    /// Kills the whole group, and what has left it.
    fn kill(&mut self, sys: &SysRoot) {
        if !self.leader.reaped {
            self.strays.find_and_stop(sys, self.leader.group);
            let _ = kill_process_group(self.leader.group, Signal::KILL);
        }
        self.strays.kill();
    }

    /// Waits until the program has ended.
    ///
    /// # Errors
    ///
    /// Fails as `waitpid(2)` does, for no reason that is known.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.leader.child.wait()?;
        self.leader.reaped = true;
        Ok(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::process::Stdio;

    const PATIENCE: Duration = Duration::from_secs(1_800);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command
    }

    #[test]
    fn a_command_enters_its_group_before_anything_of_it_runs() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cgroup.procs");
        let processes = File::create(&path).unwrap();
        let mut command = shell(&format!("cat {}", path.display()));
        enter_group(&mut command, processes);
        let output = command.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "0");
    }

    #[test]
    fn a_program_runs_where_and_as_it_was_told() {
        let one: CpuSet = sched::affinity().unwrap().iter().take(1).collect();
        let bounds = Bounds {
            cpus: Some(one.clone()),
            policy: Some(Policy::Batch),
        };
        let script = "grep Cpus_allowed_list /proc/self/status; cut -d' ' -f41 /proc/self/stat";
        let mut child = TiedChild::start(&mut shell(script), &bounds).unwrap();
        let mut text = String::new();
        let mut out = child.process().stdout.take().unwrap();
        out.read_to_string(&mut text).unwrap();
        let mut lines = text.lines();
        let cpus = lines.next().unwrap().split_whitespace().nth(1).unwrap();
        assert_eq!(cpus, one.to_string());
        // SCHED_BATCH is policy 3 in field 41 (proc(5)).
        assert_eq!(lines.next(), Some("3"));
        assert!(child.wait(PATIENCE).unwrap().unwrap().success());
    }

    #[test]
    fn dropping_it_ends_what_it_started_too() {
        let mut command = shell("sleep 300 & echo started; wait");
        let mut child = TiedChild::start(&mut command, &Bounds::default()).unwrap();
        let mut out = child.process().stdout.take().unwrap();
        let mut text = [0; 8];
        out.read_exact(&mut text).unwrap();
        assert_eq!(&text, b"started\n");
        drop(child);
        // The grandchild holds the other end of the pipe until it is gone.
        assert_eq!(out.read(&mut text).unwrap(), 0);
    }

    #[test]
    fn it_ends_with_the_thread_that_started_it() {
        let mut out = std::thread::spawn(|| {
            let mut child = TiedChild::start(&mut shell("exec sleep 300"), &Bounds::default());
            let out = child.as_mut().unwrap().process().stdout.take().unwrap();
            // As if this program were killed: nothing is dropped.
            std::mem::forget(child);
            out
        })
        .join()
        .unwrap();
        assert_eq!(out.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn a_program_is_asked_to_end_with_the_thread_that_started_it() {
        let script = "trap 'echo asked; exit' TERM; echo ready; while :; do sleep 0.05; done";
        let (said, mut child) = std::thread::spawn(move || {
            let mut child = start_asked_to_end(&mut shell(script), None).unwrap();
            let mut out = child.stdout.take().unwrap();
            let mut text = [0; 6];
            out.read_exact(&mut text).unwrap();
            (out, child)
        })
        .join()
        .unwrap();
        let mut text = String::new();
        { said }.read_to_string(&mut text).unwrap();
        assert_eq!(text, "asked\n");
        child.wait().unwrap();
    }

    #[test]
    fn what_cannot_be_started_says_why() {
        let mut command = Command::new("/no/such/program");
        let err = TiedChild::start(&mut command, &Bounds::default()).unwrap_err();
        assert_eq!(err.kind(), io::ErrorKind::NotFound);
        let bounds = Bounds {
            cpus: Some(std::iter::once(punctual_model::CPU_LIMIT - 1).collect()),
            policy: None,
        };
        let err = TiedChild::start(&mut shell("true"), &bounds).unwrap_err();
        assert_eq!(err.raw_os_error(), Some(libc::EINVAL));
    }

    #[test]
    fn waiting_ends_when_patience_does() {
        let mut child = TiedChild::start(&mut shell("exec sleep 300"), &Bounds::default()).unwrap();
        assert_eq!(child.wait(Duration::from_millis(20)).unwrap(), None);
    }

    #[test]
    fn a_group_is_asked_as_a_whole_and_says_how_it_ended() {
        // Ready is who has the default again: a subshell that is asked before forgets it.
        let script = "trap 'echo asked; exit 3' TERM; (echo ready; sleep 300; :) & wait";
        let mut command = Group::command("sh");
        command.args(["-c", script]).stdout(Stdio::piped());
        let mut group = Group::start(&mut command).unwrap();
        let mut out = group.process().stdout.take().unwrap();
        let mut text = [0; 6];
        out.read_exact(&mut text).unwrap();
        group.ask_to_end(&SysRoot::live());
        // The sleeping grandchild holds the other end until it is gone.
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        // The subshell says it as well where it is asked while it forks.
        assert!(rest.starts_with("asked\n"), "{rest}");
        assert!(rest.lines().all(|line| line == "asked"), "{rest}");
        assert!(!group.wait().unwrap().success());
        let mut command = Group::command("sh");
        let mut group = Group::start(command.args(["-c", "exit 7"])).unwrap();
        assert_eq!(group.wait().unwrap().code(), Some(7));
    }

    /// Starts what leaves the group, once it is there, and returns it with the output that it holds.
    fn strayed(script: &str) -> (Group, std::process::ChildStdout) {
        let mut command = Group::command("sh");
        command.args(["-c", script]).stdout(Stdio::piped());
        let mut group = Group::start(&mut command).unwrap();
        let mut out = group.process().stdout.take().unwrap();
        let mut text = [0; 6];
        out.read_exact(&mut text).unwrap();
        assert_eq!(&text, b"ready\n");
        (group, out)
    }

    #[test]
    fn what_has_left_the_group_is_asked_when_its_parent_is_gone() {
        let sys = SysRoot::live();
        let script = "setsid sh -c 'trap \"echo asked; exit\" TERM; echo ready; while :; do sleep 0.05; done' & wait";
        let (mut group, mut out) = strayed(script);
        group.ask_to_end(&sys);
        let asked = std::thread::spawn(move || {
            let mut text = String::new();
            out.read_to_string(&mut text).unwrap();
            text
        });
        let end = Instant::now() + PATIENCE;
        while !asked.is_finished() {
            assert!(Instant::now() < end, "it goes on");
            group.strays.ask_orphans(&sys);
            std::thread::sleep(LOOK_EVERY);
        }
        assert_eq!(asked.join().unwrap(), "asked\n");
    }

    #[test]
    fn what_has_left_the_group_is_killed_with_it() {
        let sys = SysRoot::live();
        let script = "trap '' TERM; setsid sh -c 'echo ready; sleep 300; :' & wait; wait";
        let (mut group, mut out) = strayed(script);
        group.ask_to_end(&sys);
        group.kill(&sys);
        assert_eq!(out.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn nobody_escapes_by_starting_others_meanwhile() {
        let sys = SysRoot::live();
        // Each of the sleeping ones holds the pipe.
        let script = "trap '' TERM; setsid sh -c 'echo ready; for n in $(seq 1000); do sleep 300 & done; wait' & wait; wait";
        for _ in 0..10 {
            let (mut group, mut out) = strayed(script);
            group.ask_to_end(&sys);
            group.kill(&sys);
            assert_eq!(out.read(&mut [0]).unwrap(), 0);
        }
    }

    #[test]
    fn a_group_ends_with_the_thread_that_started_it() {
        let mut out = std::thread::spawn(|| {
            let mut command = Group::command("sh");
            command
                .args(["-c", "echo ready; sleep 300 & wait"])
                .stdout(Stdio::piped());
            let mut group = Group::start(&mut command).unwrap();
            let mut out = group.process().stdout.take().unwrap();
            // The shell before it has set its trap by then, else the signal would end it alone.
            out.read_exact(&mut [0; 6]).unwrap();
            // As if this program were killed: nothing is dropped.
            std::mem::forget(group);
            out
        })
        .join()
        .unwrap();
        assert_eq!(out.read(&mut [0]).unwrap(), 0);
    }
}
