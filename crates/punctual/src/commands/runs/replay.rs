// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual runs show --live`: a run once more, from the events that it has stored.

use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use punctual_model::{Event, Nanos};
use punctual_store::{ReadError, StoredRun};
use punctual_verdict::words::clean;

use crate::error::CliError;
use crate::signals::StopRequest;
use crate::view::View;

/// Time between two looks whether the end was asked for.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Shows a run as it went on, `speed` times as fast on a screen; as lines, at once.
pub(super) fn show(run: &StoredRun, speed: u32) -> Result<(), CliError> {
    let id = &run.record().id;
    let failed = || CliError::failed_to(format!("replay run {id}"));
    let events = || {
        run.events().map_err(|err| match &err {
            ReadError::Path(path) if path.is_missing() => none(id),
            _ => failed().because(err),
        })
    };
    // All are read before the first is shown, and none is kept: there may be many.
    let mut has_progress = false;
    for event in events()? {
        let event = event.map_err(|err| failed().because(err))?;
        has_progress |= matches!(event, Event::Progress(_));
    }
    if !has_progress {
        return Err(none(id));
    }
    let stop = StopRequest::on_signals()?;
    let mut view = View::pick(false, &stop);
    let name = run.record().name.as_ref();
    let name = name.map_or_else(String::new, |name| format!(", {name}"));
    let title = format!("replay of {} run {id}{name}", run.record().instrument);
    // The run may come from elsewhere.
    let title = clean(&title);
    view.title(&title);
    view.replay();
    let has_screen = matches!(view, View::Live(_));
    let begun = Instant::now();
    for event in events()? {
        let event = event.map_err(|err| failed().because(err))?;
        if let (true, Some(at)) = (has_screen, time_of(&event)) {
            wait(begun + Duration::from(at) / speed, &stop);
        }
        if stop.is_set() {
            return Ok(());
        }
        view.event(&event);
    }
    // The last picture stays until a key says so, where there are keys.
    if has_screen {
        view.title(&format!("Ended, q shows the figures: {title}"));
    }
    while has_screen && io::stdin().is_terminal() && !stop.is_set() {
        std::thread::sleep(LOOK_EVERY);
    }
    view.clear();
    Ok(())
}

fn none(id: &str) -> CliError {
    CliError::failed_to(format!("replay run {id}"))
        .because("it has no stored progress: it was imported, or ended before the first report")
        .hint("`punctual runs show` without --live shows its figures")
}

const fn time_of(event: &Event) -> Option<Nanos> {
    match event {
        Event::Progress(progress) => Some(progress.t_ns),
        Event::Ended { t_ns, .. } => Some(*t_ns),
        Event::Started { .. } | Event::Threshold(_) => None,
    }
}

fn wait(until: Instant, stop: &StopRequest) {
    while Instant::now() < until && !stop.is_set() {
        let left = until.saturating_duration_since(Instant::now());
        std::thread::sleep(left.min(LOOK_EVERY));
    }
}
