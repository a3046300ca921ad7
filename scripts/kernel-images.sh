#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
#
# Puts Debian's two kernel images, the ordinary one and that with PREEMPT_RT, below target/kernels for the tests:
# vmlinuz-dynamic and vmlinuz-rt. They are downloaded by name and unpacked, not installed; any user can.
set -eu

cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
kernels=$target/kernels
mkdir -p "$kernels"
kernels=$(cd "$kernels" && pwd)

# image META NAME: unpacks the image that the package META depends on.
image() {
    [ -s "$kernels/$2" ] && return 0
    package=$(apt-cache depends "$1" 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
    if [ -z "$package" ]; then
        echo "Error: $1 is in none of the package lists: apt-get update, on Debian" >&2
        return 1
    fi
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    echo "Downloading $package"
    (cd "$scratch" && apt-get download -qq "$package" 2>/dev/null) || {
        echo "Error: $package cannot be downloaded" >&2
        return 1
    }
    dpkg-deb --fsys-tarfile "$scratch"/*.deb | tar -x -C "$scratch" --wildcards './boot/vmlinuz-*'
    mv "$scratch"/boot/vmlinuz-* "$kernels/$2"
    rm -rf "$scratch"
}

image linux-image-amd64 vmlinuz-dynamic
image linux-image-rt-amd64 vmlinuz-rt
