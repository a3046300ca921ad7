// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is linked into the program besides its own sources: the texts of the licences, and a bill of materials (SBOM) in
//! CycloneDX's JSON. Both are functions of `Cargo.lock` and the crates' own files, without a time or a path.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use cargo_metadata::{CargoOpt, DependencyKind, Metadata, MetadataCommand, Package, PackageId};
use clap::Args;
use serde_json::{Value, json};

/// The program whose dependencies are meant.
const PROGRAM: &str = "punctual";

/// What releases are made for.
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// Linked code that is no crate: name, licence, remark.
const OTHERS: [(&str, &str, &str); 2] = [
    (
        "GNU C Library",
        "LGPL-2.1-or-later",
        "Linked statically, unchanged, as Debian distributes it (/usr/share/common-licenses/LGPL-2.1; sources: apt-get source \
         glibc). The sources of this program and `make build` link it to another version of that library.",
    ),
    (
        "The Rust standard library",
        "MIT OR Apache-2.0",
        "Linked statically, unchanged, as the toolchain of rust-toolchain.toml brings it \
         (https://github.com/rust-lang/rust, COPYRIGHT).",
    ),
];

/// How the names of files with licences begin.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];

/// Options of the chore.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Directory for third-party.txt and sbom.cdx.json
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// A crate that is linked in.
struct Linked<'a> {
    package: &'a Package,
    uses: BTreeSet<&'a PackageId>,
}

/// Writes both files.
pub(crate) fn write(root: &Path, options: &Options) -> anyhow::Result<()> {
    let read = |target: &&str| {
        MetadataCommand::new()
            .manifest_path(root.join("Cargo.toml"))
            .features(CargoOpt::AllFeatures)
            .other_options(["--locked".into(), format!("--filter-platform={target}")])
            .exec()
            .with_context(|| format!("failed to read cargo metadata for {target}"))
    };
    let all: Vec<Metadata> = TARGETS.iter().map(read).collect::<Result<_, _>>()?;
    let mut linked: BTreeMap<&PackageId, Linked<'_>> = BTreeMap::new();
    for metadata in &all {
        add(metadata, &mut linked)?;
    }
    let checksums = checksums(&String::from_utf8(fs::read(root.join("Cargo.lock"))?)?);
    let mut crates: Vec<&Linked<'_>> = linked.values().collect();
    crates.sort_by_key(|of| (of.package.name.to_string(), of.package.version.clone()));
    fs::create_dir_all(&options.out)?;
    fs::write(options.out.join("third-party.txt"), texts(&crates)?)?;
    let sbom = serde_json::to_string_pretty(&sbom(&crates, &checksums))?;
    fs::write(options.out.join("sbom.cdx.json"), sbom + "\n")?;
    println!("third party: {} crates", crates.len());
    Ok(())
}

/// Adds the crates that the program links to on one target.
fn add<'a>(
    metadata: &'a Metadata,
    linked: &mut BTreeMap<&'a PackageId, Linked<'a>>,
) -> anyhow::Result<()> {
    let resolve = metadata
        .resolve
        .as_ref()
        .context("no resolved dependencies")?;
    let uses: BTreeMap<&PackageId, BTreeSet<&PackageId>> = resolve
        .nodes
        .iter()
        .map(|node| {
            let normal = node.deps.iter().filter(|of| {
                let mut kinds = of.dep_kinds.iter();
                kinds.any(|kind| kind.kind == DependencyKind::Normal)
            });
            (&node.id, normal.map(|of| &of.pkg).collect())
        })
        .collect();
    let program = metadata.packages.iter().find(|of| of.name == PROGRAM);
    let mut open = vec![&program.context("no package of that name")?.id];
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let of = uses.get(id).cloned().unwrap_or_default();
        open.extend(of.iter().copied());
        let package = &metadata[id];
        // Procedural macros run in the compiler.
        if package.source.is_none()
            || package
                .targets
                .iter()
                .any(cargo_metadata::Target::is_proc_macro)
        {
            continue;
        }
        let entry = linked.entry(id).or_insert_with(|| Linked {
            package,
            uses: BTreeSet::new(),
        });
        entry.uses.extend(of);
    }
    Ok(())
}

/// Returns the checksums of a lock file, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for block in lock.split("[[package]]") {
        let value = |key: &str| {
            let line = block.lines().find_map(|line| line.strip_prefix(key))?;
            Some(
                line.trim_start_matches([' ', '='])
                    .trim_matches('"')
                    .to_owned(),
            )
        };
        if let (Some(name), Some(version), Some(sum)) =
            (value("name"), value("version"), value("checksum"))
        {
            found.insert((name, version), sum);
        }
    }
    found
}

/// Writes each text once, with the crates that it is of.
fn texts(crates: &[&Linked<'_>]) -> anyhow::Result<String> {
    let mut by_text: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut out = String::from(
        "What is linked into the program, and under which licences. Texts that several have are given once.\n\n",
    );
    for (name, licence, said) in OTHERS {
        writeln!(out, "{name}: {licence}\n    {said}")?;
    }
    for of in crates {
        let package = of.package;
        let called = format!("{} {}", package.name, package.version);
        let licence = package.license.as_deref().unwrap_or("see its file");
        writeln!(out, "{called}: {licence}")?;
        let home = package
            .manifest_path
            .parent()
            .context("a manifest without a directory")?;
        let mut files = Vec::new();
        gather(home.as_std_path(), 1, &mut files)?;
        if files.is_empty() && package.license.is_none() {
            bail!("{called} names no licence and has no file of one");
        }
        for file in files {
            let text = String::from_utf8_lossy(&fs::read(&file)?).replace('\r', "");
            let text = text
                .lines()
                .map(str::trim_end)
                .collect::<Vec<_>>()
                .join("\n");
            by_text.entry(text).or_default().insert(called.clone());
        }
    }
    let mut by_text: Vec<_> = by_text.into_iter().collect();
    by_text.sort_by(|(a, of_a), (b, of_b)| (of_a, a).cmp(&(of_b, b)));
    for (text, of) in by_text {
        let of: Vec<&str> = of.iter().map(String::as_str).collect();
        writeln!(
            out,
            "\n{}\n{}\n\n{}",
            "=".repeat(72),
            of.join(", "),
            text.trim()
        )?;
    }
    Ok(out)
}

/// Gathers the files with licences of a directory, and of those `depth` below it.
fn gather(directory: &Path, depth: u32, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let mut entries = fs::read_dir(directory)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type()?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        if kind.is_file() && NAMES.iter().any(|known| name.starts_with(known)) {
            files.push(entry.path());
        } else if kind.is_dir() && depth > 0 {
            gather(&entry.path(), depth - 1, files)?;
        }
    }
    Ok(())
}

/// Makes the bill of materials: CycloneDX 1.5.
fn sbom(crates: &[&Linked<'_>], checksums: &BTreeMap<(String, String), String>) -> Value {
    let reference = |package: &Package| format!("pkg:cargo/{}@{}", package.name, package.version);
    let references: BTreeMap<&PackageId, String> = crates
        .iter()
        .map(|of| (&of.package.id, reference(of.package)))
        .collect();
    let component = |of: &&Linked<'_>| {
        let package = of.package;
        let mut component = json!({
            "type": "library",
            "bom-ref": reference(package),
            "name": package.name.to_string(),
            "version": package.version.to_string(),
            "purl": reference(package),
        });
        if let Some(licence) = &package.license {
            // The slash is an old way to write OR.
            component["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
        }
        if let Some(sum) = checksums.get(&(package.name.to_string(), package.version.to_string())) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        component
    };
    let other = |(name, licence, _): &(&str, &str, &str)| json!({ "type": "library", "name": name, "licenses": [{ "expression": licence }] });
    let components: Vec<Value> = crates
        .iter()
        .map(component)
        .chain(OTHERS.iter().map(other))
        .collect();
    let dependencies: Vec<Value> = crates
        .iter()
        .map(|of| {
            let uses: BTreeSet<&String> =
                of.uses.iter().filter_map(|id| references.get(id)).collect();
            json!({ "ref": reference(of.package), "dependsOn": uses })
        })
        .collect();
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": {
            "type": "application",
            "name": PROGRAM,
            "version": env!("CARGO_PKG_VERSION"),
            "licenses": [{ "expression": env!("CARGO_PKG_LICENSE") }],
        } },
        "components": components,
        "dependencies": dependencies,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::workspace_root;

    #[test]
    fn every_crate_of_the_program_is_listed_with_a_licence_and_a_checksum() {
        let out = tempfile::tempdir().unwrap();
        let options = Options {
            out: out.path().to_owned(),
        };
        write(&workspace_root(), &options).unwrap();
        let text = fs::read(out.path().join("third-party.txt")).unwrap();
        let text = String::from_utf8(text).unwrap();
        let sbom: Value =
            serde_json::from_slice(&fs::read(out.path().join("sbom.cdx.json")).unwrap()).unwrap();
        let components = sbom["components"].as_array().unwrap();
        assert!(components.len() > 100, "{}", components.len());
        for component in components {
            assert!(
                component["licenses"][0]["expression"].is_string(),
                "{component}"
            );
            let known =
                component["purl"].is_null() || component["hashes"][0]["content"].is_string();
            assert!(known, "{component}");
        }
        let names: Vec<&str> = components
            .iter()
            .filter_map(|of| of["name"].as_str())
            .collect();
        assert!(names.contains(&"libsqlite3-sys") && names.contains(&"zstd-sys"));
        // What runs in the compiler, or in tests alone, is not in the program.
        assert!(!names.contains(&"serde_derive") && !names.contains(&"proptest"));
        assert!(text.contains("GNU C Library: LGPL-2.1-or-later"));
        assert!(text.contains("Permission is hereby granted") && text.contains("Apache License"));
        let root = workspace_root().display().to_string();
        assert!(!text.contains(&root) && !sbom.to_string().contains("/.cargo/"));
    }
}
