// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What was read, and the run that is made of it.

use std::collections::BTreeMap;

use punctual_model::{
    Check, DateOrigin, Ended, Figure, HostFacts, IMPORTED_RUN_FORMAT, Nanos, Origin, RunRecord,
    SampleTimes, Series,
};
use punctual_stats::{LatencyHistogram, float};

use crate::error::ImportError;
use crate::format::Format;
use crate::series::{self, Buckets, MOST_BUCKETS, MOST_THREADS, SourceSeries};

/// The content of one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// What the file turned out to be.
    pub format: Format,
    /// What made the samples, such as `cyclictest` or `timerlat`.
    pub instrument: &'static str,
    /// Version of the tool.
    pub version: Option<String>,
    /// Its command line.
    pub command_line: Option<String>,
    /// Width of the buckets or units.
    pub resolution_ns: Option<u64>,
    /// Upper end of the last row, where rows without samples are stated, too.
    pub rows_end_ns: Option<u64>,
    /// How far the true means may lie from those stated.
    pub mean_error_ns: Option<f64>,
    /// What the times of the samples are, if there are samples.
    pub sample_times: Option<SampleTimes>,
    /// What else the file states.
    pub stated: Vec<String>,
    /// The machine.
    pub host: HostFacts,
    /// Start, RFC 3339.
    pub started: Option<String>,
    /// Start as the file states it, where it does not say in which time zone.
    pub local_start: Option<String>,
    /// Time measured.
    pub duration: Option<Nanos>,
    /// Why it ended.
    pub ended: Option<Ended>,
    /// The threads.
    pub series: Vec<SourceSeries>,
    /// Results that are no latencies.
    pub figures: Vec<Figure>,
    /// Long latencies that the source lists by themselves, in its order.
    pub spikes: Vec<Spike>,
}

/// A latency that a source lists with its time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Spike {
    /// Number of the thread, from 0.
    pub thread: u32,
    /// When it was taken, on the source's clock.
    pub t_ns: u64,
    /// The latency; the lower end of what its unit allows.
    pub latency_ns: u64,
}

/// What the user says of a run.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// Identity of the run.
    pub id: String,
    /// Name of the file.
    pub file: String,
    /// Name and version of this program.
    pub program: String,
    /// A name.
    pub name: Option<String>,
    /// A remark.
    pub note: Option<String>,
    /// Tags, by which runs are grouped.
    pub tags: BTreeMap<String, String>,
    /// Where the start is from.
    pub started_from: Option<DateOrigin>,
}

/// The most remarks of a file: one a CPU, and a few of all.
const MOST_STATED: usize = MOST_THREADS + 64;

/// The longest text that is taken from a file, in bytes.
pub(crate) const LONGEST_TEXT: usize = 4096;

/// Cuts a text that is longer than any that a tool writes.
pub(crate) fn cut(mut text: String) -> String {
    if text.len() > LONGEST_TEXT {
        let end = text.floor_char_boundary(LONGEST_TEXT);
        text.truncate(end);
        text.push('…');
        text.shrink_to_fit();
    }
    text
}

impl Imported {
    pub(crate) fn new(format: Format, instrument: &'static str) -> Self {
        Self {
            format,
            instrument,
            version: None,
            command_line: None,
            resolution_ns: None,
            rows_end_ns: None,
            mean_error_ns: None,
            sample_times: None,
            stated: Vec::new(),
            host: HostFacts::default(),
            started: None,
            local_start: None,
            duration: None,
            ended: None,
            series: Vec::new(),
            figures: Vec::new(),
            spikes: Vec::new(),
        }
    }

    /// Checks the bounds that every format has.
    pub(crate) fn bounded(self) -> Result<Self, ImportError> {
        let buckets = |s: &SourceSeries| s.buckets.as_ref().map_or(0, |b| b.entries.len());
        if self.series.is_empty() && self.figures.is_empty() {
            return Err(ImportError::file("the file has no figures"));
        }
        if self.series.len() > MOST_THREADS {
            return Err(ImportError::file(format!(
                "more than {MOST_THREADS} threads"
            )));
        }
        if self.series.iter().map(buckets).sum::<usize>() > MOST_BUCKETS {
            return Err(ImportError::file(format!(
                "more than {MOST_BUCKETS} buckets"
            )));
        }
        let turned = |s: &SourceSeries| s.min_ns.zip(s.max_ns).is_some_and(|(min, max)| min > max);
        if let Some(s) = self.series.iter().find(|s| turned(s)) {
            return Err(ImportError::file(format!(
                "thread {}: its minimum is above its maximum",
                s.thread
            )));
        }
        for s in &self.series {
            let wrong = |what| Err(ImportError::file(format!("thread {}: {what}", s.thread)));
            if self.mean_is_outside(s) {
                return wrong("its mean is outside of its extremes");
            }
            if self.mean_is_of_others(s) {
                return wrong("its mean does not match its buckets");
            }
        }
        Ok(self)
    }

    /// Whether a stated mean, of cut values as the extremes are, cannot be theirs.
    fn mean_is_outside(&self, s: &SourceSeries) -> bool {
        let Some(mean) = s.mean_ns else {
            return false;
        };
        // Two decimals are the least that a mean is stated with.
        let rounded = |ns: f64| 0.01 * self.resolution_ns.map_or(1.0, float) + 1e-9 * ns;
        let below = |min: f64| mean < min - rounded(min);
        let above = |max: f64| mean > max + rounded(max);
        s.min_ns.map(float).is_some_and(below) || s.max_ns.map(float).is_some_and(above)
    }

    /// Whether a stated mean is further than a bucket from that of the buckets, or from what it can be where samples above them
    /// have no bucket.
    fn mean_is_of_others(&self, s: &SourceSeries) -> bool {
        let width = self.resolution_ns.map_or(1.0, float);
        let buckets = s.buckets.as_ref();
        let exact = buckets.and_then(Buckets::mean).map(|mean| (mean, mean));
        let stated_error = self.mean_error_ns.unwrap_or(0.0);
        let bounds = || {
            let (least, most) = buckets?.mean_bounds(s.max_ns?)?;
            Some((least - stated_error, most + stated_error))
        };
        let apart = |(mean, (least, most)): (f64, (f64, f64))| {
            let rounded = width * 1.01 + 1e-9 * most;
            mean < least - rounded || mean > most + rounded
        };
        s.mean_ns.zip(exact.or_else(bounds)).is_some_and(apart)
    }

    /// Keeps something that the file states. What no tool writes so often, or so long, is cut.
    pub(crate) fn state(&mut self, text: impl Into<String>) {
        if self.stated.len() < MOST_STATED {
            self.stated.push(cut(text.into()));
        }
    }

    /// Makes the record of a run.
    ///
    /// # Errors
    /// [`ImportError::Content`] if the threads together have more samples than can be counted.
    pub fn record(&self, labels: Labels) -> Result<RunRecord, ImportError> {
        let total = series::total(&self.series)?;
        let figures = |s: &SourceSeries| s.figures(self.resolution_ns);
        Ok(RunRecord {
            guest: None,
            format: IMPORTED_RUN_FORMAT.to_owned(),
            id: labels.id,
            valid: false,
            checks: vec![Check::unknown(
                "imported",
                "validity of the original measurement is unknown",
            )],
            instrument: self.instrument.to_owned(),
            origin: Some(Origin {
                tool: self.format.tool().to_owned(),
                version: self.version.clone().map(cut),
                format: self.format.name().to_owned(),
                file: labels.file,
                command_line: self.command_line.clone().map(cut),
                resolution_ns: self.resolution_ns,
                rows_end_ns: self.rows_end_ns,
                mean_error_ns: self.mean_error_ns,
                sample_times: self.sample_times,
                started_from: labels.started_from,
                stated: self.stated.clone(),
            }),
            name: labels.name,
            note: labels.note,
            program: labels.program,
            spec: None,
            host: self.host(),
            started: self.started.clone(),
            duration_ns: self.duration,
            ended: self.ended,
            series: self.series.iter().map(figures).collect(),
            total: Series {
                thread: None,
                ..figures(&total)
            },
            watched: None,
            tasks: None,
            threshold: None,
            precision: Vec::new(),
            setup: None,
            figures: self.figures.clone(),
            findings: Vec::new(),
            tags: labels.tags,
            requirements: Vec::new(),
            loads: Vec::new(),
        })
    }

    /// Returns the machine, in texts that a machine may have.
    fn host(&self) -> HostFacts {
        let mut host = self.host.clone();
        for text in [
            &mut host.hostname,
            &mut host.kernel_release,
            &mut host.kernel_version,
            &mut host.architecture,
            &mut host.cmdline,
        ] {
            *text = text.take().map(cut);
        }
        host
    }

    /// Writes the source's own buckets as `thread,from_ns,to_ns,count`; both ends belong to a
    /// bucket. `None` if the source has no buckets.
    pub fn bucket_table(&self) -> Option<String> {
        let mut text = "thread,from_ns,to_ns,count\n".to_owned();
        let mut any = false;
        for series in &self.series {
            let Some(buckets) = &series.buckets else {
                continue;
            };
            any = true;
            for b in &buckets.entries {
                let row = [b.from_ns, b.to_ns, b.count]
                    .map(|n| n.to_string())
                    .join(",");
                text += &series.thread.to_string();
                text.push(',');
                text += &row;
                text.push('\n');
            }
        }
        any.then_some(text)
    }

    /// Writes the latencies that the source lists by themselves as `thread,t_ns,latency_ns`. `None`
    /// if it lists none.
    pub fn spike_table(&self) -> Option<String> {
        let row = |s: &Spike| format!("{},{},{}\n", s.thread, s.t_ns, s.latency_ns);
        let rows: String = self.spikes.iter().map(row).collect();
        (!rows.is_empty()).then(|| format!("thread,t_ns,latency_ns\n{rows}"))
    }

    /// Returns a histogram of each series that has buckets: every sample at the upper end of its bucket, and those above all
    /// buckets at the maximum.
    pub fn histograms(&self) -> impl Iterator<Item = (&SourceSeries, LatencyHistogram)> {
        self.series
            .iter()
            .filter(|s| s.buckets.is_some())
            .map(|s| (s, s.histogram()))
    }
}
