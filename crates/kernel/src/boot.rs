// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Booting a kernel in QEMU: what it is given ([`Initramfs`], [`Design`]), and running it to its end
//! ([`Boot`]).

mod architecture;
mod archive;
mod identity;
mod image;
mod initramfs;
mod launch;
mod libraries;
mod log;
mod machine;
mod program;
mod unpacked;

pub use architecture::{Architecture, Facts};
pub use archive::{Archive, Node};
pub use image::Image;
pub(crate) use image::kind;
pub use initramfs::{Compression, Initramfs, check_initramfs};
pub use launch::{Boot, BootError, Booted};
pub use log::tail;
pub use machine::{CLOCK_BASE, Design, Files, Machine, SHIFT};
pub use program::{Library, Program, ProgramError};
