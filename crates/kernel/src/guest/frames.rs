// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Frames on a serial line.
//!
//! A frame is `PFR1`, the length of its name (1 byte), the length of its content (4 bytes, little
//! endian), the name, the content, and the CRC-32 (ISO 3309, as gzip has it) of all that but the
//! first four bytes, in 4 bytes, little endian.

use flate2::Crc;
use thiserror::Error;

const MAGIC: &[u8] = b"PFR1";
const HEAD: usize = MAGIC.len() + 1 + 4;
const CHECKSUM: usize = 4;

/// Why bytes are no frame.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum FrameError {
    /// The bytes end before the frame does.
    #[error("frame {name} at byte {at} is cut short")]
    Cut {
        /// Where the frame begins.
        at: usize,
        /// Its name, as far as it can be read.
        name: String,
    },
    /// No frame begins here.
    #[error("no frame begins at byte {at}")]
    Lost {
        /// Where it should.
        at: usize,
    },
    /// The bytes are not those that were sent.
    #[error("frame {name} at byte {at} has a wrong checksum")]
    Checksum {
        /// Where the frame begins.
        at: usize,
        /// Its name.
        name: String,
    },
}

/// One frame.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Frame<'a> {
    /// What it is.
    pub name: String,
    /// What it holds.
    pub content: &'a [u8],
}

/// Makes the bytes of a frame. A name is cut after 255 bytes, and nothing is as long as 4 GiB here.
pub fn frame(name: &str, content: &[u8]) -> Vec<u8> {
    let name_length = u8::try_from(name.len()).unwrap_or(u8::MAX);
    let name = &name.as_bytes()[..name_length.into()];
    let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(HEAD + name.len() + content.len() + CHECKSUM);
    bytes.extend_from_slice(MAGIC);
    bytes.push(name_length);
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(name);
    bytes.extend_from_slice(content);
    let sum = checksum(&bytes[MAGIC.len()..]);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

/// Takes bytes apart into frames.
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Frames<'a> {
    /// Begins at the first of `bytes`.
    pub const fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn read(&self) -> Result<(Frame<'a>, usize), FrameError> {
        let at = self.at;
        let rest = self.bytes.get(at..).unwrap_or_default();
        let cut = |name: &[u8]| FrameError::Cut {
            at,
            name: String::from_utf8_lossy(name).into_owned(),
        };
        let begun = rest.len().min(MAGIC.len());
        if rest.get(..begun) != MAGIC.get(..begun) {
            return Err(FrameError::Lost { at });
        }
        let head = rest.get(MAGIC.len()..HEAD).ok_or_else(|| cut(b"?"))?;
        let (name_length, length) = match *head {
            [name, a, b, c, d] => (usize::from(name), u32::from_le_bytes([a, b, c, d])),
            _ => return Err(cut(b"?")),
        };
        let behind_name = HEAD + name_length;
        let name = rest.get(HEAD..behind_name).ok_or_else(|| cut(b"?"))?;
        let end = behind_name.saturating_add(length as usize);
        let content = rest.get(behind_name..end).ok_or_else(|| cut(name))?;
        let sum = rest.get(end..end + CHECKSUM).ok_or_else(|| cut(name))?;
        let told = name;
        let name = String::from_utf8_lossy(name).into_owned();
        let summed = rest.get(MAGIC.len()..end).unwrap_or(told);
        if checksum(summed).to_le_bytes() != sum {
            return Err(FrameError::Checksum { at, name });
        }
        Ok((Frame { name, content }, at + end + CHECKSUM))
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, FrameError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        match self.read() {
            Ok((frame, next)) => {
                self.at = next;
                Some(Ok(frame))
            }
            Err(err) => {
                self.at = self.bytes.len();
                Some(Err(err))
            }
        }
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent() -> Vec<u8> {
        [
            frame("hello", b"{}"),
            frame("0/run.json", &[0, 255, b'P', b'F', b'R', b'1', 10, 13]),
            frame("end", b""),
        ]
        .concat()
    }

    #[test]
    fn what_is_sent_is_read_again() {
        let bytes = sent();
        let frames: Vec<_> = Frames::of(&bytes).map(Result::unwrap).collect();
        let names: Vec<_> = frames.iter().map(|frame| frame.name.as_str()).collect();
        assert_eq!(names, ["hello", "0/run.json", "end"]);
        assert_eq!(frames[1].content, [0, 255, b'P', b'F', b'R', b'1', 10, 13]);
        // "123456789" is the usual check value of this CRC: 0xcbf43926.
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn every_cut_and_every_changed_byte_is_seen() {
        let bytes = sent();
        let whole = Frames::of(&bytes).count();
        for end in 0..bytes.len() {
            let read: Vec<_> = Frames::of(&bytes[..end]).collect();
            let boundary = read.iter().all(Result::is_ok);
            // A cut between frames leaves fewer of them: the last one is missing.
            assert!(!boundary || read.len() < whole, "cut at {end}");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            let read: Vec<_> = Frames::of(&changed).collect();
            assert!(read.iter().any(Result::is_err), "byte {at}");
        }
    }
}
