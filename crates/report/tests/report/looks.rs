// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Colours, lines and dots, and what a legend says of them.

use punctual_report::chart::{
    Axis, Chart, Drawing, Mark, Point, Series, Shape, Validity, View, svg,
};

use super::{document, irq, item};
use crate::maxima::maxima;

#[test]
fn runs_of_a_group_have_its_colour_and_whole_names_in_the_legend() {
    let named = |group: &str, number: u64| {
        let mut item = item(number, 2);
        item.record.name = Some(format!("{group}-{number}"));
        item
    };
    let long = "the-kernel-with-all-of-the-patches-of-the-year-before-last";
    let runs = (0..8).map(|n| named(if n < 4 { "plain" } else { long }, n));
    let document = document(runs.collect());
    let Some(Drawing::Distribution(distribution)) = document.drawings().first().copied() else {
        panic!("no distribution");
    };
    let whole = distribution.series.iter().filter(|s| s.whole);
    let colours: Vec<usize> = whole.map(|s| s.look.colour).collect();
    assert_eq!(colours, [0, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(maxima(&document).series.len(), 8, "a line a run");
    for chart in [maxima(&document), distribution.chart(View::Histogram)] {
        let file = svg::chart(&chart);
        let legend = file.matches(&format!(">{long}-7, all threads, ")).count();
        assert_eq!(legend, 1, "{file}");
    }
    // Without groups each run has its own colour.
    let document = self::document((0..3).map(|n| item(n, 1)).collect());
    let looks = maxima(&document)
        .series
        .into_iter()
        .map(|s| s.look.unwrap());
    assert_eq!(looks.map(|l| l.colour).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn kinds_of_one_run_do_not_look_alike() {
    let document = document(vec![irq()]);
    let drawings = document.drawings().into_iter();
    let distributions = drawings.filter_map(|drawing| match drawing {
        Drawing::Distribution(distribution) => Some(distribution),
        _ => None,
    });
    let mut looks = Vec::new();
    for series in distributions.flat_map(|d| &d.series).filter(|s| s.whole) {
        assert!(!looks.contains(&series.look), "{}", series.part);
        looks.push(series.look);
    }
    assert!(looks.len() > 1, "{looks:?}");
}

#[test]
fn dots_are_dots_in_the_legend_and_lines_are_lines() {
    let points = || vec![Point::at(1.0, 2.0), Point::at(2.0, 3.0)];
    let series = |shape| Series::new("figure", "3 runs", shape, points(), Validity::Valid);
    let legend = |shape| {
        let file = svg::chart(&Chart {
            id: "x".to_owned(),
            title: "x".to_owned(),
            note: String::new(),
            x: Axis::linear("x in s"),
            y: Axis::linear("y in s"),
            series: vec![series(shape)],
            marks: Vec::new(),
        });
        (file.contains("h22"), file.contains("r=\"3.6\""))
    };
    assert_eq!(legend(Shape::Points), (false, true));
    assert_eq!(legend(Shape::Step), (true, false));
    assert_eq!(legend(Shape::Dots), (true, true));
}

#[test]
fn each_interval_has_a_bar_and_is_open_where_its_low_end_has_no_place() {
    let drawn = |y: Axis, points: Vec<Point>| {
        svg::chart(&Chart {
            id: "intervals".to_owned(),
            title: "Intervals".to_owned(),
            note: String::new(),
            x: Axis::log("Ratio"),
            y,
            series: vec![Series::new(
                "estimate",
                "",
                Shape::Points,
                points,
                Validity::Valid,
            )],
            marks: Vec::new(),
        })
    };
    let across = |low| Point::at(2.0, 0.0).within(Some((low, 3.0)));
    let up = |low| Point::at(2.0, 2.0).within(Some((low, 3.0)));
    let names = || Axis::names("", vec!["a".to_owned()]);
    let closed = "m0 -4H";
    let file = drawn(names(), vec![across(1.0), across(0.0), across(-1.0)]);
    assert_eq!(file.matches("m0 -4v8\"").count(), 3, "{file}");
    assert_eq!(file.matches(closed).count(), 1, "{file}");
    let file = drawn(Axis::log("Value"), vec![up(1.0), up(0.0), up(-1.0)]);
    assert_eq!(file.matches("m-4 0h8\"").count(), 3, "{file}");
    assert_eq!(file.matches("m-4 0V").count(), 1, "{file}");
}

#[test]
fn no_two_parts_of_a_page_have_one_id_and_each_drawing_clips_itself() {
    let document = document(vec![item(1, 2), item(2, 2), irq()]);
    let page = punctual_report::html::page(&document);
    let mut ids: Vec<&str> = page
        .match_indices(" id=\"")
        .filter_map(|(at, found)| page[at + found.len()..].split('"').next())
        .collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "{ids:?}");
    let drawings: Vec<&str> = page.split("<svg ").skip(1).collect();
    let mut clipped = 0;
    for drawing in drawings {
        let drawing = drawing.split("</svg>").next().unwrap();
        for clip in drawing.split("url(#").skip(1) {
            let id = clip.split(')').next().unwrap();
            assert!(drawing.contains(&format!(" id=\"{id}\"")), "{id}");
            clipped += 1;
        }
    }
    assert!(clipped > 2, "{clipped}");
}

#[test]
fn what_begins_at_0_begins_at_the_edge_of_a_logarithmic_axis() {
    let level = vec![Point::at(0.0, 57.0), Point::at(1.0, 20.0), Point::end(4.0)];
    let file = svg::chart(&Chart {
        id: "level".to_owned(),
        title: "Level".to_owned(),
        note: String::new(),
        x: Axis::log("Time in s"),
        y: Axis::linear("Largest in µs"),
        series: vec![Series::new(
            "run",
            "2 stretches",
            Shape::Step,
            level,
            Validity::Valid,
        )],
        marks: Vec::new(),
    });
    let (_, path) = file.split_once("stroke-width=\"1.4\" d=\"").unwrap();
    let path = path.split('"').next().unwrap();
    assert!(path.starts_with("M76.0 ") && path.contains('V'), "{path}");
}

#[test]
fn long_names_stay_inside_of_the_picture() {
    let long = "n".repeat(70);
    let names = ["a", "b", "c"].map(|end| format!("{long}{end}"));
    let series = names.iter().map(|name| {
        let points = vec![Point::at(1.0, 2.0), Point::at(9.0, 3.0)];
        Series::new(name, "3 runs", Shape::Points, points, Validity::Invalid)
    });
    let mark = |at| Mark {
        name: format!("threshold passed, {long}"),
        at,
        upright: true,
    };
    let file = svg::chart(&Chart {
        id: "long".to_owned(),
        title: "Long".to_owned(),
        note: String::new(),
        x: Axis::linear("Time in s"),
        y: Axis::linear("Largest in µs"),
        series: series.collect(),
        marks: vec![mark(4.0), mark(6.0)],
    });
    for name in &names {
        assert!(file.contains(name), "{name} is not among what is invalid");
    }
    let texts = file.split("<text ").skip(1);
    for text in
        texts.filter(|text| text.starts_with("class=\"w\"") || text.starts_with("class=\"mt\""))
    {
        let (_, x) = text.split_once(" x=\"").unwrap();
        let x: f64 = x.split('"').next().unwrap().parse().unwrap();
        let (_, words) = text.split_once('>').unwrap();
        let wide = words.split('<').next().unwrap().chars().count() as f64 * 6.4;
        let (from, until) = match text.contains("\"end\"") {
            true => (x - wide, x),
            false => (x, x + wide),
        };
        assert!(from >= 0.0 && until <= 760.0, "{from} .. {until}: {text}");
    }
}
