// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Summarizes latencies in ns, one a line, from standard input:
//!
//! ```text
//! seq 1000 3000 | cargo run -p punctual-stats --example summarize
//! ```

use std::error::Error;
use std::io::{self, BufRead, Write};

use punctual_stats::{Accumulator, dependent_mean_interval, dependent_quantile_interval};

const QUANTILES: [f64; 3] = [0.5, 0.99, 0.999];

fn main() -> Result<(), Box<dyn Error>> {
    let mut stats = Accumulator::default();
    for line in io::stdin().lock().lines() {
        let line = line?;
        if !line.trim().is_empty() {
            let ns: u64 = line.trim().parse()?;
            stats.record_slice(&[ns]);
        }
    }
    let mut out = io::stdout().lock();
    let (Some(min), Some(max)) = (stats.histogram().min(), stats.histogram().max()) else {
        writeln!(out, "no samples")?;
        return Ok(());
    };
    writeln!(out, "samples {}  min {min} ns  max {max} ns", stats.count())?;
    let Some(worth) = stats.dependence().worth_of_mean() else {
        writeln!(out, "too few samples for an interval")?;
        return Ok(());
    };
    let effective = worth.effective_samples();
    writeln!(out, "worth {effective:.0} independent samples")?;
    if let Some(interval) = dependent_mean_interval(stats.moments(), &worth, 0.95) {
        writeln!(
            out,
            "mean {:.1} ... {:.1} ns at 95 %",
            interval.low, interval.high
        )?;
    }
    for q in QUANTILES {
        let worth = stats.dependence().worth(q).unwrap_or(worth);
        let value = stats.histogram().quantile(q).unwrap_or(max);
        match dependent_quantile_interval(stats.histogram(), &worth, q, 0.95) {
            Some((low, high)) => writeln!(out, "p{} {value} ({low} ... {high}) ns", q * 100.0)?,
            None => writeln!(
                out,
                "p{} {value} ns, too few independent samples for an interval",
                q * 100.0
            )?,
        }
    }
    Ok(())
}
