// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The modules of the collection in a playbook of one's own, on this machine and without ssh.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::{has_ansible, path, sent};
use crate::common::{Home, finish};

/// Plays tasks after the program was put there (`placed`), and returns what each said.
fn play(home: &Home, tasks: &[Value]) -> Vec<Value> {
    let dir = |name: &str| home.dir().join(name);
    home.run(["fleet", "collection", dir("collections").to_str().unwrap()])
        .fine();
    fs::write(dir("hosts.ini"), "here ansible_connection=local\n").unwrap();
    let put = json!({
        "punctual.fleet.program": {
            "files": { std::env::consts::ARCH: sent() },
            "base": home.dir(),
        },
        "register": "placed",
    });
    let clean = json!({
        "punctual.fleet.cleanup": { "places": "{{ placed.punctual_fleet.places }}" },
    });
    let tasks: Vec<&Value> = [&put].into_iter().chain(tasks).chain([&clean]).collect();
    let play = json!([{
        "hosts": "here",
        "gather_facts": false,
        "ignore_errors": true,
        "tasks": tasks,
    }]);
    fs::write(dir("play.yml"), play.to_string()).unwrap();
    let mut command = Command::new("ansible-playbook");
    command
        .arg("--inventory")
        .args([dir("hosts.ini"), dir("play.yml")])
        .env("PATH", path())
        .env("ANSIBLE_COLLECTIONS_PATH", dir("collections"))
        .env("ANSIBLE_STDOUT_CALLBACK", "punctual.fleet.lines");
    let answer = finish(command);
    let lines = answer.fine().stdout.lines();
    let mut said: Vec<Value> = lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|line: &Value| line["event"] == "task")
        .collect();
    assert_eq!(said.len(), tasks.len(), "{answer:#?}");
    let last = said.pop().unwrap();
    assert_eq!(last["said"]["left"], json!([]), "{last:#}");
    assert_eq!(said.remove(0)["said"]["state"], "ready");
    said
}

#[test]
fn arguments_that_are_not_as_documented_are_refused_before_the_command_runs() {
    if !has_ansible() {
        return;
    }
    let home = Home::aside();
    let file = home.dir().join("file");
    fs::write(&file, "").unwrap();
    let place = "{{ placed.punctual_fleet }}";
    let command = |arguments: Value| json!({ "punctual.fleet.command": arguments });
    let cases = [
        (
            command(json!({"place": place, "verb": "doctor", "fetched": "/tmp"})),
            "Unsupported parameters for (punctual.fleet.command) module: fetched",
        ),
        (
            command(json!({"place": place, "verb": "runs", "arguments": ["list"]})),
            "value of verb must be one of: assess, doctor",
        ),
        (
            command(json!({"place": place, "verb": "doctor", "timeout": "soon"})),
            "argument 'timeout'",
        ),
        (
            command(json!({"place": place})),
            "missing required arguments: verb",
        ),
        (
            command(json!({"verb": "doctor"})),
            "missing required arguments: place",
        ),
        (
            command(json!({"place": {"state": "checked"}, "verb": "doctor"})),
            "place: not what punctual.fleet.program returns",
        ),
        (
            command(json!({"place": place, "verb": "doctor", "fetch": file})),
            "file: File exists",
        ),
        (
            json!({"punctual.fleet.program": {"files": {std::env::consts::ARCH: "/no/such"}}}),
            "/no/such: No such file or directory",
        ),
        (
            json!({"punctual.fleet.program": {"file": "/no/such"}}),
            "Unsupported parameters for (punctual.fleet.program) module: file",
        ),
        (
            json!({"punctual.fleet.cleanup": {"place": "/"}}),
            "Unsupported parameters for (punctual.fleet.cleanup) module: place",
        ),
    ];
    let tasks: Vec<Value> = cases.iter().map(|(task, _)| task.clone()).collect();
    for (said, (_, why)) in play(&home, &tasks).iter().zip(&cases) {
        assert_eq!(said["status"], "failed", "{said:#}");
        assert_eq!(said["said"]["state"], "failed", "{said:#}");
        assert_eq!(said["said"]["exit"], Value::Null, "{said:#}");
        assert!(said["message"].as_str().unwrap().contains(why), "{said:#}");
    }
}

#[test]
fn one_argument_is_a_list_and_the_directory_for_what_comes_back_is_made() {
    if !has_ansible() {
        return;
    }
    let home = Home::aside();
    let fetch = home.dir().join("new/answers");
    let doctor = |argument: &str| {
        json!({ "punctual.fleet.command": {
            "place": "{{ placed.punctual_fleet }}",
            "verb": "doctor",
            "arguments": argument,
            "answer": true,
            "fetch": fetch,
        }})
    };
    let said = play(&home, &[doctor("--json"), doctor("--jsno")]);
    assert_eq!(said[0]["said"]["state"], "done", "{:#}", said[0]);
    let answer = said[0]["said"]["answer"].as_str().unwrap();
    assert!(answer.starts_with(fetch.to_str().unwrap()), "{answer}");
    serde_json::from_slice::<Value>(&fs::read(answer).unwrap()).unwrap();
    // Nobody has read the command line before: that the host's Punctual is another one is not known.
    assert_eq!(said[1]["said"]["state"], "failed", "{:#}", said[1]);
    let message = said[1]["message"].as_str().unwrap();
    assert!(
        message.contains("unexpected argument '--jsno' found"),
        "{message}"
    );
}
