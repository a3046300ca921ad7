// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How long tasks of lower priority keep one from running, by resources that they hold, on one CPU.
//!
//! *Ceiling*: at most one section of a lower task, the longest on a resource that this task or a higher one may take.
//! *Inheritance*: each lower task once, and each resource once, so at most the smaller of the two sums of longest sections: Sha,
//! Rajkumar and Lehoczky, *IEEE Transactions on Computers* 39, 1990. A resource that is taken inside another one counts for
//! those who may take the outer one too.
//! *None*: who holds the resource may be kept from running by everything in between. All that is bounded is the busy interval of
//! the tasks down to the lowest that shares such a resource with a task of at least this priority, because within it no CPU
//! time is lost and none goes to tasks below.

use punctual_model::Gathered as _;
use std::collections::BTreeMap;

use punctual_model::tasks::{CriticalSection, Protocol, Resource, Task};

/// The sections of the tasks of one CPU.
#[derive(Debug)]
pub(crate) struct Sections {
    all: Vec<Section>,
    protocols: Vec<Protocol>,
}

#[derive(Debug)]
struct Section {
    task: usize,
    resource: usize,
    length: u64,
    /// The resources that are held around it.
    around: Vec<usize>,
}

impl Sections {
    /// Collects the sections of `tasks`.
    pub(crate) fn of(tasks: &[&Task], resources: &[Resource]) -> Self {
        let named = resources.iter().enumerate();
        let numbers: BTreeMap<&str, usize> = named.map(|(n, r)| (r.name.as_str(), n)).into_map();
        let mut all = Vec::new();
        for (number, task) in tasks.iter().enumerate() {
            collect(number, &task.sections, &mut Vec::new(), &numbers, &mut all);
        }
        Self {
            all,
            protocols: resources.iter().map(|r| r.protocol).collect(),
        }
    }

    /// Whether there is any.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// A resource that a task of `upper` and any other take.
    pub(crate) fn shared(&self, upper: impl Fn(usize) -> bool) -> Option<usize> {
        let others = |own: &&Section| {
            let mut all = self.all.iter();
            all.any(|other| other.task != own.task && other.resource == own.resource)
        };
        let mut own = self.all.iter().filter(|section| upper(section.task));
        own.find(others).map(|section| section.resource)
    }

    /// How long those of `lower` can block one of `upper`; lengths grow by `grown`. Unprotected resources are not in it.
    pub(crate) fn blocking(
        &self,
        upper: impl Fn(usize) -> bool,
        lower: impl Fn(usize) -> bool,
        grown: impl Fn(u64) -> u64,
    ) -> u64 {
        if self.all.is_empty() {
            return 0;
        }
        let concerned = self.concerned(&upper);
        let counts = |section: &&Section, protocol| {
            lower(section.task)
                && concerned[section.resource]
                && self.protocols[section.resource] == protocol
        };
        let ceiling = self.all.iter().filter(|s| counts(s, Protocol::Ceiling));
        let ceiling = ceiling.map(|s| grown(s.length)).max().unwrap_or(0);
        let mut by_task: BTreeMap<usize, u64> = BTreeMap::new();
        let mut by_resource: BTreeMap<usize, u64> = BTreeMap::new();
        for section in self.all.iter().filter(|s| counts(s, Protocol::Inheritance)) {
            let length = grown(section.length);
            let longest = by_task.entry(section.task).or_default();
            *longest = length.max(*longest);
            let longest = by_resource.entry(section.resource).or_default();
            *longest = length.max(*longest);
        }
        let tasks = by_task
            .values()
            .fold(0, |sum: u64, l| sum.saturating_add(*l));
        let resources = by_resource
            .values()
            .fold(0, |sum: u64, l| sum.saturating_add(*l));
        ceiling.saturating_add(tasks.min(resources))
    }

    /// Whether `task` takes a resource that a task of a higher level takes too, at whatever depth: it may then go on, or end, before
    /// jobs that analysis lets go first.
    pub(crate) fn defers(&self, task: usize, levels: &[u64]) -> bool {
        let above = self.concerned(|other| levels[other] > levels[task]);
        let mut own = self.all.iter().filter(|section| section.task == task);
        own.any(|section| above[section.resource])
    }

    /// The resources that one of `upper` may wait for: those that it takes, and those that are taken inside one that it may
    /// wait for.
    fn concerned(&self, upper: impl Fn(usize) -> bool) -> Vec<bool> {
        let mut concerned = vec![false; self.protocols.len()];
        for section in self.all.iter().filter(|s| upper(s.task)) {
            concerned[section.resource] = true;
        }
        loop {
            let mut changed = false;
            for section in &self.all {
                if !concerned[section.resource] && section.around.iter().any(|r| concerned[*r]) {
                    concerned[section.resource] = true;
                    changed = true;
                }
            }
            if !changed {
                return concerned;
            }
        }
    }

    /// The lowest level that a task of at least `level` can be delayed by through unprotected resources; `levels` has that of
    /// each task, the higher the more urgent. It is `level` itself where there is none.
    pub(crate) fn floor(&self, level: u64, levels: &[u64]) -> u64 {
        let mut floor = level;
        loop {
            let concerned = self.concerned(|task| levels[task] >= floor);
            let open = |s: &&Section| {
                concerned[s.resource] && self.protocols[s.resource] == Protocol::None
            };
            let lowest = self.all.iter().filter(open).map(|s| levels[s.task]).min();
            match lowest {
                Some(lowest) if lowest < floor => floor = lowest,
                _ => return floor,
            }
        }
    }
}

fn collect(
    task: usize,
    sections: &[CriticalSection],
    around: &mut Vec<usize>,
    numbers: &BTreeMap<&str, usize>,
    into: &mut Vec<Section>,
) {
    for section in sections {
        let Some(resource) = numbers.get(section.resource.as_str()) else {
            continue;
        };
        into.push(Section {
            task,
            resource: *resource,
            length: section.length_ns.get(),
            around: around.clone(),
        });
        around.push(*resource);
        collect(task, &section.sections, around, numbers, into);
        around.pop();
    }
}
