// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the load process says, and how it is written: a line each.

use std::fmt;
use std::io;
use std::str::FromStr;

use punctual_model::choices;

/// A message of the load process.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Report {
    /// A load prepares something that takes long, and comes along: `preparing WHAT`.
    Preparing {
        /// The load, and what it does.
        what: String,
    },
    /// Every thread of every load has worked: `ready`.
    Ready,
    /// How far a load has come: `work PLACE DONE ROUNDS`.
    Work {
        /// Place of the load among those asked for, from 0.
        place: usize,
        /// What its threads have done together since they began.
        done: u64,
        /// How often every one of them has worked since the last such round.
        rounds: u64,
    },
    /// From now on the work of a load is counted anew, in this unit: `unit PLACE UNIT`.
    Unit {
        /// Place of the load.
        place: usize,
        /// What its work is counted in.
        unit: String,
    },
    /// A load has ended by itself: `died PLACE REASON`.
    Died {
        /// Place of the load.
        place: usize,
        /// What became of it.
        reason: String,
    },
    /// The loads cannot start: `failed REASON`, `unsupported REASON` or `usage REASON`.
    Refused {
        /// Whose fault it is.
        fault: Fault,
        /// What stands in the way.
        reason: String,
    },
}

/// Whose fault it is that the loads cannot start.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fault {
    /// Nobody's.
    Failed,
    /// A tool, a privilege or a part of the kernel is missing.
    Unsupported,
    /// The load was asked for wrongly.
    Usage,
}

choices!(Fault { Failed => "failed", Unsupported => "unsupported", Usage => "usage" });

impl Report {
    /// Makes the report of an error that [`super::run`] has returned.
    pub fn refused(err: &io::Error) -> Self {
        let fault = match err.kind() {
            io::ErrorKind::Unsupported => Fault::Unsupported,
            io::ErrorKind::InvalidInput => Fault::Usage,
            _ => Fault::Failed,
        };
        Self::Refused {
            fault,
            reason: one_line(&err.to_string()),
        }
    }
}

/// Turns a refusal back into the error that it was.
pub(super) fn refusal(fault: Fault, reason: String) -> io::Error {
    let kind = match fault {
        Fault::Failed => io::ErrorKind::Other,
        Fault::Unsupported => io::ErrorKind::Unsupported,
        Fault::Usage => io::ErrorKind::InvalidInput,
    };
    io::Error::new(kind, reason)
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Preparing { what } => write!(f, "preparing {}", one_line(what)),
            Self::Ready => f.write_str("ready"),
            Self::Work {
                place,
                done,
                rounds,
            } => write!(f, "work {place} {done} {rounds}"),
            Self::Unit { place, unit } => write!(f, "unit {place} {}", one_line(unit)),
            Self::Died { place, reason } => write!(f, "died {place} {}", one_line(reason)),
            Self::Refused { fault, reason } => write!(f, "{fault} {}", one_line(reason)),
        }
    }
}

impl FromStr for Report {
    type Err = NotAReport;

    fn from_str(line: &str) -> Result<Self, Self::Err> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        if let Ok(fault) = word.parse() {
            let reason = rest.to_owned();
            return Ok(Self::Refused { fault, reason });
        }
        let report = match word {
            "preparing" if !rest.is_empty() => Some(Self::Preparing {
                what: rest.to_owned(),
            }),
            "ready" if rest.is_empty() => Some(Self::Ready),
            "work" => work(rest),
            "unit" => placed(rest).map(|(place, unit)| Self::Unit { place, unit }),
            "died" => placed(rest).map(|(place, reason)| Self::Died { place, reason }),
            _ => None,
        };
        report.ok_or(NotAReport)
    }
}

fn work(rest: &str) -> Option<Report> {
    let mut words = rest.split(' ');
    let report = Report::Work {
        place: words.next()?.parse().ok()?,
        done: words.next()?.parse().ok()?,
        rounds: words.next()?.parse().ok()?,
    };
    words.next().is_none().then_some(report)
}

fn placed(rest: &str) -> Option<(usize, String)> {
    let (place, text) = rest.split_once(' ')?;
    Some((place.parse().ok()?, text.to_owned()))
}

/// A line is no report.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("not a report of a load process")]
pub struct NotAReport;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_round_trip() {
        for line in [
            "preparing io@size=10G: writing its file",
            "ready",
            "work 0 123456789012 7",
            "unit 3 frames of video",
            "died 2 cmd:false: ended with exit status 1",
            "failed for want of memory",
            "unsupported fio is not installed",
            "usage CPU 9 is not there",
        ] {
            assert_eq!(line.parse::<Report>().unwrap().to_string(), line);
        }
    }

    #[test]
    fn other_lines_are_no_reports() {
        for line in [
            "",
            "preparing",
            "ready 1",
            "work 0 1",
            "work 0 1 2 3",
            "work a 1 2",
            "died",
            "died x y",
        ] {
            assert_eq!(line.parse::<Report>(), Err(NotAReport), "{line}");
        }
    }

    #[test]
    fn a_reason_of_several_lines_stays_one_report() {
        let err = io::Error::new(io::ErrorKind::Unsupported, "no fio\nwork 0 9 9");
        let line = Report::refused(&err).to_string();
        assert_eq!(line, "unsupported no fio work 0 9 9");
        let Ok(Report::Refused { fault, reason }) = line.parse() else {
            panic!("{line}");
        };
        assert_eq!(refusal(fault, reason).kind(), io::ErrorKind::Unsupported);
    }
}
