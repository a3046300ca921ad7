// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How much of a CPU real-time threads may use.
//!
//! Two places say so: the sysctls for the machine, and, with `RT_GROUP_SCHED`, the root control group,
//! which is the one that throttles. The kernel refuses every write after which the group's share would
//! exceed the machine's, or a runtime its period (kernel/sched/rt.c, `sched_rt_handler`,
//! `__rt_schedulable`). The way from one state to another is therefore: lower the group's runtime
//! until it fits into every state on the way, change the machine's two, then the group's.

use punctual_model::{Codec, SkipReason, Writable};

use super::Planner;
use crate::knob::{Part, playing};
use crate::profile::{Value, Want};

/// Runtime that means "no limit".
const UNLIMITED: i64 = -1;

/// The four values, in µs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct State {
    runtime: i64,
    period: i64,
    /// Runtime and period of the root control group, where there is one.
    group: Option<(i64, i64)>,
}

/// One of the four values, by its place in [`Part::Budget`].
type Write = (usize, i64, i64);

impl Planner<'_> {
    /// Plans the budget of real-time threads.
    pub(super) fn bandwidth(&mut self, wants: &[Want]) {
        let state = self.state();
        let has_group = state.is_none_or(|state| state.group.is_some());
        let mut wanted = [None; 4];
        for want in wants {
            if let (Part::Budget(place), Value::Plain(text)) = (want.knob.part, &want.value)
                && let Some(slot) = wanted.get_mut(place)
            {
                match place {
                    2 | 3 if !has_group => self.absent(want),
                    _ => *slot = text.parse::<i64>().ok(),
                }
            }
        }
        if wanted.iter().all(Option::is_none) {
            return;
        }
        let Some(old) = state else {
            self.skip(
                playing(Part::Budget(0)),
                None,
                SkipReason::Absent,
                "this kernel does not limit real-time threads",
            );
            return;
        };
        let new = State::wanted(old, wanted);
        let writes = way(old, new);
        self.plan.satisfied += u64::from(writes.is_empty());
        for (place, old, new) in writes {
            let name = playing(Part::Budget(place));
            let survey = self.survey;
            let Some(reading) = survey.of(name).next() else {
                continue;
            };
            if let Writable::No { reason } = &reading.shown.writable {
                self.skip(name, None, SkipReason::ReadOnly, reason);
                continue;
            }
            let values = [old.to_string(), new.to_string()];
            let target = reading.shown.target.clone();
            self.step(name, None, target, Codec::Integer, values);
        }
    }

    fn state(&self) -> Option<State> {
        let value = |place| {
            let text = self.survey.value(playing(Part::Budget(place)))?;
            text.parse::<i64>().ok()
        };
        let [runtime, period, group_runtime, group_period] = [0, 1, 2, 3].map(value);
        Some(State {
            runtime: runtime?,
            period: period?,
            group: group_runtime.zip(group_period),
        })
    }
}

impl State {
    /// Returns the state that is wanted, the group following the machine where it is not named.
    fn wanted(old: Self, [runtime, period, group_runtime, group_period]: [Option<i64>; 4]) -> Self {
        let new = Self {
            runtime: runtime.unwrap_or(old.runtime),
            period: period.unwrap_or(old.period),
            group: None,
        };
        let group = old.group.map(|(old_runtime, old_period)| {
            // A group with the machine's period keeps it; another one is someone's choice.
            let followed = if old_period == old.period {
                new.period
            } else {
                old_period
            };
            let period = group_period.unwrap_or(followed);
            let share = match new.runtime {
                // Nothing is throttled: the group's limit does not count.
                UNLIMITED => old_runtime,
                runtime => share_of(period, runtime, new.period),
            };
            (group_runtime.unwrap_or(share), period)
        });
        Self { group, ..new }
    }
}

/// Returns the part of `period` that `runtime` is of `whole`, rounded down.
fn share_of(period: i64, runtime: i64, whole: i64) -> i64 {
    if runtime == UNLIMITED || whole <= 0 {
        return period;
    }
    let share = i128::from(period) * i128::from(runtime) / i128::from(whole);
    i64::try_from(share).unwrap_or(period)
}

/// Returns the writes that lead from `old` to `new` through states that the kernel takes.
fn way(old: State, new: State) -> Vec<Write> {
    let mut writes = Vec::new();
    let mut now = old;
    let runtime = |state: &State| (0, state.runtime);
    let period = |state: &State| (1, state.period);
    // The machine's: a runtime never exceeds its period.
    let machine = if new.period < old.period {
        [runtime(&new), period(&new)]
    } else {
        [period(&new), runtime(&new)]
    };
    if let (Some((group_runtime, group_period)), Some((new_runtime, new_period))) =
        (old.group, new.group)
    {
        let mut shares = vec![(old.runtime, old.period), (new.runtime, new.period)];
        for (place, value) in machine {
            let last = shares.len() - 2;
            let (r, p) = shares
                .get(last)
                .copied()
                .unwrap_or((old.runtime, old.period));
            let between = if place == 0 { (value, p) } else { (r, value) };
            shares.insert(shares.len() - 1, between);
        }
        let fits =
            |(r, p): &(i64, i64)| share_of(group_period, *r, *p).min(share_of(new_period, *r, *p));
        let least = shares.iter().map(fits).min().unwrap_or(group_runtime);
        // Without a limit a group may use its whole period.
        let bound = |runtime: i64, period: i64| {
            if runtime == UNLIMITED {
                period
            } else {
                runtime
            }
        };
        let had = bound(group_runtime, group_period);
        let low = had.min(bound(new_runtime, new_period)).min(least);
        let machine_changes = old.runtime != new.runtime || old.period != new.period;
        if had > low && (machine_changes || group_period != new_period) {
            writes.push((2, group_runtime, low));
            now.group = Some((low, group_period));
        }
    }
    for (place, value) in machine {
        let slot = if place == 0 {
            &mut now.runtime
        } else {
            &mut now.period
        };
        if *slot != value {
            writes.push((place, *slot, value));
            *slot = value;
        }
    }
    if let (Some((r, p)), Some((new_runtime, new_period))) = (now.group, new.group) {
        if p != new_period {
            writes.push((3, p, new_period));
        }
        if r != new_runtime {
            writes.push((2, r, new_runtime));
        }
    }
    writes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio((runtime, period): (i64, i64)) -> i64 {
        if runtime == UNLIMITED {
            return 1 << 20;
        }
        i64::try_from((i128::from(runtime) << 20) / i128::from(period)).unwrap()
    }

    /// What the kernel takes, as its source says and as writes on a real one confirmed.
    fn is_taken(state: &State) -> bool {
        let fits = |(r, p): (i64, i64)| p > 0 && r <= p;
        let machine = (state.runtime, state.period);
        fits(machine)
            && state
                .group
                .is_none_or(|group| fits(group) && ratio(group) <= ratio(machine))
    }

    fn walk(old: State, new: State) {
        let mut now = old;
        assert!(is_taken(&now), "{now:?}");
        for (place, from, to) in way(old, new) {
            let group = now.group.as_mut();
            let slot = match place {
                0 => &mut now.runtime,
                1 => &mut now.period,
                2 => &mut group.unwrap().0,
                _ => &mut group.unwrap().1,
            };
            assert_eq!(*slot, from, "{old:?} -> {new:?}");
            assert_ne!(from, to, "{old:?} -> {new:?}");
            *slot = to;
            assert!(is_taken(&now), "{old:?} -> {new:?} through {now:?}");
        }
        assert_eq!(now, new, "{old:?}");
    }

    #[test]
    fn every_way_leads_through_states_that_the_kernel_takes() {
        let values = [
            UNLIMITED, 10_000, 100_000, 475_000, 900_000, 950_000, 1_000_000,
        ];
        let periods = [100_000, 500_000, 1_000_000, 3_000_000];
        let mut states = Vec::new();
        for runtime in values {
            for period in periods {
                for group in [
                    None,
                    Some((95_000, 100_000)),
                    Some((950_000, 1_000_000)),
                    Some((UNLIMITED, 1_000_000)),
                    Some((0, 500_000)),
                ] {
                    let state = State {
                        runtime,
                        period,
                        group,
                    };
                    if is_taken(&state) {
                        states.push(state);
                    }
                }
            }
        }
        let mut walked = 0;
        for old in &states {
            for runtime in values {
                for period in periods {
                    let new = State::wanted(*old, [Some(runtime), Some(period), None, None]);
                    if is_taken(&new) {
                        walk(*old, new);
                        walked += 1;
                    }
                }
            }
        }
        assert!(walked > 500, "{walked}");
    }

    const DEFAULT: State = State {
        runtime: 950_000,
        period: 1_000_000,
        group: Some((950_000, 1_000_000)),
    };

    #[test]
    fn lowering_begins_with_the_group_and_raising_with_the_machine() {
        let lower = State::wanted(DEFAULT, [Some(900_000), None, None, None]);
        assert_eq!(
            way(DEFAULT, lower),
            [(2, 950_000, 900_000), (0, 950_000, 900_000)]
        );
        let raise = State::wanted(DEFAULT, [Some(1_000_000), None, None, None]);
        assert_eq!(
            way(DEFAULT, raise),
            [(0, 950_000, 1_000_000), (2, 950_000, 1_000_000)]
        );
    }

    #[test]
    fn without_a_limit_the_group_stays_as_it_is() {
        let off = State::wanted(DEFAULT, [Some(UNLIMITED), None, None, None]);
        assert_eq!(way(DEFAULT, off), [(0, 950_000, UNLIMITED)]);
    }

    #[test]
    fn a_shorter_period_needs_a_shorter_runtime_first() {
        let new = State::wanted(DEFAULT, [Some(475_000), Some(500_000), None, None]);
        assert_eq!(new.group, Some((475_000, 500_000)));
        walk(DEFAULT, new);
        assert_eq!(way(DEFAULT, DEFAULT), []);
    }
}
