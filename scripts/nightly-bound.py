#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
"""nightly-bound.py: how soon any rule could find a step of 10 % at 5 % deviation, looked for after each run.

Normal runs, the level changes after the 90th of 120, and a rule looks after each run from the 20th to the 120th. Each rule may raise an
alarm, in either direction, in 5 % of series without a change. Prints the share of series in which the step is found within 4, 6, 8
and 10 runs: the table of docs/methods/history.md. Needs numpy and scipy; shares nothing with the program.
"""
import math

import numpy as np
from scipy import stats

STEP = math.log(1.1) / 0.05
FIRST, RUNS, CHANGE, LEVEL, RECENT = 20, 120, 90, 0.05, 10
WITHIN = (4, 6, 8, 10)
NIGHTS = 6


def cusum(x, reference):
    """Page's two-sided sums of runs whose level and deviation are known; a column for each look."""
    up = down = np.zeros(len(x))
    sums = []
    for run in x.T:
        up, down = np.maximum(0, up + run - reference), np.maximum(0, down - run - reference)
        sums.append(np.maximum(up, down))
    return np.stack(sums, 1)[:, FIRST - 1 :]


def scan(x):
    """The largest standardised difference of 3 to 10 newest runs from those before; a column for each look."""
    sums = np.concatenate([np.zeros((len(x), 1)), x.cumsum(1)], 1)
    looks = []
    for n in range(FIRST, RUNS + 1):
        mean, deviation = sums[:, n] / n, x[:, :n].std(1, ddof=1)
        each = [np.abs(sums[:, n] - sums[:, n - a] - a * mean) / math.sqrt((n - a) * a / n) / deviation for a in range(3, RECENT + 1)]
        looks.append(np.max(each, 0))
    return np.stack(looks, 1)


def newest(x, known):
    """The newest six runs against the level before them, in normal deviations; a column for each look."""
    sums = np.concatenate([np.zeros((len(x), 1)), x.cumsum(1)], 1)
    looks = []
    for n in range(FIRST, RUNS + 1):
        old = n - NIGHTS
        mean = (sums[:, n] - sums[:, old]) / NIGHTS
        if known:
            looks.append(np.abs(mean) * math.sqrt(NIGHTS))
            continue
        t = np.abs(mean - sums[:, old] / old) / x[:, :old].std(1, ddof=1) / math.sqrt(1 / NIGHTS + 1 / old)
        looks.append(stats.norm.isf(stats.t.sf(t, old - 1)))
    return np.stack(looks, 1)


def found(statistic, limits):
    """The shares found; columns of looks are compared with the limit of each."""
    after = CHANGE + 1 - FIRST
    return [100 * (statistic[:, after : after + w] > limits[after : after + w]).any(1).mean() for w in WITHIN]


def main():
    rng = np.random.default_rng(3)
    none, some = (rng.standard_normal((40_000, RUNS)) for _ in range(2))
    some[:, CHANGE:] += STEP
    share = 1 - (1 - LEVEL) ** (1 / (RUNS - FIRST + 1) * NIGHTS)
    most = stats.norm.sf(stats.norm.isf(share / 2) - STEP * math.sqrt(NIGHTS))
    print(f"upper bound within {NIGHTS}: {100 * most:.1f}")
    for reference in (0.8, STEP / 2):
        limit = np.quantile(cusum(none, reference).max(1), 1 - LEVEL)
        shares = found(cusum(some, reference), np.full(RUNS - FIRST + 1, limit))
        print(f"CUSUM, reference {reference:.2f}: " + ", ".join(f"{share:.1f}" for share in shares))
    for known in (True, False):
        limit = np.quantile(newest(none, known).max(1), 1 - LEVEL)
        shares = found(newest(some, known), np.full(RUNS - FIRST + 1, limit))
        before = "known" if known else "from the runs before"
        print(f"newest {NIGHTS}, level and deviation {before}: " + ", ".join(f"{share:.1f}" for share in shares))
    # The same level for each look: the largest with which all of them together keep theirs.
    seen = scan(none)
    p = (np.argsort(np.argsort(-seen, axis=0), axis=0) + 1) / len(seen)
    each = np.quantile(p.min(1), LEVEL)
    shares = found(scan(some), np.quantile(seen, 1 - each, axis=0))
    print(f"scan, {100 * each / LEVEL:.1f} % of the level a look: " + ", ".join(f"{share:.1f}" for share in shares))


if __name__ == "__main__":
    main()
