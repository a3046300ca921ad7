// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The kernel's file system for debugging, where some settings of its scheduler are. Where it cannot be looked into, that a
//! file is not there says nothing of the kernel.

use punctual_sys::SysRoot;

/// Its mount point.
pub(crate) const PLACE: &str = "/sys/kernel/debug";

/// What is said where nothing is mounted.
pub(crate) const NOT_MOUNTED: &str = "debugfs is not mounted";

/// Says why what would be in it cannot be seen, if that is so. What is mounted is never empty.
pub(crate) fn unseen(sys: &SysRoot) -> Option<&'static str> {
    match sys.names(PLACE) {
        Ok(names) if names.is_empty() && sys.exists(PLACE) => Some(NOT_MOUNTED),
        Err(err) if err.is_permission() => Some("only root sees what is in debugfs"),
        _ => None,
    }
}
