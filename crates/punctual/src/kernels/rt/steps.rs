// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What each step does, with the functions of what does the same alone.

use std::path::Path;

use punctual_kernel::GuestTarget;
use punctual_kernel::boot::Machine;
use punctual_kernel::config::{Wish, configure};
use punctual_kernel::guest::Model;
use punctual_kernel::latency_test::{Baseline, Common, Row};
use punctual_kernel::patch::Limits;
use punctual_kernel::source::{self, Fetched, KernelStoreError, StoredKind, WantedSource};
use punctual_model::{
    AppliedSeries, BandVerdict, Check, KernelModel, KernelSource, Nanos, PatchOutcome, PatchResult,
    RtFlow, RtStepKind, UnmetOption,
};
use punctual_sys::SysRoot;

use super::super::{boot, build, config, kernel_store, latency_test, patch};
use super::{Order, Run, Says, Version};
use crate::error::CliError;
use kernel_store::{FoundSource, failed};
use latency_test::Test;

/// Time after which a boot is given up, by this machine's clock.
const BOOT_LIMIT: Nanos = Nanos::from_secs(600);

/// What both kernels are booted with.
pub(super) fn common() -> Common {
    Common {
        append: Vec::new(),
        time_limit: BOOT_LIMIT,
    }
}

/// How what a flow did begins where it fetched its source and did not find it in the store.
const FETCHED: &str = "fetched ";

/// Whether a flow fetched its source itself.
pub(super) fn has_fetched(flow: &RtFlow) -> bool {
    let done = flow.done(RtStepKind::Source);
    done.is_some_and(|done| done.did.starts_with(FETCHED))
}

/// Returns both kernels, the stock one first, with its model.
pub(super) fn rows(home: Option<&Path>, order: &Order) -> Result<[Row; 2], CliError> {
    let model = match Version::parse(&order.version)?.is_dynamic() {
        true => format!(",model={}", order.stock()),
        false => String::new(),
    };
    let stock = format!("stock={}{model}", order.build_name("stock"));
    let rt = format!("rt={}", order.build_name("rt"));
    let rows = latency_test::rows(home, &[stock, rt], &[])?;
    // A row each: the stock kernel has one model, the other one is real-time.
    rows.try_into().map_err(|rows: Vec<Row>| {
        let names: Vec<String> = rows
            .iter()
            .map(|row| format!("{}:{}", row.kernel, row.model_name()))
            .collect();
        CliError::failed_to("compare the kernels").because(format!("they are {}", names.join(", ")))
    })
}

impl Run<'_> {
    /// Does a step, and returns what it did.
    pub(super) fn carry_out(&mut self, step: RtStepKind) -> Result<String, CliError> {
        match step {
            RtStepKind::Source => self.fetch(),
            RtStepKind::Stock => self.build("stock", self.stock_model()),
            RtStepKind::Patch => self.patch(),
            RtStepKind::Config => self.configure(),
            RtStepKind::Build => self.build("rt", KernelModel::Rt),
            RtStepKind::Boot => self.boot(),
            RtStepKind::Compare => self.compare(),
        }
    }

    /// Whether the flow's own source has the series that was ordered.
    pub(super) fn is_patched(&self) -> bool {
        let known = self.stock.source(&self.source_name());
        known.is_ok_and(|known| self.has_series(&known))
    }

    fn has_series(&self, source: &KernelSource) -> bool {
        source.patches.iter().any(|done| self.is_ordered(done))
    }

    fn is_ordered(&self, done: &AppliedSeries) -> bool {
        self.order.patch.as_deref() == Some(Path::new(&done.series))
    }

    /// Whether it has that before the stock kernel is built.
    fn is_patched_too_early(&self) -> bool {
        let has_stock = self.flow.done(RtStepKind::Stock).is_some() && self.has_build("stock");
        self.is_patched() && !has_stock
    }

    fn has_build(&self, kernel: &str) -> bool {
        let found = self.stock.bootable(&self.order.build_name(kernel));
        found.is_ok_and(|(image, _)| image.is_file())
    }

    /// Says what of a step that was done is not there any more.
    pub(super) fn is_lost(&self, step: RtStepKind) -> Option<String> {
        let build = |kernel| {
            let name = self.order.build_name(kernel);
            (!self.has_build(kernel)).then(|| format!("build {name} is not in the store any more"))
        };
        match step {
            RtStepKind::Source => {
                let name = self.source_name();
                let there = self.find().is_ok();
                if there && self.is_patched_too_early() {
                    return Some(format!(
                        "source {name} has the patches, and the stock kernel is to be built without"
                    ));
                }
                (!there).then(|| format!("source {name} is not in the store any more"))
            }
            RtStepKind::Stock => build("stock"),
            RtStepKind::Build => build("rt"),
            RtStepKind::Boot => self
                .flow
                .boot
                .is_none()
                .then(|| "its result is missing".to_owned()),
            RtStepKind::Compare => self
                .flow
                .test
                .is_none()
                .then(|| "its result is missing".to_owned()),
            RtStepKind::Patch | RtStepKind::Config => None,
        }
    }

    /// The source's name in the store: that of the flow, or the one that was named and stays as it is.
    fn source_name(&self) -> String {
        let named = self
            .order
            .source
            .clone()
            .filter(|_| self.order.patch.is_none());
        let known = named.filter(|name| self.stock.source(name).is_ok());
        known.unwrap_or_else(|| self.flow.name.clone())
    }

    fn find(&self) -> Result<FoundSource, CliError> {
        let found = kernel_store::find(&self.stock, Path::new(&self.source_name()))?;
        Ok(found.built_for(self.order.arch))
    }

    fn fetch(&self) -> Result<String, CliError> {
        let name = self.source_name();
        let known = self.stock.source(&name).ok();
        let too_early = self.is_patched_too_early();
        if let Some(known) = &known
            && !too_early
        {
            // Named, or fetched before this program was stopped.
            self.has_checksum(known)?;
            let found = self.find()?;
            self.is_of_version(&found.tree.version)?;
            return Ok(format!(
                "Linux {} is in the store as {name}",
                found.tree.version
            ));
        }
        if let Some(known) = &known {
            let only_ordered = known.patches.iter().all(|done| self.is_ordered(done));
            if !(self.fetched_source && only_ordered) {
                return Err(self.cannot_unpatch(&name));
            }
            // Without the series the source that has it is the only one: it is not given up.
            let series = self
                .order
                .files()
                .into_iter()
                .find(|(of, _)| *of == "patch");
            if let Some((option, files)) = series {
                super::order::sha256(option, &files)?;
            }
        }
        let default = || format!("linux-source-{}", self.order.version);
        let word = self.order.source.clone().unwrap_or_else(default);
        let wanted = self.wanted(&word)?;
        if known.is_some() {
            let removed = self.remove(StoredKind::Source, &name);
            removed.map_err(|err| failed(&format!("remove the source {name}"), err))?;
        }
        let (named, sha256) = (Some(name.clone()), self.order.sha256.clone());
        let what = (word.as_str(), &wanted);
        match kernel_store::fetched(&self.stock, what, named, sha256, &self.stop)? {
            Fetched::Source(source) => {
                if let Err(err) = self.is_of_version(&source.version) {
                    // Of a wrong one nothing is to be found the next time.
                    drop(self.remove(StoredKind::Source, &name));
                    return Err(err);
                }
                Ok(format!(
                    "{FETCHED}Linux {} from {} as {name}",
                    source.version, source.from
                ))
            }
            Fetched::Image(image) => {
                drop(self.remove(StoredKind::Image, &name));
                Err(CliError::usage(format!(
                    "--source {}: is an image, not a source",
                    image.from
                )))
            }
        }
    }

    fn remove(&self, kind: StoredKind, name: &str) -> Result<(), KernelStoreError> {
        self.stock.remove(self.stock.claim(kind, name)?)
    }

    /// Refuses a source whose patches cannot be taken out by fetching it again: it may have work of the user's.
    fn cannot_unpatch(&self, name: &str) -> CliError {
        let flow = &self.flow.name;
        CliError::usage(format!(
            "--patch: source {name} has the patches already, and {flow} builds the stock kernel without them"
        ))
        .hint(format!(
            "name a source without them with --source, and give a --name other than {name}"
        ))
    }

    /// Refuses a source of the store that does not have the checksum that was given.
    fn has_checksum(&self, known: &KernelSource) -> Result<(), CliError> {
        let Some(asked) = &self.order.sha256 else {
            return Ok(());
        };
        let of_known = known.sha256.as_deref();
        if of_known.is_some_and(|of_known| of_known.eq_ignore_ascii_case(asked)) {
            return Ok(());
        }
        let name = &known.name;
        Err(match of_known {
            Some(of_known) => CliError::failed_to(format!("take the source {name}"))
                .because(format!("its SHA-256 is {of_known}, not that of --sha256")),
            None => CliError::usage(format!(
                "--sha256: no archive was fetched for the source {name}, so it has no checksum"
            )),
        })
    }

    /// Returns what is to be fetched. What is patched is a copy: a directory of the user's, or another source of the store,
    /// stays as it is.
    fn wanted(&self, word: &str) -> Result<WantedSource, CliError> {
        // What has the flow's own name is what is to be fetched anew.
        let other = (word != self.source_name()).then(|| self.stock.source(word));
        let wanted = match other {
            Some(Ok(known)) if self.has_series(&known) => return Err(self.cannot_unpatch(word)),
            Some(Ok(known)) => WantedSource::Directory(known.tree.into()),
            _ => kernel_store::wanted(word)?,
        };
        let (WantedSource::Directory(tree), true) = (&wanted, self.order.patch.is_some()) else {
            return Ok(wanted);
        };
        let what = format!("copy {}", tree.display());
        let place = self.stock.place(StoredKind::Flow, &self.flow.name);
        let copy = place.map_err(|err| failed(&what, err))?.join("source");
        source::copy(tree, &copy, &|| self.stop.is_set()).map_err(|err| failed(&what, err))?;
        Ok(WantedSource::Directory(copy))
    }

    fn is_of_version(&self, found: &str) -> Result<(), CliError> {
        if self.version.has(found) {
            return Ok(());
        }
        Err(CliError::usage(format!(
            "{}: the source is Linux {found}",
            self.order.version
        ))
        .hint("name the version of the source, or another source with --source"))
    }

    fn wish(&self, model: KernelModel) -> Wish {
        Wish {
            model: Some(model),
            ..self.order.wish.clone()
        }
    }

    fn build(&self, kernel: &str, model: KernelModel) -> Result<String, CliError> {
        let name = self.order.build_name(kernel);
        let manner = build::Manner {
            jobs: self.order.jobs,
            ccache: self.order.ccache,
            package: false,
            only: Vec::new(),
            anyway: self.order.anyway,
            quiet: self.order.says == Says::Nothing,
        };
        let orders = vec![(name.clone(), self.wish(model))];
        let report = build::built(&self.stock, &self.find()?, orders, &manner, &self.stop)?;
        let Some(built) = report
            .builds
            .first()
            .filter(|_| build::is_complete(&report))
        else {
            let log = report.builds.first().map_or("", |build| &build.log);
            let (what, hint) = match self.stop.is_set() {
                true => ("interrupted", "the same command goes on with it"),
                false => (
                    "make failed",
                    "the same command goes on with it after the cause is removed",
                ),
            };
            return Err(CliError::failed_to(format!(
                "build {name}: {what}; its output is in {log}"
            ))
            .hint(hint));
        };
        Ok(format!(
            "built {} as {name}: base {}, model {model}, {} compiler steps, {} warnings",
            built.release.as_deref().unwrap_or("a kernel"),
            built.base,
            built.steps,
            built.warnings
        ))
    }

    fn patch(&self) -> Result<String, CliError> {
        let found = self.find()?;
        let Some(series) = &self.order.patch else {
            return match found.tree.has_realtime() {
                true => Ok(format!(
                    "nothing to apply: PREEMPT_RT is in Linux {}",
                    found.tree.version
                )),
                false => Err(self.needs_patch()),
            };
        };
        let applied = |names: usize, left_out: usize| {
            let left_out = match left_out {
                0 => String::new(),
                n => format!(", {n} left out"),
            };
            format!("applied {names} patches of {}{left_out}", series.display())
        };
        if let Some(known) = &found.known
            && let Some(done) = known
                .patches
                .iter()
                .find(|done| Path::new(&done.series) == series)
        {
            // Applied before this program was stopped.
            return Ok(applied(done.applied.len(), done.left_out.len()));
        }
        // It is to be changed, and so nobody may use it.
        let version = found.tree.version.clone();
        drop(found);
        let limits = Limits {
            fuzz: self.order.fuzz,
            leave_out: self.order.leave_out,
            trial: false,
        };
        let source = self.source_name();
        let report = patch::put_in(&self.stock, source.as_ref(), series, limits, &self.stop)?;
        if patch::fails(&report) && !self.order.leave_out {
            let failing = report
                .patches
                .iter()
                .filter(|patch| patch.outcome == PatchOutcome::Fails);
            let names: Vec<&str> = failing.map(|patch| patch.name.as_str()).collect();
            let why = format!(
                "{} of {} patches do not apply to Linux {}, first {}; the source is unchanged",
                names.len(),
                report.patches.len(),
                version,
                names.first().unwrap_or(&"?")
            );
            let hint = format!(
                "`punctual kernel patch {} {} --dry-run` shows the hunks; --fuzz lets their context differ",
                source,
                series.display()
            );
            return Err(CliError::failed_to(format!("apply {}", series.display()))
                .because(why)
                .hint(hint));
        }
        let is_out = |patch: &&PatchResult| patch.outcome == PatchOutcome::Fails;
        let left_out = report.patches.iter().filter(is_out).count();
        Ok(format!(
            "{}, {} files changed",
            applied(report.patches.len() - left_out, left_out),
            report.files
        ))
    }

    /// Makes the configuration apart from the build: what the source does not honour shows before the compilers run.
    fn configure(&self) -> Result<String, CliError> {
        let found = self.find()?;
        let scratch =
            tempfile::tempdir().map_err(|err| failed("make a temporary directory", err))?;
        let made = configure(
            &found.tree,
            scratch.path(),
            &self.wish(KernelModel::Rt),
            &SysRoot::live(),
            &|| self.stop.is_set(),
        );
        let made = made.map_err(config::not_configured)?;
        let is_off = |option: &&UnmetOption| option.name == "PREEMPT_RT" && option.wanted == "y";
        if let Some(unmet) = made.unmet.iter().find(is_off) {
            return Err(
                CliError::failed_to("configure the kernel: PREEMPT_RT is not set")
                    .because(unmet.why.clone()),
            );
        }
        let unmet = match made.unmet.len() {
            0 => "all as asked".to_owned(),
            n => format!("{n} not as asked"),
        };
        Ok(format!(
            "PREEMPT_RT is set, with {}; {} options were asked for, {unmet}",
            made.fragments.join(", "),
            made.wanted
        ))
    }

    fn boot(&mut self) -> Result<String, CliError> {
        let image = kernel_store::image(self.home, self.order.build_name("rt").as_ref())?;
        let target = GuestTarget {
            machine: Some(Machine::Virtual),
            model: Some(Model::Rt),
            time_limit: BOOT_LIMIT,
            ..GuestTarget::of(image)
        };
        let found = boot::visited(&target, None, None, &self.stop)?;
        let failed: Vec<&Check> = found
            .checks
            .iter()
            .filter(|check| !check.passed())
            .collect();
        if let Some(check) = failed.first() {
            let why = format!("{}: {}", check.id, check.detail);
            return Err(
                CliError::failed_to("boot the real-time kernel in virtual time").because(why),
            );
        }
        let model = found.checks.iter().find(|check| check.id == "guest-model");
        let did = format!(
            "Linux {} came up: {}; version line {}",
            found.host.kernel_release.as_deref().unwrap_or("?"),
            model.map_or("", |check| &check.detail),
            found.host.kernel_version.as_deref().unwrap_or("?")
        );
        self.flow.boot = Some(found);
        Ok(did)
    }

    fn compare(&mut self) -> Result<String, CliError> {
        let rows = rows(self.home, self.order)?;
        let test = Test {
            baseline: Some(Baseline::find("stock", &rows).map_err(latency_test::refused)?),
            rows: rows.into(),
            loads: latency_test::loads(&self.order.loads, false)?,
            seeds: self.order.seeds,
            samples: self.order.samples,
            interval: Nanos::from_millis(1),
            common: common(),
            tolerance: 0.0,
            jobs: self.order.jobs.map(usize::from),
            resume: self.flow.experiment.clone(),
            quiet: self.order.says == Says::Nothing,
        };
        let (home, stop) = (self.home, self.stop.clone());
        let tested = test.carry_out(home, stop, |name| {
            self.flow.experiment = Some(name.to_owned());
            self.keep()
        });
        let test = match tested {
            // The hint of the test names its own command.
            Err(_) if self.stop.is_set() => {
                return Err(CliError::failed_to("finish the comparison: interrupted")
                    .hint("the same command goes on with it"));
            }
            tested => tested?,
        };
        let count = |verdict| {
            test.comparisons
                .iter()
                .filter(|of| of.verdict == verdict)
                .count()
        };
        let loads: Vec<&str> = test
            .cells
            .iter()
            .filter(|cell| cell.kernel == "stock")
            .map(|cell| cell.load.as_str())
            .collect();
        let unjudged = match count(BandVerdict::Invalid) {
            0 => String::new(),
            n => format!(", not to be judged in {n}"),
        };
        let did = format!(
            "measured both under {}, with {} seeds each: real-time better in {} of {} figures, worse in {}{unjudged}",
            loads.join(", "),
            test.seeds,
            count(BandVerdict::Better),
            test.comparisons.len(),
            count(BandVerdict::Worse)
        );
        self.flow.test = Some(test);
        Ok(did)
    }
}
