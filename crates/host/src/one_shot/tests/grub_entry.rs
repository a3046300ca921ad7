// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What GRUB and the kernel make of what is written for them.

use super::*;

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
