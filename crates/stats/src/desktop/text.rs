// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Numbers as people write them in targets, requirements and figures.

/// A decimal number; Rust's parser alone would also take `inf`, `nan` and `1e3`.
pub fn number(digits: &str) -> Option<f64> {
    let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    plain.then(|| digits.parse().ok()).flatten()
}

/// A time with its unit, in ns.
pub fn time_ns(text: &str) -> Option<f64> {
    // `s` last: the other units end in it.
    let units = [
        ("ns", 1.0),
        ("us", 1e3),
        ("µs", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
    ];
    let stripped = |&(unit, ns)| Some((text.strip_suffix(unit)?, ns));
    let (digits, ns): (&str, f64) = units.iter().find_map(stripped)?;
    Some(number(digits.trim_end())? * ns)
}

/// A percentage between 0 and 100, without either, as a share.
pub fn share(text: &str) -> Option<f64> {
    number(text.strip_suffix('%')?.trim_end()).and_then(inner_share)
}

/// `p99.9` as a share, between p0 and p100, without either.
pub fn quantile(text: &str) -> Option<f64> {
    number(text.strip_prefix('p')?).and_then(inner_share)
}

fn inner_share(percent: f64) -> Option<f64> {
    (percent > 0.0 && percent < 100.0).then_some(percent / 100.0)
}

/// The percentage without the digits that the factor of 100 adds: 0.57 is 57, not 56.99999999999999.
pub fn percent(share: f64) -> f64 {
    let exact = share * 100.0;
    format!("{exact:.12}").parse().unwrap_or(exact)
}
