// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The shared libraries that a program names, found where the dynamic loader would look for them (ld.so(8)). Nothing of the
//! program is run for that.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use punctual_sys::SysRoot;

use super::program::{number, segments};
use punctual_model::Gathered as _;

const DYNAMIC: u32 = 2;
const LOAD: u32 = 1;

/// Entries of the dynamic section (elf(5)).
const NEEDED: usize = 1;
const STRINGS: usize = 5;
const RPATH: usize = 15;
const RUNPATH: usize = 29;

/// Where distributions name more directories.
const CONFIGURED: &str = "/etc/ld.so.conf.d";

/// Libraries of one program, at most.
const MOST: usize = 256;

/// What an ELF file says of the libraries that it needs.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct Needs {
    pub(super) names: Vec<String>,
    /// Where they are looked for first, in which `$ORIGIN` is the file's own directory.
    paths: Vec<String>,
}

impl Needs {
    /// Reads it; nothing where the file needs none, or is damaged.
    pub(super) fn of(content: &[u8]) -> Self {
        Self::read(content).unwrap_or_default()
    }

    fn read(content: &[u8]) -> Option<Self> {
        let all = segments(content)?;
        let dynamic = all.iter().find(|segment| segment.kind == DYNAMIC)?;
        let in_file = |address: usize| {
            let within = |s: &&super::program::Segment| {
                s.kind == LOAD && (s.address..s.address.saturating_add(s.size)).contains(&address)
            };
            let segment = all.iter().find(within)?;
            (address - segment.address).checked_add(segment.offset)
        };
        let entries = (0..dynamic.size / 16).map_while(|n| {
            let at = dynamic.offset + n * 16;
            let tag = number(content, at, 8).filter(|tag| *tag != 0)?;
            Some((tag, number(content, at + 8, 8).unwrap_or(usize::MAX)))
        });
        let entries: Vec<(usize, usize)> = entries.collect();
        let of = |tag: usize| entries.iter().filter(move |(own, _)| *own == tag);
        let strings = in_file(of(STRINGS).next()?.1)?;
        let text = |offset: usize| {
            let bytes = content.get(strings.checked_add(offset)?..)?;
            let end = bytes.iter().take(4_096).position(|byte| *byte == 0)?;
            Some(std::str::from_utf8(bytes.get(..end)?).ok()?.to_owned())
        };
        let paths = of(RPATH).chain(of(RUNPATH));
        let paths = paths.filter_map(|(_, at)| text(*at));
        Some(Self {
            names: of(NEEDED).filter_map(|(_, at)| text(*at)).collect(),
            paths: paths
                .flat_map(|list| list.split(':').map(ToOwned::to_owned).collect::<Vec<_>>())
                .collect(),
        })
    }

    /// Returns the directories that the file at `path` has its libraries looked for in.
    fn directories(&self, path: &Path) -> impl Iterator<Item = PathBuf> {
        let origin = path.parent().unwrap_or_else(|| Path::new("/"));
        let origin = origin.display().to_string();
        self.paths.iter().map(move |dir| {
            let dir = dir.replace("${ORIGIN}", &origin);
            PathBuf::from(dir.replace("$ORIGIN", &origin))
        })
    }
}

/// Finds the libraries that the file at `path` with this `content` needs, and those that these need, each by its name; `usual`
/// are the directories to look in. A library is read by `read`, which says no where it is for another processor.
///
/// # Errors
///
/// Returns the name of the first that is missing.
pub(super) fn find<T>(
    path: &Path,
    content: &[u8],
    usual: &[PathBuf],
    mut read: impl FnMut(&Path) -> Option<(Vec<u8>, T)>,
) -> Result<Vec<(String, T)>, String> {
    let first = Needs::of(content);
    let own: Vec<PathBuf> = first.directories(path).collect();
    let mut wanted: VecDeque<(String, Vec<PathBuf>)> = VecDeque::new();
    wanted.extend(first.names.iter().map(|name| (name.clone(), Vec::new())));
    let mut known: BTreeSet<String> = first.names.iter().cloned().into_set();
    let mut found = Vec::new();
    while let Some((name, theirs)) = wanted.pop_front() {
        let places = theirs.iter().chain(&own).chain(usual);
        // A name with a slash is a path already.
        let mut places = places.map(|dir| dir.join(&name));
        let library = places.find_map(|place| Some((read(&place)?, place)));
        let Some(((content, kept), place)) = library else {
            return Err(name);
        };
        let needs = Needs::of(&content);
        let theirs: Vec<PathBuf> = needs.directories(&place).collect();
        for name in &needs.names {
            if known.len() < MOST && known.insert(name.clone()) {
                wanted.push_back((name.clone(), theirs.clone()));
            }
        }
        found.push((name, kept));
    }
    Ok(found)
}

/// Returns the directories in which the loader of this machine looks for libraries, those that `named` names first
/// (`LD_LIBRARY_PATH`).
pub(super) fn usual(named: Option<&str>, machine: &str) -> Vec<PathBuf> {
    let named = named.unwrap_or_default().split(':');
    let mut all: Vec<PathBuf> = named
        .filter(|dir| !dir.is_empty())
        .map(PathBuf::from)
        .collect();
    let sys = SysRoot::live();
    let files = sys.names(CONFIGURED).unwrap_or_default();
    for text in files
        .iter()
        .filter_map(|file| sys.read(&format!("{CONFIGURED}/{file}")).ok())
    {
        let dirs = text
            .lines()
            .map(str::trim)
            .filter(|dir| dir.starts_with('/'));
        all.extend(dirs.map(PathBuf::from));
    }
    let triple = format!("{machine}-linux-gnu");
    for dir in ["/lib", "/usr/lib"] {
        all.extend([
            Path::new(dir).join(&triple),
            PathBuf::from(format!("{dir}64")),
            PathBuf::from(dir),
        ]);
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;

    #[test]
    fn a_program_names_the_libraries_that_it_has_loaded() {
        let path = Path::new("/proc/self/exe");
        let content = fs::read(path).unwrap();
        let needs = Needs::of(&content);
        assert!(
            needs.names.iter().any(|name| name.starts_with("libc.so")),
            "{needs:?}"
        );
        let usual = usual(None, std::env::consts::ARCH);
        let found = find(path, &content, &usual, |place| {
            Some((fs::read(place).ok()?, place.to_owned()))
        });
        let found: BTreeMap<String, PathBuf> = found.unwrap().into_iter().collect();
        let maps = SysRoot::live().read("/proc/self/maps").unwrap();
        for (name, place) in &found {
            // The loader itself and the libraries are mapped from the same files.
            let real = fs::canonicalize(place).unwrap();
            assert!(
                maps.contains(&real.display().to_string()),
                "{name}: {}",
                real.display()
            );
        }
    }

    #[test]
    fn what_is_missing_or_damaged_is_told_by_its_name() {
        let content = fs::read("/proc/self/exe").unwrap();
        let missing = find(Path::new("/x"), &content, &[], |_| None::<(Vec<u8>, ())>);
        assert!(missing.unwrap_err().starts_with("lib"));
        for length in [0, 4, 63, 64, 200, content.len() / 2] {
            let cut = content.get(..length).unwrap();
            assert!(Needs::of(cut).names.len() <= Needs::of(&content).names.len());
        }
        assert_eq!(Needs::of(b"#!/bin/sh\n"), Needs::default());
    }

    #[test]
    fn a_files_own_directories_come_before_the_usual_ones() {
        let needs = Needs {
            names: Vec::new(),
            paths: vec!["$ORIGIN/../lib".to_owned(), "/opt/lib".to_owned()],
        };
        let dirs: Vec<PathBuf> = needs.directories(Path::new("/opt/app/bin/run")).collect();
        assert_eq!(
            dirs,
            [
                PathBuf::from("/opt/app/bin/../lib"),
                PathBuf::from("/opt/lib")
            ]
        );
        let dirs = usual(Some("/first::/second"), "x86_64");
        assert_eq!(dirs.first(), Some(&PathBuf::from("/first")));
        assert!(dirs.contains(&PathBuf::from("/lib/x86_64-linux-gnu")));
    }
}
