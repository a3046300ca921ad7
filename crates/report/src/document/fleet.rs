// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What became of each host of an inventory.

use punctual_model::{FleetHost, FleetReport, FleetState};

use super::named::counted;
use super::parts::{Block, Document, Table, Tone};

impl Document {
    /// Says how many hosts did it, then what each did.
    pub fn of_fleet(report: &FleetReport) -> Self {
        let all = report.hosts.len();
        let fine = report.hosts.iter().filter(|h| h.state.is_fine()).count();
        let lost = report
            .hosts
            .iter()
            .any(|host| !matches!(host.state, FleetState::Done | FleetState::Checked));
        let (tone, word) = match (all, lost) {
            (0, _) => (Tone::Bad, "no hosts"),
            (_, false) => (Tone::Good, "done"),
            (_, true) if fine == 0 => (Tone::Bad, "failed"),
            (_, true) => (Tone::Doubtful, "in part"),
        };
        let changed = report.hosts.iter().filter(|host| host.changed).count();
        let runs: usize = report.hosts.iter().map(|host| host.runs.len()).sum();
        let did = match report.check_only {
            true => "can run",
            false => "ran",
        };
        let took = seconds(report.duration_ns.get());
        let hosts = counted(all as u64, "host");
        let runs = match runs {
            0 => String::new(),
            n => format!(", {}", counted(n as u64, "run")),
        };
        let changed = match changed {
            0 => "no host changed".to_owned(),
            n => format!("{} changed", counted(n as u64, "host")),
        };
        let verb = &report.verb;
        let sentence =
            format!("{fine} of {hosts} {did} `punctual {verb}` in {took} s{runs}, {changed}.");
        let rows = report.hosts.iter().map(row);
        let table = Table::new(
            "",
            &["<Host", "<State", "?<Machine", "?Time s", "Runs", "<Result"],
        );
        let left = report.hosts.iter().filter(|host| !host.left.is_empty());
        let left = left.map(|host| (host.host.clone(), format!("left {}", host.left.join(" "))));
        let blocks = vec![
            Block::Table(table.with(rows).without_empty_columns()),
            Block::facts(left),
        ];
        Self::of("Fleet", blocks).answering(tone, word, sentence)
    }
}

fn row(host: &FleetHost) -> [String; 6] {
    let detail = host.detail.clone().unwrap_or_default();
    [
        host.host.clone(),
        host.state.words().to_owned(),
        host.architecture.clone().unwrap_or_default(),
        host.duration_ns
            .map_or_else(String::new, |ns| seconds(ns.get())),
        match host.runs.len() {
            0 => String::new(),
            n => n.to_string(),
        },
        detail,
    ]
}

/// Seconds with a digit behind the point, as a stop watch has them.
fn seconds(ns: u64) -> String {
    let tenths = ns / 100_000_000;
    format!("{}.{}", tenths / 10, tenths % 10)
}
