// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether there is memory for what is asked.

use punctual_sys::SysRoot;

use crate::error::MeasureError;

/// Part of the available memory that may be asked for, in percent. The rest is for everybody else.
const SHARE: u64 = 80;

/// Refuses `option`, which takes `wanted` bytes, where that is more than most of what is available.
///
/// Where the kernel does not say what is available, the allocation itself will tell.
pub(crate) fn check(sys: &SysRoot, option: &str, wanted: u64) -> Result<(), MeasureError> {
    let Some(available) = available(sys) else {
        return Ok(());
    };
    if wanted <= available / 100 * SHARE {
        return Ok(());
    }
    let (wanted, available) = (megabytes(wanted), megabytes(available));
    Err(MeasureError::Spec {
        option: option.to_owned(),
        reason: format!(
            "takes {wanted} MB, and at most {SHARE} % of the {available} MB available may be taken"
        ),
    })
}

/// Returns how many bytes can be had without taking them from others (`MemAvailable` of proc(5)).
fn available(sys: &SysRoot) -> Option<u64> {
    let text = sys.read("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1_024)
}

const fn megabytes(bytes: u64) -> u64 {
    bytes.div_ceil(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_there_is_is_refused_with_figures() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("proc")).unwrap();
        let sys = SysRoot::at(dir.path());
        check(&sys, "--order 9", u64::MAX).unwrap();
        let text = "MemTotal: 4000 kB\nMemAvailable:    2000000 kB\n";
        std::fs::write(dir.path().join("proc/meminfo"), text).unwrap();
        check(&sys, "--order 9", 1_600_000_000).unwrap();
        let err = check(&sys, "--order 9", 1_700_000_000).unwrap_err();
        assert_eq!(
            err.to_string(),
            "--order 9: takes 1700 MB, and at most 80 % of the 2048 MB available may be taken"
        );
    }
}
