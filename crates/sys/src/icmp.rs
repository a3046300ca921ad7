// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Echo requests and their replies, as ping(8) sends them (RFC 792).

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, connect, ipproto, recv,
    send, socket_with,
};

use crate::errno::done;

const ECHO_REPLY: u8 = 0;
const ECHO_REQUEST: u8 = 8;

/// Type, code, checksum, identifier, sequence number.
const HEADER: usize = 8;

/// What ping(8) sends behind the header.
const PAYLOAD: usize = 56;

/// A packet of ours with the largest IP header before it.
const LARGEST: usize = 60 + HEADER + PAYLOAD;

/// A socket that sends echo requests to one host and hears its replies.
#[derive(Debug)]
pub struct Echo {
    socket: OwnedFd,
    /// Whether what is received begins with the IP header.
    raw: bool,
    id: u16,
    patience: Duration,
}

impl Echo {
    /// Opens a socket for echo requests to `to`, sent by the own address `from` if it is given.
    /// `id` tells the replies from those to others. No reply is waited for longer than `patience`.
    ///
    /// # Errors
    ///
    /// Fails with `EPERM` or `EACCES` without `CAP_NET_RAW`, unless `net.ipv4.ping_group_range`
    /// admits one of this process's groups; with `EADDRNOTAVAIL` when `from` is no own address, and
    /// as `connect(2)` does when there is no way to `to` or it is a broadcast address.
    pub fn open(
        from: Option<Ipv4Addr>,
        to: Ipv4Addr,
        id: u16,
        patience: Duration,
    ) -> io::Result<Self> {
        let open = |kind| {
            let flags = SocketFlags::CLOEXEC;
            socket_with(AddressFamily::INET, kind, flags, Some(ipproto::ICMP))
        };
        let (socket, raw) = match open(SocketType::RAW) {
            Ok(socket) => (socket, true),
            Err(refused) => match open(SocketType::DGRAM) {
                Ok(socket) => (socket, false),
                Err(_) => return Err(refused.into()),
            },
        };
        if raw {
            only_replies(&socket)?;
        }
        if let Some(from) = from {
            bind(&socket, &SocketAddrV4::new(from, 0))?;
        }
        connect(&socket, &SocketAddrV4::new(to, 0))?;
        set_socket_timeout(&socket, Timeout::Recv, Some(patience))?;
        Ok(Self {
            socket,
            raw,
            id,
            patience,
        })
    }

    /// Sends request number `sequence`.
    ///
    /// # Errors
    ///
    /// Fails as `send(2)` does.
    pub fn send(&self, sequence: u16) -> io::Result<()> {
        send(
            &self.socket,
            &request(self.id, sequence),
            SendFlags::empty(),
        )?;
        Ok(())
    }

    /// Returns the number of the next reply, or `None` when none came within what
    /// its patience, or twice of that while replies to others come.
    ///
    /// # Errors
    ///
    /// Fails as `recv(2)` does, such as with `EHOSTUNREACH`.
    pub fn receive(&self) -> io::Result<Option<u16>> {
        let begun = Instant::now();
        let mut packet = [0; LARGEST];
        loop {
            let length = match recv(&self.socket, &mut packet[..], RecvFlags::empty()) {
                Ok((_, length)) => length,
                Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
                Err(err) => return Err(err.into()),
            };
            if let Some(sequence) = packet.get(..length).and_then(|packet| self.reply(packet)) {
                return Ok(Some(sequence));
            }
            if begun.elapsed() >= self.patience {
                return Ok(None);
            }
        }
    }

    fn reply(&self, packet: &[u8]) -> Option<u16> {
        let start = match self.raw {
            // The length of the IP header in words of 4 bytes (RFC 791).
            true => usize::from(packet.first()? & 0x0f) * 4,
            false => 0,
        };
        let header = packet.get(start..start + HEADER)?;
        let word = |at: usize| Some(u16::from_be_bytes([*header.get(at)?, *header.get(at + 1)?]));
        // The kernel gives a datagram socket an identifier of its own, and only that one's replies.
        let ours = !self.raw || word(4)? == self.id;
        (*header.first()? == ECHO_REPLY && ours).then(|| word(6))?
    }
}

/// Returns the echo request with its checksum.
fn request(id: u16, sequence: u16) -> [u8; HEADER + PAYLOAD] {
    let mut packet = [0x55; HEADER + PAYLOAD];
    let [id, sequence] = [id, sequence].map(u16::to_be_bytes);
    let header = [
        ECHO_REQUEST,
        0,
        0,
        0,
        id[0],
        id[1],
        sequence[0],
        sequence[1],
    ];
    for (byte, of_header) in packet.iter_mut().zip(header) {
        *byte = of_header;
    }
    let [high, low] = checksum(&packet).to_be_bytes();
    packet[2] = high;
    packet[3] = low;
    packet
}

/// The Internet checksum (RFC 1071): the ones' complement of the ones' complement sum of all
/// 16-bit words.
fn checksum(packet: &[u8]) -> u16 {
    let words = packet.chunks(2).map(|pair| match pair {
        [high, low] => u32::from(u16::from_be_bytes([*high, *low])),
        [high] => u32::from(*high) << 8,
        _ => 0,
    });
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    #[expect(clippy::cast_possible_truncation, reason = "folded into 16 bits")]
    let folded = sum as u16;
    !folded
}

/// Keeps everything but echo replies from a raw socket, which else gets a copy of every ICMP
/// packet of the host (raw(7), `ICMP_FILTER`; the constants are those of linux/icmp.h).
fn only_replies(socket: &OwnedFd) -> io::Result<()> {
    const SOL_RAW: libc::c_int = 255;
    const ICMP_FILTER: libc::c_int = 1;
    const SIZE: libc::socklen_t = 4;
    // A set bit blocks the type of its number.
    let blocked: u32 = !(1 << ECHO_REPLY);
    // SAFETY: the option's value is a `u32`, which is alive and whose size is said.
    let rc = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            SOL_RAW,
            ICMP_FILTER,
            (&raw const blocked).cast(),
            SIZE,
        )
    };
    done(rc)
}

/// Whether `address` is one of this machine's own (in this network namespace). Needs no privilege.
///
/// With `net.ipv4.ip_nonlocal_bind` the kernel does not tell; ask only where that is off.
pub fn is_own_address(address: Ipv4Addr) -> bool {
    let special = address.is_unspecified() || address.is_multicast() || address.is_broadcast();
    !special && UdpSocket::bind(SocketAddrV4::new(address, 0)).is_ok()
}

/// Takes the loopback interface up, as the first process of a machine has to: 127.0.0.1/8 comes with it.
///
/// # Errors
///
/// Fails as `ioctl(2)` does, with `EPERM` without `CAP_NET_ADMIN`; where the kernel has no network, as `socket(2)` does.
pub fn loopback_up() -> io::Result<()> {
    let socket = UdpSocket::bind(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0))?;
    let mut ifr_name = [0; libc::IFNAMSIZ];
    for (place, byte) in ifr_name.iter_mut().zip(*b"lo") {
        *place = libc::c_char::from_ne_bytes([byte]);
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is 1")]
    let ifru_flags = libc::IFF_UP as libc::c_short;
    let request = libc::ifreq {
        ifr_name,
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags },
    };
    // SAFETY: the request is alive, its name ends with a zero, and the kernel reads no more than an `ifreq`.
    let rc = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    done(rc)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_with_its_checksum_sums_up_to_nothing() {
        assert_eq!(checksum(&request(0x1234, 7)), 0);
        // The example of RFC 1071, section 3.
        let example = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(checksum(&example), !0xddf2);
        assert_eq!(checksum(&[0xff]), !0xff00);
    }

    #[test]
    fn own_addresses_are_told_from_others() {
        assert!(is_own_address(Ipv4Addr::LOCALHOST));
        assert!(is_own_address(Ipv4Addr::new(127, 1, 2, 3)));
        for other in [
            Ipv4Addr::UNSPECIFIED,
            Ipv4Addr::BROADCAST,
            // Reserved for documentation (RFC 5737): nobody has it.
            Ipv4Addr::new(192, 0, 2, 1),
            Ipv4Addr::new(224, 0, 0, 1),
        ] {
            assert!(!is_own_address(other), "{other}");
        }
    }

    #[test]
    fn a_request_to_ourselves_is_answered_with_its_number() {
        let to = Ipv4Addr::new(127, 0, 0, 2);
        let open = |id, patience| {
            let patience = Duration::from_millis(patience);
            Echo::open(Some(Ipv4Addr::LOCALHOST), to, id, patience)
        };
        let echo = match open(0x1234, 1_800_000) {
            Ok(echo) => echo,
            // It needs a privilege.
            Err(err) => {
                assert_eq!(err.kind(), io::ErrorKind::PermissionDenied);
                return;
            }
        };
        // What another asked for is not ours.
        let other = open(0x4321, 20).unwrap();
        for sequence in [0, 1, 0xffff] {
            other.send(9).unwrap();
            echo.send(sequence).unwrap();
            assert_eq!(echo.receive().unwrap(), Some(sequence));
            assert_eq!(other.receive().unwrap(), Some(9));
        }
        assert_eq!(other.receive().unwrap(), None);
    }
}
