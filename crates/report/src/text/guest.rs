// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Kernels in a virtual machine of our own.

use punctual_model::{Check, CheckStatus, Guest, GuestBoot, GuestTime};

use super::layout::{Column, clean, paragraph, table};
use super::number::span;
use super::words::host;

/// What virtual time is, wherever a figure of it is shown.
pub(crate) const VIRTUAL: &str = "virtual time: all times are instruction counts";

/// Writes what a kernel said of itself, and whether it is what was asked for.
pub fn guest_boot(boot: &GuestBoot) -> String {
    let mut text = String::new();
    if !boot.valid {
        text += "NOT as asked: a check of the guest did not pass\n";
    }
    text += &paragraph("Image", &clean(&boot.kernel));
    text += &host(&boot.host);
    text += &paragraph("Arguments", &clean(&boot.command_line));
    if !boot.not_mounted.is_empty() {
        text += &paragraph("Lacking", &clean(&boot.not_mounted.join(", ")));
    }
    let ready = boot.ready_ns.map_or_else(|| "-".to_owned(), span);
    let time = format!(
        "{}, seed {}, agent {}; ready after {ready}, ended after {} by this machine's clock, ready after {} \
         by the guest's",
        clean(&boot.machine),
        boot.seed,
        clean(&boot.agent.to_string()),
        span(boot.took_ns),
        span(boot.guest_ready_ns),
    );
    text += &paragraph("Guest", &time);
    text + &evidence(boot.checks.iter())
}

/// The first line of what is in virtual time.
pub(crate) const HEADING: &str = "VIRTUAL TIME: all times are instruction counts of the software path, no latency of \
                                  any hardware";

fn evidence<'a>(checks: impl Iterator<Item = &'a Check>) -> String {
    let rows = checks.map(|check| {
        let status = match check.status {
            CheckStatus::Pass => "pass",
            CheckStatus::Fail => "fail",
            CheckStatus::Unknown => "unknown",
        };
        vec![
            status.to_owned(),
            clean(&check.id).into_owned(),
            clean(&check.detail).into_owned(),
        ]
    });
    let header = [
        ("Status", Column::Left),
        ("Check", Column::Left),
        ("Evidence", Column::Text),
    ];
    table(&header, rows.collect())
}

/// Says in which guest a run was done.
pub(crate) fn said_of(guest: &Guest) -> String {
    let time = match (guest.time, guest.instruction_ns) {
        (GuestTime::Real, _) => "KVM, real time".to_owned(),
        (GuestTime::Emulated, _) => "emulated, by the host's clock: no latencies".to_owned(),
        (GuestTime::Virtual, Some(each)) => {
            format!("{VIRTUAL}, {each} each, no latency of any hardware")
        }
        (GuestTime::Virtual, None) => format!("{VIRTUAL}, no latency of any hardware"),
    };
    let agent = guest.agent.as_ref();
    let agent = agent.map_or_else(String::new, |agent| format!(", agent {agent}"));
    format!(
        "{}; {time}; {} CPU, {} MB, seed {}{agent}; {}",
        clean(&guest.kernel),
        guest.cpus,
        guest.memory_bytes >> 20,
        guest.seed,
        clean(&guest.command_line),
        agent = clean(&agent),
    )
}
