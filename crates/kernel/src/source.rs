// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Source trees and images, where they are from, and the store that keeps them.

mod fetch;
mod stock;
mod tree;

pub use fetch::{FetchError, Fetched, Options, What, fetch, sha256};
pub use stock::{Kind, Stock, StockError};
pub use tree::{Tree, TreeError};
