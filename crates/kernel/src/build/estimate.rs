// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How much a build test compiles, and how long that takes by what earlier builds took here.

use std::path::Path;

use punctual_model::{BuildEnd, BuiltKernel};

use super::run::Order;
use crate::source::{KernelStore, KernelStoreError, Tree};

/// What of a source is not compiled into a kernel or its modules.
const NOT_COMPILED: [&str; 7] = [
    "Documentation",
    "LICENSES",
    "include",
    "samples",
    "scripts",
    "tools",
    "usr",
];

/// Directories below one another, at most: a loop of links ends.
const DEEPEST: u32 = 32;

/// Steps of an earlier build that tell nothing: most of them may be anything but a compiler.
const FEW_STEPS: u64 = 200;

/// How much there is to compile, at most, and how long it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Files in C and assembler.
    pub files: u64,
    /// Seconds, by an earlier build here. Missing without one.
    pub seconds: Option<f64>,
    /// The earlier build.
    pub by: Option<String>,
}

impl Estimate {
    /// Estimates what `order` takes from a clean start.
    ///
    /// # Errors
    ///
    /// Fails where the store cannot be read.
    pub fn of(stock: &KernelStore, order: &Order<'_>) -> Result<Self, KernelStoreError> {
        let files = match order.only.is_empty() {
            true => of_whole(order.tree),
            false => order
                .only
                .iter()
                .map(|only| files(&order.tree.path.join(only), 0))
                .sum(),
        };
        let builds = stock.list()?.builds;
        let told = builds
            .iter()
            .filter_map(|build| Some((build, pace(build)?)));
        // Of the same base first, then the one that compiled most.
        let base = order.wish.base.name();
        let best = told.max_by_key(|(build, _)| (build.base == base, build.steps));
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let seconds = best.map(|(_, pace)| pace * files as f64 / order.jobs.max(1) as f64);
        Ok(Self {
            files,
            seconds,
            by: best.map(|(build, _)| build.name.clone()),
        })
    }
}

/// Seconds of a compiler for each step, of a build that went from its start to its end in one go.
fn pace(build: &BuiltKernel) -> Option<f64> {
    let whole = build.end == BuildEnd::Complete && build.starts == 1 && build.steps >= FEW_STEPS;
    let jobs = build.jobs.filter(|_| whole)?;
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let seconds = build.make_ms as f64 / 1e3 * f64::from(jobs) / build.steps as f64;
    Some(seconds)
}

fn of_whole(tree: &Tree) -> u64 {
    let own = tree.path.join("arch").join(tree.srcarch());
    let top = names(&tree.path).filter(|name| name != "arch");
    let compiled = top.filter(|name| !NOT_COMPILED.contains(&name.as_str()));
    let rest: u64 = compiled.map(|name| files(&tree.path.join(name), 0)).sum();
    rest + files(&own, 0)
}

fn names(dir: &Path) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok())
}

/// Counts the files in C and assembler below `path`.
fn files(path: &Path, depth: u32) -> u64 {
    let is_source = |path: &Path| path.extension().is_some_and(|end| end == "c" || end == "S");
    match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() && depth < DEEPEST => names(path)
            .map(|name| files(&path.join(name), depth + 1))
            .sum(),
        Ok(meta) if meta.is_file() => u64::from(is_source(path)),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_compiler_are_counted_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let below = dir.path().join("drivers/x");
        std::fs::create_dir_all(&below).unwrap();
        for name in ["a.c", "b.S", "c.h", "Makefile"] {
            std::fs::write(below.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink(dir.path(), below.join("loop")).unwrap();
        assert_eq!(files(dir.path(), 0), 2);
        assert_eq!(files(&below.join("a.c"), 0), 1);
        assert_eq!(files(&dir.path().join("missing"), 0), 0);
    }
}
