// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Why an option did not become what was asked of it.

use super::expression::{Expr, Tri, number};
use super::kconfig::{Condition, Definition, Kconfig, Kind};
use super::values::{OFF, Values};

/// How many who select an option are named.
const NAMED: usize = 4;

/// Says why `name` is not `wanted` in `values`, which Kconfig made: what it depends on that is off, who selects it,
/// that it takes no such value, or that there is no such option.
pub(crate) fn explain(kconfig: &Kconfig, values: &Values, name: &str, wanted: &str) -> String {
    let Some(definitions) = kconfig.options.get(name) else {
        return "this source has no such option".to_owned();
    };
    if wanted == OFF {
        return why_on(kconfig, values, name, definitions);
    }
    if let Some(why) = other_member(kconfig, values, name, definitions) {
        return why;
    }
    // An option may be defined at several places; that which needs least says most.
    let settable = definitions.iter().filter(|d| d.prompt.is_some());
    let lacking = settable.map(|definition| lacking(definition, values));
    match lacking.min_by_key(Vec::len) {
        None => {
            let by = selectors(kconfig, name);
            match by.is_empty() {
                true => "it cannot be set: it has no prompt and nothing selects it".to_owned(),
                false => format!(
                    "it cannot be set: it has no prompt, and is on if one of these is: {by}"
                ),
            }
        }
        Some(lacking) if lacking.is_empty() => takes_no_such(kconfig, values, name, wanted)
            .unwrap_or_else(|| {
                let place = definitions.first().map_or("", |d| d.place.as_str());
                format!("all its dependencies are met; it is defined at {place}")
            }),
        Some(lacking) => format!("depends on {}", lacking.join(" and ")),
    }
}

/// Says why `wanted` is no value of the option.
fn takes_no_such(kconfig: &Kconfig, values: &Values, name: &str, wanted: &str) -> Option<String> {
    match (kconfig.kind(name)?, wanted) {
        (Kind::Tristate, "m") if !values.is_on("MODULES") => {
            Some("there are no modules: MODULES is n".to_owned())
        }
        (Kind::Tristate, "y" | "m") | (Kind::Bool, "y") | (Kind::String, _) => None,
        (Kind::Tristate, _) => Some("it is y, m or n".to_owned()),
        (Kind::Bool, _) => Some("it is y or n".to_owned()),
        (Kind::Number, _) => {
            let Some(wanted) = number(wanted) else {
                return Some("it is a number".to_owned());
            };
            let ranges = kconfig
                .options
                .get(name)
                .into_iter()
                .flatten()
                .flat_map(|d| &d.ranges);
            let mut active = ranges.filter(|(_, _, when)| match when {
                None => true,
                Some(when) => when
                    .as_ref()
                    .is_ok_and(|when| when.value(values).is_some_and(|value| value != Tri::No)),
            });
            // The first one counts.
            let (least, most, _) = active.next()?;
            let bound = |text: &str| number(text).or_else(|| number(values.value(text)));
            let (least, most) = (bound(least)?, bound(most)?);
            let outside = wanted < least || wanted > most;
            outside.then(|| format!("its range is {least} to {most}"))
        }
    }
}

/// Lists the conditions of a definition that do not hold, with the values that they rest on.
fn lacking(definition: &Definition, values: &Values) -> Vec<String> {
    let mut lacking = Vec::new();
    let prompt = definition.prompt.iter().flatten();
    let prompt = prompt.chain(&definition.visible);
    for (condition, is_prompt) in definition
        .depends
        .iter()
        .map(|c| (c, false))
        .chain(prompt.map(|c| (c, true)))
    {
        let to_be_set = if is_prompt {
            " (to be set by hand)"
        } else {
            ""
        };
        match condition {
            Ok(expr) => {
                for part in expr.parts() {
                    let text = match part.value(values) {
                        Some(Tri::Yes) => continue,
                        Some(Tri::Module) => format!("{part}, which is m{to_be_set}"),
                        Some(Tri::No) => format!("{}{to_be_set}", with_values(part, values)),
                        None => format!("{part}, which the compiler decides{to_be_set}"),
                    };
                    if !lacking.contains(&text) {
                        lacking.push(text);
                    }
                }
            }
            Err(text) => lacking.push(format!("{text}, which was not understood")),
        }
    }
    lacking
}

fn with_values(part: &Expr, values: &Values) -> String {
    let mut symbols = part.symbols();
    symbols.dedup();
    let is: Vec<String> = symbols
        .iter()
        .map(|name| format!("{name}={}", values.value(name)))
        .collect();
    match part {
        Expr::Symbol(name) => format!("{name}, which is {}", values.value(name)),
        _ => format!("{part} (here {})", is.join(", ")),
    }
}

/// Says which other member of its choice is on.
fn other_member(
    kconfig: &Kconfig,
    values: &Values,
    name: &str,
    definitions: &[Definition],
) -> Option<String> {
    let choice = definitions.iter().find_map(|d| d.choice)?;
    let members = kconfig.choices.get(choice)?;
    let on = members
        .iter()
        .find(|m| *m != name && values.value(m) == "y")?;
    let own = definitions.iter().find(|d| d.choice == Some(choice))?;
    let lacking = lacking(own, values);
    lacking
        .is_empty()
        .then(|| format!("{on} is chosen instead, and the two exclude each other"))
}

fn why_on(kconfig: &Kconfig, values: &Values, name: &str, definitions: &[Definition]) -> String {
    let active = |when: &Condition| {
        when.as_ref()
            .is_ok_and(|when| when.value(values) != Some(Tri::No))
    };
    let by = kconfig.selected.get(name).into_iter().flatten();
    let by = by.filter(|(by, when)| values.is_on(by) && active(when));
    let by: Vec<&str> = by.map(|(by, _)| by.as_str()).collect();
    if !by.is_empty() {
        return format!("selected by {}", listed(&by));
    }
    let settable = definitions.iter().filter(|d| d.prompt.is_some());
    let hidden: Vec<String> = settable
        .flat_map(|d| d.prompt.iter().flatten().chain(&d.visible))
        .filter_map(|when| when.as_ref().ok())
        .filter(|when| when.value(values) == Some(Tri::No))
        .map(ToString::to_string)
        .collect();
    if !hidden.is_empty() {
        return format!(
            "on by default, and can be switched off only with {}",
            hidden.join(" or ")
        );
    }
    if definitions.iter().all(|d| d.prompt.is_none()) {
        return "on by default, and cannot be set: it has no prompt".to_owned();
    }
    let choice = definitions.iter().find_map(|d| d.choice);
    if choice.is_some() {
        return "one member of its choice has to be on".to_owned();
    }
    format!(
        "found nothing that keeps it on; {} defines it",
        definitions.first().map_or("nothing", |d| d.place.as_str())
    )
}

fn selectors(kconfig: &Kconfig, name: &str) -> String {
    let by = kconfig.selected.get(name).into_iter().flatten();
    let mut by: Vec<&str> = by.map(|(by, _)| by.as_str()).collect();
    by.sort_unstable();
    by.dedup();
    listed(&by)
}

fn listed(names: &[&str]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let first: Vec<&str> = names.iter().take(NAMED).copied().collect();
    match more {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "config EXPERT\n\tbool \"e\"\nconfig ARCH_HAS\n\tbool\n\
        config RT\n\tbool \"rt\"\n\tdepends on EXPERT && ARCH_HAS && !TEST\n\
        config TEST\n\tbool \"t\"\nconfig HIDDEN\n\tbool\nconfig LOCKED\n\tbool \"l\" if EXPERT\n\tdefault y\n\
        config USER\n\tbool \"u\"\n\tselect HIDDEN\n\tselect LIB if EXPERT\nconfig LIB\n\tbool \"lib\"\n\
        config CPUS\n\tint \"n\"\n\trange 1 1 if !SMP\n\trange 2 MOST\nconfig MOST\n\tint\n\
        config SMP\n\tbool \"smp\"\nconfig KVM\n\ttristate \"kvm\"\n\
        choice\n\tprompt \"p\"\nconfig P_NONE\n\tbool \"none\"\nconfig P_FULL\n\tbool \"full\"\n\tdepends on !RT\nendchoice\n\
        menu \"m\"\n\tvisible if EXPERT\nconfig SHOWN\n\tbool \"s\"\n\tdefault y\nendmenu\n\
        choice\n\tprompt \"q\" if EXPERT\nconfig Q_ONE\n\tbool \"one\"\nconfig Q_TWO\n\tbool \"two\"\nendchoice\n\
        config HERTZ\n\tint \"h\"\n\tdepends on TEST if USER\n\trange 1 64\n";

    fn why(config: &str, name: &str, wanted: &str) -> String {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("Kconfig"), TREE).unwrap();
        let kconfig = Kconfig::read(dir.path(), "x86").unwrap();
        explain(&kconfig, &Values::parse(config).unwrap(), name, wanted)
    }

    #[test]
    fn what_is_off_of_what_it_depends_on_is_named() {
        assert_eq!(
            why("CONFIG_ARCH_HAS=y\nCONFIG_TEST=y", "RT", "y"),
            "depends on EXPERT, which is n and !TEST (here TEST=y)"
        );
        assert_eq!(
            why("CONFIG_EXPERT=y", "RT", "y"),
            "depends on ARCH_HAS, which is n"
        );
        assert_eq!(
            why("", "ARCH_HAS", "y"),
            "it cannot be set: it has no prompt and nothing selects it"
        );
        assert_eq!(
            why("", "HIDDEN", "y"),
            "it cannot be set: it has no prompt, and is on if one of these is: USER"
        );
        assert_eq!(why("", "NONSENSE", "y"), "this source has no such option");
    }

    #[test]
    fn a_value_that_an_option_does_not_take_is_told_from_one_that_something_hinders() {
        let many = "CONFIG_SMP=y\nCONFIG_MOST=512\nCONFIG_CPUS=64";
        assert_eq!(why(many, "CPUS", "9999"), "its range is 2 to 512");
        assert_eq!(why("CONFIG_CPUS=1", "CPUS", "2"), "its range is 1 to 1");
        assert_eq!(why(many, "CPUS", "many"), "it is a number");
        assert!(why(many, "CPUS", "8").starts_with("all its dependencies are met"));
        assert_eq!(
            why("CONFIG_KVM=y", "KVM", "m"),
            "there are no modules: MODULES is n"
        );
        let modules = "CONFIG_MODULES=y\nCONFIG_KVM=y";
        assert!(why(modules, "KVM", "m").starts_with("all its dependencies are met"));
        assert_eq!(why("", "SMP", "m"), "it is y or n");
    }

    #[test]
    fn a_dependency_with_a_condition_is_in_the_way_only_where_that_holds() {
        assert_eq!(why("", "HERTZ", "512"), "its range is 1 to 64");
        assert_eq!(
            why("CONFIG_USER=y", "HERTZ", "512"),
            "depends on TEST || USER=n (here TEST=n, USER=y)"
        );
    }

    #[test]
    fn what_hides_a_menu_or_a_choice_is_named() {
        let by_hand = "depends on EXPERT, which is n (to be set by hand)";
        assert_eq!(why("", "SHOWN", "y"), by_hand);
        assert_eq!(why("CONFIG_Q_ONE=y", "Q_TWO", "y"), by_hand);
        assert_eq!(
            why("CONFIG_SHOWN=y", "SHOWN", "n"),
            "on by default, and can be switched off only with EXPERT"
        );
        assert_eq!(
            why("CONFIG_Q_ONE=y\nCONFIG_EXPERT=y", "Q_TWO", "y"),
            "Q_ONE is chosen instead, and the two exclude each other"
        );
    }

    #[test]
    fn what_keeps_an_option_on_is_named() {
        assert_eq!(
            why("CONFIG_USER=y\nCONFIG_HIDDEN=y", "HIDDEN", "n"),
            "selected by USER"
        );
        assert_eq!(
            why("CONFIG_LOCKED=y", "LOCKED", "n"),
            "on by default, and can be switched off only with EXPERT"
        );
        let lib = "CONFIG_EXPERT=y\nCONFIG_USER=y\nCONFIG_LIB=y";
        assert_eq!(why(lib, "LIB", "n"), "selected by USER");
    }

    #[test]
    fn another_member_of_a_choice_is_named_unless_its_own_conditions_fail() {
        assert_eq!(
            why("CONFIG_P_NONE=y", "P_FULL", "y"),
            "P_NONE is chosen instead, and the two exclude each other"
        );
        assert_eq!(
            why("CONFIG_P_NONE=y\nCONFIG_RT=y", "P_FULL", "y"),
            "depends on !RT (here RT=y)"
        );
    }
}
