// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What may lie beyond the largest sample of a run.

use punctual_model::{Extrapolation, TailEstimate, TailMethod};
use punctual_stats::float;

use super::guest::HEADING;
use super::named::{capital, counted};
use super::parts::{Block, Document, Table};
use super::verdicts::p_value;
use crate::number::{clean, digits, percent, span};

impl Document {
    /// Says what may lie beyond the largest sample of a run, or why that is not said.
    pub fn of_extrapolation(of: &Extrapolation) -> Self {
        let unit = unit(of);
        let largest = of.max_ns.map_or_else(String::new, |ns| {
            format!(", the largest {} {unit}", digits(float(ns) / 1e3))
        });
        let run = format!(
            "{}, {} in {}{}{largest}",
            of.run,
            counted(of.samples, "sample"),
            span(of.duration_ns),
            if of.by_interval {
                " by their interval"
            } else {
                ""
            }
        );
        let advice = format!(
            "the time that is passed once on average in {} ({:.0} samples at this rate), if the machine \
             goes on exactly as in this run. It is no bound: what did not happen during the run is not in it",
            span(of.horizon_ns),
            of.horizon_samples
        );
        let facts = [("Run", run), ("Advice", advice)];
        let facts = facts.map(|(name, said)| (name.to_owned(), said));
        let mut blocks = vec![Block::Facts(facts.into())];
        blocks.extend(estimates(of).map(Block::Table));
        let refused = of.methods.iter().filter_map(|method| {
            let reason = method.refused.as_ref()?;
            let text = format!("{} refused: {reason}.", name(method));
            Some(Block::Text(capital(&text)))
        });
        blocks.extend(refused);
        let mut document = Self::of("Extrapolation", blocks);
        if of.virtual_time {
            document.caveats.push(HEADING.to_owned());
        }
        match &of.imported_from {
            Some(tool) => document.caveats.push(format!(
                "imported, not checked: whether the measurement was valid is not known: {} made it",
                clean(tool)
            )),
            None if !of.valid => document.caveats.push(
                "INVALID: a check of this run did not pass; what it measured is not what was asked for"
                    .to_owned(),
            ),
            None => {}
        }
        document
    }
}

const fn unit(of: &Extrapolation) -> &'static str {
    match of.virtual_time {
        true => "virtual µs",
        false => "µs",
    }
}

fn estimates(of: &Extrapolation) -> Option<Table> {
    let methods = of.methods.iter();
    let known: Vec<_> = methods.filter_map(|of| Some((of, of.estimate?))).collect();
    let (_, first) = known.first()?;
    let confidence = percent(first.interval_ns.confidence);
    let mut table = Table::of(
        format!("Levels with their {confidence} interval"),
        &format!(
            "<Method|Level {}|Low|..High|Shape|?Extremes|p fit|?p trend|?p halves|?p independence|?p rate",
            unit(of)
        ),
    );
    for (of, level) in &known {
        let ends = level.interval_ns;
        table.rows.push(vec![
            name(of).to_owned(),
            digits(level.level_ns / 1e3),
            digits(ends.low / 1e3),
            digits(ends.high / 1e3),
            format!("{:.2}", level.shape),
            level.extremes.to_string(),
            p_value(level.fit_p),
            p_value(level.trend_p),
            p_value(level.halves_p),
            p_value(level.independence_p),
            level.rate_p.map_or_else(|| "-".to_owned(), p_value),
        ]);
    }
    table.notes.push(format!(
        "Shape: below 0 the tail ends, above 0 it is heavier than exponential. p: of the checks; one \
         below {} refuses. -: blocks have one extreme each.",
        percent(of.gate)
    ));
    Some(table)
}

const fn name(of: &TailEstimate) -> &'static str {
    match of.method {
        TailMethod::BlockMaxima => "block maxima",
        TailMethod::PeaksOverThreshold => "peaks over threshold",
    }
}
