// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Booting a kernel in QEMU.

mod archive;
mod initramfs;
mod program;

pub use archive::{Archive, Node};
pub use initramfs::{Compression, INITRAMFS_LIMIT, Initramfs};
pub use program::{Library, Program, ProgramError};
