// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Source trees and images, where they are from, and the store that keeps them.

mod checksum;
mod fetch;
mod package;
mod stock;
mod tree;
mod what;

pub use checksum::sha256;
pub use fetch::{FetchError, Fetched, Options, fetch};
pub use stock::{Kind, Stock, StockError, make_private};
pub use tree::{Tree, TreeError};
pub use what::What;
