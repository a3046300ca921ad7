// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Validity checks: why a run may, or may not, be believed.

use serde::{Deserialize, Serialize};

/// One validity check and its evidence.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Check {
    /// Stable name, such as `lost-samples`.
    pub id: String,
    /// What came out.
    pub status: CheckStatus,
    /// The evidence, one sentence with figures.
    pub detail: String,
}

/// The outcome of a check. Only [`CheckStatus::Pass`] lets a run be valid: checks fail closed.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// The evidence says yes.
    Pass,
    /// The evidence says no.
    Fail,
    /// There is no evidence.
    Unknown,
}

impl Check {
    /// Makes a check that passed.
    pub fn pass(id: &str, detail: impl Into<String>) -> Self {
        Self::new(id, CheckStatus::Pass, detail)
    }

    /// Makes a check that failed.
    pub fn fail(id: &str, detail: impl Into<String>) -> Self {
        Self::new(id, CheckStatus::Fail, detail)
    }

    /// Makes a check without evidence.
    pub fn unknown(id: &str, detail: impl Into<String>) -> Self {
        Self::new(id, CheckStatus::Unknown, detail)
    }

    /// Makes a check that passed if `ok`.
    pub fn of(id: &str, ok: bool, detail: impl Into<String>) -> Self {
        let status = if ok {
            CheckStatus::Pass
        } else {
            CheckStatus::Fail
        };
        Self::new(id, status, detail)
    }

    fn new(id: &str, status: CheckStatus, detail: impl Into<String>) -> Self {
        Self {
            id: id.to_owned(),
            status,
            detail: detail.into(),
        }
    }

    /// Whether the evidence says yes.
    pub fn passed(&self) -> bool {
        self.status == CheckStatus::Pass
    }
}
