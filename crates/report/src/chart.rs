// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Charts as values: what is drawn, in which unit, from how many samples, and whether it may be believed.
//!
//! One model, several drawings: [`svg`] and [`png`] make files for papers, the page draws the same values with zoom and
//! read-out, [`spark`] makes a line of text. A drawing decides nothing: what is missing here is missing in all of them.

pub mod distribution;
#[cfg(feature = "pictures")]
pub mod png;
pub mod scale;
pub mod spark;
pub mod svg;

pub use distribution::{Bin, Distribution, DistributionSeries, View};

/// Whether what is drawn may be believed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Validity {
    /// Every check passed.
    #[default]
    Valid,
    /// Every check passed, in a guest whose times are instruction counts: they are no latencies of hardware.
    Virtual,
    /// A check did not pass: no claim can be based on it.
    Invalid,
    /// Another tool measured, and nothing was checked.
    Imported,
    /// It was printed in a paper; its name says so.
    Published,
}

impl Validity {
    /// Returns the mark next to a name; nothing for what is valid.
    pub const fn mark(self) -> &'static str {
        match self {
            Self::Valid | Self::Published => "",
            Self::Virtual => "VIRTUAL TIME",
            Self::Invalid => "INVALID",
            Self::Imported => "not checked",
        }
    }

    /// Returns what a table says of it: `yes` where every check passed.
    pub fn cell(self) -> String {
        match self {
            Self::Valid => "yes".to_owned(),
            Self::Published => "published".to_owned(),
            Self::Virtual => "yes, in virtual time".to_owned(),
            other => other.mark().to_owned(),
        }
    }

    /// Whether every check passed.
    pub const fn is_valid(self) -> bool {
        matches!(self, Self::Valid | Self::Virtual)
    }

    /// Returns the word that the page's script knows it by.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Virtual => "virtual",
            Self::Invalid => "invalid",
            Self::Imported => "imported",
            Self::Published => "published",
        }
    }
}

/// How values lie on an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By their logarithms; what is not above 0 is not drawn.
    Log,
    /// At whole numbers from 0, one a name.
    Names(Vec<String>),
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it shows, with its unit: `Latency in µs`.
    pub label: String,
    /// How values lie on it.
    pub scale: Scale,
    /// The part that is drawn. `None`: what the values need.
    pub range: Option<(f64, f64)>,
}

impl Axis {
    /// Makes an even axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self::new(label, Scale::Linear)
    }

    /// Makes a logarithmic axis.
    pub fn log(label: impl Into<String>) -> Self {
        Self::new(label, Scale::Log)
    }

    /// Makes an axis of names.
    pub fn names(label: impl Into<String>, names: Vec<String>) -> Self {
        Self::new(label, Scale::Names(names))
    }

    /// Makes an axis for values: logarithmic where they are all above 0 and differ by more than a factor of 20.
    pub fn fitting(label: impl Into<String>, values: impl Iterator<Item = f64>) -> Self {
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|v| v.is_finite()) {
            low = low.min(value);
            high = high.max(value);
        }
        match low > 0.0 && high / low > 20.0 {
            true => Self::log(label),
            false => Self::linear(label),
        }
    }

    fn new(label: impl Into<String>, scale: Scale) -> Self {
        Self {
            label: label.into(),
            scale,
            range: None,
        }
    }
}

/// How the points of a series are drawn.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shape {
    /// A level from each point to the next; a point without a value ends it.
    Step,
    /// A line.
    Line,
    /// A line with a dot at each point.
    Dots,
    /// Dots alone.
    Points,
    /// A bar over the interval of each point, in the row of its name: stretches of time, parts of a whole. Its label is
    /// written into it where it has room.
    Bars,
}

/// Colours that can be told apart also where they cannot be seen as such; with more series the dashes change.
pub const COLOURS: usize = 6;

/// Kinds of dashes.
pub const DASHES: usize = 4;

/// How a series looks among others, by numbers.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Look {
    /// Number of its colour, below [`COLOURS`].
    pub colour: usize,
    /// Number of its dashes, below [`DASHES`]; 0 is a whole line.
    pub dash: usize,
}

impl Look {
    /// The look of the series of that number among others: first another colour, then other dashes.
    pub const fn of(number: usize) -> Self {
        Self {
            colour: number % COLOURS,
            dash: number / COLOURS % DASHES,
        }
    }

    /// The look of a part of what looks so: the same colour, never a whole line.
    #[must_use]
    pub const fn part(self, number: usize) -> Self {
        Self {
            dash: 1 + number % (DASHES - 1),
            ..self
        }
    }
}

/// A point, with its interval where it is an estimate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Place on the horizontal axis.
    pub x: f64,
    /// Place on the vertical axis.
    pub y: f64,
    /// Interval of the value: on the vertical axis, or on the horizontal one where the vertical has names.
    pub interval: Option<(f64, f64)>,
    /// Observations behind it. `None` where the whole series is of one number.
    pub count: Option<u64>,
    /// What it is, where the place does not say it: the id of a run.
    pub label: Option<String>,
}

impl Point {
    /// Makes a point without an interval.
    pub fn at(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            ..Self::default()
        }
    }

    /// Makes the end of a level: from here on there is no value.
    pub fn end(x: f64) -> Self {
        Self::at(x, f64::NAN)
    }

    /// Returns the point with an interval.
    #[must_use]
    pub fn within(mut self, interval: Option<(f64, f64)>) -> Self {
        self.interval = interval;
        self
    }

    /// Returns the point with its number of observations.
    #[must_use]
    pub fn of(mut self, count: u64) -> Self {
        self.count = Some(count);
        self
    }
}

/// A series of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// The run that it is a part of, if it is.
    pub run: Option<String>,
    /// The observations behind it: `19 924 samples`.
    pub counted: String,
    /// How it is drawn.
    pub shape: Shape,
    /// Its points, by ascending place where they are joined.
    pub points: Vec<Point>,
    /// Whether it may be believed.
    pub validity: Validity,
    /// Whether it is drawn before anybody chose.
    pub shown: bool,
    /// How it looks. `None`: unlike the others.
    pub look: Option<Look>,
}

impl Series {
    /// Makes one that is drawn from the start and looks unlike the others.
    pub fn new(
        name: impl Into<String>,
        counted: impl Into<String>,
        shape: Shape,
        points: Vec<Point>,
        validity: Validity,
    ) -> Self {
        Self {
            name: name.into(),
            run: None,
            counted: counted.into(),
            shape,
            points,
            validity,
            shown: true,
            look: None,
        }
    }

    /// Returns those of `series` in which there is anything to draw.
    pub fn with_points(series: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let series = series.into_iter();
        series.filter(|one| !one.points.is_empty()).collect()
    }

    /// Returns the series with this look.
    #[must_use]
    pub fn looking(mut self, look: Look) -> Self {
        self.look = Some(look);
        self
    }
}

/// A line across a chart: a deadline, a threshold, no change.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// What it is.
    pub name: String,
    /// Where it is.
    pub at: f64,
    /// Whether it stands on the horizontal axis; else it lies at a height.
    pub upright: bool,
}

impl Mark {
    /// Makes that of a ratio of 1.
    pub fn no_change() -> Self {
        Self {
            name: "no change".to_owned(),
            at: 1.0,
            upright: true,
        }
    }
}

/// A chart of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// A name for files and links, of lower-case letters, digits and dashes.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// What is drawn, of how many, in a sentence.
    pub note: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn.
    pub series: Vec<Series>,
    /// Lines across it.
    pub marks: Vec<Mark>,
}

/// A cell of a heat map.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Number of its column.
    pub column: usize,
    /// Number of its row.
    pub row: usize,
    /// Its value.
    pub value: f64,
    /// Observations behind it.
    pub count: u64,
}

/// A matrix of values, drawn by colour and written in figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Heat {
    /// A name for files and links.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// What is drawn, of how many, in a sentence.
    pub note: String,
    /// What the columns are.
    pub x_label: String,
    /// What the rows are.
    pub y_label: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Names of the rows.
    pub rows: Vec<String>,
    /// Unit of the values.
    pub unit: String,
    /// The values; a missing one is left empty.
    pub cells: Vec<Cell>,
    /// Whether it may be believed.
    pub validity: Validity,
    /// Name of the run.
    pub name: String,
}

/// Anything that is drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum Drawing {
    /// Points.
    Chart(Chart),
    /// Distributions of the same samples, in several views.
    Distribution(Distribution),
    /// A matrix.
    Heat(Heat),
}

impl Drawing {
    /// Returns its name for files and links.
    pub fn id(&self) -> &str {
        match self {
            Self::Chart(chart) => &chart.id,
            Self::Distribution(distribution) => &distribution.id,
            Self::Heat(heat) => &heat.id,
        }
    }

    /// Returns its heading.
    pub fn title(&self) -> &str {
        match self {
            Self::Chart(chart) => &chart.title,
            Self::Distribution(distribution) => &distribution.title,
            Self::Heat(heat) => &heat.title,
        }
    }

    /// Returns what is drawn, in a sentence.
    pub fn note(&self) -> &str {
        match self {
            Self::Chart(chart) => &chart.note,
            Self::Distribution(distribution) => &distribution.note,
            Self::Heat(heat) => &heat.note,
        }
    }

    /// Says which of what is drawn must not be believed, or not as it looks: `INVALID: idle, busy`.
    pub fn warnings(&self) -> Vec<String> {
        let all: Vec<(&str, Validity)> = match self {
            Self::Chart(chart) => chart
                .series
                .iter()
                // Bars are parts of one run, which is as valid as they all are.
                .map(|s| match s.shape {
                    Shape::Bars => ("", s.validity),
                    _ => (s.run.as_ref().unwrap_or(&s.name).as_str(), s.validity),
                })
                .collect(),
            Self::Distribution(distribution) => distribution
                .series
                .iter()
                .map(|s| (s.run.as_str(), s.validity))
                .collect(),
            Self::Heat(heat) => vec![(heat.name.as_str(), heat.validity)],
        };
        let mut texts = Vec::new();
        for validity in [Validity::Invalid, Validity::Imported, Validity::Virtual] {
            let mut names: Vec<&str> = Vec::new();
            for (name, of) in &all {
                if *of == validity && !names.contains(name) {
                    names.push(name);
                }
            }
            let more = names.len().saturating_sub(4);
            names.truncate(4);
            if !names.is_empty() {
                let more = match more {
                    0 => String::new(),
                    n => format!(" and {n} more"),
                };
                let text = format!("{}: {}{more}", validity.mark(), names.join(", "));
                texts.push(text.trim_end_matches(": ").to_owned());
            }
        }
        texts
    }
}
