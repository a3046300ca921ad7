#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
#
# lab.sh [bisect] [reproducible] [schedulers]: the kernel lab from a source package to a verdict, for a nightly run (`make lab`).
#
# Fetches Debian's linux-source-6.12, builds the smallest kernel that measures with PREEMPT_DYNAMIC and with PREEMPT_RT,
# boots both in virtual time with five seeds, and fails unless PREEMPT_RT is better than `none` beside every load by the
# maximum, with bands that lie apart, and by no mean worse. Fails too unless the timerlat tracer's own account of its longest
# wake-ups agrees with ours.
#   bisect         also plants a regression among 20 commits on that source, and fails unless `kernel bisect` finds it
#   reproducible   also builds the same source once more, elsewhere and without ccache, and fails unless the bytes are the same
#   schedulers     also builds it with sched_ext, runs a task set under both BPF schedulers, twice, and fails unless runs are valid,
#                  repeat to the last sample, and miss deadlines as the two policies do
#
# Everything is kept below target/lab (2 GB; with bisect 2.5 GB, and 2 GB more while it runs), so that a second run builds
# nothing. LAB_SEEDS, LAB_SAMPLES and LAB_JOBS change the numbers of seeds, samples and compilers.
set -eu

cd "$(dirname "$0")/.."
root=$(pwd)
case ${CARGO_TARGET_DIR:-target} in
/*) target=$CARGO_TARGET_DIR ;;
*) target=$root/${CARGO_TARGET_DIR:-target} ;;
esac
punctual=${PUNCTUAL:-$target/$(scripts/host-triple.sh)/release/punctual}
lab=$target/lab
source=linux-source-6.12
PUNCTUAL_HOME=$lab
export PUNCTUAL_HOME
kernels=$lab/kernels
seeds=${LAB_SEEDS:-5}
samples=${LAB_SAMPLES:-1000}
jobs=${LAB_JOBS:-$(nproc)}

stop() {
    echo "FAILED: $1" >&2
    exit 1
}

step() {
    printf '\n==> %s\n' "$1"
}

bisect=no
reproducible=no
schedulers=no
for wish in "$@"; do
    case $wish in
    bisect) bisect=yes ;;
    reproducible) reproducible=yes ;;
    schedulers) schedulers=yes ;;
    *)
        echo "usage: $0 [bisect] [reproducible] [schedulers]" >&2
        exit 2
        ;;
    esac
done
[ -x "$punctual" ] || stop "no $punctual: run make build first"
mkdir -p "$lab"

# With the events by which a wait is told from another, which the smallest configuration lacks.
traced='FTRACE_SYSCALLS=y'

# build NAME OPTION...: one kernel from the source.
build() {
    name=$1
    shift
    "$punctual" kernel build "$source" --name "$name" -j "$jobs" --set "$traced" "$@"
}

# judge RESULT: what PREEMPT_RT must be, cell by cell.
judge() {
    python3 - "$1" <<'PYTHON'
import json, sys

result = json.load(open(sys.argv[1]))
if not result["valid"]:
    sys.exit("FAILED: a cell supports no claim")
verdicts = {(c["load"], c["figure"]): c["verdict"] for c in result["comparisons"] if c["model"] == "rt"}
loads = {cell["load"] for cell in result["cells"]}
if len(loads) != 3 or set(verdicts) != {(load, figure) for load in loads for figure in ("mean_ns", "max_ns")}:
    sys.exit(f"FAILED: not every cell was compared: {sorted(verdicts)}")
wrong = [
    f"{load}, {figure}: {verdict}"
    for (load, figure), verdict in sorted(verdicts.items())
    # A mean beside few interruptions is that of the undisturbed path, which PREEMPT_RT does not shorten.
    if verdict != "better" and (figure == "max_ns" or verdict == "worse")
]
if wrong:
    sys.exit("FAILED: PREEMPT_RT is not better than none: " + "; ".join(wrong))
better = sum(verdict == "better" for verdict in verdicts.values())
print(f"PREEMPT_RT is better than none beside each of {', '.join(sorted(loads))} by the maximum, "
      f"in {better} of {len(verdicts)} comparisons in all, and worse in none")
PYTHON
}

# The files that the 20 commits change, each with the function that gets one more read of a variable: what a patch that
# means no harm does to every latency.
harmless='kernel/exit.c do_exit
kernel/pid.c alloc_pid
kernel/cred.c prepare_creds
kernel/signal.c do_notify_parent
kernel/printk/printk.c vprintk_store
kernel/sched/core.c wake_up_new_task
kernel/time/hrtimer.c hrtimer_nanosleep
kernel/time/timekeeping.c update_wall_time
kernel/workqueue.c queue_work_on
kernel/fork.c dup_task_struct
REGRESSION
lib/vsprintf.c vsnprintf
mm/shmem.c shmem_write_begin
mm/memory.c handle_mm_fault
mm/mmap.c exit_mmap
fs/read_write.c vfs_write
fs/pipe.c pipe_write
fs/namei.c filename_lookup
fs/open.c do_truncate
drivers/tty/tty_io.c tty_open'

# read_in FILE FUNCTION: puts a read of jiffies at the beginning of a function.
read_in() {
    awk -v name="$2" '
        { print }
        !done && $0 ~ "^([a-z].*[ *])?" name "\\(" { inside = 1 }
        inside && /;$/ { inside = 0 }
        inside && /^\{/ {
            print "\tunsigned long entered __maybe_unused = READ_ONCE(jiffies);\n"
            inside = 0; done = 1
        }
        END { exit !done }
    ' "$1" >"$1.new" || stop "$1 has no function $2"
    mv "$1.new" "$1"
}

# Half a millisecond without preemption in every fork.
plant() {
    awk '
        { print }
        /^\tp = copy_process\(NULL, trace, NUMA_NO_NODE, args\);/ {
            print "\n\tpreempt_disable();\n\tfor (unsigned int i = 0; i < 20000; i++)\n\t\tbarrier();\n\tpreempt_enable();"
            done = 1
        }
        END { exit !done }
    ' kernel/fork.c >kernel/fork.c.new || stop "kernel/fork.c is not as expected"
    mv kernel/fork.c.new kernel/fork.c
}

# A repository with the source as its first commit and 20 on top, one of which is the regression.
history() {
    rm -rf "$repository" "$lab/edit"
    git init --quiet --bare "$repository"
    git() { command git -c user.name=lab -c user.email=lab@example.org -c gc.auto=0 -c core.fsync=none "$@"; }
    # With this threshold every file goes to one pack, in place of 80000 files.
    git --git-dir="$repository" --work-tree="$kernels/sources/$source/tree" \
        -c core.bigFileThreshold=1 -c core.compression=1 add --all --force .
    tree=$(git --git-dir="$repository" write-tree)
    git --git-dir="$repository" tag good "$(git --git-dir="$repository" commit-tree -m "$source as Debian has it" "$tree")"
    git --git-dir="$repository" worktree add --quiet --no-checkout --detach "$lab/edit" good
    cd "$lab/edit"
    { echo "$harmless" | sed -n 's/ .*//p' && echo kernel/fork.c; } | sort -u >"$lab/files"
    git sparse-checkout set --no-cone --stdin <"$lab/files"
    git checkout --quiet
    echo "$harmless" | while read -r file function; do
        if [ "$file" = REGRESSION ]; then
            plant
            subject='fork: settle the caches of a new task before it runs'
        else
            read_in "$file" "$function"
            subject="$(dirname "$file"): note when $function is entered"
        fi
        git commit --quiet --all -m "$subject"
        [ "$file" != REGRESSION ] || git rev-parse HEAD >"$lab/planted"
    done
    git --git-dir="$repository" tag bad "$(git rev-parse HEAD)"
    cd "$root"
    git --git-dir="$repository" worktree remove --force "$lab/edit"
    unset -f git
}

step "source"
[ -d "$kernels/sources/$source" ] || "$punctual" kernel fetch "$source"

step "build"
# The smallest configuration, twice: none, voluntary and full are one image.
"$punctual" kernel build "$source" --matrix none,full,rt -j "$jobs" --set "$traced"
du -sh "$kernels/sources/$source" "$kernels/builds/6.12-dynamic" "$kernels/builds/6.12-rt"

step "measure"
# No --fail-on: voluntary may be worse than none in a cell, and that is not what is asked here.
"$punctual" kernel latency-test "6.12=$kernels/builds/6.12-dynamic/vmlinuz" "6.12-rt=$kernels/builds/6.12-rt/vmlinuz" \
    --baseline 6.12:none --seeds "$seeds" --samples "$samples" --quiet \
    --output "$lab/latency-test.json" --junit "$lab/latency-test.xml"
judge "$lab/latency-test.json"

step "timerlat"
# The tracer's own account of its longest wake-ups, and what follows from the other events.
"$punctual" measure irq --target "guest:$kernels/builds/6.12-dynamic/vmlinuz,virtual-time" --explain --load fork \
    --duration 400ms --cpus 0 --quiet --json >"$lab/timerlat.json"
python3 - "$lab/timerlat.json" <<'PYTHON'
import json, sys

record = json.load(open(sys.argv[1]))
if not record["valid"]:
    sys.exit("FAILED: the run of the timerlat tracer is not valid")
cycles = [cycle for thread in record["watched"]["threads"] for cycle in thread["worst"]]
if not cycles or not all("kernel" in cycle for cycle in cycles):
    sys.exit("FAILED: the tracer gives no account of its longest wake-ups")
apart = [
    abs(part["kernel_ns"] - part["ours_ns"])
    for cycle in cycles
    for part in cycle["kernel"]["parts"]
    if part["part"] in ("irq-latency", "thread-latency")
]
# An event takes some microseconds where each instruction counts as 8 ns.
if max(apart) >= 20_000:
    sys.exit(f"FAILED: the tracer's account and ours differ by {max(apart)} ns")
print(f"the timerlat tracer's account of {len(cycles)} wake-ups and ours differ by {max(apart)} ns at most")
PYTHON

if [ $reproducible = yes ]; then
    step "reproducible build"
    # Another directory, and no object from before.
    "$punctual" kernel rm 6.12-again 2>/dev/null || true
    build 6.12-again --model rt --no-ccache
    # A kernel keeps its configuration in itself, with the versions of compiler, linker, rustc and pahole.
    diff "$kernels/builds/6.12-rt/config" "$kernels/builds/6.12-again/config" ||
        stop "the configurations differ: a tool has changed since the first build"
    cmp "$kernels/builds/6.12-rt/vmlinuz" "$kernels/builds/6.12-again/vmlinuz" ||
        stop "the same source and configuration gave another image"
    echo "the same $(wc -c <"$kernels/builds/6.12-rt/vmlinuz") bytes"
    "$punctual" kernel rm 6.12-again
fi

if [ $schedulers = yes ]; then
    step "schedulers"
    build 6.12-sched-ext --model full --with sched-ext
    # run NAME SCHEDULER: the set at 94 % under one of the BPF schedulers.
    run() {
        "$punctual" measure --target "guest:$kernels/builds/6.12-sched-ext/vmlinuz,virtual-time" tasks "example:ext-$2" \
            --scale 0.94 --work 100% --duration 2s --cpus 0 --quiet --json >"$lab/$1.json" || [ $? = 3 ] ||
            stop "the set did not run under $2"
    }
    for scheduler in rate-monotonic earliest-deadline-first; do
        run "$scheduler-1" "$scheduler"
        run "$scheduler-2" "$scheduler"
    done
    python3 - "$lab" <<'PYTHON'
import json, sys

missed = {}
for scheduler in ("rate-monotonic", "earliest-deadline-first"):
    first, second = (json.load(open(f"{sys.argv[1]}/{scheduler}-{n}.json")) for n in (1, 2))
    for record in (first, second):
        check = [c for c in record["checks"] if c["id"] == "sched-ext"]
        if not record["valid"] or len(check) != 1:
            sys.exit(f"FAILED: {scheduler}: the run is not valid, or nothing says that its scheduler was there")
    if first["series"] != second["series"] or first["tasks"] != second["tasks"]:
        sys.exit(f"FAILED: {scheduler}: two runs differ")
    missed[scheduler] = sum(task["missed"] for task in first["tasks"]["tasks"])
    print(f"{scheduler}: {missed[scheduler]} deadlines missed at 94 %, both times")
if missed["earliest-deadline-first"] != 0 or missed["rate-monotonic"] == 0:
    sys.exit("FAILED: at 94 % rate-monotonic misses deadlines, and earliest deadline first none")
PYTHON
fi

if [ $bisect = yes ]; then
    step "bisect"
    repository=$lab/linux.git
    history
    tree=$kernels/sources/$source/tree
    # Its own build would compile all of the kernel again, since a worktree is another directory. So what a commit changes is
    # copied to the source that was built above, and only that is compiled.
    cat >"$lab/put.sh" <<'PUT'
while read -r file; do
    [ ! -f "$file" ] || cmp -s "$file" "$1/$file" || cp "$file" "$1/$file"
done
PUT
    cat >"$lab/oracle.sh" <<ORACLE
sh "$lab/put.sh" "$tree" <"$lab/files"
"\$PUNCTUAL" kernel build "$source" --name 6.12-rt --model rt -j $jobs --set $traced --quiet || exit 125
new=$kernels/builds/6.12-rt/vmlinuz
[ -f "$lab/good.vmlinuz" ] || { cp "\$new" "$lab/good.vmlinuz"; exit 0; }
"\$PUNCTUAL" kernel latency-test "good=$lab/good.vmlinuz" "new=\$new" --load fork --seeds 4 --samples 300 \\
    --baseline good --tolerance 50% --fail-on worse --quiet
case \$? in 0) exit 0 ;; 3) exit 1 ;; *) exit 200 ;; esac
ORACLE
    # Whatever the end is, the source is Debian's again.
    trap 'git --git-dir="$repository" --work-tree="$tree" checkout --quiet --force good -- $(cat "$lab/files")' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    rm -f "$lab/good.vmlinuz" "$lab/bisect.log"
    "$punctual" kernel bisect --tree "$repository" --good good --bad bad --log "$lab/bisect.log" \
        --oracle "sh '$lab/oracle.sh'" | tee "$lab/bisect.txt"
    planted=$(cat "$lab/planted")
    grep -q "$(echo "$planted" | cut -c 1-12)" "$lab/bisect.txt" || stop "the planted commit $planted was not found"
    echo "found the planted commit $planted"
fi
