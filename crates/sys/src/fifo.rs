// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Named pipes.

use std::io;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};

/// Makes a named pipe at `path` that everybody may read and its owner may write.
///
/// # Errors
///
/// Fails as `mkfifo(3)` does, with `EEXIST` where something is there.
pub fn make_fifo(path: &Path) -> io::Result<()> {
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    Ok(mknodat(CWD, path, FileType::Fifo, mode, 0)?)
}
