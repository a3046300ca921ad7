// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What each instrument is, in one table: everything that is said of an instrument by its name is read from here.

/// What an instrument makes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Makes {
    /// Latencies: idle states are bounded and memory is locked unless the user says otherwise.
    Latencies,
    /// Rates: neither is a part of the question, and locking gigabytes takes a privilege.
    Rates,
    /// What somebody else's program does: the machine stays as that program has it.
    Observations,
}

/// The words for samples: a release that spun the last stretch has no wake-up latency, and a gap was nobody's deadline.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SampleWords {
    /// Heading of a table of them.
    pub title: &'static str,
    /// Heading of a column of single values.
    pub value: &'static str,
    /// What has a deadline, as the heading of a table.
    pub events: &'static str,
}

/// How the figures of a run without samples are drawn.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Picture {
    /// A table says it.
    None,
    /// Against the size of what was worked on.
    Sizes,
    /// A field for each pair of nodes.
    NodePairs,
    /// A dot for each figure.
    Dots,
}

/// What one instrument is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Instrument {
    /// Name in commands and records.
    pub name: &'static str,
    /// Heading of its part of a page.
    pub heading: &'static str,
    /// What it makes.
    pub makes: Makes,
    /// What its samples mean: those of instruments with the same meaning may be compared.
    pub meaning: &'static str,
    /// Words for its samples.
    pub samples: SampleWords,
    /// Title of the chart of its samples by kind.
    pub kinds: Option<&'static str>,
    /// Figures that say most of a run without samples, the first before all others.
    pub key_figures: &'static [&'static str],
    /// How figures are drawn.
    pub picture: Picture,
}

const LATENCY: SampleWords = SampleWords {
    title: "Latency",
    value: "Latency",
    events: "Wake-ups",
};

/// What holds of most of them.
const COMMON: Instrument = Instrument {
    name: "",
    heading: "",
    makes: Makes::Latencies,
    meaning: "",
    samples: LATENCY,
    kinds: None,
    key_figures: &[],
    picture: Picture::None,
};

/// Late wake-ups of a thread, by whichever tool.
const WAKE_UP: Instrument = Instrument {
    meaning: "wake-up latency",
    ..COMMON
};

/// Noise as another tool counts it, by occurrence or by period.
const NOISE_OF_A_TOOL: Instrument = Instrument {
    samples: SampleWords {
        title: "Noise",
        value: "Noise",
        events: "Samples",
    },
    ..COMMON
};

impl Instrument {
    /// Every instrument of this program, and the tools whose results can be imported under a name of their own.
    pub const ALL: &[Self] = &[
        Self {
            name: "wakeup",
            heading: "Wake-up latency",
            ..WAKE_UP
        },
        Self {
            name: "irq",
            heading: "From the interrupt to the thread",
            meaning: "phases of a wake-up",
            kinds: Some("Where the time of a wake-up goes"),
            ..COMMON
        },
        Self {
            name: "interrupts",
            heading: "Interrupts of devices",
            makes: Makes::Observations,
            meaning: "handling of interrupts",
            samples: SampleWords {
                title: "Time",
                value: "Time",
                events: "Interrupts",
            },
            kinds: Some("How long interrupts take, and what they wake"),
            ..COMMON
        },
        Self {
            name: "ipc",
            heading: "Waking another thread",
            meaning: "waking another thread",
            kinds: Some("Ways to wake a thread"),
            ..COMMON
        },
        Self {
            name: "pi",
            heading: "Priority inversion",
            meaning: "wait for a lock",
            samples: SampleWords {
                title: "Wait for the lock",
                value: "Wait",
                events: "Waits",
            },
            kinds: Some("Wait for the lock, by protocol"),
            ..COMMON
        },
        Self {
            name: "release",
            heading: "Release accuracy",
            meaning: "release lateness",
            samples: SampleWords {
                title: "Release lateness",
                value: "Lateness",
                events: "Releases",
            },
            ..COMMON
        },
        Self {
            name: "deadline",
            heading: "Deadlines of computing threads",
            meaning: "response time",
            samples: SampleWords {
                title: "Response time",
                value: "Response",
                events: "Iterations",
            },
            ..COMMON
        },
        Self {
            name: "tasks",
            heading: "Task set",
            meaning: "response time of the jobs of a task set",
            samples: SampleWords {
                title: "Response time",
                value: "Response",
                events: "Jobs",
            },
            kinds: Some("Response times, by task"),
            ..COMMON
        },
        Self {
            name: "noise",
            heading: "Noise",
            meaning: "gaps",
            samples: SampleWords {
                title: "Gaps",
                value: "Gap",
                events: "Gaps",
            },
            picture: Picture::Dots,
            ..COMMON
        },
        Self {
            name: "watch",
            heading: "Cycles of a program",
            makes: Makes::Observations,
            meaning: "response of a program's cycles",
            samples: SampleWords {
                title: "Response time",
                value: "Response",
                events: "Cycles",
            },
            ..COMMON
        },
        Self {
            name: "linpack",
            heading: "LINPACK",
            makes: Makes::Rates,
            meaning: "LINPACK",
            key_figures: &["gflops", "peak", "share_of_peak"],
            picture: Picture::Sizes,
            ..COMMON
        },
        Self {
            name: "memory",
            heading: "Memory",
            makes: Makes::Rates,
            meaning: "memory",
            key_figures: &["copy", "stream_triad", "random_read", "chase"],
            picture: Picture::NodePairs,
            ..COMMON
        },
        Self {
            name: "io",
            heading: "Storage",
            makes: Makes::Rates,
            meaning: "storage",
            key_figures: &["throughput", "requests", "completion_latency_p99"],
            picture: Picture::Dots,
            ..COMMON
        },
        Self {
            name: "phoronix",
            heading: "Results of the Phoronix Test Suite",
            meaning: "results of the Phoronix Test Suite",
            picture: Picture::Dots,
            ..COMMON
        },
        Self {
            name: "cyclictest",
            heading: "Wake-up latency by cyclictest",
            ..WAKE_UP
        },
        Self {
            name: "timerlat",
            heading: "Wake-up latency by timerlat",
            ..WAKE_UP
        },
        Self {
            name: "jitterdebugger",
            heading: "Wake-up latency by jitterdebugger",
            ..WAKE_UP
        },
        Self {
            name: "latmus",
            heading: "Wake-up latency by latmus",
            ..WAKE_UP
        },
        Self {
            name: "latency",
            heading: "Wake-up latency by Xenomai's latency",
            ..WAKE_UP
        },
        Self {
            name: "osnoise",
            heading: "Noise by osnoise",
            meaning: "noise as osnoise counts it",
            ..NOISE_OF_A_TOOL
        },
        Self {
            name: "hwnoise",
            heading: "Noise by hwnoise",
            meaning: "noise of the hardware",
            ..NOISE_OF_A_TOOL
        },
        Self {
            name: "oslat",
            heading: "Turns of a busy loop by oslat",
            meaning: "turns of a busy loop",
            samples: SampleWords {
                title: "Time of a turn",
                value: "Turn",
                events: "Turns",
            },
            ..COMMON
        },
    ];

    /// Returns the instrument of this name. Records of other tools, and of newer programs, have names that are not in the
    /// table.
    pub fn of(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|of| of.name == name)
    }

    /// Returns the words for samples of the instrument of this name.
    pub fn samples_of(name: &str) -> SampleWords {
        Self::of(name).map_or(LATENCY, |of| of.samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_instrument_is_described_once_and_wholly() {
        for (place, of) in Instrument::ALL.iter().enumerate() {
            assert!(!of.name.is_empty() && !of.heading.is_empty() && !of.meaning.is_empty());
            assert_eq!(Instrument::of(of.name), Some(of));
            let others = Instrument::ALL.iter().skip(place + 1);
            assert!(others.clone().all(|other| other.name != of.name));
            assert_eq!(of.makes == Makes::Rates, !of.key_figures.is_empty());
        }
        assert_eq!(Instrument::of("newer"), None);
        assert_eq!(Instrument::samples_of("newer"), LATENCY);
    }
}
