#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
#
# fuzz.sh SECONDS [TARGET...]: gives what libFuzzer makes up to the readers of fuzz/, one target after the other (all,
# if none is named). Needs cargo-fuzz and a nightly compiler.
# fuzz.sh corpus [TARGET...]: takes of what was found the inputs that are needed to reach the same code into fuzz/corpus.
# What grows meanwhile is below target/fuzz. Ends with status 1 if a target found something; the input is in fuzz/artifacts.
set -euo pipefail
cd "$(dirname "$0")/.."

purpose=${1:?seconds a target, or corpus}
shift
targets=("$@")
((${#targets[@]})) || mapfile -t targets < <(cargo +nightly fuzz list)
# All of the code is safe: an address sanitizer would find nothing, at half the speed. The time of an input is by the
# clock on the wall, and on a busy machine seconds pass in which it does not run.
options=(--sanitizer none)
found=()

for target in "${targets[@]}"; do
    longest=8192
    # A record is longer than a file of most tools.
    [[ $target != run_* ]] || longest=32768
    grown=target/fuzz/$target
    kept=fuzz/corpus/$target
    mkdir -p "$grown" "$kept"
    case $purpose in
    corpus)
        fresh=$(mktemp -d)
        cargo +nightly fuzz run "${options[@]}" "$target" "$fresh" "$grown" "$kept" -- \
            -set_cover_merge=1 -max_len="$((longest / 2))" >"$grown.log" 2>&1
        rm -rf "$kept"
        mv "$fresh" "$kept"
        chmod 755 "$kept"
        echo "$target: $(find "$kept" -type f | wc -l) inputs, $(du -sb "$kept" | cut -f 1) bytes"
        ;;
    *)
        echo "$target: $purpose s"
        if ! cargo +nightly fuzz run "${options[@]}" "$target" "$grown" "$kept" crates/peers/tests/golden -- \
            -max_total_time="$purpose" -max_len="$longest" -timeout=60 -rss_limit_mb=1024 -dict=fuzz/formats.dict \
            -print_final_stats=1 >"$grown.log" 2>&1; then
            found+=("$target")
            grep -h -m 1 -A 2 -E "panicked at|ERROR: libFuzzer" "$grown.log" || tail -n 5 "$grown.log"
        fi
        grep -h -E "DONE|number_of_executed_units|peak_rss_mb" "$grown.log" || true
        ;;
    esac
done
((${#found[@]} == 0)) || {
    echo "found something: ${found[*]}" >&2
    exit 1
}
