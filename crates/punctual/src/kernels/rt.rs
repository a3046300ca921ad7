// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From a source to the comparison of a stock and a real-time kernel. What is done is written down after each step, so the same
//! command goes on where it was stopped.

mod order;
mod steps;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Instant;

use punctual_kernel::boot::Architecture;
use punctual_kernel::guest::Model;
use punctual_kernel::source::{KernelStore, StoredKind, Tree};
use punctual_model::{KERNEL_RT_FORMAT, KernelModel, RtFlow, RtStep, RtStepKind};

pub(crate) use self::order::{Order, Says};
use super::build::has_model;
use super::kernel_store::{self, failed, now};
use crate::error::CliError;
use crate::guests::Host;
use crate::output::{print, remark};
use crate::signals::StopRequest;

/// Linux has `PREEMPT_RT` in its own source since this version.
const IN_TREE: (u32, u32) = Tree::REALTIME;

/// It takes the preemption model at the boot since this one.
const DYNAMIC: (u32, u32) = (5, 12);

/// A flow that is carried out.
struct Run<'a> {
    home: Option<&'a Path>,
    stock: KernelStore,
    order: &'a Order,
    version: Version,
    stop: StopRequest,
    flow: RtFlow,
    /// Whether the flow had fetched its source itself when it was gone on with.
    fetched_source: bool,
}

/// Does the steps up to `last` that are not done yet. Each one says what it did.
///
/// # Errors
///
/// Fails with the first step that fails, and if the flow was begun with other options.
pub(crate) fn carried_out(
    home: Option<&Path>,
    order: &Order,
    last: RtStepKind,
    stop: StopRequest,
) -> Result<RtFlow, CliError> {
    let version = Version::parse(&order.version)?;
    if order.wish.model.is_some() {
        return Err(CliError::usage(
            "--model: `kernel rt` builds a stock and a real-time kernel; --stock chooses the stock one's",
        ));
    }
    let stock = order.stock();
    if stock == Model::Rt {
        return Err(CliError::usage(
            "--stock rt: the stock kernel is what the real-time one is compared with",
        ));
    }
    has_model("--stock", stock.name(), &order.version)?;
    let (name, asked) = (order.name(), order.asked());
    let stock = kernel_store::open(home)?;
    let known = stock.flow(&name);
    let known = known.map_err(|err| failed(&format!("read what {name} has done"), err))?;
    let flow = match known {
        Some(flow) => same(flow, &asked)?,
        None => RtFlow {
            format: KERNEL_RT_FORMAT.to_owned(),
            name,
            asked,
            steps: Vec::new(),
            experiment: None,
            boot: None,
            test: None,
        },
    };
    let mut run = Run {
        home,
        stock,
        order,
        version,
        stop,
        fetched_source: steps::has_fetched(&flow),
        flow,
    };
    run.needs_patch_before_fetching()?;
    let arch = order.arch.or_else(Architecture::here);
    if let Some(arch) = arch.filter(|_| run.flow.done(last).is_none()) {
        // What its guests lack is said before two kernels are built.
        Host::of(arch)?.version()?;
    }
    let _held = run
        .stock
        .work_in(StoredKind::Flow, &run.flow.name)
        .map_err(|err| failed(&format!("go on with {}", run.flow.name), err))?;
    run.has_same_files()?;
    let steps = RtStepKind::ALL.iter().copied();
    let steps: Vec<RtStepKind> = steps.filter(|step| *step <= last).collect();
    for (number, step) in (1..).zip(&steps) {
        run.step((number, steps.len()), *step)?;
    }
    Ok(run.flow)
}

/// Returns the kernels that a flow has built as guests in virtual time, the stock one first, as `measure --target` takes them.
pub(crate) fn targets(home: Option<&Path>, order: &Order) -> Result<[String; 2], CliError> {
    let rows = steps::rows(home, order)?;
    Ok(rows.map(|row| row.target(&steps::common()).words()))
}

/// Returns the version that `kernel rt` takes of a source: of a package by its name, of a directory or a source of the store as its Makefile has it.
///
/// # Errors
///
/// Fails if there is no such source, and if it has no `PREEMPT_RT`.
pub(crate) fn version_of(home: Option<&Path>, source: &str) -> Result<String, CliError> {
    let (version, has_realtime) = match source.strip_prefix("linux-source-") {
        Some(version) => (
            version.to_owned(),
            Version::parse(version)?.number >= IN_TREE,
        ),
        None => {
            let tree = kernel_store::find(&kernel_store::open(home)?, source.as_ref())?.tree;
            let numbers = tree
                .version
                .split(|c: char| !c.is_ascii_digit() && c != '.');
            let version = numbers.take(1).collect::<String>();
            (version, tree.has_realtime())
        }
    };
    if has_realtime {
        return Ok(version);
    }
    Err(CliError::usage(format!(
        "{source}: Linux {version} has no PREEMPT_RT of its own, which came with 6.12"
    ))
    .hint(format!(
        "`punctual kernel rt {version} --patch SERIES` builds both kernels; a study finds them in the store"
    )))
}

/// What the checksum of an option's files is noted under.
const SHA256: &str = "-sha256";

/// Returns the flow if it was begun with the same options.
fn same(flow: RtFlow, asked: &BTreeMap<String, String>) -> Result<RtFlow, CliError> {
    if flow.format != KERNEL_RT_FORMAT {
        let why = format!("its format is {}, not {KERNEL_RT_FORMAT}", flow.format);
        return Err(CliError::failed_to(format!("go on with {}", flow.name)).because(why));
    }
    let names = flow.asked.keys().chain(asked.keys());
    let names = names.filter(|name| !name.ends_with(SHA256));
    let mut names = names.filter(|name| flow.asked.get(*name) != asked.get(*name));
    let Some(name) = names.next() else {
        return Ok(flow);
    };
    let said = |of: &BTreeMap<String, String>| {
        of.get(name)
            .map_or_else(|| "none".to_owned(), |value| format!("`{value}`"))
    };
    let error = CliError::usage(format!(
        "--{name}: {} was begun with {}, not {}",
        flow.name,
        said(&flow.asked),
        said(asked)
    ));
    let version = flow.asked.get("version").map_or("", String::as_str);
    let before = flow.asked.get("stock");
    let again = match before.map(|stock| has_model("--stock", stock, version)) {
        // An older program took what the kernel does not have.
        Some(Err(_)) => "give",
        _ => "give the same options as before,",
    };
    Err(error.hint(format!(
        "{again} another --name, or forget what it did with `punctual kernel rm {}`",
        flow.name
    )))
}

impl Run<'_> {
    /// Refuses at once what could not go on after the source was fetched. That a directory has the patch in it shows only there.
    fn needs_patch_before_fetching(&self) -> Result<(), CliError> {
        let may_have_it =
            |source: &str| Path::new(source).is_dir() || self.stock.source(source).is_ok();
        let may_have_it = self.order.source.as_deref().is_some_and(may_have_it);
        if self.version.number >= IN_TREE || self.order.patch.is_some() || may_have_it {
            return Ok(());
        }
        Err(self.needs_patch())
    }

    /// Refuses files that changed after they were used; before that, they may be mended.
    fn has_same_files(&mut self) -> Result<(), CliError> {
        let before = self.flow.asked.clone();
        for (option, files) in self.order.files() {
            let used = match option {
                "patch" => self.is_patched(),
                _ => self.flow.done(RtStepKind::Stock).is_some(),
            };
            if used && files.iter().any(|path| is_gone(path)) {
                // A step that needs it again says so.
                continue;
            }
            let sha256 = order::sha256(option, &files)?;
            let name = format!("{option}{SHA256}");
            match before.get(&name) {
                Some(known) if used && *known != sha256 => {
                    let flow = &self.flow.name;
                    let error = CliError::usage(format!(
                        "--{option}: the content has changed since {flow} used it"
                    ));
                    return Err(error.hint(format!(
                        "give another --name, or forget what it did with `punctual kernel rm {flow}`"
                    )));
                }
                // Older programs noted none.
                None if used => {}
                _ => drop(self.flow.asked.insert(name, sha256)),
            }
        }
        match self.flow.steps.is_empty() || self.flow.asked == before {
            true => Ok(()),
            false => self.keep(),
        }
    }

    fn needs_patch(&self) -> CliError {
        let (major, minor) = self.version.number;
        CliError::usage(format!(
            "--patch: Linux {} has no PREEMPT_RT of its own, which came with 6.12: name the patch or the directory of patches",
            self.order.version
        ))
        .hint(format!(
            "they are in https://cdn.kernel.org/pub/linux/kernel/projects/rt/{major}.{minor}/, and in debian/patches-rt of Debian's sources"
        ))
    }

    /// Does a step, unless it is done and what it made is there.
    fn step(&mut self, (number, all): (usize, usize), step: RtStepKind) -> Result<(), CliError> {
        let label = format!("{number} of {all}  {:8}", step.name());
        if self.flow.done(step).is_some() {
            match self.is_lost(step) {
                None => {
                    let did = self.flow.done(step).map_or("", |done| &done.did);
                    return self.say(&format!("{label}already done: {did}"));
                }
                Some(lost) => {
                    self.say(&format!("{label}again: {lost}"))?;
                    self.flow.forget_from(step);
                }
            }
        }
        if self.stop.is_set() {
            return Err(
                CliError::failed_to(format!("go on with {}: interrupted", self.flow.name))
                    .hint("the same command goes on from here"),
            );
        }
        let begun = Instant::now();
        let did = self.carry_out(step)?;
        let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let at = now();
        self.say(&format!("{label}{did} ({})", seconds(took_ms)))?;
        self.flow.steps.push(RtStep {
            step,
            did,
            at,
            took_ms,
        });
        self.keep()
    }

    fn keep(&self) -> Result<(), CliError> {
        let kept = self.stock.keep_flow(&self.flow);
        kept.map_err(|err| failed("note what was done", err))
    }

    /// Says something of a step.
    fn say(&self, line: &str) -> Result<(), CliError> {
        match self.order.says {
            Says::Nothing => Ok(()),
            Says::Remarks => {
                remark(line);
                Ok(())
            }
            Says::Steps => print(&format!("{line}\n")),
        }
    }

    fn stock_model(&self) -> KernelModel {
        match self.order.stock() {
            _ if self.version.is_dynamic() => KernelModel::Dynamic,
            Model::None => KernelModel::None,
            Model::Full => KernelModel::Full,
            _ => KernelModel::Voluntary,
        }
    }
}

fn is_gone(path: &Path) -> bool {
    fs::metadata(path).is_err_and(|err| err.kind() == io::ErrorKind::NotFound)
}

fn seconds(ms: u64) -> String {
    match ms / 1_000 {
        s if s >= 60 => format!("{} min {} s", s / 60, s % 60),
        s => format!("{s}.{} s", ms % 1_000 / 100),
    }
}

/// A version as the user wrote it.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Version {
    /// The first two numbers.
    number: (u32, u32),
    text: String,
}

impl Version {
    fn parse(text: &str) -> Result<Self, CliError> {
        let mut parts = text.split('.');
        let mut number = || {
            let part = parts.next().unwrap_or_default();
            let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            part.parse::<u32>().ok().filter(|_| digits)
        };
        let (major, minor, patch) = (number(), number(), number());
        let whole = text.split('.').count() <= if patch.is_some() { 3 } else { 2 };
        match (major, minor) {
            (Some(major), Some(minor)) if whole => Ok(Self {
                number: (major, minor),
                text: text.to_owned(),
            }),
            _ => Err(CliError::usage(format!(
                "{text}: not a version of Linux, such as 6.12 or 5.10.35"
            ))),
        }
    }

    /// Whether a stock kernel of it takes its preemption model at the boot.
    fn is_dynamic(&self) -> bool {
        self.number >= DYNAMIC
    }

    /// Whether a tree of version `found` is of this one: 6.12.117 is of 6.12, 6.1 is not.
    fn has(&self, found: &str) -> bool {
        let rest = found.strip_prefix(&self.text);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_two_or_three_numbers() {
        assert_eq!(Version::parse("6.12").unwrap().number, (6, 12));
        assert_eq!(Version::parse("5.10.35").unwrap().number, (5, 10));
        for wrong in [
            "6", "", "6.", "six.one", "6.12.1.2", "+6.12", "6.12-rt", "6..1",
        ] {
            assert!(Version::parse(wrong).is_err(), "{wrong}");
        }
        let version = Version::parse("6.1").unwrap();
        assert!(version.has("6.1") && version.has("6.1.176") && version.has("6.1-rc3"));
        assert!(!version.has("6.12.9") && !version.has("5.6.1"));
    }

    #[test]
    fn versions_are_ordered_by_number() {
        assert!(Version::parse("6.9").unwrap().number < IN_TREE);
        assert!(Version::parse("6.12.1").unwrap().number >= IN_TREE);
        assert!(Version::parse("5.9").unwrap().number < DYNAMIC);
    }
}
