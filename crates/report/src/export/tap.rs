// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! TAP version 13, as kselftest prints and reads it: a line a case, `# SKIP` behind what was not judged. KTAP readers take it.

use std::io::{self, Write};

use super::cases::{Case, Outcome};

/// Writes cases as TAP.
///
/// # Errors
///
/// Fails as `out` does.
pub fn tap(cases: &[Case], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "TAP version 13\n1..{}", cases.len())?;
    for (number, case) in (1..).zip(cases) {
        let ok = match case.outcome {
            Outcome::Passed | Outcome::Skipped => "ok",
            Outcome::Failed | Outcome::Error => "not ok",
        };
        let name = plain(&format!("{} {}", case.suite, case.name));
        let detail = line(&case.detail);
        match case.outcome {
            Outcome::Skipped => writeln!(out, "{ok} {number} {name} # SKIP {detail}")?,
            Outcome::Error => {
                writeln!(out, "{ok} {number} {name}\n# could not be judged: {detail}")?;
            }
            Outcome::Passed | Outcome::Failed => {
                writeln!(out, "{ok} {number} {name}\n# {detail}")?;
            }
        }
    }
    Ok(())
}

/// A description: nothing in it is taken for a number, a directive or a line of its own. Version 13 has no way to write a `#` that
/// begins no directive, and readers differ in what they make of `\#`: it is the full-width one.
fn plain(text: &str) -> String {
    line(text).replace('#', "＃")
}

fn line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_from_elsewhere_is_no_directive_and_no_line() {
        let case = |outcome, name: &str| Case {
            suite: "run a".to_owned(),
            name: name.to_owned(),
            outcome,
            detail: "why\nnot ok 9".to_owned(),
        };
        let cases = [
            case(Outcome::Failed, "x # TODO later\nok 2 y"),
            case(Outcome::Skipped, "z"),
            case(Outcome::Error, "e"),
            case(Outcome::Failed, "x\\# TODO"),
        ];
        let mut out = Vec::new();
        tap(&cases, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "TAP version 13\n1..4\n\
             not ok 1 run a x ＃ TODO later ok 2 y\n# why not ok 9\n\
             ok 2 run a z # SKIP why not ok 9\n\
             not ok 3 run a e\n# could not be judged: why not ok 9\n\
             not ok 4 run a x\\＃ TODO\n# why not ok 9\n"
        );
    }
}
