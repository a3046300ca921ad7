// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Builds kernels, and shows how far that is.

mod view;

use jiff::Timestamp;
use punctual_kernel::build::{BuildError, Estimate, Order, build};
use punctual_kernel::config::{Base, Wish};
use punctual_kernel::source::{KernelStore, Tree};
use punctual_model::{BuildEnd, BuildReport, BuiltKernel, KERNEL_BUILD_FORMAT, SourceOrigin};
use punctual_sys::SysRoot;

use self::view::Shown;
use super::config::not_configured;
use super::kernel_store::{FoundSource, failed, now, on_debian};
use crate::error::CliError;
use crate::exit::Exit;
use crate::experiments::plan::clock;
use crate::signals::StopRequest;

/// Whether everything was built.
pub(crate) fn is_complete(report: &BuildReport) -> bool {
    report.builds.iter().all(|b| b.end == BuildEnd::Complete)
}

/// How kernels are built.
#[derive(Clone, Debug)]
pub(crate) struct Manner {
    /// Compilers at a time, if not one a CPU.
    pub(crate) jobs: Option<u16>,
    /// With the cache of the compiler, where there is one.
    pub(crate) ccache: bool,
    /// With Debian's packages.
    pub(crate) package: bool,
    /// Even if options differ from what was asked.
    pub(crate) anyway: bool,
    /// Directories of the source that alone are compiled.
    pub(crate) only: Vec<String>,
    /// Without progress.
    pub(crate) quiet: bool,
}

/// Builds each configuration of `source` under its name, or goes on with it.
pub(crate) fn built(
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

/// Requires that `version` has a preemption model that is asked for by name.
pub(crate) fn has_model(option: &str, model: &str, version: &str) -> Result<(), CliError> {
    let is_before = |other| Tree::number(version).is_some_and(|number| number < other);
    let lacks = match model {
        "lazy" if is_before(Tree::LAZY) => "no PREEMPT_LAZY, which came with 6.13",
        "none" | "voluntary" if !is_before(Tree::ONLY_LAZY) => {
            "only full and lazy besides PREEMPT_RT, as every version since 7.0"
        }
        _ => return Ok(()),
    };
    Err(CliError::usage(format!(
        "{option} {model}: Linux {version} has {lacks}"
    )))
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
    let noted = source.known.as_ref().and_then(|known| known.seconds);
    let seconds = noted.unwrap_or_else(|| source.tree.seconds());
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    let order = Order {
        source: source.known.as_ref().map_or_else(
            || source.tree.path.display().to_string(),
            |known| known.name.clone(),
        ),
        source_id: id(source)?,
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
        BuildError::Config(err) => {
            let stopped = stop.is_set().then_some("the same command begins again");
            not_configured(err).hints(stopped)
        }
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

/// Returns what tells a source from another one of its name, or in its place.
fn id(source: &FoundSource) -> Result<Option<String>, CliError> {
    let known = source.known.as_ref().map(|known| {
        let sha256 = known.sha256.as_deref().unwrap_or("no archive");
        format!("{}, {sha256}, fetched {}", known.from, known.at)
    });
    match &source.known {
        // Nobody but this program changes it.
        Some(known) if known.origin != SourceOrigin::Directory => {}
        _ => {
            let what = || format!("examine {}", source.tree.path.display());
            let own = source.tree.identity().map_err(|err| failed(&what(), err))?;
            return Ok(Some(
                known
                    .into_iter()
                    .chain([own])
                    .collect::<Vec<_>>()
                    .join(", "),
            ));
        }
    }
    Ok(known)
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
