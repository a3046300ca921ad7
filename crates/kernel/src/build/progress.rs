// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How far a build is, from what make says: a line `  CC      kernel/sched/core.o` for each step.
//!
//! How many steps there will be nobody knows before; an earlier build of the same source and base from a clean start
//! tells about.

/// Counts steps.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    /// Steps that were announced.
    pub steps: u64,
    /// Lines with `warning:`.
    pub warnings: u64,
    /// Steps of an earlier build from a clean start.
    pub expected: Option<u64>,
}

/// One step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Step<'a> {
    /// `CC`, `LD`, `AR`.
    pub verb: &'a str,
    /// The file that is made.
    pub file: &'a str,
}

impl Meter {
    /// Takes a line, and returns the step that it announces, if it does.
    pub fn hear<'a>(&mut self, line: &'a str) -> Option<Step<'a>> {
        if line.contains("warning:") {
            self.warnings += 1;
        }
        let step = step(line)?;
        self.steps += 1;
        Some(step)
    }

    /// Returns the share that is done, where an earlier build tells how much it is.
    pub fn share(&self) -> Option<f64> {
        let expected = self.expected.filter(|expected| *expected >= self.steps)?;
        #[expect(clippy::cast_precision_loss, reason = "a share to show")]
        let share = self.steps as f64 / expected.max(1) as f64;
        Some(share)
    }

    /// Says how far it is: `1234 steps`, or `1234 of about 1800 steps`.
    pub fn said(&self) -> String {
        match self.expected.filter(|expected| *expected >= self.steps) {
            Some(expected) => format!("{} of about {expected} steps", self.steps),
            None => format!("{} steps", self.steps),
        }
    }
}

fn step(line: &str) -> Option<Step<'_>> {
    let rest = line.strip_prefix("  ")?;
    let (verb, file) = rest.split_once("  ").or_else(|| rest.split_once(' '))?;
    let verb = verb.trim_end_matches(" [M]").trim();
    let is_verb = !verb.is_empty()
        && verb.len() <= 10
        && verb
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let file = file.trim().trim_start_matches("[M] ").trim();
    (is_verb && !file.is_empty()).then_some(Step { verb, file })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_warnings_are_counted_and_nothing_else() {
        let mut meter = Meter::default();
        let step = meter.hear("  CC      kernel/sched/core.o").unwrap();
        assert_eq!((step.verb, step.file), ("CC", "kernel/sched/core.o"));
        let step = meter.hear("  CC [M]  fs/ext4/super.o").unwrap();
        assert_eq!((step.verb, step.file), ("CC", "fs/ext4/super.o"));
        meter.hear("  LD      vmlinux").unwrap();
        for other in [
            "make[1]: Entering directory '/x'",
            "  if (x)  y",
            "kernel/a.c:3:5: warning: unused variable",
            "Kernel: arch/x86/boot/bzImage is ready  (#1)",
            "",
        ] {
            assert_eq!(meter.hear(other), None, "{other}");
        }
        assert_eq!((meter.steps, meter.warnings), (3, 1));
        assert_eq!(meter.said(), "3 steps");
        meter.expected = Some(10);
        assert_eq!(meter.said(), "3 of about 10 steps");
        meter.expected = Some(2);
        assert_eq!(meter.said(), "3 steps");
    }
}
