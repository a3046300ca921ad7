// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The Ansible collection that is inside this program.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::CliError;

/// Its files: names below the collection's directory, and contents. The build script makes the table.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/collection.rs"));

/// Where Ansible looks for it below a directory of collections.
const PLACE: &str = "ansible_collections/punctual/fleet";

/// Writes the collection out, in the place of one that is there, and returns its directory. Nothing else below `dir` is
/// touched.
pub(super) fn write(dir: &Path) -> Result<PathBuf, CliError> {
    let place = dir.join(PLACE);
    let failed = |err: io::Error| {
        CliError::failed_to(format!("write the collection to {}", place.display())).because(err)
    };
    match place.symlink_metadata() {
        Ok(meta) if meta.is_dir() && !place.join("galaxy.yml").is_file() => {
            return Err(CliError::failed_to(format!(
                "write the collection to {}: something else is there",
                place.display()
            )));
        }
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(&place).map_err(failed)?,
        Ok(_) => return Err(failed(io::ErrorKind::NotADirectory.into())),
        Err(_) => {}
    }
    for (name, content) in FILES {
        let path = place.join(name);
        if let Some(above) = path.parent() {
            fs::create_dir_all(above).map_err(failed)?;
        }
        fs::write(&path, content).map_err(failed)?;
    }
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_collection_has_the_version_of_the_program() {
        let galaxy = FILES.iter().find(|(name, _)| *name == "galaxy.yml");
        let galaxy = String::from_utf8(galaxy.unwrap().1.to_vec()).unwrap();
        let version = format!("version: {}\n", env!("CARGO_PKG_VERSION"));
        assert!(galaxy.contains(&version), "{galaxy}");
    }

    #[test]
    fn it_is_replaced_as_a_whole_and_nothing_else_is() {
        let dir = tempfile::tempdir().unwrap();
        let place = write(dir.path()).unwrap();
        fs::write(place.join("stale.yml"), "x").unwrap();
        fs::write(dir.path().join("mine"), "x").unwrap();
        write(dir.path()).unwrap();
        assert!(!place.join("stale.yml").exists());
        assert!(place.join("plugins/action/program.py").is_file());
        assert!(dir.path().join("mine").is_file());
        // A directory that is not ours is left alone.
        fs::remove_file(place.join("galaxy.yml")).unwrap();
        write(dir.path()).unwrap_err();
        assert!(place.join("README.md").is_file());
    }
}
