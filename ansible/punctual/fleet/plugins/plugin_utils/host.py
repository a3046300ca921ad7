# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers

"""What the actions of this collection share: a host, reached by Ansible's connection and nothing but a shell.

Nothing of Python is needed on a host. Every script answers in lines that begin with MARK, so that a login banner or the
lecture of sudo is not taken for an answer. What a host answers is data from elsewhere: it is checked before it is used.
"""

from __future__ import annotations

import os
import re
import shlex

import yaml

from ansible.errors import AnsibleConnectionFailure, AnsibleError

MARK = "punctual-fleet:"

# A private directory of ours. Only such a directory is ever removed.
PLACE = re.compile(r"\A/(?:[A-Za-z0-9._+-]+/)*punctual-fleet\.[A-Za-z0-9]{6,}\Z")

# Says how many kilobytes are free where a path is.
FREE = 'df -Pk %s 2>/dev/null | { read -r h; read -r a b c free e && echo "%sfree=$free"; }'

# The longest text of a host that is kept.
TEXT_LIMIT = 8192


class Fail(Exception):
    """A host that cannot do what it should: one word that programs read, and a sentence."""

    def __init__(self, state, detail, **more):
        super().__init__(detail)
        self.state = state
        self.detail = detail
        self.more = more

    def result(self, **known):
        """Returns the result of a task."""
        said = dict(known, state=self.state, detail=self.detail, **self.more)
        return {
            "failed": True,
            "msg": "%s: %s" % (self.state, self.detail),
            "punctual_fleet": said,
        }


class Said:
    """What a script said: its exit status, its marked lines, and the rest."""

    def __init__(self, answer):
        self.status = answer.get("rc", 1)
        self.marked = []
        rest = []
        text = (answer.get("stdout") or "") + "\n" + (answer.get("stderr") or "")
        for line in text.splitlines():
            line = line.strip("\r\n")
            if line.startswith(MARK):
                key, found, value = line[len(MARK):].partition("=")
                if found:
                    self.marked.append((key, value[:TEXT_LIMIT]))
            elif line.strip():
                rest.append(line.strip()[:TEXT_LIMIT])
        self.rest = rest[-20:]

    def get(self, key, otherwise=""):
        """Returns the last value of a key."""
        values = [value for name, value in self.marked if name == key]
        return values[-1] if values else otherwise

    def number(self, key):
        """Returns a number, or None if the host gave none."""
        text = self.get(key)
        return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else None

    def why(self):
        """Returns what it complained of, in one line."""
        text = "; ".join(self.rest) or "exit status %s, and no message" % self.status
        return text[-TEXT_LIMIT:]


class Host:
    """A host: scripts run on it, files go there and come back."""

    def __init__(self, action):
        self.action = action

    @property
    def becomes(self):
        """Whether scripts run as another user than the one who logs in."""
        return self.action._connection.become is not None

    def run(self, script, login=False):
        """Runs a script, as the user who logs in or as the one whom Ansible becomes."""
        connection = self.action._connection
        become = connection.become
        if login and become is not None:
            connection.set_become_plugin(None)
        try:
            # What a login prints may end within a line, such as a sequence that clears the screen.
            answer = self.action._low_level_execute_command("echo\n" + script, executable="/bin/sh")
        except AnsibleConnectionFailure:
            raise
        except AnsibleError as err:
            raise Fail("no_privilege" if become else "failed", one_line(err)) from err
        finally:
            if login and become is not None:
                connection.set_become_plugin(become)
        said = Said(answer)
        if not said.marked and become is not None and not login:
            raise Fail("no_privilege", "cannot become another user: %s" % said.why())
        return said

    def put(self, local, remote):
        """Copies a file to the host, as the user who logs in."""
        self.action._connection.put_file(local, remote)

    def fetch(self, remote, local, limit):
        """Copies a file from the host, as the user who logs in, and not more than `limit` bytes of it."""
        self.action._connection.fetch_file(remote, local)
        if os.path.islink(local) or not os.path.isfile(local):
            raise Fail("failed", "the file that came back is not a regular file")
        if os.path.getsize(local) > limit:
            os.unlink(local)
            raise Fail("failed", "sent more than %d bytes" % limit)


def arguments(action, module):
    """Returns the arguments of a task as its module documents them: of their types, with their defaults, and no others."""
    documented = yaml.safe_load(module.DOCUMENTATION)["options"]
    try:
        return action.validate_argument_spec(documented)[1]
    except AnsibleError as err:
        # Its own name for an action is the path of its source.
        raise Fail("failed", one_line(err).replace(action._load_name, action._task.action)) from err


def one_line(err):
    """Returns an error as one line."""
    return " ".join(str(err).split())[:TEXT_LIMIT]


def quote(text):
    """Returns a text as one word of the shell."""
    return shlex.quote(str(text))


def looks_full(text):
    """Whether a message says that a file system is full."""
    text = text.lower()
    return "no space left" in text or "disk quota exceeded" in text


def is_full(said):
    """Whether what FREE said is as good as nothing."""
    free = said.number("free")
    return free is not None and free < 1024


def lost(err):
    """Returns the failure of a host that no longer answers, or that asks for a password that nobody gives."""
    if "privilege escalation" in str(err):
        return Fail("no_privilege", one_line(err))
    return Fail("lost", "stopped answering: %s" % one_line(err))
