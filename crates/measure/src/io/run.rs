// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The instrument: a file, fio on it again and again, figures and checks.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::process::Command;

use punctual_model::{Better, Bytes, Check, Figure, Progress};
use punctual_sys::child::Bounds;
use punctual_sys::scratch::{self, ScratchFile};

use super::fio::{Output, Seen};
use super::workload::{Direction, Io};
use crate::error::MeasureError;
use crate::frame::{Found, Frame};
use crate::program::{Program, Threads};
use crate::repeats;

/// What is written at once while the file is made.
const PART: usize = 1 << 20;

/// How much of the file is written before that is on the disk, in bytes.
const SYNCED: u64 = 64 << 20;

/// Part of the free space that the file may take, in percent.
const SHARE: u64 = 90;

/// Everything observed.
#[derive(Debug, Default)]
struct Log {
    seen: BTreeMap<Direction, Vec<Seen>>,
    threads: Threads,
    version: Option<String>,
}

/// Measures with fio on the CPUs and with the policy of the frame's set-up.
///
/// # Errors
///
/// [`MeasureError::Unsupported`] without fio; fails when the file cannot be made and when fio fails.
pub fn run(what: &Io, frame: &mut Frame<'_>) -> Result<Found, MeasureError> {
    // Before the file is made: that may take long.
    let version = look_for_fio(frame)?;
    check_room(what)?;
    let file = make_file(what, frame)?;
    let mut log = Log {
        version,
        ..Log::default()
    };
    if let Some(file) = &file {
        let path = file.share().map_err(|err| cannot_make(what, &err))?;
        frame.prepared();
        rounds(what, frame, &path, &mut log)?;
    }
    let setup = frame.setup();
    let mut found = Found {
        ended: frame.ended(),
        figures: log.figures(),
        checks: vec![
            log.check(what),
            log.threads.check("fio", setup.priority, &setup.cpus),
        ],
        ..Found::default()
    };
    let file_system = scratch::file_system(frame.sys(), &what.directory);
    let facts = [("fio_version", log.version), ("file_system", file_system)];
    for (name, value) in facts {
        if let Some(value) = value {
            found.options.insert(name.to_owned(), value);
        }
    }
    Ok(found)
}

/// Returns the version of fio.
fn look_for_fio(frame: &mut Frame<'_>) -> Result<Option<String>, MeasureError> {
    let mut command = Command::new("fio");
    command.arg("--version");
    let hint = "install it (Debian, Ubuntu: apt-get install fio)";
    let mut program = Program::start("fio", &mut command, &Bounds::default(), hint)?;
    let lines = program.all(frame, Progress::default);
    Ok(lines.and_then(|lines| lines.into_iter().next()))
}

fn cannot_make(what: &Io, err: &io::Error) -> MeasureError {
    MeasureError::Spec {
        option: format!("--directory {}", what.directory.display()),
        reason: format!("cannot create a file of {} there: {err}", what.size),
    }
}

fn check_room(what: &Io) -> Result<(), MeasureError> {
    let free = scratch::free_space(&what.directory).map_err(|err| cannot_make(what, &err))?;
    if what.size.get() <= free.get() / 100 * SHARE {
        return Ok(());
    }
    let megabytes = |bytes: Bytes| bytes.get().div_ceil(1_000_000);
    Err(MeasureError::Spec {
        option: format!("--size {}", what.size),
        reason: format!(
            "needs {} MB, more than {SHARE} % of the {} MB free in {}",
            megabytes(what.size),
            megabytes(free),
            what.directory.display()
        ),
    })
}

/// Makes the file, full of numbers without a pattern; `None` where the run is to end first.
fn make_file(what: &Io, frame: &mut Frame<'_>) -> Result<Option<ScratchFile>, MeasureError> {
    let failed = |err: io::Error| cannot_make(what, &err);
    let mut scratch = ScratchFile::create(&what.directory).map_err(failed)?;
    let whole = fill(scratch.file(), what.size, &mut |left| {
        #[expect(clippy::cast_precision_loss, reason = "for display")]
        let done = 1.0 - left as f64 / what.size.get() as f64;
        frame.look_before(|| Progress::of(format!("writing the file, {:.0} %", 100.0 * done), 0.0));
        !frame.is_stopped()
    });
    // The last of it, until the device has all, took as long as it took.
    frame.look_before(|| Progress::of("the file is written".to_owned(), 0.0));
    Ok(whole.map_err(failed)?.then_some(scratch))
}

/// Fills `file` with `size` bytes of numbers without a pattern, and sees to it that they are on the disk: what
/// is not would be written later, during something else. That is done part by part, so that no step takes as long as all. Stops where `go_on`, which gets to know how much is left
/// to write, says so. Returns whether the file is whole.
pub(crate) fn fill(
    file: &mut File,
    size: Bytes,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> io::Result<bool> {
    let mut part = vec![0; PART];
    let mut seed = 1_u64;
    let mut left = size.get();
    while left > 0 {
        for word in part.chunks_exact_mut(8) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            word.copy_from_slice(&seed.to_le_bytes());
        }
        let now = usize::try_from(left).unwrap_or(PART).min(PART);
        file.write_all(&part[..now])?;
        left -= now as u64;
        if (size.get() - left).is_multiple_of(SYNCED) {
            file.sync_data()?;
        }
        if !go_on(left) {
            return Ok(false);
        }
    }
    file.sync_all()?;
    Ok(true)
}

fn rounds(what: &Io, frame: &mut Frame<'_>, path: &str, log: &mut Log) -> Result<(), MeasureError> {
    let bounds = Bounds {
        cpus: Some(frame.setup().cpus.clone()),
        policy: Some(frame.setup().priority),
    };
    for round in 1..=what.repeats {
        let doing = format!(
            "{}, round {round} of {}",
            what.access.pattern.name(),
            what.repeats
        );
        let part = f64::from(round - 1) / f64::from(what.repeats);
        let mut program = Program::start("fio", &mut what.command(path), &bounds, "")?;
        // One a job, beside the first.
        program.expect_threads(1 + what.access.jobs as usize);
        let Some(lines) = program.all(frame, || Progress::of(doing.clone(), part)) else {
            return Ok(());
        };
        log.threads.add(&program.threads());
        program.finish()?;
        log.note(what, &lines.join("\n"))
            .map_err(|err| MeasureError::Program {
                program: "fio".to_owned(),
                reason: err.to_string(),
            })?;
    }
    Ok(())
}

impl Log {
    fn note(&mut self, what: &Io, text: &str) -> Result<(), super::fio::BadOutput> {
        let output = Output::parse(text)?;
        for direction in what.access.pattern.directions() {
            let seen = output.seen(*direction)?;
            self.seen.entry(*direction).or_default().push(seen);
        }
        self.version = Some(output.version);
        Ok(())
    }

    fn figures(&self) -> Vec<Figure> {
        let mut figures = Vec::new();
        for (direction, seen) in &self.seen {
            let values = |value: fn(&Seen) -> Option<f64>| -> Vec<f64> {
                seen.iter().filter_map(value).collect()
            };
            let mut add = |figure: Figure| figures.push(figure.at("direction", direction.name()));
            let rates = values(|seen| Some(seen.rate / 1e6));
            let rate = repeats::figure("throughput", "MB/s", Better::Higher, &rates);
            let [error, deviation] = spread(&rate);
            add(rate);
            add(error);
            add(deviation);
            let iops = values(|seen| Some(seen.iops));
            add(repeats::figure("requests", "1/s", Better::Higher, &iops));
            let means = values(|seen| Some(seen.mean_ns));
            let name = "completion_latency_mean";
            add(repeats::figure(name, "ns", Better::Lower, &means));
            let p99s = values(|seen| seen.p99_ns);
            let name = "completion_latency_p99";
            add(repeats::figure(name, "ns", Better::Lower, &p99s));
        }
        figures
    }

    fn check(&self, what: &Io) -> Check {
        const ID: &str = "observations";
        let counts = what.access.pattern.directions().iter();
        let counts = counts.map(|direction| self.seen.get(direction).map_or(0, Vec::len));
        let requests: u64 = self.seen.values().flatten().map(|seen| seen.requests).sum();
        match counts.min() {
            Some(least @ 1..) => Check::pass(
                ID,
                format!("{least} runs of fio without an error, {requests} requests"),
            ),
            _ => Check::fail(ID, "the run ended before the first one"),
        }
    }
}

/// Returns the standard error of the mean, and the deviation of the observations as a share of the mean.
#[expect(clippy::cast_precision_loss, reason = "a handful")]
fn spread(rate: &Figure) -> [Figure; 2] {
    let error = rate.stddev.map(|s| s / (rate.count as f64).sqrt());
    let deviation = rate.stddev.zip(rate.value).map(|(s, mean)| s / mean);
    let figure = |name: &str, unit: &str, value| Figure {
        value,
        count: rate.count,
        ..Figure::single(name, unit, Better::Lower, 0.0)
    };
    [
        figure("throughput_standard_error", "MB/s", error),
        figure("throughput_relative_deviation", "1", deviation),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::testing;
    use crate::io::{Access, AsyncEngine, Pattern};
    use punctual_model::Nanos;
    use std::path::Path;

    fn io(directory: &Path) -> Io {
        Io {
            access: Access {
                engine: AsyncEngine::Libaio,
                pattern: Pattern::RandRw,
                block: Bytes::new(4_096),
                depth: 4,
                jobs: 2,
            },
            size: Bytes::new(1 << 20),
            directory: directory.to_owned(),
            // Not every file system has direct requests.
            buffered: true,
            runtime: Nanos::from_millis(600),
            repeats: 2,
        }
    }

    /// Whether there is fio. Where it is required its absence is a failure.
    fn has_fio() -> bool {
        let found = Command::new("fio").arg("--version").output().is_ok();
        let required = std::env::var("PUNCTUAL_TEST_REQUIRE").unwrap_or_default();
        assert!(
            found || !required.split(',').any(|name| name == "fio"),
            "no fio"
        );
        if !found {
            eprintln!("skipped: fio is not installed");
        }
        found
    }

    #[test]
    fn both_directions_have_their_figures_and_nothing_is_left() {
        if !has_fio() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let outcome = testing::run(|frame| run(&io(dir.path()), frame)).unwrap();
        let found = outcome.found;
        assert_eq!(found.figures.len(), 12);
        for figure in &found.figures {
            assert_eq!(figure.count, 2, "{figure:?}");
            assert!(figure.value.is_some(), "{figure:?}");
        }
        let [rate, error, deviation] = &found.figures[..3] else {
            unreachable!("there are twelve");
        };
        let stddev = rate.stddev.unwrap();
        assert!((error.value.unwrap() - stddev / 2.0_f64.sqrt()).abs() < 1e-9);
        assert!((deviation.value.unwrap() - stddev / rate.value.unwrap()).abs() < 1e-9);
        let check = |id: &str| found.checks.iter().find(|c| c.id == id).unwrap();
        assert!(check("observations").passed(), "{:?}", found.checks);
        // On a busy machine it is seldom looked whether both threads are there, and never at a good moment.
        let threads = check("program-threads");
        let unseen = threads.status == punctual_model::CheckStatus::Unknown
            && threads.detail.contains("seen at once");
        assert!(threads.passed() || unseen, "{threads:?}");
        assert!(outcome.setup.options["fio_version"].starts_with("fio-"));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_load_did_before_the_file_was_written_is_no_part_of_the_run() {
        if !has_fio() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let work = testing::load_work(|frame| run(&io(dir.path()), frame));
        assert!(work < 1e6, "{work}");
    }

    #[test]
    fn a_file_that_cannot_be_made_is_refused_before_fio_runs() {
        if !has_fio() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let mut large = io(dir.path());
        large.size = Bytes::new(1 << 60);
        let err = testing::run(|frame| run(&large, frame)).unwrap_err();
        assert!(
            err.is_usage() && err.to_string().starts_with("--size "),
            "{err}"
        );
        let nowhere = io(&dir.path().join("none"));
        let err = testing::run(|frame| run(&nowhere, frame)).unwrap_err();
        assert!(err.to_string().starts_with("--directory "), "{err}");
    }

    #[test]
    fn what_fio_refuses_is_told_in_its_words() {
        if !has_fio() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let mut odd = io(dir.path());
        // Larger than the file: there is no place for it.
        odd.access.block = Bytes::new(4 << 20);
        let err = testing::run(|frame| run(&odd, frame)).unwrap_err();
        assert!(matches!(err, MeasureError::Program { .. }), "{err}");
        assert!(err.to_string().starts_with("fio: "), "{err}");
    }
}
