// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Who is answered: the name that the server is asked under, and the token.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use subtle::ConstantTimeEq as _;

use super::{Request, Response};
use crate::error::CliError;

/// Environment variable with the token.
pub(crate) const TOKEN: &str = "PUNCTUAL_TOKEN";

/// The cookie with the token.
const COOKIE: &str = "punctual-token";

/// Fewer characters than this can be guessed.
const TOKEN_LEAST: usize = 16;

/// A secret that whoever asks must have.
#[derive(Clone, Eq, PartialEq)]
pub(crate) struct Token(String);

impl fmt::Debug for Token {
    /// Writes nothing of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    fn checked(text: &str, from: &str) -> Result<Self, CliError> {
        let text = text.trim_end_matches(['\r', '\n']);
        let plain = text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-._~+/".contains(&b));
        if text.len() < TOKEN_LEAST || text.len() > 1_024 || !plain {
            return Err(CliError::usage(format!(
                "{from}: a token must have {TOKEN_LEAST} to 1024 letters, digits or -._~+/"
            ))
            .hint("`head -c 32 /dev/urandom | base64 -w0 | tr -d =` makes one"));
        }
        Ok(Self(text.to_owned()))
    }

    /// Reads the token of a file that only its owner can read, or else that of the environment.
    pub(crate) fn given(file: Option<&Path>) -> Result<Option<Self>, CliError> {
        if let Some(path) = file {
            let failed = |err| CliError::failed_to(format!("read {}", path.display())).because(err);
            let file = File::open(path).map_err(failed)?;
            if file.metadata().map_err(failed)?.mode() & 0o077 != 0 {
                return Err(
                    CliError::failed_to(format!("use the token in {}", path.display()))
                        .because("users other than its owner can read or change it")
                        .hint(format!("chmod 600 {}", path.display())),
                );
            }
            let mut text = String::new();
            file.take(2_048).read_to_string(&mut text).map_err(failed)?;
            return Self::checked(&text, &path.display().to_string()).map(Some);
        }
        match std::env::var(TOKEN) {
            Ok(text) => Self::checked(&text, TOKEN).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Makes one of 256 random bits.
    pub(crate) fn generate() -> Result<Self, CliError> {
        let failed = |err| CliError::failed_to("make a token").because(err);
        let bytes = punctual_sys::random::bytes::<32>().map_err(failed)?;
        Ok(Self(
            bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        ))
    }

    /// Returns the token, to be shown to whoever started the server.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Compares in a time that says nothing of where the two differ. Their length is no secret.
    fn is(&self, other: &str) -> bool {
        self.0.as_bytes().ct_eq(other.as_bytes()).into()
    }
}

/// Why somebody is not answered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Denied {
    /// The server does not go by this name.
    Host,
    /// The token is missing or wrong.
    Token,
    /// The token is in the link: from now on in a cookie, and out of the address.
    SignIn(String),
}

impl Denied {
    pub(super) fn response(&self) -> Response {
        match self {
            Self::Host => Response::text(
                421,
                "this server does not answer to that name; use its address\n",
            ),
            Self::Token => Response::text(
                401,
                "a token is required: the header `Authorization: Bearer TOKEN`\n",
            )
            .header("WWW-Authenticate", "Bearer realm=\"punctual\""),
            Self::SignIn(token) => Response::text(303, "").header("Location", "/").header(
                "Set-Cookie",
                format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict"),
            ),
        }
    }
}

/// Who is answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Access {
    token: Option<Token>,
    names: Vec<String>,
}

impl Access {
    /// Answers on `address` who has `token`; without one, only where nobody but this machine gets to.
    /// Besides addresses and `localhost`, the server answers to `names`.
    pub(crate) fn new(
        option: &str,
        address: SocketAddr,
        token: Option<Token>,
        names: Vec<String>,
    ) -> Result<Self, CliError> {
        if !address.ip().to_canonical().is_loopback() && token.is_none() {
            return Err(CliError::usage(format!(
                "{option} {address}: reachable from other machines, but no token is set"
            ))
            .hint(format!(
                "listen on 127.0.0.1, or set {TOKEN} or a file with a token"
            )));
        }
        Ok(Self { token, names })
    }

    /// Whether a request is answered.
    pub(super) fn check(&self, request: &Request) -> Result<(), Denied> {
        if !self.goes_by(&request.host) {
            return Err(Denied::Host);
        }
        let Some(token) = &self.token else {
            return Ok(());
        };
        let bearer = request.authorization.as_deref().and_then(bearer);
        let cookies = request.cookies.iter().flat_map(|line| line.split(';'));
        let cookies =
            cookies.filter_map(|cookie| cookie.trim().strip_prefix(COOKIE)?.strip_prefix('='));
        // All are compared: which of them fits is nobody's business.
        let fits = bearer
            .into_iter()
            .chain(cookies)
            .filter(|text| token.is(text))
            .count()
            > 0;
        if fits {
            return Ok(());
        }
        match request.value("token") {
            Some(given) if request.path == "/" && token.is(given) => {
                Err(Denied::SignIn(token.text().to_owned()))
            }
            _ => Err(Denied::Token),
        }
    }

    /// Whether `Host` is an address, which no name of somebody else's resolves to in a browser's
    /// eyes, or a name that is ours.
    fn goes_by(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.parse::<u16>().is_ok() => name,
            // An IPv6 address in brackets without a port.
            _ => host,
        };
        let inside = name
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'));
        inside.unwrap_or(name).parse::<IpAddr>().is_ok()
            || name.eq_ignore_ascii_case("localhost")
            || self.names.iter().any(|own| own.eq_ignore_ascii_case(name))
    }
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef";

    fn access(token: Option<&str>) -> Access {
        let token = token.map(|text| Token::checked(text, "test").unwrap());
        Access {
            token,
            names: vec!["board.lan".to_owned()],
        }
    }

    fn request(host: &str) -> Request {
        Request {
            path: "/".to_owned(),
            query: Vec::new(),
            is_head: false,
            host: host.to_owned(),
            authorization: None,
            cookies: Vec::new(),
        }
    }

    #[test]
    fn a_name_of_somebody_else_is_not_answered() {
        let access = access(None);
        for host in [
            "localhost:9464",
            "LOCALHOST",
            "127.0.0.1:1",
            "10.0.0.7",
            "[::1]:80",
            "[::1]",
            "Board.LAN:5",
        ] {
            assert_eq!(access.check(&request(host)), Ok(()), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:9464",
            "localhost.evil.example",
            "",
            ":80",
            "127.0.0.1.evil.example",
            "localhost:x",
            "[::1",
            "127.0.0.1:99999",
        ] {
            assert_eq!(access.check(&request(host)), Err(Denied::Host), "{host}");
        }
    }

    #[test]
    fn the_token_comes_in_a_header_or_a_cookie_and_once_in_the_link() {
        let access = access(Some(SECRET));
        let with = |change: fn(&mut Request)| {
            let mut request = request("localhost");
            change(&mut request);
            access.check(&request)
        };
        assert_eq!(with(|_| ()), Err(Denied::Token));
        assert_eq!(
            with(|r| r.authorization = Some(format!("Bearer {SECRET}"))),
            Ok(())
        );
        assert_eq!(
            with(|r| r.authorization = Some(format!("Bearer {SECRET}0"))),
            Err(Denied::Token)
        );
        assert_eq!(
            with(|r| r.authorization = Some(format!("Basic {SECRET}"))),
            Err(Denied::Token)
        );
        assert_eq!(
            with(|r| r.cookies = vec![format!("a=b; {COOKIE}={SECRET}")]),
            Ok(())
        );
        assert_eq!(
            with(|r| r.cookies = vec![format!("x{COOKIE}={SECRET}")]),
            Err(Denied::Token)
        );
        let link = with(|r| r.query = vec![("token".to_owned(), SECRET.to_owned())]);
        assert_eq!(link, Err(Denied::SignIn(SECRET.to_owned())));
        let elsewhere = with(|r| {
            r.query = vec![("token".to_owned(), SECRET.to_owned())];
            r.path = "/api/runs".to_owned();
        });
        assert_eq!(elsewhere, Err(Denied::Token));
    }

    #[test]
    fn other_machines_need_a_token() {
        for (address, open) in [
            ("127.0.0.1:1", true),
            ("[::1]:1", true),
            ("0.0.0.0:1", false),
            ("[::]:1", false),
        ] {
            let address: SocketAddr = address.parse().unwrap();
            let made = Access::new("--listen", address, None, Vec::new());
            assert_eq!(made.is_ok(), open, "{address}");
        }
        let token = Token::generate().unwrap();
        assert_eq!(token.text().len(), 64);
        assert_ne!(token, Token::generate().unwrap());
        let any = "0.0.0.0:1".parse().unwrap();
        assert!(Access::new("--listen", any, Some(token.clone()), Vec::new()).is_ok());
        assert_eq!(format!("{token:?}"), "Token");
        assert!(Token::checked("short", "x").is_err());
        assert!(Token::checked("0123456789abcdef\r\nX: y", "x").is_err());
    }
}
