// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Schedulers of our own, loaded as BPF programs (sched_ext, since Linux 6.12), for as long as this process lives.
//!
//! Functions are written for the kernel that runs, by its description of its own types, so nothing is compiled and no tool is needed.
//! While a scheduler is loaded, it has all threads of the machine but those of `SCHED_FIFO`, `SCHED_RR` and `SCHED_DEADLINE`.
//! The kernel takes it away, and its ordinary scheduler back, when the process ends, however it does, and when the scheduler does
//! what it must not.

mod bpf;
mod btf;
mod code;
mod programs;

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use punctual_model::tasks::ExtScheduler;
use punctual_model::{CpuSet, Nanos};

use self::bpf::Shared;
use self::btf::Btf;
use self::programs::{END_BYTES, Kernel, Maps, programs, seat};
use crate::root::SysRoot;

/// Where the kernel says what is loaded.
const DIR: &str = "/sys/kernel/sched_ext";

/// The kernel's description of its types: 5 MB for a kernel with every driver.
const BTF: &str = "/sys/kernel/btf/vmlinux";
const BTF_LIMIT: usize = 64 << 20;

/// No machine has more CPUs: each costs four instructions.
const MOST_CPUS: u32 = 8_192;

/// The kernel takes a scheduler away that leaves a thread waiting for longer. It allows no more.
const TIMEOUT_MS: u32 = 30_000;

/// Numbers of a seat.
const NUMBERS: usize = (seat::BYTES / 8) as usize;

/// Why there is no scheduler.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchedExtError {
    /// The kernel takes none.
    #[error("this kernel has no sched_ext: there is no {DIR}")]
    Absent,
    /// Another one is loaded.
    #[error("another BPF scheduler is loaded: {ops}")]
    Busy {
        /// Its name.
        ops: String,
    },
    /// The kernel's types lack something.
    #[error("this kernel's sched_ext lacks {what}")]
    Lacks {
        /// What.
        what: String,
    },
    /// The kernel refuses a function of the scheduler.
    #[error("load {name} of the BPF scheduler: {said}")]
    Refused {
        /// The function.
        name: &'static str,
        /// What the kernel's verifier said, its end.
        said: String,
        /// The error.
        source: io::Error,
    },
    /// Something else could not be done.
    #[error("{doing}")]
    Call {
        /// What.
        doing: &'static str,
        /// Why not.
        source: io::Error,
    },
}

impl SchedExtError {
    /// Whether a privilege is missing.
    pub fn is_denied(&self) -> bool {
        match self {
            Self::Refused { source, .. } | Self::Call { source, .. } => {
                source.kind() == io::ErrorKind::PermissionDenied
                    && source.raw_os_error() == Some(libc::EPERM)
            }
            _ => false,
        }
    }
}

fn calling(doing: &'static str) -> impl FnOnce(io::Error) -> SchedExtError {
    move |source| SchedExtError::Call { doing, source }
}

/// What the kernel says of schedulers that are loaded.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Status {
    /// `enabled`, `disabled`, or on the way.
    pub state: String,
    /// Name of the scheduler; empty where none is loaded.
    pub ops: String,
    /// How many have been loaded since the machine started.
    pub count: Option<u64>,
}

impl Status {
    /// Reads it; nothing where the kernel has no sched_ext.
    pub fn read(sys: &SysRoot) -> Option<Self> {
        let state = sys.read(&format!("{DIR}/state")).ok()?;
        let ops = sys.read(&format!("{DIR}/root/ops")).unwrap_or_default();
        Some(Self {
            state,
            ops,
            count: sys.fact(&format!("{DIR}/enable_seq")),
        })
    }
}

/// How a scheduler ended, as the kernel told it. Its log has more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct End {
    /// `enum scx_exit_kind`.
    pub kind: u64,
    /// Its code.
    pub code: i64,
}

/// Our scheduler while it is the kernel's.
#[derive(Debug)]
pub struct Loaded {
    name: &'static str,
    /// Closing it takes the scheduler away.
    _link: OwnedFd,
    _ops: OwnedFd,
    end: OwnedFd,
    table: Arc<Table>,
}

/// What threads share with the scheduler.
#[derive(Debug)]
struct Table {
    places: OwnedFd,
    seats: Shared,
}

impl Loaded {
    /// Makes `scheduler` the one of this machine, with room for `seats` threads of ours.
    ///
    /// # Errors
    ///
    /// [`SchedExtError`]: each is of the kernel or of privilege; nothing is loaded then.
    pub fn load(sys: &SysRoot, scheduler: ExtScheduler, seats: u32) -> Result<Self, SchedExtError> {
        let status = Status::read(sys).ok_or(SchedExtError::Absent)?;
        if status.state != "disabled" {
            return Err(SchedExtError::Busy { ops: status.ops });
        }
        let lacks = |what: &str| SchedExtError::Lacks {
            what: what.to_owned(),
        };
        let (bytes, _) = sys
            .read_up_to(BTF, BTF_LIMIT)
            .map_err(|_| lacks(&format!("{BTF} (CONFIG_DEBUG_INFO_BTF)")))?;
        let btf = Btf::parse(&bytes).ok_or_else(|| lacks("a readable description of its types"))?;
        let kernel = Kernel::of(&btf).map_err(|what| SchedExtError::Lacks { what })?;
        let cpus: CpuSet = sys
            .fact("/sys/devices/system/cpu/possible")
            .ok_or_else(|| lacks("a list of possible CPUs"))?;
        let cpus = cpus.iter().max().map_or(1, |last| last.saturating_add(1));
        if cpus > MOST_CPUS {
            return Err(lacks("room for that many CPUs"));
        }
        let making = || calling("make a BPF map");
        let places = bpf::hash("places", 4, seats.max(1)).map_err(making())?;
        let array = bpf::array("seats", seat::BYTES, seats.max(1)).map_err(making())?;
        let has = bpf::array("has", 4, cpus).map_err(making())?;
        let end = bpf::array("end", END_BYTES, 1).map_err(making())?;
        let maps = Maps {
            places: places.as_raw_fd(),
            seats: array.as_raw_fd(),
            has: has.as_raw_fd(),
            end: end.as_raw_fd(),
        };
        let all = programs(scheduler, &kernel, maps, cpus)
            .ok_or_else(|| lacks("room for that many CPUs"))?;
        let name = ops_name(scheduler);
        let struct_ops = Ops::of(&btf, name).map_err(|what| SchedExtError::Lacks { what })?;
        let ops = struct_ops.load(&all)?;
        let count = usize::try_from(seats.max(1)).unwrap_or(1);
        let seats = Shared::map(&array, count * NUMBERS).map_err(calling("map a BPF array"))?;
        let link = bpf::link(&ops).map_err(calling("start the BPF scheduler"))?;
        Ok(Self {
            name,
            _link: link,
            _ops: ops,
            end,
            table: Arc::new(Table { places, seats }),
        })
    }

    /// Returns the scheduler's name, as the kernel has it.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the seat for the thread at `place` of the set.
    pub fn seat(&self, place: u32) -> Seat {
        Seat {
            table: Arc::clone(&self.table),
            place,
        }
    }

    /// Returns how it ended; nothing while it has not.
    ///
    /// # Errors
    ///
    /// Fails as `bpf(2)` does.
    pub fn end(&self) -> io::Result<Option<End>> {
        let mut value = [0; END_BYTES as usize];
        bpf::look_up(&self.end, 0, &mut value)?;
        let number = |at: usize| {
            let eight = value[at..at + 8].try_into().unwrap_or_default();
            u64::from_ne_bytes(eight)
        };
        let kind = number(0);
        Ok((kind != 0).then(|| End {
            kind,
            code: number(8).cast_signed(),
        }))
    }
}

/// The name that the kernel shows of a scheduler of ours.
pub const fn ops_name(scheduler: ExtScheduler) -> &'static str {
    match scheduler {
        ExtScheduler::EarliestDeadlineFirst => "punctual_edf",
        ExtScheduler::RateMonotonic => "punctual_rm",
    }
}

/// `struct sched_ext_ops`, as this kernel has it.
#[derive(Debug)]
struct Ops<'a> {
    btf: &'a Btf<'a>,
    id: u32,
    /// The kernel's struct around it, its size, and where it lies in that.
    around: u32,
    bytes: u32,
    at: u32,
    name: &'static str,
}

impl<'a> Ops<'a> {
    fn of(btf: &'a Btf<'a>, name: &'static str) -> Result<Self, String> {
        let missing = |what: &str| what.to_owned();
        let id = btf.structure("sched_ext_ops");
        let id = id.ok_or_else(|| missing("struct sched_ext_ops"))?;
        let around = btf.structure("bpf_struct_ops_sched_ext_ops");
        let around = around.ok_or_else(|| missing("struct bpf_struct_ops_sched_ext_ops"))?;
        let bytes = btf.size(around).filter(|bytes| *bytes < 1 << 16);
        let (_, at) = btf
            .field(around, "data")
            .ok_or_else(|| missing("its data"))?;
        Ok(Self {
            btf,
            id,
            around,
            bytes: bytes.ok_or_else(|| missing("the size of struct sched_ext_ops"))?,
            at,
            name,
        })
    }

    /// Loads all functions, and returns the map that has them.
    fn load(&self, all: &[programs::Program]) -> Result<OwnedFd, SchedExtError> {
        let lacks = |what: &str| SchedExtError::Lacks {
            what: format!("{what} in struct sched_ext_ops"),
        };
        let mut value = vec![0; usize::try_from(self.bytes).unwrap_or(0)];
        let mut put = |name: &str, bytes: &[u8]| {
            let (_, offset) = self.btf.field(self.id, name)?;
            let from = usize::try_from(self.at.checked_add(offset)?).ok()?;
            value
                .get_mut(from..from + bytes.len())?
                .copy_from_slice(bytes);
            Some(())
        };
        put("name", self.name.as_bytes()).ok_or_else(|| lacks("name"))?;
        put("timeout_ms", &TIMEOUT_MS.to_ne_bytes()).ok_or_else(|| lacks("timeout_ms"))?;
        let mut kept = Vec::new();
        for program in all {
            let field = self.btf.field(self.id, program.name);
            let (member, _) = field.ok_or_else(|| lacks(program.name))?;
            let loaded = bpf::load(
                program.name,
                &program.words,
                self.id,
                member,
                program.sleeps,
            );
            let loaded = loaded.map_err(|(source, said)| SchedExtError::Refused {
                name: program.name,
                said,
                source,
            })?;
            let fd = u64::from(loaded.as_raw_fd().cast_unsigned());
            put(program.name, &fd.to_ne_bytes()).ok_or_else(|| lacks(program.name))?;
            kept.push(loaded);
        }
        let name = self.name;
        let map = bpf::struct_ops(name, &btf::smallest(), self.around, self.bytes)
            .map_err(calling("make the BPF map of the scheduler's functions"))?;
        bpf::update(&map, 0, &value, value.len())
            .map_err(calling("give the kernel the scheduler's functions"))?;
        // The map keeps the functions from here on.
        drop(kept);
        Ok(map)
    }
}

/// A thread's seat: what it and the scheduler know of it.
#[derive(Clone, Debug)]
pub struct Seat {
    table: Arc<Table>,
    place: u32,
}

impl Seat {
    fn number(&self, field: u16) -> &AtomicU64 {
        let place = usize::try_from(self.place).unwrap_or(0);
        &self.table.seats.numbers()[place * NUMBERS + usize::from(field)]
    }

    /// Makes the calling thread the one that the scheduler orders by this period and this relative deadline.
    ///
    /// # Errors
    ///
    /// Fails as `bpf(2)` does.
    pub fn take(&self, period: Nanos, deadline: Nanos) -> io::Result<()> {
        let numbers = [
            (seat::RELEASE, 0),
            (seat::DEADLINE, deadline.get()),
            (seat::PERIOD, period.get()),
            (seat::PLACE, self.place.into()),
            (seat::RUNS, 0),
        ];
        for (field, value) in numbers {
            self.number(field).store(value, Ordering::Relaxed);
        }
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        let place = self.place.to_ne_bytes();
        bpf::update(&self.table.places, tid.cast_unsigned(), &place, 4)
    }

    /// Says which job the thread does from now on, or sleeps for: the one with this release.
    ///
    /// Hot path: one store.
    #[inline]
    pub fn release(&self, at: Nanos) {
        self.number(seat::RELEASE)
            .store(at.get(), Ordering::Relaxed);
    }

    /// Lets all others of ours go first from now on.
    pub fn leave(&self) {
        self.number(seat::PERIOD)
            .store(Self::LAST, Ordering::Relaxed);
        self.release(Nanos::new(Self::LAST));
    }

    /// Beyond all periods and releases; neither scheduler's key overflows.
    const LAST: u64 = 1 << 55;

    /// Returns how often the scheduler gave the thread a CPU.
    pub fn runs(&self) -> u64 {
        self.number(seat::RUNS).load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_sched_ext_is_told_apart_from_one_that_has_a_scheduler() {
        let dir = tempfile::tempdir().unwrap();
        let sys = SysRoot::at(dir.path());
        let load = || Loaded::load(&sys, ExtScheduler::EarliestDeadlineFirst, 1);
        assert!(matches!(load(), Err(SchedExtError::Absent)));
        let own = dir.path().join("sys/kernel/sched_ext");
        std::fs::create_dir_all(own.join("root")).unwrap();
        std::fs::write(own.join("state"), "enabled\n").unwrap();
        std::fs::write(own.join("root/ops"), "other_1.0\n").unwrap();
        let err = load().unwrap_err();
        assert_eq!(
            err.to_string(),
            "another BPF scheduler is loaded: other_1.0"
        );
        std::fs::write(own.join("state"), "disabled\n").unwrap();
        let err = load().unwrap_err().to_string();
        assert!(err.contains("CONFIG_DEBUG_INFO_BTF"), "{err}");
    }
}
