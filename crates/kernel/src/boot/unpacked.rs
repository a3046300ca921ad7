// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A kernel for x86-64 without what unpacks it.
//!
//! A bzImage is a small program with the kernel packed in it. An emulated processor takes longer to unpack it than to start
//! the kernel; this machine takes half a second. QEMU starts the kernel itself where it has an entry for that, PVH
//! (`CONFIG_PVH`, Documentation/arch/x86/boot.rst and xen/include/public/arch-x86/hvm/start_info.h), which
//! kernels of distributions have.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use punctual_sys::PathError;
use punctual_sys::memory::SharedMemory;

use super::identity::Identity;
use crate::file::read_whole;
use crate::tool::ToolError;
use crate::unpack::{Packed, UnpackError};

/// No image is longer, nor a kernel.
const MOST: u64 = 512 << 20;

/// Kernels that are kept for the next guest: a comparison has two.
const KEPT: usize = 2;

/// What was found in images, the last one last.
static FOUND: Mutex<Vec<(Identity, Option<Arc<SharedMemory>>)>> = Mutex::new(Vec::new());

/// Returns the kernel that is in the bzImage at `path`; none where it is packed in another way than `xz`, `gzip`, `zstd` and
/// `bzip2` know, where the program for it is not installed, or where QEMU could not start it.
///
/// # Errors
///
/// Fails with [`io::ErrorKind::InvalidData`] where what is packed in it is damaged: the guest would only stop, silently.
pub(super) fn kernel(path: &Path, stop: &AtomicBool) -> io::Result<Option<Arc<SharedMemory>>> {
    let Ok(identity) = Identity::of(path) else {
        return Ok(None);
    };
    // Guests that are to start meanwhile wait for it, and do not do the same.
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, kernel)) = found.iter().find(|(of, _)| *of == identity) {
        return Ok(kernel.clone());
    }
    let kernel = taken_out(path, stop)?.map(Arc::new);
    if !stop.load(Ordering::Relaxed) {
        if found.len() == KEPT {
            found.remove(0);
        }
        found.push((identity, kernel.clone()));
    }
    Ok(kernel)
}

fn taken_out(path: &Path, stop: &AtomicBool) -> io::Result<Option<SharedMemory>> {
    let Some((packed, kernel)) = files(path) else {
        return Ok(None);
    };
    match copied(Path::new(&packed.path()), kernel.file(), stop) {
        Ok(()) => Ok(has_entry(&kernel).then_some(kernel)),
        Err(err) => match damage(&err) {
            Some(program) => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("the kernel that is packed in it is damaged: {program} cannot unpack it"),
            )),
            None => Ok(None),
        },
    }
}

/// What is packed in the image, and an empty file for what that is unpacked.
fn files(path: &Path) -> Option<(SharedMemory, SharedMemory)> {
    let image = read_whole(path, MOST).ok()?;
    let packed = SharedMemory::filled("packed", payload(&image)?).ok()?;
    Some((packed, SharedMemory::filled("kernel", &[]).ok()?))
}

fn copied(packed: &Path, mut kernel: &File, stop: &AtomicBool) -> Result<(), UnpackError> {
    let stop = || stop.load(Ordering::Relaxed);
    let mut source = Packed::open(packed, &stop)?.at_most(MOST);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match source.read(&mut buffer)? {
            0 => return Ok(()),
            count => kernel
                .write_all(buffer.get(..count).unwrap_or_default())
                .map_err(PathError::at("write", packed))?,
        }
    }
}

/// Which program found that what is packed is damaged; none where something else failed.
fn damage(err: &UnpackError) -> Option<&str> {
    let UnpackError::Tool(ToolError::Failed {
        command, status, ..
    }) = err
    else {
        return None;
    };
    let program = command.split(' ').next()?;
    // gzip(1) and xz(1) have a 2 for warnings; bzip2(1) has it for damage.
    let is_damaged = *status == Some(if program == "bzip2" { 2 } else { 1 });
    is_damaged.then_some(program)
}

/// Returns what is packed in a bzImage (Documentation/arch/x86/boot.rst: `payload_offset`, `payload_length`).
fn payload(image: &[u8]) -> Option<&[u8]> {
    let number = |at: usize| Some(u32::from_le_bytes(image.get(at..at + 4)?.try_into().ok()?));
    let version = u16::from_le_bytes(image.get(0x206..0x208)?.try_into().ok()?);
    if image.get(0x202..0x206)? != b"HdrS" || version < 0x208 {
        return None;
    }
    let setup = match *image.get(0x1f1)? {
        0 => 4,
        sectors => usize::from(sectors),
    };
    let from = (setup + 1) * 512 + usize::try_from(number(0x248)?).ok()?;
    let payload = image.get(from..from.checked_add(usize::try_from(number(0x24c)?).ok()?)?)?;
    // But for gzip, which says so itself, the length of the kernel follows (scripts/Makefile.lib, `size_append`).
    match payload.starts_with(&[0x1f, 0x8b]) {
        true => Some(payload),
        false => payload.get(..payload.len().checked_sub(4)?),
    }
}

/// Whether a file is an ELF program for x86-64 with an entry for PVH: a note of Xen's, number 18.
fn has_entry(file: &SharedMemory) -> bool {
    const ENTRY: u32 = 18;
    let mut head = [0; 64];
    if file.file().read_exact_at(&mut head, 0).is_err()
        || !head.starts_with(b"\x7fELF\x02\x01")
        || head[18..20] != 62_u16.to_le_bytes()
    {
        return false;
    }
    let [table, length, count] = [(32, 8), (54, 2), (56, 2)].map(|at| number(&head, at));
    (0..count).any(|index| {
        let mut segment = [0; 56];
        let at = index
            .checked_mul(length)
            .and_then(|at| at.checked_add(table));
        let Some(at) = at.filter(|_| length >= 56) else {
            return false;
        };
        if file.file().read_exact_at(&mut segment, at).is_err() {
            return false;
        }
        let [kind, from, size] = [(0, 4), (8, 8), (32, 8)].map(|at| number(&segment, at));
        // A megabyte of notes is none.
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let mut notes = vec![0; size.min(1 << 20)];
        kind == 4
            && file.file().read_exact_at(&mut notes, from).is_ok()
            && has_note(&notes, b"Xen\0", ENTRY)
    })
}

/// Whether one of the notes has this name and number.
fn has_note(mut notes: &[u8], name: &[u8], kind: u32) -> bool {
    while notes.len() >= 12 {
        let [name_size, size, of] = [(0, 4), (4, 4), (8, 4)].map(|at| number(notes, at));
        let padded = |size: u64| usize::try_from(size.next_multiple_of(4)).unwrap_or(usize::MAX);
        let Some(rest) = notes.get(12..) else {
            return false;
        };
        if of == u64::from(kind) && name_size == name.len() as u64 && rest.starts_with(name) {
            return true;
        }
        let next = padded(name_size).checked_add(padded(size));
        let Some(next) = next.and_then(|next| rest.get(next..)) else {
            return false;
        };
        notes = next;
    }
    false
}

/// Reads a number of `size` bytes, little end first.
fn number(bytes: &[u8], (at, size): (usize, usize)) -> u64 {
    let bytes = bytes.get(at..at + size).unwrap_or_default();
    let digits = bytes.iter().rev();
    digits.fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(note: u32) -> Vec<u8> {
        let mut elf = vec![0; 64 + 56];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        elf[18] = 62;
        elf[32] = 64;
        elf[54] = 56;
        elf[56] = 1;
        elf[64] = 4;
        elf[72] = 120;
        let mut notes = Vec::new();
        for (name, kind) in [(*b"GNU\0", 18), (*b"Xen\0", 6), (*b"Xen\0", note)] {
            notes.extend([4, 0, 0, 0, 5, 0, 0, 0]);
            notes.extend(kind.to_le_bytes());
            notes.extend(name);
            notes.extend([0; 8]);
        }
        elf[96] = u8::try_from(notes.len()).unwrap();
        elf.extend(notes);
        elf
    }

    fn image(payload: &[u8], size: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 0x600];
        image[0x1f1] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x206..0x208].copy_from_slice(&0x20f_u16.to_le_bytes());
        image[0x248..0x24c].copy_from_slice(&0x200_u32.to_le_bytes());
        let length = u32::try_from(payload.len() + size.len()).unwrap();
        image[0x24c..0x250].copy_from_slice(&length.to_le_bytes());
        image.extend([payload, size, b"what comes behind"].concat());
        image
    }

    fn packed(program: &str, content: &[u8]) -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, content).unwrap();
        let mut command = std::process::Command::new(program);
        command.arg("-c").arg(&file);
        command.output().unwrap().stdout
    }

    #[test]
    fn the_kernel_is_found_in_its_image_however_it_is_packed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("image");
        let stop = AtomicBool::new(false);
        for program in ["xz", "gzip", "bzip2"] {
            let size: &[u8] = if program == "gzip" { &[] } else { b"size" };
            let image = image(&packed(program, &elf(18)), size);
            std::fs::write(&path, image).unwrap();
            let kernel = kernel(&path, &stop).unwrap();
            let kernel = kernel.unwrap_or_else(|| panic!("{program}"));
            assert_eq!(kernel.content(1 << 20).unwrap(), elf(18), "{program}");
        }
        // Once it is found it is not unpacked again.
        let again = [(); 2].map(|()| kernel(&path, &stop).unwrap().unwrap());
        assert!(Arc::ptr_eq(&again[0], &again[1]));
    }

    #[test]
    fn what_is_packed_and_damaged_is_an_error_and_not_a_silent_guest() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("image");
        let stop = AtomicBool::new(false);
        for program in ["xz", "gzip", "bzip2"] {
            let whole = packed(program, &[elf(18), vec![7; 4096]].concat());
            let middle = whole.len() / 2;
            let mut changed = whole.clone();
            changed[middle..middle + 4].fill(0x5a);
            for packed in [&changed[..], &whole[..middle]] {
                let size: &[u8] = if program == "gzip" { &[] } else { b"size" };
                std::fs::write(&path, image(packed, size)).unwrap();
                let err = kernel(&path, &stop).unwrap_err().to_string();
                let said = "the kernel that is packed in it is damaged";
                assert_eq!(err, format!("{said}: {program} cannot unpack it"));
            }
        }
    }

    #[test]
    fn an_image_that_cannot_be_started_without_its_own_program_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("image");
        let stop = AtomicBool::new(false);
        let whole = image(&packed("gzip", &elf(18)), b"");
        let mut old = whole.clone();
        old[0x206] = 7;
        let mut far = whole.clone();
        far[0x24c..0x250].fill(0xff);
        for (what, bytes) in [
            ("without an entry", image(&packed("gzip", &elf(17)), b"")),
            ("no program", image(&packed("gzip", b"text"), b"")),
            (
                "packed in no way that is known",
                image(b"\x02!L\x18", b"size"),
            ),
            ("of an old boot loader's", old),
            ("longer than its file", far),
            ("empty", Vec::new()),
        ] {
            std::fs::write(&path, bytes).unwrap();
            assert!(kernel(&path, &stop).unwrap().is_none(), "{what}");
        }
        assert!(kernel(Path::new("/dev/zero"), &stop).unwrap().is_none());
        // Notes that say that they are longer than all are none.
        for byte in 0..elf(18).len() {
            let mut damaged = elf(18);
            damaged[byte] = 0xff;
            has_entry(&SharedMemory::filled("damaged", &damaged).unwrap());
        }
    }
}
