// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A periodic loop that something makes late: `late_loop CULPRIT [CYCLES]`. `punctual watch -- late_loop CULPRIT` is to
//! name it.
//!
//! The loop wakes up every 4 ms on the last CPU and works for some 100 µs. Twenty times a run its culprit strikes. At the
//! end it says on standard error how many cycles it had, how often its culprit struck, and how many cycles were late by its own
//! clock, the last one not counted. Of several culprits (`none,lock,throttling=300`) each has a loop of its own, one after the other,
//! which bears its name, and as many cycles as are said.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a program for tests"
)]

use std::fs;
use std::hint::black_box;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use punctual_model::{Clock, CpuId, Nanos, Policy};
use punctual_sys::mutex::{Protocol, ProtocolMutex};
use punctual_sys::pages::{HugePages, Pages};
use punctual_sys::thread::Tid as ThreadId;
use punctual_sys::timer::{Nanosleep, Sleeper as _};
use punctual_sys::{clock, process, sched};
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::mount::{MountFlags, mount};
use rustix::net::sockopt::set_socket_recv_buffer_size;
use rustix::net::{AddressFamily, Protocol as Ip, SendFlags, SocketType, sendto, socket};

const PERIOD: Nanos = Nanos::from_millis(4);
const WORK: Nanos = Nanos::from_micros(100);
/// Cycles from one strike to the next.
const EVERY: u64 = 25;
/// What a `SCHED_DEADLINE` loop may use of a CPU in each period.
const RUNTIME: Nanos = Nanos::from_millis(1);
/// How long a strike lasts: whenever it begins, a cycle is longer than its period.
const STRIKE: Nanos = Nanos::from_millis(10);

fn main() {
    let mut words = std::env::args().skip(1);
    let culprits = words.next().unwrap_or_else(|| "none".to_owned());
    let number = words.next().map_or(500, |n| n.parse().unwrap());
    if culprits == "stopper" {
        return stop_parent(number);
    }
    match culprits.split(',').collect::<Vec<_>>()[..] {
        [culprit] => {
            let (done, strikes, late) = play(culprit, "loop", number);
            eprintln!("cycles {done} strikes {strikes} late {late}");
        }
        ref several => {
            for culprit in several {
                let (culprit, number) = match culprit.split_once('=') {
                    Some((culprit, number)) => (culprit, number.parse().unwrap()),
                    None => (*culprit, number),
                };
                let (done, strikes, late) = play(culprit, culprit, number);
                eprintln!("{culprit}: cycles {done} strikes {strikes} late {late}");
            }
        }
    }
}

/// Has a thread of this name loop beside `culprit`. Returns its cycles, strikes, and late cycles.
fn play(culprit: &str, name: &str, cycles: u64) -> (u64, u64, u64) {
    let cpus = sched::affinity().unwrap();
    // The CPU that goes offline is another one.
    let cpu = match culprit {
        "stop-machine" => cpus.iter().min(),
        _ => cpus.iter().max(),
    };
    let cpu = cpu.unwrap();
    let stage = Stage {
        cpu,
        stop: Arc::default(),
        strikes: Arc::default(),
    };
    let (helpers, cycle) = stage.set(culprit);
    let policy = match culprit {
        // Whoever else is ordinary goes before it.
        "polite" => Policy::Other { nice: 19 },
        "ordinary-hog" | "ordinary-strikes" | "cpu-quota" | "own-quota" => {
            Policy::Other { nice: 0 }
        }
        "used-up-runtime" => Policy::Deadline {
            runtime: RUNTIME,
            period: PERIOD,
        },
        _ => Policy::Fifo { priority: 80 },
    };
    let looping = match culprit {
        "used-up-runtime" => {
            let work = move || jobs(cycles, policy, cycle);
            let named = thread::Builder::new().name(name.to_owned());
            named.spawn(work).unwrap()
        }
        "skipped-sleep" => stage.thread(name, policy, move || run(cycles, Pace::SkipsSleep, cycle)),
        _ => stage.thread(name, policy, move || run(cycles, Pace::Sleeps, cycle)),
    };
    let late = looping.join().unwrap();
    stage.stop.store(true, Ordering::Relaxed);
    for helper in helpers {
        helper.join().unwrap();
    }
    (cycles, stage.strikes.load(Ordering::Relaxed), late)
}

/// What happens in a cycle, by its number.
type Work = Box<dyn FnMut(u64) + Send>;

/// What the loop does at a release that has passed.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Pace {
    /// It sleeps, and is woken at once.
    Sleeps,
    /// It goes on, as `std::this_thread::sleep_until` of C++ does. Each of its cycles ends with a call of `getpid` of the C library.
    SkipsSleep,
}

/// Returns how many cycles were longer than the period, but for the last one, after which the loop waits no more.
fn run(cycles: u64, pace: Pace, mut work: Work) -> u64 {
    let mut late = 0;
    let mut sleeper = Nanosleep::new(Clock::Monotonic);
    let mut release = clock::monotonic() + Nanos::from_millis(20);
    for cycle in 0..cycles {
        if pace == Pace::Sleeps || clock::monotonic() < release {
            sleeper.sleep_until(release).unwrap();
        }
        spin(WORK);
        work(cycle);
        if pace == Pace::SkipsSleep {
            black_box(std::process::id());
        }
        late += u64::from(cycle + 1 < cycles && clock::monotonic().since(release) > PERIOD);
        release = release + PERIOD;
    }
    late
}

/// The same with the jobs of `SCHED_DEADLINE`, which end with `sched_yield`. The kernel binds no such thread to a CPU. When it was released
/// it does not know: by its own clock a job lasts from the moment at which it has the CPU.
fn jobs(cycles: u64, policy: Policy, mut work: Work) -> u64 {
    sched::set_policy(policy).unwrap();
    let mut late = 0;
    for cycle in 0..cycles {
        thread::yield_now();
        let begun = clock::monotonic();
        spin(WORK);
        work(cycle);
        late += u64::from(cycle + 1 < cycles && clock::monotonic().since(begun) > PERIOD);
    }
    late
}

/// Does it as long as a strike lasts, and once at least: on a busy machine the time may be over before it begins.
fn for_a_strike(mut act: impl FnMut()) {
    let end = clock::monotonic() + STRIKE;
    loop {
        act();
        if clock::monotonic() >= end {
            return;
        }
    }
}

fn spin(span: Nanos) {
    let end = clock::monotonic() + span;
    while clock::monotonic() < end {
        std::hint::spin_loop();
    }
}

/// Takes that much CPU time, however long that takes.
fn compute(span: Nanos) {
    let end = clock::thread_cpu() + span;
    while clock::thread_cpu() < end {
        for _ in 0..1_000 {
            std::hint::spin_loop();
        }
    }
}

fn pause(span: Nanos) {
    thread::sleep(Duration::from(span));
}

fn strikes_in(cycle: u64) -> bool {
    cycle % EVERY == EVERY - 1
}

struct Stage {
    cpu: CpuId,
    stop: Arc<AtomicBool>,
    strikes: Arc<AtomicU64>,
}

impl Stage {
    fn thread<T: Send + 'static>(
        &self,
        name: &str,
        policy: Policy,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let cpu = self.cpu;
        let bound = move || {
            sched::set_affinity(&std::iter::once(cpu).collect()).unwrap();
            sched::set_policy(policy).unwrap();
            work()
        };
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(bound)
            .unwrap()
    }

    /// Strikes every so often from another thread, which has this policy while it does.
    fn striker(
        &self,
        name: &str,
        policy: Policy,
        mut strike: impl FnMut() + Send + 'static,
    ) -> JoinHandle<()> {
        let (stop, strikes) = (Arc::clone(&self.stop), Arc::clone(&self.strikes));
        self.thread(name, policy, move || {
            while !stop.load(Ordering::Relaxed) {
                pause(PERIOD.times(EVERY));
                strike();
                strikes.fetch_add(1, Ordering::Relaxed);
            }
        })
    }

    /// Returns the threads beside the loop, and what the loop does.
    fn set(&self, culprit: &str) -> (Vec<JoinHandle<()>>, Work) {
        let fifo = |priority| Policy::Fifo { priority };
        let nothing: Work = Box::new(|_| ());
        let strikes = Arc::clone(&self.strikes);
        let counted = move || {
            strikes.fetch_add(1, Ordering::Relaxed);
        };
        match culprit {
            "none" | "polite" => (Vec::new(), nothing),
            "higher-priority" | "skipped-sleep" => (
                vec![self.striker("hog", fifo(90), || spin(STRIKE))],
                nothing,
            ),
            "ordinary-hog" => {
                let stop = Arc::clone(&self.stop);
                let hog = self.thread("hog", Policy::Other { nice: -10 }, move || {
                    while !stop.load(Ordering::Relaxed) {
                        spin(Nanos::from_millis(1));
                    }
                });
                (vec![hog], nothing)
            }
            // One that has slept, and is entitled to so much that it is not preempted before it sleeps again.
            "ordinary-strikes" => {
                let nice = Policy::Other { nice: -20 };
                (vec![self.striker("hog", nice, || spin(STRIKE))], nothing)
            }
            "throttling" => {
                let stop = Arc::clone(&self.stop);
                let hog = self.thread("hog", fifo(10), move || {
                    while !stop.load(Ordering::Relaxed) {
                        spin(Nanos::from_millis(1));
                    }
                });
                (vec![hog], nothing)
            }
            "lock" => self.lock(),
            "page-faults" => (
                Vec::new(),
                Box::new(move |cycle| {
                    if strikes_in(cycle) {
                        counted();
                        for_a_strike(|| {
                            // Fresh memory each time: every page of it is a fault.
                            let mut pages = Pages::<u64>::map(1 << 17, HugePages::Refuse).unwrap();
                            pages
                                .numbers_mut::<u64>()
                                .iter_mut()
                                .step_by(512)
                                .for_each(|n| *n = 1);
                            black_box(pages);
                        });
                    }
                }),
            ),
            "system-call" => (
                Vec::new(),
                Box::new(move |cycle| {
                    if strikes_in(cycle) {
                        counted();
                        for_a_strike(|| {
                            black_box(fs::read("/proc/interrupts").unwrap());
                        });
                    }
                }),
            ),
            "fsync" => {
                let path = std::env::temp_dir().join(format!("late-loop-{}", std::process::id()));
                let mut file = fs::File::create(&path).unwrap();
                fs::remove_file(&path).unwrap();
                let work = move |cycle| {
                    if strikes_in(cycle) {
                        counted();
                        for_a_strike(|| {
                            file.write_all(&[7; 4096]).unwrap();
                            file.sync_all().unwrap();
                        });
                    }
                };
                (Vec::new(), Box::new(work))
            }
            // So much that a job has to wait for two further periods' runtime.
            "used-up-runtime" => {
                let work = move |cycle| {
                    if strikes_in(cycle) {
                        counted();
                        compute(RUNTIME.times(2));
                    }
                };
                (Vec::new(), Box::new(work))
            }
            "allocation" => {
                // As a program that is careful: no page is touched for the first time but those that it asks for too late.
                mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE).unwrap();
                let work = move |cycle| {
                    if strikes_in(cycle) {
                        counted();
                        for_a_strike(|| {
                            black_box(Pages::<u64>::map(1 << 17, HugePages::Leave).unwrap());
                        });
                    }
                };
                (Vec::new(), Box::new(work))
            }
            "softirq" => {
                let flood = Flood::new();
                let strike = move || flood.go_on_for(STRIKE);
                (vec![self.striker("flood", fifo(90), strike)], nothing)
            }
            "stopped" => (vec![self.stopper()], nothing),
            "own-quota" => (vec![self.own_quota()], nothing),
            // So few that the soft interrupt is all that lasts, where each instruction takes a while.
            "packets" => {
                let flood = Flood::new();
                let strike = move || flood.send(PACKETS);
                (vec![self.striker("flood", fifo(90), strike)], nothing)
            }
            "migration" => self.migration(),
            "stop-machine" => self.stop_machine(),
            "cpu-quota" => {
                let stop = Arc::clone(&self.stop);
                // In the group of the loop, whose time it uses up.
                let hog = self.thread("hog", Policy::Other { nice: 0 }, move || {
                    while !stop.load(Ordering::Relaxed) {
                        spin(Nanos::from_millis(1));
                    }
                });
                (vec![hog], nothing)
            }
            "habits" => self.habits(),
            other => {
                eprintln!("no culprit `{other}`");
                std::process::exit(2);
            }
        }
    }

    /// Another process stops this one and has it go on, six times.
    fn stopper(&self) -> JoinHandle<()> {
        let strikes = Arc::clone(&self.strikes);
        let mut command = Command::new(std::env::current_exe().unwrap());
        let mut stopper = command.args(["stopper", "6"]).spawn().unwrap();
        let waiter = thread::Builder::new().name("waiter".to_owned());
        let wait = move || {
            assert!(stopper.wait().unwrap().success());
            strikes.store(6, Ordering::Relaxed);
        };
        waiter.spawn(wait).unwrap()
    }

    /// This process goes into a control group of its own that may use a fifth of a CPU, with a thread that uses it up, and
    /// leaves it at the end. For a machine that mounts no control groups, such as a guest.
    fn own_quota(&self) -> JoinHandle<()> {
        let root = std::env::temp_dir().join("groups");
        let group = root.join("quota");
        if !root.exists() {
            fs::create_dir(&root).unwrap();
            mount("none", &root, "cgroup2", MountFlags::empty(), None).unwrap();
        }
        fs::write(root.join("cgroup.subtree_control"), "+cpu").unwrap();
        fs::create_dir_all(&group).unwrap();
        fs::write(group.join("cpu.max"), "20000 100000").unwrap();
        let enter = |group: &Path| fs::write(group.join("cgroup.procs"), "0");
        enter(&group).unwrap();
        let stop = Arc::clone(&self.stop);
        self.thread("hog", Policy::Other { nice: 0 }, move || {
            while !stop.load(Ordering::Relaxed) {
                spin(Nanos::from_millis(1));
            }
            enter(&root).unwrap();
        })
    }

    /// What real-time code should not do, in each cycle from the 100th on: three writes to a file and one to a device,
    /// memory mapped, eight pages of it touched, and unmapped, two yields. Each such cycle is a strike.
    fn habits(&self) -> (Vec<JoinHandle<()>>, Work) {
        let path = std::env::temp_dir().join(format!("late-loop-{}", std::process::id()));
        let mut file = fs::File::create(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let mut device = fs::OpenOptions::new()
            .write(true)
            .open("/dev/null")
            .unwrap();
        let strikes = Arc::clone(&self.strikes);
        let work = move |cycle| {
            if cycle < 100 {
                return;
            }
            strikes.fetch_add(1, Ordering::Relaxed);
            for _ in 0..3 {
                file.write_all(b"a line\n").unwrap();
            }
            device.write_all(b"a frame").unwrap();
            let mut pages = Pages::<u64>::map(1 << 13, HugePages::Refuse).unwrap();
            let numbers = pages.numbers_mut::<u64>().iter_mut();
            numbers.step_by(512).take(8).for_each(|n| *n = 1);
            drop(black_box(pages));
            thread::yield_now();
            thread::yield_now();
        };
        (Vec::new(), Box::new(work))
    }

    /// The loop computes for most of its period, and another thread moves it from CPU to CPU meanwhile.
    fn migration(&self) -> (Vec<JoinHandle<()>>, Work) {
        let looping = Arc::new(AtomicI32::new(0));
        let tid = Arc::clone(&looping);
        let (stop, strikes) = (Arc::clone(&self.stop), Arc::clone(&self.strikes));
        let cpus: Vec<CpuId> = sched::affinity().unwrap().iter().collect();
        let back = self.cpu;
        let to = move |cpu: CpuId| {
            let tid = tid.load(Ordering::Acquire);
            tid > 0 && sched::set_affinity_of(tid, &std::iter::once(cpu).collect()).is_ok()
        };
        // On whichever CPU it is not, with a priority below that of the loop.
        let mover = move || {
            sched::set_policy(Policy::Fifo { priority: 70 }).unwrap();
            while !stop.load(Ordering::Relaxed) {
                pause(PERIOD.times(EVERY));
                let end = clock::monotonic() + STRIKE;
                for cpu in cpus.iter().cycle() {
                    if clock::monotonic() >= end || !to(*cpu) {
                        break;
                    }
                }
                to(back);
                strikes.fetch_add(1, Ordering::Relaxed);
            }
        };
        let mover = thread::Builder::new().name("mover".to_owned()).spawn(mover);
        let work = move |cycle| {
            if cycle == 0 {
                looping.store(ThreadId::current().get(), Ordering::Release);
            }
            compute(Nanos::from_millis(3));
        };
        (vec![mover.unwrap()], Box::new(work))
    }

    /// The loop computes for most of its period, and the last CPU goes offline and comes back meanwhile: all others stop for that.
    fn stop_machine(&self) -> (Vec<JoinHandle<()>>, Work) {
        let last = sched::affinity().unwrap().iter().max().unwrap();
        assert_ne!(last, self.cpu, "there is one CPU alone");
        let online = format!("/sys/devices/system/cpu/cpu{last}/online");
        let (stop, strikes) = (Arc::clone(&self.stop), Arc::clone(&self.strikes));
        let switcher = move || {
            while !stop.load(Ordering::Relaxed) {
                pause(PERIOD.times(EVERY));
                fs::write(&online, "0").unwrap();
                let back = fs::write(&online, "1");
                back.unwrap();
                strikes.fetch_add(1, Ordering::Relaxed);
            }
        };
        let switcher = thread::Builder::new()
            .name("switcher".to_owned())
            .spawn(switcher);
        let work = |_| spin(Nanos::from_millis(3));
        (vec![switcher.unwrap()], Box::new(work))
    }

    /// A lock without inheritance, held by a low-priority thread that a middle one keeps from running.
    fn lock(&self) -> (Vec<JoinHandle<()>>, Work) {
        let lock = Arc::new(ProtocolMutex::new(Protocol::None).unwrap());
        let held = Arc::<AtomicBool>::default();
        let (of_holder, is_held) = (Arc::clone(&lock), Arc::clone(&held));
        let holder = self.striker("holder", Policy::Fifo { priority: 10 }, move || {
            of_holder.lock().unwrap();
            is_held.store(true, Ordering::Release);
            spin(Nanos::from_millis(3));
            of_holder.unlock().unwrap();
        });
        let stop = Arc::clone(&self.stop);
        let middle = self.thread("middle", Policy::Fifo { priority: 50 }, move || {
            while !stop.load(Ordering::Relaxed) {
                pause(Nanos::from_micros(300));
                if held.swap(false, Ordering::Acquire) {
                    spin(STRIKE);
                }
            }
        });
        let work = move |_| {
            lock.lock().unwrap();
            lock.unlock().unwrap();
        };
        (vec![holder, middle], Box::new(work))
    }
}

/// Stops the parent process and continues it, `times` times.
fn stop_parent(times: u64) {
    let parent = std::os::unix::process::parent_id();
    for _ in 0..times {
        pause(PERIOD.times(EVERY));
        process::stop(parent).unwrap();
        pause(STRIKE);
        process::go_on(parent).unwrap();
    }
}

/// Packets that keep the soft interrupt of the network busy: each goes to many sockets, and the kernel delivers them within
/// that soft interrupt, on the CPU of whoever sends.
struct Flood(Vec<OwnedFd>);

/// What a strike of `packets` sends.
const PACKETS: u32 = 6;

/// For experiments (RFC 3692): nobody listens to it but these sockets.
const EXPERIMENT: u32 = 253;

impl Flood {
    fn new() -> Self {
        let protocol = Ip::from_raw(NonZeroU32::new(EXPERIMENT).unwrap());
        let one = |_| {
            let one = socket(AddressFamily::INET, SocketType::RAW, Some(protocol)).unwrap();
            // What is delivered is soon too much, and let go.
            set_socket_recv_buffer_size(&one, 1).unwrap();
            one
        };
        Self((0..400).map(one).collect())
    }

    fn go_on_for(&self, span: Nanos) {
        let end = clock::monotonic() + span;
        while clock::monotonic() < end {
            self.send(1);
        }
    }

    fn send(&self, packets: u32) {
        let here = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        for _ in 0..packets {
            sendto(&self.0[0], b"one more", SendFlags::empty(), &here).unwrap();
        }
    }
}
