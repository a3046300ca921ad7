# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
"""Computes every figure of a run a second time, from its exported samples, with numpy and scipy.

Usage: check.py DIR RANK_TOLERANCE

DIR holds run.json, samples.csv, samples.json, samples.parquet and latency.hlog. Prints one line a fault and fails, or
prints what was compared.
"""

import csv
import json
import math
import random
import sys
from decimal import ROUND_CEILING, Decimal
from pathlib import Path

import numpy
import pyarrow.parquet
from scipy import stats

COLUMNS = ["thread", "cpu", "t_ns", "latency_ns"]
RELATIVE = 1e-9
# A skewness near 0 is a difference of large terms: what is left of rounding is not relative to it.
FLOOR = 1e-12


class Faults:
    def __init__(self):
        self.lines = []
        self.compared = 0

    def check(self, good, what):
        self.compared += 1
        if not good:
            self.lines.append(what)

    def same(self, name, ours, theirs):
        self.check(ours == theirs, f"{name}: {ours}, and not {theirs}")

    def close(self, name, ours, theirs):
        good = ours is not None and math.isclose(ours, theirs, rel_tol=RELATIVE, abs_tol=FLOOR)
        self.check(good, f"{name}: {ours}, and not {theirs}")


def share(name):
    """p99.9 -> 0.999, exactly."""
    return Decimal(name[1:]) / 100


def check_quantiles(faults, where, series, ordered):
    error = Decimal(series["quantile_relative_error"])
    for name, ours in series["quantiles_ns"].items():
        n, q = len(ordered), share(name)
        if n * min(q, 1 - q) < 1:
            faults.same(f"{where} {name}", ours, None)
            continue
        rank = int((q * n).to_integral_value(ROUND_CEILING))
        exact = int(ordered[rank - 1])
        good = ours is not None and exact <= ours <= exact * (1 + error)
        faults.check(good, f"{where} {name}: {ours}, and the exact one is {exact}")
        interval = series["quantile_intervals_ns"][name]
        if interval is not None:
            good = ours is not None and interval["low"] <= ours <= interval["high"]
            faults.check(good, f"{where} {name}: {ours} is not in {interval}")


def psquare(p, samples):
    """The estimate of Jain and Chlamtac's five markers, in their words; `samples` in their order."""
    heights = sorted(samples[:5])
    positions = [0, 1, 2, 3, 4]
    shares = [0, p / 2, p, (1 + p) / 2, 1]
    for n, x in enumerate(samples[5:], 5):
        heights[0], heights[4] = min(heights[0], x), max(heights[4], x)
        positions[4] = n
        for i in (1, 2, 3):
            positions[i] += x < heights[i]
        # The extremes are where they should be; the three between them may have drifted.
        drifts = [n * share - position for share, position in zip(shares, positions)]
        for i in (1, 2, 3):
            d = 1 if drifts[i] >= 1 else -1 if drifts[i] <= -1 else 0
            if d == 0 or abs(positions[i + d] - positions[i]) <= 1:
                continue
            below, here, above = positions[i - 1 : i + 2]
            low, middle, high = heights[i - 1 : i + 2]
            bend = (here - below + d) * (high - middle) / (above - here)
            bend += (above - here - d) * (middle - low) / (here - below)
            height = middle + d / (above - below) * bend
            if not low < height < high:
                height = middle + d * (heights[i + d] - middle) / (positions[i + d] - here)
            heights[i] = height
            positions[i] += d
    return heights[2]


def rank_error(q, estimate, ordered):
    """The distance of q from F(estimate); where F jumps over q, q lies in the jump and the rank is right."""
    below = numpy.searchsorted(ordered, estimate, side="left") / len(ordered)
    up_to = numpy.searchsorted(ordered, estimate, side="right") / len(ordered)
    return max(below - q, q - up_to, 0)


def check_psquare(faults, where, series, latencies, ordered, tolerance):
    samples = [float(late) for late in latencies]
    shuffled = random.Random(1).sample(samples, len(samples))
    for name, estimate in series["psquare_ns"].items():
        q = float(share(name))
        faults.close(f"{where} P-square {name}", estimate, psquare(q, samples))
        error = rank_error(q, estimate, ordered)
        if error > tolerance:
            # The tolerance is for samples in random order; this machine may have changed its ways meanwhile.
            error = rank_error(q, psquare(q, shuffled), ordered)
        faults.check(error <= tolerance, f"{where} P-square {name}: {estimate} has rank error {error}")


def check_overruns(faults, where, series, own):
    """Deadlines lie on a grid, and a late wake-up skips those that passed; the run ends by its samples."""
    interval, late = series["interval_ns"], own[:, 3]
    skipped = late // interval
    faults.same(f"{where} overruns", series["overruns"], int(skipped.sum()))
    deadlines = (own[:, 2] - late) // interval
    faults.check((numpy.diff(deadlines) == skipped[:-1] + 1).all(), f"{where}: a deadline is missing")
    for misses in series["misses"]:
        overruns = 0
        for latency, count in zip(late, skipped):
            overruns += sum(latency - n * interval > misses["deadline_ns"] for n in range(1, count + 1))
        faults.same(f"{where} overruns later than {misses['deadline_ns']} ns", misses["overruns"], int(overruns))


def check_series(faults, where, series, latencies, tolerance):
    values = latencies.astype(numpy.float64)
    ordered = numpy.sort(latencies)
    faults.same(f"{where} count", series["count"], len(latencies))
    faults.same(f"{where} min", series["min_ns"], int(ordered[0]))
    faults.same(f"{where} max", series["max_ns"], int(ordered[-1]))
    faults.close(f"{where} mean", series["mean_ns"], values.mean())
    faults.close(f"{where} stddev", series["stddev_ns"], values.std(ddof=1))
    faults.close(f"{where} skewness", series["skewness"], stats.skew(values))
    faults.close(f"{where} excess kurtosis", series["excess_kurtosis"], stats.kurtosis(values))
    interval = series["mean_interval_ns"]
    if interval is not None:
        good = interval["low"] <= series["mean_ns"] <= interval["high"]
        faults.check(good, f"{where} mean: not in {interval}")
    check_quantiles(faults, where, series, ordered)
    check_psquare(faults, where, series, latencies, ordered, tolerance)
    for misses in series["misses"]:
        deadline = misses["deadline_ns"]
        faults.same(f"{where} misses of {deadline} ns", misses["count"], int((latencies > deadline).sum()))


def read_csv(path):
    with open(path, newline="") as file:
        rows = csv.reader(file)
        assert next(rows) == COLUMNS
        return [tuple(int(cell) for cell in row) for row in rows]


def read_json(path):
    return [tuple(sample[column] for column in COLUMNS) for sample in json.loads(path.read_text())]


def read_parquet(path):
    table = pyarrow.parquet.read_table(path)
    assert table.column_names == COLUMNS
    return list(zip(*(table.column(column).to_pylist() for column in COLUMNS)))


def check_log(faults, path, run):
    """The histograms as the HDR library of another language reads them, if it is installed."""
    try:
        from hdrh.histogram import HdrHistogram
        from hdrh.log import HistogramLogReader
    except ImportError:
        return "the HDR log was not read: no Python package hdrhistogram"
    reader = HistogramLogReader(str(path), HdrHistogram(1, 2**40, 3))
    counts = {}
    while (histogram := reader.get_next_interval_histogram()) is not None:
        counts[histogram.get_tag()] = histogram.get_total_count()
    expected = {str(series["thread"]): series["count"] for series in run["series"]}
    faults.same("counts of the HDR log", counts, expected)
    return "the HDR log was read"


def main():
    directory, tolerance = Path(sys.argv[1]), float(sys.argv[2])
    run = json.loads((directory / "run.json").read_text())
    samples = read_csv(directory / "samples.csv")
    faults = Faults()
    faults.check(read_json(directory / "samples.json") == samples, "JSON and CSV differ")
    faults.check(read_parquet(directory / "samples.parquet") == samples, "Parquet and CSV differ")
    table = numpy.array(samples, dtype=numpy.int64)
    for series in run["series"]:
        own = table[table[:, 0] == series["thread"]]
        check_series(faults, f"thread {series['thread']}", series, own[:, 3], tolerance)
        check_overruns(faults, f"thread {series['thread']}", series, own)
        faults.check((numpy.diff(own[:, 2]) > 0).all(), f"thread {series['thread']}: time goes back")
        faults.check((own[:, 1] == series["cpu"]).all(), f"thread {series['thread']}: another CPU")
    check_series(faults, "total", run["total"], table[:, 3], tolerance)
    for index, misses in enumerate(run["total"]["misses"]):
        overruns = sum(series["misses"][index]["overruns"] for series in run["series"])
        faults.same("total overruns later than a deadline", misses["overruns"], overruns)
    remark = check_log(faults, directory / "latency.hlog", run)
    for line in faults.lines:
        print(line)
    if faults.lines:
        sys.exit(1)
    print(f"{faults.compared} comparisons of {len(samples)} samples; {remark}")


main()
