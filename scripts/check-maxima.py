#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
"""check-maxima.py PAGE RUN...: "over time" as it is drawn, against the files of the runs.

PAGE is the HTML of `punctual report` of the directories RUN, in that order. The largest samples of each stretch are computed
again from samples.zst or events.jsonl.zst alone, by the documented formats and with nothing of the program, and compared with
the steps that the page draws. Needs only the standard library and the program `zstd`. Prints what was compared.
"""
import json
import pathlib
import struct
import subprocess
import sys

def unpacked(path):
    return subprocess.run(["zstd", "-dcq", str(path)], check=True, stdout=subprocess.PIPE).stdout


def charts_of(page):
    text = pathlib.Path(page).read_text(encoding="utf-8")
    start = '<script type="application/json" id="data">'
    begin = text.index(start) + len(start)
    return json.loads(text[begin:text.index("</script>", begin)])


def samples_of(run):
    """(thread, time, latency) in ns, by docs/formats/samples.md."""
    data = unpacked(run / "samples.zst")
    assert data[:8] == b"PNCTSMPL", data[:8]
    size = struct.unpack_from("<H", data, 10)[0]
    for at in range(16, len(data), size):
        thread, _cpu, _skipped, t_ns, latency = struct.unpack_from("<IIIQQ", data, at)
        if thread == 0xFFFFFFFF:
            return
        yield thread, t_ns, latency


def told_of(run, begin):
    """{(from, until): largest of all threads} of the events, and when the run ended, in ns."""
    told, before, end = {}, begin, None
    for line in unpacked(run / "events.jsonl.zst").splitlines():
        event = json.loads(line)
        if event["event"] == "progress":
            now = event["t_ns"]
            for series in event["series"]:
                if series.get("recent_max_ns") is not None:
                    told[before, now] = max(series["recent_max_ns"], told.get((before, now), 0))
            before = now
        elif event["event"] == "ended":
            end = event["t_ns"]
    return told, end


def levels(points):
    """The steps of a line in ns: from, until, height. A point without a height ends one."""
    found = []
    for (x, y), (until, _) in zip(points, points[1:]):
        if y is not None:
            found.append((round(x * 1e9), round(until * 1e9), round(y * 1e3)))
    return found


def check(run, drawn, record):
    """Compares one line with the files of its run; says what with."""
    assert drawn, f"{run}: nothing is drawn"
    for (_, until, _), (begin, _, _) in zip(drawn, drawn[1:]):
        assert begin >= until, f"{run}: steps overlap at {begin} ns"
    largest, whole = max(height for *_, height in drawn), record["total"]["max_ns"]
    assert largest == whole, f"{run}: drawn up to {largest} ns, the largest is {whole} ns"
    if (run / "samples.zst").exists():
        samples, inside = list(samples_of(run)), 0
        for begin, until, height in drawn:
            # The last wake-up may have come after the end.
            last = until == drawn[-1][1]
            of = [latency for _, t, latency in samples if t >= begin and (t < until or last)]
            inside += len(of)
            assert max(of) == height, f"{run}: {height} ns from {begin} to {until}, is {max(of)}"
        assert inside == len(samples), f"{run}: {inside} of {len(samples)} samples are under a step"
        return f"{len(drawn)} steps of {len(samples)} samples"
    told, ended = told_of(run, (record.get("spec") or {}).get("warm_up_ns", 0))
    for begin, until, height in drawn:
        # A step may be of several stretches that follow each other.
        of = [top for (a, b), top in told.items() if a >= begin and b <= until]
        if of:
            assert max(of) == height, f"{run}: {height} ns from {begin} to {until}, is {max(of)}"
        else:
            # Older runs stored nothing of their end: it is known where the largest of all was in it.
            assert (until, height) == (ended, whole), f"{run}: {height} ns from {begin} to {until}"
    covered = sum(1 for a, b in told if any(begin <= a and b <= until for begin, until, _ in drawn))
    assert covered == len(told), f"{run}: {covered} of {len(told)} stretches are drawn"
    return f"{len(drawn)} steps of {len(told)} stretches"


def main():
    page, *runs = sys.argv[1:]
    maxima = [chart for chart in charts_of(page) if chart["id"].endswith("-maxima")]
    assert len(maxima) == 1, f"{len(maxima)} charts of largest samples"
    series = maxima[0]["s"]
    for number, run in enumerate(map(pathlib.Path, runs)):
        record = json.loads((run / "run.json").read_text(encoding="utf-8"))
        # Of several runs there is a line each; of one the first is of all threads.
        line = series[number] if len(runs) > 1 else series[0]
        points = [(p[0], p[1]) for p in line["p"]]
        print(f"{line['n']}: {check(run, levels(points), record)}, largest {record['total']['max_ns']} ns")


if __name__ == "__main__":
    main()
