// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Phrases that nobody should have to read: `docs/banned-phrases.txt`, looked for where people read.
//!
//! That is Markdown, and of the Rust sources the string literals and documentation comments; not the tests, whose
//! words nobody is shown, and no files that are generated or kept as examples.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};

use crate::files;

mod rust;

const PHRASES: &str = "docs/banned-phrases.txt";
/// Made from the sources, or kept as they were.
const LEFT_OUT: [&str; 4] = [
    "docs/examples/",
    "fuzz/",
    "docs/banned-phrases.txt",
    "xtask/src/prose",
];

/// Written by hand next to what is left out.
const WRITTEN: &str = "docs/examples/README.md";

/// Text of a file that is read as a whole, with the line that it begins in.
#[derive(Debug, PartialEq)]
struct Passage {
    line: usize,
    text: String,
}

#[derive(Debug)]
struct Phrase {
    words: String,
    advice: String,
}

#[derive(Debug)]
struct Rules {
    phrases: Vec<Phrase>,
    left_out: Vec<String>,
}

/// Fails with the place of every banned phrase, and what to write in its place.
pub(crate) fn check(root: &Path) -> anyhow::Result<()> {
    let list = root.join(PHRASES);
    let text = files::read(&list).with_context(|| format!("failed to read {}", list.display()))?;
    let rules = parse(&text)?;
    ensure!(!rules.phrases.is_empty(), "{PHRASES} names no phrase");
    let (mut found, mut count) = (String::new(), 0);
    for path in files::files(root, &["md", "rs"])? {
        let name = name(root, &path);
        let mut left_out = rules.left_out.iter();
        let left_out = left_out.any(|left| name.starts_with(left.as_str()));
        if name != WRITTEN && (left_out || is_test(&name)) {
            continue;
        }
        let text =
            files::read(&path).with_context(|| format!("failed to read {}", path.display()))?;
        let passages = if name.ends_with(".md") {
            paragraphs(&text)
        } else {
            rust::passages(&text)
        };
        count += 1;
        for (line, phrase) in passages.iter().flat_map(|passage| rules.hits(passage)) {
            writeln!(
                found,
                "{name}:{line}: \"{}\": write {}",
                phrase.words, phrase.advice
            )?;
        }
    }
    if !found.is_empty() {
        bail!("prose:\n{found}The list is {PHRASES}.");
    }
    println!(
        "prose: {count} files, none of {} phrases",
        rules.phrases.len()
    );
    Ok(())
}

fn name(root: &Path, path: &Path) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .display()
        .to_string()
}

fn is_test(name: &str) -> bool {
    name.contains("/tests/") || name.ends_with("/tests.rs") || name.contains("/examples/")
}

fn parse(text: &str) -> anyhow::Result<Rules> {
    let mut rules = Rules {
        phrases: Vec::new(),
        left_out: LEFT_OUT.iter().map(|&path| path.to_owned()).collect(),
    };
    for (number, line) in text.lines().enumerate() {
        if let Some(path) = line.strip_prefix("! ") {
            rules.left_out.push(path.trim().to_owned());
        } else if let Some((words, advice)) = line.split_once(" => ") {
            rules.phrases.push(Phrase {
                words: words.trim().to_lowercase(),
                advice: advice.trim().to_owned(),
            });
        } else if !line.is_empty() && !line.starts_with('#') {
            bail!("{PHRASES}, line {}: expected PHRASE => ADVICE", number + 1);
        }
    }
    Ok(rules)
}

impl Rules {
    /// Returns the phrases that are in `passage`, each with the line that it begins in.
    fn hits(&self, passage: &Passage) -> Vec<(usize, &Phrase)> {
        let text = passage.text.to_lowercase();
        let mut hits = Vec::new();
        for phrase in &self.phrases {
            for at in occurrences(&text, &phrase.words) {
                hits.push((passage.line + text[..at].matches('\n').count(), phrase));
            }
        }
        hits.sort_by_key(|(line, _)| *line);
        hits
    }
}

/// Returns where `words` stand in `text` as whole words, with any white space between them. A name in backticks or one
/// with hyphens is no word of a sentence.
fn occurrences(text: &str, words: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut words = words.split(' ');
    let Some(first) = words.next() else {
        return found;
    };
    let rest: Vec<_> = words.collect();
    for (at, _) in text.match_indices(first) {
        let mut end = at + first.len();
        let all = rest.iter().all(|word| {
            let behind = text[end..].trim_start();
            let apart = behind.len() < text.len() - end;
            let fits = apart && behind.starts_with(word);
            end = text.len() - behind.len() + word.len();
            fits
        });
        let joins = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '`' | '/' | '{' | '}');
        if all
            && !text[..at].chars().next_back().is_some_and(joins)
            && !text
                .get(end..)
                .and_then(|t| t.chars().next())
                .is_some_and(joins)
        {
            found.push(at);
        }
    }
    found
}

/// Returns the paragraphs of Markdown, without code and what programs printed: that is looked for in the sources.
fn paragraphs(text: &str) -> Vec<Passage> {
    let mut found: Vec<Passage> = Vec::new();
    let (mut open, mut fenced) = (false, false);
    for (index, line) in text.lines().enumerate() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        if fence || fenced || line.trim().is_empty() {
            open = false;
        } else if let (true, Some(last)) = (open, found.last_mut()) {
            last.text.push('\n');
            last.text.push_str(line.trim_start_matches(['>', ' ']));
        } else {
            open = true;
            found.push(Passage {
                line: index + 1,
                text: line.to_owned(),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# Why\n\n! old/\nbeside => under\nan own => its own\n";

    #[test]
    fn a_phrase_is_found_with_its_line_and_the_better_form() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put(PHRASES, LIST);
        put("old/a.md", "beside");
        put("docs/examples/b.md", "beside");
        put("crates/a/tests/c.rs", "/// beside\n");
        put(
            "docs/good.md",
            "`beside`, linpack-beside-product, besides, an owner\n",
        );
        check(root.path()).unwrap();
        put(WRITTEN, "beside");
        put(
            "docs/bad.md",
            "One line.\n\nIt makes an\nown thing. Beside it\n",
        );
        put(
            "src/a.rs",
            "// beside\n/// Beside.\nfn f() {\n    g(\"x\", \"makes \\\n       an own y\");\n}\n",
        );
        let error = check(root.path()).unwrap_err().to_string();
        for line in [
            "docs/examples/README.md:1: \"beside\": write under",
            "docs/bad.md:3: \"an own\": write its own",
            "docs/bad.md:4: \"beside\": write under",
            "src/a.rs:2: \"beside\": write under",
            "src/a.rs:5: \"an own\": write its own",
        ] {
            assert!(error.contains(line), "{line}: {error}");
        }
        assert_eq!(error.lines().count(), 7, "{error}");
    }

    #[test]
    fn a_line_of_the_list_that_is_neither_is_named() {
        let error = parse("beside => under\nbeside\n").unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
    }
}
