# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers

"""Documentation of the action of the same name, which runs on the controller. A host needs no Python."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cleanup
short_description: Remove what the other actions left on a host
description:
  - Removes the private directories that M(punctual.fleet.program) made. No other path is ever removed.
author: The Punctual developers
options:
  places:
    description: The directories, C(punctual_fleet.places) of M(punctual.fleet.program).
    type: list
    elements: str
    default: []
  keep:
    description:
      - Remove nothing, and say that the directories are left. C(punctual_fleet.keep) of M(punctual.fleet.command) says
        that runs are in them that could not be fetched.
    type: bool
    default: false
attributes:
  check_mode:
    description: Nothing is removed.
    support: full
"""

EXAMPLES = r"""
- name: Remove it
  punctual.fleet.cleanup:
    places: "{{ placed.punctual_fleet.places }}"
"""

RETURN = r"""
punctual_fleet:
  description: C(left), the directories that are still there.
  returned: always
  type: dict
"""
