// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A machine of files, whose programs are shell scripts that do what Debian's do.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Answer, Home, machine};
use crate::one_shot::{grubenv, image};
use crate::schema::{assert_valid, schema};

pub(super) const OWN: &str = "6.1.0-56-amd64";
pub(super) const NEW: &str = "6.12.1-rt";

pub(super) const INSTALL: &str =
    "install bzImage --modules modules --config config --system-map map --yes";

/// As initramfs-tools of Debian 12 does it: next to the image, then renamed.
pub(super) const UPDATE_INITRAMFS: &str = r#"#!/bin/sh
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
pub(super) const MKCONFIG: &str = r#"#!/bin/sh
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

pub(super) struct Machine {
    pub(super) home: Home,
}

impl Machine {
    /// A machine whose programs can be run; none where we may not change the root directory.
    pub(super) fn new() -> Option<Self> {
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

    pub(super) fn root(&self) -> PathBuf {
        self.home.dir().join("machine")
    }

    pub(super) fn write(&self, path: &str, bytes: &[u8]) {
        let full = self.root().join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, bytes).unwrap();
    }

    pub(super) fn read(&self, path: &str) -> String {
        String::from_utf8(fs::read(self.root().join(path)).unwrap()).unwrap()
    }

    pub(super) fn program(&self, path: &str, text: &str) {
        self.write(path, text.as_bytes());
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.root().join(path), mode).unwrap();
    }

    /// Copies a program of this machine to it, with its libraries.
    pub(super) fn lend(&self, program: &str) {
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
    pub(super) fn grub(&self) {
        let status = Command::new("chroot")
            .arg(self.root())
            .args(["/usr/sbin/grub-mkconfig", "-o", "/boot/grub/grub.cfg"])
            .status();
        assert!(status.unwrap().success());
    }

    pub(super) fn command(&self, args: &str) -> Command {
        let mut command = self.home.command(["kernel"]);
        command
            .args(args.split_whitespace())
            .arg("--root")
            .arg(self.root())
            .env_remove("PUNCTUAL_TUNE_STATE")
            .current_dir(self.home.dir());
        command
    }

    pub(super) fn run(&self, args: &str) -> Answer {
        crate::common::finish(self.command(args))
    }

    pub(super) fn install(&self, more: &str) -> Answer {
        self.run(&format!("{INSTALL} {more}"))
    }

    pub(super) fn installed(&self) -> serde_json::Value {
        let list = self.run("installed --json").json();
        assert_valid(&schema("installed-kernels.schema.json"), &list);
        list["kernels"].clone()
    }

    /// What is in it but for our own notes: path, mode, owner, time of a file's last change, content.
    pub(super) fn dump(&self) -> Files {
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

    pub(super) fn kept(&self) -> PathBuf {
        self.root()
            .join("var/lib/punctual/tune/kernel-6.12.1-rt.json")
    }

    /// The release that is started when nobody chooses.
    pub(super) fn default(&self) -> String {
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
pub(super) type Files = BTreeSet<(PathBuf, u32, u32, Option<i64>, Vec<u8>)>;

/// Requires that nothing differs, and names what does.
pub(super) fn same(before: &Files, now: &Files, when: &str) {
    let paths: BTreeSet<&PathBuf> = before.symmetric_difference(now).map(|of| &of.0).collect();
    assert!(paths.is_empty(), "{when}: {paths:?}");
}
