# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers

"""Runs one command of Punctual on a host and fetches what it made: see the module of the same name."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import time

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase
from ansible_collections.punctual.fleet.plugins.modules import command
from ansible_collections.punctual.fleet.plugins.plugin_utils.host import (
    FREE, MARK, Fail, Host, arguments, is_full, looks_full, lost, one_line, quote)

# Verbs that another measurement on the same machine would spoil.
ALONE = ("assess", "experiment", "measure", "tune")

# Words of tuning that only look at the machine.
LOOKS = ("plan", "status")

# Verbs that make runs.
RECORDING = ("assess", "experiment", "measure")

# What a place has where the program was put.
PLACED = ("login_uid", "places", "program", "upload", "work")

# What a program says where it lacks a privilege.
LACKS = re.compile(r"\broot\b|privilege|permission|cap_sys|not permitted")

# What became of a setting that was written, and where an answer says so.
WRITTEN = {"apply": ("outcome", ("applied", "normalised", "invalid")), "revert": ("undone", ("restored", "not_restored"))}

# The largest answer in JSON.
ANSWER_LIMIT = 16 << 20

# A hangup is what the end of the connection is to the host: the command is asked to end, and everything is removed.
# `wait` returns early when a signal is handled, so it is asked until the command is gone.
COMMAND = """
umask 077
cd %(work)s || exit 1
if [ -n %(alone)s ]; then
  for c in /proc/[0-9]*/comm; do
    name=
    { read -r name <"$c"; } 2>/dev/null
    [ "$name" = punctual ] || continue
    at=${c%%/comm}
    line=" $(tr '\\0' ' ' <"$at/cmdline" 2>/dev/null)"
    # Who has other machines measure measures nothing here.
    case $line in
    *" fleet "*) line="${line%%%% fleet *} ";;
    esac
    case $line in
    *" measure "*|*" assess "*|*" watch "*|*" experiment "*|*" study "*|*" cyclictest "*|*" tune run "*|*" tune trial "*)
      echo "%(mark)sbusy=${at#/proc/}"; exit 1;;
    esac
  done
fi
# Runs that could not be fetched are not made.
if [ -n %(packs)s ] && ! %(program)s runs pack --help >/dev/null 2>&1; then echo "%(mark)solder=1"; exit 1; fi
gone=
trap 'gone=1; kill -TERM "$p" 2>/dev/null' HUP INT TERM
%(store)s %(command)s </dev/null >stdout 2>stderr &
p=$!
t=
if [ %(timeout)d -gt 0 ]; then
  ( trap 'kill "$s"' TERM; sleep %(timeout)d & s=$!; wait "$s" && { : >late; kill -TERM "$p"; } ) </dev/null >/dev/null 2>&1 &
  t=$!
fi
while :; do
  wait "$p"; status=$?
  kill -0 "$p" 2>/dev/null || break
done
[ -z "$t" ] || kill "$t" 2>/dev/null
[ ! -f late ] || echo "%(mark)slate=1"
if [ -n "$gone" ]; then cd /; rm -rf -- %(places)s; exit 1; fi
echo "%(mark)sexit=$status"
# A text may end within a line, and what follows begins one.
tail -c 4096 stderr | sed 's/^/%(mark)serror=/'; echo
if [ -n %(answer)s ]; then echo "%(mark)sanswer=$(wc -c <stdout)"; fi
if [ -d store/runs ] && [ -n "$(ls store/runs)" ]; then
  if %(program)s --home "$PWD/store" runs pack -o runs.tar >packed 2>&1; then
    echo "%(mark)sarchive=$(wc -c <runs.tar)"
  else
    tail -c 1024 packed | sed 's/^/%(mark)sunpacked=/'; echo
  fi
fi
%(free)s
if [ -n %(give)s ]; then
  for f in runs.tar stdout; do [ ! -f "$f" ] || chown %(give)s "$f"; done
  chmod 711 .
fi
"""


class ActionModule(ActionBase):
    """The action."""

    _requires_connection = True
    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        """Does it."""
        result = super().run(tmp, task_vars)
        self._known = {}
        self._changed = False
        name = (task_vars or {}).get("inventory_hostname", "host")
        began = time.monotonic()
        try:
            args = arguments(self, command)
            place = args["place"]
            self._known = {key: place[key] for key in ("machine", "uid", "version", "places") if key in place}
            if self._task.check_mode:
                result.update(changed=False, skipped=True, punctual_fleet=dict(self._known, state="checked"))
                return result
            result["punctual_fleet"] = self._command(Host(self), args, name, began)
        except Fail as err:
            result.update(self._failed(err, began))
        except AnsibleConnectionFailure as err:
            result.update(self._failed(lost(err), began))
        # What failed may have changed the host all the same.
        return dict(result, changed=self._changed)

    def _failed(self, err, began):
        """A command that could not restore its machine is that, whatever else went wrong on the way."""
        known = self._known
        known["seconds"] = round(time.monotonic() - began, 3)
        if known.get("exit") == 4 and err.state != "not_restored":
            state, text = reason(4, known.get("stderr", ""))
            err = Fail(state, "%s; then: %s" % (text, err.detail), **err.more)
        return err.result(**known)

    def _command(self, host, args, name, began):
        place, verb, answer, fetch, timeout = (args[key] for key in ("place", "verb", "answer", "fetch", "timeout"))
        missing = [key for key in PLACED if key not in place]
        if missing:
            raise Fail("failed", "place: not what punctual.fleet.program returns; it has no %s" % ", ".join(missing))
        # What the command makes would be lost.
        if fetch:
            prepare(fetch)
        work, upload = place["work"], place["upload"]
        self._files(host, args["uploads"], work, upload)
        # Tuning is undone by a journal that stays on the host, so it is not that of a store that is removed.
        store = [] if verb == "tune" else ["--home", work + "/store"]
        words = [place["program"]] + store + [verb] + args["arguments"]
        said = host.run(COMMAND % {
            "mark": MARK,
            "work": quote(work),
            "timeout": timeout,
            "alone": quote("yes" if disturbs(verb, args["arguments"]) else ""),
            "packs": quote("yes" if verb in RECORDING else ""),
            "store": "PUNCTUAL_VIEW=",
            "command": " ".join(quote(word) for word in words),
            "program": quote(place["program"]),
            "answer": quote("yes" if answer else ""),
            "free": FREE % (".", MARK),
            "places": " ".join(quote(path) for path in place["places"]),
            "give": quote(place["login_uid"] if host.becomes else ""),
        })
        known = self._known
        known["seconds"] = round(time.monotonic() - began, 3)
        if said.get("busy"):
            raise Fail("busy", "another measurement is in progress: process %s" % said.get("busy")[:20])
        if said.get("older"):
            raise Fail("other_version", "its Punctual %s cannot pack runs, so nothing was measured: it is older than this one"
                       % known.get("version", ""))
        status = said.number("exit")
        if status is None:
            raise Fail("lost", "the command ended with no exit status: %s" % said.why())
        known["exit"] = status
        errors = [value for key, value in said.marked if key == "error"]
        known["stderr"] = "\n".join(errors)
        try:
            unset = self._take(host, args, name, said)
        except (Fail, AnsibleConnectionFailure) as err:
            raise kept(err, said, work) from err
        full, no_room = is_full(said), Fail("disk_full", "no room is left in %s" % os.path.dirname(work))
        unpacked = [value for key, value in said.marked if key == "unpacked"]
        if unpacked:
            raise Fail("disk_full" if looks_full(" ".join(unpacked)) else "failed",
                       "pack the runs: %s; they are in %s/store/runs on the host" % (" ".join(unpacked), work), keep=True)
        if answer and not said.number("answer") and status in (0, 3):
            raise Fail("failed", "ended with status %d and printed no answer" % status)
        if verb in ("assess", "measure") and status in (0, 3) and said.number("archive") is None and not wants_help(words):
            raise no_room if full else Fail("failed", "ended with status %d and made no run" % status)
        if said.get("late"):
            raise Fail("failed", "took longer than %d s, and was ended" % timeout)
        if status in (0, 3):
            return dict(known, state="done")
        state, text = reason(status, known["stderr"])
        if unset and not known["stderr"].strip():
            text = unset
        # Its last words went to a file on that disk.
        raise no_room if full and state == "failed" and not known["stderr"].strip() else Fail(state, text)

    def _take(self, host, args, name, said):
        """Fetches what the command made. Returns what a tuning could not set."""
        verb, fetch, work, unset = args["verb"], args["fetch"], args["place"]["work"], ""
        known = self._known
        if args["answer"] and said.number("answer"):
            with tempfile.TemporaryDirectory() as own:
                # Whether the machine was changed is asked of tuning also where nobody keeps the answer.
                into = fetch or (own if verb == "tune" else "")
                text = self._fetch(host, work + "/stdout", into, name, ".json", said.number("answer"), ANSWER_LIMIT)
                report = tuning(verb, text)
                self._changed = changes(report)
                unset = not_set(report)
            known["answer"] = text if fetch else ""
        # An empty one is fetched too: what is wrong with it is said as of any other.
        if said.number("archive") is not None:
            known["archive"] = self._fetch(
                host, work + "/runs.tar", fetch, name, ".tar", said.number("archive"), args["limit"])
        return unset

    @staticmethod
    def _files(host, files, work, upload):
        """Copies further files, such as that of an experiment, next to where the command runs."""
        for local in files:
            name = os.path.basename(local)
            try:
                host.put(local, "%s/%s" % (upload, name))
            except AnsibleConnectionFailure:
                raise
            except AnsibleError as err:
                raise Fail("failed", "copy %s: %s" % (name, one_line(err))) from err
            if work != upload:
                source, target = quote("%s/%s" % (upload, name)), quote("%s/%s" % (work, name))
                host.run("chmod 644 %s; echo '%sdone=1'" % (source, MARK), login=True)
                said = host.run("umask 077; cat %s >%s && echo '%sdone=1'" % (source, target, MARK))
                if not said.get("done"):
                    raise Fail("failed", "copy %s: %s" % (name, said.why()))

    @staticmethod
    def _fetch(host, remote, directory, name, ending, size, limit):
        """Fetches a file under a name that the host does not choose."""
        if size > limit:
            raise Fail("failed", "made %d bytes, more than the limit of %d" % (size, limit))
        if not directory:
            return ""
        local = os.path.join(directory, hashlib.sha256(name.encode()).hexdigest()[:32] + ending)
        try:
            host.fetch(remote, local, limit)
        except AnsibleConnectionFailure:
            raise
        except (AnsibleError, OSError) as err:
            raise Fail("failed", "fetch what it made: %s" % one_line(err)) from err
        return local


def kept(err, said, work):
    """Returns the failure to fetch what a command made: its runs stay on the host, which has the only ones."""
    fail = err if isinstance(err, Fail) else lost(err)
    if not said.number("archive"):
        return fail
    return Fail(fail.state, "%s; its runs are in %s/runs.tar on the host" % (fail.detail, work), **dict(fail.more, keep=True))


def wants_help(words):
    """Whether a command only says what it could do."""
    return any(word in ("-h", "--help") for word in words)


def prepare(directory):
    """Makes the directory for what comes back, unless it is there, and checks that files can be made in it."""
    try:
        os.makedirs(directory, exist_ok=True)
    except OSError as err:
        raise Fail("failed", "fetch: %s: %s" % (directory, err.strerror)) from err
    if not os.access(directory, os.W_OK | os.X_OK):
        raise Fail("failed", "fetch: %s: not writable" % directory)


def reason(status, stderr):
    """Returns a word and a sentence for an exit status of Punctual."""
    errors = [line for line in stderr.splitlines() if line.strip()]
    errors = [line for line in errors if not line.startswith(("Usage: ", "For more information, "))]
    first = [at for at, line in enumerate(errors) if line.startswith("Error: ")]
    said = errors[first[0]:first[0] + 3] if first else errors[-1:]
    said = [line for line in said if not line.startswith("Hint: ")]
    said = [line.strip().removeprefix("Error: ").removeprefix("caused by: ") for line in said]
    text = ": ".join(said) or "exit status %d" % status
    if status == 4:
        return "not_restored", text
    if looks_full(stderr):
        return "disk_full", text
    if status == 5:
        lacks = LACKS.search(stderr.lower())
        return "no_privilege" if lacks else "unsupported", text
    if status == 6:
        return "unjudged", text
    if status in (126, 127):
        return "failed", "the program does not start: %s" % text
    if status > 128:
        return "failed", "ended by signal %d" % (status - 128)
    return "failed", text


def disturbs(verb, words):
    """Whether another measurement on the same machine would spoil the command, or it that: to look at settings does neither."""
    first = next((word for word in words if not word.startswith("-")), "")
    return verb in ALONE and not (verb == "tune" and first in LOOKS)


def tuning(verb, path):
    """Returns the answer of tuning; an empty one where there is none."""
    if verb != "tune" or not path:
        return {}
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    return report if isinstance(report, dict) else {}


def not_set(report):
    """What an answer says could not be set: a tuning that is applied in part says it nowhere else."""
    remarks = report.get("remarks")
    said = [line for line in remarks if isinstance(line, str)] if isinstance(remarks, list) else []
    return one_line("; ".join(line for line in said if "could not be set" in line))


def changes(report):
    """Whether an answer says that the machine was changed."""
    if report.get("action") not in ("apply", "revert"):
        return False
    # A limit is in effect for as long as it is held, and no longer once it is let go.
    if report.get("held"):
        return True
    key, written = WRITTEN[report["action"]]
    steps = report.get("steps")
    ends = [step.get(key) for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    return any(isinstance(end, dict) and end.get("is") in written for end in ends)
