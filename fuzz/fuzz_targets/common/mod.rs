// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What must hold of whatever is imported.

use punctual_peers::{Format, Labels, NoSamples, import};

/// Imports `bytes`. An error is fine; a result must be a record that does not contradict itself.
pub fn read(bytes: &[u8], format: &str) {
    let format: Format = format.parse().expect("a format");
    let Ok(imported) = import(bytes, format, None, &mut NoSamples) else {
        return;
    };
    let Ok(record) = imported.record(Labels::default()) else {
        return;
    };
    assert!(!record.valid && !record.series.is_empty());
    for series in record.series.iter().chain([&record.total]) {
        let mut last = 0;
        let mut names: Vec<_> = series.quantiles_ns.iter().collect();
        names.sort_by(|a, b| {
            let number = |name: &str| name.trim_start_matches('p').parse::<f64>().unwrap_or(0.0);
            number(a.0).total_cmp(&number(b.0))
        });
        for ns in names.into_iter().filter_map(|(_, ns)| *ns) {
            assert!(ns >= last, "quantiles ascend");
            assert!(series.max_ns.is_none_or(|max| ns <= max), "none is above the maximum");
            last = ns;
        }
        if let (Some(min), Some(max)) = (series.min_ns, series.max_ns) {
            assert!(min <= max, "extremes are in order");
        }
        assert!(series.mean_ns.is_none_or(f64::is_finite) && series.stddev_ns.is_none_or(f64::is_finite));
    }
    drop(imported.bucket_table());
}
