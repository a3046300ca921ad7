// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options of `kernel` for kernels before they boot.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use punctual_kernel::boot::Architecture;
use punctual_model::{KernelModel, Severity};

use super::kernel::architecture;
use super::{one_of, path};

/// What to do with kernels before they boot
#[derive(Debug, Subcommand)]
pub enum KernelSourceAction {
    /// Fetch a source or an image: a package (never installed), a tarball, a git repository, a directory
    Fetch(KernelFetchArgs),
    /// List the sources, images and builds of the store
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove sources, images and builds from the store
    Rm {
        /// Names of sources, images and builds
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
    /// Apply a patch series to a source: first tried as a whole, then applied completely or not at all
    Patch(KernelPatchArgs),
    /// Make a configuration, and show which options the source did not honour and why
    #[command(args_conflicts_with_subcommands = true)]
    Config(KernelConfigArgs),
    /// Build a kernel outside its source tree; an interrupted build continues when started again
    Build(KernelBuildArgs),
    /// Rebase a vendor's branch onto a real-time branch, in a separate worktree
    Rebase(KernelRebaseArgs),
    /// Find the commit that made something worse
    Bisect(KernelBisectArgs),
}

/// Options of `kernel fetch`
#[derive(Args, Debug)]
pub struct KernelFetchArgs {
    /// linux-source-6.12, linux-image-6.1.0-56-amd64 (optionally with =VERSION), a .deb, a tarball
    /// or its URL, the URL of a git repository (optionally with #BRANCH), a directory
    #[arg(value_name = "WHAT")]
    pub what: String,

    /// Name in the store [default: derived from the source]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// SHA-256 that the package or tarball must have
    #[arg(long, value_name = "HEX")]
    pub sha256: Option<String>,

    /// Print what was fetched as JSON, in the form of `punctual kernel list`
    #[arg(long)]
    pub json: bool,
}

/// Options of `kernel patch`
#[derive(Args, Debug)]
pub struct KernelPatchArgs {
    /// The source: its name in the store, or a directory
    #[arg(value_name = "SOURCE")]
    pub source: PathBuf,

    /// A patch, a directory of patches (with a file `series`, or by name), or a tarball of one
    #[arg(value_name = "SERIES")]
    pub series: PathBuf,

    /// Only try
    #[arg(long)]
    pub dry_run: bool,

    /// Skip patches that do not apply, and apply the others
    #[arg(long)]
    pub leave_out: bool,

    /// Lines of context that may differ when a hunk is applied
    #[arg(long, value_name = "LINES", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=3))]
    pub fuzz: u8,

    /// Print the result for each patch as JSON
    #[arg(long)]
    pub json: bool,
}

/// What a configuration is made of
#[derive(Args, Clone, Debug)]
pub struct KernelConfigWish {
    /// Architecture: x86_64 or arm64; one that is not this machine's takes a cross compiler [default: this machine's]
    #[arg(long, value_name = "ARCH", value_parser = architecture, help_heading = "Configuration")]
    pub arch: Option<Architecture>,

    /// Preemption model [default: that of the base]
    #[arg(long, value_name = "MODEL", value_parser = one_of(KernelModel::ALL, KernelModel::name), help_heading = "Configuration")]
    pub model: Option<KernelModel>,

    /// Base configuration: running, tiny (the smallest for measuring in QEMU), defconfig, or a file
    #[arg(
        long,
        value_name = "BASE",
        default_value = "tiny",
        help_heading = "Configuration"
    )]
    pub base: String,

    /// Enable a fragment; `punctual kernel config --list` lists them (can be repeated)
    #[arg(long, value_name = "FRAGMENT", help_heading = "Configuration")]
    pub with: Vec<String>,

    /// Disable a fragment (can be repeated)
    #[arg(long, value_name = "FRAGMENT", help_heading = "Configuration")]
    pub without: Vec<String>,

    /// Apply a file with options on top (can be repeated)
    #[arg(long, value_name = "FILE", help_heading = "Configuration", value_parser = path())]
    pub fragment: Vec<PathBuf>,

    /// Set an option, such as HZ_1000=y (can be repeated)
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Configuration")]
    pub set: Vec<String>,
}

/// Options of `kernel config`
#[derive(Args, Debug)]
pub struct KernelConfigArgs {
    /// Check or compare existing configurations
    #[command(subcommand)]
    pub action: Option<KernelConfigAction>,

    /// The source: its name in the store, or a directory [default: the only one in the store]
    #[arg(long, value_name = "SOURCE")]
    pub source: Option<PathBuf>,

    /// What it is made of
    #[command(flatten)]
    pub wish: KernelConfigWish,

    /// Write the configuration to FILE, which must not exist
    #[arg(long, short = 'o', value_name = "FILE", value_parser = path())]
    pub output: Option<PathBuf>,

    /// Overwrite the file
    #[arg(long)]
    pub force: bool,

    /// List the fragments
    #[arg(long)]
    pub list: bool,

    /// Print the result for each option as JSON
    #[arg(long)]
    pub json: bool,
}

/// What to do with existing configurations
#[derive(Debug, Subcommand)]
pub enum KernelConfigAction {
    /// Judge a configuration by the rules of `doctor` that apply to it
    Check {
        /// A file, the name of a build or image, or `running`
        #[arg(value_name = "CONFIG")]
        config: String,

        /// Also show what is fine
        #[arg(long)]
        all: bool,

        /// Exit 3 if something of this severity or worse is found
        #[arg(long, value_name = "SEVERITY", value_parser = one_of(Severity::ALL, Severity::name))]
        fail_on: Option<Severity>,

        /// Print the diagnosis as JSON
        #[arg(long, conflicts_with = "all")]
        json: bool,
    },
    /// List the options that differ between two configurations
    Diff {
        /// The first: a file, the name of a build or image, or `running`
        #[arg(value_name = "A")]
        a: String,

        /// The second
        #[arg(value_name = "B")]
        b: String,

        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Which all-options configuration to build as a test
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum BuildTest {
    /// Everything built in
    Allyesconfig,
    /// Everything as modules
    Allmodconfig,
}

/// Options of `kernel build`
#[derive(Args, Debug)]
pub struct KernelBuildArgs {
    /// The source: its name in the store, or a directory
    #[arg(value_name = "SOURCE")]
    pub source: PathBuf,

    /// Name of the build [default: that of the source, and the model or base]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// What its configuration is made of
    #[command(flatten)]
    pub wish: KernelConfigWish,

    /// Build for several models: none, voluntary and full share a build, in which preempt= selects one at boot (since Linux 7.0 only full)
    #[arg(long, value_name = "MODELS", value_delimiter = ',', conflicts_with = "model",
          value_parser = one_of(KernelModel::ALL, KernelModel::name))]
    pub matrix: Vec<KernelModel>,

    /// Number of parallel compilers [default: one per CPU]
    #[arg(long, short = 'j', value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub jobs: Option<u16>,

    /// Do not use ccache even if it is installed
    #[arg(long)]
    pub no_ccache: bool,

    /// Make Debian packages too (bindeb-pkg)
    #[arg(long)]
    pub package: bool,

    /// Test whether the whole source compiles, instead of building a kernel to run: takes hours, estimated first
    #[arg(long, value_name = "CONFIG", value_enum, conflicts_with_all = ["base", "package", "matrix"])]
    pub build_test: Option<BuildTest>,

    /// With --build-test: compile only this directory of the source, such as drivers/clocksource (can be repeated)
    #[arg(long, value_name = "DIR", requires = "build_test")]
    pub only: Vec<String>,

    /// Build even if options differ from what was asked
    #[arg(long)]
    pub anyway: bool,

    /// Show no progress, only the result
    #[arg(long, short = 'q')]
    pub quiet: bool,

    /// Print what was built as JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `kernel rebase`
#[derive(Args, Debug)]
pub struct KernelRebaseArgs {
    /// The vendor's repository, whose files and branches stay as they are: a directory, or a source of the store
    #[arg(long, value_name = "SOURCE", default_value = ".")]
    pub tree: PathBuf,

    /// The vendor's branch
    #[arg(long, value_name = "BRANCH", required_unless_present_any = ["resume", "abort", "status"])]
    pub vendor: Option<String>,

    /// The branch to rebase it onto
    #[arg(long, value_name = "BRANCH", required_unless_present_any = ["resume", "abort", "status"])]
    pub onto: Option<String>,

    /// Where the vendor's work starts [default: where the two branches diverge]
    #[arg(long, value_name = "COMMIT")]
    pub base: Option<String>,

    /// Name of the new branch [default: punctual/VENDOR]
    #[arg(long, value_name = "NAME")]
    pub branch: Option<String>,

    /// Directory of the worktree, which must be empty if it exists [default: next to the kernels in the store]
    #[arg(long, value_name = "DIR", value_parser = path())]
    pub worktree: Option<PathBuf>,

    /// Continue after resolving conflicts in the worktree
    #[arg(long = "continue", conflicts_with_all = ["vendor", "onto", "base", "branch", "worktree"])]
    pub resume: bool,

    /// Give up: remove the worktree and the new branch
    #[arg(long, conflicts_with_all = ["vendor", "onto", "base", "branch", "worktree", "resume"])]
    pub abort: bool,

    /// Show its progress
    #[arg(long, conflicts_with_all = ["vendor", "onto", "base", "branch", "worktree", "resume", "abort"])]
    pub status: bool,

    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `kernel bisect`
#[derive(Args, Debug)]
pub struct KernelBisectArgs {
    /// The repository, whose files stay as they are: a directory, or a source of the store
    #[arg(long, value_name = "SOURCE", default_value = ".")]
    pub tree: PathBuf,

    /// A commit without the fault
    #[arg(long, value_name = "COMMIT")]
    pub good: String,

    /// A commit with it
    #[arg(long, value_name = "COMMIT")]
    pub bad: String,

    /// A shell command that judges the commit in its directory, by its exit status: 0 good, 1 to 124 bad, 125
    /// cannot be judged, others abort the bisection. $PUNCTUAL is this program, $PUNCTUAL_BISECT_COMMIT the commit
    #[arg(long, value_name = "COMMAND")]
    pub oracle: String,

    /// Do not check first that the good commit is good and the bad one bad
    #[arg(long)]
    pub trust_ends: bool,

    /// File to append the oracle's output to [default: kernels/bisect.log in the store]
    #[arg(long, value_name = "FILE", value_parser = path())]
    pub log: Option<PathBuf>,

    /// Show no progress, only the result
    #[arg(long, short = 'q')]
    pub quiet: bool,

    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}
