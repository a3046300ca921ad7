// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is exported is what was measured.
#![expect(clippy::unwrap_used, reason = "test helpers")]

mod common;

use std::convert::Infallible;
use std::io::{self, Write as _};
use std::process::Command;

use common::{misses, run, sample, samples};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::RowAccessor as _;
use punctual_model::{Better, Check, Figure, Interval, RunListFigures, RunRecord, ThreadSample};
use punctual_report::export::{
    Columns, Counted, ExportError, csv_buckets, csv_contexts, csv_distributions, csv_figures,
    csv_histogram, csv_samples, csv_summary, json_run, json_samples, parquet_samples,
};
use punctual_stats::{LatencyHistogram, ThreadHistogram};

fn extremes() -> impl Iterator<Item = Result<ThreadSample, Infallible>> {
    [sample(0, 0, 0), sample(u32::MAX, u64::MAX, u64::MAX)]
        .map(Ok)
        .into_iter()
}

#[test]
fn samples_as_csv_have_the_documented_header() {
    let mut out = Vec::new();
    assert_eq!(csv_samples(samples(2), Columns::ALL, &mut out).unwrap(), 2);
    let text = String::from_utf8(out).unwrap();
    assert_eq!(
        text,
        "thread,cpu,t_ns,latency_ns\n0,0,0,1000\n1,1,500000,1001\n"
    );
}

#[test]
fn samples_as_json_are_one_array() {
    for n in [0, 1, 3] {
        let mut out = Vec::new();
        assert_eq!(json_samples(samples(n), Columns::ALL, &mut out).unwrap(), n);
        let read: Vec<ThreadSample> = serde_json::from_slice(&out).unwrap();
        let written: Vec<_> = samples(n).map(Result::unwrap).collect();
        assert_eq!(read, written);
    }
}

#[test]
fn counts_of_instructions_are_marked_in_every_row_and_file() {
    let counted = Columns {
        counted: true,
        ..Columns::ALL
    };
    let mut out = Vec::new();
    let mut rows = Counted::new(&mut out);
    csv_samples(samples(2), counted, &mut rows).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "thread,cpu,t_ns,latency_ns,time\n0,0,0,1000,virtual\n1,1,500000,1001,virtual\n"
    );
    // Rows come in whatever pieces.
    let mut pieces = Vec::new();
    let mut rows = Counted::new(&mut pieces);
    for piece in ["a,", "b\n1", ",2\n3,4", "\n"] {
        rows.write_all(piece.as_bytes()).unwrap();
    }
    assert_eq!(pieces, b"a,b,time\n1,2,virtual\n3,4,virtual\n");

    let mut out = Vec::new();
    json_samples(samples(1), counted, &mut out).unwrap();
    let read: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(read[0]["time"], "virtual");
    let metadata = |columns| {
        let mut out = Vec::new();
        parquet_samples(samples(1), columns, &mut out).unwrap();
        let file = SerializedFileReader::new(bytes(out)).unwrap();
        let metadata = file.metadata().file_metadata().key_value_metadata();
        metadata.map(|all| (all[0].key.clone(), all[0].value.clone()))
    };
    let mark = ("time".to_owned(), Some("virtual".to_owned()));
    assert_eq!(metadata(counted), Some(mark));
    assert_eq!(metadata(Columns::ALL), None);
}

#[test]
fn samples_as_parquet_keep_every_bit() {
    let mut out = Vec::new();
    assert_eq!(
        parquet_samples(extremes(), Columns::ALL, &mut out).unwrap(),
        2
    );
    let file = SerializedFileReader::new(bytes(out)).unwrap();
    let rows: Vec<_> = file
        .get_row_iter(None)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1].get_uint(0).unwrap(), u32::MAX);
    assert_eq!(rows[1].get_uint(1).unwrap(), u32::MAX);
    assert_eq!(rows[1].get_ulong(2).unwrap(), u64::MAX);
    assert_eq!(rows[1].get_ulong(3).unwrap(), u64::MAX);
}

#[test]
fn no_samples_are_a_whole_parquet_file() {
    let mut out = Vec::new();
    assert_eq!(
        parquet_samples(samples(0), Columns::ALL, &mut out).unwrap(),
        0
    );
    let file = SerializedFileReader::new(bytes(out)).unwrap();
    assert_eq!(file.metadata().file_metadata().num_rows(), 0);
}

#[test]
fn row_groups_bound_the_memory() {
    let mut out = Vec::new();
    parquet_samples(samples(300_000), Columns::ALL, &mut out).unwrap();
    let file = SerializedFileReader::new(bytes(out)).unwrap();
    assert_eq!(file.num_row_groups(), 2);
}

/// pyarrow is what users read it with. `PUNCTUAL_PYTHON` names a Python that has it, and `scipy` in
/// `PUNCTUAL_TEST_REQUIRE` says that there must be one: both come with the same environment.
#[test]
fn pyarrow_reads_the_parquet_file() {
    let Ok(python) = std::env::var("PUNCTUAL_PYTHON") else {
        let required = std::env::var("PUNCTUAL_TEST_REQUIRE").unwrap_or_default();
        assert!(
            !required.split(',').any(|name| name == "scipy"),
            "PUNCTUAL_PYTHON is not set"
        );
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("samples.parquet");
    let mut file = std::fs::File::create(&path).unwrap();
    parquet_samples(samples(300_000).chain(extremes()), Columns::ALL, &mut file).unwrap();
    let script = "
import sys, pyarrow.parquet as pq
table = pq.read_table(sys.argv[1])
print(table.num_rows, *[f'{f.name}:{f.type}' for f in table.schema])
print(*[table.column(c)[-1] for c in table.column_names])
print(table.column('latency_ns')[299999])
";
    let output = Command::new(python)
        .arg("-c")
        .arg(script)
        .arg(&path)
        .output()
        .unwrap();
    let expected = samples(300_000).last().unwrap().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        format!(
            "300002 thread:uint32 cpu:uint32 t_ns:uint64 latency_ns:uint64\n{} {} {} {}\n{}\n",
            u32::MAX,
            u32::MAX,
            u64::MAX,
            u64::MAX,
            expected.latency_ns
        )
    );
}

#[test]
fn an_error_in_the_samples_ends_the_export() {
    let broken = || {
        let cut = io::Error::new(io::ErrorKind::UnexpectedEof, "cut short");
        [Ok(sample(0, 0, 1)), Err(cut)]
    };
    let mut out = Vec::new();
    let results = [
        csv_samples(broken(), Columns::ALL, &mut out),
        json_samples(broken(), Columns::ALL, &mut out),
        parquet_samples(broken(), Columns::ALL, &mut out),
    ];
    for result in results {
        let err = result.unwrap_err();
        assert!(matches!(err, ExportError::Samples(_)), "{err:?}");
        assert_eq!(err.to_string(), "cut short");
    }
}

#[test]
fn a_full_output_is_an_error() {
    let mut small = [0; 64];
    let err = csv_samples(samples(9_999), Columns::ALL, &mut &mut small[..]).unwrap_err();
    assert!(matches!(err, ExportError::Write(_)), "{err:?}");
    let err = json_samples(samples(9_999), Columns::ALL, &mut &mut small[..]).unwrap_err();
    assert!(matches!(err, ExportError::Write(_)), "{err:?}");
    let err = parquet_samples(samples(9_999), Columns::ALL, &mut &mut small[..]).unwrap_err();
    assert!(matches!(err, ExportError::Parquet(_)), "{err:?}");
    assert!(csv_summary(&run(), &mut &mut small[..]).is_err());
    assert!(json_run(&run(), &mut &mut small[..]).is_err());
}

#[test]
fn a_run_with_a_failed_check_is_valid_in_no_table() {
    let mut record = run();
    record.checks.push(Check::fail("steal", "40 %"));
    assert!(record.valid);
    let mut out = Vec::new();
    csv_summary(&record, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    for row in text.lines().skip(1) {
        assert!(row.contains(",false,") && !row.contains(",true,"), "{row}");
    }
    assert!(!RunListFigures::of(&record).valid);
}

#[test]
fn the_summary_has_a_row_a_thread_and_the_total() {
    let mut record = run();
    record.total.misses = misses(&[(50, 7), (1_000, 0)]);
    record.series[1].policy = Some("a,\"b".to_owned());
    let mut out = Vec::new();
    csv_summary(&record, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let rows: Vec<_> = text.lines().collect();
    assert_eq!(rows.len(), 4);
    assert!(rows[0].ends_with(
        "warm_up_samples,p50_ns,p99_ns,p99.9_ns,p99.999_ns,psquare_p5_ns,psquare_p50_ns,\
         psquare_p95_ns,psquare_p99_ns,above_50000_ns,overruns_above_50000_ns,\
         above_1000000_ns,overruns_above_1000000_ns"
    ));
    assert!(rows[1].starts_with(
        "019aa0f0-1234-7abc-8def-0123456789ab,true,0,0,f:80,1000000,50000,1012,41870,2310.25,"
    ));
    assert!(rows[1].ends_with(",2101,9407,22015,,1400,2100.5,5000,9400.75,,,,"));
    assert!(rows[2].contains(",1,1,\"a,\"\"b\",1000000,"));
    assert!(rows[3].contains(",all,,,,100000,"));
    assert!(rows[3].ends_with(",7,0,0,0"));
    let columns = |row: &str| row.split(',').count();
    assert_eq!(columns(rows[0]), columns(rows[1]));
}

#[test]
fn results_have_a_row_a_figure_and_a_column_a_label() {
    let mut record = run();
    let gflops = Figure {
        count: 5,
        interval: Some(Interval {
            low: 90.5,
            high: 97.5,
            confidence: 0.95,
        }),
        ..Figure::single("gflops", "GFLOPS", Better::Higher, 94.0).at("n", 4_000)
    };
    let peak = Figure::single("peak", "GFLOPS", Better::Neither, 117.0).at("threads", "a,b");
    record.figures = vec![peak, gflops];
    let mut out = Vec::new();
    csv_figures(&record, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let rows: Vec<_> = text.lines().collect();
    assert_eq!(
        rows[0],
        "run,valid,instrument,figure,n,threads,value,unit,better,count,low,high,confidence,stddev,min,max"
    );
    assert!(
        rows[1].ends_with(",peak,,\"a,b\",117,GFLOPS,neither,1,,,,,,"),
        "{text}"
    );
    assert!(
        rows[2].ends_with(",gflops,4000,,94,GFLOPS,higher,5,90.5,97.5,0.95,,,"),
        "{text}"
    );
    assert_eq!(rows.len(), 3);
    assert!(csv_figures(&record, &mut &mut [0; 10][..]).is_err());
}

#[test]
fn the_histogram_has_a_row_a_bucket() {
    let mut histogram = LatencyHistogram::default();
    histogram.record_slice(&[5, 5, 100_000]);
    let mut out = Vec::new();
    csv_histogram([(0, &histogram), (3, &histogram)], &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let rows: Vec<_> = text.lines().collect();
    assert_eq!(rows[..2], ["thread,from_ns,to_ns,count", "0,5,5,2"]);
    assert_eq!(rows.len(), 5);
    let bucket: Vec<u64> = rows[4].split(',').map(|n| n.parse().unwrap()).collect();
    assert_eq!((bucket[0], bucket[3]), (3, 1));
    assert!((bucket[1]..=bucket[2]).contains(&100_000));
}

#[test]
fn buckets_of_several_kinds_say_which() {
    let table = "thread,from_ns,to_ns,count\n0,1000,1999,3\n1,2000,2999,4\n";
    let mut record = run();
    record.series.truncate(1);
    let second = record.series[0].clone();
    record.series.push(second);
    let written = |record: &RunRecord| {
        let mut out = Vec::new();
        csv_buckets(record, table.as_bytes(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(written(&record), table);
    for ((thread, context), series) in (0..).zip(["irq", "a,b"]).zip(&mut record.series) {
        (series.thread, series.context) = (Some(thread), Some(context.to_owned()));
    }
    assert_eq!(
        written(&record),
        "thread,context,from_ns,to_ns,count\n0,irq,1000,1999,3\n1,\"a,b\",2000,2999,4\n"
    );
}

#[test]
fn distributions_sum_up_to_one_in_every_context() {
    let mut histogram = LatencyHistogram::default();
    histogram.record_slice(&[5, 5, 900, 1_000, 2_500, 1_000_000]);
    let part = |context: Option<&str>| ThreadHistogram {
        thread: Some(0),
        context: context.map(ToOwned::to_owned),
        histogram: histogram.clone(),
    };
    let text = |bin: u64| {
        let items = [part(Some("handler")), part(None)];
        let mut out = Vec::new();
        csv_distributions(&items, bin, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let own = text(0);
    let rows: Vec<&str> = own.lines().collect();
    assert_eq!(
        rows[0],
        "thread,context,from_ns,to_ns,count,density_per_ns,cumulative"
    );
    assert_eq!(rows[1], format!("0,handler,5,5,2,{0},{0}", 2.0 / 6.0));
    assert_eq!(rows.len(), 1 + 2 * 5);
    assert!(rows[5].ends_with(",1") && rows[6].starts_with("0,,5,5,2,"));
    // The density times the width of its bin sums up to one, whatever the bins.
    for bin in [0, 7, 1_000, 1 << 40] {
        let text = text(bin);
        let mut sum = 0.0;
        let mut last = None;
        for row in text
            .lines()
            .skip(1)
            .take_while(|row| row.contains("handler"))
        {
            let cells: Vec<&str> = row.split(',').collect();
            let n = |i: usize| cells[i].parse::<f64>().unwrap();
            assert!(last.is_none_or(|to| n(2) > to), "bins overlap: {text}");
            last = Some(n(3));
            sum += n(5) * (n(3) - n(2) + 1.0);
        }
        assert!((sum - 1.0).abs() < 1e-9, "{bin}: {sum}");
    }
    let micros = text(1_000);
    assert!(
        micros.contains("0,handler,0,999,3,0.0005,0.5\n"),
        "{micros}"
    );
}

#[test]
fn histograms_of_several_contexts_name_them() {
    let mut histogram = LatencyHistogram::default();
    histogram.record_slice(&[5, 5]);
    let item = ThreadHistogram {
        thread: None,
        context: Some("wake-up".to_owned()),
        histogram,
    };
    let mut out = Vec::new();
    csv_contexts([&item], &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(
        text,
        "thread,context,from_ns,to_ns,count\nall,wake-up,5,5,2\n"
    );
}

#[test]
fn the_record_round_trips_through_json() {
    let mut out = Vec::new();
    json_run(&run(), &mut out).unwrap();
    assert!(out.ends_with(b"}\n"));
    let read: RunRecord = serde_json::from_slice(&out).unwrap();
    assert_eq!(read, run());
}

/// parquet reads from files or from its own shared bytes.
fn bytes(out: Vec<u8>) -> std::fs::File {
    use std::io::{Seek as _, Write as _};
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&out).unwrap();
    file.rewind().unwrap();
    file
}
