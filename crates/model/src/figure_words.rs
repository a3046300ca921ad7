// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a figure is called where people read: `misses_per_second[thread=0]` is "misses per second, thread 0".
//!
//! The internal name is that of records, JSON, CSV and options. It is turned into words here and nowhere else.

use crate::units::Nanos;

/// Words for names that a blank in the place of `_` does not make readable. A `{}` takes the words of the label that
/// follows it.
const NAMES: &[(&str, &str)] = &[
    ("stddev", "standard deviation"),
    ("gflops", "LINPACK speed"),
    ("peak", "measured peak"),
    ("theoretical_peak", "theoretical peak"),
    ("share_of_peak", "share of the measured peak"),
    ("share_of_theoretical_peak", "share of the theoretical peak"),
    ("product", "speed of a matrix product"),
    ("share_of_product", "share of the matrix product's speed"),
    ("missed_share", "share of deadlines missed"),
    ("longest_execution", "longest execution of a job"),
    ("latest_release", "latest begin of a job"),
    ("cpu_share", "share of CPU time"),
    ("voluntary_ctxt_switches", "voluntary context switches"),
    ("nonvoluntary_ctxt_switches", "involuntary context switches"),
    ("throughput_standard_error", "standard error of throughput"),
    (
        "throughput_relative_deviation",
        "relative standard deviation of throughput",
    ),
    ("completion_latency_mean", "mean completion latency"),
    ("completion_latency_p99", "p99 of completion latency"),
    ("copy_both_ways", "copying, reads and writes counted"),
    (
        "copy_both_ways_largest",
        "copying, largest over pairs of nodes",
    ),
    (
        "copy_both_ways_smallest",
        "copying, smallest over pairs of nodes",
    ),
    (
        "random_update_rate_largest",
        "random access, largest over pairs of nodes",
    ),
    (
        "random_update_rate_smallest",
        "random access, smallest over pairs of nodes",
    ),
    ("stream_copy", "STREAM copy"),
    ("stream_scale", "STREAM scale"),
    ("stream_add", "STREAM add"),
    ("stream_triad", "STREAM triad"),
    ("random_read", "time of a random read"),
    ("random_read_rate", "random reads"),
    ("random_write", "time of a random write"),
    ("random_write_rate", "random writes"),
    ("random_update", "time of a random update"),
    ("random_update_rate", "random updates"),
    ("chase", "memory latency"),
    ("smi", "system management interrupts"),
    ("softirqs", "soft interrupts"),
    ("softirqs_of", "soft interrupts by kind"),
    ("interrupts_of", "interrupts by source"),
    ("tlb_shootdowns", "TLB shootdowns"),
    ("time_lost", "share of time lost"),
    ("loop_turn", "time of a turn of the loop"),
    ("inverted", "share of cycles with inversion"),
    ("load_work", "work of load"),
    ("psquare", "P-square estimate"),
    ("moving_stddev", "moving standard deviation"),
    ("moving_p5", "moving p5"),
    ("moving_p50", "moving p50"),
    ("moving_p95", "moving p95"),
    ("moving_p99", "moving p99"),
];

/// Words for kinds of samples, where a figure is a quantile of one: `handler_p90`.
const KINDS: &[(&str, &str)] = &[
    ("delivery", "delivery of the interrupt"),
    ("handler", "the handler"),
    ("irq-exit", "the end of the interrupt"),
    ("switch", "the switch to the thread"),
];

/// Words for what is measured of an interrupt: `virtio1-req.0/handler_p90`. A `{}` takes the name of the interrupt.
const PARTS: &[(&str, &str)] = &[
    ("handler", "the handler of {}"),
    ("waking", "{} until a thread is woken"),
    ("thread", "{} until the woken thread runs"),
    ("delay", "the delay of soft interrupt {}"),
    ("run", "soft interrupt {}"),
];

/// Returns the words for a figure as comparisons name it, labels included.
///
/// ```
/// use punctual_model::figure_words;
///
/// assert_eq!(figure_words("misses_per_second[thread=0]"), "misses per second, thread 0");
/// assert_eq!(figure_words("throughput[direction=write]"), "write throughput");
/// assert_eq!(figure_words("p99"), "p99");
/// ```
pub fn figure_words(figure: &str) -> String {
    let (name, labels) = match figure.split_once('[') {
        Some((name, rest)) => (name, pairs(rest.strip_suffix(']').unwrap_or(rest))),
        None => (figure, Vec::new()),
    };
    let mut words = match timed(name) {
        Some(words) => words,
        None => name_words(name),
    };
    // What a figure is of goes before it, where it was measured behind.
    for (label, value) in labels {
        words = match label {
            "direction" => format!("{value} {words}"),
            "load" => format!("{words} {}", load_words(value)),
            "phase" => format!("{words} {value}"),
            "q" => format!("{words} of {value}"),
            _ => format!("{words}, {}", label_words(label, value)),
        };
    }
    words
}

/// Returns the words for a figure with its unit, as a heading or an axis has them: `write throughput in MB/s`.
///
/// `unit` is as it is shown; none where there is none to show.
pub fn figure_heading(figure: &str, unit: &str) -> String {
    let words = figure_words(figure);
    match unit {
        "" | "1" => words,
        // The words say it.
        "1/s" if words.contains("per second") => words,
        unit => format!("{words} in {unit}"),
    }
}

/// Returns the words for where a figure was measured: `n` = `500` is "500 equations".
pub fn label_words(label: &str, value: &str) -> String {
    let several = if value == "1" { "" } else { "s" };
    match label {
        "n" => format!("{value} equation{several}"),
        "threads" => format!("{value} thread{several}"),
        "when" => value.to_owned(),
        "cpu" => format!("CPU {value}"),
        "load" => format!("load {}", load_words(value)),
        "cpu_node" => format!("CPUs of node {value}"),
        "memory_node" => format!("memory of node {value}"),
        _ => format!("{} {value}", label.replace('_', " ")),
    }
}

/// A load as it is typed, in words: `cpu:1@cpus=0` is "cpu (1) on CPU 0".
fn load_words(load: &str) -> String {
    let (load, options) = load.split_once('@').unwrap_or((load, ""));
    let name = match load.split_once(':') {
        Some((name, amount)) => format!("{name} ({amount})"),
        None => load.to_owned(),
    };
    let options = pairs(options).into_iter().map(|(option, value)| {
        match (option, value.contains(['-', ','])) {
            ("cpus", false) => format!(" on CPU {value}"),
            ("cpus", true) => format!(" on CPUs {value}"),
            _ => format!(", {} {value}", spaced(option)),
        }
    });
    std::iter::once(name).chain(options).collect()
}

fn name_words(name: &str) -> String {
    if let Some((_, words)) = NAMES.iter().find(|(known, _)| *known == name) {
        return (*words).to_owned();
    }
    if let Some((kind, quantile)) = name.rsplit_once('_')
        && is_quantile(quantile)
    {
        let known = KINDS.iter().find(|(known, _)| *known == kind);
        let kind = match (known, of_interrupt(kind)) {
            (Some((_, words)), _) => (*words).to_owned(),
            (None, Some(words)) => words,
            (None, None) => spaced(kind),
        };
        return format!("{quantile} of {kind}");
    }
    spaced(name)
}

fn of_interrupt(kind: &str) -> Option<String> {
    let (name, part) = kind.rsplit_once('/')?;
    let (_, words) = PARTS.iter().find(|(known, _)| *known == part)?;
    Some(words.replace("{}", name))
}

fn spaced(name: &str) -> String {
    name.replace(['_', '-'], " ")
}

fn is_quantile(text: &str) -> bool {
    let digits = text.strip_prefix('p');
    digits.is_some_and(|digits| digits.parse::<f64>().is_ok())
}

/// `above:10us`: the share of samples above a time, and the others that have one.
fn timed(name: &str) -> Option<String> {
    let (what, time) = name.split_once(':')?;
    let time = spelled(time);
    Some(match what {
        "above" => format!("share above {time}"),
        "misses" => format!("misses per second of {time}"),
        "missed" => format!("share over {time}"),
        _ => return None,
    })
}

/// A time as it is typed, with a blank before its unit.
fn spelled(time: &str) -> String {
    let unit = time.find(|c: char| c.is_ascii_alphabetic());
    match (unit, time.parse::<Nanos>()) {
        (Some(at), Ok(_)) => {
            let (number, unit) = time.split_at(at);
            format!("{number} {}", unit.replace("us", "µs"))
        }
        _ => time.to_owned(),
    }
}

/// `thread=0,load=cpu:1@cpus=0`: a comma begins a label only where an equals sign follows.
fn pairs(text: &str) -> Vec<(&str, &str)> {
    let mut pairs = Vec::new();
    let mut rest = text;
    while let Some((label, after)) = rest.split_once('=') {
        let commas = after.match_indices(',').map(|(at, _)| at);
        let mut ends = commas.filter(|at| {
            let next = after.get(at + 1..).unwrap_or_default();
            let name = next.split(['=', ',', '@']).next().unwrap_or_default();
            next.get(name.len()..)
                .is_some_and(|after| after.starts_with('='))
        });
        let end = ends.next().unwrap_or(after.len());
        pairs.push((label, after.get(..end).unwrap_or_default()));
        rest = after.get(end + 1..).unwrap_or_default();
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_becomes_words_without_marks_of_the_program() {
        for (figure, words) in [
            ("misses_per_second[thread=0]", "misses per second, thread 0"),
            ("throughput[direction=write]", "write throughput"),
            (
                "gflops[n=500,threads=1]",
                "LINPACK speed, 500 equations, 1 thread",
            ),
            ("above:10us", "share above 10 µs"),
            ("missed:1.5ms", "share over 1.5 ms"),
            ("handler_p90", "p90 of the handler"),
            ("softirq_p99.9", "p99.9 of softirq"),
            (
                "virtio1-req.0/handler_p90",
                "p90 of the handler of virtio1-req.0",
            ),
            (
                "NET_RX/delay_p50",
                "p50 of the delay of soft interrupt NET_RX",
            ),
            ("eth0/thread_p99", "p99 of eth0 until the woken thread runs"),
            ("psquare[q=p95]", "P-square estimate of p95"),
            (
                "load_work[load=cpu:1@cpus=0]",
                "work of load cpu (1) on CPU 0",
            ),
            (
                "load_work[load=ping:4@cpus=0-1,between=namespaces]",
                "work of load ping (4) on CPUs 0-1, between namespaces",
            ),
            ("load_work[load=tmpfs]", "work of load tmpfs"),
            (
                "copy[cpu_node=0,memory_node=1]",
                "copy, CPUs of node 0, memory of node 1",
            ),
            ("excess_kurtosis", "excess kurtosis"),
            ("p99.9", "p99.9"),
            ("max", "max"),
            ("of_another_tool", "of another tool"),
            ("broken[", "broken"),
        ] {
            assert_eq!(figure_words(figure), words);
        }
        for (name, words) in NAMES {
            assert_eq!(figure_words(name), *words);
            assert!(!words.contains(['_', '[', '=']), "{words}");
        }
    }

    #[test]
    fn a_heading_has_the_unit_once() {
        assert_eq!(
            figure_heading("throughput[direction=read]", "MB/s"),
            "read throughput in MB/s"
        );
        assert_eq!(
            figure_heading("misses_per_second[thread=0]", "1/s"),
            "misses per second, thread 0"
        );
        assert_eq!(figure_heading("requests", "1/s"), "requests in 1/s");
        assert_eq!(
            figure_heading("missed_share", "1"),
            "share of deadlines missed"
        );
    }
}
