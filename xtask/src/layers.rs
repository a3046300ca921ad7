// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Which crate of the workspace may use which.

use std::path::Path;

use anyhow::{Context as _, bail};
use cargo_metadata::{DependencyKind, MetadataCommand};

/// What a crate may use of the workspace.
#[derive(Clone, Copy, Debug)]
enum May {
    Use(&'static [&'static str]),
    UseAll,
}

/// The layers, bottom first. Development dependencies are free: tests may look upwards.
const TABLE: &[(&str, May)] = &[
    ("punctual-model", May::Use(&[])),
    ("punctual-stats", May::Use(&[])),
    ("punctual-stats-c", May::Use(&["punctual-stats"])),
    ("punctual-sys", May::Use(&["punctual-model"])),
    (
        "punctual-host",
        May::Use(&["punctual-model", "punctual-sys"]),
    ),
    (
        "punctual-loops",
        May::Use(&["punctual-model", "punctual-sys"]),
    ),
    (
        "punctual-measure",
        May::Use(&[
            "punctual-loops",
            "punctual-model",
            "punctual-stats",
            "punctual-sys",
        ]),
    ),
    (
        "punctual-kernel",
        May::Use(&["punctual-model", "punctual-sys"]),
    ),
    (
        "punctual-peers",
        May::Use(&["punctual-model", "punctual-stats"]),
    ),
    (
        "punctual-store",
        May::Use(&["punctual-model", "punctual-stats", "punctual-sys"]),
    ),
    (
        "punctual-verdict",
        May::Use(&["punctual-model", "punctual-stats", "punctual-store"]),
    ),
    (
        "punctual-report",
        May::Use(&["punctual-model", "punctual-stats", "punctual-verdict"]),
    ),
    (
        "punctual-lab",
        May::Use(&["punctual-model", "punctual-stats", "punctual-sys"]),
    ),
    (
        "punctual-tasks",
        May::Use(&["punctual-model", "punctual-stats"]),
    ),
    ("punctual", May::UseAll),
    ("xtask", May::UseAll),
];

/// A crate of the workspace and those of its dependencies that are of the workspace too.
#[derive(Debug)]
struct Crate {
    name: String,
    uses: Vec<String>,
}

/// Fails with every edge that the table does not allow.
pub(crate) fn check(root: &Path) -> anyhow::Result<()> {
    let crates = workspace(root)?;
    let faults = faults(&crates);
    if !faults.is_empty() {
        bail!("layers: {}", faults.join("; "));
    }
    println!("layers: {} crates, every edge allowed", crates.len());
    Ok(())
}

fn workspace(root: &Path) -> anyhow::Result<Vec<Crate>> {
    let metadata = MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()
        .context("failed to read cargo metadata")?;
    let uses = |package: &cargo_metadata::Package| {
        package
            .dependencies
            .iter()
            .filter(|dependency| {
                dependency.kind != DependencyKind::Development && dependency.path.is_some()
            })
            .map(|dependency| dependency.name.clone())
            .collect()
    };
    Ok(metadata
        .packages
        .iter()
        .map(|package| Crate {
            name: package.name.to_string(),
            uses: uses(package),
        })
        .collect())
}

fn faults(crates: &[Crate]) -> Vec<String> {
    let mut faults = Vec::new();
    for Crate { name, uses } in crates {
        let Some((_, may)) = TABLE.iter().find(|(row, _)| row == name) else {
            faults.push(format!(
                "{name} has no row in the table of xtask/src/layers.rs"
            ));
            continue;
        };
        let May::Use(allowed) = may else { continue };
        for used in uses.iter().filter(|used| !allowed.contains(&used.as_str())) {
            faults.push(format!("{name} must not use {used}"));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn krate(name: &str, uses: &[&str]) -> Crate {
        Crate {
            name: name.into(),
            uses: uses.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn an_edge_of_the_table_is_allowed() {
        let crates = [
            krate("punctual-model", &[]),
            krate(
                "punctual-measure",
                &["punctual-model", "punctual-stats", "punctual-sys"],
            ),
            krate("punctual", &["punctual-report", "punctual-lab"]),
            krate("xtask", &["punctual"]),
        ];
        assert!(faults(&crates).is_empty());
    }

    #[test]
    fn an_edge_upwards_or_sideways_is_a_fault() {
        let crates = [
            krate("punctual-model", &["punctual-sys"]),
            krate("punctual-store", &["punctual-verdict"]),
        ];
        let faults = faults(&crates);
        assert_eq!(
            faults,
            [
                "punctual-model must not use punctual-sys",
                "punctual-store must not use punctual-verdict"
            ]
        );
    }

    #[test]
    fn a_crate_without_a_row_is_a_fault() {
        assert!(faults(&[krate("punctual-misc", &[])])[0].contains("no row"));
    }

    #[test]
    fn the_table_lets_no_crate_use_one_above_it() {
        for (index, (name, may)) in TABLE.iter().enumerate() {
            let May::Use(allowed) = may else { continue };
            for used in *allowed {
                assert!(
                    TABLE[..index].iter().any(|(row, _)| row == used),
                    "{name} uses {used}"
                );
            }
        }
    }

    #[test]
    fn this_workspace_is_read() {
        let crates = workspace(&crate::files::workspace_root()).unwrap();
        assert!(
            crates.iter().any(|found| found.name == "xtask"),
            "{crates:?}"
        );
    }
}
