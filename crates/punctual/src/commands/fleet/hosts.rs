// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What became of each host: made of the lines that Ansible prints, so that no host is lost.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use punctual_model::{
    Diagnosis, FleetHost, FleetState, Gathered as _, Nanos, RuleOutcome, Severity, TuningReport,
    json,
};
use punctual_report::document::{Document, Material};
use punctual_store::archive::{ArchiveError, unpack};
use punctual_store::{AdoptError, Store, StoredRun};
use punctual_sys::child::shell_word;
use punctual_sys::dir::Dir;
use punctual_verdict::gate;
use punctual_verdict::words::{clean, open_check, plural};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::playbook::{Said, Task};

/// The largest answer of a host, as the collection has it too.
pub(super) const ANSWER_LIMIT: u64 = 16 << 20;

/// What a program says of a word that it does not know.
const UNKNOWN_WORDS: [&str; 2] = ["unexpected argument", "unrecognized subcommand"];

/// The longest sentence of a host.
const DETAIL_LIMIT: usize = 400;

/// The hosts, in the order of the inventory.
pub(super) struct Hosts<'a> {
    store: &'a Store,
    fetched: &'a Path,
    known: Vec<Known>,
    places: BTreeMap<String, usize>,
}

struct Known {
    host: FleetHost,
    places: Vec<String>,
    is_clean: bool,
    /// Whether the places have runs that are nowhere else.
    keeps: bool,
}

/// What the collection notes of a host before it makes directories there.
#[derive(Deserialize)]
struct Note {
    host: String,
    places: Vec<String>,
}

impl<'a> Hosts<'a> {
    pub(super) fn new(store: &'a Store, fetched: &'a Path) -> Self {
        Self {
            store,
            fetched,
            known: Vec::new(),
            places: BTreeMap::new(),
        }
    }

    /// Whether no host was asked for.
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Notes the hosts that were asked for. Nothing is known of them yet.
    pub(super) fn expect(&mut self, names: Vec<String>) {
        for name in names {
            if self.places.contains_key(&name) {
                continue;
            }
            self.places.insert(name.clone(), self.known.len());
            self.known.push(Known {
                host: FleetHost {
                    host: name,
                    detail: Some("nothing was done".to_owned()),
                    ..FleetHost::default()
                },
                places: Vec::new(),
                is_clean: false,
                keeps: false,
            });
        }
    }

    /// Notes what a task did on its host. Returns a line to show of it.
    pub(super) fn note(&mut self, task: Task) -> Option<String> {
        let at = self.places.get(&task.host)?;
        let known = self.known.get_mut(*at)?;
        let host = &mut known.host;
        let name = clean(&task.host).into_owned();
        let said = task.said;
        host.architecture = said.machine.clone().or_else(|| host.architecture.take());
        host.uid = said.uid.or(host.uid);
        host.version = said.version.clone().or_else(|| host.version.take());
        if !said.places.is_empty() {
            known.places.clone_from(&said.places);
        }
        known.keeps |= said.keep;
        // Where others are cleaned up afterwards, nothing is done on this host.
        if task.step == "cleanup" && known.keeps && said.left.is_empty() {
            return None;
        }
        if task.step == "cleanup" {
            known.is_clean = task.status == "ok";
            host.left = said.left;
            return None;
        }
        if task.status == "unreachable" {
            host.state = match host.state {
                FleetState::NotReached => FleetState::Unreachable,
                _ => FleetState::Lost,
            };
            host.detail = Some(short(task.message.trim_start_matches("Task failed: ")));
            return Some(format!("{name}: {}", host.state.words()));
        }
        host.changed |= task.changed;
        let Some(state) = said.state.clone() else {
            // A task without a line of ours failed before Punctual ran.
            if task.status == "failed" && !is_worse(host.state) {
                host.state = FleetState::Failed;
                host.detail = Some(short(&task.message));
            }
            return None;
        };
        host.exit = said.exit.or(host.exit);
        host.duration_ns = said.seconds.and_then(span).or(host.duration_ns);
        if state == "ready" {
            host.state = FleetState::NotReached;
            host.detail = Some("stopped before its command had ended".to_owned());
            return Some(format!("{name}: ready"));
        }
        let detail = said.detail.as_deref().unwrap_or_default();
        let unknown = UNKNOWN_WORDS.iter().any(|words| detail.contains(words));
        host.detail = said.detail.as_deref().map(short);
        host.state = match (state.as_str(), said.exit) {
            ("done", Some(3)) => FleetState::Verdict,
            // This program has read the same command line before.
            ("failed", Some(2)) if unknown => {
                let why = format!("its Punctual does not know this command line: {detail}");
                host.detail = Some(short(&why));
                FleetState::OtherVersion
            }
            (state, _) => typed(&Value::from(state)).unwrap_or(FleetState::Failed),
        };
        Self::take(self.store, self.fetched, host, &said);
        Some(format!("{name}: {}", host.state.words()))
    }

    /// Takes what came back of a host: its answer, and its runs into the store.
    fn take(store: &Store, fetched: &Path, host: &mut FleetHost, said: &Said) {
        if let Some(path) = said
            .answer
            .as_deref()
            .filter(|path| !path.as_os_str().is_empty())
        {
            match answer(fetched, path) {
                Ok(value) => {
                    // What is said of a command that gave no reason: its answer has one.
                    let bare = said.exit.map(|exit| format!("exit status {exit}"));
                    if let Some(sentence) =
                        sentence(&value).filter(|_| host.detail.is_none() || host.detail == bare)
                    {
                        host.detail = Some(sentence);
                    }
                    host.answer = Some(value);
                }
                Err(why) => not_taken(host, &format!("its answer: {why}")),
            }
        }
        if let Some(path) = said
            .archive
            .as_deref()
            .filter(|path| !path.as_os_str().is_empty())
        {
            match runs(store, fetched, path, &host.host) {
                Ok(taken) => {
                    host.runs = taken.ids;
                    if let Some(why) = taken.failed {
                        not_taken(host, &format!("its runs: {why}"));
                    }
                    // Nothing else failed: an invalid run is what status 1 says then.
                    if host.state == FleetState::Failed && !taken.invalid.is_empty() {
                        let checks: Vec<String> = taken.invalid.into_values().collect();
                        host.detail = Some(short(&format!("invalid run: {}", checks.join("; "))));
                    }
                    if host.state == FleetState::Verdict && !taken.unmet.is_empty() {
                        host.detail
                            .get_or_insert_with(|| short(&taken.unmet.join("; ")));
                    }
                }
                Err(why) => not_taken(host, &format!("its runs: {why}")),
            }
        }
    }

    /// Takes what the collection noted before it made it, of hosts whose tasks never ended.
    fn take_notes(&mut self) {
        let Ok(files) = std::fs::read_dir(self.fetched) else {
            return;
        };
        let is_note = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "places");
        for path in files.flatten().map(|file| file.path()).filter(is_note) {
            let note = answer(self.fetched, &path).ok();
            let Some(Note { host, places }) = note.and_then(|note| typed(&note)) else {
                continue;
            };
            let at = self.places.get(&host).copied();
            let Some(known) = at.and_then(|at| self.known.get_mut(at)) else {
                continue;
            };
            if known.places.is_empty() && !known.is_clean {
                known.places = places;
                if known.host.state == FleetState::NotReached {
                    known.host.detail = Some("stopped while the program was copied".to_owned());
                }
            }
        }
    }

    /// Returns the hosts on which something was put that was not removed.
    pub(super) fn unclean(&mut self) -> BTreeMap<String, Vec<String>> {
        self.take_notes();
        let unclean = self.known.iter();
        let unclean = unclean.filter(|known| !known.is_clean && !known.keeps);
        unclean
            .filter(|known| !known.places.is_empty())
            .map(|known| (known.host.host.clone(), known.places.clone()))
            .into_map()
    }

    /// Notes names that were asked for and that no host of the inventory has.
    pub(super) fn miss(&mut self, names: &[String]) {
        self.expect(names.to_vec());
        for name in names {
            let at = self.places.get(name).copied();
            if let Some(known) = at.and_then(|at| self.known.get_mut(at)) {
                known.host.detail = Some("no host of the inventory has this name".to_owned());
            }
        }
    }

    /// Returns what became of each host.
    pub(super) fn finish(self) -> Vec<FleetHost> {
        let known = self.known.into_iter().map(|mut known| {
            if !known.is_clean && known.host.left.is_empty() {
                known.host.left = known.places;
            }
            known.host
        });
        known.collect()
    }
}

/// Whether a host has already ended badly, so that what follows is only a consequence.
const fn is_worse(state: FleetState) -> bool {
    !matches!(
        state,
        FleetState::NotReached | FleetState::Done | FleetState::Checked
    )
}

fn not_taken(host: &mut FleetHost, why: &str) {
    // What could not be restored is worse, whatever it sent.
    if host.state == FleetState::NotRestored {
        let said = host.detail.take().unwrap_or_default();
        // What names a file is not cut off by what came before.
        let said = cut(&said, DETAIL_LIMIT / 2);
        host.detail = Some(short(&format!("{said}; then: {why}")));
        return;
    }
    host.state = FleetState::NotImported;
    host.detail = Some(short(why));
}

/// Text of a host as one line that commands no terminal.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&clean(&line), DETAIL_LIMIT)
}

/// Cuts a text off after `most` characters, and marks where.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
    }
}

fn span(seconds: f64) -> Option<Nanos> {
    let span = std::time::Duration::try_from_secs_f64(seconds).ok()?;
    u64::try_from(span.as_nanos()).ok().map(Nanos::new)
}

/// Opens a fetched file, which must lie in our own directory.
fn opened(fetched: &Path, path: &Path) -> Result<File, String> {
    let name = path.file_name().ok_or("it has no name")?;
    let dir = Dir::open(fetched).map_err(|err| err.to_string())?;
    dir.file(name).map_err(|err| err.to_string())
}

fn answer(fetched: &Path, path: &Path) -> Result<Value, String> {
    let file = opened(fetched, path)?;
    let mut bytes = Vec::new();
    let limited = &mut std::io::Read::take(file, ANSWER_LIMIT + 1);
    std::io::Read::read_to_end(limited, &mut bytes).map_err(|err| err.to_string())?;
    if bytes.len() as u64 > ANSWER_LIMIT {
        return Err(format!("more than {ANSWER_LIMIT} bytes"));
    }
    punctual_store::decode::parts(&bytes)?;
    serde_json::from_slice(&bytes).map_err(|err| format!("not JSON: {err}"))
}

/// The runs of a host that are in the store now.
#[derive(Default)]
struct Taken {
    ids: Vec<String>,
    /// What is said of each check that did not pass, in the first run where it did not.
    invalid: BTreeMap<String, String>,
    /// What was required and is not shown, or was missed.
    unmet: Vec<String>,
    /// What is said of those that are not in the store.
    failed: Option<String>,
}

/// Unpacks an archive of runs and takes them into the store, each with the name of its host.
fn runs(store: &Store, fetched: &Path, path: &Path, host: &str) -> Result<Taken, String> {
    let file = opened(fetched, path)?;
    let unpacked = tempfile::tempdir_in(fetched).map_err(|err| err.to_string())?;
    let into = Dir::open(unpacked.path()).map_err(|err| err.to_string())?;
    let all = match unpack(std::io::BufReader::new(file), &into) {
        Ok(all) => all,
        // The archive may be whole, and here was no room.
        Err(err @ ArchiveError::Path(_)) => {
            let kept = kept(store, fetched, path, host);
            return Err(format!("not unpacked{kept}: {}", reasons(&err)));
        }
        Err(err) => return Err(reasons(&err)),
    };
    let tags = BTreeMap::from([("host".to_owned(), tag(host))]);
    let mut taken = Taken::default();
    let mut failed: Vec<String> = Vec::new();
    let count = all.len();
    for path in all {
        let run = StoredRun::open(&path).map_err(AdoptError::from);
        let run = match run.and_then(|run| store.adopt(&run, &tags).map(|_| run)) {
            Ok(run) => run,
            Err(err) => {
                failed.push(reasons(&err));
                continue;
            }
        };
        taken.ids.push(run.record().id.clone());
        let open = run.record().checks.iter().filter(|check| !check.passed());
        for check in open {
            let said = taken.invalid.entry(check.id.clone());
            said.or_insert_with(|| open_check(check));
        }
        taken.unmet.extend(gate::unmet(run.record()));
    }
    if let Some(first) = failed.first() {
        let kept = kept(store, fetched, path, host);
        let lost = failed.len();
        taken.failed = Some(format!("{lost} of {count} not taken{kept}: {first}"));
        return Ok(taken);
    }
    // It has done its work, and a thousand hosts send as many.
    drop(std::fs::remove_file(
        fetched.join(path.file_name().unwrap_or_default()),
    ));
    Ok(taken)
}

/// Moves an archive of which not all runs could be taken to where it stays, and says what takes them from there: next to the runs,
/// or, where the store has no room, next to the directory of what was fetched.
fn kept(store: &Store, fetched: &Path, path: &Path, host: &str) -> String {
    let from = fetched.join(path.file_name().unwrap_or_default());
    let beside = fetched.parent().and_then(Path::parent);
    let places = [Some(store.home()), beside].into_iter().flatten();
    let mut moved = places.filter_map(|dir| moved(&from, dir).ok());
    let again = |to: PathBuf| {
        let home = shell_word(&store.home().display().to_string());
        let tag = shell_word(&format!("host={}", tag(host)));
        let to = shell_word(&to.display().to_string());
        format!("; `punctual --home {home} runs import --tag {tag} {to}` tries again")
    };
    moved.next().map(again).unwrap_or_default()
}

/// Moves a file into a directory, under a new name.
fn moved(from: &Path, dir: &Path) -> io::Result<PathBuf> {
    let mut to = tempfile::Builder::new()
        .prefix("not-imported-")
        .suffix(".tar")
        .tempfile_in(dir)?;
    match std::fs::rename(from, to.path()) {
        Ok(()) => {}
        // Of another file system.
        Err(_) => {
            io::copy(&mut File::open(from)?, to.as_file_mut())?;
            to.as_file().sync_all()?;
        }
    }
    let (_, path) = to.keep().map_err(io::Error::from)?;
    Ok(path)
}

/// A host's name as the value of a tag: one line, and not longer than tags are.
fn tag(host: &str) -> String {
    clean(host).chars().take(200).collect()
}

/// An error with its causes, in one line.
fn reasons(err: &dyn std::error::Error) -> String {
    let mut parts = vec![err.to_string()];
    let mut source = err.source();
    while let Some(cause) = source {
        parts.push(cause.to_string());
        source = cause.source();
    }
    parts.dedup();
    parts.join(": ")
}

/// Reads a value by its text, as files are read: what reads a `Value` itself would be in the program once more for each type.
fn typed<T: DeserializeOwned>(value: &Value) -> Option<T> {
    serde_json::from_slice(&json::line(value).ok()?).ok()
}

/// What an answer says, in a sentence.
fn sentence(value: &Value) -> Option<String> {
    let format = value.get("format")?.as_str()?.split('/').next()?;
    let first = |document: Document| {
        let answer = document.answers.into_iter().next()?;
        Some(short(&format!("{} {}", answer.word, answer.sentence)))
    };
    match format {
        "punctual.diagnosis" => findings(&typed(value)?),
        "punctual.assessment" => first(Document::new(&Material {
            assessments: vec![typed(value)?],
            ..Material::default()
        })),
        "punctual.tuning" => {
            let report: TuningReport = typed(value)?;
            let mut said = Document::unrestored(&report);
            // Why not all is as it was meant to be is said last.
            said.extend(report.remarks.last().filter(|_| !report.complete).cloned());
            said.insert(0, first(Document::of_tuning(&report))?);
            Some(short(&said.join("; ")))
        }
        "punctual.plan" => first(Document::of_plan(&typed(value)?)),
        _ => None,
    }
}

/// How many findings of each severity a diagnosis has.
fn findings(diagnosis: &Diagnosis) -> Option<String> {
    let of = |outcome, severity: Option<Severity>| {
        let verdicts = diagnosis.verdicts.iter();
        let wanted = verdicts.filter(|verdict| {
            verdict.outcome == outcome && severity.is_none_or(|of| verdict.rule.severity == of)
        });
        wanted.count()
    };
    let all = of(RuleOutcome::Found, None);
    let by_severity = Severity::ALL.iter().filter_map(|severity| {
        let count = of(RuleOutcome::Found, Some(*severity));
        (count > 0).then(|| format!("{count} {}", severity.name()))
    });
    let by_severity: Vec<String> = by_severity.collect();
    let unknown = match of(RuleOutcome::Unknown, None) {
        0 => String::new(),
        n => format!(", {n} not judged"),
    };
    Some(match all {
        0 => format!("nothing found{unknown}"),
        n => format!(
            "{n} finding{}: {}{unknown}",
            plural(n),
            by_severity.join(", ")
        ),
    })
}

#[cfg(test)]
mod tests;
