// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A document as plain text: the answers, then what they rest on.

use unicode_width::UnicodeWidthStr as _;

use super::Detail;
use super::layout::{grid, labelled, wrapped};
use crate::document::{Answer, Block, Document, Item, More, Table, Tone};
use crate::markdown::drawn;
use crate::number::clean;

/// Lines of prose that are longer are hard to read.
const PROSE: usize = 100;

/// Columns that labels take at least, and at most.
const LABELS: (usize, usize) = (10, 24);

/// Writes a document in lines of `width` columns, without colours.
pub fn page(document: &Document, width: usize, detail: Detail) -> String {
    let writer = Writer { width, detail };
    let mut parts: Vec<String> = Vec::new();
    parts.extend(
        document
            .caveats
            .iter()
            .map(|caveat| writer.prose("", 0, caveat)),
    );
    parts.extend(document.answers.iter().map(|of| writer.answer(of)));
    for section in &document.sections {
        let mut blocks = writer.blocks(&section.blocks);
        if let Some(first) = blocks.first_mut().filter(|_| document.sections.len() > 1) {
            let title = writer.prose("", 0, &section.title);
            let width = title.lines().map(|line| line.width()).max();
            let line = "-".repeat(width.unwrap_or(0));
            *first = format!("{title}{line}\n{first}");
        }
        parts.extend(blocks);
    }
    parts.join("\n")
}

#[derive(Clone, Copy, Debug)]
struct Writer {
    width: usize,
    detail: Detail,
}

impl Writer {
    fn prose(self, lead: &str, indent: usize, text: &str) -> String {
        wrapped(self.width.min(PROSE), lead, indent, &clean(text))
    }

    fn answer(self, answer: &Answer) -> String {
        let (word, sentence) = (clean(&answer.word), clean(&answer.sentence));
        let known = answer.tone == Tone::Plain || is_said(&sentence, &word);
        let mut text = match known {
            true => self.prose("", 2, &sentence),
            false => self.prose("", 2, &format!("{word}: {sentence}")),
        };
        for reason in &answer.validity {
            text += &self.prose("  ", 4, &reason.text);
        }
        text
    }

    fn blocks(self, blocks: &[Block]) -> Vec<String> {
        let written = blocks.iter().map(|block| self.block(block));
        written.filter(|text| !text.is_empty()).collect()
    }

    fn block(self, block: &Block) -> String {
        let full = self.detail == Detail::Full;
        match block {
            Block::Text(text) => self.prose("", 2, text),
            Block::Facts(facts) => self.facts(facts),
            Block::Items(items) => self.items(items),
            Block::Table(table) if full || !table.aside => self.table(table),
            Block::Drawing(drawing, table) => {
                let drawn = drawn(drawing).filter(|_| full);
                let drawn = drawn.map(|drawn| self.prose("", 2, drawing.note()) + &drawn);
                let table = table.as_ref().filter(|table| full || !table.aside);
                let parts = table
                    .map(|table| self.table(table))
                    .into_iter()
                    .chain(drawn);
                parts.collect::<Vec<_>>().join("\n")
            }
            // What few ask for is there for who asks for all.
            Block::Fold(..) if !full => String::new(),
            Block::Part(title, inside) | Block::Fold(title, inside) => {
                let apart = match inside.first() {
                    Some(Block::Items(_) | Block::Facts(_)) => "",
                    _ => "\n",
                };
                self.prose("", 2, title) + apart + &self.blocks(inside).join("\n")
            }
            Block::Table(_) => String::new(),
        }
    }

    fn facts(self, facts: &[(String, String)]) -> String {
        let indent = indent(facts.iter().map(|(name, _)| name));
        let fact = |(name, text): &(String, String)| self.labelled(indent, name, text);
        facts.iter().map(fact).collect()
    }

    fn labelled(self, indent: usize, label: &str, text: &str) -> String {
        labelled(self.width.min(PROSE), indent, &clean(label), &clean(text))
    }

    fn items(self, items: &[Item]) -> String {
        let indent = 1 + indent(items.iter().map(|item| &item.mark));
        let before = " ".repeat(indent);
        let mut text = String::new();
        for item in items {
            text += &self.labelled(indent, &format!(" {}", item.mark), &item.text);
            for more in &item.more {
                match more {
                    More::Aside(_) if self.detail != Detail::Full => {}
                    More::Said(said) | More::Aside(said) => {
                        text += &self.prose(&before, indent, said)
                    }
                    More::Verbatim(lines) => {
                        for line in lines.lines() {
                            text += format!("{before}{}", clean(line)).trim_end();
                            text.push('\n');
                        }
                    }
                }
            }
        }
        text
    }

    fn table(self, table: &Table) -> String {
        let mut text = String::new();
        if !table.caption.is_empty() {
            text += &self.prose("", 2, &table.caption);
        }
        text += &grid(self.width, table);
        for note in &table.notes {
            text += &self.prose(" ", 1, note);
        }
        text
    }
}

/// Whether an answer says its verdict by itself: as whole words, before it goes on to reasons.
fn is_said(sentence: &str, word: &str) -> bool {
    let (sentence, word) = (sentence.to_lowercase(), word.to_lowercase());
    let ends = [": ", ". ", "; "].map(|end| sentence.find(end));
    let first = ends.into_iter().flatten().min();
    let first = first.and_then(|end| sentence.get(..end));
    let first = first.unwrap_or(&sentence);
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    first.match_indices(&word).any(|(at, _)| {
        let (before, rest) = first.split_at(at);
        let after = rest.get(word.len()..).unwrap_or_default();
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

/// Columns for labels, and a space.
fn indent<'a>(labels: impl Iterator<Item = &'a String>) -> usize {
    let widest = labels.map(|label| label.width() + 1).max();
    widest.unwrap_or(0).clamp(LABELS.0, LABELS.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_said_where_its_words_are_and_not_its_letters_or_a_reason() {
        assert!(is_said("Worse than before: p99 is higher.", "worse"));
        assert!(is_said("after is worse than before.", "worse"));
        assert!(!is_said(
            "3 of 9 took longer. Most to blame: a late interrupt.",
            "late"
        ));
        assert!(!is_said("3 of 9 of late_loop took longer.", "late"));
        assert!(!is_said("3 of 9 of isolated took longer.", "late"));
    }
}
