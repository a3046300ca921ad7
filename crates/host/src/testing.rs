// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Machines for tests: of files, and of settings that misbehave.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punctual_model::{CpuSet, Gathered as _, KeptSession, Target};
use punctual_sys::SysRoot;
use tempfile::TempDir;

use crate::journal::{Header, JOURNAL_FORMAT};
use crate::knob::{Access, AccessError, Fault};

/// Makes a tree of files, by their paths and texts.
pub(crate) fn machine(files: &[(&str, &str)]) -> (TempDir, SysRoot) {
    let dir = TempDir::new().unwrap();
    for (path, text) in files {
        let full = dir.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, format!("{text}\n")).unwrap();
    }
    let sys = SysRoot::at(dir.path());
    (dir, sys)
}

/// Makes the first line of a journal, of a session whose process started at `started_ticks`.
pub(crate) fn header(started_ticks: u64) -> Header {
    Header {
        format: JOURNAL_FORMAT.to_owned(),
        program: "test".to_owned(),
        session: KeptSession {
            id: "s".to_owned(),
            profile: "p".to_owned(),
            started: "2026-01-01T00:00:00Z".to_owned(),
            until: None,
            boot_id: "b".to_owned(),
            purpose: "apply".to_owned(),
            pid: 1,
        },
        started_ticks,
        held: Vec::new(),
        state: None,
        settings: None,
        online: None,
        pid_namespace: None,
        boottime_offset: None,
    }
}

/// What a setting of a [`Fake`] machine does when it is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Manner {
    /// Takes it.
    Takes,
    /// Says no.
    Refuses,
    /// Takes it unless it is empty.
    RefusesEmpty,
    /// Says no as long as another setting has a value.
    RefusesWhile(&'static str, &'static str),
    /// Takes of a set of CPUs those that another setting has.
    CutsTo(&'static str),
    /// Makes an even number of it.
    RoundsDown,
    /// Says yes, and does nothing.
    Ignores,
    /// Is gone.
    Vanishes,
    /// Never answers.
    Hangs,
}

/// A machine whose settings misbehave.
#[derive(Debug, Default)]
pub(crate) struct Fake {
    settings: Mutex<BTreeMap<String, (String, Manner)>>,
    /// Writes that are left until the program is killed; none: it is not.
    writes_left: Mutex<Option<usize>>,
    /// What the kernel changes by itself when a setting gets a value.
    moves: Mutex<Vec<Move>>,
}

/// A setting that moves when another one gets a value.
#[derive(Debug)]
struct Move {
    leader: String,
    value: String,
    follower: String,
    to: String,
}

impl Fake {
    pub(crate) fn with(settings: &[(&str, &str, Manner)]) -> Arc<Self> {
        let fake = Self::default();
        for (path, value, manner) in settings {
            fake.lock()
                .insert((*path).to_owned(), ((*value).to_owned(), *manner));
        }
        Arc::new(fake)
    }

    pub(crate) fn set(&self, path: &str, value: &str) {
        self.lock().get_mut(path).unwrap().0 = value.to_owned();
    }

    /// Makes `follower` read `to` whenever `leader` gets `value`.
    pub(crate) fn moves(&self, [leader, value]: [&str; 2], [follower, to]: [&str; 2]) {
        let mut moves = self.moves.lock().unwrap_or_else(PoisonError::into_inner);
        moves.push(Move {
            leader: leader.to_owned(),
            value: value.to_owned(),
            follower: follower.to_owned(),
            to: to.to_owned(),
        });
    }

    pub(crate) fn manner(&self, path: &str, manner: Manner) {
        self.lock().get_mut(path).unwrap().1 = manner;
    }

    /// Kills the program when it makes its write number `writes`, counted from 0.
    pub(crate) fn kill_after(&self, writes: Option<usize>) {
        *self
            .writes_left
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = writes;
    }

    /// Returns all values.
    pub(crate) fn dump(&self) -> BTreeMap<String, String> {
        let all = self.lock();
        all.iter()
            .map(|(k, (v, _))| (k.clone(), v.clone()))
            .into_map()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, (String, Manner)>> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn killed(&self) -> bool {
        let mut left = self
            .writes_left
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match left.as_mut() {
            Some(0) => true,
            Some(n) => {
                *n -= 1;
                false
            }
            None => false,
        }
    }
}

/// What a [`Fake`] says when the program is to be killed there.
pub(crate) const KILLED: &str = "killed";

impl Access for Arc<Fake> {
    fn read(&self, target: &Target) -> Result<String, AccessError> {
        let all = self.lock();
        all.get(&target.to_string())
            .map(|(value, _)| value.clone())
            .ok_or_else(|| fault(Fault::Gone))
    }

    fn write(&self, target: &Target, value: &str) -> Result<(), AccessError> {
        assert!(!self.killed(), "{KILLED}");
        let mut all = self.lock();
        let path = target.to_string();
        if matches!(target, Target::Directory { .. }) && value == "absent" {
            all.retain(|file, _| !file.starts_with(&format!("{path}/")));
        }
        let reads = |all: &BTreeMap<String, (String, Manner)>, path: &str, value: &str| {
            all.get(path).is_some_and(|(now, _)| now == value)
        };
        let cut = match all.get(&path) {
            Some((_, Manner::CutsTo(other))) => all.get(*other).map(|(set, _)| cut(value, set)),
            _ => None,
        };
        let refused = matches!(all.get(&path), Some((_, Manner::RefusesWhile(other, value))) if reads(&all, other, value));
        let Some((now, manner)) = all.get_mut(&path) else {
            return Err(fault(Fault::Gone));
        };
        match *manner {
            Manner::Takes => *now = value.to_owned(),
            Manner::RefusesWhile(..) if !refused => *now = value.to_owned(),
            Manner::RefusesWhile(..) | Manner::Refuses => return Err(fault(Fault::Refused)),
            Manner::RefusesEmpty if value.trim().is_empty() => {
                return Err(fault(Fault::Refused));
            }
            Manner::RefusesEmpty => *now = value.to_owned(),
            Manner::CutsTo(_) => *now = cut.unwrap_or_default(),
            Manner::RoundsDown => *now = (value.parse::<u64>().unwrap() & !1).to_string(),
            Manner::Ignores => {}
            Manner::Vanishes => drop(all.remove(&path)),
            Manner::Hangs => {
                drop(all);
                loop {
                    std::thread::park();
                }
            }
        }
        let moves = self.moves.lock().unwrap_or_else(PoisonError::into_inner);
        for one in moves
            .iter()
            .filter(|m| m.leader == path && m.value == value)
        {
            if let Some((now, _)) = all.get_mut(&one.follower) {
                *now = one.to.clone();
            }
        }
        Ok(())
    }
}

fn cut(set: &str, to: &str) -> String {
    let [set, to]: [CpuSet; 2] = [set, to].map(|text| text.parse().unwrap());
    set.common(&to).to_string()
}

fn fault(fault: Fault) -> AccessError {
    AccessError {
        what: "fake".to_owned(),
        fault,
        reason: "as told".to_owned(),
    }
}
