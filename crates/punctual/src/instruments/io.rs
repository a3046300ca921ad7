// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual measure io`: its options, and what they mean.

use std::path::{Path, PathBuf, absolute};

use clap::Args;
use punctual_measure::io::{self, Access, AsyncEngine, Io, Job, Pattern};
use punctual_model::{Bytes, Nanos};

use super::request::{self, Request};
use crate::cli::{CommonArgs, RATES, RepeatArgs, at_least, one_of, own, path};
use crate::error::CliError;
use crate::exit::Exit;

/// Options of `measure io`
#[derive(Args, Debug)]
#[command(mut_args(own("io", &[RATES, ("repeats", "5", Some("Number of runs of fio"))])))]
pub struct IoArgs {
    /// A named access pattern, in place of the options that it sets; aio-stress: libaio, randwrite, 64K, 64
    /// requests at once, one thread, one file
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Sampling",
        conflicts_with_all = ["engine", "rw", "block_size", "depth", "threads"],
        value_parser = one_of(Job::ALL, Job::name)
    )]
    pub job: Option<Job>,

    /// How requests reach the kernel
    #[arg(
        long,
        value_name = "ENGINE",
        default_value = "libaio",
        help_heading = "Sampling",
        value_parser = one_of(AsyncEngine::ALL, AsyncEngine::name)
    )]
    pub engine: AsyncEngine,

    /// I/O pattern, in fio's terms
    #[arg(
        long,
        value_name = "PATTERN",
        default_value = "randwrite",
        help_heading = "Sampling",
        value_parser = one_of(Pattern::ALL, Pattern::name)
    )]
    pub rw: Pattern,

    /// Size of a request
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "64K",
        help_heading = "Sampling"
    )]
    pub block_size: Bytes,

    /// Queue depth of each thread
    #[arg(
        long,
        value_name = "N",
        default_value = "32",
        help_heading = "Sampling",
        value_parser = clap::value_parser!(u32).range(1..=65_536)
    )]
    pub depth: u32,

    /// Threads of fio
    #[arg(
        long,
        short = 't',
        value_name = "N",
        default_value = "1",
        help_heading = "Threads",
        value_parser = clap::value_parser!(u32).range(1..=4096)
    )]
    pub threads: u32,

    /// Size of the file
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "1G",
        help_heading = "Sampling"
    )]
    pub size: Bytes,

    /// Directory of the file, which is unnamed and disappears however the run ends
    #[arg(
        long,
        value_name = "DIR",
        default_value = ".",
        help_heading = "Sampling",
        value_parser = path()
    )]
    pub directory: PathBuf,

    /// Use the page cache; otherwise requests bypass it (O_DIRECT)
    #[arg(long, help_heading = "Sampling")]
    pub buffered: bool,

    /// Length of each run of fio
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "3s",
        help_heading = "End"
    )]
    pub runtime: Nanos,

    /// How often
    #[command(flatten)]
    pub repeat: RepeatArgs,

    /// What all instruments share
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Shorter runs say more of fio's start than of the disk.
const SHORTEST: Nanos = Nanos::from_millis(500);

/// Sizes of a request that the kernel takes: a sector at least.
const REQUESTS: (Bytes, Bytes) = (Bytes::new(512), Bytes::new(1 << 30));

/// The largest file.
const LARGEST: Bytes = Bytes::new(16 << 40);

/// Measures storage as `args` say.
pub(crate) fn run(home: Option<&Path>, args: &IoArgs) -> Result<Exit, CliError> {
    at_least("--runtime", args.runtime, SHORTEST)?;
    let (least, most) = REQUESTS;
    let pattern = match args.job {
        Some(job) => job.access(),
        None => Access {
            engine: args.engine,
            pattern: args.rw,
            block: args.block_size,
            depth: args.depth,
            jobs: args.threads,
        },
    };
    let block = pattern.block;
    if block < least || block > most || !block.get().is_multiple_of(least.get()) {
        return Err(CliError::usage(format!(
            "--block-size {block}: must be from {least} to {most} and a multiple of {least}"
        )));
    }
    if args.size < block || args.size > LARGEST || !args.size.get().is_multiple_of(block.get()) {
        return Err(CliError::usage(format!(
            "--size {}: must be at most {LARGEST} and a multiple of --block-size {block}",
            args.size
        )));
    }
    let directory = absolute(&args.directory)
        .map_err(|err| CliError::failed_to("find the current directory").because(err))?;
    let mut asked = Request::of("io");
    if let Some(job) = args.job {
        asked = asked.option("job", job.name());
    }
    let asked = asked
        .option("engine", pattern.engine.name())
        .option("rw", pattern.pattern.name())
        .option("block_size", block)
        .option("depth", pattern.depth)
        .option("threads", pattern.jobs)
        .option("size", args.size)
        .option("directory", directory.display())
        .option("buffered", args.buffered)
        .option("runtime", args.runtime)
        .option("repeats", args.repeat.repeats);
    let what = Io {
        access: pattern,
        size: args.size,
        directory,
        buffered: args.buffered,
        runtime: args.runtime,
        repeats: args.repeat.repeats,
    };
    request::run(home, &args.common, asked, |frame| io::run(&what, frame))
}
