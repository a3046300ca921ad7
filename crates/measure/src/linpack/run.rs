// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The instrument: rounds of all orders, the peak before each, figures and checks.

use std::collections::BTreeMap;

use punctual_model::{Better, Check, Figure, Progress};
use punctual_sys::dense;

use super::bench::{Bench, Product, Solved};
use super::system::{RESIDUAL_LIMIT, System};
use super::{kernel, memory_of};
use crate::error::MeasureError;
use crate::frame::{Found, Frame};
use crate::{repeats, room};

/// What to measure.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Linpack {
    /// Numbers of equations.
    pub orders: Vec<usize>,
    /// How often each is solved.
    pub repeats: u32,
    /// Whether a product of matrices of the same order is measured too.
    pub product: bool,
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

/// Measures with one thread a CPU of the frame's set-up.
///
/// # Errors
///
/// Fails when the memory or a thread cannot be had, and where the processor lacks what comes with its vector
/// instructions everywhere else.
pub fn run(what: &Linpack, frame: &mut Frame<'_>) -> Result<Found, MeasureError> {
    if !dense::product_is_supported() {
        return Err(MeasureError::Unsupported {
            what: "this processor lacks instructions that come with its vectors everywhere else"
                .to_owned(),
            hint: Some("measure with another library: --engine openblas".to_owned()),
        });
    }
    let largest = what.orders.iter().copied().max().unwrap_or(1);
    let product = if what.product {
        Product::memory_of(largest)
    } else {
        0
    };
    room::check(
        frame.sys(),
        &format!("--order {largest}"),
        memory_of(largest).saturating_add(product),
    )?;
    let mut bench = Bench::new(frame, largest)?;
    let mut log = Log::default();
    // The first touch of memory and of the threads' own buffers is in no figure.
    bench.solve(frame, largest, || said("warming up".to_owned(), 0.0))?;
    rounds(what, frame, &mut bench, &mut log)?;
    let threads = bench.threads();
    let mut found = Found {
        ended: frame.ended(),
        figures: log.figures(threads),
        checks: vec![log.residual_check()],
        threads: bench.finish()?,
        ..Found::default()
    };
    found
        .options
        .insert("instructions".to_owned(), kernel::instructions().to_owned());
    Ok(found)
}

fn rounds(
    what: &Linpack,
    frame: &mut Frame<'_>,
    bench: &mut Bench,
    log: &mut Log,
) -> Result<(), MeasureError> {
    let mut products = BTreeMap::new();
    for order in what.orders.iter().filter(|_| what.product) {
        products.insert(*order, Product::new(bench, frame, *order)?);
    }
    let cost = |order: usize| System { order, seed: 0 }.operations();
    let all: f64 = what.orders.iter().map(|order| cost(*order)).sum();
    let mut done = 0.0;
    for round in 1..=what.repeats {
        for order in what.orders.iter().copied() {
            let part = done / (all * f64::from(what.repeats));
            let doing = format!("n = {order}, round {round} of {}", what.repeats);
            let progress = || said(doing.clone(), part);
            if frame.is_stopped() {
                return Ok(());
            }
            let peak = bench.peak(frame, progress)?;
            // In turn, so that what disturbs the machine for a while does not always meet the same one.
            let swapped = round % 2 == 0;
            let mut product = None;
            if let Some(matrices) = products.get(&order).filter(|_| swapped) {
                product = Some(matrices.measure(bench, frame, progress)?);
            }
            let Some(solved) = bench.solve(frame, order, progress)? else {
                return Ok(());
            };
            if let Some(matrices) = products.get(&order).filter(|_| !swapped) {
                product = Some(matrices.measure(bench, frame, progress)?);
            }
            log.note(peak, &solved, product);
            done += cost(order);
        }
    }
    Ok(())
}

fn said(doing: String, done: f64) -> Progress {
    Progress {
        doing: Some(doing),
        done: Some(done),
        ..Progress::default()
    }
}

impl Log {
    fn note(&mut self, peak: f64, solved: &Solved, product: Option<f64>) {
        self.peaks.push(peak);
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

    fn figures(&self, threads: usize) -> Vec<Figure> {
        let peak = repeats::figure("peak", "GFLOPS", Better::Neither, &self.peaks);
        let mut figures = vec![peak.at("threads", threads)];
        for (order, observed) in &self.orders {
            let mut add = |name: &str, unit: &str, better, values: &[f64]| {
                if !values.is_empty() {
                    let figure = repeats::figure(name, unit, better, values);
                    figures.push(figure.at("n", order).at("threads", threads));
                }
            };
            add("gflops", "GFLOPS", Better::Higher, &observed.gflops);
            add("share_of_peak", "1", Better::Higher, &observed.shares);
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

    fn residual_check(&self) -> Check {
        residual_check(self.orders.values().flat_map(|o| &o.residuals).copied())
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
                "{count} solutions, largest scaled residual {largest:.4}, below {RESIDUAL_LIMIT} as HPL asks"
            ),
        ),
        _ => Check::fail(
            ID,
            format!(
                "{wrong} of {count} solutions are wrong: their scaled residual is not below {RESIDUAL_LIMIT}"
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::testing;

    #[test]
    fn every_order_is_solved_as_often_as_asked_and_checked() {
        let what = Linpack {
            orders: vec![60, 130],
            repeats: 3,
            product: true,
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
    fn memory_that_is_not_there_is_refused_before_anything_starts() {
        let what = Linpack {
            orders: vec![100, 1_000_000],
            repeats: 1,
            product: false,
        };
        let err = testing::run(|frame| run(&what, frame)).unwrap_err();
        assert!(err.is_usage(), "{err}");
        assert!(
            err.to_string().starts_with("--order 1000000: takes 8000"),
            "{err}"
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
