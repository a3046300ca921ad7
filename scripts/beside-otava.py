#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
"""beside-otava.py CHANGES [-n SERIES] [--check]: who finds the changes of series whose truth is known.

CHANGES is the program that `cargo build --release -p punctual-stats --example changes` makes. The other side is the package
apache-otava from PyPI with its own defaults, and with --divisive as it computes the original E-divisive (p 0.05). Series are made by numpy. A change counts
as found if one is reported at most 5 runs from it; each report counts once. Prints a Markdown table; with --check it exits 1
where our precision or recall is below Otava's by more than three standard errors.
"""
import argparse
import math
import subprocess
import sys

import numpy as np
from otava.analysis import compute_change_points, compute_change_points_orig

SEED = 20_231_204
NEAR = 5
DEVIATION = 0.05


def normal(rng, n):
    return rng.standard_normal(n)


def heavy(rng, n):
    return rng.standard_t(2, n)


def skewed(rng, n):
    return rng.exponential(1.0, n)


def chained(phi):
    def noise(rng, n):
        drawn = rng.standard_normal(n + 50)
        chain = np.zeros(n + 50)
        for at in range(1, n + 50):
            chain[at] = phi * chain[at - 1] + math.sqrt(1 - phi * phi) * drawn[at]
        return chain[50:]

    return noise


def tied(rng, n):
    return np.round(rng.standard_normal(n))


# What, noise, number of runs, and each change: the first run after it and the factor.
WORLDS = [
    ("no change", normal, 100, []),
    ("no change, heavy tails (t, 2 degrees)", heavy, 100, []),
    ("no change, skewed (exponential)", skewed, 100, []),
    ("no change, neighbours correlated 0.3", chained(0.3), 100, []),
    ("no change, few distinct values", tied, 100, []),
    ("+10 % in the last 6 of 100", normal, 100, [(94, 1.1)]),
    ("+10 % in the last 10 of 100", normal, 100, [(90, 1.1)]),
    ("+10 % in the last 6 of 40", normal, 40, [(34, 1.1)]),
    ("+5 % in the middle of 100", normal, 100, [(50, 1.05)]),
    ("+10 % in the middle of 100", normal, 100, [(50, 1.1)]),
    ("+10 % in the middle, skewed", skewed, 100, [(50, 1.1)]),
    ("+10 % in the middle, heavy tails", heavy, 100, [(50, 1.1)]),
    ("+10 % in the middle, correlated 0.3", chained(0.3), 100, [(50, 1.1)]),
    ("+10 % for 12 runs, and back", normal, 100, [(50, 1.1), (62, 1 / 1.1)]),
    ("four steps up and down in 200", normal, 200, [(40, 1.1), (80, 1.1), (120, 1 / 1.15), (160, 1.1)]),
]


def made(rng, noise, n, changes):
    level = np.ones(n)
    for first, factor in changes:
        level[first:] *= factor
    return 50.0 * level * np.exp(DEVIATION * noise(rng, n))


def hits(found, changes):
    """How many of the reports are each at a change of its own."""
    free = [first for first, _ in changes]
    count = 0
    for place in sorted(found):
        near = [first for first in free if abs(first - place) <= NEAR]
        if near:
            free.remove(min(near, key=lambda first: abs(first - place)))
            count += 1
    return count


def ours(program, series):
    text = "\n".join(" ".join(repr(float(x)) for x in values) for values in series) + "\n"
    answer = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    return [[int(word) for word in line.split()] for line in answer.stdout.splitlines()]


def otava(values):
    found, _ = compute_change_points(list(values))
    return [point.index for point in found]


def divisive(values):
    found, _ = compute_change_points_orig(list(values), max_pvalue=0.05, seed=1)
    return [point.index for point in found]


class Count:
    def __init__(self):
        self.true = self.reports = self.hits = self.alarmed = self.series = 0

    def add(self, found, changes):
        self.series += 1
        self.true += len(changes)
        self.reports += len(found)
        self.hits += hits(found, changes)
        self.alarmed += bool(found)

    def cells(self):
        if not self.true:
            return [f"{100 * self.alarmed / self.series:.1f} %", ""]
        precision = f"{100 * self.hits / self.reports:.1f} %" if self.reports else "-"
        return [precision, f"{100 * self.hits / self.true:.1f} %"]


def below(a, b, n_a, n_b):
    """Whether share a is below share b by more than three standard errors of their difference."""
    error = math.sqrt(max(a * (1 - a), 0.01) / max(n_a, 1) + max(b * (1 - b), 0.01) / max(n_b, 1))
    return a < b - 3 * error


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("program")
    arguments.add_argument("-n", type=int, default=400)
    arguments.add_argument("--check", action="store_true")
    arguments.add_argument("--divisive", action="store_true", help="also the original E-divisive, which takes long")
    arguments = arguments.parse_args()
    names = ["punctual", "Otava"] + ["E-divisive"] * arguments.divisive
    print(f"| {arguments.n} series each | " + " | ".join(f"{name}: precision | recall" for name in names) + " |")
    print("|---|" + "---:|" * (2 * len(names)))
    worse = []
    sums = [Count() for _ in names]
    for number, (what, noise, n, changes) in enumerate(WORLDS):
        rng = np.random.default_rng([SEED, number])
        series = [made(rng, noise, n, changes) for _ in range(arguments.n)]
        counts = [Count() for _ in names]
        found = [ours(arguments.program, series), map(otava, series), map(divisive, series)][: len(names)]
        for count, total, each in zip(counts, sums, found):
            for places in each:
                count.add(places, changes)
                if changes:
                    total.add(places, changes)
        if changes:
            us, them = counts[0], counts[1]
            if below(us.hits / max(us.reports, 1), them.hits / max(them.reports, 1), us.reports, them.reports):
                worse.append(f"{what}: precision")
            if below(us.hits / us.true, them.hits / them.true, us.true, them.true):
                worse.append(f"{what}: recall")
        elif counts[0].alarmed / arguments.n > 0.05 + 3 * math.sqrt(0.05 * 0.95 / arguments.n):
            worse.append(f"{what}: false alarms")
        print(f"| {what} | " + " | ".join(cell for count in counts for cell in count.cells()) + " |", flush=True)
    print("| **all with a change** | " + " | ".join(cell for count in sums for cell in count.cells()) + " |")
    if arguments.check and worse:
        sys.exit("worse than Otava: " + "; ".join(worse))


if __name__ == "__main__":
    main()
