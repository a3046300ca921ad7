// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A frame of the screen.

use punctual_model::{Ended, Figure, LoadProgress, Nanos, Progress, figure_words, label_words};
use punctual_verdict::words::clean;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph};
use std::fmt::Write as _;

use super::parts::{Bar, amount, bins, clock, draw_bars, fit, place, short};
use super::state::{Overall, State};
use super::table::{Table, worst};

/// Below this many rows and columns there is no room for charts.
const CHART: (u16, u16) = (5, 24);

/// Columns from which the two charts stand side by side.
const SIDE_BY_SIDE: u16 = 70;

const fn help_lines(replay: bool) -> [&'static str; 9] {
    let (pause, end) = match replay {
        true => (
            "p, space  pause the view; the replay continues",
            "q, Ctrl-C end the replay",
        ),
        false => (
            "p, space  pause the view; the run continues",
            "q, Ctrl-C end the run and keep it; Ctrl-C again: quit",
        ),
    };
    [
        pause,
        "t         draw a threshold, such as 100us; empty: none",
        "Tab       histogram of the next thread, or of all",
        end,
        "?         this help; any key closes it",
        "",
        "Checks shown are those that can be judged now; all",
        "others follow at the end. Histogram bars and maxima have",
        "logarithmic scales.",
    ]
}

/// How things look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Theme {
    color: bool,
}

impl Theme {
    /// Colours, unless `NO_COLOR` is set to anything (no-color.org).
    pub(super) fn of_environment() -> Self {
        let none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { color: !none }
    }

    fn of(self, color: Color) -> Style {
        match self.color {
            true => Style::default().fg(color),
            false => Style::default(),
        }
    }

    fn good(self) -> Style {
        self.of(Color::Green)
    }

    /// What must be seen also without colours.
    fn bad(self) -> Style {
        self.of(Color::Red).add_modifier(Modifier::BOLD)
    }

    fn bars(self) -> Style {
        self.of(Color::Cyan)
    }

    fn above(self) -> Style {
        self.of(Color::Red)
    }

    fn heading() -> Style {
        Style::default().add_modifier(Modifier::BOLD)
    }
}

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State, theme: Theme) {
    let area = frame.area();
    let mut top = vec![status(state, theme)];
    if let Some(overall) = &state.overall {
        top.push(overall_line(overall));
    }
    let bottom = bottom(state, theme, area.height);
    let around = rows(&top) + rows(&bottom);
    let rest = area.height.saturating_sub(around);
    let table = table(state, theme, rest, area.width);
    let sections = Layout::vertical([
        Constraint::Length(rows(&top)),
        Constraint::Length(rows(&table).min(rest)),
        Constraint::Min(0),
        Constraint::Length(rows(&bottom)),
    ])
    .areas::<4>(area);
    let [top_area, table_area, charts_area, bottom_area] = sections;
    frame.render_widget(Paragraph::new(harmless(top)), top_area);
    frame.render_widget(Paragraph::new(harmless(table)), table_area);
    charts(frame, charts_area, state, theme);
    frame.render_widget(Paragraph::new(harmless(bottom)), bottom_area);
    if state.help {
        help(frame, area, state.replay);
    }
}

/// Cleans what a run says that may come from elsewhere.
fn harmless(mut lines: Vec<Line<'_>>) -> Vec<Line<'_>> {
    for span in lines.iter_mut().flat_map(|line| &mut line.spans) {
        span.content = clean(&span.content).into_owned().into();
    }
    lines
}

fn rows(lines: &[Line<'_>]) -> u16 {
    u16::try_from(lines.len()).unwrap_or(u16::MAX)
}

fn status(state: &State, theme: Theme) -> Line<'static> {
    let data = state.data();
    let mut parts = Vec::new();
    if state.is_paused() {
        parts.push("VIEW PAUSED".to_owned());
    }
    if state.ending {
        parts.push("ENDING".to_owned());
    }
    if !state.title.is_empty() {
        parts.push(state.title.clone());
    }
    match (&data.ended, &data.progress) {
        (Some((reason, t)), _) => parts.push(format!("{} after {t}", ended(*reason))),
        (None, Some(progress)) => parts.push(how_far(progress)),
        (None, None) => parts.push("starting".to_owned()),
    }
    let style = match state.ending || state.is_paused() || data.hit.is_some() {
        true => theme.bad(),
        false => Theme::heading(),
    };
    Line::styled(parts.join("  "), style)
}

/// Says why a run ended.
pub(crate) const fn ended(reason: Ended) -> &'static str {
    match reason {
        Ended::Completed => "completed",
        Ended::Precision => "precise enough",
        Ended::Threshold => "stopped at the threshold",
        Ended::Interrupted => "interrupted",
    }
}

fn how_far(progress: &Progress) -> String {
    let mut text = clock(progress.t_ns);
    if let Some(done) = progress.done {
        let filled = (done.clamp(0.0, 1.0) * 20.0).round();
        let full = |n: i32| f64::from(n) < filled;
        let bar: String = (0..20).map(|n| if full(n) { '#' } else { '.' }).collect();
        _ = write!(text, " [{bar}] {:.0} %", 100.0 * done);
    }
    match progress.left_ns {
        Some(left) => {
            _ = write!(text, ", {} left", clock(left));
        }
        None if progress.done.is_none() && progress.doing.is_none() => text += ", no end set",
        None => {}
    }
    match &progress.doing {
        Some(doing) => format!("{text}  {doing}"),
        None => text,
    }
}

fn overall_line(overall: &Overall) -> Line<'static> {
    let left = overall.left.as_ref();
    let left = left.map_or_else(String::new, |left| format!(", {left} left"));
    Line::raw(format!(
        "{} of {} {} done{left}; now {}",
        overall.done, overall.all, overall.of, overall.now
    ))
}

fn table(state: &State, theme: Theme, rest: u16, width: u16) -> Vec<Line<'static>> {
    let series = state.series();
    let mut lines = Vec::new();
    if !series.is_empty() {
        // At most half of what is left, where charts would have room in the other half.
        let room = match rest / 2 > CHART.0 + 2 {
            true => rest / 2,
            false => rest,
        };
        let room = usize::from(room).saturating_sub(1).max(1);
        let (rows, hidden) = worst(series, room);
        let table = Table::of(&rows, width.into());
        let mut heading = table.heading();
        if usize::from(width) >= heading.chars().count() + 15 {
            heading += "  (times in µs)";
        }
        lines.push(Line::styled(heading, Theme::heading()));
        for row in rows {
            let above = state.threshold.is_some_and(|t| row.max_ns > Some(t.get()));
            let style = match row.lost > Some(0) || above {
                true => theme.bad(),
                false => Style::default(),
            };
            lines.push(Line::styled(table.row(row), style));
        }
        if hidden > 0 {
            lines.push(Line::raw(format!(
                "     and {hidden} more threads, none worse"
            )));
        }
    }
    let progress = state.data().progress.as_ref();
    let figures = progress.map_or(&[][..], |progress| &progress.figures);
    // The latest are those that change.
    let hidden = figures.len().saturating_sub(usize::from(rest / 2));
    lines.extend(figures.iter().skip(hidden).map(figure_line));
    if hidden > 0 {
        lines.push(Line::raw(format!("  and {hidden} earlier figures")));
    }
    lines
}

fn figure_line(figure: &Figure) -> Line<'static> {
    let labels = figure.labels.iter();
    let labels: String = labels
        .map(|(label, value)| format!(", {}", label_words(label, value)))
        .collect();
    let value = figure.value.map_or_else(|| "-".to_owned(), amount);
    let (name, unit, count) = (figure_words(&figure.name), &figure.unit, figure.count);
    Line::raw(format!("  {name}{labels}: {value} {unit} (n = {count})"))
}

/// Precision, loads, checks, notes and keys; on few rows the keys alone.
fn bottom(state: &State, theme: Theme, height: u16) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(progress) = state.data().progress.as_ref().filter(|_| height >= 8) {
        let room = usize::from(height / 4);
        lines.extend(precision(progress).into_iter().take(room));
        let loads = progress.loads.iter().take(room);
        lines.extend(loads.map(|load| load_line(load, theme)));
        if progress.loads.len() > room {
            let hidden = progress.loads.len() - room;
            lines.push(Line::raw(format!("  and {hidden} more loads")));
        }
        lines.extend(checks(progress, theme));
    }
    if let Some(hit) = &state.data().hit {
        lines.push(Line::styled(
            format!(
                "threshold {} exceeded by thread {} on CPU {}: {}",
                hit.threshold_ns,
                hit.sample.thread,
                hit.sample.cpu,
                Nanos::new(hit.sample.latency_ns)
            ),
            theme.bad(),
        ));
    }
    for note in state.notes(usize::from(height / 5)) {
        lines.push(Line::raw(note.clone()));
    }
    lines.push(keys(state));
    lines
}

fn precision(progress: &Progress) -> Vec<Line<'static>> {
    let line = |state: &punctual_model::PrecisionState| {
        let width = state.interval_ns.map_or_else(
            || "no interval yet".to_owned(),
            |i| {
                let (low, high, level) = (i.low / 1e3, i.high / 1e3, 100.0 * i.confidence);
                format!("{low:.3} .. {high:.3} µs ({level:.0} %)")
            },
        );
        let met = if state.met { "reached" } else { "not yet" };
        Line::raw(format!(
            "  T{} until {}: {width}, {met}",
            state.thread, state.target
        ))
    };
    progress.precision.iter().map(line).collect()
}

fn load_line(load: &LoadProgress, theme: Theme) -> Line<'static> {
    if let Some(fault) = &load.fault {
        return Line::styled(format!("load {}: {fault}", load.load), theme.bad());
    }
    let rate = load.per_second.map_or_else(
        || "rate unknown yet".to_owned(),
        |rate| format!("{} {}/s", amount(rate), load.unit),
    );
    let style = match load.per_second {
        Some(rate) if rate <= 0.0 => theme.bad(),
        _ => Style::default(),
    };
    let work = amount(load.work);
    Line::styled(
        format!("load {}: {rate}, {work} {} in all", load.load, load.unit),
        style,
    )
}

fn checks(progress: &Progress, theme: Theme) -> Vec<Line<'static>> {
    let failed: Vec<_> = progress.checks.iter().filter(|c| !c.passed()).collect();
    if !failed.is_empty() {
        let line = |check: &&punctual_model::Check| {
            Line::styled(
                format!("FAILED {}: {}", check.id, check.detail),
                theme.bad(),
            )
        };
        return failed.iter().map(line).collect();
    }
    let ids: Vec<&str> = progress.checks.iter().map(|c| c.id.as_str()).collect();
    match ids.is_empty() {
        true => Vec::new(),
        false => vec![Line::styled(
            format!("checks so far pass: {}", ids.join(", ")),
            theme.good(),
        )],
    }
}

fn keys(state: &State) -> Line<'static> {
    if let Some(input) = &state.input {
        let error = input.error.as_ref();
        let error = error.map_or_else(String::new, |error| format!("  {error}"));
        return Line::styled(
            format!("threshold: {}_{error}", input.text),
            Theme::heading(),
        );
    }
    let data = state.data();
    let progress = data.progress.as_ref();
    // Of a build, and where QEMU measures, there is nothing to choose and no run yet; one that has ended is kept already.
    let is_none = progress.is_some_and(|p| p.series.is_empty() && p.checks.is_empty());
    let keys = match is_none || data.ended.is_some() {
        true => "p pause  ? help  q or Ctrl-C ends",
        false if state.replay => {
            "p pause  t threshold  Tab thread  ? help  q or Ctrl-C ends the replay"
        }
        false => "p pause  t threshold  Tab thread  ? help  q or Ctrl-C ends the run and keeps it",
    };
    Line::styled(keys, Style::default().add_modifier(Modifier::DIM))
}

fn charts(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let fits = |area: Rect| area.height >= CHART.0 && area.width >= CHART.1;
    if !fits(area) || state.steps().is_empty() {
        return;
    }
    if area.width >= SIDE_BY_SIDE {
        let halves = Layout::horizontal([Constraint::Ratio(1, 2); 2]).spacing(2);
        let [left, right] = halves.areas(area);
        histogram(frame, left, state, theme);
        maxima(frame, right, state, theme);
    } else if area.height >= 2 * CHART.0 {
        let [upper, lower] = Layout::vertical([Constraint::Ratio(1, 2); 2]).areas(area);
        histogram(frame, upper, state, theme);
        maxima(frame, lower, state, theme);
    } else {
        histogram(frame, area, state, theme);
    }
}

/// Splits a chart into its heading, its bars and its axis.
fn chart(area: Rect) -> [Rect; 3] {
    let [heading, bars, axis] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(1),
    ])
    .areas(area);
    [heading, bars, axis]
}

fn histogram(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let [heading, bars_area, axis] = chart(area);
    let bins = bins(&state.steps(), area.width.into());
    let (Some(first), Some(last)) = (bins.first(), bins.last()) else {
        return;
    };
    let (first, last) = (*first, *last);
    let most = bins.iter().map(|bin| bin.count).max().unwrap_or(0);
    let count: u64 = bins.iter().map(|bin| bin.count).sum();
    let of = state.chosen.map_or_else(
        || "all threads".to_owned(),
        |thread| format!("thread {thread}"),
    );
    let text = format!("n = {count} ({of}), top bar {most}");
    frame.render_widget(Line::styled(text, Theme::heading()), heading);
    let threshold = state.threshold.map(Nanos::get);
    let bars: Vec<Bar> = bins
        .iter()
        .map(|bin| Bar {
            height: match bin.count {
                0 => 0.0,
                // One sample is not nothing: the axis begins below one.
                n => place(2 * n, 1, 2 * most),
            },
            style: match threshold.is_some_and(|threshold| bin.to_ns > threshold) {
                true => theme.above(),
                false => theme.bars(),
            },
        })
        .collect();
    let columns = (usize::from(area.width) / bars.len().max(1)).clamp(1, 6);
    let wide = u16::try_from(columns).unwrap_or(1);
    draw_bars(frame.buffer_mut(), bars_area, &bars, wide);
    let width = (bars.len() * columns).min(area.width.into());
    let mut line = axis_of(
        &format!("≤ {}", short(first.to_ns)),
        &short(last.to_ns),
        width,
    );
    if let Some(threshold) = threshold {
        let at = bins.iter().position(|bin| bin.to_ns > threshold);
        line = mark(&line, at.map(|at| at * columns), "▲");
    }
    frame.render_widget(Line::raw(line), axis);
}

fn maxima(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let [heading, bars_area, axis] = chart(area);
    let values = fit(&state.data().maxima, area.width.into());
    let (Some(low), Some(high)) = (values.iter().min(), values.iter().max()) else {
        return;
    };
    let (low, high) = (*low, *high);
    let threshold = state.threshold.map(Nanos::get);
    // The threshold is to be seen where it is not far away.
    let top = threshold
        .filter(|t| *t < high.saturating_mul(4))
        .unwrap_or(0);
    let (from, to) = (low / 2, high.max(top));
    let text = format!("maxima over time, {} to {}", short(low), short(high));
    frame.render_widget(Line::styled(text, Theme::heading()), heading);
    let columns = (usize::from(area.width) / values.len().max(1)).clamp(1, 3);
    let wide = u16::try_from(columns).unwrap_or(1);
    let bars: Vec<Bar> = values
        .iter()
        .map(|value| Bar {
            height: place(*value, from, to),
            style: match threshold.is_some_and(|threshold| *value > threshold) {
                true => theme.above(),
                false => theme.bars(),
            },
        })
        .collect();
    draw_bars(frame.buffer_mut(), bars_area, &bars, wide);
    if let Some(threshold) = threshold.filter(|t| (from..=to).contains(t)) {
        threshold_line(frame, bars_area, place(threshold, from, to), theme);
    }
    let until = state.data().maxima.last().map_or(Nanos::ZERO, |m| m.until);
    let width = (values.len() * columns).min(area.width.into());
    let line = axis_of("0:00", &clock(until), width.max(14));
    frame.render_widget(Line::raw(line), axis);
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rows of a screen"
)]
fn threshold_line(frame: &mut Frame<'_>, area: Rect, height: f64, theme: Theme) {
    let row = (height * f64::from(area.height)).ceil().max(1.0) as u16;
    let y = area.bottom().saturating_sub(row.min(area.height));
    let buffer = frame.buffer_mut();
    for x in area.left()..area.right() {
        if buffer.cell((x, y)).is_some_and(|cell| cell.symbol() == " ") {
            buffer.set_string(x, y, "╌", theme.above());
        }
    }
}

/// Writes both ends of an axis into `width` columns.
fn axis_of(left: &str, right: &str, width: usize) -> String {
    let room = width.saturating_sub(left.chars().count());
    match room > right.chars().count() {
        true => format!("{left}{right:>room$}"),
        false => format!("{left} .. {right}"),
    }
}

/// Puts a mark over one column of a line.
fn mark(line: &str, column: Option<usize>, mark: &str) -> String {
    let Some(column) = column else {
        return line.to_owned();
    };
    let mut cells: Vec<String> = line.chars().map(String::from).collect();
    if cells.len() <= column {
        cells.resize(column + 1, " ".to_owned());
    }
    if let Some(cell) = cells.get_mut(column) {
        mark.clone_into(cell);
    }
    cells.concat()
}

fn help(frame: &mut Frame<'_>, area: Rect, replay: bool) {
    let text = help_lines(replay);
    let width = 60.min(area.width);
    let height = u16::try_from(text.len() + 2).unwrap_or(1).min(area.height);
    let x = area.x + (area.width - width) / 2;
    let y = area.y + (area.height - height) / 2;
    let window = Rect::new(x, y, width, height);
    frame.render_widget(Clear, window);
    let lines = text.map(Line::raw).to_vec();
    let block = Block::bordered().title(" keys ");
    frame.render_widget(Paragraph::new(lines).block(block), window);
}

#[cfg(test)]
mod tests;
