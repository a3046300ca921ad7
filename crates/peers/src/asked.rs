// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the command line in a file says of its threads: policy, priority and interval, as they were
//! asked for. The words of the line are divided by blanks, as the tools join them.

use punctual_model::Nanos;

use crate::command::{self, Class, Options};
use crate::imported::{Imported, LONGEST_TEXT};
use crate::series::SourceSeries;

/// What is said of figures that have it from here.
const STATED: &str =
    "policy and interval are taken from the command line: requested, not read back";

/// Returns the options of a command line of cyclictest, if it makes this number of threads.
pub(crate) fn cyclictest(line: Option<&str>, threads: u32) -> Option<Options> {
    let words = words(line?, "cyclictest");
    let words: Vec<String> = words.into_iter().map(ToOwned::to_owned).collect();
    // A quoted word, such as ours has for one with a blank, is not put together again.
    if words.is_empty() || words.iter().any(|word| word.starts_with(['\'', '"'])) {
        return None;
    }
    let options = command::parse(&words, |_| threads).ok();
    options.filter(|options| options.threads == threads)
}

/// Whether a command line of cyclictest asks for ns; `None` where it is not understood.
pub(crate) fn nsecs(line: Option<&str>) -> Option<bool> {
    let words = words(line?, "cyclictest");
    let words: Vec<String> = words.into_iter().map(ToOwned::to_owned).collect();
    Some(command::parse(&words, |_| 1).ok()?.nsecs)
}

/// Returns the words behind the name of `program`; none where the line is another's.
fn words<'a>(line: &'a str, program: &str) -> Vec<&'a str> {
    let mut words = line.split_ascii_whitespace();
    let name = words.next().and_then(|word| word.rsplit('/').next());
    match name == Some(program) {
        true => words.collect(),
        false => Vec::new(),
    }
}

/// Finds the command line of `program` in what a terminal showed: behind a prompt of any shape,
/// `sudo`, `taskset -c 1` and the like, up to what is the shell's again.
pub(crate) fn shown(line: &str, program: &str) -> Option<String> {
    if line.len() > LONGEST_TEXT {
        return None;
    }
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let is_name = |word: &&str| word.rsplit('/').next() == Some(program);
    let at = words.iter().rposition(is_name)?;
    // A remark that has the name in it is none.
    let before = words.get(..at)?;
    let root = |word: &&str| ["#", "sudo"].contains(word);
    if words.first()?.starts_with('#') && !before.iter().all(root) {
        return None;
    }
    let shell = |word: &str| {
        let plain = word.trim_start_matches(|c: char| c.is_ascii_digit());
        plain.starts_with(['|', '>', '<', '&', ';'])
    };
    let mut own = Vec::new();
    for word in words.get(at..)? {
        let ends = word.ends_with(';');
        if shell(word) {
            break;
        }
        own.push(word.trim_end_matches(';'));
        if ends {
            break;
        }
    }
    let any = own.iter().skip(1).any(|word| word.starts_with('-'));
    (any || own.len() == 1).then(|| own.join(" "))
}

impl Imported {
    /// Gives each thread the policy and the interval that cyclictest was asked for, where the file
    /// does not state them and the line has as many threads.
    pub(crate) fn ask_cyclictest(&mut self) {
        let threads = u32::try_from(self.series.len()).unwrap_or(u32::MAX);
        let Some(options) = cyclictest(self.command_line.as_deref(), threads) else {
            return;
        };
        let mut taken = false;
        for series in &mut self.series {
            let steps = u64::from(series.thread);
            let priority = match options.priospread {
                true => u64::from(options.priority).saturating_sub(steps),
                false => options.priority.into(),
            };
            // Below the lowest, versions differ in what they run.
            let policy = match options.class {
                Class::Fifo if priority > 0 => Some(format!("f:{priority}")),
                Class::RoundRobin if priority > 0 => Some(format!("r:{priority}")),
                _ => None,
            };
            let longer = options.distance_us.checked_mul(steps);
            let us = longer.and_then(|longer| longer.checked_add(options.interval_us));
            let interval = us.and_then(|us| us.checked_mul(1_000)).map(Nanos::new);
            taken |= series.policy.is_none() && policy.is_some();
            taken |= series.interval.is_none() && interval.is_some();
            series.policy = series.policy.take().or(policy);
            series.interval = series.interval.or(interval);
        }
        if taken {
            self.state(STATED);
        }
    }

    /// Gives each thread what rtla, as rteval starts it, was asked for: `-p100 -P f:95`.
    pub(crate) fn ask_rtla(&mut self) {
        let line = self.command_line.clone();
        let words = words(line.as_deref().unwrap_or_default(), "rtla");
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
        let line = self.command_line.clone();
        let words = words(line.as_deref().unwrap_or_default(), "oslat");
        let value = words.iter().enumerate().find_map(|(at, word)| match *word {
            "-f" | "--rtprio" => words.get(at + 1).copied(),
            _ => word
                .strip_prefix("--rtprio=")
                .or_else(|| word.strip_prefix("-f")),
        });
        if let Some(text) = value {
            self.ask_oslat_priority(text);
        }
    }

    /// Gives each thread the priority that oslat says was asked for: `80`, `SCHED_FIFO:80`.
    pub(crate) fn ask_oslat_priority(&mut self, text: &str) {
        let text = text.strip_prefix("SCHED_FIFO:").unwrap_or(text);
        let priority = text.parse::<u8>().ok().filter(|p| (1..=99).contains(p));
        let Some(priority) = priority else { return };
        let known = self.series.iter().all(|s| s.policy.is_some());
        for series in &mut self.series {
            series.policy = Some(format!("f:{priority}"));
        }
        if !known {
            self.state_asked();
        }
    }

    fn state_asked(&mut self) {
        let any = |s: &SourceSeries| s.policy.is_some() || s.interval.is_some();
        if self.series.iter().any(any) {
            self.state(STATED);
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
    fn a_command_line_is_found_behind_a_prompt_of_any_shape() {
        let found = |line| shown(line, "cyclictest");
        let own = Some("cyclictest -q -p80".to_owned());
        for line in [
            "cyclictest -q -p80",
            "$ cyclictest -q -p80",
            "# cyclictest -q -p80",
            "#cyclictest -q -p80",
            "user@host ~ $ sudo cyclictest -q -p80",
            "[root@host ~]# cyclictest -q -p80 | tee out.txt",
            "root@rpi:/home/pi# cyclictest -q -p80 2>&1 >log",
            "└─$ sudo cyclictest -q -p80; date",
            "~/rt-tests (main) ❯ sudo taskset -c 1 cyclictest -q -p80 &",
        ] {
            let expected = own.clone().filter(|_| !line.starts_with("#c"));
            assert_eq!(found(line), expected, "{line}");
        }
        assert_eq!(
            found("me% ./rt-tests/cyclictest -q").as_deref(),
            Some("./rt-tests/cyclictest -q")
        );
        for none in [
            "bash: cyclictest: command not found",
            "# results of cyclictest -p80",
            "# cyclictest results",
            "T: 0 (1) P:80",
            "",
        ] {
            assert_eq!(found(none), None, "{none}");
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
