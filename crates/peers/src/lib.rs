// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What other latency tools wrote, read into runs, and runs written as they write them.
//!
//! One module a tool. A reader takes a stream, keeps a bounded amount of it, and ends in an
//! [`Imported`] or in an [`ImportError`] that names the line; it claims no figure that the file does
//! not support. Values are stated in whole units: a sample of 37 µs was somewhere from 37.000 to
//! 37.999 µs. So a minimum is the lower end, a maximum and a quantile are the upper end. oslat rounds
//! up instead, and its figures stay as it states them.
#![forbid(unsafe_code)]

mod asked;
pub mod command;
mod cyclictest;
mod decimals;
mod error;
pub mod export;
mod format;
mod imported;
mod jitterdebugger;
mod json;
mod lines;
mod oslat;
mod phoronix;
mod rteval;
mod rtla;
mod series;
mod xenomai;
mod xml;

use std::error::Error as StdError;
use std::io::BufRead;

use punctual_model::Sample;

pub use decimals::two_decimals;
pub use error::{ImportError, Place};
pub use format::{DETECT_BYTES, Format, detect};
pub use imported::{Imported, Labels, Spike};
pub use series::{Buckets, Rounded, SourceSeries};

use lines::Lines;

/// The unit of the values, for files that do not state it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unit {
    /// Nanoseconds, as `cyclictest -N` prints.
    Nanoseconds,
    /// Microseconds.
    Microseconds,
}

impl Unit {
    pub(crate) const fn symbol(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => "µs",
        }
    }

    pub(crate) const fn ns(self) -> u64 {
        match self {
            Self::Nanoseconds => 1,
            Self::Microseconds => 1_000,
        }
    }
}

/// Takes the samples of a file that has them.
pub trait SampleSink {
    /// Takes samples of one thread.
    ///
    /// # Errors
    /// Whatever keeps them from being kept; the import ends with it.
    fn samples(
        &mut self,
        thread: u32,
        samples: &[Sample],
    ) -> Result<(), Box<dyn StdError + Send + Sync>>;
}

/// Drops the samples.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSamples;

impl SampleSink for NoSamples {
    fn samples(&mut self, _: u32, _: &[Sample]) -> Result<(), Box<dyn StdError + Send + Sync>> {
        Ok(())
    }
}

/// The byte order mark of UTF-8, which editors put before a text.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// Reads a file.
///
/// `unit` is for formats that do not state theirs; where they do, it is not looked at. The lines of cyclictest that show theirs by the
/// width of columns must not contradict it.
///
/// # Errors
/// [`ImportError`]: what is wrong, and where. Samples may have been given to `sink` before.
pub fn import(
    mut input: impl BufRead,
    format: Format,
    unit: Option<Unit>,
    sink: &mut dyn SampleSink,
) -> Result<Imported, ImportError> {
    // The samples of jitterdebugger are no text: their bytes may be these.
    if format != Format::JitterdebuggerRaw && input.fill_buf()?.starts_with(MARK) {
        input.consume(MARK.len());
    }
    let imported = match format {
        Format::CyclictestText | Format::CyclictestHistogram => {
            cyclictest::text::read(&mut Lines::new(input), unit)
        }
        Format::CyclictestLog => cyclictest::log::read(&mut Lines::new(input), unit, sink),
        Format::CyclictestJson => cyclictest::json::read(input),
        Format::RtlaHist => rtla::hist::read(&mut Lines::new(input)),
        Format::RtlaTimerlatTop => rtla::top::read(&mut Lines::new(input)),
        Format::RtlaNoiseTop => rtla::noise::read(&mut Lines::new(input)),
        Format::OslatText => oslat::text::read(&mut Lines::new(input)),
        Format::OslatJson => oslat::json::read(input),
        Format::JitterdebuggerJson => jitterdebugger::read_results(input),
        Format::JitterdebuggerRaw => jitterdebugger::read_samples(input, unit, sink),
        Format::Rteval => rteval::read(input),
        Format::Phoronix => phoronix::read(input),
        Format::Latmus | Format::XenomaiLatency => xenomai::read(&mut Lines::new(input), format),
    };
    imported?.bounded()
}
