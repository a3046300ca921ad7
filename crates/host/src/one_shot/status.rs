// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What has become of a candidate, as far as the machine says.

use std::path::Path;
use std::time::{Duration, SystemTime};

use punctual_model::{
    ONE_SHOT_STATUS_FORMAT, OneShotBoot, OneShotEvidence, OneShotInstalled, OneShotLoader,
    OneShotState, OneShotStatus,
};
use punctual_sys::SysRoot;

use super::env_block::{EnvBlock, MOST};
use super::grub::{CHOICE, Grub};
use super::install::{Kept, OneShotError, keep, read};
use super::{ENTRY, MARK, systemd_boot};
use crate::private_dir::PrivateDir;

/// Where the log of a kernel that died is kept: by the kernel, and by systemd, which moves it there.
const LOGS: [&str; 2] = ["/sys/fs/pstore", "/var/lib/systemd/pstore"];
/// The watchdog has restarted the machine (linux/watchdog.h, `WDIOF_CARDRESET`).
const CARD_RESET: u32 = 0x20;
/// How far below [`LOGS`] it is looked.
const DEPTH: u32 = 3;

/// Who is to boot next.
#[derive(Debug, Eq, PartialEq)]
enum Choice {
    Ours,
    Taken,
    Other(String),
    Unknown(String),
}

/// Says what is pending, and whether the last one-shot boot came up. `at` is the time, RFC 3339 in UTC.
///
/// # Errors
///
/// Fails where what is kept cannot be read.
pub fn status(sys: &SysRoot, state: &Path, at: &str) -> Result<OneShotStatus, OneShotError> {
    let kept = match PrivateDir::open(state)? {
        Some(dir) => read(&dir)?,
        None => None,
    };
    Ok(judge(sys, kept, at))
}

/// Keeps that this boot is the candidate's, if it is.
///
/// # Errors
///
/// Fails where it is not.
pub fn confirm(sys: &SysRoot, state: &Path, at: &str) -> Result<OneShotStatus, OneShotError> {
    let not = |why: &str| OneShotError::NotTheCandidate {
        why: why.to_owned(),
    };
    let dir = PrivateDir::open(state)?;
    let none = "no candidate is installed";
    let dir = dir.ok_or_else(|| not(none))?;
    let _lock = dir.lock("kernel status --confirm", Duration::from_secs(2))?;
    let mut kept = read(&dir)?.ok_or_else(|| not(none))?;
    let now = judge(sys, Some(kept.clone()), at);
    if now.state != OneShotState::Candidate {
        return Err(not(match now.state {
            OneShotState::OtherKernel => "this boot is the candidate's, but another kernel runs",
            _ => "this boot is not the candidate's",
        }));
    }
    kept.confirmed = Some(now.running);
    keep(&dir, &kept)?;
    Ok(judge(sys, Some(kept), at))
}

fn judge(sys: &SysRoot, kept: Option<Kept>, at: &str) -> OneShotStatus {
    let running = OneShotBoot {
        boot_id: super::boot_id(sys),
        release: super::word(sys, "/proc/sys/kernel/osrelease"),
        version: super::word(sys, "/proc/sys/kernel/version"),
        at: at.to_owned(),
    };
    let mut evidence = Vec::new();
    let state = match &kept {
        None => OneShotState::None,
        Some(kept) => state(sys, kept, &running, &mut evidence),
    };
    if let Some(kept) = &kept
        && state == OneShotState::FellBack
    {
        reasons(sys, kept, &mut evidence);
    }
    let again = kept.as_ref().is_some_and(|kept| {
        let (_, choice) = choice(sys, kept.installed.loader);
        choice == Choice::Ours
    });
    let resume = kept.as_ref().and_then(|kept| kept.installed.resume.clone());
    let confirmed = kept.as_ref().and_then(|kept| kept.confirmed.clone());
    OneShotStatus {
        format: ONE_SHOT_STATUS_FORMAT.to_owned(),
        state,
        next: next(state, confirmed.is_some(), resume.is_some(), again),
        running,
        installed: kept.map(|kept| kept.installed),
        confirmed,
        evidence,
    }
}

fn next(state: OneShotState, confirmed: bool, resumes: bool, again: bool) -> Vec<String> {
    let revert = "punctual kernel install-once --revert";
    let steps: &[&str] = match (state, confirmed) {
        (OneShotState::None, _) => &[],
        (OneShotState::Waiting, _) => &["reboot (or systemctl kexec, where kexec starts it)"],
        (OneShotState::Candidate, false) if resumes => {
            &["punctual kernel status --confirm, with which the experiment goes on"]
        }
        (OneShotState::Candidate, false) => &["punctual kernel status --confirm"],
        (OneShotState::Candidate, true) if again => {
            &["measure; the next restart boots the candidate again, since it is chosen"]
        }
        (OneShotState::Candidate, true) => {
            &["measure; the next restart brings the machine's own kernel back"]
        }
        _ => &[revert],
    };
    steps.iter().map(|step| (*step).to_owned()).collect()
}

fn state(
    sys: &SysRoot,
    kept: &Kept,
    running: &OneShotBoot,
    evidence: &mut Vec<OneShotEvidence>,
) -> OneShotState {
    let OneShotInstalled {
        id,
        candidate,
        boot_id,
        ..
    } = &kept.installed;
    let mut found = |source: &str, says: String| {
        evidence.push(OneShotEvidence {
            source: source.to_owned(),
            says,
        });
    };
    let (source, choice) = choice(sys, kept.installed.loader);
    let says = match &choice {
        Choice::Ours => "the candidate is chosen".to_owned(),
        Choice::Taken => "the candidate is no longer chosen".to_owned(),
        Choice::Other(other) => format!("{other} is chosen"),
        Choice::Unknown(why) => format!("not known: {why}"),
    };
    let mark = format!("{MARK}={id}");
    let line = sys.read("/proc/cmdline");
    let words = line.as_deref().unwrap_or_default();
    if words.split_whitespace().any(|word| word == mark) {
        found(
            "/proc/cmdline",
            format!("{mark}: this boot is the candidate's"),
        );
        if running.release == candidate.release && running.version == candidate.version {
            found(
                "uname",
                "release and version are the candidate's".to_owned(),
            );
            // Somebody wants it once more.
            if choice == Choice::Ours {
                found(&source, says);
            }
            return OneShotState::Candidate;
        }
        found(
            "uname",
            format!("expected {} {}", candidate.release, candidate.version),
        );
        return OneShotState::OtherKernel;
    }
    // A tree that no machine runs from says nothing of a boot, so nothing of a restart either.
    let unknown = running.boot_id.is_empty();
    let same = unknown || running.boot_id == *boot_id;
    let when = match same {
        _ if unknown => "not known",
        true => "the same as at installation: the machine has not been restarted",
        false => "another one than at installation: the machine has been restarted",
    };
    found("boot_id", when.to_owned());
    found(
        "/proc/cmdline",
        match line {
            Ok(_) => format!("no {mark}: this boot is not the candidate's"),
            Err(_) => "not known".to_owned(),
        },
    );
    found(&source, says);
    match (same, choice) {
        (true, Choice::Ours | Choice::Unknown(_)) => OneShotState::Waiting,
        (true, _) => OneShotState::Withdrawn,
        (false, _) if kept.confirmed.is_some() => OneShotState::Done,
        (false, Choice::Ours) => OneShotState::NotTaken,
        (false, _) => OneShotState::FellBack,
    }
}

/// Returns where the choice is, and what it is.
fn choice(sys: &SysRoot, loader: OneShotLoader) -> (String, Choice) {
    let of = |value: Option<String>, ours: &str| match value.filter(|value| !value.is_empty()) {
        None => Choice::Taken,
        Some(value) if value == ours => Choice::Ours,
        Some(value) => Choice::Other(value),
    };
    match loader {
        OneShotLoader::Grub => {
            let Some(grub) = Grub::find(sys) else {
                return (
                    "GRUB".to_owned(),
                    Choice::Unknown("its files are gone".to_owned()),
                );
            };
            let path = grub.environment();
            let found = match sys.read_up_to(&path, MOST) {
                Err(err) => Choice::Unknown(err.to_string()),
                Ok((bytes, _)) => match EnvBlock::parse(&bytes) {
                    Err(why) => Choice::Unknown(why.to_owned()),
                    Ok(block) => of(block.value(CHOICE), ENTRY),
                },
            };
            (path, found)
        }
        OneShotLoader::SystemdBoot => {
            let path = systemd_boot::choice();
            (
                path,
                of(systemd_boot::chosen(sys), &format!("{ENTRY}.conf")),
            )
        }
        OneShotLoader::Kexec => {
            let path = "/sys/kernel/kexec_loaded";
            let loaded = sys.fact::<u8>(path) == Some(1);
            let choice = if loaded { Choice::Ours } else { Choice::Taken };
            (path.to_owned(), choice)
        }
    }
}

/// Looks for what the boot that failed has left.
fn reasons(sys: &SysRoot, kept: &Kept, evidence: &mut Vec<OneShotEvidence>) {
    let before = evidence.len();
    let mut found = |source: &str, says: String| {
        evidence.push(OneShotEvidence {
            source: source.to_owned(),
            says,
        });
    };
    let since = SystemTime::UNIX_EPOCH + Duration::from_secs(kept.since_s);
    for directory in LOGS {
        for path in logs(sys, directory, DEPTH) {
            let changed = sys.full(&path).metadata().and_then(|meta| meta.modified());
            if changed.is_ok_and(|changed| changed < since) {
                continue;
            }
            let text = sys
                .read_up_to(&path, 1 << 20)
                .map(|(bytes, _)| bytes)
                .unwrap_or_default();
            if let Some(line) = last_words(&String::from_utf8_lossy(&text)) {
                found(&path, line);
            }
        }
    }
    let watchdogs = "/sys/class/watchdog";
    for name in sys.names(watchdogs).unwrap_or_default() {
        let path = format!("{watchdogs}/{name}/bootstatus");
        let status = sys.fact::<u32>(&path).unwrap_or(0);
        if status & CARD_RESET != 0 {
            let identity = super::word(sys, &format!("{watchdogs}/{name}/identity"));
            found(
                &path,
                format!("the watchdog {identity} has restarted the machine"),
            );
        }
    }
    if evidence.len() == before {
        evidence.push(OneShotEvidence {
            source: "reason".to_owned(),
            says: "unknown: no log in pstore is newer than the installation, and no watchdog \
                   reports that it restarted the machine. The journal may have more: journalctl -k \
                   -b -1"
                .to_owned(),
        });
    }
}

fn logs(sys: &SysRoot, directory: &str, depth: u32) -> Vec<String> {
    let names = sys.names(directory).unwrap_or_default();
    let all = names.into_iter().flat_map(|name| {
        let path = format!("{directory}/{name}");
        match sys.full(&path).is_dir() {
            true if depth > 0 => logs(sys, &path, depth - 1),
            true => Vec::new(),
            false => vec![path],
        }
    });
    all.collect()
}

/// Returns the line of a kernel's log that says why it died.
fn last_words(text: &str) -> Option<String> {
    let kinds = [
        "Kernel panic - not syncing",
        "watchdog: BUG:",
        "BUG:",
        "Oops:",
    ];
    let line = kinds.iter().find_map(|kind| {
        let line = text.lines().find(|line| line.contains(kind))?;
        line.find(kind).and_then(|at| line.get(at..))
    })?;
    Some(line.trim().to_owned())
}
