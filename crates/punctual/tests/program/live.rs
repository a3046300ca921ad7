// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The live view on a terminal: its pictures, its keys, and the terminal after it.

use std::fs;
use std::time::Duration;

use crate::common::{Home, machine, wait_until};
use crate::pty::Pty;

/// A measurement that anyone may do, longer than any test here takes.
const LONG: &str = "measure wakeup --threads 1 --duration 3h --priority o --dma-latency off";

const SIZE: (u16, u16) = (80, 24);

/// Starts a long measurement, and waits until it shows samples.
fn measuring(home: &Home, size: (u16, u16)) -> Option<Pty> {
    let pty = Pty::start(home, LONG, size)?;
    pty.shows("n = ");
    Some(pty)
}

/// How the last run ended.
fn ended(home: &Home) -> String {
    let record = home.run(["runs", "show", "last", "--json"]).json();
    record["ended"].as_str().unwrap_or_default().to_owned()
}

/// Requires a clean end. Whether the run is valid is the machine's business.
fn assert_ended(pty: &Pty) {
    let status = pty.status();
    assert!([0, 1].contains(&status), "{status}: {}", pty.said());
}

#[test]
fn a_terminal_shows_threads_histogram_maxima_checks_and_keys() {
    let home = Home::new();
    let Some(mut pty) = measuring(&home, SIZE) else {
        return;
    };
    pty.shows("checks so far pass: lost-samples, pauses");
    let screen = pty.screen();
    assert!(screen.alternate_screen() && screen.hide_cursor());
    let text = screen.contents();
    let heading = text.lines().find(|line| line.contains("OVERRUNS"));
    let heading = heading.unwrap_or_else(|| panic!("no table:\n{text}"));
    for column in ["T", "CPU", "COUNT", "MEAN", "P99", "MAX", "LOST"] {
        let there = heading.split_whitespace().any(|word| word == column);
        assert!(there, "{column}: {heading}");
    }
    for part in [
        "wakeup  00:",
        "(all threads), top bar",
        "maxima over time",
        "q or Ctrl-C ends",
    ] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
    assert!(
        text.contains(['█', '▇', '▆', '▅', '▄', '▃', '▂', '▁']),
        "{text}"
    );
    pty.press("q");
    assert_ended(&pty);
    pty.assert_given_back();
    let after = pty.screen().contents();
    assert!(after.contains("Recorded as "), "{after}");
    assert!(!after.contains("maxima over time"), "{after}");
    assert_eq!(ended(&home), "interrupted");
}

#[test]
fn keys_pause_the_view_set_a_threshold_choose_a_thread_and_help() {
    let home = Home::new();
    let Some(mut pty) = measuring(&home, (100, 30)) else {
        return;
    };
    pty.press("p");
    let before = pty.shows("VIEW PAUSED");
    std::thread::sleep(Duration::from_millis(1_200));
    let line = |text: &str| text.lines().nth(2).unwrap().to_owned();
    assert_eq!(
        line(&before),
        line(&pty.screen().contents()),
        "it stands still"
    );
    pty.press("p");
    pty.hides("VIEW PAUSED");
    let went_on = wait_until(|| line(&before) != line(&pty.screen().contents()));
    assert!(went_on, "the run went on meanwhile");
    pty.press("t");
    pty.shows("threshold: _");
    pty.press("12\r");
    pty.shows("threshold: 12_  ");
    pty.press("ns\r");
    pty.shows("▲");
    pty.press("\t");
    pty.shows("(thread 0), top bar");
    pty.press("?");
    pty.shows("pause the view; the run continues");
    // The key that closes the help does nothing else.
    pty.press("q");
    pty.hides("pause the view; the run continues");
    pty.shows("(thread 0), top bar");
    // Ctrl-Z would stop the measurement: it is not taken.
    pty.press("\x1a");
    pty.press("q");
    assert_ended(&pty);
    pty.assert_given_back();
}

#[test]
fn the_view_follows_the_size_of_its_window() {
    let home = Home::new();
    let Some(mut pty) = measuring(&home, (130, 40)) else {
        return;
    };
    pty.shows("INTERVAL");
    for size in [(44, 10), (20, 4), (120, 35)] {
        pty.resize(size);
        pty.shows("MAX");
        let text = pty.screen().contents();
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(size.0.into()), "{text}");
        assert!(text.lines().count() <= usize::from(size.1), "{text}");
    }
    pty.shows("INTERVAL");
    pty.press("\x03");
    assert_ended(&pty);
    pty.assert_given_back();
}

#[test]
fn signals_end_the_run_and_give_the_terminal_back() {
    for signal in machine::ends() {
        let home = Home::new();
        let Some(pty) = measuring(&home, SIZE) else {
            return;
        };
        machine::signal(signal, &pty.pid().to_string());
        assert_ended(&pty);
        pty.assert_given_back();
        assert_eq!(ended(&home), "interrupted", "{signal}");
    }
}

#[test]
fn sigquit_ends_it_at_once_and_gives_the_terminal_back() {
    let home = Home::new();
    let Some(pty) = measuring(&home, SIZE) else {
        return;
    };
    machine::signal("QUIT", &pty.pid().to_string());
    assert_eq!(pty.status(), 131, "{}", pty.said());
    pty.assert_given_back();
}

#[test]
fn a_second_signal_ends_at_once_and_gives_the_terminal_back() {
    let home = Home::new();
    let Some(pty) = measuring(&home, SIZE) else {
        return;
    };
    let pid = pty.pid().to_string();
    // Stopped, it cannot end by itself between the two.
    machine::signal("STOP", &pid);
    machine::signal("TERM", &pid);
    machine::signal("INT", &pid);
    machine::signal("CONT", &pid);
    let status = pty.status();
    assert!([130, 143].contains(&status), "{status}: {}", pty.said());
    pty.assert_given_back();
}

#[test]
fn after_sigkill_the_terminal_needs_stty_and_the_store_nothing() {
    let home = Home::new();
    let Some(pty) = measuring(&home, SIZE) else {
        return;
    };
    machine::signal("KILL", &pty.pid().to_string());
    assert_eq!(pty.status(), 137);
    // Nobody could give it back: the page of the live view says so, and how to.
    assert!(!pty.has_its_modes());
    assert!(pty.screen().alternate_screen());
    home.quick(&[]);
    assert_eq!(home.list().len(), 1, "the run that was killed is gone");
    let left = fs::read_dir(home.runs_dir()).unwrap().flatten();
    let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with('.'));
    assert_eq!(left.count(), 0);
}

#[test]
fn without_colours_nothing_is_coloured() {
    let home = Home::new();
    let line = format!(
        "env NO_COLOR=1 {} {LONG}",
        crate::common::program().display()
    );
    let Some(mut pty) = Pty::start_line(&home, &line, SIZE) else {
        return;
    };
    pty.shows("maxima over time");
    pty.press("q");
    let said = pty.over();
    let coloured = |code: &str| {
        let codes = code.split('m').next().unwrap().split(';');
        let mut codes = codes.filter_map(|code| code.parse::<u32>().ok());
        codes.any(|code| (30..39).contains(&code) || (40..49).contains(&code))
    };
    let colours = said.split("\x1b[").skip(1).filter(|code| coloured(code));
    assert_eq!(colours.count(), 0, "{said:?}");
}

/// Whether a line says how far a run is, after a second or some more.
fn is_progress(line: &str) -> bool {
    line.contains(": 00:0") && line.contains(" samples")
}

#[test]
fn a_terminal_that_cannot_show_a_screen_gets_lines() {
    let home = Home::new();
    let line = format!(
        "env TERM=dumb {} measure wakeup --threads 1 --duration 2500ms --priority o --dma-latency off",
        crate::common::program().display()
    );
    let Some(pty) = Pty::start_line(&home, &line, (200, 24)) else {
        return;
    };
    assert!(pty.over().lines().any(is_progress), "{}", pty.said());
    assert!(!pty.said().contains("\x1b[?1049h"), "{}", pty.said());
}

#[test]
fn loads_show_their_rate_and_an_assessment_its_conditions() {
    let home = Home::new();
    let args = "assess --duration 8s --load cpu:1";
    let Some(pty) = Pty::start(&home, args, (110, 30)) else {
        return;
    };
    pty.shows("assess, idle (1 of 2)");
    pty.shows("assess, loaded (2 of 2)");
    pty.shows("additions/s, ");
    pty.over();
    pty.assert_given_back();
    assert_eq!(home.list().len(), 2);
}

/// The screen, and all else of an experiment's own process, is not on CPU 0, which a run measures now.
fn is_off_the_measured_cpu(pty: &Pty) {
    if std::thread::available_parallelism().unwrap().get() < 2 {
        return machine::skip("the CPUs of an experiment's screen", "there is one CPU");
    }
    let pid = pty.pid();
    let mut threads = Vec::new();
    let aside = wait_until(|| {
        threads = machine::threads(pid);
        threads.iter().any(|t| t.name == "view") && threads.iter().all(|t| !t.cpus.starts_with('0'))
    });
    assert!(aside, "{threads:?}");
}

#[test]
fn an_experiment_shows_the_run_that_goes_on_and_leaves_its_lines() {
    let home = Home::new();
    let path = home.dir().join("experiment.toml");
    let text = r#"
name = "seen"
compare = ["p50"]

[[measure]]
instrument = "wakeup"
options = { priority = "o", dma-latency = "off", threads = 1, duration = "3s" }

[[factor]]
name = "interval"
option = "interval"
levels = ["1ms", "2ms"]

[stop]
blocks = 1
"#;
    let text = text.replace("threads = 1,", "threads = 1, cpus = \"0\",");
    fs::write(&path, text).unwrap();
    let args = format!("experiment run {}", path.display());
    let Some(pty) = Pty::start(&home, &args, (110, 30)) else {
        return;
    };
    pty.shows("experiment seen");
    pty.shows("of 2 runs done");
    pty.shows("maxima over time");
    is_off_the_measured_cpu(&pty);
    pty.over();
    pty.assert_given_back();
    let after = pty.screen().contents();
    assert!(after.contains(" 2 of 2  block 0"), "{after}");
}

#[test]
fn a_run_is_replayed_from_what_was_stored() {
    let home = Home::new();
    home.run(
        "measure wakeup --threads 1 --duration 2500ms --priority o --dma-latency off --quiet --name once"
            .split_whitespace(),
    );
    let answer = home.run(["runs", "show", "last", "--live"]);
    answer.fine();
    assert!(
        answer.stderr.contains("replay of wakeup run "),
        "{answer:#?}"
    );
    assert!(answer.stderr.lines().any(is_progress), "{answer:#?}");
    assert!(answer.stdout.contains("Latency in"), "{answer:#?}");
    let Some(mut pty) = Pty::start(&home, "runs show last --live --speed 20", (110, 24)) else {
        return;
    };
    pty.shows("maxima over time");
    // 2.5 s and the warm-up, and on a busy machine some more.
    pty.shows("completed after ");
    pty.shows("q shows the figures");
    pty.press("q");
    assert_ended(&pty);
    pty.assert_given_back();
}

#[test]
fn a_run_without_progress_says_that_there_is_nothing_to_replay() {
    let home = Home::new();
    let record = home.quick(&[]);
    // However short a run is, it shows its end.
    home.run(["runs", "show", "last", "--live"]).fine();
    let id = record["id"].as_str().unwrap();
    fs::remove_file(home.runs_dir().join(id).join("events.jsonl.zst")).unwrap();
    let answer = home.run(["runs", "show", "last", "--live"]);
    answer.error(1, &["it has no stored progress"]).hinted();
}
