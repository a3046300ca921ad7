// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Hosts whose names are patterns, paths, templates, options and terminal codes, as a dynamic inventory can have them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::{Fleet, hosts};
use crate::common::{Home, Running, finish, machine, wait_until};

/// Has no findings, at once or, where that is wanted, much later.
fn diagnosing() -> String {
    format!(
        "#!/bin/sh
case \" $* \" in
*' --version '*) echo punctual {} ;;
*' doctor '*) if [ -e /run/slow ]; then exec sleep 10000; fi; echo '{{}}' ;;
esac
",
        env!("CARGO_PKG_VERSION")
    )
}

#[test]
fn a_name_is_only_a_name() {
    let Some(fleet) = Fleet::new(Home::aside(), &["a"]) else {
        return;
    };
    fleet.install(&diagnosing());
    let proof = fleet.home.dir().join("proof");
    let proof = proof.to_str().unwrap();
    let names = [
        "../../../etc/x".to_owned(),
        "with space".to_owned(),
        "e\u{1b}[31mred".to_owned(),
        "two\nlines".to_owned(),
        format!("'q\"$(touch {proof})`touch {proof}`"),
        format!("{{{{ lookup('pipe', 'touch {proof}') }}}}"),
        format!("-oProxyCommand=touch {proof}"),
        "!a".to_owned(),
        "a:b".to_owned(),
        "@/etc/passwd".to_owned(),
        "~(".to_owned(),
    ];
    let key = fleet.inventory().with_file_name("key");
    let known = fleet.inventory().with_file_name("known");
    let options = format!(
        "-o UserKnownHostsFile={} -o StrictHostKeyChecking=accept-new -o IdentitiesOnly=yes",
        known.display()
    );
    let inventory = fleet.home.dir().join("names.sh");
    let told = json!({
        "_meta": { "hostvars": {} },
        "all": {
            "hosts": names,
            "vars": {
                "ansible_host": "10.231.0.1",
                "ansible_user": "root",
                "ansible_ssh_private_key_file": key,
                "ansible_ssh_common_args": options,
            },
        },
    });
    fs::write(fleet.home.dir().join("names.json"), told.to_string()).unwrap();
    let script = format!(
        "#!/bin/sh\ncat '{}/names.json'\n",
        fleet.home.dir().display()
    );
    fs::write(&inventory, script).unwrap();
    fs::set_permissions(&inventory, fs::Permissions::from_mode(0o755)).unwrap();
    let command = || {
        let mut command = fleet.enter([super::sent()]);
        command.args(["fleet", "doctor", "--json", "--installed", "--inventory"]);
        command.arg(&inventory).env("ANSIBLE_TIMEOUT", "60");
        command
    };
    let answer = finish(command());
    let found = hosts(answer.fine());
    assert_eq!(found.len(), names.len(), "{answer:#?}");
    for name in &names {
        assert_eq!(found[name]["state"], "done", "{name:?}");
    }
    assert!(!answer.stderr.contains('\u{1b}'), "{answer:#?}");
    fleet.nothing_left();
    // The same when they are stopped.
    fleet.on("a", ": >/run/slow");
    let running = Running::start(command());
    let at_work = || {
        let files = fleet.files("a", "/tmp");
        let begun = files.iter().filter(|path| path.ends_with("/stdout"));
        begun.count() == names.len()
    };
    assert!(wait_until(at_work));
    running.signal("INT");
    assert_eq!(hosts(&running.wait()).len(), names.len());
    fleet.on("a", "rm /run/slow");
    assert!(wait_until(|| {
        fleet.files("a", "/tmp").is_empty() && fleet.script("left", &["a"]).is_empty()
    }));
    assert!(machine::read(proof.as_ref()).is_none());
}
