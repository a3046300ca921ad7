// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The options that a source tree has: its Kconfig files, read for one purpose, to say why an option did not
//! become what was asked of it.
//!
//! Kconfig itself silently drops what it cannot honour. Here each definition of an option is kept with what it
//! depends on, its own and that of the menus and `if`s around it, whether it has a prompt (else nobody can set it),
//! and who selects it, and what values it takes. The language is that of Documentation/kbuild/kconfig-language.rst;
//! defaults and help texts are passed over.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::expression::{Expr, closing};
use crate::file::read_whole;

/// No tree has more such files: 6.12 has some 1,700.
const MOST_FILES: usize = 20_000;
/// No such file is longer: the longest of 6.12 has 100 KB.
const LONGEST: u64 = 4 << 20;
/// Nor are all that are read together: those of 6.12 have 5 MB.
const LONGEST_ALL: usize = 64 << 20;
/// No file includes others deeper.
const DEEPEST: usize = 64;

/// The options of a source tree.
#[derive(Debug, Default)]
pub(crate) struct Kconfig {
    pub(crate) options: BTreeMap<String, Vec<Definition>>,
    /// Who selects an option, and on what condition.
    pub(crate) selected: BTreeMap<String, Vec<(String, Condition)>>,
    /// Members of each choice.
    pub(crate) choices: Vec<Vec<String>>,
    /// Files that were read.
    pub(crate) files: usize,
}

/// A condition, or the text that was not understood.
pub(crate) type Condition = Result<Expr, String>;

/// One place that defines an option.
#[derive(Clone, Debug, Default)]
pub(crate) struct Definition {
    /// `kernel/Kconfig.preempt:63`.
    pub(crate) place: String,
    /// All that it depends on.
    pub(crate) depends: Vec<Condition>,
    /// Whether a user can set it, and on what condition.
    pub(crate) prompt: Option<Option<Condition>>,
    /// On what conditions of the menus and the choice around it a user can set it: `visible if`.
    pub(crate) visible: Vec<Condition>,
    /// The choice that it is a member of.
    pub(crate) choice: Option<usize>,
    /// What its values are, where that is said here.
    pub(crate) kind: Option<Kind>,
    /// The least and the greatest value, as numbers or options that have them, and on what condition.
    pub(crate) ranges: Vec<(String, String, Option<Condition>)>,
}

/// What the values of an option are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    Bool,
    Tristate,
    String,
    /// A number, decimal or not.
    Number,
}

impl Kind {
    fn of(word: &str) -> Option<Self> {
        match word {
            "bool" | "def_bool" => Some(Self::Bool),
            "tristate" | "def_tristate" => Some(Self::Tristate),
            "string" => Some(Self::String),
            "int" | "hex" => Some(Self::Number),
            _ => None,
        }
    }
}

/// The tree's options cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("read {}", path.display())]
pub struct KconfigError {
    path: PathBuf,
    source: std::io::Error,
}

impl Kconfig {
    /// Returns what the values of an option are.
    pub(crate) fn kind(&self, name: &str) -> Option<Kind> {
        let definitions = self.options.get(name)?;
        definitions.iter().find_map(|definition| definition.kind)
    }

    /// Reads the options of the tree in `root` for the architecture directory `srcarch` (`x86`, `arm64`).
    ///
    /// # Errors
    ///
    /// Fails where the top file cannot be read. Others that are missing are passed over, as `osource` does.
    pub(crate) fn read(root: &Path, srcarch: &str) -> Result<Self, KconfigError> {
        let top = root.join("Kconfig");
        let mut reader = Reader {
            root,
            srcarch,
            found: Self::default(),
            around: Vec::new(),
            choice: None,
            depth: 0,
            read: 0,
            reading: BTreeSet::new(),
        };
        let text =
            read_whole(&top, LONGEST).map_err(|source| KconfigError { path: top, source })?;
        reader.file("Kconfig", &String::from_utf8_lossy(&text));
        Ok(reader.found)
    }
}

/// What a line in a block belongs to.
#[derive(Clone, Debug)]
enum Open {
    Option {
        name: String,
        definition: Definition,
    },
    /// The menu, `if`, or choice at this place of `around`.
    Block(usize),
    Nothing,
}

#[derive(Debug)]
struct Around {
    kind: &'static str,
    depends: Vec<Condition>,
    visible: Vec<Condition>,
}

#[derive(Debug)]
struct Reader<'a> {
    root: &'a Path,
    srcarch: &'a str,
    found: Kconfig,
    around: Vec<Around>,
    choice: Option<usize>,
    depth: usize,
    /// Bytes of all files.
    read: usize,
    reading: BTreeSet<String>,
}

impl Reader<'_> {
    fn file(&mut self, name: &str, text: &str) {
        self.found.files += 1;
        let mut open = Open::Nothing;
        let mut lines = text.lines().enumerate().peekable();
        while let Some((index, line)) = lines.next() {
            let mut whole = line.to_owned();
            while whole.ends_with('\\') {
                whole.pop();
                match lines.next() {
                    Some((_, more)) => whole.push_str(more),
                    None => break,
                }
            }
            let line = whole.trim();
            let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            if matches!(word, "help" | "---help---") {
                pass_help(&mut lines);
                continue;
            }
            let place = format!("{name}:{}", index + 1);
            self.line(&mut open, word, rest.trim(), place, name);
        }
        self.close(&mut open);
    }

    fn line(&mut self, open: &mut Open, word: &str, rest: &str, place: String, name: &str) {
        match word {
            "config" | "menuconfig" => {
                self.close(open);
                let depends = self.around.iter().flat_map(|a| a.depends.clone()).collect();
                let visible = self.around.iter().flat_map(|a| a.visible.clone()).collect();
                *open = Open::Option {
                    name: rest.to_owned(),
                    definition: Definition {
                        place,
                        depends,
                        visible,
                        choice: self.choice,
                        ..Definition::default()
                    },
                };
            }
            "menu" | "choice" => {
                self.close(open);
                if word == "choice" {
                    self.found.choices.push(Vec::new());
                    self.choice = Some(self.found.choices.len() - 1);
                }
                self.begin(if word == "menu" { "menu" } else { "choice" }, Vec::new());
                *open = Open::Block(self.around.len() - 1);
            }
            "if" => {
                self.close(open);
                self.begin("if", vec![condition(rest)]);
            }
            "endmenu" => self.end(open, "menu"),
            "endif" => self.end(open, "if"),
            "endchoice" => {
                self.end(open, "choice");
                self.choice = None;
            }
            "comment" | "mainmenu" => {
                self.close(open);
                *open = Open::Nothing;
            }
            "source" | "osource" | "rsource" | "orsource" => {
                self.close(open);
                self.source(word, rest, name);
            }
            _ => self.property(open, word, rest),
        }
    }

    fn property(&mut self, open: &mut Open, word: &str, rest: &str) {
        let depends = (word == "depends").then(|| dependency(rest));
        if let Open::Option { definition, .. } = open {
            definition.kind = definition.kind.or_else(|| Kind::of(word));
        }
        match open {
            Open::Option { name, definition } => match word {
                "range" => {
                    let mut bounds = rest.split_whitespace().map(str::to_owned);
                    if let (Some(least), Some(most)) = (bounds.next(), bounds.next()) {
                        definition.ranges.push((least, most, after_if(rest)));
                    }
                }
                "depends" => definition.depends.extend(depends),
                "bool" | "tristate" | "string" | "int" | "hex" | "prompt" if !rest.is_empty() => {
                    definition.prompt = Some(after_if(rest));
                }
                "select" => {
                    let selected = rest.split_whitespace().next().unwrap_or_default();
                    let when = after_if(rest).unwrap_or_else(|| Ok(Expr::Symbol("y".into())));
                    let by = self.found.selected.entry(selected.to_owned()).or_default();
                    by.push((name.clone(), when));
                }
                _ => {}
            },
            Open::Block(at) => {
                if let Some(around) = self.around.get_mut(*at) {
                    around.depends.extend(depends);
                    if matches!(word, "visible" | "prompt" | "bool" | "tristate") {
                        around.visible.extend(after_if(rest));
                    }
                }
            }
            Open::Nothing => {}
        }
    }

    fn source(&mut self, word: &str, rest: &str, name: &str) {
        let path = rest.trim_matches('"').replace("$(SRCARCH)", self.srcarch);
        let path = path.replace("$SRCARCH", self.srcarch);
        let path = if word.contains("rsource") {
            let above = Path::new(name).parent().unwrap_or_else(|| Path::new(""));
            above.join(path).to_string_lossy().into_owned()
        } else {
            path
        };
        let outside = path.starts_with('/') || path.split('/').any(|part| part == "..");
        let limit = self.depth >= DEEPEST || self.found.files >= MOST_FILES;
        if outside || limit || path.contains('$') || self.reading.contains(&path) {
            return;
        }
        let Ok(text) = read_whole(&self.root.join(&path), LONGEST) else {
            return;
        };
        self.read += text.len();
        if self.read > LONGEST_ALL {
            return;
        }
        self.depth += 1;
        self.reading.insert(path.clone());
        self.file(&path, &String::from_utf8_lossy(&text));
        self.reading.remove(&path);
        self.depth -= 1;
    }

    fn begin(&mut self, kind: &'static str, depends: Vec<Condition>) {
        self.around.push(Around {
            kind,
            depends,
            visible: Vec::new(),
        });
    }

    fn end(&mut self, open: &mut Open, kind: &str) {
        self.close(open);
        if self.around.last().is_some_and(|around| around.kind == kind) {
            self.around.pop();
        }
    }

    /// Takes the option that was being read.
    fn close(&mut self, open: &mut Open) {
        if let Open::Option { name, definition } = std::mem::replace(open, Open::Nothing) {
            let members = definition
                .choice
                .and_then(|at| self.found.choices.get_mut(at));
            if let Some(members) = members {
                members.push(name.clone());
            }
            self.found.options.entry(name).or_default().push(definition);
        }
    }
}

/// Reads what stands behind `depends`.
fn dependency(rest: &str) -> Condition {
    let text = rest.strip_prefix("on").unwrap_or(rest);
    Expr::dependency(text).ok_or_else(|| text.trim().to_owned())
}

fn condition(text: &str) -> Condition {
    Expr::parse(text).ok_or_else(|| text.trim().to_owned())
}

/// Returns the condition behind the `if` of a property, which is no part of a text or a macro.
fn after_if(rest: &str) -> Option<Condition> {
    let mut at = 0;
    while let Some(tail) = rest.get(at..).filter(|tail| !tail.is_empty()) {
        let first = tail.chars().next()?;
        if matches!(first, '"' | '\'') {
            at += 1 + tail.get(1..)?.find(first)? + 1;
        } else if tail.starts_with("$(") {
            at += closing(tail)?;
        } else if let Some(text) = tail.strip_prefix("if ") {
            return Some(condition(text));
        } else if first.is_whitespace() {
            at += first.len_utf8();
        } else {
            at += tail.find(char::is_whitespace)?;
        }
    }
    None
}

/// Passes over a help text: it ends with the first line that is indented less than its own first one.
fn pass_help<'a>(lines: &mut std::iter::Peekable<impl Iterator<Item = (usize, &'a str)>>) {
    let mut own = None;
    while let Some((_, line)) = lines.peek() {
        if !line.trim().is_empty() {
            let indent = indent(line);
            let least = *own.get_or_insert(indent);
            if indent == 0 || indent < least {
                return;
            }
        }
        lines.next();
    }
}

fn indent(line: &str) -> usize {
    let mut columns = 0;
    for c in line.chars() {
        match c {
            ' ' => columns += 1,
            '\t' => columns = columns / 8 * 8 + 8,
            _ => break,
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn tree(files: &[(&str, &str)]) -> Kconfig {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Kconfig::read(dir.path(), "x86").unwrap()
    }

    fn depends(kconfig: &Kconfig, name: &str) -> Vec<String> {
        let all = kconfig.options[name].iter().flat_map(|d| &d.depends);
        all.map(|d| d.as_ref().unwrap().to_string()).collect()
    }

    #[test]
    fn an_option_has_what_it_and_all_around_it_depends_on() {
        let kconfig = tree(&[
            (
                "Kconfig",
                "mainmenu \"x\"\nsource \"arch/$(SRCARCH)/Kconfig\"\nsource \"no/such\"\n",
            ),
            (
                "arch/x86/Kconfig",
                "menu \"m\"\n\tdepends on NET\nif A || B\n\nconfig X\n\tbool \"x if y\" if EXPERT\n\tdepends on C && \\\n\
                 \t\t!D\n\thelp\n\t  Text. config NOT\n\n\t  depends on E\n\tselect S if T\n\nendif\nendmenu\n\
                 config Z\n\tdef_bool y\n\tdepends on $(cc-option,-x)\n",
            ),
        ]);
        assert_eq!(depends(&kconfig, "X"), ["NET", "A || B", "C && !D"]);
        let prompt = kconfig.options["X"][0].prompt.clone().unwrap().unwrap();
        assert_eq!(prompt.unwrap().to_string(), "EXPERT");
        assert_eq!(kconfig.options["X"][0].place, "arch/x86/Kconfig:5");
        assert_eq!(depends(&kconfig, "Z"), ["$(cc-option,-x)"]);
        assert!(kconfig.options["Z"][0].prompt.is_none());
        assert_eq!(kconfig.selected["S"][0].0, "X");
        assert!(!kconfig.options.contains_key("NOT"));
        assert_eq!(kconfig.files, 2);
    }

    #[test]
    fn an_option_has_its_kind_and_its_ranges() {
        let kconfig = tree(&[(
            "Kconfig",
            "config N\n\tint \"n\" if EXPERT\n\trange 2 MOST if SMP\n\trange 1 1\nconfig S\n\tstring\n\
             config M\n\tdef_tristate y\nconfig B\n\tprompt \"b\"\n\tbool\n",
        )]);
        let range = &kconfig.options["N"][0].ranges;
        assert_eq!((range[0].0.as_str(), range[0].1.as_str()), ("2", "MOST"));
        let when = range[0].2.clone().unwrap().unwrap();
        assert_eq!(
            (when.to_string().as_str(), range[1].2.is_none()),
            ("SMP", true)
        );
        let kinds = ["N", "S", "M", "B", "none"].map(|name| kconfig.kind(name));
        assert_eq!(
            kinds,
            [
                Some(Kind::Number),
                Some(Kind::String),
                Some(Kind::Tristate),
                Some(Kind::Bool),
                None
            ]
        );
    }

    #[test]
    fn members_of_a_choice_know_it() {
        let text = "choice\n\tprompt \"p\"\n\tdefault N\n\tdepends on Q\nconfig N\n\tbool \"n\"\nconfig P\n\tbool \"p\"\n\
                    endchoice\nconfig O\n\tbool \"o\"\n";
        let kconfig = tree(&[("Kconfig", text)]);
        assert_eq!(kconfig.choices, [["N", "P"]]);
        assert_eq!(kconfig.options["P"][0].choice, Some(0));
        assert_eq!(kconfig.options["O"][0].choice, None);
        assert_eq!(depends(&kconfig, "P"), ["Q"]);
        assert!(depends(&kconfig, "O").is_empty());
    }

    #[test]
    fn a_file_that_includes_itself_or_lies_outside_is_passed_over() {
        let kconfig = tree(&[
            ("Kconfig", "source \"a\"\nsource \"../../etc/passwd\"\n"),
            ("a", "source \"a\"\nconfig A\n"),
        ]);
        assert_eq!(kconfig.files, 2);
        assert!(kconfig.options.contains_key("A"));
    }
}
