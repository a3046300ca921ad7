// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What an image says of its kernel before it runs.
//!
//! A bzImage has `HdrS` at 0x202, and at 0x20e the place of a text, counted from 0x200: the release,
//! who built it, and the version line (Documentation/arch/x86/boot.rst, `kernel_version`).

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use crate::guest::Model;

/// More than the place of the text can say.
const HEAD: u64 = 0x200 + 0x1_0000 + 512;

/// What an image says of its kernel.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Image {
    /// The release, such as `6.1.0-56-amd64`.
    pub release: Option<String>,
    /// The whole text.
    pub version: Option<String>,
}

impl Image {
    /// Reads the image at `path`. Another format than bzImage says nothing.
    ///
    /// # Errors
    ///
    /// Fails as `open(2)` and `read(2)` do.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut head = Vec::new();
        File::open(path)?.take(HEAD).read_to_end(&mut head)?;
        Ok(Self::of(&head))
    }

    fn of(head: &[u8]) -> Self {
        let text = || {
            (head.get(0x202..0x206)? == b"HdrS").then_some(())?;
            let place = u16::from_le_bytes([*head.get(0x20e)?, *head.get(0x20f)?]);
            let text = head.get(0x200 + usize::from(place)..)?;
            let text = text.split(|byte| *byte == 0).next()?;
            let text = std::str::from_utf8(text).ok()?;
            (!text.is_empty() && !text.chars().any(char::is_control)).then(|| text.to_owned())
        };
        let version = text();
        Self {
            release: version
                .as_ref()
                .and_then(|text| Some(text.split_whitespace().next()?.to_owned())),
            version,
        }
    }

    /// Returns the models that it can run; none where it does not say.
    pub fn models(&self) -> Vec<Model> {
        let version = self.version.as_deref().unwrap_or_default();
        let says = |word: &str| version.split_whitespace().any(|found| found == word);
        if says("PREEMPT_RT") {
            vec![Model::Rt]
        } else if says("PREEMPT_DYNAMIC") {
            vec![Model::None, Model::Voluntary, Model::Full]
        } else if says("PREEMPT") {
            vec![Model::Full]
        } else {
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(text: &str) -> Vec<u8> {
        let mut head = vec![0; 0x400];
        head[0x202..0x206].copy_from_slice(b"HdrS");
        head[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
        head[0x300..0x300 + text.len()].copy_from_slice(text.as_bytes());
        head
    }

    #[test]
    fn release_and_models_are_read() {
        let of = |line: &str| Image::of(&image(&format!("6.1.0-56-amd64 (a@b) {line}")));
        let dynamic = of("#1 SMP PREEMPT_DYNAMIC Debian 6.1");
        assert_eq!(dynamic.release.as_deref(), Some("6.1.0-56-amd64"));
        assert_eq!(dynamic.models().len(), 3);
        assert_eq!(of("#1 SMP PREEMPT_RT Debian").models(), [Model::Rt]);
        assert_eq!(of("#1 SMP PREEMPT Debian").models(), [Model::Full]);
        assert!(of("#1 SMP Debian").models().is_empty());
    }

    #[test]
    fn another_file_says_nothing() {
        for head in [Vec::new(), vec![0; 0x400], image("")] {
            assert_eq!(Image::of(&head), Image::default());
        }
        let mut far = image("x");
        far[0x20e..0x210].copy_from_slice(&u16::MAX.to_le_bytes());
        assert_eq!(Image::of(&far), Image::default());
        assert!(Image::read(Path::new("/no/such/image")).is_err());
    }
}
