// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The profiles that come with the program.

/// Name and text of each built-in profile.
pub const BUILT_IN: [(&str, &str); 4] = [
    ("latency", include_str!("builtin/latency.toml")),
    ("isolate", include_str!("builtin/isolate.toml")),
    ("raju", include_str!("builtin/raju.toml")),
    ("throughput", include_str!("builtin/throughput.toml")),
];

/// Returns the text of a built-in profile.
pub fn builtin(name: &str) -> Option<&'static str> {
    BUILT_IN
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    #[test]
    fn every_built_in_profile_can_be_read() {
        for (name, text) in BUILT_IN {
            let profile = Profile::parse(text, name).unwrap();
            assert_eq!(profile.name, name);
            assert!(!profile.summary.is_empty() && !profile.wants.is_empty());
            if let Some(base) = &profile.base {
                assert!(builtin(base).is_some(), "{name}: {base}");
            }
        }
        assert_eq!(builtin("none"), None);
    }
}
