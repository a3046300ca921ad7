// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! An entry that the boot loader would start at every boot is not made.

use super::*;

#[test]
fn an_entry_that_would_become_the_default_is_not_made() {
    let info = "/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
    let keyed = format!("{ENTRY}\nsort-key debian");
    let first = ("/boot/loader/entries/a.conf", ENTRY);
    let made = |more: &[(&str, &str)]| {
        let bench = Bench::new(more);
        let value = crate::one_shot::systemd_boot::encoded("systemd-boot 252.39");
        fs::create_dir_all(bench.sys.full(info).parent().unwrap()).unwrap();
        fs::write(bench.sys.full(info), value).unwrap();
        bench.plan()
    };
    let plan = made(&[first]);
    assert!(plan.files.is_empty() && plan.next.is_empty(), "{plan:#?}");
    assert!(
        plan.warnings[0].contains("sorts punctual.conf before"),
        "{plan:#?}"
    );
    for other in [
        ("/boot/loader/loader.conf", "default a.conf"),
        ("/boot/loader/entries/z.conf", "title Z"),
        ("/boot/loader/entries/b.conf", keyed.as_str()),
    ] {
        assert_eq!(made(&[first, other]).files.len(), 1, "{other:?}");
    }
    let text = &made(&[("/boot/loader/entries/b.conf", &keyed)]).files[0].new;
    assert!(!text.contains("sort-key"), "{text}");
}

#[test]
fn an_entry_that_grub_would_start_by_default_is_not_made() {
    let entry = ("/boot/loader/entries/ostree-2.conf", ENTRY);
    let default = ("/etc/default/grub", "GRUB_ENABLE_BLSCFG=true");
    let config = "set default=\"${saved_entry}\"\ninsmod blscfg\nblscfg";
    let saved = |id: &str| {
        format!(
            "# GRUB Environment Block\nsaved_entry={id}\n{}",
            "#".repeat(900)
        )
    };
    let made = |config: &str, environment: Option<&str>| {
        let mut files = vec![entry, default, ("/boot/grub2/grub.cfg", config)];
        files.extend(environment.map(|text| ("/boot/grub2/grubenv", text)));
        Bench::new(&files).plan()
    };
    // ostree relies on the first entry.
    for (config, environment) in [
        (config, None),
        (config, Some(saved(""))),
        (config, Some(saved("ostree-1"))),
        (config, Some(saved("punctual"))),
        ("set default=\"0\"\nblscfg", Some(saved("ostree-2"))),
    ] {
        let plan = made(config, environment.as_deref());
        assert!(
            plan.files.is_empty() && plan.next.is_empty(),
            "{config} {plan:#?}"
        );
        assert!(plan.warnings[0].contains("grub2-set-default"), "{plan:#?}");
    }
    assert_eq!(made(config, Some(&saved("ostree-2"))).files.len(), 1);
    // A GRUB with a menu of its own does not read them.
    assert_eq!(made("menuentry 'Debian' {", None).files.len(), 1);
}
