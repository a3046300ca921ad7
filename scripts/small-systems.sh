#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
#
# Builds the statistics for C for a Cortex-M4F and for aarch64, both without an operating system, and for this machine; links
# the example in C with each, runs it (qemu-user), and compares every bit of what it prints with the desktop's classes.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$target/small-systems
host=$(scripts/host-triple.sh)
mkdir -p "$work"

# Each: target of Rust, profile, C compiler that can link with it, what runs the result here. A Linux of its own has an
# unwinder, and a library for it is made with that.
systems=(
    "thumbv7em-none-eabihf small arm-linux-gnueabihf-gcc qemu-arm"
    "aarch64-unknown-none small aarch64-linux-gnu-gcc qemu-aarch64"
    "$host release cc env"
)

missing=()
for system in "${systems[@]}"; do
    read -r triple profile compiler runner <<<"$system"
    command -v "$compiler" >/dev/null || missing+=("$compiler")
    command -v "$runner" >/dev/null || missing+=("$runner")
    rustup target list --installed | grep -qx "$triple" || rustup target add "$triple" || missing+=("Rust for $triple")
done
if ((${#missing[@]})); then
    printf 'Error: missing: %s\n' "${missing[*]}" >&2
    echo 'On Debian: apt-get install gcc-arm-linux-gnueabihf libc6-dev-armhf-cross gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user' >&2
    exit 1
fi

cargo run --quiet --locked --package punctual-stats-c --example figures >"$work/desktop.txt"

for system in "${systems[@]}"; do
    read -r triple profile compiler runner <<<"$system"
    cargo build --quiet --locked --package punctual-stats-c --lib --profile "$profile" --target "$triple"
    library=$target/$triple/$profile/libpunctual_stats_c.a
    prefix=${compiler%gcc}
    prefix=${prefix%cc}
    if [[ $triple == thumbv7em-* ]]; then
        # A linker for Linux refuses code that says it is for a microcontroller. A larger ARM executes the same instructions.
        "${prefix}objcopy" --remove-section .ARM.attributes "$library" "$work/$triple.a"
        library=$work/$triple.a
    fi
    code='with an operating system'
    if [[ $profile == small ]]; then
        # All that the functions of the header need, in one object. What it still wants, every compiler and C library for such a
        # machine has; anything else would be a heap or an operating system.
        wanted=()
        for name in $("${prefix}nm" --format=posix --defined-only "$library" 2>/dev/null | awk '$2 == "T" && $1 ~ /^punctual_/ { print $1 }'); do
            wanted+=("-Wl,-u,$name")
        done
        ((${#wanted[@]} >= 16)) || { printf 'Error: %s has %d functions\n' "$library" "${#wanted[@]}" >&2; exit 1; }
        "$compiler" -r -nostdlib -Wl,--gc-sections "${wanted[@]}" -o "$work/$triple.o" "$library"
        foreign=$("${prefix}nm" --undefined-only --format=posix "$work/$triple.o" 2>/dev/null | awk '{ print $1 }' |
            grep -vxE 'memcpy|memset|memcmp|memmove|__aeabi_[a-z0-9]+' || true)
        [[ -z $foreign ]] || { printf 'Error: %s wants %s\n' "$library" "$(tr '\n' ' ' <<<"$foreign")" >&2; exit 1; }
        code="$("${prefix}size" "$work/$triple.o" 2>/dev/null | awk 'END { print $1 }') bytes of code"
    fi
    linked=()
    [[ $profile != small ]] || linked=(-static)
    "$compiler" -std=c11 -Wall -Wextra -Werror -O2 "${linked[@]}" -Icrates/stats-c/include -o "$work/figures-$triple" \
        crates/stats-c/examples/figures.c "$library" -lm
    "$runner" "$work/figures-$triple" >"$work/$triple.txt"
    if ! diff -u "$work/desktop.txt" "$work/$triple.txt" >&2; then
        printf 'Error: the figures of %s are not those of the desktop\n' "$triple" >&2
        exit 1
    fi
    printf '%s: every bit as on the desktop; %s\n' "$triple" "$code"
done
