#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
#
# Tries `kernel install` on a Debian machine with its own update-initramfs, grub-mkconfig and GRUB: installed and removed,
# killed at random moments, on a full disk, on a read-only disk, and booted in QEMU after each. The machine lies on a RAM
# disk (zram), because grub-probe must find a device. What is there before and after is compared by find and sha256sum.
# It needs root, kmod, mmdebstrap, QEMU and GRUB's modules, which it downloads; it takes some ten minutes.
#
#     scripts/kernel-install.sh PUNCTUAL [TREE.tar]        # ROUNDS=N: so many kills; NO_BOOT=1: no QEMU
set -euo pipefail

punctual=$(realpath "$1")
work=$(mktemp -d)
mnt=$work/machine
state=$mnt/var/lib/punctual/tune
mkdir "$mnt"
zram=
finish() {
    # A frozen file system would wait for ever, for whoever writes to it.
    ! mountpoint -q "$mnt" || fsfreeze -u "$mnt" 2> /dev/null || true
    for each in dev sys proc .; do
        ! mountpoint -q "$mnt/$each" || umount -l "$mnt/$each"
    done
    [ -z "$zram" ] || { rm -f "/dev/disk/by-uuid/${uuid:-none}"; echo "${zram#/dev/zram}" > /sys/class/zram-control/hot_remove; }
    rm -rf "$work"
}
trap finish EXIT

say() { printf '\n== %s\n' "$*"; }

tree=${2:-$work/tree.tar}
[ -s "$tree" ] || mmdebstrap --quiet --variant=minbase \
    --include=grub-pc-bin,grub2-common,grub-common,initramfs-tools,kmod,e2fsprogs,linux-image-amd64,systemd-sysv bookworm "$tree"
meta=linux-image-rt-amd64
package=$(LC_ALL=C apt-cache depends $meta | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
(cd "$work" && apt-get download -qq "$package" 2>/dev/null)
deb=$(echo "$work"/linux-image-*.deb)
new=${package#linux-image-}

zram=/dev/zram$(cat /sys/class/zram-control/hot_add)
echo 2G > "/sys/block/${zram#/dev/}/disksize"
mkfs.ext4 -q "$zram"
mount "$zram" "$mnt"
tar -xf "$tree" -C "$mnt"
for each in proc sys dev; do mount --bind "/$each" "$mnt/$each"; done
# What udev would have made.
uuid=$(blkid -s UUID -o value "$zram")
mkdir -p /dev/disk/by-uuid
ln -sf "../../${zram#/dev/}" "/dev/disk/by-uuid/$uuid"
cat > "$mnt/etc/default/grub" <<'END'
GRUB_DEFAULT=0
GRUB_TIMEOUT=0
GRUB_CMDLINE_LINUX="console=ttyS0 init=/tell no_timer_check"
GRUB_TERMINAL=console
GRUB_DISABLE_OS_PROBER=true
END
cat > "$mnt/tell" <<'END'
#!/bin/sh
mount -t proc proc /proc
echo "RUNS $(uname -r)" > /dev/ttyS0
sync
sleep 1
echo b > /proc/sysrq-trigger
sleep 60
END
chmod 755 "$mnt/tell"
mkdir -p "$mnt/boot/grub"
chroot "$mnt" grub-mkconfig -o /boot/grub/grub.cfg 2>&1 | tail -n 1

# Everything of /boot, /lib/modules, /etc: kind, mode, owner, size, time of a file's last change, content.
snapshot() {
    (cd "$mnt" && find boot usr/lib/modules etc var/tmp \( -type f -printf '%y %m %U:%G %s %T@ %p\n' -o -type l -printf '%y %m %U:%G %p -> %l\n' \
        -o -printf '%y %m %U:%G %p\n' \) | sort
    find boot usr/lib/modules etc -type f -print0 | sort -z | xargs -0 sha256sum)
}
same() {
    snapshot > "$work/after"
    if diff "$work/before" "$work/after" > "$work/diff"; then
        echo "SAME: $(wc -l < "$work/before") lines about $(find "$mnt/boot" "$mnt/usr/lib/modules" "$mnt/etc" | wc -l) files and directories"
    else
        echo "DIFFERENT:"
        head -n 40 "$work/diff"
        exit 1
    fi
}
# Boots the machine from a copy of its disk, and says what runs.
boots() {
    [ -z "${NO_BOOT:-}" ] || return 0
    sync
    fsfreeze -f "$mnt"
    [ -s "$work/head" ] || {
        "$mnt/usr/bin/grub-mkimage" -O i386-pc -p '(hd0,msdos1)/boot/grub' -d "$mnt/usr/lib/grub/i386-pc" -o "$work/core" \
            biosdisk part_msdos ext2 normal linux configfile loadenv test true echo search search_fs_uuid gzio minicmd
        truncate -s 1M "$work/head"
        dd if="$mnt/usr/lib/grub/i386-pc/boot.img" of="$work/head" bs=440 count=1 conv=notrunc status=none
        dd if="$work/core" of="$work/head" bs=512 seek=1 conv=notrunc status=none
        # One partition, from 1 MiB on.
        printf '\200\376\377\377\203\376\377\377\000\010\000\000\000\000\100\000' | dd of="$work/head" bs=1 seek=446 conv=notrunc status=none
        printf '\125\252' | dd of="$work/head" bs=1 seek=510 conv=notrunc status=none
    }
    cp "$work/head" "$work/disk"
    dd if="$zram" of="$work/disk" bs=1M seek=1 conv=notrunc,sparse status=none
    fsfreeze -u "$mnt"
    timeout 1200 qemu-system-x86_64 -accel tcg -cpu max -m 1024 -nographic -no-reboot -nodefaults -serial "file:$work/serial" \
        -drive "file=$work/disk,if=virtio,format=raw" || true
    tr -d '\r' < "$work/serial" | grep -a -m1 -o 'RUNS .*' || { echo "NOTHING RUNS"; tail -n 5 "$work/serial"; exit 1; }
}
run() {
    echo "\$ punctual kernel $*"
    "$punctual" kernel "$@" --root "$mnt"
}
quiet() { "$punctual" kernel "$@" --root "$mnt" > "$work/said" 2>&1; }

snapshot > "$work/before"
say "the plan"
run install "$deb" --dry-run
same
say "installed: the default stays"
run install "$deb" --yes | tail -n 2
run installed
ls -l "$mnt/boot"
diff "$work/before" <(snapshot) | grep '^[<>]' | grep -v "lib/modules/$new" | cut -c1-150 || true
boots
say "removed"
run uninstall "$new" --yes
same
say "killed at random moments"
for round in $(seq "${ROUNDS:-8}"); do
    "$punctual" kernel install "$deb" --yes --root "$mnt" > /dev/null 2>&1 &
    sleep "$((RANDOM % 45)).$((RANDOM % 10))"
    was=over
    kill -9 $! 2> /dev/null && was=killed
    wait $! 2> /dev/null || true
    there=$(find "$mnt/boot" "$mnt/usr/lib/modules" -mindepth 1 -maxdepth 1 \( -name "*$new*" -o -name '*punctual*' \) | wc -l)
    if [ -e "$state/kernel-$new.json" ]; then quiet uninstall "$new" --yes || { cat "$work/said"; exit 1; }; fi
    printf 'round %s: %s with %s of its names there; after uninstall ' "$round" "$was" "$there"
    same
done
say "the disk is full in the middle"
"$punctual" kernel install "$deb" --yes --root "$mnt" > "$work/said" 2>&1 &
until [ -e "$mnt/boot/initrd.img-$new.new" ] || ! kill -0 $! 2> /dev/null; do sleep 0.05; done
dd if=/dev/zero of="$mnt/filler" bs=1M status=none 2> /dev/null || true
if wait $!; then
    echo "it was over before the disk was full: nothing is shown"
    exit 1
else
    echo "exit status $?"
fi
tail -n 4 "$work/said"
rm -f "$mnt/filler"
[ ! -e "$state/kernel-$new.json" ] || run uninstall "$new" --yes
same
say "the disk is read-only"
mount -o remount,ro "$mnt"
if run install "$deb" --yes --state "$work/state" > "$work/said" 2>&1; then
    echo "it was not refused"
    exit 1
fi
head -n 4 "$work/said"
mount -o remount,rw "$mnt"
grep -q 'mounted read-only' "$work/said"
same
say "installed as the default"
run install "$deb" --default --yes | tail -n 2
boots
run uninstall "$new" --yes | tail -n 3
same
echo
echo "All as it should be."
