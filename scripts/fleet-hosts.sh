#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
#
# fleet-hosts.sh up DIR HOST[:KIND]...   starts hosts in namespaces of their own, each with sshd: for tests of `punctual fleet`
# fleet-hosts.sh enter DIR COMMAND...    runs a command in the network of the hosts
# fleet-hosts.sh left DIR HOST           prints what is on a host that was not there at first
# fleet-hosts.sh kill DIR HOST           kills a host as a power cut does
# fleet-hosts.sh down DIR                ends all of them
#
# A host has its own network, processes, name, and file systems for what changes: /tmp, /run, /root, /var/lib and /var/tmp.
# It shares the kernel, so what is tuned on one is tuned on all. KIND: `full` has 4 MB for /tmp, `arm64` says that it is one,
# `user` is logged in to as an ordinary user, `sudo` as one who becomes root by sudo, without a password, `old` has Punctual 0.0.9
# installed. DIR/hosts.ini is an inventory of all. As root; needs sshd and iproute2.
set -euo pipefail

action=${1:?}
dir=$(realpath -m "${2:?}")
shift 2

# The namespaces of a host, or of the network in between (`net`).
inside() {
    local name=$1
    shift
    nsenter --target "$(cat "$dir/$name.pid")" "$@"
}

# What is on a host, but for the sockets and processes of sshd itself.
listing() {
    inside "$1" --mount --pid sh -c '
        find /tmp /root /var/lib /var/tmp /run -mindepth 1 ! -path "/run/sshd*"
        ps -e -o comm= | grep -v -e "^sshd" -e "^sh$" -e "^ps$" -e "^find$" -e "^grep$" -e "^sleep$" || true' |
        LC_ALL=C sort
}

one_host() {
    local name=$1 kind=$2 number=$3 room=2g user=root
    [ "$kind" != full ] || room=4m
    [ "$kind" != user ] && [ "$kind" != sudo ] || user=tester
    ip -n "$net" link add "v$number" type veth peer name "p$number"
    ip -n "$net" link set "v$number" master hosts up
    cat >"$dir/$name.sh" <<HOST
set -e
hostname $name
mount --bind "$dir" /mnt
for at in /root /run /var/lib /var/tmp; do mount -t tmpfs -o mode=755 none \$at; done
mount -t tmpfs -o mode=1777,size=$room none /tmp
mkdir -p /run/sshd /run/home
chown 4321:4321 /run/home
mount --bind /mnt/passwd /etc/passwd
[ $kind != sudo ] || mount --bind /mnt/sudoers /etc/sudoers
[ $kind != old ] || { mount -t tmpfs none /usr/local/sbin; cp /mnt/older /usr/local/sbin/punctual; }
[ $kind != arm64 ] || mount --bind /mnt/uname "\$(command -v uname)"
ip link set lo up
until ip link set p$number up 2>/dev/null; do sleep 0.05; done
ip address add 10.231.0.$number/16 dev p$number
: >/mnt/$name.up
exec $sshd -D -e -f /mnt/sshd_config
HOST
    unshare --net --mount --uts --pid --fork --kill-child --mount-proc bash "$dir/$name.sh" </dev/null >"$dir/$name.log" 2>&1 &
    local outer=$!
    echo "$outer" >"$dir/$name.outer"
    local child=
    until child=$(pgrep -P "$outer") && [ -n "$child" ]; do
        kill -0 "$outer" || { cat "$dir/$name.log" >&2; exit 1; }
        sleep 0.02
    done
    echo "$child" >"$dir/$name.pid"
    ip -n "$net" link set "p$number" netns "$child"
    echo "$name ansible_host=10.231.0.$number ansible_user=$user" >>"$dir/hosts.ini"
}

up() {
    sshd=$(PATH=$PATH:/usr/sbin command -v sshd) || {
        echo 'sshd is missing: apt-get install openssh-server' >&2
        exit 5
    }
    mkdir -p "$dir"
    ssh-keygen -q -t ed25519 -N '' -f "$dir/key"
    ssh-keygen -q -t ed25519 -N '' -f "$dir/host_key"
    chmod 644 "$dir/key.pub"
    { cat /etc/passwd; echo 'tester:*:4321:4321::/run/home:/bin/sh'; } >"$dir/passwd"
    echo 'tester ALL=(root) NOPASSWD: ALL' >"$dir/sudoers"
    chmod 440 "$dir/sudoers"
    # shellcheck disable=SC2016 # expanded by the script that is written
    printf '#!/bin/sh\n[ "$1" = -m ] && echo aarch64 || echo Linux\n' >"$dir/uname"
    # It says its version, and fails at all else.
    # shellcheck disable=SC2016
    printf '#!/bin/sh\n[ "$1" = --version ] && echo punctual 0.0.9\n' >"$dir/older"
    chmod 755 "$dir/uname" "$dir/older" "$dir/passwd"
    cat >"$dir/sshd_config" <<CONFIG
HostKey /mnt/host_key
AuthorizedKeysFile /mnt/key.pub
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
UsePAM no
PidFile none
Subsystem sftp internal-sftp
MaxStartups 100
CONFIG
    unshare --net sleep infinity </dev/null >/dev/null 2>&1 &
    net=$!
    echo "$net" >"$dir/net.pid"
    echo "$net" >"$dir/net.outer"
    until [ "$(readlink "/proc/$net/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
    mkdir -p /run/netns
    net=fleet-$net
    : >"/run/netns/$net"
    mount --bind "/proc/$(cat "$dir/net.pid")/ns/net" "/run/netns/$net"
    ip -n "$net" link set lo up
    ip -n "$net" link add hosts type bridge
    ip -n "$net" address add 10.231.255.1/16 dev hosts
    ip -n "$net" link set hosts up
    {
        echo '[all:vars]'
        echo "ansible_ssh_private_key_file=$dir/key"
        echo "ansible_ssh_common_args=-o UserKnownHostsFile=$dir/known -o StrictHostKeyChecking=accept-new -o IdentitiesOnly=yes"
        echo '[hosts]'
    } >"$dir/hosts.ini"
    local number=0 host
    for host in "$@"; do
        number=$((number + 1))
        one_host "${host%%:*}" "$(case $host in *:*) echo "${host##*:}" ;; *) echo plain ;; esac)" "$number"
    done
    for host in "$@"; do
        until inside "${host%%:*}" --net bash -c 'exec 3<>/dev/tcp/127.0.0.1/22' 2>/dev/null; do
            kill -0 "$(cat "$dir/${host%%:*}.outer")" || { cat "$dir/${host%%:*}.log" >&2; exit 1; }
            sleep 0.05
        done
        listing "${host%%:*}" >"$dir/${host%%:*}.first"
    done
}

case $action in
up) up "$@" ;;
enter) exec nsenter --target "$(cat "$dir/net.pid")" --net "$@" ;;
left) listing "$1" | LC_ALL=C comm -13 "$dir/$1.first" - ;;
kill) kill -KILL "$(cat "$dir/$1.pid")" ;;
down)
    for file in "$dir"/*.outer; do kill -KILL "$(cat "$file")" 2>/dev/null || true; done
    umount "/run/netns/fleet-$(cat "$dir/net.pid")" && rm -f "/run/netns/fleet-$(cat "$dir/net.pid")"
    ;;
*)
    sed -n '5,9s/^# //p' "$0" >&2
    exit 2
    ;;
esac
