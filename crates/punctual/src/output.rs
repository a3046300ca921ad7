// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Printing results. A reader that closes its end early, as `head` does, is not a failure.

#[cfg(feature = "workbench")]
mod destination;

use std::io::{self, BufRead as _, IsTerminal as _, Write};

use punctual_model::{RunRecord, json};
use punctual_report::document::Document;
use punctual_report::text::{self, Detail};
use punctual_sys::terminal;
use serde::Serialize;

#[cfg(feature = "workbench")]
pub(crate) use self::destination::Destination;
use crate::error::CliError;
use crate::view;

/// Prints `text` to standard output.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    write(|out| out.write_all(text.as_bytes()))
}

/// Prints `value` as JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<(), CliError> {
    write(|out| {
        out.write_all(&json::indented(value)?)?;
        writeln!(out)
    })
}

/// Prints a result as JSON, or the document that it makes.
pub(crate) fn show<T: Serialize>(
    value: &T,
    as_json: bool,
    of: impl FnOnce(&T) -> Document,
) -> Result<(), CliError> {
    show_in(Detail::Summary, value, as_json, of)
}

/// The same with as much detail as is asked for.
pub(crate) fn show_in<T: Serialize>(
    detail: Detail,
    value: &T,
    as_json: bool,
    of: impl FnOnce(&T) -> Document,
) -> Result<(), CliError> {
    match as_json {
        true => json(value),
        false => print(&text::page(&of(value), columns(), detail)),
    }
}

/// Columns of output that is no terminal.
const COLUMNS: usize = 80;

/// What `document` says, as wide as the terminal is.
pub(crate) fn written(document: &Document) -> String {
    text::page(document, columns(), Detail::Summary)
}

/// What a run says: its figures, and the checks that did not pass.
pub(crate) fn run(record: &RunRecord) -> String {
    text::run(record.clone().into(), columns(), Detail::Summary)
}

/// Columns to write in: those of the terminal on standard output, but not so few that no table fits.
pub(crate) fn columns() -> usize {
    let size = terminal::size_of(io::stdout());
    size.map_or(COLUMNS, |(columns, _)| usize::from(columns).max(COLUMNS))
}

/// Prints with `body` to standard output.
pub(crate) fn write(body: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), CliError> {
    view::give_back(terminal::is_shared_with_output());
    let mut out = io::BufWriter::new(io::stdout().lock());
    match body(&mut out).and_then(|()| out.flush()) {
        Err(err) if err.kind() != io::ErrorKind::BrokenPipe => {
            Err(CliError::failed_to("write to standard output").because(err))
        }
        _ => Ok(()),
    }
}

/// Prints a document to standard error, next to the output of something else.
pub(crate) fn remark_on(document: &Document) {
    remark(written(document).trim_end());
}

/// Prints a remark to standard error. It is a courtesy: it is not a failure if it cannot be printed.
pub(crate) fn remark(text: &str) {
    view::give_back(true);
    drop(io::stderr().write_all(format!("{text}\n").as_bytes()));
}

/// Asks. Without a terminal nobody can answer, and then nothing is done.
pub(crate) fn confirm(yes: bool, question: &str) -> Result<(), CliError> {
    if yes {
        return Ok(());
    }
    let refused = |what: &str| {
        CliError::failed_to(format!("change the boot loader: {what}"))
            .hint("--yes skips the question")
    };
    if !io::stdin().is_terminal() {
        return Err(refused("there is no terminal to ask on"));
    }
    remark(&format!("{question} [y/N]"));
    let mut answer = String::new();
    io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|err| refused("the answer cannot be read").because(err))?;
    if matches!(answer.trim(), "y" | "Y" | "yes") {
        Ok(())
    } else {
        Err(refused("the answer was no"))
    }
}
