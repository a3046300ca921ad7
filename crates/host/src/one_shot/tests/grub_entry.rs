// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What GRUB and the kernel make of what is written for them.

use super::*;

#[test]
fn a_line_that_had_no_end_and_one_that_somebody_wrote_behind_ours_stay_two() {
    let bench = Bench::grub(&[]);
    bench.write(CUSTOM, b"set timeout=5");
    bench.install().unwrap();
    let text = format!("{}set pager=1\n", bench.text(CUSTOM));
    bench.write(CUSTOM, text.as_bytes());
    assert!(bench.revert().is_complete());
    assert_eq!(bench.text(CUSTOM), "set timeout=5\nset pager=1\n");
}

#[test]
fn where_the_choice_cannot_be_cleared_grub_goes_on_with_the_default_that_it_has() {
    for (written, taken) in [
        ("\"2\"", "2"),
        ("1", "1"),
        ("'named'", "named"),
        ("\"${saved_entry}\"", "${saved_entry}"),
        (
            "\"gnulinux-advanced>gnulinux-6.1\"",
            "gnulinux-advanced>gnulinux-6.1",
        ),
        ("\"Debian, with Linux 6.1\"", "Debian, with Linux 6.1"),
        ("0; fi", "0"),
    ] {
        let config = CONFIG.replace("set default=\"0\"", &format!("set default={written}"));
        let bench = Bench::grub(&[("boot/grub/grub.cfg", &config)]);
        let plan = bench.plan();
        let entry = plan.writes.iter().find_map(|write| write.text.clone());
        let line = format!("\n  set default=\"{taken}\"\n");
        assert!(entry.unwrap().contains(&line), "{written}");
        let said = plan.falls_back[0].way_back.clone().unwrap();
        assert!(said.ends_with(&format!("its default, {taken}")), "{said}");
    }
}

#[test]
fn words_for_init_stay_behind_those_for_the_kernel() {
    let bench = Bench::grub(&[("proc/cmdline", "root=UUID=abc ro -- single\n")]);
    let mut wish = bench.wish();
    let mut arguments = |append: &[&str]| {
        wish.append = append.iter().map(|text| (*text).to_owned()).collect();
        prepare(&bench.sys, &wish).plan.arguments
    };
    let ours = "panic=10 punctual.once=abc-1";
    assert_eq!(
        arguments(&["threadirqs"]),
        format!("root=UUID=abc ro threadirqs {ours} -- single")
    );
    assert_eq!(
        arguments(&["threadirqs -- a", "b=1"]),
        format!("root=UUID=abc ro threadirqs {ours} -- single a b=1")
    );
    bench.write("proc/cmdline", b"root=UUID=abc ro");
    assert_eq!(
        prepare(&bench.sys, &wish).plan.arguments,
        format!("root=UUID=abc ro threadirqs {ours} -- a b=1")
    );
}
