#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
"""check-tasks.py PROGRAM [-n SETS] [--seed SEED]: the verdicts of `tasks check` against schedules of random sets.

Makes task sets with numpy's generators, writes each as a file, has PROGRAM check it, and plays the schedule itself, job after
job. Shares nothing with the program but its command line and its JSON. Of SETS sets each:

  fixed      bounds under fixed priorities are the longest responses of the schedule of the critical instant (exact)
  edf        every deadline is met under earliest deadline first if and only if the schedule of the first busy interval meets all
  optimal    an order of priorities is found if and only if one of all orders has a schedule that meets every deadline
  resources  no response of a schedule with critical sections, with random first releases, is longer than its bound (safe)

Prints a line a kind with what was compared, and exits 1 at the first contradiction, with the set. One unit of time is 1 ms.
"""
import argparse
import heapq
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

import numpy as np

MS = 1_000_000


@dataclass
class Task:
    cost: int
    period: int
    deadline: int
    jitter: int = 0
    # Resource and length of the sections, in the order in which a job enters them.
    sections: list = field(default_factory=list)


class Program:
    def __init__(self, path, directory):
        self.path = path
        self.directory = pathlib.Path(directory)
        self.environment = dict(os.environ, PUNCTUAL_HOME=str(self.directory / "home"))

    def check(self, tasks, policy="fifo", order=None, protocol=None):
        """What the program says of a set; `order` is that of the priorities, as numbers of tasks, or a word."""
        lines = [f'policy = "{policy}"', 'cpus = "0"']
        if isinstance(order, str):
            lines.append(f'order = "{order}"')
        for name in sorted({name for task in tasks for name, _ in task.sections}):
            lines += ["[[resource]]", f'name = "{name}"', f'protocol = "{protocol}"']
        for number, task in enumerate(tasks):
            lines += ["[[task]]", f'name = "t{number}"']
            for key in ("period", "deadline", "jitter"):
                lines.append(f'{key} = "{getattr(task, key)}ms"')
            lines.append(f'execution = "{task.cost}ms"')
            if policy == "deadline" and task.cost < task.deadline:
                lines.append(f'runtime = "{task.cost * 1000 + 1}us"')
            if isinstance(order, list):
                lines.append(f"priority = {80 - order.index(number)}")
            if task.sections:
                inner = ", ".join(f'{{ resource = "{name}", length = "{length}ms" }}' for name, length in task.sections)
                lines.append(f"sections = [{inner}]")
        self.text = "\n".join(lines) + "\n"
        path = self.directory / "set.toml"
        path.write_text(self.text)
        answer = subprocess.run(
            [self.path, "tasks", "check", str(path), "--cpus", "0", "--json"],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if answer.returncode not in (0, 3):
            sys.exit(f"exit status {answer.returncode}\n{answer.stderr[:2000]}\n{self.text}")
        found = json.loads(answer.stdout)
        if (answer.returncode == 0) != (found["verdict"] == "shown"):
            sys.exit(f"exit status {answer.returncode}, but the verdict is {found['verdict']}\n{self.text}")
        return found

    def contradicts(self, what):
        sys.exit(f"CONTRADICTION: {what}\n{self.text}")


def made(rng, n, total, periods, deadlines, jitter):
    """A set of `n` tasks that use about `total` of a CPU; shares of a Dirichlet distribution, none above the whole."""
    tasks = []
    for share in rng.dirichlet(np.ones(n)) * total:
        period = int(round(np.exp(rng.uniform(*np.log(periods)))))
        cost = int(np.clip(round(share * period), 1, period))
        deadline = {"period": period, "shorter": int(rng.integers(cost, period + 1)), "any": int(rng.integers(cost, 3 * period + 1))}[deadlines]
        tasks.append(Task(cost, period, deadline, int(rng.integers(0, period // 2 + 1)) if jitter else 0))
    return tasks


def used(tasks):
    return sum(task.cost / task.period for task in tasks)


def schedule(tasks, key):
    """The longest response of each task, and whether a deadline is missed, in the busy interval that begins with the latest
    possible releases of all at once. The job with the smallest `key(task, absolute deadline)` runs.

    A response counts from when the job would have come without jitter; so do deadlines.
    """
    coming = [(0, number, 0) for number in range(len(tasks))]
    heapq.heapify(coming)
    ready, now, worst, missed = [], 0, [0] * len(tasks), False
    while coming or ready:
        while coming and coming[0][0] <= now:
            at, number, job = heapq.heappop(coming)
            task = tasks[number]
            nominal = job * task.period - task.jitter
            heapq.heappush(ready, (key(number, nominal + task.deadline), number, nominal, [task.cost]))
            heapq.heappush(coming, (max(0, (job + 1) * task.period - task.jitter), number, job + 1))
        if not ready:
            # The busy interval is over, but jobs that come late may still be due in the time that was looked at.
            return worst, missed
        _, number, nominal, left = ready[0]
        until = min(now + left[0], coming[0][0])
        left[0] -= until - now
        now = until
        if left[0] == 0:
            heapq.heappop(ready)
            response = now - nominal
            worst[number] = max(worst[number], response)
            missed |= response > tasks[number].deadline
    return worst, missed


def fixed_order(order):
    place = {number: at for at, number in enumerate(order)}
    return lambda number, due: (place[number],)


def fixed(rng, program, count):
    compared = missed = 0
    while compared < count:
        kind = ["period", "shorter", "any"][compared % 3]
        tasks = made(rng, int(rng.integers(1, 8)), rng.uniform(0.3, 0.92), (10, 400), kind, compared % 2 == 1)
        if used(tasks) > 0.94:
            continue
        order = [int(number) for number in rng.permutation(len(tasks))]
        found = program.check(tasks, order=order)
        for at, number in enumerate(order):
            # The busy interval of a task is that of the tasks from its priority up.
            level = order[: at + 1]
            some = [tasks[other] for other in level]
            worst, _ = schedule(some, fixed_order(list(range(len(some)))))
            seen, said = worst[at], found["tasks"][number]
            if not said["exact"] or said["response_ns"] != seen * MS:
                program.contradicts(f"t{number}: the schedule has {seen} ms, the program says {said}")
            late = seen > tasks[number].deadline
            if said["verdict"] != ("missed" if late else "met"):
                program.contradicts(f"t{number}: {seen} ms of {tasks[number].deadline} ms, but it says {said['verdict']}")
            missed += late
        compared += 1
    print(f"fixed: {compared} sets, every bound is the longest response; {missed} tasks miss deadlines")


def edf(rng, program, count):
    met = missed = 0
    while met + missed < count:
        # The kernel takes no deadline beyond the period and admits 90 % at most; neither is the question here.
        tasks = made(rng, int(rng.integers(2, 7)), rng.uniform(0.4, 0.88), (10, 200), "period", False)
        if (met + missed) % 4:
            for task in tasks:
                task.deadline = int(rng.integers(task.cost, task.cost + (task.period - task.cost) // 2 + 1))
        if used(tasks) > 0.89:
            continue
        _, late = schedule(tasks, lambda number, due: (due, number))
        found = program.check(tasks, policy="deadline")
        tests = [test for test in found["tests"] if test["name"] == "processor demand"]
        if tests:
            said = {test["passed"] for test in tests}
            if said != {not late}:
                program.contradicts(f"the schedule is {'late' if late else 'in time'}, processor demand says {tests}")
        if (found["verdict"] == "missed") != late:
            program.contradicts(f"the schedule is {'late' if late else 'in time'}, the program says {found['verdict']}")
        # The kernel throttles a task that has no more runtime than its job needs, if its deadline is shorter than its period.
        full = any(task.cost == task.deadline < task.period for task in tasks)
        if not late and not full and found["verdict"] != "shown":
            program.contradicts(f"the schedule is in time, the program says {found['verdict']}")
        missed += late
        met += not late
    print(f"edf: {met + missed} sets, {met} meet every deadline and {missed} do not, as the program says")


def optimal(rng, program, count):
    some = none = 0
    while some + none < count:
        tasks = made(rng, int(rng.integers(2, 6)), rng.uniform(0.6, 0.93), (10, 100), ["shorter", "any"][(some + none) % 2], (some + none) % 3 == 2)
        if used(tasks) > 0.94:
            continue

        def meets(order):
            for at in range(len(order)):
                level = [tasks[number] for number in order[: at + 1]]
                worst, _ = schedule(level, fixed_order(list(range(at + 1))))
                if worst[at] > level[at].deadline:
                    return False
            return True

        exists = any(meets(order) for order in itertools.permutations(range(len(tasks))))
        found = program.check(tasks, order="optimal")
        if (found["verdict"] == "shown") != exists:
            program.contradicts(f"an order {'exists' if exists else 'does not exist'}, the program says {found['verdict']}")
        some += exists
        none += not exists
    print(f"optimal: {some + none} sets, {some} with an order and {none} without, as all orders say")


def with_sections(tasks, order, protocol, starts, until):
    """The longest responses of a schedule of unit steps in which jobs take and release resources."""
    place = {number: at for at, number in enumerate(order)}
    ceiling = {}
    for number, task in enumerate(tasks):
        for name, _ in task.sections:
            ceiling[name] = min(ceiling.get(name, len(tasks)), place[number])
    units = []
    for task in tasks:
        inside = [name for name, length in task.sections for _ in range(length)]
        units.append([None] * (task.cost - len(inside)) + inside)
    queues = [[] for _ in tasks]
    done = [0] * len(tasks)
    owner = {}
    worst = [0] * len(tasks)
    for now in range(until):
        for number, task in enumerate(tasks):
            if now >= starts[number] and (now - starts[number]) % task.period == 0:
                queues[number].append(now)
        active = [number for number in range(len(tasks)) if queues[number]]
        if not active:
            continue
        held = {number: [name for name, by in owner.items() if by == number] for number in active}
        level = {number: place[number] for number in active}
        if protocol == "ceiling":
            for number in active:
                level[number] = min([level[number]] + [ceiling[name] for name in held[number]])
        # A job that needs what another holds waits, and lends its priority.
        waits = {}
        while True:
            runner = min((number for number in active if number not in waits), key=lambda number: (level[number], place[number]))
            needs = units[runner][done[runner]]
            holder = owner.get(needs)
            if needs is None or holder in (None, runner):
                break
            waits[runner] = holder
            level[holder] = min(level[holder], level[runner])
        needs = units[runner][done[runner]]
        if needs is not None:
            owner[needs] = runner
        done[runner] += 1
        after = units[runner][done[runner]] if done[runner] < len(units[runner]) else None
        if needs is not None and after != needs:
            del owner[needs]
        if done[runner] == len(units[runner]):
            done[runner] = 0
            worst[runner] = max(worst[runner], now + 1 - queues[runner].pop(0))
    return worst


def resources(rng, program, count):
    reached = compared = 0
    for at in range(count):
        protocol = ["inheritance", "ceiling"][at % 2]
        tasks = made(rng, int(rng.integers(2, 6)), rng.uniform(0.3, 0.85), (10, 60), "period", False)
        if used(tasks) > 0.94:
            continue
        for task in tasks:
            left = task.cost
            for name in rng.permutation(["a", "b", "c"]):
                if left > 0 and rng.random() < 0.6:
                    length = int(rng.integers(1, left + 1))
                    task.sections.append((str(name), length))
                    left -= length
        order = sorted(range(len(tasks)), key=lambda number: tasks[number].period)
        found = program.check(tasks, order=order, protocol=protocol)
        for _ in range(4):
            starts = [int(rng.integers(0, task.period)) for task in tasks]
            worst = with_sections(tasks, order, protocol, starts, 1_500)
            for number, said in enumerate(found["tasks"]):
                if said["response_ns"] is None:
                    continue
                if worst[number] * MS > said["response_ns"]:
                    program.contradicts(f"t{number} of {starts}: the schedule has {worst[number]} ms, the program says {said}")
                reached += worst[number] * MS == said["response_ns"]
                compared += 1
    print(f"resources: {compared} responses within their bounds, {reached} reach them")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("program")
    arguments.add_argument("-n", type=int, default=300)
    arguments.add_argument("--seed", type=int, default=1_973)
    arguments = arguments.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        program = Program(str(pathlib.Path(arguments.program).resolve()), directory)
        for number, kind in enumerate([fixed, edf, optimal, resources]):
            kind(np.random.default_rng([arguments.seed, number]), program, arguments.n)


if __name__ == "__main__":
    main()
