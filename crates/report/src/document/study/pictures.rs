// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The pictures of an answer, the one that says most first: published values are marks in the same picture.

use punctual_model::{
    Ordered as _, StudyAnswer, StudyBin, StudyCurve, StudyCurves, StudyPicture, StudyRow,
    figure_heading, figure_words,
};

use super::super::experiment::number;
use super::super::named::counted;
use super::super::parts::{Block, Ids, Table};
use super::super::study_tables as tables;
use crate::chart::{Axis, Chart, Drawing, Mark, Point, Scale, Series, Shape, Validity};
use crate::number;

/// Fewer levels that are numbers are drawn by their names.
const SWEEP: usize = 3;

/// A level that is no amount: no limit at all.
const UNLIMITED: &str = "-1";

/// More points are a line without dots.
const DOTS: usize = 40;

/// Draws the pictures of an answer.
pub(super) fn of_answer(ids: &mut Ids, answer: &StudyAnswer, id: &str) -> Vec<Block> {
    let validity = match answer.virtual_time {
        true => Validity::Virtual,
        false => Validity::Valid,
    };
    let mut draw = Draw { ids, id, validity };
    let mut blocks: Vec<Block> = answer.curves.iter().map(|of| draw.curves(of)).collect();
    let classes = answer.rows.iter().any(|row| row.class.is_some());
    if answer.curves.is_empty() && !classes {
        let mut figures: Vec<&str> = Vec::new();
        for row in &answer.rows {
            if !figures.contains(&row.figure.as_str()) {
                figures.push(&row.figure);
            }
        }
        let sweeps = figures.iter().filter_map(|of| draw.sweep(answer, of));
        let sweeps: Vec<Block> = sweeps.flatten().collect();
        match sweeps.is_empty() {
            true => blocks.extend(draw.by_name(answer)),
            false => blocks.extend(sweeps),
        }
    }
    blocks.extend(answer.pictures.iter().map(|of| draw.distribution(of)));
    blocks
}

struct Draw<'a> {
    ids: &'a mut Ids,
    id: &'a str,
    validity: Validity,
}

impl Draw<'_> {
    fn chart(
        &mut self,
        name: &str,
        [title, note]: [String; 2],
        [x, y]: [Axis; 2],
        series: Vec<Series>,
        marks: Vec<Mark>,
    ) -> Block {
        let mut chart = Chart {
            id: self.ids.make(&format!("{}-{name}", self.id)),
            title,
            note,
            x,
            y,
            series: Series::with_points(series),
            marks,
        };
        readable(&mut chart);
        Block::Drawing(Box::new(Drawing::Chart(chart)), None)
    }

    /// What was measured here, and what was published, with the word for a point of the former.
    fn here(&self, points: Vec<Point>, shape: Shape) -> Series {
        let runs = points.iter().filter_map(|p| p.count).sum();
        Series::new("here", counted(runs, "run"), shape, points, self.validity)
    }

    /// A figure against levels that are numbers, with the published values; and its standard error.
    fn sweep(&mut self, answer: &StudyAnswer, figure: &str) -> Option<[Block; 2]> {
        let rows = answer.rows.iter();
        let rows: Vec<&StudyRow> = rows
            .filter(|row| row.figure == figure && row.runs > 0)
            .collect();
        let factor = tables::factor(&rows)?;
        let level = |row: &StudyRow| tables::level(row, Some(factor)).to_owned();
        let (unlimited, rows): (Vec<&StudyRow>, Vec<&StudyRow>) =
            rows.into_iter().partition(|row| level(row) == UNLIMITED);
        let levels: Option<Vec<f64>> = rows.iter().map(|row| number(&level(row))).collect();
        let levels = levels.filter(|levels| levels.len() >= SWEEP)?;
        let first = rows.first()?;
        let (unit, scale) = number::unit(&first.unit);
        let points = |of: &dyn Fn(f64, &StudyRow) -> Option<Point>| {
            let pairs = levels.iter().zip(&rows);
            let mut points: Vec<Point> = pairs.filter_map(|(x, row)| of(*x, row)).collect();
            points.order_by(|a, b| a.x.total_cmp(&b.x));
            points
        };
        let here = points(&|x, row| {
            let ends = row.interval.map(|i| (i.low / scale, i.high / scale));
            Some(
                Point::at(x, row.estimate? / scale)
                    .within(ends)
                    .of(row.runs),
            )
        });
        let errors = points(&|x, row| Some(Point::at(x, row.standard_error? / scale).of(row.runs)));
        let printed = points(&|x, row| Some(Point::at(x, row.published?)));
        let printed_errors = points(&|x, row| Some(Point::at(x, row.published_error?)));
        let mark = |row: &&StudyRow| {
            Some(Mark {
                name: "here at -1, no limit".to_owned(),
                at: row.estimate? / scale,
                upright: false,
            })
        };
        let marks = unlimited.iter().filter_map(mark).collect();
        let axis = answer.across.as_deref().unwrap_or(factor);
        let words = figure_words(figure);
        let x = || Axis::fitting(axis, levels.iter().copied());
        let heights = |both: [&[Point]; 2]| -> Vec<f64> {
            both.into_iter().flatten().map(|point| point.y).collect()
        };
        let y = heights([&here, &printed]);
        let series = vec![
            self.here(here, Shape::Dots),
            published(printed, first.published_unit.as_deref()),
        ];
        let said = [
            format!("{words} against {axis}"),
            "The estimate of each level; bars are 95 % intervals between runs.".to_owned(),
        ];
        let y = Axis::fitting(figure_heading(figure, unit), y.into_iter());
        let estimates = self.chart(figure, said, [x(), y], series, marks);
        let y = heights([&errors, &printed_errors]);
        let series = vec![
            self.here(errors, Shape::Dots),
            published(printed_errors, first.published_unit.as_deref()),
        ];
        let said = [
            format!("standard error of {words} against {axis}"),
            "The deviation between the runs of a level by the root of their number.".to_owned(),
        ];
        let label = figure_heading(&format!("standard error of {words}"), unit);
        let y = Axis::fitting(label, y.into_iter());
        let spread = self.chart(
            &format!("error-{figure}"),
            said,
            [x(), y],
            series,
            Vec::new(),
        );
        Some([estimates, spread])
    }

    /// Levels that are names: ratios to the base where nothing was published in the figure's own unit, else the
    /// estimates, those of one unit in a picture.
    fn by_name(&mut self, answer: &StudyAnswer) -> Vec<Block> {
        let rows = &answer.rows;
        let measured = rows.iter().any(|row| row.published.is_some());
        let ratio = |row: &StudyRow| row.ratio.is_some_and(|ratio| ratio.estimate > 0.0);
        if rows.iter().any(ratio) && !measured {
            return vec![self.ratios(answer)];
        }
        let mut units: Vec<&str> = Vec::new();
        for row in rows.iter().filter(|row| row.estimate.is_some()) {
            if !units.contains(&row.unit.as_str()) {
                units.push(&row.unit);
            }
        }
        let units = units.into_iter();
        units.map(|unit| self.estimates(answer, unit)).collect()
    }

    fn ratios(&mut self, answer: &StudyAnswer) -> Block {
        let rows = answer.rows.iter();
        let compared: Vec<&StudyRow> = rows.filter(|row| row.verdict.is_some()).collect();
        let (mut here, mut printed) = (Vec::new(), Vec::new());
        for (place, row) in (0_u32..).zip(&compared) {
            let place = f64::from(place);
            if let Some(ratio) = row.ratio.filter(|ratio| ratio.estimate > 0.0) {
                let ends = ratio.interval.map(|ends| (ends.low, ends.high));
                here.push(Point::at(ratio.estimate, place).within(ends).of(row.runs));
            }
            let ratio = row.published_ratio.filter(|ratio| *ratio > 0.0);
            printed.extend(ratio.map(|ratio| Point::at(ratio, place + 0.2)));
        }
        let base = answer.rows.iter().find(|row| row.verdict.is_none());
        let base = base.map_or_else(String::new, |row| row.cell.replace('=', " "));
        let said = [
            format!("Ratio to {base}"),
            "Bars are 95 % intervals, each for its figure alone.".to_owned(),
        ];
        let axes = [
            Axis::log(format!("Times as much as with {base} (1: no change)")),
            Axis::names("", names(&compared)),
        ];
        let series = vec![self.here(here, Shape::Points), published(printed, None)];
        let marks = vec![Mark::no_change()];
        self.chart("ratios", said, axes, series, marks)
    }

    fn estimates(&mut self, answer: &StudyAnswer, unit: &str) -> Block {
        let rows = answer.rows.iter().filter(|row| row.unit == unit);
        // Values of other machines are marks in the row of the first of ours.
        let (theirs, rows): (Vec<&StudyRow>, Vec<&StudyRow>) =
            rows.partition(|row| row.runs == 0 && row.published.is_some());
        let (shown, scale) = number::unit(unit);
        let (mut here, mut printed) = (Vec::new(), Vec::new());
        for (place, row) in (0_u32..).zip(&rows) {
            let place = f64::from(place);
            if let Some(estimate) = row.estimate {
                let ends = row.interval.map(|i| (i.low / scale, i.high / scale));
                let point = Point::at(estimate / scale, place);
                here.push(point.within(ends).of(row.runs));
            }
            printed.extend(row.published.map(|value| Point::at(value, place + 0.2)));
            let first = rows.iter().find(|other| other.figure == row.figure);
            let of_row = theirs.iter().filter(|other| {
                other.figure == row.figure && first.is_some_and(|first| std::ptr::eq(*first, *row))
            });
            let values = of_row.filter_map(|other| other.published);
            printed.extend(values.map(|value| Point::at(value, place + 0.2)));
        }
        let mut figures: Vec<&str> = rows.iter().map(|row| row.figure.as_str()).collect();
        figures.dedup();
        let (title, label) = match (figures.as_slice(), shown) {
            ([one], shown) => (figure_words(one), figure_heading(one, shown)),
            (_, "") => ("Estimates".to_owned(), "Value".to_owned()),
            (_, shown) => (format!("Estimates in {shown}"), shown.to_owned()),
        };
        let places: Vec<f64> = here.iter().chain(&printed).map(|p| p.x).collect();
        let axes = [
            Axis::fitting(label, places.into_iter()),
            Axis::names("", names(&rows)),
        ];
        let of_work = rows.iter().find_map(|row| row.published_unit.as_deref());
        let series = vec![self.here(here, Shape::Points), published(printed, of_work)];
        let note = "The estimate over runs; bars are 95 % intervals.".to_owned();
        self.chart("estimates", [title, note], axes, series, Vec::new())
    }

    fn curves(&mut self, of: &StudyCurves) -> Block {
        let (unit, scale) = number::unit(&of.unit);
        let (across, by) = match of.across_unit.as_str() {
            "" => (of.across.clone(), 1.0),
            raw => {
                let (unit, by) = number::unit(raw);
                (format!("{} in {unit}", of.across), by)
            }
        };
        let drawn = |curve: &StudyCurve| {
            let points = curve.points.iter().map(|point| {
                let ends = point.interval.map(|i| (i.low / scale, i.high / scale));
                let place = Point::at(point.x / by, point.y / scale).within(ends);
                match curve.published {
                    true => place,
                    false => place.of(point.count),
                }
            });
            let (shape, what, validity) = match (curve.published, of.stepped) {
                (true, _) => (Shape::Points, "value", Validity::Published),
                (false, true) => (Shape::Step, "point", self.validity),
                (false, false) if curve.points.len() > DOTS => {
                    (Shape::Line, "point", self.validity)
                }
                (false, false) => (Shape::Dots, "point", self.validity),
            };
            let count = counted(curve.points.len() as u64, what);
            Series::new(&curve.name, &count, shape, points.collect(), validity)
        };
        let series: Vec<Series> = of.curves.iter().map(drawn).collect();
        let points = series.iter().flat_map(|s| &s.points);
        let (places, heights): (Vec<f64>, Vec<f64>) = points.map(|p| (p.x, p.y)).unzip();
        let words = figure_words(&of.figure);
        let heading = figure_heading(&of.figure, unit);
        let axes = [
            Axis::fitting(across, places.into_iter()),
            match of.stepped {
                true => Axis::linear(heading),
                false => Axis::fitting(heading, heights.into_iter()),
            },
        ];
        let said = [format!("{words} against {}", of.across), of.note.clone()];
        self.chart(&of.figure, said, axes, series, Vec::new())
    }

    /// The head or the tail of a distribution.
    #[expect(clippy::cast_precision_loss, reason = "display only")]
    fn distribution(&mut self, of: &StudyPicture) -> Block {
        let bins = of.bins.iter();
        let start = |bin: &StudyBin| Point::at(bin.from_ns as f64 / 1e3, bin.count as f64);
        let mut points: Vec<Point> = bins.map(start).collect();
        let end = of.bins.last();
        points.extend(end.map(|bin| Point::at(bin.to_ns as f64 / 1e3, 0.0)));
        let inside: u64 = of.bins.iter().map(|bin| bin.count).sum();
        let title = format!("{} of {}", of.part, of.cell.replace('=', " "));
        let count = format!("{inside} of {}", counted(of.samples, "sample"));
        let micros = |ns: u64| format!("{:.1}", ns as f64 / 1e3);
        let row = |bin: &StudyBin| {
            [
                micros(bin.from_ns),
                micros(bin.to_ns),
                bin.count.to_string(),
            ]
        };
        let caption = format!("{title}: {count}");
        let table =
            Table::new(caption, &["From µs", "..To µs", "Samples"]).with(of.bins.iter().map(row));
        let places: Vec<f64> = points.iter().map(|point| point.x).collect();
        let axes = [
            Axis::fitting("Latency in µs", places.into_iter()),
            Axis::linear("Samples in a bin"),
        ];
        let name = format!("{}-{}", of.cell, of.part);
        let of_bins = counted(inside, "sample");
        let bins = Series::new(&of.part, &of_bins, Shape::Step, points, self.validity);
        match self.chart(
            &name,
            [title, format!("{count}.")],
            axes,
            vec![bins],
            Vec::new(),
        ) {
            Block::Drawing(drawing, _) => Block::Drawing(drawing, Some(table)),
            other => other,
        }
    }
}

/// Intervals of two or three runs may be a hundred times as long as all values together, and would be all that is seen:
/// those are in the table alone.
fn readable(chart: &mut Chart) {
    const LONGEST: f64 = 4.0;
    let upright = !matches!(chart.y.scale, Scale::Names(_));
    let marks = chart.marks.iter().filter(|mark| mark.upright != upright);
    let points = chart.series.iter().flat_map(|series| &series.points);
    let most = points
        .map(|point| if upright { point.y } else { point.x })
        .chain(marks.map(|mark| mark.at))
        .filter(|value| value.is_finite())
        .fold(0.0, f64::max);
    let mut cut = false;
    for point in chart
        .series
        .iter_mut()
        .flat_map(|series| &mut series.points)
    {
        if point
            .interval
            .is_some_and(|(_, high)| high > LONGEST * most)
        {
            point.interval = None;
            cut = true;
        }
    }
    if cut {
        chart.note +=
            " Intervals more than four times as long as the picture are in the table alone.";
    }
}

fn published(points: Vec<Point>, unit: Option<&str>) -> Series {
    let name = match unit {
        Some(unit) => format!("published, {unit}"),
        None => "published".to_owned(),
    };
    let values = counted(points.len() as u64, "value");
    Series::new(name, values, Shape::Points, points, Validity::Published)
}

/// What each row is, where the rows of a picture differ in it.
fn names(rows: &[&StudyRow]) -> Vec<String> {
    let same = |of: fn(&StudyRow) -> &str| {
        let mut all = rows.iter().map(|row| of(row));
        let first = all.next();
        all.all(|other| Some(other) == first)
    };
    let (one_figure, one_cell) = (same(|row| &row.figure), same(|row| &row.cell));
    let name = |row: &&StudyRow| {
        let cell = row.cell.replace('=', " ");
        match (one_figure, one_cell) {
            (true, false) => cell,
            (_, true) => figure_words(&row.figure),
            (false, false) => format!("{}, {cell}", figure_words(&row.figure)),
        }
    };
    rows.iter().map(name).collect()
}
