#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
"""check-history.py HISTORY.json: the change of a series with one change, computed a second time.

HISTORY is what `punctual history --json` printed for one series that changes once and whose runs do not resemble each other. The place, the
size, the p-value of the step and the deviation are computed anew with numpy, which makes its own permutations. Exits 1 if one differs.
"""
import json
import math
import sys

import numpy as np
from scipy import stats

series = json.load(open(sys.argv[1]))["lines"][0]["series"][0]
x = np.log(np.array(series["values"], float))
n = len(x)
change = series["changes"][0]
assert len(series["changes"]) == 1 and series["correlation"] == 0

middle = np.median(x)
bound = np.clip((x - middle) / (1.4826 * stats.median_abs_deviation(x)), -4, 4)
before = np.arange(3, n - 2)


def scan(rows):
    sums = np.cumsum(rows - rows.mean(axis=1, keepdims=True), axis=1)[:, before - 1]
    return np.abs(sums) / np.sqrt(before * (n - before) / n) / rows.std(axis=1, ddof=1, keepdims=True)


seen = scan(bound[None, :])[0]
first = int(before[seen.argmax()])
rng = np.random.default_rng(5)
drawn = scan(rng.permuted(np.tile(bound, (20_000, 1)), axis=1)).max(axis=1)
p = (1 + (drawn >= seen.max() - 1e-9).sum()) / 20_001
apart = math.exp(x[first:].mean() - x[:first].mean())
squares = ((x[:first] - x[:first].mean()) ** 2).sum() + ((x[first:] - x[first:].mean()) ** 2).sum()
deviation = math.sqrt(squares / (n - 2))
ends = [math.expm1(deviation * math.sqrt((n - 2) / stats.chi2.ppf(q, n - 2))) for q in (0.975, 0.025)]

checked = [
    ("first run after", change["run"], first, 0),
    ("ratio", change["ratio"]["estimate"], apart, 1e-9),
    ("p", change["p"], p, 5 * math.sqrt(p / 9_999) + 2e-4),
    ("deviation", series["deviation"], math.expm1(deviation), 1e-9),
    ("deviation, low", series["deviation_interval"]["low"], ends[0], 1e-4),
    ("deviation, high", series["deviation_interval"]["high"], ends[1], 1e-4),
]
wrong = False
for name, ours, theirs, allowed in checked:
    differs = abs(ours - theirs) > allowed
    wrong |= differs
    print(f"{name}: {ours:.6g}, numpy {theirs:.6g}{' DIFFERS' if differs else ''}")
sys.exit(1 if wrong else 0)
