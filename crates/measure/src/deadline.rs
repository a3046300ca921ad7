// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Deadline misses of threads that compute, iteration after iteration.
//!
//! The method is that of P. B. S. Raju and P. Govindarajulu, "Optimizing Linux Kernel for Real-time
//! Performance On Multi-Core Architecture" (2015): a real-time thread adds in a loop for ever, each
//! iteration has a deadline, and ordinary threads do the same next to it. What Punctual adds: the deadline is
//! calibrated, the clock is read once an iteration without a gap, a share of the time can be left to
//! others, and the stalls are looked at for who caused them.

pub(crate) mod calibrate;
mod cycle;
mod late;
mod neighbours;
mod options;
mod pattern;
mod result;
mod stalls;
mod status;

use std::sync::{Arc, OnceLock};

use punctual_model::{CpuId, Nanos, Pin, Progress, SeriesProgress};

pub use cycle::{Iterations, Worked};
pub use options::{Deadline, Due, ParseDueError, Work};
pub use stalls::Stalls;

use self::calibrate::{Calibrated, calibrate};
use self::late::Late;
use self::neighbours::Lookout;
use self::status::Moment;
use crate::budget::Budgets;
use crate::crew::{Crew, Post, ThreadReport};
use crate::error::MeasureError;
use crate::frame::{Found, Frame};
use crate::stream::{LOOK_EVERY, Stream};

/// What one thread reports.
#[derive(Debug)]
struct Done {
    calibrated: Calibrated,
    worked: Worked,
    stalls: Stalls,
    before: Moment,
    after: Moment,
}

/// One thread while it measures.
#[derive(Debug)]
struct Watched {
    stream: Stream,
    late: Late,
    pinned_to: Option<CpuId>,
    calibrated: Arc<OnceLock<Calibrated>>,
}

impl Watched {
    fn drain(&mut self) {
        // Samples come only after it is known what they are compared with.
        if let Some(calibrated) = self.calibrated.get() {
            let late = &mut self.late;
            self.stream.drain(|block| late.take(block, calibrated));
        }
    }

    fn last_cpu(&self) -> Option<CpuId> {
        self.pinned_to.or_else(|| self.stream.cpu())
    }
}

/// Measures with the threads that `deadline` asks for, on the CPUs of the frame's set-up.
///
/// # Errors
///
/// [`MeasureError::Spec`] where the threads would leave the machine no CPU time at all; else when a
/// thread cannot be started or a sleep fails.
pub fn run(deadline: Deadline, frame: &mut Frame<'_>) -> Result<Found, MeasureError> {
    let budgets = Budgets::read(frame.sys());
    let posts = posts(deadline, frame);
    refuse_to_starve(deadline, frame)?;
    refuse_to_hang(deadline, &posts, &budgets, frame)?;
    let mut watched = Vec::new();
    let mut works = Vec::new();
    for (thread, post) in (0..).zip(&posts) {
        let (mut tap, stream) = Stream::pair(thread, post, shortest(deadline.work), &frame.keep());
        let pinned_to = post.cpus.only();
        let calibrated = Arc::<OnceLock<Calibrated>>::default();
        watched.push(Watched {
            stream,
            late: Late::new(&frame.keep()),
            pinned_to,
            calibrated: Arc::clone(&calibrated),
        });
        let (sys, stop) = (frame.sys().clone(), frame.stop_flag());
        let origin = frame.origin();
        let duration = frame.setup().duration_ns.unwrap_or(Nanos::MAX);
        works.push((post.clone(), move || {
            let found = calibrate(deadline.work, deadline.due, &stop);
            let found = *calibrated.get_or_init(|| found);
            let iterations = Iterations {
                additions: found.additions,
                period: deadline.interval_of(found.undisturbed),
                origin,
                duration,
                pinned_to,
                stop,
            };
            let mut stalls = Stalls::of(found.undisturbed);
            let before = Moment::now(&sys, pinned_to);
            let worked = iterations.run(&mut tap, &mut stalls);
            let after = Moment::now(&sys, pinned_to);
            Done {
                calibrated: found,
                worked,
                stalls,
                before,
                after,
            }
        }));
    }
    let crew = Crew::assemble(works)?;
    frame.start(&crew)?;
    let lookout = attend(deadline, frame, &crew, &mut watched, &posts);
    let results: Vec<(Done, ThreadReport)> = crew.join()?;
    watched.iter_mut().for_each(Watched::drain);
    frame.last(progress(deadline, &mut watched));
    let waiting = lookout.found();
    result::found(deadline, frame, &watched, results, &budgets, &waiting)
}

/// Waits for the threads, and meanwhile takes their samples and looks who else wants their CPUs.
fn attend(
    deadline: Deadline,
    frame: &mut Frame<'_>,
    crew: &Crew<Done>,
    watched: &mut [Watched],
    posts: &[Post],
) -> Lookout {
    let mut lookout = Lookout::new(posts.iter().map(|p| p.cpus.clone()).collect());
    while !crew.is_done() {
        std::thread::sleep(LOOK_EVERY);
        watched.iter_mut().for_each(Watched::drain);
        let last_seen: Vec<_> = watched.iter().map(Watched::last_cpu).collect();
        if watched.iter().all(|w| w.calibrated.get().is_some()) {
            lookout.look(frame.sys(), &last_seen);
        }
        if frame.is_stopped() {
            // A thread may be in a long sleep.
            crew.interrupt();
        }
        frame.look(|| progress(deadline, watched));
    }
    lookout
}

fn progress(deadline: Deadline, watched: &mut [Watched]) -> Progress {
    let of = |watched: &mut Watched| {
        let now = watched.stream.progress();
        SeriesProgress {
            overruns: now.overruns.filter(|_| deadline.rests()),
            ..now
        }
    };
    Progress {
        series: watched.iter_mut().map(of).collect(),
        ..Progress::default()
    }
}

fn posts(deadline: Deadline, frame: &Frame<'_>) -> Vec<Post> {
    let setup = frame.setup();
    let cpus: Vec<CpuId> = setup.cpus.iter().collect();
    (0..deadline.threads)
        .map(|thread| {
            let each = cpus.get(thread as usize % cpus.len().max(1));
            Post {
                name: format!("deadline/{thread}"),
                policy: setup.priority,
                cpus: match deadline.pin {
                    Pin::Each => each.copied().into_iter().collect(),
                    Pin::Set => setup.cpus.clone(),
                    Pin::None => frame.original_cpus().clone(),
                },
            }
        })
        .collect()
}

/// Returns a time that iterations are not shorter than, for the size of the ring.
const fn shortest(work: Work) -> Nanos {
    match work {
        // No machine adds ten times in a nanosecond, one after the other.
        Work::Additions(additions) => Nanos::new(additions / 10),
        Work::Time(time) => Nanos::new(time.get() / 2),
    }
}

/// Two threads of one priority that never sleep: on one CPU the second would never begin.
fn refuse_to_starve(deadline: Deadline, frame: &Frame<'_>) -> Result<(), MeasureError> {
    let setup = frame.setup();
    let cpus = match deadline.pin {
        Pin::Each | Pin::Set => &setup.cpus,
        Pin::None => frame.original_cpus(),
    };
    if deadline.threads as usize <= cpus.len() || !setup.priority.is_real_time() {
        return Ok(());
    }
    Err(MeasureError::Spec {
        option: format!("--threads {}", deadline.threads),
        reason: format!(
            "more than the number of CPUs ({cpus}): real-time threads that never sleep starve each \
             other; for the ordinary threads of the study use a load: --load cpu:N"
        ),
    })
}

/// Real-time threads that never sleep, one on every CPU, leave nothing to anyone: not to the
/// terminal, nor to whoever wants to end this.
fn refuse_to_hang(
    deadline: Deadline,
    posts: &[Post],
    budgets: &Budgets,
    frame: &Frame<'_>,
) -> Result<(), MeasureError> {
    let setup = frame.setup();
    let all = frame.original_cpus().len();
    let spared = deadline.rests() || budgets.leave_something() || posts.len() < all;
    if !setup.priority.is_real_time() || spared {
        return Ok(());
    }
    Err(MeasureError::Spec {
        option: format!("--threads {} --duty {}", deadline.threads, deadline.duty),
        reason: format!(
            "real-time threads would use all the time of all {all} CPUs, and nothing else would \
             run, or next to nothing, with these limits: {}; use fewer threads or --duty 90%",
            budgets.describe()
        ),
    })
}
