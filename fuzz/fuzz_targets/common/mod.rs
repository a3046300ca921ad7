// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What must hold of whatever is imported.

use std::error::Error as StdError;
use std::io::BufReader;

use punctual_model::{RunRecord, Sample, Series};
use punctual_peers::{Format, Imported, Labels, SampleSink, SourceSeries, Unit, import};

/// Counts the samples of each thread, and sees that none is longer than any latency.
#[derive(Default)]
struct Counter(std::collections::BTreeMap<u32, u64>);

impl SampleSink for Counter {
    fn samples(
        &mut self,
        thread: u32,
        samples: &[Sample],
    ) -> Result<(), Box<dyn StdError + Send + Sync>> {
        *self.0.entry(thread).or_default() += samples.len() as u64;
        Ok(())
    }
}

/// Imports `bytes`. An error is fine, if it can be shown; a result must be a record that does not
/// contradict itself.
pub(crate) fn read(bytes: &[u8], format: &str) {
    let format: Format = format.parse().expect("a format");
    // Which unit was asked for must not be a byte of the file: both are tried on about as many.
    let unit = (bytes.len() % 2 == 1).then_some(Unit::Nanoseconds);
    let mut samples = Counter::default();
    let whole = import(bytes, format, unit, &mut samples);
    // How the input arrives in pieces makes no difference.
    let pieces = import(
        BufReader::with_capacity(7, bytes),
        format,
        unit,
        &mut Counter::default(),
    );
    match (&whole, &pieces) {
        (Ok(a), Ok(b)) => assert_eq!(a, b, "the same in pieces"),
        (Err(a), Err(b)) => assert_eq!(a.to_string(), b.to_string(), "the same in pieces"),
        (a, b) => panic!("whole {a:?}, in pieces {b:?}"),
    }
    let imported = match whole {
        Ok(imported) => imported,
        Err(err) => {
            let text = err.to_string();
            assert!(
                !text.is_empty() && text.len() < 1000,
                "an error is one line: {text:?}"
            );
            return;
        }
    };
    imported.series.iter().for_each(|s| sound(s, &imported));
    if imported.sample_times.is_some() {
        for series in imported.series.iter().filter(|s| s.count > 0) {
            assert_eq!(
                samples.0.get(&series.thread),
                Some(&series.count),
                "every sample is kept"
            );
        }
    } else {
        assert!(samples.0.is_empty(), "samples are announced");
    }
    for spike in &imported.spikes {
        let of = imported
            .series
            .iter()
            .find(|s| s.thread == spike.thread)
            .expect("its thread");
        assert!(
            of.max_ns.is_some_and(|max| spike.latency_ns <= max),
            "none is above the maximum"
        );
    }
    let table = imported.bucket_table();
    assert_eq!(
        table.is_some(),
        imported.series.iter().any(|s| s.buckets.is_some())
    );
    for (of, histogram) in imported.histograms() {
        assert!(histogram.count() <= of.count, "no sample is made up");
    }
    let Ok(record) = imported.record(Labels::default()) else {
        return;
    };
    // Results that are no latencies have no series.
    let has_results = !record.series.is_empty() || !record.figures.is_empty();
    assert!(!record.valid && has_results);
    assert_eq!(record.series.len(), imported.series.len());
    record
        .series
        .iter()
        .chain([&record.total])
        .for_each(figures);
    totals(&record);
}

/// What was read must not contradict itself.
fn sound(s: &SourceSeries, imported: &Imported) {
    if let (Some(min), Some(max)) = (s.min_ns, s.max_ns) {
        assert!(min <= max, "extremes are in order");
        let rounded = |ns: f64| imported.resolution_ns.unwrap_or(1) as f64 * 0.02 + 1e-8 * ns;
        if let Some(mean) = s.mean_ns {
            let (low, high) = (min as f64, max as f64);
            assert!(
                (low - rounded(low)..=high + rounded(high)).contains(&mean),
                "the mean {mean} lies in {low} to {high}"
            );
        }
    }
    assert!(
        s.count > 0 || (s.min_ns, s.max_ns, s.mean_ns) == (None, None, None),
        "no figures of no samples: {s:?}"
    );
    let Some(buckets) = &s.buckets else { return };
    let mut counted = 0_u64;
    let mut before: Option<u64> = None;
    for b in &buckets.entries {
        assert!(b.from_ns <= b.to_ns && b.count > 0, "a bucket is one");
        assert!(
            // Versions of oslat differ in what a bucket is: then each is taken for two.
            before.is_none_or(|to| to < b.from_ns || two_wide(imported) && to < b.to_ns),
            "buckets ascend and are apart"
        );
        assert!(
            s.max_ns.is_none_or(|max| b.from_ns <= max),
            "none is above the maximum"
        );
        before = Some(b.to_ns);
        counted = counted.checked_add(b.count).expect("counted");
    }
    match buckets.beyond {
        Some(beyond) => assert_eq!(
            counted.checked_add(beyond),
            Some(s.count),
            "every sample is somewhere"
        ),
        None => assert!(counted <= s.count, "no sample is made up"),
    }
    if let (Some(first), Some(min)) = (buckets.entries.first(), s.min_ns) {
        assert!(
            (first.from_ns..=first.to_ns).contains(&min),
            "the minimum is in the first bucket"
        );
    }
    if let (Some(last), Some(max), Some(0)) = (buckets.entries.last(), s.max_ns, buckets.beyond) {
        assert!(
            (last.from_ns..=last.to_ns).contains(&max),
            "the maximum is in the last bucket"
        );
    }
}

fn two_wide(imported: &Imported) -> bool {
    imported.instrument == "oslat" && imported.resolution_ns == Some(2_000)
}

fn figures(series: &Series) {
    let mut last = 0;
    let mut names: Vec<_> = series.quantiles_ns.iter().collect();
    names.sort_by(|a, b| {
        let number = |name: &str| name.trim_start_matches('p').parse::<f64>().unwrap_or(0.0);
        number(a.0).total_cmp(&number(b.0))
    });
    for ns in names.into_iter().filter_map(|(_, ns)| *ns) {
        assert!(ns >= last, "quantiles ascend");
        assert!(
            series.max_ns.is_none_or(|max| ns <= max),
            "none is above the maximum"
        );
        assert!(
            series.min_ns.is_none_or(|min| ns >= min),
            "none is below the minimum"
        );
        last = ns;
    }
    if let (Some(min), Some(max)) = (series.min_ns, series.max_ns) {
        assert!(min <= max, "extremes are in order");
    }
    if let Some(mean) = series.mean_ns {
        assert!(
            series.min_ns.is_none_or(|min| min as f64 <= mean)
                && series.max_ns.is_none_or(|max| mean <= max as f64),
            "the mean {mean} lies between the extremes"
        );
    }
    assert!(
        series.mean_ns.is_none_or(f64::is_finite) && series.stddev_ns.is_none_or(f64::is_finite)
    );
    assert!(
        series
            .quantile_relative_error
            .is_none_or(|e| e.is_finite() && e >= 0.0)
    );
}

fn totals(record: &RunRecord) {
    let named = record
        .series
        .iter()
        .any(|s| s.context.as_deref() == Some("thread"));
    let parts = record
        .series
        .iter()
        .filter(|s| !named || s.context.as_deref() == Some("thread"));
    let sum: u64 = parts.map(|s| s.count).sum();
    assert_eq!(record.total.count, sum, "the total is of all threads");
}
