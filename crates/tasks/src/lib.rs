// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Sets of periodic tasks: their file, and what analysis shows of their deadlines. Pure: text in, values out.
//!
//! [`mod@file`] and [`rt_app`] read a set, [`observe`] makes one of a watched program, and [`check`](check()) applies every analysis
//! that fits. Times are whole nanoseconds; nothing overflows, and every iteration has a limit beyond which the answer is "not
//! shown". docs/methods/tasks.md has the formulas with their sources.
#![forbid(unsafe_code)]

pub mod admission;
pub mod audsley;
mod blocking;
pub mod bounds;
mod check;
mod critical;
pub mod demand;
pub mod edf_response;
mod error;
pub mod example;
pub mod file;
mod growth;
pub mod observe;
mod priorities;
pub mod response;
pub mod rt_app;
pub mod several;
pub mod simulate;
mod work;

pub use admission::Limits;
pub use check::check;
pub use critical::critical_instant;
pub use error::TaskSetError;
pub use work::{Effort, HORIZON, LONGEST, Load, MOST_TASKS, Work, hyperperiod, load};
