// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Verdicts on deadlines.

mod common;

use punctual_model::{Assessment, Condition, Ended, Misses, Nanos, RealTimeClass};
use punctual_report::document::{Block, Document, Material};
use punctual_report::text::{self, Detail};
use punctual_verdict::assessment::assess;

const BURST: Nanos = Nanos::from_millis(100);

fn condition(name: &str, missed: u64, samples: u64) -> Condition {
    let mut run = common::run();
    run.total.count = samples;
    run.total.misses = vec![Misses {
        deadline_ns: Nanos::from_micros(100),
        count: missed,
        overruns: 0,
        effective: None,
    }];
    Condition {
        name: name.to_owned(),
        run,
    }
}

fn document(assessment: &Assessment) -> Document {
    Document::new(&Material {
        assessments: vec![assessment.clone()],
        ..Material::default()
    })
}

fn written(assessment: &Assessment) -> String {
    text::page(&document(assessment), 80, Detail::Summary)
}

fn class_of(idle: (u64, u64), loaded: (u64, u64)) -> Option<RealTimeClass> {
    let conditions = vec![
        condition("idle", idle.0, idle.1),
        condition("loaded", loaded.0, loaded.1),
    ];
    // The wake-ups are the trials: what is asked here is how classes follow from counts.
    let burst = Nanos::from_millis(1);
    assess(conditions, &[Nanos::from_micros(100)], burst, None).deadlines[0].class
}

#[test]
fn the_worst_condition_decides() {
    let hundred = RealTimeClass::HundredPercent;
    let ninety_five = RealTimeClass::NinetyFivePercent;
    assert_eq!(class_of((0, 1_000), (0, 1_000)), Some(hundred));
    assert_eq!(class_of((0, 1_000), (1, 1_000)), Some(ninety_five));
    assert_eq!(class_of((1, 1_000), (0, 1_000)), Some(ninety_five));
    assert_eq!(class_of((0, 1_000), (51, 1_000)), Some(RealTimeClass::Soft));
}

#[test]
fn a_share_within_five_percent_is_not_enough_from_few_samples() {
    // 4 of 100 is below 5 %, but the interval reaches far beyond.
    assert_eq!(class_of((0, 100), (4, 100)), Some(RealTimeClass::Soft));
    assert_eq!(
        class_of((0, 10_000), (400, 10_000)),
        Some(RealTimeClass::NinetyFivePercent)
    );
}

#[test]
fn no_samples_and_uncounted_deadlines_have_no_class() {
    assert_eq!(class_of((0, 0), (0, 0)), None);
    let other = Nanos::from_micros(50);
    let verdicts = assess(vec![condition("idle", 0, 9)], &[other], BURST, None);
    assert_eq!(verdicts.deadlines[0].class, None);
    assert!(verdicts.deadlines[0].misses.is_empty());
}

#[test]
fn the_text_says_first_what_cannot_be_believed() {
    let idle = condition("idle", 0, 1_000);
    let mut loaded = condition("loaded", 3, 1_000);
    loaded.run.valid = false;
    let obstacle = Some("SCHED_FIFO is not permitted".to_owned());
    let deadline = [Nanos::from_micros(100)];
    let text = written(&assess(vec![idle, loaded], &deadline, BURST, obstacle));
    let mut lines = text.lines();
    let first = lines.next().unwrap();
    assert!(first.starts_with("NOT a real-time measurement"), "{text}");
    assert!(text.contains("INVALID"), "{text}");
    let claimed = text.lines().find(|l| l.starts_with("Claims")).unwrap();
    assert!(
        claimed.ends_with("none: the loaded run is INVALID."),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn an_interrupted_assessment_says_first_that_it_is_incomplete() {
    let mut loaded = condition("loaded", 0, 1_000);
    loaded.run.ended = Some(Ended::Interrupted);
    let conditions = vec![condition("idle", 0, 1_000), loaded];
    let deadline = [Nanos::from_micros(100)];
    let of = |planned| Assessment {
        planned,
        ..assess(conditions.clone(), &deadline, BURST, None)
    };
    let said = "INCOMPLETE: interrupted after 1 of 3 conditions.";
    let text = written(&of(Some(3)));
    assert!(text.starts_with(said), "{text}");
    // An older program did not say how many there were to be.
    let text = written(&of(None));
    assert!(text.starts_with("No wake-up missed"), "{text}");
}

#[test]
fn loads_that_were_left_out_are_said_with_the_result() {
    let conditions = vec![condition("idle", 0, 1_000), condition("memory", 0, 1_000)];
    let why = "ping floods are left out: echo requests are refused";
    let assessment = Assessment {
        left_out: Some(why.to_owned()),
        ..assess(conditions, &[Nanos::from_micros(100)], BURST, None)
    };
    let text = written(&assessment);
    assert!(text.starts_with("Ping floods are left out: echo"), "{text}");
}

#[test]
fn on_a_narrow_terminal_the_bounds_of_all_conditions_are_left_out_together() {
    let names = ["idle", "kernel", "bridgers"];
    let conditions = names.map(|name| condition(name, 11, 40_000)).to_vec();
    let text = written(&assess(conditions, &[Nanos::from_micros(100)], BURST, None));
    let said = "A wider terminal also shows: Idle: at most, Kernel: at most, Bridgers: at most.";
    assert!(words(&text).contains(said), "{text}");
    assert!(words(&text).contains("Idle: missed"), "{text}");
}

#[test]
fn safe_is_never_claimed() {
    let conditions = vec![condition("idle", 0, 10_000_000)];
    let text = written(&assess(conditions, &[Nanos::from_micros(100)], BURST, None));
    assert!(!text.to_lowercase().contains("is safe"), "{text}");
    assert!(text.contains("100 %"), "{text}");
}

/// A text without line ends and indents.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn page_and_terminal_say_the_same_of_an_assessment() {
    for misses in [(0, 0), (3, 31), (900, 40)] {
        let conditions = vec![
            condition("idle", misses.0, 1_000),
            condition("loaded", misses.1, 40_000),
        ];
        let assessment = assess(conditions, &[Nanos::from_micros(100)], BURST, None);
        let text = words(&written(&assessment));
        let document = document(&assessment);
        let sentence = words(&document.answers[0].sentence);
        assert!(text.starts_with(&sentence), "{sentence}\n{text}");
        let blocks = document.sections.iter().flat_map(|s| &s.blocks);
        let mut claims = None;
        let mut table = None;
        for block in blocks {
            match block {
                Block::Facts(facts) if facts[0].0 == "Claims" => claims = Some(facts[0].1.clone()),
                Block::Drawing(_, Some(of)) if of.caption.starts_with("Wake-ups that missed") => {
                    table = Some(of)
                }
                _ => {}
            }
        }
        assert!(text.contains(&words(&claims.unwrap())), "{text}");
        let table = table.unwrap();
        let row = &table.rows[0];
        let (most, class) = (&row[7], &row[8]);
        assert!(
            text.contains(&format!(" {most} {class}")),
            "{row:?}\n{text}"
        );
        for note in &table.notes {
            assert!(text.contains(&words(note)), "{note}");
        }
        // The bound of each condition is above what was seen, also as it is written.
        for (rate, at) in assessment.deadlines[0].misses.iter().zip([3, 6]) {
            let written: f64 = row[at].trim_end_matches(" %").parse().unwrap();
            assert!(written >= 100.0 * rate.share_at_most.unwrap(), "{row:?}");
        }
    }
}

#[test]
fn a_table_without_a_miss_counts_bursts_of_run_time_and_not_wake_ups() {
    // Two threads for 50 s: 100 000 wake-ups used to bound the share by 0.003 %.
    let conditions = vec![condition("idle", 0, 100_000)];
    let assessment = assess(conditions, &[Nanos::from_micros(100)], BURST, None);
    let rate = &assessment.deadlines[0].misses[0];
    assert_eq!(rate.trials, Some(500));
    let bound = 1.0 - 0.05_f64.powf(1.0 / 500.0);
    assert!((rate.share_at_most.unwrap() - bound).abs() < 1e-12);
    let text = words(&written(&assessment));
    for part in [
        "at most 0.60 % of the wake-ups miss 100 µs",
        "if no burst of misses lasts longer than 100 ms",
        "takes 3.5 days without a miss",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn the_thread_whose_misses_depend_most_decides_for_all() {
    let mut condition = condition("idle", 100, 100_000);
    let misses = condition.run.total.misses.clone();
    for (series, (count, effective)) in condition
        .run
        .series
        .iter_mut()
        .zip([(0, 50_000.0), (100, 50.0)])
    {
        series.misses = misses.clone();
        series.misses[0].count = count;
        series.misses[0].effective = Some(effective);
    }
    // As an older program wrote it: the thread that never missed said most.
    condition.run.total.misses[0].effective = Some(50_000.0);
    let assessment = assess(vec![condition], &[Nanos::from_micros(100)], BURST, None);
    assert_eq!(assessment.deadlines[0].misses[0].trials, Some(50));
}
