// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Command lines as `getopt_long(3)` takes them apart: clustered short options, values glued or
//! apart, long names abbreviated, options and other arguments in any order.

/// Whether an option has a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Value {
    /// None.
    No,
    /// Always.
    Needed,
    /// Only glued: `-a0-1`, `--affinity=0-1`.
    Glued,
}

/// An option that is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<K> {
    pub(super) key: K,
    pub(super) short: Option<char>,
    pub(super) long: &'static str,
    pub(super) value: Value,
}

/// An option that was given.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Given<K> {
    pub(super) key: K,
    pub(super) value: Option<String>,
    /// The argument behind it, for options whose value may be there although it is optional.
    pub(super) next: Option<String>,
}

/// Why a command line could not be taken apart; the text is that of `getopt_long(3)`.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Misused(String);

/// What the scan of one argument needs of the line.
struct Scan<'a, K> {
    known: &'a [Known<K>],
    args: &'a [String],
    at: usize,
    given: Vec<Given<K>>,
}

/// Takes `args` apart, up to a fault. Anything that is not an option is skipped, as cyclictest does.
pub(super) fn scan<K: Copy + PartialEq>(
    known: &[Known<K>],
    args: &[String],
) -> (Vec<Given<K>>, Result<(), Misused>) {
    let mut scan = Scan {
        known,
        args,
        at: 0,
        given: Vec::new(),
    };
    let whole = scan.all();
    (scan.given, whole)
}

impl<K: Copy + PartialEq> Scan<'_, K> {
    fn all(&mut self) -> Result<(), Misused> {
        while let Some(arg) = self.args.get(self.at) {
            self.at += 1;
            if arg == "--" {
                break;
            }
            if let Some(long) = arg.strip_prefix("--") {
                self.long(long)?;
            } else if let Some(cluster) = arg.strip_prefix('-').filter(|rest| !rest.is_empty()) {
                self.cluster(cluster)?;
            }
        }
        Ok(())
    }

    fn long(&mut self, text: &str) -> Result<(), Misused> {
        let (name, glued) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        let found = self.find(name, text)?;
        let value = match (found.value, glued) {
            (Value::No, Some(_)) => {
                return Err(Misused(format!(
                    "option '--{}' doesn't allow an argument",
                    found.long
                )));
            }
            (Value::Needed, None) => Some(self.take().ok_or_else(|| {
                Misused(format!("option '--{}' requires an argument", found.long))
            })?),
            (_, glued) => glued,
        };
        self.add(found.key, value);
        Ok(())
    }

    fn find(&self, name: &str, text: &str) -> Result<Known<K>, Misused> {
        if let Some(exact) = self.known.iter().find(|k| k.long == name) {
            return Ok(*exact);
        }
        let begun: Vec<&Known<K>> = self
            .known
            .iter()
            .filter(|k| !k.long.is_empty() && k.long.starts_with(name))
            .collect();
        match begun.as_slice() {
            [] => Err(Misused(format!("unrecognized option '--{text}'"))),
            // Names of one option are no ambiguity.
            [first, rest @ ..] if rest.iter().all(|k| k.key == first.key) => Ok(**first),
            several => {
                let names: Vec<String> =
                    several.iter().map(|k| format!("'--{}'", k.long)).collect();
                Err(Misused(format!(
                    "option '--{text}' is ambiguous; possibilities: {}",
                    names.join(" ")
                )))
            }
        }
    }

    fn cluster(&mut self, cluster: &str) -> Result<(), Misused> {
        for (at, letter) in cluster.char_indices() {
            let found = self.known.iter().find(|k| k.short == Some(letter));
            let found = *found.ok_or_else(|| Misused(format!("invalid option -- '{letter}'")))?;
            let rest = &cluster[at + letter.len_utf8()..];
            if found.value == Value::No {
                self.add(found.key, None);
                continue;
            }
            let value = match (rest, found.value) {
                ("", Value::Needed) => Some(self.take().ok_or_else(|| {
                    Misused(format!("option requires an argument -- '{letter}'"))
                })?),
                ("", _) => None,
                (rest, _) => Some(rest.to_owned()),
            };
            self.add(found.key, value);
            break;
        }
        Ok(())
    }

    fn take(&mut self) -> Option<String> {
        let value = self.args.get(self.at)?.clone();
        self.at += 1;
        Some(value)
    }

    fn add(&mut self, key: K, value: Option<String>) {
        self.given.push(Given {
            key,
            value,
            next: self.args.get(self.at).cloned(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[Known<char>] = &[
        known('s', "system", Value::No),
        known('m', "mlockall", Value::No),
        known('p', "priority", Value::Needed),
        known('P', "priospread", Value::No),
        known('a', "affinity", Value::Glued),
    ];

    const fn known(key: char, long: &'static str, value: Value) -> Known<char> {
        Known {
            key,
            short: Some(key),
            long,
            value,
        }
    }

    fn scanned(line: &[&str]) -> Result<String, String> {
        let args: Vec<String> = line.iter().map(ToString::to_string).collect();
        let (given, whole) = scan(KNOWN, &args);
        whole.map_err(|err| err.to_string())?;
        let say = |g: &Given<char>| format!("{}{}", g.key, g.value.clone().unwrap_or_default());
        Ok(given.iter().map(say).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn lines_are_taken_apart_as_getopt_long_does() {
        for (line, expected) in [
            (&["-smp", "-p", "80"][..], "s m p-p"),
            (&["-sp80", "-m"], "s p80 m"),
            (&["-a0-1", "-a", "0-1"], "a0-1 a"),
            (&["--prior=80", "--aff", "-p", " 95"], "p80 a p 95"),
            (&["", "x", "-", "-m", "--", "-s"], "m"),
            (&["--priority", "-5"], "p-5"),
        ] {
            assert_eq!(scanned(line).unwrap(), expected, "{line:?}");
        }
    }

    #[test]
    fn faults_are_said_as_getopt_long_says_them() {
        for (line, expected) in [
            (&["--bogus"][..], "unrecognized option '--bogus'"),
            (&["-z"], "invalid option -- 'z'"),
            (&["-é"], "invalid option -- 'é'"),
            (&["-mp"], "option requires an argument -- 'p'"),
            (&["--priority"], "option '--priority' requires an argument"),
            (
                &["--system=1"],
                "option '--system' doesn't allow an argument",
            ),
            (
                &["--prio"],
                "option '--prio' is ambiguous; possibilities: '--priority' '--priospread'",
            ),
        ] {
            assert_eq!(scanned(line).unwrap_err(), expected, "{line:?}");
        }
    }
}
