// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What solves the systems.
//!
//! A static program cannot load a shared library, so those of others work in a process of their own: Python
//! calls their LAPACK (engine.py), or a command does all of it and prints what HPL prints.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// What solves the systems.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Engine {
    /// Our own factorisation.
    Own,
    /// `dgesv` of a library.
    Library {
        /// Which one.
        kind: Library,
        /// The file, where the usual names are not meant.
        path: Option<PathBuf>,
    },
    /// A command that prints what HPL prints.
    Command(String),
}

/// A library with a LAPACK.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Library {
    /// `OpenBLAS`.
    OpenBlas,
    /// Intel's Math Kernel Library.
    Mkl,
}

impl Library {
    const ALL: [Self; 2] = [Self::OpenBlas, Self::Mkl];

    /// Returns the name as `--engine` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenBlas => "openblas",
            Self::Mkl => "mkl",
        }
    }

    /// Returns the names under which the dynamic linker may know it.
    pub(super) const fn files(self) -> &'static [&'static str] {
        match self {
            Self::OpenBlas => &["libopenblas.so.0", "libopenblas.so"],
            Self::Mkl => &[
                "libmkl_rt.so",
                "libmkl_rt.so.3",
                "libmkl_rt.so.2",
                "libmkl_rt.so.1",
            ],
        }
    }

    /// Says how to get it.
    pub(super) const fn hint(self) -> &'static str {
        match self {
            Self::OpenBlas => {
                "install it (Debian: libopenblas0), or name the file: --engine openblas:PATH"
            }
            Self::Mkl => {
                "install it (Debian: intel-mkl; or pip install mkl for the python3 in PATH), or name the file: --engine mkl:PATH"
            }
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => f.pad("own"),
            Self::Library { kind, path: None } => f.pad(kind.name()),
            Self::Library {
                kind,
                path: Some(path),
            } => write!(f, "{}:{}", kind.name(), path.display()),
            Self::Command(command) => write!(f, "command:{command}"),
        }
    }
}

impl FromStr for Engine {
    type Err = ParseEngineError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let (name, rest) = match s.split_once(':') {
            Some((name, rest)) => (name, Some(rest)),
            None => (s, None),
        };
        let unknown = || ParseEngineError {
            engine: s.to_owned(),
        };
        let library = Library::ALL.into_iter().find(|kind| kind.name() == name);
        match (name, library, rest.map(str::trim)) {
            (_, _, Some("")) | ("own", _, Some(_)) | ("command", _, None) => Err(unknown()),
            ("own", _, None) => Ok(Self::Own),
            ("command", _, Some(command)) => Ok(Self::Command(command.to_owned())),
            (_, Some(kind), path) => Ok(Self::Library {
                kind,
                path: path.map(PathBuf::from),
            }),
            _ => Err(unknown()),
        }
    }
}

/// An engine was not understood.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{engine}` is not one of: own, openblas[:PATH], mkl[:PATH], command:PROGRAM")]
pub struct ParseEngineError {
    engine: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_round_trip() {
        for text in [
            "own",
            "openblas",
            "mkl:/opt/lib/libmkl_rt.so.2",
            "command:mpirun -n 4 xhpl",
        ] {
            assert_eq!(text.parse::<Engine>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn bad_engines_are_named() {
        for text in ["", "blas", "own:fast", "openblas:", "command", "command: "] {
            let err = text.parse::<Engine>().unwrap_err().to_string();
            assert!(err.starts_with(&format!("`{text}` is not")), "{err}");
        }
    }
}
