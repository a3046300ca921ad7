// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

use std::io::Write as _;

use super::*;

/// Longer than any test takes.
const LIMITS: Limits = Limits {
    request: Duration::from_secs(3_600),
    answer: Duration::from_secs(3_600),
};

/// What takes longer hangs.
const HANG: Duration = Duration::from_secs(1_800);

fn server() -> (Server, SocketAddr) {
    server_with(LIMITS)
}

fn server_with(limits: Limits) -> (Server, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let handler = |request: &Request| {
        assert_ne!(request.path, "/mistake", "as a mistake of ours would");
        Response::text(200, &format!("path {}\n", request.path))
    };
    let server = Server::start(listener, Access::default(), limits, Box::new(handler));
    (server.unwrap(), address)
}

fn read_all(mut stream: TcpStream) -> String {
    stream.set_read_timeout(Some(HANG)).unwrap();
    let mut bytes = Vec::new();
    // A reset after the answer is no matter here.
    drop(stream.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

fn ask(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    drop(stream.write_all(bytes));
    read_all(stream)
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("none")
}

#[test]
fn a_read_is_answered_and_the_head_alone_has_no_body() {
    let (_server, address) = server();
    let answer = ask(address, b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(status(&answer), "200");
    assert!(answer.ends_with("\r\n\r\npath /x\n"), "{answer}");
    for header in [
        "Content-Security-Policy: default-src 'none'",
        "X-Content-Type-Options: nosniff",
    ] {
        assert!(answer.contains(header), "{answer}");
    }
    let head = ask(address, b"HEAD /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(
        head.contains("Content-Length: 8\r\n") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
}

#[test]
fn a_handler_that_panics_costs_one_answer_and_gives_its_place_back() {
    let (_server, address) = server();
    for _ in 0..CONNECTIONS + 4 {
        let answer = ask(address, b"GET /mistake HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_eq!(status(&answer), "500", "{answer}");
    }
    let answer = ask(address, b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(status(&answer), "200", "{answer}");
}

#[test]
fn what_is_no_read_of_ours_is_refused() {
    let (_server, address) = server();
    let large = format!(
        "GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n",
        "y".repeat(HEAD_LIMIT)
    );
    let long = format!(
        "GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "y".repeat(5_000)
    );
    for (bytes, expected) in [
        (
            &b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi"[..],
            "405",
        ),
        (
            b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi",
            "413",
        ),
        (b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "421"),
        (b"GET / HTTP/1.1\r\n\r\n", "400"),
        (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", "400"),
        (b"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n", "505"),
        (large.as_bytes(), "431"),
        (long.as_bytes(), "414"),
    ] {
        let answer = ask(address, bytes);
        assert_eq!(
            status(&answer),
            expected,
            "{:?}: {answer}",
            String::from_utf8_lossy(bytes)
        );
    }
}

#[test]
fn who_sends_slowly_is_cut_off_and_holds_nobody_up() {
    let (_server, address) = server();
    let mut slow = TcpStream::connect(address).unwrap();
    slow.write_all(b"GET / HT").unwrap();
    // Others are answered meanwhile.
    let answer = ask(address, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(status(&answer), "200");
    drop(slow);
    let (_server, address) = server_with(Limits {
        request: Duration::from_millis(400),
        ..LIMITS
    });
    let begun = Instant::now();
    let mut slow = TcpStream::connect(address).unwrap();
    // A byte now and then does not make the time longer: a server that waited for it would be sent them without end.
    while slow.write_all(b"x").is_ok() {
        assert!(begun.elapsed() < HANG, "it is not cut off");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(begun.elapsed() >= Duration::from_millis(400));
    let said = read_all(slow);
    assert!(said.is_empty() || status(&said) == "408", "{said}");
}

#[test]
fn one_connection_too_many_is_told_so_and_the_next_is_served() {
    let (_server, address) = server();
    let open: Vec<TcpStream> = (0..CONNECTIONS)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"GET /").unwrap();
            stream
        })
        .collect();
    // The answer is lost where the request comes after it: the connection is closed already.
    let told = (0..20).any(|_| {
        let answer = ask(address, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_ne!(status(&answer), "200");
        status(&answer) == "503"
    });
    assert!(told);
    drop(open);
    let begun = Instant::now();
    loop {
        let answer = ask(address, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        if status(&answer) == "200" {
            break;
        }
        assert!(begun.elapsed() < HANG, "{answer}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_server_ends_when_it_is_dropped() {
    let (server, address) = server();
    drop(server);
    assert!(TcpStream::connect(address).is_err());
}
