// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Archives as others make them, and as nobody should.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::*;

/// A header, and content that is padded.
fn entry(name: &str, kind: u8, link: &str, content: &[u8]) -> Vec<u8> {
    let mut header = vec![0; 512];
    let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    put(0, name.as_bytes());
    put(100, b"0006777\0");
    put(108, b"0030071\0");
    put(116, b"0030071\0");
    put(124, format!("{:011o}\0", content.len()).as_bytes());
    put(136, b"14700000000\0");
    put(148, b"        ");
    put(156, &[kind]);
    put(157, link.as_bytes());
    put(257, b"ustar\x0000");
    let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header.extend_from_slice(content);
    header.resize(header.len().next_multiple_of(512), 0);
    header
}

fn file(name: &str, content: &str) -> Vec<u8> {
    entry(name, b'0', "", content.as_bytes())
}

fn record(key: &str, value: &str) -> Vec<u8> {
    let rest = format!(" {key}={value}\n");
    let mut length = rest.len() + 1;
    while length.to_string().len() + rest.len() != length {
        length += 1;
    }
    format!("{length}{rest}").into_bytes()
}

struct Bench {
    dir: TempDir,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("to")).unwrap();
        Self { dir }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn unpack_file(&self, path: &Path, links: Links) -> Result<(), UnpackError> {
        let packed = Packed::open(path, &|| false)?;
        unpack(packed, &self.at("to"), links, &|name| Some(name.to_owned()))
    }

    fn unpack(&self, entries: &[Vec<u8>], links: Links) -> Result<(), UnpackError> {
        let mut bytes = entries.concat();
        bytes.resize(bytes.len() + 1024, 0);
        fs::write(self.at("x.tar"), bytes).unwrap();
        self.unpack_file(&self.at("x.tar"), links)
    }
}

/// What is below a directory: path, what it is, content or target, and whether it can be executed.
fn listed(root: &Path, at: &Path, all: &mut Vec<String>) {
    for entry in fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::symlink_metadata(&path).unwrap();
        let name = path.strip_prefix(root).unwrap().display().to_string();
        if meta.is_dir() {
            all.push(format!("{name}/"));
            listed(root, &path, all);
        } else if meta.is_symlink() {
            all.push(format!(
                "{name} -> {}",
                fs::read_link(&path).unwrap().display()
            ));
        } else {
            let text = String::from_utf8(fs::read(&path).unwrap()).unwrap();
            let (mode, time) = (meta.mode() & 0o111, meta.mtime());
            all.push(format!("{name}: {text} {mode:o} {time} {}", meta.nlink()));
        }
    }
    all.sort();
}

fn list(root: &Path) -> Vec<String> {
    let mut all = Vec::new();
    listed(root, root, &mut all);
    all
}

#[test]
fn a_size_that_no_number_holds_with_its_padding_is_an_error() {
    let mut binary = file("x/.git/a", "");
    binary[124] = 0x80;
    binary[125..136].copy_from_slice(b"\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff");
    binary[148..156].fill(b' ');
    let sum: u64 = binary[..512].iter().map(|byte| u64::from(*byte)).sum();
    binary[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let said = entry("pax", b'x', "", &record("size", &u64::MAX.to_string()));
    let pax = [said, file("x/.git/a", "")].concat();
    for entries in [binary, pax] {
        let bench = Bench::new();
        fs::write(bench.at("x.tar"), [entries, vec![0; 1024]].concat()).unwrap();
        let packed = Packed::open(&bench.at("x.tar"), &|| false).unwrap();
        // Its content is passed over.
        unpack(packed, &bench.at("to"), Links::LeaveOut, &|_| None).unwrap_err();
    }
}

#[test]
fn an_archive_of_every_format_and_packer_is_unpacked_as_it_was_packed() {
    let source = tempfile::tempdir().unwrap();
    let deep = source
        .path()
        .join("linux")
        .join("d".repeat(60))
        .join("e".repeat(60));
    fs::create_dir_all(&deep).unwrap();
    fs::create_dir(source.path().join("linux/empty")).unwrap();
    fs::write(source.path().join("linux/Makefile"), "VERSION = 6\n").unwrap();
    fs::write(deep.join("f".repeat(60)), "long").unwrap();
    fs::write(deep.join("big"), "0123456789".repeat(10_000)).unwrap();
    let tool = source.path().join("linux/tool");
    fs::write(&tool, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    fs::hard_link(&tool, source.path().join("linux/zz-same")).unwrap();
    symlink("tool", source.path().join("linux/link")).unwrap();
    symlink("../Makefile", deep.parent().unwrap().join("up")).unwrap();
    symlink("no/such", source.path().join("linux/dangling")).unwrap();
    for (format, packer, program) in [
        ("gnu", "-cf", "tar"),
        ("pax", "-czf", "gzip"),
        ("ustar", "-cJf", "xz"),
        ("gnu", "--zstd -cf", "zstd"),
        ("pax", "-cjf", "bzip2"),
    ] {
        let mut there = Command::new("sh");
        there.args(["-c", &format!("command -v {program} >/dev/null")]);
        if !there.status().unwrap().success() {
            println!("skipped: {program} is not installed");
            continue;
        }
        let bench = Bench::new();
        let mut tar = Command::new("tar");
        tar.arg(format!("--format={format}"))
            .args(packer.split(' '))
            .arg(bench.at("x"))
            .arg("-C")
            .arg(source.path())
            .arg("linux");
        assert!(tar.status().unwrap().success());
        bench.unpack_file(&bench.at("x"), Links::Refuse).unwrap();
        assert_eq!(
            list(&bench.at("to")),
            list(source.path()),
            "{format} {packer}"
        );
    }
}

#[test]
fn owners_and_modes_of_an_archive_are_dropped() {
    let bench = Bench::new();
    let entries = [
        entry("d/", b'5', "", b""),
        entry("d/suid", b'0', "", b"x"),
        entry("d/same", b'1', "d/suid", b""),
    ];
    bench.unpack(&entries, Links::Refuse).unwrap();
    let ours = fs::metadata(bench.dir.path()).unwrap().uid();
    for name in ["to/d", "to/d/suid", "to/d/same"] {
        let meta = fs::metadata(bench.at(name)).unwrap();
        assert_eq!(meta.uid(), ours, "{name}");
        assert_eq!(meta.mode() & 0o7022, 0, "{name} has mode {:o}", meta.mode());
    }
}

#[test]
fn what_leads_out_or_is_no_file_is_refused_and_named() {
    let through = [
        entry("l", b'2', "../outside", b""),
        file("l/theirs", "ours"),
    ];
    let chained = [
        entry("d/e/u", b'2', "../..", b""),
        entry("v", b'2', "d/e/u/..", b""),
    ];
    let hard = [
        entry("l", b'2', "../outside/theirs", b""),
        entry("h", b'1', "l", b""),
    ];
    let cases: [(&[Vec<u8>], &str); 20] = [
        (&[entry("dev/sda", b'4', "", b"")], "dev/sda: is a device"),
        (&[entry("null", b'3', "", b"")], "null: is a device"),
        (&[entry("p", b'6', "", b"")], "p: is a FIFO"),
        (&[entry("s", b'S', "", b"")], "s: is a sparse file"),
        (&[entry("v", b'V', "", b"")], "of a type"),
        (&[file("../outside/theirs", "ours")], "leads out"),
        (&[file("/etc/passwd", "ours")], "leads out"),
        (&[file("a/../../x", "ours")], "leads out"),
        (&[file("a\x1b]0;x\x07\nb", "ours")], "control characters"),
        (&[file("", "ours")], "no name"),
        (
            &[file(&"a/".repeat(45), "x"), file(&"a/".repeat(40), "")],
            "not a file, but has content",
        ),
        (
            &[entry("l", b'2', "/etc/passwd", b"")],
            "link that leads out",
        ),
        (&[entry("l", b'2', "../..", b"")], "link that leads out"),
        (&chained, "v: is a symbolic link that leads out"),
        (&through, "File exists"),
        (&hard, "a hard link to something other than a regular file"),
        (&[entry("h", b'1', "../outside/theirs", b"")], "leads out"),
        (
            &[entry("l", b'2', "x", b"content")],
            "not a file, but has content",
        ),
        (&[file("twice", "1"), file("twice", "2")], "File exists"),
        (&[file("f", ""), file("f/g", "")], "not a directory"),
    ];
    for (entries, part) in cases {
        let bench = Bench::new();
        fs::create_dir(bench.at("outside")).unwrap();
        fs::write(bench.at("outside/theirs"), "theirs").unwrap();
        let err = bench.unpack(entries, Links::Refuse).unwrap_err();
        let mut text = err.to_string();
        if let Some(source) = std::error::Error::source(&err) {
            text = format!("{text}: {source}");
        }
        assert!(text.contains(part), "{part}: {text}");
        assert!(!text.contains(char::is_control), "{text:?}");
        assert_eq!(fs::read_dir(bench.at("outside")).unwrap().count(), 1);
        assert_eq!(fs::read(bench.at("outside/theirs")).unwrap(), b"theirs");
        assert!(!bench.at("x").exists());
    }
}

#[test]
fn names_in_further_headers_are_held_to_the_same() {
    let global = record("path", "x");
    let long = record("path", &"x".repeat(70_000));
    let cases: [(Vec<u8>, &str); 7] = [
        (
            entry("x", b'x', "", &record("path", "../outside")),
            "leads out",
        ),
        (entry("x", b'L', "", b"/etc/passwd\0"), "leads out"),
        (
            entry("x", b'x', "", &record("size", "9999999999999")),
            "in the middle",
        ),
        (
            entry("x", b'x', "", &record("GNU.sparse.major", "1")),
            "sparse",
        ),
        (entry("x", b'g', "", &global), "global header"),
        (entry("x", b'x', "", &long), "too long"),
        (entry("x", b'x', "", b"99 path=x\n"), "pax header"),
    ];
    for (header, part) in cases {
        let bench = Bench::new();
        let err = bench.unpack(&[header, file("f", "text")], Links::Refuse);
        let text = err.unwrap_err().to_string();
        assert!(text.contains(part), "{part}: {text}");
    }
    // The comment that git puts in front is fine.
    let bench = Bench::new();
    let comment = entry("pax_global_header", b'g', "", &record("comment", "abc"));
    bench
        .unpack(&[comment, file("f", "text")], Links::Refuse)
        .unwrap();
    assert_eq!(list(&bench.at("to")).len(), 1);
}

#[test]
fn links_of_a_package_that_lead_out_are_left_out() {
    let bench = Bench::new();
    let entries = [
        file("lib/modules/6/a.ko", "m"),
        entry("lib/modules/6/build", b'2', "/usr/src/linux", b""),
        entry("lib/modules/6/in", b'2', "a.ko", b""),
        entry("lib/modules/6/up", b'2', "../../..", b""),
        entry("lib/modules/6/by", b'2', "up/../x", b""),
    ];
    bench.unpack(&entries, Links::LeaveOut).unwrap();
    let names: Vec<String> = list(&bench.at("to"));
    assert!(
        names.iter().any(|name| name.contains("in -> a.ko")),
        "{names:?}"
    );
    assert!(
        !names
            .iter()
            .any(|name| name.contains("build") || name.contains("by ->")),
        "{names:?}"
    );
}

#[test]
fn a_cut_or_changed_archive_is_an_error_or_what_it_was() {
    let whole = [
        entry("x", b'x', "", &record("path", "d/long")),
        file("short", "text"),
        entry("d/l", b'2', "long", b""),
        vec![0; 1024],
    ]
    .concat();
    for end in (0..whole.len() - 1024).step_by(13) {
        let bench = Bench::new();
        fs::write(bench.at("x.tar"), &whole[..end]).unwrap();
        bench
            .unpack_file(&bench.at("x.tar"), Links::Refuse)
            .unwrap_err();
    }
    for at in (0..whole.len()).step_by(13) {
        let mut changed = whole.clone();
        changed[at] ^= 0x41;
        let bench = Bench::new();
        fs::write(bench.at("x.tar"), &changed).unwrap();
        // Whatever it is then, it is below the directory, and nothing panics.
        drop(bench.unpack_file(&bench.at("x.tar"), Links::Refuse));
        assert_eq!(
            fs::read_dir(bench.dir.path()).unwrap().count(),
            2,
            "byte {at}"
        );
    }
}

#[test]
fn a_bomb_is_stopped_at_what_its_size_allows() {
    let bench = Bench::new();
    let bomb = bench.at("bomb.gz");
    let mut gz =
        flate2::write::GzEncoder::new(File::create(&bomb).unwrap(), flate2::Compression::best());
    let mut header = entry("zeros", b'0', "", b"");
    // A size of 8 GiB less a byte, in octal.
    header[124..136].copy_from_slice(b"77777777777\0");
    header[148..156].copy_from_slice(b"        ");
    let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    gz.write_all(&header).unwrap();
    let zeros = vec![0; 1 << 20];
    for _ in 0..100 {
        gz.write_all(&zeros).unwrap();
    }
    gz.finish().unwrap();
    let packed = fs::metadata(&bomb).unwrap().len();
    assert!(packed < 200_000, "{packed}");
    let err = bench.unpack_file(&bomb, Links::Refuse).unwrap_err();
    assert!(matches!(err, UnpackError::TooLarge { .. }), "{err}");
    let written = fs::metadata(bench.at("to/zeros")).unwrap().len();
    assert!(written <= allowance(packed), "{written}");
    let whole = Packed::open(&bomb, &|| false).unwrap();
    let err = whole.at_most(1 << 20).read_to_end().unwrap_err();
    assert!(
        err.to_string()
            .ends_with("and unpacks to more than 1024 KiB"),
        "{err}"
    );
}

#[test]
fn what_cannot_be_unpacked_says_why() {
    let bench = Bench::new();
    let put = |name: &str, bytes: &[u8]| {
        fs::write(bench.at(name), bytes).unwrap();
        let err = bench
            .unpack_file(&bench.at(name), Links::Refuse)
            .unwrap_err();
        err.to_string()
    };
    assert!(put("text", b"just a text\n").contains("not a tar archive"));
    assert!(put("empty", b"").contains("not a tar archive"));
    assert!(put("x.zip", b"PK\x03\x04rest").contains("compressed with zip"));
    assert!(put("x.xz", b"\xfd7zXZ\0rest").contains("xz"));
    let stopped = Packed::open(&bench.at("text"), &|| true)
        .unwrap()
        .read_to_end();
    assert!(matches!(stopped, Err(UnpackError::Tool(tool)) if tool.is_stopped()));
    Packed::open(Path::new("/dev/zero"), &|| false)
        .map(drop)
        .unwrap_err();
}

const NAMES: [&str; 14] = [
    "a",
    "a/b",
    "a/b/c",
    "d/e/u",
    "l",
    "l/x",
    "l/x/y",
    "v",
    "../outside/theirs",
    "/tmp/x",
    "a/../l",
    "./a//b",
    ".",
    "u/..",
];
const LINKS: [&str; 12] = [
    "a",
    "..",
    "../..",
    "../outside/theirs",
    "/etc/passwd",
    "d/e/u/..",
    "l/..",
    "l/x",
    "v/../../outside",
    ".",
    "",
    "a/b/../../..",
];

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]

    #[test]
    fn no_order_of_files_and_links_leads_out(
        entries in proptest::collection::vec((0..NAMES.len(), 0..6_usize, 0..LINKS.len()), 1..7),
        leave_out: bool,
    ) {
        let bench = Bench::new();
        fs::create_dir(bench.at("outside")).unwrap();
        fs::write(bench.at("outside/theirs"), "theirs").unwrap();
        let entries: Vec<Vec<u8>> = entries
            .into_iter()
            .map(|(name, kind, link)| {
                let kind = b"001225"[kind];
                let (link, content) = match kind {
                    b'0' => ("", &b"ours"[..]),
                    b'5' => ("", &b""[..]),
                    _ => (LINKS[link], &b""[..]),
                };
                entry(NAMES[name], kind, link, content)
            })
            .collect();
        let links = if leave_out { Links::LeaveOut } else { Links::Refuse };
        let unpacked = bench.unpack(&entries, links).is_ok();
        proptest::prop_assert_eq!(fs::read(bench.at("outside/theirs")).unwrap(), b"theirs");
        proptest::prop_assert_eq!(fs::read_dir(bench.at("outside")).unwrap().count(), 1);
        proptest::prop_assert_eq!(fs::metadata(bench.at("outside/theirs")).unwrap().nlink(), 1);
        let root = bench.at("to").canonicalize().unwrap();
        let mut left = vec![root.clone()];
        while let Some(directory) = left.pop() {
            for found in fs::read_dir(directory).unwrap() {
                let path = found.unwrap().path();
                let meta = fs::symlink_metadata(&path).unwrap();
                proptest::prop_assert_eq!(meta.mode() & 0o7000, 0);
                if meta.is_dir() {
                    left.push(path);
                } else if unpacked && let Ok(real) = path.canonicalize() {
                    proptest::prop_assert!(real.starts_with(&root), "{} leads to {}", path.display(), real.display());
                }
            }
        }
    }
}
