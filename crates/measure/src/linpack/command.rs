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

/// A command of the user's.
#[derive(Debug)]
pub(super) struct Foreign {
    /// What the shell runs.
    pub(super) command: String,
    /// How many threads each of its processes is to have, `OMP_NUM_THREADS`.
    pub(super) omp_threads: String,
    /// What was seen of its threads.
    pub(super) threads: Threads,
}

impl Foreign {
    /// Makes one for the CPUs of the frame's set-up, unless `given`, the user's own `OMP_NUM_THREADS`, says otherwise: of several
    /// processes each would have as many threads as there are CPUs.
    pub(super) fn new(frame: &Frame<'_>, command: &str, given: Option<&str>) -> Self {
        let given = given.filter(|given| !given.is_empty());
        Self {
            command: command.to_owned(),
            omp_threads: given.map_or_else(|| frame.setup().cpus.len().to_string(), str::to_owned),
            threads: Threads::default(),
        }
    }

    /// Runs it once, by the shell, on the CPUs and with the policy of the frame's set-up; `None` where the run is to end first.
    pub(super) fn solve(
        &mut self,
        frame: &mut Frame<'_>,
        mut progress: impl FnMut() -> Progress,
    ) -> Result<Option<Vec<Solved>>, MeasureError> {
        let command = &*self.command;
        let mut shell = Command::new("sh");
        shell.args(["-c", command]);
        shell.env("OMP_NUM_THREADS", &self.omp_threads);
        let bounds = Bounds {
            cpus: Some(frame.setup().cpus.clone()),
            policy: Some(frame.setup().priority),
        };
        let mut program = Program::start(command, &mut shell, &bounds, "install a shell, sh")?;
        program.look_at_threads(frame.sys());
        let lines = program.all(frame, &mut progress);
        self.threads.add(&program.threads());
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
            let mut foreign = Foreign::new(frame, &command, None);
            let solved = foreign.solve(frame, Progress::default)?.unwrap();
            assert_eq!(solved.len(), 3);
            let setup = frame.setup();
            let check = foreign.threads.check("cat", setup.priority, &setup.cpus);
            assert!(check.passed(), "{check:?}");
            Ok(Found::default())
        })
        .unwrap();
    }

    #[test]
    fn a_command_has_the_threads_that_the_user_says_or_one_a_cpu() {
        // It says how many it was told to have, as the order.
        let command = "echo WR11C2R4 $OMP_NUM_THREADS 128 1 2 0.50 8.54e+01";
        testing::run(|frame| {
            let cpus = frame.setup().cpus.len();
            for (given, told) in [(Some("77"), 77), (Some(""), cpus), (None, cpus)] {
                let mut foreign = Foreign::new(frame, command, given);
                let solved = foreign.solve(frame, Progress::default)?.unwrap();
                assert_eq!(solved[0].order, told, "{given:?}");
                assert_eq!(foreign.omp_threads, told.to_string());
            }
            Ok(Found::default())
        })
        .unwrap();
    }

    #[test]
    fn a_command_whose_work_runs_otherwise_than_asked_does_not_pass() {
        // The shell runs as asked; what it starts does not.
        let command = format!("chrt -b 0 sh -c 'sleep 0.5; cat' <<'EOF'\n{OUTPUT}EOF\n");
        testing::run(|frame| {
            let mut foreign = Foreign::new(frame, &command, None);
            foreign.solve(frame, Progress::default)?.unwrap();
            let setup = frame.setup();
            let check = foreign.threads.check("sh", setup.priority, &setup.cpus);
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
                Foreign::new(frame, command, None).solve(frame, Progress::default)?;
                Ok(Found::default())
            })
            .unwrap_err();
            assert_eq!(err.to_string(), format!("{command}: {reason}"));
        }
    }
}
