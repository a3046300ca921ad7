// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The kernel's description of its own types (BTF): numbers of types and functions, and where fields lie.
//!
//! Read are the names that a scheduler needs, nothing else: Documentation/bpf/btf.rst.

const MAGIC: u16 = 0xeb9f;

/// Kinds of types, as the format numbers them.
mod kind {
    pub(super) const ARRAY: u32 = 3;
    pub(super) const STRUCT: u32 = 4;
    pub(super) const UNION: u32 = 5;
    pub(super) const FUNC: u32 = 12;
}

/// A structure inside another one may be inside a further one: no kernel nests deeper.
const DEEPEST: u32 = 8;

/// Types of the kernel.
#[derive(Debug)]
pub(super) struct Btf<'a> {
    bytes: &'a [u8],
    strings: &'a [u8],
    /// Where the type of each number lies; number 0 is none.
    types: Vec<usize>,
}

/// A type's head.
#[derive(Clone, Copy, Debug)]
struct Head {
    name: u32,
    kind: u32,
    count: usize,
    is_bit_field: bool,
    /// Size, or the type that it is of.
    of: u32,
}

impl<'a> Btf<'a> {
    /// Takes apart what `/sys/kernel/btf/vmlinux` holds; nothing if that is not BTF.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let part = |at: usize| number(bytes, at).and_then(|n| usize::try_from(n).ok());
        let magic = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
        if magic != MAGIC {
            return None;
        }
        let header = part(4)?;
        let region = |offset: usize, length: usize| {
            let from = header.checked_add(offset)?;
            bytes.get(from..from.checked_add(length)?)
        };
        let all = region(part(8)?, part(12)?)?;
        let strings = region(part(16)?, part(20)?)?;
        let mut types = vec![usize::MAX];
        let mut at = 0;
        while at < all.len() {
            types.push(at);
            let head = head(all, at)?;
            at = at.checked_add(12)?.checked_add(tail(&head)?)?;
        }
        Some(Self {
            bytes: all,
            strings,
            types,
        })
    }

    /// Returns the number of the structure `name`.
    pub(super) fn structure(&self, name: &str) -> Option<u32> {
        self.find(kind::STRUCT, name)
    }

    /// Returns the number of the first function that the kernel has of `names`.
    pub(super) fn function(&self, names: &[&str]) -> Option<u32> {
        names.iter().find_map(|name| self.find(kind::FUNC, name))
    }

    /// Returns the size of structure `id`.
    pub(super) fn size(&self, id: u32) -> Option<u32> {
        Some(self.head(id)?.of)
    }

    /// Returns the number of a structure's own field, and where that lies in bytes.
    pub(super) fn field(&self, id: u32, name: &str) -> Option<(u32, u32)> {
        let (index, offset, _) = self.member(id, name)?;
        Some((index, offset))
    }

    /// Returns where the field at `path`, such as `scx.slice`, lies in structure `id`, in bytes.
    pub(super) fn offset(&self, id: u32, path: &str) -> Option<u32> {
        let (mut own, mut offset) = (id, 0_u32);
        for name in path.split('.') {
            let (at, of) = self.anywhere(own, name, DEEPEST)?;
            offset = offset.checked_add(at)?;
            own = of;
        }
        Some(offset)
    }

    fn find(&self, kind: u32, name: &str) -> Option<u32> {
        let of = |at: usize| {
            let head = head(self.bytes, at)?;
            (head.kind == kind && self.name(head.name) == Some(name.as_bytes())).then_some(())
        };
        let place = self.types.iter().skip(1).position(|at| of(*at).is_some())?;
        u32::try_from(place + 1).ok()
    }

    fn name(&self, at: u32) -> Option<&'a [u8]> {
        let from = self.strings.get(usize::try_from(at).ok()?..)?;
        from.split(|byte| *byte == 0).next()
    }

    fn head(&self, id: u32) -> Option<Head> {
        head(self.bytes, *self.types.get(usize::try_from(id).ok()?)?)
    }

    /// Returns place, offset and type of each field.
    fn members(&self, id: u32) -> Option<impl Iterator<Item = (u32, u32, u32, u32)> + '_> {
        let start = *self.types.get(usize::try_from(id).ok()?)?;
        let head = head(self.bytes, start)?;
        if head.kind != kind::STRUCT && head.kind != kind::UNION {
            return None;
        }
        let one = move |index: usize| {
            let at = start + 12 + index * 12;
            let bits = number(self.bytes, at + 8)?;
            // With bit fields, the size of the field is in the upper byte.
            let bits = if head.is_bit_field {
                bits & 0xff_ffff
            } else {
                bits
            };
            let name = number(self.bytes, at)?;
            let of = number(self.bytes, at + 4)?;
            Some((u32::try_from(index).ok()?, name, of, bits / 8))
        };
        Some((0..head.count).filter_map(one))
    }

    fn member(&self, id: u32, name: &str) -> Option<(u32, u32, u32)> {
        self.members(id)?
            .find(|(_, own, _, _)| self.name(*own) == Some(name.as_bytes()))
            .map(|(index, _, of, offset)| (index, offset, of))
    }

    /// A field of `id`, or of a structure without a name in it.
    fn anywhere(&self, id: u32, name: &str, deep: u32) -> Option<(u32, u32)> {
        if let Some((_, offset, of)) = self.member(id, name) {
            return Some((offset, of));
        }
        let deeper = deep.checked_sub(1)?;
        self.members(id)?
            .filter(|(_, own, _, _)| self.name(*own) == Some(b""))
            .find_map(|(_, _, of, offset)| {
                let (inner, found) = self.anywhere(of, name, deeper)?;
                Some((offset.checked_add(inner)?, found))
            })
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(four.try_into().ok()?))
}

fn head(bytes: &[u8], at: usize) -> Option<Head> {
    let info = number(bytes, at.checked_add(4)?)?;
    Some(Head {
        name: number(bytes, at)?,
        kind: (info >> 24) & 0x1f,
        count: usize::try_from(info & 0xffff).ok()?,
        is_bit_field: info >> 31 == 1,
        of: number(bytes, at.checked_add(8)?)?,
    })
}

/// Bytes that follow the head of a type.
fn tail(head: &Head) -> Option<usize> {
    Some(match head.kind {
        // A number, a variable, a tag of a declaration.
        1 | 14 | 17 => 4,
        kind::ARRAY => 12,
        // Structures, unions, data sections, and enumerations of 64 bits.
        kind::STRUCT | kind::UNION | 15 | 19 => head.count * 12,
        // Enumerations, and what functions take.
        6 | 13 => head.count * 8,
        2 | 7..=11 | kind::FUNC | 16 | 18 => 0,
        _ => return None,
    })
}

/// Returns the smallest BTF that there is: the kernel wants one with a map of its own types.
pub(super) fn smallest() -> Vec<u8> {
    let strings = b"\0int\0";
    // A number of 32 bits, signed.
    let int: [u32; 4] = [1, 1 << 24, 4, 1 << 24 | 32];
    let mut bytes = Vec::new();
    bytes.extend(MAGIC.to_ne_bytes());
    bytes.extend([1, 0]);
    let header: [u32; 5] = [24, 0, 16, 16, 5];
    bytes.extend(header.iter().chain(&int).flat_map(|n| n.to_ne_bytes()));
    bytes.extend(strings);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_btf_is_none_and_a_cut_one_panics_nowhere() {
        assert!(Btf::parse(b"").is_none());
        assert!(Btf::parse(&[0; 64]).is_none());
        let whole = smallest();
        for end in 0..whole.len() {
            drop(Btf::parse(&whole[..end]));
        }
        let btf = Btf::parse(&whole).unwrap();
        assert_eq!(btf.types.len(), 2);
        assert_eq!(btf.structure("int"), None);
    }

    #[test]
    fn fields_of_structures_inside_are_found() {
        // struct inner { int a; int b; }; struct outer { int x; struct { struct inner in; }; };
        let strings = b"\0int\0inner\0a\0b\0outer\0x\0in\0call\0";
        let at = |name: &str| {
            let text = std::str::from_utf8(strings).unwrap();
            u32::try_from(text.find(&format!("\0{name}\0")).unwrap() + 1).unwrap()
        };
        let mut types: Vec<u32> = vec![at("int"), 1 << 24, 4, 1 << 24 | 32];
        types.extend([at("inner"), 4 << 24 | 2, 8]);
        types.extend([at("a"), 1, 0, at("b"), 1, 32]);
        types.extend([0, 4 << 24 | 1, 8, at("in"), 2, 0]);
        types.extend([at("outer"), 4 << 24 | 2, 12]);
        types.extend([at("x"), 1, 0, 0, 3, 32]);
        types.extend([at("call"), 12 << 24, 0]);
        let mut bytes = Vec::new();
        bytes.extend(MAGIC.to_ne_bytes());
        bytes.extend([1, 0]);
        let length = u32::try_from(types.len() * 4).unwrap();
        let header = [24, 0, length, length, u32::try_from(strings.len()).unwrap()];
        bytes.extend(header.iter().chain(&types).flat_map(|n| n.to_ne_bytes()));
        bytes.extend(strings);
        let btf = Btf::parse(&bytes).unwrap();
        let outer = btf.structure("outer").unwrap();
        assert_eq!(btf.size(outer), Some(12));
        assert_eq!(btf.field(outer, "x"), Some((0, 0)));
        assert_eq!(btf.offset(outer, "in.b"), Some(8));
        assert_eq!(btf.offset(outer, "in.c"), None);
        assert_eq!(btf.function(&["newer", "call"]), Some(5));
    }
}
