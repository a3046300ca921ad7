// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The right to change a machine, and the sessions that it is used for.

use std::sync::Arc;
use std::time::Duration;

use punctual_model::{KeptSession, Plan};
use punctual_sys::namespace;

use super::{Purpose, Session, SessionError, Tuner, is_untouched, ticks_now};
use crate::journal::{Found, Header, JOURNAL_FORMAT, Journal, discard_empty};
use crate::plan::knobs;
use crate::private_dir::{Lock, PrivateDir};

/// The right to change the machine: until the last of its copies is dropped nobody else does.
#[derive(Clone, Debug)]
pub struct Claim {
    tuner: Tuner,
    _locks: Arc<Vec<Lock>>,
}

impl Tuner {
    /// Takes the locks for `purpose`, as [`Purpose::name`].
    ///
    /// # Errors
    ///
    /// Fails when another tuner is at work.
    pub fn claim(&self, purpose: &str) -> Result<Claim, SessionError> {
        let dir = PrivateDir::create(&self.dir)?;
        let record = self.made_record()?;
        let who = format!("process {} ({purpose})", std::process::id());
        let mut locks = vec![dir.lock(&who, Duration::ZERO)?];
        if let Some(record) = &record {
            locks.push(record.lock(&who, Duration::ZERO)?);
        }
        Ok(Claim {
            tuner: self.clone(),
            _locks: Arc::new(locks),
        })
    }
}

impl Claim {
    /// Fails where the changes of an earlier session are still there, and `plan` cannot be carried out.
    ///
    /// # Errors
    ///
    /// [`SessionError::Unreverted`]; and where its journal can be neither read nor closed.
    pub fn nothing_is_left(&self, plan: &Plan) -> Result<(), SessionError> {
        let tuner = &self.tuner;
        match tuner.known()? {
            Found::Nothing => Ok(()),
            Found::Empty(dir) => Ok(discard_empty(&dir)?),
            Found::Session(journal) if !tuner.is_current(&journal) || is_untouched(&journal) => {
                Ok(journal.close()?)
            }
            Found::Session(journal) => {
                let state = journal.header().state.clone();
                Err(SessionError::Unreverted {
                    session: Box::new(journal.session().clone()),
                    wanted: knobs(plan).into_iter().map(str::to_owned).collect(),
                    state: state.filter(|state| *state != tuner.dir),
                })
            }
        }
    }

    /// Begins a session, as [`Tuner::begin`] does.
    ///
    /// # Errors
    ///
    /// Fails when the changes of an earlier session are still there, and when the journal cannot be written.
    pub fn begin(&self, plan: Plan, purpose: Purpose) -> Result<Session, SessionError> {
        self.nothing_is_left(&plan)?;
        let tuner = &self.tuner;
        let header = Header {
            format: JOURNAL_FORMAT.to_owned(),
            program: purpose.program,
            session: KeptSession {
                id: purpose.id,
                profile: plan.profile.clone(),
                started: purpose.started,
                until: purpose.until,
                boot_id: tuner.boot_id.clone(),
                purpose: purpose.name,
                pid: std::process::id(),
            },
            started_ticks: ticks_now(&tuner.sys),
            held: plan.held.clone(),
            state: Some(tuner.dir.clone()),
            settings: None,
            online: Some(plan.cpus_online.clone()),
            pid_namespace: namespace::of(&tuner.sys, "self").ok(),
            boottime_offset: namespace::boottime_offset(&tuner.sys),
        };
        let dir = PrivateDir::create(&tuner.dir)?;
        let places = [dir].into_iter().chain(tuner.made_record()?).collect();
        let journal = Journal::begin(places, header, &plan)?;
        Ok(Session {
            tuner: tuner.clone(),
            access: tuner.access(),
            _claim: self.clone(),
            journal,
            plan,
        })
    }
}
