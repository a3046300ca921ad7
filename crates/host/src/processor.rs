// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The processor by `/proc/cpuinfo`. x86 has its name there; arm64 has numbers a CPU, which may differ from CPU to CPU.

/// Numbers of designers and of their parts, and the names (Linux arch/arm64/include/asm/cputype.h).
const ARM: &[(u32, &[(u32, &str)])] = &[
    (
        0x41,
        &[
            (0xd03, "Cortex-A53"),
            (0xd04, "Cortex-A35"),
            (0xd05, "Cortex-A55"),
            (0xd07, "Cortex-A57"),
            (0xd08, "Cortex-A72"),
            (0xd09, "Cortex-A73"),
            (0xd0a, "Cortex-A75"),
            (0xd0b, "Cortex-A76"),
            (0xd0c, "Neoverse-N1"),
            (0xd0d, "Cortex-A77"),
            (0xd40, "Neoverse-V1"),
            (0xd41, "Cortex-A78"),
            (0xd42, "Cortex-A78AE"),
            (0xd44, "Cortex-X1"),
            (0xd46, "Cortex-A510"),
            (0xd47, "Cortex-A710"),
            (0xd48, "Cortex-X2"),
            (0xd49, "Neoverse-N2"),
            (0xd4f, "Neoverse-V2"),
            (0xd80, "Cortex-A520"),
            (0xd81, "Cortex-A720"),
        ],
    ),
    (0x4e, &[(0x003, "Denver"), (0x004, "Carmel")]),
];

/// Returns the processor's name, or those of its kinds of CPU with their numbers: `4 x Cortex-A53, 2 x Cortex-A72`.
pub(crate) fn model(cpuinfo: &str) -> Option<String> {
    let value = |names: &[&str]| {
        cpuinfo.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            names
                .contains(&key.trim())
                .then(|| value.trim().to_owned())
                .filter(|v| !v.is_empty())
        })
    };
    // x86; then 32-bit ARM boards, MIPS and POWER, RISC-V.
    value(&["model name", "Hardware", "cpu model", "cpu", "uarch"]).or_else(|| arm(cpuinfo))
}

fn arm(cpuinfo: &str) -> Option<String> {
    let number = |text: &str| u32::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok();
    let mut designer = None;
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for line in cpuinfo.lines() {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        match key.trim() {
            "CPU implementer" => designer = number(value),
            "CPU part" => {
                let (designer, part) = (designer?, number(value)?);
                let parts = ARM.iter().find(|(known, _)| *known == designer);
                let known =
                    parts.and_then(|(_, parts)| parts.iter().find(|(known, _)| *known == part));
                let name = known.map_or_else(
                    || format!("CPU part {part:#x} of implementer {designer:#x}"),
                    |(_, name)| (*name).to_owned(),
                );
                match kinds.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, count)) => *count += 1,
                    None => kinds.push((name, 1)),
                }
            }
            _ => {}
        }
    }
    match kinds.as_slice() {
        [] => None,
        [(only, _)] => Some(only.clone()),
        several => {
            let several = several
                .iter()
                .map(|(name, count)| format!("{count} x {name}"));
            Some(several.collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(part: &str) -> String {
        format!(
            "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: {part}\n\n"
        )
    }

    #[test]
    fn arm_processors_are_named_with_each_kind_of_cpu() {
        assert_eq!(
            model(&cpu("0xd0b").repeat(4)).as_deref(),
            Some("Cortex-A76")
        );
        let both = cpu("0xd03").repeat(4) + &cpu("0xd08").repeat(2);
        assert_eq!(
            model(&both).as_deref(),
            Some("4 x Cortex-A53, 2 x Cortex-A72")
        );
        let new = model(&cpu("0xfff")).unwrap();
        assert_eq!(new, "CPU part 0xfff of implementer 0x41");
        // Some boards say in words what they are.
        let words = format!("Hardware\t: BCM2835\n{}", cpu("0xd08"));
        assert_eq!(model(&words).as_deref(), Some("BCM2835"));
        for odd in [
            "",
            "CPU part\t: 0xd03\n",
            "CPU implementer\t: x\nCPU part\t: 0xd03",
        ] {
            assert_eq!(model(odd), None, "{odd}");
        }
    }
}
