// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! JUnit's XML, as CI systems read it: a suite a kernel and model, a case a load and figure.
//!
//! A figure that is worse is a failure, one that supports no claim an error. There are no times of
//! the host in it: the same result gives the same bytes.

use std::io::{self, Write};

use punctual_model::{BandVerdict, LatencyCell, LatencyTest};

/// Writes `test` as JUnit's XML.
///
/// # Errors
///
/// Fails as `out` does.
pub fn junit(test: &LatencyTest, out: &mut dyn Write) -> io::Result<()> {
    let cases: Vec<Case> = test
        .cells
        .iter()
        .flat_map(|cell| cases(test, cell))
        .collect();
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(
        out,
        "<testsuites name=\"punctual kernel latency-test\" {}>",
        counts(&cases)
    )?;
    let mut rest = cases.as_slice();
    while let Some(first) = rest.first() {
        let length = rest.iter().take_while(|case| case.suite == first.suite);
        let (suite, after) = rest.split_at(length.count());
        rest = after;
        writeln!(
            out,
            "  <testsuite name=\"{}\" {}>",
            escaped(&first.suite),
            counts(suite)
        )?;
        for case in suite {
            case.write(out)?;
        }
        writeln!(out, "  </testsuite>")?;
    }
    writeln!(out, "</testsuites>")
}

struct Case {
    suite: String,
    name: String,
    verdict: BandVerdict,
    detail: String,
}

impl Case {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let (suite, name) = (escaped(&self.suite), escaped(&self.name));
        let detail = escaped(&self.detail);
        write!(out, "    <testcase classname=\"{suite}\" name=\"{name}\">")?;
        match self.verdict {
            BandVerdict::Worse => write!(out, "<failure message=\"{detail}\"/>")?,
            BandVerdict::Invalid => write!(out, "<error message=\"{detail}\"/>")?,
            BandVerdict::Better | BandVerdict::NoDifference => {
                write!(out, "<system-out>{detail}</system-out>")?;
            }
        }
        writeln!(out, "</testcase>")
    }
}

fn cases(test: &LatencyTest, cell: &LatencyCell) -> Vec<Case> {
    let suite = format!("{} {}", cell.kernel, cell.model);
    let of_cell = test
        .comparisons
        .iter()
        .filter(|of| of.kernel == cell.kernel && of.model == cell.model && of.load == cell.load);
    let mut cases: Vec<Case> = of_cell
        .map(|of| Case {
            suite: suite.clone(),
            name: format!("{} {}", cell.load, of.figure),
            verdict: of.verdict,
            detail: format!(
                "{} than {} {} in virtual time (instruction counts)",
                of.verdict, of.baseline, of.baseline_model
            )
            .replace("no difference than", "no difference to")
            .replace("invalid than", "no claim against"),
        })
        .collect();
    if cases.is_empty() {
        let valid = cell.faults.is_empty();
        cases.push(Case {
            suite,
            name: cell.load.clone(),
            verdict: match valid {
                true => BandVerdict::NoDifference,
                false => BandVerdict::Invalid,
            },
            detail: match valid {
                true => "measured in virtual time (instruction counts)".to_owned(),
                false => cell.faults.join("; "),
            },
        });
    }
    cases
}

fn counts(cases: &[Case]) -> String {
    let of = |verdict| cases.iter().filter(|case| case.verdict == verdict).count();
    format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\"",
        cases.len(),
        of(BandVerdict::Worse),
        of(BandVerdict::Invalid)
    )
}

/// Makes text fit for XML; what XML has no way to say is replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::{BandComparison, LATENCY_TEST_FORMAT, Nanos};

    fn test(verdict: BandVerdict) -> LatencyTest {
        let comparison = |figure: &str, verdict| BandComparison {
            kernel: "a<b".to_owned(),
            model: "none".to_owned(),
            load: "fork".to_owned(),
            figure: figure.to_owned(),
            baseline: "base".to_owned(),
            baseline_model: "none".to_owned(),
            verdict,
        };
        LatencyTest {
            format: LATENCY_TEST_FORMAT.to_owned(),
            time: "virtual-time".to_owned(),
            instruction_ns: Nanos::new(8),
            program: String::new(),
            qemu: String::new(),
            agent: None,
            seeds: 5,
            samples: 10,
            interval_ns: Nanos::from_millis(1),
            tolerance: 0.0,
            chance: 0.01,
            valid: true,
            cells: vec![LatencyCell {
                kernel: "a<b".to_owned(),
                image: "/boot/a".to_owned(),
                append: Vec::new(),
                config: Vec::new(),
                model: "none".to_owned(),
                load: "fork".to_owned(),
                faults: Vec::new(),
                runs: Vec::new(),
                mean_ns: None,
                max_ns: None,
            }],
            comparisons: vec![
                comparison("mean_ns", verdict),
                comparison("max_ns", BandVerdict::Better),
            ],
        }
    }

    fn written(test: &LatencyTest) -> String {
        let mut out = Vec::new();
        junit(test, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn worse_is_a_failure_and_no_claim_an_error() {
        let text = written(&test(BandVerdict::Worse));
        assert!(
            text.contains("tests=\"2\" failures=\"1\" errors=\"0\""),
            "{text}"
        );
        assert!(
            text.contains("<failure message=\"worse than base none"),
            "{text}"
        );
        assert!(
            text.contains("a&lt;b none") && !text.contains("a<b"),
            "{text}"
        );
        let text = written(&test(BandVerdict::Invalid));
        assert!(text.contains("failures=\"0\" errors=\"1\""), "{text}");
        assert!(
            text.contains("<error message=\"no claim against base"),
            "{text}"
        );
    }

    #[test]
    fn without_a_baseline_a_cell_is_one_case() {
        let mut alone = test(BandVerdict::Better);
        alone.comparisons.clear();
        alone.cells[0].faults.push("seed 1: \u{1b}panic".to_owned());
        let text = written(&alone);
        assert!(
            text.contains("tests=\"1\" failures=\"0\" errors=\"1\""),
            "{text}"
        );
        assert!(text.contains("seed 1: \u{fffd}panic"), "{text}");
    }
}
