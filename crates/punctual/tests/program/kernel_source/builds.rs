// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Builds: of kernels, of parts of them, and of packages.

use super::*;

#[test]
fn a_build_test_of_one_directory_is_estimated_compiles_it_alone_and_makes_no_kernel() {
    if !can_build() {
        return;
    }
    let home = Home::aside();
    let tree = tree(&home);
    let below = tree.join("drivers/clocksource");
    fs::create_dir_all(&below).unwrap();
    for file in ["x.c", "y.c", "entry.S", "Makefile"] {
        fs::write(below.join(file), "").unwrap();
    }
    let test = |dir: &str| {
        let args = [
            "build",
            shown(&tree),
            "--build-test",
            "allyesconfig",
            "--only",
            dir,
        ];
        kernel(&home, &[&args[..], &["--no-ccache", "--json"]].concat())
    };
    let answer = test("drivers/clocksource");
    let report = answer.fine().json();
    assert_valid(&schema("kernel-build.schema.json"), &report);
    let built = &report["builds"][0];
    assert_eq!(
        (&built["end"], &built["base"], &built["only"][0]),
        (
            &"complete".into(),
            &"allyesconfig".into(),
            &"drivers/clocksource/".into()
        )
    );
    assert_eq!(
        (&built["steps"], &built["warnings"]),
        (&1.into(), &1.into())
    );
    assert!(built["image"].is_null() && built["release"].is_null());
    assert!(answer.stderr.contains("Up to 3 files"), "{}", answer.stderr);
    // Again: what is compiled stays so.
    let again = test("drivers/clocksource/").fine().json();
    assert_eq!(again["builds"][0]["steps"], 0);
    for outside in ["drivers/none", "../linux", "/etc", "kernel/sched.c"] {
        test(outside)
            .error(2, &["--only", "not a directory of the source"])
            .hinted();
    }
    let without = ["build", shown(&tree), "--only", "drivers/clocksource"];
    kernel(&home, &without).error(2, &["--build-test"]);
}

#[test]
fn a_matrix_is_two_builds_with_a_fixed_time_stamp_and_unmet_options_are_refused() {
    let home = Home::aside();
    let tree = tree(&home);
    let build = [
        "build",
        shown(&tree),
        "--quiet",
        "--no-ccache",
        "--name",
        "k",
        "--matrix",
        "none,full,rt",
    ];
    kernel(&home, &build)
        .error(
            1,
            &["TIMERLAT_TRACER is n, not y (depends on TRACING, which is n)"],
        )
        .hinted();
    // Of what was refused nothing is left to be listed as damaged.
    kernel(&home, &["list"]).fine();
    assert!(!home.store().join("kernels/builds/k-dynamic").exists());
    let answer = kernel(&home, &[&build[..], &["--anyway", "--json"]].concat());
    let report = answer.fine().json();
    assert_valid(&schema("kernel-build.schema.json"), &report);
    let builds = report["builds"].as_array().unwrap();
    let names: Vec<&str> = builds.iter().map(|b| b["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["k-dynamic", "k-rt"]);
    assert_eq!(builds[1]["release"], "6.12.9-punctual-rt");
    assert_eq!(
        (&builds[0]["steps"], &builds[0]["warnings"]),
        (&3.into(), &1.into())
    );
    let image = fs::read(builds[0]["image"].as_str().unwrap()).unwrap();
    let stamp = builds[0]["timestamp"].as_str().unwrap();
    assert_eq!(
        String::from_utf8(image).unwrap(),
        format!("{stamp} punctual\n")
    );
    let text = kernel(&home, &[&build[..], &["--anyway"]].concat())
        .fine()
        .stdout
        .clone();
    assert!(
        text.contains("Model none: k-dynamic, booted with preempt=none"),
        "{text}"
    );
    // Both are in the list, and nothing was built in the source.
    assert_eq!(
        kernel(&home, &["list", "--json"]).json()["builds"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert!(!tree.join(".config").exists());
}

#[test]
fn what_the_environment_has_for_other_builds_does_not_reach_make() {
    let home = Home::aside();
    let tree = tree(&home);
    let line = "kernel build linux --anyway --quiet --no-ccache --name k --json";
    let mut command = home.command(line.split(' '));
    command.current_dir(home.dir());
    for (variable, value) in [
        ("ARCH", "arm"),
        ("CROSS_COMPILE", "arm-none-eabi-"),
        ("MAKEFLAGS", "--dry-run"),
        ("KBUILD_OUTPUT", shown(&tree)),
    ] {
        command.env(variable, value);
    }
    let report = finish(command).fine().json();
    let config = report["builds"][0]["config"].as_str().unwrap();
    let config = machine::read(Path::new(config)).unwrap();
    assert!(config.ends_with("#  \n"), "{config}");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_kernel_for_arm64_takes_its_cross_compiler_and_the_record_says_what_it_is_for() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::aside();
    tree(&home);
    let compiler = home.dir().join("bin/aarch64-linux-gnu-gcc");
    fs::create_dir(home.dir().join("bin")).unwrap();
    fs::write(&compiler, "#!/bin/sh\necho made for arm64\n").unwrap();
    fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
    let run = |path: &str, line: &str| {
        let mut command = home.command(line.split(' '));
        command.current_dir(home.dir()).env("PATH", path);
        finish(command)
    };
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}/bin:{path}", home.dir().display());
    let build = "kernel build linux --arch arm64 --anyway --quiet --no-ccache";
    // Without the compiler nothing is made, and what to install is said.
    for line in [build, "kernel config --source linux --arch arm64"] {
        let answer = run("/none", line);
        answer.error(5, &["aarch64-linux-gnu-gcc is not installed"]);
        let package = "sudo apt-get install gcc-aarch64-linux-gnu";
        assert!(answer.stderr.contains(package), "{}", answer.stderr);
    }
    let builds = home.store().join("kernels/builds");
    assert!(!builds.exists());
    let report = run(&path, &format!("{build} --json")).fine().json();
    assert_valid(&schema("kernel-build.schema.json"), &report);
    let built = &report["builds"][0];
    for (key, value) in [
        ("name", "6.12.9-arm64-tiny"),
        ("architecture", "aarch64"),
        ("compiler", "made for arm64"),
        ("end", "complete"),
    ] {
        assert_eq!(built[key], value);
    }
    let told = "arm64 aarch64-linux-gnu-\n";
    let image = fs::read(built["image"].as_str().unwrap()).unwrap();
    assert_eq!(String::from_utf8(image).unwrap(), told);
    let config = fs::read(built["config"].as_str().unwrap()).unwrap();
    let config = String::from_utf8(config).unwrap();
    assert!(config.ends_with(&format!("# {told}")), "{config}");
    assert!(config.contains("CONFIG_PCI_HOST_GENERIC=y") && !config.contains("HPET"));
    // One name is one architecture; what is made for this machine alone is refused.
    let native = "kernel build linux --anyway --quiet --no-ccache --name 6.12.9-arm64-tiny";
    run(&path, native).error(1, &["already exists, for aarch64"]);
    run(&path, &format!("{build} --package")).error(2, &["--package"]);
    fs::write(home.dir().join("pc.config"), "CONFIG_X86=y\n").unwrap();
    run(&path, &format!("{build} --base pc.config")).error(
        2,
        &["--base pc.config: it is for x86, and the kernel for arm64"],
    );
    fs::write(home.dir().join("pi.config"), "CONFIG_ARM=y\n").unwrap();
    run(&path, &format!("{build} --base pi.config")).error(
        2,
        &["--base pi.config: it is for arm, and the kernel for arm64"],
    );
    // The whole flow fetches and builds nothing for guests that cannot run.
    let mut flow = home.command(["kernel", "rt", "6.12", "--arch", "arm64"]);
    flow.env("PUNCTUAL_AGENT_AARCH64", "/none/agent");
    finish(flow).error(1, &["read /none/agent"]);
    assert!(!home.store().join("kernels/sources").exists());
}

#[test]
fn packages_are_made_of_what_was_built_and_without_their_tools_nothing_is() {
    let home = Home::aside();
    let tree = tree(&home);
    let args = "kernel build linux --anyway --quiet --no-ccache --name k --package --json";
    let command = || {
        let mut command = home.command(args.split(' '));
        command.current_dir(home.dir());
        command
    };
    let mut bare = command();
    bare.env("PATH", "/none");
    // What this source names, and not what others would.
    fs::create_dir_all(tree.join("scripts/package")).unwrap();
    fs::write(
        tree.join("scripts/package/mkdebian"),
        "Build-Depends: rsync\n",
    )
    .unwrap();
    finish(bare)
        .error(
            5,
            &["make Debian packages: dpkg-dev, build-essential, rsync not installed"],
        )
        .hinted();
    assert!(!home.store().join("kernels/builds/k").exists());
    fs::write(tree.join("scripts/package/mkdebian"), "Build-Depends: bc\n").unwrap();
    if !machine::has_tool("dpkg-buildpackage") {
        return;
    }
    let report = finish(command()).fine().json();
    let is_one = |report: &serde_json::Value, name: &str| {
        let packages = report["builds"][0]["packages"].as_array().unwrap();
        assert_eq!(packages.len(), 1, "{report:#}");
        let path = packages[0].as_str().unwrap();
        assert!(path.ends_with(&format!("k/{name}_1_amd64.deb")), "{path}");
    };
    is_one(&report, "linux-image-6.12.9-punctual");
    // Those of the build before are none of this one.
    let mut rt = command();
    rt.args(["--model", "rt"]);
    is_one(&finish(rt).fine().json(), "linux-image-6.12.9-punctual-rt");
}

#[test]
fn a_source_that_takes_the_name_of_another_gets_objects_of_its_own() {
    let home = Home::aside();
    let tree = tree(&home);
    let of = |text: &str| {
        fs::write(tree.join("kernel/sched.c"), text).unwrap();
        let archive = home.dir().join("linux-6.12.9.tar.gz");
        // As old as an archive's files are: older than any object.
        let tar = Command::new("tar")
            .args([
                "--mtime",
                "2020-01-01",
                "-C",
                shown(home.dir()),
                "-czf",
                shown(&archive),
                "linux",
            ])
            .status();
        assert!(tar.unwrap().success());
        kernel(&home, &["fetch", shown(&archive), "--name", "x"]).fine();
        let line = "build x --anyway --quiet --no-ccache --name k --json";
        let args: Vec<&str> = line.split(' ').collect();
        assert_eq!(
            kernel(&home, &args).fine().json()["builds"][0]["end"],
            "complete"
        );
        machine::read(&home.store().join("kernels/builds/k/obj/one.o")).unwrap()
    };
    assert_eq!(of("A\n"), "A\n");
    kernel(&home, &["rm", "x"]).fine();
    assert_eq!(of("B\n"), "B\n");
}

#[test]
fn a_directory_that_is_replaced_gets_objects_of_its_own_and_an_edited_one_keeps_them() {
    let home = Home::aside();
    let source = tree(&home);
    let line = format!(
        "build {} --anyway --quiet --no-ccache --name k",
        shown(&source)
    );
    let build = || {
        let args: Vec<&str> = line.split(' ').collect();
        kernel(&home, &args).fine();
        machine::read(&home.store().join("kernels/builds/k/obj/one.o")).unwrap()
    };
    build();
    let mark = home.store().join("kernels/builds/k/obj/mark");
    fs::write(&mark, "").unwrap();
    fs::write(source.join("kernel/sched.c"), "edited\n").unwrap();
    assert_eq!(build(), "edited\n");
    assert!(mark.exists());
    fs::remove_dir_all(&source).unwrap();
    tree(&home);
    let other = source.join("kernel/sched.c");
    fs::write(&other, "other\n").unwrap();
    // As old as an archive's files are: older than any object.
    let files = [other, source.join("Makefile"), source.join("Kconfig")];
    let touch = Command::new("touch")
        .args(["-d", "2020-01-01"])
        .args(files)
        .status();
    assert!(touch.unwrap().success());
    assert_eq!(build(), "other\n");
    assert!(!mark.exists());
}

#[test]
fn a_build_that_fails_for_want_of_a_tool_is_not_the_whole_one_before() {
    let home = Home::aside();
    let tree = tree(&home);
    let line = format!(
        "build {} --anyway --quiet --no-ccache --name k",
        shown(&tree)
    );
    let args: Vec<&str> = line.split(' ').collect();
    kernel(&home, &args).fine();
    let makefile = machine::read(&tree.join("Makefile")).unwrap();
    let lacks = "bzImage:\n\t@echo '/bin/sh: 1: zstd: not found' >&2; exit 2\n";
    let cut = makefile.find("bzImage: ").unwrap();
    let end = makefile
        .find("Image: $(O)/one.o\n\t@mkdir -p $(O)/arch/arm64")
        .unwrap();
    let broken = format!("{}{lacks}{}", &makefile[..cut], &makefile[end..]);
    fs::write(tree.join("Makefile"), broken).unwrap();
    kernel(&home, &args).error(5, &["zstd"]);
    let builds = kernel(&home, &["list", "--json"]).fine().json()["builds"].clone();
    assert_eq!(builds[0]["end"], "failed");
    assert!(builds[0]["image"].is_null(), "{builds:#}");
    kernel(&home, &["config", "check", "k"]).error(1, &["k"]);
}

#[test]
fn a_build_shows_its_steps_on_a_screen_and_its_key_stops_it() {
    let home = Home::aside();
    let tree = tree(&home);
    let line = format!(
        "env SLOW=1 {} kernel build {} --anyway --no-ccache --name k --matrix none,rt --jobs 1",
        crate::common::program().display(),
        tree.display()
    );
    let Some(mut pty) = Pty::start_line(&home, &line, (110, 24)) else {
        return;
    };
    pty.shows("kernel build  00:");
    pty.shows("0 of 2 builds done; now k-dynamic");
    pty.shows("2 steps: CC kernel/two.o");
    pty.shows("1 of 2 builds done; now k-rt");
    pty.shows(": CC kernel/one.o");
    pty.press("q");
    assert_eq!(pty.status(), 1);
    pty.assert_given_back();
    let after = pty.screen().contents();
    assert!(after.contains("Building k-rt from Linux 6.12.9"), "{after}");
    let list = kernel(&home, &["list", "--json"]).json();
    let ends: Vec<&str> = list["builds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|build| build["end"].as_str().unwrap())
        .collect();
    assert_eq!(ends, ["complete", "stopped"]);
}

#[test]
fn a_build_that_runs_is_listed_as_that_and_neither_it_nor_its_source_is_removed() {
    let home = Home::aside();
    let tree = tree(&home);
    kernel(&home, &["fetch", shown(&tree), "--name", "s"]).fine();
    let line = "kernel build s --anyway --quiet --no-ccache --name k --jobs 1 --json";
    let mut command = home.command(line.split(' '));
    // Nothing else here sleeps for that long.
    command.env("SLOW", "34568");
    let running = crate::common::Running::start(command);
    let list = || kernel(&home, &["list", "--json"]).fine().json();
    // Its first step is noted at once.
    assert!(wait_until(|| list()["builds"][0]["steps"] == 1));
    assert_eq!(list()["builds"][0]["running"], true);
    assert_valid(&schema("kernel-stock.schema.json"), &list());
    let text = kernel(&home, &["list"]).fine().stdout.clone();
    assert!(text.contains(" running "), "{text}");
    for (name, says) in [
        ("k", "build `k` is in use by another process"),
        ("s", "source `s` is in use by another process"),
    ] {
        kernel(&home, &["rm", name]).error(1, &[says]).hinted();
    }
    // Nor are files changed that it compiles.
    let patch = home.dir().join("one.patch");
    let text = "--- a/kernel/sched.c\n+++ b/kernel/sched.c\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n";
    fs::write(&patch, text).unwrap();
    let (patch, sources) = (shown(&patch), || {
        fs::read(tree.join("kernel/sched.c")).unwrap()
    });
    kernel(&home, &["patch", "s", patch, "--dry-run"]).fine();
    kernel(&home, &["patch", "s", patch])
        .error(1, &["source `s` is in use by another process"])
        .hinted();
    assert_eq!(sources(), b"1\n2\n3\n4\n5\n");
    running.signal("INT");
    let answer = running.wait();
    assert_eq!(answer.json()["builds"][0]["end"], "stopped", "{answer:?}");
    let list = list();
    assert!(list["builds"][0].get("running").is_none(), "{list:#}");
    assert_eq!(list["sources"].as_array().unwrap().len(), 1);
    // A mistake in the list removes nothing.
    kernel(&home, &["rm", "k", "none"]).error(2, &["none: no source"]);
    kernel(&home, &["rm", "k", "s"]).fine();
    assert!(tree.join("Makefile").exists());
}

#[test]
fn a_build_that_is_stopped_goes_on_and_leaves_nobody_behind() {
    let home = Home::aside();
    let tree = tree(&home);
    let args = [
        "kernel",
        "build",
        shown(&tree),
        "--anyway",
        "--quiet",
        "--no-ccache",
        "--name",
        "k",
        "--jobs",
        "1",
        "--json",
    ];
    let mut command = home.command(args);
    // Nothing else here sleeps for that long.
    command.env("SLOW", "34567");
    let running = crate::common::Running::start(command);
    let objects = home.store().join("kernels/builds/k/obj");
    let sleeping = || {
        let all = Command::new("pgrep")
            .args(["-f", "^sleep 34567$"])
            .output()
            .unwrap();
        !all.stdout.is_empty()
    };
    assert!(wait_until(sleeping), "it does not build");
    running.signal("INT");
    let answer = running.wait();
    assert_eq!(answer.code(), 1, "{answer:?}");
    assert_eq!(answer.json()["builds"][0]["end"], "stopped");
    assert!(wait_until(|| !sleeping()), "a child is left");
    assert!(!objects.join("one.o").exists());
    let report = home.run(args).fine().json();
    assert_eq!(report["builds"][0]["end"], "complete");
    assert_eq!(report["builds"][0]["starts"], 2);
    let log = fs::read(home.store().join("kernels/builds/k/build.log")).unwrap();
    assert!(
        String::from_utf8(log)
            .unwrap()
            .contains("  CC      kernel/three.o")
    );
}
