// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a file says of the systems that its results are of.
//!
//! A file becomes one run, and a run has one machine: of several systems it has what all of them state alike.

use std::collections::BTreeSet;

use crate::imported::{Imported, cut};

/// One `<System>`.
#[derive(Debug, Default, PartialEq)]
pub(super) struct System {
    identifier: String,
    /// `2025-01-30 13:21:52`, in an unnamed time zone.
    started: Option<String>,
    version: Option<String>,
    processor: Option<String>,
    kernel: Option<String>,
    architecture: Option<String>,
}

impl System {
    pub(super) fn take(&mut self, name: &str, text: &str) {
        let kept = |text: &str| Some(cut(text.trim().to_owned())).filter(|text| !text.is_empty());
        match name {
            "Identifier" => self.identifier = super::label(&cut(text.to_owned())),
            "TimeStamp" => self.started = kept(text),
            "TestClientVersion" => self.version = kept(text),
            "Hardware" => self.processor = fact(text, "Processor").as_deref().and_then(kept),
            "Software" => {
                // `5.14.0-547.el9.x86_64 (x86_64)`, behind it the date of a daily build.
                let kernel = fact(text, "Kernel").unwrap_or_default();
                let mut words = kernel.split_ascii_whitespace();
                self.kernel = words.next().and_then(kept);
                let inside =
                    |word: &str| Some(word.strip_prefix('(')?.strip_suffix(')')?.to_owned());
                self.architecture = words.next().and_then(inside).as_deref().and_then(kept);
            }
            _ => {}
        }
    }

    /// Returns its facts for a list of remarks.
    fn said(&self) -> String {
        let started = self.started.as_ref();
        let parts = [
            started.map(|at| format!("started {at}, in an unnamed time zone")),
            self.kernel
                .as_ref()
                .map(|kernel| format!("kernel {kernel}")),
            self.processor.clone(),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        parts.join("; ")
    }
}

/// Reads `Processor` of `Processor: 2 x Xeon (12 Cores / 24 Threads), Motherboard: ASUS`. A value may have commas.
fn fact(text: &str, name: &str) -> Option<String> {
    let mut parts = text.split(", ");
    let first = parts.find_map(|part| part.trim().strip_prefix(name)?.strip_prefix(": "))?;
    let more = parts.take_while(|part| !part.contains(": "));
    let whole: Vec<&str> = std::iter::once(first).chain(more).collect();
    Some(whole.join(", "))
}

/// Says of the run what the systems of its figures state.
pub(super) fn tell(systems: &[System], to: &mut Imported) {
    let named = to.figures.iter().map(|figure| figure.labels.get("system"));
    let named: BTreeSet<Option<&String>> = named.collect();
    let of = |name: &Option<&String>| {
        let name = (*name)?;
        systems.iter().find(|system| system.identifier == *name)
    };
    // Of a system that is not described nothing is known, and so of no fact that all state it.
    let Some(known) = named.iter().map(of).collect::<Option<Vec<&System>>>() else {
        return;
    };
    let common = |get: fn(&System) -> &Option<String>| {
        let first = get(known.first()?).clone();
        first.filter(|first| known.iter().all(|of| get(of).as_ref() == Some(first)))
    };
    to.local_start = common(|of| &of.started);
    to.version = common(|of| &of.version);
    to.host.kernel_release = common(|of| &of.kernel);
    to.host.architecture = common(|of| &of.architecture);
    to.host.cpu_model = common(|of| &of.processor);
    match known.as_slice() {
        [only] => {
            if let Some(at) = &only.started {
                to.state(format!("started {at}, in an unnamed time zone"));
            }
        }
        several => {
            for system in several.iter().filter(|system| !system.said().is_empty()) {
                to.state(format!("{}: {}", system.identifier, system.said()));
            }
        }
    }
}
