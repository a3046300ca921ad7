// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual kernel initramfs`.

use std::fs::OpenOptions;
use std::io::Write as _;

use punctual_kernel::boot::Compression;

use crate::cli::InitramfsArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::guests::Agent;
use crate::output::print;

/// Writes the initial RAM file system of guests to the file that `args` name.
pub(super) fn write(args: &InitramfsArgs) -> Result<Exit, CliError> {
    let cannot = || CliError::failed_to("make the initial RAM file system");
    let agent = match (args.whole, &args.arch) {
        (true, _) => Agent::whole()?,
        (false, Some(machine)) => Agent::of(*machine)?,
        (false, None) => Agent::here()?,
    };
    let compression = match args.uncompressed {
        true => Compression::None,
        false => Compression::Gzip,
    };
    let mut initramfs = agent.initramfs();
    for file in &args.file {
        let (path, from) = file
            .split_once('=')
            .filter(|(path, _)| !path.trim_matches('/').is_empty())
            .ok_or_else(|| CliError::usage(format!("--file {file}: must be PATH=FILE")))?;
        let content = std::fs::read(from)
            .map_err(|err| CliError::failed_to(format!("read {from}")).because(err))?;
        initramfs = initramfs.file(path, &content);
    }
    let bytes = initramfs
        .pack(compression)
        .map_err(|err| cannot().because(err))?;
    let mut options = OpenOptions::new();
    options.write(true);
    match args.force {
        true => options.create(true).truncate(true),
        false => options.create_new(true),
    };
    options
        .open(&args.output)
        .and_then(|mut file| file.write_all(&bytes))
        .map_err(|err| {
            let exists = err.kind() == std::io::ErrorKind::AlreadyExists;
            CliError::failed_to(format!("write {}", args.output.display()))
                .because(err)
                .hints(exists.then_some("overwrite it with --force"))
        })?;
    print(&format!(
        "{}: {} bytes, agent {}\n",
        args.output.display(),
        bytes.len(),
        agent.described()
    ))?;
    Ok(Exit::Fine)
}
