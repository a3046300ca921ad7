// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How groups were compared, for the reader.

use punctual_model::ComparisonMethod;
use punctual_stats::runs::{IntervalMethod, Margin, Options};

pub(super) fn method_name(method: IntervalMethod) -> &'static str {
    match method {
        IntervalMethod::Permutation => "permutation",
        IntervalMethod::Studentised => "studentised",
        IntervalMethod::Hierarchical => "hierarchical",
        IntervalMethod::Welch => "welch",
    }
}

pub(super) fn method(test: &str, options: &Options, tests: u64) -> ComparisonMethod {
    ComparisonMethod {
        test: test.to_owned(),
        alpha: options.alpha,
        tests,
        confidence: options.confidence,
        effect: options.effect,
        difference: options.difference,
        power: options.power,
        equivalence: match options.margin {
            Some(Margin::Same(share)) => Some(share),
            _ => None,
        },
        not_worse: match options.margin {
            Some(Margin::NotWorse(share)) => Some(share),
            _ => None,
        },
        interval: method_name(options.interval).to_owned(),
        draws: options.draws as u64,
        seed: options.seed,
    }
}
