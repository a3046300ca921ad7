// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The statistics class of V. Bridgers, *Real Time Linux Scheduling Comparison* (2015): mean,
//! deviation, skewness, kurtosis and four percentiles, cumulative and moving, without storing the
//! samples. This is the shape to port to a microcontroller.

use punctual_stats::{CountWindow, Moments, PSquare};

/// Cumulative and moving statistics of one series of latencies.
struct Statistics {
    moments: Moments,
    quantiles: PSquare,
    window: CountWindow,
}

impl Statistics {
    fn new(window: usize) -> Self {
        Self {
            moments: Moments::new(),
            quantiles: PSquare::default(),
            window: CountWindow::new(window),
        }
    }

    fn add(&mut self, sample: f64) {
        self.moments.push(sample);
        self.quantiles.push(sample);
        self.window.push(sample);
    }

    fn print(&mut self) {
        let moving = self.window.summary(&PSquare::DEFAULT);
        println!("us            cumulative      moving");
        let row = |name: &str, a: Option<f64>, b: Option<f64>| {
            println!("{name:10} {:>13} {:>11}", text(a), text(b));
        };
        row("mean", self.moments.mean(), moving.mean);
        row("deviation", self.moments.std_dev(), moving.std_dev);
        row("skewness", self.moments.skewness(), moving.skewness);
        row(
            "kurtosis",
            self.moments.excess_kurtosis(),
            moving.excess_kurtosis,
        );
        for ((p, estimate), (_, exact)) in self.quantiles.estimates().zip(moving.quantiles) {
            row(&format!("p{}", p * 100.0), estimate, exact);
        }
    }
}

fn text(figure: Option<f64>) -> String {
    figure.map_or_else(|| "-".to_owned(), |x| format!("{x:.2}"))
}

fn main() {
    let mut statistics = Statistics::new(500);
    let mut state = 1u64;
    let mut uniform = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) + 1) as f64 / (1u64 << 53) as f64
    };
    // 5000 samples, as in the study: measured minus requested sleep, in us.
    for _ in 0..5000 {
        statistics.add(60.0 - 8.0 * uniform().ln());
    }
    statistics.print();
}
