// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The text that cyclictest prints, blanks included: scripts match it.

use std::fmt::Write as _;

use super::tally::{Resolution, Spikes, Tally};

/// What a thread's line says besides its figures.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Thread {
    pub(super) tid: i32,
    pub(super) priority: u8,
    pub(super) interval_us: u64,
    /// System management interrupts of its CPU since the start, where they are counted.
    pub(super) smis: Option<u64>,
}

/// The histogram's forms.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HistogramForm {
    /// A column, and a value, for all threads together.
    pub(super) sum: bool,
    /// Rows without samples are left out, and so are the totals, as 2.10 does.
    pub(super) compact: bool,
}

/// Renders the line of thread `index`.
pub(super) fn thread_line(
    index: usize,
    thread: &Thread,
    tally: &Tally,
    resolution: Resolution,
) -> String {
    let width = match resolution {
        Resolution::Micros => 5,
        Resolution::Nanos => 8,
    };
    let mut line = format!(
        "T:{index:2} ({:5}) P:{:2} I:{} C:{:7} Min:{:7} Act:{:width$} Avg:{:width$} Max:{:8}",
        thread.tid,
        thread.priority,
        thread.interval_us,
        tally.cycles,
        tally.min,
        tally.act,
        tally.avg(),
        tally.max,
    );
    if let Some(smis) = thread.smis {
        write!(line, " SMI:{smis:8}").unwrap_or_default();
    }
    line.push('\n');
    line
}

/// Renders the line of the policy and the load, and the blank one below it.
pub(super) fn policy_line(policy: &str, loadavg: &str) -> String {
    format!("policy: {policy}: loadavg: {loadavg}          \n\n")
}

/// Renders the histogram and what follows it.
pub(super) fn histogram(tallies: &[Tally], form: HistogramForm, smis: Option<&[u64]>) -> String {
    let mut text = String::from("# Histogram\n");
    let rows = tallies.first().map_or(0, |t| t.rows.len());
    for row in 0..rows {
        let counts = tallies
            .iter()
            .map(|t| t.rows.get(row).copied().unwrap_or(0));
        let sum: u64 = counts.clone().sum();
        if form.compact && sum == 0 {
            continue;
        }
        let mut columns: Vec<String> = counts.map(|n| format!("{n:06}")).collect();
        if form.sum {
            columns.push(format!("{sum:06}"));
        }
        writeln!(text, "{row:06} {}", columns.join("\t")).unwrap_or_default();
    }
    let mut line = |name: &str, width: usize, values: Vec<u64>| {
        text.push_str(name);
        for value in values {
            write!(text, " {value:0width$}").unwrap_or_default();
        }
        text.push('\n');
    };
    let with = |mut values: Vec<u64>, last: Option<u64>| {
        values.extend(last.filter(|_| form.sum));
        values
    };
    if !form.compact {
        let totals: Vec<u64> = tallies.iter().map(Tally::in_rows).collect();
        let sum = totals.iter().sum();
        line("# Total:", 9, with(totals, Some(sum)));
    }
    line(
        "# Min Latencies:",
        5,
        tallies.iter().map(|t| t.min).collect(),
    );
    line(
        "# Avg Latencies:",
        5,
        tallies.iter().map(Tally::avg).collect(),
    );
    let largest: Vec<u64> = tallies.iter().map(|t| t.max).collect();
    let overall = largest.iter().copied().max().filter(|_| largest.len() > 1);
    line("# Max Latencies:", 5, with(largest, overall));
    let overflows: Vec<u64> = tallies.iter().map(|t| t.overflows).collect();
    let sum = overflows.iter().sum();
    line("# Histogram Overflows:", 5, with(overflows, Some(sum)));
    text.push_str("# Histogram Overflow at cycle number:\n");
    for (index, tally) in tallies.iter().enumerate() {
        write!(text, "# Thread {index}:").unwrap_or_default();
        for cycle in &tally.overflow_cycles {
            write!(text, " {cycle:05}").unwrap_or_default();
        }
        let named = u64::try_from(tally.overflow_cycles.len()).unwrap_or(u64::MAX);
        let others = tally.overflows.saturating_sub(named);
        if others > 0 {
            write!(text, " # {others:05} others").unwrap_or_default();
        }
        text.push('\n');
    }
    if let Some(smis) = smis {
        let counts: String = smis.iter().map(|n| format!(" {n:05}")).collect();
        writeln!(text, "# SMIs:{counts}").unwrap_or_default();
    }
    text.push('\n');
    text
}

/// Renders the spikes.
pub(super) fn spikes(spikes: &Spikes) -> String {
    let mut text = String::from("\n");
    for spike in &spikes.kept {
        writeln!(
            text,
            "T:{:2} Spike:{:8}: TS:{:13}",
            spike.thread, spike.value, spike.at_us
        )
        .unwrap_or_default();
    }
    writeln!(text, "spikes = {}\n", spikes.count).unwrap_or_default();
    text
}

/// Renders what is said where samples above a limit end the run: the threads, and the one that did.
pub(super) fn breaking(tids: &[i32], hit: Option<(i32, u64)>) -> String {
    let mut text = String::from("# Thread Ids:");
    for tid in tids {
        write!(text, " {tid:05}").unwrap_or_default();
    }
    text.push('\n');
    if let Some((tid, value)) = hit {
        writeln!(text, "# Break thread: {tid}\n# Break value: {value}").unwrap_or_default();
    }
    text
}

/// Renders what SIGUSR1 and SIGUSR2 ask for.
pub(super) fn status(lines: &str) -> String {
    const RULE: &str = "#---------------------------\n";
    format!("{RULE}# cyclictest current status:\n{lines}{RULE}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(rows: usize, values: &[u64]) -> Tally {
        let mut tally = Tally::new(rows);
        values.iter().for_each(|value| tally.add(*value));
        tally
    }

    #[test]
    fn lines_have_the_widths_of_the_original() {
        let thread = Thread {
            tid: 462,
            priority: 8,
            interval_us: 1_000,
            smis: None,
        };
        assert_eq!(
            thread_line(1, &thread, &tally(0, &[19, 27]), Resolution::Micros),
            "T: 1 (  462) P: 8 I:1000 C:      2 Min:     19 Act:   27 Avg:   23 Max:      27\n"
        );
        let thread = Thread {
            smis: Some(3),
            ..thread
        };
        assert_eq!(
            thread_line(0, &thread, &tally(0, &[21_824]), Resolution::Nanos),
            "T: 0 (  462) P: 8 I:1000 C:      1 Min:  21824 Act:   21824 Avg:   21824 Max:   21824 \
             SMI:       3\n"
        );
    }

    #[test]
    fn a_histogram_has_every_row_and_its_summary() {
        let tallies = [tally(2, &[1, 1, 5, 6, 7]), tally(2, &[0])];
        let form = HistogramForm {
            sum: true,
            compact: false,
        };
        assert_eq!(
            histogram(&tallies, form, None),
            "# Histogram\n000000 000000\t000001\t000001\n000001 000002\t000000\t000002\n\
             # Total: 000000002 000000001 000000003\n# Min Latencies: 00001 00000\n\
             # Avg Latencies: 00004 00000\n# Max Latencies: 00007 00000 00007\n\
             # Histogram Overflows: 00003 00000 00003\n# Histogram Overflow at cycle number:\n\
             # Thread 0: 00002 00003 # 00001 others\n# Thread 1:\n\n"
        );
    }

    #[test]
    fn a_compact_histogram_leaves_empty_rows_and_totals_out() {
        let form = HistogramForm {
            sum: false,
            compact: true,
        };
        let text = histogram(&[tally(9, &[4])], form, Some(&[7]));
        assert!(
            text.starts_with("# Histogram\n000004 000001\n# Min"),
            "{text}"
        );
        assert!(text.contains("\n# SMIs: 00007\n"), "{text}");
    }

    #[test]
    fn a_break_names_the_thread() {
        assert_eq!(
            breaking(&[904, 12_905], Some((904, 46))),
            "# Thread Ids: 00904 12905\n# Break thread: 904\n# Break value: 46\n"
        );
        assert_eq!(breaking(&[904], None), "# Thread Ids: 00904\n");
    }
}
