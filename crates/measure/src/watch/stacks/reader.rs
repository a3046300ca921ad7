// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The instance in which the kernel takes stacks.

use std::collections::BTreeMap;

use punctual_model::{CpuId, CpuSet};
use punctual_sys::tracefs::{Field, Record, Tracefs, TracefsError};

use super::super::event::{Event, What};
use super::super::who::Tid;
use super::{At, DEEP, Site, Stacks, Taken};
use crate::error::MeasureError;
use crate::trace::Reader;

/// The instance in which the kernel takes stacks.
#[derive(Debug)]
pub(in crate::watch) struct StackReader {
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
    pub(in crate::watch) limited: bool,
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
pub(in crate::watch) const WITHOUT: &str =
    "where in the program and the kernel a thread waits (stacks)";

impl StackReader {
    /// Makes the instance `name`. Nothing where the kernel takes no stacks.
    pub(in crate::watch) fn new(
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
    pub(in crate::watch) fn follow(&self, list: &str) -> Result<(), MeasureError> {
        self.reader.write("set_event_pid", list)
    }

    /// Takes those of these threads too.
    pub(in crate::watch) fn follow_too(&self, list: &str) -> Result<(), MeasureError> {
        self.reader.add("set_event_pid", list)
    }

    /// Begins or ends.
    pub(in crate::watch) fn switch(
        &self,
        tracefs_has: impl Fn(&str) -> bool,
        on: bool,
    ) -> Result<(), MeasureError> {
        for event in EVENTS.into_iter().filter(|event| tracefs_has(event)) {
            self.reader.switch(event, on)?;
        }
        Ok(())
    }

    /// Ends at once.
    pub(in crate::watch) fn stop(&self) -> Result<(), MeasureError> {
        self.reader.write("tracing_on", "0")
    }

    /// Reads what was taken, at `now`. Where that is much, nothing is taken for the rest of the second.
    pub(in crate::watch) fn read(
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
    pub(in crate::watch) fn remove(self) -> Result<(), MeasureError> {
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
