#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
#
# image.sh PROGRAM ARCHIVE: makes a container image of a static program, from scratch and without a daemon, with buildah:
# /bin/punctual, an empty /tmp, a store in /var/lib/punctual, nothing else. ARCHIVE is an OCI archive, which `docker load`, `podman load` and
# `skopeo copy oci-archive:` take. Docker can make the same from packaging/Containerfile. ARCH is amd64 or arm64, as
# the program's own head says.
set -eu

[ $# = 2 ] || {
    echo "usage: $0 PROGRAM ARCHIVE" >&2
    exit 2
}
program=$1 archive=$2
cd "$(dirname "$program")"
program=$(pwd)/$(basename "$program")
cd - >/dev/null
# e_machine of the ELF file.
case $(od -A n -t u2 -j 18 -N 2 "$program" | tr -d ' ') in
62) architecture=amd64 ;;
183) architecture=arm64 ;;
*)
    echo "Error: $program: no program for x86-64 or arm64" >&2
    exit 1
    ;;
esac
here=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$here/Cargo.toml" | head -n 1)
# Without a kernel module or a daemon: layers are plain directories, and nothing is run in the container.
STORAGE_DRIVER=${STORAGE_DRIVER:-vfs}
BUILDAH_ISOLATION=${BUILDAH_ISOLATION:-chroot}
export STORAGE_DRIVER BUILDAH_ISOLATION
scratch=$(mktemp -d)
container=
trap 'rm -rf "$scratch"; [ -z "$container" ] || buildah rm "$container" >/dev/null' EXIT
container=$(buildah from --arch "$architecture" scratch)
mkdir -p "$scratch/bin" "$scratch/tmp" "$scratch/var/lib/punctual" "$scratch/etc"
chmod 1777 "$scratch/tmp"
chmod 700 "$scratch/var/lib/punctual"
install -m 755 "$program" "$scratch/bin/punctual"
printf 'root:x:0:0:root:/root:/bin/false\n' >"$scratch/etc/passwd"
buildah copy --quiet "$container" "$scratch" / >/dev/null
buildah config --entrypoint '["/bin/punctual"]' --env PATH=/bin --volume /var/lib/punctual \
    --label org.opencontainers.image.title=punctual --label "org.opencontainers.image.version=$version" \
    --label 'org.opencontainers.image.licenses=MIT OR Apache-2.0' "$container"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct)}
buildah commit --quiet --timestamp "$SOURCE_DATE_EPOCH" "$container" "oci:$scratch/oci:punctual:$version" >/dev/null
# The times of buildah's own archives are those of the clock.
tar --create --directory "$scratch/oci" --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    --mtime="@$SOURCE_DATE_EPOCH" --format=ustar --file "$archive" .
echo "$archive: $(wc -c <"$archive") bytes, linux/$architecture"
