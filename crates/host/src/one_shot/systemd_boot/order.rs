// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Which entry systemd-boot starts when none is chosen for one boot: the first that a configured default
//! matches, else the first of all. Entries with a sort-key come first, the others follow by their ids, the highest one
//! first (`boot_entry_compare` in systemd's src/boot).

use std::cmp::Ordering;

use punctual_sys::SysRoot;

use super::{PLACES, list, text};
use crate::profile::glob;

/// The version from which the loader knows sort-keys.
const SORT_KEYS: u32 = 250;
/// What a default may say instead of a pattern: the entry that was started last.
const SAVED: &str = "@saved";

/// Another entry.
struct Other {
    id: String,
    has_key: bool,
}

impl Other {
    /// A unified kernel image: its os-release has an `ID`, which is its sort-key.
    const fn unified(id: String) -> Self {
        Self { id, has_key: true }
    }
}

/// Whether the loader would start the new entry `name`, which has no sort-key, when none is chosen for one boot.
pub(crate) fn becomes_default(sys: &SysRoot, name: &str) -> bool {
    let heeds_keys = heeds_keys(sys);
    let spent = spent_images(sys);
    let found = list(sys, "LoaderEntries").unwrap_or_default();
    let found = found.iter().filter_map(|id| of_no_file(id));
    let mut others = others(sys);
    others.extend(found.filter(|other| !spent.contains(&other.id)));
    let precedes = |other: &&Other| {
        heeds_keys && other.has_key || compare(&other.id, name) == Ordering::Greater
    };
    for pattern in defaults(sys) {
        // The rest of what fnmatch(3) knows: it could match this entry.
        if pattern.contains(['?', '[', '\\']) {
            return true;
        }
        let matching = || others.iter().filter(|o| glob(&pattern, &o.id));
        if glob(&pattern, name) {
            return !matching().any(|other| precedes(&other));
        }
        // A default that nobody has seen may be of an entry that is gone: the loader then goes on to the next.
        if matching().next().is_some() {
            return false;
        }
    }
    !others.iter().any(|other| precedes(&other))
}

fn heeds_keys(sys: &SysRoot) -> bool {
    let info = text(sys, "LoaderInfo").unwrap_or_default();
    let version = info.strip_prefix("systemd-boot ").unwrap_or_default();
    let digits = version.split(|c: char| !c.is_ascii_digit()).next();
    digits
        .and_then(|digits| digits.parse().ok())
        .is_some_and(|version: u32| version >= SORT_KEYS)
}

/// Lists the patterns of the default entry, in the order in which they are tried.
fn defaults(sys: &SysRoot) -> Vec<String> {
    let line = |text: String| {
        text.lines().rev().find_map(|line| {
            let (key, value) = line.trim().split_once(char::is_whitespace)?;
            (key == "default").then(|| value.trim().to_owned())
        })
    };
    let configured = PLACES
        .iter()
        .find_map(|place| sys.read(&format!("{place}/loader/loader.conf")).ok())
        .and_then(line);
    [text(sys, "LoaderEntryDefault"), configured]
        .into_iter()
        .flatten()
        .filter_map(|pattern| match pattern == SAVED {
            true => text(sys, "LoaderEntryLastBooted"),
            false => Some(pattern),
        })
        .map(|pattern| pattern.to_ascii_lowercase())
        .filter(|pattern| !pattern.is_empty())
        .collect()
}

/// Lists the entries of files that are not ours: what describes a kernel, and unified kernel images.
fn others(sys: &SysRoot) -> Vec<Other> {
    let described = PLACES.iter().flat_map(|place| {
        let directory = format!("{place}/loader/entries");
        let names = sys.names(&directory).unwrap_or_default();
        names.into_iter().filter_map(move |name| {
            let id = id(&name.to_ascii_lowercase(), ".conf")?;
            let text = sys.read(&format!("{directory}/{name}")).ok()?;
            let has_key = text
                .lines()
                .any(|line| line.split_whitespace().next() == Some("sort-key"));
            Some(Other { id, has_key })
        })
    });
    let unified = PLACES.iter().flat_map(|place| {
        let names = sys.names(&format!("{place}/EFI/Linux")).unwrap_or_default();
        let ids = names
            .into_iter()
            .filter_map(|name| id(&name.to_ascii_lowercase(), ".efi"));
        ids.map(Other::unified)
    });
    described.chain(unified).collect()
}

/// Lists the ids of unified kernel images without tries left, by which the loader may name them all the same: it starts them last.
fn spent_images(sys: &SysRoot) -> Vec<String> {
    let names = PLACES
        .iter()
        .flat_map(|place| sys.names(&format!("{place}/EFI/Linux")).unwrap_or_default());
    names
        .filter_map(|name| {
            let name = name.to_ascii_lowercase();
            let (stem, _) = name.strip_suffix(".efi")?.rsplit_once('+')?;
            id(&name, ".efi").is_none().then(|| format!("{stem}.efi"))
        })
        .collect()
}

/// Returns the entry of an id that is not of a file in `loader/entries`.
fn of_no_file(id: &str) -> Option<Other> {
    let all = id.to_ascii_lowercase();
    if all.ends_with(".efi") {
        return self::id(&all, ".efi").map(Other::unified);
    }
    let id = all;
    // What the loader makes itself, such as `auto-windows`, comes after all that it sorts.
    id.starts_with("auto-")
        .then_some(Other { id, has_key: false })
}

/// Returns the id of an entry's file; none where it is ours, or no tries are left, which makes it the last one.
fn id(name: &str, ending: &str) -> Option<String> {
    let stem = name.strip_suffix(ending)?;
    if stem.starts_with(['.']) || stem.starts_with("punctual") {
        return None;
    }
    match stem.rsplit_once('+') {
        // Boot counting: `+LEFT` or `+LEFT-DONE`.
        Some((stem, counter)) if counter.starts_with(|c: char| c.is_ascii_digit()) => {
            let left = counter.split('-').next()?.trim_start_matches('0');
            (!left.is_empty()).then(|| format!("{stem}{ending}"))
        }
        _ => Some(name.to_owned()),
    }
}

/// Compares two ids as versions (`strverscmp_improved`).
fn compare(a: &str, b: &str) -> Ordering {
    let counts = |c: char| c.is_ascii_alphanumeric() || "~-^.".contains(c);
    let (mut a, mut b) = (a, b);
    loop {
        a = a.trim_start_matches(|c| !counts(c));
        b = b.trim_start_matches(|c| !counts(c));
        if let Some(order) = marked(&mut a, &mut b, '~') {
            return order;
        }
        if a.is_empty() || b.is_empty() {
            return (!a.is_empty()).cmp(&!b.is_empty());
        }
        for mark in ['-', '^', '.'] {
            if let Some(order) = marked(&mut a, &mut b, mark) {
                return order;
            }
        }
        let digits = [a, b]
            .iter()
            .any(|s| s.starts_with(|c: char| c.is_ascii_digit()));
        let order = if digits {
            let [x, y] = [&mut a, &mut b].map(|s| part(s, |c| c.is_ascii_digit()));
            // A number is newer than letters, and a longer one is greater.
            let [m, n] = [x, y].map(|s| s.trim_start_matches('0'));
            (!x.is_empty())
                .cmp(&!y.is_empty())
                .then_with(|| m.len().cmp(&n.len()))
                .then_with(|| m.cmp(n))
        } else {
            let [x, y] = [&mut a, &mut b].map(|s| part(s, |c| c.is_ascii_alphabetic()));
            x.cmp(y)
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// Takes a mark off both; where only one begins with it, that one is older.
fn marked(a: &mut &str, b: &mut &str, mark: char) -> Option<Ordering> {
    match (a.strip_prefix(mark), b.strip_prefix(mark)) {
        (None, None) => None,
        (Some(x), Some(y)) => {
            (*a, *b) = (x, y);
            None
        }
        (x, y) => Some(x.is_none().cmp(&y.is_none())),
    }
}

/// Takes the characters off the beginning for which `belongs` holds.
fn part<'a>(text: &mut &'a str, belongs: impl Fn(&char) -> bool) -> &'a str {
    let end = text.find(|c| !belongs(&c)).unwrap_or(text.len());
    let (part, rest) = text.split_at(end);
    *text = rest;
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_in_the_order_of_the_loader() {
        // From the oldest to the newest, as systemd's own test has them.
        let ids = [
            "~1",
            "",
            "ab",
            "abb",
            "abc",
            "0001",
            "002",
            "12",
            "122",
            "122.9",
            "123~rc1",
            "123",
            "123-a",
            "123-a.1",
            "123-a1",
            "123-a1.1",
            "123-3",
            "123-3.1",
            "123^patch1",
            "123^1",
            "123.a-1",
            "123.1-1",
            "123a-1",
            "124",
        ];
        for (n, a) in ids.iter().enumerate() {
            for (m, b) in ids.iter().enumerate() {
                assert_eq!(compare(a, b), n.cmp(&m), "{a} {b}");
            }
        }
        assert_eq!(
            compare("punctual-once.conf", "debian.conf"),
            Ordering::Greater
        );
        assert_eq!(compare("punctual.conf", "z.conf"), Ordering::Less);
    }

    #[test]
    fn an_entry_without_tries_left_is_no_default() {
        assert_eq!(id("a+3-1.conf", ".conf").unwrap(), "a.conf");
        assert_eq!(id("a+0-3.conf", ".conf"), None);
        assert_eq!(
            id("6.12-x86_64+debug.conf", ".conf").unwrap(),
            "6.12-x86_64+debug.conf"
        );
        assert_eq!(id("punctual.conf", ".conf"), None);
        assert_eq!(id("arch+3.efi", ".efi").unwrap(), "arch.efi");
    }
}
