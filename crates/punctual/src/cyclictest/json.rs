// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The document that `--json` writes: the keys of `file_version` 1, two of which end in a colon.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use punctual_peers::two_decimals;
use punctual_sys::SysRoot;
use serde_json::{Map, Value, json};

use super::tally::{Resolution, Tally};
use super::usage::VERSION;

/// What the document says besides figures.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) command: String,
    pub(super) started: Timestamp,
    pub(super) ended: Timestamp,
    pub(super) return_code: u8,
    pub(super) resolution: Resolution,
    pub(super) histogram: bool,
}

/// Renders the document. `cpus` are those that threads are bound to.
pub(super) fn document(
    sys: &SysRoot,
    head: &Head,
    tallies: &[Tally],
    cpus: &[Option<u32>],
) -> Vec<u8> {
    let threads: Map<String, Value> = tallies
        .iter()
        .enumerate()
        .map(|(index, tally)| {
            let cpu = cpus.get(index).copied().flatten();
            (index.to_string(), thread(sys, tally, cpu, head.histogram))
        })
        .collect();
    let document = json!({
        "file_version": 1,
        "cmdline:": head.command,
        "rt_test_version:": VERSION,
        "start_time": date(head.started),
        "end_time": date(head.ended),
        "return_code": head.return_code,
        "sysinfo": sysinfo(sys),
        "num_threads": tallies.len(),
        "resolution_in_ns": u8::from(head.resolution == Resolution::Nanos),
        "thread": threads,
    });
    let mut text = Vec::new();
    // Memory takes everything.
    drop(two_decimals(&document, &mut text));
    text
}

fn thread(sys: &SysRoot, tally: &Tally, cpu: Option<u32>, histogram: bool) -> Value {
    let mut thread = Map::new();
    if histogram {
        let rows = tally.rows.iter().enumerate().filter(|(_, n)| **n > 0);
        let rows: Map<String, Value> = rows.map(|(at, n)| (at.to_string(), json!(n))).collect();
        thread.insert("histogram".to_owned(), Value::Object(rows));
    }
    for (key, value) in [
        ("cycles", json!(tally.cycles)),
        ("min", json!(tally.min)),
        ("max", json!(tally.max)),
        ("avg", json!(tally.mean())),
        ("cpu", cpu.map_or_else(|| json!(-1), |cpu| json!(cpu))),
        ("node", json!(cpu.map_or(0, |cpu| node(sys, cpu)))),
    ] {
        thread.insert(key.to_owned(), value);
    }
    Value::Object(thread)
}

/// Returns the memory node of `cpu`.
fn node(sys: &SysRoot, cpu: u32) -> u32 {
    let names = sys.names(&format!("/sys/devices/system/cpu/cpu{cpu}"));
    let nodes = names.unwrap_or_default();
    let number = |name: &String| name.strip_prefix("node")?.parse().ok();
    nodes.iter().find_map(number).unwrap_or(0)
}

fn sysinfo(sys: &SysRoot) -> Value {
    let kernel = |name: &str| sys.read(&format!("/proc/sys/kernel/{name}"));
    let machine = kernel("arch").unwrap_or_else(|_| std::env::consts::ARCH.to_owned());
    json!({
        "sysname": kernel("ostype").unwrap_or_default(),
        "nodename": kernel("hostname").unwrap_or_default(),
        "release": kernel("osrelease").unwrap_or_default(),
        "version": kernel("version").unwrap_or_default(),
        "machine": machine,
        "realtime": sys.fact::<u8>("/sys/kernel/realtime").unwrap_or(0),
    })
}

/// Renders a time as RFC 5322 does.
fn date(at: Timestamp) -> String {
    let local = at.to_zoned(TimeZone::system());
    local.strftime("%a, %d %b %Y %H:%M:%S %z").to_string()
}
