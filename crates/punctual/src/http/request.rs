// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A request, taken apart and checked.

use super::Response;

/// Headers of a request.
const HEADERS: usize = 64;

/// The longest target, in bytes.
const TARGET_LIMIT: usize = 4 << 10;

/// A request that may be answered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Request {
    /// The path, decoded. It begins with a slash.
    pub(crate) path: String,
    /// What follows the question mark: names and values, decoded, in their order.
    pub(crate) query: Vec<(String, String)>,
    /// Whether only the head of the answer is wanted.
    pub(crate) is_head: bool,
    pub(super) host: String,
    pub(super) authorization: Option<String>,
    pub(super) cookies: Vec<String>,
}

impl Request {
    /// Returns the first value of a name, unless it is empty.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.values(name).next()
    }

    /// Returns the values of a name that are not empty.
    pub(crate) fn values<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        let name = name.to_owned();
        let of_it = move |(key, value): &'a (String, String)| {
            (*key == name && !value.is_empty()).then_some(value.as_str())
        };
        self.query.iter().filter_map(of_it)
    }
}

/// Why a request is not answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Refusal {
    /// It is no HTTP/1 request, or contradicts itself.
    Malformed(&'static str),
    /// It took too long to come.
    Slow,
    /// Its head is too long.
    Large,
    /// Its target is too long.
    LongTarget,
    /// It has a body.
    Body,
    /// It asks for more than to read.
    Method,
    /// It is of another version.
    Version,
}

impl Refusal {
    /// Returns what is answered.
    pub(super) fn response(self) -> Response {
        match self {
            Self::Malformed(what) => Response::text(400, &format!("{what}\n")),
            Self::Slow => Response::text(408, "the request took too long\n"),
            Self::Large => Response::text(431, "the request header is too long\n"),
            Self::LongTarget => Response::text(414, "the request target is too long\n"),
            Self::Body => Response::text(413, "requests with a body are not accepted\n"),
            Self::Method => Response::text(405, "only GET and HEAD are supported\n")
                .header("Allow", "GET, HEAD"),
            Self::Version => Response::text(505, "HTTP/1.1 or HTTP/1.0\n"),
        }
    }
}

/// Takes the head of a request apart.
pub(super) fn parse(head: &[u8]) -> Result<Request, Refusal> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(head) {
        Ok(httparse::Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => return Err(Refusal::Large),
        Err(httparse::Error::Version) => return Err(Refusal::Version),
        Ok(httparse::Status::Partial) | Err(_) => {
            return Err(Refusal::Malformed("not an HTTP request"));
        }
    }
    let is_head = match parsed.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Err(Refusal::Method),
    };
    let target = parsed.path.unwrap_or_default();
    if target.len() > TARGET_LIMIT {
        return Err(Refusal::LongTarget);
    }
    let values = |name: &str| -> Vec<&[u8]> {
        let of_it = parsed.headers.iter();
        let of_it = of_it.filter(|header| header.name.eq_ignore_ascii_case(name));
        of_it.map(|header| header.value).collect()
    };
    let has_body = values("content-length").iter().any(|value| *value != b"0")
        || !values("transfer-encoding").is_empty();
    if has_body {
        return Err(Refusal::Body);
    }
    let hosts = values("host");
    let [host] = hosts.as_slice() else {
        return Err(Refusal::Malformed("exactly one Host header is needed"));
    };
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
    let host = text(host).ok_or(Refusal::Malformed("Host is not text"))?;
    let authorization = values("authorization");
    if authorization.len() > 1 {
        return Err(Refusal::Malformed("Authorization appears twice"));
    }
    // The form for proxies is not for us, nor is any fragment.
    let origin = target.starts_with('/') && !target.contains('#');
    if !origin {
        return Err(Refusal::Malformed("the target must be a path"));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let bad = Refusal::Malformed("the target has an invalid percent escape");
    Ok(Request {
        path: decode(path, false).ok_or(bad)?,
        query: query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                Some((decode(name, true)?, decode(value, true)?))
            })
            .collect::<Option<_>>()
            .ok_or(bad)?,
        is_head,
        host,
        authorization: authorization.first().and_then(|value| text(value)),
        cookies: values("cookie").into_iter().filter_map(text).collect(),
    })
}

/// Decodes percent signs, and in a query the plus sign of a blank (RFC 3986; URL standard, forms).
fn decode(text: &str, is_query: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                u8::try_from(high * 16 + low).ok()?
            }
            b'+' if is_query => b' ',
            byte => byte,
        });
    }
    let text = String::from_utf8(bytes).ok()?;
    (!text.chars().any(char::is_control)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> Option<Refusal> {
        parse(text.as_bytes()).err()
    }

    #[test]
    fn a_request_is_taken_apart() {
        let text = "GET /compare?a=1&a=2&b=x%20y+z&c= HTTP/1.1\r\nhost: localhost:80\r\n\r\n";
        let request = parse(text.as_bytes()).unwrap();
        assert_eq!(request.path, "/compare");
        assert_eq!(request.values("a").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(request.value("b"), Some("x y z"));
        assert_eq!(request.value("c"), None);
        assert_eq!((request.is_head, &*request.host), (false, "localhost:80"));
    }

    #[test]
    fn what_is_no_plain_read_is_refused() {
        let get =
            |line: &str, headers: &str| refusal(&format!("{line}\r\nHost: a\r\n{headers}\r\n"));
        let malformed = |refusal| matches!(refusal, Some(Refusal::Malformed(_)));
        assert_eq!(get("POST / HTTP/1.1", ""), Some(Refusal::Method));
        assert_eq!(get("DELETE /x HTTP/1.1", ""), Some(Refusal::Method));
        assert_eq!(
            get("GET / HTTP/1.1", "Content-Length: 5\r\n"),
            Some(Refusal::Body)
        );
        assert_eq!(
            get("GET / HTTP/1.1", "Transfer-Encoding: chunked\r\n"),
            Some(Refusal::Body)
        );
        assert!(malformed(get("GET / HTTP/1.1", "Host: b\r\n")));
        assert!(malformed(refusal("GET / HTTP/1.1\r\n\r\n")));
        assert!(malformed(get("GET http://a/ HTTP/1.1", "")));
        assert!(malformed(get("GET /%zz HTTP/1.1", "")));
        assert!(malformed(get("GET /%00 HTTP/1.1", "")));
        assert!(malformed(get("GET /%ff HTTP/1.1", "")));
        assert!(malformed(refusal("\u{1}\u{2}\r\n\r\n")));
        let long = format!("GET /{} HTTP/1.1", "x".repeat(TARGET_LIMIT));
        assert_eq!(get(&long, ""), Some(Refusal::LongTarget));
        let many = "X: y\r\n".repeat(HEADERS + 1);
        assert_eq!(get("GET / HTTP/1.1", &many), Some(Refusal::Large));
    }
}
