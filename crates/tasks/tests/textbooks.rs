// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Sets whose figures were published, with their sources. Times of the textbooks have no unit; here they are nanoseconds.

use punctual_model::tasks::{
    CriticalSection, Overheads, PriorityOrder, Protocol, Resource, SetVerdict, Task, TaskPolicy,
    TaskSet,
};
use punctual_model::{CpuSet, Nanos};
use punctual_tasks::bounds::{liu_layland, utilisation};
use punctual_tasks::demand::{Demand, demand, edf};
use punctual_tasks::response::{meets, response};
use punctual_tasks::{Effort, Limits, Work, check, hyperperiod};

fn bounds(set: &[Work]) -> Vec<Option<u64>> {
    let each = set.iter().enumerate();
    each.map(|(at, own)| response(own, &set[..at], 0, &mut Effort::usual()).response())
        .collect()
}

/// Whether every task meets its deadline under the order in which they are given.
fn all_meet(set: &[Work]) -> bool {
    let mut each = set.iter().enumerate();
    each.all(|(at, own)| meets(own, &set[..at], 0, &mut Effort::usual()) == Some(true))
}

#[test]
fn the_three_policies_of_liu_and_layland_1973_use_the_cpu_as_published() {
    // Liu and Layland, JACM 20(1), 1973, section 9: T = 3, 4 and 5, C1 = C2 = 1. Under rate-monotonic priorities C3 is at most 1
    // and the utilisation 78.3 %; with the first task above two under earliest deadline first C3 is 2, 98.3 %; under earliest
    // deadline first alone 2.0833, 100 %.
    let set = |third: u64| [(1, 3), (1, 4), (third, 5)].map(|(c, t)| Work::new(c, t, t));
    let percent = |set: &[Work]| (utilisation(set) * 1_000.0).round() / 10.0;
    assert!(all_meet(&set(1)) && !all_meet(&set(2)));
    assert_eq!(percent(&set(1)), 78.3);
    let mixed = |third| edf(&set(third)[1..], &set(third)[..1], &mut Effort::usual());
    assert_eq!(mixed(2), Demand::Met);
    assert_ne!(mixed(3), Demand::Met);
    assert_eq!(percent(&set(2)), 98.3);
    // In units of 1/1200: 2.0833 is 2500.
    let fine = |third| {
        let set = [(1_200, 3_600), (1_200, 4_800), (third, 6_000)];
        let set = set.map(|(c, t)| Work::new(c, t, t));
        edf(&set, &[], &mut Effort::usual())
    };
    assert_eq!(fine(2_500), Demand::Met);
    assert_eq!(fine(2_501), Demand::Overload);
}

#[test]
fn the_bound_of_liu_and_layland_1973_is_reached_by_the_set_of_their_proof() {
    // Theorems 4 and 5: with T[i+1] = 2^(1/m) T[i] and C[i] = T[i+1] - T[i] the CPU is fully used at m (2^(1/m) - 1), 0.78 for
    // m = 3: no cost may grow. Periods in units of a millionth.
    let periods = [1_000_000_u64, 1_259_921, 1_587_401];
    let costs = [259_921, 327_480, 412_599];
    let set = |more: u64| -> Vec<Work> {
        let each = periods.iter().zip(costs).enumerate();
        each.map(|(at, (t, c))| Work::new(c + if at == 2 { more } else { 0 }, *t, *t))
            .collect()
    };
    assert!((utilisation(&set(0)) - liu_layland(3)).abs() < 2e-6);
    assert!(all_meet(&set(0)) && !all_meet(&set(2)));
}

#[test]
fn response_times_are_those_of_the_worked_examples_of_the_equation_of_joseph_and_pandya() {
    // The equation of Joseph and Pandya, The Computer Journal 29(5), 1986, as worked in Buttazzo, Hard Real-Time Computing
    // Systems, section 4.5.2: four tasks by deadline; the last one ends at 10, its deadline.
    let set = [(1, 4, 3), (1, 5, 4), (2, 6, 5), (1, 11, 10)].map(|(c, t, d)| Work::new(c, t, d));
    assert_eq!(bounds(&set), [Some(1), Some(2), Some(4), Some(10)]);
    assert!(all_meet(&set));
}

#[test]
fn processor_demand_is_that_of_the_worked_example_of_the_criterion_of_baruah_rosier_and_howell() {
    // The criterion of Baruah, Rosier and Howell, Real-Time Systems 2, 1990, as worked in Buttazzo, section 4.6.1: utilisation
    // 11/12, hyperperiod 72, every deadline up to 25 is looked at, and the set is feasible.
    let set = [(2, 6, 4), (2, 8, 5), (3, 9, 7)].map(|(c, t, d)| Work::new(c, t, d));
    assert!((utilisation(&set) - 11.0 / 12.0).abs() < 1e-12);
    assert_eq!(hyperperiod(&set), Some(72));
    let due = [4, 5, 7, 10, 13, 16, 21, 22, 25].map(|t| (t, demand(&set, t)));
    let expected = [2, 4, 7, 9, 11, 16, 18, 20, 23];
    assert_eq!(due.map(|(_, needed)| needed), expected);
    assert_eq!(edf(&set, &[], &mut Effort::usual()), Demand::Met);
    // At 7 and at 16 there is nothing left: one unit more for the first task is too much.
    let tight = [Work::new(3, 6, 4), set[1], set[2]];
    assert_ne!(edf(&tight, &[], &mut Effort::usual()), Demand::Met);
}

#[test]
fn blocking_is_that_of_the_worked_example_of_sha_rajkumar_and_lehoczky() {
    // The bounds of Sha, Rajkumar and Lehoczky, IEEE Transactions on Computers 39(9), 1990, as worked in Buttazzo, sections 7.6
    // and 7.7: four tasks, three semaphores, no nesting; the longest sections of each task.
    const LONGEST: [[u64; 3]; 4] = [[1, 2, 0], [0, 9, 3], [8, 7, 0], [6, 5, 4]];
    let blocking = |protocol| {
        let names = ["A", "B", "C"];
        let tasks = LONGEST.iter().enumerate().map(|(number, lengths)| {
            let sections = names.iter().zip(lengths).filter(|(_, length)| **length > 0);
            let sections = sections.map(|(name, length)| CriticalSection {
                resource: (*name).to_owned(),
                length_ns: Nanos::new(*length),
                sections: Vec::new(),
            });
            let number = u8::try_from(number).unwrap();
            Task {
                name: format!("t{}", number + 1),
                period_ns: Nanos::new(1_000 * (u64::from(number) + 1)),
                deadline_ns: Nanos::new(1_000 * (u64::from(number) + 1)),
                execution_ns: Nanos::new(20),
                observed_in: None,
                offset_ns: Nanos::ZERO,
                jitter_ns: Nanos::ZERO,
                waits_ns: None,
                policy: TaskPolicy::Fifo {
                    priority: Some(80 - number),
                },
                cpus: CpuSet::default(),
                sections: sections.collect(),
            }
        });
        let set = TaskSet {
            name: "sha".to_owned(),
            order: PriorityOrder::RateMonotonic,
            tasks: tasks.collect(),
            resources: names
                .map(|name| Resource {
                    name: name.to_owned(),
                    protocol,
                })
                .to_vec(),
            overheads: Overheads::default(),
            assumes: Vec::new(),
        };
        let cpu: CpuSet = [0].into_iter().collect();
        let found = check(&set, Vec::new(), &cpu, &Limits::usual(1));
        assert_eq!(found.verdict, SetVerdict::Shown);
        let each = found.tasks.iter().map(|task| task.blocking_ns.get());
        each.collect::<Vec<u64>>()
    };
    assert_eq!(blocking(Protocol::Inheritance), [17, 14, 6, 0]);
    assert_eq!(blocking(Protocol::Ceiling), [9, 8, 6, 0]);
}
