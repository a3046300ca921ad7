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

complete -c punctual -n "__fish_punctual_needs_command" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_needs_command" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_needs_command" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "assess" -d 'Assess this machine in about a minute: wake-up latency idle and under load, and a verdict'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "doctor" -d 'Find what hurts determinism on this machine, with evidence, reason and fix'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "measure" -d 'Measure with one instrument, record the run, print its summary'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "watch" -d 'Watch a program, unchanged: why are its cycles late, and who made them late?'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "explain" -d 'Name what made the late cycles of a run late: a run of `watch`, or one measured with --explain'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "cyclictest" -d 'Measure as cyclictest does: same options, output and exit statuses'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "load" -d 'Run only the loads, until Ctrl-C or for a set time'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "compare" -d 'Compare groups of runs: better, worse, the same, not distinguishable, or too few runs to tell'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "history" -d 'Find where figures changed over many runs: by run, commit, kernel or day'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "experiment" -d 'Plan, run and resume experiments: cells in random order, in blocks'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "study" -d 'Repeat published experiments here, and compare with the published results'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "fleet" -d 'Measure, assess, tune or experiment on many machines, by Ansible'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "tasks" -d 'Task sets: whether all deadlines are met, by analysis'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "kernel" -d 'Fetch, build, boot and compare kernels'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "tune" -d 'Change settings of this machine so that every change can be undone'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "report" -d 'Make a report of runs, comparisons and experiments: one page, pictures, or Markdown'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "serve" -d 'Show the store in a browser: list, overlay and compare runs; nothing is written'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "runs" -d 'List, show, import, export and remove recorded runs'
complete -c punctual -n "__fish_punctual_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand assess" -l deadline -d 'Judge this deadline, and exit 3 if it was missed [default: a table from 50us to 10ms] (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand assess" -l require -d 'Check this requirement, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown to hold (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand assess" -l burst -d 'Longest burst of misses to assume if no miss was seen; claims count bursts, not samples' -r
complete -c punctual -n "__fish_punctual_using_subcommand assess" -l load -d 'Measure under these loads, see `punctual load --help`; each use is a separate condition [default: the presets kernel and bridgers] (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand assess" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this machine]; other machines need --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand assess" -l ping-rate -d 'Requests a second of each ping load [default: as fast as replies come]' -r
complete -c punctual -n "__fish_punctual_using_subcommand assess" -s c -l cpus -d 'CPUs to measure [default: all online and allowed]' -r
complete -c punctual -n "__fish_punctual_using_subcommand assess" -s D -l duration -d 'Total time, divided equally between the conditions; the first is an idle machine' -r
complete -c punctual -n "__fish_punctual_using_subcommand assess" -l metrics -d 'Serve OpenMetrics at http://ADDRESS/metrics during the run, such as 127.0.0.1:9464; an address reachable from other machines needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand assess" -l metrics-token-file -d 'Require the token in this file [default: the one in PUNCTUAL_TOKEN, if set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand assess" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand assess" -l allow-console -d 'Allow the load printk to write to the kernel log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand assess" -l explain -d 'Record the kernel\'s events too, and name the causes of the latest samples of the worst condition; costs some µs a wake-up, needs root'
complete -c punctual -n "__fish_punctual_using_subcommand assess" -l json -d 'Print the assessment as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand assess" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand assess" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand assess" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand doctor" -s c -l cpus -d 'CPUs for real-time work [default: the isolated CPUs, or else all online]' -r
complete -c punctual -n "__fish_punctual_using_subcommand doctor" -l pid -d 'Judge how this process is set up for real-time work, instead of the machine' -r
complete -c punctual -n "__fish_punctual_using_subcommand doctor" -l comm -d 'The same for all processes of this name' -r
complete -c punctual -n "__fish_punctual_using_subcommand doctor" -l explain -d 'Explain one rule: why it matters, how to fix it, its source, and its result here' -r
complete -c punctual -n "__fish_punctual_using_subcommand doctor" -l fail-on -d 'Exit 3 if something of this severity or worse is found, 6 if a rule cannot be judged' -r -f -a "high\t''
medium\t''
low\t''
info\t''"
complete -c punctual -n "__fish_punctual_using_subcommand doctor" -l root -d 'Judge a captured machine, whose /proc, /sys, /boot and /dev are in DIR' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand doctor" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand doctor" -l all -d 'Also show what is fine, what is not applicable, and every file that could not be read'
complete -c punctual -n "__fish_punctual_using_subcommand doctor" -l json -d 'Print the diagnosis as JSON, with all rules'
complete -c punctual -n "__fish_punctual_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand doctor" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline tasks watch noise help" -l tune -d 'Tune the machine with this profile, and restore it after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline tasks watch noise help" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL] (see `punctual kernel --help`)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline tasks watch noise help" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline tasks watch noise help" -l isolate -d 'Move everything else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline tasks watch noise help" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline tasks watch noise help" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline tasks watch noise help" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline tasks watch noise help" -f -a "wakeup" -d 'Measure how late threads that sleep until a deadline wake up'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline tasks watch noise help" -f -a "irq" -d 'Measure timer interrupt latency and thread latency separately: the phases of each wake-up'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline tasks watch noise help" -f -a "ipc" -d 'Measure how long it takes to wake another thread: futex, pipe, eventfd, message queue, ...'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline tasks watch noise help" -f -a "pi" -d 'Show priority inversion: how long a high-priority thread waits for a lock, with and without a protocol'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline tasks watch noise help" -f -a "release" -d 'Measure how exactly a thread can start a cycle by sleeping, then spinning, and what that costs'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline tasks watch noise help" -f -a "linpack" -d 'Measure how fast systems of linear equations are solved: GFLOPS against their size'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline tasks watch noise help" -f -a "memory" -d 'Measure memory bandwidth and latency for every pair of CPU node and memory node'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline tasks watch noise help" -f -a "io" -d 'Measure storage with fio: throughput, completion latency, and how much repeats vary'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline tasks watch noise help" -f -a "deadline" -d 'Measure which iterations of a computing real-time thread miss their deadline, and what took the time'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline tasks watch noise help" -f -a "tasks" -d 'Run a task set: response times, missed deadlines, and which assumption broke where a bound did not hold'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline tasks watch noise help" -f -a "watch" -d 'Watch a program\'s own threads, unchanged: where the time of each cycle goes, and who made late ones late'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline tasks watch noise help" -f -a "noise" -d 'Measure the gaps that a busy loop sees on a CPU, and the kernel\'s counts of interrupts and switches'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and not __fish_seen_subcommand_from wakeup irq ipc pi release linpack memory io deadline tasks watch noise help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -s t -l threads -d 'Number of measuring threads [default: one for each CPU]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l pin -d 'How threads are bound: each to one CPU of the set, all to the whole set, or not at all' -r -f -a "each\t''
set\t''
none\t''"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -s i -l interval -d 'Time between the deadlines of a thread' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -s d -l distance -d 'Added to the interval of each further thread' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l timer -d 'Timer to sleep with; `relative` sleeps for a span of time, all others until a deadline' -r -f -a "nanosleep\t''
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
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l warm-up -d 'Leave the first TIME out of the figures; its samples are counted and shown' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l until -d 'Stop as soon as a figure is this precise, such as p99:2% or mean:0.005us@99% (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l on-threshold -d 'Stop at a sample above TIME, keep the samples around it, and exit 3' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l work -d 'Afterwards, fill and sum fresh memory on each measured CPU for this time, without loads, and record how much: what settings cost ordinary work' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l deadline -d 'Count the samples later than TIME exactly, and exit 3 if there are any (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l statistics -d 'Compute this statistic too: `psquare` estimates quantiles in constant memory, without an error bound, and costs several times as much as all other statistics (can be repeated)' -r -f -a "psquare\t'Quantiles after Jain and Chlamtac, in addition to those of the histogram'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -s p -l priority -d 'Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE] (ordinary, with the niceness of who starts it or this one), b, i, d:RUNTIME:PERIOD' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -s c -l cpus -d 'CPUs to measure [default: all online and allowed]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l dma-latency -d 'Maximum idle-state exit latency, such as 0us as in cyclictest, or off [default: 0us]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l mlock -d 'Lock the memory of the process [default: on]' -r -f -a "on\t'Yes'
off\t'No'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l housekeeping -d 'CPUs for everything but the measuring threads [default: those not measured, if any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l require -d 'Check this requirement, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown to hold (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l burst -d 'Longest burst of misses to assume if no miss was seen; requirements count bursts, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l load -d 'Loads to run during the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this machine]; other machines need --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l ping-rate -d 'Requests a second of each ping load [default: as fast as replies come]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l name -d 'Name of the run, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l note -d 'Remark kept with the run' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l tag -d 'Tag of the run, for grouping in `compare` (can be repeated; of one key the last value counts)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l metrics -d 'Serve OpenMetrics at http://ADDRESS/metrics during the run, such as 127.0.0.1:9464; an address reachable from other machines needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l metrics-token-file -d 'Require the token in this file [default: the one in PUNCTUAL_TOKEN, if set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l tune -d 'Tune the machine with this profile, and restore it after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL] (see `punctual kernel --help`)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l isolate -d 'Move everything else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l priority-spread -d 'Lower the priority by one from thread to thread'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l raw -d 'Store every sample, not only statistics'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l allow-console -d 'Allow the load printk to write to the kernel log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l explain -d 'Record the kernel\'s events too, and say who made the latest samples late; costs some µs a wake-up, needs root'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -l json -d 'Print the run record as JSON instead of the summary'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from wakeup" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l irq -d 'Measure these interrupts instead: handling time, soft interrupts, woken threads. A device, handler or number of /proc/interrupts, a kind of soft interrupt, or `all`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l buffer -d 'With --irq: trace buffer of each CPU in KiB, where the run says that the kernel lost records [default: 8192, less on machines with more than 32 CPUs]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l source -d 'Method: the timerlat tracer, or Punctual\'s own threads and trace events' -r -f -a "auto\t'The timerlat tracer if the kernel has it and it can do what is asked, else trace events'
timerlat\t'The kernel\'s timerlat tracer'
events\t'Punctual\'s own threads, and the kernel\'s trace events of their wake-ups'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -s i -l interval -d 'Time between the deadlines of a thread' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -s D -l duration -d 'Measure for this time, half of it without tracing' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l statistics -d 'Compute this statistic too: `psquare` estimates quantiles in constant memory, without an error bound, and costs several times as much as all other statistics (can be repeated)' -r -f -a "psquare\t'Quantiles after Jain and Chlamtac, in addition to those of the histogram'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -s p -l priority -d 'Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE] (ordinary, with the niceness of who starts it or this one), b, i, d:RUNTIME:PERIOD' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -s c -l cpus -d 'CPUs to measure [default: all online and allowed]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l dma-latency -d 'Maximum idle-state exit latency, such as 0us as in cyclictest, or off [default: 0us, off with --irq]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l mlock -d 'Lock the memory of the process [default: on, off with --irq]' -r -f -a "on\t'Yes'
off\t'No'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l housekeeping -d 'CPUs for everything but the measuring threads [default: those not measured, if any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l require -d 'Check this requirement, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown to hold (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l burst -d 'Longest burst of misses to assume if no miss was seen; requirements count bursts, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l load -d 'Loads to run during the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this machine]; other machines need --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l ping-rate -d 'Requests a second of each ping load [default: as fast as replies come]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l name -d 'Name of the run, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l note -d 'Remark kept with the run' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l tag -d 'Tag of the run, for grouping in `compare` (can be repeated; of one key the last value counts)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l metrics -d 'Serve OpenMetrics at http://ADDRESS/metrics during the run, such as 127.0.0.1:9464; an address reachable from other machines needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l metrics-token-file -d 'Require the token in this file [default: the one in PUNCTUAL_TOKEN, if set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l tune -d 'Tune the machine with this profile, and restore it after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL] (see `punctual kernel --help`)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l isolate -d 'Move everything else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l allow-console -d 'Allow the load printk to write to the kernel log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l explain -d 'Record the kernel\'s events too, and say who made the latest samples late; costs some µs a wake-up, needs root'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -l json -d 'Print the run record as JSON instead of the summary'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from irq" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l path -d 'Wake-up mechanisms, comma-separated' -r -f -a "futex\t''
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
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -s D -l duration -d 'Measure for this time, with all pairs taking turns' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l statistics -d 'Compute this statistic too: `psquare` estimates quantiles in constant memory, without an error bound, and costs several times as much as all other statistics (can be repeated)' -r -f -a "psquare\t'Quantiles after Jain and Chlamtac, in addition to those of the histogram'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -s p -l priority -d 'Policy of the receivers; FIFO and round-robin senders run one priority below' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -s c -l cpus -d 'CPUs to measure [default: the first two online and allowed]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l dma-latency -d 'Maximum idle-state exit latency, such as 0us as in cyclictest, or off [default: 0us]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l mlock -d 'Lock the memory of the process [default: on]' -r -f -a "on\t'Yes'
off\t'No'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l housekeeping -d 'CPUs for everything but the measuring threads [default: those not measured, if any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l require -d 'Check this requirement, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown to hold (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l burst -d 'Longest burst of misses to assume if no miss was seen; requirements count bursts, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l load -d 'Loads to run during the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this machine]; other machines need --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l ping-rate -d 'Requests a second of each ping load [default: as fast as replies come]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l name -d 'Name of the run, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l note -d 'Remark kept with the run' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l tag -d 'Tag of the run, for grouping in `compare` (can be repeated; of one key the last value counts)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l metrics -d 'Serve OpenMetrics at http://ADDRESS/metrics during the run, such as 127.0.0.1:9464; an address reachable from other machines needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l metrics-token-file -d 'Require the token in this file [default: the one in PUNCTUAL_TOKEN, if set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l tune -d 'Tune the machine with this profile, and restore it after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL] (see `punctual kernel --help`)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l isolate -d 'Move everything else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l allow-console -d 'Allow the load printk to write to the kernel log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l explain -d 'Record the kernel\'s events too, and say who made the latest samples late; costs some µs a wake-up, needs root'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -l json -d 'Print the run record as JSON instead of the summary'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from ipc" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l protocol -d 'Protocols of the lock, comma-separated [default: all]' -r -f -a "none\t''
inherit\t''
protect\t''"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -s i -l interval -d 'Time between the beginnings of cycles' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l hold -d 'How long the low-priority thread works while it holds the lock' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l spin -d 'How long the medium-priority thread works; half of it in every second cycle' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -s D -l duration -d 'Measure for this time' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l statistics -d 'Compute this statistic too: `psquare` estimates quantiles in constant memory, without an error bound, and costs several times as much as all other statistics (can be repeated)' -r -f -a "psquare\t'Quantiles after Jain and Chlamtac, in addition to those of the histogram'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -s p -l priority -d 'FIFO priority of the high-priority thread; the others have the two below: f:3 to f:99' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -s c -l cpus -d 'CPUs to measure [default: the first online and allowed]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l dma-latency -d 'Maximum idle-state exit latency, such as 0us as in cyclictest, or off [default: 0us]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l mlock -d 'Lock the memory of the process [default: on]' -r -f -a "on\t'Yes'
off\t'No'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l housekeeping -d 'CPUs for everything but the measuring threads [default: those not measured, if any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l require -d 'Check this requirement, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown to hold (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l burst -d 'Longest burst of misses to assume if no miss was seen; requirements count bursts, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l load -d 'Loads to run during the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this machine]; other machines need --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l ping-rate -d 'Requests a second of each ping load [default: as fast as replies come]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l name -d 'Name of the run, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l note -d 'Remark kept with the run' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l tag -d 'Tag of the run, for grouping in `compare` (can be repeated; of one key the last value counts)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l metrics -d 'Serve OpenMetrics at http://ADDRESS/metrics during the run, such as 127.0.0.1:9464; an address reachable from other machines needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l metrics-token-file -d 'Require the token in this file [default: the one in PUNCTUAL_TOKEN, if set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l tune -d 'Tune the machine with this profile, and restore it after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL] (see `punctual kernel --help`)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l isolate -d 'Move everything else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l allow-console -d 'Allow the load printk to write to the kernel log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l explain -d 'Record the kernel\'s events too, and say who made the latest samples late; costs some µs a wake-up, needs root'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -l json -d 'Print the run record as JSON instead of the summary'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from pi" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -s i -l interval -d 'Time between the deadlines of a thread' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l spin -d 'Wake up this long before a deadline, and spin until it' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -s D -l duration -d 'Measure for this time' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l statistics -d 'Compute this statistic too: `psquare` estimates quantiles in constant memory, without an error bound, and costs several times as much as all other statistics (can be repeated)' -r -f -a "psquare\t'Quantiles after Jain and Chlamtac, in addition to those of the histogram'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -s p -l priority -d 'Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE] (ordinary, with the niceness of who starts it or this one), b, i, d:RUNTIME:PERIOD' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -s c -l cpus -d 'CPUs to measure [default: all online and allowed]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l dma-latency -d 'Maximum idle-state exit latency, such as 0us as in cyclictest, or off [default: 0us]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l mlock -d 'Lock the memory of the process [default: on]' -r -f -a "on\t'Yes'
off\t'No'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l housekeeping -d 'CPUs for everything but the measuring threads [default: those not measured, if any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l require -d 'Check this requirement, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown to hold (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l burst -d 'Longest burst of misses to assume if no miss was seen; requirements count bursts, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l load -d 'Loads to run during the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this machine]; other machines need --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l ping-rate -d 'Requests a second of each ping load [default: as fast as replies come]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l name -d 'Name of the run, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l note -d 'Remark kept with the run' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l tag -d 'Tag of the run, for grouping in `compare` (can be repeated; of one key the last value counts)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l metrics -d 'Serve OpenMetrics at http://ADDRESS/metrics during the run, such as 127.0.0.1:9464; an address reachable from other machines needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l metrics-token-file -d 'Require the token in this file [default: the one in PUNCTUAL_TOKEN, if set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l tune -d 'Tune the machine with this profile, and restore it after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL] (see `punctual kernel --help`)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l isolate -d 'Move everything else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l allow-console -d 'Allow the load printk to write to the kernel log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l explain -d 'Record the kernel\'s events too, and say who made the latest samples late; costs some µs a wake-up, needs root'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -l json -d 'Print the run record as JSON instead of the summary'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from release" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l engine -d 'Solver: own, openblas[:PATH], mkl[:PATH], or command:PROGRAM that prints results in HPL\'s format' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l order -d 'Numbers of equations (comma-separated) [default: 1000,2000,4000; with a command, up to the command]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l repeats -d 'How often to solve each order, or run the command' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -s p -l priority -d 'Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE], b, i' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -s c -l cpus -d 'CPUs to measure [default: all online and allowed]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l dma-latency -d 'Maximum idle-state exit latency, such as 0us as in cyclictest, or off [default: off]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l mlock -d 'Lock the memory of the process [default: off]' -r -f -a "on\t'Yes'
off\t'No'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l housekeeping -d 'CPUs for everything but the measuring threads [default: those not measured, if any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l require -d 'Check this requirement, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown to hold (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l burst -d 'Longest burst of misses to assume if no miss was seen; requirements count bursts, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l load -d 'Loads to run during the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this machine]; other machines need --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l ping-rate -d 'Requests a second of each ping load [default: as fast as replies come]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l name -d 'Name of the run, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l note -d 'Remark kept with the run' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l tag -d 'Tag of the run, for grouping in `compare` (can be repeated; of one key the last value counts)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l metrics -d 'Serve OpenMetrics at http://ADDRESS/metrics during the run, such as 127.0.0.1:9464; an address reachable from other machines needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l metrics-token-file -d 'Require the token in this file [default: the one in PUNCTUAL_TOKEN, if set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l tune -d 'Tune the machine with this profile, and restore it after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL] (see `punctual kernel --help`)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l isolate -d 'Move everything else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l product -d 'Also measure the product of two matrices of the same order, in turns: the upper limit of any solver'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l allow-console -d 'Allow the load printk to write to the kernel log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from linpack" -l explain -d 'Record the kernel\'s events too, and say who made the latest samples late; costs some µs a wake-up, needs root'
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
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -s t -l threads -d 'Number of threads per CPU node' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l huge-pages -d 'Huge pages for the blocks: as the kernel is set, requested, or refused' -r -f -a "leave\t'As the kernel is set'
ask\t'Asked for'
refuse\t'Refused'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l repeats -d 'Number of observations of each loop and pair of nodes' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -s p -l priority -d 'Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE], b, i' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -s c -l cpus -d 'CPUs to measure [default: all online and allowed]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l dma-latency -d 'Maximum idle-state exit latency, such as 0us as in cyclictest, or off [default: off]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l mlock -d 'Lock the memory of the process [default: off]' -r -f -a "on\t'Yes'
off\t'No'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l housekeeping -d 'CPUs for everything but the measuring threads [default: those not measured, if any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l require -d 'Check this requirement, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown to hold (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l burst -d 'Longest burst of misses to assume if no miss was seen; requirements count bursts, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l load -d 'Loads to run during the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this machine]; other machines need --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l ping-rate -d 'Requests a second of each ping load [default: as fast as replies come]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l name -d 'Name of the run, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l note -d 'Remark kept with the run' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l tag -d 'Tag of the run, for grouping in `compare` (can be repeated; of one key the last value counts)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l metrics -d 'Serve OpenMetrics at http://ADDRESS/metrics during the run, such as 127.0.0.1:9464; an address reachable from other machines needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l metrics-token-file -d 'Require the token in this file [default: the one in PUNCTUAL_TOKEN, if set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l tune -d 'Tune the machine with this profile, and restore it after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL] (see `punctual kernel --help`)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l isolate -d 'Move everything else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l allow-console -d 'Allow the load printk to write to the kernel log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l explain -d 'Record the kernel\'s events too, and say who made the latest samples late; costs some µs a wake-up, needs root'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -l json -d 'Print the run record as JSON instead of the summary'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from memory" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l job -d 'A named access pattern, in place of the options that it sets; aio-stress: libaio, randwrite, 64K, 64 requests at once, one thread, one file' -r -f -a "aio-stress\t''"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l engine -d 'How requests reach the kernel' -r -f -a "libaio\t''
io_uring\t''"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l rw -d 'I/O pattern, in fio\'s terms' -r -f -a "read\t''
write\t''
randread\t''
randwrite\t''
randrw\t''"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l block-size -d 'Size of a request' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l depth -d 'Queue depth of each thread' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -s t -l threads -d 'Threads of fio' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l size -d 'Size of the file' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l directory -d 'Directory of the file, which is unnamed and disappears however the run ends' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l runtime -d 'Length of each run of fio' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l repeats -d 'Number of runs of fio' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -s p -l priority -d 'Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE], b, i' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -s c -l cpus -d 'CPUs to measure [default: all online and allowed]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l dma-latency -d 'Maximum idle-state exit latency, such as 0us as in cyclictest, or off [default: off]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l mlock -d 'Lock the memory of the process [default: off]' -r -f -a "on\t'Yes'
off\t'No'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l housekeeping -d 'CPUs for everything but the measuring threads [default: those not measured, if any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l require -d 'Check this requirement, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown to hold (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l burst -d 'Longest burst of misses to assume if no miss was seen; requirements count bursts, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l load -d 'Loads to run during the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this machine]; other machines need --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l ping-rate -d 'Requests a second of each ping load [default: as fast as replies come]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l name -d 'Name of the run, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l note -d 'Remark kept with the run' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l tag -d 'Tag of the run, for grouping in `compare` (can be repeated; of one key the last value counts)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l metrics -d 'Serve OpenMetrics at http://ADDRESS/metrics during the run, such as 127.0.0.1:9464; an address reachable from other machines needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l metrics-token-file -d 'Require the token in this file [default: the one in PUNCTUAL_TOKEN, if set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l tune -d 'Tune the machine with this profile, and restore it after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL] (see `punctual kernel --help`)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l isolate -d 'Move everything else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l buffered -d 'Use the page cache; otherwise requests bypass it (O_DIRECT)'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l allow-console -d 'Allow the load printk to write to the kernel log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l explain -d 'Record the kernel\'s events too, and say who made the latest samples late; costs some µs a wake-up, needs root'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -l json -d 'Print the run record as JSON instead of the summary'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from io" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -s t -l threads -d 'Number of measuring threads' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l pin -d 'How threads are bound: each to one CPU of the set, all to the whole set, or not at all' -r -f -a "each\t''
set\t''
none\t''"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l iteration -d 'Length of an undisturbed iteration; calibrated [default: 10ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l additions -d 'Additions in an iteration, instead of a length; Raju and Govindarajulu used 900000000' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l deadline -d 'Deadline of an iteration after its release: a time (exit 3 if missed), or auto:FACTOR times an undisturbed iteration (misses are only counted)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -s i -l interval -d 'Time between the releases of a thread, which sleeps in between [default: each iteration follows the one before]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l duty -d 'The interval as the share of time spent computing: 80% with --iteration 800us is --interval 1ms; with --additions it follows from the calibration' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -s D -l duration -d 'Measure for this time, after calibrating' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l statistics -d 'Compute this statistic too: `psquare` estimates quantiles in constant memory, without an error bound, and costs several times as much as all other statistics (can be repeated)' -r -f -a "psquare\t'Quantiles after Jain and Chlamtac, in addition to those of the histogram'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -s p -l priority -d 'Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE] (ordinary, with the niceness of who starts it or this one), b, i, d:RUNTIME:PERIOD' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -s c -l cpus -d 'CPUs to measure [default: one for each thread, from the first; all with --pin set]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l dma-latency -d 'Maximum idle-state exit latency, such as 0us as in cyclictest, or off [default: 0us]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l mlock -d 'Lock the memory of the process [default: on]' -r -f -a "on\t'Yes'
off\t'No'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l housekeeping -d 'CPUs for everything but the measuring threads [default: those not measured, if any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l require -d 'Check this requirement, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown to hold (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l burst -d 'Longest burst of misses to assume if no miss was seen; requirements count bursts, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l load -d 'Loads to run during the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this machine]; other machines need --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l ping-rate -d 'Requests a second of each ping load [default: as fast as replies come]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l name -d 'Name of the run, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l note -d 'Remark kept with the run' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l tag -d 'Tag of the run, for grouping in `compare` (can be repeated; of one key the last value counts)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l metrics -d 'Serve OpenMetrics at http://ADDRESS/metrics during the run, such as 127.0.0.1:9464; an address reachable from other machines needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l metrics-token-file -d 'Require the token in this file [default: the one in PUNCTUAL_TOKEN, if set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l tune -d 'Tune the machine with this profile, and restore it after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL] (see `punctual kernel --help`)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l isolate -d 'Move everything else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l allow-console -d 'Allow the load printk to write to the kernel log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l explain -d 'Record the kernel\'s events too, and say who made the latest samples late; costs some µs a wake-up, needs root'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -l json -d 'Print the run record as JSON instead of the summary'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from deadline" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l set-file -d 'Same as SET, for places that take only options, such as an experiment file' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l work -d 'Share of its execution time that each job computes; the rest is left for its wake-up and for interrupts, which count as execution' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l scale -d 'Multiply all execution times, runtimes and critical sections by this' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l overheads -d 'Take the overheads of the analysis from this run: the longest wake-up of `measure wakeup`, or of a program that was watched' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -s D -l duration -d 'Measure for this time' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l statistics -d 'Compute this statistic too: `psquare` estimates quantiles in constant memory, without an error bound, and costs several times as much as all other statistics (can be repeated)' -r -f -a "psquare\t'Quantiles after Jain and Chlamtac, in addition to those of the histogram'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l dma-latency -d 'Maximum idle-state exit latency, such as 0us as in cyclictest, or off [default: 0us]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l mlock -d 'Lock the memory of the process [default: on]' -r -f -a "on\t'Yes'
off\t'No'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l housekeeping -d 'CPUs for everything but the measuring threads [default: those not measured, if any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l require -d 'Check this requirement, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown to hold (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l burst -d 'Longest burst of misses to assume if no miss was seen; requirements count bursts, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l load -d 'Loads to run during the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this machine]; other machines need --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l ping-rate -d 'Requests a second of each ping load [default: as fast as replies come]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l name -d 'Name of the run, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l note -d 'Remark kept with the run' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l tag -d 'Tag of the run, for grouping in `compare` (can be repeated; of one key the last value counts)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l metrics -d 'Serve OpenMetrics at http://ADDRESS/metrics during the run, such as 127.0.0.1:9464; an address reachable from other machines needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l metrics-token-file -d 'Require the token in this file [default: the one in PUNCTUAL_TOKEN, if set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -s c -l cpus -d 'CPUs of all tasks, in place of those that the set names [default: all online and allowed]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l tune -d 'Tune the machine with this profile, and restore it after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL] (see `punctual kernel --help`)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l isolate -d 'Move everything else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l allow-console -d 'Allow the load printk to write to the kernel log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l explain -d 'Record the kernel\'s events too, and say who made the latest samples late; costs some µs a wake-up, needs root'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -l json -d 'Print the run record as JSON instead of the summary'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from tasks" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l pid -d 'Watch the threads of this process' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l comm -d 'Watch the threads of all processes of this name' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l threads -d 'Only threads with this number, or with this in their name (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l deadline -d 'A cycle that takes longer, from its release to its end, is late [default: its period]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l period -d 'Period of the threads that matter: of a thread that waits so, this wait ends a cycle [default: found from how it waits]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l cycle-at -d 'What ends a cycle: a system call in which the thread waits, such as clock_nanosleep, read or futex; or uprobe:[FILE:]SYMBOL, a function that the thread calls at the end of each cycle, before it waits or, if it is late, goes on without waiting [default: the wait that comes regularly]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -s D -l duration -d 'Watch for this time; a program that was started is asked to end then [default: until it ends]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l buffer -d 'Trace buffer of each CPU in KiB, where the run says that the kernel lost records [default: 8192, less on machines with more than 16 CPUs]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l stacks -d 'Where a thread is as it waits, faults or does what real-time code should avoid: off; the functions of the program, as far as frame pointers lead; or those of the kernel too, some 6 µs each with interrupts off' -r -f -a "off\t'None'
user\t'Those of the program'
all\t'Those of the program and of the kernel'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l statistics -d 'Compute this statistic too: `psquare` estimates quantiles in constant memory, without an error bound, and costs several times as much as all other statistics (can be repeated)' -r -f -a "psquare\t'Quantiles after Jain and Chlamtac, in addition to those of the histogram'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l dma-latency -d 'Maximum idle-state exit latency, such as 0us as in cyclictest, or off [default: off]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l mlock -d 'Lock the memory of the process [default: off]' -r -f -a "on\t'Yes'
off\t'No'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l housekeeping -d 'CPUs for everything but the measuring threads [default: those not measured, if any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l require -d 'Check this requirement, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown to hold (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l burst -d 'Longest burst of misses to assume if no miss was seen; requirements count bursts, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l load -d 'Loads to run during the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this machine]; other machines need --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l ping-rate -d 'Requests a second of each ping load [default: as fast as replies come]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l name -d 'Name of the run, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l note -d 'Remark kept with the run' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l tag -d 'Tag of the run, for grouping in `compare` (can be repeated; of one key the last value counts)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l metrics -d 'Serve OpenMetrics at http://ADDRESS/metrics during the run, such as 127.0.0.1:9464; an address reachable from other machines needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l metrics-token-file -d 'Require the token in this file [default: the one in PUNCTUAL_TOKEN, if set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -s c -l cpus -d 'CPUs on which the program runs, which are judged: it is not moved there [default: all online and allowed]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l tune -d 'Tune the machine with this profile, and restore it after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL] (see `punctual kernel --help`)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l isolate -d 'Move everything else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l raw -d 'Keep every cycle with its phases, in cycles.csv next to the run\'s record'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l allow-console -d 'Allow the load printk to write to the kernel log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l explain -d 'Record the kernel\'s events too, and say who made the latest samples late; costs some µs a wake-up, needs root'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -l json -d 'Print the run record as JSON instead of the summary'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from watch" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l threshold -d 'Shortest time between two reads of the counter that counts as a gap' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l duty -d 'Share of each period that is watched [default: 100%, for real-time policies 75%, which their budget allows]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l period -d 'Length of the period' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -s D -l duration -d 'Measure for this time' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l statistics -d 'Compute this statistic too: `psquare` estimates quantiles in constant memory, without an error bound, and costs several times as much as all other statistics (can be repeated)' -r -f -a "psquare\t'Quantiles after Jain and Chlamtac, in addition to those of the histogram'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -s p -l priority -d 'Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE] (ordinary, with the niceness of who starts it or this one), b, i, d:RUNTIME:PERIOD' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -s c -l cpus -d 'CPUs to measure [default: all online and allowed but the first]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l dma-latency -d 'Maximum idle-state exit latency, such as 0us as in cyclictest, or off [default: 0us]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l mlock -d 'Lock the memory of the process [default: on]' -r -f -a "on\t'Yes'
off\t'No'"
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l housekeeping -d 'CPUs for everything but the measuring threads [default: those not measured, if any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l require -d 'Check this requirement, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown to hold (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l burst -d 'Longest burst of misses to assume if no miss was seen; requirements count bursts, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l load -d 'Loads to run during the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this machine]; other machines need --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l ping-rate -d 'Requests a second of each ping load [default: as fast as replies come]' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l name -d 'Name of the run, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l note -d 'Remark kept with the run' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l tag -d 'Tag of the run, for grouping in `compare` (can be repeated; of one key the last value counts)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l metrics -d 'Serve OpenMetrics at http://ADDRESS/metrics during the run, such as 127.0.0.1:9464; an address reachable from other machines needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l metrics-token-file -d 'Require the token in this file [default: the one in PUNCTUAL_TOKEN, if set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l tune -d 'Tune the machine with this profile, and restore it after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL] (see `punctual kernel --help`)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l isolate -d 'Move everything else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l allow-console -d 'Allow the load printk to write to the kernel log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l explain -d 'Record the kernel\'s events too, and say who made the latest samples late; costs some µs a wake-up, needs root'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -l json -d 'Print the run record as JSON instead of the summary'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from noise" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from help" -f -a "wakeup" -d 'Measure how late threads that sleep until a deadline wake up'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from help" -f -a "irq" -d 'Measure timer interrupt latency and thread latency separately: the phases of each wake-up'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from help" -f -a "ipc" -d 'Measure how long it takes to wake another thread: futex, pipe, eventfd, message queue, ...'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from help" -f -a "pi" -d 'Show priority inversion: how long a high-priority thread waits for a lock, with and without a protocol'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from help" -f -a "release" -d 'Measure how exactly a thread can start a cycle by sleeping, then spinning, and what that costs'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from help" -f -a "linpack" -d 'Measure how fast systems of linear equations are solved: GFLOPS against their size'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from help" -f -a "memory" -d 'Measure memory bandwidth and latency for every pair of CPU node and memory node'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from help" -f -a "io" -d 'Measure storage with fio: throughput, completion latency, and how much repeats vary'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from help" -f -a "deadline" -d 'Measure which iterations of a computing real-time thread miss their deadline, and what took the time'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from help" -f -a "tasks" -d 'Run a task set: response times, missed deadlines, and which assumption broke where a bound did not hold'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from help" -f -a "watch" -d 'Watch a program\'s own threads, unchanged: where the time of each cycle goes, and who made late ones late'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from help" -f -a "noise" -d 'Measure the gaps that a busy loop sees on a CPU, and the kernel\'s counts of interrupts and switches'
complete -c punctual -n "__fish_punctual_using_subcommand measure; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l tune -d 'Tune the machine with this profile, and restore it after the measurement: see `punctual tune`' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l target -d 'Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL] (see `punctual kernel --help`)' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l set -d 'Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l isolate -d 'Move everything else off these CPUs, and measure them unless --cpus names others' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l pid -d 'Watch the threads of this process' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l comm -d 'Watch the threads of all processes of this name' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l threads -d 'Only threads with this number, or with this in their name (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l deadline -d 'A cycle that takes longer, from its release to its end, is late [default: its period]' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l period -d 'Period of the threads that matter: of a thread that waits so, this wait ends a cycle [default: found from how it waits]' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l cycle-at -d 'What ends a cycle: a system call in which the thread waits, such as clock_nanosleep, read or futex; or uprobe:[FILE:]SYMBOL, a function that the thread calls at the end of each cycle, before it waits or, if it is late, goes on without waiting [default: the wait that comes regularly]' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -s D -l duration -d 'Watch for this time; a program that was started is asked to end then [default: until it ends]' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l buffer -d 'Trace buffer of each CPU in KiB, where the run says that the kernel lost records [default: 8192, less on machines with more than 16 CPUs]' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l stacks -d 'Where a thread is as it waits, faults or does what real-time code should avoid: off; the functions of the program, as far as frame pointers lead; or those of the kernel too, some 6 µs each with interrupts off' -r -f -a "off\t'None'
user\t'Those of the program'
all\t'Those of the program and of the kernel'"
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l statistics -d 'Compute this statistic too: `psquare` estimates quantiles in constant memory, without an error bound, and costs several times as much as all other statistics (can be repeated)' -r -f -a "psquare\t'Quantiles after Jain and Chlamtac, in addition to those of the histogram'"
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l dma-latency -d 'Maximum idle-state exit latency, such as 0us as in cyclictest, or off [default: off]' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l mlock -d 'Lock the memory of the process [default: off]' -r -f -a "on\t'Yes'
off\t'No'"
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l housekeeping -d 'CPUs for everything but the measuring threads [default: those not measured, if any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l require -d 'Check this requirement, such as \'p99.99 <= 50us\' or \'no sample > 100us at 95%\', and exit 3 unless it is shown to hold (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l burst -d 'Longest burst of misses to assume if no miss was seen; requirements count bursts, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l load -d 'Loads to run during the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this machine]; other machines need --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l ping-rate -d 'Requests a second of each ping load [default: as fast as replies come]' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l name -d 'Name of the run, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l note -d 'Remark kept with the run' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l tag -d 'Tag of the run, for grouping in `compare` (can be repeated; of one key the last value counts)' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l metrics -d 'Serve OpenMetrics at http://ADDRESS/metrics during the run, such as 127.0.0.1:9464; an address reachable from other machines needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l metrics-token-file -d 'Require the token in this file [default: the one in PUNCTUAL_TOKEN, if set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand watch" -s c -l cpus -d 'CPUs on which the program runs, which are judged: it is not moved there [default: all online and allowed]' -r
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l raw -d 'Keep every cycle with its phases, in cycles.csv next to the run\'s record'
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l allow-console -d 'Allow the load printk to write to the kernel log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l explain -d 'Record the kernel\'s events too, and say who made the latest samples late; costs some µs a wake-up, needs root'
complete -c punctual -n "__fish_punctual_using_subcommand watch" -l json -d 'Print the run record as JSON instead of the summary'
complete -c punctual -n "__fish_punctual_using_subcommand watch" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand watch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand watch" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand explain" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand explain" -l json -d 'Print what was seen as JSON: the key `watched` of the run\'s record'
complete -c punctual -n "__fish_punctual_using_subcommand explain" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand explain" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand load" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this machine]; other machines need --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand load" -l ping-rate -d 'Requests a second of each ping load [default: as fast as replies come]' -r
complete -c punctual -n "__fish_punctual_using_subcommand load" -s D -l duration -d 'Stop after this time [default: at Ctrl-C]' -r
complete -c punctual -n "__fish_punctual_using_subcommand load" -l cpus -d 'Number of CPUs to size the loads for [default: all allowed]' -r
complete -c punctual -n "__fish_punctual_using_subcommand load" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand load" -l allow-console -d 'Allow the load printk to write to the kernel log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand load" -l json -d 'Print what the loads did as JSON at the end, and no rates'
complete -c punctual -n "__fish_punctual_using_subcommand load" -s q -l quiet -d 'Print no rates, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand load" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand load" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand compare" -s g -l group -d 'A named group (can be repeated); `tag=KEY=VALUE` is short for `KEY=VALUE=tag:KEY=VALUE`' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l by -d 'Compare machines with each other: the runs given, grouped by machine' -r -f -a "host\t'The machines, by their hostnames, inside groups of one hardware and kernel'"
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l earlier -d 'Earlier runs of the same machine, measured in the same way, which say how much runs vary: for groups of one or two runs (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -s m -l metric -d 'Figures to compare, separated by commas [default: p50, p99, p99.9, max, and results that have a good direction]' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l equivalence -d 'Test whether groups are the same within this change' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l not-worse -d 'Test whether groups are not worse by this change, in figures that have a bad direction' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l effect -d 'The smallest change that matters' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l difference -d 'The smallest difference that matters for a figure that is 0 in some run, in its unit: 0.1 of misses a second' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l require -d 'Require this of each group, and exit 3 unless it is shown to hold (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l burst -d 'Longest burst of misses to assume if no miss was seen; requirements count bursts, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l fail-on -d 'Exit 3 on this verdict, 6 if a figure cannot be judged (also comma-separated)' -r -f -a "worse\t'A figure is worse'
different\t'A figure is better, worse or different'
not-equivalent\t'A figure is not shown to be the same within --equivalence'
may-be-worse\t'A figure is neither better nor shown to be not worse by --not-worse'
too-few-runs\t'There are too few runs to say'"
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l level -d 'Significance level of all tests together; the confidence of intervals is 100% minus it' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l power -d 'Power: probability of finding a change that matters' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l interval -d 'How intervals are made' -r -f -a "permutation\t'All effects that the test does not reject'
hierarchical\t'Bootstrap over runs, then within each run over blocks of its samples (`measure wakeup --raw`) or over its recorded interval of the figure; the answer says which'"
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l seed -d 'Seed of the random arrangements' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l table -d 'Compare published means instead of runs: a CSV file with name, mean, standard_error, and n or deviation or deviation_percent' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l unit -d 'Unit of the published means' -r
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l better -d 'Which direction of the published means is good' -r -f -a "lower\t'Less is better'
higher\t'More is better'"
complete -c punctual -n "__fish_punctual_using_subcommand compare" -s o -l output -d 'With --by, also write a page with charts' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l allow-invalid -d 'Also compare runs that failed a check'
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l unpaired -d 'Treat runs as independent even if their tags name blocks'
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l force -d 'Overwrite the page'
complete -c punctual -n "__fish_punctual_using_subcommand compare" -l json -d 'Print the comparison as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand compare" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand history" -l by -d 'Locate a change between two runs, commits (tag `commit`), kernels, or days in UTC' -r -f -a "run\t''
commit\t''
kernel\t''
day\t''"
complete -c punctual -n "__fish_punctual_using_subcommand history" -s m -l metric -d 'Figures, separated by commas [default: p50, p99, p99.9, max, and results that have a good direction]' -r
complete -c punctual -n "__fish_punctual_using_subcommand history" -l ignore -d 'Keep runs in one series even if they differ in this fact, such as `machine` or `duration` (also comma-separated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand history" -l fail-on -d 'Exit 3 on this, 6 if a figure cannot be judged (also comma-separated)' -r -f -a "new-change\t'A change in the newest 10 runs, in any direction'
new-worse\t'A change for the worse in the newest 10 runs'"
complete -c punctual -n "__fish_punctual_using_subcommand history" -l level -d 'Probability of any wrong change in all series together' -r
complete -c punctual -n "__fish_punctual_using_subcommand history" -l seed -d 'Seed of the permutations' -r
complete -c punctual -n "__fish_punctual_using_subcommand history" -s o -l output -d 'Also write a page with the series as charts' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand history" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand history" -l allow-invalid -d 'Also take runs that failed a check'
complete -c punctual -n "__fish_punctual_using_subcommand history" -l force -d 'Overwrite the page'
complete -c punctual -n "__fish_punctual_using_subcommand history" -l json -d 'Print the history as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand history" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand history" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and not __fish_seen_subcommand_from plan run resume status rm results sweep help" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and not __fish_seen_subcommand_from plan run resume status rm results sweep help" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and not __fish_seen_subcommand_from plan run resume status rm results sweep help" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and not __fish_seen_subcommand_from plan run resume status rm results sweep help" -f -a "plan" -d 'Show the plan of a file: its cells, runs, their order, and how long they take'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and not __fish_seen_subcommand_from plan run resume status rm results sweep help" -f -a "run" -d 'Run an experiment from the beginning'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and not __fish_seen_subcommand_from plan run resume status rm results sweep help" -f -a "resume" -d 'Continue an experiment that was stopped, killed, or cut off by a reboot'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and not __fish_seen_subcommand_from plan run resume status rm results sweep help" -f -a "status" -d 'Show the progress of experiments'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and not __fish_seen_subcommand_from plan run resume status rm results sweep help" -f -a "rm" -d 'Remove experiments, so that their names are free; their runs stay in the store'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and not __fish_seen_subcommand_from plan run resume status rm results sweep help" -f -a "results" -d 'Show the results of an experiment: answers, effects, and best trade-offs'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and not __fish_seen_subcommand_from plan run resume status rm results sweep help" -f -a "sweep" -d 'Write an experiment file for a common case: one knob over several values'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and not __fish_seen_subcommand_from plan run resume status rm results sweep help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from plan" -l seed -d 'Seed of the order [default: the file\'s, or one derived from its text]' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from plan" -l parameter -d 'Value of a parameter of the file, as TOML or else as text (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from plan" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from plan" -l runs -d 'List every run in order, not only the cells'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from plan" -l json -d 'Print the plan as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from plan" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from run" -l seed -d 'Seed of the order [default: the file\'s, or one derived from its text]; recorded' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from run" -l parameter -d 'Value of a parameter of the file, as TOML or else as text (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from run" -l metrics -d 'Serve OpenMetrics at http://ADDRESS/metrics during the run, such as 127.0.0.1:9464; an address reachable from other machines needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from run" -l metrics-token-file -d 'Require the token in this file [default: the one in PUNCTUAL_TOKEN, if set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from run" -s j -l jobs -d 'Number of guests in virtual time at a time, which does not change any result [default: one per CPU]' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from run" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from run" -l replan -d 'Continue the experiment of that name with the edited file; its cells must be the same'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from run" -s y -l yes -d 'Do not ask, however long it takes'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from run" -s q -l quiet -d 'Show no progress'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from run" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from resume" -l metrics -d 'Serve OpenMetrics at http://ADDRESS/metrics during the run, such as 127.0.0.1:9464; an address reachable from other machines needs a token' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from resume" -l metrics-token-file -d 'Require the token in this file [default: the one in PUNCTUAL_TOKEN, if set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from resume" -s j -l jobs -d 'Number of guests in virtual time at a time, which does not change any result [default: one per CPU]' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from resume" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from resume" -s q -l quiet -d 'Show no progress'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from resume" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from resume" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from status" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from status" -l json -d 'Print as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from status" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from rm" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from rm" -l runs -d 'Remove their runs too'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from rm" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from rm" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -s m -l metric -d 'Figures instead of those of the file, separated by commas' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -l equivalence -d 'Test whether cells are the same within this change' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -l not-worse -d 'Test whether cells are not worse by this change, in figures that have a bad direction' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -l effect -d 'The smallest change that matters' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -l level -d 'Level of all tests together [default: 5%, or the alpha of the file\'s sequential rule]' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -l require -d 'Require this of each cell, and exit 3 unless it is shown to hold (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -l burst -d 'Longest burst of misses to assume if no miss was seen; requirements count bursts, not samples [default: 100ms]' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -l fail-on -d 'Exit 3 on this verdict, 6 if a figure cannot be judged (also comma-separated)' -r -f -a "worse\t'A figure is worse'
different\t'A figure is better, worse or different'
not-equivalent\t'A figure is not shown to be the same within --equivalence'
may-be-worse\t'A figure is neither better nor shown to be not worse by --not-worse'
too-few-runs\t'There are too few runs to say'"
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -l allow-invalid -d 'Also use runs that failed a check'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -l json -d 'Print as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from results" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from sweep" -l knob -d 'The knob and its values, such as kernel.sched_rt_runtime_us=100000..1000000:100000 or a list' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from sweep" -l measure -d 'Instrument to measure with at each value' -r -f -a "wakeup\t''
irq\t''
ipc\t''
pi\t''
release\t''
linpack\t''
memory\t''
io\t''
deadline\t''
tasks\t''
watch\t''
noise\t''"
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from sweep" -l and -d 'Another instrument (can be repeated)' -r -f -a "wakeup\t''
irq\t''
ipc\t''
pi\t''
release\t''
linpack\t''
memory\t''
io\t''
deadline\t''
tasks\t''
watch\t''
noise\t''"
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from sweep" -l blocks -d 'Passes over all values, each in its own order' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from sweep" -s D -l duration -d 'How long each run measures, of instruments that measure for a time' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from sweep" -l compare -d 'Figure to compare, such as p99 (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from sweep" -s o -l output -d 'File to write; - is standard output' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from sweep" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from sweep" -l force -d 'Overwrite the file'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from sweep" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from sweep" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Show the plan of a file: its cells, runs, their order, and how long they take'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from help" -f -a "run" -d 'Run an experiment from the beginning'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from help" -f -a "resume" -d 'Continue an experiment that was stopped, killed, or cut off by a reboot'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from help" -f -a "status" -d 'Show the progress of experiments'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from help" -f -a "rm" -d 'Remove experiments, so that their names are free; their runs stay in the store'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from help" -f -a "results" -d 'Show the results of an experiment: answers, effects, and best trade-offs'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from help" -f -a "sweep" -d 'Write an experiment file for a common case: one knob over several values'
complete -c punctual -n "__fish_punctual_using_subcommand experiment; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand study; and not __fish_seen_subcommand_from list show run report help" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand study; and not __fish_seen_subcommand_from list show run report help" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand study; and not __fish_seen_subcommand_from list show run report help" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand study; and not __fish_seen_subcommand_from list show run report help" -f -a "list" -d 'List the published experiments that can be repeated here'
complete -c punctual -n "__fish_punctual_using_subcommand study; and not __fish_seen_subcommand_from list show run report help" -f -a "show" -d 'Describe a study: the paper, its published figures, and what differs here'
complete -c punctual -n "__fish_punctual_using_subcommand study; and not __fish_seen_subcommand_from list show run report help" -f -a "run" -d 'Run a study, or continue one that was stopped or killed, and report it'
complete -c punctual -n "__fish_punctual_using_subcommand study; and not __fish_seen_subcommand_from list show run report help" -f -a "report" -d 'Report the results of a study here, side by side with the published ones'
complete -c punctual -n "__fish_punctual_using_subcommand study; and not __fish_seen_subcommand_from list show run report help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from list" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from list" -l json -d 'Print as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from show" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from show" -l json -d 'Print as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from show" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -l budget -d 'Run as many blocks as fit into this time' -r
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -l target -d 'Kernels for studies that compare two, in the form of `measure --target`: first the stock kernel, then the RT kernel (give it twice) [default: two of the same version, as guests in virtual time]' -r
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -l kernels -d 'Directory with images of a stock kernel and an RT kernel of the same version [default: target/kernels, /boot and the store]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -l build -d 'Build both kernels first, from a source with PREEMPT_RT: a package linux-source-VERSION, a directory or a source in the store. Same steps as `punctual kernel rt`; resumed by the same command [default SOURCE: linux-source-6.12]' -r
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -l parameter -d 'Value of a parameter of the study\'s experiments, instead of the scale\'s (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -s o -l output -d 'File for the report page, which must not exist [default: NAME.html in the store\'s `studies`, the one before replaced]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -s j -l jobs -d 'Number of guests in virtual time at a time, which does not change any result [default: one per CPU]' -r
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -l quick -d 'Less than a minute per study: shows that it works, rarely more'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -l paper -d 'Use the parameters of the authors, which may take hours'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -l new -d 'Start a new one even if an unfinished one exists'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -l force -d 'Overwrite it'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -l json -d 'Print the report as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -s q -l quiet -d 'Show no progress'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from run" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from report" -l number -d 'Which run of it, from 1 [default: the latest]' -r
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from report" -l recorded -d 'Compare two sets of recorded runs, named as for `compare`, instead of the study\'s own: those of the stock kernel and those of the RT kernel' -r
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from report" -s o -l output -d 'Write it as a self-contained HTML page to this file, which must not exist; `-` is standard output' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from report" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from report" -l force -d 'Overwrite it'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from report" -s a -l all -d 'Print every table and the method too'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from report" -l json -d 'Print as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from report" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from report" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the published experiments that can be repeated here'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from help" -f -a "show" -d 'Describe a study: the paper, its published figures, and what differs here'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from help" -f -a "run" -d 'Run a study, or continue one that was stopped or killed, and report it'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from help" -f -a "report" -d 'Report the results of a study here, side by side with the published ones'
complete -c punctual -n "__fish_punctual_using_subcommand study; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and not __fish_seen_subcommand_from measure assess doctor tune experiment collection help" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and not __fish_seen_subcommand_from measure assess doctor tune experiment collection help" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and not __fish_seen_subcommand_from measure assess doctor tune experiment collection help" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and not __fish_seen_subcommand_from measure assess doctor tune experiment collection help" -f -a "measure" -d 'Measure on each host; the runs come into the store here'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and not __fish_seen_subcommand_from measure assess doctor tune experiment collection help" -f -a "assess" -d 'Assess each host; the runs come into the store here'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and not __fish_seen_subcommand_from measure assess doctor tune experiment collection help" -f -a "doctor" -d 'Find what hurts determinism on each host'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and not __fish_seen_subcommand_from measure assess doctor tune experiment collection help" -f -a "tune" -d 'Apply, show or revert tuning on each host; the undo record stays there'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and not __fish_seen_subcommand_from measure assess doctor tune experiment collection help" -f -a "experiment" -d 'Run an experiment on each host; the runs come into the store here'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and not __fish_seen_subcommand_from measure assess doctor tune experiment collection help" -f -a "collection" -d 'Write out the Ansible collection behind these commands, for your own playbooks'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and not __fish_seen_subcommand_from measure assess doctor tune experiment collection help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from measure" -s i -l inventory -d 'Ansible inventory. It is code, as a playbook is: root accepts only a file that root or you own' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from measure" -l hosts -d 'Hosts and groups of the inventory, as a pattern of Ansible [default: all]' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from measure" -l forks -d 'Number of hosts to work on at the same time' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from measure" -l program -d 'Program to copy to hosts of its architecture [default: this program, for its own] (can be repeated)' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from measure" -l keep -d 'Keep the program on each host in this directory, so that it is copied only when it differs' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from measure" -l base -d 'Directory on the hosts for what is removed afterwards; it must allow programs [default: /tmp]' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from measure" -l file -d 'File that the command reads, copied to where it runs, such as that of an experiment (can be repeated)' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from measure" -l timeout -d 'Give up on a host whose command takes longer than this [default: never]' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from measure" -l limit -d 'Maximum size of a host\'s result' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from measure" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from measure" -s b -l become -d 'Run the command as root on the hosts, by sudo or what the inventory says'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from measure" -l serial -d 'Run the command on one host at a time [default: on as many as --forks]'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from measure" -l check -d 'Only check the hosts: architecture, free space, privilege'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from measure" -l installed -d 'Use the Punctual installed on each host, which must have this version'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from measure" -l json -d 'Print the result as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from measure" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from measure" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from measure" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from assess" -s i -l inventory -d 'Ansible inventory. It is code, as a playbook is: root accepts only a file that root or you own' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from assess" -l hosts -d 'Hosts and groups of the inventory, as a pattern of Ansible [default: all]' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from assess" -l forks -d 'Number of hosts to work on at the same time' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from assess" -l program -d 'Program to copy to hosts of its architecture [default: this program, for its own] (can be repeated)' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from assess" -l keep -d 'Keep the program on each host in this directory, so that it is copied only when it differs' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from assess" -l base -d 'Directory on the hosts for what is removed afterwards; it must allow programs [default: /tmp]' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from assess" -l file -d 'File that the command reads, copied to where it runs, such as that of an experiment (can be repeated)' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from assess" -l timeout -d 'Give up on a host whose command takes longer than this [default: never]' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from assess" -l limit -d 'Maximum size of a host\'s result' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from assess" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from assess" -s b -l become -d 'Run the command as root on the hosts, by sudo or what the inventory says'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from assess" -l serial -d 'Run the command on one host at a time [default: on as many as --forks]'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from assess" -l check -d 'Only check the hosts: architecture, free space, privilege'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from assess" -l installed -d 'Use the Punctual installed on each host, which must have this version'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from assess" -l json -d 'Print the result as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from assess" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from assess" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from assess" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from doctor" -s i -l inventory -d 'Ansible inventory. It is code, as a playbook is: root accepts only a file that root or you own' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from doctor" -l hosts -d 'Hosts and groups of the inventory, as a pattern of Ansible [default: all]' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from doctor" -l forks -d 'Number of hosts to work on at the same time' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from doctor" -l program -d 'Program to copy to hosts of its architecture [default: this program, for its own] (can be repeated)' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from doctor" -l keep -d 'Keep the program on each host in this directory, so that it is copied only when it differs' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from doctor" -l base -d 'Directory on the hosts for what is removed afterwards; it must allow programs [default: /tmp]' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from doctor" -l file -d 'File that the command reads, copied to where it runs, such as that of an experiment (can be repeated)' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from doctor" -l timeout -d 'Give up on a host whose command takes longer than this [default: never]' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from doctor" -l limit -d 'Maximum size of a host\'s result' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from doctor" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from doctor" -s b -l become -d 'Run the command as root on the hosts, by sudo or what the inventory says'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from doctor" -l serial -d 'Run the command on one host at a time [default: on as many as --forks]'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from doctor" -l check -d 'Only check the hosts: architecture, free space, privilege'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from doctor" -l installed -d 'Use the Punctual installed on each host, which must have this version'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from doctor" -l json -d 'Print the result as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from doctor" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from doctor" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from tune" -s i -l inventory -d 'Ansible inventory. It is code, as a playbook is: root accepts only a file that root or you own' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from tune" -l hosts -d 'Hosts and groups of the inventory, as a pattern of Ansible [default: all]' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from tune" -l forks -d 'Number of hosts to work on at the same time' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from tune" -l program -d 'Program to copy to hosts of its architecture [default: this program, for its own] (can be repeated)' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from tune" -l keep -d 'Keep the program on each host in this directory, so that it is copied only when it differs' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from tune" -l base -d 'Directory on the hosts for what is removed afterwards; it must allow programs [default: /tmp]' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from tune" -l file -d 'File that the command reads, copied to where it runs, such as that of an experiment (can be repeated)' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from tune" -l timeout -d 'Give up on a host whose command takes longer than this [default: never]' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from tune" -l limit -d 'Maximum size of a host\'s result' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from tune" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from tune" -s b -l become -d 'Run the command as root on the hosts, by sudo or what the inventory says'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from tune" -l serial -d 'Run the command on one host at a time [default: on as many as --forks]'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from tune" -l check -d 'Only check the hosts: architecture, free space, privilege'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from tune" -l installed -d 'Use the Punctual installed on each host, which must have this version'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from tune" -l json -d 'Print the result as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from tune" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from tune" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from tune" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from experiment" -s i -l inventory -d 'Ansible inventory. It is code, as a playbook is: root accepts only a file that root or you own' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from experiment" -l hosts -d 'Hosts and groups of the inventory, as a pattern of Ansible [default: all]' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from experiment" -l forks -d 'Number of hosts to work on at the same time' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from experiment" -l program -d 'Program to copy to hosts of its architecture [default: this program, for its own] (can be repeated)' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from experiment" -l keep -d 'Keep the program on each host in this directory, so that it is copied only when it differs' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from experiment" -l base -d 'Directory on the hosts for what is removed afterwards; it must allow programs [default: /tmp]' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from experiment" -l file -d 'File that the command reads, copied to where it runs, such as that of an experiment (can be repeated)' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from experiment" -l timeout -d 'Give up on a host whose command takes longer than this [default: never]' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from experiment" -l limit -d 'Maximum size of a host\'s result' -r
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from experiment" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from experiment" -s b -l become -d 'Run the command as root on the hosts, by sudo or what the inventory says'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from experiment" -l serial -d 'Run the command on one host at a time [default: on as many as --forks]'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from experiment" -l check -d 'Only check the hosts: architecture, free space, privilege'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from experiment" -l installed -d 'Use the Punctual installed on each host, which must have this version'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from experiment" -l json -d 'Print the result as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from experiment" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from experiment" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from experiment" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from collection" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from collection" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from collection" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "measure" -d 'Measure on each host; the runs come into the store here'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "assess" -d 'Assess each host; the runs come into the store here'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "doctor" -d 'Find what hurts determinism on each host'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "tune" -d 'Apply, show or revert tuning on each host; the undo record stays there'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "experiment" -d 'Run an experiment on each host; the runs come into the store here'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "collection" -d 'Write out the Ansible collection behind these commands, for your own playbooks'
complete -c punctual -n "__fish_punctual_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand tasks; and not __fish_seen_subcommand_from check new help" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tasks; and not __fish_seen_subcommand_from check new help" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tasks; and not __fish_seen_subcommand_from check new help" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tasks; and not __fish_seen_subcommand_from check new help" -f -a "check" -d 'Analyse a set: will all tasks meet their deadlines, with how much room, and what delays them?'
complete -c punctual -n "__fish_punctual_using_subcommand tasks; and not __fish_seen_subcommand_from check new help" -f -a "new" -d 'Write a set with the longest times that `watch` observed of a program\'s threads; they are no worst cases'
complete -c punctual -n "__fish_punctual_using_subcommand tasks; and not __fish_seen_subcommand_from check new help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand tasks; and __fish_seen_subcommand_from check" -s c -l cpus -d 'CPUs of tasks that name none [default: all online]' -r
complete -c punctual -n "__fish_punctual_using_subcommand tasks; and __fish_seen_subcommand_from check" -l overheads -d 'Take the overheads from this run: the longest wake-up of `measure wakeup`, or of a program that was watched' -r
complete -c punctual -n "__fish_punctual_using_subcommand tasks; and __fish_seen_subcommand_from check" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tasks; and __fish_seen_subcommand_from check" -l json -d 'Print the result as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand tasks; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tasks; and __fish_seen_subcommand_from check" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tasks; and __fish_seen_subcommand_from new" -l from -d 'The run of `watch`: an id (or at least 4 characters of its beginning or end), a name, or `last`' -r
complete -c punctual -n "__fish_punctual_using_subcommand tasks; and __fish_seen_subcommand_from new" -s o -l output -d 'File to write; - is standard output' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tasks; and __fish_seen_subcommand_from new" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tasks; and __fish_seen_subcommand_from new" -l force -d 'Overwrite the file'
complete -c punctual -n "__fish_punctual_using_subcommand tasks; and __fish_seen_subcommand_from new" -l json -d 'Print the set as JSON instead'
complete -c punctual -n "__fish_punctual_using_subcommand tasks; and __fish_seen_subcommand_from new" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tasks; and __fish_seen_subcommand_from new" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tasks; and __fish_seen_subcommand_from help" -f -a "check" -d 'Analyse a set: will all tasks meet their deadlines, with how much room, and what delays them?'
complete -c punctual -n "__fish_punctual_using_subcommand tasks; and __fish_seen_subcommand_from help" -f -a "new" -d 'Write a set with the longest times that `watch` observed of a program\'s threads; they are no worst cases'
complete -c punctual -n "__fish_punctual_using_subcommand tasks; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test rt initramfs install-once install installed uninstall status fetch list rm patch config build rebase bisect help" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test rt initramfs install-once install installed uninstall status fetch list rm patch config build rebase bisect help" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test rt initramfs install-once install installed uninstall status fetch list rm patch config build rebase bisect help" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test rt initramfs install-once install installed uninstall status fetch list rm patch config build rebase bisect help" -f -a "boot" -d 'Boot a kernel, check what it reports, and stop it: a smoke test'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test rt initramfs install-once install installed uninstall status fetch list rm patch config build rebase bisect help" -f -a "latency-test" -d 'Compare kernels and preemption models in virtual time: the same result every time, on any host'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test rt initramfs install-once install installed uninstall status fetch list rm patch config build rebase bisect help" -f -a "rt" -d 'From the source to the verdict: fetch, patch, configure, build, boot, and compare a stock and a real-time kernel'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test rt initramfs install-once install installed uninstall status fetch list rm patch config build rebase bisect help" -f -a "initramfs" -d 'Write the initial RAM file system of guests to a file, to boot it yourself'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test rt initramfs install-once install installed uninstall status fetch list rm patch config build rebase bisect help" -f -a "install-once" -d 'Boot a kernel once on this machine, which then falls back to its own by itself; or undo that'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test rt initramfs install-once install installed uninstall status fetch list rm patch config build rebase bisect help" -f -a "install" -d 'Install a kernel to stay, with modules, initial RAM file system and boot entry; the default entry stays'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test rt initramfs install-once install installed uninstall status fetch list rm patch config build rebase bisect help" -f -a "installed" -d 'List the kernels that were installed to stay'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test rt initramfs install-once install installed uninstall status fetch list rm patch config build rebase bisect help" -f -a "uninstall" -d 'Remove a kernel that was installed to stay, whole'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test rt initramfs install-once install installed uninstall status fetch list rm patch config build rebase bisect help" -f -a "status" -d 'Show whether a kernel will boot once, came up, or fell back, and why'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test rt initramfs install-once install installed uninstall status fetch list rm patch config build rebase bisect help" -f -a "fetch" -d 'Fetch a source or an image: a package (never installed), a tarball, a git repository, a directory'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test rt initramfs install-once install installed uninstall status fetch list rm patch config build rebase bisect help" -f -a "list" -d 'List the sources, images and builds of the store'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test rt initramfs install-once install installed uninstall status fetch list rm patch config build rebase bisect help" -f -a "rm" -d 'Remove sources, images and builds from the store'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test rt initramfs install-once install installed uninstall status fetch list rm patch config build rebase bisect help" -f -a "patch" -d 'Apply a patch series to a source: first tried as a whole, then applied completely or not at all'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test rt initramfs install-once install installed uninstall status fetch list rm patch config build rebase bisect help" -f -a "config" -d 'Make a configuration, and show which options the source did not honour and why'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test rt initramfs install-once install installed uninstall status fetch list rm patch config build rebase bisect help" -f -a "build" -d 'Build a kernel outside its source tree; an interrupted build continues when started again'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test rt initramfs install-once install installed uninstall status fetch list rm patch config build rebase bisect help" -f -a "rebase" -d 'Rebase a vendor\'s branch onto a real-time branch, in a separate worktree'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test rt initramfs install-once install installed uninstall status fetch list rm patch config build rebase bisect help" -f -a "bisect" -d 'Find the commit that made something worse'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and not __fish_seen_subcommand_from boot latency-test rt initramfs install-once install installed uninstall status fetch list rm patch config build rebase bisect help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -l machine -d 'KVM or emulation' -r -f -a "auto\t'KVM if a trial boot with it succeeds, else QEMU\'s emulator'
kvm\t'KVM'
tcg\t'QEMU\'s emulator, on this machine\'s clock: no valid latencies'"
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -l append -d 'Additional kernel arguments, such as preempt=full (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -l model -d 'Preemption model that must be active [default: the one in preempt=, else any]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -l cpus -d 'Number of CPUs' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -l memory -d 'Memory, in bytes or with K, M or G' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -l nodes -d 'Number of nodes among which CPUs and memory are divided: topology only, all memory is equally far' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -l seed -d 'Seed of the guest\'s random numbers' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -l time-limit -d 'Give up after this time, by this machine\'s clock' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -l log -d 'File for the kernel log, which must not exist' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -l virtual-time -d 'Count instructions instead of time: one CPU, and the same result every time'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -l json -d 'Print what was found as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from boot" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l baseline -d 'Baseline kernel, by name or path: with the same model, or with MODEL after a colon' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l model -d 'Preemption models to test: none, voluntary, full, lazy, rt [default: all of the image]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l load -d 'Loads, one after the other [default: printk:1000,fork,tmpfs; none with --idle] (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l seeds -d 'Number of seeds, one boot each' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l samples -d 'Samples under each load' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -s i -l interval -d 'Time between the deadlines, virtual' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l append -d 'Additional kernel arguments for all kernels (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l tolerance -d 'Minimum gap between bands for a verdict, as a share of the baseline [default: any gap]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l fail-on -d 'Exit 3 if a figure has this verdict, 6 if one cannot be judged (an invalid cell; with fewer than 4 seeds always)' -r -f -a "worse\t'A figure is worse than the baseline\'s'"
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -s j -l jobs -d 'Number of guests in virtual time at a time, which does not change any result [default: one per CPU]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l time-limit -d 'Give a boot up after this time, by this machine\'s clock' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l resume -d 'Continue the test of this name, which was stopped or killed; give the same options as before' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -s o -l output -d 'File for the result as JSON, the same bytes every time; a file that exists is replaced, once there is a result' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l junit -d 'File for the result as JUnit XML; a file that exists is replaced, once there is a result' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l idle -d 'Measure without a load too; without --load only that'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -l json -d 'Print the result as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from latency-test" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rt" -l source -d 'The source: a name in the store, or what `kernel fetch` takes; with --patch a directory is copied [default: the package linux-source-VERSION]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rt" -l sha256 -d 'SHA-256 that the package or tarball must have' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rt" -l patch -d 'Real-time patch for a source without PREEMPT_RT (before 6.12): a patch, a directory of patches, or a tarball of one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rt" -l fuzz -d 'Lines of context that may differ when a hunk is applied' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rt" -l name -d 'Name of this flow, its source and its builds in the store [default: rt-VERSION, with the architecture if --arch names another]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rt" -l stock -d 'Preemption model of the stock kernel: none, voluntary, full, lazy [default: voluntary; since Linux 7.0, which has only the last two, lazy]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rt" -l arch -d 'Architecture: x86_64 or arm64; one that is not this machine\'s takes a cross compiler [default: this machine\'s]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rt" -l base -d 'Base configuration: running, tiny (the smallest for measuring in QEMU), defconfig, or a file' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rt" -l with -d 'Enable a fragment; `punctual kernel config --list` lists them (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rt" -l without -d 'Disable a fragment (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rt" -l fragment -d 'Apply a file with options on top (can be repeated)' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rt" -l set -d 'Set an option, such as HZ_1000=y (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rt" -l load -d 'Loads to measure under, one after the other [default: printk:1000,fork,tmpfs] (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rt" -l seeds -d 'Number of seeds, one boot each' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rt" -l samples -d 'Samples under each load' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rt" -s j -l jobs -d 'Number of parallel compilers, and of guests [default: one per CPU]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rt" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rt" -l leave-out -d 'Skip patches that do not apply, and apply the others'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rt" -l anyway -d 'Build even if options differ from what was asked'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rt" -l no-ccache -d 'Do not use ccache even if it is installed'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rt" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rt" -l json -d 'Print what was done and found as JSON; the steps go to standard error'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rt" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rt" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from initramfs" -s o -l output -d 'File to write, which must not exist' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from initramfs" -l file -d 'Also include FILE as PATH (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from initramfs" -l arch -d 'For guests of another architecture: x86_64, arm64' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from initramfs" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from initramfs" -l whole -d 'Use the whole program as /init, not only the measuring agent: needed for a job with a disk'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from initramfs" -l uncompressed -d 'Do not compress it'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from initramfs" -l force -d 'Overwrite the file'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from initramfs" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from initramfs" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l initrd -d 'Its initial RAM file system' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l modules -d 'Directory of its modules, copied to /lib/modules/RELEASE [default: those of the .deb]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l append -d 'Additional kernel arguments, after those of the running kernel (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l panic-timeout -d 'Time after a panic until the candidate restarts the machine' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l watchdog -d 'Hardware watchdog that systemd starts on the candidate: a time, auto (60s where there is one), off' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l loader -d 'What starts the candidate' -r -f -a "auto\t'What starts the machine: GRUB or systemd-boot'
grub\t'GRUB: next_entry in its environment block'
systemd-boot\t'systemd-boot: the firmware\'s variable LoaderEntryOneShot'
kexec\t'The running kernel, by kexec; no boot loader is touched'"
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l resume -d 'Experiment to continue when the candidate is confirmed' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l state -d 'Directory of the undo record, owned by root [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l make-initrd -d 'Make it with mkinitramfs'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l panic-when-stuck -d 'Make the candidate panic on a lockup or a thread that waits forever; costs some latency'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l dry-run -d 'Only show what would be written'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l yes -d 'Do not ask'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l revert -d 'Remove the candidate and restore everything'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -l json -d 'Print the plan as JSON; nothing is written then'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install-once" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install" -l modules -d 'Directory of its modules, as modules_install makes it [default: those of the package]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install" -l config -d 'Its configuration [default: that of the package or build, or config-RELEASE next to the image]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install" -l system-map -d 'Its System.map [default: that of the package or build, or System.map-RELEASE next to the image]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install" -l initrd -d 'Its initial RAM file system [default: update-initramfs or dracut makes it]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install" -l state -d 'Directory of the undo record, owned by root [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install" -l root -d 'Work on the root file system of another machine, mounted in DIR with its /proc, /sys and /dev; its programs are run in it (chroot)' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install" -l no-initrd -d 'Install it without an initial RAM file system'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install" -l default -d 'Make it the kernel that the machine boots by default'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install" -l dry-run -d 'Only show what would be written'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install" -l yes -d 'Do not ask'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install" -l json -d 'Print the plan as JSON; nothing is written then'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from install" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from installed" -l state -d 'Directory of the undo record, owned by root [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from installed" -l root -d 'Work on the root file system of another machine, mounted in DIR with its /proc, /sys and /dev; its programs are run in it (chroot)' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from installed" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from installed" -l json -d 'Print as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from installed" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from installed" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from uninstall" -l state -d 'Directory of the undo record, owned by root [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from uninstall" -l root -d 'Work on the root file system of another machine, mounted in DIR with its /proc, /sys and /dev; its programs are run in it (chroot)' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from uninstall" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from uninstall" -l yes -d 'Do not ask'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from uninstall" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from uninstall" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from status" -l state -d 'Directory of the undo record, owned by root [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from status" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from status" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from status" -l confirm -d 'Record that this is the candidate\'s boot, if it is; then continue the experiment of --resume'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from status" -l unit -d 'Print a systemd unit that confirms the candidate after it has booted; install it yourself'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from status" -l json -d 'Print as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from status" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from fetch" -l name -d 'Name in the store [default: derived from the source]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from fetch" -l sha256 -d 'SHA-256 that the package or tarball must have' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from fetch" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from fetch" -l json -d 'Print what was fetched as JSON, in the form of `punctual kernel list`'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from fetch" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from fetch" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from list" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from list" -l json -d 'Print as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rm" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rm" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rm" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from patch" -l fuzz -d 'Lines of context that may differ when a hunk is applied' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from patch" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from patch" -l dry-run -d 'Only try'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from patch" -l leave-out -d 'Skip patches that do not apply, and apply the others'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from patch" -l json -d 'Print the result for each patch as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from patch" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from patch" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -l source -d 'The source: its name in the store, or a directory [default: the only one in the store]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -l arch -d 'Architecture: x86_64 or arm64; one that is not this machine\'s takes a cross compiler [default: this machine\'s]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -l model -d 'Preemption model [default: that of the base]' -r -f -a "none\t''
voluntary\t''
full\t''
lazy\t''
rt\t''
dynamic\t''"
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -l base -d 'Base configuration: running, tiny (the smallest for measuring in QEMU), defconfig, or a file' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -l with -d 'Enable a fragment; `punctual kernel config --list` lists them (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -l without -d 'Disable a fragment (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -l fragment -d 'Apply a file with options on top (can be repeated)' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -l set -d 'Set an option, such as HZ_1000=y (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -s o -l output -d 'Write the configuration to FILE, which must not exist' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -l force -d 'Overwrite the file'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -l list -d 'List the fragments'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -l json -d 'Print the result for each option as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -f -a "check" -d 'Judge a configuration by the rules of `doctor` that apply to it'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -f -a "diff" -d 'List the options that differ between two configurations'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from config" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l name -d 'Name of the build [default: that of the source, and the model or base]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l arch -d 'Architecture: x86_64 or arm64; one that is not this machine\'s takes a cross compiler [default: this machine\'s]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l model -d 'Preemption model [default: that of the base]' -r -f -a "none\t''
voluntary\t''
full\t''
lazy\t''
rt\t''
dynamic\t''"
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l base -d 'Base configuration: running, tiny (the smallest for measuring in QEMU), defconfig, or a file' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l with -d 'Enable a fragment; `punctual kernel config --list` lists them (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l without -d 'Disable a fragment (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l fragment -d 'Apply a file with options on top (can be repeated)' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l set -d 'Set an option, such as HZ_1000=y (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l matrix -d 'Build for several models: none, voluntary and full share a build, in which preempt= selects one at boot (since Linux 7.0 only full)' -r -f -a "none\t''
voluntary\t''
full\t''
lazy\t''
rt\t''
dynamic\t''"
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -s j -l jobs -d 'Number of parallel compilers [default: one per CPU]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l build-test -d 'Test whether the whole source compiles, instead of building a kernel to run: takes hours, estimated first' -r -f -a "allyesconfig\t'Everything built in'
allmodconfig\t'Everything as modules'"
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l only -d 'With --build-test: compile only this directory of the source, such as drivers/clocksource (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l no-ccache -d 'Do not use ccache even if it is installed'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l package -d 'Make Debian packages too (bindeb-pkg)'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l anyway -d 'Build even if options differ from what was asked'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -l json -d 'Print what was built as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from build" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -l tree -d 'The vendor\'s repository, whose files and branches stay as they are: a directory, or a source of the store' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -l vendor -d 'The vendor\'s branch' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -l onto -d 'The branch to rebase it onto' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -l base -d 'Where the vendor\'s work starts [default: where the two branches diverge]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -l branch -d 'Name of the new branch [default: punctual/VENDOR]' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -l worktree -d 'Directory of the worktree, which must be empty if it exists [default: next to the kernels in the store]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -l continue -d 'Continue after resolving conflicts in the worktree'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -l abort -d 'Give up: remove the worktree and the new branch'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -l status -d 'Show its progress'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -l json -d 'Print as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from rebase" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from bisect" -l tree -d 'The repository, whose files stay as they are: a directory, or a source of the store' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from bisect" -l good -d 'A commit without the fault' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from bisect" -l bad -d 'A commit with it' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from bisect" -l oracle -d 'A shell command that judges the commit in its directory, by its exit status: 0 good, 1 to 124 bad, 125 cannot be judged, others abort the bisection. $PUNCTUAL is this program, $PUNCTUAL_BISECT_COMMIT the commit' -r
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from bisect" -l log -d 'File to append the oracle\'s output to [default: kernels/bisect.log in the store]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from bisect" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from bisect" -l trust-ends -d 'Do not check first that the good commit is good and the bad one bad'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from bisect" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from bisect" -l json -d 'Print as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from bisect" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from bisect" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "boot" -d 'Boot a kernel, check what it reports, and stop it: a smoke test'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "latency-test" -d 'Compare kernels and preemption models in virtual time: the same result every time, on any host'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "rt" -d 'From the source to the verdict: fetch, patch, configure, build, boot, and compare a stock and a real-time kernel'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "initramfs" -d 'Write the initial RAM file system of guests to a file, to boot it yourself'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "install-once" -d 'Boot a kernel once on this machine, which then falls back to its own by itself; or undo that'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "install" -d 'Install a kernel to stay, with modules, initial RAM file system and boot entry; the default entry stays'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "installed" -d 'List the kernels that were installed to stay'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "uninstall" -d 'Remove a kernel that was installed to stay, whole'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "status" -d 'Show whether a kernel will boot once, came up, or fell back, and why'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "fetch" -d 'Fetch a source or an image: a package (never installed), a tarball, a git repository, a directory'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the sources, images and builds of the store'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "rm" -d 'Remove sources, images and builds from the store'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "patch" -d 'Apply a patch series to a source: first tried as a whole, then applied completely or not at all'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "config" -d 'Make a configuration, and show which options the source did not honour and why'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "build" -d 'Build a kernel outside its source tree; an interrupted build continues when started again'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "rebase" -d 'Rebase a vendor\'s branch onto a real-time branch, in a separate worktree'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "bisect" -d 'Find the commit that made something worse'
complete -c punctual -n "__fish_punctual_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -l state -d 'Directory of the journal, owned by root [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -f -a "plan" -d 'Show what a profile would change here, without changing it'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -f -a "apply" -d 'Change the settings; they stay until `punctual tune revert`, or for a time'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -f -a "run" -d 'Change the settings, run a command, and restore everything however it ends'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -f -a "status" -d 'Show what is currently changed'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -f -a "revert" -d 'Restore everything'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -f -a "knobs" -d 'List the known settings, with their values here'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -f -a "profiles" -d 'List the profiles that come with the program, or print one'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -f -a "trial" -d 'Measure what each knob of a profile buys here: latency and work with and without it'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -f -a "boot" -d 'Show, add or remove kernel arguments that take effect at boot'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -f -a "keep" -d 'Keep watch over a session'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and not __fish_seen_subcommand_from plan apply run status revert knobs profiles trial boot keep help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from plan" -l isolate -d 'Reserve these CPUs for real-time work and move everything else to the others: profile isolate' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from plan" -s c -l cpus -d 'CPUs for real-time work, instead of the profile\'s' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from plan" -l set -d 'Set one more knob, such as vm.swappiness=10 or cpufreq.governor@2-3=performance (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from plan" -l only -d 'Use only these knobs of the profile, such as irq or vm.* (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from plan" -l skip -d 'Skip these knobs of the profile (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from plan" -l state -d 'Directory of the journal, owned by root [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from plan" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from plan" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from plan" -l explain -d 'Explain what each knob does and what a change costs'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from plan" -l json -d 'Print the plan as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from plan" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -l isolate -d 'Reserve these CPUs for real-time work and move everything else to the others: profile isolate' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -s c -l cpus -d 'CPUs for real-time work, instead of the profile\'s' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -l set -d 'Set one more knob, such as vm.swappiness=10 or cpufreq.governor@2-3=performance (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -l only -d 'Use only these knobs of the profile, such as irq or vm.* (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -l skip -d 'Skip these knobs of the profile (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -l for -d 'Revert automatically after this time, even if the terminal is gone' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -l state -d 'Directory of the journal, owned by root [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -l yes -d 'Do what is refused for safety'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -l atomic -d 'All settings or none: if one fails, restore the others'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -l dry-run -d 'Show the plan only, as `punctual tune plan` does'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -l json -d 'Print what was done as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from apply" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from run" -l isolate -d 'Reserve these CPUs for real-time work and move everything else to the others: profile isolate' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from run" -s c -l cpus -d 'CPUs for real-time work, instead of the profile\'s' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from run" -l set -d 'Set one more knob, such as vm.swappiness=10 or cpufreq.governor@2-3=performance (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from run" -l only -d 'Use only these knobs of the profile, such as irq or vm.* (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from run" -l skip -d 'Skip these knobs of the profile (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from run" -l state -d 'Directory of the journal, owned by root [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from run" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from run" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from run" -l yes -d 'Do what is refused for safety'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from run" -l atomic -d 'All settings or none: if one fails, restore the others'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from run" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from status" -l state -d 'Directory of the journal, owned by root [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from status" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from status" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from status" -l json -d 'Print it as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from status" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from revert" -l state -d 'Directory of the journal, owned by root [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from revert" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from revert" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from revert" -l json -d 'Print what was done as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from revert" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from revert" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from knobs" -l state -d 'Directory of the journal, owned by root [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from knobs" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from knobs" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from knobs" -l json -d 'Print them as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from knobs" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from knobs" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from profiles" -l state -d 'Directory of the journal, owned by root [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from profiles" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from profiles" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from profiles" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from profiles" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l isolate -d 'Reserve these CPUs for real-time work and move everything else to the others: profile isolate' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -s c -l cpus -d 'CPUs for real-time work, instead of the profile\'s' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l set -d 'Set one more knob, such as vm.swappiness=10 or cpufreq.governor@2-3=performance (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l only -d 'Use only these knobs of the profile, such as irq or vm.* (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l skip -d 'Skip these knobs of the profile (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l blocks -d 'Number of blocks: each knob is tried once per block' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -s D -l duration -d 'Measure latency for this time in each run, and work for half of it' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l effect -d 'The smallest change that matters: one that could not have been found gives "too few blocks"' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l measure -d 'CPUs to measure [default: those for real-time work, else all allowed]' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l load -d 'Loads to run during the measurement, see `punctual load --help` (comma-separated, can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l ping-to -d 'Host that ping loads flood [default: 127.0.0.2, this machine]; other machines need --ping-rate' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l ping-rate -d 'Requests a second of each ping load [default: as fast as replies come]' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l seed -d 'Seed of the random order [default: a new one each time]' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l resume -d 'Continue the trial of this name, which was stopped or killed; give the same options as before' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l state -d 'Directory of the journal, owned by root [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l allow-console -d 'Allow the load printk to write to the kernel log and the consoles'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l yes -d 'Do what is refused for safety'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -l json -d 'Print the result as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -s q -l quiet -d 'Show no progress, only the result'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from trial" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from boot" -l state -d 'Directory of the journal, owned by root [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from boot" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from boot" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from boot" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from boot" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from boot" -f -a "plan" -d 'Show the arguments of a profile, which are missing, and which file they would go into'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from boot" -f -a "apply" -d 'Add them to the boot loader, after asking; existing entries are left alone'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from boot" -f -a "revert" -d 'Remove them from the boot loader'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from boot" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from keep" -l session -d 'The session' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from keep" -l for -d 'Revert after this time' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from keep" -l hold -d 'Hold this limit on idle-state exit latency' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from keep" -l cpus -d 'CPUs to run on' -r
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from keep" -l state -d 'Directory of the journal, owned by root [default: /var/lib/punctual/tune]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from keep" -l root -d 'Work on the files of a captured machine in DIR, not on this one' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from keep" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from keep" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from keep" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Show what a profile would change here, without changing it'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "apply" -d 'Change the settings; they stay until `punctual tune revert`, or for a time'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "run" -d 'Change the settings, run a command, and restore everything however it ends'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "status" -d 'Show what is currently changed'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "revert" -d 'Restore everything'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "knobs" -d 'List the known settings, with their values here'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "profiles" -d 'List the profiles that come with the program, or print one'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "trial" -d 'Measure what each knob of a profile buys here: latency and work with and without it'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "boot" -d 'Show, add or remove kernel arguments that take effect at boot'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "keep" -d 'Keep watch over a session'
complete -c punctual -n "__fish_punctual_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand report" -s o -l output -d 'File to write, which must not exist; `-` is standard output [default but for html: standard output]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand report" -s f -l format -d 'Form of the report' -r -f -a "html\t'One self-contained page: no server, no network, no other files'
md\t'Markdown with tables, for mail and pull requests'
junit\t'JUnit XML for CI systems: a case for each check, requirement, comparison, rule and host'
tap\t'The same cases as TAP version 13, as kselftest prints them'"
complete -c punctual -n "__fish_punctual_using_subcommand report" -l svg -d 'Also write every chart as SVG into this directory, made if it does not exist' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand report" -l png -d 'Also write every chart as PNG into this directory, made if it does not exist' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand report" -l title -d 'Title of the report' -r
complete -c punctual -n "__fish_punctual_using_subcommand report" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand report" -l compare -d 'Treat each WHAT as a group of runs and compare it with the first, as `punctual compare` does'
complete -c punctual -n "__fish_punctual_using_subcommand report" -l force -d 'Overwrite files'
complete -c punctual -n "__fish_punctual_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand report" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand serve" -l listen -d 'Address and port; one reachable from other machines needs a token, and gets a new one if none is given' -r
complete -c punctual -n "__fish_punctual_using_subcommand serve" -l token-file -d 'Require the token in this file [default: the one in PUNCTUAL_TOKEN, if set]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand serve" -l host -d 'A name by which clients reach this machine, besides its addresses and localhost (can be repeated)' -r
complete -c punctual -n "__fish_punctual_using_subcommand serve" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand serve" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand serve" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and not __fish_seen_subcommand_from list show export extrapolate import pack rm help" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand runs; and not __fish_seen_subcommand_from list show export extrapolate import pack rm help" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and not __fish_seen_subcommand_from list show export extrapolate import pack rm help" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and not __fish_seen_subcommand_from list show export extrapolate import pack rm help" -f -a "list" -d 'List the runs, newest first'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and not __fish_seen_subcommand_from list show export extrapolate import pack rm help" -f -a "show" -d 'Show one run with all its figures and checks'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and not __fish_seen_subcommand_from list show export extrapolate import pack rm help" -f -a "export" -d 'Write a run\'s samples, histograms or record in another format'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and not __fish_seen_subcommand_from list show export extrapolate import pack rm help" -f -a "extrapolate" -d 'Estimate what may lie beyond the largest sample of a run: advice only, refused if the data do not support it'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and not __fish_seen_subcommand_from list show export extrapolate import pack rm help" -f -a "import" -d 'Import what other tools wrote (cyclictest, rtla, oslat, jitterdebugger, rteval, latmus, Xenomai latency), or whole runs'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and not __fish_seen_subcommand_from list show export extrapolate import pack rm help" -f -a "pack" -d 'Write whole runs into one archive, which `runs import` takes into another store'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and not __fish_seen_subcommand_from list show export extrapolate import pack rm help" -f -a "rm" -d 'Remove runs'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and not __fish_seen_subcommand_from list show export extrapolate import pack rm help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from list" -l name -d 'Only runs of this name' -r
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from list" -l tag -d 'Only runs with this tag' -r
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from list" -l limit -d 'Only the newest N' -r
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from list" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from list" -l valid -d 'Only valid runs'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from list" -l invalid -d 'Only invalid runs'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from list" -l names -d 'Print only the names, ids and `last` that `runs show` accepts, one per line'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from list" -l json -d 'Print as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from show" -l speed -d 'Speed of the replay, as a multiple of real time' -r
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from show" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from show" -l json -d 'Print the run record as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from show" -l live -d 'Replay the run from its stored progress before its figures'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from show" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from export" -s f -l format -d 'Format of the output' -r -f -a "csv\t'Comma-separated values with a heading'
json\t'JSON'
hdr\t'`HdrHistogram` interval log, one tagged histogram per thread'
parquet\t'Parquet, samples only'
cyclictest-hist\t'The histogram text of cyclictest, one row per microsecond'
cyclictest-json\t'The JSON of cyclictest'
jitterdebugger\t'The `results.json` of jitterdebugger'
rteval\t'A `summary.xml` in rteval\'s format'
perfetto\t'Trace Event JSON for ui.perfetto.dev: the longest cycles that `watch` saw, and who had the CPUs'"
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from export" -l data -d 'What to export [default: the samples if they were stored, else the summary, results or histogram]' -r -f -a "samples\t'Every sample: thread, cpu, `t_ns`, `latency_ns`'
summary\t'The figures of each thread and of all together'
results\t'Results other than latencies: one row per figure, with its interval and spread'
histogram\t'The histogram\'s buckets'
distribution\t'Density and cumulative distribution of each thread, kind of latency, and all together'
events\t'The events of the run'
spikes\t'Latencies that an imported file lists with their times: thread, `t_ns`, `latency_ns`'
cycles\t'The longest cycles of a watched program'"
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from export" -l bin -d 'Width of the bins of --data distribution [default: the histogram\'s own, a thousandth of the value]' -r
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from export" -s o -l output -d 'File to write, which must not exist; `-` is standard output' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from export" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from export" -l force -d 'Overwrite the file'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from export" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from extrapolate" -l horizon -d 'How far ahead to look' -r
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from extrapolate" -l confidence -d 'Confidence of the intervals' -r
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from extrapolate" -l seed -d 'Seed of the resamples' -r
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from extrapolate" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from extrapolate" -l json -d 'Print as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from extrapolate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from extrapolate" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from import" -s f -l format -d 'Format of the files [default: detected]' -r -f -a "cyclictest-text\t''
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
rteval\t''
phoronix\t''
latmus\t''
xenomai-latency\t''"
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from import" -l unit -d 'Unit of the values, where the file does not state it [default: us]' -r
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from import" -l name -d 'Name of the runs, for `punctual runs`' -r
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from import" -l note -d 'Remark kept with the runs' -r
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from import" -l tag -d 'Tag of the runs, for grouping in `compare` (can be repeated; of one key the last value counts)' -r
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from import" -l date-from -d 'Where to take the start of a run from if the file does not state it in full: the first of these that has a date (comma-separated)' -r -f -a "content\t'A date that the file states without a time zone, as rteval does; taken as UTC'
name\t'A date in the name of the file, or of a directory that it is in: 2024-05-17, 20240517T0310'
mtime\t'The modification time of the file'"
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from import" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from import" -l json -d 'Print the result for each file as JSON'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from import" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from pack" -s o -l output -d 'File to write, which must not exist; `-` is standard output' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from pack" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from pack" -l force -d 'Overwrite the file'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from pack" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from pack" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from rm" -l home -d 'Directory of the store [default: PUNCTUAL_HOME if set, else ~/.local/share/punctual, for root /var/lib/punctual]' -r -F
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from rm" -s h -l help -d 'Print help'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from rm" -s V -l version -d 'Print version'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the runs, newest first'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show one run with all its figures and checks'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from help" -f -a "export" -d 'Write a run\'s samples, histograms or record in another format'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from help" -f -a "extrapolate" -d 'Estimate what may lie beyond the largest sample of a run: advice only, refused if the data do not support it'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from help" -f -a "import" -d 'Import what other tools wrote (cyclictest, rtla, oslat, jitterdebugger, rteval, latmus, Xenomai latency), or whole runs'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from help" -f -a "pack" -d 'Write whole runs into one archive, which `runs import` takes into another store'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from help" -f -a "rm" -d 'Remove runs'
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure watch explain cyclictest load compare history experiment study fleet tasks kernel tune report serve runs help" -f -a "assess" -d 'Assess this machine in about a minute: wake-up latency idle and under load, and a verdict'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure watch explain cyclictest load compare history experiment study fleet tasks kernel tune report serve runs help" -f -a "doctor" -d 'Find what hurts determinism on this machine, with evidence, reason and fix'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure watch explain cyclictest load compare history experiment study fleet tasks kernel tune report serve runs help" -f -a "measure" -d 'Measure with one instrument, record the run, print its summary'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure watch explain cyclictest load compare history experiment study fleet tasks kernel tune report serve runs help" -f -a "watch" -d 'Watch a program, unchanged: why are its cycles late, and who made them late?'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure watch explain cyclictest load compare history experiment study fleet tasks kernel tune report serve runs help" -f -a "explain" -d 'Name what made the late cycles of a run late: a run of `watch`, or one measured with --explain'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure watch explain cyclictest load compare history experiment study fleet tasks kernel tune report serve runs help" -f -a "cyclictest" -d 'Measure as cyclictest does: same options, output and exit statuses'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure watch explain cyclictest load compare history experiment study fleet tasks kernel tune report serve runs help" -f -a "load" -d 'Run only the loads, until Ctrl-C or for a set time'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure watch explain cyclictest load compare history experiment study fleet tasks kernel tune report serve runs help" -f -a "compare" -d 'Compare groups of runs: better, worse, the same, not distinguishable, or too few runs to tell'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure watch explain cyclictest load compare history experiment study fleet tasks kernel tune report serve runs help" -f -a "history" -d 'Find where figures changed over many runs: by run, commit, kernel or day'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure watch explain cyclictest load compare history experiment study fleet tasks kernel tune report serve runs help" -f -a "experiment" -d 'Plan, run and resume experiments: cells in random order, in blocks'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure watch explain cyclictest load compare history experiment study fleet tasks kernel tune report serve runs help" -f -a "study" -d 'Repeat published experiments here, and compare with the published results'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure watch explain cyclictest load compare history experiment study fleet tasks kernel tune report serve runs help" -f -a "fleet" -d 'Measure, assess, tune or experiment on many machines, by Ansible'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure watch explain cyclictest load compare history experiment study fleet tasks kernel tune report serve runs help" -f -a "tasks" -d 'Task sets: whether all deadlines are met, by analysis'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure watch explain cyclictest load compare history experiment study fleet tasks kernel tune report serve runs help" -f -a "kernel" -d 'Fetch, build, boot and compare kernels'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure watch explain cyclictest load compare history experiment study fleet tasks kernel tune report serve runs help" -f -a "tune" -d 'Change settings of this machine so that every change can be undone'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure watch explain cyclictest load compare history experiment study fleet tasks kernel tune report serve runs help" -f -a "report" -d 'Make a report of runs, comparisons and experiments: one page, pictures, or Markdown'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure watch explain cyclictest load compare history experiment study fleet tasks kernel tune report serve runs help" -f -a "serve" -d 'Show the store in a browser: list, overlay and compare runs; nothing is written'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure watch explain cyclictest load compare history experiment study fleet tasks kernel tune report serve runs help" -f -a "runs" -d 'List, show, import, export and remove recorded runs'
complete -c punctual -n "__fish_punctual_using_subcommand help; and not __fish_seen_subcommand_from assess doctor measure watch explain cyclictest load compare history experiment study fleet tasks kernel tune report serve runs help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from measure" -f -a "wakeup" -d 'Measure how late threads that sleep until a deadline wake up'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from measure" -f -a "irq" -d 'Measure timer interrupt latency and thread latency separately: the phases of each wake-up'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from measure" -f -a "ipc" -d 'Measure how long it takes to wake another thread: futex, pipe, eventfd, message queue, ...'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from measure" -f -a "pi" -d 'Show priority inversion: how long a high-priority thread waits for a lock, with and without a protocol'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from measure" -f -a "release" -d 'Measure how exactly a thread can start a cycle by sleeping, then spinning, and what that costs'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from measure" -f -a "linpack" -d 'Measure how fast systems of linear equations are solved: GFLOPS against their size'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from measure" -f -a "memory" -d 'Measure memory bandwidth and latency for every pair of CPU node and memory node'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from measure" -f -a "io" -d 'Measure storage with fio: throughput, completion latency, and how much repeats vary'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from measure" -f -a "deadline" -d 'Measure which iterations of a computing real-time thread miss their deadline, and what took the time'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from measure" -f -a "tasks" -d 'Run a task set: response times, missed deadlines, and which assumption broke where a bound did not hold'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from measure" -f -a "watch" -d 'Watch a program\'s own threads, unchanged: where the time of each cycle goes, and who made late ones late'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from measure" -f -a "noise" -d 'Measure the gaps that a busy loop sees on a CPU, and the kernel\'s counts of interrupts and switches'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from experiment" -f -a "plan" -d 'Show the plan of a file: its cells, runs, their order, and how long they take'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from experiment" -f -a "run" -d 'Run an experiment from the beginning'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from experiment" -f -a "resume" -d 'Continue an experiment that was stopped, killed, or cut off by a reboot'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from experiment" -f -a "status" -d 'Show the progress of experiments'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from experiment" -f -a "rm" -d 'Remove experiments, so that their names are free; their runs stay in the store'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from experiment" -f -a "results" -d 'Show the results of an experiment: answers, effects, and best trade-offs'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from experiment" -f -a "sweep" -d 'Write an experiment file for a common case: one knob over several values'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from study" -f -a "list" -d 'List the published experiments that can be repeated here'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from study" -f -a "show" -d 'Describe a study: the paper, its published figures, and what differs here'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from study" -f -a "run" -d 'Run a study, or continue one that was stopped or killed, and report it'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from study" -f -a "report" -d 'Report the results of a study here, side by side with the published ones'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "measure" -d 'Measure on each host; the runs come into the store here'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "assess" -d 'Assess each host; the runs come into the store here'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "doctor" -d 'Find what hurts determinism on each host'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "tune" -d 'Apply, show or revert tuning on each host; the undo record stays there'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "experiment" -d 'Run an experiment on each host; the runs come into the store here'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "collection" -d 'Write out the Ansible collection behind these commands, for your own playbooks'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from tasks" -f -a "check" -d 'Analyse a set: will all tasks meet their deadlines, with how much room, and what delays them?'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from tasks" -f -a "new" -d 'Write a set with the longest times that `watch` observed of a program\'s threads; they are no worst cases'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "boot" -d 'Boot a kernel, check what it reports, and stop it: a smoke test'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "latency-test" -d 'Compare kernels and preemption models in virtual time: the same result every time, on any host'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "rt" -d 'From the source to the verdict: fetch, patch, configure, build, boot, and compare a stock and a real-time kernel'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "initramfs" -d 'Write the initial RAM file system of guests to a file, to boot it yourself'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "install-once" -d 'Boot a kernel once on this machine, which then falls back to its own by itself; or undo that'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "install" -d 'Install a kernel to stay, with modules, initial RAM file system and boot entry; the default entry stays'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "installed" -d 'List the kernels that were installed to stay'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "uninstall" -d 'Remove a kernel that was installed to stay, whole'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "status" -d 'Show whether a kernel will boot once, came up, or fell back, and why'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "fetch" -d 'Fetch a source or an image: a package (never installed), a tarball, a git repository, a directory'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "list" -d 'List the sources, images and builds of the store'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "rm" -d 'Remove sources, images and builds from the store'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "patch" -d 'Apply a patch series to a source: first tried as a whole, then applied completely or not at all'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "config" -d 'Make a configuration, and show which options the source did not honour and why'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "build" -d 'Build a kernel outside its source tree; an interrupted build continues when started again'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "rebase" -d 'Rebase a vendor\'s branch onto a real-time branch, in a separate worktree'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "bisect" -d 'Find the commit that made something worse'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from tune" -f -a "plan" -d 'Show what a profile would change here, without changing it'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from tune" -f -a "apply" -d 'Change the settings; they stay until `punctual tune revert`, or for a time'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from tune" -f -a "run" -d 'Change the settings, run a command, and restore everything however it ends'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from tune" -f -a "status" -d 'Show what is currently changed'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from tune" -f -a "revert" -d 'Restore everything'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from tune" -f -a "knobs" -d 'List the known settings, with their values here'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from tune" -f -a "profiles" -d 'List the profiles that come with the program, or print one'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from tune" -f -a "trial" -d 'Measure what each knob of a profile buys here: latency and work with and without it'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from tune" -f -a "boot" -d 'Show, add or remove kernel arguments that take effect at boot'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from tune" -f -a "keep" -d 'Keep watch over a session'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from runs" -f -a "list" -d 'List the runs, newest first'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from runs" -f -a "show" -d 'Show one run with all its figures and checks'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from runs" -f -a "export" -d 'Write a run\'s samples, histograms or record in another format'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from runs" -f -a "extrapolate" -d 'Estimate what may lie beyond the largest sample of a run: advice only, refused if the data do not support it'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from runs" -f -a "import" -d 'Import what other tools wrote (cyclictest, rtla, oslat, jitterdebugger, rteval, latmus, Xenomai latency), or whole runs'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from runs" -f -a "pack" -d 'Write whole runs into one archive, which `runs import` takes into another store'
complete -c punctual -n "__fish_punctual_using_subcommand help; and __fish_seen_subcommand_from runs" -f -a "rm" -d 'Remove runs'

# The runs of the store, where one is wanted.
function __fish_punctual_runs
    set -l home
    set -l before
    for word in (commandline -opc)
        if test "$before" = --home
            # Only the shell would expand the `~`.
            set home --home (string replace -r '^~/' "$HOME/" -- $word)
        else if string match -q -- '--home=*' $word
            set home $word
        end
        set before $word
    end
    punctual $home runs list --names 2>/dev/null
end
complete -c punctual -n "__fish_punctual_using_subcommand runs; and __fish_seen_subcommand_from show export extrapolate pack rm" -a "(__fish_punctual_runs)" -d 'Run'
complete -c punctual -n "__fish_punctual_using_subcommand explain" -a "(__fish_punctual_runs)" -d 'Run'
complete -c punctual -n "__fish_punctual_using_subcommand report" -a "(__fish_punctual_runs)" -d 'Run'
complete -c punctual -n "__fish_punctual_using_subcommand compare" -a "(__fish_punctual_runs)" -d 'Run'
complete -c punctual -n "__fish_punctual_using_subcommand history" -a "(__fish_punctual_runs)" -d 'Run'
