// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Systems solved by the LAPACK of a shared library, which Python calls.

use std::path::PathBuf;
use std::process::Command;

use punctual_model::{Check, CpuSet, Finding, Policy, Progress};
use punctual_sys::SysRoot;
use punctual_sys::child::Bounds;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::bench::Solved;
use super::engine::{Engine, Library};
use crate::error::MeasureError;
use crate::frame::Frame;
use crate::program::{Answer, Program};
use punctual_loops::linpack::{self, System};

const SCRIPT: &str = include_str!("engine.py");

/// The variable by which a user, or we, choose the code that `OpenBLAS` runs.
const CORE_TYPE: &str = "OPENBLAS_CORETYPE";

/// A library at work in a process of its own.
#[derive(Debug)]
pub(super) struct Solver {
    program: Program,
    kind: Library,
    about: About,
    seed: u64,
}

/// What the process says of its library.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
struct About {
    library: Option<String>,
    version: Option<String>,
    core: Option<String>,
    /// Why there is none.
    missing: Option<String>,
}

/// What it says of a system.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Told {
    seconds: f64,
    info: i32,
    residual: Option<f64>,
}

/// Returns why `engine` cannot solve systems here, in a sentence: a library that cannot be loaded. It is asked for as a run asks.
pub fn lack_of(engine: &Engine) -> Option<String> {
    let Engine::Library { kind, path } = engine else {
        return None;
    };
    let mut command = python(*kind, path.as_ref());
    let output = command.stdin(std::process::Stdio::null()).output();
    let about = match output {
        Ok(output) => serde_json::from_slice::<About>(
            output
                .stdout
                .split(|b| *b == b'\n')
                .next()
                .unwrap_or_default(),
        ),
        Err(err) => return Some(format!("python3, which calls {}: {err}", kind.name())),
    };
    match about {
        Ok(About { missing: None, .. }) => None,
        _ => Some(format!("{} cannot be loaded; {}", kind.name(), kind.hint())),
    }
}

/// The program that calls a library, with the names under which that is looked for.
fn python(kind: Library, path: Option<&PathBuf>) -> Command {
    let mut command = Command::new("python3");
    // Isolated: no module of the directory that we are in.
    command.args(["-I", "-c", SCRIPT]);
    match path {
        Some(path) => command.arg(path),
        None => command.args(kind.files()),
    };
    command
}

impl Solver {
    /// Starts the process on the CPUs and with the policy of the frame's set-up; also returns what is to be said
    /// of how the library sees this processor. `given` is the user's own `OPENBLAS_CORETYPE`.
    pub(super) fn start(
        frame: &mut Frame<'_>,
        kind: Library,
        path: Option<&PathBuf>,
        given: Option<&str>,
    ) -> Result<(Self, Vec<Finding>), MeasureError> {
        let solver = Self::launch(frame, kind, path, None)?;
        let Some(core) = solver.about.core.clone() else {
            return Ok((solver, Vec::new()));
        };
        let instructions = linpack::instructions();
        let Some(better) = better_core(&core, instructions) else {
            return Ok((solver, Vec::new()));
        };
        if let Some(given) = given {
            let detail = format!(
                "{CORE_TYPE}={given} makes OpenBLAS run its code for {core}, which does not use \
                 the {instructions} of this processor; left unchanged"
            );
            return Ok((solver, vec![Finding::observed("openblas-core", detail)]));
        }
        drop(solver);
        let solver = Self::launch(frame, kind, path, Some(better))?;
        let now = solver.about.core.as_deref().unwrap_or("none");
        let detail = if now == core {
            format!(
                "OpenBLAS mistakes this processor with {instructions} for {core} and has no better \
                 code: it runs slower than it could"
            )
        } else {
            format!(
                "OpenBLAS mistakes this processor with {instructions} for {core}, whose code is \
                 several times slower; it was started with {CORE_TYPE}={better} and runs the code \
                 for {now}. Other programs here need the same setting"
            )
        };
        Ok((solver, vec![Finding::observed("openblas-core", detail)]))
    }

    fn launch(
        frame: &mut Frame<'_>,
        kind: Library,
        path: Option<&PathBuf>,
        core: Option<&str>,
    ) -> Result<Self, MeasureError> {
        let setup = frame.setup();
        let threads = setup.cpus.len().to_string();
        let mut command = python(kind, path);
        for name in ["OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"] {
            command.env(name, &threads);
        }
        // As many threads as asked; and they sleep soon after the work, or they would spin on into the next.
        command
            .env("MKL_DYNAMIC", "FALSE")
            .env("KMP_BLOCKTIME", "1");
        if let Some(core) = core {
            command.env(CORE_TYPE, core);
        }
        let bounds = Bounds {
            cpus: Some(setup.cpus.clone()),
            policy: Some(setup.priority),
        };
        let hint = "install python3, which calls the library, or measure with --engine own";
        let program = Program::start("python3", &mut command, &bounds, hint)?;
        let mut solver = Self {
            program,
            kind,
            about: About::default(),
            seed: 1,
        };
        solver.about = solver.ask(frame, Progress::default)?.unwrap_or_default();
        if let Some(missing) = solver.about.missing.take() {
            return Err(MeasureError::Unsupported {
                what: format!("{} cannot be loaded: {missing}", kind.name()),
                hint: Some(kind.hint().to_owned()),
            });
        }
        Ok(solver)
    }

    /// Reads one answer; `None` where the run is to end first.
    fn ask<T: DeserializeOwned>(
        &mut self,
        frame: &mut Frame<'_>,
        progress: impl FnMut() -> Progress,
    ) -> Result<Option<T>, MeasureError> {
        let failed = |reason: String| MeasureError::Program {
            program: "python3".to_owned(),
            reason,
        };
        match self.program.answer(frame, progress) {
            Answer::Stopped => Ok(None),
            Answer::End => Err(failed(format!("{} ended it", self.kind.name()))),
            Answer::Line(line) => serde_json::from_slice(line.as_bytes())
                .map(Some)
                .map_err(|err| failed(format!("gave an answer that cannot be parsed: {err}"))),
        }
    }

    /// Solves a system; `None` where the run is to end first.
    pub(super) fn solve(
        &mut self,
        frame: &mut Frame<'_>,
        order: usize,
        progress: impl FnMut() -> Progress,
    ) -> Result<Option<Solved>, MeasureError> {
        let seed = self.seed;
        self.seed += 1;
        let stride = System { order, seed }.stride();
        self.program.say(&format!("{order} {stride} {seed}"));
        let told: Option<Told> = self.ask(frame, progress)?;
        Ok(told.map(|told| Solved {
            order,
            seconds: told.seconds,
            // A system that could not be solved, and a solution with a number that is none, are both wrong.
            residual: match told.info {
                0 => told.residual.unwrap_or(f64::NAN),
                _ => f64::INFINITY,
            },
        }))
    }

    /// Judges where and how the threads of the process ran.
    pub(super) fn check(&mut self, sys: &SysRoot, policy: Policy, cpus: &CpuSet) -> Check {
        // They are all there still, and may have answered too soon to be seen at work.
        self.program.look_at_threads(sys);
        self.program.threads().check(self.kind.name(), policy, cpus)
    }

    /// Returns what is to be recorded of the library: option and value.
    pub(super) fn about(&self) -> Vec<(String, String)> {
        let About {
            library,
            version,
            core,
            ..
        } = self.about.clone();
        let named = [
            ("library", library),
            ("library_version", version),
            ("library_core", core),
        ];
        named
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect()
    }

    /// Sends the process home.
    pub(super) fn finish(mut self) -> Result<(), MeasureError> {
        self.program.close();
        self.program.finish()
    }
}

/// Returns the code that `OpenBLAS` should run, if that for `core` has no vectors like `instructions`.
///
/// The names are those of its DYNAMIC_ARCH builds. Code for AVX2 on a processor with AVX-512 is left alone: whether
/// the other is faster depends on the processor.
fn better_core(core: &str, instructions: &str) -> Option<&'static str> {
    const WITHOUT_AVX2: [&str; 22] = [
        "Prescott",
        "Core2",
        "Penryn",
        "Dunnington",
        "Atom",
        "Nehalem",
        "Sandybridge",
        "Athlon",
        "Opteron",
        "Opteron_SSE3",
        "Opteron(SSE3)",
        "Barcelona",
        "Bobcat",
        "Bulldozer",
        "Piledriver",
        "Steamroller",
        "Nano",
        "Katmai",
        "Coppermine",
        "Northwood",
        "Banias",
        "Generic",
    ];
    let poor = WITHOUT_AVX2
        .iter()
        .any(|name| name.eq_ignore_ascii_case(core));
    match instructions {
        "avx512" if poor => Some("SkylakeX"),
        "avx2" if poor => Some("Haswell"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_without_the_vectors_of_the_processor_is_wrong() {
        assert_eq!(better_core("Prescott", "avx512"), Some("SkylakeX"));
        assert_eq!(better_core("prescott", "avx2"), Some("Haswell"));
        assert_eq!(better_core("Sandybridge", "avx2"), Some("Haswell"));
        // Right, a matter of taste, and nothing known.
        assert_eq!(better_core("Cooperlake", "avx512"), None);
        assert_eq!(better_core("Zen", "avx512"), None);
        assert_eq!(better_core("Nehalem", "scalar"), None);
        assert_eq!(better_core("neoversen1", "neon"), None);
    }
}
