// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where a watched thread was as it waited, called or faulted.

use super::{Thread, keep};
use crate::watch::stacks::{At, Site};

/// How far apart the times are that two instances give to one event, in ns, at most.
const APART: u64 = 10_000;

impl Thread {
    /// It was at this place as it waited, called or faulted.
    pub(in crate::watch) fn is_at(&mut self, time: u64, at: At, site: Site) {
        match self.sites.back_mut() {
            Some((last, of, known)) if (*last, *of) == (time, at) => *known = known.and(site),
            _ => keep(&mut self.sites, (time, at, site), |(time, ..)| *time),
        }
    }

    /// Returns where it was as it came to `at` at a moment. Each instance gives the same event a time of its own.
    pub(in crate::watch) fn site(&self, at: At, time: u64) -> Option<Site> {
        let (from, to) = (time.saturating_sub(APART), time.saturating_add(APART));
        let near = self.sites_within(at, from, to);
        let nearest = near.min_by_key(|(own, _)| own.abs_diff(time))?;
        Some(nearest.1)
    }

    /// Returns where it was in a system call: where it waited in that, or called the kernel.
    pub(in crate::watch) fn site_of_call(&self, call: i64, from: u64, to: u64) -> Option<Site> {
        let waited = self.sites_within(At::Wait, from, to).next();
        let waited = waited.map(|(_, site)| site);
        waited.or_else(|| self.site(At::Call(call), from))
    }

    fn sites_within(&self, at: At, from: u64, to: u64) -> impl Iterator<Item = (u64, Site)> {
        let first = self.sites.partition_point(|(time, ..)| *time < from);
        let all = self.sites.range(first..);
        let all = all.take_while(move |(time, ..)| *time <= to);
        let of = all.filter(move |(_, of, site)| *of == at && !site.is_unknown());
        of.map(|(time, _, site)| (*time, *site))
    }
}
