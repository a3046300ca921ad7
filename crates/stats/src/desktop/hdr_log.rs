// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Histograms in the formats of the HdrHistogram family.
//!
//! Histograms, each with a tag and the time that it covers, are an *interval log*: lines of text
//! that HistogramLogAnalyzer, the Java, Python and other HDR tools read. Each is a *V2* payload,
//! deflated; a plain one is read too.
//!
//! The formats keep counts only. The clamped count and the exact extremes are not in them: a
//! histogram that was read has the borders of its outermost buckets as extremes, and no clamped
//! values.
//!
//! They are written by the `hdrhistogram` crate and read by `payload`: no length in a
//! file is believed before as many bytes have come, and a log has limits on what it may unpack to
//! ([`HlogLimits`]).

use std::borrow::Borrow;
use std::io::{self, Read, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{
    IntervalLogIterator, IntervalLogWriterBuilder, IntervalLogWriterError, LogEntry, Tag,
};
use hdrhistogram::serialization::{V2DeflateSerializeError, V2DeflateSerializer};

use crate::LatencyHistogram;
use crate::payload::{self, Budget};

const DIGITS: u8 = 3;

/// Padded; the bits behind the last byte, which another writer may leave, say nothing.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// One histogram of an interval log.
#[derive(Clone, Debug, PartialEq)]
pub struct TaggedHistogram {
    /// The tag, such as a thread or a CPU; `None` for an untagged line.
    pub tag: Option<String>,
    /// When the interval began, since the start of the log.
    pub start: Duration,
    /// How long the interval was.
    pub duration: Duration,
    /// The latencies of the interval.
    pub histogram: LatencyHistogram,
}

/// The latencies of a thread of a run, or of all of them, and of one kind where it has several.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadHistogram {
    /// The thread as the run numbers it; `None` for all of them.
    pub thread: Option<u32>,
    /// The kind of latency, where the run has several.
    pub context: Option<String>,
    /// The latencies.
    pub histogram: LatencyHistogram,
}

/// An interval log.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramLog {
    /// When the log began; `None` when it does not say.
    pub start: Option<SystemTime>,
    /// The histograms, in the order of the log.
    pub entries: Vec<TaggedHistogram>,
}

/// What an interval log may unpack to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct HlogLimits {
    /// Histograms.
    pub entries: usize,
    /// Bytes of their buckets, and of their payloads as they are unpacked.
    pub bytes: u64,
}

impl Default for HlogLimits {
    /// 16384 histograms in 256 MiB: those of 1000 threads over the default range.
    fn default() -> Self {
        Self {
            entries: 16_384,
            bytes: 256 << 20,
        }
    }
}

/// A histogram or an interval log could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteHistogramError {
    /// The writer refused the bytes.
    #[error("write histogram")]
    Write(#[source] io::Error),
    /// The histogram does not fit the format.
    #[error("encode histogram: {reason}")]
    Encode {
        /// What the encoder said.
        reason: String,
    },
    /// A tag has a character that the format cannot hold.
    #[error("histogram tag `{tag}` contains a comma, a space or a line break")]
    Tag {
        /// The rejected tag.
        tag: String,
    },
}

/// A histogram or an interval log could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadHistogramError {
    /// The reader failed, or ended early.
    #[error("read histogram")]
    Read(#[source] io::Error),
    /// The bytes are no V2 histogram.
    #[error("decode histogram: {reason}")]
    Decode {
        /// What the decoder said.
        reason: String,
    },
    /// The buckets are coarser than ours, so the stated error would not hold.
    #[error(
        "histogram has {digits} significant digits and unit {unit}; needed are 3 or more and unit 1"
    )]
    Coarse {
        /// The significant digits of the file.
        digits: u8,
        /// The lowest value that the file tells from 0.
        unit: u64,
    },
    /// It unpacks to more than was allowed.
    #[error("more than {limit} {what}, the limit")]
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// A line of an interval log is malformed.
    #[error("interval log is malformed at byte {offset}")]
    Log {
        /// Where the line begins.
        offset: usize,
    },
}

impl LatencyHistogram {
    fn to_hdr(&self) -> Result<Histogram<u64>, WriteHistogramError> {
        let mut hdr =
            Histogram::new_with_bounds(1, self.highest().max(2), DIGITS).map_err(encode_error)?;
        for bucket in self.buckets() {
            hdr.saturating_record_n(bucket.from_ns, bucket.count);
        }
        Ok(hdr)
    }
}

/// Writes histograms as one HdrHistogram interval log that began at `start`.
///
/// The maxima in the text are in ns. Other tools expect entries in ascending order of their start.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use punctual_stats::{LatencyHistogram, TaggedHistogram, read_hlog, write_hlog};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut histogram = LatencyHistogram::default();
/// histogram.record(1_500);
/// let entries = [TaggedHistogram {
///     tag: Some("cpu3".to_owned()),
///     start: Duration::ZERO,
///     duration: Duration::from_secs(60),
///     histogram,
/// }];
/// let mut log = Vec::new();
/// write_hlog(&mut log, SystemTime::now(), &entries)?;
/// assert_eq!(read_hlog(&mut &log[..])?.entries, entries);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`WriteHistogramError`] when the writer fails, or a tag has a comma, a space or a line break: the
/// log ends before it.
pub fn write_hlog(
    writer: &mut impl Write,
    start: SystemTime,
    entries: impl IntoIterator<Item = impl Borrow<TaggedHistogram>>,
) -> Result<(), WriteHistogramError> {
    writer
        .write_all(b"#[Histogram log format version 1.3]\n")
        .map_err(WriteHistogramError::Write)?;
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .with_start_time(start)
        .with_base_time(start)
        .begin_log_with(writer, &mut serializer)
        .map_err(WriteHistogramError::Write)?;
    for entry in entries {
        let entry = entry.borrow();
        let tag = entry.tag.as_deref();
        if let Some(bad) = tag.filter(|tag| tag.is_empty() || Tag::new(tag).is_none()) {
            let tag = bad.to_owned();
            return Err(WriteHistogramError::Tag { tag });
        }
        let tag = tag.and_then(Tag::new);
        log.write_histogram(&entry.histogram.to_hdr()?, entry.start, entry.duration, tag)
            .map_err(|e| match e {
                IntervalLogWriterError::IoError(e) => WriteHistogramError::Write(e),
                IntervalLogWriterError::SerializeError(e) => deflate_error(e),
            })?;
    }
    Ok(())
}

/// Reads an HdrHistogram interval log within the default limits.
///
/// The start of an entry counts from the start of the log if the log states a base time, else it is
/// what the line says.
///
/// # Errors
///
/// [`ReadHistogramError`] when the reader fails, a line is malformed, or a histogram cannot be read.
pub fn read_hlog(reader: &mut impl Read) -> Result<HistogramLog, ReadHistogramError> {
    read_hlog_within(reader, HlogLimits::default())
}

/// Reads an HdrHistogram interval log as [`read_hlog`] does, within limits.
///
/// # Errors
///
/// As [`read_hlog`]; [`ReadHistogramError::Limit`].
pub fn read_hlog_within(
    reader: &mut impl Read,
    limits: HlogLimits,
) -> Result<HistogramLog, ReadHistogramError> {
    let mut bytes = Vec::new();
    // Text, of which every byte takes more than one unpacked.
    reader
        .take(limits.bytes.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(ReadHistogramError::Read)?;
    let mut budget = Budget::new(limits.bytes);
    let mut log = HistogramLog {
        start: None,
        entries: Vec::new(),
    };
    for line in IntervalLogIterator::new(&bytes) {
        let line = line.map_err(|e| {
            let hdrhistogram::serialization::interval_log::LogIteratorError::ParseError { offset } =
                e;
            ReadHistogramError::Log { offset }
        })?;
        match line {
            LogEntry::BaseTime(since_epoch) => log.start = UNIX_EPOCH.checked_add(since_epoch),
            LogEntry::StartTime(since_epoch) => {
                log.start = log.start.or_else(|| UNIX_EPOCH.checked_add(since_epoch));
            }
            LogEntry::Interval(interval) => {
                if log.entries.len() >= limits.entries {
                    return Err(ReadHistogramError::Limit {
                        what: "histograms",
                        limit: limits.entries as u64,
                    });
                }
                let payload = BASE64.decode(interval.encoded_histogram()).map_err(|_| {
                    ReadHistogramError::Decode {
                        reason: "the payload is not base64".to_owned(),
                    }
                })?;
                log.entries.push(TaggedHistogram {
                    tag: interval.tag().map(|tag| tag.as_str().to_owned()),
                    start: interval.start_timestamp(),
                    duration: interval.duration(),
                    histogram: payload::read(&mut &payload[..], &mut budget)?,
                });
            }
        }
    }
    Ok(log)
}

fn encode_error(error: impl std::fmt::Display) -> WriteHistogramError {
    WriteHistogramError::Encode {
        reason: error.to_string(),
    }
}

fn deflate_error(error: V2DeflateSerializeError) -> WriteHistogramError {
    match error {
        V2DeflateSerializeError::IoError(e) => WriteHistogramError::Write(e),
        V2DeflateSerializeError::InternalSerializationError(e) => encode_error(e),
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::{Serializer, V2Serializer};

    use super::*;

    fn read(bytes: &[u8]) -> Result<LatencyHistogram, ReadHistogramError> {
        payload::read(
            &mut &bytes[..],
            &mut Budget::new(HlogLimits::default().bytes),
        )
    }

    fn written(hdr: &Histogram<u64>, mut serializer: impl Serializer) -> Vec<u8> {
        let mut bytes = Vec::new();
        serializer.serialize(hdr, &mut bytes).unwrap();
        bytes
    }

    fn plain(hdr: &Histogram<u64>) -> Vec<u8> {
        written(hdr, V2Serializer::new())
    }

    fn packed(hdr: &Histogram<u64>) -> Vec<u8> {
        written(hdr, V2DeflateSerializer::new())
    }

    fn sample() -> LatencyHistogram {
        let mut h = LatencyHistogram::default();
        h.record_slice(&[0, 1, 2047, 2048, 1_000_000, 1 << 39]);
        h.record_n(1500, 1_000_000_000_000);
        h
    }

    #[test]
    fn both_payloads_round_trip() {
        for h in [
            sample(),
            LatencyHistogram::default(),
            LatencyHistogram::new(1000),
        ] {
            let hdr = h.to_hdr().unwrap();
            for bytes in [plain(&hdr), packed(&hdr)] {
                let read = read(&bytes).unwrap();
                assert!(read.buckets().eq(h.buckets()));
                assert_eq!((read.count(), read.highest()), (h.count(), h.highest()));
            }
        }
    }

    #[test]
    fn the_log_keeps_tags_times_and_counts() {
        let start = UNIX_EPOCH + Duration::from_millis(1_700_000_000_250);
        let entry = |tag: Option<&str>, start_ms| TaggedHistogram {
            tag: tag.map(str::to_owned),
            start: Duration::from_millis(start_ms),
            duration: Duration::from_millis(1500),
            histogram: read(&plain(&sample().to_hdr().unwrap())).unwrap(),
        };
        let entries = [
            entry(Some("cpu0"), 0),
            entry(Some("cpu1"), 0),
            entry(None, 1500),
        ];
        let mut bytes = Vec::new();
        write_hlog(&mut bytes, start, &entries).unwrap();
        let text = std::str::from_utf8(&bytes).unwrap();
        assert!(
            text.starts_with("#[Histogram log format version 1.3]\n#[StartTime: 1700000000.250")
        );
        assert!(text.contains("\nTag=cpu1,0.000,1.500,"));
        let log = read_hlog(&mut &bytes[..]).unwrap();
        assert_eq!(log.start, Some(start));
        assert_eq!(log.entries, entries);
    }

    #[test]
    fn a_tag_that_the_format_cannot_hold_writes_nothing() {
        for tag in ["", "a b", "a,b", "a\n"] {
            let entry = TaggedHistogram {
                tag: Some(tag.to_owned()),
                start: Duration::ZERO,
                duration: Duration::ZERO,
                histogram: LatencyHistogram::default(),
            };
            let mut bytes = Vec::new();
            let error = write_hlog(&mut bytes, UNIX_EPOCH, &[entry]).unwrap_err();
            assert!(matches!(error, WriteHistogramError::Tag { .. }));
            let log = read_hlog(&mut &bytes[..]).unwrap();
            assert!(log.entries.is_empty());
        }
    }

    #[test]
    fn truncated_and_altered_bytes_are_errors_not_panics() {
        let bytes = plain(&sample().to_hdr().unwrap());
        for end in 0..bytes.len() {
            assert!(read(&bytes[..end]).is_err());
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut altered = bytes.clone();
                altered[at] ^= 1 << bit;
                drop(read(&altered));
            }
        }
        for text in ["x", "Tag=a,1,2,3,!!!!\n", "1,2,3\n", "Tag=a,1,2,3,AAAA\n"] {
            assert!(read_hlog(&mut text.as_bytes()).is_err(), "{text}");
        }
        assert!(read_hlog(&mut &b""[..]).unwrap().entries.is_empty());
    }

    #[test]
    fn malformed_base64_is_refused_and_bits_behind_the_last_byte_are_not() {
        for text in [
            "A", "AA", "AAA", "A===", "====", "AA=A", "Zm9v\n", "Zm 9", "é===",
        ] {
            assert!(BASE64.decode(text).is_err(), "{text}");
        }
        for (text, plain) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zh==", "f"),
            ("Zm9vYmE=", "fooba"),
        ] {
            assert_eq!(BASE64.decode(text).unwrap(), plain.as_bytes());
        }
    }

    #[test]
    fn what_is_read_is_what_hdrhistogram_reads() {
        use hdrhistogram::serialization::Deserializer;
        let cases = [
            (3, 1 << 40),
            (3, 2),
            (3, u64::MAX >> 1),
            (4, 1 << 30),
            (5, 123_456_789),
        ];
        for (digits, high) in cases {
            let mut hdr = Histogram::<u64>::new_with_bounds(1, high, digits).unwrap();
            let mut value = 1_u64;
            while value <= high / 3 {
                hdr.record_n(value, value.count_ones().into()).unwrap();
                value = value * 3 + 1;
            }
            for value in [0, 1, high / 2, high] {
                hdr.record(value).unwrap();
            }
            for bytes in [plain(&hdr), packed(&hdr)] {
                let again: Histogram<u64> =
                    Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
                let mut expected = LatencyHistogram::new(again.high());
                for step in again.iter_recorded() {
                    let value = again.lowest_equivalent(step.value_iterated_to());
                    expected.record_n(value.min(again.high()), step.count_at_value());
                }
                let expected = expected.with_extremes(again.min(), again.max());
                let read = read(&bytes).unwrap();
                assert!(read == expected, "{digits} {high}: {read:?} {expected:?}");
            }
        }
    }

    /// A payload as a hostile writer makes it.
    fn payload(length: u32, digits: u32, low: u64, high: u64, counts: &[u8]) -> Vec<u8> {
        let mut bytes = 0x1c84_9313_u32.to_be_bytes().to_vec();
        for field in [length, 0, digits] {
            bytes.extend(field.to_be_bytes());
        }
        bytes.extend(low.to_be_bytes());
        bytes.extend(high.to_be_bytes());
        bytes.extend(1_f64.to_be_bytes());
        bytes.extend(counts);
        bytes
    }

    fn deflated(payload: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        packed.write_all(payload).unwrap();
        let packed = packed.finish().unwrap();
        let mut bytes = 0x1c84_9314_u32.to_be_bytes().to_vec();
        bytes.extend(u32::try_from(packed.len()).unwrap().to_be_bytes());
        bytes.extend(packed);
        bytes
    }

    #[test]
    fn no_length_is_believed_before_the_bytes_have_come() {
        let read = |bytes: Vec<u8>| read(&bytes);
        // 4 GiB of counts are said, and none is there.
        let said = read(payload(u32::MAX, 3, 1, 1 << 40, &[])).unwrap_err();
        assert!(matches!(said, ReadHistogramError::Read(_)), "{said}");
        let said = read(deflated(&payload(u32::MAX, 3, 1, 1 << 40, &[2; 8]))).unwrap_err();
        assert!(matches!(said, ReadHistogramError::Read(_)), "{said}");
        // As many as said, and more than there are buckets: a kilobyte that unpacks to a megabyte.
        let many = vec![0; 1 << 20];
        let said = read(deflated(&payload(1 << 20, 3, 1, 1 << 40, &many))).unwrap_err();
        assert!(matches!(said, ReadHistogramError::Decode { .. }), "{said}");
        // Counts whose sum no number holds.
        let mut most = vec![0xff; 8];
        most.push(0x7f);
        let sum = [&most[..], &most, &most].concat();
        let said = read(payload(
            u32::try_from(sum.len()).unwrap(),
            3,
            1,
            1 << 40,
            &sum,
        ))
        .unwrap_err();
        assert!(matches!(said, ReadHistogramError::Decode { .. }), "{said}");
        for (digits, low, high) in [(6, 1, 9), (3, 1, 1), (3, 1, 0), (3, 0, 9), (u32::MAX, 1, 9)] {
            let said = read(payload(0, digits, low, high, &[]));
            assert!(said.is_err(), "{digits} {low} {high}");
        }
    }

    #[test]
    fn a_log_unpacks_to_no_more_than_was_allowed() {
        let line = |n: usize| {
            let encoded = BASE64.encode(deflated(&payload(0, 3, 1, u64::MAX, &[])));
            format!("Tag={n},0.000,1.000,0,{encoded}\n")
        };
        let log: String = (0..100).map(line).collect();
        let within = |entries, bytes| {
            read_hlog_within(&mut log.as_bytes(), HlogLimits { entries, bytes })
                .map(|log| log.entries.len())
        };
        assert_eq!(within(100, 64 << 20).unwrap(), 100);
        let said = within(99, 64 << 20).unwrap_err().to_string();
        assert_eq!(said, "more than 99 histograms, the limit");
        let said = within(100, 4 << 20).unwrap_err().to_string();
        assert!(
            said.starts_with("more than 4194304 bytes of histograms"),
            "{said}"
        );
    }

    #[test]
    fn coarser_histograms_are_refused() {
        let hdr = Histogram::<u64>::new_with_bounds(1, 1 << 30, 2).unwrap();
        let error = read(&plain(&hdr)).unwrap_err();
        assert!(matches!(
            error,
            ReadHistogramError::Coarse { digits: 2, unit: 1 }
        ));
    }
}
