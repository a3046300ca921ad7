// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Configures and runs make.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use punctual_model::{BuildEnd, BuiltKernel, UnmetOption};
use punctual_sys::PathError;
use punctual_sys::SysRoot;

use super::progress::{Meter, Step};
use super::{Estimate, debian, prerequisites};
use crate::config::{self, Base, ConfigError, Configured, Wish, configure};
use crate::source::{FetchError, KernelStore, KernelStoreError, StoredKind, Tree, sha256};
use crate::tool::{Long, ToolError, ask, command, has};

/// User and host that kernels bear.
const BUILDER: &str = "punctual";

/// Time after which it is noted again how far a build is.
const NOTED_EVERY: Duration = Duration::from_secs(10);

/// What is to be built.
#[derive(Clone, Debug)]
pub struct Order<'a> {
    /// Name of the build.
    pub name: String,
    /// Name or directory of the source, as it is recorded.
    pub source: String,
    /// What tells it from another source that had the name before.
    pub source_id: Option<String>,
    /// The source.
    pub tree: &'a Tree,
    /// Its configuration.
    pub wish: &'a Wish,
    /// How many compilers run at once.
    pub jobs: usize,
    /// Use ccache where it is installed.
    pub ccache: bool,
    /// Make Debian packages too.
    pub package: bool,
    /// Directories and objects of the source that alone are compiled, as make names them; none: the kernel and its modules.
    pub only: Vec<String>,
    /// Build even if options differ from what was asked.
    pub anyway: bool,
    /// The time stamp that the kernel bears, as date(1) reads it.
    pub timestamp: String,
}

/// A build could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The store of kernels.
    #[error(transparent)]
    Stock(#[from] KernelStoreError),
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Options are not as asked.
    #[error("{} options differ from what was asked: {}", .0.len(), listed(.0))]
    Unmet(Vec<UnmetOption>),
    /// Packages that it is made with are not installed.
    #[error("{what}: {} not installed", missing.join(", "))]
    Packages {
        /// What is made with them.
        what: &'static str,
        /// Which are missing.
        missing: Vec<&'static str>,
    },
    /// There is no such directory in the source.
    #[error("--only {only}: not a directory of the source")]
    NotThere {
        /// What was named.
        only: String,
    },
    /// Another source, or for another architecture, was built under this name.
    #[error("build `{name}` already exists, for {other}")]
    OtherSource {
        /// The build.
        name: String,
        /// Its source, or its architecture.
        other: String,
    },
    /// Somebody builds it.
    #[error("another process is building `{name}`")]
    Busy {
        /// The build.
        name: String,
    },
    /// A program failed.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The source.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// A file.
    #[error(transparent)]
    File(#[from] PathError),
}

fn listed(unmet: &[UnmetOption]) -> String {
    let each = unmet.iter().map(|option| {
        let UnmetOption {
            name,
            value,
            wanted,
            why,
        } = option;
        format!("{name} is {value}, not {wanted} ({why})")
    });
    each.collect::<Vec<_>>().join("; ")
}

/// Builds what is ordered, or goes on with it. `heard` gets how far it is and the step that was announced. That make
/// fails or is stopped is in the record, not an error.
///
/// # Errors
///
/// Fails where the configuration cannot be made, or is not as asked, and where a file cannot be written.
pub fn build(
    stock: &KernelStore,
    sys: &SysRoot,
    order: &Order<'_>,
    at: &dyn Fn() -> String,
    stop: &dyn Fn() -> bool,
    heard: &mut dyn FnMut(&Meter, Step<'_>),
) -> Result<BuiltKernel, BuildError> {
    check(order)?;
    let place = stock.place(StoredKind::Build, &order.name)?;
    let objects = place.join("obj");
    let _held = stock
        .work_in(StoredKind::Build, &order.name)
        .map_err(|err| match err {
            KernelStoreError::InUse { name, .. } => BuildError::Busy { name },
            err => err.into(),
        })?;
    let before = stock.build(&order.name)?;
    if let Some(before) = &before {
        // Older programs built for their own machine alone.
        let machine = before.architecture.as_deref();
        let machine = machine.unwrap_or(std::env::consts::ARCH);
        let other = match before.source != order.source {
            true => Some(before.source.as_str()),
            false => (machine != order.tree.machine()).then_some(machine),
        };
        if let Some(other) = other {
            return Err(BuildError::OtherSource {
                name: order.name.clone(),
                other: other.to_owned(),
            });
        }
    }
    // What is unpacked has the times of its archive: make would take objects of another source, which are newer, for this one's.
    let is_others = |before: &BuiltKernel| before.source_id != order.source_id;
    if before.as_ref().is_some_and(is_others) && objects.exists() {
        fs::remove_dir_all(&objects).map_err(PathError::at("remove", &objects))?;
    }
    fs::create_dir_all(&objects).map_err(PathError::at("make directory", &objects))?;
    let configured = match as_asked(order, &objects, sys, stop) {
        Err(err) if before.is_none() => {
            // Nothing was built: there is nothing to be listed.
            drop(fs::remove_dir_all(&place));
            return Err(err);
        }
        configured => configured?,
    };
    let ccache = order.ccache && has("ccache");
    let mut built = described(order, &configured, &place, ccache);
    // A build that was stopped is gone on with: its time counts.
    if let Some(before) = before.filter(|before| before.end != BuildEnd::Complete) {
        built.make_ms = before.make_ms;
        built.starts = before.starts;
    }
    let mut meter = Meter::default();
    if built.starts == 0 {
        meter.expected = expected(stock, &built)?;
        // What every build makes first is more than a directory.
        if meter.expected.is_none() && order.is_test() && order.only.is_empty() {
            meter.expected = Some(Estimate::of(stock, order)?.files);
        }
    }
    built.starts += 1;
    // Before anything of the build before is replaced: whatever ends this one, it is no longer whole.
    (built.at, built.end) = (at(), BuildEnd::Stopped);
    stock.write(StoredKind::Build, &order.name, &built)?;
    copy(&objects.join(".config"), &place.join("config"))?;
    let begun = Instant::now();
    let earlier_ms = built.make_ms;
    let so_far = |built: &mut BuiltKernel, meter: &Meter| {
        let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        built.make_ms = earlier_ms.saturating_add(ms);
        built.steps = meter.steps;
        built.warnings = meter.warnings;
        built.at = at();
    };
    let mut noted: Option<Instant> = None;
    let log = place.join("build.log");
    let mut make = |goals: &[&str]| {
        let mut make = config::make(order.tree, &objects);
        prepare(&mut make, order, &objects, ccache);
        make.command.args(goals);
        make.log = Some(&log);
        make.run(stop, |line| {
            let Some(step) = meter.hear(line) else { return };
            heard(&meter, step);
            // Whoever lists it sees how far it is, and a start that is killed counts. The last note must be written, this one
            // need not be.
            if noted.is_none_or(|noted| noted.elapsed() >= NOTED_EVERY) {
                noted = Some(Instant::now());
                so_far(&mut built, &meter);
                drop(stock.write(StoredKind::Build, &order.name, &built));
            }
        })
    };
    let modules = configured.values.is_on("MODULES").then_some("modules");
    let whole = std::iter::once(order.tree.image().0).chain(modules);
    let only = order.only.iter().map(String::as_str);
    let mut ended = match order.only.is_empty() {
        true => make(&whole.collect::<Vec<_>>()),
        false => make(&only.collect::<Vec<_>>()),
    };
    // A second make, since it builds the kernel itself where it is not there, beside the first one.
    if ended.is_ok() && order.package {
        remove_packages(&place)?;
        ended = make(&["bindeb-pkg"]);
    }
    so_far(&mut built, &meter);
    match ended {
        Ok(()) if !order.only.is_empty() => built.end = BuildEnd::Complete,
        Ok(()) => complete(order, &place, &objects, &mut built)?,
        Err(ToolError::Stopped { .. }) => built.end = BuildEnd::Stopped,
        Err(ToolError::Failed { .. }) => built.end = BuildEnd::Failed,
        Err(err) => {
            built.end = BuildEnd::Failed;
            stock.write(StoredKind::Build, &order.name, &built)?;
            return Err(err.into());
        }
    }
    stock.write(StoredKind::Build, &order.name, &built)?;
    Ok(built)
}

impl Order<'_> {
    /// Whether it is a test whether the source compiles.
    fn is_test(&self) -> bool {
        matches!(self.wish.base, Base::AllYes | Base::AllMod)
    }
}

/// Refuses what would fail after much was compiled: packages that are missing, and directories that are not of the source.
fn check(order: &Order<'_>) -> Result<(), BuildError> {
    order.tree.needs_compiler()?;
    let (what, missing) = match (order.package, order.is_test()) {
        (true, _) => ("make Debian packages", debian::missing(order.tree)),
        (false, true) => (
            "compile with everything on",
            prerequisites::of_test(order.only.is_empty()),
        ),
        (false, false) => ("", Vec::new()),
    };
    if !missing.is_empty() {
        return Err(BuildError::Packages { what, missing });
    }
    let known = |only: &&String| {
        let path = Path::new(only.as_str());
        let plain = |part| matches!(part, std::path::Component::Normal(_));
        path.components().all(plain) && order.tree.path.join(path).is_dir()
    };
    match order.only.iter().find(|only| !known(only)) {
        Some(only) => Err(BuildError::NotThere { only: only.clone() }),
        None => Ok(()),
    }
}

/// Makes the configuration, and refuses one that is not as asked.
fn as_asked(
    order: &Order<'_>,
    objects: &Path,
    sys: &SysRoot,
    stop: &dyn Fn() -> bool,
) -> Result<Configured, BuildError> {
    let configured = configure(order.tree, objects, order.wish, sys, stop)?;
    if configured.unmet.is_empty() || order.anyway {
        return Ok(configured);
    }
    Err(BuildError::Unmet(configured.unmet))
}

/// What is known before make runs.
fn described(
    order: &Order<'_>,
    configured: &Configured,
    place: &Path,
    ccache: bool,
) -> BuiltKernel {
    let compiler = ask(command(order.tree.compiler()).arg("--version")).map(|answer| answer.text());
    let compiler = compiler.unwrap_or_default();
    BuiltKernel {
        name: order.name.clone(),
        source: order.source.clone(),
        source_id: order.source_id.clone(),
        architecture: Some(order.tree.machine().to_owned()),
        release: None,
        model: order.wish.model,
        base: order.wish.base.name(),
        end: BuildEnd::Failed,
        unmet: configured.unmet.clone(),
        remarks: configured.remarks.clone(),
        config_sha256: configured.sha256(),
        image: None,
        image_bytes: None,
        image_sha256: None,
        config: place.join("config").display().to_string(),
        packages: Vec::new(),
        log: place.join("build.log").display().to_string(),
        make_ms: 0,
        starts: 0,
        steps: 0,
        warnings: 0,
        ccache,
        timestamp: order.timestamp.clone(),
        only: order.only.clone(),
        jobs: u32::try_from(order.jobs).ok(),
        compiler: compiler.lines().next().unwrap_or("unknown").to_owned(),
        at: String::new(),
        running: false,
    }
}

fn prepare(make: &mut Long<'_>, order: &Order<'_>, objects: &Path, ccache: bool) {
    // Kernels of two models can be installed side by side.
    let model = order.wish.model.map(|model| format!("-{model}"));
    let local = model.unwrap_or_default();
    make.command
        .arg(format!("-j{}", order.jobs))
        .arg(format!("LOCALVERSION=-punctual{local}"));
    if ccache {
        make.command
            .arg(format!("CC=ccache {}", order.tree.compiler()));
        // Else no object is found again from another directory.
        make.command
            .env("CCACHE_NOHASHDIR", "1")
            .env("CCACHE_BASEDIR", objects);
    }
    make.command
        .env("KBUILD_BUILD_TIMESTAMP", &order.timestamp)
        .env("KBUILD_BUILD_USER", BUILDER)
        .env("KBUILD_BUILD_HOST", BUILDER)
        .env("KBUILD_BUILD_VERSION", "1");
}

/// Takes what was built out of make's directory.
fn complete(
    order: &Order<'_>,
    place: &Path,
    objects: &Path,
    built: &mut BuiltKernel,
) -> Result<(), BuildError> {
    let from = objects.join(order.tree.image().1);
    let image = place.join("vmlinuz");
    copy(&from, &image)?;
    built.image_bytes = fs::metadata(&image).ok().map(|meta| meta.len());
    built.image_sha256 = Some(sha256(&image)?);
    built.image = Some(image.display().to_string());
    let release = objects.join("include/config/kernel.release");
    let release = fs::read(&release).map_err(PathError::at("read", &release))?;
    built.release = Some(String::from_utf8_lossy(&release).trim().to_owned());
    if order.package {
        let debs = packages(place)?.into_iter();
        built.packages = debs.map(|path| path.display().to_string()).collect();
    }
    built.end = BuildEnd::Complete;
    Ok(())
}

/// Returns the packages of a build. bindeb-pkg writes them next to the directory of objects.
fn packages(place: &Path) -> Result<Vec<PathBuf>, PathError> {
    let entries = fs::read_dir(place).map_err(PathError::at("list", place))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut debs: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "deb"))
        .collect();
    debs.sort();
    Ok(debs)
}

/// Removes those of an earlier build: their names have another release, and they would count as of this one.
fn remove_packages(place: &Path) -> Result<(), PathError> {
    packages(place)?
        .iter()
        .try_for_each(|path| fs::remove_file(path).map_err(PathError::at("remove", path)))
}

/// Steps of an earlier build of this source and base, from a clean start to the end.
fn expected(stock: &KernelStore, built: &BuiltKernel) -> Result<Option<u64>, KernelStoreError> {
    let builds = stock.list()?.builds;
    let alike = builds.iter().filter(|other| {
        let same = other.source == built.source
            && other.architecture == built.architecture
            && other.base == built.base
            && other.only == built.only;
        same && other.end == BuildEnd::Complete && other.starts == 1
    });
    Ok(alike.map(|other| other.steps).max())
}

fn copy(from: &Path, to: &Path) -> Result<(), BuildError> {
    let temporary = to.with_extension("new");
    fs::copy(from, &temporary)
        .and_then(|_| fs::rename(&temporary, to))
        .map_err(PathError::at("copy", from))?;
    Ok(())
}
