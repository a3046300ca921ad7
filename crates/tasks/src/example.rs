// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Sets that come with the program.

/// Before the name of such a set, where a file is expected.
pub const PREFIX: &str = "example:";

/// Name and text of each set.
pub const EXAMPLES: [(&str, &str); 5] = [
    ("arm", include_str!("../../../docs/data/arm.toml")),
    (
        "earliest-deadline-first",
        include_str!("../../../docs/data/earliest-deadline-first.toml"),
    ),
    (
        "ext-earliest-deadline-first",
        include_str!("../../../docs/data/ext-earliest-deadline-first.toml"),
    ),
    (
        "ext-rate-monotonic",
        include_str!("../../../docs/data/ext-rate-monotonic.toml"),
    ),
    (
        "rate-monotonic",
        include_str!("../../../docs/data/rate-monotonic.toml"),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_a_set_of_its_name() {
        for (name, text) in EXAMPLES {
            let draft = crate::file::parse(name, text).unwrap();
            assert_eq!(draft.set.name, name);
        }
    }
}
