// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Fetches sources and images: packages of the distribution, tarballs, git repositories, directories.
//!
//! A package is downloaded and unpacked, never installed. Its checksum is compared with that of the package lists,
//! which apt has verified by their signature; that of a tarball with what the user gave.

use std::fs;
use std::path::{Path, PathBuf};

use punctual_model::{KernelImage, KernelSource, SourceOrigin};

use punctual_sys::PathError;

use super::checksum::{compare, take};
use super::error::FetchError;
use super::kernel_store::{KernelStore, StoredKind, make_private};
use super::tree::Tree;
use super::wanted::WantedSource;
use crate::file;
use crate::git::Git;
use crate::tool::{Long, ToolError};
use crate::unpack::{Links, Packed, unpack};

/// No tarball is longer: those of Linux have some 150 MB.
const LONGEST: u64 = 4 << 30;

/// What was fetched.
#[derive(Clone, Debug)]
pub enum Fetched {
    /// A source tree.
    Source(KernelSource),
    /// An image.
    Image(KernelImage),
}

/// How to fetch.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Name in the store.
    pub name: Option<String>,
    /// What the checksum has to be, in hexadecimal digits.
    pub sha256: Option<String>,
    /// Now, RFC 3339 in UTC.
    pub at: String,
}

/// Fetches `what` into the store.
///
/// # Errors
///
/// Fails where a name is taken, something cannot be fetched, or a checksum is another one; then nothing of it is in
/// the store.
pub fn fetch(
    stock: &KernelStore,
    what: &WantedSource,
    options: &Options,
    stop: &dyn Fn() -> bool,
) -> Result<Fetched, FetchError> {
    let fetch = Fetch {
        stock,
        options,
        stop,
    };
    match what {
        WantedSource::Package { name, version } => fetch.package(name, version.as_deref()),
        WantedSource::PackageFile(path) => fetch.package_file(path, None),
        WantedSource::Tarball(path) => fetch.tarball(path, &path.display().to_string()),
        WantedSource::Address(address) => fetch.address(address),
        WantedSource::Git { address, reference } => fetch.git(address, reference.as_deref()),
        WantedSource::Directory(path) => fetch.directory(path),
    }
}

/// Copies the source in `from` to `to`, which is made anew: what is patched must be nobody else's.
///
/// # Errors
///
/// Fails as cp(1) does.
pub fn copy(from: &Path, to: &Path, stop: &dyn Fn() -> bool) -> Result<(), FetchError> {
    if to.exists() {
        // Of a copy that was not finished.
        fs::remove_dir_all(to).map_err(PathError::at("remove", to))?;
    }
    make_private(to)?;
    let mut cp = Long::new("cp");
    cp.command
        .args(["--archive", "--reflink=auto", "--"])
        .args([&from.join("."), to]);
    Ok(cp.run(stop, |_| {})?)
}

pub(super) struct Fetch<'a> {
    pub(super) stock: &'a KernelStore,
    pub(super) options: &'a Options,
    pub(super) stop: &'a dyn Fn() -> bool,
}

/// Downloads into a file. With a checksum it does not matter who answers.
fn curl(address: &str, file: &Path, has_checksum: bool) -> Long<'static> {
    let mut curl = Long::new("curl");
    curl.command
        .args([
            "--fail",
            "--location",
            "--silent",
            "--show-error",
            "--proto",
            "=https,http,file",
            "--proto-redir",
            if has_checksum {
                "=https,http"
            } else {
                "=https"
            },
            "--max-filesize",
        ])
        .arg(LONGEST.to_string())
        .arg("--output")
        .arg(file)
        .arg("--")
        .arg(address);
    curl
}

impl Fetch<'_> {
    pub(super) fn long(&self, long: Long<'_>) -> Result<(), ToolError> {
        long.run(self.stop, |_| {})
    }

    pub(super) fn name(&self, default: &str) -> String {
        self.options
            .name
            .clone()
            .unwrap_or_else(|| default.to_owned())
    }

    fn address(&self, address: &str) -> Result<Fetched, FetchError> {
        if address.starts_with("http://") && self.options.sha256.is_none() {
            return Err(FetchError::Unverified {
                address: address.to_owned(),
                scheme: "http",
            });
        }
        let scratch = self.stock.begin(StoredKind::Source)?;
        let name = address
            .rsplit('/')
            .next()
            .filter(|name| !name.is_empty())
            .unwrap_or("source");
        let file = scratch
            .path()
            .join(name.replace(|c: char| !c.is_ascii_graphic(), "_"));
        let curl = curl(address, &file, self.options.sha256.is_some());
        // Who sends does not always say how much.
        let too_long = || fs::metadata(&file).is_ok_and(|meta| meta.len() > LONGEST);
        let loaded = curl.run(&|| (self.stop)() || too_long(), |_| {});
        if too_long() {
            let source = file::too_long(LONGEST);
            return Err(PathError::new("download", address.as_ref(), source).into());
        }
        loaded?;
        self.tarball(&file, address)
    }

    fn tarball(&self, path: &Path, from: &str) -> Result<Fetched, FetchError> {
        let file = file::name(path);
        let stem = file.split(".tar").next().unwrap_or(&file);
        let name = self.name(stem.trim_end_matches(".tgz"));
        self.stock.free(StoredKind::Source, &name)?;
        let scratch = self.stock.begin(StoredKind::Source)?;
        let own = scratch.path().join("archive");
        let sha256 = take(path, &own, LONGEST)?;
        let verified_by = self.check(&file, &sha256)?;
        self.unpack_source(
            &own,
            name,
            SourceOrigin::Tarball,
            from.to_owned(),
            sha256,
            verified_by,
        )
    }

    pub(super) fn unpack_source(
        &self,
        tarball: &Path,
        name: String,
        origin: SourceOrigin,
        from: String,
        sha256: String,
        verified_by: Option<String>,
    ) -> Result<Fetched, FetchError> {
        let place = self.stock.free(StoredKind::Source, &name)?;
        let made = self.stock.begin(StoredKind::Source)?;
        let tree = made.path().join("tree");
        fs::create_dir(&tree).map_err(PathError::at("make directory", &tree))?;
        Packed::open(tarball, self.stop)
            .and_then(|packed| unpack(packed, &tree, Links::Refuse, &below_first))
            .map_err(|source| FetchError::Unpack {
                file: from.clone(),
                source,
            })?;
        let opened = Tree::open(&tree)?;
        let source = KernelSource {
            version: opened.version,
            origin,
            from,
            sha256: Some(sha256),
            verified_by,
            commit: None,
            tree: place.join("tree").display().to_string(),
            patches: Vec::new(),
            seconds: None,
            at: self.options.at.clone(),
            name,
        };
        self.stock
            .finish(StoredKind::Source, &source.name, made, &source)?;
        Ok(Fetched::Source(source))
    }

    fn git(&self, address: &str, reference: Option<&str>) -> Result<Fetched, FetchError> {
        self.no_checksum("a git repository")?;
        let plain = [("http://", "http"), ("git://", "git")];
        if let Some((_, scheme)) = plain.iter().find(|(start, _)| address.starts_with(start)) {
            return Err(FetchError::Unverified {
                address: address.to_owned(),
                scheme,
            });
        }
        let last = address
            .trim_end_matches('/')
            .rsplit(['/', ':'])
            .next()
            .unwrap_or("git");
        let last = last.trim_end_matches(".git");
        let default = reference.map_or_else(
            || last.to_owned(),
            |reference| format!("{last}-{}", reference.replace('/', "-")),
        );
        let name = self.name(&default);
        let place = self.stock.free(StoredKind::Source, &name)?;
        let made = self.stock.begin(StoredKind::Source)?;
        let tree = made.path().join("tree");
        let mut clone = Long::new("git");
        // Nothing but what was asked for: no program as transport, no repositories within.
        clone
            .command
            .env("GIT_ALLOW_PROTOCOL", "https:ssh:file")
            .args(["clone", "--quiet", "--no-recurse-submodules"]);
        if let Some(reference) = reference {
            clone.command.args(["--branch", reference]);
        }
        clone.command.arg("--").arg(address).arg(&tree);
        self.long(clone)?;
        let source = KernelSource {
            version: Tree::open(&tree)?.version,
            origin: SourceOrigin::Git,
            from: reference.map_or_else(|| address.to_owned(), |at| format!("{address}#{at}")),
            sha256: None,
            verified_by: None,
            commit: commit(&tree),
            tree: place.join("tree").display().to_string(),
            patches: Vec::new(),
            seconds: None,
            at: self.options.at.clone(),
            name,
        };
        self.stock
            .finish(StoredKind::Source, &source.name, made, &source)?;
        Ok(Fetched::Source(source))
    }

    fn directory(&self, path: &Path) -> Result<Fetched, FetchError> {
        self.no_checksum("a directory")?;
        let tree = Tree::open(path)?;
        let default = file::name(&tree.path);
        let name = self.name(&default);
        self.stock.free(StoredKind::Source, &name)?;
        let made = self.stock.begin(StoredKind::Source)?;
        let shown = tree.path.display().to_string();
        let source = KernelSource {
            version: tree.version,
            origin: SourceOrigin::Directory,
            from: shown.clone(),
            sha256: None,
            verified_by: None,
            commit: commit(&tree.path),
            tree: shown,
            patches: Vec::new(),
            seconds: None,
            at: self.options.at.clone(),
            name,
        };
        self.stock
            .finish(StoredKind::Source, &source.name, made, &source)?;
        Ok(Fetched::Source(source))
    }

    /// Compares a checksum with the one that the user gave.
    pub(super) fn check(&self, file: &str, is: &str) -> Result<Option<String>, FetchError> {
        let Some(expected) = &self.options.sha256 else {
            return Ok(None);
        };
        compare(file, is, expected, "given with --sha256")?;
        Ok(Some("the checksum given with --sha256".to_owned()))
    }

    fn no_checksum(&self, what: &'static str) -> Result<(), FetchError> {
        match &self.options.sha256 {
            Some(_) => Err(FetchError::NoChecksum(what)),
            None => Ok(()),
        }
    }
}

/// Strips the first part of a name: a tarball of sources has all in one directory. A repository in it is left out:
/// git runs programs that a repository's settings name.
fn below_first(name: &Path) -> Option<PathBuf> {
    let mut parts = name.components();
    parts.next();
    let below = parts.as_path();
    let repository = below.components().any(|part| part.as_os_str() == ".git");
    (!repository).then(|| below.to_owned())
}

fn commit(tree: &Path) -> Option<String> {
    let git = Git::at(tree);
    let prefix = git.say(&["rev-parse", "--show-prefix"]).ok()?;
    let commit = git.commit("HEAD").ok()?;
    // A tree below another repository is none of its own.
    commit.filter(|_| prefix.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::{KernelStoreError, sha256};
    use super::*;

    fn options() -> Options {
        Options {
            at: "2026-01-01T00:00:00Z".to_owned(),
            ..Options::default()
        }
    }

    fn tree(path: &Path) {
        fs::create_dir_all(path).unwrap();
        fs::write(
            path.join("Makefile"),
            "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 9\n",
        )
        .unwrap();
        fs::write(path.join("Kconfig"), "").unwrap();
    }

    fn get(stock: &KernelStore, word: &str, options: &Options) -> Result<Fetched, FetchError> {
        fetch(stock, &WantedSource::parse(word)?, options, &|| false)
    }

    #[test]
    fn a_tarball_is_verified_unpacked_and_described() {
        let dir = tempfile::tempdir().unwrap();
        tree(&dir.path().join("linux-6.12.9"));
        let tarball = dir.path().join("linux-6.12.9.tar.gz");
        let mut tar = crate::tool::command("tar");
        tar.arg("-C")
            .arg(dir.path())
            .arg("-czf")
            .arg(&tarball)
            .arg("linux-6.12.9");
        crate::tool::run(&mut tar).unwrap();
        let word = tarball.display().to_string();
        let stock = KernelStore::at(dir.path().join("store"));
        let wrong = Options {
            sha256: Some("ab".repeat(32)),
            ..options()
        };
        let err = get(&stock, &word, &wrong).unwrap_err();
        assert!(matches!(err, FetchError::Checksum { .. }), "{err:?}");
        assert!(stock.list().unwrap().sources.is_empty());
        let right = Options {
            sha256: Some(sha256(&tarball).unwrap().to_uppercase()),
            ..options()
        };
        let Fetched::Source(source) = get(&stock, &word, &right).unwrap() else {
            panic!()
        };
        assert_eq!(
            (source.name.as_str(), source.version.as_str()),
            ("linux-6.12.9", "6.12.9")
        );
        assert!(source.verified_by.is_some());
        Tree::open(Path::new(&source.tree)).unwrap();
        assert_eq!(stock.list().unwrap().sources, [source]);
        let err = get(&stock, &word, &options()).unwrap_err();
        assert!(
            matches!(err, FetchError::Stock(KernelStoreError::Taken { .. })),
            "{err:?}"
        );
    }

    #[test]
    fn only_with_a_checksum_a_redirection_may_lead_to_plain_http() {
        let redirections = |has_checksum| {
            let curl = curl("https://example.org/x", Path::new("x"), has_checksum);
            let mut args = curl
                .command
                .get_args()
                .skip_while(|arg| *arg != "--proto-redir");
            args.nth(1).unwrap().to_owned()
        };
        assert_eq!(redirections(false), "=https");
        assert_eq!(redirections(true), "=https,http");
    }

    #[test]
    fn a_repository_in_a_tarball_is_left_out() {
        let path = |name: &str| below_first(Path::new(name));
        assert_eq!(
            path("linux/kernel/Makefile"),
            Some("kernel/Makefile".into())
        );
        assert_eq!(path("linux/.gitignore"), Some(".gitignore".into()));
        for name in [
            "linux/.git",
            "linux/.git/config",
            "linux/tools/x/.git/config",
        ] {
            assert_eq!(path(name), None, "{name}");
        }
    }

    #[test]
    fn a_directory_stays_where_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mine");
        tree(&path);
        let stock = KernelStore::at(dir.path().join("store"));
        let word = path.display().to_string();
        let Fetched::Source(source) = get(&stock, &word, &options()).unwrap() else {
            panic!()
        };
        assert_eq!(Path::new(&source.tree), fs::canonicalize(&path).unwrap());
        assert_eq!((source.sha256, source.commit), (None, None));
        let claim = stock.claim(StoredKind::Source, "mine").unwrap();
        stock.remove(claim).unwrap();
        assert!(path.join("Makefile").exists());
        let err = get(
            &stock,
            &word,
            &Options {
                sha256: Some("0".into()),
                ..options()
            },
        )
        .unwrap_err();
        assert!(
            matches!(err, FetchError::NoChecksum("a directory")),
            "{err:?}"
        );
    }
}
