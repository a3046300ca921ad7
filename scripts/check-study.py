#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
"""check-study.py STORE REPORT.json: the figures of a study's report, computed again from the records of its runs.

REPORT.json is what `punctual study report NAME --json` printed, STORE the store that it is of. Of every row of a
comparison and every point of a curve the runs of the cell are found by their tags, and number of runs, estimate (mean, or
mean of logarithms), standard error and relative standard deviation are computed from run.json alone. Shares nothing with
the program but its files. Prints how much was checked and exits 1 at the first figure that differs, or if there was none.
"""
import argparse
import json
import math
import pathlib
import re
import statistics
import sys


def records(store):
    for path in sorted(pathlib.Path(store).glob("runs/*/run.json")):
        record = json.loads(path.read_text())
        if record.get("valid") and record.get("tags"):
            yield record


def figures(record):
    """Every figure of a record by its internal name, and those that a study makes of it."""
    total = record["total"]
    found = {name: total.get(f"{name}_ns") for name in ("mean", "stddev", "min", "max")}
    found.update(total.get("quantiles_ns") or {})
    found["skewness"], found["excess_kurtosis"] = total.get("skewness"), total.get("excess_kurtosis")
    pairs = {}
    for figure in record.get("figures", []):
        labels = ",".join(f"{key}={value}" for key, value in sorted(figure.get("labels", {}).items()))
        found[f"{figure['name']}[{labels}]" if labels else figure["name"]] = figure["value"]
        if figure["value"] is not None and figure["name"] in ("copy", "random_update_rate"):
            pairs.setdefault(figure["name"], []).append(figure["value"])
    for name, shown, times in (("copy", "copy_both_ways", 2.0), ("random_update_rate",) * 2 + (1.0,)):
        if name in pairs:
            found[f"{shown}_largest"] = times * max(pairs[name])
            found[f"{shown}_smallest"] = times * min(pairs[name])
    for load in record.get("loads", []):
        found[f"load_work[load={load['load']}]"] = load.get("per_second")
    return {name: value for name, value in found.items() if value is not None}


def near(a, b):
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)


def values(runs, figure, levels):
    """The values of a figure of the runs that have these levels."""
    out = []
    for record, found in runs:
        tags = record["tags"]
        if all(tags.get(factor) == level for factor, level in levels.items()) and figure in found:
            out.append(found[figure])
    return out


def levels_of(cell):
    return dict(part.split("=", 1) for part in cell.split(" ") if "=" in part)


def check(row, candidates):
    """Whether one of the sets of values that the row may be of makes its figures."""
    for got in candidates:
        if len(got) != row["runs"]:
            continue
        means = [statistics.fmean(got)]
        if all(value > 0 for value in got):
            means.append(math.exp(statistics.fmean(map(math.log, got))))
        if not any(near(mean, row["estimate"]) for mean in means):
            continue
        if "standard_error" in row:
            deviation = statistics.stdev(got)
            if not near(deviation / math.sqrt(len(got)), row["standard_error"]):
                continue
            if "relative_deviation" in row and not near(deviation / abs(means[0]), row["relative_deviation"]):
                continue
        return True
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store")
    parser.add_argument("report")
    args = parser.parse_args()
    runs = [(record, figures(record)) for record in records(args.store)]
    report = json.loads(pathlib.Path(args.report).read_text())
    checked = {"rows": 0, "points": 0}
    for study in report["studies"]:
        names = [part["experiment"] for part in study["parts"] if part["experiment"]]
        of_part = {name: [run for run in runs if run[0]["tags"].get("experiment") == name] for name in names}
        for answer in study["answers"]:
            rows = answer["rows"]
            compared = any(row["verdict"] for row in rows)
            # What the question holds fixed is in the question: every combination of the other tags may be meant.
            for row in rows:
                if row["estimate"] is None or row.get("class") or not (compared or row["runs"] > 1):
                    continue
                candidates = []
                known = False
                for part in of_part.values():
                    levels = levels_of(row["cell"])
                    others = sorted({key for record, _ in part for key in record["tags"]} - set(levels) - {"block", "experiment"})
                    combos = {tuple(record["tags"].get(key) for key in others) for record, _ in part}
                    for combo in combos:
                        fixed = {key: value for key, value in zip(others, combo) if value is not None}
                        got = values(part, row["figure"], {**levels, **fixed})
                        known = known or bool(got)
                        candidates.append(got)
                # Figures of histograms and of events are not in the record.
                if not known:
                    continue
                if not check(row, candidates):
                    sys.exit(f"{study['study']['name']}: {row['cell']} {row['figure']}: no runs make {row['estimate']}")
                checked["rows"] += 1
            for curves in answer.get("curves", []):
                name, _, labels = curves["figure"].partition("[")
                for curve in (c for c in curves["curves"] if not c["published"]):
                    for point in curve["points"]:
                        same = [
                            row
                            for row in rows
                            if re.split(r"\[", row["figure"])[0] == name
                            and row["estimate"] == point["y"]
                            and row["runs"] == point["count"]
                        ]
                        if rows and not curves["stepped"]:
                            if not same:
                                sys.exit(f"{curves['figure']}: a point at {point['x']} is no row")
                            checked["points"] += 1
    print(", ".join(f"{count} {what} checked" for what, count in checked.items()))
    if not checked["rows"]:
        sys.exit("nothing was checked")


main()
