# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers

"""Puts the program for a host's architecture there, and checks it: see the module of the same name."""

from __future__ import annotations

import hashlib
import os

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase
from ansible_collections.punctual.fleet.plugins.plugin_utils.host import (
    MARK, Fail, Host, looks_full, lost, one_line, quote)

# Room for what is measured, besides the program.
SPARE = 16 << 20

PROBE = """
base=%(base)s; [ -n "$base" ] || base=${TMPDIR:-/tmp}
echo "%(mark)smachine=$(uname -m)"
echo "%(mark)suid=$(id -u)"
echo "%(mark)sbase=$base"
command -v gzip >/dev/null && echo "%(mark)sgzip=1"
df -Pk "$base" 2>/dev/null | { read -r h; read -r a b c free e && echo "%(mark)sfree=$free"; }
if [ -n %(kept)s ] && [ -f %(kept)s/punctual ]; then
  h=$(sha256sum %(kept)s/punctual 2>/dev/null) && echo %(mark)s"same=${h%%%% *}"
fi
if [ -n %(installed)s ]; then
  p=$(command -v punctual) && echo "%(mark)sprogram=$p" && echo "%(mark)sversion=$("$p" --version 2>&1 | head -n 1)"
fi
"""

UPLOAD = """
umask 077
d=$(mktemp -d %(base)s/punctual-fleet.XXXXXXXX) && chmod %(mode)s "$d" && echo "%(mark)splace=$d"
"""

INSTALL = """
umask 077
w=%(work)s
[ -n "$w" ] || w=$(mktemp -d %(base)s/punctual-fleet.XXXXXXXX) || exit 1
echo "%(mark)splace=$w"
p=$w/punctual
case %(from)s in
"$p") ;;
*.gz) gzip -dc %(from)s >"$p" && rm -f %(from)s || exit 1 ;;
*) cat %(from)s >"$p" || exit 1 ;;
esac
chmod 700 "$p" || exit 1
h=$(sha256sum "$p") || exit 1
[ "${h%%%% *}" = %(hash)s ] || { echo "%(mark)sdiffers=${h%%%% *}"; exit 1; }
if [ -n %(kept)s ]; then
  mkdir -p %(kept)s || exit 1
  [ -O %(kept)s ] && [ -z "$(find %(kept)s -prune -perm -0002)" ] || { echo "%(mark)sunsafe=1"; exit 1; }
  cat "$p" >%(kept)s/.punctual.new && chmod 755 %(kept)s/.punctual.new &&
    mv -f %(kept)s/.punctual.new %(kept)s/punctual || exit 1
  p=%(kept)s/punctual
fi
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
        args = self._task.args
        files = args.get("files") or {}
        kept = args.get("directory") or ""
        base = args.get("base") or ""
        installed = bool(args.get("installed"))
        if kept and not kept.startswith("/"):
            raise Fail("failed", "directory: must be an absolute path")
        probe = PROBE % {
            "mark": MARK,
            "base": quote(base),
            "kept": quote(kept),
            "installed": quote("yes" if installed else ""),
        }
        said = host.run(probe, login=True)
        login = self._note(said)
        if host.becomes:
            said = host.run(probe)
            self._note(said)
        base = said.get("base") or "/tmp"
        known = self._known
        if installed:
            return self._installed(host, said, base, args.get("version") or "")
        machine = known["machine"]
        local = file_for(files, machine)
        if local is None:
            have = ", ".join(sorted(files)) or "none"
            raise Fail(
                "wrong_architecture",
                "its architecture is %s; programs given are for: %s" % (machine, have),
            )
        with open(local, "rb") as program:
            digest = _digest(program).hexdigest()
        known["sha256"] = digest
        packed = file_for(args.get("packed") or {}, machine) if said.get("gzip") else None
        there = bool(kept) and said.get("same") == digest
        need = 0 if there else os.path.getsize(local) * (2 if host.becomes or kept else 1)
        free = said.number("free")
        if free is not None and free * 1024 < need + SPARE:
            raise Fail(
                "disk_full",
                "%d MB free in %s, %d MB needed" % (free >> 10, base, (need + SPARE) >> 20),
            )
        if self._task.check_mode:
            return {"changed": bool(kept) and not there, "punctual_fleet": dict(known, state="checked")}
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
        said = host.run('df -Pk %s | { read -r h; read -r a b c free e && echo "%sfree=$free"; }' % (quote(base), MARK))
        free = said.number("free")
        return "disk_full" if looks_full(detail) or (free is not None and free < 1024) else "failed"

    def _copy(self, host, local, digest, base, kept, there, login):
        known = self._known
        mode = "755" if host.becomes else "700"
        said = host.run(UPLOAD % {"base": quote(base), "mode": mode, "mark": MARK}, login=True)
        if not said.get("place"):
            raise Fail("disk_full" if looks_full(said.why()) else "failed", said.why())
        upload = said.place("place")
        known["places"] = [upload]
        source = upload + ("/punctual.gz" if local.endswith(".gz") else "/punctual")
        if there:
            source = kept + "/punctual"
        else:
            host.put(local, source)
            if host.becomes:
                host.run("chmod 644 %s; echo '%sdone=1'" % (quote(source), MARK), login=True)
        said = host.run(INSTALL % {
            "mark": MARK,
            "work": quote("" if host.becomes else upload),
            "base": quote(base),
            "from": quote(source),
            "hash": quote(digest),
            "kept": quote(kept if not there else ""),
        })
        if said.get("place"):
            known["places"] = sorted({upload, said.place("place")})
        if said.get("unsafe"):
            raise Fail("failed", "%s: others can write to it, or it belongs to another user" % kept)
        if said.get("differs"):
            raise Fail("failed", "the copy of the program differs: its SHA-256 is %s" % said.get("differs")[:64])
        program = said.get("program")
        if not program:
            state = "disk_full" if looks_full(said.why()) else "failed"
            raise Fail(state, "copy the program: %s" % said.why())
        if there:
            program = source
        known.update(program=program, work=said.place("place"), upload=upload, login_uid=login)
        known["version"] = self._version(said)
        # What is removed again is no change.
        return {"changed": bool(kept) and not there, "punctual_fleet": dict(known, state="ready")}

    def _installed(self, host, said, base, wanted):
        known = self._known
        if not said.get("program"):
            raise Fail("other_version", "no Punctual is installed")
        known["version"] = self._version(said)
        if wanted and known["version"] != wanted:
            raise Fail(
                "other_version",
                "Punctual %s is installed, this is %s" % (known["version"], wanted),
            )
        if self._task.check_mode:
            return {"changed": False, "punctual_fleet": dict(known, state="checked")}
        program = said.get("program")
        said = host.run(UPLOAD % {"base": quote(base), "mode": "700", "mark": MARK})
        work = said.place("place")
        known.update(program=program, work=work, upload=work, places=[work], login_uid=known["uid"])
        return {"changed": False, "punctual_fleet": dict(known, state="ready")}

    @staticmethod
    def _version(said):
        word = said.get("version")
        if not word.startswith("punctual "):
            raise Fail("wrong_architecture" if "format error" in word.lower() else "failed",
                       "the program does not start: %s" % (word or said.why()))
        return word.split(" ", 1)[1].strip()[:64]


def file_for(files, machine):
    """Returns the program for what `uname -m` says."""
    if machine in files:
        return files[machine]
    if machine.startswith("arm"):
        return files.get("arm")
    if machine in ("i486", "i586", "i686"):
        return files.get("i386")
    return None


def _digest(program):
    """Reads a file through SHA-256, a piece at a time."""
    digest = hashlib.sha256()
    for block in iter(lambda: program.read(1 << 20), b""):
        digest.update(block)
    return digest
