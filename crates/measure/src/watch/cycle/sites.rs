// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where the thread was as it came to what took its time.

use super::super::stacks::{At, Site};
use super::super::thread::{Own, Span, State};
use super::super::words::without_tid;
use super::{Cause, Cut};

/// Different places that are kept of one cycle.
const SITES: usize = 16;

impl Cut<'_> {
    /// Notes where the thread waited in `span`, whose pieces are those from `first` on.
    pub(super) fn note_wait(&mut self, span: &Span, first: usize) {
        let State::Blocked { call, fault, .. } = span.state else {
            return;
        };
        let since = match call {
            Some((_, since)) => since,
            None if fault => self.thread.last_fault(span.from).unwrap_or(span.from),
            None => span.from,
        };
        let Some(site) = self.thread.site(At::Wait, span.from) else {
            return;
        };
        let causes = self.pieces.iter().skip(first).map(|piece| piece.cause);
        for cause in causes.collect::<Vec<_>>() {
            self.note(since, cause, Some(site));
        }
    }

    /// Notes where the thread was as it came to what it did itself, from `from` on.
    pub(super) fn note_own(&mut self, own: Own, from: u64, cause: Cause) {
        match (own, cause) {
            (Own::Call { call, from, to }, Cause::System { .. }) => {
                self.note(from, cause, self.thread.site_of_call(call, from, to));
            }
            (Own::Fault, _) => self.note(from, cause, self.thread.site(At::Fault, from)),
            _ => {}
        }
    }

    /// Notes that the thread, which was at `site`, came to `cause` at `since`, once. What it came to in an earlier cycle was noted there.
    fn note(&mut self, since: u64, cause: Cause, site: Option<Site>) {
        let Some(site) = site.filter(|_| since >= self.begin.entered) else {
            return;
        };
        let bare = without_tid(cause);
        if self.came.0 != since {
            self.came = (since, Vec::new());
        }
        if self.came.1.contains(&bare) {
            return;
        }
        self.came.1.push(bare);
        let mut all = self.sites.iter_mut();
        if let Some((.., count)) = all.find(|(of, at, _)| (*of, *at) == (cause, site)) {
            *count += 1;
        } else if self.sites.len() < SITES {
            self.sites.push((cause, site, 1));
        }
    }
}
