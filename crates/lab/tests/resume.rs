// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! An experiment that is cut off anywhere and resumed equals one that was not.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use punctual_lab::engine::{
    Ending, Follower, Look, Outcome, Runner, Standing, carry_out, slot_is_done,
};
use punctual_lab::file::Experiment;
use punctual_lab::plan::{Invocation, Plan, Slot};
use punctual_lab::state::{Attempt, RunEnd, State};
use punctual_model::Nanos;
use uuid::Uuid;

const TEXT: &str = r#"
    name = "x"
    seed = 3
    warm-up-blocks = 1
    compare = ["p99"]
    [[measure]]
    instrument = "wakeup"
    [[measure]]
    instrument = "io"
    [[factor]]
    name = "a"
    option = "interval"
    levels = ["1ms", "2ms", "3ms"]
    [[factor]]
    name = "b"
    load = true
    levels = ["none", "cpu"]
    [stop]
    blocks = 4
"#;

/// Where a run is cut off.
#[derive(Clone, Copy)]
enum Cut {
    BeforeItIsStored,
    AfterItWasStored,
}

/// Runs that end at once. What they measured is a function of what was asked, as for a machine
/// without noise.
struct Fake<'a> {
    store: &'a mut BTreeMap<Uuid, (RunEnd, String)>,
    cut: Option<(u32, Cut)>,
    done: u32,
    stop: &'a Cell<bool>,
    rested: u32,
}

impl Runner for Fake<'_> {
    fn run(&mut self, run: Uuid, what: &Invocation) -> (RunEnd, Option<String>) {
        let cut = self.cut.filter(|(after, _)| *after == self.done);
        self.done += 1;
        if matches!(cut, Some((_, Cut::BeforeItIsStored))) {
            panic!("cut off");
        }
        let line = what.arguments.join(" ");
        // One cell is always invalid, whatever was cut off before it.
        let end = if line.contains("io --interval=2ms --load") {
            RunEnd::Invalid
        } else {
            RunEnd::Valid
        };
        self.store.insert(run, (end, line));
        if matches!(cut, Some((_, Cut::AfterItWasStored))) {
            panic!("cut off");
        }
        (end, None)
    }

    fn find(&mut self, run: Uuid) -> Option<(RunEnd, Option<String>)> {
        self.store.get(&run).map(|(end, _)| (*end, None))
    }

    fn rest(&mut self, time: Nanos) {
        assert_eq!(time, Nanos::from_secs(1));
        self.rested += 1;
    }

    fn is_stopped(&self) -> bool {
        self.stop.get()
    }
}

struct Nobody;

impl Follower for Nobody {
    fn begin(&mut self, _: Slot, _: &Standing) {}
    fn end(&mut self, _: &Attempt, _: &Standing) {}
    fn is_resolved(&mut self, _: &State, _: Look) -> bool {
        false
    }
}

/// A directory in memory where there is one: each line of a log is synced.
fn home() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

type Done = Vec<(Slot, String, RunEnd)>;

/// Goes on with the experiment until it is over, cut off after `cuts` runs, one after the other.
fn experiment(home: &Path, cuts: &[(u32, Cut)]) -> Done {
    let experiment = Experiment::parse("x", TEXT).unwrap();
    let dir = home.join("x");
    let plan = Plan::of("x", &experiment, 3).unwrap();
    drop(State::create(&dir, &plan, TEXT).unwrap());
    let mut store = BTreeMap::new();
    let stop = Cell::new(false);
    let mut cuts = cuts.iter().copied();
    loop {
        let cut = cuts.next();
        let mut state = State::open(&dir).unwrap();
        let mut fake = Fake {
            store: &mut store,
            cut,
            done: 0,
            stop: &stop,
            rested: 0,
        };
        let ended = catch_unwind(AssertUnwindSafe(|| {
            carry_out(&experiment, &mut state, &mut fake, &mut Nobody).unwrap()
        }));
        if let Ok(ending) = ended {
            assert_eq!(ending, Ending::Completed);
            let slots = plan.all_blocks();
            for slot in (0..slots).flat_map(|block| plan.block(block)) {
                assert!(
                    slot_is_done(&experiment, state.attempts(), slot),
                    "{slot:?}"
                );
            }
            let recorded = state
                .attempts()
                .iter()
                .filter(|a| a.end != Some(RunEnd::Interrupted));
            // What counts is in the store, once, and nothing else is.
            let done: Done = recorded
                .map(|a| {
                    let (end, line) = store.get(&a.run).unwrap();
                    assert_eq!(a.end, Some(*end));
                    (a.slot, line.clone(), *end)
                })
                .collect();
            assert_eq!(done.len(), store.len(), "a run was repeated");
            return done;
        }
    }
}

#[test]
fn cut_off_at_any_run_the_result_is_the_same() {
    std::panic::set_hook(Box::new(|_| ()));
    let dir = home();
    let whole = experiment(dir.path(), &[]);
    assert!(whole.len() as u64 >= 60 && whole.iter().any(|(_, _, end)| *end == RunEnd::Invalid));
    for after in 0..50_u32 {
        let cut = [Cut::BeforeItIsStored, Cut::AfterItWasStored][after as usize % 2];
        let dir = home();
        // Twice: also the run after a resume is cut off.
        let cuts = [(after, cut), (after % 5, cut), (0, Cut::AfterItWasStored)];
        let resumed = experiment(dir.path(), &cuts);
        assert_eq!(resumed, whole, "cut after {after} runs");
    }
}

#[test]
fn a_stopped_experiment_goes_on_where_it_was() {
    let experiment = Experiment::parse("x", TEXT).unwrap();
    let dir = home();
    let plan = Plan::of("x", &experiment, 3).unwrap();
    let mut state = State::create(&dir.path().join("x"), &plan, TEXT).unwrap();
    let (mut store, stop) = (BTreeMap::new(), Cell::new(true));
    let mut fake = Fake {
        store: &mut store,
        cut: None,
        done: 0,
        stop: &stop,
        rested: 0,
    };
    let ending = carry_out(&experiment, &mut state, &mut fake, &mut Nobody).unwrap();
    assert_eq!(ending, Ending::Stopped);
    assert!(state.attempts().is_empty() && state.finished().is_none());
}

/// Carries an experiment of 12 runs a block out, and says how it ended, after how many runs and rests.
fn carried_out(text: &str) -> (Ending, usize, u32, Option<String>) {
    let experiment = Experiment::parse("x", text).unwrap();
    let dir = home();
    let plan = Plan::of("x", &experiment, 3).unwrap();
    let mut state = State::create(&dir.path().join("x"), &plan, text).unwrap();
    let (mut store, stop) = (BTreeMap::new(), Cell::new(false));
    let mut fake = Fake {
        store: &mut store,
        cut: None,
        done: 0,
        stop: &stop,
        rested: 0,
    };
    let ending = carry_out(&experiment, &mut state, &mut fake, &mut Nobody).unwrap();
    let rested = fake.rested;
    let finished = state.finished().map(ToOwned::to_owned);
    (ending, state.attempts().len(), rested, finished)
}

#[test]
fn a_block_that_does_not_fit_into_the_time_is_not_begun_and_each_run_is_rested_from() {
    // 12 runs and one that is repeated: 13 rests of a second a block. The runs themselves take no time.
    let text = TEXT
        .replace("warm-up-blocks = 1", "cool-down = \"1s\"")
        .replace("blocks = 4", "blocks = 4\ntime = \"30s\"");
    let (ending, runs, rested, finished) = carried_out(&text);
    assert_eq!(ending, Ending::Time);
    assert_eq!(finished.as_deref(), Some("the time is up"));
    // Two blocks are 26 s, three would be 39.
    assert_eq!((runs, rested), (26, 26));
    // With the time for it, all four.
    let (ending, all, _, _) = carried_out(&text.replace("30s", "10m"));
    assert_eq!((ending, all), (Ending::Completed, 52));
}

/// Notes how many runs went on at once.
struct Wide(Vec<usize>);

impl Runner for Wide {
    fn run(&mut self, _: Uuid, _: &Invocation) -> (RunEnd, Option<String>) {
        (RunEnd::Valid, None)
    }

    fn lanes(&self) -> usize {
        4
    }

    fn run_together(&mut self, runs: &[(Uuid, Invocation)]) -> Vec<Outcome> {
        self.0.push(runs.len());
        let one = Outcome {
            end: RunEnd::Valid,
            detail: None,
            seconds: 1.0,
        };
        vec![one; runs.len()]
    }

    fn find(&mut self, _: Uuid) -> Option<(RunEnd, Option<String>)> {
        None
    }

    fn rest(&mut self, _: Nanos) {}

    fn is_stopped(&self) -> bool {
        false
    }
}

#[test]
fn guests_in_virtual_time_run_several_at_once_and_everything_else_alone() {
    let batches = |levels: &str, sequential: &str| {
        let text = format!(
            "name = \"x\"\ncompare = [\"p99\"]\n[[measure]]\ninstrument = \"wakeup\"\n[[factor]]\nname = \"kernel\"\n\
             target = true\nlevels = {levels}\n[stop]\nblocks = 5\n{sequential}"
        );
        let experiment = Experiment::parse("x", &text).unwrap();
        let plan = Plan::of("x", &experiment, 3).unwrap();
        let dir = home();
        let mut state = State::create(&dir.path().join("x"), &plan, &text).unwrap();
        let mut wide = Wide(Vec::new());
        let ending = carry_out(&experiment, &mut state, &mut wide, &mut Nobody).unwrap();
        assert_eq!(ending, Ending::Completed);
        // Each slot once, whatever ran at once.
        let slots: std::collections::BTreeSet<Slot> = state
            .attempts()
            .iter()
            .map(|attempt| attempt.slot)
            .collect();
        assert_eq!((slots.len(), state.attempts().len()), (10, 10));
        wide.0
    };
    let two = "{ a = \"guest:a,virtual-time\", b = \"guest:b,virtual-time\" }";
    assert_eq!(batches(two, ""), [4, 4, 2], "two blocks of two at once");
    let rule = "sequential = { first = 2 }";
    assert_eq!(batches(two, rule), [2; 5], "a look comes after each block");
    let real = "{ here = \"here\", b = \"guest:b\" }";
    assert_eq!(batches(real, ""), [1; 10]);
}
