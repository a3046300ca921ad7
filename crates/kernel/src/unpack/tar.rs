// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The entries of a tar archive: POSIX 1003.1 `ustar` and `pax`, and GNU's long names.
//!
//! A header has 512 bytes: name 100, mode 8, uid 8, gid 8, size 12, mtime 12, checksum 8, type 1, link 100, magic 8,
//! owner 32, group 32, device 16, prefix 155. Numbers are octal, or binary where the first bit is set. Content is
//! padded to 512 bytes; two blocks of zeros end the archive.

use super::packed::Packed;
use super::{UnpackError, shown};

const BLOCK: usize = 512;
/// No name, and no record of a pax header, is longer.
const LONGEST: u64 = 64 << 10;

/// What an entry is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum EntryKind {
    File,
    Directory,
    /// A symbolic link.
    Symbolic,
    /// Another name of a file before it.
    Hard,
}

/// An entry; its content follows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Entry {
    pub(super) name: Vec<u8>,
    pub(super) kind: EntryKind,
    pub(super) executable: bool,
    /// Seconds since 1970.
    pub(super) modified: u64,
    pub(super) link: Vec<u8>,
}

/// What the headers before an entry say of it.
#[derive(Debug, Default)]
struct Said {
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
}

/// An archive that is read.
pub(super) struct Archive<'a> {
    packed: Packed<'a>,
    /// Content of the entry that is left.
    left: u64,
    /// Bytes behind it up to the next header.
    padding: u64,
}

impl<'a> Archive<'a> {
    pub(super) const fn of(packed: Packed<'a>) -> Self {
        Self {
            packed,
            left: 0,
            padding: 0,
        }
    }

    /// Returns the next entry; none at the end, which is read to the last byte.
    pub(super) fn next(&mut self) -> Result<Option<Entry>, UnpackError> {
        let mut said = Said::default();
        loop {
            self.pass()?;
            let mut block = [0; BLOCK];
            match self.block(&mut block)? {
                0 => return Err(UnpackError::Damaged("its end is missing")),
                BLOCK => {}
                _ => return Err(UnpackError::Damaged("it ends in the middle of a header")),
            }
            if block.iter().all(|byte| *byte == 0) {
                self.rest()?;
                return Ok(None);
            }
            let header = Header(&block);
            header.check()?;
            let size = header.size()?;
            self.begin(size);
            match header.kind() {
                b'x' => pax(&self.text(size)?, &mut said)?,
                // Of all entries, not of the next: who says a name here means no good.
                b'g' => {
                    let mut all = Said::default();
                    pax(&self.text(size)?, &mut all)?;
                    if all.name.is_some() || all.link.is_some() || all.size.is_some() {
                        return Err(UnpackError::Damaged("a global header names a file"));
                    }
                }
                b'L' => said.name = Some(until_zero(&self.text(size)?).to_owned()),
                b'K' => said.link = Some(until_zero(&self.text(size)?).to_owned()),
                kind => return self.entry(&header, kind, size, said).map(Some),
            }
        }
    }

    fn entry(
        &mut self,
        header: &Header<'_>,
        kind: u8,
        size: u64,
        said: Said,
    ) -> Result<Entry, UnpackError> {
        let name = said.name.unwrap_or_else(|| header.name());
        let refused = |reason| UnpackError::Refused {
            name: shown(&name),
            reason,
        };
        let kind = match kind {
            b'0' | 0 | b'7' if name.ends_with(b"/") => EntryKind::Directory,
            b'0' | 0 | b'7' => EntryKind::File,
            b'1' => EntryKind::Hard,
            b'2' => EntryKind::Symbolic,
            b'5' => EntryKind::Directory,
            b'3' | b'4' => {
                return Err(refused(
                    "is a device, which does not belong in a source archive",
                ));
            }
            b'6' => {
                return Err(refused(
                    "is a FIFO, which does not belong in a source archive",
                ));
            }
            b'S' => {
                return Err(refused(
                    "is a sparse file, which does not belong in a source archive",
                ));
            }
            _ => {
                return Err(refused(
                    "is of a type that does not belong in a source archive",
                ));
            }
        };
        let size = said.size.unwrap_or(size);
        if kind != EntryKind::File && size != 0 {
            return Err(refused("is not a file, but has content"));
        }
        self.begin(size);
        Ok(Entry {
            kind,
            executable: header.mode()? & 0o111 != 0,
            modified: header.modified(),
            link: said
                .link
                .unwrap_or_else(|| until_zero(header.field(157, 100)).to_owned()),
            name,
        })
    }

    /// Reads some of the content of the entry; none at its end.
    pub(super) fn content(&mut self, buffer: &mut [u8]) -> Result<usize, UnpackError> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let most = most.min(buffer.len());
        if most == 0 {
            return Ok(0);
        }
        let count = self
            .packed
            .read(buffer.get_mut(..most).unwrap_or_default())?;
        if count == 0 {
            return Err(UnpackError::Damaged("it ends in the middle of a file"));
        }
        self.left -= count as u64;
        Ok(count)
    }

    const fn begin(&mut self, size: u64) {
        self.left = size;
        self.padding = size.wrapping_neg() % (BLOCK as u64);
    }

    /// Reads the content of a header that only says something of the next one.
    fn text(&mut self, size: u64) -> Result<Vec<u8>, UnpackError> {
        if size > LONGEST {
            return Err(UnpackError::Damaged("a name or header is too long"));
        }
        let mut text = Vec::new();
        let mut buffer = [0; BLOCK];
        loop {
            match self.content(&mut buffer)? {
                0 => return Ok(text),
                count => text.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            }
        }
    }

    /// Passes over what is left of an entry.
    fn pass(&mut self) -> Result<(), UnpackError> {
        // No archive has that much: it ends before.
        self.left = self.left.saturating_add(std::mem::take(&mut self.padding));
        let mut buffer = vec![0; 1 << 16];
        while self.content(&mut buffer)? > 0 {}
        Ok(())
    }

    /// Reads a block, or less at the end.
    fn block(&mut self, block: &mut [u8; BLOCK]) -> Result<usize, UnpackError> {
        let mut have = 0;
        while let Some(free) = block.get_mut(have..).filter(|free| !free.is_empty()) {
            match self.packed.read(free)? {
                0 => break,
                count => have += count,
            }
        }
        Ok(have)
    }

    /// Reads what follows the end: the decompressor says only then whether all of it was whole.
    fn rest(&mut self) -> Result<(), UnpackError> {
        let mut buffer = vec![0; 1 << 16];
        while self.packed.read(&mut buffer)? > 0 {}
        Ok(())
    }
}

struct Header<'a>(&'a [u8; BLOCK]);

impl Header<'_> {
    fn field(&self, at: usize, length: usize) -> &[u8] {
        self.0.get(at..at + length).unwrap_or_default()
    }

    /// The sum of all bytes, those of itself taken for blanks. Old programs added up signed ones.
    fn check(&self) -> Result<(), UnpackError> {
        let said = number(self.field(148, 8));
        let bytes = self.0.iter().enumerate().map(|(at, byte)| match at {
            148..156 => b' ',
            _ => *byte,
        });
        let unsigned: u64 = bytes.clone().map(u64::from).sum();
        let signed: i64 = bytes.map(|byte| i64::from(byte.cast_signed())).sum();
        match said {
            Some(said) if said == unsigned || i64::try_from(said) == Ok(signed) => Ok(()),
            _ => Err(UnpackError::Damaged("a header has a wrong checksum")),
        }
    }

    fn kind(&self) -> u8 {
        self.field(156, 1).first().copied().unwrap_or_default()
    }

    fn size(&self) -> Result<u64, UnpackError> {
        number(self.field(124, 12)).ok_or(UnpackError::Damaged("a size is not a number"))
    }

    fn mode(&self) -> Result<u64, UnpackError> {
        number(self.field(100, 8)).ok_or(UnpackError::Damaged("a mode is not a number"))
    }

    fn modified(&self) -> u64 {
        // A time before 1970 or one that cannot be read is not worth an error.
        number(self.field(136, 12)).unwrap_or_default()
    }

    fn name(&self) -> Vec<u8> {
        let name = until_zero(self.field(0, 100));
        let posix = self.field(257, 6) == b"ustar\0";
        match until_zero(self.field(345, 155)) {
            prefix if posix && !prefix.is_empty() => [prefix, b"/", name].concat(),
            _ => name.to_owned(),
        }
    }
}

fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Reads octal digits, or a binary number (GNU); none of what is negative or too large.
fn number(field: &[u8]) -> Option<u64> {
    if let Some((0x80, rest)) = field.split_first() {
        let (zeros, number) = rest.split_at_checked(rest.len().checked_sub(8)?)?;
        let fits = zeros.iter().all(|byte| *byte == 0);
        return fits.then(|| {
            number
                .iter()
                .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
        });
    }
    let text = std::str::from_utf8(until_zero(field))
        .ok()?
        .trim_matches(' ');
    match text {
        "" => Some(0),
        text => u64::from_str_radix(text, 8).ok(),
    }
}

/// Reads `25 path=some/where\n`: the length of all of the record, its key and its value.
fn pax(text: &[u8], said: &mut Said) -> Result<(), UnpackError> {
    let mut rest = text;
    while !rest.is_empty() {
        let (key, value, behind) =
            record(rest).ok_or(UnpackError::Damaged("a pax header cannot be read"))?;
        rest = behind;
        match key {
            b"path" => said.name = Some(value.to_owned()),
            b"linkpath" => said.link = Some(value.to_owned()),
            b"size" => {
                let size = std::str::from_utf8(value)
                    .ok()
                    .and_then(|text| text.parse().ok());
                said.size = Some(size.ok_or(UnpackError::Damaged("a size is not a number"))?);
            }
            key if key.starts_with(b"GNU.sparse.") => {
                return Err(UnpackError::Damaged(
                    "it has sparse files, which do not belong in a source archive",
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

fn record(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let blank = text.iter().position(|byte| *byte == b' ')?;
    let length: usize = std::str::from_utf8(text.get(..blank)?).ok()?.parse().ok()?;
    let body = text.get(blank + 1..length.checked_sub(1)?)?;
    (text.get(length - 1) == Some(&b'\n')).then_some(())?;
    let equals = body.iter().position(|byte| *byte == b'=')?;
    Some((
        body.get(..equals)?,
        body.get(equals + 1..)?,
        text.get(length..)?,
    ))
}
