// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The program on a pseudo-terminal of script(1), and what a terminal would show of it.

use std::cell::RefCell;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::common::{Home, machine, program, wait_until};

/// What the shell on the terminal says when all is over.
const OVER: &str = "THE-END";

/// The program on a terminal.
pub(crate) struct Pty {
    script: Child,
    keys: ChildStdin,
    said: Arc<Mutex<Vec<u8>>>,
    store: PathBuf,
    size: (u16, u16),
    /// Bytes that were drawn for another size.
    old: usize,
    /// The screen up to where a picture was found last, and the bytes up to there.
    found: RefCell<(vt100::Parser, usize)>,
}

/// What ends each picture: the cursor is hidden again.
const HIDDEN: &[u8] = b"\x1b[?25l";

/// Returns how much of these bytes is the next picture: nothing while it is not whole.
fn picture(bytes: &[u8]) -> usize {
    match bytes.windows(HIDDEN.len()).position(|part| part == HIDDEN) {
        Some(at) => at + HIDDEN.len(),
        None if String::from_utf8_lossy(bytes).contains(OVER) => bytes.len(),
        None => 0,
    }
}

fn blank((columns, rows): (u16, u16)) -> vt100::Parser {
    vt100::Parser::new(rows, columns, 2_000)
}

impl Pty {
    /// Starts the program with `args` on a terminal of this many columns and rows. `None` where there
    /// is no script(1).
    pub(crate) fn start(home: &Home, args: &str, size: (u16, u16)) -> Option<Self> {
        let line = format!("{} {args}", program().display());
        Self::start_line(home, &line, size)
    }

    /// Starts any command there.
    pub(crate) fn start_line(home: &Home, line: &str, size: (u16, u16)) -> Option<Self> {
        if !machine::has_tool("script") {
            return None;
        }
        let (columns, rows) = size;
        // Ctrl-C reaches the shell too.
        let shell = format!(
            "trap : INT TERM HUP; stty cols {columns} rows {rows}; echo tty=$(tty); \
             echo modes=$(stty -g); {line}; echo status=$?; echo modes=$(stty -g); echo {OVER}"
        );
        let mut script = Command::new("script")
            .args(["--quiet", "--flush", "--command", &shell, "/dev/null"])
            .env("PUNCTUAL_HOME", home.store())
            .env("TERM", "xterm-256color")
            .env("SHELL", "/bin/sh")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let keys = script.stdin.take().unwrap();
        let mut output = script.stdout.take().unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&said);
        std::thread::spawn(move || {
            let mut buffer = [0; 4_096];
            while let Ok(n @ 1..) = output.read(&mut buffer) {
                heard.lock().unwrap().extend_from_slice(&buffer[..n]);
            }
        });
        Some(Self {
            script,
            keys,
            said,
            store: home.store(),
            size,
            old: 0,
            found: RefCell::new((blank(size), 0)),
        })
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Returns all that came out.
    pub(crate) fn said(&self) -> String {
        String::from_utf8_lossy(&self.said.lock().unwrap()).into_owned()
    }

    /// Returns what a terminal of the size at the start would show.
    pub(crate) fn screen(&self) -> vt100::Screen {
        let mut parser = blank(self.size);
        parser.process(&self.said.lock().unwrap()[self.old..]);
        parser.screen().clone()
    }

    /// Waits until the screen shows `text`, and returns the screen. It is looked at picture by picture from the one on that
    /// was found before, so that none is missed, however late this test comes to look.
    pub(crate) fn shows(&self, text: &str) -> String {
        let (parser, at) = &mut *self.found.borrow_mut();
        let there = wait_until(|| {
            loop {
                if parser.screen().contents().contains(text) {
                    return true;
                }
                let said = self.said.lock().unwrap();
                let new = &said[*at..];
                let next = picture(new);
                if next == 0 {
                    return false;
                }
                parser.process(&new[..next]);
                *at += next;
            }
        });
        let screen = parser.screen().contents();
        assert!(there, "`{text}` is not in:\n{screen}");
        screen
    }

    /// Waits until the screen does not show `text` any more.
    pub(crate) fn hides(&self, text: &str) {
        let (parser, at) = &mut *self.found.borrow_mut();
        let gone = wait_until(|| {
            let said = self.said.lock().unwrap();
            parser.process(&said[*at..]);
            *at = said.len();
            !parser.screen().contents().contains(text)
        });
        assert!(gone, "`{text}` stays:\n{}", parser.screen().contents());
    }

    /// Returns the process of the program.
    pub(crate) fn pid(&self) -> u32 {
        let mut found = None;
        let is_ours = |pid: &u32| {
            let of = |name: &str| std::fs::read_link(format!("/proc/{pid}/{name}"));
            // Loads and the runs of an experiment have no terminal.
            let terminal = of("fd/2").is_ok_and(|fd| fd.starts_with("/dev/pts"));
            of("exe").is_ok_and(|exe| exe == program()) && terminal
        };
        let there = wait_until(|| {
            found = machine::processes_of(&self.store).into_iter().find(is_ours);
            found.is_some()
        });
        assert!(there, "it does not run: {}", self.said());
        found.unwrap()
    }

    /// Makes the terminal another size.
    pub(crate) fn resize(&mut self, (columns, rows): (u16, u16)) {
        let said = self.said();
        let tty = said.split("tty=").nth(1).unwrap();
        let tty = tty.lines().next().unwrap().trim();
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let status = Command::new("stty")
            .args(["-F", tty, "cols", &columns, "rows", &rows])
            .status();
        assert!(status.unwrap().success());
        // What came before is drawn for the other size.
        self.old = self.said.lock().unwrap().len();
        self.size = (columns.parse().unwrap(), rows.parse().unwrap());
        *self.found.borrow_mut() = (blank(self.size), self.old);
    }

    /// Waits for the end of everything, and returns all that came out.
    pub(crate) fn over(&self) -> String {
        let there = wait_until(|| self.said().contains(OVER));
        assert!(there, "it goes on: {}", self.said());
        self.said()
    }

    /// Returns the exit status that the shell saw.
    pub(crate) fn status(&self) -> i32 {
        let said = self.over();
        let status = said.split("status=").nth(1).unwrap();
        status.lines().next().unwrap().trim().parse().unwrap()
    }

    /// Whether the terminal's modes are those that it had.
    pub(crate) fn has_its_modes(&self) -> bool {
        let said = self.over();
        let modes: Vec<&str> = said
            .split("modes=")
            .skip(1)
            .map(|rest| rest.lines().next().unwrap().trim())
            .collect();
        assert_eq!(modes.len(), 2, "{said}");
        modes[0] == modes[1]
    }

    /// Requires that the terminal is as it was: modes, main screen, cursor.
    pub(crate) fn assert_given_back(&self) {
        assert!(self.has_its_modes(), "{}", self.said());
        let screen = self.screen();
        assert!(!screen.alternate_screen(), "{}", self.said());
        assert!(!screen.hide_cursor(), "{}", self.said());
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        for pid in machine::processes_of(&self.store) {
            let exe = std::fs::read_link(format!("/proc/{pid}/exe"));
            if exe.is_ok_and(|exe| exe == Path::new(program())) {
                drop(
                    Command::new("kill")
                        .args(["-KILL", &pid.to_string()])
                        .output(),
                );
            }
        }
        drop(self.script.kill());
        drop(self.script.wait());
    }
}
