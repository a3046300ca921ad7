// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual measure memory`: its options, and what they mean.

use std::path::Path;

use clap::{Args, ValueEnum};
use punctual_measure::memory::{self, Kernel, Memory};
use punctual_model::Bytes;
use punctual_sys::pages::HugePages;

use super::request::{self, Request};
use crate::cli::{CommonArgs, RATES, RepeatArgs, one_of, own};
use crate::error::CliError;
use crate::exit::Exit;

/// Options of `measure memory`
#[derive(Args, Debug)]
#[command(mut_args(own("memory", &[RATES, ("repeats", "5", Some("Number of observations of each loop and pair of nodes"))])))]
pub struct MemoryArgs {
    /// Size of a block, such as 256M; each thread has up to four on every memory node
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "256M",
        help_heading = "Sampling"
    )]
    pub size: Bytes,

    /// Loops to measure (comma-separated) [default: all]
    #[arg(
        long,
        value_name = "KERNEL",
        value_delimiter = ',',
        help_heading = "Sampling",
        value_parser = one_of(Kernel::ALL, Kernel::name)
    )]
    pub kernels: Vec<Kernel>,

    /// Number of threads per CPU node
    #[arg(
        long,
        short = 't',
        value_name = "N",
        default_value = "1",
        help_heading = "Threads",
        value_parser = clap::value_parser!(u32).range(1..=4096)
    )]
    pub threads: u32,

    /// Huge pages for the blocks: as the kernel is set, requested, or refused
    #[arg(
        long,
        value_name = "HOW",
        default_value = "leave",
        help_heading = "Sampling"
    )]
    pub huge_pages: HugePagesArg,

    /// How often
    #[command(flatten)]
    pub repeat: RepeatArgs,

    /// What all instruments share
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Whether memory lies in huge pages
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum HugePagesArg {
    /// As the kernel is set
    Leave,
    /// Asked for
    Ask,
    /// Refused
    Refuse,
}

/// Sizes of a block that make sense: a page of any machine, and more than any has.
const SIZES: (Bytes, Bytes) = (Bytes::new(64 << 10), Bytes::new(16 << 40));

/// Measures memory as `args` say.
pub(crate) fn run(home: Option<&Path>, args: &MemoryArgs) -> Result<Exit, CliError> {
    if args.size < SIZES.0 || args.size > SIZES.1 {
        let (least, most) = SIZES;
        return Err(CliError::usage(format!(
            "--size {}: must be from {least} to {most}",
            args.size
        )));
    }
    let mut kernels = match args.kernels.as_slice() {
        [] => Kernel::ALL.to_vec(),
        given => given.to_vec(),
    };
    kernels.sort_unstable();
    kernels.dedup();
    let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name()).collect();
    let (huge_pages, huge_name) = match args.huge_pages {
        HugePagesArg::Leave => (HugePages::Leave, "leave"),
        HugePagesArg::Ask => (HugePages::Ask, "ask"),
        HugePagesArg::Refuse => (HugePages::Refuse, "refuse"),
    };
    let asked = Request::of("memory")
        .option("size", args.size)
        .option("kernels", names.join(","))
        .option("threads", args.threads)
        .option("huge_pages", huge_name)
        .option("repeats", args.repeat.repeats);
    let what = Memory {
        block: args.size,
        kernels,
        threads: args.threads,
        repeats: args.repeat.repeats,
        huge_pages,
    };
    request::run(home, &args.common, asked, |frame| memory::run(&what, frame))
}
