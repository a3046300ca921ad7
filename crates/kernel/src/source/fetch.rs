// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Fetches sources and images: packages of the distribution, tarballs, git repositories, directories.
//!
//! A package is downloaded and unpacked, never installed. Its checksum is compared with that of the package lists,
//! which apt has verified by their signature; that of a tarball with what the user gave.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use punctual_model::{KernelImage, KernelSource, SourceOrigin};
use sha2::{Digest as _, Sha256};

use super::stock::{Kind, Stock, StockError, fault};
use super::tree::{Tree, TreeError};
use crate::config::hex;
use crate::tool::{Long, ToolError, ask, command, run};

/// What is to be fetched.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum What {
    /// A package of the distribution, with a version or the newest one.
    Package {
        /// `linux-source-6.12`.
        name: String,
        /// `6.12.117-1~deb12u1`.
        version: Option<String>,
    },
    /// A package that was downloaded.
    PackageFile(PathBuf),
    /// A tarball.
    Tarball(PathBuf),
    /// A tarball on the network.
    Address(String),
    /// A git repository and what to check out.
    Git {
        /// Its address.
        address: String,
        /// Branch or tag.
        reference: Option<String>,
    },
    /// A directory, which stays where it is.
    Directory(PathBuf),
}

/// Something could not be fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// It is not clear what is meant.
    #[error(
        "{0}: neither a file or directory, nor the name of a package linux-source-* or linux-image-*, nor an address of a tarball or git repository"
    )]
    Unclear(String),
    /// The store.
    #[error(transparent)]
    Stock(#[from] StockError),
    /// A program that fetches or unpacks.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// What was fetched is no source.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The checksum is another one.
    #[error("the SHA-256 of {file} is {is}, and should be {expected} ({by})")]
    Checksum {
        /// The file.
        file: String,
        /// What it is.
        is: String,
        /// What it should be.
        expected: String,
        /// Who says so.
        by: String,
    },
    /// A checksum was given for what has none.
    #[error("--sha256: {0} has no checksum")]
    NoChecksum(&'static str),
    /// A package has neither a source nor an image.
    #[error("package {package} has no {wanted} in it{hint}")]
    Nothing {
        /// The package.
        package: String,
        /// What was looked for.
        wanted: &'static str,
        /// What it depends on, where that may be meant.
        hint: String,
    },
}

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

impl What {
    /// Tells what is meant by a word of the command line.
    ///
    /// # Errors
    ///
    /// Fails where it is not clear.
    pub fn parse(word: &str) -> Result<Self, FetchError> {
        let (before, reference) = match word.rsplit_once('#') {
            Some((before, reference)) => (before, Some(reference.to_owned())),
            None => (word, None),
        };
        let git = ["git://", "ssh://", "git@", "git+"]
            .iter()
            .any(|s| word.starts_with(s));
        let address = ["http://", "https://", "file://"]
            .iter()
            .any(|s| before.starts_with(s));
        if git || (address && (before.ends_with(".git") || reference.is_some())) {
            return Ok(Self::Git {
                address: before.trim_start_matches("git+").to_owned(),
                reference,
            });
        }
        if address {
            return Ok(Self::Address(word.to_owned()));
        }
        let path = Path::new(word);
        if path.is_dir() {
            return Ok(Self::Directory(path.to_owned()));
        }
        if path.is_file() {
            return Ok(if word.ends_with(".deb") {
                Self::PackageFile(path.to_owned())
            } else {
                Self::Tarball(path.to_owned())
            });
        }
        let package = ["linux-source-", "linux-image-"]
            .iter()
            .any(|s| word.starts_with(s));
        if package && !word.contains('/') {
            let (name, version) = match word.split_once('=') {
                Some((name, version)) => (name, Some(version.to_owned())),
                None => (word, None),
            };
            return Ok(Self::Package {
                name: name.to_owned(),
                version,
            });
        }
        Err(FetchError::Unclear(word.to_owned()))
    }
}

/// Fetches `what` into the store.
///
/// # Errors
///
/// Fails where a name is taken, something cannot be fetched, or a checksum is another one; then nothing of it is in
/// the store.
pub fn fetch(
    stock: &Stock,
    what: &What,
    options: &Options,
    stop: &dyn Fn() -> bool,
) -> Result<Fetched, FetchError> {
    let fetch = Fetch {
        stock,
        options,
        stop,
    };
    match what {
        What::Package { name, version } => fetch.package(name, version.as_deref()),
        What::PackageFile(path) => fetch.package_file(path, None),
        What::Tarball(path) => fetch.tarball(path, &path.display().to_string()),
        What::Address(address) => fetch.address(address),
        What::Git { address, reference } => fetch.git(address, reference.as_deref()),
        What::Directory(path) => fetch.directory(path),
    }
}

struct Fetch<'a> {
    stock: &'a Stock,
    options: &'a Options,
    stop: &'a dyn Fn() -> bool,
}

impl Fetch<'_> {
    fn long(&self, long: Long<'_>) -> Result<(), ToolError> {
        long.run(self.stop, |_| {})
    }

    fn name(&self, default: &str) -> String {
        self.options
            .name
            .clone()
            .unwrap_or_else(|| default.to_owned())
    }

    fn package(&self, name: &str, version: Option<&str>) -> Result<Fetched, FetchError> {
        if name.starts_with("linux-source-") {
            self.stock.free(Kind::Source, &self.name(name))?;
        }
        let scratch = self.stock.begin(Kind::Source)?;
        let wanted = version.map_or_else(|| name.to_owned(), |version| format!("{name}={version}"));
        let mut apt = Long::new("apt-get");
        apt.command
            .current_dir(scratch.path())
            .arg("download")
            .arg(&wanted);
        self.long(apt)?;
        let found = fs::read_dir(scratch.path()).map_err(fault("list", scratch.path()))?;
        let deb = found
            .flatten()
            .map(|entry| entry.path())
            .find(|path| path.extension().is_some_and(|end| end == "deb"));
        match deb {
            Some(deb) => self.package_file(&deb, Some(&wanted)),
            None => Err(FetchError::Nothing {
                package: name.to_owned(),
                wanted: "file",
                hint: String::new(),
            }),
        }
    }

    fn package_file(&self, path: &Path, listed: Option<&str>) -> Result<Fetched, FetchError> {
        let field = |name: &str| {
            let answer = run(command("dpkg-deb").arg("-f").arg(path).arg(name))?;
            Ok::<_, ToolError>(answer.text())
        };
        let (package, version) = (field("Package")?, field("Version")?);
        let sha256 = sha256(path)?;
        let mut verified_by = self.check(&package, &sha256)?;
        if listed.is_some() && verified_by.is_none() {
            let by = "apt's package lists".to_owned();
            if let Some(expected) = listed_sha256(&package, &version)? {
                compare(&package, &sha256, &expected, &by)?;
                verified_by = Some(by);
            }
        }
        let from = format!("{package} {version}");
        let made = self.stock.begin(Kind::Source)?;
        if package.starts_with("linux-source") {
            let name = self.name(&package);
            self.stock.free(Kind::Source, &name)?;
            self.unpack_package(path, made.path(), "./usr/src/*")?;
            let src = made.path().join("usr/src");
            let tarball = files(&src)
                .into_iter()
                .find(|path| path.to_string_lossy().contains(".tar"));
            let Some(tarball) = tarball else {
                return Err(nothing(&package, "source", &field("Depends")?));
            };
            return self.unpack_source(
                &tarball,
                name,
                SourceOrigin::Package,
                from,
                sha256,
                verified_by,
            );
        }
        self.unpack_package(path, made.path(), "./boot/*")?;
        let boot = made.path().join("boot");
        let image = files(&boot).into_iter().find(|path| {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            name.starts_with("vmlinu") || name.starts_with("Image")
        });
        let Some(image) = image else {
            return Err(nothing(&package, "image", &field("Depends")?));
        };
        let file_name = image
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let release = file_name
            .split_once('-')
            .map_or(file_name.as_str(), |(_, release)| release);
        let name = self.name(release);
        let place = self.stock.free(Kind::Image, &name)?;
        let config = boot.join(format!("config-{release}"));
        let described = KernelImage {
            release: release.to_owned(),
            from,
            sha256,
            verified_by,
            image: place.join("boot").join(&file_name).display().to_string(),
            config: config.exists().then(|| {
                place
                    .join("boot")
                    .join(format!("config-{release}"))
                    .display()
                    .to_string()
            }),
            at: self.options.at.clone(),
            name: name.clone(),
        };
        let images = self.stock.begin(Kind::Image)?;
        let to = images.path().join("boot");
        fs::rename(&boot, &to).map_err(fault("move", &to))?;
        self.stock.finish(Kind::Image, &name, images, &described)?;
        Ok(Fetched::Image(described))
    }

    /// Unpacks only what matches: the modules of an image have hundreds of megabytes.
    fn unpack_package(&self, deb: &Path, to: &Path, pattern: &str) -> Result<(), ToolError> {
        let mut unpack = Long::new("sh");
        // tar says so when the archive ends in the middle; that nothing matches is ours to say.
        let script = "dpkg-deb --fsys-tarfile \"$1\" | tar -C \"$2\" -x --wildcards \"$3\" || \
                      dpkg-deb --contents \"$1\" >/dev/null";
        unpack
            .command
            .args(["-c", script, "sh"])
            .arg(deb)
            .arg(to)
            .arg(pattern);
        self.long(unpack)
    }

    fn address(&self, address: &str) -> Result<Fetched, FetchError> {
        let scratch = self.stock.begin(Kind::Source)?;
        let name = address
            .rsplit('/')
            .next()
            .filter(|name| !name.is_empty())
            .unwrap_or("source");
        let file = scratch
            .path()
            .join(name.replace(|c: char| !c.is_ascii_graphic(), "_"));
        let mut curl = Long::new("curl");
        curl.command
            .args([
                "--fail",
                "--location",
                "--silent",
                "--show-error",
                "--proto",
                "=https,http,file",
                "--output",
            ])
            .arg(&file)
            .arg("--")
            .arg(address);
        self.long(curl)?;
        self.tarball(&file, address)
    }

    fn tarball(&self, path: &Path, from: &str) -> Result<Fetched, FetchError> {
        let file = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let stem = file.split(".tar").next().unwrap_or(&file);
        let name = self.name(stem.trim_end_matches(".tgz"));
        self.stock.free(Kind::Source, &name)?;
        let sha256 = sha256(path)?;
        let verified_by = self.check(&file, &sha256)?;
        self.unpack_source(
            path,
            name,
            SourceOrigin::Tarball,
            from.to_owned(),
            sha256,
            verified_by,
        )
    }

    fn unpack_source(
        &self,
        tarball: &Path,
        name: String,
        origin: SourceOrigin,
        from: String,
        sha256: String,
        verified_by: Option<String>,
    ) -> Result<Fetched, FetchError> {
        let place = self.stock.free(Kind::Source, &name)?;
        let made = self.stock.begin(Kind::Source)?;
        let tree = made.path().join("tree");
        fs::create_dir(&tree).map_err(fault("make directory", &tree))?;
        let mut tar = Long::new("tar");
        tar.command
            .arg("-C")
            .arg(&tree)
            .args(["--strip-components=1", "--no-same-owner", "-xf"])
            .arg(tarball);
        self.long(tar)?;
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
            at: self.options.at.clone(),
            name,
        };
        self.stock
            .finish(Kind::Source, &source.name, made, &source)?;
        Ok(Fetched::Source(source))
    }

    fn git(&self, address: &str, reference: Option<&str>) -> Result<Fetched, FetchError> {
        self.no_checksum("a git repository")?;
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
        let place = self.stock.free(Kind::Source, &name)?;
        let made = self.stock.begin(Kind::Source)?;
        let tree = made.path().join("tree");
        let mut clone = Long::new("git");
        clone.command.args(["clone", "--quiet"]);
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
            at: self.options.at.clone(),
            name,
        };
        self.stock
            .finish(Kind::Source, &source.name, made, &source)?;
        Ok(Fetched::Source(source))
    }

    fn directory(&self, path: &Path) -> Result<Fetched, FetchError> {
        self.no_checksum("a directory")?;
        let tree = Tree::open(path)?;
        let default = tree
            .path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let name = self.name(&default);
        self.stock.free(Kind::Source, &name)?;
        let made = self.stock.begin(Kind::Source)?;
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
            at: self.options.at.clone(),
            name,
        };
        self.stock
            .finish(Kind::Source, &source.name, made, &source)?;
        Ok(Fetched::Source(source))
    }

    /// Compares a checksum with the one that the user gave.
    fn check(&self, file: &str, is: &str) -> Result<Option<String>, FetchError> {
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

fn compare(file: &str, is: &str, expected: &str, by: &str) -> Result<(), FetchError> {
    if is.eq_ignore_ascii_case(expected) {
        return Ok(());
    }
    Err(FetchError::Checksum {
        file: file.to_owned(),
        is: is.to_owned(),
        expected: expected.to_owned(),
        by: by.to_owned(),
    })
}

fn nothing(package: &str, wanted: &'static str, depends: &str) -> FetchError {
    let meant = depends
        .split(',')
        .map(|name| name.split_whitespace().next().unwrap_or_default())
        .find(|name| name.starts_with("linux-image-") || name.starts_with("linux-source-"));
    FetchError::Nothing {
        package: package.to_owned(),
        wanted,
        hint: meant.map_or_else(String::new, |meant| format!("; it depends on {meant}")),
    }
}

/// Returns the checksum that the package lists have.
fn listed_sha256(package: &str, version: &str) -> Result<Option<String>, ToolError> {
    let answer = ask(command("apt-cache")
        .arg("show")
        .arg(format!("{package}={version}")))?;
    let text = answer.text();
    let sum = text.lines().find_map(|line| line.strip_prefix("SHA256: "));
    Ok(sum.map(|sum| sum.trim().to_owned()))
}

fn commit(tree: &Path) -> Option<String> {
    let answer = run(command("git")
        .arg("-C")
        .arg(tree)
        .args(["rev-parse", "HEAD"]))
    .ok()?;
    let own = run(command("git")
        .arg("-C")
        .arg(tree)
        .args(["rev-parse", "--show-prefix"]))
    .ok()?;
    // A tree below another repository is none of its own.
    own.text().is_empty().then(|| answer.text())
}

fn files(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files
}

/// Returns the SHA-256 of a file, in hexadecimal digits.
///
/// # Errors
///
/// Fails where it cannot be read.
pub fn sha256(path: &Path) -> Result<String, StockError> {
    let mut file = File::open(path).map_err(fault("open", path))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hex(&hash.finalize())),
            Ok(count) => hash.update(buffer.get(..count).unwrap_or_default()),
            Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
            Err(err) => return Err(fault("read", path)(err)),
        }
    }
}

#[cfg(test)]
mod tests {
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

    fn get(stock: &Stock, word: &str, options: &Options) -> Result<Fetched, FetchError> {
        fetch(stock, &What::parse(word)?, options, &|| false)
    }

    #[test]
    fn words_are_told_apart() {
        let package = |name: &str, version: Option<&str>| What::Package {
            name: name.into(),
            version: version.map(str::to_owned),
        };
        let git = |address: &str, reference: Option<&str>| What::Git {
            address: address.into(),
            reference: reference.map(str::to_owned),
        };
        for (word, expected) in [
            ("linux-source-6.12", package("linux-source-6.12", None)),
            (
                "linux-image-6.1.0-56-amd64=6.1.1-1",
                package("linux-image-6.1.0-56-amd64", Some("6.1.1-1")),
            ),
            (
                "https://example.org/linux-6.12.tar.xz",
                What::Address("https://example.org/linux-6.12.tar.xz".into()),
            ),
            (
                "https://example.org/linux.git",
                git("https://example.org/linux.git", None),
            ),
            (
                "https://example.org/linux.git#v6.12",
                git("https://example.org/linux.git", Some("v6.12")),
            ),
            (
                "git@example.org:linux.git#rt",
                git("git@example.org:linux.git", Some("rt")),
            ),
        ] {
            assert_eq!(What::parse(word).unwrap(), expected);
        }
        for word in ["no-such-file", "linux-source-/../x", "vim"] {
            What::parse(word).unwrap_err();
        }
    }

    #[test]
    fn a_tarball_is_verified_unpacked_and_described() {
        let dir = tempfile::tempdir().unwrap();
        tree(&dir.path().join("linux-6.12.9"));
        let tarball = dir.path().join("linux-6.12.9.tar.gz");
        let mut tar = command("tar");
        tar.arg("-C")
            .arg(dir.path())
            .arg("-czf")
            .arg(&tarball)
            .arg("linux-6.12.9");
        run(&mut tar).unwrap();
        let word = tarball.display().to_string();
        let stock = Stock::at(dir.path().join("store"));
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
            matches!(err, FetchError::Stock(StockError::Taken { .. })),
            "{err:?}"
        );
    }

    #[test]
    fn a_directory_stays_where_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mine");
        tree(&path);
        let stock = Stock::at(dir.path().join("store"));
        let word = path.display().to_string();
        let Fetched::Source(source) = get(&stock, &word, &options()).unwrap() else {
            panic!()
        };
        assert_eq!(Path::new(&source.tree), fs::canonicalize(&path).unwrap());
        assert_eq!((source.sha256, source.commit), (None, None));
        stock.remove(Kind::Source, "mine").unwrap();
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

    #[test]
    fn an_image_is_unpacked_from_its_package_without_its_modules() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        for (file, text) in [
            ("boot/vmlinuz-6.1.0-9-test", "image"),
            ("boot/config-6.1.0-9-test", "CONFIG_HZ=250\n"),
            ("lib/modules/6.1.0-9-test/x.ko", "module"),
            (
                "DEBIAN/control",
                "Package: linux-image-6.1.0-9-test\nVersion: 6.1.9-1\nArchitecture: all\nMaintainer: x <x@example.org>\nDescription: x\n",
            ),
        ] {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(root.join("DEBIAN"), fs::Permissions::from_mode(0o755)).unwrap();
        let deb = dir.path().join("x.deb");
        run(command("dpkg-deb").arg("-b").arg(&root).arg(&deb)).unwrap();
        let stock = Stock::at(dir.path().join("store"));
        let fetched = get(&stock, &deb.display().to_string(), &options()).unwrap();
        let Fetched::Image(image) = fetched else {
            panic!()
        };
        assert_eq!(image.release, "6.1.0-9-test");
        assert_eq!(image.from, "linux-image-6.1.0-9-test 6.1.9-1");
        assert_eq!(fs::read(&image.image).unwrap(), b"image");
        assert!(image.config.is_some());
        assert!(!dir.path().join("store/images/6.1.0-9-test/lib").exists());
        // Nothing half-made is left.
        let left = fs::read_dir(dir.path().join("store/sources"))
            .unwrap()
            .count();
        assert_eq!(left, 0);
    }
}
