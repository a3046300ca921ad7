// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! One-shot boots on machines that are files.

mod efi;
mod grub_entry;
mod interrupted;
mod refusals;
mod status;

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use punctual_model::{OneShotState, OneShotStatus};
use tempfile::TempDir;

use super::*;
use crate::boot::{FileUndone, FilesUndone};
use crate::testing::machine;

const STOCK: &str = "6.1.0-56-amd64";
const CANDIDATE: &str = "6.1.0-56-rt-amd64";
const VERSION: &str = "#1 SMP PREEMPT_RT Debian 6.1.192-2 (2026-10-01)";

/// As grub-mkconfig of Debian lays it out, in short.
const CONFIG: &str = "
if [ -s $prefix/grubenv ]; then
  set have_grubenv=true
  load_env
fi
if [ \"${next_entry}\" ] ; then
   set default=\"${next_entry}\"
   set next_entry=
   save_env next_entry
   set boot_once=true
else
   set default=\"0\"
fi
menuentry 'Debian GNU/Linux' --class debian $menuentry_id_option 'gnulinux-simple-abc' {
\tload_video
\tinsmod gzio
\tif [ x$grub_platform = xxen ]; then insmod xzio; insmod lzopio; fi
\tinsmod part_gpt
\tinsmod ext2
\tset root='hd0,gpt2'
\tif [ x$feature_platform_search_hint = xy ]; then
\t  search --no-floppy --fs-uuid --set=root --hint-bios=hd0,gpt2  abc
\telse
\t  search --no-floppy --fs-uuid --set=root abc
\tfi
\techo\t'Loading Linux 6.1.0-56-amd64 ...'
\tlinux\t/boot/vmlinuz-6.1.0-56-amd64 root=UUID=abc ro  quiet
\tinitrd\t/boot/initrd.img-6.1.0-56-amd64
}
if [ -f  ${config_directory}/custom.cfg ]; then
  source ${config_directory}/custom.cfg
elif [ -z \"${config_directory}\" -a -f  $prefix/custom.cfg ]; then
  source $prefix/custom.cfg
fi
";

const MOUNTS: &str = "21 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw";
const GRUBENV: &str = "boot/grub/grubenv";
const CUSTOM: &str = "boot/grub/custom.cfg";

struct Bench {
    dir: TempDir,
    sys: SysRoot,
}

impl Bench {
    /// A machine that GRUB starts, with its root on `device` and these files besides.
    fn grub(more: &[(&str, &str)]) -> Self {
        let bench = Self::bare(&[
            ("/boot/grub/grub.cfg", CONFIG),
            ("/boot/vmlinuz-6.1.0-56-amd64", "the machine's own"),
            ("/proc/self/mountinfo", MOUNTS),
            ("/sys/dev/block/8:2/partition", "2"),
        ]);
        let mut block = env_block::EnvBlock::empty();
        block.set("saved_entry", Some("x"));
        bench.write(GRUBENV, &block.bytes().unwrap());
        for (path, text) in more {
            bench.write(path, text.as_bytes());
        }
        bench
    }

    fn bare(files: &[(&str, &str)]) -> Self {
        let mut all = vec![
            (
                "/proc/cmdline",
                "BOOT_IMAGE=/boot/vmlinuz-6.1.0-56-amd64 root=UUID=abc ro quiet",
            ),
            ("/proc/sys/kernel/osrelease", STOCK),
            ("/proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC"),
            ("/proc/sys/kernel/random/boot_id", "boot-1"),
            ("/lib/modules/6.1.0-56-amd64/kernel/a.ko", "module"),
            ("/boot/config-6.1.0-56-amd64", ""),
        ];
        all.extend(files);
        let (dir, sys) = machine(&all);
        let bench = Self { dir, sys };
        for name in [
            "new/bzImage",
            "new/initrd",
            "new/modules/kernel/drivers/x.ko",
        ] {
            bench.write_outside(name);
        }
        bench
    }

    fn outside(&self, name: &str) -> PathBuf {
        self.dir.path().with_extension("outside").join(name)
    }

    fn write_outside(&self, name: &str) {
        let path = self.outside(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name.repeat(100)).unwrap();
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let full = self.sys.full(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, bytes).unwrap();
    }

    fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.sys.full(path)).unwrap()
    }

    fn text(&self, path: &str) -> String {
        String::from_utf8(self.read(path)).unwrap()
    }

    fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    fn wish(&self) -> Wish {
        Wish {
            id: "abc-1".to_owned(),
            image: self.outside("new/bzImage"),
            release: CANDIDATE.to_owned(),
            version: VERSION.to_owned(),
            initrd: Initrd::File(self.outside("new/initrd")),
            modules: Some(self.outside("new/modules")),
            append: vec!["threadirqs".to_owned()],
            panic_s: 10,
            watchdog: Watchdog::IfThere(60),
            panic_when_stuck: false,
            loader: None,
            resume: Some("mine".to_owned()),
        }
    }

    fn plan(&self) -> OneShotPlan {
        prepare(&self.sys, &self.wish()).plan
    }

    fn refused(&self) -> String {
        let plan = self.plan();
        assert!(plan.refusals.iter().all(|refusal| !refusal.hint.is_empty()));
        let reasons: Vec<String> = plan.refusals.iter().map(|r| r.reason.clone()).collect();
        reasons.join("\n")
    }

    fn install(&self) -> Result<(), OneShotError> {
        let prepared = prepare(&self.sys, &self.wish());
        install(&prepared, &self.sys, &self.state(), "2026-01-01T00:00:00Z")
    }

    fn revert(&self) -> FilesUndone {
        revert(&self.sys, &self.state()).unwrap().unwrap()
    }

    fn status(&self) -> OneShotStatus {
        status(&self.sys, &self.state(), "2026-01-01T00:10:00Z").unwrap()
    }

    /// Everything in the machine but our own notes, to the byte.
    fn dump(&self) -> Vec<(String, Vec<u8>)> {
        let mut all = Vec::new();
        walk(self.dir.path(), &mut all);
        all.retain(|(path, _)| !path.contains("/state"));
        all
    }

    /// The machine is restarted, and GRUB takes the choice as its configuration says.
    fn restart(&self, boot: &str, line: &str) {
        if let Ok(bytes) = fs::read(self.sys.full(GRUBENV)) {
            let mut block = env_block::EnvBlock::parse(&bytes).unwrap();
            if block.value(CHOICE).is_some() {
                block.set(CHOICE, Some(""));
            }
            self.write(GRUBENV, &block.bytes().unwrap());
        }
        self.write("proc/cmdline", line.as_bytes());
        self.write("proc/sys/kernel/random/boot_id", boot.as_bytes());
    }

    fn runs(&self, release: &str, version: &str) {
        self.write("proc/sys/kernel/osrelease", release.as_bytes());
        self.write("proc/sys/kernel/version", version.as_bytes());
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(
            self.dir.path().with_extension("outside"),
        ));
    }
}

const CHOICE: &str = grub::CHOICE;

fn walk(path: &Path, all: &mut Vec<(String, Vec<u8>)>) {
    let mut entries: Vec<_> = fs::read_dir(path)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path.display().to_string();
        if path.is_dir() && !path.is_symlink() {
            all.push((name, Vec::new()));
            walk(&path, all);
        } else {
            all.push((name, fs::read(&path).unwrap_or_default()));
        }
    }
}

#[test]
fn grub_gets_an_entry_and_a_choice_and_loses_them_to_the_byte() {
    let bench = Bench::grub(&[]);
    let before = bench.dump();
    let plan = bench.plan();
    assert_eq!(plan.refusals, []);
    assert_eq!(bench.dump(), before, "a plan changes nothing");
    assert_eq!(plan.loader, Some(OneShotLoader::Grub));
    assert_eq!(
        plan.arguments,
        "root=UUID=abc ro quiet threadirqs panic=10 punctual.once=abc-1"
    );
    let paths: Vec<&str> = plan
        .writes
        .iter()
        .map(|write| write.path.as_str())
        .collect();
    assert_eq!(
        paths,
        [
            "/lib/modules/6.1.0-56-rt-amd64",
            "/boot/punctual",
            "/boot/punctual/vmlinuz",
            "/boot/punctual/initrd.img",
            "/boot/grub/custom.cfg",
            "/boot/grub/grubenv",
        ]
    );
    bench.install().unwrap();
    let entry = bench.text(CUSTOM);
    for part in [
        "if [ \"${punctual_failed}\" ]; then\n  set default=\"0\"\nfi\n",
        "    export punctual_failed\n    configfile $prefix/grub.cfg\n",
        "  insmod ext2\n  set root='hd0,gpt2'\n  search --no-floppy --fs-uuid --set=root abc\n  next_entry=\n",
        "    if linux /boot/punctual/vmlinuz root=UUID=abc ro quiet threadirqs panic=10 punctual.once=abc-1; then\n",
        "      if initrd /boot/punctual/initrd.img; then\n",
    ] {
        assert!(entry.contains(part), "{part}: {entry}");
    }
    assert!(
        !entry.contains("gzio;") && !entry.contains("hint"),
        "{entry}"
    );
    let env = env_block::EnvBlock::parse(&bench.read(GRUBENV)).unwrap();
    assert_eq!(env.value(CHOICE).as_deref(), Some(ENTRY));
    assert_eq!(env.value("saved_entry").as_deref(), Some("x"));
    assert_eq!(
        bench.read("boot/punctual/initrd.img"),
        fs::read(bench.outside("new/initrd")).unwrap()
    );
    assert!(
        bench
            .sys
            .exists("/lib/modules/6.1.0-56-rt-amd64/kernel/drivers/x.ko")
    );
    assert!(matches!(
        bench.install().unwrap_err(),
        OneShotError::Refused { .. }
    ));
    let reverted = bench.revert();
    assert!(reverted.is_complete(), "{reverted:?}");
    assert!(
        reverted
            .files
            .iter()
            .all(|(_, what)| *what == FileUndone::Restored),
        "{reverted:?}"
    );
    assert_eq!(bench.dump(), before);
    assert_eq!(revert(&bench.sys, &bench.state()).unwrap(), None);
}

#[test]
fn it_is_taken_back_to_the_byte_also_after_the_boot() {
    for own in [
        None,
        Some(""),
        Some("menuentry 'mine' { true }\n"),
        Some("set timeout=5"),
    ] {
        let bench = Bench::grub(&[]);
        if let Some(own) = own {
            bench.write(CUSTOM, own.as_bytes());
        }
        let (env, custom) = (bench.read(GRUBENV), own.map(str::to_owned));
        bench.install().unwrap();
        if let Some(own) = own {
            assert!(bench.text(CUSTOM).starts_with(own));
        }
        // Behind a word, `#` begins no comment.
        assert!(
            bench
                .text(CUSTOM)
                .lines()
                .any(|line| line.starts_with("# Written"))
        );
        bench.restart("boot-2", "root=UUID=abc");
        assert!(bench.revert().is_complete());
        assert_eq!(bench.read(GRUBENV), env);
        assert_eq!(content(&bench.sys, CUSTOM), custom);
    }
}

#[test]
fn what_others_changed_since_stays() {
    let bench = Bench::grub(&[]);
    bench.install().unwrap();
    let mut env = env_block::EnvBlock::parse(&bench.read(GRUBENV)).unwrap();
    env.set("saved_entry", Some("y"));
    bench.write(GRUBENV, &env.bytes().unwrap());
    bench.write(CUSTOM, format!("mine: {ENTRY}").as_bytes());
    bench.write("boot/punctual/vmlinuz", b"another");
    bench.write("lib/modules/6.1.0-56-rt-amd64/.punctual-once", b"");
    let reverted = bench.revert();
    assert!(!reverted.is_complete());
    let of = |end: &str| {
        reverted
            .files
            .iter()
            .find(|(path, _)| path.ends_with(end))
            .unwrap()
            .1
    };
    assert_eq!(of("grubenv"), FileUndone::OthersKept);
    for end in ["custom.cfg", "vmlinuz", "/boot/punctual", "rt-amd64"] {
        assert_eq!(of(end), FileUndone::Conflict, "{end}");
    }
    assert_eq!(of("initrd.img"), FileUndone::Restored);
    let env = env_block::EnvBlock::parse(&bench.read(GRUBENV)).unwrap();
    assert_eq!(
        (env.value(CHOICE), env.value("saved_entry").as_deref()),
        (None, Some("y"))
    );
    assert_eq!(bench.text(CUSTOM), format!("mine: {ENTRY}"));
    // What undoes it is kept until nothing of it is left.
    assert!(installed(&bench.state()).unwrap().is_some());
    assert!(!bench.revert().is_complete());
    bench.write(CUSTOM, b"mine");
    fs::remove_file(bench.sys.full("boot/punctual/vmlinuz")).unwrap();
    fs::remove_dir_all(bench.sys.full("lib/modules/6.1.0-56-rt-amd64")).unwrap();
    let reverted = bench.revert();
    assert!(reverted.is_complete(), "{reverted:?}");
    assert_eq!(installed(&bench.state()).unwrap(), None);
    assert_eq!(bench.text(CUSTOM), "mine");
    assert!(!bench.sys.exists("/boot/punctual"));
}

#[test]
fn an_entry_that_somebody_wrote_beside_ours_stays() {
    let bench = Bench::grub(&[]);
    bench.write(CUSTOM, b"menuentry 'mine' { true }\n");
    bench.install().unwrap();
    let text = format!("{}menuentry 'later' {{ true }}\n", bench.text(CUSTOM));
    bench.write(CUSTOM, text.as_bytes());
    assert!(bench.revert().is_complete());
    assert_eq!(
        bench.text(CUSTOM),
        "menuentry 'mine' { true }\nmenuentry 'later' { true }\n"
    );
}

#[test]
fn another_choice_that_was_there_comes_back_only_while_ours_was_not_taken() {
    let chosen = |boots: bool| {
        let bench = Bench::grub(&[]);
        let mut env = env_block::EnvBlock::parse(&bench.read(GRUBENV)).unwrap();
        env.set(CHOICE, Some("other"));
        bench.write(GRUBENV, &env.bytes().unwrap());
        assert!(
            bench
                .plan()
                .warnings
                .iter()
                .any(|warning| warning.contains("is already other"))
        );
        bench.install().unwrap();
        if boots {
            bench.restart("boot-2", "");
        }
        assert!(bench.revert().is_complete());
        let env = env_block::EnvBlock::parse(&bench.read(GRUBENV)).unwrap();
        env.value(CHOICE)
    };
    assert_eq!(chosen(false).as_deref(), Some("other"));
    assert_eq!(chosen(true).as_deref(), Some(""));
}

#[test]
fn grub_without_an_environment_gets_one() {
    let bench = Bench::grub(&[]);
    fs::remove_file(bench.sys.full(GRUBENV)).unwrap();
    let before = bench.dump();
    bench.install().unwrap();
    assert_eq!(bench.read(GRUBENV).len(), 1024);
    bench.restart("boot-2", "");
    assert!(bench.revert().is_complete());
    assert_eq!(bench.dump().len(), before.len());
}

#[test]
fn without_an_initrd_the_root_must_be_one_that_the_kernel_finds() {
    let bench = Bench::grub(&[]);
    let mut wish = bench.wish();
    wish.initrd = Initrd::None;
    let refusals = prepare(&bench.sys, &wish).plan.refusals;
    assert!(refusals[0].reason.contains("root=UUID=abc"), "{refusals:?}");
    wish.append.push("root=/dev/sda2".to_owned());
    let plan = prepare(&bench.sys, &wish).plan;
    assert_eq!(plan.refusals, []);
    let entry = plan
        .writes
        .iter()
        .find_map(|write| write.text.clone())
        .unwrap();
    assert!(
        !entry.contains("initrd") && entry.contains("root=/dev/sda2"),
        "{entry}"
    );
}

#[test]
fn a_watchdog_and_detectors_are_asked_for_where_they_are_there() {
    let way = |bench: &Bench, wish: &Wish| {
        let plan = prepare(&bench.sys, wish).plan;
        let hang = plan
            .falls_back
            .iter()
            .find(|f| f.failure == "the kernel hangs later")
            .unwrap();
        (
            hang.way_back.clone(),
            plan.arguments,
            plan.warnings.join("; "),
        )
    };
    let bare = Bench::grub(&[]);
    let (none, arguments, warnings) = way(&bare, &bare.wish());
    assert!(
        none.is_none() && warnings.contains("nothing restarts the machine"),
        "{warnings}"
    );
    assert!(!arguments.contains("watchdog"), "{arguments}");
    let mut stuck = bare.wish();
    stuck.panic_when_stuck = true;
    let (detectors, arguments, _) = way(&bare, &stuck);
    assert!(detectors.unwrap().contains("detectors"));
    assert!(arguments.contains("softlockup_panic=1 nmi_watchdog=panic,1 hung_task_panic=1"));
    let bench = Bench::grub(&[
        ("sys/class/watchdog/watchdog0/identity", "iTCO_wdt\n"),
        ("run/systemd/system/x", ""),
        ("usr/bin/dracut", ""),
    ]);
    let (watched, arguments, warnings) = way(&bench, &bench.wish());
    assert!(
        watched
            .unwrap()
            .contains("iTCO_wdt: restarts it after 60 s")
    );
    assert!(
        arguments.contains("rd.emergency=reboot systemd.watchdog_sec=60 punctual.once="),
        "{arguments}"
    );
    assert_eq!(warnings, "");
}

#[test]
fn a_machine_with_neither_is_refused() {
    let bench = Bench::bare(&[]);
    let plan = bench.plan();
    assert_eq!((plan.loader, plan.writes.len()), (None, 0));
    assert!(bench.refused().contains("neither GRUB nor systemd-boot"));
    let mut wish = bench.wish();
    wish.loader = Some(OneShotLoader::Grub);
    assert!(
        prepare(&bench.sys, &wish).plan.refusals[0]
            .reason
            .contains("GRUB does not start this machine")
    );
    wish.loader = Some(OneShotLoader::Kexec);
    assert!(
        prepare(&bench.sys, &wish).plan.refusals[0]
            .reason
            .contains("captured machine")
    );
}

#[test]
fn a_piece_that_cannot_be_written_leaves_nothing() {
    let bench = Bench::grub(&[]);
    let before = bench.dump();
    let prepared = prepare(&bench.sys, &bench.wish());
    fs::remove_file(bench.outside("new/initrd")).unwrap();
    let err = install(&prepared, &bench.sys, &bench.state(), "now").unwrap_err();
    assert!(matches!(err, OneShotError::File(_)), "{err}");
    assert_eq!(bench.dump(), before);
    assert_eq!(installed(&bench.state()).unwrap(), None);
}

#[test]
fn the_program_that_makes_the_initrd_is_asked_as_mkinitramfs_is() {
    let bench = Bench::grub(&[]);
    let (text_of, program) = (bench.outside("make.sh"), bench.outside("make"));
    let script = |text: &str| {
        fs::write(&text_of, format!("#!/bin/sh\n{text}\n")).unwrap();
        // By another process: a descriptor of this one that writes to the program, inherited by
        // what another test starts, would keep everybody from running it (ETXTBSY).
        let mut install = std::process::Command::new("install");
        install.arg("--mode=755").args([&text_of, &program]);
        assert!(install.status().unwrap().success());
    };
    script("echo \"$3\" > \"$2\"");
    let step = Step::Made {
        by: program.clone(),
        release: CANDIDATE.to_owned(),
        to: "/boot/made".to_owned(),
    };
    let at = |id| piece::At {
        sys: &bench.sys,
        id,
        boot_id: "boot-1",
        lock: None,
    };
    step.carry_out(&at("x"), None).unwrap();
    assert!(!bench.sys.exists("/boot/made.punctual-x"));
    assert_eq!(bench.text("boot/made"), format!("{CANDIDATE}\n"));
    script("echo no space >&2; exit 3");
    let err = step.carry_out(&at("y"), None).unwrap_err().to_string();
    assert!(err.contains("exit status: 3: no space"), "{err}");
    // One that says a lot is not ended for that; echo is a part of the shell, which SIGPIPE would end.
    let line = "x".repeat(99);
    script(&format!(
        "i=0; while [ $i -lt 2000 ]; do echo {line} >&2; i=$((i + 1)); done; echo \"$3\" > \"$2\""
    ));
    fs::remove_file(bench.sys.full("/boot/made")).unwrap();
    step.carry_out(&at("z"), None).unwrap();
    assert_eq!(bench.text("boot/made"), format!("{CANDIDATE}\n"));
    let mut wish = bench.wish();
    wish.initrd = Initrd::MadeBy(program.clone());
    assert!(
        prepare(&bench.sys, &wish).plan.refusals[0]
            .reason
            .contains("no program is run")
    );
}
