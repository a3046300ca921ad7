# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers

"""Documentation of the action of the same name, which runs on the controller. A host needs no Python."""

from __future__ import annotations

DOCUMENTATION = r"""
module: program
short_description: Put the right Punctual for a host's architecture there
description:
  - Copies the static program for the host's architecture into a new private directory, and checks its SHA-256 and that it starts.
  - Fails with C(punctual_fleet.state) C(wrong_architecture), C(disk_full), C(no_privilege), C(other_version) or C(failed).
  - The host needs a POSIX shell and C(sha256sum), and no Python.
author: The Punctual developers
options:
  files:
    description: Path of the program on the controller, by what C(uname -m) says on the host, such as C(x86_64).
    type: dict
    default: {}
  packed:
    description: The same programs packed by gzip, which are copied instead where the host has C(gzip). Their names end in C(.gz).
    type: dict
    default: {}
  directory:
    description: Absolute path of a directory on the host where the program stays. Empty means that nothing stays.
    type: str
    default: ""
  base:
    description: Where the private directory is made. Empty means C($TMPDIR) or C(/tmp). Its file system must allow programs.
    type: str
    default: ""
  installed:
    description: Use the Punctual that is installed on the host instead of copying one.
    type: bool
    default: false
  version:
    description: The version that an installed Punctual must have. Empty means any.
    type: str
    default: ""
  needs:
    description: What the command needs, C(root) or a real-time policy such as C(f:80). Only check mode looks whether the user has it. Empty
      means nothing.
    type: str
    default: ""
  notes:
    description: A directory on the controller. The private directories of each host are noted there before they are made, so that they can be
      removed also after a play that was stopped. Empty means nowhere.
    type: str
    default: ""
attributes:
  check_mode:
    description: Nothing is copied; the host's architecture, room and privilege are looked at, and whether C(base) and C(directory) can be written to.
    support: full
"""

EXAMPLES = r"""
- name: Put Punctual there
  punctual.fleet.program:
    files:
      x86_64: dist/punctual-x86_64
      aarch64: dist/punctual-aarch64
  register: placed
"""

RETURN = r"""
punctual_fleet:
  description: C(state), C(machine), C(uid), C(version), C(sha256), and C(places), which C(punctual.fleet.cleanup) takes.
  returned: always
  type: dict
"""
