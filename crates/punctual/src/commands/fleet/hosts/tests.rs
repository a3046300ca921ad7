// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

use super::*;

fn task(host: &str, step: &str, status: &str, said: Value) -> Task {
    typed(&serde_json::json!({
        "host": host, "step": step, "status": status, "changed": false, "said": said,
        "message": "no route\nto host\u{1b}[31m",
    }))
    .unwrap()
}

#[test]
fn every_host_is_a_line_of_the_result_whatever_happens() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("store")).unwrap();
    let fetched = dir.path().join("fetched");
    std::fs::create_dir(&fetched).unwrap();
    let mut hosts = Hosts::new(&store, &fetched);
    let names = ["silent", "away", "half", "old", "good", "met"];
    hosts.expect(names.map(ToOwned::to_owned).to_vec());
    hosts.expect(vec!["good".to_owned()]);
    let ready = serde_json::json!({"state": "ready", "places": ["/tmp/punctual-fleet.abcdefgh"]});
    let mut note = |host: &str, step: &str, status: &str, said: Value| {
        hosts.note(task(host, step, status, said));
    };
    note("away", "program", "unreachable", serde_json::json!({}));
    for host in ["half", "good", "met"] {
        note(host, "program", "ok", ready.clone());
    }
    note(
        "half",
        "command",
        "failed",
        serde_json::json!({"state": "lost", "detail": "gone"}),
    );
    note(
        "half",
        "cleanup",
        "failed",
        serde_json::json!({"state": "lost", "left": ["/tmp/punctual-fleet.abcdefgh"]}),
    );
    note(
        "old",
        "program",
        "failed",
        serde_json::json!({"state": "other_version"}),
    );
    note(
        "good",
        "command",
        "ok",
        serde_json::json!({"state": "done", "exit": 0, "seconds": 1.5}),
    );
    note("good", "cleanup", "ok", serde_json::json!({"left": []}));
    note(
        "met",
        "command",
        "ok",
        serde_json::json!({"state": "done", "exit": 3}),
    );
    // A host that nobody asked for is not one of the result.
    note(
        "stranger",
        "command",
        "ok",
        serde_json::json!({"state": "done"}),
    );
    // What was noted of a host whose task never ended is known, and changes nothing of others.
    for (host, place) in [("silent", "12345678"), ("good", "87654321")] {
        let places = [format!("/tmp/punctual-fleet.{place}")];
        let note = serde_json::json!({"host": host, "places": places});
        std::fs::write(fetched.join(format!("{host}.places")), note.to_string()).unwrap();
    }
    std::fs::write(fetched.join("cut.places"), "{").unwrap();
    assert_eq!(hosts.unclean().len(), 3);
    let all = hosts.finish();
    let states: Vec<FleetState> = all.iter().map(|host| host.state).collect();
    assert_eq!(
        states,
        [
            FleetState::NotReached,
            FleetState::Unreachable,
            FleetState::Lost,
            FleetState::OtherVersion,
            FleetState::Done,
            FleetState::Verdict,
        ]
    );
    assert_eq!(all[0].left, ["/tmp/punctual-fleet.12345678"]);
    assert_eq!(
        all[0].detail.as_deref(),
        Some("stopped while the program was copied")
    );
    assert_eq!(
        all[1].detail.as_deref(),
        Some("no route to host\u{fffd}[31m")
    );
    assert_eq!(all[2].left, ["/tmp/punctual-fleet.abcdefgh"]);
    assert_eq!(all[4].duration_ns, Some(Nanos::from_millis(1_500)));
    assert!(all[4].left.is_empty());
    assert_eq!(all[5].left, ["/tmp/punctual-fleet.abcdefgh"]);
}

#[test]
fn a_host_that_does_not_know_what_is_known_here_has_another_version() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("store")).unwrap();
    let of = |exit: u32, detail: &str| {
        let mut hosts = Hosts::new(&store, dir.path());
        hosts.expect(vec!["a".to_owned()]);
        let said = serde_json::json!({"state": "failed", "exit": exit, "detail": detail});
        hosts.note(task("a", "command", "failed", said));
        hosts.finish().remove(0)
    };
    let old = of(2, "unexpected argument '--new' found");
    assert_eq!(old.state, FleetState::OtherVersion);
    assert_eq!(
        old.detail.as_deref(),
        Some("its Punctual does not know this command line: unexpected argument '--new' found")
    );
    assert_eq!(of(2, "no such CPU: 9").state, FleetState::Failed);
    assert_eq!(of(1, "unexpected argument").state, FleetState::Failed);
}

#[test]
fn what_a_host_sends_leads_to_no_file_but_what_was_fetched() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("store")).unwrap();
    let fetched = dir.path().join("fetched");
    std::fs::create_dir(&fetched).unwrap();
    std::fs::write(dir.path().join("secret"), "{\"format\": \"punctual.x/1\"}").unwrap();
    std::os::unix::fs::symlink(dir.path().join("secret"), fetched.join("link.json")).unwrap();
    let taken = |said: Value| {
        let mut hosts = Hosts::new(&store, &fetched);
        hosts.expect(vec!["a".to_owned()]);
        hosts.note(task("a", "command", "ok", said));
        hosts.finish().remove(0)
    };
    for path in ["../secret", "link.json", "..", "missing"] {
        let path = fetched.join(path);
        for key in ["answer", "archive"] {
            let host = taken(serde_json::json!({"state": "done", "exit": 0, key: path}));
            assert_eq!(host.state, FleetState::NotImported, "{path:?}");
            assert_eq!(host.answer, None);
        }
    }
    std::fs::write(fetched.join("noise.tar"), [7; 2048]).unwrap();
    let host = taken(serde_json::json!({"state": "done", "exit": 0, "archive": "noise.tar"}));
    assert_eq!(host.state, FleetState::NotImported);
    assert_eq!(
        store
            .index()
            .unwrap()
            .list(&punctual_store::Filter::default())
            .unwrap()
            .len(),
        0
    );
}

/// A revert of two settings, of which another program has set one meanwhile.
fn half_reverted() -> Value {
    let step = |knob: &str, undone: Value| {
        serde_json::json!({
            "knob": knob,
            "instance": null,
            "target": {"kind": "file", "path": "/proc/sys/vm/any"},
            "old": "60",
            "new": "10",
            "outcome": {"is": "applied"},
            "undone": undone,
        })
    };
    serde_json::json!({
        "format": "punctual.tuning/1",
        "action": "revert",
        "session": {
            "id": "01a21da2-0d73-7d53-b72d-16854174a2ee",
            "profile": "set",
            "started": "2026-11-27T15:31:29Z",
            "until": null,
            "boot_id": "34583e71-7366-4600-84a4-46005c940142",
            "purpose": "apply",
            "pid": 12360,
        },
        "steps": [
            step("vm.stat_interval", serde_json::json!({"is": "restored"})),
            step("vm.swappiness", serde_json::json!({"is": "conflict", "value": "33"})),
        ],
        "held": [],
        "complete": false,
        "remarks": [],
    })
}

#[test]
fn a_host_whose_settings_are_not_back_names_them_where_its_command_said_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("store")).unwrap();
    let answer = dir.path().join("a.json");
    std::fs::write(&answer, half_reverted().to_string()).unwrap();
    let of = |detail: &str| {
        let mut hosts = Hosts::new(&store, dir.path());
        hosts.expect(vec!["a".to_owned()]);
        let said = serde_json::json!({
            "state": "not_restored", "exit": 4, "detail": detail, "answer": answer,
        });
        hosts.note(task("a", "command", "failed", said));
        let host = hosts.finish().remove(0);
        assert_eq!(host.state, FleetState::NotRestored);
        host.detail.unwrap()
    };
    let said = of("exit status 4");
    assert!(said.starts_with("NOT RESTORED profile set"), "{said}");
    let named = "; vm.swappiness (33: another program set it, left alone)";
    assert!(said.ends_with(named), "{said}");
    assert_eq!(of("failed to write"), "failed to write");
}

#[test]
fn a_check_that_could_not_be_made_has_not_failed() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("store")).unwrap();
    // A run of an earlier program, with other checks.
    let earlier = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/stored/earlier/01a213bc-2d6d-77a0-b9ac-04dd387c3e61"
    );
    let edited = dir.path().join("01a213bc-2d6d-77a0-b9ac-04dd387c3e61");
    std::fs::create_dir(&edited).unwrap();
    for file in std::fs::read_dir(earlier).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), edited.join(file.file_name())).unwrap();
    }
    let record = edited.join("run.json");
    let mut run: Value = serde_json::from_slice(&std::fs::read(&record).unwrap()).unwrap();
    run["valid"] = false.into();
    run["checks"] = serde_json::json!([
        {"id": "rt-throttling", "status": "unknown", "detail": "the budget cannot be read"},
        {"id": "lost-samples", "status": "fail", "detail": "2 lost"},
        {"id": "clocksource", "status": "pass", "detail": "tsc"},
    ]);
    std::fs::write(&record, run.to_string()).unwrap();
    let archive = dir.path().join("a.tar");
    let run = StoredRun::open(&edited).unwrap();
    punctual_store::archive::pack([&run], File::create(&archive).unwrap()).unwrap();
    let mut hosts = Hosts::new(&store, dir.path());
    hosts.expect(vec!["a".to_owned()]);
    let said = serde_json::json!({
        "state": "failed", "exit": 1, "detail": "exit status 1", "archive": archive,
    });
    hosts.note(task("a", "command", "failed", said));
    let host = hosts.finish().remove(0);
    assert_eq!(
        host.detail.as_deref(),
        Some(
            "invalid run: lost-samples failed: 2 lost; \
             rt-throttling could not be checked: the budget cannot be read"
        )
    );
}

/// An archive of three runs in `dir`, of which the store has another one in the place of the second; and their ids.
fn of_three(dir: &Path, store: &Store, archive: &Path) -> [String; 3] {
    let text = include_str!("../../../../tests/stored/wakeup.json");
    let ids = [1, 2, 3].map(|number| format!("01900000-0000-7000-8000-{number:012x}"));
    let write = |dir: &Path, id: &str, name: &str| {
        let mut record: Value = serde_json::from_str(text).unwrap();
        record["id"] = id.into();
        record["name"] = name.into();
        std::fs::create_dir_all(dir.join(id)).unwrap();
        std::fs::write(dir.join(id).join("run.json"), record.to_string()).unwrap();
        StoredRun::open(dir.join(id)).unwrap()
    };
    let runs = ids.each_ref().map(|id| write(dir, id, "sent"));
    punctual_store::archive::pack(&runs, File::create(archive).unwrap()).unwrap();
    write(store.runs_dir(), &ids[1], "another");
    ids
}

#[test]
fn a_run_that_the_store_cannot_take_stops_no_other_and_what_was_sent_stays() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("store")).unwrap();
    let fetched = dir.path().join("workshop/fetched");
    std::fs::create_dir_all(&fetched).unwrap();
    let archive = fetched.join("a.tar");
    let ids = of_three(&dir.path().join("sent"), &store, &archive);
    let bytes = std::fs::read(&archive).unwrap();
    let mut hosts = Hosts::new(&store, &fetched);
    hosts.expect(vec!["a".to_owned()]);
    let said = serde_json::json!({"state": "done", "exit": 0, "archive": archive});
    hosts.note(task("a", "command", "ok", said));
    let host = hosts.finish().remove(0);
    assert_eq!(host.state, FleetState::NotImported);
    assert_eq!(host.runs, [&*ids[0], &*ids[2]]);
    let said = host.detail.unwrap();
    assert!(said.starts_with("its runs: 1 of 3 not taken"), "{said}");
    let home = format!("`punctual --home {} ", store.home().display());
    assert!(said.contains(&home), "{said}");
    let (_, kept) = said.split_once("--tag host=a ").unwrap();
    let (kept, _) = kept.split_once('`').unwrap();
    assert_eq!(Path::new(kept).parent(), Some(store.home()));
    assert_eq!(std::fs::read(kept).unwrap(), bytes);
}

#[test]
fn runs_that_could_not_be_fetched_are_not_removed() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("store")).unwrap();
    let place = "/tmp/punctual-fleet.abcdefgh";
    let mut hosts = Hosts::new(&store, dir.path());
    hosts.expect(["large", "lost"].map(ToOwned::to_owned).to_vec());
    let mut note = |host: &str, step: &str, status: &str, said: Value| {
        hosts.note(task(host, step, status, said));
    };
    for (host, state) in [("large", "failed"), ("lost", "lost")] {
        let said = serde_json::json!({"state": state, "keep": true, "places": [place]});
        note(host, "command", "failed", said);
    }
    note(
        "large",
        "cleanup",
        "ok",
        serde_json::json!({"left": [place]}),
    );
    assert!(hosts.unclean().is_empty());
    // While others are cleaned up.
    let mut note =
        |host: &str| hosts.note(task(host, "cleanup", "ok", serde_json::json!({"left": []})));
    note("large");
    note("lost");
    for host in hosts.finish() {
        assert_eq!(host.left, [place], "{}", host.host);
    }
}
