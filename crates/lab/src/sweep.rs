// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The common case as a file: one knob over several values, measured with one or more instruments.

use crate::error::LabError;
use crate::file::is_name;

/// The most values of a sweep.
const VALUES: u64 = 1_000;

/// What to sweep.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sweep {
    /// The knob.
    pub knob: String,
    /// Its values, in order.
    pub values: Vec<String>,
    /// Instruments, each measured at every value, and whether they measure for a duration.
    pub instruments: Vec<(String, bool)>,
    /// Blocks.
    pub blocks: u32,
    /// How long each run of such an instrument measures.
    pub duration: String,
    /// Figures to compare.
    pub metrics: Vec<String>,
}

/// Reads `KNOB=VALUES`, where the values are `FIRST..LAST:STEP`, or a list with commas.
///
/// # Errors
///
/// Says what was expected.
pub fn parse_knob(text: &str) -> Result<(String, Vec<String>), String> {
    let (knob, values) = text
        .split_once('=')
        .filter(|(knob, _)| is_name(knob))
        .ok_or("expected KNOB=FIRST..LAST:STEP or KNOB=VALUE,VALUE,...")?;
    let values = match values.split_once("..") {
        Some((first, rest)) => range(first, rest)?,
        None => values.split(',').map(str::to_owned).collect(),
    };
    let mut seen = values.clone();
    seen.sort();
    seen.dedup();
    if values.len() < 2 || seen.len() != values.len() || values.iter().any(String::is_empty) {
        return Err("expected two or more different values".to_owned());
    }
    Ok((knob.to_owned(), values))
}

fn range(first: &str, rest: &str) -> Result<Vec<String>, String> {
    let expected = "expected FIRST..LAST:STEP, whole numbers, the last one not below the first";
    let (last, step) = rest.split_once(':').ok_or(expected)?;
    let number = |text: &str| text.parse::<u64>().map_err(|_| expected.to_owned());
    let (first, last, step) = (number(first)?, number(last)?, number(step)?);
    if step == 0 || last < first {
        return Err(expected.to_owned());
    }
    let values = (last - first) / step + 1;
    if values > VALUES {
        return Err(format!("{values} values: at most {VALUES} are swept"));
    }
    Ok((0..values)
        .map(|n| (first + n * step).to_string())
        .collect())
}

impl Sweep {
    /// Writes the experiment's file.
    ///
    /// # Errors
    ///
    /// [`LabError::File`] if the file would be wrong: an instrument twice, for one.
    pub fn file(&self) -> Result<String, LabError> {
        let quote = |text: &String| toml::Value::String(text.clone()).to_string();
        let list = |texts: &[String]| texts.iter().map(quote).collect::<Vec<_>>().join(", ");
        let head = format!(
            "# {} over {} values; `punctual experiment run` runs it.\n\
             name = {}\ncompare = [{}]\n",
            self.knob,
            self.values.len(),
            quote(&format!("sweep-{}", self.knob)),
            list(&self.metrics)
        );
        let measures = self.instruments.iter().map(|(instrument, has_duration)| {
            let options = match has_duration {
                true => format!("options = {{ duration = {} }}\n", quote(&self.duration)),
                false => String::new(),
            };
            format!(
                "\n[[measure]]\ninstrument = {}\n{options}",
                quote(instrument)
            )
        });
        let tail = format!(
            "\n[[factor]]\nname = {}\nknob = {}\nlevels = [{}]\n\n[stop]\nblocks = {}\n",
            quote(&self.knob),
            quote(&self.knob),
            list(&self.values),
            self.blocks
        );
        let text = [head, measures.collect(), tail].concat();
        crate::file::Experiment::parse("the sweep", &text)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{Experiment, Sets};

    #[test]
    fn ranges_and_lists_are_values() {
        let (knob, values) = parse_knob("rt_runtime_us=100000..1000000:100000").unwrap();
        assert_eq!((knob.as_str(), values.len()), ("rt_runtime_us", 10));
        assert_eq!(values.last().unwrap(), "1000000");
        assert_eq!(
            parse_knob("thp=always,never").unwrap().1,
            ["always", "never"]
        );
    }

    #[test]
    fn bad_sweeps_say_what_was_expected() {
        for bad in [
            "x",
            "=1,2",
            "x=1",
            "x=1,1",
            "x=5..1:1",
            "x=1..5:0",
            "x=1..5",
            "x=0..9999999:1",
            "x=a..b:c",
        ] {
            assert!(parse_knob(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_file_says_what_was_asked_for() {
        let (knob, values) = parse_knob("sched_rt_runtime_us=900000,950000").unwrap();
        let sweep = Sweep {
            knob,
            values,
            instruments: vec![("io".to_owned(), false), ("wakeup".to_owned(), true)],
            blocks: 7,
            duration: "5s".to_owned(),
            metrics: vec!["p99".to_owned()],
        };
        let text = sweep.file().unwrap();
        assert_eq!(text.matches("duration").count(), 1, "{text}");
        let experiment = Experiment::parse("x", &text).unwrap();
        assert_eq!(experiment.measurements.len(), 2);
        assert_eq!(experiment.factors[0].levels.len(), 2);
        assert_eq!(
            experiment.factors[0].sets,
            Sets::Knob("sched_rt_runtime_us".to_owned())
        );
        assert_eq!(experiment.stop.blocks, 7);
    }
}
