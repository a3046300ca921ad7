// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where in the program and in the kernel it happened.

use serde_json::Value;

use super::{late_loop, seen};
use crate::common::{Home, machine};

/// The functions of the kernel and of the program, innermost first, of all places that are said of `of`.
fn functions(of: &Value, key: &str) -> Vec<String> {
    let stacks = of["stacks"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let all = stacks
        .iter()
        .flat_map(|stack| stack[key].as_array().unwrap());
    all.map(|name| name.as_str().unwrap().to_owned()).collect()
}

#[test]
fn habits_and_culprits_say_where_they_happened() {
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    let home = Home::alone();
    let command =
        |which: &str| home.command(["watch", "--quiet", "--json", "--stacks", which, "--"]);
    let all = seen(command("all"), "fsync", 400);
    let planted = all.planted("call");
    assert_eq!(planted["name"], "fsync");
    let kernel = functions(planted, "kernel");
    assert!(
        kernel.iter().any(|name| name.contains("sync")),
        "{planted:#}"
    );
    let none_of_tracing = |name: &String| !name.contains("trace") && name != "__schedule";
    assert!(kernel.iter().all(none_of_tracing), "{kernel:?}");
    // The innermost function of the program is known without any frame pointer.
    let user = functions(planted, "user");
    assert!(
        user.iter()
            .any(|name| name.contains("sync") && name.contains("libc")),
        "{planted:#}"
    );
    let habits = all.record["watched"]["habits"].as_array().unwrap();
    let sync = habits
        .iter()
        .find(|h| h["rule"]["id"] == "sync-in-cycle")
        .unwrap();
    assert!(!functions(sync, "user").is_empty(), "{sync:#}");
    crate::schema::assert_valid(&crate::schema::schema("run.schema.json"), &all.record);
    let text = home.run(["runs", "show", all.record["id"].as_str().unwrap()]);
    assert!(
        text.fine()
            .stdout
            .contains("Where loop was in its late cycles")
    );

    let none = seen(command("off"), "fsync", 100);
    let text = none.record["watched"].to_string();
    assert!(!text.contains("\"stacks\""), "{text}");
    assert!(late_loop().exists());
}
