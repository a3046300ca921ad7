// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is printed where a command line is not understood, or help is asked for.

/// The version of rt-tests whose output this one's has the form of, and who made it.
pub(super) const VERSION: &str = concat!("2.40 (punctual ", env!("CARGO_PKG_VERSION"), ")");

/// Renders the help text.
pub(super) fn text() -> String {
    format!("cyclictest V {VERSION}\nUsage:\ncyclictest <options>\n\n{OPTIONS}")
}

/// Every option: printed here, and the man page has it too.
pub(crate) const OPTIONS: &str = "\
-a [CPUSET] --affinity     bind thread N to the Nth CPU, or to those of CPUSET
                           in turn: 0-3,5, all, !0 (all but 0), +0-1 (the first
                           two allowed)
-A USEC  --aligned=USEC    start each thread USEC after the one before it
-b USEC  --breaktrace=USEC end the run at a latency above USEC
-c CLOCK --clock=CLOCK     0 = CLOCK_MONOTONIC (default), 1 = CLOCK_REALTIME
-d DIST  --distance=DIST   added to the interval of each further thread, in us;
                           default 500
-D TIME  --duration=TIME   measure for TIME seconds; with m, h or d: other units
         --deepest-idle-state=N  switch off idle states above N of the CPUs in
                           use until the end, -1: all of them, instead of
                           holding /dev/cpu_dma_latency
         --default-system  leave the power management alone
-F PATH  --fifo=PATH       create a named pipe that gives readers the figures
-h US    --histogram=US    print a histogram of US rows at the end; all threads
                           have one interval
-H US    --histofall=US    the same with a column for all threads together
         --histfile=PATH   write the histogram to PATH instead
-i INTV  --interval=INTV   interval of the first thread in us; default 1000
         --json=PATH       write the results to PATH as JSON
         --laptop          allow deep idle states; latencies will be longer
         --latency=US      hold /dev/cpu_dma_latency at US; default 0
-l LOOPS --loops=LOOPS     end when a thread has taken LOOPS samples; 0: never
                           (default)
         --mainaffinity=CPUSET  CPUs for everything but the measuring threads
-m       --mlockall        lock the memory
-M       --refresh_on_max  print only when there is a new maximum
-N       --nsecs           all latencies in ns
-o RED   --oscope=RED      with -v, print the largest of each RED values
-p PRIO  --priority=PRIO   priority, SCHED_FIFO unless --policy=rr
         --policy=NAME     other, normal, batch, idle, fifo or rr
         --priospread      lower the priority by one from thread to thread
-q       --quiet           print the results only
-r       --relative        sleep for a span of time instead of until a time
-R       --resolution      print the clock's resolution
         --secaligned [USEC]  start USEC after a full second
-s       --system          sleep for a span of time, as nanosleep does
-S       --smp             -a and -t with the same priority for all
         --smi             count system management interrupts
         --spike=US        keep latencies above US and when they were
         --spike-nodes=N   at most N of them; default 1024
-t [NUM] --threads=NUM     threads: without NUM one a CPU, without -t 1
         --tracemark       write a mark to the trace and stop it at -b
-u       --unbuffered      no effect: output is never buffered
-v       --verbose         print every sample: thread:cycle:value
-x       --posix_timers    sleep with POSIX timers
         --dbg_cyclictest  print the resulting settings
Only here:
         --hist-compact    leave out rows without samples
         --home=DIR        directory of the store, with --record
         --record          keep the run in the store (see punctual runs)
         --strict-exit     exit 2 if -b ended the run, 129 for an unknown option
-n, --nanosleep, --notrace, --prio=PRIO, -U (as -S), -y NAME and -e US of older
versions are understood.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_fits_a_terminal() {
        let wide: Vec<_> = OPTIONS.lines().filter(|line| line.len() > 80).collect();
        assert_eq!(wide, [""; 0]);
    }
}
