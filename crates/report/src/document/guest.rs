// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Kernels in a virtual machine of our own.

use punctual_model::{Guest, GuestBoot, GuestTime};

use super::facts::machine_facts;
use super::parts::{Block, Document, Tone};
use super::runs;
use crate::number::span;

/// What virtual time is, wherever a figure of it is shown.
pub(crate) const VIRTUAL: &str = "virtual time: all times are instruction counts";

impl Document {
    /// What a kernel said of itself, and whether it is what was asked for.
    pub fn of_guest_boot(boot: &GuestBoot) -> Self {
        let fact = |name: &str, said: String| (name.to_owned(), said);
        let mut facts = vec![fact("Image", boot.kernel.clone())];
        facts.extend(machine_facts(&boot.host));
        facts.push(fact("Arguments", boot.command_line.clone()));
        if !boot.not_mounted.is_empty() {
            facts.push(fact("Lacking", boot.not_mounted.join(", ")));
        }
        let ready = boot.ready_ns.map_or_else(|| "-".to_owned(), span);
        let time = format!(
            "{}, seed {}, agent {}; ready after {ready}, ended after {} by this machine's clock, ready after {} \
             by the guest's",
            boot.machine,
            boot.seed,
            boot.agent,
            span(boot.took_ns),
            span(boot.guest_ready_ns),
        );
        facts.push(fact("Guest", time));
        let checks = Block::items(boot.checks.iter().map(runs::check));
        let blocks = vec![Block::Facts(facts), checks];
        let release = boot.host.kernel_release.as_deref().unwrap_or("a kernel");
        let (tone, word, sentence) = match boot.valid {
            true => (
                Tone::Good,
                "As asked",
                format!("{release} booted, every check passed"),
            ),
            false => (
                Tone::Bad,
                "NOT as asked",
                "a check of the guest did not pass".to_owned(),
            ),
        };
        Self::of("Boot of a kernel", blocks).answering(tone, word, sentence)
    }
}

/// The first line of what is in virtual time.
pub(crate) const HEADING: &str = "VIRTUAL TIME: all times are instruction counts of the software path, no latency of \
                                  any hardware";

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
    let nodes = guest.nodes.map_or_else(String::new, |nodes| {
        format!(" in {nodes} nodes (topology only: memory of all nodes is equally far)")
    });
    let unpacked = if guest.unpacked {
        ", unpacked before it began"
    } else {
        ""
    };
    format!(
        "{}{unpacked}; {time}; {} CPU, {} MB{nodes}, seed {}{agent}; {}",
        guest.kernel,
        guest.cpus,
        guest.memory_bytes >> 20,
        guest.seed,
        guest.command_line,
    )
}
