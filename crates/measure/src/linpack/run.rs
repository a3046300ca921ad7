// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The instrument: rounds of all orders, the peak before each, figures and checks.

use std::collections::BTreeMap;

use punctual_model::{Better, Bytes, Check, Figure, Progress};
use punctual_sys::dense;

use super::bench::{Bench, Product, Solved};
use super::command::Foreign;
use super::engine::Engine;
use super::library::Solver;
use super::memory_of;
use super::theory::Theory;
use crate::error::MeasureError;
use crate::frame::{Found, Frame};
use crate::{free_memory, repeats};
use punctual_loops::linpack::{self, RESIDUAL_LIMIT, System};

/// What to measure.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Linpack {
    /// What solves the systems.
    pub engine: Engine,
    /// Numbers of equations. A command decides on its own.
    pub orders: Vec<usize>,
    /// How often each is solved, or the command run.
    pub repeats: u32,
    /// Whether a product of matrices of the same order is measured too.
    pub product: bool,
    /// The user's own choice of the code that `OpenBLAS` runs, `OPENBLAS_CORETYPE`.
    pub openblas_core: Option<String>,
    /// The user's own choice of the threads of a process of a command, `OMP_NUM_THREADS`.
    pub omp_threads: Option<String>,
}

/// What was observed of one order.
#[derive(Clone, Debug, Default, PartialEq)]
struct Observed {
    gflops: Vec<f64>,
    shares: Vec<f64>,
    residuals: Vec<f64>,
    products: Vec<f64>,
    product_shares: Vec<f64>,
}

/// Everything observed.
#[derive(Debug, Default)]
struct Log {
    peaks: Vec<f64>,
    orders: BTreeMap<usize, Observed>,
}

/// Who solves.
enum Who {
    Own,
    Library(Box<Solver>),
    Command(Foreign),
}

/// Measures with one thread a CPU of the frame's set-up.
///
/// # Errors
///
/// Fails when the memory, a thread or the engine is unavailable, and where the processor lacks what comes with its
/// vector instructions everywhere else.
pub fn run(what: &Linpack, frame: &mut Frame<'_>) -> Result<Found, MeasureError> {
    let own = what.engine == Engine::Own;
    if !dense::product_is_supported() && (own || what.product) {
        return Err(MeasureError::Unsupported {
            what:
                "this processor lacks instructions that other processors with its vector unit have"
                    .to_owned(),
            hint: Some("measure with another library: --engine openblas".to_owned()),
        });
    }
    let largest = what.orders.iter().copied().max().unwrap_or(1);
    // Those of all orders are there at once.
    let orders = what.orders.iter().filter(|_| what.product);
    let products = orders.fold(0_u64, |sum, n| {
        sum.saturating_add(Product::memory_of(*n).get())
    });
    let wanted = memory_of(largest).get().saturating_add(products);
    free_memory::check(
        frame.sys(),
        &format!("--order {largest}"),
        Bytes::new(wanted),
    )?;
    let mut found = Found::default();
    let mut bench = Bench::new(frame)?;
    let mut who = match &what.engine {
        Engine::Own => {
            bench.reserve(largest)?;
            Who::Own
        }
        Engine::Library { kind, path } => {
            let core = what.openblas_core.as_deref();
            let (solver, findings) = Solver::start(frame, *kind, path.as_ref(), core)?;
            found.findings = findings;
            Who::Library(Box::new(solver))
        }
        Engine::Command(command) => {
            Who::Command(Foreign::new(frame, command, what.omp_threads.as_deref()))
        }
    };
    let mut log = Log::default();
    // The first touch of memory and of the threads' own buffers is in no figure.
    let warm_up = || Progress::of("warming up".to_owned(), 0.0);
    match &mut who {
        Who::Own => drop(bench.solve(frame, largest, warm_up)?),
        Who::Library(solver) => drop(solver.solve(frame, largest, warm_up)?),
        Who::Command(_) => {}
    }
    rounds(what, frame, &mut bench, &mut who, &mut log)?;
    found.checks.push(log.residual_check());
    found.checks.push(log.peak_check());
    let setup = frame.setup();
    if let Who::Command(foreign) = &who {
        let check = foreign
            .threads
            .check(&foreign.command, setup.priority, &setup.cpus);
        found.checks.push(check);
        // Runs with one a CPU, as all once were, belong to one series.
        let told = foreign.omp_threads.clone();
        if told != setup.cpus.len().to_string() {
            found.options.insert("omp_num_threads".to_owned(), told);
        }
    }
    if let Who::Library(mut solver) = who {
        let check = solver.check(frame.sys(), setup.priority, &setup.cpus);
        found.checks.push(check);
        found.options.extend(solver.about());
        if !frame.is_stopped() {
            solver.finish()?;
        }
    }
    found.ended = frame.ended();
    let instructions = linpack::instructions().to_owned();
    let theory = Theory::of(frame.sys(), &frame.setup().cpus, &instructions);
    found.figures = log.figures(bench.threads(), theory.as_ref());
    let said = theory.map(|theory| ("theoretical_peak".to_owned(), theory.said()));
    found.options.extend(said);
    found.threads = bench.finish()?;
    found
        .options
        .insert("instructions".to_owned(), instructions);
    Ok(found)
}

fn rounds(
    what: &Linpack,
    frame: &mut Frame<'_>,
    bench: &mut Bench,
    who: &mut Who,
    log: &mut Log,
) -> Result<(), MeasureError> {
    let mut products = BTreeMap::new();
    for order in what.orders.iter().filter(|_| what.product) {
        products.insert(*order, Product::new(bench, frame, *order)?);
    }
    frame.prepared();
    let cost = |order: usize| System { order, seed: 0 }.operations();
    let all: f64 = what.orders.iter().map(|order| cost(*order)).sum();
    let mut done = 0.0;
    for round in 1..=what.repeats {
        for order in what.orders.iter().copied() {
            let part = done / (all * f64::from(what.repeats));
            let doing = match who {
                Who::Command(_) => format!("round {round} of {}", what.repeats),
                _ => format!("n = {order}, round {round} of {}", what.repeats),
            };
            let progress = || Progress::of(doing.clone(), part);
            if frame.is_stopped() {
                return Ok(());
            }
            let peak = bench.peak(frame, progress)?;
            // In turn, so that what disturbs the machine for a while does not always meet the same one.
            let before = round % 2 == 0;
            let matrices = products.get(&order);
            let mut product = match matrices.filter(|_| before) {
                Some(matrices) => Some(matrices.measure(bench, frame, progress)?),
                None => None,
            };
            let solved = match who {
                Who::Own => bench.solve(frame, order, progress)?.map(|one| vec![one]),
                Who::Library(solver) => solver.solve(frame, order, progress)?.map(|one| vec![one]),
                Who::Command(foreign) => foreign.solve(frame, progress)?,
            };
            let Some(solved) = solved else {
                return Ok(());
            };
            if let Some(matrices) = matrices.filter(|_| !before) {
                product = Some(matrices.measure(bench, frame, progress)?);
            }
            log.peaks.push(peak);
            for solved in solved {
                log.note(peak, &solved, product);
            }
            done += cost(order);
        }
    }
    Ok(())
}

impl Log {
    fn note(&mut self, peak: f64, solved: &Solved, product: Option<f64>) {
        let observed = self.orders.entry(solved.order).or_default();
        let gflops = solved.gflops();
        observed.gflops.push(gflops);
        observed.shares.push(gflops / peak);
        observed.residuals.push(solved.residual);
        if let Some(product) = product {
            observed.products.push(product);
            observed.product_shares.push(gflops / product);
        }
    }

    fn figures(&self, threads: usize, theory: Option<&Theory>) -> Vec<Figure> {
        let peak = repeats::figure("peak", "GFLOPS", Better::Neither, &self.peaks);
        let mut figures = vec![peak.at("threads", threads)];
        let stated = theory.map(Theory::gflops);
        figures.extend(stated.map(|peak| {
            Figure::single("theoretical_peak", "GFLOPS", Better::Neither, peak)
                .at("threads", threads)
        }));
        for (order, observed) in &self.orders {
            let mut add = |name: &str, unit: &str, better, values: &[f64]| {
                if !values.is_empty() {
                    let figure = repeats::figure(name, unit, better, values);
                    figures.push(figure.at("n", order).at("threads", threads));
                }
            };
            add("gflops", "GFLOPS", Better::Higher, &observed.gflops);
            add("share_of_peak", "1", Better::Higher, &observed.shares);
            if let Some(peak) = stated {
                let shares: Vec<f64> = observed.gflops.iter().map(|gflops| gflops / peak).collect();
                add("share_of_theoretical_peak", "1", Better::Higher, &shares);
            }
            add("product", "GFLOPS", Better::Neither, &observed.products);
            add(
                "share_of_product",
                "1",
                Better::Higher,
                &observed.product_shares,
            );
            add("scaled_residual", "1", Better::Neither, &observed.residuals);
        }
        figures
    }

    fn peak_check(&self) -> Check {
        peak_check(self.orders.values().flat_map(|o| &o.shares).copied())
    }

    fn residual_check(&self) -> Check {
        residual_check(self.orders.values().flat_map(|o| &o.residuals).copied())
    }
}

/// Nothing is solved faster than the processor can calculate: where it seems so, what disturbs the machine has met the
/// peak, and shares of it say nothing.
fn peak_check(shares: impl Iterator<Item = f64>) -> Check {
    const ID: &str = "peak";
    let (mut count, mut beyond, mut largest) = (0_u32, 0_u32, 0.0_f64);
    for share in shares {
        count += 1;
        // One that is no number is not below either.
        beyond += u32::from(share.is_nan() || share > 1.0);
        largest = largest.max(share);
    }
    match (count, beyond) {
        (0, _) => Check::unknown(ID, "no system was solved"),
        (_, 0) => Check::pass(
            ID,
            format!(
                "{count} solutions, none faster than the peak measured before it (largest share {largest:.3})"
            ),
        ),
        _ => Check::fail(
            ID,
            format!(
                "{beyond} of {count} solutions were faster than the peak measured before them \
                 (largest share {largest:.3}), which is impossible: the measurement of the peak \
                 was disturbed; measure on a quieter machine"
            ),
        ),
    }
}

/// Judges scaled residuals as HPL does.
pub(super) fn residual_check(residuals: impl Iterator<Item = f64>) -> Check {
    const ID: &str = "residual";
    let (mut count, mut wrong, mut largest) = (0_u32, 0_u32, 0.0_f64);
    for residual in residuals {
        count += 1;
        // One that is no number is not below.
        if residual < RESIDUAL_LIMIT {
            largest = largest.max(residual);
        } else {
            wrong += 1;
        }
    }
    match (count, wrong) {
        (0, _) => Check::unknown(ID, "no system was solved"),
        (_, 0) => Check::pass(
            ID,
            format!(
                "{count} solutions, largest scaled residual {largest:.4}, below HPL's limit of {RESIDUAL_LIMIT}"
            ),
        ),
        _ => Check::fail(
            ID,
            format!(
                "{wrong} of {count} solutions are wrong: their scaled residual is {RESIDUAL_LIMIT} or more"
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::testing;

    fn linpack(orders: &[usize], repeats: u32) -> Linpack {
        Linpack {
            engine: Engine::Own,
            orders: orders.to_vec(),
            repeats,
            product: false,
            openblas_core: None,
            omp_threads: Some("3".to_owned()),
        }
    }

    #[test]
    fn every_order_is_solved_as_often_as_asked_and_checked() {
        let what = Linpack {
            product: true,
            ..linpack(&[60, 130], 3)
        };
        let outcome = testing::run(|frame| run(&what, frame)).unwrap();
        let found = outcome.found;
        let figure = |name: &str, order: usize| {
            let order = order.to_string();
            let mut figures = found.figures.iter();
            figures
                .find(|f| f.name == name && f.labels.get("n") == Some(&order))
                .unwrap()
        };
        for order in [60, 130] {
            for name in ["gflops", "share_of_peak", "product", "share_of_product"] {
                let figure = figure(name, order);
                assert_eq!(figure.count, 3, "{name}");
                assert!(figure.value.unwrap() > 0.0 && figure.interval.is_some());
            }
            assert!(figure("scaled_residual", order).max.unwrap() < RESIDUAL_LIMIT);
        }
        assert_eq!(found.figures[0].name, "peak");
        assert_eq!(found.figures[0].count, 6);
        let check = found.checks.iter().find(|c| c.id == "residual").unwrap();
        assert!(check.passed(), "{check:?}");
    }

    #[test]
    fn what_a_load_did_before_the_first_round_is_no_part_of_the_run() {
        let what = linpack(&[60], 1);
        let work = testing::load_work(|frame| run(&what, frame));
        assert!(work < 1e6, "{work}");
    }

    #[test]
    fn a_solution_faster_than_the_peak_makes_the_run_invalid() {
        assert!(peak_check([0.62, 0.71, 1.0].into_iter()).passed());
        let check = peak_check([0.62, 1.25, 0.7].into_iter());
        assert!(!check.passed());
        for part in ["1 of 3", "1.250", "impossible"] {
            assert!(check.detail.contains(part), "{}", check.detail);
        }
        assert!(!peak_check([f64::NAN].into_iter()).passed());
        assert!(!peak_check([].into_iter()).passed());
        let mut log = Log::default();
        let solved = Solved {
            order: 1_000,
            seconds: 0.01,
            residual: 0.1,
        };
        log.note(solved.gflops() / 1.25, &solved, None);
        assert!(!log.peak_check().passed(), "as the figure says");
    }

    #[test]
    fn memory_that_is_not_there_is_refused_before_anything_starts() {
        let what = linpack(&[100, 1_000_000], 1);
        let err = testing::run(|frame| run(&what, frame)).unwrap_err();
        assert!(err.is_usage(), "{err}");
        assert!(
            err.to_string().starts_with("--order 1000000: needs 8000"),
            "{err}"
        );
    }

    #[test]
    fn a_command_is_an_engine_and_its_failed_check_is_ours() {
        let line = "WR11C2R4 4000 128 1 2 0.50 8.54e+01";
        let residual = "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)= 0.5 ......";
        for (word, passed, threads) in [("PASSED", true, Some("3")), ("FAILED", false, None)] {
            let command = format!("echo '{line}'; echo '{residual} {word}'");
            let what = Linpack {
                engine: Engine::Command(command),
                omp_threads: threads.map(str::to_owned),
                ..linpack(&[1], 2)
            };
            let outcome = testing::run(|frame| run(&what, frame)).unwrap();
            let told = outcome.setup.options.get("omp_num_threads");
            assert_eq!(told.map(String::as_str), threads);
            let found = outcome.found;
            let gflops = found.figures.iter().find(|f| f.name == "gflops").unwrap();
            assert_eq!((gflops.count, gflops.labels["n"].as_str()), (2, "4000"));
            let check = found.checks.iter().find(|c| c.id == "residual").unwrap();
            assert_eq!(check.passed(), passed, "{check:?}");
        }
    }

    #[test]
    fn a_library_that_is_not_there_is_unsupported() {
        let what = Linpack {
            engine: "openblas:/no/such/library.so".parse().unwrap(),
            ..linpack(&[10], 1)
        };
        let err = testing::run(|frame| run(&what, frame)).unwrap_err();
        assert!(err.is_unsupported(), "{err}");
        // Where there is no Python either, that is said first.
        let said = err.to_string();
        assert!(
            said.contains("/no/such/library.so") || said.contains("python3"),
            "{said}"
        );
    }

    #[test]
    fn one_wrong_solution_makes_the_check_fail() {
        assert!(residual_check([0.1, 2.0].into_iter()).passed());
        let check = residual_check([0.1, 16.0, f64::NAN].into_iter());
        assert_eq!(check.status, punctual_model::CheckStatus::Fail);
        assert!(check.detail.starts_with("2 of 3 solutions"), "{check:?}");
        let none = residual_check(std::iter::empty());
        assert_eq!(none.status, punctual_model::CheckStatus::Unknown);
    }
}
