// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual measure io`.

use std::collections::BTreeMap;
use std::path::{Path, absolute};

use punctual_measure::io::{self, Io};
use punctual_model::{Bytes, Nanos};

use super::instrument::{self, Asked, Kind, Measured};
use crate::cli::IoArgs;
use crate::error::CliError;
use crate::exit::Exit;

/// Shorter runs say more of fio's start than of the disk.
const SHORTEST: Nanos = Nanos::from_millis(500);

/// Sizes of a request that the kernel takes: a sector at least.
const REQUESTS: (Bytes, Bytes) = (Bytes::new(512), Bytes::new(1 << 30));

/// The largest file.
const LARGEST: Bytes = Bytes::new(16 << 40);

/// Measures storage as `args` say.
pub(crate) fn run(home: Option<&Path>, args: &IoArgs) -> Result<Exit, CliError> {
    if args.runtime < SHORTEST {
        let reason = format!("must be at least {SHORTEST}");
        return Err(CliError::usage(format!(
            "--runtime {}: {reason}",
            args.runtime
        )));
    }
    let (least, most) = REQUESTS;
    let block = args.block_size;
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
    let asked = Asked {
        instrument: "io",
        kind: Kind::Throughput,
        measured: Measured::All,
        priority: args.priority,
        duration: None,
        options: BTreeMap::new(),
    }
    .option("engine", args.engine.name())
    .option("rw", args.rw.name())
    .option("block_size", block)
    .option("depth", args.depth)
    .option("threads", args.threads)
    .option("size", args.size)
    .option("directory", directory.display())
    .option("buffered", args.buffered)
    .option("runtime", args.runtime)
    .option("repeats", args.repeats);
    let what = Io {
        engine: args.engine,
        pattern: args.rw,
        block,
        depth: args.depth,
        jobs: args.threads,
        size: args.size,
        directory,
        buffered: args.buffered,
        runtime: args.runtime,
        repeats: args.repeats,
    };
    instrument::run(home, &args.common, asked, |frame| io::run(&what, frame))
}
