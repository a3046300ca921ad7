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

/// What depends on the processors.
#[derive(Debug)]
#[non_exhaustive]
pub struct Facts {
    /// What `uname -m` calls it, and rustc.
    pub machine: &'static str,
    /// What the names of the programs of a cross compiler for it begin with.
    pub(crate) cross_compile: &'static str,
    /// Its name in words.
    pub name: &'static str,
    /// QEMU's program for it.
    pub qemu: &'static str,
    /// Debian's package with [`Facts::qemu`].
    pub qemu_package: &'static str,
    /// The kernel's images that QEMU boots, in words.
    pub images: &'static str,
    /// The line of a guest that leads to the host: the second serial port. The machine `virt` has one only, so
    /// a PCI card has the second, and its driver begins to count at 0.
    pub line: &'static str,
    /// The serial port that the kernel logs to.
    pub(super) console: &'static str,
    /// `e_machine` of its ELF files (elf.h).
    pub(super) elf: u16,
}

const X86_64: Facts = Facts {
    machine: "x86_64",
    cross_compile: "x86_64-linux-gnu-",
    name: "x86-64",
    qemu: "qemu-system-x86_64",
    qemu_package: "qemu-system-x86",
    images: "a bzImage, or an ELF file",
    line: "/dev/ttyS1",
    console: "ttyS0",
    elf: 62,
};

const ARM64: Facts = Facts {
    machine: "aarch64",
    cross_compile: "aarch64-linux-gnu-",
    name: "arm64",
    qemu: "qemu-system-aarch64",
    qemu_package: "qemu-system-arm",
    images: "an Image, or one packed by gzip",
    line: "/dev/ttyS0",
    console: "ttyAMA0",
    elf: 183,
};

impl Architecture {
    /// Every architecture.
    pub const ALL: [Self; 2] = [Self::X86_64, Self::Arm64];

    /// Returns what depends on it.
    pub const fn facts(self) -> &'static Facts {
        match self {
            Self::X86_64 => &X86_64,
            Self::Arm64 => &ARM64,
        }
    }

    /// Returns that of this program, where it is one of these.
    pub fn here() -> Option<Self> {
        Self::of_machine(std::env::consts::ARCH)
    }

    /// Returns the one that `uname -m` calls `name`.
    pub fn of_machine(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|known| known.facts().machine == name)
    }

    /// Returns the one that is called `word`: as `uname -m` or as Debian calls it, `arm64` for example.
    pub fn of_word(word: &str) -> Option<Self> {
        let named = || {
            Self::ALL
                .into_iter()
                .find(|known| known.facts().name == word)
        };
        Self::of_machine(word).or_else(named)
    }

    /// Whether this program runs on another one.
    pub fn is_foreign(self) -> bool {
        Self::here() != Some(self)
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.facts().name)
    }
}
