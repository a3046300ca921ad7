// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Model-specific registers of x86 processors, `/dev/cpu/N/msr` (msr(4)).

use std::os::unix::fs::FileExt as _;
use std::path::Path;

use punctual_model::CpuId;

use crate::{At as _, PathError, SysRoot};

/// `MSR_SMI_COUNT` of Intel processors since Nehalem: system management interrupts since the reset
/// (Intel SDM volume 4, 34H). The count is in the low 32 bits.
const SMI_COUNT: u64 = 0x34;

/// Returns how many system management interrupts `cpu` has taken since its reset.
///
/// # Errors
///
/// Fails when the kernel has no msr driver, it may not be read, or the register does not exist.
pub fn smi_count(sys: &SysRoot, cpu: CpuId) -> Result<u32, PathError> {
    let path = format!("/dev/cpu/{cpu}/msr");
    let file = sys.open(&path)?;
    let mut value = [0; 8];
    file.read_exact_at(&mut value, SMI_COUNT)
        .at("read", Path::new(&path))?;
    let [a, b, c, d, ..] = value;
    Ok(u32::from_le_bytes([a, b, c, d]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_where_the_register_is() {
        let dir = tempfile::tempdir().unwrap();
        let sys = SysRoot::at(dir.path());
        assert!(smi_count(&sys, 3).unwrap_err().is_missing());
        std::fs::create_dir_all(dir.path().join("dev/cpu/3")).unwrap();
        let mut registers = vec![0_u8; 0x34];
        registers.extend([5, 1, 0, 0, 9, 9, 9, 9]);
        std::fs::write(dir.path().join("dev/cpu/3/msr"), registers).unwrap();
        assert_eq!(smi_count(&sys, 3).unwrap(), 261);
    }
}
