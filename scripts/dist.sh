#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
#
# dist.sh DIRECTORY TRIPLE...: makes DIRECTORY/punctual-VERSION-MACHINE-linux.tar.gz of each target's program, with the
# agents of the other targets, man pages, completions, licences and bill of materials, then DIRECTORY/SHA256SUMS. `make dist`
# has built the programs, and written third-party.txt and sbom.cdx.json there. The same files give the same bytes: times are that
# of the last commit (or SOURCE_DATE_EPOCH), owners are numbers, names are sorted.
#
# scripts/dist.sh --tree PLACE DIRECTORY TRIPLE... only puts the files of the first target below PLACE, for a package.
set -eu
# What is sorted is so in every language.
LC_ALL=C
export LC_ALL

cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
tree=
if [ "${1:-}" = --tree ]; then
    tree=$2
    shift 2
fi
[ $# -ge 2 ] || {
    echo "usage: $0 [--tree PLACE] DIRECTORY TRIPLE..." >&2
    exit 2
}
dist=$1
shift
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

# put PLACE TRIPLE OTHER...: the files of one target below PLACE, as below /usr.
put() {
    place=$1 triple=$2
    shift 2
    for file in "$target/$triple/dist/punctual" "$dist/third-party.txt" "$dist/sbom.cdx.json"; do
        [ -s "$file" ] || {
            echo "Error: $file is missing: run make dist" >&2
            exit 1
        }
    done
    umask 022
    doc=$place/share/doc/punctual
    mkdir -p "$place/bin" "$place/lib/punctual" "$place/share/man/man1" "$doc" \
        "$place/share/bash-completion/completions" "$place/share/fish/vendor_completions.d" "$place/share/zsh/site-functions"
    install -m 755 "$target/$triple/dist/punctual" "$place/bin/punctual"
    for other in "$@"; do
        [ "$other" != "$triple" ] || continue
        install -m 755 "$target/$other/agent/punctual" "$place/lib/punctual/agent-${other%%-*}"
    done
    install -m 644 docs/man/*.1 "$place/share/man/man1"
    install -m 644 docs/completions/punctual.bash "$place/share/bash-completion/completions/punctual"
    install -m 644 docs/completions/punctual.fish "$place/share/fish/vendor_completions.d/punctual.fish"
    install -m 644 docs/completions/_punctual "$place/share/zsh/site-functions/_punctual"
    install -m 644 README.md CHANGELOG.md SECURITY.md LICENSE-APACHE LICENSE-MIT "$doc"
    install -m 644 "$dist/third-party.txt" "$doc/THIRD-PARTY.txt"
    install -m 644 "$dist/sbom.cdx.json" "$doc/sbom.cdx.json"
}

if [ -n "$tree" ]; then
    put "$tree" "$@"
    exit
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
archives=
for triple in "$@"; do
    name=punctual-$version-${triple%%-*}-linux
    put "$scratch/$name" "$triple" "$@"
    # Not through a pipe: what fails at its head would go unnoticed.
    tar --create --directory "$scratch" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
        --format=ustar --file "$scratch/$name.tar" "$name"
    gzip -9n <"$scratch/$name.tar" >"$dist/$name.tar.gz"
    rm "$scratch/$name.tar"
    archives="$archives $name.tar.gz"
    size=$(wc -c <"$scratch/$name/bin/punctual")
    echo "$dist/$name.tar.gz: $(wc -c <"$dist/$name.tar.gz") bytes, the program in it $size"
    [ "$size" -le 15000000 ] || {
        echo "Error: $name: the program is larger than 15 MB" >&2
        exit 1
    }
done
# shellcheck disable=SC2086  # names without blanks
(cd "$dist" && sha256sum $archives sbom.cdx.json | sort -k 2 >SHA256SUMS)
