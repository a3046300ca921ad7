// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is ordered of a flow, and what of that makes it the one that it is.

use punctual_model::Gathered as _;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use punctual_kernel::boot::Architecture;
use punctual_kernel::config::{Base, Wish};
use punctual_kernel::guest::Model;
use punctual_kernel::patch::Series;
use punctual_kernel::source::{self, Tree};
use punctual_measure::loads::LoadList;

use super::super::kernel_store::failed;
use super::Version;
use crate::error::CliError;

/// Two kernels to be made of a source.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    /// Version of Linux.
    pub(crate) version: String,
    /// Name in the store, or what can be fetched, if not the package `linux-source-VERSION`.
    pub(crate) source: Option<String>,
    /// What the package or tarball must have.
    pub(crate) sha256: Option<String>,
    /// Real-time patch for a source that lacks it.
    pub(crate) patch: Option<PathBuf>,
    /// Lines of context that may differ when a hunk is applied.
    pub(crate) fuzz: u8,
    /// Whether patches that do not apply are skipped.
    pub(crate) leave_out: bool,
    /// Name of the flow, if not one made of version and architecture.
    pub(crate) name: Option<String>,
    /// Preemption model of the stock kernel, if not the usual one of its version.
    pub(crate) stock: Option<Model>,
    /// Architecture, if not that of this machine.
    pub(crate) arch: Option<Architecture>,
    /// What both configurations are made of; the flow chooses their models.
    pub(crate) wish: Wish,
    /// Whether kernels are built whose options differ from what was asked.
    pub(crate) anyway: bool,
    /// Whether the cache of the compiler is used, where there is one.
    pub(crate) ccache: bool,
    /// Loads to measure under, if not the usual ones.
    pub(crate) loads: Vec<LoadList>,
    /// Boots of each kernel.
    pub(crate) seeds: u32,
    /// Samples under each load.
    pub(crate) samples: u64,
    /// Compilers and guests at a time, if not one a CPU.
    pub(crate) jobs: Option<u16>,
    /// What is said meanwhile.
    pub(crate) says: Says,
}

/// What a flow says of its steps.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Says {
    /// Each step on standard output, and on standard error how far it is.
    Steps,
    /// The same on standard error, since something else is the result.
    Remarks,
    /// Nothing.
    Nothing,
}

impl Order {
    /// Boots of each kernel, if no number is given.
    pub(crate) const SEEDS: u32 = 5;
    /// Samples under each load, if no number is given.
    pub(crate) const SAMPLES: u64 = 1_000;

    /// Orders the kernels of a version as they are when nothing else is given.
    pub(crate) fn of(version: String) -> Self {
        Self {
            version,
            source: None,
            sha256: None,
            patch: None,
            fuzz: 0,
            leave_out: false,
            name: None,
            stock: None,
            arch: None,
            wish: Wish::default(),
            anyway: false,
            ccache: true,
            loads: Vec::new(),
            seeds: Self::SEEDS,
            samples: Self::SAMPLES,
            jobs: None,
            says: Says::Steps,
        }
    }

    /// The preemption model of the stock kernel: what distributions choose of those that its version has, if none is chosen.
    pub(super) fn stock(&self) -> Model {
        let version = Version::parse(&self.version).ok();
        let usual = match version.is_some_and(|version| version.number >= Tree::ONLY_LAZY) {
            true => Model::Lazy,
            false => Model::Voluntary,
        };
        self.stock.unwrap_or(usual)
    }

    /// The name of the flow.
    pub(super) fn name(&self) -> String {
        let name = self.name.clone();
        name.unwrap_or_else(|| match self.foreign() {
            Some(arch) => format!("rt-{}-{arch}", self.version),
            None => format!("rt-{}", self.version),
        })
    }

    /// The name of the build of a kernel of the flow.
    pub(super) fn build_name(&self, kernel: &str) -> String {
        format!("{}-{kernel}", self.name())
    }

    /// The architecture that its kernels are for, where that is not this machine's.
    pub(super) fn foreign(&self) -> Option<Architecture> {
        self.arch.filter(|arch| arch.is_foreign())
    }

    /// What a flow is, beyond its name, by option: where one of these differs, it is another one.
    pub(super) fn asked(&self) -> BTreeMap<String, String> {
        let wish = &self.wish;
        let fragments: Vec<String> = wish.files.iter().map(|p| p.display().to_string()).collect();
        let loads = LoadList::join(&self.loads);
        let loads: Vec<String> = loads.iter().map(ToString::to_string).collect();
        let patch = self.patch.as_deref().map(|path| path.display().to_string());
        let given = [
            ("version", self.version.clone()),
            ("source", self.source.clone().unwrap_or_default()),
            ("sha256", self.sha256.clone().unwrap_or_default()),
            ("patch", patch.unwrap_or_default()),
            ("fuzz", self.fuzz.to_string()),
            (
                "leave-out",
                if self.leave_out { "yes" } else { "" }.to_owned(),
            ),
            ("stock", self.stock().to_string()),
            (
                "arch",
                self.arch.map(|arch| arch.to_string()).unwrap_or_default(),
            ),
            ("base", wish.base.name()),
            ("with", wish.with.join(" ")),
            ("without", wish.without.join(" ")),
            ("fragment", fragments.join(" ")),
            ("set", wish.set.join(" ")),
            ("seeds", self.seeds.to_string()),
            ("samples", self.samples.to_string()),
            ("load", loads.join(",")),
        ];
        let given = given.into_iter().filter(|(_, value)| !value.is_empty());
        given
            .map(|(name, value)| (name.to_owned(), value))
            .into_map()
    }

    /// The files that it is made of, by option.
    pub(super) fn files(&self) -> Vec<(&'static str, Vec<&Path>)> {
        let base = match &self.wish.base {
            Base::File(path) => Some(path.as_path()),
            _ => None,
        };
        let fragments = self.wish.files.iter().map(|path| path.as_path());
        let mut files = vec![
            ("base", base.into_iter().collect()),
            ("fragment", fragments.collect::<Vec<_>>()),
            ("patch", self.patch.as_deref().into_iter().collect()),
        ];
        files.retain(|(_, files)| !files.is_empty());
        files
    }
}

/// SHA-256 of the files of an option.
pub(super) fn sha256(option: &str, files: &[&Path]) -> Result<String, CliError> {
    let of_file = |path: &Path| {
        if option == "patch" {
            let what = || format!("read the series {}", path.display());
            let scratch = tempfile::tempdir().map_err(|err| failed(&what(), err))?;
            let series = Series::read(path, scratch.path(), &|| false);
            return Ok(series.map_err(|err| failed(&what(), err))?.sha256());
        }
        source::sha256(path).map_err(|err| failed(&format!("read {}", path.display()), err))
    };
    let each = files.iter().map(|path| of_file(path));
    Ok(each.collect::<Result<Vec<_>, CliError>>()?.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stock_kernel_has_a_model_that_its_version_has() {
        for (version, model) in [
            ("5.10", "voluntary"),
            ("6.19.2", "voluntary"),
            ("7.0", "lazy"),
        ] {
            assert_eq!(
                Order::of(version.to_owned()).stock().name(),
                model,
                "{version}"
            );
        }
        let full = Order {
            stock: Some(Model::Full),
            ..Order::of("7.1".to_owned())
        };
        assert_eq!(full.asked()["stock"], "full");
    }

    #[test]
    fn an_order_says_what_makes_it_another_flow_and_no_more() {
        let plain = Order::of("6.12".to_owned());
        assert_eq!(plain.name(), "rt-6.12");
        assert_eq!(plain.build_name("stock"), "rt-6.12-stock");
        let asked = plain.asked();
        let words: Vec<String> = asked.iter().map(|(n, v)| format!("{n}={v}")).collect();
        assert_eq!(
            words.join(" "),
            "base=tiny fuzz=0 samples=1000 seeds=5 stock=voluntary version=6.12"
        );
        let same = Order {
            jobs: Some(3),
            ccache: false,
            says: Says::Nothing,
            ..plain.clone()
        };
        assert_eq!(same.asked(), asked);
        let patched = Order {
            patch: Some("/tmp/patches".into()),
            leave_out: true,
            ..plain
        };
        assert_eq!(patched.asked()["patch"], "/tmp/patches");
        assert_eq!(patched.asked()["leave-out"], "yes");
    }
}
