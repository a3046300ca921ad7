// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Boot loaders of machines that are files.

mod default;

use std::fs;

use punctual_model::BootLoader;
use tempfile::TempDir;

use super::*;
use crate::knob;
use crate::profile::builtin;
use crate::testing::machine;

const CONFIG: &str = "CONFIG_NO_HZ_FULL=y\nCONFIG_RCU_NOCB_CPU=y\nCONFIG_CPU_ISOLATION=y\n\
                      CONFIG_IRQ_FORCED_THREADING=y";

struct Bench {
    dir: TempDir,
    sys: SysRoot,
}

impl Bench {
    fn new(more: &[(&str, &str)]) -> Self {
        let mut files = vec![
            ("/sys/devices/system/cpu/online", "0-3"),
            ("/proc/sys/kernel/osrelease", "6.12.1-amd64"),
            ("/proc/cmdline", "root=/dev/sda1 quiet -- single"),
        ];
        files.extend(more);
        let (dir, sys) = machine(&files);
        Self { dir, sys }
    }

    fn plan(&self) -> BootPlan {
        let profile = Profile::parse(builtin("isolate").unwrap(), "isolate").unwrap();
        let survey = Survey::read(&self.sys, knob::Scope::Settings, true);
        let options = PlanOptions {
            cpus: Some([2, 3].into_iter().collect()),
            ..PlanOptions::default()
        };
        plan(&profile, &survey, &self.sys, &options).unwrap()
    }

    fn state(&self) -> std::path::PathBuf {
        self.dir.path().join("state")
    }

    fn apply(&self) -> Result<(), BootError> {
        apply(
            &self.plan(),
            &self.sys,
            &self.state(),
            "2026-01-01T00:00:00Z",
        )
    }

    fn file(&self, path: &str) -> Option<String> {
        fs::read(self.sys.full(path))
            .ok()
            .map(|bytes| String::from_utf8(bytes).unwrap())
    }
}

const GRUB: [(&str, &str); 2] = [
    ("/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=quiet"),
    ("/etc/default/grub.d/other.cfg", ""),
];

#[test]
fn grub_gets_a_file_of_its_own_and_loses_it_again() {
    let bench = Bench::new(&GRUB);
    let made = bench.plan();
    assert_eq!(made.loader, Some(BootLoader::GrubDropIn));
    assert_eq!(made.next, ["update-grub", "reboot"]);
    let path = "/etc/default/grub.d/99-punctual.cfg";
    bench.apply().unwrap();
    let text = bench.file(path).unwrap();
    assert!(
        text.contains(
            "DEFAULT isolcpus=managed_irq,domain,2-3 nohz_full=2-3 rcu_nocbs=2-3 irqaffinity=0-1"
        ),
        "{text}"
    );
    let err = bench.apply().unwrap_err();
    assert!(matches!(err, BootError::InPlace { .. }), "{err}");
    let reverted = revert(&bench.sys, &bench.state()).unwrap().unwrap();
    assert!(reverted.is_complete());
    assert_eq!(bench.file(path), None);
    assert_eq!(revert(&bench.sys, &bench.state()).unwrap(), None);
    assert_eq!(bench.file(GRUB[0].0).unwrap().trim(), GRUB[0].1);
}

#[test]
fn a_file_that_someone_changed_is_left_alone() {
    let bench = Bench::new(&GRUB);
    bench.apply().unwrap();
    let path = "/etc/default/grub.d/99-punctual.cfg";
    fs::write(bench.sys.full(path), "mine").unwrap();
    let reverted = revert(&bench.sys, &bench.state()).unwrap().unwrap();
    assert_eq!(reverted.files, [(path.to_owned(), FileUndone::Conflict)]);
    assert!(!reverted.is_complete());
    assert_eq!(bench.file(path).unwrap(), "mine");
    // The journal still owns it, and reverts it once the conflict is gone.
    let err = bench.apply().unwrap_err();
    assert!(matches!(err, BootError::InPlace { .. }), "{err}");
    fs::remove_file(bench.sys.full(path)).unwrap();
    assert!(
        revert(&bench.sys, &bench.state())
            .unwrap()
            .unwrap()
            .is_complete()
    );
    assert_eq!(applied(&bench.state()).unwrap(), None);
    // One that is there without a change of ours is nobody's, and not overwritten.
    fs::write(bench.sys.full(path), "mine").unwrap();
    let err = bench.apply().unwrap_err();
    assert!(matches!(err, BootError::Foreign { .. }), "{err}");
}

#[test]
fn a_command_line_that_someone_changed_loses_our_words_alone() {
    let path = "/boot/firmware/cmdline.txt";
    let bench = Bench::new(&[(path, "root=/dev/sda1 isolcpus=1 -- single")]);
    bench.apply().unwrap();
    let line = bench
        .file(path)
        .unwrap()
        .replace("root=/dev/sda1", "root=/dev/sdb1 own");
    assert!(
        line.contains("nohz_full=2-3") && !line.contains("isolcpus=1 "),
        "{line}"
    );
    fs::write(bench.sys.full(path), line).unwrap();
    let reverted = revert(&bench.sys, &bench.state()).unwrap().unwrap();
    assert!(reverted.is_complete(), "{reverted:?}");
    assert_eq!(
        bench.file(path).unwrap(),
        "root=/dev/sdb1 own isolcpus=1 -- single\n"
    );
    assert_eq!(applied(&bench.state()).unwrap(), None);
}

#[test]
fn a_file_that_root_alone_reads_stays_one_and_so_does_its_copy() {
    use std::os::unix::fs::PermissionsExt as _;
    let path = "/boot/firmware/cmdline.txt";
    let bench = Bench::new(&[(path, "root=/dev/sda1 secret=1")]);
    let mode = |path: &str| {
        let meta = fs::metadata(bench.sys.full(path)).unwrap();
        meta.permissions().mode() & 0o7777
    };
    fs::set_permissions(bench.sys.full(path), fs::Permissions::from_mode(0o600)).unwrap();
    bench.apply().unwrap();
    assert_eq!(
        (mode(path), mode(&format!("{path}.before-punctual"))),
        (0o600, 0o600)
    );
    revert(&bench.sys, &bench.state()).unwrap().unwrap();
    assert_eq!(mode(path), 0o600);
}

#[test]
fn what_a_program_that_was_killed_left_half_written_is_taken_back() {
    let path = "/boot/firmware/cmdline.txt";
    let bench = Bench::new(&[(path, "root=/dev/sda1")]);
    bench.apply().unwrap();
    let change = applied(&bench.state()).unwrap().unwrap();
    // As it is between the first file and the second: that one begun, not yet in place.
    let left = format!("{path}.punctual-{}", change.temporary);
    fs::write(bench.sys.full(&left), "root=/de").unwrap();
    fs::write(bench.sys.full(path), "root=/dev/sda1\n").unwrap();
    assert!(
        revert(&bench.sys, &bench.state())
            .unwrap()
            .unwrap()
            .is_complete()
    );
    assert_eq!(bench.file(&left), None);
    assert_eq!(bench.file(path).unwrap(), "root=/dev/sda1\n");
    assert_eq!(bench.file(&format!("{path}.before-punctual")), None);
}

const ENTRY: &str = "title Debian\nversion 6.12.1-amd64\nlinux /vmlinuz-6.12.1-amd64\n\
                     options root=/dev/sda1 nohz_full=1\noptions quiet";

#[test]
fn a_loader_gets_a_copy_of_the_running_kernels_entry() {
    let bench = Bench::new(&[
        (
            "/boot/loader/entries/a.conf",
            "title Old\nversion 5.10\nlinux /vmlinuz-5.10",
        ),
        ("/boot/loader/entries/b.conf", ENTRY),
        ("/boot/loader/loader.conf", "default b.conf"),
    ]);
    let made = bench.plan();
    assert_eq!(made.loader, Some(BootLoader::LoaderEntries));
    bench.apply().unwrap();
    let text = bench.file("/boot/loader/entries/punctual.conf").unwrap();
    assert!(
        text.contains("title Debian (punctual, isolate)\n"),
        "{text}"
    );
    assert!(text.contains("linux /vmlinuz-6.12.1-amd64\n"), "{text}");
    assert!(
        text.contains("\noptions root=/dev/sda1 quiet isolcpus="),
        "{text}"
    );
    assert_eq!(text.matches("nohz_full=").count(), 1, "{text}");
    assert_eq!(
        bench.file("/boot/loader/entries/b.conf").unwrap().trim(),
        ENTRY
    );
    assert!(
        revert(&bench.sys, &bench.state())
            .unwrap()
            .unwrap()
            .is_complete()
    );
    assert_eq!(bench.file("/boot/loader/entries/punctual.conf"), None);
}

#[test]
fn the_entry_is_that_of_the_running_kernel_and_not_of_one_with_a_similar_release() {
    let entries = |a: &str, b: &str, c: &str| {
        [("a", a), ("b", b), ("c", c)].map(|(name, release)| {
            let path = format!("/boot/loader/entries/{name}.conf");
            (path, format!("title T\nlinux {release}\noptions of={name}"))
        })
    };
    let ostree = entries(
        "/ostree/6.12.1-rt5/linux",
        "/ostree/6.12.10/linux",
        "/ostree/6.12.1/linux",
    );
    let images = entries("/vmlinuz-6.12.10", "/vmlinuz-6.12.1-rt5", "/vmlinuz-6.12.1");
    let fedora = entries(
        "/boot/vmlinuz-6.12.1.x86_64+debug",
        "/boot/vmlinuz-6.12.1.x86_64",
        "/boot/vmlinuz-6.12.10.x86_64",
    );
    for (all, release, right) in [
        (&ostree, "6.12.1", Some("of=c")),
        (&ostree, "6.12.1-rt5", Some("of=a")),
        (&ostree, "6.12.10", Some("of=b")),
        (&images, "6.12.1", Some("of=c")),
        (&images, "6.12.1-rt5", Some("of=b")),
        (&images, "6.12.10", Some("of=a")),
        (&fedora, "6.12.1.x86_64", Some("of=b")),
        (&fedora, "6.12.1.x86_64+debug", Some("of=a")),
        (&fedora, "6.12", None),
    ] {
        let mut files = vec![
            ("/proc/sys/kernel/osrelease", release),
            ("/boot/loader/loader.conf", "default a.conf"),
        ];
        files.extend(
            all.iter()
                .map(|(path, text)| (path.as_str(), text.as_str())),
        );
        let plan = Bench::new(&files).plan();
        match right {
            Some(right) => assert!(plan.files[0].new.contains(right), "{release}: {plan:#?}"),
            None => assert!(
                plan.files.is_empty() && plan.warnings[0].contains("no boot loader entry is of"),
                "{plan:#?}"
            ),
        }
    }
}

#[test]
fn the_entry_of_the_running_kernel_is_found_whatever_its_image_is_called() {
    let nixos =
        "title NixOS\nversion Generation 12 NixOS 24.05.1 (Linux 6.6.30), built on 2024-06-01";
    let found = |entries: &[&str], release: &str| {
        let paths = ["a", "b"].map(|name| format!("/boot/loader/entries/{name}.conf"));
        let texts: Vec<String> = entries
            .iter()
            .enumerate()
            .map(|(number, entry)| match entry.strip_suffix("# ") {
                Some(bare) => bare.to_owned(),
                None => format!("{entry}\noptions of={number}"),
            })
            .collect();
        let mut files = vec![
            ("/proc/sys/kernel/osrelease", release),
            ("/boot/loader/loader.conf", "default a.conf"),
        ];
        files.extend(
            paths
                .iter()
                .map(String::as_str)
                .zip(texts.iter().map(String::as_str)),
        );
        let plan = Bench::new(&files).plan();
        let new = &plan.files.first()?.new;
        (0..entries.len()).find(|number| new.contains(&format!("of={number}")))
    };
    for entry in [
        nixos,
        "linux /EFI/nixos/0a1b-linux-6.6.30-bzImage.efi",
        "linux /EFI/nixos/0a1b-linux-6.6.30-Image.efi",
        "linux /Image-6.6.30",
        "linux /boot/vmlinux-6.6.30",
        "linux /kernel-6.6.30",
        "linux /bzImage-6.6.30",
        "linux /vmlinuz-6.6.30.efi",
        "efi /EFI/Linux/arch-6.6.30.efi",
    ] {
        assert_eq!(found(&[entry], "6.6.30"), Some(0), "{entry}");
        for other in ["6.6.3", "6.6", "6.30", "6.6.30-rt30", "6.6.30+", "4.05.1"] {
            assert_eq!(found(&[entry], other), None, "{entry}, {other}");
        }
    }
    for entry in [
        "linux /EFI/nixos/0a1b-linux-6.6.30-rt30-bzImage.efi",
        "version NixOS (Linux 6.6.30-rt30)",
        "linux /Image-6.6.30.1",
        "linux /Image-6.6.30+",
        "linux /Image-6.6.30a",
        "linux /Image-16.6.30",
    ] {
        assert_eq!(found(&[entry], "6.6.30"), None, "{entry}");
    }
    // What it is started with is in the image.
    let unified = "efi /EFI/Linux/arch-6.6.30.efi\n# ";
    assert_eq!(found(&[unified], "6.6.30"), None);
    let rescue = "linux /rescue-6.6.30";
    assert_eq!(found(&[rescue, "linux /vmlinuz-6.6.30"], "6.6.30"), Some(1));
}

#[test]
fn of_several_systems_with_one_kernel_the_one_that_runs_is_copied() {
    let of = |number: u32, more: &str| {
        format!(
            "title NixOS\nversion Generation {number} NixOS (Linux 6.6.30)\nlinux /EFI/nixos/0a1b-linux-6.6.30-bzImage.efi\n\
             options init=/nix/store/{number}/init {more}"
        )
    };
    let (old, new) = (of(9, "quiet"), of(12, "quiet"));
    let plan = |cmdline: &str, second: &str| {
        Bench::new(&[
            ("/proc/cmdline", cmdline),
            ("/proc/sys/kernel/osrelease", "6.6.30"),
            ("/boot/loader/loader.conf", "default a.conf"),
            ("/boot/loader/entries/a.conf", &old),
            ("/boot/loader/entries/b.conf", second),
        ])
        .plan()
    };
    let running = plan("initrd=\\EFI\\i init=/nix/store/12/init quiet", &new);
    assert!(
        running.files[0].new.contains("/nix/store/12/init"),
        "{running:#?}"
    );
    for plan in [
        plan("init=/nix/store/3/init quiet", &new),
        plan("init=/nix/store/9/init quiet splash", &of(9, "splash")),
    ] {
        assert!(plan.files.is_empty(), "{plan:#?}");
        let said = |text: &String| text.contains("several boot loader entries start 6.6.30");
        assert!(plan.warnings.iter().any(said), "{plan:#?}");
    }
    // With the same arguments each is right.
    assert_eq!(plan("quiet", &old).files.len(), 1);
}

#[test]
fn a_command_line_file_is_edited_with_a_copy() {
    let line = "console=tty1 isolcpus=1 root=PARTUUID=1 rootwait -- x";
    let bench = Bench::new(&[("/boot/firmware/cmdline.txt", line)]);
    assert_eq!(bench.plan().loader, Some(BootLoader::CommandLineFile));
    bench.apply().unwrap();
    let path = "/boot/firmware/cmdline.txt";
    let text = bench.file(path).unwrap();
    assert!(
        text.starts_with("console=tty1 root=PARTUUID=1 rootwait isolcpus=managed_irq"),
        "{text}"
    );
    assert!(text.ends_with(" -- x\n"), "{text}");
    let copy = format!("{path}.before-punctual");
    assert_eq!(bench.file(&copy).unwrap().trim(), line);
    assert!(
        revert(&bench.sys, &bench.state())
            .unwrap()
            .unwrap()
            .is_complete()
    );
    assert_eq!(bench.file(path).unwrap().trim(), line);
    assert_eq!(bench.file(&copy), None);
}

#[test]
fn what_the_running_kernel_has_and_heeds_is_told() {
    let bench = Bench::new(&[
        (
            "/proc/cmdline",
            "isolcpus=3 nohz-full=2-3 threadirqs -- rcu_nocbs=2-3",
        ),
        (
            "/boot/config-6.12.1-amd64",
            "CONFIG_CPU_ISOLATION=y\nCONFIG_HZ=250",
        ),
    ]);
    let made = bench.plan();
    let of = |name: &str| {
        let found = made
            .arguments
            .iter()
            .find(|a| a.word.split('=').next() == Some(name));
        found.unwrap().clone()
    };
    let other = ArgumentState::Other {
        word: "isolcpus=3".to_owned(),
    };
    assert_eq!(of("isolcpus").now, other);
    assert_eq!(of("threadirqs").now, ArgumentState::Given);
    assert_eq!(of("rcu_nocbs").now, ArgumentState::Missing);
    assert_eq!(of("isolcpus").unheeded, None);
    assert!(
        of("nohz_full")
            .unheeded
            .unwrap()
            .contains("CONFIG_NO_HZ_FULL")
    );
    assert!(made.files.is_empty() && made.loader.is_none());
    assert!(
        made.warnings[0].contains("no boot loader"),
        "{:?}",
        made.warnings
    );
}

#[test]
fn with_every_argument_given_there_is_nothing_to_do() {
    let all = "isolcpus=managed_irq,domain,2-3 nohz_full=2-3 rcu_nocbs=2-3 irqaffinity=0-1 \
               rcu_nocb_poll nosoftlockup skew_tick=1 threadirqs preempt=full";
    let mut files = GRUB.to_vec();
    files.extend([
        ("/proc/cmdline", all),
        ("/boot/config-6.12.1-amd64", CONFIG),
    ]);
    let bench = Bench::new(&files);
    let made = bench.plan();
    assert!(
        made.is_given() && made.files.is_empty() && made.warnings.is_empty(),
        "{made:#?}"
    );
}

#[test]
fn what_the_kernel_does_anyway_is_not_given() {
    let mut files = GRUB.to_vec();
    let rt = format!("{CONFIG}\nCONFIG_PREEMPT_RT=y");
    files.extend([
        ("/proc/cmdline", "irqaffinity=0 quiet"),
        ("/boot/config-6.12.1-amd64", rt.as_str()),
    ]);
    let made = Bench::new(&files).plan();
    let now = |word: &str| {
        let found = made.arguments.iter().find(|a| a.word == word);
        found.unwrap().now.clone()
    };
    let implied = |now| matches!(now, ArgumentState::Implied { .. });
    assert!(implied(now("threadirqs")) && implied(now("preempt=full")));
    // Fewer CPUs for interrupts than there could be are somebody's choice.
    assert_eq!(now("irqaffinity=0-1"), ArgumentState::Given);
    let text = &made.files[0].new;
    assert!(text.contains("skew_tick=1"), "{text}");
    assert!(
        !text.contains("threadirqs") && !text.contains("preempt"),
        "{text}"
    );
    assert_eq!(made.warnings, [] as [&str; 0]);
}

#[test]
fn without_watchdogs_there_is_no_soft_lockup_detection_to_switch_off() {
    let now = |line| {
        let mut files = GRUB.to_vec();
        files.push(("/proc/cmdline", line));
        let made = Bench::new(&files).plan();
        let found = made.arguments.iter().find(|a| a.word == "nosoftlockup");
        found.unwrap().now.clone()
    };
    let implied = |now| matches!(now, ArgumentState::Implied { .. });
    assert!(implied(now("quiet nowatchdog")));
    // The clock source's watchdog is another one, and what follows `--` is not for the kernel.
    for line in ["quiet tsc=nowatchdog", "quiet -- nowatchdog", "quiet"] {
        assert_eq!(now(line), ArgumentState::Missing, "{line}");
    }
}

#[test]
fn an_old_kernel_takes_isolcpus_without_flags_alone() {
    for (release, part) in [
        ("4.0.0-generic", Some("before 5.6")),
        ("5.4.0-1-generic", Some("before 5.6")),
        ("5.15.0", None),
    ] {
        let path = format!("/boot/config-{release}");
        let bench = Bench::new(&[("/proc/sys/kernel/osrelease", release), (&path, CONFIG)]);
        let made = bench.plan();
        let unheeded = made.arguments[0].unheeded.clone();
        assert_eq!(unheeded.is_some(), part.is_some(), "{release}");
        assert!(
            unheeded
                .unwrap_or_default()
                .contains(part.unwrap_or_default())
        );
    }
}

#[test]
fn a_file_that_cannot_be_written_leaves_nothing() {
    let bench = Bench::new(&[("/boot/firmware/cmdline.txt", "root=/dev/sda1")]);
    // The second file is another one than when this was planned.
    let made = bench.plan();
    fs::write(bench.sys.full(&made.files[1].path), "another").unwrap();
    let err = apply(&made, &bench.sys, &bench.state(), "now").unwrap_err();
    assert!(matches!(err, BootError::File { .. }), "{err}");
    assert_eq!(
        bench.file(&made.files[0].path),
        None,
        "the copy is gone again"
    );
    assert_eq!(applied(&bench.state()).unwrap(), None);
}

#[test]
fn a_board_with_u_boot_is_told_the_file_the_line_and_the_words_and_nothing_is_written() {
    let jetson =
        "DEFAULT primary\nLABEL primary\n  LINUX /boot/Image\n  APPEND ${cbootargs} quiet\n";
    for (path, text, said) in [
        (
            "/boot/extlinux/extlinux.conf",
            jetson,
            "APPEND line of LABEL primary",
        ),
        ("/boot/armbianEnv.txt", "verbosity=1\n", "extraargs="),
        (
            "/etc/default/u-boot",
            "#U_BOOT_UPDATE=true\n",
            "U_BOOT_PARAMETERS",
        ),
        ("/boot/boot.scr", "x", "fw_setenv"),
    ] {
        let plan = Bench::new(&[(path, text)]).plan();
        assert_eq!((plan.loader, plan.files.len()), (None, 0), "{path}");
        let steps = plan.next.join("\n");
        assert!(
            steps.contains(said) && steps.contains("nohz_full=2-3"),
            "{path}: {steps}"
        );
        assert!(steps.ends_with("reboot"), "{path}: {steps}");
        assert!(
            plan.warnings.iter().any(|text| text.contains("not edited")),
            "{path}"
        );
    }
    // A Raspberry Pi's own line comes before what U-Boot has.
    let pi = Bench::new(&[
        ("/boot/firmware/cmdline.txt", "quiet"),
        ("/boot/boot.scr", "x"),
    ])
    .plan();
    assert_eq!(pi.loader, Some(BootLoader::CommandLineFile));
}
