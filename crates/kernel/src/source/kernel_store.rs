// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The store of kernels: `sources/NAME/{source.json, tree/}`, `images/NAME/{image.json, boot/}`,
//! `builds/NAME/{build.json, obj/, ...}`, `flows/NAME/{flow.json, source/}`.
//!
//! What is fetched is put together below a name that begins with a dot and renamed when it is whole. What is removed is renamed
//! to such a name first: whatever ends the program meanwhile, what is listed is whole.

use std::fs::{self, File};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use punctual_model::{
    BuiltKernel, KERNEL_STOCK_FORMAT, KernelImage, KernelSource, KernelStock, RtFlow, json,
};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;

use punctual_sys::{At as _, PathError, if_there};

use crate::file::read_whole;

/// No description is longer: that of a source names the patches in it.
const LONGEST: u64 = 16 << 20;

/// The kernels of a store.
#[derive(Clone, Debug)]
pub struct KernelStore {
    directory: PathBuf,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StoredKind {
    /// A source tree.
    Source,
    /// An image of a distribution.
    Image,
    /// A build.
    Build,
    /// From a source to a comparison, step by step.
    Flow,
}

impl StoredKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Source, Self::Image, Self::Build, Self::Flow];

    fn directory(self) -> String {
        format!("{}s", self.noun())
    }

    fn file(self) -> String {
        format!("{}.json", self.noun())
    }

    /// Returns the word for one of them.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Image => "image",
            Self::Build => "build",
            Self::Flow => "flow",
        }
    }
}

/// The store of kernels cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelStoreError {
    /// A file.
    #[error(transparent)]
    File(#[from] PathError),
    /// A description cannot be understood.
    #[error("{} is damaged", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// How.
        source: serde_json::Error,
    },
    /// A name cannot be one.
    #[error(
        "`{name}` is not a valid name: use letters, digits and . _ + -, the first a letter or digit"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// The name is taken.
    #[error("a {} `{name}` already exists", kind.noun())]
    Taken {
        /// What it stands for.
        kind: StoredKind,
        /// The name.
        name: String,
    },
    /// Nothing has this name.
    #[error("there is no {what} `{name}`")]
    Unknown {
        /// What was looked for.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Somebody works with it.
    #[error("{} `{name}` is in use by another process", kind.noun())]
    InUse {
        /// What it stands for.
        kind: StoredKind,
        /// The name.
        name: String,
    },
    /// A build has no image.
    #[error("build `{name}` is incomplete: it has no bootable image")]
    NotBuilt {
        /// The build.
        name: String,
    },
}

impl KernelStore {
    /// Opens the kernels in `directory`, which need not be there.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
        }
    }

    /// Returns where everything of a name is.
    ///
    /// # Errors
    ///
    /// Fails on what cannot be a name.
    pub fn place(&self, kind: StoredKind, name: &str) -> Result<PathBuf, KernelStoreError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-');
        let first = |c: char| c.is_ascii_alphanumeric();
        if name.len() > 100 || !name.starts_with(first) || !name.chars().all(plain) {
            return Err(KernelStoreError::Name {
                name: name.to_owned(),
            });
        }
        Ok(self.directory.join(kind.directory()).join(name))
    }

    /// Lists all that there is.
    ///
    /// # Errors
    ///
    /// Fails where a directory cannot be read; a damaged entry is listed as such.
    pub fn list(&self) -> Result<KernelStock, KernelStoreError> {
        let mut damaged = Vec::new();
        Ok(KernelStock {
            format: KERNEL_STOCK_FORMAT.to_owned(),
            directory: self.directory.display().to_string(),
            sources: self.all::<KernelSource>(StoredKind::Source, &mut damaged)?,
            images: self.all::<KernelImage>(StoredKind::Image, &mut damaged)?,
            builds: self.builds(&mut damaged)?,
            damaged,
        })
    }

    fn builds(&self, damaged: &mut Vec<String>) -> Result<Vec<BuiltKernel>, KernelStoreError> {
        let mut builds = self.all::<BuiltKernel>(StoredKind::Build, damaged)?;
        for build in &mut builds {
            build.running = is_held(&self.place(StoredKind::Build, &build.name)?);
        }
        Ok(builds)
    }

    fn all<T: DeserializeOwned>(
        &self,
        kind: StoredKind,
        damaged: &mut Vec<String>,
    ) -> Result<Vec<T>, KernelStoreError> {
        let directory = self.directory.join(kind.directory());
        let Some(entries) = if_there(fs::read_dir(&directory)).at("list", &directory)? else {
            return Ok(Vec::new());
        };
        let mut names: Vec<String> = entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| !name.starts_with('.'))
            .collect();
        names.sort();
        let mut all = Vec::new();
        for name in names {
            match self.read(kind, &name) {
                Ok(Some(entry)) => all.push(entry),
                // It is being configured, or that was interrupted: nothing was built.
                Ok(None) if is_unconfigured(kind, &directory.join(&name)) => {}
                Ok(None) => damaged.push(format!("{} {name}: has no {}", kind.noun(), kind.file())),
                Err(err) => damaged.push(format!("{} {name}: {err}", kind.noun())),
            }
        }
        Ok(all)
    }

    /// Reads the description of a name; nothing where there is none.
    pub(crate) fn read<T: DeserializeOwned>(
        &self,
        kind: StoredKind,
        name: &str,
    ) -> Result<Option<T>, KernelStoreError> {
        let path = self.place(kind, name)?.join(kind.file());
        let Some(bytes) = if_there(read_whole(&path, LONGEST)).at("read", &path)? else {
            return Ok(None);
        };
        serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|source| KernelStoreError::Damaged { path, source })
    }

    /// Writes the description of a name, whole or not at all.
    pub(crate) fn write<T: Serialize>(
        &self,
        kind: StoredKind,
        name: &str,
        value: &T,
    ) -> Result<(), KernelStoreError> {
        let place = self.place(kind, name)?;
        describe(&place, kind, value)
    }

    /// Returns the source of a name.
    ///
    /// # Errors
    ///
    /// Fails where there is none, or it is damaged.
    pub fn source(&self, name: &str) -> Result<KernelSource, KernelStoreError> {
        self.read(StoredKind::Source, name)?
            .ok_or_else(|| KernelStoreError::Unknown {
                what: "source",
                name: name.to_owned(),
            })
    }

    /// Writes what is known of a source that is there.
    ///
    /// # Errors
    ///
    /// Fails where the file cannot be written.
    pub fn update(&self, source: &KernelSource) -> Result<(), KernelStoreError> {
        self.write(StoredKind::Source, &source.name, source)
    }

    /// Returns the build of a name, if there is one.
    ///
    /// # Errors
    ///
    /// Fails where it is damaged.
    pub fn build(&self, name: &str) -> Result<Option<BuiltKernel>, KernelStoreError> {
        self.read(StoredKind::Build, name)
    }

    /// Returns the flow of a name, if there is one.
    ///
    /// # Errors
    ///
    /// Fails where it is damaged.
    pub fn flow(&self, name: &str) -> Result<Option<RtFlow>, KernelStoreError> {
        self.read(StoredKind::Flow, name)
    }

    /// Writes what a flow has done, whole or not at all.
    ///
    /// # Errors
    ///
    /// Fails where the file cannot be written.
    pub fn keep_flow(&self, flow: &RtFlow) -> Result<(), KernelStoreError> {
        make_private(&self.place(StoredKind::Flow, &flow.name)?)?;
        self.write(StoredKind::Flow, &flow.name, flow)
    }

    /// Returns the image that boots and its configuration, of the build or image of this name.
    ///
    /// # Errors
    ///
    /// Fails where none has this name, or it is damaged or not complete.
    pub fn bootable(&self, name: &str) -> Result<(PathBuf, Option<PathBuf>), KernelStoreError> {
        if let Some(build) = self.build(name)? {
            let image = build.image.ok_or_else(|| KernelStoreError::NotBuilt {
                name: name.to_owned(),
            })?;
            return Ok((image.into(), Some(build.config.into())));
        }
        match self.read::<KernelImage>(StoredKind::Image, name)? {
            Some(image) => Ok((image.image.into(), image.config.map(PathBuf::from))),
            None => Err(KernelStoreError::Unknown {
                what: "build or image",
                name: name.to_owned(),
            }),
        }
    }

    /// Keeps what has a name from being removed, until what is returned is dropped. Others may use it too.
    ///
    /// # Errors
    ///
    /// Fails where somebody is about to change or remove it.
    pub fn using(&self, kind: StoredKind, name: &str) -> Result<Held, KernelStoreError> {
        let place = self.place(kind, name)?;
        match lock(&place, FlockOperation::NonBlockingLockShared) {
            Ok(None) => Err(in_use(kind, name)),
            Ok(lock) => Ok(Held { _lock: lock }),
            // Whoever may only read it uses it all the same.
            Err(_) => Ok(Held { _lock: None }),
        }
    }

    /// Makes the place of a name where there is none, and keeps others from working in it, until what is returned is dropped.
    ///
    /// # Errors
    ///
    /// Fails where somebody uses it, or it cannot be made.
    pub fn work_in(&self, kind: StoredKind, name: &str) -> Result<Held, KernelStoreError> {
        let place = self.place(kind, name)?;
        make_private(&place)?;
        match lock(&place, FlockOperation::NonBlockingLockExclusive)? {
            None => Err(in_use(kind, name)),
            lock => Ok(Held { _lock: lock }),
        }
    }

    /// Finds what has a name, to be removed: nobody else may use it from now on.
    ///
    /// # Errors
    ///
    /// Fails where there is none, or somebody uses it.
    pub fn claim(&self, kind: StoredKind, name: &str) -> Result<Claim, KernelStoreError> {
        let place = self.place(kind, name)?;
        if !place.exists() {
            // It may be what an interrupted removal has left.
            drop(sweep(&self.directory.join(kind.directory())));
            return Err(KernelStoreError::Unknown {
                what: kind.noun(),
                name: name.to_owned(),
            });
        }
        // Whoever uses it has made the file, which a full disk may not let this program do.
        let lock = match place.join(LOCK).exists() {
            true => match lock(&place, FlockOperation::NonBlockingLockExclusive)? {
                None => return Err(in_use(kind, name)),
                lock => lock,
            },
            false => None,
        };
        Ok(Claim {
            kind,
            name: name.to_owned(),
            place,
            _lock: lock,
        })
    }

    /// Removes all of a name. A source that is a directory elsewhere stays where it is.
    ///
    /// # Errors
    ///
    /// Fails where it cannot be removed.
    pub fn remove(&self, claim: Claim) -> Result<(), KernelStoreError> {
        let (aside, _lock) = self.set_aside(&claim)?;
        Ok(fs::remove_dir_all(&aside).map_err(PathError::at("remove", &aside))?)
    }

    /// Takes its name from what is removed: a name under which the rest goes with a later command, if this program is ended.
    fn set_aside(&self, claim: &Claim) -> Result<(PathBuf, File), KernelStoreError> {
        let directory = self.directory.join(claim.kind.directory());
        let _all = sweep(&directory)?;
        let place = &claim.place;
        let lock = File::open(place).map_err(PathError::at("open", place))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).ok();
        let aside = format!("{UNFINISHED}{}-{}", claim.name, std::process::id());
        let aside = directory.join(aside);
        fs::rename(place, &aside).map_err(PathError::at("remove", place))?;
        Ok((aside, lock))
    }

    /// Makes a directory in which something of `kind` is put together; it goes when it is dropped. What programs that
    /// were killed have left of such directories goes now.
    pub(crate) fn begin(&self, kind: StoredKind) -> Result<Unfinished, KernelStoreError> {
        let directory = self.directory.join(kind.directory());
        make_private(&directory)?;
        // Held until the new one is locked: else another program might take it for one that was left.
        let _all = sweep(&directory)?;
        // It is for its owner alone, as all that is made here.
        let made = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(&directory);
        let made = made.map_err(PathError::at("make a directory in", &directory))?;
        let lock = File::open(made.path()).map_err(PathError::at("open", made.path()))?;
        // Where the file system has no locks, nothing is swept.
        flock(&lock, FlockOperation::NonBlockingLockExclusive).ok();
        Ok(Unfinished { made, _lock: lock })
    }

    /// Requires that a name is free.
    pub(crate) fn free(&self, kind: StoredKind, name: &str) -> Result<PathBuf, KernelStoreError> {
        let place = self.place(kind, name)?;
        if place.exists() {
            return Err(KernelStoreError::Taken {
                kind,
                name: name.to_owned(),
            });
        }
        Ok(place)
    }

    /// Gives what was put together its name.
    pub(crate) fn finish<T: Serialize>(
        &self,
        kind: StoredKind,
        name: &str,
        unfinished: Unfinished,
        value: &T,
    ) -> Result<(), KernelStoreError> {
        let place = self.free(kind, name)?;
        let Unfinished { made, .. } = unfinished;
        describe(made.path(), kind, value)?;
        fs::rename(made.path(), &place).map_err(PathError::at("make", &place))?;
        // Nothing of that name is left to be removed.
        drop(made.keep());
        Ok(())
    }
}

/// What the names of directories begin with in which something is put together, or of which it is removed.
const UNFINISHED: &str = ".new-";

/// A directory in which something is put together, which holds a lock on it.
#[derive(Debug)]
pub(crate) struct Unfinished {
    made: tempfile::TempDir,
    _lock: File,
}

impl Unfinished {
    pub(crate) fn path(&self) -> &Path {
        self.made.path()
    }
}

/// The file in the place of a name that whoever uses it locks.
const LOCK: &str = ".lock";

/// How often a lock is tried, and how long after each time: who lists the kernels has it for an instant.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(10);

/// Something that nobody removes while this lives.
#[derive(Debug)]
pub struct Held {
    _lock: Option<File>,
}

/// Something that is to be removed, and that nobody else uses meanwhile.
#[derive(Debug)]
pub struct Claim {
    kind: StoredKind,
    name: String,
    place: PathBuf,
    _lock: Option<File>,
}

fn in_use(kind: StoredKind, name: &str) -> KernelStoreError {
    KernelStoreError::InUse {
        kind,
        name: name.to_owned(),
    }
}

/// Locks the place of a name; nothing where somebody else has it.
fn lock(place: &Path, operation: FlockOperation) -> Result<Option<File>, PathError> {
    let path = place.join(LOCK);
    let file = File::create(&path).map_err(PathError::at("create", &path))?;
    for _ in 0..TRIES {
        match flock(&file, operation) {
            Ok(()) => return Ok(Some(file)),
            Err(Errno::WOULDBLOCK) => std::thread::sleep(PAUSE),
            Err(err) => return Err(PathError::new("lock", &path, err.into())),
        }
    }
    Ok(None)
}

/// Whether somebody works in the place of a name.
fn is_held(place: &Path) -> bool {
    let shared = |lock: File| flock(&lock, FlockOperation::NonBlockingLockShared);
    File::open(place.join(LOCK)).is_ok_and(|lock| shared(lock) == Err(Errno::WOULDBLOCK))
}

/// Whether it is a build that never came to its first step: its description is written before these are.
fn is_unconfigured(kind: StoredKind, place: &Path) -> bool {
    let later = ["config", "build.log"];
    kind == StoredKind::Build && later.iter().all(|name| !place.join(name).exists())
}

/// Removes unfinished directories that nobody holds. Until what is returned is dropped, nobody else makes or removes any.
fn sweep(directory: &Path) -> Result<File, PathError> {
    let all = File::open(directory).map_err(PathError::at("open", directory))?;
    flock(&all, FlockOperation::LockExclusive).ok();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
        let free = |lock: File| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
        if ours && File::open(entry.path()).is_ok_and(free) {
            drop(fs::remove_dir_all(entry.path()));
        }
    }
    Ok(all)
}

fn describe<T: Serialize>(
    place: &Path,
    kind: StoredKind,
    value: &T,
) -> Result<(), KernelStoreError> {
    let path = place.join(kind.file());
    let mut text = json::indented(value).map_err(|source| KernelStoreError::Damaged {
        path: path.clone(),
        source,
    })?;
    text.push(b'\n');
    let temporary = place.join(".description");
    fs::write(&temporary, text)
        .and_then(|()| fs::rename(&temporary, &path))
        .map_err(|err| PathError::new("write", &path, err).into())
}

/// Makes a directory and those above it that are missing, for their owner alone.
///
/// # Errors
///
/// Fails as `mkdir(2)` does.
pub fn make_private(directory: &Path) -> Result<(), KernelStoreError> {
    let mut builder = fs::DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(directory);
    Ok(made.map_err(PathError::at("make directory", directory))?)
}

#[cfg(test)]
mod tests;
