// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Random bytes that nobody can guess, and ids that are made of them.

use std::io;
use std::time::SystemTime;

use rustix::rand::{GetRandomFlags, getrandom};
use uuid::{Builder, Uuid};

/// Returns `N` bytes of the kernel's (getrandom(2)).
///
/// # Errors
///
/// `ENOSYS` where a filter forbids the call.
pub fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        filled += match getrandom(rest, GetRandomFlags::empty()) {
            Err(rustix::io::Errno::INTR) => 0,
            result => result?,
        };
    }
    Ok(bytes)
}

/// Makes an id that no other has and that sorts behind those made before: a UUID of version 7 (RFC 9562), with the
/// time to a quarter of a microsecond (method 3 of its section 6.2) and 62 random bits.
///
/// # Errors
///
/// Fails as [`bytes`] does. No file is opened for it: `/dev/random` may be missing, or no descriptor be left.
pub fn id() -> io::Result<Uuid> {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = since_epoch.unwrap_or_default();
    let millis = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    let [high, low] = fraction(now.subsec_nanos());
    let mut rest = bytes::<10>()?;
    rest[0] = high;
    rest[1] = low;
    Ok(Builder::from_unix_timestamp_millis(millis, &rest).into_uuid())
}

/// Returns how much of its millisecond has gone, in 4096ths.
fn fraction(nanos: u32) -> [u8; 2] {
    let part = nanos % 1_000_000 * 4_096 / 1_000_000;
    let [.., high, low] = part.to_be_bytes();
    [high, low]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_of_version_7_and_different() {
        let ids: Vec<Uuid> = (0..100).map(|_| id().unwrap()).collect();
        assert!(ids.iter().all(|id| id.get_version_num() == 7));
        assert!(
            ids.iter()
                .all(|id| id.get_variant() == uuid::Variant::RFC4122)
        );
        let mut chance: Vec<u64> = ids.iter().map(|id| id.as_u64_pair().1).collect();
        chance.sort_unstable();
        chance.dedup();
        assert_eq!(chance.len(), ids.len());
    }

    #[test]
    fn a_later_moment_of_a_millisecond_sorts_later() {
        assert_eq!(fraction(7_000_000), [0, 0]);
        assert_eq!(fraction(999_999), [0x0f, 0xff]);
        assert!(fraction(500_250) > fraction(500_000));
    }
}
