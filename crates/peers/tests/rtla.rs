// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Histograms of rtla that contradict themselves, or have nothing in them. The files are made after the source that prints them.
#![expect(clippy::unwrap_used, reason = "test helpers")]

use punctual_peers::{Format, ImportError, Imported, NoSamples, import};

const HISTOGRAM: &str = "\
# RTLA timerlat histogram
# Time unit is microseconds (us)
# Duration:   0 00:00:06
Index   IRQ-000   Thr-000   Usr-000   IRQ-001   Thr-001   Usr-001
0          5000         0         0      4990         0         0
1           900       500         0       900       600         0
2           100      5000      5500       110      5000      5600
3             0       500       500         0       400       400
over:         0         0         0         0         0         0
count:     6000      6000      6000      6000      6000      6000
min:          0         1         2         0         1         2
avg:          0         2         2         0         1         2
max:          2         3         3         2         3         3
ALL:        IRQ       Thr       Usr
count:    12000     12000     12000
min:          0         1         2
avg:          0         1         2
max:          2         3         3
";

fn read(text: &str) -> Result<Imported, ImportError> {
    import(text.as_bytes(), Format::RtlaHist, None, &mut NoSamples)
}

fn refused(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

/// The file with something else in the sum of all CPUs.
fn with_all(from: &str, to: &str) -> String {
    let (columns, all) = HISTOGRAM.split_once("ALL:").unwrap();
    assert!(all.contains(from), "{from}");
    format!("{columns}ALL:{}", all.replacen(from, to, 1))
}

#[test]
fn the_sum_of_all_cpus_is_that_of_the_columns() {
    let imported = read(HISTOGRAM).unwrap();
    assert_eq!(imported.series.len(), 6);
    for (from, to, said) in [
        (
            "12000     12000",
            "12000     12001",
            "the count of all CPUs",
        ),
        (
            "0         1         2\navg",
            "0         0         2\navg",
            "the minimum of all",
        ),
        (
            "2         3         3",
            "2         3         9",
            "the maximum of all",
        ),
        ("avg:          0", "avg:          2", "the average of all"),
        ("Usr", "Xyz", "a column is not IRQ"),
        ("max:", "most:", "not a row of all CPUs"),
        ("max:          2         3         3\n", "", "ends before"),
        ("min:", "count:", "not a row of all CPUs"),
        ("min:", "# RTLA timerlat histogram\nmin:", "second run"),
    ] {
        let err = refused(&with_all(from, to));
        assert!(err.contains(said), "{from}: {err}");
    }
    // Columns cut their means: those of all may be one more.
    assert!(read(&with_all("avg:          0", "avg:          1")).is_ok());
    // Without samples there is a dash, or what the sum began with.
    let none = "# RTLA timerlat histogram\n# Time unit is microseconds (us)\nIndex   IRQ-000   Thr-000\n\
                0   5   0\nover:   0   0\ncount:   5   0\nmin:   0   -\navg:   0   -\nmax:   0   -\n\
                ALL:   IRQ   Thr\ncount:   5   0\nmin:   0   18446744073709551615\navg:   0   -\nmax:   0   0\n";
    assert!(read(none).is_ok());
    let hit =
        HISTOGRAM.replacen("ALL:", "Saving trace to x\nALL:", 1) + "timerlat hit stop tracing\n";
    assert!(read(&hit).unwrap().ended.is_some());
}

#[test]
fn a_column_that_comes_twice_is_refused() {
    let err = refused(&HISTOGRAM.replacen("Thr-001", "Thr-000", 1));
    assert!(err.contains("the column Thr-000 comes twice"), "{err}");
}

#[test]
fn a_histogram_of_osnoise_without_samples_is_called_that() {
    let head =
        "# RTLA osnoise histogram\n# Time unit is microseconds (us)\n# Duration:   0 00:00:05\n";
    let zeros = "over: 0\ncount: 0\nmin: 0\navg: 0\nmax: 0\n";
    // The second has samples above its buckets only.
    for heading in [
        "Index\n",
        "Index   CPU-000   CPU-001\n",
        "Index   CPU-000\n",
    ] {
        let err = read(&format!("{head}{heading}{zeros}")).unwrap_err();
        assert!(
            err.to_string().contains("no samples in its buckets"),
            "{err}"
        );
        assert!(err.hint().unwrap().contains("-T"));
    }
    let err = refused(&format!(
        "{}Index\nover:\n",
        head.replace("osnoise", "timerlat")
    ));
    assert!(err.contains("no samples"), "{err}");
}

#[test]
fn newer_versions_of_osnoise_state_means_with_decimals() {
    let text = "# RTLA osnoise histogram\n# Time unit is microseconds (us)\nIndex   CPU-000\n\
                0   5\n1   5\nover:   2\ncount:   12\nmin:   0\navg:   1.55\nmax:   9\n";
    let imported = read(text).unwrap();
    assert_eq!(imported.series[0].mean_ns, Some(1_000.0));
    assert!(refused(&text.replace("1.55", "1.x5")).contains("not a number"));
}
