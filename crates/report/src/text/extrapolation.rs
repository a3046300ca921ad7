// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! An extrapolation as text.

use punctual_model::{Extrapolation, TailEstimate, TailMethod};
use punctual_stats::float;

use super::layout::{Column, paragraph, table, wrapped};
use super::number::digits;
use super::number::{percent, span};
use crate::document::p_value;

/// Says what may lie beyond the largest sample of a run, or why that is not said.
pub fn extrapolation(of: &Extrapolation) -> String {
    let mut text = String::new();
    if !of.valid {
        text += &paragraph(
            "INVALID",
            "a check of this run did not pass: what it measured is not what was asked for",
        );
    }
    let largest = of.max_ns.map_or_else(String::new, |ns| {
        format!(", the largest {} µs", digits(float(ns) / 1e3))
    });
    text += &paragraph(
        "Run",
        &format!(
            "{}, {} samples in {}{largest}",
            of.run,
            of.samples,
            span(of.duration_ns)
        ),
    );
    text += &paragraph(
        "Advice",
        &format!(
            "the time that is passed once on average in {} ({:.0} samples at this rate), if the machine \
             goes on exactly as in this run. It is no bound: what did not happen during the run is not in it",
            span(of.horizon_ns),
            of.horizon_samples
        ),
    );
    text.push('\n');
    let said: Vec<_> = of
        .methods
        .iter()
        .filter_map(|of| Some((of, of.estimate?)))
        .collect();
    if let Some((_, first)) = said.first() {
        let interval = format!("{} interval", percent(first.interval_ns.confidence));
        let header = [
            ("Method", Column::Left),
            ("Level µs", Column::Right),
            (interval.as_str(), Column::Left),
            ("Shape", Column::Right),
            ("Extremes", Column::Right),
            ("p trend", Column::Right),
            ("halves", Column::Right),
            ("independence", Column::Right),
            ("rate", Column::Right),
            ("fit", Column::Right),
        ];
        let rows = said.iter().map(|(of, level)| {
            let ends = level.interval_ns;
            vec![
                name(of).to_owned(),
                digits(level.level_ns / 1e3),
                format!("{} .. {}", digits(ends.low / 1e3), digits(ends.high / 1e3)),
                format!("{:.2}", level.shape),
                level.extremes.to_string(),
                p_value(level.trend_p),
                p_value(level.halves_p),
                p_value(level.independence_p),
                level.rate_p.map_or_else(|| "-".to_owned(), p_value),
                p_value(level.fit_p),
            ]
        });
        text += &table(&header, rows.collect());
        text += &wrapped(
            " ",
            1,
            &format!(
                "Shape: below 0 the tail ends, above 0 it is heavier than exponential. p: of the checks; \
                 one below {} refuses. -: blocks have one extreme each.",
                percent(of.gate)
            ),
        );
    }
    for of in &of.methods {
        if let Some(reason) = &of.refused {
            text += &wrapped("", 2, &format!("{} refused: {reason}.", capital(name(of))));
        }
    }
    text
}

const fn name(of: &TailEstimate) -> &'static str {
    match of.method {
        TailMethod::BlockMaxima => "block maxima",
        TailMethod::PeaksOverThreshold => "peaks over threshold",
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}
