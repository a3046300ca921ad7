// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What became of files that are taken back: kernel arguments, a kernel that boots once, one that was installed.

use punctual_host::boot::{FileUndone, FilesUndone};

use crate::exit::Exit;
use crate::output::remark;

/// Says what became of each file.
pub(crate) fn words(undone: &FilesUndone) -> String {
    let lines = undone.files.iter().map(|(path, undone)| {
        let what = match undone {
            FileUndone::Restored => "as before",
            FileUndone::AlreadyBack => "already as before",
            FileUndone::OthersKept => "Punctual's part removed; later changes by others remain",
            FileUndone::Conflict => "LEFT ALONE: changed since",
        };
        format!(" {path}: {what}\n")
    });
    lines.collect()
}

/// Returns the exit status; where something was left alone, says what to do about it.
pub(crate) fn exit(undone: &FilesUndone) -> Exit {
    if undone.is_complete() {
        return Exit::Fine;
    }
    remark(
        "Inspect what was left alone, and remove or restore it. Then run this command again: the rest of the record \
         is kept.",
    );
    Exit::NotRestored
}
