// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual kernel config`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use punctual_host::Machine;
use punctual_kernel::config::{
    self, Base, Builtin, Configured, MODELS, WITH, WITHOUT, Wish, configure,
};
use punctual_kernel::source::{KernelStore, Tree};
use punctual_model::{
    ChangedOption, ConfigDiff, ConfigReport, Diagnosis, KERNEL_CONFIG_DIFF_FORMAT,
    KERNEL_CONFIG_FORMAT, Ordered as _, RuleOutcome, Severity,
};
use punctual_report::document::Document;
use punctual_report::text::Detail;
use punctual_sys::SysRoot;

use crate::cli::{KernelConfigAction, KernelConfigArgs, KernelConfigWish};
use crate::error::CliError;
use crate::exit::Exit;
use crate::kernels::config::not_configured;
use crate::kernels::kernel_store::{self, failed, show};
use crate::output::{self, print};
use crate::signals::StopRequest;

/// Returns what the options ask of a configuration.
pub(super) fn wish(given: &KernelConfigWish) -> Wish {
    let base = match given.base.as_str() {
        "running" => Base::Running,
        "tiny" => Base::Tiny,
        "defconfig" => Base::Defconfig,
        file => Base::File(PathBuf::from(file)),
    };
    Wish {
        base,
        model: given.model,
        with: given.with.clone(),
        without: given.without.clone(),
        files: given.fragment.clone(),
        set: given.set.clone(),
    }
}

/// Does what the options of `kernel config` say.
pub(super) fn run(home: Option<&Path>, args: &KernelConfigArgs) -> Result<Exit, CliError> {
    let stock = kernel_store::open(home)?;
    match &args.action {
        Some(KernelConfigAction::Check {
            config,
            all,
            fail_on,
            json,
        }) => check(&stock, config, *all, *fail_on, *json),
        Some(KernelConfigAction::Diff { a, b, json }) => diff(&stock, a, b, *json),
        None if args.list => {
            print(&output::written(&fragments()))?;
            Ok(Exit::Fine)
        }
        None => make(&stock, args),
    }
}

/// Makes the record of a configuration.
fn report(tree: &Tree, wish: &Wish, made: &Configured, output: Option<&Path>) -> ConfigReport {
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    ConfigReport {
        format: KERNEL_CONFIG_FORMAT.to_owned(),
        source: tree.path.display().to_string(),
        version: tree.version.clone(),
        architecture: Some(tree.machine().to_owned()),
        base: wish.base.name(),
        model: wish.model,
        fragments: made.fragments.clone(),
        wanted: count(made.wanted),
        unmet: made.unmet.clone(),
        options_on: count(
            made.values
                .iter()
                .filter(|(name, _)| made.values.is_on(name))
                .count(),
        ),
        sha256: made.sha256(),
        output: output.map(|path| path.display().to_string()),
        remarks: made.remarks.clone(),
    }
}

fn make(stock: &KernelStore, args: &KernelConfigArgs) -> Result<Exit, CliError> {
    if let Some(output) = &args.output
        && !args.force
        && output.exists()
    {
        return Err(
            CliError::usage(format!("--output {}: already exists", output.display()))
                .hint("--force overwrites it"),
        );
    }
    let source = kernel_store::find_or_only(stock, args.source.as_deref())?;
    let source = source.built_for(args.wish.arch);
    let wish = wish(&args.wish);
    let stop = StopRequest::on_signals()?;
    let scratch = tempfile::tempdir().map_err(|err| failed("make a temporary directory", err))?;
    let made = configure(
        &source.tree,
        scratch.path(),
        &wish,
        &SysRoot::live(),
        &|| stop.is_set(),
    )
    .map_err(not_configured)?;
    if let Some(output) = &args.output {
        fs::copy(scratch.path().join(".config"), output)
            .map_err(|err| failed(&format!("write {}", output.display()), err))?;
    }
    let report = report(&source.tree, &wish, &made, args.output.as_deref());
    show(&report, args.json, Document::of_kernel_config)?;
    Ok(if report.unmet.is_empty() {
        Exit::Fine
    } else {
        Exit::Failed
    })
}

fn fragments() -> Document {
    let row = |of: &Builtin| (of.name.to_owned(), of.fragment().about);
    let list = |list: &[Builtin]| list.iter().map(row).collect();
    let lists = [
        ("", ["<--model", "<About"], list(MODELS)),
        ("", ["<--with", "<About"], list(WITH)),
        ("", ["<--without", "<About"], list(WITHOUT)),
    ];
    Document::of_names("Fragments", lists)
}

fn diff(stock: &KernelStore, a: &str, b: &str, json: bool) -> Result<Exit, CliError> {
    let (here, there) = (
        kernel_store::configuration(stock, a)?,
        kernel_store::configuration(stock, b)?,
    );
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let changed = here.difference(&there).into_iter();
    let diff = ConfigDiff {
        format: KERNEL_CONFIG_DIFF_FORMAT.to_owned(),
        a: a.to_owned(),
        b: b.to_owned(),
        options_a: count(here.len()),
        options_b: count(there.len()),
        changed: changed
            .map(|(name, a, b)| ChangedOption {
                name: name.to_owned(),
                a: a.to_owned(),
                b: b.to_owned(),
            })
            .collect(),
    };
    show(&diff, json, Document::of_config_difference)?;
    Ok(Exit::Fine)
}

/// Judges a configuration by the rules of `doctor`: those that can say something from it alone.
fn check(
    stock: &KernelStore,
    word: &str,
    all: bool,
    fail_on: Option<Severity>,
    json: bool,
) -> Result<Exit, CliError> {
    let values = kernel_store::configuration(stock, word)?;
    if values.is_empty() {
        return Err(CliError::failed_to(format!("check {word}")).because("it sets no option"));
    }
    if let Some(missing) = config::part(&values) {
        return Err(CliError::failed_to(format!("check {word}"))
            .because(format!(
                "it is only part of a configuration (it does not name {missing}, as every whole one does): what it does \
                 not name may be on"
            ))
            .hint(
                "check the .config that make wrote; `punctual kernel config --fragment FILE -o OUTPUT` makes one of a part",
            ));
    }
    if let Some(odd) = config::odd_tick(&values) {
        return Err(CliError::failed_to(format!("check {word}"))
            .because(format!("it is not what make wrote: {odd}"))
            .hint("`punctual kernel config --base FILE -o OUTPUT` makes a whole one of it"));
    }
    // Where a captured machine has the configuration of its kernel.
    let place = "/boot/config-checked";
    let files = BTreeMap::from([(place.to_owned(), Ok(values.to_text()))]);
    let empty = tempfile::tempdir().map_err(|err| failed("make a temporary directory", err))?;
    let host = punctual_host::inspect(&SysRoot::at(empty.path()));
    let mut diagnosis: Diagnosis = punctual_host::diagnose(&Machine::from_files(files), host, None);
    diagnosis.verdicts.retain(|verdict| {
        let judged = matches!(verdict.outcome, RuleOutcome::Found | RuleOutcome::Fine);
        judged
            && verdict
                .evidence
                .iter()
                .any(|evidence| evidence.path == place)
    });
    for verdict in &mut diagnosis.verdicts {
        for evidence in &mut verdict.evidence {
            word.clone_into(&mut evidence.path);
        }
    }
    diagnosis.verdicts.extend(config::check(&values, word));
    diagnosis
        .verdicts
        .order_by_key(|verdict| std::cmp::Reverse(verdict.rule.severity));
    let detail = if all { Detail::Full } else { Detail::Summary };
    output::show_in(detail, &diagnosis, json, |diagnosis| {
        Document::of_checked_config(diagnosis, word, values.len())
    })?;
    let failed = fail_on.is_some_and(|least| {
        let worst = diagnosis.worst();
        worst.is_some_and(|worst| worst.is_at_least(least))
    });
    Ok(if failed { Exit::Verdict } else { Exit::Fine })
}
