#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
#
# container-check.sh PROGRAM: runs a static program as the container's lines of docs/guide/containers.md would, without an engine: in
# name spaces of its own (mounts, processes, network, IPC), a root with nothing but the program, a read-only /sys, a small /dev,
# and the capabilities that the line names alone. As root, with capsh (Debian: libcap2-bin). By hand or nightly.
set -eu

[ $# = 1 ] || {
    echo "usage: $0 PROGRAM" >&2
    exit 2
}
program=$1
root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root"' EXIT
mkdir -p "$root/bin" "$root/dev" "$root/proc" "$root/sys" "$root/tmp" "$root/var/lib/punctual"
chmod 700 "$root/var/lib/punctual"
install -m 755 "$program" "$root/bin/punctual"
# What engines leave there.
mkdir -p "$root/run"
: >"$root/run/.containerenv"

# inside CAPABILITIES ARGUMENT...: one verb with these capabilities, a comma between them.
inside() {
    keep=$1
    shift
    # Root gets what the bounding set has when it executes a program.
    drop=$(capsh --print | sed -n 's/^Bounding set =//p' | tr , '\n' | grep -vxF "$(echo "$keep" | tr , '\n')" | paste -s -d ,)
    # shellcheck disable=SC2016  # expanded in there
    unshare --mount --pid --fork --ipc --uts --net -- sh -c '
        root=$1 drop=$2
        shift 2
        mount -t proc proc "$root/proc"
        mount -t sysfs -o ro sysfs "$root/sys"
        mount -t tmpfs -o mode=755 tmpfs "$root/dev"
        for device in null zero random urandom cpu_dma_latency; do
            : >"$root/dev/$device"
            mount --bind "/dev/$device" "$root/dev/$device"
        done
        exec env -i PATH=/bin /usr/sbin/capsh --chroot="$root" --drop="$drop" --shell=/bin/punctual -- "$@"
    ' container "$root" "$drop" "$@"
}

# expect STATUS TEXT CAPABILITIES ARGUMENT...: fails unless the verb ends so and says that.
expect() {
    status=$1 text=$2
    shift 2
    found=0
    said=$(inside "$@" 2>&1) || found=$?
    shift
    if [ "$found" != "$status" ] || ! printf '%s\n' "$said" | grep -q "$text"; then
        printf 'FAILED: %s: status %s, not %s, or nothing of "%s":\n%s\n' "$*" "$found" "$status" "$text" "$said" >&2
        exit 1
    fi
    printf 'as described: %s (status %s, says "%s")\n' "$*" "$found" "$text"
}

measure='measure wakeup --samples 200 --interval 1ms --json'
# shellcheck disable=SC2086  # words
{
    expect 5 'not permitted' none $measure
    # 1: a check of the run failed, as on a busy machine; the policy and the locked memory are what counts.
    said=$(inside cap_sys_nice,cap_ipc_lock $measure) || [ $? = 1 ]
    for check in scheduling memory idle-latency; do
        printf '%s' "$said" | tr -d ' \n' | grep -q "\"id\":\"$check\",\"status\":\"pass\"" || {
            printf 'FAILED: the check %s did not pass:\n%s\n' "$check" "$said" >&2
            exit 1
        }
    done
    echo "as described: $measure with SYS_NICE and IPC_LOCK alone"
}
if inside none doctor --help >/dev/null 2>&1; then
    expect 0 'container' none doctor
    expect 0 'kernel threads and programs are hidden' none doctor --explain container
    expect 0 'Instrument' none runs list
fi
