#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
#
# kernel-images.sh [arm64]: puts Debian's two kernel images, the ordinary one and that with PREEMPT_RT, below target/kernels for
# the tests: vmlinuz-dynamic and vmlinuz-rt; of arm64, arm64/vmlinuz-stock and arm64/vmlinuz-rt. They are downloaded by name and
# unpacked, not installed; any user can. Those of arm64 come by package lists below target, so that this machine's APT knows of no
# other architecture afterwards.
set -eu

cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
kernels=$target/kernels
mkdir -p "$kernels"
kernels=$(cd "$kernels" && pwd)

# of_arm64: makes apt-get and apt-cache those of an arm64 machine with Debian's own sources.
of_arm64() {
    kernels=$kernels/arm64
    lists=$kernels/apt
    mkdir -p "$lists/lists/partial" "$lists/cache/archives/partial"
    {
        echo 'APT::Architecture "arm64";'
        echo 'APT::Architectures { "arm64"; };'
        echo "Dir::State::Lists \"$lists/lists\";"
        echo "Dir::Cache \"$lists/cache\";"
        echo 'Dir::State::status "/dev/null";'
        echo 'Dir::Etc::SourceParts "/dev/null";'
        echo "Dir::Etc::SourceList \"$lists/sources.list\";"
    } >"$lists/apt.conf"
    # Debian's own alone: those of others may have no arm64.
    release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    {
        echo "deb http://deb.debian.org/debian $release main"
        echo "deb http://deb.debian.org/debian-security $release-security main"
    } >"$lists/sources.list"
    APT_CONFIG=$lists/apt.conf
    export APT_CONFIG
    apt-get update -qq
}

# image META NAME: unpacks the image that the package META depends on.
image() {
    [ -s "$kernels/$2" ] && return 0
    package=$(LC_ALL=C apt-cache depends "$1" 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
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

case ${1:-} in
'')
    image linux-image-amd64 vmlinuz-dynamic
    image linux-image-rt-amd64 vmlinuz-rt
    ;;
arm64)
    [ -s "$kernels/arm64/vmlinuz-stock" ] && [ -s "$kernels/arm64/vmlinuz-rt" ] && exit
    of_arm64
    image linux-image-arm64 vmlinuz-stock
    image linux-image-rt-arm64 vmlinuz-rt
    ;;
*)
    echo "usage: $0 [arm64]" >&2
    exit 2
    ;;
esac
