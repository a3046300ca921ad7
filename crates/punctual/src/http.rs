// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A small HTTP server (RFC 9110, 9112) that only answers: GET and HEAD, one request a connection.
//!
//! It exists for its limits. A request has a time, a size and a number of headers; a connection that
//! is one too many gets an error and is closed; an answer that nobody reads is given up. `Host` must be an
//! address or a name that was allowed, so that a web page of somebody else's, whose name resolves to
//! this machine, reads nothing (DNS rebinding).

mod access;
mod request;
mod response;

use std::io::{self, Read as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub(crate) use self::access::{Access, Token};
pub(crate) use self::request::Request;
use self::request::{Refusal, parse};
pub(crate) use self::response::Response;

/// The longest head of a request, in bytes.
const HEAD_LIMIT: usize = 8 << 10;

/// Connections at a time.
const CONNECTIONS: usize = 16;

/// Time between two looks whether to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// From the connection to the end of the request's head.
    pub(crate) request: Duration,
    /// From the start of the answer to its end.
    pub(crate) answer: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request: Duration::from_secs(5),
            answer: Duration::from_secs(10),
        }
    }
}

/// What answers.
pub(crate) type Handler = dyn Fn(&Request) -> Response + Send + Sync;

/// A running server. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    stop: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    handler: Box<Handler>,
    access: Access,
    limits: Limits,
    open: AtomicUsize,
}

impl Server {
    /// Answers on `listener` with `handler`, from threads that inherit the CPUs of the caller.
    ///
    /// # Errors
    ///
    /// `EAGAIN` where no thread can be started.
    pub(crate) fn start(
        listener: TcpListener,
        access: Access,
        limits: Limits,
        handler: Box<Handler>,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let stop = Arc::<AtomicBool>::default();
        let ends = Arc::clone(&stop);
        let shared = Arc::new(Shared {
            handler,
            access,
            limits,
            open: AtomicUsize::new(0),
        });
        let accepting = std::thread::Builder::new()
            .name("http".to_owned())
            .spawn(move || accept(&listener, &shared, &ends))?;
        Ok(Self {
            stop,
            accepting: Some(accepting),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.accepting.take() {
            drop(thread.join());
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        // Refused connections, and those that ended before they were taken, are nobody's loss.
        match listener.accept() {
            Ok((stream, peer)) => begin(stream, peer, shared),
            Err(err) if err.kind() == io::ErrorKind::WouldBlock => {
                punctual_sys::socket::wait(listener, LOOK_EVERY);
            }
            // Such as too many open files, which stays.
            Err(_) => std::thread::sleep(LOOK_EVERY),
        }
    }
}

fn begin(stream: TcpStream, peer: SocketAddr, shared: &Arc<Shared>) {
    let taken = shared.open.fetch_add(1, Ordering::AcqRel);
    let serving = Arc::clone(shared);
    let thread = std::thread::Builder::new().name("http answer".to_owned());
    let begun = match taken < CONNECTIONS {
        true => thread.spawn(move || {
            let slot = Slot(serving);
            serve(stream, peer, &slot.0);
        }),
        false => {
            // Without waiting: who is turned away must not hold up the others.
            drop(stream.set_nonblocking(true));
            let busy = Response::text(503, "too many connections\n").header("Retry-After", "1");
            drop(busy.send(&stream, true, Instant::now()));
            drop(stream.shutdown(Shutdown::Both));
            shared.open.fetch_sub(1, Ordering::AcqRel);
            return;
        }
    };
    if begun.is_err() {
        shared.open.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The place of a connection, given back however its thread ends.
struct Slot(Arc<Shared>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::AcqRel);
    }
}

fn serve(stream: TcpStream, peer: SocketAddr, shared: &Shared) {
    let begun = Instant::now();
    // An accepted socket inherits nothing on Linux, but says so nowhere.
    if stream.set_nonblocking(false).is_err() {
        return;
    }
    let (response, with_body) = match read_head(&stream, begun + shared.limits.request) {
        Ok(head) => answer(&head, peer, shared),
        Err(Some(refusal)) => (refusal.response(), true),
        // Gone, or never said a word.
        Err(None) => return,
    };
    drop(response.send(&stream, with_body, Instant::now() + shared.limits.answer));
    drop(stream.shutdown(Shutdown::Write));
    swallow(&stream);
}

/// Reads what is left of an oversized request: to close a socket with unread bytes in it resets the
/// connection, and the answer with it.
fn swallow(mut stream: &TcpStream) {
    let mut rest = [0; 4_096];
    if stream
        .set_read_timeout(Some(Duration::from_millis(100)))
        .is_ok()
    {
        for _ in 0..16 {
            match stream.read(&mut rest) {
                Ok(1..) => {}
                Ok(0) | Err(_) => return,
            }
        }
    }
}

/// Reads up to the empty line that ends a request's head.
fn read_head(mut stream: &TcpStream, until: Instant) -> Result<Vec<u8>, Option<Refusal>> {
    let mut head = Vec::new();
    let mut part = [0; 1_024];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err((!head.is_empty()).then_some(Refusal::Slow));
        }
        if stream.set_read_timeout(Some(left)).is_err() {
            return Err(None);
        }
        match stream.read(&mut part) {
            Ok(0) => return Err(None),
            Ok(n) => head.extend(part.iter().take(n)),
            Err(err) if is_timeout(&err) => continue,
            Err(_) => return Err(None),
        }
        if head.windows(4).any(|end| end == b"\r\n\r\n") {
            return match head.len() > HEAD_LIMIT {
                true => Err(Some(Refusal::Large)),
                false => Ok(head),
            };
        }
        if head.len() > HEAD_LIMIT {
            return Err(Some(Refusal::Large));
        }
    }
}

fn is_timeout(err: &io::Error) -> bool {
    matches!(
        err.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

fn answer(head: &[u8], _peer: SocketAddr, shared: &Shared) -> (Response, bool) {
    let request = match parse(head) {
        Ok(request) => request,
        Err(refusal) => return (refusal.response(), true),
    };
    let with_body = !request.is_head;
    let response = match shared.access.check(&request) {
        // A mistake of ours costs one answer, and leaves nobody waiting for it.
        Ok(()) => catch_unwind(AssertUnwindSafe(|| (shared.handler)(&request)))
            .unwrap_or_else(|_| Response::text(500, "internal error\n")),
        Err(denied) => denied.response(),
    };
    (response, with_body)
}

#[cfg(test)]
mod tests;
