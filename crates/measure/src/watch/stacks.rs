// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where in the kernel and in the program a watched thread waits, calls or faults: the stacks that the kernel takes along with a
//! few events, in an instance of their own.
//!
//! Stacks come as addresses. Those of the kernel are named at the end; those of a program are looked up in its mappings while
//! it lives, and named at the end from the symbols of the files that these are of. The kernel walks a program's stack by its
//! frame pointers: where the program has none, what it finds ends or lies in no code, and is cut there.

use std::collections::BTreeMap;
use std::path::Path;

use punctual_model::watch::Stack;
use punctual_model::{CpuId, CpuSet, Ordered as _};
use punctual_sys::SysRoot;
use punctual_sys::tracefs::{Field, Record, Tracefs, TracefsError};
use rustc_hash::FxHashMap;

use super::event::{Event, What};
use super::source::Kallsyms;
use super::symbols::Symbols;
use super::who::{Tid, printable};
use crate::error::MeasureError;
use crate::trace::Reader;

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

/// The instance in which the kernel takes stacks.
#[derive(Debug)]
pub(super) struct StackReader {
    reader: Reader,
    pid: Field,
    kernel: Option<(u16, Field, Field)>,
    user: Option<(u16, Field, Field)>,
    /// What the events are with which stacks are taken.
    events: Events,
    /// Of each CPU, when the last event was, and which.
    last: BTreeMap<CpuId, (u64, At)>,
    /// Records in the second that began then.
    second: (u64, u64),
    is_on: bool,
    /// Whether some stacks were not taken because there were too many.
    pub(super) limited: bool,
}

/// Records that are taken in a second: a stack costs time.
const A_SECOND: u64 = 8_000;

/// Events with which stacks are taken, and which of them: a wait, what is no wait in a cycle, a page fault.
const EVENTS: [&str; 3] = [
    "sched/sched_switch",
    "raw_syscalls/sys_enter",
    "exceptions/page_fault_user",
];

/// How one knows records of these events from each other.
#[derive(Debug)]
struct Events {
    switch: u16,
    /// With the field that has the number of the call.
    call: Option<(u16, Field)>,
}

impl Events {
    /// Returns them, and the field of all records that has the thread.
    fn of(tracefs: &Tracefs) -> Result<(Self, Field), TracefsError> {
        let field = |event: &str, name: &'static str| -> Result<_, TracefsError> {
            let format = tracefs.format(event)?;
            let refused = |source| TracefsError::Format {
                event: event.to_owned(),
                source,
            };
            Ok((format.id(), format.field(name).map_err(refused)?))
        };
        let (switch, pid) = field(EVENTS[0], "common_pid")?;
        let call = tracefs.has_event(EVENTS[1]);
        let call = call.then(|| field(EVENTS[1], "id")).transpose()?;
        Ok((Self { switch, call }, pid))
    }

    fn read(&self, record: &Record<'_>) -> Option<At> {
        let id = record.id()?;
        if id == self.switch {
            return Some(At::Wait);
        }
        match self.call.filter(|(call, _)| *call == id) {
            Some((_, field)) => field.read(record.data).map(At::Call),
            None => Some(At::Fault),
        }
    }
}

const KERNEL: &str = "options/stacktrace";
const USER: &str = "options/userstacktrace";

/// What is not known without them.
pub(super) const WITHOUT: &str = "where in the program and the kernel a thread waits (stacks)";

impl StackReader {
    /// Makes the instance `name`. Nothing where the kernel takes no stacks.
    pub(super) fn new(
        tracefs: &Tracefs,
        (name, kib): (&str, u32),
        cpus: &CpuSet,
        taken: Taken,
        calls: &[i64],
    ) -> Result<Option<Self>, MeasureError> {
        let is_known = |event: &str| tracefs.has_event(event);
        if taken == Taken::None || !is_known("ftrace/user_stack") {
            return Ok(None);
        }
        let layout = |event: &str, size: &'static str| -> Result<_, TracefsError> {
            let format = tracefs.format(event)?;
            let refused = |source| TracefsError::Format {
                event: event.to_owned(),
                source,
            };
            let fields = (format.field(size), format.field("caller"));
            Ok((
                format.id(),
                fields.0.map_err(refused)?,
                fields.1.map_err(refused)?,
            ))
        };
        let user = layout("ftrace/user_stack", "tgid")?;
        let kernel = match taken == Taken::All && is_known("ftrace/kernel_stack") {
            true => Some(layout("ftrace/kernel_stack", "size")?),
            false => None,
        };
        let (events, pid) = Events::of(tracefs)?;
        let reader = Reader::new(tracefs, name, cpus, kib)?;
        let user = reader.write(USER, "1").is_ok().then_some(user);
        let kernel = kernel.filter(|_| reader.write(KERNEL, "1").is_ok());
        if user.is_none() && kernel.is_none() {
            reader.remove()?;
            return Ok(None);
        }
        // Only who waits goes to sleep.
        reader.write("events/sched/sched_switch/filter", "prev_state & 255")?;
        if is_known(EVENTS[1]) && !calls.is_empty() {
            let calls: Vec<String> = calls.iter().map(|call| format!("id == {call}")).collect();
            reader.write("events/raw_syscalls/sys_enter/filter", &calls.join(" || "))?;
        }
        reader.write("options/event-fork", "1")?;
        Ok(Some(Self {
            reader,
            pid,
            kernel,
            user,
            events,
            last: BTreeMap::new(),
            second: (0, 0),
            is_on: true,
            limited: false,
        }))
    }

    /// Takes stacks of these threads, and of those that they start.
    pub(super) fn follow(&self, list: &str) -> Result<(), MeasureError> {
        self.reader.write("set_event_pid", list)
    }

    /// Begins or ends.
    pub(super) fn switch(
        &self,
        tracefs_has: impl Fn(&str) -> bool,
        on: bool,
    ) -> Result<(), MeasureError> {
        for event in EVENTS.into_iter().filter(|event| tracefs_has(event)) {
            self.reader.switch(event, on)?;
        }
        Ok(())
    }

    /// Reads what was taken, at `now`. Where that is much, nothing is taken for the rest of the second.
    pub(super) fn read(
        &mut self,
        (goes_on, now): (bool, u64),
        stacks: &mut Stacks,
        mut each: impl FnMut(Event),
    ) -> Result<(), MeasureError> {
        let Self {
            reader,
            pid,
            kernel,
            user,
            events,
            last,
            ..
        } = self;
        let before = reader.records();
        reader.read(goes_on, |cpu, record| {
            let is =
                |of: &Option<(u16, Field, Field)>| of.filter(|(id, ..)| record.id() == Some(*id));
            let stack = match (is(kernel), is(user)) {
                (Some((_, _, caller)), _) => Some((None, addresses(caller, record))),
                (_, Some((_, tgid, caller))) => {
                    let process = tgid.read(record.data).and_then(|of| Tid::try_from(of).ok());
                    process.map(|process| (Some(process), addresses(caller, record)))
                }
                _ => {
                    match events.read(record) {
                        Some(at) => last.insert(cpu, (record.time, at)),
                        None => last.remove(&cpu),
                    };
                    None
                }
            };
            let (Some((process, addresses)), Some((time, at))) = (stack, last.get(&cpu)) else {
                return;
            };
            let Some(tid) = pid
                .read(record.data)
                .and_then(|tid| Tid::try_from(tid).ok())
            else {
                return;
            };
            let id = stacks.keep(process, addresses);
            let site = match process {
                None => Site {
                    kernel: id,
                    ..Site::default()
                },
                Some(_) => Site {
                    user: id,
                    ..Site::default()
                },
            };
            each(Event {
                time: *time,
                cpu,
                pid: tid,
                what: What::Stack { at: *at, site },
            });
        })?;
        let records = reader.records() - before;
        if now.saturating_sub(self.second.0) >= 1_000_000_000 {
            self.second = (now, 0);
        }
        self.second.1 += records;
        let on = self.second.1 < A_SECOND;
        self.limited |= !on;
        if on != self.is_on && goes_on {
            self.is_on = on;
            self.reader
                .write("tracing_on", if on { "1" } else { "0" })?;
        }
        Ok(())
    }

    /// Removes the instance.
    pub(super) fn remove(self) -> Result<(), MeasureError> {
        self.reader.remove()
    }
}

/// Reads the addresses of a stack, innermost first; it ends with the record, or where the kernel says so.
fn addresses(caller: Field, record: &Record<'_>) -> Vec<u64> {
    let all = caller.rest(record.data).chunks_exact(8);
    let all = all.map(|bytes| {
        bytes
            .iter()
            .rev()
            .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    });
    all.take_while(|address| !matches!(*address, 0 | u64::MAX))
        .take(DEEP)
        .collect()
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
