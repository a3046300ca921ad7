// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What follows from following "N more runs".

use crate::simulate_advice::Runs;
use crate::{Bounds, count, rate};

const CELLS: [(usize, f64, f64, bool); 9] = [
    (4, 0.05, 0.0, false),
    (4, 0.1, 0.0, false),
    (5, 0.05, 0.0, false),
    (6, 0.1, 0.0, false),
    (6, 0.2, 0.0, false),
    (12, 0.1, 0.0, false),
    (12, 0.15, 0.0, false),
    (8, 0.1, 0.1, false),
    (9, 0.1, 0.0, true),
];

/// Compares, follows the advice, compares again; without an effect and with one of 10 %.
pub(crate) fn table(experiments: u32, bounds: &mut Bounds) {
    let experiments = experiments.max(1_000);
    println!(
        "\nFollowing \"N more runs\", % of {experiments} experiments, with 95 % intervals; the effect is 10 %\n"
    );
    println!(
        "{:<30}{:>20}{:>20}{:>20}{:>20}{:>7}{:>7}",
        "deviation, runs at first",
        "wrong, in the end",
        "found, second look",
        "found, in the end",
        "\"could show\" found",
        "looks",
        "runs"
    );
    for (first, deviation, disturbed, blocked) in CELLS {
        let runs = Runs {
            first,
            deviation,
            disturbed,
            blocked,
        };
        let [
            wrong,
            asked,
            advised,
            second,
            end,
            looks,
            of,
            could,
            stated,
            made,
        ] = count(experiments, |source| {
            let none = runs.follow(source, 1.0);
            let some = runs.follow(source, 1.1);
            let could = runs.could_show(source);
            let advised = |yes: bool| u32::from(some.advised && yes);
            [
                none.said[2].into(),
                1,
                advised(true),
                advised(some.said[1]),
                advised(some.said[2]),
                if none.advised { none.looks } else { 0 },
                none.advised.into(),
                u32::from(could == Some(true)),
                could.is_some().into(),
                if none.advised {
                    u32::try_from(none.runs).unwrap_or(0)
                } else {
                    0
                },
            ]
        });
        let name = format!(
            "{:.0} %, {first} {}{}",
            deviation * 100.0,
            if blocked { "blocks" } else { "a side" },
            if disturbed > 0.0 { ", disturbed" } else { "" }
        );
        println!(
            "{name:<30}{:>20}{:>20}{:>20}{:>20}{:>7.2}{:>7.0}",
            rate(wrong, asked),
            rate(second, advised),
            rate(end, advised),
            if stated > 0 {
                rate(could, stated)
            } else {
                "-".to_owned()
            },
            f64::from(looks) / f64::from(of.max(1)),
            f64::from(made) / f64::from(of.max(1)),
        );
        bounds.check(&format!("advice, wrong, {name}"), wrong, asked, 0.0, 0.05);
        bounds.check(&format!("advice, found, {name}"), second, advised, 0.8, 1.0);
        if stated > 0 {
            bounds.check(&format!("could show, {name}"), could, stated, 0.8, 1.0);
        }
    }
}
