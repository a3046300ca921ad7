// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual kernel` on archives, trees, patches and images that somebody else made, and not with good intent.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Answer, Home, finish};

const MAKEFILE: &str = "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 9\n";

struct Bench {
    home: Home,
}

impl Bench {
    fn new() -> Self {
        let bench = Self {
            home: Home::aside(),
        };
        bench.write("linux/Makefile", MAKEFILE.as_bytes());
        bench.write("linux/Kconfig", b"");
        bench.write("linux/f", b"1\n2\n3\n");
        bench
    }

    fn at(&self, name: &str) -> PathBuf {
        self.home.dir().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::create_dir_all(self.at(name).parent().unwrap()).unwrap();
        fs::write(self.at(name), bytes).unwrap();
    }

    /// Runs a verb of `kernel` in the directory of the test's files.
    fn run(&self, args: &str) -> Answer {
        let mut command = self.home.command(["kernel"]);
        command
            .args(args.split_whitespace())
            .current_dir(self.home.dir());
        finish(command)
    }

    fn tar(&self, args: &str) {
        let mut tar = Command::new("tar");
        let tar = tar
            .args(args.split_whitespace())
            .current_dir(self.home.dir());
        assert!(tar.status().unwrap().success());
    }

    /// Requires that nothing half-made is left in the store.
    fn no_sources(&self) {
        let left = fs::read_dir(self.home.store().join("kernels/sources"));
        assert_eq!(left.map_or(0, Iterator::count), 0);
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_tarball_gives_neither_privileged_modes_nor_directories_that_others_enter() {
    let bench = Bench::new();
    for (name, mode) in [("linux/suid", 0o4755), ("linux/f", 0o666)] {
        bench.write(name, b"x");
        fs::set_permissions(bench.at(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    // tar(1) would take what is before the colon for a machine.
    bench.tar("--force-local -cf host:linux.tar linux");
    bench.run("fetch host:linux.tar --name six").fine();
    let kernels = bench.home.store().join("kernels");
    let source = kernels.join("sources/six");
    for directory in [
        &bench.home.store(),
        &kernels,
        &kernels.join("sources"),
        &source,
    ] {
        assert_eq!(mode(directory), 0o700, "{}", directory.display());
    }
    assert_eq!(mode(&source.join("tree/suid")) & 0o7022, 0);
    assert_eq!(mode(&source.join("tree/suid")) & 0o100, 0o100);
    assert_eq!(mode(&source.join("tree/f")) & 0o7133, 0);
}

#[test]
fn a_tarball_with_a_device_or_a_link_that_leads_out_is_refused_whole() {
    let bench = Bench::new();
    bench.tar("-cf device.tar linux -C / dev/null");
    bench.run("fetch device.tar").error(
        1,
        &["dev/null: is a device, which does not belong in a source archive"],
    );
    symlink("../../../../etc", bench.at("linux/out")).unwrap();
    bench.tar("-czf link.tar.gz linux");
    bench.run("fetch link.tar.gz").error(
        1,
        &["out: is a symbolic link that leads out of the directory"],
    );
    bench.write("text.tar", b"no archive\n");
    bench
        .run("fetch text.tar")
        .error(1, &["it is not a tar archive, or it is damaged"]);
    bench.no_sources();
}

#[test]
fn what_can_be_changed_on_the_way_takes_a_checksum() {
    let bench = Bench::new();
    bench
        .run("fetch http://example.invalid/linux.tar.xz")
        .error(2, &["http", "--sha256"])
        .hinted();
    for address in [
        "http://example.invalid/linux.git",
        "git://example.invalid/linux.git",
    ] {
        bench
            .run(&format!("fetch {address}"))
            .error(2, &[address])
            .hinted();
    }
    bench
        .run("fetch git+ext::true")
        .error(2, &["not a file or directory"]);
    bench.no_sources();
}

#[test]
fn a_tree_whose_makefile_never_ends_is_no_source() {
    let bench = Bench::new();
    fs::remove_file(bench.at("linux/Makefile")).unwrap();
    symlink("/dev/zero", bench.at("linux/Makefile")).unwrap();
    bench
        .run("fetch linux")
        .error(1, &["read its Makefile", "it is not a regular file"]);
    bench.no_sources();
}

#[test]
fn a_patch_stays_in_its_tree_and_none_is_lost() {
    let bench = Bench::new();
    bench.write("outside/theirs", b"theirs\n");
    symlink(bench.at("outside"), bench.at("linux/out")).unwrap();
    bench.write(
        "escape.patch",
        b"--- a/out/theirs\n+++ b/out/theirs\n@@ -1 +1 @@\n-theirs\n+ours\n",
    );
    bench
        .run("patch linux escape.patch")
        .error(1, &["out is a symbolic link"]);
    assert_eq!(fs::read(bench.at("outside/theirs")).unwrap(), b"theirs\n");
    bench.write("s/series", b"1.patch\n2.patch\n");
    bench.write(
        "s/1.patch",
        b"--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n",
    );
    bench.write(
        "s/2.patch",
        b"*** a/f\n--- b/f\n***************\n*** 1 ****\n! 1\n--- 1 ----\n! one\n",
    );
    bench
        .run("patch linux s")
        .error(1, &["patch 2.patch names no file or no change"]);
    assert_eq!(fs::read(bench.at("linux/f")).unwrap(), b"1\n2\n3\n");
    // Names that a terminal would obey are shown without that.
    bench.write("s/series", b"\x1b]0;title\x07.patch\n");
    let said = bench.run("patch linux s");
    let stderr = said.error(1, &["read"]).stderr.replace('\n', "");
    assert!(!stderr.contains(char::is_control), "{stderr:?}");
}

#[test]
fn a_file_that_is_no_kernel_says_what_it_is() {
    let bench = Bench::new();
    let mut image = vec![0; 0x400];
    image[0x202..0x206].copy_from_slice(b"HdrS");
    image[0x1f4..0x1f8].copy_from_slice(&[0, 0, 1, 0]);
    let mut arm = vec![0; 0x400];
    arm[0x38..0x3c].copy_from_slice(b"ARM\x64");
    // The head of its EFI program, with one section of 1 MiB.
    arm[0x3c] = 0x40;
    arm[0x40..0x44].copy_from_slice(b"PE\0\0");
    arm[0x46] = 1;
    arm[0x68..0x6c].copy_from_slice(&0x0010_0000_u32.to_le_bytes());
    arm[0x6c..0x70].copy_from_slice(&0x0400_u32.to_le_bytes());
    let mut riscv = vec![0; 0x400];
    riscv[..6].copy_from_slice(b"\x7fELF\x02\x01");
    riscv[18] = 243;
    bench.write("cut", &image);
    bench.write("arm", &arm);
    bench.write("riscv", &riscv);
    bench.write("text", b"no kernel\n");
    bench.write("empty", b"");
    for (name, part) in [
        ("text", "it is a text file, not a kernel"),
        ("arm", "it is a truncated Image: 1024 bytes of 1049600"),
        (
            "riscv",
            "it is an ELF file for RISC-V, not a kernel for x86-64",
        ),
        ("empty", "it is empty"),
        ("cut", "it is a truncated bzImage: 1024 bytes of"),
    ] {
        for verb in ["boot", "latency-test", "install-once --dry-run"] {
            bench.run(&format!("{verb} {name}")).error(1, &[part]);
        }
    }
    bench
        .run("config check empty")
        .error(1, &["it sets no option"]);
    let said = bench.run("config check cut");
    said.error(1, &["it is a kernel image (bzImage), not a configuration"])
        .hinted();
    let stderr = said.stderr.replace('\n', "");
    assert!(!stderr.contains(char::is_control), "{stderr:?}");
}

#[test]
fn what_a_build_lacks_is_named_first_with_its_package() {
    let bench = Bench::new();
    for (said, name, package) in [
        ("/bin/sh: 1: flex: not found", "flex", "flex"),
        (
            "x.h:9:10: fatal error: gelf.h: No such file or directory",
            "gelf.h",
            "libelf-dev",
        ),
    ] {
        let rules = format!("allnoconfig:\n\t@echo '{said}'; echo 'make: *** more'; exit 2\n");
        bench.write("linux/Makefile", format!("{MAKEFILE}{rules}").as_bytes());
        let answer = bench.run("config --source linux -o config");
        let first = format!("Error: failed to configure the kernel: {name} is not installed\n");
        answer.error(5, &[&first, &format!("apt-get install {package}")]);
        assert!(answer.stderr.starts_with(&first), "{answer:?}");
    }
}

#[test]
fn a_guest_that_writes_without_end_is_stopped() {
    let bench = Bench::new();
    let mut elf = vec![0; 64];
    elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
    elf[18] = 62;
    bench.write("kernel", &elf);
    // In place of QEMU: the first of its serial ports is the kernel's log, the second has the results.
    bench.write(
        "qemu.sh",
        b"#!/bin/sh\nn=0\nfor word; do case $word in file:*) n=$((n + 1))\n\
          [ $n != \"$HOSTILE_PORT\" ] || exec yes \"$HOSTILE_LINE\" >${word#file:};; esac; done\n\
          exec yes \"$HOSTILE_LINE\" >&2\n",
    );
    let program = bench.at("qemu");
    // By another process, so that no descriptor writes to it when it is run (ETXTBSY).
    let mut install = Command::new("install");
    install
        .arg("--mode=755")
        .args([&bench.at("qemu.sh"), &program]);
    assert!(install.status().unwrap().success());
    let line = "x".repeat(4_000);
    for (port, part) in [
        ("1", "keep the kernel log below 32 MiB"),
        ("2", "keep the guest's results below 256 MiB"),
        ("none", "keep QEMU's messages below 4 MiB"),
    ] {
        let mut command =
            bench
                .home
                .command(["kernel", "boot", "--virtual-time", "--time-limit=30m"]);
        command
            .arg(bench.at("kernel"))
            .env("PUNCTUAL_QEMU", &program)
            .env("HOSTILE_PORT", port)
            .env("HOSTILE_LINE", &line);
        finish(command).error(1, &[part]);
    }
}
