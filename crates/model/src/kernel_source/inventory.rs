// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What there is of kernels: sources, images of distributions, builds.

use serde::{Deserialize, Serialize};

use super::build::BuiltKernel;

/// Value of `format` in a [`KernelStock`].
pub const KERNEL_STOCK_FORMAT: &str = "punctual.kernel-stock/1";

/// All kernels of a store.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct KernelStock {
    /// [`KERNEL_STOCK_FORMAT`].
    pub format: String,
    /// Directory of the store's kernels.
    pub directory: String,
    /// Sources, by name.
    pub sources: Vec<KernelSource>,
    /// Images of distributions, by name.
    pub images: Vec<KernelImage>,
    /// Builds, by name.
    pub builds: Vec<BuiltKernel>,
    /// Entries that could not be read, and why.
    pub damaged: Vec<String>,
}

/// Where a source is from.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SourceOrigin {
    /// A package of the distribution.
    Package,
    /// A tarball, from a file or by network.
    Tarball,
    /// A git repository.
    Git,
    /// A directory, which stays where it is and is not copied.
    Directory,
}

/// A source tree.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct KernelSource {
    /// Its name here.
    pub name: String,
    /// Version as its Makefile says: `6.12.117`.
    pub version: String,
    /// Where it is from.
    pub origin: SourceOrigin,
    /// What was fetched: package and version, address, or path.
    pub from: String,
    /// SHA-256 of the package or tarball. Null for git and directories.
    pub sha256: Option<String>,
    /// What that was compared with: the package lists, or what the user gave. Null where it was compared with nothing.
    pub verified_by: Option<String>,
    /// The commit that is checked out. Null where it is no git repository.
    pub commit: Option<String>,
    /// Directory of the tree.
    pub tree: String,
    /// Patch series that were applied here, oldest first.
    pub patches: Vec<AppliedSeries>,
    /// The time that builds bear in place of the clock, in seconds since 1970: that of a package or tarball before the first
    /// series. Absent where none was applied, and for other sources: it is that of the commit or the Makefile then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// When it was fetched, RFC 3339 in UTC.
    pub at: String,
}

/// A patch series that was applied.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct AppliedSeries {
    /// File or directory of the series.
    pub series: String,
    /// Patches that were applied, in order.
    pub applied: Vec<String>,
    /// Patches that were left out because they did not apply.
    pub left_out: Vec<String>,
}

/// A kernel image of a distribution, unpacked from its package and not installed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct KernelImage {
    /// Its name here.
    pub name: String,
    /// Release: `6.1.0-56-rt-amd64`.
    pub release: String,
    /// Package and version.
    pub from: String,
    /// SHA-256 of the package.
    pub sha256: String,
    /// What that was compared with. Null where it was compared with nothing.
    pub verified_by: Option<String>,
    /// Path of the image that boots.
    pub image: String,
    /// Path of its configuration. Null where the package has none.
    pub config: Option<String>,
    /// When it was fetched, RFC 3339 in UTC.
    pub at: String,
}
