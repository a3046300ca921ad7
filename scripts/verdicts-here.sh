#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
#
# Real experiments on this machine whose answer is known, and what the verdicts were:
#   same       two cells that differ in a variable that nothing reads: a verdict "better" or "worse" is false
#   different  /dev/cpu_dma_latency held at 0 and left alone: an experiment without a verdict has missed it
# Needs the privilege to be real-time, and nothing else to do. The experiments stay in the store HOME and can be looked at
# with `experiment results`; one that is there already is not made again, so that the whole can be done in pieces.
# Usage: scripts/verdicts-here.sh PROGRAM HOME same|different FROM TO [BLOCKS [TIME]]
set -euo pipefail
program=${1:?the program} home=${2:?a directory} kind=${3:?same or different} from=${4:?the first} to=${5:?the last}
blocks=${6:-8} time=${7:-3s}
case $kind in
    same) factor='env = "PUNCTUAL_TWIN"'; levels='["a", "b"]' ;;
    different) factor='option = "dma-latency"'; levels='["off", "0us"]' ;;
    *) echo "Error: $kind is neither same nor different" >&2; exit 2 ;;
esac
mkdir -p "$home"
for number in $(seq "$from" "$to"); do
    name=$kind-$number
    cat > "$home/$name.toml" <<TOML
name = "$name"
seed = $number
compare = ["p50", "p99"]

[[measure]]
instrument = "wakeup"
options = { cpus = "1", duration = "$time" }

[[factor]]
name = "cell"
$factor
levels = $levels

[stop]
blocks = $blocks
TOML
    if [ ! -d "$home/experiments/$name" ]; then
        "$program" --home "$home" experiment run "$home/$name.toml" --quiet --yes > "$home/$name.log" 2>&1 ||
            "$program" --home "$home" experiment resume "$name" --quiet >> "$home/$name.log" 2>&1
    fi
    "$program" --home "$home" experiment results "$name" --json > "$home/$name.json"
    python3 - "$name" "$home/$name.json" "$home/runs" <<'PYTHON'
import json, re, statistics, sys
name, path, store = sys.argv[1:]
results = json.load(open(path))
comparison = results["measurements"][0]["comparison"]
runs = [len(group["runs"]) for group in comparison["groups"]]
refused = sum(len(group.get("refused", [])) for group in comparison["groups"])
# How busy the measured CPU was, by the check of each run: where it never idles, there is no idle state to leave.
busy = []
for run in (run for group in comparison["groups"] for run in group["runs"]):
    record = json.load(open("%s/%s/run.json" % (store, run["id"])))
    found = [re.search(r"at most (\d+) % busy", check["detail"]) for check in record["checks"]]
    busy += [int(share[1]) for share in found if share]
said = []
for result in comparison["results"]:
    ratio = result["ratio"]
    said.append("%s ratio %.3f (%.3f .. %.3f) p %.4f %s" % (
        result["figure"], ratio["estimate"], ratio["interval"]["low"], ratio["interval"]["high"],
        result["adjusted_p"], result["verdict"]))
print("%s: %d and %d runs, %d refused, CPU %.0f %% busy; %s" % (
    name, *runs, refused, statistics.median(busy) if busy else float("nan"), "; ".join(said)))
PYTHON
done
