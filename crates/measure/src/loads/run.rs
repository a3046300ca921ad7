// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The loads at work in this process, and how much of it they have done.

use std::cell::{Cell, RefCell};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, RwLock};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use punctual_sys::sched::{affinity, set_affinity, set_policy};
use punctual_sys::thread::is_users_own_right;
use punctual_sys::{PathError, SysRoot};

use super::check::{check_cpus, check_memory, check_policies, check_real_time, check_right, of};
use super::report::Report;
use super::settings::Settings;
use super::shift::{Shift, Tally, Task};
use super::spec::LoadSpec;
use super::{REPORT_EVERY, ping};
use crate::refusal;

/// A load that has done nothing after this does not work.
const START_WITHIN: Duration = Duration::from_secs(12);

/// Time between two words about what takes long before the loads begin.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Longest total wait for threads to begin before the next one is started.
const ONE_AFTER_THE_OTHER: Duration = Duration::from_secs(2);

/// Takes what the loads report. They end where it fails.
type Say<'a> = dyn FnMut(&Report) -> io::Result<()> + 'a;

/// Runs `loads`, sized for `cpus` CPUs, and tells `say` how it goes, until `stop` is set or `say`
/// fails.
///
/// # Errors
///
/// Fails before anything works: with `InvalidInput` when a load was asked for wrongly, with
/// `Unsupported` when a tool, a privilege or a part of the kernel is missing, otherwise when memory
/// or threads are refused. That `say` fails is the end, not an error.
pub fn run(
    sys: &SysRoot,
    loads: &[LoadSpec],
    cpus: u32,
    stop: &AtomicBool,
    say: &mut Say<'_>,
) -> io::Result<()> {
    let say = RefCell::new(say);
    let go_on = telling(&say, stop, TELL_EVERY);
    let mut loads = match LoadRun::start(sys, loads, cpus, stop, &go_on) {
        Err(err) if err.kind() == io::ErrorKind::Interrupted => return Ok(()),
        started => started?,
    };
    loads.wait_for_all(stop)?;
    // The first report is what those after it are compared with.
    let mut say = say.borrow_mut();
    if say(&Report::Ready).is_err() {
        return Ok(());
    }
    loop {
        if loads.reports().iter().try_for_each(&mut *say).is_err() {
            return Ok(());
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        std::thread::sleep(REPORT_EVERY);
    }
}

/// Returns what says how loads are prepared, once `every` so often, and whether they are still wanted.
fn telling<'a>(
    say: &'a RefCell<&mut Say<'_>>,
    stop: &'a AtomicBool,
    every: Duration,
) -> impl Fn(&LoadSpec, &str) -> bool + 'a {
    let told = Cell::new(Instant::now());
    move |load, what| {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        if told.get().elapsed() < every {
            return true;
        }
        told.set(Instant::now());
        let what = format!("{load}: {what}");
        say.borrow_mut()(&Report::Preparing { what }).is_ok()
    }
}

/// Makes the kernel end this process, and what it starts, before any other when memory runs out.
///
/// # Errors
///
/// Fails where `oom_score_adj` is missing or may not be written to.
pub fn be_first_to_go(sys: &SysRoot) -> Result<(), PathError> {
    sys.write("/proc/self/oom_score_adj", "1000")
}

/// Loads that are running in this process.
#[derive(Debug)]
struct LoadRun {
    stop: Arc<AtomicBool>,
    threads: Vec<LoadThread>,
    loads: Vec<Progress>,
    end: Sender<End>,
    ends: Receiver<End>,
    /// No thread works while this is taken for writing.
    gate: Arc<RwLock<()>>,
}

/// A thread of the load at `place`.
#[derive(Debug)]
struct LoadThread {
    place: usize,
    tally: Arc<Tally>,
    handle: JoinHandle<()>,
    /// Closed when it has begun.
    begun: Receiver<()>,
}

/// Why a thread of the load at `place` has ended before its shift was over.
#[derive(Debug)]
struct End {
    place: usize,
    why: io::Error,
}

/// How far a load has come.
#[derive(Debug)]
struct Progress {
    load: LoadSpec,
    /// How often every one of its threads has worked since the last such round.
    rounds: u64,
    /// Each thread's steps at the last round.
    at_round: Vec<u64>,
    dead: bool,
    /// Whether its own unit was reported.
    unit_said: bool,
}

impl Progress {
    /// Counts a round if all threads have made steps since the last one.
    fn advance(&mut self, steps: Vec<u64>) {
        let went_on = |(then, now): (&u64, &u64)| now > then;
        if self.at_round.iter().zip(&steps).all(went_on) {
            self.rounds += 1;
            self.at_round = steps;
        }
    }
}

impl LoadRun {
    /// Checks what all loads need, then starts them: first the programs, because one that is not
    /// what was meant ends at once, then all threads at the same time.
    ///
    /// Fails with `Interrupted` where the end comes first.
    fn start(
        sys: &SysRoot,
        loads: &[LoadSpec],
        cpus: u32,
        stop: &AtomicBool,
        go_on: &dyn Fn(&LoadSpec, &str) -> bool,
    ) -> io::Result<Self> {
        let allowed = affinity()?;
        check_cpus(loads, &allowed)?;
        check_right(loads, is_users_own_right)?;
        check_policies(loads)?;
        ping::check_all(sys, loads)?;
        check_real_time(sys, loads, &allowed)?;
        check_memory(sys, loads, cpus)?;
        let mut run = Self::idle();
        let mut crews = Vec::new();
        for load in loads {
            let crew = load
                .prepare(sys, &allowed, cpus, &|what| go_on(load, what))
                .map_err(|err| of(load, &err))?;
            run.loads.push(Progress {
                load: load.clone(),
                rounds: 0,
                at_round: vec![0; crew.len()],
                dead: false,
                unit_said: false,
            });
            crews.push(crew);
        }
        let begun = Instant::now();
        let (programs, threads): (Vec<_>, Vec<_>) = loads
            .iter()
            .zip(crews)
            .enumerate()
            .partition(|(_, (load, _))| load.is_program());
        for crews in [programs, threads] {
            // Hundreds of threads at work would leave no time to start the others.
            let gate = Arc::clone(&run.gate);
            let closed = gate.write();
            for (place, (load, crew)) in crews {
                for (number, task) in crew.into_iter().enumerate() {
                    let thread = run.spawn(place, load, task, begun).map_err(|err| {
                        let what = format!("thread {number} cannot be started: {err}");
                        of(load, &io::Error::new(err.kind(), what))
                    })?;
                    // It takes memory of its own when it begins. If the next one took the last of that, the standard
                    // library would abort the process.
                    let rest = ONE_AFTER_THE_OTHER.saturating_sub(begun.elapsed());
                    let _closed = thread.begun.recv_timeout(rest);
                    run.threads.push(thread);
                }
            }
            drop(closed);
            run.wait_for_all(stop)?;
        }
        Ok(run)
    }

    fn idle() -> Self {
        let (end, ends) = channel();
        Self {
            stop: Arc::default(),
            threads: Vec::new(),
            loads: Vec::new(),
            end,
            ends,
            gate: Arc::default(),
        }
    }

    fn spawn(
        &self,
        place: usize,
        load: &LoadSpec,
        task: Task,
        turns: Instant,
    ) -> io::Result<LoadThread> {
        let tally = Arc::<Tally>::default();
        let (stop, counted) = (Arc::clone(&self.stop), Arc::clone(&tally));
        let (gate, end) = (Arc::clone(&self.gate), self.end.clone());
        let settings = load.settings.clone();
        let (begin, begun) = channel();
        let handle = Builder::new()
            .name(format!("load/{}", load.name()))
            .spawn(move || {
                drop(begin);
                let ended = enter(&settings).and_then(|()| {
                    drop(gate.read());
                    task(&mut Shift::begin(
                        &stop,
                        &counted,
                        settings.intensity,
                        turns,
                    ))
                });
                let why = match ended {
                    Err(why) => why,
                    Ok(()) if stop.load(Ordering::Relaxed) => return,
                    Ok(()) => io::Error::other("a thread ended unexpectedly"),
                };
                // It fails only when nobody waits for the threads any more.
                drop(end.send(End { place, why }));
            })?;
        Ok(LoadThread {
            place,
            tally,
            handle,
            begun,
        })
    }

    /// Waits until every thread has worked: its memory is there and it runs.
    fn wait_for_all(&self, stop: &AtomicBool) -> io::Result<()> {
        let begun = Instant::now();
        let idle = |thread: &&LoadThread| thread.tally.steps.load(Ordering::Relaxed) == 0;
        while let Some(thread) = self.threads.iter().find(idle)
            && !stop.load(Ordering::Relaxed)
        {
            let ended = thread.handle.is_finished();
            if let Ok(End { place, why }) = self.ends.try_recv() {
                return Err(self.of(place, &why));
            }
            // What it had to say it has said before its end.
            if ended {
                let what = io::Error::other("a thread ended because of a bug in this program");
                return Err(self.of(thread.place, &what));
            }
            if begun.elapsed() > START_WITHIN {
                let what = format!("did no work within {} s", START_WITHIN.as_secs());
                return Err(self.of(thread.place, &io::Error::other(what)));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Returns who died since the last time, and how far each load has come.
    fn reports(&mut self) -> Vec<Report> {
        let mut reports = Vec::new();
        while let Ok(End { place, why }) = self.ends.try_recv() {
            // Its other threads may go on, or die of the same.
            let load = self.loads.get_mut(place);
            if load.is_some_and(|load| !std::mem::replace(&mut load.dead, true)) {
                let reason = why.to_string();
                reports.push(Report::Died { place, reason });
            }
        }
        for thread in &self.threads {
            let progress = self.loads.get_mut(thread.place);
            if let (Some(unit), Some(progress)) = (thread.tally.unit.get(), progress)
                && !std::mem::replace(&mut progress.unit_said, true)
            {
                let (place, unit) = (thread.place, unit.clone());
                reports.push(Report::Unit { place, unit });
            }
        }
        let threads = &self.threads;
        let work = |(place, progress): (usize, &mut Progress)| {
            let of_it = threads.iter().filter(|thread| thread.place == place);
            let tallies = of_it.map(|thread| &thread.tally);
            let steps = tallies.clone().map(|t| t.steps.load(Ordering::Relaxed));
            progress.advance(steps.collect());
            Report::Work {
                place,
                done: tallies.map(|t| t.work.load(Ordering::Relaxed)).sum(),
                rounds: progress.rounds,
            }
        };
        reports.extend(self.loads.iter_mut().enumerate().map(work));
        reports
    }

    /// Names the load at `place` in an error.
    fn of(&self, place: usize, err: &io::Error) -> io::Error {
        match self.loads.get(place) {
            Some(progress) => of(&progress.load, err),
            None => io::Error::new(err.kind(), err.to_string()),
        }
    }
}

impl Drop for LoadRun {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A load that panicked has nothing more to stop.
            drop(thread.handle.join());
        }
    }
}

/// Makes the calling thread run as `settings` say.
fn enter(settings: &Settings) -> io::Result<()> {
    if let Some(cpus) = &settings.cpus {
        set_affinity(cpus)?;
    }
    let Some(policy) = settings.policy else {
        return Ok(());
    };
    set_policy(policy)
        .map_err(|err| io::Error::new(io::ErrorKind::Unsupported, refusal::told(policy, &err)))
}

#[cfg(test)]
mod tests;
