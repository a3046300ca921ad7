// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The program as its users run it: options in, files, figures and exit statuses out.
//!
//! One file a subject. Nothing here depends on how good this machine's latencies are.
#![expect(clippy::unwrap_used, reason = "test helpers")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/pty.rs"]
mod pty;

mod bad_input;
mod bad_store;
mod browser;
mod compare;
mod confined;
mod deadline;
mod disk;
mod doctor;
mod earlier;
mod ends;
mod every_load;
mod experiment;
mod extrapolate;
mod figures;
mod fleet;
mod gates;
mod guest_experiment;
mod guests;
mod history;
mod hostile;
mod imported;
mod ipc;
mod irq;
mod irq_devices;
mod kernel_hostile;
mod kernel_install;
mod kernel_rt;
mod kernel_source;
mod kill;
mod live;
mod loads;
mod machines;
mod made_experiment;
mod noise;
mod one_shot;
mod one_shot_boots;
mod options;
mod output;
mod pi;
mod process;
mod release;
mod report;
mod schema;
mod second_look;
mod serve;
mod statuses;
mod study;
mod system;
mod task_sets;
mod tasks;
mod threads;
mod throughput;
mod unprivileged;
mod watch;
mod whole_runs;
