#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
"""nightly-bound.py: how soon any rule could find a step of 10 % at 5 % deviation, looked for after each run.

Normal runs, the level changes after the 90th of 120, and a rule looks after each run from the 20th to the 120th. Each rule may raise an
alarm, in either direction, in 5 % of series without a change. Prints the share of series in which the step is found within 4, 6, 8
and 10 runs: the table of docs/methods/history.md. Then what one look at 100 runs, the last six of them behind the step, can find at 5 %
for the whole series: in how many a change, and in how many one that is at most five runs from its place. Needs numpy and scipy; shares
nothing with the program.
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


def differences(x):
    """Student's t of the runs before and after each place, three runs on either side at least."""
    n = x.shape[1]
    before = np.arange(3, n - 2)
    sums = x.cumsum(1)
    first, total = sums[:, before - 1], sums[:, -1:]
    mean = first / before - (total - first) / (n - before)
    z = np.abs(mean) / np.sqrt(1 / before + 1 / (n - before)) / x.std(1, ddof=1)[:, None]
    return before, z * np.sqrt((n - 2) / (n - 1 - z**2))


def one_look(rng):
    """Every place alike, and with half of the level for the newest ten places."""
    runs, change = 100, 94
    none, some, small = (rng.standard_normal((20_000, runs)) for _ in range(3))
    some[:, change:] += STEP
    small[:, runs // 2 :] += math.log(1.05) / 0.05
    before, null = differences(none)
    newest = before >= runs - RECENT
    for share in (None, 0.5):
        limits = np.full(len(before), np.quantile(null.max(1), 1 - LEVEL))
        if share is not None:
            low, high = 0, 2 * LEVEL
            for _ in range(30):
                level = (low + high) / 2
                limits[newest] = np.quantile(null[:, newest].max(1), 1 - share * level)
                limits[~newest] = np.quantile(null[:, ~newest].max(1), 1 - (1 - share) * level)
                low, high = (low, level) if (null > limits).any(1).mean() > LEVEL else (level, high)
        shares = []
        for x, first in ((some, change), (small, runs // 2)):
            beyond = differences(x)[1] - limits
            seen = beyond.max(1) > 0
            near = np.abs(before[beyond.argmax(1)] - first) <= 5
            shares += [100 * seen.mean(), 100 * (seen & near).mean()]
        what = "all places alike" if share is None else "half of the level for the newest ten places"
        print(f"one look, {what}: " + ", ".join(f"{share:.1f}" for share in shares[:2]) + "; step of 5 % in the middle " + ", ".join(f"{share:.1f}" for share in shares[2:]))


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
    one_look(rng)


if __name__ == "__main__":
    main()
