// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A kernel that is installed to stay: the commands on a machine of files, whose programs are shell scripts in it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Answer, HANG, Home, machine};
use crate::one_shot::{grubenv, image};
use crate::schema::{assert_valid, schema};

const OWN: &str = "6.1.0-56-amd64";
const NEW: &str = "6.12.1-rt";

/// As initramfs-tools of Debian 12 does it: next to the image, then renamed.
const UPDATE_INITRAMFS: &str = r#"#!/bin/sh
set -e
image=/boot/initrd.img-$3
case $1 in
-c)
    [ -f "/lib/modules/$3/modules.dep" ]
    echo half > "$TMPDIR/work"
    echo half > "$image.new"
    sleep 0.05
    echo "initrd of $3" > "$image.new"
    mv -f "$image.new" "$image"
    ;;
-d) rm -f "$image" ;;
esac
"#;

/// As `grub-mkconfig` of Debian does it: the newest kernel first, and all of them in a submenu.
const MKCONFIG: &str = r#"#!/bin/sh
set -e
out=$2
GRUB_DEFAULT=0
[ ! -e /etc/default/grub ] || . /etc/default/grub
for x in /etc/default/grub.d/*.cfg; do [ ! -e "$x" ] || . "$x"; done
[ "$GRUB_DEFAULT" != saved ] || GRUB_DEFAULT='${saved_entry}'
list=
for k in /boot/vmlinuz-*; do list="$k $list"; done
start() {
    printf "%s\tlinux\t%s root=/dev/vda1 ro quiet\n%s\tinitrd\t/boot/initrd.img-%s\n" "$1" "$2" "$1" "${2#/boot/vmlinuz-}"
}
{
    printf 'if [ "${next_entry}" ] ; then\n   set default="${next_entry}"\nelse\n   set default="%s"\nfi\n' "$GRUB_DEFAULT"
    printf 'function load_video {\n  insmod all_video\n}\n'
    set -- $list
    printf "menuentry 'Debian' --class debian \$menuentry_id_option 'gnulinux-simple-abc' {\n"
    start '' "$1"
    printf "}\nsubmenu 'Advanced options' \$menuentry_id_option 'gnulinux-advanced-abc' {\n"
    for k in $list; do
        printf "\tmenuentry 'Debian, with Linux %s' \$menuentry_id_option 'gnulinux-%s-advanced-abc' {\n" "${k#/boot/vmlinuz-}" "${k#/boot/vmlinuz-}"
        start '	' "$k"
        printf '\t}\n'
    done
    printf '}\n'
} > "$out.new"
sleep 0.05
cat "$out.new" > "$out"
rm -f "$out.new"
"#;

struct Machine {
    home: Home,
}

impl Machine {
    /// A machine whose programs can be run; none where we may not change the root directory.
    fn new() -> Option<Self> {
        if !machine::root() {
            return None;
        }
        let machine = Self {
            home: Home::aside(),
        };
        for (path, text) in [
            ("boot/vmlinuz-6.1.0-56-amd64", "own"),
            ("boot/initrd.img-6.1.0-56-amd64", "own initrd"),
            ("etc/default/grub", "GRUB_DEFAULT=0\nGRUB_TIMEOUT=5\n"),
            ("lib/modules/6.1.0-56-amd64/modules.dep", ""),
            ("proc/cmdline", "root=/dev/vda1 quiet\n"),
            ("proc/sys/kernel/osrelease", "6.1.0-56-amd64\n"),
            ("proc/sys/kernel/random/boot_id", "boot-1\n"),
            (
                "proc/self/mountinfo",
                "21 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw\n",
            ),
            (
                "var/lib/dpkg/info/linux-image-6.1.0-56-amd64.list",
                "/boot/vmlinuz-6.1.0-56-amd64\n",
            ),
            ("var/tmp/x", ""),
        ] {
            machine.write(path, text.as_bytes());
        }
        machine.write("boot/grub/grubenv", &grubenv());
        for program in ["sh", "cat", "mv", "rm", "sleep"] {
            machine.lend(program);
        }
        machine.program("usr/sbin/update-initramfs", UPDATE_INITRAMFS);
        machine.program("usr/sbin/grub-mkconfig", MKCONFIG);
        machine.grub();
        let mode = fs::Permissions::from_mode(0o600);
        fs::set_permissions(machine.root().join("boot/grub/grub.cfg"), mode).unwrap();
        image(
            &machine.home.dir().join("bzImage"),
            "6.12.1-rt (a@b) #7 SMP PREEMPT_RT now",
        );
        fs::write(machine.home.dir().join("config"), "CONFIG_MODULES=y\n").unwrap();
        fs::write(machine.home.dir().join("map"), "0 T x\n").unwrap();
        for number in 0..20 {
            let path = format!("modules/kernel/{number}.ko");
            let module = machine.home.dir().join(path);
            fs::create_dir_all(module.parent().unwrap()).unwrap();
            fs::write(module, vec![9; 20_000]).unwrap();
        }
        fs::write(machine.home.dir().join("modules/modules.dep"), "").unwrap();
        Some(machine)
    }

    fn root(&self) -> PathBuf {
        self.home.dir().join("machine")
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let full = self.root().join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, bytes).unwrap();
    }

    fn read(&self, path: &str) -> String {
        String::from_utf8(fs::read(self.root().join(path)).unwrap()).unwrap()
    }

    fn program(&self, path: &str, text: &str) {
        self.write(path, text.as_bytes());
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.root().join(path), mode).unwrap();
    }

    /// Copies a program of this machine to it, with its libraries.
    fn lend(&self, program: &str) {
        let path = Path::new("/bin").join(program);
        let listed = Command::new("ldd").arg(&path).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        let libraries = listed
            .split_whitespace()
            .filter(|word| word.starts_with('/'));
        for file in libraries.map(PathBuf::from).chain([path]) {
            let to = self.root().join(file.strip_prefix("/").unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(&file, &to).unwrap();
        }
    }

    /// What `update-grub` does.
    fn grub(&self) {
        let status = Command::new("chroot")
            .arg(self.root())
            .args(["/usr/sbin/grub-mkconfig", "-o", "/boot/grub/grub.cfg"])
            .status();
        assert!(status.unwrap().success());
    }

    fn command(&self, args: &str) -> Command {
        let mut command = self.home.command(["kernel"]);
        command
            .args(args.split_whitespace())
            .arg("--root")
            .arg(self.root())
            .env_remove("PUNCTUAL_TUNE_STATE")
            .current_dir(self.home.dir());
        command
    }

    fn run(&self, args: &str) -> Answer {
        crate::common::finish(self.command(args))
    }

    fn install(&self, more: &str) -> Answer {
        self.run(&format!("{INSTALL} {more}"))
    }

    fn installed(&self) -> serde_json::Value {
        let list = self.run("installed --json").json();
        assert_valid(&schema("installed-kernels.schema.json"), &list);
        list["kernels"].clone()
    }

    /// What is in it but for our own notes: path, mode, owner, time of a file's last change, content.
    fn dump(&self) -> Files {
        let mut all = BTreeSet::new();
        let mut left = vec![self.root()];
        while let Some(directory) = left.pop() {
            for entry in fs::read_dir(&directory).unwrap() {
                let path = entry.unwrap().path();
                let meta = fs::symlink_metadata(&path).unwrap();
                if path.starts_with(self.root().join("var/lib/punctual")) {
                    continue;
                }
                if meta.is_dir() {
                    left.push(path.clone());
                }
                let changed = meta
                    .is_file()
                    .then(|| meta.mtime_nsec() + meta.mtime() * 1_000_000_000);
                let bytes = fs::read(&path).unwrap_or_default();
                all.insert((path, meta.mode(), meta.uid(), changed, bytes));
            }
        }
        // The directory of our notes may be there or not.
        all.retain(|(path, ..)| !path.ends_with("var/lib"));
        all
    }

    fn kept(&self) -> PathBuf {
        self.root()
            .join("var/lib/punctual/tune/kernel-6.12.1-rt.json")
    }

    /// The release that is started when nobody chooses.
    fn default(&self) -> String {
        let config = self.read("boot/grub/grub.cfg");
        let default = config
            .lines()
            .filter_map(|line| line.trim().strip_prefix("set default=\""))
            .next_back()
            .unwrap();
        let id = default.trim_end_matches('"').rsplit('>').next().unwrap();
        let all: Vec<&str> = config.split("menuentry ").skip(1).collect();
        let fits = |entry: &&&str| entry.contains(&format!("'{id}'"));
        let entry = all.iter().find(fits).unwrap_or(&all[0]);
        let (_, rest) = entry.split_once("/boot/vmlinuz-").unwrap();
        rest.split_whitespace().next().unwrap().to_owned()
    }
}

/// What a file is: mode, owner, time of its last change, content.
type Files = BTreeSet<(PathBuf, u32, u32, Option<i64>, Vec<u8>)>;

/// Requires that nothing differs, and names what does.
fn same(before: &Files, now: &Files, when: &str) {
    let paths: BTreeSet<&PathBuf> = before.symmetric_difference(now).map(|of| &of.0).collect();
    assert!(paths.is_empty(), "{when}: {paths:?}");
}

const INSTALL: &str = "install bzImage --modules modules --config config --system-map map --yes";

#[test]
fn a_kernel_is_installed_listed_and_removed_whole_and_the_default_stays() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let before = machine.dump();
    let plan = machine.install("--json").fine().json();
    assert_valid(&schema("kernel-install-plan.schema.json"), &plan);
    assert_eq!(
        plan["default_named"],
        "gnulinux-advanced-abc>gnulinux-6.1.0-56-amd64-advanced-abc"
    );
    let said = machine.install("--dry-run").fine().stdout.clone();
    assert!(
        said.contains("/boot/vmlinuz-6.12.1-rt: the kernel"),
        "{said}"
    );
    same(&before, &machine.dump(), "planned");
    machine
        .run("install bzImage --modules modules")
        .error(1, &["no terminal to ask on"])
        .hinted();
    let said = machine.install("").fine().stdout.clone();
    assert!(
        said.contains("the machine's default is what it was"),
        "{said}"
    );
    assert_eq!(machine.default(), OWN);
    assert!(
        machine
            .read("boot/grub/grub.cfg")
            .contains("linux\t/boot/vmlinuz-6.12.1-rt ")
    );
    assert_eq!(
        machine.read("boot/initrd.img-6.12.1-rt"),
        "initrd of 6.12.1-rt\n"
    );
    assert_eq!(machine.read("boot/config-6.12.1-rt"), "CONFIG_MODULES=y\n");
    let mode = |path: &str| {
        fs::metadata(machine.root().join(path))
            .unwrap()
            .permissions()
            .mode()
            & 0o7777
    };
    assert_eq!(mode("boot/grub/grub.cfg"), 0o600);
    assert_eq!(
        (
            mode("boot/vmlinuz-6.12.1-rt"),
            mode("boot/System.map-6.12.1-rt")
        ),
        (0o644, 0o600)
    );
    let list = machine.installed();
    assert_eq!(
        (&list[0]["name"], &list[0]["is_default"]),
        (&"bzImage".into(), &false.into())
    );
    assert_eq!(
        (&list[0]["complete"], &list[0]["changed"]),
        (&true.into(), &serde_json::json!([]))
    );
    machine
        .install("")
        .error(1, &["6.12.1-rt", "is already installed"])
        .hinted();
    let said = machine
        .run("uninstall 6.12.1-rt --yes")
        .fine()
        .stdout
        .clone();
    assert!(said.contains(" /boot/grub/grub.cfg: as before\n"), "{said}");
    same(&before, &machine.dump(), "taken back");
    assert_eq!(machine.installed(), serde_json::json!([]));
    machine
        .run("uninstall 6.12.1-rt --yes")
        .error(2, &["no kernel 6.12.1-rt"])
        .hinted();
}

#[test]
fn a_kernel_becomes_the_default_where_that_is_asked_for() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let before = machine.dump();
    machine.install("--default").fine();
    assert_eq!(machine.default(), NEW);
    assert_eq!(machine.installed()[0]["is_default"], true);
    // While it runs its modules are needed.
    machine.write("proc/sys/kernel/osrelease", b"6.12.1-rt\n");
    machine
        .run("uninstall bzImage --yes")
        .error(1, &["6.12.1-rt is running"])
        .hinted();
    machine.write("proc/sys/kernel/osrelease", b"6.1.0-56-amd64\n");
    // A second one keeps the default that it found, which is the first.
    let two = machine.home.dir().join("two");
    fs::create_dir(&two).unwrap();
    image(&two.join("bzImage"), "6.12.2-x (a@b) #1 SMP now");
    let second = "install two/bzImage --modules modules --yes";
    machine.run(second).fine();
    assert_eq!(machine.default(), NEW);
    let both = ["name of several", "6.12.1-rt, 6.12.2-x"];
    machine.run("uninstall bzImage --yes").error(1, &both);
    machine
        .run("uninstall 6.12.1-rt --yes")
        .error(1, &["is the default that 6.12.2-x keeps"])
        .hinted();
    machine.run("uninstall 6.12.2-x --yes").fine();
    machine.run("uninstall 6.12.1-rt --yes").fine();
    let of_files = |dump: &Files| {
        dump.iter()
            .map(|(path, mode, _, _, bytes)| (path.clone(), *mode, bytes.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(of_files(&machine.dump()), of_files(&before));
}

#[test]
fn what_somebody_else_changed_since_is_left_alone_and_named() {
    let Some(machine) = Machine::new() else {
        return;
    };
    machine.install("").fine();
    // Another kernel was installed, and GRUB's entries made again.
    machine.write("boot/vmlinuz-6.1.0-57-amd64", b"update");
    machine.grub();
    machine.write("boot/config-6.12.1-rt", b"CONFIG_MODULES=n\n");
    machine.write("lib/modules/6.12.1-rt/updates/theirs.ko", b"theirs");
    let list = machine.run("installed");
    assert_eq!(list.code(), 1, "{list:?}");
    assert!(list.stdout.contains("NOT WHOLE"), "{list:?}");
    let answer = machine.run("uninstall 6.12.1-rt --yes");
    assert_eq!(answer.code(), 4, "{answer:?}");
    for line in [
        " /boot/config-6.12.1-rt: LEFT ALONE",
        " /lib/modules/6.12.1-rt/updates/theirs.ko: LEFT ALONE",
        " /boot/vmlinuz-6.12.1-rt: as before",
        " /boot/grub/grub.cfg: Punctual's part removed",
    ] {
        assert!(answer.stdout.contains(line), "{line}: {answer:?}");
    }
    assert_eq!(machine.read("boot/config-6.12.1-rt"), "CONFIG_MODULES=n\n");
    assert!(
        machine
            .root()
            .join("lib/modules/6.12.1-rt/updates/theirs.ko")
            .exists()
    );
    let config = machine.read("boot/grub/grub.cfg");
    assert!(
        config.contains("6.1.0-57") && !config.contains("6.12.1"),
        "{config}"
    );
    fs::remove_file(machine.root().join("boot/config-6.12.1-rt")).unwrap();
    fs::remove_dir_all(machine.root().join("lib/modules/6.12.1-rt/updates")).unwrap();
    machine.run("uninstall 6.12.1-rt --yes").fine();
    assert!(!machine.root().join("lib/modules/6.12.1-rt").exists());
    // A package that has installed the same kernel since owns its files.
    machine.install("").fine();
    machine.write(
        "var/lib/dpkg/info/linux-image-6.12.1-rt.list",
        b"/boot/vmlinuz-6.12.1-rt\n",
    );
    machine
        .run("uninstall 6.12.1-rt --yes")
        .error(
            1,
            &["package linux-image-6.12.1-rt has installed 6.12.1-rt since"],
        )
        .hinted();
    assert!(machine.root().join("boot/vmlinuz-6.12.1-rt").exists());
}

#[test]
fn an_installation_that_fails_in_the_middle_leaves_nothing() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let fails = |path: &str, text: &str, parts: &[&str]| {
        let good = machine.read(path);
        machine.program(path, text);
        let before = machine.dump();
        machine.install("").error(1, parts).hinted();
        same(&before, &machine.dump(), path);
        assert!(!machine.kept().exists());
        machine.program(path, &good);
    };
    fails(
        "usr/sbin/update-initramfs",
        "#!/bin/sh\necho half > /boot/initrd.img-6.12.1-rt.new\necho no room >&2\nexit 1\n",
        &["/usr/sbin/update-initramfs ended with", "no room"],
    );
    fails(
        "usr/sbin/update-initramfs",
        "#!/bin/sh\n",
        &["made no /boot/initrd.img-6.12.1-rt"],
    );
    fails(
        "usr/sbin/grub-mkconfig",
        "#!/bin/sh\n# reads default/grub.d\necho half > \"$2.new\"\nexit 3\n",
        &["grub-mkconfig ended with"],
    );
    fails(
        "usr/sbin/grub-mkconfig",
        "#!/bin/sh\n# reads default/grub.d\necho \"menuentry 'x' {\" > \"$2\"\n",
        &["it has no entry for vmlinuz-6.12.1-rt"],
    );
    // One that does not read where the default is named.
    let deaf = MKCONFIG.replace(". \"$x\"", "true");
    fails(
        "usr/sbin/grub-mkconfig",
        &deaf,
        &["its default would start", "vmlinuz-6.12.1-rt"],
    );
    // One that others may write to is not run by root.
    let path = machine.root().join("usr/sbin/update-initramfs");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    let before = machine.dump();
    machine
        .install("")
        .error(1, &["is not safe: others may write to it"])
        .hinted();
    same(&before, &machine.dump(), "taken back");
}

#[test]
fn a_kernel_that_cannot_be_installed_is_refused_with_reason_and_hint() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let refused = |args: &str, parts: &[&str]| {
        let answer = machine.run(args);
        assert_eq!(answer.code(), 5, "{answer:?}");
        let text = answer
            .stdout
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        for part in [&["NOT POSSIBLE", "Next "], parts].concat() {
            assert!(text.contains(part), "{part}: {text}");
        }
    };
    machine.write("boot/config-6.12.1-rt", b"");
    refused(INSTALL, &["/boot/config-6.12.1-rt already exists"]);
    fs::remove_file(machine.root().join("boot/config-6.12.1-rt")).unwrap();
    machine.write(
        "proc/self/mountinfo",
        b"21 1 8:2 / / rw - ext4 /dev/sda2 rw\n22 21 8:1 / /boot ro - ext4 /dev/sda1 ro\n",
    );
    refused(INSTALL, &["/boot is mounted read-only"]);
    machine.write(
        "proc/self/mountinfo",
        b"21 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw\n",
    );
    fs::create_dir(machine.home.dir().join("bare")).unwrap();
    refused(
        "install bzImage --modules bare --yes",
        &["has no modules.dep"],
    );
    let config = machine.read("boot/grub/grub.cfg");
    machine.write("boot/grub/grub.cfg", b"blscfg\n");
    refused(INSTALL, &["loader/entries here (blscfg)"]);
    fs::remove_dir_all(machine.root().join("boot/grub")).unwrap();
    refused(
        INSTALL,
        &["neither GRUB nor systemd-boot starts this machine"],
    );
    machine.write("boot/grub/grub.cfg", config.as_bytes());
    fs::remove_file(machine.root().join("usr/sbin/update-initramfs")).unwrap();
    refused(INSTALL, &["neither update-initramfs nor dracut"]);
    machine
        .run("install bzImage --config config --yes")
        .error(2, &["bzImage: has modules, which are not with it"])
        .hinted();
    machine
        .run("install bzImage --modules none")
        .error(2, &["--modules none: not found"]);
    machine
        .run("install no-such --yes")
        .error(2, &["no-such"])
        .hinted();
    machine
        .run("uninstall no-such")
        .error(2, &["no kernel no-such"])
        .hinted();
    machine
        .run("uninstall none --yes")
        .error(2, &["no kernel none"])
        .hinted();
    // A link that leads out of the machine is not followed.
    fs::remove_dir_all(machine.root().join("lib/modules")).unwrap();
    symlink("/tmp", machine.root().join("lib/modules")).unwrap();
    machine.program("usr/sbin/update-initramfs", UPDATE_INITRAMFS);
    refused(
        INSTALL,
        &["/lib/modules/6.12.1-rt: a symbolic link leads out of the machine's files"],
    );
}

#[test]
fn what_a_killed_uninstall_had_put_back_gets_its_date_from_the_next() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let before = machine.dump();
    let config = machine.read("boot/grub/grub.cfg");
    machine.install("").fine();
    machine.write("boot/grub/grub.cfg", config.as_bytes());
    machine.run("uninstall 6.12.1-rt --yes").fine();
    same(&before, &machine.dump(), "taken back");
}

#[test]
fn an_installed_kernel_is_removed_whole_after_a_kill_at_any_moment() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let before = machine.dump();
    let uninstall = "uninstall 6.12.1-rt --yes";
    let begun = Instant::now();
    machine.install("").fine();
    let takes = begun.elapsed();
    machine.run(uninstall).fine();
    same(&before, &machine.dump(), "taken back");
    let killed = |args: &str, after: Duration| {
        let mut command = machine.command(args);
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let end = Instant::now() + HANG;
        while args.starts_with("install") && !machine.kept().exists() {
            assert!(Instant::now() < end, "it never began");
            if child.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(after);
        child.kill().unwrap();
        child.wait().unwrap().code().is_none()
    };
    let mut interrupted = 0;
    for round in 0_u32..16 {
        let share = |factor: u32| takes * (round * factor % 16) / 16;
        interrupted += u32::from(killed(INSTALL, share(7)));
        if round % 2 == 1 {
            killed(uninstall, share(5));
        }
        if machine.kept().exists() {
            machine.run(uninstall).fine();
        }
        same(&before, &machine.dump(), &format!("round {round}"));
    }
    assert!(interrupted > 0, "none of 16 kills came in time");
}
