// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Shell completions, named as each shell looks for them.
//!
//! clap knows the options, and only the program knows the runs: each script asks it (`runs list --names`) where a run is
//! wanted.

use clap::Command;
use clap_complete::{Shell, generate};

use crate::app;
use crate::generated::Generated;

/// Returns the completions of `command` for bash, fish and zsh.
pub(crate) fn files(command: &Command) -> Vec<Generated> {
    let command = app::shown(command);
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
            Generated {
                name,
                content: with_runs(shell, &program, content),
            }
        })
        .collect()
}

/// The verbs whose arguments are runs: the verb, and below it the actions, if it has any.
const WANT_RUNS: [(&str, &[&str]); 5] = [
    ("runs", &["show", "export", "extrapolate", "pack", "rm"]),
    ("explain", &[]),
    ("report", &[]),
    ("compare", &[]),
    ("history", &[]),
];

/// How clap's script for zsh begins the arguments that are runs.
const RUNS_IN_ZSH: [&str; 5] = [
    "':run -- ",
    "'::run -- ",
    "'*::runs -- ",
    "'*::what -- Runs",
    "'*::groups -- ",
];

/// Adds what offers the runs to what clap has made.
fn with_runs(shell: Shell, program: &str, content: Vec<u8>) -> Vec<u8> {
    let text = String::from_utf8_lossy(&content).into_owned();
    match shell {
        Shell::Bash => text + &in_bash(program),
        Shell::Fish => text + &in_fish(program),
        Shell::Zsh => in_zsh(program, &text),
        _ => text,
    }
    .into_bytes()
}

fn in_bash(program: &str) -> String {
    let patterns: Vec<String> = WANT_RUNS
        .iter()
        .flat_map(|(verb, actions)| match actions.is_empty() {
            true => vec![format!("\" {verb} \"*")],
            false => actions
                .iter()
                .map(|action| format!("\" {verb} {action} \"*"))
                .collect(),
        })
        .collect();
    format!(
        r#"
# The runs of the store, where one is wanted.
_{program}_stored() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" name word
    local -a words=()
    # `--option=value` comes as three words.
    for word in "${{COMP_WORDS[@]:0:COMP_CWORD}}"; do
        [[ "${{word}}" == "=" ]] || words+=( "${{word}}" )
    done
    [[ "${{cur}}" == "=" ]] && cur=""
    local -a COMP_WORDS=( "${{words[@]}}" "${{cur}}" )
    local COMP_CWORD="${{#words[@]}}"
    _{program} "$1" "${{cur}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
    [[ "${{cur}}" == -* || "${{COMP_WORDS[COMP_CWORD-1]}}" == -* ]] && return
    # The verb comes first, or behind the store.
    words=( "${{COMP_WORDS[@]:1:COMP_CWORD-1}}" )
    [[ "${{words[0]-}}" == --home ]] && words=( "${{words[@]:2}}" )
    case " ${{words[*]-}} " in
        {})
            COMPREPLY=()
            # Not by compgen, which would expand what is in a name.
            while IFS= read -r name; do
                [[ "${{name}}" == "${{cur}}"* ]] && COMPREPLY+=( "$(printf '%q' "${{name}}")" )
            done < <("$1" runs list --names 2>/dev/null)
            ;;
    esac
}}
if [[ "${{BASH_VERSINFO[0]}}" -eq 4 && "${{BASH_VERSINFO[1]}}" -ge 4 || "${{BASH_VERSINFO[0]}}" -gt 4 ]]; then
    complete -F _{program}_stored -o nosort -o bashdefault -o default {program}
else
    complete -F _{program}_stored -o bashdefault -o default {program}
fi
"#,
        patterns.join(" | ")
    )
}

fn in_fish(program: &str) -> String {
    let mut lines = "\n# The runs of the store, where one is wanted.\n".to_owned();
    for (verb, actions) in WANT_RUNS {
        let below = match actions.is_empty() {
            true => String::new(),
            false => format!("; and __fish_seen_subcommand_from {}", actions.join(" ")),
        };
        let line = format!(
            "complete -c {program} -n \"__fish_{program}_using_subcommand {verb}{below}\" \
             -a \"({program} runs list --names 2>/dev/null)\" -d 'Run'\n"
        );
        lines += &line;
    }
    lines
}

fn in_zsh(program: &str, text: &str) -> String {
    let function = format!(
        r#"# The runs of the store, where one is wanted.
(( $+functions[_{program}_runs] )) ||
_{program}_runs() {{
    local -a names
    names=( "${{(@f)$({program} runs list --names 2>/dev/null)}}" )
    compadd -a names
    _default
}}

"#
    );
    let wants = |line: &str| RUNS_IN_ZSH.iter().any(|begin| line.starts_with(begin));
    let lines: Vec<String> = text
        .lines()
        .map(|line| match wants(line) {
            true => line.replace(":_default'", &format!(":_{program}_runs'")),
            false => line.to_owned(),
        })
        .collect();
    let text = lines.join("\n") + "\n";
    let begin = format!("if [ \"$funcstack[1]\" = \"_{program}\" ]; then");
    text.replacen(&begin, &format!("{function}{begin}"), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shell_asks_for_the_runs() {
        let run = || clap::Arg::new("run").help("The run: an id");
        let toy = Command::new("toy")
            .subcommand(Command::new("runs").subcommand(Command::new("show").arg(run())));
        for file in &files(&toy) {
            let text = String::from_utf8(file.content.clone()).unwrap();
            assert!(text.contains("runs list --names"), "{}", file.name);
            if file.name == "_toy" {
                assert!(
                    text.contains("'::run -- The run\\: an id:_toy_runs'"),
                    "{text}"
                );
            }
        }
    }

    /// Returns what the script for bash offers behind `line`, with a program that has one run.
    fn offered(line: &str) -> String {
        let verb =
            |name: &'static str| Command::new(name).arg(clap::Arg::new("what").num_args(0..));
        let toy = Command::new("toy")
            .arg(clap::Arg::new("home").long("home").global(true))
            .subcommands(["report", "explain", "history"].map(verb))
            .subcommand(Command::new("study").subcommand(verb("report")))
            .subcommand(Command::new("runs").subcommands(["list", "pack"].map(verb)));
        let script = files(&toy).swap_remove(0).content;
        let script = String::from_utf8(script).unwrap();
        let asked = format!(
            "{script}\ntoy() {{ echo before-1; }}\nCOMP_WORDS=({line} b); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _toy_stored toy; echo \"${{COMPREPLY[@]}}\""
        );
        let output = std::process::Command::new("bash")
            .args(["-uc", &asked])
            .output()
            .unwrap();
        assert!(output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    #[test]
    fn bash_offers_runs_where_they_are_wanted_and_nowhere_else() {
        for line in [
            "toy report",
            "toy --home /tmp report",
            "toy --home = /tmp explain",
            "toy history after-1",
            "toy runs pack",
        ] {
            assert_eq!(offered(line), "before-1", "{line}");
        }
        for line in ["toy study report", "toy runs list", "toy"] {
            assert_eq!(offered(line), "", "{line}");
        }
    }

    #[test]
    fn no_shell_gets_what_is_hidden() {
        let flag = |name: &'static str| clap::Arg::new(name).long(name).global(name == "store");
        let verb = Command::new("watch")
            .arg(flag("secret").hide(true).requires("limit"))
            .arg(flag("limit").conflicts_with_all(["secret", "quiet"]))
            .arg(
                flag("quiet")
                    .overrides_with("secret")
                    .required_unless_present("secret"),
            )
            .arg(flag("store").hide(true));
        let toy = Command::new("toy").arg(flag("store")).subcommand(verb);
        let [bash, fish, zsh] = files(&toy)
            .try_into()
            .map(|files: [Generated; 3]| files.map(|f| String::from_utf8(f.content).unwrap()))
            .unwrap();
        for text in [&bash, &fish, &zsh] {
            assert!(text.contains("limit") && text.contains("store"), "{text}");
            assert!(!text.contains("secret"), "{text}");
        }
        assert!(zsh.contains("'(--quiet)--limit="), "{zsh}");
        for opts in ["-h --limit --quiet --help", "-h --store --help watch help"] {
            assert!(bash.contains(&format!("opts=\"{opts}\"")), "{bash}");
        }
    }

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
