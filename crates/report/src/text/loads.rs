// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What loads did.

use punctual_model::{LoadRecord, LoadReport, RunRecord};

use super::layout::{Column, clean, paragraph, table};
use super::number::Missing;

/// Writes what loads did that ran alone: one line a load, and those that did not work.
pub fn loads(report: &LoadReport) -> String {
    let faults = report.loads.iter().filter_map(|load| {
        let fault = load.fault.as_ref()?;
        Some(paragraph(
            "FAILED",
            &clean(&format!("{}: {fault}", load.load)),
        ))
    });
    let faults: String = faults.collect();
    faults + &loads_table(&report.loads)
}

/// Writes what the loads beside a run did, if there were any.
pub(crate) fn beside(run: &RunRecord) -> Option<String> {
    (!run.loads.is_empty()).then(|| loads_table(&run.loads))
}

/// Writes one line a load.
fn loads_table(loads: &[LoadRecord]) -> String {
    let mut missing = Missing::default();
    let rows = loads
        .iter()
        .map(|load| {
            let rate = load.per_second.map(scaled);
            let extremes = |pick: fn(f64, f64) -> f64| load.seconds.iter().copied().reduce(pick);
            let least = extremes(f64::min).map(scaled);
            let most = extremes(f64::max).map(scaled);
            let silence = load.longest_silence_ns.map(|ns| ns.to_string());
            let short = "too short a run";
            vec![
                clean(&load.load).into_owned(),
                scaled(load.work),
                clean(&load.unit).into_owned(),
                missing.or(rate, short),
                missing.or(least, short),
                missing.or(most, short),
                load.seconds.len().to_string(),
                missing.or(silence, "no report"),
            ]
        })
        .collect();
    let header = [
        ("load", Column::Text),
        ("work", Column::Right),
        ("of", Column::Left),
        ("mean 1/s", Column::Right),
        ("least 1/s", Column::Right),
        ("most 1/s", Column::Right),
        ("full s", Column::Right),
        ("longest silence", Column::Right),
    ];
    table(&header, rows) + &missing.note()
}

/// Writes a number with three significant digits and a decimal prefix: `6.02 G`.
pub fn scaled(number: f64) -> String {
    let (value, prefix) = match number.abs() {
        n if n >= 999.5e6 => (number / 1e9, " G"),
        n if n >= 999.5e3 => (number / 1e6, " M"),
        n if n >= 999.5 => (number / 1e3, " k"),
        _ => (number, ""),
    };
    let decimals = match value.abs() {
        v if v.fract() == 0.0 && prefix.is_empty() => 0,
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}{prefix}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::{LOAD_REPORT_FORMAT, Nanos};

    #[test]
    fn numbers_keep_three_digits() {
        for (number, text) in [
            (0.0, "0"),
            (7.0, "7"),
            (7.5, "7.50"),
            (123.4, "123"),
            (999.4, "999"),
            (999.6, "1.00 k"),
            (12_345.0, "12.3 k"),
            (6_020_000_000.0, "6.02 G"),
            (6.02e12, "6020 G"),
        ] {
            assert_eq!(scaled(number), text);
        }
    }

    #[test]
    fn a_load_that_failed_comes_first() {
        let load = |name: &str, fault: Option<&str>| LoadRecord {
            load: name.to_owned(),
            work: 3e9,
            unit: "additions".to_owned(),
            per_second: Some(1.5e9),
            longest_silence_ns: Some(Nanos::from_millis(201)),
            seconds: vec![1e9, 2e9],
            fault: fault.map(ToOwned::to_owned),
        };
        let report = LoadReport {
            format: LOAD_REPORT_FORMAT.to_owned(),
            valid: false,
            duration_ns: Nanos::from_secs(2),
            loads: vec![load("cpu", None), load("cpu:2", Some("was \x1bkilled"))],
        };
        let text = loads(&report);
        assert!(
            text.starts_with("FAILED    cpu:2: was \u{fffd}killed\n"),
            "{text}"
        );
        let row = text.lines().find(|line| line.contains("cpu ")).unwrap();
        let cells: Vec<&str> = row.split_whitespace().collect();
        let wanted = "cpu 3.00 G additions 1.50 G 1.00 G 2.00 G 2 201 ms";
        assert_eq!(cells.join(" "), wanted);
    }
}
