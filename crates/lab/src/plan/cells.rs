// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Factors crossed to cells, in full or as a fraction.

use punctual_stats::design::{Fraction, Resolution};

use crate::error::LabError;
use crate::file::{Design, Experiment, Factor};

type Cells = (Vec<Vec<String>>, Vec<String>);

pub(super) fn cells(file: &str, experiment: &Experiment) -> Result<Cells, LabError> {
    let (mut cells, aliases) = match experiment.design {
        Design::Full => (crossed(&experiment.factors), Vec::new()),
        Design::ResolutionThree => fraction(file, experiment, Resolution::Three)?,
        Design::ResolutionFour => fraction(file, experiment, Resolution::Four)?,
    };
    let all = cells.len();
    cells.retain(|cell| !is_excluded(experiment, cell));
    if cells.is_empty() || (all > 1 && cells.len() < 2) {
        return Err(LabError::File {
            file: file.to_owned(),
            line: 1,
            reason: format!(
                "exclude: leaves {} of {all} cells; expected two or more",
                cells.len()
            ),
        });
    }
    Ok((cells, aliases))
}

fn is_excluded(experiment: &Experiment, cell: &[String]) -> bool {
    experiment.excluded.iter().any(|combination| {
        let mut levels = experiment.factors.iter().zip(cell);
        let matched = levels
            .by_ref()
            .filter(|(f, level)| combination.get(&f.name) == Some(level))
            .count();
        matched == combination.len()
    })
}

/// Crosses every level with every other; the last factor changes first.
fn crossed(factors: &[Factor]) -> Vec<Vec<String>> {
    let mut cells = vec![Vec::new()];
    for factor in factors {
        cells = cells
            .iter()
            .flat_map(|cell: &Vec<String>| {
                factor.levels.iter().map(move |level| {
                    let mut longer = cell.clone();
                    longer.push(level.name.clone());
                    longer
                })
            })
            .collect();
    }
    cells
}

fn fraction(
    file: &str,
    experiment: &Experiment,
    resolution: Resolution,
) -> Result<Cells, LabError> {
    let factors = &experiment.factors;
    let fraction = Fraction::new(factors.len(), resolution).map_err(|err| LabError::File {
        file: file.to_owned(),
        line: 1,
        reason: format!("design: {err}"),
    })?;
    let level = |(factor, at): (&Factor, usize)| {
        let level = factor.levels.get(at);
        level.map(|l| l.name.clone()).unwrap_or_default()
    };
    let cells = fraction
        .cells()
        .into_iter()
        .map(|cell| factors.iter().zip(cell).map(level).collect())
        .collect();
    let names: Vec<&str> = factors.iter().map(|f| f.name.as_str()).collect();
    Ok((cells, aliases(&fraction, &names)))
}

/// Says for each main effect and two-factor interaction which others of them cannot be told from it.
/// What is aliased with longer interactions alone is not listed.
fn aliases(fraction: &Fraction, names: &[&str]) -> Vec<String> {
    let say = |effect: u32| {
        let letters = (0..).zip(names).filter(|(n, _)| effect >> n & 1 == 1);
        let letters: Vec<&str> = letters.map(|(_, name): (u32, _)| *name).collect();
        letters.join(" x ")
    };
    let ones = (0..names.len()).map(|a| 1_u32 << a);
    let twos = (0..names.len()).flat_map(|a| (a + 1..names.len()).map(move |b| 1 << a | 1 << b));
    let mut told = Vec::new();
    let mut lines = Vec::new();
    for effect in ones.chain(twos) {
        let others = fraction.aliases(effect, 2);
        if !told.contains(&effect) && !others.is_empty() {
            let all: Vec<String> = [effect].iter().chain(&others).map(|e| say(*e)).collect();
            lines.push(all.join(" = "));
            told.extend(others);
        }
    }
    lines
}
