// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A kernel that is installed to stay: the commands on a machine of files, whose programs are shell scripts in it.

mod scripted;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Stdio;
use std::time::{Duration, Instant};

use self::scripted::{Files, INSTALL, MKCONFIG, Machine, NEW, OWN, UPDATE_INITRAMFS, same};
use crate::common::HANG;
use crate::one_shot::image;
use crate::schema::{assert_valid, schema};

#[test]
fn a_kernel_is_installed_listed_and_removed_whole_and_the_default_stays() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let before = machine.dump();
    let plan = machine.install("--json").fine().json();
    assert_valid(&schema("kernel-install-plan.schema.json"), &plan);
    assert_eq!(
        plan["default_named"],
        "gnulinux-advanced-abc>gnulinux-6.1.0-56-amd64-advanced-abc"
    );
    let said = machine.install("--dry-run").fine().stdout.clone();
    for part in [
        "6.12.1-rt would be installed; GRUB's default stays\n",
        "/boot/vmlinuz-6.12.1-rt: the kernel",
        "\nUnchanged: this was a trial\n",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    same(&before, &machine.dump(), "planned");
    machine
        .run("install bzImage --modules modules")
        .error(1, &["no terminal to ask on"])
        .hinted();
    let said = machine.install("").fine().stdout.clone();
    assert!(
        said.contains("the machine's default is what it was"),
        "{said}"
    );
    assert_eq!(machine.default(), OWN);
    assert!(
        machine
            .read("boot/grub/grub.cfg")
            .contains("linux\t/boot/vmlinuz-6.12.1-rt ")
    );
    assert_eq!(
        machine.read("boot/initrd.img-6.12.1-rt"),
        "initrd of 6.12.1-rt\n"
    );
    assert_eq!(machine.read("boot/config-6.12.1-rt"), "CONFIG_MODULES=y\n");
    let mode = |path: &str| {
        fs::metadata(machine.root().join(path))
            .unwrap()
            .permissions()
            .mode()
            & 0o7777
    };
    assert_eq!(mode("boot/grub/grub.cfg"), 0o600);
    assert_eq!(
        (
            mode("boot/vmlinuz-6.12.1-rt"),
            mode("boot/System.map-6.12.1-rt")
        ),
        (0o644, 0o600)
    );
    let list = machine.installed();
    assert_eq!(
        (&list[0]["name"], &list[0]["is_default"]),
        (&"bzImage".into(), &false.into())
    );
    assert_eq!(
        (&list[0]["complete"], &list[0]["changed"]),
        (&true.into(), &serde_json::json!([]))
    );
    machine
        .install("")
        .error(1, &["6.12.1-rt", "is already installed"])
        .hinted();
    let said = machine
        .run("uninstall 6.12.1-rt --yes")
        .fine()
        .stdout
        .clone();
    assert!(said.contains(" /boot/grub/grub.cfg: as before\n"), "{said}");
    same(&before, &machine.dump(), "taken back");
    assert_eq!(machine.installed(), serde_json::json!([]));
    machine
        .run("uninstall 6.12.1-rt --yes")
        .error(2, &["no kernel 6.12.1-rt"])
        .hinted();
}

#[test]
fn a_kernel_becomes_the_default_where_that_is_asked_for() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let before = machine.dump();
    machine.install("--default").fine();
    assert_eq!(machine.default(), NEW);
    assert_eq!(machine.installed()[0]["is_default"], true);
    // While it runs its modules are needed.
    machine.write("proc/sys/kernel/osrelease", b"6.12.1-rt\n");
    machine
        .run("uninstall bzImage --yes")
        .error(1, &["6.12.1-rt is running"])
        .hinted();
    machine.write("proc/sys/kernel/osrelease", b"6.1.0-56-amd64\n");
    // A second one keeps the default that it found, which is the first.
    let two = machine.home.dir().join("two");
    fs::create_dir(&two).unwrap();
    image(&two.join("bzImage"), "6.12.2-x (a@b) #1 SMP now");
    let second = "install two/bzImage --modules modules --yes";
    machine.run(second).fine();
    assert_eq!(machine.default(), NEW);
    let both = ["name of several", "6.12.1-rt, 6.12.2-x"];
    machine.run("uninstall bzImage --yes").error(1, &both);
    machine
        .run("uninstall 6.12.1-rt --yes")
        .error(1, &["is the default that 6.12.2-x keeps"])
        .hinted();
    machine.run("uninstall 6.12.2-x --yes").fine();
    machine.run("uninstall 6.12.1-rt --yes").fine();
    let of_files = |dump: &Files| {
        dump.iter()
            .map(|(path, mode, _, _, bytes)| (path.clone(), *mode, bytes.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(of_files(&machine.dump()), of_files(&before));
}

#[test]
fn what_somebody_else_changed_since_is_left_alone_and_named() {
    let Some(machine) = Machine::new() else {
        return;
    };
    machine.install("").fine();
    // Another kernel was installed, and GRUB's entries made again.
    machine.write("boot/vmlinuz-6.1.0-57-amd64", b"update");
    machine.grub();
    machine.write("boot/config-6.12.1-rt", b"CONFIG_MODULES=n\n");
    machine.write("lib/modules/6.12.1-rt/updates/theirs.ko", b"theirs");
    let list = machine.run("installed");
    assert_eq!(list.code(), 1, "{list:?}");
    assert!(list.stdout.contains("NOT WHOLE"), "{list:?}");
    let answer = machine.run("uninstall 6.12.1-rt --yes");
    assert_eq!(answer.code(), 4, "{answer:?}");
    for line in [
        " /boot/config-6.12.1-rt: LEFT ALONE",
        " /lib/modules/6.12.1-rt/updates/theirs.ko: LEFT ALONE",
        " /boot/vmlinuz-6.12.1-rt: as before",
        " /boot/grub/grub.cfg: Punctual's part removed",
    ] {
        assert!(answer.stdout.contains(line), "{line}: {answer:?}");
    }
    assert_eq!(machine.read("boot/config-6.12.1-rt"), "CONFIG_MODULES=n\n");
    assert!(
        machine
            .root()
            .join("lib/modules/6.12.1-rt/updates/theirs.ko")
            .exists()
    );
    let config = machine.read("boot/grub/grub.cfg");
    assert!(
        config.contains("6.1.0-57") && !config.contains("6.12.1"),
        "{config}"
    );
    fs::remove_file(machine.root().join("boot/config-6.12.1-rt")).unwrap();
    fs::remove_dir_all(machine.root().join("lib/modules/6.12.1-rt/updates")).unwrap();
    machine.run("uninstall 6.12.1-rt --yes").fine();
    assert!(!machine.root().join("lib/modules/6.12.1-rt").exists());
    // A package that has installed the same kernel since owns its files.
    machine.install("").fine();
    machine.write(
        "var/lib/dpkg/info/linux-image-6.12.1-rt.list",
        b"/boot/vmlinuz-6.12.1-rt\n",
    );
    machine
        .run("uninstall 6.12.1-rt --yes")
        .error(
            1,
            &["package linux-image-6.12.1-rt has installed 6.12.1-rt since"],
        )
        .hinted();
    assert!(machine.root().join("boot/vmlinuz-6.12.1-rt").exists());
}

#[test]
fn an_installation_that_fails_in_the_middle_leaves_nothing() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let fails = |path: &str, text: &str, parts: &[&str]| {
        let good = machine.read(path);
        machine.program(path, text);
        let before = machine.dump();
        machine.install("").error(1, parts).hinted();
        same(&before, &machine.dump(), path);
        assert!(!machine.kept().exists());
        machine.program(path, &good);
    };
    fails(
        "usr/sbin/update-initramfs",
        "#!/bin/sh\necho half > /boot/initrd.img-6.12.1-rt.new\n(echo 'E: no room'; echo; echo failed) >&2\nexit 1\n",
        &[
            "/usr/sbin/update-initramfs ended with",
            "E: no room | failed",
        ],
    );
    fails(
        "usr/sbin/update-initramfs",
        "#!/bin/sh\n",
        &["made no /boot/initrd.img-6.12.1-rt"],
    );
    fails(
        "usr/sbin/grub-mkconfig",
        "#!/bin/sh\n# reads default/grub.d\necho half > \"$2.new\"\nexit 3\n",
        &["grub-mkconfig ended with"],
    );
    fails(
        "usr/sbin/grub-mkconfig",
        "#!/bin/sh\n# reads default/grub.d\necho \"menuentry 'x' {\" > \"$2\"\n",
        &["it has no entry for vmlinuz-6.12.1-rt"],
    );
    // One that does not read where the default is named.
    let deaf = MKCONFIG.replace(". \"$x\"", "true");
    fails(
        "usr/sbin/grub-mkconfig",
        &deaf,
        &["its default would start", "vmlinuz-6.12.1-rt"],
    );
    // One that others may write to is not run by root.
    let path = machine.root().join("usr/sbin/update-initramfs");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    let before = machine.dump();
    machine
        .install("")
        .error(1, &["is not safe: others may write to it"])
        .hinted();
    same(&before, &machine.dump(), "taken back");
}

#[test]
fn a_kernel_that_cannot_be_installed_is_refused_with_reason_and_hint() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let refused = |args: &str, parts: &[&str]| {
        let answer = machine.run(args);
        assert_eq!(answer.code(), 5, "{answer:?}");
        let text = answer
            .stdout
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        for part in [&["NOT POSSIBLE", "Next "], parts].concat() {
            assert!(text.contains(part), "{part}: {text}");
        }
    };
    machine.write("boot/config-6.12.1-rt", b"");
    refused(INSTALL, &["/boot/config-6.12.1-rt already exists"]);
    fs::remove_file(machine.root().join("boot/config-6.12.1-rt")).unwrap();
    machine.write(
        "proc/self/mountinfo",
        b"21 1 8:2 / / rw - ext4 /dev/sda2 rw\n22 21 8:1 / /boot ro - ext4 /dev/sda1 ro\n",
    );
    refused(INSTALL, &["/boot is mounted read-only"]);
    machine.write(
        "proc/self/mountinfo",
        b"21 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw\n",
    );
    fs::create_dir(machine.home.dir().join("bare")).unwrap();
    refused(
        "install bzImage --modules bare --yes",
        &["has no modules.dep"],
    );
    let config = machine.read("boot/grub/grub.cfg");
    machine.write("boot/grub/grub.cfg", b"blscfg\n");
    refused(INSTALL, &["loader/entries here (blscfg)"]);
    fs::remove_dir_all(machine.root().join("boot/grub")).unwrap();
    refused(
        INSTALL,
        &["neither GRUB nor systemd-boot starts this machine"],
    );
    machine.write("boot/grub/grub.cfg", config.as_bytes());
    fs::remove_file(machine.root().join("usr/sbin/update-initramfs")).unwrap();
    refused(INSTALL, &["neither update-initramfs nor dracut"]);
    machine
        .run("install bzImage --config config --yes")
        .error(2, &["bzImage: has modules, which are not with it"])
        .hinted();
    machine
        .run("install bzImage --modules none")
        .error(2, &["--modules none: not found"]);
    machine
        .run("install no-such --yes")
        .error(2, &["no-such"])
        .hinted();
    machine
        .run("uninstall no-such")
        .error(2, &["no kernel no-such"])
        .hinted();
    machine
        .run("uninstall none --yes")
        .error(2, &["no kernel none"])
        .hinted();
    // A link that leads out of the machine is not followed.
    fs::remove_dir_all(machine.root().join("lib/modules")).unwrap();
    symlink("/tmp", machine.root().join("lib/modules")).unwrap();
    machine.program("usr/sbin/update-initramfs", UPDATE_INITRAMFS);
    refused(
        INSTALL,
        &["/lib/modules/6.12.1-rt: a symbolic link leads out of the machine's files"],
    );
}

#[test]
fn a_kernel_that_would_not_find_its_disk_is_refused_or_noted_before_anything_is_written() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let put = |path: &str, bytes: &[u8]| {
        let full = machine.home.dir().join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, bytes).unwrap();
    };
    let before = machine.dump();
    put("others/modules.dep", b"");
    put(
        "others/kernel/a.ko",
        b"\x7fELF\0vermagic=6.1.0-56-amd64 SMP mod_unload \0",
    );
    machine
        .run("install bzImage --modules others --default --yes")
        .error(
            2,
            &["others: modules for 6.1.0-56-amd64, and the kernel is 6.12.1-rt"],
        )
        .hinted();
    put("notes", b"a remark\n");
    machine.install("--initrd notes").error(
        2,
        &["--initrd notes: it is a text file, not an initial RAM file system"],
    );
    let notes = |args: &str| {
        let plan = machine.run(&format!("{args} --json")).fine().json();
        let notes = plan["warnings"].as_array().unwrap().clone();
        notes
            .iter()
            .map(|note| note.as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
            .join("; ")
    };
    let bare = notes("install bzImage");
    assert!(bare.contains("no configuration is given"), "{bare}");
    assert!(
        bare.contains("neither modules nor a configuration"),
        "{bare}"
    );
    let unknown = notes("install bzImage --modules modules");
    assert!(
        unknown.contains("built for 6.12.1-rt is not known"),
        "{unknown}"
    );
    put("none/modules.dep", b"");
    let none = notes("install bzImage --modules none");
    assert!(none.contains("has no module"), "{none}");
    // What lies next to it under its release is its own.
    put("config-6.12.1-rt", b"CONFIG_MODULES=y\n");
    machine
        .run("install bzImage --yes")
        .error(2, &["bzImage: has modules, which are not with it"]);
    put("config-6.12.1-rt", b"# CONFIG_MODULES is not set\n");
    let plan = machine.run("install bzImage --json").fine().json();
    assert_eq!(
        plan["writes"][1]["path"], "/boot/config-6.12.1-rt",
        "{plan:#}"
    );
    let own = notes("install bzImage");
    assert!(!own.contains("configuration"), "{own}");
    same(&before, &machine.dump(), "refused and planned");
}

#[test]
fn files_of_a_package_are_named_by_their_places_in_it() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let package = machine.home.dir().join("package");
    for directory in ["DEBIAN", "boot", "lib/modules/6.12.1-rt"] {
        fs::create_dir_all(package.join(directory)).unwrap();
    }
    let control =
        "Package: linux-x\nVersion: 1\nArchitecture: all\nMaintainer: x\nDescription: x\n";
    fs::write(package.join("DEBIAN/control"), control).unwrap();
    fs::write(package.join("lib/modules/6.12.1-rt/modules.dep"), "").unwrap();
    image(
        &package.join("boot/vmlinuz-6.12.1-rt"),
        "6.12.1-rt (a@b) #7 SMP now",
    );
    let mut command = std::process::Command::new("dpkg-deb");
    command
        .arg("-b")
        .arg(&package)
        .arg(machine.home.dir().join("x.deb"));
    crate::common::finish(command).fine();
    machine.run("install x.deb --yes").fine();
    let kernel = &machine.installed()[0]["kernel"];
    assert_eq!(kernel["image"], "x.deb: boot/vmlinuz-6.12.1-rt");
    assert_eq!(kernel["modules"], "x.deb: lib/modules/6.12.1-rt");
}

#[test]
fn a_machine_that_is_not_there_is_no_machine_without_installed_kernels() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let empty = machine.home.dir().join("empty");
    fs::create_dir(&empty).unwrap();
    for verb in ["status", "installed", "uninstall 6.12.1-rt --yes"] {
        for (root, part) in [
            ("none", "--root"),
            ("empty", "empty: empty"),
            ("config", "--root"),
        ] {
            let mut command = machine.home.command(["kernel"]);
            command
                .args(verb.split_whitespace())
                .args(["--root", root])
                .current_dir(machine.home.dir());
            crate::common::finish(command).error(2, &[part, root]);
        }
    }
    // Of a directory where nothing was kept yet only that is said.
    let answer = machine.run("installed --state nothing");
    assert!(
        answer
            .fine()
            .stderr
            .contains("nothing, the directory of --state"),
        "{answer:?}"
    );
}

#[test]
fn what_a_killed_uninstall_had_put_back_gets_its_date_from_the_next() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let before = machine.dump();
    let config = machine.read("boot/grub/grub.cfg");
    machine.install("").fine();
    machine.write("boot/grub/grub.cfg", config.as_bytes());
    machine.run("uninstall 6.12.1-rt --yes").fine();
    same(&before, &machine.dump(), "taken back");
}

#[test]
fn an_installed_kernel_is_removed_whole_after_a_kill_at_any_moment() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let before = machine.dump();
    let uninstall = "uninstall 6.12.1-rt --yes";
    let begun = Instant::now();
    machine.install("").fine();
    let takes = begun.elapsed();
    machine.run(uninstall).fine();
    same(&before, &machine.dump(), "taken back");
    let killed = |args: &str, after: Duration| {
        let mut command = machine.command(args);
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let end = Instant::now() + HANG;
        while args.starts_with("install") && !machine.kept().exists() {
            assert!(Instant::now() < end, "it never began");
            if child.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(after);
        child.kill().unwrap();
        child.wait().unwrap().code().is_none()
    };
    let mut interrupted = 0;
    for round in 0_u32..16 {
        let share = |factor: u32| takes * (round * factor % 16) / 16;
        interrupted += u32::from(killed(INSTALL, share(7)));
        if round % 2 == 1 {
            killed(uninstall, share(5));
        }
        if machine.kept().exists() {
            machine.run(uninstall).fine();
        }
        same(&before, &machine.dump(), &format!("round {round}"));
    }
    assert!(interrupted > 0, "none of 16 kills came in time");
}
