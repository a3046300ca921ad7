// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Hosts that have, or are given, an older Punctual.

use super::{Fleet, QUICK, hosts, is_done};
use crate::common::Home;

/// Answers as the program of 2026-11-22 does, which has the version of this one: it packs no runs, and it knows fewer words.
/// What is measured leaves a mark.
fn of_november() -> String {
    let said = |what: &str, usage: &str| {
        format!(
            "printf '%s\\n' \"Error: {what}\" '' 'Usage: punctual {usage}' '' \"For more information, try '--help'.\" >&2; exit 2"
        )
    };
    format!(
        "#!/bin/sh
case \" $* \" in
*' --version '*) echo punctual {} ;;
*' runs pack '*) {} ;;
*' --fail-on '*) {} ;;
*' doctor '*) echo '{{}}' ;;
*' measure '* | *' assess '* | *' experiment '*) : >/run/measured; mkdir -p \"$2/runs/any\" ;;
esac
",
        env!("CARGO_PKG_VERSION"),
        said("unrecognized subcommand 'pack'", "runs [OPTIONS] <COMMAND>"),
        said("unexpected argument '--fail-on' found", "doctor [OPTIONS]"),
    )
}

#[test]
fn an_older_punctual_on_a_host_is_named_and_is_not_in_the_way() {
    let Some(fleet) = Fleet::new(Home::aside(), &["old:old"]) else {
        return;
    };
    let answer = fleet.run("measure", &[&["--installed"][..], &QUICK].concat());
    assert_eq!(answer.code(), 1, "{answer:#?}");
    let refused = &hosts(&answer)["old"];
    let now = env!("CARGO_PKG_VERSION");
    let detail = format!("Punctual 0.0.9 is installed, this is {now}");
    assert_eq!(refused["state"], "other_version", "{refused:#}");
    assert_eq!(refused["detail"], detail, "{refused:#}");
    assert_eq!(refused["version"], "0.0.9", "{refused:#}");
    // The program that is copied is another one.
    let measured = &hosts(&fleet.run("measure", &QUICK))["old"];
    assert!(is_done(measured), "{measured:#}");
    assert_eq!(measured["version"], now, "{measured:#}");
    assert_eq!(fleet.home.list().len(), 1);
    fleet.nothing_left();
}

#[test]
fn an_older_punctual_of_the_same_version_measures_nothing_that_it_cannot_send() {
    let Some(fleet) = Fleet::new(Home::aside(), &["a"]) else {
        return;
    };
    fleet.install(&of_november());
    for (verb, arguments) in [
        ("measure", &QUICK[..]),
        ("assess", &["--", "--duration=1s", "--load=cpu:1"]),
        ("experiment", &["--", "run", "plan.toml"]),
    ] {
        let answer = fleet.run(verb, &[&["--installed"][..], arguments].concat());
        assert_eq!(answer.code(), 1, "{answer:#?}");
        let hosts = hosts(&answer);
        assert_eq!(hosts.len(), 1);
        for host in hosts.values() {
            assert_eq!(host["state"], "other_version", "{host:#}");
            let said = host["detail"].as_str().unwrap();
            assert!(
                said.contains("cannot pack runs, so nothing was measured"),
                "{said}"
            );
        }
        // Not even the mark of a measurement.
        fleet.nothing_left();
    }
    // Verbs without runs go on, unless they are asked for what it does not know.
    for host in hosts(fleet.run("doctor", &["--installed"]).fine()).values() {
        assert_eq!(host["state"], "done", "{host:#}");
    }
    let answer = fleet.run("doctor", &["--installed", "--", "--fail-on", "info"]);
    for host in hosts(&answer).values() {
        assert_eq!(host["state"], "other_version", "{host:#}");
        assert_eq!(
            host["detail"],
            "its Punctual does not know this command line: unexpected argument '--fail-on' found",
        );
    }
    fleet.nothing_left();
}
