// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Lines, paragraphs and tables in a number of columns.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::document::Table;
use crate::number::clean;
use punctual_model::Ordered as _;

/// Columns that words in a table need at least.
const WORDS: usize = 16;

/// Writes `label`, of `indent` columns, and `text` next to it in lines of `most` columns, broken between words.
pub(crate) fn labelled(most: usize, indent: usize, label: &str, text: &str) -> String {
    let pad = indent.saturating_sub(label.width()).max(1);
    let label = format!("{label}{}", " ".repeat(pad));
    wrapped(most, &label, indent, text)
}

/// Writes `lead` and `text` in lines of `most` columns, broken between words, with the further lines indented. A list
/// without blanks that is longer than a line is broken after its commas.
pub(crate) fn wrapped(most: usize, lead: &str, indent: usize, text: &str) -> String {
    let mut out = lead.to_owned();
    let mut column = lead.width();
    let mut first = true;
    for word in text.split_whitespace() {
        let is_long = indent + word.width() > most;
        let mut blank = 1;
        for part in word.split_inclusive(|c| is_long && c == ',') {
            let width = part.width();
            if first {
                first = false;
            } else if column + blank + width > most {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', indent));
                column = indent;
            } else {
                out.extend(std::iter::repeat_n(' ', blank));
                column += blank;
            }
            out.push_str(part);
            column += width;
            blank = 0;
        }
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// Longest heading that is never broken between its words, in characters.
const SHORT: usize = 8;

/// A column as it is laid out.
struct Laid {
    name: String,
    figures: bool,
    rank: u8,
    cells: Vec<String>,
    /// Columns that it takes.
    width: usize,
}

impl Laid {
    fn widest(&self, of: impl Fn(&str) -> usize) -> usize {
        let cells = self.cells.iter().map(|cell| of(cell)).max();
        cells.unwrap_or(0)
    }

    /// Columns that nothing is broken in.
    fn natural(&self) -> usize {
        self.widest(|cell| cell.width()).max(self.name.width())
    }

    /// Columns that its longest word takes; figures are one word.
    fn longest_word(&self) -> usize {
        match self.figures {
            true => self.widest(|cell| cell.width()),
            false => {
                self.widest(|cell| cell.split(' ').map(|word| word.width()).max().unwrap_or(0))
            }
        }
    }

    /// Columns that it can do with: headings break, and so do words that are many.
    fn least(&self) -> usize {
        let word = |text: &str| text.split(' ').map(|word| word.width()).max();
        let word = |text: &str| word(text).unwrap_or(0);
        let cells = match self.figures {
            true => self.widest(|cell| cell.width()),
            false => {
                let whole = self.widest(|cell| cell.width());
                whole.min(self.widest(word).max(WORDS))
            }
        };
        let name = match self.name.width() {
            0..=SHORT => self.name.width(),
            _ => word(&self.name),
        };
        cells.max(name)
    }
}

/// Keeps a unit in one piece: an instruction count is no time that was read from a clock.
fn whole(text: &str) -> String {
    clean(text).trim().replace("virtual µs", "virtual\u{a0}µs")
}

/// The columns of a table, those put together that are written as one.
fn laid(table: &Table) -> Vec<Laid> {
    let mut columns: Vec<Laid> = Vec::new();
    for (at, column) in table.columns.iter().enumerate() {
        let cells = table.rows.iter().map(|row| row.get(at));
        let mut cells = cells.map(|cell| whole(cell.map_or("", String::as_str)));
        let name = whole(&column.name);
        match (column.behind, columns.last_mut()) {
            (Some(between), Some(before)) => {
                before.name += between;
                before.name += name.trim_start_matches(between.trim()).trim_start();
                for cell in &mut before.cells {
                    if let Some(more) = cells.next().filter(|c| !matches!(c.as_str(), "" | "-")) {
                        cell.push_str(between);
                        cell.push_str(&more);
                    }
                }
            }
            _ => columns.push(Laid {
                name,
                figures: column.figures,
                rank: column.rank,
                cells: cells.collect(),
                width: 0,
            }),
        }
    }
    columns
}

/// Writes the columns and rows of a table in lines of `most` columns. Where it is wider, headings and words are
/// broken; if that is not enough, columns go that matter less, and a line says which.
pub(crate) fn grid(most: usize, table: &Table) -> String {
    let mut columns = laid(table);
    let mut left_out = Vec::new();
    for column in &mut columns {
        column.width = column.least();
    }
    let needed = |columns: &[Laid], apart: usize| {
        let widths = columns.iter().map(|c| c.width + apart).sum::<usize>();
        (widths + 1).saturating_sub(apart)
    };
    while needed(&columns, 2) > most {
        let ranked = columns.iter().enumerate().filter(|(_, c)| c.rank > 0);
        let Some((_, least)) = ranked.max_by_key(|(at, c)| (c.rank, *at)) else {
            break;
        };
        // Those of one name, or of one behind that of their group, are a figure of several groups: one alone
        // would mislead.
        let key = |column: &Laid| {
            let figure = column.name.rsplit(": ").next();
            (column.rank, figure.unwrap_or_default().to_owned())
        };
        let least = key(least);
        let (gone, stay): (Vec<Laid>, Vec<Laid>) =
            columns.into_iter().partition(|column| key(column) == least);
        columns = stay;
        let mut gone: Vec<String> = gone.into_iter().map(|column| column.name).collect();
        gone.dedup();
        left_out.splice(0..0, gone);
    }
    let apart = if needed(&columns, 2) <= most { 2 } else { 1 };
    while needed(&columns, apart) > most {
        let wide = columns.iter_mut().filter(|c| c.width > WORDS / 2);
        // A word that is cut in the middle is no word: those that break between words give room first.
        let Some(widest) = wide.max_by_key(|c| (c.width > c.longest_word(), !c.figures, c.width))
        else {
            break;
        };
        widest.width -= 1;
    }
    // What lacks least is satisfied first.
    let mut room = most.saturating_sub(needed(&columns, apart));
    let mut order: Vec<&mut Laid> = columns.iter_mut().collect();
    order.order_by_key(|c| c.natural().saturating_sub(c.width));
    for column in order {
        let more = column.natural().saturating_sub(column.width).min(room);
        column.width += more;
        room -= more;
    }
    let mut text = String::new();
    if columns.iter().any(|column| !column.name.is_empty()) {
        text += &row(&columns, apart, |column| &column.name);
    }
    for at in 0..table.rows.len() {
        text += &row(&columns, apart, |column| {
            column.cells.get(at).map_or("", String::as_str)
        });
    }
    if !left_out.is_empty() {
        let said = format!("A wider terminal also shows: {}.", left_out.join(", "));
        text += &wrapped(most, " ", 1, &said);
    }
    text
}

fn row<'a>(columns: &'a [Laid], apart: usize, cell: impl Fn(&'a Laid) -> &'a str) -> String {
    let cells: Vec<Vec<String>> = columns.iter().map(|c| folded(cell(c), c.width)).collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let mut text = String::new();
    for line in 0..height {
        let mut out = " ".to_owned();
        for (at, (column, lines)) in columns.iter().zip(&cells).enumerate() {
            let part = lines.get(line).map_or("", String::as_str);
            let pad = " ".repeat(column.width.saturating_sub(part.width()));
            out += if at > 0 { &"  "[..apart] } else { "" };
            let (before, after) = match column.figures {
                true => (pad.as_str(), ""),
                false => ("", pad.as_str()),
            };
            out.extend([before, part, after]);
        }
        text += out.replace('\u{a0}', " ").trim_end();
        text.push('\n');
    }
    text
}

/// Breaks text between words, and words that are longer than a line.
fn folded(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let line = |lines: &mut Vec<String>, part: &str| match lines.last_mut() {
        Some(last) if last.is_empty() => last.push_str(part),
        Some(last) if last.width() + 1 + part.width() <= width => {
            last.push(' ');
            last.push_str(part);
        }
        _ => lines.push(part.to_owned()),
    };
    if text.width() <= width {
        return vec![text.to_owned()];
    }
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let is_long = word.width() > width;
        let mut part = String::new();
        let mut taken = 0;
        for letter in word.chars() {
            let wide = letter.width().unwrap_or(0);
            if is_long && taken + wide > width && !part.is_empty() {
                line(&mut lines, &part);
                part.clear();
                taken = 0;
            }
            part.push(letter);
            taken += wide;
        }
        line(&mut lines, &part);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_break_between_words_and_keep_long_ones() {
        let long = "x".repeat(120);
        let text = labelled(
            80,
            10,
            "Label",
            &format!("{} {long} end", "word ".repeat(20)),
        );
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].starts_with("Label     word word"));
        assert!(lines[0].len() <= 80);
        assert_eq!(lines[2], format!("          {long}"));
        assert_eq!(lines[3], "          end");
        assert_eq!(labelled(80, 10, "Label", ""), "Label\n");
    }

    #[test]
    fn a_list_without_blanks_breaks_after_commas_where_it_is_too_long() {
        let text = wrapped(20, "", 2, "two a,b,c copy,scale,add,triad,chase end");
        assert_eq!(text, "two a,b,c copy,\n  scale,add,triad,\n  chase end\n");
    }

    #[test]
    fn a_table_without_columns_is_nothing() {
        assert_eq!(grid(80, &Table::new("", &[])), "");
    }

    #[test]
    fn a_text_with_several_blanks_in_a_row_is_broken_too() {
        assert_eq!(folded("a  name   of words", 6), ["a name", "of", "words"]);
        assert_eq!(folded("   ", 2), [""]);
        assert_eq!(folded("abcdef", 0), ["a", "b", "c", "d", "e", "f"]);
    }

    #[test]
    fn a_word_of_a_megabyte_is_folded_like_any_other() {
        // In time that grows with its square this would take hours.
        let long = "x".repeat(1 << 20);
        assert_eq!(folded(&long, 16).len(), 1 << 16);
    }

    #[test]
    fn letters_of_two_columns_stay_within_the_lines() {
        assert_eq!(folded("測定した遅延", 5), ["測定", "した", "遅延"]);
        let mut table = Table::new("", &["<Name", "p50", "<Verdict"]);
        let wide = "測定".repeat(40);
        table.rows = vec![
            [
                wide.as_str(),
                "10.1",
                "e\u{301}tat 測定 of 遅延".repeat(4).as_str(),
            ]
            .map(str::to_owned)
            .into(),
        ];
        for most in [40, 80] {
            let text = grid(most, &table);
            assert!(text.lines().all(|line| line.width() <= most), "{text}");
            let kept: String = text.split_whitespace().collect();
            assert_eq!(kept.matches('測').count(), 44, "{text}");
        }
        let text = labelled(80, 10, "測定した", "text");
        assert_eq!(text, "測定した  text\n");
    }

    #[test]
    fn a_word_is_not_cut_where_another_column_can_break_between_its_words() {
        let mut table = Table::new("", &["<Setting", "<Which", "<Value", "<Writable"]);
        let name = "kernel.sched_deadline_period_min_us";
        let row = [
            name,
            "eth0 ifb0 ifb1 of",
            "a value of words",
            "no: permission denied",
        ];
        table.rows = vec![row.map(str::to_owned).into()];
        let text = grid(80, &table);
        assert!(text.contains(name), "{text}");
        assert!(text.contains("permission"), "{text}");
    }

    #[test]
    fn a_table_breaks_words_first_and_then_leaves_out_what_matters_less() {
        let mut table = Table::new(
            "",
            &["<Name", "p50", "..High", "?Mean", "??Min", "<Verdict"],
        );
        let row = [
            "long-name",
            "10.1",
            "12.2",
            "11.0",
            "9.0",
            "not distinguishable at all",
        ];
        table.rows = vec![row.map(str::to_owned).into()];
        assert_eq!(
            grid(56, &table),
            "\x20Name        p50 .. High  Mean  Min  Verdict
 long-name  10.1 .. 12.2  11.0  9.0  not distinguishable
                                     at all\n"
        );
        let narrow = grid(44, &table);
        assert!(narrow.contains("distinguishable at\n"), "{narrow}");
        assert!(
            narrow.ends_with(" A wider terminal also shows: Mean, Min.\n"),
            "{narrow}"
        );
        assert!(narrow.lines().all(|line| line.width() <= 48), "{narrow}");
    }
}
