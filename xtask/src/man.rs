// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Man pages: one for the program and one for each subcommand, `punctual-runs-list.1`.

use anyhow::Context as _;
use clap::{Arg, Command};
use clap_mangen::roff::{Roff, roman};

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
    let page = command.clone().mut_args(with_aliases);
    let page = page.after_help(None).after_long_help(None);
    let mut content = Vec::new();
    clap_mangen::Man::new(page)
        .source(source)
        .render(&mut content)
        .with_context(|| format!("failed to render {name}"))?;
    let content = String::from_utf8(content).with_context(|| format!("{name}: no text"))?;
    // A date that is not said takes a place all the same.
    let content = content.replacen(" 1  \"", " 1 \"\" \"", 1);
    // The version is the last section, where there is one.
    let at = content.find(VERSION).map_or(content.len(), |at| at + 1);
    let (before, after) = content.split_at(at);
    let content = format!("{before}{}{after}", sections(command)).into_bytes();
    pages.push(Generated { name, content });
    for subcommand in command
        .get_subcommands()
        .filter(|subcommand| !subcommand.is_hide_set())
    {
        collect(subcommand, source, pages)?;
    }
    Ok(())
}

/// Where the section that ends a page begins.
const VERSION: &str = "\n.SH VERSION";

/// What begins the exit statuses in the text after a help.
const STATUS: &str = "Exit status";

/// What begins a list of options there.
const OPTIONS: &str = "Options of ";

/// Lines with which every text in roff begins.
const PREAMBLE: usize = 2;

/// Says the other names of an option, which the pages leave out.
fn with_aliases(arg: Arg) -> Arg {
    let names = arg.get_visible_aliases().unwrap_or_default();
    if names.is_empty() {
        return arg;
    }
    let names: Vec<String> = names.iter().map(|name| format!("--{name}")).collect();
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    arg.help(format!("{help} [aliases: {}]", names.join(", ")))
}

/// Makes sections of the text after the help: the exit statuses, a list of options, and what else it says.
fn sections(command: &Command) -> String {
    let text = command.get_after_long_help();
    let text = text.or_else(|| command.get_after_help());
    let text = text.map(ToString::to_string).unwrap_or_default();
    let (mut options, mut notes, mut statuses) = (Vec::new(), Vec::new(), Vec::new());
    let mut of = None;
    for line in text.lines() {
        of = match line {
            "" => None,
            _ if line.starts_with(STATUS) || line.starts_with(OPTIONS) => line.split(' ').next(),
            _ => of,
        };
        match of {
            Some("Exit") => {
                let rest = line.strip_prefix(STATUS);
                let rest = rest.map(|rest| rest.trim_start_matches([':', ' ']));
                // Where the title is a line of its own, the statuses begin in the next.
                statuses.extend(Some(rest.unwrap_or(line)).filter(|line| !line.is_empty()));
            }
            Some(_) => options.push(line),
            None => notes.push(line),
        }
    }
    let mut roff = Roff::new();
    for (title, lines, as_is) in [
        ("LIST OF OPTIONS", options, true),
        ("NOTES", notes, false),
        ("EXIT STATUS", statuses, false),
    ] {
        let lines = lines.into_iter().skip_while(|line| line.is_empty());
        let mut lines: Vec<&str> = lines.collect();
        while lines.last().is_some_and(|line| line.is_empty()) {
            lines.pop();
        }
        if lines.is_empty() {
            continue;
        }
        roff.control("SH", [title]);
        if as_is {
            roff.control("nf", []);
        }
        for line in lines {
            roff.text([roman(line)]);
        }
        if as_is {
            roff.control("fi", []);
        }
    }
    // What begins a page stands there already.
    let text = roff.render();
    text.split_inclusive('\n').skip(PREAMBLE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_statuses_and_other_notes_have_sections_and_options_their_aliases() {
        let toy = Command::new("toy")
            .version("1.2.3")
            .about("A toy")
            .arg(Arg::new("cpus").long("cpus").visible_alias("isolate").help("CPUs"))
            .after_help(
                "Options of the original:\n-a  [N]  all\n\nA 'note'.\nExit status: 0 fine,\n  3 not.\n\nMore.",
            );
        let pages = files(&toy).unwrap();
        let page = String::from_utf8(pages[0].content.clone()).unwrap();
        for part in [
            ".TH toy 1 \"\" \"toy",
            ".SH \"EXIT STATUS\"\n0 fine,\n  3 not.\n.SH VERSION\n",
            ".SH NOTES\nA \\*(Aqnote\\*(Aq.\n\nMore.\n.SH \"EXIT",
            ".nf\nOptions of the original:\n\\-a  [N]  all\n.fi\n.SH NOTES",
            "CPUs [aliases: \\-\\-isolate]",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("EXTRA"), "{page}");
    }

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
