// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the fuzz targets found: files that contradict themselves and were believed, and worse.
#![expect(clippy::unwrap_used, reason = "test helpers")]

use std::fs;
use std::path::PathBuf;

use punctual_model::Series;
use punctual_peers::{
    Format, ImportError, Imported, Labels, NoSamples, SourceSeries, Unit, detect, import,
};

fn golden(name: &str) -> String {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    String::from_utf8(fs::read(dir.join(name)).unwrap()).unwrap()
}

fn read(text: &str) -> Result<Imported, ImportError> {
    import(
        text.as_bytes(),
        detect(text.as_bytes()).unwrap(),
        None,
        &mut NoSamples,
    )
}

/// Replaces `from`, which must be there, once, and returns why that is not imported.
fn altered(name: &str, from: &str, to: &str) -> String {
    let text = golden(name);
    assert!(text.contains(from), "{name} has no {from}");
    assert!(read(&text).is_ok());
    read(&text.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn a_hole_in_a_file_is_no_record() {
    for size in [28, 2_800, 98_000] {
        assert_eq!(detect(&vec![0; size]), None, "{size}");
    }
    let mut file = [0_u8; 84];
    // Thread 0 at 5 s, twice, and nothing.
    (file[4], file[32]) = (5, 5);
    let read = import(
        file.as_slice(),
        Format::JitterdebuggerRaw,
        None,
        &mut NoSamples,
    );
    let error = read.unwrap_err().to_string();
    assert!(
        error.contains("56") && error.contains("not a sample"),
        "{error}"
    );
}

#[test]
fn a_mean_is_that_of_its_extremes_and_buckets() {
    // In ns, 10 µs beside the extremes once passed.
    assert_eq!(
        altered("cyclictest-2.10-nsecs.json", "\"avg\": ", "\"avg\": 9"),
        "thread 0: its mean is outside of its extremes"
    );
    // Above the extremes of the same row.
    assert_eq!(
        altered(
            "rtla-timerlat-top.txt",
            "0         1        15",
            "0        17        15"
        ),
        "thread 0: its mean is outside of its extremes"
    );
    assert_eq!(
        altered(
            "cyclictest-2.4-histofall.json",
            "\"avg\": 41.77",
            "\"avg\": 43.77"
        ),
        "thread 0: its mean does not match its buckets"
    );
}

#[test]
fn a_bucket_without_samples_is_none() {
    let text = golden("cyclictest-2.10-histofall.json");
    let with_empty = text.replacen("\"histogram\": {", "\"histogram\": {\n        \"0\": 0,", 1);
    assert_ne!(text, with_empty);
    assert_eq!(
        read(&with_empty).unwrap().series,
        read(&text).unwrap().series
    );
}

#[test]
fn the_extremes_of_osnoise_are_rows() {
    assert_eq!(
        altered(
            "rtla-osnoise-hist.txt",
            "max:         30",
            "max:         38"
        ),
        "line 15: column 1: its extremes do not agree with the rows"
    );
}

#[test]
fn the_mean_of_a_histogram_of_rtla_is_its_average_or_of_mid_points() {
    const WIDE: &str = "# RTLA timerlat histogram\n# Time unit is microseconds (us)\n\
        # Duration:   0 00:00:10\nIndex   IRQ-000   Thr-000\n0          9000      6000\n\
        5          1000      3900\n10            0       100\nover:         0         0\n\
        count:    10000     10000\nmin:          0         3\navg:          1         7\n\
        max:          8        13\n";
    let means = |text: &str| -> Vec<Option<f64>> {
        let record = read(text).unwrap().record(Labels::default()).unwrap();
        for s in &record.series {
            let [low, high] = [s.min_ns, s.max_ns].map(|ns| ns.unwrap() as f64);
            assert!(s.mean_ns.is_none_or(|mean| (low..=high).contains(&mean)));
        }
        record.series.iter().map(|s| s.mean_ns).collect()
    };
    assert_eq!(means(WIDE), [Some(1_000.0), Some(7_000.0)]);
    let mid_points = [
        Some(0.9 * 2_499.5 + 0.1 * 7_499.5),
        Some(0.6 * 2_499.5 + 0.39 * 7_499.5 + 0.01 * 12_499.5),
    ];
    let average = "avg:          1         7\n";
    assert_eq!(means(&WIDE.replace(average, "")), mid_points);
    assert_eq!(means(&WIDE.replace(average, "avg: - -\n")), mid_points);
    // Where rows are missing, so is a mean of mid-points.
    let beyond = WIDE
        .replace("10            0       100\n", "")
        .replace("over:         0         0", "over: 0 100");
    assert_eq!(means(&beyond), [Some(1_000.0), Some(7_000.0)]);
    assert_eq!(means(&beyond.replace(average, "")), [mid_points[0], None]);
}

#[test]
fn a_maximum_of_every_bit_is_no_latency() {
    let text =
        golden("oslat-2.4.json").replacen("\"max\": 36070", "\"max\": 18446744073709551615", 1);
    assert_eq!(
        read(&text).unwrap_err().to_string(),
        "thread 0: a value is longer than any latency"
    );
}

#[test]
fn an_error_does_not_quote_the_whole_file() {
    let text = format!("{{\"version\": \"{}\"}}", "\u{7f}".repeat(100_000));
    let err = import(
        text.as_bytes(),
        Format::JitterdebuggerJson,
        None,
        &mut NoSamples,
    )
    .unwrap_err();
    let said = err.to_string();
    assert!(
        said.starts_with("line 1: invalid type: string") && said.len() < 1_000,
        "{said}"
    );
    assert!(said.ends_with('…'));
}

#[test]
fn figures_have_samples() {
    assert_eq!(
        altered("rtla-timerlat-top.txt", "1 #12322 ", "1 #0     "),
        "line 4: it has figures but no samples"
    );
    // Of a kind without samples there are dashes.
    let thread = "|       10         3         9        31\n";
    let text = golden("rtla-timerlat-top.txt").replacen(
        thread,
        "|        -         -         -         -\n",
        1,
    );
    let series = read(&text).unwrap().series;
    assert_eq!(
        (series[0].count, series[1].count, series[1].min_ns),
        (12_322, 0, None)
    );
}

/// Of 10 µs, as `-b 10` makes them.
const WIDE: &str = "# RTLA timerlat histogram
# Time unit is microseconds (us)
# Duration:   0 00:00:10
Index   IRQ-000   Thr-000
0          9600      9430
10          400       570
over:         0         0
count:    10000     10000
min:          1         3
avg:          2         7
max:         14        19
";

#[test]
fn wide_buckets_have_the_mean_that_the_file_states() {
    let imported = read(WIDE).unwrap();
    let record = imported.record(Labels::default()).unwrap();
    let figures = |s: &Series| (s.min_ns, s.mean_ns, s.max_ns);
    assert_eq!(
        figures(&record.series[1]),
        (Some(3_000), Some(7_000.0), Some(19_999))
    );
    assert_eq!(figures(&record.total), figures(&record.series[1]));
    assert_eq!(record.origin.unwrap().mean_error_ns, Some(2_000.0));
    let text = WIDE.replace("avg:          2         7", "avg:          2        18");
    assert_eq!(
        read(&text).unwrap_err().to_string(),
        "thread 1: its mean does not match its buckets"
    );
}

/// A log of `threads` threads, as `cyclictest -v` prints it, with `above` its first lines.
fn log(above: &str, threads: usize) -> String {
    let rows = (0..2)
        .flat_map(|cycle| (0..threads).map(move |n| format!("{n:8}:{cycle:8}:{:8}\n", 40 + n)));
    format!("{above}{}", rows.collect::<String>())
}

/// What it announces of a thread has the distance to the next one's interval in it.
#[test]
fn the_interval_of_a_log_is_the_one_announced_less_the_distance() {
    let line = |n: usize, us: u64| format!("Thread {n} Interval: {us}\n");
    let both = format!("{}{}", line(0, 800), line(1, 900));
    for (above, threads, expected) in [
        (line(0, 1_500), 1, vec![1_000]),
        (both.clone(), 2, vec![700, 800]),
        // A histogram has no distance, nor has `-d 0`.
        (
            format!("{}{}", line(0, 1_000), line(1, 1_000)),
            2,
            vec![1_000, 1_000],
        ),
        (
            format!("$ cyclictest -v -d 100 -i 700\n{}", line(0, 800)),
            1,
            vec![700],
        ),
        (
            format!("# cyclictest -v -i 700 -h 9\n{}", line(0, 700)),
            1,
            vec![700],
        ),
    ] {
        let imported = read(&log(&above, threads)).unwrap();
        let us = |s: &SourceSeries| s.interval.unwrap().get() / 1_000;
        let found: Vec<_> = imported.series.iter().map(us).collect();
        assert_eq!(found, expected, "{above}");
    }
}

#[test]
fn what_a_terminal_showed_before_the_command_line_is_no_error() {
    let text = golden("cyclictest-2.4-quiet.out");
    let log = log("", 1);
    let hist = golden("cyclictest-2.4-histfile.txt");
    for prompt in [
        "user@host ~ $ sudo ",
        "# ",
        "[root@rt ~]# ",
        "10:32:17 me@rt:~$ ",
        "┌──(me㉿rt)-[~]\n└─$ sudo ",
        "Last login: Mon Nov 23 09:00:01 2026\nme% ./rt-tests/",
        "<rt> {main} $ taskset -c 0 ",
    ] {
        for (whole, options, password) in [
            (&text, "-q -p 80 -t 2", "[sudo] password for me: \n"),
            (&log, "-v", ""),
            (&hist, "-q -h 100 -t2", ""),
        ] {
            let copied = format!("{prompt}cyclictest {options} | tee out\n{password}{whole}");
            let imported = read(&copied).unwrap_or_else(|err| panic!("{copied}: {err}"));
            let bare = read(whole).unwrap();
            let figures = |i: &Imported| -> Vec<_> {
                let of = |s: &SourceSeries| (s.count, s.min_ns, s.max_ns, s.buckets.clone());
                i.series.iter().map(of).collect()
            };
            assert_eq!(figures(&imported), figures(&bare), "{copied}");
            let line = imported.command_line.unwrap();
            assert!(line.ends_with(&format!("cyclictest {options}")), "{line}");
        }
    }
    // The line says the policy that `-q` does not, and the unit.
    let copied = format!("user@host ~ $ sudo cyclictest -q -p 80 -t 2\n{text}");
    assert_eq!(
        read(&copied).unwrap().series[1].policy.as_deref(),
        Some("f:80")
    );
    let ns = format!("$ cyclictest -v -N\n{log}");
    assert_eq!(read(&ns).unwrap().resolution_ns, Some(1));
    // Without a command line it is what it always was.
    let rubbish = format!("user@host ~ $ make\n{text}");
    assert_eq!(
        read(&rubbish).unwrap_err().to_string(),
        "line 1: this is not a line of cyclictest output"
    );
}

#[test]
fn the_unit_of_lines_with_collapsed_blanks_is_the_one_that_is_said() {
    const LINE: &str = "T: 0 ( 2301) P:80 I:1000 C: 1000 Min: 1234 Act: 2345 Avg: 2333 Max: 9999\n";
    let with = |text: &str, unit| {
        import(
            text.as_bytes(),
            Format::CyclictestText,
            unit,
            &mut NoSamples,
        )
    };
    let asked = format!("$ sudo cyclictest -N -q -p80 -l 1000\n{LINE}");
    let max = |imported: Imported| imported.series[0].max_ns;
    assert_eq!(max(with(&asked, None).unwrap()), Some(9_999));
    let said = with(LINE, Some(Unit::Nanoseconds)).unwrap();
    assert_eq!(max(said), Some(9_999));
    let said = with(LINE, None).unwrap_err().to_string();
    assert!(
        said.contains("does not show whether its values are µs or ns"),
        "{said}"
    );
}

#[test]
fn columns_that_contradict_the_unit_that_is_said_are_refused() {
    let text = golden("cyclictest-2.10-quiet.out");
    for (copied, unit) in [
        (format!("$ cyclictest -N -q -p80 -t2\n{text}"), None),
        (text.clone(), Some(Unit::Nanoseconds)),
    ] {
        let found = import(
            copied.as_bytes(),
            Format::CyclictestText,
            unit,
            &mut NoSamples,
        );
        let said = found.unwrap_err().to_string();
        assert!(
            said.contains("as wide as cyclictest prints µs") && said.contains("line"),
            "{said}"
        );
    }
}

/// Gives bytes again and again, up to a length that memory would not hold.
struct Endless {
    again: &'static [u8],
    left: usize,
}

impl std::io::Read for Endless {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = out.len().min(self.left).min(self.again.len());
        out[..n].copy_from_slice(&self.again[..n]);
        self.left -= n;
        Ok(n)
    }
}

#[test]
fn a_text_without_an_end_is_refused_before_it_fills_memory() {
    let start: &[u8] = b"<rteval version=\"3\"><run_info><annotate>";
    let tag: &[u8] = b"<rteval version=\"3\"><run_info a=\"";
    for start in [start, tag] {
        let endless = Endless {
            again: &[b'x'; 4096],
            left: 1 << 40,
        };
        let input = std::io::Read::chain(start, endless);
        let err = import(
            std::io::BufReader::new(input),
            Format::Rteval,
            None,
            &mut NoSamples,
        )
        .unwrap_err();
        let said = err.to_string();
        assert!(said.contains("longer than 1024 KiB"), "{said}");
    }
    // A long comment in the middle of a summary is none of it, but what is kept of a text is cut.
    let long = "x".repeat(900_000);
    let text = format!(
        "<rteval version=\"{long}\"><SystemInfo><uname><node>{long}</node></uname></SystemInfo><Measurements><cyclictest command_line=\"{long}\"><core id=\"0\" priority=\"{long}\"><statistics><samples>1</samples><minimum>3</minimum><maximum>3</maximum></statistics><histogram nbuckets=\"1\"><bucket index=\"3\" value=\"1\"/></histogram></core></cyclictest></Measurements></rteval>"
    );
    let record = read(&text).unwrap().record(Labels::default()).unwrap();
    let origin = record.origin.unwrap();
    for kept in [record.host.hostname, origin.version, origin.command_line] {
        assert!(kept.unwrap().len() < 5_000);
    }
}

#[test]
fn a_summary_that_has_its_measurement_in_both_places_has_one() {
    let core = |n| {
        format!(
            "<core id=\"0\" priority=\"95\"><statistics><samples>{n}</samples><minimum unit=\"us\">3</minimum><maximum unit=\"us\">3</maximum></statistics><histogram nbuckets=\"1\"><bucket index=\"3\" value=\"{n}\"/></histogram></core>"
        )
    };
    let whole = |a, b| {
        format!(
            "<rteval version=\"3.7\"><Measurements><cyclictest command_line=\"cyclictest -q\">{}</cyclictest><Profile><cyclictest command_line=\"cyclictest -q\">{}</cyclictest></Profile></Measurements></rteval>",
            core(a),
            core(b)
        )
    };
    let imported = read(&whole(7, 7)).unwrap();
    assert_eq!((imported.series.len(), imported.series[0].count), (1, 7));
    assert_eq!(
        read(&whole(7, 8)).unwrap_err().to_string(),
        "it has more than one measurement"
    );
}

#[test]
fn texts_of_a_summary_are_whole_with_what_references_stand_for() {
    let text = "<rteval version=\"3.7\"><SystemInfo><kernel><cmdline>\n  BOOT_IMAGE=/vmlinuz isolcpus=1 &amp; \
                dyndbg=&quot;file x +p&quot; a&#61;b <![CDATA[<quiet>]]>\n</cmdline></kernel></SystemInfo><Measurements>\
                <cyclictest command_line=\"cyclictest -q\"><core id=\"0\" priority=\"95\"><statistics><samples>7</samples>\
                <minimum unit=\"us\">3</minimum><maximum unit=\"us\">3</maximum></statistics><histogram nbuckets=\"1\">\
                <bucket index=\"3\" value=\"7\"/></histogram></core></cyclictest></Measurements></rteval>";
    let record = read(text).unwrap().record(Labels::default()).unwrap();
    assert_eq!(
        record.host.cmdline.as_deref(),
        Some("BOOT_IMAGE=/vmlinuz isolcpus=1 & dyndbg=\"file x +p\" a=b <quiet>")
    );
}

/// Of a mail of 2006: version 0.11 has 8 columns for µs too, and for the interval.
#[test]
fn the_first_versions_of_cyclictest_have_wide_columns_and_print_us() {
    let line = "T: 0 ( 2718) P:90 I:    1000 C:   10000 Min:      14 Act:      47 Avg:      52 Max:     170\n";
    for text in [line, &format!("$ ./cyclictest -t1 -p 90 -n\n{line}")] {
        let series = &read(text).unwrap().series[0];
        assert_eq!(
            (series.min_ns, series.max_ns),
            (Some(14_000), Some(170_999))
        );
    }
}

#[test]
fn a_unit_that_the_lines_show_is_that_of_the_histogram_and_of_the_log() {
    let lines =
        "T: 0 ( 4711) P:80 I:1000 C:      2 Min:  14961 Act:   14961 Avg:   20000 Max:   25039\n";
    let histogram = format!(
        "{lines}# Histogram\n014961 000001\n025039 000001\n# Total: 000000002\n# Min Latencies: 14961\n\
         # Avg Latencies: 20000\n# Max Latencies: 25039\n# Histogram Overflows: 00000\n# Histogram Overflow at cycle number:\n\
         # Thread 0:\n"
    );
    let series = &read(&histogram).unwrap().series[0];
    assert_eq!((series.min_ns, series.max_ns), (Some(14_961), Some(25_039)));
    let log = format!("       0:       0:   14961\n       0:       1:   25039\n{lines}");
    let unit = |unit| import(log.as_bytes(), Format::CyclictestLog, unit, &mut NoSamples);
    for taken in [None, Some(Unit::Microseconds)] {
        let err = unit(taken).unwrap_err();
        assert!(err.to_string().contains("it shows ns"), "{err}");
        assert_eq!(err.hint(), Some("import it with --unit ns"));
    }
    let known = unit(Some(Unit::Nanoseconds)).unwrap();
    assert_eq!(known.series[0].max_ns, Some(25_039));
    let asked = import(
        histogram.as_bytes(),
        Format::CyclictestText,
        Some(Unit::Microseconds),
        &mut NoSamples,
    );
    assert!(asked.unwrap_err().to_string().contains("prints ns"));
}

/// rtla 6.18 says `timerlat hit stop tracing`, without `rtla`, and after the sum of all CPUs.
#[test]
fn a_hit_of_rtla_is_told_wherever_it_stands_and_so_is_what_was_saved() {
    let histogram = golden("rtla-osnoise-hist.txt");
    let threshold = Some(punctual_model::Ended::Threshold);
    let plain = read(&histogram).unwrap();
    let end = histogram.trim_end();
    let saved = format!("{end}\n  Saving trace to osnoise_trace.txt\n");
    assert_eq!(read(&saved).unwrap().series, plain.series);
    for hit in ["osnoise hit stop tracing", "rtla osnoise hit stop tracing"] {
        for sum in ["", "ALL:        CPU\ncount:       12\n"] {
            let text = format!("{end}\n{sum}{hit}\n  Saving trace to osnoise_trace.txt\n");
            let found = read(&text).unwrap();
            assert_eq!(
                (found.ended, &found.series),
                (threshold, &plain.series),
                "{text}"
            );
        }
    }
    for name in ["rtla-timerlat-top.txt", "rtla-osnoise-top.txt"] {
        let screen = golden(name);
        let plain = read(&screen).unwrap();
        let text = format!(
            "{}\n  Saving trace to trace.txt\ntimerlat hit stop tracing\n",
            screen.trim_end()
        );
        let found = read(&text).unwrap();
        assert_eq!(
            (found.ended, &found.series),
            (threshold, &plain.series),
            "{name}"
        );
    }
}

/// As oslat 2.60 prints it; versions disagree about what a bucket holds.
#[test]
fn no_mean_is_claimed_of_buckets_that_cannot_be_told() {
    let text = "oslat V 2.60\nTotal runtime: \t\t1 seconds\nThread priority: \tSCHED_FIFO:1\nCPU list: \t\t1\nCPU for main thread: \t0\n\
                Workload: \t\tno\nWorkload mem: \t\t0 (KiB)\nPreheat cores: \t\t1\n\nPre-heat for 1 seconds...\nTest starts...\nTest completed.\n\n\
                \x20       Core:\t 1\nCounter Freq:\t 2096 (Mhz)\n    001 (us):\t 0\n    002 (us):\t 999\n    003 (us):\t 1\n    004 (us):\t 0 (including overflows)\n\
                \x20    Minimum:\t 1 (us)\n     Average:\t 2.001 (us)\n     Maximum:\t 2 (us)\n     Max-Min:\t 1 (us)\n    Duration:\t 1.000 (sec)\n";
    let imported = read(text).unwrap();
    let record = imported.record(Labels::default()).unwrap();
    assert_eq!(record.series[0].count, 1_000);
    assert_eq!(
        (record.series[0].mean_ns, record.total.mean_ns),
        (None, None)
    );
}

#[test]
fn what_is_packed_empty_or_in_another_encoding_is_called_so() {
    for (head, said) in [
        (&b"\x1f\x8b\x08"[..], "it is compressed with gzip"),
        (b"\xfd7zXZ\0", "it is compressed with xz"),
        (b"\x28\xb5\x2f\xfd", "it is compressed with zstd"),
        (b"\xff\xfeT\0:\0", "it is text in UTF-16"),
        (b"T\0:\0 \0", "it is text in UTF-16"),
        (b"\0T\0:\0 ", "it is text in UTF-16"),
        (b"", "it is empty"),
        (b"text", "its format is unknown"),
    ] {
        let err = ImportError::no_format(head);
        assert_eq!(err.to_string(), said);
        assert_eq!(err.hint().is_none(), head.is_empty());
    }
}

#[test]
fn a_cpu_of_oslat_comes_once() {
    let text = altered("oslat-2.4.txt", "Core:\t 0 1", "Core:\t 1 1");
    assert!(text.contains("CPU 1 comes twice"), "{text}");
    let json = altered("oslat-2.10.json", "\"cpu\": 1,", "\"cpu\": 0,");
    assert!(json.contains("CPU 0 comes twice"), "{json}");
}

#[test]
fn a_mean_that_samples_above_all_rows_cannot_make_is_refused() {
    // 998 samples below 3 µs, and two above the rows of at most 40 µs.
    let json = |mean: &str| {
        format!(
            r#"{{"file_version": 1, "cmdline:": "cyclictest -q -h 3 -l 1000", "rt_test_version:": "2.40", "num_threads": 1,
"resolution_in_ns": 0, "thread": {{"0": {{"histogram": {{"1": 500, "2": 498}}, "cycles": 1000, "min": 1, "max": 40,
"avg": {mean}, "cpu": 0, "node": 0}}}}}}"#
        )
    };
    let mean = |mean: &str| {
        let record = read(&json(mean))
            .unwrap()
            .record(Labels::default())
            .unwrap();
        record.total.mean_ns
    };
    assert_eq!(mean("1.57"), Some(1_570.0));
    for impossible in ["20.00", "39.00"] {
        assert_eq!(
            read(&json(impossible)).unwrap_err().to_string(),
            "thread 0: its mean does not match its buckets"
        );
    }
}
