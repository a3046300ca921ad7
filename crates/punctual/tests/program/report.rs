// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Reports: what they are made of, what is refused, and the page in a browser.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::browser::Browser;
use crate::common::{Home, finish, machine, stored};

/// Puts `runs` copies of the last run into the store, under ids and names of their own.
fn multiply(home: &Home, runs: u32, name: &str) {
    let answer = home.run(["runs", "show", "last", "--json"]);
    let mut record = answer.fine().json();
    let from = home.runs_dir().join(record["id"].as_str().unwrap());
    for number in 0..runs {
        let id = format!("019aa0f0-1234-7abc-8def-{number:012x}");
        let to = home.runs_dir().join(&id);
        fs::create_dir(&to).unwrap();
        for file in fs::read_dir(&from).unwrap() {
            let file = file.unwrap().path();
            fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
        }
        record["id"] = id.into();
        record["name"] = format!("{name}-{number}").into();
        fs::write(to.join("run.json"), record.to_string()).unwrap();
    }
}

/// Measures with four threads for a second.
fn four_threads(home: &Home) {
    home.run([
        "measure",
        "wakeup",
        "--priority=o",
        "--dma-latency=off",
        "--pin=none",
        "--threads=4",
        "--interval=200us",
        "--samples=5500",
        "--quiet",
        "--json",
    ]);
}

#[test]
fn a_hundred_runs_of_four_threads_are_one_small_page() {
    let home = Home::aside();
    four_threads(&home);
    multiply(&home, 100, "many");
    let page = home.dir().join("many.html");
    let begin = Instant::now();
    let mut command = home.command(["report", "many-*", "-o"]);
    command.arg(&page);
    finish(command).fine();
    let bytes = fs::metadata(&page).unwrap().len();
    println!(
        "100 runs of 4 threads: {bytes} bytes in {:.2} s",
        begin.elapsed().as_secs_f64()
    );
    assert!(bytes < 2_000_000, "{bytes}");
    let text = String::from_utf8(fs::read(&page).unwrap()).unwrap();
    assert!(text.contains("many-0<") && text.contains("many-99<"));
}

#[test]
fn what_exists_is_overwritten_only_when_asked() {
    let home = Home::aside();
    home.quick(&["--name=a"]);
    let page = home.dir().join("report.html");
    let write = |more: &[&str]| {
        let mut command = home.command(["report", "a", "-o"]);
        command.arg(&page).args(more);
        finish(command)
    };
    let first = write(&[]);
    assert!(first.fine().stderr.contains("Wrote "), "{first:?}");
    assert_eq!(first.stdout, "");
    let before = fs::read(&page).unwrap();
    write(&[]).error(1, &["report.html", "exists"]).hinted();
    assert_eq!(fs::read(&page).unwrap(), before);
    fs::write(&page, "old").unwrap();
    write(&["--force"]).fine();
    assert!(fs::read(&page).unwrap().starts_with(b"<!doctype html>"));
    // No part of a file stays beside it.
    let left = fs::read_dir(home.dir()).unwrap();
    let parts = left.filter(|f| {
        f.as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .contains(".part")
    });
    assert_eq!(parts.count(), 0);
}

#[test]
fn what_cannot_be_reported_is_one_error() {
    let home = Home::aside();
    home.quick(&["--name=a"]);
    home.run(["report"]).error(2, &["WHAT"]);
    home.run(["report", "a"])
        .error(2, &["report a: name the file to write"])
        .hinted();
    home.run(["report", "", "-o", "-"]).error(2, &["empty"]);
    home.run(["report", "nobody", "-o", "-"])
        .error(2, &["nobody"])
        .hinted();
    home.run(["report", "no-*", "-o", "-"])
        .error(2, &["no-*"])
        .hinted();
    home.run(["report", "tag:x", "-o", "-"])
        .error(2, &["tag:KEY=VALUE"]);
    home.run(["report", "a", "-o", "/proc/none/report.html"])
        .error(1, &["/proc/none/report.html"]);
    home.run(["report", "a", "--svg", "/proc/none"])
        .error(1, &["/proc/none"]);
    home.run(["report", "a", "-o", "-", "--compare"])
        .error(2, &["two groups"]);
    let file = home.dir().join("other.json");
    for (text, says) in [
        ("{", "EOF"),
        ("{\"format\": \"punctual.comparison/1\"}", "method"),
        ("[]", "other.json"),
    ] {
        fs::write(&file, text).unwrap();
        let mut command = home.command(["report", "-o", "-"]);
        command.arg(&file);
        finish(command).error(1, &["other.json", says]);
    }
    let empty = Home::aside();
    empty.run(["report", "last", "-o", "-"]).error(2, &[]);
}

#[test]
fn pictures_and_markdown_are_the_same_report() {
    let home = Home::aside();
    home.quick(&["--name=a"]);
    let (svg, png) = (home.dir().join("svg"), home.dir().join("png"));
    let mut command = home.command(["report", "a"]);
    command.arg("--svg").arg(&svg).arg("--png").arg(&png);
    finish(command).fine();
    let names = |dir: &Path| {
        let mut names: Vec<String> = fs::read_dir(dir)
            .unwrap()
            .map(|f| {
                f.unwrap()
                    .path()
                    .file_stem()
                    .unwrap()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(&svg), names(&png));
    assert!(names(&svg).contains(&"wakeup-distribution-ccdf".to_owned()));
    for name in names(&svg) {
        let text = String::from_utf8(fs::read(svg.join(format!("{name}.svg"))).unwrap()).unwrap();
        assert!(
            text.starts_with("<svg ")
                && (text.contains("20 samples") || text.contains("1 stretch")),
            "{name}"
        );
        let bytes = fs::read(png.join(format!("{name}.png"))).unwrap();
        assert!(
            bytes.starts_with(b"\x89PNG") && bytes.len() > 5_000,
            "{name}"
        );
    }
    let mut again = home.command(["report", "a", "--svg"]);
    again.arg(&svg);
    finish(again).error(1, &["exists"]).hinted();
    let text = home.run(["report", "a", "--format", "md"]);
    assert!(
        text.fine().stdout.starts_with("# wakeup run a\n"),
        "{}",
        text.stdout
    );
    assert!(text.stdout.contains("| p50 |") && text.stdout.contains('█'));
}

#[test]
fn runs_that_are_named_one_by_one_do_not_look_alike() {
    let home = Home::aside();
    for name in ["k-6.1", "k-6.12", "zero"] {
        let file = home.dir().join(name);
        let text = "# Histogram\n000005 000010\n# Total: 000000010\n# Min Latencies: 00005\n\
                    # Avg Latencies: 00005\n# Max Latencies: 00005\n# Histogram Overflows: 00000\n";
        fs::write(&file, text).unwrap();
        home.run(["runs", "import", file.to_str().unwrap(), "--name", name])
            .fine();
    }
    let colours = |args: &[&str]| -> Vec<u64> {
        let page = home.run(["report", "-o", "-"].iter().chain(args));
        let (_, data) = page.fine().stdout.split_once("id=\"data\">").unwrap();
        let data: Value = serde_json::from_str(data.split("</script>").next().unwrap()).unwrap();
        let series = data[0]["s"].as_array().unwrap().iter();
        let mut whole: Vec<&Value> = series.filter(|s| s["w"] == 1).collect();
        whole.sort_by_key(|s| s["r"].as_str().unwrap());
        let colour = |s: &Value| s["lk"][0].as_u64().unwrap();
        whole.into_iter().map(colour).collect()
    };
    assert_eq!(colours(&["k-6.1", "k-6.12", "zero"]), [0, 1, 2]);
    assert_eq!(colours(&["k-*", "zero"]), [0, 0, 1]);
    // Of one argument, names make the groups.
    let all = colours(&["*"]);
    assert!(all[0] == all[1] && all[1] != all[2], "{all:?}");
}

#[test]
fn a_run_is_drawn_in_characters() {
    let home = Home::aside();
    home.quick(&["--name=a"]);
    let answer = home.run(["runs", "show", "a"]);
    let text = &answer.fine().stdout;
    let rows: Vec<&str> = text.lines().filter(|l| l.starts_with(" from ")).collect();
    let count = |row: &&str| -> u64 {
        row[15..]
            .split_whitespace()
            .next()
            .unwrap()
            .parse()
            .unwrap()
    };
    assert_eq!(rows.iter().map(count).sum::<u64>(), 20, "{text}");
    assert!(rows.iter().any(|row| row.contains('█')), "{text}");
}

/// Makes what has other charts than wake-ups: rows with intervals, a matrix, curves of figures, a sweep, a front.
fn other_kinds(home: &Home) {
    let words = |line: &str| line.split(' ').map(ToOwned::to_owned).collect::<Vec<_>>();
    for line in [
        "measure ipc --priority=o --dma-latency=off --mlock=off --duration=2s --interval=5ms",
        "measure linpack --order=64,100,200 --repeats=3",
        "measure memory --size=1M --repeats=3 --kernels=copy,chase",
    ] {
        let more = ["--tag=of=kinds", "--quiet", "--json"].map(ToOwned::to_owned);
        home.run(words(line).into_iter().chain(more)).json();
    }
    let path = home.dir().join("sweep.toml");
    let text = r#"
name = "sweep"
repeat-invalid = 0
compare = ["p50", "p99"]

[[measure]]
instrument = "wakeup"
options = { priority = "o", dma-latency = "off", threads = 1, samples = 120 }

[[factor]]
name = "interval"
option = "interval"
levels = ["500us", "1ms", "2ms"]

[[factor]]
name = "mlock"
option = "mlock"
levels = ["off", "on"]

[stop]
blocks = 4
"#;
    fs::write(&path, text).unwrap();
    // Whatever others do meanwhile that makes its runs invalid: a breakpoint in the C library costs a page fault.
    let run = home.run(["experiment", "run", path.to_str().unwrap(), "--quiet"]);
    assert!(run.stdout.contains("24 of 24 runs done"), "{run:#?}");
}

/// Measures for a while, and stops the program in the middle of it for 60 ms.
fn stalled(home: &Home, args: &[&str]) {
    let begin = [
        "measure",
        "wakeup",
        "--priority=o",
        "--dma-latency=off",
        "--pin=none",
        "--threads=2",
        "--interval=1ms",
        "--duration=2600ms",
        "--quiet",
        "--json",
    ];
    let running = home.start(begin.iter().chain(args)).measuring();
    std::thread::sleep(Duration::from_millis(1_300));
    running.signal("STOP");
    std::thread::sleep(Duration::from_millis(60));
    running.signal("CONT");
    running.wait().record();
}

/// The directory of the run of that name.
fn run_dir(home: &Home, name: &str) -> PathBuf {
    let record = home.run(["runs", "show", name, "--json"]);
    let id = record.fine().json()["id"].as_str().unwrap().to_owned();
    home.runs_dir().join(id)
}

/// Copies a run as an older version would have stored it: without the last progress.
fn older(home: &Home, name: &str, to: &str) {
    let from = run_dir(home, name);
    let mut record: Value =
        serde_json::from_slice(&fs::read(from.join("run.json")).unwrap()).unwrap();
    record["id"] = to.into();
    record["name"] = "older".into();
    let dir = home.runs_dir().join(to);
    fs::create_dir(&dir).unwrap();
    fs::copy(from.join("latency.hlog"), dir.join("latency.hlog")).unwrap();
    fs::write(dir.join("run.json"), record.to_string()).unwrap();
    let mut unpack = Command::new("zstd");
    unpack.arg("-dcq").arg(from.join("events.jsonl.zst"));
    let text = String::from_utf8(unpack.output().unwrap().stdout).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let last = lines
        .iter()
        .rposition(|l| l.contains(r#""event":"progress""#));
    lines.remove(last.unwrap());
    let plain = dir.join("events.jsonl");
    fs::write(&plain, lines.join("\n") + "\n").unwrap();
    let packed = Command::new("zstd")
        .args(["-q", "--rm"])
        .arg(&plain)
        .status();
    assert!(packed.unwrap().success());
}

#[test]
fn the_largest_samples_over_time_are_those_of_the_files_of_the_run() {
    if !machine::has_tool("python3") || !machine::has_tool("zstd") {
        return;
    }
    let home = Home::aside();
    stalled(&home, &["--name=told"]);
    stalled(&home, &["--name=raw", "--raw"]);
    older(&home, "told", "019aa0f0-1234-7abc-8def-000000000001");
    let check = |names: &[&str]| {
        let page = home.dir().join("maxima.html");
        let mut command = home.command(["report", "--force", "-o"]);
        command.arg(&page).args(names);
        finish(command).fine();
        let mut command = Command::new("python3");
        command
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/check-maxima.py"))
            .arg(&page)
            .args(names.iter().map(|name| run_dir(&home, name)));
        let answer = finish(command);
        println!("{}", answer.fine().stdout);
    };
    check(&["told"]);
    check(&["raw"]);
    check(&["older"]);
    check(&["told", "raw", "older"]);
    // The largest is of the stall: no part of it lies before.
    let text = home.run(["runs", "show", "told"]);
    let max = home.run(["runs", "show", "told", "--json"]).json()["total"]["max_ns"].clone();
    #[expect(clippy::cast_precision_loss, reason = "a latency")]
    let max = format!(" .. {:.1} µs", max.as_u64().unwrap() as f64 / 1e3);
    assert!(text.fine().stdout.contains(&max), "{max}: {}", text.stdout);
}

#[test]
fn a_page_of_deadlines_has_distributions_and_the_largest_over_time() {
    let home = Home::aside();
    let args = "measure deadline --quiet --json --priority=o --dma-latency=off --iteration=1ms \
                --deadline=1ns --duration=1200ms --name=late";
    home.run(args.split_whitespace()).record();
    let charts = || -> Vec<String> {
        let answer = home.run(["report", "late", "--format", "md"]);
        let lines = answer.fine().stdout.lines();
        let titles = lines.filter_map(|line| line.strip_prefix("### "));
        titles.map(ToOwned::to_owned).collect()
    };
    let wanted = ["Response time by kind", "Largest response time over time"];
    let drawn = charts();
    for title in wanted {
        assert!(drawn.iter().any(|t| t == title), "{title}: {drawn:?}");
    }
    // As an older version named the histograms.
    let log = run_dir(&home, "late").join("latency.hlog");
    let text = String::from_utf8(fs::read(&log).unwrap()).unwrap();
    assert!(text.contains("Tag=0/response,") && text.contains("Tag=0/lateness,"));
    let old = text.replace("Tag=0/", "Tag=0-");
    fs::write(&log, old).unwrap();
    assert_eq!(charts(), drawn);
}

#[test]
fn an_experiment_of_one_cell_is_reported_by_its_runs() {
    let home = Home::aside();
    let path = home.dir().join("single.toml");
    let text = r#"
name = "single"
repeat-invalid = 0
compare = ["p50"]

[[measure]]
instrument = "wakeup"
options = { priority = "o", dma-latency = "off", threads = 1, samples = 40 }

[stop]
blocks = 3
"#;
    fs::write(&path, text).unwrap();
    home.run(["experiment", "run", path.to_str().unwrap(), "--quiet"]);
    let answer = home.run(["report", "single", "--format", "md"]);
    let text = &answer.fine().stdout;
    assert!(text.starts_with("# 3 runs\n"), "{text}");
}

/// Puts the cells of the experiment where the name of one once ran into that of another: it is wider than most of its length.
fn crowd(page: &Path) {
    let text = machine::read(page).unwrap();
    let (before, rest) = text.split_once(" id=\"data\"").unwrap();
    let (tag, rest) = rest.split_once('>').unwrap();
    let (data, after) = rest.split_once("</script>").unwrap();
    let mut charts: Vec<Value> = serde_json::from_str(data).unwrap();
    let is_front = |chart: &&mut Value| chart["id"] == "sweep-front";
    let front = charts.iter_mut().find(is_front).unwrap();
    let places = [
        ("interval=1ms mlock=off", 59.427_534_8, 3_996.635_907),
        ("interval=2ms mlock=off", 57.106_288_2, 5_706.571_561),
        ("interval=500us mlock=off", 61.548_911_1, 7_973.454_319),
        ("interval=500us mlock=on", 149.064_802_3, 7_818.375_066),
        ("interval=1ms mlock=on", 110.500_286_8, 17_412.959_834),
        ("interval=2ms mlock=on", 105.232_847_6, 4_649.424_942),
    ];
    let mut moved = 0;
    for series in front["s"].as_array_mut().unwrap() {
        for point in series["p"].as_array_mut().unwrap() {
            let (_, x, y) = places.iter().find(|(name, ..)| point[5] == *name).unwrap();
            (point[0], point[1]) = ((*x).into(), (*y).into());
            moved += 1;
        }
    }
    assert_eq!(moved, places.len());
    let data = serde_json::to_string(&charts)
        .unwrap()
        .replace('<', "\\u003c");
    let page_of = format!("{before} id=\"data\"{tag}>{data}</script>{after}");
    fs::write(page, page_of).unwrap();
}

#[test]
fn the_page_works_in_a_browser() {
    let Some(browser) = Browser::new() else {
        return;
    };
    let mut home = Home::aside();
    for (samples, name) in [
        (500, "a-1"),
        (500, "a-2"),
        (500, "b-1"),
        (500, "b-2"),
        (100, "-1+cmd|'x'!A0</script><b>&"),
    ] {
        let samples = format!("--samples={samples}");
        let name = format!("--name={name}");
        let args = [
            "--threads=2",
            "--pin=none",
            "--interval=200us",
            "--json",
            "--quiet",
        ];
        let args = ["measure", "wakeup", "--priority=o", "--dma-latency=off"]
            .into_iter()
            .chain(args)
            .chain([samples.as_str(), name.as_str()]);
        home.run(args).record();
    }
    let make = |file: &str, args: &[&str]| {
        let mut command = home.command(["report", "--force", "-o"]);
        command.arg(browser.page(file)).args(args);
        finish(command).fine();
    };
    // The last of them, which no path can name.
    stored::vouch_for(&home.store());
    make("runs.html", &["a-1", "b-1", "last"]);
    make("compare.html", &["--compare", "a-*", "b-*"]);
    other_kinds(&home);
    stored::vouch_for(&home.store());
    make("kinds.html", &["tag:of=kinds", "sweep"]);
    crowd(&browser.page("kinds.html"));
    // More curves than there are looks, each of them with a key.
    let threads = [
        "--threads=26",
        "--pin=none",
        "--samples=100",
        "--name=threads",
    ];
    let measure = [
        "measure",
        "wakeup",
        "--priority=o",
        "--dma-latency=off",
        "--quiet",
        "--json",
    ];
    home.run(measure.into_iter().chain(threads)).record();
    stored::vouch_for(&home.store());
    make("threads.html", &["threads"]);
    // A hundred curves at one place, and maxima of a single moment.
    four_threads(&home);
    stored::vouch_for(&home.store());
    multiply(&home, 100, "many");
    make("many.html", &["many-*"]);
    home.gives_way();
    let used = ["runs.html", "compare.html"].map(|file| browser.page(file));
    let looked_at = ["many.html", "kinds.html", "threads.html"].map(|file| browser.page(file));
    let look = [PathBuf::from("--look")];
    browser.opens(used.iter().chain(&look).chain(&looked_at));
}
