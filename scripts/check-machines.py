#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
"""check-machines.py VALUES.json FLEET.json: the variance components of a fleet, computed a second time.

VALUES has the values of each machine without outliers, as lists by its name; FLEET is what `punctual compare --by host --json` printed for
them, with one figure. The restricted likelihood is written down as that of a multivariate normal and maximised by scipy; the interval of
the ratio of variances is found from the F distribution. Exits 1 if a figure differs by more than a thousandth.
"""
import json
import sys

import numpy as np
from scipy import optimize, stats

values = json.load(open(sys.argv[1]))
fleet = json.load(open(sys.argv[2]))
machines = [np.log(np.array(own, float)) for own in values.values()]
y = np.concatenate(machines)
n, k = len(y), len(machines)
member = np.repeat(np.arange(k), [len(own) for own in machines])
same = (member[:, None] == member[None, :]).astype(float)
ones = np.ones((n, 1))


def minus_twice(logs):
    between, within = np.exp(logs)
    v = within * np.eye(n) + between * same
    inverse = np.linalg.inv(v)
    weight = (ones.T @ inverse @ ones).item()
    mean = (ones.T @ inverse @ y).item() / weight
    rest = y - mean
    return np.linalg.slogdet(v)[1] + np.log(weight) + rest @ inverse @ rest


start = np.log([np.var([own.mean() for own in machines]), np.mean([own.var() for own in machines])])
best = optimize.minimize(minus_twice, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11, "maxiter": 4000})
between, within = np.exp(best.x)
inverse = np.linalg.inv(within * np.eye(n) + between * same)
mean = (ones.T @ inverse @ y).item() / (ones.T @ inverse @ ones).item()

sizes = np.array([len(own) for own in machines])
means = np.array([own.mean() for own in machines])
inside = sum(((own - own.mean()) ** 2).sum() for own in machines) / (n - k)


def quotient(ratio):
    weights = 1 / (ratio + 1 / sizes)
    centre = (weights * means).sum() / weights.sum()
    return (weights * (means - centre) ** 2).sum() / (k - 1) / inside


def end(p):
    wanted = stats.f.ppf(p, k - 1, n - k)
    if quotient(0) <= wanted:
        return 0.0
    return optimize.brentq(lambda ratio: quotient(ratio) - wanted, 0, 1e6, xtol=1e-12)


figure = fleet["groups"][0]["figures"][0]
share = lambda x: np.exp(x) - 1
low, high = end(0.975), end(0.025)
checked = {
    "mean": (figure["mean"], np.exp(mean)),
    "between machines": (figure["between_machines"]["estimate"], share(np.sqrt(between))),
    "between runs": (figure["between_runs"]["estimate"], share(np.sqrt(within))),
    "between machines, low": (figure["between_machines"]["interval"]["low"], share(np.sqrt(low * within))),
    "between machines, high": (figure["between_machines"]["interval"]["high"], share(np.sqrt(high * within))),
}
wrong = False
for name, (ours, theirs) in checked.items():
    differs = abs(ours - theirs) > 1e-3 * abs(theirs) + 1e-9
    wrong |= differs
    print(f"{name}: {ours:.6g}, scipy {theirs:.6g}{' DIFFERS' if differs else ''}")
sys.exit(1 if wrong else 0)
