// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Shell completions, named as each shell looks for them.
//!
//! clap knows the options, and only the program knows the runs: each script asks it (`runs list --names`) where a run is
//! wanted, of the store that `--home` on the line names.

use std::collections::BTreeSet;

use clap::{Arg, Command};
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
                content: with_runs(shell, &command, content),
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
fn with_runs(shell: Shell, command: &Command, content: Vec<u8>) -> Vec<u8> {
    let text = String::from_utf8_lossy(&content).into_owned();
    let program = command.get_name();
    match shell {
        Shell::Bash => text + &in_bash(program, &flags(command)),
        Shell::Fish => text + &in_fish(program),
        Shell::Zsh => in_zsh(program, &text),
        _ => text,
    }
    .into_bytes()
}

/// Returns the options of the verbs that want runs behind which no value comes, so that a run may.
fn flags(command: &Command) -> BTreeSet<String> {
    let below = WANT_RUNS.iter().flat_map(|(verb, actions)| {
        let verb = command.find_subcommand(verb);
        let actions = actions
            .iter()
            .map(move |action| verb?.find_subcommand(action));
        actions.chain([verb.filter(|verb| !verb.has_subcommands())])
    });
    let args: Vec<&Arg> = below.flatten().flat_map(Command::get_arguments).collect();
    let names = |valued: bool| {
        let of = move |arg: &&&Arg| arg.get_action().takes_values() == valued;
        args.iter().filter(of).flat_map(|arg| {
            let long = arg.get_long_and_visible_aliases().unwrap_or_default();
            let short = arg.get_short_and_visible_aliases().unwrap_or_default();
            let long = long.into_iter().map(|name| format!("--{name}"));
            long.chain(short.into_iter().map(|name| format!("-{name}")))
        })
    };
    let valued: BTreeSet<String> = names(true).collect();
    names(false).filter(|flag| !valued.contains(flag)).collect()
}

fn in_bash(program: &str, flags: &BTreeSet<String>) -> String {
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
    let behind_flags = match flags.is_empty() {
        true => String::new(),
        false => {
            let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            format!("        {}) ;;\n", flags.join(" | "))
        }
    };
    format!(
        r#"
# The runs of the store, where one is wanted.
_{program}_stored() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" name word before=""
    local -a words=() verbs=() home=()
    # `--option=value` comes as three words.
    for word in "${{COMP_WORDS[@]:0:COMP_CWORD}}"; do
        [[ "${{word}}" == "=" ]] || words+=( "${{word}}" )
    done
    [[ "${{cur}}" == "=" ]] && cur=""
    local -a COMP_WORDS=( "${{words[@]}}" "${{cur}}" )
    local COMP_CWORD="${{#words[@]}}"
    _{program} "$1" "${{cur}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
    [[ "${{cur}}" == -* ]] && return
    # Behind an option that takes a value no run is wanted.
    case "${{COMP_WORDS[COMP_CWORD-1]}}" in
{behind_flags}        -*) return ;;
    esac
    # The verb and the store, wherever options stand. Only the shell would expand the `~`.
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        if [[ "${{before}}" == --home ]]; then
            [[ "${{word}}" == "~/"* ]] && word="${{HOME-}}${{word:1}}"
            home=( --home "${{word}}" )
        elif [[ "${{word}}" == --home=* ]]; then
            home=( "${{word}}" )
        elif [[ "${{word}}" != -* ]]; then
            verbs+=( "${{word}}" )
        fi
        before="${{word}}"
    done
    case " ${{verbs[*]-}} " in
        {})
            COMPREPLY=()
            # Not by compgen, which would expand what is in a name.
            while IFS= read -r name; do
                [[ "${{name}}" == "${{cur}}"* ]] && COMPREPLY+=( "$(printf '%q' "${{name}}")" )
            done < <("$1" ${{home[@]+"${{home[@]}}"}} runs list --names 2>/dev/null)
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
    let mut lines = format!(
        r#"
# The runs of the store, where one is wanted.
function __fish_{program}_runs
    set -l home
    set -l before
    for word in (commandline -opc)
        if test "$before" = --home
            # Only the shell would expand the `~`.
            set home --home (string replace -r '^~/' "$HOME/" -- $word)
        else if string match -q -- '--home=*' $word
            set home $word
        end
        set before $word
    end
    {program} $home runs list --names 2>/dev/null
end
"#
    );
    for (verb, actions) in WANT_RUNS {
        let below = match actions.is_empty() {
            true => String::new(),
            false => format!("; and __fish_seen_subcommand_from {}", actions.join(" ")),
        };
        let line = format!(
            "complete -c {program} -n \"__fish_{program}_using_subcommand {verb}{below}\" \
             -a \"(__fish_{program}_runs)\" -d 'Run'\n"
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
    local -a names home
    local dir
    local -i at
    at=${{_{program}_line[(I)--home]}}
    if (( at )); then
        dir=${{(Q)_{program}_line[at+1]}}
        # Only the shell would expand the `~`.
        [[ $dir == "~/"* ]] && dir=$HOME${{dir[2,-1]}}
        home=( --home "$dir" )
    fi
    at=${{_{program}_line[(I)--home=*]}}
    (( at )) && home=( "${{(Q)_{program}_line[at]}}" )
    names=( ${{(f)"$({program} "${{home[@]}}" runs list --names 2>/dev/null)"}} )
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
    // A verb sees only its own words, and the store may be named before it.
    let text = text.replacen(
        &format!("\n_{program}() {{\n"),
        &format!(
            "\n_{program}() {{\n    local -a _{program}_line\n    _{program}_line=( \"${{words[@]}}\" )\n"
        ),
        1,
    );
    let begin = format!("if [ \"$funcstack[1]\" = \"_{program}\" ]; then");
    text.replacen(&begin, &format!("{function}{begin}"), 1)
}

#[cfg(test)]
mod tests {
    use clap::ArgAction;

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

    /// The program `toy`, whose store has one run, named after it.
    const STORE: &str = "toy() { case $1 in --home) echo \"before-$2\" ;; --home=*) echo \"before-${1#--home=}\" ;; *) echo before-1 ;; esac; }";

    /// Returns what a shell, started with `arguments`, prints for `asked`; nothing where there is no such shell.
    fn answer(shell: &str, arguments: &[&str], asked: &str) -> Option<String> {
        let output = std::process::Command::new(shell)
            .args(arguments)
            .arg(asked)
            .env("HOME", "/root")
            .output();
        let Ok(output) = output else {
            println!("skipped: there is no {shell}");
            return None;
        };
        assert!(output.stderr.is_empty(), "{output:?}");
        Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
    }

    /// Returns the scripts of a program with a few verbs.
    fn toys() -> [String; 3] {
        let verb = |name: &'static str| {
            Command::new(name)
                .arg(Arg::new("what").num_args(0..).help("Runs"))
                .arg(Arg::new("json").long("json").action(ArgAction::SetTrue))
                .arg(Arg::new("by").long("by"))
        };
        let toy = Command::new("toy")
            .arg(clap::Arg::new("home").long("home").global(true))
            .subcommands(["report", "explain", "history"].map(verb))
            .subcommand(Command::new("study").subcommand(verb("report")))
            .subcommand(Command::new("runs").subcommands(["list", "pack"].map(verb)));
        let files: [Generated; 3] = files(&toy).try_into().unwrap();
        files.map(|file| String::from_utf8(file.content).unwrap())
    }

    /// Returns what the script for bash offers behind `line`.
    fn offered(line: &str) -> String {
        let [script, ..] = toys();
        let asked = format!(
            "{script}\n{STORE}\nCOMP_WORDS=({line} b); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _toy_stored toy; echo \"${{COMPREPLY[@]}}\""
        );
        answer("bash", &["-uc"], &asked).unwrap()
    }

    #[test]
    fn fish_and_zsh_ask_the_store_that_the_line_names() {
        let [_, fish, zsh] = toys();
        for (line, run) in [
            ("toy runs pack", "before-1"),
            ("toy --home /tmp runs pack", "before-/tmp"),
            ("toy runs --home ~/x pack", "before-/root/x"),
            ("toy --home=/tmp report", "before-/tmp"),
        ] {
            let asked = format!(
                "{fish}\nfunction toy; sh -c '{STORE}; toy \"$@\"' sh $argv; end\ncomplete -C '{line} b'"
            );
            if let Some(offered) = answer("fish", &["--no-config", "-c"], &asked) {
                assert_eq!(offered, format!("{run}\tRun"), "{line}");
            }
            // What the completion system calls, outside of it.
            let asked = format!(
                "compdef() {{ }}; {zsh}\n{STORE}\n_arguments() {{ words=(pack b); _toy_runs }}\n_default() {{ }}\n\
                 compadd() {{ print -l -- $names }}\nwords=({} b); _toy; :",
                line.replace('~', "\\~")
            );
            if let Some(offered) = answer("zsh", &["-fc"], &asked) {
                assert_eq!(offered, run, "{line}");
            }
        }
    }

    #[test]
    fn bash_offers_runs_where_they_are_wanted_and_nowhere_else() {
        for line in [
            "toy report",
            "toy history after-1",
            "toy runs pack",
            "toy runs pack --json",
            "toy runs --json pack",
            "toy report --by host",
            "toy report --by = host",
        ] {
            assert_eq!(offered(line), "before-1", "{line}");
        }
        for line in [
            "toy --home /tmp report",
            "toy --home = /tmp explain",
            "toy --home=/tmp history",
            "toy runs --home /tmp pack",
            "toy runs pack --home = /tmp --json",
        ] {
            assert_eq!(offered(line), "before-/tmp", "{line}");
        }
        assert_eq!(offered("toy --home '~/x' report"), "before-/root/x");
        for line in [
            "toy study report",
            "toy runs list",
            "toy",
            "toy report --by",
            "toy report --by =",
        ] {
            assert!(!offered(line).contains("before"), "{line}");
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
