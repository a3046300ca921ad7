// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Taking the text of a load apart.

use super::registry::KINDS;
use super::settings::last_setting;

/// The parts of a load.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Words<'a> {
    pub(super) name: &'a str,
    pub(super) size: Option<&'a str>,
    pub(super) given: Vec<(&'a str, &'a str)>,
}

/// Splits `NAME[:SIZE][@KEY=VALUE]...`. Of free text only settings that every load has are split
/// off its end, and a lone `@` keeps what is before it together.
pub(super) fn split(text: &str) -> Result<Words<'_>, String> {
    let head = text.split(['@', ':']).next().unwrap_or_default();
    if free().any(|name| name == head) {
        return Ok(split_free(text));
    }
    let mut parts = text.split('@');
    let head = parts.next().unwrap_or_default();
    let mut given = Vec::new();
    for part in parts {
        given.push(part.split_once('=').ok_or_else(|| {
            format!("`@{part}` is not a setting; use @KEY=VALUE, such as @intensity=50%")
        })?);
    }
    let (name, size) = named(head);
    Ok(Words { name, size, given })
}

/// Splits the first load of a list from the others. Behind a comma that separates there is no
/// digit: then it goes on with a list of CPUs.
pub(super) fn first(list: &str) -> (&str, Option<&str>) {
    if free().any(|name| is_named(list, name)) {
        return (list, None);
    }
    let separates = |(at, _): &(usize, &str)| {
        let next = list.as_bytes().get(at + 1);
        !next.is_some_and(u8::is_ascii_digit)
    };
    match list.match_indices(',').find(separates) {
        Some((at, _)) => (&list[..at], Some(&list[at + 1..])),
        None => (list, None),
    }
}

/// The names of loads whose size is free text.
fn free() -> impl Iterator<Item = &'static str> {
    let kinds = KINDS.iter().filter(|kind| kind.is_free_text);
    kinds.map(|kind| kind.name)
}

fn is_named(text: &str, name: &str) -> bool {
    text.strip_prefix(name)
        .is_some_and(|rest| rest.starts_with(':'))
}

fn named(head: &str) -> (&str, Option<&str>) {
    match head.split_once(':') {
        Some((name, size)) => (name, Some(size)),
        None => (head, None),
    }
}

fn split_free(text: &str) -> Words<'_> {
    let mut given = Vec::new();
    let mut rest = text;
    while let Some((head, last)) = last_setting(rest) {
        given.push(last);
        rest = head;
    }
    given.reverse();
    let (name, size) = named(rest.strip_suffix('@').unwrap_or(rest));
    Words { name, size, given }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_text_keeps_its_commas_and_signs() {
        let words = split("cmd:scp a,b me@host:c@x=y@nice=3@cpus=0,1").unwrap();
        let wanted = Words {
            name: "cmd",
            size: Some("scp a,b me@host:c@x=y"),
            given: vec![("nice", "3"), ("cpus", "0,1")],
        };
        assert_eq!(words, wanted);
        assert_eq!(split("cmd:x@nice=3@").unwrap().size, Some("x@nice=3"));
    }

    #[test]
    fn free_text_is_the_last_of_its_list() {
        assert_eq!(first("cmd:a,cpu"), ("cmd:a,cpu", None));
        assert_eq!(first("cpu,cmd:a,cpu"), ("cpu", Some("cmd:a,cpu")));
        assert_eq!(first("cmd,cpu"), ("cmd", Some("cpu")));
        assert_eq!(first("cmdx:1,cpu"), ("cmdx:1", Some("cpu")));
    }
}
