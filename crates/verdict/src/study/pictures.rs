// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A distribution as its head and its tail, in bins.

use punctual_model::{StudyBin, StudyPicture};
use punctual_stats::LatencyHistogram;

use crate::comparison::GroupInput;

/// Bins of a picture.
const BINS: u64 = 10;

/// The head is what this share of the samples is in.
const HEAD: f64 = 0.9;

/// Returns head and tail of each cell whose runs have histograms.
pub(super) fn of(groups: &[GroupInput]) -> Vec<StudyPicture> {
    groups.iter().flat_map(of_cell).collect()
}

fn of_cell(group: &GroupInput) -> Vec<StudyPicture> {
    let histograms = group.runs.iter().filter_map(|run| run.histogram.as_ref());
    let Some(all) = LatencyHistogram::merged(histograms) else {
        return Vec::new();
    };
    let (Some(middle), Some(max)) = (all.quantile(HEAD), all.max()) else {
        return Vec::new();
    };
    let picture = |part: &str, edges: Vec<u64>| StudyPicture {
        cell: group.name.clone(),
        part: part.to_owned(),
        samples: all.count(),
        bins: bins(&all, &edges),
    };
    let least = all.min().unwrap_or(0);
    let width = (middle.saturating_sub(least) / BINS).max(1);
    let head = (0..=BINS).map(|n| least + n * width).collect();
    let mut pictures = vec![picture("head", head)];
    // Each bin of the tail reaches twice as far as the one before. A bucket ends a thousandth above its
    // largest sample at most.
    let max = max.saturating_add(max / 500 + 1);
    let start = least + BINS * width;
    let mut edges = vec![start];
    while let Some(last) = edges.last().copied().filter(|last| *last <= max) {
        edges.push(last.saturating_mul(2).max(last + 1));
    }
    if edges.len() > 1 {
        pictures.push(picture("tail", edges));
    }
    pictures
}

/// Counts the samples between neighbouring edges, the lower one belonging to the bin.
fn bins(histogram: &LatencyHistogram, edges: &[u64]) -> Vec<StudyBin> {
    let mut bins: Vec<StudyBin> = edges
        .iter()
        .zip(edges.iter().skip(1))
        .map(|(from, to)| StudyBin {
            from_ns: *from,
            to_ns: *to,
            count: 0,
        })
        .collect();
    for bucket in histogram.buckets() {
        let at = bucket.to_ns;
        if let Some(bin) = bins
            .iter_mut()
            .find(|bin| (bin.from_ns..bin.to_ns).contains(&at))
        {
            bin.count += bucket.count;
        }
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_have_every_sample_once() {
        let mut histogram = LatencyHistogram::new(1_000_000_000);
        for n in 0..1_000_u64 {
            histogram.record(10_000 + n * 37 + if n % 100 == 0 { n * n } else { 0 });
        }
        let max = histogram.max().unwrap();
        let least = histogram.min().unwrap();
        let edges: Vec<u64> = vec![least, 20_000, 40_000, max + max / 100];
        let counted: u64 = bins(&histogram, &edges).iter().map(|bin| bin.count).sum();
        assert_eq!(counted, 1_000);
    }
}
