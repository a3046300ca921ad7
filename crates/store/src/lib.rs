// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Run directories, the truth, and an SQLite index, derived from them.
//!
//! A run is written to `runs/.tmp-<id>` and renamed to `runs/<id>` when every byte of it is on
//! disk: it is there whole or not at all. A temporary directory belongs to the process that holds
//! the lock in it; the next [`Store::open`] removes those that nobody holds.
//!
//! The index may be deleted at any time; it is made again from the runs. Opening a store does not
//! touch it.
//!
//! The formats are described in docs/formats: `store.md`, `run.md` and `samples.md`.
#![forbid(unsafe_code)]

mod clean;
mod disk;
mod error;
mod samples;
mod store;
mod writer;

pub use disk::free_bytes;
pub use error::{PathError, StoreError};
pub use store::{STORE_FORMAT, Store};
pub use writer::{Raw, RunWriter};
