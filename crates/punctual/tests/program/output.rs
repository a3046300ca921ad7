// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where output goes: results to standard output alone, everything else to standard error.

use std::fs::{self, File};
use std::os::unix::fs::FileTypeExt as _;
use std::process::{Command, Stdio};

use crate::common::{Home, QUICK, finish, machine, program};

const SHORT: &str = "measure wakeup --threads 1 --duration 2500ms --priority o --dma-latency off";

#[test]
fn json_is_one_document_and_quiet_is_silent() {
    let home = Home::new();
    let answer = home.run(QUICK);
    answer.record();
    let invalid = answer.code() == 1;
    let silent = answer.stderr.is_empty();
    assert!(
        silent || invalid && answer.stderr.starts_with("Invalid run: "),
        "{answer:#?}"
    );
    assert!(answer.stdout.starts_with('{') && answer.stdout.ends_with("}\n"));
    for line in [
        "runs list --json",
        "runs show --json",
        "runs export last -f json",
    ] {
        let answer = home.run(line.split_whitespace());
        answer.fine().json();
        assert!(answer.stderr.is_empty(), "{answer:#?}");
    }
}

#[test]
fn a_summary_in_the_place_of_samples_is_said() {
    const REMARK: &str = "No samples are stored; this is the summary of each thread.\n";
    let home = Home::new();
    home.quick(&[]);
    let export = ["runs", "export", "last", "--format=csv"];
    let answer = home.run(export);
    assert_eq!(answer.fine().stderr, REMARK);
    let asked = home.run(export.into_iter().chain(["--data=summary"]));
    assert_eq!(asked.fine().stderr, "");
    assert_eq!(asked.stdout, answer.stdout);
    home.quick(&["--raw"]);
    assert_eq!(home.run(export).fine().stderr, "");
}

#[test]
fn progress_is_plain_lines_where_there_is_no_terminal() {
    let home = Home::new();
    let answer = home.run(SHORT.split_whitespace());
    assert!(
        answer.stderr.contains("measuring with 1 thread\n"),
        "{answer:#?}"
    );
    // After a second, or some more where the machine stalls.
    let is_progress = |line: &str| line.contains(": 00:0") && line.contains(" samples");
    assert!(answer.stderr.lines().any(is_progress), "{answer:#?}");
    assert!(answer.stderr.contains("completed after"), "{answer:#?}");
    for text in [&answer.stderr, &answer.stdout] {
        assert!(
            !text.contains('\u{1b}') && !text.contains('\r'),
            "{answer:#?}"
        );
    }
    assert!(answer.stdout.contains("Recorded as "), "{answer:#?}");
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let home = Home::new();
    home.measure("--priority o --dma-latency off --samples 20000 --interval 20us --raw");
    for format in ["csv", "json", "parquet"] {
        let args = ["runs", "export", "last", "--format", format];
        let mut child = home
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{format}: {output:?}");
        assert!(output.stderr.is_empty(), "{format}: {output:?}");
    }
    for line in ["runs list", "runs show", "runs show --json"] {
        let mut child = home
            .command(line.split_whitespace())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}: {output:?}");
        assert!(output.stderr.is_empty(), "{line}: {output:?}");
    }
}

#[test]
fn output_that_cannot_be_written_is_an_error_and_the_run_is_kept() {
    let home = Home::new();
    let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    let to_full = |args: &[&str]| {
        let mut command = home.command(args);
        command.stdout(full()).stderr(Stdio::piped());
        // Not `finish`, which takes standard output.
        let output = command.spawn().unwrap().wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {stderr}");
        assert_eq!(stderr.matches("Error: ").count(), 1, "{args:?}: {stderr}");
        assert!(stderr.contains("No space left"), "{args:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{args:?}: {stderr}");
        stderr
    };
    let said = to_full(&QUICK);
    assert!(
        said.contains(&home.runs_dir().display().to_string()),
        "{said}"
    );
    assert_eq!(home.list().len(), 1);
    to_full(&["runs", "list"]);
    to_full(&["runs", "show"]);
    to_full(&["runs", "export", "last", "--format=csv"]);
    let said = to_full(&["report", "last", "--format=md"]);
    assert!(said.contains("write to standard output"), "{said}");
    to_full(&["--version"]);
    to_full(&["help"]);
    to_full(&["measure", "--help"]);
    if machine::root() {
        to_full(&["cyclictest", "-q", "-l", "20", "-p", "80"]);
        to_full(&["cyclictest", "-l", "20", "-p", "80"]);
    }
}

#[test]
fn a_closed_standard_output_or_error_harms_nothing() {
    let home = Home::new();
    for redirection in [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full"] {
        let script = format!("exec \"$0\" \"$@\" {redirection}");
        let mut command = Command::new("sh");
        command
            .args(["-c", &script])
            .arg(program())
            .args(QUICK)
            .env("PUNCTUAL_HOME", home.store());
        let answer = finish(command);
        assert!(
            [0, 1].contains(&answer.code()),
            "{redirection}: {answer:#?}"
        );
    }
    assert_eq!(home.list().len(), 5);
    assert!(home.list().iter().all(|run| run["figures"]["count"] == 20));
}

#[test]
fn an_export_overwrites_only_when_told_to() {
    let home = Home::new();
    home.quick(&["--raw"]);
    let path = home.dir().join("samples.csv");
    fs::write(&path, "precious").unwrap();
    let name = path.to_str().unwrap();
    let args = ["runs", "export", "last", "--format=csv", "--output", name];
    home.run(args).error(1, &[name, "--force"]).hinted();
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    home.run(args.into_iter().chain(["--force"])).fine();
    let text = fs::read(&path).unwrap();
    assert_eq!(text.split(|byte| *byte == b'\n').count(), 22);

    let nowhere = home.dir().join("none/samples.csv");
    let nowhere = nowhere.to_str().unwrap();
    home.run([
        "runs",
        "export",
        "last",
        "--format=csv",
        "--output",
        nowhere,
    ])
    .error(1, &[nowhere, "No such file"]);
    let dir = home.dir().to_str().unwrap();
    for force in [&[][..], &["--force"]] {
        let args = ["runs", "export", "last", "--format=csv", "--output", dir];
        home.run(args.iter().chain(force)).error(1, &[dir]);
    }
    assert_eq!(fs::read_dir(home.dir()).unwrap().count(), 2);
}

#[test]
fn a_pipe_that_has_a_name_is_written_to_and_stays() {
    let home = Home::new();
    home.quick(&["--raw"]);
    let pipe = home.dir().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read(pipe).unwrap()
    });
    let args = ["runs", "export", "last", "--format=csv", "--force"];
    let mut command = home.command(args);
    command.arg("--output").arg(&pipe);
    finish(command).fine();
    // Before the reader is waited for, who would wait for ever.
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    let text = reader.join().unwrap();
    assert_eq!(text.split(|byte| *byte == b'\n').count(), 22);
}

#[test]
fn an_export_to_a_full_disk_leaves_nothing() {
    if !machine::root() {
        return;
    }
    let home = Home::new();
    home.measure("--priority o --dma-latency off --samples 5000 --interval 20us --raw");
    let dir = home.dir().join("disk");
    let _disk = machine::Tmpfs::mount(&dir, "64k");
    let path = dir.join("samples.csv");
    let path = path.to_str().unwrap();
    home.run(["runs", "export", "last", "--format=csv", "--output", path])
        .error(1, &["No space left"]);
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
}
