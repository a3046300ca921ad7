// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Short lists, put in order.
//!
//! The standard library's sort is compiled for each type and each comparison, at 6 KB a time: 1 MB of a program of 16 MB. This one sorts
//! the places and then moves what is there, so that the code of one sort serves all. For what is measured, which can be millions of
//! values, the standard library's is the right one.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// What an iterator gives as a map or a set. To collect it would sort it first, with a sort of each iterator's own.
pub trait Gathered: Iterator + Sized {
    /// Puts pairs into a map; of those with the same key the last one stays.
    fn into_map<K: Ord, V>(self) -> BTreeMap<K, V>
    where
        Self: Iterator<Item = (K, V)>,
    {
        let mut map = BTreeMap::new();
        map.extend(self);
        map
    }

    /// Puts elements into a set.
    fn into_set(self) -> BTreeSet<Self::Item>
    where
        Self::Item: Ord,
    {
        let mut set = BTreeSet::new();
        set.extend(self);
        set
    }
}

impl<I: Iterator> Gathered for I {}

/// Lists of a few hundred elements.
pub trait Ordered<T> {
    /// Orders the elements; equal ones stay as they are to each other, as with [`slice::sort_by`].
    fn order_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// Orders them by a key, which is asked for with each comparison, as with [`slice::sort_by_key`].
    fn order_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);
}

impl<T> Ordered<T> for [T] {
    fn order_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let mut places: Vec<usize> = (0..self.len()).collect();
        sort(&mut places, &mut |a, b| compare(&self[a], &self[b]));
        arrange(self, &mut places);
    }

    fn order_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.order_by(|a, b| key(a).cmp(&key(b)));
    }
}

#[inline(never)]
fn sort(places: &mut [usize], compare: &mut dyn FnMut(usize, usize) -> Ordering) {
    places.sort_by(|a, b| compare(*a, *b));
}

/// Moves to each place what `from` says. Each cycle of moves is followed once.
fn arrange<T>(items: &mut [T], from: &mut [usize]) {
    for start in 0..items.len() {
        let mut at = start;
        loop {
            let next = std::mem::replace(&mut from[at], at);
            if next == start || next == at {
                break;
            }
            items.swap(at, next);
            at = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A simple generator: xorshift of 64 bits.
    fn next(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    #[test]
    fn what_is_gathered_is_as_if_it_were_collected() {
        let pairs = [(3, 'a'), (1, 'b'), (3, 'c'), (2, 'd')];
        let map: BTreeMap<i32, char> = pairs.into_iter().collect();
        assert_eq!(pairs.into_iter().into_map(), map);
        let set: BTreeSet<i32> = map.keys().copied().collect();
        assert_eq!(pairs.into_iter().map(|(n, _)| n).into_set(), set);
    }

    #[test]
    fn what_is_ordered_is_as_the_standard_library_orders_it() {
        let mut state = 0x5EED;
        for length in (0..40).chain([100, 1_000]) {
            for distinct in [1, 3, 1_000_000] {
                // The second number tells equal ones apart.
                let list: Vec<(u64, usize)> = (0..length)
                    .map(|n| (next(&mut state) % distinct, n))
                    .collect();
                let mut theirs = list.clone();
                theirs.sort_by_key(|(key, _)| *key);
                let mut ours = list.clone();
                ours.order_by_key(|(key, _)| *key);
                assert_eq!(ours, theirs, "{list:?}");
                ours.order_by(|a, b| b.0.cmp(&a.0));
                theirs.sort_by_key(|(key, _)| std::cmp::Reverse(*key));
                assert_eq!(ours, theirs, "{list:?}");
            }
        }
    }
}
