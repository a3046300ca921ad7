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
        let with = |is: fn(FleetState) -> bool| report.hosts.iter().filter(|h| is(h.state)).count();
        let fine = with(FleetState::is_fine);
        let unmet = with(|state| state == FleetState::Verdict);
        // Whatever the verdict is, the command ran to its end.
        let ran = fine + unmet + with(|state| state == FleetState::Unjudged);
        let (tone, word) = match all {
            0 => (Tone::Bad, "no hosts"),
            _ if fine == all => (Tone::Good, "done"),
            _ if ran == 0 => (Tone::Bad, "failed"),
            _ if fine + unmet == all => (Tone::Bad, "not met"),
            _ => (Tone::Doubtful, "in part"),
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
        let not_met = match unmet {
            0 => String::new(),
            n => format!("; not met on {}", counted(n as u64, "host")),
        };
        let verb = &report.verb;
        let sentence = format!(
            "{ran} of {hosts} {did} `punctual {verb}` in {took} s{runs}, {changed}{not_met}."
        );
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

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::{FLEET_FORMAT, Nanos};

    #[test]
    fn a_host_that_did_not_meet_what_was_asked_ran_all_the_same() {
        let said = |states: &[FleetState]| {
            let host = |state: &FleetState| FleetHost {
                state: *state,
                runs: vec!["a run".to_owned()],
                ..FleetHost::default()
            };
            let document = Document::of_fleet(&FleetReport {
                format: FLEET_FORMAT.to_owned(),
                verb: "measure".to_owned(),
                arguments: Vec::new(),
                check_only: false,
                started: String::new(),
                duration_ns: Nanos::from_millis(4_000),
                hosts: states.iter().map(host).collect(),
            });
            let answer = document.answers.first().unwrap();
            format!("{}: {}", answer.word, answer.sentence)
        };
        let (done, unmet) = (FleetState::Done, FleetState::Verdict);
        assert_eq!(
            said(&[unmet]),
            "not met: 1 of 1 host ran `punctual measure` in 4.0 s, 1 run, no host changed; not met on 1 host."
        );
        assert!(said(&[done, unmet]).starts_with("not met: 2 of 2 hosts ran"));
        assert!(said(&[done, unmet, FleetState::Lost]).starts_with("in part: 2 of 3 hosts ran"));
        assert!(said(&[FleetState::Lost]).starts_with("failed: 0 of 1 host ran"));
        assert!(said(&[done]).starts_with("done: 1 of 1 host ran"));
    }
}
