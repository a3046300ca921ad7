// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Which of the events this kernel has, and what their records are taken for.

use punctual_model::CpuId;
use punctual_sys::tracefs::{Field, FormatError, Record, Tracefs, TracefsError};

use super::super::who::{Names, Tid};
use super::timerlat::OF_TIMERLAT;
use super::{Event, Layout, OF_ALL, OF_X86, VECTORS, Wanted, What};

/// The events that this kernel has, and how their records are laid out.
#[derive(Debug)]
pub(crate) struct Decoder {
    /// By the events' numbers.
    known: Vec<Option<(Wanted, Layout)>>,
    pid: Field,
    /// Number of the event at a function of the program.
    probe: Option<u16>,
    chosen: Vec<Wanted>,
    lacking: Vec<Wanted>,
}

impl Decoder {
    /// Finds what the kernel has of the events that `choose` picks.
    ///
    /// # Errors
    ///
    /// Fails where an event is missing without which nothing can be said, or a field of it, or one is described in a way
    /// that is not understood.
    pub(crate) fn of(
        tracefs: &Tracefs,
        choose: impl Fn(&Wanted) -> bool,
    ) -> Result<Self, TracefsError> {
        let mut known: Vec<Option<(Wanted, Layout)>> = Vec::new();
        let (mut chosen, mut lacking) = (Vec::new(), Vec::new());
        let mut pid = None;
        let wanted = OF_ALL.iter().chain(&OF_X86).chain(&OF_TIMERLAT);
        for wanted in wanted.filter(|wanted| choose(wanted)).copied() {
            let event = wanted.event;
            if wanted.without.is_some() && !tracefs.has_event(event) {
                lacking.push(wanted);
                continue;
            }
            let format = tracefs.format(event)?;
            let refused = |source| TracefsError::Format {
                event: event.to_owned(),
                source,
            };
            let layout = match Layout::of(&format, wanted.fields) {
                Ok(layout) => layout,
                // Kernels 6.14 to 6.18.20 do not say whom `task_rename` is about: who renames another thread is not who is renamed.
                Err(FormatError::Missing(_)) if wanted.without.is_some() => {
                    lacking.push(wanted);
                    continue;
                }
                Err(err) => return Err(refused(err)),
            };
            pid.get_or_insert(format.field("common_pid").map_err(refused)?);
            let id = usize::from(format.id());
            if known.len() <= id {
                known.resize_with(id + 1, || None);
            }
            if let Some(place) = known.get_mut(id) {
                *place = Some((wanted, layout));
            }
            chosen.push(wanted);
        }
        Ok(Self {
            known,
            pid: pid.ok_or(TracefsError::Missing)?,
            probe: None,
            chosen,
            lacking,
        })
    }

    /// Knows the event at a function of the program by its number.
    pub(crate) const fn learn_probe(&mut self, id: u16) {
        self.probe = Some(id);
    }

    /// Returns the events that are recorded.
    pub(crate) fn chosen(&self) -> &[Wanted] {
        &self.chosen
    }

    /// Returns the events that this kernel lacks.
    pub(crate) fn lacking(&self) -> &[Wanted] {
        &self.lacking
    }

    /// Says what is not known for lack of an event. A kernel without any event of x86's vectors lacks them as a whole; one that
    /// lacks a few is built without that interrupt.
    pub(crate) fn unknown(&self) -> Vec<&'static str> {
        let is_vector = |of: &Wanted| OF_X86.iter().any(|own| own.event == of.event);
        let vectors = self.lacking.iter().filter(|of| is_vector(of)).count();
        let mut all = Vec::new();
        for of in &self.lacking {
            let without = match is_vector(of) && vectors == OF_X86.len() {
                true => VECTORS,
                false => of.without.unwrap_or(of.event),
            };
            if !all.contains(&without) {
                all.push(without);
            }
        }
        all
    }

    /// Whether `event` is recorded.
    pub(crate) fn has(&self, event: &str) -> bool {
        self.chosen.iter().any(|wanted| wanted.event == event)
    }

    /// Reads a record of `cpu`; nothing where it is of another event.
    pub(crate) fn read(&self, cpu: CpuId, record: &Record<'_>, names: &mut Names) -> Option<Event> {
        let id = record.id()?;
        let what = if self.probe == Some(id) {
            What::Probe
        } else {
            let (wanted, layout) = self.known.get(usize::from(id))?.as_ref()?;
            (wanted.read)(layout, record.data, names)?
        };
        let pid = Tid::try_from(self.pid.read(record.data)?).ok()?;
        let time = record.time;
        Some(Event {
            time,
            cpu,
            pid,
            what,
        })
    }
}

#[cfg(test)]
mod tests {
    use punctual_sys::SysRoot;
    use tempfile::TempDir;

    use super::super::PREEMPT_COUNT;
    use super::*;

    /// A kernel with all events, of which `event` lacks the field `field`.
    fn kernel(event: &str, field: &str) -> (TempDir, Tracefs) {
        let dir = tempfile::tempdir().unwrap();
        let tracing = dir.path().join("sys/kernel/tracing");
        std::fs::create_dir_all(&tracing).unwrap();
        std::fs::write(tracing.join("available_tracers"), "nop\n").unwrap();
        for (id, wanted) in (1..).zip(OF_ALL.iter().chain(&OF_X86).chain(&OF_TIMERLAT)) {
            let id: u32 = id;
            let own = wanted.fields.iter().filter(|name| **name != PREEMPT_COUNT);
            let own = own.filter(|name| wanted.event != event || **name != field);
            let common = ["common_pid", PREEMPT_COUNT];
            let fields = (0..).zip(common.iter().chain(own)).map(|(n, name)| {
                format!(
                    "\tfield:int {name};\toffset:{};\tsize:4;\tsigned:1;\n",
                    4 * n
                )
            });
            let text = format!("ID: {id}\nformat:\n{}", fields.collect::<String>());
            let place = tracing.join("events").join(wanted.event);
            std::fs::create_dir_all(&place).unwrap();
            std::fs::write(place.join("format"), text).unwrap();
        }
        let tracefs = Tracefs::open(&SysRoot::at(dir.path())).unwrap();
        (dir, tracefs)
    }

    #[test]
    fn a_vector_that_the_kernel_does_not_have_leaves_the_others_known() {
        let (dir, tracefs) = kernel("", "");
        let vectors = dir.path().join("sys/kernel/tracing/events/irq_vectors");
        let unknown = || Decoder::of(&tracefs, |_| true).unwrap().unknown();
        assert!(unknown().is_empty());
        // As kernels are that are built for AMD alone.
        for name in ["thermal_apic_entry", "thermal_apic_exit"] {
            std::fs::remove_dir_all(vectors.join(name)).unwrap();
        }
        assert_eq!(unknown(), ["thermal interrupt"]);
        std::fs::remove_dir_all(vectors).unwrap();
        assert_eq!(unknown(), [VECTORS]);
    }

    fn lacking(event: &str, field: &str) -> Result<Vec<&'static str>, TracefsError> {
        let (_dir, tracefs) = kernel(event, field);
        let decoder = Decoder::of(&tracefs, |_| true)?;
        assert_eq!(decoder.has(event), decoder.lacking().is_empty());
        Ok(decoder.lacking().iter().map(|of| of.event).collect())
    }

    #[test]
    fn an_event_without_a_field_is_one_that_the_kernel_lacks() {
        assert!(lacking("task/task_rename", "other").unwrap().is_empty());
        // As Linux 6.14 has it.
        let renames = lacking("task/task_rename", "pid").unwrap();
        assert_eq!(renames, ["task/task_rename"]);
        // Nothing can be said without who has the CPU.
        let err = lacking("sched/sched_switch", "next_pid").unwrap_err();
        assert!(
            matches!(
                err,
                TracefsError::Format {
                    source: FormatError::Missing("next_pid"),
                    ..
                }
            ),
            "{err}"
        );
    }
}
