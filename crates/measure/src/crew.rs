// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Threads of an instrument: each is bound, has its policy, is read back, and starts with all others.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};

use punctual_model::{CpuSet, Nanos, Ordered as _, Policy};
use punctual_sys::thread::{self, Tid, Usage};
use punctual_sys::{clock, sched};

use crate::ends::{End, Ends};
use crate::error::MeasureError;
use crate::gate::{Gate, Start};

/// Stack of a thread of an instrument. It may be locked in memory, so it is small.
pub(crate) const STACK_BYTES: usize = 256 * 1_024;

/// What of it is made present before a thread works: more than any loop of an instrument needs.
const PRESENT_BYTES: usize = 64 * 1_024;

/// Where and how one thread runs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Post {
    /// Name of the thread, of at most 15 bytes, as `ps` shows it.
    pub name: String,
    /// Policy to run with.
    pub policy: Policy,
    /// CPUs to bind to.
    pub cpus: CpuSet,
}

impl Post {
    /// Returns a post on one CPU.
    pub fn on(name: impl Into<String>, policy: Policy, cpu: u32) -> Self {
        Self {
            name: name.into(),
            policy,
            cpus: std::iter::once(cpu).collect(),
        }
    }
}

/// Threads that are ready and wait for [`Crew::go`], or are at work. Each returns a `T`.
#[derive(Debug)]
pub struct Crew<T> {
    gate: Arc<Gate>,
    ends: Arc<Ends>,
    members: Vec<Member<T>>,
}

#[derive(Debug)]
struct Member<T> {
    post: Post,
    ready: Ready,
    thread: JoinHandle<Option<(T, Spent)>>,
}

/// What the kernel says of a thread that is ready.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    /// Number of the thread, from 0.
    pub(crate) index: u32,
    /// The kernel's number of it.
    pub(crate) tid: Tid,
    /// Policy as read back.
    pub(crate) policy: Policy,
    /// Affinity as read back.
    pub(crate) affinity: CpuSet,
    /// How much later than asked the kernel may wake the thread.
    pub(crate) timer_slack: Option<Nanos>,
}

/// What a thread reports when it is done.
#[derive(Debug)]
pub(crate) struct Finished {
    /// Policy as read back at the end.
    pub(crate) policy: io::Result<Policy>,
    /// Affinity as read back at the end.
    pub(crate) affinity: io::Result<CpuSet>,
    /// Page faults during the loop.
    pub(crate) faults: u64,
    /// CPU time of the loop.
    pub(crate) cpu_time: Nanos,
}

/// One thread from before it measured to after.
#[derive(Debug)]
pub(crate) struct ThreadEvidence {
    pub(crate) asked_policy: Policy,
    pub(crate) asked_cpus: CpuSet,
    pub(crate) ready: Ready,
    pub(crate) finished: Finished,
}

/// What a thread used while it worked, and what the kernel says of it at the end.
#[derive(Debug)]
struct Spent {
    finished: Finished,
    usage: Usage,
}

/// What is known of a thread that is done. The frame of a run makes its checks from it.
#[derive(Debug)]
pub struct ThreadReport {
    pub(crate) evidence: ThreadEvidence,
    usage: Usage,
}

impl ThreadReport {
    /// Returns what the thread used while it worked: CPU time, page faults, context switches.
    pub const fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Replaces what the thread used while it worked by what it used in the part that was measured.
    pub(crate) fn narrow_to(&mut self, usage: Usage) {
        self.evidence.finished.faults = usage.minor_faults + usage.major_faults;
        self.evidence.finished.cpu_time = usage.cpu_time;
        self.usage = usage;
    }

    /// Returns the policy that the kernel said the thread had when it was ready.
    pub const fn policy(&self) -> Policy {
        self.evidence.ready.policy
    }
}

impl<T: Send + 'static> Crew<T> {
    /// Starts a thread a post, binds it, sets its policy, reads both back. They wait then.
    ///
    /// # Errors
    ///
    /// [`MeasureError::Spawn`], [`MeasureError::Affinity`], [`MeasureError::Policy`],
    /// [`MeasureError::ReadBack`]. No thread is left then.
    pub fn assemble<W>(works: Vec<(Post, W)>) -> Result<Self, MeasureError>
    where
        W: FnOnce() -> T + Send + 'static,
    {
        let prepared = works
            .into_iter()
            .map(|(post, work)| (post, move || Ok(move |_: Start| (work(), ()))));
        Self::prepare(STACK_BYTES, prepared.collect())
    }

    /// As [`Self::assemble`], of threads with a stack of their own size that make something ready before they wait: each then does what its
    /// `prepare` returned. What comes with the thread's result is dropped when the thread is an ordinary one.
    ///
    /// # Errors
    ///
    /// As [`Self::assemble`], and what `prepare` fails with.
    pub(crate) fn prepare<P, W, D>(
        stack: usize,
        works: Vec<(Post, P)>,
    ) -> Result<Self, MeasureError>
    where
        P: FnOnce() -> Result<W, MeasureError> + Send + 'static,
        W: FnOnce(Start) -> (T, D),
    {
        let gate = Arc::<Gate>::default();
        let ends = Arc::<Ends>::default();
        let mut started = Vec::new();
        let result = start_all(stack, works, &gate, &ends, &mut started);
        match result {
            Ok(ready) => {
                let members = started
                    .into_iter()
                    .zip(ready)
                    .map(|((post, thread), ready)| Member {
                        post,
                        ready,
                        thread,
                    })
                    .collect();
                Ok(Self {
                    gate,
                    ends,
                    members,
                })
            }
            Err(err) => {
                gate.call_off();
                for (_, thread) in started {
                    // It waits at the gate or has failed; either way it returns now.
                    drop(thread.join());
                }
                Err(err)
            }
        }
    }

    /// Lets all threads work, whether or not their memory is locked. See
    /// [`Frame::start`](crate::frame::Frame::start).
    pub fn go(&self) {
        self.open(Start {
            origin: clock::monotonic(),
            rehearse: false,
            stagger: Nanos::ZERO,
            after_threshold: 0,
        });
    }

    /// Lets all threads work as `start` says, whether or not their memory is locked.
    pub(crate) fn open(&self, start: Start) {
        self.gate.open(start);
    }

    /// Returns where each thread that is done says so.
    pub(crate) fn ends(&self) -> Arc<Ends> {
        Arc::clone(&self.ends)
    }

    /// Wakes the threads that sleep, so that they look whether they are to end.
    pub(crate) fn interrupt(&self) {
        self.members.iter().for_each(|m| m.ready.tid.interrupt());
    }

    /// Returns the number of threads that are done.
    pub(crate) fn done(&self) -> usize {
        self.ends.count()
    }

    /// Returns the kernel's numbers of the threads, in the order of their posts.
    pub fn tids(&self) -> Vec<Tid> {
        self.members.iter().map(|m| m.ready.tid).collect()
    }

    /// Whether every thread is done.
    pub fn is_done(&self) -> bool {
        self.done() == self.members.len()
    }

    /// Waits until all threads are done and returns their results, in the order of their posts.
    ///
    /// # Errors
    ///
    /// [`MeasureError::Defect`] if one of them panicked.
    pub fn join(mut self) -> Result<Vec<(T, ThreadReport)>, MeasureError> {
        let members = std::mem::take(&mut self.members);
        // All of them, before an error is returned: no thread outlives this.
        let joined: Vec<_> = members
            .into_iter()
            .map(|m| (m.post, m.ready, m.thread.join()))
            .collect();
        joined
            .into_iter()
            .map(|(post, ready, result)| {
                let thread = ready.index;
                let (value, spent) = result
                    .ok()
                    .flatten()
                    .ok_or(MeasureError::Defect { thread })?;
                let report = ThreadReport {
                    evidence: ThreadEvidence {
                        asked_policy: post.policy,
                        asked_cpus: post.cpus,
                        ready,
                        finished: spent.finished,
                    },
                    usage: spent.usage,
                };
                Ok((value, report))
            })
            .collect()
    }
}

impl<T> Drop for Crew<T> {
    fn drop(&mut self) {
        self.gate.call_off();
        for member in self.members.drain(..) {
            drop(member.thread.join());
        }
    }
}

type Started<T> = Vec<(Post, JoinHandle<Option<(T, Spent)>>)>;

fn start_all<T, P, W, D>(
    stack: usize,
    works: Vec<(Post, P)>,
    gate: &Arc<Gate>,
    ends: &Arc<Ends>,
    started: &mut Started<T>,
) -> Result<Vec<Ready>, MeasureError>
where
    T: Send + 'static,
    P: FnOnce() -> Result<W, MeasureError> + Send + 'static,
    W: FnOnce(Start) -> (T, D),
{
    let (send, receive) = channel();
    for (index, (post, work)) in (0..).zip(works) {
        let (gate, send, own) = (Arc::clone(gate), send.clone(), post.clone());
        let end = End::of(ends);
        let thread = Builder::new()
            .name(post.name.clone())
            .stack_size(stack)
            .spawn(move || {
                let _end = end;
                station(index, &own, &gate, send, work)
            })
            .map_err(MeasureError::Spawn)?;
        started.push((post, thread));
    }
    drop(send);
    let mut ready = Vec::new();
    for _ in 0..started.len() {
        // A thread that ended without an answer panicked.
        let answer = receive
            .recv()
            .map_err(|_| MeasureError::Defect { thread: 0 })?;
        ready.push(answer?);
    }
    ready.order_by_key(|ready: &Ready| ready.index);
    Ok(ready)
}

/// Makes the stack present below the caller's frame: where it is not locked, each page of it would
/// fault in the work.
#[inline(never)]
fn touch_stack() {
    std::hint::black_box(&mut [1_u8; PRESENT_BYTES]);
}

/// The life of one thread.
fn station<T, W, D>(
    index: u32,
    post: &Post,
    gate: &Gate,
    ready: Sender<Result<Ready, MeasureError>>,
    prepare: impl FnOnce() -> Result<W, MeasureError>,
) -> Option<(T, Spent)>
where
    W: FnOnce(Start) -> (T, D),
{
    let bound = bind(index, post.policy, &post.cpus);
    let prepared = bound.and_then(|facts| Ok((prepare()?, facts)));
    touch_stack();
    let work = match prepared {
        Ok((work, facts)) => {
            ready.send(Ok(facts)).ok()?;
            work
        }
        Err(err) => {
            ready.send(Err(err)).ok()?;
            return None;
        }
    };
    drop(ready);
    let start = gate.wait()?;
    let before = thread::usage();
    let (value, _last) = work(start);
    let after = thread::usage();
    let policy = sched::policy_of(0);
    // To end takes the kernel some hundred microseconds, which are no latency of the threads below this one
    // on its CPU that wait for their last deadline. To be an ordinary thread takes no privilege.
    if policy.as_ref().is_ok_and(|policy| policy.is_real_time()) {
        drop(sched::set_policy(Policy::Other { nice: 0 }));
    }
    let usage = after.since(&before);
    let finished = Finished {
        policy,
        affinity: sched::affinity(),
        faults: usage.minor_faults + usage.major_faults,
        cpu_time: usage.cpu_time,
    };
    Some((value, Spent { finished, usage }))
}

/// Binds the thread, sets its policy, and reads both back.
fn bind(index: u32, policy: Policy, cpus: &CpuSet) -> Result<Ready, MeasureError> {
    sched::set_affinity(cpus).map_err(|source| MeasureError::Affinity {
        cpus: cpus.clone(),
        source,
    })?;
    sched::set_policy(policy).map_err(|source| MeasureError::Policy { policy, source })?;
    if policy == Policy::Ext {
        // A real-time thread has none either.
        sched::lose_timer_slack();
    }
    let read_back = |source| MeasureError::ReadBack { source };
    Ok(Ready {
        index,
        tid: Tid::current(),
        policy: sched::policy_of(0).map_err(read_back)?,
        affinity: sched::affinity().map_err(read_back)?,
        timer_slack: sched::timer_slack(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn anywhere(name: &str) -> Post {
        Post {
            name: name.to_owned(),
            policy: Policy::Other { nice: 0 },
            cpus: sched::affinity().unwrap(),
        }
    }

    #[test]
    fn nobody_works_before_all_are_let_loose() {
        let begun = Arc::<AtomicU32>::default();
        let works = (0..3_u32)
            .map(|n| {
                let begun = Arc::clone(&begun);
                let work = move || {
                    begun.fetch_add(1, Ordering::Relaxed);
                    n
                };
                (anywhere("crew"), work)
            })
            .collect();
        let crew = Crew::assemble(works).unwrap();
        assert_eq!(begun.load(Ordering::Relaxed), 0);
        assert_eq!(crew.tids().len(), 3);
        crew.go();
        let results: Vec<u32> = crew.join().unwrap().into_iter().map(|(n, _)| n).collect();
        assert_eq!(results, [0, 1, 2]);
    }

    #[test]
    fn a_crew_that_is_not_needed_goes_home() {
        let crew = Crew::assemble(vec![(anywhere("crew"), || 1)]).unwrap();
        drop(crew);
    }

    #[test]
    fn one_refused_thread_sends_all_home() {
        let mut nowhere = anywhere("crew");
        nowhere.cpus = std::iter::once(punctual_model::CPU_LIMIT - 1).collect();
        let works: Vec<(Post, fn() -> u32)> = vec![(anywhere("crew"), || 1), (nowhere, || 2)];
        let err = Crew::assemble(works).unwrap_err();
        assert!(matches!(err, MeasureError::Affinity { .. }), "{err}");
    }

    #[test]
    fn a_panic_is_a_defect_and_not_ours() {
        let crew = Crew::assemble(vec![(anywhere("crew"), || -> u32 { panic!("as asked") })]);
        let crew = crew.unwrap();
        crew.go();
        assert!(matches!(
            crew.join(),
            Err(MeasureError::Defect { thread: 0 })
        ));
    }
}
