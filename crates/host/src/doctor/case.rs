// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a rule sees and how it answers.
//!
//! A rule reads through its [`Case`], and a `?` on what could not be read becomes the outcome
//! "unknown" with that file and the reason: no rule can take silence for health.

use std::str::FromStr;

use punctual_model::{CpuSet, Evidence, Fixer, RuleOutcome, Severity};

use crate::boot;
use crate::machine::{CPU, Config, Machine, Unread};

/// A rule and how it looks, by default at a machine.
pub(crate) struct Entry<Check = fn(&Case<'_>) -> Answer> {
    pub(crate) id: &'static str,
    pub(crate) severity: Severity,
    pub(crate) title: &'static str,
    pub(crate) why: &'static str,
    pub(crate) fix: &'static str,
    /// What fixes it, each by itself.
    pub(crate) by: &'static [Fix],
    pub(crate) source: &'static str,
    pub(crate) check: Check,
}

/// What fixes what a rule finds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fix {
    /// A setting of `tune`, as its command line has it.
    Tune(&'static str),
    Setup,
    Boot,
    Firmware,
    Rebuild,
    Hypervisor,
    Program,
}

impl Fix {
    pub(crate) const fn fixer(self) -> Fixer {
        match self {
            Self::Tune(_) => Fixer::Tune,
            Self::Setup => Fixer::Setup,
            Self::Boot => Fixer::Boot,
            Self::Firmware => Fixer::Firmware,
            Self::Rebuild => Fixer::Rebuild,
            Self::Hypervisor => Fixer::Hypervisor,
            Self::Program => Fixer::Program,
        }
    }
}

/// What a rule says, or the file without which it can say nothing.
pub(crate) type Answer = Result<RuleVerdict, NotKnown>;

/// What a rule rests on could not be read.
#[derive(Debug)]
pub(crate) struct NotKnown(pub(crate) Vec<Evidence>);

/// What a rule says.
#[derive(Debug)]
pub(crate) struct RuleVerdict {
    pub(crate) outcome: RuleOutcome,
    pub(crate) says: String,
    pub(crate) evidence: Vec<Evidence>,
    /// Knobs among what fixes it that change nothing on this machine.
    pub(crate) useless: &'static [&'static str],
}

impl RuleVerdict {
    /// Says that some knobs do not help on this machine.
    pub(crate) const fn useless(mut self, knobs: &'static [&'static str]) -> Self {
        self.useless = knobs;
        self
    }
}

/// What is looked for is there.
pub(crate) fn found(says: impl Into<String>, evidence: impl Into<Vec<Evidence>>) -> Answer {
    answer(RuleOutcome::Found, says, evidence)
}

/// It is not there.
pub(crate) fn fine(says: impl Into<String>, evidence: impl Into<Vec<Evidence>>) -> Answer {
    answer(RuleOutcome::Fine, says, evidence)
}

/// The question is not applicable here.
pub(crate) fn not_applicable(says: impl Into<String>) -> Answer {
    answer(RuleOutcome::NotApplicable, says, Vec::new())
}

/// It is there if there is evidence of it.
pub(crate) fn found_if(
    evidence: Vec<Evidence>,
    found_says: impl Into<String>,
    fine_says: impl Into<String>,
    looked_at: impl Into<Vec<Evidence>>,
) -> Answer {
    if evidence.is_empty() {
        fine(fine_says, looked_at)
    } else {
        found(found_says, evidence)
    }
}

fn answer(
    outcome: RuleOutcome,
    says: impl Into<String>,
    evidence: impl Into<Vec<Evidence>>,
) -> Answer {
    Ok(RuleVerdict {
        outcome,
        says: says.into(),
        evidence: evidence.into(),
        useless: &[],
    })
}

/// Names CPUs: `CPU 3`, `CPUs 2-3`.
pub(crate) fn named(cpus: &CpuSet) -> String {
    let plural = if cpus.len() == 1 { "" } else { "s" };
    format!("CPU{plural} {cpus}")
}

/// The list of CPUs, which every kernel has.
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// The longest value that is cited, in characters.
const CITED: usize = 160;

/// Makes evidence of a value.
pub(crate) fn evidence(path: impl Into<String>, value: impl Into<String>) -> Evidence {
    // On one line, and a tab is a blank.
    let value: String = value.into();
    let mut value = value.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = value.char_indices().nth(CITED) {
        value.truncate(end);
        value.push_str(" ...");
    }
    Evidence {
        path: path.into(),
        value: Some(value),
        problem: None,
    }
}

/// Makes evidence of a file without a value.
pub(crate) fn unread(path: &str, why: &Unread) -> Evidence {
    Evidence {
        path: path.to_owned(),
        value: None,
        problem: Some(why.to_string()),
    }
}

/// What a file holds is not what it should.
pub(crate) fn odd(path: &str, text: &str) -> NotKnown {
    let start: String = text.chars().take(40).collect();
    NotKnown(vec![unread(path, &Unread::Odd(start))])
}

/// A value and the file that it is from.
#[derive(Clone, Debug)]
pub(crate) struct Seen<T> {
    pub(crate) path: String,
    text: String,
    pub(crate) value: T,
}

impl<T> Seen<T> {
    pub(crate) fn evidence(&self) -> Evidence {
        evidence(&*self.path, &*self.text)
    }
}

impl<T> From<&Seen<T>> for Vec<Evidence> {
    fn from(seen: &Seen<T>) -> Self {
        vec![seen.evidence()]
    }
}

/// A machine, and the CPUs on it that are judged.
#[derive(Debug)]
pub(crate) struct Case<'a> {
    pub(crate) machine: &'a Machine,
    /// The CPUs that real-time work is meant for.
    pub(crate) cpus: CpuSet,
    pub(crate) online: CpuSet,
}

impl<'a> Case<'a> {
    /// Whether other CPUs are left for all that is not real-time.
    pub(crate) fn apart(&self) -> bool {
        !self.cpus.is_empty() && !self.online.without(&self.cpus).is_empty()
    }

    /// Returns the text of a file.
    pub(crate) fn text(&self, path: &str) -> Result<Seen<&'a str>, NotKnown> {
        match self.machine.read(path) {
            Ok(text) => Ok(Seen {
                path: path.to_owned(),
                text: text.to_owned(),
                value: text,
            }),
            Err(why) => Err(NotKnown(vec![unread(path, why)])),
        }
    }

    /// Returns the text of a file, nothing where there is no such file.
    pub(crate) fn text_if(&self, path: &str) -> Result<Option<Seen<&'a str>>, NotKnown> {
        match self.machine.read(path) {
            Err(Unread::Missing) if self.is_hidden(path) => {
                let hidden = Unread::LeftAlone("/sys is not there");
                Err(NotKnown(vec![unread(path, &hidden)]))
            }
            Err(Unread::Missing) => Ok(None),
            _ => self.text(path).map(Some),
        }
    }

    /// Whether a file is of a tree that is not there at all, such as /sys in a chroot: then it says nothing that the kernel
    /// has no such file.
    fn is_hidden(&self, path: &str) -> bool {
        path.starts_with("/sys/") && self.machine.read(ONLINE) == Err(&Unread::Missing)
    }

    /// Asks for a CPU that is judged: a rule about each of none would be fine.
    pub(crate) fn some_cpu(&self) -> Result<(), NotKnown> {
        match self.cpus.is_empty() {
            true => Err(NotKnown(vec![unread(ONLINE, &Unread::Missing)])),
            false => Ok(()),
        }
    }

    /// Returns what a file holds, nothing where there is no such file.
    pub(crate) fn value_if<T: FromStr>(&self, path: &str) -> Result<Option<Seen<T>>, NotKnown> {
        let Some(seen) = self.text_if(path)? else {
            return Ok(None);
        };
        self.parsed(&seen, |text| text.parse().ok()).map(Some)
    }

    /// Returns what a file holds.
    pub(crate) fn value<T: FromStr>(&self, path: &str) -> Result<Seen<T>, NotKnown> {
        let seen = self.text(path)?;
        self.parsed(&seen, |text| text.parse().ok())
    }

    /// Returns a number that a file holds, nothing where there is no such file.
    pub(crate) fn number_if(&self, path: &str) -> Result<Option<Seen<i64>>, NotKnown> {
        self.value_if(path)
    }

    /// Takes a text apart; what cannot be is not known.
    pub(crate) fn parsed<T>(
        &self,
        seen: &Seen<&'a str>,
        parse: impl FnOnce(&'a str) -> Option<T>,
    ) -> Result<Seen<T>, NotKnown> {
        match parse(seen.value.trim()) {
            Some(value) => Ok(Seen {
                path: seen.path.clone(),
                text: seen.text.clone(),
                value,
            }),
            None => Err(odd(&seen.path, seen.value)),
        }
    }

    /// Returns a file of each judged CPU that has it, below the CPU's directory.
    pub(crate) fn each_cpu(&self, name: &str) -> Result<Vec<(u32, Seen<&'a str>)>, NotKnown> {
        self.some_cpu()?;
        let mut all = Vec::new();
        for cpu in self.cpus.iter() {
            if let Some(seen) = self.text_if(&format!("{CPU}/cpu{cpu}/{name}"))? {
                all.push((cpu, seen));
            }
        }
        Ok(all)
    }

    /// Returns the files whose path begins with `prefix` and ends with `suffix`, as far as they
    /// could be read. Where there are some and none could be, that is not known.
    pub(crate) fn files(
        &self,
        prefix: &'a str,
        suffix: &'a str,
    ) -> Result<Vec<Seen<&'a str>>, NotKnown> {
        let mut readable = Vec::new();
        let mut refused = Vec::new();
        for (path, reading) in self.machine.under(prefix) {
            match reading {
                _ if !path.ends_with(suffix) => {}
                Ok(text) => readable.push(Seen {
                    path: path.to_owned(),
                    text: text.to_owned(),
                    value: text.as_str(),
                }),
                Err(why) => refused.push(unread(path, why)),
            }
        }
        if readable.is_empty() && refused.is_empty() && self.is_hidden(prefix) {
            refused.push(unread(prefix, &Unread::LeftAlone("/sys is not there")));
        }
        if readable.is_empty() && !refused.is_empty() {
            return Err(NotKnown(refused));
        }
        Ok(readable)
    }

    /// Returns the configuration of the kernel.
    pub(crate) fn config(&self) -> Result<&'a Config, NotKnown> {
        self.machine.config().ok_or_else(|| {
            let release = self.machine.read("/proc/sys/kernel/osrelease");
            let places = crate::machine::PLACES.iter().map(|place| {
                let path = place.replace("{release}", release.unwrap_or("RELEASE"));
                let why = self.machine.read(&path).err().unwrap_or(&Unread::Missing);
                unread(&path, why)
            });
            NotKnown(places.collect())
        })
    }

    /// Returns the kernel's command line.
    pub(crate) fn boot(&self) -> Result<Boot<'a>, NotKnown> {
        Ok(Boot(boot::words(self.text("/proc/cmdline")?.value)))
    }
}

/// The words of the kernel's command line.
#[derive(Debug)]
pub(crate) struct Boot<'a>(Vec<&'a str>);

impl<'a> Boot<'a> {
    /// Returns the last word of a parameter, such as `nohz=off`, and what is behind its `=`.
    pub(crate) fn find(&self, name: &str) -> Option<(&'a str, &'a str)> {
        let name = boot::name(name);
        let word = self.0.iter().rfind(|word| boot::name(word) == name)?;
        Some((word, word.split_once('=').map_or("", |(_, value)| value)))
    }

    /// Whether a parameter is switched off, as the kernel reads a truth value (`kstrtobool`).
    pub(crate) fn is_off(&self, name: &str) -> bool {
        let value = self.find(name).map_or("", |(_, value)| value);
        match value.as_bytes() {
            [b'0' | b'n' | b'N' | b'f' | b'F', ..] => true,
            [b'o' | b'O', second, ..] => second.eq_ignore_ascii_case(&b'f'),
            _ => false,
        }
    }

    /// Whether a parameter has a value, or is there without one if that is empty.
    pub(crate) fn is(&self, name: &str, value: &str) -> bool {
        self.find(name).is_some_and(|(_, given)| given == value)
    }

    /// Makes evidence of the words that name a parameter.
    pub(crate) fn evidence(&self, names: &[&str]) -> Vec<Evidence> {
        let words = names.iter().filter_map(|name| self.find(name));
        words
            .map(|(word, _)| evidence("/proc/cmdline", word))
            .collect()
    }

    /// Makes evidence that a parameter is not there.
    pub(crate) fn without(name: &str) -> Evidence {
        evidence("/proc/cmdline", format!("no {name}"))
    }
}

impl Config {
    /// Makes evidence of an option, set or not.
    pub(crate) fn evidence(&self, option: &str) -> Evidence {
        let value = match self.value(option) {
            Some(value) => format!("CONFIG_{option}={value}"),
            None => format!("CONFIG_{option} is not set"),
        };
        evidence(&*self.path, value)
    }

    /// Makes evidence of those options that are set.
    pub(crate) fn evidence_of_set(&self, options: &[&str]) -> Vec<Evidence> {
        let set: Vec<_> = options
            .iter()
            .filter(|option| self.has(option))
            .map(|option| format!("CONFIG_{option}=y"))
            .collect();
        match set.is_empty() {
            true => Vec::new(),
            false => vec![evidence(&*self.path, set.join(" "))],
        }
    }
}
