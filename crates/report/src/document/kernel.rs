// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Kernels before they boot: what there is, what was patched, configured, built and found.

use punctual_model::{
    AppliedSeries, BisectReport, BisectVerdict, BuildEnd, BuildReport, BuiltKernel, ConfigDiff,
    ConfigReport, ConflictingCommit, FailedHunk, KernelSource, KernelStock, PatchOutcome,
    PatchReport, PatchResult, PatchedTree, RebaseReport, RebaseState, SourceOrigin, UnmetOption,
};

use super::named::counted;
use super::parts::{Block, Document, Item, More, Table, Tone};

/// Names that are listed of many.
const NAMED: usize = 12;

impl Document {
    /// Lists the sources, images and builds of a store.
    pub fn of_kernel_stock(stock: &KernelStock) -> Self {
        let columns = ["<Source", "<Version", "<From", "<Patches", "<Checksum"];
        let sources = Table::new("", &columns).with(stock.sources.iter().map(source_row));
        let images = stock.images.iter().map(|image| {
            let checked = checked(Some(&image.sha256), image.verified_by.as_deref());
            [&image.name, &image.release, &image.from, &checked].map(String::clone)
        });
        let images = Table::new("", &["<Image", "<Release", "<From", "<Checksum"]).with(images);
        let tables = [sources, images, builds(&stock.builds)];
        let blocks = match tables.iter().all(|table| table.rows.is_empty()) {
            true => vec![Block::Text(format!("No kernels in {}", stock.directory))],
            false => tables.map(Block::Table).into(),
        };
        let mut document = Self::of("Kernels", blocks);
        for damaged in &stock.damaged {
            document = document.answering(Tone::Bad, "DAMAGED", damaged);
        }
        document
    }

    /// Says what became of a series: each patch that does not simply apply, and what is in the tree now.
    pub fn of_patched(report: &PatchReport) -> Self {
        let count = |of| report.patches.iter().filter(|p| p.outcome == of).count();
        let (applies, fails) = (count(PatchOutcome::Applies), count(PatchOutcome::Fails));
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
        let (tone, word, result) = match report.result {
            PatchedTree::Patched => (Tone::Good, "Patched", String::new()),
            PatchedTree::PatchedInPart => {
                let there = format!("{applies} patches are in the tree, {fails} are not; ");
                (Tone::Bad, "Patched in part", there)
            }
            PatchedTree::Unchanged => {
                let why = "not all patches apply, so none was put in";
                (Tone::Bad, "Unchanged", why.to_owned())
            }
            PatchedTree::Trial => (Tone::Good, "Unchanged", "this was a trial".to_owned()),
        };
        let result = match report.result {
            PatchedTree::Unchanged | PatchedTree::Trial => result,
            _ => format!("{result}{} files differ from before", report.files),
        };
        let series = format!("{}, {} patches", report.series, report.patches.len());
        let facts = [
            ("Tree", report.tree.clone()),
            ("Series", series),
            ("Patches", parts.join(", ")),
        ];
        let patches = Block::items(report.patches.iter().filter_map(patch));
        Self::of("Patches", vec![Block::facts(facts), patches]).answering(tone, word, result)
    }

    /// Says what became of the options that were asked for.
    pub fn of_kernel_config(report: &ConfigReport) -> Self {
        let model = report.model.map(|model| model.to_string());
        let model = model.unwrap_or_else(|| "as the base has it".to_owned());
        let source = format!("Linux {}, {}", report.version, report.source);
        let machine = report.architecture.iter();
        let machine: String = machine.map(|of| format!(" for {of}")).collect();
        let base = format!("{}{machine}, preemption model {model}", report.base);
        let mut facts = vec![("Source", source), ("Base", base)];
        if !report.fragments.is_empty() {
            facts.push(("Fragments", report.fragments.join(", ")));
        }
        facts.extend(report.remarks.iter().map(|remark| ("Note", remark.clone())));
        let written = report.output.iter();
        facts.extend(written.map(|path| ("Written", path.clone())));
        let (tone, word, options) = match report.unmet.len() {
            0 => (Tone::Good, "As asked", "all".to_owned()),
            n => (Tone::Bad, "NOT AS ASKED", format!("{n} of")),
        };
        let sentence = format!(
            "{options} {} options, read back from the result; {} are on in all",
            report.wanted, report.options_on
        );
        let blocks = vec![
            Block::Table(self::unmet("", &report.unmet)),
            Block::facts(facts),
        ];
        Self::of("Configuration of a kernel", blocks).answering(tone, word, sentence)
    }

    /// Lists the options that differ.
    pub fn of_config_difference(diff: &ConfigDiff) -> Self {
        let changed = diff.changed.iter();
        let changed = changed.map(|of| [&of.name, &of.a, &of.b].map(String::clone));
        let blocks = vec![
            Block::Table(Table::new("", &["<Option", "<A", "<B"]).with(changed)),
            Block::facts([
                ("A", format!("{}, {} options", diff.a, diff.options_a)),
                ("B", format!("{}, {} options", diff.b, diff.options_b)),
            ]),
        ];
        let sentence = match diff.changed.len() {
            0 => "No option differs".to_owned(),
            1 => "1 option differs; n is off, or not there".to_owned(),
            n => format!("{n} options differ; n is off, or not there"),
        };
        let title = "Difference of configurations";
        Self::of(title, blocks).answering(Tone::Plain, "difference", sentence)
    }

    /// Says what was built.
    pub fn of_kernel_builds(report: &BuildReport) -> Self {
        let mut blocks = vec![Block::Table(builds(&report.builds))];
        blocks.extend(report.builds.iter().map(|build| {
            let caption = format!("Options of {}", build.name);
            Block::Table(unmet(&caption, &build.unmet))
        }));
        let remarks = report.builds.iter().flat_map(|build| &build.remarks);
        blocks.push(Block::facts(remarks.map(|remark| ("Note", remark.clone()))));
        let packages = report.builds.iter().filter(|b| !b.packages.is_empty());
        blocks.push(Block::facts(packages.map(|build| {
            let named: Vec<String> = build.packages.iter().take(NAMED).cloned().collect();
            ("Packages", named.join(" "))
        })));
        let mut document = Self::of("Builds", blocks);
        for build in &report.builds {
            let (tone, word, end) = match build.end {
                BuildEnd::Complete if !build.is_test() => continue,
                BuildEnd::Complete => {
                    let what = match build.only.is_empty() {
                        true => "the whole source".to_owned(),
                        false => build.only.join(", "),
                    };
                    let warnings = counted(build.warnings, "warning");
                    let sentence = format!("{what} compiles with {}: {warnings}", build.base);
                    document = document.answering(Tone::Good, "Compiles", sentence);
                    continue;
                }
                BuildEnd::Stopped => (Tone::Doubtful, "Stopped", "; the same command goes on"),
                BuildEnd::Failed => (Tone::Bad, "FAILED", ""),
            };
            let sentence = format!("{}, its log is {}{end}", build.name, build.log);
            document = document.answering(tone, word, sentence);
        }
        document
    }

    /// Says how far a rebase is, and what is to be done.
    pub fn of_rebase(report: &RebaseReport) -> Self {
        let all = format!("{} of {} commits", report.done, report.commits);
        let (tone, word, sentence) = match report.state {
            RebaseState::Complete => {
                let left_out = match report.left_out.len() as u64 {
                    0 => String::new(),
                    n => format!(", {n} of them not on the branch"),
                };
                let done = format!("{all}{left_out}, in {}", report.worktree);
                (Tone::Good, "Complete", done)
            }
            RebaseState::Aborted => {
                let gone = "the worktree and the branch are gone; resolutions are remembered";
                (Tone::Plain, "given up", format!("Given up: {gone}"))
            }
            RebaseState::Stopped => {
                let at = report.stopped_at.as_ref();
                let at = at.map_or_else(|| "a commit".to_owned(), shown);
                (Tone::Bad, "STOPPED", format!("at {at}; {all} are done"))
            }
        };
        let rebase = format!(
            "{} ({} commits since {}) onto {}, as branch {}",
            report.vendor,
            report.commits,
            short(&report.base),
            report.onto,
            report.branch
        );
        let mut items = vec![
            Item::from(("Tree", format!("{}, which stays as it is", report.tree))),
            Item::from(("Rebase", rebase)),
        ];
        if !report.resolved_before.is_empty() {
            let files = report.resolved_before.join(", ");
            let said = format!("as before, by what git remembered: {files}");
            items.push(Item::from(("Resolved", said)));
        }
        let left_out = report.left_out.iter().map(|commit| {
            let said = format!(
                "{}: {} has it already, or nothing was left of it",
                shown(commit),
                report.onto
            );
            Item::from(("Left out", said))
        });
        items.extend(left_out);
        if report.state == RebaseState::Stopped {
            items.extend(report.conflicts.iter().map(|conflict| {
                let theirs = conflict.theirs.iter().map(shown);
                let mut theirs: Vec<String> = theirs.collect();
                if theirs.is_empty() {
                    theirs.push("no commit of its own".to_owned());
                }
                let (file, kind) = (&conflict.file, &conflict.kind);
                let said = format!("{file} ({kind}), which {} touches in", report.onto);
                Item {
                    more: theirs.into_iter().map(More::Said).collect(),
                    ..Item::from(("Conflict", said))
                }
            }));
            let command = format!("punctual kernel rebase --tree {} --continue", report.tree);
            let resolve = format!("resolve these files in {}, then", report.worktree);
            items.push(Item {
                more: vec![More::Verbatim(command)],
                ..Item::from(("Next", resolve))
            });
        }
        Self::of("Rebase", vec![Block::Items(items)]).answering(tone, word, sentence)
    }

    /// Says what a bisection found.
    pub fn of_bisection(report: &BisectReport) -> Self {
        let mut facts = Vec::new();
        let candidates = report.candidates.iter();
        facts.extend(candidates.map(|commit| ("Maybe", shown(commit))));
        // The good end is judged too, and is none of the commits that were searched.
        let between = report
            .steps
            .iter()
            .filter(|step| step.commit.id != report.good);
        let (skipped, judged): (Vec<_>, Vec<_>) =
            between.partition(|step| step.verdict == BisectVerdict::Skip);
        let skipped = match skipped.len() {
            0 => String::new(),
            n => format!(", {n} impossible to judge"),
        };
        let searched = format!(
            "{} commits of {}, {} judged{skipped}, from {} (good) to {} (bad)",
            report.commits,
            report.tree,
            judged.len(),
            short(&report.good),
            short(&report.bad)
        );
        facts.extend([("Searched", searched), ("Oracle", report.oracle.clone())]);
        let steps = report.steps.iter().map(|step| {
            let verdict = match step.verdict {
                BisectVerdict::Good => "good",
                BisectVerdict::Bad => "bad",
                BisectVerdict::Skip => "skip",
            };
            [
                short(&step.commit.id),
                verdict.to_owned(),
                step.status.to_string(),
                tenths(step.took_ms),
                step.commit.subject.clone(),
            ]
        });
        let columns = ["<Commit", "<Verdict", "??Status", "?s", "<Subject"];
        let table = Block::Table(Table::new("", &columns).with(steps));
        let mut document = Self::of("Bisection", vec![Block::facts(facts), table]);
        if let Some(stopped) = &report.stopped {
            document = document.answering(Tone::Bad, "NO ANSWER", stopped);
        }
        if let Some(commit) = &report.first_bad {
            let found = format!("{} {}", commit.id, commit.subject);
            document = document.answering(Tone::Good, "First bad", found);
        }
        document
    }
}

fn source_row(source: &KernelSource) -> [String; 5] {
    let from = match (&source.origin, &source.commit) {
        (SourceOrigin::Directory, None) => format!("{}, in place", source.from),
        (SourceOrigin::Directory, Some(commit)) => {
            format!("{}, in place, at {}", source.from, short(commit))
        }
        (_, Some(commit)) => format!("{}, at {}", source.from, short(commit)),
        (_, None) => source.from.clone(),
    };
    let patches: Vec<String> = source.patches.iter().map(series).collect();
    let patches = match patches.is_empty() {
        true => "none".to_owned(),
        false => patches.join("; "),
    };
    let checked = checked(source.sha256.as_deref(), source.verified_by.as_deref());
    let (name, version) = (source.name.clone(), source.version.clone());
    [name, version, from, patches, checked]
}

fn series(series: &AppliedSeries) -> String {
    match series.left_out.len() {
        // All of it was there already.
        0 if series.applied.is_empty() => "nothing new".to_owned(),
        0 => format!("{} applied", series.applied.len()),
        out => format!("{} applied, {out} left out", series.applied.len()),
    }
}

fn checked(sha256: Option<&str>, verified_by: Option<&str>) -> String {
    match (sha256, verified_by) {
        (None, _) => "has none".to_owned(),
        (Some(sum), Some(by)) => format!("{}, as in {by}", short(sum)),
        (Some(sum), None) => format!("{}, compared with nothing", short(sum)),
    }
}

/// The first 12 characters of a checksum or commit.
fn short(id: &str) -> String {
    id.chars().take(12).collect()
}

fn shown(commit: &ConflictingCommit) -> String {
    format!("{} {}", short(&commit.id), commit.subject)
}

fn tenths(ms: u64) -> String {
    format!("{}.{}", ms / 1000, ms % 1000 / 100)
}

/// A patch that does not simply apply.
fn patch(patch: &PatchResult) -> Option<Item> {
    let name = patch.name.clone();
    match patch.outcome {
        PatchOutcome::Fails => {
            let line = |failed: &FailedHunk| match (failed.hunk, failed.line) {
                (Some(hunk), Some(line)) => format!("{}: hunk {hunk}, at line {line}", failed.file),
                (Some(hunk), None) => format!("{}: hunk {hunk}", failed.file),
                (None, _) => format!("{}: there is no such file", failed.file),
            };
            let failed = patch.failed.iter().map(line).chain(patch.said.clone());
            Some(Item {
                more: failed.map(More::Said).collect(),
                ..Item::from(("FAILS", name))
            })
        }
        PatchOutcome::AlreadyThere => Some(Item::from(("there", name))),
        PatchOutcome::Applies if patch.fuzzy_hunks > 0 => {
            let hunks = counted(patch.fuzzy_hunks, "hunk");
            let fuzz = format!("{name}: {hunks} with other context than the patch has");
            Some(Item::from(("fuzzy", fuzz)))
        }
        PatchOutcome::Applies | PatchOutcome::NotTried => None,
    }
}

/// Options that are not as asked, and why.
fn unmet(caption: &str, unmet: &[UnmetOption]) -> Table {
    let row = |of: &UnmetOption| [&of.name, &of.wanted, &of.value, &of.why].map(String::clone);
    let columns = ["<Not honoured", "<Asked", "<Is", "<Why"];
    Table::new(caption, &columns).with(unmet.iter().map(row))
}

fn builds(builds: &[BuiltKernel]) -> Table {
    let columns = "<Build|<Release|?<For|<Model|<End|Make s|??Starts|??Steps|?Image KiB";
    let row = |build: &BuiltKernel| {
        let end = match build.end {
            _ if build.running => "running",
            BuildEnd::Complete => "complete",
            BuildEnd::Stopped => "stopped",
            BuildEnd::Failed => "FAILED",
        };
        let model = build.model.map(|model| model.to_string());
        let image = build.image_bytes.map(|bytes| (bytes / 1024).to_string());
        [
            build.name.clone(),
            build.release.clone().unwrap_or_else(|| "-".to_owned()),
            build.architecture.clone().unwrap_or_else(|| "-".to_owned()),
            model.unwrap_or_else(|| "base's".to_owned()),
            end.to_owned(),
            tenths(build.make_ms),
            build.starts.to_string(),
            build.steps.to_string(),
            image.unwrap_or_else(|| "-".to_owned()),
        ]
    };
    Table::of("", columns).with(builds.iter().map(row))
}

#[cfg(test)]
mod tests {
    use punctual_model::BisectStep;

    use super::*;

    #[test]
    fn a_bisection_counts_what_it_searched() {
        let step = |id: &str, verdict| BisectStep {
            commit: ConflictingCommit {
                id: id.to_owned(),
                subject: String::new(),
            },
            verdict,
            status: 0,
            took_ms: 0,
        };
        let report = BisectReport {
            format: String::new(),
            tree: "linux".to_owned(),
            good: "a".to_owned(),
            bad: "f".to_owned(),
            oracle: String::new(),
            commits: 5,
            steps: vec![
                step("a", BisectVerdict::Good),
                step("f", BisectVerdict::Bad),
                step("c", BisectVerdict::Skip),
                step("b", BisectVerdict::Good),
            ],
            first_bad: None,
            candidates: Vec::new(),
            stopped: None,
        };
        let said = format!("{:?}", Document::of_bisection(&report));
        let counts = "5 commits of linux, 2 judged, 1 impossible to judge, from a (good)";
        assert!(said.contains(counts), "{said}");
    }

    #[test]
    fn a_series_that_was_there_already_is_not_counted_as_none_applied() {
        let said = |applied: &[&str], left_out: &[&str]| {
            let names = |of: &[&str]| of.iter().map(ToString::to_string).collect();
            series(&AppliedSeries {
                series: "x".to_owned(),
                applied: names(applied),
                left_out: names(left_out),
            })
        };
        assert_eq!(said(&["a"], &[]), "1 applied");
        assert_eq!(said(&[], &["b"]), "0 applied, 1 left out");
        assert_eq!(said(&[], &[]), "nothing new");
    }
}
