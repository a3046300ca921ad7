// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Who asks a run how it goes: SIGUSR1, SIGUSR2, readers of a named pipe.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
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
    /// As it was made: by now its name may lead to a file of somebody else. None where it could not be made.
    file: Option<(PathBuf, File)>,
}

impl StatusRequests {
    /// Takes SIGUSR1 and SIGUSR2, and makes the file of the latter's answers.
    pub(super) fn listen() -> io::Result<Self> {
        let file = format!("/dev/shm/cyclictest{}", std::process::id());
        Self::answering_in(PathBuf::from(file))
    }

    fn answering_in(path: PathBuf) -> io::Result<Self> {
        let mut asked = Self {
            on_stderr: Arc::default(),
            in_file: Arc::default(),
            file: None,
        };
        flag::register(SIGUSR1, Arc::clone(&asked.on_stderr))?;
        flag::register(SIGUSR2, Arc::clone(&asked.in_file))?;
        // Never through a link that somebody else put there: a left-over of ours is removed, a
        // stranger's makes this fail, and then there is no file.
        drop(fs::remove_file(&path));
        let made = OpenOptions::new().write(true).create_new(true).open(&path);
        if let Ok(file) = made {
            drop(file.write_all_at(NOTHING_YET, 0));
            asked.file = Some((path, file));
        }
        Ok(asked)
    }

    /// Answers those who have asked.
    pub(super) fn answer(&self, status: impl Fn() -> String) {
        if self.on_stderr.swap(false, Ordering::Relaxed) {
            drop(io::stderr().write_all(status().as_bytes()));
        }
        if self.in_file.swap(false, Ordering::Relaxed)
            && let Some((_, file)) = &self.file
        {
            let text = status();
            drop(
                file.set_len(0)
                    .and_then(|()| file.write_all_at(text.as_bytes(), 0)),
            );
        }
    }
}

impl Drop for StatusRequests {
    fn drop(&mut self) {
        if let Some((path, _)) = &self.file {
            drop(fs::remove_file(path));
        }
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn ask(asked: &StatusRequests, status: &str) {
        asked.in_file.store(true, Ordering::Relaxed);
        asked.answer(|| status.to_owned());
    }

    #[test]
    fn a_link_in_the_place_of_the_file_is_not_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let (path, theirs) = (dir.path().join("cyclictest1"), dir.path().join("theirs"));
        let asked = StatusRequests::answering_in(path.clone()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), NOTHING_YET);
        ask(&asked, "a status that is longer than the next one");
        ask(&asked, "a status");
        assert_eq!(fs::read(&path).unwrap(), b"a status");
        fs::write(&theirs, "theirs").unwrap();
        fs::remove_file(&path).unwrap();
        symlink(&theirs, &path).unwrap();
        ask(&asked, "a status");
        drop(asked);
        assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
    }

    #[test]
    fn what_cannot_be_removed_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        // As a link of somebody else in a sticky directory, a directory is not removed.
        let path = dir.path().join("cyclictest1");
        fs::create_dir(&path).unwrap();
        let asked = StatusRequests::answering_in(path.clone()).unwrap();
        ask(&asked, "a status");
        drop(asked);
        assert!(path.is_dir());
    }
}
