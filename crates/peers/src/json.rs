// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the JSON of rt-tests and of jitterdebugger has in common.

use std::fmt;
use std::io::{BufRead, Read as _};

use punctual_model::HostFacts;
use serde::Deserialize;
use serde::de::{DeserializeOwned, MapAccess, Visitor};

use crate::error::{ImportError, Place};
use crate::series::{Buckets, MOST_BUCKETS};

/// The largest file: as many buckets as a run can have, as rt-tests indents them. Real ones have some
/// KB.
const LARGEST: u64 = 64 << 20;

/// The longest command line.
const LONGEST_COMMAND: usize = 64 << 10;

/// Reads the whole file.
pub(crate) fn bytes(input: impl BufRead) -> Result<Vec<u8>, ImportError> {
    let mut bytes = Vec::new();
    input.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(ImportError::file(
            "the file is larger than any of this format",
        ));
    }
    Ok(bytes)
}

/// Reads a file of rt-tests, some versions of which write a command line that is no JSON.
pub(crate) fn of_rt_tests<T: DeserializeOwned>(input: impl BufRead) -> Result<T, ImportError> {
    let bytes = bytes(input)?;
    parse(&bytes).or_else(|err| match with_escaped_command(&bytes) {
        Some(escaped) => parse(&escaped).map_err(|_| err),
        None => Err(err),
    })
}

/// Reads one object.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ImportError> {
    serde_json::from_slice(bytes).map_err(|err| {
        let reason = err.to_string();
        // The place is said by ours.
        let reason = reason
            .rsplit_once(" at line ")
            .map_or(reason.as_str(), |(reason, _)| reason);
        let error = ImportError::content(Place::Line(err.line() as u64), reason);
        match (err.is_eof(), reason == "trailing characters") {
            (true, _) => error.hinted("the file is truncated: import the whole file"),
            (false, true) => {
                error.hinted("split a file of two runs before this line, and import both parts")
            }
            (false, false) => error,
        }
    })
}

/// Fails where the histograms of all threads have more buckets than can be kept.
pub(crate) fn bounded(buckets: impl Iterator<Item = usize>) -> Result<(), ImportError> {
    if buckets.sum::<usize>() > MOST_BUCKETS {
        return Err(ImportError::file(format!(
            "more than {MOST_BUCKETS} buckets"
        )));
    }
    Ok(())
}

/// Key and value pairs in their order, each key once.
#[derive(Debug, Default)]
pub(crate) struct Pairs<T>(pub(crate) Vec<(u64, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Numbered<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Numbered<T> {
            type Value = Pairs<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with ascending numbers as keys")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs: Vec<(u64, T)> = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, T>()? {
                    let number = key
                        .parse()
                        .ok()
                        .filter(|_| key.bytes().all(|b| b.is_ascii_digit()));
                    let last = pairs.last().map(|(last, _)| *last);
                    match number {
                        Some(_) if pairs.len() == MOST_BUCKETS => {
                            let reason = format!("more than {MOST_BUCKETS} entries");
                            return Err(serde::de::Error::custom(reason));
                        }
                        Some(number) if last.is_none_or(|last| number > last) => {
                            pairs.push((number, value));
                        }
                        _ => {
                            let reason =
                                format!("key `{key}` is not a number above the previous one");
                            return Err(serde::de::Error::custom(reason));
                        }
                    }
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Numbered(std::marker::PhantomData))
    }
}

impl Pairs<u64> {
    /// Returns the counts by value as buckets, `ns` being the time of a value.
    pub(crate) fn buckets(
        &self,
        unit_ns: u64,
        ns: impl Fn(u64) -> Result<u64, ImportError>,
    ) -> Result<Buckets, ImportError> {
        let counted = self.0.iter().filter(|(_, count)| *count > 0);
        Buckets::of(counted, unit_ns, ns)
    }
}

/// The machine, as `uname` says.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct SysInfo {
    nodename: Option<String>,
    release: Option<String>,
    version: Option<String>,
    machine: Option<String>,
    realtime: Option<u64>,
    /// jitterdebugger has it here.
    pub(crate) resolution_in_ns: Option<u64>,
    /// What made the file, where `runs export` wrote one of jitterdebugger.
    pub(crate) cmdline: Option<String>,
}

impl SysInfo {
    pub(crate) fn host(self) -> HostFacts {
        HostFacts {
            hostname: self.nodename,
            kernel_release: self.release,
            kernel_version: self.version,
            architecture: self.machine,
            preempt_rt: self.realtime.map(|flag| flag != 0),
            ..HostFacts::default()
        }
    }
}

/// Reads `Fri, 20 Nov 2026 09:56:08 +0000`.
pub(crate) fn time(text: Option<&str>) -> Option<String> {
    let zoned = jiff::fmt::rfc2822::parse(text?).ok()?;
    Some(zoned.timestamp().to_string())
}

/// Turns a stated decimal into ns.
pub(crate) fn decimal(value: Option<f64>, unit_ns: u64) -> Option<f64> {
    let ns = value? * punctual_stats::float(unit_ns);
    (ns.is_finite() && ns >= 0.0).then_some(ns)
}

/// Escapes the command line, which rt-tests writes as it is.
fn with_escaped_command(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let start = text.find("\"cmdline:\": \"")? + "\"cmdline:\": \"".len();
    let after = text.get(start..)?;
    let end = after.find("\",\n").filter(|end| *end <= LONGEST_COMMAND)?;
    let escaped = serde_json::to_string(after.get(..end)?).ok()?;
    let inner = escaped.strip_prefix('"')?.strip_suffix('"')?;
    let whole = [text.get(..start)?, inner, after.get(end..)?].concat();
    Some(whole.into_bytes())
}
