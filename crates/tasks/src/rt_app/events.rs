// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The events of a task: what it executes, when it is released, and which resources it holds meanwhile.

use punctual_model::Nanos;
use punctual_model::tasks::{CriticalSection, Resource};

use super::Reader;
use super::json::Json;
use crate::error::TaskSetError;

/// The kinds of events, and how the names of their keys begin: `run`, `run1` and `run_filter` are the same to rt-app.
const KINDS: [&str; 17] = [
    "lock", "unlock", "wait", "signal", "broad", "sync", "sleep", "runtime", "run", "timer",
    "suspend", "resume", "mem", "iorun", "yield", "barrier", "fork",
];

/// The kind of an event by its key; nothing where rt-app takes it for no event.
pub(crate) fn kind(key: &str) -> Option<&'static str> {
    KINDS.into_iter().find(|kind| key.starts_with(kind))
}

/// What the events of a task add up to.
pub(super) struct Events<'r, 'f> {
    reader: &'r mut Reader<'f>,
    place: String,
    pub(super) period: Option<u64>,
    pub(super) run: u64,
    pub(super) sections: Vec<CriticalSection>,
    /// Resources that are held, with the execution time before, and the sections inside.
    pub(super) held: Vec<(String, u64, Vec<CriticalSection>)>,
}

impl<'r, 'f> Events<'r, 'f> {
    pub(super) fn new(reader: &'r mut Reader<'f>, place: &str) -> Self {
        Self {
            reader,
            place: place.to_owned(),
            period: None,
            run: 0,
            sections: Vec::new(),
            held: Vec::new(),
        }
    }

    pub(super) fn event(&mut self, key: &str, value: &Json) -> Result<(), TaskSetError> {
        let place = format!("{}.{key}", self.place);
        match kind(key) {
            Some("run" | "runtime") => {
                let us = value.number();
                let us = us.ok_or_else(|| self.reader.fail(&place, "expected whole µs"))?;
                self.run = self.run.saturating_add(us);
            }
            Some("timer") => {
                // It sleeps until its next release, and whoever wants the resource waits for that.
                if !self.held.is_empty() {
                    self.reader.not_understood.push(place.clone());
                }
                let period = value
                    .get("period")
                    .and_then(Json::number)
                    .filter(|us| *us > 0);
                let period = period
                    .ok_or_else(|| self.reader.fail(&place, "expected a period above 0 in µs"))?;
                if self.period.replace(period).is_some() {
                    return Err(self
                        .reader
                        .fail(&place, "a second timer: the task has no one period"));
                }
            }
            Some("lock") => {
                let name = value
                    .text()
                    .ok_or_else(|| self.reader.fail(&place, "expected a name"))?;
                if self.held.len() >= 8 || self.held.iter().any(|(held, ..)| held == name) {
                    return Err(self
                        .reader
                        .fail(&place, format!("cannot take \"{name}\" here")));
                }
                let protocol = self.reader.protocol;
                if !self.reader.resources.iter().any(|r| r.name == name) {
                    self.reader.resources.push(Resource {
                        name: name.to_owned(),
                        protocol,
                    });
                }
                self.held.push((name.to_owned(), self.run, Vec::new()));
            }
            Some("unlock") => {
                let last = self
                    .held
                    .pop()
                    .filter(|(name, ..)| value.text() == Some(name));
                let Some((resource, from, inner)) = last else {
                    return Err(self
                        .reader
                        .fail(&place, "does not release what was taken last"));
                };
                // Who executes nothing in it still waits for it.
                let section = CriticalSection {
                    resource,
                    length_ns: Nanos::from_micros(self.run - from),
                    sections: inner,
                };
                match self.held.last_mut() {
                    Some((.., inside)) => inside.push(section),
                    None => self.sections.push(section),
                }
            }
            // The last dot is what ends the name of the task.
            Some(kind) if key.contains('.') => {
                let place = format!("{}.{kind}", self.place);
                self.reader.not_understood.push(place);
            }
            _ => self.reader.not_understood.push(place),
        }
        Ok(())
    }
}
