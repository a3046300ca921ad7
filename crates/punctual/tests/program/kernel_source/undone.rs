// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A later part of a configuration has another word than the model, `--with` or `--without`.

use super::*;

/// A tree, and a base of which the fragments of the test lack nothing.
fn place() -> (Home, PathBuf, PathBuf) {
    let home = Home::aside();
    let tree = tree(&home);
    let base = home.dir().join("base.config");
    fs::write(&base, "CONFIG_EXPERT=y\nCONFIG_HZ=250\n").unwrap();
    (home, tree, base)
}

fn asked<'a>(tree: &'a Path, base: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    let first = ["config", "--source", shown(tree), "--base", shown(base)];
    [&first[..], &["--model", "rt", "--json"], more].concat()
}

#[test]
fn a_fragment_that_undoes_the_model_is_named_and_nothing_is_as_asked() {
    let (home, tree, base) = place();
    let config = |more: &[&str]| kernel(&home, &asked(&tree, &base, more));
    config(&[]).fine();
    let file = home.dir().join("vendor.config");
    for text in [
        "# CONFIG_PREEMPT_RT is not set\nCONFIG_PREEMPT_VOLUNTARY=y\n",
        "# drop: PREEMPT_RT\nCONFIG_HZ_250=y\n",
    ] {
        fs::write(&file, text).unwrap();
        let answer = config(&["--fragment", shown(&file)]);
        assert_eq!(answer.code(), 1, "{text}: {answer:?}");
        let report = answer.json();
        assert_valid(&schema("kernel-config.schema.json"), &report);
        let unmet = report["unmet"].as_array().unwrap();
        assert_eq!(unmet.len(), 1, "{unmet:?}");
        let of = |key: &str| unmet[0][key].as_str().unwrap();
        assert_eq!(
            (of("name"), of("wanted"), of("value")),
            ("PREEMPT_RT", "y", "n")
        );
        let why = format!(
            "--model rt asks for y, and --fragment {} undoes it",
            file.display()
        );
        assert_eq!(of("why"), why);
    }
    // Whoever asks for it again has it.
    config(&["--fragment", shown(&file), "--set", "PREEMPT_RT=y"]).fine();
    let line = ["build", shown(&tree), "--base", shown(&base), "--name", "k"];
    let more = [
        "--quiet",
        "--no-ccache",
        "--model=rt",
        "--fragment",
        shown(&file),
    ];
    kernel(&home, &[&line[..], &more].concat())
        .error(1, &["PREEMPT_RT is n, not y (--model rt asks for y"])
        .hinted();
}

#[test]
fn a_fragment_that_the_source_need_not_honour_does_not_excuse_the_model() {
    let (home, tree, base) = place();
    fs::write(tree.join("Kconfig"), "config EXPERT\n\tbool \"e\"\n").unwrap();
    // As Kconfig drops what it does not know.
    let dropping = "olddefconfig:\n\tsed -i /PREEMPT_RT/d $(O)/.config\n";
    let makefile = MAKEFILE.replace("olddefconfig:\n\ttrue\n", dropping);
    fs::write(tree.join("Makefile"), makefile).unwrap();
    let file = home.dir().join("vendor.config");
    fs::write(&file, "# if-there: PREEMPT_RT\n").unwrap();
    let answer = kernel(&home, &asked(&tree, &base, &["--fragment", shown(&file)]));
    assert_eq!(answer.code(), 1, "{answer:?}");
    let report = answer.json();
    assert_eq!(report["unmet"][0]["why"], "this source has no such option");
}

#[test]
fn a_single_option_undoes_no_model_and_what_else_it_undoes_is_said() {
    let (home, tree, base) = place();
    let config = |more: &[&str]| kernel(&home, &asked(&tree, &base, more));
    let answer = config(&["--set", "PREEMPT_RT=n"]);
    assert_eq!(answer.code(), 1, "{answer:?}");
    let why = "--model rt asks for y, and --set PREEMPT_RT=n undoes it";
    assert_eq!(answer.json()["unmet"][0]["why"], why);
    let varied = ["--without=power-management", "--set=CPU_IDLE=y"];
    let said = "--set CPU_IDLE=y overrides --without power-management, which has CPU_IDLE=n";
    let report = config(&varied).fine().json();
    assert_eq!(report["remarks"][0], said, "{report}");
    let line = ["build", shown(&tree), "--base", shown(&base), "--name", "k"];
    let answer = kernel(
        &home,
        &[&line[..], &["--quiet", "--no-ccache"], &varied].concat(),
    );
    let text = answer.fine().stdout.split_whitespace().collect::<Vec<_>>();
    assert!(text.join(" ").contains(said), "{answer:?}");
    // Two fragments of the program that want the contrary of each other.
    let answer = config(&["--with=power-management", "--without=power-management"]);
    assert_eq!(answer.code(), 1, "{answer:?}");
}
