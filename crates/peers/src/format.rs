// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The formats, and how their files begin.

/// A format that can be imported.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Format {
    /// The `T:` lines that cyclictest prints, live or with `-q`.
    CyclictestText,
    /// `cyclictest -v`: every sample.
    CyclictestLog,
    /// `cyclictest -h` or `-H`, all rows or only those that are not empty.
    CyclictestHistogram,
    /// `cyclictest --json`.
    CyclictestJson,
    /// `rtla timerlat hist` and `rtla osnoise hist`.
    RtlaHist,
    /// `rtla timerlat top`.
    RtlaTimerlatTop,
    /// `rtla osnoise top` and `rtla hwnoise`.
    RtlaNoiseTop,
    /// What oslat prints.
    OslatText,
    /// `oslat --json`.
    OslatJson,
    /// `results.json` of jitterdebugger.
    JitterdebuggerJson,
    /// `samples.raw` of jitterdebugger.
    JitterdebuggerRaw,
    /// `summary.xml` of rteval.
    Rteval,
    /// `composite.xml` of the Phoronix Test Suite.
    Phoronix,
    /// What `latmus` of EVL prints, and the file of its `-g`.
    Latmus,
    /// What `latency` of Xenomai prints, and the file of its `-g`.
    XenomaiLatency,
}

/// How much of a file [`detect`] wants to see.
pub const DETECT_BYTES: usize = 64 << 10;

punctual_model::choices!(Format {
    CyclictestText => "cyclictest-text",
    CyclictestLog => "cyclictest-log",
    CyclictestHistogram => "cyclictest-hist",
    CyclictestJson => "cyclictest-json",
    RtlaHist => "rtla-hist",
    RtlaTimerlatTop => "rtla-timerlat-top",
    RtlaNoiseTop => "rtla-noise-top",
    OslatText => "oslat-text",
    OslatJson => "oslat-json",
    JitterdebuggerJson => "jitterdebugger-json",
    JitterdebuggerRaw => "jitterdebugger-raw",
    Rteval => "rteval",
    Phoronix => "phoronix",
    Latmus => "latmus",
    XenomaiLatency => "xenomai-latency",
});

impl Format {
    /// Returns the tool that writes it.
    pub const fn tool(self) -> &'static str {
        match self {
            Self::CyclictestText
            | Self::CyclictestLog
            | Self::CyclictestHistogram
            | Self::CyclictestJson => "cyclictest",
            Self::RtlaHist | Self::RtlaTimerlatTop | Self::RtlaNoiseTop => "rtla",
            Self::OslatText | Self::OslatJson => "oslat",
            Self::JitterdebuggerJson | Self::JitterdebuggerRaw => "jitterdebugger",
            Self::Rteval => "rteval",
            Self::Phoronix => "phoronix-test-suite",
            Self::Latmus => "latmus",
            Self::XenomaiLatency => "latency",
        }
    }
}

/// Tells the format from the first [`DETECT_BYTES`] of a file.
pub fn detect(head: &[u8]) -> Option<Format> {
    if head.contains(&0) {
        return is_raw(head).then_some(Format::JitterdebuggerRaw);
    }
    // A head may end inside a character.
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(err) if err.error_len().is_none() => {
            std::str::from_utf8(head.get(..err.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match text.trim_start().bytes().next()? {
        // A prompt may begin like this too.
        b'{' => json(text).or_else(|| lines(text)),
        b'<' if text.contains("<rteval") => Some(Format::Rteval),
        b'<' if text.contains("<PhoronixTestSuite") => Some(Format::Phoronix),
        _ => lines(text),
    }
}

/// Whether a file of some format may begin with this line.
pub(crate) fn begins_one(line: &str) -> bool {
    line.starts_with(['{', '<']) || lines(line).is_some()
}

fn json(text: &str) -> Option<Format> {
    let has = |key: &str| text.contains(key);
    if has("\"file_version\"") {
        if has("\"resolution_in_ns\"") {
            return Some(Format::CyclictestJson);
        }
        return has("\"freq\"").then_some(Format::OslatJson);
    }
    (has("\"version\"") && (has("\"cpu\"") || has("\"sysinfo\"")))
        .then_some(Format::JitterdebuggerJson)
}

fn lines(text: &str) -> Option<Format> {
    text.lines().find_map(|line| {
        let start = line.trim_start();
        if start.starts_with("# RTLA ") && start.ends_with(" histogram") {
            Some(Format::RtlaHist)
        } else if start.contains("Timer Latency") {
            Some(Format::RtlaTimerlatTop)
        } else if start.contains("Operating System Noise")
            || start.contains("Hardware-related Noise")
        {
            Some(Format::RtlaNoiseTop)
        } else if crate::oslat::text::begins(start) {
            Some(Format::OslatText)
        } else if start == "# Histogram" {
            Some(Format::CyclictestHistogram)
        } else if is_t_line(start) {
            Some(Format::CyclictestText)
        } else if is_log_line(start) {
            Some(Format::CyclictestLog)
        } else {
            crate::xenomai::begins(start)
        }
    })
}

fn is_t_line(line: &str) -> bool {
    // Those of signaltest have no interval.
    let has = |field: &str| line.contains(field);
    line.starts_with("T:") && has(" P:") && has(" I:") && has(" Max:")
}

fn is_log_line(line: &str) -> bool {
    let parts: Vec<&str> = line.split(':').map(str::trim).collect();
    let digits = |s: &&str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    parts.len() == 3 && parts.iter().all(digits)
}

/// Records have no mark of their own: their fields must make sense.
fn is_raw(head: &[u8]) -> bool {
    let mut records = head.chunks_exact(28).peekable();
    records.peek().is_some() && records.take(64).all(crate::jitterdebugger::plausible)
}
