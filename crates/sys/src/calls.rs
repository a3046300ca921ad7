// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Names of system calls.

/// Returns the name of system call `number` on this machine's architecture, as its page of the manual is called.
pub fn name(number: i64) -> Option<&'static str> {
    let number = usize::try_from(number).ok()?;
    syscalls::Sysno::new(number).map(|call| call.name())
}

/// Whether this machine's architecture has a system call of this name.
pub fn is_known(call: &str) -> bool {
    call.parse::<syscalls::Sysno>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_their_names() {
        assert_eq!(name(libc::SYS_clock_nanosleep), Some("clock_nanosleep"));
        assert_eq!(name(libc::SYS_futex), Some("futex"));
        assert!(is_known("futex") && !is_known("futexes"));
        assert_eq!(name(-1), None);
        assert_eq!(name(1 << 40), None);
    }
}
