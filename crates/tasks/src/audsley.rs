// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Optimal fixed priorities (Audsley, University of York YCS 164, 1991).
//!
//! Whether a task meets its deadline depends on which tasks are above it, not on their order. So the lowest priority goes to any
//! task that meets its deadline below all others, the next one to any of the rest, and so on. If no task can be the lowest, no
//! order meets all deadlines.

use crate::response::meets;
use crate::work::{Effort, Work};
use punctual_model::Ordered as _;

/// What the algorithm finds.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Order {
    /// An order that meets every deadline: numbers of tasks, the highest priority first.
    Found(Vec<usize>),
    /// There is none. These tasks, in any order, leave none of them that could be the lowest.
    None(Vec<usize>),
    /// The effort ran out.
    Unknown,
}

/// Finds an order. `above` goes before all of them; `blocking` tells how long a task can be blocked with which of them above it.
pub fn order(
    set: &[Work],
    above: &[Work],
    mut blocking: impl FnMut(usize, &[usize]) -> u64,
    effort: &mut Effort,
) -> Order {
    // Those with long deadlines are tried first: mostly the first one fits.
    let mut left: Vec<usize> = (0..set.len()).collect();
    left.order_by_key(|at| (set[*at].deadline.saturating_sub(set[*at].jitter), *at));
    let mut lowest_first = Vec::with_capacity(set.len());
    while !left.is_empty() {
        let mut found = None;
        for place in (0..left.len()).rev() {
            let own = left[place];
            let others = left.iter().copied().filter(|at| *at != own);
            let others: Vec<usize> = others.collect();
            let first = others.iter().map(|at| set[*at]);
            let first: Vec<Work> = above.iter().copied().chain(first).collect();
            match meets(&set[own], &first, blocking(own, &others), effort) {
                Some(true) => {
                    found = Some(place);
                    break;
                }
                Some(false) => {}
                None => return Order::Unknown,
            }
        }
        match found {
            Some(place) => lowest_first.push(left.remove(place)),
            None => return Order::None(left),
        }
    }
    lowest_first.reverse();
    Order::Found(lowest_first)
}
