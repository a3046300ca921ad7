// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What figures.c prints, by the classes that Punctual itself uses: on the heap, with samples pushed a block at a time where
//! they allow that.

use punctual_stats::{CountWindow, LatencyHistogram, Moments, PSquare};

const SHARES: [f64; 4] = [0.05, 0.5, 0.95, 0.99];

fn main() {
    let mut state = 1_u64;
    let ns: Vec<u64> = (0..20_000).map(|_| next_latency(&mut state)).collect();
    let samples: Vec<f64> = ns.iter().map(|&ns| punctual_stats::float(ns)).collect();

    let mut moments = Moments::new();
    for &sample in &samples {
        moments.push(sample);
    }
    let mut quantiles = PSquare::default();
    quantiles.extend_from_slice(&samples);
    let mut histogram = LatencyHistogram::new((1 << 20) - 1);
    histogram.record_slice(&ns);
    let mut window = CountWindow::new(500);
    window.extend_from_slice(&samples);

    print_figures("all", &moments, moments.rejected());
    let moving = window.summary(&SHARES);
    let mut of_window = Moments::new();
    of_window.extend_from_slice(window.sorted());
    assert_eq!(moving.mean, of_window.mean());
    print_figures("window", &of_window, window.rejected());
    for (i, (share, exact)) in moving.quantiles.iter().enumerate() {
        let latency = histogram.quantile(*share).unwrap_or(0);
        println!(
            "quantile {i} {} {latency} {}",
            hex(quantiles.estimate(i)),
            hex(*exact)
        );
    }
    println!(
        "extent {} {} {} {} {} {}",
        histogram.count(),
        histogram.clamped(),
        histogram.highest(),
        histogram.min().unwrap_or(0),
        histogram.max().unwrap_or(0),
        histogram.count_above(100_000)
    );
}

/// As in figures.c.
fn next_latency(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    let usual = 30_000 + (*state >> 40) % 20_000;
    let late = match (*state >> 33) % 256 {
        0 => (*state >> 20) % 2_000_000,
        _ => 0,
    };
    usual + late
}

fn print_figures(name: &str, of: &Moments, rejected: u64) {
    println!(
        "{name} {} {rejected} {} {} {} {} {} {}",
        of.count(),
        hex(of.min()),
        hex(of.max()),
        hex(of.mean()),
        hex(of.std_dev()),
        hex(of.skewness()),
        hex(of.excess_kurtosis())
    );
}

/// Writes every bit of a figure, as `%a` of C does.
fn hex(figure: Option<f64>) -> String {
    let bits = figure.unwrap_or(f64::NAN).to_bits();
    let sign = if bits >> 63 == 1 { "-" } else { "" };
    let exponent = bits >> 52 & 0x7ff;
    let fraction = bits & ((1 << 52) - 1);
    if exponent == 0 && fraction == 0 {
        return format!("{sign}0x0p+0");
    }
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    let power = i64::try_from(exponent).unwrap_or_default() - 1023;
    format!("{sign}0x1{point}{digits}p{power:+}")
}
