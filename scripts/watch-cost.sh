#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
#
# watch-cost.sh view|scrape BINARY [BLOCKS [TIME]]: what it costs to watch a wake-up measurement. Each block measures
# once unwatched (--quiet) and once with the live view on a terminal of script(1), or scraped each second by curl, in
# turns: which comes first changes from block to block. Then `compare` says whether the two can be told apart. Needs
# root or the capabilities to measure, and a machine that does nothing else.
set -euo pipefail

what=${1:-} binary=${2:-} blocks=${3:-12} time=${4:-8s}
case $what in
view | scrape) ;;
*)
    echo "usage: $0 view|scrape BINARY [BLOCKS [TIME]]" >&2
    exit 2
    ;;
esac
binary=$(realpath -- "$binary")
address=127.0.0.1:9464
PUNCTUAL_HOME=$(mktemp -d)
export PUNCTUAL_HOME
scraper=
trap '[ -z "$scraper" ] || kill "$scraper" 2>/dev/null || true; rm -rf "$PUNCTUAL_HOME"' EXIT

# measure WATCHED BLOCK: one run; a run that is invalid is kept, and told by compare.
measure() {
    local watched=$1 block=$2 options
    options="measure wakeup --duration $time --tag watched=$watched --tag experiment=$what --tag block=$block"
    if [ "$watched" = no ]; then
        # shellcheck disable=SC2086 # options are words
        "$binary" $options --quiet >/dev/null 2>&1 || true
    elif [ "$what" = view ]; then
        TERM=xterm-256color script --quiet --command "stty cols 100 rows 30; $binary $options" /dev/null \
            </dev/null >/dev/null 2>&1 || true
    else
        (while sleep 1; do curl -s -o /dev/null "http://$address/metrics" || true; done) &
        scraper=$!
        # shellcheck disable=SC2086
        "$binary" $options --quiet --metrics "$address" >/dev/null 2>&1 || true
        kill "$scraper" 2>/dev/null || true
        wait "$scraper" 2>/dev/null || true
        scraper=
    fi
}

for ((block = 0; block < blocks; block++)); do
    order=(no yes)
    ((block % 2)) && order=(yes no)
    for watched in "${order[@]}"; do
        measure "$watched" "$block"
    done
done
"$binary" compare --allow-invalid --metric p50,p99,p99.9,max \
    --group unwatched=tag:watched=no --group watched=tag:watched=yes
