# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers

"""Removes what the other actions left on a host: see the module of the same name."""

from __future__ import annotations

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible_collections.punctual.fleet.plugins.modules import cleanup
from ansible_collections.punctual.fleet.plugins.plugin_utils.host import (
    MARK, PLACE, Fail, Host, arguments, lost, quote)

# A command that outlived its connection is ended first; what holds settings by `tune apply` is meant to stay.
REMOVE = """
still() {
  for e in /proc/[0-9]*/exe; do
    case $(readlink "$e" 2>/dev/null) in "$d"/*) ;; *) continue ;; esac
    at=${e%%/exe}
    case " $(tr '\\0' ' ' <"$at/cmdline" 2>/dev/null)" in *" keep "*) ;; *) echo "${at#/proc/}" ;; esac
  done
}
for d in %(places)s; do
  n=0
  while p=$(still); [ -n "$p" ] && [ "$n" -lt 50 ]; do
    if [ "$n" -lt 40 ]; then kill -TERM $p 2>/dev/null; else kill -KILL $p 2>/dev/null; fi
    n=$((n + 1)); sleep 0.2 2>/dev/null || sleep 1
  done
  rm -rf -- "$d" 2>/dev/null
  [ ! -e "$d" ] || echo "%(mark)sleft=$d"
done
echo "%(mark)sdone=1"
"""


class ActionModule(ActionBase):
    """The action."""

    _requires_connection = True
    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        """Does it: first as the user who ran the command, then as the one who logged in."""
        result = super().run(tmp, task_vars)
        try:
            args = arguments(self, cleanup)
            places = [path for path in args["places"] if PLACE.match(path)]
        except Fail as err:
            result.update(err.result())
            return result
        if self._task.check_mode or not places:
            result.update(changed=False, punctual_fleet={"left": []})
            return result
        if args["keep"]:
            result.update(changed=False, punctual_fleet={"left": places})
            return result
        host = Host(self)
        script = REMOVE % {"places": " ".join(quote(path) for path in places), "mark": MARK}
        try:
            left = places
            for login in (False, True) if host.becomes else (True,):
                said = host.run(script, login=login)
                if not said.get("done"):
                    raise Fail("failed", said.why())
                left = [value for key, value in said.marked if key == "left" and value in places]
                if not left:
                    break
            if left:
                raise Fail("failed", "left on the host: %s" % " ".join(left))
        except Fail as err:
            result.update(err.result(left=places))
            return result
        except AnsibleConnectionFailure as err:
            result.update(lost(err).result(left=places))
            return result
        result.update(changed=False, punctual_fleet={"left": []})
        return result
