// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Releases for which a thread did not wait, because they had passed: a loop that skips its sleep after an overrun, and releases that
//! it never served.

use crate::watch::thread::{Expiry, Waited};

/// How far two releases may be off a whole number of periods to be of one timer, as a share of the period.
const OFF: u64 = 100;

/// Finds the releases that pass while a thread is busy and that it never serves.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::watch) struct Passed {
    /// The last release that a timer had, of those that were served.
    served: Option<u64>,
}

impl Passed {
    /// Returns the number of releases that passed unserved since the last that was, up to the wait `end` of the cycle that `begin`
    /// begins: of those between two that were served, the ones that were over when the thread came to wait. `spacing` is the time between
    /// releases.
    pub(in crate::watch) fn unserved(
        &mut self,
        spacing: Option<u64>,
        begin: &Waited,
        end: &Waited,
    ) -> u64 {
        let spacing = spacing.filter(|spacing| *spacing > 0);
        spacing.map_or(0, |spacing| {
            self.upto(spacing, begin) + self.upto(spacing, end)
        })
    }

    fn upto(&mut self, spacing: u64, next: &Waited) -> u64 {
        // The next job's time had come, and it is served.
        if next.wait.is_yield() && next.expiry.is_none() {
            self.served = self.served.map(|served| served + spacing);
            return 0;
        }
        // Who sleeps for a time begins anew with each sleep.
        let is_for_a_time = next.wait.is_sleep() && !next.wait.is_absolute();
        let Some(release) = next.expiry.filter(|_| !is_for_a_time).map(|of| of.soft) else {
            return 0;
        };
        let Some(served) = self.served.replace(release) else {
            return 0;
        };
        let between = release.saturating_sub(served);
        let periods = (between + spacing / 2) / spacing;
        if between.abs_diff(periods * spacing) > spacing / OFF {
            return 0;
        }
        let passed = next.entered.saturating_sub(served) / spacing;
        passed.min(periods.saturating_sub(1))
    }
}

/// Gives each call of the function that ends a cycle, after which the thread did not wait, the release that it had passed by: one
/// period after the one before. Where the calls between two waits do not fit the releases between them, as where one cycle has
/// several calls, they are one: the first.
pub(super) fn give_releases(pending: &mut Vec<Waited>, period: Option<u64>) {
    if !pending.iter().any(Waited::is_passed) {
        return;
    }
    let mut whole: Vec<Waited> = Vec::with_capacity(pending.len());
    let mut calls: Vec<Waited> = Vec::new();
    for mut one in pending.drain(..) {
        if one.is_passed() {
            calls.push(one);
            continue;
        }
        let first = calls.first().map(|call| call.entered);
        match released(whole.last(), &calls, &one, period) {
            Some(releases) => whole.extend(releases),
            None => one.entered = first.unwrap_or(one.entered),
        }
        calls.clear();
        whole.push(one);
    }
    // Their wait is not over.
    whole.extend(calls);
    *pending = whole;
}

/// Returns `calls` with their releases, which lie between that of the wait `before` and that of `next`.
fn released(
    before: Option<&Waited>,
    calls: &[Waited],
    next: &Waited,
    period: Option<u64>,
) -> Option<Vec<Waited>> {
    let (before, period) = (before?.expiry?, period?);
    let mut at = before.soft;
    let mut releases = Vec::with_capacity(calls.len());
    for call in calls {
        at = at.checked_add(period)?;
        // For what is to come the thread would have waited.
        if at > call.entered {
            return None;
        }
        let expiry = Some(Expiry {
            soft: at,
            hard: at,
            ..before
        });
        releases.push(Waited { expiry, ..*call });
    }
    (at + period / 2 <= next.expiry?.soft).then_some(releases)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::wait::Wait;

    const PERIOD: u64 = 1_000;

    fn wait(entered: u64, release: u64) -> Waited {
        Waited {
            wait: Wait::PROBE,
            entered,
            woken: Some(release + 5),
            left: release + 9,
            expiry: Some(Expiry {
                soft: release,
                hard: release,
                cpu: 0,
                of_call: true,
            }),
        }
    }

    fn call(entered: u64) -> Waited {
        Waited {
            woken: None,
            left: entered,
            expiry: None,
            ..wait(entered, 0)
        }
    }

    fn given(mut pending: Vec<Waited>) -> Vec<(u64, u64)> {
        give_releases(&mut pending, Some(PERIOD));
        pending
            .iter()
            .map(|one| (one.entered, one.release()))
            .collect()
    }

    #[test]
    fn a_call_without_a_wait_begins_the_next_cycle_at_a_release_that_has_passed() {
        let all = vec![
            wait(900, 1_000),
            call(3_400),
            call(3_500),
            wait(3_600, 4_000),
        ];
        assert_eq!(
            given(all),
            [(900, 1_000), (3_400, 2_000), (3_500, 3_000), (3_600, 4_000)]
        );
        // A loop that leaves releases out has none without a wait.
        let all = vec![wait(900, 1_000), wait(3_400, 4_000)];
        assert_eq!(given(all), [(900, 1_000), (3_400, 4_000)]);
    }

    #[test]
    fn several_calls_in_a_cycle_are_one() {
        // In time.
        let all = vec![wait(900, 1_000), call(1_400), wait(1_450, 2_000)];
        assert_eq!(given(all), [(900, 1_000), (1_400, 2_000)]);
        // Two in each cycle, one of which was late.
        let all = vec![
            wait(900, 1_000),
            call(2_400),
            call(2_410),
            call(2_500),
            wait(2_510, 3_000),
        ];
        assert_eq!(given(all), [(900, 1_000), (2_400, 3_000)]);
    }

    #[test]
    fn calls_whose_wait_is_not_over_stay() {
        let mut pending = vec![wait(900, 1_000), call(2_400)];
        give_releases(&mut pending, Some(PERIOD));
        pending.push(wait(2_500, 3_000));
        assert_eq!(
            given(pending),
            [(900, 1_000), (2_400, 2_000), (2_500, 3_000)]
        );
        // Without a period nothing is known of their releases.
        let mut pending = vec![wait(900, 1_000), call(2_400), wait(2_500, 3_000)];
        give_releases(&mut pending, None);
        assert_eq!(pending.len(), 2);
    }
}
