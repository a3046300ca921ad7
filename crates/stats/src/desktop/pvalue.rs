// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! P-values as people read them.

use std::fmt;

/// A p-value with its sign, as in a sentence; with `#` without the letter, as in a column.
///
/// Below 0.0001 it is written as a bound: a test by random arrangements or by an approximation knows
/// no more, and none is 0.
///
/// ```
/// use punctual_stats::PValue;
///
/// assert_eq!(PValue(0.0275).to_string(), "p = 0.0275");
/// assert_eq!(PValue(3e-9).to_string(), "p < 0.0001");
/// assert_eq!(format!("{:#} and {:#}", PValue(0.423), PValue(0.0)), "0.42 and < 0.0001");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PValue(pub f64);

impl fmt::Display for PValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LEAST: f64 = 0.0001;
        let Self(p) = *self;
        match (p < LEAST, f.alternate()) {
            (true, false) => write!(f, "p < {LEAST}"),
            (true, true) => write!(f, "< {LEAST}"),
            (false, alone) => {
                let sign = if alone { "" } else { "p = " };
                // More digits where a level is near.
                let decimals = if p < 0.1 { 4 } else { 2 };
                write!(f, "{sign}{p:.decimals$}")
            }
        }
    }
}
