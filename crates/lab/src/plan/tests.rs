// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

use punctual_model::Nanos;

use super::*;

const TEXT: &str = r#"
    name = "two-by-two"
    seed = 5
    compare = ["p99"]
    [[measure]]
    instrument = "wakeup"
    options = { cpus = "1", duration = "2s", raw = true, deadline = ["50us", "1ms"] }
    [[factor]]
    name = "dma"
    option = "dma-latency"
    levels = ["0us", "off"]
    [[factor]]
    name = "load"
    load = true
    levels = { idle = "none", busy = "cpu:2" }
    [stop]
    blocks = 3
"#;

fn planned(text: &str) -> (Experiment, Plan) {
    let experiment = Experiment::parse("x.toml", text).unwrap();
    let plan = Plan::of("x.toml", &experiment, 5).unwrap();
    (experiment, plan)
}

#[test]
fn every_level_meets_every_other() {
    let (experiment, plan) = planned(TEXT);
    let names: Vec<String> = (0..4).map(|c| plan.cell_name(c)).collect();
    assert_eq!(
        names,
        [
            "dma=0us load=idle",
            "dma=0us load=busy",
            "dma=off load=idle",
            "dma=off load=busy"
        ]
    );
    assert_eq!(plan.runs(), 12);
    let stated = stated_time(&experiment, &plan);
    assert_eq!(
        (stated.time, stated.open_runs),
        (Nanos::from_secs(8), 0),
        "four cells of 2 s"
    );
    let unstated = TEXT.replace("duration = \"2s\", ", "");
    assert_ne!(unstated, TEXT);
    let (experiment, plan) = planned(&unstated);
    let stated = stated_time(&experiment, &plan);
    assert_eq!((stated.time, stated.open_runs), (Nanos::ZERO, 4));
}

#[test]
fn a_cell_is_a_command_line() {
    let (experiment, plan) = planned(TEXT);
    let line = |cell: usize| {
        let run = invocation(&experiment, &plan.cells[cell], 0).unwrap();
        run.arguments.join(" ")
    };
    assert_eq!(
        line(1),
        "measure wakeup --cpus=1 --deadline=50us --deadline=1ms --dma-latency=0us --duration=2s \
         --raw --load=cpu:2"
    );
    assert!(!line(0).contains("--load"));
}

#[test]
fn an_option_can_have_the_number_of_its_block() {
    let (experiment, plan) = planned(&TEXT.replace("cpu:2", "cpu:{block}"));
    let run = |block| {
        let run = invocation(&experiment, &plan.cells[1], 0).unwrap();
        run.in_block(block).arguments.join(" ")
    };
    assert!(run(0).ends_with("--load=cpu:1") && run(6).ends_with("--load=cpu:7"));
}

#[test]
fn a_level_can_set_several_things_and_levels_can_be_left_out() {
    let bundle = r#"
    [[factor]]
    name = "step"
    [factor.levels.none]
    options = { cpus = "0" }
    [factor.levels.all]
    options = { raw = false, threads = 2 }
    load = ["memory"]
    tune = "raju"
    set = ["cpufreq.governor=performance"]
    env = { X = 1 }
    [stop]"#;
    let text = TEXT.replace("[stop]", bundle);
    let (experiment, mut plan) = planned(&text);
    let run = |cell: usize| invocation(&experiment, &plan.cells[cell], 0).unwrap();
    let line = |cell: usize| run(cell).arguments.join(" ");
    assert!(line(0).contains("--cpus=0 "), "{}", line(0));
    assert_eq!(
        line(3),
        "measure wakeup --cpus=1 --deadline=50us --deadline=1ms --dma-latency=0us --duration=2s \
         --raw --threads=2 --load=cpu:2 --load=memory --tune=raju --set=cpufreq.governor=performance"
    );
    assert_eq!(run(3).env["X"], "1");
    assert_eq!(plan.cells.len(), 8);
    assert_eq!(plan.without_level("step", "all", "why".to_owned()), 4);
    assert!((0..4).all(|cell| plan.cell_name(cell).ends_with("step=none")));
    plan.without_measurement("wakeup", "why".to_owned());
    assert_eq!(plan.skipped.len(), 2);
    assert!(
        experiment
            .clone()
            .only(&plan.measurements)
            .measurements
            .is_empty()
    );
    for (from, to, part) in [
        (
            "tune = \"raju\"",
            "tone = \"raju\"",
            "\"all\": unknown field `tone`, expected one of",
        ),
        (
            "=performance",
            "",
            "\"all\": expected set to be a list of KNOB=VALUE",
        ),
        (
            "name = \"step\"",
            "name = \"step\"\nload = true",
            "expected a string or a number",
        ),
    ] {
        let err = Experiment::parse("x.toml", &text.replace(from, to)).unwrap_err();
        assert!(err.to_string().contains(part), "{err}");
    }
}

#[test]
fn a_run_is_tagged_with_its_block_and_levels_unless_it_only_warms_up() {
    let text = TEXT
        .replace("[stop]", "[stop]\n")
        .replace("seed = 5", "seed = 5\nwarm-up-blocks = 1");
    let (_, plan) = planned(&text);
    let slot = |block| Slot {
        block,
        position: 0,
        cell: 1,
        measurement: 0,
    };
    let tags = |block| -> Vec<String> {
        let tags = plan.tags(slot(block)).into_iter();
        tags.map(|(key, value)| format!("{key}={value}")).collect()
    };
    assert_eq!(tags(0), ["experiment=two-by-two", "warm-up=yes"]);
    assert_eq!(
        tags(3),
        ["block=2", "dma=0us", "experiment=two-by-two", "load=busy"]
    );
}

#[test]
fn a_level_sets_or_removes_a_variable_of_the_environment() {
    let third = "[[factor]]\nname = \"arenas\"\nenv = \"MALLOC_ARENA_MAX\"\n\
                 levels = [\"unset\", \"1\"]\n[stop]";
    let text = TEXT.replace("[stop]", third).replace(
        "instrument = \"wakeup\"",
        "instrument = \"wakeup\"\nenv = { MALLOC_ARENA_MAX = \"8\", LC_ALL = \"C\" }",
    );
    let (experiment, plan) = planned(&text);
    assert_eq!(plan.cells.len(), 8);
    let mut seen = Vec::new();
    for cell in &plan.cells {
        let what = invocation(&experiment, cell, 0).unwrap();
        assert_eq!(what.env["LC_ALL"], "C");
        seen.push(what.env.get("MALLOC_ARENA_MAX").cloned());
    }
    seen.sort();
    assert_eq!(seen[..4], [const { None }; 4]);
    assert!(seen[4..].iter().all(|value| value.as_deref() == Some("1")));
}

#[test]
fn left_out_combinations_are_left_out() {
    let text = TEXT.replace(
        "[stop]",
        "[[exclude]]\ndma = \"off\"\nload = \"busy\"\n[stop]",
    );
    let (_, plan) = planned(&text);
    assert_eq!(plan.cells.len(), 3);
}

#[test]
fn a_fraction_states_its_aliases() {
    let third =
        "[[factor]]\nname = \"raw\"\noption = \"raw\"\nlevels = [\"false\", \"true\"]\n[stop]";
    let text = format!(
        "design = \"resolution-three\"\n{}",
        TEXT.replace("[stop]", third)
    );
    let (_, plan) = planned(&text);
    assert_eq!(plan.cells.len(), 4);
    assert_eq!(
        plan.aliases,
        ["dma = load x raw", "load = dma x raw", "raw = dma x load"]
    );
}

#[test]
fn errors_name_the_line_the_key_and_what_was_expected() {
    for (from, to, part) in [
        ("blocks = 3", "blocks = 0", "expected 1 to 100000"),
        ("blocks = 3", "blocs = 3", "unknown field `blocs`"),
        ("seed = 5", "seed = -5", "expected u64"),
        ("load = true", "loud = true", "unknown field `loud`"),
        ("load = true", "", "exactly one of option"),
        ("\"0us\", \"off\"", "\"off\"", "two or more"),
        ("compare = [\"p99\"]", "compare = []", "at least one figure"),
        ("cpus = \"1\"", "json = true", "reserved for the experiment"),
        ("name = \"two-by-two\"", "name = \"a/b\"", "letters"),
    ] {
        let text = TEXT.replacen(from, to, 1);
        let err = Experiment::parse("x.toml", &text).unwrap_err().to_string();
        assert!(err.contains(part), "{to}: {err}");
        let line = err.split([' ', ':']).nth(2).and_then(|n| n.parse().ok());
        let line: usize = line.unwrap_or_else(|| panic!("{err}"));
        let changed = TEXT[..TEXT.find(from).unwrap()].lines().count();
        // At the key, or at the table that it stands in or is missing from.
        assert!(
            (1..=changed + 1).contains(&line) && line + 4 > changed,
            "{to}: {err}"
        );
    }
    let text = TEXT.replace("[stop]", "[[exclude]]\ndma = \"on\"\n[stop]");
    let err = Experiment::parse("x.toml", &text).unwrap_err().to_string();
    assert!(err.contains("one of 0us, off"), "{err}");
}

/// Two kernels over one measurement.
const KERNELS: &str = r#"
name = "kernels"
compare = ["p99"]
[[measure]]
instrument = "wakeup"
options = { samples = 20 }
[[factor]]
name = "kernel"
target = true
levels = { stock = "guest:/k/stock,virtual-time,append=preempt=none", rt = "guest:/k/rt,virtual-time" }
[stop]
blocks = 3
"#;

#[test]
fn a_kernel_is_a_level_and_each_block_a_seed() {
    let (experiment, plan) = planned(KERNELS);
    let run = |cell: usize, block| {
        let run = invocation(&experiment, &plan.cells[cell], 0).unwrap();
        run.in_block(block).arguments.join(" ")
    };
    let seeds: Vec<String> = (0..3).map(|block| run(1, block)).collect();
    assert_eq!(
        seeds[0],
        "measure wakeup --samples=20 --target=guest:/k/rt,virtual-time,seed=1"
    );
    assert!(seeds[1].ends_with("seed=2") && seeds[2].ends_with("seed=3"));
    assert!(run(0, 0).ends_with("append=preempt=none,seed=1"));
    assert_eq!(guest_runs(&experiment, &plan), 2);
}

#[test]
fn this_machine_is_a_level_beside_guests_in_real_time() {
    let text = KERNELS
        .replace("guest:/k/stock,virtual-time,append=preempt=none", "here")
        .replace(",virtual-time", ",machine=kvm");
    let (experiment, plan) = planned(&text);
    let line = |cell: usize| {
        let run = invocation(&experiment, &plan.cells[cell], 0).unwrap();
        run.arguments.join(" ")
    };
    assert_eq!(line(0), "measure wakeup --samples=20");
    assert!(line(1).ends_with("--target=guest:/k/rt,machine=kvm"));
    assert_eq!(guest_runs(&experiment, &plan), 1);
}

#[test]
fn wrong_targets_are_errors_with_their_line() {
    for (from, to, part) in [
        (
            "guest:/k/rt,virtual-time",
            "here",
            "\"stock\" is in virtual time, \"rt\" in real time",
        ),
        (
            "guest:/k/rt",
            "/k/rt",
            "\"rt\": expected `here` or guest:KERNEL",
        ),
        ("guest:/k/rt", "guest:", "path of a kernel"),
        (
            "rt,virtual-time",
            "rt,virtual-time,seed=7",
            "`seed=7` would make every block a copy",
        ),
        ("target = true", "target = false", "target = true"),
        (
            "samples = 20",
            "target = \"x\"",
            "\"target\": expected `here` or guest:KERNEL",
        ),
    ] {
        let text = KERNELS.replacen(from, to, 1);
        let err = Experiment::parse("k.toml", &text).unwrap_err().to_string();
        assert!(err.contains(part), "{to}: {err}");
        let line = err
            .split([' ', ':', ','])
            .nth(3)
            .and_then(|n| n.parse().ok());
        let line: usize = line.unwrap_or_else(|| panic!("{err}"));
        let changed = KERNELS[..KERNELS.find(from).unwrap()].lines().count();
        assert!(line.abs_diff(changed) <= 3, "{to}: {err}");
    }
}

#[test]
fn cells_come_as_they_are_written_where_the_file_says_so() {
    let (_, random) = planned(TEXT);
    let text = TEXT.replace("seed = 5", "seed = 5\n    order = \"as-written\"");
    let (_, plan) = planned(&text);
    for block in 0..20 {
        let cells: Vec<u32> = plan.block(block).iter().map(|slot| slot.cell).collect();
        assert_eq!(cells, [0, 1, 2, 3]);
    }
    let shuffled = |block| {
        let cells = random.block(block);
        cells.iter().map(|slot| slot.cell).ne(0..4)
    };
    assert!((0..20).any(shuffled));
    // What is kept of a plan says it, and an older plan is random.
    let kept = serde_json::to_value(&plan).unwrap();
    assert_eq!(kept["as_written"], true);
    assert!(
        serde_json::to_value(&random)
            .unwrap()
            .get("as_written")
            .is_none()
    );
    let err = Experiment::parse("x.toml", &text.replace("as-written", "sorted")).unwrap_err();
    assert!(err.to_string().contains("as-written"), "{err}");
}
