// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The chores of this repository: `cargo xtask --help`.
#![forbid(unsafe_code)]

mod app;
mod bench;
mod c_header;
mod completions;
mod files;
mod generated;
mod layers;
mod machine;
mod man;
mod new;
mod prose;
mod schemas;
mod sizes;
mod third_party;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

/// The chores of this repository
#[derive(Debug, Parser)]
#[command(
    name = "xtask",
    bin_name = "cargo xtask",
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Fail on a dependency between crates that the layer table does not allow
    CheckLayers,
    /// Check the length of Rust files and their licence header
    CheckSizes,
    /// Find phrases of docs/banned-phrases.txt in Markdown, string literals and documentation comments
    CheckProse,
    /// Write all files that are made from the sources: schemas, man pages, completions, rules, the header for C
    Generate(Generate),
    /// Make the files of a new instrument, load or rule
    #[command(subcommand)]
    New(new::New),
    /// Write what doctor reads and tune changes on this machine to a file, without private data
    CaptureMachine(machine::Capture),
    /// Make a directory tree of such a file
    UnpackMachine(machine::Unpack),
    /// Measure the budgets, as ratios to Debian's cyclictest
    Bench(bench::Options),
    /// Write the licences of what is linked into the program, and a bill of materials (CycloneDX)
    ThirdParty(third_party::Options),
}

#[derive(Debug, Args)]
struct Generate {
    /// Write nothing; fail with the names of the files that are not up to date
    #[arg(long)]
    check: bool,
}

impl Generate {
    fn mode(&self) -> generated::Mode {
        if self.check {
            generated::Mode::Check
        } else {
            generated::Mode::Write
        }
    }
}

fn main() -> ExitCode {
    match run(Cli::parse().chore) {
        Ok(status) => status,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> anyhow::Result<ExitCode> {
    let root = files::workspace_root();
    match chore {
        Chore::CheckLayers => layers::check(&root)?,
        Chore::CheckSizes => sizes::check(&root)?,
        Chore::CheckProse => prose::check(&root)?,
        Chore::Generate(options) => {
            let (docs, mode) = (root.join("docs"), options.mode());
            let command = app::command();
            generated::apply(&docs.join("schemas"), &schemas::files()?, mode)?;
            generated::apply(&docs.join("man"), &man::files(&command)?, mode)?;
            let scripts = completions::files(&command);
            generated::apply(&docs.join("completions"), &scripts, mode)?;
            let mut of_processes = punctual_host::process_rules();
            of_processes.extend(punctual_measure::watch::habit_rules());
            let rules = punctual_report::rules::markdown(
                &punctual_host::rules(),
                &of_processes,
                &punctual_kernel::config::rules(),
            );
            generated::apply_one(&docs.join("rules.md"), &rules, mode)?;
            let header = c_header::content(&root)?;
            generated::apply_one(&root.join(c_header::PATH), &header, mode)?;
        }
        Chore::New(what) => new::make(&root, &what)?,
        Chore::CaptureMachine(options) => machine::capture(&options)?,
        Chore::UnpackMachine(options) => machine::unpack(&options)?,
        Chore::Bench(options) => return bench::run(&root, &options),
        Chore::ThirdParty(options) => third_party::write(&root, &options)?,
    }
    Ok(ExitCode::SUCCESS)
}
