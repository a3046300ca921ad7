// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From an experiment to its cells, and from a cell to what is run for it.

mod cells;
mod invocation;

use std::collections::BTreeMap;

use punctual_model::StudySkipped;
use serde::{Deserialize, Serialize};

use self::cells::cells;
pub use self::invocation::{Invocation, Stated, guest_runs, invocation, is_virtual, stated_time};
use crate::error::LabError;
use crate::file::{Experiment, Order};
use crate::order;

/// The name and major version of a plan on disk.
pub const PLAN_FORMAT: &str = "punctual.experiment/1";

/// What will be measured, in which order. With the experiment's file it is all that is needed to
/// go on later.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Plan {
    /// `punctual.experiment/1`.
    pub format: String,
    /// Name of the experiment.
    pub name: String,
    /// Seed of the order.
    pub seed: u64,
    /// Whether the cells of a block come as they are written, and not in random order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub as_written: bool,
    /// Names of the factors, in the order of the file.
    pub factors: Vec<String>,
    /// The cells: a level's name for each factor.
    pub cells: Vec<Vec<String>>,
    /// Names of the measurements of each cell.
    pub measurements: Vec<String>,
    /// Blocks of the warm-up.
    pub warm_up_blocks: u32,
    /// Blocks that count; the most, where a rule may end it before.
    pub blocks: u32,
    /// What the fraction cannot tell apart, in words, where the design is one.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// What was left out because the machine cannot have it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<StudySkipped>,
}

/// One run to be done.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Slot {
    /// Block, from 0; those of the warm-up come first.
    pub block: u32,
    /// Place in the block, from 0.
    pub position: u32,
    /// Cell, from 0.
    pub cell: u32,
    /// Measurement of the cell, from 0.
    pub measurement: u32,
}

impl Plan {
    /// Plans `experiment` in the order that `seed` gives.
    ///
    /// # Errors
    ///
    /// [`LabError::File`] if the constraints leave fewer than two cells of several, or if there is
    /// no fraction with the wanted resolution.
    pub fn of(file: &str, experiment: &Experiment, seed: u64) -> Result<Self, LabError> {
        let (cells, aliases) = cells(file, experiment)?;
        Ok(Self {
            format: PLAN_FORMAT.to_owned(),
            name: experiment.name.clone(),
            seed,
            as_written: experiment.order == Order::AsWritten,
            factors: experiment.factors.iter().map(|f| f.name.clone()).collect(),
            cells,
            measurements: experiment
                .measurements
                .iter()
                .map(|m| m.name.clone())
                .collect(),
            warm_up_blocks: experiment.warm_up_blocks,
            blocks: experiment.stop.blocks,
            aliases,
            skipped: Vec::new(),
        })
    }

    /// Leaves a level of a factor out, with the reason. Returns the number of cells left.
    pub fn without_level(&mut self, factor: &str, level: &str, reason: String) -> usize {
        let place = self.factors.iter().position(|known| known == factor);
        if let Some(place) = place {
            let has = |cell: &Vec<String>| cell.get(place).is_some_and(|known| known == level);
            self.cells.retain(|cell| !has(cell));
        }
        let what = format!("{factor}={level}");
        self.skipped.push(StudySkipped { what, reason });
        self.cells.len()
    }

    /// Leaves a measurement out, with the reason. The experiment that it is of must be told by
    /// [`Experiment::only`].
    pub fn without_measurement(&mut self, name: &str, reason: String) {
        self.measurements.retain(|known| known != name);
        let what = format!("measure {name}");
        self.skipped.push(StudySkipped { what, reason });
    }

    /// Returns all blocks, those of the warm-up included.
    pub const fn all_blocks(&self) -> u32 {
        self.warm_up_blocks.saturating_add(self.blocks)
    }

    /// Returns the runs of one block, in their order.
    pub fn block(&self, block: u32) -> Vec<Slot> {
        let cells = count(self.cells.len());
        let measurements = count(self.measurements.len());
        let order = match self.as_written {
            true => (0..cells).collect(),
            false => order::of_block(self.seed, block, cells),
        };
        (0..)
            .zip(order)
            .flat_map(|(position, cell)| {
                (0..measurements).map(move |measurement| Slot {
                    block,
                    position,
                    cell,
                    measurement,
                })
            })
            .collect()
    }

    /// Returns the number of runs, repeats of invalid ones apart.
    pub fn runs(&self) -> u64 {
        u64::from(self.all_blocks()) * self.cells.len() as u64 * self.measurements.len() as u64
    }

    /// Says a cell in words: `dma=off load=cpu`.
    pub fn cell_name(&self, cell: u32) -> String {
        let levels = self.cells.get(cell as usize).map_or(&[][..], Vec::as_slice);
        let parts: Vec<String> = self
            .factors
            .iter()
            .zip(levels)
            .map(|(factor, level)| format!("{factor}={level}"))
            .collect();
        if parts.is_empty() {
            "the one cell".to_owned()
        } else {
            parts.join(" ")
        }
    }

    /// Returns the tags of a run: the experiment, the block, the measurement where there are several,
    /// and the level of each factor whose name and level can be tags. A run of the warm-up, which is
    /// in no result, has the experiment's name and `warm-up` alone.
    pub fn tags(&self, slot: Slot) -> BTreeMap<String, String> {
        let mut tags = BTreeMap::new();
        tags.insert("experiment".to_owned(), self.name.clone());
        if self.is_warm_up(slot.block) {
            tags.insert("warm-up".to_owned(), "yes".to_owned());
            return tags;
        }
        tags.insert("block".to_owned(), self.counted(slot.block).to_string());
        if let Some(name) = self.measurements.get(slot.measurement as usize)
            && self.measurements.len() > 1
        {
            tags.insert("measurement".to_owned(), name.clone());
        }
        let levels = self.cells.get(slot.cell as usize);
        for (factor, level) in self.factors.iter().zip(levels.into_iter().flatten()) {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            let is_key = !factor.is_empty() && factor.len() <= 50 && factor.chars().all(plain);
            let length = level.chars().count();
            let is_value = (1..=200).contains(&length) && !level.chars().any(char::is_control);
            if is_key && is_value && !tags.contains_key(factor) {
                tags.insert(factor.clone(), level.clone());
            }
        }
        tags
    }

    /// Returns the number of a block that counts, from 0 without those of the warm-up.
    pub const fn counted(&self, block: u32) -> u32 {
        block.saturating_sub(self.warm_up_blocks)
    }

    /// Whether the block is one of the warm-up, in no result.
    pub const fn is_warm_up(&self, block: u32) -> bool {
        block < self.warm_up_blocks
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
