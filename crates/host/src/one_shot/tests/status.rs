// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is said of a boot afterwards.

use super::*;

#[test]
fn status_tells_a_candidate_from_a_fallback() {
    let bench = Bench::grub(&[]);
    assert_eq!(bench.status().state, OneShotState::None);
    let err = confirm(&bench.sys, &bench.state(), "now")
        .unwrap_err()
        .to_string();
    assert_eq!(err, "no candidate is installed");
    bench.install().unwrap();
    assert_eq!(bench.status().state, OneShotState::Waiting);
    let err = confirm(&bench.sys, &bench.state(), "now")
        .unwrap_err()
        .to_string();
    assert_eq!(err, "this boot is not the candidate's");
    // Up, but it is another build.
    bench.restart("boot-2", "root=UUID=abc punctual.once=abc-1");
    bench.runs(CANDIDATE, "#2 SMP PREEMPT_RT");
    assert_eq!(bench.status().state, OneShotState::OtherKernel);
    let err = confirm(&bench.sys, &bench.state(), "now")
        .unwrap_err()
        .to_string();
    assert!(err.ends_with("another kernel runs"), "{err}");
    bench.runs(CANDIDATE, VERSION);
    let status = bench.status();
    assert_eq!(
        (status.state, status.confirmed),
        (OneShotState::Candidate, None)
    );
    assert!(status.next[0].contains("--confirm, with which the experiment goes on"));
    let confirmed = confirm(&bench.sys, &bench.state(), "2026-01-01T00:11:00Z").unwrap();
    assert_eq!(confirmed.confirmed.unwrap().boot_id, "boot-2");
    assert!(
        confirmed.next[0].contains("brings the machine's own kernel back"),
        "{:?}",
        confirmed.next
    );
    // As `grub-reboot` does it.
    let mut env = env_block::EnvBlock::parse(&bench.read(GRUBENV)).unwrap();
    env.set(CHOICE, Some(ENTRY));
    bench.write(GRUBENV, &env.bytes().unwrap());
    let status = bench.status();
    assert_eq!(status.state, OneShotState::Candidate);
    assert!(
        status.next[0].contains("boots the candidate again"),
        "{:?}",
        status.next
    );
    assert_eq!(
        status.evidence.last().unwrap().says,
        "the candidate is chosen"
    );
    bench.restart("boot-3", "root=UUID=abc");
    bench.runs(STOCK, "#1 SMP PREEMPT_DYNAMIC");
    let status = bench.status();
    assert_eq!(status.state, OneShotState::Done);
    assert_eq!(status.confirmed.unwrap().boot_id, "boot-2");
    assert!(bench.revert().is_complete());
    assert_eq!(bench.status().state, OneShotState::None);
}

#[test]
fn a_fallback_is_told_with_what_the_dead_boot_left() {
    let bench = Bench::grub(&[]);
    bench.write(
        "sys/fs/pstore/dmesg-efi-1",
        b"<0>[1.0] Kernel panic - not syncing: old",
    );
    let old = SystemTime::now() - Duration::from_secs(3600);
    fs::File::open(bench.sys.full("sys/fs/pstore/dmesg-efi-1"))
        .unwrap()
        .set_modified(old)
        .unwrap();
    bench.install().unwrap();
    bench.restart("boot-2", "root=UUID=abc");
    let said = |bench: &Bench| {
        let status = bench.status();
        assert_eq!(status.state, OneShotState::FellBack);
        let all: Vec<String> = status
            .evidence
            .iter()
            .map(|e| format!("{}: {}", e.source, e.says))
            .collect();
        all.join("\n")
    };
    let text = said(&bench);
    assert!(
        text.contains("reason: unknown") && !text.contains("old"),
        "{text}"
    );
    assert!(
        text.contains("/boot/grub/grubenv: the candidate is no longer chosen"),
        "{text}"
    );
    bench.write(
        "var/lib/systemd/pstore/17/001/dmesg.txt",
        b"x\n<0>[    2.29] Kernel panic - not syncing: VFS: Unable to mount root fs\n",
    );
    bench.write("sys/class/watchdog/watchdog0/bootstatus", b"32\n");
    bench.write("sys/class/watchdog/watchdog0/identity", b"i6300ESB timer\n");
    let text = said(&bench);
    assert!(
        text.contains("dmesg.txt: Kernel panic - not syncing: VFS: Unable to mount root fs"),
        "{text}"
    );
    assert!(
        text.contains("the watchdog i6300ESB timer has restarted the machine"),
        "{text}"
    );
    assert!(!text.contains("unknown"), "{text}");
}

#[test]
fn a_choice_that_was_not_heeded_or_was_withdrawn_is_told() {
    let bench = Bench::grub(&[]);
    bench.install().unwrap();
    bench.write("proc/sys/kernel/random/boot_id", b"boot-2");
    assert_eq!(bench.status().state, OneShotState::NotTaken);
    bench.restart("boot-1", "root=UUID=abc");
    assert_eq!(bench.status().state, OneShotState::Withdrawn);
}

#[test]
fn a_tree_that_says_nothing_of_a_boot_gives_no_evidence_of_one() {
    let bench = Bench::grub(&[]);
    bench.install().unwrap();
    for file in ["/proc/sys/kernel/random/boot_id", "/proc/cmdline"] {
        fs::remove_file(bench.sys.full(file)).unwrap();
    }
    let status = bench.status();
    assert_eq!(status.state, OneShotState::Waiting);
    for source in ["boot_id", "/proc/cmdline"] {
        let mut evidence = status.evidence.iter();
        let found = evidence.find(|found| found.source == source).unwrap();
        assert_eq!(found.says, "not known");
    }
}
