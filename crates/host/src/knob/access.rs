// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Reading and writing one setting, with a limit on how long it may take.

use std::error::Error as _;
use std::io;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use punctual_model::{Policy, Target, ThreadId};
use punctual_sys::{PathError, SysRoot, sched};

use super::threads;

/// Reads and writes settings. What the kernel shows goes in and out as it is; codecs are above.
pub trait Access: Send + Sync {
    /// Reads what is shown.
    ///
    /// # Errors
    ///
    /// Fails where it cannot be read.
    fn read(&self, target: &Target) -> Result<String, AccessError>;

    /// Writes `value`.
    ///
    /// # Errors
    ///
    /// Fails where the kernel refuses it.
    fn write(&self, target: &Target, value: &str) -> Result<(), AccessError>;
}

/// A setting could not be read or written.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{what}: {reason}")]
pub struct AccessError {
    /// What was tried, and on what.
    pub what: String,
    /// What kind of failure it is.
    pub fault: Fault,
    /// The kernel's words.
    pub reason: String,
}

/// Kinds of failure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fault {
    /// It is gone.
    Gone,
    /// The kernel said no.
    Refused,
    /// It did not come back in time.
    Hung,
}

impl AccessError {
    fn new(what: impl Into<String>, number: Option<i32>, reason: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            fault: match number {
                Some(ENOENT | ESRCH | ENODEV) => Fault::Gone,
                _ => Fault::Refused,
            },
            reason: reason.into(),
        }
    }
}

impl From<PathError> for AccessError {
    fn from(err: PathError) -> Self {
        let reason = err.source().map(ToString::to_string).unwrap_or_default();
        Self::new(err.to_string(), err.errno(), reason)
    }
}

// Error numbers that say that something is not there. They are the same on every Linux.
const ENOENT: i32 = 2;
const ESRCH: i32 = 3;
const ENODEV: i32 = 19;

/// The settings of the machine behind a [`SysRoot`].
#[derive(Clone, Debug)]
pub struct Live(SysRoot);

impl Live {
    /// Opens the settings.
    pub const fn new(sys: SysRoot) -> Self {
        Self(sys)
    }

    /// Finds a thread, and not a later one of the same number.
    fn thread(&self, id: &ThreadId) -> Result<threads::Thread, AccessError> {
        let found = threads::read(&self.0, id.tid);
        found
            .filter(|thread| thread.id.started_ticks == id.started_ticks)
            .ok_or_else(|| AccessError {
                what: id.to_string(),
                fault: Fault::Gone,
                reason: "it has ended".to_owned(),
            })
    }

    /// Changes a thread of the running system: a captured tree has none.
    fn change(
        &self,
        id: &ThreadId,
        change: impl FnOnce(i32) -> io::Result<()>,
    ) -> Result<(), AccessError> {
        self.thread(id)?;
        let done = if self.0.is_live() {
            change(id.tid)
        } else {
            Err(io::Error::other("a captured machine has no threads"))
        };
        done.map_err(|err| AccessError::new(id.to_string(), err.raw_os_error(), err.to_string()))
    }
}

impl Access for Live {
    fn read(&self, target: &Target) -> Result<String, AccessError> {
        match target {
            Target::File { path } => Ok(self.0.read(path)?),
            Target::Directory { path } => {
                let there = self.0.exists(path);
                Ok(if there { "present" } else { "absent" }.to_owned())
            }
            Target::Controller { path, name } => {
                let list = self.0.read(path)?;
                let there = list.split_whitespace().any(|word| word == name);
                Ok(if there { "present" } else { "absent" }.to_owned())
            }
            Target::ThreadCpus(id) => Ok(self.thread(id)?.cpus.to_string()),
            Target::ThreadPolicy(id) => {
                let policy = self.thread(id)?.policy;
                policy.map(|p| p.to_string()).ok_or_else(|| AccessError {
                    what: id.to_string(),
                    fault: Fault::Refused,
                    reason: "its policy is not known to this program".to_owned(),
                })
            }
        }
    }

    fn write(&self, target: &Target, value: &str) -> Result<(), AccessError> {
        let bad = |reason: &dyn std::fmt::Display| AccessError {
            what: target.to_string(),
            fault: Fault::Refused,
            reason: reason.to_string(),
        };
        match target {
            Target::File { path } => Ok(self.0.write(path, value)?),
            Target::Directory { path } if value == "present" => Ok(self.0.make_dir(path)?),
            Target::Directory { path } => {
                empty_group(&self.0, path);
                Ok(self.0.remove_dir(path)?)
            }
            Target::Controller { path, name } => {
                let sign = if value == "present" { '+' } else { '-' };
                Ok(self.0.write(path, &format!("{sign}{name}"))?)
            }
            Target::ThreadCpus(id) => {
                let cpus = value.parse().map_err(|err| bad(&err))?;
                self.change(id, |tid| sched::set_affinity_of(tid, &cpus))
            }
            Target::ThreadPolicy(id) => {
                let policy: Policy = value.parse().map_err(|err| bad(&err))?;
                self.change(id, |tid| sched::set_policy_of(tid, policy))
            }
        }
    }
}

/// Moves the processes of a control group to the group above: a group that has some stays.
fn empty_group(sys: &SysRoot, path: &str) {
    let Some((above, _)) = path.rsplit_once('/') else {
        return;
    };
    let inside = sys
        .read(&format!("{path}/cgroup.procs"))
        .unwrap_or_default();
    for process in inside.lines() {
        // One that ends meanwhile need not be moved. One that stays makes the removal fail, which
        // is told.
        drop(sys.write(&format!("{above}/cgroup.procs"), process));
    }
}

/// Limits how long a read or write may take: a driver that hangs must not hang the rest.
///
/// What hangs in the kernel cannot be ended: its thread is left behind.
#[derive(Clone)]
pub struct Patient<A> {
    inner: Arc<A>,
    limit: Duration,
}

impl<A> std::fmt::Debug for Patient<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Patient({:?})", self.limit)
    }
}

impl<A: Access + 'static> Patient<A> {
    /// Gives each read and write of `inner` at most `limit`.
    pub fn new(inner: A, limit: Duration) -> Self {
        Self {
            inner: Arc::new(inner),
            limit,
        }
    }

    fn within<T: Send + 'static>(
        &self,
        target: &Target,
        work: impl FnOnce(&A, &Target) -> Result<T, AccessError> + Send + 'static,
    ) -> Result<T, AccessError> {
        let fail = |fault, reason: String| AccessError {
            what: target.to_string(),
            fault,
            reason,
        };
        let (send, receive) = mpsc::channel();
        let (inner, theirs) = (Arc::clone(&self.inner), target.clone());
        std::thread::Builder::new()
            .name("knob".to_owned())
            .spawn(move || {
                // Nobody waits any more for what comes too late.
                drop(send.send(work(&inner, &theirs)));
            })
            .map_err(|err| fail(Fault::Refused, err.to_string()))?;
        receive.recv_timeout(self.limit).unwrap_or_else(|_| {
            Err(fail(
                Fault::Hung,
                format!("no response within {} ms", self.limit.as_millis()),
            ))
        })
    }
}

impl<A: Access + 'static> Access for Patient<A> {
    fn read(&self, target: &Target) -> Result<String, AccessError> {
        self.within(target, |inner, target| inner.read(target))
    }

    fn write(&self, target: &Target, value: &str) -> Result<(), AccessError> {
        let value = value.to_owned();
        self.within(target, move |inner, target| inner.write(target, &value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A machine with a file that never answers.
    struct Stuck(Live);

    impl Stuck {
        fn stop_at(target: &Target) {
            while target.to_string().contains("stuck") {
                std::thread::park();
            }
        }
    }

    impl Access for Stuck {
        fn read(&self, target: &Target) -> Result<String, AccessError> {
            Self::stop_at(target);
            self.0.read(target)
        }

        fn write(&self, target: &Target, value: &str) -> Result<(), AccessError> {
            Self::stop_at(target);
            self.0.write(target, value)
        }
    }

    #[test]
    fn a_file_that_never_answers_is_hung_and_the_next_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("knob"), "1\n").unwrap();
        let access = Patient::new(
            Stuck(Live::new(SysRoot::at(dir.path()))),
            // So long that the others answer on any machine.
            Duration::from_secs(5),
        );
        let stuck = Target::file("/stuck");
        assert_eq!(access.read(&stuck).unwrap_err().fault, Fault::Hung);
        assert_eq!(access.write(&stuck, "1").unwrap_err().fault, Fault::Hung);
        assert_eq!(access.read(&Target::file("/knob")).unwrap(), "1");
        let gone = access.write(&Target::file("/none"), "1").unwrap_err();
        assert_eq!(gone.fault, Fault::Gone);
    }

    #[test]
    fn a_group_goes_and_its_processes_move_up() {
        let dir = tempfile::tempdir().unwrap();
        let sys = SysRoot::at(dir.path());
        let access = Live::new(sys.clone());
        let group = Target::Directory {
            path: "/cg/punctual".to_owned(),
        };
        fs::create_dir(dir.path().join("cg")).unwrap();
        fs::write(dir.path().join("cg/cgroup.procs"), "").unwrap();
        assert_eq!(access.read(&group).unwrap(), "absent");
        access.write(&group, "present").unwrap();
        assert_eq!(access.read(&group).unwrap(), "present");
        access.write(&group, "absent").unwrap();
        assert_eq!(access.read(&group).unwrap(), "absent");
        assert_eq!(
            access.write(&group, "absent").unwrap_err().fault,
            Fault::Gone
        );
    }

    #[test]
    fn a_thread_of_another_start_is_gone() {
        let access = Live::new(SysRoot::live());
        let own = i32::try_from(std::process::id()).unwrap();
        let mut id = threads::read(&SysRoot::live(), own).unwrap().id;
        let target = Target::ThreadCpus(id.clone());
        assert!(!access.read(&target).unwrap().is_empty());
        id.started_ticks += 1;
        let err = access.read(&Target::ThreadCpus(id)).unwrap_err();
        assert_eq!(err.fault, Fault::Gone);
    }
}
