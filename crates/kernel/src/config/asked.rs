// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is asked of a configuration, put together, and who undoes what a name on the command line promises.

use punctual_model::UnmetOption;

use super::configure::{ConfigError, Wish, read_fragment};
use super::explain::explain;
use super::fragment::{Builtin, Fragment, MODELS, WITH, WITHOUT};
use super::kconfig::Kconfig;
use super::values::Values;

/// All that is asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// The last word on each option.
    pub(super) fragment: Fragment,
    /// Names of the parts, in their order.
    pub(super) names: Vec<String>,
    /// What the fragments of the program promise.
    pub(super) demands: Vec<Demand>,
}

/// An option as a fragment of the program wants it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Demand {
    name: String,
    wanted: String,
    /// The option of the command line: `--model rt`.
    from: String,
    is_model: bool,
    if_there: bool,
    /// The last part after it that had another word on the option.
    by: Option<By>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
struct By {
    /// As on the command line: `--fragment FILE`.
    part: String,
    is_set: bool,
}

/// What becomes of a demand that was undone.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Undone {
    /// It counts as not honoured.
    Unmet(UnmetOption),
    /// The user varies a fragment by a single option, which is said.
    Said(String),
}

/// Puts all together that is asked for.
pub(super) fn asked(wish: &Wish) -> Result<Asked, ConfigError> {
    let mut all = Asked::default();
    if let Some(model) = wish.model {
        let fragment = builtin(MODELS, model.name(), "--model")?;
        all.add_builtin(&fragment, "--model", model.name());
    }
    for (list, given, option) in [
        (WITH, &wish.with, "--with"),
        (WITHOUT, &wish.without, "--without"),
    ] {
        for name in given {
            all.add_builtin(&builtin(list, name, option)?, option, name);
        }
    }
    for path in &wish.files {
        let name = path.display().to_string();
        all.add(&read_fragment(path)?, "--fragment", &name);
        all.names.push(name);
    }
    for set in &wish.set {
        let line = match set.strip_prefix("CONFIG_") {
            Some(_) => set.clone(),
            None => format!("CONFIG_{set}"),
        };
        let fragment = Fragment::parse(&line).ok().filter(|f| f.wanted.len() == 1);
        let Some(fragment) = fragment else {
            return Err(ConfigError::Usage {
                option: format!("--set {set}"),
                reason: "is not NAME=VALUE".to_owned(),
            });
        };
        all.add(&fragment, "--set", set);
        all.names.push(format!("set {set}"));
    }
    Ok(all)
}

fn builtin(list: &[Builtin], name: &str, option: &str) -> Result<Fragment, ConfigError> {
    let found = list.iter().find(|builtin| builtin.name == name);
    found.map(Builtin::fragment).ok_or_else(|| {
        let names: Vec<&str> = list.iter().map(|builtin| builtin.name).collect();
        ConfigError::Usage {
            option: format!("{option} {name}"),
            reason: format!("is not one of {}", names.join(", ")),
        }
    })
}

impl Asked {
    fn add_builtin(&mut self, part: &Fragment, option: &str, name: &str) {
        self.add(part, option, name);
        self.names
            .push(format!("{} {name}", option.trim_start_matches('-')));
        let demands = part.wanted.iter().map(|(wanted_name, wanted)| Demand {
            name: wanted_name.to_owned(),
            wanted: wanted.to_owned(),
            from: format!("{option} {name}"),
            is_model: option == "--model",
            if_there: part.if_there.iter().any(|there| there == wanted_name),
            by: None,
        });
        self.demands.extend(demands);
    }

    fn add(&mut self, part: &Fragment, option: &str, name: &str) {
        self.fragment.add(part);
        for demand in &mut self.demands {
            let names = |list: &[String]| list.contains(&demand.name);
            let mentions = part.wanted.mentions(&demand.name);
            if mentions && part.wanted.value(&demand.name) == demand.wanted {
                demand.by = None;
            } else if mentions || names(&part.dropped) || names(&part.if_there) {
                demand.by = Some(By {
                    part: format!("{option} {name}"),
                    is_set: option == "--set",
                });
            }
        }
    }
}

/// Says what is to be said of a demand that `fragment`, the last word on all options, no longer has and the result does not
/// meet. What the fragment has is read back with the rest.
pub(super) fn undone(
    demand: Demand,
    fragment: &Fragment,
    values: &Values,
    kconfig: &Kconfig,
) -> Option<Undone> {
    let Demand {
        name, wanted, from, ..
    } = demand;
    let is_there = kconfig.options.contains_key(&name);
    let is_asked = fragment.wanted.mentions(&name) && fragment.wanted.value(&name) == wanted;
    let value = values.value(&name);
    if is_asked || value == wanted || (demand.if_there && !is_there) {
        return None;
    }
    // The model is what a build is called by, and recorded with.
    if let Some(by) = demand
        .by
        .as_ref()
        .filter(|by| by.is_set && !demand.is_model)
    {
        let part = &by.part;
        return Some(Undone::Said(format!(
            "{part} overrides {from}, which has {name}={wanted}"
        )));
    }
    let why = match demand.by.filter(|_| is_there) {
        Some(by) => format!("{from} asks for {wanted}, and {} undoes it", by.part),
        // A later part asks for the same if it is there, and it is not.
        None => explain(kconfig, values, &name, &wanted),
    };
    Some(Undone::Unmet(UnmetOption {
        value: value.to_owned(),
        name,
        wanted,
        why,
    }))
}

#[cfg(test)]
mod tests {
    use punctual_model::KernelModel;

    use super::super::configure::Base;
    use super::*;

    fn wish() -> Wish {
        Wish {
            base: Base::Tiny,
            model: Some(KernelModel::Rt),
            with: vec!["timerlat".to_owned()],
            without: vec!["power-management".to_owned()],
            files: Vec::new(),
            set: vec!["HZ=1000".to_owned(), "CONFIG_SMP=n".to_owned()],
        }
    }

    #[test]
    fn what_is_asked_is_put_together_in_order() {
        let Asked {
            fragment, names, ..
        } = asked(&wish()).unwrap();
        assert_eq!(fragment.wanted.value("PREEMPT_RT"), "y");
        assert_eq!(fragment.wanted.value("TIMERLAT_TRACER"), "y");
        assert!(fragment.wanted.mentions("CPU_IDLE") && !fragment.wanted.is_on("CPU_IDLE"));
        assert_eq!(fragment.wanted.value("HZ"), "1000");
        assert_eq!(
            names,
            [
                "model rt",
                "with timerlat",
                "without power-management",
                "set HZ=1000",
                "set CONFIG_SMP=n"
            ]
        );
    }

    #[test]
    fn what_a_name_promises_is_wanted_though_a_file_wants_it_only_if_it_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("my.config");
        std::fs::write(&file, "# if-there: PREEMPT_RT\nCONFIG_PREEMPT_RT=y\n").unwrap();
        let with_file = Wish {
            files: vec![file],
            ..wish()
        };
        assert_eq!(asked(&with_file).unwrap().fragment.if_there, [""; 0]);
    }

    #[test]
    fn a_word_that_is_not_known_is_named_with_those_that_are() {
        let mut odd = wish();
        odd.with = vec!["timer".to_owned()];
        let err = asked(&odd).unwrap_err().to_string();
        assert!(
            err.starts_with("--with timer: is not one of bridgers2015,"),
            "{err}"
        );
        for set in ["HZ", "HZ=", "A B=y", "#=y"] {
            let mut odd = wish();
            odd.set = vec![set.to_owned()];
            asked(&odd).unwrap_err();
        }
    }
}
