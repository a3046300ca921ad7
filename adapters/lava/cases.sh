#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
#
# cases.sh FILE: says each case of a TAP file with lava-test-case. A name there has letters, digits, `.`, `-` and `_`.
set -eu

sed -n -e 's/^ok [0-9]* \(.*\) # SKIP.*/skip \1/p' -e t -e 's/^ok [0-9]* \(.*\)/pass \1/p' -e 's/^not ok [0-9]* \(.*\)/fail \1/p' "${1:?}" |
    while read -r result name; do
        name=$(printf '%s' "$name" | tr -c 'A-Za-z0-9._-' '-' | cut -c 1-200)
        lava-test-case "$name" --result "$result"
    done
grep -q '^ok\|^not ok' "$1"
