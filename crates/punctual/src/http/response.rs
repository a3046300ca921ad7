// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! An answer.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest as _, Sha256};

/// On every answer: nobody frames, keeps or reinterprets it.
const ALWAYS: &str = "Connection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
    X-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n";

/// What a page may do: it loads nothing from elsewhere, and runs no script but one that is named.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; \
    base-uri 'none'; frame-ancestors 'none'";

/// An answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Response {
    status: u16,
    kind: &'static str,
    policy: Cow<'static, str>,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Response {
    /// Answers with bytes of a media type.
    pub(crate) fn new(status: u16, kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            kind,
            policy: Cow::Borrowed(POLICY),
            headers: Vec::new(),
            body: body.into(),
        }
    }

    /// Answers with text.
    pub(crate) fn text(status: u16, text: &str) -> Self {
        Self::new(status, "text/plain; charset=utf-8", text)
    }

    /// Answers with a page.
    pub(crate) fn html(status: u16, html: String) -> Self {
        Self::new(status, "text/html; charset=utf-8", html)
    }

    /// Answers with a page that runs `script`, and no other script that may be in it.
    pub(crate) fn html_running(script: &str, html: String) -> Self {
        let hash = BASE64_STANDARD.encode(Sha256::digest(script));
        Self {
            policy: format!("{POLICY}; script-src 'sha256-{hash}'").into(),
            ..Self::html(200, html)
        }
    }

    /// Answers with JSON.
    pub(crate) fn json(status: u16, json: Vec<u8>) -> Self {
        Self::new(status, "application/json", json)
    }

    /// Adds a header. Its value must be ours: it is not checked for line ends.
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    fn head(&self) -> String {
        let reason = match self.status {
            200 => "OK",
            303 => "See Other",
            400 => "Bad Request",
            401 => "Unauthorized",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            413 => "Content Too Large",
            414 => "URI Too Long",
            421 => "Misdirected Request",
            431 => "Request Header Fields Too Large",
            503 => "Service Unavailable",
            505 => "HTTP Version Not Supported",
            _ => "Error",
        };
        let mut head = format!(
            "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{ALWAYS}\
             Content-Security-Policy: {}\r\n",
            self.status,
            self.kind,
            self.body.len(),
            self.policy
        );
        for (name, value) in &self.headers {
            _ = write!(head, "{name}: {value}\r\n");
        }
        head + "\r\n"
    }

    /// Sends it, and gives up at `until`.
    pub(super) fn send(
        &self,
        mut stream: &TcpStream,
        with_body: bool,
        until: Instant,
    ) -> io::Result<()> {
        let mut bytes = self.head().into_bytes();
        if with_body {
            bytes.extend_from_slice(&self.body);
        }
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // The last word, to whoever is turned away.
                let n = stream.write(rest)?;
                return match n == rest.len() {
                    true => Ok(()),
                    false => Err(io::ErrorKind::TimedOut.into()),
                };
            }
            stream.set_write_timeout(Some(left))?;
            match stream.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => rest = rest.get(n..).unwrap_or_default(),
                Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
                Err(err) => return Err(err),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_runs_the_script_that_is_named_and_a_page_of_its_own_none() {
        let head = Response::html_running("alert(1)", String::new()).head();
        let hash = "script-src 'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='";
        assert!(head.contains(hash), "{head}");
        assert!(
            !Response::html(200, String::new())
                .head()
                .contains("script-src")
        );
    }
}
