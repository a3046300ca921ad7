// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Kernels that boot once on a machine, and kernels that are installed there.

use punctual_model::{
    InstalledKernels, KernelInstallPlan, OneShotBoot, OneShotPlan, OneShotRefusal, OneShotState,
    OneShotStatus, OneShotWrite,
};

use super::parts::{Block, Document, Item, More, Table, Tone};

const TITLE: &str = "Kernel that boots once";
const INSTALLED: &str = "Installed kernels";

impl Document {
    /// Says what would be written, and what brings the machine back from each way to fail.
    pub fn of_one_shot_plan(plan: &OneShotPlan) -> Self {
        let kernel = &plan.candidate;
        let loader = plan.loader.map_or("-", |loader| loader.name());
        let starts = format!("once, by {loader}; the machine's default stays");
        let boots = format!("{} would boot {starts}", kernel.release);
        let candidate = format!("{} {}", kernel.release, kernel.version);
        let initrd = kernel.initrd.as_deref().unwrap_or("none");
        let mut facts = vec![
            ("Candidate", candidate),
            ("Image", kernel.image.clone()),
            ("Initrd", initrd.to_owned()),
        ];
        facts.extend(kernel.modules.iter().map(|of| ("Modules", of.clone())));
        facts.extend([("Starts", starts), ("Arguments", plan.arguments.clone())]);
        Self::of_kernel_plan(TITLE, &boots, facts, written(plan), &plan.refusals)
    }

    /// Says what would be written to install a kernel to stay.
    pub fn of_kernel_install_plan(plan: &KernelInstallPlan) -> Self {
        let kernel = &plan.kernel;
        let loader = plan.loader.map_or("-", |loader| loader.name());
        let stays = match plan.becomes_default {
            true => format!("{} would become the default of {loader}", kernel.release),
            false => format!(
                "{} would be installed; {loader}'s default stays",
                kernel.release
            ),
        };
        let initrd = kernel.initrd.as_deref().unwrap_or("none");
        let mut facts = vec![
            ("Kernel", format!("{} {}", kernel.release, kernel.version)),
            ("Image", kernel.image.clone()),
            ("Initrd", initrd.to_owned()),
        ];
        facts.extend(kernel.modules.iter().map(|of| ("Modules", of.clone())));
        facts.extend(plan.default_named.iter().map(|of| ("Default", of.clone())));
        let notes = plan.warnings.iter().map(|of| ("Note", of.as_str()));
        let written = vec![
            Block::items(plan.writes.iter().map(file)),
            Block::facts(notes),
        ];
        Self::of_kernel_plan(INSTALLED, &stays, facts, written, &plan.refusals)
    }

    /// Says what would be written, or why nothing can be.
    fn of_kernel_plan(
        title: &str,
        possible: &str,
        facts: Vec<(&str, String)>,
        written: Vec<Block>,
        refusals: &[OneShotRefusal],
    ) -> Self {
        let mut blocks = vec![Block::facts(facts)];
        let (tone, word, sentence) = if refusals.is_empty() {
            blocks.extend(written);
            (Tone::Plain, "possible", possible)
        } else {
            let hints = refusals.iter().map(|of| ("Next", of.hint.as_str()));
            blocks.push(Block::facts(hints));
            let sentence = "on this machine: nothing is written";
            (Tone::Bad, "NOT POSSIBLE", sentence)
        };
        Self::of(title, blocks)
            .answering(tone, word, sentence)
            .faulted(refusals.iter().map(|of| of.reason.clone()))
    }

    /// Lists the kernels that were installed to stay.
    pub fn of_installed_kernels(list: &InstalledKernels) -> Self {
        let rows = list.kernels.iter().map(|kernel| {
            let state = match (kernel.complete, kernel.changed.is_empty()) {
                (false, _) => "INTERRUPTED: uninstall it".to_owned(),
                (true, true) => "whole".to_owned(),
                (true, false) => format!("CHANGED: {}", kernel.changed.join(", ")),
            };
            let is = match (kernel.is_running, kernel.is_default) {
                (true, true) => "runs, default",
                (true, false) => "runs",
                (false, true) => "default",
                (false, false) => "-",
            };
            [
                kernel.kernel.release.clone(),
                kernel.name.clone(),
                kernel.at.clone(),
                is.to_owned(),
                state,
            ]
        });
        let columns = ["<release", "<installed from", "<at", "<is", "<files"];
        let blocks = match list.kernels.is_empty() {
            true => Vec::new(),
            false => vec![Block::Table(Table::new("", &columns).with(rows))],
        };
        let whole =
            |kernel: &punctual_model::InstalledKernel| kernel.complete && kernel.changed.is_empty();
        let said = match list.kernels.len() {
            0 => "No kernel was installed by Punctual".to_owned(),
            1 => "1 kernel was installed".to_owned(),
            n => format!("{n} kernels were installed"),
        };
        let (tone, word) = match list.kernels.iter().all(whole) {
            true => (Tone::Plain, "fine"),
            false => (Tone::Bad, "NOT WHOLE"),
        };
        Self::of(INSTALLED, blocks).answering(tone, word, &said)
    }

    /// Says what is pending, and whether the last one-shot boot came up.
    pub fn of_one_shot_status(status: &OneShotStatus) -> Self {
        let mut facts = vec![("Running", boot(&status.running))];
        if let Some(installed) = &status.installed {
            let said = format!(
                "{} {}, installed {}, started by {}",
                installed.candidate.release,
                installed.candidate.version,
                installed.at,
                installed.loader.name()
            );
            facts.push(("Candidate", said));
            let resume = installed.resume.iter();
            facts.extend(resume.map(|of| ("Resumes", format!("experiment {of}"))));
        }
        let confirmed = status.confirmed.iter();
        facts.extend(confirmed.map(|of| ("Confirmed", format!("{}, {}", of.at, boot(of)))));
        let evidence = status.evidence.iter();
        facts.extend(evidence.map(|of| ("Evidence", format!("{}: {}", of.source, of.says))));
        facts.extend(status.next.iter().map(|step| ("Then", step.clone())));
        let tone = match status.state.is_fine() {
            true => Tone::Plain,
            false => Tone::Bad,
        };
        let headline = headline(status);
        let (word, sentence) = match headline.split_once(": ") {
            Some((word, sentence)) => (word, sentence),
            None => ("fine", headline),
        };
        Self::of(TITLE, vec![Block::facts(facts)]).answering(tone, word, sentence)
    }
}

/// The files with their text, the ways back, and what to do then.
fn written(plan: &OneShotPlan) -> Vec<Block> {
    let files = plan.writes.iter().map(file);
    let ways = plan.falls_back.iter().map(|fallback| {
        let way = fallback.way_back.as_deref();
        [
            fallback.failure.as_str(),
            way.unwrap_or("NOTHING but a person"),
        ]
    });
    let columns = ["<If", "<then back to the machine's own kernel by"];
    let warnings = plan.warnings.iter().map(|of| ("Note", of.as_str()));
    let next = plan.next.iter().map(|step| ("Then", step.as_str()));
    vec![
        Block::items(files),
        Block::Table(Table::new("", &columns).with(ways)),
        Block::facts(warnings.chain(next)),
    ]
}

fn file(write: &OneShotWrite) -> Item {
    let how = match write.changes {
        true => "changed; what is there is kept",
        false => "made",
    };
    let (path, what) = (&write.path, &write.what);
    // What a program makes has no size yet.
    let bytes = match write.bytes {
        0 => String::new(),
        bytes => format!(", {bytes} bytes"),
    };
    Item {
        more: write.text.clone().map(More::Verbatim).into_iter().collect(),
        ..Item::from(("File", format!("{path}: {what}{bytes}; would be {how}")))
    }
}

const fn headline(status: &OneShotStatus) -> &'static str {
    match status.state {
        OneShotState::None => "No candidate is installed",
        OneShotState::Waiting => "The next boot is the candidate's",
        OneShotState::Withdrawn => "WITHDRAWN: the candidate is installed, but not chosen any more",
        OneShotState::Candidate => "The candidate is running",
        OneShotState::OtherKernel => {
            "ANOTHER KERNEL: this boot is the candidate's, but what runs is not what was installed"
        }
        OneShotState::FellBack => {
            "FELL BACK: nobody saw the candidate running, and the machine runs another kernel"
        }
        OneShotState::Done => {
            "The candidate came up and was confirmed; the machine runs its own kernel again"
        }
        OneShotState::NotTaken => {
            "NOT TAKEN: the boot loader did not heed the choice, which still stands"
        }
    }
}

fn boot(boot: &OneShotBoot) -> String {
    // A tree that no machine runs from says neither.
    match (boot.release.is_empty(), boot.boot_id.is_empty()) {
        (true, true) => "not known".to_owned(),
        (true, false) => format!("kernel not known, boot {}", boot.boot_id),
        (false, true) => format!("{} {}, boot not known", boot.release, boot.version),
        (false, false) => format!("{} {}, boot {}", boot.release, boot.version, boot.boot_id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{self, Detail};
    use punctual_model::{
        ONE_SHOT_PLAN_FORMAT, ONE_SHOT_STATUS_FORMAT, OneShotEvidence, OneShotFallback,
        OneShotInstalled, OneShotKernel, OneShotLoader, OneShotRefusal, OneShotWrite,
    };

    fn page(document: &Document) -> String {
        text::page(document, 80, Detail::Summary)
    }

    fn candidate() -> OneShotKernel {
        OneShotKernel {
            image: "bzImage".to_owned(),
            release: "6.12-x".to_owned(),
            version: "#1 SMP".to_owned(),
            initrd: None,
            modules: Some("dir".to_owned()),
        }
    }

    #[test]
    fn a_plan_shows_what_is_written_and_every_way_back() {
        let mut plan = OneShotPlan {
            format: ONE_SHOT_PLAN_FORMAT.to_owned(),
            id: "1".to_owned(),
            candidate: candidate(),
            loader: Some(OneShotLoader::Grub),
            arguments: "root=/dev/sda1 panic=10".to_owned(),
            writes: vec![OneShotWrite {
                path: "/boot/grub/custom.cfg".to_owned(),
                what: "entry".to_owned(),
                bytes: 12,
                changes: true,
                text: Some("one\n\ntwo\n".to_owned()),
            }],
            falls_back: vec![OneShotFallback {
                failure: "it hangs".to_owned(),
                way_back: None,
            }],
            refusals: Vec::new(),
            warnings: vec!["careful".to_owned()],
            next: vec!["reboot".to_owned()],
        };
        let text = page(&Document::of_one_shot_plan(&plan));
        for part in [
            "Candidate 6.12-x #1 SMP\n",
            "Initrd    none\n",
            " File      /boot/grub/custom.cfg: entry, 12 bytes; would be changed; what is\n           there is kept\n           one\n\n           two\n",
            "NOTHING but a person",
            "Note      careful\nThen      reboot\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        plan.refusals.push(OneShotRefusal {
            reason: "no loader".to_owned(),
            hint: "get one".to_owned(),
        });
        let text = page(&Document::of_one_shot_plan(&plan));
        assert!(text.starts_with("NOT POSSIBLE"), "{text}");
        assert!(
            text.contains("\n  no loader\n") && text.ends_with("Next      get one\n"),
            "{text}"
        );
    }

    #[test]
    fn each_state_has_its_words() {
        let boot = OneShotBoot {
            boot_id: "b".to_owned(),
            release: "6.1".to_owned(),
            version: "#2".to_owned(),
            at: "now".to_owned(),
        };
        let mut status = OneShotStatus {
            format: ONE_SHOT_STATUS_FORMAT.to_owned(),
            state: OneShotState::FellBack,
            running: boot.clone(),
            installed: Some(OneShotInstalled {
                id: "1".to_owned(),
                at: "then".to_owned(),
                boot_id: "a".to_owned(),
                candidate: candidate(),
                loader: OneShotLoader::SystemdBoot,
                resume: Some("mine".to_owned()),
            }),
            confirmed: None,
            evidence: vec![OneShotEvidence {
                source: "pstore".to_owned(),
                says: "Kernel panic".to_owned(),
            }],
            next: vec!["revert".to_owned()],
        };
        let text = page(&Document::of_one_shot_status(&status));
        for part in [
            "FELL BACK: ",
            "Running   6.1 #2, boot b\n",
            "started by systemd-boot\nResumes   experiment mine\nEvidence  pstore: Kernel panic\nThen      revert\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let mut captured = status.clone();
        captured.running = OneShotBoot {
            boot_id: String::new(),
            release: String::new(),
            version: String::new(),
            at: String::new(),
        };
        let text = page(&Document::of_one_shot_status(&captured));
        assert!(text.contains("Running   not known\n"), "{text}");
        let mut all: Vec<&str> = [
            OneShotState::None,
            OneShotState::Waiting,
            OneShotState::Withdrawn,
            OneShotState::Candidate,
            OneShotState::OtherKernel,
            OneShotState::FellBack,
            OneShotState::Done,
            OneShotState::NotTaken,
        ]
        .map(|state| {
            status.state = state;
            let head = headline(&status);
            assert_eq!(
                state.is_fine(),
                !head
                    .split(' ')
                    .next()
                    .unwrap()
                    .chars()
                    .skip(1)
                    .any(char::is_uppercase)
            );
            head
        })
        .to_vec();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 8);
        status.confirmed = Some(boot);
        assert!(
            page(&Document::of_one_shot_status(&status))
                .contains("Confirmed now, 6.1 #2, boot b\n")
        );
    }
}
