// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The kernel's description of its trace records: `events/*/*/format`.
//!
//! A line `ID: 375`, and a line a field, such as
//! `field:pid_t pid; offset:24; size:4; signed:1;` (Documentation/trace/events.rst).

use std::str::FromStr;

/// How the records of one event are laid out.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EventFormat {
    id: u16,
    fields: Vec<(String, Field)>,
}

/// Where a field lies in a record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Field {
    pub(super) offset: usize,
    pub(super) size: usize,
    signed: bool,
    /// Elements, where it is an array of a length that is known.
    elements: usize,
    /// Whether what lies there says where the field is: its offset in the lower 16 bits, its bytes in the upper ones.
    dynamic: bool,
}

/// A description that is not understood.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// There is no line with the number of the event.
    #[error("the line `ID:` is missing")]
    NoId,
    /// A field cannot be read.
    #[error("line `{0}` gives no offset for its field")]
    Field(String),
    /// A field that is needed is missing.
    #[error("the field `{0}` is missing")]
    Missing(&'static str),
}

impl EventFormat {
    /// Returns the number of the event, which the first two bytes of its records hold.
    pub const fn id(&self) -> u16 {
        self.id
    }

    /// Finds a field.
    ///
    /// # Errors
    ///
    /// [`FormatError::Missing`].
    pub fn field(&self, name: &'static str) -> Result<Field, FormatError> {
        find(&self.fields, name)
    }
}

impl FromStr for EventFormat {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        let id = text
            .lines()
            .find_map(|line| line.strip_prefix("ID:")?.trim().parse().ok());
        Ok(Self {
            id: id.ok_or(FormatError::NoId)?,
            fields: fields(text)?,
        })
    }
}

pub(super) fn find(fields: &[(String, Field)], name: &'static str) -> Result<Field, FormatError> {
    fields
        .iter()
        .find(|(own, _)| own == name)
        .map(|(_, field)| *field)
        .ok_or(FormatError::Missing(name))
}

/// Reads every line that describes a field.
pub(super) fn fields(text: &str) -> Result<Vec<(String, Field)>, FormatError> {
    text.lines()
        .filter_map(|line| Some((line, line.trim_start().strip_prefix("field:")?)))
        .map(|(line, rest)| field(rest).ok_or_else(|| FormatError::Field(line.trim().to_owned())))
        .collect()
}

fn field(rest: &str) -> Option<(String, Field)> {
    let mut parts = rest.split(';').map(str::trim);
    // The name is the last word of the declaration, less an array's length.
    let declared = parts.next()?;
    let name = declared.split_whitespace().last()?;
    let (name, length) = name.split_once('[').unwrap_or((name, ""));
    let length = length.trim_end_matches(']').parse().ok();
    let name = name.trim_start_matches('*').to_owned();
    let (mut offset, mut size, mut signed) = (None, None, false);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", n)) => offset = n.parse().ok(),
            Some(("size", n)) => size = n.parse().ok(),
            Some(("signed", n)) => signed = n == "1",
            _ => {}
        }
    }
    let field = Field {
        offset: offset?,
        size: size?,
        signed,
        elements: length.unwrap_or(1),
        dynamic: declared.starts_with("__data_loc"),
    };
    Some((name, field))
}

impl Field {
    /// Reads the field of a record as a number; nothing where the record is too short or the field
    /// no number of 1, 2, 4 or 8 bytes.
    pub fn read(self, record: &[u8]) -> Option<i64> {
        let bytes = record.get(self.offset..self.offset.checked_add(self.size)?)?;
        Some(match (bytes.len(), self.signed) {
            (1, true) => i8::from_ne_bytes(bytes.try_into().ok()?).into(),
            (1, false) => u8::from_ne_bytes(bytes.try_into().ok()?).into(),
            (2, true) => i16::from_ne_bytes(bytes.try_into().ok()?).into(),
            (2, false) => u16::from_ne_bytes(bytes.try_into().ok()?).into(),
            (4, true) => i32::from_ne_bytes(bytes.try_into().ok()?).into(),
            (4, false) => u32::from_ne_bytes(bytes.try_into().ok()?).into(),
            (8, _) => i64::from_ne_bytes(bytes.try_into().ok()?),
            _ => return None,
        })
    }

    /// Reads element `n` of a field that is an array of numbers of 4 or 8 bytes: of `unsigned long`, whose size is the kernel's.
    pub fn element(self, n: usize, record: &[u8]) -> Option<u64> {
        let size = self.size.checked_div(self.elements)?;
        let at = n.checked_mul(size)?;
        let bytes = self.bytes(record)?.get(at..at.checked_add(size)?)?;
        Some(match size {
            4 => u32::from_ne_bytes(bytes.try_into().ok()?).into(),
            8 => u64::from_ne_bytes(bytes.try_into().ok()?),
            _ => return None,
        })
    }

    /// Returns what lies from the field on to the end of a record: an array whose length no description tells.
    pub fn rest(self, record: &[u8]) -> &[u8] {
        record.get(self.offset..).unwrap_or_default()
    }

    /// Reads the field of a record as text, up to its first NUL.
    pub fn text(self, record: &[u8]) -> Option<&[u8]> {
        let bytes = self.bytes(record)?;
        let end = bytes.iter().position(|byte| *byte == 0);
        bytes.get(..end.unwrap_or(bytes.len()))
    }

    fn bytes(self, record: &[u8]) -> Option<&[u8]> {
        let (mut offset, mut size) = (self.offset, self.size);
        if self.dynamic {
            let place = record.get(offset..offset.checked_add(4)?)?;
            let place = u32::from_ne_bytes(place.try_into().ok()?);
            (offset, size) = ((place & 0xffff) as usize, (place >> 16) as usize);
        }
        record.get(offset..offset.checked_add(size)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAKING: &str = "name: sched_waking
ID: 375
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:char comm[16];	offset:8;	size:16;	signed:0;
	field:pid_t pid;	offset:24;	size:4;	signed:1;

print fmt: \"comm=%s pid=%d\", REC->comm, REC->pid
";

    #[test]
    fn numbers_are_found_where_the_kernel_says() {
        let format: EventFormat = WAKING.parse().unwrap();
        assert_eq!(format.id(), 375);
        let pid = format.field("pid").unwrap();
        let mut record = vec![0_u8; 28];
        record[24..].copy_from_slice(&(-7_i32).to_ne_bytes());
        assert_eq!(pid.read(&record), Some(-7));
        assert_eq!(pid.read(&record[..27]), None);
        let comm = format.field("comm").unwrap();
        assert_eq!(comm.read(&record), None);
        record[8..11].copy_from_slice(b"seq");
        assert_eq!(comm.text(&record), Some(&b"seq"[..]));
        assert_eq!(comm.text(&record[..23]), None);
        assert_eq!(format.field("vector"), Err(FormatError::Missing("vector")));
    }

    #[test]
    fn texts_and_arrays_are_where_the_record_says() {
        let format = "ID: 9\n field:__data_loc char[] name; offset:8; size:4; signed:0;\n \
                      field:unsigned long args[6]; offset:16; size:48; signed:0;\n";
        let format: EventFormat = format.parse().unwrap();
        let name = format.field("name").unwrap();
        let mut record = vec![0_u8; 72];
        record[8..12].copy_from_slice(&(6_u32 << 16 | 64).to_ne_bytes());
        record[64..69].copy_from_slice(b"timer");
        record[24..32].copy_from_slice(&77_u64.to_ne_bytes());
        assert_eq!(name.text(&record), Some(&b"timer"[..]));
        assert_eq!(name.text(&record[..66]), None);
        let args = format.field("args").unwrap();
        assert_eq!(
            (args.element(1, &record), args.element(6, &record)),
            (Some(77), None)
        );
    }

    #[test]
    fn arguments_are_as_wide_as_the_kernel_has_them() {
        for (size, args) in [
            (24, [1_u32, 1, 0x7eff_0010].map(u64::from)),
            (48, [1, 1, 1 << 40]),
        ] {
            let format =
                format!("ID: 9\n field:unsigned long args[6]; offset:12; size:{size}; signed:0;\n");
            let format: EventFormat = format.parse().unwrap();
            let mut record = vec![0_u8; 12];
            for arg in args.into_iter().chain([0; 3]) {
                match u32::try_from(arg) {
                    Ok(arg) if size == 24 => record.extend(arg.to_ne_bytes()),
                    _ => record.extend(arg.to_ne_bytes()),
                }
            }
            let field = format.field("args").unwrap();
            let read = [0, 1, 2].map(|n| field.element(n, &record));
            assert_eq!(read, args.map(Some));
            assert_eq!(field.element(6, &record), None);
        }
    }

    #[test]
    fn what_is_not_understood_is_said() {
        assert_eq!("name: x\n".parse::<EventFormat>(), Err(FormatError::NoId));
        let bad = "ID: 3\n field:int x; offset:a; size:4;";
        assert!(matches!(
            bad.parse::<EventFormat>(),
            Err(FormatError::Field(line)) if line.contains("offset:a")
        ));
    }
}
