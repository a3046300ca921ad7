// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! On which file system and device a directory lies, from `/proc/self/mountinfo`
//! (Documentation/filesystems/proc.rst, 3.5) and `/sys/dev/block`.

use punctual_sys::SysRoot;

/// Where a directory lies.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Mount {
    /// Where it is mounted.
    pub(crate) at: String,
    /// `ext4`.
    pub(crate) kind: String,
    /// `/dev/sda1`.
    pub(crate) source: String,
    /// `8:1`.
    device: String,
    /// Which directory of the file system is mounted there.
    pub(crate) root: String,
    /// Options of the file system, such as the controllers of cgroups.
    pub(crate) options: String,
    /// Whether it cannot be written.
    pub(crate) read_only: bool,
}

/// What a file system lies on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Under {
    /// A disk or a partition.
    Plain,
    /// Something that is made of disks: `LVM`, `software RAID`.
    Layered(String),
    /// It is not known what.
    Unknown,
}

impl Mount {
    /// Returns the mount that `path` lies on.
    pub(crate) fn of(sys: &SysRoot, path: &str) -> Option<Self> {
        let mut found: Option<Self> = None;
        for mount in Self::all(sys) {
            // A later one hides an earlier one of the same place.
            let deeper = |old: &Self| mount.at.len() >= old.at.len();
            if is_below(path, &mount.at) && found.as_ref().is_none_or(deeper) {
                found = Some(mount);
            }
        }
        found
    }

    /// Returns all mounts in their order.
    pub(crate) fn all(sys: &SysRoot) -> Vec<Self> {
        let text = sys.read("/proc/self/mountinfo").unwrap_or_default();
        text.lines().filter_map(Self::parse).collect()
    }

    fn parse(line: &str) -> Option<Self> {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(2);
        let device = left.next()?.to_owned();
        let (root, at) = (unescaped(left.next()?), unescaped(left.next()?));
        let mount = left.next()?;
        let mut right = right.split(' ');
        let (kind, source) = (right.next()?, right.next()?);
        let options = right.next().unwrap_or_default();
        Some(Self {
            at,
            kind: kind.to_owned(),
            source: unescaped(source),
            device,
            root,
            read_only: [mount, options]
                .iter()
                .any(|options| options.split(',').any(|option| option == "ro")),
            options: options.to_owned(),
        })
    }

    /// Returns what it lies on.
    pub(crate) fn under(&self, sys: &SysRoot) -> Under {
        let node = format!("/sys/dev/block/{}", self.device);
        if !sys.exists(&node) {
            return Under::Unknown;
        }
        // A partition lies below its disk.
        let whole = [node.clone(), format!("{node}/..")];
        for node in whole {
            if sys.exists(&format!("{node}/md")) {
                return Under::Layered("software RAID (md)".to_owned());
            }
            if sys.exists(&format!("{node}/bcache")) {
                return Under::Layered("bcache".to_owned());
            }
            if let Ok(uuid) = sys.read(&format!("{node}/dm/uuid")) {
                let kind = match uuid.split('-').next().unwrap_or_default() {
                    "LVM" => "LVM".to_owned(),
                    "CRYPT" => "an encrypted volume (dm-crypt)".to_owned(),
                    "mpath" => "a multipath device".to_owned(),
                    "" => "the device mapper".to_owned(),
                    other => format!("the device mapper ({other})"),
                };
                return Under::Layered(kind);
            }
        }
        Under::Plain
    }
}

/// Whether a path is that of a directory or below it.
pub(crate) fn is_below(path: &str, at: &str) -> bool {
    let at = at.trim_end_matches('/');
    path.strip_prefix(at)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Undoes the kernel's octal escapes of blanks and backslashes.
fn unescaped(text: &str) -> String {
    let mut out = text.to_owned();
    for (code, sign) in [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ] {
        out = out.replace(code, sign);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    const TABLE: &str = "21 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw\n\
                         22 21 253:0 / /boot rw - ext4 /dev/mapper/vg-boot rw\n\
                         23 22 8:1 / /boot/efi ro - vfat /dev/sda1 rw\n\
                         24 21 9:0 /x /with\\040blank rw - btrfs /dev/md0 ro";

    #[test]
    fn the_deepest_mount_and_what_is_under_it_is_found() {
        let (dir, sys) = machine(&[
            ("/proc/self/mountinfo", TABLE),
            ("/sys/dev/block/8:2/partition", "2"),
            ("/sys/dev/block/253:0/dm/uuid", "LVM-abc"),
            ("/sys/devices/md0/md/level", "raid1"),
            ("/sys/devices/md0/md0p1/partition", "1"),
        ]);
        std::os::unix::fs::symlink(
            "../../devices/md0/md0p1",
            dir.path().join("sys/dev/block/9:0"),
        )
        .unwrap();
        let of = |path: &str| Mount::of(&sys, path).unwrap();
        assert_eq!((of("/").at, of("/bootable").at), ("/".into(), "/".into()));
        assert_eq!(of("/bootable").under(&sys), Under::Plain);
        let boot = of("/boot/grub");
        assert_eq!((boot.kind.as_str(), boot.read_only), ("ext4", false));
        assert_eq!(boot.under(&sys), Under::Layered("LVM".into()));
        assert!(of("/boot/efi/EFI").read_only);
        assert_eq!(of("/boot/efi").under(&sys), Under::Unknown);
        let raid = of("/with blank/x");
        assert!(raid.read_only);
        assert_eq!(
            raid.under(&sys),
            Under::Layered("software RAID (md)".into())
        );
    }
}
