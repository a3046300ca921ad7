// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Parquet, with zstd, in row groups of a fixed number of samples.
//!
//! Parquet's physical integers are signed; the logical types say that these are not.

use std::error::Error as StdError;
use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use punctual_model::ThreadSample;

use super::{Columns as KnownColumns, ExportError};

/// Samples in a row group. All that is held in memory: about 24 bytes each, and their pages.
const ROW_GROUP: usize = 1 << 18;

/// Writes the columns `thread`, `cpu` (u32), `t_ns` and `latency_ns` (u64), and returns the number
/// of samples. Of instruction counts the metadata of the file say `time`: `virtual`.
///
/// # Errors
/// [`ExportError::Samples`] if the samples end in an error, [`ExportError::Parquet`].
pub fn parquet_samples<E: StdError>(
    samples: impl IntoIterator<Item = Result<ThreadSample, E>>,
    known: KnownColumns,
    out: &mut (dyn Write + Send),
) -> Result<u64, ExportError<E>> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(concat!("punctual ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(
            known
                .counted
                .then(|| vec![KeyValue::new("time".to_owned(), "virtual".to_owned())]),
        )
        .build();
    let mut file = SerializedFileWriter::new(out, schema(known)?, Arc::new(properties))?;
    let mut columns = Columns::default();
    let mut count = 0;
    for sample in samples {
        columns.push(&sample.map_err(ExportError::Samples)?);
        count += 1;
        if columns.thread.len() == ROW_GROUP {
            columns.write(known, file.next_row_group()?)?;
        }
    }
    if !columns.thread.is_empty() {
        columns.write(known, file.next_row_group()?)?;
    }
    file.close()?;
    Ok(count)
}

fn schema(known: KnownColumns) -> Result<TypePtr, ParquetError> {
    let unsigned = |name, physical, bit_width| {
        let column = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(Some(LogicalType::integer(bit_width, false)))
            .build()?;
        Ok::<_, ParquetError>(Arc::new(column))
    };
    let mut columns = vec![
        unsigned("thread", PhysicalType::INT32, 32)?,
        unsigned("cpu", PhysicalType::INT32, 32)?,
        unsigned("t_ns", PhysicalType::INT64, 64)?,
        unsigned("latency_ns", PhysicalType::INT64, 64)?,
    ];
    if !known.time {
        columns.remove(2);
    }
    if !known.cpu {
        columns.remove(1);
    }
    Ok(Arc::new(
        Type::group_type_builder("samples")
            .with_fields(columns)
            .build()?,
    ))
}

/// The samples of one row group, column by column, with the bits that Parquet wants.
#[derive(Default)]
struct Columns {
    thread: Vec<i32>,
    cpu: Vec<i32>,
    t_ns: Vec<i64>,
    latency_ns: Vec<i64>,
}

impl Columns {
    fn push(&mut self, sample: &ThreadSample) {
        self.thread.push(sample.thread.cast_signed());
        self.cpu.push(sample.cpu.cast_signed());
        self.t_ns.push(sample.t_ns.cast_signed());
        self.latency_ns.push(sample.latency_ns.cast_signed());
    }

    fn write<W: Write + Send>(
        &mut self,
        known: KnownColumns,
        mut group: SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        write_column::<Int32Type, _>(&mut group, &mut self.thread)?;
        if known.cpu {
            write_column::<Int32Type, _>(&mut group, &mut self.cpu)?;
        }
        if known.time {
            write_column::<Int64Type, _>(&mut group, &mut self.t_ns)?;
        }
        self.cpu.clear();
        self.t_ns.clear();
        write_column::<Int64Type, _>(&mut group, &mut self.latency_ns)?;
        group.close()?;
        Ok(())
    }
}

fn write_column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &mut Vec<T::T>,
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General(
            "the schema has fewer columns".to_owned(),
        ));
    };
    column.typed::<T>().write_batch(values, None, None)?;
    values.clear();
    column.close()
}
