// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Kernels in QEMU. In virtual time, so that nothing here depends on how fast this machine is.
//!
//! The images are those that `scripts/kernel-images.sh` puts below `target/kernels`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::common::{Answer, Home, Running, finish, machine, wait_until};
use crate::pty::Pty;
use crate::schema::{assert_valid, schema};

mod arm64;
mod images;
mod latency_test;
mod refused;

pub(crate) use images::{Images, directory, images};

pub(crate) fn run(home: &Home, args: &[&str]) -> Answer {
    finish(home.command(args))
}

fn boot(home: &Home, image: &Path, args: &[&str]) -> Answer {
    // A boot takes some ten seconds, and many times that on a machine that has others to serve.
    boot_within(home, image, "30m", args)
}

fn boot_within(home: &Home, image: &Path, limit: &str, args: &[&str]) -> Answer {
    let limit = format!("--time-limit={limit}");
    let fixed = [
        "kernel",
        "boot",
        image.to_str().unwrap(),
        "--virtual-time",
        &limit,
    ];
    run(home, &[&fixed[..], args].concat())
}

fn check<'a>(document: &'a Value, id: &str) -> &'a Value {
    let checks = document["checks"].as_array().unwrap();
    checks.iter().find(|check| check["id"] == id).unwrap()
}

/// Numbers of the QEMU processes that `parent` has started.
pub(crate) fn guests_of(parent: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{parent}/task"))
        .into_iter()
        .flatten();
    let children = tasks.filter_map(|task| fs::read(task.ok()?.path().join("children")).ok());
    children
        .flat_map(|list| {
            let list = String::from_utf8(list).unwrap();
            list.split_whitespace()
                .map(|pid| pid.parse().unwrap())
                .collect::<Vec<u32>>()
        })
        .collect()
}

#[test]
fn guest_says_which_model_runs_and_another_one_is_refused() {
    let Some(images) = images::originals() else {
        return;
    };
    let home = Home::aside();
    let log = home.dir().join("log");
    let answer = boot(
        &home,
        &images.dynamic,
        &[
            "--append=preempt=full",
            "--json",
            "--log",
            log.to_str().unwrap(),
        ],
    );
    let found = answer.fine().json();
    assert_valid(&schema("guest-boot.schema.json"), &found);
    assert_eq!(found["machine"], "virtual-time");
    assert_eq!(check(&found, "guest-timers")["status"], "pass");
    assert_eq!(check(&found, "guest-quiet")["status"], "pass");
    let arguments = found["command_line"].as_str().unwrap();
    assert!(arguments.contains(" cryptomgr.notests "), "{arguments}");
    let model = check(&found, "guest-model")["detail"].as_str().unwrap();
    assert!(
        model.contains("full by debugfs; model full was asked for"),
        "{model}"
    );
    assert!(String::from_utf8_lossy(&fs::read(&log).unwrap()).contains("Restarting system"));
    // PREEMPT_RT is built in: the argument asks for what is not there.
    let answer = boot(&home, &images.rt, &["--append=preempt=full", "--json"]);
    let found = answer.json();
    assert_eq!((answer.code(), &found["valid"]), (1, &Value::Bool(false)));
    assert_eq!(check(&found, "guest-model")["status"], "fail");
}

/// By a real clock a guest is up before its kernel has the clock source that it keeps. How well such a guest keeps
/// time is up to the host, so this test only requires that the clock source was not read too early.
#[test]
fn guest_is_ready_when_its_kernel_has_the_clock_source_that_it_keeps() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    let image = images.dynamic.to_str().unwrap();
    let args = [
        "kernel",
        "boot",
        image,
        "--machine=tcg",
        "--time-limit=30m",
        "--json",
    ];
    let found = run(&home, &args).json();
    let clock = check(&found, "guest-clock")["detail"].as_str().unwrap();
    let early = "clock source tsc-early before the measurement, tsc after it";
    assert_ne!(clock, early, "{found}");
}

/// Packs an image as a distribution does.
fn package(home: &Home, image: &Path, release: &str) -> PathBuf {
    let root = home.dir().join("package");
    let control = format!(
        "Package: linux-image-{release}\nVersion: 1\nArchitecture: all\nMaintainer: x <x@example.org>\nDescription: x\n"
    );
    for dir in ["boot", "DEBIAN"] {
        fs::create_dir_all(root.join(dir)).unwrap();
    }
    fs::write(root.join("DEBIAN/control"), control).unwrap();
    fs::set_permissions(root.join("DEBIAN"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::copy(image, root.join(format!("boot/vmlinuz-{release}"))).unwrap();
    let package = home.dir().join("image.deb");
    let mut command = Command::new("dpkg-deb");
    command.args(["-Znone", "-b"]).arg(&root).arg(&package);
    let packed = command.output().unwrap();
    assert!(packed.status.success(), "{packed:?}");
    package
}

#[test]
fn guest_images_of_the_store_are_found_by_their_names() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    let package = package(&home, &images.rt, "1.2.3-test");
    run(&home, &["kernel", "fetch", package.to_str().unwrap()]).fine();
    let kernel = home.store().join("kernels/images/1.2.3-test/boot");
    let kernel = kernel.join("vmlinuz-1.2.3-test").display().to_string();
    // Which one it would boot is enough: the measurement boots it.
    let mut boot = home.command(["kernel", "boot", "1.2.3-test", "--virtual-time"]);
    boot.env("PUNCTUAL_QEMU", "/no/such/qemu");
    finish(boot).error(5, &["/no/such/qemu", &kernel]);
    let target = "--target=guest:1.2.3-test,virtual-time";
    let measure = [
        "measure",
        "wakeup",
        target,
        "--samples=20",
        "--interval=1ms",
        "--json",
    ];
    assert_eq!(run(&home, &measure).record()["guest"]["kernel"], kernel);
    let unknown = self::boot(&home, Path::new("no-such-image"), &[]);
    unknown.error(2, &["no-such-image", "punctual kernel list"]);
}

#[test]
fn guest_is_waited_for_until_it_is_quiet_and_a_check_names_what_ran_if_it_never_is() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    let answer = boot(&home, &images.dynamic, &["--fault=busy", "--json"]);
    let found = answer.json();
    assert_eq!((answer.code(), &found["valid"]), (1, &Value::Bool(false)));
    let quiet = check(&found, "guest-quiet");
    assert_eq!(quiet["status"], "fail");
    let detail = quiet["detail"].as_str().unwrap();
    // This program, by the name that it gives itself.
    assert!(
        detail.contains("still busy when it was ready: punctual "),
        "{detail}"
    );
    // The same for two seconds only: that much later than after half a second of waiting in vain.
    let answer = boot(&home, &images.dynamic, &["--fault=busy-at-first", "--json"]);
    let later = answer.json();
    assert_eq!(check(&later, "guest-quiet")["status"], "pass", "{later:#}");
    let ready = |found: &Value| found["guest_ready_ns"].as_u64().unwrap();
    let [vain, later] = [&found, &later].map(ready);
    assert!(later > vain + 1_000_000_000, "{later} ns, {vain} ns");
}

#[test]
fn guest_that_panics_hangs_or_stops_is_an_error_with_its_last_lines() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    boot(&home, &images.dynamic, &["--fault=panic"]).error(
        1,
        &[
            "Kernel panic - not syncing: sysrq triggered crash",
            "last lines of its log",
        ],
    );
    let log = home.dir().join("log");
    let kept = format!("--log={}", log.display());
    let take = || {
        let text = fs::read(&log).unwrap();
        fs::remove_file(&log).unwrap();
        String::from_utf8_lossy(&text).into_owned()
    };
    boot(&home, &images.dynamic, &["--append=rdinit=/none", &kept])
        .error(1, &["Kernel panic - not syncing", "last lines of its log"]);
    assert!(take().contains("Kernel panic - not syncing"));
    let loud = "--append=loglevel=7";
    // A busy machine may not come to the kernel's first line in the first of these.
    let hangs = |seconds: &u64| {
        let hang = ["--fault=hang", loud, &kept];
        let answer = boot_within(&home, &images.dynamic, &format!("{seconds}s"), &hang);
        let why = format!("finish within {seconds} s");
        answer.error(1, &[&why]).hinted();
        take().contains("Linux version")
    };
    assert!([4, 60, 300].iter().any(hangs));
    let long = format!("--append={}", "x".repeat(2_100));
    boot(&home, &images.dynamic, &[&long, &kept]).error(2, &["too long", "takes 2047"]);
    assert!(!log.exists());
    boot(&home, &images.dynamic, &["--fault=restart"]).error(
        1,
        &["the guest ended after frame hello, before it had finished"],
    );
}

#[test]
fn guest_ends_with_the_program_however_that_ends() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    for signal in ["KILL", "TERM"] {
        let image = images.dynamic.to_str().unwrap();
        let args = ["kernel", "boot", image, "--virtual-time", "--fault=hang"];
        let running: Running = home.start(args);
        let program = running.id();
        assert!(wait_until(|| !guests_of(program).is_empty()));
        let guests = guests_of(program);
        running.signal(signal);
        let gone = || {
            guests
                .iter()
                // One that nobody has waited for yet has no command line any more.
                .all(|pid| {
                    fs::read(format!("/proc/{pid}/cmdline"))
                        .unwrap_or_default()
                        .is_empty()
                })
        };
        assert!(wait_until(gone), "{signal}: {guests:?}");
        if signal == "TERM" {
            running.wait().error(1, &["interrupted"]);
        }
    }
}

#[test]
fn guest_without_high_resolution_timers_makes_an_invalid_run_that_says_why() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    let target = format!(
        "guest:{},virtual-time,append=highres=off",
        images.dynamic.display()
    );
    let args = [
        "measure",
        "wakeup",
        "--json",
        "--samples=20",
        "--interval=1ms",
        "--target",
    ];
    let answer = run(&home, &[&args[..], &[target.as_str()]].concat());
    let record = answer.record();
    assert_eq!(record["valid"], false);
    let timers = check(&record, "guest-timers");
    assert_eq!(timers["status"], "fail");
    let detail = timers["detail"].as_str().unwrap();
    assert!(
        detail.contains("on 0 of 1 CPUs") && detail.contains("highres=off"),
        "{detail}"
    );
    assert!(answer.stderr.contains("guest-timers"), "{answer:?}");
}

#[test]
fn guest_runs_are_kept_labelled_and_never_compared_with_real_time() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    let target = format!("guest:{},virtual-time", images.rt.display());
    let args = [
        "measure",
        "--target",
        &target,
        "wakeup",
        "--samples=50",
        "--interval=1ms",
    ];
    let answer = run(
        &home,
        &[&args[..], &["--load=fork", "--name=here", "--raw", "-q"]].concat(),
    );
    let text = &answer.fine().stdout;
    assert!(text.starts_with("VIRTUAL TIME: "), "{text}");
    // Lines are broken where they are full.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("instruction counts, 8 ns each, no latency of any hardware"),
        "{text}"
    );
    let extrapolated = home.run(["runs", "extrapolate", "here"]);
    let said = &extrapolated.fine().stdout;
    assert!(
        said.starts_with("VIRTUAL TIME: ") && said.contains("virtual µs"),
        "{said}"
    );
    let record = home.run(["runs", "show", "here", "--json"]).json();
    assert_valid(&schema("run.schema.json"), &record);
    assert_eq!(record["format"], "punctual.run/3");
    assert_eq!(record["guest"]["time"], "virtual");
    let image = record["guest"]["kernel_sha256"].as_str().unwrap();
    assert_eq!(image.len(), 64, "{image}");
    let agent = record["guest"]["agent"]["sha256"].as_str().unwrap();
    assert!(
        agent.len() == 64 && text.contains(&agent[..12]),
        "{agent}: {text}"
    );
    assert_eq!(
        (&record["total"]["count"], &record["valid"]),
        (&50.into(), &true.into())
    );
    let quiet = check(&record, "guest-quiet")["detail"].as_str().unwrap();
    assert!(quiet.contains("before the measurement and"), "{quiet}");
    assert!(record["loads"][0]["work"].as_f64().unwrap() > 0.0);
    let console = home
        .runs_dir()
        .join(record["id"].as_str().unwrap())
        .join("console.log");
    assert!(String::from_utf8_lossy(&fs::read(console).unwrap()).contains("Restarting system"));
    let list = home.run(["runs", "list"]);
    assert!(list.fine().stdout.contains("(virtual)"), "{list:?}");
    let export = |args: &[&str]| home.run([&["runs", "export", "here"], args].concat());
    for args in [&["--format=csv"][..], &["--format=csv", "--data=histogram"]] {
        let marked = export(args).fine().stdout.clone();
        let (heading, rows) = marked.split_once('\n').unwrap();
        assert!(heading.ends_with(",time"), "{marked}");
        assert!(rows.lines().all(|row| row.ends_with(",virtual")));
    }
    let log = export(&["--format=hdr"]).fine().stdout.clone();
    let mark = "#[Histogram log format version 1.3]\n#[Time: virtual (instruction counts, not latencies)]\n#[Start";
    assert!(log.starts_with(mark), "{log}");
    let export = ["runs", "export", "here", "--format=cyclictest-hist"];
    home.run(export).error(2, &["instruction counts"]);
    home.quick(&["--name=there"]);
    home.run(["compare", "here", "there"]).error(
        2,
        &["virtual time (instruction counts)", "cannot be compared"],
    );
    home.run(["compare", "there", "here"])
        .error(2, &["cannot be compared"]);
}

/// Threads of one CPU that are due at once wait for each other's loop. That some of them end then is no part of it.
#[test]
fn guest_threads_that_end_do_not_delay_those_of_a_lower_priority() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    let target = format!("--target=guest:{},virtual-time", images.rt.display());
    let threads = ["--threads=5", "--pin=none", "--priority-spread"];
    let rest = [
        "--samples=50",
        "--interval=1ms",
        "--raw",
        "--name=five",
        "-q",
    ];
    let args = [&["measure", "wakeup", &target], &threads[..], &rest].concat();
    run(&home, &args).fine();
    let samples = ["runs", "export", "five", "--format=csv", "--data=samples"];
    let samples = home.run(samples).fine().stdout.clone();
    let of_last = samples.lines().filter(|line| line.starts_with("4,"));
    let latencies = of_last.map(|line| line.split(',').nth(3).unwrap().parse().unwrap());
    let mut latencies: Vec<u64> = latencies.collect();
    let end = latencies.pop().unwrap();
    latencies.sort_unstable();
    let median = latencies[latencies.len() / 2];
    // An end takes as long as some ten wake-ups, and four of them would come before this one.
    assert!(
        end < 2 * median,
        "{end} ns, and a median of {median} ns of {}",
        latencies.len()
    );
}

#[test]
fn guest_has_the_loads_and_the_tracer_that_a_machine_has() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    let target = format!("--target=guest:{},virtual-time", images.rt.display());
    let common = [target.as_str(), "--json", "-q"];
    let args = ["measure", "wakeup", "--samples=100", "--interval=1ms"];
    let record = run(
        &home,
        &[&args[..], &["--load=ping:1,memory:64K,cpu"], &common].concat(),
    )
    .record();
    assert_eq!(record["valid"], true, "{}", record["checks"]);
    let loads = record["loads"].as_array().unwrap();
    assert_eq!(loads.len(), 3);
    for load in loads {
        assert!(load["work"].as_f64().unwrap() > 0.0, "{load}");
    }
    let args = ["measure", "irq", "--source=timerlat", "--duration=300ms"];
    let record = run(&home, &[&args[..], &common].concat()).record();
    assert_eq!(record["valid"], true, "{}", record["checks"]);
    let kinds: Vec<_> = record["series"].as_array().unwrap().iter().collect();
    assert_eq!(kinds.len(), 2, "interrupt and thread");
    for series in kinds {
        assert!(series["count"].as_u64().unwrap() > 0, "{series}");
    }
}

#[test]
fn guest_measurements_that_make_no_run_say_why() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    let target = format!("guest:{},virtual-time", images.rt.display());
    let args = ["measure", "wakeup", "--cpus=7", "--target", &target];
    run(&home, &args).error(2, &["CPU 7 is not online"]);
    assert!(home.list().is_empty());
}

#[test]
fn a_measurement_in_a_guest_shows_how_far_it_is_on_a_terminal_and_to_prometheus() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    let address = free_port();
    let args = format!(
        "measure wakeup --metrics {address} --interval=1ms --samples=3000 --target guest:{},virtual-time",
        images.rt.display()
    );
    let Some(pty) = Pty::start(&home, &args, (110, 30)) else {
        return;
    };
    pty.shows("it boots, until its timers are of high resolution (virtual-time)");
    let mut page = String::new();
    let answered = wait_until(|| {
        page = scrape(&address).unwrap_or_default();
        page.contains("step=\"it measures; its samples come at the end")
    });
    assert!(answered, "{page}\n{}", pty.screen().contents());
    assert!(page.contains("punctual_run_elapsed_seconds"), "{page}");
    pty.shows("it measures; its samples come at the end");
    pty.over();
    pty.assert_given_back();
    let record = home.run(["runs", "show", "last", "--json"]).json();
    assert_eq!(record["total"]["count"], 3000);
}

/// An address that is free: taken for a moment, and given back.
fn free_port() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// What a server of metrics answers.
fn scrape(address: &str) -> std::io::Result<String> {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(address)?;
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n")?;
    let mut page = String::new();
    stream.read_to_string(&mut page)?;
    Ok(page)
}

#[test]
fn guests_that_cannot_be_are_refused_before_anything_starts() {
    let home = Home::aside();
    let file = home.dir().join("image");
    // An ELF file for x86-64, which says nothing of its kernel.
    let mut elf = vec![0; 64];
    elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
    elf[18] = 62;
    fs::write(&file, elf).unwrap();
    let image = file.to_str().unwrap();
    let measure = |target: &str| home.run(["measure", "wakeup", "--target", target]);
    measure("here").error(2, &["guest:KERNEL"]);
    measure("guest:K,virtual-tme").error(2, &["`virtual-tme` is not an option"]);
    measure("guest:K,virtual-time,cpus=2").error(2, &["virtual time supports one CPU"]);
    let test = |args: &[&str]| home.run([&["kernel", "latency-test", image][..], args].concat());
    test(&["--baseline=other"]).error(2, &["baseline other is not tested", "image:as built"]);
    test(&["--fail-on=worse"]).error(2, &["--baseline"]);
    let one = |kernel: &str| home.run(["kernel", "latency-test", kernel]);
    one(&format!("a={image},apend=x")).error(2, &["`apend=x` is not an option of a kernel"]);
    one(&format!("a={image},config=timerlat")).error(1, &["its configuration is not next to it"]);
    fs::write(home.dir().join("config"), "CONFIG_HZ=250\n").unwrap();
    one(&format!("a={image},config=timerlat")).error(3, &["TIMERLAT_TRACER is n, not y"]);
    // What the configuration has is no hindrance: the next thing is to boot it.
    let fragment = home.dir().join("hz");
    fs::write(&fragment, "CONFIG_HZ=250\n").unwrap();
    let kernel = format!("a={image},config={}", fragment.display());
    let mut command = home.command(["kernel", "latency-test", &kernel]);
    command.env("PUNCTUAL_QEMU", "/no/such/qemu");
    finish(command).error(5, &["/no/such/qemu"]);
    let twice = [image, &format!("{image},append=nohz=off")];
    home.run([&["kernel", "latency-test"], &twice[..]].concat())
        .error(
            2,
            &["two kernels are named image: give them different names"],
        );
    test(&["--model=rt"]).error(2, &["nothing of its model"]);
    test(&["--load=fork,fork"]).error(2, &["given twice"]);
    test(&["--interval=1us"]).error(2, &["at least 100us"]);
    test(&["--output=/no/such/dir/file"]).error(1, &["write /no/such/dir/file"]);
    // What an earlier test has written stays where this one fails.
    let [result, junit] = ["result", "junit.xml"].map(|name| home.dir().join(name));
    fs::write(&result, "precious").unwrap();
    let mut command = home.command(["kernel", "latency-test", image, "-o"]);
    command.arg(&result).arg("--junit").arg(&junit);
    command.env("PUNCTUAL_QEMU", "/no/such/qemu");
    finish(command).error(5, &["/no/such/qemu"]);
    assert_eq!(fs::read(&result).unwrap(), b"precious");
    let left = fs::read_dir(home.dir()).unwrap();
    let mut left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(!left.any(|name| name.starts_with("junit") || name.contains(".part-")));
    home.run(["kernel", "latency-test", "/no/such/image"])
        .error(1, &["read kernel image /no/such/image"]);
    let mut command = home.command(["kernel", "boot", image, "--virtual-time"]);
    command.env("PUNCTUAL_QEMU", "/no/such/qemu");
    finish(command)
        .error(5, &["start /no/such/qemu: not installed"])
        .hinted();
    let out = home.dir().join("initramfs");
    let write = [
        "kernel",
        "initramfs",
        "--uncompressed",
        "-o",
        out.to_str().unwrap(),
    ];
    home.run(write).fine();
    home.run(write).error(1, &["--force"]);
    // The magic of newc.
    assert!(fs::read(&out).unwrap().starts_with(b"070701"));
}

#[test]
fn the_initial_ram_file_system_of_a_guest_that_measures_is_below_3_mb() {
    let home = Home::aside();
    let out = home.dir().join("initramfs");
    let write = |options: &[&str]| {
        let out = out.to_str().unwrap();
        let args = ["kernel", "initramfs", "--force", "-o", out];
        let answer = finish(home.command(args.iter().chain(options)));
        let said = answer.fine().stdout.clone();
        let size = fs::metadata(out).unwrap().len();
        assert!(said.contains(&format!(" {size} bytes, agent ")), "{said}");
        (said, size)
    };
    let (said, size) = write(&["--file=/job=/dev/null"]);
    let (_, small) = write(&["--uncompressed"]);
    // To pack all of a program with what only its tests need takes longer than several boots.
    let (whole, large) = write(&["--whole", "--uncompressed"]);
    assert!(whole.contains("agent whole "), "{whole}");
    if said.contains("agent whole ") {
        return machine::skip("agent", "built without the agent of guests: make agent");
    }
    assert!(said.contains("agent small "), "{said}");
    // Where the agent that users get is not built, it is one that compiles in a third of the time, and is larger.
    let most = match machine::required("agent") {
        true => 3_000_000,
        false => 3_300_000,
    };
    assert!(size < most && size < small, "{size}, {small}");
    assert!(small < large, "{small}, {large}");
}
