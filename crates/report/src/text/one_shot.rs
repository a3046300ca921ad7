// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Kernels that boot once on a machine.

use punctual_model::{OneShotBoot, OneShotKernel, OneShotPlan, OneShotState, OneShotStatus};

use super::layout::{Column, clean, paragraph, table, wrapped};

/// Says what would be written, and what brings the machine back from each way to fail.
pub fn one_shot_plan(plan: &OneShotPlan) -> String {
    let mut text = String::new();
    if !plan.refusals.is_empty() {
        text += "NOT POSSIBLE on this machine: nothing is written\n";
    }
    text += &kernel(&plan.candidate);
    let loader = plan.loader.map_or("-", |loader| loader.name());
    text += &paragraph(
        "Starts",
        &format!("once, by {loader}; the machine's default stays"),
    );
    text += &paragraph("Arguments", &clean(&plan.arguments));
    for refusal in &plan.refusals {
        text += &paragraph("Refused", &clean(&refusal.reason));
        text += &paragraph("", &format!("Hint: {}", clean(&refusal.hint)));
    }
    if !plan.refusals.is_empty() {
        return text;
    }
    for write in &plan.writes {
        let how = match write.changes {
            true => "changed; what is there is kept",
            false => "made",
        };
        let said = format!(
            "{}: {}, {} bytes; would be {how}",
            clean(&write.path),
            clean(&write.what),
            write.bytes
        );
        text += &paragraph("File", &said);
        for line in write.text.iter().flat_map(|text| text.lines()) {
            text += format!("          {}", clean(line)).trim_end();
            text.push('\n');
        }
    }
    let rows = plan.falls_back.iter().map(|fallback| {
        let way = fallback
            .way_back
            .as_deref()
            .unwrap_or("NOTHING but a person");
        vec![
            clean(&fallback.failure).into_owned(),
            clean(way).into_owned(),
        ]
    });
    text.push('\n');
    text += &table(
        &[
            ("If", Column::Text),
            ("then back to the machine's own kernel by", Column::Text),
        ],
        rows.collect(),
    );
    text.push('\n');
    for warning in &plan.warnings {
        text += &paragraph("Note", &clean(warning));
    }
    for step in &plan.next {
        text += &paragraph("Then", &clean(step));
    }
    text
}

fn kernel(kernel: &OneShotKernel) -> String {
    let mut text = paragraph(
        "Candidate",
        &clean(&format!("{} {}", kernel.release, kernel.version)),
    );
    text += &paragraph("Image", &clean(&kernel.image));
    text += &paragraph("Initrd", &clean(kernel.initrd.as_deref().unwrap_or("none")));
    if let Some(modules) = &kernel.modules {
        text += &paragraph("Modules", &clean(modules));
    }
    text
}

/// Says what is pending, and whether the last one-shot boot came up.
pub fn one_shot_status(status: &OneShotStatus) -> String {
    let mut text = format!("{}\n", headline(status));
    text += &paragraph("Running", &boot(&status.running));
    if let Some(installed) = &status.installed {
        let said = format!(
            "{} {}, installed {}, started by {}",
            installed.candidate.release,
            installed.candidate.version,
            installed.at,
            installed.loader.name()
        );
        text += &paragraph("Candidate", &clean(&said));
        if let Some(resume) = &installed.resume {
            text += &paragraph("Resumes", &format!("experiment {}", clean(resume)));
        }
    }
    if let Some(confirmed) = &status.confirmed {
        text += &paragraph(
            "Confirmed",
            &clean(&format!("{}, {}", confirmed.at, boot(confirmed))),
        );
    }
    for evidence in &status.evidence {
        let said = format!("{}: {}", clean(&evidence.source), clean(&evidence.says));
        text += &wrapped("Evidence  ", 12, &said);
    }
    for step in &status.next {
        text += &paragraph("Then", &clean(step));
    }
    text
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
    clean(&format!(
        "{} {}, boot {}",
        boot.release, boot.version, boot.boot_id
    ))
    .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::{
        ONE_SHOT_PLAN_FORMAT, ONE_SHOT_STATUS_FORMAT, OneShotEvidence, OneShotFallback,
        OneShotInstalled, OneShotLoader, OneShotRefusal, OneShotWrite,
    };

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
        let text = one_shot_plan(&plan);
        for part in [
            "Candidate 6.12-x #1 SMP\n",
            "Initrd    none\n",
            "File      /boot/grub/custom.cfg: entry, 12 bytes; would be changed; what is\n          there is kept\n          one\n\n          two\n",
            "NOTHING but a person",
            "Note      careful\nThen      reboot\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        plan.refusals.push(OneShotRefusal {
            reason: "no loader".to_owned(),
            hint: "get one".to_owned(),
        });
        let text = one_shot_plan(&plan);
        assert!(text.starts_with("NOT POSSIBLE"), "{text}");
        assert!(
            text.ends_with("Refused   no loader\n          Hint: get one\n"),
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
        let text = one_shot_status(&status);
        for part in [
            "FELL BACK: ",
            "Running   6.1 #2, boot b\n",
            "started by systemd-boot\nResumes   experiment mine\nEvidence  pstore: Kernel panic\nThen      revert\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
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
        assert!(one_shot_status(&status).contains("Confirmed now, 6.1 #2, boot b\n"));
    }
}
