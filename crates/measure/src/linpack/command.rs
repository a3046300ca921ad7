// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Systems solved by a command that prints what HPL prints.
//!
//! Taken are lines as `WR11C2R4  4000  128  1  2  1.02  4.2e+01`: variant, order, three settings, seconds, GFLOPS;
//! and lines with the scaled residual and `PASSED` or `FAILED`, each of which belongs to the line before.

use std::process::Command;

use punctual_model::Progress;
use punctual_sys::child::Bounds;

use super::bench::Solved;
use crate::error::MeasureError;
use crate::frame::Frame;
use crate::program::{Program, Threads};

/// Runs `command` once, by the shell, on the CPUs and with the policy of the frame's set-up, and adds what was seen of its threads;
/// `None` where the run is to end first.
pub(super) fn solve(
    frame: &mut Frame<'_>,
    command: &str,
    threads: &mut Threads,
    mut progress: impl FnMut() -> Progress,
) -> Result<Option<Vec<Solved>>, MeasureError> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]);
    shell.env("OMP_NUM_THREADS", frame.setup().cpus.len().to_string());
    let bounds = Bounds {
        cpus: Some(frame.setup().cpus.clone()),
        policy: Some(frame.setup().priority),
    };
    let mut program = Program::start(command, &mut shell, &bounds, "install a shell, sh")?;
    program.look_at_threads(frame.sys());
    let lines = program.all(frame, &mut progress);
    threads.add(&program.threads());
    let Some(lines) = lines else {
        return Ok(None);
    };
    program.finish()?;
    let solved = parse(lines.iter().map(String::as_str));
    if solved.is_empty() {
        return Err(MeasureError::Program {
            program: command.to_owned(),
            reason: "printed no result line in HPL's format".to_owned(),
        });
    }
    Ok(Some(solved))
}

/// Reads HPL's results. One without a residual has one that is no number, and so fails the check.
fn parse<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Solved> {
    let mut all: Vec<Solved> = Vec::new();
    for line in lines {
        if let Some(solved) = result(line) {
            all.push(solved);
        } else if let Some(last) = all.last_mut()
            && let Some(residual) = residual(line)
        {
            last.residual = residual;
        }
    }
    all
}

fn result(line: &str) -> Option<Solved> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [variant, order, nb, p, q, seconds, gflops] = *words.as_slice() else {
        return None;
    };
    let variant = variant.strip_prefix('W')?;
    let settings = [nb, p, q].iter().all(|word| word.parse::<u64>().is_ok());
    let positive = |word: &str| {
        word.parse::<f64>()
            .ok()
            .filter(|x| x.is_finite() && *x > 0.0)
    };
    let (order, seconds, gflops) = (order.parse().ok()?, positive(seconds)?, positive(gflops)?);
    if variant.is_empty() || !settings || order == 0 {
        return None;
    }
    let mut solved = Solved {
        order,
        seconds,
        residual: f64::NAN,
    };
    // The time is printed with two decimals, the rate with five digits: the rate is the better one.
    solved.seconds = solved.gflops() * seconds / gflops;
    Some(solved)
}

/// Reads a line such as `||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=  0.0020152 ...... PASSED`.
fn residual(line: &str) -> Option<f64> {
    let (_, value) = line.split_once("*N)=")?;
    let mut words = value.split_whitespace();
    let residual = words.next()?.parse().ok()?;
    match words.next_back() {
        Some("PASSED") => Some(residual),
        _ => Some(f64::INFINITY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Found, testing};

    const OUTPUT: &str = "\
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
WR11C2R4        4000   128     1     2               0.50             8.5400e+01
HPL_pdgesv() start time Sat Nov 21 10:00:00 2026
--------------------------------------------------------------------------------
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   2.01520000e-03 ...... PASSED
WR11C2R4        8000   128     1     2               3.91             8.7300e+01
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   1.70000000e+03 ...... FAILED
WR11C2R4        2000   128     1     2               0.07             7.6000e+01
";

    #[test]
    fn what_hpl_prints_is_read() {
        let solved = parse(OUTPUT.lines());
        let orders: Vec<usize> = solved.iter().map(|s| s.order).collect();
        assert_eq!(orders, [4_000, 8_000, 2_000]);
        for (solved, gflops) in solved.iter().zip([85.4, 87.3, 76.0]) {
            assert!((solved.gflops() / gflops - 1.0).abs() < 1e-12, "{solved:?}");
        }
        assert!((solved[0].residual - 0.002_015_2).abs() < 1e-12);
        assert!(solved[1].residual.is_infinite(), "it failed");
        assert!(solved[2].residual.is_nan(), "it was not checked");
    }

    #[test]
    fn lines_that_only_look_like_results_are_none() {
        for line in [
            "",
            "W",
            "WALL 1 2 3 4 5",
            "WR11C2R4 4000 128 1 2 0.00 8.5e+01",
            "WR11C2R4 4000 128 1 2 inf nan",
            "WR11C2R4 many 128 1 2 0.5 8.5e+01",
        ] {
            assert_eq!(result(line), None, "{line}");
        }
    }

    #[test]
    fn a_command_is_run_and_read() {
        let command = format!("cat <<'EOF'\n{OUTPUT}EOF\n");
        testing::run(|frame| {
            let mut threads = Threads::default();
            let solved = solve(frame, &command, &mut threads, Progress::default)?.unwrap();
            assert_eq!(solved.len(), 3);
            let setup = frame.setup();
            assert!(threads.check("cat", setup.priority, &setup.cpus).passed());
            Ok(Found::default())
        })
        .unwrap();
    }

    #[test]
    fn a_command_whose_work_runs_otherwise_than_asked_does_not_pass() {
        // The shell runs as asked; what it starts does not.
        let command = format!("chrt -b 0 sh -c 'sleep 0.5; cat' <<'EOF'\n{OUTPUT}EOF\n");
        testing::run(|frame| {
            let mut threads = Threads::default();
            solve(frame, &command, &mut threads, Progress::default)?.unwrap();
            let setup = frame.setup();
            let check = threads.check("sh", setup.priority, &setup.cpus);
            assert!(!check.passed(), "{check:?}");
            Ok(Found::default())
        })
        .unwrap();
    }

    #[test]
    fn a_command_that_fails_or_says_nothing_is_an_error() {
        for (command, reason) in [
            (
                "echo no such grid >&2; exit 4",
                "exit status 4: no such grid",
            ),
            ("true", "printed no result line in HPL's format"),
        ] {
            let err = testing::run(|frame| {
                solve(frame, command, &mut Threads::default(), Progress::default)?;
                Ok(Found::default())
            })
            .unwrap_err();
            assert_eq!(err.to_string(), format!("{command}: {reason}"));
        }
    }
}
