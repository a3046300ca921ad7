// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a profile wants of the kernel's command line.

use punctual_model::{ArgumentState, BootPlan, WantedArgument};

use super::super::parts::{Block, Document, Item, More, Table, Tone};
use super::{divided, noted};

impl Document {
    /// Says which arguments are wanted, which the kernel has, and which files would be written.
    pub fn of_boot_plan(plan: &BootPlan) -> Self {
        let row = |of: &WantedArgument| [of.word.clone(), now(of), of.about.clone()];
        let arguments = plan.arguments.iter();
        let table = Table::new("", &["<Argument", "<Now", "<What for"]).with(arguments.map(row));
        let files = plan.files.iter().map(|file| {
            let how = match file.old {
                Some(_) => "changed",
                None => "made",
            };
            Item {
                more: vec![More::Verbatim(file.new.clone())],
                ..Item::from(("File", format!("{} would be {how}:", file.path)))
            }
        });
        let next = plan.next.iter().map(|step| ("Then", step.clone()));
        let blocks = vec![
            Block::facts(divided(&plan.cpus_rt, &plan.cpus_housekeeping)),
            Block::Table(table),
            Block::items(files),
            Block::facts(noted(&plan.warnings).chain(next)),
        ];
        let all = plan.arguments.len();
        let given = plan.arguments.iter().filter(|of| of.is_given()).count();
        let (tone, word) = match (all, given == all) {
            (0, _) => (Tone::Good, "Nothing wanted of the kernel's command line"),
            (_, true) => (Tone::Good, "Nothing to add"),
            (_, false) => (Tone::Doubtful, "Arguments to add"),
        };
        let sentence = match all {
            0 => format!("profile {}", plan.profile),
            _ => format!(
                "profile {}, {given} of {all} arguments are given or not needed",
                plan.profile
            ),
        };
        Self::of("Kernel arguments", blocks).answering(tone, word, sentence)
    }
}

fn now(argument: &WantedArgument) -> String {
    let state = match &argument.now {
        ArgumentState::Given => "given".to_owned(),
        ArgumentState::Missing => "missing".to_owned(),
        ArgumentState::Other { word } => format!("given as {}", word),
        ArgumentState::Implied { why } => format!("not needed: {}", why),
        ArgumentState::Unknown => "not known".to_owned(),
    };
    match &argument.unheeded {
        None => state,
        Some(why) => format!("{state}; {}", why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{self, Detail};
    use punctual_model::{BOOT_PLAN_FORMAT, BootFile, BootLoader, CpuSet};

    #[test]
    fn arguments_and_files_are_shown() {
        let argument = |word: &str, now, unheeded: Option<&str>| WantedArgument {
            word: word.to_owned(),
            about: "for something".to_owned(),
            now,
            unheeded: unheeded.map(str::to_owned),
        };
        let other = ArgumentState::Other {
            word: "isolcpus=1".to_owned(),
        };
        let mut plan = BootPlan {
            format: BOOT_PLAN_FORMAT.to_owned(),
            profile: "mine".to_owned(),
            cpus_rt: "1".parse().unwrap(),
            cpus_housekeeping: "0".parse().unwrap(),
            arguments: vec![
                argument("threadirqs", ArgumentState::Given, None),
                argument(
                    "nohz_full=1",
                    ArgumentState::Missing,
                    Some("no such option"),
                ),
                argument("isolcpus=1-2", other, None),
            ],
            loader: Some(BootLoader::GrubDropIn),
            files: vec![BootFile {
                path: "/etc/x".to_owned(),
                old: None,
                new: "a\nb\n".to_owned(),
            }],
            next: vec!["reboot".to_owned()],
            warnings: vec!["careful".to_owned()],
        };
        let said = |plan: &BootPlan| text::page(&Document::of_boot_plan(plan), 80, Detail::Summary);
        let text = said(&plan);
        for part in [
            "Arguments to add: profile mine, 1 of 3 arguments are given or not needed\n",
            "1 for real-time work, 0 for everything else",
            "missing; no such option",
            "given as isolcpus=1",
            " File      /etc/x would be made:\n           a\n           b\n",
            "Note      careful\nThen      reboot\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        plan.arguments.clear();
        plan.cpus_rt = CpuSet::default();
        assert!(said(&plan).contains("Nothing wanted"));
    }
}
