// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The header of the statistics for C.

use std::path::Path;

use anyhow::{Context as _, anyhow};

/// Where it is, from the root of the workspace.
pub(crate) const PATH: &str = "crates/stats-c/include/punctual_stats.h";

/// Makes the header of the sources in `root`.
pub(crate) fn content(root: &Path) -> anyhow::Result<String> {
    let sources = root.join("crates/stats-c");
    let config = cbindgen::Config::from_file(sources.join("cbindgen.toml"))
        .map_err(|err| anyhow!("failed to read cbindgen.toml: {err}"))?;
    // By its files and not by cargo, which would look at the registry.
    let mut builder = cbindgen::Builder::new().with_config(config);
    for file in ["handle", "moments", "quantiles", "histogram", "window"] {
        builder = builder.with_src(sources.join(format!("src/{file}.rs")));
    }
    let bindings = builder.generate().context("failed to make the header")?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    // What Rust calls safety is what a function in C requires.
    Ok(String::from_utf8(text)?.replace("// # Safety\n//\n// ", "// Required: "))
}
