// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What hosts send: runs of an older program, and archives that no program has packed.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{Fleet, QUICK, hosts};
use crate::common::Home;

/// Sends the archive that lies ready for its host, whatever it measured.
fn sender() -> String {
    format!(
        "#!/bin/sh
case \" $* \" in
*' --version '*) echo punctual {} ;;
*' --help '*) ;;
*' runs pack '*) cp --sparse=always \"/mnt/sent-$(uname -n).tar\" runs.tar ;;
*' doctor '*) ;;
*' measure '*) mkdir -p \"$2/runs/any\" ;;
esac
",
        env!("CARGO_PKG_VERSION")
    )
}

fn run(command: &mut Command) {
    let status = command.status().unwrap();
    assert!(status.success(), "{command:?}");
}

/// Puts the runs that an earlier program stored into `home`, and returns their number.
fn earlier(home: &Home) -> usize {
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stored/earlier");
    fs::create_dir_all(home.runs_dir()).unwrap();
    run(Command::new("cp")
        .arg("-r")
        .arg(stored.join("."))
        .arg(home.runs_dir()));
    home.list().len()
}

#[test]
fn runs_of_an_earlier_program_come_from_a_host_and_others_send_no_run_at_all() {
    let all = [
        "good", "cut", "link", "absolute", "outside", "long", "large", "none",
    ];
    let Some(fleet) = Fleet::new(Home::aside(), &all) else {
        return;
    };
    fleet.install(&sender());
    let stored = Home::aside();
    let count = earlier(&stored);
    assert!(count >= 5, "{count}");
    let archive = |host: &str| fleet.inventory().with_file_name(format!("sent-{host}.tar"));
    let good = archive("good");
    stored
        .run(["runs", "pack", "-o", good.to_str().unwrap()])
        .fine();
    let bytes = fs::read(&good).unwrap();
    fs::write(archive("cut"), &bytes[..bytes.len() / 2]).unwrap();
    // Its first member says that it is 8 GB, and its checksum says so too.
    let mut long = bytes.clone();
    long[124..135].copy_from_slice(b"77777777777");
    long[148..156].fill(b' ');
    let sum: u32 = long[..512].iter().map(|byte| u32::from(*byte)).sum();
    long[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    fs::write(archive("long"), &long).unwrap();
    let large = fs::File::create(archive("large")).unwrap();
    large.set_len(300 << 20).unwrap();
    fs::write(archive("none"), []).unwrap();
    let id = "01a1f919-d20f-77a5-8ab9-0c8543f9a1b0";
    let made = stored.dir().join(id);
    fs::create_dir(&made).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", made.join("run.json")).unwrap();
    let tar = |host: &str| {
        let mut tar = Command::new("tar");
        tar.arg("-cPf").arg(archive(host)).current_dir(stored.dir());
        tar
    };
    run(tar("link").arg(format!("{id}/run.json")));
    fs::remove_file(made.join("run.json")).unwrap();
    fs::write(made.join("run.json"), "{}").unwrap();
    run(tar("absolute").arg(made.join("run.json")));
    run(tar("outside").arg(format!(
        "../{}/{id}/run.json",
        stored.dir().file_name().unwrap().to_str().unwrap()
    )));

    let answer = fleet.run("measure", &[&["--installed"][..], &QUICK].concat());
    assert_eq!(answer.code(), 1, "{answer:#?}");
    let hosts = hosts(&answer);
    assert_eq!(hosts.len(), all.len());
    for (name, state, detail) in [
        ("good", "done", ""),
        ("cut", "not_imported", "unexpected end of file"),
        ("link", "not_imported", "it is not a regular file"),
        ("absolute", "not_imported", "member 1"),
        ("outside", "not_imported", "member 1"),
        ("long", "not_imported", "unexpected end of file"),
        (
            "large",
            "failed",
            "made 314572800 bytes, more than the limit",
        ),
        ("none", "not_imported", "there is no run in it"),
    ] {
        let host = &hosts[name];
        assert_eq!(host["state"], state, "{host:#}");
        let said = host["detail"].as_str().unwrap_or_default();
        assert!(said.contains(detail), "{host:#}");
        let runs = host["runs"].as_array().unwrap().len();
        assert_eq!(runs, if name == "good" { count } else { 0 }, "{host:#}");
    }
    let left = hosts["large"]["left"].clone();
    assert_eq!(fleet.home.list().len(), count);
    let shown = fleet
        .home
        .run(["runs", "list", "--tag", "host=good", "--json"]);
    assert_eq!(shown.json()["runs"].as_array().unwrap().len(), count);
    // One that says that it succeeded, and gives no answer.
    let answer = fleet.run("doctor", &["--installed", "--hosts=good"]);
    let host = &super::hosts(&answer)["good"];
    assert_eq!(host["state"], "failed", "{host:#}");
    assert_eq!(host["detail"], "ended with status 0 and printed no answer");
    // What was not fetched is nowhere else.
    let left = left.as_array().unwrap();
    assert_eq!(left.len(), 1);
    let left = left[0].as_str().unwrap();
    let kept = format!("{left}/runs.tar");
    assert!(fleet.files("large", "/tmp").contains(&kept), "{left}");
    fs::remove_dir_all(fleet.root("large") + left).unwrap();
    fleet.nothing_left();
}

/// Ends within a line, says that its disk is full or has no room to say so, sends brackets, makes no run, or measures on other machines
/// meanwhile.
const ENDS: &str = r#"#!/bin/sh
case " $* " in
*' --version '*) echo punctual VERSION ;;
*' --help '*) ;;
*' runs pack '*) cp /mnt/good.tar runs.tar ;;
*' measure '*)
    [ "$(uname -n)" != silent ] || { head -c 8000000 /dev/zero >fill 2>/dev/null; exit 1; }
    [ "$(uname -n)" = none ] || mkdir -p "$2/runs/any"
    printf 'Warning: half a line' >&2 ;;
*' apply '*) cat /mnt/held.json ;;
*' revert '*)
    [ "$(uname -n)" != silent ] || { cat /mnt/reverted.json; exit 4; }
    echo 'Error: failed to restore a setting' >&2
    echo '  caused by: No space left on device (os error 28)' >&2
    [ "$(uname -n)" != torn ] || head -c 400000 /dev/zero | tr '\\0' '['
    exit 4 ;;
*' fleet '*) sleep 1000 ;;
esac
"#;

#[test]
fn what_a_host_says_last_or_in_part_hides_nothing() {
    let all = ["half", "none", "torn", "silent:full"];
    let Some(fleet) = Fleet::new(Home::aside(), &all) else {
        return;
    };
    fleet.install(&ENDS.replace("VERSION", env!("CARGO_PKG_VERSION")));
    let stored = Home::aside();
    let count = earlier(&stored);
    let good = fleet.inventory().with_file_name("good.tar");
    stored
        .run(["runs", "pack", "-o", good.to_str().unwrap()])
        .fine();
    // Who has others measure is not measuring.
    fleet.on(
        "half",
        "punctual --quiet fleet measure -- wakeup </dev/null >/dev/null 2>&1 &",
    );
    let args = [
        &["--installed", "--hosts=half,none,silent,elsewhere"][..],
        &QUICK,
    ]
    .concat();
    let answer = fleet.run("measure", &args);
    assert_eq!(answer.code(), 1, "{answer:#?}");
    let measured = hosts(&answer);
    let half = &measured["half"];
    assert_eq!(half["state"], "done", "{half:#}");
    assert_eq!(half["runs"].as_array().unwrap().len(), count, "{half:#}");
    assert_eq!(measured["none"]["state"], "failed", "{answer:#?}");
    assert_eq!(
        measured["none"]["detail"],
        "ended with status 0 and made no run"
    );
    assert_eq!(
        measured["elsewhere"]["detail"],
        "no host of the inventory has this name"
    );
    let silent = &measured["silent"];
    assert_eq!(silent["state"], "disk_full", "{silent:#}");
    assert_eq!(silent["detail"], "no room is left in /tmp");
    // A limit that is held is a change, although nothing was written; a revert that restored not all has changed what it restored.
    let tuned = |action: &str, complete: bool, steps: Value, held: Value| {
        let report = json!({
            "format": "punctual.tuning/1",
            "action": action,
            "session": null,
            "steps": steps,
            "held": held,
            "complete": complete,
            "remarks": ["any"],
        });
        report.to_string()
    };
    let step = |knob: &str, undone: Value| {
        json!({
            "knob": knob,
            "instance": null,
            "target": {"kind": "file", "path": "/proc/sys/vm/any"},
            "old": "60",
            "new": "10",
            "outcome": {"is": "applied"},
            "undone": undone,
        })
    };
    let steps = json!([
        step("vm.stat_interval", json!({"is": "restored"})),
        step("vm.swappiness", json!({"is": "conflict", "value": "33"})),
    ]);
    let held = json!([{"knob": "dma_latency", "path": "/dev/cpu_dma_latency", "latency_ns": 0}]);
    let put = |name: &str, text: String| {
        fs::write(fleet.inventory().with_file_name(name), text).unwrap();
    };
    put("held.json", tuned("apply", true, json!([]), held));
    put("reverted.json", tuned("revert", false, steps, json!([])));
    let apply = ["--installed", "--hosts=silent", "--", "apply", "latency"];
    let applied = hosts(fleet.run("tune", &apply).fine())["silent"].clone();
    assert_eq!(applied["changed"], true, "{applied:#}");
    let answer = fleet.run("tune", &["--installed", "--", "revert"]);
    assert_eq!(answer.code(), 4, "{answer:#?}");
    for (name, host) in hosts(&answer) {
        assert_eq!(host["state"], "not_restored", "{name}: {host:#}");
        let said = host["detail"].as_str().unwrap();
        let (why, changed) = match name.as_str() {
            "silent" => ("vm.swappiness (33: another program set it", true),
            _ => ("failed to restore a setting", false),
        };
        assert!(said.contains(why), "{host:#}");
        assert_eq!(host["changed"], changed, "{host:#}");
    }
    fleet.nothing_left();
}
