// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Reads a series: a patch, a directory of patches with or without a `series` file, or a tarball of one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use punctual_sys::PathError;
use sha2::{Digest as _, Sha256};

use super::diff::Patch;
use super::error::SeriesError;
use crate::file::{self, read_whole, size};
use crate::unpack::{Links, Packed, UnpackError, unpack as write};
use punctual_model::{Gathered as _, Ordered as _};

/// No patch is longer: the whole real-time series for 6.1 in one file has 0.4 MB, that from 6.11 to 6.12 has 60 MB.
const LONGEST: u64 = 128 << 20;
/// Nor are all of a series together.
const LONGEST_SERIES: usize = 256 << 20;
/// No file with the order of patches is longer.
const LONGEST_LIST: u64 = 1 << 20;
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

impl Series {
    /// Reads the series that `path` names; tarballs are unpacked in `scratch`.
    ///
    /// # Errors
    ///
    /// Fails where something cannot be read, and where there is no patch.
    pub fn read(path: &Path, scratch: &Path, stop: &dyn Fn() -> bool) -> Result<Self, SeriesError> {
        let reader = Reader { stop };
        let meta = fs::metadata(path).map_err(PathError::at("read", path))?;
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let patches = if meta.is_dir() {
            reader.directory(path)?
        } else if is_tarball(&name) {
            let to = scratch.join("series");
            let unpack = |source| SeriesError::Unpack {
                path: path.to_owned(),
                source,
            };
            fs::create_dir_all(&to).map_err(PathError::at("make directory", &to))?;
            Packed::open(path, stop)
                .and_then(|packed| {
                    write(packed, &to, Links::LeaveOut, &|name| Some(name.to_owned()))
                })
                .map_err(unpack)?;
            let found = find_series(&to, DEEPEST).map_or_else(|| find_patches(&to, DEEPEST), Some);
            match found {
                Some(found) => reader.directory(&found)?,
                None => Vec::new(),
            }
        } else {
            vec![Patch {
                text: reader.content(path)?,
                name,
                strip: 1,
            }]
        };
        if patches.is_empty() {
            return Err(SeriesError::Empty {
                path: path.to_owned(),
            });
        }
        patches.iter().try_for_each(Patch::check)?;
        let series = Self {
            from: path.to_owned(),
            patches,
        };
        series.inside()?;
        Ok(series)
    }

    /// Returns the SHA-256 of its patches in their order, in hexadecimal digits.
    pub fn sha256(&self) -> String {
        let mut hash = Sha256::new();
        for Patch { name, text, strip } in &self.patches {
            // Lengths, so that nothing moves from one patch to the next unseen.
            hash.update(format!("{name} -p{strip} {}\n", text.len()));
            hash.update(text);
        }
        format!("{:x}", hash.finalize())
    }

    /// Returns every file that is touched.
    pub(crate) fn files(&self) -> BTreeSet<String> {
        self.patches.iter().flat_map(Patch::files).into_set()
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

fn is_tarball(name: &str) -> bool {
    name.contains(".tar") || [".tgz", ".txz"].iter().any(|end| name.ends_with(end))
}

/// Reads the parts of a series.
struct Reader<'a> {
    stop: &'a dyn Fn() -> bool,
}

impl Reader<'_> {
    /// Reads the patches of a directory, in the order of its `series` file, else by name.
    fn directory(&self, path: &Path) -> Result<Vec<Patch>, SeriesError> {
        let series = path.join("series");
        let names = match series.is_file() {
            true => listed(&series)?,
            false => by_name(path),
        };
        let mut patches = Vec::new();
        let mut length = 0;
        for (name, strip) in names {
            let text = self.content(&path.join(&name))?;
            length += text.len();
            if length > LONGEST_SERIES {
                return Err(SeriesError::TooLong {
                    path: path.to_owned(),
                    limit: size(LONGEST_SERIES as u64),
                });
            }
            patches.push(Patch { name, text, strip });
        }
        Ok(patches)
    }

    /// Reads a patch, unpacked.
    fn content(&self, path: &Path) -> Result<Vec<u8>, SeriesError> {
        let packed = Packed::open(path, self.stop);
        let bytes = packed.and_then(|packed| packed.at_most(LONGEST).read_to_end());
        bytes.map_err(|source| match source {
            UnpackError::File(err) => SeriesError::File(err),
            source => SeriesError::Unpack {
                path: path.to_owned(),
                source,
            },
        })
    }
}

/// Returns the patches of a directory by name, without the letter that `git format-patch` puts in front.
fn by_name(path: &Path) -> Vec<(String, usize)> {
    let patches = entries(path)
        .into_iter()
        .filter(|entry| entry.is_file() && is_patch(entry));
    let names = patches.map(|entry| file::name(&entry));
    let mut names: Vec<String> = names
        .filter(|name| !name.ends_with("0000-cover-letter.patch"))
        .collect();
    names.sort();
    names.into_iter().map(|name| (name, 1)).collect()
}

/// Reads the file with the order of patches: `NAME` or `NAME -pN` a line.
fn listed(series: &Path) -> Result<Vec<(String, usize)>, SeriesError> {
    let text = read_whole(series, LONGEST_LIST).map_err(PathError::at("read", series))?;
    let mut names = Vec::new();
    for (index, line) in String::from_utf8_lossy(&text).lines().enumerate() {
        let mut words = line
            .split('#')
            .next()
            .unwrap_or_default()
            .split_whitespace();
        let Some(name) = words.next() else { continue };
        let odd = || SeriesError::Line {
            path: series.to_owned(),
            line: index + 1,
            text: line.chars().take(200).collect(),
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
        names.push((name.to_owned(), strip));
    }
    Ok(names)
}

fn is_patch(path: &Path) -> bool {
    let name = file::name(path);
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
    found.order_by_key(|dir| !is_rt(dir));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &Path, scratch: &Path) -> Result<Series, SeriesError> {
        Series::read(path, scratch, &|| false)
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
        let series = read(dir.path(), dir.path()).unwrap();
        let names: Vec<_> = series
            .patches
            .iter()
            .map(|p| (p.name.as_str(), p.strip))
            .collect();
        assert_eq!(names, [("z.patch", 0), ("a.patch", 1)]);
        assert_eq!(series.files().into_iter().collect::<Vec<_>>(), ["f"]);
        write("series", "a.patch --fuzz\n");
        let err = read(dir.path(), dir.path()).unwrap_err().to_string();
        assert!(
            err.contains("series, line 1: `a.patch --fuzz` is not"),
            "{err}"
        );
        write("series", "../a.patch\n");
        read(dir.path(), dir.path()).unwrap_err();
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
            let err = read(&file, dir.path()).unwrap_err();
            assert!(matches!(err, SeriesError::Outside { .. }), "{bad}: {err:?}");
        }
        fs::write(dir.path().join("none.patch"), "no patch\n").unwrap();
        let err = read(&dir.path().join("none.patch"), dir.path()).unwrap_err();
        assert!(matches!(err, SeriesError::Nothing { .. }), "{err:?}");
        fs::create_dir(dir.path().join("empty")).unwrap();
        let err = read(&dir.path().join("empty"), dir.path()).unwrap_err();
        assert!(matches!(err, SeriesError::Empty { .. }), "{err:?}");
    }

    #[test]
    fn an_entry_of_a_series_that_changes_nothing_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        write("1.patch", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+2\n");
        // A context diff, an ed script, and one that lost its headers in a mail.
        for text in [
            "*** a/g\n--- b/g\n***************\n*** 1 ****\n! 1\n--- 1 ----\n! 2\n",
            "1d\n.\nw\n",
            "> --- a/g\n> +++ b/g\n> @@ -1 +1 @@\n",
            "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+2\n--- a/g\n+++ b/g\n1d\n.\nw\n",
        ] {
            for series in [None, Some("1.patch\n2.patch\n")] {
                write("2.patch", text);
                if let Some(series) = series {
                    write("series", series);
                }
                let err = read(dir.path(), dir.path()).unwrap_err().to_string();
                assert!(err.starts_with("patch 2.patch names no file"), "{err}");
            }
            fs::remove_file(dir.path().join("series")).unwrap();
        }
        write(
            "2.patch",
            "diff --git a/x b/x\nGIT binary patch\nliteral 3\n",
        );
        let err = read(dir.path(), dir.path()).unwrap_err();
        assert!(matches!(err, SeriesError::Binary { .. }), "{err:?}");
        fs::remove_file(dir.path().join("2.patch")).unwrap();
        // What git puts in front of a series is a letter.
        write("v2-0000-cover-letter.patch", "Subject: [PATCH 0/1]\n");
        assert_eq!(read(dir.path(), dir.path()).unwrap().patches.len(), 1);
    }

    #[test]
    fn a_packed_patch_that_is_a_bomb_and_a_file_that_is_none_are_refused() {
        use std::io::Write as _;
        let dir = tempfile::tempdir().unwrap();
        let bomb = dir.path().join("bomb.patch.gz");
        let mut gz = flate2::write::GzEncoder::new(
            fs::File::create(&bomb).unwrap(),
            flate2::Compression::best(),
        );
        gz.write_all(b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+2\n")
            .unwrap();
        let zeros = vec![b'\n'; 1 << 20];
        for _ in 0..100 {
            gz.write_all(&zeros).unwrap();
        }
        gz.finish().unwrap();
        let err = read(&bomb, dir.path()).unwrap_err();
        let source = std::error::Error::source(&err).unwrap().to_string();
        assert!(
            source.contains("and unpacks to more than"),
            "{err}: {source}"
        );
        // Nobody waits for a FIFO or reads a device to its end.
        let series = dir.path().join("s");
        fs::create_dir(&series).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(series.join("a.patch"))
            .status();
        assert!(made.unwrap().success());
        std::os::unix::fs::symlink("/dev/zero", series.join("b.patch")).unwrap();
        for name in ["a.patch", "b.patch"] {
            fs::write(series.join("series"), name).unwrap();
            let err = read(&series, dir.path()).unwrap_err();
            assert!(matches!(err, SeriesError::File(_)), "{err:?}");
        }
    }
}
