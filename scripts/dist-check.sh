#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
#
# dist-check.sh DIRECTORY: tries what `make dist` made there, as root on Debian, by hand or nightly (some minutes):
#   - SHA256SUMS fits; packing once more gives the same bytes
#   - lintian finds no error
#   - the package of this machine, in a fresh minimal system made by mmdebstrap: installed, `assess --duration 2s` measures,
#     not removed while a kernel waits for its boot, removed with the kernel arguments that it added, and purged: no file is
#     there that was not there before
#   - the programs of the other architectures, under qemu-user: --version, doctor --root, compare of stored runs
# MIRROR and SUITE change where mmdebstrap gets the system from; BASE is a directory with such a system, in its place.
set -eu

cd "$(dirname "$0")/.."
dist=$(cd "${1:?usage: dist-check.sh DIRECTORY}" && pwd)
suite=${SUITE:-bookworm}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

stop() {
    echo "FAILED: $1" >&2
    exit 1
}

step() {
    printf '\n==> %s\n' "$1"
}

step 'checksums, and the same bytes again'
(cd "$dist" && sha256sum --quiet --check SHA256SUMS) || stop 'SHA256SUMS does not fit'
triples=
for archive in "$dist"/punctual-*-linux.tar.gz; do
    machine=${archive%-linux.tar.gz}
    triples="$triples ${machine##*-}-unknown-linux-gnu"
done
mkdir "$scratch/again"
cp "$dist/third-party.txt" "$dist/sbom.cdx.json" "$scratch/again"
# shellcheck disable=SC2086  # names without blanks
{
    scripts/dist.sh "$scratch/again" $triples >/dev/null
    scripts/deb.sh "$scratch/again" $triples >/dev/null
}
cmp "$dist/SHA256SUMS" "$scratch/again/SHA256SUMS" || stop 'packing once more gives other bytes'
cat "$dist/SHA256SUMS"

step 'lintian'
lintian --allow-root --fail-on error "$dist"/punctual_*.deb || stop 'lintian has errors'

step 'install, run, purge'
own=$(dpkg --print-architecture)
package=$(echo "$dist"/punctual_*_"$own".deb)
[ -s "$package" ] || stop "no package for $own"
root=$scratch/root
if [ -n "${BASE:-}" ]; then
    cp -a "$BASE" "$root"
else
    # shellcheck disable=SC2086  # MIRROR may be empty
    mmdebstrap --quiet --variant=essential --include=passwd "$suite" "$root" ${MIRROR:-}
fi
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev"
mount --rbind /sys "$root/sys"
mount --make-rslave "$root/sys"
trap 'umount -R -l "$root/dev" "$root/sys" "$root/proc"; rm -rf --one-file-system "$scratch"' EXIT
# Every file but those of the kernel, with the content of those that packages write to.
list() {
    (cd "$root" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./sys -o -path ./var/lib/dpkg \
        -o -path ./var/log \) -prune -o -print | sort && sha256sum etc/passwd etc/group etc/gshadow etc/shadow)
}
in_root() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 chroot "$root" "$@"
}
# A group that comes and goes leaves the old files as copies.
(cd "$root/etc" && touch group- gshadow- passwd- shadow- subgid- subuid-)
# What a machine with GRUB and systemd has, as far as it matters.
mkdir -p "$root/etc/default/grub.d" "$root/etc/systemd/system/multi-user.target.wants"
echo 'GRUB_CMDLINE_LINUX_DEFAULT=quiet' >"$root/etc/default/grub"
list >"$scratch/before"
cp "$package" "$root/tmp/punctual.deb"
in_root dpkg --install /tmp/punctual.deb
rm "$root/tmp/punctual.deb"
in_root getent group realtime || stop 'there is no group realtime'
[ "$(in_root stat --format '%U:%G %a' /var/lib/punctual)" = 'root:realtime 750' ] || stop "root's store is not the group's to read"
in_root punctual --version
status=0
in_root punctual assess --duration 2s >"$scratch/assessed" 2>&1 || status=$?
head -n 12 "$scratch/assessed"
# 3: a deadline was missed, which is a verdict and no failure of the program.
case $status in 0 | 3) ;; *) cat "$scratch/assessed"; stop "assess ended with $status" ;; esac
in_root punctual runs list | grep -q . || stop 'no run was kept'
# As `systemctl enable` does.
ln -s /usr/lib/systemd/system/punctual-serve.service "$root/etc/systemd/system/multi-user.target.wants"
printf 'format = "punctual.profile/1"\nname = "one"\n[boot]\nskew_tick = 1\n' >"$root/tmp/one.toml"
in_root punctual tune boot apply /tmp/one.toml --yes
rm "$root/tmp/one.toml"
arguments=$root/etc/default/grub.d/99-punctual.cfg
pending=$root/var/lib/punctual/tune/one-shot.json
[ -s "$arguments" ] || stop 'kernel arguments were not written'
echo '{}' >"$pending"
! in_root dpkg --remove punctual || stop 'the package was removed while a kernel waits for its boot'
rm "$pending"
in_root dpkg --remove punctual
[ ! -e "$arguments" ] || stop 'removing left the kernel arguments'
[ -d "$root/var/lib/punctual" ] || stop 'removing took the runs away'
in_root dpkg --purge punctual
list >"$scratch/after"
diff "$scratch/before" "$scratch/after" || stop 'purging leaves something behind'
echo 'purged: every file is as before'

step 'the other architectures, under qemu-user'
PUNCTUAL_HOME=$scratch/store
export PUNCTUAL_HOME
program=$scratch/program
mkdir "$program"
tar -xzf "$dist/punctual-"*"-$(uname -m)-linux.tar.gz" -C "$program" --strip-components=1
for name in a b; do
    for _ in 1 2 3 4; do
        "$program/bin/punctual" measure wakeup --quiet --samples 200 --interval 1ms --name $name >/dev/null || [ $? = 1 ] ||
            stop 'measure does not work'
    done
done
"$program/bin/punctual" compare a b --allow-invalid >"$scratch/compared" || [ $? = 3 ]
for archive in "$dist"/punctual-*-linux.tar.gz; do
    machine=${archive%-linux.tar.gz}
    machine=${machine##*-}
    [ "$machine" != "$(uname -m)" ] || continue
    mkdir "$scratch/$machine"
    tar -xzf "$archive" -C "$scratch/$machine" --strip-components=1
    emulated() {
        "qemu-$machine-static" "$scratch/$machine/bin/punctual" "$@"
    }
    emulated --version
    mkdir -p "$scratch/tree/proc"
    emulated doctor --root "$scratch/tree" >"$scratch/diagnosed" || stop "doctor does not work on $machine"
    [ -s "$scratch/diagnosed" ] || stop "doctor says nothing on $machine"
    head -n 3 "$scratch/diagnosed"
    emulated compare a b --allow-invalid >"$scratch/compared-$machine" || [ $? = 3 ]
    cmp "$scratch/compared" "$scratch/compared-$machine" || stop "compare says something else on $machine"
    echo "$machine: compare says the same to the last digit"
done
