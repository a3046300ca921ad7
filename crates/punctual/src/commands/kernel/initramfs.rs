// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual kernel initramfs`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use punctual_kernel::boot::Compression;

use crate::cli::InitramfsArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::guests::Agent;
use crate::output::{Destination, print};

/// Writes the initial RAM file system of guests to the file that `args` name.
pub(super) fn write(args: &InitramfsArgs) -> Result<Exit, CliError> {
    let cannot = || CliError::failed_to("make the initial RAM file system");
    let target = Destination::open(&args.output, args.force)?;
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
        if let Some(why) = initramfs.refuses(path) {
            return Err(CliError::usage(format!("--file {file}: {why}")));
        }
        let unread = |err| CliError::failed_to(format!("read {from}")).because(err);
        let content = fs::read(from).map_err(unread)?;
        let mode = fs::metadata(from).map_err(unread)?.permissions().mode();
        initramfs = match mode & 0o111 {
            0 => initramfs.file(path, &content),
            _ => initramfs.executable(path, &content),
        };
    }
    let bytes = initramfs
        .pack(compression)
        .map_err(|err| cannot().because(err))?;
    let is_taken = target.is_standard_output();
    let size = bytes.len();
    target.put(&bytes)?;
    if is_taken {
        return Ok(Exit::Fine);
    }
    print(&format!(
        "{}: {} bytes, agent {}\n",
        args.output.display(),
        size,
        agent.described()
    ))?;
    Ok(Exit::Fine)
}
