# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers

"""Puts the program for a host's architecture there, and checks it: see the module of the same name."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase
from ansible_collections.punctual.fleet.plugins.modules import program
from ansible_collections.punctual.fleet.plugins.plugin_utils.host import (
    FREE, MARK, PLACE, Fail, Host, arguments, is_full, looks_full, lost, one_line, quote)

# Room for what is measured, besides the program.
SPARE = 16 << 20

PROBE = """
base=%(base)s; [ -n "$base" ] || base=${TMPDIR:-/tmp}
echo "%(mark)smachine=$(uname -m)"
echo "%(mark)suid=$(id -u)"
echo "%(mark)sbase=$base"
if [ ! -d "$base" ]; then echo "%(mark)sshut=there is no directory $base"
elif [ ! -w "$base" ] || [ ! -x "$base" ]; then echo "%(mark)sshut=no permission to write to $base"; fi
command -v gzip >/dev/null && echo "%(mark)sgzip=1"
df -Pk "$base" 2>/dev/null | { read -r h; read -r a b c free e at && echo "%(mark)sfree=$free" && while read -r a place b options c; do
  [ "$place" != "$at" ] || last=,$options,
done </proc/mounts && case $last in *,noexec,*) echo "%(mark)snoexec=1" ;; esac; }
if [ -n %(kept)s ] && [ -f %(kept)s/punctual ]; then
  h=$(sha256sum %(kept)s/punctual 2>/dev/null) && echo %(mark)s"same=${h%%%% *}"
fi
if [ -n %(installed)s ]; then
  p=$(command -v punctual) && echo "%(mark)sprogram=$p" && echo "%(mark)sversion=$("$p" --version 2>&1 | head -n 1)"
fi
"""

# A check does what the command would begin with. The kernel's rule is in sched(7): CAP_SYS_NICE, or a limit as high as the priority.
POLICY = """
p=%(priority)d
may() {
  if [ "$p" -lt 100 ] && command -v chrt >/dev/null; then chrt -f "$p" true 2>/dev/null; return; fi
  while read -r key value more; do
    case $key$value in CapEff:*[89a-f]?????) return 0 ;; esac
  done </proc/self/status
  while read -r a b c limit more; do
    case $a-$b-$c in Max-realtime-priority) [ "$limit" = unlimited ] || [ "$limit" -ge "$p" ]; return ;; esac
  done </proc/self/limits
  return 1
}
may || echo "%(mark)srefused=1"
"""

POLICIES = {"f": "SCHED_FIFO", "r": "SCHED_RR", "d": "SCHED_DEADLINE"}

# What an end of the connection is to the host, a hangup, removes what was begun.
PLACE_MADE = """
umask 077
w=%(place)s
mkdir -m %(mode)s "$w" || exit 1
trap 'rm -rf -- "$w"; exit 1' HUP INT TERM
echo "%(mark)splace=$w"
"""

INSTALL = """
umask 077
w=%(place)s
trap 'rm -rf -- "$w"; exit 1' HUP INT TERM
p=$w/punctual
case %(from)s in
"$p") ;;
*.gz) gzip -dc %(from)s >"$p" && rm -f %(from)s || exit 1 ;;
*) cat %(from)s >"$p" || exit 1 ;;
esac
chmod 700 "$p" || exit 1
h=$(sha256sum "$p") || exit 1
[ "${h%%%% *}" = %(hash)s ] || { echo "%(mark)sdiffers=${h%%%% *}"; exit 1; }
"""

# What stays is started again later: nobody else may change it or a directory above it, for root not even a group.
KEPT = """
umask 077
unsafe() { echo "%(mark)sunsafe=$1"; exit 1; }
shut() { [ -n "$(find "$1" -prune ! -perm -0002 $group 2>/dev/null)" ]; }
ours() { [ -O "$1" ] && shut "$1"; }
above() {
  at=$1/
  while at=${at%%/*}; do
    up=${at:-/}
    [ -n "$(find "$up" -prune \\( -user 0 -o -user "$u" \\) 2>/dev/null)" ] || unsafe "$up"
    shut "$up" || [ -k "$up" ] || unsafe "$up"
    [ -n "$at" ] || return 0
  done
}
u=$(id -u); group=
[ "$u" != 0 ] || group='! -perm -0020'
k=%(kept)s
e=$k
while [ ! -d "$e" ] && [ -n "$e" ]; do e=${e%%/*}; done
real=$(cd -P "${e:-/}" && pwd -P) || exit 1
[ "$real" != / ] || real=
k=$real${k#"$e"}
above "$real"
"""

KEEP_CHECKED = """
[ ! -e "$k" ] || ours "$k" || unsafe "$k"
[ -w "${e:-/}" ] || echo "%(mark)sclosed=${e:-/}"
"""

KEEP_NEW = """
mkdir -p "$k" || exit 1
ours "$k" || unsafe "$k"
cat "$p" >"$k/.punctual.new" && chmod 755 "$k/.punctual.new" && mv -f "$k/.punctual.new" "$k/punctual" || exit 1
p=$k/punctual
"""

# The one that is there is started as it is: as if it had just been copied.
KEEP_THERE = """
ours "$k" || unsafe "$k"
p=$k/punctual
[ ! -L "$p" ] && [ -f "$p" ] && ours "$p" || unsafe "$p"
h=$(sha256sum "$p") || exit 1
[ "${h%%%% *}" = %(hash)s ] || { echo "%(mark)sdiffers=${h%%%% *}"; exit 1; }
"""

READY = """
echo "%(mark)sprogram=$p"
echo "%(mark)sversion=$("$p" --version 2>&1 | head -n 1)"
"""


class ActionModule(ActionBase):
    """The action."""

    _requires_connection = True
    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        """Does it. A host that does not answer at all is Ansible's to report."""
        result = super().run(tmp, task_vars)
        self._known = {}
        self._name = (task_vars or {}).get("inventory_hostname", "host")
        try:
            result.update(self._place(Host(self)))
        except Fail as err:
            result.update(err.result(**self._known))
        except AnsibleConnectionFailure as err:
            if not self._known:
                raise
            result.update(lost(err).result(**self._known))
        return result

    def _place(self, host):
        args = arguments(self, program)
        files, kept, base, installed = args["files"], args["directory"], args["base"], args["installed"]
        if kept and not kept.startswith("/"):
            raise Fail("failed", "directory: must be an absolute path")
        needs = args["needs"]
        if needs not in ("", "root") and not priority(needs):
            raise Fail("failed", "needs: must be root or a real-time policy, such as f:80")
        asked = {
            "mark": MARK,
            "base": quote(base),
            "kept": quote(kept),
            "installed": quote("yes" if installed else ""),
            "priority": priority(needs),
        }
        probe = PROBE
        if self._task.check_mode:
            probe += (POLICY if priority(needs) else "") + (KEPT + KEEP_CHECKED if kept else "")
        # The one who will run it looks at what is there; the one who logs in would only read all of it once more.
        first = PROBE % dict(asked, kept="''", installed="''") if host.becomes else probe % asked
        said = outside = host.run(first, login=True)
        login = self._note(said)
        if host.becomes:
            said = host.run(probe % asked)
            self._note(said)
        base = said.get("base") or "/tmp"
        known = self._known
        # Both put something there.
        shut = said.get("shut") or (outside.get("shut") if outside.get("base") == base else "")
        if shut:
            raise Fail("failed", "%s: choose another place (--base DIR)" % shut[:1024])
        if installed:
            return self._installed(host, said, base, args, login)
        machine = known["machine"]
        local = file_for(files, machine)
        if local is None:
            have = ", ".join(sorted(files)) or "none"
            raise Fail(
                "wrong_architecture",
                "its architecture is %s; programs given are for: %s" % (machine, have),
            )
        try:
            size = os.path.getsize(local)
            with open(local, "rb") as file:
                digest = _digest(file).hexdigest()
        except OSError as err:
            raise Fail("failed", "%s: %s" % (local, err.strerror)) from err
        known["sha256"] = digest
        packed = file_for(args["packed"], machine) if said.get("gzip") else None
        there = bool(kept) and said.get("same") == digest
        need = 0 if there else size * (2 if host.becomes or kept else 1)
        free = said.number("free")
        if free is not None and free * 1024 < need + SPARE:
            raise Fail(
                "disk_full",
                "%d MB free in %s, %d MB needed" % (free >> 10, base, (need + SPARE) >> 20),
            )
        if said.get("noexec") and not kept:
            raise Fail("failed", "programs cannot run in %s, which is mounted noexec: choose another place (--base DIR)" % base)
        if self._task.check_mode:
            self._safe(said, kept)
            if said.get("closed") and not there:
                raise Fail("failed", "no permission to write to %s (for %s)" % (said.get("closed")[:1024], kept))
            return self._checked(said, needs, bool(kept) and not there)
        try:
            return self._copy(host, packed or local, digest, base, kept, there, login)
        except AnsibleConnectionFailure:
            raise
        except AnsibleError as err:
            detail = one_line(err)
            raise Fail(self._state_of(host, base, detail), "copy the program: " + detail) from err

    def _note(self, said):
        machine, uid = said.get("machine"), said.number("uid")
        if not machine or uid is None:
            raise Fail("failed", "no POSIX shell answered: %s" % said.why())
        self._known.update(machine=machine[:64], uid=uid)
        return uid

    def _state_of(self, host, base, detail):
        """Tells a full disk from other reasons: what copies files does not always say."""
        said = host.run(FREE % (quote(base), MARK))
        return "disk_full" if looks_full(detail) or is_full(said) else "failed"

    def _copy(self, host, local, digest, base, kept, there, login):
        known = self._known
        upload = self._new_place(base)
        self._make(host, upload, "755" if host.becomes else "700", login=True)
        words = {"mark": MARK, "hash": quote(digest), "kept": quote(kept)}
        script = ""
        work = upload
        if host.becomes:
            work = self._new_place(base)
            script += PLACE_MADE % {"mark": MARK, "place": quote(work), "mode": "700"}
        if there:
            script += KEPT % words + KEEP_THERE % words
        else:
            source = upload + ("/punctual.gz" if local.endswith(".gz") else "/punctual")
            host.put(local, source)
            if host.becomes:
                host.run("chmod 644 %s; echo '%sdone=1'" % (quote(source), MARK), login=True)
            script += INSTALL % dict(words, place=quote(work), **{"from": quote(source)})
            if kept:
                script += KEPT % words + KEEP_NEW % words
        said = host.run(script + READY % words)
        self._safe(said, kept)
        if said.get("differs"):
            raise Fail("failed", "the copy of the program differs: its SHA-256 is %s" % said.get("differs")[:64])
        program = said.get("program")
        if not program:
            state = "disk_full" if looks_full(said.why()) else "failed"
            raise Fail(state, "copy the program: %s" % said.why())
        known.update(program=program, work=work, upload=upload, login_uid=login)
        known["version"] = self._version(said)
        # What is removed again is no change.
        return {"changed": bool(kept) and not there, "punctual_fleet": dict(known, state="ready")}

    @staticmethod
    def _safe(said, kept):
        if said.get("unsafe"):
            raise Fail("failed", "%s: others can write to it, or it belongs to another user (for %s)" % (
                said.get("unsafe")[:1024], kept))

    def _checked(self, said, needs, changed):
        """Ends a check. The program says the rest: it is not there, so it cannot be asked."""
        if needs == "root" and self._known["uid"] != 0:
            raise Fail("no_privilege", "needs root")
        if said.get("refused"):
            raise Fail("no_privilege", "%s (%s) is not permitted" % (POLICIES[needs[0]], needs))
        return {"changed": changed, "punctual_fleet": dict(self._known, state="checked")}

    def _new_place(self, base):
        """Chooses a directory that nobody has, and notes it before it is made: whatever happens then, it can be removed."""
        place = "%s/punctual-fleet.%s" % (re.sub("/+", "/", base).rstrip("/"), secrets.token_hex(8))
        if not PLACE.match(place) or "/../" in place or "/./" in place:
            raise Fail("failed", "make a temporary directory in %s: this name of a directory is not used" % base[:1024])
        places = self._known.setdefault("places", [])
        places.append(place)
        notes = self._task.args.get("notes") or ""
        if notes:
            name = os.path.join(notes, hashlib.sha256(self._name.encode()).hexdigest()[:32] + ".places")
            with open(name, "w", encoding="utf-8") as file:
                json.dump({"host": self._name, "places": places}, file)
        return place

    @staticmethod
    def _make(host, place, mode, login=False):
        said = host.run(PLACE_MADE % {"mark": MARK, "place": quote(place), "mode": mode}, login=login)
        if not said.get("place"):
            raise Fail("disk_full" if looks_full(said.why()) else "failed", said.why())

    def _installed(self, host, said, base, args, login):
        known, wanted, needs = self._known, args["version"], args["needs"]
        if not said.get("program"):
            raise Fail("other_version", "no Punctual is installed")
        known["version"] = self._version(said)
        if wanted and known["version"] != wanted:
            raise Fail(
                "other_version",
                "Punctual %s is installed, this is %s" % (known["version"], wanted),
            )
        if self._task.check_mode:
            return self._checked(said, needs, False)
        upload = work = self._new_place(base)
        self._make(host, upload, "755" if host.becomes else "700", login=True)
        if host.becomes:
            work = self._new_place(base)
            self._make(host, work, "700")
        known.update(program=said.get("program"), work=work, upload=upload, login_uid=login)
        return {"changed": False, "punctual_fleet": dict(known, state="ready")}

    @staticmethod
    def _version(said):
        word = said.get("version")
        if not word.startswith("punctual "):
            raise Fail("wrong_architecture" if "format error" in word.lower() else "failed",
                       "the program does not start: %s" % (word or said.why()))
        return word.split(" ", 1)[1].strip()[:64]


def priority(needs):
    """Returns the real-time priority that a command needs, and one above all for SCHED_DEADLINE. 0 means none."""
    fixed = re.fullmatch(r"[fr]:([1-9][0-9]?)", needs)
    return int(fixed[1]) if fixed else 100 if needs.startswith("d:") else 0


def file_for(files, machine):
    """Returns the program for what `uname -m` says."""
    if machine in files:
        return files[machine]
    if machine.startswith("arm"):
        return files.get("arm")
    if machine in ("i486", "i586", "i686"):
        return files.get("i386")
    return None


def _digest(file):
    """Reads a file through SHA-256, a piece at a time."""
    digest = hashlib.sha256()
    for block in iter(lambda: file.read(1 << 20), b""):
        digest.update(block)
    return digest
