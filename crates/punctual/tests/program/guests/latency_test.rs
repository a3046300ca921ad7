// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `kernel latency-test`: what it shows, what it says, and that nothing changes a byte of it.

use std::fs;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::Value;

use super::{guests_of, images};
use crate::common::{HANG, Home, Running, finish, wait_until};
use crate::pty::Pty;
use crate::schema::{assert_valid, schema};

#[test]
fn a_latency_test_shows_its_boots_and_what_they_gave() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    let args = format!(
        "kernel latency-test a={} --idle --seeds=2 --samples=50 --jobs=1",
        images.dynamic.display()
    );
    let Some(mut pty) = Pty::start(&home, &args, (110, 30)) else {
        return;
    };
    pty.shows("kernel latency-test");
    // Each model that the image has, and each with both seeds.
    pty.shows("0 of 6 runs done; now block 0  kernel=a:");
    let screen = pty.shows("largest latency");
    assert!(screen.contains("µs of virtual time (n = 1)"), "{screen}");
    assert!(screen.contains("1 of 6  block 0  kernel=a:"), "{screen}");
    pty.press("q");
    assert_eq!(pty.status(), 1);
    pty.assert_given_back();
    let after = pty.screen().contents();
    assert!(after.contains("finish the test: interrupted"), "{after}");
    assert!(after.contains("--resume latency-test-"), "{after}");
    assert!(after.contains("1 of 6  block 0"), "{after}");
}

#[test]
fn latency_test_gives_one_image_two_command_lines() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    let image = images.rt.display();
    let args = [
        "kernel".to_owned(),
        "latency-test".to_owned(),
        format!("plain={image}"),
        format!("slow={image},append=highres=off"),
        "--idle".to_owned(),
        "--seeds=2".to_owned(),
        "--samples=20".to_owned(),
        "--json".to_owned(),
        "--quiet".to_owned(),
        // It can be opened, and not be written.
        "--output=/dev/full".to_owned(),
    ];
    let answer = finish(home.command(args));
    answer.error(1, &["write /dev/full", "--resume latency-test-"]);
    // The second one's argument takes its timers, so the check of its guests fails, and only of its.
    assert_eq!(answer.code(), 1, "{answer:?}");
    let result = answer.json();
    assert_valid(&schema("latency-test.schema.json"), &result);
    let cells = result["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2);
    assert_eq!(cells[0]["faults"], Value::Array(Vec::new()));
    assert!(cells[0].get("append").is_none(), "{}", cells[0]);
    assert_eq!(cells[1]["append"][0], "highres=off");
    let faults = cells[1]["faults"].to_string();
    assert!(faults.contains("guest-timers"), "{faults}");
}

#[test]
fn latency_test_orders_the_models() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    let [file, junit] = ["result", "junit.xml"].map(|name| home.dir().join(name));
    let args = [
        "kernel".to_owned(),
        "latency-test".to_owned(),
        format!("dyn={},model=none", images.dynamic.display()),
        format!("rt={}", images.rt.display()),
        "--load=printk:1000,fork".to_owned(),
        "--seeds=2".to_owned(),
        "--samples=100".to_owned(),
        "--baseline=rt".to_owned(),
        "--fail-on=worse".to_owned(),
        format!("--output={}", file.display()),
        format!("--junit={}", junit.display()),
    ];
    let answer = finish(home.command(args));
    // Bands of two seeds lie apart by chance in a third of all cases: no ground for a gate.
    assert_eq!(answer.code(), 6, "{answer:?}");
    assert!(
        answer.stdout.contains("virtual µs: instruction counts"),
        "{answer:?}"
    );
    let result: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_valid(&schema("latency-test.schema.json"), &result);
    assert_eq!(
        (&result["valid"], &result["time"]),
        (&true.into(), &"virtual-time".into())
    );
    // Two models, each under two loads.
    let cells = result["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4);
    // Which two boots these are depends on the instructions of the agent, and one in ten of either kernel has a wake-up that is far longer than
    // those of the others. So what is asked for is that the better boot of the one is better than that of the other, and that verdicts are
    // those of the bands.
    let of = |kernel: &str, load: &str| {
        let mut cells = cells.iter();
        let is = |cell: &&Value| cell["kernel"] == kernel && cell["load"] == load;
        cells.find(is).unwrap()
    };
    let mut is_worse = false;
    for load in ["printk:1000", "fork"] {
        for figure in ["mean_ns", "max_ns"] {
            let [one, other] = ["dyn", "rt"].map(|kernel| &of(kernel, load)[figure]);
            let at = |band: &Value, end: &str| band[end].as_f64().unwrap();
            assert!(
                at(one, "low") > at(other, "low"),
                "{load} {figure}: {one} {other}"
            );
            let apart = at(one, "low") > at(other, "high");
            is_worse |= apart;
            let mut all = result["comparisons"].as_array().unwrap().iter();
            let is = |of: &&Value| of["load"] == load && of["figure"] == figure;
            let verdict = &all.find(is).unwrap()["verdict"];
            let wanted = if apart { "worse" } else { "no_difference" };
            assert_eq!(verdict, wanted, "{load} {figure}: {one} {other}");
        }
    }
    assert!(is_worse, "{result:#}");
    let xml = String::from_utf8(fs::read(&junit).unwrap()).unwrap();
    // Of so few seeds none can be judged, whichever way.
    assert!(xml.contains("failures=\"0\" errors=\"4\""), "{xml}");
    let few =
        "<error message=\"worse than rt rt in virtual time (instruction counts), but too few seeds";
    assert!(xml.contains(few), "{xml}");
}

/// What a run has of the guest: its samples and their histogram, to the byte.
fn samples(home: &Home, id: &str) -> Vec<(String, Vec<u8>)> {
    let dir = home.store().join("runs").join(id);
    let files = fs::read_dir(dir).unwrap().map(|file| file.unwrap().path());
    let name = |path: &std::path::Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let mut files: Vec<_> = files
        .filter(|path| name(path) != "run.json")
        .map(|path| (name(&path), fs::read(&path).unwrap()))
        .collect();
    files.sort();
    assert!(files.iter().any(|(name, _)| name == "latency.hlog"));
    files
}

/// What is of a guest in a test with two seeds: its result, and each run by block, cell and measurement.
struct Measured {
    result: Vec<u8>,
    runs: Vec<Run>,
}

/// A run: its place, its samples, and its record but for what is of this machine and hour.
type Run = ([u64; 3], Vec<(String, Vec<u8>)>, Vec<Value>);

impl Measured {
    /// Takes it from a store with this test alone.
    fn of(home: &Home) -> Self {
        let status = home.run(["experiment", "status", "--json"]).json();
        let runs = status["experiments"][0]["runs"].as_array().unwrap().iter();
        let one = |run: &Value| {
            assert_eq!(run["end"], "valid", "{run}");
            let place = ["block", "cell", "measurement"].map(|key| run[key].as_u64().unwrap());
            let id = run["run"].as_str().unwrap();
            let record = home.run(["runs", "show", id, "--json"]).json();
            let kept = ["total", "series", "loads", "checks", "guest", "duration_ns"];
            let kept = kept.map(|key| record[key].clone()).to_vec();
            (place, samples(home, id), kept)
        };
        // One that was in flight when the program ended was done again.
        let runs = runs.filter(|run| run["end"] != "interrupted");
        let mut runs: Vec<Run> = runs.map(one).collect();
        runs.sort_by_key(|(place, ..)| *place);
        let result = fs::read(home.dir().join("result")).unwrap();
        Self { result, runs }
    }

    fn assert_is(&self, other: &Self) {
        let [one, two] = [self, other].map(|of| &of.result);
        let at = one.iter().zip(two).position(|(a, b)| a != b);
        let around = |bytes: &[u8]| {
            let at = at.unwrap_or_default();
            let part = &bytes[at.saturating_sub(300)..(at + 100).min(bytes.len())];
            String::from_utf8_lossy(part).into_owned()
        };
        assert!(
            one == two,
            "the results differ: {}\n{}",
            around(one),
            around(two)
        );
        assert_eq!((self.runs.len(), other.runs.len()), (2, 2));
        for ((place, files, record), (other_place, other_files, other)) in
            self.runs.iter().zip(&other.runs)
        {
            assert_eq!(place, other_place);
            assert!(files == other_files, "{place:?}: samples differ");
            assert_eq!(record, other, "{place:?}");
        }
    }
}

/// The arguments of the test that gives it, and further ones.
fn two_seeds(home: &Home, rt: &std::path::Path, more: &[&str]) -> Vec<String> {
    let fixed = [
        "kernel",
        "latency-test",
        "--load=fork",
        "--seeds=2",
        "--samples=100",
        "--quiet",
    ];
    let all = fixed.into_iter().chain(more.iter().copied());
    let own = [
        format!("rt={}", rt.display()),
        format!("--output={}", home.dir().join("result").display()),
    ];
    all.map(ToOwned::to_owned).chain(own).collect()
}

/// Two guests side by side, which nobody disturbs but other tests. Measured once for all that compare with it.
fn side_by_side(rt: &std::path::Path) -> &'static Measured {
    static MEASURED: OnceLock<Measured> = OnceLock::new();
    MEASURED.get_or_init(|| {
        let home = Home::aside();
        finish(home.command(two_seeds(&home, rt, &["--jobs=2"]))).fine();
        Measured::of(&home)
    })
}

/// Begins a latency test, and kills it when the first of its two runs has ended.
fn kill_after_one_run(home: &Home, rt: &std::path::Path) {
    let running = Running::start(home.command(two_seeds(home, rt, &["--jobs=1"])));
    let experiments = home.store().join("experiments");
    let has_one = || {
        let test = fs::read_dir(&experiments).ok()?.next()?.ok()?.path();
        let log = fs::read(test.join("log.jsonl")).ok()?;
        Some(String::from_utf8_lossy(&log).contains("\"end\""))
    };
    assert!(wait_until(|| has_one() == Some(true)));
    running.signal("KILL");
    drop(running);
}

#[test]
fn a_latency_test_that_is_killed_goes_on_where_it_was_to_the_same_bytes() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    let args = |more: &[&str]| two_seeds(&home, &images.rt, more);
    kill_after_one_run(&home, &images.rt);
    let status = || home.run(["experiment", "status", "--json"]).json()["experiments"][0].clone();
    let done = || {
        let runs = status()["runs"].as_array().unwrap().clone();
        runs.iter().filter(|run| run["end"] == "valid").count()
    };
    assert_eq!(done(), 1);
    let name = status()["plan"]["name"].as_str().unwrap().to_owned();
    home.run(["experiment", "resume", &name])
        .error(2, &["only `punctual kernel latency-test`"]);
    let resume = format!("--resume={name}");
    finish(home.command(args(&["--idle", &resume]))).error(2, &["other options"]);
    finish(home.command(args(&["--jobs=1", &resume]))).fine();
    assert_eq!(done(), 2);
    Measured::of(&home).assert_is(side_by_side(&images.rt));
}

#[test]
fn a_latency_test_that_goes_on_with_another_image_at_the_path_does_not_take_it_for_the_first() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    let image = home.dir().join("vmlinuz");
    let mut bytes = fs::read(&images.rt).unwrap();
    fs::write(&image, &bytes).unwrap();
    kill_after_one_run(&home, &image);
    // What follows the packed kernel is read by nobody.
    bytes.push(0);
    fs::write(&image, &bytes).unwrap();
    let status = home.run(["experiment", "status", "--json"]).json();
    let name = status["experiments"][0]["plan"]["name"].as_str().unwrap();
    let resume = format!("--resume={name}");
    let answer = finish(home.command(two_seeds(&home, &image, &["--jobs=1", &resume])));
    assert_eq!(answer.code(), 1, "{answer:?}");
    let result: Value =
        serde_json::from_slice(&fs::read(home.dir().join("result")).unwrap()).unwrap();
    let fault = result["cells"][0]["faults"][0].as_str().unwrap();
    assert!(
        fault.starts_with("its runs booted 2 different images"),
        "{fault}"
    );
}

/// A guest that is disturbed by signals that QEMU takes note of, and does nothing about: each wakes its main thread up.
struct Disturbed {
    pid: u32,
    /// It stays the process's own however long that has been gone.
    handle: OwnedFd,
    /// Before QEMU has asked for it, the signal ends the process.
    is_ready: bool,
}

impl Disturbed {
    fn new(pid: u32) -> Option<Self> {
        let number = Pid::from_raw(i32::try_from(pid).ok()?)?;
        let handle = pidfd_open(number, PidfdFlags::empty()).ok()?;
        let is_ready = false;
        Some(Self {
            pid,
            handle,
            is_ready,
        })
    }

    /// Returns how many signals it was sent.
    fn disturb(&mut self) -> u64 {
        self.is_ready = self.is_ready || self.blocks() == Some(true);
        let sent = self.is_ready && pidfd_send_signal(&self.handle, Signal::IO).is_ok();
        u64::from(sent)
    }

    fn blocks(&self) -> Option<bool> {
        let status = fs::read(format!("/proc/{}/status", self.pid)).ok()?;
        let status = String::from_utf8_lossy(&status);
        let mask = status
            .lines()
            .find_map(|line| line.strip_prefix("SigBlk:"))?;
        let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
        let holds = |signal: Signal| mask & (1 << (signal.as_raw() - 1)) != 0;
        // While a process or thread is being made, all signals are blocked.
        Some(holds(Signal::IO) && !holds(Signal::INT))
    }
}

/// Signals the guests of a program, and has a load beside it, until it ends.
fn disturb_all(home: &Home, program: &mut Running) {
    const ROUND: Duration = Duration::from_micros(330);
    let begun = Instant::now();
    // It begins and ends to compute again and again: that disturbs more than a load that goes on, and leaves others their CPU.
    let load = "cpu:1@intensity=20%";
    let load = home.start(["load", load, "--duration=3h", "--quiet"]);
    let mut guests: Vec<Disturbed> = Vec::new();
    let mut signals = 0;
    for round in 0_u64.. {
        if round % 16 == 0 {
            assert!(begun.elapsed() < HANG, "it does not end");
            if !program.is_alive() {
                break;
            }
            let there = guests_of(program.id());
            guests.retain(|guest| there.contains(&guest.pid));
            let known: Vec<u32> = guests.iter().map(|guest| guest.pid).collect();
            let new = there.into_iter().filter(|pid| !known.contains(pid));
            guests.extend(new.filter_map(Disturbed::new));
        }
        signals += guests.iter_mut().map(Disturbed::disturb).sum::<u64>();
        // In step with nothing in the guest.
        std::thread::sleep(ROUND);
    }
    load.signal("TERM");
    drop(load.wait());
    assert!(signals > 1_000, "{signals}");
}

/// Guests side by side, and the same ones one after the other on a machine that disturbs them.
#[test]
fn guests_give_the_same_bytes_however_many_run_and_whatever_disturbs_the_machine() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    let one = two_seeds(&home, &images.rt, &["--jobs=1"]);
    let mut running = Running::start(home.command(one));
    disturb_all(&home, &mut running);
    running.wait().fine();
    Measured::of(&home).assert_is(side_by_side(&images.rt));
}
