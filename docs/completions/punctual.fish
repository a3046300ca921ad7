# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_punctual_global_optspecs
    string join \n home= h/help V/version
end

function __fish_punctual_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_punctual_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_punctual_using_subcommand
    set -l cmd (__fish_punctual_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c punctual -n "__fish_punctual_needs_command" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_needs_command" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_needs_command" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "assess" -d 'Assess this machine in about a minute: wake-up latency idle and under load, and what it allows'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "doctor" -d 'Find what on this machine hurts determinism, with evidence, reason and fix'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "measure" -d 'Measure with one instrument, record the run, print its summary'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "cyclictest" -d 'Measure as cyclictest does: its options, its output, its exit statuses'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "load" -d 'Run only the loads, until Ctrl-C or for a time'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "compare" -d 'Compare groups of runs: better, worse, the same, not distinguishable, or too few runs to say'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "experiment" -d 'Plan, carry out and resume experiments: cells in random order, in blocks'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "study" -d 'Carry out published experiments here, and compare with what was published'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "kernel" -d 'Boot other kernels in a virtual machine'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "tune" -d 'Change the settings of this machine so that every change can be taken back'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "report" -d 'Make a report of runs, comparisons and experiments: one page, pictures, or Markdown'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "serve" -d 'Show the store in a browser: list, overlay and compare runs; nothing is written'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "runs" -d 'List, show, import, export and remove recorded runs'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand assess" -l deadline -d 'Judge this deadline, and exit 3 if it was missed [default: a table from 50us to 10ms] (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand assess" -l require -d 'Say whether this is met, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand assess" -l burst -d 'How long a burst of misses may last, which no run can tell that saw none: claims count time by it, not samples' -r
complete -c punctual -n "__fish_punctual_using_subcommand assess" -l load -d 'Measure beside these loads, see `punctual load --help`; each use is a condition of its own [default: the presets kernel and bridgers] (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand assess" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this one]; another machine needs --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand assess" -l ping-rate -d 'Requests a second that each ping load sends [default: as many as are answered]' -r
complete -c punctual -n "__fish_punctual_using_subcommand assess" -s c -l cpus -d 'CPUs to measure [default: all that are online and allowed]' -r
complete -c punctual -n "__fish_punctual_using_subcommand assess" -s D -l duration -d 'Time to measure, an equal part of it under each condition; the first is an idle machine' -r
complete -c punctual -n "__fish_punctual_using_subcommand assess" -l metrics -d 'Answer http://ADDRESS/metrics in OpenMetrics while the run goes on, such as 127.0.0.1:9464; an address that other machines reach needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand assess" -l metrics-token-file -d 'Answer only who has the token in this file [default: that in PUNCTUAL_TOKEN, if it is set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand assess" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand assess" -l allow-console -d 'Let the load printk write to the kernel\'s log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand assess" -l json -d 'Print the assessment as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand assess" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand assess" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand assess" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand doctor" -s c -l cpus -d 'CPUs meant for real-time work [default: those that the kernel isolates, or else all online]' -r
complete -c punctual -n "__fish_punctual_using_subcommand doctor" -l explain -d 'Explain one rule: why it matters, how to fix it, where that is from, what it says here' -r
complete -c punctual -n "__fish_punctual_using_subcommand doctor" -l fail-on -d 'Exit 3 if something of this severity or worse is found, 6 if that cannot be judged' -r -f -a "high\t''
medium\t''
low\t''
info\t''"
complete -c punctual -n "__fish_punctual_using_subcommand doctor" -l root -d 'Judge a machine captured in DIR, whose /proc, /sys, /boot and /dev are below it' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand doctor" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand doctor" -l all -d 'Also show what is fine, what has no meaning here, and every file that could not be read'
complete -c punctual -n "__fish_punctual_using_subcommand doctor" -l json -d 'Print the diagnosis as JSON, with all rules'
complete -c punctual -n "__fish_punctual_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand doctor" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline noise help" -l tune -d 'Tune the machine with this profile, and put it back after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline noise help" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL], see `punctual kernel --help`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline noise help" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline noise help" -l isolate -d 'Move all else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline noise help" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline noise help" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline noise help" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline noise help" -f -a "wakeup" -d 'Measure how late threads wake up that sleep to a deadline'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline noise help" -f -a "irq" -d 'Measure the timer\'s interrupt latency apart from the thread\'s: the phases of each wake-up'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline noise help" -f -a "ipc" -d 'Measure how long it takes to wake another thread: futex, pipe, eventfd, message queue, ...'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline noise help" -f -a "pi" -d 'Show priority inversion: how long an urgent thread waits for a lock, with and without a protocol'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline noise help" -f -a "release" -d 'Measure how exactly a thread can begin a cycle that spins the last stretch, and what that costs'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline noise help" -f -a "linpack" -d 'Measure how fast systems of linear equations are solved: GFLOPS against their size'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline noise help" -f -a "memory" -d 'Measure how fast memory is copied, streamed and reached, for every pair of CPU node and memory node'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline noise help" -f -a "io" -d 'Measure storage with fio: throughput, completion latency, and how far repeats differ'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline noise help" -f -a "deadline" -d 'Measure which iterations of a computing real-time thread miss their deadline, and who took the time'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline noise help" -f -a "noise" -d 'Measure the gaps in the time of a CPU that a busy loop sees, and what the kernel counts beside them'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline noise help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -s t -l threads -d 'Number of measuring threads [default: one for each CPU]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l pin -d 'How threads are bound: each to one CPU of the set, all to the set, or none at all' -r -f -a "each\t''
set\t''
none\t''"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -s p -l priority -d 'Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE], b, i, d:RUNTIME:PERIOD' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -s i -l interval -d 'Time between the deadlines of a thread' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -s d -l distance -d 'What each further thread\'s interval is longer by' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l timer -d 'What the threads sleep with; `relative` sleeps for a span, all others to a deadline' -r -f -a "nanosleep\t''
relative\t''
timerfd\t''
posix\t''
uring\t''
futex\t''"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l clock -d 'Clock of the deadlines and time stamps' -r -f -a "monotonic\t''
realtime\t''
tai\t''
boottime\t''"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -s D -l duration -d 'Measure for this time [default: 60s, or without limit when --samples is given]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -s n -l samples -d 'Take this many samples with each thread' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l warm-up -d 'Do not record the first TIME; its samples are counted and shown' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l until -d 'End as soon as a figure is this precise, such as p99:2% or mean:0.005us@99% (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l on-threshold -d 'End at a sample above TIME, keep the samples around it, exit 3' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l deadline -d 'Count the samples later than TIME exactly, and exit 3 if there are any (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l statistics -d 'Keep this of the samples too: `psquare` estimates quantiles in constant memory, without a bound on the error, and takes several times as long as all other statistics (can be repeated)' -r -f -a "psquare\t'Quantiles after Jain and Chlamtac, beside those of the histogram'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -s c -l cpus -d 'CPUs to measure [default: all that are online and allowed; for deadline the first of them, for noise all others]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l dma-latency -d 'Idle states may take this long to leave; 0us as cyclictest does, or off [default: 0us for latencies, off for throughput]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l mlock -d 'Lock the memory of the process [default: on for latencies, off for throughput]' -r -f -a "on\t'Yes'
off\t'No'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l housekeeping -d 'CPUs of all that is not a measuring thread [default: those not measured, if there are any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l require -d 'Say whether this is met, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l burst -d 'How long a burst of misses may last, which no run can tell that saw none: requirements count time by it, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l load -d 'Loads beside the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this one]; another machine needs --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l ping-rate -d 'Requests a second that each ping load sends [default: as many as are answered]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l name -d 'Name of the run, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l note -d 'Remark kept with the run' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l tag -d 'Tag of the run, by which `compare` groups (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l metrics -d 'Answer http://ADDRESS/metrics in OpenMetrics while the run goes on, such as 127.0.0.1:9464; an address that other machines reach needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l metrics-token-file -d 'Answer only who has the token in this file [default: that in PUNCTUAL_TOKEN, if it is set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l tune -d 'Tune the machine with this profile, and put it back after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL], see `punctual kernel --help`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l isolate -d 'Move all else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l priority-spread -d 'Give each further thread a priority lower by one'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l raw -d 'Store every sample, not only the figures'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l allow-console -d 'Let the load printk write to the kernel\'s log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l json -d 'Print the run record as JSON instead of the summary'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l source -d 'What measures: the timerlat tracer, or threads of our own and trace events' -r -f -a "auto\t'The timerlat tracer where the kernel has it, else trace events'
timerlat\t'The kernel\'s timerlat tracer'
events\t'Threads of our own, and the kernel\'s trace events of their wake-ups'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -s i -l interval -d 'Time between the deadlines of a thread' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -s p -l priority -d 'Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE], b, i, d:RUNTIME:PERIOD' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -s D -l duration -d 'Measure for this time, half of it without tracing' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l statistics -d 'Keep this of the samples too: `psquare` estimates quantiles in constant memory, without a bound on the error, and takes several times as long as all other statistics (can be repeated)' -r -f -a "psquare\t'Quantiles after Jain and Chlamtac, beside those of the histogram'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -s c -l cpus -d 'CPUs to measure [default: all that are online and allowed; for deadline the first of them, for noise all others]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l dma-latency -d 'Idle states may take this long to leave; 0us as cyclictest does, or off [default: 0us for latencies, off for throughput]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l mlock -d 'Lock the memory of the process [default: on for latencies, off for throughput]' -r -f -a "on\t'Yes'
off\t'No'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l housekeeping -d 'CPUs of all that is not a measuring thread [default: those not measured, if there are any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l require -d 'Say whether this is met, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l burst -d 'How long a burst of misses may last, which no run can tell that saw none: requirements count time by it, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l load -d 'Loads beside the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this one]; another machine needs --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l ping-rate -d 'Requests a second that each ping load sends [default: as many as are answered]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l name -d 'Name of the run, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l note -d 'Remark kept with the run' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l tag -d 'Tag of the run, by which `compare` groups (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l metrics -d 'Answer http://ADDRESS/metrics in OpenMetrics while the run goes on, such as 127.0.0.1:9464; an address that other machines reach needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l metrics-token-file -d 'Answer only who has the token in this file [default: that in PUNCTUAL_TOKEN, if it is set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l tune -d 'Tune the machine with this profile, and put it back after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL], see `punctual kernel --help`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l isolate -d 'Move all else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l allow-console -d 'Let the load printk write to the kernel\'s log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l json -d 'Print the run record as JSON instead of the summary'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l path -d 'Ways to wake, comma-separated' -r -f -a "futex\t''
pipe\t''
eventfd\t''
mqueue\t''
signal\t''
condvar\t''
pi-mutex\t''
all\t''"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l placement -d 'Sender and receiver on the same CPU, or across two [default: both, with two CPUs]' -r -f -a "same\t''
cross\t''"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l sender -d 'CPU of the sender across CPUs [default: the second of --cpus]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l receiver -d 'CPU of the receiver, and of both on the same CPU [default: the first of --cpus]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -s i -l interval -d 'Time between the wake-ups of a pair' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -s p -l priority -d 'Policy of the receivers; FIFO and round-robin senders run one priority below' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -s D -l duration -d 'Measure for this time, in which all pairs take turns' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l statistics -d 'Keep this of the samples too: `psquare` estimates quantiles in constant memory, without a bound on the error, and takes several times as long as all other statistics (can be repeated)' -r -f -a "psquare\t'Quantiles after Jain and Chlamtac, beside those of the histogram'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -s c -l cpus -d 'CPUs to measure [default: all that are online and allowed; for deadline the first of them, for noise all others]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l dma-latency -d 'Idle states may take this long to leave; 0us as cyclictest does, or off [default: 0us for latencies, off for throughput]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l mlock -d 'Lock the memory of the process [default: on for latencies, off for throughput]' -r -f -a "on\t'Yes'
off\t'No'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l housekeeping -d 'CPUs of all that is not a measuring thread [default: those not measured, if there are any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l require -d 'Say whether this is met, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l burst -d 'How long a burst of misses may last, which no run can tell that saw none: requirements count time by it, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l load -d 'Loads beside the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this one]; another machine needs --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l ping-rate -d 'Requests a second that each ping load sends [default: as many as are answered]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l name -d 'Name of the run, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l note -d 'Remark kept with the run' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l tag -d 'Tag of the run, by which `compare` groups (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l metrics -d 'Answer http://ADDRESS/metrics in OpenMetrics while the run goes on, such as 127.0.0.1:9464; an address that other machines reach needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l metrics-token-file -d 'Answer only who has the token in this file [default: that in PUNCTUAL_TOKEN, if it is set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l tune -d 'Tune the machine with this profile, and put it back after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL], see `punctual kernel --help`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l isolate -d 'Move all else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l allow-console -d 'Let the load printk write to the kernel\'s log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l json -d 'Print the run record as JSON instead of the summary'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l protocol -d 'Protocols of the lock, comma-separated [default: all]' -r -f -a "none\t''
inherit\t''
protect\t''"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -s i -l interval -d 'Time between the beginnings of cycles' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l hold -d 'What the least urgent thread works while it holds the lock' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l spin -d 'What the thread in between works, in every second cycle half of it' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -s p -l priority -d 'FIFO priority of the most urgent thread; the others have the two below: f:3 to f:99' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -s D -l duration -d 'Measure for this time' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l statistics -d 'Keep this of the samples too: `psquare` estimates quantiles in constant memory, without a bound on the error, and takes several times as long as all other statistics (can be repeated)' -r -f -a "psquare\t'Quantiles after Jain and Chlamtac, beside those of the histogram'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -s c -l cpus -d 'CPUs to measure [default: all that are online and allowed; for deadline the first of them, for noise all others]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l dma-latency -d 'Idle states may take this long to leave; 0us as cyclictest does, or off [default: 0us for latencies, off for throughput]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l mlock -d 'Lock the memory of the process [default: on for latencies, off for throughput]' -r -f -a "on\t'Yes'
off\t'No'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l housekeeping -d 'CPUs of all that is not a measuring thread [default: those not measured, if there are any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l require -d 'Say whether this is met, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l burst -d 'How long a burst of misses may last, which no run can tell that saw none: requirements count time by it, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l load -d 'Loads beside the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this one]; another machine needs --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l ping-rate -d 'Requests a second that each ping load sends [default: as many as are answered]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l name -d 'Name of the run, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l note -d 'Remark kept with the run' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l tag -d 'Tag of the run, by which `compare` groups (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l metrics -d 'Answer http://ADDRESS/metrics in OpenMetrics while the run goes on, such as 127.0.0.1:9464; an address that other machines reach needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l metrics-token-file -d 'Answer only who has the token in this file [default: that in PUNCTUAL_TOKEN, if it is set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l tune -d 'Tune the machine with this profile, and put it back after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL], see `punctual kernel --help`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l isolate -d 'Move all else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l allow-console -d 'Let the load printk write to the kernel\'s log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l json -d 'Print the run record as JSON instead of the summary'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -s i -l interval -d 'Time between deadlines' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l spin -d 'Ask to be woken this long before a deadline, and spin for what is left' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -s p -l priority -d 'Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE], b, i, d:RUNTIME:PERIOD' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -s D -l duration -d 'Measure for this time' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l statistics -d 'Keep this of the samples too: `psquare` estimates quantiles in constant memory, without a bound on the error, and takes several times as long as all other statistics (can be repeated)' -r -f -a "psquare\t'Quantiles after Jain and Chlamtac, beside those of the histogram'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -s c -l cpus -d 'CPUs to measure [default: all that are online and allowed; for deadline the first of them, for noise all others]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l dma-latency -d 'Idle states may take this long to leave; 0us as cyclictest does, or off [default: 0us for latencies, off for throughput]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l mlock -d 'Lock the memory of the process [default: on for latencies, off for throughput]' -r -f -a "on\t'Yes'
off\t'No'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l housekeeping -d 'CPUs of all that is not a measuring thread [default: those not measured, if there are any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l require -d 'Say whether this is met, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l burst -d 'How long a burst of misses may last, which no run can tell that saw none: requirements count time by it, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l load -d 'Loads beside the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this one]; another machine needs --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l ping-rate -d 'Requests a second that each ping load sends [default: as many as are answered]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l name -d 'Name of the run, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l note -d 'Remark kept with the run' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l tag -d 'Tag of the run, by which `compare` groups (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l metrics -d 'Answer http://ADDRESS/metrics in OpenMetrics while the run goes on, such as 127.0.0.1:9464; an address that other machines reach needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l metrics-token-file -d 'Answer only who has the token in this file [default: that in PUNCTUAL_TOKEN, if it is set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l tune -d 'Tune the machine with this profile, and put it back after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL], see `punctual kernel --help`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l isolate -d 'Move all else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l allow-console -d 'Let the load printk write to the kernel\'s log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l json -d 'Print the run record as JSON instead of the summary'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l engine -d 'What solves them: own, openblas[:PATH], mkl[:PATH], command:PROGRAM that prints what HPL prints' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l order -d 'Numbers of equations (comma-separated) [default: 1000,2000,4000; what a command solves is its own affair]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l repeats -d 'Solve each order, or run the command, this often' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -s p -l priority -d 'Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE], b, i' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -s c -l cpus -d 'CPUs to measure [default: all that are online and allowed; for deadline the first of them, for noise all others]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l dma-latency -d 'Idle states may take this long to leave; 0us as cyclictest does, or off [default: 0us for latencies, off for throughput]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l mlock -d 'Lock the memory of the process [default: on for latencies, off for throughput]' -r -f -a "on\t'Yes'
off\t'No'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l housekeeping -d 'CPUs of all that is not a measuring thread [default: those not measured, if there are any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l require -d 'Say whether this is met, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l burst -d 'How long a burst of misses may last, which no run can tell that saw none: requirements count time by it, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l load -d 'Loads beside the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this one]; another machine needs --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l ping-rate -d 'Requests a second that each ping load sends [default: as many as are answered]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l name -d 'Name of the run, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l note -d 'Remark kept with the run' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l tag -d 'Tag of the run, by which `compare` groups (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l metrics -d 'Answer http://ADDRESS/metrics in OpenMetrics while the run goes on, such as 127.0.0.1:9464; an address that other machines reach needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l metrics-token-file -d 'Answer only who has the token in this file [default: that in PUNCTUAL_TOKEN, if it is set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l tune -d 'Tune the machine with this profile, and put it back after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL], see `punctual kernel --help`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l isolate -d 'Move all else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l product -d 'Measure the product of two matrices of the same order too, in turns: the ceiling of any solver'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l allow-console -d 'Let the load printk write to the kernel\'s log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l json -d 'Print the run record as JSON instead of the summary'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l size -d 'Size of a block, such as 256M; each thread has up to four on every memory node' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l kernels -d 'Loops to measure (comma-separated) [default: all]' -r -f -a "copy\t''
stream-copy\t''
stream-scale\t''
stream-add\t''
stream-triad\t''
random-read\t''
random-write\t''
random-update\t''
chase\t''"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -s t -l threads -d 'Threads of each CPU node that work at once' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l huge-pages -d 'Whether blocks lie in huge pages: as the kernel is set, asked for, or refused' -r -f -a "leave\t'As the kernel is set'
ask\t'Asked for'
refuse\t'Refused'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l repeats -d 'Observe each loop and pair of nodes this often' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -s p -l priority -d 'Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE], b, i' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -s c -l cpus -d 'CPUs to measure [default: all that are online and allowed; for deadline the first of them, for noise all others]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l dma-latency -d 'Idle states may take this long to leave; 0us as cyclictest does, or off [default: 0us for latencies, off for throughput]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l mlock -d 'Lock the memory of the process [default: on for latencies, off for throughput]' -r -f -a "on\t'Yes'
off\t'No'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l housekeeping -d 'CPUs of all that is not a measuring thread [default: those not measured, if there are any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l require -d 'Say whether this is met, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l burst -d 'How long a burst of misses may last, which no run can tell that saw none: requirements count time by it, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l load -d 'Loads beside the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this one]; another machine needs --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l ping-rate -d 'Requests a second that each ping load sends [default: as many as are answered]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l name -d 'Name of the run, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l note -d 'Remark kept with the run' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l tag -d 'Tag of the run, by which `compare` groups (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l metrics -d 'Answer http://ADDRESS/metrics in OpenMetrics while the run goes on, such as 127.0.0.1:9464; an address that other machines reach needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l metrics-token-file -d 'Answer only who has the token in this file [default: that in PUNCTUAL_TOKEN, if it is set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l tune -d 'Tune the machine with this profile, and put it back after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL], see `punctual kernel --help`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l isolate -d 'Move all else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l allow-console -d 'Let the load printk write to the kernel\'s log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l json -d 'Print the run record as JSON instead of the summary'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l engine -d 'How requests reach the kernel' -r -f -a "libaio\t''
io_uring\t''"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l rw -d 'Which requests, in fio\'s words' -r -f -a "read\t''
write\t''
randread\t''
randwrite\t''
randrw\t''"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l block-size -d 'Size of a request' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l depth -d 'Requests under way at once, of each thread' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -s t -l threads -d 'Threads of fio' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l size -d 'Size of the file' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l directory -d 'Where the file is made; it has no name, and is gone at any end' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l runtime -d 'How long each run of fio takes' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l repeats -d 'Run fio this often' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -s p -l priority -d 'Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE], b, i' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -s c -l cpus -d 'CPUs to measure [default: all that are online and allowed; for deadline the first of them, for noise all others]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l dma-latency -d 'Idle states may take this long to leave; 0us as cyclictest does, or off [default: 0us for latencies, off for throughput]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l mlock -d 'Lock the memory of the process [default: on for latencies, off for throughput]' -r -f -a "on\t'Yes'
off\t'No'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l housekeeping -d 'CPUs of all that is not a measuring thread [default: those not measured, if there are any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l require -d 'Say whether this is met, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l burst -d 'How long a burst of misses may last, which no run can tell that saw none: requirements count time by it, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l load -d 'Loads beside the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this one]; another machine needs --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l ping-rate -d 'Requests a second that each ping load sends [default: as many as are answered]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l name -d 'Name of the run, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l note -d 'Remark kept with the run' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l tag -d 'Tag of the run, by which `compare` groups (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l metrics -d 'Answer http://ADDRESS/metrics in OpenMetrics while the run goes on, such as 127.0.0.1:9464; an address that other machines reach needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l metrics-token-file -d 'Answer only who has the token in this file [default: that in PUNCTUAL_TOKEN, if it is set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l tune -d 'Tune the machine with this profile, and put it back after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL], see `punctual kernel --help`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l isolate -d 'Move all else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l buffered -d 'Go through the page cache; without it requests go to the device (O_DIRECT)'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l allow-console -d 'Let the load printk write to the kernel\'s log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l json -d 'Print the run record as JSON instead of the summary'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -s t -l threads -d 'Number of measuring threads' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l pin -d 'How threads are bound: each to one CPU of the set, all to the set, or none at all' -r -f -a "each\t''
set\t''
none\t''"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -s p -l priority -d 'Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE], b, i, d:RUNTIME:PERIOD' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l iteration -d 'Length of an undisturbed iteration; calibrated [default: 10ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l additions -d 'Additions in an iteration, instead of a length; Raju and Govindarajulu took 900000000' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l deadline -d 'Deadline of an iteration after its release: a time, and exit 3 if it is missed, or auto:FACTOR times an undisturbed iteration, whose misses are only counted' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -s i -l interval -d 'Time between the releases of a thread, which sleeps in between [default: each iteration follows the one before]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l duty -d 'The same by the part of the time that is worked: 80% of --iteration 800us is --interval 1ms; with --additions it follows the calibration' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -s D -l duration -d 'Measure for this time, after calibrating' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l statistics -d 'Keep this of the samples too: `psquare` estimates quantiles in constant memory, without a bound on the error, and takes several times as long as all other statistics (can be repeated)' -r -f -a "psquare\t'Quantiles after Jain and Chlamtac, beside those of the histogram'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -s c -l cpus -d 'CPUs to measure [default: all that are online and allowed; for deadline the first of them, for noise all others]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l dma-latency -d 'Idle states may take this long to leave; 0us as cyclictest does, or off [default: 0us for latencies, off for throughput]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l mlock -d 'Lock the memory of the process [default: on for latencies, off for throughput]' -r -f -a "on\t'Yes'
off\t'No'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l housekeeping -d 'CPUs of all that is not a measuring thread [default: those not measured, if there are any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l require -d 'Say whether this is met, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l burst -d 'How long a burst of misses may last, which no run can tell that saw none: requirements count time by it, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l load -d 'Loads beside the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this one]; another machine needs --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l ping-rate -d 'Requests a second that each ping load sends [default: as many as are answered]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l name -d 'Name of the run, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l note -d 'Remark kept with the run' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l tag -d 'Tag of the run, by which `compare` groups (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l metrics -d 'Answer http://ADDRESS/metrics in OpenMetrics while the run goes on, such as 127.0.0.1:9464; an address that other machines reach needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l metrics-token-file -d 'Answer only who has the token in this file [default: that in PUNCTUAL_TOKEN, if it is set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l tune -d 'Tune the machine with this profile, and put it back after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL], see `punctual kernel --help`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l isolate -d 'Move all else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l allow-console -d 'Let the load printk write to the kernel\'s log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l json -d 'Print the run record as JSON instead of the summary'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -s p -l priority -d 'Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE], b, i, d:RUNTIME:PERIOD' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l threshold -d 'What is longer between two readings of the counter is a gap' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l duty -d 'Part of each period that is watched [default: 100%, for real-time policies 75%, which their budget allows]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l period -d 'The period of which a part is watched' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -s D -l duration -d 'Measure for this time' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l statistics -d 'Keep this of the samples too: `psquare` estimates quantiles in constant memory, without a bound on the error, and takes several times as long as all other statistics (can be repeated)' -r -f -a "psquare\t'Quantiles after Jain and Chlamtac, beside those of the histogram'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -s c -l cpus -d 'CPUs to measure [default: all that are online and allowed; for deadline the first of them, for noise all others]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l dma-latency -d 'Idle states may take this long to leave; 0us as cyclictest does, or off [default: 0us for latencies, off for throughput]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l mlock -d 'Lock the memory of the process [default: on for latencies, off for throughput]' -r -f -a "on\t'Yes'
off\t'No'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l housekeeping -d 'CPUs of all that is not a measuring thread [default: those not measured, if there are any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l require -d 'Say whether this is met, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l burst -d 'How long a burst of misses may last, which no run can tell that saw none: requirements count time by it, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l load -d 'Loads beside the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this one]; another machine needs --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l ping-rate -d 'Requests a second that each ping load sends [default: as many as are answered]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l name -d 'Name of the run, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l note -d 'Remark kept with the run' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l tag -d 'Tag of the run, by which `compare` groups (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l metrics -d 'Answer http://ADDRESS/metrics in OpenMetrics while the run goes on, such as 127.0.0.1:9464; an address that other machines reach needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l metrics-token-file -d 'Answer only who has the token in this file [default: that in PUNCTUAL_TOKEN, if it is set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l tune -d 'Tune the machine with this profile, and put it back after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL], see `punctual kernel --help`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l isolate -d 'Move all else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l allow-console -d 'Let the load printk write to the kernel\'s log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l json -d 'Print the run record as JSON instead of the summary'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from help" -f -a "wakeup" -d 'Measure how late threads wake up that sleep to a deadline'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from help" -f -a "irq" -d 'Measure the timer\'s interrupt latency apart from the thread\'s: the phases of each wake-up'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from help" -f -a "ipc" -d 'Measure how long it takes to wake another thread: futex, pipe, eventfd, message queue, ...'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from help" -f -a "pi" -d 'Show priority inversion: how long an urgent thread waits for a lock, with and without a protocol'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from help" -f -a "release" -d 'Measure how exactly a thread can begin a cycle that spins the last stretch, and what that costs'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from help" -f -a "linpack" -d 'Measure how fast systems of linear equations are solved: GFLOPS against their size'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from help" -f -a "memory" -d 'Measure how fast memory is copied, streamed and reached, for every pair of CPU node and memory node'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from help" -f -a "io" -d 'Measure storage with fio: throughput, completion latency, and how far repeats differ'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from help" -f -a "deadline" -d 'Measure which iterations of a computing real-time thread miss their deadline, and who took the time'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from help" -f -a "noise" -d 'Measure the gaps in the time of a CPU that a busy loop sees, and what the kernel counts beside them'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand cyclictest" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand load" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this one]; another machine needs --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand load" -l ping-rate -d 'Requests a second that each ping load sends [default: as many as are answered]' -r
complete -c punctual -n "__fish_punctual_using_subcommand load" -s D -l duration -d 'Stop after this time [default: at Ctrl-C]' -r
complete -c punctual -n "__fish_punctual_using_subcommand load" -l cpus -d 'Number of CPUs that the loads are sized for [default: all that are allowed]' -r
complete -c punctual -n "__fish_punctual_using_subcommand load" -l report-to -d 'Report for a measurement, and end with the process that has this number' -r
complete -c punctual -n "__fish_punctual_using_subcommand load" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand load" -l allow-console -d 'Let the load printk write to the kernel\'s log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand load" -l json -d 'Print what the loads did as JSON when they end, and no rates before'
complete -c punctual -n "__fish_punctual_using_subcommand load" -s q -l quiet -d 'Print no rates, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand load" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand load" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand compare" -s g -l group -d 'A group with a name of its own (can be repeated); `tag=KEY=VALUE` is short for `KEY=VALUE=tag:KEY=VALUE`' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -s m -l metric -d 'Figures to compare, separated by commas [default: p50, p99, p99.9, max, and results that have a good direction]' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l equivalence -d 'Show that groups are the same within this change' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l not-worse -d 'Show that groups are not worse by this change, in the figures that have a bad direction' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l effect -d 'The smallest change that matters' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l difference -d 'The smallest difference that matters of a figure that is 0 in some run, in its unit: 0.1 of misses a second' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l require -d 'Require this of each group, and exit 3 unless it is shown (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l burst -d 'How long a burst of misses may last, which no run can tell that saw none: requirements count time by it, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l fail-on -d 'Exit 3 on such a verdict, 6 where a figure cannot be judged (also comma-separated)' -r -f -a "worse\t'A figure is worse'
different\t'A figure is better, worse or different'
not-equivalent\t'A figure is not shown to be the same within --equivalence'
may-be-worse\t'A figure is neither better nor shown to be not worse by --not-worse'
too-few-runs\t'There are too few runs to say'"
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l level -d 'Level of all tests together; intervals have the rest as their confidence' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l power -d 'Probability with which a change that matters shall be found' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l interval -d 'How intervals are made' -r -f -a "permutation\t'The effects that the test does not reject'
studentised\t'Studentised bootstrap over runs'
bca\t'Bias-corrected and accelerated bootstrap over runs'
hierarchical\t'Bootstrap over runs, then inside each run over blocks of its samples (of `measure --raw`), or over the interval that it recorded of the figure; the answer says which'
welch\t'Welch\'s t, or that of the blocks\' differences'"
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l seed -d 'Seed of the random arrangements' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l table -d 'Compare published means in place of runs: a CSV file with name, mean, standard_error, and n or deviation or deviation_percent' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l unit -d 'Unit of the published means' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l better -d 'Which direction of the published means is good' -r -f -a "lower\t'Less is better'
higher\t'More is better'"
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l allow-invalid -d 'Also compare runs of which a check did not pass'
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l unpaired -d 'Take runs as independent also where their tags name blocks'
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l json -d 'Print the comparison as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand compare" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and not __fish_seen_subcommand_from plan run resume status rm results sweep help" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and not __fish_seen_subcommand_from plan run resume status rm results sweep help" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and not __fish_seen_subcommand_from plan run resume status rm results sweep help" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and not __fish_seen_subcommand_from plan run resume status rm results sweep help" -f -a "plan" -d 'Show what a file means: the cells, the runs, their order, and how long they take'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and not __fish_seen_subcommand_from plan run resume status rm results sweep help" -f -a "run" -d 'Carry an experiment out from the beginning'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and not __fish_seen_subcommand_from plan run resume status rm results sweep help" -f -a "resume" -d 'Go on with an experiment that was stopped, killed, or cut off by a reboot'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and not __fish_seen_subcommand_from plan run resume status rm results sweep help" -f -a "status" -d 'Show how far experiments are'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and not __fish_seen_subcommand_from plan run resume status rm results sweep help" -f -a "rm" -d 'Remove experiments, so that their names are free; their runs stay in the store'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and not __fish_seen_subcommand_from plan run resume status rm results sweep help" -f -a "results" -d 'Show what the runs of an experiment say: answers, effects, and what there is to choose from'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and not __fish_seen_subcommand_from plan run resume status rm results sweep help" -f -a "sweep" -d 'Write the file of a common experiment: one knob over several values'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and not __fish_seen_subcommand_from plan run resume status rm results sweep help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from plan" -l seed -d 'Seed of the order [default: the file\'s, or one made of its text]' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from plan" -l parameter -d 'Value of a parameter of the file, as TOML writes it, or else as text (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from plan" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from plan" -l runs -d 'List every run in its order, not only the cells'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from plan" -l json -d 'Print the plan as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from plan" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from run" -l seed -d 'Seed of the order [default: the file\'s, or one made of its text]; recorded' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from run" -l parameter -d 'Value of a parameter of the file, as TOML writes it, or else as text (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from run" -l metrics -d 'Answer http://ADDRESS/metrics in OpenMetrics while the run goes on, such as 127.0.0.1:9464; an address that other machines reach needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from run" -l metrics-token-file -d 'Answer only who has the token in this file [default: that in PUNCTUAL_TOKEN, if it is set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from run" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from run" -l replan -d 'Go on with the experiment of that name as the file says now; its cells must be the same'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from run" -s y -l yes -d 'Do not ask, however long it takes'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from run" -s q -l quiet -d 'Show no progress'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from run" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from resume" -l metrics -d 'Answer http://ADDRESS/metrics in OpenMetrics while the run goes on, such as 127.0.0.1:9464; an address that other machines reach needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from resume" -l metrics-token-file -d 'Answer only who has the token in this file [default: that in PUNCTUAL_TOKEN, if it is set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from resume" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from resume" -s q -l quiet -d 'Show no progress'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from resume" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from resume" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from status" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from status" -l json -d 'Print as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from status" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from rm" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from rm" -l runs -d 'Remove their runs too'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from rm" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from rm" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -s m -l metric -d 'Figure in place of those of the file, separated by commas' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -l equivalence -d 'Show that cells are the same within this change' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -l not-worse -d 'Show that cells are not worse by this change, in the figures that have a bad direction' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -l effect -d 'The smallest change that matters' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -l level -d 'Level of all tests together [default: 5%, or the alpha of the file\'s sequential rule]' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -l require -d 'Require this of each cell, and exit 3 unless it is shown (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -l burst -d 'How long a burst of misses may last, which no run can tell that saw none: requirements count time by it, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -l fail-on -d 'Exit 3 on such a verdict, 6 where a figure cannot be judged (also comma-separated)' -r -f -a "worse\t'A figure is worse'
different\t'A figure is better, worse or different'
not-equivalent\t'A figure is not shown to be the same within --equivalence'
may-be-worse\t'A figure is neither better nor shown to be not worse by --not-worse'
too-few-runs\t'There are too few runs to say'"
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -l allow-invalid -d 'Also take runs of which a check did not pass'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -l json -d 'Print as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from sweep" -l knob -d 'The knob and its values, such as sched_rt_runtime_us=100000..1000000:100000 or a list' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from sweep" -l measure -d 'Instrument to measure with at each value' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from sweep" -l and -d 'A further instrument (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from sweep" -l blocks -d 'Passes over all values, each in an order of its own' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from sweep" -s D -l duration -d 'How long each run measures' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from sweep" -l compare -d 'Figure to compare, such as p99 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from sweep" -s o -l output -d 'File to write, which must not exist; `-` is standard output' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from sweep" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from sweep" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from sweep" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Show what a file means: the cells, the runs, their order, and how long they take'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from help" -f -a "run" -d 'Carry an experiment out from the beginning'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from help" -f -a "resume" -d 'Go on with an experiment that was stopped, killed, or cut off by a reboot'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from help" -f -a "status" -d 'Show how far experiments are'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from help" -f -a "rm" -d 'Remove experiments, so that their names are free; their runs stay in the store'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from help" -f -a "results" -d 'Show what the runs of an experiment say: answers, effects, and what there is to choose from'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from help" -f -a "sweep" -d 'Write the file of a common experiment: one knob over several values'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand study; and not __fish_seen_subcommand_from list show run report help" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand study; and not __fish_seen_subcommand_from list show run report help" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand study; and not __fish_seen_subcommand_from list show run report help" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand study; and not __fish_seen_subcommand_from list show run report help" -f -a "list" -d 'List the published experiments that can be carried out here'
complete -c punctual -n "__fish_punctual_using_subcommand study; and not __fish_seen_subcommand_from list show run report help" -f -a "show" -d 'Show what a study is: the work, its published figures, and what is done differently here'
complete -c punctual -n "__fish_punctual_using_subcommand study; and not __fish_seen_subcommand_from list show run report help" -f -a "run" -d 'Carry a study out, or go on with one that was stopped or killed, and report it'
complete -c punctual -n "__fish_punctual_using_subcommand study; and not __fish_seen_subcommand_from list show run report help" -f -a "report" -d 'Report what a study said here, beside what was published'
complete -c punctual -n "__fish_punctual_using_subcommand study; and not __fish_seen_subcommand_from list show run report help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from list" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from list" -l json -d 'Print as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from show" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from show" -l json -d 'Print as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from show" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -l budget -d 'As many blocks as fit into this time' -r
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -l target -d 'A kernel for studies that compare two, as `measure --target` takes it: first the stock kernel, then the RT kernel (twice) [default: two of one version that are found, as guests in virtual time]' -r
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -l kernels -d 'Directory with kernel images, of which a stock kernel and an RT kernel of one version are taken [default: target/kernels, /boot and the store]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -l parameter -d 'Value of a parameter of the study\'s experiments, over the scale\'s (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -s o -l output -d 'Where the page with the report goes, which must not exist [default: NAME.html in the store\'s `studies`, the one before replaced]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -l quick -d 'Less than a minute a study: shows that it works, and seldom more'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -l paper -d 'The parameters of the authors, which may take hours'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -l new -d 'Begin anew, also where one like this was begun and is not over'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -l force -d 'Overwrite it'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -l json -d 'Print the report as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -s q -l quiet -d 'Show no progress'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from report" -l number -d 'Which carrying out of it, from 1 [default: the latest]' -r
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from report" -l recorded -d 'Compare two sets of recorded runs, named as `compare` takes them, in place of the study\'s own: those of the stock kernel and those of the RT kernel' -r
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from report" -s o -l output -d 'Write it as an HTML page that needs nothing else to this file, which must not exist; `-` is standard output' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from report" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from report" -l force -d 'Overwrite it'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from report" -l json -d 'Print as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from report" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from report" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the published experiments that can be carried out here'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show what a study is: the work, its published figures, and what is done differently here'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from help" -f -a "run" -d 'Carry a study out, or go on with one that was stopped or killed, and report it'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from help" -f -a "report" -d 'Report what a study said here, beside what was published'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test initramfs install-once status fetch list rm patch config build rebase bisect help" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test initramfs install-once status fetch list rm patch config build rebase bisect help" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test initramfs install-once status fetch list rm patch config build rebase bisect help" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test initramfs install-once status fetch list rm patch config build rebase bisect help" -f -a "boot" -d 'Boot a kernel, see what it says of itself, and end it: a smoke test'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test initramfs install-once status fetch list rm patch config build rebase bisect help" -f -a "latency-test" -d 'Compare kernels and preemption models in virtual time: anywhere, the same result each time'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test initramfs install-once status fetch list rm patch config build rebase bisect help" -f -a "initramfs" -d 'Write the initial RAM file system that guests boot with, to boot it by other means'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test initramfs install-once status fetch list rm patch config build rebase bisect help" -f -a "install-once" -d 'Boot a kernel once on this machine, which falls back to its own by itself; or take that back'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test initramfs install-once status fetch list rm patch config build rebase bisect help" -f -a "status" -d 'Show whether a kernel is to boot once, came up, or fell back, and why'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test initramfs install-once status fetch list rm patch config build rebase bisect help" -f -a "fetch" -d 'Fetch a source or an image: a package (never installed), a tarball, a git repository, a directory'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test initramfs install-once status fetch list rm patch config build rebase bisect help" -f -a "list" -d 'List the sources, images and builds of the store'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test initramfs install-once status fetch list rm patch config build rebase bisect help" -f -a "rm" -d 'Remove sources, images and builds from the store'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test initramfs install-once status fetch list rm patch config build rebase bisect help" -f -a "patch" -d 'Put a patch series into a source: tried whole and in order first, then put in whole or not at all'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test initramfs install-once status fetch list rm patch config build rebase bisect help" -f -a "config" -d 'Make a configuration, and say which options the source did not honour and why'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test initramfs install-once status fetch list rm patch config build rebase bisect help" -f -a "build" -d 'Build a kernel out of its source; started again after a stop, it goes on'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test initramfs install-once status fetch list rm patch config build rebase bisect help" -f -a "rebase" -d 'Put a vendor\'s branch on a real-time branch, in a worktree beside the vendor\'s tree'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test initramfs install-once status fetch list rm patch config build rebase bisect help" -f -a "bisect" -d 'Find the commit that made something worse'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test initramfs install-once status fetch list rm patch config build rebase bisect help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -l machine -d 'What runs it' -r -f -a "auto\t'KVM where a trial boot with it succeeds, else QEMU\'s translator'
kvm\t'KVM'
tcg\t'QEMU\'s translator, by this machine\'s clock: no latencies'"
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -l append -d 'Further kernel arguments, such as preempt=full (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -l model -d 'Preemption model that it must be found to run [default: as preempt= asks, else any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -l cpus -d 'Number of CPUs' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -l memory -d 'Memory, in bytes or with K, M or G' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -l seed -d 'Seed of the machine\'s random numbers' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -l time-limit -d 'Give up after this time, by this machine\'s clock' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -l log -d 'File for the kernel\'s log, which must not exist' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -l fault -d 'Let the guest go wrong: panic, hang, restart, busy' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -l virtual-time -d 'Count instructions in place of time: one CPU, and the same result each time'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -l json -d 'Print what was found as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l baseline -d 'Kernel to compare with, by name or path: with the same model, or with MODEL after a colon' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l model -d 'Preemption models to test: none, voluntary, full, lazy, rt [default: all that the image has]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l load -d 'Loads, one after the other [default: printk:1000,fork,tmpfs] (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l seeds -d 'Seeds, one boot each' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l samples -d 'Samples beside each load' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -s i -l interval -d 'Time between the deadlines, virtual' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l append -d 'Further kernel arguments for all (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l tolerance -d 'How far bands must lie apart for a verdict, as a share of the baseline [default: at all]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l fail-on -d 'Exit 3 if a figure has this verdict, 6 if one cannot be judged: an invalid cell, fewer than 4 seeds' -r -f -a "worse\t'A figure is worse than the baseline\'s'"
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -s j -l jobs -d 'Guests at a time [default: one a CPU]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l time-limit -d 'Give a boot up after this time, by this machine\'s clock' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -s o -l output -d 'File for the result as JSON: the same bytes each time' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l junit -d 'File for the result as JUnit XML' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l idle -d 'Also without a load'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l json -d 'Print the result as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from initramfs" -s o -l output -d 'File to write, which must not exist' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from initramfs" -l file -d 'Also put FILE in, as PATH (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from initramfs" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from initramfs" -l whole -d 'Make all of this program /init, not only the agent that measures: a job with a disk needs it'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from initramfs" -l uncompressed -d 'Do not compress it'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from initramfs" -l force -d 'Overwrite the file'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from initramfs" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from initramfs" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l initrd -d 'Its initial RAM file system' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l modules -d 'Directory of its modules, which goes to /lib/modules/RELEASE [default: those of the .deb]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l append -d 'Further kernel arguments, behind those of the running kernel (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l panic-timeout -d 'Time after a panic until the candidate restarts the machine' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l watchdog -d 'Hardware watchdog that systemd starts on the candidate: a time, auto (60s where there is one), off' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l loader -d 'What starts the candidate' -r -f -a "auto\t'What starts the machine: GRUB or systemd-boot'
grub\t'GRUB: next_entry in its environment'
systemd-boot\t'systemd-boot: the firmware\'s variable LoaderEntryOneShot'
kexec\t'The running kernel, by kexec; no boot loader is touched'"
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l resume -d 'Experiment that goes on when the candidate is confirmed' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l state -d 'Directory of what undoes it, root\'s alone [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l make-initrd -d 'Have mkinitramfs make it'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l panic-when-stuck -d 'Let the candidate panic when it finds a lockup or a thread that waits for ever; costs it some latency'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l dry-run -d 'Only show what would be written'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l yes -d 'Do not ask'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l revert -d 'Take the candidate back: everything is as before'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l json -d 'Print the plan as JSON; nothing is written then'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from status" -l state -d 'Directory of what undoes it, root\'s alone [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from status" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from status" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from status" -l confirm -d 'Keep that this boot is the candidate\'s, if it is; then the experiment of --resume goes on'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from status" -l unit -d 'Print a systemd unit that confirms the candidate after it has booted; install it yourself'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from status" -l json -d 'Print as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from status" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from fetch" -l name -d 'Name in the store [default: from what is fetched]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from fetch" -l sha256 -d 'SHA-256 that the package or tarball must have' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from fetch" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from fetch" -l json -d 'Print what was fetched as JSON, in the form of `punctual kernel list`'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from fetch" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from fetch" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from list" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from list" -l json -d 'Print as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rm" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rm" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rm" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from patch" -l fuzz -d 'Let a hunk apply where so many lines of its context differ' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from patch" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from patch" -l dry-run -d 'Only try'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from patch" -l leave-out -d 'Leave out patches that do not apply, and put in the others'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from patch" -l json -d 'Print what became of each patch as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from patch" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from patch" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -l source -d 'The source: its name in the store, or a directory [default: the only one of the store]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -l model -d 'Preemption model [default: as the base has it]' -r -f -a "none\t''
voluntary\t''
full\t''
lazy\t''
rt\t''
dynamic\t''"
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -l base -d 'What to start from: running, tiny (the smallest for measuring in QEMU), defconfig, or a file' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -l with -d 'Switch on what a fragment has: `punctual kernel config --list` names them (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -l without -d 'Switch off what a fragment has (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -l fragment -d 'Lay a file with options over it (can be repeated)' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -l set -d 'Give an option a value, such as HZ_1000=y (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -s o -l output -d 'Write the configuration to FILE, which must not exist' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -l force -d 'Overwrite the file'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -l list -d 'List the fragments'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -l json -d 'Print what became of the options as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -f -a "check" -d 'Judge a configuration by the rules of `doctor` that rest on one'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -f -a "diff" -d 'List the options that differ between two configurations'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l name -d 'Name of the build [default: that of the source, and the model or base]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l model -d 'Preemption model [default: as the base has it]' -r -f -a "none\t''
voluntary\t''
full\t''
lazy\t''
rt\t''
dynamic\t''"
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l base -d 'What to start from: running, tiny (the smallest for measuring in QEMU), defconfig, or a file' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l with -d 'Switch on what a fragment has: `punctual kernel config --list` names them (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l without -d 'Switch off what a fragment has (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l fragment -d 'Lay a file with options over it (can be repeated)' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l set -d 'Give an option a value, such as HZ_1000=y (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l matrix -d 'Build for several models: none, voluntary and full are one build, which preempt= makes one of them at boot' -r -f -a "none\t''
voluntary\t''
full\t''
lazy\t''
rt\t''
dynamic\t''"
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -s j -l jobs -d 'How many compilers run at once [default: one for each CPU]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l build-test -d 'Test whether all of the source compiles, in place of a kernel that is meant to run: takes hours' -r -f -a "allyesconfig\t'Everything built in'
allmodconfig\t'Everything as modules'"
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l no-ccache -d 'Do not use ccache, which is used where it is installed'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l package -d 'Make Debian packages too (bindeb-pkg)'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l anyway -d 'Build also where options are not as asked'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l json -d 'Print what was built as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -l tree -d 'The vendor\'s repository, whose files and branches stay as they are: a directory, or a source of the store' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -l vendor -d 'The vendor\'s branch' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -l onto -d 'The branch to put it on' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -l base -d 'Where the vendor\'s work starts [default: where the two branches part]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -l branch -d 'Name of the new branch [default: punctual/VENDOR]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -l worktree -d 'Directory of the worktree, which must not be there [default: beside the kernels of the store]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -l continue -d 'Go on after conflicts were resolved in the worktree'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -l abort -d 'Give it up: the worktree and the new branch go'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -l status -d 'Say how far it is'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -l json -d 'Print as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from bisect" -l tree -d 'The repository, whose files stay as they are: a directory, or a source of the store' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from bisect" -l good -d 'A commit without the fault' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from bisect" -l bad -d 'A commit with it' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from bisect" -l oracle -d 'A shell command that judges the commit in its directory, by its exit status: 0 good, 1 to 127 bad, 125 cannot be judged, others end the bisection. $PUNCTUAL is this program, $PUNCTUAL_BISECT_COMMIT the commit' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from bisect" -l log -d 'File that the oracle\'s output is added to [default: kernels/bisect.log of the store]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from bisect" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from bisect" -l trust-ends -d 'Take it for granted that the good one is good and the bad one bad'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from bisect" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from bisect" -l json -d 'Print as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from bisect" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from bisect" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "boot" -d 'Boot a kernel, see what it says of itself, and end it: a smoke test'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "latency-test" -d 'Compare kernels and preemption models in virtual time: anywhere, the same result each time'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "initramfs" -d 'Write the initial RAM file system that guests boot with, to boot it by other means'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "install-once" -d 'Boot a kernel once on this machine, which falls back to its own by itself; or take that back'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "status" -d 'Show whether a kernel is to boot once, came up, or fell back, and why'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "fetch" -d 'Fetch a source or an image: a package (never installed), a tarball, a git repository, a directory'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the sources, images and builds of the store'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "rm" -d 'Remove sources, images and builds from the store'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "patch" -d 'Put a patch series into a source: tried whole and in order first, then put in whole or not at all'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "config" -d 'Make a configuration, and say which options the source did not honour and why'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "build" -d 'Build a kernel out of its source; started again after a stop, it goes on'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "rebase" -d 'Put a vendor\'s branch on a real-time branch, in a worktree beside the vendor\'s tree'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "bisect" -d 'Find the commit that made something worse'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -l state -d 'Directory of the journal, root\'s alone [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -f -a "plan" -d 'Show what a profile would change here; change nothing'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -f -a "apply" -d 'Change the settings; they stay until `punctual tune revert`, or for a time'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -f -a "run" -d 'Change the settings, run a command, put everything back, whatever the end'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -f -a "status" -d 'Show what is changed now'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -f -a "revert" -d 'Put everything back'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -f -a "knobs" -d 'List the settings that are known, with their values here'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -f -a "profiles" -d 'List the profiles that come with the program, or print one'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -f -a "trial" -d 'Measure what each knob of a profile buys here: latency and work with and without it'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -f -a "boot" -d 'The arguments that the kernel takes only when it boots: print, add, remove'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -f -a "keep" -d 'Keep watch over a session'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from plan" -l isolate -d 'Keep these CPUs for real-time work, and move all else to the others: profile isolate' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from plan" -s c -l cpus -d 'CPUs for real-time work, instead of the profile\'s' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from plan" -l set -d 'Set one more knob, such as vm.swappiness=10 or cpufreq.governor@2-3=performance (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from plan" -l only -d 'Only these knobs of the profile, such as irq or vm.* (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from plan" -l skip -d 'Not these knobs of the profile (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from plan" -l state -d 'Directory of the journal, root\'s alone [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from plan" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from plan" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from plan" -l explain -d 'Say of each knob what it decides, and what a change costs'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from plan" -l json -d 'Print the plan as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from plan" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -l isolate -d 'Keep these CPUs for real-time work, and move all else to the others: profile isolate' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -s c -l cpus -d 'CPUs for real-time work, instead of the profile\'s' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -l set -d 'Set one more knob, such as vm.swappiness=10 or cpufreq.governor@2-3=performance (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -l only -d 'Only these knobs of the profile, such as irq or vm.* (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -l skip -d 'Not these knobs of the profile (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -l for -d 'Revert by itself after this time, also when the terminal is gone' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -l state -d 'Directory of the journal, root\'s alone [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -l yes -d 'Do what is refused for safety\'s sake'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -l atomic -d 'All settings or none: when one cannot be had, put the others back'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -l dry-run -d 'Show the plan only, as `punctual tune plan` does'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -l json -d 'Print what was done as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from run" -l isolate -d 'Keep these CPUs for real-time work, and move all else to the others: profile isolate' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from run" -s c -l cpus -d 'CPUs for real-time work, instead of the profile\'s' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from run" -l set -d 'Set one more knob, such as vm.swappiness=10 or cpufreq.governor@2-3=performance (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from run" -l only -d 'Only these knobs of the profile, such as irq or vm.* (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from run" -l skip -d 'Not these knobs of the profile (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from run" -l state -d 'Directory of the journal, root\'s alone [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from run" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from run" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from run" -l yes -d 'Do what is refused for safety\'s sake'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from run" -l atomic -d 'All settings or none: when one cannot be had, put the others back'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from run" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from status" -l state -d 'Directory of the journal, root\'s alone [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from status" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from status" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from status" -l json -d 'Print it as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from status" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from revert" -l state -d 'Directory of the journal, root\'s alone [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from revert" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from revert" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from revert" -l json -d 'Print what was done as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from revert" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from revert" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from knobs" -l state -d 'Directory of the journal, root\'s alone [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from knobs" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from knobs" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from knobs" -l json -d 'Print them as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from knobs" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from knobs" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from profiles" -l state -d 'Directory of the journal, root\'s alone [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from profiles" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from profiles" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from profiles" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from profiles" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l isolate -d 'Keep these CPUs for real-time work, and move all else to the others: profile isolate' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -s c -l cpus -d 'CPUs for real-time work, instead of the profile\'s' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l set -d 'Set one more knob, such as vm.swappiness=10 or cpufreq.governor@2-3=performance (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l only -d 'Only these knobs of the profile, such as irq or vm.* (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l skip -d 'Not these knobs of the profile (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l blocks -d 'Try each knob so many times' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -s D -l duration -d 'Measure the latency for this time in each run, and work for half of it' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l effect -d 'The smallest change that matters: one that could not have been found gives "too few blocks"' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l measure -d 'CPUs to measure [default: those for real-time work, else all that are allowed]' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l load -d 'Loads beside the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this one]; another machine needs --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l ping-rate -d 'Requests a second that each ping load sends [default: as many as are answered]' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l seed -d 'Seed of the random order [default: another one each time]' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l state -d 'Directory of the journal, root\'s alone [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l allow-console -d 'Let the load printk write to the kernel\'s log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l yes -d 'Do what is refused for safety\'s sake'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l json -d 'Print the result as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from boot" -l state -d 'Directory of the journal, root\'s alone [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from boot" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from boot" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from boot" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from boot" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from boot" -f -a "plan" -d 'Show the arguments that a profile wants, which are missing, and which file would have them'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from boot" -f -a "apply" -d 'Give them to the boot loader, after asking; an existing entry is left as it is'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from boot" -f -a "revert" -d 'Take them away from the boot loader again'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from boot" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from keep" -l session -d 'The session' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from keep" -l for -d 'Revert after this time' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from keep" -l hold -d 'Hold this bound on the latency of idle states' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from keep" -l cpus -d 'CPUs to run on' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from keep" -l state -d 'Directory of the journal, root\'s alone [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from keep" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from keep" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from keep" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from keep" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Show what a profile would change here; change nothing'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "apply" -d 'Change the settings; they stay until `punctual tune revert`, or for a time'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "run" -d 'Change the settings, run a command, put everything back, whatever the end'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "status" -d 'Show what is changed now'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "revert" -d 'Put everything back'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "knobs" -d 'List the settings that are known, with their values here'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "profiles" -d 'List the profiles that come with the program, or print one'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "trial" -d 'Measure what each knob of a profile buys here: latency and work with and without it'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "boot" -d 'The arguments that the kernel takes only when it boots: print, add, remove'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "keep" -d 'Keep watch over a session'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand report" -s o -l output -d 'File to write, which must not exist; `-` is standard output [default for md: standard output]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand report" -s f -l format -d 'Form of the report' -r -f -a "html\t'One page that needs nothing else: no server, no network, no other file'
md\t'Markdown with tables, for mail and pull requests'"
complete -c punctual -n "__fish_punctual_using_subcommand report" -l svg -d 'Also write every chart as SVG into this directory, made if it does not exist' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand report" -l png -d 'Also write every chart as PNG into this directory, made if it does not exist' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand report" -l title -d 'Title of the report' -r
complete -c punctual -n "__fish_punctual_using_subcommand report" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand report" -l compare -d 'Take each WHAT as a group of runs and compare it with the first, as `punctual compare` does'
complete -c punctual -n "__fish_punctual_using_subcommand report" -l force -d 'Overwrite files'
complete -c punctual -n "__fish_punctual_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand report" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand serve" -l listen -d 'Address and port; one that other machines reach needs a token, and gets a new one where none is given' -r
complete -c punctual -n "__fish_punctual_using_subcommand serve" -l token-file -d 'Answer only who has the token in this file [default: that in PUNCTUAL_TOKEN, if it is set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand serve" -l host -d 'A name that this machine is asked by, beside its addresses and localhost (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand serve" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand serve" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand serve" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and not __fish_seen_subcommand_from list show export extrapolate import rm help" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand runs; and not __fish_seen_subcommand_from list show export extrapolate import rm help" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and not __fish_seen_subcommand_from list show export extrapolate import rm help" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and not __fish_seen_subcommand_from list show export extrapolate import rm help" -f -a "list" -d 'List the runs, newest first'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and not __fish_seen_subcommand_from list show export extrapolate import rm help" -f -a "show" -d 'Show one run with all its figures and checks'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and not __fish_seen_subcommand_from list show export extrapolate import rm help" -f -a "export" -d 'Write a run\'s samples, histograms or record in another format'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and not __fish_seen_subcommand_from list show export extrapolate import rm help" -f -a "extrapolate" -d 'Say what may lie beyond the largest sample of a run: advice, refused where it has no ground'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and not __fish_seen_subcommand_from list show export extrapolate import rm help" -f -a "import" -d 'Import what other tools wrote: cyclictest, rtla, oslat, jitterdebugger, rteval'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and not __fish_seen_subcommand_from list show export extrapolate import rm help" -f -a "rm" -d 'Remove runs'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and not __fish_seen_subcommand_from list show export extrapolate import rm help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from list" -l name -d 'Only runs of this name' -r
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from list" -l tag -d 'Only runs with this tag' -r
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from list" -l limit -d 'Only the newest N' -r
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from list" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from list" -l valid -d 'Only valid runs'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from list" -l invalid -d 'Only invalid runs'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from list" -l names -d 'Print only what `runs show` takes: names, ids and `last`, one a line'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from list" -l json -d 'Print as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from show" -l speed -d 'How much faster than it went on' -r
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from show" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from show" -l json -d 'Print the run record as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from show" -l live -d 'Show the run as it went on, from the progress that was stored, before its figures'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from show" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from export" -s f -l format -d 'Format of the output' -r -f -a "csv\t'Comma-separated values with a heading'
json\t'JSON'
hdr\t'`HdrHistogram` interval log, a tagged histogram a thread'
parquet\t'Parquet, samples only'
cyclictest-hist\t'The histogram text of cyclictest, a row a microsecond'
cyclictest-json\t'The JSON of cyclictest'
jitterdebugger\t'The `results.json` of jitterdebugger'
rteval\t'A `summary.xml` like rteval\'s'"
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from export" -l data -d 'What to export [default: the samples if they were stored, else the summary, results or histogram]' -r -f -a "samples\t'Every sample: thread, cpu, `t_ns`, `latency_ns`'
summary\t'The figures of each thread and of all together'
results\t'The results that are no latencies: a row a figure, with its interval and spread'
histogram\t'The histogram\'s buckets'
distribution\t'Density and cumulative distribution of each thread, kind of latency, and all together'
events\t'What the run said while it went on'
spikes\t'The latencies that an imported file lists with their times: thread, `t_ns`, `latency_ns`'"
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from export" -l bin -d 'Width of the bins of --data distribution [default: the histogram\'s own, a thousandth of the value]' -r
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from export" -s o -l output -d 'File to write, which must not exist; `-` is standard output' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from export" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from export" -l force -d 'Overwrite the file'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from export" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from extrapolate" -l horizon -d 'How far ahead to look' -r
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from extrapolate" -l confidence -d 'Confidence of the intervals' -r
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from extrapolate" -l seed -d 'Seed of the resamples' -r
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from extrapolate" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from extrapolate" -l json -d 'Print as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from extrapolate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from extrapolate" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from import" -s f -l format -d 'Format of the files [default: told from how they begin]' -r -f -a "cyclictest-text\t''
cyclictest-log\t''
cyclictest-hist\t''
cyclictest-json\t''
rtla-hist\t''
rtla-timerlat-top\t''
rtla-noise-top\t''
oslat-text\t''
oslat-json\t''
jitterdebugger-json\t''
jitterdebugger-raw\t''
rteval\t''"
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from import" -l unit -d 'Unit of the values, where the file does not state it [default: us]' -r
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from import" -l name -d 'Name of the runs, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from import" -l note -d 'Remark kept with the runs' -r
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from import" -l tag -d 'Tag of the runs, by which `compare` groups (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from import" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from import" -l json -d 'Print what became of each file as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from import" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from import" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from rm" -l home -d 'Directory of the store [default: that in PUNCTUAL_HOME, if it is set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from rm" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from rm" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the runs, newest first'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show one run with all its figures and checks'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from help" -f -a "export" -d 'Write a run\'s samples, histograms or record in another format'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from help" -f -a "extrapolate" -d 'Say what may lie beyond the largest sample of a run: advice, refused where it has no ground'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from help" -f -a "import" -d 'Import what other tools wrote: cyclictest, rtla, oslat, jitterdebugger, rteval'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from help" -f -a "rm" -d 'Remove runs'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure cyclictest load compare experiment study kernel tune report serve runs help" -f -a "assess" -d 'Assess this machine in about a minute: wake-up latency idle and under load, and what it allows'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure cyclictest load compare experiment study kernel tune report serve runs help" -f -a "doctor" -d 'Find what on this machine hurts determinism, with evidence, reason and fix'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure cyclictest load compare experiment study kernel tune report serve runs help" -f -a "measure" -d 'Measure with one instrument, record the run, print its summary'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure cyclictest load compare experiment study kernel tune report serve runs help" -f -a "cyclictest" -d 'Measure as cyclictest does: its options, its output, its exit statuses'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure cyclictest load compare experiment study kernel tune report serve runs help" -f -a "load" -d 'Run only the loads, until Ctrl-C or for a time'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure cyclictest load compare experiment study kernel tune report serve runs help" -f -a "compare" -d 'Compare groups of runs: better, worse, the same, not distinguishable, or too few runs to say'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure cyclictest load compare experiment study kernel tune report serve runs help" -f -a "experiment" -d 'Plan, carry out and resume experiments: cells in random order, in blocks'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure cyclictest load compare experiment study kernel tune report serve runs help" -f -a "study" -d 'Carry out published experiments here, and compare with what was published'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure cyclictest load compare experiment study kernel tune report serve runs help" -f -a "kernel" -d 'Boot other kernels in a virtual machine'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure cyclictest load compare experiment study kernel tune report serve runs help" -f -a "tune" -d 'Change the settings of this machine so that every change can be taken back'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure cyclictest load compare experiment study kernel tune report serve runs help" -f -a "report" -d 'Make a report of runs, comparisons and experiments: one page, pictures, or Markdown'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure cyclictest load compare experiment study kernel tune report serve runs help" -f -a "serve" -d 'Show the store in a browser: list, overlay and compare runs; nothing is written'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure cyclictest load compare experiment study kernel tune report serve runs help" -f -a "runs" -d 'List, show, import, export and remove recorded runs'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure cyclictest load compare experiment study kernel tune report serve runs help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from measure" -f -a "wakeup" -d 'Measure how late threads wake up that sleep to a deadline'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from measure" -f -a "irq" -d 'Measure the timer\'s interrupt latency apart from the thread\'s: the phases of each wake-up'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from measure" -f -a "ipc" -d 'Measure how long it takes to wake another thread: futex, pipe, eventfd, message queue, ...'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from measure" -f -a "pi" -d 'Show priority inversion: how long an urgent thread waits for a lock, with and without a protocol'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from measure" -f -a "release" -d 'Measure how exactly a thread can begin a cycle that spins the last stretch, and what that costs'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from measure" -f -a "linpack" -d 'Measure how fast systems of linear equations are solved: GFLOPS against their size'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from measure" -f -a "memory" -d 'Measure how fast memory is copied, streamed and reached, for every pair of CPU node and memory node'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from measure" -f -a "io" -d 'Measure storage with fio: throughput, completion latency, and how far repeats differ'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from measure" -f -a "deadline" -d 'Measure which iterations of a computing real-time thread miss their deadline, and who took the time'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from measure" -f -a "noise" -d 'Measure the gaps in the time of a CPU that a busy loop sees, and what the kernel counts beside them'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from experiment" -f -a "plan" -d 'Show what a file means: the cells, the runs, their order, and how long they take'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from experiment" -f -a "run" -d 'Carry an experiment out from the beginning'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from experiment" -f -a "resume" -d 'Go on with an experiment that was stopped, killed, or cut off by a reboot'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from experiment" -f -a "status" -d 'Show how far experiments are'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from experiment" -f -a "rm" -d 'Remove experiments, so that their names are free; their runs stay in the store'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from experiment" -f -a "results" -d 'Show what the runs of an experiment say: answers, effects, and what there is to choose from'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from experiment" -f -a "sweep" -d 'Write the file of a common experiment: one knob over several values'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from study" -f -a "list" -d 'List the published experiments that can be carried out here'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from study" -f -a "show" -d 'Show what a study is: the work, its published figures, and what is done differently here'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from study" -f -a "run" -d 'Carry a study out, or go on with one that was stopped or killed, and report it'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from study" -f -a "report" -d 'Report what a study said here, beside what was published'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "boot" -d 'Boot a kernel, see what it says of itself, and end it: a smoke test'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "latency-test" -d 'Compare kernels and preemption models in virtual time: anywhere, the same result each time'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "initramfs" -d 'Write the initial RAM file system that guests boot with, to boot it by other means'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "install-once" -d 'Boot a kernel once on this machine, which falls back to its own by itself; or take that back'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "status" -d 'Show whether a kernel is to boot once, came up, or fell back, and why'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "fetch" -d 'Fetch a source or an image: a package (never installed), a tarball, a git repository, a directory'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "list" -d 'List the sources, images and builds of the store'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "rm" -d 'Remove sources, images and builds from the store'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "patch" -d 'Put a patch series into a source: tried whole and in order first, then put in whole or not at all'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "config" -d 'Make a configuration, and say which options the source did not honour and why'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "build" -d 'Build a kernel out of its source; started again after a stop, it goes on'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "rebase" -d 'Put a vendor\'s branch on a real-time branch, in a worktree beside the vendor\'s tree'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "bisect" -d 'Find the commit that made something worse'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from tune" -f -a "plan" -d 'Show what a profile would change here; change nothing'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from tune" -f -a "apply" -d 'Change the settings; they stay until `punctual tune revert`, or for a time'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from tune" -f -a "run" -d 'Change the settings, run a command, put everything back, whatever the end'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from tune" -f -a "status" -d 'Show what is changed now'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from tune" -f -a "revert" -d 'Put everything back'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from tune" -f -a "knobs" -d 'List the settings that are known, with their values here'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from tune" -f -a "profiles" -d 'List the profiles that come with the program, or print one'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from tune" -f -a "trial" -d 'Measure what each knob of a profile buys here: latency and work with and without it'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from tune" -f -a "boot" -d 'The arguments that the kernel takes only when it boots: print, add, remove'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from tune" -f -a "keep" -d 'Keep watch over a session'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from runs" -f -a "list" -d 'List the runs, newest first'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from runs" -f -a "show" -d 'Show one run with all its figures and checks'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from runs" -f -a "export" -d 'Write a run\'s samples, histograms or record in another format'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from runs" -f -a "extrapolate" -d 'Say what may lie beyond the largest sample of a run: advice, refused where it has no ground'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from runs" -f -a "import" -d 'Import what other tools wrote: cyclictest, rtla, oslat, jitterdebugger, rteval'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from runs" -f -a "rm" -d 'Remove runs'

# The runs of the store, where one is wanted.
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from show export extrapolate rm" -a "(punctual runs list --names 2>/dev/null)" -d 'Run'
complete -c punctual -n "__fish_punctual_using_subcommand report" -a "(punctual runs list --names 2>/dev/null)" -d 'Run'
complete -c punctual -n "__fish_punctual_using_subcommand compare" -a "(punctual runs list --names 2>/dev/null)" -d 'Run'
