// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Pictures of a task set that ran: responses with their bounds, and two schedules on the same axes, that of the critical
//! instant by analysis and the worst stretch that was seen.

use punctual_model::tasks::{TasksRun, WindowJob};

use super::super::named::{counted, micros};
use super::super::parts::{Block, Ids};
use super::super::runs::Named;
use super::super::series::micros_of;
use crate::chart::scale::counted_stretches;
use crate::chart::{self, Axis, Chart, Drawing, Look, Mark, Point, Shape};
use punctual_model::Ordered as _;

/// The longest response of each task, its bound and its deadline.
pub(super) fn bounds(ids: &mut Ids, run: &Named<'_>, tasks: &TasksRun, of: &str) -> Option<Block> {
    let unit = micros_of(&[*run]);
    let names: Vec<String> = tasks.tasks.iter().map(|task| task.name.clone()).collect();
    let each = || {
        tasks
            .check
            .set
            .tasks
            .iter()
            .zip(&tasks.check.tasks)
            .zip(&tasks.tasks)
            .enumerate()
    };
    let at = |row: usize, ns: u64, count: u64| Point::at(ns as f64 / 1e3, row as f64).of(count);
    let seen: Vec<Point> = each()
        .filter_map(|(row, (_, seen))| Some(at(row, seen.longest_response_ns?.get(), seen.jobs)))
        .collect();
    let shown: Vec<Point> = each()
        .filter_map(|(row, ((_, bound), _))| Some(at(row, bound.response_ns?.get(), 1)))
        .collect();
    let due: Vec<Point> = each()
        .map(|(row, ((task, _), _))| at(row, task.deadline_ns.get(), 1))
        .collect();
    if seen.is_empty() {
        return None;
    }
    let values: Vec<f64> = seen.iter().chain(&shown).chain(&due).map(|p| p.x).collect();
    let jobs = tasks.jobs();
    let series = [
        ("longest seen in this run", seen, counted(jobs, "job")),
        (
            "bound by analysis",
            shown,
            "found before the run".to_owned(),
        ),
        ("deadline", due, "as the set says".to_owned()),
    ];
    let series = series
        .into_iter()
        .filter(|(_, points, _)| !points.is_empty());
    let series = series.map(|(name, points, counted)| {
        chart::Series::new(name, counted, Shape::Points, points, run.validity())
    });
    let chart = Chart {
        id: ids.make(&format!("tasks-bounds-{}", run.name)),
        title: format!("Longest response of each task, its bound and its deadline{of}"),
        note: format!(
            "{}. A dot that was seen to the right of its bound contradicts the analysis: an assumption broke.",
            counted(jobs, "job")
        ),
        x: Axis::fitting(format!("Response in {unit}"), values.into_iter()),
        y: Axis::names("", names),
        series: series.collect(),
        marks: Vec::new(),
    };
    Some(Block::Drawing(Box::new(Drawing::Chart(chart)), None))
}

/// A stretch in which a task had its CPU.
struct Stretch {
    task: usize,
    job: u64,
    from: f64,
    to: f64,
}

/// The schedule of the critical instant and the worst stretch seen, on the same axes.
pub(super) fn schedules(ids: &mut Ids, run: &Named<'_>, tasks: &TasksRun, of: &str) -> Vec<Block> {
    let Some(window) = &tasks.window else {
        return Vec::new();
    };
    let name = &tasks.tasks[window.task.min(tasks.tasks.len() - 1)].name;
    let rows = rows(tasks, window.task);
    let response = (window.to_ns - window.from_ns).get() as f64 / 1e3;
    let bound = tasks
        .check
        .tasks
        .get(window.task)
        .and_then(|b| b.response_ns);
    let bound = bound.map(|bound| bound.get() as f64 / 1e3);
    let end = response.max(bound.unwrap_or(0.0)) * 1.02;
    let unit = micros_of(&[*run]);
    let us = |ns: u64| ns as f64 / 1e3;
    let shown: Vec<Stretch> = tasks
        .critical
        .iter()
        .map(|slice| Stretch {
            task: slice.task,
            job: slice.job,
            from: us(slice.from_ns.get()),
            to: us(slice.to_ns.get()).min(end),
        })
        .filter(|s| s.from < end)
        .collect();
    let seen = ran(
        tasks,
        &window.jobs,
        window.from_ns.get(),
        window.to_ns.get(),
    );
    let mut marks = vec![Mark {
        name: format!("end of {name} in this run"),
        at: response,
        upright: true,
    }];
    marks.extend(bound.map(|at| Mark {
        name: format!("bound of {name}"),
        at,
        upright: true,
    }));
    let chart = |id: String, title: String, note: String, stretches: &[Stretch]| {
        let series = rows.iter().enumerate().map(|(row, task)| {
            let points: Vec<Point> = stretches
                .iter()
                .filter(|s| s.task == *task)
                .map(|s| Point {
                    x: f64::midpoint(s.from, s.to),
                    y: row as f64,
                    interval: Some((s.from, s.to)),
                    count: Some(1),
                    label: Some(format!("job {}", s.job)),
                })
                .collect();
            chart::Series::new(
                tasks.tasks[*task].name.clone(),
                counted_stretches(points.len()),
                Shape::Bars,
                points,
                run.validity(),
            )
            .looking(Look::of(row))
        });
        let series = chart::Series::with_points(series);
        let mut x = Axis::linear(format!("Time from the release of {name} in {unit}"));
        x.range = Some((0.0, end));
        let names = rows
            .iter()
            .map(|task| tasks.tasks[*task].name.clone())
            .collect();
        let chart = Chart {
            id,
            title,
            note,
            x,
            y: Axis::names("", names),
            series,
            marks: marks.clone(),
        };
        Block::Drawing(Box::new(Drawing::Chart(chart)), None)
    };
    let worst = match bound.is_some_and(|bound| response > bound) {
        true => format!("the response of {name} that went furthest beyond its bound"),
        false => format!("the response of {name} that came nearest to its bound"),
    };
    let mut blocks = Vec::new();
    if shown.iter().any(|s| rows.contains(&s.task)) {
        blocks.push(chart(
            ids.make(&format!("tasks-critical-{}", run.name)),
            format!("By analysis: the critical instant of {name}{of}"),
            "All tasks are released at once and execute as long as the set says, overheads included; without blocking."
                .to_owned(),
            &shown,
        ));
    }
    blocks.push(chart(
        ids.make(&format!("tasks-worst-{}", run.name)),
        format!("Seen in this run: {worst}{of}"),
        format!(
            "Job of {name} released {} s after the start, response {} {unit}. Begins and ends of jobs were seen; who had the CPU in \
             between is drawn by priority, a gap is nobody of the set.",
            crate::number::digits(window.from_ns.as_secs_f64()),
            micros((window.to_ns - window.from_ns).get() as f64)
        ),
        &seen,
    ));
    blocks
}

/// The tasks of the picture, the most urgent first: those that share a CPU with the one that it is of.
fn rows(tasks: &TasksRun, of: usize) -> Vec<usize> {
    let own = tasks.check.tasks.get(of).map(|bound| &bound.cpus);
    let near =
        |at: &usize| own.is_some_and(|own| !own.common(&tasks.check.tasks[*at].cpus).is_empty());
    let mut rows: Vec<usize> = (0..tasks.check.tasks.len()).filter(near).collect();
    rows.order_by_key(|at| (urgency(tasks, *at), *at));
    rows
}

/// Smaller goes first.
fn urgency(tasks: &TasksRun, task: usize) -> u8 {
    use punctual_model::tasks::TaskPolicy;
    match tasks.check.set.tasks[task].policy {
        policy if policy.is_earliest_first() => 0,
        TaskPolicy::Other => 101,
        fixed => 100 - fixed.priority().unwrap_or(1).min(99),
    }
}

/// Who had the CPU when, of jobs whose begins and ends are known: the most urgent of those that were going on, of
/// `SCHED_DEADLINE` jobs the one that is due first. Jobs on several CPUs are drawn from begin to end.
fn ran(tasks: &TasksRun, jobs: &[WindowJob], from: u64, to: u64) -> Vec<Stretch> {
    let one = |job: &&WindowJob| tasks.check.tasks[job.task].cpus.len() == 1;
    let known = |job: &&WindowJob| job.task < tasks.check.tasks.len();
    let jobs: Vec<&WindowJob> = jobs.iter().filter(known).collect();
    let mut ends: Vec<u64> = jobs
        .iter()
        .flat_map(|job| [job.begin_ns.get(), job.end_ns.get()])
        .chain([from, to])
        .filter(|at| (from..=to).contains(at))
        .collect();
    ends.sort_unstable();
    ends.dedup();
    let due = |job: &WindowJob| job.release_ns + tasks.check.set.tasks[job.task].deadline_ns;
    let mut stretches: Vec<Stretch> = Vec::new();
    let us = |at: u64| (at - from) as f64 / 1e3;
    for pair in ends.windows(2) {
        let [begin, end] = [pair[0], pair[1]];
        let going = jobs
            .iter()
            .copied()
            .filter(|job| job.begin_ns.get() <= begin && job.end_ns.get() >= end);
        let (alone, several): (Vec<&WindowJob>, Vec<&WindowJob>) = going.partition(one);
        let first = alone
            .into_iter()
            .min_by_key(|job| (urgency(tasks, job.task), due(job), job.task));
        for job in several.into_iter().chain(first) {
            let last = stretches
                .iter_mut()
                .rev()
                .find(|s| s.task == job.task && s.job == job.job);
            match last.filter(|last| (last.to - us(begin)).abs() < 1e-9) {
                Some(last) => last.to = us(end),
                None => stretches.push(Stretch {
                    task: job.task,
                    job: job.job,
                    from: us(begin),
                    to: us(end),
                }),
            }
        }
    }
    stretches
}
