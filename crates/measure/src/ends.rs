// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where the threads of a run say that they are done, and whom that wakes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;

/// How many threads are done, and who waits for them.
#[derive(Debug, Default)]
pub(crate) struct Ends(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    done: usize,
    waiting: Option<Thread>,
}

impl Ends {
    /// Returns the number of threads that are done: nothing is left of them but their own end.
    pub(crate) fn count(&self) -> usize {
        self.state().done
    }

    /// Wakes `waiting` now, for the threads that are done, and with each that will be.
    pub(crate) fn tell(&self, waiting: Thread) {
        let mut state = self.state();
        waiting.unpark();
        state.waiting = Some(waiting);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end of a thread: reported when this is dropped, also by a panic.
#[derive(Debug)]
pub(crate) struct End(Arc<Ends>);

impl End {
    pub(crate) fn of(ends: &Arc<Ends>) -> Self {
        Self(Arc::clone(ends))
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let mut state = self.0.state();
        // Counted before anybody is woken: who looks and finds it missing would sleep on.
        state.done += 1;
        if let Some(waiting) = &state.waiting {
            waiting.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// Longer than any machine is busy.
    const HANG: Duration = Duration::from_secs(1_800);

    /// Waits for `threads`, and needs to be woken for it.
    fn wait(ends: &Ends, threads: usize) {
        let begun = Instant::now();
        while ends.count() < threads {
            std::thread::park_timeout(HANG);
            assert!(begun.elapsed() < HANG, "nobody woke it");
        }
    }

    #[test]
    fn whoever_waits_is_woken_by_every_end() {
        for _ in 0..200 {
            let ends = Arc::<Ends>::default();
            let parts: Vec<End> = (0..3).map(|_| End::of(&ends)).collect();
            let waiting = {
                let ends = Arc::clone(&ends);
                std::thread::spawn(move || wait(&ends, 3))
            };
            // One before it is known who waits, or about then.
            let threads: Vec<_> = parts
                .into_iter()
                .map(|part| std::thread::spawn(move || drop(part)))
                .collect();
            ends.tell(waiting.thread().clone());
            for thread in threads {
                thread.join().unwrap();
            }
            waiting.join().unwrap();
        }
    }

    #[test]
    fn a_panic_is_an_end() {
        let ends = Arc::<Ends>::default();
        let end = End::of(&ends);
        let thread = std::thread::spawn(move || {
            let _end = end;
            panic!("as asked");
        });
        thread.join().unwrap_err();
        assert_eq!(ends.count(), 1);
    }
}
