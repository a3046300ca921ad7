// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The values that profiles give, and how they choose among several settings.

use std::fmt;

use punctual_model::{Codec, CpuSet, Nanos};

use super::Want;
use crate::knob::{KNOBS, Knob, KnobKind, Threads, find};

/// A wanted value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Value {
    /// This, in canonical form.
    Plain(String),
    /// These CPUs.
    Cpus(CpuWord),
    /// The least number that the hardware has.
    Least,
    /// The greatest number that the hardware has.
    Greatest,
    /// This number, where a smaller one is set.
    AtLeast(i64),
    /// This number, where a greater one is set.
    AtMost(i64),
    /// On for idle states that take longer to leave, off for the others.
    Above(Nanos),
    /// Hold this bound.
    Hold(Nanos),
    /// Hold nothing.
    Release,
}

/// CPUs, perhaps by what they are for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum CpuWord {
    /// Those for real-time work.
    Rt,
    /// All others.
    Housekeeping,
    /// Those that share a core with one for real-time work, without these themselves.
    Siblings,
    /// All that are online.
    All,
    /// These.
    List(CpuSet),
}

impl CpuWord {
    /// Reads `rt`, `housekeeping`, `siblings`, `all` or a CPU list.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "rt" => Some(Self::Rt),
            "housekeeping" => Some(Self::Housekeeping),
            "siblings" => Some(Self::Siblings),
            "all" => Some(Self::All),
            list => list.parse().ok().map(Self::List),
        }
    }
}

impl fmt::Display for CpuWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rt => f.write_str("rt"),
            Self::Housekeeping => f.write_str("housekeeping"),
            Self::Siblings => f.write_str("siblings"),
            Self::All => f.write_str("all"),
            Self::List(set) => set.fmt(f),
        }
    }
}

/// Which of several settings of a knob.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Selector {
    /// As it was written.
    pub text: String,
    /// The CPUs that it names, if it can be read so.
    pub cpus: Option<CpuWord>,
}

impl Selector {
    /// Whether the name of an instance matches, `*` standing for anything.
    pub fn names(&self, instance: &str) -> bool {
        glob(&self.text, instance)
    }
}

/// A key or value of a profile that cannot be.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// There is no such knob.
    #[error("no such knob{}", .likely.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    UnknownKnob {
        /// A name much like it.
        likely: Option<&'static str>,
    },
    /// The value has another form.
    #[error("this knob does not take `{value}`; expected {expected}")]
    WrongValue {
        /// The value.
        value: String,
        /// What was expected.
        expected: String,
    },
    /// There is nothing behind the `@`.
    #[error("nothing follows the @")]
    EmptySelector,
}

/// Reads a key, `KNOB` or `KNOB@WHICH`, and its value.
pub(crate) fn want(key: &str, text: &str) -> Result<Want, ValueError> {
    let (name, which) = match key.split_once('@') {
        Some((_, "")) => return Err(ValueError::EmptySelector),
        Some((name, which)) => (name, Some(which)),
        None => (key, None),
    };
    let knob = find(name).ok_or_else(|| ValueError::UnknownKnob {
        likely: closest(name),
    })?;
    Ok(Want {
        knob,
        selector: which.map(|text| Selector {
            cpus: CpuWord::parse(text),
            text: text.to_owned(),
        }),
        value: value(knob, text)?,
    })
}

fn value(knob: &Knob, text: &str) -> Result<Value, ValueError> {
    let wrong = |expected: String| ValueError::WrongValue {
        value: text.to_owned(),
        expected,
    };
    if let Some(bound) = bound(knob, text) {
        return bound.map_err(|expected| wrong(expected.to_owned()));
    }
    match (knob.kind, knob.codec()) {
        (KnobKind::Held(_), _) if text == "off" => Ok(Value::Release),
        (KnobKind::Held(_), _) => {
            let latency: Result<Nanos, _> = text.parse();
            latency
                .ok()
                .filter(|ns| ns.get().is_multiple_of(1_000) && !text.is_empty())
                .map(Value::Hold)
                .ok_or_else(|| {
                    wrong("a duration in whole microseconds, such as 0us, or off".into())
                })
        }
        (KnobKind::Partition, _) => match text {
            "isolated" | "root" => Ok(Value::Plain(text.to_owned())),
            _ => Err(wrong("isolated or root".into())),
        },
        (KnobKind::ThreadCpus(Threads::Programs | Threads::Kernel), _)
        | (KnobKind::Files(_), Codec::Mask | Codec::List) => {
            CpuWord::parse(text).map(Value::Cpus).ok_or_else(|| {
                wrong("a CPU list such as 0-3,5, or rt, housekeeping, siblings, all".into())
            })
        }
        (KnobKind::Files(places), Codec::Integer) if places.iter().any(|p| p.bounds.is_some()) => {
            match text {
                "min" => Ok(Value::Least),
                "max" => Ok(Value::Greatest),
                number => plain(knob, number).ok_or_else(|| wrong("kHz, or min or max".into())),
            }
        }
        (KnobKind::Files(places), Codec::Flag) if places.iter().any(|p| p.bounds.is_some()) => {
            let above = text.strip_prefix("above ").map(str::parse::<Nanos>);
            match above {
                Some(Ok(latency)) => Ok(Value::Above(latency)),
                _ => plain(knob, text)
                    .ok_or_else(|| wrong("on, off, or above TIME, such as above 10us".into())),
            }
        }
        (_, codec) => plain(knob, text).ok_or_else(|| wrong(codec.expected().to_owned())),
    }
}

/// Reads `at least N` or `at most N`; none where it is neither.
fn bound(knob: &Knob, text: &str) -> Option<Result<Value, &'static str>> {
    let (number, make): (_, fn(i64) -> Value) = match text.strip_prefix("at least ") {
        Some(number) => (number, Value::AtLeast),
        None => (text.strip_prefix("at most ")?, Value::AtMost),
    };
    // The real-time budget has values that depend on each other, and -1 for no limit.
    let ordered = matches!(knob.kind, KnobKind::Files(_))
        && knob.codec() == Codec::Integer
        && !knob.is_budget();
    Some(match number.trim().parse() {
        Ok(number) if ordered => Ok(make(number)),
        Ok(_) => Err("a plain value: values of this knob have no order"),
        Err(_) => Err("at least or at most, and a whole number, such as at most 10"),
    })
}

fn plain(knob: &Knob, text: &str) -> Option<Value> {
    knob.codec().wanted(text).ok().map(Value::Plain)
}

/// Whether `text` matches `pattern`, in which `*` stands for anything.
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, tail)) => text.strip_prefix(head).is_some_and(|rest| {
            let ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            ends.filter_map(|at| rest.get(at..))
                .any(|rest| glob(tail, rest))
        }),
    }
}

/// Returns the knob whose name is most like `name`, if it is like it at all.
fn closest(name: &str) -> Option<&'static str> {
    let names = KNOBS.iter().copied().flatten().map(|knob| knob.name);
    // Whoever forgot the group wrote the whole rest of the name.
    let tail = |full: &str| full.rsplit_once('.').is_some_and(|(_, tail)| tail == name);
    names.clone().find(|full| tail(full)).or_else(|| {
        names
            .map(|full| (distance(name, full), full))
            .min()
            .filter(|(distance, _)| *distance <= 3)
            .map(|(_, full)| full)
    })
}

/// Counts the letters to insert, remove or replace to get from `a` to `b` (Levenshtein 1966).
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in (1..).zip(a.chars()) {
        let mut next = vec![i];
        for ((to, old), above) in b.iter().zip(&row).zip(row.iter().skip(1)) {
            let replaced = old + usize::from(from != *to);
            let left = next.last().copied().unwrap_or(i);
            next.push(replaced.min(above + 1).min(left + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value_of(key: &str, text: &str) -> Value {
        want(key, text).unwrap().value
    }

    #[test]
    fn values_are_read_as_their_knob_takes_them() {
        assert_eq!(value_of("vm.swappiness", "10"), Value::Plain("10".into()));
        assert_eq!(value_of("cpufreq.turbo", "off"), Value::Plain("0".into()));
        assert_eq!(value_of("cpufreq.min_freq", "max"), Value::Greatest);
        assert_eq!(
            value_of("cpuidle.disable", "above 10us"),
            Value::Above(Nanos::from_micros(10))
        );
        assert_eq!(value_of("vm.swappiness", "at most 10"), Value::AtMost(10));
        assert_eq!(
            value_of("cpufreq.min_freq", "at least 900000"),
            Value::AtLeast(900_000)
        );
        for (key, text) in [
            ("vm.swappiness", "at most much"),
            ("kernel.sched_rt_runtime_us", "at least 950000"),
            ("thp.enabled", "at least 1"),
            ("kernel.watchdog", "at most 0"),
        ] {
            assert!(want(key, text).is_err(), "{key} {text}");
        }
        assert_eq!(value_of("dma_latency", "0us"), Value::Hold(Nanos::ZERO));
        assert_eq!(value_of("dma_latency", "off"), Value::Release);
        assert_eq!(
            value_of("irq.affinity", "housekeeping"),
            Value::Cpus(CpuWord::Housekeeping)
        );
        assert_eq!(
            value_of("irq.thread_policy", "f:90"),
            Value::Plain("f:90".into())
        );
        assert_eq!(
            value_of("cpu.resume_latency_us", "n/a"),
            Value::Plain("n/a".into())
        );
    }

    #[test]
    fn a_selector_names_cpus_or_instances() {
        let selector = want("cpufreq.governor@rt", "performance")
            .unwrap()
            .selector
            .unwrap();
        assert_eq!(selector.cpus, Some(CpuWord::Rt));
        let selector = want("block.scheduler@nvme*", "none")
            .unwrap()
            .selector
            .unwrap();
        assert_eq!(selector.cpus, None);
        assert!(selector.names("nvme0n1") && !selector.names("sda"));
        assert!(matches!(
            want("irq.affinity@", "0"),
            Err(ValueError::EmptySelector)
        ));
    }

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, text, fits) in [
            ("*", "", true),
            ("a*c", "abc", true),
            ("a*c", "ab", false),
            ("*b*", "abc", true),
            ("ab", "abc", false),
            ("ä*", "äö", true),
        ] {
            assert_eq!(glob(pattern, text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn a_name_much_like_a_knob_is_suggested() {
        assert_eq!(closest("vm.swapiness"), Some("vm.swappiness"));
        assert_eq!(closest("swappiness"), Some("vm.swappiness"));
        assert_eq!(closest("colour"), None);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "ab"), 2);
    }
}
