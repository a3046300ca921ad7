// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! rtla: the histograms of timerlat and osnoise, and what their `top` prints.

pub(crate) mod hist;
pub(crate) mod noise;
pub(crate) mod top;

use punctual_model::Nanos;

/// Reads `0 00:10:00`: days, hours, minutes and seconds.
pub(crate) fn duration(text: &str) -> Option<Nanos> {
    let mut words = text.split_ascii_whitespace();
    let days: u64 = words.next()?.parse().ok()?;
    let mut parts = words
        .next()?
        .split(':')
        .map(|part| part.parse::<u64>().ok());
    let (h, m, s) = (parts.next()??, parts.next()??, parts.next()??);
    let seconds = days
        .checked_mul(86_400)?
        .checked_add(h.checked_mul(3_600)?)?
        .checked_add(m.checked_mul(60)?)?
        .checked_add(s)?;
    seconds.checked_mul(1_000_000_000).map(Nanos::new)
}

/// Reads the CPU of `IRQ-003`.
fn cpu(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|b| b.is_ascii_digit()) && !text.is_empty();
    digits.then(|| text.parse().ok()).flatten()
}
