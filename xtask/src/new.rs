// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A new instrument, load or rule: its file, its line in the table, its test. What is made compiles and works; what it
//! says in parentheses is to be written.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use clap::Subcommand;

use crate::files::read;

/// Make the files of a new instrument, load or rule
#[derive(Debug, Subcommand)]
pub(crate) enum New {
    /// A way to measure: crates/measure, crates/punctual/src/instruments, model's table, a test
    Instrument {
        /// Its name, such as futex
        name: String,
    },
    /// Something that disturbs: crates/measure/src/loads, and a row of the test of every load
    Load {
        /// Its name, such as mmap
        name: String,
    },
    /// Something that `doctor` looks at
    Rule {
        /// The file below crates/host/src/doctor/rules, such as memory
        file: String,
        /// The rule's id, such as swap-on
        id: String,
    },
}

/// Writes what `new` asks for, and says what is left to do.
pub(crate) fn make(root: &Path, new: &New) -> anyhow::Result<()> {
    let mut edits = Edits::of(root);
    let left = match new {
        New::Instrument { name } => instrument(&mut edits, name)?,
        New::Load { name } => load(&mut edits, name)?,
        New::Rule { file, id } => rule(&mut edits, file, id)?,
    };
    for path in edits.write()? {
        println!("{}", path.display());
    }
    println!(
        "Next: write what stands in parentheses there, {left}, then `cargo xtask generate` and `make check`."
    );
    Ok(())
}

fn instrument(edits: &mut Edits<'_>, name: &str) -> anyhow::Result<&'static str> {
    let words = Words::of(name, '_')?;
    edits.create(
        &format!("crates/measure/src/{name}.rs"),
        &words.fill(include_str!("../templates/measure.rs.txt")),
    )?;
    edits.add_sorted("crates/measure/src/lib.rs", &format!("pub mod {name};"))?;
    let options = format!("crates/punctual/src/instruments/{name}.rs");
    edits.create(
        &options,
        &words.fill(include_str!("../templates/instrument.rs.txt")),
    )?;
    let table = "crates/punctual/src/instruments.rs";
    edits.add_sorted(table, &format!("mod {name};"))?;
    let line = words.fill("    /// Measure (say what)\n    {Name} = {name}::{Name}Args,\n");
    edits.add_to(table, "instruments! {\n", "}\n", &line)?;
    let entry = words.fill(
        "        Self {\n            name: \"{name}\",\n            heading: \"(What it measures)\",\n            \
         meaning: \"(what a sample is)\",\n            ..COMMON\n        },\n",
    );
    edits.add_to(
        "crates/model/src/instrument.rs",
        "pub const ALL: &[Self] = &[\n",
        "    ];\n",
        &entry,
    )?;
    let test = format!("crates/punctual/tests/program/{name}.rs");
    edits.create(
        &test,
        &words.fill(include_str!("../templates/instrument_test.rs.txt")),
    )?;
    edits.add_sorted(
        "crates/punctual/tests/program/main.rs",
        &format!("mod {name};"),
    )?;
    Ok("a guide in docs/guide, a case of bad options")
}

fn load(edits: &mut Edits<'_>, name: &str) -> anyhow::Result<&'static str> {
    let words = Words::of(name, '_')?;
    edits.create(
        &format!("crates/measure/src/loads/{name}.rs"),
        &words.fill(include_str!("../templates/load.rs.txt")),
    )?;
    edits.add_sorted("crates/measure/src/loads.rs", &format!("mod {name};"))?;
    let line = format!("    &super::{name}::KIND,\n");
    edits.add_to(
        "crates/measure/src/loads/registry.rs",
        "const KINDS: &[&LoadKind] = &[\n",
        "];\n",
        &line,
    )?;
    let row = format!("    (\"{name}:1\", \"rounds\"),\n");
    edits.add_to(
        "crates/punctual/tests/program/every_load.rs",
        "const LOADS: &[(&str, &str)] = &[\n",
        "];\n",
        &row,
    )?;
    Ok("a row in docs/guide/loads.md")
}

fn rule(edits: &mut Edits<'_>, file: &str, id: &str) -> anyhow::Result<&'static str> {
    let words = Words::of(id, '-')?;
    let path = format!("crates/host/src/doctor/rules/{file}.rs");
    let entry = words.fill(include_str!("../templates/rule.rs.txt"));
    edits.add_to(&path, "const RULES: &[Entry] = &[\n", "];\n", &entry)?;
    let check = words.fill(include_str!("../templates/rule_check.rs.txt"));
    edits.append(&path, &check)?;
    Ok(
        "what it reads in crates/host/src/machine/files.rs, a case in crates/host/tests/machines/changes.rs",
    )
}

/// The name as it is written in different places.
#[derive(Debug)]
struct Words {
    name: String,
    snake: String,
    camel: String,
}

impl Words {
    /// Takes a name of small letters and digits, with `between` its words.
    fn of(name: &str, between: char) -> anyhow::Result<Self> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let words: Vec<&str> = name.split(between).collect();
        let good = |word: &&str| {
            word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(plain)
        };
        ensure!(
            words.iter().all(good),
            "`{name}`: must be words of small letters and digits, with `{between}` between them"
        );
        let capital = |word: &&str| {
            let (first, rest) = word.split_at(1);
            first.to_uppercase() + rest
        };
        Ok(Self {
            name: name.to_owned(),
            snake: words.join("_"),
            camel: words.iter().map(capital).collect(),
        })
    }

    fn fill(&self, template: &str) -> String {
        template
            .replace("{name}", &self.name)
            .replace("{snake}", &self.snake)
            .replace("{Name}", &self.camel)
    }
}

/// Changes of files, none of which is written before all are possible.
#[derive(Debug)]
struct Edits<'a> {
    root: &'a Path,
    files: Vec<(PathBuf, String)>,
}

impl<'a> Edits<'a> {
    const fn of(root: &'a Path) -> Self {
        Self {
            root,
            files: Vec::new(),
        }
    }

    fn create(&mut self, path: &str, text: &str) -> anyhow::Result<()> {
        let path = self.root.join(path);
        ensure!(!path.exists(), "{} exists", path.display());
        self.files.push((path, text.to_owned()));
        Ok(())
    }

    fn change(
        &mut self,
        path: &str,
        change: impl FnOnce(&str) -> Option<String>,
    ) -> anyhow::Result<()> {
        let path = self.root.join(path);
        let known = self.files.iter().position(|(of, _)| *of == path);
        let text = match known {
            Some(at) => self.files.swap_remove(at).1,
            None => read(&path).with_context(|| format!("failed to read {}", path.display()))?,
        };
        let Some(changed) = change(&text) else {
            bail!("{}: has not the lines that are looked for", path.display());
        };
        self.files.push((path, changed));
        Ok(())
    }

    /// Adds `line` to the lines that begin with the same words and have nothing between them, in their order.
    fn add_sorted(&mut self, path: &str, line: &str) -> anyhow::Result<()> {
        self.change(path, |text| added_sorted(text, line))
    }

    /// Adds `addition` at the end of what is between `begin` and `end`.
    fn add_to(&mut self, path: &str, begin: &str, end: &str, addition: &str) -> anyhow::Result<()> {
        self.change(path, |text| {
            let at = text.find(begin)? + begin.len();
            let at = at + text.get(at..)?.find(&format!("\n{end}"))? + 1;
            let (before, after) = text.split_at_checked(at)?;
            Some([before, addition, after].concat())
        })
    }

    fn append(&mut self, path: &str, addition: &str) -> anyhow::Result<()> {
        self.change(path, |text| Some([text, addition].concat()))
    }

    fn write(self) -> anyhow::Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for (path, text) in self.files {
            fs::write(&path, text)
                .with_context(|| format!("failed to write {}", path.display()))?;
            paths.push(path);
        }
        Ok(paths)
    }
}

fn added_sorted(text: &str, line: &str) -> Option<String> {
    let words = &line[..line.rfind(' ')? + 1];
    let mut lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|of| of.starts_with(words))?;
    let block = lines.iter().skip(first);
    let count = block.take_while(|of| of.starts_with(words)).count();
    let smaller = |of: &&&str| **of < line;
    let place = lines.iter().skip(first).take(count).filter(smaller).count();
    lines.insert(first + place, line);
    Some(lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::workspace_root;

    #[test]
    fn a_line_is_added_where_it_belongs() {
        let text = "//! x\n\nmod b;\nmod d;\n\nmod z;\n";
        let added = |line| added_sorted(text, line).unwrap();
        assert_eq!(
            added("mod c;"),
            "//! x\n\nmod b;\nmod c;\nmod d;\n\nmod z;\n"
        );
        assert_eq!(
            added("mod a;"),
            "//! x\n\nmod a;\nmod b;\nmod d;\n\nmod z;\n"
        );
        assert_eq!(added_sorted("fn x() {}\n", "mod a;"), None);
    }

    #[test]
    fn names_are_words() {
        assert_eq!(Words::of("two_words", '_').unwrap().camel, "TwoWords");
        assert_eq!(Words::of("swap-on", '-').unwrap().snake, "swap_on");
        for bad in ["", "Caps", "a-b", "_x", "2x", "../x"] {
            assert!(Words::of(bad, '_').is_err(), "{bad}");
        }
    }

    /// Every place that is changed is there, so the tables have not moved away from this program.
    #[test]
    fn all_kinds_can_be_made_in_this_repository() {
        let root = workspace_root();
        let files = |make: &dyn Fn(&mut Edits<'_>) -> anyhow::Result<&'static str>| {
            let mut edits = Edits::of(&root);
            make(&mut edits).unwrap();
            edits.files.len()
        };
        assert_eq!(files(&|edits| instrument(edits, "something")), 7);
        assert_eq!(files(&|edits| load(edits, "something")), 4);
        assert_eq!(files(&|edits| rule(edits, "memory", "some-thing")), 1);
        let taken = instrument(&mut Edits::of(&root), "ipc").unwrap_err();
        assert!(taken.to_string().ends_with("exists"), "{taken}");
    }
}
