#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
#
# deb.sh DIRECTORY TRIPLE...: makes DIRECTORY/punctual_VERSION_ARCHITECTURE.deb of each target's program with dpkg-deb, from
# what `make dist` has built, and adds them to DIRECTORY/SHA256SUMS. What is in it that an archive has not: the group `realtime`
# and its limits, and a unit of systemd for `serve`, switched off. DEBEMAIL is the
# maintainer's address. The same files give the same bytes.
set -eu
# What is sorted is so in every language.
LC_ALL=C
export LC_ALL

cd "$(dirname "$0")/.."
[ $# -ge 2 ] || {
    echo "usage: $0 DIRECTORY TRIPLE..." >&2
    exit 2
}
dist=$1
shift
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
email=${DEBEMAIL:-punctual@localhost.localdomain}
umask 022
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# architecture TRIPLE: Debian's name.
architecture() {
    case $1 in
    x86_64-*) echo amd64 ;;
    aarch64-*) echo arm64 ;;
    *)
        echo "Error: $1: no name for it is known in Debian" >&2
        exit 1
        ;;
    esac
}

packages=
for triple in "$@"; do
    architecture=$(architecture "$triple")
    root=$scratch/$architecture
    doc=$root/usr/share/doc/punctual
    # Its own triple first, then all: the first is the package's, the others are those of its guests.
    scripts/dist.sh --tree "$root/usr" "$dist" "$triple" "$@"
    find "$root/usr/share/man" -type f -exec gzip -9n {} +
    # Debian has these licences once for all packages, and a changelog under a name of its own.
    rm "$doc/LICENSE-APACHE" "$doc/LICENSE-MIT"
    mv "$doc/CHANGELOG.md" "$doc/NEWS.md"
    mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"
    gzip -9n "$doc/THIRD-PARTY.txt" "$doc/sbom.cdx.json" "$doc/NEWS.md"
    {
        echo "punctual ($version) unstable; urgency=medium"
        echo
        echo "  * Release $version; what changed is in NEWS.md.gz."
        echo
        echo " -- The Punctual developers <$email>  $(date -u -R -d "@$SOURCE_DATE_EPOCH")"
    } | gzip -9n >"$doc/changelog.gz"
    # The text of the licence, with a blank in front of each line and a dot for an empty one.
    mit=$scratch/mit
    sed -n '/^Permission/,$p' LICENSE-MIT | sed 's/^$/./; s/^/ /' >"$mit"
    sed -e "/^@MIT@\$/{
r $mit
d
}" packaging/debian/copyright >"$doc/copyright"
    install -D -m 644 packaging/limits.conf "$root/etc/security/limits.d/punctual.conf"
    install -D -m 644 packaging/punctual-serve.service "$root/usr/lib/systemd/system/punctual-serve.service"
    install -D -m 644 packaging/lintian-overrides "$root/usr/share/lintian/overrides/punctual"
    install -d "$root/DEBIAN"
    install -m 755 packaging/debian/postinst packaging/debian/prerm packaging/debian/postrm "$root/DEBIAN"
    echo /etc/security/limits.d/punctual.conf >"$root/DEBIAN/conffiles"
    case $architecture in
    amd64) qemu='qemu-system-x86, qemu-system-arm' ;;
    *) qemu='qemu-system-arm, qemu-system-x86' ;;
    esac
    # In KiB, a file at a time rounded up, as dpkg-gencontrol counts.
    size=$(cd "$root" && find usr etc -type f -printf '%s\n' | awk '{ sum += int(($1 + 1023) / 1024) } END { print sum }')
    sed -e "s/@VERSION@/$version/; s/@ARCHITECTURE@/$architecture/; s/@SIZE@/$size/; s/@QEMU@/$qemu/; s/@EMAIL@/$email/" \
        packaging/debian/control >"$root/DEBIAN/control"
    (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
    find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
    package=punctual_${version}_$architecture.deb
    dpkg-deb --build --root-owner-group -Zxz "$root" "$dist/$package" >/dev/null
    packages="$packages $package"
    echo "$dist/$package: $(wc -c <"$dist/$package") bytes"
done
# shellcheck disable=SC2086  # names without blanks
(cd "$dist" && sha256sum $packages >>SHA256SUMS && sort -k 2 -o SHA256SUMS SHA256SUMS)
