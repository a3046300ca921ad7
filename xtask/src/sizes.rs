// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How long a Rust file may be, and its licence header.
//!
//! Tests are not counted: neither `tests/` nor the `#[cfg(test)] mod tests` at the end of a file.

use std::path::Path;

use anyhow::{Context as _, bail};

use crate::files;

const SPLIT_AT_LINES: usize = 600;
const MOST_LINES: usize = 1000;
const HEADER: [&str; 2] = [
    "// SPDX-License-Identifier: MIT OR Apache-2.0",
    "// Copyright (c) The Punctual developers",
];

/// Warns of long files; fails with the names of those that are too long or lack the header.
pub(crate) fn check(root: &Path) -> anyhow::Result<()> {
    let files = files::rust_files(root)?;
    let mut faults = Vec::new();
    for path in &files {
        let text =
            files::read(path).with_context(|| format!("failed to read {}", path.display()))?;
        let name = path.strip_prefix(root).unwrap_or(path);
        if !has_header(&text) {
            faults.push(format!("{} lacks the two-line SPDX header", name.display()));
        }
        if name.components().any(|part| part.as_os_str() == "tests") {
            continue;
        }
        let lines = counted_lines(&text);
        if lines > MOST_LINES {
            faults.push(format!(
                "{} has {lines} lines, more than {MOST_LINES}",
                name.display()
            ));
        } else if lines > SPLIT_AT_LINES {
            eprintln!("Warning: {} has {lines} lines: split it", name.display());
        }
    }
    if !faults.is_empty() {
        bail!("sizes: {}", faults.join("; "));
    }
    println!(
        "sizes: {} files, none over {MOST_LINES} lines, all with the header",
        files.len()
    );
    Ok(())
}

fn has_header(text: &str) -> bool {
    text.lines().take(2).eq(HEADER)
}

/// Counts the lines above the module of unit tests. Only a module that closes at the very end is one: code below it counts.
fn counted_lines(text: &str) -> usize {
    let lines: Vec<_> = text.lines().collect();
    let tail = lines
        .windows(2)
        .position(|pair| pair[0] == "#[cfg(test)]" && pair[1] == "mod tests {");
    match tail {
        Some(start)
            if lines.iter().skip(start).position(|line| *line == "}")
                == Some(lines.len() - start - 1) =>
        {
            start
        }
        _ => lines.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_of_tests_is_not_counted() {
        assert_eq!(
            counted_lines("a\nb\n#[cfg(test)]\nmod tests {\n    c\n}\n"),
            2
        );
        assert_eq!(counted_lines("a\nb\n"), 2);
    }

    #[test]
    fn code_below_the_tests_is_counted_with_them() {
        assert_eq!(
            counted_lines("#[cfg(test)]\nmod tests {\n}\nfn late() {\n}\n"),
            5
        );
    }

    #[test]
    fn both_lines_of_the_header_are_wanted() {
        assert!(has_header(&format!(
            "{}\n{}\n\nfn f() {{}}\n",
            HEADER[0], HEADER[1]
        )));
        assert!(!has_header(&format!("{}\n", HEADER[0])));
        assert!(!has_header(&format!("\n{}\n{}\n", HEADER[0], HEADER[1])));
    }

    #[test]
    fn a_file_that_is_too_long_fails_by_name() {
        let root = tempfile::tempdir().unwrap();
        let long = format!(
            "{}\n{}\n{}",
            HEADER[0],
            HEADER[1],
            "// x\n".repeat(MOST_LINES)
        );
        std::fs::create_dir(root.path().join("tests")).unwrap();
        std::fs::write(root.path().join("tests/long.rs"), &long).unwrap();
        check(root.path()).unwrap();
        std::fs::write(root.path().join("long.rs"), &long).unwrap();
        let error = check(root.path()).unwrap_err().to_string();
        assert!(error.contains("long.rs has 1002 lines"), "{error}");
    }
}
