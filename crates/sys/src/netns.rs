// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Two network namespaces of our own with a cable between them (network_namespaces(7), veth(4)).
//!
//! They have no names and no processes: what is opened in them keeps them alive, and nothing else does. So they end with the
//! last of these sockets, and with the process by whatever end, and no interface of them is ever in a namespace of others.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd, RawFd};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// One of the two namespaces.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum End {
    /// The first.
    Near,
    /// The other.
    Far,
}

/// Name and number of the interface in either namespace: a new one has none but those of the kernel, numbered from 1.
const NAME: &[u8] = b"veth0\0";
const INDEX: u32 = 1_000;

/// Makes two namespaces, whose interfaces get these addresses of a network with `prefix` bits, and returns what `open` opens in
/// each. This thread and all others stay where they are.
///
/// # Errors
///
/// Fails with `EPERM` without `CAP_SYS_ADMIN`, with `EINVAL` or `ENOSPC` where the kernel has no such namespaces or no more of
/// them, with `EOPNOTSUPP` where it has no veth, and as `open` does.
pub fn connected<T: Send>(
    near: &[Ipv4Addr],
    far: &[Ipv4Addr],
    prefix: u8,
    open: impl Fn(End) -> io::Result<T> + Sync,
) -> io::Result<(T, T)> {
    let work = || {
        unshare_network()?;
        let first = own_namespace()?;
        unshare_network()?;
        let netlink = Netlink::open()?;
        netlink.carry_out(&cable(first.as_raw_fd()))?;
        netlink.take_up(far, prefix)?;
        let opened_far = open(End::Far);
        move_into_link_name_space(first.as_fd(), Some(LinkNameSpaceType::Network))?;
        Netlink::open()?.take_up(near, prefix)?;
        Ok((open(End::Near)?, opened_far?))
    };
    std::thread::scope(|scope| {
        // A thread of its own, which ends: no thread of the caller is ever in another namespace.
        let thread = std::thread::Builder::new().name("netns".to_owned());
        let done = thread.spawn_scoped(scope, work)?.join();
        done.unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
    })
}

fn unshare_network() -> io::Result<()> {
    // SAFETY: only sockets that this thread opens from now on are in another namespace; no file descriptor, memory or credential
    // of this process is affected.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?)
}

fn own_namespace() -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    Ok(openat(
        CWD,
        "/proc/thread-self/ns/net",
        flags,
        Mode::empty(),
    )?)
}

/// A socket to the kernel's table of interfaces (rtnetlink(7)).
struct Netlink(OwnedFd);

impl Netlink {
    fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        // The protocol of none is NETLINK_ROUTE, which is 0.
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        Ok(Self(socket))
    }

    /// Gives the interface its addresses and takes it up.
    fn take_up(&self, addresses: &[Ipv4Addr], prefix: u8) -> io::Result<()> {
        for address in addresses {
            self.carry_out(&addressed(*address, prefix))?;
        }
        self.carry_out(&up())
    }

    /// Sends a request, and waits for the kernel's answer.
    fn carry_out(&self, request: &[u8]) -> io::Result<()> {
        send(&self.0, request, SendFlags::empty())?;
        let mut answer = [0_u8; 4_096];
        let length = loop {
            match recv(&self.0, &mut answer[..], RecvFlags::empty()) {
                Ok((_, length)) => break length,
                Err(Errno::INTR) => {}
                Err(err) => return Err(err.into()),
            }
        };
        match error_of(answer.get(..length).unwrap_or_default()) {
            Some(0) => Ok(()),
            Some(error) => Err(io::Error::from_raw_os_error(error.saturating_neg())),
            None => Err(io::Error::from(io::ErrorKind::InvalidData)),
        }
    }
}

/// Returns the number in an answer: 0, or an errno with a minus.
fn error_of(answer: &[u8]) -> Option<i32> {
    const NLMSG_ERROR: u16 = 2;
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let number = i32::from_ne_bytes(answer.get(16..20)?.try_into().ok()?);
    (kind == NLMSG_ERROR).then_some(number)
}

const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;

/// NLM_F_REQUEST and NLM_F_ACK, and with the others for something new: NLM_F_CREATE and NLM_F_EXCL.
const ASK: u16 = 0x005;
const MAKE: u16 = 0x605;

const IFF_UP: u32 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;

/// A pair of interfaces: one here, one in the namespace `other`.
fn cable(other: RawFd) -> Vec<u8> {
    let name = attribute(IFLA_IFNAME, NAME);
    let there = attribute(IFLA_NET_NS_FD, &other.to_ne_bytes());
    let peer = attribute(
        VETH_INFO_PEER,
        &[interface(0), name.clone(), there].concat(),
    );
    let kind = attribute(IFLA_INFO_KIND, b"veth\0");
    let info = attribute(
        IFLA_LINKINFO,
        &[kind, attribute(IFLA_INFO_DATA, &peer)].concat(),
    );
    message(RTM_NEWLINK, MAKE, &[interface(0), name, info].concat())
}

fn up() -> Vec<u8> {
    message(RTM_NEWLINK, ASK, &interface(IFF_UP))
}

fn addressed(address: Ipv4Addr, prefix: u8) -> Vec<u8> {
    #[expect(clippy::cast_possible_truncation, reason = "AF_INET is 2")]
    let family = AddressFamily::INET.as_raw() as u8;
    // Flags and scope 0.
    let body = [vec![family, prefix, 0, 0], INDEX.to_ne_bytes().to_vec()].concat();
    let of = |kind| attribute(kind, &address.octets());
    message(
        RTM_NEWADDR,
        MAKE,
        &[body, of(IFA_LOCAL), of(IFA_ADDRESS)].concat(),
    )
}

/// `struct ifinfomsg` of our interface, which is to have `flags`.
fn interface(flags: u32) -> Vec<u8> {
    // Family, padding and type 0.
    let words = [0, INDEX, flags, flags];
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// `struct rtattr`: length, type, value, and zeros up to a multiple of four bytes.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// `struct nlmsghdr` and what comes after it.
fn message(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(16 + body.len()).unwrap_or(u32::MAX);
    let mut bytes = length.to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    // Sequence number; sender, which the kernel fills in.
    bytes.extend([0; 8]);
    bytes.extend(body);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::icmp::{Echo, is_own_address};
    use std::time::Duration;

    const NEAR: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
    const FAR: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 1);

    #[test]
    fn two_namespaces_reach_each_other_and_this_one_stays_as_it_was() {
        let interfaces = || {
            let sys = crate::SysRoot::live();
            sys.read("/proc/net/dev").unwrap().lines().count()
        };
        let before = (
            interfaces(),
            std::fs::read_link("/proc/thread-self/ns/net").unwrap(),
        );
        let open = |end| {
            let (from, to) = match end {
                End::Near => (NEAR, FAR),
                End::Far => (FAR, NEAR),
            };
            Echo::open(Some(from), to, 0x1234, Duration::from_secs(1_800))
        };
        let (near, far) = match connected(&[NEAR], &[FAR], 15, open) {
            Ok(both) => both,
            Err(err) => {
                let known = [io::ErrorKind::PermissionDenied, io::ErrorKind::Unsupported];
                assert!(known.contains(&err.kind()), "{err:?}");
                return;
            }
        };
        for echo in [&near, &far, &near] {
            echo.send(7).unwrap();
            assert_eq!(echo.receive().unwrap(), Some(7));
        }
        let after = (
            interfaces(),
            std::fs::read_link("/proc/thread-self/ns/net").unwrap(),
        );
        assert_eq!(before, after);
        assert!(!is_own_address(NEAR) && !is_own_address(FAR));
    }

    #[test]
    fn a_socket_that_cannot_be_opened_is_the_error() {
        let result = connected(&[NEAR], &[FAR], 15, |end| match end {
            End::Near => Ok(()),
            End::Far => Err(io::Error::from(io::ErrorKind::AddrInUse)),
        });
        let kind = result.unwrap_err().kind();
        let known = [
            io::ErrorKind::AddrInUse,
            io::ErrorKind::PermissionDenied,
            io::ErrorKind::Unsupported,
        ];
        assert!(known.contains(&kind), "{kind:?}");
    }

    #[test]
    fn lengths_are_those_of_what_is_sent() {
        let cable = cable(3);
        assert_eq!(cable.len() % 4, 0);
        assert_eq!(
            cable[..4],
            u32::try_from(cable.len()).unwrap().to_ne_bytes()
        );
        assert_eq!(attribute(3, b"ab").len(), 8);
        assert_eq!(error_of(&[0; 8]), None);
    }
}
