// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

use super::*;

const CPUS: u32 = 4;

fn parsed(line: &[&str]) -> Result<Options, Refused> {
    let args: Vec<String> = line.iter().map(ToString::to_string).collect();
    let listed = |list: &str| u32::try_from(list.split(',').count()).unwrap();
    parse(&args, |list| list.map_or(CPUS, listed))
}

fn words(line: &str) -> Options {
    parsed(&line.split_whitespace().collect::<Vec<_>>()).unwrap()
}

/// What a line comes to, in the words of this test.
fn summary(o: &Options) -> String {
    let affinity = match &o.affinity {
        Affinity::Unbound => "-",
        Affinity::Every => "each",
        Affinity::Listed(list) => list,
    };
    format!(
        "{:?}:{} t{} a{affinity} i{} d{} l{} h{}",
        o.class,
        o.priority,
        o.threads,
        o.interval_us,
        o.distance_us,
        o.loops,
        o.histogram.unwrap_or(0)
    )
}

#[test]
fn lines_mean_what_they_mean_to_the_original() {
    for (line, expected) in [
        ("", "Other:0 t1 a- i1000 d500 l0 h0"),
        ("-p80 -t5 -n -m -l 100", "Fifo:80 t5 a- i1000 d500 l100 h0"),
        ("-t -p 1", "Fifo:1 t4 a- i1000 d500 l0 h0"),
        ("-t 0 -p 1", "Fifo:1 t4 a- i1000 d500 l0 h0"),
        ("-t -a 1,2,3", "Other:0 t3 a1,2,3 i1000 d500 l0 h0"),
        (
            "-a1,2 -t --policy=rr",
            "RoundRobin:3 t2 a1,2 i1000 d500 l0 h0",
        ),
        ("-t -a", "Other:0 t4 aeach i1000 d500 l0 h0"),
        ("-t 2 -a 1", "Other:0 t2 a1 i1000 d500 l0 h0"),
        ("-a 1 -t -S", "Other:0 t4 aeach i1000 d500 l0 h0"),
        ("-t3 -a", "Other:0 t3 aeach i1000 d500 l0 h0"),
        ("-a -q", "Other:0 t1 aeach i1000 d500 l0 h0"),
        ("-a0-1", "Other:0 t1 a0-1 i1000 d500 l0 h0"),
        ("-a 0-1 -q", "Other:0 t1 a0-1 i1000 d500 l0 h0"),
        ("--affinity=1 --threads=2", "Other:0 t2 a1 i1000 d500 l0 h0"),
        ("--affinity 1 --threads 2", "Other:0 t2 a1 i1000 d500 l0 h0"),
        (
            "-Sp90 -i200 -h50 -q -l500 -m",
            "Fifo:90 t4 aeach i200 d0 l500 h50",
        ),
        ("-S -t 3 -a 0", "Other:0 t4 aeach i1000 d500 l0 h0"),
        ("-h 10 -d 50", "Other:0 t1 a- i1000 d0 l0 h10"),
        ("-h 2000000", "Other:0 t1 a- i1000 d0 l0 h1000000"),
        ("-smp -p 80", "Fifo:2 t1 a- i1000 d500 l0 h0"),
        ("-p 0", "Fifo:2 t1 a- i1000 d500 l0 h0"),
        ("-t3 --priospread", "Fifo:4 t3 a- i1000 d500 l0 h0"),
        ("--policy=rr", "RoundRobin:2 t1 a- i1000 d500 l0 h0"),
        ("--policy=rr -p 7", "RoundRobin:7 t1 a- i1000 d500 l0 h0"),
        ("-p 7 --policy=other", "Fifo:7 t1 a- i1000 d500 l0 h0"),
        ("--policy=nonsense", "Other:0 t1 a- i1000 d500 l0 h0"),
        ("--policy=BATCH", "Batch:0 t1 a- i1000 d500 l0 h0"),
        ("-l -1", "Other:0 t1 a- i1000 d500 l0 h0"),
        ("--prio 80 --nanosleep", "Fifo:80 t1 a- i1000 d500 l0 h0"),
        ("--prior=80 --int=7", "Fifo:80 t1 a- i7 d500 l0 h0"),
        ("stray -q words", "Other:0 t1 a- i1000 d500 l0 h0"),
        ("--notrace -n -u", "Other:0 t1 a- i1000 d500 l0 h0"),
        ("-D -1", "Other:0 t1 a- i1000 d500 l1 h0"),
        ("-D-1m -l 7", "Other:0 t1 a- i1000 d500 l1 h0"),
        ("-a 0x1 -t2", "Other:0 t2 a0x1 i1000 d500 l0 h0"),
        ("-a foo", "Other:0 t1 aeach i1000 d500 l0 h0"),
    ] {
        assert_eq!(summary(&words(line)), expected, "{line}");
    }
}

#[test]
fn the_values_of_other_programs_are_understood() {
    let line = ["", "-i100", "-qmu", "-h 3500", "-p95", "-t2", "-a0-1", ""];
    let options = parsed(&line).unwrap();
    assert_eq!(summary(&options), "Fifo:95 t2 a0-1 i100 d0 l0 h3500");
    assert!(options.quiet && options.mlock);
}

#[test]
fn alignment_takes_its_value_glued_or_apart() {
    for (line, expected) in [
        ("--secaligned", (None, Some(0))),
        ("--secaligned=200", (None, Some(200))),
        ("--secaligned 200", (None, Some(200))),
        ("--secaligned -q", (None, Some(0))),
        ("-A 50", (Some(50), None)),
        ("-A50", (Some(50), None)),
        ("-A -q", (Some(0), None)),
        ("--aligned 7", (Some(7), None)),
    ] {
        let options = words(line);
        assert_eq!(
            (options.aligned_us, options.secaligned_us),
            expected,
            "{line}"
        );
    }
}

#[test]
fn idle_states_are_bounded_unless_told_otherwise() {
    for (line, expected) in [
        ("", IdleStates::Bound(0)),
        ("--latency=100", IdleStates::Bound(100)),
        ("-e -1", IdleStates::Bound(0)),
        ("--laptop", IdleStates::Laptop),
        ("--default-system", IdleStates::Untouched),
        ("--deepest-idle-state=-1", IdleStates::Deepest(-1)),
    ] {
        assert_eq!(words(line).idle, expected, "{line}");
    }
}

#[test]
fn mistakes_that_pass_are_remarked_upon() {
    for (line, part) in [
        ("-smp -p 80", "\"-smp -p 80\" is -s -m -p"),
        ("-p 0", "defaulting realtime priority to 2"),
        ("-p 5 --policy=idle", "setting policy to SCHED_FIFO"),
        ("-S -t 3", "WARN: -t ignored due to smp mode"),
        ("-a 0 -S", "WARN: -a ignored due to smp mode"),
        ("-S -a 0", "WARN: -a ignored due to smp mode"),
    ] {
        let said = words(line).remarks.join("\n");
        assert!(said.contains(part), "{line}: {said}");
    }
    assert!(words("-m -p 80 -t2 -a").remarks.is_empty());
}

#[test]
fn values_that_cannot_be_are_refused() {
    for line in [
        "-p 100",
        "-p -5",
        "-h 0",
        "-H0",
        "-h -4",
        "-t0",
        "-t=2",
        "-t 9999",
        "-i 0",
        "-i -5",
        "-d -5",
        "-c 2",
        "-c 7",
        "-o 5",
        "-v -o -1",
        "-v -o 0",
        "-o foo",
        "-a -1",
        "-a -1 --bogus",
        "-A 1 --secaligned",
    ] {
        let refused = parsed(&line.split_whitespace().collect::<Vec<_>>()).unwrap_err();
        let Refused::Bad(said) = refused else {
            panic!("{line}: {refused:?}");
        };
        assert!(
            said.iter().all(|s| s.starts_with("WARN: ")),
            "{line}: {said:?}"
        );
    }
}

#[test]
fn the_store_is_named_as_for_every_verb() {
    for line in ["--home /a/b -q", "-q --home=/a/b"] {
        assert_eq!(words(line).home.as_deref(), Some("/a/b".as_ref()), "{line}");
    }
    let without = parsed(&["-q", "--home"]).unwrap_err();
    assert!(matches!(without, Refused::Unknown(_, false)));
}

#[test]
fn unknown_options_are_told_from_help() {
    let unknown = |line: &[&str]| parsed(line).unwrap_err();
    assert_eq!(unknown(&["-q", "--help"]), Refused::Help);
    assert!(matches!(unknown(&["--bogus"]), Refused::Unknown(_, false)));
    assert!(matches!(
        unknown(&["--strict-exit", "-z"]),
        Refused::Unknown(_, true)
    ));
    assert!(matches!(unknown(&["-p"]), Refused::Unknown(_, false)));
}
