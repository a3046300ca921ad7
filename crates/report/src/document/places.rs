// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where in the program and in the kernel a watched thread was when something happened.

use punctual_model::watch::{Stack, Watched, WatchedThread};

use super::named::capital;
use super::parts::{Block, Table};

/// Functions that are said of one place.
const FUNCTIONS: usize = 6;

const HEADING: [&str; 3] = ["<What", "Times", "<Where, innermost first"];

/// Where the culprits of a thread came to be; nothing where no stacks were taken.
pub(super) fn of_culprits(thread: &WatchedThread, of: &str) -> Option<Table> {
    let culprits = thread.culprits.iter();
    let rows = culprits.flat_map(|culprit| rows(&culprit.what, &culprit.stacks));
    let title = format!("Where {} was in its late cycles{of}", thread.name);
    table(title, rows.collect())
}

/// Where what real-time code should not do was done.
pub(super) fn of_habits(watched: &Watched, of: &str) -> Option<Block> {
    let habits = watched.habits.iter();
    let rows = habits.flat_map(|habit| rows(&habit.rule.title, &habit.stacks));
    table(format!("Where that was done{of}"), rows.collect()).map(Block::Table)
}

fn table(title: String, rows: Vec<Vec<String>>) -> Option<Table> {
    let mut table = Table::new(title, &HEADING);
    table.rows = rows;
    table.notes.push(
        "Functions of the program are found by its frame pointers: without them (-fno-omit-frame-pointer) the innermost \
         alone is known. The kernel's come first."
            .to_owned(),
    );
    (!table.rows.is_empty()).then_some(table)
}

fn rows(what: &str, stacks: &[Stack]) -> Vec<Vec<String>> {
    let row = |stack: &Stack| {
        let all: Vec<&str> = stack
            .kernel
            .iter()
            .chain(&stack.user)
            .map(String::as_str)
            .collect();
        let mut shown = all.get(..FUNCTIONS).unwrap_or(&all).join(" < ");
        if all.len() > FUNCTIONS {
            shown.push_str(" < ...");
        }
        vec![capital(what), stack.count.to_string(), shown]
    };
    stacks.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_said_innermost_first_and_none_is_no_table() {
        let stack = Stack {
            count: 7,
            kernel: vec!["futex_wait".to_owned()],
            user: (0..9).map(|n| format!("f{n}")).collect(),
        };
        let rows = rows("its system call futex", &[stack]);
        let wanted = [
            "Its system call futex",
            "7",
            "futex_wait < f0 < f1 < f2 < f3 < f4 < ...",
        ];
        assert_eq!(rows, [wanted.map(ToOwned::to_owned).to_vec()]);
        assert!(of_culprits(&WatchedThread::default(), "").is_none());
        assert!(of_habits(&Watched::default(), "").is_none());
    }
}
