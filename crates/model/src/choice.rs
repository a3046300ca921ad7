// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Types that are one of a few names.

/// The name is not one of the choices.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{given}` is not one of: {choices}")]
pub struct UnknownChoice {
    given: String,
    choices: String,
}

impl UnknownChoice {
    /// Says that `given` is none of `choices`.
    pub fn new(given: &str, choices: &[&str]) -> Self {
        Self {
            given: given.to_owned(),
            choices: choices.join(", "),
        }
    }
}

/// Gives an enum its names: `ALL`, `name`, `Display` and `FromStr`.
#[macro_export]
macro_rules! choices {
    ($type:ty { $($variant:ident => $name:literal),+ $(,)? }) => {
        impl $type {
            /// Every choice, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns the name used on the command line and in JSON.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::UnknownChoice;

            fn from_str(s: &str) -> Result<Self, Self::Err> {
                Self::ALL
                    .iter()
                    .copied()
                    .find(|choice| choice.name() == s)
                    .ok_or_else(|| {
                        let names: Vec<_> = Self::ALL.iter().map(|c| c.name()).collect();
                        $crate::UnknownChoice::new(s, &names)
                    })
            }
        }
    };
}
