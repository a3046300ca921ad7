// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Priorities that `order` gives, and those that a check proposes, against all orders that there are.
#![expect(clippy::unwrap_used, reason = "test helpers")]

use punctual_model::Nanos;
use punctual_model::tasks::{SetVerdict, TaskSet, TasksCheck};
use punctual_stats::RandomSource;
use punctual_tasks::{Limits, TaskSetError, check, file};

fn changed(text: &str, change: impl FnOnce(&mut TaskSet)) -> TasksCheck {
    let draft = file::parse("a.toml", text).unwrap();
    let (set, unused) = draft
        .resolve_as::<TaskSetError>(
            |_| unreachable!("no run is named"),
            |set| {
                change(set);
                Ok(())
            },
        )
        .unwrap();
    check(&set, unused, &(0..1).collect(), &Limits::usual(1))
}

fn checked(text: &str) -> TasksCheck {
    changed(text, |_| {})
}

fn task(name: &str, [period, execution, deadline]: [u64; 3], more: &str) -> String {
    format!(
        "[[task]]\nname = '{name}'\nperiod = '{period}us'\nexecution = '{execution}us'\n\
         deadline = '{deadline}us'\n{more}\n"
    )
}

fn permutations(n: usize) -> Vec<Vec<usize>> {
    let Some(last) = n.checked_sub(1) else {
        return vec![Vec::new()];
    };
    let shorter = permutations(last).into_iter();
    let each = shorter.flat_map(|rest| {
        (0..n).map(move |at| {
            let mut order = rest.clone();
            order.insert(at, last);
            order
        })
    });
    each.collect()
}

/// The first order of tasks, with priorities from 80, that a check shows.
fn any_order(head: &str, tasks: &[[u64; 3]], change: impl Fn(&mut TaskSet)) -> Option<Vec<usize>> {
    permutations(tasks.len()).into_iter().find(|order| {
        let each = tasks.iter().enumerate().map(|(at, times)| {
            let place = order.iter().position(|other| *other == at).unwrap();
            task(
                &format!("t{at}"),
                *times,
                &format!("priority = {}", 80 - place),
            )
        });
        let text = format!("{head}{}", each.collect::<String>());
        changed(&text, &change).verdict == SetVerdict::Shown
    })
}

/// What is known of a set only once its file was read.
type Change<'a> = &'a dyn Fn(&mut TaskSet);

#[test]
fn an_optimal_order_counts_whatever_goes_first_and_meets_all_deadlines_if_any_does() {
    let wake_up = |set: &mut TaskSet| set.overheads.wake_up_ns = Nanos::from_micros(150);
    let kinds: [(&str, Change<'_>); 4] = [
        (
            "[overheads]\ninterrupts = [{ takes = '100us', every = '1500us' }]\n",
            &|_| {},
        ),
        (&task("hi", [900, 200, 900], "priority = 95"), &|_| {}),
        (
            &task(
                "hi",
                [900, 200, 900],
                "policy = 'deadline'\nruntime = '250us'",
            ),
            &|_| {},
        ),
        // What is known only once the file was read: the overheads of a run.
        ("", &wake_up),
    ];
    let mut random = RandomSource::new(77);
    for (head, change) in kinds {
        let (mut some, mut none, mut other) = (0, 0, 0);
        for _ in 0..400 {
            let mut within = |low: u64, high: u64| {
                low + u64::try_from(random.below(usize::try_from(high - low + 1).unwrap())).unwrap()
            };
            let n = within(2, 3);
            let of = |_| {
                let period = within(4, 20);
                let execution = within(1, (period / 2).max(1));
                [period, execution, within(execution, 2 * period)].map(|of| of * 100)
            };
            let tasks: Vec<[u64; 3]> = (0..n).map(of).collect();
            let each = tasks.iter().enumerate();
            let each = each.map(|(at, times)| task(&format!("t{at}"), *times, ""));
            let body: String = each.collect();
            let exists = any_order(head, &tasks, change);
            let found = changed(&format!("order = 'optimal'\n{head}{body}"), change);
            let shown = found.verdict == SetVerdict::Shown;
            assert_eq!(
                shown,
                exists.is_some(),
                "{head} {tasks:?} {exists:?}: {found:#?}"
            );
            let by_deadline = format!("order = 'deadline-monotonic'\n{head}{body}");
            let by_deadline = changed(&by_deadline, change);
            let fails = by_deadline.verdict != SetVerdict::Shown;
            if exists.is_some() && fails {
                assert!(by_deadline.optimal_order.is_some(), "{by_deadline:#?}");
                other += 1;
            }
            some += u32::from(shown);
            none += u32::from(!shown);
        }
        assert!(
            some > 50 && none > 50 && other > 0,
            "{head} {some} {none} {other}"
        );
    }
}

#[test]
fn no_order_is_proposed_where_real_time_throttling_holds_the_tasks_back() {
    let of = |fast: u64| {
        let slow = task("slow", [2_000, 520, 600], "priority = 70");
        checked(&(task("fast", [1_000, fast, 1_300], "priority = 80") + &slow))
    };
    let proposed = of(600).optimal_order.unwrap();
    assert_eq!(proposed, ["slow", "fast"]);
    // 96 %.
    let found = of(700);
    assert_eq!(found.optimal_order, None, "{found:#?}");
    assert_ne!(found.verdict, SetVerdict::Shown);
}

#[test]
fn tasks_of_one_cpu_are_ordered_together_whether_or_not_they_name_it() {
    let of = |cpus: &str| {
        let late = task("late", [800, 200, 1_200], cpus);
        let rest = task("rare", [1_600, 100, 1_600], "") + &task("soon", [1_000, 500, 900], cpus);
        let interrupts = "[overheads]\ninterrupts = [{ takes = '100us', every = '1500us' }]\n";
        checked(&format!("order = 'optimal'\n{interrupts}{late}{rest}"))
    };
    for cpus in ["", "cpus = '0'"] {
        let found = of(cpus);
        assert_eq!(found.verdict, SetVerdict::Shown, "{cpus}: {found:#?}");
    }
}
