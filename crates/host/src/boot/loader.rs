// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Boot loaders: which one there is, and what its files would say.
//!
//! GRUB: `grub-mkconfig` of Debian and its descendants reads `/etc/default/grub.d/*.cfg` after
//! `/etc/default/grub`. Only normal entries get the arguments, so that the recovery entry stays a way
//! back. Loader entries: `loader/entries/*.conf` of the Boot Loader Specification; a copy of the
//! running kernel's entry with a name of its own is chosen once or for good by the user. Raspberry Pi:
//! `cmdline.txt`, one line. Of the files that U-Boot reads it is only said what is to be added where ([`board`]).

use punctual_model::{BootFile, BootLoader, BootPlan};
use punctual_sys::SysRoot;

use super::place::content;
use super::{board, name, words};
use crate::knob::Survey;

const DROP_INS: &str = "/etc/default/grub.d";
const DROP_IN: &str = "/etc/default/grub.d/99-punctual.cfg";
const ENTRIES: [&str; 3] = [
    "/boot/loader/entries",
    "/efi/loader/entries",
    "/boot/efi/loader/entries",
];
/// What the name of a copy ends in.
pub(super) const COPY: &str = ".before-punctual";
const COMMAND_LINES: [&str; 2] = ["/boot/firmware/cmdline.txt", "/boot/cmdline.txt"];

/// Fills in the boot loader, what is to be written, and what is to be done then.
pub(super) fn fill(plan: &mut BootPlan, survey: &Survey, sys: &SysRoot) {
    // A file that is not there is no loader's.
    let done = entry(plan, survey, sys)
        .or_else(|| drop_in(plan, sys))
        .or_else(|| line(plan, sys))
        .or_else(|| board::by_hand(plan, sys));
    if done.is_none() {
        plan.warnings.push(
            "found no boot loader configuration that can be edited: add the arguments to the \
             kernel command line yourself"
                .to_owned(),
        );
    }
    let other = plan
        .arguments
        .iter()
        .filter_map(|argument| match &argument.now {
            punctual_model::ArgumentState::Other { word } => Some(word.clone()),
            _ => None,
        });
    let other: Vec<String> = other.collect();
    if plan.loader == Some(BootLoader::GrubDropIn) && !other.is_empty() {
        plan.warnings.push(format!(
            "the command line already has {}: remove it from /etc/default/grub, or the argument is \
             given twice, and the last one does not always win",
            other.join(" ")
        ));
    }
    let unheeded = plan.needed().filter(|a| a.unheeded.is_some());
    let unheeded: Vec<&str> = unheeded.map(|a| a.word.as_str()).collect();
    if !unheeded.is_empty() {
        plan.warnings.push(format!(
            "the running kernel ignores {}: that needs another kernel",
            unheeded.join(" ")
        ));
    }
}

fn drop_in(plan: &mut BootPlan, sys: &SysRoot) -> Option<()> {
    if !sys.exists("/etc/default/grub") || !sys.exists(DROP_INS) {
        return None;
    }
    let words: Vec<&str> = plan.needed().map(|a| a.word.as_str()).collect();
    let new = format!(
        "# Written by `punctual tune boot apply`, profile {}; `punctual tune boot revert` removes it.\n\
         GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT {}\"\n",
        plan.profile,
        words.join(" ")
    );
    plan.loader = Some(BootLoader::GrubDropIn);
    plan.files = vec![BootFile {
        path: DROP_IN.to_owned(),
        old: content(sys, DROP_IN),
        new,
    }];
    plan.next = vec!["update-grub".to_owned(), "reboot".to_owned()];
    Some(())
}

fn entry(plan: &mut BootPlan, survey: &Survey, sys: &SysRoot) -> Option<()> {
    let release = survey.kernel_release.as_deref()?;
    let (directory, text) = ENTRIES.iter().find_map(|directory| {
        let names = sys.names(directory).ok()?;
        let mut texts = names
            .iter()
            .filter(|name| name.ends_with(".conf") && !name.starts_with("punctual"))
            .filter_map(|name| content(sys, &format!("{directory}/{name}")));
        // The entry that starts the running kernel.
        let fits = |text: &String| {
            text.lines().any(|line| {
                let line = line.trim_start();
                ["version", "linux", "efi"]
                    .iter()
                    .any(|key| line.starts_with(key))
                    && line.contains(release)
            })
        };
        Some((*directory, texts.find(fits)?))
    })?;
    let path = format!("{directory}/punctual.conf");
    plan.loader = Some(BootLoader::LoaderEntries);
    plan.files = vec![BootFile {
        old: content(sys, &path),
        new: with_arguments(&text, plan),
        path,
    }];
    plan.next = vec![
        "bootctl set-oneshot punctual.conf   (the next boot only; with GRUB: grub2-reboot)"
            .to_owned(),
        "reboot".to_owned(),
    ];
    Some(())
}

/// Copies an entry under another title, with the arguments in the place of those of the same name.
fn with_arguments(entry: &str, plan: &BootPlan) -> String {
    let mut options: Vec<String> = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    for line in entry.lines() {
        let (key, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match key {
            // There may be several, which belong together.
            "options" => options.extend(value.split_whitespace().map(str::to_owned)),
            "title" => lines.push(format!(
                "title {} (punctual, {})",
                value.trim(),
                plan.profile
            )),
            _ => lines.push(line.to_owned()),
        }
    }
    lines.push(format!("options {}", merged(&options.join(" "), plan)));
    lines.join("\n") + "\n"
}

/// Puts the arguments behind those of a command line, without what they replace.
fn merged(line: &str, plan: &BootPlan) -> String {
    let replaced = |word: &str| plan.needed().any(|a| name(&a.word) == name(word));
    let kept = words(line).into_iter().filter(|word| !replaced(word));
    let mut all: Vec<&str> = kept.collect();
    all.extend(plan.needed().map(|a| a.word.as_str()));
    // What is init's stays behind all that is the kernel's.
    if let Some((_, init)) = line.split_once(" -- ") {
        all.push("--");
        all.push(init.trim());
    }
    all.join(" ")
}

fn line(plan: &mut BootPlan, sys: &SysRoot) -> Option<()> {
    let (path, old) = COMMAND_LINES
        .iter()
        .find_map(|path| Some((*path, content(sys, path)?)))?;
    plan.loader = Some(BootLoader::CommandLineFile);
    let new = merged(old.trim_end(), plan) + "\n";
    let copy = format!("{path}{COPY}");
    plan.files = vec![
        BootFile {
            old: content(sys, &copy),
            new: old.clone(),
            path: copy,
        },
        BootFile {
            path: path.to_owned(),
            old: Some(old),
            new,
        },
    ];
    plan.next = vec!["reboot".to_owned()];
    Some(())
}
