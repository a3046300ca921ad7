// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The images that guests boot.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use crate::common::machine;

/// A kernel that takes its preemption model at the boot, and one with PREEMPT_RT.
pub(crate) struct Images {
    pub(crate) dynamic: PathBuf,
    pub(crate) rt: PathBuf,
}

/// The directory of `scripts/kernel-images.sh`.
pub(crate) fn directory() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    target.join("kernels")
}

/// Returns the images as Debian has them.
pub(super) fn originals() -> Option<Images> {
    if !machine::has_tool("qemu-system-x86_64") {
        return None;
    }
    let [dynamic, rt] = ["dynamic", "rt"].map(|of| directory().join(format!("vmlinuz-{of}")));
    if dynamic.is_file() && rt.is_file() {
        return Some(Images { dynamic, rt });
    }
    machine::skip("kernels", "no kernel images: run scripts/kernel-images.sh");
    None
}

/// Returns images of the same kernels, packed so that each of the many programs that boot them unpacks them in a tenth of the time.
pub(crate) fn images() -> Option<Images> {
    let originals = originals()?;
    Some(Images {
        dynamic: repacked(&originals.dynamic),
        rt: repacked(&originals.rt),
    })
}

/// Returns an image whose kernel is packed with zstd, which is kept; the image itself where it cannot be.
fn repacked(image: &Path) -> PathBuf {
    // Two tests of this process do not do the same.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap();
    let data = fs::metadata(image).unwrap();
    let name = image.file_name().unwrap().to_str().unwrap();
    let name = format!("{name}-{}-{}", data.size(), data.mtime());
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let kept = directory.join(name);
    if Command::new("zstd").arg("--version").output().is_err() {
        return image.to_owned();
    }
    if !kept.is_file() {
        let Some(bytes) = with_zstd(fs::read(image).unwrap()) else {
            return image.to_owned();
        };
        // Others may read it meanwhile: it is written beside.
        let mut file = tempfile::Builder::new()
            .permissions(fs::Permissions::from_mode(0o644))
            .tempfile_in(directory)
            .unwrap();
        file.write_all(&bytes).unwrap();
        file.persist(&kept).unwrap();
    }
    kept
}

/// Puts the kernel behind the rest of its bzImage once more, and has the image say that it is there
/// (Documentation/arch/x86/boot.rst: `payload_offset`, `payload_length`).
fn with_zstd(mut image: Vec<u8>) -> Option<Vec<u8>> {
    let number = |at: usize| {
        let bytes = image[at..at + 4].try_into().unwrap();
        usize::try_from(u32::from_le_bytes(bytes)).unwrap()
    };
    let system = (usize::from(image[0x1f1]) + 1) * 512;
    let from = system + number(0x248);
    // The length of the kernel follows what is packed.
    let payload = &image[from..from + number(0x24c) - 4];
    if !payload.starts_with(b"\xfd7zXZ\0") {
        return None;
    }
    let kernel = unpacked(payload);
    let mut packed = zstd::encode_all(&kernel[..], 3).unwrap();
    packed.extend(u32::try_from(kernel.len()).unwrap().to_le_bytes());
    let place = image.len() - system;
    for (at, number) in [(0x248, place), (0x24c, packed.len())] {
        let number = u32::try_from(number).unwrap();
        image[at..at + 4].copy_from_slice(&number.to_le_bytes());
    }
    image.extend(packed);
    Some(image)
}

fn unpacked(payload: &[u8]) -> Vec<u8> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(payload).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    let mut command = Command::new("xz");
    command.arg("-dc").stdin(file).stderr(Stdio::inherit());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output.stdout
}
