// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The configuration that a kernel was built with.

use std::collections::BTreeMap;
use std::io::Read as _;

use punctual_sys::SysRoot;

use super::{Reading, Unread};

/// More than any configuration has: that of Debian's 6.12 has 290 KB.
const LIMIT: usize = 4 << 20;

/// The options that are looked at, without `CONFIG_`. Others are forgotten.
pub(crate) const OPTIONS: &[&str] = &[
    "CPU_ISOLATION",
    "DEBUG_IRQFLAGS",
    "DEBUG_KMEMLEAK",
    "DEBUG_KMEMLEAK_DEFAULT_OFF",
    "DEBUG_LOCK_ALLOC",
    "DEBUG_MUTEXES",
    "DEBUG_OBJECTS",
    "DEBUG_PAGEALLOC",
    "DEBUG_PAGEALLOC_ENABLE_DEFAULT",
    "DEBUG_PLIST",
    "DEBUG_PREEMPT",
    "DEBUG_RT_MUTEXES",
    "DEBUG_RWSEMS",
    "DEBUG_SPINLOCK",
    "DEBUG_STACKOVERFLOW",
    "DEBUG_STACK_USAGE",
    "DEBUG_TIMEKEEPING",
    "DEBUG_VM",
    "DEBUG_WW_MUTEX_SLOWPATH",
    "DYNAMIC_FTRACE",
    "EFI_DISABLE_RUNTIME",
    "FUNCTION_TRACER",
    "GCOV_KERNEL",
    "HIGH_RES_TIMERS",
    "HZ",
    "INIT_ON_FREE_DEFAULT_ON",
    "IRQSOFF_TRACER",
    "IRQ_FORCED_THREADING",
    "KASAN_GENERIC",
    "KASAN_SW_TAGS",
    "KCOV",
    "KCSAN",
    "KFENCE_STATIC_KEYS",
    "KMSAN",
    "LOCKDEP",
    "LOCK_STAT",
    "NO_HZ_FULL",
    "PAGE_POISONING",
    "PREEMPT",
    "PREEMPT_DYNAMIC",
    "PREEMPT_LAZY",
    "PREEMPT_NONE",
    "PREEMPT_RCU",
    "PREEMPT_RT",
    "PREEMPT_TRACER",
    "PREEMPT_VOLUNTARY",
    "PROVE_LOCKING",
    "RCU_BOOST",
    "RCU_EQS_DEBUG",
    "RCU_NOCB_CPU",
    "RCU_NOCB_CPU_DEFAULT_ALL",
    "RT_GROUP_SCHED",
    "RT_GROUP_SCHED_DEFAULT_DISABLED",
    "SCHED_STACK_END_CHECK",
    "SLUB_CPU_PARTIAL",
    "SLUB_DEBUG_ON",
];

/// Where a configuration is looked for; `{release}` stands for the kernel's release.
pub(crate) const PLACES: &[&str] = &[
    "/proc/config.gz",
    "/boot/config-{release}",
    "/lib/modules/{release}/config",
    "/usr/lib/modules/{release}/config",
];

/// The options of a kernel that are looked at.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// The file.
    pub(crate) path: String,
    set: BTreeMap<&'static str, String>,
}

impl Config {
    /// Finds the configuration among `files`.
    pub(crate) fn find(files: &BTreeMap<String, Reading>) -> Option<Self> {
        // The running kernel's own word comes before a file that bears its name.
        let own = files.get_key_value("/proc/config.gz");
        let mut candidates = own.into_iter().chain(files.iter());
        candidates.find_map(|(path, reading)| {
            let text = reading.as_ref().ok().filter(|_| is_config(path))?;
            Some(Self::parse(path, text))
        })
    }

    /// Reads that of the running kernel, whose release is `release`.
    pub(crate) fn of_running(sys: &SysRoot, release: &str) -> Option<Self> {
        PLACES.iter().find_map(|place| {
            let path = place.replace("{release}", release);
            let (bytes, _) = sys.read_up_to(&path, LIMIT).ok()?;
            let text = match path.ends_with(".gz") {
                true => gunzip(&bytes).ok()?,
                false => String::from_utf8_lossy(&bytes).into_owned(),
            };
            Some(Self::parse(&path, &text))
        })
    }

    /// Takes the lines `CONFIG_NAME=value`.
    fn parse(path: &str, text: &str) -> Self {
        let set = text
            .lines()
            .filter_map(|line| {
                let (name, value) = line.strip_prefix("CONFIG_")?.split_once('=')?;
                let known = OPTIONS.binary_search(&name).ok()?;
                Some((*OPTIONS.get(known)?, value.trim().to_owned()))
            })
            .collect();
        Self {
            path: path.to_owned(),
            set,
        }
    }

    /// Whether an option is built in or a module.
    pub(crate) fn has(&self, option: &str) -> bool {
        matches!(self.value(option), Some("y" | "m"))
    }

    /// Returns the value of an option that is set.
    pub(crate) fn value(&self, option: &str) -> Option<&str> {
        debug_assert!(OPTIONS.contains(&option), "{option} is not in the list");
        self.set.get(option).map(String::as_str)
    }

    /// Writes the options as they are in the file.
    pub(crate) fn lines(&self) -> String {
        let lines = self
            .set
            .iter()
            .map(|(name, value)| format!("CONFIG_{name}={value}"));
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Whether a path is that of a configuration.
pub(crate) fn is_config(path: &str) -> bool {
    path == "/proc/config.gz"
        || path.starts_with("/boot/config-")
        || (path.contains("/lib/modules/") && path.ends_with("/config"))
}

/// Unpacks `/proc/config.gz`.
pub(crate) fn gunzip(bytes: &[u8]) -> Reading {
    let mut text = Vec::new();
    let past = u64::try_from(LIMIT).unwrap_or(u64::MAX).saturating_add(1);
    flate2::read::GzDecoder::new(bytes)
        .take(past)
        .read_to_end(&mut text)
        .map_err(|err| Unread::Failed(err.to_string()))?;
    if text.len() > LIMIT {
        return Err(Unread::TooLong { limit: LIMIT });
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_are_sorted_as_the_search_in_them_needs() {
        assert!(OPTIONS.is_sorted());
    }

    #[test]
    fn only_lines_that_set_an_option_count() {
        let text = "# CONFIG_HZ_250 is not set\nCONFIG_HZ=1000\nCONFIG_PREEMPT_RT=y\n\
                    # CONFIG_NO_HZ_FULL is not set\nCONFIG_UNHEARD_OF=y\nCONFIG_DEBUG_VM=n\njunk";
        let config = Config::parse("/proc/config.gz", text);
        assert_eq!(config.value("HZ"), Some("1000"));
        assert!(config.has("PREEMPT_RT") && !config.has("NO_HZ_FULL") && !config.has("DEBUG_VM"));
        assert_eq!(
            config.lines(),
            "CONFIG_DEBUG_VM=n\nCONFIG_HZ=1000\nCONFIG_PREEMPT_RT=y"
        );
    }

    #[test]
    fn a_bomb_is_not_unpacked() {
        use std::io::Write as _;
        let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        for _ in 0..8 {
            bomb.write_all(&vec![b'\n'; 1 << 20]).unwrap();
        }
        let bomb = bomb.finish().unwrap();
        assert!(bomb.len() < 1 << 17, "{}", bomb.len());
        assert_eq!(gunzip(&bomb), Err(Unread::TooLong { limit: LIMIT }));
        assert!(matches!(gunzip(b"no gzip"), Err(Unread::Failed(_))));
    }
}
