// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `composite.xml` of the Phoronix Test Suite: results, each with the values of its runs.
//!
//! A file has systems and results; a result has an entry a system, with a mean and, as `RawString`, the values that it is
//! of. Each entry becomes a figure: the name of the test, and as labels the system, the arguments of the test and the version
//! of its profile, the scale where the same test has results in several, and a number where a system has several entries. The
//! interval is ours, Student's of the values; the suite writes none. Results of another kind than a number, such as lines
//! over time, are left out.

mod system;

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use punctual_model::{Better, Figure, Interval};
use punctual_stats::{Moments, mean_interval};
use quick_xml::Reader;
use quick_xml::events::Event;

use self::system::System;
use crate::error::{ImportError, Place};
use crate::format::Format;
use crate::imported::{Imported, cut};
use crate::{json, xml};

/// Elements inside each other; the suite has 6.
const DEEPEST: usize = 32;

/// The most entries of a file.
const MOST: usize = 20_000;

/// The most systems of a file.
const MOST_SYSTEMS: usize = 4096;

/// The most values of an entry: the suite runs a test up to some dozens of times.
const MOST_VALUES: usize = 10_000;

const CONFIDENCE: f64 = 0.95;

/// One result so far.
#[derive(Debug, Default)]
struct Test {
    identifier: String,
    title: String,
    description: String,
    scale: String,
    proportion: String,
    display: String,
    entries: Vec<Entry>,
}

/// What one system reached.
#[derive(Debug, Default)]
struct Entry {
    system: String,
    value: String,
    raw: String,
}

pub(crate) fn read(input: impl BufRead) -> Result<Imported, ImportError> {
    let bytes = json::bytes(input)?;
    let mut reader = Reader::from_reader(bytes.as_slice());
    reader.config_mut().check_end_names = true;
    let mut imported = Imported::new(Format::Phoronix, "phoronix");
    let mut path: Vec<String> = Vec::new();
    let (mut test, mut text) = (Test::default(), String::new());
    let mut systems: Vec<System> = Vec::new();
    let mut closed = false;
    let mut left_out = 0_u64;
    loop {
        let at = Place::Byte(reader.buffer_position());
        let wrong = |reason: String| ImportError::content(at, reason);
        let event = reader.read_event();
        match event.map_err(|err| wrong(err.to_string()))? {
            Event::Start(tag) => {
                let name = String::from_utf8_lossy(tag.local_name().as_ref()).into_owned();
                if closed {
                    return Err(wrong("data follow the end of the results".to_owned()));
                }
                if path.is_empty() && name != "PhoronixTestSuite" {
                    return Err(wrong("not a result of the Phoronix Test Suite".to_owned()));
                }
                if path.len() >= DEEPEST {
                    return Err(wrong("elements are nested too deeply".to_owned()));
                }
                match name.as_str() {
                    "Result" => test = Test::default(),
                    "Entry" => test.entries.push(Entry::default()),
                    "System" if systems.len() == MOST_SYSTEMS => {
                        return Err(wrong(format!("more than {MOST_SYSTEMS} systems")));
                    }
                    "System" => systems.push(System::default()),
                    _ => {}
                }
                text.clear();
                path.push(name);
            }
            Event::Text(part) => {
                let part = part.decode().map_err(|err| wrong(err.to_string()))?;
                text.push_str(&part);
            }
            Event::CData(part) => {
                let part = part.decode().map_err(|err| wrong(err.to_string()))?;
                text.push_str(&part);
            }
            Event::GeneralRef(part) => {
                xml::push(&mut text, &part).map_err(|err| wrong(err.to_string()))?;
            }
            Event::End(_) => {
                let name = path.pop().unwrap_or_default();
                let parent = path.last().map(String::as_str).unwrap_or_default();
                let said = std::mem::take(&mut text).trim().to_owned();
                match (parent, systems.last_mut()) {
                    ("System", Some(system)) => system.take(&name, &said),
                    _ => test.take(parent, &name, said),
                }
                if name == "Result" {
                    let test = std::mem::take(&mut test);
                    match test.is_number() {
                        true => imported.figures.extend(test.figures(at)?),
                        false => left_out += 1,
                    }
                    if imported.figures.len() > MOST {
                        return Err(wrong(format!("more than {MOST} entries")));
                    }
                }
                closed = path.is_empty();
            }
            Event::Eof => break,
            _ => {}
        }
    }
    if !closed {
        return Err(ImportError::content(
            Place::Byte(reader.buffer_position()),
            "the file ends before `</PhoronixTestSuite>`",
        )
        .hinted("import the whole file"));
    }
    finished(imported, &systems, left_out)
}

/// Says what the figures are, and how many results are none.
fn finished(
    mut imported: Imported,
    systems: &[System],
    left_out: u64,
) -> Result<Imported, ImportError> {
    tell_scales_apart(&mut imported.figures);
    tell_entries_apart(&mut imported.figures);
    // Only now, so that the number of an entry does not depend on which others have a value.
    let entries = imported.figures.len();
    imported.figures.retain(|figure| figure.value.is_some());
    let empty = entries - imported.figures.len();
    if imported.figures.is_empty() {
        return Err(ImportError::file("it has no result with a number"));
    }
    system::tell(systems, &mut imported);
    imported.state("each figure is the mean of the values that the suite kept of its own runs");
    match empty {
        0 => {}
        1 => imported.state("1 entry without a value was left out"),
        _ => imported.state(format!("{empty} entries without a value were left out")),
    }
    match left_out {
        0 => {}
        1 => imported.state("1 result that is not a single number was left out"),
        _ => imported.state(format!(
            "{left_out} results that are not a single number were left out"
        )),
    }
    Ok(imported)
}

/// Labels figures with their scale where those of the same test, on whatever system, have several: throughput and operations a
/// second are two figures, not one.
fn tell_scales_apart(figures: &mut [Figure]) {
    let key = |figure: &Figure| {
        let mut labels = figure.labels.clone();
        labels.remove("system");
        (figure.name.clone(), labels)
    };
    let mut scales: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    for figure in figures.iter() {
        let of = scales.entry(key(figure)).or_default();
        of.insert(figure.unit.clone());
    }
    for figure in figures {
        if scales.get(&key(figure)).is_some_and(|of| of.len() > 1) {
            let scale = label(&figure.unit);
            figure.labels.insert("scale".to_owned(), scale);
        }
    }
}

/// Numbers what has all labels in common, such as the sizes of one test on one system: the second is `entry=2`.
fn tell_entries_apart(figures: &mut [Figure]) {
    let mut seen: BTreeMap<_, u64> = BTreeMap::new();
    for figure in figures {
        let key = (figure.name.clone(), figure.labels.clone());
        let number = seen.entry(key).or_default();
        *number += 1;
        if *number > 1 {
            figure.labels.insert("entry".to_owned(), number.to_string());
        }
    }
}

/// A text as a label: a comma or a bracket would end it where figures are named.
fn label(text: &str) -> String {
    text.replace([',', '[', ']', '='], " ")
}

impl Test {
    fn take(&mut self, parent: &str, name: &str, text: String) {
        let into = match (parent, name) {
            ("Result", "Identifier") => Some(&mut self.identifier),
            ("Result", "Title") => Some(&mut self.title),
            ("Result", "Description") => Some(&mut self.description),
            ("Result", "Scale") => Some(&mut self.scale),
            ("Result", "Proportion") => Some(&mut self.proportion),
            ("Result", "DisplayFormat") => Some(&mut self.display),
            ("Entry", of) => self.entries.last_mut().and_then(|entry| match of {
                "Identifier" => Some(&mut entry.system),
                "Value" => Some(&mut entry.value),
                "RawString" => Some(&mut entry.raw),
                _ => None,
            }),
            _ => None,
        };
        if let Some(into) = into {
            *into = match (parent, name) {
                // Values are read, and not kept as a text.
                ("Entry", "RawString") => text,
                _ => cut(text),
            };
        }
    }

    /// Whether its values are single numbers: those of lines over time are lists of them, others are words.
    fn is_number(&self) -> bool {
        matches!(self.display.as_str(), "" | "BAR_GRAPH")
    }

    fn figures(self, at: Place) -> Result<Vec<Figure>, ImportError> {
        let name = name_of(&self.identifier, &self.title);
        let better = match self.proportion.as_str() {
            "HIB" => Better::Higher,
            "LIB" => Better::Lower,
            _ => Better::Neither,
        };
        let mut figures = Vec::new();
        for entry in &self.entries {
            // A test that failed has no value.
            let stated = match entry.value.as_str() {
                "" => None,
                value => Some(number(value, at)?),
            };
            let raw = entry.raw.split(':').map(str::trim);
            let raw: Vec<f64> = raw
                .filter(|value| !value.is_empty())
                .take(MOST_VALUES + 1)
                .map(|value| number(value, at))
                .collect::<Result<_, _>>()?;
            if raw.len() > MOST_VALUES {
                let reason = format!("an entry has more than {MOST_VALUES} values");
                return Err(ImportError::content(at, reason));
            }
            let mut figure = of_values(stated, &raw);
            if !is_within(&entry.value, &figure) {
                let reason = format!(
                    "the value {} is outside of those in its `RawString`",
                    entry.value
                );
                return Err(ImportError::content(at, reason));
            }
            figure.name.clone_from(&name);
            figure.unit.clone_from(&self.scale);
            figure.better = better;
            let version = profile(&self.identifier).1.unwrap_or_default();
            for (name, value) in [
                ("test", self.description.as_str()),
                ("system", entry.system.as_str()),
                ("version", version),
            ] {
                if !value.is_empty() {
                    figure.labels.insert(name.to_owned(), label(value));
                }
            }
            figures.push(figure);
        }
        Ok(figures)
    }
}

/// The name and the version of a test profile: those of `pts/aio-stress-1.1.2` are `aio-stress` and `1.1.2`.
fn profile(identifier: &str) -> (&str, Option<&str>) {
    let test = identifier.rsplit('/').next().unwrap_or_default();
    let version = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
    match test.rsplit_once('-') {
        Some((name, end)) if version(end) => (name, Some(end)),
        _ => (test, None),
    }
}

/// The name of a test without its publisher and version: `aio_stress` of `pts/aio-stress-1.1.2`.
fn name_of(identifier: &str, title: &str) -> String {
    let (test, _) = profile(identifier);
    let test = if test.is_empty() { title } else { test };
    let name: String = test
        .chars()
        .map(|c| match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => c,
            _ => '_',
        })
        .collect();
    match name.is_empty() {
        true => "result".to_owned(),
        false => name,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a handful")]
fn of_values(stated: Option<f64>, raw: &[f64]) -> Figure {
    let mut moments = Moments::new();
    moments.extend_from_slice(raw);
    let interval = mean_interval(&moments, raw.len() as f64, CONFIDENCE);
    Figure {
        value: stated,
        count: (raw.len() as u64).max(1),
        interval: interval.map(|ends| Interval {
            low: ends.low,
            high: ends.high,
            confidence: CONFIDENCE,
        }),
        stddev: moments.std_dev(),
        min: moments.min(),
        max: moments.max(),
        ..Figure::default()
    }
}

/// Whether the value is one that the values behind it can have, to a unit in the last place that it is written with.
fn is_within(text: &str, figure: &Figure) -> bool {
    let (Some(value), Some(min), Some(max)) = (figure.value, figure.min, figure.max) else {
        return true;
    };
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, ""));
    let decimals = digits.split_once('.').map_or(0, |(_, part)| part.len());
    let decimals = i32::try_from(decimals).unwrap_or(i32::MAX);
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let rounded = 10_f64.powi(exponent.saturating_sub(decimals)) + 1e-9 * value.abs();
    (min - rounded..=max + rounded).contains(&value)
}

fn number(text: &str, at: Place) -> Result<f64, ImportError> {
    let value = text.trim().parse::<f64>().ok();
    value.filter(|value| value.is_finite()).ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        ImportError::content(at, format!("`{shown}` is not a number"))
    })
}
