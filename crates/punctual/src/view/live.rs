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
use std::sync::{Mutex, PoisonError};
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

/// How long what is not printed there waits for a terminal that takes nothing, once the run is stored.
const GIVE_BACK_WITHIN: Duration = Duration::from_secs(30);

/// Screens that the end did not wait for any longer, and what they say once they are gone.
static HELD_UP: Mutex<Vec<Receiver<Vec<String>>>> = Mutex::new(Vec::new());

/// Gives a screen back that the terminal held up, for what is printed next: it would be lost with the screen. What
/// is `printed_there` waits for the terminal anyway, and so without a limit.
pub(crate) fn give_back(printed_there: bool) {
    let held_up = std::mem::take(&mut *HELD_UP.lock().unwrap_or_else(PoisonError::into_inner));
    for closed in held_up {
        // The screen's own thread comes first, since it may be amid a picture.
        let goes_on = terminal::takes_output((!printed_there).then_some(GIVE_BACK_WITHIN));
        let patience = if goes_on {
            CLOSE_WITHIN
        } else {
            Duration::ZERO
        };
        match closed.recv_timeout(patience) {
            Ok(notes) => notes.iter().for_each(|note| remark(note)),
            Err(RecvTimeoutError::Timeout) => terminal::give_back(),
            Err(RecvTimeoutError::Disconnected) => {}
        }
    }
}

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
    replay: bool,
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
            replay: false,
            open: None,
        }
    }

    pub(super) const fn keep(&mut self) {
        self.kept = true;
    }

    pub(super) const fn replay(&mut self) {
        self.replay = true;
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
            let title = self.title.clone().unwrap_or_default();
            let mut state = State::new(title);
            state.replay = self.replay;
            self.open = Open::begin(&self.stop, state);
        }
        self.open.as_ref().map(|open| open.feed.clone())
    }

    pub(super) fn close(&mut self) {
        if let Some(open) = self.open.take() {
            open.feed.send(Update::Close);
            match open.closed.recv_timeout(CLOSE_WITHIN) {
                Ok(notes) => notes.iter().for_each(|note| remark(note)),
                Err(RecvTimeoutError::Timeout) => {
                    let mut held_up = HELD_UP.lock().unwrap_or_else(PoisonError::into_inner);
                    held_up.push(open.closed);
                }
                Err(RecvTimeoutError::Disconnected) => {}
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
    fn begin(stop: &StopRequest, mut state: State) -> Option<Self> {
        let screen = Screen::take().ok()?;
        let (feed, updates) = channel();
        let (say_closed, closed) = channel();
        let stop = stop.clone();
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
        let pressed = terminal::keys(LOOK_EVERY);
        stale |= !pressed.is_empty();
        if state.press(&pressed) {
            stop.ask();
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

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use punctual_model::Progress;
    use rustix::termios::{Action, tcflow};

    use super::*;
    use crate::output;

    /// Set for the process that has a terminal of its own.
    const ON_TERMINAL: &str = "PUNCTUAL_TEST_HELD_UP";

    /// This test starts itself once more, on a pseudo-terminal of script(1).
    #[test]
    fn what_is_printed_follows_a_screen_that_the_terminal_has_held_up() {
        if std::env::var_os(ON_TERMINAL).is_some() {
            return held_up();
        }
        let own = std::env::current_exe().unwrap();
        let name =
            "view::live::tests::what_is_printed_follows_a_screen_that_the_terminal_has_held_up";
        let line = format!(
            "echo modes=$(stty -g); {} --exact {name} --nocapture; echo modes=$(stty -g)",
            own.display()
        );
        let answer = Command::new("script")
            .args(["--quiet", "--command", &line, "/dev/null"])
            .env(ON_TERMINAL, "yes")
            .env("SHELL", "/bin/sh")
            .env("TERM", "xterm-256color")
            .stdin(Stdio::null())
            .output();
        let Ok(answer) = answer else {
            println!("skipped: there is no script(1)");
            return;
        };
        let said = String::from_utf8_lossy(&answer.stdout).into_owned();
        let modes: Vec<&str> = said
            .split("modes=")
            .skip(1)
            .map(|rest| rest.lines().next().unwrap().trim())
            .collect();
        assert_eq!(modes.len(), 2, "{said}");
        assert_eq!(modes[0], modes[1], "{said}");
        let (_, after) = said
            .split_once("\x1b[?1049l")
            .unwrap_or_else(|| panic!("it is not given back: {said}"));
        assert!(!after.contains("\x1b[?"), "{said}");
        let place = |text: &str| after.find(text).unwrap_or_else(|| panic!("{text}: {said}"));
        assert!(place("THE NOTE") < place("THE RESULT"), "{said}");
    }

    /// Ends a screen while the terminal takes nothing, and prints something.
    fn held_up() {
        let terminal = rustix::stdio::stderr();
        let mut live = Live::new(StopRequest::on_signals().unwrap());
        let event = Event::Progress(Progress::of("work".to_owned(), 0.5));
        live.event(&event);
        live.feed().unwrap().note("THE NOTE".to_owned());
        tcflow(terminal, Action::OOff).unwrap();
        live.event(&event);
        // So that a picture is on its way.
        std::thread::sleep(Duration::from_secs(1));
        let patient = std::thread::spawn(move || {
            std::thread::sleep(CLOSE_WITHIN + Duration::from_secs(1));
            tcflow(terminal, Action::OOn).unwrap();
        });
        live.close();
        output::print("THE RESULT\n").unwrap();
        patient.join().unwrap();
    }
}
