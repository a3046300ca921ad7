#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
#
# Prints the target that `make build` builds for. Without rustc (as root in `sudo make install`) it is the one that was built.
set -eu

triple=$(rustc -vV 2>/dev/null | sed -n 's/^host: //p')
if [ -z "$triple" ]; then
    for binary in "${CARGO_TARGET_DIR:-target}"/*/release/punctual; do
        [ -x "$binary" ] || continue
        triple=$(basename "$(dirname "$(dirname "$binary")")")
    done
fi
echo "${triple:-$(uname -m)-unknown-linux-gnu}"
