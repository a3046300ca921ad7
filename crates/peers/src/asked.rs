// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the command line in a file says of its threads: policy, priority and interval, as they were
//! asked for. The words of the line are divided by blanks, as the tools join them.

use punctual_model::Nanos;

use crate::command::{self, Class, Options};
use crate::imported::Imported;
use crate::series::SourceSeries;

/// What is said of figures that have it from here.
const STATED: &str = "policy and interval are those of the command line: asked for, not read back";

/// Returns the options of a command line of cyclictest, if it makes so many threads.
pub(crate) fn cyclictest(line: Option<&str>, threads: u32) -> Option<Options> {
    let words = words(line, "cyclictest");
    let words: Vec<String> = words.into_iter().map(ToOwned::to_owned).collect();
    // A quoted word, such as ours has for one with a blank, is not put together again.
    if words.is_empty() || words.iter().any(|word| word.starts_with(['\'', '"'])) {
        return None;
    }
    let options = command::parse(&words, threads).ok();
    options.filter(|options| options.threads == threads)
}

/// Returns the words behind the name of `program`; none where the line is another's.
fn words<'a>(line: Option<&'a str>, program: &str) -> Vec<&'a str> {
    let mut words = line.unwrap_or_default().split_ascii_whitespace();
    let name = words.next().and_then(|word| word.rsplit('/').next());
    match name == Some(program) {
        true => words.collect(),
        false => Vec::new(),
    }
}

impl Imported {
    /// Gives each thread the policy and the interval that cyclictest was asked for, if the line has
    /// as many threads.
    pub(crate) fn ask_cyclictest(&mut self) {
        let threads = u32::try_from(self.series.len()).unwrap_or(u32::MAX);
        let Some(options) = cyclictest(self.command_line.as_deref(), threads) else {
            return;
        };
        for series in &mut self.series {
            let steps = u64::from(series.thread);
            let priority = match options.priospread {
                true => u64::from(options.priority).saturating_sub(steps),
                false => options.priority.into(),
            };
            // Below the lowest, versions differ in what they run.
            series.policy = match options.class {
                Class::Fifo if priority > 0 => Some(format!("f:{priority}")),
                Class::RoundRobin if priority > 0 => Some(format!("r:{priority}")),
                _ => None,
            };
            let longer = options.distance_us.checked_mul(steps);
            let us = longer.and_then(|longer| longer.checked_add(options.interval_us));
            series.interval = us.and_then(|us| us.checked_mul(1_000)).map(Nanos::new);
        }
        self.state_asked();
    }

    /// Gives each thread what rtla, as rteval starts it, was asked for: `-p100 -P f:95`.
    pub(crate) fn ask_rtla(&mut self) {
        let line = self.command_line.clone();
        let words = words(line.as_deref(), "rtla");
        let value = |short: &str, long: &str| -> Option<&str> {
            let at = words
                .iter()
                .position(|w| w.starts_with(short) || w.starts_with(long))?;
            let word = words.get(at)?;
            let glued = word
                .strip_prefix(long)
                .or_else(|| word.strip_prefix(short))?;
            match glued.strip_prefix('=').unwrap_or(glued) {
                "" => words.get(at + 1).copied(),
                value => Some(value),
            }
        };
        let policy = value("-P", "--priority").filter(|policy| {
            let priority = policy
                .strip_prefix("f:")
                .or_else(|| policy.strip_prefix("r:"));
            priority
                .and_then(|p| p.parse().ok())
                .is_some_and(|p: u8| (1..=99).contains(&p))
        });
        let us = value("-p", "--period").and_then(|us| us.parse::<u64>().ok());
        for series in &mut self.series {
            series.policy = policy.map(ToOwned::to_owned);
            series.interval = us.and_then(|us| us.checked_mul(1_000)).map(Nanos::new);
        }
        self.state_asked();
    }

    /// Gives each thread what oslat was asked for: `-f 80`, `-f80`, `--rtprio=80`. It has no interval.
    pub(crate) fn ask_oslat(&mut self) {
        let words = words(self.command_line.as_deref(), "oslat");
        let value = words.iter().enumerate().find_map(|(at, word)| match *word {
            "-f" | "--rtprio" => words.get(at + 1).copied(),
            _ => word
                .strip_prefix("--rtprio=")
                .or_else(|| word.strip_prefix("-f")),
        });
        let priority = value.and_then(|text| text.parse::<u8>().ok());
        let policy = priority
            .filter(|p| (1..=99).contains(p))
            .map(|p| format!("f:{p}"));
        self.series
            .iter_mut()
            .for_each(|s| s.policy.clone_from(&policy));
        self.state_asked();
    }

    fn state_asked(&mut self) {
        let any = |s: &SourceSeries| s.policy.is_some() || s.interval.is_some();
        if self.series.iter().any(any) {
            self.stated.push(STATED.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;

    /// Returns policy and interval in µs of each of `threads`.
    fn asked(
        ask: fn(&mut Imported),
        line: &str,
        threads: u32,
    ) -> Vec<(Option<String>, Option<u64>)> {
        let mut imported = Imported::new(Format::CyclictestJson, "x");
        imported.command_line = Some(line.to_owned());
        imported.series = (0..threads)
            .map(|thread| SourceSeries {
                thread,
                ..SourceSeries::default()
            })
            .collect();
        ask(&mut imported);
        let of = |s: SourceSeries| (s.policy, s.interval.map(|ns| ns.get() / 1_000));
        imported.series.into_iter().map(of).collect()
    }

    fn some(policy: &str, us: u64) -> (Option<String>, Option<u64>) {
        (Some(policy.to_owned()), Some(us))
    }

    #[test]
    fn cyclictest_is_understood_as_it_understands_itself() {
        let line = |line: &str, threads| asked(Imported::ask_cyclictest, line, threads);
        let spread = line("cyclictest -p 80 -t3 -m -n -i 1000 -l 10 --priospread", 3);
        assert_eq!(
            spread,
            [
                some("f:80", 1_000),
                some("f:79", 1_500),
                some("f:78", 2_000)
            ]
        );
        // A histogram takes the distance away; a priority makes the policy.
        let line_2 = "cyclictest -i100 -qmu -h 3500 -p95 -t2 -a0-1";
        assert_eq!(line(line_2, 2), [some("f:95", 100), some("f:95", 100)]);
        assert_eq!(
            line("/usr/bin/cyclictest -Sp7 --policy=rr -i 5", 1),
            [some("r:7", 5)]
        );
        // It runs at 2, whatever was meant.
        assert_eq!(line("cyclictest -smp -p 80", 1), [some("f:2", 1_000)]);
        assert_eq!(line("cyclictest -q", 1), [(None, Some(1_000))]);
        assert_eq!(
            line("cyclictest -p 1 -t 2 --priospread -d 0", 2),
            [some("f:1", 1_000), (None, Some(1_000))]
        );
        for unclear in [
            "cyclictest -t 4 -p 80",
            "cyclictest --bogus",
            "",
            "cyclictest -p 100",
            "punctual 0.1.0 run x",
            "cyclictest '-h 3500'",
        ] {
            assert_eq!(line(unclear, 1), [(None, None)], "{unclear}");
        }
    }

    #[test]
    fn rtla_and_oslat_are_asked_for_a_priority() {
        let rtla = |line: &str| asked(Imported::ask_rtla, line, 1);
        let full = "rtla timerlat hist -p100 -P f:95 -u -c0-1 -E3500 --no-summary";
        assert_eq!(rtla(full), [some("f:95", 100)]);
        assert_eq!(
            rtla("rtla timerlat hist --period=1000 --priority=r:1"),
            [some("r:1", 1_000)]
        );
        assert_eq!(rtla("rtla timerlat hist -P d:1ms:2ms"), [(None, None)]);
        let oslat = |line: &str| asked(Imported::ask_oslat, line, 1);
        for (line, expected) in [
            ("oslat -f 80 -D 1", Some("f:80")),
            ("oslat -D 1 -f80", Some("f:80")),
            ("oslat --rtprio=3", Some("f:3")),
            ("oslat -D 1 -z", None),
        ] {
            assert_eq!(
                oslat(line),
                [(expected.map(ToOwned::to_owned), None)],
                "{line}"
            );
        }
    }
}
