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

#[cfg(feature = "archive")]
mod adopt;
#[cfg(feature = "archive")]
pub mod archive;
mod clean;
pub mod decode;
mod disk;
mod error;
mod find;
#[cfg(feature = "index")]
mod index;
mod latencies;
mod list;
mod place;
mod samples;
#[cfg(feature = "archive")]
mod scratch;
mod store;
mod stored;
mod writer;

#[cfg(feature = "archive")]
pub use adopt::{AdoptError, Adopted};
pub use clean::is_leftover;
pub use disk::free_bytes;
pub use error::{ReadError, StoreError};
pub use find::{Candidate, FindError};
#[cfg(feature = "index")]
pub use index::{Filter, Index, IndexError, RunRow};
pub use latencies::{HISTOGRAM_LOG, of_required};
pub use list::{Listing, RunEntry};
pub use place::{RECORD_LIMIT, is_run_name};
pub use punctual_sys::PathError;
pub use samples::SamplesFault;
#[cfg(feature = "archive")]
pub use scratch::Scratch;
pub use store::{STORE_FORMAT, Store};
pub use stored::StoredRun;
pub use writer::{Raw, RunWriter};
