// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The content of `samples.zst`: a header, records of one size, and an end that counts them.
//!
//! docs/formats/samples.md has the layout. All numbers are little-endian.

use std::io::{self, BufWriter, Read, Write};

use punctual_model::Sample;

/// First bytes of the stream.
pub(crate) const MAGIC: [u8; 8] = *b"PNCTSMPL";
/// Version of the layout.
pub(crate) const VERSION: u16 = 1;
/// Bytes in the header: magic, version, record size, reserved.
pub(crate) const HEADER: usize = 16;
/// Bytes in a record.
pub(crate) const RECORD: usize = 28;
/// The thread number of the record that ends the stream.
pub(crate) const END_OF_SAMPLES: u32 = u32::MAX;

/// Writes samples to a stream.
#[derive(Debug)]
pub(crate) struct SampleWriter<W: Write> {
    // A call into zstd for each record costs more than the record.
    out: BufWriter<W>,
    count: u64,
}

impl<W: Write> SampleWriter<W> {
    /// Writes the header.
    pub(crate) fn new(out: W) -> io::Result<Self> {
        let mut out = BufWriter::with_capacity(64 << 10, out);
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&MAGIC);
        header[8..10].copy_from_slice(&VERSION.to_le_bytes());
        header[10..12].copy_from_slice(&28_u16.to_le_bytes());
        out.write_all(&header)?;
        Ok(Self { out, count: 0 })
    }

    /// Writes one sample. The thread is not [`END_OF_SAMPLES`].
    pub(crate) fn push(&mut self, thread: u32, sample: &Sample) -> io::Result<()> {
        self.out.write_all(&encode(thread, sample))?;
        self.count += 1;
        Ok(())
    }

    /// Writes the end and returns the stream.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        let end = Sample {
            t_ns: self.count,
            latency_ns: !self.count,
            cpu: u32::MAX,
            skipped: u32::MAX,
        };
        self.out.write_all(&encode(END_OF_SAMPLES, &end))?;
        self.out
            .into_inner()
            .map_err(io::IntoInnerError::into_error)
    }
}

fn encode(thread: u32, sample: &Sample) -> [u8; RECORD] {
    let mut bytes = [0; RECORD];
    bytes[..4].copy_from_slice(&thread.to_le_bytes());
    bytes[4..8].copy_from_slice(&sample.cpu.to_le_bytes());
    bytes[8..12].copy_from_slice(&sample.skipped.to_le_bytes());
    bytes[12..20].copy_from_slice(&sample.t_ns.to_le_bytes());
    bytes[20..28].copy_from_slice(&sample.latency_ns.to_le_bytes());
    bytes
}

/// Reads samples from a decompressed stream, in constant memory.
#[derive(Debug)]
pub(crate) struct SampleReader<R> {
    input: R,
    /// One record as it is in the file, which may be longer than those that we know.
    record: Vec<u8>,
    count: u64,
    /// The samples that there can be.
    most: u64,
    state: Reading,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Reading {
    Header,
    Records,
    Done,
}

impl<R: Read> SampleReader<R> {
    pub(crate) fn new(input: R, most: u64) -> Self {
        Self {
            input,
            record: Vec::new(),
            count: 0,
            most,
            state: Reading::Header,
        }
    }

    fn header(&mut self) -> Result<(), SamplesFault> {
        let mut header = [0; HEADER];
        self.input.read_exact(&mut header)?;
        if header[..8] != MAGIC {
            return Err(SamplesFault::Magic);
        }
        let version = u16_at(&header, 8);
        if version > VERSION {
            return Err(SamplesFault::Newer { version });
        }
        let size = usize::from(u16_at(&header, 10));
        if version == 0 || size < RECORD {
            return Err(SamplesFault::Header);
        }
        self.record = vec![0; size];
        Ok(())
    }

    fn record(&mut self) -> Result<Option<(u32, Sample)>, SamplesFault> {
        self.input.read_exact(&mut self.record)?;
        let bytes = &self.record;
        let thread = u32_at(bytes, 0);
        let sample = Sample {
            cpu: u32_at(bytes, 4),
            skipped: u32_at(bytes, 8),
            t_ns: u64_at(bytes, 12),
            latency_ns: u64_at(bytes, 20),
        };
        if thread != END_OF_SAMPLES {
            if self.count >= self.most {
                return Err(SamplesFault::TooMany { most: self.most });
            }
            self.count += 1;
            return Ok(Some((thread, sample)));
        }
        let (said, found) = (sample.t_ns, self.count);
        if said != found || sample.latency_ns != !said {
            return Err(SamplesFault::Count { said, found });
        }
        // Reading to the end makes zstd compare its checksum.
        match self.input.read(&mut [0])? {
            0 => Ok(None),
            _ => Err(SamplesFault::AfterEnd),
        }
    }
}

impl<R: Read> Iterator for SampleReader<R> {
    type Item = Result<(u32, Sample), SamplesFault>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = match self.state {
            Reading::Done => return None,
            Reading::Header => self.header().and_then(|()| self.record()),
            Reading::Records => self.record(),
        };
        self.state = match next {
            Ok(Some(_)) => Reading::Records,
            Ok(None) | Err(_) => Reading::Done,
        };
        next.transpose()
    }
}

/// What is wrong with the content of `samples.zst`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SamplesFault {
    /// The file ends before its end record, or before its checksum.
    #[error("the file is truncated")]
    Truncated,
    /// The stream does not begin as samples do.
    #[error("this is not a file of samples")]
    Magic,
    /// A newer program wrote it.
    #[error("its version is {version}; this program reads up to {VERSION}")]
    Newer {
        /// The version of the layout.
        version: u16,
    },
    /// The header makes no sense.
    #[error("its header is damaged")]
    Header,
    /// The end record does not agree with the records before it.
    #[error("its end announces {said} samples, but it has {found}")]
    Count {
        /// The number in the end record.
        said: u64,
        /// The number of records.
        found: u64,
    },
    /// There are more than the record of the run counts.
    #[error("it has more than {most} samples, the maximum according to the run's record")]
    TooMany {
        /// The number that there may be.
        most: u64,
    },
    /// There is more after the end record.
    #[error("data follow its end")]
    AfterEnd,
    /// It cannot be decompressed.
    #[error("it cannot be decompressed")]
    Compression(#[source] io::Error),
    /// The operating system refused to read it.
    #[error("it cannot be read")]
    Io(#[source] io::Error),
}

impl From<io::Error> for SamplesFault {
    fn from(err: io::Error) -> Self {
        if err.kind() == io::ErrorKind::UnexpectedEof {
            Self::Truncated
        } else if err.raw_os_error().is_some() {
            Self::Io(err)
        } else {
            Self::Compression(err)
        }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array_at(bytes, at))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array_at(bytes, at))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array_at(bytes, at))
}

/// Returns `N` bytes; the callers' buffers are long enough, and zeros if they were not.
fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .copied()
        .unwrap_or([0; N])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Read = Result<Vec<(u32, Sample)>, SamplesFault>;

    fn write(samples: &[(u32, Sample)]) -> Vec<u8> {
        let mut writer = SampleWriter::new(Vec::new()).unwrap();
        for (thread, sample) in samples {
            writer.push(*thread, sample).unwrap();
        }
        writer.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> Read {
        SampleReader::new(bytes, u64::MAX).collect()
    }

    fn sample() -> impl Strategy<Value = (u32, Sample)> {
        (0..u32::MAX, any::<(u64, u64, u32, u32)>()).prop_map(
            |(thread, (t_ns, latency_ns, cpu, skipped))| {
                let sample = Sample {
                    t_ns,
                    latency_ns,
                    cpu,
                    skipped,
                };
                (thread, sample)
            },
        )
    }

    proptest! {
        #[test]
        fn samples_round_trip(samples in proptest::collection::vec(sample(), 0..50)) {
            prop_assert_eq!(read(&write(&samples)).unwrap(), samples);
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut file = write(&[])[..HEADER].to_vec();
            file.extend(bytes);
            drop(read(&file));
        }
    }

    #[test]
    fn every_cut_is_noticed() {
        let whole = write(&[(0, Sample::default()), (1, Sample::default())]);
        assert_eq!(whole.len(), HEADER + 3 * RECORD);
        for cut in 0..whole.len() {
            let err = read(&whole[..cut]).unwrap_err();
            assert!(matches!(err, SamplesFault::Truncated), "{cut}: {err}");
        }
    }

    #[test]
    fn damage_is_named() {
        let whole = write(&[(0, Sample::default())]);
        let damaged = |at: usize, byte: u8| {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            read(&bytes).unwrap_err()
        };
        assert!(matches!(damaged(0, b'x'), SamplesFault::Magic));
        assert!(matches!(damaged(8, 2), SamplesFault::Newer { version: 2 }));
        assert!(matches!(damaged(8, 0), SamplesFault::Header));
        assert!(matches!(damaged(10, 27), SamplesFault::Header));
        let count = damaged(HEADER + RECORD + 12, 9);
        assert!(matches!(count, SamplesFault::Count { said: 9, found: 1 }));
        let mut longer = whole.clone();
        longer.push(0);
        let err = read(&longer).unwrap_err();
        assert!(matches!(err, SamplesFault::AfterEnd));
    }

    #[test]
    fn more_samples_than_were_counted_are_not_read() {
        let whole = write(&[(0, Sample::default()), (1, Sample::default())]);
        for (most, fits) in [(1, false), (2, true), (3, true)] {
            let read: Read = SampleReader::new(&whole[..], most).collect();
            assert_eq!(read.is_ok(), fits, "{most}");
        }
        let mut reader = SampleReader::new(&whole[..], 1);
        assert!(reader.next().is_some_and(|first| first.is_ok()));
        let next = reader.next().unwrap().unwrap_err();
        assert!(matches!(next, SamplesFault::TooMany { most: 1 }), "{next}");
        assert!(reader.next().is_none());
    }

    #[test]
    fn longer_records_of_a_later_program_are_read() {
        let mut bytes = write(&[])[..HEADER].to_vec();
        bytes[10] = 32;
        let sample = Sample {
            t_ns: 7,
            ..Sample::default()
        };
        bytes.extend(encode(3, &sample));
        bytes.extend([9; 4]);
        let end = Sample {
            t_ns: 1,
            latency_ns: !1,
            ..Sample::default()
        };
        bytes.extend(encode(END_OF_SAMPLES, &end));
        bytes.extend([9; 4]);
        assert_eq!(read(&bytes).unwrap(), [(3, sample)]);
    }
}
