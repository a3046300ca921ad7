#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
#
# watch-cost.sh view|scrape|cpu BINARY [BLOCKS [TIME [INTERVAL [CPU]]]]: what it costs to watch a wake-up measurement. Each
# block measures once unwatched (--quiet) and once with the live view on a terminal of script(1), or scraped each second by
# one curl that goes on, as Prometheus does, in turns: which comes first changes from block to block. Then `compare` says
# whether p99 of the watched runs is shown to be not worse by 10 %, and whether the other figures can be told apart.
# Without CPU all CPUs are measured, so that the watcher has none of its own; with it that one is, and terminal and scraper
# keep to the others. Needs root or the capabilities to measure, and a machine that does nothing else. With `cpu` each
# block measures all three ways, with ordinary threads, and the CPU time of the process is told, which other work hardly
# changes. With KEEP=DIR the runs are kept in that new directory, a store of its own.
set -euo pipefail

what=${1:-} binary=${2:-} blocks=${3:-12} time=${4:-8s} interval=${5:-1ms} cpu=${6:-}
case $what in
view | scrape | cpu) ;;
*)
    echo "usage: $0 view|scrape|cpu BINARY [BLOCKS [TIME [INTERVAL [CPU]]]]" >&2
    exit 2
    ;;
esac
if [ "$what" = cpu ] && [ -n "$cpu" ]; then
    echo "$0: cpu tells the time on all CPUs: leave $cpu out" >&2
    exit 2
fi
binary=$(realpath -- "$binary")
address=127.0.0.1:9464
# The CPUs of the watcher: all, or those that are not measured.
all=$(cut -d: -f2 <<<"$(taskset --cpu-list --pid $$)" | tr -d ' ')
others=$all
if [ -n "$cpu" ]; then
    taskset --cpu-list "$cpu" true 2>/dev/null || { echo "$0: CPU $cpu is none of those this shell may use ($all)" >&2; exit 2; }
    others=
    for ((one = 0; one < $(getconf _NPROCESSORS_CONF); one++)); do
        if [ "$one" != "$cpu" ] && taskset --cpu-list "$one" true 2>/dev/null; then others+=${others:+,}$one; fi
    done
    [ -n "$others" ] || { echo "$0: no CPU is left for the watcher beside $cpu" >&2; exit 2; }
fi
if [ -n "${KEEP:-}" ]; then
    mkdir -- "$KEEP" # one that is there may hold the runs of another series
fi
PUNCTUAL_HOME=${KEEP:-$(mktemp -d)}
export PUNCTUAL_HOME
scraper=

# scrape: reads the page each second, on the watcher's CPUs, until it is killed.
scrape() {
    # It ends with this script, whatever ends that.
    setpriv --pdeathsig KILL taskset --cpu-list "$others" curl --silent --rate 60/m --output /dev/null --write-out '%{stderr}%{http_code}\n' \
        "http://$address/metrics?scrape=[1-99999]" 2>>"$PUNCTUAL_HOME/answers" &
    scraper=$!
}

trap '[ -z "$scraper" ] || kill "$scraper" 2>/dev/null || true; [ -n "${KEEP:-}" ] || rm -rf "$PUNCTUAL_HOME"' EXIT

# measure WATCHED BLOCK: one run; a run that is invalid is kept, and told by compare.
measure() {
    local watched=$1 block=$2 options
    options="measure wakeup --duration $time --interval $interval --tag watched=$watched --tag experiment=$what --tag block=$block"
    [ -z "$cpu" ] || options+=" --cpus $cpu"
    if [ "$watched" = no ]; then
        # shellcheck disable=SC2086 # options are words
        "$binary" $options --quiet >/dev/null 2>&1 || true
    elif [ "$what" = view ]; then
        TERM=xterm-256color taskset --cpu-list "$others" script --quiet --command \
            "stty cols 100 rows 30; taskset --cpu-list $all $binary $options" /dev/null </dev/null >/dev/null 2>&1 || true
    else
        scrape
        # shellcheck disable=SC2086
        "$binary" $options --quiet --metrics "$address" >/dev/null 2>&1 || true
        kill "$scraper" 2>/dev/null || true
        wait "$scraper" 2>/dev/null || true
        scraper=
    fi
}

# cpu_time WAY: one run; a line with the way, user and system time in s.
cpu_time() {
    local options="measure wakeup --duration $time --interval $interval --priority o --dma-latency off --tag watched=$1"
    local log=$PUNCTUAL_HOME/times
    export TIMEFORMAT="$1 %U %S"
    case $1 in
    unwatched) bash -c "{ time $binary $options --quiet >/dev/null 2>/dev/null; } 2>>$log" || true ;;
    view)
        TERM=xterm-256color script --quiet --command \
            "stty cols 100 rows 30; bash -c '{ time $binary $options 2>/dev/tty; } 2>>$log'" /dev/null \
            </dev/null >/dev/null 2>&1 || true
        ;;
    scrape)
        scrape
        bash -c "{ time $binary $options --quiet --metrics $address >/dev/null 2>/dev/null; } 2>>$log" || true
        kill "$scraper" 2>/dev/null || true
        wait "$scraper" 2>/dev/null || true
        scraper=
        ;;
    esac
}

if [ "$what" = cpu ]; then
    for ((block = 0; block < blocks; block++)); do
        for way in unwatched view scrape; do cpu_time "$way"; done
    done
    for way in unwatched view scrape; do
        sed -n "s/^$way //p" "$PUNCTUAL_HOME/times" | awk '{ print $1 + $2 }' | sort -n |
            awk -v way="$way" '{ t[NR] = $1 } END { if (!NR) exit 1; m = NR % 2 ? t[(NR + 1) / 2] : (t[NR / 2] + t[NR / 2 + 1]) / 2
                printf "%-9s CPU time of a run: median %.3f s, %.3f to %.3f s, n = %d\n", way, m, t[1], t[NR], NR }'
    done
    exit 0
fi

for ((block = 0; block < blocks; block++)); do
    order=(no yes)
    ((block % 2)) && order=(yes no)
    for watched in "${order[@]}"; do
        measure "$watched" "$block"
    done
done
[ "$what" = view ] || echo "Scrapes   $(grep --count '^200$' "$PUNCTUAL_HOME/answers") answered in $blocks runs"
groups=(--group unwatched=tag:watched=no --group watched=tag:watched=yes)
# The question is p99, and asked alone; the other figures are there to be looked at.
"$binary" compare --metric p99 --not-worse 10% "${groups[@]}"
echo
"$binary" compare --metric p50,p99.9,max "${groups[@]}"
