// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Which boots a test takes.

use std::io;
use std::path::{Path, PathBuf};

use punctual_model::Nanos;
use thiserror::Error;

use super::kernel::Kernel;
use crate::GuestTarget;
use crate::boot::{Architecture, Image, Machine};
use crate::guest::Model;

/// Why kernels cannot be tested.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// An image cannot be read.
    #[error("read kernel image {}", path.display())]
    Image {
        /// The image.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Two kernels have one name.
    #[error("two kernels are named {name}: give them different names, as in NAME=IMAGE")]
    SameName {
        /// The name.
        name: String,
    },
    /// A name that `KERNEL:MODEL` or a table could not tell from something else.
    #[error(
        "kernel name {name:?}: must not have a colon or a control character; give another one, as in NAME=IMAGE"
    )]
    BadName {
        /// The name.
        name: String,
    },
    /// A kernel has none of the models that are asked for.
    #[error("kernel {kernel} has none of the requested models: its image says {found}")]
    NoModel {
        /// The kernel.
        kernel: String,
        /// What the image says.
        found: String,
    },
    /// The baseline is not among what is tested.
    #[error("baseline {asked} is not tested; there are {rows}")]
    NoBaseline {
        /// What was asked for.
        asked: String,
        /// What is tested.
        rows: String,
    },
}

/// A kernel with a preemption model.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Row {
    /// Name of the kernel.
    pub kernel: String,
    /// Its image.
    pub image: PathBuf,
    /// The processors that it is for.
    pub architecture: Architecture,
    /// The model, where it is known before the boot.
    pub model: Option<Model>,
    /// Kernel arguments of its own.
    pub append: Vec<String>,
    /// Fragments whose options its configuration has.
    pub config: Vec<String>,
    /// Whether the model must be asked for at the boot.
    dynamic: bool,
}

impl Row {
    /// Returns the name of its model.
    pub fn model_name(&self) -> &'static str {
        self.model.map_or("as built", Model::name)
    }
}

/// What all kernels of a test have in common.
#[derive(Clone, Debug)]
pub struct Common {
    /// Further kernel arguments.
    pub append: Vec<String>,
    /// How long a boot may take, by the host's clock.
    pub time_limit: Nanos,
}

impl Row {
    /// Returns the guest that it is.
    pub fn target(&self, common: &Common) -> GuestTarget {
        let asked = Model::asked_by(self.append.iter().map(String::as_str)).is_some();
        let model = self.model.filter(|_| self.dynamic && !asked);
        let model = model.and_then(Model::argument);
        let all = common.append.iter().chain(&self.append).cloned();
        GuestTarget {
            machine: Some(Machine::Virtual),
            append: all.chain(model).collect(),
            model: self.model,
            time_limit: common.time_limit,
            ..GuestTarget::of(&self.image)
        }
    }
}

/// Returns the rows of `kernels`. Of a kernel that takes its model at the boot those that it names are tested, or those
/// of `models`, or all.
///
/// # Errors
///
/// Fails on an image that cannot be read, on equal names, and on a kernel without a wanted model.
pub fn rows(kernels: &[Kernel], models: &[Model]) -> Result<Vec<Row>, PlanError> {
    let mut rows: Vec<Row> = Vec::new();
    for kernel in kernels {
        let path = &kernel.image;
        let image = Image::read(path).map_err(|source| PlanError::Image {
            path: path.clone(),
            source,
        })?;
        let models = match kernel.models.is_empty() {
            true => models,
            false => &kernel.models,
        };
        let name = kernel.name.clone().or_else(|| image.release.clone());
        let name = name.unwrap_or_else(|| file_name(path));
        if name.contains(':') || name.chars().any(char::is_control) {
            return Err(PlanError::BadName { name });
        }
        if rows.iter().any(|row| row.kernel == name) {
            return Err(PlanError::SameName { name });
        }
        let found = image.models();
        let dynamic = image.is_dynamic();
        let row = |model| Row {
            kernel: name.clone(),
            image: path.clone(),
            architecture: image.architecture,
            model,
            append: kernel.append.clone(),
            config: kernel.config.clone(),
            dynamic,
        };
        let wanted = Model::ALL
            .into_iter()
            .filter(|model| match models.is_empty() {
                true => found.contains(model),
                false => models.contains(model) && image.can_run(*model),
            });
        let wanted: Vec<Model> = wanted.collect();
        let before = rows.len();
        match wanted.len() {
            0 if found.is_empty() && models.is_empty() => rows.push(row(None)),
            // It was built with one of them: the guest says which.
            2.. if !dynamic => rows.push(row(None)),
            _ => rows.extend(wanted.into_iter().map(|model| row(Some(model)))),
        }
        if rows.len() == before {
            let known: Vec<&str> = found.iter().map(|model| model.name()).collect();
            return Err(PlanError::NoModel {
                kernel: name,
                found: match known.is_empty() {
                    true => "nothing of its model".to_owned(),
                    false => known.join(", "),
                },
            });
        }
    }
    Ok(rows)
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// What rows are compared with.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Baseline {
    /// The row of this kernel with the same model; a kernel with one model: that one.
    Kernel(String),
    /// This row.
    Row(usize),
}

impl Baseline {
    /// Finds `asked` among `rows`: `KERNEL` or `KERNEL:MODEL`, the kernel by name or image.
    ///
    /// # Errors
    ///
    /// Fails when it is not there.
    pub fn find(asked: &str, rows: &[Row]) -> Result<Self, PlanError> {
        let is = |row: &Row, name: &str| row.kernel == name || row.image == Path::new(name);
        if let Some(row) = rows.iter().find(|row| is(row, asked)) {
            return Ok(Self::Kernel(row.kernel.clone()));
        }
        let found = asked.rsplit_once(':').and_then(|(name, model)| {
            rows.iter()
                .position(|row| is(row, name) && row.model_name() == model)
        });
        found.map(Self::Row).ok_or_else(|| {
            let rows = rows.iter();
            let names = rows.map(|row| format!("{}:{}", row.kernel, row.model_name()));
            PlanError::NoBaseline {
                asked: asked.to_owned(),
                rows: names.collect::<Vec<_>>().join(", "),
            }
        })
    }

    /// Returns the row that the row at `place` is compared with, if there is one.
    pub fn of(&self, place: usize, rows: &[Row]) -> Option<usize> {
        let found = match self {
            Self::Row(row) => *row,
            Self::Kernel(name) => {
                let model = rows.get(place)?.model;
                let theirs = || {
                    (0..rows.len())
                        .filter(|at| rows.get(*at).is_some_and(|row| row.kernel == *name))
                };
                let same = theirs().find(|at| rows.get(*at).is_some_and(|row| row.model == model));
                let only = || theirs().next().filter(|_| theirs().count() == 1);
                same.or_else(only)?
            }
        };
        (found != place).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kernel: &str, model: Model) -> Row {
        Row {
            kernel: kernel.to_owned(),
            image: PathBuf::from(format!("/boot/{kernel}")),
            architecture: Architecture::X86_64,
            model: Some(model),
            append: Vec::new(),
            config: Vec::new(),
            dynamic: model != Model::Rt,
        }
    }

    fn some() -> Vec<Row> {
        vec![
            row("a", Model::None),
            row("a", Model::Full),
            row("rt", Model::Rt),
            row("b", Model::Full),
        ]
    }

    #[test]
    fn a_baseline_is_the_same_model_or_a_named_row() {
        let rows = some();
        let kernel = Baseline::find("a", &rows).unwrap();
        let against =
            |baseline: &Baseline| (0..4).map(|at| baseline.of(at, &rows)).collect::<Vec<_>>();
        assert_eq!(against(&kernel), [None, None, None, Some(1)]);
        let named = Baseline::find("/boot/a:none", &rows).unwrap();
        assert_eq!(against(&named), [None, Some(0), Some(0), Some(0)]);
        let only = Baseline::find("rt", &rows).unwrap();
        assert_eq!(against(&only), [Some(2), Some(2), None, Some(2)]);
        let err = Baseline::find("c:none", &rows).unwrap_err().to_string();
        assert!(err.contains("a:none, a:full, rt:rt"), "{err}");
    }

    #[test]
    fn boots_differ_by_kernel_and_model_alone() {
        let common = Common {
            append: vec!["debug".to_owned()],
            time_limit: Nanos::from_secs(9),
        };
        let target = some()[1].target(&common);
        assert_eq!(target.append, ["debug", "preempt=full"]);
        assert_eq!(target.asked_model(), Some(Model::Full));
        let words = target.words();
        assert_eq!(words.parse(), Ok(target), "{words}");
        assert_eq!(some()[2].target(&common).append, ["debug"]);
        // What a kernel has of its own comes behind what all have, and a model of its own is not asked for twice.
        let own = |append: &str| Row {
            append: vec![append.to_owned()],
            ..some()[1].clone()
        };
        let target = own("isolcpus=1,2").target(&common);
        assert_eq!(target.append, ["debug", "isolcpus=1,2", "preempt=full"]);
        assert_eq!(target.words().parse(), Ok(target));
        let target = own("preempt=full").target(&common);
        assert_eq!(target.append, ["debug", "preempt=full"]);
    }

    #[test]
    fn kernels_that_cannot_be_told_apart_or_read_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kernel");
        // An ELF file for x86-64, which says nothing of its kernel.
        let mut elf = vec![0; 64];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        elf[18] = 62;
        std::fs::write(&path, elf).unwrap();
        let kernel = |image: PathBuf| Kernel {
            image,
            ..Kernel::default()
        };
        let kernels = [kernel(path.clone()), kernel(path)];
        let err = rows(&kernels, &[]).unwrap_err().to_string();
        assert!(err.starts_with("two kernels are named kernel:"), "{err}");
        let one = rows(&kernels[..1], &[]).unwrap();
        assert_eq!((one[0].model, one[0].model_name()), (None, "as built"));
        let err = rows(&kernels[..1], &[Model::Rt]).unwrap_err().to_string();
        assert!(err.contains("nothing of its model"), "{err}");
        // `--baseline a:none` is the kernel `a`.
        for name in ["a:none", "a\nb", "a\u{1b}[2J"] {
            let named = Kernel {
                name: Some(name.to_owned()),
                ..kernels[0].clone()
            };
            let err = rows(&[named], &[]).unwrap_err().to_string();
            assert!(err.contains("must not have a colon"), "{err}");
            assert!(!err.contains(char::is_control), "{err:?}");
        }
        assert!(rows(&[kernel(dir.path().join("none"))], &[]).is_err());
    }
}
