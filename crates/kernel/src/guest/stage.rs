// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How far a guest is, as its host hears it: from the frames that came up to now.
//!
//! Nothing is asked of the guest for it. In virtual time a word more would be instructions more, and other figures.

use super::answer::names;
use super::frames::Frames;

/// How far a guest is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Stage {
    /// Its kernel boots, or its timers are not of high resolution yet.
    #[default]
    Booting,
    /// It measures.
    Measuring {
        /// Runs that are done and sent.
        done: usize,
    },
    /// All of it is done and sent.
    Leaving,
}

impl Stage {
    /// Tells it from what came on the second serial port. A frame that is not there to the last byte did not come yet.
    pub fn heard(bytes: &[u8]) -> Self {
        let mut stage = Self::Booting;
        for frame in Frames::of(bytes).map_while(Result::ok) {
            stage = match (stage, frame.name.as_str()) {
                (_, names::GOODBYE) => Self::Leaving,
                (Self::Booting, _) => Self::Measuring { done: 0 },
                (Self::Measuring { done }, name) if name == names::end(done) => {
                    Self::Measuring { done: done + 1 }
                }
                (stage, _) => stage,
            };
        }
        stage
    }
}

#[cfg(test)]
mod tests {
    use super::super::frames::frame;
    use super::*;

    #[test]
    fn a_stage_begins_with_the_last_byte_of_its_frame() {
        let sent = [
            (frame(names::HELLO, b"{}"), Stage::Measuring { done: 0 }),
            (
                frame(&names::file(0, "run.json"), b"{}"),
                Stage::Measuring { done: 0 },
            ),
            (frame(&names::end(0), b"{}"), Stage::Measuring { done: 1 }),
            (frame(&names::end(1), b"{}"), Stage::Measuring { done: 2 }),
            (frame(names::GOODBYE, b"{}"), Stage::Leaving),
        ];
        let mut bytes = Vec::new();
        let mut before = Stage::Booting;
        for (frame, after) in sent {
            bytes.extend_from_slice(&frame[..frame.len() - 1]);
            assert_eq!(Stage::heard(&bytes), before);
            bytes.extend_from_slice(&frame[frame.len() - 1..]);
            assert_eq!(Stage::heard(&bytes), after);
            before = after;
        }
        assert_eq!(Stage::heard(b"noise"), Stage::Booting);
    }
}
