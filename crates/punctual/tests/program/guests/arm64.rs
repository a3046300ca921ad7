// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Guests for arm64 on whatever machine this is, and what is refused where they cannot be.
//!
//! `make arm64` gets what they need; `PUNCTUAL_TEST_REQUIRE` calls all of it `arm64`.

use std::fs;
use std::path::{Path, PathBuf};

use super::{check, images, run};
use crate::common::{Home, finish, machine};

/// The file with the agent of arm64 guests, in place of the one that is found.
const AGENT: &str = "PUNCTUAL_AGENT_AARCH64";

/// An arm64 machine: an ordinary kernel, one with PREEMPT_RT, and their agent.
struct Arm64 {
    stock: PathBuf,
    rt: PathBuf,
    agent: PathBuf,
}

fn arm64() -> Option<Arm64> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let built =
        |profile: &str| target.join(format!("aarch64-unknown-linux-gnu/{profile}/punctual"));
    let named = std::env::var_os(AGENT).map(PathBuf::from);
    let agents = named.into_iter().chain(["test-agent", "agent"].map(built));
    let agent = agents.into_iter().find(|path| path.is_file());
    let image = |name: &str| target.join("kernels/arm64").join(name);
    let (stock, rt) = (image("vmlinuz-stock"), image("vmlinuz-rt"));
    let qemu = std::process::Command::new("qemu-system-aarch64")
        .arg("--version")
        .output()
        .is_ok();
    match agent {
        Some(agent) if qemu && stock.is_file() && rt.is_file() => Some(Arm64 { stock, rt, agent }),
        _ => {
            machine::skip(
                "arm64",
                "no QEMU, kernels or agent for arm64: run make arm64",
            );
            None
        }
    }
}

/// Samples of a wake-up run in a guest, as bytes.
fn samples(arm64: &Arm64, image: &Path) -> (Vec<u8>, serde_json::Value) {
    let home = Home::aside();
    let target = format!("--target=guest:{},virtual-time", image.display());
    let args = [
        "measure",
        "wakeup",
        &target,
        "--samples=200",
        "--interval=1ms",
        "--raw",
        "--name=it",
        "-q",
    ];
    let mut command = home.command(args);
    command.env(AGENT, &arm64.agent);
    finish(command).fine();
    let record = home.run(["runs", "show", "it", "--json"]).json();
    let samples = run(
        &home,
        &["runs", "export", "it", "--format=csv", "--data=samples"],
    );
    (samples.fine().stdout.clone().into_bytes(), record)
}

#[test]
fn arm64_guests_give_the_same_samples_twice_and_rt_is_another_kernel_than_stock() {
    let Some(arm64) = arm64() else { return };
    let (first, record) = samples(&arm64, &arm64.stock);
    let (second, _) = samples(&arm64, &arm64.stock);
    assert!(first == second, "the samples differ");
    assert_eq!(record["valid"], true, "{}", record["checks"]);
    assert_eq!(record["host"]["architecture"], "aarch64");
    assert_eq!(record["host"]["clocksource"], "arch_sys_counter");
    assert_eq!(check(&record, "guest-timers")["status"], "pass");
    let (other, record) = samples(&arm64, &arm64.rt);
    assert_eq!(record["host"]["preempt_rt"], true);
    assert_eq!(record["valid"], true, "{}", record["checks"]);
    assert!(first != other);
    let mean = record["total"]["mean_ns"].as_f64().unwrap();
    // An emulated path of some thousand instructions: neither nothing nor a tick of 4 ms.
    assert!((5_000.0..200_000.0).contains(&mean), "{mean}");
}

#[test]
fn arm64_guests_have_the_phases_of_interrupts_that_their_kernel_can_show() {
    let Some(arm64) = arm64() else { return };
    let home = Home::aside();
    let target = format!("--target=guest:{},virtual-time", arm64.rt.display());
    let mut command = home.command([
        "measure",
        "irq",
        &target,
        "--duration=300ms",
        "--json",
        "-q",
    ]);
    command.env(AGENT, &arm64.agent);
    let record = finish(command).record();
    assert_eq!(record["valid"], true, "{}", record["checks"]);
    let series = record["series"].as_array().unwrap();
    assert!(!series.is_empty());
    for series in series {
        assert!(series["count"].as_u64().unwrap() > 0, "{series}");
    }
}

/// Twelve commits, each with the kernel that its tree would be built to; from the eighth on it is the one without PREEMPT_RT. Every step boots
/// both kernels, so the verdict is that of a measurement.
#[test]
fn a_bisection_finds_the_commit_that_made_an_arm64_kernel_worse() {
    let Some(arm64) = arm64() else { return };
    let home = Home::aside();
    let tree = home.dir().join("tree");
    fs::create_dir(&tree).unwrap();
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.current_dir(&tree);
        command.args(["-c", "user.name=N", "-c", "user.email=n@example.org"]);
        let output = command.args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
    };
    git(&["init", "-q"]);
    for number in 1..=4 {
        let image = if number < 3 { &arm64.rt } else { &arm64.stock };
        let text = format!("{}\npatch {number}\n", image.display());
        fs::write(tree.join("image"), text).unwrap();
        git(&["add", "image"]);
        git(&["commit", "-q", "-m", &format!("patch {number}")]);
    }
    let oracle = format!(
        "\"$PUNCTUAL\" kernel latency-test \"good={}\" \"new=$(head -n 1 image)\" --load tmpfs --seeds 4 --samples 60 \
         --baseline good --fail-on worse --quiet; case $? in 0) exit 0;; 3) exit 1;; *) exit 200;; esac",
        arm64.rt.display()
    );
    let log = home.dir().join("log");
    let mut command = home.command(["kernel", "bisect", "--good", "HEAD~3", "--bad", "HEAD"]);
    command.args(["--oracle", &oracle, "--json", "--quiet", "--log"]);
    command
        .arg(&log)
        .current_dir(&tree)
        .env(AGENT, &arm64.agent);
    let answer = finish(command);
    let said = fs::read(&log).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    assert_eq!(answer.code(), 0, "{answer:?}\n{said}");
    let report = answer.json();
    assert_eq!(report["first_bad"]["subject"], "patch 3", "{said}");
}

/// As much of an arm64 kernel as says what it is.
fn fake(home: &Home) -> PathBuf {
    let mut image = vec![0; 0x400];
    image[..2].copy_from_slice(b"MZ");
    image[0x38..0x3c].copy_from_slice(b"ARM\x64");
    let banner = b"Linux version 6.1.0-fake (a@b) #1 SMP PREEMPT_RT\n\0";
    image[0x200..0x200 + banner.len()].copy_from_slice(banner);
    let path = home.dir().join("Image");
    fs::write(&path, image).unwrap();
    path
}

#[test]
fn a_missing_agent_for_other_processors_is_named_with_what_to_do() {
    if std::env::consts::ARCH == "aarch64" {
        return;
    }
    let home = Home::aside();
    let image = fake(&home);
    let args = ["kernel", "boot", image.to_str().unwrap(), "--virtual-time"];
    let mut command = home.command(args);
    command.env(AGENT, "/no/such/agent");
    finish(command).error(1, &["read /no/such/agent"]);
    // What is there, and is none.
    let mut command = home.command(args);
    command.env(AGENT, "/proc/self/exe");
    finish(command).error(1, &["a program for another processor"]);
}

#[test]
fn kernels_for_two_architectures_are_not_compared() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    let image = fake(&home);
    let other = images.rt.to_str().unwrap();
    let args = [
        "kernel",
        "latency-test",
        other,
        image.to_str().unwrap(),
        "--seeds=2",
    ];
    run(&home, &args)
        .error(2, &["Image is for arm64, the first kernel for x86-64"])
        .hinted();
}
