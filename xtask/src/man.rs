// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Man pages: one for the program and one for each subcommand, `punctual-runs-list.1`.

use anyhow::Context as _;
use clap::Command;

use crate::generated::Generated;

/// Returns the man pages of `command` and of everything below it.
pub(crate) fn files(command: &Command) -> anyhow::Result<Vec<Generated>> {
    let mut command = command.clone().disable_help_subcommand(true);
    // Names of subcommands ("punctual-runs-list") and global options are filled in by the build.
    command.build();
    let mut pages = Vec::new();
    let source = format!(
        "{} {}",
        command.get_name(),
        command.get_version().unwrap_or_default()
    );
    collect(&command, source.trim_end(), &mut pages)?;
    Ok(pages)
}

fn collect(command: &Command, source: &str, pages: &mut Vec<Generated>) -> anyhow::Result<()> {
    let title = command
        .get_display_name()
        .unwrap_or_else(|| command.get_name());
    let name = format!("{title}.1");
    let mut content = Vec::new();
    clap_mangen::Man::new(command.clone())
        .source(source)
        .render(&mut content)
        .with_context(|| format!("failed to render {name}"))?;
    pages.push(Generated { name, content });
    for subcommand in command
        .get_subcommands()
        .filter(|subcommand| !subcommand.is_hide_set())
    {
        collect(subcommand, source, pages)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visible_subcommand_has_a_page() {
        let toy = Command::new("toy")
            .version("1.2.3")
            .about("A toy")
            .subcommand(
                Command::new("runs").subcommand(Command::new("list").about("List the runs")),
            )
            .subcommand(Command::new("agent").hide(true));
        let pages = files(&toy).unwrap();
        let names: Vec<_> = pages.iter().map(|page| page.name.as_str()).collect();
        assert_eq!(names, ["toy.1", "toy-runs.1", "toy-runs-list.1"]);
        let list = String::from_utf8(pages[2].content.clone()).unwrap();
        assert!(
            list.contains("List the runs")
                && list.contains(".TH toy-runs-list 1")
                && list.contains("toy 1.2.3"),
            "{list}"
        );
    }
}
