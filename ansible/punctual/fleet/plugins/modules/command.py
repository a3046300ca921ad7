# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers

"""Documentation of the action of the same name, which runs on the controller. A host needs no Python."""

from __future__ import annotations

DOCUMENTATION = r"""
module: command
short_description: Run one command of Punctual on a host, and fetch its runs
description:
  - Runs the program that M(punctual.fleet.program) put there. Its runs come back as one archive, which C(punctual runs import) reads.
  - When the connection ends, the command is asked to end and its files are removed.
  - Refuses to measure while another Punctual measures on the host.
author: The Punctual developers
options:
  place:
    description: What M(punctual.fleet.program) returned as C(punctual_fleet).
    type: dict
    required: true
  verb:
    description: The verb of Punctual.
    type: str
    required: true
    choices: [assess, doctor, experiment, measure, tune]
  arguments:
    description: What follows the verb.
    type: list
    elements: str
    default: []
  answer:
    description: Also fetch what the command prints. Give it C(--json).
    type: bool
    default: false
  uploads:
    description: Files of the controller that are copied to where the command runs, such as that of an experiment.
    type: list
    elements: str
    default: []
  fetch:
    description: Directory of the controller for what comes back, made if it is missing. Empty means that nothing is fetched.
    type: path
    default: ""
  limit:
    description: The largest archive in bytes.
    type: int
    default: 268435456
  timeout:
    description: Seconds after which the command is asked to end. 0 means never.
    type: int
    default: 0
attributes:
  check_mode:
    description: Nothing is run.
    support: full
"""

EXAMPLES = r"""
- name: Measure for ten seconds
  punctual.fleet.command:
    place: "{{ placed.punctual_fleet }}"
    verb: measure
    arguments: [wakeup, --duration, 10s, --quiet]
    fetch: /home/me/results
"""

RETURN = r"""
punctual_fleet:
  description:
    - C(state), C(exit), C(seconds), C(stderr), and the files C(archive) and C(answer) on the controller.
    - C(keep) where runs are on the host that are nowhere else; M(punctual.fleet.cleanup) takes it.
  returned: always
  type: dict
"""
