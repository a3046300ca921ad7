// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

use punctual_model::{Check, Event, LatencyStep, SeriesProgress};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::super::Update;
use super::*;

const PLAIN: Theme = Theme { color: false };

fn progress(threads: u32, second: u64) -> Progress {
    Progress {
        t_ns: Nanos::from_secs(second),
        done: Some(0.25),
        left_ns: Some(Nanos::from_secs(45)),
        series: (0..threads)
            .map(|thread| SeriesProgress {
                thread,
                cpu: Some(thread),
                policy: "f:80".to_owned(),
                interval_ns: Nanos::from_millis(1),
                count: 15_000,
                min_ns: Some(1_820),
                last_ns: Some(20_000),
                mean_ns: Some(21_250.4),
                p99_ns: Some(30_100),
                max_ns: Some(1_000 * u64::from(thread) + 40_000),
                overruns: Some(0),
                lost: Some(0),
                recent_max_ns: Some(25_000 + 1_000 * second),
                steps: vec![
                    LatencyStep {
                        to_ns: 20_479,
                        count: 10_000,
                    },
                    LatencyStep {
                        to_ns: 40_959,
                        count: 5_000,
                    },
                ],
                ..SeriesProgress::default()
            })
            .collect(),
        loads: vec![LoadProgress {
            load: "cpu:2".to_owned(),
            unit: "additions".to_owned(),
            work: 5e9,
            per_second: Some(2.5e8),
            fault: None,
        }],
        checks: vec![
            Check::pass(
                "lost-samples",
                "0 of 15000 samples lost because the ring was full",
            ),
            Check::pass("pauses", "longest pause of the recorder: 101 ms"),
        ],
        ..Progress::default()
    }
}

fn state(threads: u32) -> State {
    let mut state = State::new("wakeup".to_owned());
    for second in 1..=15 {
        let event = Event::Progress(progress(threads, second));
        state.take(Update::Event(Box::new(event)));
    }
    state
}

fn screen(state: &State, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, state, PLAIN)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| -> String {
        let cells = (0..width).map(|x| buffer[(x, y)].symbol());
        cells.collect::<String>().trim_end().to_owned()
    };
    (0..height).map(line).collect()
}

fn has(screen: &[String], text: &str) -> bool {
    screen.iter().any(|line| line.contains(text))
}

#[test]
fn eighty_columns_and_24_rows_show_every_part() {
    let screen = screen(&state(2), 80, 24);
    assert_eq!(
        screen[0],
        "wakeup  00:15 [#####...............] 25 %, 00:45 left"
    );
    for text in [
        "  T  CPU       COUNT",
        "15000",
        "n = 30000 (all threads), top bar 20000",
        "maxima over time, 26 µs to 40 µs",
        "≤ 20 µs",
        "0:00",
        "load cpu:2: 250M additions/s, 5000M additions in all",
        "checks so far pass: lost-samples, pauses",
    ] {
        assert!(has(&screen, text), "`{text}` is not in {screen:#?}");
    }
    assert!(screen[23].starts_with("p pause"), "{screen:#?}");
    let bars = screen.iter().filter(|line| line.contains('█')).count();
    assert!(bars >= 3, "{screen:#?}");
}

#[test]
fn small_windows_show_the_worst_threads_first_and_never_fail() {
    let state = state(100);
    for width in [1, 5, 20, 40, 60, 130] {
        for height in [1, 2, 3, 4, 5, 8, 12, 40] {
            let screen = screen(&state, width, height);
            if width >= 60 && height >= 4 {
                assert!(has(&screen, " 99 "), "{width}x{height}: {screen:#?}");
            }
            if width >= 60 && height >= 5 {
                assert!(has(&screen, "more threads, none worse"));
            }
        }
    }
}

#[test]
fn a_failed_check_and_a_dead_load_are_told_without_colours() {
    let mut progress = progress(1, 20);
    progress.checks[0] = Check::fail(
        "lost-samples",
        "3 of 15003 samples lost because the ring was full",
    );
    progress.loads[0].fault = Some("was killed".to_owned());
    let mut state = state(1);
    state.take(Update::Event(Box::new(Event::Progress(progress))));
    let screen = screen(&state, 100, 30);
    assert!(
        has(&screen, "FAILED lost-samples: 3 of 15003"),
        "{screen:#?}"
    );
    assert!(has(&screen, "load cpu:2: was killed"), "{screen:#?}");
}

#[test]
fn the_threshold_is_in_both_charts() {
    let mut state = state(1);
    for byte in b"t30us\r" {
        state.key(*byte);
    }
    let screen = screen(&state, 100, 30);
    assert!(has(&screen, "▲") && has(&screen, "╌"), "{screen:#?}");
}

#[test]
fn pause_help_input_and_end_are_told() {
    let mut state = state(1);
    state.key(b'p');
    state.ends(true);
    assert!(screen(&state, 100, 30)[0].starts_with("VIEW PAUSED  ENDING"));
    state.key(b'?');
    assert!(has(
        &screen(&state, 100, 30),
        "pause the view; the run continues"
    ));
    state.key(b'?');
    for byte in b"t5\r" {
        state.key(*byte);
    }
    let told = screen(&state, 100, 30);
    assert!(told[29].starts_with("threshold: 5_  "), "{told:#?}");
    assert!(told[29].len() > 16, "it says why: {told:#?}");
}

#[test]
fn a_run_that_is_shown_once_more_is_not_ended_by_a_key() {
    let mut state = state(1);
    state.replay = true;
    let told = screen(&state, 100, 30);
    assert!(
        told[29].ends_with("q or Ctrl-C ends the replay"),
        "{told:#?}"
    );
    state.key(b'?');
    let told = screen(&state, 100, 30);
    assert!(has(&told, "end the replay"), "{told:#?}");
    assert!(!has(&told, "keep"), "{told:#?}");
}

#[test]
fn what_a_run_says_does_not_turn_the_screen_around() {
    let mut progress = progress(1, 20);
    progress.loads[0].fault = Some("was \u{202e}dellik".to_owned());
    let mut state = state(1);
    state.take(Update::Event(Box::new(Event::Progress(progress))));
    let screen = screen(&state, 100, 30);
    assert!(has(&screen, "was \u{fffd}dellik"), "{screen:#?}");
}

#[test]
fn work_without_samples_says_what_it_does() {
    let mut state = State::new("linpack".to_owned());
    assert!(screen(&state, 80, 24)[0].ends_with("starting"));
    let mut progress = Progress::of("n = 4000, round 3 of 5".to_owned(), 0.5);
    progress.figures.push(Figure {
        name: "gflops".to_owned(),
        unit: "GFLOPS".to_owned(),
        value: Some(150.25),
        count: 3,
        ..Figure::default()
    });
    state.take(Update::Event(Box::new(Event::Progress(progress))));
    let screen = screen(&state, 80, 24);
    assert!(
        screen[0].ends_with("50 %  n = 4000, round 3 of 5"),
        "{screen:#?}"
    );
    assert!(
        has(&screen, "LINPACK speed: 150 GFLOPS (n = 3)"),
        "{screen:#?}"
    );
}

#[test]
fn an_experiment_shows_its_standing_and_its_notes() {
    let mut state = state(1);
    state.take(Update::Overall(Overall {
        done: 3,
        all: 20,
        of: "runs",
        left: Some("5 min".to_owned()),
        now: "block 2  policy=fifo".to_owned(),
    }));
    state.take(Update::Note("   3 of 20  block 1".to_owned()));
    let screen = screen(&state, 100, 30);
    assert_eq!(
        screen[1],
        "3 of 20 runs done, 5 min left; now block 2  policy=fifo"
    );
    assert!(has(&screen, "   3 of 20  block 1"), "{screen:#?}");
}
