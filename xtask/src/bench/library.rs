// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a library costs by its own benchmark, which prints a line each: `stats.NAME=NS` or `tasks.NAME=NS`.

use std::env;
use std::process::Command;

use anyhow::bail;

use super::budget::{Outcome, Pair};
use super::context::Context;

const TOTAL: &str = "stats.total_ns_per_sample";

/// All default statistics of one sample.
pub(crate) fn of_a_sample(context: &Context) -> anyhow::Result<Outcome> {
    measure(context, "cost", TOTAL)
}

/// The check of a set of 100 tasks.
pub(crate) fn of_a_check(context: &Context) -> anyhow::Result<Outcome> {
    measure(context, "speed", "tasks.check_100_median_ns")
}

/// The checks of 10,000 sets of 20 tasks.
pub(crate) fn of_many_checks(context: &Context) -> anyhow::Result<Outcome> {
    measure(context, "speed", "tasks.check_10000_of_20_ns")
}

/// Compiled with the features of the whole workspace, as tests and `cargo build --workspace` are, so that both share it.
fn measure(context: &Context, benchmark: &str, total: &str) -> anyhow::Result<Outcome> {
    let rounds = if context.quick { 1 } else { 3 };
    let mut pairs = Vec::new();
    for round in 0..rounds {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args([
                "bench",
                "--quiet",
                "--locked",
                "--workspace",
                "--bench",
                benchmark,
            ])
            .args(["--profile", &context.profile])
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
        let Some((_, ours)) = figures.iter().find(|(name, _)| name == total) else {
            return Ok(Outcome::NotMeasured(format!(
                "cargo bench --bench {benchmark} prints no {total}"
            )));
        };
        pairs.push(Pair {
            ours: *ours,
            theirs: None,
        });
        if round == 0 {
            for (name, figure) in figures.iter().filter(|(name, _)| name != total) {
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
        ["stats.", "tasks."]
            .iter()
            .any(|of| name.starts_with(of))
            .then_some(())?;
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
