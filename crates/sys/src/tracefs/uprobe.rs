// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! An event at a function of a program (Documentation/trace/uprobetracer.rst). It belongs to the whole tracing directory and not
//! to an instance.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use crate::{At as _, PathError, SysRoot};

/// The file that makes and removes them. It is appended to: who truncates it removes those of all others.
const FILE: &str = "uprobe_events";

/// The last part of the event's name.
const EVENT: &str = "cycle";

/// An event at an address of a file. It is removed when this is dropped.
#[derive(Debug)]
pub struct Uprobe {
    root: SysRoot,
    group: String,
}

impl Uprobe {
    pub(super) fn make(
        root: &SysRoot,
        group: &str,
        file: &Path,
        offset: u64,
    ) -> Result<Self, PathError> {
        let file = file.display();
        append(root, &format!("p:{group}/{EVENT} {file}:{offset:#x}"))?;
        Ok(Self {
            root: root.clone(),
            group: group.to_owned(),
        })
    }

    /// Returns the name of the event, as `GROUP/NAME`.
    pub fn event(&self) -> String {
        event(&self.group)
    }
}

impl Drop for Uprobe {
    fn drop(&mut self) {
        // What is in use still the guard removes, or the next start.
        drop(append(&self.root, &removal(&self.group)));
    }
}

fn event(group: &str) -> String {
    format!("{group}/{EVENT}")
}

/// Returns what is written to remove the event of `group`.
pub(super) fn removal(group: &str) -> String {
    format!("-:{}", event(group))
}

/// Returns the file that makes and removes events.
pub(super) fn file(root: &SysRoot) -> std::path::PathBuf {
    root.full(FILE)
}

/// Removes the events whose group begins with `prefix` and for which `is_left` says that its maker is gone.
pub(super) fn sweep(root: &SysRoot, prefix: &str, is_left: impl Fn(&str) -> bool) {
    for line in root.read(FILE).unwrap_or_default().lines() {
        let made = line
            .strip_prefix("p:")
            .and_then(|rest| rest.split_once('/'));
        if let Some((group, _)) = made
            && group.starts_with(prefix)
            && is_left(group)
        {
            drop(append(root, &removal(group)));
        }
    }
}

fn append(root: &SysRoot, line: &str) -> Result<(), PathError> {
    let path = file(root);
    let mut opened = OpenOptions::new();
    let opened = opened.append(true).open(&path);
    opened
        .and_then(|mut file| file.write_all(line.as_bytes()))
        .at("write", &path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_others_stay_and_those_of_the_dead_go() {
        let dir = tempfile::tempdir().unwrap();
        let root = SysRoot::at(dir.path());
        let path = dir.path().join(FILE);
        std::fs::write(
            &path,
            "p:mine_1/cycle /bin/x:0x1\np:other/cycle /bin/x:0x2\n",
        )
        .unwrap();
        sweep(&root, "mine_", |group| group == "mine_1");
        let probe = Uprobe::make(&root, "mine_2", Path::new("/bin/y"), 0x40).unwrap();
        assert_eq!(probe.event(), "mine_2/cycle");
        drop(probe);
        let text = String::from_utf8(std::fs::read(&path).unwrap()).unwrap();
        let added = "-:mine_1/cyclep:mine_2/cycle /bin/y:0x40-:mine_2/cycle";
        assert!(
            text.ends_with(added) && text.contains("p:other/cycle"),
            "{text}"
        );
    }
}
