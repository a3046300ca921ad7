// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Kernels before they boot: what there is, what was patched, configured, built and found.

use punctual_model::{
    AppliedSeries, BisectReport, BisectVerdict, BuildEnd, BuildReport, BuiltKernel, ConfigDiff,
    ConfigReport, KernelSource, KernelStock, PatchOutcome, PatchReport, PatchResult, PatchedTree,
    RebaseReport, RebaseState, SourceOrigin, UnmetOption,
};

use super::layout::{Column, clean, paragraph, table, wrapped};

/// Names that are listed of many.
const NAMED: usize = 12;

/// Lists the sources, images and builds of a store.
pub fn kernel_stock(stock: &KernelStock) -> String {
    let mut text = String::new();
    if stock.sources.is_empty() && stock.images.is_empty() && stock.builds.is_empty() {
        text.push_str(&wrapped(
            "",
            0,
            &format!("No kernels in {}", clean(&stock.directory)),
        ));
    }
    if !stock.sources.is_empty() {
        let rows = stock.sources.iter().map(source_row).collect();
        let header = ["source", "version", "from", "patches", "checksum"];
        text.push_str(&table(&columns(&header), rows));
    }
    if !stock.images.is_empty() {
        let rows = stock.images.iter().map(|image| {
            vec![
                said(&image.name),
                said(&image.release),
                said(&image.from),
                checked(Some(&image.sha256), image.verified_by.as_deref()),
            ]
        });
        push_block(
            &mut text,
            &table(
                &columns(&["image", "release", "from", "checksum"]),
                rows.collect(),
            ),
        );
    }
    if !stock.builds.is_empty() {
        push_block(&mut text, &builds_table(&stock.builds));
    }
    for damaged in &stock.damaged {
        text.push_str(&paragraph("DAMAGED", &clean(damaged)));
    }
    text
}

fn columns<'a>(names: &[&'a str]) -> Vec<(&'a str, Column)> {
    let text = |name: &str| matches!(name, "from" | "checksum" | "why" | "option");
    let kind = |name: &str| {
        if text(name) {
            Column::Text
        } else {
            Column::Left
        }
    };
    names.iter().map(|name| (*name, kind(name))).collect()
}

fn push_block(text: &mut String, block: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(block);
}

fn said(text: &str) -> String {
    clean(text).into_owned()
}

fn source_row(source: &KernelSource) -> Vec<String> {
    let from = match (&source.origin, &source.commit) {
        (SourceOrigin::Directory, None) => format!("{}, in place", source.from),
        (SourceOrigin::Directory, Some(commit)) => {
            format!("{}, in place, at {}", source.from, short(commit))
        }
        (_, Some(commit)) => format!("{}, at {}", source.from, short(commit)),
        (_, None) => source.from.clone(),
    };
    let patches = match source.patches.is_empty() {
        true => "none".to_owned(),
        false => source
            .patches
            .iter()
            .map(series)
            .collect::<Vec<_>>()
            .join("; "),
    };
    vec![
        said(&source.name),
        said(&source.version),
        said(&from),
        said(&patches),
        checked(source.sha256.as_deref(), source.verified_by.as_deref()),
    ]
}

fn series(series: &AppliedSeries) -> String {
    match series.left_out.len() {
        0 => format!("{} applied", series.applied.len()),
        out => format!("{} applied, {out} left out", series.applied.len()),
    }
}

fn checked(sha256: Option<&str>, verified_by: Option<&str>) -> String {
    match (sha256, verified_by) {
        (None, _) => "has none".to_owned(),
        (Some(sum), Some(by)) => said(&format!("{}, as in {by}", short(sum))),
        (Some(sum), None) => format!("{}, compared with nothing", short(sum)),
    }
}

/// The first 12 characters of a checksum or commit.
fn short(id: &str) -> String {
    id.chars().take(12).collect()
}

/// Says what became of a series: each patch that does not simply apply, and what is in the tree now.
pub fn patched(report: &PatchReport) -> String {
    let count = |outcome| {
        report
            .patches
            .iter()
            .filter(|p| p.outcome == outcome)
            .count()
    };
    let (applies, fails) = (count(PatchOutcome::Applies), count(PatchOutcome::Fails));
    let mut text = paragraph("Tree", &clean(&report.tree));
    text.push_str(&paragraph(
        "Series",
        &format!(
            "{}, {} patches",
            clean(&report.series),
            report.patches.len()
        ),
    ));
    let mut parts = vec![format!("{applies} apply"), format!("{fails} fail")];
    for (outcome, words) in [
        (PatchOutcome::AlreadyThere, "are in the tree already"),
        (
            PatchOutcome::NotTried,
            "were not tried, because they come after one that fails",
        ),
    ] {
        if count(outcome) > 0 {
            parts.push(format!("{} {words}", count(outcome)));
        }
    }
    text.push_str(&paragraph("Patches", &parts.join(", ")));
    for patch in &report.patches {
        text.push_str(&patch_lines(patch));
    }
    let result = match report.result {
        PatchedTree::Patched => format!("patched: {} files differ from before", report.files),
        PatchedTree::PatchedInPart => format!(
            "patched in part: {applies} patches are in the tree, {fails} are not; {} files differ from before",
            report.files
        ),
        PatchedTree::Unchanged => "unchanged: not all patches apply, so none was put in".to_owned(),
        PatchedTree::Trial => "unchanged: this was a trial".to_owned(),
    };
    text.push_str(&paragraph("Result", &result));
    text
}

fn patch_lines(patch: &PatchResult) -> String {
    let name = clean(&patch.name);
    match patch.outcome {
        PatchOutcome::Fails => {
            let mut text = wrapped("  FAILS   ", 10, &name);
            for failed in &patch.failed {
                let file = clean(&failed.file);
                let line = match (failed.hunk, failed.line) {
                    (Some(hunk), Some(line)) => format!("{file}: hunk {hunk}, at line {line}"),
                    (Some(hunk), None) => format!("{file}: hunk {hunk}"),
                    (None, _) => format!("{file}: there is no such file"),
                };
                text.push_str(&wrapped("            ", 12, &line));
            }
            if let Some(said) = &patch.said {
                text.push_str(&wrapped("            ", 12, &clean(said)));
            }
            text
        }
        PatchOutcome::AlreadyThere => wrapped("  there   ", 10, &name),
        PatchOutcome::Applies if patch.fuzzy_hunks > 0 => {
            let hunks = if patch.fuzzy_hunks == 1 {
                "hunk"
            } else {
                "hunks"
            };
            let fuzz = format!(
                "{name}: {} {hunks} with other context than the patch has",
                patch.fuzzy_hunks
            );
            wrapped("  fuzzy   ", 10, &fuzz)
        }
        PatchOutcome::Applies | PatchOutcome::NotTried => String::new(),
    }
}

/// Says what became of the options that were asked for.
pub fn kernel_config(report: &ConfigReport) -> String {
    let mut text = String::new();
    if !report.unmet.is_empty() {
        let (count, all) = (report.unmet.len(), report.wanted);
        text.push_str(&wrapped(
            "",
            0,
            &format!("NOT AS ASKED: {count} of {all} options"),
        ));
    }
    text.push_str(&paragraph(
        "Source",
        &clean(&format!("Linux {}, {}", report.version, report.source)),
    ));
    let model = report
        .model
        .map_or_else(|| "as the base has it".to_owned(), |m| m.to_string());
    text.push_str(&paragraph(
        "Base",
        &clean(&format!("{}, preemption model {model}", report.base)),
    ));
    if !report.fragments.is_empty() {
        text.push_str(&paragraph(
            "Fragments",
            &clean(&report.fragments.join(", ")),
        ));
    }
    let met = report
        .wanted
        .saturating_sub(u64::try_from(report.unmet.len()).unwrap_or(u64::MAX));
    text.push_str(&paragraph(
        "Options",
        &format!(
            "{met} of {} asked for are as asked, read back from the result; {} are on in all",
            report.wanted, report.options_on
        ),
    ));
    for remark in &report.remarks {
        text.push_str(&paragraph("Note", &clean(remark)));
    }
    text.push_str(&unmet(&report.unmet));
    if let Some(output) = &report.output {
        text.push_str(&paragraph("Written", &clean(output)));
    }
    text
}

/// Lists options that are not as asked.
pub(super) fn unmet(unmet: &[UnmetOption]) -> String {
    if unmet.is_empty() {
        return String::new();
    }
    let rows = unmet.iter().map(|option| {
        vec![
            said(&option.name),
            said(&option.wanted),
            said(&option.value),
            said(&option.why),
        ]
    });
    let header = [
        ("not honoured", Column::Left),
        ("asked", Column::Left),
        ("is", Column::Left),
        ("why", Column::Text),
    ];
    format!("\n{}", table(&header, rows.collect()))
}

/// Lists the options that differ.
pub fn config_difference(diff: &ConfigDiff) -> String {
    let mut text = paragraph(
        "A",
        &format!("{}, {} options", clean(&diff.a), diff.options_a),
    );
    text.push_str(&paragraph(
        "B",
        &format!("{}, {} options", clean(&diff.b), diff.options_b),
    ));
    if diff.changed.is_empty() {
        text.push_str("No option differs\n");
        return text;
    }
    let rows = diff
        .changed
        .iter()
        .map(|option| vec![said(&option.name), said(&option.a), said(&option.b)]);
    let header = [
        ("option", Column::Left),
        ("A", Column::Text),
        ("B", Column::Text),
    ];
    let count = diff.changed.len();
    let table = table(&header, rows.collect());
    text + &format!("{count} options differ; n is off, or not there\n\n{table}")
}

/// Says what was built.
pub fn kernel_builds(report: &BuildReport) -> String {
    let mut text = builds_table(&report.builds);
    for build in &report.builds {
        let word = match build.end {
            BuildEnd::Complete => continue,
            BuildEnd::Stopped => "was stopped; the same command goes on with it",
            BuildEnd::Failed => "failed",
        };
        text.push_str(&paragraph(
            "",
            &clean(&format!("{} {word}; its log is {}", build.name, build.log)),
        ));
    }
    for build in report.builds.iter().filter(|build| !build.unmet.is_empty()) {
        let line = format!("Options of {}:", build.name);
        text.push('\n');
        text.push_str(&wrapped("", 0, &clean(&line)));
        text.push_str(&unmet(&build.unmet));
    }
    for build in report.builds.iter().filter(|b| !b.packages.is_empty()) {
        let packages: Vec<&str> = build
            .packages
            .iter()
            .take(NAMED)
            .map(String::as_str)
            .collect();
        text.push_str(&paragraph("Packages", &clean(&packages.join(" "))));
    }
    text
}

fn builds_table(builds: &[BuiltKernel]) -> String {
    let rows = builds.iter().map(|build| {
        let end = match build.end {
            BuildEnd::Complete => "complete",
            BuildEnd::Stopped => "stopped",
            BuildEnd::Failed => "FAILED",
        };
        vec![
            said(&build.name),
            build
                .release
                .as_deref()
                .map_or_else(|| "-".to_owned(), said),
            build
                .model
                .map_or_else(|| "base's".to_owned(), |model| model.to_string()),
            end.to_owned(),
            format!("{}.{}", build.make_ms / 1000, build.make_ms % 1000 / 100),
            build.starts.to_string(),
            build.steps.to_string(),
            build
                .image_bytes
                .map_or_else(|| "-".to_owned(), |bytes| (bytes / 1024).to_string()),
        ]
    });
    let header = [
        ("build", Column::Left),
        ("release", Column::Text),
        ("model", Column::Left),
        ("end", Column::Left),
        ("make s", Column::Right),
        ("starts", Column::Right),
        ("steps", Column::Right),
        ("image KiB", Column::Right),
    ];
    table(&header, rows.collect())
}

/// Says how far a rebase is, and what is to be done.
pub fn rebased(report: &RebaseReport) -> String {
    let mut text = paragraph(
        "Tree",
        &clean(&format!("{}, which stays as it is", report.tree)),
    );
    text.push_str(&paragraph(
        "Rebase",
        &clean(&format!(
            "{} ({} commits since {}) onto {}, as branch {}",
            report.vendor,
            report.commits,
            short(&report.base),
            report.onto,
            report.branch
        )),
    ));
    if !report.resolved_before.is_empty() {
        text.push_str(&paragraph(
            "Resolved",
            &clean(&format!(
                "as before, by what git remembered: {}",
                report.resolved_before.join(", ")
            )),
        ));
    }
    match report.state {
        RebaseState::Complete => {
            let done = format!(
                "complete: {} of {} commits, in {}",
                report.done, report.commits, report.worktree
            );
            text.push_str(&paragraph("Result", &clean(&done)));
        }
        RebaseState::Aborted => text.push_str(&paragraph(
            "Result",
            "given up: the worktree and the branch are gone; resolutions are remembered",
        )),
        RebaseState::Stopped => text.push_str(&stopped(report)),
    }
    text
}

fn stopped(report: &RebaseReport) -> String {
    let at = report.stopped_at.as_ref().map_or_else(
        || "a commit".to_owned(),
        |commit| format!("{} {}", short(&commit.id), commit.subject),
    );
    let stopped = format!(
        "{} of {} commits are done; stopped at {at}",
        report.done, report.commits
    );
    let mut text = paragraph("STOPPED", &clean(&stopped));
    for conflict in &report.conflicts {
        let line = format!(
            "{} ({}), which {} touches in",
            conflict.file, conflict.kind, report.onto
        );
        text.push_str(&paragraph("Conflict", &clean(&line)));
        for commit in &conflict.theirs {
            let line = format!("{} {}", short(&commit.id), commit.subject);
            text.push_str(&wrapped("            ", 12, &clean(&line)));
        }
        if conflict.theirs.is_empty() {
            text.push_str(&wrapped("            ", 12, "no commit of its own"));
        }
    }
    let next = format!(
        "resolve these files in {}, then `punctual kernel rebase --tree {} --continue`",
        report.worktree, report.tree
    );
    text + &paragraph("Next", &clean(&next))
}

/// Says what a bisection found.
pub fn bisected(report: &BisectReport) -> String {
    let mut text = String::new();
    if let Some(stopped) = &report.stopped {
        text.push_str(&paragraph("NO ANSWER", &clean(stopped)));
    }
    if let Some(commit) = &report.first_bad {
        let line = format!("{} {}", commit.id, commit.subject);
        text.push_str(&paragraph("First bad", &clean(&line)));
    }
    for commit in &report.candidates {
        let line = format!("{} {}", short(&commit.id), commit.subject);
        text.push_str(&paragraph("Maybe", &clean(&line)));
    }
    text.push_str(&paragraph(
        "Searched",
        &clean(&format!(
            "{} commits of {}, {} judged, from {} (good) to {} (bad)",
            report.commits,
            report.tree,
            report.steps.len(),
            short(&report.good),
            short(&report.bad)
        )),
    ));
    text.push_str(&paragraph("Oracle", &clean(&report.oracle)));
    let rows = report.steps.iter().map(|step| {
        let verdict = match step.verdict {
            BisectVerdict::Good => "good",
            BisectVerdict::Bad => "bad",
            BisectVerdict::Skip => "skip",
        };
        vec![
            short(&step.commit.id),
            verdict.to_owned(),
            step.status.to_string(),
            format!("{}.{}", step.took_ms / 1000, step.took_ms % 1000 / 100),
            said(&step.commit.subject),
        ]
    });
    let header = [
        ("commit", Column::Left),
        ("verdict", Column::Left),
        ("status", Column::Right),
        ("s", Column::Right),
        ("subject", Column::Text),
    ];
    text.push('\n');
    text.push_str(&table(&header, rows.collect()));
    text
}
