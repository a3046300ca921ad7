// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Sources and images out of packages of the distribution, which are unpacked and never installed.

use std::fs;
use std::path::Path;

use punctual_model::{KernelImage, SourceOrigin};

use punctual_sys::PathError;

use super::checksum::{compare, listed_sha256, take};
use super::error::FetchError;
use super::fetch::{Fetch, Fetched};
use super::kernel_store::StoredKind;
use crate::file;
use crate::package::entries;
use crate::tool::{Long, ToolError, command, run};
use crate::unpack::{Links, Packed, shown, unpack};

/// No package of a kernel is longer: those with debugging symbols have 1.5 GB.
const LONGEST: u64 = 4 << 30;

impl Fetch<'_> {
    /// Downloads a package of the distribution, and takes what is in it.
    pub(super) fn package(&self, name: &str, version: Option<&str>) -> Result<Fetched, FetchError> {
        if name.starts_with("linux-source-") {
            self.stock.free(StoredKind::Source, &self.name(name))?;
        }
        let scratch = self.stock.begin(StoredKind::Source)?;
        let wanted = version.map_or_else(|| name.to_owned(), |version| format!("{name}={version}"));
        let mut apt = Long::new("apt-get");
        apt.command
            .current_dir(scratch.path())
            .arg("download")
            .arg(&wanted);
        self.long(apt)?;
        let found = fs::read_dir(scratch.path()).map_err(PathError::at("list", scratch.path()))?;
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

    /// Takes what is in a package. `listed` names it where apt knows it.
    pub(super) fn package_file(
        &self,
        path: &Path,
        listed: Option<&str>,
    ) -> Result<Fetched, FetchError> {
        let scratch = self.stock.begin(StoredKind::Source)?;
        let own = scratch.path().join("package.deb");
        let sha256 = take(path, &own, LONGEST)?;
        let path = own.as_path();
        let field = |name: &str| {
            let answer = run(command("dpkg-deb").arg("-f").arg(path).arg(name))?;
            Ok::<_, ToolError>(answer.text())
        };
        let (package, version) = (field("Package")?, field("Version")?);
        let architecture = field("Architecture")?;
        for (field, value) in [
            ("Package", &package),
            ("Version", &version),
            ("Architecture", &architecture),
        ] {
            // The characters that Debian's policy has for them (5.6.1, 5.6.12).
            let plain = |c: char| c.is_ascii_alphanumeric() || "+-.:~".contains(c);
            if value.is_empty() || !value.chars().all(plain) {
                return Err(FetchError::Field {
                    field,
                    value: shown(value.as_bytes()),
                });
            }
        }
        let mut verified_by = self.check(&package, &sha256)?;
        if listed.is_some() && verified_by.is_none() {
            let by = "apt's package lists".to_owned();
            let listed = listed_sha256(&package, &version, &architecture)?;
            let same = listed.iter().find(|sum| sum.eq_ignore_ascii_case(&sha256));
            if let Some(expected) = same.or_else(|| listed.first()) {
                compare(&package, &sha256, expected, &by)?;
                verified_by = Some(by);
            }
        }
        let from = format!("{package} {version}");
        let made = self.stock.begin(StoredKind::Source)?;
        if package.starts_with("linux-source") {
            let name = self.name(&package);
            self.stock.free(StoredKind::Source, &name)?;
            self.unpack_package(path, &from, made.path(), "usr/src")?;
            let src = made.path().join("usr/src");
            let tarball = entries(&src)
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
        self.unpack_package(path, &from, made.path(), "boot")?;
        let boot = made.path().join("boot");
        let image = entries(&boot).into_iter().find(|path| {
            if !fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file()) {
                return false;
            }
            let name = file::name(path);
            name.starts_with("vmlinu") || name.starts_with("Image")
        });
        let Some(image) = image else {
            return Err(nothing(&package, "image", &field("Depends")?));
        };
        let file_name = file::name(&image);
        let release = file_name
            .split_once('-')
            .map_or(file_name.as_str(), |(_, release)| release);
        let name = self.name(release);
        let place = self.stock.free(StoredKind::Image, &name)?;
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
        let images = self.stock.begin(StoredKind::Image)?;
        let to = images.path().join("boot");
        fs::rename(&boot, &to).map_err(PathError::at("move", &to))?;
        self.stock
            .finish(StoredKind::Image, &name, images, &described)?;
        Ok(Fetched::Image(described))
    }

    /// Unpacks only what is below `directory`: the modules of an image have hundreds of megabytes.
    fn unpack_package(
        &self,
        deb: &Path,
        from: &str,
        to: &Path,
        directory: &str,
    ) -> Result<(), FetchError> {
        let packed = fs::metadata(deb)
            .map_err(PathError::at("examine", deb))?
            .len();
        let mut files = command("dpkg-deb");
        files.arg("--fsys-tarfile").arg(deb);
        let place = |name: &Path| name.starts_with(directory).then(|| name.to_owned());
        Packed::of(files, packed, self.stop)
            .and_then(|packed| unpack(packed, to, Links::LeaveOut, &place))
            .map_err(|source| FetchError::Unpack {
                file: from.to_owned(),
                source,
            })
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{KernelStore, Options, WantedSource, fetch};

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
        let stock = KernelStore::at(dir.path().join("store"));
        let options = Options {
            at: "2026-01-01T00:00:00Z".to_owned(),
            ..Options::default()
        };
        let fetched = fetch(&stock, &WantedSource::PackageFile(deb), &options, &|| false).unwrap();
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
