// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What `fleet` refuses before any host hears of it, and archives that nobody packed.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::process::Command;

use super::{has_ansible, path};
use crate::common::machine;
use crate::common::{Home, finish, program};

#[test]
fn what_is_wrong_is_said_before_a_host_is_asked() {
    let home = Home::aside();
    let inventory = home.dir().join("hosts.ini");
    fs::write(&inventory, "here ansible_connection=local\n").unwrap();
    let inventory = inventory.to_str().unwrap();
    let run = |verb: &str, args: &[&str]| {
        let first = ["fleet", verb, "--inventory", inventory];
        let mut command = home.command(first.iter().chain(args));
        command.env("PATH", path());
        finish(command)
    };
    run("measure", &["--", "wakup"])
        .error(2, &["wakup"])
        .hinted();
    run("measure", &["--", "wakeup", "--duration", "5"]).error(2, &["5"]);
    run("measure", &["--", "--home=x", "wakeup"])
        .error(2, &["--home"])
        .hinted();
    run("tune", &["--", "run", "--", "true"]).error(2, &["apply"]);
    run("experiment", &["--", "status"]).error(2, &["run FILE"]);
    run("doctor", &["--", "--explain", "x"]).error(2, &["--explain"]);
    run("doctor", &["--file", "/dev/null"]).error(2, &["/dev/null", "regular file"]);
    run("doctor", &["--program", "/etc/passwd"]).error(1, &["/etc/passwd", "ELF"]);
    let given = program().to_str().unwrap();
    run("doctor", &["--program", given, "--program", given]).error(2, &["two programs"]);
    // What an unset variable of a script gives is not all hosts.
    for pattern in ["--hosts=", "--hosts= , "] {
        run("doctor", &[pattern]).error(2, &["names no host"]);
    }
    if has_ansible() {
        run("doctor", &["--hosts=away*"]).error(1, &["none matches away*"]);
        run("doctor", &["--hosts=--help"]).error(1, &["none matches --help"]);
        // A host before the mistake is there; those behind it would be missing.
        let broken = home.dir().join("broken.yml");
        let hosts = "all:\n  hosts:\n    good: {}\n    'a[b': {}\n    behind: {}\n";
        fs::write(&broken, hosts).unwrap();
        let mut command = home.command(["fleet", "doctor", "--inventory"]);
        command.arg(&broken).env("PATH", path());
        finish(command).error(1, &["Completely failed to parse", "broken.yml"]);
        run("doctor", &["--keep", "{{ x }}"]).error(2, &["template"]);
    }
    home.run(["fleet", "doctor", "--inventory", "/no/such"])
        .error(1, &["/no/such"]);
    // Without Ansible: what is missing, and how to get it.
    let mut command = home.command(["fleet", "doctor", "--inventory", inventory]);
    command.env("PATH", "/nowhere");
    finish(command).error(5, &["ansible-playbook"]).hinted();
}

#[test]
fn root_obeys_no_inventory_that_somebody_else_could_write() {
    if !machine::root() || !has_ansible() {
        return;
    }
    let home = Home::aside();
    let inventory = home.dir().join("hosts.ini");
    let proof = home.dir().join("proof");
    let text = format!("#!/bin/sh\ntouch {}\necho '{{}}'\n", proof.display());
    fs::write(&inventory, text).unwrap();
    let mode =
        |path: &Path, bits| fs::set_permissions(path, fs::Permissions::from_mode(bits)).unwrap();
    mode(&inventory, 0o777);
    let run = || {
        let mut command = home.command(["fleet", "doctor", "--inventory"]);
        command.arg(&inventory).env("PATH", path());
        finish(command)
    };
    run().error(1, &["as root", "others may write"]).hinted();
    mode(&inventory, 0o755);
    chown(&inventory, Some(4321), None).unwrap();
    run().error(1, &["belongs to another user"]);
    chown(&inventory, Some(0), None).unwrap();
    // The same of what Ansible reads next to it.
    let variables = home.dir().join("group_vars");
    fs::create_dir(&variables).unwrap();
    fs::write(variables.join("all.yml"), "x: 1\n").unwrap();
    chown(variables.join("all.yml"), Some(4321), None).unwrap();
    run().error(1, &["group_vars", "belongs to another user"]);
    assert!(!proof.exists());
    chown(variables.join("all.yml"), Some(0), None).unwrap();
    run().error(1, &["the inventory has none"]).hinted();
    assert!(proof.exists());
    // Settings of somebody else in the current directory are not obeyed.
    let cwd = home.dir().join("theirs");
    fs::create_dir(&cwd).unwrap();
    fs::write(cwd.join("ansible.cfg"), "[defaults]\nforks = none\n").unwrap();
    chown(cwd.join("ansible.cfg"), Some(4321), None).unwrap();
    let mut command = home.command(["fleet", "doctor", "--inventory"]);
    command
        .arg(&inventory)
        .env("PATH", path())
        .current_dir(&cwd);
    let answer = finish(command);
    assert!(
        answer.stderr.contains("ansible.cfg is ignored"),
        "{answer:#?}"
    );
}

#[test]
fn root_obeys_no_variables_that_somebody_else_could_write() {
    if !machine::root() || !has_ansible() {
        return;
    }
    let home = Home::aside();
    let mode =
        |path: &Path, bits| fs::set_permissions(path, fs::Permissions::from_mode(bits)).unwrap();
    let proof = home.dir().join("proof");
    let text = format!("#!/bin/sh\ntouch {}\necho '{{}}'\n", proof.display());
    let own = home.dir().join("own");
    fs::create_dir(&own).unwrap();
    let inventory = own.join("hosts");
    fs::write(&inventory, text).unwrap();
    mode(&inventory, 0o755);
    let run = |inventory: &Path| {
        let mut command = home.command(["fleet", "doctor", "--inventory"]);
        command.arg(inventory).env("PATH", path());
        finish(command)
    };
    let refused = |inventory: &Path, parts: &[&str]| {
        run(inventory).error(1, parts).hinted();
        assert!(!proof.exists(), "{parts:?}");
    };
    // Ansible reads the directory of a group too.
    let group = own.join("group_vars/all");
    fs::create_dir_all(&group).unwrap();
    let file = group.join("x.yml");
    fs::write(&file, "x: 1\n").unwrap();
    chown(&file, Some(4321), None).unwrap();
    refused(&inventory, &["group_vars", "belongs to another user"]);
    chown(&file, Some(0), None).unwrap();
    mode(&group, 0o777);
    refused(&inventory, &["group_vars", "others may write"]);
    fs::remove_dir_all(&group).unwrap();
    // What others can fill is not empty for long.
    for bits in [0o777, 0o1777] {
        mode(&own.join("group_vars"), bits);
        refused(&inventory, &["group_vars", "others may write"]);
    }
    mode(&own.join("group_vars"), 0o755);
    mode(&own, 0o1777);
    refused(&inventory, &["inventory's directory", "others may write"]);
    mode(&own, 0o755);
    // A link that leads nowhere yet, and one that somebody else can change.
    symlink(home.dir().join("none"), own.join("host_vars")).unwrap();
    refused(&inventory, &["host_vars"]);
    fs::remove_file(own.join("host_vars")).unwrap();
    let open = home.dir().join("open");
    fs::create_dir(&open).unwrap();
    mode(&open, 0o777);
    symlink(&inventory, open.join("hosts")).unwrap();
    refused(&open.join("hosts"), &["inventory", "others may rename"]);
    // A directory that is in itself ends.
    symlink(".", own.join("group_vars/loop")).unwrap();
    run(&inventory).error(1, &["the inventory has none"]);
    assert!(proof.exists());
}

#[test]
fn runs_go_from_store_to_store_in_an_archive_and_nothing_else_does() {
    let home = Home::aside();
    let record = home.quick(&["--raw", "--name=first"]);
    home.quick(&["--name=second"]);
    let archive = home.dir().join("runs.tar");
    let archive = archive.to_str().unwrap();
    home.run(["runs", "pack", "-o", archive]).fine();
    home.run(["runs", "pack", "-o", archive])
        .error(1, &["already exists"])
        .hinted();
    home.run(["runs", "pack", "none", "-o", "/dev/null"])
        .error(2, &["none"]);
    // tar reads it too.
    let mut listed = Command::new("tar");
    listed.args(["-tf", archive]);
    let id = record["id"].as_str().unwrap();
    let names = finish(listed).fine().stdout.clone();
    assert!(names.contains(&format!("{id}/run.json\n")), "{names}");
    assert!(names.contains(&format!("{id}/samples.zst\n")), "{names}");
    let other = Home::aside();
    let imported = other.run(["runs", "import", archive, "--tag=site=north", "--json"]);
    let files = imported.fine().json()["files"].clone();
    assert_eq!(files.as_array().unwrap().len(), 2);
    let shown = other.run(["runs", "show", id, "--json"]).fine().json();
    assert_eq!(shown["tags"]["site"], "north");
    assert_eq!(shown["total"], record["total"]);
    let samples = |of: &Home| {
        let answer = of.run(["runs", "export", id, "--format", "csv"]);
        answer.fine().stdout.clone()
    };
    assert_eq!(samples(&other), samples(&home));
    // Once more is no error; the same id with another content is one.
    other
        .run(["runs", "import", archive, "--tag=site=north"])
        .fine();
    let answer = other.run(["runs", "import", archive]);
    let refused = answer.stderr.matches("another run with this id").count();
    assert_eq!((answer.code(), refused), (1, 2), "{answer:#?}");
    assert_eq!(other.list().len(), 2);
    // A store, and a run of it, are imported as they are.
    let third = Home::aside();
    third
        .run(["runs", "import", home.store().to_str().unwrap()])
        .fine();
    assert_eq!(third.list().len(), 2);
    // A run in the directory of another one is not taken, neither as a directory nor in an archive.
    let dir = home.runs_dir().join(id);
    let wrong = home
        .dir()
        .join("wrong/01900000-0000-7000-8000-000000000003");
    let mut copied = Command::new("cp");
    fs::create_dir(wrong.parent().unwrap()).unwrap();
    copied.arg("-r").args([&dir, &wrong]);
    finish(copied).fine();
    let packed = home.dir().join("wrong.tar");
    let mut tar = Command::new("tar");
    tar.arg("-cf").arg(&packed);
    tar.arg("-C").arg(wrong.parent().unwrap());
    let name = Path::new(wrong.file_name().unwrap());
    let files = fs::read_dir(&wrong).unwrap();
    tar.args(files.map(|file| name.join(file.unwrap().file_name())));
    finish(tar).fine();
    let fifth = Home::aside();
    for path in [&wrong, &packed] {
        fifth
            .run(["runs", "import", path.to_str().unwrap()])
            .error(1, &["its record is of another run", id]);
    }
    assert_eq!(fifth.list().len(), 0);
    // A newer program's key would be lost: the run is not taken.
    let path = dir.join("run.json");
    let text = machine::read(&path).unwrap();
    fs::write(&path, text.replacen("\"id\"", "\"later\": 1, \"id\"", 1)).unwrap();
    let fourth = Home::aside();
    fourth
        .run(["runs", "import", dir.to_str().unwrap()])
        .error(1, &["`later`"]);
    // A cut archive leaves nothing.
    let bytes = fs::read(archive).unwrap();
    fs::write(archive, &bytes[..bytes.len() / 2]).unwrap();
    fourth.run(["runs", "import", archive]).error(1, &[archive]);
    assert_eq!(fourth.list().len(), 0);
    let left = fs::read_dir(fourth.store()).unwrap();
    let left = left.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with(".unpacked")
    });
    assert_eq!(left.count(), 0);
}

#[test]
fn a_run_that_cannot_be_taken_stops_no_other_and_each_is_reported() {
    let home = Home::aside();
    // The archive is sorted by id: one run before the one that is refused, and one behind it.
    let runs = ["first", "second", "third"].map(|name| home.quick(&[&format!("--name={name}")]));
    let ids = runs.map(|run| run["id"].as_str().unwrap().to_owned());
    let archive = home.dir().join("runs.tar");
    let archive = archive.to_str().unwrap();
    home.run(["runs", "pack", "-o", archive]).fine();
    let other = Home::aside();
    let second = home.runs_dir().join(&ids[1]);
    let second = second.to_str().unwrap();
    other
        .run(["runs", "import", second, "--tag=edited=yes"])
        .fine();
    for from in [archive, home.store().to_str().unwrap()] {
        let answer = other.run(["runs", "import", from, "--json"]);
        answer.error(1, &["another run with this id", &ids[1]]);
        let files = answer.json()["files"].as_array().unwrap().clone();
        let imported: Vec<_> = files
            .iter()
            .filter_map(|file| file["id"].as_str())
            .collect();
        assert_eq!(imported, [&ids[0], &ids[2]], "{from}");
        let failed: Vec<_> = files
            .iter()
            .filter_map(|file| file["failed"].as_str())
            .collect();
        assert!(
            failed.len() == 1 && failed[0].contains(&ids[1]),
            "{failed:?}"
        );
        let list = other.list();
        assert_eq!(list.len(), 3);
        let is_there = |id: &&str| list.iter().any(|run| run["id"] == **id);
        assert!(imported.iter().all(is_there), "{list:?}");
    }
    let kept = other.run(["runs", "show", &ids[1], "--json"]).fine().json();
    assert_eq!(kept["tags"]["edited"], "yes");
}

#[test]
fn the_collection_is_written_out_and_ansible_documents_it() {
    let home = Home::aside();
    let dir = home.dir().join("collections");
    let answer = home.run(["fleet", "collection", dir.to_str().unwrap()]);
    let place = dir.join("ansible_collections/punctual/fleet");
    assert_eq!(answer.fine().stdout, format!("{}\n", place.display()));
    if !has_ansible() {
        return;
    }
    for (kind, name, option) in [
        ("module", "punctual.fleet.command", "place"),
        ("role", "punctual.fleet.tune", "tune_state"),
        ("callback", "punctual.fleet.lines", "in JSON strings"),
    ] {
        let found = std::env::split_paths(&path()).find(|dir| dir.join("ansible-doc").is_file());
        let mut doc = Command::new(found.unwrap().join("ansible-doc"));
        doc.args(["--type", kind, name])
            .env("PATH", path())
            .env("ANSIBLE_COLLECTIONS_PATH", &dir);
        let text = finish(doc).fine().stdout.clone();
        assert!(text.contains(option), "{name}: {text}");
    }
}
