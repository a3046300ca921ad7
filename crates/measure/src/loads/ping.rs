// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The load `ping`: ICMP echo requests as fast as they are answered.
//!
//! Each flood has two threads with a socket each, one for each direction: what one sends from A to
//! B the other sends from B to A. A thread sends a request and waits for its reply. Between two
//! addresses of this machine the kernel answers in the context of the sender, through all of the
//! network's receive path. Between two network namespaces of our own packets also go through a device, its queue and the
//! soft interrupt of reception, as those of a network card do.
//!
//! Another machine is never flooded: it is pinged only at a limited rate that was asked for.

use std::fmt;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use punctual_sys::SysRoot;
use punctual_sys::icmp::{Echo, is_own_address};
use punctual_sys::netns::{self, End};

use super::kind::{Load, LoadKind, Site};
use super::parse::count;
use super::shift::{Shift, Task};
use super::spec::LoadSpec;

pub(super) const KIND: LoadKind = LoadKind {
    name: "ping",
    usage: "ping[:N]",
    help: &[
        "N floods of ICMP echo requests, each both ways [default: 1];",
        "@to=ADDR and @rate=N as --ping-to and --ping-rate; @between=namespaces: over a",
        "virtual cable between two network namespaces of their own, in place of loopback",
    ],
    unit: "replies",
    keys: "to, rate, between",
    parse: |floods, own| {
        let floods = floods.map(|n| count(n, 1..=64, "floods")).transpose()?;
        let ping = Ping {
            floods: floods.unwrap_or(1),
            to: own.take("to").map(address).transpose()?,
            rate: own.take("rate").map(rate).transpose()?,
            namespaces: own.take("between").map(between).transpose()?.is_some(),
        };
        match (ping.namespaces, ping.to) {
            (true, Some(_)) => Err(
                "to and between exclude each other: nobody else is in these namespaces".to_owned(),
            ),
            _ => Ok(Arc::new(ping)),
        }
    },
    ..LoadKind::THREADS
};

/// What goes to another machine, at most, in requests a second.
const FOREIGN_RATE: u32 = 1_000;

/// How long a reply may take; then the next request is sent.
const PATIENCE: Duration = Duration::from_millis(100);

/// Where a flood goes if nothing is said.
const FAR: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// The two ends of a cable between namespaces, in the range that is set aside for tests of network devices (RFC 2544).
const NEAR_END: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const FAR_END: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 1);

/// Bits of the network that both are in.
const CABLE_PREFIX: u8 = 15;

/// Floods of echo requests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ping {
    /// Number of floods, each of two threads.
    pub floods: u32,
    /// The host that is pinged. Missing: this one.
    pub to: Option<Ipv4Addr>,
    /// Requests of all floods together in a second. Missing: as many as are answered.
    pub rate: Option<u32>,
    /// Whether they go between two network namespaces of their own.
    pub namespaces: bool,
}

impl Ping {
    /// Opens the sockets, and returns a task for each.
    fn tasks(&self, sys: &SysRoot) -> io::Result<Vec<Task>> {
        let echoes = match self.namespaces {
            true => self.between_namespaces()?,
            false => self.on_this_network(sys)?,
        };
        let every = self.every();
        let task = |echo| -> Task { Box::new(move |shift| flood(shift, &echo, every)) };
        Ok(echoes.into_iter().map(task).collect())
    }

    /// Returns how often each thread sends a request, where the rate of all of them together is limited.
    fn every(&self) -> Option<Duration> {
        let all = Duration::from_secs((2 * self.floods).into());
        self.rate.map(|rate| all / rate)
    }

    /// Opens the sockets of two network namespaces, which are there as long as these are.
    fn between_namespaces(&self) -> io::Result<Vec<Echo>> {
        let near: Vec<Ipv4Addr> = (0..self.floods).map(|n| beyond(NEAR_END, n)).collect();
        let open = |end| -> io::Result<Vec<Echo>> {
            let sockets = near.iter().map(|near| match end {
                End::Near => Echo::open(Some(*near), FAR_END, next_id(), PATIENCE),
                End::Far => Echo::open(Some(FAR_END), *near, next_id(), PATIENCE),
            });
            sockets.collect()
        };
        let opened = netns::connected(&near, &[FAR_END], CABLE_PREFIX, open);
        let (mut both, far) = opened.map_err(|err| no_namespaces(&err))?;
        both.extend(far);
        Ok(both)
    }

    fn on_this_network(&self, sys: &SysRoot) -> io::Result<Vec<Echo>> {
        let to = self.to.unwrap_or(FAR);
        let own = is_this_machine(sys, to);
        if !own {
            self.check_foreign(to)?;
        } else if !answers(sys) {
            let what = "net.ipv4.icmp_echo_ignore_all is set: this machine would not answer";
            return Err(io::Error::new(io::ErrorKind::Unsupported, what));
        }
        let mut echoes = Vec::new();
        for number in 0..2 * self.floods {
            let (from, to) = match (own, near(number / 2)) {
                (false, _) => (None, to),
                (true, near) if number % 2 == 0 => (Some(near), to),
                (true, near) => (Some(to), near),
            };
            let echo = Echo::open(from, to, next_id(), PATIENCE);
            echoes.push(echo.map_err(|err| refused(to, &err))?);
        }
        Ok(echoes)
    }

    /// Finds out whether it may flood at all.
    ///
    /// # Errors
    ///
    /// As when it starts: with `Unsupported` where the privilege is missing or nobody would answer, with
    /// `InvalidInput` where it would flood somebody else.
    pub fn check(&self, sys: &SysRoot) -> io::Result<()> {
        self.tasks(sys).map(drop)
    }

    fn check_foreign(&self, to: Ipv4Addr) -> io::Result<()> {
        if self.rate.is_some_and(|rate| rate <= FOREIGN_RATE) {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "{to} is not an address of this machine, and other machines are not flooded: set \
                 rate=N, up to {FOREIGN_RATE} requests a second"
            ),
        ))
    }
}

impl Load for Ping {
    fn threads(&self, _cpus: u32) -> u32 {
        2 * self.floods
    }

    /// Before its time no thread sends.
    fn patience(&self, turn: Duration) -> Duration {
        turn + self.every().unwrap_or_default()
    }

    fn prepare(&self, site: &Site<'_>, _threads: u32) -> io::Result<Vec<Task>> {
        self.tasks(site.sys)
    }

    fn ping(&self) -> Option<Ping> {
        Some(*self)
    }
}

/// Requires that all `loads` together ping others at no more than the rate that one may: the limit is this program's,
/// however many loads it has.
pub(super) fn check_all(sys: &SysRoot, loads: &[LoadSpec]) -> io::Result<()> {
    let pings = loads.iter().filter_map(LoadSpec::ping);
    let foreign =
        pings.filter(|ping| !ping.namespaces && !is_this_machine(sys, ping.to.unwrap_or(FAR)));
    let rates = foreign.filter_map(|ping| ping.rate);
    let sum = rates.fold(0_u32, u32::saturating_add);
    if sum <= FOREIGN_RATE {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!(
            "ping: the loads would send {sum} requests a second to other machines, more than the \
             {FOREIGN_RATE} allowed for all of them together: lower rate=N"
        ),
    ))
}

impl fmt::Display for Ping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.floods != 1 {
            write!(f, ":{}", self.floods)?;
        }
        if let Some(to) = self.to {
            write!(f, "@to={to}")?;
        }
        if let Some(rate) = self.rate {
            write!(f, "@rate={rate}")?;
        }
        if self.namespaces {
            f.write_str("@between=namespaces")?;
        }
        Ok(())
    }
}

/// Number of the next thread of this process.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// Returns the next identifier: programs differ in the upper part, our threads in the lower, those of other loads too.
#[expect(clippy::cast_possible_truncation, reason = "an identifier has 16 bits")]
fn next_id() -> u16 {
    ((std::process::id() << 7) | (NEXT.fetch_add(1, Ordering::Relaxed) % 128)) as u16
}

/// Returns the other end of a flood between own addresses. Each has its own, so that the kernel
/// hands a reply to its thread alone.
fn near(flood: u32) -> Ipv4Addr {
    beyond(Ipv4Addr::new(127, 0, 1, 1), flood)
}

fn beyond(first: Ipv4Addr, number: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(first) + number)
}

/// Reads what floods go between.
fn between(text: &str) -> Result<(), String> {
    match text {
        "namespaces" => Ok(()),
        _ => Err("between: must be namespaces".to_owned()),
    }
}

/// Reads the address of a host.
fn address(text: &str) -> Result<Ipv4Addr, String> {
    let address = text.parse::<Ipv4Addr>();
    address.map_err(|_| "to: must be an IPv4 address such as 127.0.0.1".to_owned())
}

/// Reads a number of requests a second.
fn rate(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(rate @ 1..=1_000_000) => Ok(rate),
        _ => Err("rate: must be from 1 to 1000000 requests a second".to_owned()),
    }
}

/// Whether what goes to `address` certainly stays on this machine.
fn is_this_machine(sys: &SysRoot, address: Ipv4Addr) -> bool {
    let any_is_own = sys.fact::<u32>("/proc/sys/net/ipv4/ip_nonlocal_bind") == Some(1);
    address.is_loopback() || (!any_is_own && is_own_address(address))
}

/// Whether this machine answers echo requests.
fn answers(sys: &SysRoot) -> bool {
    sys.fact::<u32>("/proc/sys/net/ipv4/icmp_echo_ignore_all") != Some(1)
}

fn no_namespaces(err: &io::Error) -> io::Error {
    let why = match err.kind() {
        io::ErrorKind::PermissionDenied => {
            "they need CAP_SYS_ADMIN and CAP_NET_RAW; run it with sudo"
        }
        io::ErrorKind::Unsupported => "the kernel lacks veth: modprobe veth, or flood loopback",
        _ => "flood loopback instead",
    };
    io::Error::new(
        match err.kind() {
            io::ErrorKind::PermissionDenied => io::ErrorKind::Unsupported,
            kind => kind,
        },
        format!("no two network namespaces with a cable ({err}): {why}"),
    )
}

fn refused(to: Ipv4Addr, err: &io::Error) -> io::Error {
    match err.kind() {
        io::ErrorKind::PermissionDenied => io::Error::new(
            io::ErrorKind::Unsupported,
            format!(
                "echo requests are refused ({err}): they need CAP_NET_RAW or a group within \
                 net.ipv4.ping_group_range; run it with sudo"
            ),
        ),
        kind => io::Error::new(kind, format!("{to} cannot be reached: {err}")),
    }
}

/// Sends a request after the other, at most one `every` so often.
fn flood(shift: &mut Shift<'_>, echo: &Echo, every: Option<Duration>) -> io::Result<()> {
    let mut sequence = 0_u16;
    let mut next = Instant::now();
    while !shift.is_over() {
        if let Some(every) = every {
            shift.pause(next.saturating_duration_since(Instant::now()));
            // What could not be sent in time is not made up for.
            next = Instant::now().max(next) + every;
        }
        sequence = sequence.wrapping_add(1);
        match echo.send(sequence) {
            Ok(()) => {}
            // The queue of the interface is full.
            Err(err) if is_momentary(&err) => {
                shift.pause(Duration::from_millis(1));
                continue;
            }
            Err(err) => return Err(err),
        }
        // An older reply may come first, where one was late.
        while let Some(reply) = echo.receive()? {
            shift.did(1);
            if reply == sequence {
                break;
            }
        }
    }
    Ok(())
}

fn is_momentary(err: &io::Error) -> bool {
    const ENOBUFS: i32 = 105;
    err.kind() == io::ErrorKind::WouldBlock || err.raw_os_error() == Some(ENOBUFS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loads::shift::Tally;
    use std::sync::atomic::AtomicBool;

    fn ping(to: &str, rate: Option<u32>) -> Ping {
        Ping {
            floods: 1,
            to: Some(to.parse().unwrap()),
            rate,
            namespaces: false,
        }
    }

    /// Lets the floods run for `span` at least, and until there are `least` replies. Returns how many there were; nothing
    /// without the privilege.
    fn replies(ping: Ping, span: Duration, least: u64) -> Option<u64> {
        let tasks = match ping.tasks(&SysRoot::live()) {
            Ok(tasks) => tasks,
            Err(err) => {
                assert_eq!(err.kind(), io::ErrorKind::Unsupported, "{err}");
                return None;
            }
        };
        let (stop, tally) = (AtomicBool::new(false), Tally::default());
        std::thread::scope(|scope| {
            for task in tasks {
                let (stop, tally) = (&stop, &tally);
                scope.spawn(move || {
                    let begun = Instant::now();
                    task(&mut Shift::begin(
                        stop,
                        tally,
                        "100%".parse().unwrap(),
                        begun,
                    ))
                    .unwrap();
                });
            }
            std::thread::sleep(span);
            let ended = Instant::now() + Duration::from_secs(1_800);
            while tally.work.load(Ordering::Relaxed) < least && Instant::now() < ended {
                std::thread::sleep(Duration::from_millis(1));
            }
            stop.store(true, Ordering::Relaxed);
        });
        Some(tally.work.load(Ordering::Relaxed))
    }

    #[test]
    fn own_addresses_are_flooded_both_ways() {
        for to in ["127.0.0.1", "127.0.0.2", "127.3.2.1"] {
            let replies = replies(ping(to, None), Duration::ZERO, 11);
            assert!(replies.is_none_or(|n| n > 10), "{to}: {replies:?}");
        }
    }

    #[test]
    fn floods_between_namespaces_are_answered_both_ways() {
        let ping = Ping {
            floods: 3,
            to: None,
            rate: None,
            namespaces: true,
        };
        assert_eq!(ping.to_string(), ":3@between=namespaces");
        let replies = replies(ping, Duration::ZERO, 100);
        assert!(replies.is_none_or(|n| n >= 100), "{replies:?}");
    }

    #[test]
    fn a_rate_is_kept_by_all_threads_together() {
        let begun = Instant::now();
        let replies = replies(ping("127.0.0.1", Some(50)), Duration::from_secs(1), 2);
        // One of each thread at once, then 50 a second.
        let most = 2 + begun.elapsed().as_millis() / 20;
        let kept = |n: u64| n >= 2 && u128::from(n) <= most;
        assert!(replies.is_none_or(kept), "{replies:?}, at most {most}");
    }

    #[test]
    fn others_are_pinged_only_at_a_limited_rate() {
        // Reserved for documentation (RFC 5737); nothing is sent.
        for rate in [None, Some(FOREIGN_RATE + 1)] {
            let err = ping("203.0.113.1", rate)
                .tasks(&SysRoot::live())
                .map(|tasks| tasks.len())
                .unwrap_err();
            assert_eq!(err.kind(), io::ErrorKind::InvalidInput);
            assert!(
                err.to_string().contains("not an address of this machine"),
                "{err}"
            );
        }
    }

    #[test]
    fn the_limit_on_pings_to_others_is_that_of_all_loads_together() {
        let sys = SysRoot::live();
        let check = |loads: &[&str]| {
            let loads: Vec<LoadSpec> = loads.iter().map(|load| load.parse().unwrap()).collect();
            check_all(&sys, &loads)
        };
        // Reserved for documentation (RFC 5737); nothing is sent.
        let (some, rest) = (
            "ping@to=203.0.113.1@rate=600",
            "ping@to=203.0.113.2@rate=400",
        );
        check(&[some, rest, "cpu", "ping@to=127.0.0.1@rate=900000"]).unwrap();
        let err = check(&[some, rest, "ping@to=203.0.113.3@rate=1"]).unwrap_err();
        assert_eq!(err.kind(), io::ErrorKind::InvalidInput);
        assert!(err.to_string().contains("1001 requests a second"), "{err}");
    }

    #[test]
    fn an_address_is_nobodys_own_where_the_kernel_would_bind_to_any() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("proc/sys/net/ipv4");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("ip_nonlocal_bind"), "1\n").unwrap();
        let sys = SysRoot::at(dir.path());
        assert!(is_this_machine(&sys, "127.0.0.9".parse().unwrap()));
        assert!(!is_this_machine(&sys, "203.0.113.1".parse().unwrap()));
        std::fs::write(path.join("icmp_echo_ignore_all"), "1\n").unwrap();
        let err = ping("127.0.0.1", None).tasks(&sys).map(|_| ()).unwrap_err();
        assert_eq!(err.kind(), io::ErrorKind::Unsupported);
    }
}
