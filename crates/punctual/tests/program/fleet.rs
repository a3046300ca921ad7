// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Many machines: namespaces with sshd each, reached by the real Ansible.
//!
//! They share this machine's kernel, but neither files, processes, names nor network: scripts/fleet-hosts.sh.

mod bad_input;
mod copied;
mod modules;
mod names;
mod older;
mod sent;
mod tune;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::common::machine;
use crate::common::{Answer, Home, Running, finish, program, wait_until};
use crate::schema::{assert_valid, schema};

/// What is measured on the hosts: one ordinary thread, for a moment.
const QUICK: [&str; 8] = [
    "--",
    "wakeup",
    "--priority=o",
    "--dma-latency=off",
    "--threads=1",
    "--samples=20",
    "--name=quick",
    "--note=it's; $(here)",
];

/// Our program without its debug information, in less than half of the bytes: it is packed, sent to each host, unpacked there and
/// checked, all by the CPUs of this machine.
pub(super) fn sent() -> &'static Path {
    static SENT: OnceLock<PathBuf> = OnceLock::new();
    SENT.get_or_init(|| {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let fresh = dir.join(format!("punctual.{}", std::process::id()));
        let mut strip = Command::new("strip");
        strip.arg("-o").arg(&fresh).arg(program());
        if !strip.status().is_ok_and(|status| status.success()) {
            return program().to_owned();
        }
        let path = dir.join("punctual");
        fs::rename(fresh, &path).unwrap();
        path
    })
}

/// Hosts, and a store that their runs come into.
pub(super) struct Fleet {
    pub(super) home: Home,
    dir: PathBuf,
    hosts: Vec<String>,
}

impl Fleet {
    /// Starts hosts: names, with a kind behind a colon where one is not as the others.
    pub(super) fn new(home: Home, hosts: &[&str]) -> Option<Self> {
        if !machine::root() || !has_ansible() {
            return None;
        }
        let dir = home.dir().join("hosts");
        let fleet = Self {
            dir,
            home,
            hosts: hosts
                .iter()
                .filter_map(|host| host.split(':').next())
                .map(ToOwned::to_owned)
                .collect(),
        };
        fleet.script("up", hosts);
        Some(fleet)
    }

    pub(super) fn script(&self, action: &str, args: &[&str]) -> String {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/fleet-hosts.sh");
        let mut command = Command::new(script);
        command.arg(action).arg(&self.dir).args(args);
        finish(command).fine().stdout.clone()
    }

    pub(super) fn inventory(&self) -> PathBuf {
        self.dir.join("hosts.ini")
    }

    /// Runs something on a host, as root.
    pub(super) fn on(&self, host: &str, script: &str) {
        let pid = machine::read(&self.dir.join(format!("{host}.pid"))).unwrap();
        let mut command = Command::new("nsenter");
        command.args(["--target", pid.trim(), "--mount", "--pid"]);
        command.args(["sh", "-ec", script]);
        finish(command).fine();
    }

    /// Has every host find our program, as one that is installed: nothing is packed, sent, unpacked and checked for what is not
    /// about that (`--installed`).
    pub(super) fn has_program(&self) {
        self.share_program();
        for host in &self.hosts {
            // Also where an ordinary user looks for programs.
            self.on(
                host,
                "mount -t tmpfs none /usr/local/bin
                 ln -s /mnt/punctual /usr/local/bin/punctual",
            );
        }
    }

    /// Puts our program into the directory that is `/mnt` on each host.
    pub(super) fn share_program(&self) {
        let place = self.dir.join("punctual");
        if fs::hard_link(sent(), &place).is_err() {
            fs::copy(sent(), &place).unwrap();
        }
    }

    /// The paths of what is below a directory of a host, as they are there. It is read from here, so that who waits for something can
    /// ask again and again.
    pub(super) fn files(&self, host: &str, dir: &str) -> Vec<String> {
        fn add(root: &str, dir: &str, found: &mut Vec<String>) {
            // What is removed meanwhile is not there.
            let entries = fs::read_dir(format!("{root}{dir}")).into_iter().flatten();
            for entry in entries.flatten() {
                let path = format!("{dir}/{}", entry.file_name().display());
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    add(root, &path, found);
                }
                found.push(path);
            }
        }
        let mut found = Vec::new();
        add(&self.root(host), dir, &mut found);
        found
    }

    /// Where this machine sees the root directory of a host.
    pub(super) fn root(&self, host: &str) -> String {
        let pid = machine::read(&self.dir.join(format!("{host}.pid"))).unwrap();
        format!("/proc/{}/root", pid.trim())
    }

    /// Whether a run is being made below a directory of a host.
    fn measures(&self, host: &str, dir: &str) -> bool {
        let files = self.files(host, dir);
        files.iter().any(|path| path.contains("/runs/.tmp-"))
    }

    /// Gives every host a script that is its Punctual. What lies in our directory is in `/mnt` there.
    fn install(&self, script: &str) {
        let file = self.dir.join("stand-in");
        fs::write(&file, script).unwrap();
        for host in &self.hosts {
            self.on(
                host,
                "mount -t tmpfs none /usr/local/sbin
                 install -m 755 /mnt/stand-in /usr/local/sbin/punctual",
            );
        }
    }

    /// Adds lines to the inventory.
    fn add(&self, lines: &str) {
        let text = machine::read(&self.inventory()).unwrap();
        fs::write(self.inventory(), format!("{text}{lines}\n")).unwrap();
    }

    /// A command that runs in the network of the hosts.
    pub(super) fn enter<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/fleet-hosts.sh");
        let mut command = Command::new(script);
        command
            .arg("enter")
            .arg(&self.dir)
            .args(args)
            .env("PUNCTUAL_HOME", self.home.store())
            .env("PATH", path())
            .env("ANSIBLE_TIMEOUT", "3")
            // As Ansible has it, but for -C: the program comes packed, and there is no slow network here.
            .env(
                "ANSIBLE_SSH_ARGS",
                "-o ControlMaster=auto -o ControlPersist=60s",
            );
        command
    }

    pub(super) fn command(&self, verb: &str, args: &[&str]) -> Command {
        let mut command = self.enter([sent()]);
        command.args(["fleet", verb, "--json", "--inventory"]);
        command.arg(self.inventory()).args(args);
        command
    }

    pub(super) fn run(&self, verb: &str, args: &[&str]) -> Answer {
        finish(self.command(verb, args))
    }

    /// Requires that nothing is on a host that was not there at first.
    pub(super) fn nothing_left(&self) {
        for host in &self.hosts {
            let left = self.script("left", &[host]);
            assert_eq!(left, "", "left on {host}");
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        if self.dir.exists() {
            self.script("down", &[]);
        }
    }
}

/// Where programs are looked for: also next to the Python of the tests, where Ansible is.
fn path() -> OsString {
    let python = std::env::var_os("PUNCTUAL_PYTHON").map(PathBuf::from);
    let own = python.as_deref().and_then(Path::parent).map(Path::to_owned);
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(own.into_iter().chain(std::env::split_paths(&path))).unwrap()
}

fn has_ansible() -> bool {
    let path = path();
    let has = |name: &str| std::env::split_paths(&path).any(|dir| dir.join(name).is_file());
    let there = has("ansible-playbook") && (has("sshd") || Path::new("/usr/sbin/sshd").is_file());
    if !there {
        machine::skip("ansible", "no ansible-playbook, or no sshd");
    }
    there
}

/// The hosts of a result by their names. Every result is as its schema says.
pub(super) fn hosts(answer: &Answer) -> BTreeMap<String, Value> {
    let report = answer.json();
    assert_valid(&schema("fleet.schema.json"), &report);
    let hosts = report["hosts"].as_array().unwrap().iter();
    hosts
        .map(|host| (host["host"].as_str().unwrap().to_owned(), host.clone()))
        .collect()
}

/// Whether a host did its work. That others disturb its run is no fault of the fleet.
fn is_done(host: &Value) -> bool {
    let detail = host["detail"].as_str().unwrap_or_default();
    host["state"] == "done" || host["state"] == "failed" && detail.starts_with("invalid run")
}

#[test]
fn hosts_measure_and_their_runs_are_told_apart_and_nothing_stays_there() {
    let Some(fleet) = Fleet::new(Home::aside(), &["a", "b", "c"]) else {
        return;
    };
    let answer = fleet.run("measure", &QUICK);
    let measured = hosts(&answer);
    assert_eq!(measured.len(), 3);
    for host in measured.values() {
        assert!(is_done(host), "{answer:#?}");
        assert_eq!(host["changed"], false);
        assert_eq!(host["runs"].as_array().unwrap().len(), 1);
    }
    fleet.nothing_left();
    assert_eq!(fleet.home.list().len(), 3);
    // A run knows its host twice: by its own name, and by that of the inventory.
    let run = fleet
        .home
        .run(["runs", "list", "--tag", "host=a", "--names"]);
    let id = run.fine().stdout.lines().nth(2).unwrap().to_owned();
    let record = fleet.home.run(["runs", "show", &id, "--json"]).json();
    assert_eq!(record["host"]["hostname"], "a");
    assert_eq!(record["tags"]["host"], "a");
    assert_eq!(record["note"], "it's; $(here)");
    let compared = fleet
        .home
        .run(["compare", "host:a", "host:b", "--json", "--allow-invalid"]);
    let groups = compared.fine().json()["groups"].clone();
    assert_eq!(groups.as_array().unwrap().len(), 2);
    fleet
        .home
        .run(["compare", "host:a", "host:z"])
        .error(2, &["host:z"]);
    // The program stays if that is asked for, and where it is already nothing is copied.
    fleet.share_program();
    fleet.on(
        "a",
        "install -d /var/lib/kept; install -m 755 /mnt/punctual /var/lib/kept",
    );
    let args = ["--keep", "/var/lib/kept", "--hosts=a,b", "--serial"];
    let answer = fleet.run("measure", &[&args[..], &QUICK].concat());
    let kept = hosts(&answer);
    assert_eq!(kept.len(), 2);
    for (name, changed) in [("a", false), ("b", true)] {
        let host = &kept[name];
        assert!(is_done(host), "{answer:#?}");
        assert_eq!(host["changed"], changed, "{host:#}");
        let left = fleet.script("left", &[name]);
        assert_eq!(left, "/var/lib/kept\n/var/lib/kept/punctual\n");
    }
    // What came before stays.
    assert_eq!(fleet.home.list().len(), 5);
}

#[test]
fn every_host_is_a_line_of_the_result_however_it_ends() {
    let all = [
        "good",
        "full:full",
        "arm:arm64",
        "user:user",
        "dies",
        "busy",
    ];
    let Some(fleet) = Fleet::new(Home::new(), &all) else {
        return;
    };
    fleet.add("away ansible_host=10.231.9.9");
    let busy = machine::read(&fleet.dir.join("busy.pid")).unwrap();
    // A host has directories of its own where this one may have the program.
    fleet.share_program();
    let mut elsewhere = Command::new("nsenter");
    elsewhere
        .args(["--target", busy.trim(), "--mount", "--pid", "/mnt/punctual"])
        .args(["--home=/run/other", "measure", "wakeup", "--priority=o"])
        .args([
            "--dma-latency=off",
            "--threads=1",
            "--duration=3h",
            "--quiet",
        ]);
    let mut elsewhere = Running::start(elsewhere);
    let busy = || fleet.measures("busy", "/run/other");
    assert!(wait_until(|| busy() || !elsewhere.is_alive()) && busy());
    let arguments =
        "-- wakeup --priority=f:20 --dma-latency=off --threads=1 --interval=50ms --duration=6s";
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let running = Running::start(fleet.command("measure", &arguments));
    assert!(wait_until(|| fleet.measures("dies", "/tmp")));
    fleet.script("kill", &["dies"]);
    let answer = running.wait();
    assert_eq!(answer.code(), 1, "{answer:#?}");
    let hosts = hosts(&answer);
    let expected = [
        ("good", "done", ""),
        ("full", "disk_full", "4 MB free in /tmp"),
        ("arm", "wrong_architecture", "aarch64"),
        ("user", "no_privilege", "SCHED_FIFO"),
        ("dies", "lost", "stopped answering"),
        ("busy", "busy", "another measurement"),
        ("away", "unreachable", ""),
    ];
    assert_eq!(hosts.len(), expected.len());
    for (name, state, detail) in expected {
        let host = &hosts[name];
        assert!(
            host["state"] == state || state == "done" && is_done(host),
            "{host:#}"
        );
        let said = host["detail"].as_str().unwrap_or_default();
        assert!(said.contains(detail), "{host:#}");
        let runs = host["runs"].as_array().unwrap().len();
        assert_eq!(runs, usize::from(state == "done"), "{host:#}");
    }
    // A page like this is looked at with that of machines.
    let [file, page] = ["fleet.json", "fleet.html"].map(|name| fleet.home.dir().join(name));
    fs::write(&file, &answer.stdout).unwrap();
    let [file, page] = [&file, &page].map(|path| path.to_str().unwrap());
    fleet.home.run(["report", file, "-o", page]).fine();
    // What is on a host that is gone cannot be removed, and is named.
    assert_eq!(hosts["dies"]["left"].as_array().unwrap().len(), 1);
    // The host ends with all that runs on it, which nsenter waits for.
    fleet.script("kill", &["busy"]);
    elsewhere.wait();
    for host in ["good", "full", "arm", "user"] {
        assert_eq!(fleet.script("left", &[host]), "", "left on {host}");
    }
}

#[test]
fn a_user_of_sudo_measures_as_root_with_become_and_leaves_nothing() {
    if !machine::has_tool("sudo") {
        return;
    }
    let Some(fleet) = Fleet::new(Home::new(), &["mine:sudo"]) else {
        return;
    };
    fleet.has_program();
    let real_time = [
        "--",
        "wakeup",
        "--priority=f:20",
        "--dma-latency=off",
        "--threads=1",
        "--samples=20",
    ];
    let host = |more: &[&str]| {
        let answer = fleet.run("measure", &[more, &real_time[..]].concat());
        hosts(&answer)["mine"].clone()
    };
    let refused = host(&["--installed"]);
    assert_eq!(refused["state"], "no_privilege", "{refused:#}");
    // A check says so too, also where there is nothing to try it with.
    for has_chrt in [true, false] {
        if !has_chrt {
            fleet.on("mine", "mount --bind /dev/null \"$(command -v chrt)\"");
        }
        let looked = host(&["--installed", "--check"]);
        assert_eq!(looked["state"], "no_privilege", "{looked:#}");
        assert_eq!(looked["detail"], "SCHED_FIFO (f:20) is not permitted");
        let looked = host(&["--installed", "--check", "--become"]);
        assert_eq!(looked["state"], "checked", "{looked:#}");
    }
    let measured = host(&["--become"]);
    assert!(is_done(&measured), "{measured:#}");
    assert_eq!(measured["runs"].as_array().unwrap().len(), 1);
    // What is sent and fetched goes by the hands of who logs in, also where nothing is copied.
    let upload = fleet.home.dir().join("any");
    fs::write(&upload, "").unwrap();
    let upload = format!("--file={}", upload.display());
    let kept = fleet.run(
        "tune",
        &["--become", "--installed", &upload, "--", "status"],
    );
    let state = &hosts(&kept)["mine"];
    assert_eq!(
        (&state["state"], &state["uid"]),
        (&"done".into(), &0.into()),
        "{state:#}"
    );
    fleet.nothing_left();
}

#[test]
fn hosts_are_left_clean_by_a_fleet_that_is_stopped() {
    let Some(fleet) = Fleet::new(Home::aside(), &["a", "b"]) else {
        return;
    };
    fleet.has_program();
    let arguments = "-- wakeup --priority=o --dma-latency=off --threads=1 --duration=3h";
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let running = Running::start(fleet.command("measure", &arguments));
    for host in ["a", "b"] {
        assert!(wait_until(|| fleet.measures(host, "/tmp")));
    }
    // Another fleet at the same time does not measure next to it, and takes nothing of its away.
    let second = fleet.run("measure", &[&["--installed"][..], &QUICK].concat());
    for host in hosts(&second).values() {
        assert_eq!(host["state"], "busy", "{host:#}");
    }
    // To look at settings is no measurement, and disturbs none.
    let looked = fleet.run("tune", &["--installed", "--", "status"]);
    for host in hosts(&looked).values() {
        assert_eq!(host["state"], "done", "{host:#}");
    }
    for host in ["a", "b"] {
        assert!(fleet.measures(host, "/tmp"));
    }
    running.signal("INT");
    let answer = running.wait();
    assert_eq!(answer.code(), 1, "{answer:#?}");
    assert_eq!(hosts(&answer).len(), 2);
    assert!(wait_until(|| {
        let clean = |host| fleet.files(host, "/tmp").is_empty();
        // Processes too.
        ["a", "b"]
            .into_iter()
            .all(|host| clean(host) && fleet.script("left", &[host]).is_empty())
    }));
    // One that takes too long is ended, and the others go on.
    let limited = fleet.run(
        "measure",
        &[
            &["--installed", "--timeout=1s", "--hosts=a"],
            &arguments[..],
        ]
        .concat(),
    );
    let host = &hosts(&limited)["a"];
    assert!(
        host["detail"].as_str().unwrap().contains("longer than 1 s"),
        "{host:#}"
    );
    fleet.nothing_left();
}

#[test]
fn a_diagnosis_an_assessment_and_an_experiment_come_back_from_every_host() {
    let Some(fleet) = Fleet::new(Home::new(), &["a", "b"]) else {
        return;
    };
    fleet.has_program();
    let run = |verb: &str, args: &[&str]| {
        let args = [&["--installed"][..], args].concat();
        fleet.run(verb, &args)
    };
    let doctor = run("doctor", &[]);
    let diagnosed = hosts(doctor.fine());
    assert_eq!(diagnosed.len(), 2);
    for host in diagnosed.values() {
        assert_valid(&schema("diagnosis.schema.json"), &host["answer"]);
        assert!(host["detail"].as_str().unwrap().contains("finding"));
    }
    // A gate of the hosts is one here.
    let gate = run("doctor", &["--hosts=a", "--", "--fail-on", "info"]);
    assert_eq!(gate.code(), 3, "{gate:#?}");
    let assessed = hosts(&run("assess", &["--", "--duration=1s", "--load=cpu:1"]));
    assert_eq!(assessed.len(), 2);
    for host in assessed.values() {
        assert_eq!(host["runs"].as_array().unwrap().len(), 2, "{host:#}");
        assert_valid(&schema("assessment.schema.json"), &host["answer"]);
    }
    let file = fleet.home.dir().join("plan.toml");
    let text = r#"
name = "tiny"
compare = ["p50"]
[[measure]]
instrument = "wakeup"
options = { priority = "o", dma-latency = "off", threads = 1, samples = 20 }
[[factor]]
name = "interval"
option = "interval"
levels = ["1ms", "2ms"]
[stop]
blocks = 2
"#;
    fs::write(&file, text).unwrap();
    let upload = format!("--file={}", file.display());
    let answer = run("experiment", &[&upload, "--", "run", "plan.toml"]);
    let hosts = hosts(&answer);
    assert_eq!(hosts.len(), 2);
    for (name, host) in hosts {
        // A run that the machine made invalid is repeated, and both are kept.
        let runs = host["runs"].as_array().unwrap().len();
        assert!(runs >= 4, "{name}: {answer:#?}");
    }
    fleet.nothing_left();
}
