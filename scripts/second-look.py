#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
"""second-look.py PROGRAM [-n EXPERIMENTS] [--only NAME]: how often verdicts are wrong, counted from outside.

Makes experiments whose truth is known with numpy's generators, writes them as cyclictest would, has PROGRAM import and
compare them, and counts. The p-values of small experiments are computed a second time from the imported figures, over every
arrangement. Shares nothing with the program but its command line and its JSON. Prints a line a count, with its 95 % interval
(Clopper and Pearson, by scipy), and exits 1 if one is out of its bound by more than three standard errors of the bound.
Lines of what other methods say of the same data have no bound.
"""
import argparse
import itertools
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
from scipy import signal, stats

SEED = 20_190_517
MEDIAN_US = 400.0
# Thousands of runs are written for a moment: no disk is needed.
MEMORY = "/dev/shm"


class Store:
    """A store of its own, in which the program works."""

    def __init__(self, program, directory):
        self.program = program
        self.directory = pathlib.Path(directory)
        self.environment = dict(os.environ, PUNCTUAL_HOME=str(self.directory / "home"))
        self.written = 0
        self.waiting = []

    def run(self, *arguments, fine=(0,)):
        answer = subprocess.run(
            [self.program, *arguments], env=self.environment, capture_output=True, text=True, check=False
        )
        if answer.returncode not in fine:
            sys.exit(f"{' '.join(arguments)[:200]}: exit status {answer.returncode}\n{answer.stderr[:2000]}")
        return answer

    def _write(self, text):
        path = self.directory / f"{self.written:07d}.txt"
        self.written += 1
        path.write_text(text)
        self.waiting.append(path)
        return path

    def histogram(self, us):
        """Adds a run of which only the histogram is known; samples in µs."""
        values, counts = np.unique(np.floor(np.maximum(us, 1.0)).astype(np.int64), return_counts=True)
        rows = "\n".join(f"{value:06d} {count:06d}" for value, count in zip(values, counts))
        return self._write(
            "# /dev/cpu_dma_latency set to 0us\n# Histogram\n"
            f"{rows}\n# Min Latencies: {values[0]:05d}\n# Avg Latencies: {int(np.dot(values, counts) // counts.sum()):05d}\n"
            f"# Max Latencies: {values[-1]:05d}\n# Histogram Overflows: 00000\n"
        )

    def log(self, us):
        """Adds a run with every sample in its order, one a millisecond; samples in µs.

        cyclictest announces the interval with the distance to the next thread, 500 µs, added to it.
        """
        values = np.floor(np.maximum(us, 1.0)).astype(np.int64)
        rows = "\n".join(f"{0:8d}:{at:8d}:{value:8d}" for at, value in enumerate(values))
        return self._write(f"Max CPUs = 1\nOnline CPUs = 1\n# /dev/cpu_dma_latency set to 0us\nThread 0 Interval: 1500\n{rows}\n")

    def imported(self):
        """Imports what waits, and returns the id of each file."""
        ids = {}
        for at in range(0, len(self.waiting), 500):
            some = self.waiting[at : at + 500]
            for line in self.run("runs", "import", *map(str, some)).stdout.splitlines():
                run, name, *_ = line.split()
                ids[os.path.basename(name)] = run
            for path in some:
                path.unlink()
        result = {path: ids[path.name] for path in self.waiting}
        self.waiting = []
        return result

    def compare(self, baseline, candidate, *options):
        groups = [f"a={','.join(baseline)}", f"b={','.join(candidate)}"]
        answer = self.run("compare", "-g", groups[0], "-g", groups[1], "--json", *options, fine=range(8))
        if not answer.stdout.strip():
            sys.exit(f"compare: exit status {answer.returncode}\n{answer.stderr[:2000]}")
        return json.loads(answer.stdout)


def runs_of(rng, runs, samples, between=0.05, factor=1.0, draw=None):
    """Runs whose level differs from boot to boot; inside, a body and a tail."""
    for _ in range(runs):
        level = factor * MEDIAN_US * np.exp(between * rng.standard_normal())
        if draw is None:
            inside = np.exp(0.1 * rng.standard_normal(samples)) + 0.02 * rng.standard_exponential(samples)
        else:
            inside = draw(rng, samples)
        yield level * inside


def bursts(rng, samples, share, mean):
    """Late samples, 2 ms, in bursts of geometric length, among ordinary ones."""
    late = np.zeros(samples, dtype=bool)
    gap = mean * (1 - share) / share
    at = rng.geometric(1 / gap) if rng.random() > share else 0
    while at < samples:
        length = rng.geometric(1 / mean)
        late[at : at + length] = True
        at += length + rng.geometric(1 / gap)
    return np.where(late, 2000.0, 100.0 + 10.0 * rng.standard_normal(samples))


def told_apart(result, figure):
    """Whether a figure was said to be better, worse or different."""
    found = [one for one in result["results"] if one["figure"] == figure]
    return bool(found) and found[0]["verdict"] in ("better", "worse", "different")


class Counts:
    """What was counted, and whether it is within its bounds."""

    def __init__(self):
        self.out = False

    def say(self, name, hits, n, most=None, least=None):
        share = hits / n
        if most is None and least is None:
            print(f"  {name:56} {100 * share:5.1f} %  (n = {n})", flush=True)
            return
        low, high = stats.binomtest(hits, n).proportion_ci(0.95, method="exact")
        bounds = []
        fine = True
        for bound, sign, word in ((most, 1, "at most"), (least, -1, "at least")):
            if bound is not None:
                slack = 3 * math.sqrt(bound * (1 - bound) / n)
                fine = fine and sign * (share - bound) <= slack
                bounds.append(f"{word} {100 * bound:.0f} %")
        self.out = self.out or not fine
        print(
            f"{name:58} {100 * share:5.1f} %  ({100 * low:4.1f} .. {100 * high:5.1f}, n = {n}), {' and '.join(bounds)}"
            f"{'' if fine else '   OUT'}",
            flush=True,
        )

    def exact(self, name, worst, most, n):
        fine = worst <= most
        self.out = self.out or not fine
        print(f"{name:58} {worst:.1e} at most  (n = {n}){'' if fine else '   OUT'}", flush=True)


def pairs(store, n, make):
    """Imports n experiments of two groups, and returns the ids of each."""
    made = [tuple([store.histogram(run) for run in group] for group in make()) for _ in range(n)]
    ids = store.imported()
    return [tuple([ids[path] for path in group] for group in experiment) for experiment in made]


def no_effect(store, counts, rng, n):
    both = lambda: (runs_of(rng, 12, 3000), runs_of(rng, 12, 3000))
    found = [store.compare(a, b, "-m", "p50,p99,mean") for a, b in pairs(store, n, both)]
    any_of = sum(any(told_apart(one, figure) for figure in ("p50", "p99", "mean")) for one in found)
    counts.say("no effect, 12 against 12 runs, any of 3 figures", any_of, n, most=0.05)


def effect(store, counts, rng, n):
    both = lambda: (runs_of(rng, 12, 3000), runs_of(rng, 12, 3000, factor=1.1))
    found = [store.compare(a, b, "-m", "p99") for a, b in pairs(store, n, both)]
    counts.say("10 % slower, 12 against 12 runs: p99 worse", sum(told_apart(one, "p99") for one in found), n, least=0.8)
    covered = sum(
        one["results"][0]["ratio"]["interval"]["low"] <= 1.1 <= one["results"][0]["ratio"]["interval"]["high"] for one in found
    )
    counts.say("10 % slower: the ratio's interval covers 1.1", covered, n, least=0.95)


def medians_differ(found, figure, by=0.1):
    """What a script says: the groups' medians of the figure are apart by more than a tenth."""
    values = [[run["values"].get(figure) for run in group["runs"]] for group in found["groups"]]
    if any(None in group for group in values):
        return False
    a, b = (np.median(group) for group in values)
    return abs(b / a - 1) > by


def logs(found, figure):
    """The logarithms of the runs' figures, group by group."""
    return [np.log([run["values"][figure] for run in group["runs"]]) for group in found["groups"]]


def lengths(store, counts, rng, n):
    both = lambda: (runs_of(rng, 8, 1000), runs_of(rng, 8, 20_000))
    found = [store.compare(a, b, "-m", "p99.9,max") for a, b in pairs(store, n, both)]
    for figure in ("p99.9", "max"):
        counts.say(f"1,000 against 20,000 samples, {figure}", sum(told_apart(one, figure) for one in found), n, most=0.05)
        counts.say(f"medians of 8 runs apart by 10 %, {figure}", sum(medians_differ(one, figure) for one in found), n)


def unequal(store, counts, name, n, both):
    found = [store.compare(a, b, "-m", "p50") for a, b in pairs(store, n, both)]
    counts.say(name, sum(told_apart(one, "p50") for one in found), n, most=0.05)
    tests = {
        "Student's t test of the runs": lambda a, b: stats.ttest_ind(a, b),
        "Mann-Whitney test of the runs": lambda a, b: stats.mannwhitneyu(a, b),
    }
    for method, test in tests.items():
        counts.say(method, sum(test(*logs(one, "p50")).pvalue <= 0.05 for one in found), n)


def spread(store, counts, rng, n):
    both = lambda: (runs_of(rng, 3, 500, between=0.2), runs_of(rng, 20, 500, between=0.05))
    unequal(store, counts, "3 runs of four times the deviation against 20", n, both)

    def bimodal():
        slow = (next(runs_of(rng, 1, 500, 0.01, 1.0 + 0.3 * (rng.random() < 0.5))) for _ in range(6))
        # Of the same expected logarithm.
        return slow, runs_of(rng, 6, 500, 0.01, math.sqrt(1.3))

    unequal(store, counts, "6 runs of two levels against 6 between them", n, bimodal)


def zeros(store, counts, rng, n):
    """Late samples in a third of the candidate's runs and in none of the baseline's: no ground to say "no difference"."""

    def both():
        late = [0, 0, 5, 0, 300, 0]
        rng.shuffle(late)
        clean = lambda: 100.0 + 10.0 * rng.standard_normal(2000)
        return [clean() for _ in late], [np.concatenate([clean(), np.full(count, 900.0)]) for count in late]

    n = min(n, 40)
    found = [store.compare(a, b, "-m", "above:500us") for a, b in pairs(store, n, both)]
    same = sum(one["verdict"] in ("not_distinguishable", "equivalent") for result in found for one in result["results"])
    counts.say("0 against 0 0 5 0 300 0 late: \"not distinguishable\"", same, n, most=0.0)


def requirements(store, counts, rng, n):
    allowed = 0.001
    for mean in (5, 20, 100):
        for times in (1, 2):
            made = [store.log(bursts(rng, 6000, times * allowed, mean)) for _ in range(n + n % 2)]
            ids = store.imported()
            rulings, found_all = [], []
            for one, other in zip(made[::2], made[1::2]):
                found = store.compare([ids[one]], [ids[other]], "--require", "p99.9 <= 1ms")
                found_all += found["requirements"]
                rulings += [ruling["result"]["ruling"] for ruling in found["requirements"]]
            passed = sum(ruling == "pass" for ruling in rulings)
            name = f"requirement, {times} x what is allowed, bursts of {mean}: PASS"
            counts.say(name, passed, len(rulings), most=0.05)
            by_sample = sum(independent(ruling["result"]) for ruling in found_all)
            counts.say("every sample taken as independent: PASS", by_sample, len(rulings))
    # Who never says PASS is never wrong.
    ids = [[run] for run in made_clean(store, rng)]
    found = store.compare(*ids, "--require", "p95 <= 1ms")["requirements"]
    counts.say("requirement p95, 6,000 clean samples: PASS", sum(one["result"]["ruling"] == "pass" for one in found), 2, least=1.0)


def made_clean(store, rng):
    made = [store.log(100.0 + 10.0 * rng.standard_normal(6000)) for _ in range(2)]
    ids = store.imported()
    return [ids[path] for path in made]


def independent(ruling):
    """The upper bound of Clopper and Pearson as if no sample depended on another."""
    above, samples = ruling["above"], ruling["samples"]
    return stats.beta.ppf(0.95, above + 1, samples - above) <= ruling["share_allowed"]


def correlation(store, counts, rng, n):
    """Intervals inside a run, by the example `summarize` of the library of statistics, which lies beside the program."""
    summarize = pathlib.Path(store.program).parent / "examples" / "summarize"
    if not summarize.exists():
        print(f"  not counted: {summarize} is missing (cargo build -p punctual-stats --examples)")
        return
    for kept, samples in ((0.9, 10_000), (0.99, 60_000)):
        time = round((1 + kept) / (1 - kept))
        figures = ("mean", "p50", "p99")
        covered = dict.fromkeys(figures, 0)
        given = dict.fromkeys(figures, 0)
        naive = dict.fromkeys(figures, 0)
        truth = {"mean": 1e6, "p50": 1e6, "p99": 1e6 + 1e5 * stats.norm.ppf(0.99)}
        for _ in range(n):
            z = signal.lfilter([math.sqrt(1 - kept**2)], [1, -kept], rng.standard_normal(samples + 4000))[4000:]
            x = np.sort(np.round(1e6 + 1e5 * z))
            as_measured = "\n".join(str(int(value)) for value in np.round(1e6 + 1e5 * z))
            said = subprocess.run([summarize], input=as_measured, capture_output=True, text=True, check=True).stdout
            for figure in figures:
                found = re.search(rf"^{figure} .*?([\d.]+) \.\.\. ([\d.]+)", said, re.MULTILINE)
                if found:
                    given[figure] += 1
                    covered[figure] += float(found[1]) <= truth[figure] <= float(found[2])
            half = stats.t.ppf(0.975, samples - 1) * x.std(ddof=1) / math.sqrt(samples)
            naive["mean"] += abs(x.mean() - truth["mean"]) <= half
            for figure, q in (("p50", 0.5), ("p99", 0.99)):
                low, high = stats.binom.ppf([0.025, 0.975], samples, q).astype(int)
                naive[figure] += x[low - 1] <= truth[figure] <= x[min(high, samples - 1)]
        for figure in figures:
            name = f"correlation time {time}, {samples} samples: {figure} covered"
            if given[figure]:
                counts.say(name, covered[figure], given[figure], least=0.95)
            else:
                print(f"{name:58} never an interval")
            counts.say("samples taken as independent", naive[figure], n)


def p_values(store, counts, rng, n):
    """The larger of two: over every arrangement, of the difference of mean logarithms, and Welch's."""
    n = min(n, 60)
    both = lambda: (runs_of(rng, 5, 500), runs_of(rng, 5, 500, factor=1.0 + 0.1 * rng.random()))
    worst = 0.0
    for a, b in pairs(store, n, both):
        found = store.compare(a, b, "-m", "p50")
        a, b = logs(found, "p50")
        again = max(exact_p(a, b), stats.ttest_ind(a, b, equal_var=False).pvalue)
        worst = max(worst, abs(found["results"][0]["p"] - again))
    counts.exact("p of 5 against 5 runs: off by", worst, 1e-6, n)


def exact_p(a, b):
    together = np.concatenate([a, b])
    seen = abs(statistic(a, b))
    as_extreme = total = 0
    for chosen in itertools.combinations(range(len(together)), len(a)):
        mask = np.zeros(len(together), dtype=bool)
        mask[list(chosen)] = True
        total += 1
        as_extreme += abs(statistic(together[mask], together[~mask])) >= seen * (1 - 1e-9)
    return as_extreme / total


def statistic(a, b):
    """With groups of one size the order of the arrangements is that of the difference, studentised or not."""
    return b.mean() - a.mean()


SCENES = {
    "no-effect": no_effect,
    "effect": effect,
    "lengths": lengths,
    "spread": spread,
    "zeros": zeros,
    "requirements": requirements,
    "correlation": correlation,
    "p-values": p_values,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("-n", type=int, default=200, metavar="EXPERIMENTS")
    parser.add_argument("--only", choices=SCENES, action="append")
    options = parser.parse_args()
    counts = Counts()
    for at, (name, scene) in enumerate(SCENES.items()):
        if options.only and name not in options.only:
            continue
        rng = np.random.default_rng([SEED, at])
        with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as directory:
            scene(Store(os.path.abspath(options.program), directory), counts, rng, options.n)
    return int(counts.out)


if __name__ == "__main__":
    sys.exit(main())
