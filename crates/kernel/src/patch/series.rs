// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Reads a series: a patch, a directory of patches with or without a `series` file, or a tarball of one.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use crate::tool::{ToolError, command, run};

/// No patch is longer: the whole real-time series for 6.1 in one file has 0.4 MB.
const LONGEST: u64 = 256 << 20;
/// Directories of a tarball that are looked through for patches.
const DEEPEST: usize = 6;

/// Patches in their order.
#[derive(Debug)]
pub struct Series {
    /// What was named by the user.
    pub from: PathBuf,
    /// The patches.
    pub patches: Vec<Patch>,
}

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

/// A series cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SeriesError {
    /// A file.
    #[error("read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Unpacking.
    #[error("unpack {}", path.display())]
    Unpack {
        /// The tarball or compressed patch.
        path: PathBuf,
        /// What failed.
        source: ToolError,
    },
    /// Nothing in it is a patch.
    #[error("{} has no patch in it", path.display())]
    Empty {
        /// What was named.
        path: PathBuf,
    },
    /// A line of the series file is not understood.
    #[error("{}, line {line}: `{text}`", path.display())]
    Line {
        /// The series file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What it says.
        text: String,
    },
    /// A patch touches a file outside of the tree.
    #[error("patch {name} touches `{file}`, which is not in the tree")]
    Outside {
        /// The patch.
        name: String,
        /// The file.
        file: String,
    },
}

impl Series {
    /// Reads the series that `path` names; tarballs are unpacked in `scratch`.
    ///
    /// # Errors
    ///
    /// Fails where something cannot be read, and where there is no patch.
    pub fn read(path: &Path, scratch: &Path) -> Result<Self, SeriesError> {
        let meta = fs::metadata(path).map_err(|source| read_fault(path, source))?;
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let patches = if meta.is_dir() {
            directory(path)?
        } else if is_tarball(&name) {
            let to = scratch.join("series");
            let unpack = |source| SeriesError::Unpack {
                path: path.to_owned(),
                source,
            };
            fs::create_dir_all(&to).map_err(|source| read_fault(&to, source))?;
            run(command("tar").arg("-C").arg(&to).arg("-xf").arg(path)).map_err(unpack)?;
            let found = find_series(&to, DEEPEST).map_or_else(|| find_patches(&to, DEEPEST), Some);
            match found {
                Some(found) => directory(&found)?,
                None => Vec::new(),
            }
        } else {
            vec![Patch {
                text: content(path)?,
                name,
                strip: 1,
            }]
        };
        let patches: Vec<Patch> = patches
            .into_iter()
            .filter(|p| !p.files().is_empty())
            .collect();
        if patches.is_empty() {
            return Err(SeriesError::Empty {
                path: path.to_owned(),
            });
        }
        let series = Self {
            from: path.to_owned(),
            patches,
        };
        series.inside()?;
        Ok(series)
    }

    /// Returns every file that is touched.
    pub(crate) fn files(&self) -> BTreeSet<String> {
        self.patches.iter().flat_map(Patch::files).collect()
    }

    fn inside(&self) -> Result<(), SeriesError> {
        for patch in &self.patches {
            for file in patch.files() {
                let plain = Path::new(&file)
                    .components()
                    .all(|part| matches!(part, Component::Normal(name) if name != ".git"));
                if !plain {
                    return Err(SeriesError::Outside {
                        name: patch.name.clone(),
                        file,
                    });
                }
            }
        }
        Ok(())
    }
}

impl Patch {
    /// Returns the files that it touches, also those that it renames from and to.
    pub(crate) fn files(&self) -> BTreeSet<String> {
        let text = String::from_utf8_lossy(&self.text);
        let mut files = BTreeSet::new();
        let mut lines = text.lines().peekable();
        // Lines that a hunk still has: a removed line may begin with `-- `.
        let mut left = (0_u64, 0_u64);
        while let Some(line) = lines.next() {
            if left != (0, 0) {
                match line.bytes().next() {
                    Some(b'-') => left.0 = left.0.saturating_sub(1),
                    Some(b'+') => left.1 = left.1.saturating_sub(1),
                    Some(b'\\') => {}
                    _ => left = (left.0.saturating_sub(1), left.1.saturating_sub(1)),
                }
                continue;
            }
            if let Some(header) = line.strip_prefix("@@ ") {
                left = hunk(header).unwrap_or_default();
            } else if let Some(path) = line.strip_prefix("--- ") {
                if let Some(other) = lines.peek().and_then(|next| next.strip_prefix("+++ ")) {
                    files.extend(self.path(path));
                    files.extend(self.path(other));
                }
            } else if let Some(path) = ["rename from ", "rename to ", "copy from ", "copy to "]
                .iter()
                .find_map(|word| line.strip_prefix(word))
            {
                // These have no a/ and b/ in front.
                files.insert(path.trim().to_owned());
            } else if let Some(both) = line.strip_prefix("diff --git ") {
                // Empty files and changes of mode have no other lines.
                let mut both = both.split_whitespace();
                if let (Some(a), Some(b), None) = (both.next(), both.next(), both.next()) {
                    files.extend(self.path(a));
                    files.extend(self.path(b));
                }
            }
        }
        files
    }

    /// Strips a path of a header, without the time stamp behind it; nothing for `/dev/null`.
    fn path(&self, header: &str) -> Option<String> {
        let path = header.split('\t').next()?.trim_end();
        // Without a tab a time stamp follows a blank.
        let path = path.split(' ').next()?;
        if path == "/dev/null" {
            return None;
        }
        let mut rest = path;
        for _ in 0..self.strip {
            rest = rest.split_once('/')?.1.trim_start_matches('/');
        }
        (!rest.is_empty()).then(|| rest.to_owned())
    }
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

fn is_tarball(name: &str) -> bool {
    name.contains(".tar") || [".tgz", ".txz"].iter().any(|end| name.ends_with(end))
}

/// Reads the patches of a directory, in the order of its `series` file, else by name.
fn directory(path: &Path) -> Result<Vec<Patch>, SeriesError> {
    let series = path.join("series");
    if !series.is_file() {
        let mut names: Vec<PathBuf> = entries(path)
            .into_iter()
            .filter(|entry| entry.is_file() && is_patch(entry))
            .collect();
        names.sort();
        return names
            .iter()
            .map(|file| {
                Ok(Patch {
                    name: file
                        .file_name()
                        .unwrap_or_default()
                        .to_string_lossy()
                        .into_owned(),
                    text: content(file)?,
                    strip: 1,
                })
            })
            .collect();
    }
    let text = content(&series)?;
    let mut patches = Vec::new();
    for (index, line) in String::from_utf8_lossy(&text).lines().enumerate() {
        let mut words = line
            .split('#')
            .next()
            .unwrap_or_default()
            .split_whitespace();
        let Some(name) = words.next() else { continue };
        let odd = || SeriesError::Line {
            path: series.clone(),
            line: index + 1,
            text: line.to_owned(),
        };
        let strip = match words.next() {
            None => 1,
            Some(option) => option
                .strip_prefix("-p")
                .and_then(|count| count.parse().ok())
                .ok_or_else(odd)?,
        };
        let outside = Path::new(name)
            .components()
            .any(|part| !matches!(part, Component::Normal(_)));
        if outside || words.next().is_some() {
            return Err(odd());
        }
        patches.push(Patch {
            name: name.to_owned(),
            text: content(&path.join(name))?,
            strip,
        });
    }
    Ok(patches)
}

fn is_patch(path: &Path) -> bool {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    [".patch", ".diff", ".patch.gz", ".patch.xz", ".patch.zst"]
        .iter()
        .any(|end| name.ends_with(end))
}

fn entries(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    entries.sort();
    entries
}

/// Finds the directory with a `series` file; real-time ones come before others (`patches-rt`).
fn find_series(path: &Path, depth: usize) -> Option<PathBuf> {
    let mut found = Vec::new();
    collect(path, depth, &mut |dir| {
        if dir.join("series").is_file() {
            found.push(dir.to_owned());
        }
    });
    let is_rt = |dir: &PathBuf| {
        dir.file_name()
            .is_some_and(|n| n.to_string_lossy().contains("rt"))
    };
    found.sort_by_key(|dir| !is_rt(dir));
    found.into_iter().next()
}

fn find_patches(path: &Path, depth: usize) -> Option<PathBuf> {
    let mut found = None;
    collect(path, depth, &mut |dir| {
        if found.is_none() && entries(dir).iter().any(|entry| is_patch(entry)) {
            found = Some(dir.to_owned());
        }
    });
    found
}

fn collect(path: &Path, depth: usize, visit: &mut dyn FnMut(&Path)) {
    visit(path);
    if depth == 0 {
        return;
    }
    for entry in entries(path) {
        let real = fs::symlink_metadata(&entry).is_ok_and(|meta| meta.is_dir());
        if real {
            collect(&entry, depth - 1, visit);
        }
    }
}

/// Reads a patch, unpacked.
fn content(path: &Path) -> Result<Vec<u8>, SeriesError> {
    let mut bytes = Vec::new();
    fs::File::open(path)
        .and_then(|file| file.take(LONGEST).read_to_end(&mut bytes))
        .map_err(|source| read_fault(path, source))?;
    let with = match path.extension().and_then(|end| end.to_str()) {
        Some("xz") => "xz",
        Some("gz") => "gzip",
        Some("zst") => "zstd",
        _ => return Ok(bytes),
    };
    let answer = run(command(with).args(["-dc", "--"]).arg(path));
    let answer = answer.map_err(|source| SeriesError::Unpack {
        path: path.to_owned(),
        source,
    })?;
    Ok(answer.stdout)
}

fn read_fault(path: &Path, source: io::Error) -> SeriesError {
    SeriesError::Read {
        path: path.to_owned(),
        source,
    }
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
    fn a_series_file_gives_the_order_and_how_paths_are_stripped() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        write(
            "series",
            "# the series\n\nz.patch -p0  # last first\na.patch\n",
        );
        write("a.patch", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+2\n");
        write("z.patch", "--- f\n+++ f\n@@ -1 +1 @@\n-0\n+1\n");
        let series = Series::read(dir.path(), dir.path()).unwrap();
        let names: Vec<_> = series
            .patches
            .iter()
            .map(|p| (p.name.as_str(), p.strip))
            .collect();
        assert_eq!(names, [("z.patch", 0), ("a.patch", 1)]);
        assert_eq!(series.files().into_iter().collect::<Vec<_>>(), ["f"]);
        write("series", "a.patch --fuzz\n");
        let err = Series::read(dir.path(), dir.path())
            .unwrap_err()
            .to_string();
        assert!(err.ends_with("series, line 1: `a.patch --fuzz`"), "{err}");
        write("series", "../a.patch\n");
        Series::read(dir.path(), dir.path()).unwrap_err();
    }

    #[test]
    fn a_patch_that_reaches_outside_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        for bad in [
            "a/../../etc/passwd",
            "a//etc/passwd/../../x",
            "a/.git/config",
        ] {
            let file = dir.path().join("bad.patch");
            fs::write(
                &file,
                format!("--- {bad}\n+++ {bad}\n@@ -1 +1 @@\n-1\n+2\n"),
            )
            .unwrap();
            let err = Series::read(&file, dir.path()).unwrap_err();
            assert!(matches!(err, SeriesError::Outside { .. }), "{bad}: {err:?}");
        }
        fs::write(dir.path().join("none.patch"), "no patch\n").unwrap();
        let err = Series::read(&dir.path().join("none.patch"), dir.path()).unwrap_err();
        assert!(matches!(err, SeriesError::Empty { .. }), "{err:?}");
    }
}
