// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The two commands of a paper (Wang et al. 2019), typed as they are printed there.

use std::thread;

use super::common::{Home, machine};
use super::grammar::{THREAD, matches};
use super::ours;

#[test]
fn the_paper_s_commands_print_a_row_a_thread_with_falling_priorities() {
    if !machine::root() {
        return;
    }
    // Each takes 10 s, most of it asleep: together they take no longer.
    thread::scope(|scope| {
        scope.spawn(|| prints(5, "-p 80 -t5 -m -n -i 1000 -l 10000 --priospread"));
        scope.spawn(|| prints(15, "-p 80 -t15 -m -n -i 1000 -l 10000 --priospread"));
    });
}

fn prints(threads: usize, line: &str) {
    let home = Home::new();
    let answer = ours(&home, line);
    let lines: Vec<&str> = answer.fine().stdout.lines().collect();
    // What is left on the terminal is the last frame.
    let (before, rows) = lines.split_at(lines.len() - threads);
    assert_eq!(before[before.len() - 1], "");
    for (index, row) in rows.iter().enumerate() {
        assert!(matches(row, THREAD), "{row}");
        assert!(row.contains(&format!(" P:{} ", 80 - index)), "{row}");
        assert!(
            row.contains(&format!(" I:{} ", 1_000 + 500 * index)),
            "{row}"
        );
    }
    // The first thread is through first, and that ends the run.
    assert!(rows[0].contains(" C:  10000 "), "{}", rows[0]);
}
