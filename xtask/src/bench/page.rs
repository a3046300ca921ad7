// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How long a report of 100 runs of 4 threads takes, from exec to exit, the page written.
//!
//! The runs are copies of one that is measured first, of 20 000 samples: what is read and drawn is the same for each.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::budget::{Outcome, Pair};
use super::context::Context;
use super::program;

const RUNS: u32 = 100;

pub(crate) fn measure(context: &Context) -> anyhow::Result<Outcome> {
    let rounds = if context.quick { 3 } else { 11 };
    let dir = tempfile::tempdir()?;
    let command = || {
        let mut command = Command::new(&context.punctual);
        command.env("PUNCTUAL_HOME", dir.path());
        command
    };
    let mut measure = command();
    measure.args("measure wakeup --priority=o --dma-latency=off --pin=none --threads=4".split(' '));
    measure.args("--interval=200us --samples=5000 --quiet --json".split(' '));
    let record = program::finish(context, &mut measure)?.stdout;
    let record: Value = serde_json::from_str(&record).context("the run that is copied")?;
    multiply(dir.path(), record)?;
    let page = dir.path().join("report.html");
    let mut pairs = Vec::new();
    let mut bytes = 0;
    for _ in 0..rounds {
        let mut report = command();
        report
            .args(["report", "--force", "many-*", "-o"])
            .arg(&page);
        let finished = program::finish(context, &mut report)?;
        bytes = fs::metadata(&page).context("no report was written")?.len();
        pairs.push(Pair {
            ours: finished.wall.as_secs_f64() * 1e9,
            theirs: None,
        });
    }
    if bytes < 100_000 {
        bail!("the report of {RUNS} runs has {bytes} bytes");
    }
    context.note(&format!(
        "{rounds} reports of {RUNS} runs, {bytes} bytes each"
    ));
    let faults = match bytes {
        0..2_000_000 => vec![],
        more => vec![format!("{more} bytes, limit 2000000")],
    };
    Ok(Outcome::Measured { pairs, faults })
}

fn multiply(home: &Path, mut record: Value) -> anyhow::Result<()> {
    let runs = home.join("runs");
    let from = runs.join(record["id"].as_str().context("a run without an id")?);
    for number in 0..RUNS {
        let id = format!("019aa0f0-1234-7abc-8def-{number:012x}");
        let to = runs.join(&id);
        fs::create_dir(&to)?;
        for file in fs::read_dir(&from)? {
            let file = file?;
            fs::copy(file.path(), to.join(file.file_name()))?;
        }
        record["id"] = id.into();
        record["name"] = format!("many-{number}").into();
        fs::write(to.join("run.json"), record.to_string())?;
    }
    Ok(())
}
