// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The two loops: one sends, one receives.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use punctual_model::{Clock, CpuId, Nanos, Sample};
use punctual_sys::clock;
use punctual_sys::timer::{Nanosleep, Sleeper as _};
use punctual_sys::wake::{Errno, Path};

use super::turns::Turns;
use crate::cyclic::add;
use crate::stream::Tap;

/// What sender and receiver of a pair know of each other.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Pair {
    /// When the latest message was sent, in ns on the monotonic clock.
    sent_at: AtomicU64,
    /// Messages sent.
    sent: AtomicU64,
    /// One more than the messages received, so that 0 is: nobody is there yet.
    received: AtomicU64,
    /// Deadlines at which the receiver was not back, or the sender was late for another one.
    missed: AtomicU64,
    /// There are no more messages.
    over: AtomicBool,
}

impl Pair {
    /// Says that the receiver can be woken.
    pub(super) fn ready(&self) {
        self.received.store(1, Ordering::Release);
    }

    /// Returns the deadlines without a message up to now.
    pub(super) fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }

    /// Whether the sender sends no more.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }
}

/// What one end does.
#[derive(Clone, Debug)]
pub(super) struct Role {
    pub(super) turns: Turns,
    pub(super) turn: u32,
    pub(super) duration: Nanos,
    /// Time zero, set before the threads start.
    pub(super) origin: Arc<AtomicU64>,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) pair: Arc<Pair>,
    /// CPU of the receiver.
    pub(super) cpu: CpuId,
}

/// What one end counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    /// Messages that were received before they were sent, by the clock.
    pub(super) backwards: u64,
    pub(super) failure: Option<Errno>,
}

impl Counted {
    pub(super) fn failed(errno: Errno) -> Self {
        Self {
            failure: Some(errno),
            ..Self::default()
        }
    }
}

/// Sends until the time is up, then lets the receiver go.
///
/// Hot: until the last message it allocates nothing, locks nothing but what the way itself locks, and
/// calls only the clock, the sleep and the way.
pub(super) fn send<P: Path>(role: &Role, path: &P) -> Counted {
    let mut counted = Counted::default();
    if let Err(errno) = messages(role, path) {
        counted.failure = Some(errno);
    }
    // Whatever ended it: the receiver waits for a last message.
    role.pair.over.store(true, Ordering::Release);
    let last = if P::ARMS { path.arm() } else { Ok(()) }.and_then(|()| path.wake());
    if let Err(errno) = last {
        counted.failure.get_or_insert(errno);
    }
    counted
}

fn messages<P: Path>(role: &Role, path: &P) -> Result<(), Errno> {
    let origin = Nanos::new(role.origin.load(Ordering::Acquire));
    let pair = &role.pair;
    let mut sleeper = Nanosleep::new(Clock::Monotonic);
    let mut sleep = |until: Nanos| match sleeper.sleep_until(until) {
        // Woken to look at the flag, or early by it: both are seen below.
        Ok(()) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno),
    };
    let mut deadline = role.turns.next(role.turn, Nanos::ZERO);
    while deadline <= role.duration {
        let at = origin + deadline;
        // Before the deadline there is time to let the receiver wait for what only we can give.
        let arm_at = if P::ARMS { at - role.turns.lead() } else { at };
        sleep(arm_at)?;
        if role.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        if clock::monotonic() < arm_at {
            continue;
        }
        let sent = pair.sent.load(Ordering::Relaxed);
        if pair.received.load(Ordering::Acquire) == sent + 1 {
            if P::ARMS {
                path.arm()?;
                while clock::monotonic() < at && !role.stop.load(Ordering::Relaxed) {
                    sleep(at)?;
                }
            }
            pair.sent.store(sent + 1, Ordering::Relaxed);
            let now = clock::monotonic();
            pair.sent_at.store(now.get(), Ordering::Release);
            path.wake()?;
        } else {
            add(&pair.missed, 1);
        }
        let now = clock::monotonic().since(origin);
        let next = role
            .turns
            .next(role.turn, now.max(deadline + Nanos::new(1)));
        let end = role.duration + Nanos::new(1);
        let passed = role.turns.between(role.turn, deadline, next.min(end));
        // The receiver works in the same line of memory.
        if passed > 0 {
            add(&pair.missed, passed);
        }
        deadline = next;
    }
    Ok(())
}

/// Receives until the sender is over.
///
/// Hot: it allocates nothing, locks nothing but what the way itself locks, and calls only the clock
/// and the way.
pub(super) fn receive<P: Path>(role: &Role, path: &P, tap: &mut Tap) -> Counted {
    let mut counted = Counted::default();
    let origin = role.origin.load(Ordering::Acquire);
    let pair = &role.pair;
    loop {
        let woken = path.wait();
        let now = clock::monotonic().get();
        if let Err(errno) = woken.and_then(|()| path.done()) {
            if errno == Errno::INTR {
                continue;
            }
            counted.failure = Some(errno);
            return counted;
        }
        // The last message may have been sent just before.
        let over = pair.is_over();
        let received = pair.received.load(Ordering::Relaxed);
        if over && received > pair.sent.load(Ordering::Relaxed) {
            return counted;
        }
        let sent_at = pair.sent_at.load(Ordering::Acquire);
        counted.backwards += u64::from(now < sent_at);
        tap.push(Sample {
            t_ns: now.saturating_sub(origin),
            latency_ns: now.saturating_sub(sent_at),
            cpu: role.cpu,
            skipped: 0,
        });
        pair.received.store(received + 1, Ordering::Release);
        if over {
            return counted;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use punctual_model::Policy;

    use super::*;
    use crate::crew::Post;
    use crate::stream::Stream;
    use punctual_stats::Keep;

    /// Always there already.
    struct There;

    impl Path for There {
        fn new() -> io::Result<Self> {
            Ok(Self)
        }

        fn wake(&self) -> Result<(), Errno> {
            Ok(())
        }

        fn wait(&self) -> Result<(), Errno> {
            Ok(())
        }
    }

    #[test]
    fn the_last_message_is_received_also_where_the_sender_is_over_before() {
        let interval = Nanos::from_millis(1);
        let pair = Arc::<Pair>::default();
        pair.ready();
        let role = Role {
            turns: Turns::new(1, interval),
            turn: 0,
            duration: Nanos::from_secs(1),
            origin: Arc::default(),
            stop: Arc::default(),
            pair: Arc::clone(&pair),
            cpu: 0,
        };
        let samples = |sent| {
            let post = Post::on("receiver".to_owned(), Policy::Other { nice: 0 }, 0);
            let (mut tap, mut stream) = Stream::pair(0, &post, interval, &Keep::default());
            pair.sent.store(sent, Ordering::Relaxed);
            pair.over.store(true, Ordering::Release);
            receive(&role, &There, &mut tap);
            stream.drain(|_| {});
            stream.series(None).count
        };
        assert_eq!(samples(1), 1);
        assert_eq!(samples(1), 0, "it is received already");
    }
}
