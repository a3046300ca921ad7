// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options in one word, separated by commas.

/// Splits at single commas; two are one of the text.
pub fn split_options(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let comma = c == ',' && rest.next_if_eq(&',').is_none();
        match pieces.last_mut() {
            Some(last) if !comma => last.push(c),
            _ => pieces.push(String::new()),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_commas_are_one_of_the_text() {
        assert_eq!(split_options("a,b=1,,2,c"), ["a", "b=1,2", "c"]);
        assert_eq!(split_options(""), [""]);
    }
}
