// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What fio says: the part of its JSON output that is used (fio(1), "JSON output").

use std::collections::BTreeMap;

use serde::Deserialize;

use super::workload::Direction;

/// The whole output.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Output {
    #[serde(rename = "fio version")]
    pub(super) version: String,
    jobs: Vec<Job>,
}

/// A group of equal jobs.
#[derive(Clone, Debug, Deserialize)]
struct Job {
    error: i64,
    read: Side,
    write: Side,
}

/// What one direction did.
#[derive(Clone, Debug, Deserialize)]
struct Side {
    bw_bytes: f64,
    iops: f64,
    #[serde(default)]
    io_bytes: u64,
    total_ios: u64,
    #[serde(default)]
    short_ios: u64,
    #[serde(default)]
    drop_ios: u64,
    clat_ns: Latency,
}

#[derive(Clone, Debug, Deserialize)]
struct Latency {
    mean: f64,
    #[serde(default)]
    percentile: BTreeMap<String, f64>,
}

/// One observation of one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seen {
    /// Bytes a second.
    pub(super) rate: f64,
    /// Requests a second.
    pub(super) iops: f64,
    /// Requests that were completed.
    pub(super) requests: u64,
    /// Mean time from the submission of a request to its completion, in ns.
    pub(super) mean_ns: f64,
    /// 99th percentile of that time, in ns.
    pub(super) p99_ns: Option<f64>,
}

/// What fio printed cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadOutput {
    #[error("it printed no result")]
    None,
    #[error("its result cannot be parsed: {0}")]
    NotUnderstood(#[from] serde_json::Error),
    #[error("it met error {0}")]
    Failed(i64),
    #[error("it completed no {0}")]
    NothingDone(&'static str),
    #[error("{count} of its requests were short or were dropped")]
    Incomplete { count: u64 },
}

/// Reads from a report of fio at work how many bytes it has read and written since it began.
pub(crate) fn bytes_done(text: &str) -> Result<u64, BadOutput> {
    let output = Output::parse(text)?;
    let mut bytes = 0_u64;
    for job in &output.jobs {
        if job.error != 0 {
            return Err(BadOutput::Failed(job.error));
        }
        bytes = bytes.saturating_add(job.read.io_bytes.saturating_add(job.write.io_bytes));
    }
    Ok(bytes)
}

impl Output {
    /// Reads what fio printed. Remarks may stand before the result.
    pub(super) fn parse(text: &str) -> Result<Self, BadOutput> {
        let mut lines = text.split_inclusive('\n');
        let mut at = 0;
        let start = lines.find_map(|line| {
            let first = at;
            at += line.len();
            line.starts_with('{').then_some(first)
        });
        let text = start.and_then(|start| text.get(start..));
        let text = text.ok_or(BadOutput::None)?;
        // What follows the result is no part of it.
        let mut values = serde_json::Deserializer::from_slice(text.as_bytes()).into_iter();
        Ok(values.next().ok_or(BadOutput::None)??)
    }

    /// Returns what was seen of `direction`, all jobs together.
    pub(super) fn seen(&self, direction: Direction) -> Result<Seen, BadOutput> {
        let [job] = self.jobs.as_slice() else {
            return Err(BadOutput::None);
        };
        if job.error != 0 {
            return Err(BadOutput::Failed(job.error));
        }
        let side = match direction {
            Direction::Read => &job.read,
            Direction::Write => &job.write,
        };
        if side.total_ios == 0 {
            return Err(BadOutput::NothingDone(direction.name()));
        }
        match side.short_ios.saturating_add(side.drop_ios) {
            0 => {}
            count => return Err(BadOutput::Incomplete { count }),
        }
        Ok(Seen {
            rate: side.bw_bytes,
            iops: side.iops,
            requests: side.total_ios,
            mean_ns: side.clat_ns.mean,
            p99_ns: side.clat_ns.percentile.get("99.000000").copied(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(error: i64, ios: u64, short: u64) -> String {
        format!(
            r#"fio: a remark
{{
  "fio version" : "fio-3.33",
  "jobs" : [ {{
    "jobname" : "punctual", "error" : {error},
    "read" : {{ "bw_bytes" : 0, "iops" : 0.0, "total_ios" : 0, "clat_ns" : {{ "mean" : 0.0 }} }},
    "write" : {{ "bw_bytes" : 590670886, "iops" : 9012.9, "io_bytes" : 7000, "total_ios" : {ios}, "short_ios" : {short},
      "drop_ios" : 0, "clat_ns" : {{ "mean" : 3404838.4, "percentile" : {{ "99.000000" : 15925248 }} }} }}
  }} ]
}}
another remark
"#
        )
    }

    #[test]
    fn the_result_is_found_and_read() {
        let output = Output::parse(&output(0, 9_067, 0)).unwrap();
        assert_eq!(output.version, "fio-3.33");
        let seen = output.seen(Direction::Write).unwrap();
        assert!((seen.rate - 590_670_886.0).abs() < 0.5);
        assert_eq!((seen.requests, seen.p99_ns), (9_067, Some(15_925_248.0)));
        let err = output.seen(Direction::Read).unwrap_err();
        assert_eq!(err.to_string(), "it completed no read");
    }

    #[test]
    fn the_bytes_so_far_are_those_of_all_jobs_and_directions() {
        assert_eq!(bytes_done(&output(0, 3, 0)).unwrap(), 7_000);
        let err = bytes_done(&output(28, 3, 0)).unwrap_err().to_string();
        assert_eq!(err, "it met error 28");
        assert!(bytes_done("{ }").is_err());
    }

    #[test]
    fn what_went_wrong_is_told() {
        let fault = |text: &str| {
            let seen = Output::parse(text).and_then(|output| output.seen(Direction::Write));
            seen.unwrap_err().to_string()
        };
        assert_eq!(fault(&output(5, 10, 0)), "it met error 5");
        assert_eq!(fault(&output(0, 0, 0)), "it completed no write");
        assert_eq!(
            fault(&output(0, 10, 3)),
            "3 of its requests were short or were dropped"
        );
        assert_eq!(fault(""), "it printed no result");
        assert_eq!(fault("no { here\n"), "it printed no result");
        assert!(fault("{\n\"jobs\": []}").starts_with("its result cannot be parsed"));
        assert!(fault("{").starts_with("its result cannot be parsed"));
    }
}
