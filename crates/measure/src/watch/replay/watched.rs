// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Which threads are watched: those that were there, and those that these start.

use super::{Replay, Thread, remember};
use crate::watch::who::{Name, Names, Tid};

impl Replay {
    /// Watches what the thread `parent` starts.
    pub(in crate::watch) fn watch_children_of(&mut self, parent: Tid) {
        self.parent = Some(parent);
    }

    /// Watches a thread of `process`.
    pub(in crate::watch) fn watch(&mut self, tid: Tid, process: Tid, name: &[u8]) {
        let name = self.names.keep(name);
        self.adopt(tid, process, name);
    }

    /// Watches a thread of the kernel, which makes no system calls.
    pub(in crate::watch) fn watch_in_kernel(&mut self, tid: Tid, name: &[u8]) {
        self.watch(tid, tid, name);
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.in_kernel = true;
        }
    }

    fn adopt(&mut self, tid: Tid, process: Tid, name: Name) {
        // Numbers are used again.
        let is_over = |thread: &Thread| thread.ended.is_some() && thread.has_no_cycle();
        if self.threads.get(&tid).is_some_and(is_over) {
            self.forget_thread(tid);
        }
        if self.threads.contains_key(&tid) {
            return;
        }
        if self.threads.len() >= self.limit
            && let Some((&over, _)) = self.threads.iter().find(|(_, thread)| is_over(thread))
        {
            self.forget_thread(over);
        }
        if self.threads.len() >= self.limit {
            self.unwatched += 1;
            return;
        }
        let (name, prio) = self.seen.get(&tid).copied().unwrap_or((name, 120));
        let mut thread = Thread::new(tid, process, name, prio);
        thread.fault_ns = self.fault_ns;
        self.threads.insert(tid, thread);
    }

    /// Makes room: a thread that ended and has no cycle tells nothing any more.
    fn forget_thread(&mut self, tid: Tid) {
        self.threads.remove(&tid);
        self.forgotten += 1;
        self.gone.push(tid);
    }

    /// Returns a watched thread whose system calls are known.
    pub(super) fn telling(&mut self, tid: Tid) -> Option<&mut Thread> {
        self.threads
            .get_mut(&tid)
            .filter(|thread| thread.tells_calls())
    }

    pub(super) fn forked(&mut self, parent: Tid, child: Tid, same_process: bool) {
        let (name, prio) = self
            .seen
            .get(&parent)
            .copied()
            .unwrap_or((Names::UNKNOWN, 120));
        remember(&mut self.seen, child, (name, prio));
        if same_process && self.own.contains(&parent) {
            self.own.insert(child);
        }
        let process = self.threads.get(&parent).map(|thread| thread.process);
        if self.parent == Some(parent) || process.is_some() {
            let process = process.filter(|_| same_process).unwrap_or(child);
            self.adopt(child, process, name);
            if let Some(thread) = self.threads.get_mut(&child) {
                thread.is_created();
            }
        }
    }
}
