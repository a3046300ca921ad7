// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual kernel` before a kernel boots, on trees that only look like a kernel: their Makefile does in a moment
//! what the real one does in minutes.

mod builds;
mod undone;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Answer, Home, finish, machine, wait_until};
use crate::pty::Pty;
use crate::schema::{assert_valid, schema};

/// Kconfig that drops TIMERLAT_TRACER, and a kernel of three objects; an object takes `$SLOW` seconds. For arm64 the configuration and
/// the image say what make was told.
const MAKEFILE: &str = r#"VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 9
EXTRAVERSION =
.PHONY: allnoconfig allyesconfig olddefconfig bzImage drivers/clocksource/
allyesconfig:
	cp $(KCONFIG_ALLCONFIG) $(O)/.config
drivers/clocksource/: $(O)/one.o
	@echo "drivers/clocksource/x.c:1: warning: something"
allnoconfig:
	grep -v TIMERLAT $(KCONFIG_ALLCONFIG) > $(O)/.config
	echo '# $(ARCH) $(CROSS_COMPILE)' >> $(O)/.config
olddefconfig:
	true
$(O)/%.o: kernel/sched.c
	@echo "  CC      kernel/$*.o"; sleep $${SLOW:-0}; cp kernel/sched.c $@
bzImage: $(O)/one.o $(O)/two.o $(O)/three.o
	@mkdir -p $(O)/arch/x86/boot $(O)/include/config
	@echo "$$KBUILD_BUILD_TIMESTAMP $$KBUILD_BUILD_USER" > $(O)/arch/x86/boot/bzImage
	@echo 6.12.9$(LOCALVERSION) > $(O)/include/config/kernel.release
	@echo "kernel/x.c:1: warning: something"
Image: $(O)/one.o
	@mkdir -p $(O)/arch/arm64/boot $(O)/include/config
	@echo "$(ARCH) $(CROSS_COMPILE)" > $(O)/arch/arm64/boot/Image
	@echo 6.12.9$(LOCALVERSION) > $(O)/include/config/kernel.release
bindeb-pkg:
	@test -s $(O)/arch/x86/boot/bzImage
	@echo deb > $(O)/../linux-image-6.12.9$(LOCALVERSION)_1_amd64.deb
"#;

const KCONFIG: &str = "config EXPERT\n\tbool \"e\"\nconfig PREEMPT_RT\n\tbool \"rt\"\n\tdepends on EXPERT\n\
                       config TRACING\n\tbool \"t\"\nconfig TIMERLAT_TRACER\n\tbool \"tl\"\n\tdepends on TRACING\n";

fn tree(home: &Home) -> PathBuf {
    let tree = home.dir().join("linux");
    fs::create_dir_all(tree.join("kernel")).unwrap();
    fs::write(tree.join("Makefile"), MAKEFILE).unwrap();
    fs::write(tree.join("Kconfig"), KCONFIG).unwrap();
    fs::write(tree.join("kernel/sched.c"), "1\n2\n3\n4\n5\n").unwrap();
    tree
}

/// What a build test wants to be installed, whatever the tree is.
fn can_build() -> bool {
    let tools = ["gcc", "flex", "bison", "bc"];
    tools.iter().all(|tool| machine::has_tool(tool)) && Path::new("/usr/include/gelf.h").exists()
}

fn shown(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn kernel(home: &Home, args: &[&str]) -> Answer {
    home.run(["kernel"].iter().chain(args))
}

fn git(tree: &Path, args: &[&str]) -> String {
    let identity = ["-c", "user.name=N", "-c", "user.email=n@example.org"];
    let output = Command::new("git")
        .arg("-C")
        .arg(tree)
        .args(identity)
        .args(args)
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn commit(tree: &Path, file: &str, text: &str, message: &str) {
    fs::write(tree.join(file), text).unwrap();
    git(tree, &["add", "."]);
    git(tree, &["commit", "-q", "-m", message]);
}

#[test]
fn a_source_is_fetched_verified_listed_and_removed() {
    let home = Home::aside();
    tree(&home);
    let tarball = home.dir().join("linux-6.12.9.tar.gz");
    let tar = Command::new("tar")
        .arg("-C")
        .arg(home.dir())
        .arg("-czf")
        .arg(&tarball)
        .arg("linux")
        .status();
    assert!(tar.unwrap().success());
    let wrong = "0".repeat(64);
    kernel(&home, &["fetch", shown(&tarball), "--sha256", &wrong])
        .error(1, &["the SHA-256 of", "--sha256"]);
    kernel(&home, &["fetch", shown(&tarball)]).fine();
    kernel(&home, &["fetch", shown(&tarball)])
        .error(1, &["a source `linux-6.12.9` already exists"])
        .hinted();
    let list = kernel(&home, &["list", "--json"]).fine().json();
    assert_valid(&schema("kernel-stock.schema.json"), &list);
    assert_eq!(list["sources"][0]["version"], "6.12.9");
    let text = kernel(&home, &["list"]).fine().stdout.clone();
    // The column may be narrow.
    assert!(text.contains("compared"), "{text}");
    kernel(&home, &["fetch", "no-such-thing"]).error(2, &["not a file or directory"]);
    kernel(&home, &["rm", "linux-6.12.9"]).fine();
    kernel(&home, &["rm", "linux-6.12.9"])
        .error(2, &["no source, image or build"])
        .hinted();
    kernel(&home, &["rm", "../x"]).error(2, &["not a valid name"]);
    kernel(&home, &["fetch", shown(&tarball), "--name", "a b"]).error(2, &["not a valid name"]);
}

#[test]
fn a_package_of_another_architecture_is_compared_with_the_list_of_its_own() {
    let tools = ["apt-get", "apt-cache", "dpkg-deb"];
    if !tools.iter().all(|tool| machine::has_tool(tool)) {
        return;
    }
    let home = Home::aside();
    let apt = home.dir().join("apt");
    let mut lists = Vec::new();
    for below in ["repository", "lists/partial", "archives/partial"] {
        fs::create_dir_all(apt.join(below)).unwrap();
    }
    for architecture in ["amd64", "arm64"] {
        let root = apt.join(architecture);
        let control = format!(
            "Package: linux-image-6.1.0-9-test\nVersion: 6.1.9-1\nArchitecture: {architecture}\n\
             Maintainer: x <x@example.org>\nDescription: x\n"
        );
        for (file, text) in [
            ("DEBIAN/control", control.as_str()),
            ("boot/vmlinuz-6.1.0-9-test", architecture),
        ] {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(root.join("DEBIAN"), fs::Permissions::from_mode(0o755)).unwrap();
        let name = format!("{architecture}.deb");
        let deb = apt.join("repository").join(&name);
        let run = |program: &str, args: &[&str]| {
            let output = Command::new(program).args(args).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        run("dpkg-deb", &["-b", shown(&root), shown(&deb)]);
        let sum = run("sha256sum", &[shown(&deb)]);
        let size = fs::metadata(&deb).unwrap().len();
        let sum = sum.split(' ').next().unwrap();
        lists.push(format!(
            "{control}Filename: ./{name}\nSize: {size}\nSHA256: {sum}\n\n"
        ));
    }
    fs::write(apt.join("repository/Packages"), lists.concat()).unwrap();
    fs::write(apt.join("status"), "").unwrap();
    let at = shown(&apt);
    let source = format!("deb [trusted=yes] file:{at}/repository ./\n");
    fs::write(apt.join("sources.list"), source).unwrap();
    let settings = format!(
        "APT::Architecture \"amd64\";\nAPT::Architectures {{ \"amd64\"; \"arm64\"; }};\nAPT::Sandbox::User \"\";\n\
         Dir::Etc \"{at}\";\nDir::Etc::sourcelist \"{at}/sources.list\";\nDir::Etc::sourceparts \"/dev/null\";\n\
         Dir::State \"{at}\";\nDir::State::status \"{at}/status\";\nDir::Cache \"{at}\";\n"
    );
    fs::write(apt.join("apt.conf"), settings).unwrap();
    let update = Command::new("apt-get")
        .arg("update")
        .env("APT_CONFIG", apt.join("apt.conf"))
        .output()
        .unwrap();
    assert!(update.status.success(), "{update:?}");
    let package = "linux-image-6.1.0-9-test:arm64";
    let mut fetch = home.command(["kernel", "fetch", package, "--name", "arm"]);
    fetch.env("APT_CONFIG", apt.join("apt.conf"));
    finish(fetch).fine();
    let list = kernel(&home, &["list", "--json"]).fine().json();
    let image = &list["images"][0];
    assert_eq!(image["verified_by"], "apt's package lists");
    let bytes = machine::read(Path::new(image["image"].as_str().unwrap()));
    assert_eq!(bytes.unwrap(), "arm64");
}

#[test]
fn a_git_repository_is_fetched_at_a_branch_or_tag_with_its_commit() {
    let home = Home::aside();
    let tree = tree(&home);
    git(&tree, &["init", "-q", "-b", "main"]);
    commit(&tree, "kernel/sched.c", "1\n", "release");
    git(&tree, &["tag", "v6.12.9-rt"]);
    let tagged = git(&tree, &["rev-parse", "HEAD"]);
    let makefile = MAKEFILE.replace("SUBLEVEL = 9", "SUBLEVEL = 10");
    commit(&tree, "Makefile", &makefile, "next");
    let newest = git(&tree, &["rev-parse", "HEAD"]);
    let address = format!("git+file://{}", tree.display());
    kernel(&home, &["fetch", &format!("{address}#no-such-tag")]).error(1, &["no-such-tag"]);
    kernel(&home, &["fetch", &address, "--sha256", "00"]).error(1, &["a git repository"]);
    let list = kernel(&home, &["list", "--json"]).fine().json();
    assert_eq!(list["sources"].as_array().unwrap().len(), 0);
    kernel(&home, &["fetch", &format!("{address}#v6.12.9-rt")]).fine();
    let left = fs::read_dir(home.store().join("kernels/sources")).unwrap();
    assert_eq!(left.count(), 1);
    kernel(&home, &["fetch", &address]).fine();
    let list = kernel(&home, &["list", "--json"]).fine().json();
    assert_valid(&schema("kernel-stock.schema.json"), &list);
    for (at, name, version, commit) in [
        (0, "linux", "6.12.10", &newest),
        (1, "linux-v6.12.9-rt", "6.12.9", &tagged),
    ] {
        let source = &list["sources"][at];
        assert_eq!(
            (&source["name"], &source["version"], &source["commit"]),
            (&name.into(), &version.into(), &commit.as_str().into())
        );
    }
    // It is a source like any other.
    let args = [
        "build",
        "linux-v6.12.9-rt",
        "--anyway",
        "--quiet",
        "--no-ccache",
    ];
    kernel(&home, &args).fine();
}

#[test]
fn a_series_that_conflicts_leaves_the_tree_unchanged_and_names_what_fails() {
    let home = Home::aside();
    let tree = tree(&home);
    let series = home.dir().join("patches");
    fs::create_dir(&series).unwrap();
    let good = "--- a/kernel/sched.c\n+++ b/kernel/sched.c\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n";
    let bad =
        "--- a/kernel/sched.c\n+++ b/kernel/sched.c\n@@ -1,3 +1,3 @@\n 1\n-not there\n+x\n 3\n";
    fs::write(series.join("series"), "good.patch\nbad.patch\n").unwrap();
    fs::write(series.join("good.patch"), good).unwrap();
    fs::write(series.join("bad.patch"), bad).unwrap();
    kernel(&home, &["fetch", shown(&tree), "--name", "mine"]).fine();
    let answer = kernel(&home, &["patch", "mine", shown(&series), "--json"]);
    assert_eq!(answer.code(), 1, "{answer:?}");
    let report = answer.json();
    assert_valid(&schema("kernel-patch.schema.json"), &report);
    assert_eq!(report["result"], "unchanged");
    assert_eq!(report["patches"][0]["outcome"], "applies");
    assert_eq!(report["patches"][1]["failed"][0]["file"], "kernel/sched.c");
    assert_eq!(
        fs::read(tree.join("kernel/sched.c")).unwrap(),
        b"1\n2\n3\n4\n5\n"
    );
    let text = kernel(&home, &["patch", "mine", shown(&series)]).stdout;
    assert!(
        text.contains(" FAILS     bad.patch") && text.contains("hunk 1, at line 1"),
        "{text}"
    );
    let answer = kernel(&home, &["patch", "mine", shown(&series), "--leave-out"]);
    assert!(
        answer.fine().stdout.starts_with("Patched in part: "),
        "{answer:?}"
    );
    assert_eq!(
        fs::read(tree.join("kernel/sched.c")).unwrap(),
        b"1\ntwo\n3\n4\n5\n"
    );
    let list = kernel(&home, &["list", "--json"]).fine().json();
    assert_eq!(list["sources"][0]["patches"][0]["applied"][0], "good.patch");
    assert_eq!(list["sources"][0]["patches"][0]["left_out"][0], "bad.patch");
    // One that was killed in the middle has left its note.
    fs::write(tree.join(".punctual-patching"), "").unwrap();
    for verb in [
        vec!["patch", "mine", shown(&series)],
        vec!["config", "--source", "mine"],
    ] {
        kernel(&home, &verb).error(1, &["half patched"]).hinted();
    }
}

#[test]
fn a_stable_patch_changes_the_version_that_is_listed_and_not_the_time_that_builds_bear() {
    let home = Home::aside();
    let tree = tree(&home);
    let makefile = fs::File::options().append(true).open(tree.join("Makefile"));
    let released = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_736_424_000);
    makefile.unwrap().set_modified(released).unwrap();
    let tarball = home.dir().join("linux-6.12.9.tar.gz");
    let tar = Command::new("tar")
        .arg("-C")
        .arg(home.dir())
        .args(["-czf", shown(&tarball), "linux"])
        .status();
    assert!(tar.unwrap().success());
    let patch = home.dir().join("patch-6.12.9-10");
    let text = "--- a/Makefile\n+++ b/Makefile\n@@ -2,3 +2,3 @@\n PATCHLEVEL = 12\n-SUBLEVEL = 9\n+SUBLEVEL = 10\n EXTRAVERSION =\n";
    fs::write(&patch, text).unwrap();
    kernel(&home, &["fetch", shown(&tarball), "--name", "mine"]).fine();
    let built = |name: &str| {
        let args = [
            "--anyway",
            "--quiet",
            "--no-ccache",
            "--json",
            "--name",
            name,
        ];
        let build = kernel(&home, &[&["build", "mine"], &args[..]].concat());
        build.fine().json()["builds"][0].clone()
    };
    assert_eq!(built("before")["timestamp"], "2025-01-09T12:00:00Z");
    kernel(&home, &["patch", "mine", shown(&patch)]).fine();
    let list = kernel(&home, &["list", "--json"]).fine().json();
    assert_valid(&schema("kernel-stock.schema.json"), &list);
    assert_eq!(list["sources"][0]["version"], "6.12.10");
    assert_eq!(built("after")["timestamp"], "2025-01-09T12:00:00Z");
}

#[test]
fn an_option_that_is_not_honoured_is_named_with_what_it_lacks() {
    let home = Home::aside();
    let tree = tree(&home);
    let output = home.dir().join("out.config");
    let args = [
        "config",
        "--source",
        shown(&tree),
        "--model",
        "rt",
        "--set",
        "NONSENSE=y",
        "-o",
        shown(&output),
    ];
    let answer = kernel(&home, &[&args[..], &["--json"]].concat());
    assert_eq!(answer.code(), 1, "{answer:?}");
    let report = answer.json();
    assert_valid(&schema("kernel-config.schema.json"), &report);
    let unmet = report["unmet"].as_array().unwrap();
    let timerlat = unmet
        .iter()
        .find(|o| o["name"] == "TIMERLAT_TRACER")
        .unwrap();
    assert_eq!(timerlat["why"], "depends on TRACING, which is n");
    assert!(!unmet.iter().any(|o| o["name"] == "PREEMPT_RT"));
    kernel(&home, &args).error(2, &["already exists"]).hinted();
    let diff = kernel(
        &home,
        &["config", "diff", shown(&output), shown(&output), "--json"],
    )
    .fine()
    .json();
    assert_valid(&schema("kernel-config-diff.schema.json"), &diff);
    assert_eq!(diff["changed"].as_array().unwrap().len(), 0);
    kernel(
        &home,
        &["config", "--source", shown(&tree), "--with", "nothing"],
    )
    .error(2, &["--with nothing: is not one of"]);
}

#[test]
fn a_configuration_is_judged() {
    let home = Home::aside();
    let config = home.dir().join("some.config");
    fs::write(
        &config,
        "CONFIG_INIT_ENV_ARG_LIMIT=32\nCONFIG_HZ=250\nCONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_DEBUG_KERNEL=y\n\
         CONFIG_PROVE_LOCKING=y\nCONFIG_LOCKDEP=y\n",
    )
    .unwrap();
    let found = kernel(&home, &["config", "check", shown(&config), "--json"])
        .fine()
        .json();
    let found: Vec<&str> = found["verdicts"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|v| v["outcome"] == "found")
        .map(|v| v["rule"]["id"].as_str().unwrap())
        .collect();
    for id in [
        "config-high-res-timers",
        "config-preemption",
        "lockdep",
        "config-stack-overflow",
    ] {
        assert!(found.contains(&id), "{id} is not in {found:?}");
    }
    let answer = kernel(
        &home,
        &["config", "check", shown(&config), "--fail-on", "high"],
    );
    assert_eq!(answer.code(), 3, "{answer:?}");
    let edited = machine::read(&config).unwrap().replace("HZ=250", "HZ=0");
    fs::write(&config, edited).unwrap();
    kernel(&home, &["config", "check", shown(&config)])
        .error(1, &["it is not what make wrote: CONFIG_HZ=0"])
        .hinted();
    fs::write(&config, "CONFIG_HZ=1000\n").unwrap();
    kernel(&home, &["config", "check", shown(&config)])
        .error(
            1,
            &["it is only part of a configuration", "INIT_ENV_ARG_LIMIT"],
        )
        .hinted();
    fs::write(&config, "CONFIG_HZ\n").unwrap();
    kernel(&home, &["config", "check", shown(&config)]).error(1, &["line 1: `CONFIG_HZ`"]);
    kernel(&home, &["config", "check", "no-such"]).error(2, &["not a file, not a build"]);
}

#[test]
fn a_store_that_is_named_by_a_relative_path_is_not_looked_for_in_the_source() {
    let home = Home::aside();
    let tree = tree(&home);
    let mut command = home.command("kernel build linux --anyway --quiet --no-ccache".split(' '));
    command.env("PUNCTUAL_HOME", "here").current_dir(home.dir());
    finish(command).fine();
    let image = home.dir().join("here/kernels/builds/6.12.9-tiny/vmlinuz");
    assert!(image.is_file(), "{}", image.display());
    assert!(!tree.join("here").exists());
}

#[test]
fn a_rebase_stops_lists_its_conflict_and_goes_on() {
    let home = Home::aside();
    let tree = tree(&home);
    git(&tree, &["init", "-q", "-b", "vendor"]);
    commit(&tree, "kernel/sched.c", "1\n2\n3\n", "release");
    git(&tree, &["branch", "rt"]);
    commit(&tree, "kernel/sched.c", "1\nvendor\n3\n", "vendor: sched");
    git(&tree, &["checkout", "-q", "rt"]);
    commit(&tree, "kernel/sched.c", "1\nrt\n3\n", "rt: sched");
    git(&tree, &["checkout", "-q", "vendor"]);
    let rebase = ["rebase", "--tree", shown(&tree)];
    kernel(&home, &rebase).error(2, &["--vendor"]);
    let begin = [&rebase[..], &["--vendor", "vendor", "--onto", "rt"]].concat();
    let answer = kernel(&home, &begin);
    assert_eq!(answer.code(), 1, "{answer:?}");
    let text = &answer.stdout;
    assert!(
        text.contains("kernel/sched.c (both modified)") && text.contains("rt: sched"),
        "{text}"
    );
    assert!(text.contains("vendor: sched"), "{text}");
    let status = kernel(&home, &[&rebase[..], &["--status", "--json"]].concat()).json();
    assert_valid(&schema("kernel-rebase.schema.json"), &status);
    let worktree = PathBuf::from(status["worktree"].as_str().unwrap());
    fs::write(worktree.join("kernel/sched.c"), "1\nvendor on rt\n3\n").unwrap();
    let done = kernel(&home, &[&rebase[..], &["--continue", "--json"]].concat());
    assert_eq!(done.fine().json()["state"], "complete");
    assert_eq!(
        git(&tree, &["show", "punctual/vendor:kernel/sched.c"]),
        "1\nvendor on rt\n3"
    );
    assert_eq!(git(&tree, &["symbolic-ref", "--short", "HEAD"]), "vendor");
    assert_eq!(git(&tree, &["status", "--porcelain"]), "");
    kernel(&home, &[&rebase[..], &["--continue"]].concat()).error(1, &["no rebase is in progress"]);
}

/// Twenty patches on a tick; the one that adds a loop with preemption off is to be found. The oracle is what a build
/// and a measurement are with a real kernel: it makes a figure of the source and judges it against a limit.
#[test]
fn a_regression_that_was_planted_in_twenty_commits_is_found() {
    let home = Home::aside();
    let tree = tree(&home);
    git(&tree, &["init", "-q"]);
    commit(&tree, "kernel/tick.c", "count 10\n", "release");
    let good = git(&tree, &["rev-parse", "HEAD"]);
    for number in 1..=20 {
        let count = if number >= 14 { 90_000 } else { 10 + number };
        let message = if number == 14 {
            "tick: loop with preemption off"
        } else {
            "tick: small change"
        };
        commit(
            &tree,
            "kernel/tick.c",
            &format!("count {count}\npatch {number}\n"),
            message,
        );
    }
    let oracle =
        "read word count < kernel/tick.c; test -x \"$PUNCTUAL\" || exit 200; test $count -lt 1000";
    let args = [
        "bisect",
        "--tree",
        shown(&tree),
        "--good",
        &good,
        "--bad",
        "HEAD",
        "--oracle",
        oracle,
    ];
    let answer = kernel(&home, &[&args[..], &["--json", "--quiet"]].concat());
    let report = answer.fine().json();
    assert_valid(&schema("kernel-bisect.schema.json"), &report);
    assert_eq!(
        report["first_bad"]["subject"],
        "tick: loop with preemption off"
    );
    assert_eq!(report["commits"], 20);
    let text = kernel(&home, &args).fine().stdout.clone();
    assert!(text.starts_with("First bad: "), "{text}");
    // A source of the store is not removed meanwhile, here by the oracle itself.
    kernel(&home, &["fetch", shown(&tree), "--name", "s"]).fine();
    let removes = format!("\"$PUNCTUAL\" kernel rm s && exit 200; {oracle}");
    let line = ["bisect", "--tree", "s", "--good", &good, "--bad", "HEAD"];
    kernel(&home, &[&line[..], &["--oracle", &removes]].concat()).fine();
    kernel(&home, &["rm", "s"]).fine();
    assert_eq!(git(&tree, &["status", "--porcelain"]), "");
    kernel(
        &home,
        &[
            "bisect",
            "--tree",
            shown(&tree),
            "--good",
            "HEAD",
            "--bad",
            &good,
            "--oracle",
            oracle,
        ],
    )
    .error(2, &["is not an ancestor of"]);
}
