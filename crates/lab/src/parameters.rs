// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Parameters of an experiment's file: values that are given when it is carried out.
//!
//! A section `[parameters]` has the names and their values. The string `"$name"` anywhere below or above
//! stands for the whole value, whatever its type; `${name}` inside of a string for its text. A value may
//! be another parameter. Filling changes no line's number, so that errors name the line of the file.

use toml::{Table, Value};

use crate::error::LabError;

/// How often a value may be another parameter, which may be another.
const DEPTH: usize = 4;

/// Returns the text with its parameters filled in: those of `given`, or else the file's own.
///
/// A text without the section comes back as it is.
///
/// # Errors
///
/// [`LabError::File`] if `given` has a parameter that the file does not, if a `$name` is none, or if
/// the section is not written as `[parameters]`.
pub fn fill(file: &str, text: &str, given: &Table) -> Result<String, LabError> {
    let fail = |line: usize, reason: String| LabError::File {
        file: file.to_owned(),
        line,
        reason,
    };
    let own = match text.parse::<Table>() {
        Ok(table) => table.get("parameters").cloned(),
        // Reading the experiment reports what is wrong with it, with its line.
        Err(_) => return Ok(text.to_owned()),
    };
    let Some(own) = own else {
        if let Some(name) = given.keys().next() {
            return Err(fail(1, format!("`{name}`: the file has no [parameters]")));
        }
        return Ok(text.to_owned());
    };
    let header = |line: &str| line.trim() == "[parameters]";
    let (Value::Table(mut values), Some(at)) = (own, text.lines().position(header)) else {
        return Err(fail(
            1,
            "parameters: expected a section [parameters]".to_owned(),
        ));
    };
    for (name, value) in given {
        if !values.contains_key(name) {
            let names: Vec<&str> = values.keys().map(String::as_str).collect();
            let reason = format!(
                "`{name}`: no such parameter; parameters are {}",
                names.join(", ")
            );
            return Err(fail(at + 1, reason));
        }
        values.insert(name.clone(), value.clone());
    }
    let mut inside = false;
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let begins = line.trim_start().starts_with('[');
        if header(line) {
            inside = true;
            lines.push("# The parameters are filled in below.".to_owned());
            continue;
        }
        // A line of a longer value begins with a bracket at most when it is indented.
        if inside && begins && !line.starts_with([' ', '\t']) {
            inside = false;
        }
        if inside {
            lines.push(String::new());
        } else {
            lines.push(of_line(line, &values).map_err(|reason| fail(number, reason))?);
        }
    }
    Ok(lines.join("\n") + "\n")
}

/// Returns the value of a parameter, through those that it names.
fn value<'a>(values: &'a Table, name: &str) -> Result<&'a Value, String> {
    let mut name = name;
    for _ in 0..DEPTH {
        let found = values.get(name);
        let found = found.ok_or_else(|| format!("${name}: there is no such parameter"))?;
        match found.as_str().and_then(|text| text.strip_prefix('$')) {
            Some(other) if !other.starts_with('{') => name = other,
            _ => return Ok(found),
        }
    }
    Err(format!(
        "${name}: parameters refer to each other in a circle"
    ))
}

fn is_part_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

fn of_line(line: &str, values: &Table) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        let after = from.get(1..).unwrap_or_default();
        let braced = after.strip_prefix('{');
        let name = braced.unwrap_or(after);
        let end = name.find(|c| !is_part_of_name(c)).unwrap_or(name.len());
        let (name, tail) = name.split_at(end);
        if name.is_empty() {
            out.push_str(before);
            out.push('$');
            rest = after;
            continue;
        }
        if let (Some(_), Some(tail)) = (braced, tail.strip_prefix('}')) {
            let text = match value(values, name)? {
                Value::String(text) => text.clone(),
                Value::Array(_) | Value::Table(_) => {
                    return Err(format!(
                        "${{{name}}}: a list or a table cannot be part of a text"
                    ));
                }
                other => other.to_string(),
            };
            out.push_str(before);
            out.push_str(&text);
            rest = tail;
        } else if let (Some(head), Some(tail)) = (before.strip_suffix('"'), tail.strip_prefix('"'))
        {
            out.push_str(head);
            out.push_str(&literal(value(values, name)?));
            rest = tail;
        } else {
            // A dollar of the file's own.
            out.push_str(before);
            out.push('$');
            rest = after;
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// Writes a value on one line.
fn literal(value: &Value) -> String {
    match value {
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(literal).collect();
            format!("[{}]", values.join(", "))
        }
        Value::Table(table) => {
            let pairs = table.iter().map(|(key, value)| {
                let key = Value::String(key.clone());
                format!("{key} = {}", literal(value))
            });
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"name = "x"
[parameters]
time = "2s"
blocks = 3
levels = "$few"
few = { none = "0", some = "$time" }
[[measure]]
options = { duration = "$time", costs = "5 $", load = "cpu:${blocks}" }
levels = "$levels"
[stop]
blocks = "$blocks"
"#;

    fn given(text: &str) -> Table {
        text.parse().unwrap()
    }

    #[test]
    fn values_of_any_type_are_filled_in_and_lines_keep_their_numbers() {
        let filled = fill("x", TEXT, &given("blocks = 7")).unwrap();
        let lines: Vec<&str> = filled.lines().collect();
        assert_eq!(lines.len(), TEXT.lines().count());
        assert_eq!(
            lines[7],
            r#"options = { duration = "2s", costs = "5 $", load = "cpu:7" }"#
        );
        assert_eq!(lines[8], r#"levels = { "none" = "0", "some" = "$time" }"#);
        assert_eq!(lines[10], "blocks = 7");
        assert!(!filled.contains("[parameters]"));
    }

    #[test]
    fn a_text_without_parameters_is_left_alone() {
        let text = "name = \"$x\"";
        assert_eq!(fill("x", text, &Table::new()).unwrap(), text);
    }

    #[test]
    fn what_is_no_parameter_is_an_error_with_its_line() {
        for (text, values, part) in [
            (TEXT, "block = 7", "line 2: `block`: no such parameter"),
            ("name = 1", "a = 1", "no [parameters]"),
            ("[parameters]\na = 1\n[x]\ny = \"$b\"", "", "line 4: $b"),
            (
                "[parameters]\na = \"$a\"\n[x]\ny = \"$a\"",
                "",
                "refer to each other",
            ),
            (
                "[parameters]\na = []\n[x]\ny = \"u${a}\"",
                "",
                "cannot be part of a text",
            ),
        ] {
            let err = fill("x", text, &given(values)).unwrap_err().to_string();
            assert!(err.contains(part), "{err}");
        }
    }
}
