#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
"""check-watched.py RUN TRACE PAGE SVG: pictures of a watched program, against the record of the run.

TRACE is what `punctual runs export --format perfetto` made of the run in the directory RUN, PAGE the HTML of `punctual report`,
SVG the directory of its pictures. What each has to show is computed from run.json alone, with nothing of the program. Needs only
the standard library. Prints what was compared.
"""
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

# Which colour of a page and of a file stands for what; a pair is an outline of those dashes.
CLASSES = {"timer": 4, "wake-up": 0, "running": 2, "watched": 2, "preempted": 1, "task": 1, "interrupted": 3, "interrupt": 3,
           "blocked": 5, "unaccounted": (5, 1), "unknown": (5, 1), "idle": (5, 2)}
SHARES = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)
SHOWN = 5


def ns(us):
    """A time in µs with decimals, as JSON wrote it, in whole ns."""
    exact = round(us * 1000)
    assert abs(us * 1000 - exact) < 1e-3, f"{us} µs is no whole number of ns"
    return exact


def tracks_of(trace):
    """{(process, track): [(from, to, category, name)]} in ns, in the order of time."""
    names, tracks = {}, {}
    for event in trace["traceEvents"]:
        key = event["pid"], event.get("tid")
        if event["ph"] == "M":
            if event["name"] in ("process_name", "thread_name"):
                names[key] = event["args"]["name"]
            continue
        assert event["ph"] == "X", event
        assert event["ts"] >= 0 and event["dur"] > 0, event
        begin = ns(event["ts"])
        tracks.setdefault(key, []).append((begin, begin + ns(event["dur"]), event["cat"], event["name"]))
    assert len({tid for _, tid in tracks}) == len(tracks), "a number is of two tracks"
    named = {(names[pid, None], names[pid, tid]): sorted(events) for (pid, tid), events in tracks.items()}
    assert len(named) == len(tracks), "two tracks have one name"
    for name, events in named.items():
        for one, other in zip(events, events[1:]):
            assert one[1] <= other[0], f"{name}: {one} overlaps {other}"
    return named


def check_trace(watched, trace):
    tracks = tracks_of(trace)
    found = sum(map(len, tracks.values()))
    wanted, lanes = {}, {}
    for thread in watched["threads"]:
        process = f"{thread['name']}, thread {thread['tid']}"
        for cycle in thread["worst"]:
            release = cycle["release_ns"]
            own = wanted.setdefault(process, [])
            own.append((release, release + cycle["response_ns"], "cycle", f"cycle {cycle['number']}"))
            own += [(release + p["from_ns"], release + p["to_ns"], p["phase"], f"{p['phase']}: {p['cause']}") for p in cycle["pieces"]]
            for lane in cycle["cpus"]:
                lanes.setdefault(f"CPU {lane['cpu']}", []).extend(
                    (release + s["from_ns"], release + s["to_ns"], s["kind"], s["who"]) for s in lane["stretches"])
    for process, own in wanted.items():
        drawn = sorted(e for (of, _), events in tracks.items() if of == process for e in events)
        assert drawn == sorted(own), f"{process}: {set(drawn) ^ set(own)}"
    assert {of for of, _ in tracks} == set(wanted) | ({"CPUs"} if lanes else set()), list(tracks)
    for cpu, own in lanes.items():
        drawn = tracks["CPUs", cpu]
        begins, ends = {s[0] for s in own}, {s[1] for s in own}
        # Several cycles may show the same stretch, each cut at its own ends: it is there once, and nothing beyond them.
        for begin, end, _, who in drawn:
            known = [s for s in own if s[3] == who and s[0] < end and s[1] > begin]
            assert known, f"{cpu}: nobody has {begin} .. {end} {who}"
            if who != "unknown":
                assert begin in begins | {0} and end in ends, f"{cpu}: {begin} .. {end} {who} has other ends"
        for begin, end, kind, who in own:
            begin = max(begin, 0)
            if kind == "unknown" or begin >= end:
                continue
            has = [s for s in drawn if s[0] <= begin and s[1] >= end]
            assert len(has) == 1 and has[0][3] == who, f"{cpu}: {begin} .. {end} {who} is {has}"
            assert has[0][2] in (kind, "watched"), f"{cpu}: {begin} .. {end} is {has}"
    print(f"trace: {found} stretches on {len(tracks)} tracks, {sum(map(len, lanes.values()))} of CPUs in the record")


def charts_of(page):
    text = pathlib.Path(page).read_text(encoding="utf-8")
    start = '<script type="application/json" id="data">'
    begin = text.index(start) + len(start)
    return {chart["id"]: chart for chart in json.loads(text[begin:text.index("</script>", begin)])}


def look_of(word):
    look = CLASSES[word]
    return list(look) if isinstance(look, tuple) else [look, 0]


def check_cycle(thread, cycle, chart):
    """Every stretch of one cycle, in its row, its colour and with its name."""
    rows = [thread["name"]] + [f"CPU {lane['cpu']}" for lane in cycle["cpus"]]
    assert chart["y"]["names"] == rows, chart["y"]
    wanted = [(0, p["from_ns"], p["to_ns"], *look_of(p["phase"]), p["cause"]) for p in cycle["pieces"]]
    for row, lane in enumerate(cycle["cpus"], 1):
        wanted += [(row, s["from_ns"], s["to_ns"], *look_of(s["kind"]), s["who"]) for s in lane["stretches"]]
    drawn = [(p[1], ns(p[2]), ns(p[3]), *s["lk"], p[5]) for s in chart["s"] for p in s["p"]]
    assert sorted(drawn) == sorted(wanted), f"{chart['id']}: {set(drawn) ^ set(wanted)}"
    marks = {name: ns(at) for name, at, _ in chart["m"]}
    assert marks["release"] == 0 and marks["end"] == cycle["response_ns"], marks
    if thread["late"]["rule"] in marks:
        assert marks[thread["late"]["rule"]] == thread["late"]["limit_ns"], marks
    return len(drawn)


def rows_of(steps):
    """Steps of response times, joined up to the next share of all: (last end, count, mean of each phase)."""
    total, seen, rows, part = sum(s["count"] for s in steps), 0, [], []
    for step in steps:
        before, seen = seen, seen + step["count"]
        part.append(step)
        if any(before < share * total <= seen for share in SHARES) or step is steps[-1]:
            count = sum(s["count"] for s in part)
            means = [sum(s["phases_ns"][n] * s["count"] for s in part) / count for n in range(len(step["phases_ns"]))]
            rows.append((part[-1]["to_ns"], count, means))
            part = []
    return rows


def check_phases(thread, chart):
    rows = rows_of(thread["by_response"])
    assert sum(count for _, count, _ in rows) == thread["cycles"], rows
    assert len(chart["y"]["names"]) == len(rows), chart["y"]
    for name, (_, count, _) in zip(chart["y"]["names"], rows):
        assert f",{count}cycle" in "".join(name.split()), f"{name}: {count}"
    bars = {(s["lk"][0], s["lk"][1], p[1]): p for s in chart["s"] for p in s["p"]}
    parts = 0
    for row, (_, count, means) in enumerate(rows):
        before = 0.0
        for phase, mean in zip(thread["phases"], means):
            share = 100 * mean / sum(means)
            if mean > 0:
                bar = bars[*look_of(phase["phase"]), row]
                assert abs(bar[2] - before) < 1e-6 and abs(bar[3] - before - share) < 1e-6 and bar[4] == count, (bar, before, share)
                parts += 1
            before += share
    assert parts == len(bars), f"{len(bars)} bars, {parts} parts"
    return parts


def check_culprits(thread, chart):
    names = [c["what"] for c in thread["culprits"]]
    assert chart["y"]["names"] == names, chart["y"]
    for row, culprit in enumerate(thread["culprits"]):
        ends = sorted((p[2], p[3]) for s in chart["s"] for p in s["p"] if p[1] == row)
        saved, cycles = culprit["saved"], culprit["cycles"]
        wanted = [(a, b) for a, b in ((0, saved), (saved, cycles)) if b > a]
        assert ends == wanted, f"{culprit['what']}: {ends}, not {wanted}"


def check_file(path, chart):
    """The rectangles of a file are the bars of the page, on one even scale."""
    svg = ElementTree.parse(path).getroot()
    space = "{http://www.w3.org/2000/svg}"
    area = next(g for g in svg.iter(space + "g") if g.get("clip-path"))
    rects = [(float(r.get("x")), float(r.get("width"))) for r in area.iter(space + "rect")]
    bars = [(p[2], p[3]) for s in chart["s"] for p in s["p"]]
    assert len(rects) == len(bars), f"{path}: {len(rects)} rectangles of {len(bars)} bars"
    low, high = min(bars)[0], max(b for _, b in bars)
    left, right = min(rects)[0], max(x + w for x, w in rects)
    scale = (right - left) / (high - low)
    for (x, width), (a, b) in zip(rects, bars):
        assert abs(x - left - scale * (a - low)) < 0.03 and abs(width - scale * (b - a)) < 0.03, f"{path}: {x} {width} for {a} .. {b}"
    assert not re.search("NaN|inf", path.read_text(encoding="utf-8")), path


def main():
    run, trace, page, pictures = map(pathlib.Path, sys.argv[1:])
    watched = json.loads((run / "run.json").read_text(encoding="utf-8"))["watched"]
    check_trace(watched, json.loads(trace.read_text(encoding="utf-8")))
    charts = charts_of(page)
    cycles = stretches = parts = culprits = 0
    for thread in watched["threads"]:
        name = thread["name"]
        if thread["period_ns"] is None and not thread["culprits"]:
            continue
        for cycle in thread["worst"][:SHOWN]:
            chart = charts[f"watch-cycle-{cycle['number']}-{name}"]
            stretches += check_cycle(thread, cycle, chart)
            cycles += 1
        if len(rows_of(thread["by_response"])) > 1:
            parts += check_phases(thread, charts[f"watch-phases-{name}"])
        if thread["culprits"]:
            check_culprits(thread, charts[f"watch-culprits-{name}"])
            culprits += len(thread["culprits"])
    assert cycles and parts, "no cycle of a thread with a period"
    drawn = [chart for chart in charts.values() if any(s.get("sh") == "bars" for s in chart["s"])]
    for chart in drawn:
        check_file(pictures / f"{chart['id']}.svg", chart)
    print(f"page: {cycles} cycles of {stretches} stretches, {parts} parts of phases, {culprits} culprits; {len(drawn)} files")


if __name__ == "__main__":
    main()
