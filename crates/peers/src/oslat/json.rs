// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `oslat --json`, file version 1.

use std::io::BufRead;

use serde::Deserialize;

use super::{Thread, tell};
use crate::error::ImportError;
use crate::format::Format;
use crate::imported::Imported;
use crate::json::{self, Pairs, SysInfo};

#[derive(Debug, Deserialize)]
struct File {
    file_version: u64,
    #[serde(rename = "cmdline:")]
    cmdline: Option<String>,
    #[serde(rename = "rt_test_version:")]
    version: Option<String>,
    start_time: Option<String>,
    #[serde(default)]
    sysinfo: SysInfo,
    num_threads: usize,
    thread: Pairs<Stated>,
}

#[derive(Debug, Deserialize)]
struct Stated {
    cpu: Option<u32>,
    min: u64,
    avg: Option<f64>,
    max: u64,
    duration: Option<f64>,
    histogram: Pairs<u64>,
}

pub(crate) fn read(input: impl BufRead) -> Result<Imported, ImportError> {
    let file: File = json::of_rt_tests(input)?;
    if file.file_version != 1 || file.num_threads != file.thread.0.len() {
        return Err(ImportError::file(format!(
            "file version {} with {} of {} threads; only version 1 with all threads is supported",
            file.file_version,
            file.thread.0.len(),
            file.num_threads
        )));
    }
    json::bounded(file.thread.0.iter().map(|(_, t)| t.histogram.0.len()))?;
    let mut imported = Imported::new(Format::OslatJson, "oslat");
    let mut threads = Vec::with_capacity(file.thread.0.len());
    for (at, (number, thread)) in file.thread.0.into_iter().enumerate() {
        if number != at as u64 {
            return Err(ImportError::file(format!("thread {at} is missing")));
        }
        let mut buckets = thread.histogram.0;
        buckets.retain(|(_, count)| *count > 0);
        threads.push(Thread {
            cpu: thread.cpu,
            min: thread.min,
            max: thread.max,
            average: thread.avg,
            seconds: thread.duration,
            buckets,
        });
    }
    let words = file.cmdline.as_deref().unwrap_or_default().split(' ');
    let cluster = |word: &str| word.starts_with('-') && !word.starts_with("--");
    let bias = |word: &str| word == "--bias" || cluster(word) && word.contains('B');
    let bias = words.into_iter().any(bias);
    tell(&mut imported, &threads, bias)?;
    imported.version = file.version;
    imported.command_line = file.cmdline;
    imported.started = json::time(file.start_time.as_deref());
    imported.host = file.sysinfo.host();
    imported.ask_oslat();
    Ok(imported)
}
