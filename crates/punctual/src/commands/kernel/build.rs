// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual kernel build`.

mod view;

use std::path::Path;

use jiff::Timestamp;
use punctual_kernel::build::{BuildError, Estimate, Order, build};
use punctual_kernel::config::{Base, Wish};
use punctual_kernel::source::KernelStore;
use punctual_model::{BuildEnd, BuildReport, BuiltKernel, KERNEL_BUILD_FORMAT, KernelModel};
use punctual_report::document::Document;
use punctual_sys::SysRoot;

use self::view::Shown;
use super::config::{not_configured, wish};
use super::kernel_store::{self, FoundSource, failed, now, on_debian, show};
use crate::cli::{BuildTest, KernelBuildArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::experiments::plan::clock;
use crate::output::print;
use crate::signals::StopRequest;

/// Builds what the options ask for.
pub(super) fn run(home: Option<&Path>, args: &KernelBuildArgs) -> Result<Exit, CliError> {
    let stock = kernel_store::open(home)?;
    let stop = StopRequest::on_signals()?;
    let source = kernel_store::find(&stock, &args.source)?.built_for(args.wish.arch);
    if args.package && source.tree.is_foreign() {
        return Err(CliError::usage(
            "--package: makes packages only for this machine's architecture",
        ));
    }
    let manner = Manner {
        jobs: args.jobs,
        ccache: !args.no_ccache,
        package: args.package,
        anyway: args.anyway,
        // As make wants directories.
        only: args
            .only
            .iter()
            .map(|dir| format!("{}/", dir.trim_end_matches('/')))
            .collect(),
        quiet: args.quiet,
    };
    let report = built(&stock, &source, orders(args, &source), &manner, &stop)?;
    show(&report, args.json, Document::of_kernel_builds)?;
    if !args.json && is_complete(&report) {
        print(&how_to_boot(&report.builds, &args.matrix))?;
    }
    Ok(if is_complete(&report) {
        Exit::Fine
    } else {
        Exit::Failed
    })
}

/// Whether everything was built.
pub(super) fn is_complete(report: &BuildReport) -> bool {
    report.builds.iter().all(|b| b.end == BuildEnd::Complete)
}

/// How kernels are built.
#[derive(Clone, Debug)]
pub(super) struct Manner {
    /// Compilers at a time, if not one a CPU.
    pub(super) jobs: Option<u16>,
    /// With the cache of the compiler, where there is one.
    pub(super) ccache: bool,
    /// With Debian's packages.
    pub(super) package: bool,
    /// Even if options differ from what was asked.
    pub(super) anyway: bool,
    /// Directories of the source that alone are compiled.
    pub(super) only: Vec<String>,
    /// Without progress.
    pub(super) quiet: bool,
}

/// Builds each configuration of `source` under its name, or goes on with it.
pub(super) fn built(
    stock: &KernelStore,
    source: &FoundSource,
    orders: Vec<(String, Wish)>,
    manner: &Manner,
    stop: &StopRequest,
) -> Result<BuildReport, CliError> {
    let mut report = BuildReport {
        format: KERNEL_BUILD_FORMAT.to_owned(),
        builds: Vec::new(),
    };
    let mut shown = Shown::new(manner.quiet, stop, orders.len());
    for (name, wish) in orders {
        shown.begin(&name, &source.tree.version);
        let built = one(stock, source, name, &wish, manner, (stop, &shown))?;
        let end = built.end;
        report.builds.push(built);
        if end != BuildEnd::Complete {
            break;
        }
    }
    drop(shown);
    Ok(report)
}

/// Returns the names and configurations of what is to be built.
fn orders(args: &KernelBuildArgs, source: &FoundSource) -> Vec<(String, Wish)> {
    let mut base = wish(&args.wish);
    if let Some(test) = args.build_test {
        base.base = match test {
            BuildTest::Allyesconfig => Base::AllYes,
            BuildTest::Allmodconfig => Base::AllMod,
        };
    }
    let stem = args.name.clone().unwrap_or_else(|| stem(source));
    let named = |kind: &str| match (&args.name, args.matrix.is_empty()) {
        (Some(name), true) => name.clone(),
        _ => format!("{stem}-{kind}"),
    };
    let mut models: Vec<Option<KernelModel>> = Vec::new();
    for model in &args.matrix {
        let built = Some(match model {
            KernelModel::None | KernelModel::Voluntary | KernelModel::Full => KernelModel::Dynamic,
            other => *other,
        });
        if !models.contains(&built) {
            models.push(built);
        }
    }
    if models.is_empty() {
        models.push(base.model);
    }
    models
        .into_iter()
        .map(|model| {
            let kind = match (&base.base, model) {
                (Base::AllYes | Base::AllMod, _) | (_, None) => match &base.base {
                    Base::File(_) => "file".to_owned(),
                    base => base.name(),
                },
                (_, Some(model)) => model.to_string(),
            };
            let wish = Wish {
                model,
                ..base.clone()
            };
            (named(&kind), wish)
        })
        .collect()
}

fn stem(source: &FoundSource) -> String {
    let name = source.known.as_ref().map(|known| known.name.as_str());
    let name = name.unwrap_or(source.tree.version.as_str());
    let name = name.trim_start_matches("linux-source-");
    match source.tree.is_foreign() {
        true => format!("{name}-{}", source.tree.srcarch()),
        false => name.to_owned(),
    }
}

fn one(
    stock: &KernelStore,
    source: &FoundSource,
    name: String,
    wish: &Wish,
    manner: &Manner,
    (stop, shown): (&StopRequest, &Shown),
) -> Result<BuiltKernel, CliError> {
    let cpus = || std::thread::available_parallelism().map_or(1, usize::from);
    let seconds = i64::try_from(source.tree.seconds()).unwrap_or(i64::MAX);
    let order = Order {
        source: source.known.as_ref().map_or_else(
            || source.tree.path.display().to_string(),
            |known| known.name.clone(),
        ),
        tree: &source.tree,
        wish,
        jobs: manner.jobs.map_or_else(cpus, usize::from),
        ccache: manner.ccache,
        package: manner.package,
        anyway: manner.anyway,
        only: manner.only.clone(),
        timestamp: Timestamp::from_second(seconds)
            .unwrap_or_default()
            .to_string(),
        name,
    };
    if matches!(wish.base, Base::AllYes | Base::AllMod) && !manner.quiet {
        let estimate = Estimate::of(stock, &order)
            .map_err(|err| failed(&format!("build {}", order.name), err))?;
        shown.say(&said(&estimate));
    }
    let built = build(
        stock,
        &SysRoot::live(),
        &order,
        &now,
        &|| {
            shown.tick();
            stop.is_set()
        },
        &mut |meter, step| shown.step(meter, step),
    );
    built.map_err(|err| match err {
        BuildError::Config(err) => not_configured(err),
        BuildError::Unmet(_) => {
            failed(&format!("build {}", order.name), err).hint("--anyway builds it regardless")
        }
        BuildError::Packages { ref missing, .. } => {
            let hint = on_debian(&missing.join(" "));
            failed(&format!("build {}", order.name), err)
                .exiting(Exit::Unsupported)
                .hint(hint)
        }
        BuildError::NotThere { .. } => CliError::usage(err.to_string())
            .hint("name it relative to the source, such as drivers/clocksource"),
        BuildError::OtherSource { .. } => failed(&format!("build {}", order.name), err).hint(
            "give it a different name with --name, or remove the other one with `punctual kernel rm`",
        ),
        err => failed(&format!("build {}", order.name), err),
    })
}

/// Says how much there is to compile, and how long it takes.
fn said(estimate: &Estimate) -> String {
    let files = estimate.files;
    match (estimate.seconds, &estimate.by) {
        (Some(seconds), Some(by)) => format!(
            "Up to {files} files, and what every build makes first: about {} from a clean start, at the pace of build {by}",
            clock(seconds)
        ),
        _ => format!(
            "Up to {files} files, and what every build makes first; no earlier build here tells how long that takes, the \
             progress will"
        ),
    }
}

/// Says which build is which of the models that were asked for.
fn how_to_boot(builds: &[BuiltKernel], matrix: &[KernelModel]) -> String {
    let lines = matrix.iter().filter_map(|model| {
        let (built, append) = match model {
            KernelModel::None | KernelModel::Voluntary | KernelModel::Full => (
                KernelModel::Dynamic,
                format!(", booted with preempt={model}"),
            ),
            other => (*other, String::new()),
        };
        let build = builds.iter().find(|build| build.model == Some(built))?;
        Some(format!("Model {model}: {}{append}\n", build.name))
    });
    lines.collect()
}
