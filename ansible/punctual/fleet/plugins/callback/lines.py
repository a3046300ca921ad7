# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers

"""Prints what happens as one JSON object a line, for `punctual fleet`."""

from __future__ import annotations

DOCUMENTATION = r"""
name: lines
type: stdout
short_description: one JSON object a line, for punctual fleet
description:
  - Prints the hosts of a play, and what each task of the collection punctual.fleet said of a host.
  - Text of hosts is in JSON strings, so no host can print a line of its own.
"""

import json
import sys

from ansible.plugins.callback import CallbackBase

# The tasks that `punctual fleet` knows, by the end of their action's name.
STEPS = ("program", "command", "cleanup")


class CallbackModule(CallbackBase):
    """The callback."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "punctual.fleet.lines"

    def _line(self, **what):
        sys.stdout.write(json.dumps(what, ensure_ascii=True) + "\n")
        sys.stdout.flush()

    def v2_playbook_on_play_start(self, play):
        manager = play.get_variable_manager()
        hosts = [host.get_name() for host in manager._inventory.get_hosts(play.hosts)]
        self._line(event="hosts", hosts=hosts)

    def v2_playbook_on_no_hosts_matched(self):
        self._line(event="hosts", hosts=[])

    def _task(self, result, status):
        action = str(result._task.action).rsplit(".", 1)[-1]
        said = result._result
        self._line(
            event="task",
            host=result._host.get_name(),
            step=action if action in STEPS else "other",
            status=status,
            changed=bool(said.get("changed")),
            said=said.get("punctual_fleet") or {},
            message=str(said.get("msg") or "")[:8192],
        )

    def v2_runner_on_ok(self, result, **kwargs):
        self._task(result, "ok")

    def v2_runner_on_failed(self, result, ignore_errors=False, **kwargs):
        self._task(result, "failed")

    def v2_runner_on_unreachable(self, result):
        self._task(result, "unreachable")

    def v2_runner_on_skipped(self, result):
        self._task(result, "skipped")

    def v2_playbook_on_stats(self, stats):
        self._line(event="end")
