// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Programs for 32 bits on a kernel for 64: their system calls have numbers of a table of their own, and the trace does not say which of the
//! two a number is of.

use punctual_sys::SysRoot;

use super::Watcher;
use super::thread::{Program, Thread};
use super::who::Tid;

/// The beginning of a file that is a program for 32 bits: the magic number, and its class (elf(5)).
const OF_32_BITS: [u8; 5] = [0x7f, b'E', b'L', b'F', 1];

/// What program a process runs, as far as it tells.
fn program_of(sys: &SysRoot, process: Tid) -> Program {
    let head = sys.read_up_to(&format!("/proc/{process}/exe"), OF_32_BITS.len());
    match head {
        Ok((head, _)) if head == OF_32_BITS => Program::Of32Bits,
        _ => Program::Ours,
    }
}

impl Watcher {
    /// Finds out of which table the system calls of new threads are, and of those that run another program since. What was taken for a call
    /// of one for 32 bits by then was none.
    pub(super) fn look_at_programs(&mut self, sys: &SysRoot) {
        if cfg!(target_pointer_width = "32") {
            return;
        }
        for (tid, thread) in &mut self.replay.threads {
            if thread.program != Program::Unknown || thread.ended.is_some() {
                continue;
            }
            thread.program = program_of(sys, thread.process);
            if thread.program == Program::Of32Bits {
                thread.forget_calls();
                self.pending.remove(tid);
            }
        }
    }

    /// Says whose system calls are not known.
    pub(super) fn of_32_bits(&self) -> Option<String> {
        let is_so = |thread: &&Thread| thread.program == Program::Of32Bits;
        let threads = self.replay.threads.values().filter(is_so);
        let mut names: Vec<&str> = threads
            .map(|thread| self.replay.names.text(thread.name))
            .collect();
        names.sort_unstable();
        names.dedup();
        names.truncate(5);
        (!names.is_empty()).then(|| {
            format!(
                "which system calls a program for 32 bits makes ({}): each sleep of its threads is a wait",
                names.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_class_of_a_program_is_that_of_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let sys = SysRoot::at(dir.path());
        let heads: [(&[u8], Program); 4] = [
            (b"\x7fELF\x01\x01\x01", Program::Of32Bits),
            (b"\x7fELF\x02\x01\x01", Program::Ours),
            (b"\x7fEL", Program::Ours),
            (b"#!/bin/sh\n", Program::Ours),
        ];
        fs::create_dir_all(dir.path().join("proc/70")).unwrap();
        for (head, program) in heads {
            fs::write(dir.path().join("proc/70/exe"), head).unwrap();
            assert_eq!(program_of(&sys, 70), program, "{head:?}");
        }
        assert_eq!(program_of(&sys, 71), Program::Ours);
    }
}
