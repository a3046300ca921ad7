// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A function of the program whose call ends a cycle: `uprobe:SYMBOL`, or `uprobe:FILE:SYMBOL`.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use object::{Object as _, ObjectSegment as _, ObjectSymbol as _};
use punctual_sys::{SysRoot, proc};

use super::Target;
use crate::error::MeasureError;

/// How `--cycle-at` names a function and not a system call.
pub const PREFIX: &str = "uprobe:";

/// Longest program that is looked into, in bytes.
const LONGEST: u64 = 1 << 30;

/// Where a function lies.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Place {
    pub(super) file: PathBuf,
    pub(super) offset: u64,
}

/// Finds the function that `wanted` names, in its file or else in that of the program to be watched.
pub(super) fn find(sys: &SysRoot, wanted: &str, target: &Target) -> Result<Place, MeasureError> {
    let refused = |reason: String| MeasureError::Spec {
        option: format!("--cycle-at {PREFIX}{wanted}"),
        reason,
    };
    let (file, symbol) = match wanted.rsplit_once(':') {
        Some((file, symbol)) => (PathBuf::from(file), symbol),
        None => {
            let file = program(sys, target);
            let file = file.ok_or_else(|| refused("the program's file is not found".to_owned()))?;
            (file, wanted)
        }
    };
    let shown = file.display();
    let bytes = read(&file).map_err(|err| refused(format!("{shown}: {err}")))?;
    let offset = offset_of(&bytes, symbol).map_err(|why| refused(format!("{shown}: {why}")))?;
    // The kernel follows links itself, also those of /proc to files that lie elsewhere for us: of a process in a container.
    let file = std::path::absolute(&file).map_err(|err| refused(format!("{shown}: {err}")))?;
    Ok(Place { file, offset })
}

fn read(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns where in its file the function `symbol` begins, or the reason why it is unknown.
fn offset_of(bytes: &[u8], symbol: &str) -> Result<u64, String> {
    let file = object::File::parse(bytes).map_err(|err| format!("no program: {err}"))?;
    let mut symbols = file.symbols().chain(file.dynamic_symbols());
    let is_it = |of: &object::Symbol<'_, '_>| {
        of.is_definition() && of.kind() == object::SymbolKind::Text && of.name() == Ok(symbol)
    };
    let Some(found) = symbols.find(is_it) else {
        return Err(format!(
            "there is no function `{symbol}` (a stripped program has no names; `FILE:SYMBOL` names another file, such as a \
             library)"
        ));
    };
    let address = found.address();
    let within = |segment: &object::Segment<'_, '_>| {
        (segment.address()..segment.address().saturating_add(segment.size())).contains(&address)
    };
    let segment = file.segments().find(within);
    let segment = segment.ok_or_else(|| format!("`{symbol}` lies in no segment of the file"))?;
    Ok(address - segment.address() + segment.file_range().0)
}

/// Returns the file of the program that is to be watched.
fn program(sys: &SysRoot, target: &Target) -> Option<PathBuf> {
    let of_process = |pid: u32| {
        let exe = sys.full(&format!("/proc/{pid}/exe"));
        exe.is_file().then_some(exe)
    };
    match target {
        Target::Command(words) => in_path(words.first()?),
        Target::Process(pid) => of_process(*pid),
        Target::Named(name) => of_process(*proc::named(sys, name).first()?),
        Target::Timerlat(_) => None,
    }
}

fn in_path(program: &OsString) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return Some(path.to_owned());
    }
    let all = std::env::var_os("PATH")?;
    std::env::split_paths(&all)
        .map(|dir| dir.join(path))
        .find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_in_programs_and_what_is_none_is_said() {
        let sys = SysRoot::live();
        let own = Target::Process(std::process::id());
        let place = find(&sys, "main", &own).unwrap();
        // Not what the link says, which is another file where the process sees other directories.
        let exe = format!("/proc/{}/exe", std::process::id());
        assert_eq!(place.file, PathBuf::from(&exe));
        assert!(place.offset > 0);
        let in_root = exe.replace("exe", "root/proc/self/exe:main");
        let place = find(&sys, &in_root, &own).unwrap();
        assert!(place.file.starts_with(exe.replace("exe", "root")));
        let why = |wanted: &str| find(&sys, wanted, &own).unwrap_err().to_string();
        assert!(why("no_such_function").contains("no function `no_such_function`"));
        assert!(why("/proc/self/status:main").contains("no program"));
        assert!(why("/nowhere/at/all:main").contains("/nowhere/at/all"));
        let command = Target::Command(vec!["no-such-program-here".into()]);
        let err = find(&sys, "main", &command).unwrap_err().to_string();
        assert!(err.contains("not found"), "{err}");
    }
}
