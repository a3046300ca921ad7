// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Run directories, the truth, and an SQLite index, derived from them.
#![forbid(unsafe_code)]
