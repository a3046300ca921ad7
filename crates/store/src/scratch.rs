// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Room in a store for what is no run yet, such as the files of an archive.

use std::fs::File;
use std::sync::Arc;

use punctual_sys::dir::Dir;
use uuid::Uuid;

use crate::clean;
use crate::error::StoreError;
use crate::place::Held;
use crate::store::Store;
use crate::writer::temporary;

/// A directory that is removed when it is dropped. Where its process dies first, the next one that opens the store removes it, as
/// it does with half-written runs.
#[derive(Debug)]
pub struct Scratch {
    store: Arc<Held>,
    name: String,
    dir: Dir,
    // Says that somebody works in it.
    _lock: File,
}

impl Store {
    /// Makes a directory for a while, under an id that no run has.
    ///
    /// # Errors
    /// [`StoreError::Unsafe`]; `ENOSPC`, `EDQUOT`, `EROFS`, `EACCES` as [`StoreError::Path`].
    pub fn scratch(&self, id: Uuid) -> Result<Scratch, StoreError> {
        let store = self.held_to_write()?;
        let name = temporary(id);
        let guard = clean::lock_shared(&store.home)?;
        let (dir, lock) = clean::make_locked(&guard, &store.runs, &name)?;
        Ok(Scratch {
            store,
            name,
            dir,
            _lock: lock,
        })
    }
}

impl Scratch {
    /// Returns the directory.
    pub fn dir(&self) -> &Dir {
        &self.dir
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Best effort: what stays is removed by the next start.
        drop(self.store.runs.remove_tree(&self.name));
    }
}
