// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Scripts of the kinds that users have around cyclictest.

use std::path::Path;
use std::process::{Command, Stdio};

use super::common::{Home, machine};
use super::link;

/// Runs `script` in a shell whose `cyclictest` is ours; returns what it prints.
fn shell(home: &Home, script: &str) -> String {
    link(home);
    let path = format!("{}:/usr/bin:/bin", home.dir().display());
    let output = Command::new("sh")
        .args(["-e", "-c", script])
        .current_dir(home.dir())
        .env("PATH", path)
        .env("PUNCTUAL_HOME", home.store())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:#?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_maximum_is_cut_out_of_the_histogram() {
    let home = Home::new();
    if !machine::root() {
        return;
    }
    let script = "cyclictest -l200 -m -Sp90 -i200 -h40000 -q >output
        max=`grep 'Max Latencies' output | tr ' ' '\\n' | sort -n | tail -1 | sed s/^0*//`
        grep -v -e '^#' -e '^$' output | tr ' ' '\\t' >histogram
        cores=`grep -c '^# Thread ' output`
        for i in `seq 1 $cores`; do
            column=`expr $i + 1`
            cut -f1,$column histogram >histogram$i
        done
        echo $max $cores `wc -l <histogram` `awk '{n += $2} END {print (n > 0)}' histogram1`";
    let said = shell(&home, script);
    let numbers: Vec<u64> = said
        .split_whitespace()
        .map(|n| n.parse().unwrap())
        .collect();
    let cores = std::thread::available_parallelism().unwrap().get() as u64;
    assert!(numbers[0] > 0);
    assert_eq!(numbers[1..], [cores, 40_000, 1]);
}

#[test]
fn the_thread_line_is_taken_apart_by_a_regular_expression() {
    let home = Home::new();
    if !machine::root() || machine::python().is_none() {
        return;
    }
    let script = r#"cyclictest -q -p 80 -t 2 -l 20 >output
"$PUNCTUAL_PYTHON" - <<'END'
import re
line = re.compile(r"^T:\s*(\d+)\s+\(\s*(\d+)\)\s+P:\s*(\d+)\s+I:\s*(\d+)\s+C:\s*(\d+)\s+"
                  r"Min:\s*(\d+)\s+Act:\s*(\d+)\s+Avg:\s*(\d+)\s+Max:\s*(\d+)")
for found in filter(None, map(line.match, open("output"))):
    n = list(map(int, found.groups()))
    assert n[5] <= n[7] <= n[8] and n[5] <= n[6] <= n[8], n
    print(n[0], n[2], n[3])
END"#;
    assert_eq!(shell(&home, script), "0 80 1000\n1 80 1500\n");
}

#[test]
fn the_json_and_the_histogram_say_the_same() {
    let home = Home::new();
    if !machine::root() || machine::python().is_none() {
        return;
    }
    let script = r#"cyclictest -q -p 80 -t 2 -l 100 -h 50000 --json='it"s.json' >output
"$PUNCTUAL_PYTHON" - <<'END'
import json
document = json.load(open('it"s.json'))
assert 'it"s.json' in document["cmdline:"]
rows = [line.split() for line in open("output") if line[0].isdigit()]
for thread, figures in document["thread"].items():
    column = {int(r[0]): int(r[1 + int(thread)]) for r in rows}
    buckets = {int(k): v for k, v in figures["histogram"].items()}
    assert buckets == {k: v for k, v in column.items() if v}, thread
    assert figures["min"] <= figures["avg"] <= figures["max"]
    assert min(buckets) == figures["min"]
print(document["num_threads"], len(rows))
END"#;
    assert_eq!(shell(&home, script), "2 50000\n");
}

#[test]
fn a_reader_that_has_enough_ends_the_run() {
    let home = Home::new();
    if !machine::root() {
        return;
    }
    let said = shell(
        &home,
        "cyclictest -p 80 | head -1; cyclictest -v -p 80 | head -2",
    );
    assert_eq!(said.lines().count(), 3, "{said}");
}

#[test]
fn a_sum_column_is_split_at_tabs() {
    let home = Home::new();
    if !machine::root() {
        return;
    }
    let script = "cyclictest -q -p 80 -t 3 -l 50 -H 100 |
        awk -F'\\t' '/^[0-9]/ { split($1, a, \" \"); if (a[2]+$2+$3 != $4) bad++; n++ }
                     END { print n, bad+0 }'";
    assert_eq!(shell(&home, script), "100 0\n");
}

#[test]
fn the_values_of_verbose_output_are_counted() {
    let home = Home::new();
    if !machine::root() {
        return;
    }
    let script = "cyclictest -v -p 80 -l 40 | awk -F: 'NF == 3 && $1 ~ /^ *[0-9]+$/ {
        if ($2 + 0 != n) exit 1; n++ } END { print n }'";
    assert_eq!(shell(&home, script), "40\n");
}

#[test]
fn gnuplot_draws_the_histogram_of_every_core() {
    let home = Home::new();
    if !machine::root() || !gnuplot() {
        return;
    }
    // Cut into a file a core and drawn with a logarithmic axis; what gnuplot counted is printed.
    let script = r#"cyclictest -q -m -Sp90 -i500 -l200 -h20000 >output
cores=`grep -c '^# Thread ' output`
grep -v -e '^#' -e '^$' output | tr ' ' '\t' >histogram
printf '%s\n' 'set terminal svg' 'set output "plot.svg"' 'set logscale y' 'set xrange [0:400]' \
    'set yrange [0.8:*]' 'set xlabel "Latency (us)"' >plotcmd
printf 'plot ' >>plotcmd
for i in `seq 1 $cores`; do
    cut -f1,`expr $i + 1` histogram >histogram$i
    test $i = 1 || printf ', ' >>plotcmd
    printf '"histogram%d" using 1:2 title "CPU%d" with histeps' $i $i >>plotcmd
done
echo >>plotcmd
gnuplot -persist <plotcmd 2>complaints
cat complaints
gnuplot -e 'set print "-"; stats "histogram1" using 2 nooutput; print STATS_records, STATS_sum' | tail -1
echo $cores `grep -c '<title>CPU' plot.svg`
grep '^# Total' output | cut -d ' ' -f 3
grep '^# Histogram Overflows' output | cut -d ' ' -f 4"#;
    let said = shell(&home, script);
    let lines: Vec<&str> = said.lines().collect();
    let [counted, curves, total, above] = lines[..] else {
        panic!("{said}")
    };
    let total: f64 = total.parse().unwrap();
    let above: f64 = above.parse().unwrap();
    assert_eq!(total + above, 200.0, "{said}");
    assert_eq!(counted, format!("20000 {total:.1}"), "{said}");
    let cores = std::thread::available_parallelism().unwrap();
    assert_eq!(curves, format!("{cores} {cores}"), "{said}");
}

fn gnuplot() -> bool {
    let found = Path::new("/usr/bin/gnuplot").exists();
    if !found {
        machine::skip("gnuplot", "there is no /usr/bin/gnuplot");
    }
    found
}

#[test]
fn pandas_reads_the_rows() {
    let home = Home::new();
    if !machine::root() || machine::python().is_none() {
        return;
    }
    // The second way takes the first row for a heading: without the row of 0 µs it loses samples.
    let script = r##"cyclictest -q -p 80 -t 2 -i 500 -d 0 -l 300 -h 5000 >output
"$PUNCTUAL_PYTHON" - <<'END'
import pandas as pd
rows = pd.read_csv("output", sep=r"\s+", comment="#", header=None, index_col=0)
assert list(rows.index) == list(range(5000)) and rows.shape[1] == 2, rows.shape
named = pd.read_csv("output", sep=r"\s+", comment="#", index_col=0)
assert (named.to_numpy() == rows.to_numpy()[1:]).all() and len(named) == 4999
said = {}
for line in open("output"):
    name, _, values = line.partition(":")
    if name.startswith("# ") and not name.startswith("# Thread"):
        said[name[2:]] = [int(n) for n in values.split()]
for thread, column in enumerate(rows):
    counts = rows[column]
    filled = counts[counts > 0]
    assert counts.sum() == said["Total"][thread], said
    assert filled.index.min() == said["Min Latencies"][thread], said
    if said["Histogram Overflows"][thread] == 0:
        assert filled.index.max() == said["Max Latencies"][thread], said
        mean = (counts * counts.index).sum() / counts.sum()
        assert int(mean) == said["Avg Latencies"][thread], said
print(max(map(sum, zip(said["Total"], said["Histogram Overflows"]))))
END"##;
    assert_eq!(shell(&home, script), "300\n");
}
