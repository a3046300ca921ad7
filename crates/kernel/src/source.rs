// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Source trees and images, where they are from, and the store that keeps them.

mod checksum;
mod error;
mod fetch;
mod kernel_store;
mod package;
mod tree;
mod wanted;

pub use checksum::sha256;
pub use error::FetchError;
pub use fetch::{Fetched, Options, copy, fetch};
pub use kernel_store::{Claim, Held, KernelStore, KernelStoreError, StoredKind, make_private};
pub use tree::{Tree, TreeError};
pub use wanted::WantedSource;
