// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The entries of a `grub.cfg` as `grub-mkconfig` writes it, and which of them is the default (GRUB's manual, *Simple
//! configuration* and *Environment block*).

/// The entries.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(in super::super) struct Menu {
    top: Vec<Node>,
    default: String,
}

#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Node {
    title: String,
    id: Option<String>,
    /// The line that names the kernel, without its word `linux`.
    linux: Option<String>,
    /// The entries of a submenu.
    below: Vec<Self>,
}

/// An entry that was found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in super::super) struct Found {
    /// What it starts: the kernel with its arguments, or else its name.
    pub(in super::super) starts: String,
    /// Its name, as `GRUB_DEFAULT` takes it.
    pub(in super::super) name: String,
}

/// What a `{` has opened.
enum Open {
    Entry(Node),
    Submenu(Node),
    Other,
}

impl Menu {
    pub(in super::super) fn parse(config: &str) -> Self {
        let mut menu = Self::default();
        let mut open: Vec<Open> = Vec::new();
        for line in config.lines().map(str::trim) {
            let mut words = line.split_whitespace();
            match words.next().unwrap_or_default() {
                "menuentry" if line.ends_with('{') => open.push(Open::Entry(Node::of(line))),
                "submenu" if line.ends_with('{') => open.push(Open::Submenu(Node::of(line))),
                "}" => {
                    let Some(Open::Entry(node) | Open::Submenu(node)) = open.pop() else {
                        continue;
                    };
                    match open.iter_mut().rev().find_map(Open::submenu) {
                        Some(above) => above.below.push(node),
                        None => menu.top.push(node),
                    }
                }
                "linux" | "linuxefi" | "linux16" => {
                    if let Some(Open::Entry(node)) = open.last_mut()
                        && node.linux.is_none()
                    {
                        node.linux = Some(words.collect::<Vec<_>>().join(" "));
                    }
                }
                "set" => {
                    let value = line
                        .strip_prefix("set default=")
                        .map(|value| value.trim_matches(['"', '\'']));
                    if let Some(value) = value.filter(|value| *value != "${next_entry}") {
                        menu.default = value.to_owned();
                    }
                }
                _ if line.ends_with('{') && !line.starts_with('#') => open.push(Open::Other),
                _ => {}
            }
        }
        menu
    }

    /// Whether an entry starts the kernel of this file name.
    pub(in super::super) fn has(&self, kernel: &str) -> bool {
        self.entries()
            .iter()
            .any(|(_, node)| node.kernel() == Some(kernel))
    }

    /// Returns the entry that is started when nobody chooses; `saved` is what GRUB's environment has as that.
    pub(in super::super) fn chosen(&self, saved: Option<&str>) -> Option<Found> {
        self.resolve(self.chosen_name(saved))
    }

    /// Returns the default as it is written.
    pub(in super::super) fn chosen_name<'a>(&'a self, saved: Option<&'a str>) -> &'a str {
        match self.default.as_str() {
            "${saved_entry}" => saved.unwrap_or("0"),
            name => name,
        }
    }

    /// Returns the entry of this name. GRUB takes the first one where there is none.
    pub(in super::super) fn resolve(&self, name: &str) -> Option<Found> {
        let mut among = &self.top;
        let mut names: Vec<String> = Vec::new();
        for part in name.split('>') {
            let at = among.iter().position(|node| node.is(part));
            let at = at.or_else(|| part.trim().parse().ok());
            let Some(node) = at.and_then(|at| among.get(at)) else {
                break;
            };
            names.push(node.name().to_owned());
            if node.below.is_empty() {
                return Some(node.found(&names));
            }
            among = &node.below;
        }
        let mut first = match names.is_empty() {
            true => self.top.first()?,
            false => among.first()?,
        };
        names.push(first.name().to_owned());
        while let Some(below) = first.below.first() {
            names.push(below.name().to_owned());
            first = below;
        }
        Some(first.found(&names))
    }

    /// Returns a name of what `found` starts that stays its name when entries are added: one that has the kernel's release.
    pub(in super::super) fn lasting(&self, found: &Found) -> String {
        let all = self.entries();
        let same = all.iter().find(|(names, node)| {
            let release = node.kernel().and_then(|kernel| kernel.split_once('-'));
            let named = names
                .last()
                .zip(release)
                .is_some_and(|(name, (_, release))| name.contains(release));
            named && node.found(names).starts == found.starts
        });
        same.map_or_else(|| found.name.clone(), |(names, _)| names.join(">"))
    }

    /// Returns the name that the entry of a kernel of `release` will have, by the example of others.
    pub(in super::super) fn foretold(&self, release: &str) -> Option<String> {
        self.entries().into_iter().find_map(|(mut names, node)| {
            let (_, own) = node.kernel()?.split_once('-')?;
            let last = names.pop()?;
            // What a release is in stands in the name of a whole entry, not of one for recovery.
            let fits = node.id.is_some() && last.contains(own) && !last.contains("recovery");
            fits.then(|| {
                names.push(last.replace(own, release));
                names.join(">")
            })
        })
    }

    /// Lists all entries with the names that lead to them.
    fn entries(&self) -> Vec<(Vec<String>, &Node)> {
        let mut all = Vec::new();
        let mut left: Vec<(Vec<String>, &Node)> = self
            .top
            .iter()
            .rev()
            .map(|node| (Vec::new(), node))
            .collect();
        while let Some((mut names, node)) = left.pop() {
            names.push(node.name().to_owned());
            if node.below.is_empty() {
                all.push((names, node));
            } else {
                left.extend(node.below.iter().rev().map(|below| (names.clone(), below)));
            }
        }
        all
    }
}

impl Open {
    const fn submenu(&mut self) -> Option<&mut Node> {
        match self {
            Self::Submenu(node) => Some(node),
            _ => None,
        }
    }
}

impl Node {
    /// Reads `menuentry 'TITLE' ... $menuentry_id_option 'ID' {`.
    fn of(line: &str) -> Self {
        let id = ["$menuentry_id_option ", "--id "]
            .iter()
            .find_map(|option| line.split_once(option))
            .map(|(_, rest)| quoted(rest));
        let title = line
            .split_once(char::is_whitespace)
            .map_or("", |(_, rest)| rest.trim());
        Self {
            title: quoted(title),
            id,
            ..Self::default()
        }
    }

    fn name(&self) -> &str {
        self.id.as_deref().unwrap_or(&self.title)
    }

    fn is(&self, name: &str) -> bool {
        self.id.as_deref() == Some(name) || self.title == name
    }

    /// Returns the file name of the kernel.
    fn kernel(&self) -> Option<&str> {
        let path = self.linux.as_deref()?.split_whitespace().next()?;
        path.rsplit('/').next()
    }

    fn found(&self, names: &[String]) -> Found {
        let name = names.join(">");
        Found {
            starts: self.linux.clone().unwrap_or_else(|| name.clone()),
            name,
        }
    }
}

impl Found {
    /// Whether it starts the kernel of this file name.
    pub(in super::super) fn is(&self, kernel: &str) -> bool {
        let path = self.starts.split_whitespace().next().unwrap_or_default();
        path.rsplit('/').next() == Some(kernel)
    }
}

/// Reads the first word, with or without quotes.
fn quoted(text: &str) -> String {
    let text = text.trim_start();
    let end = |sign: char| text.get(1..).and_then(|rest| rest.split(sign).next());
    let word = match text.chars().next() {
        Some(sign @ ('\'' | '"')) => end(sign),
        _ => text.split_whitespace().next(),
    };
    word.unwrap_or_default().to_owned()
}
