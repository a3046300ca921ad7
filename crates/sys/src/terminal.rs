// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The terminal: its size, and a whole screen on it that is given back however the program ends.
//!
//! [`Screen`] takes the alternate screen, hides the cursor, and turns off line editing, echo, and the
//! keys that would silently stop or kill the program (Ctrl-Z, Ctrl-\, Ctrl-S). Ctrl-C still sends
//! SIGINT. [`give_back`] undoes that once, whoever calls it first: the guard's drop, a panic's hook, a
//! signal's handler or the end of the program. After SIGKILL nobody calls it, and the terminal stays as it is: `reset`
//! mends it.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Once, OnceLock};
use std::time::{Duration, Instant};

use punctual_model::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, isatty, tcgetattr, tcgetpgrp, tcgetwinsize,
    tcsetattr,
};
use signal_hook::low_level;

use crate::clock;
use crate::errno::done;

/// Alternate screen, cleared; cursor hidden (xterm's DECSET 1049 and 25).
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J";

/// Attributes off, cursor shown, main screen.
const LEAVE: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";

/// The modes of the terminal as it was found first.
static ORIGINAL: OnceLock<libc::termios> = OnceLock::new();

/// Who has the screen.
static STATE: AtomicU8 = AtomicU8::new(FREE);

/// The shell.
const FREE: u8 = 0;

/// This program.
const TAKEN: u8 = 1;

/// Somebody here gives it back, and is not done.
const GOING: u8 = 2;

/// How long who ends the program waits for a terminal that takes nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// Time in which the same signal is no second one.
const ECHO: Nanos = Nanos::from_secs(1);

/// The value of a special character that disables it (`_POSIX_VDISABLE`, termios(3)).
const DISABLED: u8 = 0;

/// Returns columns and rows of the terminal on standard error, if it is one that says.
pub fn size() -> Option<(u16, u16)> {
    size_of(rustix::stdio::stderr())
}

/// Returns columns and rows of the terminal that `file` is, if it is one that says.
pub fn size_of(file: impl AsFd) -> Option<(u16, u16)> {
    let size = tcgetwinsize(file).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col, size.ws_row))
}

/// Whether standard error is a terminal that this process may change and read: a process in the
/// background is stopped when it tries (SIGTTOU, SIGTTIN).
pub fn is_ours() -> bool {
    tcgetpgrp(rustix::stdio::stderr()).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// The whole screen of the terminal on standard error. Given back when this is dropped.
#[derive(Debug)]
pub struct Screen(());

impl Screen {
    /// Takes the screen.
    ///
    /// # Errors
    ///
    /// `ENOTTY` where standard error is no terminal, `EIO` where the terminal is gone, `EBUSY` where
    /// it is taken already or this process is in the background.
    pub fn take() -> io::Result<Self> {
        if !is_ours() || STATE.load(Ordering::Acquire) != FREE {
            return Err(rustix::io::Errno::BUSY.into());
        }
        let stderr = rustix::stdio::stderr();
        let original = read_modes(stderr.as_raw_fd())?;
        ORIGINAL.get_or_init(|| original);
        give_back_on_panic();
        let mut modes = tcgetattr(stderr)?;
        modes.local_modes &= !(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ECHONL);
        modes.input_modes &= !rustix::termios::InputModes::IXON;
        modes.special_codes[SpecialCodeIndex::VSUSP] = DISABLED;
        modes.special_codes[SpecialCodeIndex::VQUIT] = DISABLED;
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        STATE.store(TAKEN, Ordering::Release);
        let screen = Self(());
        tcsetattr(stderr, OptionalActions::Now, &modes)?;
        write_raw(stderr.as_raw_fd(), ENTER);
        Ok(screen)
    }
}

impl Drop for Screen {
    /// Waits as long as the terminal takes nothing: it is the screen's own thread that waits. Whoever else is at it does it,
    /// and writes nothing twice: a second change to the main screen would put the cursor onto what was printed since.
    fn drop(&mut self) {
        if go().is_ok() {
            restore();
            write_raw(libc::STDERR_FILENO, LEAVE);
            STATE.store(FREE, Ordering::Release);
        }
    }
}

/// Gives the screen back if it is taken, with the modes that the terminal had. Safe in a signal's
/// handler: it calls clock_gettime(2), tcsetattr(3), tcflow(3), poll(2) and write(2) alone (signal-safety(7)).
///
/// A terminal that takes nothing gets its modes alone, so that it cannot keep the program from its end. Where another
/// thread, or what the handler interrupted, is at it and not done, it is done once more: the program may be ended as soon
/// as this returns.
pub fn give_back() {
    let mine = go();
    if mine == Err(FREE) {
        return;
    }
    restore();
    let state = match takes_output(Some(PATIENCE)) {
        true => {
            write_raw(libc::STDERR_FILENO, LEAVE);
            FREE
        }
        false => TAKEN,
    };
    if mine.is_ok() {
        STATE.store(state, Ordering::Release);
    }
}

/// Becomes the one who gives the screen back, or says in which state it is.
fn go() -> Result<u8, u8> {
    STATE.compare_exchange(TAKEN, GOING, Ordering::AcqRel, Ordering::Acquire)
}

/// Waits until the terminal takes output and nobody else is writing to it, up to `patience` where that has an end.
pub fn takes_output(patience: Option<Duration>) -> bool {
    ready(rustix::stdio::stderr(), PollFlags::OUT, patience)
}

/// Whether standard output is the terminal that the screen is on.
pub fn is_shared_with_output() -> bool {
    let of = |fd: BorrowedFd<'_>| rustix::fs::fstat(fd).map(|stat| stat.st_rdev);
    let stdout = rustix::stdio::stdout();
    isatty(stdout) && of(stdout) == of(rustix::stdio::stderr())
}

fn restore() {
    let fd = libc::STDERR_FILENO;
    if let Some(original) = ORIGINAL.get() {
        // SAFETY: `original` is a whole termios that lives as long as the program.
        let _: libc::c_int = unsafe { libc::tcsetattr(fd, libc::TCSANOW, original) };
        // Output that somebody stopped would hold the program here.
        // SAFETY: plain integers; a descriptor that is no terminal is refused.
        let _: libc::c_int = unsafe { libc::tcflow(fd, libc::TCOON) };
    }
}

/// Whether a [`Screen`] is taken, and was not given back by a panic or a signal.
pub fn is_taken() -> bool {
    STATE.load(Ordering::Acquire) == TAKEN
}

/// Lets `signal` ask for the end: it sets `asked` and `heard`, and where `heard` was set, which signals alone do, gives the
/// screen back and ends the program at once, as the signal does by default. The same signal again within a second is the
/// first one: timeout(1) sends it to its command and then to the group that this is in.
///
/// # Errors
///
/// `EINVAL` for a signal that cannot be handled.
pub fn ask_and_end_on_signal(
    signal: i32,
    asked: Arc<AtomicBool>,
    heard: Arc<AtomicBool>,
) -> io::Result<()> {
    let first = AtomicU64::new(0);
    let action = move || {
        if is_echo(&first, clock::monotonic()) {
            return;
        }
        asked.store(true, Ordering::SeqCst);
        // One step: of two threads that take a signal each at the same moment, one has the second.
        if heard.swap(true, Ordering::SeqCst) {
            give_back();
            // It fails for signals alone that could not be registered.
            let _refused = low_level::emulate_default_handler(signal);
        }
    };
    // SAFETY: the action reads a clock and swaps atomics, and calls `give_back` and what ends the program by a signal, all
    // of which a handler may.
    unsafe { low_level::register(signal, action) }.map(drop)
}

/// Whether a signal that comes at `now` is the one that `first` has the time of, sent once more: zero before the first.
fn is_echo(first: &AtomicU64, now: Nanos) -> bool {
    let before = first.compare_exchange(0, now.get().max(1), Ordering::SeqCst, Ordering::SeqCst);
    before.is_err_and(|at| now.get().saturating_sub(at) < ECHO.get())
}

/// Waits up to `patience` for keys and returns the bytes of those that were pressed. Returns nothing
/// at once where standard input is no terminal or is not ours; then it sleeps all the same.
pub fn keys(patience: Duration) -> Vec<u8> {
    let stdin = rustix::stdio::stdin();
    if !isatty(stdin) || !is_ours() {
        std::thread::sleep(patience);
        return Vec::new();
    }
    if !ready(stdin, PollFlags::IN, Some(patience)) {
        return Vec::new();
    }
    let mut bytes = [0; 64];
    match rustix::io::read(stdin, &mut bytes) {
        Ok(0) | Err(_) => {
            // The terminal is gone; to ask again at once would take a CPU.
            std::thread::sleep(patience);
            Vec::new()
        }
        Ok(n) => bytes.iter().take(n).copied().collect(),
    }
}

/// Waits, through any signal, until `fd` is ready or gone.
fn ready(fd: BorrowedFd<'_>, to: PollFlags, patience: Option<Duration>) -> bool {
    let until = patience.map(|patience| Instant::now() + patience);
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let mut fds = [PollFd::new(&fd, to)];
        match poll(&mut fds, left.as_ref()) {
            Err(Errno::INTR) => {}
            answer => return matches!(answer, Ok(1..)),
        }
    }
}

fn read_modes(fd: RawFd) -> io::Result<libc::termios> {
    // SAFETY: a termios is plain integers, for which zero is a value.
    let mut modes = unsafe { std::mem::zeroed::<libc::termios>() };
    // SAFETY: `modes` is a live termios that the call may write to.
    done(unsafe { libc::tcgetattr(fd, &raw mut modes) })?;
    Ok(modes)
}

/// Writes without a lock, and silently gives up where that fails.
fn write_raw(fd: RawFd, bytes: &[u8]) {
    // SAFETY: the pointer and the length are those of `bytes`.
    let _: libc::ssize_t = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
}

/// Makes a panic give the screen back before it is printed.
fn give_back_on_panic() {
    static HOOKED: Once = Once::new();
    HOOKED.call_once(|| {
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            tell(panic);
        }));
    });
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read as _, Write as _};
    use std::os::unix::fs::OpenOptionsExt as _;
    use std::process::{Command, Stdio};
    use std::sync::mpsc::channel;

    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

    use super::*;

    /// Set for the process that panics, on a terminal of its own.
    const ON_TERMINAL: &str = "PUNCTUAL_TEST_ON_TERMINAL";

    /// What the thread says before it is no more.
    const SAID: &str = "this thread is no more";

    /// This test starts itself once more, on a pseudo-terminal of script(1): only a terminal has modes.
    #[test]
    fn a_panic_of_any_thread_gives_the_terminal_back_before_it_is_told() {
        if std::env::var_os(ON_TERMINAL).is_some() {
            return panics();
        }
        let own = std::env::current_exe().unwrap();
        let name =
            "terminal::tests::a_panic_of_any_thread_gives_the_terminal_back_before_it_is_told";
        let line = format!(
            "echo modes=$(stty -g); {} --exact {name} --nocapture; echo modes=$(stty -g)",
            own.display()
        );
        let answer = Command::new("script")
            .args(["--quiet", "--command", &line, "/dev/null"])
            .env(ON_TERMINAL, "yes")
            .env("SHELL", "/bin/sh")
            .stdin(Stdio::null())
            .output();
        let Ok(answer) = answer else {
            println!("skipped: there is no script(1)");
            return;
        };
        let said = String::from_utf8_lossy(&answer.stdout).into_owned();
        let modes: Vec<&str> = said
            .split("modes=")
            .skip(1)
            .map(|rest| rest.lines().next().unwrap().trim())
            .collect();
        assert_eq!(modes.len(), 2, "{said}");
        assert_eq!(modes[0], modes[1], "{said}");
        let place = |text: &str| {
            said.find(text)
                .unwrap_or_else(|| panic!("{text:?}: {said}"))
        };
        let taken = place("\x1b[?1049h\x1b[?25l");
        let back = place("\x1b[?25h\x1b[?1049l");
        let told = place(SAID);
        assert!(taken < back && back < told, "{said}");
        assert_eq!(said.matches("\x1b[?1049l").count(), 1, "{said}");
        assert!(said.contains("raw: true, afterwards: false"), "{said}");
    }

    /// Set for the process that has a terminal which nobody reads.
    const UNREAD: &str = "PUNCTUAL_TEST_UNREAD";

    /// This test starts itself once more, as a process that may lead a session and so have a terminal.
    #[test]
    fn a_terminal_that_takes_nothing_gets_its_modes_and_holds_no_program_up() {
        if std::env::var_os(UNREAD).is_some() {
            return unread();
        }
        let name =
            "terminal::tests::a_terminal_that_takes_nothing_gets_its_modes_and_holds_no_program_up";
        let answer = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(UNREAD, "yes")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&answer.stdout);
        assert!(
            said.contains("goes on: true, lines: true, taken: true"),
            "{answer:?}"
        );
        assert!(said.contains("left once: true, taken: false"), "{answer:?}");
    }

    /// Takes the screen of a terminal that is full, gives it back, and then reads the terminal.
    fn unread() {
        let (mut master, mut slave) = own_terminal();
        rustix::stdio::dup2_stderr(&slave).unwrap();
        let screen = Screen::take().unwrap();
        let flags = fcntl_getfl(&slave).unwrap();
        fcntl_setfl(&slave, flags | OFlags::NONBLOCK).unwrap();
        while slave.write(b".").is_ok() {}
        fcntl_setfl(&slave, flags).unwrap();
        let (say, done) = channel();
        std::thread::spawn(move || {
            give_back();
            say.send(()).unwrap();
        });
        let goes_on = done.recv_timeout(Duration::from_mins(1)).is_ok();
        let modes = tcgetattr(rustix::stdio::stderr()).unwrap();
        println!(
            "goes on: {goes_on}, lines: {}, taken: {}",
            modes.local_modes.contains(LocalModes::ICANON),
            is_taken()
        );
        let reader = std::thread::spawn(move || {
            let (mut said, mut part) = (Vec::new(), [0; 4_096]);
            while !said.ends_with(b"THE END") {
                let n = master.read(&mut part).unwrap();
                said.extend_from_slice(&part[..n]);
            }
            // With the last of this end the process would be hung up.
            (said, master)
        });
        // It waits until there is room, and then it is gone.
        drop(screen);
        slave.write_all(b"THE END").unwrap();
        let (said, _master) = reader.join().unwrap();
        let left = said.windows(LEAVE.len()).filter(|part| *part == LEAVE);
        println!("left once: {}, taken: {}", left.count() == 1, is_taken());
    }

    /// Makes a pseudo-terminal that controls this process, and returns both of its ends.
    fn own_terminal() -> (File, File) {
        rustix::process::setsid().unwrap();
        let mut both_ways = File::options();
        both_ways.read(true).write(true);
        let mut unowned = both_ways.clone();
        unowned.custom_flags(libc::O_NOCTTY);
        let master = unowned.open("/dev/ptmx").unwrap();
        // SAFETY: a plain integer; a descriptor that is no terminal is refused.
        done(unsafe { libc::unlockpt(master.as_raw_fd()) }).unwrap();
        let mut number: libc::c_uint = 0;
        // SAFETY: the request writes one unsigned integer, which `number` is.
        done(unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCGPTN, &raw mut number) }).unwrap();
        let slave = both_ways.open(format!("/dev/pts/{number}")).unwrap();
        (master, slave)
    }

    #[test]
    fn a_signal_that_is_sent_twice_at_once_is_one() {
        let first = AtomicU64::new(0);
        let at = |ms: u64| is_echo(&first, Nanos::from_millis(5_000 + ms));
        assert!(!at(0));
        assert!(at(0) && at(3) && at(999));
        assert!(!at(1_000) && !at(60_000));
    }

    /// Takes the screen, and lets another thread panic.
    fn panics() {
        let screen = Screen::take().unwrap();
        let lines =
            |modes: &rustix::termios::Termios| modes.local_modes.contains(LocalModes::ICANON);
        let raw = tcgetattr(rustix::stdio::stderr()).is_ok_and(|modes| !lines(&modes));
        let other = std::thread::spawn(|| panic!("{SAID}"));
        assert!(other.join().is_err());
        println!("raw: {raw}, afterwards: {}", is_taken());
        // Nothing is given back a second time.
        drop(screen);
    }
}
