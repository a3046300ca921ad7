// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a profile wants of the kernel's command line.

use punctual_model::{ArgumentState, BootPlan, WantedArgument};

use crate::text::layout::{Column, clean, paragraph, table};

/// Says which arguments are wanted, which the kernel has, and which files would be written.
pub fn boot(plan: &BootPlan) -> String {
    let mut text = paragraph("Profile", &clean(&plan.profile));
    if !plan.cpus_rt.is_empty() {
        let said = format!(
            "{} for real-time work, {} for everything else",
            plan.cpus_rt, plan.cpus_housekeeping
        );
        text += &paragraph("CPUs", &said);
    }
    if plan.arguments.is_empty() {
        return text + "\nThe profile wants nothing of the kernel's command line\n";
    }
    let rows = plan.arguments.iter().map(|argument| {
        vec![
            clean(&argument.word).into_owned(),
            now(argument),
            clean(&argument.about).into_owned(),
        ]
    });
    let header = [
        ("Argument", Column::Left),
        ("Now", Column::Text),
        ("What for", Column::Text),
    ];
    text.push('\n');
    text += &table(&header, rows.collect());
    text.push('\n');
    for file in &plan.files {
        let how = if file.old.is_some() {
            "changed"
        } else {
            "made"
        };
        text += &paragraph("File", &format!("{} would be {how}:", clean(&file.path)));
        for line in file.new.lines() {
            text += "          ";
            text += &clean(line);
            text.push('\n');
        }
    }
    for step in &plan.next {
        text += &paragraph("Then", &clean(step));
    }
    for warning in &plan.warnings {
        text += &paragraph("Note", &clean(warning));
    }
    text
}

fn now(argument: &WantedArgument) -> String {
    let state = match &argument.now {
        ArgumentState::Given => "given".to_owned(),
        ArgumentState::Missing => "missing".to_owned(),
        ArgumentState::Other { word } => format!("given as {}", clean(word)),
        ArgumentState::Implied { why } => format!("not needed: {}", clean(why)),
        ArgumentState::Unknown => "not known".to_owned(),
    };
    match &argument.unheeded {
        None => state,
        Some(why) => format!("{state}; {}", clean(why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let text = boot(&plan);
        for part in [
            "1 for real-time work, 0 for everything else",
            "missing; no such option",
            "given as isolcpus=1",
            "File      /etc/x would be made:\n          a\n          b\n",
            "Then      reboot\nNote      careful\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        plan.arguments.clear();
        plan.cpus_rt = CpuSet::default();
        assert!(boot(&plan).contains("wants nothing"));
    }
}
