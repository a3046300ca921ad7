// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What an ordinary user gets: measurements that say what they are not, and errors with a way on.

mod programs;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{Answer, Home, QUICK, finish, machine, program};

/// An ordinary user: nobody.
const USER: u32 = 65_534;

/// What an answer must not advise.
trait Lacks {
    /// Requires that standard error says none of `parts`.
    fn lacks(&self, parts: &[&str]);
}

impl Lacks for Answer {
    fn lacks(&self, parts: &[&str]) {
        for part in parts {
            assert!(!self.stderr.contains(part), "`{part}` is in {self:#?}");
        }
    }
}

/// A user with a home and a program of its own: the one that was built may lie where no other
/// user may go.
struct User {
    home: Home,
    program: PathBuf,
}

impl User {
    /// Returns nobody, if we may become that.
    fn nobody() -> Option<Self> {
        if !machine::root() {
            return None;
        }
        let home = Home::new();
        let copy = home.dir().join("punctual");
        // By another process: a test that starts something at this moment would inherit a
        // descriptor that writes to the file, and until its exec(2) nobody could run it (ETXTBSY).
        let copied = Command::new("cp").arg(program()).arg(&copy).status();
        assert!(copied.unwrap().success());
        fs::create_dir(home.store()).unwrap();
        chown(home.store(), Some(USER), Some(USER)).unwrap();
        Some(Self {
            home,
            program: copy,
        })
    }

    fn run(&self, args: &[&str]) -> Answer {
        finish(self.command(args))
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(args)
            .env_clear()
            .env("PUNCTUAL_HOME", self.home.store())
            .stdin(Stdio::null())
            .uid(USER)
            .gid(USER);
        command
    }
}

#[test]
fn the_kernel_lets_only_root_trace() {
    let Some(user) = User::nobody() else { return };
    user.run(&["measure", "irq"])
        .error(5, &["trace the kernel", "root"])
        .hinted();
}

#[test]
fn a_user_without_privilege_learns_how_to_get_it() {
    let Some(user) = User::nobody() else { return };
    user.run(&["measure", "wakeup", "--samples=20"])
        .error(5, &["SCHED_FIFO", "limits.d", "sudo", "--priority o"])
        .hinted();
    user.run(&[
        "measure",
        "wakeup",
        "--samples=20",
        "--priority=d:500us:1ms",
        "--pin=none",
    ])
    .error(5, &["SCHED_DEADLINE", "sudo"])
    .hinted()
    .lacks(&["rtprio"]);
    // What is advised is enough for what was asked for.
    user.run(&["measure", "deadline", "--iteration=1ms"])
        .error(5, &["SCHED_FIFO (f:99)", "rtprio 99"])
        .hinted();
    user.run(&["measure", "wakeup", "--samples=20", "--priority=o:-5"])
        .error(5, &["niceness -5 needs CAP_SYS_NICE", "nice -5", "sudo"])
        .hinted()
        .lacks(&["nice(1)"]);
    let quick = &QUICK[..2];
    let ordinary = ["--priority=o", "--samples=20"];
    let asked = |option: &'static str| [quick, &ordinary, &[option]].concat();
    user.run(&asked("--dma-latency=0us"))
        .error(5, &["/dev/cpu_dma_latency", "--dma-latency off"])
        .hinted();
    let runs = user.home.runs_dir();
    assert_eq!(fs::read_dir(runs).unwrap().count(), 0, "a failed run stays");
}

#[test]
fn a_user_without_privilege_can_measure_an_ordinary_thread() {
    let Some(user) = User::nobody() else { return };
    let args = [
        "measure",
        "wakeup",
        "--priority=o",
        "--samples=300",
        "--quiet",
        "--json",
    ];
    let record = user.run(&args).record();
    assert_eq!(record["series"][0]["policy"], "o");
    assert_eq!(record["series"][0]["count"], 300);
    // What is refused without having been asked for is off, and the checks say so.
    assert!(record["spec"]["dma_latency_ns"].is_null());
    let checks = record["checks"].as_array().unwrap();
    let idle = checks
        .iter()
        .find(|check| check["id"] == "idle-latency")
        .unwrap();
    assert!(
        idle["detail"].as_str().unwrap().contains("not held"),
        "{idle:#}"
    );
    let memory = checks.iter().find(|check| check["id"] == "memory").unwrap();
    assert!(
        memory["detail"].as_str().unwrap().contains("page faults"),
        "{memory:#}"
    );
    assert_eq!(
        user.run(&["runs", "list", "--json"]).fine().json()["runs"][0]["id"],
        record["id"]
    );
}

#[test]
fn an_ordinary_thread_keeps_the_niceness_that_its_user_cannot_go_below() {
    let Some(user) = User::nobody() else { return };
    let under = |tool: &[&str], args: &[&str]| {
        let mut command = Command::new(tool[0]);
        command.args(&tool[1..]).arg(&user.program).args(args);
        command.env("PUNCTUAL_HOME", user.home.store());
        command.uid(USER).gid(USER);
        finish(command)
    };
    let ordinary = ["measure", "wakeup", "--priority=o", "--samples=20"];
    let json = [&ordinary[..], &["--quiet", "--json"]].concat();
    let record = under(&["nice", "-n", "10"], &json).record();
    assert_eq!(record["series"][0]["policy"], "o:10");
    let assessed = under(
        &["nice", "-n", "10"],
        &["assess", "--duration=4s", "--quiet", "--json"],
    );
    let assessed = assessed.json();
    assert!(
        assessed["obstacle"]
            .as_str()
            .unwrap()
            .contains("niceness 10"),
        "{assessed:#}"
    );
    assert_eq!(
        assessed["conditions"][0]["run"]["series"][0]["policy"],
        "o:10"
    );
    let refused = under(
        &["nice", "-n", "10"],
        &["measure", "wakeup", "--priority=o:0", "--samples=20"],
    );
    refused.error(5, &["niceness 0 is below the 10"]);
    let refused = under(&["chrt", "--idle", "0"], &ordinary);
    refused.error(
        5,
        &["SCHED_IDLE, which a user may not leave", "--priority i"],
    );
    assert!(!refused.stderr.contains("rtprio"), "{refused:#?}");
}

#[test]
fn what_needs_no_store_needs_no_home() {
    let Some(user) = User::nobody() else { return };
    let homeless = |home: Option<&str>, args: &[&str]| {
        let mut command = user.command(args);
        command
            .env_remove("PUNCTUAL_HOME")
            .envs(home.map(|home| ("HOME", home)));
        finish(command)
    };
    let checked = homeless(None, &["tasks", "check", "example:arm"]);
    assert!([0, 3].contains(&checked.code()), "{checked:#?}");
    homeless(None, &["runs", "list"]).error(1, &["XDG_DATA_HOME is not set, and HOME is not set"]);
    homeless(Some("foo"), &["runs", "list"]).error(1, &["HOME (foo) is no absolute path"]);
}

#[test]
fn a_store_in_a_user_namespace_that_lacks_root_is_refused_with_that_reason() {
    let Some(user) = User::nobody() else { return };
    let mut inner = Command::new("unshare");
    inner
        .args(["--user", "--map-root-user"])
        .uid(USER)
        .gid(USER);
    let mut tried = Command::new("unshare");
    tried
        .args(["--user", "--map-root-user", "true"])
        .uid(USER)
        .gid(USER);
    if !tried.status().is_ok_and(|status| status.success()) {
        return machine::skip("unshare", "no user namespace can be made");
    }
    inner.arg(&user.program).args(QUICK);
    inner.env("PUNCTUAL_HOME", user.home.store());
    finish(inner)
        .error(
            1,
            &[
                "not in this user namespace (shown as uid 65534)",
                "run it outside",
            ],
        )
        .hinted();
}

#[test]
fn a_user_without_privilege_is_told_what_could_not_be_read() {
    let Some(user) = User::nobody() else { return };
    let answer = user.run(&["doctor"]);
    let text = &answer.fine().stdout;
    for part in [
        "rt-priority-limit",
        "/dev/cpu_dma_latency: permission denied",
        "Not known",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_store_of_somebody_else_can_be_read_if_its_mode_allows_and_only_read() {
    let Some(user) = User::nobody() else { return };
    let store = user.home.store();
    fs::remove_dir(&store).unwrap();
    let record = user.home.quick(&[]);
    let path = store.display().to_string();
    let verbs = [
        QUICK.to_vec(),
        vec!["runs", "list"],
        vec!["runs", "show"],
        vec!["runs", "rm", "last"],
    ];
    for args in &verbs {
        user.run(args)
            .error(1, &[&path, "Permission denied", "--home"])
            .hinted();
    }
    fs::set_permissions(&store, fs::Permissions::from_mode(0o755)).unwrap();
    let list = user.run(&["runs", "list", "--json"]).fine().json();
    assert_eq!(list["runs"][0]["id"], record["id"]);
    assert_eq!(user.run(&["runs", "show", "--json"]).fine().json(), record);
    for args in [&verbs[0], &verbs[3]] {
        user.run(args)
            .error(1, &[&path, "Permission denied", "--home"])
            .hinted();
    }
    assert_eq!(user.home.list().len(), 1);
}

#[test]
fn a_place_that_a_user_may_not_write_to_is_an_error() {
    let Some(user) = User::nobody() else { return };
    let place = user.home.dir().join("none/store");
    let place = place.to_str().unwrap();
    user.run(&[&QUICK[..], &["--home", place]].concat())
        .error(1, &[place, "Permission denied"])
        .hinted();
    assert!(!user.home.dir().join("none").exists());
}

#[test]
fn an_assessment_without_privilege_begins_with_what_it_is_not() {
    let Some(user) = User::nobody() else { return };
    let answer = user.run(&["assess", "--duration=4s", "--quiet"]);
    assert!([0, 1].contains(&answer.code()), "{answer:#?}");
    let first = answer
        .stdout
        .split("\n\n")
        .next()
        .unwrap()
        .replace('\n', " ");
    for part in [
        "NOT a real-time measurement",
        "SCHED_OTHER",
        "CAP_SYS_NICE",
        "@realtime - rtprio",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
    let line = answer.stdout.lines().next().unwrap();
    assert!(line.starts_with("NOT a real-time measurement"), "{line}");
    let range = machine::read(Path::new("/proc/sys/net/ipv4/ping_group_range")).unwrap();
    if range.split_whitespace().next() == Some("1") {
        let said = answer.stdout.contains("Ping floods are left out");
        assert!(said, "{}", answer.stdout);
    }
    let runs = user.run(&["runs", "list", "--json"]).fine().json();
    assert_eq!(runs["runs"].as_array().unwrap().len(), 3);
}

#[test]
fn a_user_who_may_not_ping_learns_that_before_anything_starts() {
    let Some(user) = User::nobody() else { return };
    let range = machine::read(Path::new("/proc/sys/net/ipv4/ping_group_range")).unwrap();
    if range.split_whitespace().next() != Some("1") {
        machine::skip("root", "everybody may ping here");
        return;
    }
    let parts = ["ping: echo requests are refused", "CAP_NET_RAW"];
    user.run(&["load", "cpu:1,ping"]).error(5, &parts);
    let measure = [&QUICK[..], &["--load=ping"]].concat();
    user.run(&measure).error(5, &parts);
    user.run(&["load", "printk", "--allow-console"])
        .error(5, &["/dev/kmsg", "sudo"]);
}

#[test]
fn a_load_whose_policy_is_refused_says_what_helps_and_nothing_starts() {
    let Some(user) = User::nobody() else { return };
    let mark = user.home.store().join("mark");
    let command = format!("cmd:touch {}@policy=r:10", mark.display());
    for (load, parts) in [
        (
            "cpu:1@policy=f:10",
            ["SCHED_FIFO (f:10) was refused", "rtprio 95"],
        ),
        (
            "cpu:1@nice=-5",
            ["SCHED_OTHER (o:-5) was refused", "nice -5"],
        ),
        (&command, ["SCHED_RR (r:10) was refused", "rtprio 95"]),
    ] {
        user.run(&["load", load])
            .error(5, &parts)
            .lacks(&["Loading with"]);
        user.run(&[&QUICK[..], &["--load", load]].concat())
            .error(5, &parts);
    }
    assert!(!mark.exists());
}

#[test]
fn a_policy_that_is_refused_is_no_fault_of_fio() {
    let Some(user) = User::nobody() else { return };
    if !machine::has_tool("fio") {
        return machine::skip("fio", "fio is not installed");
    }
    let place = format!("--directory={}", user.home.store().display());
    for (priority, parts) in [
        ("f:10", ["run with SCHED_FIFO (f:10)", "rtprio 95"]),
        ("o:-5", ["run with SCHED_OTHER (o:-5)", "nice -5"]),
    ] {
        let mut command = user.command(&["measure", "io", "--size=1M", "--runtime=1s"]);
        command.args(["--buffered", &place, "--priority", priority]);
        command.env("PATH", "/usr/bin:/bin");
        finish(command).error(5, &parts).hinted().lacks(&["fio"]);
    }
}

#[test]
fn a_run_that_only_its_owner_may_read_is_not_to_be_removed() {
    let Some(user) = User::nobody() else { return };
    let store = user.home.store();
    fs::remove_dir(&store).unwrap();
    let record = user.home.quick(&[]);
    fs::set_permissions(&store, fs::Permissions::from_mode(0o755)).unwrap();
    let run = user.home.runs_dir().join(record["id"].as_str().unwrap());
    fs::set_permissions(run, fs::Permissions::from_mode(0o700)).unwrap();
    user.run(&["runs", "show", "last"])
        .error(1, &["Permission denied", "may not read that run", "chmod"])
        .hinted()
        .lacks(&["runs rm"]);
    let file = user.home.dir().join("x.toml");
    let text = "name = 'x'\ncompare = ['p50']\n[[measure]]\ninstrument = 'wakeup'\n\
                options = { duration = '200ms', priority = 'o' }\n[[factor]]\nname = 'interval'\n\
                option = 'interval'\nlevels = ['1ms', '2ms']\n[stop]\nblocks = 1\n";
    fs::write(&file, text).unwrap();
    user.run(&["experiment", "run", file.to_str().unwrap()])
        .error(1, &["Permission denied", "--home"])
        .hinted();
}

#[test]
fn kernels_have_no_plan_of_tune() {
    let Some(user) = User::nobody() else { return };
    user.run(&["kernel", "status", "--confirm"])
        .error(5, &["needs root", "sudo"])
        .hinted()
        .lacks(&["tune plan"]);
    let plan = user.run(&["tune", "plan", "--set", "vm.swappiness=11"]);
    assert!(
        plan.fine().stdout.contains("`sudo punctual tune apply`"),
        "{plan:?}"
    );
}

#[test]
fn another_users_process_is_judged_as_far_as_its_files_can_be_read() {
    let Some(user) = User::nobody() else {
        return machine::skip("doctor --pid", "becoming another user needs root");
    };
    let own = std::process::id().to_string();
    let mounts = machine::read(Path::new("/proc/mounts")).unwrap();
    let mut mounts = mounts
        .lines()
        .filter(|line| line.starts_with("proc /proc "));
    if mounts.any(|line| line.contains("hidepid=")) {
        let answer = user.run(&["doctor", "--pid", &own]);
        answer.error(2, &["/proc does not show it to this user"]);
        return;
    }
    let answer = user.run(&["doctor", "--pid", &own, "--json"]);
    let diagnosis = answer.fine().json();
    let verdicts = diagnosis["processes"][0]["verdicts"].as_array().unwrap();
    let of = |id: &str| verdicts.iter().find(|v| v["rule"]["id"] == id).unwrap();
    assert_eq!(of("timer-slack")["outcome"], "unknown");
    let problem = &of("timer-slack")["evidence"][0]["problem"];
    assert_eq!(problem, "permission denied");
    assert_eq!(of("ordinary-policy")["outcome"], "found");
}

#[test]
fn a_store_of_root_is_readable_for_its_group_and_for_nobody_else() {
    let Some(user) = User::nobody() else {
        return machine::skip("a group's store", "becoming another user needs root");
    };
    let owner = Home::new();
    owner.quick(&[]);
    let group = 54_321;
    for dir in [owner.dir().to_owned(), owner.store()] {
        chown(&dir, None, Some(group)).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o750)).unwrap();
    }
    let ask = |groups: &str, words: &[&str]| {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", groups])
            .arg(&user.program)
            .args(words)
            .env("PUNCTUAL_HOME", owner.store());
        finish(command)
    };
    let member = "--groups=54321";
    assert!(
        ask(member, &["runs", "list"])
            .fine()
            .stdout
            .contains("wakeup")
    );
    ask(member, &["report", "last", "--format=md"]).fine();
    // To read is not to change.
    ask(member, &["runs", "rm", "last"]).error(1, &["Permission denied"]);
    ask("--clear-groups", &["runs", "list"]).error(1, &["Permission denied"]);
    assert_eq!(owner.list().len(), 1);
}
