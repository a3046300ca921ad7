// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The order of quantiles.

use punctual_model::{Gathered as _, Ordered as _};
use std::collections::BTreeSet;

/// Sorts the names of quantiles by their number.
pub(crate) fn in_order<'a>(names: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
    let unique: BTreeSet<_> = names.into_set();
    let mut names: Vec<_> = unique.into_iter().collect();
    let number = |name: &str| {
        name.strip_prefix('p')
            .and_then(|digits| digits.parse::<f64>().ok())
            .unwrap_or(f64::INFINITY)
    };
    names.order_by(|a, b| number(a).total_cmp(&number(b)));
    names
}
