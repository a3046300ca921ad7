// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Which interrupts are measured: from what a user writes to what the kernel calls them.

use std::collections::BTreeSet;

use punctual_sys::SysRoot;
use punctual_sys::tracefs::Tracefs;

use crate::error::MeasureError;
use crate::noise::counters::said;
use crate::watch::who::SOFTIRQS;
use punctual_model::Gathered as _;

/// What is asked for: interrupts by name or number, or `all`.
pub type Wish = [String];

/// An interrupt of the processor itself that has events.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Vector {
    /// What its events are called in the trace of `watch`.
    words: &'static str,
    /// Its line in `/proc/interrupts`.
    pub(super) line: &'static str,
    /// Its name in figures.
    pub(super) name: &'static str,
    /// The event of its entry, without `irq_vectors/` and `_entry`.
    event: &'static str,
}

const fn of(
    words: &'static str,
    line: &'static str,
    name: &'static str,
    event: &'static str,
) -> Vector {
    Vector {
        words,
        line,
        name,
        event,
    }
}

/// All of them; those of calls from other CPUs are two vectors and one line.
const VECTORS: [Vector; 6] = [
    of("timer interrupt", "LOC", "local-timer", "local_timer"),
    of("reschedule interrupt", "RES", "reschedule", "reschedule"),
    of(
        "call from another CPU",
        "CAL",
        "call-function",
        "call_function_single",
    ),
    of("interrupt work", "IWI", "irq-work", "irq_work"),
    of(
        "platform interrupt",
        "PLT",
        "platform-ipi",
        "x86_platform_ipi",
    ),
    of("thermal interrupt", "TRM", "thermal", "thermal_apic"),
];

impl Vector {
    /// Finds a vector by its words.
    pub(super) fn by_words(words: &str) -> Option<&'static Self> {
        VECTORS.iter().find(|vector| vector.words == words)
    }

    fn is(&self, name: &str) -> bool {
        [self.line, self.name, self.event]
            .iter()
            .any(|own| own.eq_ignore_ascii_case(name))
    }
}

/// One line of `/proc/interrupts`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Line {
    /// `36`, or `LOC`.
    pub(super) id: String,
    /// What the line says of itself: the devices, or what the processor's own interrupt is.
    pub(super) says: String,
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.id, self.says)
    }
}

impl Line {
    pub(super) fn number(&self) -> Option<i32> {
        self.id.parse().ok()
    }

    /// The handlers of a numbered line, each by its device's name.
    pub(super) fn handlers(&self) -> impl Iterator<Item = &str> {
        let numbered = self.number().is_some();
        self.says
            .split(", ")
            .filter(move |name| numbered && !name.is_empty())
    }
}

/// The interrupts that are measured.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Choice {
    all: bool,
    irqs: BTreeSet<i32>,
    vectors: BTreeSet<&'static str>,
    softirqs: BTreeSet<u8>,
    lines: Vec<Line>,
    /// Those of the processor itself for which this kernel has events.
    traced: Vec<&'static Vector>,
}

impl Choice {
    /// Finds what `wish` names on this machine.
    ///
    /// # Errors
    ///
    /// [`MeasureError::Spec`], with what the machine has, where a name matches nothing or names an interrupt for which the kernel has no
    /// events.
    pub fn of(wish: &Wish, sys: &SysRoot, tracefs: &Tracefs) -> Result<Self, MeasureError> {
        let text = sys
            .read("/proc/interrupts")
            .map_err(|err| MeasureError::Spec {
                option: format!("--irq {}", wish.join(",")),
                reason: err.to_string(),
            })?;
        let has =
            |vector: &Vector| tracefs.has_event(&format!("irq_vectors/{}_entry", vector.event));
        let mut choice = Self {
            lines: lines(&text),
            traced: VECTORS.iter().filter(|vector| has(vector)).collect(),
            ..Self::default()
        };
        for name in wish {
            choice.add(name, &device(name, sys))?;
        }
        Ok(choice)
    }

    /// Adds what `name` means, which may be a device with interrupts of these numbers.
    fn add(&mut self, name: &str, of_device: &BTreeSet<i32>) -> Result<(), MeasureError> {
        if name.eq_ignore_ascii_case("all") {
            self.all = true;
            return Ok(());
        }
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        let mut irqs = BTreeSet::new();
        for line in &self.lines {
            let named = is(&line.id) || line.handlers().any(|of| begins(of, name));
            irqs.extend(line.number().filter(|n| named || of_device.contains(n)));
        }
        let vectors = self.traced.iter().filter(|vector| vector.is(name));
        let vectors: Vec<_> = vectors.map(|vector| vector.line).collect();
        let softirqs = (0..).zip(SOFTIRQS).filter(|(_, known)| is(known));
        let softirqs: Vec<u8> = softirqs.map(|(vec, _)| vec).collect();
        if irqs.is_empty() && vectors.is_empty() && softirqs.is_empty() {
            let reason = match self.lines.iter().find(|line| is(&line.id)) {
                Some(line) => format!(
                    "this kernel has no trace events for {line}; {}",
                    self.offers()
                ),
                None => format!("no interrupt has this name or number; {}", self.offers()),
            };
            let option = format!("--irq {name}");
            return Err(MeasureError::Spec { option, reason });
        }
        self.irqs.extend(irqs);
        self.vectors.extend(vectors);
        self.softirqs.extend(softirqs);
        Ok(())
    }

    /// Says what there is.
    fn offers(&self) -> String {
        let said: Vec<String> = self
            .lines
            .iter()
            .filter(|line| self.is_traced(line))
            .map(ToString::to_string)
            .collect();
        format!(
            "/proc/interrupts has {}; soft interrupts are {}; `all` measures every one",
            said.join(", "),
            SOFTIRQS.join(", ")
        )
    }

    /// Whether the kernel has events for this line.
    fn is_traced(&self, line: &Line) -> bool {
        line.number().is_some() || self.traced.iter().any(|vector| vector.line == line.id)
    }

    /// Whether this interrupt is measured.
    pub(super) fn has_irq(&self, irq: i32) -> bool {
        self.all || self.irqs.contains(&irq)
    }

    /// Whether this interrupt of the processor is measured.
    pub(super) fn has_vector(&self, vector: &Vector) -> bool {
        self.all || self.vectors.contains(vector.line)
    }

    /// Whether all soft interrupts of this kind are measured, whoever raised them.
    pub(super) fn has_softirq(&self, vec: u8) -> bool {
        self.all || self.softirqs.contains(&vec)
    }

    /// Returns the chosen lines of `/proc/interrupts`.
    pub(super) fn chosen(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| match line.number() {
            Some(number) => self.has_irq(number),
            None => self.is_traced(line) && (self.all || self.vectors.contains(line.id.as_str())),
        })
    }

    /// Whether every interrupt is measured.
    pub(super) const fn is_all(&self) -> bool {
        self.all
    }
}

/// Whether `handler` is `name`, or begins with it where that is not the first digits of a longer number: `virtio1` is in
/// `virtio1-req.0` and not in `virtio10-req.0`.
fn begins(handler: &str, name: &str) -> bool {
    let head = handler.get(..name.len());
    let next = handler
        .get(name.len()..)
        .and_then(|rest| rest.chars().next());
    !name.is_empty()
        && head.is_some_and(|head| head.eq_ignore_ascii_case(name))
        && next.is_none_or(|next| !next.is_ascii_digit())
}

/// Returns the interrupts of a block or network device, such as `vda` or `eth0`, by the directory that PCI keeps of them.
fn device(name: &str, sys: &SysRoot) -> BTreeSet<i32> {
    let plain = !name.is_empty() && name != "." && name != ".." && !name.contains('/');
    let places = ["/sys/block", "/sys/class/net"]
        .into_iter()
        .filter(|_| plain);
    places
        // Virtio devices lie below the PCI device that has the interrupts.
        .flat_map(|class| ["device", "device/.."].map(|up| format!("{class}/{name}/{up}/msi_irqs")))
        .filter_map(|path| sys.names(&path).ok())
        .flatten()
        .filter_map(|number| number.parse().ok())
        .into_set()
}

/// Takes `/proc/interrupts` apart: a heading that names the online CPUs, then a line each with a count for every CPU, and what it is.
/// Sums without a count for each CPU (`ERR`) are left out.
fn lines(text: &str) -> Vec<Line> {
    let cpus = text
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .count();
    let line = |line: &str| {
        let (id, rest) = line.split_once(':')?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let counts = words
            .iter()
            .take_while(|word| word.parse::<u64>().is_ok())
            .count();
        if counts < cpus {
            return None;
        }
        let id = id.trim().to_owned();
        let says = said(&id, words.get(cpus..).unwrap_or_default()).join(" ");
        Some(Line { id, says })
    };
    text.lines().skip(1).filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERRUPTS: &str = "           CPU0       CPU1       
 26:          0         15  IO-APIC   4-edge      ttyS0
 36:          0     106637 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
 37:          0          0 PCI-MSIX-0000:00:12.0   1-edge      virtio10-req.0
 40:          3          4 IO-APIC   9-level     ehci_hcd:usb1, eth0
 41:          3          4 GICv3  27 Level     arch_timer
NMI:          0          0   Non-maskable interrupts
LOC:     103635     114684   Local timer interrupts
ERR:          0
";

    fn choice(wish: &[&str], device: &[i32]) -> Result<Choice, MeasureError> {
        let mut choice = Choice {
            lines: lines(INTERRUPTS),
            traced: VECTORS
                .iter()
                .filter(|vector| vector.line == "LOC")
                .collect(),
            ..Choice::default()
        };
        let device = device.iter().copied().collect();
        for name in wish {
            choice.add(name, &device)?;
        }
        Ok(choice)
    }

    fn ids(wish: &[&str]) -> Vec<String> {
        let choice = choice(wish, &[]).unwrap();
        choice.chosen().map(|line| line.id.clone()).collect()
    }

    #[test]
    fn interrupts_are_found_by_number_device_and_vector() {
        assert_eq!(ids(&["36"]), ["36"]);
        assert_eq!(ids(&["virtio1"]), ["36"], "and not virtio10");
        assert_eq!(ids(&["VIRTIO1-REQ.0"]), ["36"]);
        assert_eq!(
            ids(&["eth0"]),
            ["40"],
            "the second handler of a shared line"
        );
        assert_eq!(ids(&["arch_timer"]), ["41"]);
        for timer in ["LOC", "local-timer", "local_timer"] {
            assert_eq!(ids(&[timer]), ["LOC"]);
        }
        assert_eq!(ids(&["36", "loc", "36"]), ["36", "LOC"]);
        // Nothing records what is not maskable.
        assert_eq!(ids(&["all"]), ["26", "36", "37", "40", "41", "LOC"]);
        let soft = choice(&["net_rx"], &[]).unwrap();
        assert!(soft.has_softirq(3) && !soft.has_softirq(2) && !soft.has_irq(36));
        let disk = choice(&["vda"], &[36]).unwrap();
        assert!(disk.has_irq(36) && !disk.has_irq(37));
    }

    #[test]
    fn what_matches_nothing_is_one_error_with_what_there_is() {
        let err = choice(&["36", "nvme7"], &[]).unwrap_err();
        assert!(err.is_usage());
        let text = err.to_string();
        for part in [
            "--irq nvme7",
            "36 virtio1-req.0",
            "LOC Local timer interrupts",
            "NET_RX",
            "`all`",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("NMI"), "{text}");
        let nmi = choice(&["NMI"], &[]).unwrap_err().to_string();
        assert!(
            nmi.contains("no trace events for NMI Non-maskable interrupts"),
            "{nmi}"
        );
        assert!(choice(&[""], &[]).is_err());
    }
}
