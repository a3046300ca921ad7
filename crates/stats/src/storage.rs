// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where online statistics keep their state by default: on the heap, or where there is none, in memory that the
//! caller gives for ever.

/// As many as were asked for.
#[cfg(feature = "std")]
pub(crate) type List<T> = Vec<T>;
/// As many as were asked for.
#[cfg(not(feature = "std"))]
pub(crate) type List<T> = &'static mut [T];

/// A number that stays.
#[cfg(feature = "std")]
pub(crate) type Fixed<T> = Box<[T]>;
/// A number that stays.
#[cfg(not(feature = "std"))]
pub(crate) type Fixed<T> = &'static mut [T];
