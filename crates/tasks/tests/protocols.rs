// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Bounds with shared resources against a schedule that takes and releases them, one unit of time after the other: it shares no
//! code with the analysis. And whole checks on random and hostile sets.
#![expect(clippy::cast_possible_truncation, reason = "small numbers")]

use std::collections::BTreeMap;

use punctual_model::tasks::{
    CriticalSection, Overheads, PriorityOrder, Protocol, Resource, SetVerdict, Task, TaskPolicy,
    TaskSet, TaskVerdict,
};
use punctual_model::{CpuSet, Nanos};
use punctual_stats::RandomSource;
use punctual_tasks::{LONGEST, Limits, check};

const PROTOCOLS: [Protocol; 3] = [Protocol::None, Protocol::Inheritance, Protocol::Ceiling];

fn task(name: &str, priority: u8, cost: u64, period: u64) -> Task {
    Task {
        name: name.to_owned(),
        period_ns: Nanos::new(period),
        deadline_ns: Nanos::new(period),
        execution_ns: Nanos::new(cost),
        observed_in: None,
        offset_ns: Nanos::ZERO,
        jitter_ns: Nanos::ZERO,
        waits_ns: None,
        policy: TaskPolicy::Fifo {
            priority: Some(priority),
        },
        cpus: CpuSet::default(),
        sections: Vec::new(),
    }
}

fn set(tasks: Vec<Task>, resources: Vec<Resource>) -> TaskSet {
    TaskSet {
        name: "test".to_owned(),
        order: PriorityOrder::RateMonotonic,
        tasks,
        resources,
        overheads: Overheads::default(),
        assumes: Vec::new(),
    }
}

fn section(resource: &str, length: u64, sections: Vec<CriticalSection>) -> CriticalSection {
    CriticalSection {
        resource: resource.to_owned(),
        length_ns: Nanos::new(length),
        sections,
    }
}

/// The resources that a job holds in each unit of its execution: sections come at its end, so that they are most in the way.
fn held(task: &Task) -> Vec<Vec<String>> {
    fn add(sections: &[CriticalSection], around: &[String], units: &mut Vec<Vec<String>>) {
        for section in sections {
            let mut names = around.to_vec();
            names.push(section.resource.clone());
            let inner: u64 = section.sections.iter().map(|s| s.length_ns.get()).sum();
            for _ in 0..section.length_ns.get() - inner {
                units.push(names.clone());
            }
            add(&section.sections, &names, units);
        }
    }
    let mut inside = Vec::new();
    add(&task.sections, &[], &mut inside);
    let outside = task.execution_ns.get() as usize - inside.len();
    // One unit stays behind the sections, where there is one.
    let behind = usize::from(outside > 1);
    let mut units = vec![Vec::new(); outside - behind];
    units.extend(inside);
    units.extend(vec![Vec::new(); behind]);
    units
}

/// The worst responses of a schedule of unit steps with the first releases at `starts`.
fn schedule(set: &TaskSet, starts: &[u64], until: u64) -> Vec<u64> {
    let tasks = &set.tasks;
    let priority = |at: usize| tasks[at].policy.priority().map_or(0, i32::from);
    let units: Vec<Vec<Vec<String>>> = tasks.iter().map(held).collect();
    let protocols: BTreeMap<&str, Protocol> = set
        .resources
        .iter()
        .map(|r| (r.name.as_str(), r.protocol))
        .collect();
    let ceiling = |name: &str| {
        let users = (0..tasks.len()).filter(|at| units[*at].iter().flatten().any(|n| n == name));
        users.map(priority).max().unwrap_or(0)
    };
    let mut queues: Vec<Vec<u64>> = vec![Vec::new(); tasks.len()];
    let mut done = vec![0_usize; tasks.len()];
    let mut holds: Vec<Vec<String>> = vec![Vec::new(); tasks.len()];
    let mut worst = vec![0; tasks.len()];
    for now in 0..until {
        for (at, task) in tasks.iter().enumerate() {
            if now >= starts[at] && (now - starts[at]).is_multiple_of(task.period_ns.get()) {
                queues[at].push(now);
            }
        }
        // Whoever waits for somebody gives its priority away, along the chain, where the resource inherits.
        let mut waits: BTreeMap<usize, (usize, String)> = BTreeMap::new();
        loop {
            let active = (0..tasks.len()).filter(|at| !queues[*at].is_empty());
            let base = |at: usize| {
                let ceilings = holds[at]
                    .iter()
                    .filter(|n| protocols[n.as_str()] == Protocol::Ceiling);
                ceilings
                    .map(|n| ceiling(n))
                    .chain([priority(at)])
                    .max()
                    .unwrap_or(0)
            };
            let mut effective: Vec<i32> = (0..tasks.len()).map(base).collect();
            for _ in 0..tasks.len() {
                for (waiter, (holder, name)) in &waits {
                    if protocols[name.as_str()] == Protocol::Inheritance {
                        effective[*holder] = effective[*holder].max(effective[*waiter]);
                    }
                }
            }
            let ready = active.filter(|at| !waits.contains_key(at));
            // Of two with one priority the one that has begun, as the kernel does.
            let key = |at: &usize| {
                (
                    effective[*at],
                    !holds[*at].is_empty(),
                    done[*at] > 0,
                    priority(*at),
                )
            };
            let Some(running) = ready.max_by_key(key) else {
                assert!(waits.is_empty(), "deadlock at {now}: {waits:?} in {set:?}");
                break;
            };
            let wanted = units[running][done[running]].clone();
            holds[running].retain(|n| wanted.contains(n));
            let missing = wanted.iter().find(|n| !holds[running].contains(n));
            if let Some(name) = missing {
                match (0..tasks.len()).find(|other| holds[*other].contains(name)) {
                    Some(holder) => {
                        waits.insert(running, (holder, name.clone()));
                    }
                    None => holds[running].push(name.clone()),
                }
                continue;
            }
            done[running] += 1;
            if done[running] == units[running].len() {
                done[running] = 0;
                holds[running].clear();
                let released = queues[running].remove(0);
                worst[running] = worst[running].max(now + 1 - released);
            } else {
                let next = &units[running][done[running]];
                holds[running].retain(|n| next.contains(n));
            }
            break;
        }
    }
    worst
}

fn random_set(random: &mut RandomSource, protocol: impl Fn(usize) -> Protocol) -> TaskSet {
    let n = 2 + random.below(4);
    let names = ["a", "b", "c"];
    let tasks = (0..n).map(|at| {
        let period = 12 + random.below(50) as u64;
        let cost = 1 + random.below((period as usize / n).max(1)) as u64;
        let mut task = task(&format!("t{at}"), 90 - at as u8, cost, period);
        let mut left = cost;
        // Resources are taken in the order of their names.
        for (outer, name) in names.iter().enumerate() {
            if left == 0 || random.below(2) == 0 {
                continue;
            }
            let length = 1 + random.below(left as usize) as u64;
            let inner = match names.get(outer + 1) {
                Some(name) if length > 1 && random.below(3) == 0 => {
                    vec![section(
                        name,
                        1 + random.below(length as usize - 1) as u64,
                        Vec::new(),
                    )]
                }
                _ => Vec::new(),
            };
            let nested = !inner.is_empty();
            task.sections.push(section(name, length, inner));
            left -= length;
            if nested {
                break;
            }
        }
        task
    });
    let tasks = tasks.collect();
    let resources = names.iter().enumerate().map(|(at, name)| Resource {
        name: (*name).to_owned(),
        protocol: protocol(at),
    });
    set(tasks, resources.collect())
}

fn machine() -> CpuSet {
    [0].into_iter().collect()
}

#[test]
fn no_schedule_with_resources_is_later_than_the_bound() {
    let mut random = RandomSource::new(6);
    let mut compared = [0; 4];
    for round in 0..1_200 {
        let kind = round % 4;
        let set = match PROTOCOLS.get(kind) {
            Some(protocol) => random_set(&mut random, |_| *protocol),
            None => random_set(&mut random, |at| PROTOCOLS[at]),
        };
        let found = check(&set, Vec::new(), &machine(), &Limits::usual(1));
        for _ in 0..12 {
            let starts = set
                .tasks
                .iter()
                .map(|t| random.below(t.period_ns.get() as usize) as u64);
            let seen = schedule(&set, &starts.collect::<Vec<_>>(), 900);
            for (task, seen) in found.tasks.iter().zip(seen) {
                let Some(bound) = task.response_ns else {
                    continue;
                };
                assert!(
                    seen <= bound.get(),
                    "{seen} seen, bound {bound}: {task:?}\n{set:?}"
                );
                compared[kind] += 1;
            }
        }
    }
    assert!(compared.iter().all(|n| *n > 3_000), "{compared:?}");
}

#[test]
fn blocking_is_that_of_sha_rajkumar_and_lehoczky() {
    // Three tasks, the highest uses a and b, the lower ones hold them for 4 and 5: under inheritance each may block once, under
    // the ceiling only one.
    let sections =
        |of: &[(&str, u64)]| of.iter().map(|(n, l)| section(n, *l, Vec::new())).collect();
    let mut tasks = vec![
        task("high", 9, 4, 100),
        task("middle", 8, 10, 200),
        task("low", 7, 10, 300),
    ];
    tasks[0].sections = sections(&[("a", 1), ("b", 1)]);
    tasks[1].sections = sections(&[("a", 4)]);
    tasks[2].sections = sections(&[("b", 5)]);
    let of = |protocol| {
        let resource = |name: &str| Resource {
            name: name.to_owned(),
            protocol,
        };
        let set = set(tasks.clone(), vec![resource("a"), resource("b")]);
        let found = check(&set, Vec::new(), &machine(), &Limits::usual(1));
        let each = found.tasks.into_iter();
        each.map(|t| (t.blocking_ns.get(), t.response_ns.map_or(0, Nanos::get)))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(Protocol::Inheritance), [(9, 13), (5, 19), (0, 24)]);
    assert_eq!(of(Protocol::Ceiling), [(5, 9), (5, 19), (0, 24)]);
    // Without a protocol nothing below the busy interval of all three is a bound.
    assert_eq!(of(Protocol::None), [(0, 24), (0, 24), (0, 24)]);
}

#[test]
fn the_growth_that_is_shown_is_the_largest() {
    // Without throttling, which would be the limit of most.
    let limits = Limits {
        runtime_us: None,
        ..Limits::usual(1)
    };
    let mut random = RandomSource::new(8);
    let mut shown = 0;
    for _ in 0..400 {
        let mut set = random_set(&mut random, |at| PROTOCOLS[1 + at % 2]);
        for task in &mut set.tasks {
            fn longer(sections: &mut [CriticalSection]) {
                for section in sections {
                    section.length_ns = section.length_ns.times(1_000_000);
                    longer(&mut section.sections);
                }
            }
            task.period_ns = task.period_ns.times(1_000_000);
            task.deadline_ns = task.period_ns;
            task.execution_ns = task.execution_ns.times(1_000_000);
            longer(&mut task.sections);
        }
        let found = check(&set, Vec::new(), &machine(), &limits);
        let Some(growth) = found.growth else { continue };
        let with = |factor: f64| {
            fn grow(sections: &mut [CriticalSection], factor: f64) {
                for section in sections {
                    section.length_ns = grown(section.length_ns, factor);
                    grow(&mut section.sections, factor);
                }
            }
            #[expect(
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "small numbers"
            )]
            fn grown(span: Nanos, factor: f64) -> Nanos {
                Nanos::new((span.get() as f64 * factor).round() as u64)
            }
            let mut set = set.clone();
            for task in &mut set.tasks {
                task.execution_ns = grown(task.execution_ns, factor);
                grow(&mut task.sections, factor);
            }
            check(&set, Vec::new(), &machine(), &limits).verdict
        };
        assert_eq!(with(growth - 1e-5), SetVerdict::Shown, "{growth}: {set:?}");
        assert_ne!(with(growth + 1e-5), SetVerdict::Shown, "{growth}: {set:?}");
        assert!(found.breaks_first.is_some());
        shown += 1;
    }
    assert!(shown > 150, "{shown}");
}

#[test]
fn hostile_sets_end_with_an_answer_and_without_overflow() {
    let mut random = RandomSource::new(9);
    let pick = |random: &mut RandomSource| {
        [
            1,
            2,
            3,
            999,
            1_000_000,
            86_399_999_999_989,
            LONGEST - 1,
            LONGEST,
        ][random.below(8)]
    };
    for round in 0..120 {
        let n = 1 + random.below(6);
        let tasks = (0..n).map(|at| {
            let period = pick(&mut random);
            let cost = pick(&mut random);
            let mut task = task(&format!("t{at}"), 90 - at as u8, cost, period);
            task.deadline_ns = Nanos::new(pick(&mut random));
            task.jitter_ns = Nanos::new(if round % 2 == 0 { 0 } else { pick(&mut random) });
            if round % 3 == 0 {
                task.policy = TaskPolicy::Deadline {
                    runtime_ns: task.execution_ns,
                };
            }
            task
        });
        let mut set = set(tasks.collect(), Vec::new());
        if round % 5 == 0 {
            set.overheads.switch_ns = Nanos::new(pick(&mut random));
            set.overheads.wake_up_ns = Nanos::new(pick(&mut random));
        }
        let cpus: CpuSet = (0..1 + random.below(3) as u32).collect();
        let found = check(&set, Vec::new(), &cpus, &Limits::usual(cpus.len() as u32));
        let shown = found.tasks.iter().all(|t| t.verdict == TaskVerdict::Met);
        assert_eq!(found.verdict == SetVerdict::Shown, shown);
    }
}

#[test]
fn a_bound_is_not_exact_where_the_task_holds_what_a_higher_one_takes() {
    // `own` takes r for all of its 9, so `high` does not preempt it: it ends 13 after its release at the latest, within 14.
    for protocol in [Protocol::Ceiling, Protocol::Inheritance] {
        let mut high = task("high", 80, 4, 12);
        high.deadline_ns = Nanos::new(20);
        high.sections = vec![section("r", 1, Vec::new())];
        let mut own = task("own", 70, 9, 40);
        own.deadline_ns = Nanos::new(14);
        own.sections = vec![section("r", 9, Vec::new())];
        let resource = Resource {
            name: "r".to_owned(),
            protocol,
        };
        let found = check(
            &set(vec![high, own], vec![resource]),
            Vec::new(),
            &machine(),
            &Limits::usual(1),
        );
        let own = &found.tasks[1];
        assert_eq!(own.verdict, TaskVerdict::NotShown, "{found:#?}");
        assert!(!own.exact);
        assert_eq!(found.verdict, SetVerdict::NotShown);
    }
}
