// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Machines in text files, and back.

use punctual_host::{Archive, Machine, Scope};
use punctual_model::Diagnosis;
use punctual_sys::SysRoot;

use super::common::{MACHINES, archive, unpacked};

#[test]
fn an_archive_is_read_as_it_was_written() {
    for name in MACHINES {
        let archive = archive(name);
        let again: Archive = archive.to_string().parse().unwrap();
        assert!(again == archive, "{name}");
    }
}

#[test]
fn an_archive_that_is_unpacked_and_read_again_is_the_same_machine() {
    for name in MACHINES {
        let archive = archive(name);
        let (sys, _dir) = unpacked(&archive);
        let taken = Machine::take(&sys, &Scope::Everything);
        for (path, reading) in archive.machine().under("/") {
            // Root may read everything below a directory of its own, also what was refused there. Only one CPU's registers
            // are read.
            if let Ok(was) = reading
                && !path.starts_with("/dev/cpu/")
            {
                let read = taken.read(path).map(str::trim);
                assert_eq!(read, Ok(was.trim()), "{name}: {path}");
            }
        }
        let facts = punctual_host::inspect(&sys);
        assert!(
            facts.kernel_release.is_some() && facts.cpu_count() > 1,
            "{facts:?}"
        );
    }
}

#[test]
fn a_capture_of_this_machine_is_judged_as_the_machine_is() {
    let machine = Machine::take(&SysRoot::live(), &Scope::Everything);
    let host = punctual_host::inspect(&SysRoot::live());
    let text = Archive::of(&machine).to_string();
    let captured: Archive = text.parse().unwrap();
    let live = punctual_host::diagnose(&machine, host.clone(), None);
    let there = punctual_host::diagnose(&captured.machine(), host, None);
    // A capture leaves out whose programs run, and puts them in the root of the cgroups.
    let own = [
        "other-real-time",
        "rt-group-denied",
        "cpus-allowed",
        "group-quota",
    ];
    let told = |diagnosis: &Diagnosis| -> Vec<_> {
        let rules = diagnosis.verdicts.iter();
        rules
            .filter(|v| !own.contains(&v.rule.id.as_str()))
            .map(|v| (v.rule.id.clone(), v.outcome))
            .collect()
    };
    assert_eq!(told(&live), told(&there));
}

#[test]
fn a_capture_of_this_machine_tells_nothing_of_whose_it_is() {
    let machine = Machine::take(&SysRoot::live(), &Scope::Everything);
    let text = Archive::of(&machine).to_string();
    assert!(text.len() < 256 << 10, "{} bytes", text.len());
    for secret in [
        "/proc/sys/kernel/hostname",
        "/etc/machine-id",
        "/proc/sys/kernel/random/boot_id",
    ] {
        let Ok(secret) = std::fs::read(secret) else {
            continue;
        };
        let secret = String::from_utf8_lossy(&secret).trim().to_owned();
        // A name as short as `vm` is part of other words.
        assert!(secret.len() < 6 || !text.contains(&secret), "{secret}");
    }
    for net in std::fs::read_dir("/sys/class/net").unwrap().flatten() {
        let address = std::fs::read(net.path().join("address")).unwrap_or_default();
        let address = String::from_utf8_lossy(&address).trim().to_owned();
        assert!(address.len() < 17 || address.starts_with("00:00:00") || !text.contains(&address));
    }
}
