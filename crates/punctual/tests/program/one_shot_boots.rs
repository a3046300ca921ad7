// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A kernel that boots once, on a machine in QEMU with a disk and GRUB: it comes up, panics, hangs, is jumped to.
//!
//! It takes minutes, so it runs only where `PUNCTUAL_TEST_ONE_SHOT` names the directory that `scripts/one-shot.sh` makes:
//! GRUB and modules of the two kernels, unpacked. The machine's commands are those of people, its answers are printed.

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use crate::common::{Home, Running, finish, machine, wait_until};
use crate::one_shot::{GRUB_CONFIG, grubenv};

const SECTOR: usize = 512;
/// Where the partition begins, in sectors: what a partition table says, and in bytes.
const START: u32 = 2048;
const START_BYTES: usize = 1 << 20;
/// How long it is: 512 MiB.
const SECTORS: u32 = 1 << 20;
/// In the order in which they need each other.
const MODULES: [&str; 13] = [
    "crc32c_generic",
    "crc16",
    "mbcache",
    "jbd2",
    "ext4",
    "virtio_ring",
    "virtio",
    "virtio_pci_modern_dev",
    "virtio_pci_legacy_dev",
    "virtio_pci",
    "virtio_blk",
    "watchdog",
    "i6300esb heartbeat=4",
];
/// An experiment that is begun on the machine's own kernel, and ends on the candidate.
const EXPERIMENT: &str = r#"
name = "cut"
seed = 7
compare = ["p50"]

[[measure]]
instrument = "wakeup"
options = { duration = "200ms" }

[[factor]]
name = "interval"
option = "interval"
levels = ["1ms", "5ms"]

[stop]
blocks = 3
"#;
/// Its log, on the machine's disk.
const LOG: &str = "/store/experiments/cut/log.jsonl";
/// Lines of it after which the experiment is cut off: two runs are done, the third has begun.
const LINES: usize = 5;
const INSTALL: &str = "kernel install-once /candidate --initrd /boot/initrd.img-6.1.0-56-amd64 --panic-timeout 1s --yes";
const REVERT: &str = "kernel install-once --revert --yes";

/// What `scripts/one-shot.sh` made, if this test is asked for.
fn prepared() -> Option<PathBuf> {
    let Some(directory) = std::env::var_os("PUNCTUAL_TEST_ONE_SHOT") else {
        println!("not tried: scripts/one-shot.sh makes what it needs, and runs it");
        return None;
    };
    Some(directory.into())
}

fn tool(mut command: Command) -> Vec<u8> {
    let output = command
        .output()
        .unwrap_or_else(|err| panic!("{command:?}: {err}"));
    assert!(output.status.success(), "{command:?}: {output:?}");
    output.stdout
}

fn kernel(name: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    target.join("kernels").join(name)
}

/// Writes the initial RAM file system that both kernels boot with, and that does what `boots` says.
fn initramfs(home: &Home, directory: &Path, boots: &[&[&str]]) -> PathBuf {
    let job = json!({
        "format": "punctual.guest-job/1",
        "runs": [],
        "disk": {
            "modules": MODULES.map(|module| {
                let (name, parameters) = module.split_once(' ').unwrap_or((module, ""));
                format!("/modules/{{release}}/{name}.ko {parameters}")
            }),
            "device": "/dev/vda1",
            "kind": "ext4",
            "boots": boots,
        },
    });
    let file = home.dir().join("job.json");
    fs::write(&file, job.to_string()).unwrap();
    let out = home.dir().join("initrd");
    let mut command = home.command(["kernel", "initramfs", "--whole", "-o"]);
    command
        .arg(&out)
        .arg("--file")
        .arg(format!("/punctual/job.json={}", file.display()));
    for release in fs::read_dir(directory.join("modules")).unwrap() {
        let release = release.unwrap();
        for module in fs::read_dir(release.path()).unwrap() {
            let module = module.unwrap();
            let name = module.file_name();
            let inside = Path::new("/modules").join(release.file_name()).join(name);
            command
                .arg("--file")
                .arg(format!("{}={}", inside.display(), module.path().display()));
        }
    }
    finish(command).fine();
    out
}

/// Writes a disk with a partition that GRUB boots from. No loop device and no privilege is needed.
fn disk(home: &Home, directory: &Path, initrd: &Path) -> PathBuf {
    let tree = home.dir().join("tree");
    for name in ["proc", "sys", "dev", "run", "tmp", "boot/grub"] {
        fs::create_dir_all(tree.join(name)).unwrap();
    }
    let copy = |from: &Path, to: &str| {
        fs::copy(from, tree.join(to)).unwrap_or_else(|err| panic!("{}: {err}", from.display()));
    };
    copy(&kernel("vmlinuz-dynamic"), "boot/vmlinuz-6.1.0-56-amd64");
    copy(&kernel("vmlinuz-rt"), "candidate");
    copy(initrd, "boot/initrd.img-6.1.0-56-amd64");
    // A machine that is slow beside others makes the kernel doubt its timers.
    let arguments = "root=/dev/vda1 console=ttyS0 quiet no_timer_check";
    fs::write(
        tree.join("boot/grub/grub.cfg"),
        GRUB_CONFIG.replace("ARGUMENTS", arguments),
    )
    .unwrap();
    fs::write(tree.join("boot/grub/grubenv"), grubenv()).unwrap();
    fs::write(tree.join("cut.toml"), EXPERIMENT).unwrap();
    let part = home.dir().join("part");
    fs::File::create(&part)
        .unwrap()
        .set_len(u64::from(SECTORS) << 9)
        .unwrap();
    let mut make = Command::new("mkfs.ext4");
    make.env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin");
    make.args(["-q", "-E", "root_owner=0:0", "-d"])
        .arg(&tree)
        .arg(&part);
    tool(make);
    let grub = directory.join("grub/usr/lib/grub/i386-pc");
    let core = home.dir().join("core.img");
    let mut make = Command::new(directory.join("grub/usr/bin/grub-mkimage"));
    make.args(["-O", "i386-pc", "-p", "(hd0,msdos1)/boot/grub"])
        .arg("-d")
        .arg(&grub)
        .arg("-o")
        .arg(&core);
    make.args([
        "biosdisk",
        "part_msdos",
        "ext2",
        "normal",
        "linux",
        "configfile",
        "loadenv",
    ]);
    make.args([
        "test", "true", "echo", "reboot", "serial", "terminal", "search",
    ]);
    tool(make);
    let (boot, core) = (
        fs::read(grub.join("boot.img")).unwrap(),
        fs::read(&core).unwrap(),
    );
    assert!(SECTOR + core.len() < START_BYTES);
    let mut head = vec![0; START_BYTES];
    head[..440].copy_from_slice(&boot[..440]);
    // One partition that can be started, of Linux's kind, by its sectors alone.
    head[446..454].copy_from_slice(&[0x80, 0xfe, 0xff, 0xff, 0x83, 0xfe, 0xff, 0xff]);
    head[454..458].copy_from_slice(&START.to_le_bytes());
    head[458..462].copy_from_slice(&SECTORS.to_le_bytes());
    head[510..512].copy_from_slice(&[0x55, 0xaa]);
    head[SECTOR..SECTOR + core.len()].copy_from_slice(&core);
    let disk = home.dir().join("disk");
    let mut file = fs::File::create(&disk).unwrap();
    std::io::Write::write_all(&mut file, &head).unwrap();
    std::io::copy(&mut fs::File::open(&part).unwrap(), &mut file).unwrap();
    fs::remove_file(&part).unwrap();
    fs::remove_dir_all(&tree).unwrap();
    disk
}

/// Runs the machine until it turns itself off, and returns what its commands said.
fn live(home: &Home, disk: &Path) -> String {
    let (console, said) = (home.dir().join("console"), home.dir().join("said"));
    let mut qemu = Command::new("qemu-system-x86_64");
    qemu.args(["-accel", "tcg"]);
    qemu.args(["-m", "512", "-nographic", "-nodefaults", "-no-user-config"])
        .arg("-serial")
        .arg(format!("file:{}", console.display()))
        .arg("-serial")
        .arg(format!("file:{}", said.display()))
        .arg("-drive")
        .arg(format!("file={},format=raw,if=virtio", disk.display()))
        .args(["-device", "i6300esb", "-action", "watchdog=reset"]);
    let begun = Instant::now();
    let mut running = Running::start(qemu);
    let ended = wait_until(|| !running.is_alive());
    let text = |path: &Path| {
        String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).replace('\r', "")
    };
    let all = text(&said);
    println!("{all}\n{:.0} s", begun.elapsed().as_secs_f64());
    let log = text(&console);
    let last: Vec<&str> = log.lines().rev().take(30).collect();
    assert!(ended, "it does not end: {last:#?}");
    running.wait().fine();
    assert!(all.contains("== off"), "it ended early: {last:#?}");
    all
}

/// Reads a file of the disk's partition; none where it is not there.
fn file_of(home: &Home, disk: &Path, path: &str) -> Option<Vec<u8>> {
    let part = home.dir().join("part");
    let mut file = fs::File::open(disk).unwrap();
    file.seek(SeekFrom::Start(START_BYTES.try_into().unwrap()))
        .unwrap();
    std::io::copy(
        &mut file.take(u64::MAX),
        &mut fs::File::create(&part).unwrap(),
    )
    .unwrap();
    let out = home.dir().join("out");
    drop(fs::remove_file(&out));
    let mut dump = Command::new("debugfs");
    dump.env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin").arg("-R");
    dump.arg(format!("dump {path} {}", out.display()))
        .arg(&part);
    tool(dump);
    fs::read(out).ok()
}

/// Each run of the experiment is done once, some of them before the restart.
fn experiment_was_cut_and_ended(log: &str) {
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ends = lines.iter().filter(|line| line["event"] == "end");
    let (cut, done): (Vec<_>, Vec<_>) = ends.partition(|line| line["end"] == "interrupted");
    assert_eq!(cut.len(), 1, "{log}");
    assert!(done.len() >= 6, "{log}");
    assert!(done.iter().all(|line| line["end"] != "failed"), "{log}");
    let at = lines.iter().position(|line| line == cut[0]).unwrap();
    assert!(at + 1 >= LINES && at + 1 < lines.len(), "{log}");
}

#[test]
fn one_shot_kernel_boots_once_and_the_machine_falls_back_by_itself() {
    let Some(directory) = prepared() else { return };
    if !machine::has_tool("qemu-system-x86_64") {
        return;
    }
    let home = Home::new();
    let bad = format!("{INSTALL} --append rdinit=/none --append root=/dev/none");
    let kexec = format!("{INSTALL} --loader kexec");
    let begin = format!("@cut {LINES} {LOG} experiment run /cut.toml --yes --home /store");
    let install = format!("{INSTALL} --resume cut --home /store");
    let boots: [&[&str]; 7] = [
        &[&begin, &install, "kernel status"],
        // The candidate, which goes on with the experiment.
        &["kernel status --confirm --home /store"],
        // The machine's own again; then one that panics before its first program.
        &["kernel status", REVERT, &bad],
        // It has fallen back; then one that hangs.
        &["kernel status", REVERT, INSTALL],
        // The candidate.
        &["@watch", "@hang"],
        &["kernel status", REVERT, &kexec, "@kexec"],
        // The candidate, without the boot loader.
        &["kernel status --confirm"],
        // The last one is added below.
    ];
    let last: [&[&str]; 1] = [&["kernel status", REVERT, "kernel status"]];
    let all: Vec<&[&str]> = boots.into_iter().chain(last).collect();
    let initrd = initramfs(&home, &directory, &all);
    let disk = disk(&home, &directory, &initrd);
    let said = live(&home, &disk);
    let parts: Vec<&str> = said.split("== boot ").skip(1).collect();
    assert_eq!(parts.len(), 8, "{said}");
    let expect = |boot: usize, rt: bool, words: &[&str]| {
        let part = parts[boot - 1];
        let release = part.lines().next().unwrap();
        assert_eq!(release.contains("-rt-"), rt, "boot {boot}: {release}");
        let text = part.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in words {
            assert!(text.contains(word), "boot {boot}, `{word}`: {part}");
        }
    };
    expect(
        1,
        false,
        &[
            "Stopped. Go on with `punctual experiment resume cut`.",
            "Installed. The machine was not restarted",
            "The next boot is the candidate's",
        ],
    );
    expect(2, true, &["The candidate is running", "Confirmed "]);
    let log = String::from_utf8(file_of(&home, &disk, LOG).unwrap()).unwrap();
    experiment_was_cut_and_ended(&log);
    expect(
        3,
        false,
        &[
            "The candidate came up and was confirmed",
            "/boot/grub/grubenv: as before",
        ],
    );
    expect(
        4,
        false,
        &[
            "FELL BACK",
            "grubenv: the candidate is no longer chosen",
            "reason: not known",
        ],
    );
    expect(5, true, &["== the watchdog is started == hang"]);
    expect(
        6,
        false,
        &[
            "FELL BACK",
            "the watchdog i6300ESB timer has restarted the machine",
            "== jump",
        ],
    );
    expect(
        7,
        true,
        &["The candidate is running", "started by kexec", "Confirmed "],
    );
    expect(
        8,
        false,
        &[
            "The candidate came up and was confirmed",
            "No candidate is installed",
        ],
    );
    assert_eq!(
        file_of(&home, &disk, "/boot/grub/grubenv").unwrap(),
        grubenv()
    );
    assert_eq!(file_of(&home, &disk, "/boot/grub/custom.cfg"), None);
    assert_eq!(file_of(&home, &disk, "/boot/punctual/vmlinuz"), None);
}
