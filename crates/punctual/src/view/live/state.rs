// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the screen knows, and what its keys do. No terminal here.

use punctual_model::{Ended, Event, LatencyStep, Nanos, Progress, SeriesProgress, ThresholdHit};

use super::Update;

/// Points of the maxima over time: beyond these, two become one.
const POINTS: usize = 512;

/// Notes that are kept to be shown; all of them are printed in the end.
const NOTES_SHOWN: usize = 64;

/// What a key sends before all else that it sends, if it sends more than one byte.
const ESCAPE: u8 = 0x1b;

/// How far the work is that has parts: runs, builds, boots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overall {
    /// Parts that are done.
    pub(crate) done: u64,
    /// Parts in all.
    pub(crate) all: u64,
    /// What the parts are: `runs`.
    pub(crate) of: &'static str,
    /// Time left, in words.
    pub(crate) left: Option<String>,
    /// What runs now.
    pub(crate) now: String,
}

/// The largest samples of a time that ends at `until`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Maximum {
    pub(super) until: Nanos,
    pub(super) max_ns: u64,
}

/// What a run has said up to now.
#[derive(Clone, Debug, Default)]
pub(super) struct Data {
    pub(super) progress: Option<Progress>,
    pub(super) maxima: Vec<Maximum>,
    /// Progress events that a point of the maxima stands for.
    per_point: usize,
    gathered: usize,
    pub(super) hit: Option<ThresholdHit>,
    pub(super) ended: Option<(Ended, Nanos)>,
}

impl Data {
    fn take(&mut self, event: Event) {
        match event {
            Event::Started { .. } => *self = Self::default(),
            Event::Progress(progress) => {
                let recent = progress.series.iter().filter_map(|s| s.recent_max_ns).max();
                if let Some(max_ns) = recent {
                    self.add_maximum(Maximum {
                        until: progress.t_ns,
                        max_ns,
                    });
                }
                self.progress = Some(progress);
            }
            Event::Threshold(hit) => self.hit = Some(hit),
            Event::Ended { reason, t_ns } => self.ended = Some((reason, t_ns)),
        }
    }

    fn add_maximum(&mut self, new: Maximum) {
        if self.per_point == 0 {
            self.per_point = 1;
        }
        match self.maxima.last_mut() {
            Some(last) if self.gathered < self.per_point => {
                last.max_ns = last.max_ns.max(new.max_ns);
                last.until = new.until;
                self.gathered += 1;
            }
            _ => {
                self.maxima.push(new);
                self.gathered = 1;
            }
        }
        if self.maxima.len() >= POINTS {
            self.maxima = self.maxima.chunks(2).filter_map(both).collect();
            self.per_point *= 2;
        }
    }
}

/// Puts two points together.
fn both(pair: &[Maximum]) -> Option<Maximum> {
    Some(Maximum {
        until: pair.last()?.until,
        max_ns: pair.iter().map(|point| point.max_ns).max()?,
    })
}

/// What is typed.
#[derive(Clone, Debug, Default)]
pub(super) struct Input {
    pub(super) text: String,
    pub(super) error: Option<String>,
}

/// The state of the screen.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) title: String,
    pub(super) overall: Option<Overall>,
    notes: Vec<String>,
    now: Data,
    /// What is shown while the view is paused.
    frozen: Option<Data>,
    pub(super) threshold: Option<Nanos>,
    pub(super) input: Option<Input>,
    pub(super) help: bool,
    pub(super) ending: bool,
    /// Whether the run is over and shown once more.
    pub(super) replay: bool,
    /// Whether what comes belongs to a key that began with an escape.
    escaped: bool,
    /// The thread whose samples are shown; all of them where there is none.
    pub(super) chosen: Option<u32>,
}

impl State {
    pub(super) fn new(title: String) -> Self {
        Self {
            title,
            ..Self::default()
        }
    }

    /// Learns something; returns whether the screen changes.
    pub(super) fn take(&mut self, update: Update) -> bool {
        match update {
            Update::Title(title) => self.title = title,
            Update::Event(event) => {
                self.now.take(*event);
                return self.frozen.is_none();
            }
            Update::Overall(overall) => self.overall = Some(overall),
            Update::Note(note) => self.notes.push(note),
            Update::Close => {}
        }
        true
    }

    /// Learns whether the end was asked for; returns whether that is new.
    pub(super) const fn ends(&mut self, asked: bool) -> bool {
        let new = asked && !self.ending;
        self.ending |= asked;
        new
    }

    /// Does what was pressed since the last look; returns whether it asks for the end of the run. Of a key that sends
    /// several bytes, such as F2 (`ESC O Q`), only the escape is a key: the rest comes without a pause.
    pub(super) fn press(&mut self, bytes: &[u8]) -> bool {
        self.escaped &= !bytes.is_empty();
        let mut ends = false;
        for byte in bytes {
            if !self.escaped {
                self.escaped = *byte == ESCAPE;
                ends |= self.key(*byte);
            }
        }
        ends
    }

    /// Does what a key says; returns whether it asks for the end of the run.
    pub(super) fn key(&mut self, byte: u8) -> bool {
        if let Some(input) = self.input.take() {
            self.type_in(input, byte);
            return false;
        }
        if self.help {
            self.help = false;
            return false;
        }
        match byte {
            b'q' | b'Q' => return true,
            b'p' | b'P' | b' ' => {
                self.frozen = match self.frozen {
                    Some(_) => None,
                    None => Some(self.now.clone()),
                }
            }
            b't' | b'T' => self.input = Some(Input::default()),
            b'\t' => self.choose_next(),
            b'?' | b'h' | b'H' => self.help = true,
            _ => {}
        }
        false
    }

    fn type_in(&mut self, mut input: Input, byte: u8) {
        match byte {
            b'\r' | b'\n' if input.text.is_empty() => {
                self.threshold = None;
                return;
            }
            b'\r' | b'\n' => match input.text.parse::<Nanos>() {
                Ok(threshold) if !threshold.is_zero() => {
                    self.threshold = Some(threshold);
                    return;
                }
                Ok(_) => input.error = Some("must be above zero".to_owned()),
                Err(err) => input.error = Some(err.to_string()),
            },
            ESCAPE => return,
            0x08 | 0x7f => {
                input.text.pop();
                input.error = None;
            }
            byte if byte.is_ascii_alphanumeric() || byte == b'.' => {
                if input.text.len() < 16 {
                    input.text.push(byte.into());
                }
                input.error = None;
            }
            _ => {}
        }
        self.input = Some(input);
    }

    fn choose_next(&mut self) {
        let threads: Vec<u32> = self.series().iter().map(|s| s.thread).collect();
        self.chosen = match self.chosen {
            None => threads.first().copied(),
            Some(now) => threads.into_iter().find(|thread| *thread > now),
        };
    }

    /// Returns what is shown.
    pub(super) fn data(&self) -> &Data {
        self.frozen.as_ref().unwrap_or(&self.now)
    }

    pub(super) const fn is_paused(&self) -> bool {
        self.frozen.is_some()
    }

    pub(super) fn series(&self) -> &[SeriesProgress] {
        let progress = self.data().progress.as_ref();
        progress.map_or(&[], |progress| progress.series.as_slice())
    }

    /// Returns the histogram of the chosen threads, in ascending order.
    pub(super) fn steps(&self) -> Vec<LatencyStep> {
        let mut steps: Vec<LatencyStep> = Vec::new();
        let chosen = |s: &&SeriesProgress| self.chosen.is_none_or(|chosen| chosen == s.thread);
        for step in self.series().iter().filter(chosen).flat_map(|s| &s.steps) {
            match steps.binary_search_by_key(&step.to_ns, |s| s.to_ns) {
                Ok(at) => {
                    if let Some(there) = steps.get_mut(at) {
                        there.count += step.count;
                    }
                }
                Err(at) => steps.insert(at, *step),
            }
        }
        steps
    }

    /// Returns the latest notes.
    pub(super) fn notes(&self, most: usize) -> &[String] {
        let from = self.notes.len().saturating_sub(most.min(NOTES_SHOWN));
        self.notes.get(from..).unwrap_or_default()
    }

    pub(super) fn into_notes(self) -> Vec<String> {
        self.notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(second: u64, max: u64) -> Update {
        Update::Event(Box::new(Event::Progress(Progress {
            t_ns: Nanos::from_secs(second),
            series: vec![SeriesProgress {
                recent_max_ns: Some(max),
                ..SeriesProgress::default()
            }],
            ..Progress::default()
        })))
    }

    fn press(state: &mut State, keys: &str) {
        for byte in keys.bytes() {
            assert!(!state.key(byte), "{keys}");
        }
    }

    #[test]
    fn a_long_run_keeps_every_maximum_in_fewer_points() {
        let mut state = State::new(String::new());
        for second in 0..10_000 {
            state.take(progress(second, if second == 4_321 { 9_999 } else { 10 }));
        }
        let maxima = &state.data().maxima;
        assert!(maxima.len() < POINTS, "{}", maxima.len());
        let high: Vec<&Maximum> = maxima.iter().filter(|m| m.max_ns == 9_999).collect();
        assert_eq!(high.len(), 1);
        assert!(high[0].until >= Nanos::from_secs(4_321));
        assert!(high[0].until < Nanos::from_secs(4_321 + 64));
        assert_eq!(maxima.last().unwrap().until, Nanos::from_secs(9_999));
    }

    #[test]
    fn a_paused_view_stands_still_and_the_run_goes_on() {
        let mut state = State::new(String::new());
        state.take(progress(1, 10));
        press(&mut state, "p");
        assert!(!state.take(progress(2, 20)), "nothing to draw");
        assert_eq!(state.data().maxima.len(), 1);
        press(&mut state, "p");
        assert_eq!(state.data().maxima.len(), 2);
    }

    #[test]
    fn a_threshold_is_typed_and_a_wrong_one_says_why() {
        let mut state = State::new(String::new());
        press(&mut state, "t100us\r");
        assert_eq!(state.threshold, Some(Nanos::from_micros(100)));
        press(&mut state, "t5\r");
        assert!(state.input.as_ref().unwrap().error.is_some());
        press(&mut state, "\x7f2ms\r");
        assert_eq!(state.threshold, Some(Nanos::from_millis(2)));
        press(&mut state, "t9\x1b");
        assert_eq!(state.threshold, Some(Nanos::from_millis(2)));
        press(&mut state, "t\r");
        assert_eq!(state.threshold, None);
    }

    #[test]
    fn a_letter_that_is_typed_quits_nothing() {
        let mut state = State::new(String::new());
        press(&mut state, "tq\x1b?q");
        assert!(state.key(b'q'));
    }

    #[test]
    fn a_key_that_sends_more_than_a_byte_does_nothing_by_its_letters() {
        let mut state = State::new(String::new());
        // F2, F1, Home, Home, Alt-q, and F2 in two parts, as a slow connection brings it.
        for keys in ["\x1bOQ", "\x1bOP", "\x1bOH", "\x1b[H", "\x1bq"] {
            assert!(!state.press(keys.as_bytes()), "{keys:?}");
            assert!(!state.press(b""));
        }
        assert!(!state.press(b"\x1bO") && !state.press(b"Q") && !state.press(b""));
        assert!(!state.is_paused() && !state.help);
        state.press(b"t9");
        assert!(!state.press(b"\x1bOQ") && !state.press(b""));
        assert!(state.input.is_none());
        state.press(b"?");
        assert!(!state.press(b"\x1bOQ") && !state.press(b""));
        assert!(!state.help);
        assert!(state.press(b"q"));
    }

    #[test]
    fn a_new_run_begins_anew() {
        let mut state = State::new(String::new());
        state.take(progress(1, 10));
        state.take(Update::Event(Box::new(Event::Started {
            id: String::new(),
            threads: 1,
        })));
        assert!(state.data().progress.is_none() && state.data().maxima.is_empty());
    }
}
