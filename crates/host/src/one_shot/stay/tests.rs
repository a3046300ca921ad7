// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What an installation would write, on machines that are files, and GRUB's entries. That programs of the machine are run
//! is tried with the commands.

use std::fs;

use punctual_model::OneShotLoader;
use tempfile::TempDir;

use super::menu::Menu;
use super::*;
use crate::one_shot::systemd_boot::encoded;
use crate::testing::machine;

/// As `grub-mkconfig` of Debian 12 writes it, in short.
const CONFIG: &str = "\
if [ \"${next_entry}\" ] ; then
   set default=\"${next_entry}\"
else
   set default=\"0\"
fi
function gfxmode {
\tset gfxpayload=\"${1}\"
}
menuentry 'Debian GNU/Linux' --class debian $menuentry_id_option 'gnulinux-simple-abc' {
\tlinux\t/boot/vmlinuz-6.1.0-56-amd64 root=UUID=abc ro  quiet
}
submenu 'Advanced options' $menuentry_id_option 'gnulinux-advanced-abc' {
\tmenuentry 'Debian, with Linux 6.1.0-56-amd64' $menuentry_id_option 'gnulinux-6.1.0-56-amd64-advanced-abc' {
\t\tlinux\t/boot/vmlinuz-6.1.0-56-amd64 root=UUID=abc ro  quiet
\t}
\tmenuentry 'Debian, recovery' $menuentry_id_option 'gnulinux-6.1.0-56-amd64-recovery-abc' {
\t\tlinux\t/boot/vmlinuz-6.1.0-56-amd64 root=UUID=abc ro single
\t}
\tmenuentry 'Debian, with Linux 6.1.0-55-amd64' $menuentry_id_option 'gnulinux-6.1.0-55-amd64-advanced-abc' {
\t\tlinux\t/boot/vmlinuz-6.1.0-55-amd64 root=UUID=abc ro  quiet
\t}
}
menuentry \"Windows\" --id win {
\tchainloader +1
}
";

#[test]
fn the_default_is_found_as_grub_finds_it() {
    let starts = |default: &str, saved: Option<&str>| {
        let config = CONFIG.replace("default=\"0\"", &format!("default=\"{default}\""));
        Menu::parse(&config).chosen(saved).unwrap().starts
    };
    let newest = "/boot/vmlinuz-6.1.0-56-amd64 root=UUID=abc ro quiet";
    let older = "/boot/vmlinuz-6.1.0-55-amd64 root=UUID=abc ro quiet";
    assert_eq!(starts("0", None), newest);
    assert_eq!(starts("1>2", None), older);
    assert_eq!(
        starts(
            "gnulinux-advanced-abc>gnulinux-6.1.0-55-amd64-advanced-abc",
            None
        ),
        older
    );
    assert_eq!(
        starts("Advanced options>Debian, with Linux 6.1.0-55-amd64", None),
        older
    );
    assert_eq!(starts("${saved_entry}", Some("1>2")), older);
    assert_eq!(starts("${saved_entry}", None), newest);
    assert_eq!(starts("win", None), "win");
    assert_eq!(starts("2", None), "win");
    // What is not there is the first one.
    assert_eq!(starts("gone", None), newest);
    assert_eq!(starts("7", None), newest);
    assert_eq!(Menu::parse("").chosen(None), None);
}

#[test]
fn a_lasting_name_has_the_release_and_a_new_one_is_foretold() {
    let menu = Menu::parse(CONFIG);
    let first = menu.chosen(None).unwrap();
    assert_eq!(first.name, "gnulinux-simple-abc");
    let lasting = menu.lasting(&first);
    assert_eq!(
        lasting,
        "gnulinux-advanced-abc>gnulinux-6.1.0-56-amd64-advanced-abc"
    );
    assert_eq!(menu.resolve(&lasting).unwrap().starts, first.starts);
    let windows = menu.resolve("2").unwrap();
    assert_eq!(menu.lasting(&windows), "win");
    assert_eq!(
        menu.foretold("6.12-rt").unwrap(),
        "gnulinux-advanced-abc>gnulinux-6.12-rt-advanced-abc"
    );
    assert!(menu.has("vmlinuz-6.1.0-55-amd64") && !menu.has("vmlinuz-6.1.0"));
}

fn wish(outside: &TempDir) -> StayWish {
    let image = outside.path().join("bzImage");
    fs::write(&image, "image").unwrap();
    StayWish {
        id: "0123".to_owned(),
        name: "mine".to_owned(),
        image,
        release: "6.12-rt".to_owned(),
        version: "#1 SMP PREEMPT_RT".to_owned(),
        modules: None,
        config: None,
        system_map: None,
        initrd: StayInitrd::Made,
        default: false,
    }
}

/// Reasons but for what an ordinary user may not do.
fn reasons(plan: &KernelInstallPlan) -> Vec<&str> {
    let all = plan.refusals.iter().map(|refusal| refusal.reason.as_str());
    all.filter(|reason| !reason.contains("only root may"))
        .collect()
}

fn paths(plan: &KernelInstallPlan) -> Vec<&str> {
    plan.writes
        .iter()
        .map(|write| write.path.as_str())
        .collect()
}

#[test]
fn the_default_is_named_where_grub_would_take_another_one_and_only_there() {
    let outside = TempDir::new().unwrap();
    let plan = |config: &str, more: &[(&str, &str)], default: bool| {
        let mut all = vec![
            ("/boot/grub/grub.cfg", config),
            (
                "/usr/sbin/grub-mkconfig",
                "for x in ${sysconfdir}/default/grub.d/*.cfg",
            ),
            ("/usr/sbin/update-initramfs", ""),
            ("/etc/default/grub", "GRUB_DEFAULT=0"),
        ];
        all.extend(more);
        let (_dir, sys) = machine(&all);
        let wish = StayWish {
            default,
            ..wish(&outside)
        };
        prepare(&sys, &wish).plan
    };
    let named = "gnulinux-advanced-abc>gnulinux-6.1.0-56-amd64-advanced-abc";
    let first = plan(CONFIG, &[], false);
    assert_eq!(reasons(&first), Vec::<&str>::new());
    assert_eq!(first.loader, Some(OneShotLoader::Grub));
    assert_eq!(first.default_named.as_deref(), Some(named));
    assert_eq!(
        paths(&first),
        [
            "/boot/vmlinuz-6.12-rt",
            "/boot/initrd.img-6.12-rt",
            "/etc/default/grub.d",
            "/etc/default/grub.d/zz-punctual-0123.cfg",
            "/boot/grub/grub.cfg",
        ]
    );
    let pinned = CONFIG.replace("default=\"0\"", &format!("default=\"{named}\""));
    assert_eq!(plan(&pinned, &[], false).default_named, None);
    // Another installation has named it, and would take that away with it.
    let ours = [("/etc/default/grub.d/zz-punctual-0000.cfg", "")];
    assert_eq!(
        plan(&pinned, &ours, false).default_named.as_deref(),
        Some(named)
    );
    let new = plan(CONFIG, &[], true);
    assert_eq!(
        new.default_named.as_deref(),
        Some("gnulinux-advanced-abc>gnulinux-6.12-rt-advanced-abc")
    );
    // One that reads no further files.
    let plain = [("/usr/sbin/grub-mkconfig", ". ${sysconfdir}/default/grub")];
    let plain = plan(CONFIG, &plain, false);
    let text = plain
        .writes
        .iter()
        .find(|write| write.path == "/etc/default/grub");
    assert!(
        text.unwrap()
            .text
            .as_ref()
            .unwrap()
            .contains(&format!("GRUB_DEFAULT='{named}'\n"))
    );
}

#[test]
fn what_is_not_given_with_an_image_is_noted() {
    let outside = TempDir::new().unwrap();
    let (_dir, sys) = machine(&[("/usr/sbin/update-initramfs", "")]);
    let notes = |wish: &StayWish| prepare(&sys, wish).plan.warnings.join("; ");
    let bare = wish(&outside);
    let said = notes(&bare);
    for part in ["neither modules nor", "fails without /boot/config-6.12-rt"] {
        assert!(said.contains(part), "{said}");
    }
    let config = outside.path().join("config");
    fs::write(&config, "# CONFIG_MODULES is not set\n").unwrap();
    let whole = StayWish {
        config: Some(config),
        ..bare
    };
    assert_eq!(notes(&whole), "");
}

#[test]
fn systemd_boot_is_refused() {
    let outside = TempDir::new().unwrap();
    let (_dir, sys) = machine(&[
        ("/efi/loader/entries/abc-6.1.0-56-amd64.conf", ""),
        ("/usr/bin/dracut", ""),
    ]);
    let info = sys.full(&crate::one_shot::systemd_boot::variable("LoaderInfo"));
    fs::create_dir_all(info.parent().unwrap()).unwrap();
    fs::write(info, encoded("systemd-boot 252")).unwrap();
    let plan = prepare(&sys, &wish(&outside)).plan;
    assert!(reasons(&plan)[0].contains("systemd-boot starts the machine"));
}

#[test]
fn a_machine_that_is_not_there_and_one_without_a_loader_are_said_to_be_so() {
    let outside = TempDir::new().unwrap();
    let nowhere = SysRoot::at(outside.path().join("nothere"));
    let plan = prepare(&nowhere, &wish(&outside)).plan;
    let [reason] = reasons(&plan)[..] else {
        panic!("{:?}", plan.refusals)
    };
    assert!(reason.ends_with("is not a directory"), "{reason}");
    let (_dir, sys) = machine(&[]);
    let plan = prepare(&sys, &wish(&outside)).plan;
    let mut refusals = plan.refusals.iter();
    let why = refusals.find(|why| why.reason.starts_with("neither GRUB"));
    // That starts a kernel once, and leaves nothing installed.
    assert!(!why.unwrap().hint.contains("kexec"));
}
