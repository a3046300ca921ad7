// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Makes a configuration in an output directory and verifies it.

#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use punctual_model::{KernelModel, UnmetOption};
use punctual_sys::PathError;
use punctual_sys::SysRoot;
use sha2::{Digest as _, Sha256};

use super::asked::{Asked, Undone, asked, undone};
use super::explain::explain;
use super::fragment::{Fragment, tiny};
use super::kconfig::{Kconfig, KconfigError, Kind};
use super::values::{OFF, OddLine, Values};
use crate::boot::kind;
use crate::file::{read_head, read_whole, too_long};
use crate::source::{Tree, TreeError};
use crate::tool::{Long, ToolError};

/// More than any configuration has: that of Debian's 6.12 has 290 KB.
const LONGEST: u64 = 16 << 20;
/// The fragment that Kconfig reads for the tiny base.
const FRAGMENT: &str = ".punctual-fragment";
/// Options of distributions that name files which only their own source has.
const KEYS: [&str; 3] = [
    "SYSTEM_TRUSTED_KEYS",
    "SYSTEM_REVOCATION_KEYS",
    "MODULE_SIG_KEY",
];

/// What a configuration starts from.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Base {
    /// The running kernel's.
    Running,
    /// The smallest one for measuring in QEMU.
    #[default]
    Tiny,
    /// The source's default for this architecture.
    Defconfig,
    /// A file.
    File(PathBuf),
    /// Everything built in, as a test whether it compiles.
    AllYes,
    /// Everything as modules, likewise.
    AllMod,
}

impl Base {
    /// Returns how it is called on the command line.
    pub fn name(&self) -> String {
        match self {
            Self::Running => "running".to_owned(),
            Self::Tiny => "tiny".to_owned(),
            Self::Defconfig => "defconfig".to_owned(),
            Self::File(path) => path.display().to_string(),
            Self::AllYes => "allyesconfig".to_owned(),
            Self::AllMod => "allmodconfig".to_owned(),
        }
    }
}

/// What is asked of a configuration.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// What it starts from.
    pub base: Base,
    /// The preemption model.
    pub model: Option<KernelModel>,
    /// Names of our fragments to switch on.
    pub with: Vec<String>,
    /// Names of our fragments to switch off.
    pub without: Vec<String>,
    /// Files with fragments.
    pub files: Vec<PathBuf>,
    /// Single options, as in a fragment: `HZ_1000=y`.
    pub set: Vec<String>,
}

/// A configuration was not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A word of the command line is not understood.
    #[error("{option}: {reason}")]
    Usage {
        /// The option.
        option: String,
        /// What is wrong.
        reason: String,
    },
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] PathError),
    /// A configuration has a line that is none.
    #[error("read {}", path.display())]
    Odd {
        /// The file.
        path: PathBuf,
        /// The line.
        source: OddLine,
    },
    /// The running kernel does not tell its configuration.
    #[error("the running kernel has neither /proc/config.gz nor /boot/config-{release}")]
    NotTold {
        /// Its release.
        release: String,
    },
    /// The source tree.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// Its Kconfig files.
    #[error(transparent)]
    Kconfig(#[from] KconfigError),
    /// Kconfig failed.
    #[error("configure the source")]
    Make(#[from] ToolError),
}

/// A configuration that was made.
#[derive(Clone, Debug)]
pub struct Configured {
    /// Its options.
    pub values: Values,
    /// How many options were asked for by name.
    pub wanted: usize,
    /// Names of the fragments, in the order in which they were laid over the base.
    pub fragments: Vec<String>,
    /// What did not become what was asked.
    pub unmet: Vec<UnmetOption>,
    /// What one should know.
    pub remarks: Vec<String>,
}

impl Configured {
    /// Returns the SHA-256 of the options, sorted, without comments.
    pub fn sha256(&self) -> String {
        format!("{:x}", Sha256::digest(self.values.to_text()))
    }
}

/// Makes the `.config` that is wished for in `output`, and verifies it.
///
/// # Errors
///
/// Fails on a word that is not understood, where a file cannot be read, and when Kconfig fails. That an option was not
/// honoured is not an error here: it is in the result.
pub fn configure(
    tree: &Tree,
    output: &Path,
    wish: &Wish,
    sys: &SysRoot,
    stop: &dyn Fn() -> bool,
) -> Result<Configured, ConfigError> {
    let Asked {
        mut fragment,
        names: fragments,
        demands,
    } = asked(wish)?;
    tree.needs_compiler()?;
    let mut remarks = Vec::new();
    fs::create_dir_all(output).map_err(PathError::at("make directory", output))?;
    let kconfig = Kconfig::read(&tree.path, tree.srcarch())?;
    only_there(&mut fragment, &kconfig);
    quote(&mut fragment.wanted, &kconfig);
    let dot = output.join(".config");
    match &wish.base {
        Base::Tiny => {
            let mut whole = tiny(tree.srcarch()).ok_or_else(|| ConfigError::Usage {
                option: "--base tiny".to_owned(),
                reason: format!("it exists for x86-64 and arm64, not for {}", tree.srcarch()),
            })?;
            whole.add(&fragment);
            fragment = whole;
            only_there(&mut fragment, &kconfig);
            all(tree, output, &fragment, "allnoconfig", stop)?;
        }
        Base::AllYes => all(tree, output, &fragment, "allyesconfig", stop)?,
        Base::AllMod => all(tree, output, &fragment, "allmodconfig", stop)?,
        Base::Defconfig => {
            let mut defaults = make(tree, output);
            defaults.command.arg("defconfig");
            defaults.run(stop, |_| {})?;
            let base = read_file(&dot)?;
            lay_over(tree, output, &fragment.over(base), stop)?;
        }
        Base::Running | Base::File(_) => {
            let mut base = match &wish.base {
                Base::File(path) => read_file(path)?,
                _ => running(sys)?,
            };
            is_for(tree, &wish.base, &base)?;
            remarks.extend(without_keys(&mut base, &tree.path));
            lay_over(tree, output, &fragment.over(base), stop)?;
        }
    }
    let values = read_file(&dot)?;
    let mut unmet = unmet(&fragment, &values, &kconfig);
    for demand in demands {
        match undone(demand, &fragment, &values, &kconfig) {
            Some(Undone::Unmet(option)) => unmet.push(option),
            Some(Undone::Said(remark)) => remarks.push(remark),
            None => {}
        }
    }
    // Two names may ask for the same.
    unmet.sort_by(|a, b| (&a.name, &a.wanted).cmp(&(&b.name, &b.wanted)));
    unmet.dedup_by(|a, b| (&a.name, &a.wanted) == (&b.name, &b.wanted));
    let removed = unmet
        .iter()
        .filter(|of| !fragment.wanted.mentions(&of.name));
    Ok(Configured {
        wanted: fragment.wanted.len() + removed.count(),
        values,
        fragments,
        unmet,
        remarks,
    })
}

/// Takes out what the source does not have and need not have.
fn only_there(fragment: &mut Fragment, kconfig: &Kconfig) {
    for name in std::mem::take(&mut fragment.if_there) {
        if !kconfig.options.contains_key(&name) {
            fragment.wanted.remove(&name);
        }
    }
}

/// Puts texts in quotes that were given without: Kconfig passes over the line, and what the base has is lost with it.
fn quote(wanted: &mut Values, kconfig: &Kconfig) {
    let is_bare = |(name, value): &(&str, &str)| {
        *value != OFF && !value.starts_with('"') && kconfig.kind(name) == Some(Kind::String)
    };
    let bare: Vec<(String, String)> = wanted
        .iter()
        .filter(is_bare)
        .map(|(name, value)| {
            let text = value.replace('\\', "\\\\").replace('"', "\\\"");
            (name.to_owned(), format!("\"{text}\""))
        })
        .collect();
    for (name, text) in bare {
        wanted.set(&name, &text);
    }
}

/// The option that a whole configuration of each architecture has, and its directory below `arch`.
const ARCHITECTURES: [(&str, &str); 9] = [
    ("X86", "x86"),
    ("ARM64", "arm64"),
    ("ARM", "arm"),
    ("LOONGARCH", "loongarch"),
    ("MIPS", "mips"),
    ("PPC", "powerpc"),
    ("RISCV", "riscv"),
    ("S390", "s390"),
    ("SPARC", "sparc"),
];

/// Refuses a base of another architecture, most of which Kconfig would drop silently.
fn is_for(tree: &Tree, base: &Base, values: &Values) -> Result<(), ConfigError> {
    let of = ARCHITECTURES.iter().find(|(name, _)| values.is_on(name));
    match of {
        Some((_, of)) if *of != tree.srcarch() => Err(ConfigError::Usage {
            option: format!("--base {}", base.name()),
            reason: format!(
                "it is for {of}, and the kernel for {}: name another base, or its architecture with --arch",
                tree.srcarch()
            ),
        }),
        _ => Ok(()),
    }
}

/// Lets Kconfig set all options one way, but those of the fragment.
fn all(
    tree: &Tree,
    output: &Path,
    fragment: &Fragment,
    target: &str,
    stop: &dyn Fn() -> bool,
) -> Result<(), ConfigError> {
    let path = output.join(FRAGMENT);
    fs::write(&path, fragment.wanted.to_text()).map_err(PathError::at("write", &path))?;
    // Kconfig runs elsewhere.
    let path = std::path::absolute(&path).map_err(PathError::at("find", &path))?;
    let mut make = make(tree, output);
    make.command
        .arg(joined("KCONFIG_ALLCONFIG=", &path))
        .arg(target);
    Ok(make.run(stop, |_| {})?)
}

fn unmet(fragment: &Fragment, values: &Values, kconfig: &Kconfig) -> Vec<UnmetOption> {
    let wanted = fragment.wanted.iter();
    let unmet = wanted.filter(|(name, wanted)| values.value(name) != *wanted);
    unmet
        .map(|(name, wanted)| UnmetOption {
            name: name.to_owned(),
            wanted: wanted.to_owned(),
            value: values.value(name).to_owned(),
            why: explain(kconfig, values, name, wanted),
        })
        .collect()
}

/// Variables by which make, or the kernel's Makefile, builds something else than is asked for and recorded here.
const NOT_OURS: [&str; 19] = [
    "ARCH",
    "CROSS_COMPILE",
    "GNUMAKEFLAGS",
    "INSTALL_MOD_PATH",
    "INSTALL_PATH",
    "KAFLAGS",
    "KBUILD_EXTMOD",
    "KBUILD_OUTPUT",
    "KBUILD_VERBOSE",
    "KCFLAGS",
    "KCONFIG_CONFIG",
    "KCPPFLAGS",
    "LLVM",
    "LLVM_IAS",
    "LOCALVERSION",
    "MAKEFILES",
    "MAKEFLAGS",
    "MAKELEVEL",
    "SUBARCH",
];

/// Makes a command that runs make for `tree`, with objects in `output`, whatever the environment says.
pub(crate) fn make<'a>(tree: &Tree, output: &Path) -> Long<'a> {
    let mut make = Long::new("make");
    for variable in NOT_OURS {
        make.command.env_remove(variable);
    }
    make.command
        .arg("-C")
        .arg(&tree.path)
        .arg(joined("O=", output))
        .args(tree.cross());
    make
}

fn joined(name: &str, path: &Path) -> std::ffi::OsString {
    let mut word = std::ffi::OsString::from(name);
    word.push(path);
    word
}

fn lay_over(
    tree: &Tree,
    output: &Path,
    values: &Values,
    stop: &dyn Fn() -> bool,
) -> Result<(), ConfigError> {
    let dot = output.join(".config");
    fs::write(&dot, values.to_text()).map_err(PathError::at("write", &dot))?;
    let mut make = make(tree, output);
    make.command.arg("olddefconfig");
    Ok(make.run(stop, |_| {})?)
}

/// Takes away keys that a distribution's configuration names and this tree does not have: the build would stop there.
fn without_keys(base: &mut Values, tree: &Path) -> Option<String> {
    let mut taken = Vec::new();
    for name in KEYS {
        let path = base.value(name).trim_matches('"').to_owned();
        let own = name == "MODULE_SIG_KEY" && path == "certs/signing_key.pem";
        if base.mentions(name)
            && !path.is_empty()
            && path != OFF
            && !own
            && !tree.join(&path).exists()
        {
            base.remove(name);
            taken.push(format!("{name}=\"{path}\""));
        }
    }
    (!taken.is_empty()).then(|| {
        format!(
            "removed from the base, because this source does not have the file: {}",
            taken.join(", ")
        )
    })
}

/// Returns the running kernel's configuration.
///
/// # Errors
///
/// Fails where the kernel does not tell it.
pub fn running(sys: &SysRoot) -> Result<Values, ConfigError> {
    let release = sys.read("/proc/sys/kernel/osrelease").unwrap_or_default();
    let boot = format!("/boot/config-{release}");
    let path = ["/proc/config.gz", boot.as_str()]
        .into_iter()
        .find(|path| sys.exists(path));
    match path {
        Some(path) => read_file(&sys.full(path)),
        None => Err(ConfigError::NotTold { release }),
    }
}

/// Reads a configuration, compressed with gzip or not.
///
/// # Errors
///
/// Fails where the file cannot be read, or is no configuration.
pub fn read_file(path: &Path) -> Result<Values, ConfigError> {
    let text = read_text(path)?;
    Values::parse(&text).map_err(|source| ConfigError::Odd {
        path: path.to_owned(),
        source,
    })
}

/// Reads a fragment of a configuration.
///
/// # Errors
///
/// Fails where the file cannot be read, or is no fragment.
pub fn read_fragment(path: &Path) -> Result<Fragment, ConfigError> {
    let text = read_text(path)?;
    Fragment::parse(&text).map_err(|source| ConfigError::Odd {
        path: path.to_owned(),
        source,
    })
}

fn read_text(path: &Path) -> Result<String, ConfigError> {
    // Where a kernel is named in place of its configuration, that is said, and not that it is long or odd.
    let head = read_head(path, 4 << 10).map_err(PathError::at("read", path))?;
    let packed = head.starts_with(&[0x1f, 0x8b]);
    let no_text = |head: &[u8]| {
        let what = format!("it is {}, not a configuration", kind(head));
        PathError::new(
            "read",
            path,
            io::Error::new(io::ErrorKind::InvalidData, what),
        )
        .into()
    };
    if !packed && head.contains(&0) {
        return Err(no_text(&head));
    }
    let mut bytes = read_whole(path, LONGEST).map_err(PathError::at("read", path))?;
    if packed {
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(bytes.as_slice())
            .take(LONGEST + 1)
            .read_to_end(&mut text)
            .map_err(PathError::at("unpack", path))?;
        if text.len() as u64 > LONGEST {
            return Err(PathError::new("unpack", path, too_long(LONGEST)).into());
        }
        bytes = text;
    }
    let text = String::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'));
    text.ok_or_else(|| no_text(&head))
}
