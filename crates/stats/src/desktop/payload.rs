// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Reading one HdrHistogram V2 payload, which may be somebody else's.
//!
//! A header of 40 bytes, big-endian: cookie, bytes of counts, offset 0, significant digits, lowest and
//! highest value, ratio 1.0. Then the counts of the buckets in ascending order as ZigZag LEB128 of at
//! most 9 bytes; a negative one is that number of buckets without a count. The deflated form is another cookie,
//! a length, and a zlib stream of all that. The formats are those of HdrHistogram's Java version,
//! `AbstractHistogram.encodeIntoByteBuffer`.

use std::io::{self, Bytes, Read};

use flate2::read::ZlibDecoder;

use crate::LatencyHistogram;
use crate::hdr_log::ReadHistogramError;
use crate::num::from_zig_zag;

const COOKIE: u32 = 0x1c84_9313;
const DEFLATED_COOKIE: u32 = 0x1c84_9314;

/// More values than any run has, and few enough that sums of them fit.
const MOST_VALUES: u64 = 1 << 56;

/// What all payloads together may still take.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    left: u64,
}

impl Budget {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, left: limit }
    }

    fn take(&mut self, bytes: u64) -> Result<(), ReadHistogramError> {
        self.left = self
            .left
            .checked_sub(bytes)
            .ok_or(ReadHistogramError::Limit {
                what: "bytes of histograms",
                limit: self.limit,
            })?;
        Ok(())
    }
}

/// Reads a payload, plain or deflated.
pub(crate) fn read(
    reader: &mut impl Read,
    budget: &mut Budget,
) -> Result<LatencyHistogram, ReadHistogramError> {
    match u32::from_be_bytes(array(reader)?) {
        COOKIE => plain(reader, budget),
        DEFLATED_COOKIE => {
            let length = u32::from_be_bytes(array(reader)?);
            let mut inside = ZlibDecoder::new(reader.take(length.into()));
            match u32::from_be_bytes(array(&mut inside)?) {
                COOKIE => plain(&mut inside, budget),
                _ => Err(malformed("it holds no compressed V2 histogram")),
            }
        }
        _ => Err(malformed("it does not begin like a V2 histogram")),
    }
}

fn plain(
    reader: &mut impl Read,
    budget: &mut Budget,
) -> Result<LatencyHistogram, ReadHistogramError> {
    let length = u32::from_be_bytes(array(reader)?);
    if u32::from_be_bytes(array(reader)?) != 0 {
        return Err(malformed("its counts are shifted"));
    }
    let digits = u32::from_be_bytes(array(reader)?);
    let (low, high) = (
        u64::from_be_bytes(array(reader)?),
        u64::from_be_bytes(array(reader)?),
    );
    // Bit by bit: what is not 1 is not supported, nearly 1 neither.
    if f64::from_be_bytes(array(reader)?).to_bits() != 1_f64.to_bits() {
        return Err(malformed("its values are scaled"));
    }
    let grid = Grid::new(digits, low, high)?;
    budget.take(LatencyHistogram::bytes_for(high))?;
    let mut histogram = LatencyHistogram::new(high);
    let mut extremes: Option<(u64, u64)> = None;
    let mut counts = Counts {
        bytes: io::BufReader::new(reader.take(length.into())).bytes(),
        read: 0,
    };
    let mut bucket = 0_u64;
    while let Some(count) = counts.next()? {
        match u64::try_from(count) {
            Ok(0) => bucket += 1,
            Ok(count) => {
                let (from, to) = grid.bounds(bucket)?;
                if count > MOST_VALUES - histogram.count() {
                    return Err(malformed("it has more values than can be counted"));
                }
                histogram.record_n(from.min(high), count);
                extremes = Some((extremes.map_or(from, |(min, _)| min), to));
                bucket += 1;
            }
            Err(_) => bucket = bucket.saturating_add(count.unsigned_abs()),
        }
        if bucket > grid.buckets {
            return Err(malformed("it has more buckets than its range allows"));
        }
    }
    // Counts that were unpacked are paid for too: they take time.
    budget.take(counts.read)?;
    if counts.read < length.into() {
        return Err(ReadHistogramError::Read(
            io::ErrorKind::UnexpectedEof.into(),
        ));
    }
    Ok(match extremes {
        Some((min, max)) => histogram.with_extremes(min, max),
        None => histogram,
    })
}

/// The buckets of a payload: as many of one value each as two digits more than asked for need, in powers
/// of two, and half as many for each power of two above.
struct Grid {
    /// Half of the buckets of one value, as a power of two.
    half: u32,
    buckets: u64,
}

impl Grid {
    fn new(digits: u32, low: u64, high: u64) -> Result<Self, ReadHistogramError> {
        let half = match digits {
            0..=2 => {
                return Err(ReadHistogramError::Coarse {
                    digits: u8::try_from(digits).unwrap_or_default(),
                    unit: low,
                });
            }
            3 => 10,
            4 => 14,
            5 => 17,
            _ => return Err(malformed("it has more than 5 significant digits")),
        };
        if low != 1 {
            return Err(ReadHistogramError::Coarse {
                digits: u8::try_from(digits).unwrap_or_default(),
                unit: low,
            });
        }
        if high < 2 {
            return Err(malformed("its range ends before it begins"));
        }
        let powers = (u64::BITS - high.leading_zeros()).saturating_sub(half + 1);
        Ok(Self {
            half,
            buckets: u64::from(powers + 2) << half,
        })
    }

    /// Returns the lowest and the highest value of a bucket.
    fn bounds(&self, bucket: u64) -> Result<(u64, u64), ReadHistogramError> {
        if bucket >= self.buckets {
            return Err(malformed("it has more buckets than its range allows"));
        }
        let shift = (bucket >> self.half).saturating_sub(1);
        let from = (bucket - (shift << self.half)) << shift;
        Ok((from, from + ((1 << shift) - 1)))
    }
}

/// The numbers of a payload.
struct Counts<R> {
    bytes: Bytes<R>,
    read: u64,
}

impl<R: Read> Counts<R> {
    fn next(&mut self) -> Result<Option<i64>, ReadHistogramError> {
        let Some(mut byte) = self.byte()? else {
            return Ok(None);
        };
        let mut coded = u64::from(byte & 0x7f);
        // The ninth byte has eight bits of the number.
        for at in 1..=8 {
            if byte & 0x80 == 0 {
                break;
            }
            byte = self
                .byte()?
                .ok_or_else(|| ReadHistogramError::Read(io::ErrorKind::UnexpectedEof.into()))?;
            let bits = if at == 8 { byte } else { byte & 0x7f };
            coded |= u64::from(bits) << (7 * at);
        }
        Ok(Some(from_zig_zag(coded)))
    }

    fn byte(&mut self) -> Result<Option<u8>, ReadHistogramError> {
        let byte = self.bytes.next().transpose();
        let byte = byte.map_err(ReadHistogramError::Read)?;
        self.read += u64::from(byte.is_some());
        Ok(byte)
    }
}

fn array<const N: usize>(reader: &mut impl Read) -> Result<[u8; N], ReadHistogramError> {
    let mut bytes = [0; N];
    reader
        .read_exact(&mut bytes)
        .map_err(ReadHistogramError::Read)?;
    Ok(bytes)
}

fn malformed(reason: &str) -> ReadHistogramError {
    ReadHistogramError::Decode {
        reason: reason.to_owned(),
    }
}
