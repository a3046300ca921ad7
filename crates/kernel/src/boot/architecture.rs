// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The processors that guests are booted for, and what of a guest's machine depends on them.

use std::fmt;

/// A processor architecture that QEMU boots guests for.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub enum Architecture {
    /// The PC.
    #[default]
    X86_64,
    /// 64-bit Arm: QEMU's machine `virt`.
    Arm64,
}

impl Architecture {
    /// Every architecture.
    pub const ALL: [Self; 2] = [Self::X86_64, Self::Arm64];

    /// Returns that of this program, where it is one of these.
    pub fn here() -> Option<Self> {
        Self::of_machine(std::env::consts::ARCH)
    }

    /// Returns the one that `uname -m` calls `name`.
    pub fn of_machine(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.machine() == name)
    }

    /// Returns what `uname -m` calls it, and rustc.
    pub const fn machine(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Arm64 => "aarch64",
        }
    }

    /// Returns the one that is called `word`: as `uname -m` or as Debian calls it, `arm64` for example.
    pub fn of_word(word: &str) -> Option<Self> {
        let named = || Self::ALL.into_iter().find(|known| known.name() == word);
        Self::of_machine(word).or_else(named)
    }

    /// Whether this program runs on another one.
    pub fn is_foreign(self) -> bool {
        Self::here() != Some(self)
    }

    /// Returns what the names of the programs of a cross compiler for it begin with.
    pub(crate) const fn cross_compile(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-linux-gnu-",
            Self::Arm64 => "aarch64-linux-gnu-",
        }
    }

    /// Returns its name in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86-64",
            Self::Arm64 => "arm64",
        }
    }

    /// Returns QEMU's program for it.
    pub const fn qemu(self) -> &'static str {
        match self {
            Self::X86_64 => "qemu-system-x86_64",
            Self::Arm64 => "qemu-system-aarch64",
        }
    }

    /// Returns Debian's package with [`Architecture::qemu`].
    pub const fn qemu_package(self) -> &'static str {
        match self {
            Self::X86_64 => "qemu-system-x86",
            Self::Arm64 => "qemu-system-arm",
        }
    }

    /// Returns the kernel's images that QEMU boots, in words.
    pub const fn images(self) -> &'static str {
        match self {
            Self::X86_64 => "a bzImage, or an ELF file",
            Self::Arm64 => "an Image, or one packed by gzip",
        }
    }

    /// Returns the line of a guest that leads to the host: the second serial port. The machine `virt` has one only, so
    /// a PCI card has the second, and its driver begins to count at 0.
    pub const fn line(self) -> &'static str {
        match self {
            Self::X86_64 => "/dev/ttyS1",
            Self::Arm64 => "/dev/ttyS0",
        }
    }

    /// Returns the serial port that the kernel logs to.
    pub(super) const fn console(self) -> &'static str {
        match self {
            Self::X86_64 => "ttyS0",
            Self::Arm64 => "ttyAMA0",
        }
    }

    /// Returns `e_machine` of its ELF files (elf.h).
    pub(super) const fn elf(self) -> u16 {
        match self {
            Self::X86_64 => 62,
            Self::Arm64 => 183,
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
