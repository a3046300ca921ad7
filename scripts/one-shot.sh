#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
#
# Tries one-shot boots on a machine in QEMU with a disk and GRUB: a candidate that comes up and goes on with an experiment
# that was begun before, one that panics, one that hangs, one that is jumped to by kexec. GRUB and the modules of Debian's
# two kernels are downloaded by name and unpacked below target/one-shot, not installed; any user can. It needs QEMU and
# e2fsprogs, and takes a few minutes.
set -eu

cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
scripts/kernel-images.sh
mkdir -p "$target/one-shot"
place=$(cd "$target/one-shot" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# get PACKAGE DIRECTORY [MEMBER...]: unpacks a package, or what of it is named.
get() {
    package=$1
    to=$2
    shift 2
    scratch=$work/package
    mkdir "$scratch"
    echo "Downloading $package"
    (cd "$scratch" && apt-get download -qq "$package" 2>/dev/null) || {
        echo "Error: $package cannot be downloaded: apt-get update, on Debian" >&2
        exit 1
    }
    mkdir -p "$to"
    dpkg-deb --fsys-tarfile "$scratch"/*.deb | tar -x -C "$to" --wildcards "$@"
    rm -rf "$scratch"
}

[ -x "$place/grub/usr/bin/grub-mkimage" ] || {
    get grub-common "$place/grub" './usr/bin/*'
    get grub-pc-bin "$place/grub" './usr/lib/grub/i386-pc/*'
}
for meta in linux-image-amd64 linux-image-rt-amd64; do
    package=$(LC_ALL=C apt-cache depends "$meta" | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
    release=${package#linux-image-}
    modules=$place/modules/$release
    [ ! -s "$modules/ext4.ko" ] || continue
    unpacked=$work/unpacked
    get "$package" "$unpacked" './lib/modules/*/kernel/fs/*' './lib/modules/*/kernel/lib/crc16.ko' \
        './lib/modules/*/kernel/crypto/crc32c_generic.ko' './lib/modules/*/kernel/drivers/virtio/*' \
        './lib/modules/*/kernel/drivers/block/virtio_blk.ko' './lib/modules/*/kernel/drivers/watchdog/*'
    mkdir -p "$modules"
    for name in crc32c_generic crc16 mbcache jbd2 ext4 virtio virtio_ring virtio_pci_modern_dev virtio_pci_legacy_dev \
        virtio_pci virtio_blk watchdog i6300esb; do
        find "$unpacked" -name "$name.ko" -exec cp {} "$modules/" \;
    done
    rm -rf "$unpacked"
done
PUNCTUAL_TEST_ONE_SHOT=$place cargo test -p punctual --test program one_shot -- --nocapture
