// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `--metrics` in a guest, which has no network to answer on.

use std::sync::Arc;

use punctual_model::Event;

use crate::cli::MetricsArgs;
use crate::error::CliError;

/// The page that nobody could read.
#[derive(Debug)]
pub(crate) enum Metrics {}

impl Metrics {
    /// Refuses the option.
    pub(crate) fn of(
        args: &MetricsArgs,
        _instrument: &str,
        _name: Option<&str>,
    ) -> Result<Option<Arc<Self>>, CliError> {
        match args.metrics {
            None => Ok(None),
            Some(address) => Err(CliError::usage(format!(
                "--metrics {address}: a guest has no network"
            ))),
        }
    }

    /// Learns nothing: there is no such page.
    pub(crate) fn event(&self, _event: &Event) {
        match *self {}
    }
}
