// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The instruments that measure how much is done: their records, exports, errors and ends.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Home, Running, machine, wait_until};

/// Measures with an instrument and returns the record.
fn measure(home: &Home, args: &str) -> Value {
    let args = ["measure"].into_iter().chain(args.split_whitespace());
    home.run(args.chain(["--quiet", "--json"])).record()
}

fn figure<'a>(record: &'a Value, name: &str) -> &'a Value {
    let figures = record["figures"].as_array().unwrap();
    figures
        .iter()
        .find(|figure| figure["name"] == name)
        .unwrap_or_else(|| panic!("no {name} in {figures:#?}"))
}

fn passed(record: &Value, id: &str) -> bool {
    let checks = record["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["id"] == id).unwrap();
    check["status"] == "pass"
}

/// Whether the threads of a program were seen as asked. Where the machine leaves no time to look, that is said.
fn threads_were_as_asked(record: &Value) -> bool {
    let checks = record["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["id"] == "program-threads");
    let status = &check.unwrap()["status"];
    status == "pass" || status == "unknown" && record["valid"] == false
}

/// Whether there is fio; if not, says that the test is skipped.
fn fio() -> bool {
    let found = std::process::Command::new("fio").arg("--version").output();
    if found.is_err() {
        machine::skip("fio", "fio is not installed");
    }
    found.is_ok()
}

#[test]
fn a_run_without_samples_that_was_stopped_is_not_valid() {
    let home = Home::new();
    let args = "measure memory --size 4M --kernels copy --repeats 10000 --quiet --json";
    let mut running = Running::start(home.command(args.split(' ')));
    let pid = running.id();
    let works = |thread: &machine::Thread| thread.name.starts_with("memory/");
    let begun = || machine::threads(pid).iter().any(works);
    assert!(wait_until(|| begun() || !running.is_alive()) && running.is_alive());
    std::thread::sleep(Duration::from_secs(1));
    running.signal("STOP");
    std::thread::sleep(Duration::from_secs(2));
    running.signal("CONT");
    // What is asked of a stopped program it does when it goes on; here it has gone on.
    std::thread::sleep(Duration::from_millis(300));
    running.signal("INT");
    let record = running.wait().record();
    assert!(!passed(&record, "pauses"), "{:#}", record["checks"]);
    assert_eq!(record["valid"], false);
}

#[test]
fn linpack_is_recorded_shown_and_exported() {
    let home = Home::new();
    let record = measure(&home, "linpack --order 64,100 --repeats 2 --product");
    assert_eq!(record["instrument"], "linpack");
    assert_eq!(record["setup"]["options"]["order"], "64,100");
    assert!(passed(&record, "residual"), "{record:#}");
    for name in ["gflops", "share_of_peak", "product", "share_of_product"] {
        let figure = figure(&record, name);
        assert_eq!(figure["count"], 2);
        assert!(figure["value"].as_f64().unwrap() > 0.0);
        assert_eq!(figure["interval"]["confidence"], 0.95);
    }
    assert!(figure(&record, "scaled_residual")["max"].as_f64().unwrap() < 16.0);
    let shown = home.run(["runs", "show", "last"]);
    for part in ["GFLOPS", "LINPACK speed", "order 64,100"] {
        assert!(shown.fine().stdout.contains(part), "{shown:#?}");
    }
    let csv = home.run(["runs", "export", "last", "--format", "csv"]);
    let mut rows = csv.fine().stdout.lines();
    assert!(
        rows.next()
            .unwrap()
            .starts_with("run,valid,instrument,figure,n,threads,value,unit,")
    );
    for args in [
        ["--format=hdr"].as_slice(),
        &["--format=cyclictest-hist"],
        &["--format=csv", "--data=distribution"],
    ] {
        let export = home.run(["runs", "export", "last"].iter().chain(args));
        export
            .error(1, &["it has results, and no latencies"])
            .hinted();
    }
    let gflops: Vec<&str> = rows.filter(|row| row.contains(",gflops,")).collect();
    assert_eq!(gflops.len(), 2, "{csv:#?}");
    assert!(gflops[0].contains(",linpack,gflops,64,"), "{gflops:?}");
}

#[test]
fn a_command_can_solve_and_its_failed_check_makes_the_run_invalid() {
    let home = Home::new();
    let script = home.dir().join("hpl");
    let write = |word: &str| {
        let text = format!(
            "[ $OMP_NUM_THREADS = 3 ] || exit 1\necho 'WR11C2R4 4000 128 1 2 0.50 8.54e+01'\necho '||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)= 0.5 ...... {word}'\n"
        );
        fs::write(&script, text).unwrap();
    };
    let engine = format!("--engine=command:sh {}", script.display());
    let run = || {
        let args = [
            "measure",
            "linpack",
            "--repeats=2",
            &engine,
            "--quiet",
            "--json",
        ];
        let mut command = home.command(args);
        command.env("OMP_NUM_THREADS", "3");
        crate::common::finish(command).record()
    };
    write("PASSED");
    let record = run();
    assert_eq!(record["setup"]["options"]["omp_num_threads"], "3");
    assert!((figure(&record, "gflops")["value"].as_f64().unwrap() - 85.4).abs() < 1e-9);
    assert!(passed(&record, "residual"), "{record:#}");
    write("FAILED");
    let record = run();
    assert!(!passed(&record, "residual"), "{record:#}");
    assert_eq!(record["valid"], false);
}

#[test]
fn openblas_solves_the_same_systems() {
    let home = Home::new();
    let args = [
        "measure",
        "linpack",
        "--engine=openblas",
        "--order=200",
        "--repeats=2",
    ];
    let answer = home.run(args.into_iter().chain(["--quiet", "--json"]));
    if answer.code() == 5 {
        answer.hinted();
        return machine::skip("openblas", "python3 or OpenBLAS is not installed");
    }
    let record = answer.record();
    assert_eq!(figure(&record, "gflops")["count"], 2);
    assert!(passed(&record, "residual"), "{record:#}");
    assert!(threads_were_as_asked(&record), "{record:#}");
    let options = &record["setup"]["options"];
    assert!(
        options["library"].as_str().unwrap().contains("openblas"),
        "{options:#}"
    );
    // A code without the vectors of most processors: what the user chose is left, and said.
    let mut command = home.command(args.into_iter().chain(["--quiet", "--json"]));
    command.env("OPENBLAS_CORETYPE", "Prescott");
    let record = crate::common::finish(command).record();
    let options = &record["setup"]["options"];
    if options["library_core"] == "Prescott" && options["instructions"] != "scalar" {
        let findings = record["findings"].as_array().unwrap();
        let said = findings
            .iter()
            .find(|f| f["id"] == "openblas-core")
            .unwrap();
        let detail = said["detail"].as_str().unwrap();
        assert!(
            detail.starts_with("OPENBLAS_CORETYPE=Prescott makes"),
            "{detail}"
        );
    }
}

#[test]
fn what_linpack_cannot_do_is_one_error() {
    let home = Home::new();
    for (args, code, part) in [
        ("--order 1000000", 2, "--order 1000000: needs"),
        ("--order 0", 2, "--order"),
        ("--engine blas", 2, "not one of: own, openblas"),
        ("--engine openblas:/no/such.so", 5, ""),
        (
            "--engine command:false --repeats 1",
            1,
            "false: exit status 1",
        ),
        (
            "--engine command:true --repeats 1",
            1,
            "printed no result line",
        ),
        (
            "--engine command:true --order 9",
            2,
            "--order: with --engine",
        ),
    ] {
        let words = ["measure", "linpack", "--quiet"].into_iter();
        let answer = home.run(words.chain(args.split_whitespace()));
        let errors: Vec<&str> = answer
            .stderr
            .lines()
            .filter(|l| l.starts_with("Error"))
            .collect();
        assert_eq!((answer.code(), errors.len()), (code, 1), "{answer:#?}");
        assert!(answer.stderr.contains(part), "{part}: {answer:#?}");
    }
    assert!(home.list().is_empty());
}

#[test]
fn an_interrupted_linpack_is_recorded_with_what_it_has() {
    let home = Home::new();
    let args = [
        "measure",
        "linpack",
        "--order=300",
        "--repeats=10000",
        "--quiet",
        "--json",
    ];
    let running = home.start(args);
    let pid = running.id();
    let there = wait_until(|| {
        machine::threads(pid)
            .iter()
            .any(|t| t.name.starts_with("linpack/"))
    });
    assert!(there, "it does not measure");
    running.signal("INT");
    let record = running.wait().record();
    assert_eq!(record["ended"], "interrupted");
}

#[test]
fn memory_is_measured_for_every_pair_of_nodes() {
    let home = Home::new();
    let record = measure(&home, "memory --size 1M --repeats 2");
    let copy = figure(&record, "copy");
    assert_eq!(
        (&copy["unit"], &copy["count"]),
        (&Value::from("MB/s"), &Value::from(2))
    );
    assert!(copy["labels"]["cpu_node"].is_string() && copy["labels"]["memory_node"].is_string());
    assert_eq!(figure(&record, "chase")["unit"], "ns");
    assert!(passed(&record, "memory-node"), "{record:#}");
    let one = measure(&home, "memory --size 1M --repeats 1 --kernels copy");
    assert!(
        one["figures"]
            .as_array()
            .unwrap()
            .iter()
            .all(|f| f["name"] == "copy")
    );
    assert!(figure(&one, "copy")["interval"].is_null());
    for (args, part) in [
        ("--size 15T", "--size 15T: needs"),
        ("--size 1", "--size 1: must be from 64K"),
        ("--size much", "is not a size"),
        ("--kernels memset", "memset"),
        ("--threads 4096", "--threads 4096: node"),
    ] {
        let words = ["measure", "memory", "--quiet"].into_iter();
        let answer = home.run(words.chain(args.split_whitespace()));
        answer.error(2, &[part]);
    }
}

#[test]
fn io_is_measured_and_leaves_no_file() {
    if !fio() {
        return;
    }
    let home = Home::new();
    let directory = home.dir().join("io");
    fs::create_dir(&directory).unwrap();
    let args = format!(
        "io --rw randrw --block-size 4K --size 1M --buffered --runtime 600ms --repeats 2 --directory {}",
        directory.display()
    );
    let record = measure(&home, &args);
    for direction in ["read", "write"] {
        let figures = record["figures"].as_array().unwrap();
        let of = figures
            .iter()
            .filter(|f| f["labels"]["direction"] == direction);
        let names: Vec<&str> = of.map(|f| f["name"].as_str().unwrap()).collect();
        assert_eq!(
            names,
            [
                "throughput",
                "throughput_standard_error",
                "throughput_relative_deviation",
                "requests",
                "completion_latency_mean",
                "completion_latency_p99"
            ]
        );
    }
    assert!(threads_were_as_asked(&record), "{record:#}");
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
    // fio's jobs are its threads.
    let args = format!(
        "io --threads 2 --size 1M --buffered --runtime 600ms --repeats 1 --directory {}",
        directory.display()
    );
    assert_eq!(measure(&home, &args)["setup"]["options"]["threads"], "2");
    let events = ["runs", "export", "last", "--data=events", "--format=json"];
    let events = home.run(events).fine().stdout.clone();
    let started: Value = serde_json::from_str(events.lines().next().unwrap()).unwrap();
    assert_eq!(started["event"], "started");
    assert_eq!(started["threads"], 2);
}

#[test]
fn a_killed_io_leaves_neither_fio_nor_a_file() {
    if !fio() {
        return;
    }
    let home = Home::new();
    let directory = home.dir().join("io");
    fs::create_dir(&directory).unwrap();
    let place = format!("--directory={}", directory.display());
    let args = [
        "measure",
        "io",
        "--buffered",
        "--size=1M",
        "--runtime=3h",
        "--quiet",
    ];
    let running = home.start(args.into_iter().chain([place.as_str()]));
    let pid = running.id();
    let mut fio = None;
    let there = wait_until(|| {
        fio = working_fio(pid);
        fio.is_some()
    });
    assert!(there, "fio does not run");
    running.signal("KILL");
    let fio = fio.unwrap();
    let gone = wait_until(|| !is_running(fio));
    assert!(gone, "fio {fio} is left");
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
}

/// Returns the child of `parent` that is fio at work, not the question for its version.
fn working_fio(parent: u32) -> Option<u32> {
    fs::read_dir("/proc").unwrap().find_map(|entry| {
        let pid: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let line = machine::read(Path::new(&format!("/proc/{pid}/cmdline")))?;
        let stat = machine::read(Path::new(&format!("/proc/{pid}/stat")))?;
        let (_, rest) = stat.rsplit_once(") ")?;
        let of: u32 = rest.split(' ').nth(1)?.parse().ok()?;
        (of == parent && line.starts_with("fio\0--name")).then_some(pid)
    })
}

/// Whether a process runs: a zombie does not.
fn is_running(pid: u32) -> bool {
    let stat = machine::read(Path::new(&format!("/proc/{pid}/stat"))).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

#[test]
fn what_io_cannot_do_is_one_error() {
    let home = Home::new();
    let mut command = home.command(["measure", "io", "--quiet"]);
    command.env("PATH", "/no/such/directory");
    crate::common::finish(command)
        .error(5, &["fio is not installed"])
        .hinted();
    for args in [
        "--runtime 1ms",
        "--block-size 100",
        "--size 1K",
        "--engine posix",
        "--depth 0",
    ] {
        let words = ["measure", "io", "--quiet"].into_iter();
        home.run(words.chain(args.split_whitespace()))
            .error(2, &[args.split_whitespace().next().unwrap()]);
    }
    if fio() {
        let nowhere = Path::new("/no/such/directory").display().to_string();
        home.run(["measure", "io", "--quiet", "--directory", &nowhere])
            .error(
                2,
                &["--directory /no/such/directory: cannot create a file of 1G there"],
            );
    }
    assert!(home.list().is_empty());
}
