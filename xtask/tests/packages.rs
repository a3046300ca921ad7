// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is in an archive and a package, with stand-ins for the programs. `make dist-check` tries real ones.
#![expect(clippy::unwrap_used, reason = "test helpers")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const TRIPLES: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// A language that sorts names in another way than by bytes.
const LOCALE: &str = "en_US.UTF-8";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// Runs a script of the repository with programs that are below `target`, for a user with the locales below `locales`.
fn script(name: &str, target: &Path, packages: &Path, locales: &Path) -> Output {
    let output = Command::new(root().join("scripts").join(name))
        .arg(packages)
        .args(TRIPLES)
        .env("LOCPATH", locales)
        .env("LC_ALL", LOCALE)
        .env("CARGO_TARGET_DIR", target)
        .env("SOURCE_DATE_EPOCH", "1767225600")
        .output()
        .unwrap();
    assert!(output.status.success(), "{name}: {output:?}");
    output
}

/// Makes everything in a new directory below `place`, for a user whose locales are those of `locales`, where they can be made.
fn made(place: &Path, locales: &[&str]) -> PathBuf {
    let (target, packages) = (place.join("target"), place.join("packages"));
    let compiled = place.join("locales");
    fs::create_dir_all(&compiled).unwrap();
    for name in locales {
        let source = name.split('.').next().unwrap();
        let made = Command::new("localedef")
            .args(["-i", source, "-f", "UTF-8"])
            .arg(compiled.join(name))
            .output();
        if !made.is_ok_and(|output| output.status.success()) {
            eprintln!("no locale {name}: names are sorted by bytes");
        }
    }
    for triple in TRIPLES {
        for profile in ["dist", "agent"] {
            let directory = target.join(triple).join(profile);
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("punctual"), format!("{triple} {profile}")).unwrap();
        }
    }
    fs::create_dir_all(&packages).unwrap();
    fs::write(packages.join("third-party.txt"), "licences").unwrap();
    fs::write(packages.join("sbom.cdx.json"), "{}").unwrap();
    script("dist.sh", &target, &packages, &compiled);
    script("deb.sh", &target, &packages, &compiled);
    packages
}

/// Lists what a command prints, a line each.
fn lines(program: &str, args: &[&str], file: &Path) -> Vec<String> {
    let output = Command::new(program).args(args).arg(file).output().unwrap();
    assert!(output.status.success(), "{program}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(ToOwned::to_owned).collect()
}

#[test]
fn packing_twice_gives_the_same_bytes_and_everything_that_is_installed_is_in() {
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        eprintln!("skipped: no dpkg-deb");
        return;
    }
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // Without its locale a user has that of C.
    let (first, second) = (made(one.path(), &[]), made(two.path(), &[LOCALE]));
    let sums = |packages: &Path| {
        let bytes = fs::read(packages.join("SHA256SUMS")).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    assert_eq!(sums(&first), sums(&second));
    let sums = sums(&first);
    assert_eq!(sums.lines().count(), 5, "{sums}");

    let version = env!("CARGO_PKG_VERSION");
    let archive = first.join(format!("punctual-{version}-aarch64-linux.tar.gz"));
    let listed = lines("tar", &["-tzf"], &archive);
    let has = |path: &str| listed.iter().any(|line| line.ends_with(path));
    for path in [
        "/bin/punctual",
        "/lib/punctual/agent-x86_64",
        "/share/man/man1/punctual-measure.1",
        "/share/bash-completion/completions/punctual",
        "/share/doc/punctual/THIRD-PARTY.txt",
        "/share/doc/punctual/LICENSE-MIT",
    ] {
        assert!(has(path), "{path}: {listed:?}");
    }
    assert!(!has("agent-aarch64"), "the program holds its own agent");

    let package = first.join(format!("punctual_{version}_arm64.deb"));
    let listed = lines("dpkg-deb", &["--contents"], &package);
    for (mode, path) in [
        ("-rwxr-xr-x root/root", "./usr/bin/punctual"),
        ("-rwxr-xr-x root/root", "./usr/lib/punctual/agent-x86_64"),
        ("-rw-r--r-- root/root", "./usr/share/man/man1/punctual.1.gz"),
        ("-rw-r--r-- root/root", "./usr/share/doc/punctual/copyright"),
        (
            "-rw-r--r-- root/root",
            "./usr/share/doc/punctual/changelog.gz",
        ),
        (
            "-rw-r--r-- root/root",
            "./etc/security/limits.d/punctual.conf",
        ),
        (
            "-rw-r--r-- root/root",
            "./usr/lib/systemd/system/punctual-serve.service",
        ),
    ] {
        let line = listed.iter().find(|line| line.ends_with(path));
        assert!(
            line.is_some_and(|line| line.starts_with(mode)),
            "{mode} {path}: {listed:?}"
        );
    }
    let control = lines("dpkg-deb", &["--field"], &package).join("\n");
    for part in [
        "Package: punctual",
        "Architecture: arm64",
        &format!("Version: {version}"),
    ] {
        assert!(control.contains(part), "{part}: {control}");
    }
    assert!(
        !control.contains("@VERSION@") && !control.contains("@EMAIL@"),
        "{control}"
    );
}

/// Returns what `make` would do in `directory`, or why it does not.
fn planned(directory: &Path, args: &[&str]) -> Output {
    Command::new("make")
        .arg("--dry-run")
        .args(args)
        .current_dir(directory)
        .env_remove("MAKEFLAGS")
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .unwrap()
}

#[test]
fn sources_in_a_path_with_blanks_are_refused_and_a_destination_is_not() {
    if Command::new("make").arg("--version").output().is_err() {
        eprintln!("skipped: no make");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let sources = place.path().join("my sources");
    fs::create_dir(&sources).unwrap();
    fs::copy(root().join("Makefile"), sources.join("Makefile")).unwrap();
    let refused = planned(&sources, &["build"]);
    let why = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && why.contains("my sources\": a path with blanks"),
        "{why}"
    );
    let args = ["install", "uninstall", "DESTDIR=/my root", "PREFIX=/usr"];
    let output = planned(&root(), &args);
    let steps = String::from_utf8_lossy(&output.stdout);
    let quoted = steps.matches("'/my root/usr/").count();
    assert!(output.status.success() && quoted > 10, "{output:?}");
    assert_eq!(quoted, steps.matches("/my root").count(), "{steps}");
}
