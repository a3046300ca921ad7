// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A tracing instance of our own that is read as the kernel stores it, page by page, and what it could not hold.

use punctual_model::{CpuId, CpuSet};
use punctual_sys::SysRoot;
use punctual_sys::sched;
use punctual_sys::tracefs::{Instance, PageLayout, Record, Records, Tracefs, TracefsError};

use crate::error::MeasureError;

/// All trace buffers together, in KiB.
const ALL_BUFFERS_KIB: u32 = 256 * 1_024;

/// Largest trace buffer of a CPU that may be asked for, in KiB.
pub const LARGEST_BUFFER_KIB: u32 = 1_048_576;

/// Returns the CPUs whose events are recorded: all that are online.
///
/// # Errors
///
/// [`MeasureError::ReadBack`] where neither the machine nor this process tells them.
pub(crate) fn cpus(sys: &SysRoot) -> Result<CpuSet, MeasureError> {
    match sys.fact("/sys/devices/system/cpu/online") {
        Some(cpus) => Ok(cpus),
        None => sched::affinity().map_err(|source| MeasureError::ReadBack { source }),
    }
}

/// Returns the buffer of each of `cpus` in KiB: `wanted`, or less where all of them would be too many.
pub(crate) fn buffer_kib(wanted: u32, cpus: &CpuSet) -> u32 {
    let count = u32::try_from(cpus.len()).unwrap_or(u32::MAX).max(1);
    wanted.min((ALL_BUFFERS_KIB / count).max(64))
}

/// What was read of an instance.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    records: u64,
    bytes: u64,
}

/// What the kernel could not take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Lost {
    /// Records of all CPUs.
    pub(crate) records: u64,
    /// The buffer of each CPU that was full, in KiB.
    kib: u32,
    /// The buffer that would have held all of them, in KiB, at this many bytes a record. Nothing where none was lost.
    wanted: Option<(u32, f64)>,
}

impl Lost {
    /// Counts `records` that did not fit into a buffer of `kib` KiB, from which `taken` was read.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bytes of records that were read, rounded up; a cast that is too large saturates"
    )]
    fn add(&mut self, kib: u32, taken: Taken, records: u64) {
        self.records += records;
        if records == 0 || taken.records == 0 {
            return;
        }
        let bytes = taken.bytes as f64 / taken.records as f64;
        let more = (records as f64 * bytes / 1_024.0).ceil() as u32;
        // Pages are not filled to their last byte.
        let wanted = kib.saturating_add(more).saturating_add(1);
        let wanted = wanted.checked_next_multiple_of(1_024).unwrap_or(wanted);
        if self.wanted.is_none_or(|(known, _)| known < wanted) {
            (self.kib, self.wanted) = (kib, Some((wanted, bytes)));
        }
    }

    /// Adds what another instance lost. An option is that of all buffers, and is not to make one of them smaller than `kib`.
    pub(crate) fn and(mut self, other: Self, kib: u32) -> Self {
        self.records += other.records;
        if let Some(wanted) = other.wanted
            && self.wanted.is_none_or(|(known, _)| known < wanted.0)
        {
            (self.kib, self.wanted) = (other.kib, Some(wanted));
        }
        self.wanted = self.wanted.map(|(wanted, bytes)| (wanted.max(kib), bytes));
        self
    }

    /// The same where nobody can choose another buffer.
    pub(crate) fn without_advice(self) -> Self {
        Self {
            wanted: None,
            ..self
        }
    }

    /// Says what was lost, of `read` records that were not, and what would have held it.
    pub(crate) fn says(self, read: u64) -> String {
        let lost = self.records;
        match (lost, self.wanted) {
            (0, _) => format!("{read} trace records were read, none was lost"),
            (_, None) => format!("the kernel could not take {lost} trace records"),
            (_, Some((wanted, bytes))) => {
                let advice = match wanted > LARGEST_BUFFER_KIB {
                    true => "no --buffer would have held them".to_owned(),
                    false => format!("--buffer {wanted} would have held them"),
                };
                format!(
                    "the kernel could not take {lost} trace records: a buffer of {} KiB a CPU was full; {advice}, at \
                     {bytes:.0} bytes a record",
                    self.kib
                )
            }
        }
    }
}

/// An instance with its buffers.
#[derive(Debug)]
pub(crate) struct Reader {
    instance: Instance,
    layout: PageLayout,
    page: Vec<u8>,
    cpus: CpuSet,
    kib: u32,
    taken: Taken,
}

impl Reader {
    /// Makes an instance whose clock is the monotonic one, with a buffer of `kib` a CPU. Nothing is recorded yet.
    ///
    /// # Errors
    ///
    /// [`MeasureError::Tracing`] as the kernel refuses.
    pub(crate) fn new(
        tracefs: &Tracefs,
        name: &str,
        cpus: &CpuSet,
        kib: u32,
    ) -> Result<Self, MeasureError> {
        Self::with_tracer(tracefs, name, None, cpus, kib)
    }

    /// The same, into which a tracer writes that runs already: it must be there before the buffers are opened.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub(crate) fn with_tracer(
        tracefs: &Tracefs,
        name: &str,
        tracer: Option<&str>,
        cpus: &CpuSet,
        kib: u32,
    ) -> Result<Self, MeasureError> {
        let layout = tracefs.page_layout()?;
        let mut instance = tracefs.instance(name).map_err(TracefsError::Use)?;
        // The clock of the threads' deadlines and readings.
        let clock = instance.write("trace_clock", "mono");
        let tracer = clock.and_then(|()| match tracer {
            Some(tracer) => instance.write("current_tracer", tracer),
            None => Ok(()),
        });
        tracer
            .and_then(|()| instance.open_buffers(cpus, kib))
            .map_err(TracefsError::Use)?;
        Ok(Self {
            instance,
            layout,
            page: vec![0; layout.bytes()],
            cpus: cpus.clone(),
            kib,
            taken: Taken::default(),
        })
    }

    /// Returns the instance.
    pub(crate) const fn instance(&self) -> &Instance {
        &self.instance
    }

    /// Returns the CPUs whose buffers are read.
    pub(crate) const fn cpus(&self) -> &CpuSet {
        &self.cpus
    }

    /// Writes `value` to a file of the instance.
    ///
    /// # Errors
    ///
    /// As [`Instance::write`].
    pub(crate) fn write(&self, file: &str, value: &str) -> Result<(), MeasureError> {
        Ok(self
            .instance
            .write(file, value)
            .map_err(TracefsError::Use)?)
    }

    /// Adds a value to those in a file of the instance.
    ///
    /// # Errors
    ///
    /// As [`Instance::add`].
    pub(crate) fn add(&self, file: &str, value: &str) -> Result<(), MeasureError> {
        let added = self.instance.add(file, value);
        Ok(added.map_err(TracefsError::Use)?)
    }

    /// Switches an event on or off.
    ///
    /// # Errors
    ///
    /// As [`Instance::write`].
    pub(crate) fn switch(&self, event: &str, on: bool) -> Result<(), MeasureError> {
        self.write(
            &format!("events/{event}/enable"),
            if on { "1" } else { "0" },
        )
    }

    /// Passes on what is in the buffers, those of one CPU in order. While recording goes on it is no more than fits into them: who
    /// writes faster than this reads would fill our memory.
    ///
    /// # Errors
    ///
    /// [`MeasureError::Trace`] as `read(2)` fails.
    pub(crate) fn read(
        &mut self,
        goes_on: bool,
        mut each: impl FnMut(CpuId, &Record<'_>),
    ) -> Result<(), MeasureError> {
        let pages_of_buffer = self.kib as usize * 1_024 / self.layout.bytes().max(1) + 1;
        for buffer in self.instance.buffers() {
            let cpu = buffer.cpu;
            let mut pages = 0;
            while !goes_on || pages < pages_of_buffer {
                pages += 1;
                let Some(page) = buffer.read(&mut self.page).map_err(MeasureError::Trace)? else {
                    break;
                };
                let Some(records) = Records::of(page, self.layout) else {
                    continue;
                };
                self.taken.bytes += records.bytes() as u64;
                for record in records {
                    self.taken.records += 1;
                    each(cpu, &record);
                }
            }
        }
        Ok(())
    }

    /// Returns how many records were read.
    pub(crate) const fn records(&self) -> u64 {
        self.taken.records
    }

    /// Returns what the kernel could not take, and what would have held it.
    ///
    /// # Errors
    ///
    /// As [`Instance::losses`].
    pub(crate) fn lost(&self) -> Result<Lost, MeasureError> {
        let mut lost = Lost::default();
        for cpu in self.cpus.iter() {
            let losses = self.instance.losses(cpu).map_err(TracefsError::Use)?;
            lost.add(self.kib, self.taken, losses.all());
        }
        Ok(lost)
    }

    /// Removes the instance.
    ///
    /// # Errors
    ///
    /// As [`Instance::remove`].
    pub(crate) fn remove(self) -> Result<(), MeasureError> {
        Ok(self.instance.remove().map_err(TracefsError::Use)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_that_would_have_held_all_follows_from_what_was_read() {
        let mut lost = Lost::default();
        let taken = Taken {
            records: 10_000,
            bytes: 500_000,
        };
        lost.add(2_048, taken, 0);
        assert_eq!(
            lost.says(10_000),
            "10000 trace records were read, none was lost"
        );
        // 100,000 records of 50 bytes are 4,883 KiB, beyond the 2,048 that were taken.
        lost.add(2_048, taken, 100_000);
        lost.add(2_048, taken, 50);
        assert_eq!(lost.records, 100_050);
        let says = lost.says(10_000);
        assert!(
            says.contains("a buffer of 2048 KiB a CPU was full"),
            "{says}"
        );
        assert!(
            says.contains("--buffer 7168 would have held them, at 50 bytes a record"),
            "{says}"
        );
        // No buffer may be that large.
        lost.add(2_048, taken, 30_000_000);
        let says = lost.says(10_000);
        assert!(
            says.contains("no --buffer would have held them, at 50 bytes"),
            "{says}"
        );
        // The length of a record is unknown where nothing was read.
        let mut unknown = Lost::default();
        unknown.add(64, Taken::default(), 7);
        assert_eq!(unknown.says(0), "the kernel could not take 7 trace records");
    }
}
