// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The two commands of a paper, typed as they are printed there, but shorter.

use super::common::{Home, machine};
use super::grammar::{THREAD, matches};
use super::ours;

#[test]
fn the_paper_s_commands_print_a_row_a_thread_with_falling_priorities() {
    let home = Home::new();
    if !machine::root() {
        return;
    }
    for threads in [5_usize, 15] {
        let answer = ours(
            &home,
            &format!("-p 80 -t{threads} -m -n -i 1000 -l 50 --priospread"),
        );
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
    }
}
