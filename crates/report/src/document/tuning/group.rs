// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Settings that go the same way, in one line.

/// Instances longer than this are counted instead of named.
const NAMES: usize = 40;

/// Instances of one knob that share what is said of them.
#[derive(Debug)]
pub(super) struct Group<T> {
    pub(super) knob: String,
    pub(super) instances: Vec<String>,
    pub(super) values: T,
}

/// Puts settings of the same knob and values together, in the order of the first of each.
pub(super) fn grouped<'a, T: PartialEq>(
    settings: impl Iterator<Item = ((&'a str, Option<&'a str>), T)>,
) -> Vec<Group<T>> {
    let mut groups: Vec<Group<T>> = Vec::new();
    for ((knob, instance), values) in settings {
        let instance = instance.map(str::to_owned);
        let same = |group: &&mut Group<T>| {
            group.knob == knob && group.values == values && !group.instances.is_empty()
        };
        // What there is one of stands alone: written twice, it is two lines.
        if let Some(group) = groups.iter_mut().find(same).filter(|_| instance.is_some()) {
            group.instances.extend(instance);
        } else {
            groups.push(Group {
                knob: knob.to_owned(),
                instances: instance.into_iter().collect(),
                values,
            });
        }
    }
    groups
}

/// Names the instances, numbers as ranges; counts them where that takes too much room.
pub(super) fn which(knob: &str, instances: &[String]) -> String {
    let numbers: Option<Vec<u64>> = instances.iter().map(|i| i.parse().ok()).collect();
    let names = match numbers.filter(|_| !instances.is_empty()) {
        Some(numbers) => ranges(numbers),
        None => instances.join(" "),
    };
    if names.chars().count() <= NAMES {
        return names;
    }
    let noun = if knob.contains("thread") {
        "threads"
    } else {
        "of them"
    };
    format!("{} {noun}", instances.len())
}

fn ranges(mut numbers: Vec<u64>) -> String {
    numbers.sort_unstable();
    let mut parts: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => parts.push((number, number)),
        }
    }
    let parts = parts.iter().map(|(first, last)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    });
    parts.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_that_go_the_same_way_are_one_line() {
        let settings = [
            (("irq", Some("24")), 1),
            (("irq", Some("26")), 2),
            (("irq", Some("25")), 1),
            (("vm", None), 1),
            (("vm", None), 1),
        ];
        let groups = grouped(settings.into_iter());
        let lines: Vec<_> = groups
            .iter()
            .map(|g| which(&g.knob, &g.instances))
            .collect();
        assert_eq!(lines, ["24-25", "26", "", ""]);
    }

    #[test]
    fn too_many_are_counted() {
        let many: Vec<String> = (0..50).map(|n| (n * 2).to_string()).collect();
        assert_eq!(which("threads.affinity", &many), "50 threads");
        let states = ["0/state1".to_owned(), "1/state1".to_owned()];
        assert_eq!(which("cpuidle.disable", &states), "0/state1 1/state1");
    }
}
