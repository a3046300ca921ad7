// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The names of functions in the files of watched programs.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use object::{Object as _, ObjectSegment as _, ObjectSymbol as _};
use punctual_sys::SysRoot;

/// Files that are read, and the longest, in bytes: whoever is watched names them.
const FILES: usize = 32;
const LONGEST: usize = 128 << 20;
/// Segments of a file that are looked at, bytes of a name that are, and of all names together.
const SEGMENTS: usize = 64;
const NAME: usize = 4096;
const NAMES: usize = 64 << 20;

/// A function: where it begins in the file, where it ends, and its name.
type Function = (u64, u64, String);

/// The functions of the files that were asked for.
#[derive(Debug)]
pub(super) struct Symbols {
    sys: SysRoot,
    files: BTreeMap<PathBuf, Vec<Function>>,
    /// Bytes that more names may have.
    room: usize,
}

impl Symbols {
    /// Knows none yet.
    pub(super) fn new(sys: &SysRoot) -> Self {
        Self {
            sys: sys.clone(),
            files: BTreeMap::new(),
            room: NAMES,
        }
    }

    /// Returns the function at `offset` of a file, which is to have this inode: in another root directory the same name may be that of
    /// another file.
    pub(super) fn name(&mut self, (file, inode): (&Path, u64), offset: u64) -> Option<&str> {
        if !self.files.contains_key(file) {
            if self.files.len() >= FILES {
                return None;
            }
            let path = file.to_string_lossy();
            let meta = std::fs::metadata(self.sys.full(&path));
            let is_it = meta.is_ok_and(|meta| meta.is_file() && meta.ino() == inode);
            let read = is_it.then(|| self.sys.read_up_to(&path, LONGEST));
            let bytes = match read {
                Some(Ok((bytes, false))) => bytes,
                _ => Vec::new(),
            };
            let functions = functions(&bytes, &mut self.room);
            self.files.insert(file.to_owned(), functions);
        }
        let all = self.files.get(file)?;
        let after = all.partition_point(|(from, ..)| *from <= offset);
        let (_, to, name) = all.get(after.checked_sub(1)?)?;
        (offset < *to).then_some(name.as_str())
    }
}

/// Returns the functions of an ELF file, in order, as far as there is `room` for what their names have. A file that is none has none.
fn functions(bytes: &[u8], room: &mut usize) -> Vec<Function> {
    let Ok(file) = object::File::parse(bytes) else {
        return Vec::new();
    };
    let segments: Vec<(u64, u64, u64)> = file
        .segments()
        .map(|of| (of.address(), of.size(), of.file_range().0))
        .take(SEGMENTS)
        .collect();
    let in_file = |address: u64| {
        let within = |(from, size, _): &&(u64, u64, u64)| {
            (*from..from.saturating_add(*size)).contains(&address)
        };
        let (from, _, at) = segments.iter().find(within)?;
        (address - from).checked_add(*at)
    };
    let mut all = Vec::new();
    for of in file.symbols().chain(file.dynamic_symbols()) {
        if of.kind() != object::SymbolKind::Text || !of.is_definition() || of.size() == 0 {
            continue;
        }
        let (Some(from), Ok(name)) = (in_file(of.address()), of.name_bytes()) else {
            continue;
        };
        // Symbols may share a name of any length, and to find its end takes as long.
        let Some(left) = room.checked_sub(name.len() + size_of::<Function>()) else {
            break;
        };
        *room = left;
        let Ok(name) = std::str::from_utf8(name.get(..NAME).unwrap_or(name)) else {
            continue;
        };
        all.push((from, from.saturating_add(of.size()), readable(name)));
    }
    all.sort();
    all.dedup_by_key(|(from, ..)| *from);
    all
}

/// Writes the parts of a mangled name of C++ or Rust with `::` between them, without what they take and return: `_ZN3foo3barEv` is
/// `foo::bar`. Other names stay as they are, without what commands a terminal.
fn readable(name: &str) -> String {
    let parts = name.strip_prefix("_ZN").and_then(parts);
    let name = parts.unwrap_or_else(|| name.to_owned());
    let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    name.chars().map(shown).take(200).collect()
}

fn parts(mut rest: &str) -> Option<String> {
    let mut all = Vec::new();
    while !rest.starts_with('E') {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let length: usize = rest.get(..digits)?.parse().ok()?;
        all.push(rest.get(digits..digits.checked_add(length)?)?);
        rest = rest.get(digits + length..)?;
    }
    let is_hash = |part: &&&str| part.len() == 17 && part.starts_with('h');
    if all.last().filter(is_hash).is_some() {
        all.pop();
    }
    let all: Vec<String> = all.into_iter().map(unescaped).collect();
    (!all.is_empty()).then(|| all.join("::"))
}

/// Rust writes what no symbol may have as `$LT$`, and `::` as `..`.
fn unescaped(part: &str) -> String {
    let part = part
        .strip_prefix('_')
        .filter(|rest| rest.starts_with('$'))
        .unwrap_or(part);
    let mut text = part.replace("..", "::");
    for (code, sign) in [
        ("$LT$", "<"),
        ("$GT$", ">"),
        ("$RF$", "&"),
        ("$BP$", "*"),
        ("$C$", ","),
        ("$LP$", "("),
        ("$RP$", ")"),
        ("$u20$", " "),
        ("$u7b$", "{"),
        ("$u7d$", "}"),
        ("$u27$", "'"),
    ] {
        text = text.replace(code, sign);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_names_are_readable_and_others_stay() {
        assert_eq!(readable("_ZN3foo3barEv"), "foo::bar");
        assert_eq!(
            readable("_ZN9late_loop3run17h0123456789abcdefE"),
            "late_loop::run"
        );
        assert_eq!(
            readable("_ZN9late_loop4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE"),
            "late_loop::main::{{closure}}"
        );
        for name in ["clock_nanosleep", "_ZN", "_ZN99short", "_ZNE", "_R3foo"] {
            assert_eq!(readable(name), name);
        }
        assert_eq!(readable("a\x1b[2Jb"), "a\u{fffd}[2Jb");
    }

    #[test]
    fn a_function_is_found_by_any_place_in_it() {
        let sys = SysRoot::live();
        let own = std::env::current_exe().unwrap().canonicalize().unwrap();
        let bytes = std::fs::read(&own).unwrap();
        let mut room = usize::MAX;
        let all = functions(&bytes, &mut room);
        let (from, to, _) = all
            .iter()
            .find(|(.., name)| name.contains("a_function_is_found"))
            .unwrap();
        let mut symbols = Symbols::new(&sys);
        for at in [*from, to - 1] {
            let inode = std::fs::metadata(&own).unwrap().ino();
            let name = symbols.name((&own, inode), at).unwrap();
            assert!(
                name.contains("a_function_is_found_by_any_place_in_it"),
                "{name}"
            );
        }
        let mut other = Symbols::new(&sys);
        assert_eq!(other.name((&own, 1), *from), None);
        assert_eq!(other.name((Path::new("/dev/zero"), 1), 0), None);
        assert!(functions(&bytes[..bytes.len() / 2], &mut room).len() <= all.len());
        let mut little = 1_000;
        assert!(functions(&bytes, &mut little).len() <= 1_000 / size_of::<Function>());
    }
}
