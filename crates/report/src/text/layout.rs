// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Lines, paragraphs and tables.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Row, Table, presets};

use super::WIDTH;
pub(crate) use punctual_verdict::words::clean;

/// Columns that the labels of paragraphs take.
const LABEL: usize = 10;

/// Writes `label`, and `text` beside it, broken between words.
pub(crate) fn paragraph(label: &str, text: &str) -> String {
    let label = match label.chars().count() < LABEL {
        true => format!("{label:<LABEL$}"),
        false => format!("{label} "),
    };
    wrapped(&label, LABEL, text)
}

/// Writes `lead` and `text`, broken between words, with the further lines indented.
pub(crate) fn wrapped(lead: &str, indent: usize, text: &str) -> String {
    wrapped_to(WIDTH, lead, indent, text)
}

/// The same in lines of `width` columns.
pub(crate) fn wrapped_to(most: usize, lead: &str, indent: usize, text: &str) -> String {
    let mut out = lead.to_owned();
    let mut column = lead.chars().count();
    let mut first = true;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if first {
            first = false;
        } else if column + 1 + width > most {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        } else {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// Columns that broken text needs at least.
const TEXT: usize = 16;

/// How the cells of a column are set.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Column {
    /// Words.
    Left,
    /// Numbers.
    Right,
    /// Text of any length, broken where it does not fit.
    Text,
}

/// Writes a table without lines, indented by one column.
///
/// Columns are two apart, or one where the table would be wider than the page. What is wider even
/// then is broken: text if there is such a column, else the widest cells.
pub(crate) fn table(header: &[(&str, Column)], rows: Vec<Vec<String>>) -> String {
    table_to(WIDTH, header, rows)
}

/// The same in lines of `most` columns.
pub(crate) fn table_to(most: usize, header: &[(&str, Column)], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(most).unwrap_or(u16::MAX))
        .set_header(header.iter().map(|(name, _)| Cell::new(name)));
    for row in rows {
        table.add_row(Row::from(row));
    }
    let has_text = header.iter().any(|(_, kind)| *kind == Column::Text);
    let widths = table.column_max_content_widths();
    let needed = header.iter().zip(&widths).map(|((_, kind), width)| {
        let width = usize::from(*width);
        match kind {
            Column::Text => width.min(TEXT),
            Column::Left | Column::Right => width,
        }
    });
    let fits = needed.sum::<usize>() + 2 * widths.len() <= most;
    for ((_, kind), column) in header.iter().zip(table.column_iter_mut()) {
        column.set_padding((1, u16::from(fits)));
        column.set_cell_alignment(match kind {
            Column::Left | Column::Text => CellAlignment::Left,
            Column::Right => CellAlignment::Right,
        });
        if has_text && *kind != Column::Text {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    let mut text = table.trim_fmt();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_break_between_words_and_keep_long_ones() {
        let long = "x".repeat(120);
        let text = paragraph("Label", &format!("{} {long} end", "word ".repeat(30)));
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].starts_with("Label     word word"));
        assert!(lines[0].len() <= WIDTH);
        assert_eq!(lines[2], format!("          {long}"));
        assert_eq!(lines[3], "          end");
        assert_eq!(paragraph("Label", ""), "Label\n");
    }
}
