// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The tracer's text, and a run on a tree of files that looks like a kernel with the tracer.

use punctual_model::{CheckStatus, Policy, Setup};
use punctual_sys::SysRoot;
use punctual_sys::tracefs::Tracefs;

use super::super::refuse_others;
use super::*;
use crate::frame::testing;

/// As the kernel writes it: headings, a name with brackets, a message, another tracer's line.
const TRACE: &str = "# tracer: timerlat
#
#                                _-----=> irqs-off
#           TASK-PID      CPU# |||||  TIMESTAMP     ID            CONTEXT                LATENCY
          <idle>-0       [000] d.h1.    54.029328: #1     context    irq timer_latency       932 ns
           <...>-867     [000] .....    54.029339: #1     context thread timer_latency     11700 ns
     kworker[1]-99      [001] dNh1.    54.029346: #1     context    irq timer_latency      2833 ns
           <...>-868     [001] .....    54.029353: #1     context thread timer_latency      9820 ns
          <idle>-0       [002] d.h1.    54.029353: #1     context    irq timer_latency       500 ns
CPU:1 [LOST 12 EVENTS]
          <idle>-0       [000] d.h1.    54.030328: #2     context    irq timer_latency       769 ns
           <...>-867     [000] .....    54.030330: #2     context thread timer_latency      3070 ns
            bash-1       [000] .....    54.030331: tracing_mark_write: hello
";

const INTERVAL: Nanos = Nanos::from_millis(1);

fn rows(text: &str, cpus: &str) -> Rows {
    let mut trace = Trace::new(&cpus.parse().unwrap(), INTERVAL, Keep::default());
    // In pieces that end anywhere.
    for piece in text.as_bytes().chunks(7) {
        trace.take(piece);
    }
    trace.rows.flush();
    trace.rows
}

#[test]
fn lines_of_the_tracer_are_read_and_others_are_counted() {
    let found = rows(TRACE, "0-1").conclude(&Policies::new());
    let figures: Vec<_> = found
        .series
        .iter()
        .map(|s| (s.thread, s.context.as_deref().unwrap(), s.count, s.max_ns))
        .collect();
    let expected = [
        (Some(0), "irq", 2, Some(932)),
        (Some(0), "thread", 2, Some(11_700)),
        (Some(1), "irq", 1, Some(2_833)),
        (Some(1), "thread", 1, Some(9_820)),
        (None, "irq", 3, Some(2_833)),
    ];
    assert_eq!(figures, expected);
    assert_eq!((found.total.count, found.total.max_ns), (3, Some(11_700)));
    let check = found
        .checks
        .iter()
        .find(|c| c.id == "trace-records")
        .unwrap();
    assert_eq!(check.status, CheckStatus::Fail);
    assert!(
        check
            .detail
            .contains("7 tracer lines read, 12 lost, 0 not parsed, 1 from")
    );
}

#[test]
fn releases_that_pass_while_a_thread_is_late_are_counted() {
    // 49.5 ms late at 1 ms: 49 releases passed. One that is just in time for the next one passed none.
    let text = "x-1 [000] d. 5.0: #1 context    irq timer_latency 49000000 ns
x-1 [000] d. 5.0: #1 context thread timer_latency 49500000 ns
x-1 [000] d. 5.0: #2 context thread timer_latency 1000000 ns
x-1 [000] d. 5.0: #3 context thread timer_latency 1000001 ns
x-1 [001] d. 5.0: #1 context thread timer_latency 0 ns
";
    let mut rows = rows(text, "0-2");
    let shown = rows.progress(&Policies::new());
    let shown: Vec<_> = shown.series.iter().map(|s| s.overruns).collect();
    assert_eq!(shown, [Some(50), Some(0)]);
    let found = rows.conclude(&Policies::new());
    let threads: Vec<_> = found
        .series
        .iter()
        .filter(|s| s.context.as_deref() == Some("thread"))
        .map(|s| (s.count, s.overruns))
        .collect();
    assert_eq!(threads, [(3, Some(50)), (1, Some(0)), (0, Some(0))]);
    assert_eq!((found.total.count, found.total.overruns), (4, Some(50)));
    let mut irqs = found
        .series
        .iter()
        .filter(|s| s.context.as_deref() == Some("irq"));
    assert!(irqs.all(|s| s.overruns.is_none()));
}

#[test]
fn lines_that_changed_their_form_are_not_skipped_silently() {
    for line in [
        "x-1 [000] d. 5.0: #1 context  moon timer_latency 3 ns",
        "x-1 [000] d. 5.0: #1 context  irq timer_latency 3 us",
        "x-1 [abc] d. 5.0: #1 context  irq timer_latency 3 ns",
        "x-1 000 d. 5.0: #1 context  irq timer_latency 3 ns",
        "CPU:1 [LOST some EVENTS]",
    ] {
        assert_eq!(Line::parse(line), Line::Unknown, "{line}");
    }
    // A thread may have any name.
    for name in ["x-1", "GL context 1-1234", "a context b [3]-7"] {
        let line = format!("{name} [017] d. 5.0: #1 context user-ret timer_latency 42 ns");
        assert_eq!(
            Line::parse(&line),
            Line::Latency {
                cpu: 17,
                context: Context::User,
                ns: 42
            }
        );
    }
}

#[test]
fn a_kernel_with_the_tracer_is_known_and_its_trace_becomes_a_run() {
    let dir = tempfile::tempdir().unwrap();
    let tracing = dir.path().join("sys/kernel/tracing");
    std::fs::create_dir_all(tracing.join("instances/rtla")).unwrap();
    std::fs::write(tracing.join("available_tracers"), "timerlat osnoise nop\n").unwrap();
    std::fs::write(tracing.join("current_tracer"), "nop\n").unwrap();
    std::fs::write(tracing.join("trace"), TRACE).unwrap();
    let sys = SysRoot::at(dir.path());
    let tracefs = Tracefs::open(&sys).unwrap();
    refuse_others(&tracefs).unwrap();
    let used = tracing.join("instances/rtla/current_tracer");
    std::fs::write(used, "timerlat\n").unwrap();
    let err = refuse_others(&tracefs).unwrap_err();
    assert!(err.to_string().contains("instances/rtla"), "{err}");

    let setup = Setup {
        cpus: "0-1".parse().unwrap(),
        priority: Policy::Fifo { priority: 80 },
        duration_ns: Some(Nanos::from_millis(60)),
        ..testing::setup()
    };
    let instrument = |frame: &mut Frame<'_>| {
        let mut pipe = std::fs::File::open(tracing.join("trace")).unwrap();
        let mut trace = Trace::new(&frame.setup().cpus.clone(), INTERVAL, frame.keep());
        // Once at least, also where the machine stalls for all of these 60 ms.
        loop {
            trace.look(frame, &mut pipe, &Policies::new())?;
            if frame.is_over() {
                break;
            }
        }
        Ok(trace.rows.conclude(&Policies::new()))
    };
    let outcome = testing::run_on(&sys, &setup, instrument).unwrap();
    assert_eq!(outcome.found.total.count, 3);
    assert_eq!(outcome.found.histograms.len(), 5);
}

/// A trace to which a line is added for each that is read.
struct Endless(u32);

impl Read for Endless {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0 += 1;
        let line = format!(
            "<...>-867 [000] ..... {}.0: #1 context thread timer_latency 1000 ns\n",
            self.0
        );
        into[..line.len()].copy_from_slice(line.as_bytes());
        Ok(line.len())
    }
}

#[test]
fn a_trace_that_grows_as_fast_as_it_is_read_ends_with_the_run() {
    let mut trace = Trace::new(&"0".parse().unwrap(), INTERVAL, Keep::default());
    let left = std::cell::Cell::new(9);
    let goes_on = || left.replace(left.get() - 1) > 0;
    trace.read(&mut Endless(0), goes_on).unwrap();
    assert_eq!(trace.rows.lines, 10);
}

#[test]
fn what_is_there_is_read_where_the_run_is_over_before_the_first_look() {
    let mut trace = Trace::new(&"0".parse().unwrap(), INTERVAL, Keep::default());
    trace.read(&mut Endless(0), || false).unwrap();
    assert_eq!(trace.rows.lines, 1);
}

/// A pipe that has one of these pieces at a time.
struct Pieces(Vec<&'static str>);

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.pop() {
            None | Some("") => Err(io::ErrorKind::WouldBlock.into()),
            Some(piece) => {
                buffer[..piece.len()].copy_from_slice(piece.as_bytes());
                Ok(piece.len())
            }
        }
    }
}

#[test]
fn a_thread_that_is_late_at_the_end_is_waited_for() {
    let at_the_end = "\
          <idle>-0       [001] d.h1.    54.029328: #1     context    irq timer_latency       932 ns
          <idle>-0       [000] d.h1.    54.029328: #1     context    irq timer_latency       800 ns
           <...>-867     [000] .....    54.029339: #1     context thread timer_latency     11700 ns
";
    let after = "\
          <idle>-0       [000] d.h1.    54.030328: #2     context    irq timer_latency       700 ns
           <...>-867     [000] .....    54.030339: #2     context thread timer_latency     11000 ns
           <...>-868     [001] .....    54.079339: #1     context thread timer_latency  50000000 ns
          <idle>-0       [001] d.h1.    54.080328: #2     context    irq timer_latency       600 ns
           <...>-868     [001] .....    54.080339: #2     context thread timer_latency      9000 ns
";
    let cpus = "0-1".parse().unwrap();
    let ended = |pieces: Vec<&'static str>, within| {
        let mut trace = Trace::new(&cpus, INTERVAL, Keep::default());
        let check = trace.last(&mut Pieces(pieces), within).unwrap();
        (check, trace.conclude(&Policies::new()))
    };
    let (check, found) = ended(vec![after, "", "", at_the_end], Duration::from_secs(60));
    assert!(check.passed(), "{check:?}");
    let threads = found.series.iter();
    let threads: Vec<_> = threads
        .filter(|of| of.context.as_deref() == Some("thread"))
        .map(|of| (of.count, of.max_ns, of.overruns))
        .collect();
    assert_eq!(
        threads,
        [(1, Some(11_700), Some(0)), (1, Some(50_000_000), Some(49)),]
    );

    let (check, found) = ended(vec![at_the_end], Duration::from_millis(20));
    assert_eq!(check.status, CheckStatus::Fail);
    assert!(check.detail.contains("on CPUs 1 did not run"), "{check:?}");
    assert_eq!(found.total.count, 1);
}
