// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the failures of a configuration say.

use punctual_kernel::config::ConfigError;

use super::kernel_store::failed;
use crate::error::CliError;
use crate::exit::Exit;

/// Makes an error of what `configure` says.
pub(crate) fn not_configured(err: ConfigError) -> CliError {
    match err {
        ConfigError::Usage { option, reason } => {
            let of_fragments = !option.starts_with("--base ");
            CliError::usage(format!("{option}: {reason}")).hints(
                of_fragments.then_some("`punctual kernel config --list` lists the fragments"),
            )
        }
        ConfigError::NotTold { .. } => failed("configure the kernel", err)
            .exiting(Exit::Unsupported)
            .hint("name a file with --base FILE, or start from --base defconfig"),
        err => {
            let unclean = std::error::Error::source(&err)
                .is_some_and(|source| source.to_string().contains("mrproper"));
            failed("configure the kernel", err).hints(
                unclean.then_some(
                    "the source contains build output; `make mrproper` there removes it",
                ),
            )
        }
    }
}
