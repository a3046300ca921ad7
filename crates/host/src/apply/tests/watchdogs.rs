// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The switches of the lockup watchdogs, as `kernel/watchdog.c` of Linux 6.12 has them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::*;

/// The main switch, and those of the two watchdogs.
const ALL: [&str; 3] = ["watchdog", "soft_watchdog", "nmi_watchdog"];

#[derive(Debug)]
struct Switches {
    /// What each was set to.
    asked: [bool; 3],
    /// Whether each of the two watchdogs is on.
    on: [bool; 2],
    /// Writes that are left until the program is killed; none: it is not.
    left: Option<usize>,
}

#[derive(Debug)]
struct Watchdogs(Mutex<Switches>);

impl Watchdogs {
    fn with(asked: [bool; 3]) -> Self {
        let [main, soft, nmi] = asked;
        Self(Mutex::new(Switches {
            asked,
            on: [main && soft, main && nmi],
            left: None,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Switches> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kill_after(&self, writes: Option<usize>) {
        self.lock().left = writes;
    }
}

fn place(target: &Target) -> usize {
    let name = target.to_string();
    ALL.iter().position(|known| *known == name).unwrap()
}

impl Access for Watchdogs {
    /// What is on goes where was kept what was asked for.
    fn read(&self, target: &Target) -> Result<String, AccessError> {
        let mut all = self.lock();
        let [soft, nmi] = all.on;
        let place = place(target);
        let on = [soft || nmi, soft, nmi][place];
        all.asked[place] = on;
        Ok(u8::from(on).to_string())
    }

    fn write(&self, target: &Target, value: &str) -> Result<(), AccessError> {
        let mut all = self.lock();
        assert!(all.left != Some(0), "killed");
        all.left = all.left.map(|left| left - 1);
        all.asked[place(target)] = value == "1";
        let [main, soft, nmi] = all.asked;
        all.on = [main && soft, main && nmi];
        Ok(())
    }
}

#[test]
fn switches_that_forget_each_other_when_they_are_read_come_back_also_after_a_kill() {
    for before in [[true; 3], [true, true, false], [true, false, true]] {
        for (switch, was) in ALL.iter().zip(before) {
            for killed in 0..=6 {
                let bench = Bench::new(&[]);
                let access = Watchdogs::with(before);
                let old = |at: usize| if before[at] { "1" } else { "0" };
                let guards = ALL.iter().enumerate().filter(|(_, name)| *name != switch);
                let plan = Plan {
                    guards: guards.map(|(at, name)| kept(name, old(at))).collect(),
                    ..plan(&[(*switch, if was { "1" } else { "0" }, "0")])
                };
                let mut journal = bench.begin(&plan);
                apply(&mut journal, &bench.hand(&access, OnFailure::GoOn)).unwrap();
                access.kill_after(Some(killed));
                let nowhere = SysRoot::at(bench.dir.path());
                let undo =
                    |journal: &mut Journal| revert(journal, &access, &nowhere, &bench.online);
                drop(catch_unwind(AssertUnwindSafe(|| undo(&mut journal))));
                drop(journal);
                access.kill_after(None);
                let reverted = undo(&mut bench.found());
                assert!(
                    reverted.complete,
                    "{before:?} {switch} {killed}: {reverted:#?}"
                );
                let now = ALL.map(|name| access.read(&Target::file(name)).unwrap() == "1");
                assert_eq!(now, before, "{switch} {killed}");
            }
        }
    }
}
