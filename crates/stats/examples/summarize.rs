// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Summarizes latencies in ns, one a line, from standard input:
//!
//! ```text
//! seq 1000 3000 | cargo run -p punctual-stats --example summarize
//! ```

use std::error::Error;
use std::io::{self, BufRead, Write};

use punctual_stats::{OnlineConfig, OnlineStats, mean_interval, quantile_interval};

fn main() -> Result<(), Box<dyn Error>> {
    let mut stats = OnlineStats::new(&OnlineConfig::default());
    for line in io::stdin().lock().lines() {
        let line = line?;
        if !line.trim().is_empty() {
            stats.record_slice(&[line.trim().parse()?]);
        }
    }
    let mut out = io::stdout().lock();
    let (Some(min), Some(max)) = (stats.histogram().min(), stats.histogram().max()) else {
        writeln!(out, "no samples")?;
        return Ok(());
    };
    writeln!(out, "samples {}  min {min} ns  max {max} ns", stats.count())?;
    let moments = stats.moments();
    // Without an estimate of the correlation, every sample counts.
    let all = stats.count() as f64;
    let effective = stats.batches().effective_samples().unwrap_or(all);
    writeln!(out, "worth {effective:.0} independent samples")?;
    if let Some(interval) = mean_interval(moments, effective, 0.95) {
        writeln!(
            out,
            "mean {:.1} ... {:.1} ns at 95 %",
            interval.low, interval.high
        )?;
    }
    for q in [0.5, 0.99, 0.999] {
        let value = stats.histogram().quantile(q).unwrap_or(max);
        match quantile_interval(stats.histogram(), effective, q, 0.95) {
            Some((low, high)) => writeln!(out, "p{} {value} ({low} ... {high}) ns", q * 100.0)?,
            None => writeln!(
                out,
                "p{} {value} ns, too few samples for an interval",
                q * 100.0
            )?,
        }
    }
    Ok(())
}
