// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Who has a CPU: tasks, interrupts, timers, with their names kept once.

use rustc_hash::FxHashMap;

/// The kernel's number of a thread.
pub(crate) type Tid = i32;

/// A name that is kept in [`Names`].
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct Name(u32);

/// Names that are kept. More than that many different ones, such as those of processes that name themselves by
/// counting, are one.
const KEPT: usize = 1 << 16;

/// The names of all that was seen, each once.
#[derive(Debug)]
pub(crate) struct Names {
    texts: Vec<String>,
    places: FxHashMap<Vec<u8>, Name>,
    /// The name that was asked for last with each of a few sums of its bytes: a machine switches between the same threads.
    recent: Vec<((u64, u64), Name)>,
}

/// Names of the kernel's threads have at most 15 bytes.
const SHORT: usize = 16;

/// Bits of the sums.
const RECENT: u32 = 10;

impl Default for Names {
    fn default() -> Self {
        Self {
            texts: vec!["?".to_owned()],
            places: FxHashMap::default(),
            recent: vec![((0, 0), Self::UNKNOWN); 1 << RECENT],
        }
    }
}

impl Names {
    /// What has no name.
    pub(crate) const UNKNOWN: Name = Name(0);

    /// Keeps `text`, which may be anything: a thread names itself.
    pub(crate) fn keep(&mut self, text: &[u8]) -> Name {
        let mut padded = [0; SHORT];
        let Some(head) = padded.get_mut(..text.len()) else {
            return self.find_or_keep(text);
        };
        head.copy_from_slice(text);
        let half = |from: usize| {
            let bytes = padded.iter().skip(from).take(SHORT / 2).rev();
            bytes.fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte))
        };
        let (low, high) = (half(0), half(SHORT / 2));
        let key = (low, high);
        if key == (0, 0) {
            return self.find_or_keep(text);
        }
        let sum = (low ^ high.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = (sum >> (u64::BITS - RECENT)) as usize;
        if let Some((known, name)) = self.recent.get(place)
            && *known == key
        {
            return *name;
        }
        let name = self.find_or_keep(text);
        if let Some(recent) = self.recent.get_mut(place) {
            *recent = (key, name);
        }
        name
    }

    fn find_or_keep(&mut self, text: &[u8]) -> Name {
        if let Some(name) = self.places.get(text) {
            return *name;
        }
        let Some(place) = u32::try_from(self.texts.len())
            .ok()
            .filter(|_| self.texts.len() < KEPT)
        else {
            return Self::UNKNOWN;
        };
        self.texts.push(printable(text));
        self.places.insert(text.to_owned(), Name(place));
        Name(place)
    }

    /// Returns the text of a name.
    pub(crate) fn text(&self, name: Name) -> &str {
        self.texts.get(name.0 as usize).map_or("?", String::as_str)
    }
}

/// Writes what a thread calls itself without what commands a terminal.
pub(super) fn printable(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().map(shown).collect()
}

/// Who has a CPU.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Who {
    /// Nothing is known yet.
    Unknown,
    /// Nobody. The state as the kernel numbers them, where it is known.
    Idle { state: Option<u8> },
    /// A thread, with its priority as the scheduler counts: below 0 deadline, below 100 real-time.
    Task { tid: Tid, name: Name, prio: i16 },
    /// A device's interrupt.
    Irq { irq: i32, name: Name },
    /// An interrupt of the processor itself: its timer, another CPU's call.
    Vector { name: Name },
    /// A soft interrupt, by its number.
    Softirq { vec: u8 },
    /// A timer's function, within an interrupt.
    Timer { name: Name },
}

impl Who {
    /// Whether it runs on the time of whichever thread has the CPU.
    pub(super) const fn interrupts(self) -> bool {
        matches!(
            self,
            Self::Irq { .. } | Self::Vector { .. } | Self::Softirq { .. } | Self::Timer { .. }
        )
    }

    /// Whether it is the kernel's thread that stops a CPU, to move a thread that runs or to change what all CPUs run
    /// (kernel/stop_machine.c). It goes before every other thread.
    pub(super) fn is_stopper(self, names: &Names) -> bool {
        matches!(self, Self::Task { prio: ..=0, name, .. } if names.text(name).starts_with("migration/"))
    }

    /// Returns the thread.
    pub(super) const fn tid(self) -> Option<Tid> {
        match self {
            Self::Task { tid, .. } => Some(tid),
            _ => None,
        }
    }
}

/// Names of the soft interrupts, by their numbers (include/linux/interrupt.h).
pub(crate) const SOFTIRQS: [&str; 10] = [
    "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once_and_commands_no_terminal() {
        let mut names = Names::default();
        let loops = names.keep(b"loop");
        assert_eq!(names.keep(b"loop"), loops);
        assert_eq!(names.text(loops), "loop");
        let evil = names.keep(b"\x1b[2J\xff");
        assert_eq!(names.text(evil), "\u{fffd}[2J\u{fffd}");
    }

    #[test]
    fn names_without_end_do_not_take_memory_without_end() {
        let mut names = Names::default();
        for n in 0..2 * KEPT {
            names.keep(n.to_string().as_bytes());
        }
        assert_eq!(names.texts.len(), KEPT);
        assert_eq!(names.keep(b"one more"), Names::UNKNOWN);
    }
}
