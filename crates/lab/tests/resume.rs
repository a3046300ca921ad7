// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! An experiment that is cut off anywhere and resumed equals one that was not.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use punctual_lab::LabError;
use punctual_lab::engine::{Ended, Ending, Follower, Runner, Standing, carry_out, slot_is_done};

use punctual_lab::file::Experiment;
use punctual_lab::outcome::{Outcomes, outcomes, unmeasured};
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
#[derive(Default)]
struct Fake {
    store: Mutex<BTreeMap<Uuid, (RunEnd, String)>>,
    cut: Option<(u32, Cut)>,
    done: AtomicU32,
    stop: bool,
    rested: AtomicU32,
}

impl Fake {
    fn one(&self, run: Uuid, what: &Invocation) -> Ended {
        let done = self.done.fetch_add(1, Ordering::Relaxed);
        let cut = self.cut.filter(|(after, _)| *after == done);
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
        self.store.lock().unwrap().insert(run, (end, line));
        if matches!(cut, Some((_, Cut::AfterItWasStored))) {
            panic!("cut off");
        }
        (end, None)
    }
}

impl Runner for Fake {
    fn run(&self, runs: &[(Uuid, Invocation)]) -> Vec<Ended> {
        runs.iter()
            .map(|(run, what)| self.one(*run, what))
            .collect()
    }

    fn find(&self, run: Uuid) -> Option<Ended> {
        let store = self.store.lock().unwrap();
        store.get(&run).map(|(end, _)| (*end, None))
    }

    fn rest(&self, time: Nanos) {
        assert_eq!(time, Nanos::from_secs(1));
        self.rested.fetch_add(1, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.stop
    }
}

struct Nobody;

impl Follower for Nobody {
    fn begin(&mut self, _: Slot, _: &Standing) {}
    fn end(&mut self, _: &Attempt, _: &Standing) {}
    fn is_resolved(&mut self, _: &State, _: u32) -> bool {
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
    let mut fake = Fake::default();
    let mut cuts = cuts.iter().copied();
    loop {
        fake.cut = cuts.next();
        fake.done = AtomicU32::new(0);
        let mut state = State::open(&dir).unwrap();
        let ended = catch_unwind(AssertUnwindSafe(|| {
            carry_out(&experiment, &mut state, &fake, &mut Nobody).unwrap()
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
            let store = fake.store.lock().unwrap();
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
    let fake = Fake {
        stop: true,
        ..Fake::default()
    };
    let ending = carry_out(&experiment, &mut state, &fake, &mut Nobody).unwrap();
    assert_eq!(ending, Ending::Stopped);
    assert!(state.attempts().is_empty() && state.finished().is_none());
}

/// Carries an experiment of 12 runs a block out, and says how it ended, after how many runs and rests.
fn carried_out(text: &str) -> (Ending, usize, u32, Option<String>) {
    let experiment = Experiment::parse("x", text).unwrap();
    let dir = home();
    let plan = Plan::of("x", &experiment, 3).unwrap();
    let mut state = State::create(&dir.path().join("x"), &plan, text).unwrap();
    let fake = Fake::default();
    let ending = carry_out(&experiment, &mut state, &fake, &mut Nobody).unwrap();
    let rested = fake.rested.into_inner();
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

/// Notes how many pieces of work went on at once, and what was in each.
#[derive(Default)]
struct Wide {
    boots: bool,
    fails: bool,
    going: AtomicU32,
    most: AtomicU32,
    work: Mutex<Vec<usize>>,
}

impl Runner for Wide {
    fn run(&self, runs: &[(Uuid, Invocation)]) -> Vec<Ended> {
        let going = self.going.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(going, Ordering::SeqCst);
        // As many as are to come have come after this, or a machine is very busy.
        std::thread::sleep(Duration::from_millis(50));
        self.going.fetch_sub(1, Ordering::SeqCst);
        self.work.lock().unwrap().push(runs.len());
        let end = match self.fails {
            true => RunEnd::Failed,
            false => RunEnd::Valid,
        };
        vec![(end, None); runs.len()]
    }

    fn lanes(&self) -> usize {
        4
    }

    fn boots(&self) -> bool {
        self.boots
    }

    fn find(&self, _: Uuid) -> Option<Ended> {
        None
    }

    fn rest(&self, _: Nanos) {}

    fn is_stopped(&self) -> bool {
        false
    }
}

#[test]
fn runs_that_fail_side_by_side_end_an_experiment_too() {
    let text = format!(
        "name = \"x\"\ncompare = [\"p99\"]\n[[measure]]\ninstrument = \"wakeup\"\n[[factor]]\nname = \"kernel\"\n\
         target = true\nlevels = {VIRTUAL}\n[stop]\nblocks = 30"
    );
    let experiment = Experiment::parse("x", &text).unwrap();
    let plan = Plan::of("x", &experiment, 3).unwrap();
    let dir = home();
    let mut state = State::create(&dir.path().join("x"), &plan, &text).unwrap();
    let wide = Wide {
        fails: true,
        ..Wide::default()
    };
    let failed = carry_out(&experiment, &mut state, &wide, &mut Nobody).unwrap_err();
    assert!(matches!(failed, LabError::Failing { count: 3, .. }));
    assert!(state.attempts().len() < 3 + 2 * wide.lanes());
}

/// Carries out five blocks of two kernels; returns what the runner saw, and the tries.
fn kernels(levels: &str, more: &str, wide: Wide) -> (Wide, Vec<Attempt>) {
    let text = format!(
        "name = \"x\"\ncompare = [\"p99\"]\n[[measure]]\ninstrument = \"wakeup\"\n[[factor]]\nname = \"kernel\"\n\
         target = true\nlevels = {levels}\n{more}"
    );
    let experiment = Experiment::parse("x", &text).unwrap();
    let plan = Plan::of("x", &experiment, 3).unwrap();
    let dir = home();
    let mut state = State::create(&dir.path().join("x"), &plan, &text).unwrap();
    let ending = carry_out(&experiment, &mut state, &wide, &mut Nobody).unwrap();
    assert_eq!(ending, Ending::Completed);
    let attempts = state.attempts().to_vec();
    (wide, attempts)
}

const VIRTUAL: &str = "{ a = \"guest:a,virtual-time\", b = \"guest:b,virtual-time\" }";

#[test]
fn guests_in_virtual_time_run_several_at_once_and_everything_else_alone() {
    let most = |levels: &str, stop: &str| {
        let stop = format!("[stop]\nblocks = 5\n{stop}");
        let (wide, attempts) = kernels(levels, &stop, Wide::default());
        // Each slot once, whatever ran at once.
        let slots: BTreeSet<Slot> = attempts.iter().map(|attempt| attempt.slot).collect();
        assert_eq!((slots.len(), attempts.len()), (10, 10));
        wide.most.into_inner()
    };
    assert_eq!(most(VIRTUAL, ""), 4, "two blocks of two at once");
    assert_eq!(most(VIRTUAL, "time = \"1h\""), 4);
    let rule = "sequential = { first = 2 }";
    assert_eq!(most(VIRTUAL, rule), 2, "a look comes after each block");
    let real = "{ here = \"here\", b = \"guest:b\" }";
    assert_eq!(most(real, ""), 1);
}

#[test]
fn a_machine_that_is_booted_does_all_measurements_of_its_cell_once() {
    let second = "[[measure]]\nname = \"second\"\ninstrument = \"wakeup\"\n[stop]\nblocks = 5\n";
    let boots = |fails| Wide {
        boots: true,
        fails,
        ..Wide::default()
    };
    for fails in [false, true] {
        // All of them fail, and the next is booted all the same.
        let (wide, attempts) = kernels(VIRTUAL, second, boots(fails));
        assert_eq!(wide.work.into_inner().unwrap(), [2; 10]);
        assert_eq!(attempts.len(), 20);
    }
}

/// Runs that fail where `fails` says so of their cell and how many were done.
struct Mended<F> {
    fails: F,
    done: AtomicU32,
    stops_after: u32,
}

impl<F: Fn(&str, u32) -> bool + Sync> Runner for Mended<F> {
    fn run(&self, runs: &[(Uuid, Invocation)]) -> Vec<Ended> {
        let one = |(_, what): &(Uuid, Invocation)| {
            let done = self.done.fetch_add(1, Ordering::SeqCst);
            match (self.fails)(&what.arguments.join(" "), done) {
                true => (RunEnd::Failed, Some("broken".to_owned())),
                false => (RunEnd::Valid, None),
            }
        };
        runs.iter().map(one).collect()
    }

    fn find(&self, _: Uuid) -> Option<Ended> {
        None
    }

    fn rest(&self, _: Nanos) {}

    fn is_stopped(&self) -> bool {
        self.done.load(Ordering::SeqCst) >= self.stops_after
    }
}

/// Carries `state` out by runs that fail as `fails` says, until `stops_after` of them are done.
fn go_on(
    experiment: &Experiment,
    state: &mut State,
    stops_after: u32,
    fails: impl Fn(&str, u32) -> bool + Sync,
) -> Result<Ending, LabError> {
    let runner = Mended {
        fails,
        done: AtomicU32::new(0),
        stops_after,
    };
    carry_out(experiment, state, &runner, &mut Nobody)
}

/// Three cells in the order of the file.
fn three_cells(home: &Path, blocks: u32) -> (Experiment, State) {
    let text = format!(
        "name = \"x\"\norder = \"as-written\"\ncompare = [\"p99\"]\n[[measure]]\ninstrument = \"wakeup\"\n\
         [[factor]]\nname = \"a\"\noption = \"interval\"\nlevels = [\"1ms\", \"2ms\", \"3ms\"]\n\
         [stop]\nblocks = {blocks}"
    );
    let experiment = Experiment::parse("x", &text).unwrap();
    let plan = Plan::of("x", &experiment, 3).unwrap();
    let state = State::create(&home.join("x"), &plan, &text).unwrap();
    (experiment, state)
}

/// Block and cell of each try, and whether it was valid.
fn tried(state: &State) -> Vec<(u32, u32, bool)> {
    let tried = state.attempts().iter();
    tried
        .map(|a| (a.slot.block, a.slot.cell, a.end == Some(RunEnd::Valid)))
        .collect()
}

#[test]
fn what_failed_before_an_abort_is_done_again_once_the_cause_is_gone() {
    let dir = home();
    let (experiment, mut state) = three_cells(dir.path(), 1);
    let aborted = |state: &mut State| {
        let failed = go_on(&experiment, state, u32::MAX, |_, _| true).unwrap_err();
        assert!(matches!(failed, LabError::Failing { count: 3, .. }));
    };
    aborted(&mut state);
    assert_eq!(tried(&state), [(0, 0, false), (0, 0, false), (0, 1, false)]);
    // The cause is still there.
    aborted(&mut state);
    drop(state);
    let mut state = State::open(&dir.path().join("x")).unwrap();
    let ending = go_on(&experiment, &mut state, u32::MAX, |_, _| false).unwrap();
    assert_eq!(ending, Ending::Completed);
    assert_eq!(
        tried(&state)[6..],
        [(0, 0, true), (0, 1, true), (0, 2, true)]
    );
    assert_eq!(unmeasured(state.plan(), state.attempts()), []);
}

#[test]
fn what_failed_in_a_block_that_is_over_stays_so_and_what_failed_in_the_last_one_is_tried_again() {
    let dir = home();
    let (experiment, mut state) = three_cells(dir.path(), 3);
    let second = |line: &str, _| line.contains("2ms");
    // Two blocks of four tries, and the third up to the cell after the one that fails.
    let ending = go_on(&experiment, &mut state, 7, second).unwrap();
    assert_eq!(ending, Ending::Stopped);
    let last = [(1, 0, true), (1, 1, false), (1, 1, false)];
    assert_eq!(tried(&state)[4..], last);
    // Two failures of before and one of now are no row.
    let once = |line: &str, done| line.contains("2ms") && done == 0;
    go_on(&experiment, &mut state, u32::MAX, once).unwrap();
    assert_eq!(
        tried(&state)[7..],
        [
            (1, 1, false),
            (1, 1, true),
            (1, 2, true),
            (2, 0, true),
            (2, 1, true),
            (2, 2, true)
        ]
    );
    let counted = Outcomes {
        valid: 8,
        invalid: 0,
        failed: 1,
    };
    assert_eq!(outcomes(state.attempts()), counted);
}

#[test]
fn a_cell_that_failed_each_time_is_named_with_its_last_try() {
    let dir = home();
    let (experiment, mut state) = three_cells(dir.path(), 2);
    let second = |line: &str, _| line.contains("2ms");
    go_on(&experiment, &mut state, u32::MAX, second).unwrap();
    let without = unmeasured(state.plan(), state.attempts());
    let [one] = without[..] else {
        panic!("{without:?}")
    };
    assert_eq!((one.cell, one.measurement, one.last.slot.block), (1, 0, 1));
    assert_eq!(one.last.detail.as_deref(), Some("broken"));
}
