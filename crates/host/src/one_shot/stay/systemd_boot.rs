// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! systemd-boot: `kernel-install` copies a kernel to the boot partition and makes its entry (kernel-install(8)).

use punctual_model::KernelInstallPlan;
use punctual_sys::SysRoot;

use super::super::pieces::Step;
use super::super::systemd_boot::{default_choice, encoded, selected, variable};
use super::super::{content, refusal, running, tools};
use super::{StayInitrd, StayWish};

/// Adds what makes the entry, and what keeps or sets the default.
pub(super) fn add(
    sys: &SysRoot,
    wish: &StayWish,
    place: Option<&str>,
    steps: &mut Vec<Step>,
    plan: &mut KernelInstallPlan,
) {
    let Some(place) = place else {
        plan.refusals.push(refusal(
            "systemd-boot started the machine, but its entries cannot be found".to_owned(),
            "mount the boot partition",
        ));
        return;
    };
    let Some(program) = tools::find(sys, "kernel-install") else {
        plan.refusals.push(refusal(
            "the machine has no kernel-install, which makes systemd-boot's entries".to_owned(),
            "install systemd's, or boot the kernel with `punctual kernel install-once`",
        ));
        return;
    };
    let release = &wish.release;
    let words = |words: &[&str]| {
        words
            .iter()
            .map(|&word| word.to_owned())
            .collect::<Vec<_>>()
    };
    let image = format!("/boot/vmlinuz-{release}");
    let mut make = words(&[&program, "add", release, &image]);
    if wish.initrd != StayInitrd::None {
        let initrd = steps.iter().rev().find_map(|step| match step {
            Step::Copy { to, .. } if to.contains("initrd") => Some(to.clone()),
            Step::Tool { owns, .. } => owns.first().cloned(),
            _ => None,
        });
        make.extend(initrd);
    }
    let owns = vec![
        format!("{place}/loader/entries/*-{release}*.conf"),
        format!("{place}/*/{release}"),
    ];
    let owns: Vec<String> = owns
        .into_iter()
        .flat_map(|pattern| match pattern.ends_with(".conf") {
            // With and without tries that are counted; another release may begin like this one.
            true => vec![
                pattern.replace("*.conf", ".conf"),
                pattern.replace("*.conf", "+*.conf"),
            ],
            false => vec![pattern],
        })
        .collect();
    if let Some(there) = owns.iter().find_map(|path| tools::owned(sys, path).pop()) {
        let hint = "is this release installed already? Move that away";
        plan.refusals
            .push(refusal(format!("{there} already exists"), hint));
    }
    steps.push(Step::Tool {
        make,
        unmake: words(&[&program, "remove", release]),
        owns,
        scratch: format!("/var/tmp/punctual-{}-entry", wish.id),
        what: "systemd-boot's entry",
    });
    name_default(sys, wish, place, steps, plan);
}

/// The newest entry is the default unless one is named.
fn name_default(
    sys: &SysRoot,
    wish: &StayWish,
    place: &str,
    steps: &mut Vec<Step>,
    plan: &mut KernelInstallPlan,
) {
    let chosen = default_choice(sys);
    let entry = |name: &str| sys.exists(&format!("{place}/loader/entries/{name}"));
    let loader = content(sys, &format!("{place}/loader/loader.conf")).unwrap_or_default();
    let named = loader
        .lines()
        .filter_map(|line| line.trim().strip_prefix("default"))
        .map(str::trim)
        .any(entry);
    if !wish.default && (chosen.is_some() || named) {
        return;
    }
    let own = selected(sys);
    let wanted = match wish.default {
        false => own,
        true => own.zip(running(sys)).and_then(|(own, running)| {
            let token = own.strip_suffix(&format!("-{running}.conf"))?;
            Some(format!("{token}-{}.conf", wish.release))
        }),
    };
    let Some(wanted) = wanted else {
        let hint = "name the default with `bootctl set-default`, and install the kernel then";
        plan.refusals.push(refusal(
            "which entry is systemd-boot's default cannot be told from the firmware's variables"
                .to_owned(),
            hint,
        ));
        return;
    };
    let path = variable("LoaderEntryDefault");
    let old = sys.read_up_to(&path, 64 << 10).ok().map(|(bytes, _)| bytes);
    steps.push(Step::Variable {
        path,
        old,
        new: encoded(&wanted),
    });
    plan.default_named = Some(wanted);
}
