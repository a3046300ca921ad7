// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Kernels for arm64.
//!
//! An `Image` has `ARM\x64` at 0x38 (Documentation/arch/arm64/booting.rst). Its header has no version; the text that the
//! kernel logs first is somewhere in it. As an EFI program it has a table of sections, which says how long the
//! file is.

use std::io::{BufRead as _, Read as _};

use flate2::read::GzDecoder;

/// No image is longer, packed or not.
pub(super) const MOST: u64 = 512 << 20;

/// `COMMAND_LINE_SIZE` (asm/setup.h), without the byte that ends it.
pub(super) const MOST_ARGUMENTS: usize = 2_047;

const GZIP: &[u8] = &[0x1f, 0x8b];

/// What the kernel's first message begins with.
const BANNER: &[u8] = b"Linux version ";

/// More than a kernel says of itself there.
const LONGEST: usize = 1_024;

/// Whether a file begins as an `Image` does.
pub(super) fn is_image(head: &[u8]) -> bool {
    head.get(0x38..0x3c) == Some(b"ARM\x64")
}

/// Whether a file begins as one for a boot loader of EFI, which unpacks itself.
pub(super) fn is_zboot(head: &[u8]) -> bool {
    head.starts_with(b"MZ") && head.get(4..8) == Some(b"zimg")
}

/// Whether a file begins as gzip's.
pub(super) fn is_packed(head: &[u8]) -> bool {
    head.starts_with(GZIP)
}

/// Unpacks what gzip packed, `most` bytes of it at most; the first of them where it is cut off.
pub(super) fn unpacked(bytes: &[u8], most: u64) -> Vec<u8> {
    let mut content = Vec::new();
    // What came before an error is kept; a reader that needs the rest finds it missing.
    drop(GzDecoder::new(bytes).take(most).read_to_end(&mut content));
    content
}

/// Returns the length that the sections of an image say, where it has them.
pub(super) fn whole_length(head: &[u8]) -> Option<u64> {
    let number = |at: usize, size: usize| {
        let bytes = head.get(at..at.checked_add(size)?)?;
        Some(
            bytes
                .iter()
                .rev()
                .fold(0, |sum, byte| sum << 8 | usize::from(*byte)),
        )
    };
    let pe = number(0x3c, 4)?;
    if head.get(pe..pe.checked_add(4)?) != Some(b"PE\0\0") {
        return None;
    }
    // NumberOfSections and SizeOfOptionalHeader, behind which the sections are; of each SizeOfRawData and
    // PointerToRawData.
    let (sections, optional) = (number(pe + 6, 2)?, number(pe + 20, 2)?);
    let end = |index: usize| {
        let section = pe + 24 + optional + 40 * index;
        Some(number(section + 16, 4)? + number(section + 20, 4)?)
    };
    let ends = (0..sections).map_while(end);
    ends.max().map(|end| end as u64)
}

/// Returns what a kernel says of its version: `6.1.0-56-arm64 (builder) (compiler) #1 SMP ...`.
pub(super) fn version(image: &[u8]) -> Option<String> {
    let mut rest = image;
    // The first letter by the standard library, whose search is fast in every build.
    while rest.skip_until(b'L').is_ok_and(|skipped| skipped > 0) {
        let Some(text) = rest.strip_prefix(BANNER.get(1..)?) else {
            continue;
        };
        let text = text.get(..LONGEST).unwrap_or(text);
        let text = text.split(|byte| matches!(byte, 0 | b'\n')).next()?;
        let Ok(text) = std::str::from_utf8(text) else {
            continue;
        };
        // Formats, and what is filled in later (`# SMP`), begin so too.
        let numbered = text
            .split_once(" #")
            .is_some_and(|(_, number)| number.starts_with(|first: char| first.is_ascii_digit()));
        if numbered && !text.chars().any(char::is_control) {
            return Some(text.to_owned());
        }
    }
    None
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::io::Write as _;

    /// An image as far as it says what it is.
    pub(in crate::boot) fn image(version: &str) -> Vec<u8> {
        let mut image = vec![0; 0x400];
        image[..2].copy_from_slice(b"MZ");
        image[0x38..0x3c].copy_from_slice(b"ARM\x64");
        image[0x3c] = 0x40;
        image[0x40..0x44].copy_from_slice(b"PE\0\0");
        image[0x46] = 1;
        image[0x54] = 0xa0;
        let section = 0x58 + 0xa0;
        image[section + 16..section + 20].copy_from_slice(&0x200_u32.to_le_bytes());
        image[section + 20..section + 24].copy_from_slice(&0x200_u32.to_le_bytes());
        let text = format!("Linux version %s (%s)\0Linux version {version}\n\0");
        image[0x200..0x200 + text.len()].copy_from_slice(text.as_bytes());
        image
    }

    #[test]
    fn the_version_is_the_text_that_has_a_number() {
        let said = "6.1.0-56-arm64 (a@b) (gcc-12) #1 SMP PREEMPT_RT Debian 6.1.192-2";
        assert_eq!(version(&image(said)).as_deref(), Some(said));
        assert_eq!(version(&image("6.1 (a@b) # SMP")), None);
        assert_eq!(
            version(b"LLLinux version 6.1 #2 SMP"),
            Some("6.1 #2 SMP".to_owned())
        );
        assert_eq!(version(b"Linux version \xff #1\0"), None);
        assert_eq!(version(b""), None);
    }

    #[test]
    fn the_length_is_where_the_last_section_ends() {
        assert_eq!(whole_length(&image("x")), Some(0x400));
        for cut in 0..0x110 {
            // No panic, whatever is missing.
            whole_length(&image("x")[..cut]);
        }
        let mut far = image("x");
        far[0x3c..0x40].fill(0xff);
        assert_eq!(whole_length(&far), None);
    }

    #[test]
    fn what_gzip_packed_is_read_as_far_as_it_goes() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&image("6.1 #1 SMP")).unwrap();
        let packed = encoder.finish().unwrap();
        assert!(is_packed(&packed) && !is_packed(b"MZ"));
        assert_eq!(unpacked(&packed, MOST), image("6.1 #1 SMP"));
        assert_eq!(unpacked(&packed, 0x40).len(), 0x40);
        assert!(unpacked(&packed[..packed.len() / 2], MOST).len() < 0x400);
    }
}
