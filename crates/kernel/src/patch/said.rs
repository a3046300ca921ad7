// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What patch(1) says.

use punctual_model::FailedHunk;

use super::diff::{Patch, two_names};

/// No more is kept of its complaints, in characters.
const LONGEST_SAID: usize = 400;

/// Returns the file that patch(1) begins with, if that is what a line says.
fn begun(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("patching file ")?;
    let ends = [" (renamed from ", " (copied from "];
    let end = ends.iter().find_map(|end| rest.rfind(end));
    rest.get(..end.unwrap_or(rest.len()))
}

/// Reads what patch(1) says of hunks that fail: `patching file F`, then `Hunk #2 FAILED at 30.`
pub(super) fn failed_hunks(text: &str, patch: &Patch) -> Vec<FailedHunk> {
    let mut file = String::new();
    let mut failed = Vec::new();
    for line in text.lines() {
        let header = ["|--- ", "|+++ "]
            .iter()
            .find_map(|word| line.strip_prefix(word));
        let git = line.strip_prefix("|diff --git ").and_then(two_names);
        let named = match git {
            Some((_, name)) => patch.name(name),
            None => header.and_then(|header| patch.path(header)),
        };
        if let Some(named) = begun(line).map(str::to_owned).or(named) {
            file = named;
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["Hunk", number, "FAILED", "at", line, ..] => failed.push(FailedHunk {
                file: file.clone(),
                hunk: number.trim_start_matches('#').parse().ok(),
                line: line.trim_end_matches('.').parse().ok(),
            }),
            ["No", "file", "to", "patch.", ..] => failed.push(FailedHunk {
                file: file.clone(),
                hunk: None,
                line: None,
            }),
            _ => {}
        }
    }
    failed
}

/// Says where a change was found that is not at its own place. Functions are alike, so it may be another one, and the
/// one that is meant may be missing.
pub(super) fn elsewhere(text: &str) -> Option<String> {
    let mut file = "";
    for line in text.lines() {
        file = begun(line).unwrap_or(file);
        let Some((_, offset)) = line.split_once("(offset ") else {
            continue;
        };
        let line = line.split_once(" succeeded at ")?.1.split(' ').next()?;
        let by = offset.split(' ').next()?;
        return Some(format!(
            "{file} has the same change at line {line} (offset {by}): leave the patch out if that is it"
        ));
    }
    None
}

/// Returns what patch(1) complains of, besides files and hunks.
pub(super) fn complaint(text: &str, errors: &str) -> Option<String> {
    let is_news = |line: &&str| {
        let known = ["patching file ", "Hunk #"];
        !known.iter().any(|word| line.starts_with(word)) && !line.ends_with(" ignored")
    };
    let news = |text: &str| {
        let lines: Vec<&str> = text.lines().map(str::trim).filter(is_news).collect();
        lines.join(" ").trim_end_matches([':', ' ']).to_owned()
    };
    let all = [news(text), news(errors)];
    let said: Vec<&str> = all
        .iter()
        .map(String::as_str)
        .filter(|said| !said.is_empty())
        .collect();
    match said.is_empty() {
        true => text.lines().next_back().map(str::to_owned),
        false => Some(said.join("; ").chars().take(LONGEST_SAID).collect()),
    }
}
