// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The machine as the tests see it, from outside of the program.

use std::cell::RefCell;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex, Weak};

/// Whether `what` must be there, because `PUNCTUAL_TEST_REQUIRE` names it.
pub(crate) fn required(what: &str) -> bool {
    std::env::var("PUNCTUAL_TEST_REQUIRE")
        .is_ok_and(|list| list.split(',').any(|name| name.trim() == what))
}

/// Says that a test is skipped, unless what it needs is required.
pub(crate) fn skip(what: &str, why: &str) {
    assert!(
        !required(what),
        "{why}, and PUNCTUAL_TEST_REQUIRE names {what}"
    );
    eprintln!("skipped: {why}");
}

/// Whether the tests run as root; if not, says that this one is skipped.
pub(crate) fn root() -> bool {
    let root = status("/proc/self/status", "Uid")
        .split_whitespace()
        .all(|id| id == "0");
    if !root {
        skip("root", "not root");
    }
    root
}

/// Whether a tool is installed; if not, says that the test is skipped.
pub(crate) fn has_tool(name: &str) -> bool {
    let mut command = Command::new(name);
    let found = command.arg("--version").output().is_ok();
    if !found {
        skip(name, &format!("no {name}"));
    }
    found
}

/// The signals that ask for an end. Below nohup(1) a hang-up does not, as whoever uses that wants it.
pub(crate) fn ends() -> &'static [&'static str] {
    let ignored = u64::from_str_radix(&status("/proc/self/status", "SigIgn"), 16).unwrap();
    match ignored & 1 {
        0 => &["INT", "TERM", "HUP"],
        _ => &["INT", "TERM"],
    }
}

/// Returns a Python with scipy, pandas and pyarrow; if there is none, says that the test is skipped.
pub(crate) fn python() -> Option<PathBuf> {
    let python = std::env::var_os("PUNCTUAL_PYTHON").map(PathBuf::from);
    if python.is_none() {
        skip("scipy", "PUNCTUAL_PYTHON names no Python with scipy");
    }
    python
}

/// A turn on the machine. Some tests look at what all programs share, such as the bound on idle
/// latency; those run alone, and before all others, so that nobody waits for them twice. Locks are files, so that it holds
/// between processes too.
///
/// A test that has its turn gets the same one again: to wait for itself it would wait for ever.
#[derive(Debug)]
pub(crate) struct Turn {
    _held: Arc<Held>,
}

/// Whoever changes what the whole machine shares, and so is root, holds this.
const OF_ALL: &str = "/run/punctual-tests.lock";

#[derive(Debug)]
struct Held {
    locks: Vec<File>,
    alone: bool,
    /// Its place among those that do not run alone.
    #[expect(dead_code, reason = "held, and given back when this is dropped")]
    place: Option<Arc<Place>>,
}

thread_local! {
    /// The turn that the test of this thread has.
    static HELD: RefCell<Weak<Held>> = const { RefCell::new(Weak::new()) };
}

impl Turn {
    /// Waits until no test runs alone or wants to.
    pub(crate) fn beside_others() -> Self {
        Self::take(Some(false))
    }

    /// Waits until no other test runs.
    pub(crate) fn alone() -> Self {
        Self::take(Some(true))
    }

    /// Waits until it is one of a few: a test that leaves this machine as it is, whom nobody who runs alone notices.
    pub(crate) fn aside() -> Self {
        Self::take(None)
    }

    /// Waits for a turn alone, for one beside others, or for nothing but a place.
    fn take(alone: Option<bool>) -> Self {
        if let Some(held) = HELD.with_borrow(Weak::upgrade) {
            assert!(
                held.alone || alone != Some(true),
                "this test runs beside others already and cannot run alone any more: take what runs \
                 alone (Home::alone, Live::new) first"
            );
            if held.alone || alone.is_none() || !held.locks.is_empty() {
                return Self { _held: held };
            }
        }
        let held = Arc::new(match alone {
            Some(true) => Held::alone(),
            Some(false) => Held::beside(),
            None => {
                yields();
                Held {
                    locks: Vec::new(),
                    alone: false,
                    place: Some(Place::take()),
                }
            }
        });
        HELD.set(Arc::downgrade(&held));
        Self { _held: held }
    }
}

/// Gives the processor to tests that run alone, one after the other, and for which all others wait: this thread and what it starts have
/// less of it from now on.
pub(crate) fn yields() {
    // With far less, a guest in real time gets so little that its kernel takes its timer for broken.
    // Who runs the tests may have given them less already, and no user may take that back.
    let now = rustix::process::getpriority_process(None).unwrap();
    rustix::process::setpriority_process(None, now.max(3)).unwrap();
}

impl Held {
    fn alone() -> Self {
        // As long as anybody holds this, those who run beside others do not begin.
        let first = open("turn.first");
        first.lock_shared().unwrap();
        let turn = open("turn");
        turn.lock().unwrap();
        // Nor does the same test of another clone run, which has a turn of its own.
        let machine = File::options().create(true).append(true).open(OF_ALL);
        let machine = machine.ok().inspect(|file| file.lock().unwrap());
        Self {
            locks: [first, turn].into_iter().chain(machine).collect(),
            alone: true,
            place: None,
        }
    }

    fn beside() -> Self {
        let others_first = || {
            let first = open("turn.first");
            first.lock().unwrap();
            first.unlock().unwrap();
        };
        // Before it takes a place that others could use, and again once it has one: somebody may have come who runs alone.
        others_first();
        let place = Place::take();
        others_first();
        let turn = open("turn");
        turn.lock_shared().unwrap();
        Self {
            locks: vec![turn],
            alone: false,
            place: Some(place),
        }
    }
}

fn open(name: &str) -> File {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    File::options()
        .create(true)
        .append(true)
        .open(path)
        .unwrap()
}

/// One of the places of this process's tests beside each other. `make test` begins them all at once, so that those that
/// run alone come first; so many at a time go on.
#[derive(Debug)]
struct Place;

static TAKEN: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

thread_local! {
    /// The place that the test of this thread has: to wait for a second one, it could wait for itself.
    static PLACE: RefCell<Weak<Place>> = const { RefCell::new(Weak::new()) };
}

impl Place {
    fn take() -> Arc<Self> {
        if let Some(place) = PLACE.with_borrow(Weak::upgrade) {
            return place;
        }
        // Tests wait for much: three of them for each CPU.
        let places = 3 * std::thread::available_parallelism().map_or(1, usize::from);
        let taken = TAKEN.0.lock().unwrap();
        let mut taken = TAKEN.1.wait_while(taken, |n| *n >= places).unwrap();
        *taken += 1;
        let place = Arc::new(Self);
        PLACE.set(Arc::downgrade(&place));
        place
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *TAKEN.0.lock().unwrap() -= 1;
        TAKEN.1.notify_one();
    }
}

/// A thread of a process as /proc shows it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Thread {
    pub(crate) name: String,
    /// SCHED_OTHER is 0, FIFO 1, RR 2, BATCH 3, IDLE 5, DEADLINE 6 (sched(7)).
    pub(crate) policy: u32,
    pub(crate) priority: u32,
    pub(crate) nice: i32,
    pub(crate) cpus: String,
}

/// Reads the threads of a process, as far as they are there.
pub(crate) fn threads(pid: u32) -> Vec<Thread> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let mut threads: Vec<Thread> = tasks
        .filter_map(|task| thread(&task.ok()?.path()))
        .collect();
    threads.sort_by(|a, b| a.name.cmp(&b.name));
    threads
}

fn thread(task: &Path) -> Option<Thread> {
    let stat = read(&task.join("stat"))?;
    // The name, in parentheses, may hold spaces: fields are counted from behind it (proc(5)).
    let (head, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied();
    Some(Thread {
        name: head.split_once('(')?.1.to_owned(),
        policy: field(41)?.parse().ok()?,
        priority: field(40)?.parse().ok()?,
        nice: field(19)?.parse().ok()?,
        cpus: status(task.join("status"), "Cpus_allowed_list"),
    })
}

/// Reads a line of a `status` file of /proc; nothing if it is not there.
pub(crate) fn status(path: impl AsRef<Path>, key: &str) -> String {
    let text = read(path.as_ref()).unwrap_or_default();
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    value.unwrap_or_default().trim().to_owned()
}

/// Reads a file as text, if it is there.
pub(crate) fn read(path: &Path) -> Option<String> {
    String::from_utf8(fs::read(path).ok()?).ok()
}

/// Returns the processes whose environment has `PUNCTUAL_HOME` of this store: the program, and
/// the loads that it started.
pub(crate) fn processes_of(store: &Path) -> Vec<u32> {
    let wanted = format!("PUNCTUAL_HOME={}", store.display());
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse().ok()) else {
            continue;
        };
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment
            .split(|byte| *byte == 0)
            .any(|variable| variable == wanted.as_bytes())
        {
            found.push(pid);
        }
    }
    found
}

/// Reads the bound on idle latency, in microseconds, that all holders together ask for.
pub(crate) fn dma_latency() -> Option<i32> {
    use std::io::Read as _;
    let mut bytes = [0; 4];
    let mut file = File::open("/dev/cpu_dma_latency").ok()?;
    file.read_exact(&mut bytes).ok()?;
    Some(i32::from_ne_bytes(bytes))
}

/// Whether the bound is as loose as `before` again. Looser is fine: a program that is none of ours
/// may have ended meanwhile.
pub(crate) fn dma_latency_is_back(before: Option<i32>) -> bool {
    dma_latency() >= before
}

/// Whether a process has /dev/cpu_dma_latency open.
pub(crate) fn holds_dma_latency(pid: u32) -> bool {
    let links = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    links
        .filter_map(|link| fs::read_link(link.path()).ok())
        .any(|target| target == Path::new("/dev/cpu_dma_latency"))
}

/// Sends a signal to a process, or to a group if `target` begins with a minus.
pub(crate) fn signal(signal: &str, target: &str) {
    let sent = Command::new("kill")
        .args(["-s", signal, "--", target])
        .status();
    assert!(sent.unwrap().success(), "kill -s {signal} {target}");
}

/// A small file system in memory, gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Tmpfs(PathBuf);

impl Tmpfs {
    /// Mounts one of `size`, such as `64k`, at `path`. Others may enter neither it nor what it hides, so that the program takes
    /// both for places of its own.
    pub(crate) fn mount(path: &Path, size: &str) -> Self {
        fs::create_dir_all(path).unwrap();
        let own = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(path, own).unwrap();
        let options = format!("size={size},mode=700");
        run("mount", &["-t", "tmpfs", "-o", &options, "tmpfs"], path);
        Self(path.to_owned())
    }

    /// Makes it read-only. It is busy for as long as somebody who looks into the files of all processes has one of it open, though
    /// who wrote that has ended.
    pub(crate) fn make_read_only(&self) {
        let remount = || {
            let mut mount = Command::new("mount");
            mount.args(["-o", "remount,ro"]).arg(&self.0).status()
        };
        let is_done = super::wait_until(|| remount().unwrap().success());
        assert!(is_done, "{} stays busy", self.0.display());
    }

    /// Fills it with a file, and returns that.
    pub(crate) fn fill(&self) -> PathBuf {
        use std::io::Write as _;
        let path = self.0.join("fill");
        let mut file = File::create(&path).unwrap();
        while file.write_all(&[0; 4_096]).is_ok() {}
        path
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        // Lazily: a test that failed may have left a process in it.
        run("umount", &["--lazy"], &self.0);
    }
}

fn run(program: &str, args: &[&str], path: &Path) {
    let status = Command::new(program).args(args).arg(path).status().unwrap();
    assert!(status.success(), "{program} {args:?} {}", path.display());
}
