// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! JSON.

use std::error::Error as StdError;
use std::io::{self, Write};

use punctual_model::{RunRecord, ThreadSample, json};

use super::{Columns, ExportError};

/// Writes one array with one object a sample, a line each, and returns their number.
///
/// # Errors
/// [`ExportError::Samples`] if the samples end in an error, [`ExportError::Write`].
pub fn json_samples<E: StdError>(
    samples: impl IntoIterator<Item = Result<ThreadSample, E>>,
    columns: Columns,
    out: &mut dyn Write,
) -> Result<u64, ExportError<E>> {
    let mut out = io::BufWriter::new(out);
    let mut count = 0;
    out.write_all(b"[")?;
    for sample in samples {
        let ThreadSample {
            thread,
            cpu,
            t_ns,
            latency_ns,
        } = sample.map_err(ExportError::Samples)?;
        let comma = if count == 0 { "" } else { "," };
        let or_null = |known: bool, n: u64| {
            known
                .then_some(n)
                .map_or_else(|| "null".to_owned(), |n| n.to_string())
        };
        let (cpu, t_ns) = (
            or_null(columns.cpu, cpu.into()),
            or_null(columns.time, t_ns),
        );
        let mark = match columns.counted {
            true => ",\"time\":\"virtual\"",
            false => "",
        };
        write!(
            out,
            "{comma}\n{{\"thread\":{thread},\"cpu\":{cpu},\"t_ns\":{t_ns},\"latency_ns\":{latency_ns}{mark}}}"
        )?;
        count += 1;
    }
    out.write_all(b"\n]\n")?;
    out.flush()?;
    Ok(count)
}

/// Writes the record as run.json has it.
///
/// # Errors
/// What the output says.
pub fn json_run(run: &RunRecord, out: &mut dyn Write) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    out.write_all(&json::indented(run)?)?;
    out.write_all(b"\n")?;
    out.flush()
}
