// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a kernel said on its console.

/// Lines of a log that an error shows.
const TAIL_LINES: usize = 12;

/// Characters of a line that an error shows.
const LINE_LENGTH: usize = 200;

/// What a kernel says when it gives up (kernel/panic.c).
const PANIC: &str = "Kernel panic - not syncing";

/// Whether a log has grown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Log {
    length: u64,
}

impl Log {
    /// Takes the length that it has now, and returns whether it was shorter.
    pub(super) const fn grown_to(&mut self, length: u64) -> bool {
        let grown = length > self.length;
        self.length = length;
        grown
    }
}

/// Returns the line in which the kernel says that it panics.
pub(super) fn panic_line(log: &[u8]) -> Option<String> {
    lines(log).find_map(|line| Some(line[line.find(PANIC)?..].to_owned()))
}

/// Whether a kernel panicked because it had too little memory.
pub(super) fn is_of_memory(panic: &str) -> bool {
    panic.contains("deadlocked on memory") || panic.contains("Out of memory")
}

/// Returns the last lines of what QEMU said, each once, without the registers of the processor.
pub(super) fn said(log: &[u8]) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for line in lines(log).filter(|line| !is_of_registers(line)) {
        if !said.contains(&line) {
            said.push(line);
        }
    }
    said.split_off(said.len().saturating_sub(TAIL_LINES))
}

/// Whether a line is of a dump of registers: `RAX=0000000000000000 RBX=...`, ` PC=...`, `ES =0018 ...`.
fn is_of_registers(line: &str) -> bool {
    let Some((name, _)) = line.split_once('=') else {
        return false;
    };
    let name = name.trim();
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit();
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.len() <= 6
        && name.chars().all(is_part)
}

/// Returns the last lines of a log.
pub fn tail(log: &[u8]) -> Vec<String> {
    let mut all: Vec<String> = lines(log).collect();
    all.split_off(all.len().saturating_sub(TAIL_LINES))
}

/// Returns the lines that say something, without what a terminal would obey.
fn lines(log: &[u8]) -> impl Iterator<Item = String> {
    log.split(|byte| *byte == b'\n').filter_map(|line| {
        let text: String = String::from_utf8_lossy(line)
            .chars()
            .filter(|c| !c.is_control())
            .take(LINE_LENGTH)
            .collect();
        let text = text.trim_end();
        (!text.is_empty()).then(|| text.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &[u8] =
        b"[    0.1] one\r\n\r\n[    2.5] Kernel panic - not syncing: VFS: no root\r\n\
        [    2.6] ---[ end Kernel panic - not syncing: VFS: no root ]---\r\n";

    #[test]
    fn a_panic_is_told_in_the_kernels_words() {
        let line = panic_line(LOG).unwrap();
        assert_eq!(line, "Kernel panic - not syncing: VFS: no root");
        assert_eq!(panic_line(b"all is well"), None);
    }

    #[test]
    fn what_qemu_says_has_no_registers() {
        let dump = b"qemu: fatal: Trying to execute code outside RAM or ROM at 0x1000\n\n\
            RAX=0000000000000000 RBX=0000000000000001\nES =0018 0000000000000000 ffffffff\n\
            GDT=     0000000000000000 00000000\n PC=ffff800008010000 X00=0000000000000000\n\
            DR6=00000000ffff0ff0 DR7=0000000000000400\nXMM00=0000000000000000\n\
            qemu-system-x86_64: Bad icount read\nqemu-system-x86_64: Bad icount read\n";
        assert_eq!(
            said(dump),
            [
                "qemu: fatal: Trying to execute code outside RAM or ROM at 0x1000",
                "qemu-system-x86_64: Bad icount read"
            ]
        );
        let option = "qemu-system-x86_64: -m: Parameter 'size' expects a size";
        assert_eq!(said(option.as_bytes()), [option]);
        assert_eq!(said(b"PUNCTUAL_QEMU=x: not found\n").len(), 1);
    }

    #[test]
    fn the_tail_is_short_and_harmless() {
        let long = "x\x1b[2J\n".repeat(50);
        let tail = tail(long.as_bytes());
        assert_eq!(tail, ["x[2J"; 12]);
        assert!(super::tail(b"\n\n").is_empty());
    }
}
