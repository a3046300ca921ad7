// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A kernel of a test in words: `[NAME=]IMAGE[,OPTION...]`.
//!
//! Options are `append=ARGUMENTS`, `model=MODEL` and `config=FRAGMENT`, and can be repeated. A comma in a value is written
//! twice. So one image can be tested with two command lines.

use std::path::{Path, PathBuf};

use punctual_model::split_options;
use thiserror::Error;

use crate::guest::Model;

/// Why words are no kernel.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{kernel}: {reason}")]
pub struct ParseKernelError {
    kernel: String,
    reason: String,
}

/// A kernel that is to be tested, and with what.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Kernel {
    /// Its name in the results, where one is given.
    pub name: Option<String>,
    /// Its image.
    pub image: PathBuf,
    /// Kernel arguments of its own.
    pub append: Vec<String>,
    /// The models that it is tested with; those of the whole test, or all, where none is named.
    pub models: Vec<Model>,
    /// Fragments whose options its configuration must have.
    pub config: Vec<String>,
}

impl Kernel {
    /// Reads it. A path may have the signs too: what is a file is taken for one.
    ///
    /// # Errors
    ///
    /// Fails on an option that there is not, and where no image is named.
    pub fn parse(text: &str) -> Result<Self, ParseKernelError> {
        let fail = |reason: String| ParseKernelError {
            kernel: text.to_owned(),
            reason,
        };
        if Path::new(text).exists() {
            return Ok(Self {
                image: PathBuf::from(text),
                ..Self::default()
            });
        }
        let mut pieces = split_options(text).into_iter();
        let first = pieces.next().unwrap_or_default();
        let (name, image) = named(&first);
        if image.as_os_str().is_empty() {
            return Err(fail("names no kernel image".to_owned()));
        }
        let mut kernel = Self {
            name,
            image,
            ..Self::default()
        };
        for option in pieces {
            let (key, value) = option.split_once('=').unwrap_or((&option, ""));
            match key {
                "append" | "config" | "model" if value.is_empty() => {
                    return Err(fail(format!("`{option}` has no value")));
                }
                "append" => kernel.append.push(value.to_owned()),
                "config" => kernel.config.push(value.to_owned()),
                "model" => {
                    let model = value
                        .parse()
                        .map_err(|err| fail(format!("{option}: {err}")))?;
                    kernel.models.push(model);
                }
                _ => return Err(fail(unknown(&option))),
            }
        }
        let arguments = || kernel.append.iter().map(String::as_str);
        Model::check(arguments()).map_err(|err| fail(format!("preempt=: {err}")))?;
        if let Some(asked) = Model::asked_by(arguments()) {
            if kernel.models.iter().any(|model| *model != asked) {
                return Err(fail(format!(
                    "preempt={asked} contradicts model={}",
                    kernel.models.first().map_or("", |model| model.name())
                )));
            }
            kernel.models = vec![asked];
        }
        Ok(kernel)
    }
}

fn unknown(option: &str) -> String {
    format!("`{option}` is not an option of a kernel; use append=, model= or config=")
}

fn named(text: &str) -> (Option<String>, PathBuf) {
    match text.split_once('=') {
        Some((name, path))
            if !name.contains('/') && !name.is_empty() && !Path::new(text).exists() =>
        {
            (Some(name.to_owned()), PathBuf::from(path))
        }
        _ => (None, PathBuf::from(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_image_has_two_command_lines() {
        let kernel =
            Kernel::parse("quiet=/boot/vmlinuz,append=isolcpus=1,,2,append=nohz=off").unwrap();
        assert_eq!(kernel.name.as_deref(), Some("quiet"));
        assert_eq!(kernel.image, Path::new("/boot/vmlinuz"));
        assert_eq!(kernel.append, ["isolcpus=1,2", "nohz=off"]);
        let plain = Kernel::parse("/boot/vmlinuz,model=full,config=timerlat").unwrap();
        assert_eq!((plain.name, plain.models), (None, vec![Model::Full]));
        assert_eq!(plain.config, ["timerlat"]);
    }

    #[test]
    fn a_model_on_the_command_line_is_the_model_that_is_tested() {
        let models = |text: &str| Kernel::parse(text).map(|kernel| kernel.models);
        assert_eq!(models("a=K,append=preempt=full"), Ok(vec![Model::Full]));
        let err = models("a=K,append=preempt=full,model=none").unwrap_err();
        assert!(err.to_string().contains("contradicts model="), "{err}");
    }

    #[test]
    fn a_file_is_a_file_whatever_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let odd = dir.path().join("a=b,append=c");
        std::fs::write(&odd, "").unwrap();
        let kernel = Kernel::parse(odd.to_str().unwrap()).unwrap();
        assert_eq!((kernel.image, kernel.append), (odd, Vec::new()));
    }

    #[test]
    fn bad_kernels_are_refused_with_the_reason() {
        for (text, part) in [
            ("a=K,apend=x", "`apend=x` is not an option"),
            ("a=K,append=", "`append=` has no value"),
            ("a=K,virtual-time", "not an option of a kernel"),
            ("a=K,model=soft", "not a preemption model"),
            ("a=K,append=preempt=soft", "not a preemption model"),
            ("a=", "names no kernel"),
        ] {
            let err = Kernel::parse(text).unwrap_err().to_string();
            assert!(err.starts_with(text) && err.contains(part), "{err}");
        }
    }
}
