// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `summary.xml` of rteval.
//!
//! Only the histograms and the extremes are taken: rteval's median is not one, and what else it
//! computes follows from the buckets. It leaves out what its histogram had no room for and does not
//! say how many samples that were; newer versions then leave out all figures. Ours, whose `version` names this program, do
//! say: `samples` counts those above the buckets, and `mean` is of them, too; where `measurecpus` is empty, no thread was pinned. Of timerlat it puts the latencies of interrupt, thread and user
//! space into one histogram.
//!
//! Older versions have the measurement in a `Profile`, newer ones directly below `Measurements`. A file
//! that has the same one in both places, as ours do, has one.

use std::io::{self, BufRead, Read};

use punctual_model::{Ended, Nanos};
use punctual_stats::float;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::error::{ImportError, Place};
use crate::format::Format;
use crate::imported::{Imported, LONGEST_TEXT, cut};
use crate::lines::nanos;
use crate::series::{Buckets, MOST_BUCKETS, MOST_THREADS, SourceSeries};
use crate::xml;

const US: u64 = 1_000;

/// Elements inside each other; rteval has 8.
const DEEPEST: usize = 64;

/// The longest text, tag or comment, in bytes. What is kept of it is less.
const LONGEST: u64 = 1 << 20;

/// Counts what is read of one part of a file, and ends it where that is longer than any.
struct Parts<R> {
    input: R,
    left: u64,
}

impl<R: BufRead> Read for Parts<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut ready = self.fill_buf()?;
        let n = ready.read(out)?;
        self.consume(n);
        Ok(n)
    }
}

impl<R: BufRead> BufRead for Parts<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let ready = self.input.fill_buf()?;
        if self.left == 0 && !ready.is_empty() {
            return Err(io::Error::other(format!(
                "a text or a tag is longer than {} KiB, more than rteval ever writes",
                LONGEST >> 10
            )));
        }
        let end = usize::try_from(self.left).unwrap_or(usize::MAX);
        Ok(ready.get(..ready.len().min(end)).unwrap_or(ready))
    }

    fn consume(&mut self, n: usize) {
        self.left = self.left.saturating_sub(n as u64);
        self.input.consume(n);
    }
}

/// One core so far.
#[derive(Debug, Default)]
struct Core {
    cpu: Option<u32>,
    priority: Option<u8>,
    samples: Option<u64>,
    minimum: Option<u64>,
    maximum: Option<u64>,
    mean_ns: Option<f64>,
    announced: Option<u64>,
    entries: Vec<(u64, u64)>,
}

/// A measurement.
#[derive(Debug, Default)]
struct Measurement {
    /// Whether it is in a `Profile`.
    profile: bool,
    instrument: &'static str,
    command_line: Option<String>,
    ended: Option<Ended>,
    stated: Vec<String>,
    series: Vec<SourceSeries>,
}

impl Measurement {
    /// Whether this is the other once more, in the other place.
    fn repeats(&self, other: &Self) -> bool {
        self.profile != other.profile
            && self.instrument == other.instrument
            && self.command_line == other.command_line
            && self.series == other.series
    }
}

struct State {
    imported: Imported,
    path: Vec<String>,
    measured: Vec<Measurement>,
    core: Option<Core>,
    /// Whether the numbers of the cores are those of threads, which is only so of ours.
    unpinned: bool,
    text: String,
    date: String,
    buckets: usize,
}

pub(crate) fn read(input: impl BufRead) -> Result<Imported, ImportError> {
    let mut reader = Reader::from_reader(Parts {
        input,
        left: LONGEST,
    });
    reader.config_mut().check_end_names = true;
    let mut state = State {
        imported: Imported::new(Format::Rteval, ""),
        path: Vec::new(),
        measured: Vec::new(),
        core: None,
        unpinned: false,
        text: String::new(),
        date: String::new(),
        buckets: 0,
    };
    let mut buffer = Vec::new();
    let mut closed = false;
    loop {
        reader.get_mut().left = LONGEST;
        let event = reader.read_event_into(&mut buffer);
        let at = Place::Byte(reader.buffer_position());
        let wrong = |reason: String| ImportError::content(at, reason);
        match event.map_err(|err| wrong(err.to_string()))? {
            Event::Start(tag) => {
                if closed {
                    return Err(wrong("data follow the end of the summary".to_owned()));
                }
                state.open(&tag, at)?;
            }
            Event::Empty(tag) => {
                state.open(&tag, at)?;
                state.close(at)?;
            }
            Event::Text(text) => {
                state.add(&text.decode().map_err(|err| wrong(err.to_string()))?);
            }
            Event::CData(text) => {
                state.add(&text.decode().map_err(|err| wrong(err.to_string()))?);
            }
            Event::GeneralRef(reference) => {
                let mut text = String::new();
                xml::push(&mut text, &reference).map_err(|err| wrong(err.to_string()))?;
                state.add(&text);
            }
            Event::End(_) => {
                state.close(at)?;
                closed = state.path.is_empty();
            }
            Event::Eof => break,
            _ => {}
        }
        buffer.clear();
        buffer.shrink_to(4096);
    }
    if !closed {
        return Err(ImportError::content(
            Place::Byte(reader.buffer_position()),
            "the file ends before `</rteval>`",
        )
        .hinted("import the whole file"));
    }
    let mut imported = state.imported;
    let mut measured = state.measured.into_iter();
    let first = measured.next().unwrap_or_default();
    if measured.any(|other| !other.repeats(&first)) {
        return Err(ImportError::file("it has more than one measurement")
            .hinted("import a summary of one measurement"));
    }
    imported.instrument = first.instrument;
    imported.command_line = first.command_line;
    imported.ended = first.ended;
    imported.series = first.series;
    for stated in first.stated {
        imported.state(stated);
    }
    if imported.series.is_empty() {
        let reason = "it has no figures for any core";
        return Err(ImportError::file(reason).hinted(
            "rteval omits them if a latency exceeded its histogram: measure again with more \
             buckets",
        ));
    }
    imported.resolution_ns = Some(US);
    if imported.instrument == "cyclictest" {
        imported.ask_cyclictest();
    } else {
        imported.ask_rtla();
    }
    if imported.instrument == "timerlat" {
        let text = "the latencies of interrupt, thread and user space are in one histogram";
        imported.state(text);
    }
    let ours = is_ours(&imported);
    if ours && imported.series.iter().any(|s| s.mean_ns.is_some()) {
        // Each value is cut, and their mean has three decimals.
        imported.mean_error_ns = Some(float(US) * 1.0005);
    }
    if !close(&mut imported.series, ours) {
        imported.state(
            "figures cover only the samples in the buckets: rteval does not say how many were above",
        );
    }
    Ok(imported)
}

/// Whether `runs export` wrote it.
fn is_ours(imported: &Imported) -> bool {
    let version = imported.version.as_deref();
    version.is_some_and(|version| version.starts_with("punctual "))
}

/// Takes what a core counts more than its buckets hold for samples above them. Returns whether any
/// does, or the file is ours: then the counts of all are those of every sample.
fn close(series: &mut [SourceSeries], ours: bool) -> bool {
    let counts_more = |s: &SourceSeries| {
        let held = s.buckets.as_ref().and_then(Buckets::counted);
        held.is_some_and(|held| s.count > held)
    };
    let every = ours || series.iter().any(counts_more);
    for s in series {
        let count = s.count;
        s.buckets = s.buckets.take().filter(|b| every || !b.entries.is_empty());
        if let Some(buckets) = s.buckets.as_mut().filter(|_| every) {
            buckets.close(count);
        }
    }
    every
}

fn attribute(tag: &BytesStart<'_>, name: &str, at: Place) -> Result<Option<String>, ImportError> {
    let wrong = |reason: String| ImportError::content(at, reason);
    let found = tag
        .try_get_attribute(name)
        .map_err(|err| wrong(err.to_string()))?;
    let value = found.map(|attribute| {
        let value = attribute.unescape_value();
        value
            .map(std::borrow::Cow::into_owned)
            .map_err(|err| wrong(err.to_string()))
    });
    value.transpose()
}

fn whole(text: &str, what: &str, at: Place) -> Result<u64, ImportError> {
    let text = text.trim();
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let value = digits.then(|| text.parse().ok()).flatten();
    value.ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        ImportError::content(at, format!("{what}: `{shown}` is not a whole number"))
    })
}

/// Reads a mean in µs.
fn mean(text: &str, at: Place) -> Result<f64, ImportError> {
    let us = text.parse::<f64>().ok();
    let ns = us.map(|us| us * float(US));
    ns.filter(|ns| (0.0..1e18).contains(ns)).ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        ImportError::content(at, format!("mean: `{shown}` is no latency"))
    })
}

impl State {
    fn open(&mut self, tag: &BytesStart<'_>, at: Place) -> Result<(), ImportError> {
        let name = String::from_utf8_lossy(tag.local_name().as_ref()).into_owned();
        if self.path.is_empty() && name != "rteval" {
            return Err(ImportError::content(at, "this is not an rteval summary"));
        }
        if self.path.len() >= DEEPEST {
            return Err(ImportError::content(at, "elements are nested too deeply"));
        }
        self.text.clear();
        match name.as_str() {
            "rteval" => self.imported.version = attribute(tag, "version", at)?,
            "run_info" => self.duration(tag, at)?,
            "Measurements" => {
                let cpus = attribute(tag, "measurecpus", at)?;
                self.unpinned = is_ours(&self.imported) && cpus.as_deref() == Some("");
            }
            "cyclictest" | "timerlat" if self.inside("Measurements") => {
                if self.measured.len() == 2 {
                    return Err(ImportError::content(at, "a second measurement")
                        .hinted("import a summary of one measurement"));
                }
                // Ours says so of a `cyclictest` that it is not.
                let tool = attribute(tag, "tool", at)?.unwrap_or_else(|| name.clone());
                self.measured.push(Measurement {
                    profile: self.inside("Profile"),
                    instrument: match tool.as_str() {
                        "timerlat" => "timerlat",
                        _ => "cyclictest",
                    },
                    command_line: attribute(tag, "command_line", at)?,
                    ..Measurement::default()
                });
            }
            "kernel" if self.inside("uname") => {
                let rt = attribute(tag, "is_RT", at)?;
                self.imported.host.preempt_rt = rt.map(|rt| rt.trim() == "1");
            }
            "abort_report" => {
                let reason = attribute(tag, "reason", at)?.unwrap_or_default();
                if let Some(measured) = self.measured.last_mut().filter(|m| m.ended.is_none()) {
                    measured.ended = Some(Ended::Threshold);
                    measured.stated.push(cut(format!("aborted: {reason}")));
                }
            }
            "core" if !self.measured.is_empty() => {
                let id = attribute(tag, "id", at)?.unwrap_or_default();
                let cpu = u32::try_from(whole(&id, "core", at)?).ok();
                self.core = Some(Core {
                    cpu: cpu.filter(|_| !self.unpinned),
                    priority: attribute(tag, "priority", at)?.and_then(|p| p.trim().parse().ok()),
                    ..Core::default()
                });
            }
            "histogram" => {
                if let Some(core) = &mut self.core {
                    let n = attribute(tag, "nbuckets", at)?;
                    core.announced = n.map(|n| whole(&n, "nbuckets", at)).transpose()?;
                }
            }
            "bucket" => {
                let index = attribute(tag, "index", at)?.unwrap_or_default();
                let value = attribute(tag, "value", at)?.unwrap_or_default();
                if let Some(core) = &mut self.core {
                    let entry = (whole(&index, "index", at)?, whole(&value, "value", at)?);
                    core.entries.push(entry);
                    self.buckets += 1;
                    if self.buckets > 2 * MOST_BUCKETS {
                        return Err(ImportError::content(at, "more buckets than can be kept"));
                    }
                }
            }
            "samples" | "minimum" | "maximum" | "mean" => {
                let unit = attribute(tag, "unit", at)?;
                if unit.is_some_and(|unit| unit != "us") {
                    return Err(ImportError::content(
                        at,
                        "a figure has a unit other than us",
                    ));
                }
            }
            _ => {}
        }
        self.path.push(name);
        Ok(())
    }

    /// Adds a piece of a text. Behind the end of an element nobody asks for it.
    fn add(&mut self, piece: &str) {
        if self.text.len() < LONGEST_TEXT {
            self.text.push_str(piece);
            self.text = cut(std::mem::take(&mut self.text));
        }
    }

    fn inside(&self, name: &str) -> bool {
        self.path.iter().any(|open| open == name)
    }

    fn close(&mut self, at: Place) -> Result<(), ImportError> {
        let name = self.path.pop().unwrap_or_default();
        // A text comes in pieces, with references between them: what is around it is no part of it.
        let text = std::mem::take(&mut self.text).trim().to_owned();
        let (info, uname) = (self.inside("run_info"), self.inside("uname"));
        match (name.as_str(), &mut self.core) {
            ("core", core) => {
                if let Some(core) = core.take() {
                    self.finish(core, at)?;
                }
            }
            ("samples", Some(core)) => core.samples = Some(whole(&text, "samples", at)?),
            ("minimum", Some(core)) => core.minimum = Some(whole(&text, "minimum", at)?),
            ("maximum", Some(core)) => core.maximum = Some(whole(&text, "maximum", at)?),
            ("mean", Some(core)) if is_ours(&self.imported) => {
                core.mean_ns = Some(mean(&text, at)?);
            }
            ("date", None) if info => self.date = text,
            ("time", None) if info => {
                self.imported.local_start = Some(cut(format!("{} {text}", self.date)));
                let started = format!("started {} {text}, local time", self.date);
                self.imported.state(started);
            }
            ("node", None) if uname => self.imported.host.hostname = Some(text),
            ("kernel", None) if uname => {
                self.imported.host.kernel_release = Some(text).filter(|text| !text.is_empty());
            }
            ("arch", None) if uname => self.imported.host.architecture = Some(text),
            ("cmdline", None) => self.imported.host.cmdline = Some(text),
            _ => {}
        }
        Ok(())
    }

    fn duration(&mut self, tag: &BytesStart<'_>, at: Place) -> Result<(), ImportError> {
        let mut seconds = Some(0_u64);
        for (name, factor) in [
            ("days", 86_400),
            ("hours", 3_600),
            ("minutes", 60),
            ("seconds", 1),
        ] {
            let Some(value) = attribute(tag, name, at)? else {
                return Ok(());
            };
            let part = whole(&value, name, at)?.checked_mul(factor);
            seconds = seconds.zip(part).and_then(|(a, b)| a.checked_add(b));
        }
        let ns = seconds.and_then(|s| s.checked_mul(1_000_000_000));
        self.imported.duration = ns.map(Nanos::new);
        Ok(())
    }

    fn finish(&mut self, mut core: Core, at: Place) -> Result<(), ImportError> {
        let Some(measured) = self.measured.last_mut() else {
            return Ok(());
        };
        let number = measured.series.len();
        let wrong = |what: &str| ImportError::content(at, format!("core {number}: {what}"));
        if number >= MOST_THREADS {
            return Err(wrong("more cores than a machine has"));
        }
        core.entries.sort_unstable();
        if core.entries.array_windows().any(|[a, b]| a.0 == b.0) {
            return Err(wrong("a bucket comes twice"));
        }
        // Empty ones are announced too, and left out.
        if core
            .announced
            .is_some_and(|n| n < core.entries.len() as u64)
        {
            return Err(wrong("more buckets than nbuckets says"));
        }
        core.entries.retain(|(_, count)| *count > 0);
        let ns = |us| nanos(0, us, US).map_err(|_| wrong("a value is longer than any latency"));
        let buckets = Buckets::of(&core.entries, US, ns)?;
        let counted = buckets.counted().ok_or_else(|| wrong("too many samples"))?;
        let count = core.samples.ok_or_else(|| wrong("`samples` is missing"))?;
        if count < counted {
            return Err(wrong("its buckets have more samples than it counts"));
        }
        let (first, last) = (core.entries.first(), core.entries.last());
        if first.is_some_and(|b| core.minimum.is_some_and(|min| min != b.0))
            || last.is_some_and(|b| core.maximum.is_some_and(|max| max < b.0))
        {
            return Err(wrong("the extremes do not agree with the buckets"));
        }
        // rteval counts those in the buckets; only ours counts others, which are above them.
        let above = last.is_none_or(|b| core.maximum.is_some_and(|max| max > b.0));
        if count > counted && !above {
            return Err(wrong("it counts more samples than its buckets hold"));
        }
        let some = count > 0;
        measured.series.push(SourceSeries {
            thread: u32::try_from(number).unwrap_or(u32::MAX),
            cpu: core.cpu,
            policy: None,
            count,
            min_ns: core.minimum.filter(|_| some).map(ns).transpose()?,
            max_ns: core
                .maximum
                .filter(|_| some)
                .map(ns)
                .transpose()?
                .map(|max| max + US - 1),
            mean_ns: core.mean_ns.filter(|_| some),
            buckets: Some(buckets),
            ..SourceSeries::default()
        });
        if let Some(priority) = core.priority {
            let stated = format!("core {number}: priority {priority}");
            measured.stated.push(stated);
        }
        Ok(())
    }
}
