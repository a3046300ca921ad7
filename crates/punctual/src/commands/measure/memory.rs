// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual measure memory`.

use std::collections::BTreeMap;
use std::path::Path;

use punctual_measure::memory::{self, Kernel, Memory};
use punctual_model::Bytes;
use punctual_sys::pages::HugePages;

use super::instrument::{self, Asked, Kind, Measured};
use crate::cli::{HugePagesArg, MemoryArgs};
use crate::error::CliError;
use crate::exit::Exit;

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
    let asked = Asked {
        instrument: "memory",
        kind: Kind::Throughput,
        measured: Measured::All,
        priority: args.priority,
        duration: None,
        options: BTreeMap::new(),
    }
    .option("size", args.size)
    .option("kernels", names.join(","))
    .option("threads", args.threads)
    .option("huge_pages", huge_name)
    .option("repeats", args.repeats);
    let what = Memory {
        block: args.size,
        kernels,
        threads: args.threads,
        repeats: args.repeats,
        huge_pages,
    };
    instrument::run(home, &args.common, asked, |frame| memory::run(&what, frame))
}
