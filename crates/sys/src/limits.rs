// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the kernel lets this process have.

use std::io;

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the number of files that this process may have open to at least `wanted`.
///
/// # Errors
///
/// Fails with `InvalidInput` when that is more than the hard limit, which only a privilege raises.
pub fn allow_open_files(wanted: u64) -> io::Result<()> {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|now| now >= wanted) {
        return Ok(());
    }
    if let Some(most) = limit.maximum
        && most < wanted
    {
        let what = format!("needs {wanted} open files, and `ulimit -Hn` allows {most}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    limit.current = Some(wanted);
    Ok(setrlimit(Resource::Nofile, limit)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_allowed_up_to_the_hard_limit() {
        allow_open_files(16).unwrap();
        let hard = getrlimit(Resource::Nofile).maximum;
        if let Some(hard) = hard {
            let err = allow_open_files(hard + 1).unwrap_err();
            assert_eq!(err.kind(), io::ErrorKind::InvalidInput);
        }
    }
}
