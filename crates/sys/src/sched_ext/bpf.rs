// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `bpf(2)`, as far as a scheduler needs it.

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// Commands.
const MAP_CREATE: i32 = 0;
const MAP_LOOK_UP: i32 = 1;
const MAP_UPDATE: i32 = 2;
const PROGRAM_LOAD: i32 = 5;
const BTF_LOAD: i32 = 18;
const LINK_CREATE: i32 = 28;

/// Types of maps and programs.
const HASH: u32 = 1;
const ARRAY: u32 = 2;
const STRUCT_OPS_MAP: u32 = 26;
const STRUCT_OPS_PROGRAM: u32 = 27;
const STRUCT_OPS_LINK: u32 = 44;

/// Flags.
const MMAPABLE: u32 = 1 << 10;
const BY_LINK: u32 = 1 << 13;
const SLEEPABLE: u32 = 1 << 4;

/// The kernel's functions for schedulers want a licence compatible with the GPL.
const LICENCE: &[u8] = b"Dual MIT/GPL\0";

/// Room for what the verifier says, and what of it is kept: the end has the reason.
const LOG_BYTES: usize = 1 << 20;
const LOG_KEPT: usize = 1_000;

/// `union bpf_attr`: fields at their offsets, all else zero.
#[derive(Debug, Default)]
struct Attr([u64; 18]);

impl Attr {
    fn with(mut self, offset: usize, value: u32) -> Self {
        let half = (offset % 8) * 8;
        self.0[offset / 8] |= u64::from(value) << half;
        self
    }

    fn with_wide(mut self, offset: usize, value: u64) -> Self {
        self.0[offset / 8] = value;
        self
    }

    fn with_fd(self, offset: usize, fd: &OwnedFd) -> Self {
        self.with(offset, fd.as_raw_fd().cast_unsigned())
    }

    fn with_bytes(self, offset: usize, bytes: &[u8]) -> Self {
        self.with_wide(offset, bytes.as_ptr() as u64)
    }

    fn with_name(mut self, offset: usize, name: &str) -> Self {
        // 15 bytes and a zero, of letters, digits and underscores.
        for (at, byte) in name.bytes().take(15).enumerate() {
            self = self.with(offset + at - at % 4, u32::from(byte) << (at % 4 * 8));
        }
        self
    }
}

/// Does a command that returns no descriptor. What `attr` points to must live, and be as long as the command takes it to be.
unsafe fn call(command: i32, attr: &Attr) -> io::Result<i32> {
    // SAFETY: `attr` is live and as long as said; the caller answers for what it points to.
    let rc = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            attr.0.as_ptr(),
            size_of_val(&attr.0),
        )
    };
    match i32::try_from(rc) {
        Ok(rc) if rc >= 0 => Ok(rc),
        _ => Err(io::Error::last_os_error()),
    }
}

unsafe fn descriptor(command: i32, attr: &Attr) -> io::Result<OwnedFd> {
    // SAFETY: as of `call`.
    let fd = unsafe { call(command, attr) }?;
    // SAFETY: a descriptor that the kernel returns is ours alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes a map from words to values of `value` bytes.
pub(super) fn hash(name: &str, value: u32, most: u32) -> io::Result<OwnedFd> {
    map(HASH, name, value, most, 0)
}

/// Makes an array of values of `value` bytes.
pub(super) fn array(name: &str, value: u32, length: u32) -> io::Result<OwnedFd> {
    map(ARRAY, name, value, length, MMAPABLE)
}

fn map(kind: u32, name: &str, value: u32, most: u32, flags: u32) -> io::Result<OwnedFd> {
    let attr = Attr::default()
        .with(0, kind)
        .with(4, 4)
        .with(8, value)
        .with(12, most)
        .with(16, flags)
        .with_name(28, name);
    // SAFETY: the command takes numbers alone.
    unsafe { descriptor(MAP_CREATE, &attr) }
}

/// Makes the map that takes `struct sched_ext_ops`: `value` is the kernel's type around it, `bytes` its size.
pub(super) fn struct_ops(name: &str, btf: &[u8], value: u32, bytes: u32) -> io::Result<OwnedFd> {
    let length = u32::try_from(btf.len()).unwrap_or(0);
    let attr = Attr::default().with_bytes(0, btf).with(16, length);
    // SAFETY: `btf` lives and has this length.
    let btf = unsafe { descriptor(BTF_LOAD, &attr) }?;
    let attr = Attr::default()
        .with(0, STRUCT_OPS_MAP)
        .with(4, 4)
        .with(8, bytes)
        .with(12, 1)
        .with(16, BY_LINK)
        .with_name(28, name)
        .with_fd(48, &btf)
        .with(60, value);
    // SAFETY: the command takes numbers alone.
    unsafe { descriptor(MAP_CREATE, &attr) }
}

/// Sets the value of a word. `value` must be as long as the map's values.
pub(super) fn update(map: &OwnedFd, key: u32, value: &[u8], length: usize) -> io::Result<()> {
    if value.len() < length {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let key = key.to_ne_bytes();
    let attr = Attr::default()
        .with_fd(0, map)
        .with_bytes(8, &key)
        .with_bytes(16, value);
    // SAFETY: the key has the four bytes of each of our maps, the value as many as the caller says the map's have.
    unsafe { call(MAP_UPDATE, &attr) }.map(drop)
}

/// Reads the value of a word into `value`, which must be as long as the map's values.
pub(super) fn look_up(map: &OwnedFd, key: u32, value: &mut [u8]) -> io::Result<()> {
    let key = key.to_ne_bytes();
    let attr = Attr::default()
        .with_fd(0, map)
        .with_bytes(8, &key)
        .with_wide(16, value.as_mut_ptr() as u64);
    // SAFETY: as of `update`, and the value may be written to.
    unsafe { call(MAP_LOOK_UP, &attr) }.map(drop)
}

/// Loads a function of a struct of functions: `of` is the kernel's number of the struct, `member` the function's place in it. On
/// refusal, what the verifier said comes with the error.
pub(super) fn load(
    name: &str,
    words: &[u64],
    of: u32,
    member: u32,
    sleeps: bool,
) -> Result<OwnedFd, (io::Error, String)> {
    let count = u32::try_from(words.len()).unwrap_or(0);
    let attr = || {
        Attr::default()
            .with(0, STRUCT_OPS_PROGRAM)
            .with(4, count)
            .with_wide(8, words.as_ptr() as u64)
            .with_bytes(16, LICENCE)
            .with(44, if sleeps { SLEEPABLE } else { 0 })
            .with_name(48, name)
            .with(68, member)
            .with(108, of)
    };
    // SAFETY: instructions and licence live and are as long as said.
    let first = match unsafe { descriptor(PROGRAM_LOAD, &attr()) } {
        Ok(program) => return Ok(program),
        Err(err) => err,
    };
    let mut log = vec![0_u8; LOG_BYTES];
    let told = attr()
        .with(24, 1)
        .with(28, u32::try_from(log.len()).unwrap_or(0))
        .with_wide(32, log.as_mut_ptr() as u64);
    // SAFETY: the same, and the log may be written to.
    match unsafe { descriptor(PROGRAM_LOAD, &told) } {
        Ok(program) => Ok(program),
        Err(_) => {
            let said = log.split(|byte| *byte == 0).next().unwrap_or_default();
            let said = &said[said.len().saturating_sub(LOG_KEPT)..];
            Err((first, String::from_utf8_lossy(said).trim().to_owned()))
        }
    }
}

/// Makes the struct of functions in `map` the kernel's for as long as the descriptor is open.
pub(super) fn link(map: &OwnedFd) -> io::Result<OwnedFd> {
    let attr = Attr::default().with_fd(0, map).with(8, STRUCT_OPS_LINK);
    // SAFETY: the command takes numbers alone.
    unsafe { descriptor(LINK_CREATE, &attr) }
}

/// An array that this process shares with the kernel, as numbers of 8 bytes.
#[derive(Debug)]
pub(super) struct Shared {
    address: NonNull<AtomicU64>,
    count: usize,
}

// SAFETY: it is memory of atomic numbers that this alone unmaps.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// Maps the first `count` numbers of `array`.
    pub(super) fn map(array: &OwnedFd, count: usize) -> io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                count * size_of::<AtomicU64>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                array.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let address = NonNull::new(address.cast()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { address, count })
    }

    /// Returns a number of it.
    pub(super) const fn numbers(&self) -> &[AtomicU64] {
        // SAFETY: the mapping has this length, is aligned to a page, and lives as long as this; all bits are numbers.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.count) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's, and nothing refers to it any more.
        unsafe {
            libc::munmap(
                self.address.as_ptr().cast(),
                self.count * size_of::<AtomicU64>(),
            );
        }
    }
}
