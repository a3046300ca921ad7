// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Modules, and the kernel that they were built for.

use std::fs;
use std::path::{Path, PathBuf};

use crate::file::name;
use crate::package::entries;
use crate::unpack::Packed;

/// Directories lie no deeper among modules.
const DEEPEST: u32 = 64;
/// Modules that are looked into at most.
const TRIED: usize = 8;
/// Bytes of a module that are looked at: graphics drivers with their symbols have more.
const MOST: u64 = 64 << 20;
/// What every module has, and behind it the release (include/linux/vermagic.h).
const MAGIC: &[u8] = b"vermagic=";

/// What the modules in a directory say of their kernel.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum BuiltFor {
    /// They were built for this release.
    Release(String),
    /// They do not say, or what unpacks them is not installed.
    Unknown,
    /// There is none.
    None,
}

/// Returns the release that the modules in `directory` were built for, as `modules_install` puts them there.
pub fn built_for(directory: &Path) -> BuiltFor {
    let own = directory.join("kernel");
    let mut found = Vec::new();
    // Next to the kernel's own there may be those of others.
    let place = if own.is_dir() { &own } else { directory };
    collect(place, DEEPEST, &mut found);
    match found.iter().find_map(|module| release(module)) {
        Some(release) => BuiltFor::Release(release),
        None if found.is_empty() => BuiltFor::None,
        None => BuiltFor::Unknown,
    }
}

fn collect(directory: &Path, depth: u32, found: &mut Vec<PathBuf>) {
    for path in entries(directory) {
        if found.len() == TRIED {
            return;
        }
        let Ok(meta) = fs::symlink_metadata(&path) else {
            continue;
        };
        let name = name(&path);
        if meta.is_dir() && depth > 0 {
            collect(&path, depth - 1, found);
        } else if meta.is_file() && (name.ends_with(".ko") || name.contains(".ko.")) {
            found.push(path);
        }
    }
}

/// Returns the release that a module was built for, packed or not.
fn release(module: &Path) -> Option<String> {
    let packed = Packed::open(module, &|| false).ok()?.at_most(MOST);
    let bytes = packed.read_to_end().ok()?;
    let at = bytes.windows(MAGIC.len()).position(|of| of == MAGIC)?;
    let rest = bytes.get(at + MAGIC.len()..)?;
    let end = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0;
    let word = rest.split(end).next().unwrap_or_default();
    let word = std::str::from_utf8(word).ok()?;
    (!word.is_empty()).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::write::GzEncoder;
    use std::io::Write as _;

    fn module(release: &str) -> Vec<u8> {
        format!("\x7fELF\0license=GPL\0vermagic={release} SMP preempt mod_unload \0name=x\0")
            .into_bytes()
    }

    #[test]
    fn a_module_names_the_release_that_it_was_built_for() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, bytes: &[u8]| {
            let full = dir.path().join(path);
            fs::create_dir_all(full.parent().unwrap()).unwrap();
            fs::write(full, bytes).unwrap();
        };
        let built = || built_for(dir.path());
        assert_eq!(built(), BuiltFor::None);
        put("modules.dep", b"");
        assert_eq!(built(), BuiltFor::None);
        put("x/a.ko", b"no module");
        assert_eq!(built(), BuiltFor::Unknown);
        put("x/b.ko", &module("6.12.1-rt"));
        assert_eq!(built(), BuiltFor::Release("6.12.1-rt".to_owned()));
        // Those of others, for another kernel, count less than its own.
        let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&module("6.1.0-56-amd64")).unwrap();
        put("kernel/fs/c.ko.gz", &packed.finish().unwrap());
        assert_eq!(built(), BuiltFor::Release("6.1.0-56-amd64".to_owned()));
    }
}
