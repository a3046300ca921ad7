// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What people read, compared whole. `PUNCTUAL_TEST_BLESS=1` writes what is compared with.
#![expect(clippy::unwrap_used, reason = "test helpers")]

mod common;

use common::{compare, misses, run, sample, series};
use punctual_model::{
    Better, Check, Ended, Figure, Finding, Interval, Nanos, Policy, PrecisionState, RunListEntry,
    RunListFigures, RunRecord, Series, Setup, ThresholdHit,
};
use punctual_report::document::Document;
use punctual_report::text::{self, Detail};

fn of(record: &RunRecord, detail: Detail) -> String {
    text::run(record.clone().into(), 80, detail)
}

/// A run that went wrong in every way that has a text.
fn invalid() -> RunRecord {
    let mut record = run();
    record.valid = false;
    record.checks[1] = Check::fail("lost-samples", "12 samples found the ring full");
    record.checks.push(Check::unknown(
        "rt-throttling",
        "sched_rt_runtime_us could not be read: permission denied; whether the kernel held the \
         measuring threads back is therefore not known",
    ));
    record.name = None;
    record.note = Some("beside a kernel build\x1b[31m".to_owned());
    let spec = record.spec.as_mut().unwrap();
    spec.threads = 3;
    spec.priority_spread = true;
    spec.distance_ns = Nanos::from_micros(500);
    spec.on_threshold_ns = Some(Nanos::from_micros(100));
    spec.deadlines_ns = vec![Nanos::from_micros(50), Nanos::from_millis(1)];
    spec.loads = vec!["cpu:2".to_owned(), "memory".to_owned()];
    spec.dma_latency_ns = None;
    spec.mlock = false;
    record.ended = Some(Ended::Threshold);
    record.host.preempt_rt = Some(false);
    record.host.preemption = Some("voluntary (/sys/kernel/debug/sched/preempt)".to_owned());
    record.host.hypervisor = Some("kvm".to_owned());
    record.host.cpufreq_governors =
        vec!["performance (0-1)".to_owned(), "powersave (2-3)".to_owned()];
    record.series[1].max_ns = Some(1_123_456);
    record.series[1].misses = misses(&[(50, 3), (1_000, 1)]);
    record.series[0].misses = misses(&[(50, 0), (1_000, 0)]);
    record.series[1].overruns = Some(1);
    record.total.misses = misses(&[(50, 3), (1_000, 1)]);
    record.total.max_ns = Some(1_123_456);
    record.total.lost = Some(12);
    record.total.overruns = Some(1);
    record.threshold = Some(ThresholdHit {
        threshold_ns: Nanos::from_micros(100),
        sample: sample(1, 12_345_678_901, 1_123_456),
        around: (0..12)
            .map(|i| sample(i % 2, 12_343_178_901 + u64::from(i) * 500_000, 2_000))
            .map(|s| {
                if s.t_ns == 12_345_678_901 {
                    sample(1, s.t_ns, 1_123_456)
                } else {
                    s
                }
            })
            .collect(),
    });
    let state = |target: &str, met| PrecisionState {
        target: target.to_owned(),
        thread: 0,
        estimate_ns: Some(9_407.0),
        interval_ns: Some(Interval {
            low: 9_200.0,
            high: 9_650.0,
            confidence: 0.95,
        }),
        effective_samples: Some(31_234.5),
        met,
    };
    record.precision = vec![
        state("p99:2%", true),
        PrecisionState {
            interval_ns: None,
            effective_samples: None,
            ..state("p99.99:1us", false)
        },
        PrecisionState {
            estimate_ns: None,
            ..state("mean:1%", false)
        },
    ];
    record
}

/// A run that ended before it had a sample.
fn empty() -> RunRecord {
    let mut record = run();
    let none = |thread| Series {
        thread,
        quantiles_ns: ["p50", "p99", "p99.9"].map(|q| (q.to_owned(), None)).into(),
        psquare_ns: ["p5", "p99"].map(|q| (q.to_owned(), None)).into(),
        overruns: Some(0),
        lost: Some(0),
        clamped: Some(0),
        warm_up_samples: Some(0),
        ..Series::default()
    };
    record.series = vec![none(Some(0))];
    record.total = none(None);
    record.host = punctual_model::HostFacts::default();
    let spec = record.spec.as_mut().unwrap();
    spec.threads = 1;
    spec.priority = Policy::Other { nice: 0 };
    spec.pin = punctual_model::Pin::None;
    record.ended = Some(Ended::Interrupted);
    record.duration_ns = Some(Nanos::new(850));
    record.checks.clear();
    record
}

#[test]
fn a_valid_run() {
    compare("valid", &of(&run(), Detail::Summary));
    compare("valid-full", &of(&run(), Detail::Full));
}

#[test]
fn an_invalid_run_says_so_before_any_figure() {
    let text = of(&invalid(), Detail::Summary);
    assert!(text.starts_with("INVALID: "));
    compare("invalid", &text);
    compare("invalid-full", &of(&invalid(), Detail::Full));
}

#[test]
fn an_empty_run_has_no_figures_and_says_why() {
    compare("empty", &of(&empty(), Detail::Summary));
    compare("empty-full", &of(&empty(), Detail::Full));
}

#[test]
fn a_record_that_calls_itself_valid_is_not_believed_beside_a_failed_check() {
    let mut record = run();
    record.checks[0] = Check::fail("policy", "thread 1 ran as SCHED_OTHER");
    assert!(of(&record, Detail::Summary).contains("policy failed: thread 1 ran"));
    let mut record = run();
    record.valid = false;
    assert!(of(&record, Detail::Summary).starts_with("INVALID: "));
}

#[test]
fn wide_figures_stay_within_the_page() {
    let mut record = run();
    for series in record.series.iter_mut().chain([&mut record.total]) {
        series.policy = Some("d:500000ns:1000000ns".to_owned());
        series.interval_ns = Some(Nanos::new(1_000_001));
        series.count = u64::MAX;
        series.overruns = Some(u64::MAX);
        (series.min_ns, series.max_ns) = (Some(u64::MAX), Some(u64::MAX));
        series.mean_ns = Some(1e19);
    }
    record.series = (0..3).map(series).chain(record.series).collect();
    for line in of(&record, Detail::Full).lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn an_even_smaller_share_is_not_none() {
    let mut record = run();
    record.total.count = 100_000_000;
    record.total.misses = misses(&[(100, 1), (200, 0)]);
    let text = of(&record, Detail::Summary);
    assert!(text.contains("0.000001 %"), "{text}");
    // None is no share: what is shown is how many it may be.
    assert!(
        text.contains("<= 0.60 %") && !text.contains(" 0 %"),
        "{text}"
    );
}

#[test]
fn a_list_of_runs() {
    let line = |id: &str, name: Option<&str>, max_ns| RunListEntry {
        id: id.to_owned(),
        figures: Some(RunListFigures {
            started: Some("2026-11-20T09:35:48.123456789Z".to_owned()),
            name: name.map(ToOwned::to_owned),
            instrument: "wakeup".to_owned(),
            count: 100_000,
            p50_ns: Some(2_101),
            p99_ns: None,
            max_ns,
            valid: name.is_some(),
            ..RunListFigures::default()
        }),
        unreadable: None,
    };
    let lines = [
        line("019aa0f0-1234-7abc-8def-0123456789ab", Some("idle"), Some(41_870)),
        line("019aa0f0-1299-7abc-8def-0123456789ab", None, Some(1_123_456)),
        line(
            "019aa0f1-1234-7abc-8def-0123456789ab",
            Some("a name that is longer than what one line of a list holds"),
            None,
        ),
        RunListEntry {
            id: "019aa0f2-1234-7abc-8def-0123456789ab".to_owned(),
            figures: None,
            unreadable: Some("read /srv/punctual/runs/019aa0f2-1234-7abc-8def-0123456789ab/run.json: EOF while parsing a value at line 1 column 0".to_owned()),
        },
    ];
    let list = |lines: &[RunListEntry], foreign: &[String]| {
        text::page(&Document::of_list(lines, &[], foreign), 80, Detail::Summary)
    };
    compare("list", &list(&lines, &["notes.txt".to_owned()]));
    assert_eq!(list(&[], &[]), "No runs\n");
    // Two that began in the same millisecond: their ends are shorter.
    let same = ["8def-0123456789ab", "9def-ba9876543210"]
        .map(|rest| line(&format!("019aa0f0-1234-7abc-{rest}"), None, None));
    let text = list(&same, &[]);
    assert!(
        text.contains("\n …456789ab ") && text.contains("\n …76543210 "),
        "{text}"
    );
    // A run of the store that is not listed differs from it in its 13th character.
    let others = ["019aa0f0-1299-7abc-8def-0123456789ab".to_owned()];
    let some = Document::of_list(&lines[..1], &others, &[]);
    let text = text::page(&some, 80, Detail::Summary);
    assert!(
        text.contains("\n 019aa0f0-12 ") || text.contains("\n 019aa0f0-123 "),
        "{text}"
    );
}

/// A run of another instrument than `wakeup`.
fn of_instrument(name: &str) -> RunRecord {
    let mut record = run();
    record.instrument = name.to_owned();
    let spec = record.spec.take().unwrap();
    record.setup = Some(Setup {
        cpus: spec.cpus,
        priority: spec.priority,
        duration_ns: spec.duration_ns,
        dma_latency_ns: spec.dma_latency_ns,
        mlock: spec.mlock,
        housekeeping: spec.housekeeping,
        loads: spec.loads,
        options: [("spin".to_owned(), "40 µs".to_owned())].into(),
    });
    record
}

#[test]
fn a_release_is_never_called_a_wake_up() {
    let mut record = of_instrument("release");
    record.findings = vec![Finding::observed("release-cost", "36 µs a cycle")];
    record.total.misses = misses(&[(50, 3)]);
    let text = of(&record, Detail::Full);
    assert!(text.contains("Release lateness in µs\n"), "{text}");
    assert!(text.contains("Releases later than a deadline\n"), "{text}");
    assert!(
        text.contains(" observed  release-cost: 36 µs a cycle\n"),
        "{text}"
    );
    for word in ["Latency", "Wake-up", "wake-up"] {
        assert!(!text.contains(word), "{word} in {text}");
    }
}

#[test]
fn what_an_instrument_does_not_have_has_no_column() {
    let mut record = of_instrument("noise");
    let parts = record.series.iter_mut().chain([&mut record.total]);
    for series in parts {
        (series.interval_ns, series.overruns, series.warm_up_samples) = (None, None, None);
    }
    let text = of(&record, Detail::Summary);
    assert!(text.contains("Gaps in µs\n"), "{text}");
    let header = text.lines().find(|line| line.contains("p99.9")).unwrap();
    assert!(!header.contains("Interval"), "{header}");
    for word in ["Overruns", "warm-up", "not recorded", "unknown ("] {
        assert!(!text.contains(word), "{word} in {text}");
    }
    record.total.overruns = Some(7);
    let text = of(&record, Detail::Summary);
    assert!(
        text.contains("Overruns") && text.contains("7 overruns"),
        "{text}"
    );
}

#[test]
fn priority_inversion_is_answered_by_protocol() {
    let said = |shares: &[(&str, u64)]| {
        let share = |(protocol, inverted): &(&str, u64)| Figure {
            count: 100,
            ..Figure::single("inverted", "1", Better::Lower, *inverted as f64 / 100.0)
                .at("protocol", protocol)
        };
        let longest = |(protocol, inverted): &(&str, u64)| Series {
            context: Some(format!("{protocol}-full")),
            max_ns: Some(1_000_000 + inverted * 10_000),
            ..Series::default()
        };
        let run = RunRecord {
            instrument: "pi".to_owned(),
            name: Some("locks".to_owned()),
            figures: shares.iter().map(share).collect(),
            series: shares.iter().map(longest).collect(),
            ..run()
        };
        let text = of(&run, Detail::Summary);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let bounded = said(&[("none", 100), ("inherit", 0), ("protect", 0)]);
    let wanted = "bounded: locks: with priority inheritance and with a priority ceiling other work never came \
                  before the lock in 200 cycles (waits of up to 1000 µs); without a protocol it came \
                  before the lock in 100 of 100 cycles (waits of up to 2000 µs).";
    assert!(bounded.starts_with(wanted), "{bounded}");
    let unknown = said(&[("none", 0)]);
    assert!(
        unknown.starts_with("locks: without a protocol"),
        "{unknown}"
    );
    let not = said(&[("none", 100), ("inherit", 3)]);
    let wanted = "not bounded: locks: without a protocol other work came before the lock in 100 of 100 cycles (waits \
                  of up to 2000 µs); with priority inheritance it came before the lock in 3 of 100 cycles \
                  (waits of up to 1030 µs).";
    assert!(not.starts_with(wanted), "{not}");
}
