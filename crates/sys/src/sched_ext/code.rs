// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Instructions of BPF, by the names that they have in Documentation/bpf/standardization/instruction-set.rst.

/// A register: R0 is what a call returns, R1 to R5 what it gets, R6 to R9 stay, R10 is the end of the stack.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Reg {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    R10,
}

/// A comparison of 64 bits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Is {
    Equal,
    NotEqual,
    Below,
    AtLeast,
    /// Below 0, with a sign.
    Negative,
    /// Whether it has one of these bits.
    Has,
}

/// A size of memory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Size {
    Four,
    Eight,
}

/// A place to jump to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Label(usize);

/// Code that is being written.
#[derive(Debug, Default)]
pub(super) struct Code {
    words: Vec<u64>,
    /// Where each label is, once that is known.
    labels: Vec<Option<usize>>,
    /// Jumps and their labels.
    jumps: Vec<(usize, Label)>,
}

impl Code {
    /// Returns the instructions.
    ///
    /// Nothing if a label was set nowhere, or a jump is too far.
    pub(super) fn finish(mut self) -> Option<Vec<u64>> {
        for (at, label) in self.jumps {
            let to = self.labels[label.0]?;
            let distance = i16::try_from(to).ok()? - i16::try_from(at + 1).ok()?;
            self.words[at] |= u64::from(distance.cast_unsigned()) << 16;
        }
        Some(self.words)
    }

    fn push(&mut self, opcode: u8, to: Reg, from: u8, offset: i16, value: i32) {
        self.words.push(
            u64::from(opcode)
                | u64::from(to as u8) << 8
                | u64::from(from) << 12
                | u64::from(offset.cast_unsigned()) << 16
                | u64::from(value.cast_unsigned()) << 32,
        );
    }

    pub(super) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    pub(super) fn here(&mut self, label: Label) {
        self.labels[label.0] = Some(self.words.len());
    }

    pub(super) fn copy(&mut self, to: Reg, from: Reg) {
        self.push(0xbf, to, from as u8, 0, 0);
    }

    /// Sets a register to a number, with its sign.
    pub(super) fn set(&mut self, to: Reg, value: i32) {
        self.push(0xb7, to, 0, 0, value);
    }

    /// Sets a register to a map, by its descriptor.
    pub(super) fn set_map(&mut self, to: Reg, map: i32) {
        // A number of 64 bits, of which the second half is 0.
        self.push(0x18, to, 1, 0, map);
        self.push(0, Reg::R0, 0, 0, 0);
    }

    pub(super) fn add(&mut self, to: Reg, value: i32) {
        self.push(0x07, to, 0, 0, value);
    }

    pub(super) fn add_reg(&mut self, to: Reg, from: Reg) {
        self.push(0x0f, to, from as u8, 0, 0);
    }

    pub(super) fn shift_left(&mut self, to: Reg, bits: i32) {
        self.push(0x67, to, 0, 0, bits);
    }

    /// The upper bits become copies of the sign.
    pub(super) fn shift_right(&mut self, to: Reg, bits: i32) {
        self.push(0xc7, to, 0, 0, bits);
    }

    pub(super) fn and_reg(&mut self, to: Reg, from: Reg) {
        self.push(0x5f, to, from as u8, 0, 0);
    }

    pub(super) fn load(&mut self, size: Size, to: Reg, from: Reg, offset: i16) {
        let opcode = match size {
            Size::Four => 0x61,
            Size::Eight => 0x79,
        };
        self.push(opcode, to, from as u8, offset, 0);
    }

    pub(super) fn store(&mut self, size: Size, to: Reg, offset: i16, from: Reg) {
        let opcode = match size {
            Size::Four => 0x63,
            Size::Eight => 0x7b,
        };
        self.push(opcode, to, from as u8, offset, 0);
    }

    pub(super) fn jump(&mut self, to: Label) {
        self.jumps.push((self.words.len(), to));
        self.push(0x05, Reg::R0, 0, 0, 0);
    }

    /// Jumps if `left` is so, compared with a number.
    pub(super) fn jump_if(&mut self, left: Reg, is: Is, right: i32, to: Label) {
        self.jumps.push((self.words.len(), to));
        self.push(comparison(is), left, 0, 0, right);
    }

    /// Jumps if `left` is so, compared with a register.
    pub(super) fn jump_if_reg(&mut self, left: Reg, is: Is, right: Reg, to: Label) {
        self.jumps.push((self.words.len(), to));
        self.push(comparison(is) | 0x08, left, right as u8, 0, 0);
    }

    /// Calls a helper by its number.
    pub(super) fn call_helper(&mut self, number: i32) {
        self.push(0x85, Reg::R0, 0, 0, number);
    }

    /// Calls a function of the kernel by the number of its type.
    pub(super) fn call_kernel(&mut self, id: u32) {
        self.push(0x85, Reg::R0, 2, 0, id.cast_signed());
    }

    /// Returns R0.
    pub(super) fn exit(&mut self) {
        self.push(0x95, Reg::R0, 0, 0, 0);
    }
}

const fn comparison(is: Is) -> u8 {
    match is {
        Is::Equal => 0x15,
        Is::NotEqual => 0x55,
        Is::Below => 0xa5,
        Is::AtLeast => 0x35,
        Is::Negative => 0xc5,
        Is::Has => 0x45,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_as_the_standard_has_them() {
        let mut code = Code::default();
        let end = code.label();
        code.copy(Reg::R6, Reg::R1);
        code.load(Size::Eight, Reg::R2, Reg::R6, -8);
        code.jump_if(Reg::R2, Is::Equal, 5, end);
        code.set_map(Reg::R3, 7);
        code.here(end);
        code.exit();
        let words = code.finish().unwrap();
        let bytes: Vec<[u8; 8]> = words.iter().map(|word| word.to_le_bytes()).collect();
        assert_eq!(bytes[0], [0xbf, 0x16, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[1], [0x79, 0x62, 0xf8, 0xff, 0, 0, 0, 0]);
        assert_eq!(bytes[2], [0x15, 0x02, 2, 0, 5, 0, 0, 0]);
        assert_eq!(bytes[3], [0x18, 0x13, 0, 0, 7, 0, 0, 0]);
        assert_eq!(bytes[4], [0; 8]);
        assert_eq!(bytes[5], [0x95, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_label_that_is_nowhere_is_no_code() {
        let mut code = Code::default();
        let nowhere = code.label();
        code.jump(nowhere);
        assert_eq!(code.finish(), None);
    }
}
