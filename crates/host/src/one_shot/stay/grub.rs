// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! GRUB: `grub-mkconfig` makes the entry of a kernel that lies in `/boot`, and sorts the newest to the front.

use std::fs;

use punctual_model::KernelInstallPlan;
use punctual_sys::SysRoot;

use super::super::env_block::{EnvBlock, MOST};
use super::super::generated::{Expects, OUTPUT};
use super::super::grub::Grub;
use super::super::pieces::{Step, appended};
use super::super::{UNINSTALL, content, refusal, tools};
use super::StayWish;
use super::menu::Menu;

const DEFAULTS: &str = "/etc/default/grub";
const DROP_INS: &str = "/etc/default/grub.d";
/// What the names of our files there begin with: they are read last.
const DROP_IN: &str = "zz-punctual-";
/// What makes `grub.cfg`.
const MAKERS: [&str; 2] = ["grub-mkconfig", "grub2-mkconfig"];

/// Returns the entries that there are, and the default that GRUB's environment has.
pub(super) fn menu(sys: &SysRoot) -> Option<(Menu, Option<String>)> {
    let grub = Grub::find(sys)?;
    let config = content(sys, &format!("{}/grub.cfg", grub.directory))?;
    let block = sys.read_up_to(&grub.environment(), MOST).ok();
    let block = block.and_then(|(bytes, _)| EnvBlock::parse(&bytes).ok());
    let saved = block.and_then(|block| block.value("saved_entry"));
    Some((
        Menu::parse(&config),
        saved.filter(|saved| !saved.is_empty()),
    ))
}

/// Adds what makes the entry, and what keeps or sets the default.
pub(super) fn add(
    sys: &SysRoot,
    wish: &StayWish,
    steps: &mut Vec<Step>,
    plan: &mut KernelInstallPlan,
) {
    let Some(grub) = Grub::find(sys) else {
        return;
    };
    let path = format!("{}/grub.cfg", grub.directory);
    let config = content(sys, &path).filter(|text| !text.is_empty());
    let (Some(config), Some((menu, saved))) = (config, menu(sys)) else {
        let hint = "run it with sudo: only root may read it";
        plan.refusals
            .push(refusal(format!("{path} cannot be read"), hint));
        return;
    };
    if config.lines().any(|line| line.trim().starts_with("blscfg")) {
        plan.refusals.push(refusal(
            "GRUB takes its entries from loader/entries here (blscfg), where Punctual installs no kernel".to_owned(),
            "install it as a package, or boot it with `punctual kernel install-once`",
        ));
        return;
    }
    let Some(maker) = MAKERS.iter().find_map(|name| tools::find(sys, name)) else {
        plan.refusals.push(refusal(
            "the machine has no grub-mkconfig, which makes GRUB's entries".to_owned(),
            "install grub2-common, or make the entry by hand",
        ));
        return;
    };
    let kernel = format!("vmlinuz-{}", wish.release);
    let Some(now) = menu.chosen(saved.as_deref()) else {
        let hint = "run update-grub, and check which kernels it finds";
        plan.refusals
            .push(refusal(format!("{path} has no entries"), hint));
        return;
    };
    let named = menu.chosen_name(saved.as_deref());
    let wanted = match wish.default {
        true => menu.foretold(&wish.release),
        false => Some(menu.lasting(&now)),
    };
    match wanted {
        // It is named already, and stays what it is.
        Some(name) if name == named && !wish.default && !is_named_by_us(sys) => {}
        Some(name) if !name.contains(['\'', '\\']) && !name.contains(char::is_control) => {
            name_default(sys, wish, &maker, &name, steps);
            plan.default_named = Some(name);
        }
        _ => {
            let hint = "name it with GRUB_DEFAULT in /etc/default/grub, run update-grub, and install the kernel then";
            let what = "an entry that can stay the default, or become it, cannot be told from GRUB's entries";
            plan.refusals.push(refusal(what.to_owned(), hint));
        }
    }
    let modified = fs::metadata(sys.full(&path)).and_then(|meta| meta.modified());
    steps.push(Step::Generated {
        path,
        by: vec![maker, "-o".to_owned(), OUTPUT.to_owned()],
        old: config,
        modified: modified.ok(),
        expects: Expects {
            kernel,
            default: (!wish.default).then_some(now.starts),
            saved,
        },
    });
}

/// Whether another kernel's installation has named the default, which goes with it.
fn is_named_by_us(sys: &SysRoot) -> bool {
    let names = sys.names(DROP_INS).unwrap_or_default();
    names.iter().any(|name| name.starts_with(DROP_IN))
        || content(sys, DEFAULTS).is_some_and(|text| text.contains(UNINSTALL))
}

/// Names the default where `grub-mkconfig` reads it last.
fn name_default(sys: &SysRoot, wish: &StayWish, maker: &str, name: &str, steps: &mut Vec<Step>) {
    let added = format!(
        "# Written by `punctual kernel install`; `{UNINSTALL} {}` removes it.\nGRUB_DEFAULT='{name}'\n",
        wish.release
    );
    let what = "GRUB's settings: the default";
    // Debian's reads further files there.
    let reads = content(sys, maker).is_some_and(|text| text.contains("default/grub.d"));
    if reads {
        for path in ["/etc/default", DROP_INS] {
            if !sys.exists(path) {
                steps.push(Step::Directory {
                    path: path.to_owned(),
                });
            }
        }
        steps.push(Step::Text {
            path: format!("{DROP_INS}/{DROP_IN}{}.cfg", wish.id),
            old: None,
            new: added,
            what,
        });
        return;
    }
    let old = content(sys, DEFAULTS);
    steps.push(Step::Text {
        path: DEFAULTS.to_owned(),
        new: appended(old.as_deref(), &added),
        old,
        what,
    });
}
