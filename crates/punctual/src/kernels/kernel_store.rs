// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where sources, images and configurations are found and put.

use std::error::Error;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use punctual_kernel::boot::Architecture;
use punctual_kernel::build::BuildError;
use punctual_kernel::config::{self, ConfigError, Values};
use punctual_kernel::patch::PatchError;
use punctual_kernel::source::{
    self, FetchError, Fetched, Held, KernelStore, KernelStoreError, Options, StoredKind, Tree,
    TreeError, WantedSource,
};
use punctual_kernel::{ToolError, UnpackError};
use punctual_model::{KernelSource, KernelStock};
use punctual_sys::SysRoot;
use punctual_sys::dir::Missing;

use crate::error::CliError;
use crate::exit::Exit;
use crate::home;
use crate::output::remark;
pub(crate) use crate::output::show;
use crate::signals::StopRequest;
use crate::tuning;

/// Opens the kernels of the store, whose directory is made where there is none.
pub(crate) fn open(home: Option<&Path>) -> Result<KernelStore, CliError> {
    Ok(KernelStore::at(
        home::own(home, Missing::Make)?.join("kernels"),
    ))
}

/// Opens the kernels that there are.
pub(crate) fn open_existing(home: Option<&Path>) -> Result<KernelStore, CliError> {
    Ok(KernelStore::at(
        home::own(home, Missing::Leave)?.join("kernels"),
    ))
}

/// The kernel image that `word` names: a file, or a build or image of the store. A path without a file stays, for whoever
/// reads it to say so.
pub(crate) fn image(home: Option<&Path>, word: &Path) -> Result<PathBuf, CliError> {
    let name = word.to_str().filter(|name| !name.contains('/'));
    let Some(name) = name.filter(|name| !name.is_empty() && !word.exists()) else {
        return Ok(word.to_owned());
    };
    // A store that is not there has none.
    let stock = open_existing(home).ok();
    let found = stock.map(|stock| bootable(&stock, name));
    let (image, _) = found.unwrap_or_else(|| Err(unknown(name)))?;
    Ok(image)
}

/// The image and the configuration of a build or image of the store.
pub(crate) fn bootable(
    stock: &KernelStore,
    name: &str,
) -> Result<(PathBuf, Option<PathBuf>), CliError> {
    stock.bootable(name).map_err(|err| match err {
        KernelStoreError::Unknown { .. } | KernelStoreError::Name { .. } => unknown(name),
        err => failed(&format!("find the kernel {name}"), err),
    })
}

fn unknown(name: &str) -> CliError {
    CliError::usage(format!(
        "{name}: not a file, and not a build or image in the store"
    ))
    .hint("`punctual kernel list` lists them; or name a kernel image, such as /boot/vmlinuz-... or bzImage of a build")
}

/// Says what to do where somebody uses what is to be changed or removed.
pub(crate) fn in_use(err: &KernelStoreError) -> Option<&'static str> {
    let in_use = matches!(err, KernelStoreError::InUse { .. });
    in_use.then_some("wait until that has ended, or stop it")
}

/// Returns this moment as records have it.
pub(crate) fn now() -> String {
    tuning::seconds(Timestamp::now())
}

/// Makes an error of what a library says, with hints of how to get what is missing.
pub(crate) fn failed(what: &str, err: impl Error + Send + Sync + 'static) -> CliError {
    let lacking = tool(&err).and_then(|tool| Some((tool.missing()?.to_owned(), tool.package())));
    let Some((program, package)) = lacking else {
        let failed = match is_no_name(&err) {
            true => CliError::failed_to(what).exiting(Exit::Usage),
            false => CliError::failed_to(what),
        };
        return failed.because(err);
    };
    // What to do comes first: all that a program said before it stopped says less.
    CliError::failed_to(format!("{what}: {program} is not installed"))
        .because(err)
        .exiting(Exit::Unsupported)
        .hints(package.map(on_debian))
}

/// Whether a word of the command line cannot be a name in the store.
fn is_no_name(err: &(dyn Error + 'static)) -> bool {
    // Transparent errors hide what they wrap.
    let stock = match (err.downcast_ref(), err.downcast_ref()) {
        (Some(FetchError::Stock(stock)), _) | (_, Some(BuildError::Stock(stock))) => Some(stock),
        _ => err.downcast_ref(),
    };
    matches!(stock, Some(KernelStoreError::Name { .. }))
}

/// Says how packages are installed.
pub(crate) fn on_debian(packages: &str) -> String {
    format!("on Debian and Ubuntu: sudo apt-get install {packages}")
}

/// Returns what a program said of itself, if that is the cause.
fn tool<'a>(err: &'a (dyn Error + 'static)) -> Option<&'a ToolError> {
    let mut cause = Some(err);
    while let Some(err) = cause {
        if let Some(tool) = err.downcast_ref::<ToolError>() {
            return Some(tool);
        }
        // Transparent errors hide what they wrap.
        if let Some(FetchError::Tool(tool)) = err.downcast_ref() {
            return Some(tool);
        }
        if let Some(UnpackError::Tool(tool)) = err.downcast_ref() {
            return Some(tool);
        }
        if let Some(PatchError::Tool(tool)) = err.downcast_ref() {
            return Some(tool);
        }
        if let Some(BuildError::Tool(tool)) = err.downcast_ref() {
            return Some(tool);
        }
        cause = err.source();
    }
    None
}

/// What a word for a source stands for.
#[derive(Debug)]
pub(crate) struct FoundSource {
    /// Its tree.
    pub(crate) tree: Tree,
    /// What the store knows of it.
    pub(crate) known: Option<KernelSource>,
    /// Keeps it from being changed or removed in the store.
    _held: Option<Held>,
}

impl FoundSource {
    /// Makes it one that is built for `architecture`, if one is asked for.
    pub(crate) fn built_for(mut self, architecture: Option<Architecture>) -> Self {
        if let Some(architecture) = architecture {
            self.tree = self.tree.built_for(architecture);
        }
        self
    }
}

/// Finds a source: a directory, or a name in the store.
pub(crate) fn find(stock: &KernelStore, word: &Path) -> Result<FoundSource, CliError> {
    found(stock, word, KernelStore::using)
}

/// Finds a source whose files are to be changed: nobody else builds or changes one of the store meanwhile.
pub(crate) fn find_to_change(stock: &KernelStore, word: &Path) -> Result<FoundSource, CliError> {
    found(stock, word, KernelStore::work_in)
}

fn found(
    stock: &KernelStore,
    word: &Path,
    hold: impl Fn(&KernelStore, StoredKind, &str) -> Result<Held, KernelStoreError>,
) -> Result<FoundSource, CliError> {
    let open = |path: &Path| {
        Tree::open(path).map_err(|err| {
            let half = matches!(err, TreeError::HalfPatched { .. });
            let mend = half.then_some(
                "if it no longer runs: `punctual kernel rm NAME` and fetch the source again; in a directory of your own \
                 restore the files, then remove .punctual-patching",
            );
            failed(&format!("use {}", word.display()), err).hints(mend)
        })
    };
    if let Some(name) = word.to_str()
        && !name.contains('/')
    {
        // What is known of it is read once nobody changes it any more.
        let held = stock
            .source(name)
            .and_then(|_| hold(stock, StoredKind::Source, name));
        match held.and_then(|held| Ok((held, stock.source(name)?))) {
            Ok((held, known)) => {
                return Ok(FoundSource {
                    tree: open(Path::new(&known.tree))?,
                    known: Some(known),
                    _held: Some(held),
                });
            }
            Err(KernelStoreError::Unknown { .. } | KernelStoreError::Name { .. }) => {}
            Err(err) => {
                let hint = in_use(&err);
                return Err(failed(&format!("use {name}"), err).hints(hint));
            }
        }
    }
    if word.is_dir() {
        return Ok(FoundSource {
            tree: open(word)?,
            known: None,
            _held: None,
        });
    }
    Err(CliError::usage(format!(
        "{}: neither a source in the store nor a directory",
        word.display()
    ))
    .hint("`punctual kernel list` lists the sources, `punctual kernel fetch` gets one"))
}

/// Finds the source that is named, or the only one there is.
pub(crate) fn find_or_only(
    stock: &KernelStore,
    word: Option<&Path>,
) -> Result<FoundSource, CliError> {
    if let Some(word) = word {
        return find(stock, word);
    }
    let list = listed(stock)?;
    match list.sources.as_slice() {
        [one] => find(stock, Path::new(&one.name)),
        [] => Err(
            CliError::usage("the store has no source; name one with --source")
                .hint("`punctual kernel fetch linux-source-6.12` gets Debian's"),
        ),
        many => {
            let names: Vec<&str> = many.iter().map(|source| source.name.as_str()).collect();
            Err(CliError::usage(format!(
                "the store has several sources; choose one with --source: {}",
                names.join(", ")
            )))
        }
    }
}

/// Finds a configuration: a file, that of a build or image, or the running kernel's.
pub(crate) fn configuration(stock: &KernelStore, word: &str) -> Result<Values, CliError> {
    let what = format!("read the configuration {word}");
    if word == "running" {
        return config::running(&SysRoot::live()).map_err(|err| failed(&what, err));
    }
    let path = Path::new(word);
    if path.is_file() {
        return config::read_file(path).map_err(|err| {
            let is_none = matches!(&err, ConfigError::File(file) if file.source.kind() == io::ErrorKind::InvalidData);
            failed(&what, err).hints(is_none.then_some(
                "name the file config-... next to the image, or a build or image of `punctual kernel list`",
            ))
        });
    }
    match stock.bootable(word) {
        Ok((_, Some(path))) => config::read_file(&path).map_err(|err| failed(&what, err)),
        Ok((_, None)) => {
            Err(CliError::failed_to(what).because(format!("the package of image {word} has none")))
        }
        Err(KernelStoreError::Unknown { .. } | KernelStoreError::Name { .. }) => {
            Err(CliError::usage(format!(
                "{word}: not a file, not a build or image in the store, and not `running`"
            )))
        }
        Err(err) => Err(failed(&what, err)),
    }
}

/// Lists what the store has.
pub(crate) fn listed(stock: &KernelStore) -> Result<KernelStock, CliError> {
    stock
        .list()
        .map_err(|err| failed("list the kernels of the store", err))
}

/// Says what a word of the command line means as a source.
pub(crate) fn wanted(what: &str) -> Result<WantedSource, CliError> {
    WantedSource::parse(what).map_err(|err| CliError::usage(err.to_string()))
}

/// Fetches `what`, which `word` names, as `name` if there is one, and only if it has the checksum.
pub(crate) fn fetched(
    stock: &KernelStore,
    (word, what): (&str, &WantedSource),
    name: Option<String>,
    sha256: Option<String>,
    stop: &StopRequest,
) -> Result<Fetched, CliError> {
    let at = now();
    let options = Options { name, sha256, at };
    if std::io::stderr().is_terminal() {
        remark(&format!("Fetching {word} ..."));
    }
    let fetched = source::fetch(stock, what, &options, &|| stop.is_set());
    fetched.map_err(|err| {
        let hint = match &err {
            FetchError::Stock(KernelStoreError::Taken { .. }) => Some(
                "give it a different name with --name, or remove the other one with `punctual kernel rm`",
            ),
            FetchError::Unverified { scheme: "http", .. } => {
                Some("use https, or give the checksum that its makers publish with --sha256")
            }
            FetchError::Unverified { .. } => {
                Some("use https or ssh, or clone it yourself and name the directory")
            }
            _ => None,
        };
        let usage = matches!(err, FetchError::Unverified { .. });
        let error = failed(&format!("fetch {word}"), err).hints(hint);
        match usage {
            true => error.exiting(Exit::Usage),
            false => error,
        }
    })
}
