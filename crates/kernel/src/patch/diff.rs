// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Reads a patch as a unified diff, as git and diff(1) write it.

use std::collections::BTreeSet;

use super::error::SeriesError;

/// What a line of a patch says, where it is no part of a message.
enum Line<'a> {
    /// A path of a header, with a time stamp behind it.
    Path(&'a str),
    /// One that nothing stands behind, so that it may have blanks.
    Name(&'a str),
    /// A path that git has moved or copied.
    Renamed(&'a str),
    /// A line that patch(1) gets, with its end.
    Kept(&'a [u8]),
    /// A change that is not text.
    Binary,
    /// A header that no hunk follows.
    Empty,
}

/// How git says that it has moved or copied a file.
const RENAMES: [&str; 4] = ["rename from ", "rename to ", "copy from ", "copy to "];
/// Further lines that git writes in front of hunks.
const EXTENDED: [&str; 7] = [
    "index ",
    "old mode ",
    "new mode ",
    "new file mode ",
    "deleted file mode ",
    "similarity index ",
    "dissimilarity index ",
];

/// One patch.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Patch {
    /// Name as the series has it.
    pub name: String,
    /// Its text.
    pub text: Vec<u8>,
    /// How many leading parts of the paths are no part of the tree.
    pub strip: usize,
}

impl Patch {
    /// Returns the files that it touches, also those that it renames from and to.
    pub(crate) fn files(&self) -> BTreeSet<String> {
        let mut files = BTreeSet::new();
        self.read(&mut |line| match line {
            Line::Path(path) => files.extend(self.path(path)),
            Line::Name(name) => files.extend(self.name(name)),
            // These have no a/ and b/ in front.
            Line::Renamed(path) => drop(files.insert(unquoted(path.trim()))),
            Line::Kept(_) | Line::Binary | Line::Empty => {}
        });
        files
    }

    /// Requires that all of it is what patch(1) puts in: what it leaves out, it leaves out silently.
    pub(super) fn check(&self) -> Result<(), SeriesError> {
        let (mut binary, mut empty) = (false, self.files().is_empty());
        self.read(&mut |line| match line {
            Line::Binary => binary = true,
            Line::Empty => empty = true,
            Line::Path(_) | Line::Name(_) | Line::Renamed(_) | Line::Kept(_) => {}
        });
        let name = self.name.clone();
        match (binary, empty) {
            (true, _) => Err(SeriesError::Binary { name }),
            (false, true) => Err(SeriesError::Nothing { name }),
            (false, false) => Ok(()),
        }
    }

    /// Returns its headers and hunks and nothing around them: patch(1) takes lines of a message for an ed script, and
    /// runs that.
    pub(crate) fn diffs(&self) -> Vec<u8> {
        let mut diffs = Vec::new();
        self.read(&mut |line| {
            if let Line::Kept(line) = line {
                diffs.extend_from_slice(line);
            }
        });
        diffs
    }

    /// Reads it as a unified diff, as git and diff(1) write it.
    fn read(&self, heard: &mut dyn FnMut(Line<'_>)) {
        let mut lines = self.text.split_inclusive(|byte| *byte == b'\n').peekable();
        // Lines that a hunk still has: a removed line may begin with `-- `.
        let mut left = (0_u64, 0_u64);
        let mut behind_hunk = false;
        while let Some(raw) = lines.next() {
            if left != (0, 0) {
                match raw.first() {
                    Some(b'-') => left.0 = left.0.saturating_sub(1),
                    Some(b'+') => left.1 = left.1.saturating_sub(1),
                    Some(b'\\') => {}
                    _ => left = (left.0.saturating_sub(1), left.1.saturating_sub(1)),
                }
                behind_hunk = true;
                heard(Line::Kept(raw));
                continue;
            }
            // That the file does not end in a newline belongs to the line before.
            if std::mem::take(&mut behind_hunk) && raw.starts_with(b"\\ ") {
                heard(Line::Kept(raw));
                continue;
            }
            let line = String::from_utf8_lossy(raw);
            let line = line.trim_end_matches(['\n', '\r']);
            if let Some(header) = line.strip_prefix("@@ ") {
                left = hunk(header).unwrap_or_default();
                heard(Line::Kept(raw));
            } else if let Some(path) = line.strip_prefix("--- ") {
                let Some(next) = lines.next_if(|next| next.starts_with(b"+++ ")) else {
                    continue;
                };
                let other = String::from_utf8_lossy(next.get(4..).unwrap_or_default());
                heard(Line::Path(path));
                heard(Line::Path(other.trim_end_matches(['\n', '\r'])));
                heard(Line::Kept(raw));
                heard(Line::Kept(next));
                if !lines.peek().is_some_and(|next| next.starts_with(b"@@ ")) {
                    heard(Line::Empty);
                }
            } else if let Some(path) = RENAMES.iter().find_map(|word| line.strip_prefix(word)) {
                heard(Line::Renamed(path));
                heard(Line::Kept(raw));
            } else if let Some(both) = line.strip_prefix("diff --git ") {
                // Empty files and changes of mode have no other lines.
                let names = two_names(both);
                if let Some((a, b)) = names {
                    heard(Line::Name(a));
                    heard(Line::Name(b));
                }
                match names {
                    // patch(1) reads a name up to its first blank, unless it is in quotes.
                    Some((a, b)) if a.contains(' ') && !a.starts_with('"') => {
                        heard(Line::Kept(
                            format!("diff --git \"{a}\" \"{b}\"\n").as_bytes(),
                        ));
                    }
                    _ => heard(Line::Kept(raw)),
                }
            } else if line == "GIT binary patch"
                || (line.starts_with("Binary files ") && line.ends_with(" differ"))
            {
                heard(Line::Binary);
            } else if EXTENDED.iter().any(|word| line.starts_with(word)) {
                heard(Line::Kept(raw));
            }
        }
    }

    /// Strips a path of a header, without the time stamp behind it; nothing for `/dev/null`.
    pub(super) fn path(&self, header: &str) -> Option<String> {
        match header.split_once('\t') {
            _ if header.starts_with('"') => self.name(header),
            // A name with blanks has a tab behind it.
            Some((path, _)) => self.name(path.trim_end()),
            // Without a tab a time stamp follows a blank.
            None => self.name(header.split(' ').next()?),
        }
    }

    /// Strips a name that has nothing behind it.
    pub(super) fn name(&self, name: &str) -> Option<String> {
        let path = unquoted(name);
        if path == "/dev/null" {
            return None;
        }
        let mut rest = path.as_str();
        for _ in 0..self.strip {
            rest = rest.split_once('/')?.1.trim_start_matches('/');
        }
        (!rest.is_empty()).then(|| rest.to_owned())
    }
}

/// Splits `a/NAME b/NAME`. Names with blanks are in quotes, or told apart where they are the same.
pub(super) fn two_names(both: &str) -> Option<(&str, &str)> {
    let both = both.trim();
    // What was moved has lines that say so; anything else has the same name twice.
    let middle = both.len() / 2;
    let halves = both
        .split_at_checked(middle)
        .and_then(|(a, b)| Some((a, b.strip_prefix(' ')?)));
    let below = |name: &str| name.split_once('/').map(|(_, name)| name.to_owned());
    if let Some((a, b)) = halves.filter(|(a, b)| below(a).is_some() && below(a) == below(b)) {
        return Some((a, b));
    }
    let end = match both.strip_prefix('"') {
        Some(inner) => {
            let mut escaped = false;
            let end = inner.bytes().position(|byte| {
                let ends = byte == b'"' && !escaped;
                escaped = byte == b'\\' && !escaped;
                ends
            });
            end? + 2
        }
        None => both.find(char::is_whitespace)?,
    };
    let (a, b) = both.split_at_checked(end)?;
    let b = b.trim_start();
    let one = b.starts_with('"') || !b.contains(char::is_whitespace);
    (one && !b.is_empty()).then_some((a, b))
}

/// Takes a name out of the quotes that git puts it in for its characters, as C does: `"a/\303\266\t"`.
fn unquoted(name: &str) -> String {
    let Some(inner) = name.strip_prefix('"') else {
        return name.to_owned();
    };
    let mut bytes = Vec::new();
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next().filter(|byte| *byte != b'"') {
        let byte = match byte {
            b'\\' => match rest.next() {
                Some(b'a') => 0x07,
                Some(b'b') => 0x08,
                Some(b't') => b'\t',
                Some(b'n') => b'\n',
                Some(b'v') => 0x0b,
                Some(b'f') => 0x0c,
                Some(b'r') => b'\r',
                Some(digit @ b'0'..=b'3') => {
                    let digits = [Some(digit), rest.next(), rest.next()];
                    let digits = digits.into_iter().flatten();
                    digits.fold(0, |value: u8, digit| {
                        value
                            .wrapping_mul(8)
                            .wrapping_add(digit.wrapping_sub(b'0') & 7)
                    })
                }
                Some(itself) => itself,
                None => break,
            },
            byte => byte,
        };
        bytes.push(byte);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads `-12,5 +12,7 @@`: how many lines of the old and of the new file follow.
fn hunk(header: &str) -> Option<(u64, u64)> {
    let mut words = header.split_whitespace();
    let mut count = |sign: char| {
        let word = words.next()?.strip_prefix(sign)?;
        word.split_once(',')
            .map_or(Some(1), |(_, count)| count.parse().ok())
    };
    Some((count('-')?, count('+')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(text: &str) -> Patch {
        Patch {
            name: "p".to_owned(),
            text: text.as_bytes().to_vec(),
            strip: 1,
        }
    }

    #[test]
    fn every_file_that_a_patch_touches_is_found_and_nothing_else() {
        let text = "From: x\n\n--- not a header\n\n diff\n---\ndiff --git a/a.c b/a.c\n--- a/a.c\t2026-01-01\n+++ b/a.c\n\
                    @@ -1,2 +1,2 @@\n--- a/no.c\n+++ b/no.c\n x\n\
                    --- /dev/null\n+++ b/new/n.c\n@@ -0,0 +1 @@\n+x\n\
                    diff --git a/old b/moved\nrename from old\nrename to moved\n";
        let files: Vec<String> = patch(text).files().into_iter().collect();
        assert_eq!(files, ["a.c", "moved", "new/n.c", "old"]);
    }

    #[test]
    fn names_with_blanks_and_in_quotes_are_read_as_git_writes_them() {
        let text = "diff --git a/d/with space.txt b/d/with space.txt\n--- a/d/with space.txt\t\n+++ b/d/with space.txt\t\n\
                    @@ -1 +1 @@\n-1\n+2\n\
                    --- /dev/null\n+++ \"b/d/\\303\\266 \\\"\\t.c\"\n@@ -0,0 +1 @@\n+x\n\
                    diff --git a/m b/\"n x\"\nrename from old name\nrename to \"new \\303\\244\"\n\
                    diff --git \"a/e \\\\\" \"b/e \\\\\"\nnew file mode 100644\n\
                    --- a/stamped.c 2026-01-01 10:00\n+++ b/stamped.c\t2026-01-01\n@@ -1 +1 @@\n-1\n+2\n";
        let files: Vec<String> = patch(text).files().into_iter().collect();
        let expected = [
            "d/with space.txt",
            "d/ö \"\t.c",
            "e \\",
            "new ä",
            "old name",
            "stamped.c",
        ];
        assert_eq!(files, expected);
    }

    #[test]
    fn a_change_of_mode_of_a_name_with_blanks_has_one_file() {
        let text = "diff --git a/d/m x.sh b/d/m x.sh\nold mode 100644\nnew mode 100755\n\
                    diff --git a/e b/e b/e b/e\nnew file mode 100644\nindex 000..e69\n\
                    diff --git a/f.c b/f.c\nold mode 100644\nnew mode 100755\n";
        let files: Vec<String> = patch(text).files().into_iter().collect();
        assert_eq!(files, ["d/m x.sh", "e b/e", "f.c"]);
    }

    #[test]
    fn patch_gets_headers_and_hunks_alone() {
        let text = "From: x\n\n1d\n!touch /tmp/x\n.\n---\n f | 2\ndiff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n\
                    @@ -1 +1 @@\n-1\n+2\n\\ No newline at end of file\n2d\n-- \n2.39\n";
        let diffs = String::from_utf8(patch(text).diffs()).unwrap();
        assert_eq!(
            diffs,
            "diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+2\n\\ No newline at end of file\n"
        );
    }
}
