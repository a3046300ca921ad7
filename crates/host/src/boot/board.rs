// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Boards that boot by U-Boot: where their kernel arguments are.
//!
//! Nothing is edited here. These loaders have no entry of ours that could be chosen once, and a board that does not boot is mended
//! with a serial line; so the file, the line and the words are named, and a person adds them.

use punctual_model::BootPlan;
use punctual_sys::SysRoot;

use super::place::content;

/// Debian's u-boot-menu, which writes extlinux.conf.
const MENU: &str = "/etc/default/u-boot";

/// Armbian's settings, which its boot script reads.
const ARMBIAN: &str = "/boot/armbianEnv.txt";

/// Entries as syslinux has them: Jetson, and what U-Boot calls distro boot.
const EXTLINUX: [&str; 2] = ["/boot/extlinux/extlinux.conf", "/extlinux/extlinux.conf"];

/// Boot scripts of U-Boot, compiled: their source is elsewhere.
const SCRIPTS: [&str; 2] = ["/boot/boot.scr", "/boot/firmware/boot.scr"];

/// Says what is to be added to which file, where the board has one.
pub(super) fn by_hand(plan: &mut BootPlan, sys: &SysRoot) -> Option<()> {
    let words: Vec<&str> = plan
        .needed()
        .map(|argument| argument.word.as_str())
        .collect();
    let words = words.join(" ");
    let extlinux = || {
        EXTLINUX
            .iter()
            .find_map(|path| Some((*path, content(sys, path)?)))
    };
    let mut next = if sys.exists(MENU) {
        vec![
            format!("add to U_BOOT_PARAMETERS in {MENU}: {words}"),
            "u-boot-update".to_owned(),
        ]
    } else if sys.exists(ARMBIAN) {
        vec![format!("add to the line extraargs= in {ARMBIAN}: {words}")]
    } else if let Some((path, text)) = extlinux() {
        let label = default_label(&text)?;
        vec![
            format!(
                "copy the entry LABEL {label} in {path} under another label, to boot it if the changed one fails"
            ),
            format!("add to the APPEND line of LABEL {label} in {path}: {words}"),
        ]
    } else {
        let script = SCRIPTS.iter().find(|path| sys.exists(path))?;
        vec![format!(
            "add to bootargs in the source of {script}, or by fw_setenv in U-Boot's environment: {words}"
        )]
    };
    next.push("reboot".to_owned());
    plan.next = next;
    plan.warnings.push(
        "U-Boot's configuration is not edited by this program: the steps are yours".to_owned(),
    );
    Some(())
}

/// Returns the label that boots: the default, else the only one.
fn default_label(text: &str) -> Option<String> {
    let value = |line: &str, key: &str| {
        let (word, rest) = line.trim().split_once(char::is_whitespace)?;
        word.eq_ignore_ascii_case(key)
            .then(|| rest.trim().to_owned())
    };
    let labels: Vec<String> = text
        .lines()
        .filter_map(|line| value(line, "label"))
        .collect();
    let default = text.lines().find_map(|line| value(line, "default"));
    match (default, labels.as_slice()) {
        (Some(default), labels) if labels.contains(&default) => Some(default),
        (_, [first, ..]) => Some(first.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_label_that_boots_is_the_default_or_the_first() {
        let jetson = "TIMEOUT 30\nDEFAULT primary\n\nLABEL backup\n  APPEND x\nLABEL primary\n      APPEND ${cbootargs}\n";
        assert_eq!(default_label(jetson).as_deref(), Some("primary"));
        assert_eq!(
            default_label("default gone\nlabel l0\n").as_deref(),
            Some("l0")
        );
        assert_eq!(default_label("timeout 3\n"), None);
    }
}
