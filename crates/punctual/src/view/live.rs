// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The screen: threads, histogram, maxima over time, loads, checks.
//!
//! A thread of its own draws, at most four times a second, and reads the keys. It is started by the
//! first event, when the measurement has moved everything but its threads to the housekeeping CPUs,
//! and inherits those. A terminal that takes nothing more holds up that thread alone.

mod draw;
mod parts;
mod state;
mod table;

use std::io::{self, BufWriter, Stderr};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use punctual_model::{Event, Nanos};
use punctual_sys::terminal::{self, Screen};
use ratatui::backend::{Backend as _, CrosstermBackend};
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};

use self::draw::Theme;
pub(crate) use self::draw::ended;
pub(crate) use self::parts::clock;
pub(crate) use self::state::Overall;
use self::state::State;
use crate::output::remark;
use crate::signals::StopRequest;

/// Time between two frames, at least.
pub(crate) const REDRAW_EVERY: Nanos = Nanos::from_millis(250);

/// Time between two looks for news, where no key is pressed.
const LOOK_EVERY: Duration = Duration::from_millis(125);

/// How long the end waits for the screen: a terminal that takes nothing must not keep a run from
/// being stored.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// What the screen learns.
#[derive(Debug)]
pub(crate) enum Update {
    /// Its heading.
    Title(String),
    /// What a run says.
    Event(Box<Event>),
    /// How far the work is that runs are part of.
    Overall(Overall),
    /// A line that stays after the screen.
    Note(String),
    /// It is over.
    Close,
}

/// The way to the screen, for any thread.
#[derive(Clone, Debug)]
pub(crate) struct Feed(Sender<Update>);

impl Feed {
    /// Shows an event.
    pub(crate) fn event(&self, event: Event) {
        self.send(Update::Event(Box::new(event)));
    }

    /// Shows how far the work is that runs are part of.
    pub(crate) fn overall(&self, overall: Overall) {
        self.send(Update::Overall(overall));
    }

    /// Shows a line, and prints it when the screen is given back.
    pub(crate) fn note(&self, text: String) {
        self.send(Update::Note(text));
    }

    fn send(&self, update: Update) {
        // A screen that has ended, because its terminal is gone, shows nothing.
        drop(self.0.send(update));
    }
}

/// Returns the event in a line that another process has told, if it is one.
pub(crate) fn told(line: &str) -> Option<Event> {
    let is_json = line.starts_with('{');
    is_json
        .then(|| serde_json::from_slice(line.as_bytes()).ok())
        .flatten()
}

/// A screen, open or not yet.
#[derive(Debug)]
pub(crate) struct Live {
    stop: StopRequest,
    title: Option<String>,
    kept: bool,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    feed: Feed,
    closed: Receiver<Vec<String>>,
}

impl Live {
    /// Makes one that is not open yet. Its key to quit asks `stop`.
    pub(super) const fn new(stop: StopRequest) -> Self {
        Self {
            stop,
            title: None,
            kept: false,
            open: None,
        }
    }

    pub(super) const fn keep(&mut self) {
        self.kept = true;
    }

    pub(super) const fn is_kept(&self) -> bool {
        self.kept
    }

    pub(super) fn title(&mut self, text: &str) {
        self.title = Some(text.to_owned());
        if let Some(open) = &self.open {
            open.feed.send(Update::Title(text.to_owned()));
        }
    }

    pub(super) fn event(&mut self, event: &Event) {
        if let Some(feed) = self.feed() {
            feed.event(event.clone());
        }
    }

    pub(super) fn feed(&mut self) -> Option<Feed> {
        if self.open.is_none() {
            self.open = Open::begin(&self.stop, self.title.clone());
        }
        self.open.as_ref().map(|open| open.feed.clone())
    }

    pub(super) fn close(&mut self) {
        if let Some(open) = self.open.take() {
            open.feed.send(Update::Close);
            match open.closed.recv_timeout(CLOSE_WITHIN) {
                Ok(notes) => notes.iter().for_each(|note| remark(note)),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.close();
    }
}

impl Open {
    /// Takes the screen and starts the thread that draws; nothing where either is refused.
    fn begin(stop: &StopRequest, title: Option<String>) -> Option<Self> {
        let screen = Screen::take().ok()?;
        let (feed, updates) = channel();
        let (say_closed, closed) = channel();
        let stop = stop.clone();
        let mut state = State::new(title.unwrap_or_default());
        std::thread::Builder::new()
            .name("view".to_owned())
            .spawn(move || {
                // A terminal that is gone needs no drawing; the run goes on.
                drop(show(&mut state, &updates, &stop));
                drop(screen);
                // Nobody waits any more where this took too long.
                drop(say_closed.send(state.into_notes()));
            })
            .ok()?;
        Some(Self {
            feed: Feed(feed),
            closed,
        })
    }
}

type Canvas = Terminal<CrosstermBackend<BufWriter<Stderr>>>;

/// Draws and reads keys until it has to close.
fn show(state: &mut State, updates: &Receiver<Update>, stop: &StopRequest) -> io::Result<()> {
    let theme = Theme::of_environment();
    let mut size = terminal::size().unwrap_or((80, 24));
    let mut canvas = canvas(size)?;
    let mut due = Instant::now();
    let mut stale = true;
    loop {
        loop {
            match updates.try_recv() {
                Ok(Update::Close) | Err(TryRecvError::Disconnected) => return Ok(()),
                Ok(update) => stale |= state.take(update),
                Err(TryRecvError::Empty) => break,
            }
        }
        let now_size = terminal::size().unwrap_or((80, 24));
        if now_size != size {
            size = now_size;
            canvas = self::canvas(size)?;
            // Not `Terminal::clear`, which asks the terminal where its cursor is, and waits for the answer.
            canvas.backend_mut().clear()?;
            stale = true;
        }
        stale |= state.ends(stop.is_set());
        // A panic or a signal has given the screen back.
        if !terminal::is_taken() {
            return Ok(());
        }
        if stale && Instant::now() >= due {
            canvas.draw(|frame| draw::draw(frame, state, theme))?;
            due = Instant::now() + Duration::from(REDRAW_EVERY);
            stale = false;
        }
        for byte in terminal::keys(LOOK_EVERY) {
            stale = true;
            if state.key(byte) {
                stop.ask();
            }
        }
    }
}

fn canvas((width, height): (u16, u16)) -> io::Result<Canvas> {
    let options = TerminalOptions {
        viewport: Viewport::Fixed(Rect::new(0, 0, width, height)),
    };
    let out = BufWriter::with_capacity(1 << 16, io::stderr());
    Terminal::with_options(CrosstermBackend::new(out), options)
}
