// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual runs import`.

mod dates;

use std::error::Error as StdError;
use std::fs::{DirEntry, File};
use std::io::{self, BufReader, Read};
use std::iter::successors;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use punctual_model::{DateOrigin, IMPORT_LIST_FORMAT, ImportList, ImportListEntry, Sample};
use punctual_peers::{DETECT_BYTES, Format, ImportError, Imported, Labels, SampleSink, detect};
use punctual_stats::{TaggedHistogram, write_hlog};
use punctual_store::{
    AdoptError, Raw, RunWriter, Store, StoredRun, archive, is_leftover, is_run_name,
};
use punctual_sys::random;
use punctual_verdict::words::{clean, plural};

use crate::cli::ImportArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, print, remark};
use crate::recording::{BUCKET_TABLE, HISTOGRAM_LOG, SPIKE_TABLE, new_id};

/// Imports each file into a run of its own, and whole runs as they are. A file or a run that fails imports nothing and stops
/// no other.
pub(super) fn run(home: &Path, args: &ImportArgs) -> Result<Exit, CliError> {
    let store = Store::open(home)?;
    let mut entries = Vec::new();
    let mut failed = false;
    let mut dates: Vec<(DateOrigin, usize)> = Vec::new();
    for (file, is_named) in expanded(&args.files)? {
        let entry = ImportListEntry {
            file: file.display().to_string(),
            id: None,
            source_format: args.format.map(|format| format.name().to_owned()),
            failed: None,
            started: None,
            started_from: None,
        };
        let runs = taken(&store, &file, args).unwrap_or_else(|err| vec![Err(err)]);
        for run in runs {
            let run = match run {
                Ok(run) => run,
                Err(err) => {
                    let reason = err.reason();
                    if !is_named && err.is_unknown_format() {
                        // A directory of results has a README in it, too.
                        remark(&format!("Skipped {}: {reason}", clean(&entry.file)));
                    } else {
                        failed = true;
                        err.print();
                    }
                    entries.push(ImportListEntry {
                        failed: Some(reason),
                        ..entry.clone()
                    });
                    continue;
                }
            };
            if !args.json {
                print(&format!(
                    "{}  {}  {}\n",
                    run.id,
                    clean(&entry.file),
                    run.format
                ))?;
            }
            if let Some(from) = run.started_from {
                match dates.iter_mut().find(|(known, _)| *known == from) {
                    Some((_, count)) => *count += 1,
                    None => dates.push((from, 1)),
                }
            }
            entries.push(ImportListEntry {
                id: Some(run.id),
                source_format: Some(run.format.to_owned()),
                started: run.started,
                started_from: run.started_from,
                ..entry.clone()
            });
        }
    }
    let none = entries.iter().all(|entry| entry.id.is_none());
    if !args.date_from.is_empty() || dates.len() > 1 {
        say_dates(&entries, &dates);
    }
    if args.json {
        let list = ImportList {
            format: IMPORT_LIST_FORMAT.to_owned(),
            files: entries,
        };
        output::json(&list)?;
    }
    Ok(if failed || none {
        Exit::Failed
    } else {
        Exit::Fine
    })
}

/// The format of a run of our own, whole.
const WHOLE: &str = "punctual-run";

/// What became of each run of a file.
type Taken = Vec<Result<Kept, CliError>>;

/// Takes what a file or directory has, with the ids and formats of its runs. Where it fails as a whole, none was taken.
fn taken(store: &Store, file: &Path, args: &ImportArgs) -> Result<Taken, CliError> {
    let failed = || CliError::failed_to(format!("import {}", file.display()));
    if file == Path::new("-") {
        // The head is looked at, then read again.
        let mut head = Vec::new();
        let read = io::stdin().take(HEAD).read_to_end(&mut head);
        read.map_err(|err| failed().because(err))?;
        let is_archive = args.format.is_none() && archive::is_archive(&head);
        let input = io::Cursor::new(head).chain(io::stdin());
        return match is_archive {
            true => unpacked(store, file, input, args).map_err(|err| failed().because(err)),
            false => Ok(vec![one(store, file, Box::new(input), args)]),
        };
    }
    if args.format.is_none() {
        if file.is_dir() {
            return adopted(store, file, file, args).map_err(|err| failed().because(err));
        }
        if begins_an_archive(file) {
            let input = File::open(file).map_err(|err| failed().because(err))?;
            return unpacked(store, file, input, args).map_err(|err| failed().because(err));
        }
    }
    let opened = File::open(file).and_then(|opened| {
        let kind = opened.metadata()?.file_type();
        match kind.is_char_device() || kind.is_block_device() {
            true => Err(io::Error::other("it is a device, not a file")),
            false => Ok(opened),
        }
    });
    let opened = opened.map_err(|err| import_failed(file, err.into()))?;
    Ok(vec![one(store, file, Box::new(opened), args)])
}

/// Bytes that say whether a file is an archive.
const HEAD: u64 = 512;

fn begins_an_archive(file: &Path) -> bool {
    let is_file = std::fs::metadata(file).is_ok_and(|meta| meta.is_file());
    let mut head = Vec::new();
    let read = || File::open(file)?.take(HEAD).read_to_end(&mut head);
    is_file && { read }().is_ok() && archive::is_archive(&head)
}

type Reason = Box<dyn StdError + Send + Sync>;

/// Unpacks an archive of whole runs in the store, which has the room, and takes them.
fn unpacked(
    store: &Store,
    file: &Path,
    input: impl Read,
    args: &ImportArgs,
) -> Result<Taken, Reason> {
    let place = store.scratch(random::id()?)?;
    let input = BufReader::with_capacity(256 << 10, input);
    archive::unpack(input, place.dir())?;
    adopted(store, file, place.dir().path(), args)
}

/// Takes the whole runs in a directory, which came as `file`: one, those of a store, or those of an archive. One that cannot be
/// read, or that the store cannot take, stops none of the others.
fn adopted(store: &Store, file: &Path, dir: &Path, args: &ImportArgs) -> Result<Taken, Reason> {
    if args.name.is_some() || args.note.is_some() || args.unit.is_some() {
        return Err("a whole run keeps its name, note and units; --tag adds to it".into());
    }
    let tags = crate::cli::tags(&args.tag);
    let adopt = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default();
        let mut id = name.to_string_lossy().into_owned();
        let adopted = StoredRun::open(&path).map_err(AdoptError::from);
        let adopted = adopted.and_then(|run| {
            id.clone_from(&run.record().id);
            store.adopt(&run, &tags)
        });
        let failed = |err| not_adopted(file, &id).because(err);
        adopted.map_err(failed).map(|_| Kept {
            id: id.clone(),
            format: WHOLE,
            started: None,
            started_from: None,
        })
    };
    Ok(whole_runs(dir)?.into_iter().map(adopt).collect())
}

/// The directories of the whole runs in one: itself, or those of a store or of what an archive had.
fn whole_runs(dir: &Path) -> Result<Vec<PathBuf>, Reason> {
    if is_run(dir) {
        return Ok(vec![dir.to_owned()]);
    }
    let inside = match is_store(dir) {
        true => dir.join("runs"),
        false => dir.to_owned(),
    };
    let entries = inside.read_dir()?.collect::<io::Result<Vec<_>>>()?;
    let named = |entry: &DirEntry| entry.file_name().to_str().is_some_and(is_run_name);
    let mut runs: Vec<PathBuf> = entries
        .iter()
        .filter(|e| named(e))
        .map(DirEntry::path)
        .collect();
    runs.sort_unstable();
    match runs.is_empty() {
        true => Err("no run in it".into()),
        false => Ok(runs),
    }
}

fn is_run(dir: &Path) -> bool {
    dir.join("run.json").is_file()
}

fn is_store(dir: &Path) -> bool {
    dir.join("store.json").is_file()
}

/// The error of one run among others. Its id comes from elsewhere, so it is cut.
fn not_adopted(file: &Path, id: &str) -> CliError {
    let id: String = id.chars().take(100).collect();
    CliError::failed_to(format!("import run {id} of {}", file.display()))
}

/// Where the dates of the runs are from.
fn say_dates(entries: &[ImportListEntry], dates: &[(DateOrigin, usize)]) {
    let imported = entries.iter().filter(|entry| entry.id.is_some()).count();
    if imported == 0 {
        return;
    }
    let dated: usize = dates.iter().map(|(_, count)| count).sum();
    let mut parts: Vec<String> = dates
        .iter()
        .map(|(from, count)| {
            let from = match from {
                DateOrigin::Content => "from the file",
                DateOrigin::ContentAsUtc => "from the file, without a time zone, taken as UTC",
                DateOrigin::Name => "from the name",
                DateOrigin::Mtime => "from the modification time, which copying may have changed",
            };
            format!("{count} {from}")
        })
        .collect();
    if dated < imported {
        parts.push(format!("{} have none", imported - dated));
    }
    remark(&format!(
        "Dates of {imported} run{}: {}.",
        plural(imported),
        parts.join("; ")
    ));
}

/// The files that were named, and those in directories that were: each with whether it was named itself. A run of our own, and
/// a store, is one of them.
fn expanded(named: &[PathBuf]) -> Result<Vec<(PathBuf, bool)>, CliError> {
    /// Deeper than results are kept, and an end where a directory is in itself.
    const DEEPEST: usize = 32;
    fn inside(dir: &Path, depth: usize, into: &mut Vec<(PathBuf, bool)>) -> io::Result<()> {
        let entries = dir.read_dir()?.collect::<io::Result<Vec<_>>>()?;
        let mut paths: Vec<PathBuf> = entries.iter().map(std::fs::DirEntry::path).collect();
        paths.sort_unstable();
        for path in paths {
            // A link may lead back, a pipe has no end, and neither is a result of a tool.
            let skipped = match (path.is_symlink(), path.metadata()) {
                (true, Ok(meta)) if meta.is_dir() => Some("a link to a directory"),
                (_, Ok(meta)) if !meta.is_dir() && !meta.is_file() => Some("not a regular file"),
                (_, Ok(meta)) if meta.is_dir() && is_leftover(&path) => Some("half of a run"),
                _ => None,
            };
            if let Some(why) = skipped {
                remark(&format!(
                    "Skipped {}: {why}",
                    clean(&path.display().to_string())
                ));
                continue;
            }
            match path.is_dir() && !is_run(&path) && !is_store(&path) {
                true if depth < DEEPEST => inside(&path, depth + 1, into)?,
                true => return Err(io::Error::other("directories are nested too deeply")),
                false => into.push((path, false)),
            }
        }
        Ok(())
    }
    let mut files = Vec::new();
    for path in named {
        if path.is_dir() && !is_run(path) && !is_store(path) {
            inside(path, 0, &mut files).map_err(|err| {
                CliError::failed_to(format!("read directory {}", path.display())).because(err)
            })?;
        } else {
            files.push((path.clone(), true));
        }
    }
    Ok(files)
}

/// What became of a file.
struct Kept {
    id: String,
    format: &'static str,
    started: Option<String>,
    started_from: Option<DateOrigin>,
}

fn import_failed(file: &Path, err: ImportError) -> CliError {
    let hint = err.hint();
    let error = CliError::failed_to(format!("import {}", file.display()));
    // What the store says of itself is clearer than that it was listening.
    let error = match err {
        ImportError::Sink(source) => error.because(source),
        other => error.because(other),
    };
    error.hints(hint)
}

fn one(
    store: &Store,
    file: &Path,
    input: Box<dyn Read>,
    args: &ImportArgs,
) -> Result<Kept, CliError> {
    let failed = |err: ImportError| import_failed(file, err);
    let read = |err: io::Error| failed(err.into());
    // The head is looked at, then read again.
    let mut input = BufReader::with_capacity(256 << 10, input);
    let mut head = Vec::new();
    (&mut input)
        .take(DETECT_BYTES as u64)
        .read_to_end(&mut head)
        .map_err(read)?;
    let format = args.format.or_else(|| detect(&head));
    let format = format.ok_or_else(|| failed(ImportError::no_format(&head)))?;
    let whole = BufReader::with_capacity(256 << 10, io::Cursor::new(head).chain(input));

    let id = new_id()?;
    let raw = match format {
        Format::CyclictestLog | Format::JitterdebuggerRaw => Raw::Keep,
        _ => Raw::Drop,
    };
    let mut keeper = SampleStore(store.begin(id, raw)?);
    let mut imported =
        punctual_peers::import(whole, format, args.unit, &mut keeper).map_err(failed)?;
    let started_from = dates::date(&mut imported, file, &args.date_from);
    let record = imported
        .record(Labels {
            id: id.to_string(),
            file: file.display().to_string(),
            program: concat!("punctual ", env!("CARGO_PKG_VERSION")).to_owned(),
            name: args.name.clone(),
            note: args.note.clone(),
            tags: crate::cli::tags(&args.tag),
            started_from,
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
    Ok(Kept {
        id: id.to_string(),
        format: imported.format.name(),
        started: record.started,
        started_from,
    })
}

fn histogram_log(imported: &Imported) -> Vec<u8> {
    let duration = imported.duration.map_or(Duration::ZERO, Duration::from);
    // One after the other: those of thousands of threads would not fit into memory.
    let entries = imported
        .histograms()
        .map(|(series, histogram)| TaggedHistogram {
            tag: Some(series.tag()),
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
    /// Whether the file is of no format that is read.
    fn is_unknown_format(&self) -> bool {
        let cause = self.cause().and_then(|cause| cause.downcast_ref());
        matches!(cause, Some(ImportError::UnknownFormat))
    }

    /// Returns the error and its causes in one line.
    fn reason(&self) -> String {
        let mut parts = vec![self.what().to_owned()];
        let causes = successors(self.cause(), |err: &&dyn StdError| (*err).source());
        parts.extend(causes.map(ToString::to_string));
        parts.dedup();
        parts.join(": ")
    }
}
