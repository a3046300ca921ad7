// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Several loads in one word.

use std::str::FromStr;

use super::parse::ParseLoadError;
use super::spec::LoadSpec;
use super::{presets, words};

/// Loads separated by commas.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct LoadList(pub Vec<LoadSpec>);

impl LoadList {
    /// Puts the loads of several lists into one.
    pub fn join(lists: &[Self]) -> Vec<LoadSpec> {
        lists.iter().flat_map(|list| list.0.clone()).collect()
    }
}

impl FromStr for LoadList {
    type Err = ParseLoadError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let mut loads = Vec::new();
        let mut rest = Some(s);
        while let Some(text) = rest {
            let (load, after) = words::first(text);
            match presets::expand(load)? {
                Some(several) => {
                    for load in several {
                        loads.push(load.parse()?);
                    }
                }
                None => loads.push(load.parse()?),
            }
            rest = after;
        }
        Ok(Self(loads))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Vec<String> {
        let list: LoadList = text.parse().unwrap();
        list.0.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn commas_separate_loads_and_not_cpus() {
        assert_eq!(said("cpu"), ["cpu"]);
        assert_eq!(said("cpu,cmd:a, b,cpu"), ["cpu", "cmd:a, b,cpu"]);
        assert_eq!(said("cpu:2,memory"), ["cpu:2", "memory"]);
        assert_eq!(
            said("cpu@cpus=0,2-3,memory:1M@cpus=0,1@nice=5,cpu:1"),
            ["cpu@cpus=0,2-3", "memory:1M@cpus=0-1@policy=o:5", "cpu:1"]
        );
    }

    #[test]
    fn an_empty_place_is_no_load() {
        for text in ["", ",", "cpu,", ",cpu", "cpu,,memory"] {
            assert!(text.parse::<LoadList>().is_err(), "{text}");
        }
    }

    #[test]
    fn lists_join_in_their_order() {
        let lists = ["cpu,memory", "cpu:3"].map(|text| text.parse::<LoadList>().unwrap());
        let all: Vec<String> = LoadList::join(&lists)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(all, ["cpu", "memory", "cpu:3"]);
    }
}
