// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where in the kernel and in the program a watched thread waits, calls or faults: the stacks that the kernel takes along with a
//! few events, in an instance of their own.
//!
//! Stacks come as addresses. Those of the kernel are named at the end; those of a program are looked up in its mappings while
//! it lives, and named at the end from the symbols of the files that these are of. The kernel walks a program's stack by its
//! frame pointers: where the program has none, what it finds ends or lies in no code, and is cut there.

mod reader;

use std::collections::BTreeMap;
use std::path::Path;

use punctual_model::Ordered as _;
use punctual_model::watch::Stack;
use punctual_sys::SysRoot;
use rustc_hash::FxHashMap;

pub(super) use self::reader::{StackReader, WITHOUT};
use super::source::Kallsyms;
use super::symbols::Symbols;
use super::who::{Tid, printable};

/// Which stacks are taken.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Taken {
    /// None.
    None,
    /// The program's: less than 1 µs each.
    #[default]
    User,
    /// The kernel's too: some 6 µs each, with interrupts off.
    All,
}

/// A stack that is kept, by its number; 0 is none.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct StackId(u32);

/// Where something happened: in the kernel, and in the program.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct Site {
    kernel: StackId,
    user: StackId,
}

impl Site {
    /// A place in the program, for tests.
    #[cfg(test)]
    pub(super) fn in_program(number: u32) -> Self {
        let (kernel, user) = (StackId::default(), StackId(number));
        Self { kernel, user }
    }

    /// Whether nothing is known of it.
    pub(super) fn is_unknown(self) -> bool {
        self == Self::default()
    }

    /// Adds what another record of the same moment tells.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            kernel: self.kernel.max(other.kernel),
            user: self.user.max(other.user),
        }
    }
}

/// What a thread had come to as its stack was taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum At {
    /// A wait.
    Wait,
    /// This system call.
    Call(i64),
    /// A page fault.
    Fault,
}

/// Different stacks that are kept.
const KEPT: usize = 1 << 14;

/// Addresses of a stack that are kept.
const DEEP: usize = 24;

/// Those of them that are shown.
const SHOWN: usize = 12;

/// Mappings of a process that are looked at.
const MAPPINGS: usize = 4_096;

/// How often the mappings of one process are read.
const LOOKS: u32 = 64;

/// An address in a program: the file that it is of, by its number, and where in that.
type Place = (usize, u64);

#[derive(Debug)]
enum Kept {
    Kernel(Vec<u64>),
    User {
        process: Tid,
        addresses: Vec<u64>,
        /// The same as places in files, once they were looked up.
        places: Option<Vec<Place>>,
    },
}

/// The stacks that were seen.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    kept: Vec<Kept>,
    known: FxHashMap<(Tid, Vec<u64>), StackId>,
    /// Stacks of programs that were not looked up yet.
    new: Vec<StackId>,
    looks: BTreeMap<Tid, u32>,
    /// Files with code, by path and inode.
    files: Vec<(String, u64)>,
}

impl Stacks {
    /// Keeps a stack of `process`, or of the kernel where that is none.
    fn keep(&mut self, process: Option<Tid>, addresses: Vec<u64>) -> StackId {
        let key = (process.unwrap_or(-1), addresses);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        if self.kept.len() >= KEPT || key.1.is_empty() {
            return StackId::default();
        }
        let addresses = key.1.clone();
        self.kept.push(match process {
            None => Kept::Kernel(addresses),
            Some(process) => Kept::User {
                process,
                addresses,
                places: None,
            },
        });
        let id = StackId(u32::try_from(self.kept.len()).unwrap_or(0));
        if process.is_some() {
            self.new.push(id);
        }
        self.known.insert(key, id);
        id
    }

    /// Looks up where the addresses of new stacks lie, while their processes live.
    pub(super) fn look_up(&mut self, sys: &SysRoot) {
        let mut maps: BTreeMap<Tid, Vec<Mapping>> = BTreeMap::new();
        for id in std::mem::take(&mut self.new) {
            let place = (id.0 as usize).wrapping_sub(1);
            let Some(Kept::User {
                process,
                addresses,
                places,
            }) = self.kept.get_mut(place)
            else {
                continue;
            };
            let of = maps.entry(*process).or_insert_with(|| {
                let looks = self.looks.entry(*process).or_default();
                *looks += 1;
                match *looks > LOOKS {
                    true => Vec::new(),
                    false => mappings(sys, *process),
                }
            });
            let files = &mut self.files;
            let found = addresses.iter().map_while(|address| {
                let mapping = of.iter().find(|m| (m.from..m.to).contains(address))?;
                let of = (&mapping.file, mapping.inode);
                let file = files.iter().position(|(path, inode)| (path, *inode) == of);
                let file = file.unwrap_or_else(|| {
                    files.push((mapping.file.clone(), mapping.inode));
                    files.len() - 1
                });
                Some((file, address - mapping.from + mapping.offset))
            });
            *places = Some(found.collect());
        }
    }

    /// Says where something happened, by `symbols` of programs and `kernel`.
    pub(super) fn say(
        &self,
        site: Site,
        count: u64,
        kernel: &Kallsyms,
        symbols: &mut Symbols,
    ) -> Stack {
        let of = |id: StackId| self.kept.get((id.0 as usize).wrapping_sub(1));
        let mut said = Stack {
            count,
            ..Stack::default()
        };
        if let Some(Kept::Kernel(addresses)) = of(site.kernel) {
            let names = addresses.iter().map(|at| match kernel.within(*at) {
                Some(name) => name.to_owned(),
                None => format!("{at:#x}"),
            });
            said.kernel = trimmed(names.collect());
        }
        if let Some(Kept::User { places, .. }) = of(site.user) {
            let places = places.iter().flatten().take(SHOWN);
            let frames = places.filter_map(|(file, at)| {
                let (file, inode) = self.files.get(*file)?;
                let base = file.rsplit('/').next().unwrap_or(file);
                Some(match symbols.name((Path::new(file), *inode), *at) {
                    Some(name) => format!("{name} ({base})"),
                    None => format!("{base}+{at:#x}"),
                })
            });
            said.user = frames.collect();
        }
        said
    }

    /// Says the sites that come most often, `most` of them.
    pub(super) fn say_most(
        &self,
        sites: impl IntoIterator<Item = (Site, u64)>,
        most: usize,
        (kernel, symbols): (&Kallsyms, &mut Symbols),
    ) -> Vec<Stack> {
        let mut by: BTreeMap<Site, u64> = BTreeMap::new();
        for (site, count) in sites {
            *by.entry(site).or_default() += count;
        }
        let said = by
            .into_iter()
            .map(|(site, count)| self.say(site, count, kernel, symbols));
        // What has other addresses may be the same in words.
        let mut all: Vec<Stack> = Vec::new();
        for stack in said.filter(|stack| !stack.kernel.is_empty() || !stack.user.is_empty()) {
            let same = |own: &&mut Stack| (&own.kernel, &own.user) == (&stack.kernel, &stack.user);
            match all.iter_mut().find(same) {
                Some(known) => known.count += stack.count,
                None => all.push(stack),
            }
        }
        all.order_by_key(|stack| std::cmp::Reverse(stack.count));
        all.truncate(most);
        all
    }
}

/// Leaves out how the trace came to be, and how every call comes in.
fn trimmed(names: Vec<String>) -> Vec<String> {
    let is_tracing = |name: &String| {
        let beginnings = [
            "trace_",
            "__traceiter_",
            "__bpf_trace_",
            "perf_trace_",
            "ftrace_",
            "stack_trace_",
        ];
        beginnings.iter().any(|begin| name.starts_with(begin))
            || matches!(
                name.as_str(),
                "__schedule" | "schedule" | "schedule_timeout" | "do_task_dead"
            )
    };
    let is_entry = |name: &String| {
        name.starts_with("entry_")
            || name.starts_with("ret_from_")
            // The calls of a watched thread come in through here because they are traced.
            || name.starts_with("syscall_trace_")
            || name.starts_with("el0")
            || matches!(
                name.as_str(),
                "do_syscall_64" | "x64_sys_call" | "do_el0_svc" | "invoke_syscall" | "el0_svc"
            )
    };
    let kept = names
        .into_iter()
        .skip_while(is_tracing)
        .filter(|name| !is_entry(name));
    kept.take(SHOWN).collect()
}

/// Code of a process, and the file that it is of.
#[derive(Debug, PartialEq)]
struct Mapping {
    from: u64,
    to: u64,
    offset: u64,
    inode: u64,
    file: String,
}

/// Reads the mappings of a process that are code of files (proc(5)).
fn mappings(sys: &SysRoot, process: Tid) -> Vec<Mapping> {
    let text = sys
        .read(&format!("/proc/{process}/maps"))
        .unwrap_or_default();
    let all = text.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (from, to) = words.next()?.split_once('-')?;
        let hex = |text: &str| u64::from_str_radix(text, 16).ok();
        let mode = words.next()?;
        let offset = hex(words.next()?)?;
        let inode = words.nth(1)?.parse().ok()?;
        let file = line.find('/').and_then(|at| line.get(at..))?;
        mode.contains('x').then_some(Mapping {
            from: hex(from)?,
            to: hex(to)?,
            offset,
            inode,
            file: printable(file.as_bytes()),
        })
    });
    all.take(MAPPINGS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_a_program_are_found_in_its_files_while_it_lives() {
        let sys = SysRoot::live();
        let own = Tid::try_from(std::process::id()).unwrap();
        let mapping = mappings(&sys, own).into_iter().next().unwrap();
        let mut stacks = Stacks::default();
        let inside = mapping.from + 0x10;
        // What lies in no code ends it.
        let id = stacks.keep(Some(own), vec![inside, 0x10, inside]);
        assert_eq!(stacks.keep(Some(own), vec![inside, 0x10, inside]), id);
        let gone = stacks.keep(Some(4_194_303), vec![inside]);
        stacks.look_up(&sys);
        let places = |id: StackId| match &stacks.kept[id.0 as usize - 1] {
            Kept::User { places, .. } => places.clone().unwrap(),
            Kept::Kernel(_) => panic!("a kernel's"),
        };
        assert_eq!(places(id), [(0, mapping.offset + 0x10)]);
        assert_eq!(places(gone), []);
        assert_eq!(stacks.files, [(mapping.file, mapping.inode)]);
        assert_eq!(stacks.keep(Some(own), Vec::new()), StackId::default());
    }

    #[test]
    fn how_the_trace_came_to_be_is_no_part_of_a_stack() {
        let names = [
            "trace_event_raw_event_sched_switch",
            "__traceiter_sched_switch",
            "__schedule",
            "schedule",
            "futex_wait_queue",
            "schedule_of_mine",
            "syscall_trace_enter.constprop.0",
            "do_syscall_64",
            "entry_SYSCALL_64_after_hwframe",
        ];
        let names = names.map(ToOwned::to_owned).to_vec();
        assert_eq!(trimmed(names), ["futex_wait_queue", "schedule_of_mine"]);
    }

    #[test]
    fn stacks_without_end_do_not_take_memory_without_end() {
        let mut stacks = Stacks::default();
        for n in 0..2 * KEPT as u64 {
            stacks.keep(None, vec![n + 1]);
        }
        assert_eq!(stacks.kept.len(), KEPT);
        assert_eq!(stacks.known.len(), KEPT);
    }
}
