// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The order of the list of runs: `?sort=p99`, or `?sort=-p99` for the largest first.

use std::cmp::Ordering;
use std::fmt::{self, Display, Formatter};

use punctual_model::{Ordered as _, RunListEntry, RunListFigures};

/// What the list can be sorted by.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Key {
    Started,
    Name,
    Instrument,
    Samples,
    P50,
    P99,
    Max,
    Valid,
}

const KEYS: [(Key, &str); 8] = [
    (Key::Started, "started"),
    (Key::Name, "name"),
    (Key::Instrument, "instrument"),
    (Key::Samples, "samples"),
    (Key::P50, "p50"),
    (Key::P99, "p99"),
    (Key::Max, "max"),
    (Key::Valid, "valid"),
];

/// A key and a direction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Order {
    pub(super) key: Key,
    /// Whether the largest comes first.
    pub(super) is_down: bool,
}

impl Order {
    /// The direction that one wants first: the newest, the worst, the first letter.
    pub(super) const fn first(key: Key) -> Self {
        let is_down = !matches!(key, Key::Name | Key::Instrument | Key::Valid);
        Self { key, is_down }
    }

    /// The other direction.
    pub(super) const fn turned(self) -> Self {
        Self {
            is_down: !self.is_down,
            ..self
        }
    }

    /// Takes the order that was asked for; the newest first without.
    pub(super) fn parse(text: Option<&str>) -> Result<Self, String> {
        let Some(text) = text else {
            return Ok(Self::first(Key::Started));
        };
        let name = text.strip_prefix('-').unwrap_or(text);
        match KEYS.iter().find(|(_, known)| *known == name) {
            Some((key, _)) => Ok(Self {
                key: *key,
                is_down: text.starts_with('-'),
            }),
            None => Err(format!(
                "sort: one of {}, with - before it for the largest first",
                KEYS.map(|(_, name)| name).join(", ")
            )),
        }
    }

    /// Sorts runs that are in the order of the index: by their start, newest first. What has no such figure comes last.
    pub(super) fn sort(self, runs: &mut [RunListEntry]) {
        match self.key {
            Key::Started => {
                let started =
                    |run: &RunListEntry| run.figures.as_ref().is_some_and(|f| f.started.is_some());
                let known = runs.partition_point(started);
                if !self.is_down {
                    runs.split_at_mut(known).0.reverse();
                }
            }
            Key::Name => self.by(runs, |f| f.name.clone()),
            Key::Instrument => self.by(runs, |f| Some(f.instrument.clone())),
            Key::Samples => self.by(runs, |f| Some(f.count)),
            Key::P50 => self.by(runs, |f| f.p50_ns),
            Key::P99 => self.by(runs, |f| f.p99_ns),
            Key::Max => self.by(runs, |f| f.max_ns),
            Key::Valid => self.by(runs, |f| Some(f.valid)),
        }
    }

    fn by<K: Ord>(self, runs: &mut [RunListEntry], key: impl Fn(&RunListFigures) -> Option<K>) {
        let key = |run: &RunListEntry| run.figures.as_ref().and_then(&key);
        runs.order_by(|a, b| match (key(a), key(b)) {
            (Some(a), Some(b)) if self.is_down => b.cmp(&a),
            (Some(a), Some(b)) => a.cmp(&b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => Ordering::Equal,
        });
    }
}

impl Display for Order {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = KEYS.iter().find(|(key, _)| *key == self.key);
        let sign = if self.is_down { "-" } else { "" };
        write!(f, "{sign}{}", name.map_or("started", |(_, name)| name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_read_back_and_what_has_no_figure_is_last() {
        for (key, name) in KEYS {
            let first = Order::first(key);
            for order in [first, first.turned()] {
                assert_eq!(Order::parse(Some(&order.to_string())), Ok(order), "{name}");
            }
        }
        assert_eq!(Order::parse(None), Ok(Order::first(Key::Started)));
        assert!(Order::parse(Some("size")).is_err() && Order::parse(Some("--p50")).is_err());
        let run = |id: &str, max_ns: Option<u64>| RunListEntry {
            id: id.to_owned(),
            figures: Some(RunListFigures {
                max_ns,
                ..RunListFigures::default()
            }),
            unreadable: None,
        };
        let mut runs = vec![run("a", Some(5)), run("b", None), run("c", Some(9))];
        let mut sorted = |text: &str| {
            Order::parse(Some(text)).unwrap().sort(&mut runs);
            runs.iter().map(|run| run.id.clone()).collect::<String>()
        };
        assert_eq!(sorted("-max"), "cab");
        assert_eq!(sorted("max"), "acb");
        // As the index has them: those without a start are last in either order.
        let started = |id: &str, started: &str| RunListEntry {
            figures: Some(RunListFigures {
                started: Some(started.to_owned()),
                ..RunListFigures::default()
            }),
            ..run(id, None)
        };
        let listed = [
            started("d", "2026-11-20T09:35:48Z"),
            started("e", "2025-01-01T02:00:00Z"),
            run("f", None),
            run("g", None),
        ];
        for (text, ids) in [("-started", "defg"), ("started", "edfg")] {
            let mut runs = listed.to_vec();
            Order::parse(Some(text)).unwrap().sort(&mut runs);
            assert_eq!(
                runs.iter().map(|run| run.id.as_str()).collect::<String>(),
                ids
            );
        }
    }
}
