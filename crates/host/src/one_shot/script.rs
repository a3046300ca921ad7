// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! GRUB's scripts, read as its own lexer reads them (GRUB's manual, *Shell-like scripting*), for one question: which
//! entry they make the default after the choice of the next boot was taken.

use std::iter::Peekable;
use std::str::Chars;

use super::grub::CHOICE;

/// Words behind which a command begins.
const LEADS: [&str; 10] = [
    "if", "elif", "then", "else", "while", "until", "do", "!", "fi", "done",
];

/// Where a script is read from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Since {
    /// Its first command.
    Start,
    /// The end of the `if` that makes the choice the default.
    Choice,
}

/// Returns what a script sets `default` to. What an entry does when it is started is not looked at.
pub(super) fn sets_default(script: &str, since: Since) -> Option<String> {
    let mut counts = since == Since::Start;
    // How deep in `if` it is, there and where the choice is used.
    let (mut ifs, mut used) = (0_usize, None);
    // What is in braces: whether it is an entry.
    let (mut open, mut entry) = (Vec::new(), false);
    for command in commands(script) {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let set = match words.as_slice() {
            ["set", assignment, ..] | [assignment, ..] => assignment.strip_prefix("default="),
            _ => None,
        };
        match words.first().copied().unwrap_or_default() {
            "{" => open.push(entry),
            "}" => {
                open.pop();
            }
            "if" => ifs += 1,
            "fi" => {
                ifs = ifs.saturating_sub(1);
                if used.is_some_and(|depth| ifs < depth) {
                    (counts, used) = (true, None);
                }
            }
            _ => {}
        }
        entry = matches!(words.first(), Some(&("menuentry" | "submenu")));
        if open.contains(&true) {
            continue;
        }
        match set {
            Some(value) if is_choice(value) && ifs == 0 => counts = true,
            Some(value) if is_choice(value) => used = Some(ifs),
            Some(value) if counts => return Some(value.to_owned()),
            _ => {}
        }
    }
    None
}

fn is_choice(value: &str) -> bool {
    let name = value.strip_prefix('$').unwrap_or_default();
    name.trim_matches(['{', '}']) == CHOICE
}

/// Splits a script into commands of words without their quotes. Braces and the words of `if` are commands of their own.
fn commands(script: &str) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    let mut command: Vec<String> = Vec::new();
    let mut rest = script.chars().peekable();
    while let Some(&next) = rest.peek() {
        match next {
            '\n' | ';' | '{' | '}' | '|' | '&' | '<' | '>' => {
                rest.next();
                all.push(std::mem::take(&mut command));
                if matches!(next, '{' | '}') {
                    all.push(vec![next.to_string()]);
                }
            }
            _ if next.is_whitespace() => {
                rest.next();
            }
            '#' => while rest.next_if(|sign| *sign != '\n').is_some() {},
            _ => {
                command.push(word(&mut rest));
                if let [lead] = command.as_slice()
                    && LEADS.contains(&lead.as_str())
                {
                    all.push(std::mem::take(&mut command));
                }
            }
        }
    }
    all.push(command);
    all.retain(|command| !command.is_empty());
    all
}

/// Takes a word. `#` is a part of it, and what is in quotes, or behind a backslash.
fn word(rest: &mut Peekable<Chars<'_>>) -> String {
    let mut word = String::new();
    while let Some(&next) = rest.peek() {
        if next.is_whitespace() || "{}|&;<>".contains(next) {
            break;
        }
        rest.next();
        match next {
            '\'' => word.extend(rest.by_ref().take_while(|sign| *sign != '\'')),
            '"' => {
                while let Some(sign) = rest.next().filter(|sign| *sign != '"') {
                    match sign {
                        '\\' => word.extend(rest.next()),
                        _ => word.push(sign),
                    }
                }
            }
            // A line goes on behind a backslash.
            '\\' => word.extend(rest.next().filter(|sign| *sign != '\n')),
            '$' => {
                word.push(next);
                if rest.peek() == Some(&'{') {
                    word.extend(rest.by_ref().take_while(|sign| *sign != '}'));
                    word.push('}');
                }
            }
            _ => word.push(next),
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_that_is_set_at_once_is_found() {
        for script in [
            "set default=x",
            "default=x\n",
            "set timeout=5; set 'default'=\"x\"",
            "# mine\n\tset default='x' # so\n",
            "if [ -z \"${a}\" ]; then set default=x; fi",
            "if true\nthen\n  true\nelse set default=x\nfi",
            "menuentry 'a' { true }\nset default=x",
            "set defau\\\nlt=x",
            "set timeout=5#; default=x",
        ] {
            let found = sets_default(script, Since::Start);
            assert_eq!(found.as_deref(), Some("x"), "{script}");
        }
        for script in [
            "",
            "# set default=x",
            "echo set default=x",
            "set timeout=5 # set\n# default=x",
            "menuentry 'a' --id 'b' {\n  set default=x\n}",
            "submenu 'a' {\n  menuentry 'b' { true }\n  set default=x\n}",
            "set my_default=x",
            "echo 'a\nset default=x\n'",
        ] {
            assert_eq!(sets_default(script, Since::Start), None, "{script}");
        }
    }

    #[test]
    fn what_is_set_before_or_instead_of_the_choice_is_what_the_choice_overrides() {
        let header = "set default=1\nif [ \"${next_entry}\" ] ; then\n  set default=\"${next_entry}\"\n  set next_entry=\n\
                      \x20 if true; then true; fi\nelse\n  set default=\"0\"\nfi\nset timeout=5\n";
        assert_eq!(sets_default(header, Since::Choice), None);
        let after = format!("{header}if [ \"$a\" = 0 ]; then set default=1; fi");
        assert_eq!(sets_default(&after, Since::Choice).as_deref(), Some("1"));
    }
}
