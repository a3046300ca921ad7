// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Configurations: a base, fragments over it, and whether the source honoured them.
//!
//! Kconfig says nothing when it drops an option. [`configure()`] lets it work (`allnoconfig`, `defconfig`,
//! `olddefconfig`), reads the result back, and names each option that did not become what was asked, with what it
//! lacks from the source's own Kconfig files.

mod asked;
mod check;
mod configure;
mod explain;
mod expression;
mod fragment;
mod kconfig;
mod values;

pub use check::{check, odd_tick, part, rules};
pub(crate) use configure::make;
pub use configure::{
    Base, ConfigError, Configured, Wish, configure, read_file, read_fragment, running,
};
pub use fragment::{Builtin, Fragment, MODELS, WITH, WITHOUT};
pub use kconfig::KconfigError;
pub use values::{OFF, OddLine, Values};
