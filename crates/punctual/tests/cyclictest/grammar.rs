// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The grammar of what cyclictest prints, blanks included.
//!
//! A pattern is text with places: `{7}` is a number right-aligned in 7 columns, `{05}` one with
//! zeros in front, `{n}` digits, `{f}` digits with a point, `{*}` anything. A number that is too
//! large for its columns takes more.

/// Whether `line` is of the form of `pattern`.
pub(crate) fn matches(line: &str, pattern: &str) -> bool {
    let Some(open) = pattern.find('{') else {
        return line == pattern;
    };
    let Some(rest) = line.strip_prefix(&pattern[..open]) else {
        return false;
    };
    let close = open + pattern[open..].find('}').unwrap();
    let (place, after) = (&pattern[open + 1..close], &pattern[close + 1..]);
    (0..=rest.len())
        .filter(|end| rest.is_char_boundary(*end))
        .any(|end| fits(&rest[..end], place) && matches(&rest[end..], after))
}

fn fits(text: &str, place: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    match place {
        "*" => true,
        "n" => digits(text),
        "f" => text
            .split_once('.')
            .is_some_and(|(a, b)| digits(a) && digits(b)),
        _ => {
            let width: usize = place.parse().unwrap();
            let number = if place.starts_with('0') {
                text
            } else {
                text.trim_start_matches(' ')
            };
            let padded = number.len() < text.len() || place.starts_with('0');
            digits(number)
                && text.len() >= width
                && (text.len() == width || !padded || number.len() == text.len())
        }
    }
}

/// Requires that `line` is of one of the forms.
#[track_caller]
fn one_of(line: &str, patterns: &[&str]) {
    assert!(
        patterns.iter().any(|pattern| matches(line, pattern)),
        "`{line}` is none of {patterns:#?}"
    );
}

pub(crate) const THREAD: &str = "T:{2} ({5}) P:{2} I:{n} C:{7} Min:{7} Act:{5} Avg:{5} Max:{8}";
const THREAD_NS: &str = "T:{2} ({5}) P:{2} I:{n} C:{7} Min:{7} Act:{8} Avg:{8} Max:{8}";
const POLICY: &str = "policy: {*}: loadavg: {f} {f} {f} {n}/{n} {n}          ";
const DMA: &str = "# /dev/cpu_dma_latency set to 0us";

/// Which form a command line leads to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Form {
    Usage,
    Quiet {
        ns: bool,
        spikes: bool,
        broken: bool,
    },
    Histogram {
        sum: bool,
        rows: usize,
        to_file: bool,
    },
    Live,
    Values,
}

/// Reads the form off the options that the recorded commands have.
pub(crate) fn form(line: &str) -> Form {
    let words: Vec<&str> = line.split_whitespace().collect();
    let has = |word: &str| words.contains(&word);
    let rows = words.iter().enumerate().find_map(|(at, word)| {
        let rest = word
            .strip_prefix("-h")
            .or_else(|| word.strip_prefix("-H"))?;
        let value = if rest.is_empty() { words[at + 1] } else { rest };
        value.parse().ok()
    });
    if has("100") && has("-p") && line.contains("-p 100") {
        Form::Usage
    } else if let Some(rows) = rows {
        Form::Histogram {
            sum: has("-H"),
            rows,
            to_file: line.contains("--histfile"),
        }
    } else if has("-v") {
        Form::Values
    } else if has("-q") {
        Form::Quiet {
            ns: has("-N"),
            spikes: line.contains("--spike="),
            broken: has("-b"),
        }
    } else {
        Form::Live
    }
}

/// Requires that `text` is of `form`, for `threads` threads.
#[track_caller]
pub(crate) fn check(text: &str, form: Form, threads: usize) {
    assert!(text.is_empty() || text.ends_with('\n'));
    let lines: Vec<&str> = text.lines().collect();
    match form {
        Form::Usage => {
            one_of(lines[0], &["cyclictest V {*}"]);
            assert_eq!(lines[1..3], ["Usage:", "cyclictest <options>"]);
        }
        Form::Quiet { ns, spikes, broken } => {
            assert_eq!(lines[0], DMA);
            let (rows, rest) = lines[1..].split_at(threads);
            for row in rows {
                one_of(row, &[if ns { THREAD_NS } else { THREAD }]);
            }
            match (spikes, broken) {
                (true, _) => check_spikes(rest),
                (_, true) => check_break(rest),
                _ => assert!(rest.is_empty(), "{rest:#?}"),
            }
        }
        Form::Histogram { to_file: true, .. } => assert_eq!(lines, [DMA]),
        Form::Histogram { sum, rows, .. } => {
            assert_eq!(lines[0], DMA);
            check_histogram(&lines[1..], threads, sum, rows);
        }
        Form::Live => {
            assert_eq!(lines[0], DMA);
            check_live(&lines[1..], threads);
        }
        Form::Values => check_values(&lines, threads),
    }
}

#[track_caller]
fn check_spikes(lines: &[&str]) {
    let [first, spikes @ .., count, last] = lines else {
        panic!("{lines:#?}");
    };
    assert_eq!((*first, *last), ("", ""));
    for spike in spikes {
        one_of(spike, &["T:{2} Spike:{8}: TS:{13}"]);
    }
    one_of(count, &["spikes = {n}"]);
}

#[track_caller]
fn check_break(lines: &[&str]) {
    let patterns = [
        "# Thread Ids: {05}",
        "# Break thread: {n}",
        "# Break value: {n}",
    ];
    assert_eq!(lines.len(), 3);
    for (line, pattern) in lines.iter().zip(patterns) {
        one_of(line, &[pattern]);
    }
}

#[track_caller]
fn check_live(lines: &[&str], threads: usize) {
    let frames: Vec<&[&str]> = lines.chunks(threads + 2).collect();
    assert!(frames.len() > 1);
    let back = format!("\x1b[{}A", threads + 2);
    for (number, frame) in frames.iter().enumerate() {
        let policy = match number {
            0 => frame[0],
            _ => frame[0].strip_prefix(&back).unwrap(),
        };
        one_of(policy, &[POLICY]);
        assert_eq!(frame[1], "");
        assert_eq!(frame.len(), threads + 2);
        for row in &frame[2..] {
            one_of(row, &[THREAD]);
        }
    }
    assert!(frames[0][2].ends_with("C:      0 Min:1000000 Act:    0 Avg:    0 Max:       0"));
}

#[track_caller]
fn check_values(lines: &[&str], threads: usize) {
    one_of(lines[0], &["Max CPUs = {n}"]);
    one_of(lines[1], &["Online CPUs = {n}"]);
    assert_eq!(lines[2], DMA);
    let (intervals, values) = lines[3..].split_at(threads);
    for line in intervals {
        one_of(line, &["Thread {n} Interval: {n}"]);
    }
    assert!(!values.is_empty());
    for value in values {
        one_of(value, &["{8}:{8}:{8}"]);
    }
}

/// Requires that `lines` are a histogram; full, or with rows left out and then without totals.
#[track_caller]
pub(crate) fn check_histogram(lines: &[&str], threads: usize, sum: bool, rows: usize) {
    assert_eq!(lines[0], "# Histogram");
    let more = usize::from(sum);
    let columns = vec!["{06}"; threads + more].join("\t");
    let end = lines[1..]
        .iter()
        .position(|line| line.starts_with('#'))
        .unwrap()
        + 1;
    for row in &lines[1..end] {
        one_of(row, &[&format!("{{06}} {columns}")]);
    }
    let full = lines[end].starts_with("# Total:");
    if full {
        assert_eq!(end - 1, rows);
    } else {
        assert!(end - 1 < rows);
    }
    let values = |name: &str, width: &str, count: usize| {
        format!("{name}{}", format!(" {width}").repeat(count))
    };
    let mut expected = Vec::new();
    if full {
        expected.push(values("# Total:", "{09}", threads + more));
    }
    let over = if threads > 1 { more } else { 0 };
    expected.push(values("# Min Latencies:", "{05}", threads));
    expected.push(values("# Avg Latencies:", "{05}", threads));
    expected.push(values("# Max Latencies:", "{05}", threads + over));
    expected.push(values("# Histogram Overflows:", "{05}", threads + more));
    expected.push("# Histogram Overflow at cycle number:".to_owned());
    let rest = &lines[end..];
    assert_eq!(rest.len(), expected.len() + threads + 1);
    for (line, pattern) in rest.iter().zip(&expected) {
        one_of(line, &[pattern]);
    }
    for (thread, line) in rest[expected.len()..rest.len() - 1].iter().enumerate() {
        let cycles = line.strip_prefix(&format!("# Thread {thread}:")).unwrap();
        let cycles = match cycles.split_once(" # ") {
            Some((cycles, others)) => {
                one_of(others, &["{05} others"]);
                cycles
            }
            None => cycles,
        };
        // 2.10 leaves a blank where there are none.
        for cycle in cycles.split(' ').skip(1).filter(|cycle| !cycle.is_empty()) {
            one_of(cycle, &["{05}"]);
        }
    }
    assert_eq!(rest[rest.len() - 1], "");
}

#[test]
fn places_are_as_wide_as_they_say() {
    assert!(matches("C:      5", "C:{7}"));
    assert!(matches("C:12345678", "C:{7}"));
    for line in ["C:     5", "C: 12345678", "C:", "C:x", "C:      5 "] {
        assert!(!matches(line, "C:{7}"), "{line}");
    }
    assert!(matches("00012 x", "{05} {*}"));
    assert!(!matches("   12", "{05}"));
}

/// Returns the lines but those of histograms, which may be empty, with whole numbers and strings as one mark: blanks,
/// the order of the keys, and the two decimals of a mean are the same.
pub(super) fn json_lines(text: &str) -> Vec<String> {
    const BEGIN: &str = "\"histogram\": {";
    let mut parts = text.split(BEGIN);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (_, rest) = part.split_once('}').unwrap();
        text = text + BEGIN + "}" + rest;
    }
    let shape = |line: &str| {
        let (key, value) = line.split_once("\": ").unwrap_or((line, ""));
        let (value, comma) = match value.strip_suffix(',') {
            Some(value) => (value, ","),
            None => (value, ""),
        };
        let number = value.trim_start_matches('-');
        let kind = match number.split_once('.') {
            _ if value.starts_with('"') => "string".to_owned(),
            Some((_, decimals)) => format!("{} decimals", decimals.len()),
            // 2.6 and ours write -1 where 2.4 writes the number of the thread.
            None if number.starts_with(|c: char| c.is_ascii_digit()) => "number".to_owned(),
            None => value.to_owned(),
        };
        format!("{key}: {kind}{comma}")
    };
    text.lines().map(shape).collect()
}
