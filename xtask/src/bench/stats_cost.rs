// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Cost of all default statistics of one sample, as the benchmark of `punctual-stats` prints it: `stats.NAME=NS`, a line each.

use std::env;
use std::process::Command;

use anyhow::bail;

use super::budget::{Outcome, Pair};
use super::context::Context;

const TOTAL: &str = "stats.total_ns_per_sample";

pub(crate) fn measure(context: &Context) -> anyhow::Result<Outcome> {
    let rounds = if context.quick { 1 } else { 3 };
    let mut pairs = Vec::new();
    for round in 0..rounds {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["bench", "--quiet", "-p", "punctual-stats"])
            .current_dir(&context.root)
            .output()?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            bail!(
                "cargo bench failed: {}",
                stderr.lines().last().unwrap_or("no message")
            );
        }
        let figures = figures(&String::from_utf8_lossy(&output.stdout));
        let Some((_, ours)) = figures.iter().find(|(name, _)| name == TOTAL) else {
            return Ok(Outcome::NotMeasured(format!(
                "cargo bench -p punctual-stats prints no {TOTAL}"
            )));
        };
        pairs.push(Pair {
            ours: *ours,
            theirs: None,
        });
        if round == 0 {
            for (name, figure) in figures.iter().filter(|(name, _)| name != TOTAL) {
                context.note(&format!("{name}={figure}"));
            }
        }
    }
    Ok(Outcome::Measured {
        pairs,
        faults: vec![],
    })
}

fn figures(text: &str) -> Vec<(String, f64)> {
    let figure = |line: &str| {
        let (name, figure) = line.trim().split_once('=')?;
        name.starts_with("stats.").then_some(())?;
        let figure = figure
            .trim()
            .parse()
            .ok()
            .filter(|figure: &f64| figure.is_finite())?;
        Some((name.to_owned(), figure))
    };
    text.lines().filter_map(figure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_among_other_lines() {
        let text = "running 0 tests\nstats.moments_ns=3.5\nnote=1\nstats.total_ns_per_sample=23.4\nstats.bad=NaN\n";
        let found = figures(text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[1].0, TOTAL);
    }
}
