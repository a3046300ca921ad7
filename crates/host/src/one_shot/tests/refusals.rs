// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Machines on which GRUB would not fall back.

use super::*;

#[test]
fn where_grub_cannot_write_it_is_refused_with_the_reason() {
    let mounts = |line: &'static str| [("proc/self/mountinfo", line)];
    let case = |line: &'static str, files: &[(&str, &str)], part: &str| {
        let mut all = mounts(line).to_vec();
        all.extend(files);
        let bench = Bench::grub(&all);
        let before = bench.dump();
        let said = bench.refused();
        assert!(said.contains(part), "{part}: {said}");
        assert!(matches!(
            bench.install().unwrap_err(),
            OneShotError::Refused { .. }
        ));
        assert_eq!(bench.dump(), before);
    };
    case(
        "21 1 0:30 /@ / rw - btrfs /dev/sda2 rw",
        &[],
        "is on btrfs (/dev/sda2)",
    );
    case(
        "21 1 253:0 / / rw - ext4 /dev/mapper/vg-root rw",
        &[("sys/dev/block/253:0/dm/uuid", "LVM-x")],
        "is on LVM",
    );
    case(
        "21 1 253:0 / / rw - ext4 /dev/mapper/c rw",
        &[("sys/dev/block/253:0/dm/uuid", "CRYPT-LUKS2-x")],
        "an encrypted volume",
    );
    case(
        "21 1 9:0 / / rw - ext4 /dev/md0 rw",
        &[("sys/dev/block/9:0/md/level", "raid1")],
        "is on software RAID (md)",
    );
    case("21 1 0:30 / / rw - overlay overlay rw", &[], "overlay");
    case(
        "21 1 9:9 / / rw - ext4 /dev/sdz rw",
        &[],
        "about which the kernel reports nothing",
    );
    case(
        "21 1 8:2 / / ro - ext4 /dev/sda2 rw",
        &[],
        "/boot is mounted read-only",
    );
    case("", &[], "is unknown");
}

#[test]
fn where_grub_would_not_heed_it_is_refused_with_the_reason() {
    let case = |config: String, part: &str| {
        let said = Bench::grub(&[("boot/grub/grub.cfg", &config)]).refused();
        assert!(said.contains(part), "{part}: {said}");
    };
    case(
        CONFIG.replace("save_env next_entry", "true"),
        "ignores next_entry",
    );
    case(
        CONFIG.replace("   save_env", "#  save_env"),
        "ignores next_entry",
    );
    case(
        CONFIG.replace("custom.cfg", "other.cfg"),
        "does not read /boot/grub/custom.cfg",
    );
    case(
        CONFIG.replace("/boot/vmlinuz-6.1.0-56-amd64", "/vmlinuz-gone"),
        "no entry with a kernel",
    );
    case(
        CONFIG.replace("\tlinux\t", "\tblscfg\t"),
        "loader/entries here (blscfg)",
    );
    case(
        format!("{CONFIG}if [ \"$boot_counter\" = 0 ]; then\n  set default=1\nfi\n"),
        "/boot/grub/grub.cfg sets default to 1, which overrides next_entry",
    );
    case(String::new(), "cannot be read");
    let own = Bench::grub(&[(CUSTOM, "set timeout=1; set default='mine'\n")]);
    assert_eq!(
        own.refused(),
        "/boot/grub/custom.cfg sets default to mine, which overrides next_entry"
    );
    let damaged = Bench::grub(&[("boot/grub/grubenv", "# something else")]);
    assert!(
        damaged.refused().contains("not an environment block"),
        "{}",
        damaged.refused()
    );
    let there = Bench::grub(&[("boot/punctual/x", "")]);
    assert!(there.refused().contains("/boot/punctual already exists"));
    let modules = Bench::grub(&[("lib/modules/6.1.0-56-rt-amd64/x", "")]);
    assert!(modules.refused().contains("already exists"));
    let secure = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
    let secure = Bench::grub(&[(secure, "\u{6}\0\0\0\u{1}")]);
    assert!(secure.refused().contains("Secure Boot is on"));
    let quotes = Bench::grub(&[("proc/cmdline", "dyndbg=\"file x +p\"")]);
    assert!(quotes.refused().contains("has quotes"));
}
