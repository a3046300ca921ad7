// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! GRUB: whether a one-shot boot works on this machine, and what is written for it.
//!
//! The `grub.cfg` of `grub-mkconfig` takes `next_entry` out of the environment, saves that, and only then shows or
//! starts an entry; at its end it reads `custom.cfg`, where the candidate's entry goes. So `grub.cfg` itself is never
//! changed, and no `update-grub` is needed. GRUB saves by writing into the blocks of the file `grubenv`: it cannot
//! on a file system that copies on write, and not through LVM or RAID.

use punctual_model::{OneShotFallback, OneShotRefusal};
use punctual_sys::SysRoot;

use super::env_block::{EnvBlock, MOST};
use super::script::{Since, sets_default};
use super::{ENTRY, content, fallback, refusal};
use crate::mounts::{Mount, Under};

const DIRECTORIES: [&str; 2] = ["/boot/grub", "/boot/grub2"];
/// File systems whose blocks GRUB writes into.
const WRITABLE: [&str; 6] = ["ext2", "ext3", "ext4", "msdos", "vfat", "xfs"];
/// The variable that names the entry of every boot.
const SAVED: &str = "saved_entry";
/// The variable that names the entry of the next boot.
pub(super) const CHOICE: &str = "next_entry";
/// The variable that says that the choice could not be cleared.
const FAILED: &str = "punctual_failed";

/// A machine that GRUB starts.
#[derive(Clone, Debug)]
pub(super) struct Grub {
    /// `/boot/grub`.
    pub(super) directory: &'static str,
    config: String,
}

/// How GRUB starts the machine's own kernel.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Stock {
    /// What finds the file system: `insmod ext2`, `set root=...`, `search ...`.
    finds: Vec<String>,
    /// `linux`, or its word for other firmware.
    command: String,
    /// What stands before the kernel's file name: `/boot` or nothing.
    prefix: String,
}

/// Whether GRUB could start an entry `own` of loader entries in `directory` at every boot: it sorts them by name, and starts the first
/// unless its default names one that is there.
pub(crate) fn could_start(sys: &SysRoot, directory: &str, own: &str) -> bool {
    let Some(grub) = Grub::find(sys) else {
        return false;
    };
    let mut code = grub.code();
    if !grub.config.is_empty() && !code.clone().any(|line| line.contains("blscfg")) {
        return false;
    }
    let heeds = code.any(|line| line == format!("set default=\"${{{SAVED}}}\""));
    let block = sys.read_up_to(&grub.environment(), MOST).ok();
    let block = block.and_then(|(bytes, _)| EnvBlock::parse(&bytes).ok());
    let saved = block.and_then(|block| block.value(SAVED));
    let saved = saved.map(|id| format!("{}.conf", id.trim_end_matches(".conf")));
    let is_other = |file: String| {
        file != own && !file.contains('/') && sys.exists(&format!("{directory}/{file}"))
    };
    !(heeds && saved.is_some_and(is_other))
}

impl Grub {
    /// Returns GRUB's files, if there are any.
    pub(super) fn find(sys: &SysRoot) -> Option<Self> {
        let exists = |directory: &&str| sys.exists(&format!("{directory}/grub.cfg"));
        let directory = DIRECTORIES.into_iter().find(exists)?;
        let config = content(sys, &format!("{directory}/grub.cfg")).unwrap_or_default();
        Some(Self { directory, config })
    }

    /// Returns the path of the environment.
    pub(super) fn environment(&self) -> String {
        format!("{}/grubenv", self.directory)
    }

    /// Returns the path of the file that gets the entry.
    pub(super) fn custom(&self) -> String {
        format!("{}/custom.cfg", self.directory)
    }

    /// Says what stands in the way.
    pub(super) fn refusals(&self, sys: &SysRoot, release: Option<&str>) -> Vec<OneShotRefusal> {
        let mut all = Vec::new();
        let config = format!("{}/grub.cfg", self.directory);
        if self.config.is_empty() {
            let hint = "run it with sudo: only root may read it";
            all.push(refusal(format!("{config} cannot be read"), hint));
            return all;
        }
        let code = self.code();
        let heeds = |word: &str| code.clone().any(|line| line.contains(word));
        if !(heeds("load_env") && heeds("${next_entry}") && heeds("save_env next_entry")) {
            all.push(refusal(
                format!("{config} ignores next_entry: it never loads, uses and clears it"),
                "generate it with grub-mkconfig of GRUB 2 (update-grub), or boot the kernel by hand once",
            ));
        }
        if !heeds("/custom.cfg") {
            all.push(refusal(
                format!("{config} does not read {}", self.custom()),
                "make /etc/grub.d/41_custom executable, then run update-grub",
            ));
        }
        all.extend(self.overrides(sys));
        if self.stock(sys, release).is_none() {
            let (reason, hint) = if code.clone().any(|line| line.starts_with("blscfg")) {
                (
                    "GRUB takes its entries from loader/entries here (blscfg), where Punctual makes no one-shot entry",
                    "add an entry there and choose it with grub2-reboot",
                )
            } else {
                (
                    "grub.cfg has no entry with a kernel in /boot that shows how GRUB finds it",
                    "run update-grub, and check which kernels it finds",
                )
            };
            all.push(refusal(reason.to_owned(), hint));
        }
        all.extend(self.not_writable(sys));
        all
    }

    /// Says what makes another entry the default once the choice has been taken.
    fn overrides(&self, sys: &SysRoot) -> Option<OneShotRefusal> {
        let custom = self.custom();
        // With our entry in it, it is refused for that.
        let own = content(sys, &custom).filter(|text| !text.contains(ENTRY));
        let own = own.and_then(|text| sets_default(&text, Since::Start));
        let (path, default) = match own {
            Some(default) => (custom, default),
            None => {
                let config = format!("{}/grub.cfg", self.directory);
                (config, sets_default(&self.config, Since::Choice)?)
            }
        };
        Some(refusal(
            format!("{path} sets default to {default}, which overrides {CHOICE}"),
            "set GRUB_DEFAULT in /etc/default/grub instead, then run update-grub",
        ))
    }

    /// Says why GRUB could not write its environment.
    fn not_writable(&self, sys: &SysRoot) -> Option<OneShotRefusal> {
        let env = self.environment();
        let because = |reason: String, hint: &str| {
            Some(refusal(
                format!("GRUB cannot clear the choice before it boots: {reason}"),
                hint,
            ))
        };
        let Some(mount) = Mount::of(sys, &self.real(sys)) else {
            let reason = format!("the file system of {env} is unknown");
            return because(reason, "look at /proc/self/mountinfo");
        };
        let plain = "give /boot a partition of its own with ext4, no LVM and no RAID";
        let Mount { kind, source, .. } = &mount;
        if !WRITABLE.contains(&kind.as_str()) {
            let reason = format!("{env} is on {kind} ({source}), which GRUB cannot write");
            return because(reason, plain);
        }
        match mount.under(sys) {
            Under::Plain => {}
            Under::Layered(what) => {
                let reason =
                    format!("{env} is on {what} ({source}), through which GRUB cannot write");
                return because(reason, plain);
            }
            Under::Unknown => {
                let reason =
                    format!("{env} is on {source}, about which the kernel reports nothing");
                return because(reason, "is this a container? Run it on the machine itself");
            }
        }
        let bytes = match sys.read_up_to(&env, MOST) {
            Ok((bytes, _)) => bytes,
            Err(err) if err.is_missing() => return None,
            Err(err) => return because(err.to_string(), "run it with sudo"),
        };
        match EnvBlock::parse(&bytes) {
            Ok(_) => None,
            Err(why) => because(
                format!("{env} is not an environment block: {why}"),
                "move it away and make a new one with grub-editenv - create",
            ),
        }
    }

    /// Returns where the environment really is: on some EFI machines a link leads to another file system.
    fn real(&self, sys: &SysRoot) -> String {
        let env = self.environment();
        let target = std::fs::read_link(sys.full(&env)).ok();
        match target.as_deref().and_then(std::path::Path::to_str) {
            None => env,
            Some(target) if target.starts_with('/') => target.to_owned(),
            Some(target) => {
                let mut parts: Vec<&str> = self.directory.split('/').collect();
                for part in target.split('/') {
                    match part {
                        ".." => drop(parts.pop()),
                        "." | "" => {}
                        part => parts.push(part),
                    }
                }
                parts.join("/")
            }
        }
    }

    fn code(&self) -> impl Iterator<Item = &str> + Clone {
        let lines = self.config.lines().map(str::trim);
        lines.filter(|line| !line.starts_with('#'))
    }

    /// Finds how the running kernel is started, or else the first one.
    fn stock(&self, sys: &SysRoot, release: Option<&str>) -> Option<Stock> {
        let mut all: Vec<(Stock, bool)> = Vec::new();
        let mut finds: Vec<String> = Vec::new();
        for line in self.code() {
            let mut words = line.split_whitespace();
            match words.next().unwrap_or_default() {
                "menuentry" => finds.clear(),
                "insmod" => finds.push(line.to_owned()),
                "set" if words.next().is_some_and(|word| word.starts_with("root=")) => {
                    finds.push(line.to_owned());
                }
                "search" => {
                    // Of one with hints and one without, which is last, the latter always works.
                    finds.retain(|line| !line.starts_with("search"));
                    finds.push(line.to_owned());
                }
                command @ ("linux" | "linuxefi" | "linux16") => {
                    let Some((prefix, name)) = words.next().and_then(|path| path.rsplit_once('/'))
                    else {
                        continue;
                    };
                    if !sys.exists(&format!("/boot/{name}")) {
                        continue;
                    }
                    let stock = Stock {
                        finds: finds.clone(),
                        command: command.to_owned(),
                        prefix: prefix.to_owned(),
                    };
                    let runs = release.is_some_and(|release| name.ends_with(release));
                    all.push((stock, runs));
                }
                _ => {}
            }
        }
        let runs = all.iter().position(|(_, runs)| *runs);
        (!all.is_empty()).then(|| all.swap_remove(runs.unwrap_or(0)).0)
    }

    /// Returns what `grub.cfg` sets `default` to where nothing was chosen, as it stands between double quotes.
    fn default(&self) -> &str {
        let values = self.code().filter_map(|line| {
            let value = line.strip_prefix("set default=")?;
            let inside = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
            let literal = inside('\'').filter(|value| !value.contains('$'));
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.${}".contains(c);
            let bare = value.chars().all(plain).then_some(value);
            let value = inside('"').or(literal).or(bare)?;
            let is_other = !value.is_empty() && value != format!("${{{CHOICE}}}");
            (is_other && !value.contains(['"', '\\'])).then_some(value)
        });
        values.last().unwrap_or("0")
    }

    /// Returns what `custom.cfg` gets for the candidate.
    pub(super) fn entry(&self, sys: &SysRoot, wanted: &Entry<'_>) -> Option<String> {
        let stock = self.stock(sys, wanted.running)?;
        let kernel = format!("{}{}", stock.prefix, wanted.kernel);
        let suffix = stock.command.trim_start_matches("linux");
        let words: Vec<String> = wanted.arguments.iter().map(|word| quoted(word)).collect();
        let mut lines = vec![
            "# Written by `punctual kernel install-once`; `punctual kernel install-once --revert` removes it.".to_owned(),
            format!("if [ \"${{{FAILED}}}\" ]; then"),
            format!("  set default=\"{}\"", self.default()),
            "fi".to_owned(),
            format!("menuentry 'punctual, one boot: {}' --id '{ENTRY}' {{", wanted.release),
        ];
        lines.extend(stock.finds.iter().map(|line| format!("  {line}")));
        lines.extend([
            format!("  {CHOICE}="),
            format!("  load_env --skip-sig {CHOICE}"),
            format!("  if [ \"${{{CHOICE}}}\" = \"{ENTRY}\" ]; then"),
            "    echo 'punctual: the choice of this kernel could not be cleared; it is not started'".to_owned(),
            // All is read again, now with the machine's default: `fallback` takes no names.
            format!("    {FAILED}=1"),
            format!("    export {FAILED}"),
            "    configfile $prefix/grub.cfg".to_owned(),
            "  else".to_owned(),
            format!("    if {} {} {}; then", stock.command, quoted(&kernel), words.join(" ")),
        ]);
        match wanted.initrd {
            None => lines.push("      true".to_owned()),
            Some(initrd) => {
                let initrd = quoted(&format!("{}{initrd}", stock.prefix));
                lines.extend([
                    format!("      if initrd{suffix} {initrd}; then"),
                    "        true".to_owned(),
                    "      else".to_owned(),
                    "        reboot".to_owned(),
                    "      fi".to_owned(),
                ]);
            }
        }
        lines.extend(["    else", "      reboot", "    fi", "  fi", "}", ""].map(str::to_owned));
        Some(lines.join("\n"))
    }

    /// Says what brings the machine back when it does not even come to the kernel.
    pub(super) fn fallbacks(&self) -> Vec<OneShotFallback> {
        vec![
            fallback(
                "GRUB cannot clear the choice",
                Some(format!(
                    "the candidate is not started; GRUB goes on with its default, {}",
                    self.default()
                )),
            ),
            fallback(
                "the image or the initial RAM file system cannot be loaded",
                Some("GRUB restarts the machine; the choice is already cleared".to_owned()),
            ),
        ]
    }
}

/// A candidate as GRUB sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    pub(super) release: &'a str,
    /// Release of the running kernel.
    pub(super) running: Option<&'a str>,
    /// Path below `/boot`, with its slash.
    pub(super) kernel: &'a str,
    pub(super) initrd: Option<&'a str>,
    pub(super) arguments: &'a [String],
}

/// Writes a word so that GRUB takes it as it is. It has neither quotes nor backslashes.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./=,:@%+-".contains(c);
    match word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{word}'"),
    }
}
