// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Finding the run that a user means.

use uuid::Uuid;

use crate::error::ReadError;
use crate::list::Names;
use crate::store::Store;
use crate::stored::StoredRun;
use punctual_sys::PathError;

/// Fewer characters of an id are not looked at: all ids of a day begin alike.
const SHORTEST_PART: usize = 4;

/// A run that could be meant.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Candidate {
    /// Its id.
    pub id: Uuid,
    /// Its name, if it has one and can be read.
    pub name: Option<String>,
    /// Its start, if it can be read.
    pub started: Option<String>,
}

/// The reason that a run was not found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// No run is meant.
    #[error("find run `{selector}`: {}", nothing(known.len()))]
    NotFound {
        /// What was asked for.
        selector: String,
        /// The runs that there are, newest first.
        known: Vec<Candidate>,
    },
    /// More than one run is meant.
    #[error("find run `{selector}`: {} runs have this name, or an id that begins or ends with it", candidates.len())]
    Ambiguous {
        /// What was asked for.
        selector: String,
        /// The runs that it fits, newest first.
        candidates: Vec<Candidate>,
    },
    /// The run is there but cannot be read.
    #[error("find run `{selector}`")]
    Unreadable {
        /// What was asked for.
        selector: String,
        /// Why not.
        source: ReadError,
    },
    /// The directory of the runs cannot be read.
    #[error(transparent)]
    Path(#[from] PathError),
}

fn nothing(known: usize) -> String {
    match known {
        0 => "the store has no runs".to_owned(),
        1 => "the only run has a different id and name".to_owned(),
        n => format!(
            "none of {n} runs has this name or id, or an id that begins or ends with it (4 characters or more)"
        ),
    }
}

impl Store {
    /// Finds the run that `selector` means: `last`, an id, the first or the last four or more characters
    /// of one id, as lists and pages show them, or the name of one run.
    ///
    /// `last` is the run that was measured or imported last, whenever an imported one started, and even if it cannot be read:
    /// an older one is not the last.
    ///
    /// # Errors
    /// As [`FindError`] says.
    pub fn find(&self, selector: &str) -> Result<StoredRun, FindError> {
        let ids = Names::read(self.runs())?.ids;
        let open = |id: Uuid| {
            self.entry(id).run.map_err(|source| FindError::Unreadable {
                selector: selector.to_owned(),
                source,
            })
        };
        let exact = match selector {
            "last" => ids.first().copied(),
            _ => Uuid::try_parse(selector).ok().filter(|id| ids.contains(id)),
        };
        if let Some(id) = exact {
            return open(id);
        }
        let known: Vec<_> = ids.into_iter().map(|id| self.candidate(id)).collect();
        // A page writes the end of an id behind an ellipsis.
        let part = selector.trim_start_matches(['.', '…']).to_ascii_lowercase();
        let mut candidates: Vec<_> = known
            .iter()
            .filter(|run| {
                let id = run.id.to_string();
                let is_part =
                    part.len() >= SHORTEST_PART && (id.starts_with(&part) || id.ends_with(&part));
                is_part || run.name.as_deref() == Some(selector)
            })
            .cloned()
            .collect();
        let selector = || selector.to_owned();
        match (candidates.pop(), candidates.is_empty()) {
            (None, _) => Err(FindError::NotFound {
                selector: selector(),
                known,
            }),
            (Some(run), true) => open(run.id),
            (Some(run), false) => {
                candidates.push(run);
                Err(FindError::Ambiguous {
                    selector: selector(),
                    candidates,
                })
            }
        }
    }

    fn candidate(&self, id: Uuid) -> Candidate {
        let record = self.entry(id).run.ok().map(StoredRun::into_record);
        let (name, started) = record.map_or((None, None), |r| (r.name, r.started));
        Candidate { id, name, started }
    }
}
