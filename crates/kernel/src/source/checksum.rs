// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Checksums of what is fetched, and whom they are compared with.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use punctual_sys::PathError;

use super::error::FetchError;
use super::kernel_store::KernelStoreError;
use crate::file::{open_regular, too_long};
use crate::tool::{ToolError, ask, command};

/// Returns the SHA-256 of a file, in hexadecimal digits.
///
/// # Errors
///
/// Fails where it cannot be read.
pub fn sha256(path: &Path) -> Result<String, KernelStoreError> {
    let mut file = File::open(path).map_err(PathError::at("open", path))?;
    let mut hash = Sha256::new();
    io::copy(&mut file, &mut hash).map_err(PathError::at("read", path))?;
    Ok(format!("{:x}", hash.finalize()))
}

/// Copies a file to `to`, and returns the SHA-256 of what was copied: whoever changes the file afterwards changes
/// nothing any more.
pub(super) fn take(from: &Path, to: &Path, most: u64) -> Result<String, KernelStoreError> {
    let mut file = open_regular(from).map_err(PathError::at("read", from))?;
    let mut copy = File::create_new(to).map_err(PathError::at("make", to))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    let mut copied = 0;
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => return Ok(format!("{:x}", hash.finalize())),
            Ok(count) => count,
            Err(err) if err.kind() == io::ErrorKind::Interrupted => continue,
            Err(err) => return Err(PathError::new("read", from, err).into()),
        };
        copied += count as u64;
        if copied > most {
            return Err(PathError::new("read", from, too_long(most)).into());
        }
        let bytes = buffer.get(..count).unwrap_or_default();
        hash.update(bytes);
        copy.write_all(bytes).map_err(PathError::at("write", to))?;
    }
}

/// Compares the checksum of `file` with the one that `by` says.
pub(super) fn compare(file: &str, is: &str, expected: &str, by: &str) -> Result<(), FetchError> {
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

/// Returns the checksums that the package lists have for a package of this version and architecture: one, unless
/// archives differ.
pub(super) fn listed_sha256(
    package: &str,
    version: &str,
    architecture: &str,
) -> Result<Vec<String>, ToolError> {
    // Without one, apt takes this machine's.
    let of = match architecture {
        "all" => String::new(),
        of => format!(":{of}"),
    };
    let answer = ask(command("apt-cache")
        .arg("show")
        .arg(format!("{package}{of}={version}")))?;
    let text = answer.text();
    let records = text.split("\n\n").filter(|record| {
        let says = |key, value| field(record, key) == Some(value);
        says("Version", version) && says("Architecture", architecture)
    });
    let sums = records.filter_map(|record| field(record, "SHA256"));
    Ok(sums.map(str::to_owned).collect())
}

/// Returns a field of a record of the package lists.
fn field<'a>(record: &'a str, key: &str) -> Option<&'a str> {
    let value = |line: &'a str| line.strip_prefix(key)?.strip_prefix(": ");
    record.lines().find_map(value).map(str::trim)
}
