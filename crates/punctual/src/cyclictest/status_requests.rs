// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Who asks a run how it goes: SIGUSR1, SIGUSR2, readers of a named pipe.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGUSR1, SIGUSR2};
use signal_hook::flag;

/// What the status file holds before anybody asks.
const NOTHING_YET: &[u8] = b"#---------------------------\n\0";

/// The signals that ask, and the file of the second one's answers.
#[derive(Debug)]
pub(super) struct StatusRequests {
    on_stderr: Arc<AtomicBool>,
    in_file: Arc<AtomicBool>,
    file: PathBuf,
}

impl StatusRequests {
    /// Takes SIGUSR1 and SIGUSR2, and makes the file of the latter's answers.
    pub(super) fn listen() -> io::Result<Self> {
        let asked = Self {
            on_stderr: Arc::default(),
            in_file: Arc::default(),
            file: PathBuf::from(format!("/dev/shm/cyclictest{}", std::process::id())),
        };
        flag::register(SIGUSR1, Arc::clone(&asked.on_stderr))?;
        flag::register(SIGUSR2, Arc::clone(&asked.in_file))?;
        // Never through a link that somebody else put there: a left-over of ours is removed, a
        // stranger's makes this fail, and then there is no file.
        drop(fs::remove_file(&asked.file));
        if let Ok(mut file) = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&asked.file)
        {
            drop(file.write_all(NOTHING_YET));
        }
        Ok(asked)
    }

    /// Answers those who have asked.
    pub(super) fn answer(&self, status: impl Fn() -> String) {
        if self.on_stderr.swap(false, Ordering::Relaxed) {
            drop(io::stderr().write_all(status().as_bytes()));
        }
        if self.in_file.swap(false, Ordering::Relaxed) {
            let file = OpenOptions::new()
                .write(true)
                .truncate(true)
                .open(&self.file);
            if let Ok(mut file) = file {
                drop(file.write_all(status().as_bytes()));
            }
        }
    }
}

impl Drop for StatusRequests {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.file));
    }
}

/// A named pipe that says the figures to each reader.
#[derive(Debug)]
pub(super) struct Pipe {
    path: PathBuf,
}

impl Pipe {
    /// Makes the pipe and serves its readers from a thread of its own, for as long as the process
    /// lives: nobody can be told that a pipe has no more readers to come.
    pub(super) fn serve(path: &Path, said: Arc<Mutex<String>>) -> io::Result<Self> {
        punctual_sys::make_fifo(path)?;
        let at = path.to_owned();
        let serve = move || {
            loop {
                // Opening waits for a reader.
                let Ok(mut pipe) = OpenOptions::new().write(true).open(&at) else {
                    return;
                };
                let lines = said.lock().unwrap_or_else(PoisonError::into_inner).clone();
                // A reader that went away asks no more.
                drop(pipe.write_all(lines.as_bytes()));
                drop(pipe);
                thread::sleep(Duration::from_millis(1));
            }
        };
        thread::Builder::new()
            .name("pipe".to_owned())
            .spawn(serve)?;
        Ok(Self {
            path: path.to_owned(),
        })
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.path));
    }
}
