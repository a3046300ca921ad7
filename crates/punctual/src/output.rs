// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Printing results. A reader that closes its end early, as `head` does, is no failure.

mod target;

use std::io::{self, Write};

pub(crate) use self::target::Target;
use crate::error::CliError;

/// Prints `text` to standard output.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    write(|out| out.write_all(text.as_bytes()))
}

/// Prints with `body` to standard output.
pub(crate) fn write(body: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), CliError> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match body(&mut out).and_then(|()| out.flush()) {
        Err(err) if err.kind() != io::ErrorKind::BrokenPipe => {
            Err(CliError::failed_to("write to standard output").because(err))
        }
        _ => Ok(()),
    }
}

/// Prints a remark to standard error. It is a courtesy: that it cannot be printed is no failure.
pub(crate) fn remark(text: &str) {
    drop(io::stderr().write_all(format!("{text}\n").as_bytes()));
}
