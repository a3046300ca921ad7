// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! JUnit's XML, as CI systems read it: a suite for what belongs together, a case for each thing that was judged.
//!
//! There are no times of the host in it: the same result gives the same bytes.

use std::borrow::Cow;
use std::io::{self, Write};

use punctual_model::LatencyTest;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use crate::escape::plain;

use super::cases::{Case, Outcome, of_latency_test};

/// Writes the cases of `test` as JUnit's XML.
///
/// # Errors
///
/// Fails as `out` does.
pub fn junit_of_latency_test(test: &LatencyTest, out: &mut dyn Write) -> io::Result<()> {
    junit("punctual kernel latency-test", &of_latency_test(test), out)
}

/// Writes cases as JUnit's XML.
///
/// # Errors
///
/// Fails as `out` does.
pub fn junit(name: &str, cases: &[Case], out: &mut dyn Write) -> io::Result<()> {
    let mut xml = Writer::new_with_indent(&mut *out, b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    xml.create_element("testsuites")
        .with_attribute(("name", name))
        .with_attributes(counts(cases))
        .write_inner_content(|xml| {
            let mut suites = cases.chunk_by(|a, b| a.suite == b.suite);
            suites.try_for_each(|suite| write_suite(suite, xml))
        })?;
    writeln!(out)
}

fn write_suite<W: Write>(suite: &[Case], xml: &mut Writer<W>) -> io::Result<()> {
    let name = suite
        .first()
        .map_or_else(String::new, |case| sayable(&case.suite));
    xml.create_element("testsuite")
        .with_attribute(("name", &*name))
        .with_attributes(counts(suite))
        .write_inner_content(|xml| suite.iter().try_for_each(|case| write_case(case, xml)))?;
    Ok(())
}

fn write_case<W: Write>(case: &Case, xml: &mut Writer<W>) -> io::Result<()> {
    let [suite, name, detail] = [&case.suite, &case.name, &case.detail].map(|s| sayable(s));
    xml.create_element("testcase")
        .with_attribute(("classname", &*suite))
        .with_attribute(("name", &*name))
        .write_inner_content(|xml| {
            let detail = &*detail;
            let with_message = |xml: &mut Writer<W>, kind| {
                xml.create_element(kind)
                    .with_attribute(("message", detail))
                    .write_empty()
                    .map(drop)
            };
            match case.outcome {
                Outcome::Failed => with_message(xml, "failure"),
                Outcome::Error => with_message(xml, "error"),
                Outcome::Skipped => with_message(xml, "skipped"),
                Outcome::Passed => xml
                    .create_element("system-out")
                    .write_text_content(BytesText::new(detail))
                    .map(drop),
            }
        })?;
    Ok(())
}

fn counts(cases: &[Case]) -> Vec<(&'static str, Cow<'static, str>)> {
    let of = |outcome| cases.iter().filter(|case| case.outcome == outcome).count();
    let mut counts: Vec<(&'static str, Cow<'static, str>)> = vec![
        ("tests", cases.len().to_string().into()),
        ("failures", of(Outcome::Failed).to_string().into()),
        ("errors", of(Outcome::Error).to_string().into()),
    ];
    let skipped = of(Outcome::Skipped);
    if skipped > 0 {
        counts.push(("skipped", skipped.to_string().into()));
    }
    counts
}

/// Replaces what XML has no way to say, and what would rearrange the line.
fn sayable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { plain(c) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::{BandComparison, BandVerdict, LATENCY_TEST_FORMAT, LatencyCell, Nanos};

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
        junit_of_latency_test(test, &mut out).unwrap();
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
    fn with_too_few_seeds_no_comparison_passes_or_fails() {
        let few = LatencyTest {
            seeds: 2,
            chance: 1.0 / 3.0,
            ..test(BandVerdict::Worse)
        };
        let text = written(&few);
        assert!(text.contains("failures=\"0\" errors=\"2\""), "{text}");
        assert!(text.contains("too few seeds to tell"), "{text}");
    }

    #[test]
    fn without_a_baseline_a_cell_is_one_case() {
        let mut alone = test(BandVerdict::Better);
        alone.comparisons.clear();
        let fault = "seed 1: \u{1b}panic\u{fffe}\u{ffff}\u{202e}";
        alone.cells[0].faults.push(fault.to_owned());
        let text = written(&alone);
        assert!(
            text.contains("tests=\"1\" failures=\"0\" errors=\"1\""),
            "{text}"
        );
        let sayable = "seed 1: \u{fffd}panic\u{fffd}\u{fffd}\u{fffd}\"";
        assert!(text.contains(sayable), "{text}");
    }
}
