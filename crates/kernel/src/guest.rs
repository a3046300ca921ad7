// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the host and the agent in a guest say to each other.
//!
//! The host puts a [`Job`] into the initial RAM file system. The agent answers on the second serial
//! port in [`Frames`]: a [`Hello`], for each run the files that it left and how it ended, and a
//! [`Goodbye`]. What is not there to the last byte is an error, never a shorter result.

mod answer;
mod checks;
mod frames;
mod job;
mod model;
mod quiet;
mod stage;
mod timers;

pub use answer::{Answer, AnswerError, Goodbye, Hello, RunAnswer, RunEnd, names};
pub use checks::{checks, is_makeshift, run_checks};
pub use frames::{Frame, FrameError, Frames, frame};
pub use job::{DiskJob, DiskStep, Fault, JOB_FILE, JOB_FORMAT, Job, JobRun};
pub use model::{Model, UnknownModel};
pub use quiet::{Activity, Census, Of, Quiet, Ran};
pub use stage::Stage;
pub use timers::{HighResolution, high_resolution};
