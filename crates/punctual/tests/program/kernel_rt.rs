// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual kernel rt`: each step of the flow, and that it goes on where it was stopped. The trees only look like a kernel; what
//! their Makefile "builds" is one of the images of `scripts/kernel-images.sh`, so that what boots is real.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{Answer, Home, Running, finish, machine, wait_until};
use crate::guests::images;
use crate::schema::{assert_valid, schema};

const MAKEFILE: &str = r#"VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 9
EXTRAVERSION =
.PHONY: allnoconfig olddefconfig bzImage
allnoconfig:
	cp $(KCONFIG_ALLCONFIG) $(O)/.config
olddefconfig:
	true
bzImage:
	@mkdir -p $(O)/arch/x86/boot $(O)/include/config
	@echo "  CC      kernel/sched.o"
	@if grep -q '^CONFIG_PREEMPT_RT=y' $(O)/.config; then cp $${RT:-kernel/sched.c} $(O)/arch/x86/boot/bzImage; \
	 else cp $${STOCK:-kernel/sched.c} $(O)/arch/x86/boot/bzImage; fi
	@echo 6.12.9$(LOCALVERSION) > $(O)/include/config/kernel.release
"#;

const KCONFIG: &str = "config PREEMPT_RT\n\tbool \"rt\"\n";

const PATCH: &str =
    "--- a/kernel/sched.c\n+++ b/kernel/sched.c\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n";

/// Makes a tree of this minor version of Linux 6.
fn tree(home: &Home, minor: u32) -> PathBuf {
    let tree = home.dir().join("linux");
    fs::create_dir_all(tree.join("kernel")).unwrap();
    let level = format!("PATCHLEVEL = {minor}");
    fs::write(
        tree.join("Makefile"),
        MAKEFILE.replace("PATCHLEVEL = 12", &level),
    )
    .unwrap();
    fs::write(tree.join("Kconfig"), KCONFIG).unwrap();
    fs::write(tree.join("kernel/sched.c"), "1\n2\n3\n").unwrap();
    tree
}

fn rt(home: &Home, version: &str, source: &Path, more: &[&str]) -> Answer {
    let source = source.to_str().unwrap();
    let fixed = [
        "kernel",
        "rt",
        version,
        "--source",
        source,
        "--anyway",
        "--no-ccache",
    ];
    let few = ["--seeds=2", "--samples=50", "--load=fork"];
    let mut command = home.command(fixed.iter().chain(&few).chain(more));
    if let Some(images) = machine_images() {
        command.env("STOCK", images.0).env("RT", images.1);
    }
    finish(command)
}

/// Runs the program where what is built cannot boot: nothing of QEMU is needed but that it is there.
fn without_guests(home: &Home, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Answer {
    let mut command = home.command(args);
    command.env("PUNCTUAL_QEMU", "/bin/true");
    finish(command)
}

fn machine_images() -> Option<(PathBuf, PathBuf)> {
    images().map(|images| (images.dynamic, images.rt))
}

fn flow(home: &Home, name: &str) -> Value {
    let path = home
        .store()
        .join("kernels/flows")
        .join(name)
        .join("flow.json");
    let text = machine::read(&path).unwrap_or_else(|| panic!("{} is missing", path.display()));
    serde_json::from_str(&text).unwrap()
}

fn steps(flow: &Value) -> Vec<&str> {
    let steps = flow["steps"].as_array().unwrap();
    steps
        .iter()
        .map(|step| step["step"].as_str().unwrap())
        .collect()
}

const ALL: [&str; 7] = [
    "source", "stock", "patch", "config", "build", "boot", "compare",
];

#[test]
fn a_source_with_preempt_rt_becomes_two_kernels_and_a_comparison() {
    if machine_images().is_none() {
        return;
    }
    let home = Home::aside();
    let tree = tree(&home, 12);
    let answer = rt(&home, "6.12", &tree, &["--json"]);
    let found = answer.fine().json();
    assert_valid(&schema("kernel-rt.schema.json"), &found);
    assert_eq!(steps(&found), ALL);
    assert_eq!(found["boot"]["valid"], true);
    assert_eq!(found["boot"]["host"]["preempt_rt"], true);
    let cells = found["test"]["cells"].as_array().unwrap();
    let models: Vec<_> = cells
        .iter()
        .map(|cell| cell["model"].as_str().unwrap())
        .collect();
    assert_eq!(models, ["voluntary", "rt"]);
    assert!(
        answer
            .stderr
            .contains("nothing to apply: PREEMPT_RT is in Linux 6.12.9"),
        "{answer:#?}"
    );

    // Nothing is done twice.
    let again = rt(&home, "6.12", &tree, &["--json"]);
    assert_eq!(again.fine().json(), found);
    assert_eq!(
        again.stderr.matches("already done").count(),
        7,
        "{again:#?}"
    );
    let text = rt(&home, "6.12", &tree, &[]);
    assert!(
        text.fine()
            .stdout
            .contains("7 of 7  compare already done: measured both"),
        "{text:#?}"
    );

    // What is gone is made again, and what came of it.
    home.run(["kernel", "rm", "rt-6.12-rt"]).fine();
    let again = rt(&home, "6.12", &tree, &["--json"]);
    assert_eq!(again.fine().json()["test"], found["test"]);
    assert_eq!(
        again.stderr.matches("already done").count(),
        4,
        "{again:#?}"
    );
    assert!(
        again
            .stderr
            .contains("again: build rt-6.12-rt is not in the store any more"),
        "{again:#?}"
    );
}

#[test]
fn an_older_source_is_patched_in_a_copy_and_the_flow_goes_on_where_it_failed() {
    let home = Home::aside();
    let tree = tree(&home, 1);
    let series = home.dir().join("patches");
    fs::create_dir(&series).unwrap();
    fs::write(
        series.join("0001-two.patch"),
        PATCH.replace("-2\n", "-not there\n"),
    )
    .unwrap();
    let series_arg = format!("--patch={}", series.display());
    let run = |more: &[&str]| {
        // No image: what is built cannot boot.
        let source = tree.to_str().unwrap();
        let fixed = [
            "kernel",
            "rt",
            "6.1",
            "--anyway",
            "--no-ccache",
            "--source",
            source,
            &series_arg,
        ];
        without_guests(&home, fixed.iter().chain(more))
    };
    run(&[])
        .error(
            1,
            &[
                "1 of 1 patches do not apply to Linux 6.1.9",
                "0001-two.patch",
                "the source is unchanged",
            ],
        )
        .hinted();
    assert_eq!(steps(&flow(&home, "rt-6.1")), ALL[..2]);
    // Mended: the same command goes on.
    fs::write(series.join("0001-two.patch"), PATCH).unwrap();
    let answer = run(&[]);
    answer.error(1, &["boot"]);
    assert_eq!(steps(&flow(&home, "rt-6.1")), ALL[..5]);
    assert_eq!(
        answer.stdout.matches("already done").count(),
        2,
        "{answer:#?}"
    );
    assert!(
        answer.stdout.contains("applied 1 patches of"),
        "{answer:#?}"
    );
    let again = run(&[]);
    assert_eq!(
        again.stdout.matches("already done").count(),
        5,
        "{again:#?}"
    );
    // The user's directory is as it was, and the stock kernel was built without the patch.
    let read = |path: &Path| machine::read(path).unwrap();
    assert_eq!(read(&tree.join("kernel/sched.c")), "1\n2\n3\n");
    let kernels = home.store().join("kernels");
    assert_eq!(
        read(&kernels.join("flows/rt-6.1/source/kernel/sched.c")),
        "1\ntwo\n3\n"
    );
    assert_eq!(
        read(&kernels.join("builds/rt-6.1-stock/vmlinuz")),
        "1\n2\n3\n"
    );
    assert_eq!(
        read(&kernels.join("builds/rt-6.1-rt/vmlinuz")),
        "1\ntwo\n3\n"
    );
    // The stock kernel is never made of the patched source.
    home.run(["kernel", "rm", "rt-6.1-stock"]).fine();
    let again = run(&[]);
    assert!(
        again
            .stdout
            .contains("again: source rt-6.1 has the patches"),
        "{again:#?}"
    );
    assert_eq!(steps(&flow(&home, "rt-6.1")), ALL[..5]);
    assert_eq!(
        read(&kernels.join("builds/rt-6.1-stock/vmlinuz")),
        "1\n2\n3\n"
    );
    assert_eq!(
        read(&kernels.join("builds/rt-6.1-rt/vmlinuz")),
        "1\ntwo\n3\n"
    );
    // Nor are patches that were changed afterwards taken for those that were applied.
    fs::write(
        series.join("0001-two.patch"),
        PATCH.replace("+two", "+zwei"),
    )
    .unwrap();
    run(&[])
        .error(
            2,
            &["--patch: the content has changed since rt-6.1 used it"],
        )
        .hinted();
    fs::write(series.join("0001-two.patch"), PATCH).unwrap();
    // What was used may be gone since.
    fs::rename(&series, home.dir().join("aside")).unwrap();
    let gone = run(&[]);
    assert_eq!(gone.stdout.matches("already done").count(), 5, "{gone:#?}");
    fs::rename(home.dir().join("aside"), &series).unwrap();
    // Another flow under the same name is not gone on with.
    run(&["--seeds=3"])
        .error(2, &["--seeds: rt-6.1 was begun with `5`, not `3`"])
        .hinted();
    run(&["--seeds=3", "--name=other"]).error(1, &["boot"]);
    // All of a name goes together.
    home.run(["kernel", "rm", "rt-6.1"]).fine();
    assert!(!kernels.join("flows/rt-6.1").exists());
}

#[test]
fn a_patched_source_of_the_users_is_not_replaced() {
    let home = Home::aside();
    let tree = tree(&home, 1);
    let patch = home.dir().join("rt.patch");
    fs::write(&patch, PATCH).unwrap();
    let (tree, patch) = (tree.to_str().unwrap(), patch.to_str().unwrap());
    home.run(["kernel", "fetch", tree, "--name=board"]).fine();
    home.run(["kernel", "patch", "board", patch]).fine();
    let patched = home.run(["kernel", "list", "--json"]).fine().json();
    for (name, source) in [("board", "board"), ("board", tree), ("other", "board")] {
        let name = format!("--name={name}");
        let rest = ["--source", source, "--patch", patch, "--anyway"];
        let words = ["kernel", "rt", "6.1", &name];
        without_guests(&home, words.iter().chain(&rest))
            .error(2, &["--patch: source board has the patches already"])
            .hinted();
        let now = home.run(["kernel", "list", "--json"]).fine().json();
        assert_eq!(now["sources"], patched["sources"], "{name} {source}");
    }
}

#[test]
fn a_fragment_may_change_until_a_kernel_was_built_with_it() {
    let home = Home::aside();
    let tree = tree(&home, 12);
    let fragment = home.dir().join("my.config");
    let run = || {
        let arg = format!("--fragment={}", fragment.display());
        let source = tree.to_str().unwrap();
        let line = ["kernel", "rt", "6.12", "--anyway", "--no-ccache"];
        without_guests(&home, line.iter().chain(&["--source", source, &arg]))
    };
    fs::write(&fragment, "no option\n").unwrap();
    run().error(1, &["my.config"]);
    fs::write(&fragment, "CONFIG_HZ_250=y\n").unwrap();
    run().error(1, &["boot"]);
    fs::write(&fragment, "CONFIG_HZ_1000=y\n").unwrap();
    run()
        .error(
            2,
            &["--fragment: the content has changed since rt-6.12 used it"],
        )
        .hinted();
}

#[test]
fn what_cannot_become_a_real_time_kernel_is_said_before_anything_is_built() {
    let home = Home::aside();
    let tree = tree(&home, 1);
    let run = |args: &[&str]| without_guests(&home, ["kernel", "rt"].iter().chain(args));
    run(&["6.1"])
        .error(2, &["--patch: Linux 6.1 has no PREEMPT_RT of its own"])
        .hinted();
    run(&["6.x"]).error(2, &["6.x: not a version of Linux"]);
    run(&["6.12", "--stock=rt"]).error(2, &["--stock rt"]);
    run(&["6.12", "--stock=lazy"]).error(2, &["--stock lazy: Linux 6.12 has no PREEMPT_LAZY"]);
    run(&["6.12", "--model=rt"]).error(2, &["--model"]);
    // Nor is anything fetched that could not boot here.
    let mut command = home.command(["kernel", "rt", "6.12", "--source", tree.to_str().unwrap()]);
    command.env("PUNCTUAL_QEMU", "/no/such/qemu");
    finish(command).error(5, &["start /no/such/qemu: not installed"]);
    assert!(!home.store().join("kernels/flows").exists());
    // A tree of another version is not kept.
    let source = tree.to_str().unwrap();
    run(&["6.12", "--source", source])
        .error(2, &["6.12: the source is Linux 6.1.9"])
        .hinted();
    let list = home.run(["kernel", "list", "--json"]).fine().json();
    assert_eq!(list["sources"].as_array().unwrap().len(), 0);
    // A patch that somebody applied is seen in the tree, and that there is none only there.
    run(&["6.1", "--source", source, "--anyway", "--no-ccache"])
        .error(2, &["--patch: Linux 6.1 has no PREEMPT_RT"]);
    fs::create_dir_all(tree.join("arch/x86")).unwrap();
    fs::write(
        tree.join("arch/x86/Kconfig"),
        "config X86\n\tselect ARCH_SUPPORTS_RT\n",
    )
    .unwrap();
    let answer = run(&["6.1", "--source", source, "--anyway", "--no-ccache"]);
    assert!(
        answer
            .stdout
            .contains("nothing to apply: PREEMPT_RT is in Linux 6.1.9"),
        "{answer:#?}"
    );
}

#[test]
fn a_study_compares_the_kernels_that_it_builds_and_its_report_says_how() {
    let Some((stock, rt)) = machine_images() else {
        return;
    };
    let home = Home::aside();
    let tree = tree(&home, 12);
    let build = format!("--build={}", tree.display());
    let mut command = home.command(["study", "run", "wang2019", &build]);
    command.env("STOCK", stock).env("RT", rt);
    let running = Running::start(command);
    // Of hours of measuring nothing is needed here: it is stopped once it begins.
    let note = home.store().join("studies/wang2019-1.json");
    assert!(wait_until(|| note.exists()));
    running.signal("INT");
    let answer = running.wait();
    assert!(
        answer.stderr.contains("6 of 6  boot    Linux"),
        "{answer:#?}"
    );

    let note: Value = serde_json::from_str(&machine::read(&note).unwrap()).unwrap();
    for part in &note["parts"].as_array().unwrap()[..2] {
        for (level, model) in [("stock", "voluntary"), ("rt", "rt")] {
            let target = part["parameters"]["targets"][level].as_str().unwrap();
            for word in [format!("/rt-6.12.9-{level}/"), format!("model={model}")] {
                assert!(target.contains(&word), "{target}");
            }
        }
    }
    let report = home.run(["study", "report", "wang2019", "--json"]);
    let report = report.fine().json();
    assert_valid(&schema("study-report.schema.json"), &report);
    let built = report["studies"][0]["built"].as_array().unwrap();
    let names: Vec<_> = built.iter().map(|step| &step["step"]).collect();
    assert_eq!(names, ALL[..6]);
    let text = home.run(["study", "report", "wang2019"]);
    assert!(text.fine().stdout.contains("How the kernels were made"));
    let shown = home.run(["study", "show", "wang2019", "--json"]);
    let shown = shown.fine().json();
    let mut rows = shown["rows"].as_array().unwrap().iter();
    let row = rows.find(|row| row["text"].as_str().unwrap().starts_with("Fetch, patch"));
    assert_eq!(row.unwrap()["place"], "done");
}

#[test]
fn a_study_goes_on_with_its_build_and_says_at_once_what_it_cannot_build() {
    let home = Home::aside();
    let tree = tree(&home, 12);
    let build = format!("--build={}", tree.display());
    let run = |study: &str, more: &[&str]| {
        let args = ["study", "run", study];
        without_guests(&home, args.iter().chain(more))
    };
    // What this tree builds without images cannot boot.
    run("wang2019", &[&build]).error(1, &["boot"]);
    let again = run("wang2019", &[&build]);
    again.error(1, &["boot"]);
    assert_eq!(
        again.stderr.matches("already done").count(),
        5,
        "{again:#?}"
    );
    assert_eq!(steps(&flow(&home, "rt-6.12.9")), ALL[..5]);
    assert!(
        !home.store().join("studies").exists(),
        "nothing was measured"
    );
    run("anaya2018", &[&build]).error(2, &["--build: anaya2018 compares no kernels"]);
    run("wang2019", &[&build, "--quick"]).error(2, &["--quick"]);
    run("wang2019", &["--build=linux-source-6.1"])
        .error(2, &["Linux 6.1 has no PREEMPT_RT of its own"])
        .hinted();
    run("wang2019", &["--build=nowhere"]).error(2, &["nowhere: neither a source"]);
}
