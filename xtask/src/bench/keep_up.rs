// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The smallest interval that is kept: at least 99 of 100 cycles took place.
//!
//! cyclictest leaves out the cycles that it misses and does not count them. Ours must count every one.

use std::time::Duration;

use anyhow::{Context as _, bail};

use super::budget::{Outcome, Pair};
use super::context::Context;
use super::program;

const INTERVALS_US: [u32; 5] = [100, 50, 40, 30, 20];
const SECONDS: u32 = 3;
const KEPT: f64 = 0.99;
/// How far count and overruns together may be from the cycles that there should have been.
const UNACCOUNTED: f64 = 0.01;

pub(crate) fn measure(context: &Context) -> anyhow::Result<Outcome> {
    let mut faults = Vec::new();
    let (mut ours, mut theirs) = (None, None);
    for interval_us in INTERVALS_US {
        let cycles = f64::from(SECONDS * 1_000_000 / interval_us);
        let interval = Duration::from_micros(interval_us.into());
        let pairs = context.pairs(
            if context.quick { 1 } else { 3 },
            || {
                let (count, overruns) = punctual(context, interval)?;
                if !accounted(count, overruns, cycles) {
                    faults.push(format!("at {interval_us} us {count} samples and {overruns} overruns of {cycles} cycles"));
                }
                Ok(count / cycles)
            },
            || Ok(cyclictest(context, interval)? / cycles),
        )?;
        // The median round: one stall of the host must not decide.
        let kept = |side: fn(&Pair) -> Option<f64>| {
            super::budget::Spread::of(pairs.iter().filter_map(side)).map_or(0.0, |kept| kept.median)
        };
        let (our_share, their_share) = (kept(|pair| Some(pair.ours)), kept(|pair| pair.theirs));
        context.note(&format!(
            "{interval_us:>3} us: kept {:.1} %, cyclictest {:.1} %",
            our_share * 100.0,
            their_share * 100.0
        ));
        if our_share >= KEPT {
            ours = Some(interval_us);
        }
        if their_share >= KEPT {
            theirs = Some(interval_us);
        }
    }
    let ns = |us: u32| f64::from(us) * 1000.0;
    match (ours, theirs) {
        (None, None) => Ok(Outcome::NotMeasured(format!(
            "neither kept {} us here",
            INTERVALS_US[0]
        ))),
        (None, Some(_)) => bail!("punctual kept no interval, cyclictest did"),
        (Some(ours), theirs) => {
            if theirs.is_none() {
                faults.push("cyclictest kept no interval: nothing to compare with".into());
            }
            Ok(Outcome::Measured {
                pairs: vec![Pair {
                    ours: ns(ours),
                    theirs: theirs.map(ns),
                }],
                faults,
            })
        }
    }
}

fn punctual(context: &Context, interval: Duration) -> anyhow::Result<(f64, f64)> {
    let mut command = program::punctual(context, 1, interval);
    command.args(["--duration", &format!("{SECONDS}s")]);
    let (run, _) = program::punctual_json(context, command)?;
    let figure = |key: &str| {
        run["series"][0][key]
            .as_f64()
            .with_context(|| format!("no {key} in the JSON of punctual"))
    };
    Ok((figure("count")?, figure("overruns")?))
}

fn cyclictest(context: &Context, interval: Duration) -> anyhow::Result<f64> {
    let mut command = program::cyclictest(context, 1, interval);
    command.args(["-D", &SECONDS.to_string()]);
    let (thread, _) = program::cyclictest_thread(context, command)?;
    thread["cycles"]
        .as_f64()
        .context("no cycles in the JSON of cyclictest")
}

fn accounted(count: f64, overruns: f64, cycles: f64) -> bool {
    (count + overruns - cycles).abs() <= cycles * UNACCOUNTED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cycle_is_a_sample_or_an_overrun() {
        assert!(accounted(29_000.0, 1_000.0, 30_000.0));
        assert!(accounted(29_000.0, 800.0, 30_000.0));
        assert!(!accounted(29_000.0, 0.0, 30_000.0));
        assert!(!accounted(30_000.0, 1_000.0, 30_000.0));
    }
}
