// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Waiting at a socket.

use std::net::TcpListener;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Waits until somebody connects, for `patience` at most.
pub fn wait(listener: &TcpListener, patience: Duration) {
    let mut fds = [PollFd::new(listener, PollFlags::IN)];
    let timeout = Timespec::try_from(patience).ok();
    // That the wait was cut short by a signal costs one more look.
    let _: rustix::io::Result<usize> = poll(&mut fds, timeout.as_ref());
}
