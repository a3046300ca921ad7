// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a word of the command line means as a source.

use std::path::{Path, PathBuf};

use super::error::FetchError;

/// What is to be fetched.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum WantedSource {
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

impl WantedSource {
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
        let git = [
            "git://",
            "ssh://",
            "git@",
            "git+http",
            "git+ssh://",
            "git+file://",
        ]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_apart() {
        let package = |name: &str, version: Option<&str>| WantedSource::Package {
            name: name.into(),
            version: version.map(str::to_owned),
        };
        let git = |address: &str, reference: Option<&str>| WantedSource::Git {
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
                WantedSource::Address("https://example.org/linux-6.12.tar.xz".into()),
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
            assert_eq!(WantedSource::parse(word).unwrap(), expected);
        }
        for word in ["no-such-file", "linux-source-/../x", "vim"] {
            WantedSource::parse(word).unwrap_err();
        }
    }
}
