// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The string literals and documentation comments of a Rust file.

use super::Passage;

/// Returns what people read of a Rust file, without the module of unit tests at its end.
pub(super) fn passages(text: &str) -> Vec<Passage> {
    let text = text
        .split_once("#[cfg(test)]\nmod tests {")
        .map_or(text, |(above, _)| above);
    let mut scan = Scan {
        text,
        at: 0,
        found: Vec::new(),
        comment_ends: None,
    };
    while let Some(c) = text[scan.at..].chars().next() {
        scan.step(c);
    }
    scan.found
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    found: Vec<Passage>,
    /// The line in which a documentation comment may go on.
    comment_ends: Option<usize>,
}

impl Scan<'_> {
    fn line(&self, at: usize) -> usize {
        self.text[..at].matches('\n').count() + 1
    }

    fn step(&mut self, c: char) {
        let rest = &self.text[self.at..];
        if rest.starts_with("//") {
            self.comment(rest.lines().next().unwrap_or(rest));
        } else if c == '"' {
            self.literal(rest);
        } else if let Some(hashes) = raw_string(rest, self.text[..self.at].chars().next_back()) {
            let start = self.at + 2 + hashes;
            let end = format!("\"{}", "#".repeat(hashes));
            let length = self.text[start..]
                .find(&end)
                .unwrap_or(self.text.len() - start);
            self.keep(start, start + length);
            self.at = (start + length + end.len()).min(self.text.len());
        } else if let Some(length) = character(rest) {
            self.at += length;
        } else {
            self.at += c.len_utf8();
        }
    }

    fn comment(&mut self, whole: &str) {
        let line = self.line(self.at);
        if let Some(doc) = ["///", "//!"]
            .iter()
            .find_map(|mark| whole.strip_prefix(mark))
        {
            match self.found.last_mut() {
                Some(last) if self.comment_ends == Some(line) => {
                    last.text.push('\n');
                    last.text.push_str(doc);
                }
                _ => self.found.push(Passage {
                    line,
                    text: doc.to_owned(),
                }),
            }
            self.comment_ends = Some(line + 1);
        }
        self.at += whole.len();
    }

    fn literal(&mut self, rest: &str) {
        let mut escaped = false;
        let length = rest[1..]
            .find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            })
            .unwrap_or(rest.len() - 1);
        self.keep(self.at + 1, self.at + 1 + length);
        self.at = (self.at + length + 2).min(self.text.len());
    }

    /// Keeps a literal; a backslash at the end of a line joins the next one.
    fn keep(&mut self, start: usize, end: usize) {
        self.comment_ends = None;
        self.found.push(Passage {
            line: self.line(start),
            text: self.text[start..end].replace("\\\n", "\n"),
        });
    }
}

/// Returns the number of hashes of a raw string that begins here.
fn raw_string(rest: &str, before: Option<char>) -> Option<usize> {
    if before.is_some_and(|c| c.is_alphanumeric() && c != 'b' && c != 'c' || c == '_') {
        return None;
    }
    let behind = rest.strip_prefix('r')?;
    let hashes = behind.len() - behind.trim_start_matches('#').len();
    behind[hashes..].starts_with('"').then_some(hashes)
}

/// Returns the length of a character literal that begins here; a lifetime is none.
fn character(rest: &str) -> Option<usize> {
    let mut inside = rest.strip_prefix('\'')?.char_indices();
    match inside.next()?.1 {
        '\\' => {
            inside.next()?;
            inside.find(|(_, c)| *c == '\'').map(|(at, _)| at + 2)
        }
        _ => {
            let (at, end) = inside.next()?;
            (end == '\'').then_some(at + 2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<(usize, String)> {
        passages(source)
            .into_iter()
            .map(|passage| (passage.line, passage.text))
            .collect()
    }

    #[test]
    fn literals_and_documentation_are_read_and_code_and_tests_are_not() {
        let source = "//! One\n//! two\nuse a;\n// three\n\
            fn f<'a>(c: char) -> &'a str {\n    let _ = ['\"', '\\'', b'x'];\n    g(r#\"four \"it\" \"#);\n    \
            \"five \\\"six\\\" \\\n     seven\"\n}\n#[cfg(test)]\nmod tests {\n    \"eight\"\n}\n";
        let found = texts(source);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0], (1, " One\n two".to_owned()));
        assert_eq!(found[1], (7, "four \"it\" ".to_owned()));
        assert_eq!(found[2].0, 8);
        assert!(found[2].1.ends_with("six\\\" \n     seven"), "{found:?}");
    }
}
