// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Root in a directory of somebody else, and run directories of somebody else.

use std::fs::{self, Permissions};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{Home, QUICK, finish, machine, program, stored};

/// Another user: nobody.
const OTHER: u32 = 65_534;

/// Address space of a start of the program, in KiB, for the size of what it reads.
const ROOM: u32 = 1_000_000;

/// The largest file that it may write, in blocks of 512 bytes: whoever copies a bomb is killed before the disk is full.
const LARGEST: u32 = 1_000_000;

#[test]
fn root_is_not_led_by_another_users_home() {
    if !machine::root() {
        return;
    }
    let home = Home::aside();
    let (store, victim) = (home.store(), home.dir().join("victim"));
    fs::write(&victim, "of root").unwrap();
    fs::create_dir_all(store.join("runs/.tmp-019aa000-0000-7000-8000-000000000001")).unwrap();
    for (trap, target) in [
        (".tmp-store.json", "victim"),
        ("lock", "made"),
        ("index.sqlite", "victim"),
        ("experiments", "made"),
        ("kernels", "made"),
        (
            "runs/.tmp-019aa000-0000-7000-8000-000000000001/lock",
            "made",
        ),
    ] {
        symlink(home.dir().join(target), store.join(trap)).unwrap();
    }
    chown(&store, Some(OTHER), Some(OTHER)).unwrap();
    let measure = QUICK.to_vec();
    let import = ["runs", "import", "/dev/null"].to_vec();
    for args in [
        measure,
        import,
        ["runs", "rm", "last"].to_vec(),
        ["kernel", "fetch", "/etc/hostname"].to_vec(),
    ] {
        let answer = home.run(&args);
        assert_ne!(answer.code(), 0, "{args:?}");
        assert!(
            answer.stderr.contains("belongs to another user"),
            "{answer:#?}"
        );
    }
    // What only reads does, and says what there is.
    home.run(["runs", "list"]).fine();
    let mut left: Vec<_> = home.dir().read_dir().unwrap().flatten().collect();
    left.sort_by_key(fs::DirEntry::file_name);
    let left: Vec<_> = left.iter().map(fs::DirEntry::file_name).collect();
    assert_eq!(left, ["store", "victim"]);
    assert_eq!(fs::read(&victim).unwrap(), b"of root");
}

#[test]
fn the_error_says_whose_directory_it_is_and_what_to_do() {
    let home = Home::aside();
    fs::create_dir(home.store()).unwrap();
    fs::set_permissions(home.store(), Permissions::from_mode(0o777)).unwrap();
    home.run(QUICK)
        .error(
            1,
            &["use the store", "every user can write there", "--home"],
        )
        .hinted();
    fs::set_permissions(home.store(), Permissions::from_mode(0o700)).unwrap();
    home.quick(&[]);
}

#[test]
fn whichever_command_comes_first_makes_a_home_for_its_owner_alone() {
    let first: [(&[&str], bool); 3] = [
        (&QUICK, true),
        (&["kernel", "fetch", "/etc/hostname"], true),
        (&["runs", "list"], false),
    ];
    for (args, makes) in first {
        let home = Home::aside();
        let mut command = Command::new("sh");
        command
            .args(["-c", "umask 0; exec \"$0\" \"$@\""])
            .arg(program())
            .args(args)
            .env("PUNCTUAL_HOME", home.store().join("deep"))
            .stdin(Stdio::null());
        finish(command);
        for made in [home.store(), home.store().join("deep")] {
            let mode = fs::metadata(made).map(|made| made.permissions().mode() & 0o777);
            assert_eq!(mode.ok(), makes.then_some(0o700), "{args:?}");
        }
    }
}

#[test]
fn an_empty_list_names_the_store_of_the_other_user() {
    if !machine::root() {
        return;
    }
    let home = Home::aside();
    let copy = home.dir().join("punctual");
    let copied = Command::new("cp").arg(program()).arg(&copy).status();
    assert!(copied.unwrap().success());
    // In a mount namespace of its own: the real place is not touched.
    let script = "mount -t tmpfs tmpfs /var/lib && mkdir -m 700 /var/lib/punctual && \
         exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$0\" runs list";
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", script])
        .arg(&copy)
        .env_remove("PUNCTUAL_HOME")
        .env("XDG_DATA_HOME", "/tmp/punctual-of-nobody")
        .stdin(Stdio::null());
    let answer = finish(command);
    if answer.stderr.contains("unshare") || answer.stderr.contains("mount:") {
        return machine::skip("root", "no mount namespace");
    }
    drop(fs::remove_dir_all("/tmp/punctual-of-nobody"));
    assert!(answer.fine().stdout.contains("No runs"), "{answer:#?}");
    assert!(
        answer.stderr.contains("/var/lib/punctual") && answer.stderr.contains("with sudo"),
        "{answer:#?}"
    );
}

#[test]
fn an_empty_list_of_root_names_the_store_of_whoever_called_sudo() {
    if !machine::root() {
        return;
    }
    let home = Home::aside();
    let own = home.dir().join("someone/.local/share/punctual");
    fs::create_dir_all(&own).unwrap();
    let users = home.dir().join("passwd");
    let line = "someone:x:54321:54321::";
    let someone = home.dir().join("someone");
    fs::write(&users, format!("{line}{}:/bin/sh\n", someone.display())).unwrap();
    let script =
        "mount -t tmpfs tmpfs /var/lib && mount --bind \"$1\" /etc/passwd && exec \"$0\" runs list";
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", script])
        .arg(program())
        .arg(&users)
        .env_remove("PUNCTUAL_HOME")
        .env("SUDO_UID", "54321")
        .stdin(Stdio::null());
    let answer = finish(command);
    if answer.stderr.contains("unshare") || answer.stderr.contains("mount:") {
        return machine::skip("root", "no mount namespace");
    }
    assert!(answer.fine().stdout.contains("No runs"), "{answer:#?}");
    let other = format!("another store exists, {}", own.display());
    assert!(
        answer.stderr.contains(&other) && answer.stderr.contains("without sudo"),
        "{answer:#?}"
    );
}

#[test]
fn the_end_of_an_id_is_as_good_as_its_beginning_and_few_of_many_are_named() {
    let home = Home::aside();
    let first = home.quick(&["--raw"]);
    stored::vouch_for(&home.store());
    let id = first["id"].as_str().unwrap();
    let end = &id[id.len() - 8..];
    for selector in [end, &format!("…{end}"), &id.to_uppercase()] {
        let shown = home.run(["runs", "show", "--json", selector]);
        assert_eq!(shown.json()["id"], id, "{selector}");
    }
    home.run(["runs", "export", end, "--format", "csv"]).fine();
    home.run(["runs", "pack", end, "--output", "-"]).fine();
    home.run(["explain", end])
        .error(2, &[&format!("run {id}: "), "not watched"]);
    home.run(["history", end]).fine();
    let page = home.run(["report", end, "--output", "-"]);
    assert!(page.fine().stdout.contains(end), "{page:#?}");
    let record = home.runs_dir().join(id).join("run.json");
    let text = String::from_utf8(fs::read(record).unwrap()).unwrap();
    for n in 0..8 {
        let other = format!("{}{n}{}", &id[..10], &id[11..]);
        let dir = home.runs_dir().join(&other);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("run.json"), text.replace(id, &other)).unwrap();
    }
    let answer = home.run(["runs", "show", end]);
    answer.error(2, &["choose one: ", "or one of"]).hinted();
    let hint = answer.stderr.split("Hint: ").nth(1).unwrap();
    assert_eq!(hint.matches(end).count(), 5, "{answer:#?}");
    let answer = home.run(["compare", id, "nothing-such"]);
    answer.error(2, &["find run `nothing-such`"]).hinted();
    assert!(!answer.stderr.contains(id), "{answer:#?}");
    let other = &home.quick(&[])["id"];
    let other = other.as_str().unwrap();
    home.run(["runs", "rm", &other[other.len() - 8..]]).fine();
    assert!(!home.runs_dir().join(other).exists());
}

/// A run of the store whose files are bombs, each of some kilobytes.
struct Bombs {
    home: Home,
    run: PathBuf,
    record: String,
}

impl Bombs {
    fn new() -> Self {
        let home = Home::aside();
        let record = home.quick(&["--raw", "--name=bomb"]);
        let run = home.runs_dir().join(record["id"].as_str().unwrap());
        let record = String::from_utf8(fs::read(run.join("run.json")).unwrap()).unwrap();
        Self { home, run, record }
    }

    fn put(&self, name: &str, content: &[u8]) {
        fs::write(self.run.join(name), content).unwrap();
    }

    /// Packs `part` as often as `times`.
    fn pack(&self, name: &str, head: &[u8], part: &[u8], times: usize) {
        let file = fs::File::create(self.run.join(name)).unwrap();
        let mut file = zstd::Encoder::new(file, 3).unwrap();
        file.write_all(head).unwrap();
        for _ in 0..times {
            file.write_all(part).unwrap();
        }
        file.finish().unwrap();
    }

    /// Writes the record with counts and times that allow for as much as there can be.
    fn boast(&self) {
        let count = "18446744073709551615";
        let text = self.record.lines().map(|line| {
            let (key, end) = (
                line.trim_start(),
                if line.ends_with(',') { "," } else { "" },
            );
            match key {
                _ if key.starts_with("\"count\":") => format!("\"count\": {count}{end}\n"),
                _ if key.starts_with("\"duration_ns\":") => {
                    format!("\"duration_ns\": {count}{end}\n")
                }
                _ => format!("{line}\n"),
            }
        });
        fs::write(self.run.join("run.json"), text.collect::<String>()).unwrap();
    }

    /// Every command that reads a run ends by itself, in a gigabyte of address space, and so do `more`, which read what is new
    /// in it in ways of their own.
    fn is_harmless(&self, what: &str, more: &[&'static str]) {
        let out = self.home.dir().join("out");
        let out = out.to_str().unwrap();
        let run = self.run.to_str().unwrap();
        let mut commands = vec![
            vec!["runs", "list"],
            vec!["runs", "show", "last"],
            vec!["runs", "show", "last", "--live"],
            vec!["runs", "extrapolate", "last"],
            vec!["report", run, "--force", "--output", out],
            vec!["compare", "--allow-invalid", run, "--group", "b=last"],
        ];
        for format in ["csv", "json", "parquet", "hdr", "cyclictest-hist"] {
            let export = ["runs", "export", "last", "--force", "--output", out];
            commands.push([&export[..], &["--format", format]].concat());
        }
        commands.push(
            [
                "runs",
                "export",
                "last",
                "--format=json",
                "--data=events",
                "--force",
                "--output",
                out,
            ]
            .to_vec(),
        );
        let other = self.home.dir().join("other");
        let place = |word| match word {
            "RUN" => run,
            "OUT" => out,
            "OTHER" => other.to_str().unwrap(),
            word => word,
        };
        let words = |line: &&'static str| line.split(' ').map(place).collect();
        commands.extend(more.iter().map(words));
        for args in commands {
            let answer = finish(self.limited(&args));
            assert!(answer.code() <= 5, "{what}: {args:?}: {answer:#?}");
        }
        drop(fs::remove_dir_all(other));
    }

    fn limited(&self, args: &[&str]) -> Command {
        limited(&self.home, args)
    }
}

/// A start of the program in [`ROOM`] of address space, with files of at most [`LARGEST`].
fn limited(home: &Home, args: &[&str]) -> Command {
    let limits = format!("ulimit -v {ROOM}; ulimit -f {LARGEST}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command
        .args(["-c", &limits])
        .arg(program())
        .args(args)
        .env("PUNCTUAL_HOME", home.store())
        .stdin(Stdio::null());
    command
}

/// Commands of their own that read a histogram.
const OF_HISTOGRAMS: [&str; 4] = [
    "compare --allow-invalid --by host RUN",
    "runs export last --format=rteval --force --output OUT",
    "runs export last --format=cyclictest-json --force --output OUT",
    "report RUN --format=md --force --output OUT",
];

/// Commands of their own that read samples.
const OF_SAMPLES: [&str; 2] = [
    "runs export last --format=jitterdebugger --force --output OUT",
    "runs export last --format=cyclictest-json --force --output OUT",
];

/// Commands of their own that read a record.
const OF_RECORDS: [&str; 7] = [
    "history --allow-invalid last RUN",
    "explain last",
    "tasks new --from last",
    "report RUN --format=junit --force --output OUT",
    "runs export last --format=perfetto --force --output OUT",
    "study report wang2019 --recorded last RUN",
    "compare --allow-invalid --by host RUN",
];

/// Commands that copy a run with all its files.
const WHOLE: [&str; 2] = [
    "runs pack last --force --output OUT",
    "runs import RUN --home OTHER",
];

/// A histogram that says it has 4 GiB of counts, and an empty one over the largest range.
const HUGE: &str = "HISTE/////8AAAAAAAAAAwAAAAAAAAABAAABAAAAAAA/8AAAAAAAAA==";
const EMPTY: &str = "HISTFAAAABl42pNpmSzMgADMUJrxPxTYf4AIAACdtQpy";

#[test]
fn a_run_directory_that_unpacks_to_gigabytes_is_an_error_at_worst() {
    let bombs = Bombs::new();
    bombs.put(
        "latency.hlog",
        format!("Tag=0,0.0,1.0,0,{HUGE}\n").as_bytes(),
    );
    bombs.is_harmless("one histogram", &OF_HISTOGRAMS);
    let line = format!("Tag=0,0.000,1.000,0,{EMPTY}\n");
    bombs.put("latency.hlog", line.repeat(20_000).as_bytes());
    bombs.is_harmless("many histograms", &OF_HISTOGRAMS);
    let header = b"PNCTSMPL\x01\0\x1c\0\0\0\0\0";
    bombs.pack("samples.zst", header, &[0; 28 * 1_000], 40_000);
    bombs.is_harmless("samples", &OF_SAMPLES);
    let event = b"{\"event\":\"started\",\"id\":\"\",\"threads\":1}\n".repeat(1_000);
    bombs.pack("events.jsonl.zst", b"", &event, 20_000);
    bombs.is_harmless("events", &WHOLE);
    // Where the record allows for as much as there is, it is read: as much as does not take minutes.
    bombs.boast();
    bombs.pack("samples.zst", header, &[0; 28 * 1_000], 1_000);
    bombs.pack("events.jsonl.zst", b"", &event, 100);
    bombs.is_harmless("a record that allows for all of it", &OF_RECORDS);
}

#[test]
fn a_record_of_millions_of_parts_is_an_error_at_worst() {
    let bombs = Bombs::new();
    for key in ["series", "checks", "figures", "findings", "misses"] {
        let empty = format!("\"{key}\": [");
        let many = format!("{empty}{}", "{},".repeat(4_000_000));
        bombs.put(
            "run.json",
            bombs.record.replacen(&empty, &many, 1).as_bytes(),
        );
        let run = bombs.run.to_str().unwrap();
        for read in [&["runs", "show", run][..], &["history", run]] {
            let answer = finish(bombs.limited(read));
            assert!(answer.code() <= 5, "{key}: {answer:#?}");
        }
    }
    for length in [1_u64 << 40, 65 << 20] {
        for name in [
            "run.json",
            "latency.hlog",
            "buckets.csv",
            "samples.zst",
            "events.jsonl.zst",
        ] {
            bombs.put("run.json", bombs.record.as_bytes());
            let file = fs::File::create(bombs.run.join(name)).unwrap();
            file.set_len(length).unwrap();
        }
        bombs.is_harmless("files of zeros", &[&WHOLE[..], &OF_RECORDS].concat());
    }
}

#[test]
fn a_note_of_a_study_that_is_no_file_of_a_sensible_size_is_an_error() {
    let home = Home::aside();
    let note = home.store().join("studies/raju2015-1.json");
    fs::create_dir_all(note.parent().unwrap()).unwrap();
    let endless = || symlink("/dev/zero", &note).unwrap();
    let fifo = || {
        let made = Command::new("mkfifo").arg(&note).status();
        assert!(made.unwrap().success());
    };
    let sparse = || fs::File::create(&note).unwrap().set_len(1 << 40).unwrap();
    let deep = || fs::write(&note, "[".repeat(1 << 20)).unwrap();
    let makings: [(&dyn Fn(), &str); 4] = [
        (&endless, "a symbolic link"),
        (&fifo, "not a regular file"),
        (&sparse, "larger than 1 MiB"),
        (&deep, "objects and arrays"),
    ];
    for (make, reason) in makings {
        make();
        let answer = finish(limited(&home, &["study", "report", "raju2015"]));
        answer.error(1, &["raju2015-1.json", reason]);
        fs::remove_file(&note).unwrap();
    }
}

#[test]
fn no_run_ends_the_server() {
    let bombs = Bombs::new();
    let line = format!("Tag=0,0.000,1.000,0,{EMPTY}\n");
    bombs.put("latency.hlog", line.repeat(20_000).as_bytes());
    bombs.pack(
        "samples.zst",
        b"PNCTSMPL\x01\0\x1c\0\0\0\0\0",
        &[0; 28_000],
        40_000,
    );
    bombs.boast();
    let mut server = bombs.limited(&["serve", "--listen", "127.0.0.1:0"]);
    let mut server = server.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let mut stderr = server.stderr.take().unwrap();
    let mut byte = [0];
    while !said.ends_with('\n') && stderr.read(&mut byte).unwrap() == 1 {
        said.push(char::from(byte[0]));
    }
    let address = said
        .split("http://")
        .nth(1)
        .unwrap()
        .split('/')
        .next()
        .unwrap();
    let id = name_of(&bombs.run);
    for target in [
        format!("/run/{id}"),
        format!("/overlay?a={id}"),
        format!("/api/compare?a={id}&b={id}&invalid=allow"),
        "/?sort=-max".to_owned(),
    ] {
        let mut stream = TcpStream::connect(address).unwrap();
        let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer));
        assert!(answer.starts_with(b"HTTP/1.1 "), "{target}");
    }
    let ended = server.try_wait().unwrap();
    drop(server.kill());
    drop(server.wait());
    assert_eq!(ended, None, "the server ended");
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}
