// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where a session was made: its journal knows threads and processes by numbers and starts, which mean what they say only in
//! one namespace of processes and by one clock. In another one a thread of the session seems gone, or is somebody else's.

use std::fmt;

use punctual_model::TuningReport;
use punctual_sys::{SysRoot, namespace};

use super::{SessionError, Tuner, take_back};
use crate::journal::Journal;

/// Where a session was made, as seen from here.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Origin {
    /// Here: its numbers are ours.
    Here,
    /// In a namespace of processes that ended, and all its processes with it.
    Ended,
    /// In another namespace.
    Elsewhere(Elsewhere),
}

/// Another namespace, which may still be there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Elsewhere {
    /// That of the machine's first processes, and we are in a container.
    Host,
    /// Of the processes of a container.
    Container {
        /// One of them by its number here, where it can be seen.
        living: Option<u32>,
    },
    /// Of time.
    Clock {
        /// By how much it is ahead of the machine's, in seconds.
        ahead: i64,
    },
}

impl fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("the process namespace of the host, and this one has other numbers"),
            Self::Container { living: Some(process) } => write!(
                f,
                "the process namespace of a container that still runs (process {process} here), and this one has other numbers"
            ),
            Self::Container { living: None } => f.write_str(
                "another process namespace (a container), which cannot be seen from here and may still be in use",
            ),
            Self::Clock { .. } => f.write_str("another time namespace, where threads have other start times"),
        }
    }
}

impl Elsewhere {
    /// Says where its changes can be reverted.
    pub fn where_to_revert(&self) -> String {
        match self {
            Self::Host => {
                "run `punctual tune revert` on the host, or in a container with --pid=host"
                    .to_owned()
            }
            Self::Container {
                living: Some(process),
            } => format!(
                "`nsenter --target {process} --pid --mount punctual tune revert` reverts them there; `punctual tune revert` \
                 does it here once that container has ended"
            ),
            Self::Container { living: None } => {
                "run `punctual tune revert` in that container, or on the host once it has ended"
                    .to_owned()
            }
            Self::Clock { ahead } => {
                format!(
                    "`unshare --time --boottime {ahead} --fork punctual tune revert` reverts them"
                )
            }
        }
    }
}

/// Finds out where a session was made. Journals of older programs do not say: they count as of here.
pub fn origin(sys: &SysRoot, journal: &Journal) -> Origin {
    let header = journal.header();
    if let Some(theirs) = header.pid_namespace
        && namespace::of(sys, "self").ok() != Some(theirs)
    {
        return match theirs {
            namespace::INITIAL => Origin::Elsewhere(Elsewhere::Host),
            _ if namespace::is_empty(sys, theirs) => Origin::Ended,
            _ => Origin::Elsewhere(Elsewhere::Container {
                living: namespace::member(sys, theirs),
            }),
        };
    }
    match header.boottime_offset {
        Some(offset) if namespace::boottime_offset(sys) != Some(offset) => {
            Origin::Elsewhere(Elsewhere::Clock {
                ahead: offset / 1_000_000_000,
            })
        }
        _ => Origin::Here,
    }
}

/// Whether something of a session is known by its number: a thread, or a process that holds something or reverts.
pub fn is_by_number(journal: &Journal) -> bool {
    let mut entries = journal.entries().iter();
    journal.keeper().is_some()
        || !journal.header().held.is_empty()
        || entries.any(|(entry, _)| entry.target.thread().is_some())
}

impl Tuner {
    /// Takes back what an earlier session has left, if that can be done from here.
    pub(super) fn take_back(&self, mut journal: Journal) -> Result<TuningReport, SessionError> {
        match origin(&self.sys, &journal) {
            Origin::Elsewhere(place) if is_by_number(&journal) => {
                return Err(SessionError::Elsewhere {
                    session: Box::new(journal.session().clone()),
                    place,
                });
            }
            Origin::Here | Origin::Elsewhere(_) => {}
            Origin::Ended => journal.lose_threads(),
        }
        take_back(journal, &self.access(), self)
    }
}
