// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The content of `samples.zst`: a header, records of one size, and an end that counts them.
//!
//! docs/formats/samples.md has the layout. All numbers are little-endian.

use std::io::{self, BufWriter, Write};

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
