// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The instruments for throughput: memory compared with plain loops in C, LINPACK with the product of its own library.
//!
//! Figures are times for a piece of work, so that a ratio above 1 means that ours is slower.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::budget::{Outcome, Pair};
use super::context::Context;
use super::program;

const LOOPS: &str = include_str!("memory.c");

/// Size of a block, as Punctual measures by default.
const BLOCK_BYTES: u64 = 256 << 20;

/// Number of equations at which LINPACK is compared with the product.
const ORDER: &str = "4000";

pub(crate) fn copy(context: &Context) -> anyhow::Result<Outcome> {
    // MB/s are 10^6 bytes a second: ns for a MiB.
    memory(context, "copy", |rate| (1 << 20) as f64 * 1e3 / rate)
}

pub(crate) fn random_read(context: &Context) -> anyhow::Result<Outcome> {
    memory(context, "random-read", |nanos| nanos)
}

/// Measures one kernel against the same loop in C; `nanos` makes a time of Punctual's figure.
fn memory(context: &Context, kernel: &str, nanos: impl Fn(f64) -> f64) -> anyhow::Result<Outcome> {
    let loops = build_loops(context)?;
    let cpu = context.cpu.to_string();
    let ours = || {
        let mut command = punctual(context, &["memory", "--repeats", "5", "--cpus", &cpu]);
        command.args(["--kernels", kernel, "--size", &BLOCK_BYTES.to_string()]);
        let (run, _) = program::punctual_json(context, command)?;
        let figure = figure(&run, &kernel.replace('-', "_"))?;
        Ok(nanos(figure))
    };
    let theirs = || {
        let mut command = Command::new("taskset");
        command
            .args(["--cpu-list", &cpu])
            .arg(&loops)
            .arg(BLOCK_BYTES.to_string());
        let finished = program::finish(context, &mut command)?;
        printed(&finished.stdout, kernel)
    };
    let pairs = context.pairs(if context.quick { 2 } else { 31 }, ours, theirs)?;
    Ok(Outcome::Measured {
        pairs,
        faults: vec![],
    })
}

/// Measures the solver against the product, which one run of Punctual does in turns.
pub(crate) fn linpack(context: &Context) -> anyhow::Result<Outcome> {
    let mut pairs = Vec::new();
    let mut faults = Vec::new();
    for _ in 0..if context.quick { 1 } else { 11 } {
        if context.is_interrupted() {
            bail!("interrupted");
        }
        let mut command = punctual(context, &["linpack", "--product", "--repeats", "1"]);
        command.args(["--order", ORDER]);
        let (run, _) = program::punctual_json(context, command)?;
        // GFLOPS: ns for a million operations.
        pairs.push(Pair {
            ours: 1e6 / figure(&run, "gflops")?,
            theirs: Some(1e6 / figure(&run, "product")?),
        });
        let checks = run["checks"].as_array().map_or(&[][..], Vec::as_slice);
        let right = |check: &Value| check["id"] == "residual" && check["status"] == "pass";
        if !checks.iter().any(right) {
            faults.push("a solution is wrong".to_owned());
        }
    }
    Ok(Outcome::Measured { pairs, faults })
}

/// `punctual measure INSTRUMENT`, before the other work of the machine.
fn punctual(context: &Context, instrument: &[&str]) -> Command {
    let mut command = Command::new(&context.punctual);
    command.env("PUNCTUAL_HOME", context.output.join("home"));
    command
        .arg("measure")
        .args(instrument)
        .args(["--json", "--quiet"]);
    command
}

fn figure(run: &Value, name: &str) -> anyhow::Result<f64> {
    let figures = run["figures"].as_array().map_or(&[][..], Vec::as_slice);
    let found = figures.iter().find(|figure| figure["name"] == name);
    found
        .and_then(|figure| figure["value"].as_f64())
        .filter(|value| *value > 0.0)
        .with_context(|| format!("no {name} in the JSON of punctual"))
}

fn printed(text: &str, name: &str) -> anyhow::Result<f64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines
        .find(|(found, _)| *found == name)
        .and_then(|(_, value)| value.parse().ok())
        .with_context(|| format!("the loops in C printed no {name}"))
}

fn build_loops(context: &Context) -> anyhow::Result<PathBuf> {
    let source = context.output.join("memory.c");
    std::fs::write(&source, LOOPS)
        .with_context(|| format!("failed to write {}", source.display()))?;
    compile(&source, &context.output.join("memory-loops"))
}

fn compile(source: &Path, program: &Path) -> anyhow::Result<PathBuf> {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let output = Command::new(&compiler)
        .args(["-O2", "-Wall", "-o"])
        .args([program, source])
        .output()
        .with_context(|| format!("failed to start {compiler}"))?;
    if !output.status.success() {
        bail!("{compiler}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(program.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loops_in_c_compile_and_print_both_figures() {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("memory.c");
        std::fs::write(&source, LOOPS).unwrap();
        let program = compile(&source, &dir.path().join("loops")).unwrap();
        let output = Command::new(program).arg("1048576").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        for name in ["copy", "random-read"] {
            assert!(printed(&text, name).unwrap() > 0.0, "{text}");
        }
        assert!(printed(&text, "chase").is_err());
    }

    #[test]
    fn figures_are_found_by_name() {
        let run = serde_json::json!({"figures": [{"name": "gflops", "value": 2.5}, {"name": "none", "value": null}]});
        assert!((figure(&run, "gflops").unwrap() - 2.5).abs() < 1e-12);
        assert!(figure(&run, "none").is_err());
        assert!(figure(&run, "product").is_err());
    }
}
