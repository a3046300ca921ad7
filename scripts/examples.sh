#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
#
# examples.sh [NAME...]: makes the pages of docs/examples again, or those that are named (wakeup, compare, instruments, assess,
# experiment, terminal, virtual-time, studies, watch-jackd), with the program that `make build` made. `terminal` takes the runs of
# `virtual-time`, or makes them. As root, on a machine that does nothing
# else: an hour in all, 40 minutes of which are the studies. It needs fio, jackd, QEMU, the kernel images of scripts/kernel-images.sh, also those for arm64, and the agent for them
# (`make agent TRIPLE=aarch64-unknown-linux-gnu`).
#
# PUNCTUAL names another program, EXAMPLES_HOME a directory for the runs, which otherwise go when it ends.
set -eu

cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
punctual=${PUNCTUAL:-$target/$(scripts/host-triple.sh)/release/punctual}
kernels=$target/kernels
out=$(pwd)/docs/examples
if [ -n "${EXAMPLES_HOME:-}" ]; then
    PUNCTUAL_HOME=$EXAMPLES_HOME
else
    PUNCTUAL_HOME=$(mktemp -d)
    trap 'rm -rf "$PUNCTUAL_HOME"' EXIT
fi
export PUNCTUAL_HOME

# measure NAME ARGUMENTS...: a run of that name. A run that is not valid is no example.
measure() {
    name=$1
    shift
    "$punctual" measure "$@" --name "$name" --quiet >/dev/null
}

# page NAME TITLE WHAT...: the page of that name.
page() {
    name=$1
    title=$2
    shift 2
    "$punctual" report "$@" --force --title "$title" -o "$out/$name.html"
}

wakeup() {
    measure one wakeup --duration 30s
    page wakeup 'One run of wakeup' one
}

compare() {
    for turn in 1 2 3 4 5 6 7 8; do
        measure "idle-$turn" wakeup --duration 5s
        measure "busy-$turn" wakeup --duration 5s --load kernel
    done
    page compare 'Idle against the load kernel, eight runs each' --compare 'idle-*' 'busy-*'
}

instruments() {
    measure irq irq --duration 20s
    measure noise noise --duration 10s
    measure ipc ipc --duration 30s
    measure pi pi --duration 30s
    measure release release --duration 10s
    measure deadline deadline --duration 10s --duty 80%
    measure linpack linpack
    measure memory memory
    measure io io --directory "$PUNCTUAL_HOME"
    page instruments 'Every other instrument' irq noise ipc pi release deadline linpack memory io
    # The chart of the README.
    charts=$(mktemp -d)
    "$punctual" report irq --svg "$charts" -o "$charts/page.html"
    cp "$charts"/*phase*.svg "$out/irq-phases.svg"
    rm -rf "$charts"
}

assess() {
    "$punctual" assess --quiet --json >"$PUNCTUAL_HOME/assess.json"
    page assess 'This machine in a minute' "$PUNCTUAL_HOME/assess.json"
}

experiment() {
    cat >"$PUNCTUAL_HOME/intervals.toml" <<'END'
name = "intervals"
compare = ["p50", "p99", "max"]
seed = 7

[[measure]]
instrument = "wakeup"
options = { duration = "3s" }

[[factor]]
name = "interval"
option = "interval"
levels = ["250us", "500us", "1ms", "2ms"]

[[factor]]
name = "load"
load = true
levels = { idle = "none", busy = "cpu:1" }

[stop]
blocks = 10
END
    "$punctual" experiment run "$PUNCTUAL_HOME/intervals.toml" --quiet
    page experiment 'Wake-ups at four intervals, idle and under a load' intervals
}

# capture COLUMNS ARGUMENTS...: what the program writes to a terminal of that width.
capture() {
    columns=$1
    shift
    printf '\n## punctual %s, %s columns\n\n```text\n' "$*" "$columns"
    # The status is that of the verdict. The kernel's command line is left out, as in the pages.
    script --quiet --command "stty columns $columns rows 50; NO_COLOR=1 '$punctual' $*" /dev/null </dev/null |
        tr -d '\r' | awk '/^Booted /{ left_out = 1; next } left_out && /^          /{ next } { left_out = 0; print }' || :
    printf '```\n'
}

# The runs that are compared are those of virtual-time, in the same store; made here where there are none.
terminal() {
    "$punctual" runs show rt-6 >/dev/null 2>&1 || virtual_time
    cat >"$PUNCTUAL_HOME/kernels.toml" <<END
name = "kernels"
compare = ["mean", "p50"]
seed = 7

[[measure]]
instrument = "wakeup"
options = { samples = 300, interval = "1ms" }

[[factor]]
name = "kernel"
target = true
levels = { none = "guest:$kernels/vmlinuz-dynamic,virtual-time,append=preempt=none", rt = "guest:$kernels/vmlinuz-rt,virtual-time" }

[[factor]]
name = "load"
load = true
levels = { fork = "fork", tmpfs = "tmpfs" }

[stop]
blocks = 6
END
    "$punctual" experiment run "$PUNCTUAL_HOME/kernels.toml" --quiet >/dev/null
    {
        printf '# On a terminal\n\nWhat the verbs write to a terminal of 80 columns and to one of 120: a table that is too wide is folded, or leaves out its\n'
        printf 'least important columns and names them. The last two are of guests in virtual time. Made by scripts/examples.sh terminal.\n'
        for columns in 80 120; do
            capture "$columns" assess --quiet
            capture "$columns" compare "'none-*' 'rt-*'"
            capture "$columns" experiment results kernels
        done
    } >"$out/terminal.md"
}

virtual_time() {
    for seed in 1 2 3 4 5 6; do
        for kernel in none=vmlinuz-dynamic,append=preempt=none rt=vmlinuz-rt; do
            measure "${kernel%%=*}-$seed" wakeup --target "guest:$kernels/${kernel#*=},virtual-time,seed=$seed" \
                --samples 300 --interval 1ms --load printk:1000 --allow-console
        done
    done
    page virtual-time 'Debian 6.1 without preemption and with PREEMPT_RT, in virtual time' --compare 'none-*' 'rt-*'
}

# picture STUDY CHART NAME: a chart of a study's report as docs/examples/STUDY-NAME.svg.
picture() {
    cp "$charts/$1/$1-$2.svg" "$out/$1-$3.svg"
}

# All five at their default scale, and the pictures of their guides.
studies() {
    charts=$(mktemp -d)
    "$punctual" study run all --quiet >/dev/null
    set --
    for study in raju2015 wang2019 anaya2018 vasyukov2018 bridgers2015; do
        "$punctual" study report "$study" --json >"$charts/$study.json"
        "$punctual" report "$charts/$study.json" --svg "$charts/$study" -o "$charts/$study.html"
        set -- "$@" "$charts/$study.json"
    done
    page studies 'The five studies, at their default scale' "$@"
    picture vasyukov2018 1-density density
    picture vasyukov2018 1-cumulative-share cumulative
    picture vasyukov2018 4-gflops-threads-2 linpack
    picture vasyukov2018 10-load-linpack-head head
    picture vasyukov2018 10-load-linpack-tail tail
    picture anaya2018 1-throughput-direction-write throughput
    picture anaya2018 1-error-throughput-direction-write error
    picture anaya2018 4-load-work-load-cpu-1-cpus-0 work
    picture raju2015 1-misses-per-second-thread-0 misses
    picture bridgers2015 6-moving-mean moving-mean
    picture bridgers2015 6-moving-skewness moving-skewness
    picture wang2019 4-ratios ratios
    rm -rf "$charts"
}

watch_jackd() {
    "$punctual" watch --quiet --name jackd --duration 60s --load kernel -- jackd -R -P 70 -d dummy -r 48000 -p 64 >/dev/null
    page watch-jackd 'JACK, watched for a minute under the load kernel' jackd
}

[ $# -gt 0 ] || set -- wakeup compare instruments assess experiment virtual-time terminal studies watch-jackd
for name; do
    printf '==> %s\n' "$name"
    case $name in
    wakeup | compare | instruments | assess | experiment | terminal | studies) "$name" ;;
    virtual-time) virtual_time ;;
    watch-jackd) watch_jackd ;;
    *) printf 'Error: there is no example %s\n' "$name" >&2 && exit 2 ;;
    esac
done
