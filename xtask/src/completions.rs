// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Shell completions, named as each shell looks for them.

use clap::Command;
use clap_complete::{Shell, generate};

use crate::generated::Generated;

/// Returns the completions of `command` for bash, fish and zsh.
pub(crate) fn files(command: &Command) -> Vec<Generated> {
    let program = command.get_name().to_owned();
    let shells = [
        (Shell::Bash, format!("{program}.bash")),
        (Shell::Fish, format!("{program}.fish")),
        (Shell::Zsh, format!("_{program}")),
    ];
    shells
        .into_iter()
        .map(|(shell, name)| {
            let mut content = Vec::new();
            generate(shell, &mut command.clone(), &program, &mut content);
            Generated { name, content }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shell_gets_the_subcommands() {
        let toy = Command::new("toy").subcommand(Command::new("measure"));
        let files = files(&toy);
        let names: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["toy.bash", "toy.fish", "_toy"]);
        for file in &files {
            assert!(
                String::from_utf8(file.content.clone())
                    .unwrap()
                    .contains("measure"),
                "{}",
                file.name
            );
        }
    }
}
