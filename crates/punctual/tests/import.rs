// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `runs import`, and exports in the formats that it reads.
#![expect(clippy::unwrap_used, reason = "test helpers")]

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../peers/tests/golden")
        .join(name)
}

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command
            .env_remove("PUNCTUAL_HOME")
            .arg("--home")
            .arg(self.0.path().join("store"));
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command().args(args).output().unwrap()
    }

    fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {err}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn import(&self, file: &Path) -> String {
        let text = self.ok(&["runs", "import", file.to_str().unwrap()]);
        text.split_whitespace().next().unwrap().to_owned()
    }

    fn record(&self, id: &str) -> Value {
        serde_json::from_str(&self.ok(&["runs", "show", id, "--json"])).unwrap()
    }

    fn count(&self) -> usize {
        let list: Value = serde_json::from_str(&self.ok(&["runs", "list", "--json"])).unwrap();
        list["runs"].as_array().unwrap().len()
    }
}

#[test]
fn an_imported_run_says_so_first_and_works_everywhere() {
    let home = Home::new();
    let id = home.import(&golden("cyclictest-2.4-hist.json"));
    let text = home.ok(&["runs", "show", &id]);
    assert!(
        text.starts_with("imported, not checked: ")
            && text.contains("by cyclictest")
            && text.contains("cyclictest 2.40 made it"),
        "{text}"
    );
    assert!(!text.contains("INVALID"));
    let record = home.record(&id);
    assert_eq!(record["format"], "punctual.run/2");
    assert_eq!(record["valid"], false);
    assert_eq!(record["checks"][0]["status"], "unknown");
    assert!(record["spec"].is_null() && record["total"]["overruns"].is_null());
    assert_eq!(record["total"]["clamped"], 3);
    let list = home.ok(&["runs", "list"]);
    assert!(
        list.contains("imported") && !list.contains("INVALID"),
        "{list}"
    );
    let csv = home.ok(&["runs", "export", &id, "-f", "csv", "--data", "histogram"]);
    assert!(csv.contains("\n0,23000,23999,3\n"), "{csv}");
    assert!(
        home.ok(&["runs", "export", &id, "-f", "hdr"])
            .starts_with("#[Histogram log")
    );
    home.ok(&["runs", "export", &id, "-f", "csv"]);
    let schema: Value =
        serde_json::from_str(include_str!("../../../docs/schemas/run.schema.json")).unwrap();
    assert!(jsonschema::is_valid(&schema, &record));
}

#[test]
fn the_spikes_of_a_file_are_exported() {
    let home = Home::new();
    let id = home.import(&golden("cyclictest-2.4-spike.out"));
    let csv = home.ok(&["runs", "export", &id, "-f", "csv", "--data", "spikes"]);
    assert_eq!(csv.lines().count(), 9);
    assert!(csv.contains("\n0,2209601418000,54000\n"), "{csv}");
    let none = home.import(&golden("cyclictest-2.4-quiet.out"));
    let output = home.run(&["runs", "export", &none, "-f", "csv", "--data", "spikes"]);
    assert_eq!(output.status.code(), Some(1));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("has no list of spikes"), "{err}");
}

#[test]
fn the_samples_of_a_log_have_no_time_and_no_cpu() {
    let home = Home::new();
    let id = home.import(&golden("cyclictest-2.4-verbose.out"));
    let csv = home.ok(&["runs", "export", &id, "-f", "csv", "--data", "samples"]);
    assert!(
        csv.starts_with("thread,cpu,t_ns,latency_ns\n0,,,37000\n0,,,45000\n"),
        "{csv}"
    );
    assert_eq!(
        u64::try_from(csv.lines().count() - 1).unwrap(),
        home.record(&id)["total"]["count"].as_u64().unwrap()
    );
    let json = home.ok(&["runs", "export", &id, "-f", "json", "--data", "samples"]);
    assert!(json.contains("{\"thread\":0,\"cpu\":null,\"t_ns\":null,\"latency_ns\":37000}"));
    let file = home.0.path().join("samples.parquet");
    home.ok(&[
        "runs",
        "export",
        &id,
        "-f",
        "parquet",
        "-o",
        file.to_str().unwrap(),
    ]);
    assert!(fs::metadata(file).unwrap().len() > 0);
}

#[test]
fn a_file_that_fails_imports_nothing_and_stops_no_other() {
    let home = Home::new();
    let bad = home.0.path().join("bad.log");
    fs::write(
        &bad,
        "       0:       0:      37\n       0:       2:      45\n",
    )
    .unwrap();
    let good = golden("cyclictest-2.4-quiet.out");
    let paths = [
        bad.to_str().unwrap(),
        good.to_str().unwrap(),
        "/nowhere/at.all",
    ];
    let args = [&["runs", "import", "--json"], &paths[..]].concat();
    let output = home.run(&args);
    assert_eq!(output.status.code(), Some(1));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(
        err.contains("line 2: cycle 2 of thread 0 appears where 1 is expected"),
        "{err}"
    );
    assert!(
        err.contains("failed to import /nowhere/at.all") && err.contains("Hint:"),
        "{err}"
    );
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    let schema: Value =
        serde_json::from_str(include_str!("../../../docs/schemas/imports.schema.json")).unwrap();
    assert!(jsonschema::is_valid(&schema, &list));
    assert!(list["files"][0]["id"].is_null() && list["files"][1]["failed"].is_null());
    assert_eq!(home.count(), 1);
}

#[test]
fn a_device_is_no_file() {
    let home = Home::new();
    for device in ["/dev/zero", "/dev/null"] {
        let output = home.run(&["runs", "import", device]);
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{err}");
        assert!(err.contains("it is a device, not a file"), "{err}");
    }
    assert_eq!(home.count(), 0);
}

#[test]
fn standard_input_and_a_forced_format() {
    let home = Home::new();
    let input = fs::File::open(golden("cyclictest-2.10-hist.out")).unwrap();
    let output = home
        .command()
        .args([
            "runs",
            "import",
            "-",
            "--format",
            "cyclictest-hist",
            "--name",
            "old",
        ])
        .stdin(Stdio::from(input))
        .output()
        .unwrap();
    assert!(output.status.success());
    assert_eq!(home.record("old")["origin"]["file"], "-");
    let wrong = golden("cyclictest-2.10-hist.out");
    let args = [
        "runs",
        "import",
        wrong.to_str().unwrap(),
        "--format",
        "rteval",
    ];
    assert_eq!(home.run(&args).status.code(), Some(1));
    assert_eq!(
        home.run(&["runs", "import", "x", "--format", "xyz"])
            .status
            .code(),
        Some(2)
    );
    assert_eq!(home.count(), 1);
}

/// Exports a run in every format of another tool and imports that again.
fn round_trip(home: &Home, id: &str) {
    let buckets = |id: &str| home.ok(&["runs", "export", id, "-f", "csv", "--data", "histogram"]);
    let mut first: Option<String> = None;
    for format in [
        "cyclictest-hist",
        "cyclictest-json",
        "jitterdebugger",
        "rteval",
    ] {
        let file = home.0.path().join(format);
        home.ok(&[
            "runs",
            "export",
            id,
            "-f",
            format,
            "-o",
            file.to_str().unwrap(),
        ]);
        let again = home.import(&file);
        let table = buckets(&again);
        let expected = first.get_or_insert_with(|| table.clone());
        assert_eq!(&table, expected, "{format}");
        let (was, is) = (home.record(id), home.record(&again));
        assert_eq!(was["total"]["count"], is["total"]["count"], "{format}");
        fs::remove_file(file).unwrap();
    }
    if home.record(id)["origin"].is_object() {
        assert_eq!(first.unwrap(), buckets(id));
    }
}

#[test]
fn what_is_exported_is_imported_with_the_same_buckets() {
    let home = Home::new();
    for name in [
        "cyclictest-2.4-histofall.out",
        "cyclictest-2.10-rteval.out",
        "cyclictest-2.6-hist.json",
    ] {
        round_trip(&home, &home.import(&golden(name)));
    }
    let quick = [
        "measure",
        "wakeup",
        "--priority=o",
        "--dma-latency=off",
        "--threads=2",
        "--samples=50",
        "--quiet",
        "--json",
    ];
    for raw in [&[][..], &["--raw"]] {
        let output = home.run(&[&quick[..], raw].concat());
        let record: Value = serde_json::from_slice(&output.stdout).unwrap();
        round_trip(&home, record["id"].as_str().unwrap());
    }
    let wide = home.import(&golden("rtla-osnoise-hist.txt"));
    assert_eq!(
        home.run(&["runs", "export", &wide, "-f", "cyclictest-hist"])
            .status
            .code(),
        Some(1)
    );
}

#[test]
fn the_name_of_a_file_commands_no_terminal() {
    let home = Home::new();
    let file = home.0.path().join("a\u{1b}[2Jb\u{202e}.out");
    fs::copy(golden("cyclictest-2.4-quiet.out"), &file).unwrap();
    let text = home.ok(&["runs", "import", file.to_str().unwrap()]);
    assert!(
        text.contains("a\u{fffd}[2Jb\u{fffd}.out") && !text.contains('\u{1b}'),
        "{text:?}"
    );
}

/// Imports what `write` writes to standard input, where no more than 1 GB of memory is to be had.
/// Returns what is said of it. The program must not die.
fn bomb(home: &Home, format: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    let store = home.0.path().join("store");
    let mut child = Command::new("sh")
        .args(["-c", "ulimit -v 1000000; exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_punctual"))
        .args(["--home", store.to_str().unwrap(), "runs", "import", "-"])
        .args(["--format", format])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = io::BufWriter::with_capacity(1 << 16, child.stdin.take().unwrap());
    // It may have seen enough before the end.
    drop(write(&mut stdin).and_then(|()| stdin.flush()));
    drop(stdin.into_parts());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let status = output.status.code();
    assert!(
        status == Some(0) || status == Some(1) && said.starts_with("Error: failed to import"),
        "{format}: {:?} {said}",
        output.status
    );
    said
}

#[test]
fn no_file_takes_more_memory_than_there_is() {
    let home = Home::new();
    let again = |out: &mut dyn Write, text: &[u8], times: usize| {
        (0..times).try_for_each(|_| out.write_all(text))
    };
    let long = [b'x'; 1 << 16];
    for start in ["<rteval version=\"3\"><run_info><annotate>", "<rteval a=\""] {
        let said = bomb(&home, "rteval", |out| {
            out.write_all(start.as_bytes())?;
            again(out, &long, 1 << 16)
        });
        assert!(said.contains("longer than 1024 KiB"), "{said}");
    }
    let said = bomb(&home, "cyclictest-hist", |out| again(out, &long, 1 << 16));
    assert!(said.contains("longer than any"), "{said}");
    let said = bomb(&home, "cyclictest-hist", |out| {
        out.write_all(b"# Histogram\n# Total:")?;
        again(out, b" 1", 4_000_000)?;
        out.write_all(b"\n")
    });
    assert!(said.contains("more than 4096 columns"), "{said}");
    let said = bomb(&home, "cyclictest-json", |out| {
        out.write_all(b"{\"thread\":{\"0\":{\"histogram\":{\"0\":1")?;
        (1..3_000_000).try_for_each(|n| write!(out, ",\"{n}\":1"))
    });
    assert!(said.contains("more than 2000000 entries"), "{said}");
    // Its command line would be six times as long where it is escaped.
    let said = bomb(&home, "oslat-json", |out| {
        out.write_all(b"{\"cmdline:\": \"")?;
        again(out, &[1; 1 << 16], 1_000)?;
        out.write_all(b"\",\n")
    });
    assert!(said.contains("line 1: "), "{said}");
    // As many threads as there can be, with the longest latencies: nothing is wrong with it.
    let said = bomb(&home, "rtla-hist", |out| {
        let row = |name: &str, cell: &str| format!("{name} {}\n", [cell; 4_096].join(" "));
        writeln!(
            out,
            "# RTLA timerlat histogram\n# Time unit is microseconds (us)"
        )?;
        let heading: Vec<_> = (0..4_096).map(|cpu| format!("Thr-{cpu}")).collect();
        writeln!(out, "Index {}", heading.join(" "))?;
        for (name, cell) in [
            ("1", "1"),
            ("over:", "1"),
            ("count:", "2"),
            ("min:", "1"),
            ("avg:", "500000000"),
            ("max:", "1000000000"),
        ] {
            out.write_all(row(name, cell).as_bytes())?;
        }
        Ok(())
    });
    assert_eq!(said, "");
}

#[test]
fn a_directory_of_old_results_gets_its_dates_from_where_they_are() {
    let home = Home::new();
    let dir = home.0.path().join("old");
    fs::create_dir_all(dir.join("2024-05-17")).unwrap();
    let stated = golden("cyclictest-2.4-hist.json");
    let silent = String::from_utf8(fs::read(golden("cyclictest-2.4-hist.out")).unwrap()).unwrap();
    fs::copy(stated, dir.join("a.json")).unwrap();
    fs::write(dir.join("hist-20240518T0310.out"), &silent).unwrap();
    fs::write(dir.join("2024-05-17/hist.out"), &silent).unwrap();
    fs::write(dir.join("README"), "of our board\n").unwrap();
    let old = dir.to_str().unwrap();
    let output = home.run(&["runs", "import", old, "--json", "--date-from", "name,mtime"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("Skipped") && said.contains("README"),
        "{said}"
    );
    assert!(
        said.contains("1 from the file; 2 from the name")
            || said.contains("2 from the name; 1 from the file"),
        "{said}"
    );
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    let of = |file: &str| {
        let files = list["files"].as_array().unwrap();
        let found = files
            .iter()
            .find(|entry| entry["file"].as_str().unwrap().ends_with(file));
        found.unwrap().clone()
    };
    assert_eq!(of("a.json")["started_from"], "content");
    assert_eq!(of("0310.out")["started"], "2024-05-18T03:10:00Z");
    assert_eq!(of("2024-05-17/hist.out")["started"], "2024-05-17T00:00:00Z");
    assert_eq!(of("README")["id"], Value::Null);
    let record = home.record(of("0310.out")["id"].as_str().unwrap());
    assert_eq!(record["origin"]["started_from"], "name");
    // Without being asked nothing is guessed.
    let none = home.run(&[
        "runs",
        "import",
        "--json",
        dir.join("hist-20240518T0310.out").to_str().unwrap(),
    ]);
    let none: Value = serde_json::from_slice(&none.stdout).unwrap();
    assert!(none["files"][0].get("started").is_none(), "{none}");
    // A directory without any result is a mistake.
    fs::create_dir(dir.join("empty")).unwrap();
    assert!(
        !home
            .run(&["runs", "import", dir.join("empty").to_str().unwrap()])
            .status
            .success()
    );
}

#[test]
fn a_directory_with_a_pipe_and_a_link_in_a_circle_is_imported_without_them() {
    let home = Home::new();
    let dir = home.0.path().join("old");
    fs::create_dir(&dir).unwrap();
    fs::copy(golden("cyclictest-2.4-hist.json"), dir.join("a.json")).unwrap();
    std::os::unix::fs::symlink("..", dir.join("circle")).unwrap();
    let made = Command::new("mkfifo")
        .arg(dir.join("pipe"))
        .status()
        .unwrap();
    assert!(made.success());
    let output = home.run(&["runs", "import", dir.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("circle: a link to a directory"), "{said}");
    assert!(said.contains("pipe: not a regular file"), "{said}");
    assert_eq!(home.count(), 1);
}

#[test]
fn an_archive_comes_from_standard_input_too() {
    let (from, to) = (Home::new(), Home::new());
    let id = from.import(&golden("cyclictest-2.4-hist.json"));
    let archive = from.0.path().join("runs.tar");
    from.ok(&["runs", "pack", "-o", archive.to_str().unwrap()]);
    let output = to
        .command()
        .args(["runs", "import", "-"])
        .stdin(Stdio::from(fs::File::open(&archive).unwrap()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(to.record(&id)["id"], id.as_str());
}

/// Writes a histogram of cyclictest: rows of `(µs, samples)` up to `end`, and `beyond` samples above them, the largest at `max`.
fn histogram(
    home: &Home,
    name: &str,
    rows: &[(u64, u64)],
    end: u64,
    beyond: (u64, u64),
) -> PathBuf {
    let counts = (0..end).map(|us| {
        let count = rows.iter().find(|row| row.0 == us).map_or(0, |row| row.1);
        format!("{us:06} {count:06}\n")
    });
    let counts: String = counts.collect();
    let counted: u64 = rows.iter().map(|row| row.1).sum();
    let sum: u64 = rows.iter().map(|(us, count)| us * count).sum();
    let (more, max) = beyond;
    let max = if more > 0 {
        max
    } else {
        rows.last().unwrap().0
    };
    let mean = (sum + more * (end + 1)) / (counted + more);
    let text = format!(
        "# /dev/cpu_dma_latency set to 0us\n# Histogram\n{counts}# Total: {counted:09}\n\
         # Min Latencies: {:05}\n# Avg Latencies: {mean:05}\n# Max Latencies: {max:05}\n\
         # Histogram Overflows: {more:05}\n",
        rows[0].0
    );
    let path = home.0.path().join(name);
    fs::write(&path, text).unwrap();
    path
}

/// Imports two files with these rows, as `one` and `two`: they differ in one sample.
fn imported(home: &Home, rows: &[(u64, u64)], beyond: (u64, u64)) {
    for (more, name) in ["one", "two"].into_iter().enumerate() {
        let mut rows = rows.to_vec();
        rows[0].1 += more as u64;
        let file = histogram(home, name, &rows, 50, beyond);
        home.ok(&["runs", "import", "--name", name, file.to_str().unwrap()]);
    }
}

/// What `compare` says of each run: its value of `metric`, and what it rules of the requirement.
fn judged(home: &Home, metric: &str, requirement: &str) -> Value {
    let args = [
        "compare", "--group", "a=one", "--group", "b=two", "--metric",
    ];
    let rest = [metric, "--require", requirement, "--json"];
    let output = home.run(&[&args[..], &rest].concat());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_last_row_below_a_limit_is_not_later() {
    let home = Home::new();
    imported(&home, &[(10, 900_000), (49, 100_000)], (0, 0));
    // The bucket of the histogram that has 49.999 µs goes up to 50.015 µs.
    for (limit, later) in [
        ("50us", 0),
        ("49us", 100_000),
        ("49999ns", 0),
        ("10us", 1_000_000),
    ] {
        let answer = judged(
            &home,
            &format!("above:{limit}"),
            &format!("no sample > {limit} in 1000"),
        );
        let result = &answer["requirements"][0]["result"];
        assert_eq!(result["above"], later, "{limit}: {answer:#}");
    }
}

/// 100 000 samples are above all rows, which end at 50 µs, and at most 5 ms.
#[test]
fn nothing_is_claimed_of_where_samples_above_all_rows_are() {
    let home = Home::new();
    imported(&home, &[(10, 900_000), (20, 10)], (100_000, 5_000));
    let answer = judged(&home, "p95,p80,above:200us", "p95 <= 200us");
    for side in answer["requirements"].as_array().unwrap() {
        let result = &side["result"];
        assert_eq!(result["ruling"], "unclaimed", "{answer:#}");
        assert!(
            result["obstacle"]
                .as_str()
                .unwrap()
                .contains("above all of its rows"),
            "{answer:#}"
        );
    }
    let known: Vec<&str> = answer["results"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|figure| figure["baseline"]["estimate"].is_f64())
        .map(|figure| figure["figure"].as_str().unwrap())
        .collect();
    assert_eq!(known, ["p80"], "{answer:#}");
    // They are above 40 µs, where a row has none, and above every row.
    for (limit, later) in [("40us", 100_000), ("15us", 100_010)] {
        let answer = judged(&home, &format!("above:{limit}"), &format!("p95 <= {limit}"));
        let result = &answer["requirements"][0]["result"];
        assert_eq!(
            (&result["ruling"], &result["above"]),
            (&"fail".into(), &later.into()),
            "{answer:#}"
        );
    }
}
