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
use crate::one_shot::{grub, systemd_boot};

const DROP_INS: &str = "/etc/default/grub.d";
const DROP_IN: &str = "/etc/default/grub.d/99-punctual.cfg";
const ENTRIES: [&str; 3] = [
    "/boot/loader/entries",
    "/efi/loader/entries",
    "/boot/efi/loader/entries",
];
/// Our entry.
const NAME: &str = "punctual.conf";
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
        let mut all = ENTRIES.iter().flat_map(|directory| entries(sys, directory));
        let what = match (all.next(), &survey.kernel_release) {
            (Some(_), Some(release)) => {
                format!("no boot loader entry is of the running kernel, {release}")
            }
            _ => "found no boot loader configuration that can be edited".to_owned(),
        };
        plan.warnings.push(format!(
            "{what}: add the arguments to the kernel command line yourself"
        ));
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
    let all = [is_release, names_release].iter().find_map(|names| {
        ENTRIES.iter().find_map(|directory| {
            let texts = entries(sys, directory).filter(|text| starts(text, release, *names));
            let texts: Vec<String> = texts.collect();
            (!texts.is_empty()).then_some((*directory, texts))
        })
    });
    let (directory, texts) = all?;
    let Some(text) = running(texts, survey.cmdline.as_deref()) else {
        plan.loader = Some(BootLoader::LoaderEntries);
        plan.warnings.push(format!(
            "nothing would be written: several boot loader entries start {release}, with other arguments each, and none is seen to be the \
             running one by /proc/cmdline"
        ));
        return Some(());
    };
    plan.loader = Some(BootLoader::LoaderEntries);
    let by_grub = !systemd_boot::started_machine(sys) && sys.exists("/etc/default/grub");
    if by_grub && grub::could_start(sys, directory, NAME) {
        plan.warnings.push(format!(
            "nothing would be written: GRUB could start {NAME} at every boot, since it has no saved default that names another entry in \
             {directory}; first choose the present entry as the default, with `grub2-set-default ID` and GRUB_DEFAULT=saved"
        ));
        return Some(());
    }
    if !by_grub && systemd_boot::becomes_default(sys, NAME) {
        plan.warnings.push(format!(
            "nothing would be written: the boot loader sorts {NAME} before its other entries, and no default is set \
             that names another one, so it would be started at every boot; first choose the present entry as the \
             default, with `bootctl set-default ID` or `default ID` in loader/loader.conf"
        ));
        return Some(());
    }
    let path = format!("{directory}/{NAME}");
    plan.files = vec![BootFile {
        old: content(sys, &path),
        new: with_arguments(&text, plan),
        path,
    }];
    plan.next = vec![
        format!("bootctl set-oneshot {NAME}   (the next boot only; with GRUB: grub2-reboot)"),
        "reboot".to_owned(),
    ];
    Some(())
}

/// Returns the entry that was started, of those of one kernel: a distribution may keep several systems with it, told apart by their
/// arguments (`init=` of NixOS).
fn running(mut texts: Vec<String>, cmdline: Option<&str>) -> Option<String> {
    let options = |text: &String| -> Vec<String> {
        let lines = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("options"));
        lines
            .flat_map(str::split_whitespace)
            .map(str::to_owned)
            .collect()
    };
    if let [first, rest @ ..] = texts.as_slice()
        && rest.iter().any(|text| options(text) != options(first))
    {
        let given: Vec<&str> = cmdline?.split_whitespace().collect();
        texts.retain(|text| {
            let own = options(text);
            own.iter().all(|word| given.contains(&word.as_str()))
        });
        let all: std::collections::BTreeSet<_> = texts.iter().map(options).collect();
        if all.len() > 1 {
            return None;
        }
    }
    texts.into_iter().next()
}

/// Reads the entries of a directory that are not ours.
fn entries(sys: &SysRoot, directory: &str) -> impl Iterator<Item = String> {
    let names = sys.names(directory).unwrap_or_default();
    names
        .into_iter()
        .filter(|name| name.ends_with(".conf") && !name.starts_with("punctual"))
        .filter_map(move |name| content(sys, &format!("{directory}/{name}")))
}

/// Whether an entry starts the kernel `release`: `names` says it of its version or of a part of its image's path. A unified image
/// without options has them in itself, where nothing can be added.
fn starts(entry: &str, release: &str, names: fn(&str, &str) -> bool) -> bool {
    let has = |key: &str| {
        let mut keys = entry
            .lines()
            .filter_map(|line| line.split_whitespace().next());
        keys.any(|of| of == key)
    };
    if has("efi") && !has("options") {
        return false;
    }
    entry.lines().any(|line| {
        let (key, value) = line
            .trim()
            .split_once(char::is_whitespace)
            .unwrap_or_default();
        match key {
            "version" => names(value.trim(), release),
            "linux" | "efi" => value.trim().split('/').any(|part| names(part, release)),
            _ => false,
        }
    })
}

/// Whether a text is a release or an image that is called after it, and no more.
fn is_release(text: &str, release: &str) -> bool {
    text.strip_prefix("vmlinuz-").unwrap_or(text) == release
}

/// Whether a release stands in a text, and not one that begins or ends like it:
/// `HASH-linux-6.6.30-bzImage.efi`, `Generation 12 NixOS (Linux 6.6.30)`.
fn names_release(text: &str, release: &str) -> bool {
    text.match_indices(release).any(|(at, _)| {
        let (before, rest) = text.split_at(at);
        let after = rest.strip_prefix(release).unwrap_or_default();
        let begins = !before.ends_with(|c: char| c.is_alphanumeric() || c == '.');
        let image = after.strip_suffix(".efi").unwrap_or(after);
        let ends = matches!(image, "" | "-bzImage" | "-Image") || after.starts_with([')', ' ']);
        begins && ends
    })
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
            // With it the copy could come before the entry that it is of.
            "sort-key" => {}
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
