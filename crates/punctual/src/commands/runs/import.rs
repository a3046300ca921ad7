// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual runs import`.

use std::error::Error as StdError;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::iter::successors;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use punctual_model::{IMPORT_LIST_FORMAT, ImportList, ImportListEntry, Sample};
use punctual_peers::{
    DETECT_BYTES, Format, ImportError, Imported, Labels, SampleSink, Unit, detect,
};
use punctual_stats::{TaggedHistogram, write_hlog};
use punctual_store::{Raw, RunWriter, Store};
use punctual_verdict::words::clean;
use uuid::Uuid;

use crate::cli::ImportArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, print};
use crate::recording::{BUCKET_TABLE, HISTOGRAM_LOG, SPIKE_TABLE};

/// Imports each file into a run of its own. One that fails imports nothing and stops no other.
pub(super) fn run(home: &Path, args: &ImportArgs) -> Result<Exit, CliError> {
    let store = Store::open(home)?;
    let mut entries = Vec::new();
    let mut failed = false;
    for file in &args.files {
        let mut entry = ImportListEntry {
            file: file.display().to_string(),
            id: None,
            source_format: args.format.map(|format| format.name().to_owned()),
            failed: None,
        };
        match one(&store, file, args) {
            Ok((id, format)) => {
                if !args.json {
                    print(&format!("{id}  {}  {format}\n", clean(&entry.file)))?;
                }
                entry.id = Some(id.to_string());
                entry.source_format = Some(format.name().to_owned());
            }
            Err(err) => {
                failed = true;
                err.print();
                entry.failed = Some(err.reason());
            }
        }
        entries.push(entry);
    }
    if args.json {
        let list = ImportList {
            format: IMPORT_LIST_FORMAT.to_owned(),
            files: entries,
        };
        output::json(&list)?;
    }
    Ok(if failed { Exit::Failed } else { Exit::Fine })
}

fn one(store: &Store, file: &Path, args: &ImportArgs) -> Result<(Uuid, Format), CliError> {
    let failed = |err: ImportError| {
        let hint = err.hint();
        let error = CliError::failed_to(format!("import {}", file.display()));
        // What the store says of itself is clearer than that it was listening.
        let error = match err {
            ImportError::Sink(source) => error.because(source),
            other => error.because(other),
        };
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    };
    let read = |err: io::Error| failed(err.into());
    let input: Box<dyn Read> = if file == Path::new("-") {
        Box::new(io::stdin())
    } else {
        let opened = File::open(file).map_err(read)?;
        let kind = opened.metadata().map_err(read)?.file_type();
        if kind.is_char_device() || kind.is_block_device() {
            return Err(read(io::Error::other("it is a device, not a file")));
        }
        Box::new(opened)
    };
    // The head is looked at, then read again.
    let mut input = BufReader::with_capacity(256 << 10, input);
    let mut head = Vec::new();
    (&mut input)
        .take(DETECT_BYTES as u64)
        .read_to_end(&mut head)
        .map_err(read)?;
    let format = args.format.or_else(|| detect(&head));
    let format = format.ok_or_else(|| failed(ImportError::UnknownFormat))?;
    let whole = BufReader::with_capacity(256 << 10, io::Cursor::new(head).chain(input));

    let id = Uuid::now_v7();
    let raw = match format {
        Format::CyclictestLog | Format::JitterdebuggerRaw => Raw::Keep,
        _ => Raw::Drop,
    };
    let mut keeper = SampleStore(store.begin(id, raw)?);
    let imported = read_all(whole, format, args.unit, &mut keeper).map_err(failed)?;
    let record = imported
        .record(Labels {
            id: id.to_string(),
            file: file.display().to_string(),
            program: concat!("punctual ", env!("CARGO_PKG_VERSION")).to_owned(),
            name: args.name.clone(),
            note: args.note.clone(),
            tags: crate::cli::tags(&args.tag),
        })
        .map_err(failed)?;
    let mut writer = keeper.0;
    if let Some(table) = imported.bucket_table() {
        writer.artifact(BUCKET_TABLE, table.as_bytes())?;
        writer.artifact(HISTOGRAM_LOG, &histogram_log(&imported))?;
    }
    if let Some(table) = imported.spike_table() {
        writer.artifact(SPIKE_TABLE, table.as_bytes())?;
    }
    writer.finish(&record)?;
    Ok((id, imported.format))
}

fn read_all(
    input: impl BufRead,
    format: Format,
    unit: Option<Unit>,
    keeper: &mut SampleStore,
) -> Result<Imported, ImportError> {
    punctual_peers::import(input, format, unit, keeper)
}

fn histogram_log(imported: &Imported) -> Vec<u8> {
    let duration = imported.duration.map_or(Duration::ZERO, Duration::from);
    // One after the other: those of thousands of threads would not fit into memory.
    let entries = imported
        .histograms()
        .map(|(thread, histogram)| TaggedHistogram {
            tag: Some(thread.to_string()),
            start: Duration::ZERO,
            duration,
            histogram,
        });
    let start = imported
        .started
        .as_deref()
        .and_then(|text| text.parse::<jiff::Timestamp>().ok())
        .map_or(SystemTime::UNIX_EPOCH, SystemTime::from);
    let mut log = Vec::new();
    // Memory takes everything, and these tags are sound.
    drop(write_hlog(&mut log, start, entries));
    log
}

/// Gives the samples to the store.
struct SampleStore(RunWriter);

impl SampleSink for SampleStore {
    fn samples(
        &mut self,
        thread: u32,
        samples: &[Sample],
    ) -> Result<(), Box<dyn StdError + Send + Sync>> {
        Ok(self.0.samples(thread, samples)?)
    }
}

impl CliError {
    /// Returns the error and its causes in one line.
    fn reason(&self) -> String {
        let mut parts = vec![self.what().to_owned()];
        let causes = successors(self.cause(), |err: &&dyn StdError| (*err).source());
        parts.extend(causes.map(ToString::to_string));
        parts.dedup();
        parts.join(": ")
    }
}
