// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the verbs of `kernel` do, as functions for other verbs too.

pub(crate) mod boot;
pub(crate) mod build;
pub(crate) mod config;
pub(crate) mod kernel_store;
pub(crate) mod latency_test;
pub(crate) mod patch;
pub(crate) mod rt;
