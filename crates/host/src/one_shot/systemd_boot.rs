// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! systemd-boot: its entries, and the firmware's variables that it shares with the system
//! (the Boot Loader Interface of systemd).
//!
//! A variable in efivarfs is a file: four bytes of attributes, then its value, here text in UTF-16 that ends with a zero.

mod order;

use punctual_model::OneShotRefusal;
use punctual_sys::SysRoot;

use super::{ENTRY, refusal};

pub(crate) use order::becomes_default;

const VARIABLES: &str = "/sys/firmware/efi/efivars";
const VENDOR: &str = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
/// Where the boot partition is, if it has loader entries.
const PLACES: [&str; 3] = ["/efi", "/boot", "/boot/efi"];
/// Kept when power is off, visible to the loader and to the system.
const ATTRIBUTES: [u8; 4] = [7, 0, 0, 0];
/// `LoaderFeatures`: the loader heeds `LoaderEntryOneShot`.
const ONE_SHOT: u64 = 1 << 3;
const MOST: usize = 64 << 10;

/// A machine that systemd-boot starts.
#[derive(Clone, Debug)]
pub(super) struct SystemdBoot {
    /// Where the boot partition is mounted.
    pub(super) place: Option<&'static str>,
    heeds: bool,
    writable: bool,
    becomes_default: bool,
}

impl SystemdBoot {
    /// Returns what is known of it, if it started the machine.
    pub(super) fn find(sys: &SysRoot) -> Option<Self> {
        if !started_machine(sys) {
            return None;
        }
        let features = bytes(sys, &variable("LoaderFeatures"));
        let features = features.and_then(|bytes| bytes.get(4..12)?.try_into().ok());
        Some(Self {
            place: place(sys),
            // An old one does not say what it can; it could that from the beginning.
            heeds: features.is_none_or(|bytes| u64::from_le_bytes(bytes) & ONE_SHOT != 0),
            writable: crate::mounts::Mount::of(sys, VARIABLES).is_none_or(|mount| !mount.read_only),
            becomes_default: becomes_default(sys, &format!("{ENTRY}.conf")),
        })
    }

    /// Whether its files are there, though it did not start the machine.
    pub(super) fn files_are_there(sys: &SysRoot) -> bool {
        place(sys).is_some()
    }

    /// Says what stands in the way.
    pub(super) fn refusals(&self) -> Vec<OneShotRefusal> {
        let mut all = Vec::new();
        if self.place.is_none() {
            all.push(refusal(
                "systemd-boot started the machine, but its entries cannot be found: none of /efi, \
                 /boot and /boot/efi has loader/entries"
                    .to_owned(),
                "mount the boot partition",
            ));
        }
        if !self.heeds {
            all.push(refusal(
                "this systemd-boot does not support LoaderEntryOneShot, according to its LoaderFeatures"
                    .to_owned(),
                "update it: bootctl update",
            ));
        }
        if !self.writable {
            all.push(refusal(
                format!("the firmware's variables are mounted read-only at {VARIABLES}"),
                "mount -o remount,rw it",
            ));
        }
        if self.place.is_some() && self.becomes_default {
            all.push(refusal(
                format!(
                    "systemd-boot would make the candidate the default: it sorts {ENTRY}.conf first, and no default \
                     is set that names another entry"
                ),
                "choose the machine's own entry: bootctl set-default ID, or `default ID` in loader/loader.conf",
            ));
        }
        all
    }
}

/// Whether it started the machine.
pub(crate) fn started_machine(sys: &SysRoot) -> bool {
    text(sys, "LoaderInfo").is_some_and(|info| info.starts_with("systemd-boot"))
}

fn place(sys: &SysRoot) -> Option<&'static str> {
    let has = |place: &&str| sys.exists(&format!("{place}/loader/entries"));
    PLACES.into_iter().find(has)
}

/// Returns the path of a variable.
pub(super) fn variable(name: &str) -> String {
    format!("{VARIABLES}/{name}-{VENDOR}")
}

/// Returns the path of the variable that names the entry of the next boot.
pub(super) fn choice() -> String {
    variable("LoaderEntryOneShot")
}

/// Returns what the choice is now.
pub(super) fn chosen(sys: &SysRoot) -> Option<String> {
    text(sys, "LoaderEntryOneShot")
}

fn text(sys: &SysRoot, name: &str) -> Option<String> {
    decoded(&bytes(sys, &variable(name))?)
}

/// Returns the texts of a variable that has several, each with a zero behind it.
fn list(sys: &SysRoot, name: &str) -> Option<Vec<String>> {
    let bytes = bytes(sys, &variable(name))?;
    let texts = units(&bytes)?;
    let texts = texts.split(|unit| *unit == 0);
    Some(texts.map(String::from_utf16_lossy).collect())
}

fn bytes(sys: &SysRoot, path: &str) -> Option<Vec<u8>> {
    Some(sys.read_up_to(path, MOST).ok()?.0)
}

/// Writes a variable's value as efivarfs takes it.
pub(crate) fn encoded(text: &str) -> Vec<u8> {
    let units = text.encode_utf16().chain([0]);
    let value = units.flat_map(u16::to_le_bytes);
    ATTRIBUTES.into_iter().chain(value).collect()
}

fn decoded(bytes: &[u8]) -> Option<String> {
    let units = units(bytes)?;
    String::from_utf16(units.split(|unit| *unit == 0).next()?).ok()
}

fn units(bytes: &[u8]) -> Option<Vec<u16>> {
    let pairs = bytes.get(ATTRIBUTES.len()..)?.chunks_exact(2);
    let units = pairs.filter_map(|pair| pair.try_into().ok());
    Some(units.map(u16::from_le_bytes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_read_as_it_was_written() {
        let bytes = encoded("a.conf");
        assert_eq!(bytes.len(), 4 + 2 * 7);
        assert_eq!(bytes[..6], [7, 0, 0, 0, b'a', 0]);
        assert_eq!(decoded(&bytes).unwrap(), "a.conf");
        assert_eq!(decoded(&[7, 0]), None);
    }
}
