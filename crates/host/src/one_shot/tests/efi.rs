// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A machine that systemd-boot starts.

use super::*;

const INFO: &str = "sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
const FEATURES: &str =
    "sys/firmware/efi/efivars/LoaderFeatures-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
const ONCE: &str =
    "sys/firmware/efi/efivars/LoaderEntryOneShot-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";

const DEBIAN: &str = "efi/loader/entries/debian.conf";
const CONFIGURED: &str = "efi/loader/loader.conf";

fn systemd_boot() -> Bench {
    let bench = Bench::bare(&[
        (DEBIAN, "title Debian"),
        (CONFIGURED, "timeout 3\ndefault debian.conf"),
        ("/proc/self/mountinfo", MOUNTS),
    ]);
    bench.write(INFO, &super::systemd_boot::encoded("systemd-boot 252.39"));
    bench
}

#[test]
fn systemd_boot_gets_an_entry_and_a_variable_and_loses_them() {
    let bench = systemd_boot();
    let before = bench.dump();
    let plan = bench.plan();
    assert_eq!(
        (plan.loader, plan.refusals),
        (Some(OneShotLoader::SystemdBoot), vec![])
    );
    bench.install().unwrap();
    let entry = bench.text("efi/loader/entries/punctual-once.conf");
    for part in [
        "\nlinux /punctual/vmlinuz\ninitrd /punctual/initrd.img\n",
        "\noptions root=UUID=abc ro quiet threadirqs panic=10 punctual.once=abc-1\n",
    ] {
        assert!(entry.contains(part), "{part}: {entry}");
    }
    assert_eq!(
        bench.read(ONCE),
        super::systemd_boot::encoded("punctual-once.conf")
    );
    assert!(bench.sys.exists("/efi/punctual/vmlinuz"));
    assert_eq!(bench.status().state, OneShotState::Waiting);
    assert!(bench.revert().is_complete());
    assert_eq!(bench.dump(), before);
    // The loader takes the variable away when it heeds it.
    bench.install().unwrap();
    fs::remove_file(bench.sys.full(ONCE)).unwrap();
    bench.write("proc/sys/kernel/random/boot_id", b"boot-2");
    assert_eq!(bench.status().state, OneShotState::FellBack);
    bench.write("proc/sys/kernel/random/boot_id", b"boot-1\n");
    assert!(bench.revert().is_complete());
    assert_eq!(bench.dump(), before);
}

#[test]
fn systemd_boot_that_cannot_is_refused() {
    let old = systemd_boot();
    old.write(FEATURES, &[7, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
    assert!(
        old.refused()
            .contains("does not support LoaderEntryOneShot")
    );
    let hidden = systemd_boot();
    fs::remove_dir_all(hidden.sys.full("/efi")).unwrap();
    assert!(hidden.refused().contains("cannot be found"));
    let silent = systemd_boot();
    fs::remove_file(silent.sys.full(INFO)).unwrap();
    assert!(silent.refused().contains("do not say that systemd-boot"));
}

#[test]
fn a_candidate_that_would_become_the_default_is_refused() {
    let refused = |bench: &Bench| bench.refused().contains("make the candidate the default");
    let bench = systemd_boot();
    assert!(!refused(&bench));
    for (configured, expected) in [
        ("timeout 3", true),
        ("default gone.conf", true),
        ("default *", true),
        ("default [d]*", true),
        ("default @saved", true),
        ("default Deb*", false),
    ] {
        bench.write(CONFIGURED, configured.as_bytes());
        assert_eq!(refused(&bench), expected, "{configured}");
    }
    bench.write(CONFIGURED, b"timeout 3");
    let variable = |name| super::systemd_boot::variable(name);
    let encoded = super::systemd_boot::encoded;
    bench.write(&variable("LoaderEntryDefault"), &encoded("debian.conf"));
    assert!(!refused(&bench));
    bench.write(&variable("LoaderEntryDefault"), &encoded("@saved"));
    bench.write(&variable("LoaderEntryLastBooted"), &encoded("debian.conf"));
    assert!(!refused(&bench));
    fs::remove_file(bench.sys.full(&variable("LoaderEntryDefault"))).unwrap();
    assert!(refused(&bench));
    // Another entry comes before it by its id, or by its sort-key where the loader knows that.
    bench.write("efi/loader/entries/ubuntu+0-3.conf", b"title Ubuntu");
    assert!(refused(&bench), "no tries left");
    bench.write("efi/loader/entries/ubuntu+3.conf", b"title Ubuntu");
    assert!(!refused(&bench));
    fs::remove_file(bench.sys.full("efi/loader/entries/ubuntu+3.conf")).unwrap();
    bench.write(DEBIAN, b"title Debian\nsort-key debian");
    assert!(!refused(&bench));
    bench.write(INFO, &encoded("systemd-boot 249"));
    assert!(refused(&bench));
}

#[test]
fn a_default_may_be_a_unified_kernel_image_or_an_entry_that_the_loader_makes() {
    let refused = |bench: &Bench| bench.refused().contains("make the candidate the default");
    let encoded = super::systemd_boot::encoded;
    let bench = systemd_boot();
    for (configured, expected) in [
        // Nobody has seen them: they may be gone.
        ("default arch-linux.efi", true),
        ("default auto-windows", true),
        ("default *.efi", true),
        ("timeout 3", true),
    ] {
        bench.write(CONFIGURED, configured.as_bytes());
        assert_eq!(refused(&bench), expected, "{configured}");
    }
    // A loader that says what it found has found no others.
    let found = super::systemd_boot::variable("LoaderEntries");
    bench.write(&found, &encoded("debian.conf\0arch-linux.efi\0auto-osx"));
    for configured in ["default arch-*.efi", "timeout 3"] {
        bench.write(CONFIGURED, configured.as_bytes());
        assert!(!refused(&bench), "{configured}");
    }
    bench.write(&found, &encoded("debian.conf\0auto-osx"));
    for (configured, expected) in [
        ("default arch-linux.efi", true),
        ("default auto-osx", false),
        ("default auto-windows", true),
    ] {
        bench.write(CONFIGURED, configured.as_bytes());
        assert_eq!(refused(&bench), expected, "{configured}");
    }
    // An image without tries left is the last, however the loader names it.
    bench.write("efi/EFI/Linux/arch-linux+0-3.efi", b"MZ");
    bench.write(CONFIGURED, b"timeout 3");
    for id in ["arch-linux.efi", "arch-linux+0-3.efi"] {
        bench.write(&found, &encoded(id));
        assert!(refused(&bench), "{id}");
    }
    fs::remove_file(bench.sys.full("efi/EFI/Linux/arch-linux+0-3.efi")).unwrap();
    // One that is there comes first by its sort-key, where the loader knows that, or as a configured default.
    fs::remove_file(bench.sys.full(&found)).unwrap();
    bench.write("efi/EFI/Linux/Arch-Linux+2-1.efi", b"MZ");
    for (info, configured, expected) in [
        ("systemd-boot 252.39", "timeout 3", false),
        ("systemd-boot 252.39", "default gone.conf", false),
        ("systemd-boot 249", "timeout 3", true),
        ("systemd-boot 249", "default arch-*.efi", false),
    ] {
        bench.write(INFO, &encoded(info));
        bench.write(CONFIGURED, configured.as_bytes());
        assert_eq!(refused(&bench), expected, "{info}, {configured}");
    }
}
