// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the agent in a guest sends, and putting it together again.

use std::collections::BTreeMap;

use punctual_model::HostFacts;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use thiserror::Error;

use super::frames::{Frame, FrameError, Frames};
use super::quiet::{Activity, Quiet};
use super::timers::HighResolution;

/// The names of frames.
pub mod names {
    /// A [`super::Hello`], first of all.
    pub const HELLO: &str = "hello";
    /// A [`super::Goodbye`], last of all.
    pub const GOODBYE: &str = "goodbye";

    /// A [`super::RunEnd`], after the files of the run.
    pub fn end(run: usize) -> String {
        format!("{run}/end")
    }

    /// A file of a run.
    pub fn file(run: usize, name: &str) -> String {
        format!("{run}/file/{name}")
    }
}

/// What the agent found before it measured.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Hello {
    /// The guest and its kernel.
    pub host: HostFacts,
    /// Its timers, after they had their time to switch.
    pub timers: HighResolution,
    /// The line of its log in which a dynamic kernel names its preemption model.
    #[serde(default)]
    pub dynamic_preempt: Option<String>,
    /// The last look at what else ran, after the kernel had its time to become quiet.
    pub quiet: Activity,
    /// Time from the start of the kernel's clock until the agent was ready.
    pub uptime_ns: u64,
    /// File systems that could not be mounted, with the reason.
    pub not_mounted: Vec<String>,
}

/// What the agent found after it measured.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Goodbye {
    /// The timers.
    pub timers: HighResolution,
    /// The clock source in use.
    pub clocksource: Option<String>,
    /// Time from the start of the kernel's clock.
    pub uptime_ns: u64,
}

/// How a measurement in a guest ended.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RunEnd {
    /// Exit status; missing if a signal ended it.
    pub status: Option<i32>,
    /// What it said on standard error.
    pub said: String,
    /// What else ran before, during and after it.
    pub quiet: Quiet,
}

/// A measurement in a guest, as the host has it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunAnswer {
    /// How it ended.
    pub end: RunEnd,
    /// The files of its run, by name. None, if it made no run.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// All that a guest sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// What it began with.
    pub hello: Hello,
    /// Its measurements, in the order of the job.
    pub runs: Vec<RunAnswer>,
    /// What it ended with.
    pub goodbye: Goodbye,
}

/// Why what a guest sent is no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// It sent nothing at all.
    #[error("the agent in the guest sent nothing")]
    Nothing,
    /// The bytes are damaged, or end too early.
    #[error("what the guest sent is damaged")]
    Frame(#[from] FrameError),
    /// A frame does not hold what it should.
    #[error("frame {name} of the guest cannot be read")]
    Content {
        /// The name of the frame.
        name: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// Frames are missing or out of order.
    #[error("the guest sent {found} where {expected} was expected")]
    Order {
        /// What came.
        found: String,
        /// What should have come.
        expected: String,
    },
    /// It ended before it was done.
    #[error("the guest ended after frame {last}, before it had finished")]
    Unfinished {
        /// The last frame that came.
        last: String,
    },
}

impl Answer {
    /// Reads the answer to a job of `runs` measurements.
    ///
    /// # Errors
    ///
    /// Fails unless every frame is there, whole and in order.
    pub fn read(bytes: &[u8], runs: usize) -> Result<Self, AnswerError> {
        let mut reader = Reader {
            frames: Frames::of(bytes),
            last: None,
        };
        let hello = reader.next(names::HELLO)?;
        let hello = content(&hello)?;
        let runs = (0..runs)
            .map(|run| reader.run(run))
            .collect::<Result<_, _>>()?;
        let goodbye = content(&reader.next(names::GOODBYE)?)?;
        Ok(Self {
            hello,
            runs,
            goodbye,
        })
    }
}

struct Reader<'a> {
    frames: Frames<'a>,
    last: Option<String>,
}

impl<'a> Reader<'a> {
    fn frame(&mut self) -> Result<Frame<'a>, AnswerError> {
        match (self.frames.next(), &self.last) {
            (Some(frame), _) => {
                let frame = frame?;
                self.last = Some(frame.name.clone());
                Ok(frame)
            }
            (None, None) => Err(AnswerError::Nothing),
            (None, Some(last)) => Err(AnswerError::Unfinished { last: last.clone() }),
        }
    }

    fn next(&mut self, expected: &str) -> Result<Frame<'a>, AnswerError> {
        let frame = self.frame()?;
        match frame.name == expected {
            true => Ok(frame),
            false => Err(AnswerError::Order {
                found: frame.name,
                expected: expected.to_owned(),
            }),
        }
    }

    fn run(&mut self, run: usize) -> Result<RunAnswer, AnswerError> {
        let (end, prefix) = (names::end(run), names::file(run, ""));
        let mut files = BTreeMap::new();
        loop {
            let frame = self.frame()?;
            if frame.name == end {
                let end = content(&frame)?;
                return Ok(RunAnswer { end, files });
            }
            let Some(name) = frame.name.strip_prefix(&prefix) else {
                return Err(AnswerError::Order {
                    found: frame.name,
                    expected: end,
                });
            };
            files.insert(name.to_owned(), frame.content.to_vec());
        }
    }
}

fn content<T: DeserializeOwned>(frame: &Frame<'_>) -> Result<T, AnswerError> {
    serde_json::from_slice(frame.content).map_err(|source| AnswerError::Content {
        name: frame.name.clone(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::super::frames::frame;
    use super::*;

    const TIMERS: HighResolution = HighResolution {
        active: 1,
        listed: 1,
    };

    fn json(name: &str, value: &impl Serialize) -> Vec<u8> {
        frame(name, &serde_json::to_vec(value).unwrap())
    }

    fn sent() -> Vec<Vec<u8>> {
        let hello = Hello {
            host: HostFacts::default(),
            timers: TIMERS,
            dynamic_preempt: None,
            quiet: Activity::default(),
            uptime_ns: 5,
            not_mounted: Vec::new(),
        };
        let goodbye = Goodbye {
            timers: TIMERS,
            clocksource: Some("tsc".to_owned()),
            uptime_ns: 9,
        };
        let end = RunEnd {
            status: Some(0),
            said: String::new(),
            quiet: Quiet::default(),
        };
        vec![
            json("hello", &hello),
            frame("0/file/run.json", b"{}"),
            json("0/end", &end),
            json("1/end", &end),
            json("goodbye", &goodbye),
        ]
    }

    #[test]
    fn an_answer_is_put_together() {
        let answer = Answer::read(&sent().concat(), 2).unwrap();
        assert_eq!(answer.hello.uptime_ns, 5);
        assert_eq!(answer.runs[0].files["run.json"], b"{}");
        assert!(answer.runs[1].files.is_empty());
        assert_eq!(answer.goodbye.clocksource.as_deref(), Some("tsc"));
    }

    #[test]
    fn an_answer_that_is_not_whole_is_none() {
        let sent = sent();
        let said = |bytes: &[u8], runs| Answer::read(bytes, runs).unwrap_err().to_string();
        assert_eq!(said(b"", 2), "the agent in the guest sent nothing");
        assert!(said(&sent[..3].concat(), 2).contains("ended after frame 0/end"));
        assert!(said(&sent.concat(), 1).contains("1/end where goodbye"));
        assert!(said(&sent[1..].concat(), 2).contains("0/file/run.json where hello"));
        let mut bytes = sent.concat();
        bytes.truncate(40);
        assert!(said(&bytes, 2).contains("damaged"));
        let odd = [frame("hello", b"[]"), sent[4].clone()].concat();
        assert!(said(&odd, 0).contains("frame hello"));
    }
}
