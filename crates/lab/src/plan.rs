// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From an experiment to its cells, and from a cell to what is run for it.

use std::collections::BTreeMap;

use punctual_model::Nanos;
use punctual_stats::design::{Fraction, Resolution};
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::file::{Design, Experiment, Factor, Sets};
use crate::order;

/// The name and major version of a plan on disk.
pub const PLAN_FORMAT: &str = "punctual.experiment/1";

/// What will be measured, in which order. With the experiment's file it is all that is needed to
/// go on later.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Plan {
    /// `punctual.experiment/1`.
    pub format: String,
    /// Name of the experiment.
    pub name: String,
    /// Seed of the order.
    pub seed: u64,
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
    pub skipped: Vec<Skipped>,
}

/// Something that was left out because the machine cannot have it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Skipped {
    /// What: `measure io`, `step=performance`.
    pub what: String,
    /// Why.
    pub reason: String,
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

/// How one run is done: arguments of this program, and its environment.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Invocation {
    /// Arguments, from `measure` on.
    pub arguments: Vec<String>,
    /// Variables to set.
    pub env: BTreeMap<String, String>,
    /// Variables to remove.
    pub unset: Vec<String>,
    /// Tags of the run, by which comparisons group and pair.
    pub tags: BTreeMap<String, String>,
}

impl Invocation {
    /// Puts the number of the block, from 1, in place of `{block}`: what must differ from block to block,
    /// such as the seed of a virtual machine, without which its runs would be copies.
    #[must_use]
    pub fn in_block(mut self, block: u32) -> Self {
        let number = block.saturating_add(1).to_string();
        for argument in &mut self.arguments {
            *argument = argument.replace("{block}", &number);
        }
        self
    }
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
        self.skipped.push(Skipped { what, reason });
        self.cells.len()
    }

    /// Leaves a measurement out, with the reason. The experiment that it is of must be told by
    /// [`Experiment::only`].
    pub fn without_measurement(&mut self, name: &str, reason: String) {
        self.measurements.retain(|known| known != name);
        let what = format!("measure {name}");
        self.skipped.push(Skipped { what, reason });
    }

    /// Returns all blocks, those of the warm-up included.
    pub const fn all_blocks(&self) -> u32 {
        self.warm_up_blocks.saturating_add(self.blocks)
    }

    /// Returns the runs of one block, in their order.
    pub fn block(&self, block: u32) -> Vec<Slot> {
        let cells = count(self.cells.len());
        let measurements = count(self.measurements.len());
        let order = order::of_block(self.seed, block, cells);
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

/// Returns what is run for a cell.
///
/// `None` if the plan is not of this experiment.
pub fn invocation(
    experiment: &Experiment,
    levels: &[String],
    measurement: u32,
) -> Option<Invocation> {
    let measure = experiment.measurements.get(measurement as usize)?;
    let mut options = measure.options.clone();
    let mut loads = measure.loads.clone();
    let mut out = Invocation {
        env: measure.env.clone(),
        ..Invocation::default()
    };
    let mut tuning = Vec::new();
    for (factor, name) in experiment.factors.iter().zip(levels) {
        let level = factor.levels.iter().find(|l| l.name == *name)?;
        let value = level.value.clone();
        match &factor.sets {
            // An option that is a switch is on or off.
            Sets::Option(option) if value == "false" => {
                options.remove(option);
            }
            Sets::Option(option) if value == "true" => {
                options.insert(option.clone(), Vec::new());
            }
            Sets::Option(option) => {
                options.insert(option.clone(), vec![value]);
            }
            Sets::Load if value == "none" => {}
            Sets::Load => loads.push(value),
            Sets::Profile if value == "none" => {}
            Sets::Profile => tuning.push(format!("--tune={value}")),
            Sets::Knob(_) if value == "keep" => {}
            Sets::Knob(knob) => tuning.push(format!("--set={knob}={value}")),
            Sets::Env(variable) if value == "unset" => {
                out.env.remove(variable);
                out.unset.push(variable.clone());
            }
            Sets::Env(variable) => {
                out.env.insert(variable.clone(), value);
            }
            Sets::Several => {
                let changes = &level.changes;
                options.extend(changes.options.clone());
                loads.extend(changes.loads.iter().cloned());
                tuning.extend(changes.tuning());
                out.env.extend(changes.env.clone());
            }
        }
    }
    out.arguments = vec!["measure".to_owned(), measure.instrument.clone()];
    for (name, values) in &options {
        if values.is_empty() {
            out.arguments.push(format!("--{name}"));
        }
        out.arguments
            .extend(values.iter().map(|value| format!("--{name}={value}")));
    }
    out.arguments
        .extend(loads.iter().map(|load| format!("--load={load}")));
    out.arguments.extend(tuning);
    Some(out)
}

/// Returns how long one block measures, as far as the options say: the sum of the durations.
pub fn stated_time(experiment: &Experiment, plan: &Plan) -> Option<Nanos> {
    let mut sum = Nanos::ZERO;
    for cell in &plan.cells {
        for measurement in 0..count(plan.measurements.len()) {
            let run = invocation(experiment, cell, measurement)?;
            sum = sum + time_of(&run.arguments)? + experiment.cool_down;
        }
    }
    Some(sum)
}

/// The interval of a thread where the options name none.
const INTERVAL: Nanos = Nanos::from_millis(1);

/// Returns how long a run measures: its duration, its samples, or its repeats.
fn time_of(arguments: &[String]) -> Option<Nanos> {
    let value = |name: &str| {
        let mut values = arguments
            .iter()
            .filter_map(|a| a.strip_prefix("--")?.split_once('='));
        values
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    };
    let time = |name: &str| value(name)?.parse::<Nanos>().ok();
    let times = |n: &str, each: Nanos| {
        let n: u64 = n.parse().ok()?;
        Some(Nanos::new(each.get().saturating_mul(n)))
    };
    time("duration").or_else(|| match (value("samples"), time("runtime")) {
        (Some(n), _) => times(n, time("interval").unwrap_or(INTERVAL)),
        (None, Some(each)) => times(value("repeats").unwrap_or("5"), each),
        _ => None,
    })
}

type Cells = (Vec<Vec<String>>, Vec<String>);

fn cells(file: &str, experiment: &Experiment) -> Result<Cells, LabError> {
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
                "exclude: {} of {all} cells are left: expected two or more",
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

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        name = "two-by-two"
        seed = 5
        compare = ["p99"]
        [[measure]]
        instrument = "wakeup"
        options = { cpus = "1", duration = "2s", raw = true, deadline = ["50us", "1ms"] }
        [[factor]]
        name = "dma"
        option = "dma-latency"
        levels = ["0us", "off"]
        [[factor]]
        name = "load"
        load = true
        levels = { idle = "none", busy = "cpu:2" }
        [stop]
        blocks = 3
    "#;

    fn planned(text: &str) -> (Experiment, Plan) {
        let experiment = Experiment::parse("x.toml", text).unwrap();
        let plan = Plan::of("x.toml", &experiment, 5).unwrap();
        (experiment, plan)
    }

    #[test]
    fn every_level_meets_every_other() {
        let (experiment, plan) = planned(TEXT);
        let names: Vec<String> = (0..4).map(|c| plan.cell_name(c)).collect();
        assert_eq!(
            names,
            [
                "dma=0us load=idle",
                "dma=0us load=busy",
                "dma=off load=idle",
                "dma=off load=busy"
            ]
        );
        assert_eq!(plan.runs(), 12);
        assert_eq!(
            stated_time(&experiment, &plan),
            Some(Nanos::from_secs(8)),
            "four cells of 2 s"
        );
    }

    #[test]
    fn a_cell_is_a_command_line() {
        let (experiment, plan) = planned(TEXT);
        let line = |cell: usize| {
            let run = invocation(&experiment, &plan.cells[cell], 0).unwrap();
            run.arguments.join(" ")
        };
        assert_eq!(
            line(1),
            "measure wakeup --cpus=1 --deadline=50us --deadline=1ms --dma-latency=0us --duration=2s \
             --raw --load=cpu:2"
        );
        assert!(!line(0).contains("--load"));
    }

    #[test]
    fn an_option_can_have_the_number_of_its_block() {
        let (experiment, plan) = planned(&TEXT.replace("cpu:2", "cpu:{block}"));
        let run = |block| {
            let run = invocation(&experiment, &plan.cells[1], 0).unwrap();
            run.in_block(block).arguments.join(" ")
        };
        assert!(run(0).ends_with("--load=cpu:1") && run(6).ends_with("--load=cpu:7"));
    }

    #[test]
    fn a_level_can_set_several_things_and_levels_can_be_left_out() {
        let bundle = r#"
        [[factor]]
        name = "step"
        [factor.levels.none]
        options = { cpus = "0" }
        [factor.levels.all]
        options = { raw = false, threads = 2 }
        load = ["memory"]
        tune = "raju"
        set = ["cpufreq.governor=performance"]
        env = { X = 1 }
        [stop]"#;
        let text = TEXT.replace("[stop]", bundle);
        let (experiment, mut plan) = planned(&text);
        let run = |cell: usize| invocation(&experiment, &plan.cells[cell], 0).unwrap();
        let line = |cell: usize| run(cell).arguments.join(" ");
        assert!(line(0).contains("--cpus=0 "), "{}", line(0));
        assert_eq!(
            line(3),
            "measure wakeup --cpus=1 --deadline=50us --deadline=1ms --dma-latency=0us --duration=2s \
             --raw --threads=2 --load=cpu:2 --load=memory --tune=raju --set=cpufreq.governor=performance"
        );
        assert_eq!(run(3).env["X"], "1");
        assert_eq!(plan.cells.len(), 8);
        assert_eq!(plan.without_level("step", "all", "why".to_owned()), 4);
        assert!((0..4).all(|cell| plan.cell_name(cell).ends_with("step=none")));
        plan.without_measurement("wakeup", "why".to_owned());
        assert_eq!(plan.skipped.len(), 2);
        assert!(
            experiment
                .clone()
                .only(&plan.measurements)
                .measurements
                .is_empty()
        );
        for (from, to, part) in [
            ("tune = \"raju\"", "tone = \"raju\"", "unknown field `tone`"),
            ("=performance", "", "KNOB=VALUE"),
            (
                "name = \"step\"",
                "name = \"step\"\nload = true",
                "a string or a number",
            ),
        ] {
            let err = Experiment::parse("x.toml", &text.replace(from, to)).unwrap_err();
            assert!(err.to_string().contains(part), "{err}");
        }
    }

    #[test]
    fn a_run_is_tagged_with_its_block_and_levels_unless_it_only_warms_up() {
        let text = TEXT
            .replace("[stop]", "[stop]\n")
            .replace("seed = 5", "seed = 5\nwarm-up-blocks = 1");
        let (_, plan) = planned(&text);
        let slot = |block| Slot {
            block,
            position: 0,
            cell: 1,
            measurement: 0,
        };
        let tags = |block| -> Vec<String> {
            let tags = plan.tags(slot(block)).into_iter();
            tags.map(|(key, value)| format!("{key}={value}")).collect()
        };
        assert_eq!(tags(0), ["experiment=two-by-two", "warm-up=yes"]);
        assert_eq!(
            tags(3),
            ["block=2", "dma=0us", "experiment=two-by-two", "load=busy"]
        );
    }

    #[test]
    fn a_level_sets_or_removes_a_variable_of_the_environment() {
        let third = "[[factor]]\nname = \"arenas\"\nenv = \"MALLOC_ARENA_MAX\"\n\
                     levels = [\"unset\", \"1\"]\n[stop]";
        let text = TEXT.replace("[stop]", third).replace(
            "instrument = \"wakeup\"",
            "instrument = \"wakeup\"\nenv = { MALLOC_ARENA_MAX = \"8\", LC_ALL = \"C\" }",
        );
        let (experiment, plan) = planned(&text);
        assert_eq!(plan.cells.len(), 8);
        let mut seen = Vec::new();
        for cell in &plan.cells {
            let what = invocation(&experiment, cell, 0).unwrap();
            assert_eq!(what.env["LC_ALL"], "C");
            seen.push(what.env.get("MALLOC_ARENA_MAX").cloned());
        }
        seen.sort();
        assert_eq!(seen[..4], [const { None }; 4]);
        assert!(seen[4..].iter().all(|value| value.as_deref() == Some("1")));
    }

    #[test]
    fn left_out_combinations_are_left_out() {
        let text = TEXT.replace(
            "[stop]",
            "[[exclude]]\ndma = \"off\"\nload = \"busy\"\n[stop]",
        );
        let (_, plan) = planned(&text);
        assert_eq!(plan.cells.len(), 3);
    }

    #[test]
    fn a_fraction_states_its_aliases() {
        let third =
            "[[factor]]\nname = \"raw\"\noption = \"raw\"\nlevels = [\"false\", \"true\"]\n[stop]";
        let text = format!(
            "design = \"resolution-three\"\n{}",
            TEXT.replace("[stop]", third)
        );
        let (_, plan) = planned(&text);
        assert_eq!(plan.cells.len(), 4);
        assert_eq!(
            plan.aliases,
            ["dma = load x raw", "load = dma x raw", "raw = dma x load"]
        );
    }

    #[test]
    fn errors_name_the_line_the_key_and_what_was_expected() {
        for (from, to, part) in [
            ("blocks = 3", "blocks = 0", "expected 1 to 100000"),
            ("blocks = 3", "blocs = 3", "unknown field `blocs`"),
            ("seed = 5", "seed = -5", "expected u64"),
            ("load = true", "loud = true", "unknown field `loud`"),
            ("load = true", "", "exactly one of option"),
            ("\"0us\", \"off\"", "\"off\"", "two or more"),
            ("compare = [\"p99\"]", "compare = []", "at least one figure"),
            ("cpus = \"1\"", "json = true", "set by the experiment"),
            ("name = \"two-by-two\"", "name = \"a/b\"", "letters"),
        ] {
            let text = TEXT.replacen(from, to, 1);
            let err = Experiment::parse("x.toml", &text).unwrap_err().to_string();
            assert!(err.contains(part), "{to}: {err}");
            let line = err.split([' ', ':']).nth(2).and_then(|n| n.parse().ok());
            let line: usize = line.unwrap_or_else(|| panic!("{err}"));
            let changed = TEXT[..TEXT.find(from).unwrap()].lines().count();
            // At the key, or at the table that it stands in or is missing from.
            assert!(
                (1..=changed + 1).contains(&line) && line + 4 > changed,
                "{to}: {err}"
            );
        }
        let text = TEXT.replace("[stop]", "[[exclude]]\ndma = \"on\"\n[stop]");
        let err = Experiment::parse("x.toml", &text).unwrap_err().to_string();
        assert!(err.contains("one of 0us, off"), "{err}");
    }
}
