// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A run that goes on, as a page of metrics: OpenMetrics 1.0, which Prometheus reads.
//!
//! Latencies are a histogram in seconds. Its bounds are where the steps of the progress end, two of
//! four to each power of two, from a half to a billion microseconds: fixed, so that a scraper can
//! subtract one page from the next; and each sample is counted exactly, below the bound or above it.

use std::fmt::{Display, Write as _};

use punctual_model::{Ended, Nanos, Progress, SeriesProgress};

/// The media type of the page.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Powers of two, in ns, between which the bounds are.
const OCTAVES: std::ops::Range<u32> = 9..30;

/// A run at one moment.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    /// Identity of the run.
    pub id: String,
    /// Name of the instrument.
    pub instrument: String,
    /// Name of the run.
    pub name: Option<String>,
    /// What it said last.
    pub progress: Option<Progress>,
    /// Why it ended, if it has.
    pub ended: Option<(Ended, Nanos)>,
    /// How far the work is that the run is part of: runs that are done, and runs in all.
    pub overall: Option<(u64, u64)>,
}

/// Writes the page.
pub fn page(moment: &Moment) -> String {
    let mut page = Page::default();
    page.family("punctual_run", "info", None, "The run that goes on.");
    let mut labels = vec![
        ("id", moment.id.clone()),
        ("instrument", moment.instrument.clone()),
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    labels.extend(moment.name.clone().map(|name| ("name", name)));
    page.sample("punctual_run_info", &labels, 1);
    page.family(
        "punctual_run_going_on",
        "gauge",
        None,
        "1 while it measures, 0 before and after.",
    );
    let going_on = moment.progress.is_some() && moment.ended.is_none();
    page.sample("punctual_run_going_on", &[], u8::from(going_on));
    if let Some((done, all)) = moment.overall {
        let name = "punctual_runs_done";
        page.family(name, "gauge", None, "Runs that are done.");
        page.sample(name, &[], done);
        let name = "punctual_runs_planned";
        page.family(name, "gauge", None, "Runs in all, as far as known.");
        page.sample(name, &[], all);
    }
    if let Some(progress) = &moment.progress {
        run(&mut page, progress);
        threads(&mut page, &progress.series);
        loads(&mut page, progress);
        checks(&mut page, progress);
    }
    page.0 + "# EOF\n"
}

#[derive(Default)]
struct Page(String);

type Labels<'a> = [(&'a str, String)];

impl Page {
    fn family(&mut self, name: &str, kind: &str, unit: Option<&str>, help: &str) {
        // Writing to a string cannot fail.
        let _: std::fmt::Result = writeln!(self.0, "# TYPE {name} {kind}");
        if let Some(unit) = unit {
            let _: std::fmt::Result = writeln!(self.0, "# UNIT {name} {unit}");
        }
        let _: std::fmt::Result = writeln!(self.0, "# HELP {name} {help}");
    }

    fn sample(&mut self, name: &str, labels: &Labels<'_>, value: impl Display) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(key, value)| format!("{key}=\"{}\"", escaped(value)))
            .collect();
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        let _: std::fmt::Result = writeln!(self.0, "{name}{labels} {value}");
    }

    /// A family with one sample a thread, where it is known.
    fn per_thread<V: Display>(
        &mut self,
        (name, kind, unit, help): (&str, &str, Option<&str>, &str),
        series: &[SeriesProgress],
        value: impl Fn(&SeriesProgress) -> Option<V>,
    ) {
        self.family(name, kind, unit, help);
        let suffix = if kind == "counter" { "_total" } else { "" };
        for series in series {
            if let Some(value) = value(series) {
                self.sample(&format!("{name}{suffix}"), &[thread(series)], value);
            }
        }
    }
}

/// Escapes a label's value (OpenMetrics 1.0, escaped-string).
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

fn thread(series: &SeriesProgress) -> (&'static str, String) {
    ("thread", series.thread.to_string())
}

#[expect(clippy::cast_precision_loss, reason = "seconds of 15 digits")]
fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn run(page: &mut Page, progress: &Progress) {
    let name = "punctual_run_elapsed_seconds";
    page.family(
        name,
        "gauge",
        Some("seconds"),
        "Time since the start of the run.",
    );
    page.sample(name, &[], seconds(progress.t_ns.get()));
    if let Some(doing) = &progress.doing {
        page.family("punctual_run_step", "info", None, "What is being done now.");
        page.sample("punctual_run_step_info", &[("step", doing.clone())], 1);
    }
    if let Some(done) = progress.done {
        let name = "punctual_run_done_ratio";
        page.family(
            name,
            "gauge",
            Some("ratio"),
            "Part of the run that is done, from 0 to 1.",
        );
        page.sample(name, &[], done);
    }
}

fn threads(page: &mut Page, series: &[SeriesProgress]) {
    if series.is_empty() {
        return;
    }
    let name = "punctual_latency_seconds";
    page.family(
        name,
        "histogram",
        Some("seconds"),
        "Latencies of each thread since the start of the run.",
    );
    for series in series {
        histogram(page, name, series);
    }
    let unit = Some("seconds");
    page.per_thread(
        (
            "punctual_latency_max_seconds",
            "gauge",
            unit,
            "Largest latency since the start of the run.",
        ),
        series,
        |s| s.max_ns.map(seconds),
    );
    page.per_thread(
        (
            "punctual_latency_recent_max_seconds",
            "gauge",
            unit,
            "Largest latency of about the last second.",
        ),
        series,
        |s| s.recent_max_ns.map(seconds),
    );
    page.per_thread(
        (
            "punctual_latency_p99_seconds",
            "gauge",
            unit,
            "99th percentile of all latencies of the run.",
        ),
        series,
        |s| s.p99_ns.map(seconds),
    );
    page.per_thread(
        (
            "punctual_overruns",
            "counter",
            None,
            "Deadlines that passed while the thread was late.",
        ),
        series,
        |s| s.overruns,
    );
    page.per_thread(
        (
            "punctual_lost_samples",
            "counter",
            None,
            "Samples that found the ring full. One makes the run invalid.",
        ),
        series,
        |s| s.lost,
    );
}

fn histogram(page: &mut Page, name: &str, series: &SeriesProgress) {
    let bucket = format!("{name}_bucket");
    let mut sample = |le: String, count: u64| {
        page.sample(&bucket, &[thread(series), ("le", le)], count);
    };
    // Below 2^n and below 3 * 2^(n-1); a bound counts what is equal to it.
    let bounds = OCTAVES.flat_map(|n| [(1_u64 << n) - 1, (3_u64 << (n - 1)) - 1]);
    for bound in bounds {
        let below = series.steps.iter().take_while(|step| step.to_ns <= bound);
        sample(
            format!("{:?}", seconds(bound)),
            below.map(|s| s.count).sum(),
        );
    }
    let count: u64 = series.steps.iter().map(|step| step.count).sum();
    sample("+Inf".to_owned(), count);
    page.sample(&format!("{name}_count"), &[thread(series)], count);
    #[expect(clippy::cast_precision_loss, reason = "a count")]
    let sum = series.mean_ns.unwrap_or(0.0) * series.count as f64 / 1e9;
    page.sample(&format!("{name}_sum"), &[thread(series)], sum);
}

fn loads(page: &mut Page, progress: &Progress) {
    if progress.loads.is_empty() {
        return;
    }
    let labels = |place: usize, load: &punctual_model::LoadProgress| {
        [
            ("place", place.to_string()),
            ("load", load.load.clone()),
            ("counted_in", load.unit.clone()),
        ]
    };
    page.family(
        "punctual_load_work",
        "counter",
        None,
        "Work that a load has done.",
    );
    for (place, load) in progress.loads.iter().enumerate() {
        page.sample("punctual_load_work_total", &labels(place, load), load.work);
    }
    page.family(
        "punctual_load_alive",
        "gauge",
        None,
        "0 where a load has ended by itself.",
    );
    for (place, load) in progress.loads.iter().enumerate() {
        let alive = u8::from(load.fault.is_none());
        page.sample("punctual_load_alive", &labels(place, load), alive);
    }
}

fn checks(page: &mut Page, progress: &Progress) {
    let name = "punctual_check_passed";
    page.family(
        name,
        "gauge",
        None,
        "1 where a validity check passes up to now; most are judged at the end.",
    );
    for check in &progress.checks {
        page.sample(
            name,
            &[("check", check.id.clone())],
            u8::from(check.passed()),
        );
    }
}

#[cfg(test)]
mod tests {
    use punctual_model::{Check, LatencyStep, LoadProgress};

    use super::*;

    fn moment() -> Moment {
        let step = |to_ns, count| LatencyStep { to_ns, count };
        Moment {
            id: "x".to_owned(),
            instrument: "wakeup".to_owned(),
            name: Some("a \"name\"\\".to_owned()),
            progress: Some(Progress {
                series: vec![SeriesProgress {
                    count: 6,
                    mean_ns: Some(2_000.0),
                    steps: vec![step(511, 1), step(767, 2), step(1_279, 1), step(1 << 31, 2)],
                    overruns: Some(4),
                    ..SeriesProgress::default()
                }],
                loads: vec![LoadProgress::default()],
                checks: vec![Check::fail("pauses", "")],
                ..Progress::default()
            }),
            ended: None,
            overall: Some((3, 20)),
        }
    }

    #[test]
    fn a_bound_counts_what_is_not_above_it() {
        let page = page(&moment());
        for line in [
            r#"punctual_latency_seconds_bucket{thread="0",le="5.11e-7"} 1"#,
            r#"punctual_latency_seconds_bucket{thread="0",le="7.67e-7"} 3"#,
            r#"punctual_latency_seconds_bucket{thread="0",le="1.023e-6"} 3"#,
            r#"punctual_latency_seconds_bucket{thread="0",le="1.535e-6"} 4"#,
            r#"punctual_latency_seconds_bucket{thread="0",le="+Inf"} 6"#,
            r#"punctual_latency_seconds_count{thread="0"} 6"#,
            r#"punctual_overruns_total{thread="0"} 4"#,
            r#"punctual_check_passed{check="pauses"} 0"#,
            "punctual_runs_done 3",
            "punctual_runs_planned 20",
        ] {
            assert!(page.lines().any(|l| l == line), "{line}\n{page}");
        }
        // Not counted is not none.
        assert!(!page.contains("punctual_lost_samples_total"), "{page}");
        assert!(page.contains(r#"name="a \"name\"\\""#), "{page}");
        assert!(page.ends_with("\n# EOF\n"));
    }

    #[test]
    fn every_sample_belongs_to_a_family_that_was_announced_once() {
        let page = page(&moment());
        let mut families = Vec::new();
        for line in page.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let name = rest.split(' ').next().unwrap();
                assert!(!families.contains(&name), "{name} twice");
                families.push(name);
            } else if !line.starts_with('#') {
                let family = families.last().unwrap();
                assert!(line.starts_with(family), "{line} is not of {family}");
            }
        }
    }

    #[test]
    fn before_the_first_progress_there_is_a_page_too() {
        let page = page(&Moment::default());
        assert!(page.contains("punctual_run_going_on 0\n"), "{page}");
    }
}
